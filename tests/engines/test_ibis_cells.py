"""Columns of numbers of a database: the cells, the families and the calibration of rows in memory."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("ibis", reason="Ibis is not installed: pip install 'suffice[ibis]'")

import ibis
import ibis.expr.types as ir

import suffice as sf
from engines.cases import put
from suffice.core.errors import InvalidDataError, InvalidOptionError, UncalibratedWarning
from suffice.core.statistics import Cells
from suffice.engines import ibis as engine
from suffice.engines.sql import cell_queries, checks

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Ibis and the drivers have warnings of their own
    pytest.mark.filterwarnings("error::suffice.core.errors.UncalibratedWarning"),
]

N = 20_000


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    """Columns of more rows than this are counted in the database."""
    for module in (cell_queries, engine):
        monkeypatch.setattr(module, "SAMPLED", 4000)
    monkeypatch.setattr(cell_queries, "DRAWN", 4000)


def columns(n=N):
    """Columns that are hard to count."""
    rng = np.random.default_rng(6)
    sign = rng.choice([-1.0, 1.0], n)
    few = {size: rng.random(size)[rng.integers(0, size, n)] for size in (4000, 4300)}
    return {
        "far from zero": 1e9 + 3 * rng.normal(size=n),
        "one value": np.full(n, 3.7),
        "a last digit apart": np.where(rng.random(n) < 0.5, 1.0, np.nextafter(1.0, 2.0)),
        "1e-300 to 1e300": sign * 10 ** rng.uniform(-300, 300, n),
        "one far value": np.append(rng.random(n - 1), 1e300),
        "subnormal": sign * 10 ** rng.uniform(-322, -305, n),
        "the largest": sign * rng.uniform(1e307, 1.79e308, n),
        "all distinct": rng.permutation(n) / 7.0,
        "mostly zeros": np.where(rng.random(n) < 0.99, 0.0, rng.normal(size=n)),
        "zeros of both signs": np.where(rng.random(n) < 0.5, -0.0, 0.0),
        "tiny and negative, or large": np.where(rng.random(n) < 0.5, -1e-310 * rng.random(n), 1e9 * rng.random(n)),
        "fewer values than cells": few[4000],
        "more values than cells": few[4300],
        "integers": rng.integers(-100_000, 100_000, n),
        "integers beyond 2^53": rng.integers(2**53, 2**62, n),
        "single precision": rng.normal(size=n).astype(np.float32),
        "amounts of money": np.round(np.exp(rng.normal(8, 2, n)), 2),
        "missing": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "sorted": np.sort(rng.normal(size=n)),
    }


def labels(n=N):
    return np.random.default_rng(7).choice(["few", "many", "some"], n, p=[0.02, 0.7, 0.28])


def table(columns, **more):
    return pa.table({name: pa.array(x, from_pandas=True) for name, x in columns.items()} | more)


def cells(model):
    """The cells of every column."""
    parts = model.statistics_.statistic.parts[:-1]
    assert all(isinstance(part, Cells) for part in parts)
    return parts


def kernels(names, limit=4096):
    return sf.BayesClassifier({name: sf.Kernel(limit=limit) for name in names}, calibrate=False)


@pytest.mark.parametrize("limit", [4096, 100])
def test_the_cells_of_a_database_are_those_of_memory_to_the_last_count(database, limit):
    here = table(columns(), y=labels())
    names = [name for name in here.column_names if name != "y"]
    local, there = (kernels(names, limit).fit(rows, "y") for rows in (here, put(database, here)))
    for name, mine, theirs in zip(names, cells(there), cells(local), strict=True):
        assert mine.level.tolist() == theirs.level.tolist(), name
        assert mine == theirs, name


def test_columns_are_counted_where_the_drawn_rows_tell_the_wrong_level(database, monkeypatch):
    names = ["far from zero", "fewer values than cells", "mostly zeros"]
    here = table({name: columns()[name] for name in names}, y=labels())
    local = kernels(names).fit(here, "y")
    there = put(database, here)
    for sure, room in ((1.25, 1e-3), (1e9, 1e9)):  # so coarse that finer levels must be tried, and as fine as can be
        monkeypatch.setattr(cell_queries, "SURE", sure)
        monkeypatch.setattr(cell_queries, "MOST_ROOM", room)
        assert cells(kernels(names).fit(there, "y")) == cells(local)


def test_exact_moments_beside_cells_are_those_of_memory(database):
    hard = {name: x for name, x in columns().items() if name not in ("1e-300 to 1e300", "one far value", "the largest")}
    y = labels()
    hard["one value of a class"] = np.where(y == "few", 0.1, np.random.default_rng(1).normal(size=N))
    here = table(hard, y=y)
    local, there = (sf.BayesClassifier(calibrate=False).fit(rows, "y") for rows in (here, put(database, here)))
    for name, mine, theirs in zip(hard, cells(there), cells(local), strict=True):
        assert mine == theirs, name
        least = 1e-320 if name == "subnormal" else 0.0
        np.testing.assert_array_equal(mine.moments.weight, theirs.moments.weight, name)
        np.testing.assert_allclose(mine.moments.squares, theirs.moments.squares, rtol=1e-9, atol=least, err_msg=name)
        if name == "one value of a class":
            assert not mine.exact.all()
            assert mine.moments.squares[0, 0] == 0.0


@pytest.mark.parametrize("blocks", [0.5, 1e-9])
def test_columns_are_counted_where_rows_of_some_blocks_are_drawn_or_none(database, monkeypatch, blocks):
    for name, value in {"LARGE": 0, "BLOCKS": blocks, "DRAWN": 1e-6 if blocks < 0.1 else 4000}.items():
        monkeypatch.setattr(cell_queries, name, value)
    monkeypatch.setattr(cell_queries, "OTHERS", min(cell_queries.DRAWN, 1000))
    names = ["sorted", "fewer values than cells", "mostly zeros"]
    here = table({name: columns()[name] for name in names}, y=labels())
    local, there = (kernels(names).fit(rows, "y") for rows in (here, put(database, here)))
    assert cells(there) == cells(local)


def test_nan_is_missing_and_infinity_is_refused_by_name(duckdb, postgres):
    x = columns()["far from zero"]
    for bad, database in ((bad, database) for bad in (np.nan, np.inf) for database in (duckdb, postgres)):
        here = pa.table({"x": pa.array(np.append(x[1:], bad)), "y": labels()})
        there = put(database, here)
        if np.isnan(bad):
            local, fitted = (sf.BayesClassifier(calibrate=False).fit(rows, "y") for rows in (here, there))
            assert cells(fitted) == cells(local)
            continue
        with pytest.raises(InvalidDataError, match=r"infinity.*Found inf in column 'x'"):
            sf.BayesClassifier(calibrate=False).fit(there, "y")


def test_weights_are_summed_in_every_cell(database):
    rng = np.random.default_rng(8)
    here = table({"x": rng.normal(size=N)}, w=rng.choice([0.0, 1.0, 2.5], N), y=labels())
    both = (here, put(database, here))
    local, there = (sf.BayesClassifier(calibrate=False).fit(rows, "y", sample_weight="w") for rows in both)
    (mine,), (theirs,) = (cells(model)[0].parts for model in (there, local))
    np.testing.assert_array_equal(mine.values, theirs.values)
    np.testing.assert_array_equal(mine.weight, theirs.weight)
    np.testing.assert_allclose(there.predict_proba(here), local.predict_proba(here), rtol=1e-9)


def rows_of_classes(n=N):
    """Columns whose best families differ: a bell, a mixture, a skewed one, few values, noise, gaps, and categories."""
    rng = np.random.default_rng(9)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    k = (y == "b") + 2.0 * (y == "c")
    bell = rng.normal(k, 1.0)
    return table(
        {
            "bell": bell,
            "two humps": rng.normal(np.where(rng.random(n) < 0.5, 4.0, -4.0), 1.0 + k),
            "skewed": np.exp(rng.normal(size=n) + 0.3 * k),
            "few": rng.integers(0, 5, n) + k,
            "noise": rng.normal(size=n),
            "twin of bell": np.round(bell, 1),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(k, 2.0)),
        },
        colour=rng.choice(["red", "green"], n),
        y=y,
    )


def test_families_are_chosen_and_answers_given_as_in_memory(database):
    here = rows_of_classes()
    local, there = (sf.BayesClassifier(calibrate=False).fit(rows, "y") for rows in (here, put(database, here)))
    assert there.schema_.rows == local.schema_.rows
    assert there.schema_.values[:, :3].tolist() == local.schema_.values[:, :3].tolist()
    np.testing.assert_allclose(there.predict_proba(here), local.predict_proba(here), rtol=1e-9, atol=1e-12)


def test_what_was_chosen_there_answers_there(database):
    here = rows_of_classes()
    there = put(database, here)
    fitted = sf.BayesClassifier(limit=300, calibrate=False).fit(there, "y")
    assert "kernel" in fitted.schema_.values[:, 0]
    told = fitted.predict_proba(there.limit(500)).to_pyarrow()
    local = sf.BayesClassifier(limit=300, calibrate=False).fit(here, "y")
    expected = local.predict_proba(told.select(here.column_names[:-1]))
    for k, label in enumerate(local.classes_):
        np.testing.assert_allclose(told[f"probability {label}"].to_numpy(), expected[:, k], rtol=1e-9, atol=1e-12)


def test_parts_of_a_database_and_of_memory_add_up(duckdb):
    here = rows_of_classes()
    parts = [here.slice(0, 9000), here.slice(9000)]
    whole = sf.BayesClassifier(calibrate=False).fit(here, "y")
    mixed = sf.BayesClassifier(calibrate=False).fit(put(duckdb, parts[0]), "y").partial_fit(parts[1], "y")
    assert mixed.statistics_.statistic.parts[:-1] == whole.statistics_.statistic.parts[:-1]


def test_all_values_are_kept_of_few_and_refused_of_many(database, monkeypatch):
    monkeypatch.setattr(checks, "MOST_VALUES", 8000)
    for name in ("fewer values than cells", "far from zero"):
        here = table({"x": columns()[name]}, y=labels())
        there = put(database, here)
        if name == "far from zero":
            with pytest.raises(InvalidDataError, match=r"needs the values of column 'x'.*to_pyarrow_batches"):
                kernels(["x"], None).fit(there, "y")
        else:
            assert cells(kernels(["x"], None).fit(there, "y")) == cells(kernels(["x"], None).fit(here, "y"))


# ---- calibration


def test_rows_leave_the_database_only_if_that_is_asked_for(duckdb, monkeypatch):
    there = put(duckdb, rows_of_classes())
    asked, original = [], ir.Table.to_pyarrow

    def spy(self, **more):
        asked.append(self.columns)
        return original(self, **more)

    monkeypatch.setattr(ir.Table, "to_pyarrow", spy)
    with pytest.warns(UncalibratedWarning, match="keep=5000"):
        sf.BayesClassifier().fit(there, "y")
    sf.BayesClassifier(keep=0).fit(there, "y")
    assert not any({"x0", "x1"} <= set(columns) for columns in asked)
    assert sf.BayesClassifier(keep=50).fit(there, "y").calibration_ is not None
    assert any({"x0", "x1"} <= set(columns) for columns in asked)


def test_probabilities_are_calibrated_with_consent(database):
    here = rows_of_classes()
    there = put(database, here)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncalibratedWarning)
        fitted = sf.BayesClassifier(keep=2000, structure="naive").fit(there, "y")
    kept = fitted.statistics_.statistic.parts[-1]
    assert len(kept) == 2000
    local = sf.BayesClassifier(keep=2000, structure="naive").fit(here, "y")
    x = here.drop_columns(["y"])
    y = here["y"].to_numpy(zero_copy_only=False)
    losses = [
        -np.log(model.predict_proba(x)[np.arange(N), np.searchsorted(model.classes_, y)]).mean()
        for model in (fitted, local, sf.BayesClassifier(calibrate=False).fit(here, "y"))
    ]
    assert abs(losses[0] - losses[1]) < 0.1 * (losses[2] - losses[1])  # as well calibrated, by other rows
    # The same rows beside the statistics of memory, from which each was left out, give the same calibration.
    seen = local._learned.seen
    beside = replace(seen, statistic=replace(seen.statistic, parts=(*seen.statistic.parts[:-1], kept)))
    expected = replace(local._learned, seen=beside).calibration(True)
    np.testing.assert_allclose(fitted.calibration_.slope, expected.slope, rtol=1e-6)
    # Each was learned, as often as it weighs.
    left = local.forget(kept.rows.select(x.column_names), local.classes_[kept.codes], kept.weight)
    assert left.class_count_.sum() == N - kept.weight.sum()


def test_the_kept_rows_are_chosen_by_what_they_hold(database):
    here = rows_of_classes(6000)
    shuffled = here.take(np.random.default_rng(0).permutation(6000))
    one, two = (sf.BayesClassifier(keep=300).fit(put(database, rows), "y") for rows in (here, shuffled))
    assert one.statistics_.statistic.parts[-1] == two.statistics_.statistic.parts[-1]


def test_rows_of_other_databases_are_not_kept():
    from suffice.engines.sql.kept_rows import row_hash

    class Elsewhere:
        name = "snowflake"

    class Table:
        def get_backend(self):
            return Elsewhere()

        def __getitem__(self, name):
            return ibis.literal(name)

    with pytest.raises(InvalidOptionError, match=r"keep: rows of snowflake.*DuckDB, PostgreSQL and SQLite"):
        row_hash(Table(), ("x",))
