"""Time two things in turns, compare their answers, and judge the outcome by a target."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

TURN_SECONDS = 0.1
MOST_RUNS_A_TURN = 20
CASE_SECONDS = 3.0  # a case goes on for so long, that a short disturbance may not decide it
MOST_ROUNDS = 4  # times the rounds asked for


class AnswersDifferError(Exception):
    """The two sides do not give the same answer, so that their times mean nothing."""


# ------------------------------------------------------------------------------------------ what is measured


@dataclass(frozen=True)
class Settings:
    """How large and how long to measure."""

    quick: bool = False
    repeats: int = 5

    def rows(self, full: int) -> int:
        """Scale a number of rows down for a quick run."""
        return max(full // 20, 50) if self.quick else full


@dataclass(frozen=True)
class Quantity:
    """A number with its unit."""

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{digits(self.value)}{self.unit}"


@dataclass(frozen=True)
class Target:
    """The range in which a case's judged number ought to lie."""

    low: float | None = None
    high: float | None = None
    unit: str = ""

    def reached(self, value: float) -> bool:
        """Return whether a number lies in the range."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.low is None:
            return f"≤ {self.high:g}{self.unit}"
        if self.high is None:
            return f"≥ {self.low:g}{self.unit}"
        return f"{self.low:g} … {self.high:g}{self.unit}"


@dataclass(frozen=True)
class Measurement:
    """What one case gave: both sides where there are two, their ratio, and the number to judge."""

    judged: float
    ours: Quantity | None = None
    theirs: Quantity | None = None
    ratio: Quantity | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A named measurement on the data of its group, with its target, None for information only."""

    name: str
    target: Target | None
    measure: Callable[[Any], Measurement]


@dataclass(frozen=True)
class Group:
    """Cases that share data, built before the first of them and freed after the last."""

    build: Callable[[], Any]
    cases: list[Case]


@dataclass(frozen=True)
class Outcome:
    """A case that was run: its measurement, or why there is none."""

    case: Case
    measurement: Measurement | None
    failure: str | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None where there is no target."""
        if self.measurement is None:
            return False
        return None if self.case.target is None else self.case.target.reached(self.measurement.judged)


# ------------------------------------------------------------------------------------------ answers


def agree(ours: Any, theirs: Any, rtol: float = 1e-9, atol: float = 1e-8) -> dict[str, float]:
    """Raise unless |ours − theirs| ≤ atol + rtol |theirs| everywhere; return the largest difference found."""
    worst = 0.0
    for a, b in zip(_arrays(ours), _arrays(theirs), strict=True):
        if a.shape != b.shape:
            raise AnswersDifferError(f"shapes {a.shape} and {b.shape}")
        difference = np.abs(a.astype(np.float64, copy=False) - b)
        if not (difference <= atol + rtol * np.abs(b)).all():
            raise AnswersDifferError(f"by up to {np.nanmax(difference):.3g}, allowed {atol:g} + {rtol:g} |answer|")
        worst = max(worst, float(difference.max(initial=0.0)))
    return {"rtol": rtol, "atol": atol, "largest_difference": worst}


def _arrays(answer: Any) -> list[Any]:
    return [np.asarray(a) for a in answer] if isinstance(answer, (list, tuple)) else [np.asarray(answer)]


# ------------------------------------------------------------------------------------------ time


@dataclass(frozen=True)
class Task:
    """Something to time; one call of it makes `operations` operations."""

    call: Callable[[], object]
    operations: int = 1


def turn(task: Task) -> float:
    """Run a task for a tenth of a second, at least once, and return the median time of an operation."""
    times: list[float] = []
    while not times or (sum(times) < TURN_SECONDS and len(times) < MOST_RUNS_A_TURN):
        start = time.perf_counter()
        result = task.call()
        times.append(time.perf_counter() - start)
        del result
    return median(times) / task.operations


def interleave(first: Task, second: Task, rounds: int, second_every: int = 1) -> tuple[list[float], list[float]]:
    """Time two tasks by turns, the second one in every so many rounds only; who begins changes.

    Quick tasks get more rounds than asked for.
    """
    times: tuple[list[float], list[float]] = ([], [])
    start, i = time.perf_counter(), 0
    with no_collecting():
        while i < rounds or (i < MOST_ROUNDS * rounds and time.perf_counter() - start < CASE_SECONDS):
            both = [(first, times[0]), (second, times[1])] if i % second_every == 0 else [(first, times[0])]
            for task, seconds in reversed(both) if i // second_every % 2 else both:
                seconds.append(turn(task))
            i += 1
    return times


@contextmanager
def no_collecting() -> Iterator[None]:
    """Keep the garbage collector from running meanwhile."""
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def versus(ours: Task, theirs: Task, settings: Settings, agreement: dict[str, float]) -> Measurement:
    """Measure how many times as fast as scikit-learn we are; it runs in every second round."""
    a, b = interleave(ours, theirs, settings.repeats, second_every=2)
    speedup = median(b) / median(a)
    details = {"ours_seconds": a, "theirs_seconds": b, "agreement": agreement}
    return Measurement(speedup, milliseconds(a), milliseconds(b), Quantity(speedup, "×"), details)


def relative(ours: Task, base: Task, settings: Settings, agreement: dict[str, float] | None = None) -> Measurement:
    """Measure our time as a multiple of another of ours, or of some yardstick's."""
    a, b = interleave(ours, base, settings.repeats)
    share = median(a) / median(b)
    details = {"ours_seconds": a, "base_seconds": b, "agreement": agreement}
    return Measurement(share, milliseconds(a), None, Quantity(share, ""), details)


def milliseconds(seconds: Iterable[float]) -> Quantity:
    """Turn the median of some times into milliseconds."""
    return Quantity(1e3 * median(seconds), "")


def digits(value: float) -> str:
    """Write a number with three significant digits and no exponent."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{min(decimals, 5)}f}"


def short(number: int) -> str:
    """Write a number of rows as people say it: 1M, 200k, 500."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return str(number)
