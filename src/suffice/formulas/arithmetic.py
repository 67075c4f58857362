"""Formulas, and the arithmetic that combines them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.formulas.environments import ColumnValues, EntryMatrix, Environment, NamedColumns
from suffice.formulas.node import Array, Node, Reads

Function: TypeAlias = Callable[..., Array]  # of one or two arrays, entry by entry


class Formula(Node):
    """An expression over columns. Its value is (rows, classes), or an array that broadcasts to that shape."""

    __array_ufunc__ = None  # NumPy arrays leave arithmetic with formulas to the methods below

    @abstractmethod
    def on(self, rows: Environment) -> Array:
        """Compute the value for every row."""

    def evaluate(self, columns: Mapping[str, ColumnValues]) -> Array:
        """Compute the value for columns by name; None and NaN are missing. This is slow and simple, for comparison.

        >>> formula = Constant([0.5, 2.0]) * Column("x") + 1.0
        >>> formula.evaluate({"x": [1.0, 4.0]})
        array([[1.5, 3. ],
               [3. , 9. ]])
        """
        rows = NamedColumns(columns)
        with np.errstate(all="ignore"):  # a branch that `Where` does not choose may divide by zero
            out = self.on(rows)
        return np.array(np.broadcast_to(out, (rows.n, out.shape[-1])))

    def at(self, x: Array) -> Array:
        """Compute the value where `X` stands for the entries of an array; constants broadcast against it.

        >>> (2.0 * Square(X)).at(np.array([[1.0, 3.0]]))
        array([[ 2., 18.]])
        """
        with np.errstate(all="ignore"):
            return self.on(EntryMatrix(x))

    def __add__(self, other: Formula | ArrayLike) -> Formula:
        return Add(self, as_formula(other))

    def __radd__(self, other: ArrayLike) -> Formula:
        return Add(as_formula(other), self)

    def __sub__(self, other: Formula | ArrayLike) -> Formula:
        return Subtract(self, as_formula(other))

    def __rsub__(self, other: ArrayLike) -> Formula:
        return Subtract(as_formula(other), self)

    def __mul__(self, other: Formula | ArrayLike) -> Formula:
        return Multiply(self, as_formula(other))

    def __rmul__(self, other: ArrayLike) -> Formula:
        return Multiply(as_formula(other), self)

    def __truediv__(self, other: Formula | ArrayLike) -> Formula:
        return Divide(self, as_formula(other))

    def __rtruediv__(self, other: ArrayLike) -> Formula:
        return Divide(as_formula(other), self)

    def __neg__(self) -> Formula:
        return Multiply(Constant(np.array(-1.0)), self)


@dataclass(frozen=True, eq=False)
class Entry(Formula):
    """The entry of any column: the variable of the formulas that families state."""

    def on(self, rows: Environment) -> Array:
        """Return the entries."""
        return rows.entries


X = Entry()


@dataclass(frozen=True, eq=False)
class Column(Formula):
    """The number in a named column; a boolean counts as 0 or 1."""

    column: str

    def on(self, rows: Environment) -> Array:
        """Return the numbers, NaN where one is missing."""
        return rows.numbers(self.column)

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "number"}


@dataclass(frozen=True, eq=False)
class Constant(Formula):
    """A number for each class, (classes,), or for all of them, (1,); over `X` any array that broadcasts."""

    values: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", classwise(self.values, 1))

    def on(self, rows: Environment) -> Array:  # noqa: ARG002  # the contract
        """Return the same for every row."""
        return self.values


@dataclass(frozen=True, eq=False)
class Unknown(Formula):
    """No value, for rows that a formula cannot score, such as those with missing values in a large block."""

    def on(self, rows: Environment) -> Array:
        """Return NaN."""
        return np.full((rows.n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Binary(Formula):
    """An operation on two formulas."""

    left: Formula
    right: Formula

    function: ClassVar[Function]

    def on(self, rows: Environment) -> Array:
        """Apply it to the values of both sides."""
        return np.asarray(type(self).function(self.left.on(rows), self.right.on(rows)))


class Add(Binary):
    """Left + right."""

    function = np.add


class Subtract(Binary):
    """Left − right."""

    function = np.subtract


class Multiply(Binary):
    """Left × right."""

    function = np.multiply


class Divide(Binary):
    """Left ÷ right."""

    function = np.divide


@dataclass(frozen=True, eq=False)
class Unary(Formula):
    """A function of one formula."""

    of: Formula

    function: ClassVar[Function]

    def on(self, rows: Environment) -> Array:
        """Apply it to the value of its argument."""
        return np.asarray(type(self).function(self.of.on(rows)))


class Square(Unary):
    """The square."""

    function = np.square


class Sqrt(Unary):
    """The square root."""

    function = np.sqrt


class Abs(Unary):
    """The absolute value."""

    function = np.abs


class Log(Unary):
    """The natural logarithm."""

    @staticmethod
    def function(x: Array) -> Array:
        """Compute in float64, also for float32."""
        return np.asarray(np.log(x, dtype=np.float64))


class Log1p(Unary):
    """Log(1 + x), accurate for small x."""

    function = np.log1p


class Exp(Unary):
    """e to the power of x."""

    function = np.exp


class LogGamma(Unary):
    """Log Γ(x), of x > 0."""

    @staticmethod
    def function(x: Array) -> Array:
        """Compute by SciPy, which is imported only here."""
        from scipy.special import gammaln

        return np.asarray(gammaln(x))


def as_formula(value: Formula | ArrayLike) -> Formula:
    """Return a formula as it is, and numbers as a constant."""
    return value if isinstance(value, Formula) else Constant(np.asarray(value, dtype=np.float64))


def as_column(value: Formula | str) -> Formula:
    """Return a formula as it is, and a name as the column of that name."""
    return Column(value) if isinstance(value, str) else value


def classwise(values: ArrayLike, dimensions: int) -> Array:
    """Return numbers as (classes,) or (classes, …); numbers that all classes share get an axis of one class."""
    out = np.array(values, dtype=np.float64)
    while out.ndim < dimensions:
        out = out[None]
    return out
