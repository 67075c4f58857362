"""The command line on odd data: names with commas, wide letters, control characters, long texts, wrong targets."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import suffice as sf
from suffice.cli import demo_data as examples
from suffice.cli import terminal as screen
from suffice.cli.model_files import Fitted
from suffice.cli.options import listed
from suffice.cli.program import run
from suffice.core import frames
from suffice.engines.files import Files

ODD = """"x,y","q""uote",名前,flag
1,red,猫猫,true
2,red,犬,false
1,blue,猫猫,true
3,blue,犬,false
1,red,,true
3,NA,犬,false
"""


@pytest.fixture
def suffice(capfd, tmp_path, monkeypatch):
    """Run the program in a folder with odd data and flowers; the exit code, and what it said."""
    monkeypatch.chdir(tmp_path)
    Path("odd.csv").write_text(ODD)
    pa.csv.write_csv(pa.table(examples.iris()), "iris.csv")

    def call(*arguments):
        capfd.readouterr()
        code = run(list(arguments))
        out, err = capfd.readouterr()
        return code, out, err

    return call


def test_known_names_with_commas_are_one_name():
    known = ["x,y", "a", "b, c"]
    assert listed(["a,x,y", " b, c ,d"], known) == ["a", "x,y", "b, c", "d"]
    assert listed(["a=text,x,y=gaussian"], known) == ["a=text", "x,y=gaussian"]
    assert listed(["x, y,,"]) == ["x", "y"]
    assert listed(None) == []


def test_columns_with_commas_are_dropped_kept_and_given_families(suffice):
    fit = ["fit", "odd.csv", "-t", "flag", "-o", "m.suffice", "--json"]
    columns = json.loads(suffice(*fit, "--drop", "x,y")[1])["columns"]
    assert [each["column"] for each in columns] == ['q"uote', "名前"]
    columns = json.loads(suffice(*fit, "--families", "名前=categorical,x,y=gaussian")[1])["columns"]
    assert [each["family"] for each in columns if each["column"] in ("x,y", "名前")] == ["gaussian", "categorical"]
    _, out, _ = suffice("predict", "m.suffice", "odd.csv", "--keep", "名前,x,y")
    assert out.startswith('名前,"x,y",prediction,')


def test_classes_that_are_booleans_are_said_as_in_the_file(suffice):
    suffice("fit", "odd.csv", "-t", "flag", "-o", "m.suffice", "--no-check")
    for said in ("true", "True"):
        code, out, _ = suffice("explain", "m.suffice", "odd.csv", "--label", said)
        assert code == 0
        assert "For True (right) against False (left)" in out


def test_letters_that_take_two_places_do_not_push_columns_aside(capsys):
    screen.show_columns("column", ["名前", "ab"], ["family", "bits"], [["x", "1"], ["é", "2"]], [True, False])
    assert capsys.readouterr().out.splitlines()[1:] == ["名前    x          1", "ab      é          2"]
    assert screen.cut("猫" * 30, 9) == "猫猫猫猫…"
    screen.show_bars([("猫 = 1", 1.0), ("dog = 1", 1.0)])
    a, b = capsys.readouterr().out.splitlines()
    assert a.index("│") + 1 == b.index("│")


def test_control_characters_do_not_reach_a_terminal(suffice):
    pq.write_table(
        pa.table({"text": ["good \x1b[31m film", "bad \x9b31m one", None], "y": ["p", "q", "q"]}), "t.parquet"
    )
    assert suffice("fit", "t.parquet", "-t", "y", "-o", "m.suffice", "--families", "text=text")[0] == 0
    for row in ("0", "1"):
        _, out, _ = suffice("explain", "m.suffice", "t.parquet", "--row", row)
        assert "\ufffd" in out
        assert not {"\x1b", "\x9b"} & set(out)
    assert suffice("explain", "m.suffice", "t.parquet", "--row", "2")[1].startswith("(no text)\n")
    _, _, err = suffice("fit", "t.parquet", "-t", "\x1b[31m", "-o", "m.suffice")
    assert "\x1b" not in err


def test_the_column_of_labels_is_found_beside_long_texts(suffice, monkeypatch):
    suffice("fit", "iris.csv", "-t", "species", "-o", "m.suffice", "--no-check")
    table = pa.table(examples.iris()).append_column("notes", pa.array([f"{i}" * 1000 for i in range(150)]))
    pq.write_table(table, "more.parquet")
    asked = []
    labels = frames.labels
    monkeypatch.setattr(frames, "labels", lambda column, name: asked.append(name) or labels(column, name))
    assert Fitted.load("m.suffice").target(Files(["more.parquet"]), None) == "species"
    assert asked == ["species"]  # an array of the notes would take the longest's room for each


BAD = {
    "a target that is measured": (["fit", "iris.csv", "-t", "petal width", "-o", "m"], "numbers such as 0.2"),
    "so is one of cv": (["cv", "iris.csv", "-t", "petal width"], "which cannot be classes"),
    "labels as weights": (["fit", "iris.csv", "-t", "species", "-w", "species", "-o", "m"], "is the target"),
    "a row before the first": (["explain", "i.suffice", "iris.csv", "--row", "-1"], "from 0 to 149"),
    "a row of none": (["explain", "i.suffice", "none.csv"], "the data have no rows"),
    "a class against itself": (
        ["explain", "i.suffice", "iris.csv", "--label", "setosa", "--against", "setosa"],
        "name another",
    ),
    "a metric that is not drawn": (["compare", "iris.csv", "-t", "species", "--metric", "acuracy"], "log_loss"),
    "a column as the target": (["evaluate", "i.suffice", "iris.csv", "-t", "petal width"], "that the model reads"),
    "a column of labels to learn": (["update", "i.suffice", "iris.csv", "-t", "petal width"], "that the model reads"),
    "a model to standard output": (
        ["fit", "iris.csv", "-t", "species", "-o", "-"],
        "cannot be written to standard output",
    ),
    "a sum to standard output": (
        ["merge", "i.suffice", "i.suffice", "-o", "-"],
        "cannot be written to standard output",
    ),
    "a seed": (["sample", "i.suffice", "--seed", "-1"], "--seed"),
    "answers over the data": (["predict", "i.suffice", "iris.csv", "-o", "./iris.csv"], "is the data"),
    "filled rows over the data": (["impute", "i.suffice", "iris.csv", "-o", "iris.csv"], "is the data"),
    "a report over the model": (["report", "i.suffice", "-o", "i.suffice"], "is the model"),
    "a model over the data": (["fit", "iris.csv", "-t", "species", "-o", "iris.csv"], "is the data"),
}


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    sf.BayesClassifier(limit=None).fit(pa.table(examples.iris()), "species").save(folder / "i.suffice")
    return folder / "i.suffice"


@pytest.mark.parametrize("what", BAD)
def test_a_wrong_request_is_refused_in_a_sentence_and_changes_nothing(suffice, flowers, what):
    shutil.copy(flowers, "i.suffice")
    Path("none.csv").write_text("sepal length,species\n")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    arguments, expected = BAD[what]
    code, out, err = suffice(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("suffice: ")
    assert expected in err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_fit_whose_check_fails_leaves_no_model(suffice, monkeypatch):
    def broken(*_):
        raise sf.InvalidDataError("it cannot be")

    monkeypatch.setattr(sf.BayesClassifier, "leave_one_out", broken)
    assert suffice("fit", "iris.csv", "-t", "species", "-o", "m.suffice") == (2, "", "suffice: it cannot be\n")
    assert not os.path.exists("m.suffice")


def test_a_report_to_standard_output_is_the_page_alone(suffice, flowers):
    code, out, err = suffice("report", str(flowers), "-o", "-")
    assert (code, err) == (0, "")
    assert out.rstrip().endswith("</html>")


def test_one_model_is_a_model(suffice, flowers):
    assert suffice("merge", str(flowers), "-o", "m.suffice")[1].startswith("Added 1 model; 150 rows")
