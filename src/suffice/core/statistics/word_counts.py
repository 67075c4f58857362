"""Totals of words by class, over a vocabulary that grows as texts come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError, NotPartError
from suffice.core.statistics.document_sample import DocumentSample
from suffice.core.statistics.statistic import Statistic, check_array, clear_residue, spread_rows, subtract_weights
from suffice.core.words import Tokenization, Vocabulary, Weighting, word_totals

PLAIN, COUNTED = Tokenization(), Weighting()


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts(Statistic):
    """The total Σ w·x of every word of one column of texts, in every class that has it.

    Word i's totals are `total[start[i] : start[i + 1]]`, of the classes `codes[…]`, ascending: most words are in few
    classes. `documents` is the weight of each class's texts, missing ones aside, and `words` that of their words. Where
    a question needs documents, not only totals, a bounded sample of them is `kept` as well.

    >>> from suffice.core.words import Texts
    >>> counts = WordCounts.of(Texts.of(["a dog", "dog dog"]), np.zeros(2, np.int32), 1)
    >>> counts.vocabulary, counts.total, counts.documents
    (Vocabulary(1 words: 'dog'), array([3.]), array([2.]))
    """

    vocabulary: Vocabulary
    start: NDArray[np.int64]
    codes: Codes
    total: Array
    documents: Array
    words: Array
    kept: DocumentSample

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
        x: Any,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        tokenization: Tokenization = PLAIN,
        weighting: Weighting = COUNTED,
        keep: int = 0,
    ) -> Self:
        """Sum the words of texts, weighted, and keep up to `keep` of the texts."""
        found = word_totals(x, codes, classes, weight, tokenization, weighting)
        kept = DocumentSample.of(x, codes, weight, keep, found.vocabulary, tokenization)
        out = cls(found.vocabulary, found.start, found.codes, found.total, found.documents, found.words, kept)
        return out if onto is None else onto + out

    # ---- reading it

    @property
    def n_classes(self) -> int:
        """How many classes are summarized."""
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
        """Sum a value of every total over the words, (classes,)."""
        return np.asarray(np.bincount(self.codes, weights=values, minlength=self.n_classes), dtype=np.float64)

    def by_word(self, values: Array) -> Array:
        """Sum a value of every total over the classes, (words,)."""
        out = np.zeros(len(self.vocabulary))
        np.add.at(out, self.owner, values)
        return out

    def dense(self, lo: int = 0, hi: int | None = None, values: Array | None = None, absent: Any = 0.0) -> Array:
        """The totals of words lo … hi − 1, or other values of them, (classes, words); `absent` where there is none."""
        hi = len(self.vocabulary) if hi is None else hi
        part = slice(self.start[lo], self.start[hi])
        out = np.empty((self.n_classes, hi - lo))
        out[:] = np.broadcast_to(absent, (self.n_classes,))[:, None]
        owner = np.repeat(np.arange(hi - lo), np.diff(self.start[lo : hi + 1]))
        out[self.codes[part], owner] = (self.total if values is None else values)[part]
        return out

    def only(self, words: NDArray[np.bool_]) -> Self:
        """Of some words alone, as a mask; without the documents kept."""
        entries = np.repeat(words, np.diff(self.start))
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[words])]).astype(np.int64)
        return replace(
            self,
            vocabulary=self.vocabulary.take(words),
            start=start,
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

    def _table(self, place: NDArray[Any], words: int) -> Any:
        """A sparse matrix (words, classes), word i moved to `place[i]`."""
        import scipy.sparse

        lengths = np.zeros(words + 1, dtype=np.int64)
        lengths[place + 1] = np.diff(self.start)
        parts = (self.total, self.codes, np.cumsum(lengths))
        return scipy.sparse.csr_array(parts, shape=(words, self.n_classes))

    def __sub__(self, other: Self) -> Self:
        place = self.vocabulary.find(other.vocabulary)
        if (place < 0).any():
            strange = other.vocabulary[int(np.argmin(place))]
            raise NotPartError(f"Cannot take away the word {strange!r}: it was never added")
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

    def _keys(self, place: NDArray[Any]) -> NDArray[np.int64]:
        """A number for each total, ascending: of its word at `place` and its class."""
        return np.asarray(place[self.owner] * self.n_classes + self.codes, dtype=np.int64)

    def trimmed(self) -> Self:
        """Without the words that nothing is left of."""
        left = self.total > 0
        if left.all() and (np.diff(self.start) > 0).all():
            return self
        before = np.concatenate([[0], np.cumsum(left)])
        start = before[self.start]
        used = np.diff(start) > 0
        place = np.cumsum(used) - 1
        return replace(
            self,
            vocabulary=self.vocabulary.take(used),
            start=np.concatenate([[0], start[1:][used]]).astype(np.int64),
            codes=self.codes[left],
            total=self.total[left],
            kept=self.kept.moved(place),
        )

    def scale(self, factor: float) -> Self:
        """Make every text `factor` times as heavy."""
        return replace(
            self,
            total=self.total * factor,
            documents=self.documents * factor,
            words=self.words * factor,
            kept=self.kept.scale(factor),
        )

    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""
        place = np.full(self.n_classes, -1, dtype=np.int32)
        place[classes] = np.arange(len(classes), dtype=np.int32)
        return self._over(place, self.documents[classes], self.words[classes])

    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        place = np.asarray(positions, dtype=np.int32)
        moved = (spread_rows(each, positions, classes) for each in (self.documents, self.words))
        return self._over(place, *moved)

    def _over(self, place: Codes, documents: Array, words: Array) -> Self:
        """Class c becomes `place[c]`; where that is negative it is left out."""
        codes = place[self.codes] if len(self.codes) else self.codes
        kept = codes >= 0
        start = np.concatenate([[0], np.cumsum(kept)])[self.start].astype(np.int64)
        codes, total = codes[kept], self.total[kept]
        if (np.diff(place[place >= 0]) < 0).any():
            order = np.lexsort((codes, np.repeat(np.arange(len(self.vocabulary)), np.diff(start))))
            codes, total = codes[order], total[order]
        return type(self)(self.vocabulary, start, codes, total, documents, words, self.kept.over(place))

    # ---- the rest

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("documents", self.documents, (-1,))
        check_array("words", self.words, self.documents.shape)
        check_array("start", self.start, (len(self.vocabulary) + 1,), np.int64)
        check_array("codes", self.codes, (-1,), np.int32)
        check_array("total", self.total, self.codes.shape)
        if self.start[0] or self.start[-1] != len(self.codes) or (np.diff(self.start) < 0).any():
            raise MismatchError("start should tell where the totals of each word begin")
        keys = self._keys(np.arange(len(self.vocabulary)))
        known = not len(self.codes) or 0 <= self.codes.min() <= self.codes.max() < self.n_classes
        if not known or (np.diff(keys) <= 0).any():
            raise MismatchError("codes should be ascending classes of each word")
        kept = self.kept
        if not isinstance(kept, DocumentSample) or (
            len(kept.feature) and int(kept.feature.max()) >= len(self.vocabulary)
        ):
            raise MismatchError("kept should be a sample of documents over the vocabulary")
        known = not len(kept) or 0 <= kept.codes.min() <= kept.codes.max() < self.n_classes
        if not known or (len(kept.feature) and int(kept.feature.min()) < 0):
            raise MismatchError("kept should be a sample of documents of these classes")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordCounts):
            return NotImplemented
        arrays = ("start", "codes", "total", "documents", "words")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
        return same and self.vocabulary == other.vocabulary and self.kept == other.kept

    def __repr__(self) -> str:
        return f"WordCounts({self.n_classes} classes, {len(self.vocabulary)} words)"
