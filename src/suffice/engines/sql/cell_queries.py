"""Cells of columns of numbers: a query for each column counts by class and ⌊x / 2^e⌋; some are executed as a union.

The level e is that of `Cells`, the least at which no class has more than `limit` cells. That of some of the rows is at
most that of all. So a random part of the rows shows where to begin, and what is counted there is made coarser here.
Which rows were drawn does not show in the result: where they gave too coarse a level, finer ones are tried.

Exact moments follow from the mean and the variance of the values within each cell, which the same query computes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.core import frames
from suffice.core.arrays import Array, Codes, Values
from suffice.core.errors import EngineError
from suffice.core.statistics import Cells, Moments, Statistic
from suffice.core.statistics.cells import COARSEST, FINEST, coarser, moments_of_columns
from suffice.core.statistics.compensated import rounded
from suffice.core.statistics.sample import Points
from suffice.engines.sql.count_queries import grouped
from suffice.engines.sql.ibis_rows import as_float, without_nan
from suffice.engines.sql.table_columns import (
    BlockStatistics,
    SqlRows,
    SummedBlock,
    class_labels,
    execute,
    execute_row,
    known_codes,
    naming_column,
    weight_of,
)

SAMPLED = 1 << 15  # rows of which all values are counted
DRAWN = 1 << 13  # rows, about, of the class of most rows that show the level to begin with, where there are more
OTHERS = 1 << 11  # rows, about, that are drawn of all other classes together
BLOCKS = 0.25  # share of the blocks of a large table from which rows are drawn
LARGE = 1 << 20  # rows of a large table
SURE = 1.0  # cells for each that is kept, by an estimate that is rather too small, that are surely too many
MOST_ROOM = 64  # cells that may be fetched for each that is kept, if all that were drawn once stood for many
TOGETHER = 10  # columns whose cells are counted by one query
FURTHEST = 2.0**500  # distance in cells whose square does not overflow


def cell_statistics(rows: SqlRows, blocks: Mapping[int, SummedBlock]) -> BlockStatistics:
    """Count the columns of blocks in cells.

    Moments are kept beside the cells of a block where the queries of all its columns could compute them.
    """
    t = rows.select()
    classes = execute(t.group_by("y").aggregate(n=weight_of(t), rows=t.count()), "the weight of each class")
    labels = class_labels(classes, rows.task.target)
    weight, size = (frames.numbers(classes[name])[np.argsort(labels.codes)] for name in ("n", "rows"))
    count = ColumnCells(rows, labels.values)
    begin = count.first_levels(blocks.values(), size)
    return BlockStatistics(labels.values, weight, count.of_blocks(blocks, begin))


class Counted(NamedTuple):
    """The class, the key and the weight of each cell, and the mean and the variance of the places of its values."""

    codes: Codes
    key: Array
    n: Array
    mean: Array | None = None
    variance: Array | None = None


class Begin(NamedTuple):
    """The least level that a column may have, the level to begin with, and whether NaN was drawn."""

    least: int
    level: int
    nan: bool


class Asked(NamedTuple):
    """What a query counts: the cells of a column at a level, by edges that are guarded or not, and moments or not."""

    column: str
    level: int
    guarded: bool = False
    with_moments: bool = False


class ColumnCells:
    """Queries of the cells of columns, for known labels."""

    def __init__(self, rows: SqlRows, labels: Values):
        self.rows, self.labels = rows, labels
        self._together: dict[Asked, list[Asked]] = {}  # what is fetched by one query, by each of its parts
        self._fetched: dict[Asked, pa.Table] = {}

    def of_blocks(self, blocks: Mapping[int, SummedBlock], begin: Mapping[str, Begin]) -> dict[int, Statistic]:
        """Count the columns of blocks, with what drawn rows show of each column."""
        alike: dict[bool, list[Asked]] = {True: [], False: []}  # a union has parts with the same columns
        for block in blocks.values():
            for column in block.columns:
                asked = Asked(column, begin[column].level, with_moments=self._with_moments(block, begin[column]))
                alike[asked.with_moments and asked.level != FINEST].append(asked)
        for some in alike.values():
            for lo in range(0, len(some), TOGETHER):
                group = some[lo : lo + TOGETHER]
                self._together |= dict.fromkeys(group, group) if len(group) > 1 else {}
        return {k: self.of_block(block, begin) for k, block in blocks.items()}

    def _with_moments(self, block: SummedBlock, begin: Begin) -> bool:
        """Return whether the query of a column computes moments: weights or NaN would make them inexact."""
        return block.summary.options.get("exact_moments", False) and not self.rows.weighted and not begin.nan

    def of_block(self, block: SummedBlock, begin: Mapping[str, Begin]) -> Cells:
        """Count every column of a block, and keep exact moments where the same queries compute them."""
        exact_moments = block.summary.options.get("exact_moments", False)
        found = []
        with naming_column(block):
            for column in block.columns:
                with_moments = self._with_moments(block, begin[column])
                found.append(self._cells(column, limit_of(block), begin[column], with_moments))
        level = np.concatenate([cells.level for cells in found])
        parts = tuple(part for cells in found for part in cells.parts)
        out = Cells(parts, level, limit_of(block), exact_moments)
        known = all(cells.kept is not None or cells.exact.all() for cells in found)
        return replace(out, kept=moments_of_columns(found)) if known and not out.exact.all() else out

    def _cells(self, column: str, limit: int, begin: Begin, with_moments: bool) -> Cells:
        least, level = begin.least, begin.level
        for first in (level, max(least, level - 1)):  # one level finer costs less than counting how many there are
            found = self._at_level(column, limit, first, with_moments)
            if found.level[0] > first or first == least:
                return found
        most = first
        level = least
        while least < most:  # seldom: how many cells there are is counted until the level is known
            if self._count(column, level) > limit:
                least = level + 1
            else:
                most = level
            level = (least + most) // 2
        return self._at_level(column, limit, most, with_moments)

    def _at_level(self, column: str, limit: int, level: int, with_moments: bool) -> Cells:
        """Count in cells of a level, or of the least coarser one at which no class has more than `limit`."""
        classes, kept = len(self.labels), None
        counted = self._unguarded(column, level, with_moments)
        if FINEST < level < 0 and (counted is None or np.isinf(counted.key).any()):
            counted = self._counted(column, level, guarded=True)
            edge = counted.key
        else:
            counted = counted or self._counted(column, level)  # which raises the error again
            edge = edges_of(counted.key, level)
            kept = _moments(counted, level, classes) if with_moments else None
        found = Cells.of(edge[:, None], counted.codes, classes, counted.n, limit=limit)
        reached = np.maximum(found.level, np.int32(level))
        (part,) = found.parts
        part = replace(part, rest=rounded(part.weight))
        return replace(found, parts=(part,), level=reached, kept=None if (reached == FINEST).all() else kept)

    def _unguarded(self, column: str, level: int, with_moments: bool) -> Counted | None:
        """Count in cells, without moments if there is NaN; None where the database refuses to multiply."""
        for moments in (True, False) if with_moments else (False,):
            with suppress(EngineError):
                return self._counted(column, level, with_moments=moments)
        return None

    def _counted(self, column: str, level: int, guarded: bool = False, with_moments: bool = False) -> Counted:
        result = self._result(Asked(column, level, guarded, with_moments))
        names = (name for name in ("k", "n", "mean", "variance") if name in result.column_names)
        return Counted(self._codes(result), *(frames.numbers(result[name]) for name in names))

    def _result(self, asked: Asked) -> pa.Table:
        """Return the result of a query, which may be fetched with those of other columns."""
        if asked in self._together:
            self._fetch(self._together[asked])
        if asked in self._fetched:
            return self._fetched.pop(asked)
        return execute(self._query(asked), f"the cells of {asked.column!r}")

    def _fetch(self, group: list[Asked]) -> None:
        """Fetch the results of several queries by a union; if that fails, each is to be executed by itself."""
        for each in group:
            del self._together[each]
        parts = [self._query(each).mutate(which=ibis.literal(i, "int64")) for i, each in enumerate(group)]
        with suppress(EngineError):
            result = execute(ibis.union(*parts), "the cells of some columns")
            which = frames.numbers(result["which"])
            self._fetched |= {each: result.take(np.flatnonzero(which == i)) for i, each in enumerate(group)}

    def _query(self, asked: Asked) -> ir.Table:
        """Return the query: y, the key k and the weight n of each cell, and the mean and variance of places."""
        x = self.rows.expressions[asked.column]
        key = _key(x, asked.level, asked.guarded)
        aggregates = {"n": self.rows.total_weight}
        if asked.with_moments and asked.level != FINEST:
            place = place_in_sql(x, key, asked.level)
            aggregates |= {"mean": place.mean(), "variance": place.var(how="pop")}
        cells = self.rows.table.group_by(y=self.rows.label, k=key)  # Ibis takes twice as long for a subquery
        return cells.aggregate(**aggregates)

    def _count(self, column: str, level: int) -> int:
        """Return the largest number of cells of a class."""
        keyed = self.rows.select(k=_key(without_nan(self.rows.expressions[column]), level, guarded=level < 0))
        cells = keyed.filter(keyed["k"].notnull()).select("y", "k").distinct()
        by_class = cells.group_by("y").aggregate(cells=cells.count())
        found = execute_row(by_class, {"most": by_class["cells"].max()}, f"the number of cells of {column!r}")
        return found["most"] or 0

    def _codes(self, result: pa.Table) -> Codes:
        """Return the place of each label of a result among those that are known."""
        if not result.num_rows:  # no row was drawn
            return np.zeros(0, np.int32)
        return known_codes(result, self.rows.task.target, self.labels)

    # ---- the level to begin with

    def first_levels(self, blocks: Collection[SummedBlock], size: Array) -> dict[str, Begin]:
        """Return what drawn rows show of each column; classes have `size` rows."""
        out = {}
        draw = Draw.of(size)
        drawn = self._drawn([column for block in blocks for column in block.columns], draw)
        for block in blocks:
            for column in block.columns:
                with naming_column(block):
                    values, codes = drawn(column)
                    cells = Cells.of(values[:, None], codes, len(self.labels), limit=limit_of(block))
                level = _begin(cells, limit_of(block), draw)
                out[column] = Begin(int(cells.level[0]), level, bool(np.isnan(values).any()))
        return out

    def _drawn(self, columns: list[str], draw: Draw) -> Callable[[str], tuple[Array, Codes]]:
        """Draw rows at random, and return a function that gives the values of a column and their classes.

        The values of each column come in order, so that they do not show the rows.
        """
        rows, blocks = self.rows, 1.0
        if draw.of_blocks and rows.table.get_backend().has_operation(ops.Sample):
            blocks = BLOCKS
            rows = SqlRows(rows.table.sample(blocks, method="block"), rows.task, nan=False)
        t = rows.cleaned
        label = ibis.literal(self.labels.tolist()[draw.most], type=t["y"].type())
        own, others = (as_float(ibis.literal(share / blocks)) for share in (draw.own, draw.others))
        part = t.filter(ibis.random() < ibis.ifelse(t["y"] == label, own, others)).select("y", *columns)
        if all(part.get_backend().has_operation(op) for op in (ops.ArrayCollect, ops.ArraySort)):
            lists = part.group_by("y").aggregate(**{c: part[c].collect().sort() for c in columns})
            result = execute(lists, "values of some rows")
            codes = self._codes(result)

            def listed(column: str) -> tuple[Array, Codes]:
                found = result[column].combine_chunks()
                return frames.numbers(pa.chunked_array([found.flatten()])), np.repeat(codes, _lengths(found))

            return listed
        values = grouped(part, [(c,) for c in columns])
        which, all_codes = frames.numbers(values["which"]), self._codes(values)

        def taken(column: str) -> tuple[Array, Codes]:
            own = np.flatnonzero(which == columns.index(column))
            times = frames.numbers(values["n"])[own].astype(np.int64)
            x = frames.numbers(values[column])[own]
            return np.repeat(x, times), np.repeat(all_codes[own], times)

        return taken


class Draw(NamedTuple):
    """Which shares of rows are drawn: those of the class `most`, which has the most rows, and of all other classes."""

    most: int
    own: float
    others: float
    of_blocks: bool  # whether they are drawn from some of the blocks of the table only

    @classmethod
    def of(cls, size: Array) -> Draw:
        """Return the shares where classes have `size` rows: the larger a class, the better it shows the level.

        Rows that are stored together may be alike. A quarter of the blocks then shows a level that is too fine by 2.
        """
        most = int(np.argmax(size))
        own = min(DRAWN / size[most], 1.0)
        others = min(OTHERS / max(size.sum() - size[most], 1.0), 1.0)
        return cls(most, own, others, bool(size.sum() > LARGE and max(own, others) < BLOCKS))

    def stands_for(self, classes: int) -> Array:
        """Return how many rows of each class one that was drawn stands for."""
        return np.where(np.arange(classes) == self.most, 1 / self.own, 1 / self.others)


def limit_of(block: SummedBlock) -> Any:
    """Return the most cells of a class and column."""
    return block.summary.options["limit"]


def _lengths(lists: Any) -> NDArray[np.int64]:
    """Return the lengths of lists; that of a missing one is 0."""
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)


def _begin(cells: Cells, limit: int, draw: Draw) -> int:
    """Return the level to begin with, where drawn rows have `cells`.

    It is the coarsest at which there are likely to be more than `limit` cells, so that the level is known when they
    were counted, and few more.
    """
    (points,) = cells.parts
    rows = draw.stands_for(cells.n_classes)
    least = level = int(cells.level[0])

    def reaches(level: int) -> bool:
        return level <= COARSEST and _likely(coarser(points, level), rows) > SURE * limit

    step = 1
    while reaches(level + step):  # mostly near the least, but far from the finest
        level += step
        step *= 2
    while step > 1:
        step //= 2
        level += step * reaches(level + step)
    most = MOST_ROOM * limit
    while level < COARSEST and _most(points if level == least else coarser(points, level), rows)[draw.most] > most:
        level += 1
    return level


def _likely(points: Points, rows: Array) -> float:
    """Estimate how many cells all rows have, in the class that has most; one drawn stands for `rows` of its class.

    Cells that were drawn once (f₁) and twice (f₂) tell how many were not: at least f₁(f₁ − 1) / 2(f₂ + 1)
    (Chao, 1984).
    """
    once, twice = (_drawn(points, times) for times in (1, 2))
    unseen = np.minimum(once * (once - 1) / (2 * (twice + 1)), once * (rows - 1))
    return float((np.diff(points.start) + unseen).max(initial=0))


def _most(points: Points, rows: Array) -> Array:
    """Return how many cells each class had if each that was drawn once stood for as many as it stands for rows."""
    return np.asarray(np.diff(points.start) + _drawn(points, 1) * (rows - 1))


def _drawn(points: Points, times: int) -> NDArray[np.int64]:
    """Return how many cells of each class were drawn so many times."""
    return np.bincount(points.codes[points.weight == times], minlength=len(points.start) - 1)


# ---- moments


def _moments(counted: Counted, level: int, classes: int) -> Moments | None:
    """Return the moments of the values of a column; None if they were not queried, or overflow.

    They are those of the means of cells, with the squares within cells added. They are computed in widths of a cell and
    from a cell near the values: of values far from 0, no digit of the variance is lost.
    """
    present = ~np.isnan(counted.key)
    key, codes, n = counted.key[present], counted.codes[present], counted.n[present]
    if level == FINEST:
        mean, variance, origin, exponent = np.zeros_like(key), np.zeros_like(key), 0.0, 0
    elif counted.mean is None or counted.variance is None:
        return None
    else:
        mean, variance = counted.mean[present], counted.variance[present]
        origin, exponent = key[0] if len(key) else 0.0, level
    with np.errstate(over="ignore", invalid="ignore"):
        x = key - origin + mean
    if not (np.abs(x) < FURTHEST).all():
        return None
    found = Moments.of(x[:, None], codes, classes, n)
    squares = found.squares + np.bincount(codes, n * variance, classes)[:, None]
    with np.errstate(over="ignore"):
        centre, squares = np.ldexp(origin + found.mean, exponent), np.ldexp(squares, 2 * exponent)
    if not (np.isfinite(centre) & np.isfinite(squares)).all():
        return None
    return Moments(found.weight, np.where(found.weight > 0, centre, 0.0), squares)


# ---- levels in SQL


def _key(x: ir.Value, level: int, guarded: bool) -> ir.Value:
    return edge_in_sql(x, level) if guarded else key_in_sql(x, level)


def key_in_sql(x: ir.Value, level: int) -> ir.Value:
    """Return ⌊x / 2^e⌋, a float64. It is exact: far from 0 the quotient is an integer already, unless it overflows."""
    if level == FINEST:
        return x
    if level <= 0:
        return _floor(_scaled(x, -level))
    near = 2.0 ** (level - 1)  # what is nearer to 0 might be rounded to 0, or refused for that
    inside = ibis.ifelse(x < 0, as_float(ibis.literal(-1.0)), as_float(ibis.literal(0.0)))
    return ibis.ifelse((x > -near) & (x < near), inside, _floor(_scaled(x, -level)))


def edge_in_sql(x: ir.Value, level: int) -> ir.Value:
    """Return the lower edge of the cell, ⌊x / 2^e⌋ · 2^e, at a negative level: no step overflows."""
    if level == FINEST:
        return x
    far = 2.0 ** (level + 52)  # whose multiples of 2^e are all numbers from there on
    return ibis.ifelse((x > -far) & (x < far), _scaled(_floor(_scaled(x, -level)), level), x)


def place_in_sql(x: ir.Value, key: ir.Value, level: int) -> ir.Value:
    """Return the place of a value in its cell, x / 2^e − ⌊x / 2^e⌋; what might be rounded to 0, or refused, is 0."""
    if level > 0:
        near = 2.0 ** (level - 60)
        x = ibis.ifelse((x > -near) & (x < near), as_float(ibis.literal(0.0)), x)
    return _scaled(x, -level) - key


def edges_of(key: Array, level: int) -> Array:
    """Return the lower edges of cells by their keys: see `edges`."""
    if level == FINEST:
        return key
    with np.errstate(over="ignore"):
        edge = np.ldexp(key, level)
    return np.where(edge == -np.inf, np.where(key == -np.inf, key, np.finfo(np.float64).min), edge)


@ibis.udf.scalar.builtin(name="floor")  # type: ignore[untyped-decorator]  # Ibis has no types for it
def _floor(x: float) -> float:  # type: ignore[empty-body]  # the database has it; that of Ibis becomes an integer
    ...


def _scaled(x: ir.Value, exponent: int) -> ir.Value:
    """Return x · 2^exponent, by factors that every database reads exactly."""
    for power in _powers(abs(exponent)):
        factor = as_float(ibis.literal(power))
        x = x * factor if exponent > 0 else x / factor
    return x


def _powers(exponent: int) -> Iterator[float]:
    while exponent:
        step = min(exponent, 52)
        yield 2.0**step
        exponent -= step
