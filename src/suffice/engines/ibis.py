"""Tables of databases, by Ibis: statistics are aggregate queries, and no row leaves the database."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np

from suffice.core.errors import EngineError, InvalidDataError
from suffice.core.frames import ColumnProfile, Frame
from suffice.core.statistics import ByClass
from suffice.engines.appending import new_columns
from suffice.engines.source import HEAD, Answer, Source
from suffice.engines.sql.checks import check_weights, examine, middles
from suffice.engines.sql.column_facts import Surveyed, TableColumnProfile
from suffice.engines.sql.count_queries import values
from suffice.engines.sql.expressions import knows_nan
from suffice.engines.sql.formula_compiler import scored
from suffice.engines.sql.sum_queries import NotFiniteError, sums
from suffice.engines.sql.table_columns import SUMS, Rows
from suffice.engines.summarizing import Task
from suffice.engines.workers import no_checkpoint


def find(x: Any) -> Source | None:
    """Table expressions of Ibis."""
    return IbisSource(x) if isinstance(x, ir.Table) else None


class IbisSource(Source):
    """A table expression of Ibis."""

    def __init__(self, table: Any):
        self.table = table

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.columns)

    def head(self, rows: int = HEAD) -> Any:  # noqa: ARG002  # the schema is enough
        """Return a table without rows: the columns and their types."""
        import pyarrow as pa

        return pa.table({name: pa.array([], kind) for name, kind in self._types.items()})

    @cached_property
    def _types(self) -> dict[str, Any]:
        """The Arrow types of the columns."""
        found = {}
        for name, kind in self.table.schema().items():
            try:
                found[name] = kind.to_pyarrow()
            except Exception as error:  # some types of some databases are nowhere else
                raise InvalidDataError(f"Column {name!r} holds {kind}, which cannot be read: {error}") from error
        return found

    def profiles(self, head: Frame) -> dict[str, ColumnProfile]:
        """Return a profile of each column, which asks the database when it is needed."""
        surveyed = Surveyed(self.table, tuple(head.names))
        return {name: TableColumnProfile(name, self._types[name], surveyed) for name in head.names}

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Run a query that finds rows to refuse, then one that sums, and one that counts values."""
        no_checkpoint(checkpoint, "a database")
        for name in task.columns:
            self.check_column(name, "to learn from")
        if task.weight is not None:
            check_weights(self.table, task.weight)
        rows = Rows(self.table, task, nan=False)
        rows.check_kinds()
        examine(rows)
        try:
            return _statistics(rows)
        except (EngineError, NotFiniteError):  # NaN, perhaps, which is missing, or what is to be refused
            examine(rows, thoroughly=True)
        try:
            return _statistics(Rows(self.table, task))
        except NotFiniteError:
            raise InvalidDataError(
                "A column holds values so large that their squares, or the sum of all, overflow; rescale it"
            ) from None

    def answer(self, answer: Answer) -> Any:
        """Return the table with the answers as further columns: an expression that is computed in the database."""
        new_columns(answer, self.names)  # refuses names that are taken
        backends, _ = self.table._find_backends()
        dialect = backends[0].name if backends else ""
        return scored(self.table, answer.predictor.formula(), answer.question, dialect, knows_nan(self.table))


def _statistics(rows: Rows) -> ByClass[Any] | None:
    """A query for what is summed up, and one for what is counted."""
    found = []
    if rows.of(*SUMS):
        found.append(sums(rows, middles(rows)))
    if len(rows.of(*SUMS)) < len(rows.parts):
        found.append(values(rows))
    parts = {k: part for each in found for k, part in each.parts.items()}
    labels, weight = found[0].labels, found[0].weight
    if any(not np.array_equal(each.labels, labels) for each in found):
        raise EngineError(
            "The rows changed between two queries: other labels were found. Fit again, or in a transaction"
        )
    return rows.task.assembled(labels, weight, [parts[k] for k in range(len(parts))]) if len(labels) else None
