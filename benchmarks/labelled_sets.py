"""The sets with labels that several benchmarks share: Adult, SMS spam and 20 Newsgroups, from `SUFFICE_DATA`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

FILES = {  # rows to learn from, and rows to judge by; of SMS, every second row in random order
    "Adult": ("adult-train", "adult-test"),
    "SMS": ("sms-spam", None),
    "20 Newsgroups": ("20newsgroups-train", "20newsgroups-test"),
}
TARGETS = ("income", "label", "group")


class Labelled(NamedTuple):
    """Rows, a table of Arrow or a list of texts, and their labels."""

    rows: Any
    labels: NDArray[Any]

    def take(self, at: NDArray[Any]) -> Labelled:
        """Return some of the rows."""
        rows = [self.rows[i] for i in at] if isinstance(self.rows, list) else self.rows.take(at)
        return Labelled(rows, self.labels[at])


def is_there() -> bool:
    """Whether it is known where the files are; say so if not."""
    if not os.environ.get("SUFFICE_DATA"):
        print("SUFFICE_DATA must say where Adult, SMS and 20 Newsgroups are, as .parquet", file=sys.stderr)
        return False
    return True


def whole(name: str, every: int = 1) -> Labelled:
    """Read the rows to learn from, or every so many of them."""
    return _read(FILES[name][0], every)


def halves(name: str) -> tuple[Labelled, Labelled]:
    """Read rows to learn from, and rows to judge by."""
    train, test = FILES[name]
    learned = _read(train)
    if test is not None:
        return learned, _read(test)
    order = np.random.default_rng(0).permutation(len(learned.labels))
    return learned.take(order[::2]), learned.take(order[1::2])


def _read(file: str, every: int = 1) -> Labelled:
    table = pq.read_table(Path(os.environ["SUFFICE_DATA"], f"{file}.parquet"))
    table = table.take(np.arange(0, table.num_rows, every))
    target = next((name for name in TARGETS if name in table.column_names), None)
    target = target or next(name for name in table.column_names if name != "text")
    rest = table.drop_columns([target])
    rows = rest["text"].to_pylist() if "text" in rest.column_names else rest
    return Labelled(rows, np.array(table[target].to_pylist()))
