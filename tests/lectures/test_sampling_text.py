"""A generative model of text writes documents: a spam mail from p(x | spam)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

import suffice as sf

MAILS = ["buy drugs buy now", "now buy drugs", "meet now", "drugs meet drugs meet now", "meet"]
KINDS = np.array(["spam", "spam", "work", "work", "work"])
WORDS = ["buy", "drugs", "meet", "now"]
N = 5000


def classifier(event: str, smoothing: float = 1.0) -> sf.TextClassifier:
    return sf.TextClassifier(event=event, ngrams=(1, 1), smoothing=smoothing, calibrate=False)


def five_errors(share: float, n: int) -> float:
    return 5 * np.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_words_are_drawn_as_often_as_the_multinomial_model_says(smoothing):
    clf = classifier("multinomial", smoothing).fit(MAILS, KINDS)
    for label in ("spam", "work"):
        drawn, labels = clf.sample(N, label=label, random_state=0)
        assert len(drawn) == N
        assert set(labels) == {label}
        words = [word for text in drawn for word in text.split()]
        own = [word for mail, kind in zip(MAILS, KINDS, strict=True) if kind == label for word in mail.split()]
        found = Counter(words)
        assert set(found) <= set(WORDS)
        for word in WORDS:
            share = (own.count(word) + smoothing) / (len(own) + smoothing * len(WORDS))
            assert abs(found[word] / len(words) - share) <= five_errors(share, len(words))


def test_words_are_there_as_often_as_the_bernoulli_model_says():
    clf = classifier("bernoulli").fit(MAILS, KINDS)
    for label in ("spam", "work"):
        drawn, _ = clf.sample(N, label=label, random_state=0)
        own = [mail.split() for mail, kind in zip(MAILS, KINDS, strict=True) if kind == label]
        for word in WORDS:
            share = (sum(word in mail for mail in own) + 1) / (len(own) + 2)
            found = np.mean([word in text.split() for text in drawn])
            assert abs(found - share) <= five_errors(share, N)


def test_labels_are_drawn_by_the_prior_and_draws_are_repeatable():
    clf = classifier("multinomial").fit(MAILS, KINDS)
    drawn, labels = clf.sample(N, random_state=3)
    assert abs(np.mean(labels == "spam") - 2 / 5) < five_errors(2 / 5, N)
    again, same = clf.sample(N, random_state=3)
    assert list(again) == list(drawn)
    assert_array_equal(same, labels)
    with pytest.raises(sf.MismatchError, match="No class 'love'"):
        clf.sample(1, label="love")


def test_a_spam_message_is_written_and_told_from_ham(data_dir):
    table = pyarrow.parquet.read_table(data_dir / "sms-spam.parquet")
    texts, labels = table["text"].to_pylist(), np.array(table["label"].to_pylist())
    clf = classifier("multinomial", smoothing=0.1).fit(texts, labels)
    written, _ = clf.sample(200, label="spam", random_state=0)
    assert all(isinstance(text, str) for text in written)
    known = set(clf.vocabulary_)
    assert all(word in known for text in written for word in text.split())
    # Real spam has 23 words or so; what is written from p(x | spam) reads as spam, for its words are spam's.
    assert np.mean(clf.predict(written) == "spam") > 0.95
    lengths = [len(text.split()) for text in written]
    assert 15 < np.mean(lengths) < 30
    assert "free" in " ".join(written).split()
