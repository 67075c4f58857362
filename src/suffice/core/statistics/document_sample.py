"""A random sample of documents that merges, as bags of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError
from suffice.core.registry import Registered
from suffice.core.statistics.row_sample import candidates, smallest, weight_without
from suffice.core.statistics.statistic import check_array
from suffice.core.words import Lexicon, Texts, Tokenization, Vocabulary
from suffice.core.words.texts import ranges


@dataclass(frozen=True, eq=False, repr=False)
class DocumentSample(Registered, stored_as="BagSample"):
    """At most `size` distinct documents, those with the smallest hashes (see `RowSample`), with classes and weights.

    Document i has the features `feature[start[i] : start[i + 1]]`, places in a vocabulary kept elsewhere, `count` times
    each.
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
        """Keep nothing."""
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
        """Keep the documents whose hashes are the smallest; missing ones are none."""
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

    def _take(self, rows: NDArray[Any], weight: Array) -> DocumentSample:
        length = np.diff(self.start)[rows]
        at = ranges(self.start[:-1][rows], length)
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        return DocumentSample(
            self.hashes[rows], self.codes[rows], weight, start, self.feature[at], self.count[at], self.size
        )

    def _tidy(self) -> DocumentSample:
        return self._take(*smallest(self.hashes, self.codes, self.weight, self.size))

    def moved(self, place: NDArray[Any]) -> DocumentSample:
        """The same where feature j is now at `place[j]`, the order of features unchanged."""
        return replace(self, feature=place[self.feature].astype(np.int32))

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
        if not len(self) or not len(other):
            return self
        left = weight_without(self, other)
        kept = np.flatnonzero(left > 0)
        return self._take(kept, left[kept])

    def scale(self, factor: float) -> DocumentSample:
        """Make every document `factor` times as heavy."""
        return replace(self, weight=self.weight * factor) if factor else self._take(np.arange(0), np.zeros(0))

    def over(self, place: NDArray[Any]) -> DocumentSample:
        """Class c becomes `place[c]`; where that is negative its documents are left out."""
        codes = np.asarray(place, dtype=np.int32)[self.codes] if len(self.codes) else self.codes
        kept = np.flatnonzero(codes >= 0)
        return replace(self, codes=codes)._take(kept, self.weight[kept])._tidy()

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("hashes", self.hashes, (-1,), np.uint64)
        n = len(self.hashes)
        check_array("codes", self.codes, (n,), np.int32)
        check_array("weight", self.weight, (n,))
        check_array("start", self.start, (n + 1,), np.int64)
        check_array("feature", self.feature, (-1,), np.int32)
        check_array("count", self.count, self.feature.shape, np.int64)
        if self.start[0] or self.start[-1] != len(self.feature) or (np.diff(self.start) < 0).any():
            raise MismatchError("start should tell where the features of each document begin")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DocumentSample):
            return NotImplemented
        arrays = ("hashes", "codes", "weight", "start", "feature", "count")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)

    __hash__ = None  # type: ignore[assignment]  # equality looks into arrays

    def __repr__(self) -> str:
        return f"DocumentSample({len(self)} documents of at most {self.size})"
