"""Moments by sums that Spark computes itself: passing rows to Python takes Spark longer than adding them.

Let p be a point near the middle of a column, the mean of its first rows. Then Σ w, Σ w (x − p) and Σ w (x − p)² of a
class give its mean and its centred squares. Digits are lost if p is many standard deviations away from the class. In
that case, and for rows that must be refused, there is no result, and Python reads the rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import BooleanType, NumericType

from suffice.core import frames
from suffice.core.arrays import LEAST_WEIGHT, MOST_WEIGHT, Array
from suffice.core.frames import as_frame
from suffice.core.statistics import ByClass, Moments
from suffice.engines.summarizing import Task
from suffice.formulas import X
from suffice.model.forms import in_form

MOST_COLUMNS = 80  # Spark generates no code for more than a hundred fields
MOST_DEVIATIONS = 100.0  # between p and a class, at which four of sixteen digits are lost


def moments(frame: DataFrame, task: Task, first: pa.Table) -> ByClass[Moments] | None:
    """Compute the moments of a frame that has the columns of a task in their order, under other names.

    `first` holds a few of its rows. The result is None if Python has to read all rows.
    """
    if not _applies(frame, task) or not first.num_rows:
        return None
    with np.errstate(invalid="ignore"):
        x = in_form(as_frame(first).select(task.names), "numbers")
        present = np.isfinite(x)
        middle = np.where(present, x, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    groups = _shifted(frame, task, middle).groupBy("y")
    complete = task.weight is None and not np.isnan(x).any()  # then entries need not be counted column by column
    found = groups.agg(*_sums(task, complete)).toArrow()
    if complete and found.num_rows and frames.numbers(found["refused"]).any():
        found = groups.agg(*_sums(task, complete=False)).toArrow()
    if not found.num_rows or found["y"].is_null(nan_is_null=True).to_numpy().any():
        return None
    return _as_moments(found, middle)


def _applies(frame: DataFrame, task: Task) -> bool:
    """Return whether the statistic is moments of unchanged numbers, of few enough columns."""
    if task.form != "numbers" or task.family.summary.statistic is not Moments or task.family.summary.of is not X:
        return False
    types = dict(zip(task.columns, (field.dataType for field in frame.schema.fields), strict=True))
    read = [dtype for name, dtype in types.items() if name != task.target]
    return len(read) <= MOST_COLUMNS and all(isinstance(dtype, (NumericType, BooleanType)) for dtype in read)


def _shifted(frame: DataFrame, task: Task, middle: Array) -> DataFrame:
    """Select labels `y`, weights `w` if there are any, and `z0`, `z1`, …: x − p, NULL where an entry is missing."""
    names = dict(zip(task.columns, frame.columns, strict=True))
    asked = [f"{names[task.target]} as y"]
    if task.weight is not None:
        asked.append(f"cast({names[task.weight]} as double) as w")
    for j, name in enumerate(task.names):
        x = f"cast({names[name]} as double)"
        asked.append(f"if(isnan({x}), null, {x} - ({float(middle[j])!r}D)) as z{j}")
    return frame.selectExpr(*asked)


def _sums(task: Task, complete: bool) -> list[Column]:
    """Return the sums over rows and over each column. They are text, as building expressions takes Spark long.

    `refused` counts rows for which these sums are wrong: rows without a weight or with one out of range, and, if rows
    are taken to be `complete`, rows with missing values.
    """
    columns = range(len(task.names))
    if complete:
        incomplete = " or ".join(f"z{j} is null" for j in columns)
        of_rows = ["cast(count(*) as double) as n", "0D as least", f"count_if({incomplete}) as refused"]
        of_column = ["count(*) as n{0}", "sum(z{0}) as s{0}", "sum(z{0} * z{0}) as q{0}"]
    elif task.weight is None:
        of_rows = ["cast(count(*) as double) as n", "0D as least", "0 as refused"]
        of_column = ["count(z{0}) as n{0}", "sum(z{0}) as s{0}", "sum(z{0} * z{0}) as q{0}"]
    else:
        well = f"count_if(w = 0 or w between {LEAST_WEIGHT!r}D and {MOST_WEIGHT!r}D)"
        of_rows = ["sum(w) as n", "min(w) as least", f"count(*) - {well} as refused"]
        of_column = ["sum(if(z{0} is null, null, w)) as n{0}", "sum(z{0} * w) as s{0}", "sum(z{0} * z{0} * w) as q{0}"]
    return [sql.expr(each) for each in (*of_rows, *(each.format(j) for j in columns for each in of_column))]


def _as_moments(found: pa.Table, middle: Array) -> ByClass[Moments] | None:
    codes = frames.label_codes(found["y"])
    found = found.take(np.argsort(codes.codes))
    n, least, refused = (frames.numbers(found[name]) for name in ("n", "least", "refused"))
    weight, z, squares = (
        np.stack([frames.numbers(found[f"{what}{j}"]) for j in range(len(middle))], axis=1) for what in ("n", "s", "q")
    )
    weight = np.nan_to_num(weight, nan=0.0, posinf=np.inf)  # NULL is the sum of no rows; infinite entries give NaN
    z, squares = np.where(weight > 0, z, 0.0), np.where(weight > 0, squares, 0.0)
    sums = np.concatenate([weight, z, squares], axis=1)
    if refused.any() or not (least >= 0).all() or not np.isfinite(n).all() or not np.isfinite(sums).all():
        return None
    step = np.divide(z, weight, out=np.zeros_like(z), where=weight > 0)
    centred = squares - step * z
    if ((step / MOST_DEVIATIONS) ** 2 * weight > centred).any():
        return None
    mean = np.where(weight > 0, middle + step, 0.0)
    return ByClass(codes.values, n, Moments(weight, mean, centred)).take(np.flatnonzero(n > 0))
