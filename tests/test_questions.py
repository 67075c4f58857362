"""Questions to every estimator: what speaks for a class, what is usual, what fills a gap, how good it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

import suffice as sf
from suffice.core.errors import InvalidOptionError, MismatchError, NoDistributionError, NoLinearFormError
from suffice.core.frames import as_frame
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


def test_of_two_classes_the_other_one_is_compared():
    model = GaussianNB().fit(REAL, Y == "a")
    log_proba = model.predict_log_proba(REAL[:9])
    for label, against, sign in ((None, None, 1), (None, True, -1), (None, False, 1), (False, None, -1)):
        said = model.evidence(REAL[:9], label=label, against=against)
        assert_array_equal(said["label"], sign > 0)
        assert_array_equal(said["against"], sign < 0)
        assert_allclose(said["log_odds"], sign * (log_proba[:, 1] - log_proba[:, 0]), atol=1e-10)


def test_each_row_can_have_its_own_classes_to_compare():
    model = GaussianNB().fit(REAL, Y)
    labels, against = np.array(["c", "a", "b"]), np.array(["a", "b", "a"])
    said = model.evidence(REAL[:3], labels, against)
    for i in range(3):
        alone = model.evidence(REAL[i : i + 1], labels[i], against[i])
        for name, values in said.items():
            assert values[i] == alone[name][0]
    for some in (labels[:2], np.array(list("abcabc"))):
        with pytest.raises(InvalidOptionError, match=f"one for each of 3 rows; found {len(some)}"):
            model.evidence(REAL[:3], some)


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


@pytest.mark.parametrize(("model", "x"), ESTIMATORS, ids=IDS)
def test_a_row_alone_is_scored_as_it_is_among_others(model, x):
    model.fit(x, Y)
    assert_allclose(model.predict_proba(x[:1]), model.predict_proba(x)[:1], rtol=1e-12, atol=1e-15)


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


def test_a_predictor_of_numbers_fills_gaps_with_means_only_and_leaves_other_columns():
    model = GaussianNB().fit(REAL, Y)
    rows = REAL[:4].copy()
    rows[[0, 1], [2, 0]] = np.nan
    frame = as_frame({f"x{j}": rows[:, j] for j in range(3)} | {"name": list("abcd")})
    filled = model._predictor().impute(frame)
    assert list(filled) == ["x0", "x1", "x2", "name"]
    assert_array_equal(np.column_stack([filled[f"x{j}"] for j in range(3)]), model.impute(rows))
    with pytest.raises(InvalidOptionError, match="A GaussianNB fills missing entries with means only"):
        model._predictor().impute(frame, "mode")


def test_a_predictor_knows_which_columns_hold_strings():
    table = {
        "n": REAL[:, 0],
        "colour": NAMES[:, 0],
        "code": CODES[:, 0],
        "note": [f"word{i % 7} and more" for i in range(60)],
    }
    families = {"colour": "categorical", "code": "categorical", "note": "text"}
    found = sf.BayesClassifier(families, missing="informative").fit(table, Y)
    assert found._predictor().string_columns == ("colour", "note")
    assert GaussianNB().fit(REAL, Y)._predictor().string_columns == ()
    assert sf.TextClassifier().fit(table["note"], Y)._predictor().string_columns == ("x0",)


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
