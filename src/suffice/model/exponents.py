"""Exponents of evidence: the weights of log-linear combinations, by Newton's method on the log-loss.

Evidence is relative to the first class, whose score is 0. The scores of row i and any other class k are
s_ki + Σ_j w_j F_kij, and the weights w ≥ 0 minimise the convex

    Σ_i v_i (−log softmax(scores_i)[y_i]) / Σ_i v_i + Σ_j λ_j (w_j − w⁰_j)² / (2 Σ_i v_i)

A penalty λ counts rows: it is as strong as what λ rows say. A step of Newton's method goes towards the minimum of the
quadratic approximation over w ≥ 0, so few steps are needed, whatever the number of exponents that are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes
from suffice.core.parallel import in_threads

STEPS = 40  # of Newton's method, at most
ENOUGH = 1e-7  # a step that gains less is the last
FOLDS = 5
AT_ONCE = 1024  # rows whose second derivatives are added up at a time, so that they stay in the cache
NEAR = 1e-4  # a step that gains less is near the minimum
QUICK = 0.1  # of the gain before: a step that gains more shows that second derivatives have changed
ROUGH_ROWS = 8  # of a fold for each exponent, so that their second derivatives are like those of all
PATIENCE = 3  # exchanges of many exponents between zero and positive that need not get better


def relative(evidence: Array) -> Array:
    """Return evidence, (rows, classes), relative to the first class: (classes − 1, rows)."""
    return np.ascontiguousarray((evidence[:, 1:] - evidence[:, :1]).T)


def probabilities(scores: Array) -> tuple[Array, Array, Array]:
    """Return p(y | x) of all classes but the first, (classes − 1, rows), that of the first, and log Σ_k e^score."""
    top = np.maximum(scores.max(axis=0), 0.0)
    p, first = np.exp(scores - top), np.exp(-top)
    norm = p.sum(axis=0)
    norm += first
    p /= norm
    return p, first / norm, top + np.log(norm)


@dataclass
class LogLinear:
    """Evidence of rows in parts, and what their exponents are drawn to.

    `parts` F is (classes − 1, rows, parts), `offset` s (classes − 1, rows); `start` is w⁰ and `penalty` λ, (parts,)
    each. Exponents are not negative.
    """

    parts: Array
    offset: Array
    codes: Codes
    weight: Array
    start: Array
    penalty: Array

    def __post_init__(self) -> None:
        self._others = np.flatnonzero(self.codes > 0)  # rows of other classes than the first
        self._places = self.codes[self._others] - 1, self._others

    def scores(self, w: Array) -> Array:
        """Return the scores of all rows, (classes − 1, rows)."""
        return np.asarray(self.offset + self.parts @ w)

    def losses(self, scores: Array) -> tuple[Array, Array]:
        """Return −log p(y_i | x_i) of each row, and p(y | x) of all classes but the first, (classes − 1, rows)."""
        p, _, losses = probabilities(scores)
        losses[self._others] -= scores[self._places]
        return losses, p

    def value(self, w: Array) -> tuple[float, Array]:
        """Return the penalised loss of exponents, and p(y | x) of all rows."""
        losses, p = self.losses(self.scores(w))
        loss = self.weight @ losses + 0.5 * self.penalty @ (w - self.start) ** 2
        return float(loss / self.weight.sum()), p

    def gradient(self, p: Array, rows: slice = slice(None)) -> Array:
        """Return the gradient of the loss of some rows, not divided by the weight and without the penalty."""
        error = p.copy()
        error[self._places] -= 1.0
        error *= self.weight
        return np.asarray(sum(own[rows].T @ part[rows] for own, part in zip(self.parts, error, strict=True)))

    def hessian(self, p: Array, rows: slice = slice(None)) -> Array:
        """Return the second derivatives of the same:  Σ_i v_i (Σ_k p_k F_k F_kᵀ − f fᵀ),  f = Σ_k p_k F_k."""
        parts, p, weight = self.parts[:, rows], p[:, rows], self.weight[rows]
        out = np.zeros((parts.shape[2],) * 2)
        for lo in range(0, len(weight), AT_ONCE):
            some = slice(lo, lo + AT_ONCE)
            own, q, v = parts[:, some], p[:, some], weight[some]
            if len(parts) == 1:
                self._add_square(own[0], v * q[0] * (1.0 - q[0]), out)
                continue
            mean = np.einsum("ki,kij->ij", q, own)
            self._add_square(mean, v * np.maximum(1.0 - q.sum(axis=0), 0.0), out)
            for k in range(len(parts)):
                self._add_square(own[k] - mean, v * q[k], out)
        return out

    @staticmethod
    def _add_square(x: Array, weight: Array, out: Array) -> None:
        """Add Σ_i w_i x_i x_iᵀ to `out`."""
        heavy = x * np.sqrt(weight)[:, None]
        out += heavy.T @ heavy

    def _of_folds(self, p: Array) -> list[Array]:
        """Return the second derivatives of the rows of each fold."""
        return in_threads(lambda own: self.hessian(p, own), FOLD_ROWS, self.parts.size * 4)

    def _step(self, w: Array, gradient: Array, hessian: Array) -> Array:
        """Return the step to the minimum over w ≥ 0 of the quadratic approximation."""
        curvature = hessian + np.diag(self.penalty + 1e-9)
        found = minimum_above_zero(curvature, gradient - curvature @ w, (w > 0) | (gradient < 0))
        return found - w

    def fit(self) -> Array:
        """Return the exponents w, (parts,).

        Far from the minimum the second derivatives of one fold are good enough, and near it those of all rows are
        computed anew only if the last ones do not lead there quickly.
        """
        w = np.maximum(self.start, 0.0)
        if not self.parts.size:
            return w
        rough = self.parts.shape[1] >= ROUGH_ROWS * FOLDS * self.parts.shape[2]
        best, p = self.value(w)
        hessian: Array | None = None
        gained = np.inf
        for _ in range(STEPS):
            if rough:
                hessian = FOLDS * self.hessian(p, FOLD_ROWS[0])
            elif hessian is None:
                hessian = np.sum(self._of_folds(p), axis=0)
            step = self._step(w, self.gradient(p) + self.penalty * (w - self.start), hessian)
            found, size = self._shortened(w, step, best)
            before, gained = gained, 0.0 if found is None else best - found[1]
            if found is not None:
                w, best, p = found
            if rough and gained < NEAR:
                rough, hessian = False, None
            elif not rough and gained < ENOUGH:
                break
            elif not rough and (size < 1.0 or gained > QUICK * before):
                hessian = None
        return np.asarray(w)

    def _shortened(self, w: Array, step: Array, best: float) -> tuple[tuple[Array, float, Array] | None, float]:
        """Return exponents after the largest part of a step that has a lower loss than `best`, and which part it is."""
        size = 1.0
        while size > 1e-4:
            tried = np.maximum(w + size * step, 0.0)
            loss, p = self.value(tried)
            if loss < best:
                return (tried, loss, p), size
            size *= 0.5
        return None, size

    def cross_fitted(self, w: Array) -> Array:
        """Return scores of rows, (classes − 1, rows), by exponents of the other folds: a Newton step from those of all.

        At the minimum of all rows the gradient of the others is the negative of that of the fold, so the step is short.
        """
        if not self.parts.size:
            return self.scores(w)
        _, p = self.value(w)
        hessians = self._of_folds(p)
        gradients = [self.gradient(p, own) for own in FOLD_ROWS]
        whole, slope = np.sum(hessians, axis=0), np.sum(gradients, axis=0) + self.penalty * (w - self.start)
        out = np.empty(self.offset.shape)
        for own, hessian, gradient in zip(FOLD_ROWS, hessians, gradients, strict=True):
            left, free = slope - gradient, (w > 0) | (slope < gradient)
            curvature = (whole - hessian + np.diag(self.penalty + 1e-9))[np.ix_(free, free)]
            rest = w.copy()
            rest[free] = np.maximum(w[free] - np.linalg.solve(curvature, left[free]), 0.0)
            out[:, own] = self.offset[:, own] + self.parts[:, own] @ rest
        return out


FOLD_ROWS = [slice(k, None, FOLDS) for k in range(FOLDS)]  # kept rows are sorted by hash: neighbours are unrelated


def minimum_above_zero(curvature: Array, slope: Array, positive: NDArray[np.bool_]) -> Array:
    """Return the x ≥ 0 that minimises ½ xᵀ A x + bᵀ x, with a positive definite A, from a guess where x is positive.

    The guess is mended by exchanging what is negative and what has a negative slope, all at once, or one at a time
    where that does not end (block principal pivoting; Portugal, Júdice and Vicente, 1994).
    """
    positive = positive.copy()
    fewest, patience = len(slope) + 1, PATIENCE
    scale = 1e-12 * (np.abs(slope).max(initial=0.0) + 1e-300)
    for _ in range(10 * len(slope) + 10):
        x = np.zeros(len(slope))
        some = np.flatnonzero(positive)
        if len(some):
            x[some] = np.linalg.solve(curvature[np.ix_(some, some)], -slope[some])
        wrong = np.where(positive, x < 0.0, curvature @ x + slope < -scale)
        count = int(np.count_nonzero(wrong))
        if not count:
            break
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience:
            patience -= 1
        else:
            last = np.flatnonzero(wrong)[-1]
            wrong = np.zeros(len(slope), dtype=bool)
            wrong[last] = True
        positive = positive ^ wrong
    return np.maximum(x, 0.0)
