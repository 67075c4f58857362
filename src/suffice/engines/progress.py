"""A progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Self

PATIENCE = 0.5  # seconds before a bar is shown


class Progress:
    """A bar over the bytes of the files, on a terminal, where it takes long; anywhere else nothing is printed.

    `rows` of each file, where they are known before it is read, let the bar move within it.
    """

    def __init__(self, sizes: Sequence[int], rows: Sequence[int | None], done: int = 0, shown: bool = True):
        self.sizes, self.expected, self.done = sizes, rows, done
        self.read = self.here = 0
        self.wanted = shown and sys.stderr is not None and sys.stderr.isatty()
        self.begun = time.monotonic()
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self.bar.start()
        self.shown = self.bar.add_task("", total=sum(self.sizes), completed=sum(self.sizes[: self.done]))

    def rows(self, n: int) -> None:
        """Count more rows as done."""
        self.read += n
        self.here += n
        if self.wanted and self.bar is None and time.monotonic() - self.begun > PATIENCE:
            self._start()
        if self.bar is not None:
            expected = self.expected[self.done]
            share = min(self.here / expected, 1.0) if expected else 0.0
            so_far = sum(self.sizes[: self.done]) + share * self.sizes[self.done]
            what = f"{self.read:,} rows, file {self.done + 1} of {len(self.sizes)}"
            self.bar.update(self.shown, completed=so_far, description=what)

    def part(self, number: int) -> None:
        """Count a file as done."""
        self.done, self.here = number + 1, 0
        if self.bar is not None:
            self.bar.update(self.shown, completed=sum(self.sizes[: self.done]))

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
