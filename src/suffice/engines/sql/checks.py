"""Checks of rows before they are summed: whether they can be learned from, and where the middle of a column is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ibis.expr.types as ir
import numpy as np

from suffice.core.arrays import LEAST_WEIGHT, MOST_WEIGHT, WEIGHTS_ARE
from suffice.core.errors import InvalidDataError
from suffice.core.statistics import Cells, Counts, Moments, Sample, Totals
from suffice.engines.sql.expressions import has_fraction
from suffice.engines.sql.ibis_rows import number_or_null
from suffice.engines.sql.table_columns import (
    ELSEWHERE,
    SUMS,
    SqlRows,
    SummedBlock,
    block_expressions,
    execute_row,
    naming_column,
)
from suffice.formulas import X

FIRST_ROWS = 1000  # rows whose mean is taken as the middle of a column
MOST_VALUES = 10_000  # distinct values of a column that are fetched


def check_weights(table: ir.Table, name: str) -> None:
    """Refuse weights that are not numbers, are missing, negative, infinite or out of range, or are all 0."""
    column = table[name]
    if not (column.type().is_numeric() or column.type().is_boolean()):
        raise InvalidDataError(f"Column {name!r} holds {column.type()}, which cannot be read as weights")
    weight = number_or_null(column)
    out = (weight != 0) & ~weight.between(LEAST_WEIGHT, MOST_WEIGHT)
    aggregates = {"rows": table.count(), "missing": weight.isnull().sum(), "least": weight.min(), "most": weight.max()}
    aggregates["out"] = out.sum()
    found = execute_row(table, aggregates, "the weights")
    if found["missing"]:
        raise InvalidDataError(f"{found['missing']} rows have no weight in column {name!r}")
    if found["rows"] and (found["least"] < 0 or np.isinf(found["most"])):
        what = "Negative values" if found["least"] < 0 else "Infinity"
        raise InvalidDataError(
            f"{what} in the weights of column {name!r}: it holds {found['least']} to {found['most']}"
        )
    if found["out"]:
        raise InvalidDataError(f"{found['out']} rows have weights out of range in column {name!r}. {WEIGHTS_ARE}")
    if found["rows"] and not found["most"]:
        raise InvalidDataError("The total weight of all rows is zero: there is nothing to learn from")


def middles(rows: SqlRows, summed: Iterable[SummedBlock]) -> dict[str, float]:
    """Return the mean of the first rows of each column of blocks: sums are taken of differences from it."""
    first = rows.table.limit(FIRST_ROWS)
    aggregates = {}
    for block in summed:
        for c, x in zip(block.columns, block_expressions(first, block.block), strict=True):
            aggregates[c] = x.mean()
    found = execute_row(first, aggregates, "the middle of columns")
    return {c: mean if mean is not None and np.isfinite(mean) else 0.0 for c, mean in found.items()}


def refuse_values(rows: SqlRows, thoroughly: bool = False) -> None:
    """Refuse numbers that would be refused in memory, and columns of too many values to fetch.

    Infinite numbers make a sum infinite. So families that accept all finite numbers are only checked `thoroughly`.
    """
    of_numbers = [b for b in rows.of(*SUMS, Cells).values() if not b.block.missing and b.block.found is None]
    summed = [b for b in of_numbers if thoroughly or _refuses_numbers(b)]
    binned = [b for b in rows.of(Counts).values() if b.summary.of is not X and not b.block.missing]
    sampled = [*rows.of(Sample).values(), *(b for b in rows.of(Cells).values() if b.summary.options["limit"] is None)]
    aggregates = {name: value for block in (*summed, *binned) for name, value in _extremes(rows, block).items()}
    aggregates |= {f"d_{c}": rows.expressions[c].approx_nunique() for block in sampled for c in block.columns}
    found = execute_row(rows.table, aggregates, "the extremes of columns")
    for block in (*summed, *binned):
        _refuse_extremes(block, found)
    for block in sampled:
        _refuse_too_many(block, found)


def _refuses_numbers(block: SummedBlock) -> bool:
    """Return whether some finite numbers are refused."""
    return block.statistic is Totals or bool(block.block.family.support.expected)


def _extremes(rows: SqlRows, block: SummedBlock) -> dict[str, ir.Value]:
    """Return the least and the greatest number of each column, and one that is not an integer."""
    out: dict[str, ir.Value] = {}
    for c, name in zip(block.columns, block.block.names, strict=True):
        column = rows.table[name]
        x = number_or_null(column)
        integers = column.type().is_integer() or column.type().is_boolean()
        fraction = x.min() if integers else x.max(where=has_fraction(x))
        out |= {f"least_{c}": x.min(), f"most_{c}": x.max(), f"fraction_{c}": fraction}
    return out


def _refuse_extremes(block: SummedBlock, found: dict[str, Any]) -> None:
    """Pass the extremes to the family and its statistic, which refuse them as they would refuse any row."""
    family = block.block.family
    x = np.array(
        [[found[f"{what}_{c}"] for c in block.columns] for what in ("least", "most", "fraction")], dtype=np.float64
    )
    with naming_column(block):
        entries = family.summary.entries(family.read(x))
        if block.statistic is Totals:
            Totals.of(entries, np.zeros(len(x), np.int32), 1, **block.summary.statistic_options)
        elif block.statistic is not Counts:
            Moments.of(entries, np.zeros(len(x), np.int32), 1)


def _refuse_too_many(block: SummedBlock, found: dict[str, Any]) -> None:
    if block.summary.options.get("joint"):
        raise InvalidDataError(
            f"{block.family_name} needs whole rows of {block.block.title}, and no row leaves the database: {ELSEWHERE}"
        )
    names = block.block.names if block.block.found is None else (block.block.title,)
    for c, name in zip(block.columns, names, strict=True):
        if found[f"d_{c}"] > MOST_VALUES:
            raise InvalidDataError(
                f"{block.family_name} needs the values of column {name!r}, which has about {found[f'd_{c}']}; at most "
                f"{MOST_VALUES} are fetched from a database. Name a family that needs only sums, such as Gaussian, "
                f"round the values, or {ELSEWHERE}"
            )
