"""Ibis, on a real DuckDB, a real PostgreSQL, and SQLite for databases without grouping sets or NaN."""

import re
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("ibis", reason="Ibis is not installed: pip install 'suffice[ibis]'")

import ibis
import ibis.expr.types as ir

import suffice as sf
from engines.cases import CASES, arrow, assert_answers, assert_same, numbers, probabilities, put
from suffice.core.errors import (
    EngineError,
    InvalidDataError,
    InvalidOptionError,
    UncalibratedWarning,
)
from suffice.core.statistics import Counts
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Ibis and the drivers have warnings of their own
    pytest.mark.filterwarnings("error::suffice.core.errors.UncalibratedWarning"),
]


def everything(n=400):
    """Columns of all kinds with gaps, and weights of which some are zero."""
    rng = np.random.default_rng(4)
    y = rng.choice(["no", "yes", "it's"], n, p=[0.5, 0.4, 0.1])
    k = (y == "yes") + 2.0 * (y == "it's")
    table = pd.DataFrame(
        {
            "far": 1e6 + rng.normal(size=n) + k,
            "amount": np.exp(rng.normal(size=n) + 0.5 * k),
            "wait": rng.exponential(1 + k),
            "tries": rng.geometric(0.3, n) - 1.0 + k,
            "visits": rng.poisson(2 + k).astype(float),
            "level": rng.integers(0, 5, n) + k,
            "a": rng.normal(size=n) + k,
            "b": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "it's blue"], n),
            "size": rng.choice(["s", "m", "l"], n),
        }
    )
    table["b"] += 0.5 * table["a"]
    for name in ("far", "amount", "visits", "colour"):
        table.loc[rng.random(n) < 0.1, name] = None
    table["flag"] = rng.random(n) < 0.3 + 0.2 * (k > 0)
    return table.assign(w=rng.choice([0.0, 1.0, 2.5], n), y=y)


FAMILIES = {
    "far": sf.Gaussian(),
    "amount": sf.LogNormal(),
    "wait": sf.Exponential(),
    "tries": sf.Geometric(),
    "visits": sf.Poisson(),
    "level": sf.Binned(edges=[0.5, 2.0, 3.5]),
    ("a", "b"): sf.MultivariateGaussian(),
    ("colour", "size"): sf.JointCategorical(),
}


def features(table):
    return table.drop(columns=["y", "w"], errors="ignore")


def fitted_and_local(estimators, database, table, weight=None, name="t"):
    """The same estimator, fitted in the database and here."""
    kept = table if weight else table.drop(columns="w", errors="ignore")
    fitted = estimators().fit(put(database, kept, name), "y", sample_weight=weight)
    x = arrow(features(table)) if isinstance(fitted, sf.BayesClassifier) else features(table)
    local = estimators().fit(x, table["y"].to_numpy(), sample_weight=None if weight is None else table[weight])
    return fitted, local, x


# ---- learning


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB", "BayesClassifier", "a family of one's own"])
def test_the_fit_and_the_answers_are_those_of_the_rows_in_memory(name, database):
    case = CASES[name]
    plain = {"calibrate": False} if isinstance(case.make(), sf.BayesClassifier) else {}
    table = put(database, case.table())
    local = case.fit_local(case.make().set_params(**plain), case.table())
    fitted = case.make().set_params(**plain).fit(table, "y")
    assert_same(case, fitted, local)
    told = fitted.predict_proba(table)
    assert isinstance(told, ir.Table)
    assert_answers(case, local, told.to_pandas())


def predictive(family):
    """The same with its parameters integrated out, where it has any."""
    return family if isinstance(family, sf.Binned) else type(family)(learn="predictive")


@pytest.mark.parametrize(
    ("weight", "families"),
    [(None, FAMILIES), ("w", FAMILIES), ("w", {name: predictive(family) for name, family in FAMILIES.items()})],
    ids=["rows", "weighted", "predictive"],
)
def test_every_family_learns_and_answers_as_in_memory(weight, families, database):
    table = everything()
    fitted, local, x = fitted_and_local(
        lambda: sf.BayesClassifier(families, calibrate=False, missing="informative"), database, table, weight
    )
    np.testing.assert_array_equal(fitted.class_count_, local.class_count_)
    for mine, theirs in zip(fitted.statistics_.statistic.parts, local.statistics_.statistic.parts, strict=True):
        if isinstance(mine, Counts):
            assert mine == theirs
    np.testing.assert_allclose(fitted.predict_proba(x), local.predict_proba(x), rtol=1e-9, atol=1e-12)
    told = fitted.predict_log_proba(database.table("t")).to_pandas()
    expected = {label: local.predict_log_proba(x)[:, k] for k, label in enumerate(local.classes_)}
    for label in local.classes_:
        np.testing.assert_allclose(
            np.sort(told[f"log_probability {label}"]), np.sort(expected[label]), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    "family", [sf.Kernel(), sf.Binned(), sf.Mixture(2), sf.Categorical(), sf.Gaussian(learn="predictive")]
)
def test_values_that_are_few_are_fetched_with_their_counts(family, duckdb):
    table = everything()[["level", "w", "y"]]
    fitted, local, x = fitted_and_local(
        lambda: sf.BayesClassifier({"level": family}, calibrate=False), duckdb, table, "w"
    )
    np.testing.assert_allclose(fitted.predict_proba(x), local.predict_proba(x), rtol=1e-9, atol=1e-12)
    told = fitted.predict_proba(duckdb.table("t").filter(ibis._.w > 0)).to_pandas()
    mine = told.groupby("level")["probability yes"].first()
    theirs = pd.Series(local.predict_proba(x)[:, 2], x["level"].to_numpy()).groupby(level=0).first()
    np.testing.assert_allclose(mine, theirs[mine.index], rtol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        LinearDiscriminantAnalysis,
        lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
        QuadraticDiscriminantAnalysis,
        MultinomialNB,
        ComplementNB,
        PoissonNB,
        BernoulliNB,
        lambda: BernoulliNB(binarize=2.0),
    ],
)
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_other_estimators_learn_as_in_memory(make, weight, database):
    table = everything()[["wait", "level", "tries", "w", "y"]]
    fitted, local, x = fitted_and_local(make, database, table, weight)
    np.testing.assert_allclose(fitted.predict_proba(x), local.predict_proba(x), rtol=1e-9, atol=1e-12)
    told = fitted.predict_proba(database.table("t")).to_pandas()
    np.testing.assert_allclose(told.iloc[:, -3:], local.predict_proba(told[x.columns]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB"])
def test_parts_learned_one_after_the_other_give_the_whole(name, database):
    case = CASES[name]
    table = put(database, case.table().assign(i=np.arange(400), w=1))
    fitted = case.make()
    for some in (ibis._.i < 100, ibis._.i >= 100):
        fitted.partial_fit(table.filter(some).drop("i"), "y", sample_weight="w")
    assert_same(case, fitted, case.local())


@pytest.mark.parametrize("weight", [None, "w"])
def test_variances_far_from_zero_keep_their_digits(weight, database):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    x = np.where(y[:, None] == 2, 0.0, 1e9) + rng.normal(0, np.sqrt(8), (3000, 2))  # classes far apart, too
    table = pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "w": 1.0, "y": y})
    fitted = GaussianNB(var_smoothing=0).fit(put(database, table if weight else table.drop(columns="w")), "y", weight)
    expected = [np.var(x[y == c].astype(np.longdouble), axis=0) for c in range(3)]
    np.testing.assert_allclose(fitted.var_, np.array(expected, dtype=float), rtol=1e-6)


def test_nan_is_missing_like_null(duckdb, postgres):
    table = numbers().assign(i=np.arange(400))
    for database in (duckdb, postgres):
        put(database, table)
        database.raw_sql("UPDATE t SET x0 = 'NaN' WHERE i % 7 = 0")
        asked = database.table("t").drop("i")
        here = asked.to_pyarrow().to_pandas().astype({"x0": float})
        local = GaussianNB().fit(here.drop(columns="y"), here["y"])
        fitted = GaussianNB().fit(asked, "y")
        np.testing.assert_allclose(fitted.theta_, local.theta_, rtol=1e-12)
        told = fitted.predict_proba(asked).to_pandas()
        np.testing.assert_allclose(
            told["probability a"], local.predict_proba(told[local.feature_names_in_])[:, 0], rtol=1e-9
        )


def test_nan_is_not_above_a_threshold(duckdb, postgres):
    for database in (duckdb, postgres):
        database.raw_sql("CREATE TABLE truths AS SELECT 'NaN'::float8 AS x, 'a' AS y")
        database.raw_sql("INSERT INTO truths VALUES (1, 'a'), (0, 'a'), (2, 'b'), ('NaN', 'b')")
        fitted = BernoulliNB(binarize=0.5).fit(database.table("truths"), "y")
        np.testing.assert_array_equal(fitted.statistics_.statistic.total, [[1], [1]])
        np.testing.assert_array_equal(fitted.statistics_.statistic.weight, [[2], [1]])


def test_columns_of_every_type_are_read_as_in_memory(duckdb, postgres):
    columns = {
        "small": "(i % 4)::smallint",
        "price": "(i * 0.25)::numeric(10, 2)",
        "half": "(i % 9 + 0.5)::real",
        "flag": "i % 3 = 0",
        "day": "DATE '2026-01-01' + (i % 5)::int",
        "kind": "CASE WHEN i % 7 > 0 THEN 'k' || (i % 3) END",
        "y": "i % 2 = 0 AND i % 10 > 3",
    }
    written = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    for database, rows in ((duckdb, "range(200) AS r(i)"), (postgres, "generate_series(0, 199) AS r(i)")):
        database.raw_sql(f"CREATE VIEW typed AS SELECT {written} FROM {rows}")
        table = database.table("typed")
        here = table.to_pyarrow()
        families = {"small": sf.Categorical(), "price": sf.Gaussian(), "day": None}
        with pytest.warns(sf.LeftOutWarning, match=r"'day' \(.* cannot be read as numbers here"):
            sf.BayesClassifier({"small": None}, calibrate=False).fit(
                table, "y"
            )  # rows, and dates, stay in the database
        fitted, local = (sf.BayesClassifier(families, calibrate=False).fit(t, "y") for t in (table, here))
        np.testing.assert_allclose(fitted.predict_proba(here), local.predict_proba(here), rtol=1e-9, atol=1e-12)
        assert fitted.schema_.rows == local.schema_.rows
        assert fitted.schema_.values.tolist() == local.schema_.values.tolist()
        told = fitted.predict_proba(table).to_pyarrow()
        expected = local.predict_proba(told.select(here.column_names))
        np.testing.assert_allclose(told["probability True"].to_numpy(), expected[:, 1], rtol=1e-9, atol=1e-12)


def test_a_missing_category_is_not_the_total(database):
    table = pd.DataFrame({"c": ["a", None, None, "b", "a"], "y": [0, 0, 1, 1, 1]})
    fitted = CategoricalNB().fit(put(database, table), "y")
    np.testing.assert_array_equal(fitted.class_count_, [2, 3])
    np.testing.assert_array_equal(fitted.statistics_.statistic.weight, [[1, 0], [1, 1]])


@pytest.mark.parametrize("labels", [[True, False], [3, 7], ["a", "b"], [0.5, 1.5]])
def test_labels_are_strings_numbers_or_truths(labels, database):
    table = pd.DataFrame({"x": [1.0, 2.0, 5.0, 6.0], "y": [labels[0]] * 2 + [labels[1]] * 2})
    fitted = GaussianNB().fit(put(database, table), "y")
    assert fitted.classes_.tolist() == sorted(labels)
    assert sorted(fitted.predict(database.table("t")).to_pandas()["prediction"]) == sorted(table["y"])


def test_no_row_leaves_the_database(duckdb, monkeypatch):
    fetched = []
    monkeypatch.setattr(ir.Table, "to_pyarrow", _spy(ir.Table.to_pyarrow, fetched))
    GaussianNB().fit(put(duckdb, numbers()), "y")
    assert fetched == [1, 3]  # a point near the middle, and a row for each class


def _spy(original, fetched):
    def to_pyarrow(self, *args, **kwargs):
        found = original(self, *args, **kwargs)
        fetched.append(len(found))
        return found

    return to_pyarrow


def test_what_ibis_holds_in_memory_is_learned_too():
    case = CASES["CategoricalNB"]
    assert_same(case, case.make().fit(ibis.memtable(arrow(case.table())), "y"), case.local())


# ---- what a BayesClassifier makes of it


def test_it_warns_that_probabilities_are_not_calibrated(duckdb):
    table = put(duckdb, everything().drop(columns="w"))
    with pytest.warns(UncalibratedWarning, match="calibrate=False"):
        fitted = sf.BayesClassifier().fit(table, "y")
    assert fitted.calibration_.mixed == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncalibratedWarning)
        sf.BayesClassifier(keep=0).fit(table, "y")


def test_columns_that_name_or_number_rows_are_left_out(database):
    n = 400
    table = everything(n)[["a", "y"]].assign(i=np.arange(n)[::-1], key=[f"k{j}" for j in range(n)], none=None)
    table["none"] = table["none"].astype(float)
    fitted = sf.BayesClassifier(calibrate=False).fit(put(database, table), "y")
    notes = dict(zip(fitted.schema_.rows, fitted.schema_.values[:, 3], strict=True))
    assert notes["i"] == "it numbers the rows"
    assert "it names the rows" in notes["key"]
    assert notes["none"] == "it holds no value"


# ---- answering


def test_a_calibrated_classifier_that_was_fitted_here_scores_there(database):
    table = everything(150).drop(columns="w")
    x = arrow(features(table))
    for calibrate in ("columns", "classes"):  # tables of pairs are too deep for the parser of SQLite
        local = sf.BayesClassifier(FAMILIES, calibrate=calibrate).fit(x, table["y"].to_numpy())
        told = local.predict_proba(put(database, table.assign(i=np.arange(len(table))))).to_pandas().sort_values("i")
        np.testing.assert_allclose(told.iloc[:, -3:], local.predict_proba(x), rtol=1e-9, atol=1e-12)
        assert told["prediction"].tolist() == local.predict(x).tolist()


def test_unknown_categories_and_impossible_rows_are_told_as_in_memory(database):
    table = pd.DataFrame({"c": list("aabb"), "d": list("uvwx"), "y": [0, 0, 1, 1]})
    local = CategoricalNB(alpha=0).fit(table[["c", "d"]], table["y"])
    new = pd.DataFrame({"c": ["a", "b", "z", "a", None], "d": ["u", "w", "u", "w", None], "i": range(5)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, logs = local.predict_proba(new[["c", "d"]]), local.predict_log_proba(new[["c", "d"]])
    there = put(database, new)
    told = local.predict_proba(there).to_pandas().sort_values("i")
    np.testing.assert_allclose(told[["probability 0", "probability 1"]], expected, rtol=1e-9)
    if database.name != "sqlite":  # which has no infinity
        told = local.predict_log_proba(there).to_pandas().sort_values("i")
        np.testing.assert_allclose(told[["log_probability 0", "log_probability 1"]], logs, rtol=1e-9)


def test_answers_are_lazy_and_do_not_overwrite(duckdb):
    fitted = GaussianNB().fit(put(duckdb, numbers()), "y")
    unbound = ibis.table({"x0": "float64", "x1": "float64", "x 2.5": "float64"}, name="later")
    assert fitted.predict(unbound).columns[-1] == "prediction"
    table = duckdb.table("t")
    with pytest.raises(InvalidDataError, match="column 'prediction' already"):
        fitted.predict(table.mutate(prediction=1))
    with pytest.raises(InvalidDataError, match="no column 'x1'"):
        fitted.predict(table.drop("x1"))
    with pytest.raises(InvalidDataError, match="'x1' holds string, where the model has numbers"):
        fitted.predict(table.mutate(x1=ibis.literal("a")))


@pytest.mark.parametrize("name", ["BayesClassifier", "GaussianNB", "CategoricalNB"])
def test_the_printed_query_gives_the_probabilities(name, database):
    case = CASES[name]
    local = case.local()
    put(database, case.table().assign(i=np.arange(400)), "scored rows")
    query = local.to_sql(database.name, table="scored rows", types={"i": "int64"})
    k = len(local.classes_)  # after the columns, of which i is the last, come the prediction and k probabilities
    answers = np.array([row[-k:] for row in sorted(ask(database, query), key=lambda row: row[-k - 2])])
    expected = probabilities(local, case.rows(case.table()))
    np.testing.assert_allclose(answers.astype(float), expected, rtol=1e-9, atol=1e-12)


def test_a_pool_with_cosines_scores_there(database):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2000, 3)), rng.choice(["a", "b", "c"], 2000)
    y = ((x > 0).sum(axis=1) + (k == "b")) % 2  # all columns together tell the class
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(k=k)
    local = sf.BayesClassifier().fit(arrow(table), y)
    assert "CosineExpert" in [type(each).__name__ for each in local.calibration_.experts]
    new = table[:300].assign(i=np.arange(300))
    found = local.predict_proba(put(database, new, "new rows")).to_pandas().sort_values("i")
    answers = found[[f"probability {label}" for label in local.classes_]].to_numpy(float)
    np.testing.assert_allclose(answers, local.predict_proba(arrow(new)), rtol=0, atol=2e-5)  # kernels use float32


def ask(database, query):
    """Return the rows of a query in SQL."""
    if database.name == "duckdb":
        return database.con.execute(query).fetchall()
    with closing(database.con.cursor()) as cursor:
        cursor.execute(query)
        return cursor.fetchall()


# ---- bad input


def test_what_cannot_be_learned_is_refused_by_name(database):
    table = numbers()
    there = put(database, table)
    with pytest.raises(InvalidDataError, match=r"no column 'yy'.*Did you mean 'y'"):
        GaussianNB().fit(there, "yy")
    with pytest.raises(InvalidDataError, match="no rows"):
        GaussianNB().fit(there.filter(ibis._.x0 < 0), "y")
    with pytest.raises(InvalidDataError, match="no rows"):
        sf.BayesClassifier(calibrate=False).fit(there.filter(ibis._.x0 < 0), "y")
    unlabelled = there.mutate(y=ibis.ifelse(ibis._.y == "rare", None, ibis._.y), w=1)
    for make, weight in ((GaussianNB, None), (GaussianNB, "w"), (CategoricalNB, "w")):
        with pytest.raises(InvalidDataError, match="weight 7 have no label in column 'y'"):
            make().fit(unlabelled, "y", sample_weight=weight)
    for weight in ("learn", 0.5):
        with pytest.raises(InvalidOptionError, match="A database does not divide rows without labels"):
            sf.BayesClassifier().fit(unlabelled, "y", unlabelled=weight)
    with pytest.raises(InvalidDataError, match=r"'z'.*cannot be read as numbers"):
        GaussianNB().fit(there.mutate(z=ibis._.y), "y")
    with pytest.raises(InvalidDataError, match="Negative values in the weights of column 'w'"):
        GaussianNB().fit(there.mutate(w=ibis.literal(-1.0)), "y", sample_weight="w")
    with pytest.raises(InvalidDataError, match="total weight of all rows is zero"):
        GaussianNB().fit(there.mutate(w=ibis.literal(0.0)), "y", sample_weight="w")
    with pytest.raises(InvalidDataError, match="400 rows have no weight"):
        GaussianNB().fit(there.mutate(w=ibis.null("float64")), "y", sample_weight="w")
    with pytest.raises(InvalidDataError, match=r"Negative values.*Found -1.* in column 'x1'"):
        PoissonNB().fit(there.mutate(x1=ibis._.x1 * 0 - 1), "y")
    with pytest.raises(InvalidDataError, match=r"above 0.*column 'x1'"):
        sf.BayesClassifier({"x1": sf.LogNormal()}, calibrate=False).fit(there.mutate(x1=ibis._.x1 * 0), "y")
    with pytest.raises(InvalidDataError, match="column 'x1'"):
        sf.BayesClassifier({"x1": sf.Geometric()}, calibrate=False).fit(there.mutate(x1=ibis._.x1 * 0 + 0.5), "y")
    with pytest.raises(InvalidDataError, match=r"rows have missing values in 'x0', 'x1'.*to_pyarrow_batches"):
        LinearDiscriminantAnalysis().fit(there, "y")
    fitted = GaussianNB().fit(there, "y")
    with pytest.raises(InvalidDataError, match="'x1' holds string, which cannot be read as numbers"):
        fitted.partial_fit(there.mutate(x1=ibis.literal("1")), "y")
    with pytest.raises(InvalidDataError, match=r"'y' holds .*cannot be read as .*labels"):
        GaussianNB().fit(there.mutate(y=ibis.literal("2026-11-16").cast("date")), "y")
    with pytest.raises(InvalidOptionError, match="checkpoint is for rows that come from files"):
        GaussianNB().fit(there, "y", checkpoint="run.suffice")


def test_infinite_numbers_are_refused_by_name(duckdb, postgres):
    for database in (duckdb, postgres):
        there = put(database, numbers()).mutate(x1=ibis.literal(float("inf")))
        for make in (
            GaussianNB,
            PoissonNB,
            lambda: sf.BayesClassifier({"x1": sf.Binned(edges=[0.0])}, calibrate=False),
        ):
            with pytest.raises(InvalidDataError, match=r"infinity.*column 'x1'"):
                make().fit(there, "y")


def test_what_sql_cannot_sum_up_is_refused_by_name(duckdb):
    text = put(duckdb, CASES["TextClassifier"].table())
    with pytest.raises(InvalidDataError, match=r"text.*to_pyarrow_batches"):
        CASES["TextClassifier"].make().fit(text, "y")
    there = put(duckdb, everything().drop(columns="w"))
    with pytest.raises(InvalidDataError, match=r"whole rows of a, b.*to_pyarrow_batches"):
        sf.BayesClassifier({("a", "b"): sf.Mixture(2, joint=True)}, calibrate=False).fit(there, "y")
    with pytest.raises(InvalidDataError, match="Ledoit"):
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(there.select("a", "b", "y"), "y")
    with pytest.raises(InvalidDataError, match=r"'x'.*list"):
        GaussianNB().fit(there.select("a", "y").mutate(x=ibis.array([1.0])), "y")


def test_a_database_that_fails_says_what_it_was_asked_for(duckdb):
    put(duckdb, numbers(), "gone")
    table = duckdb.table("gone")
    duckdb.raw_sql("DROP TABLE gone")
    with pytest.raises(EngineError, match=r"The database failed when it was asked for .*gone"):
        GaussianNB().fit(table, "y")
    with pytest.raises(EngineError, match="failed when it was asked for"):
        CategoricalNB().fit(ibis.table({"c": "string", "y": "string"}, name="nowhere"), "y")


def test_batches_of_a_table_are_learned_here(duckdb):
    case = CASES["BayesClassifier"]
    batches = put(duckdb, case.table()).to_pyarrow_batches()
    assert isinstance(batches, pa.RecordBatchReader)
    assert_same(case, case.make().fit(batches, "y"), case.local())


def test_the_guide_runs(capsys):
    page = Path(__file__).parent.parent.parent / "docs" / "scale.md"
    _, _, text = page.read_text(encoding="utf-8").partition("## Inside the database")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, page, "exec"), {})
    shown = capsys.readouterr().out
    assert "'prediction', 'probability f', 'probability m'" in shown
    assert "DOUBLE PRECISION" in shown


# ---- names and labels of any characters

ODD = [
    *("a\nb", "a\n  b", "\n", "'\n'", '"\n"', "a\r\nb", "a\rb", "a\tb", " around ", 'q"q', "q'q", "''", "back\\slash"),
    *(
        "back\\n",
        "a;b",
        "--c",
        "/* c */",
        "a\u2028b",
        "a\x85b",
        "a\x0bb",
        "%s",
        "{x}",
        "$1",
        "?",
        ":x",
        "__SQLGLOT__LB__",
    ),
    *("e\u0301", "\ufeff", "`", "[x]", "NULL", "a.b", "\x1b[1m", "😀"),
]


def test_a_query_of_integers_computes_with_floating_point_numbers(database):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1000, (600, 3))
    table = pd.DataFrame(x, columns=list("abc")).assign(
        y=x[:, 0] - x[:, 1] + 0.37 * x[:, 2] + rng.normal(0, 99, 600) > 150
    )
    model = sf.BayesClassifier(structure="pool").fit(arrow(table), "y")
    assert "(linear)" in list(model.schema_.rows)  # its lines have slopes of many digits
    put(database, features(table), "integers")
    cursor = database.raw_sql(model.to_sql(database.name, "integers"))
    names, rows = [each[0] for each in cursor.description], cursor.fetchall()
    told = pd.DataFrame(rows, columns=names)
    expected = model.predict_proba(arrow(told[["a", "b", "c"]]))
    np.testing.assert_allclose(told["probability True"].to_numpy(float), expected[:, 1], rtol=1e-9)


@pytest.mark.parametrize("pretty", [True, False], ids=["no line breaks", "all"])
def test_a_query_returns_names_labels_and_categories_as_they_are(database, pretty):
    odd = [each for each in ODD if "\n" not in each and "SQLGLOT" not in each] if pretty else ODD
    rng = np.random.default_rng(8)
    n, k = 6 * len(odd), np.arange(6 * len(odd)) % len(odd)
    kept = np.where(rng.random(n) < 0.7, k, rng.integers(0, len(odd), n))
    table = pd.DataFrame({f"c{each}": [odd[j] for j in np.roll(kept, i)] for i, each in enumerate(odd[:2])})
    table = table.assign(**{f"n{odd[-1]}": k + rng.normal(size=n)}, y=[odd[j] for j in k])
    model = sf.BayesClassifier(calibrate=False).fit(arrow(table), "y")
    put(database, features(table), "t\n'odd\"" if not pretty else "t")
    query = model.to_sql(database.name, "t\n'odd\"" if not pretty else "t")
    assert query.startswith("SELECT\n") == pretty  # a line to a column, unless quotes hold line breaks
    cursor = database.raw_sql(query)
    names, rows = [each[0] for each in cursor.description], cursor.fetchall()
    assert set(names) == {*features(table), "prediction", *(f"probability {each}" for each in odd)}
    told = pd.DataFrame(rows, columns=names)
    x = arrow(told[list(features(table))])
    assert told["prediction"].tolist() == model.predict(x).tolist()
    expected = model.predict_proba(x)
    for i, label in enumerate(model.classes_):
        np.testing.assert_allclose(told[f"probability {label}"], expected[:, i], rtol=1e-9, atol=1e-12)
