"""Parquet files of numbers of three classes, written a piece at a time, so that any number of rows can be had."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = 20
CLASSES = 3
PIECE = 1 << 18  # rows that are drawn and written together
FILE = 2_500_000  # rows of a file
NAMES = [f"x{k}" for k in range(COLUMNS)]


class Files:
    """A folder of such files, which is gone when this is."""

    def __init__(self, rows: int, files: int | None = None, mean: float = 0.0, spread: float = 1.0):
        self.rows, self.mean, self.spread = rows, mean, spread
        self._folder = tempfile.TemporaryDirectory(prefix="suffice-bench-")
        self.folder = Path(self._folder.name)
        count = files or -(-rows // FILE)
        for number in range(count):
            self._write(number, rows * (number + 1) // count - rows * number // count)

    @property
    def pattern(self) -> str:
        """All files."""
        return str(self.folder / "*.parquet")

    def repeated(self, times: int) -> None:
        """Make it as many times as large, by further names of the same files."""
        for path in sorted(self.folder.glob("*.parquet")):
            for copy in range(1, times):
                os.link(path, self.folder / f"{path.stem}-{copy}.parquet")
        self.rows *= times

    def _write(self, number: int, rows: int) -> None:
        schema = pa.schema([(name, pa.float64()) for name in NAMES] + [("y", pa.int64())])
        with pq.ParquetWriter(self.folder / f"part-{number:03}.parquet", schema) as file:
            for begin in range(0, rows, PIECE):
                piece = self._piece(np.random.default_rng([number, begin]), min(PIECE, rows - begin))
                file.write_table(piece, row_group_size=PIECE)

    def _piece(self, rng: np.random.Generator, rows: int) -> pa.Table:
        y = rng.integers(0, CLASSES, rows)
        drawn = rng.standard_normal((COLUMNS, rows))
        x = self.mean + self.spread * (drawn + 0.3 * y * (np.arange(COLUMNS) % 3)[:, None])
        return pa.table(dict(zip(NAMES, x, strict=True)) | {"y": y})
