"""Counts of pairs of columns by a plan: the codes of two columns are grouped by the database.

The code of a column is the formula by which a model reads it, so the counts are those of the same rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from suffice.core import frames
from suffice.core.arrays import Positions, Values
from suffice.core.statistics import Pairs
from suffice.core.statistics.compensated import rounded
from suffice.core.statistics.pairs import cell_offsets
from suffice.engines.sql.count_queries import grouped
from suffice.engines.sql.formula_compiler import write_column
from suffice.engines.sql.ibis_rows import IbisRows
from suffice.engines.sql.table_columns import SqlRows, known_codes
from suffice.families.pair_plan import PairPlan
from suffice.model.structure_formulas import code

MOST_SETS = 100  # pairs of one query
MOST_CELLS = 1 << 18  # of the pairs of one query, which is what may be fetched at a time


def pair_statistics(rows: SqlRows, plan: PairPlan, labels: Values) -> Pairs:
    """Count the pairs of a plan, some of them with each query."""
    blocks = [each.block for each in rows.blocks]
    source = IbisRows(rows.table)
    codes = [write_column(code(column, blocks[column.block]), source).cast("int64") for column in plan.columns]
    offsets = cell_offsets(plan.sizes, plan.pairs)
    weight = np.zeros((len(labels), int(offsets[-1])))
    for some in _divided(plan, len(labels)):
        used = np.unique(plan.pairs[:, some]).tolist()
        t = rows.select(**{f"k{i}": codes[i] for i in used})
        result = grouped(t, [(f"k{i}", f"k{j}") for i, j in plan.pairs[:, some].T.tolist()])
        classes, which = known_codes(result, rows.task.target, labels), frames.numbers(result["which"])
        for own, q in enumerate(some.tolist()):
            at = np.flatnonzero(which == own)
            i, j = plan.pairs[:, q].tolist()
            cell, present = _cells(result.take(at), f"k{i}", f"k{j}", int(plan.sizes[j]))
            weight[classes[at][present], offsets[q] + cell] = frames.numbers(result["n"])[at][present]
    return Pairs(plan.sizes, plan.pairs, weight, rounded(weight))


def _divided(plan: PairPlan, classes: int) -> Iterator[Positions]:
    """Divide the pairs among queries."""
    cells = classes * plan.sizes[plan.pairs[0]] * plan.sizes[plan.pairs[1]]
    lo = 0
    while lo < len(cells):
        fitting = int(np.searchsorted(np.cumsum(cells[lo:]), MOST_CELLS, side="right"))
        hi = lo + min(max(fitting, 1), MOST_SETS)
        yield np.arange(lo, min(hi, len(cells)))
        lo = hi


def _cells(result: pa.Table, first: str, second: str, width: int) -> tuple[Positions, Positions]:
    """Return the cells of groups in the table of a pair, and which groups these are: those whose codes are known."""
    a, b = frames.numbers(result[first]), frames.numbers(result[second])
    present = np.flatnonzero(~(np.isnan(a) | np.isnan(b)))
    return (a[present] * width + b[present]).astype(np.int64), present
