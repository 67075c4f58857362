"""Naive Bayes that is Bayesian: priors on π and θ, and predictions with the posterior integrated out."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB

X = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [0, 1], [1, 1]])
Y = np.array(["a", "a", "a", "b", "b", "c"])
ONES = {"a": (2, 1, 3), "b": (0, 2, 2), "c": (1, 1, 1)}  # ones of each column, and rows


def expected(x: tuple[int, int], alpha: int, b0: int, b1: int) -> list[Fraction]:
    """π̄_c Π θ̄^x (1 − θ̄)^(1−x), the posterior means by counting: β₁ for ones, β₀ for zeros."""
    out = []
    for ones in ONES.values():
        n = ones[2]
        joint = Fraction(n + alpha, 6 + 3 * alpha)
        for truth, count in zip(x, ones[:2], strict=True):
            theta = Fraction(count + b1, n + b0 + b1)
            joint *= theta if truth else 1 - theta
        out.append(joint)
    return [joint / sum(out) for joint in out]


@pytest.mark.parametrize("learn", ["mean", "predictive"])
@pytest.mark.parametrize(("alpha", "b0", "b1"), [(1, 1, 1), (2, 3, 1), (5, 1, 4)])
def test_predictions_are_the_closed_form_of_the_integrals(alpha, b0, b1, learn):
    model = sf.Model.fit(X, Y, sf.Bernoulli(sf.Beta(b1, b0), learn), sf.ClassPrior(sf.Dirichlet(alpha)))
    for x in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        found = model.posterior(np.array([x], dtype=float))[0]
        assert_allclose(found, [float(p) for p in expected(x, alpha, b0, b1)], rtol=1e-13)


def test_the_closed_form_is_the_integral():
    model = sf.Model.fit(X, Y, sf.Bernoulli(sf.Beta(1, 3), "predictive"), sf.ClassPrior(sf.Dirichlet(2)))
    joint = np.exp(model.log_joint(np.array([[1.0, 0.0]])))[0]
    for c, (first, second, n) in enumerate(ONES.values()):
        share = stats.beta(n + 2, 6 - n + 4)  # one share of a Dirichlet
        pi = quad(lambda p, share=share: p * share.pdf(p), 0, 1)[0]
        ones = quad(lambda t, k=first, n=n: t * stats.beta.pdf(t, k + 1, n - k + 3), 0, 1)[0]
        zeros = quad(lambda t, k=second, n=n: (1 - t) * stats.beta.pdf(t, k + 1, n - k + 3), 0, 1)[0]
        assert_allclose(joint[c], pi * ones * zeros, rtol=1e-8)


def test_posterior_means_under_flat_priors_are_laplace_smoothing():
    model = sf.Model.fit(X, Y, sf.Bernoulli(sf.Beta(1, 1)), sf.ClassPrior(sf.Dirichlet(1)))
    assert_allclose(np.exp(model.log_prior), [4 / 9, 3 / 9, 2 / 9], rtol=1e-14)
    assert_allclose(model.distribution.probability, [[3 / 5, 2 / 5], [1 / 4, 3 / 4], [2 / 3, 2 / 3]], rtol=1e-14)
    assert_allclose(np.exp(BernoulliNB(alpha=1).fit(X, Y).feature_log_prob_), model.distribution.probability)


def test_the_mode_under_one_more_pseudo_count_is_laplace_smoothing_too():
    mode = sf.Model.fit(X, Y, sf.Bernoulli(sf.Beta(2, 2), "map")).distribution.probability
    assert_allclose(mode, [[3 / 5, 2 / 5], [1 / 4, 3 / 4], [2 / 3, 2 / 3]], rtol=1e-14)


def test_categories_have_a_dirichlet_instead_of_a_beta():
    x, y = data.tennis()
    model = sf.Model.fit(x, y, sf.Categorical(sf.Dirichlet(1), "predictive"), sf.ClassPrior(sf.Dirichlet(1)))
    joint = np.exp(model.log_joint(data.TENNIS_QUESTION))[0]
    no = Fraction(6, 16) * Fraction(1, 8) * Fraction(3, 8) * Fraction(5, 7) * Fraction(4, 7)
    yes = Fraction(10, 16) * Fraction(5, 12) * Fraction(3, 12) * Fraction(4, 11) * Fraction(4, 11)
    assert_allclose(joint, [float(no), float(yes)], rtol=1e-13)
    estimator = CategoricalNB(alpha=1, class_prior=[6 / 16, 10 / 16]).fit(x, y)
    assert_allclose(estimator.predict_proba(data.TENNIS_QUESTION)[0, 1], float(yes / (no + yes)), rtol=1e-13)


def test_words_of_an_unknown_bag_follow_polyas_urn():
    model = sf.Model.fit([[2.0, 1.0]], ["a"], sf.Multinomial(sf.Dirichlet(1), "predictive"))
    # 3 and 2 balls; each one drawn goes back with another of its colour.
    draws = Fraction(3, 5) * Fraction(4, 6) * Fraction(2, 7)
    assert_allclose(np.exp(model.log_joint(np.array([[2.0, 1.0]]))), [[float(draws)]], rtol=1e-13)


def test_a_count_of_unknown_rate_is_negative_binomial():
    model = sf.Model.fit([[3.0], [5.0]], ["a", "a"], sf.Poisson(sf.Gamma(2, 1), "predictive"))
    x, posterior = 4, stats.gamma(2 + 8, scale=1 / (1 + 2))
    integral = quad(lambda rate: stats.poisson.pmf(x, rate) * posterior.pdf(rate), 0, 60)[0]
    assert_allclose(np.exp(model.log_joint(np.array([[float(x)]]))), [[integral]], rtol=1e-8)


def test_a_number_of_unknown_mean_and_variance_is_students():
    prior = sf.NormalInverseGamma(mean=0.0, strength=1.0, shape=2.0, scale=3.0)
    model = sf.Model.fit([[1.0], [3.0], [5.0]], ["a"] * 3, sf.Gaussian(prior, "predictive"))
    # Three rows of mean 3 and centred squares 8.
    mean, strength, shape = 9 / 4, 4.0, 2 + 3 / 2
    scale = 3 + 8 / 2 + 0.5 * 1 * 3 / 4 * 3**2
    expected = stats.t.logpdf(2.0, 2 * shape, mean, np.sqrt(scale / shape * (1 + 1 / strength)))
    assert_allclose(model.log_joint(np.array([[2.0]])), [[expected]], rtol=1e-12)
