"""Documents as lists of features with values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Mask, Positions, Values
from suffice.core.statistics import WordCounts
from suffice.core.words import Lexicon, Texts, Weighting

AT_ONCE = 4096  # documents whose features are held at a time


@dataclass(frozen=True)
class Bags:
    """Documents. Document i has the features `feature[start[i] : start[i + 1]]` and their values.

    Features are positions in a vocabulary. Features of one size are a block: words, pairs of words. `features` is the
    number of features of a document in each block, known or not, and `unknown` the sum of the values of the unknown
    ones, (documents, blocks). A missing document has no features, and is not `present`.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    value: Array
    features: Values
    unknown: Array
    present: Mask

    @classmethod
    def of(cls, texts: Texts, lexicon: Lexicon, weighting: Weighting) -> Bags:
        """Read texts."""
        found = lexicon.weigh(texts, weighting)
        features = lexicon.tokenization.features(found.words)
        return cls(found.start, found.feature, found.value, features, found.unknown, texts.present)

    @classmethod
    def kept(
        cls, counts: WordCounts, weighting: Weighting, block: NDArray[np.uint8], blocks: int, most: int | None = None
    ) -> Bags:
        """Return the documents that a statistic keeps, or the first `most`; `block` is the block of every feature."""
        kept = counts.kept
        n = len(kept) if most is None else min(most, len(kept))
        start, end = kept.start[: n + 1], int(kept.start[n])
        feature, count = kept.feature[:end], kept.count[:end]
        size = block[feature]
        value = weighting.of(start, count.astype(np.float64), size)
        place = np.repeat(np.arange(n), np.diff(start)) * blocks + size
        features = np.bincount(place, count, n * blocks).reshape(n, blocks)
        return cls(start, feature, value, features, np.zeros(features.shape), np.ones(n, dtype=bool))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """The number of documents, and one column."""
        return len(self), 1

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The document of each feature."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def sums(self, values: Array) -> Array:
        """Sum the values of the features of each document, (documents,)."""
        return np.asarray(np.bincount(self.owner, weights=values, minlength=len(self)), dtype=np.float64)

    @cached_property
    def lengths(self) -> Array:
        """Σ_j x_j of each document, unknown features included."""
        return self.sums(self.value) + self.unknown.sum(axis=1)

    def lengths_by(self, block: Positions) -> Array:
        """Compute the same for each block, (documents, blocks); `block` is the block of every feature."""
        blocks = self.unknown.shape[1]
        if blocks == 1:
            return self.lengths[:, None]
        place = self.owner * blocks + block[self.feature]
        return np.bincount(place, self.value, len(self) * blocks).reshape(len(self), blocks) + self.unknown

    def rows(self, some: slice) -> Bags:
        """Return the documents from `some.start` to `some.stop`."""
        start = self.start[some.start : some.stop + 1]
        own = slice(int(start[0]), int(start[-1]))
        rest = self.features[some], self.unknown[some], self.present[some]
        return Bags(start - start[0], self.feature[own], self.value[own], *rest)

    def scaled(self, factor: Array, block: Positions) -> Bags:
        """Multiply the values of each document and block by a factor, (documents, blocks)."""
        value = self.value * factor[self.owner, block[self.feature]]
        return replace(self, value=value, unknown=self.unknown * factor)

    @property
    def ones(self) -> Bags:
        """The same features, each with the value 1."""
        return replace(self, value=np.ones(len(self.value)), unknown=np.zeros(self.unknown.shape))

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """The arrays that kernels read."""
        return self.start, self.feature, self.value

    def scores(self, counts: WordCounts, coef: Array, base: Array | None = None) -> Array:
        """Compute base_c Σ_j x_j + Σ_j x_j coef_jc of the known features, (documents, classes).

        `coef` has a number for each entry of `counts.total`.
        """
        out, lengths = np.empty((len(self), counts.n_classes)), np.empty(len(self))
        base = np.zeros(counts.n_classes) if base is None else np.ascontiguousarray(base)
        _core.bag_scores(*self.arrays, counts.start, counts.codes, coef, base, out, lengths)
        return out


def in_parts(x: Texts | Bags, lexicon: Lexicon, weighting: Weighting) -> Iterator[Bags]:
    """Read texts in parts whose features take little memory; documents that were read already are one part."""
    if isinstance(x, Bags):
        yield x
        return
    for lo in range(0, max(len(x), 1), AT_ONCE):
        yield Bags.of(x if len(x) <= AT_ONCE else x[lo : lo + AT_ONCE], lexicon, weighting)
