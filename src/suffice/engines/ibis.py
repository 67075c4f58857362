"""Tables of databases by Ibis: statistics are aggregate queries, and no row leaves the database unless asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from suffice.core import frames
from suffice.core.arrays import Values
from suffice.core.errors import EngineError, InvalidDataError, InvalidOptionError
from suffice.core.frames import ColumnProfile, Frame
from suffice.core.statistics import ByClass, Cells, Moments, RowSample, Statistic
from suffice.engines.source import HEAD, Answer, FirstRows, Source, new_columns
from suffice.engines.sql.cell_queries import SAMPLED, cell_statistics, limit_of
from suffice.engines.sql.checks import check_weights, middles, refuse_values
from suffice.engines.sql.column_facts import ColumnFacts, TableColumnProfile
from suffice.engines.sql.count_queries import count_statistics
from suffice.engines.sql.expressions import is_missing
from suffice.engines.sql.formula_compiler import add_answers
from suffice.engines.sql.ibis_rows import IbisRows, supports_nan
from suffice.engines.sql.kept_rows import kept_rows
from suffice.engines.sql.pair_queries import pair_statistics
from suffice.engines.sql.sum_queries import NotFiniteError, sum_statistics
from suffice.engines.sql.table_columns import (
    SUMS,
    VALUES,
    BlockStatistics,
    SqlRows,
    class_labels,
    execute,
    execute_row,
    rows_changed,
    weight_of,
)
from suffice.engines.summarizing import Task
from suffice.engines.workers import no_checkpoint
from suffice.families import KeptRows
from suffice.families.product import Product


def find(x: Any) -> Source | None:
    """Return the source of a table expression of Ibis; None for other objects."""
    return IbisSource(x) if isinstance(x, ir.Table) else None


class IbisSource(Source):
    """A table expression of Ibis."""

    def __init__(self, table: ir.Table):
        self.table = table
        self._kept: tuple[Values, RowSample] | None = None  # the labels, and rows that were fetched

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

    def first_rows(self, task: Task) -> FirstRows | None:
        """Return the rows that leave the database, if some do; None if none do, or all."""
        if not _consented(task):
            return None
        t = SqlRows(self.table, task).select()
        classes = execute(t.group_by("y").aggregate(n=weight_of(t)), "the weight of each class")
        labels, total = class_labels(classes, task.target).values, float(frames.numbers(classes["n"]).sum())
        kept = self._kept_rows(SqlRows(self.table, task), labels)
        if not total or kept is None or kept.weight.sum() >= total * (1 - 1e-9):
            return None
        return FirstRows(KeptRows.of(kept.rows, kept), total, len(labels))

    def _kept_rows(self, rows: SqlRows, labels: Values) -> RowSample | None:
        """Fetch the rows that may leave the database, once; None without consent."""
        if self._kept is None or not np.array_equal(self._kept[0], labels):
            size = _consented(rows.task)
            if not size or not len(labels):
                return None
            self._kept = labels, kept_rows(rows, labels, size)
        return self._kept[1]

    def check_divides(self) -> None:
        """Raise an error: queries have no posteriors."""
        raise InvalidOptionError(
            "A database does not divide rows without labels among classes: take them out of it, as a data frame or "
            "files, or leave them out with missing_labels='drop'"
        )

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Query what must be refused, then the sums, then the counts."""
        no_checkpoint(checkpoint, "a database")
        for name in task.columns:
            self.check_column(name, "to learn from")
        if task.divided_by is not None:
            self.check_divides()
        if task.drop_unlabelled:
            labelled = self.table.filter(~is_missing(self.table[task.target], supports_nan(self.table)))
            return IbisSource(labelled).reduce(replace(task, drop_unlabelled=False))
        if task.weight is not None:
            check_weights(self.table, task.weight)
        rows = SqlRows(self.table, task, nan=False)
        rows.check_statistics()
        refuse_values(rows)
        cells = _cells(rows)
        try:
            return self._statistics(rows, cells)
        except (EngineError, NotFiniteError):  # because of NaN, which is missing, or of a value that must be refused
            refuse_values(rows, thoroughly=True)
        try:
            return self._statistics(SqlRows(self.table, task), cells)
        except NotFiniteError:
            raise InvalidDataError(
                "A column holds values so large that their squares, or the sum of all, overflow; rescale it"
            ) from None

    def _statistics(self, rows: SqlRows, cells: BlockStatistics | None) -> ByClass[Any] | None:
        """Compute the statistics of blocks and found columns, fetch the rows to keep, and count pairs by the plan."""
        labels, weight, statistics = _of_blocks(rows, cells)
        if not len(labels):
            return None
        family = rows.task.family
        plan = family.plan if isinstance(family, Product) else None
        kept = self._kept_rows(rows, labels)
        pairs = None if plan is None else pair_statistics(rows, plan, labels)
        return rows.task.assembled(labels, weight, [statistics[k] for k in sorted(statistics)], kept, pairs)

    def answer(self, answer: Answer) -> ir.Table:
        """Return the table with the answers as further columns, as an expression that the database computes."""
        new_columns(answer, self.names)  # refuses names that the table has already
        scoring = answer.predictor.table_formula()
        return add_answers(IbisRows(self.table), scoring, answer.question).table


def _cells(rows: SqlRows) -> BlockStatistics | None:
    """Count columns of numbers in cells, where there are so many rows that not all distinct values are fetched."""
    blocks = {k: block for k, block in rows.of(Cells).items() if limit_of(block) is not None}
    total = execute_row(rows.table, {"n": rows.table.count()}, "the number of rows")["n"] if blocks else 0
    return cell_statistics(rows, blocks) if total > SAMPLED else None


def _of_blocks(rows: SqlRows, cells: BlockStatistics | None) -> BlockStatistics:
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
            raise rows_changed()
        beside = {k: _with_moments(counted[k], moments) for k, moments in other.statistics.items() if k in counted}
        statistics = statistics | other.statistics | beside
    return BlockStatistics(labels, weight, statistics)


def _consented(task: Task) -> int:
    """Return how many rows may leave the database; "auto" is no consent."""
    keep = task.family.keep if isinstance(task.family, Product) else 0
    return keep if isinstance(keep, int) else 0


def _lacks_moments(cells: Statistic) -> bool:
    """Return whether moments are to be kept beside cells, which are wider than values, and are not there yet."""
    return isinstance(cells, Cells) and cells.exact_moments and cells.kept is None and not cells.exact.all()


def _with_moments(cells: Statistic, moments: Statistic) -> Statistic:
    assert isinstance(cells, Cells)
    assert isinstance(moments, Moments)
    return replace(cells, kept=moments)
