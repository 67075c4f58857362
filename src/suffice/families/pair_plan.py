"""The plan that pairs of columns are counted by: codes of values, found columns, and which pairs.

Pairs are counted while rows are read, so what their cells are must be settled before. The plan is settled by the rows
that are kept of the first rows; statistics that were made with one plan add and subtract.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Categories, Codes, Rows, Values
from suffice.core.errors import InvalidOptionError
from suffice.core.frozen_options import Options
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.core.statistics.pairs import MISSING, MOST_CODES
from suffice.core.validation import Held, Labels
from suffice.families import bin_edges as cutting
from suffice.families._base import Family

MOST_COLUMNS = 100  # that take part in pairs: those that tell most
MOST_CELLS = 1 << 23  # of all pairs and classes, 64 MiB
FEWEST_BINS, MOST_BINS = 4, 48
MOST_CATEGORIES = 96


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn(Options):
    """How the values of a block of one column become codes: by the edges of bins, or as the commonest categories.

    Categories that are not among `keys` share the last code.
    """

    block: Annotated[int, Held(least=0)]
    edges: Annotated[Array | None, Held("edges")] = None
    keys: Annotated[Values | None, Labels()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.edges is None) == (self.keys is None):
            raise InvalidOptionError("CodedColumn: values become codes by edges, or by keys")
        if self.edges is not None and not (np.diff(self.edges) > 0).all():
            raise InvalidOptionError("CodedColumn: edges must increase")
        if self.size > MOST_CODES:
            raise InvalidOptionError(f"CodedColumn: there can be at most {MOST_CODES} codes, found {self.size}")

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.edges if self.edges is not None else self.keys) + 1  # type: ignore[arg-type]  # one is there

    def codes(self, part: Rows, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """Return the code of each row, 255 where the value is missing; written to `out` if that is given."""
        out = np.empty(part.shape[0], np.uint8) if out is None else out
        if self.edges is not None:
            _core.bin_codes(np.asarray(np.asarray(part)[:, 0], np.float64), self.edges, out)
            return out
        assert isinstance(part, Categories), "a block of categories"
        codes = np.asarray(part.codes)[:, 0]
        if codes.dtype.kind not in "iu":
            codes = np.where(np.isnan(codes), -1, codes)
        codes = codes.astype(np.int32, copy=False)
        known = {} if self.keys is None else {key: i for i, key in enumerate(self.keys.tolist())}
        named = list(range(int(codes.max(initial=-1)) + 1)) if part.keys is None else part.keys[0].tolist()
        place = np.array([known.get(value, len(known)) for value in named], dtype=np.uint8)
        _core.category_codes(codes, place, out)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class PairPlan(Options):
    """The columns that take part in pairs, how their values become codes, and the pairs, (2, pairs) of columns."""

    columns: tuple[CodedColumn, ...]
    pairs: Annotated[NDArray[np.int32], Held(2, "pairs", least=0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairs.size and self.pairs.max() >= len(self.columns):
            raise InvalidOptionError(f"PairPlan: pairs must be of {len(self.columns)} columns")

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The number of codes of each column."""
        return np.array([column.size for column in self.columns], dtype=np.int64)

    @property
    def is_naive(self) -> bool:
        """Whether there are several columns, and no pair of them tells anything."""
        return len(self.columns) > 1 and not self.pairs.size

    def codes(self, parts: tuple[Rows, ...], n: int) -> NDArray[np.uint8]:
        """Return the codes of rows, (rows, columns), from the parts of the blocks; a column of no pair has none."""
        out = np.empty((len(self.columns), n), np.uint8)
        paired = np.unique(self.pairs)
        if len(paired) < len(out):
            out[:] = MISSING

        def fill(j: int) -> None:
            self.columns[j].codes(parts[self.columns[j].block], out[j])

        in_threads(fill, paired.tolist(), n * len(paired))
        return out.T

    def __repr__(self) -> str:
        return f"PairPlan({self.pairs.shape[1]} pairs of {len(self.columns)} columns)"


def plan_pairs(
    families: tuple[Family[Any] | None, ...], rows: Batch, codes: Codes, weight: Array, classes: int, total: float
) -> PairPlan:
    """Settle codes by kept rows, of a table of `total` rows, and pair the columns that tell most; None takes no part.

    Columns of numbers get about (n / K)^⅓ bins, so that the cells of a pair hold more and more rows.
    """
    bins = int(np.clip(round((total / max(classes, 1)) ** (1 / 3)), FEWEST_BINS, MOST_BINS))
    while True:
        blocks = zip(families, rows.parts, strict=False)
        each = [(b, family, part) for b, (family, part) in enumerate(blocks) if family is not None]
        found = in_threads(lambda one: code_column(*one, weight, bins), each, 8 * rows.n * len(each))  # noqa: B023
        columns = [column for column in found if column is not None]
        if len(columns) > MOST_COLUMNS:
            told = [information(c.codes(rows.parts[c.block]), codes, weight, classes, c.size) for c in columns]
            columns = [columns[i] for i in np.sort(np.argsort(told, kind="stable")[::-1][:MOST_COLUMNS])]
        sizes = np.array([c.size for c in columns], dtype=np.float64)
        cells = classes * (sizes.sum() ** 2 - (sizes**2).sum()) / 2
        if cells <= MOST_CELLS or bins == FEWEST_BINS:
            break
        bins = max(FEWEST_BINS, int(bins * 0.7))
    pairs = np.array(list(combinations(range(len(columns)), 2)), dtype=np.int32).reshape(-1, 2).T
    return PairPlan(tuple(columns), np.ascontiguousarray(pairs))


def code_column(block: int, family: Family[Any], part: Rows, weight: Array, bins: int) -> CodedColumn | None:
    """Settle the codes of a block; None if it has several columns, texts, or a single value."""
    if family.reads == "text" or part.shape[1] != 1:
        return None
    if family.reads == "categories":
        assert isinstance(part, Categories), "a block of categories"
        keys = commonest(part, weight, min(max(2 * bins, 24), MOST_CATEGORIES))
        return CodedColumn(block, keys=keys) if len(keys) > 1 else None
    edges = cutting.of_quantiles_with_ties(np.asarray(part, np.float64)[:, 0], weight, bins)
    return CodedColumn(block, edges=edges) if len(edges) else None


def commonest(part: Categories, weight: Array, most: int) -> Values:
    """Return the categories of largest weight, sorted."""
    codes = np.asarray(part.codes)[:, 0]
    present = codes >= 0 if codes.dtype.kind in "iu" else ~np.isnan(codes)
    values = np.arange(int(codes[present].max(initial=-1)) + 1) if part.keys is None else part.keys[0]
    held = np.bincount(codes[present].astype(np.int64), weights=weight[present], minlength=len(values))
    chosen = np.argsort(-held, kind="stable")[:most]
    return values[np.sort(chosen[held[chosen] > 0])]


def information(codes: NDArray[np.uint8], y: Codes, weight: Array, classes: int, size: int) -> float:
    """Return the mean log p(y | code) of rows that are left out, less that of the class prior."""
    scores = cell_scores(codes, y, weight, classes, size)
    present = codes < size
    if not present.any():
        return 0.0
    gain = scores[y[present], codes[present]]
    share = np.bincount(y[present], weight[present], minlength=classes)
    base = np.log(share / share.sum(), out=np.zeros(classes), where=share > 0)[y[present]]
    return float(np.average(gain - base, weights=weight[present]))


def cell_scores(codes: NDArray[np.uint8], y: Codes, weight: Array, classes: int, size: int) -> Array:
    """Return log p(class | code) of a row of each class and code that is left out, (classes, size).

    Counts are smoothed by one row that is spread as the codes of all classes.
    """
    present = codes < size
    at = y[present].astype(np.int64) * size + codes[present]
    counts = np.bincount(at, weight[present], minlength=classes * size).reshape(classes, size)
    every = counts.sum(axis=0)
    spread = np.maximum(every - 0.5, 0.25) / max(every.sum() - 1.0 + 0.5 * size, 1.0)
    smoothed, own = counts + spread, np.maximum(counts - 1.0, 0.0) + spread
    return np.asarray(np.log(own) - np.log(smoothed.sum(axis=0) - smoothed + own))
