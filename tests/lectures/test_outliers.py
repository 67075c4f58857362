"""A generative model knows which rows are unusual: those with low p(x)."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

import suffice as sf
from lectures import data
from suffice import BayesClassifier


def test_the_density_of_a_row_is_the_sum_of_its_joint_probabilities():
    x, y = data.gender()
    rows = {"height": x[:, 0], "weight": x[:, 1]}
    clf = BayesClassifier(dict.fromkeys(rows, sf.Gaussian(prior=None)), calibrate=False).fit(rows, y)
    female, male = x[y == "female"], x[y == "male"]
    density = sum(
        0.5
        * norm.pdf(x[:, 0], own[:, 0].mean(), own[:, 0].std())
        * norm.pdf(x[:, 1], own[:, 1].mean(), own[:, 1].std())
        for own in (female, male)
    )
    assert_allclose(clf.score_samples(rows), np.log(density), rtol=1e-10)
    assert_allclose(clf.score_samples(rows), logsumexp(clf.predict_joint_log_proba(rows), axis=1), rtol=1e-12)


def test_the_threshold_is_a_quantile_of_the_training_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=1000), rng.integers(0, 2, 1000)
    clf = BayesClassifier({"x": sf.Gaussian()}).fit({"x": x}, y)
    density = clf.score_samples({"x": x})
    for rate in (0.01, 0.05):
        flagged = clf.outliers({"x": x}, rate)
        assert flagged.sum() == round(rate * 1000) - 1  # the row at the quantile itself is still usual
        assert density[flagged].max() < density[~flagged].min()
    assert_array_equal(clf.outliers({"x": [0.0, 50.0, -50.0]}), [False, True, True])


def test_an_unusual_day_of_tennis():
    x, y = data.tennis()
    rows = dict(zip(data.TENNIS_COLUMNS, np.tile(x, (20, 1)).T.tolist(), strict=True))
    clf = BayesClassifier().fit(rows, np.tile(y, 20))
    usual = {"Outlook": ["Sunny"], "Temperature": ["Mild"], "Humidity": ["High"], "Wind": ["Weak"]}
    assert not clf.outliers(usual)[0]
    assert clf.outliers(usual | {"Outlook": ["Volcanic ash"]})[0]


def test_the_threshold_survives_merging():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=600), rng.integers(0, 2, 600)
    whole = BayesClassifier({"x": sf.Binned(edges=[-2.0, -1.0, 0.0, 1.0, 2.0])}).fit({"x": x}, y)
    parts = [
        BayesClassifier({"x": sf.Binned(edges=[-2.0, -1.0, 0.0, 1.0, 2.0])}).fit({"x": x[own]}, y[own])
        for own in (slice(0, 200), slice(200, 600))
    ]
    question = {"x": np.linspace(-3, 3, 50)}
    assert_array_equal(sum(parts).outliers(question, 0.1), whole.outliers(question, 0.1))
