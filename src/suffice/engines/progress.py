"""How far it is, for people who watch."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Self

PATIENCE = 0.5  # seconds that nobody needs a bar for


class Progress:
    """A bar over the bytes of the files, on a terminal, where it takes long; anywhere else nothing is printed."""

    def __init__(self, sizes: Sequence[int], done: int = 0, shown: bool = True):
        self.sizes, self.done, self.read = sizes, done, 0
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
        """Some rows more were summarized."""
        self.read += n
        if self.wanted and self.bar is None and time.monotonic() - self.begun > PATIENCE:
            self._start()
        if self.bar is not None:
            self.bar.update(self.shown, description=f"{self.read:,} rows, file {self.done + 1} of {len(self.sizes)}")

    def part(self, number: int) -> None:
        """A file is done."""
        self.done = number + 1
        if self.bar is not None:
            self.bar.advance(self.shown, self.sizes[number])

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
