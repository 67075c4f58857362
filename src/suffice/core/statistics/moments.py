"""Weight, mean and centred squares: all that a Gaussian needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, refuse_at
from suffice.core.errors import InvalidDataError, NotPartError
from suffice.core.statistics.statistic import (
    Statistic,
    check_array,
    clear_residue,
    replace_each,
    spread_rows,
    subtract_weights,
)


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Statistic):
    """Observed weight Σ w, mean x̄ and centred squares Σ w (x − x̄)² of each class and column.

    All three are (classes, columns). Raw sums of squares are never kept: their difference would lose
    every digit of the variance where the mean is large. Where the weight is 0 the others are 0.

    >>> Moments.of(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).squares
    array([[2.]])
    """

    weight: Array
    mean: Array
    squares: Array

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(*np.zeros((3, classes, columns)))

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together."""
        check_array("mean", self.mean, (-1, -1))
        check_array("weight", self.weight, self.mean.shape)
        check_array("squares", self.squares, self.mean.shape)

    @classmethod
    def of(cls, x: Any, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize rows of real numbers in one pass; NaN is missing."""
        if onto is None:
            out = cls.empty(classes, x.shape[1])
        else:
            out = cls(onto.weight.copy(), onto.mean.copy(), onto.squares.copy())
        infinite = _core.moments(x, codes, classes, weight, out.weight, out.mean, out.squares)
        refuse_at(infinite, x)
        if not np.isfinite(out.squares).all():
            column = int(np.argwhere(~np.isfinite(out.squares))[0, 1])
            raise InvalidDataError(
                f"Column {column} holds a value too large for float64: its square overflows; rescale the column"
            )
        return out

    def __add__(self, other: Self) -> Self:
        # Chan, Golub and LeVeque: the means move towards each other, the squares gain what they moved.
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        step = other.mean - self.mean
        mean = self.mean + step * share
        squares = self.squares + other.squares + step * step * (self.weight * share)
        return type(self)(weight, np.where(share == 1, other.mean, mean), squares)

    def __sub__(self, other: Self) -> Self:
        # The same equations solved for the other part.
        weight = subtract_weights(self.weight, other.weight)
        left = weight > 0
        ratio = np.divide(other.weight, weight, out=np.zeros_like(weight), where=left)
        step = self.mean - other.mean
        mean = np.where(left, self.mean + step * ratio, 0.0)
        taken = other.squares + step * step * (self.weight * ratio)
        squares = np.where(left, self.squares - taken, 0.0)
        # Rounding moves squares by the resolution of the values, their means included.
        blur = 1e-9 * (self.squares + taken) + 1e-12 * self.weight * self.mean**2
        if (squares < -blur).any():
            column = int(np.argwhere(squares < -blur)[0, 1])
            raise NotPartError(
                f"Cannot take away what was never added: column {column} does not vary enough to have held these "
                "values. Only rows that were learned can be forgotten."
            )
        # An outlier taken away leaves little of the squares, of which every digit counts.
        return type(self)(weight, mean, clear_residue(squares, self.squares, 16 * np.finfo(np.float64).eps))

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row; row i's is class i, (rows, columns)."""
        seen = ~np.isnan(x) * weight[:, None]
        return self.take(codes) - type(self)(seen, np.where(seen > 0, x, 0.0), np.zeros_like(seen))

    def without_each(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize all classes without each of the rows, (rows, classes, columns)."""
        own = self.own_without(x, codes, weight)
        pairs = ((self.weight, own.weight), (self.mean, own.mean), (self.squares, own.squares))
        return type(self)(*(replace_each(table, codes, row) for table, row in pairs))

    def scale(self, factor: float) -> Self:
        """Make every row `factor` times as heavy."""
        mean = self.mean if factor else np.zeros_like(self.mean)
        return type(self)(self.weight * factor, mean, self.squares * factor)

    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""
        return type(self)(self.weight[classes], self.mean[classes], self.squares[classes])

    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        arrays = (self.weight, self.mean, self.squares)
        return type(self)(*(spread_rows(a, positions, classes) for a in arrays))

    @property
    def n_classes(self) -> int:
        """How many classes are summarized."""
        return len(self.weight)

    @property
    def n_columns(self) -> int:
        """How many columns are summarized."""
        return self.weight.shape[1]

    @property
    def variance(self) -> Array:
        """The variance Σ w (x − x̄)² / Σ w, 0 where nothing was observed."""
        return np.divide(self.squares, self.weight, out=np.zeros_like(self.squares), where=self.weight > 0)

    def pooled(self) -> Self:
        """Summarize all classes as one: (1, columns)."""
        weight = self.weight.sum(axis=-2, keepdims=True)
        share = np.divide(self.weight, weight, out=np.zeros_like(self.weight), where=weight > 0)
        # About one of the class means, lest a large common offset eat the digits.
        origin = self.mean[..., :1, :]
        mean = origin + (share * (self.mean - origin)).sum(axis=-2, keepdims=True)
        between = (self.weight * (self.mean - mean) ** 2).sum(axis=-2, keepdims=True)
        return type(self)(weight, mean, self.squares.sum(axis=-2, keepdims=True) + between)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        pairs = ((self.weight, other.weight), (self.mean, other.mean), (self.squares, other.squares))
        return all(np.array_equal(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        classes, columns = self.weight.shape
        return f"Moments({classes} classes × {columns} columns, weight {self.weight.max(initial=0.0):g} at most)"
