"""Multinomial naive Bayes over word counts with smoothing l: the sentiment of a sentence."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from lectures import data
from suffice.naive_bayes import MultinomialNB

NEGATIVE, POSITIVE = 0, 1


def fitted(smoothing: float, stop_words=frozenset()):
    vocabulary, x, y = data.sentiment(stop_words)
    model = sf.Model.fit(x, y, sf.Multinomial(prior=sf.Dirichlet(smoothing) if smoothing else None))
    return model, np.array([data.count(data.SENTIMENT_QUESTION, vocabulary)])


def test_the_vocabulary_has_28_words_of_which_the_question_holds_three():
    vocabulary, _, _ = data.sentiment()
    _, question = fitted(1)
    assert len(vocabulary) == 28
    assert [word for word, n in zip(vocabulary, question[0], strict=True) if n] == ["awesome", "cheeto", "my"]


def test_without_smoothing_both_classes_are_impossible_and_the_prior_decides():
    model, question = fitted(0)
    assert (model.log_joint(question) == -np.inf).all()
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(model.posterior(question), [[4 / 6, 2 / 6]], rtol=1e-14)
    assert model.predict(question).tolist() == ["negative"]


def test_with_laplace_smoothing_the_joints_are_exact_fractions():
    model, question = fitted(1)
    joint = np.exp(model.log_joint(question))[0]
    assert_allclose(joint, [1 / 41472, 2 / 151959], rtol=1e-13)
    assert_allclose(model.posterior(question)[0, NEGATIVE], 0.6469010612891278, rtol=1e-13)
    assert model.predict(question).tolist() == ["negative"]


def test_the_estimator_gives_the_same_probability():
    vocabulary, x, y = data.sentiment()
    question = [data.count(data.SENTIMENT_QUESTION, vocabulary)]
    assert_allclose(MultinomialNB().fit(x, y).predict_proba(question)[0, NEGATIVE], 0.6469010612891278, rtol=1e-13)
    unsmoothed = MultinomialNB(alpha=0).fit(x, y)
    with pytest.warns(sf.ImpossibleRowWarning):
        assert_allclose(unsmoothed.predict_proba(question), [[4 / 6, 2 / 6]], rtol=1e-14)


def test_without_stop_words_the_joints_are_exact_fractions_too():
    vocabulary, x, y = data.sentiment(data.STOP_WORDS)
    assert len(vocabulary) == 19
    assert x[y == "negative"].sum() == 13
    assert x[y == "positive"].sum() == 6
    model, question = fitted(1, data.STOP_WORDS)
    negative = Fraction(4, 6) * Fraction(2, 13 + 19) * Fraction(1, 13 + 19)  # cheeto, awesome
    positive = Fraction(2, 6) * Fraction(1, 6 + 19) * Fraction(2, 6 + 19)
    assert_allclose(np.exp(model.log_joint(question))[0], [float(negative), float(positive)], rtol=1e-13)
    assert_allclose(model.posterior(question)[0, NEGATIVE], float(negative / (negative + positive)), rtol=1e-13)


def test_without_stop_words_and_smoothing_both_classes_are_still_impossible():
    model, question = fitted(0, data.STOP_WORDS)
    assert (model.log_joint(question) == -np.inf).all()


def test_an_estimate_is_the_count_and_l_over_the_length_and_l_for_each_word():
    vocabulary, _, _ = data.sentiment()
    for smoothing in (Fraction(0), Fraction(1, 2), Fraction(1)):
        theta = fitted(float(smoothing))[0].distribution.probability
        for word, counts in {"is": (1, 1), "awesome": (0, 1), "my": (1, 0), "rock": (0, 1)}.items():
            for c, (count, length) in enumerate(zip(counts, (20, 9), strict=True)):
                expected = float((count + smoothing) / (length + smoothing * 28))
                assert_allclose(theta[c, vocabulary.index(word)], expected, rtol=1e-14)


def test_a_document_may_be_drawn_word_by_word():
    vocabulary, x, y = data.sentiment()
    model = sf.Model.fit(x, y, sf.Multinomial(prior=None))
    drawn, labels = model.sample(5000, label="positive", random_state=0)
    assert set(labels) == {"positive"}
    assert drawn[:, vocabulary.index("suck")].sum() == 0  # never seen in a positive text
    assert_allclose(drawn.sum(axis=0)[vocabulary.index("rock")] / drawn.sum(), 1 / 9, atol=0.01)
    assert_allclose(drawn.sum(axis=1).mean(), 4.5, atol=0.2)
