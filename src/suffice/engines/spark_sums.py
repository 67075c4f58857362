"""Moments by Spark's own sums: handing rows to Python costs Spark more time than adding them up.

With a point p near the middle of a column, estimated from the first rows, Σ w, Σ w (x − p) and Σ w (x − p)² of a class
give its mean and its centred squares. Digits are lost where p is many standard deviations away from the class: None is
then returned, and Python summarizes the rows. The same goes for rows that are to be refused: only Python says why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import BooleanType, NumericType

from suffice.core import frames
from suffice.core.frames import as_frame
from suffice.core.statistics import ByClass, Moments
from suffice.engines.summarizing import Task
from suffice.formulas import X
from suffice.model.forms import in_form

MOST_COLUMNS = 80  # of more than a hundred fields Spark makes no code of its own
FARTHEST = 100.0  # standard deviations between p and a class: four digits of sixteen


def moments(frame: DataFrame, task: Task, first: Any) -> ByClass[Moments] | None:
    """The moments of a frame of the columns of a task, in their order but under names of its own.

    `first` has a few of its rows. Returns None where Python has to read all of them.
    """
    if not _applies(frame, task) or not first.num_rows:
        return None
    with np.errstate(invalid="ignore"):
        x = in_form(as_frame(first).select(task.names), "numbers")
        present = np.isfinite(x)
        middle = np.where(present, x, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    groups = _shifted(frame, task, middle).groupBy("y")
    full = task.weight is None and not np.isnan(x).any()  # then entries need not be counted column by column
    found = groups.agg(*_sums(task, full)).toArrow()
    if full and found.num_rows and frames.numbers(found["refused"]).any():
        found = groups.agg(*_sums(task, full=False)).toArrow()
    if not found.num_rows or found["y"].is_null(nan_is_null=True).to_numpy().any():
        return None
    return _as_moments(found, middle)


def _applies(frame: DataFrame, task: Task) -> bool:
    """Whether numbers are summed as they are."""
    if task.form != "numbers" or task.family.summary.statistic is not Moments or task.family.summary.of is not X:
        return False
    kinds = dict(zip(task.columns, (field.dataType for field in frame.schema.fields), strict=True))
    read = [kind for name, kind in kinds.items() if name != task.target]
    return len(read) <= MOST_COLUMNS and all(isinstance(kind, (NumericType, BooleanType)) for kind in read)


def _shifted(frame: DataFrame, task: Task, middle: Any) -> DataFrame:
    """Labels `y`, weights `w` where there are any, and `z0`, `z1`, …: x − p, NULL where an entry is missing."""
    names = dict(zip(task.columns, frame.columns, strict=True))
    asked = [f"{names[task.target]} as y"]
    if task.weight is not None:
        asked.append(f"cast({names[task.weight]} as double) as w")
    for j, name in enumerate(task.names):
        x = f"cast({names[name]} as double)"
        asked.append(f"if(isnan({x}), null, {x} - ({float(middle[j])!r}D)) as z{j}")
    return frame.selectExpr(*asked)


def _sums(task: Task, full: bool) -> list[Column]:
    """What is summed up: of the rows, and of each column; as text, for building expressions takes Spark long.

    `refused` counts rows that cannot be summed so: rows without a weight and, where they are taken to be `full`, rows
    with a missing entry.
    """
    columns = range(len(task.names))
    if full:
        some = " or ".join(f"z{j} is null" for j in columns)
        asked = ["cast(count(*) as double) as n", "0D as least", f"count_if({some}) as refused"]
        each = ["count(*) as n{0}", "sum(z{0}) as s{0}", "sum(z{0} * z{0}) as q{0}"]
    elif task.weight is None:
        asked = ["cast(count(*) as double) as n", "0D as least", "0 as refused"]
        each = ["count(z{0}) as n{0}", "sum(z{0}) as s{0}", "sum(z{0} * z{0}) as q{0}"]
    else:
        asked = ["sum(w) as n", "min(w) as least", "count(*) - count(w) as refused"]
        each = ["sum(if(z{0} is null, null, w)) as n{0}", "sum(z{0} * w) as s{0}", "sum(z{0} * z{0} * w) as q{0}"]
    return [sql.expr(what) for what in (*asked, *(what.format(j) for j in columns for what in each))]


def _as_moments(found: Any, middle: Any) -> ByClass[Moments] | None:
    codes = frames.label_codes(found["y"])
    found = found.take(np.argsort(codes.codes))
    n, least, refused = (frames.numbers(found[name]) for name in ("n", "least", "refused"))
    weight, z, squares = (
        np.stack([frames.numbers(found[f"{what}{j}"]) for j in range(len(middle))], axis=1) for what in ("n", "s", "q")
    )
    weight = np.nan_to_num(weight, nan=0.0, posinf=np.inf)  # the sum of no rows is NULL; NaN comes of infinities
    z, squares = np.where(weight > 0, z, 0.0), np.where(weight > 0, squares, 0.0)
    sums = np.concatenate([weight, z, squares], axis=1)
    if refused.any() or not (least >= 0).all() or not np.isfinite(n).all() or not np.isfinite(sums).all():
        return None
    step = np.divide(z, weight, out=np.zeros_like(z), where=weight > 0)
    centred = squares - step * z
    if ((step / FARTHEST) ** 2 * weight > centred).any():
        return None
    mean = np.where(weight > 0, middle + step, 0.0)
    found = ByClass(codes.values, n, Moments(weight, mean, centred))
    return found.take(np.flatnonzero(n > 0))
