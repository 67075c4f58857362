"""Formulas, and the arithmetic that makes further ones of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.formulas.node import Array, Node, Reads
from suffice.formulas.plain_rows import Rows


class Formula(Node):
    """An expression whose value is (rows, classes)."""

    __array_ufunc__ = None  # arrays leave arithmetic with formulas to these

    @abstractmethod
    def on(self, rows: Rows) -> Array:
        """The value for every row, (rows, classes) or what broadcasts to it."""

    def evaluate(self, columns: Mapping[str, Any]) -> Array:
        """The value for columns of values, None or NaN where one is missing: slow and plain, to compare with.

        >>> formula = Constant([0.5, 2.0]) * Column("x") + 1.0
        >>> formula.evaluate({"x": [1.0, 4.0]})
        array([[1.5, 3. ],
               [3. , 9. ]])
        """
        rows = Rows(columns)
        with np.errstate(all="ignore"):  # a branch that is not taken may divide by zero
            out = self.on(rows)
        return np.array(np.broadcast_to(out, (rows.n, out.shape[1])))

    def __add__(self, other: Any) -> Formula:
        return Add(self, as_formula(other))

    def __radd__(self, other: Any) -> Formula:
        return Add(as_formula(other), self)

    def __sub__(self, other: Any) -> Formula:
        return Subtract(self, as_formula(other))

    def __rsub__(self, other: Any) -> Formula:
        return Subtract(as_formula(other), self)

    def __mul__(self, other: Any) -> Formula:
        return Multiply(self, as_formula(other))

    def __rmul__(self, other: Any) -> Formula:
        return Multiply(as_formula(other), self)

    def __truediv__(self, other: Any) -> Formula:
        return Divide(self, as_formula(other))

    def __rtruediv__(self, other: Any) -> Formula:
        return Divide(as_formula(other), self)


@dataclass(frozen=True, eq=False)
class Column(Formula):
    """The number in a column: a truth counts as 0 or 1."""

    column: str

    def on(self, rows: Rows) -> Array:
        """NaN where it is missing: a `Where` guards against that."""
        return rows.numbers(self.column)

    def _own(self) -> dict[str, Reads]:
        return {self.column: "number"}


@dataclass(frozen=True, eq=False)
class Constant(Formula):
    """A number for each class, (classes,), or for all of them, (1,)."""

    values: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", classwise(self.values, 1))

    def on(self, rows: Rows) -> Array:  # noqa: ARG002  # the contract
        """The same for every row."""
        return self.values[None]


@dataclass(frozen=True, eq=False)
class Unknown(Formula):
    """No value: a row for which nothing can be said here, such as a gap in a large block."""

    def on(self, rows: Rows) -> Array:
        """NaN."""
        return np.full((rows.n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class Binary(Formula):
    """An operation on two formulas."""

    left: Formula
    right: Formula

    does: ClassVar[Any]  # a NumPy function of two arrays

    def on(self, rows: Rows) -> Array:
        """Of both sides."""
        return np.asarray(self.does(self.left.on(rows), self.right.on(rows)))


class Add(Binary):
    """Left + right."""

    does = np.add


class Subtract(Binary):
    """Left − right."""

    does = np.subtract


class Multiply(Binary):
    """Left × right."""

    does = np.multiply


class Divide(Binary):
    """Left ÷ right."""

    does = np.divide


@dataclass(frozen=True, eq=False)
class Unary(Formula):
    """A function of one formula."""

    of: Formula

    does: ClassVar[Any]  # a NumPy function of one array

    def on(self, rows: Rows) -> Array:
        """Of its argument."""
        return np.asarray(self.does(self.of.on(rows)))


class Square(Unary):
    """The square."""

    does = np.square


class Log(Unary):
    """The natural logarithm."""

    does = np.log


class Log1p(Unary):
    """Log(1 + x), to all digits also where x is small."""

    does = np.log1p


class Exp(Unary):
    """e to the power of x."""

    does = np.exp


class LogGamma(Unary):
    """Log Γ(x), of x > 0."""

    def on(self, rows: Rows) -> Array:
        """Of its argument."""
        from scipy.special import gammaln

        return np.asarray(gammaln(self.of.on(rows)))


def as_formula(value: Any) -> Formula:
    """A formula as it is; numbers as a constant."""
    return value if isinstance(value, Formula) else Constant(value)


def classwise(values: Any, dimensions: int) -> Array:
    """As numbers, (classes,) or (classes, …); what all classes share gets an axis of one class."""
    out = np.array(values, dtype=np.float64)
    while out.ndim < dimensions:
        out = out[None]
    return out
