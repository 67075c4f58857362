"""Expectation-maximization for Gaussian mixtures over a block of columns, gaps included.

Rows are grouped by which entries they show. For those a component gives a density, the marginal one; for the
others its conditional mean and covariance given what is there (Ghahramani and Jordan, 1994).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.tables import Array

NO_SHARE = 1e-100  # a component of a smaller share than this is dropped
FARTHEST = 1e300  # squared distances beyond it count as it: a log-density stays finite
Groups = list[tuple[Any, NDArray[np.bool_]]]


@dataclass(frozen=True)
class Components:
    """Shares (k,), means (k, columns) and covariances (k, columns, columns) of one class."""

    share: Array
    mean: Array
    covariance: Array

    def whitening(self, seen: NDArray[np.bool_]) -> Array:
        """W_k with Wᵀ W the inverse of the covariance of the columns `seen`, (k, seen, seen), lower triangles."""
        # Multiplying by small inverses, for BLAS solves small systems of many right-hand sides slowly.
        return np.linalg.inv(np.linalg.cholesky(self.covariance[:, seen][:, :, seen]))

    def log_terms(self, x: Array, seen: NDArray[np.bool_]) -> Array:
        """Log π_k + log N(x; μ_k, Σ_k) of rows that show the columns `seen`, (rows, k)."""
        out = np.empty((len(x), len(self.share)))
        shown = x[:, seen]
        for k, white in enumerate(self.whitening(seen)):
            with np.errstate(over="ignore", invalid="ignore"):  # far outside, distances overflow
                distance = (shown - self.mean[k, seen]) @ white.T
                squared = np.fmin((distance * distance).sum(axis=1), FARTHEST)
            out[:, k] = np.log(np.diag(white)).sum() - 0.5 * (squared + seen.sum() * np.log(2 * np.pi))
        return out + np.log(self.share)

    def deviations(self, x: Array, seen: NDArray[np.bool_]) -> Iterator[tuple[Array, Array]]:
        """For each k: E[x − μ_k] given what rows show, (rows, columns), and the covariance of what they do not."""
        for k, white in enumerate(self.whitening(seen)):
            out, rest = np.zeros(x.shape), np.zeros(self.covariance[k].shape)
            out[:, seen] = x[:, seen] - self.mean[k, seen]
            if not seen.all():
                across = white @ self.covariance[k][np.ix_(seen, ~seen)]
                out[:, ~seen] = out[:, seen] @ (white.T @ across)
                rest[np.ix_(~seen, ~seen)] = self.covariance[k][np.ix_(~seen, ~seen)] - across.T @ across
            yield out, rest


class Run(NamedTuple):
    """What one run of EM found, and the mean log-likelihood of a row before each step and at the end."""

    found: Components
    trace: Array
    converged: bool

    def rescaled(self, mean: Array, scale: Array, log_unit: float) -> Run:
        """The same in units of which the standardized ones are (x − mean) / scale; by ascending mean."""
        order = np.lexsort(self.found.mean.T[::-1])
        found = Components(
            self.found.share[order],
            mean + scale * self.found.mean[order],
            self.found.covariance[order] * np.outer(scale, scale),
        )
        return Run(found, self.trace - log_unit, self.converged)


def by_gaps(x: Array) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    """The positions of the rows that show the same entries, and which entries those are."""
    gaps = np.isnan(x)
    if not gaps.any():
        yield slice(None), np.ones(x.shape[1], dtype=bool)
        return
    patterns, which = np.unique(gaps, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    cuts = np.searchsorted(which.ravel()[order], np.arange(1, len(patterns)))
    for rows, pattern in zip(np.split(order, cuts), patterns, strict=True):
        yield rows, ~pattern


def log_sum(terms: Array) -> tuple[Array, Array]:
    """Log Σ_k exp of each row, and the share of each k in the sum."""
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    total = shares.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], shares / total


def likeliest(
    x: Array, weight: Array, uniform: Array, select: str | None, tol: float, max_iter: int, floor: float
) -> Run:
    """The best of all starts, and of all numbers of components where they are to be selected.

    `x` is standardized; `uniform` (starts, components) draws the centres to start from.
    """
    most, columns = min(uniform.shape[1], len(weight)), x.shape[1]
    n, best, least = weight.sum(), None, np.inf
    groups = list(by_gaps(x))
    for k in range(1, most + 1) if select else [most]:
        for draws in uniform:
            run = maximize(x, weight, groups, start(x, weight, draws[:k], floor), tol, max_iter, floor)
            each = 1 + columns + columns * (columns + 1) // 2
            parameters = len(run.found.share) * each - 1 if select else 0
            cost = parameters * np.log(max(n, 1.0)) - 2 * n * run.trace[-1]
            if best is None or cost < least:
                best, least = run, cost
    assert best is not None, "there is at least one start"
    return best


def maximize(
    x: Array, weight: Array, groups: Groups, found: Components, tol: float, max_iter: int, floor: float
) -> Run:
    """Repeat expectation and maximization until the mean log-likelihood hardly changes."""
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter and not converged:
        score, better = step(x, weight, groups, found, floor)
        converged = bool(trace) and abs(score - trace[-1]) < tol
        trace.append(score)
        found = better
    trace.append(sum(weight[rows] @ log_sum(found.log_terms(x[rows], seen))[0] for rows, seen in groups) / weight.sum())
    return Run(found, np.array(trace), converged)


def step(x: Array, weight: Array, groups: Groups, found: Components, floor: float) -> tuple[float, Components]:
    """The mean log-likelihood of components, and those that one step of EM makes of them."""
    k, columns = found.mean.shape
    n, first, second = np.zeros(k), np.zeros((k, columns)), np.zeros((k, columns, columns))
    score = 0.0
    for rows, seen in groups:
        part, w = x[rows], weight[rows]
        logs, shares = log_sum(found.log_terms(part, seen))
        score += float(w @ logs)
        shares *= w[:, None]
        for g, (deviation, rest) in enumerate(found.deviations(part, seen)):
            heavy = shares[:, g].sum()
            n[g] += heavy
            first[g] += shares[:, g] @ deviation
            second[g] += (deviation * shares[:, g : g + 1]).T @ deviation + heavy * rest
    kept = np.flatnonzero(n > NO_SHARE * weight.sum())
    shift = first[kept] / n[kept, None]
    covariance = second[kept] / n[kept, None, None] - shift[:, :, None] * shift[:, None]
    better = Components(n[kept] / n[kept].sum(), found.mean[kept] + shift, raised(covariance, floor))
    return score / weight.sum(), better


def raised(covariance: Array, floor: float) -> Array:
    """Covariances whose eigenvalues are at least `floor`: the likeliest among all such."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.maximum(values, floor)[:, None]) @ np.swapaxes(vectors, 1, 2)


def start(x: Array, weight: Array, draws: Array, floor: float) -> Components:
    """Shares, means and covariances of groups of near rows; a gap counts as the mean, and as uncertain."""
    gaps = np.isnan(x)
    filled = np.where(gaps, 0.0, x)
    near = nearest(filled, weight, draws)
    share, mean, covariance = [], [], []
    for g in range(near.max() + 1):
        w = weight[near == g] / weight[near == g].sum()
        own = filled[near == g]
        share.append(weight[near == g].sum() / weight.sum())
        mean.append(w @ own)
        covariance.append(((own - mean[-1]) * w[:, None]).T @ (own - mean[-1]) + np.diag(w @ gaps[near == g]))
    return Components(np.array(share), np.array(mean), raised(np.array(covariance), floor))


def nearest(x: Array, weight: Array, draws: Array, most: int = 100) -> NDArray[np.int64]:
    """The group of each row by k-means, begun from centres drawn far from each other (k-means++)."""
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
        near = np.unique(near, return_inverse=True)[1].ravel()  # groups without rows are gone
        if (near == before).all():
            break
        centres = [weight[near == g] @ x[near == g] / weight[near == g].sum() for g in range(near.max() + 1)]
    return near
