"""Training is map(summarize), then reduce(+), on every engine: memory, files, streams, Spark, Dask, Ray, databases.

The type of what the user passes decides which engine it is. No package of an engine is imported for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from glob import glob
from typing import Any

import numpy as np

from suffice.core.errors import InvalidOptionError, MissingPackageError
from suffice.core.frames import as_frame
from suffice.core.frames.input import is_a
from suffice.core.frames.input import is_in_memory as is_frame
from suffice.engines import gpu
from suffice.engines.files import Files, is_path
from suffice.engines.gpu import is_on_device
from suffice.engines.memory import Memory
from suffice.engines.source import FEW, HEAD, Answer, Source
from suffice.engines.streams import Handed, Stream, gives_tables, unread
from suffice.engines.summarizing import Task, summarize_part
from suffice.formulas import Scoring
from suffice.model.forms import Form, in_form
from suffice.model.predictor import Predictor, Question

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
    "gpu",
    "in_form",
    "is_in_memory",
    "is_on_device",
    "summarize_part",
    "to_sql",
    "unread",
]


def is_in_memory(x: Any) -> bool:
    """Return whether rows are in memory, and so need no engine."""
    return find(x) is None and (is_frame(x) or not hasattr(x, "__arrow_c_stream__"))


def find(x: Any, named: bool = False) -> Source | None:
    """Return the source that `x` is; None for rows in memory, unless their labels are `named` by a column."""
    if isinstance(x, Source):
        return x
    if type(x) is not np.ndarray:
        source = gpu.find(x) or _of_package(type(x).__module__.partition(".")[0], x) or _local(x, named)
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


def _local(x: Any, learning: bool = False) -> Source | None:
    """Return the source that paths, datasets, readers, or iterators are; the first item of an iterator is peeked at."""
    if isinstance(x, (str, os.PathLike)):
        return Files([x]) if is_path(x) else None
    if isinstance(x, (list, tuple)):
        return Files(x) if _are_paths(x) else None
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(x, dataset.Dataset):
        return Files(x)
    if is_a(x, "pyarrow.RecordBatchReader"):
        return Stream(x)
    if learning and hasattr(x, "__arrow_c_stream__") and not is_frame(x):
        return Stream(Handed(x))
    return Stream(x) if isinstance(x, Iterator) and gives_tables(x) else None


def _are_paths(x: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list of strings names files: all end as files do, and at least one exists. Otherwise they are texts."""
    if not x or not isinstance(x[0], (str, os.PathLike)) or not is_path(x[0], strictly=True):
        return False
    if not all(isinstance(path, (str, os.PathLike)) and is_path(path, strictly=True) for path in x):
        return False
    return any(not isinstance(path, str) or os.path.exists(path) or glob(path, recursive=True) for path in x)


def to_sql(scoring: Scoring, dialect: str, table: str, types: Mapping[str, str]) -> str:
    """Write a model as a query in some dialect of SQL."""
    try:
        from suffice.engines.sql import printed_query
    except ImportError as error:
        raise MissingPackageError("SQL is written by sqlglot: pip install 'suffice[sql]'") from error
    return printed_query.to_sql(scoring, dialect, table, types)


def to_onnx(predictor: Predictor, inputs: str = "auto", dtype: str = "float64") -> Any:
    """Return a model of ONNX that computes what `predict` and `predict_proba` do."""
    if inputs not in ("auto", "columns", "matrix"):
        raise InvalidOptionError(f"inputs must be 'auto', 'columns' or 'matrix', found {inputs!r}")
    if dtype not in ("float64", "float32"):
        raise InvalidOptionError(f"dtype must be 'float64' or 'float32', found {dtype!r}")
    try:
        from suffice.engines.onnx import onnx_model
    except ImportError as error:
        raise MissingPackageError("Models of ONNX are written by onnx: pip install 'suffice[onnx]'") from error
    return onnx_model.of_predictor(predictor, inputs, dtype)
