"""The most telling word of each newsgroup, from the raw bodies."""

from __future__ import annotations

import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose

import suffice as sf

# The lecture's naive Bayes column, in the alphabetical order of the newsgroups.
LECTURE = (
    *("don", "thanks", "windows", "thanks", "mac", "window", "sale", "car", "bike", "year"),
    *("team", "key", "use", "don", "space", "god", "people", "people", "people", "people"),
)


@pytest.fixture
def bodies(data_dir):
    table = pyarrow.parquet.read_table(data_dir / "20newsgroups-train.parquet", columns=["label", "body"])
    return table["body"], table["label"].to_pylist()


def test_the_most_probable_word_agrees_with_the_lecture_in_all_twenty(bodies):
    texts, labels = bodies
    clf = sf.TextClassifier(event="bernoulli", ngrams=(1, 1), stop_words="english", smoothing=1.0, calibrate=False)
    clf.fit(texts, labels)
    found = [clf.top_features(label, n=1, by="probability").rows[0] for label in clf.classes_]
    assert len(found) == 20
    assert tuple(found) == LECTURE


def test_the_probability_of_the_first_word_is_its_share_of_documents(bodies):
    texts, labels = bodies
    clf = sf.TextClassifier(event="bernoulli", ngrams=(1, 1), stop_words="english", smoothing=0.0, calibrate=False)
    clf.fit(texts, labels)
    own = [text for text, label in zip(texts.to_pylist(), labels, strict=True) if label == "rec.motorcycles"]
    share = sum("bike" in _words(text) for text in own) / len(own)
    assert_allclose(clf.top_features("rec.motorcycles", n=1, by="probability").values[0, 1], share, rtol=1e-12)


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in text.lower()).split()
