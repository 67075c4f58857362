"""Bernoulli naive Bayes by closed-form maximum likelihood, from the raw documents of four newsgroups."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import suffice as sf
from lectures.newsgroups import CATEGORIES, four_newsgroups
from lectures.test_bernoulli_mle import clipped
from suffice.naive_bayes import BernoulliNB
from suffice.text import BagOfWords


@pytest.fixture
def newsgroups(data_dir):
    return four_newsgroups(data_dir)


def classifier(smoothing: float) -> sf.TextClassifier:
    return sf.TextClassifier(event="bernoulli", ngrams=(1, 1), smoothing=smoothing, calibrate=False)


def test_class_proportions_and_word_shares_are_the_lectures(newsgroups):
    texts, y = newsgroups
    clf = classifier(0.0).fit(texts, y)
    assert clf.classes_.tolist() == CATEGORIES
    # φ_k: what remains for a missing text, of which nothing is known.
    assert_allclose(clf.predict_proba([None])[0], [0.21267169, 0.25875055, 0.26318121, 0.26539654], atol=5e-9)
    vectorizer = CountVectorizer(binary=True)
    x = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    for label in CATEGORIES:
        psi = np.asarray(x[y == label].mean(axis=0)).ravel()
        table = clf.top_features(label, n=200, by="probability")
        assert_allclose(table.values[:, 1], np.sort(psi)[::-1][:200], rtol=1e-12)
        for word, share in zip(table.rows, table.values[:, 1], strict=True):
            assert_allclose(share, psi[np.searchsorted(names, word)], rtol=1e-12)


def test_posteriors_of_all_words_are_the_closed_form(newsgroups):
    texts, y = newsgroups
    texts, y = texts[:300], y[:300]
    clf = classifier(1.0).fit(texts, y)
    vectorizer = CountVectorizer(binary=True)
    x = vectorizer.fit_transform(texts).toarray().astype(float)
    score = np.empty((len(y), 4))
    for k, label in enumerate(CATEGORIES):
        psi = (x[y == label].sum(axis=0) + 1) / (np.sum(y == label) + 2)
        score[:, k] = np.log(np.mean(y == label)) + x @ np.log(psi) + (1 - x) @ np.log(1 - psi)
    expected = score - np.logaddexp.reduce(score, axis=1, keepdims=True)
    assert_allclose(clf.predict_log_proba(texts), expected, rtol=1e-9, atol=1e-9)


def test_a_sentence_on_opengl_belongs_to_comp_graphics(newsgroups):
    texts, y = newsgroups
    sentence = ["OpenGL on the GPU is fast"]
    assert classifier(1e-10).fit(texts, y).predict(sentence).tolist() == ["comp.graphics"]
    words = BagOfWords(binary=True, max_features=1000)
    assert make_pipeline(words, BernoulliNB(alpha=1e-14)).fit(texts, y).predict(sentence).tolist() == ["comp.graphics"]


def test_clipped_predictions_and_training_accuracy_are_the_lectures(newsgroups):
    texts, y = newsgroups
    x = BagOfWords(binary=True, max_features=1000).fit_transform(texts)
    predicted = clipped(sf.Model.fit(x, y, sf.Bernoulli(prior=None))).predict(x)
    assert [CATEGORIES.index(label) for label in predicted[:10]] == [1, 1, 3, 0, 3, 3, 3, 2, 2, 2]
    assert np.sum(predicted == y) == 1963  # of words that tie, the first in the alphabet


# ------------------------------------------------------------------------------------------- by hand

MAILS = ["win cash", "win prize", "cash", "win", "cash", "prize cash"]
KINDS = ["spam", "spam", "spam", "spam", "ham", "ham"]


def test_a_word_unseen_in_a_class_rules_it_out_and_so_does_the_lack_of_one_always_seen():
    clf = classifier(0.0).fit(MAILS, KINDS)
    # ham: win 0 of 2, prize 1, cash 2; spam: win 3 of 4, prize 1, cash 2
    assert_allclose(clf.predict_proba(["win cash", "prize win"])[:, 0], [0, 0], atol=0)
    ham, spam = 1 / 3 * 1 / 2, 2 / 3 * 1 / 4 * 1 / 4 * 1 / 2
    assert_allclose(clf.predict_proba(["cash and prize"]), [[ham / (ham + spam), spam / (ham + spam)]], rtol=1e-12)


def test_a_mail_impossible_under_every_class_gets_the_prior():
    clf = classifier(0.0).fit(["win", "cash", "cash"], ["ham", "spam", "spam"])
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(clf.predict_proba(["win cash"]), [[1 / 3, 2 / 3]], rtol=1e-12)
