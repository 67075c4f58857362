"""A table of a database as families read it: labels, weights and columns, as expressions of Ibis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from suffice.core import frames
from suffice.core.arrays import Array, Codes, Values
from suffice.core.errors import EngineError, InvalidDataError, RefusedValueError
from suffice.core.labels import Labels, label_positions
from suffice.core.statistics import Cells, Counts, Moments, Sample, Scatter, Statistic, Totals
from suffice.engines.sql.expressions import boolean, is_missing
from suffice.engines.sql.formula_compiler import write_column, write_entry
from suffice.engines.sql.ibis_rows import IbisRows, category_or_null, number_or_null
from suffice.engines.summarizing import Task
from suffice.families import Summary
from suffice.families.product import Block
from suffice.formulas import Unknown, X
from suffice.model.structure_formulas import number as number_of
from suffice.model.structure_formulas import present

SUMS = (Moments, Totals, Scatter)  # statistics that are sums
VALUES = (Counts, Cells, Sample)  # statistics that are made of distinct values
ELSEWHERE = "pass table.to_pyarrow_batches() instead of the table, so that its rows are read here"


@dataclass(frozen=True)
class SummedBlock:
    """A block of columns, and the names of its columns in queries."""

    block: Block
    columns: tuple[str, ...]

    @property
    def summary(self) -> Summary[Any]:
        """What is summed: a statistic of a formula over the columns."""
        return self.block.family.summary

    @property
    def statistic(self) -> type[Statistic]:
        """The class of its statistic."""
        return self.summary.statistic

    @property
    def family_name(self) -> str:
        """The name of its family, for errors."""
        return type(self.block.family).__name__


class BlockStatistics(NamedTuple):
    """Statistics of some of the blocks, by class; the keys are the positions of the blocks."""

    labels: Values
    weight: Array
    statistics: dict[int, Statistic]


class SqlRows:
    """The rows of positive weight, with columns `y`, `w` if there are weights, and `c0`, `c1`, … of the blocks.

    Columns that a plan has found are blocks after the others.

    With `nan=False` the columns that are summed are not tested for NaN, which takes half the time. NaN then makes the
    sum NaN.
    """

    def __init__(self, table: ir.Table, task: Task, nan: bool | None = None):
        self.task = task
        self.table = table if task.weight is None else table.filter(number_or_null(table[task.weight], nan=False) > 0)
        self.blocks: list[SummedBlock] = []
        self.expressions: dict[str, ir.Value] = {}
        for block in (*task.blocks, *task.found):
            columns = block_expressions(self.table, block, nan)
            names = [f"c{len(self.expressions) + j}" for j in range(len(columns))]
            self.expressions |= dict(zip(names, columns, strict=True))
            self.blocks.append(SummedBlock(block, tuple(names)))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.task.weight is not None

    def check_statistics(self) -> None:
        """Refuse a statistic that SQL cannot compute by aggregates."""
        for block in self.blocks:
            if block.statistic not in (*VALUES, *SUMS):
                raise InvalidDataError(
                    f"SQL cannot compute the statistic of {block.family_name} for {block.block.title!r}: {ELSEWHERE}"
                )

    @cached_property
    def cleaned(self) -> ir.Table:
        """The columns; missing values are NULL."""
        return self.select(**self.expressions)

    def select(self, **columns: ir.Value) -> ir.Table:
        """Return the labels, the weights and some columns."""
        weight = {} if self._weight is None else {"w": self._weight}
        return self.table.select(y=self.label, **weight, **columns)

    @cached_property
    def label(self) -> ir.Value:
        """The label of each row."""
        return category_or_null(self.table[self.task.target])

    @cached_property
    def total_weight(self) -> ir.Value:
        """The weight of all rows: that of each group where rows are grouped."""
        return (self.table.count() if self._weight is None else self._weight.sum()).cast("float64")

    @cached_property
    def _weight(self) -> ir.Value | None:
        return None if self.task.weight is None else number_or_null(self.table[self.task.weight])

    def of(self, *statistics: type[Statistic]) -> dict[int, SummedBlock]:
        """Return the blocks that have one of some statistics, by their positions."""
        return {k: block for k, block in enumerate(self.blocks) if block.statistic in statistics}


# ---- columns


def block_expressions(table: ir.Table, block: Block, nan: bool | None = None) -> list[ir.Value]:
    """Return the expressions that the statistic of a block summarizes; `nan` says whether sums are tested for NaN."""
    family, summary, rows = block.family, block.family.summary, IbisRows(table)
    if family.reads == "text":
        raise InvalidDataError(
            f"Column {block.title!r} is text, whose words SQL cannot count: leave it out, or {ELSEWHERE}"
        )
    if block.found is not None:
        return [write_column(present(block, number_of(block), Unknown()), rows)]
    out = []
    for j, name in enumerate(block.names):
        column = table[name]
        if block.missing:
            out.append(boolean(is_missing(column, rows.nan)))
        elif family.reads == "categories":
            out.append(category_or_null(column))
        else:
            shows_nan = summary.statistic in (*SUMS, Cells) and summary.of is X  # NaN makes a sum NaN, or is a cell
            x = number_or_null(column, nan if shows_nan else None)
            of = summary.of[j] if isinstance(summary.of, tuple) else summary.of
            out.append(x if of is X else ibis.ifelse(x.isnull(), ibis.null("float64"), write_entry(of, x, rows)))
    return out


# ---- queries


@contextmanager
def naming_column(block: SummedBlock) -> Iterator[None]:
    """Name the column of a refused value in the error, but no row: a database has no order of rows."""
    try:
        yield
    except RefusedValueError as error:
        column = block.block.names[error.column] if isinstance(error.column, int) else error.column
        raise InvalidDataError(f"{error.what} Found {error.value} in column {column!r}.{error.advice}") from None


def execute(query: ir.Table, what: str) -> pa.Table:
    """Return the result of a query as an Arrow table; `what` describes it in errors."""
    try:
        return query.to_pyarrow()
    except Exception as error:  # every database has its own
        raise database_error(what, error) from error


def execute_row(table: ir.Table, aggregates: dict[str, ir.Value], what: str) -> dict[str, Any]:
    """Return aggregates over a whole table by name."""
    return execute(table.aggregate(**aggregates), what).to_pylist()[0] if aggregates else {}


def weight_of(t: ir.Table, where: ir.Value | None = None) -> ir.Value:
    """Return the weight of the rows for which a condition is true."""
    counted = t.count(where=where) if "w" not in t.columns else t["w"].sum(where=where)
    return counted.cast("float64")


def database_error(what: str, error: Exception) -> EngineError:
    """Return the error of a database that did not answer."""
    return EngineError(f"The database failed when it was asked for {what}: {type(error).__name__}: {error}")


def class_labels(result: pa.Table, target: str) -> Labels:
    """Return the class of each row of a result, and the sorted labels."""
    if result["y"].null_count:
        weight = max(result.filter(result["y"].is_null())["n"].to_pylist())
        raise InvalidDataError(
            f"Input y contains NaN or null: rows of weight {weight:g} have no label in column {target!r}; "
            "filter them out"
        )
    return frames.label_codes(result["y"], target)


def known_codes(result: pa.Table, target: str, labels: Values) -> Codes:
    """Return the place of the class of each row of a result among labels that are known."""
    found = class_labels(result, target)
    places = label_positions(found.values, labels)
    if places is None:
        raise rows_changed()
    return places[found.codes].astype(np.int32)


def rows_changed() -> EngineError:
    """Return the error of two queries that found different labels."""
    return EngineError("The rows changed between two queries: other labels were found. Fit again, or in a transaction")


def as_array(result: pa.Table, names: Sequence[str]) -> Array:
    """Return columns of a result as float64; NULL, the sum of no rows, is 0."""
    return np.stack([np.nan_to_num(frames.numbers(result[name]), nan=0.0, posinf=np.inf) for name in names], axis=-1)
