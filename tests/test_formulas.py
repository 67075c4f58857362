"""Formulas: what a database or a web page computes is what the library computes."""

import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from family_cases import COUNTS, FAMILIES, LABELS, NAMES, REALS, RNG, ROWS, SHIFT, TIMES, TRUTHS, with_gaps
from suffice.core.errors import InvalidDataError, NoFormulaError
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.families.choose import Automatic
from suffice.formulas import (
    Among,
    Below,
    Bumps,
    Column,
    Combinations,
    Constant,
    Cosines,
    Exp,
    Fraction,
    Linear,
    Log,
    Log1p,
    LogGamma,
    LogSumExp,
    Lookup,
    Missing,
    Square,
    Steps,
    Term,
    Unknown,
    Where,
    by_observed,
    unless_missing,
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


def by_name(x, names=NAMES):
    return {name: x[:, j] for j, name in enumerate(names)}


def total(terms, x, classes=3, names=NAMES):
    return sum(np.broadcast_to(t.formula.evaluate(by_name(x, names)), (len(x), classes)) for t in terms)


@pytest.mark.parametrize("which", FAMILIES)
@pytest.mark.parametrize("complete", [True, False], ids=["complete", "with gaps"])
def test_the_formula_of_every_family_is_its_log_density(which, complete):
    family, x = FAMILIES[which]
    fitted = family.estimate(family.summarize(x, LABELS).statistic)
    asked = x if complete else with_gaps(x)
    expected = fitted.log_density(fitted.read(asked))
    assert_allclose(total(fitted.formula(NAMES), asked), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("which", ["gaussian", "student", "bins", "mixture", "kernel", "quadratic", "bernoulli"])
def test_values_far_out_have_the_same_density_too(which):
    family, x = FAMILIES[which]
    fitted = family.estimate(family.summarize(x, LABELS).statistic)
    asked = np.array([[1e3, -50.0, 7.0], [-1e4, 0.0, np.nan]])
    assert_allclose(total(fitted.formula(NAMES), asked), fitted.log_density(asked), rtol=1e-9)


@pytest.mark.parametrize("size", [2, 4])
def test_tied_gaussians_agree_up_to_what_all_classes_share_whatever_is_missing(size):
    x, names = RNG.normal(SHIFT + np.arange(size)), list("abcd")[:size]
    family = sf.MultivariateGaussian(tied=True)
    fitted = family.estimate(family.summarize(x, LABELS).statistic)
    asked = x.copy()
    for i in range(ROWS):
        asked[i, [j for j in range(size) if (i >> j) & 1]] = np.nan
    difference = total(fitted.formula(names), asked, 3, names) - fitted.log_density(asked)
    assert_allclose(difference, np.repeat(difference[:, :1], 3, axis=1), atol=1e-9)


def test_a_gap_in_a_large_block_leaves_a_complete_rows_value_and_no_other():
    x, names = RNG.normal(SHIFT + np.arange(5)), list("abcde")
    family = sf.MultivariateGaussian()
    fitted = family.estimate(family.summarize(x, LABELS).statistic)
    asked = x[:2].copy()
    asked[1, 3] = np.nan
    found = total(fitted.formula(names), asked, 3, names)
    assert_allclose(found[0], fitted.log_density(x[:1])[0], rtol=1e-9)
    assert np.isnan(found[1]).all()


def test_wide_blocks_have_a_formula_where_it_is_linear_and_none_where_it_is_too_long():
    x, names = RNG.normal(SHIFT, 1.0, (ROWS, 400)), [f"x{j}" for j in range(400)]
    tied = sf.MultivariateGaussian(tied=True, shrinkage=0.5)
    fitted = tied.estimate(tied.summarize(x, LABELS).statistic)
    found = total(fitted.formula(names), x, 3, names) - fitted.relative_log_density(x)
    assert_allclose(found, np.repeat(found[:, :1], 3, axis=1), atol=1e-8)
    assert len(json.dumps(fitted.formula(names)[0].to_json())) > 400
    family = sf.MultivariateGaussian()
    fitted = family.estimate(family.summarize(x[:, :65], LABELS).statistic)
    with pytest.raises(NoFormulaError, match="65 columns has too many terms"):
        fitted.formula(names[:65])


def test_unseen_categories_and_gaps_count_as_they_do_in_the_model():
    x = np.array([["red", "s"], ["red", "l"], ["blue", "s"], ["green", "s"]] * 5, dtype=object)
    y = np.array([0, 0, 1, 1] * 5)
    asked = np.array([["red", "s"], ["pink", "s"], [None, "l"], ["blue", None], [None, None], ["pink", "xxl"]], object)
    for family in (
        sf.Categorical(),
        sf.Categorical(prior=None),
        sf.JointCategorical(),
        sf.JointCategorical(prior=None),
    ):
        fitted = family.estimate(family.summarize(x, y).statistic)
        found = total(fitted.formula(["colour", "size"]), asked, 2, ["colour", "size"])
        assert_allclose(found, fitted.log_density(fitted.read(asked)), rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "impossible"),
    [
        (sf.LogNormal(), 0.0),
        (sf.LogNormal(), -1.0),
        (sf.Exponential(), -1.0),
        (sf.Exponential(learn="predictive"), -1.0),
        (sf.Poisson(), -1.0),
        (sf.Poisson(learn="predictive"), -1.0),
        (sf.Geometric(), -1.0),
        (sf.Geometric(), 0.5),
        (sf.Geometric(learn="predictive"), 1.5),
    ],
)
def test_what_a_family_refuses_to_read_is_impossible_in_its_formula(family, impossible):
    fitted = family.estimate(family.summarize(COUNTS[:, :1] + 1.0, LABELS).statistic)
    assert np.isneginf(total(fitted.formula(["x"]), np.array([[impossible]]), 3, ["x"])).all()


@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_a_column_that_chose_its_family_has_the_formula_of_that(smoothing):
    family = Automatic(smoothing)
    for x in (REALS[:, :1], COUNTS[:, :1], np.round(TIMES[:, :1], 1)):
        fitted = family.estimate(family.summarize(x, LABELS).statistic)
        asked = np.concatenate([x, [[np.nan], [3.25], [99.0]]])
        assert_allclose(total(fitted.formula(["x"]), asked, 3, ["x"]), fitted.relative_log_density(asked), atol=1e-9)


def test_a_point_mass_is_so_thin_that_distances_end():
    x = np.column_stack([np.zeros(ROWS), REALS[:, 0]])
    clf = KernelNB().fit(x, LABELS)
    asked = np.array([[1e6, 1.0], [0.0, 2.0]])
    assert_allclose(clf.formula().posterior(by_name(asked, ["x0", "x1"])), clf.predict_proba(asked), atol=1e-9)


def test_compact_kernels_have_no_formula_and_say_so():
    family = sf.Kernel("epanechnikov")
    fitted = family.estimate(family.summarize(REALS, LABELS).statistic)
    with pytest.raises(NoFormulaError, match="epanechnikov kernel ends"):
        fitted.formula(NAMES)


def test_a_kernel_over_too_many_points_has_no_formula():
    x = np.arange(20_001.0)[:, None]
    family = sf.Kernel(bandwidth=1.0, limit=None)
    fitted = family.estimate(family.summarize(x, np.zeros(len(x), int)).statistic)
    with pytest.raises(NoFormulaError, match="'x' has a kernel over 20001 points"):
        fitted.formula(["x"])


def test_the_formula_of_texts_sums_over_their_words():
    texts, y = ["good film", "bad film", "good good actors", "", "bad, bad"] * 3, ["+", "-", "+", "-", "-"] * 3
    for options in ({}, {"event": "bernoulli", "smoothing": 1.0}, {"event": "complement", "smoothing": 0.5}):
        clf = sf.TextClassifier(**options).fit(texts, y)
        asked = ["a good film", "unknown words", "", None]
        found = clf.formula().posterior({"x0": asked})
        assert_allclose(found, clf.predict_proba(asked), rtol=1e-12)
        written = json.loads(json.dumps(clf.formula().to_json()))["terms"][0]["formula"]
        assert written["words"] == list(clf.vocabulary_)
        assert len(written["coef"]) == len(written["codes"]) == written["start"][-1]


@pytest.mark.parametrize(
    "options", [{"learn": "predictive", "smoothing": 1.0, "calibrate": False}, {"smoothing": 0, "calibrate": False}]
)
def test_texts_whose_scores_are_no_sums_over_words_have_no_formula(options):
    clf = sf.TextClassifier(event="multinomial", **options).fit(["good film", "bad film"] * 3, ["+", "-"] * 3)
    with pytest.raises(NoFormulaError, match="another learn or smoothing"):
        clf.formula()


# ------------------------------------------------------------------------------------------ whole estimators


@pytest.mark.parametrize(
    ("estimator", "x"),
    [
        (GaussianNB(), REALS),
        (KernelNB(), REALS),
        (MixtureNB(max_iter=500), REALS),
        (PoissonNB(), COUNTS),
        (MultinomialNB(), COUNTS),
        (ComplementNB(), COUNTS),
        (BernoulliNB(), TRUTHS),
        (CategoricalNB(), COUNTS.astype(int)),
        (LinearDiscriminantAnalysis(), REALS),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), REALS),
        (LinearDiscriminantAnalysis(), REALS + 1e7),
        (QuadraticDiscriminantAnalysis(), REALS),
    ],
    ids=repr,
)
def test_the_scoring_of_every_estimator_is_predict_proba(estimator, x):
    estimator.fit(x, LABELS)
    names = [f"x{j}" for j in range(3)]
    scoring = estimator.formula()
    assert_array_equal(scoring.labels, estimator.classes_)
    assert_allclose(scoring.posterior(by_name(x, names)), estimator.predict_proba(x), atol=1e-9)
    if x.dtype.kind == "f" and not isinstance(estimator, (MultinomialNB, BernoulliNB)):
        asked = with_gaps(x)
        assert_allclose(scoring.posterior(by_name(asked, names)), estimator.predict_proba(asked), atol=1e-9)


def a_table(n=240):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    table = {
        "age": np.round(rng.normal(30 + 8 * y, 9)),
        "height": rng.normal(1.7 + 0.05 * y, 0.1),
        "visits": rng.poisson(1 + y).astype(float),
        "noise": rng.normal(size=n),
        "colour": np.array(["red", "blue", "green"], object)[(y + (rng.random(n) < 0.3)) % 3],
        "member": rng.random(n) < 0.2 + 0.3 * y,
        "a": rng.normal(y),
        "b": rng.normal(-y),
    }
    table["b"] += table["a"]
    for j, name in enumerate(("age", "colour", "height")):
        column = table[name].astype(object)
        column[j :: 7 + j] = None
        table[name] = column
    return table, np.array(["low", "mid", "top"])[y]


@pytest.mark.parametrize(
    "options",
    [
        {"structure": "pairs"},
        {"structure": "naive"},
        {"calibrate": "columns"},
        {"calibrate": False},
        {"calibrate": "classes"},
        {"missing": "informative", "structure": "pairs"},
    ],
    ids=repr,
)
def test_the_scoring_of_a_table_is_predict_proba(options):
    table, y = a_table()
    families = {("a", "b"): sf.MultivariateGaussian(), "visits": sf.Poisson()}
    clf = sf.BayesClassifier(families, **options).fit({k: list(v) for k, v in table.items()}, y)
    scoring = clf.formula()
    table["a"] = np.array([None if i % 5 == 0 else a for i, a in enumerate(table["a"])], dtype=object)
    assert_allclose(scoring.posterior(table), clf.predict_proba({k: list(v) for k, v in table.items()}), atol=1e-9)
    strange = {name: [None] for name in table} | {"colour": ["mauve"], "age": [1e6]}
    assert_allclose(scoring.posterior(strange), clf.predict_proba(strange), atol=1e-9)


def test_the_terms_are_the_evidence_of_the_columns():
    table, y = a_table()
    clf = sf.BayesClassifier({("a", "b"): sf.MultivariateGaussian()}, structure="pairs")
    clf.fit({k: list(v) for k, v in table.items()}, y)
    told = clf.evidence({k: list(v[:20]) for k, v in table.items()}, "top", "low")
    for term in clf.formula().terms:
        said = term.formula.evaluate({k: v[:20] for k, v in table.items()})
        assert_allclose(said[:, 2] - said[:, 0], told[term.title], atol=1e-9)


def test_rows_impossible_under_every_class_get_the_prior_as_in_the_model():
    x, y = np.array([["a"], ["a"], ["b"]], dtype=object), np.array([0, 0, 1])
    clf = sf.BayesClassifier({"x": sf.Categorical(prior=None)}, calibrate=False).fit({"x": x[:, 0]}, y)
    with pytest.warns(sf.ImpossibleRowWarning):
        expected = clf.predict_proba({"x": ["c"]})
    assert_allclose(clf.formula().posterior({"x": ["c"]}), expected)


def test_an_error_names_every_block_without_a_formula():
    rng = np.random.default_rng(1)
    table = {"x": rng.normal(size=60), "z": rng.normal(size=60), "note": ["some words"] * 60}
    families = {"x": sf.Kernel("cosine"), "z": sf.Gaussian(), "note": sf.Text(learn="predictive")}
    clf = sf.BayesClassifier(families, structure="naive").fit(table, ["a", "b"] * 30)
    with pytest.raises(NoFormulaError, match=r"'x': The cosine kernel.*'note': Text"):
        clf.formula()


# ------------------------------------------------------------------------------------------ the nodes


def test_every_node_does_what_it_says():
    columns = {"x": [0.5, 2.0, None], "c": ["a", "b", None], "d": ["u", "v", "u"]}
    x = Column("x")
    two = np.array([0.5, 2.0])
    for formula, expected in [
        (Exp(x), np.exp(two)),
        (Log(x), np.log(two)),
        (Log1p(x), np.log1p(two)),
        (Square(x) / 2.0 - x, two**2 / 2 - two),
        (1.0 / x, 1 / two),
        (3.0 - x, 3 - two),
        (LogGamma(x), [np.log(np.sqrt(np.pi)), 0.0]),
        (LogSumExp((x, 2.0 * x)), np.log(np.exp(two) + np.exp(2 * two))),
        (Steps("x", [0.5, 1.0], [[1.0, 2.0, 3.0]]), [1.0, 3.0]),
        (Where(Below("x", 0.5, touching=True), Constant(1.0), x), [1.0, 2.0]),
        (Where(Below("x", 0.5), Constant(1.0), x), [0.5, 2.0]),
        (Where(Fraction("x"), Constant(1.0), Constant(0.0)), [1.0, 0.0]),
        (Where(Among("c", ("b",)), Constant(1.0), Constant(0.0)), [0.0, 1.0]),
        (Lookup("c", ("b",), [[5.0]], [-1.0]), [-1.0, 5.0]),
        (Combinations(("c", "d"), (("a", "u"),), [[5.0]], [-1.0]), [5.0, -1.0]),
        (Linear(("x",), [[1.0]], [[2.0]]), 2 * (two - 1)),
        (
            Cosines((x, Lookup("c", ("b",), [[1.0]], [0.0])), [[0.1, 0.2], [0.3, 0.4]], [0.5, 0.6], [[2.0, 3.0]]),
            2 * np.cos(2 * np.pi * np.array([0.55, 1.0])) + 3 * np.cos(2 * np.pi * np.array([0.7, 1.4])),
        ),
    ]:
        assert_allclose(formula.evaluate(columns)[:2, 0], expected, err_msg=repr(formula))
    assert_array_equal(unless_missing("x", x).evaluate(columns)[:, 0], [0.5, 2.0, 0.0])
    assert_array_equal(Where(Missing("c"), Constant(1.0), Constant(0.0)).evaluate(columns)[:, 0], [0, 0, 1])
    assert np.isnan(Unknown().evaluate(columns)).all()


@given(st.lists(st.floats(-40, 40), min_size=1, max_size=5), st.floats(-60, 60))
def test_bumps_are_what_they_are_spelled_out_as(centres, x):
    bumps = Bumps("x", [centres], np.full((1, len(centres)), 0.7), np.full((1, len(centres)), -1.0))
    expected = np.logaddexp.reduce(-1.0 - 0.5 * ((x - np.array(centres)) / 0.7) ** 2)
    assert_allclose(bumps.evaluate({"x": [x]})[0, 0], expected, rtol=1e-12, atol=1e-12)
    assert_allclose(bumps.spelled_out().evaluate({"x": [x]})[0, 0], expected, rtol=1e-12, atol=1e-12)


def test_student_and_gaussian_formulas_are_those_of_scipy():
    family = sf.Gaussian(learn="predictive")
    fitted = family.estimate(family.summarize(REALS[:, :1], LABELS).statistic)
    found = total(fitted.formula(["x"]), np.array([[1.5]]), 3, ["x"])[0]
    scale = np.sqrt(fitted.spread[:, 0])
    assert_allclose(found, scipy.stats.t.logpdf(1.5, fitted.freedom[:, 0], fitted.mean[:, 0], scale), rtol=1e-12)


def test_text_where_a_number_should_be_is_refused():
    with pytest.raises(InvalidDataError, match="Column 'x' holds a value that is not a number"):
        Column("x").evaluate({"x": ["a"]})


def test_formulas_know_what_they_read():
    formula = Lookup("c", ("a",), [[0.0]], [0.0]) + Where(Missing("gone"), Constant(0.0), Column("x"))
    assert formula.reads() == {"c": "category", "x": "number"}


def test_a_pattern_of_gaps_has_a_formula_of_its_own():
    formula = by_observed(["a", "b"], lambda seen: Constant(float(sum(1 << j for j in seen))))
    assert_array_equal(formula.evaluate({"a": [1, None, 1, None], "b": [1, 1, None, None]})[:, 0], [3, 2, 1, 0])


def test_json_holds_everything_and_infinity_as_a_string():
    table, y = a_table(90)
    clf = sf.BayesClassifier({"colour": sf.Categorical(prior=None)}, structure="naive")
    clf.fit({k: list(v) for k, v in table.items()}, y)
    said = json.loads(json.dumps(clf.formula().to_json(), allow_nan=False))
    assert said["labels"] == ["low", "mid", "top"]
    assert {term["title"] for term in said["terms"]} == set(table)
    term = Term("x", ("x",), Constant([-np.inf, 0.0]))
    assert term.to_json()["formula"] == {"op": "constant", "values": ["-Infinity", 0.0]}
    assert Lookup("c", np.array([True]), [[0.0]], [0.0]).to_json()["keys"] == [True]


def test_columns_that_are_not_there_or_not_as_long_are_named():
    with pytest.raises(InvalidDataError, match="no column 'x'"):
        Column("x").evaluate({"z": [1.0]})
    with pytest.raises(InvalidDataError, match="the same number of rows"):
        Column("x").evaluate({"x": [1.0], "z": [1.0, 2.0]})
