"""Poisson class-conditionals make the posterior a logistic function."""

from math import exp, factorial, log

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

import suffice as sf
from suffice.naive_bayes import PoissonNB

X = np.array([[2.0], [4.0], [3.0], [7.0], [9.0]])
Y = np.array(["calm", "calm", "calm", "busy", "busy"])  # rates 3 and 8 by maximum likelihood


def test_rates_are_the_mean_counts():
    model = sf.Model.fit(X, Y, sf.Poisson(prior=None))
    assert_allclose(model.distribution.rate, [[8.0], [3.0]], rtol=1e-15)


@pytest.mark.parametrize("x", [0, 1, 5, 20])
def test_the_joint_is_the_prior_and_poissons_formula(x):
    model = sf.Model.fit(X, Y, sf.Poisson(prior=None))
    expected = [2 / 5 * 8**x * exp(-8) / factorial(x), 3 / 5 * 3**x * exp(-3) / factorial(x)]
    assert_allclose(np.exp(model.log_joint(np.array([[float(x)]])))[0], expected, rtol=1e-12)


def test_the_posterior_of_two_classes_is_logistic():
    model = sf.Model.fit(X, Y, sf.Poisson(prior=None))
    x = np.arange(40.0)
    theta, bias = log(3 / 8), log(3 / 2) - (3 - 8)
    assert_allclose(model.posterior(x[:, None])[:, 1], expit(theta * x + bias), rtol=1e-12)
    form = model.linear()
    assert_allclose(form.coef, [[theta]], rtol=1e-14)
    assert_allclose(form.intercept, [bias], rtol=1e-14)


def test_the_posterior_of_several_classes_and_columns_is_a_softmax():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = rng.poisson([[1.0, 5.0], [4.0, 2.0], [9.0, 9.0]], (20, 3, 2)).reshape(60, 2).astype(float)
    rates = np.array([x[y == c].mean(axis=0) for c in range(3)])
    scores = x @ np.log(rates).T - rates.sum(axis=1)  # the classes are equally frequent
    clf = PoissonNB(alpha=0, beta=0).fit(x, y)
    assert_allclose(clf.rate_, rates, rtol=1e-14)
    assert_allclose(clf.predict_proba(x), softmax(scores, axis=1), rtol=1e-11, atol=1e-14)


def test_a_gamma_prior_counts_events_and_rows_in():
    clf = PoissonNB(alpha=2.0, beta=1.0).fit(X, Y)
    assert_allclose(clf.rate_, [[(16 + 2) / (2 + 1)], [(9 + 2) / (3 + 1)]], rtol=1e-15)
