"""Class means and the scatter within classes: what linear discriminants, and those without a row, follow from.

Class means are drawn to the mean o of all rows by one row there, so that a class without rows has a mean too. With the
mean c_k of the n_k rows of class k, κ_k = n_k + 1, and all x relative to o,

    m_k = n_k c_k / κ_k,   W = Σ_k Σ w (x − c_k)(x − c_k)ᵀ,   M = W + ρ I,   ρ = λ (tr(W) + Σ_k |m_k|²) / p,
    E_k(x) = κ ( m_kᵀ M⁻¹ x − ½ m_kᵀ M⁻¹ m_k ),   κ = Σ_k κ_k.

Without a part u of the weight of row x of class y, with d = x − c_y, n_y falls by u, c_y moves to x − n_y/(n_y − u) d,
o moves to x − n/(n − u) (x − o), and M becomes M − a d dᵀ, a = n_y u / (n_y − u). Its inverse follows by the formula of
Sherman and Morrison, so a row costs as much as one prediction. That o moves is no detail: if there are fewer rows than
features, o and the other rows tell where the row is. Only ρ stays as it is.
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
PULL = 1.0  # the weight of the row at the mean of all rows that draws the mean of every class
SUMMED, TURNED = (256, 1024), 256  # rows that are summed, fewest and most, or turned at a time
JUDGES, FEWEST, ENTRIES = 4096, 1024, 1 << 16  # rows that judge a shrinkage: fewer if there are many classes
FEW_CLASSES = 32  # up to which sums of classes are a product of matrices
LEAST_SPREAD = 1e-10  # of the largest eigenvalue: less is rounding
LEAST_LEFT = 1e-12  # share of a determinant that remains without a row; less is rounding

Single: TypeAlias = NDArray[np.float32]
FittedRows: TypeAlias = tuple[Batch, Codes, Array]  # the rows that an expert was fitted on, their classes and weights


def _blocks(rows: int, size: int) -> list[slice]:
    """Return fixed blocks of rows: any number of threads gives the same sums."""
    return [slice(lo, min(lo + size, rows)) for lo in range(0, rows, size)]


@dataclass(frozen=True, eq=False)
class RidgeScatter:
    """The mean of all rows, the means c of classes relative to it, their weights n, and the scatter W."""

    origin: Array
    mean: Array
    weight: Array
    scatter: Array

    @classmethod
    def of(cls, x: Array | Single, codes: Codes, weight: Array, classes: int) -> RidgeScatter:
        """Sum rows of features, (rows, features), which are overwritten by x − c of their class."""
        n: Array = np.asarray(np.bincount(codes, weights=weight, minlength=classes), np.float64)
        blocks = _blocks(len(codes), int(np.clip(len(codes) // 4, *SUMMED)))
        unit = float(weight.max())
        share = (weight / unit).astype(x.dtype)  # which float32 can hold

        def sums_of(rows: slice) -> Array:
            return class_sums(x[rows], codes[rows], share[rows], classes)

        sums: Array = np.zeros((classes, x.shape[1]))
        for part in in_threads(sums_of, blocks, x.size):
            sums += part
        sums *= unit
        origin = sums.sum(axis=0) / n.sum()
        mean = (sums - n[:, None] * origin) / np.where(n > 0, n, 1.0)[:, None]
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
        return cls(origin, mean, n, scatter)

    def ridge(self, shrinkage: float) -> float:
        """Return ρ."""
        apart = PULL * np.square(self.drawn).sum()  # so that it is above 0 where classes have one row each
        return float(shrinkage * (np.trace(self.scatter) + apart) / len(self.scatter))

    @property
    def drawn(self) -> Array:
        """The class means m, drawn to the mean of all rows."""
        return self.share[:, None] * self.mean

    @property
    def share(self) -> Array:
        """The share n / κ of its rows in the mean m of each class."""
        return np.asarray(self.weight / (self.weight + PULL))

    def fit(
        self,
        own: Array | Single,
        codes: Codes,
        weight: Array,
        unit: Array,
        log_prior: Array,
        shrinkages: Sequence[float] = SHRINKAGES,
    ) -> tuple[float, tuple[Array, Array], Array]:
        """Choose λ; return it, coefficients and intercepts, and the evidence of each row without it, (rows, classes).

        `own` is x − c_y of the rows, and `unit` their weight that is left out. λ has the least log-loss of evidence of
        some rows that are left out, with an exponent for each λ. Kept rows come in the order of their hashes, so the
        first are a random sample. Only rows of which `log_prior` is are left out.
        """
        axes = Axes.of(self, own, weight)
        n = len(log_prior) if log_prior.ndim == 2 else len(codes)
        judges = slice(min(n, int(np.clip(ENTRIES // len(self.mean), FEWEST, JUDGES))))
        prior = log_prior[judges] if log_prior.ndim == 2 else log_prior
        best, exponent, found = np.inf, 1.0, (shrinkages[0], np.empty(0))
        tried = axes.left_out(own[judges], codes[judges], unit[judges], shrinkages)
        for shrinkage, evidence in zip(shrinkages, tried, strict=True):
            loss, exponent = tempered_loss(evidence, prior, codes[judges], weight[judges], exponent)
            if loss < best:
                best, found = loss, (shrinkage, evidence)
        shrinkage, left_out = found
        if n > len(left_out):
            rest = slice(len(left_out), n)
            others = axes.left_out(own[rest], codes[rest], unit[rest], [shrinkage])
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

        `matrix` computes features of rows. The weights of `rows` are left out.
        """
        known = matrix(fitted[0])
        scatter = cls.of(known, *fitted[1:], classes)
        batch, codes, unit = rows
        own = matrix(batch)
        own = np.subtract(own, (scatter.mean + scatter.origin).astype(own.dtype)[codes])
        (found,) = Axes.of(scatter, known, fitted[2]).left_out(own, codes, unit, [shrinkage])
        return found


@dataclass(frozen=True, eq=False)
class Axes:
    """The eigenvalues of W and its axes, (features, axes), and the class means along them, (classes, axes).

    `outside`, (classes, features), is what is left of the means where rows of a class do not vary.
    """

    of_rows: RidgeScatter
    values: Array
    basis: Array
    mean: Array
    outside: Array

    @classmethod
    def of(cls, scatter: RidgeScatter, own: Array | Single, weight: Array) -> Axes:
        """Find the axes of the scatter of rows; of few rows only those along which they vary, which is faster.

        W = Bᵀ B with a row of B for each row, and x − c of rows of weight lies in what these span.
        """
        if len(own) >= len(scatter.scatter) or not (weight > 0).all():
            values, basis = np.linalg.eigh(scatter.scatter)
            mean = scatter.mean @ basis
            return cls(scatter, np.maximum(values, 0.0), basis, mean, np.zeros((len(mean), 0)))
        root = np.asarray(own, np.float64) * np.sqrt(weight)[:, None]
        values, turned = np.linalg.eigh(root @ root.T)
        some = values > LEAST_SPREAD * values[-1]
        values = values[some]
        basis = root.T @ (turned[:, some] / np.sqrt(values))
        mean = scatter.mean @ basis
        return cls(scatter, values, basis, mean, scatter.mean - mean @ basis.T)

    def _inverse(self, shrinkages: Sequence[float]) -> Array:
        """Return the inverse eigenvalues of M for each λ, (λ, axes)."""
        ridges = np.array([self.of_rows.ridge(each) for each in shrinkages])
        return np.asarray(1.0 / (self.values + ridges[:, None]))

    def linear(self, shrinkage: float) -> tuple[Array, Array]:
        """Return coef (classes, features) and intercept (classes,) of features as they are; each sums to 0."""
        of = self.of_rows
        drawn, share = of.drawn, of.share[:, None]
        coef = (share * self.mean * self._inverse([shrinkage])) @ self.basis.T
        if self.outside.size:
            coef += share * self.outside / of.ridge(shrinkage)
        coef *= (of.weight + PULL).sum()
        intercept = -0.5 * np.einsum("ij,ij->i", coef, drawn) - coef @ of.origin
        return coef - coef.mean(axis=0), intercept - intercept.mean()

    def left_out(self, own: Array | Single, codes: Codes, unit: Array, shrinkages: Sequence[float]) -> list[Array]:
        """Compute the evidence of each row without `unit` of its weight, (rows, classes), for each λ.

        `own` is x − c_y.
        """
        if self.outside.size:  # little remains without one of few rows: too little for float32
            own = np.asarray(own, np.float64)
        inverse = self._inverse(shrinkages)
        solved = self.mean * inverse[:, None]  # (λ, classes, axes)
        scale = self.of_rows.ridge(1.0) or 1.0  # of M, so that float32 can hold its inverse
        basis, by_axis = self.basis.astype(own.dtype), (scale * inverse.T).astype(own.dtype)
        means = (scale * solved.reshape(-1, solved.shape[2]).T).astype(own.dtype)

        def along(rows: slice) -> tuple[Array, Array]:
            turned = np.matmul(own[rows], basis)
            across = turned @ means
            turned *= turned
            return turned @ by_axis, across

        blocks = _blocks(len(codes), TURNED)
        found = in_threads(along, blocks, own.size)
        h = np.concatenate([np.zeros((0, len(inverse))), *(part[0] for part in found)]).T / scale
        across = np.concatenate([np.zeros((0, means.shape[1])), *(part[1] for part in found)]).T / scale
        across = across.reshape(*solved.shape[:2], len(codes))
        outside = self.outside @ self.outside.T

        def evidence(i: int) -> Array:
            between = self.mean @ solved[i].T + outside / self.of_rows.ridge(shrinkages[i])
            return self._left_out(h[i], across[i], between, codes, unit)

        return in_threads(evidence, range(len(shrinkages)), across.size)

    def _left_out(self, h: Array, across: Array, between: Array, codes: Codes, unit: Array) -> Array:
        """Compute evidence from h = dᵀ M⁻¹ d, across (classes, rows) = c_kᵀ M⁻¹ d, and between = c_jᵀ M⁻¹ c_k.

        x − m_k is a (x − c_k) + b (x − o), all without the row.
        """
        n, share = self.of_rows.weight, self.of_rows.share
        rows, own, kappa, total = np.arange(len(codes)), n[codes], n + PULL, n.sum()
        u = np.minimum(unit, own)
        rest = own - u
        fall = np.divide(own * u, rest, out=np.zeros(len(codes)), where=rest > 0)
        weigh = fall / np.maximum(1.0 - fall * h, LEAST_LEFT)
        level, middle = between.diagonal(), across[codes, rows]
        to_mean = middle - across  # of x − c_k by d, and of x − o, less h
        to_origin = h + middle
        moved = to_origin + (level[codes] - between[:, codes]) + to_mean  # (x − c_k)ᵀ M⁻¹ (x − o)
        apart = (level[:, None] + level - 2.0 * between)[:, codes]
        distance = h + 2.0 * to_mean + apart  # (x − c_k)ᵀ M⁻¹ (x − c_k)
        to_mean += h
        moved += weigh * to_origin * to_mean
        distance += weigh * to_mean**2
        outer = to_origin + middle + level[codes] + weigh * to_origin**2  # (x − o)ᵀ M⁻¹ (x − o)
        a = np.repeat(share[:, None], len(codes), axis=1)
        b = PULL / kappa[:, None] * (total / np.maximum(total - u, LEAST_LEFT * total))
        a[codes, rows] = own / (rest + PULL)
        b[codes, rows] *= kappa[codes] / (rest + PULL)
        distance = a * (a * distance + 2.0 * b * moved) + b * b * outer
        distance -= distance.mean(axis=0)
        distance *= -0.5 * (kappa.sum() - u)
        return np.asarray(distance.T)


def shrinkages_near(shrinkage: float) -> tuple[float, ...]:
    """Return the shrinkages that are next to one, and itself."""
    at = int(np.argmin(np.abs(np.log(SHRINKAGES) - np.log(shrinkage))))
    return SHRINKAGES[max(at - 1, 0) : at + 2]


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
