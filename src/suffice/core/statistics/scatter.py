"""Weight, mean and centred cross-products of whole rows: what a multivariate Gaussian is estimated from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, chunks, refuse_at
from suffice.core.errors import InvalidDataError, MismatchError, NotPartError
from suffice.core.statistics.compensated import OUTSIDE, Sums, check_remainder, check_rest, times
from suffice.core.statistics.sample import Sample
from suffice.core.statistics.statistic import ClassArrays, Statistic, not_varying
from suffice.core.validation import Agrees, Held

UNEQUAL = 2.0**20  # ratio of weights from which rows are summed exactly, as in kernels.hpp
EXACT = 1 << 22  # products that are summed exactly in no time
FAR_OUT = 64.0  # fourth moment, relative to the square of the variance, from which a few rows outweigh the others


@dataclass(frozen=True, eq=False, repr=False)
class Fourth(ClassArrays):
    """Centred products of squares, third_jk = Σ w z_j² z_k and fourth_jk = Σ w z_j² z_k², (classes, columns, columns).

    The sampling variance of the cross-products follows from them. `rest` (classes, 3, columns, columns) holds what
    rounding took from both, and the doubt of the second; None if the numbers were rounded to float64 elsewhere.
    """

    third: Annotated[Array, Held("classes", "columns", "columns")]
    fourth: Annotated[Array, Held("classes", "columns", "columns")]
    rest: Annotated[Array | None, Held("classes", 3, "columns", "columns")] = None
    class_fields = ("third", "fourth", "rest")

    def check_agreement(self) -> None:
        """Raise an error if the rest is not what rounding took from the products."""
        if self.rest is not None:
            low_third, low_fourth, doubt = self.rest.transpose(1, 0, 2, 3)
            check_remainder("rest", self.third, low_third, doubt)
            check_remainder("rest", self.fourth, low_fourth, doubt)

    @classmethod
    def zero(cls, classes: int, columns: int) -> Self:
        """Return the products of no rows."""
        shape = (classes, columns, columns)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros((classes, 3, columns, columns)))

    @property
    def doubt(self) -> Array:
        """What rounding may have taken from `fourth`, (classes, columns, columns)."""
        return OUTSIDE * np.abs(self.fourth) if self.rest is None else self.rest[:, 2]

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        rest = np.zeros((len(self.third), 3, *self.third.shape[1:])) if self.rest is None else self.rest.copy()
        scaled = []
        for number, values in enumerate((self.third, self.fourth)):
            lost = np.stack([rest[:, number], np.zeros_like(values)], axis=-1)
            found = times(Sums(values, lost), factor)
            rest[:, number] = 0.0 if found.rest is None else found.rest[..., 0]
            scaled.append(found)
        rest[:, 2] *= factor
        if scaled[1].rest is not None:
            rest[:, 2] += scaled[1].rest[..., 1]
        return type(self)(scaled[0].value, scaled[1].value, None if self.rest is None else rest)

    def contiguous(self) -> tuple[Array, Array, Array | None]:
        """Return the arrays as kernels take them."""
        rest = None if self.rest is None else np.ascontiguousarray(self.rest)
        return np.ascontiguousarray(self.third), np.ascontiguousarray(self.fourth), rest


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Statistic):
    """Weight Σ w, mean x̄ and centred cross-products Σ w (x − x̄)(x − x̄)ᵀ of the complete rows of each class.

    `weight` is (classes,), `mean` (classes, columns) and `cross` (classes, columns, columns). Rows with a missing entry
    cannot be summarized without a model: they are kept in `gaps`, a joint `Sample`, unless they are to be left out.
    `higher` is None unless it was asked for. `rest` (classes, 2 + 3 columns + columns²) holds what rounding took from
    the weight and the doubt of that, the same for the means, the doubts of the variances, and what rounding took from
    the products; None if the numbers were rounded to float64 elsewhere.

    >>> Scatter.of(np.array([[1.0, 0.0], [3.0, 2.0]]), np.zeros(2, np.int32), 1).cross
    array([[[2., 2.],
            [2., 2.]]])
    """

    weight: Annotated[Array, Held("classes", least=0)]
    mean: Annotated[Array, Held("classes", "columns")]
    cross: Annotated[Array, Held("classes", "columns", "columns")]
    gaps: Annotated[Sample, Agrees("classes", "columns")]
    higher: Annotated[Fourth | None, Agrees("classes", "columns")] = None
    rest: Annotated[Array | None, Held("classes", None)] = None
    class_fields = ("weight", "mean", "cross", "gaps", "higher", "rest")

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        gaps = Sample.empty(classes, columns, joint=True)
        mean, cross = np.zeros((classes, columns)), np.zeros((classes, columns, columns))
        return cls(np.zeros(classes), mean, cross, gaps, None, np.zeros((classes, _width(columns))))

    def check_agreement(self) -> None:
        """Raise an error if incomplete rows are not whole rows, or if a variance is negative."""
        if not self.gaps.joint:
            raise MismatchError("incomplete rows must be kept as whole rows, found values of each column")
        if (np.diagonal(self.cross, axis1=1, axis2=2) < 0).any():
            raise MismatchError("cross must have no negative squares")
        if self.rest is not None and self.rest.shape[1] != _width(self.n_columns):
            raise MismatchError(f"rest must be of {_width(self.n_columns)} numbers, found {self.rest.shape[1]}")
        if self.rest is not None:
            d = self.n_columns
            check_rest("rest", self.weight, self.rest[:, :2])
            check_remainder("rest", self.mean, self.rest[:, 2 : 2 + d], self.rest[:, 2 + d : 2 + 2 * d])
            low, doubt = self.rest[:, 2 + 3 * d :].reshape(self.cross.shape), self.rest[:, 2 + 2 * d : 2 + 3 * d]
            check_remainder("rest", self.cross, low, doubt)

    def check_made_with(self, fourth: bool = False, **_: Any) -> None:
        """Raise an error if products of squares are needed and there are none."""
        if fourth and self.higher is None and self.weight.any():
            raise MismatchError("Expected a scatter with products of squares, found one without")

    @classmethod
    def of(
        cls,
        x: Dense,
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Self | None = None,
        complete: bool = False,
        fourth: bool = False,
    ) -> Self:
        """Summarize rows of real numbers in one pass; NaN is missing. `complete` leaves incomplete rows out."""
        out = onto
        if x.flags.c_contiguous or x.strides[1] == x.itemsize:
            pieces = [(x, codes, weight)]
        else:  # the kernel needs contiguous rows
            pieces = [(np.ascontiguousarray(p), c, w) for p, c, w in chunks(x, codes, weight, cells=1 << 20)]
        for piece, c, w in pieces:
            part = cls._of_rows(piece, c, classes, w, complete, fourth)
            out = part if out is None else out + part
        assert out is not None, "there is a first piece"
        squares = np.diagonal(out.cross, axis1=1, axis2=2)
        if not np.isfinite(squares).all():
            raise _overflow(int(np.argwhere(~np.isfinite(squares))[0, 1]))
        return out

    @classmethod
    def _of_rows(cls, x: Dense, codes: Codes, classes: int, weight: Array | None, complete: bool, fourth: bool) -> Self:
        out = cls.empty(classes, x.shape[1])
        if not x.shape[0]:
            return replace(out, higher=Fourth.zero(classes, x.shape[1])) if fourth else out
        incomplete = np.zeros(x.shape[0], dtype=bool)
        assert out.rest is not None
        refuse_at(_core.scatter(x, codes, classes, weight, out.weight, out.mean, out.cross, out.rest, incomplete), x)
        far = incomplete & ~np.isnan(x).any(axis=1) if incomplete.any() else incomplete
        if far.any():  # the row is complete, but a difference overflows
            raise _overflow(int(np.abs(x[np.argmax(far)]).argmax()))
        if incomplete.any() and not complete:
            w = None if weight is None else weight[incomplete]
            out = replace(out, gaps=Sample.of(x[incomplete], codes[incomplete], classes, w, joint=True))
        if fourth:
            weight = np.where(incomplete, 0.0, 1.0 if weight is None else weight)
            out = replace(out, higher=out._fourth_of(x, codes, weight))
        return out

    def _fourth_of(self, x: Dense, codes: Codes, weight: Array) -> Fourth:
        """Sum products of squares: in blocks of float64 if there are many rows, of which none outweighs the others."""
        many = x.size * x.shape[1] > EXACT and not _unequal(weight)
        out = self._rounded_fourth(x, codes, weight) if many else None
        if out is None or self._is_dominated(out.fourth):
            out = Fourth.zero(*self.mean.shape)
            assert self.rest is not None
            assert out.rest is not None
            low = np.ascontiguousarray(self.rest[:, 2 : 2 + self.n_columns])
            _core.fourth(x, codes, self.n_classes, weight, self.mean, low, out.third, out.fourth, out.rest)
        most, least = (np.diagonal(a, axis1=1, axis2=2) for a in (out.fourth, self.cross))
        if not np.isfinite(most).all():
            raise _overflow(int(np.argwhere(~np.isfinite(most))[0, 1]), "fourth power overflows")
        if ((most == 0) & (least > 0)).any():
            column = int(np.argwhere((most == 0) & (least > 0))[0, 1])
            raise _overflow(column, "fourth power vanishes", "values too small")
        return out

    def _rounded_fourth(self, x: Dense, codes: Codes, weight: Array) -> Fourth:
        third, fourth = np.zeros((2, *self.cross.shape))
        for piece, c, w in chunks(x, codes, weight, cells=1 << 20):
            for k in np.unique(c):
                own = (c == k) & (w > 0)
                with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                    z = piece[own] - self.mean[k]
                    squares = z * z
                    weighted = (w[own, None] * squares).T
                    third[k] += weighted @ z
                    fourth[k] += weighted @ squares
        rest = np.zeros((len(third), 3, *third.shape[1:]))
        rest[:, 2] = OUTSIDE * np.abs(fourth)
        return Fourth(third, fourth, rest)

    def _is_dominated(self, fourth: Array) -> bool:
        """Tell whether a few rows are so far out that the others would lose their digits beside them."""
        most, squares = (np.diagonal(a, axis1=1, axis2=2) for a in (fourth, self.cross))
        with np.errstate(over="ignore", invalid="ignore"):
            return not (self.weight[:, None] * most <= FAR_OUT * squares**2).all()

    def __add__(self, other: Self) -> Self:
        a, b = self._alike(other)
        weight, mean, cross, rest = a._merged(b, 1.0)
        return type(self)(weight, mean, cross, a.gaps + b.gaps, a._higher(b, 1.0, (weight, mean, cross, rest)), rest)

    def __sub__(self, other: Self) -> Self:
        a, b = self._alike(other)
        weight, mean, cross, rest = a._merged(b, -1.0)
        return type(self)(weight, mean, cross, a.gaps - b.gaps, a._higher(b, -1.0, (weight, mean, cross, rest)), rest)

    def _higher(self, other: Self, sign: float, merged: tuple[Array, Array, Array, Array]) -> Fourth | None:
        """Merge the products of squares, if there are any, where weight, mean, cross and rest are `merged`."""
        if self.higher is None or other.higher is None:
            return None
        out = Fourth.zero(*self.mean.shape)
        assert out.rest is not None
        mine = (*self._contiguous(), *self.higher.contiguous())
        others = (*other._contiguous(), *other.higher.contiguous())
        _core.merge_fourth(*mine, *others, *merged, sign, out.third, out.fourth, out.rest)
        return out

    def _merged(self, other: Self, sign: float) -> tuple[Array, Array, Array, Array]:
        """Merge weight, mean and products as Chan, Golub and LeVeque do for Moments; sign −1 takes the other away."""
        out = (np.empty(self.weight.shape), np.empty(self.mean.shape), np.empty(self.cross.shape))
        rest = np.empty((self.n_classes, _width(self.n_columns)))
        at, why = _core.merge_scatter(*self._contiguous(), *other._contiguous(), sign, *out, rest)
        if why == 1:
            c = at // max(self.n_columns, 1)
            raise NotPartError(
                f"Cannot take away more than was added: {other.weight[c]:g} from {self.weight[c]:g} at ({c},). "
                "Only rows that were learned can be forgotten."
            )
        if why:
            raise not_varying(at % self.n_columns) if why == 2 else _overflow(at % self.n_columns)
        return *out, rest

    def _contiguous(self) -> tuple[Array, Array, Array, Array | None]:
        rest = None if self.rest is None else np.ascontiguousarray(self.rest)
        weight, mean, cross = map(np.ascontiguousarray, (self.weight, self.mean, self.cross))
        return weight, mean, cross, rest

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        if not factor:
            return self.take(np.arange(0)).spread(np.arange(0), self.n_classes)
        weight = times(Sums(self.weight, None if self.rest is None else self.rest[:, :2]), factor)
        higher = None if self.higher is None else self.higher.scale(factor)
        if self.rest is None:
            return type(self)(weight.value, self.mean, self.cross * factor, self.gaps.scale(factor), higher)
        rest, d = self.rest.copy(), self.n_columns
        doubts, lost = rest[:, 2 + 2 * d : 2 + 3 * d], rest[:, 2 + 3 * d :]  # views
        products = times(Sums(self.cross.reshape(-1, d * d), np.stack([lost, np.zeros_like(lost)], axis=-1)), factor)
        rest[:, :2] = 0.0 if weight.rest is None else weight.rest
        if products.rest is not None:
            lost[:] = products.rest[..., 0]
            doubts[:] = factor * doubts + products.rest[:, :: d + 1, 1]
        cross = products.value.reshape(self.cross.shape)
        return type(self)(weight.value, self.mean, cross, self.gaps.scale(factor), higher, rest)

    def pooled(self) -> Self:
        """Summarize all classes as one."""
        one = np.arange(1)
        parts = [self.take(np.array([c])) for c in range(self.n_classes)]
        out = parts[0] if parts else self.spread(one[:0], 1)
        for part in parts[1:]:
            out = out + part
        return out

    def completed(self, rows: Self, spread: Array) -> Self:
        """Add `rows` whose missing entries were filled in, and their conditional covariances `spread`.

        The products of squares are those of the complete rows, scaled to the weight of all rows.
        """
        out = replace(self, higher=None) + rows
        higher = None
        if self.higher is not None:
            ratio = np.divide(out.weight, self.weight, out=np.zeros_like(out.weight), where=self.weight > 0)
            third, fourth = (ratio[:, None, None] * each for each in (self.higher.third, self.higher.fourth))
            higher = Fourth(third, fourth)
        gaps = Sample.empty(self.n_classes, self.n_columns, joint=True)
        return type(self)(out.weight, out.mean, out.cross + spread, gaps, higher)  # rounded: it is no sum any more

    def _alike(self, other: Self) -> tuple[Self, Self]:
        """Return both with products of squares, or both without: a summary of no rows takes zeros."""
        if (self.higher is None) == (other.higher is None):
            return self, other
        nothing = Fourth.zero(*self.mean.shape)
        if self.higher is None and not self.weight.any():
            return replace(self, higher=nothing), other
        if other.higher is None and not other.weight.any():
            return self, replace(other, higher=nothing)
        raise MismatchError("Only one of the two summaries has products of squares: they cannot be merged")

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.mean.shape[1]

    @property
    def doubt(self) -> Array:
        """What rounding may have taken from the centred squares, (classes, columns)."""
        if self.rest is None:
            return OUTSIDE * np.diagonal(self.cross, axis1=1, axis2=2)
        return self.rest[:, 2 + 2 * self.n_columns : 2 + 3 * self.n_columns]

    @property
    def total(self) -> Array:
        """The weight of the rows of each class, incomplete ones included."""
        return self.weight + self.gaps.parts[0].class_weight

    def __repr__(self) -> str:
        classes, columns = self.mean.shape
        gaps = len(self.gaps.parts[0].weight)
        also = f", {gaps} distinct incomplete rows" if gaps else ""
        return f"Scatter({classes} classes × {columns} columns, weight {self.weight.sum():g}{also})"


def _overflow(column: int, what: str = "square overflows", size: str = "a value too large") -> InvalidDataError:
    return InvalidDataError(f"Column {column} holds {size} for float64: its {what}; rescale the column")


def _unequal(weight: Array) -> bool:
    """Tell whether some weights are more than a thousand times others."""
    held = weight[weight > 0]
    return bool(len(held)) and held.max() > UNEQUAL * held.min()


def _width(columns: int) -> int:
    """Return how many numbers are kept beside those of a class, in the order of `scatter` in kernels.hpp."""
    return 2 + 3 * columns + columns * columns
