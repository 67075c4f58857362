"""Totals of words, and the documents kept beside them: the laws of their algebra, and what they hold."""

import json
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from suffice.core.errors import InvalidTextError, MismatchError, NotPartError
from suffice.core.statistics import ByClass, DocumentSample, WordCounts
from suffice.core.validation import check_value
from suffice.core.words import Texts, Tokenization, Vocabulary, Weighting
from text_oracle import Corpus, words_of

WORDS = ["red", "green", "blue", "süß", "漢字", "no", "x" * 40, "a"]
ODD = [None, "", " ", "İstanbul ΟΔΟΣ", "\0nul", "no_o-no", "🙂🙂 ok", "a b c", "x" * 300]
CLASSES = 3

few = settings(max_examples=40)


@st.composite
def documents(draw, most=10):
    """Documents, their classes, and weights that add exactly."""
    one = st.one_of(st.sampled_from(ODD), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
    rows = draw(
        st.lists(st.tuples(one, st.integers(0, CLASSES - 1), st.sampled_from([0.0, 0.5, 1, 2, 3.25])), max_size=most)
    )
    codes = np.array([code for _, code, _ in rows], dtype=np.int32)
    weight = np.array([w for *_, w in rows], dtype=float) if draw(st.booleans()) else None
    texts = [text for text, *_ in rows]
    return texts, codes, weight


readings = st.sampled_from(
    [Tokenization(), Tokenization(ngram_range=(1, 2)), Tokenization(analyzer="char_wb", ngram_range=(1, 3))]
)


PLAINLY, COUNTS = Tokenization(), Weighting()


def summary(rows, tokenization=PLAINLY, weighting=COUNTS, keep=100, onto=None):
    texts, codes, weight = rows
    return WordCounts.of(Texts.of(texts), codes, CLASSES, weight, onto, tokenization, weighting, keep)


def part(rows, some):
    texts, codes, weight = rows
    return [t for t, s in zip(texts, some, strict=True) if s], codes[some], None if weight is None else weight[some]


def named(counts):
    """The totals as {(word, class): total}."""
    names = counts.vocabulary.names
    return {(names[i], int(c)): t for i, c, t in zip(counts.owner, counts.codes, counts.total, strict=True)}


def kept_of(counts):
    """The documents kept as {(words, class): weight}."""
    kept, names, out = counts.kept, counts.vocabulary.names, {}
    for i in range(len(kept)):
        mine = slice(kept.start[i], kept.start[i + 1])
        bag = tuple(zip((names[j] for j in kept.feature[mine]), kept.count[mine].tolist(), strict=True))
        key = bag, int(kept.codes[i]), int(kept.hashes[i])
        assert key not in out
        out[key] = float(kept.weight[i])
    return out


# ---- what they hold


@few
@given(documents())
def test_totals_are_those_of_words_counted_one_by_one(rows):
    texts, codes, weight = rows
    expected, written, size = Counter(), np.zeros(CLASSES), np.zeros(CLASSES)
    for i, (text, c) in enumerate(zip(texts, codes.tolist(), strict=True)):
        w = 1.0 if weight is None else float(weight[i])
        size[c] += 0.0 if text is None else w
        for word in words_of(text):
            expected[word, c] += Fraction(w)
            written[c] += w
    found = summary(rows)
    check_value(found)
    assert named(found) == {key: float(total) for key, total in expected.items() if total}
    assert list(found.vocabulary.names) == sorted({word for (word, _), total in expected.items() if total})
    assert_array_equal(found.documents, size)
    assert_array_equal(found.words, written)


@few
@given(documents(), st.sampled_from(["count", "binary", "sqrt", "log"]), st.sampled_from([None, "l1", "l2"]))
def test_weighted_totals_are_those_of_the_dense_matrix(rows, term, norm):
    texts, codes, weight = rows
    heavy = np.ones(len(texts)) if weight is None else weight
    corpus = Corpus([t if w else None for t, w in zip(texts, heavy, strict=True)], (1, 2), term, norm)
    total, documents = corpus.totals(codes, CLASSES, heavy)
    found = summary(rows, Tokenization(ngram_range=(1, 2)), Weighting(term, norm))
    assert list(found.vocabulary.names) == corpus.vocabulary
    assert_allclose(found.dense(), total, rtol=1e-12, atol=0)
    assert_array_equal(found.documents, documents)


@few
@given(documents())
def test_all_documents_are_kept_where_there_is_room(rows):
    texts, codes, weight = rows
    expected = Counter()
    hashes = Texts.of(texts).hashes if texts else []
    for i, text in enumerate(texts):
        w = 1.0 if weight is None else float(weight[i])
        if text is not None and w:
            expected[tuple(sorted(Counter(words_of(text)).items())), int(codes[i]), int(hashes[i])] += w
    assert kept_of(summary(rows)) == expected


@few
@given(documents(), st.integers(0, 4))
def test_those_with_the_smallest_hashes_are_kept(rows, size):
    texts, _, weight = rows
    heavy = np.ones(len(texts)) if weight is None else weight
    hashes = Texts.of(texts).hashes if texts else np.zeros(0, np.uint64)
    there = {int(h) for h, t, w in zip(hashes, texts, heavy, strict=True) if t is not None and w > 0}
    kept = summary(rows, keep=size).kept
    assert {int(h) for h in kept.hashes} == set(sorted(there)[:size])
    assert_array_equal(np.lexsort((kept.codes, kept.hashes)), np.arange(len(kept)), "sorted by hash and class")


def test_a_missing_text_is_none_and_an_empty_one_is_one():
    found = summary((["", None, "red"], np.zeros(3, np.int32), None))
    assert_array_equal(found.documents, [2, 0, 0])
    assert len(found.kept) == 2
    none = summary(([None], np.zeros(1, np.int32), None))
    assert none == WordCounts.empty(CLASSES, 1)


def test_sequences_of_word_numbers_can_be_missing_too():
    texts = Texts.of([[3, 3, 12], None, []])
    assert texts.present.tolist() == [True, False, True]
    assert texts[[1, 2, 0]].present.tolist() == [False, True, True]
    found = WordCounts.of(texts, np.zeros(3, np.int32), 1, keep=9)
    assert_array_equal(found.documents, [2.0])
    assert named(found) == {("3", 0): 2.0, ("12", 0): 1.0}
    assert len(found.kept) == 2
    big = Texts.of([np.array([2**60 + 1], np.uint64), [-3]])
    assert named(WordCounts.of(big, np.zeros(2, np.int32), 1)) == {(str(2**60 + 1), 0): 1.0, ("-3", 0): 1.0}
    with pytest.raises(InvalidTextError, match="Document 0"):
        Texts.of([np.array([2**63], np.uint64)])


# ---- the algebra


@few
@given(documents(), readings, st.data())
def test_any_cutting_of_documents_sums_to_the_whole(rows, tokenization, data):
    whole = summary(rows, tokenization)
    some = np.array([data.draw(st.booleans()) for _ in rows[0]], dtype=bool)
    first, second = part(rows, some), part(rows, ~some)
    a, b = summary(first, tokenization), summary(second, tokenization)
    assert a + b == whole
    assert b + a == whole
    assert summary(second, tokenization, onto=a) == whole
    assert whole - b == a
    assert (a + b) - a == b
    one_by_one = WordCounts.empty(CLASSES, 1)
    for i in range(len(rows[0])):
        one_by_one = one_by_one + summary(part(rows, np.arange(len(rows[0])) == i), tokenization)
    assert one_by_one == whole


@few
@given(documents(6), documents(6), documents(6), st.integers(1, 5))
def test_addition_is_associative_and_commutative_and_nothing_is_its_identity(x, y, z, keep):
    a, b, c = (summary(rows, keep=keep) for rows in (x, y, z))
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    nothing = WordCounts.empty(CLASSES, 1)
    assert a + nothing == a == nothing + a
    assert a - nothing == a
    assert a - a == nothing
    assert nothing + nothing == nothing
    check_value(a + b)


@few
@given(documents(), st.integers(1, 3))
def test_the_sample_of_parts_is_the_sample_of_the_whole(rows, keep):
    half = np.arange(len(rows[0])) % 2 == 0
    assert summary(part(rows, half), keep=keep) + summary(part(rows, ~half), keep=keep) == summary(rows, keep=keep)


@few
@given(documents(), st.integers(0, 3), st.sampled_from(["count", "sqrt"]))
def test_a_whole_weight_is_that_many_documents(rows, times, term):
    texts, codes, _ = rows
    once = summary((texts, codes, np.full(len(texts), float(times))), weighting=Weighting(term))
    often = summary((texts * times, np.tile(codes, times), None), weighting=Weighting(term))
    scaled = summary((texts, codes, None), weighting=Weighting(term)).scale(times)
    assert once.vocabulary == often.vocabulary
    assert_allclose(once.total, often.total, rtol=1e-14)
    assert_array_equal(once.documents, often.documents)
    assert_array_equal(once.words, often.words)
    assert once.kept == often.kept == scaled.kept
    assert_array_equal(once.documents, scaled.documents)
    if times:
        assert_allclose(once.total, scaled.total, rtol=1e-14)
    else:
        assert scaled.trimmed() == WordCounts.empty(CLASSES, 1) == once


@few
@given(documents())
def test_documents_without_weight_are_absent(rows):
    texts, codes, weight = rows
    if weight is None:
        weight = (np.arange(len(texts)) % 2).astype(float)
    some = weight > 0
    assert summary((texts, codes, weight)) == summary(part((texts, codes, weight), some))


@few
@given(documents(), st.permutations(range(CLASSES)))
def test_classes_can_be_taken_in_any_order_and_spread(rows, order):
    whole = summary(rows)
    taken = whole.take(np.array(order))
    moved = np.argsort(order)[rows[1]].astype(np.int32)
    assert taken == summary((rows[0], moved, rows[2]))
    spread = taken.spread(np.array(order), CLASSES)
    assert spread == whole
    check_value(taken)
    wide = whole.spread(np.array([4, 0, 2]), 5)
    check_value(wide)
    assert wide.take(np.array([4, 0, 2])) == whole


@few
@given(documents())
def test_all_classes_pooled_are_one_class(rows):
    texts, codes, weight = rows
    pooled, one = summary(rows).pooled(), summary((texts, np.zeros_like(codes), weight))
    assert_array_equal(pooled.vocabulary.names, one.vocabulary.names)
    assert named(pooled) == named(one)
    assert (pooled.documents.tolist(), pooled.words.tolist()) == ([one.documents[0]], [one.words[0]])
    assert len(pooled.kept) == 0


@few
@given(documents(), st.integers(0, CLASSES - 1))
def test_a_class_that_is_dropped_takes_its_words_along(rows, gone):
    others = np.delete(np.arange(CLASSES), gone)
    found = summary(rows).take(others).trimmed()
    stay = rows[1] != gone
    texts, codes, weight = part(rows, stay)
    expected = WordCounts.of(Texts.of(texts), np.searchsorted(others, codes).astype(np.int32), 2, weight, keep=100)
    assert found == expected
    check_value(found)


@few
@given(documents(), documents())
def test_by_class_they_merge_by_label(x, y):
    first, second = (np.array(["b", "c", "d"]), np.array(["a", "b", "c"]))
    a = ByClass.of(WordCounts, Texts.of(x[0]), first[x[1]], x[2], keep=50)
    b = ByClass.of(WordCounts, Texts.of(y[0]), second[y[1]], y[2], keep=50)
    weight = None
    if x[2] is not None or y[2] is not None:
        weight = np.concatenate([np.ones(len(r[0])) if r[2] is None else r[2] for r in (x, y)])
    labels = np.concatenate([first[x[1]], second[y[1]]])
    whole = ByClass.of(WordCounts, Texts.of(x[0] + y[0]), labels, weight, keep=50)
    assert a + b == whole
    assert (a + b) - b == a
    assert (a + b) - a == b


# ---- what cannot be taken away


SOME = (["red red green", "blue", None], np.array([0, 1, 2], dtype=np.int32), None)


@pytest.mark.parametrize(
    ("texts", "codes"),
    [(["yellow"], [0]), (["blue"], [0]), (["red"], [1]), (["red red red"], [0]), (["", ""], [1, 1]), ([""], [2])],
)
def test_what_was_never_learned_cannot_be_taken_away(texts, codes):
    whole, again = summary(SOME), summary(SOME)
    with pytest.raises(NotPartError):
        whole - summary((texts, np.array(codes, dtype=np.int32), None))
    assert whole == again


def test_residue_of_rounding_is_nothing():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS[:6], 5)) for _ in range(40)]
    codes, weight = np.zeros(40, np.int32), rng.random(40)
    for term, norm in [("sqrt", "l2"), ("log", "l1")]:
        whole = summary((texts, codes, weight), weighting=Weighting(term, norm))
        rest = whole
        for i in range(39):
            rest = rest - summary((texts[i : i + 1], codes[:1], weight[i : i + 1]), weighting=Weighting(term, norm))
        last = summary((texts[39:], codes[:1], weight[39:]), weighting=Weighting(term, norm))
        assert rest.vocabulary == last.vocabulary
        assert_allclose(rest.total, last.total, rtol=1e-9)
        assert rest - last == WordCounts.empty(CLASSES, 1)


def test_arrays_that_do_not_belong_together_are_refused():
    from dataclasses import replace

    good = summary(SOME)
    check_value(good)
    for damage in (
        {"start": good.start[:-1]},
        {"start": good.start[::-1].copy()},
        {"codes": good.codes[::-1].copy() + 9},
        {"codes": good.codes - 1},
        {"total": good.total[1:]},
        {"documents": good.documents[:1]},
        {"words": good.words.astype(int)},
        {"vocabulary": Vocabulary.of(["red"])},
        {"kept": None},
        {"kept": replace(good.kept, feature=good.kept.feature + 9)},
        {"kept": replace(good.kept, feature=good.kept.feature - 9)},
        {"kept": replace(good.kept, codes=good.kept.codes + 9)},
        {"kept": replace(good.kept, codes=good.kept.codes - 1)},
    ):
        with pytest.raises(MismatchError):
            check_value(replace(good, **damage))
    for damage in ({"start": good.kept.start[1:]}, {"weight": good.kept.weight[1:]}, {"count": good.kept.count[1:]}):
        with pytest.raises(MismatchError):
            check_value(replace(good.kept, **damage))


def test_reading_them():
    found = summary(SOME)
    assert repr(found) == "WordCounts(3 classes, 3 words)"
    assert repr(found.kept) == "DocumentSample(2 documents of at most 100)"
    assert found.n_columns == 1
    assert_array_equal(found.dense(), [[0, 1, 2], [1, 0, 0], [0, 0, 0]])
    assert_array_equal(found.dense(1, 2, absent=-1.0), [[1], [-1], [-1]])
    assert_array_equal(found.by_class(found.total), [3, 1, 0])
    assert_array_equal(found.by_word(found.total), [1, 1, 2])
    assert found != "something else"
    assert found.kept != "something else"
    assert DocumentSample.empty() == DocumentSample.empty(5)


# ---- threads

PROGRAM = """
import hashlib, json, numpy as np
from suffice import TextClassifier
from suffice.core.statistics import WordCounts
from suffice.core.words import Lexicon, Tokenization, Texts, Weighting
rng = np.random.default_rng(0)
words = np.array([f"word{i}" for i in range(3000)])
texts = [" ".join(words[rng.zipf(1.3, 60).clip(max=3000) - 1]) for _ in range(6000)]
codes = rng.integers(0, 4, len(texts)).astype(np.int32)
out = []
for term, norm in [("count", None), ("sqrt", "l2"), ("log", "l1")]:
    for weight in (None, rng.random(len(texts))):
        found = WordCounts.of(Texts.of(texts), codes, 4, weight, None, Tokenization(), Weighting(term, norm), 50)
        rows = Lexicon(found.vocabulary, Tokenization()).weigh(Texts.of(texts), Weighting(term, norm))
        parts = [found.vocabulary.text, found.start, found.codes, found.total, found.documents, found.words]
        parts += [found.kept.hashes, found.kept.feature, found.kept.count, rows.start, rows.feature, rows.value]
        out.append(hashlib.sha256(b"".join(each.tobytes() for each in parts)).hexdigest())
chosen = TextClassifier().fit(texts, codes).event_  # so many pairs that each thread sorts and numbers some of them
out.append(hashlib.sha256(chosen.counts.vocabulary.text.tobytes() + chosen.coef.tobytes()).hexdigest())
assert len(chosen.counts.vocabulary) > 1 << 15
print(json.dumps(out))
"""


def test_results_do_not_depend_on_the_number_of_threads():
    answers = []
    for threads in (1, 3):
        env = os.environ | {"SUFFICE_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 7
