"""Spark: against MLlib on the same session, and by the number of partitions."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import numpy as np

from benchmarks.engines_data import COLUMNS, NAMES, Files
from benchmarks.engines_partitions import ROWS, cases, learn, measured
from benchmarks.harness import (
    AnswersDifferError,
    Case,
    Group,
    Measurement,
    Quantity,
    Settings,
    Target,
    Task,
    agree,
    short,
    versus,
)

FAR, VARIANCE = 1e9, 8.0


class Session:
    """A local session of Spark on two cores, and a frame of a folder of Parquet files."""

    def __init__(self, files: Files):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        self.files = files
        made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        made = made.config("spark.driver.memory", "4g").config("spark.log.level", "ERROR")
        made = made.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
        self.frame = made.getOrCreate().read.parquet(str(files.folder))


def groups(settings: Settings) -> list[Group]:
    """Ours against MLlib; numbers far from zero; and the same rows in 1 to 8 partitions."""
    rows = settings.rows(ROWS)
    shape = f"{short(rows)}×{COLUMNS}"
    near = [
        Case(f"Spark {shape} GaussianNB fit", Target(low=2.0, unit="×"), partial(_against_mllib, settings=settings))
    ]
    near += cases("Spark", rows, "partitions", _partitioned)
    far = [Case(f"Spark {shape} variance 8 at mean 1e9, error", Target(high=1e-6), _far)]
    return [
        Group(lambda: Session(Files(rows, files=8)), near),
        Group(lambda: Session(Files(rows, files=8, mean=FAR, spread=VARIANCE**0.5)), far),
    ]


def _mllib(frame: Any) -> Any:
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    rows = VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame)
    return NaiveBayes(modelType="gaussian", labelCol="y").fit(rows)


def _against_mllib(session: Session, settings: Settings) -> Measurement:
    for _ in range(3):  # Java makes code of what runs often: both are warm before any time counts
        ours, theirs = learn(session.frame), _mllib(session.frame)
    agreement = agree(ours.theta_, theirs.theta.toArray(), rtol=1e-6)
    tasks = [Task(partial(side, session.frame)) for side in (learn, _mllib)]
    return versus(*tasks, settings, agreement)


def _far(session: Session) -> Measurement:
    """The greatest relative error of a variance, against one computed from the rows in memory, centred."""
    import pyarrow.dataset as ds

    rows = ds.dataset(session.files.folder).to_table()
    y = rows["y"].to_numpy()
    ours = learn(session.frame)
    worst = 0.0
    for j, name in enumerate(NAMES):
        x = rows[name].to_numpy()
        right = np.array([x[y == label].var() for label in ours.classes_])
        worst = max(worst, float(np.abs(ours.var_[:, j] / right - 1).max()))
    theirs = _mllib(session.frame).sigma.toArray()
    details = {"mllib_least_variance": float(theirs.min()), "variance": VARIANCE}
    return Measurement(worst, Quantity(worst, ""), Quantity(float(theirs.min()), " (MLlib's least)"), None, details)


def _partitioned(session: Session, partitions: int) -> Measurement:
    frame = session.frame.repartition(partitions).persist()
    try:
        if frame.count() != session.files.rows:
            raise AnswersDifferError("rows were lost")
        return measured(frame)
    finally:
        frame.unpersist()
