"""Questions to every estimator: what speaks for a class, what is usual, what fills a gap, how good it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

import suffice as sf
from suffice.core.errors import InvalidOptionError, MismatchError, NoDistributionError, NoLinearFormError
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

RNG = np.random.default_rng(0)
Y = np.array(list("abc"))[np.arange(60) % 3]
REAL = RNG.normal(size=(60, 3)) + (np.arange(60) % 3)[:, None] * [0.0, 1.0, -1.0]
COUNTS = RNG.poisson(2.0, (60, 3)).astype(float)
TRUTHS = (RNG.random((60, 3)) < 0.4).astype(float)
CODES = RNG.integers(0, 3, (60, 3))
NAMES = np.array(["red", "green", "blue"], dtype=object)[CODES]
ESTIMATORS = [
    (GaussianNB(), REAL),
    (KernelNB(), REAL),
    (MixtureNB(components=2), REAL),
    (BernoulliNB(), TRUTHS),
    (MultinomialNB(), COUNTS),
    (ComplementNB(), COUNTS),
    (PoissonNB(), COUNTS),
    (CategoricalNB(), CODES),
    (CategoricalNB(), NAMES),
    (LinearDiscriminantAnalysis(), REAL),
]
IDS = [f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(ESTIMATORS)]


@pytest.mark.parametrize(("model", "x"), ESTIMATORS, ids=IDS)
def test_evidence_adds_up_to_the_log_odds_of_the_two_likeliest_classes(model, x):
    said = model.fit(x, Y).evidence(x)
    assert_allclose(said["prior"] + sum(said[f"x{j}"] for j in range(3)), said["log_odds"], atol=1e-9)
    best = np.sort(model.predict_log_proba(x), axis=1)
    assert_allclose(said["log_odds"], best[:, -1] - best[:, -2], atol=1e-9)
    assert_array_equal(said["label"], model.predict(x))


@pytest.mark.parametrize(("model", "x"), [ESTIMATORS[0], ESTIMATORS[3]], ids=["gaussian", "bernoulli"])
def test_a_missing_entry_says_nothing_and_classes_can_be_chosen(model, x):
    rows = x[:2].copy()
    rows[:, 1] = np.nan
    said = model.fit(x, Y).evidence(rows, label="a", against="c")
    assert_array_equal(said["x1"], 0.0)
    log_proba = model.predict_log_proba(rows)
    assert_allclose(said["log_odds"], log_proba[:, 0] - log_proba[:, 2], atol=1e-10)


def test_a_columns_evidence_is_the_ratio_of_its_densities():
    model = GaussianNB(var_smoothing=0).fit(REAL, Y)
    said = model.evidence(REAL[:5], "b", "a")
    for j in range(3):
        a, b = (norm.logpdf(REAL[:5, j], model.theta_[c, j], np.sqrt(model.var_[c, j])) for c in (0, 1))
        assert_allclose(said[f"x{j}"], b - a, rtol=1e-9)


def test_the_columns_of_a_block_do_not_speak_one_by_one():
    with pytest.raises(NoLinearFormError, match="are dependent"):
        QuadraticDiscriminantAnalysis().fit(REAL, Y).evidence(REAL)


@pytest.mark.parametrize(("model", "x"), [e for e in ESTIMATORS if not isinstance(e[0], ComplementNB)])
def test_the_score_of_a_row_is_the_sum_over_classes(model, x):
    model.fit(x, Y)
    assert_allclose(model.score_samples(x), logsumexp(model.predict_joint_log_proba(x), axis=1), rtol=1e-10)


def test_top_features_are_ranked_by_log_odds_probability_and_information():
    model = MultinomialNB().fit(COUNTS, Y)
    theta, share = np.exp(model.feature_log_prob_), np.exp(model.class_log_prior_)
    rest = (share[1:] @ theta[1:]) / share[1:].sum()
    odds = np.log(theta[0] / rest)
    top = model.top_features("a", 2)
    assert top.rows == [f"x{j}" for j in np.argsort(-odds)[:2]]
    assert_allclose(top.values[:, 0], np.sort(odds)[::-1][:2])
    assert_allclose(model.top_features("a", 3, "probability").values[:, 1], np.sort(theta[0])[::-1])
    values = CategoricalNB().fit(NAMES, Y).top_features("b", 20)
    assert len(values.rows) == 9
    assert values.rows[0].split(" = ")[1] in {"red", "green", "blue"}


def test_questions_that_make_no_sense_are_refused():
    model = GaussianNB().fit(REAL, Y)
    with pytest.raises(NoDistributionError, match="no outcomes to rank"):
        model.top_features("a")
    with pytest.raises(InvalidOptionError, match="by must be one of"):
        BernoulliNB().fit(TRUTHS, Y).top_features("a", by="beauty")
    with pytest.raises(MismatchError, match="No class 'z'"):
        model.evidence(REAL, label="z")
    with pytest.raises(InvalidOptionError, match="folds must be"):
        model.cross_validate(REAL, Y, folds=1)
    with pytest.raises(NoDistributionError, match="no means"):
        CategoricalNB().fit(NAMES, Y).impute(NAMES)


def test_gaps_of_naive_columns_are_filled_by_the_means_of_the_classes_weighed_by_the_posterior():
    model = GaussianNB().fit(REAL, Y)
    rows = REAL[:4].copy()
    rows[[0, 1], [2, 0]] = np.nan
    filled = model.impute(rows)
    expected = model.predict_proba(rows) @ model.theta_
    assert_allclose(filled[[0, 1], [2, 0]], expected[[0, 1], [2, 0]])
    assert_array_equal(filled[~np.isnan(rows)], rows[~np.isnan(rows)])


@pytest.mark.parametrize(("model", "x"), [ESTIMATORS[0], ESTIMATORS[4], ESTIMATORS[8], ESTIMATORS[9]])
def test_folds_by_subtraction_are_those_of_fitting_the_others(model, x):
    model.fit(x, Y)
    found = model.cross_validate(x, Y, folds=5, random_state=3)
    fold = np.random.default_rng(3).permutation(60) % 5
    for k in range(5):
        other = type(model)().fit(x[fold != k], Y[fold != k])
        assert_allclose(found[fold == k], other.predict_log_proba(x[fold == k]), atol=1e-8)


def test_a_renamed_class_keeps_its_rows_and_two_of_one_name_become_one():
    model = GaussianNB().fit(REAL, Y).rename_class("c", "z")
    assert model.classes_.tolist() == ["a", "b", "z"]
    model.rename_class("z", "a")
    whole = GaussianNB().fit(REAL, np.where(Y == "c", "a", Y))
    assert_allclose(model.predict_log_proba(REAL), whole.predict_log_proba(REAL), atol=1e-9)
    with pytest.raises(MismatchError, match="No class 'c'"):
        model.rename_class("c", "d")


def test_tables_are_for_programs_too():
    table = CategoricalNB().fit(NAMES, Y).tables()[1]
    assert table.to_arrow().column_names == ["x0", "a", "b", "c"]
    assert table.to_pandas().loc["red", "a"] == pytest.approx(table.values[2, 0])
    assert isinstance(table, sf.Table)
    assert str(table).splitlines()[0].split() == ["x0", "a", "b", "c"]
