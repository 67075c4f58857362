"""Facts about the columns of a database table, from which families are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa

from suffice.core.frames import ColumnProfile, ColumnReading
from suffice.core.frames.frame import ColumnKind, column_kind
from suffice.core.frames.profile import ENOUGH
from suffice.engines.sql.checks import FIRST_ROWS
from suffice.engines.sql.expressions import is_missing
from suffice.engines.sql.ibis_rows import supports_nan
from suffice.engines.sql.table_columns import execute_row

FACTS = ("distinct", "range", "letters", "spaces")
SPACES = 0.1  # mean number of spaces in texts, below which they are one token


class ColumnFacts:
    """Facts about some columns of a table; one query computes those of all columns when one is needed."""

    def __init__(self, table: ir.Table, names: tuple[str, ...]):
        self.table, self.names = table, names

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of entries of each column that are not missing; the number of rows is that of column "".

        Of a column of float numbers it is that of the first rows, unless all of these are missing: every entry would
        have to be tested for NaN, and only whether there are any is asked of it.
        """
        first = self.table.limit(FIRST_ROWS)
        floating = [name for name in self.names if self.table[name].type().is_floating()]
        found = self._present(first, floating)
        asked = [name for name in self.names if not found.get(name)]
        rows = execute_row(self.table, {"n": self.table.count()}, "the number of rows")["n"]
        return found | self._present(self.table, asked) | {"": rows}

    @staticmethod
    def _present(table: ir.Table, names: Sequence[str]) -> dict[str, int]:
        nan = supports_nan(table)
        aggregates = {f"n{j}": (~is_missing(table[name], nan)).sum() for j, name in enumerate(names)}
        found = execute_row(table, aggregates, "the number of entries")
        return {name: found[f"n{j}"] or 0 for j, name in enumerate(names)}

    @cached_property
    def facts(self) -> dict[tuple[str, str], Any]:
        """About how many integers or texts are distinct, the range of integers, and the mean length of texts."""
        aggregates: dict[str, ir.Value] = {}
        for j, name in enumerate(self.names):
            x = self.table[name]
            if x.type().is_integer():
                whole = x.cast("float64")
                aggregates |= {f"distinct{j}": x.approx_nunique(), f"range{j}": whole.max() - whole.min()}
            if x.type().is_string():
                letters = x.length().cast("float64")
                spaces = letters - x.replace(" ", "").length().cast("float64")
                aggregates |= {f"distinct{j}": x.approx_nunique(), f"letters{j}": letters.mean()}
                aggregates |= {f"spaces{j}": spaces.mean()}
        found = execute_row(self.table, aggregates, "the number of distinct values")
        return {(name, what): found.get(f"{what}{j}") for j, name in enumerate(self.names) for what in FACTS}


class TableColumnProfile(ColumnProfile):
    """The profile of a column of a database."""

    def __init__(self, name: str, type: pa.DataType, facts: ColumnFacts):  # noqa: A002  # Arrow's name
        self.name, self.type, self.facts = name, type, facts

    @property
    def kind(self) -> ColumnKind:
        """The kind of its values."""
        if self.facts.counts[""] and not self.n_present:
            return "empty"
        return column_kind(pa.chunked_array([], self.type))

    @property
    def n_present(self) -> int:
        """How many entries are not missing."""
        return self.facts.counts[self.name]

    @property
    def n_distinct(self) -> int:
        """About how many integers or texts are distinct."""
        return int(self._fact("distinct"))

    @property
    def mean_length(self) -> float:
        """The mean length of texts."""
        return float(self._fact("letters"))

    @property
    def is_row_number(self) -> bool:
        """Whether the values are consecutive integers, about as many as there are rows."""
        n = self.facts.counts[""]
        if not self.is_integer or n < ENOUGH or self.n_present < n:
            return False
        return bool(self._fact("range") == n - 1 and self.n_distinct > 0.9 * n)

    @property
    def is_one_token(self) -> bool:
        """Whether nearly all texts are one token, by the mean number of spaces."""
        return float(self._fact("spaces")) < SPACES

    def readings(self, name: str) -> tuple[ColumnReading, ...]:  # noqa: ARG002  # rows stay in the database
        """Return none: strings and times are read where rows are at hand, not in a database."""
        return ()

    def as_number(self, name: str) -> ColumnReading | None:  # noqa: ARG002  # as `readings`
        """Return none, as `readings`."""
        return None

    def part(self, name: str, part: str) -> ColumnReading | None:  # noqa: ARG002  # as `readings`
        """Return none, as `readings`."""
        return None

    def _fact(self, what: str) -> Any:
        return self.facts.facts[self.name, what] or 0
