"""What a pair of columns says about the class beyond the two columns by themselves.

For the joint table C_k(a, b) of a pair in class k, with the margins C_k(a), C_k(b) and the total n_k,

    R_k(a, b) = log (C_k(a, b) + 3) / (C_k(a) C_k(b) / n_k + 3)

It is 0 where the columns are independent given the class, and near 0 in cells of few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.statistics import Pairs

SMOOTHING = 3.0  # rows that every cell, and what is expected of it, is drawn by towards equality


class PairEvidence:
    """The log-ratios R of all pairs, from their counts."""

    def __init__(self, pairs: Pairs):
        self.pairs = pairs
        self.margins = [
            (t.sum(axis=2), t.sum(axis=1), t.sum(axis=(1, 2))) for t in map(_positive, pairs.tables(pairs.weight))
        ]

    @cached_property
    def ratios(self) -> Array:
        """R of every class and cell, (classes, cells)."""
        out = np.empty(self.pairs.weight.shape)
        tables = zip(self.pairs.tables(self.pairs.weight), self.pairs.offsets.tolist(), self.margins, strict=False)
        for table, start, (rows, columns, total) in tables:
            expected = rows[:, :, None] * columns[:, None, :] / np.maximum(total, 1e-300)[:, None, None]
            ratio = np.log(table + SMOOTHING) - np.log(expected + SMOOTHING)
            out[:, start : start + ratio[0].size] = ratio.reshape(len(out), -1)
        return out

    @property
    def shares(self) -> Array:
        """The share of the rows of each class that is in every cell, (classes, cells)."""
        return self.pairs.weight / np.maximum(self.pairs.weight.sum(axis=1, keepdims=True), 1e-300)

    def each(self, columns: NDArray[np.uint8]) -> Iterator[Array]:
        """Yield R of rows of codes (columns, rows) for each pair, (rows, classes); 0 where one is missing."""
        for q in range(self.pairs.n_pairs):
            cell, present, _, _ = self._cells(columns, q)
            yield np.where(present[:, None], self._of_pair(q)[cell], 0.0)

    def left_out(self, columns: NDArray[np.uint8], codes: Codes, weight: Array) -> Iterator[Array]:
        """Yield the same of rows that are left out of the counts of their own class."""
        at = np.arange(len(codes))
        for q, table in enumerate(self.pairs.tables(self.pairs.weight)):
            cell, present, a, b = self._cells(columns, q)
            out = self._of_pair(q)[cell]
            rows, cols, total = self.margins[q]
            count = np.maximum(table[codes, a, b] - weight, 0.0)
            expected = np.maximum(rows[codes, a] - weight, 0.0) * np.maximum(cols[codes, b] - weight, 0.0)
            expected /= np.maximum(total[codes] - weight, 1e-300)
            out[at, codes] = np.log(count + SMOOTHING) - np.log(expected + SMOOTHING)
            yield np.where(present[:, None], out, 0.0)

    def _of_pair(self, q: int) -> Array:
        """R of one pair, (cells, classes)."""
        return self.ratios[:, self.pairs.offsets[q] : self.pairs.offsets[q + 1]].T

    def _cells(self, columns: NDArray[np.uint8], q: int) -> tuple[NDArray[np.int64], NDArray[np.bool_], Codes, Codes]:
        first, second = self.pairs.pairs[:, q]
        height, width = int(self.pairs.sizes[first]), int(self.pairs.sizes[second])
        a, b = columns[first], columns[second]
        present = (a < height) & (b < width)
        a, b = np.where(present, a, 0).astype(np.int64), np.where(present, b, 0).astype(np.int64)
        return a * width + b, present, a, b

    def scores(self, exponents: Array) -> Array:
        """Return Σ_q u_q R_q as a table of scores, (cells, classes), for `score`."""
        per_cell = np.repeat(exponents, np.diff(self.pairs.offsets))
        return np.ascontiguousarray((self.ratios * per_cell).T)

    def score(self, columns: NDArray[np.uint8], scores: Array, out: Array) -> None:
        """Add the scores of the cells of rows of codes (columns, rows) to `out`, (rows, classes)."""
        _core.pair_scores(columns, self.pairs.sizes, self.pairs.pairs, self.pairs.offsets, scores, out)


def _positive(table: Array) -> Array:
    return np.maximum(table, 0.0)
