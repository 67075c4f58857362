"""Moments by Spark's own sums: handing rows to Python costs Spark more time than adding them up.

With a point p near the middle of a column, which the first rows tell, Σ w, Σ w (x − p) and Σ w (x − p)² of a class give
its mean and its centred squares. Digits are lost where p is many standard deviations away from the class: this is
noticed, and nothing comes of it. Nor does anything of rows that ought to be refused: only Python has words for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import BooleanType, NumericType

from suffice import frames
from suffice.engines.task import Task, in_form
from suffice.frames import as_frame
from suffice.statistics import ByClass, Moments

MOST_COLUMNS = 80  # of more than a hundred fields Spark makes no code of its own
FARTHEST = 100.0  # standard deviations between p and a class: four digits of sixteen


def moments(frame: DataFrame, task: Task, first: Any) -> ByClass[Moments] | None:
    """The moments of a frame of the columns of a task, in their order but under names of its own.

    `first` has a few of its rows. None comes where Python has to look at all of them.
    """
    if not _applies(frame, task) or not first.num_rows:
        return None
    with np.errstate(invalid="ignore"):
        x = in_form(as_frame(first).select(task.names), "numbers")
        present = np.isfinite(x)
        middle = np.where(present, x, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    columns = dict(zip(task.columns, map(sql.col, frame.columns), strict=True))
    found = frame.groupBy(columns[task.target].alias("y")).agg(*_sums(task, columns, middle)).toArrow()
    if not found.num_rows or found["y"].is_null(nan_is_null=True).to_numpy().any():
        return None
    return _as_moments(found, middle)


def _applies(frame: DataFrame, task: Task) -> bool:
    """Whether numbers are summed as they are."""
    if task.family.kind is not Moments or task.family.sees != "values" or task.form != "numbers":
        return False
    kinds = dict(zip(task.columns, (field.dataType for field in frame.schema.fields), strict=True))
    read = [kind for name, kind in kinds.items() if name != task.target]
    return len(read) <= MOST_COLUMNS and all(isinstance(kind, (NumericType, BooleanType)) for kind in read)


def _sums(task: Task, columns: dict[str, Column], middle: Any) -> list[Column]:
    """What is summed up: of the rows, and of each column."""
    weight = sql.lit(1.0) if task.weight is None else columns[task.weight].cast("double")
    asked = [
        sql.sum(weight).alias("n"),
        sql.min(weight).alias("least"),
        (sql.count("*") - sql.count(weight)).alias("gaps"),
    ]
    for j, name in enumerate(task.names):
        x = columns[name].cast("double")
        z = sql.when(~sql.isnan(x), x - float(middle[j]))  # NULL where the entry is missing
        if task.weight is None:
            asked += [sql.count(z).alias(f"n{j}"), sql.sum(z).alias(f"z{j}"), sql.sum(z * z).alias(f"zz{j}")]
        else:
            there = sql.when(z.isNotNull(), weight)
            asked += [sql.sum(there).alias(f"n{j}"), sql.sum(z * weight).alias(f"z{j}")]
            asked.append(sql.sum(z * z * weight).alias(f"zz{j}"))
    return asked


def _as_moments(found: Any, middle: Any) -> ByClass[Moments] | None:
    codes = frames.label_codes(found["y"])
    found = found.take(np.argsort(codes.codes))
    n, least, gaps = (frames.numbers(found[name]) for name in ("n", "least", "gaps"))
    weight, z, squares = (
        np.stack([np.nan_to_num(frames.numbers(found[f"{what}{j}"]), nan=0.0) for j in range(len(middle))], axis=1)
        for what in ("n", "z", "zz")
    )
    sums = np.concatenate([weight, z, squares], axis=1)
    if gaps.any() or not (least >= 0).all() or not np.isfinite(n).all() or not np.isfinite(sums).all():
        return None
    step = np.divide(z, weight, out=np.zeros_like(z), where=weight > 0)
    centred = squares - step * z
    if (step**2 * weight > FARTHEST**2 * centred).any():
        return None
    mean = np.where(weight > 0, middle + step, 0.0)
    found = ByClass(codes.values, n, Moments(weight, mean, centred))
    return found.take(np.flatnonzero(n > 0))
