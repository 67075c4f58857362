"""The same rows in 1 to 8 parts, on any engine that cuts them into parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.engines_data import COLUMNS
from benchmarks.harness import Case, Measurement, Task, interleave, milliseconds, short

ROWS = 2_000_000
PARTITIONS = (1, 2, 4, 8)


def learn(rows: Any) -> Any:
    """Ours, where the rows lie."""
    from suffice.naive_bayes import GaussianNB

    return GaussianNB().fit(rows, "y")


def cases(engine: str, rows: int, parts: str, run: Callable[..., Measurement]) -> list[Case]:
    """A case for each number of parts, as the engine calls them; `run` gets it as `partitions`."""
    name = f"{engine} {short(rows)}×{COLUMNS} GaussianNB fit"
    return [Case(f"{name}, {n} {parts}", None, partial(run, partitions=n)) for n in PARTITIONS]


def measured(rows: Any) -> Measurement:
    """The fastest of three fits."""
    seconds, _ = interleave(Task(partial(learn, rows)), Task(lambda: None), rounds=3)
    return Measurement(min(seconds), milliseconds(seconds), details={"ours_seconds": seconds})
