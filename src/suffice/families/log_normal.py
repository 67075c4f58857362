"""Positive numbers whose logarithms are Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Values, as_matrix, is_sparse, refuse_entries
from suffice.core.errors import NoLinearFormError
from suffice.core.priors import NormalInverseGamma
from suffice.core.statistics import Moments
from suffice.families._base import Distribution, Family, Support, Table
from suffice.families.gaussian import Gaussian, GaussianDistribution
from suffice.formulas import Column, Log, Term, supported, unless_missing


def positive(x: Any) -> Any:
    """Columns as a dense matrix, refusing numbers that have no logarithm."""
    x = as_matrix(x)
    x = x.toarray() if is_sparse(x) else x
    refuse_entries(x, lambda entries: entries <= 0, "Expected numbers above 0.", " Only those have a logarithm.")
    return x


def log_of(x: Any) -> Array:
    """Log x to all digits, also of float32."""
    return np.log(x, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class LogNormal(Family[Moments]):
    """A number above 0 whose logarithm is Gaussian:  p(x | y) = N(log x; μ_y, σ_y²) / x.

    Statistic, priors and options are those of `Gaussian`, taken of log x. With `learn="predictive"` log x
    follows Student's t.

    >>> family = LogNormal(prior=None)
    >>> family.estimate(family.summarize([[1.0], [np.e**2]], [0, 0]).statistic).logarithm.mean
    array([[1.]])
    """

    variance: Literal["class", "shared"] | float | NDArray[Any] = "class"
    var_smoothing: float = 0.0

    kind: ClassVar = Moments
    sees: ClassVar = "logarithms"
    weak_prior: ClassVar = NormalInverseGamma()

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.gaussian  # which checks its options

    @cached_property
    def gaussian(self) -> Gaussian:
        """The family of log x."""
        return Gaussian(self.prior, self.learn, self.variance, self.var_smoothing)

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of numbers above 0."""
        return positive(x)

    def prepared(self, x: Any) -> Array:
        """The logarithms."""
        return log_of(x)

    def estimate(self, moments: Moments) -> LogNormalDistribution:
        """Mean and variance of log x, as `Gaussian` learns them."""
        return LogNormalDistribution(self.gaussian.estimate(moments))

    def leave_one_out(
        self, moments: Moments, fitted: Distribution, x: Any, codes: Codes, weight: Array | None
    ) -> Array:
        """As `Gaussian` leaves each log x out."""
        assert isinstance(fitted, LogNormalDistribution)
        logs = log_of(x)
        own = self.gaussian.leave_one_out(moments, fitted.logarithm, logs, codes, weight)
        return own - np.nansum(logs, axis=1, keepdims=True)


@dataclass(frozen=True)
class LogNormalDistribution(Distribution):
    """The distribution of log x: a Gaussian, or Student's t."""

    logarithm: Distribution

    def read(self, x: Any) -> Any:
        """Bring columns into a matrix of numbers above 0."""
        return positive(x)

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) = log p(log x | y) − Σ log x of every row under every class, (rows, classes)."""
        logs = log_of(x)
        return self.logarithm.log_density(logs) - np.nansum(logs, axis=1, keepdims=True)

    def formula(self, names: Sequence[str]) -> list[Term]:
        """That of log x, less log x; nothing but numbers above 0 is possible."""
        out = []
        for j, name in enumerate(names):
            logs = Log(Column(name))
            density = self.logarithm.formula_of(logs, j) - logs  # type: ignore[attr-defined]  # both kinds have one
            out.append(Term(name, (name,), unless_missing(name, supported(name, density, 0.0, open_end=True))))
        return out

    def support(self, column: int) -> Support:  # noqa: ARG002  # all are alike
        """Numbers above 0."""
        return "positive"

    def linear(self) -> Any:
        """Refuse: at best it is linear in log x."""
        raise NoLinearFormError(
            "The log-odds depend on log x, not on x: take the logarithm of the columns and use Gaussian"
        )

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.logarithm.n_columns

    @property
    def n_parameters(self) -> int:
        """Those of log x."""
        return self.logarithm.n_parameters

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """The parameters of log x, one table for each column."""
        return [
            replace(table, rows=[f"{row} of log x" for row in table.rows])
            for table in self.logarithm.tables(labels, names)
        ]

    @property
    def expected(self) -> Array:
        """The mean e^(μ + σ²/2); where log x follows Student's t there is none, and the median e^μ is taken."""
        mean: Array = self.logarithm.mean  # type: ignore[attr-defined]  # both kinds have one
        spread = self.logarithm.variance if isinstance(self.logarithm, GaussianDistribution) else 0.0
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(mean + 0.5 * spread), np.finfo(np.float64).max)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of numbers above 0."""
        return np.exp(self.logarithm.sample(codes, rng))
