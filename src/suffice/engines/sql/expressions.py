"""Columns of a database table as numbers, booleans and categories: expressions of Ibis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from suffice.core.errors import InvalidDataError

MOST_ARGUMENTS = 50  # of a function; PostgreSQL allows 100


def by_groups(parts: Sequence[ir.Value], function: Callable[[Sequence[ir.Value]], ir.Value]) -> ir.Value:
    """Apply an associative function to any number of expressions, to some at a time."""
    while len(parts) > 1:
        groups = (parts[lo : lo + MOST_ARGUMENTS] for lo in range(0, len(parts), MOST_ARGUMENTS))
        parts = [function(group) if len(group) > 1 else group[0] for group in groups]
    return parts[0]


def number(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Return a column of numbers or booleans as float64, NULL where it is missing.

    `nan` says whether to test for NaN; by default this is done if the database supports it.
    """
    dtype = x.type()
    if dtype.is_boolean():
        return boolean(x)
    if not dtype.is_numeric():
        raise InvalidDataError(f"Column {x.get_name()!r} holds {dtype}, which cannot be read as numbers")
    return without_nan(x if dtype.is_float64() else x.cast("float64"), nan)


def boolean(x: ir.Value) -> ir.Value:
    """Return a boolean as 0.0 or 1.0."""
    return x.cast("int32").cast("float64")


def as_float(x: ir.Value) -> ir.Value:
    """Cast a number to float64, even if Ibis takes it for one: PostgreSQL reads 0.5 as a decimal."""
    return ops.Cast(x, dt.float64).to_expr()


def has_fraction(x: ir.Value) -> ir.Value:
    """Return whether a number is not an integer; numbers of 2^53 or more are integers."""
    small = ibis.ifelse(x.abs() < 2.0**53, x, 0.0)  # Ibis converts rounded numbers to integers, which may overflow
    return small.floor() < small


def category(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Return a column of categories or labels, NULL where it is missing."""
    dtype = x.type()
    if not (dtype.is_string() or dtype.is_numeric() or dtype.is_boolean()):
        raise InvalidDataError(
            f"Column {x.get_name()!r} holds {dtype}, which cannot be read as categories or labels: convert it first"
        )
    return x.cast("float64") if dtype.is_decimal() else without_nan(x, nan)


def is_missing(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Return whether an entry is missing."""
    return x.isnull() | x.isnan() if _may_be_nan(x, nan) else x.isnull()


def without_nan(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Replace NaN by NULL."""
    return ibis.ifelse(x.isnan(), ibis.null(x.type()), x) if _may_be_nan(x, nan) else x


def _may_be_nan(x: ir.Value, nan: bool | None) -> bool:
    return bool(x.type().is_floating()) and (supports_nan(x) if nan is None else nan)


def supports_nan(x: ir.Expr) -> bool:
    """Return whether the database of an expression supports NaN."""
    backends, _ = x._find_backends()
    return all(backend.has_operation(ops.IsNan) for backend in backends)
