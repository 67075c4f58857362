"""What a pair of columns says about the class beyond the two columns by themselves.

For the joint table C_k(a, b) of a pair in class k, with the margins C_k(a), C_k(b) and the total n_k,

    R_k(a, b) = log (C_k(a, b) + 3) / (C_k(a) C_k(b) / n_k + 3)

It is 0 where the columns are independent given the class, and near 0 in cells of few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.statistics import Pairs
from suffice.core.statistics.pairs import cell_offsets


class PairEvidence:
    """The log-ratios R of all pairs, from their counts."""

    def __init__(self, pairs: Pairs):
        self.pairs = pairs

    @cached_property
    def ratios(self) -> Array:
        """R of every class and cell, (classes, cells)."""
        of, out = self.pairs, np.empty(self.pairs.weight.shape)
        _core.pair_ratios(of.sizes, of.pairs, of.offsets, np.ascontiguousarray(of.weight), out)
        return out

    @property
    def shares(self) -> Array:
        """The share of the rows of each class that is in every cell, (classes, cells)."""
        return self.pairs.weight / np.maximum(self.pairs.weight.sum(axis=1, keepdims=True), 1e-300)

    def each(self, columns: NDArray[np.uint8]) -> Iterator[Array]:
        """Yield R of rows of codes (columns, rows) for each pair, (rows, classes); 0 where one is missing."""
        cells = self.pairs.cells(columns)
        ratios = np.concatenate([self.ratios.T, np.zeros((1, len(self.ratios)))])  # the last is of missing values
        for q in range(self.pairs.n_pairs):
            yield ratios[cells[:, q]]

    def left_out(
        self,
        columns: NDArray[np.uint8],
        codes: Codes,
        weight: Array,
        exponents: Array,
        to: Codes,
        out: Array | NDArray[np.float32],
    ) -> None:
        """Add u_q (R_k − R_0) of rows that are left out of the counts of their own class to `out`.

        `out` is (classes − 1, rows, places), of float64 or float32. Pair q is added to the places `to[0, q]` and
        `to[1, q]`, once if they are the same.
        """
        of = self.pairs
        where = columns, of.sizes, of.pairs, of.offsets, np.ascontiguousarray(codes, np.int32)
        tables = np.ascontiguousarray(of.weight), self.ratios
        _core.pair_left_out(*where, weight, *tables, exponents, np.ascontiguousarray(to, np.int32), out)

    def scores(self, exponents: Array) -> PairScores:
        """Return Σ_q u_q R_q as a table of scores."""
        of, tables = self.pairs, []
        chosen = np.flatnonzero(exponents)
        ratios = of.tables(self.ratios)
        for q in chosen.tolist():
            table = np.zeros((len(ratios[q]) - 1, ratios[q].shape[1] + 1, ratios[q].shape[2] + 1))
            table[:, :-1, :-1] = exponents[q] * (ratios[q][1:] - ratios[q][0])
            tables.append(table.reshape(len(table), -1).T)
        pairs = np.ascontiguousarray(of.pairs[:, chosen])
        scores = np.concatenate([np.zeros((0, of.n_classes - 1)), *tables])
        return PairScores(of.sizes, pairs, cell_offsets(of.sizes, pairs), np.ascontiguousarray(scores))


class PairScores(NamedTuple):
    """What pairs add to the scores of each class but the first, relative to the first: a number for each cell.

    The scores of a pair are (codes of the first + 1, codes of the second + 1, classes − 1), and those of all pairs come
    one after the other. The last code is of missing values.
    """

    sizes: NDArray[np.int64]
    pairs: NDArray[np.int32]
    offsets: NDArray[np.int64]
    scores: Array

    def add(self, columns: NDArray[np.uint8], out: Array) -> None:
        """Add the scores of rows of codes (columns, rows) to `out`, (rows, classes)."""
        _core.pair_scores(columns, self.sizes, self.pairs, self.offsets, self.scores, out)
