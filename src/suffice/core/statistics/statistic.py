"""What every statistic can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.arrays import Array, Codes, Positions, Rows
from suffice.core.errors import MismatchError, NotPartError
from suffice.core.frozen_options import Record

RESIDUE = 2.0**-44


class ClassArrays(Record):
    """A record with the classes along the first axis of the fields `class_fields`: arrays, or records like this."""

    class_fields: ClassVar[tuple[str, ...]]

    def _map(self, change: Callable[[Array], Array], nested: Callable[[Any], Any]) -> Self:
        """Apply `change` to arrays and `nested` to other fields by class."""
        held = {name: getattr(self, name) for name in self.class_fields}
        changed = {n: change(v) if isinstance(v, np.ndarray) else nested(v) for n, v in held.items() if v is not None}
        return replace(self, **changed)  # type: ignore[type-var]  # every subclass is a dataclass

    def scale(self, factor: float) -> Self:
        """Multiply the weight of every row by `factor`."""
        return self._map(lambda array: array * factor, lambda part: part.scale(factor))

    def take(self, classes: Positions) -> Self:
        """Keep the given classes, in that order."""
        return self._map(lambda array: array[classes], lambda part: part.take(classes))

    def spread(self, positions: Positions, classes: int) -> Self:
        """Move class i to `positions[i]` of `classes`; the others are empty."""
        return self._map(lambda a: spread_rows(a, positions, classes), lambda part: part.spread(positions, classes))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(getattr(self, self.class_fields[0]))


class Statistic(ClassArrays, ABC):
    """A frozen summary of weighted rows, one for each of several classes along the first axis.

    The laws: `+` is associative and commutative with `empty` as identity; the summary of two sets of rows together is
    the sum of their summaries; `(a + b) - b == a`; `scale(c)` multiplies the weight of every row by c. They hold up to
    rounding, and exactly for counts.
    """

    @classmethod
    @abstractmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""

    @classmethod
    @abstractmethod
    def of(cls, x: Rows, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize the rows of `x`, row i being of class `codes[i]`, and add that to `onto`."""

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def __sub__(self, other: Self) -> Self: ...

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns."""

    def check_fits(self, other: object) -> None:
        """Raise an error if `other` is another type of statistic, or of other columns."""
        if type(other) is not type(self):
            raise MismatchError(f"{type(self).__name__} and {type(other).__name__} cannot be merged")
        if other.n_columns != self.n_columns:
            raise MismatchError(f"Statistics of {self.n_columns} and of {other.n_columns} columns cannot be merged")

    def check_made_with(self, **options: Any) -> None:
        """Raise an error if the rows were summarized with other options of `of`, so that something is not there."""

    def trimmed(self) -> Self:
        """Drop what no row with weight has shown."""
        return self


class ArrayStatistic(Statistic):
    """A statistic all of whose fields are arrays: (classes, columns), and what rounding took from them, or None."""

    @abstractmethod
    def own_without(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize the class of each row without that row: row i is class i of the result, (rows, columns)."""

    def without_each(self, x: Array, codes: Codes, weight: Array) -> Self:
        """Summarize all classes without each of the rows, (rows, classes, columns)."""
        rows, own = np.arange(len(codes)), self.own_without(x, codes, weight)
        out: list[Array | None] = []
        for name in self.class_fields:
            mine, rest = getattr(self, name), getattr(own, name)
            if rest is None:
                out.append(None)
                continue
            mine = np.zeros((self.n_classes, *rest.shape[1:])) if mine is None else mine
            copies = np.repeat(np.broadcast_to(mine, (self.n_classes, *rest.shape[1:]))[None], len(codes), axis=0)
            copies[rows, codes] = rest
            out.append(copies)
        return type(self)(*out)


def spread_rows(array: Array, positions: Positions, rows: int) -> Array:
    """Put row i of `array` at `positions[i]` of an array of zeros."""
    out = np.zeros((rows, *array.shape[1:]))
    out[positions] = array
    return out


def clear_residue(rest: Array, whole: Array) -> Array:
    """Set to 0, in place, what only rounding left of `whole` in the difference `rest`: less than 2⁻⁴⁴ of it.

    This is for differences of float64, as scores without a row need them. Integers are exact, and stay.
    """
    small = rest < RESIDUE * np.abs(whole)
    if small.any():
        exact = (rest > 0) & (rest == np.rint(rest)) & (whole == np.rint(whole)) & (np.abs(whole) < 2.0**53)
        rest[small & ~exact] = 0.0
    return rest


def not_varying(column: int) -> NotPartError:
    """Make the error of rows that cannot have been part of a summary, because a variance would become negative."""
    return NotPartError(
        f"Cannot take away what was never added: column {column} does not vary enough to have held these values. "
        "Only rows that were learned can be forgotten."
    )
