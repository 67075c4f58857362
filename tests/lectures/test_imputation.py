"""Filling in what is missing from what is there: p(x_j | observed)."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, norm

import suffice as sf
from lectures import data
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.naive_bayes import GaussianNB


def test_in_a_gaussian_block_a_gap_is_filled_by_the_exact_conditional_mean():
    x, y = data.gender()
    own = {c: (x[y == c].mean(axis=0), np.cov(x[y == c].T, bias=True)) for c in ("female", "male")}
    question = np.array([6.0, np.nan, 11.0])
    seen = [0, 2]
    joint, filled = [], []
    for c in ("female", "male"):
        mean, sigma = own[c]
        block = sigma[np.ix_(seen, seen)]
        joint.append(0.5 * multivariate_normal.pdf(question[seen], mean[seen], block))
        filled.append(mean[1] + sigma[1, seen] @ np.linalg.solve(block, question[seen] - mean[seen]))
    expected = np.dot(joint, filled) / np.sum(joint)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(prior=None))
    assert_allclose(model.impute(question[None]), [[6.0, expected, 11.0]], rtol=1e-6)
    clf = QuadraticDiscriminantAnalysis(tol=0.0).fit(x, y)
    assert_allclose(clf.impute(question[None]), [[6.0, expected, 11.0]], rtol=1e-6)


def test_of_two_columns_and_one_class_a_gap_is_filled_on_the_regression_line():
    x = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 7.0], [4.0, 8.0]])
    # Means 2.5 and 5, covariance 11/4, variance 5/4: the slope is 2.2.
    model = sf.Model.fit(x, ["all"] * 4, sf.MultivariateGaussian(prior=None))
    assert_allclose(model.impute(np.array([[5.0, np.nan]])), [[5.0, 5.0 + 2.2 * 2.5]], rtol=1e-12)
    slope = np.polyfit(x[:, 0], x[:, 1], 1)
    assert_allclose(model.impute(np.array([[0.0, np.nan]]))[0, 1], slope[1], rtol=1e-10)


def test_naive_columns_are_filled_by_class_means_weighed_by_the_posterior():
    x, y = data.gender()
    question = np.array([[np.nan, 130.0, 8.0]])
    female, male = x[y == "female"], x[y == "male"]
    joint = [np.prod([norm.pdf(question[0, j], c[:, j].mean(), c[:, j].std()) for j in (1, 2)]) for c in (female, male)]
    expected = np.dot(joint, [female[:, 0].mean(), male[:, 0].mean()]) / np.sum(joint)
    model = sf.Model.fit(x, y, sf.MultivariateGaussian(covariance="diagonal"))
    assert_allclose(model.impute(question)[0], [expected, 130.0, 8.0], rtol=1e-10)
    assert_allclose(
        model.posterior(question), GaussianNB(var_smoothing=0.0).fit(x, y).predict_proba(question), rtol=1e-10
    )


def test_what_is_observed_stays_and_of_nothing_the_mean_is_expected():
    x, y = data.gender()
    clf = LinearDiscriminantAnalysis().fit(x, y)
    assert_array_equal(clf.impute(x), x)
    assert_allclose(clf.impute(np.full((1, 3), np.nan)), [x.mean(axis=0)], rtol=1e-12)


def test_in_a_mixed_table_numbers_and_categories_are_filled_by_the_posterior_over_classes():
    x, y = data.gender()
    hair = ["short", "short", "long", "short", "long", "long", "short", "long"]
    rows = {"height": x[:, 0], "weight": x[:, 1], "hair": hair}
    families = {
        "height": sf.Gaussian(prior=None),
        "weight": sf.Gaussian(prior=None),
        "hair": sf.Categorical(prior=None),
    }
    clf = sf.BayesClassifier(families, calibrate=False).fit(rows, y)
    female, male = x[y == "female"], x[y == "male"]
    joint = [norm.pdf(150.0, own[:, 1].mean(), own[:, 1].std()) for own in (female, male)]
    posterior = np.array(joint) / np.sum(joint)
    filled = clf.impute({"height": [np.nan], "weight": [150.0], "hair": [None]})
    assert_allclose(filled["height"], [posterior @ [female[:, 0].mean(), male[:, 0].mean()]], rtol=1e-10)
    short = posterior @ [1 / 4, 3 / 4]
    assert filled["hair"] == ["short" if short > 0.5 else "long"]
    n = 20000
    drawn = clf.impute({"height": [np.nan] * n, "weight": [150.0] * n, "hair": [None] * n}, "sample", random_state=0)
    assert abs(drawn["hair"].count("short") / n - short) < 5 * np.sqrt(short * (1 - short) / n)
    mean = posterior @ [female[:, 0].mean(), male[:, 0].mean()]
    spread = posterior @ [own[:, 0].var() + (own[:, 0].mean() - mean) ** 2 for own in (female, male)]
    assert abs(np.mean(drawn["height"]) - mean) < 5 * np.sqrt(spread / n)
    assert_allclose(np.var(drawn["height"]), spread, rtol=0.06)
