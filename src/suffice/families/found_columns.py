"""Columns that are computed from two columns of numbers, and how the most informative ones are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal, NamedTuple

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.frozen_options import Options
from suffice.core.validation import Held
from suffice.families import bin_edges as cutting
from suffice.families.pair_plan import cell_scores
from suffice.formulas import Below, Column, Formula, Unknown, Where

AMONG = 30  # the columns of numbers that tell most are combined
BINS = (12, 24)  # that a candidate is judged with
SCREENED = 2000  # rows that every candidate is judged on first
FINALISTS = 24  # candidates that are judged on all kept rows
WORTH = 2.0  # standard errors that a gain must exceed
DISTINCT = 6  # values that a column must have

Operation = Literal["ratio", "difference", "sum"]
SIGNS = {"ratio": "/", "difference": "−", "sum": "+"}


@dataclass(frozen=True, eq=False, repr=False)
class FoundColumn(Options):
    """A ratio of two columns of positive numbers, or the difference or sum of columns that were divided by a scale.

    >>> FoundColumn("z", "x", "ratio").of(np.array([6.0]), np.array([3.0]))
    array([2.])
    """

    first: str
    second: str
    operation: Operation
    scales: Annotated[tuple[float, float], Held(2, above=0)] = (1.0, 1.0)

    @property
    def names(self) -> tuple[str, str]:
        """The columns that it is computed from."""
        return self.first, self.second

    @property
    def title(self) -> str:
        """Its name for people."""
        return f"{self.first} {SIGNS[self.operation]} {self.second}"

    def of(self, first: Array, second: Array) -> Array:
        """Compute the column; a ratio with a number that is not positive is missing."""
        with np.errstate(all="ignore"):
            if self.operation == "ratio":
                out = np.where((first > 0) & (second > 0), first / second, np.nan)
            else:
                a, b = first / self.scales[0], second / self.scales[1]
                out = a - b if self.operation == "difference" else a + b
        return np.where(np.isfinite(out), out, np.nan)

    def formula(self) -> Formula:
        """Return the column as a formula; it is missing where a part of it is."""
        first, second = Column(self.first), Column(self.second)
        if self.operation == "ratio":
            missing = Unknown()
            return Where(Below(first, 0.0, True), missing, Where(Below(second, 0.0, True), missing, first / second))
        a, b = first / self.scales[0], second / self.scales[1]
        return a - b if self.operation == "difference" else a + b

    def __repr__(self) -> str:
        return f"FoundColumn({self.title})"


class Judged(NamedTuple):
    """The mean log p(y | x) of rows that are left out of a column's bins, and that of each row."""

    mean: float
    rows: Array


def find_columns(
    columns: Sequence[tuple[str, Array]], codes: Codes, weight: Array, classes: int, most: int
) -> list[FoundColumn]:
    """Return up to `most` combinations of columns that tell more about the class than either of the two.

    A combination is judged by exact leave-one-out of its bins, against the better of its two columns. Its gain must be
    worth two standard errors. Of two columns only the best combination is taken.
    """
    few = np.arange(len(codes)) if len(codes) <= SCREENED else np.linspace(0, len(codes) - 1, SCREENED).astype(np.int64)
    alone = {name: judge(x[few], codes[few], weight[few], classes) for name, x in columns if _varies(x)}
    told = sorted(alone, key=lambda name: -alone[name].mean)[:AMONG]
    numbers = {name: x for name, x in columns if name in set(told)}
    screened: list[tuple[float, FoundColumn]] = []
    for a, b in combinations([name for name, _ in columns if name in numbers], 2):
        best = max(alone[a].mean, alone[b].mean)
        for each in _combined(a, b, numbers[a], numbers[b]):
            found = judge(each.of(numbers[a][few], numbers[b][few]), codes[few], weight[few], classes)
            screened.append((found.mean - best, each))
    screened.sort(key=lambda pair: -pair[0])
    finalists = [each for gain, each in screened[:FINALISTS] if gain > 0]
    kept: list[tuple[float, FoundColumn]] = []
    whole: dict[str, Judged] = {}
    for each in finalists:
        for name in each.names:
            if name not in whole:
                whole[name] = judge(numbers[name], codes, weight, classes)
        best_alone = max((whole[name] for name in each.names), key=lambda found: found.mean)
        found = judge(each.of(*(numbers[name] for name in each.names)), codes, weight, classes)
        gain = found.rows - best_alone.rows
        mean = float(np.average(gain, weights=weight))
        error = float(np.sqrt(np.average((gain - mean) ** 2, weights=weight) / weight.sum()))
        if mean > WORTH * error:
            kept.append((mean, each))
    kept.sort(key=lambda pair: -pair[0])
    best_of: dict[tuple[str, str], FoundColumn] = {}
    for _, each in kept:
        best_of.setdefault(each.names, each)
    return list(best_of.values())[:most]


def judge(x: Array, codes: Codes, weight: Array, classes: int) -> Judged:
    """Judge a column by its bins: the better of two numbers of them. A row whose value is missing gets the prior."""
    share = np.bincount(codes, weight, minlength=classes)
    prior = np.log(share / share.sum(), out=np.zeros(classes), where=share > 0)[codes]
    best: Judged | None = None
    for bins in BINS:
        edges = cutting.of_quantiles_with_ties(x, weight, bins)
        cells = np.empty(len(x), np.uint8)
        _core.bin_codes(np.ascontiguousarray(x), edges, cells)
        scores = cell_scores(cells, codes, weight, classes, len(edges) + 1)
        present = cells <= len(edges)
        rows = prior.copy()
        rows[present] = scores[codes[present], cells[present]]
        found = Judged(float(np.average(rows, weights=weight)), rows)
        if best is None or found.mean > best.mean:
            best = found
        if len(edges) < bins - 1:
            break
    assert best is not None, "there is one number of bins at least"
    return best


def _combined(a: str, b: str, x: Array, y: Array) -> Iterator[FoundColumn]:
    """Yield the combinations of two columns."""
    if np.nanmin(x) > 0 and np.nanmin(y) > 0:
        yield FoundColumn(a, b, "ratio")
    scales = tuple(float(f"{np.nanstd(each):.3g}") for each in (x, y))  # short numbers, as people will read them
    if min(scales) > 0 and np.isfinite(scales).all():
        yield FoundColumn(a, b, "difference", scales)  # type: ignore[arg-type]  # there are two
        yield FoundColumn(a, b, "sum", scales)  # type: ignore[arg-type]


def _varies(x: Array) -> bool:
    present = x[~np.isnan(x)]
    return len(present) > 1 and len(np.unique(present[:SCREENED])) >= DISTINCT and bool(np.isfinite(present).all())
