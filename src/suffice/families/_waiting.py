"""What the exponential and the geometric share: the time, or the number of failures, until an event."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Values
from suffice.core.statistics import Totals
from suffice.families._base import Support, Table
from suffice.families._entrywise import EntrywiseDistribution, EntrywiseFamily
from suffice.formulas import Formula, Term, unless_missing


class WaitingDistribution(EntrywiseDistribution):
    """A distribution that says the log-density of every entry, and what is expected of it."""

    @property
    @abstractmethod
    def expected(self) -> Array:
        """The mean of each class and column."""

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """A time."""
        return "positive"

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.expected.shape[1]

    @property
    def n_parameters(self) -> int:
        """One for each class and column."""
        return self.expected.size


class PredictiveWaiting(WaitingDistribution):
    """A waiting time whose parameter is integrated out: not linear in x, so summed entry by entry."""

    def formula(self, names: Sequence[str]) -> list[Term]:
        """What each column says by itself."""
        return [Term(n, (n,), unless_missing(n, self.formula_of(n, j))) for j, n in enumerate(names)]

    @abstractmethod
    def formula_of(self, name: str, column: int) -> Formula:
        """Log p of an entry of a column."""

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The expected value of each class and column."""
        return [Table("expected", list(names), [str(label) for label in labels], self.expected.T)]


@dataclass(frozen=True, eq=False, repr=False)
class Waiting(EntrywiseFamily[Totals]):
    """A family of which the statistic are the totals."""

    kind: ClassVar = Totals

    @abstractmethod
    def estimate(self, totals: Totals) -> WaitingDistribution:
        """Estimate every class and column of the totals."""


def known_somewhere(a: Array, b: Array, totals: tuple[Array, Array]) -> tuple[Array, Array]:
    """The posterior (a, b), and where nothing is known (a = 0) what all classes together show, or 1 and 1."""
    if (a > 0).all():
        return a, b
    for otherwise in (totals, (1.0, 1.0)):
        unknown = a <= 0
        a, b = np.where(unknown, otherwise[0], a), np.where(unknown, otherwise[1], b)
    return a, b
