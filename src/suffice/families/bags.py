"""Documents as the values of their features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.statistics import WordCounts
from suffice.tables import Array
from suffice.words import Lexicon, Texts, Weighting

AT_ONCE = 4096  # documents whose features are held at a time


@dataclass(frozen=True)
class Bags:
    """Document i has the features `feature[start[i] : start[i + 1]]`, places in a vocabulary, with their values.

    A document that is missing has none, and is not `present`.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    value: Array
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Texts, lexicon: Lexicon, weighting: Weighting) -> Bags:
        """Read texts."""
        return cls(*lexicon.weigh(texts, weighting), texts.present)

    @classmethod
    def kept(cls, counts: WordCounts, weighting: Weighting) -> Bags:
        """The documents that were kept with a statistic."""
        kept = counts.kept
        return cls(kept.start, kept.feature, weighting.of(kept.start, kept.count), np.ones(len(kept), dtype=bool))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Documents, and one column."""
        return len(self), 1

    @property
    def lengths(self) -> Array:
        """Σ_j x_j of each document."""
        return self.sums(self.value)

    def sums(self, values: Array) -> Array:
        """Sum a value of every feature, (documents,)."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.start))
        return np.asarray(np.bincount(owner, weights=values, minlength=len(self)), dtype=np.float64)

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[Any], Array]:
        """As kernels read them."""
        return self.start, self.feature, self.value

    def scores(self, counts: WordCounts, coef: Array, base: Array) -> Array:
        """Base_c Σ_j x_j + Σ_j x_j coef_jc, (documents, classes), where `coef` has a value for every total."""
        out, lengths = np.empty((len(self), counts.n_classes)), np.empty(len(self))
        _core.bag_scores(*self.arrays, counts.start, counts.codes, coef, base, out, lengths)
        return out


def in_parts(x: Texts | Bags, lexicon: Lexicon, weighting: Weighting) -> Iterator[Bags]:
    """Read texts, so many at a time that their features take little memory; what was read already is one part."""
    if isinstance(x, Bags):
        yield x
        return
    for lo in range(0, max(len(x), 1), AT_ONCE):
        yield Bags.of(x if len(x) <= AT_ONCE else x[lo : lo + AT_ONCE], lexicon, weighting)
