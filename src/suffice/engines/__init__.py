"""Training is map(summarize), then reduce(+): here for rows that are not in memory, engine by engine.

Which engine it is tells the type of what is passed; none is imported that is not imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from suffice.core.errors import MissingPackageError
from suffice.engines.source import FEW, HEAD, Answer, Question, Source
from suffice.engines.streams import unread
from suffice.engines.summarizing import Form, Task, in_form, summarize_part
from suffice.formulas import Scoring

__all__ = [
    "FEW",
    "HEAD",
    "Answer",
    "Form",
    "Question",
    "Source",
    "Task",
    "find",
    "in_form",
    "summarize_part",
    "to_sql",
    "unread",
]

# The module whose objects an engine takes, and the engine: asked in this order, for some objects look like several.
ENGINES = {
    "pyspark": "suffice.engines.spark",
    "dask": "suffice.engines.dask",
    "ray": "suffice.engines.ray",
    "ibis": "suffice.engines.ibis",
}


def find(x: Any, learning: bool = False) -> Source | None:
    """The source that `x` is, or None for what is in memory.

    `learning` by a column's name: then what only hands on a stream of Arrow, such as a DuckDB relation, is one too.
    """
    if isinstance(x, Source):
        return x
    for name, home in ENGINES.items():
        if name in sys.modules and type(x).__module__.split(".")[0].startswith(name):
            source: Source | None = import_module(home).find(x)
            if source is not None:
                return source
    found: Source | None = import_module("suffice.engines.local_sources").find(x, learning)
    return found


def to_sql(scoring: Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """A model as a query in some dialect of SQL."""
    try:
        printing = import_module("suffice.engines.sql.query_text")
    except ImportError as error:
        raise MissingPackageError("SQL is written by Ibis: pip install 'suffice[ibis]'") from error
    written: str = printing.to_sql(scoring, dialect, table, types)
    return written
