"""A table of a database as families read it: labels, weights and columns, as expressions of Ibis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis
import numpy as np

from suffice.core import frames
from suffice.core.errors import EngineError, InvalidDataError, RefusedValueError
from suffice.core.statistics import Counts, Moments, Sample, Scatter, Statistic, Totals
from suffice.engines.sql.expressions import boolean, category, missing, number
from suffice.engines.sql.formula_compiler import entry
from suffice.engines.summarizing import Task
from suffice.families import Summary
from suffice.families.product import Block
from suffice.formulas import X

SUMS = (Moments, Totals, Scatter)  # kinds of statistics that are sums
ELSEWHERE = "pass table.to_pyarrow_batches() instead of the table, to have its rows learned here"


@dataclass(frozen=True)
class Part:
    """A block of columns, and what its columns are called in queries."""

    block: Block
    columns: tuple[str, ...]

    @property
    def summary(self) -> Summary[Any]:
        """What is summed: a statistic of a formula over the columns."""
        return self.block.family.summary

    @property
    def kind(self) -> type[Statistic]:
        """The kind of its statistic."""
        return self.summary.statistic

    @property
    def options(self) -> dict[str, Any]:
        """The options of its statistic."""
        return self.summary.options


class Rows:
    """The rows that count, with columns `y`, `w` where there are weights, and `c0`, `c1`, … as the blocks read them.

    Where sums need not look for NaN (`nan` is False), which would show in them, they take half the time.
    """

    def __init__(self, table: Any, task: Task, nan: bool | None = None):
        self.task = task
        self.table = table if task.weight is None else table.filter(number(table[task.weight], nan=False) > 0)
        self.parts = []
        names: dict[str, Any] = {}
        for block in task.blocks:
            own = [f"c{len(names) + j}" for j in range(len(block.names))]
            names |= dict(zip(own, columns(self.table, block, nan), strict=True))
            self.parts.append(Part(block, tuple(own)))
        self.expressions = names

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.task.weight is not None

    def check_kinds(self) -> None:
        """Refuse a statistic that no aggregate of SQL gives."""
        for part in self.parts:
            if part.kind not in (Counts, Moments, Sample, Scatter, Totals):
                raise InvalidDataError(
                    f"{type(part.block.family).__name__} of {part.block.title!r} is not made of what SQL can sum up: "
                    f"{ELSEWHERE}"
                )

    @cached_property
    def cleaned(self) -> Any:
        """The columns, gaps as NULL."""
        weight = {} if self.task.weight is None else {"w": number(self.table[self.task.weight])}
        return self.table.select(y=category(self.table[self.task.target]), **weight, **self.expressions)

    def of(self, *kinds: type) -> list[Part]:
        """The blocks whose statistic is of one of some kinds."""
        return [part for part in self.parts if part.kind in kinds]


# ---- columns


def columns(table: Any, block: Block, nan: bool | None = None) -> list[Any]:
    """The columns of a block as its statistic summarizes them; `nan` says whether to look for NaN in sums."""
    family = block.family
    if family.reads == "text":
        raise InvalidDataError(
            f"Column {block.title!r} is text, whose words SQL cannot count: leave it out, or {ELSEWHERE}"
        )
    found = []
    summary = block.family.summary
    for j, name in enumerate(block.names):
        column = table[name]
        if block.missing:
            found.append(boolean(missing(column)))
        elif family.reads == "categories":
            found.append(category(column))
        else:
            shows = summary.statistic in SUMS and summary.of is X  # NaN in an entry makes the sum NaN
            x = number(column, nan if shows else None)
            of = summary.of[j] if isinstance(summary.of, tuple) else summary.of
            found.append(x if of is X else ibis.ifelse(x.isnull(), ibis.null("float64"), entry(of, x)))
    return found


# ---- asking


@contextmanager
def without_rows(part: Part) -> Iterator[None]:
    """Say which column holds a value that is refused, but not in which row: the database has those in no order."""
    try:
        yield
    except RefusedValueError as error:
        column = part.block.names[error.column] if isinstance(error.column, int) else error.column
        raise InvalidDataError(f"{error.what} Found {error.value} in column {column!r}.{error.advice}") from None


def run(query: Any, what: str) -> Any:
    """The answer to a query, as Arrow has it."""
    try:
        return query.to_pyarrow()
    except Exception as error:  # every database has its own
        raise failed(what, error) from error


def failed(what: str, error: Exception) -> EngineError:
    """The error of a database that did not answer."""
    return EngineError(f"The database failed when it was asked for {what}: {type(error).__name__}: {error}")


def classes(found: Any, target: str) -> tuple[Any, Any]:
    """The class of each row of an answer, and the labels, sorted."""
    if found["y"].null_count:
        rows = max(found.filter(found["y"].is_null())["n"].to_pylist())
        raise InvalidDataError(
            f"Input y contains NaN or null: rows of weight {rows:g} have no label in column {target!r}; filter them out"
        )
    codes = frames.label_codes(found["y"], target)
    return codes.codes, codes.values


def array(found: Any, names: Sequence[str]) -> Any:
    """Columns of an answer as float64, NULL as 0: what nothing was summed up to."""
    return np.stack([np.nan_to_num(frames.numbers(found[name]), nan=0.0, posinf=np.inf) for name in names], axis=-1)
