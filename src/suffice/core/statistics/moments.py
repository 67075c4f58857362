"""Weight, mean and centred squares: what a Gaussian is estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, refuse_at
from suffice.core.errors import InvalidDataError
from suffice.core.statistics.statistic import ArrayStatistic, clear_residue, not_varying, subtract_weights
from suffice.core.validation import Held


@dataclass(frozen=True, eq=False, repr=False)
class Moments(ArrayStatistic):
    """Observed weight Σ w, mean x̄ and centred squares Σ w (x − x̄)² of each class and column.

    All three are (classes, columns). Raw sums of squares are not kept: where the mean is large, their difference would
    lose every digit of the variance. Where the weight is 0 the others are 0.

    >>> Moments.of(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).squares
    array([[2.]])
    """

    weight: Annotated[Array, Held("classes", "columns", least=0)]
    mean: Annotated[Array, Held("classes", "columns")]
    squares: Annotated[Array, Held("classes", "columns", least=0)]
    class_fields = ("weight", "mean", "squares")

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls(*np.zeros((3, classes, columns)))

    @classmethod
    def of(cls, x: Dense, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize rows of real numbers in one pass; NaN is missing."""
        out = cls.empty(classes, x.shape[1]) if onto is None else cls(*map(np.ndarray.copy, onto._arrays()))
        infinite = _core.moments(x, codes, classes, weight, out.weight, out.mean, out.squares)
        refuse_at(infinite, x)
        if not np.isfinite(out.squares).all():
            column = int(np.argwhere(~np.isfinite(out.squares))[0, 1])
            raise InvalidDataError(
                f"Column {column} holds a value too large for float64: its square overflows; rescale the column"
            )
        return out

    def __add__(self, other: Self) -> Self:
        # Chan, Golub and LeVeque (1979): with δ the difference of the means, squares grow by δ² w_a w_b / (w_a + w_b).
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
            raise not_varying(int(np.argwhere(squares < -blur)[0, 1]))
        # Without an outlier little is left of the squares, and every digit of that counts: clear rounding only.
        return type(self)(weight, mean, clear_residue(squares, self.squares, 16 * np.finfo(np.float64).eps))

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row: row i is class i of the result, (rows, columns)."""
        seen = ~np.isnan(x) * weight[:, None]
        return self.take(codes) - type(self)(seen, np.where(seen > 0, x, 0.0), np.zeros_like(seen))

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        mean = self.mean if factor else np.zeros_like(self.mean)
        return type(self)(self.weight * factor, mean, self.squares * factor)

    @property
    def variance(self) -> Array:
        """The variance Σ w (x − x̄)² / Σ w, 0 where nothing was observed."""
        return np.divide(self.squares, self.weight, out=np.zeros_like(self.squares), where=self.weight > 0)

    def pooled(self) -> Self:
        """Summarize all classes as one: (1, columns)."""
        weight = self.weight.sum(axis=-2, keepdims=True)
        share = np.divide(self.weight, weight, out=np.zeros_like(self.weight), where=weight > 0)
        # Sums are taken around the mean of one class: a large common offset would cost digits.
        origin = self.mean[..., :1, :]
        mean = origin + (share * (self.mean - origin)).sum(axis=-2, keepdims=True)
        between = (self.weight * (self.mean - mean) ** 2).sum(axis=-2, keepdims=True)
        return type(self)(weight, mean, self.squares.sum(axis=-2, keepdims=True) + between)

    def __repr__(self) -> str:
        classes, columns = self.weight.shape
        return f"Moments({classes} classes × {columns} columns, weight {self.weight.max(initial=0.0):g} at most)"
