"""Training is map(summarize), then reduce(+), on every engine: memory, files, streams, Spark, Dask, Ray, databases.

The type of what the user passes decides which engine it is. No package of an engine is imported for that.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.core.errors import MissingPackageError
from suffice.core.frames import as_frame
from suffice.engines.local_sources import find as _local
from suffice.engines.memory import Memory
from suffice.engines.source import FEW, HEAD, Answer, Source
from suffice.engines.streams import unread
from suffice.engines.summarizing import Task, summarize_part
from suffice.formulas import Scoring
from suffice.model.forms import Form, in_form
from suffice.model.predictor import Question

__all__ = [
    "FEW",
    "HEAD",
    "Answer",
    "Form",
    "Memory",
    "Question",
    "Source",
    "Task",
    "find",
    "in_form",
    "summarize_part",
    "to_sql",
    "unread",
]


def find(x: Any, named: bool = False) -> Source | None:
    """Return the source that `x` is; None for rows in memory, unless their labels are `named` by a column."""
    if isinstance(x, Source):
        return x
    if type(x) is not np.ndarray:
        source = _of_package(type(x).__module__.partition(".")[0], x) or _local(x, named)
        if source is not None:
            return source
    return Memory(as_frame(x), origin=x) if named else None


def _of_package(package: str, x: Any) -> Source | None:
    """Ask the engine of a package that has been imported: an object of it can only be there then."""
    if package not in sys.modules:
        return None
    if package == "pyspark":
        from suffice.engines.spark import find
    elif package.startswith("dask"):
        from suffice.engines.dask import find
    elif package == "ray":
        from suffice.engines.ray import find
    elif package == "ibis":
        from suffice.engines.ibis import find
    else:
        return None
    return find(x)


def to_sql(scoring: Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """Write a model as a query in some dialect of SQL."""
    try:
        from suffice.engines.sql import query_text
    except ImportError as error:
        raise MissingPackageError("SQL is written by Ibis: pip install 'suffice[ibis]'") from error
    return query_text.to_sql(scoring, dialect, table, types)
