"""Probabilities that can be believed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import log_loss

import suffice as sf
from suffice import BayesClassifier, Gaussian
from suffice.core.errors import InvalidDataError
from suffice.model.calibration import Calibration, _minimum, _root, mixture


def synthetic(n=3000, seed=0, prior=(0.5, 0.3, 0.2)):
    """Labels and honest evidence: log p(x | y) of x ~ N(y, 1)."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(prior), n, p=prior).astype(np.int32)
    x = rng.normal(y, 1.0)
    evidence = -0.5 * (x[:, None] - np.arange(len(prior))) ** 2
    return evidence, np.log(np.tile(prior, (n, 1))), y, np.ones(n)


@pytest.mark.parametrize("k", [1, 2, 5, 1e3, 1e6])
def test_the_exponent_undoes_evidence_that_was_counted_k_times(k):
    evidence, log_prior, y, weight = synthetic()
    found = Calibration.fit(k * evidence, log_prior, y, weight)
    assert_allclose(found.slope * k, 1.0, atol=0.06)
    assert_allclose(found.slope * k, Calibration.fit(evidence, log_prior, y, weight).slope, rtol=1e-4)
    assert_array_equal(found.bias, 0.0)


def test_the_exponent_is_the_minimum_of_the_log_loss():
    evidence, log_prior, y, weight = synthetic(500)
    weight = np.random.default_rng(0).random(500)

    def loss(a):
        return -weight @ log_softmax(log_prior + a * 3 * evidence, axis=1)[np.arange(500), y]

    best = minimize_scalar(loss, bounds=(0.01, 2.0), method="bounded", options={"xatol": 1e-9}).x
    assert_allclose(Calibration.fit(3 * evidence, log_prior, y, weight).slope, best, rtol=1e-4)


@pytest.mark.parametrize("right", [0.51, 0.6, 0.7, 0.85])
@pytest.mark.parametrize("gap", [2.0, 4.0, 1e5])
def test_the_exponent_is_found_to_the_last_digits(right, gap):
    """Evidence of a fixed gap that is right in a share of the rows: σ(a · gap) is that share."""
    n = 1000
    y = (np.arange(n) % 2).astype(np.int32)
    favoured = np.where(np.arange(n) < n * right, y, 1 - y)
    evidence = np.where(np.arange(2) == favoured[:, None], 0.0, -gap)
    found = Calibration.fit(evidence, np.log(np.full((n, 2), 0.5)), y, np.ones(n))
    assert_allclose(found.slope, np.log(right / (1 - right)) / gap, rtol=1e-12)


def test_evidence_for_the_wrong_class_counts_for_nothing():
    for size in (1.0, 1e3):
        evidence, log_prior, y, weight = right_by_chance(50)
        found = Calibration.fit(size * evidence[:, ::-1], log_prior, y, weight)
        assert (found.slope * size < 1e-5).all()  # where its spread is 1, a row shifts the log-odds by no more


@pytest.mark.parametrize("place", [-0.7, 0.0, 1 / 3, 2.9])
def test_a_minimum_is_found_to_the_last_digits(place):
    found = _minimum(lambda x: np.cosh(x - place), lambda x: np.sinh(x - place), (-1.0, 3.0))
    assert_allclose(found, place, rtol=0, atol=4e-15)


def test_a_minimum_at_a_bound_is_found_there():
    assert_allclose(_minimum(np.exp, np.exp, (-2.0, 1.0)), -2.0, atol=2e-3)
    assert_allclose(_minimum(lambda x: -np.exp(x), lambda x: -np.exp(x), (-2.0, 1.0)), 1.0, atol=2e-3)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_root_takes_few_steps_however_bent_the_function_is(sign):
    """False position alone keeps one end for ever where a function is bent."""
    asked = []

    def bent(x):
        asked.append(x)
        return sign * ((1 + sign * x) ** 12 - 1.001)

    root = sign * (1.001 ** (1 / 12) - 1)
    assert_allclose(_root(bent, -0.9, 0.9, np.nan), root, rtol=0, atol=4e-15)
    assert len(asked) < 60
    asked.clear()

    def straight(x):
        asked.append(x)
        return x - 0.25

    assert np.isnan(_root(lambda x: -1 - x**2, 0.0, 1.0, np.nan))  # there is none
    assert _root(straight, 0.0, 1.0, np.nan) == 0.25
    assert len(asked) == 3  # the two ends, and the root itself


def right_by_chance(n):
    """Evidence of 2 for the class of each of a few rows: any exponent would be believed, the larger the better."""
    y = (np.arange(n) % 2).astype(np.int32)
    evidence = np.where(np.arange(2) == y[:, None], 0.0, -2.0)
    return evidence, np.log(np.full((n, 2), 0.5)), y, np.ones(n)


@pytest.mark.parametrize("n", [4, 40])
def test_an_exponent_above_one_is_doubted_as_by_twenty_rows(n):
    found = Calibration.fit(*right_by_chance(n))

    def penalised(exponent):
        return n * np.log1p(np.exp(-2 * np.exp(exponent))) + 0.5 * 20 * max(exponent, 0.0) ** 2

    best = minimize_scalar(penalised, bounds=(-3, 2), method="bounded", options={"xatol": 1e-10}).x
    assert_allclose(found.slope, np.exp(best), rtol=1e-5)


def test_slopes_and_biases_of_classes_are_drawn_to_the_common_ones_as_by_one_row():
    evidence, log_prior, y, weight = right_by_chance(12)
    y[:3] = 0  # two rows of evidence for class 1 are of class 0
    common = Calibration.fit(evidence, log_prior, y, weight).slope[0]
    found = Calibration.fit(evidence, log_prior, y, weight, "classes")

    def penalised(theta):
        scores = log_softmax(log_prior + theta[:2] * evidence + theta[2:], axis=1)
        return -scores[np.arange(12), y].sum() + 0.5 * ((theta[:2] - common) ** 2).sum() + 0.5 * (theta[2:] ** 2).sum()

    best = minimize(penalised, [common, common, 0.0, 0.0], options={"gtol": 1e-9}).x
    assert_allclose([*found.slope, *found.bias], best, atol=2e-3)
    assert abs(found.slope[0] - found.slope[1]) > 0.05


@pytest.mark.parametrize("n", [4, 40, 1000])
def test_what_held_n_times_may_fail_once_in_n_plus_two(n):
    evidence, log_prior, y, weight = right_by_chance(n)
    assert_allclose(Calibration.fit(1e9 * evidence, log_prior, y, weight).mixed, 1 / (n + 2), rtol=1e-9)


@pytest.mark.parametrize(("failed", "base"), [(0.1, 0.5), (0.02, 0.3), (0.2, 0.25)])
def test_the_mixed_share_of_the_prior_is_found_to_the_last_digits(failed, base):
    """−f log(ε b) − (1 − f) log(1 − ε + ε b) is least at ε = f / (1 − b)."""
    own, weight = np.array([0.0, 1.0]), 1e4 * np.array([failed, 1.0 - failed])
    assert_allclose(mixture(own, np.full(2, base), weight), failed / (1.0 - base), rtol=1e-12)


@pytest.mark.parametrize("slope", [(0.5, 1.0, 2.0), (2.0, 1.0, 0.5), (0.7, 0.7, 0.7)])
def test_the_formula_of_the_calibrated_posterior(slope):
    rng = np.random.default_rng(0)
    evidence, log_prior = rng.normal(size=(6, 3)), np.log([0.5, 0.3, 0.2])
    a, b, e = np.array(slope), np.array([0.1, 0.0, -0.1]), 0.05
    relative = evidence - evidence.max(axis=1, keepdims=True)
    tempered = np.exp(log_softmax(log_prior + a * relative + b, axis=1))
    expected = (1 - e) * tempered + e * np.exp(log_prior)
    assert_allclose(np.exp(Calibration(a, b, e).log_posterior(evidence, log_prior)), expected, rtol=1e-13)
    assert_allclose(Calibration(a, b, e).posterior(evidence.copy(), log_prior), expected, rtol=1e-12)


def test_where_nothing_speaks_the_prior_is_kept():
    prior = np.array([0.9, 0.09, 0.01])
    found = Calibration(np.full(3, 0.2), np.zeros(3), 0.1).log_posterior(np.zeros((2, 3)), np.log(prior))
    assert_allclose(np.exp(found), [prior, prior], rtol=1e-13)


def test_a_slope_and_bias_per_class_undo_those_put_in():
    evidence, log_prior, y, weight = synthetic(20000)
    found = Calibration.fit(evidence - np.array([0.0, 1.0, -0.5]), log_prior, y, weight, "classes")
    common = Calibration.fit(evidence - np.array([0.0, 1.0, -0.5]), log_prior, y, weight)
    own = np.arange(len(y)), y

    def loss(c):
        return -c.log_posterior(evidence - np.array([0.0, 1.0, -0.5]), log_prior)[own].mean()

    ideal = -log_softmax(evidence + log_prior, axis=1)[own].mean()
    assert loss(found) < loss(common)
    assert_allclose(loss(found), ideal, rtol=5e-3)


def test_impossible_classes_stay_impossible_and_a_lost_row_gets_the_prior():
    inf = np.inf
    evidence = np.array([[0.0, -inf, -1.0], [-inf, -inf, -inf], [0.0, 0.0, -inf]])
    prior = np.array([0.5, 0.3, 0.2])
    found = np.exp(Calibration(np.ones(3), np.zeros(3), 0.0).log_posterior(evidence, np.log(prior)))
    assert found[0, 1] == 0
    assert found[2, 2] == 0
    assert_allclose(found[1], prior, rtol=1e-14)
    mixed = np.exp(Calibration(np.ones(3), np.zeros(3), 0.1).log_posterior(evidence, np.log(prior)))
    assert_allclose(mixed, 0.9 * found + 0.1 * prior, rtol=1e-12)


def test_evidence_that_is_no_number_is_refused_with_its_row():
    evidence = np.zeros((5, 2))
    evidence[3, 1] = np.nan
    with pytest.raises(InvalidDataError, match=r"row 3\b"):
        Calibration(np.ones(2), np.zeros(2), 0.1).posterior(evidence, np.log([0.5, 0.5]))


def test_a_row_that_its_class_excludes_does_not_change_the_exponent():
    evidence, log_prior, y, weight = synthetic()
    whole = Calibration.fit(evidence[1:], log_prior[1:], y[1:], weight[1:])
    evidence[0, y[0]] = -np.inf
    found = Calibration.fit(evidence, log_prior, y, weight)
    assert_allclose(found.slope, whole.slope, rtol=1e-9)
    assert found.mixed > 1 / 3002  # it is the mixture that makes such rows possible


@pytest.mark.parametrize("form", ["exponent", "classes"])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6, 1e12])
def test_scores_of_any_size_converge(form, size):
    evidence, log_prior, y, weight = synthetic(400)
    found = Calibration.fit(size * evidence, log_prior, y, weight, form)
    log_p = found.log_posterior(size * evidence, log_prior)
    assert np.isfinite(found.slope).all()
    assert 0 < found.mixed <= 0.5
    assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=1e-12)
    chance = -log_prior[np.arange(400), y].mean()
    assert -log_p[np.arange(400), y].mean() <= chance + 1e-3


def test_one_class_or_no_rows_need_no_calibration():
    nothing = Calibration.fit(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.int32), np.zeros(0))
    one = Calibration.fit(np.zeros((4, 1)), np.zeros((4, 1)), np.zeros(4, np.int32), np.ones(4))
    for found in (nothing, one):
        assert_array_equal(found.slope, 1.0)
        assert found.mixed == 0.0


# ------------------------------------------------------------------------------------------- in the classifier


def columns(k, n=1500, seed=0, rare=0.4):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rare).astype(int)
    x = rng.normal(size=n) + y
    return {f"copy {j}": x for j in range(k)}, y


@pytest.mark.parametrize("k", [1, 4, 16])
def test_a_column_repeated_k_times_has_an_exponent_of_1_over_k(k):
    rows, y = columns(k)
    clf = BayesClassifier(dict.fromkeys(rows, Gaussian()), structure="naive").fit(rows, y)
    assert_allclose(clf.calibration_.slope * k, 1.0, atol=0.15)
    single = BayesClassifier({"copy 0": Gaussian()}, structure="naive").fit({"copy 0": rows["copy 0"]}, y)
    assert_allclose(clf.predict_proba(rows), single.predict_proba({"copy 0": rows["copy 0"]}), atol=2e-3)


def test_a_rare_class_stays_rare_where_a_temperature_would_make_it_common():
    rows, y = columns(8, 4000, rare=0.03)
    clf = BayesClassifier(dict.fromkeys(rows, Gaussian()), structure="naive").fit(rows, y)
    mean = clf.predict_proba(rows)[:, 1].mean()
    assert_allclose(mean, y.mean(), rtol=0.15)
    joint = clf.predict_joint_log_proba(rows)
    tempered = np.exp(log_softmax(joint * clf.calibration_.slope, axis=1))[:, 1].mean()
    assert tempered > 3 * mean


@pytest.mark.parametrize("few", [False, True])
def test_calibration_is_fitted_on_leave_one_out_scores_by_the_same_minimum(few):
    rows, y = columns(3, 300)
    if few:  # of one class there are two rows, each of which has the other
        y = np.isin(np.arange(300), np.flatnonzero(y)[:2]).astype(int)
    clf = BayesClassifier(dict.fromkeys(rows, Gaussian()), structure="naive").fit(rows, y)
    raw = BayesClassifier(dict.fromkeys(rows, Gaussian()), calibrate=False)
    evidence, log_prior = np.empty((300, 2)), np.empty((300, 2))
    for i in range(300):
        rest = np.arange(300) != i
        model = raw.fit({name: x[rest] for name, x in rows.items()}, y[rest])
        log_prior[i] = np.log(model.class_count_ / 299)
        evidence[i] = model.predict_joint_log_proba({name: x[i : i + 1] for name, x in rows.items()}) - log_prior[i]
    found = Calibration.fit(evidence, log_prior, y.astype(np.int32), np.ones(300))
    assert_allclose(clf.calibration_.slope, found.slope, rtol=1e-4)
    assert_allclose(clf.calibration_.mixed, found.mixed, rtol=1e-3)


def test_a_class_of_one_row_does_not_spoil_the_others():
    rows, y = columns(2, 500)
    labels = np.where(np.arange(500) == 0, "lone", y.astype(str))
    usual = BayesClassifier(dict.fromkeys(rows, Gaussian()), structure="naive").fit(rows, y).calibration_
    found = BayesClassifier(dict.fromkeys(rows, Gaussian()), structure="naive").fit(rows, labels).calibration_
    assert_allclose(found.slope, usual.slope[0], rtol=0.1)


def test_classes_named_in_advance_and_priors_of_zero_are_borne():
    rows, y = columns(2, 200)
    clf = BayesClassifier().partial_fit(rows, y, classes=[0, 1, 2])
    assert_allclose(clf.predict_proba(rows).sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(clf.predict_proba(rows)[:, 2], 0.0)
    certain = BayesClassifier(prior=[1.0, 0.0]).fit(rows, y)
    assert_array_equal(certain.predict_proba(rows)[:, 0], 1.0)


def test_calibration_leaves_raw_scores_alone():
    rows, y = columns(2, 200)
    tempered, raw = BayesClassifier().fit(rows, y), BayesClassifier(calibrate=False).fit(rows, y)
    assert_array_equal(tempered.predict_joint_log_proba(rows), raw.predict_joint_log_proba(rows))
    assert_array_equal(raw.calibration_.slope, 1.0)
    assert raw.calibration_.mixed == 0.0
    assert_allclose(
        raw.predict_log_proba(rows), log_softmax(raw.predict_joint_log_proba(rows), axis=1), rtol=1e-9, atol=1e-12
    )


def test_without_rows_kept_there_is_no_calibration():
    rows, y = columns(2, 200)
    assert_array_equal(BayesClassifier(keep=0).fit(rows, y).calibration_.slope, 1.0)


@pytest.mark.parametrize("calibrate", [True, "classes"])
def test_probabilities_of_the_strangest_rows_add_up(calibrate):
    rows, y = columns(3, 300)
    clf = BayesClassifier(calibrate=calibrate).fit(rows, y)
    strange = {name: np.array([1e12, -1e12, 1e300, np.nan, 0.0]) for name in rows}
    found = clf.predict_proba(strange)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found > 0).all()


def test_on_adult_the_defaults_can_be_believed(data_dir):
    import pyarrow.parquet as pq

    train, test = (pq.read_table(data_dir / f"adult-{part}.parquet") for part in ("train", "test"))
    truth = test.column("income").to_numpy(zero_copy_only=False)
    clf = BayesClassifier().fit(train, "income")
    found = clf.predict_proba(test)
    calibrated = log_loss(truth, found, labels=clf.classes_)
    raw = log_loss(truth, clf.set_params(calibrate=False).predict_proba(test), labels=clf.classes_)
    assert (clf.classes_[found.argmax(axis=1)] == truth).mean() >= 0.83
    assert calibrated <= 0.40
    assert calibrated < raw
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert isinstance(clf.schema_, sf.families.Table)


def test_the_order_of_rows_does_not_show_in_the_answers():
    rng = np.random.default_rng(8)
    for n in (60, 900):
        y = rng.integers(0, 3, n)
        first = rng.normal(size=n) + y
        rows = {"a": first, "b": 0.5 * first + rng.normal(size=n)}
        order = rng.permutation(n)
        families = {"a": sf.Gaussian(), "b": sf.Gaussian()}
        one = sf.BayesClassifier(families, structure="naive").fit(rows, y)
        two = sf.BayesClassifier(families, structure="naive").fit(
            {name: x[order] for name, x in rows.items()}, y[order]
        )
        assert one.calibration_.slope[0] != 1.0
        assert_allclose(two.predict_proba(rows), one.predict_proba(rows), rtol=1e-12)
