"""A random sample of documents that can be merged, each as the counts of its features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions, starts
from suffice.core.registry import Registered
from suffice.core.statistics.row_sample import candidates, remaining, smallest
from suffice.core.statistics.statistic import check_array, check_starts
from suffice.core.words import Lexicon, Texts, Tokenization, Vocabulary
from suffice.core.words.texts import ranges


@dataclass(frozen=True, eq=False, repr=False)
class DocumentSample(Registered, stored_as="BagSample"):
    """At most `size` distinct documents, those with the smallest hashes (see `RowSample`), with classes and weights.

    Document i has the features `feature[start[i] : start[i + 1]]`, as often as `count` says. Features are positions in
    a vocabulary that is kept elsewhere.
    """

    hashes: NDArray[np.uint64]
    codes: Codes
    weight: Array
    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    count: NDArray[np.int64]
    size: int

    @classmethod
    def empty(cls, size: int = 0) -> DocumentSample:
        """Keep no documents."""
        none = np.zeros(0, np.int32)
        hashes, counts = none.astype(np.uint64), none.astype(np.int64)
        return cls(hashes, none, np.zeros(0), np.zeros(1, np.int64), none, counts, size)

    @classmethod
    def of(
        cls,
        texts: Texts,
        codes: Codes,
        weight: Array | None,
        size: int,
        vocabulary: Vocabulary,
        tokenization: Tokenization,
    ) -> DocumentSample:
        """Keep the documents with the smallest hashes, missing ones left out."""
        if not size:
            return cls.empty()
        hashes = texts.hashes
        heavy = np.where(texts.present, 1.0 if weight is None else weight, 0.0)
        some = candidates(hashes, heavy, size)
        first, kept = smallest(hashes[some], codes[some], heavy[some], size)
        rows = some[first]
        start, feature, count = Lexicon(vocabulary, tokenization).count(texts[rows])
        return cls(hashes[rows], codes[rows], kept, start, feature, count, size)

    def __len__(self) -> int:
        return len(self.hashes)

    def _take(self, rows: NDArray[np.int64], weight: Array) -> DocumentSample:
        """Keep the documents at the given positions, with other weights."""
        length = np.diff(self.start)[rows]
        at = ranges(self.start[:-1][rows], length)
        return DocumentSample(
            self.hashes[rows], self.codes[rows], weight, starts(length), self.feature[at], self.count[at], self.size
        )

    def _tidy(self) -> DocumentSample:
        return self._take(*smallest(self.hashes, self.codes, self.weight, self.size))

    def moved(self, positions: Positions) -> DocumentSample:
        """Move feature j to `positions[j]`, which ascend."""
        return replace(self, feature=positions[self.feature].astype(np.int32))

    def __add__(self, other: DocumentSample) -> DocumentSample:
        if not len(self) or not len(other):
            return other if len(other) else self if self.size else other
        return DocumentSample(
            np.concatenate([self.hashes, other.hashes]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.start, self.start[-1] + other.start[1:]]),
            np.concatenate([self.feature, other.feature]),
            np.concatenate([self.count, other.count]),
            min(self.size, other.size),
        )._tidy()

    def __sub__(self, other: DocumentSample) -> DocumentSample:
        return self._take(*remaining(self, other)) if len(self) and len(other) else self

    def scale(self, factor: float) -> DocumentSample:
        """Multiply the weight of every document by `factor`."""
        return replace(self, weight=self.weight * factor) if factor else self._take(np.arange(0), np.zeros(0))

    def over(self, positions: Codes) -> DocumentSample:
        """Move class c to `positions[c]`, or leave its documents out where that is negative."""
        codes = positions[self.codes] if len(self.codes) else self.codes
        kept = np.flatnonzero(codes >= 0)
        return replace(self, codes=codes)._take(kept, self.weight[kept])._tidy()

    def check_arrays(self) -> None:
        """Raise an error if the arrays do not fit each other."""
        check_array("hashes", self.hashes, (-1,), np.uint64)
        n = len(self.hashes)
        check_array("codes", self.codes, (n,), np.int32)
        check_array("weight", self.weight, (n,))
        check_array("start", self.start, (n + 1,), np.int64)
        check_array("feature", self.feature, (-1,), np.int32)
        check_array("count", self.count, self.feature.shape, np.int64)
        check_starts("start of the documents", self.start, len(self.feature))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DocumentSample):
            return NotImplemented
        arrays = ("hashes", "codes", "weight", "start", "feature", "count")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays

    def __repr__(self) -> str:
        return f"DocumentSample({len(self)} documents of at most {self.size})"
