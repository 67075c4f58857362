"""Texts as vectors of words: the four newsgroups of the lecture, and what is done to words before they count."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

import suffice as sf
from lectures.newsgroups import CATEGORIES, four_newsgroups


@lru_cache
def read(folder: Path):
    texts, labels = four_newsgroups(folder)
    bag = sf.BagOfWords()
    return texts, labels, bag, bag.fit_transform(texts)


@pytest.fixture
def newsgroups(data_dir):
    return read(data_dir)


def test_four_newsgroups_are_2257_documents_of_35788_words(newsgroups):
    _, labels, bag, x = newsgroups
    assert sorted(set(labels)) == CATEGORIES
    assert x.shape == (2257, 35788)
    assert len(bag.vocabulary_) == 35788


def test_a_words_index_can_be_looked_up(newsgroups):
    _, _, bag, x = newsgroups
    assert bag.vocabulary_["church"] == 8609
    assert bag.vocabulary_["computer"] == 9338
    assert bag.get_feature_names_out()[[8609, 9338]].tolist() == ["church", "computer"]
    assert x[:, 8609].sum() > 0


def test_the_fourth_post_asks_about_the_church(newsgroups):
    texts, _, bag, x = newsgroups
    assert "catholic church poland" in texts[3]
    found = {word: x[3, bag.vocabulary_[word]] > 0 for word in ("church", "computer", "doctor", "important")}
    assert found == {"church": True, "computer": False, "doctor": False, "important": True}


def test_the_counts_are_scikit_learns(newsgroups):
    texts, _, _, x = newsgroups
    assert (x != CountVectorizer().fit_transform(texts)).nnz == 0


def test_binary_vectors_say_which_words_are_there(newsgroups):
    texts, _, bag, x = newsgroups
    binary = sf.BagOfWords(vocabulary=bag.vocabulary_, binary=True).fit_transform(texts[:50])
    assert set(binary.data) == {1}
    assert_array_equal(binary.toarray(), x[:50].toarray() > 0)


def test_the_thousand_most_frequent_words(newsgroups):
    texts, _, bag, x = newsgroups
    most = sf.BagOfWords(max_features=1000).fit(texts)
    total = np.asarray(x.sum(axis=0)).ravel()
    kept = [bag.vocabulary_[word] for word in most.vocabulary_]
    assert len(kept) == 1000
    left_out = np.delete(total, kept)
    assert total[kept].min() >= left_out.max()


def test_stop_words_and_rare_words_are_left_out(newsgroups):
    texts, _, bag, x = newsgroups
    fewer = sf.BagOfWords(stop_words="english", min_df=5).fit(texts)
    documents = np.asarray((x > 0).sum(axis=0)).ravel()
    stops = CountVectorizer(stop_words="english").get_stop_words()
    names = bag.get_feature_names_out()
    assert set(fewer.vocabulary_) == {w for w, n in zip(names, documents, strict=True) if n >= 5 and w not in stops}


def test_slowness_is_slow():
    texts = ["slow", "slowness", "slowed"]
    assert sf.BagOfWords(stem="english").fit(texts).vocabulary_ == {"slow": 0}
    # Snowball takes "-ly" only from behind some letters, and w is none of them; a rule of one's own does it.
    assert sf.BagOfWords(stem="english").fit(["slowly"]).vocabulary_ == {"slowli": 0}
    own = sf.BagOfWords(stem=lambda word: word.removesuffix("ness").removesuffix("ly"))
    assert_array_equal(own.fit_transform(["slowly", "slowness", "slow"]).toarray(), [[1], [1], [1]])
    assert own.vocabulary_ == {"slow": 0}
