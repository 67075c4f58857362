"""Class means and the scatter within classes: what linear discriminants, and those without a row, follow from.

A row at the mean of all rows counts as one further row of every class, so that a class without rows has a mean, and a
class of few rows is drawn to that of all. With x relative to that mean, and the weight κ_k = n_k + 1 of class k,

    m_k = Σ w x / κ_k,   W = Σ_k ( Σ w (x − m_k)(x − m_k)ᵀ + m_k m_kᵀ ),   M = W + ρ I,   ρ = λ tr(W) / p,
    E_k(x) = κ ( m_kᵀ M⁻¹ x − ½ m_kᵀ M⁻¹ m_k ),   κ = Σ_k κ_k.

Without a part u of the weight of row x of class y, with d = x − m_y, κ_y falls by u, m_y moves to x − κ_y/(κ_y − u) d,
and M becomes M − c d dᵀ, c = κ_y u / (κ_y − u). Its inverse follows by the formula of Sherman and Morrison, so a row
costs as much as one prediction. The mean of all rows, and ρ, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.core.statistics import Batch
from suffice.model.tempered_loss import tempered_loss

SHRINKAGES = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
PULL = 1.0  # the weight of the row at the mean of all rows that every class has
AT_ONCE = 4096  # rows that are summed or left out at a time
JUDGES, FEWEST, ENTRIES = 4096, 1024, 1 << 16  # rows that judge a shrinkage: fewer if there are many classes
FEW_CLASSES = 32  # up to which sums of classes are a product of matrices
LEAST_SPREAD = 1e-13  # of the largest eigenvalue: less is rounding
LEAST_LEFT = 1e-12  # share of a determinant that remains without a row; less is rounding

FittedRows: TypeAlias = tuple[Batch, Codes, Array]  # the rows that an expert was fitted on, their classes and weights


@dataclass(frozen=True, eq=False)
class RidgeScatter:
    """The mean of all rows, class means relative to it, weights κ, and the scatter W."""

    origin: Array
    mean: Array
    weight: Array
    scatter: Array

    @classmethod
    def of(cls, x: Array, codes: Codes, weight: Array, classes: int) -> RidgeScatter:
        """Sum rows of features, (rows, features), which are overwritten by x − m of their class."""
        n: Array = np.asarray(np.bincount(codes, weights=weight, minlength=classes), np.float64)
        sums = class_sums(x, codes, weight, classes)
        origin = sums.sum(axis=0) / n.sum()
        kappa = n + PULL
        mean = (sums - n[:, None] * origin) / kappa[:, None]
        centre, root = mean + origin, np.sqrt(weight)[:, None]
        scatter = PULL * mean.T @ mean
        for lo in range(0, len(codes), AT_ONCE):
            own = x[lo : lo + AT_ONCE]
            own -= centre[codes[lo : lo + AT_ONCE]]
            heavy = own * root[lo : lo + AT_ONCE]
            scatter += heavy.T @ heavy
        return cls(origin, mean, kappa, scatter)

    def ridge(self, shrinkage: float) -> float:
        """Return ρ."""
        return float(shrinkage * np.trace(self.scatter) / len(self.scatter))

    def linear(self, ridge: float) -> tuple[Array, Array]:
        """Return coef (classes, features) and intercept (classes,) of features as they are; each sums to 0."""
        coef = self.weight.sum() * self._solve(self._factor(ridge), self.mean)
        intercept = -0.5 * np.einsum("ij,ij->i", coef, self.mean) - coef @ self.origin
        return coef - coef.mean(axis=0), intercept - intercept.mean()

    def _factor(self, ridge: float) -> Array:
        """Return the Cholesky factor of M."""
        return np.asarray(np.linalg.cholesky(self.scatter + ridge * np.eye(len(self.scatter))))

    @staticmethod
    def _solve(factor: Array, x: Array) -> Array:
        """Compute M⁻¹ x of each row."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((factor, True), x.T, check_finite=False).T)

    def choose(self, own: Array, codes: Codes, weight: Array, log_prior: Array) -> float:
        """Return the λ whose left-out evidence has the least log-loss, with an exponent for each.

        Some rows are judges. Kept rows come in the order of their hashes, so the first are a random sample.
        """
        some = slice(int(np.clip(ENTRIES // len(self.mean), FEWEST, JUDGES)))
        values, basis = self._axes(own, weight)
        mean, turned = self.mean @ basis, own[some] @ basis
        squares, codes, weight = turned**2, codes[some], weight[some]
        log_prior = log_prior[some] if log_prior.ndim == 2 else log_prior
        losses, exponent = [], 1.0
        for shrinkage in SHRINKAGES:
            inverse = 1.0 / (values + self.ridge(shrinkage))
            solved = mean * inverse
            evidence = self._left_out(squares @ inverse, solved @ turned.T, mean @ solved.T, codes, weight)
            loss, exponent = tempered_loss(evidence, log_prior, codes, weight, exponent)
            losses.append(loss)
        return SHRINKAGES[int(np.argmin(losses))]

    def _axes(self, own: Array, weight: Array) -> tuple[Array, Array]:
        """Return the eigenvalues of W and its axes, (features, axes); of few rows only those above 0, which is faster.

        W = Bᵀ B with a row of B for each row and class; rows of weight and class means lie in what these span.
        """
        if len(own) + len(self.mean) >= len(self.scatter) or not (weight > 0).all():
            values, basis = np.linalg.eigh(self.scatter)
            return np.maximum(values, 0.0), basis
        root = np.concatenate([own * np.sqrt(weight)[:, None], np.sqrt(PULL) * self.mean])
        values, turned = np.linalg.eigh(root @ root.T)
        some = values > LEAST_SPREAD * values[-1]
        values = values[some]
        return values, root.T @ (turned[:, some] / np.sqrt(values))

    def left_out(self, own: Array, codes: Codes, weight: Array, ridge: float) -> Array:
        """Compute the evidence of each row without min(weight, 1) of it, (rows, classes); `own` is x − m_y."""
        from scipy.linalg import solve_triangular

        factor = self._factor(ridge)
        solved = self._solve(factor, self.mean)
        between, out = self.mean @ solved.T, np.empty((len(codes), len(self.mean)))
        for lo in range(0, len(codes), AT_ONCE):
            some = slice(lo, lo + AT_ONCE)
            white = solve_triangular(factor, own[some].T, lower=True, check_finite=False)
            np.square(white, out=white)
            out[some] = self._left_out(white.sum(axis=0), solved @ own[some].T, between, codes[some], weight[some])
        return out

    @classmethod
    def left_out_of(
        cls, matrix: Callable[[Batch], Array], shrinkage: float, rows: FittedRows, fitted: FittedRows, classes: int
    ) -> Array:
        """Compute the same of `rows` among those that an expert was `fitted` on; `matrix` computes features of rows."""
        scatter = cls.of(matrix(fitted[0]), *fitted[1:], classes)
        batch, codes, weight = rows
        own = matrix(batch) - (scatter.mean + scatter.origin)[codes]
        return scatter.left_out(own, codes, weight, scatter.ridge(shrinkage))

    def _left_out(self, h: Array, across: Array, between: Array, codes: Codes, weight: Array) -> Array:
        """Compute evidence from h = dᵀ M⁻¹ d, across (classes, rows) = m_kᵀ M⁻¹ d, and between = m_jᵀ M⁻¹ m_k."""
        rows, kappa = np.arange(len(codes)), self.weight[codes]
        u = np.minimum(np.minimum(weight, 1.0), kappa - PULL)
        c, larger = kappa * u / (kappa - u), kappa / (kappa - u)
        level = between.diagonal()
        apart = level[:, None] + level - 2.0 * between  # squared distances of class means
        moved = across[codes, rows] - across  # dᵀ M⁻¹ (m_y − m_k)
        left = np.maximum(1.0 - c * h, LEAST_LEFT)
        distance = h + moved
        distance *= distance
        distance *= c / left
        distance += h + 2.0 * moved + apart[:, codes]
        distance[codes, rows] = larger**2 * h / left
        distance -= distance.mean(axis=0)
        distance *= -0.5 * (self.weight.sum() - u)
        return distance.T


def class_sums(x: Array, codes: Codes, weight: Array, classes: int) -> Array:
    """Compute Σ w x of each class, (classes, features)."""
    if classes > FEW_CLASSES:
        return np.stack([np.bincount(codes, weights=weight * row, minlength=classes) for row in x.T], axis=1)
    indicator = np.zeros((classes, len(codes)))
    indicator[codes, np.arange(len(codes))] = weight
    return np.asarray(indicator @ x)


def can_learn(codes: Codes, weight: Array, size: int) -> bool:
    """Return whether there are features, and rows of at least two classes."""
    return size > 0 and len(np.unique(codes[weight > 0])) > 1
