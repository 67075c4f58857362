"""The classifier for texts, as an adversary would use it."""

import copy
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.murmurhash import murmurhash3_32

import suffice as sf
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    InvalidTextError,
    MismatchError,
    NoDistributionError,
    NotPartError,
)
from suffice.estimators import text_classifier as module
from text_oracle import Corpus, posterior, random_texts, words_of

TEXTS, CODES = random_texts(60, seed=2, vocabulary=20, length=12)
TEXTS[7], TEXTS[8] = None, ""
LABELS = np.array(["a", "b", "c"])[CODES]
WEIGHT = np.random.default_rng(3).choice([0.5, 1.0, 2.0], len(TEXTS))
PLAIN = {"event": "multinomial", "ngrams": (1, 1), "smoothing": 1.0, "calibrate": False}
MODELS = {
    "default": {},
    "words": {"ngrams": (1, 1)},
    "multinomial": {"event": "multinomial"},
    "complement": {"event": "complement", "smoothing": 0.3},
    "bernoulli": {"event": "bernoulli", "calibrate": False},
    "urn": {"event": "multinomial", "learn": "predictive", "smoothing": 0.5},
    "classes": {"calibrate": "classes", "event": "multinomial"},
    "plain": PLAIN,
    "hashed": {"n_features": 16},
    "characters": {"analyzer": "char_wb", "ngrams": (2, 3)},
}
every = pytest.mark.parametrize("options", list(MODELS.values()), ids=list(MODELS))


def fitted(options=PLAIN, texts=TEXTS, labels=LABELS, weight=None):
    return sf.TextClassifier(**options).fit(texts, labels, weight)


def saved(clf):
    file = io.BytesIO()
    clf.save(file)
    return file.getvalue()


def same(a, b, texts=TEXTS):
    """The same statistics, and the same answers."""
    mine, theirs = a.statistics_.statistic, b.statistics_.statistic
    if a.event_.counts.total.tolist() == [float(int(t)) for t in a.event_.counts.total]:
        assert a.statistics_ == b.statistics_, "counts add exactly"
    assert mine.vocabulary == theirs.vocabulary
    assert mine.kept == theirs.kept
    assert_allclose(mine.dense(), theirs.dense(), rtol=1e-12)
    assert_array_equal(mine.documents, theirs.documents)
    assert_array_equal(a.classes_, b.classes_)
    assert_array_equal(a.class_count_, b.class_count_)
    assert_allclose(a.predict_proba(texts), b.predict_proba(texts), rtol=1e-9, atol=1e-12)


# ---- the textbook's model


def test_it_is_scikit_learns_vectorizer_and_multinomial_naive_bayes():
    texts = [text or "" for text in TEXTS]
    counts = CountVectorizer()
    theirs = MultinomialNB().fit(counts.fit_transform(texts), LABELS, WEIGHT)
    ours = fitted(weight=WEIGHT, texts=texts)
    new = [*texts, "unknown words", "wah wah unknown"]
    matrix = counts.transform(new)
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(matrix), rtol=1e-12)
    assert_allclose(ours.predict_log_proba(new), theirs.predict_log_proba(matrix), rtol=1e-12, atol=1e-14)
    assert_allclose(ours.predict_joint_log_proba(new), theirs.predict_joint_log_proba(matrix), rtol=1e-12)
    assert_array_equal(ours.predict(new), theirs.predict(matrix))
    assert ours.vocabulary_ == counts.vocabulary_
    assert_array_equal(ours.class_count_, theirs.class_count_)
    assert_allclose(ours.score(texts, LABELS), theirs.score(counts.transform(texts), LABELS))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"stop_words": "english"}, {"stop_words": "english"}),
        ({"stop_words": ["the", "dog"]}, {"stop_words": ["the", "dog"]}),
        ({"lowercase": False}, {"lowercase": False}),
        ({"strip_accents": "ascii"}, {"strip_accents": "ascii"}),
        ({"strip_accents": "unicode"}, {"strip_accents": "unicode"}),
        ({"analyzer": "char", "ngrams": (1, 3)}, {"analyzer": "char", "ngram_range": (1, 3)}),
        ({"analyzer": "char_wb", "ngrams": (2, 4)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}),
        ({"ngrams": (1, 3)}, {"ngram_range": (1, 3)}),
        ({"ngrams": [2, 2]}, {"ngram_range": (2, 2)}),
        ({"stop_words": {"the"}, "ngrams": (1, 2)}, {"stop_words": ["the"], "ngram_range": (1, 2)}),
    ],
    ids=str,
)
def test_texts_are_read_as_scikit_learn_reads_them(ours, theirs):
    texts = ["The Dog ate the naïve café", "dog Ärger über alles", "the cat, the CAT", "İstanbul ΟΔΟΣ 漢字 漢字", "a"]
    labels = [0, 1, 0, 1, 1]
    counts = CountVectorizer(**theirs)
    peer = MultinomialNB().fit(counts.fit_transform(texts), labels)
    clf = fitted(PLAIN | ours, texts, labels)
    assert clf.vocabulary_ == counts.vocabulary_
    assert_allclose(clf.predict_proba(texts), peer.predict_proba(counts.transform(texts)), rtol=1e-12)


def test_stems_are_one_word():
    clf = fitted(PLAIN | {"stem": "english"}, ["slow slowness", "fast"], [0, 1])
    assert clf.vocabulary_ == {"fast": 0, "slow": 1}
    assert_array_equal(clf.predict_proba(["slowed"]), clf.predict_proba(["slow"]))
    assert_array_equal(clf.predict(["slowing slows"]), [0])


def test_hashed_features_are_in_scikit_learns_columns():
    texts = [text or "" for text in TEXTS]
    clf = fitted(PLAIN | {"n_features": 8, "ngrams": (1, 2)}, texts)
    columns = np.zeros((len(texts), 8))
    for i, text in enumerate(texts):
        words = words_of(text)
        for feature in words + [" ".join(pair) for pair in pairwise(words)]:
            columns[i, abs(murmurhash3_32(feature)) % 8] += 1
    used = columns.sum(axis=0) > 0
    theirs = MultinomialNB().fit(columns[:, used], LABELS)
    assert len(clf.vocabulary_) == used.sum()
    assert_allclose(clf.predict_proba(texts), theirs.predict_proba(columns[:, used]), rtol=1e-10)


# ---- input


def test_texts_may_be_held_by_anything():
    clf = fitted(texts=TEXTS)
    expected = clf.predict_proba(TEXTS)
    column = np.array(TEXTS, dtype=object)
    for held in (
        tuple(TEXTS),
        column,
        column[:, None],
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:9], TEXTS[9:]]),
        pd.Series(TEXTS),
        pl.Series(TEXTS),
        pa.table({"text": TEXTS}),
        pd.DataFrame({"text": TEXTS}),
        pd.DataFrame({"text": TEXTS}, index=np.arange(len(TEXTS))[::-1]),
        pl.DataFrame({"text": TEXTS}),
        [None if text is None else text.encode() for text in TEXTS],
    ):
        assert_array_equal(clf.predict_proba(held), expected)
        again = fitted(texts=held)
        assert again.statistics_ == clf.statistics_
    same(fitted(texts=(text for text in TEXTS)), clf)
    same(sf.TextClassifier(**PLAIN).fit(TEXTS, LABELS.tolist()), clf)
    same(sf.TextClassifier(**PLAIN).fit(TEXTS, pd.Series(LABELS)), clf)


@pytest.mark.parametrize("options", [each for each in MODELS.values() if "analyzer" not in each], ids=str)
def test_sequences_of_word_numbers_are_texts(options):
    rng = np.random.default_rng(0)
    numbers = [None, [], *(rng.integers(10, 30, rng.integers(1, 9)).tolist() for _ in range(38))]
    texts = [None if each is None else " ".join(map(str, each)) for each in numbers]
    labels = rng.integers(0, 2, 40)
    a, b = fitted(options, numbers, labels), fitted(options, texts, labels)
    assert a.vocabulary_ == b.vocabulary_
    if not options.get("calibrate", True):
        assert_allclose(a.predict_proba(numbers), b.predict_proba(texts), rtol=1e-12)
    assert_allclose(a.predict_proba(numbers), a.predict_proba(texts), rtol=1e-12)
    arrays = [None if each is None else np.array(each, dtype=np.int32) for each in numbers]
    assert_array_equal(a.predict_proba(arrays), a.predict_proba(numbers))


@pytest.mark.parametrize(
    ("texts", "labels", "error"),
    [
        (["good", 3], [0, 1], InvalidTextError),
        ("good", [0], InvalidTextError),
        (["good", "bad"], [0], ValueError),
        (["good", "bad"], None, ValueError),
        ([], [], InvalidDataError),
        (["good", "lone \ud800"], [0, 1], InvalidTextError),
        ([b"good", b"\xff"], [0, 1], InvalidTextError),
        (["a", "b c"], [0, 1], InvalidTextError),
        (["good", "bad"], [0.5, 1.25], ValueError),
        ([["good", "bad"], ["bad"]], [0, 1], InvalidTextError),
        ([[1.5], [2]], [0, 1], InvalidTextError),
        (np.array([["a", "b"], ["c", "d"]]), [0, 1], InvalidTextError),
        (pa.array([1, 2]), [0, 1], InvalidTextError),
        (pd.DataFrame({"x": ["good", "bad"], "y": ["good", "bad"]}), [0, 1], InvalidTextError),
        (pa.table({"x": ["good", "bad"], "y": ["good", "bad"]}), [0, 1], InvalidTextError),
    ],
)
def test_a_failed_fit_leaves_what_was_learned(texts, labels, error):
    clf = fitted()
    clf.partial_fit(["waiting words"], ["a"])
    before = saved(copy.deepcopy(clf))
    with pytest.raises(error):
        clf.fit(texts, labels)
    assert saved(clf) == before
    with pytest.raises(error):
        sf.TextClassifier(**PLAIN).fit(texts, labels)


@pytest.mark.parametrize(
    "options",
    [
        {"event": "poisson"},
        {"ngrams": (2, 1)},
        {"ngrams": 2},
        {"ngrams": (1, 2, 3)},
        {"smoothing": -1.0},
        {"smoothing": "much"},
        {"smoothing": 0.0, "event": "complement"},
        {"smoothing": 0.0, "event": "multinomial", "learn": "predictive"},
        {"smoothing": "auto", "learn": "predictive"},
        {"learn": "map", "smoothing": 0.5, "event": "multinomial"},
        {"learn": "mle"},
        {"calibrate": "maybe"},
        {"stop_words": "klingon"},
        {"stem": "klingon"},
        {"stop_words": "english", "analyzer": "char"},
        {"stop_words": [3]},
        {"keep": -1},
        {"n_features": 0},
        {"term_weight": "tfidf"},
        {"length_norm": "l3"},
        {"prior": [0.5, 0.2]},
        {"prior": [0.5, 0.3, 0.1, 0.1]},
    ],
    ids=str,
)
def test_parameters_without_a_meaning_are_refused(options):
    clf = sf.TextClassifier(**options)
    with pytest.raises(ValueError):  # noqa: PT011  # scikit-learn's own, or ours, which are ValueErrors too
        clf.fit(TEXTS, LABELS).predict(TEXTS)
    assert not hasattr(clf, "classes_") or options.get("prior") is not None


def test_an_unknown_language_names_those_known():
    with pytest.raises(InvalidOptionError, match="english"):
        fitted({"stop_words": "klingon"})
    with pytest.raises(InvalidOptionError, match="english"):
        fitted({"stem": "klingon"})


def test_nothing_learned_answers_nothing():
    clf = sf.TextClassifier()
    for question in (clf.predict, clf.predict_proba, clf.score_samples, clf.evidence, clf.top_features):
        with pytest.raises(NotFittedError):
            question(["text"])
    with pytest.raises(NotFittedError):
        clf.forget(["text"], [0])
    with pytest.raises(NotFittedError):
        clf.sample()
    with pytest.raises(NotFittedError):
        clf.vocabulary_  # noqa: B018


# ---- documented answers


@every
def test_missing_texts_get_the_prior(options):
    clf = fitted(options)
    prior = clf.class_count_ / clf.class_count_.sum()
    if clf.calibrate == "classes":  # which adds to the prior
        prior = clf.predict_proba([None])[0]
    assert_allclose(clf.predict_proba([None])[0], prior, rtol=1e-9)
    for kept in (["", "unknown", "zz"],) if options.get("event") in ("multinomial", "complement") else ([""],):
        if options.get("event") != "bernoulli":
            assert_allclose(clf.predict_proba(kept), np.repeat(prior[None], len(kept), axis=0), rtol=1e-9)
    assert_allclose(clf.predict_proba(["unknown words", None, ""]).sum(axis=1), 1.0)


def test_a_text_of_stop_words_is_empty():
    clf = fitted({"stop_words": "english", "event": "bernoulli"}, ["the dog barks", "a cat meows", "dogs"], [0, 1, 0])
    assert "the" not in clf.vocabulary_
    stop = " ".join(sorted(ENGLISH_STOP_WORDS)[:20])
    assert_array_equal(clf.predict_proba([stop]), clf.predict_proba([""]))


@every
def test_small_things(options):
    one = fitted(options, ["good film", "bad", None], ["x"] * 3)
    assert_array_equal(one.predict(["any", None]), ["x", "x"])
    assert_array_equal(one.predict_proba(["any", None]), 1.0)
    assert_array_equal(one.leave_one_out(["good film", "bad"], ["x", "x"]), 0.0)
    two = fitted(options, ["good film", "bad show"], ["x", "y"])
    assert_array_equal(two.predict(["good film", "bad show"]), ["x", "y"])
    assert not np.isnan(two.leave_one_out(["good film", "bad show"], ["x", "y"])).any()
    equal = fitted(options, ["good film"] * 6, ["x", "y"] * 3)
    assert_allclose(equal.predict_proba(["good", "film", "good film", ""]), 0.5)
    lonely = fitted(options, [*TEXTS, "quite alone here"], [*LABELS, "z"])
    if "n_features" not in options:  # which may hash to columns that others have
        assert lonely.predict(["quite alone here"]) == ["z"]
    assert np.isfinite(lonely.predict_log_proba(TEXTS)).all()
    unkept = fitted(options | {"keep": 0})
    assert len(unkept.statistics_.statistic.kept) == 0
    assert_allclose(unkept.predict_proba(TEXTS).sum(axis=1), 1.0)


def test_many_classes():
    texts = [f"word{i} common thing{i % 7}" for i in range(300)] * 2
    labels = np.arange(600) % 300
    clf = fitted({}, texts, labels)
    assert len(clf.classes_) == 300
    assert clf.score(texts, labels) == 1.0
    assert_allclose(clf.predict_proba(texts[:5]).sum(axis=1), 1.0)


# ---- learning piece by piece


@every
def test_one_document_at_a_time_is_fitting_them_all(options):
    whole = fitted(options)
    clf = sf.TextClassifier(**options)
    for text, label in zip(TEXTS, LABELS.tolist(), strict=True):
        clf.partial_fit([text], [label])
    same(clf, whole)
    backwards = sf.TextClassifier(**options)
    for rows in (slice(40, 60), slice(10, 40), slice(0, 10)):
        backwards.partial_fit(TEXTS[rows], LABELS[rows])
    same(backwards, whole)


@every
def test_parts_merge_and_are_forgotten(options):
    first, second = (fitted(options, TEXTS[rows], LABELS[rows], WEIGHT[rows]) for rows in (slice(25), slice(25, 60)))
    whole = fitted(options, weight=WEIGHT)
    same(first + second, whole)
    same(sum([second, first]), whole)
    whole.forget(TEXTS[25:], LABELS[25:], WEIGHT[25:])
    assert_allclose(whole.predict_proba(TEXTS), first.predict_proba(TEXTS), rtol=1e-6, atol=1e-9)
    assert whole.vocabulary_ == first.vocabulary_
    whole.forget(TEXTS[:25], LABELS[:25], WEIGHT[:25])
    with pytest.raises(NotFittedError):
        whole.predict(TEXTS)
    for _ in range(2):
        whole.partial_fit(["start again"], ["new"])
    assert_array_equal(whole.class_count_, [2.0])


@every
def test_classes_are_dropped_and_renamed(options):
    clf = fitted(options).drop_class("b")
    others = LABELS != "b"
    expected = fitted(options, [t for t, o in zip(TEXTS, others, strict=True) if o], LABELS[others])
    same(clf, expected)
    renamed = fitted(options).rename_class("b", "zebra")
    same(renamed, fitted(options, labels=np.where(LABELS == "b", "zebra", LABELS)))
    merged = fitted(options).rename_class("b", "a")
    same(merged, fitted(options, labels=np.where(LABELS == "b", "a", LABELS)))


@every
def test_weights_are_repetitions_and_weightless_documents_absent(options):
    times = np.arange(len(TEXTS)) % 3
    repeated = [text for text, n in zip(TEXTS, times, strict=True) for _ in range(n)]
    a, b = fitted(options, weight=times.astype(float)), fitted(options, repeated, np.repeat(LABELS, times))
    assert a.vocabulary_ == b.vocabulary_
    assert_allclose(a.predict_proba(TEXTS), b.predict_proba(TEXTS), rtol=1e-7, atol=1e-10)
    assert_array_equal(a.class_count_, b.class_count_)


def test_new_words_and_classes_may_come_at_any_time():
    clf = sf.TextClassifier(**PLAIN).partial_fit(["red green"], ["m"])
    clf.partial_fit(["blue"], ["z"]).partial_fit(["yellow blue"], ["a"])
    assert_array_equal(clf.classes_, ["a", "m", "z"])
    assert clf.vocabulary_ == {"blue": 0, "green": 1, "red": 2, "yellow": 3}


def test_classes_may_be_named_in_advance():
    clf = sf.TextClassifier(**PLAIN).partial_fit(["red green"], ["m"], classes=["m", "later"])
    clf.partial_fit(["red"], ["m"]).partial_fit(["blue"], ["never said"])
    assert_array_equal(clf.classes_, ["later", "m", "never said"])
    assert_array_equal(clf.class_count_, [0, 2, 1])
    assert clf.predict(["red"]) == ["m"]


def test_forgetting_what_was_never_learned_changes_nothing():
    clf = fitted()
    clf.partial_fit(["waiting words"], ["a"])
    before = saved(copy.deepcopy(clf))
    for texts, labels in [
        (["yellow submarine"], ["a"]),
        (["waiting words"], ["b"]),
        (["waiting words"], ["nobody"]),
        (["waiting words"] * 2, ["a"] * 2),
        (["waiting words", 3], ["a", "a"]),
    ]:
        with pytest.raises((NotPartError, InvalidTextError)):
            clf.forget(texts, labels)
        assert saved(clf) == before


def test_models_that_read_differently_do_not_merge():
    a = fitted()
    for options in (PLAIN | {"ngrams": (1, 2)}, PLAIN | {"smoothing": 0.5}):
        with pytest.raises(MismatchError, match="Cannot merge"):
            a + fitted(options)


# ---- documents that wait


def waiting(n=3):
    clf = fitted(texts=TEXTS[:30], labels=LABELS[:30])
    for text, label in zip(TEXTS[30 : 30 + n], LABELS[30 : 30 + n].tolist(), strict=True):
        clf.partial_fit([text], [label])
    assert clf._stream.rows
    return clf, fitted(texts=TEXTS[: 30 + n], labels=LABELS[: 30 + n])


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda clf: pickle.loads(pickle.dumps(clf)),
    "file": lambda clf: sf.load(io.BytesIO(saved(clf))),
}


@pytest.mark.parametrize("duplicate", list(COPIES.values()), ids=list(COPIES))
def test_a_copy_and_its_original_go_separate_ways(duplicate):
    clf, expected = waiting()
    other = duplicate(clf)
    same(other, expected)
    for _ in range(3):
        other.partial_fit(["only the copy"], ["c"])
        clf.partial_fit(["only the original"], ["a"])
    assert other.class_count_.sum() == clf.class_count_.sum() == 36
    assert "copy" in other.vocabulary_
    assert "copy" not in clf.vocabulary_
    assert "original" not in other.vocabulary_
    same(clf, fitted(texts=TEXTS[:33] + ["only the original"] * 3, labels=[*LABELS[:33], "a", "a", "a"]))


def test_fitting_again_forgets_the_documents_that_wait():
    clf, _ = waiting()
    clf.fit(["red green", "blue"], ["x", "y"])
    assert clf.vocabulary_ == {"blue": 0, "green": 1, "red": 2}
    assert_array_equal(clf.class_count_, [1, 1])
    clf.partial_fit(["yellow"], ["x"])
    assert_array_equal(clf.class_count_, [2, 1])


def test_a_clone_has_learned_nothing():
    clf, _ = waiting()
    assert not hasattr(clone(clf), "_stream")
    with pytest.raises(NotFittedError):
        clone(clf).predict(TEXTS)


def test_new_parameters_do_not_reach_documents_that_came_before():
    clf, expected = waiting()
    clf.set_params(ngrams=(1, 2))
    same(clf, expected)
    clf, expected = waiting()
    clf.set_params(ngrams=(3, 1))
    same(clf, expected)
    with pytest.raises(InvalidOptionError):
        clf.partial_fit(["more words"], ["a"])
    same(clf, expected)
    clf.set_params(ngrams=(1, 1)).partial_fit(["more words"], ["a"])
    assert clf.class_count_.sum() == expected.class_count_.sum() + 1


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["good", 3], ["a", "b"]),
        (["good"], ["a", "b"]),
        (["good"], None),
        (["good"], "a"),
        (["good"], [3]),
        (["good"], [2**70]),
        (["good"], [None]),
        (["lone \ud800"], ["a"]),
        ([], []),
        ("good", ["a"]),
        (["good"], [[["a"]]]),
    ],
)
def test_what_cannot_be_learned_leaves_the_rest_as_it_was(texts, labels):
    clf, expected = waiting()
    with pytest.raises((ValueError, TypeError)):
        clf.partial_fit(texts, labels)
    same(clf, expected)
    clf.partial_fit(["good"], ["a"])
    assert clf.class_count_.sum() == expected.class_count_.sum() + 1


def test_a_class_that_the_prior_has_no_room_for_is_refused_at_once():
    clf = sf.TextClassifier(**PLAIN, prior=[0.2, 0.8]).fit(["red", "blue"], ["a", "b"])
    clf.partial_fit(["green"], ["a"])
    with pytest.raises(ValueError, match=r"2|prior"):
        clf.partial_fit(["yellow"], ["c"])
    assert_array_equal(clf.class_count_, [2, 1])
    assert_array_equal(clf.predict(["blue"]), ["b"])


def test_numbers_as_labels_wait_too_and_big_ones_are_refused():
    clf = sf.TextClassifier(**PLAIN).fit(["red", "blue", "green"], [0, 1, 7])
    clf.partial_fit(["green"], [7]).partial_fit(["green"], (7,)).partial_fit(["green"], [1])
    assert_array_equal(clf.class_count_, [1, 2, 3])
    clf.forget(["green", "green"], [1, 7])
    clf.partial_fit(["red"], [0]).forget(["red"], [0])
    with pytest.raises((ValueError, TypeError, OverflowError)):
        clf.partial_fit(["green"], [2**70]).predict(["green"])
    for label in ("7", True):
        with pytest.raises(MismatchError):
            clf.partial_fit(["green"], [label])
    assert_array_equal(clf.class_count_, [1, 1, 2])
    assert clf.classes_.dtype.kind == "i"


def test_asking_between_documents_changes_nothing():
    quiet, curious = (sf.TextClassifier(**PLAIN).fit(TEXTS[:5], LABELS[:5]) for _ in range(2))
    for text, label in zip(TEXTS[5:25], LABELS[5:25].tolist(), strict=True):
        quiet.partial_fit([text], [label])
        curious.partial_fit([text], [label])
        curious.predict(["wah"])
        assert curious.class_count_.sum() == curious.predict_proba(["wah"]).shape[0] * curious.class_count_.sum()
    same(curious, quiet)


def test_every_operation_counts_what_waits_first():
    for operation in (
        lambda clf: clf + fitted(texts=["x1 y1"], labels=["q"]),
        lambda clf: clf.forget(TEXTS[30:31], LABELS[30:31]),
        lambda clf: clf.drop_class("a"),
        lambda clf: clf.rename_class("a", "z"),
        lambda clf: clf.partial_fit(TEXTS[40:50], LABELS[40:50], sample_weight=np.full(10, 2.0)),
        lambda clf: clf.partial_fit(np.array(["x1 y1"]), np.array(["b"])),
    ):
        clf, expected = waiting()
        same(operation(clf), operation(expected))


def test_much_text_does_not_wait(monkeypatch):
    monkeypatch.setattr(module, "PENDING", 50)
    monkeypatch.setattr(module, "_size", lambda _: 0)
    clf = sf.TextClassifier(**PLAIN).fit(["red", "blue"], ["a", "b"])
    most = 0
    for i in range(30):
        clf.partial_fit([f"word number {i}"], ["a"])
        most = max(most, len(clf._stream.rows))
    assert 0 < most < 6
    assert clf.class_count_.tolist() == [31, 1]


STEPS = st.sampled_from(
    ["learn", "learn", "learn", "ask", "copy", "pickle", "fail", "forget", "weigh", "merge", "rename"]
)


@settings(max_examples=30)
@given(st.lists(st.tuples(STEPS, st.integers(0, 59)), max_size=14))
def test_no_history_loses_a_document_or_counts_it_twice(history):
    clf, learned = fitted(texts=["red green", "blue"], labels=["a", "b"]), [("red green", "a"), ("blue", "b")]
    for step, i in history:
        text, label = TEXTS[i] or "", str(LABELS[i])
        if step == "learn":
            clf.partial_fit([text], [label])
            learned.append((text, label))
        elif step == "ask":
            clf.predict_proba([text])
        elif step == "copy":
            clf = (copy.copy, copy.deepcopy)[i % 2](clf)
        elif step == "pickle":
            clf = pickle.loads(pickle.dumps(clf))
        elif step == "fail":
            with pytest.raises((ValueError, TypeError)):
                clf.partial_fit([text, 3], [label, label])
        elif step == "forget":
            clf.forget(*([each] for each in learned.pop(i % (len(learned) - 1) + 1)))
        elif step == "weigh":
            clf.partial_fit([text], [label], sample_weight=[2.0])
            learned += [(text, label)] * 2
        elif step == "merge":
            clf = clf + sf.TextClassifier(**PLAIN).partial_fit([text], [label])
            learned.append((text, label))
        elif step == "rename" and label in clf.classes_ and label != "a":
            clf.rename_class(label, label + label)
            learned = [(t, c + c if c == label else c) for t, c in learned]
        if len(learned) < 2:
            break
    assert clf.statistics_ == fitted(texts=[t for t, _ in learned], labels=[c for _, c in learned]).statistics_


# ---- scikit-learn's manners


def test_parameters_are_got_set_and_cloned():
    clf = sf.TextClassifier(event="complement", ngrams=(1, 3), keep=7)
    assert clf.get_params()["ngrams"] == (1, 3)
    assert clone(clf).get_params() == clf.get_params()
    assert clf.set_params(event="bernoulli") is clf
    assert clf.event == "bernoulli"
    assert repr(clf) == "TextClassifier(event='bernoulli', keep=7, ngrams=(1, 3))"
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(nonsense=1)
    tags = clf.__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.sparse


def test_it_can_be_searched_and_cross_validated():
    texts = [text or "" for text in TEXTS]
    grid = {"smoothing": [0.1, 1.0], "ngrams": [(1, 1), (1, 2)], "event": ["multinomial", "complement"]}
    search = GridSearchCV(sf.TextClassifier(calibrate=False), grid, cv=3, scoring="neg_log_loss").fit(texts, LABELS)
    assert search.best_params_["smoothing"] in (0.1, 1.0)
    assert search.predict(["wah"]).shape == (1,)
    found = cross_val_score(sf.TextClassifier(**PLAIN), texts, LABELS, cv=3)
    peer = cross_val_score(_Peer(), np.array(texts), LABELS, cv=3)
    assert_allclose(found, peer)


class _Peer(MultinomialNB):
    def fit(self, X, y):
        self.counts_ = CountVectorizer().fit(X)
        return super().fit(self.counts_.transform(X), y)

    def predict(self, X):
        return super().predict(self.counts_.transform(X))

    def score(self, X, y):
        return float((self.predict(X) == y).mean())


@every
def test_cross_validation_is_fitting_without_each_fold(options):
    options = options | {"calibrate": False} if options.get("event", "auto") != "auto" else options
    clf = fitted(options)
    found = clf.cross_validate(TEXTS, LABELS, folds=3, random_state=5)
    fold = np.random.default_rng(5).permutation(len(TEXTS)) % 3
    for k in range(3):
        rest = [i for i in range(len(TEXTS)) if fold[i] != k]
        again = fitted(options, [TEXTS[i] for i in rest], LABELS[rest])
        own = np.flatnonzero(fold == k)
        assert_allclose(found[own], again.predict_log_proba([TEXTS[i] for i in own]), rtol=1e-6, atol=1e-9)
    with pytest.raises(InvalidOptionError):
        clf.cross_validate(TEXTS, LABELS, folds=1)


@every
def test_answers_survive_files_and_pickles_bit_for_bit(options, tmp_path):
    clf = fitted(options, weight=WEIGHT)
    clf.save(tmp_path / "model.suffice")
    for again in (sf.load(tmp_path / "model.suffice"), pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert again.get_params() == clf.get_params()
        for question in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
            assert_array_equal(getattr(again, question)(TEXTS), getattr(clf, question)(TEXTS))
        again.partial_fit(["go on learning"], ["a"])
        assert again.class_count_.sum() == clf.class_count_.sum() + 1


def test_several_threads_may_ask_at_once_also_while_documents_wait():
    clf, expected = waiting()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(clf.predict_proba, [TEXTS] * 8):
            assert_allclose(found, expected.predict_proba(TEXTS), rtol=1e-12)
    same(clf, expected)


def test_what_waits_for_a_model_that_is_gone_is_not_counted():
    clf, expected = waiting()
    late = clf._stream
    clf.predict(TEXTS)
    clf._stream = late  # as another thread may still see it
    same(clf, expected)


# ---- questions


@every
def test_evidence_adds_up_to_the_log_odds(options):
    clf = fitted(options)
    new = [TEXTS[0], TEXTS[3] + " unknown", "", None, "unknown words"]
    log_p = clf.predict_log_proba(new)
    tables = clf.evidence(new, "b", "c")
    for i, table in enumerate(tables):
        values = dict(zip(table.rows, table.values[:, 0], strict=True))
        assert_allclose(table.values[:-1, 0].sum(), values["(sum)"], rtol=1e-9, atol=1e-12)
        assert_allclose(values["(sum)"], log_p[i, 1] - log_p[i, 2], rtol=1e-9, atol=1e-12)
        if not clf.calibrate and options.get("event", "auto") != "auto":
            assert_allclose(values["(calibration)"], 0.0, atol=1e-10)
        assert table.title == "b against c"
    one = clf.evidence(new[0])
    order = np.argsort(-log_p[0], kind="stable")
    assert one.title == f"{clf.classes_[order[0]]} against {clf.classes_[order[1]]}"


def test_evidence_names_the_words_by_what_they_say():
    clf = fitted(PLAIN, ["red red green", "blue green"], ["r", "b"])
    table = clf.evidence("green red red unknown blue", "r", "b")
    assert table.rows == ["(prior)", "red", "blue", "green", "(calibration)", "(sum)"]
    theta = {"r": {"red": 3 / 6, "green": 2 / 6, "blue": 1 / 6}, "b": {"red": 1 / 5, "green": 2 / 5, "blue": 2 / 5}}
    for word, times in {"red": 2, "blue": 1, "green": 1}.items():
        at = table.rows.index(word)
        assert_allclose(table.values[at, 0], times * np.log(theta["r"][word] / theta["b"][word]))
    with pytest.raises(MismatchError, match="No class"):
        clf.evidence("green", "nobody")
    with pytest.raises(InvalidOptionError, match="only one"):
        fitted(PLAIN, ["red"], ["r"]).evidence("red")


@pytest.mark.filterwarnings("ignore::suffice.errors.ImpossibleRowWarning")
def test_evidence_of_impossible_words_adds_nothing_besides():
    options = PLAIN | {"smoothing": 0}
    clf = fitted(options, ["red red green", "blue green"], ["r", "b"])
    one, both = clf.evidence("red green", "r", "b"), clf.evidence("red blue", "r", "b")
    assert one.rows == ["(prior)", "red", "green", "(calibration)", "(sum)"]
    assert_allclose(one.values[:, 0], [0.0, np.inf, np.log(1 / 3) - np.log(1 / 2), 0.0, np.inf])
    assert both.rows == ["(prior)", "red", "blue", "(calibration)", "(sum)"]
    assert both.values[:, 0].tolist() == [0.0, np.inf, -np.inf, 0.0, 0.0]


def test_the_words_that_tell_most():
    clf = fitted(PLAIN, [text or "" for text in TEXTS])
    total, _ = Corpus(TEXTS).totals(CODES, 3)
    theta = (total + 1) / (total + 1).sum(axis=1, keepdims=True)
    share = np.bincount(CODES) / len(CODES)
    others = (share[[0, 2]] / share[[0, 2]].sum()) @ theta[[0, 2]]
    odds = np.log(theta[1]) - np.log(others)
    names = np.array(Corpus(TEXTS).vocabulary)
    top = clf.top_features("b", 5)
    assert top.rows == names[np.argsort(-odds, kind="stable")[:5]].tolist()
    assert_allclose(top.values[:, 0], np.sort(odds)[::-1][:5], rtol=1e-10)
    likely = clf.top_features("b", 4, by="probability")
    assert likely.rows == names[np.argsort(-theta[1], kind="stable")[:4]].tolist()
    told = clf.top_features("b", 3, by="information")
    p = np.stack([theta[1], 1 - theta[1], others, 1 - others]) * np.array([share[1]] * 2 + [1 - share[1]] * 2)[:, None]
    whole = np.stack([p[0] + p[2], p[1] + p[3]])
    bits = (p * np.log2(p)).sum(axis=0) - (whole * np.log2(whole)).sum(axis=0)
    bits -= share[1] * np.log2(share[1]) + (1 - share[1]) * np.log2(1 - share[1])
    assert told.rows == names[np.argsort(-bits, kind="stable")[:3]].tolist()
    assert_allclose(told.values[:, 2], np.sort(bits)[::-1][:3], rtol=1e-8)
    with pytest.raises(MismatchError):
        clf.top_features("nobody")
    with pytest.raises(InvalidOptionError):
        clf.top_features("b", by="magic")


def test_log_densities_of_texts():
    clf = fitted(PLAIN)
    corpus = Corpus(TEXTS)
    total, _ = corpus.totals(CODES, 3)
    theta = (total + 1) / (total + 1).sum(axis=1, keepdims=True)
    joint = corpus.count @ np.log(theta).T + np.log(np.bincount(CODES) / len(CODES))
    assert_allclose(clf.score_samples(TEXTS), np.log(np.exp(joint).sum(axis=1)), rtol=1e-10, atol=1e-12)
    assert np.isfinite(fitted({}).score_samples(TEXTS)).all()
    with pytest.raises(NoDistributionError):
        fitted({"event": "complement"}).score_samples(TEXTS)
    with pytest.raises(NoDistributionError):
        clf.impute([None])


def test_documents_are_written():
    clf = fitted(PLAIN)
    drawn, labels = clf.sample(200, random_state=0)
    again, _ = clf.sample(200, random_state=0)
    assert drawn.shape == (200,)
    assert drawn.tolist() == again.tolist()
    assert set(labels) == {"a", "b", "c"}
    assert {word for text in drawn for word in text.split()} <= set(clf.vocabulary_)
    mine, only = clf.sample(300, label="b", random_state=1)
    assert set(only) == {"b"}
    length = np.mean([len(words_of(t)) for t, c in zip(TEXTS, LABELS, strict=True) if c == "b"])
    assert abs(np.mean([len(text.split()) for text in mine]) - length) < 0.7
    with_pairs, _ = fitted({}).sample(20, random_state=0)
    assert any(with_pairs)
    with pytest.raises(MismatchError):
        clf.sample(1, label="nobody")
    with pytest.raises(NoDistributionError):
        fitted({"event": "complement"}).sample()


def test_class_priors_are_as_asked():
    for prior, expected in [
        ("uniform", [1 / 3] * 3),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        (sf.Dirichlet(1.0), (np.bincount(CODES) + 1) / (len(CODES) + 3)),
    ]:
        clf = fitted(PLAIN | {"prior": prior})
        assert_allclose(clf.predict_proba([None])[0], expected, rtol=1e-12)


def test_calibration_is_fitted_on_documents_left_out_and_only_where_asked():
    plain, tempered = fitted(PLAIN), fitted(PLAIN | {"calibrate": True})
    evidence = plain.predict_joint_log_proba(TEXTS) - np.log(np.bincount(CODES) / len(CODES))
    found = tempered.calibration_
    joint = np.log(np.bincount(CODES) / len(CODES)) + found.slope * evidence
    expected = (1 - found.mixed) * posterior(joint) + found.mixed * np.bincount(CODES) / len(CODES)
    assert_allclose(tempered.predict_proba(TEXTS), expected, rtol=1e-9)
    assert found.slope[0] != 1
    assert 0 < found.mixed < 0.5
    assert plain.calibration_.mixed == 0
    assert len(plain.statistics_.statistic.kept) == 0
    auto = fitted({})
    assert auto.calibration_.mixed == auto.event_.mixed
    assert_array_equal(auto.calibration_.slope, 1.0)
    raw = fitted({"calibrate": False})
    assert raw.calibration_.mixed == 0


def test_the_default_predicts_documents_it_has_not_seen():
    texts, codes = random_texts(400, seed=5, vocabulary=26, length=20)
    clf = sf.TextClassifier().fit(texts[:300], codes[:300])
    p = clf.predict_proba(texts[300:])
    loss = -np.log(p[np.arange(100), codes[300:]]).mean()
    assert clf.score(texts[300:], codes[300:]) > 0.75
    assert loss < 0.7
    left = clf.leave_one_out(texts[:300], codes[:300])
    assert abs(-left[np.arange(300), codes[:300]].mean() - loss) < 0.15


def test_texts_of_one_word_each_can_be_left_out():
    texts = ["sunny", "sunny", "overcast", "rain", "rain", "overcast", "sunny", "rain"]
    out = (
        sf.TextClassifier()
        .fit(texts, ["no", "no", "yes", "yes", "no", "yes", "yes", "no"])
        .leave_one_out(texts, ["no", "no", "yes", "yes", "no", "yes", "yes", "no"])
    )
    np.testing.assert_allclose(np.exp(out).sum(axis=1), 1.0)
