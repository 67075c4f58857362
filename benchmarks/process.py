"""Measure time and peak memory of a fit in a process of its own: `python -m benchmarks.process REQUEST`."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from scipy.sparse import issparse

from benchmarks import data
from benchmarks.estimators import SIDES, fit
from benchmarks.harness import Task, turn

MEGABYTE = 1e6


def measure_fit(side: str, estimator: str, rows: str, shape: list[int], repeats: int = 0) -> dict[str, Any]:
    """Fit in a fresh process, and return its peak extra memory in MB and the seconds of each repeat."""
    request = {"side": side, "estimator": estimator, "rows": rows, "shape": shape, "repeats": repeats}
    command = [sys.executable, "-m", "benchmarks.process", json.dumps(request)]
    root = Path(__file__).resolve().parents[1]
    answer = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(answer.stdout)


def answer_request(side: str, estimator: str, rows: str, shape: list[int], repeats: int) -> dict[str, Any]:
    """Build the data, fit once for the memory, then as often as asked for the time."""
    X, y = getattr(data, rows)(*shape)
    make = SIDES[side]
    fit(make(estimator), X[:1000], y[:1000])  # imports and thread stacks come first
    task = Task(lambda: fit(make(estimator), X, y))
    extra = peak_extra_memory(task.call)
    seconds = [turn(task) for _ in range(repeats)]
    held = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if issparse(X) else X.nbytes) + y.nbytes
    return {"extra_mb": extra, "data_mb": held / MEGABYTE, "seconds": seconds}


def peak_extra_memory(call: Callable[[], object]) -> float:
    """Return by how many MB the resident memory rose above what it was, at its highest during a call."""
    gc.collect()
    _give_back_free_memory()
    before = psutil.Process().memory_info().rss
    _forget_peak()
    result = call()
    peak = peak_memory()
    del result
    return max(0.0, peak - before) / MEGABYTE


def _give_back_free_memory() -> None:
    """Return freed memory to the system, lest the call reuse it unseen."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _forget_peak() -> None:
    """Reset the peak where the system can; otherwise making the data may count too."""
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float:
    """Return the peak resident memory in bytes.

    Linux hands ru_maxrss down from the starting process, so its own record is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024.0 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


if __name__ == "__main__":
    print(json.dumps(answer_request(**json.loads(sys.argv[1]))))
