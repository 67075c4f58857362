"""One of several categories: one table of probabilities per column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import (
    Array,
    Categories,
    Codes,
    Positions,
    Values,
    as_categories,
    encode_columns,
    pack,
    refuse_at,
    refuse_infinite,
)
from suffice.core.errors import MismatchError
from suffice.core.priors import Dirichlet
from suffice.core.statistics import Counts
from suffice.core.statistics.statistic import clear_residue
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, FillMethod, Independent, derived
from suffice.families._contract import CATEGORIES, Outcomes, Summary, Table
from suffice.families.logarithms import log
from suffice.formulas import Column, Formula, Lookup

AT_ONCE = 1 << 18  # entries that are left out at a time, so that arrays of them stay in cache
MOST_CATEGORIES = 1 << 20  # that a column may be said to have without showing them


class Categorical(Family[Counts]):
    """One of m categories, a table of probabilities per class and column:  p(x = k | y) = θ_yk.

    Columns hold strings or other values, or numbers 0, 1, 2, … which stand for categories. For numbers,
    `min_categories` is the least number of categories. A category that did not occur in training has the probability
    of one further category with a count of 0: α / (n + α (m + 1)), and 0 without a prior. The default prior is
    Dirichlet(1): Laplace smoothing.

    >>> family = Categorical(prior=Dirichlet(1))
    >>> family.estimate(family.summarize([["a"], ["a"], ["b"]], [0, 0, 0]).statistic).probability
    array([[0.6, 0.4]])
    """

    min_categories: Annotated[int | Positions | None, Held(given=True, least=1, most=MOST_CATEGORIES)] = None

    summary: ClassVar = Summary(Counts)
    reads: ClassVar = "categories"
    by_column: ClassVar = False  # the prior is over categories
    weak_prior: ClassVar = Dirichlet(1.0)

    def check_statistic(self, counts: Counts) -> None:
        """Refuse `min_categories`, or a prior, of another number of columns or categories."""
        super().check_statistic(counts)
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.ndim > 1 or least.size not in (1, counts.n_columns):
            raise MismatchError(f"Categorical: min_categories for {least.size} columns, data of {counts.n_columns}")
        alpha = np.asarray(0.0 if self.prior is None else self.prior.alpha)
        if alpha.ndim > 1 or (alpha.size > 1 and alpha.size != self.domain(counts).weight.shape[1]):
            raise MismatchError(f"Categorical: a prior of {alpha.size} categories, data of {counts.weight.shape[1]}")

    def domain(self, counts: Counts) -> Counts:
        """Return the counts of all categories, including those that `min_categories` adds."""
        if self.min_categories is None or counts.keys is not None:
            return counts
        return counts.resized(np.broadcast_to(np.asarray(self.min_categories, np.int64), counts.sizes.shape))

    def estimate(self, counts: Counts) -> CategoricalDistribution:
        """Estimate θ_k = n_k / n, (n_k + α − 1) / Σ(n + α − 1) or (n_k + α) / Σ(n + α)."""
        counts = self.domain(counts)
        prior = self.prior or Dirichlet(0.0)

        def total(table: Array) -> Array:
            return np.repeat(_sum_columns(counts, table), counts.sizes, axis=-1)

        theta = prior.mode(counts.weight, total) if self.learn == "map" else prior.mean(counts.weight, total)
        observed = _sum_columns(counts, counts.weight)
        alpha = float(np.mean(prior.alpha))
        mass = alpha if self.learn != "map" else max(alpha - 1.0, 0.0)
        norm = observed + mass * (counts.sizes + 1.0)
        unseen = np.divide(mass, norm, out=np.zeros_like(norm), where=norm > 0)
        return CategoricalDistribution(counts, theta, unseen)

    def leave_one_out(
        self, counts: Counts, fitted: Distribution, x: Categories, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out; one category of the row's own class changes. The set of categories does not change."""
        assert isinstance(fitted, CategoricalDistribution)
        out, numbers, counts = fitted.log_density(x), fitted.numbered(x), fitted.counts
        updated = counts.weight + (0.0 if self.prior is None else self.prior.alpha)
        if not updated.size:
            return out
        peaks = np.maximum(updated - 1.0, 0.0)
        totals, peak_totals = _sum_columns(counts, updated), _sum_columns(counts, peaks)
        weight = np.ones(len(codes)) if weight is None else weight
        step = max(1, AT_ONCE // max(1, len(counts.sizes)))
        for lo in range(0, len(codes), step):
            part = slice(lo, lo + step)
            with np.errstate(invalid="ignore"):
                k = np.where(np.isnan(numbers[part]), -1, numbers[part]).astype(np.int64)
            own, w = codes[part], weight[part, None]
            at = np.minimum(counts.offsets[:-1] + np.maximum(k, 0), updated.shape[1] - 1)
            entry = updated[own[:, None], at]
            share = _share_without(entry, totals[own], w)
            if self.learn == "map":
                peak = peaks[own[:, None], at]
                peak_share = _share_without(peak, peak_totals[own], peak - np.maximum(entry - w - 1.0, 0.0))
                share = np.where(np.isnan(peak_share), share, peak_share)
            terms = np.where(k < 0, 0.0, log(np.where(np.isnan(share), 0.0, share)))
            out[np.arange(lo, lo + len(own)), own] = terms.sum(axis=1)
        return out


def _share_without(entry: Array, total: Array, removed: Array) -> Array:
    """Compute (entry − removed) / (total − removed); NaN where nothing is left."""
    left = clear_residue(np.asarray(entry - removed), entry)
    norm = clear_residue(np.asarray(total - removed), total)
    return np.divide(left, norm, out=np.full(left.shape, np.nan), where=norm > 0)


def _sum_columns(counts: Counts, table: Array) -> Array:
    """Sum over the categories of each column, (…, columns)."""
    if not table.shape[-1]:
        return np.zeros((*table.shape[:-1], len(counts.sizes)))
    filled = counts.sizes > 0  # reduceat cannot sum nothing
    out = np.zeros((*table.shape[:-1], len(counts.sizes)))
    out[..., filled] = np.add.reduceat(table, counts.offsets[:-1][filled], axis=-1)
    return out


def as_given(x: Categories) -> Values:
    """Return the entries as they were passed in, None where one is missing."""
    out = np.full(x.shape, None, dtype=object)
    for j in range(x.shape[1]):
        present = x.codes[:, j] >= 0
        column = x.codes[present, j].astype(np.int64)
        out[present, j] = column if x.keys is None else x.keys[j].astype(object)[column]
    return out


def recoded(x: Categories, known: Sequence[Values]) -> NDArray[np.int32]:
    """Return codes by position among the known categories: −1 if missing, after the last if unknown."""
    assert x.keys is not None, "the categories have names"
    out = np.full(x.shape, -1, dtype=np.int32)
    for j, (mine, theirs) in enumerate(zip(known, x.keys, strict=True)):
        if len(mine) and len(theirs) and isinstance(mine[0], str) != isinstance(theirs[0], str):
            before, now = ("strings", "numbers") if isinstance(mine[0], str) else ("numbers", "strings")
            raise MismatchError(f"The categories of column {j} were {before} in training and are {now} here")
        number = {key: i for i, key in enumerate(mine.tolist())}
        translate = np.array([number.get(key, len(mine)) for key in theirs.tolist()] + [-1], dtype=np.int32)
        out[:, j] = translate[x.codes[:, j]]
    return out


def numbered(x: Categories, counts: Counts) -> Values:
    """Return the codes of the categories of `x` among those counted; an unknown one has the code after the last."""
    known = counts.keys
    if x.keys is None and x.codes.dtype.kind == "f":
        refuse_infinite(x.codes)
    if x.keys is None and known is None:
        return x.codes
    if x.keys is None and not (x.codes >= 0).any():  # nothing but missing entries
        return np.full(x.codes.shape, -1, dtype=np.int32)
    if known is None and not counts.sizes.any():  # no category was seen in training: all are unknown
        return np.where(x.codes < 0, np.nan, 0.0)
    # Numbers from a file or a dict are names, and numbers of an array are codes: both are met by their values.
    known = tuple(np.arange(size) for size in counts.sizes) if known is None else known
    return recoded(encode_columns(x.codes.T) if x.keys is None else x, known)


def numbered_together(columns: Sequence[Categories], counts: Sequence[Counts]) -> Categories:
    """Return several columns, each with its own counts, as one table of codes; NaN is missing."""
    out = np.empty((columns[0].shape[0], len(columns)), dtype=np.float32, order="F")
    for j, (x, own) in enumerate(zip(columns, counts, strict=True)):
        out[:, j] = numbered(x, own)[:, 0]
    out[out < 0] = np.nan
    return Categories(out, None)


class CategoricalDistribution(Independent):
    """Probabilities (classes, Σ sizes) in the layout of `counts`, and that of an unseen category (classes, columns)."""

    counts: Counts
    probability: Array
    unseen: Array

    reads: ClassVar = "categories"
    support = CATEGORIES
    why_not_linear: ClassVar = (
        "The log-odds are linear in the indicators of categories, not in their numbers: tables() shows the "
        "probabilities"
    )

    @property
    def keys(self) -> tuple[Values, ...]:
        """The categories of each column."""
        return self.counts.keys or tuple(np.arange(size) for size in self.counts.sizes)

    @cached_property
    def kernel_tables(self) -> tuple[NDArray[np.int64], Array, Array]:
        """Offsets, scores with a slot for an unseen category at each column's end, and which scores are impossible."""
        sizes = self.counts.sizes
        offsets = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.int64)
        known = np.arange(int(sizes.sum())) + np.repeat(np.arange(len(sizes)), sizes)
        table = np.empty((len(self.probability), offsets[-1]))
        table[:, known] = self.probability
        table[:, offsets[1:] - 1] = self.unseen
        impossible = table <= 0
        return offsets, pack(np.where(impossible, 0.0, log(table))), pack(impossible.astype(np.float64))

    def log_density(self, x: Categories) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        codes = self.numbered(as_categories(x))
        offsets, scores, impossible = self.kernel_tables
        classes = len(self.probability)
        out = np.zeros((codes.shape[0], classes))
        negative = _core.category_scores(codes, offsets, scores, classes, out)
        if self.counts.keys is None:  # if categories have names, −1 is a missing entry
            refuse_at(negative, codes)
        if impossible.any():
            vetoes = np.zeros_like(out)
            _core.category_scores(codes, offsets, impossible, classes, vetoes)
            out[vetoes > 0] = -np.inf
        return out

    def add_relative(self, x: Categories, out: Array, factor: float = 1.0) -> None:
        """Add the log-density, times a factor, to `out`; of one column with names by a kernel."""
        known, table = self.counts.keys, self.kernel_tables
        named = x.keys is not None and known is not None and x.shape[1] == 1
        if not named or not len(x.keys[0]) or x.codes.dtype != np.int32 or table[2].any():  # type: ignore[index]  # it has names
            super().add_relative(x, out, factor)
            return
        place = recoded(Categories(np.arange(len(x.keys[0]), dtype=np.int32)[:, None], x.keys), known)[:, 0]  # type: ignore[index,arg-type]
        _core.category_scores(x.codes, np.array([0, len(place)]), factor * table[1][place], out.shape[1], out)

    def add_values(self, x: Array, out: Array, factor: float) -> bool:
        """Add the log-density of numbers that are categories, times a factor; return False if there is no kernel."""
        _, scores, impossible = self.kernel_tables
        if self.counts.keys is None or impossible.any() or x.dtype != np.float64:
            return False
        keys = np.ascontiguousarray(self.counts.keys[0], dtype=np.float64)
        refuse_at(_core.step_scores(x, keys, True, factor * scores, out), x[:, None])
        return True

    def numbered(self, x: Categories) -> Values:
        """Return the codes of the categories of `x` in this model; an unknown category has the code after the last."""
        return numbered(x, self.counts)

    def only_column(self, x: Categories, column: int) -> Categories:
        """Return rows whose entries in all other columns are missing."""
        x = as_categories(x)
        # Codes without names are numbers, of which −1 is refused: there NaN is missing.
        out = np.full(x.shape, np.nan) if x.keys is None else np.full(x.shape, -1, dtype=x.codes.dtype)
        out[:, column] = x.codes[:, column]
        return Categories(out, x.keys)

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield each category of each column."""
        for name, keys, part in zip(names, self.keys, self.counts.columns(self.probability), strict=True):
            yield Outcomes(partial(_titled, name, keys), part)

    def column_density(self, x: Column, column: int) -> Formula:
        """Return log θ of the category, or that of an unseen one."""
        part = self.counts.columns(self.probability)[column]
        return Lookup(x.column, tuple(self.keys[column]), log(part), log(self.unseen[:, column]))

    def fill(
        self, x: Categories, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator
    ) -> Values:
        """Fill missing entries by the most probable category over the classes, or by a draw."""
        out = as_given(x)
        drawn = np.asarray(self.sample(codes, rng), dtype=object) if method == "sample" else None
        for j, (keys, probability) in enumerate(zip(self.keys, self.counts.columns(self.probability), strict=True)):
            missing = ~(x.codes[:, j] >= 0)
            if drawn is not None:
                out[missing, j] = drawn[missing, j]
            elif len(keys):
                probability = np.broadcast_to(probability, (posterior.shape[1], len(keys)))
                out[missing, j] = keys.astype(object)[(posterior[missing] @ probability).argmax(axis=1)]
        return out

    n_columns = derived(lambda self: len(self.counts.sizes))
    # The number of categories less one, for each class and column.
    n_parameters = derived(lambda self: int(len(self.probability) * np.maximum(self.counts.sizes - 1, 0).sum()))

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return a conditional probability table for each column: a row for each category, a column for each class."""
        heads = [str(label) for label in labels]
        parts = self.counts.columns(self.probability)
        return [
            Table(str(name), [str(k) for k in keys], heads, part.T)
            for name, keys, part in zip(names, self.keys, parts, strict=True)
        ]

    def sample(self, codes: Codes, rng: np.random.Generator) -> Values:
        """Draw rows of categories: numbers, or objects if the categories have names."""
        numbers = self.counts.keys is None and self.counts.sizes.all()
        out = np.empty((len(codes), len(self.counts.sizes)), dtype=np.int64 if numbers else object)
        for j, p in enumerate(self.counts.columns(self.probability)):
            if not self.counts.sizes[j]:  # a column that had no values
                out[:, j] = None
                continue
            reached = np.cumsum(p, axis=1)[codes]
            drawn = (rng.random((len(codes), 1)) * reached[:, -1:] >= reached[:, :-1]).sum(axis=1)
            out[:, j] = self.counts.keys[j][drawn] if self.counts.keys is not None else drawn
        return out


def _titled(name: str, keys: Values, i: int) -> str:
    return f"{name} = {keys.tolist()[i] if len(keys) < 64 else keys[i]}"
