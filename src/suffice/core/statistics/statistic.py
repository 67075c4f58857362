"""What every statistic can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.errors import MismatchError, NotPartError
from suffice.core.registry import Registered


class Statistic(Registered, ABC):
    """A frozen summary of weighted rows, one for each of several classes along the first axis.

    The laws: `+` is associative and commutative with `empty` as identity; the summary of two lots of
    rows together is the sum of their summaries; `(a + b) - b == a`; `scale(c)` multiplies every row's
    weight by c. They hold up to rounding, and exactly for counts.
    """

    @classmethod
    @abstractmethod
    def empty(cls, classes: int, columns: int) -> Self:
        """Summarize no rows."""

    @classmethod
    @abstractmethod
    def of(cls, x: Any, codes: Codes, classes: int, weight: Array | None = None, onto: Self | None = None) -> Self:
        """Summarize the rows of `x`, row i belonging to class `codes[i]`, and add that to `onto`."""

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def __sub__(self, other: Self) -> Self: ...

    @abstractmethod
    def scale(self, factor: float) -> Self:
        """Summarize the same rows, each `factor` times as heavy."""

    @abstractmethod
    def take(self, classes: NDArray[Any]) -> Self:
        """Keep the given classes, in that order."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns are summarized."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """How many classes are summarized."""

    def check_fits(self, other: object) -> None:
        """Refuse a statistic of another kind or of other columns."""
        if type(other) is not type(self):
            raise MismatchError(f"{type(self).__name__} and {type(other).__name__} cannot be merged")
        if other.n_columns != self.n_columns:
            raise MismatchError(f"Statistics of {self.n_columns} and of {other.n_columns} columns cannot be merged")

    def check_arrays(self) -> None:
        """Refuse arrays that do not belong together; for what comes from outside, as from a file."""
        raise NotImplementedError

    def trimmed(self) -> Self:
        """Drop what no row with weight has shown."""
        return self

    @abstractmethod
    def spread(self, positions: NDArray[Any], classes: int) -> Self:
        """Become a summary of more classes: class i moves to `positions[i]`, the others are empty."""

    @abstractmethod
    def __eq__(self, other: object) -> bool: ...

    __hash__ = None  # type: ignore[assignment]  # equality looks into arrays


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any = np.float64) -> None:
    """Refuse an array of another type or shape, −1 standing for any length."""
    found = array.shape if isinstance(array, np.ndarray) and array.dtype == dtype else None
    if found is None or len(found) != len(shape) or any(m not in (-1, n) for n, m in zip(found, shape, strict=True)):
        what = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise MismatchError(f"{name} should be {np.dtype(dtype)} of shape {shape}, found {what}")


def class_weight(codes: Codes, classes: int, weight: Array | None) -> Array:
    """Sum the weights of each class's rows."""
    out = np.zeros(classes)
    _core.class_weights(codes, classes, weight, out)
    return out


def spread_rows(array: Array, positions: NDArray[Any], rows: int) -> Array:
    """Put row i of `array` at `positions[i]` of an array of zeros."""
    out = np.zeros((rows, *array.shape[1:]))
    out[positions] = array
    return out


def replace_each(table: Array, codes: Codes, own: Array) -> Array:
    """Copy `table` (classes, columns) for each row, (rows, classes, columns), its class `codes[i]` being `own[i]`."""
    out = np.repeat(table[None], len(codes), axis=0)
    out[np.arange(len(codes)), codes] = own
    return out


def clear_residue(rest: Array, whole: Array, relative: float = 1e-12) -> Array:
    """What is left of `whole`, with what only rounding left of it set to 0, in place."""
    rest[rest < relative * np.abs(whole)] = 0.0
    return rest


def subtract_weights(whole: Array, part: Array) -> Array:
    """Subtract weights, refusing what was not there and clearing what rounding leaves behind."""
    rest = np.asarray(whole - part)
    slack = 1e-9 * np.abs(whole)
    if (rest < -slack).any():
        worst = np.unravel_index(np.argmin(rest), rest.shape)
        raise NotPartError(
            "Cannot take away more than was added: "
            f"{np.broadcast_to(part, rest.shape)[worst]:g} from {np.broadcast_to(whole, rest.shape)[worst]:g}"
            f" at {tuple(int(i) for i in worst)}. Only rows that were learned can be forgotten."
        )
    return clear_residue(rest, whole)
