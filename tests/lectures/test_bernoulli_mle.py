"""Bernoulli naive Bayes by closed-form maximum likelihood, on newsgroup texts and on a table of six rows."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

import suffice as sf
from lectures.newsgroups import CATEGORIES, four_newsgroups
from suffice.naive_bayes import BernoulliNB


@lru_cache
def read(folder: Path):
    """The four newsgroups in the order of the lecture, as binary vectors over the 1000 most frequent words."""
    texts, y = four_newsgroups(folder)
    bag = sf.BagOfWords(binary=True, max_features=1000)
    return bag, bag.fit_transform(texts), y


@pytest.fixture
def newsgroups(data_dir):
    return read(data_dir)


def clipped(model: sf.Model) -> sf.Model:
    """The lecture's way around log 0: ψ is kept inside [1e-14, 1 − 1e-14]."""
    psi = model.distribution.probability.clip(1e-14, 1 - 1e-14)
    return replace(model, distribution=replace(model.distribution, probability=psi, complement=1 - psi))


def test_class_proportions_are_the_lectures(newsgroups):
    _, x, y = newsgroups
    assert x.shape == (2257, 1000)
    model = sf.Model.fit(x, y, sf.Bernoulli(prior=None))
    assert model.labels.tolist() == CATEGORIES
    assert_allclose(np.exp(model.log_prior), [0.21267169, 0.25875055, 0.26318121, 0.26539654], atol=5e-9)


def test_word_probabilities_are_the_shares_of_documents_that_hold_the_word(newsgroups):
    _, x, y = newsgroups
    psi = sf.Model.fit(x, y, sf.Bernoulli(prior=None)).distribution.probability
    dense = x.toarray()
    assert_allclose(psi, [dense[y == label].mean(axis=0) for label in CATEGORIES], rtol=1e-13)


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_clipped_predictions_and_training_accuracy_are_the_lectures(newsgroups, dense):
    _, x, y = newsgroups
    x = x.toarray().astype(float) if dense else x
    predicted = clipped(sf.Model.fit(x, y, sf.Bernoulli(prior=None))).predict(x)
    assert [CATEGORIES.index(label) for label in predicted[:10]] == [1, 1, 3, 0, 3, 3, 3, 2, 2, 2]
    # Fifteen words tie for the last seven places of the vocabulary; each choice has an accuracy of 0.8675 to 0.8702,
    # the lecture's 0.8693. The first in the alphabet, which ours are, have this one.
    assert np.sum(predicted == y) == 1963


def test_clipped_scores_are_the_lectures_formula(newsgroups):
    _, x, y = newsgroups
    model = clipped(sf.Model.fit(x, y, sf.Bernoulli(prior=None)))
    rows = x[:40].toarray().astype(float)
    expected = np.zeros((40, 4))
    for k, label in enumerate(CATEGORIES):
        psi = x[y == label].toarray().mean(axis=0).clip(1e-14, 1 - 1e-14)
        expected[:, k] = np.log(np.mean(y == label)) + rows @ np.log(psi) + (1 - rows) @ np.log(1 - psi)
    assert_allclose(model.log_joint(rows), expected, rtol=1e-11)


def test_a_sentence_on_opengl_belongs_to_comp_graphics(newsgroups):
    vectorizer, x, y = newsgroups
    sentence = vectorizer.transform(["OpenGL on the GPU is fast"])
    assert clipped(sf.Model.fit(x, y, sf.Bernoulli(prior=None))).predict(sentence).tolist() == ["comp.graphics"]
    assert BernoulliNB(alpha=1e-14).fit(x, y).predict(sentence).tolist() == ["comp.graphics"]


def test_from_raw_documents_to_a_class_in_one_pipeline(newsgroups, data_dir):
    bag, x, y = newsgroups
    texts, _ = four_newsgroups(data_dir)
    pipe = make_pipeline(sf.BagOfWords(binary=True, max_features=1000), BernoulliNB(alpha=1e-14)).fit(texts, y)
    assert pipe[0].vocabulary_ == bag.vocabulary_
    assert_allclose(pipe.predict_log_proba(texts[:50]), BernoulliNB(alpha=1e-14).fit(x, y).predict_log_proba(x[:50]))
    assert [CATEGORIES.index(label) for label in pipe.predict(texts[:10])] == [1, 1, 3, 0, 3, 3, 3, 2, 2, 2]
    assert pipe.predict(["OpenGL on the GPU is fast"]).tolist() == ["comp.graphics"]


def test_without_clipping_a_class_that_never_showed_a_word_is_impossible(newsgroups):
    _, x, y = newsgroups
    joint = sf.Model.fit(x, y, sf.Bernoulli(prior=None)).log_joint(x)
    dense = x.toarray() > 0
    for k, label in enumerate(CATEGORIES):
        never, always = ~dense[y == label].any(axis=0), dense[y == label].all(axis=0)
        impossible = dense[:, never].any(axis=1) | ~dense[:, always].all(axis=1)
        assert_array_equal(joint[:, k] == -np.inf, impossible)
    assert np.isfinite(joint[np.arange(len(y)), np.searchsorted(CATEGORIES, y)]).all()  # each row's own class


# ------------------------------------------------------------------------------------------- by hand

X = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]])
Y = np.array(["spam", "spam", "spam", "spam", "ham", "ham"])


def test_estimates_are_the_shares_of_rows():
    model = sf.Model.fit(X, Y, sf.Bernoulli(prior=None))
    assert_allclose(np.exp(model.log_prior), [2 / 6, 4 / 6], rtol=1e-14)
    assert_array_equal(model.distribution.probability, [[0, 1 / 2, 1], [3 / 4, 1 / 4, 1 / 2]])


def test_a_word_unseen_in_a_class_rules_it_out_and_so_does_the_lack_of_one_always_seen():
    model = sf.Model.fit(X, Y, sf.Bernoulli(prior=None))
    rows = np.array([[1.0, 0, 1], [0, 0, 0], [0, 1, 1]])
    joint = np.exp(model.log_joint(rows))
    spam = [2 / 3 * 3 / 4 * 3 / 4 * 1 / 2, 2 / 3 * 1 / 4 * 3 / 4 * 1 / 2, 2 / 3 * 1 / 4 * 1 / 4 * 1 / 2]
    assert_allclose(joint[:, 1], spam, rtol=1e-13)
    assert_allclose(joint[:, 0], [0, 0, 1 / 3 * 1 / 2], rtol=1e-13)
    assert model.predict(rows).tolist() == ["spam", "spam", "ham"]


def test_a_row_impossible_under_every_class_gets_the_prior():
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), ["ham", "spam", "spam"]
    model = sf.Model.fit(x, y, sf.Bernoulli(prior=None))
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(model.posterior(np.ones((1, 2))), [[1 / 3, 2 / 3]], rtol=1e-14)


def test_the_estimator_with_no_smoothing_is_maximum_likelihood():
    clf = BernoulliNB(alpha=0.0).fit(X, Y)
    with np.errstate(divide="ignore"):
        assert_allclose(clf.feature_log_prob_, np.log([[0, 1 / 2, 1], [3 / 4, 1 / 4, 1 / 2]]), rtol=1e-14)
    assert_allclose(clf.predict_proba([[0, 1, 1]]), [[8 / 9, 1 / 9]], rtol=1e-13)
