"""A coin: maximum likelihood N/n, mode (N+a−1)/(n+a+b−2), posterior mean (N+a)/(n+a+b)."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf

TOSSES = [(3, 4), (0, 5), (5, 5), (7, 20), (1, 1)]
PRIORS = [(1, 1), (2, 2), (3, 5), (10, 2)]


def probability(heads: int, n: int, family: sf.Bernoulli) -> float:
    x = np.array([[1.0]] * heads + [[0.0]] * (n - heads))
    return float(sf.Model.fit(x, ["coin"] * n, family).distribution.probability[0, 0])


@pytest.mark.parametrize(("heads", "n"), TOSSES)
def test_the_likeliest_probability_is_the_share_of_heads(heads, n):
    assert probability(heads, n, sf.Bernoulli(prior=None)) == float(Fraction(heads, n))


@pytest.mark.parametrize(("heads", "n"), TOSSES)
@pytest.mark.parametrize(("a", "b"), PRIORS)
def test_the_mode_of_the_posterior_is_the_lectures_fraction(heads, n, a, b):
    expected = Fraction(heads + a - 1, n + a + b - 2)
    assert_allclose(probability(heads, n, sf.Bernoulli(sf.Beta(a, b), "map")), float(expected), rtol=1e-15)


@pytest.mark.parametrize(("heads", "n"), TOSSES)
@pytest.mark.parametrize(("a", "b"), PRIORS)
def test_the_posterior_mean_is_the_lectures_fraction(heads, n, a, b):
    expected = Fraction(heads + a, n + a + b)
    assert_allclose(probability(heads, n, sf.Bernoulli(sf.Beta(a, b))), float(expected), rtol=1e-15)


@pytest.mark.parametrize(("a", "b"), PRIORS)
def test_the_probability_of_heads_with_the_posterior_integrated_out_is_its_mean(a, b):
    predictive = probability(7, 20, sf.Bernoulli(sf.Beta(a, b), "predictive"))
    assert_allclose(predictive, float(Fraction(7 + a, 20 + a + b)), rtol=1e-15)


def test_the_posterior_is_the_beta_of_the_counts():
    after = sf.Beta(2, 3).update(sf.Totals(np.array([[20.0]]), np.array([[7.0]])))
    assert (after.a, after.b) == (9, 16)


def test_a_flat_prior_makes_the_mode_the_share_of_heads():
    for heads, n in TOSSES:
        assert probability(heads, n, sf.Bernoulli(sf.Beta(1, 1), "map")) == float(Fraction(heads, n))


def test_a_rare_word_unseen_in_training_is_impossible_without_a_prior_only():
    assert probability(0, 5, sf.Bernoulli(prior=None)) == 0.0
    assert_allclose(probability(0, 5, sf.Bernoulli(sf.Beta(1, 1))), 1 / 7)


def test_pseudo_counts_are_imagined_tosses():
    imagined = probability(7 + 2, 20 + 5, sf.Bernoulli(prior=None))
    assert_allclose(probability(7, 20, sf.Bernoulli(sf.Beta(2, 3))), imagined, rtol=1e-15)


def test_two_coins_are_told_apart_by_bayes_rule():
    x, y = np.array([[1.0]] * 3 + [[0.0]] + [[1.0]] + [[0.0]] * 3), ["a"] * 4 + ["b"] * 4
    posterior = sf.Model.fit(x, y, sf.Bernoulli(prior=None)).posterior(np.array([[1.0], [0.0]]))
    assert_allclose(posterior, [[3 / 4, 1 / 4], [1 / 4, 3 / 4]], rtol=1e-14)
