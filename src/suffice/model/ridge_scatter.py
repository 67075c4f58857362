"""Class means and the scatter within classes: what linear discriminants, and those without a row, follow from.

A row at the mean of all rows counts as one further row of every class, so that a class without rows has a mean, and a
class of few rows is drawn to that of all. With x relative to that mean, and the weight κ_k = n_k + 1 of class k,

    m_k = Σ w x / κ_k,   W = Σ_k ( Σ w (x − m_k)(x − m_k)ᵀ + m_k m_kᵀ ),   M = W + ρ I,   ρ = λ tr(W) / p,
    E_k(x) = κ ( m_kᵀ M⁻¹ x − ½ m_kᵀ M⁻¹ m_k ),   κ = Σ_k κ_k.

Without a part u of the weight of row x of class y, with d = x − m_y, κ_y falls by u, m_y moves to x − κ_y/(κ_y − u) d,
and M becomes M − c d dᵀ, c = κ_y u / (κ_y − u). Its inverse follows by the formula of Sherman and Morrison. The mean of
all rows, and ρ, stay as they are. Along the axes of W every M is diagonal, so many λ cost little more than one.

Rows are of float64, or of float32 if that is how precise the features are. Sums over blocks of rows are of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch
from suffice.model.tempered_loss import tempered_loss

SHRINKAGES = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
PULL = 1.0  # the weight of the row at the mean of all rows that every class has
AT_ONCE = 1024  # rows that are summed or turned at a time
JUDGES, FEWEST, ENTRIES = 4096, 1024, 1 << 16  # rows that judge a shrinkage: fewer if there are many classes
FEW_CLASSES = 32  # up to which sums of classes are a product of matrices
LEAST_SPREAD = 1e-13  # of the largest eigenvalue: less is rounding
LEAST_LEFT = 1e-12  # share of a determinant that remains without a row; less is rounding

Single: TypeAlias = NDArray[np.float32]
FittedRows: TypeAlias = tuple[Batch, Codes, Array]  # the rows that an expert was fitted on, their classes and weights


def _blocks(rows: int) -> list[slice]:
    """Return fixed blocks of rows: any number of threads gives the same sums."""
    return [slice(lo, min(lo + AT_ONCE, rows)) for lo in range(0, rows, AT_ONCE)]


@dataclass(frozen=True, eq=False)
class RidgeScatter:
    """The mean of all rows, class means relative to it, weights κ, and the scatter W."""

    origin: Array
    mean: Array
    weight: Array
    scatter: Array

    @classmethod
    def of(cls, x: Array | Single, codes: Codes, weight: Array, classes: int) -> RidgeScatter:
        """Sum rows of features, (rows, features), which are overwritten by x − m of their class."""
        n: Array = np.asarray(np.bincount(codes, weights=weight, minlength=classes), np.float64)
        blocks, unit = _blocks(len(codes)), float(weight.max())
        share = (weight / unit).astype(x.dtype)  # which float32 can hold

        def sums_of(rows: slice) -> Array:
            return class_sums(x[rows], codes[rows], share[rows], classes)

        sums: Array = np.zeros((classes, x.shape[1]))
        for part in in_threads(sums_of, blocks, x.size):
            sums += part
        sums *= unit
        origin = sums.sum(axis=0) / n.sum()
        kappa = n + PULL
        mean = (sums - n[:, None] * origin) / kappa[:, None]
        centre, root, even = (mean + origin).astype(x.dtype), np.sqrt(share)[:, None], bool((share == 1.0).all())

        def products_of(rows: slice) -> Array:
            own = x[rows]
            own -= centre[codes[rows]]
            heavy = own if even else own * root[rows]
            return np.asarray(heavy.T @ heavy)

        scatter: Array = np.zeros((x.shape[1],) * 2)
        for part in in_threads(products_of, blocks, x.size):
            scatter += part
        scatter *= unit
        scatter += PULL * mean.T @ mean
        return cls(origin, mean, kappa, scatter)

    def ridge(self, shrinkage: float) -> float:
        """Return ρ."""
        return float(shrinkage * np.trace(self.scatter) / len(self.scatter))

    def fit(
        self, own: Array | Single, codes: Codes, weight: Array, log_prior: Array
    ) -> tuple[float, tuple[Array, Array], Array]:
        """Choose λ; return it, coefficients and intercepts, and the evidence of each row without it, (rows, classes).

        `own` is x − m_y of the rows. λ has the least log-loss of evidence of some rows that are left out, with an
        exponent for each λ. Kept rows come in the order of their hashes, so the first are a random sample.
        """
        axes = Axes.of(self, own, weight)
        judges = slice(int(np.clip(ENTRIES // len(self.mean), FEWEST, JUDGES)))
        prior = log_prior[judges] if log_prior.ndim == 2 else log_prior
        rows = codes[judges], weight[judges]
        best, exponent, found = np.inf, 1.0, (SHRINKAGES[0], np.empty(0))
        for shrinkage, evidence in zip(SHRINKAGES, axes.left_out(own[judges], *rows, SHRINKAGES), strict=True):
            loss, exponent = tempered_loss(evidence, prior, *rows, exponent)
            if loss < best:
                best, found = loss, (shrinkage, evidence)
        shrinkage, left_out = found
        if len(codes) > len(left_out):
            rest = slice(len(left_out), None)
            others = axes.left_out(own[rest], codes[rest], weight[rest], [shrinkage])
            left_out = np.concatenate([left_out, *others])
        return shrinkage, axes.linear(shrinkage), left_out

    @classmethod
    def left_out_of(
        cls,
        matrix: Callable[[Batch], Array | Single],
        shrinkage: float,
        rows: FittedRows,
        fitted: FittedRows,
        classes: int,
    ) -> Array:
        """Compute the evidence of `rows` among those that an expert was `fitted` on, each without it, (rows, classes).

        `matrix` computes features of rows.
        """
        known = matrix(fitted[0])
        scatter = cls.of(known, *fitted[1:], classes)
        batch, codes, weight = rows
        own = matrix(batch)
        own = np.subtract(own, (scatter.mean + scatter.origin).astype(own.dtype)[codes])
        (found,) = Axes.of(scatter, known, fitted[2]).left_out(own, codes, weight, [shrinkage])
        return found


@dataclass(frozen=True, eq=False)
class Axes:
    """The eigenvalues of W and its axes, (features, axes), and the class means along them, (classes, axes)."""

    of_rows: RidgeScatter
    values: Array
    basis: Array
    mean: Array

    @classmethod
    def of(cls, scatter: RidgeScatter, own: Array | Single, weight: Array) -> Axes:
        """Find the axes of the scatter of rows; of few rows only those along which they vary, which is faster.

        W = Bᵀ B with a row of B for each row and class; rows of weight and class means lie in what these span.
        """
        if len(own) + len(scatter.mean) >= len(scatter.scatter) or not (weight > 0).all():
            values, basis = np.linalg.eigh(scatter.scatter)
            return cls(scatter, np.maximum(values, 0.0), basis, scatter.mean @ basis)
        root = np.concatenate([own * np.sqrt(weight)[:, None], np.sqrt(PULL) * scatter.mean])
        values, turned = np.linalg.eigh(root @ root.T)
        some = values > LEAST_SPREAD * values[-1]
        values = values[some]
        basis = root.T @ (turned[:, some] / np.sqrt(values))
        return cls(scatter, values, basis, scatter.mean @ basis)

    def _inverse(self, shrinkages: Sequence[float]) -> Array:
        """Return the inverse eigenvalues of M for each λ, (λ, axes)."""
        ridges = np.array([self.of_rows.ridge(each) for each in shrinkages])
        return np.asarray(1.0 / (self.values + ridges[:, None]))

    def linear(self, shrinkage: float) -> tuple[Array, Array]:
        """Return coef (classes, features) and intercept (classes,) of features as they are; each sums to 0."""
        of = self.of_rows
        coef = of.weight.sum() * (self.mean * self._inverse([shrinkage])) @ self.basis.T
        intercept = -0.5 * np.einsum("ij,ij->i", coef, of.mean) - coef @ of.origin
        return coef - coef.mean(axis=0), intercept - intercept.mean()

    def left_out(self, own: Array | Single, codes: Codes, weight: Array, shrinkages: Sequence[float]) -> list[Array]:
        """Compute the evidence of each row without min(weight, 1) of it, (rows, classes), for each λ.

        `own` is x − m_y.
        """
        inverse = self._inverse(shrinkages)
        solved = self.mean * inverse[:, None]  # (λ, classes, axes)
        unit = self.of_rows.ridge(1.0) or 1.0  # of M, so that float32 can hold its inverse
        basis, by_axis = self.basis.astype(own.dtype), (unit * inverse.T).astype(own.dtype)
        means = (unit * solved.reshape(-1, solved.shape[2]).T).astype(own.dtype)

        def along(rows: slice) -> tuple[Array, Array]:
            turned = np.matmul(own[rows], basis)
            across = turned @ means
            turned *= turned
            return turned @ by_axis, across

        blocks = _blocks(len(codes))
        found = in_threads(along, blocks, own.size)
        h = np.concatenate([np.zeros((0, len(inverse))), *(part[0] for part in found)]).T / unit
        across = np.concatenate([np.zeros((0, means.shape[1])), *(part[1] for part in found)]).T / unit
        across = across.reshape(*solved.shape[:2], len(codes))
        return [self._left_out(h[i], across[i], self.mean @ solved[i].T, codes, weight) for i in range(len(shrinkages))]

    def _left_out(self, h: Array, across: Array, between: Array, codes: Codes, weight: Array) -> Array:
        """Compute evidence from h = dᵀ M⁻¹ d, across (classes, rows) = m_kᵀ M⁻¹ d, and between = m_jᵀ M⁻¹ m_k."""
        rows, kappa = np.arange(len(codes)), self.of_rows.weight[codes]
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
        distance *= -0.5 * (self.of_rows.weight.sum() - u)
        return distance.T


def class_sums(x: Array | Single, codes: Codes, weight: NDArray[Any], classes: int) -> Array:
    """Compute Σ w x of each class, (classes, features)."""
    if classes > FEW_CLASSES:
        return np.stack([np.bincount(codes, weights=weight * row, minlength=classes) for row in x.T], axis=1)
    indicator = np.zeros((classes, len(codes)), x.dtype)
    indicator[codes, np.arange(len(codes))] = weight
    return np.asarray(indicator @ x)


def can_learn(codes: Codes, weight: Array, size: int) -> bool:
    """Return whether there are features, and rows of at least two classes."""
    return size > 0 and len(np.unique(codes[weight > 0])) > 1
