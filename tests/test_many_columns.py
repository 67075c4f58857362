"""Columns of one kind are taken together where there are many: the answers are those of each by itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import suffice as sf
from suffice.core.errors import InfiniteValueError, InvalidDataError, LeftOutWarning, MismatchError
from suffice.core.frames import as_frame, row_hashes
from suffice.core.statistics import Batch, Cells, Moments
from suffice.core.statistics.cells import moments_of_columns
from suffice.families import Gaussian, together
from suffice.families.choose import Automatic
from suffice.families.product import Block
from suffice.model import features

COLUMNS = 40
WORDS = np.array(["ash", "beech", "cedar", "elm", "fir"])


def _numbers(rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    return rng.normal(size=(rows, COLUMNS)) + y[:, None] * (rng.random(COLUMNS) < 0.5), y


def _table(kind: str, rows: int) -> tuple[Any, Any]:
    x, y = _numbers(rows)
    rng = np.random.default_rng(1)
    gaps = rng.random(x.shape) < 0.15
    if kind == "numbers":
        return x, y
    if kind == "gaps":
        return np.where(gaps, np.nan, x), y
    if kind == "integers":
        return np.round(x), y
    if kind == "outliers":
        x[0, ::5] = 1e7
        return x, y
    words, true = WORDS[np.clip(np.round(x + 2), 0, 4).astype(int)], x > 0.5
    columns = {
        "strings": [pa.array(words[:, j], mask=gaps[:, j]) for j in range(COLUMNS)],
        "booleans": [pa.array(true[:, j], mask=gaps[:, j]) for j in range(COLUMNS)],
        "all kinds": [pa.array([x, words, true, np.round(x)][j % 4][:, j], mask=gaps[:, j]) for j in range(COLUMNS)],
    }[kind]
    return pa.table({f"c{j}": column for j, column in enumerate(columns)}), y


def _answers(x: Any, y: Any, structure: str) -> list[Any]:
    model = sf.BayesClassifier(structure=structure).fit(x, y)  # type: ignore[arg-type]
    one = model.predict_proba(x[:1])
    return [model.predict_proba(x), one, model.score_samples(x), model.leave_one_out(x, y)]


@pytest.mark.filterwarnings("ignore::suffice.core.errors.LeftOutWarning")
@pytest.mark.parametrize("rows", [6, 90])
@pytest.mark.parametrize("kind", ["numbers", "gaps", "integers", "outliers", "strings", "booleans", "all kinds"])
def test_columns_of_one_kind_taken_together_answer_as_each_by_itself(
    kind: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = _table(kind, rows)
    monkeypatch.setattr(together, "MANY", 10**9)
    apart = _answers(x, y, "naive")
    monkeypatch.setattr(together, "MANY", 2)
    for found, expected in zip(_answers(x, y, "naive"), apart, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_structure_of_more_columns_than_have_exponents_sums_them_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    y = np.arange(200) % 2
    x = rng.normal(size=(200, 420)) + 0.4 * y[:, None] * (rng.random(420) < 0.3)
    monkeypatch.setattr(together, "MANY", 10**9)
    apart = _answers(x, y, "pool")
    monkeypatch.setattr(together, "MANY", 2)
    for found, expected in zip(_answers(x, y, "pool"), apart, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_refused_value_is_named_by_its_column_and_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MANY", 2)
    x, y = _numbers(90)
    model = sf.BayesClassifier(structure="naive").fit(x, y)
    votes = [j for j, part in enumerate(model._settled().model.distribution.parts) if part.votes]
    asked = x.copy()
    asked[17, votes[3]] = np.inf
    with pytest.raises(InfiniteValueError, match=f"row 17, column 'x{votes[3]}'"):
        model.predict_proba(asked)


def test_strings_where_numbers_were_are_named_by_their_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MANY", 2)
    table, y = _table("strings", 90)
    model = sf.BayesClassifier(structure="naive").fit(table, y)
    changed = table.set_column(4, "c4", pa.array(np.arange(90) % 5))
    with pytest.raises(MismatchError, match="'c4'"):
        model.predict_proba(changed)


def test_moments_of_columns_of_cells_are_those_of_each() -> None:
    x, codes = np.random.default_rng(5).normal(size=(500, 7)), (np.arange(500) % 3).astype(np.int32)
    x[:, 2] = np.round(x[:, 2])
    x[codes == 1, 4] = np.nan
    limits = [4096, 16, 4096, 4096, 16, 4096, 4096]
    cells = [Cells.of(x[:, j : j + 1], codes, 3, limit=limits[j], exact_moments=True) for j in range(7)]
    found = moments_of_columns(cells)
    expected = Moments.of(x, codes, 3)
    for name in ("weight", "mean", "squares"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
    assert found.rest is not None
    assert found.rest.shape == (3, 6, 7)


def test_a_table_of_twenty_thousand_columns_is_learned_and_answered() -> None:
    x = np.random.default_rng(0).normal(size=(4, 20_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sf.BayesClassifier().fit(x, [0, 1, 0, 1])
    distribution = model._settled().model.distribution
    assert model.predict_proba(x[:1]).shape == (1, 2)
    made = sum("fitted" in vars(part) for part in distribution.parts)  # none is estimated by itself
    assert made < together.MANY


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_a_wide_table_is_read_as_its_array_is(kind: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 300))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 7] = np.nan
    names = [f"x{j}" for j in range(300)]
    if kind == "pandas":
        table = pytest.importorskip("pandas").DataFrame(X, columns=names)
    elif kind == "polars":
        table = pytest.importorskip("polars").DataFrame(X, schema=names)
    else:
        nulls = [pa.array(column, mask=np.isnan(column)) for column in X.T]
        table = pa.table([pa.chunked_array([column[:11], column[11:]]) for column in nulls], names=names)
    read, array = as_frame(table), as_frame(X)
    assert read.matrix is not None
    assert read.names == names
    assert read.kind_of("x7") == array.kind_of("x7") == "empty"
    np.testing.assert_array_equal(row_hashes(read), row_hashes(array))
    y = rng.integers(0, 2, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)  # the empty column
        found = sf.BayesClassifier().fit(table, y).predict_proba(table)
        np.testing.assert_array_equal(found, sf.BayesClassifier().fit(X, y).predict_proba(X))


def test_a_wide_table_with_a_name_twice_is_refused() -> None:
    columns = [np.zeros(2)] * 300
    with pytest.raises(InvalidDataError, match="Two columns are named 'x0'"):
        as_frame(pa.table(columns, names=[f"x{j % 299}" for j in range(300)]))


@pytest.mark.parametrize("kind", ["numbers", "gaps", "outliers"])
def test_gaussian_columns_left_out_together_are_those_left_out_one_by_one(kind: str) -> None:
    x, y = _table(kind, 90)
    family, codes, weight = Gaussian(learn="predictive"), y.astype(np.int32), np.where(y == 1, 0.5, 1.0)
    moments = Moments.of(x, codes, 3, weight)
    found = family.columns_leave_one_out(moments, x, codes, weight)
    some = [j for j, each in enumerate(found) if each is not None]
    assert some == [j for j in range(COLUMNS) if kind != "outliers" or j % 5]
    for j in some:
        own = Moments.of(x[:, [j]], codes, 3, weight)
        alone = family.leave_one_out(own, family.estimate(own), x[:, [j]], codes, weight)
        np.testing.assert_allclose(found[j], alone, rtol=1e-10, atol=1e-10)


def test_scores_of_many_numbers_are_those_of_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = _numbers(60)
    x[3, 5], x[:, 7], x[:, 9] = np.nan, 1.0, np.round(x[:, 9])
    blocks = [Block((f"x{j}",), Automatic()) for j in range(COLUMNS)]
    batch = Batch(tuple(x[:, [j]] for j in range(COLUMNS)), len(x))
    monkeypatch.setattr(features, "MOST", COLUMNS - 5)  # there are more numbers than have scores
    found = features.Features.fit(blocks, batch, np.ones(len(x)))
    monkeypatch.setattr(features, "_scored", lambda *_: {})
    alone = features.Features.fit(blocks, batch, np.ones(len(x)))
    assert [column.name for column in found.columns] == [column.name for column in alone.columns]
    assert len(found.columns) == COLUMNS - 5
    for a, b in zip(found.columns, alone.columns, strict=True):
        assert isinstance(a, features.NumberFeatures)
        assert isinstance(b, features.NumberFeatures)
        np.testing.assert_allclose([a.mean, a.deviation], [b.mean, b.deviation], rtol=1e-12)
        assert a.sizes == b.sizes
