"""Columns of a database table as numbers, booleans and categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from suffice.core.errors import InvalidDataError
from suffice.engines.sql.algebra import Value

MOST_ARGUMENTS = 50  # of a function; PostgreSQL allows 100


def by_groups(parts: Sequence[Any], function: Callable[[Sequence[Any]], Any]) -> Any:
    """Apply an associative function to any number of expressions, to some at a time."""
    while len(parts) > 1:
        groups = (parts[lo : lo + MOST_ARGUMENTS] for lo in range(0, len(parts), MOST_ARGUMENTS))
        parts = [function(group) if len(group) > 1 else group[0] for group in groups]
    return parts[0]


def number(x: Value) -> Any:
    """Return a column of numbers or booleans as float64. A missing value is NULL, or NaN if the column holds it."""
    dtype = x.type()
    if dtype.is_boolean():
        return boolean(x)
    if not dtype.is_numeric():
        raise InvalidDataError(f"Column {x.get_name()!r} holds {dtype}, which cannot be read as numbers")
    return x if dtype.is_float64() else x.cast("float64")


def boolean(x: Value) -> Any:
    """Return a boolean as 0.0 or 1.0."""
    return x.cast("int32").cast("float64")


def has_fraction(x: Value) -> Any:
    """Return whether a number is not an integer; numbers of 2^53 or more are integers."""
    small = (x.abs() < 2.0**53).ifelse(x, 0.0)  # Ibis converts rounded numbers to integers, which may overflow
    return small.floor() < small


def category(x: Value) -> Any:
    """Return a column of categories or labels. A missing value is NULL, or NaN if the column holds it."""
    dtype = x.type()
    if not (dtype.is_string() or dtype.is_numeric() or dtype.is_boolean()):
        raise InvalidDataError(
            f"Column {x.get_name()!r} holds {dtype}, which cannot be read as categories or labels: convert it first"
        )
    return x.cast("float64") if dtype.is_decimal() else x


def is_missing(x: Value, nan: bool) -> Any:
    """Return whether an entry is missing; `nan` says whether to test for NaN, which not every database can."""
    return x.isnull() | x.isnan() if nan and x.type().is_floating() else x.isnull()
