"""Tables of databases by Ibis: statistics are aggregate queries, and no row leaves the database."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from suffice.core.errors import EngineError, InvalidDataError
from suffice.core.frames import ColumnProfile, Frame
from suffice.core.statistics import ByClass
from suffice.engines.source import HEAD, Answer, Source, new_columns
from suffice.engines.sql.checks import check_weights, middles, refuse_values
from suffice.engines.sql.column_facts import ColumnFacts, TableColumnProfile
from suffice.engines.sql.count_queries import count_statistics
from suffice.engines.sql.expressions import supports_nan
from suffice.engines.sql.formula_compiler import add_answers
from suffice.engines.sql.sum_queries import NotFiniteError, sum_statistics
from suffice.engines.sql.table_columns import SUMS, SqlRows
from suffice.engines.summarizing import Task
from suffice.engines.workers import no_checkpoint


def find(x: Any) -> Source | None:
    """Return the source of a table expression of Ibis; None for other objects."""
    return IbisSource(x) if isinstance(x, ir.Table) else None


class IbisSource(Source):
    """A table expression of Ibis."""

    def __init__(self, table: ir.Table):
        self.table = table

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.columns)

    def head(self, rows: int = HEAD) -> pa.Table:  # noqa: ARG002  # the types are enough
        """Return a table without rows: the columns and their types."""
        return pa.table({name: pa.array([], dtype) for name, dtype in self._types.items()})

    @cached_property
    def _types(self) -> dict[str, pa.DataType]:
        """The Arrow types of the columns."""
        found = {}
        for name, dtype in self.table.schema().items():
            try:
                found[name] = dtype.to_pyarrow()
            except Exception as error:  # some types exist in one database only
                raise InvalidDataError(f"Column {name!r} holds {dtype}, which cannot be read: {error}") from error
        return found

    def profiles(self, head: Frame) -> dict[str, ColumnProfile]:
        """Return profiles of the columns that query the database when they are used."""
        facts = ColumnFacts(self.table, tuple(head.names))
        return {name: TableColumnProfile(name, self._types[name], facts) for name in head.names}

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Query what must be refused, then the sums, then the counts."""
        no_checkpoint(checkpoint, "a database")
        for name in task.columns:
            self.check_column(name, "to learn from")
        if task.weight is not None:
            check_weights(self.table, task.weight)
        rows = SqlRows(self.table, task, nan=False)
        rows.check_statistics()
        refuse_values(rows)
        try:
            return _statistics(rows)
        except (EngineError, NotFiniteError):  # because of NaN, which is missing, or of a value that must be refused
            refuse_values(rows, thoroughly=True)
        try:
            return _statistics(SqlRows(self.table, task))
        except NotFiniteError:
            raise InvalidDataError(
                "A column holds values so large that their squares, or the sum of all, overflow; rescale it"
            ) from None

    def answer(self, answer: Answer) -> ir.Table:
        """Return the table with the answers as further columns, as an expression that the database computes."""
        new_columns(answer, self.names)  # refuses names that the table has already
        backends, _ = self.table._find_backends()
        dialect = backends[0].name if backends else ""
        return add_answers(self.table, answer.predictor.formula(), answer.question, dialect, supports_nan(self.table))


def _statistics(rows: SqlRows) -> ByClass[Any] | None:
    """Compute the statistics by one query of sums and one of counts."""
    found = []
    if rows.of(*SUMS):
        found.append(sum_statistics(rows, middles(rows)))
    if len(rows.of(*SUMS)) < len(rows.blocks):
        found.append(count_statistics(rows))
    labels, weight, statistics = found[0]
    for other in found[1:]:
        if not np.array_equal(other.labels, labels):
            raise EngineError(
                "The rows changed between two queries: other labels were found. Fit again, or in a transaction"
            )
        statistics = statistics | other.statistics
    return rows.task.assembled(labels, weight, [statistics[k] for k in sorted(statistics)]) if len(labels) else None
