"""Tables of databases by Ibis: statistics are aggregate queries, and no row leaves the database unless asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from suffice.core.errors import EngineError, InvalidDataError
from suffice.core.frames import ColumnProfile, Frame
from suffice.core.statistics import ByClass, Cells, Moments, Statistic
from suffice.engines.source import HEAD, Answer, Source, new_columns
from suffice.engines.sql.cell_queries import SAMPLED, cell_statistics, limit_of
from suffice.engines.sql.checks import check_weights, middles, refuse_values
from suffice.engines.sql.column_facts import ColumnFacts, TableColumnProfile
from suffice.engines.sql.count_queries import count_statistics
from suffice.engines.sql.expressions import is_missing, supports_nan
from suffice.engines.sql.formula_compiler import add_answers
from suffice.engines.sql.kept_rows import kept_rows
from suffice.engines.sql.sum_queries import NotFiniteError, sum_statistics
from suffice.engines.sql.table_columns import SUMS, VALUES, BlockStatistics, SqlRows, execute_row
from suffice.engines.summarizing import Task
from suffice.engines.workers import no_checkpoint
from suffice.families.product import Product


def find(x: Any) -> Source | None:
    """Return the source of a table expression of Ibis; None for other objects."""
    return IbisSource(x) if isinstance(x, ir.Table) else None


class IbisSource(Source):
    """A table expression of Ibis."""

    counts_pairs: ClassVar[bool] = False

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
        if task.drop_unlabelled:
            labelled = self.table.filter(~is_missing(self.table[task.target]))
            return IbisSource(labelled).reduce(replace(task, drop_unlabelled=False))
        if task.weight is not None:
            check_weights(self.table, task.weight)
        rows = SqlRows(self.table, task, nan=False)
        rows.check_statistics()
        refuse_values(rows)
        cells = _cells(rows)
        try:
            return _statistics(rows, cells)
        except (EngineError, NotFiniteError):  # because of NaN, which is missing, or of a value that must be refused
            refuse_values(rows, thoroughly=True)
        try:
            return _statistics(SqlRows(self.table, task), cells)
        except NotFiniteError:
            raise InvalidDataError(
                "A column holds values so large that their squares, or the sum of all, overflow; rescale it"
            ) from None

    def answer(self, answer: Answer) -> ir.Table:
        """Return the table with the answers as further columns, as an expression that the database computes."""
        new_columns(answer, self.names)  # refuses names that the table has already
        backends, _ = self.table._find_backends()
        dialect = backends[0].name if backends else ""
        return add_answers(
            self.table, answer.predictor.table_formula(), answer.question, dialect, supports_nan(self.table)
        )


def _cells(rows: SqlRows) -> BlockStatistics | None:
    """Count columns of numbers in cells, where there are so many rows that not all distinct values are fetched."""
    blocks = {k: block for k, block in rows.of(Cells).items() if limit_of(block) is not None}
    total = execute_row(rows.table, {"n": rows.table.count()}, "the number of rows")["n"] if blocks else 0
    return cell_statistics(rows, blocks, total) if total > SAMPLED else None


def _statistics(rows: SqlRows, cells: BlockStatistics | None) -> ByClass[Any] | None:
    """Compute the statistics by one query of sums and one of counts, beside the cells that were counted."""
    found = [] if cells is None else [cells]
    counted = {} if cells is None else cells.statistics
    summed = rows.of(*SUMS) | {k: rows.blocks[k] for k, block in counted.items() if _lacks_moments(block)}
    if summed:
        found.append(sum_statistics(rows, summed, middles(rows, summed.values())))
    values = {k: block for k, block in rows.of(*VALUES).items() if k not in counted}
    if values:
        found.append(count_statistics(rows, values))
    labels, weight, statistics = found[0]
    for other in found[1:]:
        if not np.array_equal(other.labels, labels):
            raise EngineError(
                "The rows changed between two queries: other labels were found. Fit again, or in a transaction"
            )
        beside = {k: _with_moments(counted[k], moments) for k, moments in other.statistics.items() if k in counted}
        statistics = statistics | other.statistics | beside
    if not len(labels):
        return None
    keep = rows.task.family.keep if isinstance(rows.task.family, Product) else 0
    kept = kept_rows(rows, labels, keep) if isinstance(keep, int) and keep else None  # "auto" is no consent
    return rows.task.assembled(labels, weight, [statistics[k] for k in sorted(statistics)], kept)


def _lacks_moments(cells: Statistic) -> bool:
    """Return whether moments are to be kept beside cells, which are wider than values."""
    return isinstance(cells, Cells) and cells.exact_moments and not cells.exact.all()


def _with_moments(cells: Statistic, moments: Statistic) -> Statistic:
    assert isinstance(cells, Cells)
    assert isinstance(moments, Moments)
    return replace(cells, kept=moments)
