"""Moments, totals and scatter by sums: one query for all of them, grouped by the label.

Squares are summed about a point near the middle. About 0, the difference from the square of the mean would lose all
digits if the mean is large. Without weights the point is the mean of the column's first rows, and the database computes
the variance. With weights, and for products of columns, it is the mean of the class, which a subquery computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError
from suffice.core.statistics import Cells, Moments, Sample, Scatter, Statistic, Totals
from suffice.engines.sql.table_columns import (
    ELSEWHERE,
    BlockStatistics,
    SqlRows,
    SummedBlock,
    as_array,
    class_labels,
    execute,
    weight_of,
)

Aggregates = dict[str, ir.Value]
Middles = Mapping[str, float]


class Query(NamedTuple):
    """How a statistic is computed: aggregates by name, and the statistic from their values."""

    aggregates: Callable[[ir.Table, SummedBlock, Middles], Aggregates]
    statistic: Callable[[pa.Table, SummedBlock, Middles], Statistic]


class NotFiniteError(Exception):
    """A sum is NaN or infinite: an entry is, or the sum is too large."""


def sum_statistics(rows: SqlRows, wanted: Mapping[int, SummedBlock], middles: Middles) -> BlockStatistics:
    """Compute sums of blocks, in one query about given middles of columns: of cells, the moments kept beside them."""
    t = rows.cleaned
    if rows.weighted or any(block.statistic is Scatter for block in wanted.values()):
        t = _centred(t, [c for block in wanted.values() if block.statistic is not Totals for c in block.columns])
    aggregates = {"n": weight_of(t)}
    for block in wanted.values():
        aggregates |= QUERIES[block.statistic].aggregates(t, block, middles)
    result = execute(t.group_by("y").aggregate(**aggregates), "sums by class")
    if not all(np.isfinite(np.asarray(result[name].drop_null(), dtype=np.float64)).all() for name in aggregates):
        raise NotFiniteError("sums by class")
    labels = class_labels(result, rows.task.target)
    result = result.take(np.argsort(labels.codes))
    statistics = {k: QUERIES[block.statistic].statistic(result, block, middles) for k, block in wanted.items()}
    return BlockStatistics(labels.values, as_array(result, ["n"])[:, 0], statistics)


def _centred(t: ir.Table, columns: list[str]) -> ir.Table:
    """Add the means m_c0, m_c1, … of its class to every row."""
    centres = t.group_by("y").aggregate(**{f"m_{c}": t[c].mean() for c in columns}).rename(label="y")
    return t.left_join(centres, t["y"] == centres["label"])  # rows without a label stay, to be refused


def _weighted_sum(t: ir.Table, x: ir.Value) -> ir.Value:
    """Return Σ w·x."""
    return (x * t["w"] if "w" in t.columns else x).sum()


def _arrays(result: pa.Table, columns: Sequence[str], *prefixes: str) -> list[Array]:
    """Return the aggregates `prefix_column` of a result, (classes, columns) for each prefix."""
    return [as_array(result, [f"{prefix}_{c}" for c in columns]) for prefix in prefixes]


# ---- Moments


def _moments(t: ir.Table, block: SummedBlock, middles: Middles) -> Aggregates:
    out: Aggregates = {}
    for c in block.columns:
        if "w" in t.columns:
            z = t[c] - t[f"m_{c}"]
            out |= {f"n_{c}": weight_of(t, t[c].notnull()), f"mid_{c}": t[f"m_{c}"].max()}
            out |= {f"z_{c}": _weighted_sum(t, z), f"zz_{c}": _weighted_sum(t, z * z)}
        else:
            z = t[c] - middles[c]
            out |= {f"n_{c}": t[c].count(), f"z_{c}": z.mean(), f"zz_{c}": z.var(how="pop")}
    return out


def _as_moments(result: pa.Table, block: SummedBlock, middles: Middles) -> Moments:
    weight, z, zz = _arrays(result, block.columns, "n", "z", "zz")
    if f"mid_{block.columns[0]}" in result.column_names:
        (middle,) = _arrays(result, block.columns, "mid")
        step = np.divide(z, weight, out=np.zeros_like(z), where=weight > 0)
        mean, squares = middle + step, np.maximum(zz - step * z, 0.0)
    else:
        mean, squares = np.array([middles[c] for c in block.columns]) + z, zz * weight
    return Moments(weight, np.where(weight > 0, mean, 0.0), squares)


# ---- Totals


def _totals(t: ir.Table, block: SummedBlock, middles: Middles) -> Aggregates:  # noqa: ARG001  # entries are ≥ 0
    out: Aggregates = {}
    for c in block.columns:
        out |= {f"n_{c}": weight_of(t, t[c].notnull()), f"x_{c}": _weighted_sum(t, t[c])}
    return out


def _as_totals(result: pa.Table, block: SummedBlock, middles: Middles) -> Totals:  # noqa: ARG001
    return Totals(*_arrays(result, block.columns, "n", "x")).trimmed().rounded()


# ---- Scatter


def _scatter(t: ir.Table, block: SummedBlock, middles: Middles) -> Aggregates:  # noqa: ARG001  # classes have their own
    if block.summary.options.get("fourth"):
        raise InvalidDataError(
            f"Shrinkage by Ledoit and Wolf needs products of squares, which no query computes: {ELSEWHERE}"
        )
    complete = reduce(and_, (t[c].notnull() for c in block.columns))
    first = block.columns[0]
    out = {f"n_{first}": weight_of(t, complete), f"incomplete_{first}": (~complete).sum()}
    z = {c: ibis.ifelse(complete, t[c] - t[f"m_{c}"], ibis.null("float64")) for c in block.columns}
    for i, a in enumerate(block.columns):
        out |= {f"mid_{a}": t[f"m_{a}"].max(), f"z_{a}": _weighted_sum(t, z[a])}
        out |= {f"zz_{a}_{b}": _weighted_sum(t, z[a] * z[b]) for b in block.columns[i:]}
    return out


def _as_scatter(result: pa.Table, block: SummedBlock, middles: Middles) -> Scatter:  # noqa: ARG001
    first, d = block.columns[0], len(block.columns)
    incomplete = int(as_array(result, [f"incomplete_{first}"]).sum())
    if incomplete and not block.summary.options.get("complete"):
        raise InvalidDataError(
            f"{incomplete} rows have missing values in {', '.join(map(repr, block.block.names))}, and SQL cannot learn "
            f"from them: filter them out, set missing='complete', or {ELSEWHERE}"
        )
    weight = as_array(result, [f"n_{first}"])[:, 0]
    middle, z = _arrays(result, block.columns, "mid", "z")
    step = np.divide(z, weight[:, None], out=np.zeros_like(z), where=weight[:, None] > 0)
    upper = np.triu_indices(d)
    pairs = [f"zz_{block.columns[i]}_{block.columns[j]}" for i, j in zip(*upper, strict=True)]
    cross = np.zeros((len(weight), d, d))
    cross[:, upper[0], upper[1]] = as_array(result, pairs)
    cross[:, upper[1], upper[0]] = cross[:, upper[0], upper[1]]
    cross -= step[:, :, None] * z[:, None, :]
    mean = np.where(weight[:, None] > 0, middle + step, 0.0)
    return Scatter(weight, mean, 0.5 * (cross + cross.transpose(0, 2, 1)), Sample.empty(len(weight), d, joint=True))


QUERIES: dict[type[Statistic], Query] = {
    Moments: Query(_moments, _as_moments),
    Cells: Query(_moments, _as_moments),
    Totals: Query(_totals, _as_totals),
    Scatter: Query(_scatter, _as_scatter),
}
