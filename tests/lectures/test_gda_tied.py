"""Gaussian discriminant analysis with one covariance: φ, μ₀, μ₁, Σ in closed form, and the logistic posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax
from sklearn.datasets import load_iris

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.4).astype(int)
    return rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3)) + np.array([[0.0, 1, -1], [1, 0, 0.5]])[y], y


def closed_form(x, y):
    """φ = n₁/n, μ_y = means, Σ = Σ (x − μ_y)(x − μ_y)ᵀ / n, by maximum likelihood."""
    phi, mu = y.mean(), np.array([x[y == c].mean(axis=0) for c in (0, 1)])
    sigma = sum(np.outer(r - mu[c], r - mu[c]) for r, c in zip(x, y, strict=True)) / len(y)
    return phi, mu, sigma


def theta(x, y) -> tuple[float, np.ndarray]:
    """θ₀ = log φ/(1−φ) + ½ (μ₀ᵀΣ⁻¹μ₀ − μ₁ᵀΣ⁻¹μ₁),  θ = Σ⁻¹ (μ₁ − μ₀)."""
    phi, (mu_0, mu_1), sigma = closed_form(x, y)
    inverse = np.linalg.inv(sigma)
    start = np.log(phi / (1 - phi)) + 0.5 * (mu_0 @ inverse @ mu_0 - mu_1 @ inverse @ mu_1)
    return start, inverse @ (mu_1 - mu_0)


FITS = [*(LinearDiscriminantAnalysis(solver=s) for s in ("svd", "lsqr", "eigen"))]


def test_the_estimates_are_those_of_maximum_likelihood():
    x, y = rows()
    phi, mu, sigma = closed_form(x, y)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None, tied=True))
    assert_allclose(np.exp(model.log_prior), [1 - phi, phi], rtol=1e-14)
    assert_allclose(model.distribution.mean, mu, rtol=1e-12)
    assert_allclose(model.distribution.covariance, [sigma], rtol=1e-12)
    clf = LinearDiscriminantAnalysis(store_covariance=True).fit(x, y)
    assert_allclose(clf.covariance_, sigma, rtol=1e-12)


@pytest.mark.parametrize("clf", FITS, ids=str)
def test_theta_reproduces_the_probabilities(clf):
    x, y = rows()
    start, slope = theta(x, y)
    expected = expit(start + x @ slope)
    clf.fit(x, y)
    assert_allclose(clf.predict_proba(x)[:, 1], expected, rtol=1e-12, atol=1e-12)
    assert_allclose(clf.coef_[0], slope, rtol=1e-10)
    assert_allclose(clf.intercept_[0], start, rtol=1e-10)
    assert_allclose(clf.decision_function(x), start + x @ slope, rtol=1e-10, atol=1e-11)
    assert ((clf.predict(x) == 1) == (expected > 0.5)).all(), "the boundary is the line θᵀx = 0"


def test_theta_reproduces_the_probabilities_of_the_model():
    x, y = rows()
    start, slope = theta(x, y)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None, tied=True))
    assert_allclose(model.posterior(x)[:, 1], expit(start + x @ slope), rtol=1e-12, atol=1e-12)


def test_of_three_species_the_posterior_is_a_softmax():
    x, y = load_iris(return_X_y=True)
    x = x[:, :2]
    mu = np.array([x[y == c].mean(axis=0) for c in range(3)])
    inverse = np.linalg.inv((x - mu[y]).T @ (x - mu[y]) / 150)
    scores = x @ inverse @ mu.T - 0.5 * np.einsum("ci,ij,cj->c", mu, inverse, mu) + np.log(1 / 3)
    for clf in FITS:
        assert_allclose(clf.fit(x, y).predict_proba(x), softmax(scores, axis=1), rtol=1e-11, atol=1e-12)
