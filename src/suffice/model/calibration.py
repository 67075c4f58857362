"""Calibration of probabilities: an exponent on the evidence, fitted on exact leave-one-out scores.

Naive Bayes treats dependent columns as if they were independent, so its probabilities are too extreme. The calibrated
posterior is

    p(y | x) = (1 − ε) softmax_y( log π_y + a_y E_y(x) + b_y ) + ε π_y,   E_y(x) = Σ_j log p(x_j | y) − max

The prior π is not tempered: a temperature on the whole score would make rare classes common. Usually a_y = a for all
classes and b = 0; slopes and biases for each class are an option. ε mixes in a little of the prior, so that no row is
ever impossible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Positions
from suffice.core.errors import InvalidDataError
from suffice.core.validation import Held
from suffice.formulas.scoring import BEYOND
from suffice.model.out_of_range import not_a_number, numbers_only
from suffice.model.storage import storable

# One slope for all classes, a slope and bias for each, or what `structure` fits.
CalibrationForm: TypeAlias = Literal["exponent", "classes", "columns", "pairs", "pool"]

if TYPE_CHECKING:
    from suffice.model.learned import Learned

LEAST = np.log(1e-12)  # lower bound of a log-prior, so that a class without rows has a gradient
DOUBT = 20.0  # strength of the penalty on exponents above 1, in rows: naive Bayes is rarely underconfident
NEAR = 1e-3  # the search by values ends this close to the minimum
GOLDEN = 0.5 * (5**0.5 - 1.0)
MOST = 1e100  # of what a file may hold: larger slopes would overflow with the evidence
STRENGTH = 1.0  # of the penalty that keeps slopes and biases of classes near the common ones, in rows


@dataclass(frozen=True)
class ScoredRow:
    """The evidence of one row, (1, classes), where it was computed before: see `single_rows`."""

    evidence: Array


@storable
@dataclass(frozen=True)
class Calibration:
    """Slopes a and biases b, (classes,), and the part ε of the prior."""

    slope: Annotated[Array, Held("classes", least=-MOST, most=MOST)]
    bias: Annotated[Array, Held("classes", least=-MOST, most=MOST)]
    mixed: Annotated[float, Held(least=0, most=1)]

    @classmethod
    def none(cls, classes: int) -> Calibration:
        """Return the calibration that changes nothing."""
        return cls(np.ones(classes), np.zeros(classes), 0.0)

    @classmethod
    def fit(
        cls,
        evidence: Array,
        log_prior: Array,
        codes: Codes,
        weight: Array,
        form: CalibrationForm = "exponent",
    ) -> Calibration:
        """Minimise the log-loss of rows whose evidence and log-prior , (rows, classes), were computed without them."""
        classes = evidence.shape[1]
        if classes < 2 or not len(codes):
            return cls.none(classes)
        # No exponent helps a row that is impossible in its own class; such rows only count for ε.
        some = np.flatnonzero(np.isfinite(evidence[np.arange(len(codes)), codes]))
        slope, bias = np.ones(classes), np.zeros(classes)
        if len(some):
            # Class by class in memory, where sums over classes are sums of whole arrays.
            likely = np.asfortranarray(bounded(evidence[some]))
            prior = np.asfortranarray(np.maximum(log_prior[some], LEAST))
            own, w = codes[some], weight[some]
            # In units of its spread, so that the search range does not depend on the size of the evidence.
            unit = _spread(likely, w)
            scaled = likely / unit

            def loss(exponent: float) -> float:
                sharper = max(
                    exponent - np.log(unit), 0.0
                )  # than 1: a few rows that are far apart by chance would ask for it
                pull = 0.5 * DOUBT * sharper**2 / w.sum()
                return _loss(prior + np.exp(exponent) * scaled, own, w) + float(pull)

            def derivative(exponent: float) -> float:
                error = _softmax(prior + np.exp(exponent) * scaled)
                error[np.arange(len(own)), own] -= 1.0
                pull = DOUBT * max(exponent - np.log(unit), 0.0)
                return float(np.exp(exponent) * (w @ (error * scaled).sum(axis=1)) + pull)

            bounds = (min(np.log(unit), 0.0) - 12.0, np.log(unit) + 2.0)
            slope = np.full(classes, np.exp(_minimum(loss, derivative, bounds)) / unit)
            if form == "classes":
                slope, bias = _by_class(slope, scaled, unit, prior, own, w)
        tempered = np.exp(cls(slope, bias, 0.0).log_posterior(evidence, log_prior))
        at = np.arange(len(codes)), codes
        mixed = mixture(tempered[at], np.exp(log_prior[at]), weight)
        if not (np.isfinite(slope).all() and np.isfinite(bias).all() and 0.0 <= mixed <= 1.0):
            raise InvalidDataError(
                "The weights of the kept rows are too large for float64 to calibrate by: rescale them"
            )
        return cls(slope, bias, mixed)

    def evidence(self, learned: Learned, rows: Any) -> Array:
        """Compute the evidence of rows for each class, (rows, classes), before it is tempered."""
        return learned.model.relative_log_conditional(rows)

    def left_out(self, learned: Learned, rows: Any, labels: Any, weight: Any) -> tuple[Array, Array]:
        """Compute the evidence of learned rows, each left out, and their log-priors, (rows, classes) each."""
        return learned.left_out(rows, labels, weight)

    def contrast(
        self, learned: Learned, rows: Any, titles: list[str], first: Positions, second: Positions
    ) -> tuple[list[str], Array]:
        """Return the titles of blocks, and what each adds to the log-odds of two classes, (rows, blocks).

        Evidence is tempered by the common slope; slopes of classes are not parted by blocks.
        """
        return titles, learned.model.distribution.contrast(rows, first, second) * self.tempering

    @property
    def tempering(self) -> float:
        """The common slope, by which parts of the evidence are tempered; 1 where each class has its own."""
        return float(self.slope[0]) if (self.slope == self.slope[0]).all() else 1.0

    def posterior(self, evidence: Array, log_prior: Array) -> Array:
        """Return p(y | x) of rows whose evidence is (rows, classes) and is overwritten; `log_prior` is (classes,)."""
        return self.answering(log_prior)(evidence)

    def answering(self, log_prior: Array) -> Callable[[Array], Array]:
        """Return what computes `posterior` for this log-prior: most of the work for one row is about the prior."""
        if (self.slope != self.slope[0]).any():
            return lambda evidence: np.exp(self.log_posterior(evidence, log_prior))
        slope, mixed, log_prior = float(self.slope[0]), self.mixed, _possible(log_prior)
        added = log_prior + self.bias

        def posterior(evidence: Array) -> Array:
            if slope != 1.0:
                evidence *= slope
            odd = _core.posterior(evidence, added, log_prior, False, evidence, mixed)
            if odd < 0:
                raise not_a_number(-1 - odd)
            return evidence

        return posterior

    def log_posterior(self, evidence: Any, log_prior: Array, before: int = 0, xp: Any = np) -> Any:
        """Return log p(y | x) of rows whose evidence is (rows, classes); impossible classes remain impossible.

        `log_prior` is (classes,), or (rows, classes) if each row has its own. The evidence may be an array of another
        library, whose namespace is `xp`. An error numbers rows from `before` on.
        """
        numbers_only(evidence, before)
        known = _possible(log_prior)
        log_prior, slope, bias = (xp.asarray(each) for each in (known, self.slope, self.bias))
        scores = xp.where(xp.isneginf(evidence), -np.inf, log_prior + slope * bounded(evidence, xp) + bias)
        scores = xp.where(xp.isneginf(scores).all(axis=1)[:, None], log_prior, scores)
        out = scores - scores.max(axis=1, keepdims=True)
        out -= xp.log(xp.exp(out).sum(axis=1, keepdims=True))
        if self.mixed:
            with np.errstate(divide="ignore"):
                share = np.log(self.mixed) + known - np.log(np.exp(known).sum(axis=-1, keepdims=True))
            out = xp.logaddexp(np.log1p(-self.mixed) + out, xp.asarray(share))
        return out


def _possible(log_prior: Array) -> Array:
    """Return a log-prior, or a uniform one where no class has a positive prior, as where no row was seen."""
    return np.where(np.isfinite(log_prior).any(axis=-1, keepdims=True), log_prior, 0.0)


def bounded(evidence: Any, xp: Any = np) -> Any:
    """Subtract the evidence of the best class of each row, and bound the result so that exp does not underflow."""
    top = xp.ascontiguousarray(evidence.T).max(axis=0)[:, None]  # NumPy takes long for many short rows
    return xp.maximum(evidence - xp.where(xp.isfinite(top), top, 0.0), -BEYOND)


def _spread(evidence: Array, weight: Array) -> float:
    """Return the standard deviation of the evidence between the possible classes of a row."""
    possible = evidence > -BEYOND
    mean = evidence.mean(axis=1, where=possible, keepdims=True)
    squares = np.where(possible, evidence - mean, 0.0) ** 2
    return float(np.sqrt(weight @ squares.mean(axis=1) / weight.sum())) or 1.0


def _softmax(scores: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _loss(scores: Array, codes: Codes, weight: Array) -> float:
    top = scores.max(axis=1)
    norm = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return float(weight @ (norm - scores[np.arange(len(codes)), codes]) / weight.sum())


def _by_class(
    slope: Array, scaled: Array, unit: float, log_prior: Array, codes: Codes, weight: Array
) -> tuple[Array, Array]:
    """Return a slope and a bias for each class, drawn towards the common slope and 0."""
    from scipy.optimize import minimize

    classes, common, n = len(slope), slope[0] * unit, weight.sum()
    onehot = np.zeros(scaled.shape)
    onehot[np.arange(len(codes)), codes] = 1.0

    def objective(theta: Array) -> tuple[float, Array]:
        a, b = theta[:classes], theta[classes:]
        scores = log_prior + a * scaled + b
        error = (_softmax(scores) - onehot) * (weight / n)[:, None]
        pull = np.concatenate([a - common, b]) * (STRENGTH / n)
        value = _loss(scores, codes, weight) + 0.5 * float(pull @ np.concatenate([a - common, b]))
        return value, np.concatenate([(error * scaled).sum(axis=0), error.sum(axis=0)]) + pull

    start = np.concatenate([np.full(classes, common), np.zeros(classes)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return found[:classes] / unit, found[classes:]


def mixture(own: Array, base: Array, weight: Array) -> float:
    """Return the ε of the lowest log-loss, at least 1 / (n + 2): what held n times may still fail.

    `own` is the probability of each row's class, (rows,), and `base` that by the class prior.
    """
    least = 1.0 / (weight.sum() + 2.0)

    def loss(z: float) -> float:
        return float(-(weight @ np.log((1.0 - np.exp(z)) * own + np.exp(z) * base)) / weight.sum())

    def derivative(z: float) -> float:
        return float(np.exp(z) * (weight @ ((own - base) / ((1.0 - np.exp(z)) * own + np.exp(z) * base))))

    bounds = (float(np.log(least)), float(np.log(0.5)))
    found = _minimum(loss, derivative, bounds)
    return float(np.exp(found if loss(found) < loss(bounds[0]) else bounds[0]))


def _minimum(
    loss: Callable[[float], float], derivative: Callable[[float], float], bounds: tuple[float, float]
) -> float:
    """Return the x of the lowest loss between bounds: by golden section, then where the derivative is 0.

    A minimum is flat, so a search by values finds only half of the digits. Then the result would depend on the order of
    the rows.
    """
    low, high = bounds
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > NEAR:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = loss(right)
    middle = 0.5 * (low + high)
    return _root(derivative, max(middle - NEAR, bounds[0]), min(middle + NEAR, bounds[1]), middle)


def _root(f: Callable[[float], float], low: float, high: float, otherwise: float) -> float:
    """Return the root of an increasing function, by false position (Illinois), to the last digits."""
    below, above = f(low), f(high)
    if not below < 0.0 < above:
        return otherwise
    side = 0
    while high - low > 2e-15 * max(abs(low), abs(high), 1.0):
        x = high - above * (high - low) / (above - below)
        x = x if low < x < high else 0.5 * (low + high)
        value = f(x)
        if value == 0.0 or x in (low, high):
            return x
        if value < 0.0:
            low, below = x, value
            above = above / 2 if side < 0 else above
            side = -1
        else:
            high, above = x, value
            below = below / 2 if side > 0 else below
            side = 1
    return 0.5 * (low + high)
