"""Asking before learning: the table, the picture and the command."""

import io
import json

import numpy as np
import pytest

import suffice as sf
from suffice.cli.program import run
from suffice.errors import InvalidDataError, InvalidOptionError
from suffice.naive_bayes import GaussianNB

DAYS = {"sky": ["sun", "rain", "fog"] * 40, "degrees": [20.0, 9.0, 5.0] * 40, "out": ["yes", "no", "no"] * 40}


class Remembers:
    """A model whose answers are known beforehand: it is sure of the last label."""

    last = None

    def learn_one(self, x, y):  # noqa: ARG002  # the contract
        self.last = y

    def predict_proba_one(self, x):  # noqa: ARG002  # the contract
        return {} if self.last is None else {self.last: 1.0}


def test_stretches_are_counted_by_hand():
    labels = [1, 1, 2, 2, 2, 1, 1]
    found = sf.prequential(Remembers(), [({}, label) for label in labels], every=3)
    assert found.row.tolist() == [3, 6, 7]
    np.testing.assert_allclose(found.accuracy, [1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(found.log_loss, -np.log(1e-6) * np.array([2 / 3, 1 / 3, 0]))
    accuracy, loss = found.overall
    assert accuracy == pytest.approx(4 / 7)
    assert loss == pytest.approx(-np.log(1e-6) * 3 / 7)
    table = found.table()
    assert list(table.rows) == ["3", "6", "7"]
    np.testing.assert_allclose(table.values[:, 2], [1 / 3, 1 / 2, 4 / 7])


def test_tables_texts_and_pairs_are_streams():
    by_name = sf.prequential(sf.BayesClassifier(structure="naive"), DAYS, "out", every=40)
    features = {name: DAYS[name] for name in ("sky", "degrees")}
    by_labels = sf.prequential(sf.BayesClassifier(structure="naive"), features, DAYS["out"], every=40)
    rows = [({"sky": s, "degrees": d}, y) for s, d, y in zip(*DAYS.values(), strict=True)]
    by_pairs = sf.prequential(sf.BayesClassifier(structure="naive"), iter(rows), every=40)
    assert by_name.accuracy.tolist() == by_labels.accuracy.tolist() == by_pairs.accuracy.tolist()
    assert by_name.accuracy[-1] == 1
    texts = sf.prequential(sf.TextClassifier(), DAYS["sky"], DAYS["out"])
    assert texts.overall[0] > 0.9
    assert "120 rows" in repr(texts)


def test_what_is_no_stream_is_refused():
    with pytest.raises(InvalidDataError, match="Labels are needed"):
        sf.prequential(GaussianNB(), DAYS)
    with pytest.raises(InvalidDataError, match="pairs"):
        sf.prequential(GaussianNB(), [1, 2])
    with pytest.raises(InvalidDataError, match="no row"):
        sf.prequential(GaussianNB(), iter([]))
    with pytest.raises(InvalidDataError, match="120 rows and 3 labels"):
        sf.prequential(GaussianNB(), DAYS, [1, 2, 3])
    with pytest.raises(InvalidOptionError, match="every"):
        sf.prequential(GaussianNB(), DAYS, "out", every=0)


def test_results_are_drawn_one_line_each():
    pytest.importorskip("matplotlib").use("agg")
    results = [sf.prequential(sf.BayesClassifier(structure="naive"), DAYS, "out", name=name) for name in "ab"]
    ax = sf.plot.prequential(*results, metric="log_loss")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "from the beginning"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), results[0].log_loss)
    with pytest.raises(InvalidOptionError, match="metric"):
        sf.plot.prequential(*results, metric="speed")
    with pytest.raises(InvalidDataError):
        sf.plot.prequential()


# ---- the command


def streamed(monkeypatch, capsys, text, *arguments, code=0):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert run(["stream", *arguments]) == code
    out = capsys.readouterr()
    return [json.loads(line) for line in out.out.splitlines()], out.err


LINES = "".join(json.dumps({"sky": s, "degrees": d, "out": y}) + "\n" for s, d, y in zip(*DAYS.values(), strict=True))
CSV = "sky,degrees,out\n" + "".join(f"{s},{d},{y}\n" for s, d, y in zip(*DAYS.values(), strict=True))


@pytest.mark.parametrize("text", [LINES, CSV, CSV.replace(",", "\t")], ids=["json", "csv", "tsv"])
def test_a_stream_is_answered_line_by_line_and_learned(monkeypatch, capsys, tmp_path, text):
    model = str(tmp_path / "days.suffice")
    answers, said = streamed(monkeypatch, capsys, text, "--target", "out", "-o", model)
    assert len(answers) == 120
    assert answers[0] == {"prediction": None, "probabilities": {}, "label": "yes"}
    assert answers[-1]["prediction"] == answers[-1]["label"] == "no"
    assert "120 with a label" in said
    loaded = sf.load(model)
    assert loaded.class_count_.tolist() == [80, 40]
    answers, _ = streamed(monkeypatch, capsys, '{"sky": "sun", "degrees": 19.5}\n', "--model", model)
    assert answers[0]["prediction"] == "yes"
    assert sum(answers[0]["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_how_well_a_stream_goes_is_shown_and_drawn(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "days.png"
    options = ["-t", "out", "--structure", "naive", "--every", "40", "--plot", str(picture)]
    answers, said = streamed(monkeypatch, capsys, LINES + '{"sky": "sun"}\n', *options)
    expected = sf.prequential(sf.BayesClassifier(structure="naive"), DAYS, "out", every=40)
    assert str(expected.table()) in said
    right = sum(each.get("label") == each["prediction"] for each in answers)
    assert f"121 rows, 120 with a label, of which {right} " in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    streamed(monkeypatch, capsys, '{"sky": "sun"}\n', "-t", "out", "--plot", str(picture))
    assert not picture.exists()  # there was no label


def test_rows_without_a_label_are_answered_and_not_learned(monkeypatch, capsys):
    answers, said = streamed(monkeypatch, capsys, LINES + '{"sky": "sun"}\n{"sky": "sun", "out": null}\n', "-t", "out")
    assert "label" not in answers[-1]
    assert "122 rows, 120 with a label" in said


def test_a_column_of_labels_that_is_never_there_is_named(monkeypatch, capsys):
    _, said = streamed(monkeypatch, capsys, CSV, "-t", "away")
    assert "none with a label: no row has the column 'away', they have ['sky', 'degrees', 'out']" in said


def test_fields_of_csv_are_what_they_are_in_files(monkeypatch, capsys, tmp_path):
    """Booleans, gaps, and categories and labels that look like numbers, for a model that was fitted on a file."""
    lines = "code,new,size,y\n" + "1,true,3.5,0\nA7,false,NA,b\n007,true,2,0\n1_0,false,nan,b\n" * 10
    (tmp_path / "codes.csv").write_text(lines)
    path = str(tmp_path / "codes.csv")
    whole = sf.BayesClassifier().fit(path, "y")
    model, more = str(tmp_path / "codes.suffice"), str(tmp_path / "more.suffice")
    whole.save(model)
    answers, said = streamed(monkeypatch, capsys, lines, "--model", model, "-t", "y", "-o", more)
    assert [each["label"] for each in answers[:2]] == ["0", "b"]
    assert "40 rows, 40 with a label" in said
    twice = sf.BayesClassifier().fit(path, "y").partial_fit(path, "y")
    rows = {"code": ["1", "A7", "other"], "new": [True, False, None], "size": [3.5, None, 1.0]}
    np.testing.assert_allclose(sf.load(more).predict_proba(rows), twice.predict_proba(rows), rtol=1e-9)


@pytest.mark.parametrize("number", ["1", "NA"])
def test_gaps_and_numbers_of_a_new_stream_are_read(monkeypatch, capsys, number):
    answers, _ = streamed(monkeypatch, capsys, f"a,on,y\n1,true,u\n{number},FALSE,v\n2,true,u\n", "-t", "y")
    assert [each["label"] for each in answers] == ["u", "v", "u"]


@pytest.mark.parametrize("options", [["--half-life", "20"], ["--window", "30"], ["--window", "9", "--time", "degrees"]])
def test_rows_of_a_stream_may_fade_or_leave(monkeypatch, capsys, tmp_path, options):
    ordered = "".join(
        json.dumps({"sky": DAYS["sky"][i], "degrees": i / 10, "out": DAYS["out"][i]}) + "\n" for i in range(120)
    )
    model = str(tmp_path / "m.suffice")
    streamed(monkeypatch, capsys, ordered, "-t", "out", "-o", model, *options)
    assert 28 <= sf.load(model).class_count_.sum() <= 90


def test_a_stream_that_fades_goes_on_from_its_file(monkeypatch, capsys, tmp_path):
    whole, first, both = (str(tmp_path / f"{name}.suffice") for name in ("whole", "first", "both"))
    fading = ["-t", "out", "--half-life", "20", "-o"]
    cut = LINES.index("\n", len(LINES) // 2) + 1
    streamed(monkeypatch, capsys, LINES, *fading, whole)
    streamed(monkeypatch, capsys, LINES[:cut], *fading, first)
    streamed(monkeypatch, capsys, LINES[cut:], *fading, both, "--model", first)
    assert sf.load(both).class_count_ == pytest.approx(sf.load(whole).class_count_, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "arguments", "why"),
    [
        (LINES, [], "--target"),
        (LINES, ["-t", "out", "--model", "none.suffice", "--window", "3"], "--model: options of a new model"),
        (LINES, ["-t", "out", "--model", "none.suffice", "--structure", "naive"], "--model: options of a new model"),
        (LINES, ["-t", "out", "--structure", "tree"], "--structure: expected one of"),
        (LINES, ["-t", "out", "--structure", "naive", "--text"], "--structure is for tables"),
        (LINES, ["-t", "out", "--plot", "a.gif"], "--plot: a picture ends in .png, .svg, .pdf, found a.gif"),
        (LINES, ["-t", "out", "--plot", "there/a.png"], "there"),
        (LINES, ["-t", "out", "--output", "there/a.suffice"], "there"),
        (LINES, ["-t", "out", "--half-life", "3", "--window", "3"], "one of the two"),
        (LINES, ["-t", "out", "--time", "degrees"], "--time"),
        (LINES, ["-t", "out", "--window", "2.5"], "integer"),
        (LINES, ["-t", "out", "--window", "0"], "--window must be a number above 0, found 0"),
        (LINES, ["-t", "out", "--half-life", "nan"], "--half-life must be a number above 0, found nan"),
        (LINES, ["-t", "out", "--window", "3", "--time", "out"], "--time: 'out' is the column of the labels"),
        (LINES, ["-t", "out", "--model", "none.suffice"], "no model file"),
        (LINES, ["-t", "out", "--input-format", "parquet"], "parquet"),
        ("{nonsense\n", ["-t", "out"], "Line 1 is no JSON"),
        ("a,b\n1,2\n1\n", ["-t", "b"], "Line 3 has 1 fields"),
        ('{"a": 1, "y": "p"}\n{"a": {"b": 2}, "y": "q"}\n', ["-t", "y"], "Row 2"),
        ("", ["-t", "y", "-o", "nothing.suffice"], "nothing was learned"),
    ],
)
def test_what_is_wrong_with_a_stream_is_said(monkeypatch, capsys, tmp_path, text, arguments, why):
    monkeypatch.chdir(tmp_path)
    answers, said = streamed(monkeypatch, capsys, text, *arguments, code=2)
    assert why in said
    assert not answers or text != LINES  # options are checked before any row is read
