"""The report as a file: what is in it, that it is well formed, and that data stay data."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import suffice as sf
from suffice import report
from suffice.cli.program import run
from suffice.core.errors import InvalidDataError, InvalidOptionError, UnwritableFileError
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.model.evaluate import Evaluation
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)
from suffice.views.report import page_model
from suffice.views.report.html import embedded, markup, named, tag
from suffice.views.report.written_numbers import amount, percent, score
from suffice.views.round_numbers import ticks

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
LABELS = np.array(["one", "two", "three"])[Y]
REALS = RNG.normal(Y[:, None], 1.0, (60, 3))
COUNTS = RNG.poisson(1.0 + Y[:, None], (60, 3)).astype(float)
TEXTS = [" ".join(RNG.choice([["good", "great"], ["bad", "awful"], ["dull", "slow"]][c], 4)) + " film" for c in Y]
VOID = {"meta", "link", "input", "br"}


class Reader(HTMLParser):
    """The elements of a page, which must nest."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> ends nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def model_of(html):
    return json.loads(re.search(r'<script type="application/json" id="model">(.*?)</script>', html)[1])


def a_table():
    rng = np.random.default_rng(2)
    return {
        "age": rng.normal(30 + 10 * Y, 5).tolist(),
        "colour": np.array(["red", "blue", "green"])[(Y + (rng.random(60) < 0.2)) % 3].tolist(),
        "member": (rng.random(60) < 0.2 + 0.3 * Y).tolist(),
        "noise": rng.normal(size=60).tolist(),
        "note": TEXTS,
    }


ESTIMATORS = [
    (GaussianNB(), REALS),
    (KernelNB(), REALS),
    (KernelNB(kernel="epanechnikov"), REALS),
    (MixtureNB(max_iter=500), REALS),
    (PoissonNB(), COUNTS),
    (MultinomialNB(), COUNTS),
    (ComplementNB(), COUNTS),
    (BernoulliNB(), COUNTS),
    (CategoricalNB(), COUNTS.astype(int)),
    (LinearDiscriminantAnalysis(), REALS),
    (QuadraticDiscriminantAnalysis(), REALS),
    (sf.BayesClassifier(), {f"c{j}": REALS[:, j] for j in range(3)}),
    (sf.TextClassifier(), TEXTS),
]


@pytest.mark.parametrize(("estimator", "x"), ESTIMATORS, ids=lambda each: type(each).__name__)
def test_every_estimator_has_a_report_that_nests_and_fetches_nothing(estimator, x):
    html = report.render(estimator.fit(x, LABELS), x, LABELS)
    page = read(html)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert "http://" not in html
    assert "https://" not in html
    assert not [a for _, a in page.elements if "src" in a]
    assert all(a["href"].startswith(("#", "data:,")) for tag in ("a", "link") for a in page.all(tag))
    labelled = {a["for"] for a in page.all("label") if "for" in a}
    fields = [a["id"] for tag in ("input", "select", "textarea") for a in page.all(tag)]
    assert set(fields) - labelled <= {"for-class", "against-class"}  # whose labels are around them
    assert {"summary", "try", "columns", "evaluation"} <= set(ids)


def test_a_report_without_rows_has_no_evaluation():
    page = read(report.render(GaussianNB().fit(REALS, LABELS)))
    assert "evaluation" not in [a.get("id") for a in page.all("section")]


def test_the_page_says_what_each_column_is_and_how_good_predictions_are():
    table = a_table()
    clf = sf.BayesClassifier({"note": sf.Text()}).fit(table, LABELS)
    found = Evaluation.of(LABELS, clf.classes_, clf.predict_proba(table))
    html = report.render(clf, table | {"label": LABELS.tolist()}, "label", title="My model")
    text = " ".join(read(html).text)
    for expected in ("My model", "age", "categorical", "bernoulli", "does not vote", f"{found.log_loss:.3f}"):
        assert expected in text
    assert percent(found.accuracy) in text


def test_rows_may_come_as_a_table_a_matrix_or_an_evaluation():
    clf = GaussianNB().fit(REALS, LABELS)
    found = Evaluation.of(LABELS, clf.classes_, clf.predict_proba(REALS))
    table = {f"x{j}": REALS[:, j] for j in range(3)} | {"label": LABELS, "w": np.ones(60)}
    pages = [
        report.render(clf, REALS, LABELS, title="Flowers"),
        report.render(clf, table, "label", "w", title="Flowers"),
        report.render(clf, evaluation=found, title="Flowers"),
    ]
    assert pages[0] == pages[1] == pages[2]


def test_rows_may_come_from_files_batch_by_batch(tmp_path):
    table = a_table()
    clf = sf.BayesClassifier({"note": sf.Text()}).fit(table, LABELS)
    whole = report.render(clf, table | {"label": LABELS.tolist()}, "label", source="judged on *.parquet")
    for part in range(2):
        own = slice(30 * part, 30 * part + 30)
        columns = {name: column[own] for name, column in table.items()} | {"label": LABELS[own]}
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{part}.parquet")
    assert report.render(clf, str(tmp_path / "*.parquet"), "label") == whole
    with pytest.raises(InvalidDataError, match="no column 'lable'"):
        report.render(clf, str(tmp_path / "*.parquet"), "lable")


def test_columns_are_called_by_the_names_they_were_fitted_with_or_are_given():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(REALS, columns=["height", "weight", "age"])
    clf = GaussianNB().fit(frame, LABELS)
    inputs = model_of(report.render(clf, frame.assign(label=LABELS)[["label", "age", "weight", "height"]], "label"))
    assert [each["name"] for each in inputs["inputs"]] == ["height", "weight", "age"]
    bare = GaussianNB().fit(REALS, LABELS)
    assert [i["name"] for i in model_of(report.render(bare, names=["a", "b", "c"]))["inputs"]] == ["a", "b", "c"]


def test_labels_that_a_file_holds_as_text_are_those_of_the_model():
    clf = GaussianNB().fit(REALS, Y)
    assert report.render(clf, REALS, Y.astype(str)) == report.render(clf, REALS, Y)


def test_the_title_names_the_target_and_the_line_below_it_the_files(tmp_path):
    table = a_table() | {"label": LABELS.tolist()}
    clf = sf.BayesClassifier({"note": sf.Text()}).fit(table, "label")
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "rows.parquet")
    html = report.render(clf, str(tmp_path / "rows.parquet"), "label")
    assert "<h1><bdi>Predicting label</bdi></h1>" in html
    assert "BayesClassifier · 60 rows · 3 classes · judged on rows.parquet" in html
    assert "<h1><bdi>GaussianNB</bdi></h1>" in report.render(GaussianNB().fit(REALS, LABELS))


def test_numbers_are_written_one_way():
    assert [amount(12435), amount(60.0), amount(2.5)] == ["12,435", "60", "2.5"]
    assert [percent(0.8412), percent(1.0), percent(1e-4)] == ["84.1 %", "100 %", "< 0.1 %"]
    assert [score(0.27634), score(-1e-9), score(np.inf)] == ["0.276", "0.000", "∞"]
    clf = GaussianNB().fit(np.repeat(REALS, 300, axis=0), np.repeat(LABELS, 300))
    html = report.render(clf, np.repeat(REALS, 300, axis=0), np.repeat(LABELS, 300))
    text = " ".join(read(re.sub(r"<(style|script).*?</\1>", "", html, flags=re.DOTALL)).text)
    assert "18,000 rows" in text
    assert "33.3 %" in text
    assert not re.search(r"\b0\.\d{4,}", text)  # nothing has more digits


def test_columns_come_by_what_they_tell_and_columns_of_a_table_that_are_empty_are_left_out():
    rng = np.random.default_rng(5)
    table = {"weak": rng.normal(0.6 * Y), "strong": rng.normal(4.0 * Y), "middle": rng.normal(1.5 * Y)}
    clf = sf.BayesClassifier(structure="naive").fit(table, LABELS)
    html = report.render(clf)
    own = html[html.index('id="columns"') : html.index('id="nomogram"')]
    places = [
        [own.index(f"<bdi>{name}</bdi>", at) for name in ("strong", "middle", "weak")]
        for at in (0, own.index("<figure"))
    ]
    assert places == [sorted(places[0]), sorted(places[1])]
    assert ">note</th>" not in own  # no column has one
    assert ">bits</th>" in own


def test_more_words_than_a_page_holds_are_cut_to_the_most_telling_and_the_page_says_how_often_it_agrees(
    monkeypatch, tmp_path
):
    for module in ("text", "page_words"):
        monkeypatch.setattr(f"suffice.families.{module}.MOST_WORDS", 12)
    rng = np.random.default_rng(6)
    own = [["good", "great", "fine"], ["bad", "awful", "poor"], ["dull", "slow", "long"]]
    filler = [f"word{i}" for i in range(40)]
    texts = [" ".join([*rng.choice(own[c], 3), *rng.choice(filler, 5)]) for c in Y]
    clf = sf.TextClassifier().fit(texts, LABELS)
    html = report.render(clf, texts, LABELS)
    words = model_of(html)["terms"][0]["text"]["words"]
    assert len(words) == 12
    assert set(words) >= {word for each in own for word in each}  # what tells the classes apart
    short = clf._settled().answering_by(page_model(clf.model_)).posterior(clf._check_X(texts), clf._calibration())
    same = np.mean(short.argmax(axis=1) == clf.predict_proba(texts).argmax(axis=1))
    text = " ".join(read(html).text)
    assert f"The panel holds the 12 most telling of {len(clf.vocabulary_):,} words and phrases" in text
    assert (
        f"For {percent(same)} of 60 rows it was judged on, the panel predicts the class that the model predicts" in text
    )
    text = " ".join(read(report.render(clf)).text)
    assert re.search(r"For \d+(\.\d)? % of 60 texts it has learned", text)
    monkeypatch.chdir(tmp_path)
    clf.save("texts.suffice")
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "label": LABELS}), "texts.parquet")
    assert run(["report", "texts.suffice", "texts.parquet", "--target", "label", "-o", "texts.html"]) == 0
    page = " ".join(read(Path("texts.html").read_text(encoding="utf-8")).text)
    assert f"For {percent(same)} of 60 rows it was judged on" in page
    assert "texts.suffice, judged on texts.parquet" in page
    mixed = sf.BayesClassifier({"note": sf.Text()}).fit({"note": texts, "x": REALS[:, 0]}, LABELS)
    text = " ".join(read(report.render(mixed, {"note": texts, "x": REALS[:, 0]}, LABELS)).text)
    assert "most telling of" in text
    assert "60 rows it was judged on" in text


def test_all_words_are_held_where_they_are_few():
    clf = sf.TextClassifier().fit(TEXTS, LABELS)
    assert page_model(clf.model_) is clf.model_
    assert "most telling" not in report.render(clf)


HOSTILE = ["</script><script>x</script>", '"quoted"', "<b>", "\u202eback\u2069", "a\u2028b", "&amp;", "]]>", "\0"]


def test_hostile_strings_are_escaped_everywhere():
    table = {name: (RNG.normal(size=40) + np.arange(40) % 4).tolist() for name in HOSTILE}
    y = np.array(HOSTILE[:4])[np.arange(40) % 4]
    html = report.render(sf.BayesClassifier().fit(table, y), table, y, title=HOSTILE[0])
    page = read(html)
    assert len(page.all("script")) == 2
    assert not page.all("b")
    assert "\u2028" not in re.search(r'id="model">(.*?)</script>', html)[1]
    assert {each["name"] for each in model_of(html)["inputs"]} <= set(HOSTILE)
    assert "\0" not in html


def test_nothing_ends_the_element_that_holds_the_model():
    value = {"</script>": ["<!--", "]]>", "\u2028", "é"]}
    shown = embedded(value, id="x")
    inner = shown.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028é") & set(inner)
    assert json.loads(inner) == value


def test_elements_escape_what_is_not_markup():
    assert tag("p", "<i>", tag("b", "&"), None, ["x", 1], title='"') == '<p title="&quot;">&lt;i&gt;<b>&amp;</b>x1</p>'
    assert tag("input", disabled=True, hidden=False, value=None) == "<input disabled>"
    assert named("<") == "<bdi>&lt;</bdi>"
    assert markup("\ud800") == "?"


def test_what_has_no_formula_is_said_and_counts_as_missing():
    table = a_table()
    families = {"age": sf.Kernel("cosine"), "note": sf.Text(n_features=64)}
    text = " ".join(read(report.render(sf.BayesClassifier(families).fit(table, LABELS))).text)
    assert "age  counts as missing here. The cosine kernel ends at its bandwidth" in text
    assert "hashed features have no words" in text
    text = " ".join(read(report.render(KernelNB(kernel="uniform").fit(REALS, LABELS))).text)
    assert "There is no panel: The uniform kernel ends" in text


def test_many_columns_make_no_form():
    x = RNG.poisson(1.0, (30, 400))
    text = " ".join(read(report.render(MultinomialNB().fit(x, LABELS[:30]))).text)
    assert "Nobody would fill in 400 columns" in text


def test_a_single_class_has_a_report_too():
    html = report.render(GaussianNB().fit(REALS, ["only"] * 60))
    assert "for-class" not in [a.get("id") for a in read(html).all("select")]


def test_many_classes_are_drawn_only_in_part():
    y = np.arange(60) % 12
    text = " ".join(read(report.render(GaussianNB().fit(REALS, y), REALS, y)).text)
    assert "The 8 most frequent of 12 classes are drawn." in text
    y = np.arange(60) % 30
    text = " ".join(read(report.render(GaussianNB().fit(REALS, y), REALS, y)).text)
    assert "The 24 most frequent of 30 classes, and their probabilities" in text
    assert "The classes," not in text


def test_the_file_is_written_whole_or_not_at_all(tmp_path):
    clf = GaussianNB().fit(REALS, LABELS)
    place = tmp_path / "report.html"
    report.write(clf, place, title="First")
    report.write(clf, str(place), title="Second")
    assert "Second" in place.read_text(encoding="utf-8")
    with pytest.raises(InvalidOptionError, match="pass the labels"):
        report.write(clf, place, REALS, title="Third")
    assert "Second" in place.read_text(encoding="utf-8")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(UnwritableFileError, match="no folder"):
        report.write(clf, tmp_path / "nowhere" / "report.html")


def test_what_is_not_fitted_or_not_ours_is_refused():
    with pytest.raises(InvalidOptionError, match="found dict"):
        report.render({})
    with pytest.raises(ValueError, match="not fitted yet"):
        report.render(GaussianNB())


def test_the_module_itself_does_not_import_scikit_learn():
    code = "import sys, suffice.report; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_guides_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = (Path(__file__).parent.parent / "docs" / "report.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(compile(block, "report.md", "exec"), {})
    assert "Predicting sex" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_ticks_are_round_numbers_within_the_range():
    assert ticks(0.0, 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    for low, high in ((0, 1), (-1e9, 1e9), (1e-12, 3e-12), (99.5, 100.5)):
        found = ticks(low, high)
        assert 2 <= len(found) <= 8
        assert low - 1e-9 * abs(low) <= found[0]
        assert found[-1] <= high + 1e-9 * abs(high)
    assert ticks(1.0, 1.0) == [1.0]
