"""The command line: what people type, what they see, and what a program reads."""

import importlib.util
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest
import sklearn.base

import suffice as sf
from suffice import naive_bayes
from suffice.cli import demo_data as examples
from suffice.cli.model_files import Loaded
from suffice.cli.program import app, run
from suffice.cli.terminal import number
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.families import family_names, named
from suffice.model.evaluate import Evaluation

ROOT = Path(__file__).parent.parent
COMMANDS = [command.name for command in app.registered_commands]


class Said:
    """What a run of the program gave."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def suffice(capsysbinary, tmp_path, monkeypatch):
    """Run the program in a folder with the example data."""
    monkeypatch.chdir(tmp_path)
    for name, data in examples.DATA.items():
        pa.csv.write_csv(pa.table(data()), f"{name}.csv")

    def call(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        capsysbinary.readouterr()
        code = run([str(each) for each in arguments])
        out, err = capsysbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return call


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Models of flowers and of texts, fitted once."""
    folder = tmp_path_factory.mktemp("models")
    for name, target in (("iris", "species"), ("sentiment", "sentiment")):
        pa.csv.write_csv(pa.table(examples.DATA[name]()), folder / f"{name}.csv")
        model = f"{folder / name}.suffice"
        assert run(["fit", f"{folder / name}.csv", "-t", target, "-o", model, "--no-check"]) == 0
    return folder


@pytest.fixture
def iris(suffice, fitted):  # noqa: ARG001  # which changes the folder
    shutil.copy(fitted / "iris.suffice", "iris.suffice")
    return "iris.suffice"


@pytest.fixture
def texts(suffice, fitted):  # noqa: ARG001  # which changes the folder
    shutil.copy(fitted / "sentiment.suffice", "s.suffice")
    return "s.suffice"


def library(name, target, **options):
    return sf.BayesClassifier(limit=None, **options).fit(pa.table(examples.DATA[name]()), target)


# ------------------------------------------------------------------------------------------------ fit


def test_fit_tells_rows_classes_families_and_exact_leave_one_out(suffice):
    said = suffice("fit", "iris.csv", "--target", "species", "-o", "iris.suffice")
    assert said.code == 0
    assert not said.err
    model, table = library("iris", "species"), pa.table(examples.iris())
    out = model.leave_one_out(table, "species")
    found = Evaluation.of(np.array(examples.iris()["species"]), model.classes_, np.exp(out))
    for words in ("150 rows and 3 classes", "virginica", "petal width", "student"):
        assert words in said.out
    assert f"accuracy  {found.accuracy:.4f}  (always the most frequent class: 0.3333)" in said.out
    assert f"log-loss  {found.log_loss:.4f}  (class shares alone: 1.0986)" in said.out


def test_the_summary_for_programs_is_json(suffice):
    said = suffice("fit", "iris.csv", "-t", "species", "-o", "m.suffice", "--json").json
    assert said["rows"] == 150
    assert [each["label"] for each in said["classes"]] == ["setosa", "versicolor", "virginica"]
    assert [each["column"] for each in said["columns"]][:4] == list(examples.iris())[:4]  # then what was found
    assert said["leave_one_out"]["accuracy"] > 0.9
    assert "leave_one_out" not in suffice("fit", "iris.csv", "-t", "species", "-o", "m", "--no-check", "--json").json


def test_options_of_fit_are_those_of_the_classifier(suffice):
    families = "Outlook+Wind=joint-categorical,Humidity=categorical"
    said = suffice(
        *["fit", "tennis.csv", "-t", "Play", "-o", "m.suffice", "--families", families],
        *["--drop", "Temperature", "--smoothing", "auto", "--no-calibrate"],
    )
    assert said.code == 0
    table = pa.table(examples.tennis()).drop_columns("Temperature")
    wanted = {("Outlook", "Wind"): sf.JointCategorical(), "Humidity": sf.Categorical()}
    mine = sf.BayesClassifier(wanted, smoothing="auto", calibrate=False).fit(table, "Play")
    theirs = sf.load("m.suffice")
    assert theirs.get_params()["smoothing"] == "auto"
    np.testing.assert_array_equal(theirs.predict_proba(table), mine.predict_proba(table))


def test_a_column_of_weights_counts_rows_several_times(suffice):
    Path("w.csv").write_text("a,n,y\n1,2,p\n2,1,p\n8,3,q\n9,1,q\n")
    Path("long.csv").write_text("a,y\n1,p\n1,p\n2,p\n8,q\n8,q\n8,q\n9,q\n")
    suffice("fit", "w.csv", "-t", "y", "-w", "n", "-o", "w.suffice")
    suffice("fit", "long.csv", "-t", "y", "-o", "long.suffice")
    rows = pa.table({"a": [3.0, 7.0]})
    a, b = sf.load("w.suffice"), sf.load("long.suffice")
    np.testing.assert_allclose(a.predict_proba(rows), b.predict_proba(rows))


def test_a_table_of_one_column_of_texts_becomes_a_classifier_of_texts(suffice):
    said = suffice("fit", "sentiment.csv", "-t", "sentiment", "-o", "s.suffice")
    assert "TextClassifier of 6 rows" in said.out
    assert isinstance(sf.load("s.suffice"), sf.TextClassifier)
    asked = suffice("fit", "tennis.csv", "-t", "Play", "--drop", "Wind,Humidity,Temperature", "-o", "m.suffice")
    assert "BayesClassifier" in asked.out
    asked = suffice(
        *["fit", "tennis.csv", "-t", "Play", "--drop", "Wind,Humidity,Temperature", "-o", "m.suffice"],
        *["--families", "Outlook=text"],
    )
    assert "TextClassifier" in asked.out


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "stream", "gz"])
def test_data_may_come_from_standard_input_in_any_format(suffice, form):
    table, out = pa.table(examples.iris()), io.BytesIO()
    if form == "jsonl":
        out.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    elif form == "parquet":
        pq.write_table(table, out)
    elif form in ("arrow", "stream"):
        make = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with make(out, table.schema) as writer:
            writer.write_table(table)
    else:
        pa.csv.write_csv(table, out)
    data = out.getvalue()
    if form == "gz":
        import gzip

        data = gzip.compress(data)
    said = suffice("fit", "-", "-t", "species", "-o", "m.suffice", "--json", stdin=data)
    assert said.code == 0, said.err
    assert said.json["rows"] == 150


def test_several_files_patterns_and_folders_are_read_as_one(suffice):
    table = pa.table(examples.iris())
    os.mkdir("parts")
    pa.csv.write_csv(table.slice(0, 70), "parts/a.csv")
    pa.csv.write_csv(table.slice(70), "parts/b.csv")
    suffice("fit", "iris.csv", "-t", "species", "-o", "whole.suffice")
    whole = sf.load("whole.suffice").predict_proba(table)
    for data in (["parts/a.csv", "parts/b.csv"], ["parts/*.csv"], ["parts"]):
        assert suffice("fit", *data, "-t", "species", "-o", "m.suffice", "--no-check").code == 0
        np.testing.assert_allclose(sf.load("m.suffice").predict_proba(table), whole, rtol=1e-12)


def test_where_no_row_can_be_left_out_the_rows_themselves_are_judged(suffice, monkeypatch):
    fit = ["fit", "iris.csv", "-t", "species", "-o", "m.suffice"]
    assert "Leave-one-out: each row" in suffice(*fit, "--limit", "30").out
    assert sf.load("m.suffice").limit == 30

    def gone(*_):
        raise sf.NotPartError("its rows are gone")

    monkeypatch.setattr(sf.BayesClassifier, "leave_one_out", gone)
    assert "so none can be left out" in suffice(*fit, "--limit", "auto").out
    told, found = suffice(*fit, "--json").json, suffice("evaluate", "m.suffice", "iris.csv", "--json").json
    assert told["training_rows"] == {"accuracy": found["accuracy"], "log_loss": found["log_loss"]}
    assert "a number above 0, auto or none" in suffice(*fit, "--limit", "0").err


def test_a_checkpoint_is_kept_while_it_is_needed(suffice):
    assert suffice("fit", "iris.csv", "-t", "species", "-o", "m.suffice", "--checkpoint", "so-far").code == 0
    assert not Path("so-far").exists()
    data = Path("iris.csv").read_bytes()
    said = suffice("fit", "-", "-t", "species", "-o", "m.suffice", "--checkpoint", "so-far", stdin=data)
    assert "--checkpoint is for files" in said.err


def test_a_model_does_not_take_the_place_of_its_data(suffice):
    before = Path("iris.csv").read_bytes()
    said = suffice("fit", "iris.csv", "-t", "species", "-o", "./iris.csv")
    assert said.code == 2
    assert "is the data" in said.err
    assert Path("iris.csv").read_bytes() == before


# ------------------------------------------------------------------------------------------------ asking


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
def test_predict_writes_labels_probabilities_and_log_densities(suffice, iris, ending):
    assert suffice("predict", iris, "iris.csv", "-o", f"out{ending}", "--keep", "species").code == 0
    read = {
        ".csv": pa.csv.read_csv,
        ".tsv": lambda path: pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter="\t")),
        ".jsonl": pa.json.read_json,
        ".parquet": pq.read_table,
        ".arrow": lambda path: pa.ipc.open_file(path).read_all(),
    }[ending]
    found, model, table = read(f"out{ending}"), sf.load(iris), pa.table(examples.iris())
    names = [f"probability {label}" for label in model.classes_]
    assert found.column_names == ["species", "prediction", *names, "log_density"]
    p = np.stack([found[name].to_numpy() for name in names], axis=1)
    np.testing.assert_allclose(p, model.predict_proba(table), rtol=1e-12)
    np.testing.assert_allclose(found["log_density"].to_numpy(), model.score_samples(table), rtol=1e-12)
    assert found["prediction"].to_pylist() == model.predict(table).tolist()
    assert sorted(os.listdir()) == sorted([f"out{ending}", iris, *(f"{name}.csv" for name in examples.DATA)])


def test_predict_writes_csv_to_standard_output(suffice, iris):
    said = suffice("predict", iris, "iris.csv")
    lines = said.out.splitlines()
    assert len(lines) == 151
    assert lines[0].startswith("prediction,probability setosa,")
    assert json.loads(suffice("predict", iris, "iris.csv", "--format", "json").out.splitlines()[3])["prediction"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_of_no_rows_come_no_answers_in_a_whole_file(suffice, iris, ending):
    pq.write_table(pa.table(examples.iris()).slice(0, 0), "none.parquet")
    for command in (["predict", iris, "none.parquet", "--keep", "species"], ["impute", iris, "none.parquet"]):
        assert suffice(*command, "-o", f"out{ending}").code == 0
        if ending == ".parquet":
            assert pq.read_table("out.parquet").num_rows == 0
        if ending == ".arrow":
            assert pa.ipc.open_file("out.arrow").read_all().column_names[-1] in ("log_density", "species")
        if ending == ".csv":
            assert len(Path("out.csv").read_text().splitlines()) == 1
    assert "no rows" in suffice("evaluate", iris, "none.parquet", "-t", "species").err
    assert "no rows" in suffice("fit", "none.parquet", "-t", "species", "-o", "m").err


def test_an_answer_does_not_hide_a_column(suffice, iris):
    pq.write_table(pa.table(examples.iris() | {"prediction": ["x"] * 150}), "more.parquet")
    assert suffice("predict", iris, "more.parquet").code == 0
    said = suffice("predict", iris, "more.parquet", "--keep", "all")
    assert "There is a column 'prediction' already" in said.err


def test_classes_that_are_numbers_are_said_as_numbers(suffice):
    Path("a.csv").write_text("x,y\n1,0.0\n2,0.0\n8,1.0\n9,1.0\n")
    suffice("fit", "a.csv", "-t", "y", "-o", "m.suffice", "--no-check")
    for label in ("1", "1.0"):
        assert len(suffice("sample", "m.suffice", "-n", "2", "--label", label).out.splitlines()) == 3


def test_a_column_that_is_missing_is_a_note_and_no_error(suffice, iris):
    pa.csv.write_csv(pa.table(examples.iris()).drop_columns("petal width"), "less.csv")
    said = suffice("predict", iris, "less.csv")
    assert said.code == 0
    assert "suffice: note: Columns ['petal width'] are not in this table" in said.err


def test_explain_draws_bars_that_add_up_to_the_log_odds(suffice, iris):
    said = suffice("explain", iris, "iris.csv", "--row", "70", "--json").json
    assert said["row"] == 70
    p = sf.load(iris).predict_proba(pa.table(examples.iris()).slice(70, 1))[0]
    np.testing.assert_allclose(list(said["probabilities"].values()), p)
    top = np.sort(p)[::-1]
    assert said["log_odds"] == pytest.approx(np.log(top[0] / top[1]))
    assert sum(part["log_odds"] for part in said["evidence"]) == pytest.approx(said["log_odds"])
    shown = suffice("explain", iris, "iris.csv", "--row", "70").out
    assert "petal width = 1.8" in shown
    assert "█" in shown
    assert "│" in shown
    assert max(map(len, shown.splitlines())) <= 80
    other = suffice("explain", iris, "iris.csv", "--row", "70", "--label", "setosa", "--against", "virginica").out
    assert "For setosa (right) against virginica (left)" in other


def test_explain_of_a_text_names_its_words(suffice, texts):
    said = suffice("explain", texts, "sentiment.csv", "--row", "1").out
    assert "“harry potter books suck”" in said
    assert re.search(r"^potter +-\d", said, re.MULTILINE)


def test_sample_draws_what_the_library_draws(suffice, iris):
    suffice("sample", iris, "-n", "5", "--seed", "3", "--label", "setosa", "-o", "drawn.parquet", "-t", "species")
    found = pq.read_table("drawn.parquet")
    rows, _ = sf.load(iris).sample(5, "setosa", 3)
    assert found["species"].to_pylist() == ["setosa"] * 5
    assert found.drop_columns("species").equals(rows)


def test_impute_fills_gaps_and_nothing_else(suffice, iris):
    table = pa.table(examples.iris() | {"petal width": [None, *examples.iris()["petal width"][1:]]})
    pq.write_table(table, "gaps.parquet")
    assert suffice("impute", iris, "gaps.parquet", "-o", "filled.parquet").code == 0
    found = pq.read_table("filled.parquet")
    assert 0.1 < found["petal width"][0].as_py() < 0.5
    assert found.slice(1).equals(table.slice(1))


def test_outliers_are_those_of_the_library(suffice, iris):
    strange = pa.table({name: [999.0, *values[:3]] for name, values in list(examples.iris().items())[:4]})
    pa.csv.write_csv(strange, "new.csv")
    said = suffice("outliers", iris, "new.csv", "--rate", "0.01", "--json").json
    assert said["rows"] == 4
    assert [each["row"] for each in said["outliers"]] == np.flatnonzero(sf.load(iris).outliers(strange)).tolist()
    assert said["outliers"][0]["values"]["petal width"] == 999
    assert suffice("outliers", iris, "new.csv").out.startswith("1 of 4 rows")


# ------------------------------------------------------------------------------------------------ judging


def test_suspects_are_listed_written_and_told_to_programs(suffice):
    rows = pa.csv.read_csv("iris.csv").to_pandas()
    rows.loc[[3, 70], "species"] = ["virginica", "setosa"]
    rows.to_csv("wrong.csv", index=False)
    suffice("fit", "wrong.csv", "-t", "species", "-o", "m.suffice")
    shown = suffice("suspects", "m.suffice", "wrong.csv", "-o", "out.csv")
    expected = sf.load("m.suffice").suspects(rows, "species")
    assert "of 150 labels are suspect" in shown.out
    assert "setosa" in shown.out
    written = pa.csv.read_csv("out.csv").to_pydict()
    assert written["row"] == expected.rows.tolist()
    assert set(written["row"][:2]) == {3, 70}
    assert written["species"] == rows["species"][expected.rows].tolist()
    told = suffice("suspects", "m.suffice", "wrong.csv", "--json").json
    assert [each["row"] for each in told["suspects"]] == expected.rows.tolist()
    assert told["rate"] == expected.rate
    sums = [sum(part["log_odds"] for part in each["evidence"][:-1]) for each in told["suspects"]]
    np.testing.assert_allclose(sums, expected.log_odds, rtol=1e-9)
    assert not suffice("suspects", "m.suffice", "wrong.csv", "--json", "--not-learned").json["left_out"]
    assert "share of labels" in suffice("suspects", "m.suffice", "wrong.csv", "--rate", "1").err


def test_adapt_shows_the_shares_and_writes_a_model_that_has_them(suffice):
    suffice("fit", "penguins-train.csv", "-t", "species", "-o", "m.suffice")
    rows = pa.csv.read_csv("penguins-test.csv").to_pandas()
    rows[rows["species"] != "Gentoo"].to_csv("some.csv", index=False)
    shown = suffice("adapt", "m.suffice", "some.csv", "-o", "new.suffice")
    expected = sf.load("m.suffice").adapt(rows[rows["species"] != "Gentoo"]).shares_.values
    assert f"{100 * expected[0, 0]:.2f} %" in shown.out
    assert f"± {100 * expected[0, 1]:.2f}" in shown.out
    np.testing.assert_allclose(sf.load("new.suffice").shares_.values, expected)
    told = suffice("adapt", "m.suffice", "some.csv", "-o", "new.suffice", "--json").json
    np.testing.assert_allclose([each["share"] for each in told["classes"]], expected[:, 0])
    before = Path("new.suffice").read_bytes()
    assert suffice("adapt", "m.suffice", "none.csv", "-o", "new.suffice").code == 2
    assert Path("new.suffice").read_bytes() == before


def test_fit_learns_from_rows_without_labels(suffice):
    rows = pa.csv.read_csv("iris.csv").to_pandas()
    rows.loc[rows.index % 10 != 0, "species"] = None
    rows.to_csv("few.csv", index=False)
    shown = suffice("fit", "few.csv", "-t", "species", "-o", "m.suffice", "--unlabelled", "0.5")
    assert "135 rows of weight 0.5" in shown.out
    assert sf.load("m.suffice").unlabelled_["rows"] == 135
    told = suffice("fit", "few.csv", "-t", "species", "-o", "m.suffice", "--unlabelled", "learn", "--json").json
    assert told["unlabelled"]["rows"] == 135
    assert told["unlabelled"]["reached"] <= told["unlabelled"]["ignored"]
    assert (
        "expected learn or a number" in suffice("fit", "few.csv", "-t", "species", "-o", "m", "--unlabelled", "x").err
    )


def test_evaluate_gives_the_numbers_of_the_evaluation(suffice, iris):
    model, table = sf.load(iris), pa.table(examples.iris())
    expected = Evaluation.of(np.array(examples.iris()["species"]), model.classes_, model.predict_proba(table))
    assert suffice("evaluate", iris, "iris.csv", "--json").json == expected.as_dict()
    shown = suffice("evaluate", iris, "iris.csv", "--target", "species").out
    for words in (f"{expected.accuracy:.4f}", f"{expected.brier:.4f}", "precision", "Confusion", "share right"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_target_is_found_among_other_columns_by_what_it_holds(suffice, iris):
    pa.csv.write_csv(pa.table(examples.iris() | {"id": list(range(150)), "note": ["x"] * 150}), "more.csv")
    assert suffice("evaluate", iris, "more.csv").code == 0
    pa.csv.write_csv(pa.table({"petal width": [1.0], "id": [1], "note": ["x"]}), "none.csv")
    said = suffice("evaluate", iris, "none.csv")
    assert said.code == 2
    assert "Which column holds the labels?" in said.err


def test_labels_of_another_type_are_the_same_labels(suffice):
    Path("a.csv").write_text("x,y\n1,0\n2,0\n8,1\n9,1\n")
    suffice("fit", "a.csv", "-t", "y", "-o", "m.suffice", "--no-check")
    Path("b.jsonl").write_text('{"x": 1, "y": "0"}\n{"x": 9, "y": "1"}\n')
    assert suffice("evaluate", "m.suffice", "b.jsonl", "--json").json["accuracy"] == 1


def test_cross_validation_is_that_of_the_library(suffice):
    said = suffice("cv", "iris.csv", "-t", "species", "--folds", "5", "--seed", "2", "--json").json
    table = pa.table(examples.iris())
    model = sf.BayesClassifier().fit(table, "species")
    log_p = model.cross_validate(table, "species", folds=5, random_state=2)
    expected = Evaluation.of(np.array(examples.iris()["species"]), model.classes_, np.exp(log_p))
    assert said == expected.as_dict()
    assert suffice("cv", "sentiment.csv", "-t", "sentiment", "-k", "2").out.startswith("2 folds of 6 rows")


def test_inspect_shows_prior_columns_tables_and_telling_words(suffice, iris, texts):
    shown = suffice("inspect", iris).out
    for words in ("Class prior", "0.3333", "petal width", "location"):
        assert words in shown
    assert "tells of positive" in suffice("inspect", texts, "--top", "3").out
    told = suffice("inspect", texts, "--json").json
    assert told["estimator"] == "TextClassifier"
    assert "is awesome" in told["top"]["positive"]["rows"]


def test_a_report_is_one_html_file_with_the_evaluation(suffice, iris):
    said = suffice("report", iris, "iris.csv", "-o", "report.html")
    assert said.out == "The report is in report.html\n"
    page = Path("report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "petal width" in page
    assert suffice("report", iris, "-o", "bare.html").code == 0
    assert len(Path("bare.html").read_text()) < len(page)


def test_names_of_columns_are_told_of_estimators_of_matrices_too(suffice):
    import pandas as pd

    flowers = pd.DataFrame(examples.iris())
    naive_bayes.GaussianNB().fit(flowers.drop(columns="species"), flowers["species"].to_numpy()).save("g.suffice")
    assert "petal width" in suffice("inspect", "g.suffice").out
    assert "petal width = 1.8" in suffice("explain", "g.suffice", "iris.csv", "--row", "70").out
    suffice("drop-class", "g.suffice", "setosa", "-o", "h.suffice")
    assert sf.load("h.suffice").feature_names_in_.tolist() == list(flowers)[:4]
    naive_bayes.GaussianNB().fit(flowers.drop(columns="species").to_numpy(), flowers["species"].to_numpy()).save("n")
    assert suffice("evaluate", "n", "iris.csv", "-t", "species", "--json").json["accuracy"] == 0.96
    assert suffice("predict", "n", "iris.csv").code == 0
    pa.csv.write_csv(pa.table(examples.people()).drop_columns("sex"), "three.csv")
    assert "trained on 4 columns without names; found 3" in suffice("predict", "n", "three.csv").err


def test_a_classifier_of_texts_without_a_name_finds_them_beside_their_labels(suffice):
    data = examples.sentiment()
    model = sf.TextClassifier().fit(data["text"], data["sentiment"])
    model.save("t.suffice")
    pq.write_table(pa.table({"sentiment": data["sentiment"], "text": data["text"]}), "turned.parquet")
    assert suffice("predict", "t.suffice", "turned.parquet", "-o", "out.parquet").code == 0
    found = pq.read_table("out.parquet")
    np.testing.assert_array_equal(found["probability positive"].to_numpy(), model.predict_proba(data["text"])[:, 1])
    assert "harry" in suffice("explain", "t.suffice", "turned.parquet", "--row", "1").out
    assert suffice("evaluate", "t.suffice", "turned.parquet").out.startswith("sentiment of 6 rows")


def test_a_model_is_written_as_sql(suffice, iris):
    pytest.importorskip("sqlglot", reason="SQL is written by sqlglot")
    duckdb = pytest.importorskip("duckdb", reason="a database to run it in")
    query = suffice("sql", iris, "--dialect", "duckdb", "--table", "flowers").out
    database = duckdb.connect()
    database.register("flowers", pa.table(examples.iris()))
    found = pa.table(database.sql(query))
    p = sf.load(iris).predict_proba(pa.table(examples.iris()))
    np.testing.assert_allclose(found["probability setosa"].to_numpy(), p[:, 0], rtol=1e-6, atol=1e-9)
    assert "no dialect" in suffice("sql", iris, "--dialect", "postgress").err


def test_compare_draws_learning_curves_of_both_kinds(suffice):
    pytest.importorskip("matplotlib", reason="curves are drawn by it")
    options = ["-t", "species", "--sizes", "12,60", "--repeats", "2"]
    said = suffice("compare", "iris.csv", *options, "--plot", "curves.svg")
    assert said.code == 0, said.err
    assert "BayesClassifier against logistic regression" in said.out
    assert "The curves are in curves.svg" in said.out
    assert "<svg" in Path("curves.svg").read_text()
    told = suffice("compare", "iris.csv", *options, "--json").json
    assert {(each["model"], each["rows"]) for each in told["repeats"]} == {
        (model, rows) for model in told["models"] for rows in (12, 60)
    }
    assert "expected integers" in suffice("compare", "iris.csv", "-t", "species", "--sizes", "few").err
    assert (
        "expected one of accuracy" in suffice("compare", "iris.csv", *options, "--plot", "c.svg", "--metric", "x").err
    )
    assert (
        "a picture ends in .png, .svg, .pdf, found curves.xyz"
        in suffice("compare", "iris.csv", *options, "--plot", "curves.xyz").err
    )


# ------------------------------------------------------------------------------------------------ the algebra


def test_parts_merge_updates_add_and_forgetting_takes_away(suffice, iris):
    table = pa.table(examples.iris())
    pa.csv.write_csv(table.slice(0, 100), "a.csv")
    pa.csv.write_csv(table.slice(100), "b.csv")
    whole = sf.load(iris).predict_proba(table)
    suffice("fit", "a.csv", "-t", "species", "-o", "a.suffice", "--no-check")
    suffice("fit", "b.csv", "-t", "species", "-o", "b.suffice", "--no-check")
    said = suffice("merge", "a.suffice", "b.suffice", "-o", "c.suffice")
    assert "150 rows of 3 classes in all" in said.out
    np.testing.assert_allclose(sf.load("c.suffice").predict_proba(table), whole, rtol=1e-9)
    before = Path("a.suffice").read_bytes()
    assert suffice("update", "a.suffice", "b.csv", "-o", "d.suffice").code == 0
    assert Path("a.suffice").read_bytes() == before
    np.testing.assert_allclose(sf.load("d.suffice").predict_proba(table), whole, rtol=1e-9)
    assert "Forgot 50 rows" in suffice("forget", "d.suffice", "b.csv").out
    np.testing.assert_allclose(
        sf.load("d.suffice").predict_proba(table), sf.load("a.suffice").predict_proba(table), rtol=1e-9
    )


def test_a_dropped_class_was_never_learned(suffice, iris):
    assert "Dropped class setosa" in suffice("drop-class", iris, "setosa", "-o", "less.suffice").out
    assert sf.load("less.suffice").classes_.tolist() == ["versicolor", "virginica"]
    said = suffice("drop-class", iris, "setos")
    assert said.code == 2
    assert "no class 'setos'. Did you mean 'setosa'?" in said.err


# ------------------------------------------------------------------------------------------------ bad input

BAD = {
    "a missing file": (["fit", "iri.csv", "-t", "y", "-o", "m"], "No file matches 'iri.csv'. Did you mean 'iris.csv'?"),
    "a column that is not there": (["fit", "iris.csv", "-t", "specis", "-o", "m"], "Did you mean 'species'?"),
    "an empty file": (["fit", "empty.csv", "-t", "y", "-o", "m"], "All files are empty: empty.csv"),
    "a broken row": (["fit", "broken.csv", "-t", "y", "-o", "m"], "Row #3, the header being row 1, has 2 columns"),
    "a folder to write to": (["fit", "iris.csv", "-t", "species", "-o", "no/m"], "there is no folder 'no'"),
    "a folder as a file": (["fit", "iris.csv", "-t", "species", "-o", "."], "is a folder"),
    "a full disk": (["fit", "iris.csv", "-t", "species", "-o", "/dev/full"], "No space left on device while writing"),
    "a full disk for answers": (["predict", "iris.suffice", "iris.csv", "-o", "/dev/full"], "No space left on device"),
    "no model": (["predict", "empty.csv", "iris.csv"], "empty.csv is not a readable model"),
    "no model file": (["predict", "iris.suffic", "iris.csv"], "Did you mean 'iris.suffice'?"),
    "a family": (["fit", "iris.csv", "-t", "species", "-o", "m", "--families", "petal width=gausian"], "'gaussian'?"),
    "a family of nothing": (
        ["fit", "iris.csv", "-t", "species", "-o", "m", "--families", "petal wdth=gaussian"],
        "Did you mean 'petal width'?",
    ),
    "no family at all": (["fit", "iris.csv", "-t", "species", "-o", "m", "--families", "x"], "COLUMN=FAMILY"),
    "smoothing": (["fit", "iris.csv", "-t", "species", "-o", "m", "--smoothing", "much"], "a number or auto"),
    "negative smoothing": (["fit", "iris.csv", "-t", "species", "-o", "m", "--smoothing", "-1"], "'smoothing'"),
    "a label for evaluate": (["evaluate", "iris.suffice", "tennis.csv"], "Which column holds the labels?"),
    "a target for evaluate": (["evaluate", "iris.suffice", "iris.csv", "-t", "spcies"], "Did you mean 'species'?"),
    "other columns": (["predict", "iris.suffice", "tennis.csv"], "None of the columns of the training table is here"),
    "a row": (["explain", "iris.suffice", "iris.csv", "--row", "150"], "from 0 to 149"),
    "a class": (["explain", "iris.suffice", "iris.csv", "--label", "vrginica"], "Did you mean 'virginica'?"),
    "an ending": (["predict", "iris.suffice", "iris.csv", "-o", "x.xlsx"], "The ending of x.xlsx is not known"),
    "a format": (["predict", "iris.suffice", "iris.csv", "--format", "parket"], "Did you mean 'parquet'?"),
    "an option": (["fit", "iris.csv", "--targt", "y"], "--targt"),
    "a command": (["fitt"], "No such command 'fitt'"),
    "standard input and files": (["fit", "-", "iris.csv", "-t", "y", "-o", "m"], "cannot be read together with files"),
    "everything forgotten": (["forget", "iris.suffice", "iris.csv"], "nothing would be left"),
    "rows never learned": (["forget", "iris.suffice", "iris.csv", "iris2.csv"], ""),
    "models of two kinds": (["merge", "iris.suffice", "s.suffice", "-o", "m"], "only models of one kind can be added"),
    "a text that is missing": (["impute", "s.suffice", "sentiment.csv"], "cannot be filled in"),
    "outliers of texts": (["outliers", "s.suffice", "sentiment.csv"], "keeps no rows to compare with"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.usefixtures("iris", "texts")
def test_an_error_is_one_sentence_on_stderr_and_changes_nothing(suffice, what):
    Path("empty.csv").write_text("")
    Path("broken.csv").write_text("a,b,y\n1,x,p\n2,x\n3,y,q\n")
    pa.csv.write_csv(pa.table(examples.iris()), "iris2.csv")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    arguments, expected = BAD[what]
    said = suffice(*arguments)
    assert said.code == 2
    assert not said.out
    assert re.fullmatch(r"suffice: [^\n]+\n", said.err)
    assert expected in said.err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_standard_input_is_called_so_in_errors(suffice):
    said = suffice("fit", "-", "-t", "y", "-o", "m", stdin=b"a,b,y\n1,x,p\n2,x\n")
    assert said.err.startswith("suffice: standard input cannot be read: Row #3")
    assert suffice("fit", "-", "-t", "y", "-o", "m", stdin=b"").err == "suffice: Standard input is empty\n"


def test_debug_shows_the_traceback(suffice):
    with pytest.raises(sf.InvalidDataError, match="No file matches"):
        suffice("fit", "nothing.csv", "-t", "y", "-o", "m", "--debug")


# ------------------------------------------------------------------------------------------------ help and docs


def test_without_arguments_the_commands_are_listed(suffice):
    said = suffice()
    assert said.code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", said.out, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(suffice, command):
    said = suffice(command, "--help")
    assert said.code == 0
    assert re.search(rf"Example:\n +suffice {command}", said.out)
    assert max(map(len, said.out.splitlines())) <= 100


def test_the_docs_mention_every_command():
    page, readme = (ROOT / "docs" / "command_line.md").read_text(), (ROOT / "README.md").read_text()
    for command in COMMANDS:
        assert f"suffice {command}" in page, command
    assert "docs/command_line.md" in readme


def test_the_guide_shows_what_its_commands_print(suffice):
    spec = importlib.util.spec_from_file_location("refresh_pages", ROOT / "tools" / "refresh_pages.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "command_line.md").read_text()
    for command in tool.PREPARED:
        assert suffice(*command.split()).code == 0
    shown = [(command, text) for _, command, text in tool.COMMAND.findall(page)]
    assert len(shown) >= 2
    for command, text in shown:
        assert suffice(*command.split()).out == text, f"{command}: make refresh"


def test_the_guide_names_every_family():
    page = (ROOT / "docs" / "command_line.md").read_text()
    ours = [name for name in family_names() if named(name).__module__.startswith("suffice.")]
    for family in ours:
        assert f"`{family}`" in page, family


def test_make_demo_does_the_main_job_and_says_where_the_report_is(suffice):
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    steps = [line.split() for line in recipe.replace("$(DEMO)", "build/demo").splitlines()]
    steps_named = [step[1] for step in steps[1:]]
    assert steps_named == ["demo", "fit", "evaluate", "explain", "forget", "explain", "report"]
    os.makedirs(steps[0][-1])
    lines, answers = len(steps), []
    for step in steps[1:]:
        said = suffice(*step[1:])
        assert said.code == 0, said.err
        assert max(map(len, said.out.splitlines())) <= 80
        lines += len(said.out.splitlines())
        answers += [said.out] if step[1] == "explain" else []
    assert said.out == "The report is in build/demo/report.html\n"
    assert Path("build/demo/report.html").exists()
    assert lines <= 100  # two screens
    assert [answer.splitlines()[0] for answer in answers] == ["row 98: Adelie", "row 98: Chinstrap"]


def test_the_penguins_of_the_demo_have_gaps_and_a_third_is_held_back():
    whole, (learned, judged, forgotten) = examples.penguins(), map(examples.penguins_part, ("train", "test", "forget"))
    rows = [set(enumerate(zip(*part.values(), strict=True))) for part in (whole, learned, judged)]
    assert [len(each) for each in rows] == [344, 230, 114]
    assert sum(value is None for column in whole.values() for value in column) == 19
    assert {type(value) for value in whole["body_mass_g"]} == {float, type(None)}
    ours = [tuple(row) for row in zip(*learned.values(), strict=True)]
    assert all(row in ours for row in zip(*forgotten.values(), strict=True))


def test_the_demo_shows_the_numbers_of_the_lectures(suffice):
    said = suffice("demo").out
    for words in ("p(Yes | x) = 0.5644", "p(Yes | x) = 1.0000", "p(Yes | x) = 0.6707", "p(negative | x) = 0.6469"):
        assert words in said
    for words in ("0.999999846, log-odds 15.6835", "0.9533 are right", "120."):
        assert words in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_examples_data_are_those_of_the_lectures(suffice):
    from sklearn.datasets import load_iris

    flowers, theirs = examples.iris(), load_iris()
    np.testing.assert_array_equal(np.array(list(flowers.values())[:4], dtype=float).T, theirs.data)
    assert flowers["species"] == theirs.target_names[theirs.target].tolist()
    os.mkdir("data")
    assert suffice("demo", "--write", "data").code == 0
    assert pa.csv.read_csv("data/people.csv").to_pydict() == examples.people()


# ------------------------------------------------------------------------------------------------ as a process

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "error::UserWarning"}


def started(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "suffice", *map(str, arguments)], capture_output=True, env=ENVIRONMENT, **options
    )


def test_help_comes_at_once_and_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['suffice', '--help']\n"
        "from suffice.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules)"
    )
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)  # of its own work, however busy the machine is
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    loaded = set(said.stdout.splitlines()[-1].split())
    assert not {"sklearn", "pandas", "scipy", "pyarrow", "matplotlib", "numpy", "rich"} & loaded
    assert min(seconds) < 0.25


LIGHT = """
import json, sys
from suffice.cli.program import run
heavy = set(sys.argv[2:])
for arguments in json.load(open(sys.argv[1])):
    assert run(arguments) == 0, arguments
    assert not heavy & set(sys.modules), (arguments, heavy & set(sys.modules))
"""


def in_one_process(commands, *heavy):
    """Run commands, none of which may import any of some packages."""
    Path("commands.json").write_text(json.dumps(commands))
    said = subprocess.run([sys.executable, "-c", LIGHT, "commands.json", *heavy], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr


@pytest.mark.usefixtures("iris")
def test_predicting_imports_neither_scikit_learn_nor_pandas_nor_scipy():
    commands = [["predict", "iris.suffice", "iris.csv"], ["predict", "iris.suffice", "iris.csv", "-o", "x.parquet"]]
    in_one_process(commands, "sklearn", "pandas", "scipy", "matplotlib")


ESTIMATORS = [
    naive_bayes.GaussianNB(),
    naive_bayes.KernelNB(),
    naive_bayes.MixtureNB(random_state=1),
    naive_bayes.MultinomialNB(),
    naive_bayes.ComplementNB(),
    naive_bayes.BernoulliNB(binarize=3.0),
    naive_bayes.PoissonNB(),
    naive_bayes.CategoricalNB(),
    LinearDiscriminantAnalysis(solver="eigen"),
    QuadraticDiscriminantAnalysis(),
    sf.BayesClassifier(),
]


@pytest.mark.slow
@pytest.mark.usefixtures("suffice")
def test_every_estimator_answers_at_the_terminal_as_in_python_bit_for_bit():
    import pandas as pd

    flowers = pd.DataFrame(examples.iris())
    X, y = flowers.drop(columns="species"), flowers["species"].to_numpy()
    answering, learning, fitted = [], [], {}
    for estimator in ESTIMATORS:
        name = type(estimator).__name__
        rows = X.round().astype(int) if name == "CategoricalNB" else X
        rows.assign(species=y).to_parquet(f"{name}.parquet")
        fitted[name] = sklearn.base.clone(estimator).fit(rows, y)
        fitted[name].save(f"{name}.suffice")
        data = f"{name}.parquet"
        answering += [
            ["predict", f"{name}.suffice", data, "-o", f"{name}.out.parquet"],
            ["evaluate", f"{name}.suffice", data, "--json"],
            ["inspect", f"{name}.suffice"],
        ]
        learning += [
            ["update", f"{name}.suffice", data, "-o", f"{name}.twice.suffice"],
            ["forget", f"{name}.twice.suffice", data],
            ["drop-class", f"{name}.suffice", "setosa", "-o", f"{name}.less.suffice"],
            ["merge", f"{name}.suffice", f"{name}.suffice", "-o", f"{name}.sum.suffice"],
        ]
        if name != "QuadraticDiscriminantAnalysis":  # whose columns speak together
            answering += [["explain", f"{name}.suffice", data, "--row", "60"]]
        if name != "ComplementNB":
            answering += [["sample", f"{name}.suffice", "-n", "3", "--seed", "1", "-o", f"{name}.drawn.parquet"]]
        if name in ("BayesClassifier", "GaussianNB", "KernelNB", "QuadraticDiscriminantAnalysis"):
            answering += [["impute", f"{name}.suffice", data, "-o", f"{name}.x.csv"]]
    learning += [
        ["fit", "iris.csv", "-t", "species", "-o", "iris.suffice"],
        ["fit", "sentiment.csv", "-t", "sentiment", "-o", "s.suffice"],
        ["cv", "iris.csv", "-t", "species"],
        ["report", "iris.suffice", "iris.csv", "-o", "report.html"],
        ["report", "GaussianNB.suffice", "-o", "other.html"],
        ["demo"],
    ]
    answering += [
        ["explain", "s.suffice", "sentiment.csv"],
        ["predict", "s.suffice", "sentiment.csv", "-o", "s.parquet"],
        ["inspect", "s.suffice"],
        ["sample", "s.suffice", "--seed", "0"],
        ["outliers", "iris.suffice", "iris.csv", "--rate", "0.1"],
    ]
    in_one_process(learning)
    in_one_process(answering, "sklearn", "matplotlib")
    for name, estimator in fitted.items():
        rows = pd.read_parquet(f"{name}.parquet").drop(columns="species")
        found = pq.read_table(f"{name}.out.parquet")
        p = np.stack([found[f"probability {label}"].to_numpy() for label in estimator.classes_], axis=1)
        np.testing.assert_array_equal(p, estimator.predict_proba(rows), err_msg=name)
        if "log_density" in found.column_names:
            np.testing.assert_array_equal(found["log_density"].to_numpy(), estimator.score_samples(rows), err_msg=name)
        merged = sf.load(f"{name}.sum.suffice")
        np.testing.assert_array_equal(merged.predict_proba(rows), (estimator + estimator).predict_proba(rows))
        less = sklearn.base.clone(estimator).fit(rows, y).drop_class("setosa")
        np.testing.assert_array_equal(sf.load(f"{name}.less.suffice").predict_proba(rows), less.predict_proba(rows))
        if name != "ComplementNB":
            drawn, labels = estimator.sample(3, random_state=1)
            found = pq.read_table(f"{name}.drawn.parquet")
            assert found["label"].to_pylist() == labels.tolist()
            np.testing.assert_array_equal(found.drop_columns("label").to_pandas().to_numpy(), np.asarray(drawn))
    sf.BayesClassifier().fit("iris.csv", "species").save("mine.suffice")
    assert Path("mine.suffice").read_bytes() == Path("iris.suffice").read_bytes()
    sf.TextClassifier().fit("sentiment.csv", "sentiment").save("mine.suffice")
    assert Path("mine.suffice").read_bytes() == Path("s.suffice").read_bytes()


def test_a_reader_that_has_seen_enough_is_no_error(iris):
    command = f"{sys.executable} -m suffice predict {iris} iris.csv --keep all | head -1"
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert said.stdout.startswith("sepal length,")
    assert not said.stderr


def test_a_full_disk_behind_standard_output_is_an_error(iris):
    command = f"{sys.executable} -m suffice predict {iris} iris.csv > /dev/full"
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert said.returncode == 2
    assert said.stderr == (
        "suffice: standard output cannot be written: No space left on device while writing it. "
        "Make room, or write to another place\n"
    )


def test_ctrl_c_leaves_no_half_written_file(suffice, iris, monkeypatch):
    answers, calls = Loaded.answers, []

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answers(*arguments)

    monkeypatch.setattr(Loaded, "answers", stopped)
    before = sorted(os.listdir())
    os.mkdir("parts")
    for name in "ab":
        pa.csv.write_csv(pa.table(examples.iris()), f"parts/{name}.csv")
    for output in ("out.csv", "out.parquet"):
        calls.clear()
        said = suffice("predict", iris, "parts", "-o", output)
        assert (said.code, said.err, len(calls)) == (130, "suffice: stopped\n", 2)
        assert sorted(os.listdir()) == sorted([*before, "parts"])


def test_ctrl_c_stops_a_process_that_waits_for_rows(iris, tmp_path_factory):
    before, copies = sorted(os.listdir()), tmp_path_factory.mktemp("copies")
    with subprocess.Popen(
        [sys.executable, "-m", "suffice", "predict", iris, "-", "-o", "out.csv"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(copies)},
    ) as process:
        process.stdin.write(Path("iris.csv").read_bytes())
        process.stdin.flush()
        while not list(copies.rglob("stdin.csv")) and process.poll() is None:  # it copies what it reads, and waits
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"suffice: stopped\n"
    assert sorted(os.listdir()) == before


def test_it_is_a_module_too():
    said = started("--version")
    assert said.returncode == 0
    assert said.stdout.decode().strip() == f"suffice {sf.__version__}"


@pytest.mark.parametrize(("words", "expected"), [("suffice ev", ["evaluate"]), ("suffice fit --dr", ["--drop"])])
def test_the_shell_completes_commands_and_options(words, expected):
    asked = {"_SUFFICE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    said = subprocess.run([sys.executable, "-m", "suffice"], capture_output=True, text=True, env=ENVIRONMENT | asked)
    assert said.stdout.split() == expected


def on_a_terminal(*arguments, **environment):
    """What a person sees on a terminal of 60 columns, and its lines without colours."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (40, 60))
    code = f"from suffice.cli.program import run; run({list(arguments)!r})"
    known = {key: value for key, value in ENVIRONMENT.items() if key not in ("NO_COLOR", "COLUMNS")}
    options = {"stdout": theirs, "stderr": theirs, "env": known | {"TERM": "xterm"} | environment}
    with subprocess.Popen([sys.executable, "-c", code], **options) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    assert process.returncode == 0
    shown = b"".join(parts).decode().replace("\r", "")
    return shown, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()


def test_a_terminal_shows_colours_and_no_line_that_is_too_long(iris):
    shown, lines = on_a_terminal("explain", iris, "iris.csv", "--row", "70")
    assert "\x1b[32m" in shown
    assert "\x1b[31m" in shown
    assert max(map(len, lines)) <= 60
    assert "virginica" in lines[0]
    plain, same = on_a_terminal("explain", iris, "iris.csv", "--row", "70", NO_COLOR="1")
    assert "\x1b[3" not in plain
    assert same == lines


@pytest.mark.parametrize(
    ("value", "said"),
    [(3000.0000000000005, "3000"), (0.5, "0.5000"), (1e-12, "1e-12"), (2.001, "2.0010")],
)
def test_numbers_are_integers_but_for_rounding(value, said):
    assert number(value) == said
