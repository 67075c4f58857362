"""Rows that are not in memory: files, databases, and the engines that hold many machines."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

from benchmarks.harness import Group, Settings

# Where cases are, and the package they need besides the library.
HOMES = {
    "engines_files": "polars",
    "engines_ibis": "ibis",
    "engines_spark": "pyspark",
    "engines_dask": "dask",
    "engines_ray": "ray",
}


def groups(settings: Settings) -> list[Group]:
    """All cases, engine by engine; those whose engine is not installed are left out, with a note."""
    found: list[Group] = []
    for home, package in HOMES.items():
        if find_spec(package) is None:
            print(f"{package} is not installed: its cases are left out", file=sys.stderr)
        else:
            found += import_module(f"benchmarks.{home}").groups(settings)
    return found
