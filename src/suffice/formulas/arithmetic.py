"""Formulas, the arithmetic that combines them, and sums over columns or terms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.formulas.environments import ColumnValues, EntryMatrix, Environment, NamedColumns, host_log_gamma
from suffice.formulas.node import Array, Node, Reads

Function: TypeAlias = Callable[..., Array]  # of one or two arrays, entry by entry


def by_class(values: ArrayLike) -> Array:
    """Return numbers as (classes,); numbers that all classes share get an axis of one class."""
    return np.array(values, dtype=np.float64, ndmin=1)


def by_class_and_term(values: ArrayLike) -> Array:
    """Return numbers as (classes, …); numbers that all classes share get an axis of one class."""
    return np.array(values, dtype=np.float64, ndmin=2)


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

    def at(self, x: Array, **library: Callable[..., Array]) -> Array:
        """Compute the value where `X` stands for the entries of an array; constants broadcast against it.

        For arrays of another library than NumPy, `library` are the functions that `EntryMatrix` takes.

        >>> (2.0 * Square(X)).at(np.array([[1.0, 3.0]]))
        array([[ 2., 18.]])
        """
        with np.errstate(all="ignore"):
            return self.on(EntryMatrix(x, **library))

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


class Entry(Formula):
    """The entry of any column: the variable of the formulas that families state."""

    def on(self, rows: Environment) -> Array:
        """Return the entries."""
        return rows.entries


X = Entry()


class Column(Formula):
    """The number in a named column; a boolean counts as 0 or 1."""

    column: str

    def on(self, rows: Environment) -> Array:
        """Return the numbers, NaN where one is missing."""
        return rows.numbers(self.column)

    def _columns_read(self) -> dict[str, Reads]:
        return {self.column: "number"}


class Constant(Formula):
    """A number for each class, (classes,), or for all of them, (1,); over `X` any array that broadcasts."""

    values: Array

    converts: ClassVar = {"values": by_class}

    def on(self, rows: Environment) -> Array:
        """Return the same for every row."""
        return rows.own(self.values)


class Unknown(Formula):
    """No value, for rows that a formula cannot score, such as those with missing values in a large block."""

    def on(self, rows: Environment) -> Array:
        """Return NaN."""
        return np.full((rows.n, 1), np.nan)


class Binary(Formula):
    """An operation on two formulas."""

    left: Formula
    right: Formula

    function: ClassVar[Function]

    def on(self, rows: Environment) -> Array:
        """Apply it to the values of both sides."""
        return rows.own(type(self).function(self.left.on(rows), self.right.on(rows)))


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


class Unary(Formula):
    """A function of one formula."""

    of: Formula

    function: ClassVar[Function]

    def on(self, rows: Environment) -> Array:
        """Apply it to the value of its argument."""
        return rows.own(type(self).function(self.of.on(rows)))


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
        return np.log(x, dtype=np.float64)


class Log1p(Unary):
    """Log(1 + x), accurate for small x."""

    function = np.log1p


class Exp(Unary):
    """e to the power of x."""

    function = np.exp


class LogGamma(Unary):
    """Log Γ(x), of x > 0."""

    function = host_log_gamma

    def on(self, rows: Environment) -> Array:
        """Apply it to the value of its argument."""
        return rows.log_gamma(self.of.on(rows))


def as_formula(value: Formula | ArrayLike) -> Formula:
    """Return a formula as it is, and numbers as a constant."""
    return value if isinstance(value, Formula) else Constant(np.asarray(value, dtype=np.float64))


def as_column(value: Formula | str) -> Formula:
    """Return a formula as it is, and a name as the column of that name."""
    return Column(value) if isinstance(value, str) else value


MOST_WIDTHS = 1e150  # the largest distance of a value from the centre of a curve


class LogSumExp(Formula):
    """Log Σ_k exp(term_k), without overflow."""

    terms: tuple[Formula, ...]

    def on(self, rows: Environment) -> Array:
        """Subtract the largest term before the exponentials."""
        return _log_sum(np.stack(np.broadcast_arrays(*(term.on(rows) for term in self.terms)), axis=-1))


class Linear(Formula):
    """Σ_j coef_j (x_j − origin_j) over columns j; `origin` and `coef` are (classes or 1, columns)."""

    columns: tuple[str, ...]
    origin: Array
    coef: Array

    converts: ClassVar = {"origin": by_class_and_term, "coef": by_class_and_term}

    def on(self, rows: Environment) -> Array:
        """Sum column by column."""
        x = np.concatenate([rows.numbers(name) for name in self.columns], axis=1)
        return np.asarray(((x[:, None] - self.origin) * self.coef).sum(axis=2))

    def _columns_read(self) -> dict[str, Reads]:
        return dict.fromkeys(self.columns, "number")


class Bumps(Formula):
    """Log Σ_k exp(height_k − ½ ((x − centre_k) / width_k)²) of one column: mixtures of Gaussians, and kernels.

    A distance of more than 1e150 widths counts as 1e150, so that squares stay finite and classes can be compared.
    `centre`, `width` and `height` are (classes, terms). A class with fewer terms is padded with terms of height −inf.
    """

    of: Formula
    centre: Array
    width: Array
    height: Array

    converts: ClassVar = {"of": as_column} | dict.fromkeys(("centre", "width", "height"), by_class_and_term)

    def on(self, rows: Environment) -> Array:
        """Sum over all terms."""
        return self.sum_at(self.of.on(rows)[:, :, None], rows.own)

    def sum_at(self, x: Any, own: Callable[..., Array] = np.asarray) -> Array:
        """Sum over all terms at numbers, whose last axis is that of the terms, or at one number."""
        z = (x - own(self.centre)) / own(self.width)
        np.minimum(np.maximum(z, -MOST_WIDTHS, out=z), MOST_WIDTHS, out=z)
        return _log_sum(own(self.height) - 0.5 * z * z)

    def spelled_out(self) -> LogSumExp:
        """Return the same in simpler nodes."""
        each = zip(self.centre.T, self.width.T, self.height.T, strict=True)
        return LogSumExp(tuple(height - 0.5 * Square((self.of - centre) / width) for centre, width, height in each))


def _log_sum(terms: Array) -> Array:
    """Compute log Σ exp over the last axis; −inf if all terms are."""
    top = terms.max(axis=-1)
    safe = np.where(np.isinf(top), 0.0, top)
    found: Array = safe + np.log(np.exp(terms - safe[..., None]).sum(axis=-1))
    return found
