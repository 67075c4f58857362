"""Clusters without labels, beside scikit-learn: do they find the classes, and how probable are rows that were left out?

SUFFICE_DATA=… python -m benchmarks.clusters [--only SET]

The adjusted Rand index compares clusters with classes that no method has seen. The number of clusters is that of the
classes, or is chosen ("found"). log p(x) is the mean of rows in five folds, in nats; it can be compared where all
columns are numbers and densities: `families` makes them Gaussian for that. scikit-learn's peers get standardized
columns, gaps filled by the mean, categories as indicators.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import suffice as sf
from benchmarks.tables import Table, kinds

Array = NDArray[Any]
FEW = 20  # distinct values: a column with no more has no density


class Data(NamedTuple):
    """A table, and classes that are hidden."""

    table: pa.Table
    classes: Array


def bundled(load: Callable[..., Any]) -> Data:
    """One of scikit-learn's data sets."""
    bunch = load()
    return Data(pa.table(list(bunch.data.T), names=[str(name) for name in bunch.feature_names]), bunch.target)


def penguins() -> Data:
    """Measures with gaps, island, sex and year; species are hidden."""
    from suffice.cli.demo_data import penguins as read

    columns = read()
    species = np.array(columns.pop("species"))
    return Data(pa.table(columns), species)


def mixed(rows: int = 3000, clusters: int = 5) -> Data:
    """Tables like Adult, of known clusters: numbers, skewed ones, one that is mostly 0, categories, gaps."""
    rng = np.random.default_rng(0)
    z = rng.choice(clusters, rows, p=rng.dirichlet(np.full(clusters, 5.0)))
    centre, spread = rng.normal(0, 1.5, (clusters, 3)), rng.uniform(0.5, 1.5, (clusters, 3))
    columns: dict[str, Any] = {"age": rng.normal(centre[z, 0], spread[z, 0])}
    columns["hours"] = rng.normal(centre[z, 1], spread[z, 1])
    columns["income"] = np.exp(rng.normal(centre[z, 2], spread[z, 2]))
    columns["gain"] = np.where(rng.random(rows) < 0.6 + 0.08 * z, 0.0, np.exp(rng.normal(3, 1, rows)))
    for name, size in (("work", 6), ("education", 10), ("race", 4)):
        p = rng.dirichlet(np.full(size, 0.6), clusters).cumsum(axis=1)[z]
        columns[name] = np.array([f"{name}{j}" for j in range(size)])[(rng.random((rows, 1)) > p[:, :-1]).sum(axis=1)]
    gaps = {name: rng.random(rows) < 0.1 for name in ("hours", "work", "education")}
    return Data(pa.table({name: pa.array(x, mask=gaps.get(name)) for name, x in columns.items()}), z)


def adult() -> Data:
    """5000 rows of Adult; whether the income is high is hidden, which nobody says is what clusters are about."""
    found = Table.read("adult")
    some = np.random.default_rng(0).permutation(len(found.labels))[:5000]
    return Data(found.features.take(some), found.labels[some])


SETS: dict[str, Callable[[], Data]] = {
    "Iris": lambda: bundled(load_iris),
    "wine": lambda: bundled(load_wine),
    "digits": lambda: bundled(load_digits),
    "penguins": penguins,
    "mixed": mixed,
    "Adult": adult,
}


def as_matrix(table: pa.Table) -> Array:
    """Return standardized numbers and indicators of categories, for models that need numbers."""
    numbers, categories = kinds(table)
    made = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(sparse_output=False), categories),
    )
    return np.asarray(made.fit_transform(table.to_pandas()), np.float64)


def timed(find: Callable[[], Array]) -> tuple[Array, float]:
    begun = time.process_time()
    return find(), time.process_time() - begun


def held_out(fit: Callable[[Any], Callable[[Any], Array]], rows: Any, n: int) -> float:
    """Return the mean log-density of rows in five folds."""
    out = np.empty(n)
    for learned, held in KFold(5, shuffle=True, random_state=0).split(np.zeros(n)):
        out[held] = fit(rows.take(learned) if isinstance(rows, pa.Table) else rows[learned])(
            rows.take(held) if isinstance(rows, pa.Table) else rows[held]
        )
    return float(out.mean())


def show(name: str, data: Data) -> None:
    """Print a line for each method."""
    n, k = data.table.num_rows, len(np.unique(data.classes))
    plain = all(not column.null_count and len(column.unique()) > FEW for column in data.table.columns)
    plain = plain and not kinds(data.table)[1]
    gaussian = {each: sf.Gaussian() for each in data.table.column_names}

    def line(method: str, clusters: Array, seconds: float, reached: float | None) -> None:
        said = "" if reached is None else f"{reached:.2f}"
        rand = adjusted_rand_score(data.classes, clusters)
        print(f"| {name} | {method} | {len(np.unique(clusters))} | {rand:.3f} | {said} | {seconds:.1f} |", flush=True)

    for method, number in ((f"`sf.cluster(df, {k})`", k), ("`sf.cluster(df)`", None)):
        found, seconds = timed(lambda number=number: sf.cluster(data.table, number).predict(data.table))  # type: ignore[misc]
        reached = None
        if plain and number is not None:
            reached = held_out(lambda x: sf.cluster(x, k, families=gaussian).score_samples, data.table, n)
        line(method, found, seconds, reached)
    matrix = as_matrix(data.table)
    raw = np.stack([column.to_numpy() for column in data.table.columns], axis=1) if plain else matrix
    for form in ("full", "diag", "tied"):

        def mixture(x: Array, form: str = form) -> GaussianMixture:
            return GaussianMixture(k, covariance_type=form, n_init=10, random_state=0).fit(x)  # type: ignore[arg-type]

        found, seconds = timed(lambda: mixture(raw).predict(raw))  # called at once
        reached = held_out(lambda x: mixture(x).score_samples, raw, n) if plain else None  # called at once
        line(f"`GaussianMixture`, {form}", found, seconds, reached)
    found, seconds = timed(lambda: KMeans(k, n_init=10, random_state=0).fit_predict(matrix))
    line("`KMeans`", found, seconds, None)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--only", default="", help="sets whose name contains this")
    options = parser.parse_args()
    print("| data | method | clusters | adjusted Rand index | log p(x), left out | seconds |")
    print("|---|---|---|---|---|---|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in SETS.items():
            if options.only.lower() in name.lower():
                show(name, make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
