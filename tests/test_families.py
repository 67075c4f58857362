"""Every family and every way of learning it, against the oracle; priors, and the model made of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import gammaln, logsumexp

import reference
import suffice as sf
from suffice.core.errors import (
    ImpossibleRowWarning,
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    NegativeValueError,
    NoDistributionError,
    NoLinearFormError,
)
from suffice.core.frames import as_frame
from suffice.families._derive import tabulated
from suffice.families.product import Block, Product
from suffice.formulas.arithmetic import Entry
from suffice.formulas.lookups import Above
from suffice.model.joint import leave_one_out

LABELS = np.array(["ant", "bee", "ox"])
SIZES = (2, 3, 4, 5)
NAMES = (("no", "yes"), ("high", "low", "mid"), ("e", "n", "s", "w"), ("a", "b", "c", "d", "e"))

# ------------------------------------------------------------------------------------------ random problems


@dataclass(frozen=True)
class Problem:
    """Training rows with gaps, string labels and weights, some of them 0; and new rows with gaps."""

    x: Any
    y: np.ndarray
    weight: np.ndarray
    rows: Any


def draw(kind: str, rng: np.random.Generator, n: int, classes: np.ndarray) -> np.ndarray:
    columns = len(SIZES)
    if kind == "truths":
        return (rng.random((n, columns)) < rng.uniform(0.2, 0.8, (3, columns))[classes]).astype(float)
    if kind == "shares":
        return rng.random((n, columns)).round(3)
    if kind in ("categories", "names"):
        shares = [rng.dirichlet(np.ones(m), 3)[classes] for m in SIZES]
        return np.stack([(rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1) for p in shares], axis=1) * 1.0
    if kind == "counts":
        return rng.poisson(rng.uniform(0.3, 4.0, (3, columns))[classes]).astype(float)
    return rng.normal(rng.normal(0, 2, (3, columns))[classes], 0.5 + classes[:, None])


def problem(kind: str, seed: int, n: int = 36) -> Problem:
    rng = np.random.default_rng([seed, *map(ord, kind)])
    classes = rng.permutation(np.arange(n) % 3)
    x, rows = draw(kind, rng, n, classes), draw(kind, rng, 14, rng.integers(0, 3, 14))
    for table in (x, rows):
        table[rng.random(table.shape) < 0.15] = np.nan
    if kind in ("categories", "names"):
        x[: max(SIZES)] = np.arange(max(SIZES))[:, None] % SIZES  # each category is met at least once
    if kind == "names":
        x, rows = (named(table) for table in (x, rows))
    weight = rng.uniform(0.2, 3.0, n)
    weight[max(SIZES) + rng.choice(n - max(SIZES), 3, replace=False)] = 0.0
    return Problem(x, LABELS[classes], weight, rows)


def named(codes: np.ndarray) -> np.ndarray:
    out = np.full(codes.shape, None, dtype=object)
    for i, j in np.ndindex(codes.shape):
        if codes[i, j] == codes[i, j]:
            out[i, j] = NAMES[j][int(codes[i, j])]
    return out


@dataclass(frozen=True)
class Case:
    """A family, the rows it is for, and how the oracle learns the same."""

    family: sf.Family
    kind: str
    oracle: str
    options: dict[str, Any]

    def expected(self, x, y, weight, labels=LABELS) -> reference.Fitted:
        options = dict(self.options)
        if self.oracle == "categorical":
            options["categories"] = NAMES if self.kind == "names" else tuple(range(m) for m in SIZES)
        return getattr(reference, self.oracle)(x, y, weight, labels, **options)

    def __str__(self) -> str:
        return f"{self.family!r}".replace(" ", "")


def cases() -> list[Case]:
    found = []

    def add(family, kind, oracle, **options):
        found.append(Case(family, kind, oracle, options))

    for learn in ("mle", "map", "mean", "predictive"):
        priors = [None] if learn == "mle" else [(1.0, 1.0), (2.5, 1.5), (0.5, 0.5)]
        for pair in priors:
            prior, (a, b) = (None, (0, 0)) if pair is None else (sf.Beta(*pair), pair)
            add(sf.Bernoulli(prior, learn), "truths", "bernoulli", learn=learn, a=a, b=b)
        shares = {} if learn == "mle" else {"prior": sf.Beta(2.0, 3.0)}
        add(
            sf.Bernoulli(learn=learn, threshold=None, **shares),
            "shares",
            "bernoulli",
            learn=learn,
            a=2.0,
            b=3.0,
            threshold=None,
        )
        for alpha in [None] if learn == "mle" else [1.0, 2.5, 0.5]:
            prior = None if alpha is None else sf.Dirichlet(alpha)
            counted = {"learn": learn, "alpha": alpha}
            add(sf.Categorical(prior, learn, min_categories=np.array(SIZES)), "categories", "categorical", **counted)
            add(sf.Categorical(prior, learn), "names", "categorical", **counted)
            add(sf.Multinomial(prior, learn), "counts", "multinomial", **counted)
        for pair in [None] if learn == "mle" else [(1.0, 1.0), (2.5, 0.5), (0.5, 0.0)]:
            prior, (shape, rate) = (None, (0, 0)) if pair is None else (sf.Gamma(*pair), pair)
            add(sf.Poisson(prior, learn), "counts", "poisson", learn=learn, shape=shape, rate=rate)
        for variance in ("class", "shared", 1.7):
            for fields in (
                [None] if learn == "mle" else [{}, {"mean": 0.5, "strength": 2.0, "shape": 3.0, "scale": 4.0}]
            ):
                prior = None if fields is None else sf.NormalInverseGamma(**fields)
                told = None if fields is None else reference.NormalInverseGamma(**fields)
                add(
                    sf.Gaussian(prior, learn, variance=variance),
                    "reals",
                    "gaussian",
                    learn=learn,
                    prior=told,
                    variance=variance,
                )
    each = np.array([0.5, 1.0, 2.0, 3.0])
    add(sf.Multinomial(sf.Dirichlet(each)), "counts", "multinomial", alpha=each)
    add(sf.Bernoulli(sf.Beta(each, 1.0)), "truths", "bernoulli", a=each, b=1.0)
    add(sf.Poisson(sf.Gamma(each, each)), "counts", "poisson", shape=each, rate=each)
    for learn, variance in (("mle", "class"), ("mle", "shared"), ("map", "class"), ("predictive", "class")):
        add(
            sf.Gaussian(learn=learn, variance=variance, var_smoothing=0.1),
            "reals",
            "gaussian",
            learn=learn,
            variance=variance,
            var_smoothing=0.1,
        )
    for norm in (False, True):
        add(sf.Complement(sf.Dirichlet(1.5), norm=norm), "counts", "complement", alpha=1.5, norm=norm)
    return found


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def fitted(case: Case, p: Problem) -> sf.Model:
    return sf.Model.fit(p.x, p.y, case.family, weight=p.weight)


# ------------------------------------------------------------------------------------ statistics and estimates


@pytest.mark.parametrize("seed", range(3))
def test_totals_are_the_sums_of_the_observed_entries(seed):
    p = problem("counts", seed)
    found = sf.Poisson().summarize(p.x, p.y, p.weight)
    assert_array_equal(found.labels, LABELS)
    assert_allclose(found.weight, reference.class_weights(p.y, p.weight, LABELS), rtol=1e-13)
    assert_allclose(found.statistic.weight, reference.observed_weight(p.x, p.y, p.weight, LABELS), rtol=1e-13)
    assert_allclose(found.statistic.total, reference.totals(p.x, p.y, p.weight, LABELS), rtol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_moments_are_those_of_the_observed_entries(seed):
    p = problem("reals", seed)
    found = sf.Gaussian().summarize(p.x, p.y, p.weight).statistic
    assert_allclose(found.weight, reference.observed_weight(p.x, p.y, p.weight, LABELS), rtol=1e-13)
    assert_allclose(found.mean, reference.means(p.x, p.y, p.weight, LABELS), rtol=1e-12, atol=1e-13)
    assert_allclose(found.squares, reference.centred_squares(p.x, p.y, p.weight, LABELS), rtol=1e-12)


@every_case
@pytest.mark.parametrize("seed", range(2))
def test_parameters_and_log_joint_are_the_oracles(case, seed):
    p = problem(case.kind, seed)
    model, expected = fitted(case, p), case.expected(p.x, p.y, p.weight)
    assert_array_equal(model.labels, LABELS)
    compared = [name for name in expected.parameters if hasattr(model.distribution, name)]
    assert compared, "the distribution names none of the oracle's parameters"
    for name in compared:
        own, value = getattr(model.distribution, name), expected.parameters[name]
        assert_allclose(own, value, rtol=1e-10, atol=1e-14, err_msg=name)
    prior = reference.log_class_prior(p.y, p.weight, LABELS)
    joint = reference.log_joint(prior, [expected.log_density(p.rows)])
    assert_allclose(model.log_prior, prior, rtol=1e-13)
    assert_allclose(model.log_joint(p.rows), joint, rtol=1e-10, atol=1e-10)
    if np.isfinite(joint).any(axis=1).all():
        assert_allclose(model.log_posterior(p.rows), reference.log_posterior(joint, prior), rtol=1e-10, atol=1e-10)
        assert_allclose(model.posterior(p.rows).sum(axis=1), 1.0, rtol=1e-14)
        assert_array_equal(model.predict(p.rows), LABELS[joint.argmax(axis=1)])
    assert_allclose(model.log_density(p.rows), logsumexp(joint, axis=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("case", [c for c in CASES if c.kind == "counts"], ids=str)
def test_a_sparse_matrix_gives_what_the_dense_one_gives(case):
    p = problem(case.kind, 5)
    model = fitted(case, p)
    sparse = sf.Model.fit(scipy.sparse.csr_matrix(p.x), p.y, case.family, weight=p.weight)
    assert_allclose(sparse.log_joint(p.rows), model.log_joint(p.rows), rtol=1e-12)
    assert_allclose(model.log_joint(scipy.sparse.csr_matrix(p.rows)), model.log_joint(p.rows), rtol=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c.kind == "truths"], ids=str)
def test_a_sparse_matrix_of_truths_gives_what_the_dense_one_gives(case):
    p = problem(case.kind, 5)
    model = fitted(case, p)
    sparse = sf.Model.fit(scipy.sparse.csr_matrix(p.x), p.y, case.family, weight=p.weight)
    assert_allclose(sparse.log_joint(p.rows), model.log_joint(p.rows), rtol=1e-12, atol=1e-13)
    assert_allclose(model.log_joint(scipy.sparse.csr_matrix(p.rows)), model.log_joint(p.rows), rtol=1e-12, atol=1e-13)


@every_case
def test_a_row_of_weight_zero_is_as_good_as_absent(case):
    p = problem(case.kind, 7)
    kept = p.weight > 0
    absent = sf.Model.fit(p.x[kept], p.y[kept], case.family, weight=p.weight[kept])
    assert_allclose(fitted(case, p).log_joint(p.rows), absent.log_joint(p.rows), rtol=1e-12, atol=1e-12)


def test_a_category_that_only_rows_of_weight_zero_show_is_as_good_as_absent():
    x = np.array([["a"], ["b"], ["a"], ["z"]], dtype=object)
    y, family = ["u", "u", "v", "v"], sf.Categorical()
    weighed = sf.Model.fit(x, y, family, weight=[1.0, 1.0, 1.0, 0.0])
    absent = sf.Model.fit(x[:3], y[:3], family)
    assert_allclose(weighed.log_joint(x[:3]), absent.log_joint(x[:3]), rtol=1e-13)


@every_case
def test_a_whole_weight_is_that_many_rows(case):
    p = problem(case.kind, 8)
    times = np.arange(len(p.y)) % 3
    repeated = sf.Model.fit(np.repeat(p.x, times, axis=0), np.repeat(p.y, times), case.family)
    weighed = sf.Model.fit(p.x, p.y, case.family, weight=times)
    assert_allclose(weighed.log_joint(p.rows), repeated.log_joint(p.rows), rtol=1e-11, atol=1e-11)


@every_case
def test_statistics_of_two_halves_give_the_model_of_the_whole(case):
    p = problem(case.kind, 9)
    halves = [case.family.summarize(p.x[s], p.y[s], p.weight[s]) for s in (slice(0, 17), slice(17, None))]
    merged = sf.Model.of(halves[0] + halves[1], case.family)
    assert_allclose(merged.log_joint(p.rows), fitted(case, p).log_joint(p.rows), rtol=1e-11, atol=1e-11)


# --------------------------------------------------------------------------------------------- single families


def test_truths_are_what_lies_above_the_threshold():
    x, y = np.array([[0.2], [0.7], [0.9], [0.1]]), ["u", "u", "v", "v"]
    model = sf.Model.fit(x, y, sf.Bernoulli(prior=None, threshold=0.5))
    assert_array_equal(model.distribution.probability, [[0.5], [0.5]])


def test_truths_without_a_threshold_must_be_shares():
    with pytest.raises(InvalidDataError, match=r"between 0 and 1\. Found 1\.5 in row 1, column 0"):
        sf.Bernoulli(threshold=None).summarize([[0.5], [1.5]], [0, 1])


def test_what_was_always_true_cannot_be_false_by_maximum_likelihood_whatever_the_weights():
    x, weight = np.array([[1.0], [np.nan], [1.0]]), [0.4, 0.7, 0.4]
    model = sf.Model.fit(x, ["u", "u", "v"], sf.Bernoulli(prior=None), weight=weight)
    assert_array_equal(model.distribution.probability, [[1.0], [1.0]])
    assert_array_equal(model.distribution.log_density(np.array([[0.0], [1.0]])), [[-np.inf] * 2, [0.0] * 2])


def test_what_was_always_true_in_thousands_of_weighted_rows_cannot_be_false_by_maximum_likelihood():
    weight = np.random.default_rng(0).uniform(0.1, 1.0, 5000)
    model = sf.Model.fit(np.ones((5000, 3)), np.arange(5000) % 2, sf.Bernoulli(prior=None), weight=weight)
    assert_array_equal(model.distribution.probability, np.ones((2, 3)))


def test_a_category_never_met_has_the_probability_of_one_listed_and_never_seen():
    x, y = [["a"], ["b"], ["a"], ["b"]], ["u", "u", "v", "v"]
    density = sf.Model.fit(x, y, sf.Categorical(prior=sf.Dirichlet(0.5))).log_joint(np.array([["new"]])) - np.log(0.5)
    assert_allclose(np.exp(density), 0.5 / (2 + 0.5 * 3), rtol=1e-14)


def test_a_category_never_met_is_impossible_by_maximum_likelihood():
    model = sf.Model.fit([["a"], ["b"]], ["u", "v"], sf.Categorical(prior=None))
    assert_array_equal(model.log_joint(np.array([["new"], ["a"]])), [[-np.inf, -np.inf], [np.log(0.5), -np.inf]])


def test_each_category_may_have_a_pseudo_count_of_its_own():
    alpha = (np.array([1.0, 2.0]), np.array([0.5, 0.5, 3.0]), np.arange(1.0, 5.0), np.full(5, 0.3))
    case = Case(sf.Categorical(sf.Dirichlet(np.concatenate(alpha))), "names", "categorical", {"alpha": alpha})
    p = problem("names", 4)
    assert_allclose(
        fitted(case, p).distribution.log_density(p.rows),
        case.expected(p.x, p.y, p.weight).log_density(p.rows),
        rtol=1e-10,
    )


def test_least_numbers_of_categories_make_room_for_those_not_met():
    model = sf.Model.fit([[0], [1]], ["u", "u"], sf.Categorical(prior=sf.Dirichlet(1), min_categories=4))
    assert_array_equal(model.distribution.probability, [[2 / 6, 2 / 6, 1 / 6, 1 / 6]])


def test_categories_are_numbers_or_names_but_not_both():
    numbers = sf.Model.fit([[0], [1]], ["u", "v"], sf.Categorical())
    with pytest.raises(MismatchError, match="numbers in training and are strings here"):
        numbers.log_joint(np.array([["a"]], dtype=object))


def test_negative_counts_are_refused_with_their_place():
    with pytest.raises(NegativeValueError, match="row 1, column 0"):
        sf.Multinomial().summarize([[1.0], [-1.0]], [0, 1])


@pytest.mark.parametrize("family", [sf.Gaussian(), sf.Poisson(), sf.Multinomial(), sf.Bernoulli()], ids=repr)
def test_infinite_values_are_refused_in_training_and_in_answering(family):
    with pytest.raises(InvalidDataError, match="infinity"):
        sf.Model.fit([[1.0], [np.inf]], ["u", "v"], family)
    model = sf.Model.fit([[1.0], [2.0], [1.0]], ["u", "v", "v"], family)
    with pytest.raises(InvalidDataError, match="infinity"):
        model.log_joint(np.array([[np.inf]]))


def test_poisson_densities_keep_their_digits_at_large_rates():
    x = np.array([[1.0e6], [1.001e6], [9.0e5]])
    model = sf.Model.fit(x, ["u", "u", "v"], sf.Poisson(prior=None))
    exact = stats.poisson.logpmf(1.0e6, np.array([1.0005e6, 9.0e5]))
    # Terms of 1.4e7 are added up, so about nine digits after the point can be had.
    assert_allclose(model.distribution.log_density(x[:1])[0], exact, atol=1e-7)


def test_an_event_never_seen_is_impossible_under_the_predictive_of_an_improper_prior():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    model = sf.Model.fit(x, ["u", "u", "v"], sf.Poisson(prior=sf.Gamma(0, 0), learn="predictive"))
    density = model.distribution.log_density(np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert_allclose(density[:, 0], [stats.nbinom.logpmf(1, 3, 2 / 3), -np.inf], rtol=1e-12)


@pytest.mark.parametrize("learn", ["mle", "mean", "map", "predictive"])
@pytest.mark.parametrize("as_given", [np.array, list, tuple], ids=["array", "list", "tuple"])
def test_a_variance_may_be_given_for_each_column(learn, as_given):
    each = [0.5, 1.0, 2.0, 4.0]
    p = problem("reals", 3)
    case = Case(sf.Gaussian(learn=learn, variance=as_given(each)), "reals", "gaussian", {})
    expected = reference.gaussian(p.x, p.y, p.weight, LABELS, learn=learn, variance=np.array(each))
    assert_allclose(fitted(case, p).distribution.log_density(p.rows), expected.log_density(p.rows), rtol=1e-10)


@pytest.mark.parametrize("learn", ["mle", "mean", "map", "predictive"])
def test_a_given_variance_is_not_smoothed(learn):
    p = problem("reals", 3)
    plain, smooth = (sf.Gaussian(learn=learn, variance=2.0, var_smoothing=s) for s in (0.0, 0.5))
    models = [sf.Model.fit(p.x, p.y, family) for family in (plain, smooth)]
    assert_array_equal(models[0].distribution.variance, models[1].distribution.variance)


def test_a_column_constant_within_a_class_is_a_point_mass():
    x, y = [[1.0], [1.0], [0.0], [3.0]], ["u", "u", "v", "v"]
    model = sf.Model.fit(x, y, sf.Gaussian(prior=None))
    assert_allclose(model.posterior(np.array([[1.0], [1.5]])), [[1.0, 0.0], [0.0, 1.0]], atol=1e-12)


def test_a_class_of_one_row_has_a_density_under_the_default_prior():
    model = sf.Model.fit([[1.0, 5.0], [2.0, 6.0], [7.0, 1.0]], ["u", "u", "v"], sf.Gaussian())
    assert np.isfinite(model.log_joint(np.array([[1.5, 5.0], [7.0, 2.0]]))).all()
    assert_array_equal(model.predict(np.array([[1.5, 5.5], [7.0, 1.0]])), ["u", "v"])


def test_moments_far_from_zero_keep_the_digits_of_the_variance():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.0, 1.0, (50, 2)), np.arange(50) % 2
    near = sf.Model.fit(x, y, sf.Gaussian(prior=None)).distribution.variance
    far = sf.Model.fit(x + 1e8, y, sf.Gaussian(prior=None)).distribution.variance
    assert_allclose(far, near, rtol=1e-6)


def test_complement_scores_are_scikit_learns():
    from sklearn.naive_bayes import ComplementNB

    rng = np.random.default_rng(2)
    x, y = rng.poisson(1.0, (30, 6)), LABELS[np.arange(30) % 3]
    for norm in (False, True):
        peer = ComplementNB(alpha=0.7, norm=norm).fit(x, y)
        family = sf.Complement(sf.Dirichlet(0.7), norm=norm)
        scores = sf.Model.fit(x, y, family, sf.ClassPrior(ignored=True)).distribution.weight
        assert_allclose(scores, peer.feature_log_prob_, rtol=1e-12)


def test_complement_refuses_to_learn_what_it_has_no_meaning_for():
    for learn in ("map", "predictive"):
        with pytest.raises(InvalidOptionError, match="is not defined"):
            sf.Complement(sf.Dirichlet(2.0), learn=learn)


# ----------------------------------------------------------------------------------------------- option rules

FAMILIES = [sf.Bernoulli, sf.Categorical, sf.Multinomial, sf.Poisson, sf.Gaussian, sf.Complement]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)


@every_family
def test_a_prior_without_more_means_the_posterior_mean(family):
    assert family(prior=family.weak_prior).learn == "mean"


@every_family
def test_a_bare_family_learns_the_posterior_mean_under_its_weak_prior(family):
    assert (family().prior, family().learn) == (family.weak_prior, "mean")


@every_family
def test_no_prior_means_maximum_likelihood(family):
    assert (family(prior=None).prior, family(prior=None).learn) == (None, "mle")
    assert family(learn="mle").prior is None
    assert family(prior=None, learn="mle").learn == "mle"


@every_family
def test_maximum_likelihood_takes_no_prior(family):
    with pytest.raises(InvalidOptionError, match="maximum likelihood takes no prior"):
        family(prior=family.weak_prior, learn="mle")


@every_family
@pytest.mark.parametrize("learn", ["map", "mean", "predictive"])
def test_whatever_uses_a_prior_needs_one(family, learn):
    with pytest.raises(InvalidOptionError, match="needs a prior"):
        family(prior=None, learn=learn)


@every_family
def test_a_prior_of_another_kind_is_refused_by_name(family):
    wrong = sf.Gamma() if not isinstance(family.weak_prior, sf.Gamma) else sf.Beta()
    wanted = type(family.weak_prior).__name__
    with pytest.raises(InvalidOptionError, match=f"must be a {wanted}, found {type(wrong).__name__}"):
        family(prior=wrong)
    with pytest.raises(InvalidOptionError, match=f"must be a {wanted}, found float"):
        family(prior=1.0)


@every_family
def test_an_unknown_way_to_learn_is_refused(family):
    with pytest.raises(InvalidOptionError, match="learn must be one of"):
        family(learn="bayes")


@every_family
def test_a_family_shows_its_options(family):
    assert repr(family(prior=None)).startswith(f"{family.__name__}(prior=None, learn='mle'")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sf.Gaussian(variance="pooled"), "one of 'class', 'shared' or a finite number above 0"),
        (lambda: sf.Gaussian(variance=0.0), "above 0"),
        (lambda: sf.Gaussian(variance=np.array([1.0, -1.0])), "above 0"),
        (lambda: sf.Gaussian(variance=np.nan), "above 0"),
        (lambda: sf.Gaussian(var_smoothing=-1.0), "≥ 0"),
        (lambda: sf.Beta(-1, 1), "Beta: a must be a finite number ≥ 0 or .*, found -1"),
        (lambda: sf.Beta(1, np.nan), "Beta: b must be a finite number ≥ 0"),
        (lambda: sf.Dirichlet(-0.5), "Dirichlet: alpha must be a finite number ≥ 0"),
        (lambda: sf.Dirichlet(np.array([1.0, -0.5])), "Dirichlet: alpha must be numbers ≥ 0"),
        (lambda: sf.Gamma(-1, 1), "shape must be a finite number ≥ 0"),
        (lambda: sf.Gamma(1, -1), "rate must be a finite number ≥ 0"),
        (lambda: sf.NormalInverseGamma(strength=-1), "strength must be a finite number ≥ 0"),
        (lambda: sf.NormalInverseGamma(shape=-1), "shape must be a finite number ≥ 0"),
        (lambda: sf.NormalInverseGamma(scale=-1), "scale must be a finite number ≥ 0"),
        (lambda: sf.ClassPrior("flat"), "'mle', 'uniform'"),
        (lambda: sf.ClassPrior(np.array([0.5, 0.6])), "sum of the priors should be 1"),
        (lambda: sf.ClassPrior(np.array([1.5, -0.5])), "non-negative"),
        (lambda: sf.ClassPrior(np.array([[0.5, 0.5]])), "one number for each class"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_the_reason(make, said):
    with pytest.raises(InvalidOptionError, match=said):
        make()


def test_a_posterior_mean_of_the_variance_that_does_not_exist_is_refused():
    family = sf.Gaussian(prior=sf.NormalInverseGamma(shape=0.4))
    with pytest.raises(InvalidOptionError, match="shape above 1"):
        sf.Model.fit([[1.0], [2.0]], ["u", "v"], family)


# ---------------------------------------------------------------------------------------------------- priors


def totals_of(yes, n) -> sf.Totals:
    return sf.Totals(np.array([[float(n)]]), np.array([[float(yes)]]))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2.5, 4), (0.5, 3), (7, 0.5), (30, 2)])
def test_mean_and_mode_of_a_beta_are_those_of_its_density(a, b):
    grid = np.linspace(0, 1, 200001)[1:-1]
    assert_allclose(sf.Beta(a, b).mean(), stats.beta(a, b).mean(), rtol=1e-13)
    if (a, b) != (1, 1):
        assert_allclose(sf.Beta(a, b).mode(), grid[np.argmax(stats.beta.logpdf(grid, a, b))], atol=1e-5)


@pytest.mark.parametrize(("a", "b"), [(0.5, 1.4), (0.5, 1.5), (1.3, 0.2), (0.9, 1.05)])
def test_a_beta_that_piles_up_at_one_end_has_its_mode_there(a, b):
    assert_array_equal(sf.Beta(a, b).mode(), float(a > b))


@pytest.mark.parametrize(("a", "b"), [(0.5, 1.4), (0.5, 0.7), (3, 2), (0.2, 5), (4, 0.3), (1, 1), (0.0, 0.5)])
def test_a_beta_is_a_dirichlet_of_two_outcomes(a, b):
    nothing = np.zeros(2)
    both = sf.Dirichlet(np.array([a, b]))
    assert_allclose([sf.Beta(a, b).mean(), 1 - sf.Beta(a, b).mean()], both.mean(nothing), rtol=1e-13)
    assert_allclose([sf.Beta(a, b).mode(), 1 - sf.Beta(a, b).mode()], both.mode(nothing), rtol=1e-13)


def test_a_beta_that_knows_nothing_says_one_half():
    assert_array_equal(sf.Beta(0, 0).mean(), 0.5)


def test_a_beta_is_updated_by_bayes_rule():
    before, theta = sf.Beta(2.0, 3.0), np.linspace(0.05, 0.95, 7)
    after = before.update(totals_of(4, 9))
    likelihood = stats.binom.logpmf(4, 9, theta)
    gain = stats.beta.logpdf(theta, after.a, after.b)[0] - stats.beta.logpdf(theta, before.a, before.b)
    assert_allclose(np.ptp(gain - likelihood), 0.0, atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 3.5, np.array([0.5, 2.0, 4.0])])
def test_mean_of_a_dirichlet_is_that_of_its_density(alpha):
    counts = np.array([2.0, 0.0, 5.0])
    assert_allclose(sf.Dirichlet(alpha).mean(counts), stats.dirichlet(counts + alpha).mean(), rtol=1e-13)


@pytest.mark.parametrize("alpha", [1.0, 3.5, np.array([1.5, 2.0, 4.0])])
def test_mode_of_a_dirichlet_is_where_its_density_is_largest(alpha):
    counts = np.array([2.0, 1.0, 5.0])
    mode = sf.Dirichlet(alpha).mode(counts)
    density = stats.dirichlet(counts + alpha)
    assert_allclose(mode.sum(), 1.0, rtol=1e-14)
    for i, j in [(0, 1), (1, 2), (2, 0)]:
        step = np.zeros(3)
        step[i], step[j] = 1e-3, -1e-3
        assert density.logpdf(mode) > density.logpdf(mode + step)
        assert density.logpdf(mode) > density.logpdf(mode - step)


def test_an_outcome_below_one_pseudo_count_has_no_share_in_the_mode():
    assert_array_equal(sf.Dirichlet(0.5).mode(np.array([3.5, 0.0])), [1.0, 0.0])
    assert_array_equal(sf.Dirichlet(0.5).mode(np.zeros(4)), np.full(4, 0.25))


@pytest.mark.parametrize(("shape", "rate"), [(1, 1), (2.5, 4), (0.5, 3), (30, 0.5)])
def test_mean_and_mode_of_a_gamma_are_those_of_its_density(shape, rate):
    assert_allclose(sf.Gamma(shape, rate).mean(), stats.gamma(shape, scale=1 / rate).mean(), rtol=1e-13)
    grid = np.linspace(1e-9, 4 * shape / rate, 400001)
    peak = grid[np.argmax(stats.gamma.logpdf(grid, shape, scale=1 / rate))]
    assert_allclose(sf.Gamma(shape, rate).mode(), peak, atol=2e-5 * 4 * shape / rate)


def test_a_gamma_is_updated_by_bayes_rule():
    before, rate = sf.Gamma(2.0, 3.0), np.linspace(0.2, 5.0, 7)
    after = before.update(totals_of(9, 4))
    likelihood = 9 * np.log(rate) - 4 * rate
    gain = stats.gamma.logpdf(rate, after.shape[0, 0], scale=1 / after.rate[0, 0])
    gain -= stats.gamma.logpdf(rate, before.shape, scale=1 / before.rate)
    assert_allclose(np.ptp(gain - likelihood), 0.0, atol=1e-12)


def normal_inverse_gamma_logpdf(mean, variance, prior) -> float:
    given = stats.norm.logpdf(mean, prior.mean, np.sqrt(variance / prior.strength))
    return given + stats.invgamma.logpdf(variance, prior.shape, scale=prior.scale)


def test_a_normal_inverse_gamma_is_updated_by_bayes_rule():
    x = np.array([1.0, 2.5, 4.0, 3.0])
    before = sf.NormalInverseGamma(0.5, 2.0, 3.0, 1.5)
    after = before.update(sf.Moments.of(x[:, None], np.zeros(4, np.int32), 1))
    after = sf.NormalInverseGamma(
        *(float(np.squeeze(v)) for v in (after.mean, after.strength, after.shape, after.scale))
    )
    rest = [
        normal_inverse_gamma_logpdf(m, v, after)
        - normal_inverse_gamma_logpdf(m, v, before)
        - stats.norm.logpdf(x, m, np.sqrt(v)).sum()
        for m in (-1.0, 0.0, 2.0)
        for v in (0.3, 1.0, 4.0)
    ]
    assert_allclose(np.ptp(rest), 0.0, atol=1e-11)


@pytest.mark.parametrize("variance", ["class", "shared"])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_the_mode_of_means_and_variances_is_where_their_posterior_is_largest(variance, classes):
    rng = np.random.default_rng(classes)
    y = np.arange(40) % classes
    x = rng.normal(y[:, None], 1.0 + y[:, None])
    prior = sf.NormalInverseGamma(0.5, 2.0, 3.0, 1.5)
    model = sf.Model.fit(x, y, sf.Gaussian(prior, "map", variance=variance))
    means, variances = model.distribution.mean[:, 0], model.distribution.variance[:, 0]

    def log_posterior(means, variances):
        given = stats.norm.logpdf(means, prior.mean, np.sqrt(variances / prior.strength)).sum()
        hyper = stats.invgamma.logpdf(
            variances if variance == "class" else variances[0], prior.shape, scale=prior.scale
        )
        return stats.norm.logpdf(x[:, 0], means[y], np.sqrt(variances[y])).sum() + given + np.sum(hyper)

    top = log_posterior(means, variances)
    for factor in (0.99, 1.01):
        assert log_posterior(means, variances * factor) < top
        assert log_posterior(means * factor, variances) < top


def test_what_a_normal_inverse_gamma_leaves_out_is_taken_from_all_classes_together():
    x, y = np.array([[0.0], [2.0], [10.0], [14.0]]), np.array([0, 0, 1, 1])
    filled = sf.NormalInverseGamma().centred(sf.Moments.of(x, y.astype(np.int32), 2))
    assert_allclose(filled.mean, 6.5)  # of all rows
    assert_allclose(filled.scale, 0.5 * (1 + 1 + 4 + 4) / 4)  # half the variance within classes
    kept = sf.NormalInverseGamma(mean=1.0, scale=2.0).centred(sf.Moments.of(x, y.astype(np.int32), 2))
    assert (kept.mean, kept.scale) == (1.0, 2.0)


# -------------------------------------------------------------------------------------------- class priors

WEIGHTS = np.array([1.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("rule", "expected", "parameters"),
    [
        ("mle", WEIGHTS / 8, 2),
        ("uniform", np.full(3, 1 / 3), 0),
        (sf.Dirichlet(1.0), (WEIGHTS + 1) / 11, 2),
        (sf.Dirichlet(np.array([0.0, 1.0, 3.0])), np.array([1.0, 4.0, 7.0]) / 12, 2),
        (np.array([0.5, 0.25, 0.25]), [0.5, 0.25, 0.25], 0),
        ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25], 0),
    ],
    ids=str,
)
def test_the_class_prior_follows_its_rule(rule, expected, parameters):
    prior = sf.ClassPrior(rule)
    assert_allclose(np.exp(prior.log(WEIGHTS)), expected, rtol=1e-14)
    assert prior.n_parameters(3) == parameters


def test_a_class_prior_that_is_ignored_adds_nothing():
    prior = sf.ClassPrior(ignored=True)
    assert_array_equal(prior.log(WEIGHTS), np.zeros(3))
    assert prior.n_parameters(3) == 0


def test_a_class_without_rows_has_probability_zero_by_maximum_likelihood_only():
    weight = np.array([2.0, 0.0])
    assert_array_equal(sf.ClassPrior().log(weight), [0.0, -np.inf])
    assert_allclose(np.exp(sf.ClassPrior(sf.Dirichlet(1)).log(weight)), [3 / 4, 1 / 4])


def test_a_given_probability_of_zero_rules_a_class_out():
    x, y = [[0.0], [1.0], [4.0], [5.0]], ["u", "u", "v", "v"]
    model = sf.Model.fit(x, y, sf.Gaussian(), sf.ClassPrior([0.0, 1.0]))
    assert_array_equal(model.posterior(np.array([[0.5]])), [[0.0, 1.0]])


def test_given_probabilities_must_be_as_many_as_the_classes():
    with pytest.raises(InvalidOptionError, match="Number of priors must match number of classes"):
        sf.Model.fit([[1.0], [2.0]], ["u", "v"], sf.Gaussian(), sf.ClassPrior([0.2, 0.3, 0.5]))


def test_a_weighted_class_prior_counts_weights_and_not_rows():
    model = sf.Model.fit([[1.0], [2.0], [3.0]], ["u", "v", "v"], sf.Gaussian(), weight=[6.0, 1.0, 1.0])
    assert_allclose(np.exp(model.log_prior), [0.75, 0.25], rtol=1e-14)


# --------------------------------------------------------------------------------------------- linear forms

LINEAR = [
    ("truths", sf.Bernoulli()),
    ("truths", sf.Bernoulli(learn="predictive")),
    ("truths", sf.Bernoulli(prior=None)),
    ("truths", sf.Bernoulli(prior=sf.Beta(3, 2), learn="map")),
    ("shares", sf.Bernoulli(threshold=None)),
    ("counts", sf.Multinomial()),
    ("counts", sf.Multinomial(prior=None)),
    ("counts", sf.Multinomial(prior=sf.Dirichlet(2), learn="map")),
    ("counts", sf.Complement()),
    ("counts", sf.Poisson()),
    ("counts", sf.Poisson(prior=None)),
    ("counts", sf.Poisson(prior=sf.Gamma(2, 1), learn="map")),
    ("reals", sf.Gaussian(variance="shared")),
    ("reals", sf.Gaussian(prior=None, variance="shared")),
    ("reals", sf.Gaussian(learn="map", variance="shared")),
    ("reals", sf.Gaussian(variance=2.5)),
    ("reals", sf.Gaussian(prior=None, variance=2.5)),
]


def complete(kind: str, classes: int, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows without gaps, in which every class has seen every column true and false."""
    rng = np.random.default_rng(classes)
    codes = np.arange(n) % classes
    x = draw(kind, rng, n, codes)
    return x, LABELS[codes], draw(kind, rng, 20, rng.integers(0, classes, 20))


@pytest.mark.parametrize(("kind", "family"), LINEAR, ids=repr)
def test_the_linear_form_of_two_classes_is_the_log_odds(kind, family):
    x, y, rows = complete(kind, 2)
    model = sf.Model.fit(x, y, family)
    form, joint = model.linear(), model.log_joint(rows)
    assert form.coef.shape == (1, 4)
    assert form.intercept.shape == (1,)
    assert_allclose(rows @ form.coef[0] + form.intercept[0], joint[:, 1] - joint[:, 0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "family"), LINEAR, ids=repr)
def test_the_softmax_of_the_linear_form_is_the_posterior(kind, family):
    x, y, rows = complete(kind, 3)
    model = sf.Model.fit(x, y, family)
    form = model.linear()
    scores = rows @ form.coef.T + form.intercept
    log_posterior = scores - logsumexp(scores, axis=1, keepdims=True)
    assert_allclose(log_posterior, model.log_posterior(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "family", "reason"),
    [
        ("reals", sf.Gaussian(), "quadratic in x"),
        ("reals", sf.Gaussian(prior=None), "quadratic in x"),
        ("reals", sf.Gaussian(learn="predictive"), "Student's t are not linear"),
        ("reals", sf.Gaussian(learn="predictive", variance="shared"), "Student's t are not linear"),
        ("counts", sf.Multinomial(learn="predictive"), "counts less when it is drawn again"),
        ("counts", sf.Poisson(learn="predictive"), "negative binomials are not linear"),
        ("categories", sf.Categorical(), "linear in the indicators"),
    ],
    ids=repr,
)
def test_where_there_is_no_linear_form_the_error_says_why(kind, family, reason):
    x, y, _ = complete(kind, 2)
    with pytest.raises(NoLinearFormError, match=reason):
        sf.Model.fit(x, y, family).linear()


@pytest.mark.parametrize(
    "family", [sf.Bernoulli(prior=None), sf.Multinomial(prior=None), sf.Poisson(prior=None)], ids=repr
)
def test_probabilities_of_zero_have_no_linear_form(family):
    with pytest.raises(NoLinearFormError, match="smooth with a prior"):
        sf.Model.fit([[1.0, 0.0], [1.0, 1.0]], ["u", "v"], family).linear()


def test_a_predictive_with_given_variance_is_linear_only_where_classes_weigh_the_same():
    x, y, rows = complete("reals", 2)
    model = sf.Model.fit(x, y, sf.Gaussian(learn="predictive", variance=2.0))
    form, joint = model.linear(), model.log_joint(rows)
    assert_allclose(rows @ form.coef[0] + form.intercept[0], joint[:, 1] - joint[:, 0], rtol=1e-12, atol=1e-12)
    with pytest.raises(NoLinearFormError):
        sf.Model.fit(x[:-1], y[:-1], sf.Gaussian(learn="predictive", variance=2.0)).linear()


# ------------------------------------------------------------------------------------------- parameter counts


@pytest.mark.parametrize(
    ("kind", "family", "count"),
    [
        ("truths", sf.Bernoulli(), 3 * 4),
        ("counts", sf.Multinomial(), 3 * (4 - 1)),
        ("counts", sf.Multinomial(learn="predictive"), 3 * (4 - 1)),
        ("counts", sf.Poisson(), 3 * 4),
        ("counts", sf.Poisson(learn="predictive"), 3 * 4),
        ("categories", sf.Categorical(min_categories=np.array(SIZES)), 3 * (1 + 2 + 3 + 4)),
        ("names", sf.Categorical(), 3 * (1 + 2 + 3 + 4)),
        ("reals", sf.Gaussian(), 3 * 4 * 2),
        ("reals", sf.Gaussian(variance="shared"), 3 * 4 + 4),
        ("reals", sf.Gaussian(variance=1.0), 3 * 4),
        ("reals", sf.Gaussian(learn="predictive"), 3 * 4 * 2),
        ("reals", sf.Gaussian(learn="predictive", variance="shared"), 3 * 4 + 4),
        ("reals", sf.Gaussian(learn="predictive", variance=1.0), 3 * 4),
        ("counts", sf.Complement(), 3 * 4),
    ],
    ids=repr,
)
def test_the_number_of_free_parameters_is_the_textbooks(kind, family, count):
    p = problem(kind, 1)
    assert sf.Model.fit(p.x, p.y, family).distribution.n_parameters == count
    assert sf.Model.fit(p.x, p.y, family).n_parameters == count + 2
    assert sf.Model.fit(p.x, p.y, family, sf.ClassPrior("uniform")).n_parameters == count


# --------------------------------------------------------------------------------------------------- drawing

DRAWS = 40_000


def assert_moments(drawn, mean, variance):
    """Mean and variance of each column, within six standard errors (of the variance: a generous guess)."""
    assert_allclose(drawn.mean(axis=0), mean, atol=6 * np.sqrt(np.max(variance) / len(drawn)))
    assert_allclose(drawn.var(axis=0), variance, rtol=0.12)


def drawn_from(kind: str, family: sf.Family, label: str) -> tuple[np.ndarray, int]:
    p = problem(kind, 1)
    model = sf.Model.fit(p.x, p.y, family)
    x, y = model.sample(DRAWS, label=label, random_state=5)
    assert (y == label).all()
    return x, int(np.flatnonzero(label == LABELS)[0])


def test_drawn_truths_have_their_probabilities():
    x, c = drawn_from("truths", sf.Bernoulli(), "bee")
    p = problem("truths", 1)
    theta = reference.bernoulli(p.x, p.y, None, LABELS).parameters["probability"][c]
    assert set(np.unique(x)) == {0.0, 1.0}
    assert_moments(x, theta, theta * (1 - theta))


def test_drawn_counts_have_their_rates():
    x, c = drawn_from("counts", sf.Poisson(), "ox")
    p = problem("counts", 1)
    rate = reference.poisson(p.x, p.y, None, LABELS).parameters["rate"][c]
    assert_moments(x, rate, rate)


def test_counts_drawn_from_the_predictive_are_spread_as_the_negative_binomial():
    x, c = drawn_from("counts", sf.Poisson(learn="predictive"), "ox")
    p = problem("counts", 1)
    shape = reference.totals(p.x, p.y, None, LABELS)[c] + 1
    rate = reference.observed_weight(p.x, p.y, None, LABELS)[c] + 1
    expected = stats.nbinom(shape, rate / (rate + 1))
    assert_moments(x, expected.mean(), expected.var())


def test_drawn_words_come_in_their_shares_and_rows_in_their_mean_length():
    p = problem("counts", 1)
    full = replace(p, x=np.nan_to_num(p.x))
    model = sf.Model.fit(full.x, full.y, sf.Multinomial())
    x, _ = model.sample(DRAWS, label="ant", random_state=1)
    theta = reference.multinomial(full.x, full.y, None, LABELS).parameters["probability"][0]
    length = full.x[full.y == "ant"].sum(axis=1).mean()
    assert_moments(x, length * theta, length * theta)  # a Poisson number of draws makes Poisson counts


def test_words_drawn_from_the_predictive_come_in_bursts():
    p = problem("counts", 1)
    x, y = np.nan_to_num(p.x), p.y
    model = sf.Model.fit(x, y, sf.Multinomial(learn="predictive"))
    drawn, _ = model.sample(DRAWS, label="ant", random_state=1)
    alpha = reference.totals(x, y, None, LABELS)[0] + 1
    bag = stats.dirichlet(alpha)
    length = x[y == "ant"].sum(axis=1).mean()
    assert_moments(drawn, length * bag.mean(), length * bag.mean() + length**2 * bag.var())


@pytest.mark.parametrize("family", [sf.Gaussian(), sf.Gaussian(variance="shared"), sf.Gaussian(variance=2.0)], ids=repr)
def test_drawn_numbers_have_their_means_and_variances(family):
    x, c = drawn_from("reals", family, "bee")
    p = problem("reals", 1)
    expected = reference.gaussian(p.x, p.y, None, LABELS, variance=family.variance).parameters
    assert_moments(x, expected["mean"][c], expected["variance"][c])


def test_numbers_drawn_from_the_predictive_are_students():
    x, c = drawn_from("reals", sf.Gaussian(learn="predictive"), "bee")
    p = problem("reals", 1)
    expected = reference.gaussian(p.x, p.y, None, LABELS, learn="predictive").parameters
    freedom = 3.0 + reference.observed_weight(p.x, p.y, None, LABELS)[c]
    assert_moments(x, expected["mean"][c], expected["spread"][c] * freedom / (freedom - 2))


@pytest.mark.parametrize("kind", ["categories", "names"])
def test_drawn_categories_have_their_probabilities(kind):
    x, c = drawn_from(kind, sf.Categorical(), "ox")
    p = problem(kind, 1)
    known = NAMES if kind == "names" else tuple(range(m) for m in SIZES)
    theta = reference.categorical(p.x, p.y, None, LABELS, known).parameters["probability"][c]
    shares = np.concatenate([[np.mean(x[:, j] == k) for k in known[j]] for j in range(len(SIZES))])
    assert_allclose(shares, theta, atol=6 * 0.5 / np.sqrt(DRAWS))


def test_drawn_labels_come_in_their_shares_and_draws_can_be_repeated():
    p = problem("reals", 1)
    model = sf.Model.fit(p.x, p.y, sf.Gaussian(), sf.ClassPrior([0.2, 0.5, 0.3]))
    x, y = model.sample(DRAWS, random_state=3)
    assert_allclose([np.mean(y == label) for label in LABELS], [0.2, 0.5, 0.3], atol=6 * 0.5 / np.sqrt(DRAWS))
    means = reference.gaussian(p.x, p.y, None, LABELS).parameters["mean"]
    for c, label in enumerate(LABELS):
        assert_allclose(x[y == label].mean(axis=0), means[c], atol=0.2)
    again = model.sample(DRAWS, random_state=3)
    assert_array_equal(again[0], x)
    assert_array_equal(again[1], y)


def test_drawing_from_an_unknown_class_is_refused_by_name():
    model = sf.Model.fit([[1.0], [2.0]], ["u", "v"], sf.Gaussian())
    with pytest.raises(MismatchError, match="No class 'w': the classes are 'u', 'v'"):
        model.sample(1, label="w")


def test_scores_that_are_no_distribution_cannot_be_drawn_from():
    model = sf.Model.fit([[1.0, 2.0], [2.0, 0.0]], ["u", "v"], sf.Complement(), sf.ClassPrior(ignored=True))
    with pytest.raises(NoDistributionError, match="only scores classes"):
        model.sample(1)


# ---------------------------------------------------------------------------------------------------- tables


def test_tables_read_as_text():
    x = [["a", "u"], ["a", "v"], ["b", "v"], ["b", "v"]]
    model = sf.Model.fit(x, ["yes", "yes", "yes", "no"], sf.Categorical(prior=None))
    prior, first, second = model.tables(["letter", "side"])
    assert str(prior) == "prior    no   yes\np(y)   0.25  0.75"
    assert str(first) == "letter  no       yes\na        0  0.666667\nb        1  0.333333"
    assert str(second) == "side  no       yes\nu      0  0.333333\nv      1  0.666667"


def test_tables_of_truths_and_counts_have_a_row_for_each_column():
    x, y = [[1, 0], [1, 1], [0, 1], [0, 1]], ["u", "u", "v", "v"]
    truths = sf.Model.fit(x, y, sf.Bernoulli(prior=None)).tables()[1]
    assert str(truths) == "p(x = 1 | y)    u  v\nx0              1  0\nx1            0.5  1"
    rates = sf.Model.fit(x, y, sf.Poisson(prior=None)).tables(["calls", "mails"])[1]
    assert str(rates) == "rate     u  v\ncalls    1  0\nmails  0.5  1"
    words = sf.Model.fit(x, y, sf.Multinomial(prior=None)).tables()[1]
    assert str(words).splitlines()[1:] == ["x0        0.666667  0", "x1        0.333333  1"]
    expected = sf.Model.fit(x, y, sf.Poisson(learn="predictive")).tables()[1]
    assert_allclose(expected.values, np.array([[3, 1], [2, 3]]) / 3)


def test_tables_of_numbers_show_mean_and_deviation():
    x, y = [[1.0], [3.0], [0.0], [10.0]], ["u", "u", "v", "v"]
    model = sf.Model.fit(x, y, sf.Gaussian(prior=None))
    assert str(model.tables(["height"])[1]) == "height     u  v\nmean       2  5\ndeviation  1  5"
    student = sf.Model.fit(x, y, sf.Gaussian(learn="predictive")).tables(["height"])[1]
    assert list(student.rows) == ["location", "scale", "freedom"]
    assert_allclose(student.values[2], [5, 5])  # 2 (3/2) + 2 rows


def test_a_column_that_was_never_observed_has_an_empty_table_and_no_say():
    x = np.array([["a", None], ["b", None], ["b", None]], dtype=object)
    model = sf.Model.fit(x, ["u", "u", "v"], sf.Categorical())
    alone = sf.Model.fit(x[:, :1], ["u", "u", "v"], sf.Categorical())
    assert_array_equal(model.log_joint(x), alone.log_joint(x[:, :1]))
    assert "nothing" in str(model.tables(["letter", "nothing"])[2])


# -------------------------------------------------------------------------------------------- leaving one out


def expected_without_each(case: Case, p: Problem, class_alpha: float) -> np.ndarray:
    """The oracle learns anew, once for each row, from all other rows."""
    out = np.zeros((len(p.y), len(LABELS)))
    for i in range(len(p.y)):
        rest = np.arange(len(p.y)) != i
        y, weight = p.y[rest], p.weight[rest]
        density = case.expected(p.x[rest], y, weight).log_density(p.x[i : i + 1])
        out[i] = reference.log_joint(reference.log_class_prior(y, weight, LABELS, class_alpha), [density])[0]
    return out


@every_case
def test_leaving_one_out_is_learning_anew_without_the_row(case):
    p = problem(case.kind, 2, n=24)
    whole = case.family.summarize(p.x, p.y, p.weight)
    found = leave_one_out(whole, case.family, sf.ClassPrior(sf.Dirichlet(1)), p.x, p.y, p.weight)
    assert_allclose(found, expected_without_each(case, p, 1.0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [c for c in CASES if c.kind in ("counts", "truths")], ids=str)
def test_leaving_one_out_of_a_sparse_matrix_is_that_of_the_dense_one(case):
    p = problem(case.kind, 2, n=24)
    whole = case.family.summarize(p.x, p.y)
    sparse = scipy.sparse.csr_matrix(p.x)
    dense = leave_one_out(whole, case.family, sf.ClassPrior(), p.x, p.y)
    assert_allclose(leave_one_out(whole, case.family, sf.ClassPrior(), sparse, p.y), dense, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", ["mle", "uniform", [0.2, 0.3, 0.5], sf.Dirichlet(2.0)], ids=str)
def test_leaving_one_out_takes_the_row_out_of_the_class_prior_too(rule):
    p, family, prior = problem("reals", 6, n=12), sf.Gaussian(), sf.ClassPrior(rule)
    found = leave_one_out(family.summarize(p.x, p.y), family, prior, p.x, p.y)
    for i in range(len(p.y)):
        rest = np.arange(len(p.y)) != i
        model = sf.Model.fit(p.x[rest], p.y[rest], family, prior)
        assert_allclose(found[i], model.log_joint(p.x[i : i + 1])[0], rtol=1e-9)


@pytest.mark.parametrize("learn", ["mean", "map", "predictive"])
def test_leaving_one_out_heeds_each_categorys_own_pseudo_count(learn):
    alpha = (np.array([1.5, 2.0]), np.array([1.5, 1.2, 3.0]), np.arange(1.0, 5.0), np.full(5, 1.3))
    family = sf.Categorical(sf.Dirichlet(np.concatenate(alpha)), learn)
    p = problem("names", 4, n=24)
    found = leave_one_out(
        family.summarize(p.x, p.y, p.weight), family, sf.ClassPrior(sf.Dirichlet(1)), p.x, p.y, p.weight
    )
    case = Case(family, "names", "categorical", {"alpha": alpha, "learn": learn})
    assert_allclose(found, expected_without_each(case, p, 1.0), rtol=1e-9)


def test_leaving_some_of_the_rows_out_needs_only_those_rows():
    p, family = problem("names", 2), sf.Categorical()
    whole = family.summarize(p.x, p.y, p.weight)
    everyone = leave_one_out(whole, family, sf.ClassPrior(), p.x, p.y, p.weight)
    for i in range(0, len(p.y), 5):
        one = slice(i, i + 1)
        assert_allclose(
            leave_one_out(whole, family, sf.ClassPrior(), p.x[one], p.y[one], p.weight[one]), everyone[one], rtol=1e-12
        )


def test_leaving_one_out_skips_a_column_that_was_never_observed():
    x, y, family = np.array([[0.0, np.nan], [1.0, np.nan], [1.0, np.nan]]), ["u", "u", "v"], sf.Categorical()
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(), x, y)
    alone = leave_one_out(family.summarize(x[:, :1], y), family, sf.ClassPrior(), x[:, :1], y)
    assert_array_equal(found, alone)


@pytest.mark.parametrize(
    "family",
    [
        sf.Bernoulli(),
        sf.Categorical(),
        sf.Multinomial(),
        sf.Multinomial(learn="predictive"),
        sf.Poisson(),
        sf.Poisson(learn="predictive"),
        sf.Poisson(prior=sf.Gamma(0.5, 0.0), learn="predictive"),
        sf.Gaussian(),
        sf.Gaussian(learn="predictive"),
        sf.Gaussian(prior=None),
        sf.Poisson(prior=None),
        sf.Multinomial(prior=None),
    ],
    ids=repr,
)
def test_the_only_row_of_a_class_makes_its_class_impossible_when_it_is_left_out(family):
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), list("uuuuv")
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(), x, y)
    assert found[4, 1] == -np.inf
    assert np.isfinite(found[4, 0])


@pytest.mark.parametrize("learn", ["mean", "map", "predictive"])
def test_leaving_out_one_of_two_rows_is_learning_from_the_other(learn):
    family, prior, y = sf.Gaussian(learn=learn), sf.ClassPrior(sf.Dirichlet(1)), ["u", "u", "v"]
    for x in np.random.default_rng(0).normal(size=(50, 3, 1)):
        found = leave_one_out(family.summarize(x, y), family, prior, x, y)[0]
        assert_allclose(found, sf.Model.fit(x[1:], y[1:], family, prior).log_joint(x[:1])[0], rtol=1e-9)


@pytest.mark.parametrize("weight", [None, [0.4, 0.7, 0.2, 0.3]], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (sf.Bernoulli(prior=None), 1 / 2),  # nothing is known
        (sf.Bernoulli(sf.Beta(3, 1)), 3 / 4),
        (sf.Bernoulli(sf.Beta(3, 1), "map"), 1),
        (sf.Categorical(sf.Dirichlet(1), min_categories=2), 1 / 2),
        (sf.Categorical(sf.Dirichlet(2), "map", min_categories=2), 1 / 2),
        (sf.Categorical(sf.Dirichlet(1), "map", min_categories=2), 1 / 2),
        (sf.Categorical(sf.Dirichlet(0.5), "map", min_categories=2), 1 / 2),
        (sf.Categorical(prior=None, min_categories=2), 0),
        (sf.Poisson(sf.Gamma(1, 1)), np.exp(-1)),
        (sf.Poisson(sf.Gamma(1, 1), "predictive"), 1 / 4),
        (sf.Poisson(sf.Gamma(0.5, 0.0)), 0),
        (sf.Poisson(prior=None), 0),
    ],
    ids=repr,
)
def test_leaving_the_only_observation_of_a_column_out_leaves_the_prior(family, expected, weight):
    x, y = np.array([[1.0], [np.nan], [1.0], [0.0]]), ["u", "u", "v", "v"]
    found = leave_one_out(family.summarize(x, y, weight), family, sf.ClassPrior(ignored=True), x, y, weight)
    assert_allclose(np.exp(found[0, 0]), expected, rtol=1e-12)
    assert found[1, 0] == 0.0


def test_leaving_out_one_of_two_rows_leaves_a_point_mass():
    x, y = np.array([[1.1], [2.3], [0.4], [0.9], [1.7]]), np.array(["u", "u", "v", "v", "v"])
    family = sf.Gaussian(prior=None)
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(), x, y)
    for i in (0, 1):
        rest = np.arange(5) != i
        model = sf.Model.fit(x[rest], y[rest], family)
        assert_allclose(np.exp(found[i] - logsumexp(found[i])), model.posterior(x[i : i + 1])[0], atol=1e-12)


def test_leaving_the_only_row_out_leaves_nothing_possible():
    family = sf.Gaussian()
    found = leave_one_out(family.summarize([[1.0]], ["u"]), family, sf.ClassPrior(), [[1.0]], ["u"])
    assert_array_equal(found, [[-np.inf]])


def test_leaving_out_a_row_of_an_unknown_class_is_refused_by_name():
    family = sf.Gaussian()
    whole = family.summarize([[1.0], [2.0]], ["u", "v"])
    with pytest.raises(MismatchError, match="'w' was not in the training data"):
        leave_one_out(whole, family, sf.ClassPrior(), [[1.0]], ["w"])
    with pytest.raises(InvalidDataError, match="inconsistent numbers of samples"):
        leave_one_out(whole, family, sf.ClassPrior(), [[1.0], [2.0]], ["u"])


# ------------------------------------------------------------------------------------------- models of blocks

BLOCKS = (
    (sf.Gaussian(), "reals"),
    (sf.Poisson(), "counts"),
    (sf.Bernoulli(), "truths"),
    (sf.Categorical(), "categories"),
)


def mixed_problem(n: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sixteen columns of four kinds, column j of block b at 4j + b."""
    problems = [problem(kind, 3, n) for _, kind in BLOCKS]
    x = np.stack(
        [draw(kind, np.random.default_rng(b), n, np.arange(n) % 3) for b, (_, kind) in enumerate(BLOCKS)], axis=2
    )
    rows = np.stack([p.rows for p in problems], axis=2)
    return x.reshape(n, 16), LABELS[np.arange(n) % 3], rows.reshape(len(rows), 16)


POSITIONS = [list(range(b, 16, 4)) for b in range(4)]


def product_of(families, positions) -> Product:
    """A block of columns, called x0, x1, … by their positions, for each family."""
    names = [tuple(f"x{j}" for j in at) for at in positions]
    return Product(blocks=tuple(Block(each, family) for each, family in zip(names, families, strict=True)))


def test_the_log_joint_of_blocks_is_the_prior_and_the_sum_of_the_blocks():
    x, y, rows = mixed_problem()
    model = sf.Model.fit(as_frame(x), y, product_of([family for family, _ in BLOCKS], POSITIONS))
    categories = tuple(range(int(x[:, j].max()) + 1) for j in POSITIONS[3])
    densities = [
        reference.gaussian(x[:, POSITIONS[0]], y, None, LABELS).log_density(rows[:, POSITIONS[0]]),
        reference.poisson(x[:, POSITIONS[1]], y, None, LABELS).log_density(rows[:, POSITIONS[1]]),
        reference.bernoulli(x[:, POSITIONS[2]], y, None, LABELS).log_density(rows[:, POSITIONS[2]]),
        reference.categorical(x[:, POSITIONS[3]], y, None, LABELS, categories).log_density(rows[:, POSITIONS[3]]),
    ]
    prior = reference.log_class_prior(y, None, LABELS)
    joint = reference.log_joint(prior, densities)
    table = as_frame(rows)
    assert_allclose(model.log_joint(table), joint, rtol=1e-10)
    assert_allclose(model.log_posterior(table), reference.log_posterior(joint, prior), rtol=1e-9, atol=1e-10)
    assert_allclose(model.log_density(table), logsumexp(joint, axis=1), rtol=1e-10)
    assert_array_equal(model.predict(table), LABELS[joint.argmax(axis=1)])
    assert model.n_parameters == 2 + sum(part.n_parameters for part in model.distribution.parts)


def test_rows_drawn_from_blocks_have_all_columns_by_name():
    x, y, _ = mixed_problem()
    model = sf.Model.fit(as_frame(x), y, product_of([family for family, _ in BLOCKS], POSITIONS))
    columns, _ = model.sample(4000, label="ox", random_state=2)
    drawn = np.stack([columns[f"x{j}"] for j in range(16)], axis=1)
    expected = reference.means(x, y, None, LABELS)[2]
    assert_allclose(drawn.astype(float).mean(axis=0), expected, atol=0.7)
    assert set(np.unique(drawn[:, POSITIONS[2]])) == {0.0, 1.0}
    assert np.isfinite(model.log_joint(as_frame(columns))).all()


def test_the_linear_form_of_blocks_has_the_coefficients_of_one_after_the_other():
    x, y, _ = mixed_problem()
    families = [sf.Gaussian(variance="shared"), sf.Poisson(), sf.Bernoulli()]
    model = sf.Model.fit(as_frame(x), y, product_of(families, POSITIONS[:3]))
    form = model.linear()
    assert form.coef.shape == (3, 12)
    scores, joint = x[:, np.concatenate(POSITIONS[:3])] @ form.coef.T + form.intercept, model.log_joint(as_frame(x))
    assert_allclose(scores - scores[:, :1], joint - joint[:, :1], rtol=1e-12, atol=1e-11)


def test_one_block_may_hold_columns_in_another_order():
    x, y, rows = complete("reals", 2)
    order = [2, 0, 3, 1]
    whole = sf.Model.fit(x, y, sf.Gaussian(variance="shared"))
    model = sf.Model.fit(as_frame(x), y, product_of([sf.Gaussian(variance="shared")], [order]))
    assert_allclose(model.log_joint(as_frame(rows)), whole.log_joint(rows), rtol=1e-12)
    assert_allclose(model.linear().coef, whole.linear().coef[:, order], rtol=1e-12)


def test_tables_of_blocks_are_named_after_their_columns():
    x, y, _ = mixed_problem()
    tables = sf.Model.fit(as_frame(x), y, product_of([family for family, _ in BLOCKS], POSITIONS)).tables()
    assert [t.title for t in tables[1:5]] == ["x0", "x4", "x8", "x12"]
    assert list(tables[5].rows) == ["x1", "x5", "x9", "x13"]
    assert list(tables[6].rows) == ["x2", "x6", "x10", "x14"]


def test_names_and_numbers_may_stand_in_one_table():
    x = np.array([["a", 1.0], ["b", 2.0], ["a", 4.0], ["b", 6.0]], dtype=object)
    y = ["u", "u", "v", "v"]
    names, numbers = sf.Model.fit(x[:, :1], y, sf.Categorical()), sf.Model.fit(x[:, 1:].astype(float), y, sf.Gaussian())
    model = sf.Model.fit(as_frame(x), y, product_of([sf.Categorical(), sf.Gaussian()], [[0], [1]]))
    both = names.log_joint(x[:, :1]) + numbers.distribution.log_density(x[:, 1:].astype(float))
    assert_allclose(model.log_joint(as_frame(x)), both, rtol=1e-14)


@pytest.mark.parametrize(
    "family", [sf.Gaussian(), sf.Gaussian(learn="predictive"), sf.Poisson(), sf.Bernoulli(), sf.Multinomial()], ids=repr
)
def test_a_model_answers_for_whole_numbers_as_it_learns_from_them(family):
    x, y = np.array([[1, 2], [2, 0], [4, 5], [5, 3]]), ["u", "u", "v", "v"]
    model = sf.Model.fit(x, y, family)
    assert_array_equal(model.log_joint(x), model.log_joint(x.astype(float)))


def test_a_model_answers_for_lists_of_names_as_it_learns_from_them():
    rows = [["a", "p"], ["b", "q"], ["b", "p"]]
    model = sf.Model.fit(rows, ["u", "v", "v"], sf.Categorical())
    assert_array_equal(model.log_joint(rows), model.log_joint(np.array(rows, dtype=object)))


# --------------------------------------------------------------------------------------- questions to a model


def test_a_posterior_over_a_hundred_thousand_columns_does_not_underflow():
    columns, telling = 100_000, 5
    theta = np.full((2, columns), 0.3)
    theta[0, :telling] = 0.6
    model = sf.Model.fit(np.eye(2, columns), ["u", "v"], sf.Bernoulli())
    model = replace(model, distribution=replace(model.distribution, probability=theta, complement=1 - theta))
    rows = np.zeros((2, columns))
    rows[1, : 2 * telling] = 1.0
    odds = np.array([(0.4 / 0.7) ** telling, 2.0**telling])  # of the first class; all else cancels
    assert_allclose(model.posterior(rows)[:, 0], odds / (1 + odds), rtol=1e-9)
    assert (model.log_joint(rows) < -30_000).all()  # e^−30000 is no float


def test_rows_impossible_under_every_class_get_the_prior_with_a_warning():
    model = sf.Model.fit([["a"], ["b"], ["b"]], ["u", "v", "v"], sf.Categorical(prior=None))
    rows = np.array([["a"], ["c"], ["d"]])
    with pytest.warns(ImpossibleRowWarning, match="2 of 3 rows"):
        assert_allclose(model.posterior(rows), [[1, 0], [1 / 3, 2 / 3], [1 / 3, 2 / 3]], rtol=1e-14)
    with pytest.warns(ImpossibleRowWarning, match="2 of 3 rows"):
        assert_allclose(model.log_posterior(rows)[1:], np.log([[1 / 3, 2 / 3]] * 2), rtol=1e-14)
    assert_array_equal(model.predict(rows), ["u", "v", "v"])
    assert_array_equal(model.log_density(rows), [np.log(1 / 3), -np.inf, -np.inf])


def test_a_row_of_gaps_gets_the_prior_without_a_warning():
    model = sf.Model.fit([[1.0], [2.0], [3.0]], ["u", "v", "v"], sf.Gaussian())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(model.posterior(np.array([[np.nan]])), [[1 / 3, 2 / 3]], rtol=1e-14)
        assert_allclose(model.log_density(np.array([[np.nan]])), [0.0], atol=1e-15)


def test_of_equally_probable_classes_the_first_is_predicted():
    model = sf.Model.fit([[0.0], [2.0], [1.0], [3.0]], ["u", "v", "u", "v"], sf.Gaussian(prior=None, variance=1.0))
    assert_array_equal(model.predict(np.array([[1.5]])), ["u"])


def test_nothing_can_be_learned_from_no_weight_at_all():
    with pytest.raises(InvalidDataError, match="total weight of all rows is zero"):
        sf.Model.fit([[1.0], [2.0]], ["u", "v"], sf.Gaussian(), weight=[0.0, 0.0])


@pytest.mark.parametrize("labels", [["b", "a", "c"], [7, -3, 40], [True, False, True], [2.0, -1.0, 7.0]], ids=str)
def test_labels_may_be_anything_that_sorts(labels):
    model = sf.Model.fit([[0.0], [10.0], [2.0]], labels, sf.Gaussian(prior=None, variance=1.0))
    assert_array_equal(model.labels, sorted(set(labels)))
    assert model.predict(np.array([[9.0]])).tolist() == [labels[1]]


def test_the_density_of_counts_sums_to_one():
    x, y, _ = complete("counts", 2)
    for learn in ("mean", "predictive"):
        model = sf.Model.fit(x[:, :1], y, sf.Poisson(learn=learn))
        assert_allclose(np.exp(model.log_density(np.arange(400.0)[:, None])).sum(), 1.0, rtol=1e-10)


def test_the_density_of_numbers_integrates_to_one():
    x, y, _ = complete("reals", 2)
    grid = np.linspace(-400, 400, 400_001)
    for learn in ("mean", "predictive"):
        model = sf.Model.fit(x[:, :1], y, sf.Gaussian(learn=learn))
        assert_allclose(np.trapezoid(np.exp(model.log_density(grid[:, None])), grid), 1.0, rtol=1e-6)


def test_the_predictive_of_draws_in_order_sums_to_one_over_all_orders():
    model = sf.Model.fit([[3.0, 1.0, 0.0]], ["u"], sf.Multinomial(learn="predictive"))
    rows = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)], dtype=float)
    orders = np.exp(gammaln(5.0) - gammaln(rows + 1.0).sum(axis=1))
    assert_allclose((orders * np.exp(model.log_density(rows))).sum(), 1.0, rtol=1e-12)


def test_rows_of_another_width_are_refused():
    x, y = np.ones((4, 3)), [0, 0, 1, 1]
    for family in (sf.Gaussian(), sf.Gaussian(learn="predictive"), sf.Poisson(learn="predictive"), sf.Multinomial()):
        model = sf.Model.fit(x, y, family)
        with pytest.raises(sf.MismatchError, match="Expected rows of 3 columns, found 1"):
            model.log_joint(x[:, :1])


def test_options_for_another_number_of_columns_are_refused():
    with pytest.raises(sf.MismatchError, match="options for 3 columns, data of 2"):
        sf.Multinomial(prior=sf.Dirichlet(np.ones(3))).summarize(np.ones((2, 2)), [0, 1])
    with pytest.raises(sf.MismatchError, match="options for 3 columns, data of 2"):
        sf.Gaussian(variance=np.ones(3)).summarize(np.ones((2, 2)), [0, 1])


def test_options_are_equal_where_their_fields_are():
    assert sf.Multinomial(prior=sf.Dirichlet(np.ones(3))) == sf.Multinomial(prior=sf.Dirichlet(np.ones(3)))
    assert sf.Gaussian(variance=np.ones(2)) != sf.Gaussian(variance=np.array([1.0, 2.0]))
    assert sf.Gamma(1, 2) == sf.Gamma(1, 2) != sf.Gamma(1, 3)
    assert sf.ClassPrior([0.5, 0.5]) == sf.ClassPrior([0.5, 0.5])


def test_nothing_is_predicted_from_nothing():
    empty = sf.Multinomial(prior=sf.Dirichlet(0), learn="predictive").estimate(sf.Totals.empty(1, 2))
    assert empty.log_density(np.array([[0.0, 0.0], [1.0, 0.0]])).ravel().tolist() == [0.0, -np.inf]
    improper = sf.Gaussian(prior=sf.NormalInverseGamma(0, 0, 0, 0), learn="predictive")
    with pytest.raises(sf.InvalidOptionError, match="A class without rows"):
        improper.estimate(sf.Moments.empty(1, 1))
    with pytest.raises(sf.InvalidOptionError, match="every zero is true"):
        sf.Bernoulli(threshold=-1.0).summarize(scipy.sparse.csr_matrix(np.ones((1, 1))), [0])


@pytest.mark.parametrize(
    "family", [sf.Gaussian(prior=None), sf.Gaussian(), sf.MultivariateGaussian(prior=None)], ids=str
)
def test_a_column_that_nobody_has_shown_says_nothing(family):
    x = np.array([[1.0, np.nan], [2.0, np.nan], [5.0, np.nan], [6.0, np.nan]])
    model = sf.Model.fit(x, [0, 0, 1, 1], family)
    rows = np.array([[1.5, 3.0], [1.5, np.nan]])
    assert_allclose(*model.posterior(rows), rtol=1e-12)


@pytest.mark.parametrize("residue", [1e-54, 1e-25])
def test_a_variance_that_only_rounding_left_does_not_make_the_default_prior_narrow(residue):
    weight, mean = np.array([[4.0], [1.0]]), np.full((2, 1), 1e6)
    exact, rounded = (sf.Moments(weight, mean, np.array([[left], [0.0]])) for left in (0.0, residue))
    for learn in ("mean", "map", "predictive"):
        family = sf.Gaussian(learn=learn)
        x = np.array([[1e6], [1e6 + 1.0]])
        assert_allclose(family.estimate(rounded).log_density(x), family.estimate(exact).log_density(x), rtol=1e-12)


def test_unbiased_variances_are_those_of_e1071_and_weka():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    own = np.stack([x[y == c].var(axis=0, ddof=1) for c in range(3)])
    family = sf.Gaussian(unbiased=True)
    seen = family.summarize(x, y).statistic
    assert_allclose(family.estimate(seen).variance, own, rtol=1e-12)
    shared = sf.Gaussian(variance="shared", unbiased=True).estimate(seen).variance
    within = sum(((x[y == c] - x[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3)) / (40 - 3)
    assert_allclose(shared, np.tile(within, (3, 1)), rtol=1e-12)
    left_out = family.leave_one_out(seen, family.estimate(seen), x, y.astype(np.int32), None)
    again = family.summarize(np.delete(x, 7, axis=0), np.delete(y, 7)).statistic
    assert_allclose(left_out[7], family.estimate(again).log_density(x[7:8])[0], rtol=1e-9)
    lonely = family.estimate(family.summarize([[1.0], [2.0], [4.0]], ["a", "a", "b"]).statistic)
    assert_allclose(lonely.variance, [[0.5], [np.var([1.0, 2.0, 4.0], ddof=1)]])
    with pytest.raises(sf.InvalidOptionError, match="unbiased is for variances that are learned without a prior"):
        sf.Gaussian(prior=sf.NormalInverseGamma(), unbiased=True)
    with pytest.raises(sf.InvalidOptionError, match="unbiased is for variances"):
        sf.Gaussian(variance=1.0, unbiased=True)


def test_a_formula_of_two_thresholds_is_no_table_of_two_values():
    x = Entry()
    two = Above(x, 0.0) + Above(x, 1.0)
    assert tabulated(two, x) is two
    one = Above(x, 0.0) * np.array([2.0, 3.0])
    table = tabulated(one, x)
    assert table is not one
    np.testing.assert_array_equal(table.at(np.array([[-1.0], [0.5]])), [[0.0, 0.0], [2.0, 3.0]])


def test_a_kernel_may_keep_one_value_and_not_none():
    assert sf.Kernel(limit=1).limit == 1
    with pytest.raises(sf.InvalidOptionError):
        sf.Kernel(limit=0)


def test_any_category_is_unknown_where_none_was_seen():
    model = sf.Model.fit(np.full((3, 1), np.nan), ["a", "b", "b"], sf.Categorical())
    assert_allclose(model.posterior(np.array([["x"], [None]], dtype=object)), [[1 / 3, 2 / 3]] * 2, rtol=1e-12)
