"""Real numbers of any distribution: a kernel on every value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import (
    Array,
    Codes,
    Matrix,
    Values,
    as_dense,
    distinct_pairs,
    encode_repeated,
    is_sparse,
    pack,
    refuse_infinite,
)
from suffice.core.errors import NoFormulaError, NotPartError
from suffice.core.statistics import Cells, Points
from suffice.core.statistics.cells import LIMIT
from suffice.core.statistics.statistic import RESIDUE
from suffice.core.validation import Held
from suffice.families import _bandwidth as rules
from suffice.families._base import Distribution, Family, Independent, derived
from suffice.families._contract import Summary, Table
from suffice.formulas import Bumps, Column, Formula

KernelName: TypeAlias = Literal["gaussian", "epanechnikov", "triangular", "uniform", "biweight", "cosine"]
RuleName: TypeAlias = Literal["silverman", "scott", "sheather-jones", "likelihood"]

MOST_BUMPS = 20_000  # points of a class and column that a formula may hold

RULES: dict[str, rules.Rule] = {
    "silverman": rules.silverman,
    "scott": rules.scott,
    "sheather-jones": rules.sheather_jones,
    "likelihood": rules.maximum_likelihood,
}
FACTORS = {"silverman": 0.9, "scott": 1.06}  # of the rules that are a factor times the spread times n^(−1/5)


class Shape(NamedTuple):
    """A kernel's number in the native code, ∫ K², ∫ z² K, and a function that draws from it."""

    number: int
    roughness: float
    variance: float
    draw: Callable[[np.random.Generator, int], Array]

    @property
    def canonical(self) -> float:
        """The canonical bandwidth, at which all kernels smooth equally (Marron and Nolan, 1988)."""
        return float((self.roughness / self.variance**2) ** 0.2)


SHAPES: dict[str, Shape] = {
    "gaussian": Shape(0, 0.5 / np.sqrt(np.pi), 1.0, lambda rng, n: rng.standard_normal(n)),
    "epanechnikov": Shape(1, 3 / 5, 1 / 5, lambda rng, n: 2.0 * rng.beta(2.0, 2.0, n) - 1.0),
    "triangular": Shape(2, 2 / 3, 1 / 6, lambda rng, n: rng.triangular(-1.0, 0.0, 1.0, n)),
    "uniform": Shape(3, 1 / 2, 1 / 3, lambda rng, n: rng.uniform(-1.0, 1.0, n)),
    "biweight": Shape(4, 5 / 7, 1 / 7, lambda rng, n: 2.0 * rng.beta(3.0, 3.0, n) - 1.0),
    "cosine": Shape(5, np.pi**2 / 16, 1 - 8 / np.pi**2, lambda rng, n: 2 / np.pi * np.arcsin(rng.uniform(-1, 1, n))),
}


class Kernel(Family[Cells]):
    """A real number of any distribution:  p(x | y) = Σ_i w_i K((x − x_i) / h) / (h Σ_i w_i) over the rows i of y.

    `kernel` is `"gaussian"`, or one that is 0 for |x − x_i| ≥ h: `"epanechnikov"`, `"triangular"`, `"uniform"`,
    `"biweight"`, `"cosine"`. Their density is raised to 1e-12 times that of the Gaussian kernel of the same standard
    deviation, so that classes can be compared by distance there too.

    `bandwidth` h is a number, one for each column, or a rule for each class and column: `"silverman"`, `"scott"`,
    `"sheather-jones"` or `"likelihood"` (leave-one-out). The rules are for the Gaussian kernel. Canonical bandwidths
    convert them for the other kernels.

    A class whose values of a column are all equal has the bandwidth of all classes together. A class without values
    has their values too. A column that does not vary is a point mass, as wide as the resolution of floating point.

    Values are counted in cells, at most `limit` for each class and column (see `Cells`), which are the values
    themselves where there are fewer; `limit=None` keeps all values. A wider cell is a point at its middle, and
    leave-one-out then leaves out one row of the cell, and answers for its middle.

    >>> family = Kernel(bandwidth=1.0)
    >>> fitted = family.estimate(family.summarize([[0.0], [0.0], [3.0]], ["a", "a", "a"]).statistic)
    >>> np.exp(fitted.log_density(np.array([[0.0]])))
    array([[0.2674388]])
    """

    prior: None = field(default=None, init=False)  # nothing is conjugate to a density of any shape
    learn: Literal["mle"] = field(default="mle", init=False)
    kernel: KernelName = "gaussian"
    bandwidth: RuleName | Annotated[float | Values, Held("columns", given=True, above=0)] = "silverman"
    limit: Annotated[int | None, Held(least=1)] = LIMIT

    summary = derived(lambda self: Summary(Cells, options={"limit": self.limit}))

    @property
    def _rule(self) -> rules.Rule | None:
        return RULES[self.bandwidth] if isinstance(self.bandwidth, str) else None

    @property
    def _ratio(self) -> float:
        """The factor that converts a Gaussian bandwidth to one of this kernel."""
        return SHAPES[self.kernel].canonical / SHAPES["gaussian"].canonical

    def estimate(self, cells: Cells) -> Distribution:
        """Choose the bandwidths. A class without values of a column takes those of all classes together."""
        parts, width = cells.points, self._widths(cells)
        if not width.all() or not all(np.diff(part.start).all() for part in parts):
            pooled = cells.pooled()
            width = np.where(width > 0, width, self._widths(pooled))
            parts = tuple(_filled(part, whole) for part, whole in zip(parts, pooled.points, strict=True))
        if self._rule is not None:
            width = np.maximum(width, [_resolution(part) for part in parts])
        return KernelDistribution(self.kernel, parts, width, self._rule is not None)

    def _widths(self, cells: Cells) -> Array:
        """Compute the bandwidth of each class and column, (classes, columns); 0 if the values do not vary."""
        shape = cells.n_classes, cells.n_columns
        if self._rule is None:
            return np.broadcast_to(np.asarray(self.bandwidth, dtype=np.float64), shape)
        each = [_apply(self._rule, *part.of_class(c)) for c in range(shape[0]) for part in cells.points]
        return self._ratio * np.array(each).reshape(shape)

    def leave_one_out(self, cells: Cells, fitted: Distribution, x: Matrix, codes: Codes, weight: Array | None) -> Array:
        """Leave rows out; the points of one class change, and its bandwidth if that is learned.

        With a given bandwidth this costs little more than a prediction. With a rule, every row needs its own bandwidth
        and its own sum, also in a class that uses the points of all classes. Sheather-Jones and likelihood are solved
        again for each row. If a class would need the points of all classes without a row, that row is subtracted from
        the statistic.
        """
        assert isinstance(fitted, KernelDistribution), "the result of `estimate`"
        x = as_dense(x) if is_sparse(x) else x
        refuse_infinite(x)
        weight = np.ones(len(x)) if weight is None else weight
        pooled = cells.pooled()
        out = np.zeros((len(x), cells.n_classes))
        for j, (part, whole) in enumerate(zip(cells.points, pooled.points, strict=True)):
            column = cells.places(j, x[:, j].astype(np.float64))
            each = np.zeros_like(out)
            fitted.add_column(j, column, each)
            rows = np.flatnonzero((weight > 0) & ~np.isnan(column))
            if len(rows):
                changed = self._column_without(
                    part, whole, fitted.bandwidth[:, j], column[rows], codes[rows], weight[rows]
                )
                each[rows] = np.where(np.isinf(changed), each[rows], changed)
            out += each
        rest = np.flatnonzero(np.isnan(out).any(axis=1))
        if len(rest):
            out[rest] = super().leave_one_out(cells, fitted, x[rest], codes[rest], weight[rest])
        return out

    def _column_without(
        self, part: Points, whole: Points, width: Array, x: Array, codes: Codes, weight: Array
    ) -> Array:
        """Compute the log-densities of a column's entries without their own row, (rows, classes).

        The result is infinite where the log-density does not change, and NaN where the row must be subtracted from the
        statistic.
        """
        out = np.full((len(x), len(width)), np.inf)
        sizes = np.diff(part.start)
        pooled = np.flatnonzero(sizes < (1 if self._rule is None else 2))  # classes that use those of all classes
        for c in np.unique(codes):
            rows = np.flatnonzero(codes == c)
            values, weights = part.of_class(c)
            place = _places(values[:, 0], weights, x[rows], weight[rows])
            if c not in pooled:
                # Rows of equal value and weight have the same result.
                some, removed, which = distinct_pairs(place, weight[rows])
                out[rows, c] = self._without(values[:, 0], weights, some, removed, width[c])[which]
        all_values, all_weight = whole.values[:, 0], whole.weight
        if self._rule is not None and width.min() <= 2.0 * _resolution(whole):
            # A column that does not vary stays a point mass. Otherwise the least bandwidth may change.
            unchanged = len(all_values) == 1 and all_weight[0] - weight.max() > RESIDUE * all_weight[0]
            return np.full_like(out, np.inf if unchanged else np.nan)
        if not len(pooled):
            return out
        place = np.searchsorted(all_values, x)
        if self._rule is None:
            order = np.lexsort([weight, place])
            for c in pooled:
                out[order, c] = self._without(all_values, all_weight, place[order], weight[order], width[c])
            return out
        widths = self._ratio * self._widths_without(all_values, all_weight, place, weight)
        widths[widths <= 2.0 * _resolution(whole)] = np.nan
        for c in pooled.tolist():
            values, weights = part.of_class(c)
            removed = np.where(codes == c, weight, 0.0) if len(values) else weight
            points = (values[:, 0], weights) if len(values) else (all_values, all_weight)
            out[:, c] = self._with_widths(*points, x, removed, widths)
        return out

    def _without(self, values: Array, weight: Array, place: NDArray[np.int64], removed: Array, width: float) -> Array:
        """Compute the log-density at values[place] with that value's weight less `removed`; NaN where more changes."""
        out = np.full(len(place), np.nan)
        points = values, weight, np.array([0, len(values)]), weight.sum(keepdims=True)
        number = SHAPES[self.kernel].number
        if self._rule is None:
            some = np.flatnonzero(removed < weight.sum() * (1.0 - RESIDUE))
            at = np.ascontiguousarray(values[place[some]])
            log_density = np.zeros(len(some))
            order = np.arange(len(some))
            _core.kernel_log_density(number, at, order, removed[some], *points, np.array([width]), log_density)
            out[some] = log_density
            return out
        widths = self._ratio * self._widths_without(values, weight, place, removed)
        return self._with_widths(values, weight, values[place], removed, np.where(widths > 0, widths, np.nan))

    def _with_widths(self, values: Array, weight: Array, x: Array, removed: Array, widths: Array) -> Array:
        """Compute the log-density at each x with its weight less `removed` and its own width; NaN if that is NaN."""
        out = np.full(len(x), np.nan)
        total = weight.sum(keepdims=True)
        some = np.flatnonzero(~np.isnan(widths) & (removed < total * (1.0 - RESIDUE)))
        points = values, weight, np.array([0, len(values)]), total
        log_density = np.empty(len(some))
        number = SHAPES[self.kernel].number
        _core.kernel_leave_one_out(number, x[some], removed[some], *points, widths[some], log_density)
        out[some] = log_density
        return out

    def _widths_without(self, values: Array, weight: Array, place: NDArray[np.int64], removed: Array) -> Array:
        assert isinstance(self.bandwidth, str), "there is a rule"
        if self.bandwidth in FACTORS:
            spread = rules.spread_without(values, weight, place, removed)
            left = np.where(spread > 0, weight.sum() - removed, 1.0)
            return FACTORS[self.bandwidth] * spread * left**-0.2
        out = np.empty(len(place))
        for i, (at, w) in enumerate(zip(place, removed, strict=True)):
            others = weight.copy()
            others[at] = others[at] - w if others[at] - w > RESIDUE * others[at] else 0.0
            out[i] = _apply(RULES[self.bandwidth], values[others > 0][:, None], others[others > 0])
        return out


def _apply(rule: rules.Rule, values: Array, weight: Array) -> float:
    """Return the bandwidth for points (points, 1); 0 if there are less than two."""
    return rule(values[:, 0], weight) if len(weight) > 1 else 0.0


def _resolution(points: Points) -> float:
    """Return the smallest difference that floating point can represent between numbers of the column's size."""
    return max(float(np.abs(points.values).max(initial=0.0)) * float(np.finfo(np.float64).eps), 1e-150)


def _filled(part: Points, whole: Points) -> Points:
    """Return the points of each class, or those of all classes if a class has none."""
    sizes = np.diff(part.start)
    if sizes.all() or not len(part.weight):
        return part
    each = [part.of_class(c) if size else whole.of_class(0) for c, size in enumerate(sizes)]
    start = np.concatenate([[0], np.cumsum([len(w) for _, w in each])]).astype(np.int64)
    return Points(np.concatenate([v for v, _ in each]), np.concatenate([w for _, w in each]), start)


def _places(values: Array, weight: Array, x: Array, removed: Array) -> NDArray[np.int64]:
    """Return the position of each x among the values of a class; refuse an x that is not there with that weight."""
    place = np.searchsorted(values, x)
    known = place < len(values)
    known[known] &= values[place[known]] == x[known]
    known[known] &= weight[place[known]] >= removed[known] * (1.0 - 1e-9)
    if not known.all():
        raise NotPartError(f"Cannot leave out {x[np.argmin(known)]}: it was not learned with that label and weight")
    return place


class KernelDistribution(Independent):
    """The points of each column and class, the bandwidths (classes, columns), and whether these were learned.

    A column that had no values adds 0 to the log-density.
    """

    kernel: KernelName
    parts: tuple[Points, ...]
    bandwidth: Array
    learned: bool

    why_not_linear: ClassVar = "The logarithm of a sum of kernels is not linear in x; use Gaussian(variance='shared')"

    def log_density(self, x: Matrix) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        x = as_dense(x) if is_sparse(x) else x
        refuse_infinite(x)
        out = np.zeros((x.shape[0], len(self.bandwidth)))
        self.add_relative(x, out)
        return out

    def add_relative(self, x: Matrix, out: Array, factor: float = 1.0) -> None:
        """Add the log-density, times a factor, to `out`."""
        x = as_dense(x) if is_sparse(x) else x
        refuse_infinite(x)
        for j in range(self.n_columns):
            self.add_column(j, x[:, j].astype(np.float64, copy=False), out, factor)

    def add_column(self, j: int, column: Array, out: Array, factor: float = 1.0) -> None:
        """Add the log-densities of a column's entries (rows,), times a factor, to `out` (rows, classes)."""
        few = encode_repeated(column)
        if few is None:
            out += factor * self._of_column(j, column)
            return
        codes, values = few
        table = factor * self._of_column(j, values)  # each distinct value is evaluated once
        _core.category_scores(codes[:, None], np.array([0, len(table)]), pack(table.T), out.shape[1], out)

    def _of_column(self, j: int, column: Array) -> Array:
        part, order, out = self.parts[j], np.empty(len(column), np.int64), np.zeros((len(column), len(self.bandwidth)))
        if not len(part.weight):
            return out
        column = column.copy()
        n = len(column) - np.count_nonzero(np.isnan(column))  # missing entries are sorted to the end
        _core.sort_segments(column, np.array([0, len(column)]), order)
        widths, at = np.ascontiguousarray(self.bandwidth[:, j]), part.values.reshape(-1)
        points = at, part.weight, part.start, self._totals[j]
        number = SHAPES[self.kernel].number
        _core.kernel_log_density(number, column[:n], order[:n], None, *points, widths, out)
        return out

    @cached_property
    def _totals(self) -> list[Array]:
        return [part.class_weight for part in self.parts]

    @cached_property
    def mean(self) -> Array:
        """The mean of each class and column, (classes, columns); NaN if a column had no values."""
        out = np.full(self.bandwidth.shape, np.nan)
        for j, (part, total) in enumerate(zip(self.parts, self._totals, strict=True)):
            for c in range(len(out) if len(part.weight) else 0):
                values, weight = part.of_class(c)
                out[c, j] = values[0, 0] + weight @ (values[:, 0] - values[0, 0]) / total[c]
        return out

    expected = derived(lambda self: self.mean)  # the mean of the points of each class and column: kernels are symmetric

    def column_density(self, x: Column, column: int) -> Formula | None:
        """Return a sum with a term for each point of a class."""
        if self.kernel != "gaussian":
            raise NoFormulaError(
                f"The {self.kernel} kernel ends at its bandwidth, and its density beyond has no formula: use the "
                "Gaussian kernel"
            )
        part = self.parts[column]
        sizes = np.diff(part.start)
        if not sizes.any():
            return None
        if sizes.max() > MOST_BUMPS:
            raise NoFormulaError(
                f"Column {x.column!r} has a kernel over {sizes.max()} points, and a formula holds at most "
                f"{MOST_BUMPS}: fit with limit={MOST_BUMPS}, or choose another family"
            )
        shape = len(sizes), int(sizes.max())
        centre, height = np.zeros(shape), np.full(shape, -np.inf)
        width = np.repeat(self.bandwidth[:, column, None], shape[1], axis=1)
        for c, size in enumerate(sizes):
            values, weight = part.of_class(c)
            centre[c, :size] = values[:, 0]
            height[c, :size] = np.log(weight / weight.sum()) - np.log(np.sqrt(2 * np.pi) * width[c, 0])
        return Bumps(x, centre, width, height)

    n_columns = derived(lambda self: len(self.parts))
    # One bandwidth for each class and column where they were learned; the points are data.
    n_parameters = derived(lambda self: self.bandwidth.size if self.learned else 0)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return a table for each column: the number of points, the bandwidth and the mean of each class."""
        heads, rows = [str(label) for label in labels], ["points", "bandwidth", "mean"]
        return [
            Table(str(name), rows, heads, np.stack([np.diff(part.start), self.bandwidth[:, j], self.mean[:, j]]))
            for j, (name, part) in enumerate(zip(names, self.parts, strict=True))
        ]

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw points by their weights, and add noise from the kernel; NaN if a column had no values."""
        out = np.full((len(codes), self.n_columns), np.nan)
        for j, part in enumerate(self.parts):
            for c in np.unique(codes) if len(part.weight) else ():
                rows = np.flatnonzero(codes == c)
                values, weight = part.of_class(c)
                cumulative = np.cumsum(weight)
                chosen = np.searchsorted(cumulative, rng.random(len(rows)) * cumulative[-1], side="right")
                noise = SHAPES[self.kernel].draw(rng, len(rows))
                out[rows, j] = values[np.minimum(chosen, len(values) - 1), 0] + self.bandwidth[c, j] * noise
        return out
