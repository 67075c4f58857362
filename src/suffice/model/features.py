"""Features of rows for experts: bounded numbers that are made of columns, settled by the rows that a statistic keeps.

A number has up to three kinds of features, which together make any piecewise linear function of it that has steps:

- its standard score (x − mean) / deviation, between −5 and 5,
- its rank √12 (r(x) − ½), where r(x) = P(X < x) + ½ P(X = x), interpolated between at most 256 values,
- indicators of ten bins of about equal weight, in which a value that fills a bin is alone.

A category has indicators of its 50 commonest values, and one of the rest if there are more. A missing value has 0 in
all features of its column: the mean of scores and ranks, and no bin or category. So experts neither integrate it out
nor guess it, and that a category is missing can tell something. `Structure` scores rows without experts if these know
hardly any such gap. An unknown category is one of the rest, or none.

There are at most 1000 features. Scores have precedence over categories, these over ranks, and ranks over bins; among
features of a kind those of columns with the highest entropy have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Categories, Codes, Values, distinct_numbers
from suffice.core.errors import MismatchError
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.core.validation import Held, Labels
from suffice.families.bin_edges import of_sorted_with_ties
from suffice.families.categorical import recoded
from suffice.families.product import Block
from suffice.model.storage import storable

MOST = 1000  # features
FARTHEST = 5.0  # standard scores from the mean
BINS = 10
COMMONEST = 50  # categories
KNOTS = 128  # at equal distances of ranks; others are at values of much weight and beside them
HEAVY = 1 / 42  # the share of the weight from which on a value has knots of its own: at most 3 · 41 of them
AT_ONCE = 256  # columns that are settled together where there are many
LARGEST = 1e150  # numbers beyond are left out: their squares overflow

Kind: TypeAlias = Literal["scores", "categories", "ranks", "bins"]
KINDS: tuple[Kind, ...] = ("scores", "categories", "ranks", "bins")  # in the order of their precedence


@storable
@dataclass(frozen=True, eq=False)
class NumberFeatures:
    """The features of a number: its score if `scored`, its rank if there are knots, its bin if there are edges.

    It is in column `column` of block `block`. With `missing` it is 1 where the entry is missing, else 0.
    """

    name: str
    block: Annotated[int, Held(least=0)]
    column: Annotated[int, Held(least=0)]
    missing: bool
    scored: bool
    mean: Annotated[float, Held(least=-LARGEST, most=LARGEST)]
    deviation: Annotated[float, Held(above=0)]
    knots: Annotated[Array, Held("knots", least=-LARGEST, most=LARGEST)]
    ranks: Annotated[Array, Held("knots")]
    edges: Annotated[Array, Held("edges", least=-LARGEST, most=LARGEST)]

    @classmethod
    def fit(cls, x: Array, weight: Array, ranked: bool = True, **place: Any) -> tuple[NumberFeatures, float] | None:
        """Settle all features by values and weights, and compute the entropy of the bins; None if x does not vary.

        Without `ranked` there are no knots, which take the most time.
        """
        some = (weight > 0) & ~np.isnan(x)
        values, index = distinct_numbers(x[some])
        if len(values) < 2 or max(-values[0], values[-1]) > LARGEST:
            return None
        share = _weights(index, weight[some], len(values))
        share /= share.sum()
        mean = float(share @ values)
        unit = float(np.abs(values - mean).max())
        deviation = unit * float(np.sqrt(share @ ((values - mean) / unit) ** 2)) if unit > 0 else 0.0
        if not deviation > np.finfo(np.float64).tiny:
            return None
        knots, ranks = _knots(values, share) if ranked else (np.empty(0), np.empty(0))
        edges = of_sorted_with_ties(values, share, BINS)
        entropy = _entropy(_weights(np.searchsorted(edges, values), share, len(edges) + 1))
        made = cls(**place, scored=True, mean=mean, deviation=deviation, knots=knots, ranks=ranks, edges=edges)
        return made, entropy

    def check_agreement(self) -> None:
        """Raise an error if knots or edges do not ascend."""
        for name in ("knots", "edges"):
            values = getattr(self, name)
            if (values[1:] <= values[:-1]).any():
                raise MismatchError(f"{name} of column {self.name!r} must ascend")

    @cached_property
    def sizes(self) -> dict[Kind, int]:
        """How many features there are of each kind."""
        bins = len(self.edges) + 1 if len(self.edges) else 0
        return {"scores": int(self.scored), "categories": 0, "ranks": int(len(self.knots) > 0), "bins": bins}

    def only(self, kinds: Sequence[Kind]) -> NumberFeatures:
        """Keep some kinds of features."""
        ranked, none = "ranks" in kinds, np.empty(0)
        return replace(
            self,
            scored=self.scored and "scores" in kinds,
            knots=self.knots if ranked else none,
            ranks=self.ranks if ranked else none,
            edges=self.edges if "bins" in kinds else none,
        )

    def read(self, batch: Batch) -> Array:
        """Return the numbers, NaN where one is missing, (rows,)."""
        return np.asarray(batch.parts[self.block][:, self.column], np.float64)

    def is_missing(self, batch: Batch) -> NDArray[np.bool_]:
        """Return where the number is missing."""
        return np.isnan(self.read(batch))

    def score(self, x: Array) -> Array:
        """Return the standard scores; 0 where a number is missing."""
        return _standardized(np.array(x, np.float64), self.mean, self.deviation)

    def rank(self, x: Array) -> Array:
        """Return the ranks; 0 where a number is missing."""
        return np.nan_to_num(np.interp(x, self.knots, self.ranks), copy=False)

    def rank_of_one(self) -> Callable[[float | None], float]:
        """Return what computes the rank of one number; 0 where it is missing."""
        knots, ranks = self.knots.tolist(), self.ranks.tolist()
        last = len(knots) - 1

        def rank(x: float | None) -> float:
            if x is None:
                return 0.0
            k = bisect_left(knots, x)
            if k == 0 or k > last or knots[k] == x:
                return ranks[min(k, last)]
            return (ranks[k] - ranks[k - 1]) / (knots[k] - knots[k - 1]) * (x - knots[k - 1]) + ranks[k - 1]

        return rank

    def fill_ranks(self, batch: Batch, out: NDArray[np.float32]) -> None:
        """Write the ranks, (rows,), by a kernel."""
        _core.interpolate(self.read(batch), np.ascontiguousarray(self.knots), np.ascontiguousarray(self.ranks), out)

    def fill(self, batch: Batch, out: Array) -> None:
        """Write all features but the score to rows of zeros, (features, rows)."""
        x, at = self.read(batch), int(self.scored)
        if len(self.knots):
            out[at] = self.rank(x)
            at += 1
        if len(self.edges):
            present = np.flatnonzero(~np.isnan(x))
            out[at + np.searchsorted(self.edges, x[present]), present] = 1.0


@storable
@dataclass(frozen=True, eq=False)
class CategoryFeatures:
    """Indicators of categories, and of the `rest` if there are others; column `column` of block `block`."""

    name: str
    block: Annotated[int, Held(least=0)]
    column: Annotated[int, Held(least=0)]
    keys: Annotated[Values, Labels("keys")]
    rest: bool

    @classmethod
    def fit(cls, x: Categories, weight: Array, **place: Any) -> tuple[CategoryFeatures, float] | None:
        """Keep the commonest categories, and compute their entropy; None if there is only one, and never missing."""
        codes = x.codes[:, 0].astype(np.int64) if x.keys is not None else _whole(x.codes[:, 0])
        some = (weight > 0) & (codes >= 0)
        keys = x.keys[0] if x.keys is not None else np.arange(codes.max(initial=-1) + 1)
        total = _weights(codes[some], weight[some], len(keys))
        seen = np.flatnonzero(total > 0)
        if not len(seen) or (len(seen) == 1 and some[weight > 0].all()):
            return None
        common = np.sort(seen[np.argsort(-total[seen], kind="stable")[:COMMONEST]])
        shares = np.append(total[common], total[seen].sum() - total[common].sum()) / total[seen].sum()
        return cls(**place, keys=keys[common], rest=len(seen) > len(common)), _entropy(shares)

    @cached_property
    def sizes(self) -> dict[Kind, int]:
        """How many features there are of each kind."""
        return {"scores": 0, "categories": len(self.keys) + self.rest, "ranks": 0, "bins": 0}

    def only(self, kinds: Sequence[Kind]) -> CategoryFeatures:
        """Keep some kinds of features."""
        return self if "categories" in kinds else replace(self, keys=self.keys[:0], rest=False)

    def read(self, batch: Batch) -> NDArray[np.int32]:
        """Return the numbers of the indicators: −1 of a missing category, after the last of one that has none."""
        codes, number = self.numbered(batch)
        return np.append(number, np.int32(-1))[codes[:, 0]]

    def numbered(self, batch: Batch) -> tuple[Codes, NDArray[np.int32]]:
        """Return the codes of the column, (rows, 1), −1 being missing, and the number of the indicator of each code."""
        part = _column(batch.parts[self.block], self.column)
        if part.keys is None:
            part = Categories(_whole(part.codes), (np.arange(_whole(part.codes).max(initial=-1) + 1),))
        assert part.keys is not None, "the categories have names"
        each = np.arange(len(part.keys[0]), dtype=np.int32)
        return part.codes, recoded(Categories(each[:, None], part.keys), (self.keys,))[:, 0]

    def is_missing(self, batch: Batch) -> NDArray[np.bool_]:
        """Return where the category is missing."""
        part = _column(batch.parts[self.block], self.column)
        return np.asarray((part.codes if part.keys is not None else _whole(part.codes))[:, 0] < 0)

    def fill(self, batch: Batch, out: Array) -> None:
        """Write the features to rows of zeros, (features, rows)."""
        codes = self.read(batch)
        some = np.flatnonzero((codes >= 0) & (codes < len(out)))
        out[codes[some], some] = 1.0


ColumnFeatures: TypeAlias = NumberFeatures | CategoryFeatures


@storable
@dataclass(frozen=True, eq=False)
class Features:
    """The features of all columns, one column after the other."""

    columns: tuple[ColumnFeatures, ...]

    @classmethod
    def fit(cls, blocks: Sequence[Block], batch: Batch, weight: Array) -> Features:
        """Settle the features by rows and weights. Texts have none, and neither have columns that do not vary."""
        numbers = sum(len(block.names) for block in blocks if block.family.reads == "numbers")
        found = cls._of_columns(blocks, batch, weight, numbers < MOST)
        if numbers >= MOST and sum(column.sizes["scores"] for column, _ in found) < MOST:
            found = cls._of_columns(blocks, batch, weight, ranked=True)  # some do not vary, which leaves room
        columns = [column for column, _ in found]
        order = np.argsort([-entropy for _, entropy in found], kind="stable").tolist()
        kept: list[list[Kind]] = [[] for _ in found]
        left = MOST
        for kind in KINDS:
            for i in order:
                size = columns[i].sizes[kind]
                if 0 < size <= left:
                    kept[i].append(kind)
                    left -= size
        return cls(tuple(columns))._with(kept)

    def of(self, places: Iterable[int]) -> Features:
        """Return the features of some of the columns, by their places."""
        return Features(tuple(self.columns[j] for j in places))

    @staticmethod
    def _of_columns(
        blocks: Sequence[Block], batch: Batch, weight: Array, ranked: bool
    ) -> list[tuple[ColumnFeatures, float]]:
        """Settle all features of every column, numbers with ranks or without; return them with their entropies."""
        found: list[tuple[ColumnFeatures, float]] = []
        known: dict[int, tuple[NumberFeatures, float]] = {} if ranked else _scored(blocks, batch, weight)
        for i, (block, part) in enumerate(zip(blocks, batch.parts, strict=False)):
            if i in known:
                found.append(known[i])
                continue
            for j, name in enumerate(block.names):
                place = {"name": name, "block": i, "column": j}
                if block.family.reads == "numbers":
                    x = np.asarray(part[:, j], np.float64)
                    fitted: Any = NumberFeatures.fit(x, weight, ranked, missing=block.missing, **place)
                elif block.family.reads == "categories":
                    fitted = CategoryFeatures.fit(_column(part, j), weight, **place)
                else:
                    continue
                found += [fitted] if fitted is not None else []
        return found

    def only(self, *kinds: Kind) -> Features:
        """Keep some kinds of features."""
        return self._with([kinds] * len(self.columns))

    def _with(self, kinds: Sequence[Sequence[Kind]]) -> Features:
        columns = [column.only(kept) for column, kept in zip(self.columns, kinds, strict=True) if kept]
        return Features(tuple(column for column in columns if sum(column.sizes.values())))

    def check_agreement(self) -> None:
        """Raise an error if there are too many features, or columns without any."""
        sizes = [sum(column.sizes.values()) for column in self.columns]
        if not all(sizes) or sum(sizes) > MOST:
            raise MismatchError(f"columns must have at least one feature each and at most {MOST}, found {sum(sizes)}")

    def check_blocks(self, blocks: Sequence[Block]) -> None:
        """Refuse blocks of other columns than the features are of."""
        for column in self.columns:
            reads = "numbers" if isinstance(column, NumberFeatures) else "categories"
            block = blocks[column.block] if column.block < len(blocks) else None
            fits = block is not None and block.names[column.column : column.column + 1] == (column.name,)
            if block is None or not fits or block.family.reads != reads:
                raise MismatchError(f"There is no column {column.name!r} of {reads} in block {column.block}")

    @cached_property
    def slices(self) -> list[slice]:
        """The features of each column."""
        ends = list(accumulate((sum(column.sizes.values()) for column in self.columns), initial=0))
        return [slice(*ends[i : i + 2]) for i in range(len(self.columns))]

    @property
    def size(self) -> int:
        """How many features there are."""
        return self.slices[-1].stop if self.columns else 0

    def matrix(self, batch: Batch) -> Array:
        """Compute the features of rows, (rows, features), each feature contiguous."""
        out = np.zeros((self.size, batch.n))
        scored: list[tuple[NumberFeatures, int]] = []
        for column, own in zip(self.columns, self.slices, strict=True):
            if isinstance(column, NumberFeatures) and column.scored:
                scored.append((column, own.start))
            if sum(column.sizes.values()) > column.sizes["scores"]:
                column.fill(batch, out[own])
        for lo in range(0, len(scored), AT_ONCE):
            columns, places = zip(*scored[lo : lo + AT_ONCE], strict=True)
            mean, deviation = (np.array([[getattr(c, name)] for c in columns]) for name in ("mean", "deviation"))
            out[list(places)] = _standardized(np.stack([c.read(batch) for c in columns]), mean, deviation)
        return out.T


def _standardized(x: Array, mean: float | Array, deviation: float | Array) -> Array:
    """Turn numbers into standard scores, in place; 0 where a number is missing."""
    with np.errstate(over="ignore"):
        x -= mean
        x /= deviation
    np.clip(x, -FARTHEST, FARTHEST, out=x)
    x[np.isnan(x)] = 0.0
    return x


def _scored(blocks: Sequence[Block], batch: Batch, weight: Array) -> dict[int, tuple[NumberFeatures, float]]:
    """Settle the scores of blocks of one number, whose values differ and are all there, where all rows weigh the same.

    They have one entropy of bins, and no edges: where there are so many numbers, no bin is among the features.
    """
    if not batch.n > 1 or np.ptp(weight) or not weight[0] > 0:
        return {}
    numbers = [i for i, b in enumerate(blocks) if b.family.reads == "numbers" and len(b.names) == 1 and not b.missing]
    share, none, order = np.full(batch.n, 1.0 / batch.n), np.empty(0), np.arange(batch.n, dtype=np.float64)
    edges = of_sorted_with_ties(order, share, BINS)
    entropy = _entropy(_weights(np.searchsorted(edges, order), share, len(edges) + 1))

    def settle(places: Sequence[int]) -> list[tuple[int, tuple[NumberFeatures, float]]]:
        x = np.stack([np.asarray(batch.parts[i][:, 0], np.float64) for i in places])
        x.sort(axis=1)  # NaN comes last
        with np.errstate(over="ignore", invalid="ignore"):
            plain = (x[:, 1:] > x[:, :-1]).all(axis=1) & (np.maximum(-x[:, 0], x[:, -1]) <= LARGEST)
            mean = x @ share
            x -= mean[:, None]
            unit = np.maximum(-x[:, 0], x[:, -1])
            x /= np.where(unit > 0, unit, 1.0)[:, None]
            deviation = unit * np.sqrt(np.square(x) @ share)
        out = []
        for i, ok, m, d in zip(places, plain.tolist(), mean.tolist(), deviation.tolist(), strict=True):
            if ok and d > np.finfo(np.float64).tiny:
                made = NumberFeatures(blocks[i].names[0], i, 0, False, True, m, d, none, none, none)
                out.append((i, (made, entropy)))
        return out

    groups = [numbers[lo : lo + AT_ONCE] for lo in range(0, len(numbers), AT_ONCE)]
    return {i: made for found in in_threads(settle, groups, batch.n * len(numbers)) for i, made in found}


def _column(x: Categories, column: int) -> Categories:
    """Return one column of categories."""
    return Categories(x.codes[:, column : column + 1], None if x.keys is None else x.keys[column : column + 1])


def _whole(codes: Values) -> Codes:
    """Return codes as integers, −1 where one is missing."""
    return np.where(codes >= 0, codes, -1).astype(np.int32)


def _weights(codes: NDArray[Any], weight: Array, size: int) -> Array:
    """Compute the weight of each code."""
    return np.asarray(np.bincount(codes, weights=weight, minlength=size), np.float64)


def _entropy(share: Array) -> float:
    """Compute −Σ p log p."""
    share = share[share > 0]
    return float(-(share @ np.log(share)))


def _knots(values: Array, share: Array) -> tuple[Array, Array]:
    """Return values and their ranks: all of them, or some at equal distances of rank and around heavy ones."""
    ranks = np.sqrt(12.0) * (np.cumsum(share) - 0.5 * share - 0.5)
    last = len(values) - 1
    if last >= KNOTS:
        even = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], KNOTS))
        heavy = np.flatnonzero(share >= HEAVY)
        at = np.unique(np.concatenate([[0, last], even, heavy - 1, heavy, heavy + 1]))
        at = at[(at >= 0) & (at <= last)]
        values, ranks = values[at], ranks[at]
    return values, ranks
