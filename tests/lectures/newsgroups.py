"""The four newsgroups of the lecture, in its order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

CATEGORIES = ["alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian"]


@lru_cache
def four_newsgroups(folder: Path) -> tuple[list[str], np.ndarray]:
    """The training documents and their groups."""
    import pyarrow.compute
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "20newsgroups-train.parquet", columns=["label", "text"])
    table = table.filter(pyarrow.compute.is_in(table["label"], pyarrow.array(CATEGORIES)))
    order = np.arange(table.num_rows)
    np.random.RandomState(42).shuffle(order)  # the lecture's own shuffle
    texts = table["text"].to_pylist()
    return [texts[i] for i in order], np.array(table["label"].to_pylist())[order]
