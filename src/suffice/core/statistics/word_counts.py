"""Totals of words by class, over a vocabulary that grows with the texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Positions, positions_in, starts
from suffice.core.errors import MismatchError, NotPartError
from suffice.core.statistics.compensated import Sums, added, check_rest, minus, plus, rounded, times
from suffice.core.statistics.hash_samples import DocumentSample
from suffice.core.statistics.statistic import Statistic, spread_rows
from suffice.core.validation import Agrees, Held
from suffice.core.words import Texts, Tokenization, Vocabulary, Weighting, word_totals

PLAIN, COUNTED = Tokenization(), Weighting()


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Statistic):
    """The total Σ w·x of every word of one column of texts, for every class that has the word.

    The totals of word i are `total[start[i] : start[i + 1]]`, of the classes in the same part of `codes`, ascending:
    most words occur in few classes. `documents` is the weight of the texts of each class, missing ones left out, and
    `words` that of their words. `kept` is a bounded sample of documents, for what needs more than totals. What rounding
    took from the sums is in `total_rest`, `documents_rest` and `words_rest`, as `compensated` says.

    >>> from suffice.core.words import Texts
    >>> counts = WordCounts.of(Texts.of(["a dog", "dog dog"]), np.zeros(2, np.int32), 1)
    >>> counts.vocabulary, counts.total, counts.documents
    (Vocabulary(1 words: 'dog'), array([3.]), array([2.]))
    """

    vocabulary: Annotated[Vocabulary, Agrees("words")]
    start: Annotated[NDArray[np.int64], Held("words+1", fills="entries")]
    codes: Annotated[Codes, Held("entries", below="classes")]
    total: Annotated[Array, Held("entries", least=0)]
    documents: Annotated[Array, Held("classes", least=0)]
    words: Annotated[Array, Held("classes", least=0)]
    kept: Annotated[DocumentSample, Agrees("classes", "words")]
    total_rest: Annotated[Array | None, Held("entries", 2)] = None
    documents_rest: Annotated[Array | None, Held("classes", 2)] = None
    words_rest: Annotated[Array | None, Held("classes", 2)] = None

    def _sums(self, name: str) -> Sums:
        return Sums(getattr(self, name), getattr(self, f"{name}_rest"))

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:  # noqa: ARG003  # one column of texts
        """Summarize no texts."""
        nothing = Vocabulary(np.empty(0, np.uint8), np.zeros(1, np.int64))
        none = np.zeros(classes)
        return cls(
            nothing, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), none, none, DocumentSample.empty()
        )

    @classmethod
    def of(
        cls,
        x: Texts,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        tokenization: Tokenization = PLAIN,
        weighting: Weighting = COUNTED,
        keep: int = 0,
    ) -> Self:
        """Sum the weighted words of texts, and keep up to `keep` of the texts."""
        exact = weight is not None and not (weighting == COUNTED and _core.all_whole(weight))
        rows, sample = DocumentSample.chosen(x, codes, weight, keep)
        bags, names, start, of_class, sums, low = word_totals(
            x, codes, classes, weight, tokenization, weighting, exact, rows
        )
        parts = [added(high, lost, len(codes)) for high, lost in zip(sums, low, strict=True)] if exact else []
        total, documents, words = parts or (
            Sums(each, None if weighting == COUNTED else rounded(each)) for each in sums
        )
        kept = sample.with_bags(*bags)
        rests = total.rest, documents.rest, words.rest
        out = cls(names, start, of_class, total.value, documents.value, words.value, kept, *rests)
        return out if onto is None else onto + out

    # ---- access

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.documents)

    @property
    def n_columns(self) -> int:
        """One column of texts."""
        return 1

    @property
    def owner(self) -> NDArray[np.int64]:
        """The word of each total."""
        return np.repeat(np.arange(len(self.vocabulary)), np.diff(self.start))

    def by_class(self, values: Array) -> Array:
        """Sum `values`, one for every total, over the words: (classes,)."""
        return np.asarray(np.bincount(self.codes, weights=values, minlength=self.n_classes), dtype=np.float64)

    def by_word(self, values: Array) -> Array:
        """Sum `values`, one for every total, over the classes: (words,)."""
        out = np.zeros(len(self.vocabulary))
        np.add.at(out, self.owner, values)
        return out

    def dense(
        self, lo: int = 0, hi: int | None = None, values: Array | None = None, absent: float | Array = 0.0
    ) -> Array:
        """Return the totals (or `values`) of words lo … hi − 1: (classes, words), `absent` where there is none."""
        hi = len(self.vocabulary) if hi is None else hi
        part = slice(self.start[lo], self.start[hi])
        out = np.empty((self.n_classes, hi - lo))
        out[:] = np.broadcast_to(absent, (self.n_classes,))[:, None]
        owner = np.repeat(np.arange(hi - lo), np.diff(self.start[lo : hi + 1]))
        out[self.codes[part], owner] = (self.total if values is None else values)[part]
        return out

    # ---- the algebra

    def __add__(self, other: Self) -> Self:
        vocabulary, mine, theirs = self.vocabulary.merged(other.vocabulary)
        start, codes, total = self._totals_with(other, mine, theirs, len(vocabulary))
        documents, words = (plus(self._sums(name), other._sums(name)) for name in ("documents", "words"))
        return type(self)(
            vocabulary,
            start,
            codes,
            total.value,
            documents.value,
            words.value,
            self.kept.moved(mine) + other.kept.moved(theirs),
            total.rest,
            documents.rest,
            words.rest,
        )

    def _totals_with(
        self, other: Self, mine: Positions, theirs: Positions, words: int
    ) -> tuple[NDArray[np.int64], Codes, Sums]:
        """Add the totals over a vocabulary in which word i is at `mine[i]` or `theirs[i]`."""
        import scipy.sparse

        def table(own: Self, positions: Positions) -> scipy.sparse.csr_array[np.float64]:
            lengths = np.zeros(words + 1, dtype=np.int64)
            lengths[positions + 1] = np.diff(own.start)
            parts = (own.total, own.codes, np.cumsum(lengths))
            return scipy.sparse.csr_array(parts, shape=(words, own.n_classes))

        if all(s.total_rest is None and _core.all_whole(s.total) for s in (self, other)):  # float64 adds them exactly
            summed = table(self, mine) + table(other, theirs)
            return summed.indptr.astype(np.int64), summed.indices.astype(np.int32), Sums(summed.data, None)
        a, b, classes = self._keys(mine), other._keys(theirs), max(self.n_classes, 1)
        keys = _distinct(np.concatenate([a, b]))
        parts = (_spread(s._sums("total"), np.searchsorted(keys, own), len(keys)) for s, own in ((self, a), (other, b)))
        start = np.searchsorted(keys, np.arange(words + 1) * classes)
        return start.astype(np.int64), (keys % classes).astype(np.int32), plus(*parts)

    def __sub__(self, other: Self) -> Self:
        place = self.vocabulary.find(other.vocabulary)
        if (place < 0).any():
            unknown = other.vocabulary[int(np.argmin(place))]
            raise NotPartError(f"Cannot take away the word {unknown!r}: it was never added")
        mine, theirs = self._keys(np.arange(len(self.vocabulary))), other._keys(place)
        at = np.searchsorted(mine, theirs)
        at[at == len(mine)] = 0
        if len(theirs) and (not len(mine) or (mine[at] != theirs).any()):
            raise NotPartError("Cannot take away words from a class that never had them")
        total = minus(self._sums("total"), _spread(other._sums("total"), at, len(mine)))
        documents, words = (minus(self._sums(name), other._sums(name)) for name in ("documents", "words"))
        return replace(
            self,
            total=total.value,
            total_rest=total.rest,
            documents=documents.value,
            documents_rest=documents.rest,
            words=words.value,
            words_rest=words.rest,
            kept=self.kept - other.kept.moved(place),
        ).trimmed()

    def _keys(self, positions: Positions) -> NDArray[np.int64]:
        """Return an ascending number for each total, from its class and the position of its word."""
        return np.asarray(positions[self.owner] * self.n_classes + self.codes, dtype=np.int64)

    def trimmed(self) -> Self:
        """Drop words of total 0."""
        left = self.total > 0
        if left.all() and (np.diff(self.start) > 0).all():
            return self
        start = starts(left)[self.start]
        used = np.diff(start) > 0
        return replace(
            self,
            vocabulary=self.vocabulary.take(used),
            start=np.concatenate([[0], start[1:][used]]).astype(np.int64),
            codes=self.codes[left],
            total=self.total[left],
            total_rest=None if self.total_rest is None else self.total_rest[left],
            kept=self.kept.moved(np.cumsum(used) - 1),
        )

    def rounded(self) -> Self:
        """Return sums that were rounded to float64 elsewhere."""
        rests: dict[str, Any] = {
            f"{name}_rest": rounded(getattr(self, name)) for name in ("total", "documents", "words")
        }
        return replace(self, **rests)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every text by `factor`."""
        held: dict[str, Any] = {}
        for name in ("total", "documents", "words"):
            held[name], held[f"{name}_rest"] = times(self._sums(name), factor)
        return replace(self, kept=self.kept.scale(factor), **held)

    def pooled(self) -> Self:
        """Summarize all classes as one; no document is kept."""
        start = np.arange(len(self.vocabulary) + 1, dtype=np.int64)
        codes = np.zeros(len(self.vocabulary), np.int32)
        total, documents, words = (
            self.by_word(self.total),
            self.documents.sum(keepdims=True),
            self.words.sum(keepdims=True),
        )
        return type(self)(self.vocabulary, start, codes, total, documents, words, DocumentSample.empty()).trimmed()

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return self._over(positions_in(classes, self.n_classes), lambda array: array[classes])

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        return self._over(np.asarray(positions, dtype=np.int32), lambda a: spread_rows(a, positions, classes))

    def _over(self, positions: Codes, by_class: Callable[[Array], Array]) -> Self:
        """Move class c to `positions[c]`, or leave it out where that is negative, as `by_class` does."""
        codes = positions[self.codes] if len(self.codes) else self.codes
        entries = np.flatnonzero(codes >= 0)
        start = starts(codes >= 0)[self.start]
        codes = codes[entries]
        if (np.diff(positions[positions >= 0]) < 0).any():
            order = np.lexsort((codes, np.repeat(np.arange(len(self.vocabulary)), np.diff(start))))
            codes, entries = codes[order], entries[order]
        held: dict[str, Any] = {"total": self.total[entries]}
        held["total_rest"] = None if self.total_rest is None else self.total_rest[entries]
        for name in ("documents", "documents_rest", "words", "words_rest"):
            table = getattr(self, name)
            held[name] = None if table is None else by_class(table)
        return replace(self, start=start, codes=codes, kept=self.kept.over(positions), **held)

    # ---- checks

    def check_agreement(self) -> None:
        """Raise an error if the classes of a word do not ascend."""
        if (np.diff(self._keys(np.arange(len(self.vocabulary)))) <= 0).any():
            raise MismatchError("codes of each word must ascend")
        check_rest("total_rest", self.total, self.total_rest)
        check_rest("documents_rest", self.documents, self.documents_rest)
        check_rest("words_rest", self.words, self.words_rest)

    def __repr__(self) -> str:
        return f"WordCounts({self.n_classes} classes, {len(self.vocabulary)} words)"


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each number once, ascending; the numbers are two ascending runs, which a stable sort merges."""
    keys = np.sort(keys, kind="stable")
    return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]


def _spread(sums: Sums, at: Positions, n: int) -> Sums:
    """Put sum i at `at[i]` of n; the others are 0."""
    return Sums(spread_rows(sums.value, at, n), None if sums.rest is None else spread_rows(sums.rest, at, n))
