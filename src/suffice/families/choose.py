"""Columns whose family is chosen by the data, and columns that do not vote.

A column by itself is a classifier, p(y | x) ∝ p(y) p(x | y). Leaving each row out of its statistic measures that
classifier exactly, without fitting again. The family with the best mean log p(y | x) is chosen. If a column does not
beat the class prior by half a standard error, all classes share one distribution, and the column does not vote.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from suffice.core.arrays import Array, Categories, Codes, Matrix, Rows, Values
from suffice.core.errors import MismatchError
from suffice.core.priors import Beta, ClassPrior, Dirichlet
from suffice.core.statistics import Cells, Counts, Moments, Totals
from suffice.core.statistics.cells import LIMIT
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, FillMethod, derived
from suffice.families._contract import Decisions, Outcomes, Summary, Table
from suffice.families.bernoulli import Bernoulli, BernoulliDistribution
from suffice.families.binned import Binned, counted, with_ties
from suffice.families.categorical import Categorical
from suffice.families.gaussian import Gaussian
from suffice.families.kernel import Kernel
from suffice.formulas import Constant, Term

SCORED = 5000  # distinct values that a family is scored on, at most
SCORES = 20_000  # scores of classes for them, about
MOST_CATEGORIES = 20  # distinct values that may be categories
REPEATS = 3  # times that a value must occur on average for that
COMMON = 0.05  # if one value has a larger share, a kernel would make a spike of it
MARGIN = 0.5  # standard errors by which a column must beat the class prior to vote
ROUNDING = 1e-9  # a gain below is that of rounding: a column with one value has none
BINS = (6, 12, 24, 128, 512)  # numbers of bins to choose from
FEW = (12,)  # the same where columns are many
ROWS_PER_BIN = 3  # that a column must have on average
AMOUNTS = (0.1, 0.5, 1.0, 3.0, 10.0)  # of smoothing that "auto" chooses from

Smoothing = float | Literal["auto"]
CandidateName = Literal["student", "bins", "values", "kernel", "categorical", "bernoulli", "text"]


@dataclass(frozen=True)
class Choice:
    """A family, the statistic that it is estimated from, and a function that converts numbers to what it reads."""

    name: CandidateName
    family: Family[Any]
    statistic: Any
    read: Callable[[Rows], Rows] = lambda x: x
    scored: Any = None  # the statistic of the rows that scores are computed on, if they are not those learned
    smoothing: float | None = None  # the amount that is added to counts, if there are any
    bins: int | None = None  # the number of bins that was asked for

    def fit(self) -> Distribution:
        """Estimate p(x | y)."""
        return self.family.estimate(self.statistic)

    def score(self, fitted: Distribution, x: Rows, codes: Codes, weight: Array) -> Score:
        """Score the family on rows, each left out."""
        return next(self.scores(fitted, x, codes, weight))

    def scores(
        self, fitted: Distribution, x: Rows, codes: Codes, weight: Array, exponents: Sequence[float] = (1.0,)
    ) -> Iterator[Score]:
        """Score the family on rows, each left out, its evidence with each of the exponents."""
        one_row = np.minimum(weight, 1.0)  # a value of larger weight stands for as many rows
        statistic = self.statistic if self.scored is None else self.scored
        joint = self.family.leave_one_out(statistic, fitted, self.read(x), codes, one_row)
        whole = np.bincount(codes, weight, minlength=self.statistic.n_classes)
        rest = np.repeat(whole[None].astype(np.float64), len(codes), axis=0)
        rows = np.arange(len(codes))
        rest[rows, codes] = np.maximum(rest[rows, codes] - one_row, 0.0)
        prior = ClassPrior(Dirichlet(1.0)).log(rest)
        for exponent in exponents:
            scored = exponent * np.maximum(joint, -1e300) + prior
            top = scored.max(axis=1, keepdims=True)
            norm = top[:, 0] + np.log(np.exp(scored - top).sum(axis=1))
            yield Score.of(scored[rows, codes] - norm, prior[rows, codes], weight)


class Candidate(NamedTuple):
    """A choice before its statistic is computed: its name, smoothing and bins, and a function that makes it."""

    name: CandidateName
    smoothing: float | None
    make: Callable[[], Choice]
    bins: int | None = None


@dataclass(frozen=True, eq=False)
class ColumnDecision(Decisions):
    """The family that was chosen for a column, by its name and smoothing; whether it votes; and the scores."""

    family: CandidateName
    smoothing: Annotated[float | None, Held(least=0)]
    votes: bool
    score: Annotated[float, Held(missing=True)]
    chance: Annotated[float, Held(missing=True)]
    bins: Annotated[int | None, Held(least=1)] = None


class Score(NamedTuple):
    """The mean log p(y | x) of rows that were left out, the mean log p(y), and the standard error of the difference."""

    mean: float
    chance: float
    error: float

    @classmethod
    def of(cls, log_posterior: Array, log_prior: Array, weight: Array) -> Score:
        """Compute the means from the logarithms of every row, (rows,) each."""
        n = weight.sum()
        gain = np.maximum(log_posterior - log_prior, -1e100)  # its square does not overflow
        spread = weight @ (gain - weight @ gain / n) ** 2 / n
        mean = np.maximum(weight @ log_posterior / n, -np.finfo(np.float64).max)
        return cls(float(mean), float(weight @ log_prior / n), float(np.sqrt(spread / n)))


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
    def options(self, statistic: Any) -> Iterator[Candidate]:
        """Yield what there is to choose from."""

    def candidates(self, statistic: Any) -> Iterator[Choice]:
        """Yield the families to choose from."""
        return (candidate.make() for candidate in self.options(statistic))

    @abstractmethod
    def rows(self, statistic: Any) -> tuple[Rows, Codes, Array]:
        """Return the values, classes and weights of rows that represent those that were summarized."""

    def estimate(self, statistic: Any) -> Distribution:
        """Estimate the best candidate. If the column does not vote, all classes together are estimated."""
        x, codes, weight = self.rows(statistic)
        best: tuple[Score, Choice, Distribution] | None = None
        options = list(self.candidates(statistic))
        if (len(options) == 1 and not self.gate) or not len(codes):
            return ChosenDistribution(options[0], options[0].fit(), np.nan, np.nan)
        for choice in options:
            fitted = choice.fit()
            score = choice.score(fitted, x, codes, weight)
            if best is None or score.mean > best[0].mean + 1e-12:
                best = score, choice, fitted
        assert best is not None, "there is at least one candidate"
        score, choice, fitted = best
        if self.gate and score.mean - score.chance <= MARGIN * score.error + ROUNDING:
            return self._silent(choice, score.mean, score.chance, statistic.n_classes)
        return ChosenDistribution(choice, fitted, score.mean, score.chance)

    decides = derived(lambda _: True)

    def estimate_decided(self, statistic: Any, decisions: Decisions | None) -> Distribution:
        """Estimate the candidate that was chosen before."""
        if decisions is None:
            return self.estimate(statistic)
        assert isinstance(decisions, ColumnDecision)
        choice, scores = self._decided(statistic, decisions).make(), (decisions.score, decisions.chance)
        if not decisions.votes:
            return self._silent(choice, *scores, statistic.n_classes)
        return ChosenDistribution(choice, choice.fit(), *scores)

    @staticmethod
    def _silent(choice: Choice, score: float, chance: float, classes: int) -> SilentDistribution:
        pooled = replace(choice, statistic=choice.statistic.pooled(), scored=None)
        return SilentDistribution(pooled, pooled.fit(), score, chance, classes)

    def _decided(self, statistic: Any, decisions: ColumnDecision) -> Candidate:
        wanted = decisions.family, decisions.smoothing, decisions.bins
        options = self.options(statistic)
        found = next((each for each in options if (each.name, each.smoothing, each.bins) == wanted), None)
        if found is None:
            raise MismatchError(f"There is no candidate {wanted[0]!r} of smoothing {wanted[1]} for the column")
        return found

    def check_decisions(self, statistic: Any, decisions: Decisions | None) -> None:
        """Refuse a family that is no candidate for the column."""
        if decisions is None:
            return
        if not isinstance(decisions, ColumnDecision) or not (decisions.votes or self.gate):
            raise MismatchError(f"{type(self).__name__} does not decide {decisions!r}")
        self._decided(statistic, decisions)

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


class Automatic(Chosen):
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

    def rows(self, cells: Cells) -> tuple[Array, Codes, Array]:
        """Return the distinct values of each class, or evenly spaced ones of them if there are many."""
        points = cells.points[0]
        rows = min(SCORED, max(SCORES // max(cells.n_classes, 1), SCORED // 5))
        some = np.unique(np.linspace(0, max(len(points.weight) - 1, 0), rows).astype(np.int64))
        if not len(points.weight):
            some = some[:0]
        return np.ascontiguousarray(points.values[some]), points.codes[some], points.weight[some]

    def options(self, cells: Cells) -> Iterator[Candidate]:
        """Yield Student's t, bins, categories and a kernel."""
        yield Candidate("student", None, lambda: _student(cells))
        if not len(cells.points[0].weight):
            return
        distinct = cells.pooled().points[0]
        values, weight = distinct.values[:, 0], distinct.weight
        for amount in self.amounts:
            if len(values) > 2:
                for bins in FEW if self.few else self._numbers_of_bins(len(values), float(weight.sum())):
                    yield Candidate("bins", amount, partial(_bins, cells, amount, bins), bins)
            if cells.exact[0] and len(values) <= min(MOST_CATEGORIES, weight.sum() / REPEATS):
                yield Candidate("values", amount, partial(_values, cells, values, amount))
        if not self.few and len(values) > MOST_CATEGORIES and weight.max() <= COMMON * weight.sum():
            yield Candidate("kernel", None, lambda: Choice("kernel", Kernel(), cells))

    @staticmethod
    def _numbers_of_bins(distinct: int, weight: float) -> Iterator[int]:
        """Yield few and many bins, as far as there are rows and values for them."""
        for bins in BINS:
            if bins == BINS[0] or weight >= ROWS_PER_BIN * bins:
                yield bins
            if distinct <= bins:
                return


def spread_as_all(counts: Counts, amount: float) -> Dirichlet:
    """Return a prior of `amount` rows that are spread as the values of all classes:  α_v = amount (n_v + ½) / Σ."""
    every = counts.weight.sum(axis=0) + 0.5
    return Dirichlet(amount * every / every.sum())


class AutomaticCategorical(Chosen):
    """A `Categorical` column whose smoothing may be chosen, and which need not vote."""

    summary: ClassVar[Summary[Counts]] = Summary(Counts)
    reads: ClassVar = "categories"

    def options(self, counts: Counts) -> Iterator[Candidate]:
        """Yield a family for each amount of smoothing."""

        def make(amount: float) -> Choice:
            return Choice("categorical", Categorical(prior=Dirichlet(amount)), counts, smoothing=amount)

        return (Candidate("categorical", amount, partial(make, amount)) for amount in self.amounts)

    def rows(self, counts: Counts) -> tuple[Categories, Codes, Array]:
        """Return a row for each class and category."""
        codes, category = np.nonzero(counts.weight > 0)
        x = Categories(category[:, None].astype(np.int32), counts.keys)
        return x, codes.astype(np.int32), counts.weight[codes, category]


class AutomaticBernoulli(Chosen):
    """A `Bernoulli` column whose smoothing may be chosen, and which need not vote."""

    summary: ClassVar[Summary[Totals]] = Bernoulli().summary
    gives: ClassVar[type[Distribution]] = BernoulliDistribution

    support = derived(lambda _: Bernoulli().support)

    def options(self, totals: Totals) -> Iterator[Candidate]:
        """Yield a family for each amount of smoothing."""

        def make(amount: float) -> Choice:
            return Choice("bernoulli", Bernoulli(prior=Beta(amount, amount)), totals, smoothing=amount)

        return (Candidate("bernoulli", amount, partial(make, amount)) for amount in self.amounts)

    def rows(self, totals: Totals) -> tuple[Array, Codes, Array]:
        """Return a true and a false row for each class."""
        true = totals.total[:, 0]
        weight = np.concatenate([true, np.broadcast_to(totals.weight, totals.total.shape)[:, 0] - true])
        classes = len(true)
        x = np.repeat([[1.0], [0.0]], classes, axis=0)
        codes, some = np.tile(np.arange(classes, dtype=np.int32), 2), np.flatnonzero(weight > 0)
        return x[some], codes[some], weight[some]


def _student(cells: Cells) -> Choice:
    points, middles = cells.points[0], None
    if not cells.exact[0]:  # the rows that scores are computed on are the middles of cells
        middles = Moments.of(points.values, points.codes, cells.n_classes, points.weight)
    return Choice("student", Gaussian(learn="predictive"), cells.moments, scored=middles)


def _bins(cells: Cells, amount: float, bins: int) -> Choice:
    edges = with_ties(cells, 0, bins)
    counts = counted(cells, (edges,))
    family = Binned(prior=spread_as_all(counts, amount), edges=[edges.tolist()])
    return Choice("bins", family, counts, smoothing=amount, bins=bins)


def _values(cells: Cells, values: Values, amount: float) -> Choice:
    family, counts = Categorical(prior=Dirichlet(amount)), _value_counts(cells, values)
    return Choice("values", family, counts, partial(as_values, known=values), smoothing=amount)


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


# --------------------------------------------------------------------------------------------- distributions


class ChosenDistribution(Distribution):
    """The distribution of the chosen family, its leave-one-out score, and the score of the class prior (`chance`)."""

    choice: Choice
    fitted: Distribution
    score: float
    chance: float

    @property
    def decisions(self) -> ColumnDecision:
        """The choice, whether it votes, and its scores."""
        return ColumnDecision(
            self.choice.name, self.choice.smoothing, self.votes, self.score, self.chance, self.choice.bins
        )

    def read(self, x: Rows) -> Rows:
        """Return columns unchanged: the chosen family reads them."""
        return x

    def log_density(self, x: Rows) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        return self.fitted.log_density(self.fitted.read(self.choice.read(x)))

    def relative_log_density(self, x: Rows) -> Array:
        """Compute the same up to a term that all classes share."""
        return self.fitted.relative_log_density(self.fitted.read(self.choice.read(x)))

    def add_relative(self, x: Rows, out: Array) -> None:
        """Add the same to `out`."""
        if self.choice.name == "values" and isinstance(x, np.ndarray) and self.fitted.add_values(x[:, 0], out):  # type: ignore[attr-defined]
            return
        self.fitted.add_relative(self.choice.read(x), out)

    n_columns = derived(lambda _: 1)
    # The rest is that of the chosen family.
    n_parameters = derived(lambda self: self.fitted.n_parameters)
    column_support = derived(lambda self: self.fitted.column_support)
    known_values = derived(lambda self: self.fitted.known_values)
    outcomes = derived(lambda self: self.fitted.outcomes)
    tables = derived(lambda self: self.fitted.tables)
    formula = derived(lambda self: self.fitted.formula)
    linear = derived(lambda self: self.fitted.linear)
    sample = derived(lambda self: self.fitted.sample)

    @property
    def expected(self) -> Array:
        """The mean of each class, (classes, 1)."""
        if self.choice.name != "values":
            return self.fitted.expected
        return self.fitted.probability @ self.choice.statistic.keys[0][:, None]  # type: ignore[attr-defined]

    def fill(self, x: Rows, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator) -> Values:
        """Fill missing entries as the chosen family does. Numbers that were read as categories also have a mean."""
        if self.choice.name != "values":
            return self.fitted.fill(x, posterior, codes, method, rng)
        if method != "mode":
            return super().fill(x, posterior, codes, method, rng)
        return np.asarray(self.fitted.fill(self.choice.read(x), posterior, codes, method, rng), dtype=np.float64)


class SilentDistribution(ChosenDistribution):
    """One distribution for all classes: it gives the density of a value and does not depend on the class."""

    classes: int

    votes: ClassVar[bool] = False

    def log_density(self, x: Rows) -> Array:
        """Compute log p(x), the same for every class, (rows, classes)."""
        return np.repeat(super().log_density(x), self.classes, axis=1)

    def relative_log_density(self, x: Rows) -> Array:
        """Return zeros: the classes do not differ."""
        return np.zeros((x.shape[0], self.classes))

    def add_relative(self, x: Rows, out: Array) -> None:
        """Add nothing: the classes do not differ."""

    def fill(self, x: Rows, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator) -> Values:
        """Fill missing entries from the one distribution, whatever the class."""
        if self.choice.name == "values":
            return super().fill(x, posterior, codes, method, rng)
        return self.fitted.fill(x, np.ones((len(codes), 1)), np.zeros_like(codes), method, rng)

    expected = derived(lambda self: np.repeat(super().expected, self.classes, axis=0))

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:
        """Yield the outcomes of all classes together, the same for each class."""
        return (Outcomes(title, np.repeat(p, self.classes, axis=0)) for title, p in self.fitted.outcomes(names))

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:  # noqa: ARG002  # they share one
        """Return the tables of all classes together."""
        return self.fitted.tables(np.array(["all"]), names)

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return zeros: the classes do not differ."""
        return [Term(name, (name,), Constant(np.zeros(self.classes))) for name in names]

    def linear(self) -> tuple[Array, Array]:
        """Return coefficients of 0."""
        return np.zeros((self.classes, 1)), np.zeros(self.classes)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Any:
        """Draw from all classes together."""
        return self.fitted.sample(np.zeros_like(codes), rng)
