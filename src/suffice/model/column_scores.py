"""What the features of one column add to linear scores, as a function of the column: looked up, not multiplied out.

Scores, ranks and bins of a number make a function of it that is linear between breaks, and may jump at them. So a row
costs a binary search, whatever the number of features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, pack
from suffice.core.statistics import Batch
from suffice.formulas import Column, Constant, Formula, Lookup, Missing, Steps, Where, as_formula, unless_missing
from suffice.model.features import FARTHEST, CategoryFeatures, ColumnFeatures, NumberFeatures

FAR = 1e6  # widths of a piece from the mean of the column, up to which the piece is a line about that mean


@dataclass(frozen=True, eq=False)
class Pieces:
    """A piecewise linear function of a number for each class.

    On the piece s, break_(s−1) < x ≤ break_s, it is level_s + slope_s (x − origin_s); it is constant on the first and
    the last piece. The origin is the mean of the column, unless digits would be lost there: then it is the begin of the
    piece. `level` and `slope` are (pieces + 1, classes): the last entry is of a missing number.
    """

    of: NumberFeatures
    breaks: Array
    origin: Array
    level: Array
    slope: Array

    @classmethod
    def sum(cls, of: NumberFeatures, coef: Array) -> Pieces:
        """Add the features with coefficients, (classes, features)."""
        ends = of.mean + np.array([-FARTHEST, FARTHEST]) * of.deviation if of.scored else np.empty(0)
        breaks = np.unique(np.concatenate([ends, of.knots, of.edges]))
        at, smooth = 0, np.zeros((len(breaks), len(coef)))
        if of.scored:
            smooth += np.outer(of.score(breaks), coef[:, 0])
            at = 1
        if len(of.knots):
            smooth += np.outer(np.interp(breaks, of.knots, of.ranks), coef[:, at])
            at += 1
        width, begin = np.diff(breaks), breaks[:-1]
        with np.errstate(over="ignore"):
            slope = np.diff(smooth, axis=0) / width[:, None]
        jumps = ~np.isfinite(slope).all(axis=1, keepdims=True)  # between neighbours among subnormal numbers
        slope = np.where(jumps, 0.0, slope)
        origin = np.where(np.abs(begin - of.mean) < FAR * width, of.mean, begin)
        inner = np.where(jumps, smooth[1:], smooth[:-1] + slope * (origin - begin)[:, None])
        level = np.concatenate([smooth[:1], inner, smooth[-1:]])
        if len(of.edges):
            level += coef[:, at:].T[np.append(np.searchsorted(of.edges, breaks), len(of.edges))]
        none = np.zeros((1, len(coef)))
        level, slope = np.concatenate([level, none]), np.concatenate([none, slope, none, none])
        return cls(of, breaks, np.concatenate([[of.mean], origin, [of.mean] * 2]), level, slope)

    def add(self, batch: Batch, out: Array) -> None:
        """Add the function to `out` for every row and class, (rows, classes)."""
        self._add(self.of.read(batch), out)

    def _add(self, x: Array, out: Array) -> None:
        _core.line_scores(x, self.breaks, self.origin, self.level, self.slope, out)

    def formula(self) -> Formula:
        """Return the function as a formula; 0 where the number is missing."""
        if self.of.missing:
            found = np.zeros((2, self.level.shape[1]))
            self._add(np.array([0.0, 1.0]), found)
            present, absent = found
            return Where(Missing(self.of.name), Constant(absent), Constant(present))
        x = Column(self.of.name)
        out: Formula = Steps(x, self.breaks, self.level[:-1].T)
        if self.slope.any():
            is_centred = (self.origin == self.of.mean).all()  # every piece is a line about the mean
            origin = as_formula(self.of.mean) if is_centred else Steps(x, self.breaks, self.origin[None, :-1])
            out = out + Steps(x, self.breaks, self.slope[:-1].T) * (x - origin)
        return unless_missing(self.of.name, out)


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """A number for each category and class: `table` is (keys + 2, classes), the last two of others and missing."""

    of: CategoryFeatures
    table: Array

    @classmethod
    def sum(cls, of: CategoryFeatures, coef: Array) -> CategoryTable:
        """Add the features with coefficients, (classes, features)."""
        table = np.zeros((len(of.keys) + 2, len(coef)))
        table[: coef.shape[1]] = coef.T
        return cls(of, table)

    def add(self, batch: Batch, out: Array) -> None:
        """Add what is looked up for every row to `out`, (rows, classes); a missing category adds nothing."""
        codes, number = self.of.numbered(batch)
        _core.category_scores(codes, np.array([0, len(number)]), self._scores[number], self.table.shape[1], out)

    @cached_property
    def _scores(self) -> Array:
        return pack(self.table[:-1].T)

    def formula(self) -> Formula:
        """Return the table as a formula; 0 where the category is missing."""
        name, rest = self.of.name, self.table[-2]
        other = (self.table[:-2] != rest).any(axis=1)
        return unless_missing(name, Lookup(name, tuple(self.of.keys[other]), self.table[:-2][other].T, rest))


def column_scores(of: ColumnFeatures, coef: Array) -> Pieces | CategoryTable:
    """Return the sum of a column's features with coefficients, (classes, features), as a function of the column."""
    return Pieces.sum(of, coef) if isinstance(of, NumberFeatures) else CategoryTable.sum(of, coef)


def feature_formulas(of: ColumnFeatures) -> list[Formula]:
    """Return each feature of a column as a formula; 0 where it is missing."""
    return [column_scores(of, unit[None]).formula() for unit in np.eye(sum(of.sizes.values()))]
