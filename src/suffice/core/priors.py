"""Conjugate priors of parameters.

A statistic updates each prior to a posterior of the same class, whose mean and mode are point estimates. The
parameters are numbers, or arrays that broadcast against (classes, columns).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidOptionError
from suffice.core.frozen_options import Options
from suffice.core.statistics import Moments, Scatter, Totals
from suffice.core.statistics.statistic import clear_residue
from suffice.core.validation import Held

Learn: TypeAlias = Literal["mle", "map", "mean", "predictive"]
Number: TypeAlias = float | Array
Finite: TypeAlias = Annotated[Number, Held(given=True)]  # a number, or several as an array or list
NotNegative: TypeAlias = Annotated[Number, Held(given=True, least=0)]


@dataclass(frozen=True, eq=False)
class Beta(Options):
    """Prior of a probability θ:  p(θ) ∝ θ^(a−1) (1−θ)^(b−1). Beta(1, 1) is flat; its posterior mean is Laplace's rule.

    >>> Beta(1, 1).update(Totals(np.array([[3.0]]), np.array([[2.0]]))).mean()
    array([[0.6]])
    """

    a: NotNegative = 1.0
    b: NotNegative = 1.0

    def update(self, totals: Totals) -> Beta:
        """Add successes Σ x to a and failures Σ (1 − x) to b."""
        failures = clear_residue(np.asarray(totals.weight - totals.total), totals.weight)
        failures += self.b
        return self._made(self.a + totals.total, failures)

    def mean(self) -> Array:
        """The mean a / (a + b); ½ where both are 0."""
        return self.means()[0]

    def means(self) -> tuple[Array, Array]:
        """The means of θ and of 1 − θ; the second keeps all its digits where θ is near 1."""
        total = self.a + self.b
        return _ratio(self.a, total, 0.5), _ratio(self.b, total, 0.5)

    def modes(self) -> tuple[Array, Array]:
        """The modes of θ and of 1 − θ."""
        return self.mode(), self._made(self.b, self.a).mode()

    def mode(self) -> Array:
        """(a − 1) / (a + b − 2); 0 or 1 where the peak is at that end; the mean where there is no single peak."""
        up, down = np.maximum(np.asarray(self.a) - 1.0, 0.0), np.maximum(np.asarray(self.b) - 1.0, 0.0)
        return _ratio(up, up + down, self.mean())


def sum_outcomes(counts: Array) -> Array:
    """Sum over the last axis, which is kept with length 1."""
    return counts.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Dirichlet(Options):
    """Prior of probabilities that sum to 1:  p(θ) ∝ Π θ_j^(α_j − 1), with one α for all outcomes or one for each.

    >>> Dirichlet(1).mean(np.array([2.0, 0.0]))
    array([0.75, 0.25])
    """

    alpha: NotNegative = 1.0

    def mean(self, counts: Array, total: Callable[[Array], Array] = sum_outcomes) -> Array:
        """(n_j + α_j) / Σ (n + α), where `total` sums over outcomes that exclude each other."""
        updated = counts + self.alpha
        return _ratio(updated, total(updated), 0.0)

    def mode(self, counts: Array, total: Callable[[Array], Array] = sum_outcomes) -> Array:
        """(n_j + α_j − 1) / Σ (n + α − 1); 0 where n_j + α_j < 1; the mean if that holds for all outcomes."""
        peak = np.maximum(counts + (np.asarray(self.alpha) - 1.0), 0.0)
        norm = np.broadcast_to(total(peak), peak.shape)
        return np.where(norm > 0, _ratio(peak, norm, 0.0), self.mean(counts, total))


@dataclass(frozen=True, eq=False)
class Gamma(Options):
    """Prior of a rate λ:  p(λ) ∝ λ^(shape−1) e^(−rate·λ), as if `shape` events had been seen in `rate` rows (or time).

    With `rate=None`, `Exponential` uses `shape` times the mean of all classes together.

    >>> Gamma(1, 1).update(Totals(np.array([[3.0]]), np.array([[7.0]]))).mean()
    array([[2.]])
    """

    shape: NotNegative = 1.0
    rate: NotNegative | None = 1.0

    def update(self, totals: Totals) -> Gamma:
        """Add the events Σ x to the shape and the weight of the rows to the rate."""
        return self._made(self.shape + totals.total, _known(self.rate) + totals.weight)

    def mean(self) -> Array:
        """Shape / rate; 0 where the rate is 0."""
        return _ratio(self.shape, _known(self.rate), 0.0)

    def mode(self) -> Array:
        """(shape − 1) / rate, or 0 where shape ≤ 1."""
        return _ratio(np.maximum(self.shape - 1.0, 0.0), _known(self.rate), 0.0)


@dataclass(frozen=True, eq=False)
class NormalInverseGamma(Options):
    """Prior of a mean and a variance:  σ² ~ InverseGamma(shape, scale),  μ | σ² ~ N(mean, σ²/strength).

    `mean` and `scale` may be left out. They are then taken from all classes together: the pooled mean, and half the
    variance within classes, which makes that variance the expected one if the shape is 3/2. The default has little
    weight: its mean counts as a hundredth of a row, its variance as one row.
    """

    mean: Finite | None = None
    strength: NotNegative = 0.01
    shape: NotNegative = 1.5
    scale: NotNegative | None = None

    def centred(self, moments: Moments) -> NormalInverseGamma:
        """Fill in parameters that were left out, from all classes together."""
        if self.mean is not None and self.scale is not None:
            return self
        pooled = moments.pooled()
        within = moments.squares.sum(axis=-2, keepdims=True)
        variance = _typical_variance(within, pooled.squares, pooled.weight, pooled.mean)
        return self._made(
            pooled.mean if self.mean is None else self.mean,
            self.strength,
            self.shape,
            0.5 * variance if self.scale is None else self.scale,
        )

    def update(self, moments: Moments, shared: bool = False) -> NormalInverseGamma:
        """Add the rows of the moments; with `shared`, all classes have one variance but each its own mean."""
        prior = self.centred(moments)
        mean, scale = _known(prior.mean), _known(prior.scale)
        strength = np.asarray(prior.strength + moments.weight)
        pull = _ratio(moments.weight, strength, 0.0)
        off = moments.mean - mean
        grown = 0.5 * (moments.squares + prior.strength * pull * off * off)
        weight = moments.weight
        if shared:
            grown = grown.sum(axis=-2, keepdims=True)
            weight = weight.sum(axis=-2, keepdims=True)
        centre = _pulled(moments.mean, mean, pull, _ratio(prior.strength, strength, 1.0))
        return self._made(centre, strength, prior.shape + 0.5 * weight, scale + grown)

    def variance_mean(self) -> Array:
        """E σ² = scale / (shape − 1)."""
        if np.any(np.asarray(self.shape) <= 1.0):
            raise InvalidOptionError(
                "The posterior mean of the variance does not exist where 2·shape + rows ≤ 2: give the prior a "
                "shape above 1, or learn the mode ('map') or the 'predictive'"
            )
        return np.asarray(_known(self.scale) / (self.shape - 1.0))

    def variance_mode(self, means: int = 1) -> Array:
        """The variance at the joint mode with this many means: scale / (shape + 1 + means/2)."""
        return np.asarray(_known(self.scale) / (self.shape + 1.0 + 0.5 * means))


@dataclass(frozen=True, eq=False)
class NormalInverseWishart(Options):
    """Prior of a mean and a covariance:  Σ ~ InverseWishart(scale, freedom),  μ | Σ ~ N(mean, Σ/strength).

    `mean`, `freedom` and `scale` may be left out. They are then the pooled mean of all classes, columns + 2, and the
    variances within classes, which makes these the expected covariance with that freedom. The default has little
    weight: its mean counts as a hundredth of a row.

    >>> NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2)).covariance_mean()
    array([[1., 0.],
           [0., 1.]])
    """

    mean: Finite | None = None
    strength: NotNegative = 0.01
    freedom: NotNegative | None = None
    scale: Finite | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None:
            scale = np.asarray(self.scale, dtype=np.float64)
            square = scale.ndim == 2 and scale.shape[0] == scale.shape[1]
            if not square or not np.allclose(scale, scale.T) or np.linalg.eigvalsh(scale).min() < 0:
                raise InvalidOptionError(
                    "NormalInverseWishart needs a symmetric scale matrix with no eigenvalue below 0"
                )

    def height(self) -> int | None:
        """Return None, for any number of classes: `scale` is (columns, columns)."""
        return None

    def centred(self, scatter: Scatter) -> NormalInverseWishart:
        """Fill in parameters that were left out, from all classes together."""
        pooled, d = scatter.pooled(), scatter.n_columns
        within = np.diagonal(scatter.cross.sum(axis=0))
        variance = _typical_variance(within, np.diagonal(pooled.cross[0]), pooled.weight[0], pooled.mean[0])
        freedom = d + 2.0 if self.freedom is None else self.freedom
        if np.any(np.asarray(freedom) <= d - 1):
            raise InvalidOptionError(
                f"NormalInverseWishart over {d} columns needs a freedom above {d - 1}, found {freedom}"
            )
        return self._made(
            pooled.mean[0] if self.mean is None else np.asarray(self.mean, dtype=np.float64),
            self.strength,
            freedom,
            np.diag(variance) if self.scale is None else np.asarray(self.scale),
        )

    def update(self, scatter: Scatter, tied: bool = False) -> NormalInverseWishart:
        """Add the rows of the scatter; with `tied`, all classes have one covariance but each its own mean."""
        prior = self.centred(scatter)
        mean, scale = _known(prior.mean), _known(prior.scale)
        strength = np.asarray(prior.strength + scatter.weight)
        pull = _ratio(scatter.weight, strength, 0.0)
        off = scatter.mean - mean
        between = (prior.strength * pull)[:, None, None] * off[:, :, None] * off[:, None, :]
        grown, weight = scatter.cross + between, scatter.weight
        if tied:
            grown, weight = grown.sum(axis=0, keepdims=True), weight.sum(keepdims=True)
        centre = _pulled(scatter.mean, mean, pull[:, None], _ratio(prior.strength, strength, 1.0)[:, None])
        return self._made(centre, strength, _known(prior.freedom) + weight, scale + grown)

    def covariance_mean(self) -> Array:
        """E Σ = scale / (freedom − columns − 1)."""
        scale = _known(self.scale)
        norm = np.asarray(_known(self.freedom) - scale.shape[-1] - 1.0)
        if (norm <= 0).any():
            raise InvalidOptionError(
                "The posterior mean of the covariance does not exist where freedom + rows ≤ columns + 1: give the "
                "prior more freedom, or learn the mode ('map') or the 'predictive'"
            )
        return np.asarray(scale / norm[..., None, None])

    def covariance_mode(self, means: int = 1) -> Array:
        """The covariance at the joint mode with this many means: scale / (freedom + columns + 1 + means)."""
        scale = _known(self.scale)
        norm = np.asarray(_known(self.freedom) + scale.shape[-1] + 1.0 + means)
        return np.asarray(scale / norm[..., None, None])


def _known(value: Number | None) -> Array:
    assert value is not None, "centred() fills it in"
    return np.asarray(value)


def _typical_variance(within: Array, whole: Array, weight: Number, mean: Array) -> Array:
    """Return the variance within classes; of all rows if a column varies in no class, and 1 if it does not vary at all.

    A variance below the resolution of floating point, (ε · mean)², is rounding and counts as 0.
    """
    least = (np.finfo(np.float64).eps * mean) ** 2
    inside, overall = _ratio(within, weight, 0.0), _ratio(whole, weight, 0.0)
    return np.where(inside > least, inside, np.where(overall > least, overall, 1.0))


def _pulled(found: Array, before: Array, pull: Array, rest: Array) -> Array:
    """Return pull · found + rest · before with pull + rest = 1: a step from the nearer of both keeps its digits."""
    off = found - before
    return np.asarray(np.where(pull > rest, found - rest * off, before + pull * off))


def _ratio(numerator: Number, denominator: Number, otherwise: Number) -> Array:
    """Divide; return `otherwise` where the denominator is 0."""
    if np.all(np.asarray(denominator) != 0):
        return np.asarray(numerator / denominator, dtype=np.float64)
    top, bottom, other = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64),
        np.asarray(denominator, np.float64),
        np.asarray(otherwise, np.float64),
    )
    return np.divide(top, bottom, out=other.copy(), where=bottom != 0)


@dataclass(frozen=True, eq=False)
class ClassPrior(Options):
    """How p(y) follows from the weights of the classes.

    `"mle"` is the share of each class, a `Dirichlet` gives the posterior mean of the shares, and `"uniform"` is the
    same for all classes. An array holds the probabilities themselves, in the sorted order of the labels. An `ignored`
    prior is left out, for scores that are not probabilities.
    """

    rule: Literal["mle", "uniform"] | Dirichlet | Annotated[Array, Held("classes", least=0)] = "mle"
    ignored: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rule, str):
            if self.rule not in ("mle", "uniform"):
                raise InvalidOptionError(
                    f"A class prior is 'mle', 'uniform', a Dirichlet or probabilities; found {self.rule!r}"
                )
        elif not isinstance(self.rule, Dirichlet):
            given = np.asarray(self.rule, dtype=np.float64)
            if given.ndim != 1:
                raise InvalidOptionError(f"Priors must be one number for each class, found shape {given.shape}")
            if not np.isclose(given.sum(), 1.0):
                raise InvalidOptionError("The sum of the priors should be 1.")
            if (given < 0).any():
                raise InvalidOptionError("Priors must be non-negative.")
            object.__setattr__(self, "rule", given)
        super().__post_init__()

    def check(self, classes: int) -> None:
        """Raise an error if probabilities are given for another number of classes."""
        if isinstance(self.rule, np.ndarray) and len(self.rule) != classes:
            raise InvalidOptionError("Number of priors must match number of classes.")

    def log(self, weight: Array) -> Array:
        """Compute log p(y) from class weights (…, classes); −inf where p(y) = 0."""
        classes = weight.shape[-1]
        self.check(classes)
        if self.ignored:
            return np.zeros(weight.shape)
        if isinstance(self.rule, Dirichlet):
            share = self.rule.mean(weight)
        elif isinstance(self.rule, np.ndarray):
            share = np.broadcast_to(self.rule, weight.shape)
        elif self.rule == "uniform":
            return np.full(weight.shape, -np.log(classes))
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                total = np.log(weight.sum(axis=-1, keepdims=True))
                return np.where(weight > 0, np.log(weight) - total, -np.inf)
        with np.errstate(divide="ignore"):
            return np.log(share)

    def n_parameters(self, classes: int) -> int:
        """Return the number of free parameters: classes − 1, or 0 where p(y) is given."""
        learned = isinstance(self.rule, Dirichlet) or (isinstance(self.rule, str) and self.rule == "mle")
        return classes - 1 if learned and not self.ignored else 0
