"""Scores of texts as operators of ONNX: a text is cut into words, the words are joined, counted, weighed and scored.

Each step is the same as in `Lexicon`, so scores differ by rounding alone. The words of all texts are one long tensor,
beside the row of each. A word is looked up by its name, and an n-gram by its last word and the n-gram of those before.

One row is added, whose text has as many unknown words as the longest n-gram, and its score is left out: so nothing is
ever empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import NoFormulaError
from suffice.core.words import Tokenization, Vocabulary, Weighting
from suffice.core.words.counting import Linear
from suffice.core.words.word_characters import DOTTED_I, FINAL_SIGMA, SIGMA, ranges_of, word_characters
from suffice.engines.onnx.graph import END, TEXT_OPSETS, Tensor
from suffice.engines.onnx.model_inputs import Inputs
from suffice.formulas import WordScores, smallest_codes

MOST_BYTES = 1 << 30  # of the words and numbers of a text: a file of ONNX has less than 2 GiB
ADDED_WORD = "ÀÀ"  # of the added row


def word_scores(inputs: Inputs, node: WordScores) -> Tensor:
    """Return the scores of a column of texts, (rows, classes); NaN where a text cannot be read exactly."""
    tokenization, vocabulary = node.lexicon.tokenization, node.lexicon.vocabulary
    _check(node.column, tokenization)
    linear, phrases = node.scores(None), Phrases.of(vocabulary, tokenization.ngram_range[1])
    size = len(vocabulary.text) + sum(keys.nbytes for keys in phrases.keys) + 2 * linear.coef.nbytes
    if size > MOST_BYTES:
        raise NoFormulaError(
            f"Column {node.column!r}: {len(vocabulary)} words and phrases would take {size >> 20} MiB, and a model "
            f"may take {MOST_BYTES >> 20}. Fit with ngrams=(1, 1)"
        )
    inputs.graph.opsets = TEXT_OPSETS
    word = ADDED_WORD
    while (word.lower() if tokenization.lowercase else word) in tokenization.stop_list:
        word += ADDED_WORD
    added = " ".join([word] * tokenization.ngram_range[1])
    texts = inputs.graph.add("Concat", inputs.texts(node.column), np.array([added]), axis=0)
    table = LinearScores(linear, node.weighting, tokenization.n_sizes, texts.size(0))
    counted = phrases.counted(*_words(texts, tokenization), tokenization.ngram_range[0])
    scores = texts.graph.sum([table.of_size(size, found) for size, found in enumerate(counted)])
    scores = scores.some(0, -1) + node.intercept[None]
    if not tokenization.lowercase:
        return scores
    unclear = texts.graph.add("RegexFullMatch", texts, pattern=_unclear_sigma()).some(0, -1).unsqueeze(1)
    return unclear.where(np.nan, scores)


def _check(column: str, tokenization: Tokenization) -> None:
    """Refuse what the operators cannot do."""
    refused = {
        "n-grams of characters are not cut by them: analyzer='word' has a model": tokenization.analyzer != "word",
        "they do not remove accents: fit without strip_accents": tokenization.strip_accents is not None,
        "stems are made by rules that they do not have: fit without stem": tokenization.stem is not None,
        "they do not hash words as here: fit without n_features": tokenization.n_features is not None,
    }
    for why, holds in refused.items():
        if holds:
            raise NoFormulaError(f"Column {column!r} holds texts, and the operators of ONNX cannot read them: {why}")


# ---- cutting


def _word_pattern(lowercase: bool) -> str:
    """Return the regular expression of words of two characters or more, as they are before lower-casing."""
    own = f"[{ranges_of(word_characters().all + ('' if lowercase else DOTTED_I))}]"
    return f"{own}+{DOTTED_I}|{own}{own}+" if lowercase else f"{own}{own}+"


def _unclear_sigma() -> str:
    """Return the regular expression of texts in which the form of a Σ depends on more than its word."""
    known = word_characters()
    ignored, cased = ranges_of(known.ignored), ranges_of(known.cased)
    outside = ranges_of(set(known.cased) - set(known.all))
    sides = f"{SIGMA}[{ignored}]+[{cased}]|[{cased}][{ignored}]+{SIGMA}|{SIGMA}[{outside}]|[{outside}]{SIGMA}"
    return f"(?s).*(?:{sides}).*"


def _words(texts: Tensor, tokenization: Tokenization) -> tuple[Tensor, Tensor]:
    """Return the words of all texts as they are counted, and the row of each."""
    graph, pattern = texts.graph, _word_pattern(tokenization.lowercase)
    cut = graph.cut(texts, tokenexp=pattern)  # (rows, words of the longest)
    row = graph.add("Expand", graph.positions(texts.size(0)).unsqueeze(1), graph.add("Shape", cut)).reshape(-1)
    words = cut.reshape(-1)
    there = words.lookup([""], [0], otherwise=1).cast(np.bool_)
    words, row = words.compress(there), row.compress(there)
    if tokenization.lowercase:
        words = _lower(words)
    if not tokenization.stop_list:
        return words, row
    stop = sorted(tokenization.stop_list)
    kept = words.lookup(stop, [0] * len(stop), otherwise=1).cast(np.bool_)
    return words.compress(kept), row.compress(kept)


def _lower(words: Tensor) -> Tensor:
    """Return words in lower case: ASCII by an operator, words with other capital letters by their characters."""
    graph, known = words.graph, word_characters()
    lower = {c: low for c, low in known.lower.items() if not c.isascii()} | {DOTTED_I: "i"}
    plain = graph.add("StringNormalizer", words, case_change_action="LOWER", locale="C", is_case_sensitive=1)
    capital = graph.add("RegexFullMatch", plain, pattern=f".*[{ranges_of(lower)}].*")
    cut = graph.cut(plain.compress(capital), separators=[""])  # (words, characters)
    code = cut.lookup([*lower], list(range(len(lower))), otherwise=len(lower))
    found = graph.constant([*lower.values(), ""]).gather(code, axis=0)
    found = code.equals(np.array(len(lower))).where(cut, found)
    cased = graph.add("RegexFullMatch", cut, pattern=f"[{ranges_of(set(known.cased) & set(known.all))}]").cast(np.int64)
    none = graph.add("Expand", np.array([[0]]), graph.add("Concat", cut.size(0), np.array([1]), axis=0))
    before = graph.add("Concat", none, cased.some(0, -1, axis=1), axis=1)
    after = graph.add("Concat", cased.some(1, END, axis=1), none, axis=1)
    final = cut.lookup([SIGMA], [1], otherwise=0) * before > after
    joined = graph.join(final.where(np.array(FINAL_SIGMA), found))
    both = graph.add("Concat", plain, joined, axis=0)  # ScatterElements of strings is not in all versions
    place = graph.add("CumSum", capital.cast(np.int64), np.array(0)) + (words.size(0) - np.array([1]))
    return both.gather(capital.where(place, graph.positions(words.size(0))), axis=0)


# ---- n-grams


@dataclass(frozen=True)
class Phrases:
    """The words of a vocabulary, and its n-grams: those of size k as `keys[k - 2]`, ascending.

    A key is the number of the n-gram without its last word, times the number of words, plus that of the last word.
    `features[k - 1]` is the feature of each n-gram of size k; the number of features where it is none, and at the end.
    """

    words: list[str]
    keys: list[NDArray[np.int64]]
    features: list[NDArray[np.int32]]
    n_features: int

    @classmethod
    def of(cls, vocabulary: Vocabulary, most: int) -> Phrases:
        """Split the names of features into words."""
        names = [name.split(" ") if most > 1 else [name] for name in vocabulary.names.tolist()]
        words = sorted({word for name in names for word in name}) or [""]  # no word is empty
        place = {word: i for i, word in enumerate(words)}
        length = np.array([len(name) for name in names], dtype=np.int64)
        codes = np.zeros((len(names), most), dtype=np.int64)
        for i, name in enumerate(names):
            codes[i, : len(name)] = [place[word] for word in name]
        keys: list[NDArray[np.int64]] = []
        features = [_features(codes[:, 0], length == 1, len(words))]
        node = codes[:, 0]
        for k in range(2, most + 1):
            longer = length >= k
            own, found = np.unique(node[longer] * len(words) + codes[longer, k - 1], return_inverse=True)
            node = np.where(longer, 0, -1)
            node[longer] = found
            keys.append(own if len(own) else np.array([-2]))  # no key is negative but −1
            features.append(_features(node, length == k, len(keys[-1])))
        return cls(words, keys, features, len(names))

    def counted(self, words: Tensor, row: Tensor, least: int) -> Iterator[Counted]:
        """Count the n-grams of each size from `least` on."""
        graph = words.graph
        first = known = words.lookup(self.words, list(range(len(self.words))), otherwise=-1)
        for k, features in enumerate(self.features, 1):
            if k > 1:
                shorter, last, keys = known.some(0, -1), first.some(k - 1, END), self.keys[k - 2]
                unknown = (shorter < np.array(0)) | (last < np.array(0))
                key = unknown.where(np.array(-1), shorter * np.array(len(self.words)) + last)
                known = key.lookup(keys.tolist(), list(range(len(keys))), otherwise=-1)
            if k < least:
                continue
            feature, own = graph.constant(features).gather(known, axis=0).cast(np.int64), row
            if k > 1:
                own = row.some(0, 1 - k)
                within = own.equals(row.some(k - 1, END))
                feature, own = feature.compress(within), own.compress(within)
            n = np.array(self.n_features + 1)
            found, count = graph.unique(own * n + feature)
            yield Counted(found / n, found % n, count.cast(np.float64))


def _features(node: NDArray[np.int64], own: NDArray[np.bool_], nodes: int) -> NDArray[np.int32]:
    out = np.full(nodes + 1, len(node), dtype=np.int32)
    out[node[own]] = np.flatnonzero(own)
    return out


# ---- scores


class Counted(NamedTuple):
    """N-grams of one size: the row, the feature, and how often it occurs there. All unknown ones are one feature."""

    row: Tensor
    feature: Tensor
    times: Tensor


TERMS: dict[str, Callable[[Tensor], Tensor]] = {
    "count": lambda count: count,
    "binary": lambda count: count * 0.0 + 1.0,
    "sqrt": lambda count: count.graph.add("Sqrt", count),
    "log": lambda count: count.log() + 1.0,
}


class LinearScores:
    """Weighs the n-grams of rows, and sums what `Linear` says of them."""

    def __init__(self, linear: Linear, weighting: Weighting, sizes: int, rows: Tensor):
        self.linear, self.weighting, self.rows, self.graph = linear, weighting, rows, rows.graph
        self.classes, self.n_features = linear.base.shape[1], len(linear.start) - 1
        self.base = np.broadcast_to(linear.base, (sizes, self.classes))
        self.length = np.broadcast_to(linear.length, (sizes,))
        end = len(linear.coef)  # an entry that says nothing is that of what is no feature
        self.start = self.graph.constant(np.append(linear.start, end + 1).astype(smallest_codes(end + 2)))
        self.codes = self.graph.constant(np.append(linear.codes, 0).astype(smallest_codes(self.classes)))
        self.coef = self.graph.constant(np.append(linear.coef, 0.0))

    def of_size(self, size: int, found: Counted) -> Tensor:
        """Return the scores of the n-grams of one size, (rows, classes)."""
        value = self._values(size, found)
        lengths = value.sums_at(found.row, self.rows)
        return self._entries(found, value) + lengths.unsqueeze(1) * self.base[size][None]

    def _values(self, size: int, found: Counted) -> Tensor:
        """Return what the n-grams are multiplied by."""
        unknown = found.feature.equals(np.array(self.n_features))  # each of them counts once
        value = TERMS[self.weighting.term](found.times)
        if self.weighting.norm is None:
            value = unknown.where(0.0, value)
        else:
            squared = self.weighting.norm == "l2"
            norm = unknown.where(found.times, value * value if squared else value).sums_at(found.row, self.rows)
            norm = self.graph.add("Sqrt", norm) if squared else norm
            value = unknown.where(found.times, value) / norm.gather(found.row, axis=0)
        if not self.linear.exponent:
            return value
        number = found.times.sums_at(found.row, self.rows)
        factor = (((number + 1.0).log() - self.length[size]) * self.linear.exponent).exp()
        return value * factor.gather(found.row, axis=0)

    def _entries(self, found: Counted, value: Tensor) -> Tensor:
        """Return Σ x_j coef_jy: each n-gram is repeated once for each class that it has a number for."""
        graph, feature = self.graph, found.feature
        start, end = (self.start.gather(feature + np.array(k), axis=0).cast(np.int64) for k in range(2))
        length = end - start
        before = graph.add("CumSum", length, np.array(0), exclusive=1)
        number = length.sum(0)
        begins = (before * np.array(0) + np.array(1)).cast(np.float64).sums_at(before, number + np.array(1))
        owner = graph.add("CumSum", begins.cast(np.int64), np.array(0)).some(0, -1) - np.array(1)
        place = graph.positions(number) + (start - before).gather(owner, axis=0)
        scores = self.coef.gather(place, axis=0) * value.gather(owner, axis=0)
        first = found.row.gather(owner, axis=0) * np.array(self.classes)
        cell = first + self.codes.gather(place, axis=0).cast(np.int64)
        return scores.sums_at(cell, self.rows * np.array(self.classes)).reshape(-1, self.classes)
