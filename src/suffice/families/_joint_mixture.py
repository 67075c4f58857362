"""Mixtures of Gaussians with full covariances over a block of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from suffice.core.arrays import Array, Codes, Dense, Values
from suffice.families._base import Distribution, derived
from suffice.families._contract import Table
from suffice.families._expectation_maximization import Components, log_sum
from suffice.families.logarithms import log
from suffice.formulas import Formula, LogSumExp, Term, by_observed


class JointMixtureDistribution(Distribution):
    """The components of each class, by ascending mean, and the mean log-likelihood of its rows, (classes,)."""

    components: tuple[Components, ...]
    width: int
    score: Array

    why_not_linear: ClassVar = (
        "The log-odds of mixtures are not linear in x; those of a Gaussian of shared variance are"
    )

    def log_density(self, x: Dense) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes); missing entries are integrated out."""
        return np.stack([log_sum(each.log_terms(x))[0] for each in self.components], axis=1)

    def expect(self, x: Dense) -> Array:
        """Fill missing values by their conditional mean in each class, (rows, classes, columns)."""
        out = np.empty((len(x), len(self.components), self.width))
        for c, each in enumerate(self.components):
            shares = log_sum(each.log_terms(x))[1]
            filled = (shares[:, None] @ each.gaussians.expect(x))[:, 0]
            out[:, c] = np.where(np.isnan(x), filled, x)
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return one term for the block, a sum over components.

        `MultivariateGaussianDistribution.formula` describes the treatment of missing values.
        """
        formula = by_observed(names, lambda observed: self._formula_of(names, observed), carried=True)
        return [Term(", ".join(names), tuple(names), formula)]

    def _formula_of(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        # The k-th components of all classes side by side. A class with fewer repeats its last one, with share 0.
        terms = []
        for k in range(max(len(each.share) for each in self.components)):
            chosen = [(each, min(k, len(each.share) - 1)) for each in self.components]
            share = np.array([each.share[i] if i == k else 0.0 for each, i in chosen])
            mean = np.stack([each.mean[i] for each, i in chosen])
            covariance = np.stack([each.covariance[i] for each, i in chosen])
            terms.append(Components.of(share, mean, covariance).gaussians.formula_of(names, observed) + log(share))
        return LogSumExp(tuple(terms))

    n_columns = derived(lambda self: self.width)

    @property
    def n_parameters(self) -> int:
        """Means, covariances and all shares but one, for each class."""
        each = 1 + self.width + self.width * (self.width + 1) // 2
        return sum(len(own.share) * each - 1 for own in self.components)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return, for each class, the shares and means of its components, then the covariance of each."""
        out = []
        for label, each in zip(labels, self.components, strict=True):
            heads = [f"component {k + 1}" for k in range(len(each.share))]
            rows = ["share", *(f"mean of {name}" for name in names)]
            out.append(Table(str(label), rows, heads, np.vstack([each.share, each.mean.T])))
            for head, covariance in zip(heads, each.covariance, strict=True):
                out.append(Table(f"{label}, covariance of {head}", list(names), list(names), covariance))
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a component for each row, then the row."""
        out, u = np.empty((len(codes), self.width)), rng.random(len(codes))
        for c, each in enumerate(self.components):
            rows = np.flatnonzero(codes == c)
            below = np.cumsum(each.share)
            at = np.minimum(np.searchsorted(below, u[rows] * below[-1], side="right"), len(below) - 1)
            out[rows] = each.gaussians.sample(at.astype(np.int32), rng)
        return out
