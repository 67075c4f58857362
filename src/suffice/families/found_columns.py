"""Columns that are computed from two columns of numbers, and how the most informative ones are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal, NamedTuple

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes
from suffice.core.frozen_options import Options
from suffice.core.parallel import in_threads
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
OPERATIONS: tuple[Operation, ...] = ("ratio", "difference", "sum")
KERNEL = {operation: 1 + i for i, operation in enumerate(OPERATIONS)}  # their numbers in kernels; 0 is none
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
        """Compute the column; a ratio with a number that is not positive is missing, and so is what is not finite."""
        out = np.empty(len(first))
        _core.combine_columns(first, second, KERNEL[self.operation], *self.scales, out)
        return out

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


class Candidate(NamedTuple):
    """A combination of two columns, by their positions; the first column by itself has no operation."""

    first: int
    second: int
    operation: Operation | None = None
    scales: tuple[float, float] = (1.0, 1.0)


def find_columns(
    columns: Sequence[tuple[str, Array]], codes: Codes, weight: Array, classes: int, most: int
) -> list[FoundColumn]:
    """Return up to `most` combinations of columns that tell more about the class than either of the two.

    A combination is judged by exact leave-one-out of its bins, against the better of its two columns. Its gain must be
    worth two standard errors. Of two columns only the best combination is taken.
    """
    numbers = [(name, x) for name, x in columns if _varies(x)]
    finalists = _finalists([x for _, x in numbers], codes, weight, classes)
    singles, work = sorted({i for each in finalists for i in each[:2]}), len(codes) * len(finalists)
    judged = in_threads(lambda i: judge(numbers[i][1], codes, weight, classes), singles, work)
    whole = dict(zip(singles, judged, strict=True))

    def gained(each: Candidate) -> tuple[float, float, FoundColumn]:
        """Return the gain of a combination, its standard error, and the combination as a column."""
        (a, x), (b, y) = numbers[each.first], numbers[each.second]
        assert each.operation is not None, "of two columns"
        column = FoundColumn(a, b, each.operation, each.scales)
        best = max((whole[each.first], whole[each.second]), key=lambda found: found.mean)
        gain = judge(column.of(x, y), codes, weight, classes).rows - best.rows
        mean = float(np.average(gain, weights=weight))
        return mean, float(np.sqrt(np.average((gain - mean) ** 2, weights=weight) / weight.sum())), column

    found = in_threads(gained, finalists, work)
    kept = [(mean, column) for mean, error, column in found if mean > WORTH * error]
    kept.sort(key=lambda pair: -pair[0])
    best_of: dict[tuple[str, str], FoundColumn] = {}
    for _, each in kept:
        best_of.setdefault(each.names, each)
    return list(best_of.values())[:most]


def _finalists(numbers: Sequence[Array], codes: Codes, weight: Array, classes: int) -> list[Candidate]:
    """Return the combinations that gain most on some of the rows."""
    if len(numbers) < 2:
        return []
    few = np.arange(len(codes)) if len(codes) <= SCREENED else np.linspace(0, len(codes) - 1, SCREENED).astype(np.int64)
    table = np.stack([x[few] for x in numbers])
    alone = tell(table, [Candidate(i, i) for i in range(len(table))], codes[few], weight[few], classes)
    candidates = _combined(numbers, np.sort(np.argsort(-alone, kind="stable")[:AMONG]).tolist())
    told = tell(table, candidates, codes[few], weight[few], classes)
    gains = told - [max(alone[each.first], alone[each.second]) for each in candidates]
    return [candidates[i] for i in np.argsort(-gains, kind="stable")[:FINALISTS] if gains[i] > 0]


def tell(table: Array, candidates: Sequence[Candidate], codes: Codes, weight: Array, classes: int) -> Array:
    """Return the mean that `judge` finds for each candidate, of columns (columns, rows), by a kernel."""
    out = np.empty(len(candidates))
    first, second = np.array([each[:2] for each in candidates], np.int32).reshape(-1, 2).T.copy()
    how = np.array([0 if each.operation is None else KERNEL[each.operation] for each in candidates])
    scales = np.array([each.scales for each in candidates], np.float64).reshape(-1, 2)
    rows = np.ascontiguousarray(codes, np.int32), np.ascontiguousarray(weight, np.float64), classes
    bins = np.array(BINS, np.int64)
    _core.combinations_tell(np.ascontiguousarray(table), first, second, how.astype(np.int32), scales, *rows, bins, out)
    return out


def judge(x: Array, codes: Codes, weight: Array, classes: int) -> Judged:
    """Judge a column by its bins: the better of two numbers of them. A row whose value is missing gets the prior."""
    share = np.bincount(codes, weight, minlength=classes)
    prior = np.log(share / share.sum(), out=np.zeros(classes), where=share > 0)[codes]
    best: Judged | None = None
    values = cutting.distinct(x, weight)
    for bins in BINS:
        edges = cutting.of_sorted_with_ties(*values, bins)
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


def _combined(numbers: Sequence[Array], among: Sequence[int]) -> list[Candidate]:
    """List the combinations of every two of some columns."""
    positive = {i: bool(np.nanmin(numbers[i]) > 0) for i in among}
    # Short numbers, as people will read them.
    scale = {i: float(f"{np.nanstd(numbers[i]):.3g}") for i in among}
    out = []
    for i, j in combinations(among, 2):
        scales = scale[i], scale[j]
        if positive[i] and positive[j]:
            out.append(Candidate(i, j, "ratio"))
        if min(scales) > 0 and np.isfinite(scales).all():
            out += [Candidate(i, j, "difference", scales), Candidate(i, j, "sum", scales)]
    return out


def _varies(x: Array) -> bool:
    present = x[~np.isnan(x)]
    return len(present) > 1 and len(np.unique(present[:SCREENED])) >= DISTINCT and bool(np.isfinite(present).all())
