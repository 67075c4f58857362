"""The report in a real browser: its panel computes what the library computes, and nothing in the data can act."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.csv
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

import suffice as sf
from suffice import plot, report
from suffice.cli.demo_data import penguins_part
from suffice.cli.program import run
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
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
from suffice.views import report as report_parts

RNG = np.random.default_rng(3)
ROWS = 90
Y = np.arange(ROWS) % 3
LABELS = np.array(["low", "mid", "top"])[Y]
REALS = RNG.normal(Y[:, None] + np.arange(3), 1.0 + Y[:, None])
COUNTS = RNG.poisson(1.0 + Y[:, None] + np.arange(3)).astype(float)
WORDS = [
    ["good", "great", "film", "the", "acting", "Straße", "naïve", "42"],
    ["bad", "awful", "film", "the", "plot", "ΣΊΣΥΦΟΣ", "café", "9"],
    ["dull", "slow", "film", "the", "ending", "東京", "İstanbul", "x_1"],
]
TEXTS = [" ".join(RNG.choice(WORDS[c], 7)) for c in Y]
ASKED = [
    "A good, GOOD film; the acting!",
    "the plot was awful and slow: unknownword here",
    "Straße STRASSE ΣΊΣΥΦΟΣ σίσυφος 東京  naïve café\tx_1 42 9 İstanbul",
    "nothing that was ever seen",
    "a",
]


def answers(page, rows):
    return np.array([page.evaluate("row => suffice.posterior(row)", row) for row in rows])


def plain(values):
    return [None if v is None or v != v else v.item() if isinstance(v, np.generic) else v for v in values]


@pytest.mark.parametrize(
    ("estimator", "x"),
    [
        (GaussianNB(), REALS),
        (KernelNB(), REALS),
        (MixtureNB(max_iter=500), REALS),
        (PoissonNB(), COUNTS),
        (MultinomialNB(), COUNTS),
        (ComplementNB(), COUNTS),
        (BernoulliNB(), (COUNTS > 1).astype(float)),
        (CategoricalNB(), COUNTS.astype(int)),
        (LinearDiscriminantAnalysis(), REALS),
        (QuadraticDiscriminantAnalysis(), REALS),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_panel_gives_the_probabilities_of_every_estimator(opened, estimator, x):
    estimator.fit(x, LABELS)
    page = opened(report.render(estimator))
    truths = isinstance(estimator, BernoulliNB)
    assert_allclose(
        answers(page, x[:20].astype(bool).tolist() if truths else x[:20].tolist()),
        estimator.predict_proba(x[:20]),
        atol=1e-9,
    )
    if x.dtype.kind == "f":
        gaps = x[:8].copy()
        gaps[np.arange(8), np.arange(8) % 3] = np.nan
        rows = [plain(row if not truths else [v if v != v else bool(v) for v in row]) for row in gaps]
        assert_allclose(answers(page, rows), estimator.predict_proba(gaps), atol=1e-9)


def a_table():
    rng = np.random.default_rng(8)
    colours = np.array(["red", "blue", "green"], object)
    table = {
        "age": np.round(rng.normal(30 + 8 * Y, 9)),
        "height": rng.normal(1.7 + 0.05 * Y, 0.1),
        "visits": rng.poisson(1 + Y).astype(float),
        "wait": rng.exponential(1.0 + Y),
        "colour": colours[(Y + (rng.random(ROWS) < 0.3)) % 3],
        "shape": colours[(Y + (rng.random(ROWS) < 0.5)) % 3],
        "member": (rng.random(ROWS) < 0.2 + 0.3 * Y).astype(object),
        "a": rng.normal(Y),
        "b": rng.normal(-Y),
        "note": np.array(TEXTS, dtype=object),
    }
    for j, name in enumerate(("age", "colour", "height", "note", "member")):
        column = table[name].astype(object)
        column[j :: 7 + j] = None
        table[name] = column
    return {name: plain(column) for name, column in table.items()}


FAMILIES = {
    ("a", "b"): sf.MultivariateGaussian(learn="predictive"),
    "visits": sf.Poisson(learn="predictive"),
    "wait": sf.LogNormal(),
    "shape": sf.Categorical(),
    "note": sf.Text(),
}


@pytest.mark.parametrize(
    "options", [{}, {"calibrate": False}, {"calibrate": "classes"}, {"missing": "informative"}], ids=repr
)
def test_the_panel_gives_the_probabilities_of_a_table_with_gaps(opened, options):
    table = a_table()
    clf = sf.BayesClassifier(FAMILIES, **options).fit(table, LABELS)
    page = opened(report.render(clf))
    names = [each["name"] for each in page.evaluate("suffice.inputs")]
    rows = [[table[name][i] for name in names] for i in range(40)] + [[None] * len(names)]
    asked = {name: [*table[name][:40], None] for name in table}
    assert_allclose(answers(page, rows), clf.predict_proba(asked), atol=1e-9)


def test_the_panel_scores_rows_with_gaps_that_experts_do_not_know_as_the_library_does(opened):
    table = {name: column for name, column in a_table().items() if name in ("age", "a", "b", "colour", "note")}
    table["age"] = plain(np.round(np.random.default_rng(9).normal(30 + 8 * Y, 9)))
    clf = sf.BayesClassifier({"note": sf.Text()}, structure="pool").fit(table, LABELS)
    needed = clf.calibration_.needed
    assert "age" in needed
    page = opened(report.render(clf))
    names = [each["name"] for each in page.evaluate("suffice.inputs")]
    asked = {name: [None if name in needed and i % 3 else v for i, v in enumerate(table[name][:30])] for name in table}
    rows = [[asked[name][i] for name in names] for i in range(30)]
    assert_allclose(answers(page, rows), clf.predict_proba(asked), atol=1e-9)


def test_the_panel_computes_cosines_of_all_columns(opened):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(1500, 3)), rng.choice(["p", "q", "r"], 1500)
    table = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "k": k}
    clf = sf.BayesClassifier().fit(table, ((x > 0).sum(axis=1) + (k == "q")) % 2)  # no column tells the class
    assert any(each.title == "cosines" for each in clf.calibration_.experts)
    page = opened(report.render(clf))
    names = [each["name"] for each in page.evaluate("suffice.inputs")]
    asked = {name: plain(column[:30]) for name, column in table.items()}
    asked["a"][0] = asked["k"][1] = None
    rows = [[asked[name][i] for name in names] for i in range(30)]
    assert_allclose(answers(page, rows), clf.predict_proba(asked), atol=2e-5)  # kernels compute cosines in float32


def test_typing_into_the_form_moves_the_probabilities(opened):
    table = a_table()
    clf = sf.BayesClassifier(FAMILIES, structure="pairs").fit(table, LABELS)
    page = opened(report.render(clf))
    row = {
        "age": 41.0,
        "height": 1.8,
        "visits": 3.0,
        "wait": None,
        "colour": "blue",
        "shape": "mauve",
        "member": True,
        "a": 0.5,
        "b": None,
        "note": "The film was GOOD, the acting slow",
    }
    for name, value in row.items():
        field = page.get_by_label(name, exact=True)
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(label="another value" if value == "mauve" else str(value).lower())
        elif value is not None:
            field.fill(f"{value:g}" if isinstance(value, float) else value)
    shown = page.locator("#posterior tr").evaluate_all("rows => rows.map(row => Number(row.dataset.value))")
    expected = clf.predict_proba({name: [value] for name, value in row.items()})[0]
    assert_allclose(shown, expected, atol=1e-9)
    verdict = page.locator("#verdict")
    assert verdict.get_attribute("aria-live") == "polite"
    assert verdict.inner_text().startswith(f"Most probable: {clf.classes_[expected.argmax()]}")
    told = clf.evidence({name: [value] for name, value in row.items()}, "top", "low")
    page.select_option("#for-class", label="top")
    page.select_option("#against-class", label="low")
    by_title = dict(
        page.locator("#evidence tr").evaluate_all(
            "rows => rows.map(row => [row.querySelector('th').textContent, Number(row.dataset.value)])"
        )
    )
    for name in ("age", "colour", "shape", "a, b", "visits"):
        if abs(told[name][0]) >= 0.005:  # less is not shown
            assert_allclose(by_title[name], told[name][0], atol=1e-8, err_msg=name)
    parts = [value for title, value in by_title.items() if title != "log-odds"]
    assert_allclose(sum(parts), by_title["log-odds"], atol=1e-8)
    assert_allclose(by_title["log-odds"], told["log_odds"][0], atol=1e-8)
    assert_allclose(sum(v for title, v in by_title.items() if title.startswith("note: ")), told["note"][0], atol=1e-8)
    page.get_by_role("button", name="Clear").click()
    prior = page.locator("#posterior tr").evaluate_all("rows => rows.map(row => Number(row.dataset.value))")
    assert_allclose(prior, clf.class_count_ / ROWS, atol=1e-9)


TEXT_OPTIONS = [
    {},
    {"event": "multinomial", "ngrams": (1, 1), "smoothing": 1.0, "calibrate": False},
    {"event": "multinomial", "smoothing": 0, "ngrams": (1, 1), "calibrate": False},
    {"event": "multinomial", "smoothing": 0.5, "term_weight": "log", "length_norm": "l1", "ngrams": (1, 3)},
    {"event": "bernoulli", "smoothing": 1.0},
    {"event": "complement", "smoothing": 1.0, "length_norm": "l2"},
    {"event": "multinomial", "learn": "predictive", "smoothing": 0.5},
    {"analyzer": "char", "ngrams": (2, 3)},
    {"analyzer": "char_wb", "ngrams": (2, 4), "lowercase": False},
    {"stop_words": ["the", "film"], "strip_accents": "ascii"},
]


@pytest.mark.parametrize("options", TEXT_OPTIONS, ids=repr)
@pytest.mark.filterwarnings("ignore::suffice.core.errors.ImpossibleRowWarning")
def test_the_panel_reads_texts_as_the_library_does(opened, options):
    clf = sf.TextClassifier(**options).fit(TEXTS, LABELS)
    page = opened(report.render(clf))
    asked = [*ASKED, *TEXTS[:5], *(f"{a} {b}" for a, b in zip(TEXTS[5:10], ASKED, strict=True))]
    assert_allclose(answers(page, [[text] for text in asked]), clf.predict_proba(asked), atol=1e-9)
    page.get_by_label("text").fill(ASKED[1])
    shown = page.locator("#posterior tr").evaluate_all("rows => rows.map(row => Number(row.dataset.value))")
    assert_allclose(shown, clf.predict_proba([ASKED[1]])[0], atol=1e-9)


def test_the_pages_log_gamma_is_right_to_twelve_digits(opened):
    page = opened(report.render(GaussianNB().fit(REALS, LABELS)))
    x = np.concatenate([10.0 ** np.linspace(-8, 9, 200), np.arange(1, 40) / 2])
    found = page.evaluate("values => values.map(suffice.logGamma)", x.tolist())
    assert_allclose(found, gammaln(x), rtol=1e-12, atol=1e-13)


HOSTILE = [
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 2</script>",
    '"><img src=x onerror="window.owned = 3">',
    "'; window.owned = 4; //",
    "]]><svg onload='window.owned = 5'>",
    "\u202eright to left\u2069",
    "line\u2028separator\u2029",
    "__proto__",
    "constructor",
    "${window.owned = 6}",
    "<!--",
]


def test_hostile_names_labels_and_words_stay_text(opened):
    n = 66
    rng = np.random.default_rng(0)
    codes = np.arange(n) % len(HOSTILE)
    y = np.array(HOSTILE)[codes]
    table = {name: (rng.normal(size=n) + codes).tolist() for name in HOSTILE[:8]}
    table["constructor"] = [HOSTILE[c] for c in codes]
    table["<b>words</b>"] = [f"{HOSTILE[c]} and some more words" for c in codes]
    families = {"<b>words</b>": sf.Text(), "__proto__": sf.Gaussian()}
    clf = sf.BayesClassifier(families, structure="pairs").fit(table, y)
    page = opened(report.render(clf, table | {"y": y.tolist()}, "y", title=HOSTILE[1]))
    row = [table[each["name"]][3] for each in page.evaluate("suffice.inputs")]
    asked = {name: column[3:4] for name, column in table.items()}
    assert_allclose(answers(page, [row]), clf.predict_proba(asked), atol=1e-9)
    page.select_option("#example", "2")
    page.get_by_label("<b>words</b>").fill(" ".join(HOSTILE))
    assert page.evaluate("window.owned") is None
    assert page.title() == HOSTILE[1]
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert page.locator("script").count() == 2
    assert page.evaluate("({}).polluted") is None
    shown = page.locator("#posterior th").all_inner_texts()
    assert {text.strip() for text in shown} >= {HOSTILE[0], HOSTILE[2], "__proto__"}


def test_scripts_that_are_not_the_pages_own_would_not_run(opened, chromium):
    html = report.render(GaussianNB().fit(REALS, LABELS))
    page = opened(html)
    assert page.locator("script").count() == 2
    html = html.replace("</main>", "</main><script>window.owned = 1</script>")
    refused = chromium.new_page()
    refused.set_content(html)
    assert refused.evaluate("window.owned") is None
    refused.close()


def test_a_large_block_asks_for_all_its_columns(opened):
    x = RNG.normal(Y[:, None], 1.0, (ROWS, 5))
    clf = QuadraticDiscriminantAnalysis().fit(x, LABELS)
    page = opened(report.render(clf))
    page.get_by_label("x0", exact=True).fill("1")
    assert page.locator("#verdict").inner_text().startswith("These columns speak together: fill in all of x0")
    for j in range(5):
        page.get_by_label(f"x{j}", exact=True).fill(f"{j / 2}")
    shown = page.locator("#posterior tr").evaluate_all("rows => rows.map(row => Number(row.dataset.value))")
    assert_allclose(shown, clf.predict_proba(np.arange(5)[None] / 2)[0], atol=1e-9)


def test_the_form_works_from_the_keyboard_and_every_field_has_a_label(opened):
    table = a_table()
    clf = sf.BayesClassifier(FAMILIES).fit(table, LABELS)
    page = opened(report.render(clf))
    unnamed = page.locator("input, select, textarea").evaluate_all(
        "fields => fields.filter(field => !field.labels.length || !field.labels[0].textContent.trim()).length"
    )
    assert unnamed == 0
    before = page.locator("#verdict").inner_text()
    page.locator("#clear").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "input-0"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.type("70")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "input-1"
    assert page.locator("#verdict").inner_text() != before
    heads = page.locator("table").evaluate_all(
        "tables => tables.every(table => [...table.querySelectorAll('th')].every(th => th.scope))"
    )
    assert heads
    assert page.locator("svg[role=img]:not([aria-label])").count() == 0


def until(page, condition):
    """Wait for something; Playwright's own way is an `eval` in the page, which its policy forbids."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not after five seconds: {condition}")


def test_an_answer_longer_than_the_window_scrolls_by_keyboard(opened):
    clf = sf.TextClassifier().fit(TEXTS, LABELS)
    page = opened(report.render(clf), viewport={"width": 1280, "height": 420})
    page.get_by_label("text").fill(" ".join(TEXTS[:3]))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "panel-answer"
    page.keyboard.press("End")
    until(page, "document.getElementById('panel-answer').scrollTop > 0")


def test_pictures_follow_the_columns_row_by_row(opened):
    clf = GaussianNB().fit(RNG.normal(Y[:, None], 1.0, (ROWS, 7)), LABELS)
    page = opened(report.render(clf), viewport={"width": 1280, "height": 800})
    boxes = page.locator(".figures > figure").evaluate_all(
        "figures => figures.map(f => [f.querySelector('figcaption').textContent, f.offsetTop, f.offsetLeft])"
    )
    assert [name for name, _, _ in sorted(boxes, key=lambda box: box[1:])] == [f"x{j}" for j in range(7)]


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(opened, width):
    table = a_table()
    clf = sf.BayesClassifier(FAMILIES).fit(table, LABELS)
    page = opened(report.render(clf, table | {"y": LABELS.tolist()}, "y"), viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_a_confusion_of_many_classes_fits_on_paper(opened):
    y = np.array([f"talk.politics.kind{c}" for c in range(20)])[np.arange(200) % 20]
    x = RNG.normal(np.arange(200)[:, None] % 20, 1.0, (200, 2))
    page = opened(report.render(GaussianNB().fit(x, y), x, y), viewport={"width": 700, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 700


def test_there_is_a_dark_page_and_one_to_print(opened):
    html = report.render(GaussianNB().fit(REALS, LABELS))
    shades = [
        opened(html, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    light, dark = (sum(map(int, shade.removeprefix("rgb(").removesuffix(")").split(","))) for shade in shades)
    assert light > 700
    assert dark < 120
    page = opened(html)
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#try").is_visible()
    assert page.locator("#columns svg").first.is_visible()
    assert len(page.pdf()) > 5000


def told(page):
    """What each row of the table of evidence says, by its title."""
    rows = page.locator("#evidence tr").evaluate_all(
        "rows => rows.map(row => [row.querySelector('th').textContent, Number(row.dataset.value)])"
    )
    return dict(rows)


@pytest.mark.parametrize("structure", ["naive", "columns", "pairs", "pool"])
def test_the_page_the_terminal_and_the_library_say_the_same_of_each_column(opened, tmp_path, capsys, structure):
    learned, judged = penguins_part("train"), penguins_part("test")
    clf = sf.BayesClassifier(structure=structure).fit(learned, "species")
    clf.save(tmp_path / "birds.suffice")
    row = {name: values[98] for name, values in judged.items() if name != "species"}
    page = opened(report.render(clf))
    for name, value in row.items():
        field = page.get_by_label(name, exact=True)
        if field.count() and isinstance(value, str):
            field.select_option(label=value)
        elif field.count():
            field.fill(f"{value:g}")
    page.select_option("#for-class", label="Adelie")
    page.select_option("#against-class", label="Chinstrap")
    said = clf.evidence({name: [value] for name, value in row.items()}, "Adelie", "Chinstrap")
    pyarrow.csv.write_csv(pyarrow.table({name: [value] for name, value in row.items()}), tmp_path / "row.csv")
    classes = ["--label", "Adelie", "--against", "Chinstrap"]
    assert run(["explain", str(tmp_path / "birds.suffice"), str(tmp_path / "row.csv"), *classes, "--json"]) == 0
    printed = {part["what"]: part["log_odds"] for part in json.loads(capsys.readouterr().out)["evidence"]}
    one = {name: [value] for name, value in row.items()}
    drawn = dict(plot.EvidenceDisplay.from_estimator(clf, one, label="Adelie", against="Chinstrap", most=60).steps)
    shown = told(page)
    named = [title for title in shown if title in printed and title not in ("prior", "rest")]
    assert len(named) >= 4
    for title in named:
        assert_allclose(shown[title], said[title][0], atol=1e-8, err_msg=title)
        assert_allclose(shown[title], printed[title], atol=1e-8, err_msg=title)
        assert_allclose(shown[title], next(v for k, v in drawn.items() if k.split(" = ")[0] == title), atol=1e-8)
    plt.close("all")


def test_words_are_tempered_on_the_page_as_in_the_library(opened):
    clf = sf.TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=1.0).fit(TEXTS, LABELS)
    assert clf.calibration_.slope[0] != 1.0
    page = opened(report.render(clf))
    page.locator("textarea").fill(ASKED[0])
    page.select_option("#for-class", label="low")
    page.select_option("#against-class", label="top")
    table = clf.evidence(ASKED[0], "low", "top")
    said = dict(zip(table.rows, table.values[:, 0].tolist(), strict=True))
    shown = told(page)
    for word in ("good", "film", "acting"):
        assert_allclose(shown[word], said[word], atol=1e-8)
    assert_allclose(shown["rest"], said["(calibration)"], atol=1e-8)


def test_an_idle_panel_invites_and_bars_are_scaled_to_the_largest(opened):
    clf = GaussianNB().fit(REALS, LABELS)
    page = opened(report.render(clf))
    assert page.locator("#idle").is_visible()
    assert not page.locator("#why").is_visible()
    assert page.locator("#verdict").inner_text() == "Nothing is filled in yet"
    assert page.locator("#evidence tr").count() == 0
    page.locator("#input-0").fill("1.5")
    assert not page.locator("#idle").is_visible()
    assert page.locator("#why").is_visible()
    widths = page.locator("#posterior .bar").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.inlineSize))")
    assert_allclose(max(widths), 100.0)
    halves = page.locator("#evidence .bar").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.inlineSize))")
    assert_allclose(max(halves), 50.0)
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#idle").is_visible()


def test_a_page_with_the_most_telling_words_answers_as_these_words_do(opened, monkeypatch):
    for module in ("text", "page_words"):
        monkeypatch.setattr(f"suffice.families.{module}.MOST_WORDS", 15)
    clf = sf.TextClassifier().fit(TEXTS, LABELS)
    page = opened(report.render(clf))
    short = clf._settled().answering_by(report_parts.page_model(clf.model_))
    expected = short.posterior(clf._check_X(ASKED), clf._calibration())
    assert_allclose(answers(page, [[text] for text in ASKED]), expected, atol=1e-7)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window_and_text_stands_out(opened, width, scheme):
    learned, judged = penguins_part("train"), penguins_part("test")
    clf = sf.BayesClassifier(structure="columns").fit(learned, "species")
    page = opened(report.render(clf, judged, "species"), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    contrast = page.evaluate(
        """() => {
          const light = (colour) => {
            const [r, g, b] = colour.match(/\\d+/g).map((v) => {
              const s = Number(v) / 255;
              return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const page = light(getComputedStyle(document.body).backgroundColor);
          return ["body", ".note", "caption", "nav a", "#verdict", "td"].map((where) => {
            const ink = light(getComputedStyle(document.querySelector(where)).color);
            return (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
          });
        }"""
    )
    assert min(contrast) >= 4.5  # as WCAG asks of text
