"""Pairs of columns in a database: counted by the plan that the rows settle which may leave it."""

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("ibis", reason="Ibis is not installed: pip install 'suffice[ibis]'")

import suffice as sf
from engines.cases import put
from suffice.core.errors import UncalibratedWarning
from suffice.core.statistics import Cells, Pairs
from suffice.engines import ibis as engine
from suffice.engines.sql import cell_queries, pair_queries
from suffice.model.structure import Structure

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Ibis and the drivers have warnings of their own
    pytest.mark.filterwarnings("error::suffice.core.errors.UncalibratedWarning"),
]

N, KEEP = 6000, 800


def rows(n=N, seed=11):
    """Columns whose ratio, and whose pairs, tell more than each by itself; with gaps, booleans and weights."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["low", "high", "odd"], n, p=[0.5, 0.3, 0.2])
    k = (y == "high") + 2.0 * (y == "odd")
    size = np.exp(rng.normal(size=n))
    sign = rng.choice([-1.0, 1.0], n)
    columns = {
        "width": size,
        "height": size * np.exp(0.3 * rng.normal(size=n) + 0.5 * k),
        "a": sign * rng.normal(2.0, 1.0, n),
        "b": np.where(y == "odd", -sign, sign) * rng.normal(2.0, 1.0, n),
        "steps": rng.integers(0, 40, n),
        "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.normal(k, 2.0)),
    }
    colour = rng.choice(["red", "green", "it's blue", None], n, p=[0.4, 0.3, 0.2, 0.1])
    return pa.table(
        {name: pa.array(x, from_pandas=True) for name, x in columns.items()}
        | {
            "colour": pa.array(colour.tolist()),
            "flag": pa.array(rng.random(n) < 0.3 + 0.2 * (k > 0)),
            "w": rng.choice([0.0, 1.0, 2.0], n),
            "y": y,
        }
    )


@pytest.fixture(params=["values", "cells"])
def counted(request, monkeypatch):
    """Found columns are counted by their values, or in cells."""
    if request.param == "cells":
        for module in (cell_queries, engine):
            monkeypatch.setattr(module, "SAMPLED", 2000)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.usefixtures("counted")
def test_pairs_and_found_columns_are_counted_as_in_memory_under_one_plan(database, weight):
    here = rows() if weight else rows().drop_columns(["w"])
    there = sf.BayesClassifier(keep=KEEP).fit(put(database, here), "y", sample_weight=weight)
    family = there._learned.family
    assert family.plan is not None
    assert [block.title for block in family.found] != []
    local = there.like().fit(here, "y", sample_weight=weight)
    assert local._learned.family.found == family.found
    own = len(family.blocks)
    mine, theirs = (model.statistics_.over(there.classes_).statistic.parts for model in (there, local))
    for block, a, b in zip(family.found, mine[own + 1 :], theirs[own + 1 :], strict=False):
        assert isinstance(a, Cells)
        assert a == b, block.title
    assert isinstance(mine[-1], Pairs)
    np.testing.assert_array_equal(mine[-1].weight, theirs[-1].weight)
    assert mine[-1].weight.sum() > 0


def test_pairs_that_take_several_queries_are_the_same(duckdb, monkeypatch):
    here = rows().drop_columns(["w"])
    one = sf.BayesClassifier(keep=KEEP).fit(put(duckdb, here), "y")
    monkeypatch.setattr(pair_queries, "MOST_CELLS", 3000)
    monkeypatch.setattr(pair_queries, "MOST_SETS", 4)
    other = sf.BayesClassifier(keep=KEEP).fit(put(duckdb, here), "y")
    assert one.statistics_.statistic.parts[-1] == other.statistics_.statistic.parts[-1]


def test_a_structure_of_pairs_is_fitted_and_answers_in_the_database(database):
    here, new = rows().drop_columns(["w"]), rows(500, seed=12).drop_columns(["w", "y"])
    there = put(database, here)
    fitted = sf.BayesClassifier(keep=KEEP, structure="pairs", limit=300).fit(there, "y")
    assert isinstance(fitted.calibration_, Structure)
    assert fitted.calibration_.pairs.any()
    assert "pair" in fitted.schema_.values[:, 0]
    y = here["y"].to_numpy(zero_copy_only=False)

    def loss(model):
        return -np.log(model.predict_proba(here)[np.arange(N), np.searchsorted(model.classes_, y)]).mean()

    naive = sf.BayesClassifier(keep=KEEP, structure="naive", limit=300).fit(there, "y")
    local = sf.BayesClassifier(keep=KEEP, structure="pairs", limit=300).fit(here, "y")
    losses = [loss(model) for model in (fitted, naive, local)]
    assert abs(losses[0] - losses[2]) < 0.25 * (losses[1] - losses[2])  # as good, by other rows
    new = new.append_column("i", pa.array(np.arange(500)))
    told = fitted.predict_proba(put(database, new, "new")).to_pandas().sort_values("i")
    expected = fitted.predict_proba(new)
    for k, label in enumerate(fitted.classes_):
        np.testing.assert_allclose(told[f"probability {label}"], expected[:, k], rtol=1e-9, atol=1e-12)


def test_all_rows_of_a_small_table_settle_the_structure_as_in_memory(duckdb):
    here = rows(1500).drop_columns(["w"])
    there, local = (sf.BayesClassifier(keep=5000).fit(table, "y") for table in (put(duckdb, here), here))
    assert there._learned.family.plan is None  # all rows are kept: these settle a plan when it is needed
    np.testing.assert_allclose(there.predict_proba(here), local.predict_proba(here), rtol=1e-6, atol=1e-9)


def test_more_rows_of_a_database_are_counted_by_the_plan_from_before(duckdb):
    here = rows().drop_columns(["w"])
    parts = [put(duckdb, here.slice(0, 4000), "first"), put(duckdb, here.slice(4000), "second")]
    model = sf.BayesClassifier(keep=KEEP).fit(parts[0], "y").partial_fit(parts[1], "y")
    whole = model.like().fit(here, "y")
    assert model.statistics_.statistic.parts[-1] == whole.statistics_.statistic.parts[-1]


def test_without_consent_the_model_is_naive_and_the_warning_says_so(duckdb):
    there = put(duckdb, rows().drop_columns(["w"]))
    with pytest.warns(UncalibratedWarning, match=r"structure='naive'.*keep=5000"):
        model = sf.BayesClassifier().fit(there, "y")
    assert model._learned.family.plan is None
    assert not isinstance(model.calibration_, Structure)
