"""Two event models for text: which words of the vocabulary a mail has, or which word stands at each place of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf

MAILS = ["buy drugs buy now", "now buy drugs", "meet now", "drugs meet drugs meet now", "meet"]
LABELS = ["spam", "spam", "work", "work", "work"]
WORDS = ["buy", "drugs", "meet", "now"]
CLASSES = ["spam", "work"]
QUESTIONS = ["buy buy drugs", "meet", "now now", "drugs now meet meet", ""]

# The same mails as the lecture writes them: x_i is the number of the i-th word, and mails differ in length.
NUMBERS = [[WORDS.index(word) for word in mail.split()] for mail in MAILS]


def classifier(event: str, smoothing: float = 1.0, **options) -> sf.TextClassifier:
    return sf.TextClassifier(event=event, ngrams=(1, 1), smoothing=smoothing, calibrate=False, **options)


def posterior(likelihood) -> np.ndarray:
    """Bayes' rule in fractions, with φ_y the share of mails."""
    shares = {c: Fraction(LABELS.count(c), len(LABELS)) for c in CLASSES}
    rows = []
    for question in QUESTIONS:
        joint = [shares[c] * likelihood(question.split(), c) for c in CLASSES]
        rows.append([float(j / sum(joint)) for j in joint])
    return np.array(rows)


def has_words(question: list[str], label: str, l: int = 1) -> Fraction:  # noqa: E741  # the lecture's letter
    """∏ over the vocabulary of φ_j|y where the mail has word j, else 1 − φ_j|y.

    φ_j|y = (mails of y with word j + l)/(mails of y + 2l).
    """
    mails = [mail.split() for mail, y in zip(MAILS, LABELS, strict=True) if y == label]
    phi = {word: Fraction(sum(word in mail for mail in mails) + l, len(mails) + 2 * l) for word in WORDS}
    return prod((phi[word] if word in question else 1 - phi[word]) for word in WORDS)


def draws_words(question: list[str], label: str, l: int = 1) -> Fraction:  # noqa: E741
    """∏ over the places of φ_k|y; φ_k|y = (how often word k stands in mails of y + l)/(words in them + l |V|)."""
    own = [word for mail, y in zip(MAILS, LABELS, strict=True) if y == label for word in mail.split()]
    return prod((Fraction(own.count(word) + l, len(own) + l * len(WORDS)) for word in question), start=Fraction(1))


def test_the_multivariate_bernoulli_event_model():
    clf = classifier("bernoulli").fit(MAILS, LABELS)
    assert_allclose(clf.predict_proba(QUESTIONS), posterior(has_words), rtol=1e-12)
    # By hand: "meet" is in no mail of spam (1/4 after smoothing) and in all of work (4/5).
    spam = Fraction(2, 5) * Fraction(1, 4) * Fraction(1, 4) * Fraction(1, 4) * Fraction(1, 4)
    work = Fraction(3, 5) * Fraction(4, 5) * Fraction(4, 5) * Fraction(3, 5) * Fraction(2, 5)
    assert_allclose(clf.predict_proba(["meet"])[0], [float(c / (spam + work)) for c in (spam, work)], rtol=1e-12)


def test_the_multinomial_event_model():
    clf = classifier("multinomial").fit(MAILS, LABELS)
    assert_allclose(clf.predict_proba(QUESTIONS), posterior(draws_words), rtol=1e-12)
    # By hand: 7 words in spam, 3 of them "buy", 2 "drugs"; 8 in work, of which "buy" none and "drugs" 2; |V| = 4.
    spam = Fraction(2, 5) * Fraction(4, 11) ** 2 * Fraction(3, 11)
    work = Fraction(3, 5) * Fraction(1, 12) ** 2 * Fraction(3, 12)
    found = clf.predict_proba(["buy buy drugs"])[0]
    assert_allclose(found, [float(c / (spam + work)) for c in (spam, work)], rtol=1e-12)


def test_the_two_models_differ_on_the_same_mails():
    of_words, of_places = (classifier(event).fit(MAILS, LABELS) for event in ("bernoulli", "multinomial"))
    repeated = ["now now now now", "now"]
    assert_allclose(*of_words.predict_log_proba(repeated), rtol=1e-12, err_msg="a word is there or is not")
    assert abs(np.subtract(*of_places.predict_log_proba(repeated))).max() > 0.1, "each place counts"
    assert_allclose(of_places.predict_proba([""])[0], [2 / 5, 3 / 5], rtol=1e-12, err_msg="no places: the prior")
    assert of_words.predict_proba([""])[0, 1] > 0.8, "what a mail lacks counts: spam nearly always says buy"


def test_without_smoothing_the_estimates_are_the_lectures_shares():
    clf = classifier("multinomial", smoothing=0.0).fit(MAILS, LABELS)
    for word, label in product(WORDS, CLASSES):
        own = [w for mail, y in zip(MAILS, LABELS, strict=True) if y == label for w in mail.split()]
        table = clf.top_features(label, n=len(WORDS), by="probability")
        share = dict(zip(table.rows, table.values[:, 1], strict=True)).get(word, 0.0)
        assert_allclose(share, own.count(word) / len(own), rtol=1e-12)


@pytest.mark.parametrize("event", ["bernoulli", "multinomial", "complement"])
@pytest.mark.parametrize("form", [list, tuple, np.array], ids=["lists", "tuples", "arrays"])
def test_a_mail_may_be_a_sequence_of_word_numbers_of_any_length(event, form):
    by_number = classifier(event).fit([form(mail) for mail in NUMBERS], LABELS)
    by_word = classifier(event).fit(MAILS, LABELS)
    asked = [[WORDS.index(word) for word in question.split()] for question in QUESTIONS]
    asked = [form(mail) for mail in asked[:-1]]
    assert_allclose(by_number.predict_proba(asked), by_word.predict_proba(QUESTIONS[:-1]), rtol=1e-12)
    assert len(by_number.vocabulary_) == len(WORDS)


def test_word_numbers_need_no_order_and_unknown_ones_say_nothing():
    clf = classifier("multinomial").fit([[3, 1, 3], [2]], ["a", "b"])
    # a: 3 twice and 1 once of three places; b: 2 alone; three words in all.
    a = Fraction(1, 2) * Fraction(3, 6) * Fraction(2, 6)
    b = Fraction(1, 2) * Fraction(1, 4) * Fraction(1, 4)
    assert_allclose(clf.predict_proba([[1, 3], [3, 1]])[:, 0], float(a / (a + b)), rtol=1e-12)
    assert_allclose(clf.predict_proba([[77], [3, 77, 1]])[:, 0], [1 / 2, float(a / (a + b))], rtol=1e-12)


def test_the_likelihood_of_the_training_mails_is_the_lectures_product():
    clf = classifier("multinomial").fit(NUMBERS, LABELS)
    # ∏_i p(y_i) ∏_j p(x_j | y_i), here the log of p(x) = Σ_y p(x, y) of each mail
    shares = {c: Fraction(LABELS.count(c), len(LABELS)) for c in CLASSES}
    expected = [float(sum(shares[c] * draws_words(mail.split(), c) for c in CLASSES)) for mail in MAILS]
    assert_allclose(np.exp(clf.score_samples(NUMBERS)), expected, rtol=1e-12)
