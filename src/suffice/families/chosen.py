"""Distributions of columns whose family was chosen by the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from suffice.core.arrays import Array, Codes, Rows, Values
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, FillMethod, derived
from suffice.families._contract import Decisions, Outcomes, Table
from suffice.formulas import Constant, Term

CandidateName = Literal["student", "bins", "values", "kernel", "categorical", "bernoulli", "text"]


class Candidate(NamedTuple):
    """A family to choose from: its name, the amount that is added to counts, and the number of bins asked for."""

    name: CandidateName
    smoothing: float | None = None
    bins: int | None = None


@dataclass(frozen=True)
class Choice:
    """A family, the statistic that it is estimated from, and a function that converts numbers to what it reads."""

    name: CandidateName
    family: Family[Any]
    statistic: Any
    read: Callable[[Rows], Rows] = lambda x: x

    def fit(self) -> Distribution:
        """Estimate p(x | y)."""
        return self.family.estimate(self.statistic)

    def pooled(self) -> Choice:
        """Return the same for all classes together."""
        return replace(self, statistic=self.statistic.pooled())


@dataclass(frozen=True, eq=False)
class ColumnDecision(Decisions):
    """The family that was chosen for a column, by its name and smoothing; whether it votes; and the scores."""

    family: CandidateName
    smoothing: Annotated[float | None, Held(least=0)]
    votes: bool
    score: Annotated[float, Held(missing=True)]
    chance: Annotated[float, Held(missing=True)]
    bins: Annotated[int | None, Held(least=1)] = None

    @property
    def candidate(self) -> Candidate:
        """The candidate that was chosen."""
        return Candidate(self.family, self.smoothing, self.bins)


class Chooser(Protocol):
    """A family that chooses among candidates: see `choose.Chosen`."""

    def make(self, statistic: Any, candidate: Candidate) -> Choice:
        """Make a family that was an option."""


class ChosenDistribution(Distribution):
    """The distribution of the chosen family. It is estimated when it is first asked.

    A table may have thousands of columns, most of which do not vote, so that their densities are rarely asked for.
    """

    chooser: Chooser
    statistic: Any
    decided: ColumnDecision

    decisions = derived(lambda self: self.decided)
    score = derived(lambda self: self.decided.score)  # its leave-one-out score
    chance = derived(lambda self: self.decided.chance)  # the score of the class prior

    @property
    def choice(self) -> Choice:
        """The family that was chosen, with its statistic."""
        return self._once("choice", lambda: self.chooser.make(self.statistic, self.decided.candidate))

    @property
    def fitted(self) -> Distribution:
        """The distribution of that family."""
        return self._once("fitted", lambda: self.choice.fit())

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Compute something once. Unlike `cached_property`, it does not let other columns wait in Python 3.11."""
        known = self.__dict__
        if name not in known:
            known[name] = make()
        return known[name]

    def read(self, x: Rows) -> Rows:
        """Return columns unchanged: the chosen family reads them."""
        return x

    def log_density(self, x: Rows) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        return self.fitted.log_density(self.fitted.read(self.choice.read(x)))

    def relative_log_density(self, x: Rows) -> Array:
        """Compute the same up to a term that all classes share."""
        return self.fitted.relative_log_density(self.fitted.read(self.choice.read(x)))

    def add_relative(self, x: Rows, out: Array, factor: float = 1.0) -> None:
        """Add the same, times a factor, to `out`."""
        values = self.choice.name == "values" and isinstance(x, np.ndarray)
        if not (values and self.fitted.add_values(x[:, 0], out, factor)):  # type: ignore[attr-defined]
            self.fitted.add_relative(self.choice.read(x), out, factor)

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

    votes: ClassVar[bool] = False
    classes = derived(lambda self: self.statistic.n_classes)
    # The distribution of each class, if the column did vote.
    as_voting = derived(lambda self: self.chooser.decided(self.statistic, replace(self.decided, votes=True)))

    @property
    def choice(self) -> Choice:
        """The family that was chosen, with the statistic of all classes together."""
        return self._once("choice", lambda: self.chooser.make(self.statistic, self.decided.candidate).pooled())

    def log_density(self, x: Rows) -> Array:
        """Compute log p(x), the same for every class, (rows, classes)."""
        return np.repeat(super().log_density(x), self.classes, axis=1)

    def relative_log_density(self, x: Rows) -> Array:
        """Return zeros: the classes do not differ."""
        return np.zeros((x.shape[0], self.classes))

    def add_relative(self, x: Rows, out: Array, factor: float = 1.0) -> None:
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
