"""The kernels that read texts against plain Python: odd words, long documents, many threads, bad arguments."""

import gc
import threading
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import HashingVectorizer

from suffice import _core
from suffice.core.errors import InvalidTextError
from suffice.core.words import (
    Lexicon,
    Texts,
    Tokenization,
    Vocabulary,
    Weighting,
    count_matrix,
    hashed_matrix,
    word_totals,
)
from suffice.core.words.counting import Linear, native
from suffice.core.words.texts import padded
from text_oracle import analyze, word_ngrams

NO_LIST = np.zeros(8, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.int64)


def rows_of(names, indptr, indices, data):
    """Each row as a dictionary from names to counts."""
    pairs = [(names[j], int(count)) for j, count in zip(indices, data, strict=True)]
    return [dict(pairs[lo:hi]) for lo, hi in pairwise(indptr)]


def in_tokens(documents):
    """Texts that are cut already."""
    held = [word.encode() for document in documents for word in document]
    start = np.cumsum([0, *map(len, held)])
    return Texts.of_tokens(np.frombuffer(b"".join(held), np.uint8), start, np.cumsum([0, *map(len, documents)]))


def check(texts, tokenization, expected):
    """Counts over what is found, over a part of it with features that no text has, and hashed."""
    vocabulary, *rows = count_matrix(texts, tokenization)
    assert vocabulary.names.tolist() == sorted(set().union(*expected))
    assert rows_of(vocabulary.names, *rows) == expected
    some = Vocabulary.of([*vocabulary.names[::2], "a  b", " a", "a ", "no such", "aa bb cc dd ee ff gg hh"])
    kept = set(some.names)
    known = [{name: n for name, n in row.items() if name in kept} for row in expected]
    assert rows_of(some.names, *Lexicon(some, tokenization).count(texts)) == known
    hashed = Tokenization(**{**vars_of(tokenization), "n_features": 5})
    other = HashingVectorizer(
        n_features=5, alternate_sign=False, norm=None, analyzer=lambda row: Counter(row).elements()
    )
    wanted = other.transform(expected).toarray() if expected else np.zeros((0, 5))
    indptr, indices, data = hashed_matrix(texts, hashed)
    found = np.zeros_like(wanted)
    found[np.repeat(np.arange(len(wanted)), np.diff(indptr)), indices] = data
    assert_array_equal(found, wanted)


def vars_of(tokenization):
    return {name: getattr(tokenization, name) for name in tokenization.__dataclass_fields__}


# ----------------------------------------------------------------------------------------------------- counting

WORDS = st.one_of(st.text("aébc日😀", min_size=1, max_size=4), st.sampled_from(["eightbts", "ninebytes", "x" * 70_000]))


@given(
    st.lists(st.none() | st.lists(WORDS, max_size=8).map(" ".join), max_size=5),
    st.sampled_from(["word", "word", "char", "char_wb"]),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sets(st.text("aéb", max_size=3), max_size=3),
)
def test_counts_are_those_of_plain_python(documents, analyzer, least, more, stops):
    if analyzer != "word":
        documents = [text and text[:300] for text in documents]
    stops = tuple(stops) if stops and analyzer == "word" else None
    tokenization = Tokenization(analyzer=analyzer, ngram_range=(least, least + more), stop_words=stops)
    expected = [dict(Counter(analyze(text, tokenization))) if text is not None else {} for text in documents]
    check(Texts.of(documents), tokenization, expected)


@given(st.lists(st.lists(st.sampled_from(["", "a", "a b", "a\tb", "a\0", "\0", " ", "é", "a" * 9, "a" * 8]))))
def test_tokens_may_be_anything(documents):
    check(in_tokens(documents), Tokenization(), [dict(Counter(document)) for document in documents])


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "ab", "é", "a" * 9]))), st.integers(1, 3), st.integers(0, 2))
def test_tokens_are_joined_even_where_they_are_empty(documents, least, more):
    sizes = (least, least + more)
    expected = [dict(Counter(word_ngrams(document, sizes))) for document in documents]
    check(in_tokens(documents), Tokenization(ngram_range=sizes), expected)


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\0"])
def test_tokens_whose_ngrams_would_be_ambiguous_are_refused(word):
    texts = in_tokens([["fine"], ["fine", word]])
    with pytest.raises(InvalidTextError, match=r"Document 1 cannot be read: a word with white space.* at position 1"):
        count_matrix(texts, Tokenization(ngram_range=(1, 2)))
    with pytest.raises(InvalidTextError, match="Document 1"):
        Lexicon(Vocabulary.of(["fine"]), Tokenization(ngram_range=(2, 2))).count(texts)


def test_ngrams_reach_over_the_parts_of_a_long_document():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in rng.integers(300, size=30_000)]  # three parts of 32 KiB and more
    tokenization = Tokenization(ngram_range=(1, 5), stop_words=("w7", "w8"))
    text = " ".join(words)
    check(Texts.of([text, None, text[:50_000]]), tokenization, [
        dict(Counter(analyze(text, tokenization))), {}, dict(Counter(analyze(text[:50_000], tokenization))),
    ])  # fmt: skip
    tokens = [word for word in words if word not in ("w7", "w8")]
    check(in_tokens([tokens]), tokenization, [dict(Counter(word_ngrams(tokens, (1, 5))))])


def test_words_in_a_lexicon_do_not_replace_one_another_twice():
    tokenization = Tokenization(stop_words=("cc",), ngram_range=(1, 2))
    turn = {"aa": "bb", "bb": "cc", "dd": ""}
    vocabulary, *rows = count_matrix(
        Texts.of(["aa bb cc dd ee"]), tokenization, lambda ws: [turn.get(w, w) for w in ws]
    )
    expected = dict(Counter(word_ngrams(["bb", "cc", "", "ee"], (1, 2))))
    assert rows_of(vocabulary.names, *rows) == [expected]


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokenization", [Tokenization(ngram_range=(1, 3)), Tokenization(n_features=50), Tokenization(analyzer="char_wb")]
)
def test_the_number_of_threads_changes_no_bit(monkeypatch, tokenization):
    rng = np.random.default_rng(1)
    texts = Texts.of([" ".join(f"w{i}" for i in rng.integers(5000, size=200)) for _ in range(2000)])
    codes, weight = rng.integers(3, size=2000).astype(np.int32), rng.choice([0.0, 0.7, 1.3], 2000)
    found = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        names, *rows = count_matrix(texts, tokenization)
        some = np.flatnonzero(weight)[::-3].copy()
        sums = word_totals(texts, codes, 3, weight, tokenization, Weighting("log", "l2"), exact=True, kept=some)
        kept, vocabulary, totals = sums[0], sums[1], [*sums[2:4], *sums[4], *sums[5]]
        weighed = Lexicon(vocabulary, tokenization).weigh(texts, Weighting("sqrt", "l1"))
        parts = [names.text, names.start, *rows, vocabulary.text, *totals, *weighed, *kept]
        found.append(b"".join(part.tobytes() for part in parts))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("term", ["count", "binary", "sqrt", "log"])
@pytest.mark.parametrize("norm", [None, "l1", "l2"])
def test_totals_are_sums_of_weighted_documents(term, norm):
    documents, weight = ["aa bb aa", None, "bb cc", "zz zz", ""], np.array([0.5, 1.0, 2.0, 0.0, 3.0])
    codes, tokenization = np.array([0, 0, 1, 1, 1], np.int32), Tokenization(ngram_range=(1, 2))
    _, vocabulary, start, of_class, (total, n_documents, n_words), _ = word_totals(
        Texts.of(documents), codes, 2, weight, tokenization, Weighting(term, norm), exact=False
    )
    value = {"count": lambda c: c, "binary": lambda _: 1.0, "sqrt": np.sqrt, "log": lambda c: 1.0 + np.log(c)}[term]
    expected = Counter()
    for i in (0, 2):
        for size in (0, 1):
            row = {f: value(c) for f, c in Counter(analyze(documents[i], tokenization)).items() if f.count(" ") == size}
            length = {None: 1.0, "l1": sum(row.values()), "l2": np.sqrt(sum(v * v for v in row.values()))}[norm]
            for feature, v in row.items():
                expected[feature, int(codes[i])] += weight[i] * v / length
    owner = np.repeat(vocabulary.names, np.diff(start))
    found = {(name, int(code)): each for name, code, each in zip(owner, of_class, total, strict=True)}
    assert found.keys() == expected.keys()  # a document without weight has brought no word
    assert_allclose([found[key] for key in expected], list(expected.values()))
    assert_array_equal(n_documents, [0.5, 5.0])
    assert_array_equal(n_words, [1.5, 4.0])


def test_a_hash_is_the_same_however_a_text_is_held():
    import pyarrow as pa

    held = ["", "plain", "é", "日本", "😀 mixed é"]
    expected = Texts.of(held).hashes
    assert len(set(expected.tolist())) == len(held)
    for form in ([text.encode() for text in held], pa.array(held), pa.array(held, pa.large_string())):
        assert_array_equal(Texts.of(form).hashes, expected)
    assert Texts.of([None]).hashes.tolist() == [0]


# --------------------------------------------------------------------------------------------- memory of others


def test_arrays_may_be_written_to_after_texts_were_made_of_them():
    text, start, document_start = np.frombuffer(b"abcd", np.uint8), np.array([0, 2, 4]), np.array([0, 2])
    texts = Texts.of_tokens(text, start, document_start)
    start[:], document_start[:] = 1 << 60, 1 << 60
    assert count_matrix(texts, Tokenization())[0].names.tolist() == ["ab", "cd"]
    listed, at, target = padded(np.frombuffer(b"aabb", np.uint8)), np.array([0, 2, 4]), np.array([-1, 1])
    tokenization = _core.Tokenization(True, 0, 0, 1, 1, 0, listed, at, target)
    at[:], target[:] = 1 << 60, 1 << 60
    names, *_ = _core.word_matrix(Texts.of(["aa bb"]).native, tokenization)
    assert names[0].tobytes() == b"bb"


def test_texts_that_were_taken_keep_their_memory():
    import pyarrow as pa

    for form in ([f"word{i}" * 9 for i in range(99)], pa.array([f"word{i}" * 9 for i in range(99)])):
        texts = Texts.of(form)
        some = texts[[98, 1]][[0]]
        del texts, form
        gc.collect()
        assert count_matrix(some, Tokenization())[0].names.tolist() == ["word98" * 9]


def test_nothing_is_added_to_texts_while_they_are_read():
    texts = _core.Texts()
    texts.add_strings(("some words",) * 20_000)
    refused = []

    def add():
        try:
            while True:
                texts.add_strings(("more",))
        except ValueError as error:
            refused.append(str(error))

    adding = threading.Thread(target=add)
    adding.start()
    _, start, _, _ = _core.word_matrix(texts, native(Tokenization()))
    adding.join()
    assert len(texts) == len(start) - 1
    assert "stay as they are" in refused[0]


# ------------------------------------------------------------------------------------------------ bad arguments


def places(*values):
    return np.array(values, dtype=np.int64)


def letters(text):
    return np.frombuffer(text, dtype=np.uint8)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({1: 3}, "by number"),
        ({2: -1}, "by number"),
        ({3: 0}, "sizes of n-grams"),
        ({3: 2}, "sizes of n-grams"),
        ({4: 256}, "255 words"),
        ({5: -1}, "buckets"),
        ({5: (1 << 28) + 1}, "buckets"),
        ({6: letters(b"")}, "beyond the data"),
        ({7: places()}, "begin at 0"),
        ({7: places(0, 1)}, "beyond the data"),
        ({6: letters(bytes(9)), 7: places(0, 1)}, "one target"),
        ({6: letters(bytes(9)), 7: places(0, 1), 8: places(1)}, "beyond the list"),
        ({6: letters(bytes(10)), 7: places(0, 1, 2), 8: places(0, 0)}, "distinct"),
        ({6: letters(bytes(10)), 7: places(0, 2, 1), 8: places(0, 0)}, "ascend"),
    ],
)
def test_readings_that_make_no_sense_are_refused(change, match):
    arguments = [True, 0, 0, 1, 1, 0, *NO_LIST]
    for place, value in change.items():
        arguments[place] = value
    with pytest.raises(ValueError, match=match):
        _core.Tokenization(*arguments)


def test_arrays_beyond_their_bounds_are_refused():
    tokenization, texts = native(Tokenization()), _core.Texts()
    for text, start in ((b"abc", (0, 3)), (bytes(11), (0, 12)), (bytes(11), ()), (bytes(11), (0, 2, 1))):
        with pytest.raises(ValueError, match=r"data|begin|ascend|8 bytes"):
            _core.Lexicon(letters(text), places(*start), tokenization)
    for text, start, documents in ((b"a", (0, 1), (0, 1)), (bytes(9), (0, 1), (0, 2)), (bytes(9), (0, 1), ())):
        with pytest.raises(ValueError, match=r"data|begin"):
            texts.set_tokens(letters(text), places(*start), places(*documents))
    for start in ([0, 2], [-1, 1], [1, 0], []):
        with pytest.raises(ValueError, match=r"data|one start"):
            texts.add_arrow(letters(b"a"), np.array(start, np.int32), None)
    texts.add_strings(("ab", "cd"))
    with pytest.raises(ValueError, match="not both"):
        texts.set_tokens(letters(bytes(8)), places(0), places(0))
    for row in (2, -1):
        with pytest.raises(ValueError, match="beyond the texts"):
            texts.take(places(row))
    for codes, classes in (((0, 1), 1), ((0, -1), 2), ((0,), 1), ((0, 0), -1)):
        with pytest.raises(ValueError, match="class"):
            _core.word_totals(texts, np.array(codes, np.int32), classes, None, tokenization, 0, 0, False, places())
    for row in (2, -1):
        with pytest.raises(ValueError, match="documents to keep"):
            _core.word_totals(texts, np.zeros(2, np.int32), 1, None, tokenization, 0, 0, False, places(row))
    assert len(texts) == 2


# ---- vocabularies, sums and scores


def test_kept_documents_are_those_read_again_with_the_whole_vocabulary():
    rng = np.random.default_rng(7)
    texts = Texts.of([" ".join(f"w{i}" for i in rng.integers(60, size=n)) for n in rng.integers(0, 40, 300)])
    codes, rows = rng.integers(4, size=300).astype(np.int32), rng.permutation(300)[:90]
    for ngrams, weighting in [((1, 1), Weighting()), ((1, 2), Weighting("sqrt", "l2")), ((2, 3), Weighting("binary"))]:
        tokenization = Tokenization(ngram_range=ngrams, stop_words=("w3", "w5"))
        kept, vocabulary, *_ = word_totals(texts, codes, 4, None, tokenization, weighting, exact=False, kept=rows)
        for found, expected in zip(kept, Lexicon(vocabulary, tokenization).count(texts[rows]), strict=True):
            assert_array_equal(found, expected)


def test_names_are_found_in_another_vocabulary():
    rng = np.random.default_rng(0)
    for n in (0, 1, 50, 3000):
        known, asked = (sorted({f"{i:x}é" for i in rng.integers(0, 5000, n)}) for _ in range(2))
        vocabulary, place = Vocabulary.of(known), {name: i for i, name in enumerate(known)}
        assert vocabulary.find(Vocabulary.of(asked)).tolist() == [place.get(name, -1) for name in asked]
    with pytest.raises(ValueError, match="beyond the text"):
        _core.find_names(letters(b"a"), places(0, 1), letters(b"b"), places(0, 9), np.empty(1, np.int64))


def test_sizes_of_features_are_numbers_of_words():
    vocabulary = Vocabulary.of(["a", "a b", "a b c", "a b c d"])
    assert Tokenization(ngram_range=(2, 4)).size_of(vocabulary).tolist() == [0, 0, 1, 2]
    assert Tokenization(ngram_range=(1, 2)).size_of(vocabulary).tolist() == [0, 1, 1, 1]


def test_sums_over_entries_are_those_of_a_dense_table(monkeypatch):
    rng = np.random.default_rng(2)
    features, classes = 150_000, 3
    start = np.concatenate([[0], np.cumsum(rng.integers(0, classes + 1, features))]).astype(np.int64)
    code = np.concatenate([np.sort(rng.permutation(classes)[:n]) for n in np.diff(start)]).astype(np.int32)
    value, block = rng.random(len(code)), rng.integers(0, 2, features).astype(np.uint8)
    table, owner = np.zeros((features, classes)), np.repeat(np.arange(features), np.diff(start))
    table[owner, code] = value
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        by_feature, by_class = np.empty(features), np.empty((2, classes))
        _core.entry_sums(start, code, value, block, by_feature, by_class)
        np.testing.assert_allclose(by_feature, table.sum(axis=1), rtol=1e-14)
        np.testing.assert_allclose(by_class, [table[block == b].sum(axis=0) for b in (0, 1)], rtol=1e-12)
        found.append(by_feature.tobytes() + by_class.tobytes())
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="blocks"):
        _core.entry_sums(places(0, 1), code[:1] * 0, value[:1], np.array([2], np.uint8), np.empty(1), np.empty((2, 1)))


@pytest.mark.parametrize(("term", "norm"), [("count", None), ("sqrt", "l2"), ("log", "l1")])
def test_scores_in_one_pass_are_those_of_the_matrix_of_features(term, norm):
    rng = np.random.default_rng(4)
    learned = Texts.of([" ".join(f"w{i}" for i in rng.integers(80, size=30)) for _ in range(200)])
    asked = Texts.of([*(" ".join(f"w{i}" for i in rng.integers(120, size=n)) for n in range(40)), None, ""])
    tokenization, weighting, classes = Tokenization(ngram_range=(1, 2)), Weighting(term, norm), 3
    codes = rng.integers(classes, size=200).astype(np.int32)
    _, vocabulary, start, of_class, *_ = word_totals(
        learned, codes, classes, None, tokenization, weighting, exact=False
    )
    coef, base, length, exponent = rng.normal(size=len(of_class)), rng.normal(size=(2, classes)), np.ones(2), -0.2
    dense = np.zeros((len(vocabulary), classes))
    dense[np.repeat(np.arange(len(vocabulary)), np.diff(start)), of_class] = coef
    block = tokenization.size_of(vocabulary)
    found = Lexicon(vocabulary, tokenization).weigh(asked, weighting)
    expected = np.zeros((len(asked), classes))
    for i in range(len(asked)):
        own = slice(found.start[i], found.start[i + 1])
        for b in (0, 1):
            some = block[found.feature[own]] == b
            words = max(int(found.words[i]) - b, 0)
            factor = np.exp(exponent * (np.log1p(words) - length[b]))
            x = found.value[own][some] * factor
            expected[i] += x @ dense[found.feature[own][some]] + (x.sum() + found.unknown[i, b] * factor) * base[b]

    def scores(some):
        if some is None:
            return Linear(start, of_class, coef, base, length, exponent)
        at = np.concatenate([np.zeros(0, int), *(np.arange(start[j], start[j + 1]) for j in some)]).astype(int)
        sizes = (start[1:] - start[:-1])[some]
        return Linear(np.concatenate([[0], np.cumsum(sizes)]), of_class[at], coef[at], base, length, exponent)

    few, whole = Lexicon(vocabulary, tokenization), Lexicon(vocabulary, tokenization)
    vars(whole)["_read"] = 10**9  # so much was read before that a table is made
    in_one, again = whole.score(asked, weighting, scores), few.score(asked[np.arange(3)], weighting, scores)
    np.testing.assert_allclose(in_one, expected, rtol=1e-12, atol=1e-12)
    assert "_native" in vars(whole)
    assert_array_equal(again, in_one[:3])


@pytest.mark.parametrize("classes", [4, 9])
@pytest.mark.parametrize("complement", [False, True])
def test_scores_with_rows_taken_out_are_those_of_the_formula(complement, classes):
    rng = np.random.default_rng(8)
    features, n, slots = 40, 130, 3
    start = np.concatenate([[0], np.cumsum(rng.integers(1, classes + 1, features))]).astype(np.int64)
    code = np.concatenate([np.sort(rng.permutation(classes)[:k]) for k in np.diff(start)]).astype(np.int32)
    total = rng.choice([0.3, 3.0, 300.0], len(code)) * (1.0 + rng.random(len(code)))  # rows take a little of it or all
    at = np.concatenate([[0], np.cumsum(rng.integers(0, 150, n))]).astype(np.int64)
    feature, value = rng.integers(0, features, at[-1]).astype(np.int32), rng.random(at[-1])
    codes, weight = rng.integers(0, classes, n).astype(np.int32), rng.choice([0.0, 0.5, 1.0, 2.0], n)
    slot, added = rng.integers(0, slots, features).astype(np.uint16), np.array([0.25, 1.0, 7.0])
    every = np.add.reduceat(total, start[:-1]) if complement else None
    table = start, code, total, every, slot, added
    out, some = np.full((n, slots, classes), np.nan), np.full((1, slots, classes), np.nan)
    _core.bag_left_out(at, feature, value, codes, classes, weight, *table, out)
    expected = np.zeros_like(out)
    for i in range(n):
        for j, x in zip(feature[at[i] : at[i + 1]], value[at[i] : at[i + 1]], strict=True):
            own, a, removed = slice(start[j], start[j + 1]), added[slot[j]], weight[i] * x
            left = np.maximum(total[own] - removed * (code[own] == codes[i]), 0.0)
            whole = max(total[own].sum() - removed, 0.0)
            others = np.maximum(total[own].sum() - total[own] - removed * (code[own] != codes[i]), 0.0)
            found = np.log((whole + a) / (others + a)) if complement else np.log(1 + left / a)
            expected[i, slot[j], code[own]] += x * found
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    few = np.array([0, 4], dtype=np.int64)  # so few words that no tables are made
    first = feature[:4], value[:4], codes[:1], classes, weight[:1]
    _core.bag_left_out(few, *first, *table, some)
    rows = np.repeat(codes[:1], 20), classes, np.repeat(weight[:1], 20)
    many = np.tile(feature[:4], 20), np.tile(value[:4], 20), *rows
    again = np.full((20, slots, classes), np.nan)
    _core.bag_left_out(np.arange(0, 84, 4), *many, *table, again)
    np.testing.assert_allclose(again, np.repeat(some, 20, axis=0), rtol=1e-12, atol=1e-12)
