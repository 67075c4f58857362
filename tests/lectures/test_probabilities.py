"""Probabilities are the softmax of S_c = log p(y = c) + Σ log p(x_j | y = c), computed in log space."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from suffice.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB, PoissonNB

WIDE = 100_000


def test_probabilities_are_the_softmax_of_the_scores():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    clf = GaussianNB().fit(x, y)
    scores = clf.predict_joint_log_proba(x)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)  # small enough to be done naively
    assert_allclose(clf.predict_proba(x), expected, rtol=1e-12)
    assert_allclose(clf.predict_log_proba(x), np.log(expected), rtol=1e-11, atol=1e-13)


def test_a_hundred_thousand_truths_do_not_underflow():
    # Rows 0 and 1 are of class a, 2 and 3 of class b; the first three columns tell them apart.
    x = np.zeros((4, WIDE))
    x[:, 3:] = [[0], [1], [0], [1]]
    x[:2, :3] = 1
    clf = BernoulliNB(alpha=1).fit(x, ["a", "a", "b", "b"])
    rows = np.zeros((2, WIDE))
    rows[1, :2] = 1
    # θ is 3/4 and 1/4 in the first three columns, 1/2 elsewhere: odds of 3 for each of the three.
    assert_allclose(clf.predict_proba(rows), [[1 / 28, 27 / 28], [3 / 4, 1 / 4]], rtol=1e-9)
    assert_allclose(clf.predict_joint_log_proba(rows)[0, 1] / WIDE, -np.log(2), rtol=1e-3)


def test_a_document_of_a_hundred_thousand_words_does_not_underflow():
    clf = MultinomialNB(alpha=1).fit([[1, 0, 0], [0, 1, 0]], ["a", "b"])  # θ: 1/2 1/4 1/4 and 1/4 1/2 1/4
    balanced = np.array([[WIDE / 2 + 1, WIDE / 2, 0.0]])
    assert_allclose(clf.predict_proba(balanced), [[2 / 3, 1 / 3]], rtol=1e-9)
    assert_allclose(clf.predict_log_proba([[WIDE, 0.0, 0.0]]), [[0.0, -WIDE * np.log(2)]], rtol=1e-12)


def test_a_hundred_thousand_numbers_do_not_underflow():
    x = np.zeros((4, WIDE))
    x[:, 0] = [0, 2, 3, 5]
    x[:, 1:] = [[-1], [1], [-1], [1]]
    model = sf.Model.fit(x, ["a", "a", "b", "b"], sf.Gaussian(prior=None, variance="shared"))
    row = np.full((1, WIDE), 30.0)
    row[0, 0] = 2.0
    # All columns but the first are alike in both classes; there the means are 1 and 4, the variance 1.
    odds = np.exp(-0.5 * (1 - 4))
    assert_allclose(model.posterior(row), [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-6)
    assert model.log_density(row)[0] < -1e7


def test_a_hundred_thousand_rates_do_not_underflow():
    x = np.ones((2, WIDE))
    x[:, 0] = [1, 3]
    clf = PoissonNB(alpha=0, beta=0).fit(x, ["a", "b"])
    row = np.ones((1, WIDE))
    odds = np.exp(-1 + 3) / 3  # e^(−λ) λ^x of the first column
    assert_allclose(clf.predict_proba(row), [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8])
def test_probabilities_are_probabilities_however_far_away_the_row_is(scale):
    clf = GaussianNB().fit([[0.0], [1.0], [4.0], [6.0]], [0, 0, 1, 1])
    p = clf.predict_proba([[scale], [-scale]])
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    assert np.isfinite(clf.predict_log_proba([[scale]])).all()


def test_the_density_of_a_row_is_the_sum_over_classes():
    model = sf.Model.fit([[0.0], [2.0], [10.0]], ["a", "a", "b"], sf.Gaussian(prior=None, variance=1.0))
    x = 3.0
    expected = (2 / 3 * np.exp(-((x - 1) ** 2) / 2) + 1 / 3 * np.exp(-((x - 10) ** 2) / 2)) / np.sqrt(2 * np.pi)
    assert_allclose(model.log_density(np.array([[x]])), [np.log(expected)], rtol=1e-13)
