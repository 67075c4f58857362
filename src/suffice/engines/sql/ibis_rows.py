"""Formulas written by Ibis: its tables and expressions as `Rows` and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from suffice.engines.sql.algebra import ALL_ROWS, REPEATING, Rows
from suffice.engines.sql.expressions import category, number
from suffice.formulas.lookups import Key


class IbisRows(Rows):
    """A table expression of Ibis."""

    def __init__(self, table: ir.Table):
        self.table = table

    @cached_property
    def nan(self) -> bool:  # type: ignore[override]  # only some formulas ask
        """Whether the database can test for NaN."""
        return supports_nan(self.table)

    @property
    def assumed(self) -> bool:  # type: ignore[override]
        """Whether the types of the columns are assumed, as there is no connection."""
        return isinstance(self.table.op(), ops.UnboundTable)

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self.table.columns

    def __getitem__(self, name: str) -> ir.Value:
        return self.table[name]

    def step(self, columns: Mapping[str, Any]) -> IbisRows:
        """Return the rows with further columns."""
        t = self.table.mutate(**columns)
        return IbisRows(t.limit(ALL_ROWS) if self._repeats else t)

    @cached_property
    def _repeats(self) -> bool:
        backends, _ = self.table._find_backends()
        return bool(backends) and backends[0].name in REPEATING

    def select(self, names: Sequence[str], columns: Mapping[str, Any]) -> IbisRows:
        """Return some columns, and further ones."""
        return IbisRows(self.table.select(*names, **columns))

    def literal(self, value: Key) -> ir.Value:
        """Return a constant."""
        return ibis.literal(value)

    def missing_number(self) -> ir.Value:
        """Return NULL as a float64."""
        return ibis.null("float64")

    def as_float(self, x: ir.Value) -> ir.Value:
        """Cast a number to float64."""
        return as_float(x)

    def cases(self, branches: Sequence[tuple[ir.Value, Any]], otherwise: Any) -> ir.Value:
        """Return the value of the first condition that is true."""
        return ibis.cases(*branches, else_=otherwise)

    def greatest(self, values: Sequence[Any]) -> ir.Value:
        """Return the greatest of some values."""
        return ibis.greatest(*values)

    def substring(self, text: str, start: ir.Value, length: int) -> ir.Value:
        """Return some characters of a text."""
        return _substr(ibis.literal(text), start, ibis.literal(length))


@ibis.udf.scalar.builtin(name="substr")  # type: ignore[untyped-decorator]  # Ibis has no types for it
def _substr(text: str, start: int, length: int) -> str:  # type: ignore[empty-body]  # that of Ibis repeats the text
    ...


def as_float(x: ir.Value) -> ir.Value:
    """Cast a number to float64, even if Ibis takes it for one."""
    return ops.Cast(x, dt.float64).to_expr()


def number_or_null(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Return a column of numbers or booleans as float64, NULL where it is missing; `nan` as for `without_nan`."""
    return number(x) if x.type().is_boolean() else without_nan(number(x), nan)


def category_or_null(x: ir.Value) -> ir.Value:
    """Return a column of categories or labels, NULL where it is missing."""
    return without_nan(category(x))


def without_nan(x: ir.Value, nan: bool | None = None) -> ir.Value:
    """Replace NaN by NULL; `nan` says whether to test for it: by default, if the database can."""
    if not x.type().is_floating() or not (supports_nan(x) if nan is None else nan):
        return x
    return ibis.ifelse(x.isnan(), ibis.null(x.type()), x)


def supports_nan(x: ir.Expr) -> bool:
    """Return whether the database of an expression supports NaN."""
    backends, _ = x._find_backends()
    return all(backend.has_operation(ops.IsNan) for backend in backends)
