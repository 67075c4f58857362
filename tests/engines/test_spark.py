"""Spark, on a real local session: learning and answering where the rows lie."""

import os
import shutil
import sys

import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'suffice[spark]'")
if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
    pytest.skip("Spark needs Java 17 or later, which is not installed", allow_module_level=True)

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from engines.cases import (
    CASES,
    arrow,
    assert_answers,
    assert_clustered,
    assert_learns_without_labels,
    assert_same,
    cut,
    numbers,
    without_the_package,
)
from suffice import BayesClassifier
from suffice.core.errors import InvalidDataError, InvalidOptionError, MissingPackageError
from suffice.engines.spark import SparkSource
from suffice.naive_bayes import CategoricalNB, GaussianNB

pytestmark = pytest.mark.filterwarnings("default")  # Spark and what it calls have warnings of their own


@pytest.fixture(scope="session")
def spark():
    """One session for all tests: its start takes longer than they do."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2, 3]").appName("suffice")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def in_parts(spark, table, seed=None):
    """A data frame whose partitions are those of `cut`."""
    parts = cut(table, seed)
    schema = spark.createDataFrame(arrow(table)).schema
    place = [k for k, part in enumerate(parts) for _ in range(len(part))]
    whole = arrow(pd.concat(parts, ignore_index=True)).append_column("place", [place])
    frame = spark.createDataFrame(whole)
    pairs = frame.rdd.map(lambda row: (row[-1], tuple(row[:-1]))).partitionBy(len(parts), int)
    return spark.createDataFrame(pairs.values(), schema)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_and_the_answers_are_those_of_the_rows_in_memory(spark, name):
    case = CASES[name]
    local, frame = case.local(), in_parts(spark, case.table(), seed=5)
    fitted = case.make().fit(frame, "y")
    assert_same(case, fitted, local)
    told = fitted.predict_proba(frame)
    assert isinstance(told, type(frame))
    assert_answers(case, local, told.toArrow().to_pandas())


def test_clusters_are_those_of_a_file(spark, tmp_path, monkeypatch):
    assert_clustered(lambda table, seed=None: in_parts(spark, table, seed), tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore")  # some rows do not help, which is told
def test_rows_without_labels_teach_what_those_of_a_file_do(spark, tmp_path):
    assert_learns_without_labels(lambda table, seed=None: in_parts(spark, table, seed), tmp_path)


def test_parts_learned_one_after_the_other_give_the_whole(spark):
    case = CASES["GaussianNB"]
    frame = spark.createDataFrame(arrow(case.table())).withColumn("w", sql.lit(1.0))
    half = sql.col("x0") > 1e6
    fitted = case.make().partial_fit(frame.where(half | half.isNull()), "y", sample_weight="w")
    assert_same(case, fitted.partial_fit(frame.where(~half), "y", sample_weight="w"), case.local())


def test_a_task_that_dies_and_is_retried_changes_nothing(spark, tmp_path):
    case = CASES["CategoricalNB"]
    died = str(tmp_path / "died")

    def die_once(batches):
        from pathlib import Path

        from pyspark import TaskContext

        yield from batches
        if TaskContext.get().partitionId() == 1 and not Path(died).exists():
            Path(died).touch()
            os._exit(1)

    frame = in_parts(spark, case.table())
    fitted = case.make().fit(frame, "y")
    fitted.partial_fit(frame.mapInArrow(die_once, frame.schema), "y")
    assert (tmp_path / "died").exists()
    assert_same(case, fitted, case.local_twice())


def test_numbers_far_from_zero_keep_their_variances(spark):
    x = 1e9 + np.random.default_rng(0).normal(scale=8**0.5, size=2000)
    table = numbers(2000)[["y"]].assign(x=x)
    fitted = GaussianNB().fit(in_parts(spark, table), "y")
    for k, label in enumerate(fitted.classes_):
        assert fitted.var_[k, 0] == pytest.approx((x[table["y"] == label] - 1e9).var(), rel=1e-6)


def odd_numbers():
    """Columns of several types, gaps of both kinds, weights of which some are 0, and a class that weighs nothing."""
    rng = np.random.default_rng(4)
    n = 300
    y = np.where(np.arange(n) < 5, 9, rng.integers(0, 2, n))
    whole = pd.array(rng.integers(0, 50, n), dtype="Int32")
    whole[rng.random(n) < 0.1] = pd.NA
    w = np.where(y == 9, 0.0, rng.integers(0, 3, n)).astype(float)
    return pd.DataFrame({"whole": whole, "flag": rng.random(n) < 0.3, "x": rng.normal(size=n), "w": w, "y": y})


@pytest.mark.parametrize("weight", [None, "w"])
def test_moments_are_summed_by_spark_itself(spark, monkeypatch, weight):
    monkeypatch.setattr(SparkSource, "_by_workers", None)
    table = odd_numbers()
    frame = spark.createDataFrame(arrow(table))
    frame = frame.withColumn("x", sql.when(sql.col("x") > 1.5, float("nan")).otherwise(sql.col("x")))
    if weight is None:
        frame, table = frame.drop("w"), table.drop(columns="w")
    fitted = GaussianNB().fit(frame, "y", sample_weight=weight)
    x = table[["whole", "flag", "x"]].astype(float).to_numpy()
    x[x[:, 2] > 1.5, 2] = np.nan
    local = GaussianNB().fit(x, table["y"], None if weight is None else table["w"])
    np.testing.assert_array_equal(fitted.classes_, local.classes_)
    np.testing.assert_array_equal(fitted.class_count_, local.class_count_)
    np.testing.assert_allclose(fitted.theta_, local.theta_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fitted.var_, local.var_, rtol=1e-12)


def test_a_gap_after_many_full_rows_is_one(spark, monkeypatch):
    monkeypatch.setattr(SparkSource, "_by_workers", None)
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500), "y": rng.integers(0, 2, 500)})
    table.loc[400:410, "b"] = None
    fitted = GaussianNB().fit(spark.createDataFrame(arrow(table)).coalesce(1), "y")
    local = GaussianNB().fit(table[["a", "b"]].to_numpy(), table["y"])
    np.testing.assert_allclose(fitted.theta_, local.theta_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fitted.var_, local.var_, rtol=1e-12)
    np.testing.assert_array_equal(fitted._learned.seen.statistic.weight, local._learned.seen.statistic.weight)


def test_a_class_far_from_the_first_rows_keeps_its_digits(spark):
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 400)
    x = np.where(y == 0, 0.0, 1e8) + rng.normal(size=800)
    fitted = GaussianNB(var_smoothing=0.0).fit(spark.createDataFrame(pd.DataFrame({"x": x, "y": y})).coalesce(1), "y")
    np.testing.assert_allclose(fitted.var_[:, 0], [x[y == c].var() for c in (0, 1)], rtol=1e-9)


@pytest.mark.parametrize("infinite", [[np.inf], [-np.inf], [np.inf, -np.inf]])
def test_infinite_numbers_are_refused_whatever_they_sum_up_to(spark, infinite):
    x = np.concatenate([np.arange(40.0), infinite])
    table = pd.DataFrame({"x": x, "y": np.where(np.arange(len(x)) < 20, "a", "b")})
    with pytest.raises(InvalidDataError, match="infinity"):
        GaussianNB().fit(spark.createDataFrame(table), "y")


def test_an_infinite_number_of_weight_zero_is_not_there(spark):
    table = pd.DataFrame({"x": [1.0, 2.0, 4.0, np.inf, 7.0, 9.0], "y": list("aaaabb"), "w": [1.0, 2.0, 1.0, 0, 1, 1]})
    fitted = GaussianNB().fit(spark.createDataFrame(table), "y", sample_weight="w")
    np.testing.assert_allclose(fitted.theta_[:, 0], [2.25, 8.0], rtol=1e-12)


def test_a_column_of_times_is_left_out_or_named(spark):
    frame = spark.createDataFrame(arrow(numbers())).withColumn("at", sql.lit("2026-01-01").cast("timestamp"))
    fitted = BayesClassifier(calibrate=False).fit(frame, "y")
    assert "at" not in {name for block in fitted._learned.family.blocks for name in block.names}
    assert fitted.predict(frame).columns == [*frame.columns, "prediction"]
    assert fitted.predict(frame).toArrow().num_rows == frame.count()
    with pytest.raises(InvalidDataError, match="'at'"):
        GaussianNB().fit(frame, "y")


def test_predictions_are_appended_lazily_and_have_the_labels_type(spark):
    case = CASES["CategoricalNB"]
    frame = spark.createDataFrame(arrow(case.table()))
    fitted = case.make().fit(frame, "y")

    def fail(batches):
        raise RuntimeError("a job ran")
        yield from batches

    told = fitted.predict(frame.mapInArrow(fail, frame.schema))
    assert told.schema["prediction"].dataType.simpleString() == "bigint"
    assert told.columns == [*frame.columns, "prediction"]


def test_mistakes_are_told_before_any_job_runs(spark):
    def fail(batches):
        raise RuntimeError("a job ran")
        yield from batches

    sound = spark.createDataFrame(arrow(numbers())).drop("x 2.5")  # Spark's own mapInArrow takes no dots
    frame = sound.mapInArrow(fail, sound.schema)
    with pytest.raises(InvalidDataError, match=r"no column 'yy'.*Did you mean 'y'"):
        GaussianNB().fit(frame, "yy")
    fitted = GaussianNB().fit(sound, "y")
    with pytest.raises(InvalidDataError, match="no column 'x1'"):
        fitted.predict(frame.drop("x1"))
    with pytest.raises(InvalidDataError, match="column 'prediction' already"):
        fitted.predict(frame.withColumn("prediction", sql.lit(1)))


def test_what_cannot_be_learned_is_refused_by_name(spark):
    frame = spark.createDataFrame(arrow(numbers()))
    with pytest.raises(InvalidDataError, match="x1"):
        GaussianNB().fit(frame.withColumn("x1", sql.array("x1")), "y")
    with pytest.raises(InvalidDataError, match="no rows"):
        GaussianNB().fit(frame.limit(0), "y")
    with pytest.raises(InvalidDataError, match="label of row 0"):
        GaussianNB().fit(frame.withColumn("y", sql.lit(None).cast("string")), "y")
    with pytest.raises(InvalidOptionError, match="checkpoint is for rows that come from files"):
        GaussianNB().fit(frame, "y", checkpoint="run.suffice")


def test_workers_without_the_package_say_how_to_ship_it(spark, tmp_path, monkeypatch):
    path = without_the_package(tmp_path)["PYTHONPATH"]
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    frame = spark.createDataFrame(arrow(CASES["CategoricalNB"].table()))
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    with pytest.raises(MissingPackageError, match="PYSPARK_PYTHON"):
        CategoricalNB().fit(frame, "y")
