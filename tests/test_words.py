"""Vocabularies, how texts are read, stop words and stems."""

import builtins
import pickle
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    strip_accents_ascii,
    strip_accents_unicode,
)
from sklearn.utils import murmurhash3_32

import suffice as sf
from suffice.core.errors import (
    DamagedFileError,
    InvalidOptionError,
    InvalidTextError,
    MismatchError,
    MissingPackageError,
)
from suffice.core.validation import check_value
from suffice.core.words import (
    Lexicon,
    Texts,
    Tokenization,
    Vocabulary,
    count_matrix,
    hashed_matrix,
    stems,
    stop_words,
)
from suffice.core.words.tokenizing import preprocess
from suffice.model import storage


def features(text, tokenization):
    """The features of one text, sorted, each as often as it occurs."""
    vocabulary, _, indices, data = count_matrix(Texts.of([text]), tokenization)
    return np.repeat(vocabulary.names[indices], data).tolist()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)

# ------------------------------------------------------------------------------------------------- vocabulary


@given(st.lists(WORDS))
def test_a_vocabulary_holds_each_word_once_in_the_order_of_code_points(names):
    vocabulary = Vocabulary.of(names)
    expected = sorted(set(names))
    assert vocabulary.names.tolist() == expected
    assert len(vocabulary) == len(expected)
    assert [vocabulary[i] for i in range(len(vocabulary))] == expected
    assert b"".join(word.encode() for word in expected) == vocabulary.text.tobytes()
    check_value(vocabulary)


@given(st.lists(WORDS), st.lists(WORDS))
def test_words_are_found_at_their_places_and_strangers_at_none(names, others):
    vocabulary = Vocabulary.of(names)
    expected = [sorted(set(names)).index(word) if word in names else -1 for word in others]
    assert vocabulary.find(others).tolist() == expected
    unknown = Vocabulary.of(others)
    assert_array_equal(vocabulary.find(unknown), vocabulary.find(unknown.names.tolist()))
    assert vocabulary.find(unknown).dtype == np.int64


@given(st.lists(WORDS, unique=True), st.data())
def test_taking_words_keeps_their_order(names, data):
    vocabulary = Vocabulary.of(names)
    mask = np.array([data.draw(st.booleans()) for _ in names], dtype=bool)
    expected = [word for word, kept in zip(sorted(names), mask, strict=True) if kept]
    assert vocabulary.take(mask).names.tolist() == expected
    assert vocabulary.take(np.flatnonzero(mask)) == Vocabulary.of(expected)


def test_words_to_take_must_ascend():
    vocabulary = Vocabulary.of(["a", "b"])
    for places in ([1, 0], [0, 0], [2], [-1]):
        with pytest.raises(MismatchError, match="must ascend"):
            vocabulary.take(np.array(places))


def test_a_vocabulary_reads_arrow_strings():
    for array in (pa.array(["b", "a", "b"]), pa.chunked_array([["b"], ["a", "b"]])):
        assert Vocabulary.of(array).names.tolist() == ["a", "b"]


def test_a_vocabulary_says_what_it_holds():
    assert repr(Vocabulary.of([])) == "Vocabulary(0 words)"
    assert repr(Vocabulary.of("fedcba")) == "Vocabulary(6 words: 'a', 'b', 'c', 'd', …)"
    vocabulary = Vocabulary.of(["a", "b"])
    assert vocabulary[-1] == "b"
    with pytest.raises(IndexError, match="has 2"):
        vocabulary[2]
    assert vocabulary != Vocabulary.of(["a"])
    assert vocabulary != "ab"


def test_what_is_no_word_is_refused():
    with pytest.raises(InvalidTextError, match="found int at position 1"):
        Vocabulary.of(["a", 3])
    with pytest.raises(InvalidTextError, match="position 1 holds a lone surrogate"):
        Vocabulary.of(["a", "\ud800"])
    with pytest.raises(InvalidTextError, match="cannot hold missing words"):
        Vocabulary.of(["a", None])


@given(st.lists(WORDS))
def test_a_vocabulary_survives_a_file_and_pickling(names):
    vocabulary = Vocabulary.of(names)
    assert storage.from_bytes(storage.to_bytes(vocabulary)) == vocabulary
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary


@pytest.mark.parametrize(
    ("text", "start", "match"),
    [
        (b"ba", [0, 1, 2], "sorted"),
        (b"aa", [0, 1, 2], "distinct"),
        (b"ab", [0, 1], "start must be"),
        (b"ab", [1, 2], "start must be"),
        (b"ab", [0, 2, 1, 2], "start must be"),
        (b"ab", [], "start must be"),
        (b"\xff", [0, 1], "UTF-8"),
        ("é".encode(), [0, 1, 2], "UTF-8"),
    ],
)
def test_arrays_that_are_no_vocabulary_are_refused(text, start, match):
    made = Vocabulary(np.frombuffer(text, dtype=np.uint8), np.array(start, dtype=np.int64))
    with pytest.raises(MismatchError, match=match):
        check_value(made)
    with pytest.raises(DamagedFileError, match=match):
        storage.from_bytes(storage.to_bytes(made))


def test_arrays_of_other_types_are_refused():
    with pytest.raises(MismatchError, match="start must be int64"):
        check_value(Vocabulary(np.empty(0, np.uint8), np.zeros(1, np.int32)))


# ---------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"lowercase": 1}, "True or False"),
        ({"strip_accents": "latin"}, "one of 'ascii', 'unicode' or None, found 'latin'"),
        ({"analyzer": "words"}, "one of 'word', 'char', 'char_wb', found 'words'"),
        ({"ngram_range": (2, 1)}, "lower boundary larger"),
        ({"ngram_range": (0, 1)}, "less than 1"),
        ({"ngram_range": (1, 2, 3)}, "two integers"),
        ({"ngram_range": 2}, "two integers"),
        ({"ngram_range": (1.0, 2.0)}, "two integers"),
        ({"stop_words": 3}, "found int"),
        ({"stop_words": ("a", 3)}, "found 3 of type int"),
        ({"stop_words": "klingon"}, "Known are .*english.*german"),
        ({"stem": "klingon"}, "Known are .*english.*german"),
        ({"analyzer": "char", "stop_words": "english"}, "stop_words is about words"),
        ({"analyzer": "char_wb", "stem": "english"}, "stem is about words"),
        ({"n_features": 0}, "from 1 to"),
        ({"n_features": True}, "from 1 to"),
        ({"n_features": (1 << 28) + 1}, "from 1 to"),
        ({"ngram_range": (1, 256)}, "at most 255"),
        ({"ngram_range": (1, 1 << 21), "analyzer": "char"}, "at most 1048576"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, match):
    with pytest.raises(InvalidOptionError, match=match):
        Tokenization(**options)


def test_readings_are_values():
    assert Tokenization(stop_words=["b", "a"], ngram_range=[1, 2]) == Tokenization(
        stop_words=("a", "b"), ngram_range=(1, 2)
    )
    assert Tokenization() != Tokenization(lowercase=False)
    tokenization = Tokenization(strip_accents="ascii", stop_words=("an",), stem="german", n_features=np.int64(64))
    assert storage.from_bytes(storage.to_bytes(tokenization)) == tokenization


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.sampled_from([None, "ascii", "unicode"]))
def test_accents_go_as_scikit_learn_takes_them(text, lowercase, accents):
    expected = text.lower() if lowercase else text
    if accents is not None:
        expected = (strip_accents_ascii if accents == "ascii" else strip_accents_unicode)(expected)
    assert preprocess(text, lowercase, accents) == expected


@given(
    st.text(st.sampled_from("ab é\u0301ß İΣ\n\t .,-_1😀")),
    st.sampled_from(["word", "char", "char_wb"]),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_features_are_scikit_learns(text, analyzer, least, more):
    options = {"analyzer": analyzer, "ngram_range": (least, least + more)}
    expected = CountVectorizer(**options).build_analyzer()(text)
    assert features(text, Tokenization(**options)) == sorted(expected)


# ------------------------------------------------------------------------------------------------- stop words


def test_english_stop_words_are_scikit_learns():
    assert stop_words.named("english") == ENGLISH_STOP_WORDS
    assert Tokenization(stop_words="english").stop_list.keys() == ENGLISH_STOP_WORDS


@pytest.mark.parametrize("language", stop_words.languages())
def test_every_language_has_a_list_that_is_read_as_texts_are(language):
    assert len(stop_words.named(language)) > 20
    for tokenization in (Tokenization(stop_words=language), Tokenization(stop_words=language, strip_accents="unicode")):
        assert not features(" ".join(stop_words.named(language)), tokenization)


def test_named_lists_follow_the_accents():
    assert "été" in stop_words.named("french")
    assert features("L'été", Tokenization(stop_words="french", strip_accents="unicode")) == []
    assert features("L'été", Tokenization(stop_words=("été",), strip_accents="unicode")) == ["ete"]


def without(monkeypatch, name):
    """As if a package were not installed."""
    real = builtins.__import__

    def missing(wanted, *args, **kwargs):
        if wanted == name:
            raise ImportError(wanted)
        return real(wanted, *args, **kwargs)

    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)


def test_without_the_package_english_remains(monkeypatch):
    without(monkeypatch, "stop_words")
    assert stop_words.languages() == ["english"]
    assert Tokenization(stop_words="english").stop_list
    with pytest.raises(MissingPackageError, match=r"pip install 'suffice\[text\]'"):
        Tokenization(stop_words="german")


# ------------------------------------------------------------------------------------------------------ stems


def test_words_lose_their_endings():
    assert stems.stem_words("english", ["slow", "slowness", "slowed", "running"]) == ["slow", "slow", "slow", "run"]
    assert stems.stem_words("german", ["häuser", "hauses"]) == ["haus", "haus"]
    assert stems.stem_words("russian", ["книгами"]) == ["книг"]


def test_stemming_from_many_threads_gives_the_same():
    words = [f"{a}{b}ing" for a in "bcdfgh" for b in ("alk", "ump", "ess")] * 20
    expected, found = stems.stem_words("english", words), []
    threads = [threading.Thread(target=lambda: found.append(stems.stem_words("english", words))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    without(monkeypatch, "Stemmer")
    with pytest.raises(MissingPackageError, match=r"pip install 'suffice\[text\]'"):
        Tokenization(stem="english")


def test_words_are_stemmed_before_they_are_joined_and_their_counts_add_up():
    texts = Texts.of(["run running", "fast running runs fast"])
    vocabulary, *rows = count_matrix(texts, Tokenization(stem="english", ngram_range=(1, 2)))
    assert vocabulary.names.tolist() == ["fast", "fast run", "run", "run fast", "run run"]
    assert [part.tolist() for part in rows] == [[0, 2, 7], [2, 4, 0, 1, 2, 3, 4], [2, 1, 2, 1, 2, 1, 1]]


def test_each_distinct_word_is_stemmed_once():
    calls = []

    def stem(words):
        calls.extend(words)
        return list(words)

    count_matrix(Texts.of(["aa bb aa", "bb aa"]), Tokenization(ngram_range=(1, 2), stop_words=("cc",)), stem)
    assert sorted(calls) == ["aa", "bb"]


@given(st.lists(WORDS, unique=True), st.integers(1, 50))
def test_hashed_columns_are_those_of_murmurhash(names, n_features):
    held = [word.encode() for word in names]
    start = np.cumsum([0, *map(len, held)])
    texts = Texts.of_tokens(np.frombuffer(b"".join(held), np.uint8), start, np.arange(len(names) + 1))
    _, column, _ = hashed_matrix(texts, Tokenization(n_features=n_features))
    assert column.tolist() == [abs(murmurhash3_32(word, 0)) % n_features for word in held]


# --------------------------------------------------------------------------------------------------- counting


def test_texts_come_from_anything_that_holds_strings():
    import pandas as pd
    import polars as pl

    held = ["Some words", None, "some", ""]
    forms = [held, tuple(held), np.array(held, dtype=object), pa.array(held), pa.chunked_array([held[:1], held[1:]])]
    forms += [pd.Series(held), pd.Series(held, dtype=object), pl.Series(held), pa.array(held, pa.large_string())]
    forms += [[None if text is None else text.encode() for text in held]]
    for form in forms:
        texts = Texts.of(form)
        vocabulary, indptr, indices, data = count_matrix(texts, Tokenization())
        assert vocabulary.names.tolist() == ["some", "words"]
        assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 2, 2, 3, 3], [0, 1, 0], [1, 1, 1])
        assert len(texts) == 4
        some = Lexicon(Vocabulary.of(["words"]), Tokenization()).count(texts[[2, 0]])
        assert [part.tolist() for part in some] == [[0, 0, 1], [0], [1]]


@pytest.mark.parametrize(
    ("documents", "match"),
    [
        (["a", 3], "1.*int"),
        (["fine", "\udc80"], "1.*surrogate"),
        ([b"\xff\xfe"], "0.*UTF-8"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(documents, match):
    with pytest.raises(InvalidTextError, match=match):
        count_matrix(Texts.of(documents), Tokenization())


def test_what_is_not_a_number_is_missing_as_in_pandas():
    for missing in (None, float("nan"), np.float64("nan")):
        assert Texts.of(["a", missing, ""]).present.tolist() == [True, False, True]


def test_texts_may_be_cut_already():
    text = np.frombuffer("a béa b".encode(), dtype=np.uint8)
    texts = Texts.of_tokens(text, np.array([0, 3, 5, 8]), np.array([0, 2, 2, 3]))
    vocabulary, indptr, indices, data = count_matrix(texts, Tokenization())
    assert vocabulary.names.tolist() == ["a b", "é"]
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 2, 2, 3], [0, 1, 0], [1, 1, 1])


def test_matrices_follow_the_reading():
    texts = Texts.of(["He runs", "running, running", None])
    vocabulary, *rows = count_matrix(texts, Tokenization(stem="english"))
    assert vocabulary.names.tolist() == ["he", "run"]
    assert [part.tolist() for part in rows] == [[0, 2, 3, 3], [0, 1, 1], [1, 1, 2]]
    known = Lexicon(Vocabulary.of(["run", "walk"]), Tokenization(stem="english")).count(texts)
    assert [part.tolist() for part in known] == [[0, 1, 2, 2], [0, 0], [1, 2]]
    own = count_matrix(texts, Tokenization(), lambda words: [word[:1] for word in words])
    assert own[0].names.tolist() == ["h", "r"]
    hashed = hashed_matrix(texts, Tokenization(n_features=1, stem="english"))
    assert [part.tolist() for part in hashed] == [[0, 1, 2, 2], [0, 0], [2, 2]]


def test_hashed_features_are_called_by_their_columns():
    texts = Texts.of(["one two"])
    vocabulary, *_ = count_matrix(texts, Tokenization(n_features=1 << 28))
    column = sorted(abs(murmurhash3_32(word, 0)) % (1 << 28) for word in ("one", "two"))
    assert vocabulary.names.tolist() == [f"#{j:07x}" for j in column]
    with pytest.raises(InvalidOptionError, match="give their number"):
        hashed_matrix(texts, Tokenization())


def test_the_errors_are_public():
    assert issubclass(sf.InvalidTextError, ValueError)
    assert issubclass(sf.MissingPackageError, ImportError)
