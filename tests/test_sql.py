"""Queries that `to_sql` prints, without Ibis: in DuckDB, of any version, and in SQLite."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sqlglot", reason="SQL is written by sqlglot: pip install 'suffice[sql]'")

import suffice as sf
from engines.cases import CASES, arrow, probabilities
from suffice import formulas as f
from suffice.core.errors import InvalidDataError, InvalidOptionError, NoFormulaError
from suffice.engines.sql.printed_query import to_sql
from suffice.engines.sql.shared_formulas import MOST, SharedFormulas

DATABASES = ["duckdb", "sqlite"]


def ask(database: str, query: str, table: pd.DataFrame, name: str = "data") -> pd.DataFrame:
    """Return the rows of a query in a database that holds one table."""
    if database == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="a database to run queries in")
        with closing(duckdb.connect()) as con:
            con.register(name, arrow(table))
            return con.execute(query).df()
    with closing(sqlite3.connect(":memory:")) as con:
        table.to_sql(name, con, index=False)
        return pd.read_sql_query(query, con)


def told(answers: pd.DataFrame, model) -> np.ndarray:
    """Return the probabilities among the columns of a query."""
    return answers[[f"probability {label}" for label in model.classes_]].to_numpy(float)


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("name", ["BayesClassifier", "GaussianNB", "CategoricalNB"])
def test_a_query_gives_the_probabilities(name, database):
    case = CASES[name]
    local = case.local()
    table = case.table().drop(columns="y").assign(i=np.arange(400))
    found = ask(database, local.to_sql(database, "scored rows", types={"i": "int64"}), table, "scored rows")
    expected = probabilities(local, case.rows(case.table()))
    np.testing.assert_allclose(told(found.sort_values("i"), local), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("database", DATABASES)
def test_a_query_of_a_pool_has_its_cosines_and_answers_about_gaps(database):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2000, 3)), rng.choice(["a", "b", "c"], 2000)
    y = ((x > 0).sum(axis=1) + (k == "b")) % 2  # all columns together tell the class
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(k=k)
    clf = sf.BayesClassifier().fit(table, y)
    assert "CosineExpert" in [type(each).__name__ for each in clf.calibration_.experts]
    new = table[:300].copy()
    new.loc[3:5, ["a", "b"]] = None
    new.loc[7, "k"], new.loc[8, "k"] = None, "unknown"
    found = ask(database, clf.to_sql(database), new)
    expected = clf.formula().posterior({name: new[name].to_numpy() for name in "abc"} | {"k": new["k"].tolist()})
    np.testing.assert_allclose(told(found, clf), expected, rtol=1e-8, atol=1e-12)


def test_a_column_that_another_term_only_tests_for_gaps_keeps_its_type():
    """The terms of a structure read a column as a number in one place, and ask whether it is missing in another."""
    rng = np.random.default_rng(0)
    g = rng.integers(0, 2, 150)
    x = rng.normal(size=150) + g
    category = np.array(list("abcd"))[(rng.integers(0, 2, 150) + g) % 4]
    table = pd.DataFrame({"x": x, "z": rng.normal(size=150) * np.where(g, 3, 1), "c": category, "b": x > 1})
    local = sf.BayesClassifier(structure="pool").fit(table, np.array(["yes", "no"])[g])
    scoring = local._predictor().table_formula()
    for order in (scoring.terms, scoring.terms[::-1]):
        found = ask("sqlite", to_sql(replace(scoring, terms=order), "sqlite", "data", {}), table)
        np.testing.assert_allclose(told(found, local), local.predict_proba(table), rtol=1e-9, atol=1e-12)


def test_queries_are_printed_for_databases_that_are_not_here():
    local = CASES["BayesClassifier"].local()
    for dialect in ("snowflake", "bigquery", "mysql", "trino"):
        query = local.to_sql(dialect, table="adult")
        assert "probability 1" in query
        assert "adult" in query
    with pytest.raises(InvalidOptionError, match=r"'cobol' is no dialect.*duckdb"):
        local.to_sql("cobol")


def test_what_has_no_query_is_refused_by_name():
    rng = np.random.default_rng(0)
    odd = sf.BayesClassifier({"a": sf.Kernel("cosine")}, structure="naive")
    with pytest.raises(NoFormulaError, match="'a'"):
        odd.fit({"a": rng.normal(size=60)}, np.arange(60) % 2).to_sql()
    texts = sf.BayesClassifier({"note": sf.Text()}).fit({"note": ["good film", "bad film"] * 9}, [0, 1] * 9)
    with pytest.raises(NoFormulaError, match="'note' holds texts, and SQL cannot cut them into words"):
        texts.to_sql()


def test_names_that_a_query_cannot_hold_are_refused_by_name():
    rows = {"x": ["a", "b"] * 10, "y": ["p", "q"] * 10}
    said = r"holds the character '\\x00', which no query can hold"
    bad = "a\0b"
    for table in (rows | {bad: rows["x"]}, rows | {"y": [bad, "q"] * 10}, rows | {"x": [bad, "b"] * 10}):
        model = sf.BayesClassifier(calibrate=False).fit(table, "y")
        for dialect in ("duckdb", "postgres", "sqlite", "bigquery"):
            with pytest.raises(InvalidDataError, match=said):
                model.to_sql(dialect)
    model = sf.BayesClassifier(calibrate=False).fit(rows | {"y": ["p" * 60, "q"] * 10}, "y")
    assert "p" * 60 in model.to_sql("duckdb")
    with pytest.raises(InvalidDataError, match=r"'probability p+' has more than the 63 bytes"):
        model.to_sql("postgres")


def test_ibis_is_not_needed():
    code = (
        "import sys; sys.modules['ibis'] = None\n"
        "from suffice.naive_bayes import GaussianNB\n"
        "print(GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).to_sql('sqlite', 't'))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found = ask("sqlite", shown, pd.DataFrame({"x0": [0.2, 2.9]}), "t")
    assert found["prediction"].tolist() == [0, 1]


# ---- what becomes a column of a step


def steps_of(*formulas, classes=2):
    return SharedFormulas(formulas, classes).steps


def test_a_long_formula_that_is_used_twice_is_a_column_and_one_that_is_used_once_is_not():
    x = f.Column("x")
    lookup = f.Lookup("c", tuple(f"value {i}" for i in range(60)), [np.arange(60.0)], [0.0])
    assert steps_of(lookup * 2.0, x + 1.0) == []
    assert steps_of(lookup * 2.0, lookup + x) == [[lookup]]


def test_columns_are_made_after_those_that_they_read():
    inner = f.Lookup("c", tuple(f"value {i}" for i in range(60)), [np.arange(60.0)], [0.0])
    waves = f.Cosines((inner,), [[0.5, 1.0]], [0.0, 0.25], [[1.0, 2.0], [3.0, 4.0]])
    assert steps_of(waves + inner) == [[inner], [waves]]


def test_formulas_that_may_fail_where_they_are_not_needed_stay_where_they_are():
    x = f.Column("x")
    log = f.Log(x * 1.0 + x * 2.0 + x * 3.0 + x * 4.0)
    many = [log * float(i) for i in range(100)]
    assert all(log not in step for step in steps_of(*many))


def test_there_are_only_so_many_columns():
    longest = [
        f.Lookup(f"c{j}", tuple(f"value {i}" for i in range(60)), [np.arange(60.0)] * 2, [0.0, 0.0])
        for j in range(2 * MOST)
    ]
    (columns,) = steps_of(*longest, *(each * 2.0 for each in longest))
    assert len(columns) <= MOST
