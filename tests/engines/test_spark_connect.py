"""Spark Connect, whose frames are on a server: in a process of its own, for a classic session cannot be beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engines.cases import CASES

pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'suffice[spark]'")
pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")
if not os.environ.get("JAVA_HOME") and not shutil.which("java"):
    pytest.skip("Spark needs Java 17 or later, which is not installed", allow_module_level=True)

SCRIPT = """
from engines.cases import CASES, arrow, assert_answers, assert_same
from pyspark.sql import SparkSession

session = SparkSession.builder.remote("local[2]").getOrCreate()
for name, case in CASES.items():
    frame = session.createDataFrame(arrow(case.table())).repartition(4)
    fitted = case.make().fit(frame, "y")
    assert_same(case, fitted, case.local())
    assert_answers(case, case.local(), fitted.predict_proba(frame).toArrow().to_pandas())
    print(name, type(frame).__module__, sep="\\t")
session.stop()
"""


def test_frames_of_a_server_give_what_the_rows_in_memory_give():
    tests = str(Path(__file__).parents[1])
    options = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": tests, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | options,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert [name for name, _ in told] == list(CASES)
    assert {module for _, module in told} == {"pyspark.sql.connect.dataframe"}
