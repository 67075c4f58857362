"""Files and streams, batch by batch on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from glob import glob
from typing import Any

import numpy as np

from suffice.core.frames.input import is_a, is_in_memory
from suffice.engines.files import Files, is_path
from suffice.engines.source import Source
from suffice.engines.streams import Handed, Stream, gives_tables


def find(x: Any, learning: bool = False) -> Source | None:
    """Return the source that `x` is: paths, datasets of Arrow, readers, or iterators, whose first item is peeked at."""
    if type(x) is np.ndarray:
        return None
    if isinstance(x, (str, os.PathLike)):
        return Files([x]) if is_path(x) else None
    if isinstance(x, (list, tuple)):
        return Files(x) if _are_paths(x) else None
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(x, dataset.Dataset):
        return Files(x)
    if is_a(x, "pyarrow.RecordBatchReader"):
        return Stream(x)
    if learning and hasattr(x, "__arrow_c_stream__") and not is_in_memory(x):
        return Stream(Handed(x))
    return Stream(x) if isinstance(x, Iterator) and gives_tables(x) else None


def _are_paths(x: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list of strings names files: all end as files do, and at least one exists. Otherwise they are texts."""
    if not x or not isinstance(x[0], (str, os.PathLike)) or not is_path(x[0], strictly=True):
        return False
    if not all(isinstance(path, (str, os.PathLike)) and is_path(path, strictly=True) for path in x):
        return False
    return any(not isinstance(path, str) or os.path.exists(path) or glob(path, recursive=True) for path in x)
