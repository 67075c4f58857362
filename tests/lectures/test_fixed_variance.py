"""Gaussian naive Bayes with the variance given: w_c0 = ln n_c − Σ μ²/2σ² and w_cd = μ_cd/σ², a softmax."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import load_iris

import suffice as sf
from lectures import data

X, Y = load_iris(return_X_y=True)
X, Y = X[:-7], Y[:-7]  # classes of unequal size


def weights(variance):
    """The lecture's w_c0 and w_cd."""
    means = np.array([X[c == Y].mean(axis=0) for c in range(3)])
    counts = np.array([(c == Y).sum() for c in range(3)])
    return np.log(counts) - (means**2 / (2 * variance)).sum(axis=1), means / variance


@pytest.mark.parametrize("variance", [0.1, 1.0, 7.5])
def test_coefficients_are_the_lectures(variance):
    bias, coef = weights(variance)
    form = sf.Model.fit(X, Y, sf.Gaussian(prior=None, variance=variance)).linear()
    assert_allclose(form.coef, coef, rtol=1e-13)
    assert_allclose(form.intercept + np.log(len(Y)), bias, rtol=1e-13)  # the lecture leaves out the total


@pytest.mark.parametrize("variance", [0.1, 1.0, 7.5])
def test_the_posterior_is_the_softmax_of_the_lectures_scores(variance):
    bias, coef = weights(variance)
    model = sf.Model.fit(X, Y, sf.Gaussian(prior=None, variance=variance))
    assert_allclose(model.posterior(X), softmax(X @ coef.T + bias, axis=1), rtol=1e-9, atol=1e-13)
    assert_array_equal(model.predict(X), (X @ coef.T + bias).argmax(axis=1))


def test_each_column_may_have_a_variance_of_its_own():
    variance = np.array([0.3, 0.2, 1.0, 0.5])
    bias, coef = weights(variance)
    model = sf.Model.fit(X, Y, sf.Gaussian(prior=None, variance=variance))
    assert_allclose(model.posterior(X), softmax(X @ coef.T + bias, axis=1), rtol=1e-9, atol=1e-13)


def test_the_log_density_is_the_gaussians():
    x, y = data.gender()
    model = sf.Model.fit(x, y, sf.Gaussian(prior=None, variance=4.0))
    found = model.distribution.log_density(data.GENDER_QUESTION)[0]
    for c, mean in enumerate(([5.4175, 132.5, 7.5], [5.855, 176.25, 11.25])):
        off = data.GENDER_QUESTION[0] - mean
        assert_allclose(found[c], -(off**2).sum() / 8 - 1.5 * np.log(2 * np.pi * 4.0), rtol=1e-13)


def test_a_given_variance_is_no_parameter():
    model = sf.Model.fit(X, Y, sf.Gaussian(prior=None, variance=1.0))
    assert model.n_parameters == 3 * 4 + 2


def test_with_variances_learned_for_each_class_the_scores_are_quadratic():
    with pytest.raises(sf.NoLinearFormError, match="quadratic"):
        sf.Model.fit(X, Y, sf.Gaussian(prior=None)).linear()
