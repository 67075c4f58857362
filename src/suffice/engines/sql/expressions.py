"""Columns of a database table as numbers, booleans and categories: expressions of Ibis."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

from suffice.core.errors import InvalidDataError


def number(x: Any, nan: bool | None = None) -> Any:
    """A column of numbers or booleans as float64, NULL where it is missing; `nan` says whether to look for NaN."""
    kind = x.type()
    if kind.is_boolean():
        return boolean(x)
    if not kind.is_numeric():
        raise InvalidDataError(f"Column {x.get_name()!r} holds {kind}, which cannot be read as numbers")
    return without_nan(x if x.type().is_float64() else x.cast("float64"), nan)


def boolean(x: Any) -> Any:
    """A boolean as 0.0 or 1.0."""
    return x.cast("int32").cast("float64")


def as_float(x: Any) -> Any:
    """A number as float64 also where Ibis takes it for one: PostgreSQL reads 0.5 as a decimal."""
    return ops.Cast(x, dt.float64).to_expr()


def is_broken(x: Any) -> Any:
    """Whether a number is not whole; those too large for that are whole."""
    small = ibis.ifelse(x.abs() < 2.0**53, x, 0.0)  # Ibis makes integers of what it rounds
    return small.floor() < small


def category(x: Any, nan: bool | None = None) -> Any:
    """A column of categories or labels, NULL where it is missing."""
    kind = x.type()
    if not (kind.is_string() or kind.is_numeric() or kind.is_boolean()):
        raise InvalidDataError(
            f"Column {x.get_name()!r} holds {kind}, which cannot be read as categories or labels: convert it first"
        )
    return x.cast("float64") if kind.is_decimal() else without_nan(x, nan)


def missing(x: Any, nan: bool | None = None) -> Any:
    """Whether an entry is missing."""
    return x.isnull() | x.isnan() if _may_be_nan(x, nan) else x.isnull()


def without_nan(x: Any, nan: bool | None = None) -> Any:
    """NaN as NULL, where there is such a thing."""
    return ibis.ifelse(x.isnan(), ibis.null(x.type()), x) if _may_be_nan(x, nan) else x


def _may_be_nan(x: Any, nan: bool | None) -> bool:
    return bool(x.type().is_floating()) and (knows_nan(x) if nan is None else nan)


def knows_nan(x: Any) -> bool:
    """Whether the database of an expression knows NaN."""
    backends, _ = x._find_backends()
    return all(backend.has_operation(ops.IsNan) for backend in backends)
