"""Real numbers in bins: one table of probabilities per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Categories, Codes, Dense, Values, refuse_at, starts
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.priors import Dirichlet
from suffice.core.statistics import Cells, Counts
from suffice.core.statistics.cells import LIMIT
from suffice.core.validation import CheckedIn, Held
from suffice.families import bin_edges as cutting
from suffice.families._base import Distribution, Family, Independent, derived
from suffice.families._contract import Summary, Support, Table
from suffice.families.categorical import Categorical, CategoricalDistribution
from suffice.families.logarithms import log
from suffice.formulas import Column, Formula, Steps, X

BINS = 10  # the default number of bins of equal width or weight
MOST_BINS = 100_000  # the edges of more would need more memory than the values


def bin_number(edges: Array) -> Formula:
    """Return the formula of an entry's bin: the number of edges below the entry."""
    return Steps(X, edges, np.arange(len(edges) + 1.0))


def placed(x: Dense, edges: Array, start: NDArray[np.int64], exact: bool = False) -> Categories:
    """Compute the number of each entry's bin, as in `bin_number`. NaN is missing.

    The edges of column j are at `start[j] : start[j + 1]`. If they are `exact`, they are the values that are numbered,
    and all others have the next number.
    """
    out = np.empty(x.shape, dtype=np.float32, order="F")
    refuse_at(_core.step_places(np.asarray(x, np.float64), edges, start, exact, out), x)
    return Categories(out, None)


class Binned(Family[Any]):
    """A real number in bins with one probability per class and bin:  p(x | y) = θ_yk  where  e_k < x ≤ e_(k+1).

    Bins are closed on the right, and both ends are open: (−∞, e_1], (e_1, e_2], …, (e_k, ∞). The density is the
    probability of the bin. It is not divided by the bin's width, which all classes share, and which open ends do not
    have. Probabilities are learned as by `Categorical`; every bin is a category, also an empty one. NaN is missing;
    infinite values are refused.

    `edges` are the inner edges, for all columns or one sequence for each column. Without them, `how` says how each
    column is cut: `"quantile"` (the default) into `bins` bins of about equal weight over all classes, `"width"` into
    `bins` equal parts of its range, `"mdl"` where the classes differ (Fayyad & Irani, 1993), into at most `bins` bins
    if that is given. With `"mdl"`, a column that does not separate the classes is one bin. `bins` is 10 by default,
    except for `"mdl"`.

    With given edges only the bins are counted. Otherwise values are counted in cells, at most `limit` for each class
    and column (see `Cells`), which are the values themselves where there are fewer; `limit=None` keeps all values. No
    edge of a bin lies within a cell.

    >>> family = Binned(prior=None, edges=[3, 4])
    >>> family.estimate(family.summarize([[2.5], [3.0], [3.5], [9.0]], [0, 0, 0, 0]).statistic).probability
    array([[0.5 , 0.25, 0.25]])
    """

    edges: Annotated[Any, CheckedIn("__post_init__")] = None
    bins: Annotated[int | None, Held(least=2, most=MOST_BINS)] = None
    how: Literal["quantile", "width", "mdl"] | None = None
    limit: Annotated[int | None, Held(least=1)] = LIMIT

    weak_prior: ClassVar = Dirichlet(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edges is None:
            object.__setattr__(self, "how", self.how or "quantile")
            if self.how != "mdl" and self.bins is None:
                object.__setattr__(self, "bins", BINS)
            return
        object.__setattr__(self, "edges", cutting.checked(self.edges))
        if self.limit == LIMIT:
            object.__setattr__(self, "limit", None)
        for name in ("bins", "how", "limit"):
            if getattr(self, name) is not None:
                raise InvalidOptionError(f"Binned: with given edges, leave out {name}={getattr(self, name)!r}")

    @property
    def summary(self) -> Summary[Any]:  # type: ignore[override]  # it depends on the options
        """Counts of bins if the edges are given, else the values themselves."""
        if self.edges is None:
            return Summary(Cells, options={"limit": self.limit})
        if not isinstance(self.edges[0], tuple):
            return Summary(Counts, bin_number(np.array(self.edges)))
        return Summary(Counts, tuple(bin_number(np.array(edges)) for edges in self.edges))

    @cached_property
    def categorical(self) -> Categorical:
        """The family that learns the probabilities of bins."""
        return Categorical(self.prior, self.learn)

    def check_width(self, columns: int) -> None:  # the prior is over bins, not columns
        """Refuse edges for another number of columns."""
        if self.edges is not None and isinstance(self.edges[0], tuple) and len(self.edges) != columns:
            raise InvalidOptionError(f"Binned: edges for {len(self.edges)} columns, data of {columns}")

    def given_edges(self, columns: int) -> tuple[Array, ...]:
        """Return the given edges of each column."""
        self.check_width(columns)
        each = self.edges if isinstance(self.edges[0], tuple) else (self.edges,) * columns
        return tuple(np.array(inner) for inner in each)

    def estimate(self, statistic: Counts | Cells) -> BinnedDistribution:
        """Find the edges, and estimate the probabilities of bins as those of categories."""
        if isinstance(statistic, Counts):
            inner = self.given_edges(statistic.n_columns)
            counts = self._over_all_bins(statistic, inner)
            low, high = _ends(inner)
        else:
            inner = self._all_edges(statistic)
            counts = counted(statistic, inner)
            low, high = _range(statistic)
        if self.prior is not None and np.size(self.prior.alpha) not in (1, counts.weight.shape[1]):
            raise MismatchError(
                f"Binned: a prior of {np.size(self.prior.alpha)} pseudo-counts for {counts.weight.shape[1]} bins"
            )
        table = self.categorical.estimate(counts)
        certain = np.repeat(counts.sizes == 1, counts.sizes)  # a single bin has probability 1
        if certain.any():
            table = replace(table, probability=np.where(certain, 1.0, table.probability))
        return BinnedDistribution(table, inner, low, high)

    @classmethod
    def of_edges(cls, prior: Dirichlet, edges: Array, start: NDArray[np.int64]) -> Binned:
        """Return the family of given edges that need no checks: those of column j are at `start[j] : start[j + 1]`."""
        one, flat, at = cls(prior=prior, edges=[0.0]), edges.tolist(), start.tolist()
        each = tuple(tuple(flat[a:b]) for a, b in pairwise(at))
        return cls._made(prior, one.learn, each, None, None, None)

    def with_edges(self, cells: Cells) -> tuple[Binned, Counts]:
        """Find the edges of cells; return the family with these edges given, and the counts of the bins.

        Leave-one-out then has a closed form; the edges stay those of all rows. A column that does not separate the
        classes has no edges, so the position of its only bin is unknown, and it cannot be drawn from.

        >>> cells = Binned(bins=2).summarize([[1.0], [2.0], [3.0], [9.0]], [0, 0, 0, 0]).statistic
        >>> family, counts = Binned(bins=2).with_edges(cells)
        >>> family.edges, counts.weight
        (((2.5,),), array([[2., 2.]]))
        """
        inner = self._all_edges(cells)
        if self.edges is not None:
            return self, counted(cells, inner)
        found = tuple(tuple(e.tolist()) for e in inner)
        return self._made(self.prior, self.learn, found, None, None, None), counted(cells, inner)

    def _all_edges(self, cells: Cells) -> tuple[Array, ...]:
        if self.edges is not None:
            return self.given_edges(cells.n_columns)
        return tuple(self._edges_of(cells, j) for j in range(cells.n_columns))

    def _edges_of(self, cells: Cells, column: int) -> Array:
        points = cells.parts[column]
        last = cells.last_values(column, points.values[:, 0])
        if self.how == "mdl":
            return cutting.of_least_description(points, last, self.bins)
        assert self.bins is not None, "filled in"
        return (cutting.of_equal_width if self.how == "width" else cutting.of_quantiles)(points, last, self.bins)

    @staticmethod
    def _over_all_bins(counts: Counts, inner: tuple[Array, ...]) -> Counts:
        sizes = np.array([len(e) + 1 for e in inner], dtype=np.int64)
        if counts.keys is not None or (counts.sizes > sizes).any():
            raise MismatchError("Binned: these counts were taken with other edges")
        return counts.resized(sizes)

    def leave_one_out(
        self, statistic: Counts | Cells, fitted: Distribution, x: Dense, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out in closed form if the edges are given; otherwise each row may change the edges."""
        assert isinstance(fitted, BinnedDistribution)
        if isinstance(statistic, Cells):
            return super().leave_one_out(statistic, fitted, x, codes, weight)
        bins = placed(x, *fitted.all_edges)
        bins.codes[:, fitted.table.counts.sizes == 1] = np.nan  # a single bin has probability 1 with or without the row
        return self.categorical.leave_one_out(fitted.table.counts, fitted.table, bins, codes, weight)


def with_ties(cells: Cells, column: int, bins: int) -> Array:
    """Return the edges of a column of cells by `of_cells_with_ties`."""
    points = cells.parts[column]
    return cutting.of_cells_with_ties(points, cells.last_values(column, points.values[:, 0]), bins)


def counted(cells: Cells, edges: tuple[Array, ...]) -> Counts:
    """Compute the weight of each class in every bin."""
    sizes = np.array([len(inner) + 1 for inner in edges], dtype=np.int64)
    parts = []
    for points, inner, size in zip(cells.parts, edges, sizes.tolist(), strict=True):
        bins = points.codes * np.int64(size) + np.searchsorted(inner, points.values[:, 0])
        parts.append(np.bincount(bins, weights=points.weight, minlength=size * cells.n_classes).reshape(-1, size))
    return Counts(sizes, None, np.concatenate([np.zeros((cells.n_classes, 0)), *parts], axis=1))


def _range(cells: Cells) -> tuple[Array, Array]:
    """Return the smallest and the largest value of each column, or the ends of their cells; NaN if there are none."""
    out = np.full((2, cells.n_columns), np.nan)
    for j, part in enumerate(cells.parts):
        if len(part.values):
            out[:, j] = part.values.min(), cells.last_values(j, part.values[:, 0]).max()
    return out[0], out[1]


def _ends(edges: tuple[Array, ...]) -> tuple[Array, Array]:
    """Return bounds of the open ends if no value is known: each is as wide as the bin next to it."""
    low, high = np.full((2, len(edges)), np.nan)
    count = np.array([len(e) for e in edges], np.int64)
    some, flat, end = count > 0, np.concatenate([np.zeros(0), *edges]), np.cumsum(count)
    if some.any():
        begin, end = (end - count)[some], end[some] - 1
        first, last = flat[begin], flat[end]
        second, before = flat[np.minimum(begin + 1, end)], flat[np.maximum(end - 1, begin)]
        alone = np.maximum(1.0, np.abs(first))  # if there is a single edge
        with np.errstate(over="ignore"):
            low[some] = first - np.where(begin < end, second - first, alone)
            high[some] = last + np.where(begin < end, last - before, alone)
    largest = np.finfo(np.float64).max
    return np.clip(low, -largest, None), np.clip(high, None, largest)


class BinnedDistribution(Independent):
    """Probabilities of bins, the inner edges of each column, and the bounds of its open ends, (columns,).

    Within a bin the values are uniform. The open ends reach to the smallest and the largest known value. If the edges
    were given and no value is known, an open end is as wide as the bin next to it (with a single edge, as the distance
    of the edge from 0, and at least 1).
    """

    table: CategoricalDistribution
    edges: tuple[Array, ...]
    low: Array
    high: Array

    why_not_linear: ClassVar = (
        "The log-odds are a step function of x, one step for each bin: tables() shows the probabilities"
    )

    @property
    def probability(self) -> Array:
        """The probability of each bin, (classes, Σ bins), column by column."""
        return self.table.probability

    @cached_property
    def all_edges(self) -> tuple[Array, NDArray[np.int64]]:
        """The edges of all columns one after the other, and where those of each start."""
        return np.concatenate([np.zeros(0), *self.edges]), starts(np.array([len(e) for e in self.edges], np.int64))

    def log_density(self, x: Dense) -> Array:
        """Compute the log of the probability of each row's bins under every class, (rows, classes)."""
        return self.table.log_density(placed(x, *self.all_edges))

    def add_relative(self, x: Dense, out: Array, factor: float = 1.0) -> None:
        """Add the log-density, times a factor, to `out`, of one column by a kernel."""
        _, scores, impossible = self.table.kernel_tables
        if self.n_columns != 1 or impossible.any() or x.dtype != np.float64:
            super().add_relative(x, out, factor)
            return
        scores = factor * scores[: len(self.edges[0]) + 1]
        refuse_at(_core.step_scores(x[:, 0], np.ascontiguousarray(self.edges[0]), False, scores, out), x)

    def column_density(self, x: Column, column: int) -> Formula:
        """Return the log of the probability of the bin."""
        return Steps(x, self.edges[column], log(self.table.counts.columns(self.probability)[column]))

    n_columns = derived(lambda self: self.table.n_columns)
    # One less than its bins for each class and column; edges are not counted.
    n_parameters = derived(lambda self: self.table.n_parameters)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return a table for each column: a row for each bin, a column for each class."""
        tables = self.table.tables(labels, names)
        return [replace(t, rows=cutting.names(e.tolist())) for t, e in zip(tables, self.edges, strict=True)]

    def _bounds(self, column: int) -> tuple[Array, Array]:
        """Return the lower and upper bounds of the bins."""
        bounds = np.concatenate([self.low[column : column + 1], self.edges[column], self.high[column : column + 1]])
        return bounds[:-1], bounds[1:]

    def column_support(self, column: int) -> Support:
        """Return the bounds of the bins."""
        begin, end = self._bounds(column)
        return Support("bins", bounds=np.append(begin, end[-1:]))

    @property
    def expected(self) -> Array:
        """The mean of the bins' middles, (classes, columns); NaN if a column had no values."""
        parts = self.table.counts.columns(self.probability)
        middles = [0.5 * a + 0.5 * b for a, b in map(self._bounds, range(self.n_columns))]
        return np.stack([p @ m for p, m in zip(parts, middles, strict=True)], axis=1)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a bin for each entry, then a value within it; NaN in a column that had no values."""
        bins = self.table.sample(codes, rng)
        u = rng.random(bins.shape)
        out = np.empty(bins.shape)
        for j in range(self.n_columns):
            begin, end = (bound[bins[:, j]] for bound in self._bounds(j))
            # The left edge belongs to the previous bin.
            out[:, j] = np.maximum(end * (1.0 - u[:, j]) + begin * u[:, j], np.nextafter(begin, end))
        return out
