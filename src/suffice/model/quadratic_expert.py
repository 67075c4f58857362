"""Gaussians of standard scores with a covariance for each class, whose parameters are integrated out, as an expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Positions
from suffice.core.errors import MismatchError
from suffice.core.special import log_rising
from suffice.core.statistics import Batch
from suffice.core.validation import Held
from suffice.families.covariance import LOG_2PI
from suffice.formulas import (
    Below,
    Column,
    Formula,
    Log1p,
    Square,
    Term,
    Where,
    as_formula,
    to_json,
    total,
    unless_missing,
)
from suffice.model.features import FARTHEST, Features, NumberFeatures
from suffice.model.ridge_scatter import LEAST_LEFT, PULL, FittedRows, can_learn, class_sums
from suffice.model.storage import storable
from suffice.model.tempered_loss import tempered_loss

STRENGTHS = (1.0, 3.0, 10.0)  # of the prior, in rows for each column
MOST_COLUMNS = 60
SPHERE = 1e-6  # variance that is added to the pooled covariance, so that it can be inverted


@dataclass(frozen=True, eq=False)
class ClassScatters:
    """The weight κ (classes,), mean and scatter of each class, and the pooled covariance Σ₀ that priors are centred on.

    A row of weight 1 at the mean of all rows, which scores have at 0, is a further row of every class.
    """

    weight: Array
    mean: Array
    cross: Array
    pooled: Array

    @classmethod
    def of(cls, z: Array, codes: Codes, weight: Array, classes: int) -> ClassScatters:
        """Sum rows of scores, (rows, columns)."""
        kappa = np.asarray(np.bincount(codes, weights=weight, minlength=classes) + PULL, np.float64)
        mean = class_sums(z, codes, weight, classes) / kappa[:, None]
        heavy = (z - mean[codes]) * np.sqrt(weight)[:, None]
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=classes))
        cross = np.stack([part.T @ part for part in np.split(heavy[order], ends[:-1])])
        cross += PULL * mean[:, :, None] * mean[:, None, :]
        pooled = cross.sum(axis=0) / kappa.sum() + SPHERE * np.eye(z.shape[1])
        return cls(kappa, mean, cross, pooled)

    def whitening(self, strength: float) -> Array:
        """Compute L⁻¹ of Λ = L Lᵀ for each class, (classes, columns, columns)."""
        from scipy.linalg.lapack import dtrtri

        factors = np.linalg.cholesky(self.cross + strength * self.pooled)
        return np.stack([np.tril(dtrtri(factor, lower=1)[0]) for factor in factors])


@storable
@dataclass(frozen=True, eq=False)
class QuadraticExpert:
    """The predictive density of a Gaussian for each class, Student's t, of the standard scores z of numbers.

    The prior is normal-inverse-Wishart: `strength` m₀ rows of the pooled covariance Σ₀, and one row at the mean of all.
    With κ = n_k + 1 (`weight`), ν = n_k + m₀ and Λ = S_k + m₀ Σ₀, of which `whitening` is L⁻¹ of Λ = L Lᵀ,

        E_k = log Γ((ν + 1) / 2) / Γ((ν + 1 − p) / 2) − ½ log |Λ| − ½ p log c − ½ (ν + 1) log(1 + q / c),
        q = (z − m_k)ᵀ Λ⁻¹ (z − m_k),   c = (κ + 1) / κ.

    Σ₀ is the sum of all S_k over κ = Σ κ_k. Without a part u of the weight of a row of class y, with d = z − m_y, κ_y
    and the ν of y fall by u, S_y by κ_y u / (κ_y − u) d dᵀ, and so does the sum that Σ₀ is of: the prior of every class
    holds the row, and few rows of many columns would seem far too well known with it. So all Λ lose a multiple of the
    same d dᵀ, and leaving a row out is exact, with m₀ / κ as it is. m₀ is chosen by that.
    """

    features: Features
    mean: Annotated[Array, Held("classes", "columns")]
    whitening: Annotated[Array, Held("classes", "columns", "columns")]
    weight: Annotated[Array, Held("classes", above=0)]
    strength: Annotated[float, Held(above=0)]

    title: ClassVar[str] = "quadratic"

    @classmethod
    def fit(
        cls, features: Features, batch: Batch, codes: Codes, weight: Array, unit: Array, classes: int, log_prior: Array
    ) -> tuple[QuadraticExpert, Array] | None:
        """Fit on rows, and return the evidence of each without it too, (rows, classes).

        Return None if there are fewer than two columns of numbers. Of more than 60 those are taken whose class means
        differ most.
        """
        features = numbers_of(features)
        z = features.matrix(batch)
        if features.size < 2 or not can_learn(codes, weight, features.size):
            return None
        if features.size > MOST_COLUMNS:
            best = most_apart(z, codes, weight, classes)
            features, z = features.of(best), z[:, best]
        scatters, p = ClassScatters.of(z, codes, weight, classes), features.size
        found: list[tuple[float, QuadraticExpert, Array]] = []
        first = slice(len(log_prior) if log_prior.ndim == 2 else None)  # rows that are left out
        for rows in STRENGTHS:
            strength = rows * p + 2.0
            expert = cls(features, scatters.mean, scatters.whitening(strength), scatters.weight, strength)
            left_out = expert._left_out(z[first], codes[first], unit[first])
            found.append((tempered_loss(left_out, log_prior, codes[first], weight[first])[0], expert, left_out))
        _, expert, left_out = min(found, key=lambda each: each[0])
        return expert, left_out

    def check_agreement(self) -> None:
        """Raise an error if the features are not the scores of the columns, or a matrix has no inverse."""
        p = self.mean.shape[1]
        if numbers_of(self.features).size != self.features.size or self.features.size != p:
            raise MismatchError(f"features must be the scores of {p} columns of numbers")
        if not (np.diagonal(self.whitening, axis1=1, axis2=2) > 0).all() or np.triu(self.whitening, 1).any():
            raise MismatchError("whitening must be lower triangular with a positive diagonal")
        if not self.strength > p:
            raise MismatchError(f"strength must be above the number of columns, {p}, found {self.strength}")

    def evidence(self, batch: Batch) -> Array:
        """Compute E of every row and class, (rows, classes)."""
        return self._log_density(self._distance(self.features.matrix(batch)))

    def _distance(self, z: Array) -> Array:
        """Compute q of every row and class, (rows, classes)."""
        out, incomplete = np.empty((len(z), len(self.mean))), np.zeros(len(z), dtype=bool)
        _core.multivariate_log_density(z, self.mean, self.whitening, out, incomplete)
        # The kernel adds log |L⁻¹| − ½ p log 2π to −½ q.
        return np.maximum(2.0 * (self._half_log_inverse - 0.5 * self.mean.shape[1] * LOG_2PI - out), 0.0)

    @property
    def _half_log_inverse(self) -> Array:
        """Return −½ log |Λ|, (classes,)."""
        return np.asarray(np.log(np.diagonal(self.whitening, axis1=1, axis2=2)).sum(axis=1))

    def _log_density(self, q: Array) -> Array:
        level, freedom, scale = self.terms
        return np.asarray(level - 0.5 * freedom * np.log1p(q / scale))

    @property
    def terms(self) -> tuple[Array, Array, Array]:
        """Return E where q is 0, ν + 1 and c, (classes,) each: what E is computed from, besides q."""
        return self._level, self._freedom, self._scale

    @property
    def _scale(self) -> Array:
        """Return c, (classes,)."""
        return np.asarray((self.weight + 1.0) / self.weight)

    @property
    def _freedom(self) -> Array:
        """Return ν + 1, (classes,)."""
        return np.asarray(self.weight - PULL + self.strength + 1.0)

    @property
    def _level(self) -> Array:
        """Return E where q is 0, (classes,)."""
        return _norm(self._freedom, self.mean.shape[1], self._scale) + self._half_log_inverse

    def left_out(self, batch: Batch, codes: Codes, unit: Array, fitted: FittedRows | None = None) -> Array:
        """Compute the evidence of each row under the expert without `unit` of its weight, (rows, classes).

        The rows must be some of those that the expert was fitted on. Its fields are all that is needed.
        """
        del fitted
        return self._left_out(self.features.matrix(batch), codes, unit)

    def _left_out(self, z: Array, codes: Codes, unit: Array) -> Array:
        rows, p, q = np.arange(len(codes)), z.shape[1], self._distance(z)
        kappa, known = self.weight[codes], self._distances_of_means
        u = np.minimum(unit, np.maximum(kappa - PULL, 0.0))
        fall = kappa * u / (kappa - u)
        # With Λ of each class, h = dᵀ Λ⁻¹ d and across = dᵀ Λ⁻¹ (z − m_k). Both are q, moved by the means.
        across = q + self._moved(z, codes)
        h = 2.0 * across - q + known[codes]
        lost = np.repeat(fall[:, None] * (self.strength / self.weight.sum()), len(self.mean), axis=1)
        lost[rows, codes] += fall
        left = np.maximum(1.0 - lost * h, LEAST_LEFT)
        out = self._level - 0.5 * np.log(left)
        distance = np.maximum(q + lost * across**2 / left, 0.0)
        out -= 0.5 * self._freedom * np.log1p(distance / self._scale)
        # Its own class has lost some of its weight as well, and its mean has moved.
        freedom, scale = self._freedom[codes] - u, (kappa - u + 1.0) / (kappa - u)
        level = _norm(freedom, p, scale) + (self._half_log_inverse[codes] - 0.5 * np.log(left[rows, codes]))
        apart = (kappa / (kappa - u)) ** 2 * distance[rows, codes]
        out[rows, codes] = level - 0.5 * freedom * np.log1p(apart / scale)
        return out

    @property
    def _distances_of_means(self) -> Array:
        """Return (m_k − m_y)ᵀ Λ_k⁻¹ (m_k − m_y), (classes y, classes k)."""
        each = zip(self.mean, self.whitening, strict=True)
        return np.stack([np.square((mean - self.mean) @ whitening.T).sum(axis=1) for mean, whitening in each], axis=1)

    def _moved(self, z: Array, codes: Codes) -> Array:
        """Compute (z − m_k)ᵀ Λ_k⁻¹ (m_k − m_y) of every row, of class y, and every class, (rows, classes)."""
        out = np.empty((len(z), len(self.mean)))
        for y in np.unique(codes):
            own = codes == y
            turned = np.einsum("kij,kj->ki", self.whitening, self.mean - self.mean[y], optimize=True)
            normal = np.einsum("kij,ki->kj", self.whitening, turned, optimize=True)  # Λ_k⁻¹ (m_k − m_y)
            out[own] = z[own] @ normal.T - (normal * self.mean).sum(axis=1)
        return out

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each part of `contrast`: each column, and what no column tells."""
        return (*((column.name,) for column in self.features.columns), ())

    @property
    def _spread(self) -> Array:
        """What each column gets of the level, (classes, columns)."""
        found = -0.5 * np.log(np.square(np.linalg.inv(self.whitening)).sum(axis=2))
        return np.asarray(found + (_norm(self._freedom, found.shape[1], self._scale) / found.shape[1])[:, None])

    def to_page(self) -> dict[str, Any]:
        """Return what the script of a page computes E and its parts from."""
        numbers = [column for column in self.features.columns if isinstance(column, NumberFeatures)]
        return {
            "columns": [column.name for column in numbers],
            "mean": to_json(np.array([column.mean for column in numbers])),
            "deviation": to_json(np.array([column.deviation for column in numbers])),
            "farthest": FARTHEST,
            "centre": to_json(self.mean),
            "whitening": to_json(self.whitening.reshape(len(self.mean), -1)),
            "scale": to_json(self._scale),
            "freedom": to_json(self._freedom),
            "level": to_json(self._level),
            "spread": to_json(self._spread),
        }

    def contrast(self, batch: Batch, first: Positions, second: Positions) -> Array:
        """Apportion E_first − E_second to columns, (rows, parts).

        q is a sum over columns and pairs, Σ_ij d_i Λ⁻¹_ij d_j with d = z − m. Each summand gets the share of the
        logarithm that it has in q (the value of Aumann and Shapley), and a pair's is split evenly between both columns.
        Of the level a column gets −½ log Λ_jj and an even share of the constants, and the last part the rest, which is
        of correlations. What this is for missing values is in the last part, so that columns which are missing add 0.
        """
        z = self.features.matrix(batch)
        rows, p = np.arange(batch.n), z.shape[1]
        out, missing = (
            np.zeros((batch.n, p + 1)),
            np.stack([c.is_missing(batch) for c in self.features.columns], axis=1),
        )
        spread = self._spread
        for sign, codes in ((1.0, first), (-1.0, second)):
            for k in np.unique(codes):
                own = rows[codes == k]
                d = z[own] - self.mean[k]
                each = d * ((d @ self.whitening[k].T) @ self.whitening[k])
                q = each.sum(axis=1)
                log = np.log1p(np.maximum(q, 0.0) / self._scale[k])
                slope = np.divide(log, q, out=np.full(len(q), 1.0 / self._scale[k]), where=q > 0)
                out[own, :p] += sign * (spread[k] - 0.5 * self._freedom[k] * slope[:, None] * each)
                out[own, p] += sign * (self._level[k] - spread[k].sum())
        out[:, p] += np.where(missing, out[:, :p], 0.0).sum(axis=1)
        out[:, :p][missing] = 0.0
        return out

    def formula(self, names: Sequence[str] = ()) -> list[Term]:  # noqa: ARG002  # features know their names
        """Return one term of all columns: E with q as a sum of squares."""
        columns = self.features.columns
        scores = [_score(column) for column in columns if isinstance(column, NumberFeatures)]
        squares = []
        for i in range(len(scores)):
            coef = self.whitening[:, i, : i + 1]
            terms = [coef[:, j] * scores[j] for j in range(i + 1)]
            squares.append(Square(total(terms) - (coef * self.mean[:, : i + 1]).sum(axis=1)))
        formula = self._level - 0.5 * self._freedom * Log1p(total(squares) / self._scale)
        shown = tuple(dict.fromkeys(column.name for column in columns))
        return [Term(", ".join(shown), shown, formula)]


def numbers_of(features: Features) -> Features:
    """Keep the scores of numbers, but not of whether an entry is missing."""
    columns = features.only("scores").columns
    return Features(tuple(c for c in columns if isinstance(c, NumberFeatures) and not c.missing))


def most_apart(z: Array, codes: Codes, weight: Array, classes: int) -> NDArray[np.intp]:
    """Return the columns that have the largest share of their squares between classes, in ascending order."""
    n = np.bincount(codes, weights=weight, minlength=classes) + PULL
    between = (class_sums(z, codes, weight, classes) ** 2 / n[:, None]).sum(axis=0)
    share = between / np.maximum(weight @ z**2, np.finfo(np.float64).tiny)
    return np.sort(np.argsort(-share, kind="stable")[:MOST_COLUMNS])


def _norm(freedom: Array, p: int, scale: Array) -> Array:
    """Compute log Γ(freedom / 2) / Γ((freedom − p) / 2) − ½ p log scale."""
    return np.asarray(log_rising((freedom - p) / 2.0, p / 2.0) - 0.5 * p * np.log(scale))


def _score(column: NumberFeatures) -> Formula:
    """Return the standard score of a column as a formula; 0 where it is missing."""
    x, reach = Column(column.name), FARTHEST * column.deviation
    inner = Where(Below(x, column.mean + reach), (x - column.mean) / column.deviation, as_formula(FARTHEST))
    return unless_missing(column.name, Where(Below(x, column.mean - reach), as_formula(-FARTHEST), inner))
