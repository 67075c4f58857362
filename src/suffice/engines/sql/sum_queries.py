"""Moments, totals and scatter by sums: one query for all of them, grouped by the label.

Squares are summed about a point near the middle and never about 0, whose difference from the square of the mean would
lose every digit where the mean is large. Without weights that point is the mean of the column's first rows, and the
database's own variance does the rest; with weights, and for products of columns, it is the mean of the class, which a
subquery finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import ibis
import numpy as np

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError
from suffice.core.statistics import Moments, Sample, Scatter, Statistic, Totals
from suffice.engines.sql.table_columns import ELSEWHERE, Part, Rows, array, classes, run


class Query(NamedTuple):
    """What a statistic is made of: aggregates by name, and what to make of their values."""

    aggregates: Callable[[Any, Part, Mapping[str, float]], dict[str, Any]]
    statistic: Callable[[Any, Part, Mapping[str, float]], Statistic]


class NotFiniteError(Exception):
    """A sum is NaN or infinite: so is an entry, or the sum is too large."""


class Found(NamedTuple):
    """Statistics of some of the blocks, by class."""

    labels: Values
    weight: Array
    parts: dict[int, Statistic]


def sums(rows: Rows, means: Mapping[str, float]) -> Found:
    """The statistics that are sums, in one query about the given middles of columns."""
    wanted = rows.of(*QUERIES)
    t = rows.cleaned
    if rows.weighted or any(part.kind is Scatter for part in wanted):
        t = _centred(t, [c for part in wanted if part.kind is not Totals for c in part.columns])
    asked = {"n": _weight(t)}
    for part in wanted:
        asked |= QUERIES[part.kind].aggregates(t, part, means)
    found = run(t.group_by("y").aggregate(**asked), "sums by class")
    if not all(np.isfinite(np.asarray(found[name].drop_null(), dtype=np.float64)).all() for name in asked):
        raise NotFiniteError("sums by class")
    codes, labels = classes(found, rows.task.target)
    found = found.take(np.argsort(codes))
    made = {k: part for k, part in enumerate(rows.parts) if part in wanted}
    statistics = {k: QUERIES[part.kind].statistic(found, part, means) for k, part in made.items()}
    return Found(labels, array(found, ["n"])[:, 0], statistics)


def _centred(t: Any, columns: list[str]) -> Any:
    """Every row beside the means m_c0, m_c1, … of its class."""
    centres = t.group_by("y").aggregate(**{f"m_{c}": t[c].mean() for c in columns}).rename(label="y")
    return t.left_join(centres, t["y"] == centres["label"])  # rows without a label stay, to be refused


def _weight(t: Any, where: Any = None) -> Any:
    """The weight of the rows for which something holds."""
    counted = t.count(where=where) if "w" not in t.columns else t["w"].sum(where=where)
    return counted.cast("float64")


def _weighed(t: Any, x: Any) -> Any:
    """Σ w·x."""
    return (x * t["w"] if "w" in t.columns else x).sum()


# ---- Moments


def _moments(t: Any, part: Part, means: Mapping[str, float]) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    for c in part.columns:
        if "w" in t.columns:
            z = t[c] - t[f"m_{c}"]
            asked |= {f"n_{c}": _weight(t, t[c].notnull()), f"mid_{c}": t[f"m_{c}"].max()}
            asked |= {f"z_{c}": _weighed(t, z), f"zz_{c}": _weighed(t, z * z)}
        else:
            z = t[c] - means[c]
            asked |= {f"n_{c}": t[c].count(), f"z_{c}": z.mean(), f"zz_{c}": z.var(how="pop")}
    return asked


def _as_moments(found: Any, part: Part, means: Mapping[str, float]) -> Moments:
    weight, z, zz = (array(found, [f"{what}_{c}" for c in part.columns]) for what in ("n", "z", "zz"))
    if "mid_" + part.columns[0] in found.column_names:
        middle = array(found, [f"mid_{c}" for c in part.columns])
        step = np.divide(z, weight, out=np.zeros_like(z), where=weight > 0)
        mean, squares = middle + step, np.maximum(zz - step * z, 0.0)
    else:
        mean, squares = np.array([means[c] for c in part.columns]) + z, zz * weight
    return Moments(weight, np.where(weight > 0, mean, 0.0), squares)


# ---- Totals


def _totals(t: Any, part: Part, means: Mapping[str, float]) -> dict[str, Any]:  # noqa: ARG001  # sums of what is ≥ 0
    asked: dict[str, Any] = {}
    for c in part.columns:
        asked |= {f"n_{c}": _weight(t, t[c].notnull()), f"x_{c}": _weighed(t, t[c])}
    return asked


def _as_totals(found: Any, part: Part, means: Mapping[str, float]) -> Totals:  # noqa: ARG001
    weight, total = (array(found, [f"{what}_{c}" for c in part.columns]) for what in ("n", "x"))
    return Totals(weight, total).trimmed()


# ---- Scatter


def _scatter(t: Any, part: Part, means: Mapping[str, float]) -> dict[str, Any]:  # noqa: ARG001  # classes have theirs
    if part.options.get("fourth"):
        raise InvalidDataError(
            f"Shrinkage by Ledoit and Wolf needs products of squares, which are not asked of a database: {ELSEWHERE}"
        )
    complete = reduce(and_, (t[c].notnull() for c in part.columns))
    first = part.columns[0]
    asked = {f"n_{first}": _weight(t, complete), f"gaps_{first}": (~complete).sum()}
    z = {c: ibis.ifelse(complete, t[c] - t[f"m_{c}"], ibis.null("float64")) for c in part.columns}
    for i, a in enumerate(part.columns):
        asked |= {f"mid_{a}": t[f"m_{a}"].max(), f"z_{a}": _weighed(t, z[a])}
        asked |= {f"zz_{a}_{b}": _weighed(t, z[a] * z[b]) for b in part.columns[i:]}
    return asked


def _as_scatter(found: Any, part: Part, means: Mapping[str, float]) -> Scatter:  # noqa: ARG001
    first, d = part.columns[0], len(part.columns)
    gaps = int(array(found, [f"gaps_{first}"]).sum())
    if gaps and not part.options.get("complete"):
        raise InvalidDataError(
            f"{gaps} rows have gaps in {', '.join(map(repr, part.block.names))}, and are learned from as they are, "
            f"which SQL cannot do: filter them out, set missing='complete', or {ELSEWHERE}"
        )
    weight = array(found, [f"n_{first}"])[:, 0]
    middle, z = (array(found, [f"{what}_{c}" for c in part.columns]) for what in ("mid", "z"))
    step = np.divide(z, weight[:, None], out=np.zeros_like(z), where=weight[:, None] > 0)
    upper = np.triu_indices(d)
    pairs = [f"zz_{part.columns[i]}_{part.columns[j]}" for i, j in zip(*upper, strict=True)]
    cross = np.zeros((len(weight), d, d))
    cross[:, upper[0], upper[1]] = array(found, pairs)
    cross[:, upper[1], upper[0]] = cross[:, upper[0], upper[1]]
    cross -= step[:, :, None] * z[:, None, :]
    mean = np.where(weight[:, None] > 0, middle + step, 0.0)
    return Scatter(weight, mean, 0.5 * (cross + cross.transpose(0, 2, 1)), Sample.empty(len(weight), d, joint=True))


QUERIES: dict[type[Statistic], Query] = {
    Moments: Query(_moments, _as_moments),
    Totals: Query(_totals, _as_totals),
    Scatter: Query(_scatter, _as_scatter),
}
