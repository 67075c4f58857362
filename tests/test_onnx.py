"""Models of ONNX: what onnxruntime computes is what the library computes."""

import subprocess
import sys
from functools import cache

import numpy as np
import onnx
import onnxruntime
import pyarrow.parquet as pq
import pytest
import skl2onnx
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import suffice as sf
import suffice.onnx
from family_cases import COUNTS, FAMILIES, LABELS, NAMES, REALS, table_of_all_kinds, with_gaps
from suffice.core.errors import (
    ImpossibleRowWarning,
    InvalidDataError,
    InvalidOptionError,
    LeftOutWarning,
    MissingPackageError,
    NoFormulaError,
)
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.engines.onnx.onnx_model import to_onnx
from suffice.formulas import (
    Above,
    Abs,
    Among,
    Column,
    Combinations,
    Constant,
    Cosines,
    CrossTable,
    Exp,
    Linear,
    Log1p,
    LogGamma,
    LogSumExp,
    Lookup,
    Missing,
    Scoring,
    Sqrt,
    Steps,
    Term,
    Unknown,
    Where,
)
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

CLOSE = {"rtol": 0, "atol": 1e-9}
ESTIMATORS = [
    (GaussianNB(), REALS),
    (KernelNB(), REALS),
    (MixtureNB(), REALS),
    (PoissonNB(), COUNTS),
    (MultinomialNB(), COUNTS),
    (ComplementNB(), COUNTS),
    (BernoulliNB(binarize=1.0), COUNTS),
    (CategoricalNB(min_categories=30), COUNTS),
    (LinearDiscriminantAnalysis(), REALS),
    (QuadraticDiscriminantAnalysis(), REALS),
    (sf.BayesClassifier(structure="pairs"), REALS),
]


def answers(model, rows):
    """Run a model on a matrix, or on columns of Python values of which None is missing; return labels and numbers."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    if isinstance(rows, np.ndarray):
        return session.run(["label", "probabilities"], {"X": rows})
    feed = {}
    for each in session.get_inputs():
        text = each.type == "tensor(string)"
        values = [("" if text else np.nan) if v is None else v for v in rows[each.name]]
        feed[each.name] = np.array(values, dtype=object if text else np.float64).reshape(-1, 1)
    return session.run(["label", "probabilities"], feed)


def check(clf, rows, **options):
    """Compare labels and probabilities with those of the estimator."""
    model = clf.to_onnx(**options)
    onnx.checker.check_model(model, full_check=True)
    labels, p = answers(model, rows)
    assert p.dtype == np.float64
    assert_allclose(p, clf.predict_proba(rows), **CLOSE)
    assert_array_equal(labels, clf.predict(rows))
    return model


def evidence(formulas, columns, names, classes):
    """Compute formulas by a model whose probabilities are the softmax of their sum."""
    scoring = Scoring.plain(np.arange(classes), np.zeros(classes), [Term("", (), each) for each in formulas])
    return scoring.posterior(columns), answers(to_onnx(scoring, names, ["k"], False, np.float64), columns)[1]


# ---- formulas


@pytest.mark.parametrize("which", FAMILIES)
def test_the_formula_of_every_family_is_computed(which):
    family, x = FAMILIES[which]
    fitted = family.estimate(family.summarize(x, LABELS).statistic)
    columns = {name: with_gaps(x)[:, j] for j, name in enumerate(NAMES)}
    scoring = Scoring.plain(np.arange(3), np.log([0.2, 0.3, 0.5]), fitted.formula(NAMES))
    expected = scoring.posterior(columns)
    _, found = answers(to_onnx(scoring, NAMES, (), False, np.float64), columns)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_every_node_has_the_value_that_numpy_gives():
    x, u = Column("x"), Column("u")
    bins = Where(Missing("x"), Unknown(), Steps("x", [0.0, 1.0, 2.0], np.arange(4.0)))
    kind = Where(Missing("k"), Unknown(), Lookup("k", ("a", "b"), np.arange(2.0), 2.0))
    nodes = {
        "functions": Sqrt(Abs(x)) + Log1p(Abs(u) * 1e-9) * 1e9 + Exp(-1.0 * Abs(x)) / (1.0 + Abs(u)),
        "gamma": LogGamma(Abs(x) + np.array([0.1, 1.0, 30.0])),
        "sum of exponentials": LogSumExp((x + np.array([-np.inf, 0.0, 1.0]), u * 2.0, Constant([1.0]))),
        "impossible sum": LogSumExp((Constant([-np.inf, 0.0, 0.0]) + x, Constant([-np.inf, 0.0, 1.0]))),
        "linear": Linear(("x", "u"), [[0.5, 1.0]], [[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])
        + Linear(("u",), [[0.5], [0.1], [0.0]], [[1.0], [2.0], [-1.0]]),
        "above": Above(x, 0.5) * np.array([1.0, 2.0, 3.0]),
        "no edges": Steps("x", [], np.ones((3, 1)) * [[1.0], [2.0], [3.0]]),
        "numbers as keys": Lookup("n", (3, 1, 2), [[1.0, 2.0, 3.0]] * 3, [0.0, 1.0, 2.0]),
        "combinations": Combinations(("n", "k"), ((1, "a"), (2, "b"), (1, "c")), np.eye(3), [1, 0, 2]),
        "cells": CrossTable(bins, kind, np.random.default_rng(0).normal(size=(3, 4, 3))),
        "cells the other way": CrossTable(kind, bins, np.random.default_rng(1).normal(size=(3, 3, 4))),
        "among": Where(Among("k", ("a", "zzz")), Constant([0.0, 1.0, 2.0]), Constant([1.0, 0.0, 3.0])),
        "among numbers": Where(Among("n", (1, 7)), Constant([0.0, 1.0, 2.0]), Constant([1.0, 0.0, 3.0])),
        "cosines": Cosines(
            (u, Lookup("k", ("a",), [[1.0]], [0.0]), Where(Missing("n"), Constant(0.0), Column("n"))),
            np.random.default_rng(2).normal(size=(3, 5)),
            np.linspace(0.0, 1.0, 5),
            np.random.default_rng(3).normal(size=(3, 5)),
        ),
        "nothing": Constant([0.0, 1.0, 0.5]),
    }
    columns = {
        "x": [0.0, 1.0, -2.5, 3.75, 100.0, 1.5],
        "u": [1.0, -1.0, 0.0, 2.0, 0.25, 7.0],
        "n": [1, 2, 3, 7, None, 1],
        "k": ["a", "b", "c", None, "a", "other"],
    }
    for title, node in nodes.items():
        expected, found = evidence([node], columns, list(columns), 3)
        assert_allclose(np.broadcast_to(expected, found.shape), found, err_msg=title, rtol=0, atol=1e-12)
    missing = {name: [None] for name in columns}
    for title in ("above", "no edges", "linear"):
        assert np.isnan(evidence([nodes[title]], missing, list(columns), 3)[1]).all(), title
    for title in ("cells", "cells the other way"):
        assert_allclose(evidence([nodes[title]], missing, list(columns), 3)[1], 1 / 3, rtol=1e-12)


def test_models_of_many_columns_have_few_operators():
    x = np.random.default_rng(0).normal(size=(40, 1500))
    few, many = (GaussianNB().fit(x[:, :d], np.arange(40) % 2).to_onnx() for d in (3, 1500))
    assert len(many.graph.node) == len(few.graph.node)


# ---- estimators of matrices


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "with gaps"])
@pytest.mark.parametrize(("estimator", "x"), ESTIMATORS, ids=lambda value: type(value).__name__)
def test_every_estimator_has_a_model_of_its_predictions(estimator, x, gaps):
    check(estimator.fit(x, LABELS), with_gaps(x) if gaps else x)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        BernoulliNB(binarize=8.0),
        MultinomialNB(),
        ComplementNB(),
        CategoricalNB(),
        KernelNB(),
        PoissonNB(),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        sf.BayesClassifier(structure="naive"),
        sf.BayesClassifier(structure="pairs"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_digits(estimator):
    x, y = load_digits(return_X_y=True)
    model = check(estimator.fit(x, y), x[::5])
    assert len(model.graph.node) < 1000


@pytest.mark.parametrize("structure", ["naive", "columns", "pairs", "pool"])
def test_iris_with_every_structure(structure):
    x, y = load_iris(return_X_y=True)
    asked = x.copy()
    asked[::3, 1] = asked[::4, 2] = asked[7] = np.nan
    check(sf.BayesClassifier(structure=structure).fit(x, y), asked)


@pytest.mark.parametrize("calibrate", [False, True, "classes"])
def test_calibration_is_part_of_the_model(calibrate):
    x, y = load_iris(return_X_y=True)
    check(sf.BayesClassifier(calibrate=calibrate, structure="naive").fit(x, y), x)


def test_labels_keep_their_type():
    for labels in (LABELS, LABELS == "a", np.searchsorted(["a", "b", "c"], LABELS)):
        found, _ = answers(GaussianNB().fit(REALS, labels).to_onnx(), REALS)
        expected = GaussianNB().fit(REALS, labels).predict(REALS)
        assert_array_equal(found, expected)
        assert found.dtype.kind == (expected.dtype.kind if expected.dtype.kind != "U" else "O")


def test_a_row_that_is_impossible_gets_the_prior_as_in_the_library():
    clf = MultinomialNB(alpha=0).fit(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0, 0, 1])
    rows = np.array([[1.0, 1.0], [2.0, 0.0]])
    with pytest.warns(ImpossibleRowWarning):
        expected = clf.predict_proba(rows)
    assert_allclose(answers(clf.to_onnx(), rows)[1], expected, **CLOSE)


def test_a_gap_in_a_large_block_has_no_probability():
    x, y = load_digits(return_X_y=True)
    rows = x[:2].copy()
    rows[1, 3] = np.nan
    _, p = answers(LinearDiscriminantAnalysis().fit(x, y).to_onnx(), rows)
    assert np.isfinite(p[0]).all()
    assert np.isnan(p[1]).all()


def test_numbers_may_be_float32():
    clf = GaussianNB().fit(REALS, LABELS)
    _, p = answers(clf.to_onnx(dtype="float32"), REALS.astype(np.float32))
    assert p.dtype == np.float32
    assert_allclose(p, clf.predict_proba(REALS), atol=1e-5)


def test_columns_with_names_have_inputs_and_a_matrix_can_be_asked_for():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(REALS, columns=NAMES)
    clf = GaussianNB().fit(table, LABELS)
    assert [each.name for each in clf.to_onnx().graph.input] == NAMES
    expected = clf.predict_proba(table)
    assert_allclose(answers(clf.to_onnx(), {name: table[name].tolist() for name in NAMES})[1], expected, **CLOSE)
    assert_allclose(answers(clf.to_onnx(inputs="matrix"), REALS)[1], expected, **CLOSE)
    assert [each.name for each in GaussianNB().fit(REALS, LABELS).to_onnx(inputs="columns").graph.input] == [
        "x0",
        "x1",
        "x2",
    ]


# ---- tables


def test_columns_that_are_called_like_outputs_have_inputs():
    clf = sf.BayesClassifier().fit({"label": REALS[:, 0], "probabilities": REALS[:, 1], "label1": REALS[:, 2]}, LABELS)
    session = onnxruntime.InferenceSession(clf.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    assert [each.name for each in session.get_outputs()] == ["label2", "probabilities1"]
    rows = {"label": REALS[:20, :1], "probabilities": REALS[:20, 1:2], "label1": REALS[:20, 2:3]}
    _, p = session.run(None, rows)
    assert_allclose(p, clf.predict_proba({name: x[:, 0] for name, x in rows.items()}), **CLOSE)


def test_a_matrix_has_the_columns_that_are_left_out_too():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    x[:, 1] = np.nan
    x += y[:, None]
    with pytest.warns(LeftOutWarning, match="x1"):
        clf = sf.BayesClassifier().fit(x, y)
    assert "x1" not in clf._predictor().columns
    check(clf, x)


@pytest.mark.parametrize("structure", ["naive", "auto"])
def test_parts_of_dates_have_inputs_that_say_what_they_are(structure):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    days = np.datetime64("2019-11-20") + rng.integers(0, 900, 400) + 150 * y
    seconds = rng.exponential(1000 * (1 + y)).astype("timedelta64[s]")
    table = {"on": days, "took": seconds, "paid": [f"${v:.2f}" for v in rng.normal(size=400) + y]}
    clf = sf.BayesClassifier(structure=structure).fit(table, y)
    model = clf.to_onnx()
    said = {each.name: each.doc_string for each in model.graph.input}
    assert said["on year"] == "the year, read from dates"
    assert said["on days"] == "days since 2000-01-01, read from dates"
    assert said["took"] == "a duration in seconds"
    assert said["paid"] == "strings read as numbers"
    parts = {
        "on year": days.astype("datetime64[Y]").astype(int) + 1970,
        "on month": days.astype("datetime64[M]").astype(int) % 12 + 1,
        "on weekday": (days.astype(int) + 3) % 7,
        "on days": (days - np.datetime64("2000-01-01")).astype(float),
        "took": seconds.astype(float),
        "paid": [float(text[1:]) for text in table["paid"]],
    }
    assert_allclose(answers(model, parts)[1], clf.predict_proba(table), **CLOSE)


@pytest.mark.parametrize("missing", ["ignore", "informative"])
@pytest.mark.parametrize("structure", ["naive", "pairs"])
def test_columns_of_all_kinds_with_gaps_and_unseen_categories(structure, missing):
    table, y = table_of_all_kinds()
    families = {"class number": sf.Categorical()}
    clf = sf.BayesClassifier(families, structure=structure, missing=missing).fit(table, y)
    asked = {name: [*values[:40], None] for name, values in table.items()}
    asked["kind"][0] = "unseen"
    asked["class number"][1] = 99
    model = check(clf, asked)
    types = {each.name: each.type.tensor_type.elem_type for each in model.graph.input}
    assert list(types) == list(table)
    assert types["kind"] == types["noise"] == onnx.TensorProto.STRING
    assert types["flag"] == types["class number"] == types["height"] == onnx.TensorProto.DOUBLE


def test_blocks_of_several_columns():
    table, y = table_of_all_kinds(120)
    table = {name: table[name] for name in ("height", "count", "kind", "noise")}
    families = {("height", "count"): sf.MultivariateGaussian(), ("kind", "noise"): sf.JointCategorical()}
    check(sf.BayesClassifier(families, structure="naive").fit(table, y), table)


def test_an_empty_string_is_missing_unless_the_model_knows_it():
    values, y = ["a", "b", None, "b", "a", "a"] * 5, [0, 1, 1, 1, 0, 0] * 5
    clf = sf.BayesClassifier({"k": sf.Categorical()}, calibrate=False).fit({"k": values}, y)
    assert_allclose(answers(clf.to_onnx(), {"k": [""]})[1], clf.predict_proba({"k": [None]}), **CLOSE)
    values = ["a", "b", "", "b", "a", "a"] * 5
    clf = sf.BayesClassifier({"k": sf.Categorical()}, calibrate=False).fit({"k": values}, y)
    assert_allclose(answers(clf.to_onnx(), {"k": [""]})[1], clf.predict_proba({"k": [""]}), **CLOSE)


def test_a_model_in_which_no_column_votes_gives_the_prior():
    rng = np.random.default_rng(0)
    clf = sf.BayesClassifier(structure="naive").fit({"noise": rng.normal(size=300).tolist()}, np.arange(300) % 3 // 2)
    check(clf, {"noise": [1.0, None]})


@pytest.mark.parametrize("structure", ["auto", "pairs", "naive"])
def test_adult_with_gaps_and_unseen_categories(data_dir, structure):
    train = pq.read_table(data_dir / "adult-train.parquet")
    test = pq.read_table(data_dir / "adult-test.parquet").slice(0, 2000).drop_columns("income").to_pydict()
    rng = np.random.default_rng(0)
    for values in test.values():
        text = any(isinstance(value, str) for value in values)
        for i in rng.choice(2000, 100, replace=False):
            values[i] = None
        for i in rng.choice(2000, 50, replace=False) if text else ():
            values[i] = "never seen"
    clf = sf.BayesClassifier(structure=structure).fit(train, "income")
    model = check(clf, test)
    assert model.ByteSize() < 2_000_000
    assert len(model.graph.node) < 600


@pytest.mark.parametrize("estimator", [MultinomialNB(), ComplementNB(), BernoulliNB()])
def test_counts_of_the_words_of_messages(data_dir, estimator):
    messages = pq.read_table(data_dir / "sms-spam.parquet").to_pydict()
    texts, labels = (messages[name] for name in ("text", "label"))
    counts = sf.BagOfWords().fit_transform(texts)
    check(estimator.fit(counts, labels), counts[:300].toarray().astype(np.float64))


# ---- texts


MESSAGES = [
    "Hello, it's 10 o'clock: café, naïve, déjà-vu",
    "WIN a FREE prize!!! Call 09061701461 now, call NOW",
    "ÉTÉ été Été; L'ÎLE, l'île; ÇA VA? ÄÖÜ ẞ ß",
    "ок, ПРИВЕТ привет Привет",
    "😀😀 party @8pm 🎉 tonight_or_never",
    "ΟΔΥΣΣΕΥΣ ΚΑΙ ΣΙΣΥΦΟΣ. Οδυσσεύς",
    "İSTANBUL'DA, Bİ xİy",
    "a b c ? !",
    "free free free unknown",
    "tabs\tand\nlines and\u2028more; \uff41\uff42 \uff21\uff22 中文 ǅa ǆA",
    "x" * 300 + " É" * 3 + "É" * 200,
    "",
]
LETTERS = "abAB19_ '.-éÉßẞσΣςİı😀\u0301\u00ad\u02b0ⒶДд中\n"
SIGMAS = ["Κ.Σ.", "Σ'Α ΑΣ'Α", "ⒶΣΑ ΑΣⒶ", "ΑΣ\u0301Α ΑΣ\u0301", "ΣΣ ΑΣΣ", "Α'Σ'Σ 'Σ'", "ΑΣ\n'Α", "Σ", "ΙΣ."]


def messages(n, seed=0):
    """Write texts of the words of MESSAGES, and labels that mostly say which of them are free."""
    rng = np.random.default_rng(seed)
    words = np.array(" ".join(MESSAGES).split(" "), dtype=object)
    texts = [" ".join(rng.choice(words, rng.integers(12))) for _ in range(n)]
    return texts, np.array(["spam" if ("free" in text) != (rng.random() < 0.1) else "ham" for text in texts])


def check_texts(clf, texts):
    """Compare labels and probabilities of texts with those of the classifier."""
    model = clf.to_onnx()
    onnx.checker.check_model(model, full_check=True)
    labels, p = answers(model, {"x0": texts})
    assert_allclose(p, clf.predict_proba(texts), **CLOSE)
    assert_array_equal(labels, clf.predict(texts))
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"calibrate": "classes"},
        {"event": "multinomial", "ngrams": (1, 1), "smoothing": 1.0, "calibrate": False},
        {"event": "multinomial", "ngrams": (2, 3), "smoothing": 0.5, "term_weight": "log", "length_norm": "l1"},
        {"event": "multinomial", "ngrams": (1, 2), "smoothing": 0.5, "term_weight": "log", "length_norm": "l2"},
        {"event": "complement", "ngrams": (1, 3), "smoothing": 0.5, "term_weight": "binary", "length_norm": "l2"},
        {"event": "bernoulli", "smoothing": 1.0},
        {"lowercase": False},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii", "stop_words": ["aa", "été"]},
        {"strip_accents": "unicode", "lowercase": False},
        {"stop_words": ["free", "été", "àσà"]},
        {"stop_words": "english", "calibrate": False},
    ],
    ids=str,
)
def test_texts_are_cut_weighed_and_scored_as_in_the_library(options):
    texts, y = messages(200)
    model = check_texts(sf.TextClassifier(**options).fit(texts, y), MESSAGES + SIGMAS + messages(50, seed=1)[0])
    assert "com.microsoft.Tokenizer" in model.doc_string
    assert {each.domain for each in model.opset_import} == {"", "ai.onnx.ml", "com.microsoft"}


def test_each_text_has_the_answer_that_it_has_alone():
    texts, y = messages(200)
    clf = sf.TextClassifier().fit(texts, y)
    session = onnxruntime.InferenceSession(clf.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    for text in MESSAGES + SIGMAS:
        (p,) = session.run(["probabilities"], {"x0": [[text]]})
        assert_allclose(p, clf.predict_proba([text]), **CLOSE)
    empty = np.empty((0, 1), dtype=object)
    assert [each.shape for each in session.run(None, {"x0": empty})] == [(0,), (0, 2)]


@given(st.lists(st.one_of(st.text(LETTERS), st.text("ΑΣσς'.\u0301Ⓐ "), st.text()), min_size=1, max_size=5))
@pytest.mark.parametrize("accents", [None, "ascii", "unicode"])
def test_any_text_has_the_probabilities_of_the_library(accents, texts):
    clf, session = _of_letters(accents)
    (p,) = session.run(["probabilities"], {"x0": np.array(texts, dtype=object)[:, None]})
    assert_allclose(p, clf.predict_proba(texts), **CLOSE)


@cache
def _of_letters(accents):
    """A classifier that knows many short words of LETTERS, and a session of its model."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list(LETTERS + "ΑΣ'"), 60)) for _ in range(200)]
    clf = sf.TextClassifier(calibrate=False, strip_accents=accents).fit(texts, np.arange(200) % 2)
    return clf, onnxruntime.InferenceSession(clf.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("accents", [None, "unicode"])
def test_every_character_is_read_as_in_the_library(accents):
    every = [chr(c) for c in range(0x110000) if c not in range(0xD800, 0xE000)]
    texts = [" ".join(f"{c}{c}q {c}q" for c in every[lo : lo + 8]) for lo in range(0, len(every), 8)]
    clf = sf.TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=1.0, calibrate=False, strip_accents=accents)
    clf.fit([text.lower() for text in texts], np.arange(len(texts)) % 7)
    assert_allclose(answers(clf.to_onnx(), {"x0": texts})[1], clf.predict_proba(texts), **CLOSE)


@pytest.mark.parametrize("structure", ["naive", "columns", "pairs", "auto"])
def test_columns_of_texts_beside_others(structure):
    notes, y = messages(200)
    rng = np.random.default_rng(0)
    table = {
        "note": [note or None for note in notes],
        "size": [None if i % 9 == 0 else float(x) for i, x in enumerate(rng.normal(size=200) + (y == "spam"))],
        "kind": rng.choice(["a", "b"], 200).tolist(),
    }
    clf = sf.BayesClassifier({"note": sf.Text(ngrams=(1, 2), event="auto")}, structure=structure).fit(table, y)
    check(clf, table)


def test_a_column_of_texts_without_words_says_nothing():
    table = {"note": ["? !", "a", "b ..", ""] * 10, "size": np.random.default_rng(0).normal(size=40).tolist()}
    clf = sf.BayesClassifier({"note": sf.Text(ngrams=(1, 2))}, structure="naive").fit(table, [0, 1] * 20)
    check(clf, {"note": ["words", "", "!"], "size": [0.0, None, 1.0]})


def test_accents_are_those_of_the_compiled_part_which_may_know_another_unicode_than_python(monkeypatch):
    clf = sf.TextClassifier(strip_accents="unicode").fit(*messages(100))
    expected = clf.predict_proba(MESSAGES)
    monkeypatch.setattr("unicodedata.normalize", lambda _, text: text)
    assert_allclose(answers(clf.to_onnx(), {"x0": MESSAGES})[1], expected, **CLOSE)


def test_texts_that_cannot_be_cut_by_operators_are_refused_by_name(monkeypatch):
    texts, y = messages(50)
    for options, said in {
        "stem": ("english", "stems"),
        "n_features": (64, "do not hash"),
        "analyzer": ("char", "n-grams of characters"),
    }.items():
        clf = sf.TextClassifier(**{options: said[0]}).fit(texts, y)
        with pytest.raises(NoFormulaError, match=f"Column 'x0' holds texts.*{said[1]}"):
            clf.to_onnx()
    with pytest.raises(NoFormulaError, match=r"\['x0'\] hold strings"):
        sf.TextClassifier().fit(texts, y).to_onnx(inputs="matrix")
    monkeypatch.setattr("suffice.engines.onnx.word_operators.MOST_BYTES", 100)
    with pytest.raises(NoFormulaError, match=r"words and phrases would take .* Fit with ngrams=\(1, 1\)"):
        sf.TextClassifier().fit(texts, y).to_onnx()


def test_sms_messages(data_dir):
    found = pq.read_table(data_dir / "sms-spam.parquet").to_pydict()
    texts, y = found["text"], found["label"]
    model = check_texts(sf.TextClassifier().fit(texts[::2], y[::2]), texts)
    assert model.ByteSize() < 1_500_000
    assert len(model.graph.node) < 300


# ---- pipelines


@pytest.mark.parametrize(("estimator", "x"), ESTIMATORS, ids=lambda value: type(value).__name__)
def test_skl2onnx_converts_pipelines(estimator, x):
    suffice.onnx.register_converters()
    numbers = np.searchsorted(["a", "b", "c"], LABELS)
    for labels in (LABELS, numbers, numbers.astype(float), LABELS == "b"):
        pipeline = make_pipeline(FunctionTransformer(), estimator).fit(x, labels)
        for dtype, near in ((np.float64, 1e-9), (np.float32, 1e-5)):
            model = skl2onnx.to_onnx(pipeline, x[:1].astype(dtype), options={"zipmap": False})
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            found, p = session.run(None, {"X": x.astype(dtype)})
            assert p.dtype == dtype
            assert_allclose(p, pipeline.predict_proba(x.astype(dtype)), rtol=0, atol=near)
            assert_array_equal(found, pipeline.predict(x.astype(dtype)))


def test_a_step_of_a_pipeline_has_dictionaries_of_probabilities_if_asked():
    suffice.onnx.register_converters()
    pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(REALS, LABELS)
    rows = REALS.astype(np.float32)
    model = skl2onnx.to_onnx(pipeline, rows[:1])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    _, p = session.run(None, {"X": rows[:1]})
    assert p[0] == pytest.approx(dict(zip("abc", pipeline.predict_proba(rows[:1])[0], strict=True)), abs=1e-5)


def test_labels_of_a_step_are_positions_if_asked():
    suffice.onnx.register_converters()
    clf = GaussianNB().fit(REALS, LABELS)
    model = skl2onnx.to_onnx(clf, REALS[:1], options={id(clf): {"zipmap": False, "nocl": True}})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert_array_equal(session.run(["label"], {"X": REALS})[0], clf.predict_proba(REALS).argmax(axis=1))


def test_skl2onnx_converts_classifiers_of_texts():
    suffice.onnx.register_converters()
    pipeline = make_pipeline(sf.TextClassifier()).fit(*messages(100))
    text = [("text", StringTensorType([None, 1]))]
    model = skl2onnx.to_onnx(pipeline, initial_types=text, options={"zipmap": False})
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    labels, p = session.run(None, {"text": np.array(MESSAGES, dtype=object)[:, None]})
    assert_allclose(p, pipeline.predict_proba(MESSAGES), rtol=0, atol=1e-5)
    assert_array_equal(labels, pipeline.predict(MESSAGES))


@pytest.mark.parametrize("structure", ["naive", "auto"])
def test_skl2onnx_converts_classifiers_of_tables_with_an_input_for_each_column(structure):
    suffice.onnx.register_converters()
    table = {"size": REALS[:, 0], "count": COUNTS[:, 0].astype(np.int64), "kind": np.where(REALS[:, 1] > 0, "a", "b")}
    clf = sf.BayesClassifier(structure=structure).fit(table, LABELS)
    kinds = {"size": DoubleTensorType, "count": Int64TensorType, "kind": StringTensorType}
    inputs = [(name, kind([None, 1])) for name, kind in kinds.items()]
    model = skl2onnx.to_onnx(make_pipeline(clf), initial_types=inputs, options={"zipmap": False})
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {name: np.asarray(x, dtype=object if name == "kind" else None)[:, None] for name, x in table.items()}
    labels, p = session.run(None, feed)
    assert_allclose(p, clf.predict_proba(table), **CLOSE)
    assert_array_equal(labels, clf.predict(table))
    with pytest.raises(InvalidDataError, match="a column of strings called 'kind', found none among"):
        skl2onnx.to_onnx(clf, initial_types=inputs[:2])
    with pytest.raises(InvalidDataError, match="a column of numbers called 'size', found StringTensorType"):
        skl2onnx.to_onnx(clf, initial_types=[("size", StringTensorType([None, 1])), *inputs[1:]])


@pytest.mark.parametrize(
    "bag",
    [
        sf.BagOfWords(),
        sf.BagOfWords(ngram_range=(1, 2), weight="log", norm="l2", use_idf=True, min_df=2, stop_words=["free"]),
        sf.BagOfWords(ngram_range=(1, 2), binary=True, vocabulary=["free", "now call", "été", "never", "a b c"]),
        sf.BagOfWords(lowercase=False, norm="l1"),
    ],
    ids=["counts", "weights", "a vocabulary", "as they are"],
)
@pytest.mark.parametrize("estimator", [MultinomialNB(), LogisticRegression()], ids=["ours", "of scikit-learn"])
def test_skl2onnx_converts_bags_of_words(bag, estimator):
    suffice.onnx.register_converters()
    pipeline = make_pipeline(bag, estimator).fit(*messages(100))
    text = [("text", StringTensorType([None, 1]))]
    model = skl2onnx.to_onnx(pipeline, initial_types=text, options={"zipmap": False})
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    asked = MESSAGES + SIGMAS
    _, p = session.run(None, {"text": np.array(asked, dtype=object)[:, None]})
    assert_allclose(p, pipeline.predict_proba(asked), rtol=0, atol=1e-5)


def test_bags_of_words_that_no_operators_can_read_are_refused_by_name():
    suffice.onnx.register_converters()
    text = [("text", StringTensorType([None, 1]))]
    for options, said in [
        ({"tokenizer": str.split, "token_pattern": None}, "leave out token_pattern, tokenizer"),
        ({"stem": str.upper}, "leave out stem"),
        ({"token_pattern": r"[a-z]+"}, "leave out token_pattern"),
        ({"analyzer": "char"}, "The input of BagOfWords holds texts.*n-grams of characters"),
        ({"n_features": 64}, "no vocabulary"),
    ]:
        bag = sf.BagOfWords(**options).fit(MESSAGES)
        with pytest.raises(NoFormulaError, match=said):
            skl2onnx.to_onnx(bag, initial_types=text)
    with pytest.raises(InvalidDataError, match="one column of strings"):
        skl2onnx.to_onnx(sf.BagOfWords().fit(MESSAGES), np.zeros((1, 1)))


def test_cosines_of_a_pool():
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=(2000, 3)), rng.choice(["a", "b", "c"], 2000)
    y = ((x > 0).sum(axis=1) + (k == "b")) % 2  # all columns together tell the class
    clf = sf.BayesClassifier().fit(table := {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "k": k}, y)
    assert "CosineExpert" in [type(each).__name__ for each in clf.calibration_.experts]
    some = {name: values[:500].tolist() for name, values in table.items()}
    some["a"][3] = some["b"][3] = None
    some["k"][:2] = [None, "unknown"]
    _, p = answers(clf.to_onnx(), some)
    assert_allclose(p, clf.predict_proba(some), rtol=0, atol=2e-5)  # kernels compute cosines in float32


# ---- what is refused


def test_what_cannot_be_expressed_is_refused_by_name():
    clf = sf.BayesClassifier({"k": sf.Categorical()}, calibrate=False)
    with pytest.raises(NoFormulaError, match="'k' has the category 9007199254740993"):
        clf.fit({"k": [2**53 + 1, 1] * 9}, [0, 1] * 9).to_onnx()
    clf.fit({"k": ["a", "b"] * 9}, [0, 1] * 9)
    with pytest.raises(NoFormulaError, match=r"\['k'\] hold strings"):
        clf.to_onnx(inputs="matrix")
    with pytest.raises(InvalidDataError, match="rename it"):
        sf.BayesClassifier(calibrate=False).fit({"": REALS[:, 0]}, LABELS).to_onnx()
    days = (np.arange(len(LABELS)) * 17 % 97).astype("datetime64[D]")
    with pytest.raises(NoFormulaError, match=r"'on' holds dates.*inputs='columns'"):
        sf.BayesClassifier(structure="naive").fit({"on": days}, LABELS).to_onnx(inputs="matrix")
    with pytest.raises(InvalidOptionError, match="inputs must be"):
        clf.to_onnx(inputs="rows")
    with pytest.raises(InvalidOptionError, match="dtype must be"):
        clf.to_onnx(dtype="float16")


def test_without_onnx_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in [name for name in sys.modules if name.startswith("suffice.engines.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(f"suffice.engines.onnx.{name.rpartition('.')[2]}", raising=False)
    clf = GaussianNB().fit(REALS, LABELS)
    with pytest.raises(MissingPackageError, match=r"pip install 'suffice\[onnx\]'"):
        clf.to_onnx()


def test_the_command_line_writes_a_model_of_texts(tmp_path):
    texts, y = messages(50)
    sf.TextClassifier().fit(texts, y).save(tmp_path / "m.suffice")
    command = [sys.executable, "-m", "suffice", "export", str(tmp_path / "m.suffice"), "-o", str(tmp_path / "m.onnx")]
    subprocess.run(command, capture_output=True, text=True, check=True)
    expected = sf.load(tmp_path / "m.suffice").predict_proba(MESSAGES)
    assert_allclose(answers(onnx.load(tmp_path / "m.onnx"), {"x0": MESSAGES})[1], expected, **CLOSE)


def test_the_command_line_writes_a_model(tmp_path):
    table, y = table_of_all_kinds()
    sf.BayesClassifier(structure="naive").fit(table, y).save(tmp_path / "m.suffice")
    command = [sys.executable, "-m", "suffice", "export", str(tmp_path / "m.suffice"), "-o", str(tmp_path / "m.onnx")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "m.onnx" in said
    assert "6 inputs: height" in said
    asked = {name: values[:20] for name, values in table.items()}
    expected = sf.load(tmp_path / "m.suffice").predict_proba(asked)
    assert_allclose(answers(onnx.load(tmp_path / "m.onnx"), asked)[1], expected, **CLOSE)
