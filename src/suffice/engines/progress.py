"""A progress bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Self

PATIENCE = 0.5  # seconds before a bar is shown


def _bar() -> Any:
    """Return a bar, which has begun to be shown."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar


class Steps:
    """A bar over steps of a search, on a terminal, where it takes long; anywhere else nothing is printed."""

    def __init__(self, total: int):
        self.total, self.done = total, 0
        self.wanted = sys.stderr is not None and sys.stderr.isatty()
        self.begun = time.monotonic()
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def step(self) -> None:
        """Count a step as done."""
        self.done += 1
        if self.wanted and self.bar is None and time.monotonic() - self.begun > PATIENCE:
            self.bar = _bar()
            self.shown = self.bar.add_task("", total=self.total)
        if self.bar is not None:
            self.bar.update(self.shown, completed=self.done, description=f"step {self.done} of at most {self.total}")

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


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
        self.bar = _bar()
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
