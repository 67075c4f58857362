"""Naive Bayes is a linear classifier: w and b for each family, for two classes and as a softmax for more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB, PoissonNB

ROWS, COLUMNS = 90, 5


def rows(kind: str, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unequally frequent classes."""
    rng = np.random.default_rng(classes)
    y = np.minimum(rng.integers(0, classes + 1, ROWS), classes - 1)
    if kind == "truths":
        return (rng.random((ROWS, COLUMNS)) < rng.uniform(0.2, 0.8, (classes, COLUMNS))[y]).astype(float), y
    if kind == "counts":
        return rng.poisson(rng.uniform(0.5, 3.0, (classes, COLUMNS))[y]).astype(float), y
    return rng.normal(rng.normal(size=(classes, COLUMNS))[y], 1.5), y


def means(x, y) -> np.ndarray:
    return np.array([x[y == c].mean(axis=0) for c in np.unique(y)])


def log_prior(y) -> np.ndarray:
    return np.log(np.bincount(y) / len(y))


def bernoulli(x, y):
    """w_j = log θ_j/(1 − θ_j),  b = log π + Σ log (1 − θ_j)."""
    theta = means(x, y)
    return np.log(theta / (1 - theta)), log_prior(y) + np.log(1 - theta).sum(axis=1)


def smoothed_bernoulli(x, y):
    n, ones = np.bincount(y)[:, None], np.array([x[y == c].sum(axis=0) for c in np.unique(y)])
    theta = (ones + 1) / (n + 2)
    return np.log(theta / (1 - theta)), log_prior(y) + np.log(1 - theta).sum(axis=1)


def multinomial(x, y):
    """w_j = log θ_j,  b = log π."""
    totals = np.array([x[y == c].sum(axis=0) for c in np.unique(y)])
    return np.log(totals / totals.sum(axis=1, keepdims=True)), log_prior(y)


def shared_variance(x, y):
    """w = μ/σ²,  b = log π − Σ μ²/2σ², the variance taken about each row's class mean."""
    mu = means(x, y)
    variance = ((x - mu[y]) ** 2).mean(axis=0)
    return mu / variance, log_prior(y) - (mu**2 / (2 * variance)).sum(axis=1)


def fixed_variance(x, y):
    mu = means(x, y)
    return mu / 2.5, log_prior(y) - (mu**2 / 5.0).sum(axis=1)


def poisson(x, y):
    """w = log λ,  b = log π − Σ λ."""
    rate = means(x, y)
    return np.log(rate), log_prior(y) - rate.sum(axis=1)


def tied_covariance(x, y):
    """w = Σ⁻¹μ,  b = log π − ½ μᵀΣ⁻¹μ."""
    mu = means(x, y)
    w = mu @ np.linalg.inv((x - mu[y]).T @ (x - mu[y]) / len(y))
    return w, log_prior(y) - 0.5 * (w * mu).sum(axis=1)


FORMS = [
    ("truths", sf.Bernoulli(prior=None), bernoulli),
    ("truths", sf.Bernoulli(), smoothed_bernoulli),
    ("counts", sf.Multinomial(prior=None), multinomial),
    ("reals", sf.Gaussian(prior=None, variance="shared"), shared_variance),
    ("reals", sf.Gaussian(prior=None, variance=2.5), fixed_variance),
    ("counts", sf.Poisson(prior=None), poisson),
    ("reals", sf.MultivariateGaussian(prior=None, tied=True), tied_covariance),
]
every_form = pytest.mark.parametrize(("kind", "family", "form"), FORMS, ids=[f.__name__ for _, _, f in FORMS])


@every_form
def test_of_two_classes_w_and_b_are_the_closed_forms(kind, family, form):
    x, y = rows(kind, 2)
    w, b = form(x, y)
    found = sf.Model.fit(x, y, family).linear()
    assert_allclose(found.coef, w[1:] - w[:1], rtol=1e-12, atol=1e-12)
    assert_allclose(found.intercept, b[1:] - b[:1], rtol=1e-12, atol=1e-12)


@every_form
def test_of_two_classes_w_x_and_b_are_the_log_odds(kind, family, form):
    x, y = rows(kind, 2)
    model = sf.Model.fit(x, y, family)
    found, joint = model.linear(), model.log_joint(x)
    odds = x @ found.coef[0] + found.intercept[0]
    assert_allclose(odds, joint[:, 1] - joint[:, 0], rtol=1e-12, atol=1e-12)
    assert_allclose(model.posterior(x)[:, 1], expit(odds), rtol=1e-12)
    w, b = form(x, y)
    assert_allclose(model.posterior(x)[:, 1], expit(x @ (w[1] - w[0]) + b[1] - b[0]), rtol=1e-11)


@every_form
@pytest.mark.parametrize("classes", [3, 5])
def test_of_more_classes_the_posterior_is_the_softmax_of_w_x_and_b(kind, family, form, classes):
    x, y = rows(kind, classes)
    model = sf.Model.fit(x, y, family)
    w, b = form(x, y)
    found = model.linear()
    assert found.coef.shape == (classes, COLUMNS)
    assert_allclose(found.coef - found.coef[:1], w - w[:1], rtol=1e-11, atol=1e-12)
    assert_allclose(found.intercept - found.intercept[0], b - b[0], rtol=1e-11, atol=1e-12)
    assert_allclose(softmax(x @ found.coef.T + found.intercept, axis=1), model.posterior(x), rtol=1e-11)
    assert_allclose(softmax(x @ w.T + b, axis=1), model.posterior(x), rtol=1e-10)


@every_form
def test_the_sign_of_w_x_and_b_is_the_prediction(kind, family, form):
    x, y = rows(kind, 2)
    w, b = form(x, y)
    positive = x @ (w[1] - w[0]) + b[1] - b[0] > 0
    assert (sf.Model.fit(x, y, family).predict(x) == positive).all()


@pytest.mark.parametrize(
    ("kind", "clf"),
    [
        ("truths", BernoulliNB()),
        ("counts", MultinomialNB()),
        ("counts", PoissonNB()),
        *(("reals", LinearDiscriminantAnalysis(solver=solver)) for solver in ("svd", "lsqr", "eigen")),
    ],
    ids=str,
)
def test_estimators_have_a_linear_form(kind, clf):
    x, y = rows(kind, 2)
    found = clf.fit(x, y).linear_form()
    odds = np.log(clf.predict_proba(x)[:, 1]) - np.log(clf.predict_proba(x)[:, 0])
    assert_allclose(x @ found.coef[0] + found.intercept[0], odds, rtol=1e-10, atol=1e-10)
    joint = clf.predict_joint_log_proba(x)
    assert_allclose(x @ found.coef[0] + found.intercept[0], joint[:, 1] - joint[:, 0], rtol=1e-12, atol=1e-12)


def test_where_classes_have_variances_of_their_own_there_is_no_linear_form_and_the_error_says_so():
    with pytest.raises(sf.NoLinearFormError, match="quadratic in x"):
        GaussianNB().fit(*rows("reals", 2)).linear_form()
