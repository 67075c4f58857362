"""Columns whose family is chosen by the data, and columns that do not vote.

A column by itself is a classifier, p(y | x) ∝ p(y) p(x | y). Leaving each row out of its statistic measures that
classifier exactly, without fitting again. The family with the best mean log p(y | x) is chosen. If a column does not
beat the class prior by half a standard error, all classes share one distribution, and the column does not vote.

What there is to choose from is stated here for one column. A kernel scores the candidates of all columns in one call: a
row's log p(y | x) under a table depends on its cell and class alone, and that under Student's t has a closed form.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Categories, Codes, Dense, Matrix, Rows, Values
from suffice.core.errors import InvalidDataError, MismatchError
from suffice.core.parallel import in_threads
from suffice.core.priors import Beta, Dirichlet
from suffice.core.statistics import Cells, Counts, Totals
from suffice.core.statistics.cells import FINEST, LIMIT, moments_of_columns
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, derived
from suffice.families._contract import Decisions, Summary
from suffice.families.bernoulli import Bernoulli, BernoulliDistribution
from suffice.families.binned import Binned, counted, placed, with_ties
from suffice.families.categorical import Categorical, numbered_together
from suffice.families.chosen import Candidate, Choice, ChosenDistribution, ColumnDecision, SilentDistribution
from suffice.families.gaussian import Gaussian
from suffice.families.kernel import Kernel

SCORED = 5000  # distinct values that a family is scored on, at most
SCORES = 20_000  # scores of classes for them, about
MOST_CATEGORIES = 20  # distinct values that may be categories
REPEATS = 3  # times that a value must occur on average for that
FARTHEST = 1e150  # the largest deviation of a column, times the square root of its weight
COMMON = 0.05  # if one value has a larger share, a kernel would make a spike of it
MARGIN = 0.5  # standard errors by which a column must beat the class prior to vote
ROUNDING = 1e-9  # a gain below is that of rounding: a column with one value has none
BINS = (6, 12, 24, 128, 512)  # numbers of bins to choose from
FEW = (12,)  # the same where columns are many
ROWS_PER_BIN = 3  # that a column must have on average
AMOUNTS = (0.1, 0.5, 1.0, 3.0, 10.0)  # of smoothing that "auto" chooses from

STUDENT = Gaussian(learn="predictive")
KINDS = {"student": 0, "bins": 1, "values": 2, "categorical": 2, "bernoulli": 2}  # how the kernel scores them

Smoothing = float | Literal["auto"]
# Where cells begin, the last number of each, the value that it stands for, and its weight, class by class; and where
# the cells of each class start.
PlacedCells: TypeAlias = tuple[Array, Array, Array, Array, NDArray[np.int64]]


class ColumnShape(NamedTuple):
    """How many distinct values all classes of a column have, their weight, and the largest weight of one."""

    distinct: int
    total: float
    largest: float


class Score(NamedTuple):
    """The mean log p(y | x) of rows that were left out, the mean log p(y), and the standard error of the difference."""

    mean: float
    chance: float
    error: float


class Chosen(Family[Any]):
    """The base of the families that choose. With `gate`, a column that does not separate the classes does not vote.

    `smoothing` is added to every count: a number, or `"auto"` for the best of a few.
    """

    prior: None = field(default=None, init=False)  # the candidates have theirs
    learn: Literal["mle"] = field(default="mle", init=False)
    smoothing: Annotated[Smoothing, Held(least=0)] = 1.0
    gate: bool = True

    by_column: ClassVar = False
    public: ClassVar = False

    @property
    def amounts(self) -> Sequence[float]:
        """The amounts of smoothing to choose from."""
        return AMOUNTS if isinstance(self.smoothing, str) else (float(self.smoothing),)

    def check_width(self, columns: int) -> None:
        """Refuse several columns: the family is chosen for one column."""
        if columns != 1:
            raise MismatchError(f"{type(self).__name__} is for one column, found {columns}")

    @abstractmethod
    def make(self, statistic: Any, candidate: Candidate) -> Choice:
        """Make a family that was an option."""

    @abstractmethod
    def all_options(self, statistic: Any) -> Iterator[Candidate]:
        """Yield what there is to choose from."""

    def kind(self, candidate: Candidate) -> Hashable:  # noqa: ARG002  # columns are apart
        """Return the kind of a column for which a candidate was chosen; None if it stays apart.

        Columns of one kind are estimated and scored together by `make_together`.
        """
        return None

    def make_together(self, statistics: Sequence[Any], candidates: Sequence[Candidate]) -> Choice:
        """Make one family of many columns of one kind; its `read` takes what is read of each of them."""
        raise NotImplementedError(f"{type(self).__name__} keeps columns apart")

    def candidates(self, statistic: Any) -> Iterator[Choice]:
        """Yield the families to choose from."""
        return (self.make(statistic, each) for each in self.all_options(statistic))

    decides = derived(lambda _: True)

    def estimate_decided(self, statistic: Any, decisions: Decisions | None) -> Distribution:
        """Estimate the candidate that was chosen before."""
        if decisions is None:
            return self.estimate(statistic)
        assert isinstance(decisions, ColumnDecision)
        self._check_candidate(statistic, decisions)
        return self.decided(statistic, decisions)

    def decided(self, statistic: Any, decision: ColumnDecision) -> Distribution:
        """Return the distribution of a column about which was decided."""
        return (ChosenDistribution if decision.votes else SilentDistribution)(self, statistic, decision)

    def _check_candidate(self, statistic: Any, decisions: ColumnDecision) -> None:
        wanted = decisions.candidate
        if wanted not in self.all_options(statistic):
            raise MismatchError(f"There is no candidate {wanted.name!r} of smoothing {wanted.smoothing} for the column")

    def check_decisions(self, statistic: Any, decisions: Decisions | None) -> None:
        """Refuse a family that is no candidate for the column."""
        if decisions is None:
            return
        if not isinstance(decisions, ColumnDecision) or not (decisions.votes or self.gate):
            raise MismatchError(f"{type(self).__name__} does not decide {decisions!r}")
        self._check_candidate(statistic, decisions)

    def leave_one_out(
        self,
        statistic: Any,  # noqa: ARG002  # the choice holds it
        fitted: Distribution,
        x: Rows,
        codes: Codes,
        weight: Array | None,
    ) -> Array:
        """Leave rows out of the chosen family. The choice itself stays that of all rows."""
        assert isinstance(fitted, ChosenDistribution)
        if isinstance(fitted, SilentDistribution):
            return fitted.log_density(x)
        choice = fitted.choice
        return choice.family.leave_one_out(choice.statistic, fitted.fitted, choice.read(x), codes, weight)

    def relative_leave_one_out(
        self, statistic: Any, fitted: Distribution, x: Rows, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out of the chosen family; return zeros where the classes do not differ."""
        if isinstance(fitted, SilentDistribution):
            return fitted.relative_log_density(x)
        return self.leave_one_out(statistic, fitted, x, codes, weight)


class ChosenByCells(Chosen):
    """The base of those whose candidates are scored on the cells that the rows of a column are in."""

    @abstractmethod
    def options(self, statistic: Any, shape: ColumnShape) -> Iterator[Candidate]:
        """Yield what there is to choose from."""

    @abstractmethod
    def placed(self, statistic: Any) -> PlacedCells:
        """Return the cells that the rows of a column are in."""

    def categories(self, statistic: Any) -> int:  # noqa: ARG002  # cells are those of the rows
        """Return how many categories there are, if some may have no rows."""
        return 0

    def scored(self, points: int, classes: int) -> NDArray[np.int64] | None:  # noqa: ARG002  # there are few
        """Return which cells represent the rows that were summarized; None for all."""
        return None

    def all_options(self, statistic: Any) -> Iterator[Candidate]:
        """Yield what there is to choose from."""
        (shape,) = shapes_of([self.placed(statistic)], statistic.n_classes)
        return self.options(statistic, shape)

    def estimate(self, statistic: Any) -> Distribution:
        """Estimate the best candidate. If the column does not vote, all classes together are estimated."""
        return self.decided(statistic, decide([(self, statistic)])[0])


class Automatic(ChosenByCells):
    """A number whose family is the one that separates the classes best.

    The values of the column are counted in cells, at most `limit` for each class (see `Cells`). The candidates are
    Student's t (a `Gaussian` with its parameters integrated out), 6, 12, 24, 128 or 512 bins of about equal weight, in
    which a frequent value is a bin of its own (`Binned`), a `Kernel` unless one value holds more than 5 % of the rows,
    and the values themselves as categories if there are at most 20. With `few` there are twelve bins only, and no
    kernel.

    >>> family = Automatic()
    >>> x = [[v] for v in (1.0, 1.2, 0.9, 1.1, 5.0, 5.2, 4.9, 5.1)]
    >>> family.estimate(family.summarize(x, list("aaaabbbb")).statistic).choice.name
    'student'
    """

    limit: Annotated[int | None, Held(least=1)] = LIMIT
    few: bool = False  # fewer candidates, for tables of so many columns that each must be quick

    summary = derived(lambda self: Summary(Cells, options={"limit": self.limit, "exact_moments": True}))

    def check_estimable(self, cells: Cells) -> None:
        """Refuse numbers that differ so much that squares overflow."""
        for part in cells.parts:
            if not len(part.values):
                continue
            low, high = float(part.values.min()), float(part.values.max())
            if not (high - low) * sqrt(float(part.weight.sum())) <= FARTHEST:
                raise InvalidDataError(f"Values from {low:g} to {high:g} have no squares in float64: rescale them")

    def placed(self, cells: Cells) -> PlacedCells:
        """Return the cells of each class."""
        part = cells.parts[0]
        edge = part.values
        if cells.level[0] == FINEST:
            return edge, edge, edge, part.weight, part.start
        return edge, cells.last_values(0, edge[:, 0]), cells.points[0].values, part.weight, part.start

    def scored(self, points: int, classes: int) -> NDArray[np.int64] | None:
        """Return evenly spaced cells if there are many."""
        rows = min(SCORED, max(SCORES // max(classes, 1), SCORED // 5))
        return None if points <= rows else np.unique(np.linspace(0, points - 1, rows).astype(np.int64))

    def options(self, cells: Cells, shape: ColumnShape) -> Iterator[Candidate]:
        """Yield Student's t, bins, categories and a kernel."""
        yield Candidate("student")
        distinct, total, largest = shape
        if not distinct:
            return
        for amount in self.amounts:
            if distinct > 2:
                for bins in FEW if self.few else self._numbers_of_bins(distinct, total):
                    yield Candidate("bins", amount, bins)
            if distinct <= min(MOST_CATEGORIES, total / REPEATS) and cells.exact[0]:
                yield Candidate("values", amount)
        if not self.few and distinct > MOST_CATEGORIES and largest <= COMMON * total:
            yield Candidate("kernel")

    @staticmethod
    def _numbers_of_bins(distinct: int, weight: float) -> Iterator[int]:
        """Yield few and many bins, as far as there are rows and values for them."""
        for bins in BINS:
            if bins == BINS[0] or weight >= ROWS_PER_BIN * bins:
                yield bins
            if distinct <= bins:
                return

    def make(self, cells: Cells, candidate: Candidate) -> Choice:
        """Make Student's t, bins, categories or a kernel."""
        name, amount, bins = candidate
        if name == "student":
            return Choice(name, STUDENT, cells.moments)
        if name == "kernel":
            return Choice(name, Kernel(), cells)
        assert amount is not None, "counts are smoothed"
        if name == "values":
            values = cells.pooled().points[0].values[:, 0]
            read = partial(as_values, known=values)
            return Choice(name, Categorical(prior=Dirichlet(amount)), _value_counts(cells, values), read)
        assert bins is not None, "bins are numbered"
        edges = with_ties(cells, 0, bins)
        counts = counted(cells, (edges,))
        return Choice(name, Binned(prior=spread_as_all(counts, amount), edges=[edges.tolist()]), counts)

    def kind(self, candidate: Candidate) -> Hashable:
        """Return the name of the candidate, and the amount that categories share."""
        if candidate.name == "kernel":
            return None
        return candidate.name, candidate.smoothing if candidate.name == "values" else None

    def make_together(self, columns: Sequence[Cells], candidates: Sequence[Candidate]) -> Choice:
        """Make Student's t, bins or categories of many columns."""
        name, amount, _ = candidates[0]
        if name == "student":
            return Choice(name, STUDENT, moments_of_columns(columns), side_by_side)
        bins = np.array([each.bins or 0 for each in candidates], np.int64)
        classes, places = columns[0].n_classes, [self.placed(cells) for cells in columns]
        edges, start, weight, ends = _core.column_tables(places, classes, bins)
        counts = Counts(np.diff(ends), None, weight.reshape(classes, -1))
        if name == "values":
            assert amount is not None, "counts are smoothed"
            read = partial(as_values_together, known=edges, start=start)
            return Choice(name, Categorical(prior=Dirichlet(amount)), counts, read)
        prior = spread_as_all(counts, np.array([each.smoothing for each in candidates]))
        return Choice(name, Binned.of_edges(prior, edges, start), counts, side_by_side)


def spread_as_all(counts: Counts, amount: float | Array) -> Dirichlet:
    """Return a prior of `amount` rows that are spread as the values of all classes:  α_v = amount (n_v + ½) / Σ.

    Each column has its own amount, or all have the same.
    """
    every = counts.weight.sum(axis=0) + 0.5
    share = amount / np.add.reduceat(every, counts.offsets[:-1])
    return Dirichlet(np.repeat(share, counts.sizes) * every)


class AutomaticCategorical(ChosenByCells):
    """A `Categorical` column whose smoothing may be chosen, and which need not vote."""

    summary: ClassVar[Summary[Counts]] = Summary(Counts)
    reads: ClassVar = "categories"

    def options(self, counts: Counts, shape: ColumnShape) -> Iterator[Candidate]:  # noqa: ARG002  # whatever it holds
        """Yield a family for each amount of smoothing."""
        return (Candidate("categorical", amount) for amount in self.amounts)

    def make(self, counts: Counts, candidate: Candidate) -> Choice:
        """Make a family of an amount of smoothing."""
        assert candidate.smoothing is not None, "counts are smoothed"
        return Choice("categorical", Categorical(prior=Dirichlet(candidate.smoothing)), counts)

    def kind(self, candidate: Candidate) -> Hashable:
        """Return the amount of smoothing."""
        return candidate

    def make_together(self, columns: Sequence[Counts], candidates: Sequence[Candidate]) -> Choice:
        """Make a family of many columns, whose categories are numbered."""
        amount = candidates[0].smoothing
        assert amount is not None, "counts are smoothed"
        whole = Counts(np.concatenate([c.sizes for c in columns]), None, np.concatenate([c.weight for c in columns], 1))
        read = partial(numbered_together, counts=columns)
        return Choice("categorical", Categorical(prior=Dirichlet(amount)), whole, read)

    def placed(self, counts: Counts) -> PlacedCells:
        """Return a cell for each class and category."""
        return _table_cells(counts.weight)

    def categories(self, counts: Counts) -> int:
        """Return how many categories there are."""
        return counts.weight.shape[1]


class AutomaticBernoulli(ChosenByCells):
    """A `Bernoulli` column whose smoothing may be chosen, and which need not vote."""

    summary: ClassVar[Summary[Totals]] = Bernoulli().summary
    gives: ClassVar[type[Distribution]] = BernoulliDistribution

    support = derived(lambda _: Bernoulli().support)

    def options(self, totals: Totals, shape: ColumnShape) -> Iterator[Candidate]:  # noqa: ARG002  # true or false
        """Yield a family for each amount of smoothing."""
        return (Candidate("bernoulli", amount) for amount in self.amounts)

    def make(self, totals: Totals, candidate: Candidate) -> Choice:
        """Make a family of an amount of smoothing."""
        amount = candidate.smoothing
        assert amount is not None, "counts are smoothed"
        return Choice("bernoulli", Bernoulli(prior=Beta(amount, amount)), totals)

    def kind(self, candidate: Candidate) -> Hashable:
        """Return the amount of smoothing."""
        return candidate

    def make_together(self, columns: Sequence[Totals], candidates: Sequence[Candidate]) -> Choice:
        """Make a family of many columns."""
        amount = candidates[0].smoothing
        assert amount is not None, "counts are smoothed"
        weight, total = (
            np.concatenate(each, axis=1) for each in zip(*((c.weight, c.total) for c in columns), strict=True)
        )
        return Choice("bernoulli", Bernoulli(prior=Beta(amount, amount)), Totals(weight, total), side_by_side)

    def placed(self, totals: Totals) -> PlacedCells:
        """Return a false and a true cell for each class."""
        true = totals.total[:, 0]
        return _table_cells(np.stack([np.broadcast_to(totals.weight, totals.total.shape)[:, 0] - true, true], axis=1))

    def categories(self, totals: Totals) -> int:  # noqa: ARG002  # true or false
        """Return that there are two."""
        return 2


def _table_cells(weight: Array) -> PlacedCells:
    """Return the cells of a table of counts, (classes, categories)."""
    codes, category = np.nonzero(weight > 0)
    start = np.searchsorted(codes, np.arange(len(weight) + 1))
    place = category.astype(np.float64)
    return place, place, place, weight[codes, category], start


def _value_counts(cells: Cells, values: Values) -> Counts:
    points = cells.points[0]
    weight = np.zeros((cells.n_classes, len(values)))
    weight[points.codes, np.searchsorted(values, points.values[:, 0])] = points.weight
    return Counts(np.array([len(values)]), (values,), weight)


def as_values(x: Matrix, known: Array) -> Categories:
    """Return numbers as categories named by their value; NaN is missing, and infinity stands for unknown values."""
    column = np.asarray(x, dtype=np.float64)[:, 0]
    at = np.searchsorted(known, column)
    at[at == len(known)] = 0
    at[known[at] != column] = len(known)
    at[np.isnan(column)] = -1
    keys = np.append(known, np.inf) if (at == len(known)).any() else known
    return Categories(at[:, None].astype(np.int32), (keys,))


def side_by_side(columns: Sequence[Dense]) -> Dense:
    """Return columns (rows, 1) as one matrix, in Fortran order."""
    return np.concatenate([x.T for x in columns]).T


def as_values_together(columns: Sequence[Dense], known: Array, start: NDArray[np.int64]) -> Categories:
    """Return numbers of many columns as categories: the known values are numbered, and all others have the next number.

    Those of column j are at `start[j] : start[j + 1]`.
    """
    return placed(side_by_side(columns), known, start, exact=True)


# ---------------------------------------------------------------------------------------------------- many columns


def shapes_of(cells: Sequence[PlacedCells], classes: int) -> list[ColumnShape]:
    """Return the shapes of columns of cells."""
    shapes = _core.column_shapes(cells, classes)
    return [ColumnShape(*each) for each in zip(*(each.tolist() for each in shapes), strict=True)]


@dataclass(frozen=True)
class Column:
    """A column about which is to be decided: its family, its statistic, and what there is to choose from."""

    family: ChosenByCells
    statistic: Any
    cells: PlacedCells
    options: list[Candidate]

    @property
    def is_clear(self) -> bool:
        """Whether there is nothing to score: one candidate that votes in any case, or no rows."""
        return (len(self.options) == 1 and not self.family.gate) or not len(self.cells[3])

    @property
    def some(self) -> NDArray[np.int64] | None:
        """The cells that candidates are scored on; None for all."""
        return self.family.scored(len(self.cells[3]), len(self.cells[4]) - 1)

    def decision(self, scores: Sequence[Score]) -> ColumnDecision:
        """Decide by the scores of the candidates, or without them."""
        if not scores:
            name, smoothing, bins = self.options[0]
            return ColumnDecision(name, smoothing, True, np.nan, np.nan, bins)
        best = 0
        for i, score in enumerate(scores):
            if score.mean > scores[best].mean + 1e-12:
                best = i
        (name, smoothing, bins), (mean, chance, error) = self.options[best], scores[best]
        votes = not self.family.gate or not mean - chance <= MARGIN * error + ROUNDING
        return ColumnDecision(name, smoothing, votes, mean, chance, bins)

    def kernel_score(self) -> Score:
        """Score a kernel."""
        family, cells, points = Kernel(), self.statistic, self.statistic.points[0]
        some = slice(None) if self.some is None else self.some
        x, codes, weight = np.ascontiguousarray(points.values[some]), points.codes[some], points.weight[some]
        left_out = family.leave_one_out(cells, family.estimate(cells), x, codes, np.minimum(weight, 1.0))
        return Score(*_core.score_log_densities(np.ascontiguousarray(left_out), codes, weight))


def decide(columns: Sequence[tuple[ChosenByCells, Any]]) -> list[ColumnDecision]:
    """Decide which family each of several columns of the same rows has."""
    each = columns_of(columns)
    todo = [column for column in each if not column.is_clear]
    scores = dict(zip(map(id, todo), score_columns(todo), strict=True))
    return [column.decision(scores.get(id(column), ())) for column in each]


def columns_of(columns: Sequence[tuple[ChosenByCells, Any]]) -> list[Column]:
    """Return columns of the same rows with what there is to choose from."""
    if not columns:
        return []
    cells = [family.placed(statistic) for family, statistic in columns]
    shapes = shapes_of(cells, columns[0][1].n_classes)
    return [
        Column(family, statistic, own, list(family.options(statistic, shape)))
        for (family, statistic), own, shape in zip(columns, cells, shapes, strict=True)
    ]


def score_columns(columns: Sequence[Column]) -> list[list[Score]]:
    """Score the candidates of columns of the same rows by one call of a kernel."""
    if not columns:
        return []
    plain = [[each for each in column.options if each.name != "kernel"] for column in columns]
    flat = [(KINDS[each.name], each.smoothing or 0.0) for own in plain for each in own]
    sizes = [
        each.bins or column.family.categories(column.statistic)
        for column, own in zip(columns, plain, strict=True)
        for each in own
    ]
    found, overflow = _core.score_candidates(
        [column.cells for column in columns],
        columns[0].statistic.n_classes,
        [column.some for column in columns],
        np.cumsum([0, *map(len, plain)]),
        np.array([kind for kind, _ in flat], np.int32),
        np.array([amount for _, amount in flat], np.float64),
        np.array(sizes, np.int64),
        float(STUDENT.prior.strength),
        float(STUDENT.prior.shape),
    )
    if overflow >= 0:
        columns[overflow].statistic.moments  # noqa: B018  # it raises the error of numbers that are too large
    triples = iter(found.reshape(-1, 3).tolist())
    out = [[Score(*next(triples)) for _ in own] for own in plain]
    kernels = [i for i, column in enumerate(columns) if len(column.options) > len(plain[i])]
    work = sum(64 * len(columns[i].cells[3]) for i in kernels)
    for i, score in zip(kernels, in_threads(lambda i: columns[i].kernel_score(), kernels, work), strict=True):
        out[i].append(score)
    return out
