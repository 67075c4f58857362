"""Mixtures of Gaussians with full covariances over a block of columns, learned by expectation-maximization.

The columns may have missing values. A component gives the density of the observed entries of a row, and the
conditional mean and covariance of its missing entries (Ghahramani and Jordan, 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, Values
from suffice.core.statistics import Scatter
from suffice.families._base import Distribution, derived
from suffice.families._contract import Table
from suffice.families.covariance import by_pattern
from suffice.families.logarithms import log
from suffice.families.multivariate_gaussian import MultivariateGaussianDistribution
from suffice.formulas import Formula, LogSumExp, Term, by_observed

NO_SHARE = 1e-100  # a component of a smaller share than this is dropped
LOWEST = -1e300  # log-densities are raised to this, so that none is infinite


@dataclass(frozen=True)
class Components:
    """The shares (k,) and Gaussians of one class; each component is stored as a class of the Gaussians."""

    share: Array
    gaussians: MultivariateGaussianDistribution

    @classmethod
    def of(cls, share: Array, mean: Array, covariance: Array) -> Components:
        """Make components of shares (k,), means (k, columns) and covariances (k, columns, columns)."""
        factor = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
        full = np.full(len(mean), mean.shape[1])
        return cls(share, MultivariateGaussianDistribution(mean, covariance, factor, covariance, full, 0))

    @property
    def mean(self) -> Array:
        """The mean of each component, (k, columns)."""
        return self.gaussians.mean

    @property
    def covariance(self) -> Array:
        """The covariance of each component, (k, columns, columns)."""
        return self.gaussians.covariance

    def log_terms(self, x: Dense) -> Array:
        """Compute log π_k + log N(x; μ_k, Σ_k) of the observed entries of each row, (rows, k)."""
        return np.fmax(self.gaussians.log_density(x), LOWEST) + np.log(self.share)


class Run(NamedTuple):
    """The result of one run of EM, and the mean log-likelihood of a row before each step and at the end."""

    found: Components
    trace: Array
    converged: bool

    def rescaled(self, mean: Array, scale: Array, log_unit: float) -> Run:
        """Return the same for x instead of the standardized (x − mean) / scale; components by ascending mean."""
        before = self.found.gaussians
        order = np.lexsort(before.mean.T[::-1])
        found = Components.of(
            self.found.share[order],
            mean + scale * before.mean[order],
            before.covariance[order] * np.outer(scale, scale),
        )
        return Run(found, self.trace - log_unit, self.converged)


def log_sum(terms: Array) -> tuple[Array, Array]:
    """Compute log Σ_k exp(term_k) of each row, and the share of each k in the sum."""
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    total = shares.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], shares / total


def best_run(
    x: Array, weight: Array, uniform: Array, select: str | None, tol: float, max_iter: int, floor: float
) -> Run:
    """Return the best run over all starts, and over all numbers of components if one is to be selected.

    `x` is standardized. `uniform` (starts, components) holds the uniform draws of the centres to start from.
    """
    most, columns = min(uniform.shape[1], len(weight)), x.shape[1]
    n, best, least = weight.sum(), None, np.inf
    order = by_pattern(x)  # rows with the same missing columns follow each other
    x, weight = np.ascontiguousarray(x[order]), weight[order]
    for k in range(1, most + 1) if select else [most]:
        for draws in uniform:
            run = maximize(x, weight, start(x, weight, draws[:k], floor), tol, max_iter, floor)
            each = 1 + columns + columns * (columns + 1) // 2
            parameters = len(run.found.share) * each - 1 if select else 0
            cost = parameters * np.log(max(n, 1.0)) - 2 * n * run.trace[-1]
            if best is None or cost < least:
                best, least = run, cost
    assert best is not None, "there is at least one start"
    return best


def maximize(x: Array, weight: Array, found: Components, tol: float, max_iter: int, floor: float) -> Run:
    """Repeat expectation and maximization until the mean log-likelihood hardly changes."""
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter and not converged:
        score, better = step(x, weight, found, floor)
        converged = bool(trace) and abs(score - trace[-1]) < tol
        trace.append(score)
        found = better
    trace.append(float(weight @ log_sum(found.log_terms(x))[0] / weight.sum()))
    return Run(found, np.array(trace), converged)


def step(x: Array, weight: Array, found: Components, floor: float) -> tuple[float, Components]:
    """Return the mean log-likelihood of the components, and the components after one step of EM."""
    logs, shares = log_sum(found.log_terms(x))
    weights = np.ascontiguousarray((shares * weight[:, None]).T)
    parts = [moments(x, w, found.gaussians, k) for k, w in enumerate(weights)]
    n = np.array([w for w, _, _ in parts])
    kept = np.flatnonzero(n > NO_SHARE * weight.sum())
    mean = np.stack([parts[k][1] for k in kept])
    covariance = np.stack([parts[k][2] / n[k] for k in kept])
    better = Components.of(n[kept] / n[kept].sum(), mean, with_least_eigenvalue(covariance, floor))
    return float(weight @ logs / weight.sum()), better


def moments(x: Array, weight: Array, gaussians: MultivariateGaussianDistribution, k: int) -> tuple[float, Array, Array]:
    """Compute the expected weight, mean and cross-products of rows whose missing values follow component k."""
    spread = np.zeros((1, *gaussians.covariance[k].shape))
    incomplete = np.isnan(x).any(axis=1)
    if incomplete.any():
        filled = x.copy()
        rows = np.ascontiguousarray(x[incomplete])
        out = np.empty((len(rows), 1, x.shape[1]))
        mean, covariance = gaussians.mean[k : k + 1], gaussians.covariance[k : k + 1]
        _core.gaussian_incomplete(rows, mean, covariance, weight[incomplete], None, None, out, spread)
        filled[incomplete] = out[:, 0]
        x = filled
    found = Scatter.of(x, np.zeros(len(x), np.int32), 1, weight)
    return float(found.weight[0]), found.mean[0], found.cross[0] + spread[0]


def with_least_eigenvalue(covariance: Array, floor: float) -> Array:
    """Raise the eigenvalues of covariances to at least `floor`, which is the maximum of the likelihood among such."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.maximum(values, floor)[:, None]) @ np.swapaxes(vectors, 1, 2)


def start(x: Array, weight: Array, draws: Array, floor: float) -> Components:
    """Return the components of groups of near rows; a missing value is the mean, and adds a variance of 1."""
    missing = np.isnan(x)
    filled = np.where(missing, 0.0, x)
    near = nearest(filled, weight, draws)
    share, mean, covariance = [], [], []
    for g in range(near.max() + 1):
        w = weight[near == g] / weight[near == g].sum()
        rows = filled[near == g]
        share.append(weight[near == g].sum() / weight.sum())
        mean.append(w @ rows)
        covariance.append(((rows - mean[-1]) * w[:, None]).T @ (rows - mean[-1]) + np.diag(w @ missing[near == g]))
    return Components.of(np.array(share), np.array(mean), with_least_eigenvalue(np.array(covariance), floor))


def nearest(x: Array, weight: Array, draws: Array, most: int = 100) -> NDArray[np.int64]:
    """Return the group of each row by k-means, started from centres that are drawn far from each other (k-means++)."""
    centres, chance = [], weight
    for u in draws:
        mass = np.cumsum(chance)
        if not mass[-1] > 0:
            break  # every row is a centre
        centres.append(x[min(np.searchsorted(mass, u * mass[-1], side="right"), len(x) - 1)])
        distance = np.min([((x - c) ** 2).sum(axis=1) for c in centres], axis=0)
        chance = weight * distance
    near = np.full(len(x), -1)
    for _ in range(most):
        before, near = near, np.argmin([((x - c) ** 2).sum(axis=1) for c in centres], axis=0)
        near = np.unique(near, return_inverse=True)[1].ravel()  # drops groups without rows
        if (near == before).all():
            break
        centres = [weight[near == g] @ x[near == g] / weight[near == g].sum() for g in range(near.max() + 1)]
    return near


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
