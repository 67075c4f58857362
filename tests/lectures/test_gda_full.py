"""Gaussian discriminant analysis with a covariance for each class, on the first two features of Iris."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

import suffice as sf
from suffice.discriminant_analysis import QuadraticDiscriminantAnalysis

MEANS = [[5.006, 3.428], [5.936, 2.77], [6.588, 2.974]]


def iris() -> tuple[np.ndarray, np.ndarray]:
    x, y = load_iris(return_X_y=True)
    return x[:, :2], y


def test_the_means_are_the_lectures():
    x, y = iris()
    assert_allclose(QuadraticDiscriminantAnalysis().fit(x, y).means_, MEANS, rtol=1e-12)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None))
    assert_allclose(model.distribution.mean, MEANS, rtol=1e-12)
    assert_allclose(np.exp(model.log_prior), [1 / 3] * 3, rtol=1e-14)


def test_120_of_150_flowers_are_named_rightly():
    x, y = iris()
    assert (QuadraticDiscriminantAnalysis().fit(x, y).predict(x) == y).sum() == 120
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None))
    assert (model.predict(x) == y).sum() == 120


def test_covariances_are_the_average_products_of_deviations():
    x, y = iris()
    found = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None)).distribution
    for c in range(3):
        deviation = x[y == c] - MEANS[c]
        assert_allclose(found.covariance[c], deviation.T @ deviation / 50, rtol=1e-11)


def test_the_posterior_is_bayes_rule_over_normal_densities():
    x, y = iris()
    density = np.column_stack([multivariate_normal.pdf(x, MEANS[c], np.cov(x[y == c].T, bias=True)) for c in range(3)])
    expected = density / density.sum(axis=1, keepdims=True)
    assert_allclose(QuadraticDiscriminantAnalysis().fit(x, y).predict_proba(x), expected, rtol=1e-9, atol=1e-15)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None))
    assert_allclose(model.log_density(x), np.log(density.mean(axis=1)), rtol=1e-10)


def test_the_boundary_is_quadratic():
    with pytest.raises(sf.NoLinearFormError, match="quadratic"):
        QuadraticDiscriminantAnalysis().fit(*iris()).linear_form()
