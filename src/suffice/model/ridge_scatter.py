"""Class means and the scatter within classes of features, from which linear discriminants and their left-out rows follow.

A row at the mean of all rows counts as one further row of every class, so that a class without rows has a mean, and a
class of few rows is drawn to that of all. With x relative to that mean, and the weight κ_k = n_k + 1 of class k,

    m_k = Σ w x / κ_k,   W = Σ_k ( Σ w (x − m_k)(x − m_k)ᵀ + m_k m_kᵀ ),   M = W + ρ I,   ρ = λ tr(W) / p,
    E_k(x) = κ ( m_kᵀ M⁻¹ x − ½ m_kᵀ M⁻¹ m_k ),   κ = Σ_k κ_k.

Without a part u of the weight of row x of class y, with d = x − m_y, κ_y falls by u, m_y moves to x − κ_y/(κ_y − u) d,
and M becomes M − c d dᵀ, c = κ_y u / (κ_y − u). Its inverse follows by the formula of Sherman and Morrison, so a row
costs as much as one prediction. The mean of all rows, and ρ, stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.core.arrays import Array, Codes
from suffice.model.tempered_loss import tempered_loss

SHRINKAGES = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
PULL = 1.0  # the weight of the row at the mean of all rows that every class has
AT_ONCE = 4096  # rows that are left out at a time
ENTRIES = 1 << 16  # rows × classes that judge a shrinkage; kept rows come by hash, so the first are a random sample
LEAST_LEFT = 1e-12  # share of a determinant that remains without a row; less is rounding


@dataclass(frozen=True, eq=False)
class RidgeScatter:
    """The mean of all rows, class means relative to it, weights κ, and eigenvectors and eigenvalues of W."""

    origin: Array
    mean: Array
    weight: Array
    basis: Array
    values: Array

    @classmethod
    def of(cls, x: Array, codes: Codes, weight: Array, classes: int) -> tuple[RidgeScatter, Array]:
        """Sum rows of features, (rows, features), and return x − m of its class for each row too."""
        n = np.bincount(codes, weights=weight, minlength=classes)
        sums = np.stack([np.bincount(codes, weights=weight * row, minlength=classes) for row in x.T], axis=1)
        origin = sums.sum(axis=0) / n.sum()
        kappa = n + PULL
        mean = (sums - n[:, None] * origin) / kappa[:, None]
        own = x - (mean + origin)[codes]
        heavy = own if (weight == 1.0).all() else own * np.sqrt(weight)[:, None]
        scatter = heavy.T @ heavy + PULL * mean.T @ mean
        values, basis = np.linalg.eigh(scatter)
        return cls(origin, mean, kappa, basis, np.maximum(values, 0.0)), own

    def ridge(self, shrinkage: float) -> float:
        """Return ρ."""
        return float(shrinkage * self.values.sum() / len(self.values))

    def linear(self, ridge: float) -> tuple[Array, Array]:
        """Return coef (classes, features) and intercept (classes,) of features as they are; each sums to 0."""
        turned = self.mean @ self.basis
        coef = self.weight.sum() * (turned / (self.values + ridge)) @ self.basis.T
        intercept = -0.5 * np.einsum("ij,ij->i", coef, self.mean) - coef @ self.origin
        return coef - coef.mean(axis=0), intercept - intercept.mean()

    def choose(self, own: Array, codes: Codes, weight: Array, log_prior: Array) -> float:
        """Return the λ whose left-out evidence has the least log-loss, with an exponent for each."""
        some = slice(max(ENTRIES // len(self.mean), 512))
        own, codes, weight = own[some] @ self.basis, codes[some], weight[some]
        log_prior = log_prior[some] if log_prior.ndim == 2 else log_prior
        losses, exponent = [], 1.0
        for shrinkage in SHRINKAGES:
            evidence = self._left_out(own, own**2, codes, weight, self.ridge(shrinkage))
            loss, exponent = tempered_loss(evidence, log_prior, codes, weight, exponent)
            losses.append(loss)
        return SHRINKAGES[int(np.argmin(losses))]

    def left_out(self, own: Array, codes: Codes, weight: Array, ridge: float) -> Array:
        """Compute the evidence of each row without min(weight, 1) of it, (rows, classes); `own` is x − m_y."""
        out = np.empty((len(codes), len(self.mean)))
        for lo in range(0, len(codes), AT_ONCE):
            some = slice(lo, lo + AT_ONCE)
            turned = own[some] @ self.basis
            out[some] = self._left_out(turned, turned**2, codes[some], weight[some], ridge)
        return out

    def _left_out(self, own: Array, squares: Array, codes: Codes, weight: Array, ridge: float) -> Array:
        rows, inverse, turned = np.arange(len(codes)), 1.0 / (self.values + ridge), self.mean @ self.basis
        kappa = self.weight[codes]
        u = np.minimum(np.minimum(weight, 1.0), kappa - PULL)
        c, larger = kappa * u / (kappa - u), kappa / (kappa - u)
        h = squares @ inverse  # dᵀ M⁻¹ d
        scaled = turned * inverse
        across = own @ scaled.T  # dᵀ M⁻¹ m_k
        between = turned @ scaled.T
        apart = between.diagonal()[:, None] + between.diagonal() - 2.0 * between
        moved = across[rows, codes][:, None] - across  # dᵀ M⁻¹ (m_y − m_k)
        left = np.maximum(1.0 - c * h, LEAST_LEFT)
        distance = h[:, None] + 2.0 * moved + apart[codes] + (c / left)[:, None] * (h[:, None] + moved) ** 2
        distance[rows, codes] = larger**2 * h / left
        out = -0.5 * (self.weight.sum() - u)[:, None] * distance
        return np.asarray(out - out.mean(axis=1, keepdims=True))


def can_learn(codes: Codes, weight: Array, size: int) -> bool:
    """Return whether there are features, and rows of at least two classes."""
    return size > 0 and len(np.unique(codes[weight > 0])) > 1
