"""Weight, mean and centred squares: what a Gaussian is estimated from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, Mask, refuse_at
from suffice.core.errors import InvalidDataError, NotPartError
from suffice.core.statistics.compensated import Sums, check_remainder, times
from suffice.core.statistics.statistic import ArrayStatistic, not_varying
from suffice.core.validation import Held

LOST = 6  # what rounding took from weight, mean and squares, and the doubt of each


@dataclass(frozen=True, eq=False, repr=False)
class Moments(ArrayStatistic):
    """Observed weight Σ w, mean x̄ and centred squares Σ w (x − x̄)² of each class and column.

    All three are (classes, columns). Raw sums of squares are not kept: where the mean is large, their difference would
    lose every digit of the variance. Where the weight is 0 the others are 0.

    `rest` is (classes, 6, columns): what rounding took from weight, mean and squares, so that each is known to about
    106 bits, and a bound on what rounding took from that. It is None if the numbers were rounded to float64 elsewhere,
    as by a database.

    >>> Moments.of(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1).squares
    array([[2.]])
    """

    weight: Annotated[Array, Held("classes", "columns", least=0)]
    mean: Annotated[Array, Held("classes", "columns")]
    squares: Annotated[Array, Held("classes", "columns", least=0)]
    rest: Annotated[Array | None, Held("classes", LOST, "columns")] = None
    class_fields = ("weight", "mean", "squares", "rest")

    def check_agreement(self) -> None:
        """Raise an error if remainders are not those of the numbers."""
        if self.rest is not None:
            for i, value in enumerate((self.weight, self.mean, self.squares)):
                check_remainder("rest", value, self.rest[:, i], self.rest[:, i + LOST // 2])

    @classmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""
        return cls._tables(np.zeros, (classes,), columns)

    @classmethod
    def _tables(cls, make: Callable[[tuple[int, ...]], Array], shape: tuple[int, ...], columns: int) -> Self:
        weight, mean, squares = make((3, *shape, columns))
        return cls(weight, mean, squares, make((*shape, LOST, columns)))

    @classmethod
    def of(cls, x: Dense, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize rows of real numbers in one pass; NaN is missing."""
        if onto is not None and onto.rest is None:
            return onto + cls.of(x, codes, classes, weight)
        out = cls.empty(classes, x.shape[1]) if onto is None else onto._copy()
        assert out.rest is not None
        infinite, overflow = _core.moments(x, codes, classes, weight, out.weight, out.mean, out.squares, out.rest)
        refuse_at(infinite, x)
        if overflow >= 0:
            raise _overflow(overflow)
        return out

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[Array],
        codes: Codes,
        classes: int,
        weight: Array | None = None,
        onto: Sequence[Self] | None = None,
        names: Sequence[tuple[str, ...]] = (),
    ) -> list[Self]:
        """Summarize several columns, each for itself, by one call of the kernel; what `of` gives for each of them.

        The numbers of columns must be finite, or missing. `onto` are the moments to add to, and `names` those of the
        columns, for errors.
        """
        before = [cls.empty(classes, 1)] * len(columns) if onto is None else onto
        if any(m.rest is None for m in before):
            return [m + new for m, new in zip(before, cls.of_columns(columns, codes, classes, weight), strict=True)]
        made = [np.concatenate([getattr(m, name) for m in before], axis=-1) for name in cls.class_fields]
        _, overflow = _core.moments_of_columns(columns, codes, classes, weight, *made)
        if overflow >= 0:
            raise _overflow(names[overflow][0] if names else overflow)
        return [cls(*(part[..., j : j + 1].copy() for part in made)) for j in range(len(columns))]

    def of_some(self, columns: Mask) -> Self:
        """Return the moments of some columns."""
        rest = None if self.rest is None else self.rest[..., columns]
        return type(self)(self.weight[..., columns], self.mean[..., columns], self.squares[..., columns], rest)

    def _copy(self) -> Self:
        assert self.rest is not None
        return type(self)(self.weight.copy(), self.mean.copy(), self.squares.copy(), self.rest.copy())

    def __add__(self, other: Self) -> Self:
        return self._merged(other, 1.0)

    def __sub__(self, other: Self) -> Self:
        return self._merged(other, -1.0)

    def _merged(self, other: Self, sign: float) -> Self:
        """Summarize the rows of both, or those of this one without the other's, by the kernel that merges blocks."""
        *shape, columns = self.mean.shape
        out = self._tables(np.empty, tuple(shape), columns)
        if not self.mean.size:
            return out
        assert out.rest is not None
        a, b = self._contiguous(), other._contiguous()
        at, why = _core.merge_moments(*a, *b, columns, sign, out.weight, out.mean, out.squares, out.rest)
        if why == 1:
            raise NotPartError(
                f"Cannot take away more than was added: {other.weight.flat[at]:g} from {self.weight.flat[at]:g} at "
                f"{tuple(int(i) for i in np.unravel_index(at, self.mean.shape))}. Only rows that were learned can be "
                "forgotten."
            )
        if why:
            raise not_varying(at % columns) if why == 2 else _overflow(at % columns)
        return out

    def _contiguous(self) -> tuple[Array, Array, Array, Array | None]:
        rest = None if self.rest is None else np.ascontiguousarray(self.rest)
        weight, mean, squares = map(np.ascontiguousarray, (self.weight, self.mean, self.squares))
        return weight, mean, squares, rest

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.mean.shape[-1]

    @classmethod
    def of_rows(cls, x: Array, weight: Array) -> Self:
        """Summarize each row by itself: row i is class i. NaN is missing."""
        seen = ~np.isnan(x) * weight[:, None]
        lost = np.zeros((len(x), LOST, x.shape[1]))
        return cls(seen, np.where(seen > 0, x, 0.0), np.zeros_like(seen), lost)

    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row: row i is class i of the result, (rows, columns)."""
        return self.take(codes) - self.of_rows(x, weight)

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        if not factor:
            return self.empty(self.n_classes, self.n_columns)
        weight = times(Sums(self.weight, self._lost(0)), factor)
        squares = times(Sums(self.squares, self._lost(2)), factor)
        rest = None if self.rest is None else self.rest.copy()
        if rest is not None:
            for row, sums in ((0, weight), (2, squares)):
                rest[:, row], rest[:, row + 3] = (0.0, 0.0) if sums.rest is None else np.moveaxis(sums.rest, -1, 0)
        return type(self)(weight.value, self.mean, squares.value, rest)

    def _lost(self, row: int) -> Array | None:
        return None if self.rest is None else np.stack([self.rest[:, row], self.rest[:, row + 3]], axis=-1)

    @property
    def variance(self) -> Array:
        """The variance Σ w (x − x̄)² / Σ w, 0 where nothing was observed."""
        return np.divide(self.squares, self.weight, out=np.zeros_like(self.squares), where=self.weight > 0)

    def pooled(self) -> Self:
        """Summarize all classes as one: (1, columns)."""
        *groups, classes, columns = self.mean.shape
        if not self.mean.size:
            return self._tables(np.zeros, (*groups, 1), columns)
        out = self._tables(np.empty, (*groups, 1), columns)
        assert out.rest is not None
        overflow = _core.pool_moments(
            *self._contiguous(), classes, columns, out.weight, out.mean, out.squares, out.rest
        )
        if overflow >= 0:
            raise _overflow(overflow)
        return out

    def __repr__(self) -> str:
        classes, columns = self.weight.shape
        return f"Moments({classes} classes × {columns} columns, weight {self.weight.max(initial=0.0):g} at most)"


def _overflow(column: int | str) -> InvalidDataError:
    return InvalidDataError(
        f"Column {column!r} holds a value too large for float64: its square overflows; rescale the column"
    )
