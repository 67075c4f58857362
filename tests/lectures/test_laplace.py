"""Laplace smoothing: add one to each of k outcomes and k to the total; nothing has probability zero."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB


@pytest.mark.parametrize("counts", [(0, 0, 5), (1, 2, 3), (0, 7, 0, 0)], ids=str)
@pytest.mark.parametrize("add", [1, 2, Fraction(1, 2)], ids=str)
def test_each_of_k_outcomes_has_its_count_and_one_over_the_total_and_k(counts, add):
    x = np.repeat(np.arange(len(counts)), counts)[:, None]
    family = sf.Categorical(sf.Dirichlet(float(add)), min_categories=len(counts))
    found = sf.Model.fit(x, ["z"] * len(x), family).distribution.probability[0]
    expected = [float((n + add) / (sum(counts) + add * len(counts))) for n in counts]
    assert_allclose(found, expected, rtol=1e-14)


def test_a_word_never_seen_has_one_in_the_rows_and_two():
    clf = BernoulliNB(alpha=1).fit([[0, 1], [0, 1], [0, 0]], [0, 0, 1])
    assert_allclose(np.exp(clf.feature_log_prob_), [[1 / 4, 3 / 4], [1 / 3, 1 / 3]], rtol=1e-14)


def test_a_word_never_drawn_has_one_in_the_length_and_the_vocabulary():
    clf = MultinomialNB(alpha=1).fit([[3, 0, 1]], [0])
    assert_allclose(np.exp(clf.feature_log_prob_), [[4 / 7, 1 / 7, 2 / 7]], rtol=1e-14)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
def test_nothing_is_impossible_once_smoothed(alpha):
    x, y = data.tennis()
    everything = np.array(np.meshgrid(*(np.append(np.unique(column), "never met") for column in x.T)), dtype=object)
    joint = CategoricalNB(alpha=alpha).fit(x, y).predict_joint_log_proba(everything.reshape(4, -1).T)
    assert np.isfinite(joint).all()
    vocabulary, counts, sentiments = data.sentiment()
    each_word = np.eye(len(vocabulary)) * 1000
    for clf in (BernoulliNB(alpha=alpha), MultinomialNB(alpha=alpha)):
        assert np.isfinite(clf.fit(counts, sentiments).predict_joint_log_proba(each_word)).all()


def test_a_bare_family_of_counts_is_smoothed():
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    for family in (sf.Bernoulli(), sf.Multinomial(), sf.Poisson(), sf.Categorical()):
        assert np.isfinite(sf.Model.fit(x, y, family).log_joint(np.array([[1.0, 1.0], [0.0, 0.0]]))).all()


def test_without_smoothing_the_unseen_is_impossible():
    x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    for family in (sf.Bernoulli(prior=None), sf.Multinomial(prior=None), sf.Poisson(prior=None)):
        assert (sf.Model.fit(x, y, family).log_joint(np.array([[1.0, 1.0]])) == -np.inf).all()
