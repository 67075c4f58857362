"""What every engine must give: the same as the rows in memory, however they are cut into parts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from suffice import cluster
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.estimators.table_classifier import BayesClassifier
from suffice.naive_bayes import CategoricalNB, GaussianNB
from suffice.text import TextClassifier


def numbers(n: int = 400) -> pd.DataFrame:
    """Two classes of numbers far from zero, with gaps, and a class of few rows that comes late."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(n) < n - 7, rng.choice(["a", "b"], n), "rare")
    x = 1e6 + rng.normal(size=(n, 3)) + (y == "b")[:, None]
    x[rng.random(x.shape) < 0.1] = np.nan
    return pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "x 2.5": x[:, 2], "y": y})


def categories(n: int = 400) -> pd.DataFrame:
    """Categories of which each part has some of its own, and gaps."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    code = rng.integers(0, 3, n) + 3 * (np.arange(n) * 8 // n)
    colour = pd.Series([f"colour {c}" for c in code], dtype=object)
    colour[rng.random(n) < 0.1] = None
    shape = rng.choice(["round", "square"], n)
    return pd.DataFrame({"colour": colour, "shape": shape, "y": y})


def mixed(n: int = 400) -> pd.DataFrame:
    """Columns of all kinds."""
    return pd.concat([numbers(n)[["x0", "x1"]], categories(n)], axis=1)


def texts(n: int = 400) -> pd.DataFrame:
    """Texts whose words tell the class."""
    rng = np.random.default_rng(3)
    y = rng.choice(["mail", "spam"], n)
    words = {"mail": ["meeting", "report", "lunch", "today"], "spam": ["free", "prize", "today", "click"]}
    return pd.DataFrame({"text": [" ".join(rng.choice(words[label], 6)) for label in y], "y": y})


@dataclass(frozen=True)
class Case:
    """An estimator and the table that it learns."""

    make: Callable[[], Any]
    table: Callable[[], pd.DataFrame]

    def local(self) -> Any:
        """The estimator fitted on the rows in memory."""
        return self.fit_local(self.make(), self.table())

    def local_twice(self) -> Any:
        """The estimator that has seen the rows in memory twice."""
        table = self.table()
        return self.local().partial_fit(self.rows(table), table["y"])

    def rows(self, table: pd.DataFrame) -> Any:
        """What a local estimator takes."""
        x = table.drop(columns="y")
        return x.get("text", x)

    def fit_local(self, estimator: Any, table: pd.DataFrame) -> Any:
        return estimator.fit(self.rows(table), table["y"])


def winds(n: int = 400) -> pd.DataFrame:
    """Speeds of two places, with missing values."""
    rng = np.random.default_rng(4)
    y = rng.choice(["land", "sea"], n)
    speed = rng.rayleigh(np.where(y == "sea", 6.0, 3.0))
    speed[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"speed": speed, "rain": rng.random(n) < 0.3, "y": y})


@cache
def rayleigh() -> Any:
    """The family of docs/adding_a_family.md, as a script would define it: no worker can import it."""
    page = Path(__file__).parents[2] / "docs" / "adding_a_family.md"
    scope: dict[str, Any] = {}
    exec(re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1], scope)
    return scope["Rayleigh"]


def tutorial_family() -> Any:
    return BayesClassifier({"speed": rayleigh()(), "rain": "bernoulli"})


CASES = {
    "GaussianNB": Case(GaussianNB, numbers),
    "CategoricalNB": Case(CategoricalNB, categories),
    "BayesClassifier": Case(BayesClassifier, mixed),
    "TextClassifier": Case(TextClassifier, texts),
    "a family of one's own": Case(tutorial_family, winds),
}


def cut(table: pd.DataFrame, seed: int | None = None) -> list[pd.DataFrame]:
    """Nine parts, the third of them empty; shuffled where a seed is given."""
    if seed is not None:
        table = table.sample(frac=1, random_state=seed)
    at = np.linspace(0, len(table), 9).astype(int)
    parts = [table.iloc[a:b].reset_index(drop=True) for a, b in pairwise(at)]
    return [*parts[:2], table.iloc[:0].reset_index(drop=True), *parts[2:]]


def without_the_package(folder: Path) -> dict[str, str]:
    """The environment of a Python that cannot import suffice."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'suffice':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n",
        encoding="utf-8",
    )
    return {"PYTHONPATH": str(folder)}


def arrow(table: pd.DataFrame) -> pa.Table:
    """The rows as Arrow has them, gaps as nulls."""
    return pa.Table.from_pandas(table, preserve_index=False)


def put(database: Any, table: pd.DataFrame | pa.Table, name: str = "t") -> Any:
    """A table of a database of Ibis."""
    return database.create_table(name, table if isinstance(table, pa.Table) else arrow(table), overwrite=True)


def assert_same(case: Case, fitted: Any, local: Any) -> None:
    """The same classes, the same counts exactly, the same probabilities to 1e-9."""
    np.testing.assert_array_equal(fitted.classes_, local.classes_)
    mine, theirs = fitted._learned.seen, local._learned.seen
    np.testing.assert_array_equal(mine.weight, theirs.weight)
    x = case.rows(case.table())
    np.testing.assert_allclose(probabilities(fitted, x), probabilities(local, x), rtol=1e-9, atol=1e-12)


def assert_refused_by_name(in_parts: Callable[[pd.DataFrame], Any]) -> None:
    """What cannot be learned is told as such; `in_parts` makes the engine's own frame of a table."""
    table = numbers()
    with pytest.raises(InvalidDataError, match="x1"):
        GaussianNB().fit(in_parts(table.assign(x1=[[1.0]] * len(table))), "y")
    with pytest.raises(InvalidDataError, match="no rows"):
        GaussianNB().fit(in_parts(table.iloc[:0]), "y")
    with pytest.raises(InvalidDataError, match="label of row 0"):
        GaussianNB().fit(in_parts(table.assign(y=None)), "y")
    with pytest.raises(InvalidOptionError, match="checkpoint is for rows that come from files"):
        GaussianNB().fit(in_parts(table), "y", checkpoint="run.suffice")
    fitted = GaussianNB().fit(in_parts(table), "y")
    with pytest.raises(InvalidDataError, match="no column 'x1' that the model was trained on"):
        fitted.partial_fit(in_parts(table.drop(columns="x1")), "y")


def groups(n: int = 400) -> pd.DataFrame:
    """Three groups of rows of all kinds, with gaps; one row in five has a label."""
    rng = np.random.default_rng(7)
    z = rng.integers(0, 3, n)
    width = rng.normal(3.0 * z, 1.0)
    width[rng.random(n) < 0.1] = np.nan
    colour = pd.Series(np.where(rng.random(n) < 0.8, np.array(["red", "green", "blue"])[z], "red"), dtype=object)
    colour[rng.random(n) < 0.1] = None
    words = ["apple pear plum day", "bolt screw nail day", "cloud rain wind day"]
    note = [" ".join(rng.choice(words[k].split(), 8)) + " and so on, and on" for k in z]
    known = np.arange(n) % 5 == 0
    y = pd.Series(np.where(known, np.array(["a", "b", "c"])[z], None), dtype=object)
    return pd.DataFrame({"width": width, "height": rng.normal(z, 1.0), "colour": colour, "note": note, "y": y})


def assert_clustered(in_parts: Callable[..., Any], folder: Path, monkeypatch: Any) -> None:
    """Clusters of rows that lie elsewhere are those of a file of them: one pass for a sample, one for each step."""
    monkeypatch.setattr("suffice.estimators.clustering.SAMPLE", 150)  # of 400 rows
    table = groups().drop(columns="y")
    table.to_parquet(folder / "rows.parquet", index=False)
    by_file = cluster(str(folder / "rows.parquet"), 3)
    found = cluster(in_parts(table, seed=5), 3)
    assert found.class_count_.sum() == pytest.approx(len(table))
    np.testing.assert_allclose(found.class_count_, by_file.class_count_, rtol=1e-6)
    np.testing.assert_allclose(probabilities(found, table), probabilities(by_file, table), rtol=1e-5, atol=1e-9)
    rare = cluster(in_parts(table[["note"]]), 2, families={"note": "text"})
    assert len(rare.classes_) == 2


def assert_learns_without_labels(in_parts: Callable[..., Any], folder: Path) -> None:
    """Rows without labels that lie elsewhere teach what those of a file do, for tables, numbers and texts."""
    table = groups()
    for make, columns in (
        (lambda: BayesClassifier(), ["width", "colour"]),
        (lambda: GaussianNB(), ["width", "height"]),
        (lambda: TextClassifier(), ["note"]),
    ):
        some = table[[*columns, "y"]]
        some.to_parquet(folder / "labels.parquet", index=False)
        for share in ("learn", 0.3):
            by_file = make().fit(str(folder / "labels.parquet"), "y", unlabelled=share)
            found = make().fit(in_parts(some, seed=5), "y", unlabelled=share)
            assert found.unlabelled_["rows"] == table["y"].isna().sum()
            assert found.unlabelled_["weight"] == pytest.approx(by_file.unlabelled_["weight"])
            x = some["note"] if columns == ["note"] else some[columns]
            np.testing.assert_allclose(probabilities(found, x), probabilities(by_file, x), rtol=1e-6, atol=1e-9)


def probabilities(estimator: Any, x: Any) -> Any:
    return np.asarray(estimator.predict_proba(x))


def assert_answers(case: Case, local: Any, told: pd.DataFrame) -> None:
    """The table with the answers of a local estimator appended; rows may be in another order."""
    table = case.table()
    expected = table.assign(prediction=np.asarray(local.predict(case.rows(table))))
    for k, label in enumerate(local.classes_.tolist()):
        expected[f"probability {label}"] = probabilities(local, case.rows(table))[:, k]
    assert list(told.columns) == list(expected.columns)
    assert len(told) == len(expected)
    mine, theirs = (frame.astype(object).where(frame.notna(), None) for frame in (told, expected))
    numeric = [name for name in expected if expected[name].dtype.kind == "f"]
    order = [_sorted(frame, list(expected.columns)) for frame in (mine, theirs)]
    for name in expected:
        a, b = (frame[name].to_numpy()[at] for frame, at in zip((mine, theirs), order, strict=True))
        if name in numeric:
            np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-9, atol=1e-12)
        else:
            assert a.tolist() == b.tolist()


def _sorted(frame: pd.DataFrame, names: list[str]) -> list[int]:
    """An order of rows that their own values fix."""
    keys = [tuple(str(v) for v in row) for row in frame[names[:-3]].itertuples(index=False)]
    return sorted(range(len(frame)), key=keys.__getitem__)
