"""The family of docs/adding_a_family.md keeps the laws that every family keeps."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv as pacsv
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import laws
import suffice as sf
from suffice.cli.program import run
from suffice.formulas import Sqrt
from suffice.formulas import X as EntryX
from suffice.model.joint import leave_one_out

PAGE = Path(__file__).parent.parent / "docs" / "adding_a_family.md"


def written():
    scope: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1], scope)
    return scope["Rayleigh"]


Rayleigh = written()


@st.composite
def winds(draw, min_rows: int = 0) -> laws.Rows:
    """Squares of speeds as the family hands them to its statistic, with missing entries, labels and weights."""
    n = draw(st.integers(min_rows, 12))
    entry = st.one_of(st.floats(0, 60, width=32), st.just(np.nan))
    speeds = np.array(draw(st.lists(entry, min_size=2 * n, max_size=2 * n)), dtype=float).reshape(n, 2)
    y = np.array(draw(st.lists(st.sampled_from(["land", "sea"]), min_size=n, max_size=n)), dtype="<U4")
    weight = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5]), min_size=n, max_size=n))
    summary = Rayleigh.summary
    return laws.Rows(summary.statistic, summary.entries(speeds), y, np.array(weight, dtype=float))


@given(winds(), winds(), winds())
def test_its_statistic_adds_like_any_other(a, b, c):
    laws.addition_has_an_identity(a)
    laws.addition_commutes(a, b)
    laws.addition_associates(a, b, c)


@given(winds(), st.integers(0, 12))
def test_parts_make_the_whole_and_can_be_taken_away(rows, at):
    laws.merging_parts_equals_summarizing_the_whole(rows, at)
    laws.subtraction_undoes_addition(rows, at)
    laws.loading_undoes_saving(rows)


@given(winds(1), st.data())
def test_whole_weights_are_repeated_rows_and_no_weight_is_absence(rows, data):
    n = len(rows.y)
    laws.integer_weight_equals_repeated_rows(
        rows, np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    )
    laws.zero_weight_equals_absence(rows, np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))))


RNG = np.random.default_rng(0)
Y = np.array(["land", "sea"])[np.arange(80) % 2]
X = RNG.rayleigh(np.where(Y == "sea", 6.0, 3.0)[:, None], (80, 2))
X[RNG.random(X.shape) < 0.1] = np.nan


@pytest.mark.parametrize(
    "family", [Rayleigh(), Rayleigh(prior=None), Rayleigh(learn="map"), Rayleigh(sf.Gamma(2, 30))], ids=str
)
def test_leaving_one_out_is_fitting_again_without_it(family):
    out = leave_one_out(family.summarize(X, Y), family, sf.ClassPrior(), X, Y)
    for i in (0, 17, 79):
        others = np.arange(80) != i
        assert_allclose(out[i], sf.Model.fit(X[others], Y[others], family).log_joint(X[i : i + 1])[0], rtol=1e-10)


def test_its_density_is_rayleighs_and_gaps_are_left_out():
    model = sf.Model.fit(X, Y, Rayleigh(prior=None))
    for c, label in enumerate(model.labels):
        for j in range(2):
            seen = X[label == Y, j]
            scale = np.sqrt(np.nanmean(seen**2) / 2)
            assert_allclose(1 / np.sqrt(2 * model.distribution.rate[c, j]), scale, rtol=1e-12)
            row = np.full((1, 2), np.nan)
            row[0, j] = 4.2
            assert_allclose(model.log_conditional(row)[0, c], stats.rayleigh.logpdf(4.2, scale=scale), rtol=1e-12)
    assert_allclose(model.log_conditional(np.full((1, 2), np.nan)), 0.0)


def test_drawn_speeds_have_its_mean_and_options_that_make_no_sense_are_refused():
    model = sf.Model.fit(X, Y, Rayleigh())
    drawn, _ = model.sample(20_000, label="sea", random_state=0)
    assert_allclose(drawn.mean(axis=0), model.distribution.expected[1], rtol=0.02)
    with pytest.raises(sf.InvalidDataError, match="at least 0"):
        sf.Model.fit(-X, Y, Rayleigh())
    with pytest.raises(sf.InvalidOptionError, match="not written yet"):
        sf.Model.fit(X, Y, Rayleigh(learn="predictive"))


LAPLACE = """
\"\"\"Real numbers around a median, with heavier tails than a Gaussian's.\"\"\"

import numpy as np

import suffice as sf
from suffice.formulas import Abs


class LaplaceDistribution(sf.Entrywise):
    \"\"\"Median m and mean absolute deviation b, (classes, columns).\"\"\"

    median: np.ndarray
    deviation: np.ndarray

    parameters_each = 2

    def density(self, x):
        \"\"\"−log 2b − |x − m| / b.\"\"\"
        return -np.log(2 * self.deviation) - Abs(x - self.median) / self.deviation

    @property
    def expected(self):
        \"\"\"The median, which is the mean.\"\"\"
        return self.median

    def sample(self, codes, rng):
        \"\"\"Draw rows of real numbers.\"\"\"
        return rng.laplace(self.median[codes], self.deviation[codes])


class Laplace(sf.Family):
    \"\"\"A real number around a median:  p(x | y) = e^(−|x − m_y| / b_y) / 2 b_y, by maximum likelihood.

    >>> family = Laplace()
    >>> family.estimate(family.summarize([[0.0], [1.0], [5.0]], [0, 0, 0]).statistic).median
    array([[1.]])
    \"\"\"

    summary = sf.Summary(sf.Sample)  # a median needs the values themselves
    gives = LaplaceDistribution

    def estimate(self, sample):
        \"\"\"The weighted median of each class and column, and the mean distance from it.\"\"\"
        found = np.zeros((2, sample.n_classes, sample.n_columns))
        for j, points in enumerate(sample.parts):
            for c in range(sample.n_classes):
                values, weight = points.of_class(c)
                reached = np.cumsum(weight) / max(weight.sum(), 1e-300)
                median = values[np.searchsorted(reached, 0.5), 0] if len(values) else 0.0
                spread = weight @ np.abs(values[:, 0] - median) / weight.sum() if len(values) else 1.0
                found[:, c, j] = median, max(spread, 1e-12)
        return LaplaceDistribution(*found)
"""


@pytest.fixture(scope="module")
def laplace(tmp_path_factory):
    """A family in a file of its own: at most 60 lines, and nothing else is touched."""
    folder = tmp_path_factory.mktemp("families")
    (folder / "laplace_family.py").write_text(LAPLACE.lstrip(), encoding="utf-8")
    assert len(LAPLACE.strip().splitlines()) <= 60
    sys.path.insert(0, str(folder))
    yield importlib.import_module("laplace_family")
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def winds_of_seasons():
    rng = np.random.default_rng(3)
    season = rng.choice(["summer", "winter"], 400)
    pressure = np.round(rng.laplace(np.where(season == "winter", 990.0, 1010.0), 6.0), 1)
    rain = rng.random(400) < np.where(season == "winter", 0.5, 0.2)
    return {"pressure": pressure, "rain": rain, "season": season}


@pytest.fixture(scope="module")
def fitted(laplace, winds_of_seasons):
    assert laplace.Laplace.__module__ == "laplace_family"
    return sf.BayesClassifier({"pressure": "laplace", "rain": "bernoulli"}).fit(winds_of_seasons, "season")


def test_a_family_of_one_file_is_chosen_by_its_name_and_is_the_laplace_distribution(fitted, winds_of_seasons, laplace):
    assert doctest.testmod(laplace).failed == 0
    part = fitted.model_.distribution.parts[0]
    for c, label in enumerate(fitted.classes_):
        own = winds_of_seasons["pressure"][winds_of_seasons["season"] == label]
        median = np.sort(own)[(len(own) - 1) // 2]
        assert part.median[c, 0] == median
        at = np.array([[980.0], [1003.3], [np.nan]])
        expected = stats.laplace.logpdf(at[:2, 0], median, np.abs(own - median).mean())
        assert_allclose(part.log_density(at)[:, c], [*expected, 0.0], rtol=1e-12)


def test_such_a_family_is_stored_left_out_imputed_drawn_and_shown(fitted, winds_of_seasons, tmp_path):
    rows = {name: winds_of_seasons[name] for name in ("pressure", "rain")}
    fitted.save(tmp_path / "wind.suffice")
    assert_array_equal(sf.load(tmp_path / "wind.suffice").predict_proba(rows), fitted.predict_proba(rows))
    naive = sf.BayesClassifier({"pressure": "laplace", "rain": "bernoulli"}, structure="naive")
    out = naive.fit(winds_of_seasons, "season").leave_one_out(winds_of_seasons, "season")
    some = np.arange(400) != 17
    others = {name: values[some] for name, values in winds_of_seasons.items()}
    anew = naive.fit(others, "season").predict_log_proba({name: values[17:18] for name, values in rows.items()})
    assert_allclose(out[17], anew[0], atol=0.02)  # but for the calibration, which stays that of all rows
    assert 980 < fitted.impute({"pressure": [None], "rain": [True]})["pressure"][0] < 1015
    drawn, _ = fitted.sample(2000, label="winter", random_state=0)
    assert abs(np.median(drawn["pressure"]) - 990) < 1.0
    (curve, _) = sf.conditionals.conditionals(fitted)
    assert curve.kind == "density"
    assert_allclose(np.trapezoid(curve.density, curve.x, axis=1), 1.0, atol=0.06)


def test_such_a_family_has_a_formula_in_sql_and_on_the_page(fitted, winds_of_seasons, tmp_path):
    rows = {name: winds_of_seasons[name] for name in ("pressure", "rain")}
    assert_allclose(fitted.formula().posterior(rows), fitted.predict_proba(rows), rtol=1e-9)
    sf.report.write(fitted, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '"op":"abs"' in page.replace(" ", "")
    assert "has no closed form" not in page


def test_such_a_family_is_scored_by_a_query_and_drawn(fitted, winds_of_seasons):
    pytest.importorskip("sqlglot", reason="SQL is written by sqlglot")
    duckdb = pytest.importorskip("duckdb")
    rows = pyarrow.table({name: winds_of_seasons[name] for name in ("pressure", "rain")})
    connection = duckdb.connect()
    connection.register("data", rows)
    found = connection.sql(fitted.to_sql("duckdb", types={"rain": "boolean"})).fetchnumpy()
    assert_allclose(found["probability winter"], fitted.predict_proba(rows)[:, 1], rtol=1e-9)
    assert_array_equal(found["prediction"], fitted.predict(rows))
    drawn = sf.plot.ConditionalsDisplay.from_estimator(fitted)
    densities = [line.get_ydata() for ax in drawn.figure_.axes for line in ax.get_lines()]
    assert any(len(y) > 50 and np.isfinite(y).all() and y.max() > 0 for y in densities)


@pytest.mark.usefixtures("laplace")
def test_such_a_family_is_named_on_the_command_line(winds_of_seasons, tmp_path, capsys):
    pacsv.write_csv(pyarrow.table(winds_of_seasons), tmp_path / "winds.csv")
    model = str(tmp_path / "winds.suffice")
    options = ["--target", "season", "--families", "pressure=laplace", "-o", model]
    assert run(["fit", str(tmp_path / "winds.csv"), *options]) == 0
    assert run(["predict", model, str(tmp_path / "winds.csv"), "-o", str(tmp_path / "answers.csv")]) == 0
    assert "laplace" in capsys.readouterr().out.lower()
    expected = sf.BayesClassifier({"pressure": "laplace"}).fit(winds_of_seasons, "season").predict(winds_of_seasons)
    assert_array_equal(pacsv.read_csv(tmp_path / "answers.csv")["prediction"].to_pylist(), expected)


@pytest.mark.usefixtures("laplace")
def test_such_a_family_learns_and_answers_in_a_database(winds_of_seasons):
    ibis = pytest.importorskip("ibis", reason="databases are reached by Ibis")
    table = ibis.duckdb.connect().create_table("winds", pyarrow.table(winds_of_seasons))
    there = sf.BayesClassifier({"pressure": "laplace", "rain": "bernoulli"}, calibrate=False).fit(table, "season")
    here = sf.BayesClassifier({"pressure": "laplace", "rain": "bernoulli"}, calibrate=False).fit(
        winds_of_seasons, "season"
    )
    assert_allclose(there.model_.distribution.parts[0].median, here.model_.distribution.parts[0].median, rtol=1e-12)
    found = there.predict_proba(table).to_pyarrow()
    expected = here.predict_proba(winds_of_seasons)
    assert_allclose(found["probability winter"].to_numpy(), expected[:, 1], rtol=1e-9)


def source_of(engine, rows, folder):
    """The rows as an engine holds them."""
    table = pyarrow.table(rows)
    if engine in ("CSV", "gzip"):
        path = folder / ("winds.csv" if engine == "CSV" else "winds.csv.gz")
        with pyarrow.CompressedOutputStream(path, "gzip") if engine == "gzip" else path.open("wb") as file:
            pacsv.write_csv(table, file)
        return path
    if engine == "Parquet files":
        for i in range(3):
            parquet.write_table(table.take(np.arange(i, len(table), 3)), folder / f"{i}.parquet")
        return folder
    if engine == "stream":
        return pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))
    if engine in ("pandas", "polars"):
        library = pytest.importorskip(engine)
        return library.DataFrame(rows)
    ibis = pytest.importorskip("ibis", reason="databases are reached by Ibis")
    return getattr(ibis, engine).connect().create_table("winds", table)


@pytest.mark.filterwarnings("default")  # Ibis and the drivers have warnings of their own
@pytest.mark.parametrize("engine", ["CSV", "gzip", "Parquet files", "stream", "pandas", "polars", "duckdb", "sqlite"])
def test_the_tutorials_family_gives_the_same_wherever_rows_are(engine, tmp_path):
    """Spark, Dask and Ray are in tests/engines."""
    speed = [None if np.isnan(v) else v for v in X[:, 0].tolist()]
    rows = {"speed": speed, "place": Y.tolist()}
    here = sf.BayesClassifier({"speed": Rayleigh()}, calibrate=False).fit(rows, "place")
    there = sf.BayesClassifier({"speed": Rayleigh()}, calibrate=False).fit(source_of(engine, rows, tmp_path), "place")
    (mine,), (theirs,) = (fitted.statistics_.statistic.parts[:1] for fitted in (there, here))
    assert_array_equal(mine.weight, theirs.weight)
    assert_allclose(mine.total, theirs.total, rtol=1e-14)
    squares = [np.nansum(X[label == Y, 0] ** 2) for label in ("land", "sea")]
    assert_allclose(mine.total[:, 0], squares, rtol=1e-14)
    assert_allclose(there.predict_proba(rows), here.predict_proba(rows), rtol=1e-9)


def test_the_tutorials_family_sums_squares_in_a_database():
    ibis = pytest.importorskip("ibis", reason="databases are reached by Ibis")
    rows = {"speed": X[:, 0], "place": Y}
    table = ibis.duckdb.connect().create_table("winds", pyarrow.table(rows))
    there, here = (
        sf.BayesClassifier({"speed": Rayleigh()}, calibrate=False).fit(source, "place") for source in (table, rows)
    )
    assert_allclose(there.tables()[1].values, here.tables()[1].values, rtol=1e-12)


def test_a_subclass_that_sums_something_else_does_so_in_a_database():
    ibis = pytest.importorskip("ibis", reason="databases are reached by Ibis")

    class RootGaussian(sf.Gaussian):
        summary = sf.Summary(sf.Moments, of=Sqrt(EntryX))

    rows = {"speed": X[:, 0], "place": Y}
    table = ibis.duckdb.connect().create_table("winds", pyarrow.table(rows))
    there, here = (
        sf.BayesClassifier({"speed": RootGaussian(prior=None)}, calibrate=False).fit(source, "place").statistics_
        for source in (table, rows)
    )
    means = [np.nanmean(np.sqrt(X[label == Y, 0])) for label in ("land", "sea")]
    for found in (there, here):
        assert_allclose(found.statistic.parts[0].mean[:, 0], means, rtol=1e-12)


def test_a_name_that_is_taken_and_one_that_is_not_known_are_refused():
    with pytest.raises(TypeError, match="needs another name"):
        type("Gaussian", (sf.Family,), {"__module__": "elsewhere", "estimate": Rayleigh.estimate})
    with pytest.raises(sf.InvalidOptionError, match=r"There is no family 'gausian'\. Did you mean 'gaussian'"):
        sf.BayesClassifier({"x": "gausian"}).fit({"x": [1.0, 2.0], "y": ["a", "b"]}, "y")
