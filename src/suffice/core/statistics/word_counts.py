"""Totals of words by class, over a vocabulary that grows with the texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Mask, Positions, positions_in, starts
from suffice.core.errors import MismatchError, NotPartError
from suffice.core.statistics.hash_samples import DocumentSample
from suffice.core.statistics.statistic import (
    Statistic,
    clear_residue,
    spread_rows,
    subtract_weights,
)
from suffice.core.validation import Agrees, Held
from suffice.core.words import Texts, Tokenization, Vocabulary, Weighting, word_totals

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PLAIN, COUNTED = Tokenization(), Weighting()


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Statistic):
    """The total Σ w·x of every word of one column of texts, for every class that has the word.

    The totals of word i are `total[start[i] : start[i + 1]]`, of the classes in the same part of `codes`, ascending:
    most words occur in few classes. `documents` is the weight of the texts of each class, missing ones left out, and
    `words` that of their words. `kept` is a bounded sample of documents, for what needs more than totals.

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
        found = word_totals(x, codes, classes, weight, tokenization, weighting)
        kept = DocumentSample.of(x, codes, weight, keep, found[0], tokenization)
        out = cls(*found, kept)
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

    def only(self, words: Mask) -> Self:
        """Keep some words, and no documents."""
        entries = np.repeat(words, np.diff(self.start))
        return replace(
            self,
            vocabulary=self.vocabulary.take(words),
            start=starts(np.diff(self.start)[words]),
            codes=self.codes[entries],
            total=self.total[entries],
            kept=DocumentSample.empty(),
        )

    # ---- the algebra

    def __add__(self, other: Self) -> Self:
        vocabulary, mine, theirs = self.vocabulary.merged(other.vocabulary)
        a, b = self._table(mine, len(vocabulary)), other._table(theirs, len(vocabulary))
        summed = a + b
        return type(self)(
            vocabulary,
            summed.indptr.astype(np.int64),
            summed.indices.astype(np.int32),
            summed.data,
            self.documents + other.documents,
            self.words + other.words,
            self.kept.moved(mine) + other.kept.moved(theirs),
        )

    def _table(self, positions: Positions, words: int) -> csr_array[np.float64]:
        """Return a sparse matrix (words, classes) with word i in row `positions[i]`."""
        import scipy.sparse

        lengths = np.zeros(words + 1, dtype=np.int64)
        lengths[positions + 1] = np.diff(self.start)
        parts = (self.total, self.codes, np.cumsum(lengths))
        return scipy.sparse.csr_array(parts, shape=(words, self.n_classes))

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
        rest = self.total.copy()
        rest[at] = subtract_weights(self.total[at], other.total)
        return replace(
            self,
            total=rest,
            documents=subtract_weights(self.documents, other.documents),
            words=clear_residue(self.words - other.words, self.words),
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
            kept=self.kept.moved(np.cumsum(used) - 1),
        )

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every text by `factor`."""
        return replace(
            self,
            total=self.total * factor,
            documents=self.documents * factor,
            words=self.words * factor,
            kept=self.kept.scale(factor),
        )

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        positions = positions_in(classes, self.n_classes)
        return self._over(positions, self.documents[classes], self.words[classes])

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        moved = (spread_rows(each, positions, classes) for each in (self.documents, self.words))
        return self._over(np.asarray(positions, dtype=np.int32), *moved)

    def _over(self, positions: Codes, documents: Array, words: Array) -> Self:
        """Move class c to `positions[c]`, or leave it out where that is negative."""
        codes = positions[self.codes] if len(self.codes) else self.codes
        kept = codes >= 0
        start = starts(kept)[self.start]
        codes, total = codes[kept], self.total[kept]
        if (np.diff(positions[positions >= 0]) < 0).any():
            order = np.lexsort((codes, np.repeat(np.arange(len(self.vocabulary)), np.diff(start))))
            codes, total = codes[order], total[order]
        return type(self)(self.vocabulary, start, codes, total, documents, words, self.kept.over(positions))

    # ---- checks

    def check_agreement(self) -> None:
        """Raise an error if the classes of a word do not ascend."""
        if (np.diff(self._keys(np.arange(len(self.vocabulary)))) <= 0).any():
            raise MismatchError("codes of each word must ascend")

    def __repr__(self) -> str:
        return f"WordCounts({self.n_classes} classes, {len(self.vocabulary)} words)"
