"""What is installed, and what it runs on: for reports of errors."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

NEEDED = ("numpy", "scipy", "scikit-learn", "pyarrow", "threadpoolctl", "rich", "typer", "lazy-loader")
USED = (
    "pandas",
    "polars",
    "matplotlib",
    "duckdb",
    "ibis-framework",
    "pyspark",
    "dask",
    "ray",
    "stop-words",
    "PyStemmer",
)


def show_versions() -> None:
    """Print the versions of suffice, of Python and of the packages that suffice uses, the machine, and the threads.

    >>> show_versions()  # doctest: +ELLIPSIS
    suffice: ...
    """
    from suffice import _core

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    threads = os.environ.get("SUFFICE_NUM_THREADS", "not set")
    shown = {
        "suffice": installed("suffice"),
        "python": sys.version.replace("\n", " "),
        "executable": sys.executable,
        "machine": platform.platform(),
        "threads": f"{_core.max_threads()} (SUFFICE_NUM_THREADS is {threads})",
        "instruction set": _core.instruction_set(),
    }
    for name, value in (shown | {each: installed(each) for each in (*NEEDED, *USED)}).items():
        print(f"{name}: {value}")
