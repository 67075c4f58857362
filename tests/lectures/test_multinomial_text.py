"""Multinomial naive Bayes over raw sentences with smoothing l: the sentiment, by way of TextClassifier."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data

TEXTS = [text for text, _ in data.SENTIMENT]
SENTIMENTS = [sentiment for _, sentiment in data.SENTIMENT]
QUESTION = [data.SENTIMENT_QUESTION]


def fitted(smoothing: float, **options) -> sf.TextClassifier:
    clf = sf.TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=smoothing, calibrate=False, **options)
    return clf.fit(TEXTS, SENTIMENTS)


def test_the_vocabulary_has_28_words():
    clf = fitted(1.0)
    assert sorted(clf.vocabulary_) == sorted({word for text in TEXTS for word in data.words(text)})
    assert len(clf.vocabulary_) == 28
    assert clf.classes_.tolist() == ["negative", "positive"]


def test_without_smoothing_both_classes_are_impossible_and_the_prior_decides():
    clf = fitted(0.0)
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(clf.predict_proba(QUESTION), [[4 / 6, 2 / 6]], rtol=1e-13)


def test_with_laplace_smoothing_the_answer_is_an_exact_fraction():
    clf = fitted(1.0)
    negative, positive = Fraction(1, 41472), Fraction(2, 151959)
    # The same fractions word by word: my, cheeto and awesome are known; 20 and 9 words, 28 in the vocabulary.
    assert negative == Fraction(4, 6) * Fraction(2, 48) * Fraction(2, 48) * Fraction(1, 48)
    assert positive == Fraction(2, 6) * Fraction(1, 37) * Fraction(1, 37) * Fraction(2, 37)
    assert_allclose(clf.predict_proba(QUESTION)[0, 0], float(negative / (negative + positive)), rtol=1e-12)
    assert_allclose(clf.predict_proba(QUESTION)[0, 0], 0.6469010612891278, rtol=1e-12)
    assert_allclose(np.exp(clf.score_samples(QUESTION)), float(negative + positive), rtol=1e-12)
    assert clf.predict(QUESTION).tolist() == ["negative"]


def test_without_stop_words_the_answer_is_an_exact_fraction_too():
    clf = fitted(1.0, stop_words=sorted(data.STOP_WORDS))
    assert len(clf.vocabulary_) == 19
    negative = Fraction(4, 6) * Fraction(2, 13 + 19) * Fraction(1, 13 + 19)  # cheeto, awesome
    positive = Fraction(2, 6) * Fraction(1, 6 + 19) * Fraction(2, 6 + 19)
    assert_allclose(clf.predict_proba(QUESTION)[0, 0], float(negative / (negative + positive)), rtol=1e-12)


def test_with_a_named_list_of_stop_words_too():
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    clf = fitted(1.0, stop_words="english")
    kept = {y: [] for y in ("negative", "positive")}
    for text, y in data.SENTIMENT:
        kept[y] += data.words(text, ENGLISH_STOP_WORDS)
    vocabulary = {word for words in kept.values() for word in words}
    assert sorted(clf.vocabulary_) == sorted(vocabulary)
    asked = [word for word in data.words(QUESTION[0], ENGLISH_STOP_WORDS) if word in vocabulary]
    joint = [Fraction(SENTIMENTS.count(y), 6) for y in kept]
    for i, words in enumerate(kept.values()):
        for word in asked:
            joint[i] *= Fraction(words.count(word) + 1, len(words) + len(vocabulary))
    assert_allclose(clf.predict_proba(QUESTION)[0, 0], float(joint[0] / sum(joint)), rtol=1e-12)


def test_sentences_learned_one_by_one_give_the_same_answer():
    clf = sf.TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=1.0, calibrate=False)
    for text, sentiment in reversed(data.SENTIMENT):
        clf.partial_fit([text], [sentiment])
    assert_allclose(clf.predict_proba(QUESTION)[0, 0], 0.6469010612891278, rtol=1e-12)
    clf.partial_fit(["no good at all"], ["mixed"]).drop_class("mixed")
    clf.forget(TEXTS[:1], SENTIMENTS[:1]).partial_fit(TEXTS[:1], SENTIMENTS[:1])
    assert clf.predict(QUESTION).tolist() == ["negative"]
