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

from suffice import _core
from suffice.core.errors import NoFormulaError
from suffice.core.words import Bag, Tokenization, Vocabulary, Weighting
from suffice.core.words.counting import Linear
from suffice.core.words.tokenizing import Accents, preprocess
from suffice.core.words.word_characters import (
    DOTTED_I,
    FINAL_SIGMA,
    SIGMA,
    SURROGATES,
    ranges_of,
    word_characters,
)
from suffice.engines.onnx.graph import END, TEXT_OPSETS, Tensor
from suffice.engines.onnx.model_inputs import Inputs
from suffice.formulas import WordScores, smallest_codes

MOST_BYTES = 1 << 30  # of the words and numbers of a text: a file of ONNX has less than 2 GiB
ADDED_WORD = "ÀΣÀ"  # of the added row: it has every kind of letter that is replaced


def word_scores(inputs: Inputs, node: WordScores) -> Tensor:
    """Return the scores of a column of texts, (rows, classes)."""
    linear, tokenization = node.scores(None), node.lexicon.tokenization
    texts = inputs.texts(node.column)
    text = TextColumn(texts, f"Column {node.column!r}", node.lexicon.vocabulary, tokenization, 2 * linear.coef.nbytes)
    table = LinearScores(linear, node.weighting, tokenization.n_sizes, text.rows)
    found = texts.graph.sum([table.of_size(size, counted) for size, counted in enumerate(text.counted())])
    return found.some(0, -1) + node.intercept[None]


def count_matrix(texts: Tensor, title: str, vocabulary: Vocabulary, tokenization: Tokenization) -> Tensor:
    """Return how often each word of a vocabulary is in each text, (rows, words)."""
    text = TextColumn(texts, title, vocabulary, tokenization, 0)
    width = np.array(len(vocabulary) + 1)  # the last is of unknown ones
    size = text.rows * width
    parts = [each.times.sums_at(each.row * width + each.feature, size) for each in text.counted()]
    return texts.graph.sum(parts).reshape(-1, len(vocabulary) + 1).some(0, -1).some(0, -1, axis=1)


def bag_of_words(texts: Tensor, bag: Bag) -> Tensor:
    """Return the weights of the words of texts, (rows, words), as `BagOfWords` computes them."""
    count = count_matrix(texts, "The input of BagOfWords", bag.vocabulary, bag.tokenization)
    if bag.order is not None:
        count = count.gather(bag.order, axis=1)
    value = count if bag.weighting.term == "count" else (count > 0.0).where(TERMS[bag.weighting.term](count), 0.0)
    if bag.idf is not None:
        value = value * np.asarray(bag.idf, dtype=np.float64)[None]
    if bag.weighting.norm is None:
        return value
    size = (value * value if bag.weighting.norm == "l2" else value).sum(1)
    size = texts.graph.add("Sqrt", size) if bag.weighting.norm == "l2" else size
    return value / size.equals(0.0).where(1.0, size)


class TextColumn:
    """A column of texts, (rows,), whose words are counted; `numbers` are the bytes of what is said of its words."""

    def __init__(self, texts: Tensor, title: str, vocabulary: Vocabulary, tokenization: Tokenization, numbers: int):
        _check(title, tokenization)
        self.graph, self.tokenization = texts.graph, tokenization
        self.phrases = Phrases.of(vocabulary, tokenization.ngram_range[1])
        size = len(vocabulary.text) + sum(keys.nbytes for keys in self.phrases.keys) + numbers
        if size > MOST_BYTES:
            raise NoFormulaError(
                f"{title}: {len(vocabulary)} words and phrases would take {size >> 20} MiB, and a model may take "
                f"{MOST_BYTES >> 20}. Fit with ngrams=(1, 1)"
            )
        self.graph.opsets = TEXT_OPSETS
        word = ADDED_WORD
        while preprocess(word, tokenization.lowercase, tokenization.strip_accents) in tokenization.stop_list:
            word += ADDED_WORD
        added = " ".join([word] * tokenization.ngram_range[1])
        self.texts = self.graph.add("Concat", texts, np.array([added]), axis=0)
        self.rows = self.texts.size(0)

    def counted(self) -> Iterator[Counted]:
        """Count the n-grams of each size."""
        return self.phrases.counted(*_words(self.texts, self.tokenization), self.tokenization.ngram_range[0])


def _check(title: str, tokenization: Tokenization) -> None:
    """Refuse what the operators cannot do."""
    refused = {
        "n-grams of characters are not cut by them: analyzer='word' has a model": tokenization.analyzer != "word",
        "stems are made by rules that they do not have: fit without stem": tokenization.stem is not None,
        "they do not hash words as here: fit without n_features": tokenization.n_features is not None,
    }
    for why, holds in refused.items():
        if holds:
            raise NoFormulaError(f"{title} holds texts, and the operators of ONNX cannot read them: {why}")


# ---- cutting


def _word_pattern(lowercase: bool) -> str:
    """Return the regular expression of words of two characters or more, as they are before lower-casing."""
    own = f"[{ranges_of(word_characters().all + ('' if lowercase else DOTTED_I))}]"
    return f"{own}+{DOTTED_I}|{own}{own}+" if lowercase else f"{own}{own}+"


def _words(texts: Tensor, tokenization: Tokenization) -> tuple[Tensor, Tensor]:
    """Return the words of all texts as they are counted, and the row of each."""
    graph, lower_later = texts.graph, tokenization.lowercase and tokenization.strip_accents is None
    texts = _without_sigma(texts) if tokenization.lowercase else texts
    if tokenization.strip_accents is not None:
        texts = _without_accents(texts, tokenization.lowercase, tokenization.strip_accents)
    cut = graph.cut(texts, tokenexp=_word_pattern(lower_later))  # (rows, words of the longest)
    row = graph.add("Expand", graph.positions(texts.size(0)).unsqueeze(1), graph.add("Shape", cut)).reshape(-1)
    words = cut.reshape(-1)
    there = graph.add("Not", words.equals(np.array("")))
    words, row = graph.strings(words.compress(there)), row.compress(there)
    if lower_later:
        words = _lower(words)
    if not tokenization.stop_list:
        return words, row
    stop = sorted(tokenization.stop_list)
    kept = words.lookup(stop, [0] * len(stop), otherwise=1).cast(np.bool_)
    return words.compress(kept), row.compress(kept)


def _without_sigma(texts: Tensor) -> Tensor:
    """Return texts with each Σ in lower case: ς if a cased character is before it and none behind, ignored ones aside.

    They are cut before and behind each Σ. Of what is between two of them, it matters how it ends and begins.
    """
    graph, known = texts.graph, word_characters()
    cased, ignored = f"[{ranges_of(known.cased)}]", f"[{ranges_of(known.ignored)}]"
    has = graph.add("RegexFullMatch", texts, pattern=f"(?s).*{SIGMA}.*")
    part = graph.strings(
        graph.cut(texts.compress(has), tokenexp=f"{SIGMA}|[^{SIGMA}]+")
    )  # (texts with Σ, parts of the longest)
    ends, begins, ignorable, is_sigma = (
        graph.add("RegexFullMatch", part, pattern=pattern).cast(np.int64)
        for pattern in (f"(?s).*{cased}{ignored}*", f"(?s){ignored}*{cased}.*", f"{ignored}*", SIGMA)
    )
    none = (is_sigma * np.array(0)).some(0, 1, axis=1)

    def back(x: Tensor) -> Tensor:
        return graph.add("Concat", none, x.some(0, -1, axis=1), axis=1)

    def on(x: Tensor) -> Tensor:
        return graph.add("Concat", x.some(1, END, axis=1), none, axis=1)

    before = back(ends) + back(ignorable * back(ends))  # beside an ignorable part is Σ, or nothing
    after = on(begins) + on(ignorable * on(begins))
    lower = (is_sigma > np.array(0)).where(np.array(SIGMA.lower()), part)
    return _replaced(texts, has, graph.join((is_sigma * before > after).where(np.array(FINAL_SIGMA), lower)))


def _without_accents(texts: Tensor, lowercase: bool, accents: Accents) -> Tensor:
    """Return texts without accents, in lower case if asked for: they are cut beside each character that changes."""
    graph, beyond = texts.graph, [chr(c) for c in range(0x80, 0x110000) if c not in SURROGATES]
    apart = _core.tokens("\0".join(beyond), lowercase, accents, "char", 1, 1)  # Python may know a later Unicode
    plain = dict(zip(beyond, "".join(apart).split("\0"), strict=True))
    changed = f"[{ranges_of(c for c, read in plain.items() if c != read)}]"
    known = {c: read for c, read in plain.items() if read and c != read}  # the others become nothing
    texts = _lower_ascii(texts) if lowercase else texts
    has = graph.add("RegexFullMatch", texts, pattern=f"(?s).*{changed}.*")
    part = graph.strings(graph.cut(texts.compress(has), tokenexp=f"{changed}|[^{changed[1:]}+"))
    code = part.lookup([*known], list(range(len(known))), otherwise=len(known))
    found = graph.constant([*known.values(), ""]).gather(code, axis=0)
    changes = graph.add("RegexFullMatch", part, pattern=changed)
    return _replaced(texts, has, graph.join(changes.where(found, part)))


def _lower_ascii(strings: Tensor) -> Tensor:
    return strings.graph.add("StringNormalizer", strings, case_change_action="LOWER", locale="C", is_case_sensitive=1)


def _lower(words: Tensor) -> Tensor:
    """Return words in lower case: ASCII by an operator, words with other capital letters by their characters."""
    graph = words.graph
    lower = {c: low for c, low in word_characters().lower.items() if not c.isascii()} | {DOTTED_I: "i"}
    plain = _lower_ascii(words)
    has = graph.add("RegexFullMatch", plain, pattern=f".*[{ranges_of(lower)}].*")
    part = graph.strings(
        graph.cut(plain.compress(has), separators=[""])
    )  # (words with capital letters, characters of the longest)
    code = part.lookup([*lower], list(range(len(lower))), otherwise=len(lower))
    found = graph.constant([*lower.values(), ""]).gather(code, axis=0)
    return _replaced(plain, has, graph.join(code.equals(np.array(len(lower))).where(part, found)))


def _replaced(strings: Tensor, where: Tensor, new: Tensor) -> Tensor:
    """Return strings, those where a condition holds replaced by new ones in their order."""
    graph = strings.graph
    place = graph.add("CumSum", where.cast(np.int64), np.array(0)) + (strings.size(0) - np.array([1]))
    place = where.where(place, graph.positions(strings.size(0)))
    return graph.add("Concat", strings, new, axis=0).gather(place, axis=0)  # not all versions scatter strings


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
        """Split the names of features into words; a name of more words than `most` is never found."""
        names = [name.split(" ") if most > 1 else [name] for name in vocabulary.names.tolist()]
        names = [name if len(name) <= most else [] for name in names]
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
