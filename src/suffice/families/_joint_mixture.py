"""Mixtures of Gaussians with full covariances over a block of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Values
from suffice.families._base import Distribution
from suffice.families._expectation_maximization import Components, log_sum
from suffice.families._results import Table
from suffice.families.logarithms import log
from suffice.formulas import Formula, LogSumExp, Term, by_observed


class JointMixtureDistribution(Distribution):
    """The components of each class, by ascending mean, and the mean log-likelihood of its rows, (classes,)."""

    components: tuple[Components, ...]
    width: int
    score: Array

    bends: ClassVar = "The log-odds of mixtures are not linear in x; one Gaussian of shared variance is"

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes); what is missing is integrated out."""
        return np.stack([log_sum(own.log_terms(x))[0] for own in self.components], axis=1)

    def expect(self, x: Any) -> Array:
        """Fill gaps with their conditional mean in each class given the rest, (rows, classes, columns)."""
        out = np.empty((len(x), len(self.components), self.width))
        for c, own in enumerate(self.components):
            shares = log_sum(own.log_terms(x))[1]
            filled = (shares[:, None] @ own.gaussians.expect(x))[:, 0]
            out[:, c] = np.where(np.isnan(x), filled, x)
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """One term for the block, a sum over components; see `MultivariateGaussianDistribution.formula` for gaps."""
        formula = by_observed(names, lambda seen: self._formula_of(names, seen), carried=True)
        return [Term(", ".join(names), tuple(names), formula)]

    def _formula_of(self, names: Sequence[str], seen: tuple[int, ...]) -> Formula:
        # The k-th components of all classes side by side; a class that has none repeats its last, with share 0.
        terms = []
        for k in range(max(len(own.share) for own in self.components)):
            at = [min(k, len(own.share) - 1) for own in self.components]
            share = np.array([own.share[i] if i == k else 0.0 for own, i in zip(self.components, at, strict=True)])
            both = list(zip(self.components, at, strict=True))
            gaussians = Components.of(
                share, np.stack([own.mean[i] for own, i in both]), np.stack([own.covariance[i] for own, i in both])
            ).gaussians
            terms.append(gaussians.formula_of(names, seen) + log(share))
        return LogSumExp(tuple(terms))

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return self.width

    @property
    def n_parameters(self) -> int:
        """Means, covariances and all shares but one, for each class."""
        each = 1 + self.width + self.width * (self.width + 1) // 2
        return sum(len(own.share) * each - 1 for own in self.components)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """For each class the shares and means of its components, then the covariance of each."""
        out = []
        for label, own in zip(labels, self.components, strict=True):
            heads = [f"component {k + 1}" for k in range(len(own.share))]
            rows = ["share", *(f"mean of {name}" for name in names)]
            out.append(Table(str(label), rows, heads, np.vstack([own.share, own.mean.T])))
            for head, covariance in zip(heads, own.covariance, strict=True):
                out.append(Table(f"{label}, covariance of {head}", list(names), list(names), covariance))
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a component for each row, then the row."""
        out, u = np.empty((len(codes), self.width)), rng.random(len(codes))
        for c, own in enumerate(self.components):
            rows = np.flatnonzero(codes == c)
            below = np.cumsum(own.share)
            at = np.minimum(np.searchsorted(below, u[rows] * below[-1], side="right"), len(below) - 1)
            out[rows] = own.gaussians.sample(at.astype(np.int32), rng)
        return out
