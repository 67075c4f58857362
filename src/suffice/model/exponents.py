"""Exponents of evidence: the weights of log-linear combinations, by Newton's method on the log-loss.

Evidence is relative to the first class, whose score is 0. The scores of row i and any other class k are
s_ki + Σ_j w_j F_kij, and the weights w ≥ 0 minimise the convex

    Σ_i v_i (−log softmax(scores_i)[y_i]) / Σ_i v_i + Σ_j λ_j (w_j − w⁰_j)² / (2 Σ_i v_i)

A penalty λ counts rows: it is as strong as what λ rows say. A step of Newton's method goes towards the minimum of the
quadratic approximation over w ≥ 0, so few steps are needed, whatever the number of exponents that are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes

STEPS = 40  # of Newton's method, at most
ENOUGH = 1e-7  # a step that gains less is the last
FOLDS = 5
AT_ONCE = 1024  # rows that are computed at a time, so that they stay in the cache
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


def log_losses(scores: Array, codes: Codes) -> Array:
    """Return −log p(y_i | x_i) of rows from their scores, (classes − 1, rows)."""
    _, _, losses = probabilities(scores)
    others = np.flatnonzero(codes > 0)
    losses[others] -= scores[codes[others] - 1, others]
    return losses


def folds_of(rows: int) -> list[slice]:
    """Return the folds of rows: one after the other, as rows come in the order of their hashes."""
    return [slice(k * rows // FOLDS, (k + 1) * rows // FOLDS) for k in range(FOLDS)]


class Loss(NamedTuple):
    """The penalised loss of exponents, its gradient by folds and without the penalty, and p(y | x) of all rows.

    Gradients (folds, parts) are not divided by the weight of the rows. p is (classes − 1, rows), without the first.
    """

    value: float
    gradients: Array
    p: Array


@dataclass
class LogLinear:
    """Evidence of rows in parts, and what their exponents are drawn to.

    `parts` F is (classes − 1, rows, parts), of float64 or float32; `offset` s (classes − 1, rows); `start` is w⁰ and
    `penalty` λ, (parts,) each. Exponents are not negative. Rows are summed in fixed blocks, so that any number of
    threads gives the same result. Folds are rows one after the other: they come in the order of their hashes.
    """

    parts: Array | NDArray[np.float32]
    offset: Array
    codes: Codes
    weight: Array
    start: Array
    penalty: Array

    def __post_init__(self) -> None:
        rows = self.parts.shape[1]
        parts: Any = np.ascontiguousarray(self.parts)  # of one of two types
        self.parts = parts
        self.offset = np.ascontiguousarray(self.offset, np.float64)
        self.codes = np.ascontiguousarray(self.codes, np.int32)
        self.weight = np.ascontiguousarray(self.weight, np.float64)
        self._hessians: list[Array] | None = None  # of the folds, near the minimum
        self._folds = folds_of(rows)
        self._blocks = [(k, own) for k, fold in enumerate(self._folds) for own in _cut(fold)]
        self._bounds = np.array([0, *(own.stop for _, own in self._blocks)], np.int64)

    def scores(self, w: Array) -> Array:
        """Return the scores of all rows, (classes − 1, rows)."""
        return np.asarray(self.offset + np.matmul(self.parts, w.astype(self.parts.dtype)))

    def losses(self, scores: Array) -> Array:
        """Return −log p(y_i | x_i) of all rows from their scores."""
        return log_losses(scores, self.codes)

    def loss(self, w: Array) -> Loss:
        """Compute the loss of exponents, and its gradients, reading the evidence once."""
        gradients, p = np.zeros((FOLDS, len(w))), np.empty(self.offset.shape)
        losses, slopes = np.empty(len(self._blocks)), np.empty((len(self._blocks), len(w)))
        parts: Any = self.parts
        exponents = w.astype(parts.dtype)
        rows = self.codes, self.weight
        _core.log_linear_loss(parts, self.offset, *rows, exponents, self._bounds, losses, slopes, p)
        np.add.at(gradients, [fold for fold, _ in self._blocks], slopes)
        total = float(losses.sum()) + 0.5 * float(self.penalty @ (w - self.start) ** 2)
        return Loss(total / float(self.weight.sum()), gradients, p)

    def slope(self, w: Array, gradient: Array) -> Array:
        """Return a gradient with that of the penalty."""
        return np.asarray(gradient + self.penalty * (w - self.start))

    def hessians(self, p: Array, folds: int = FOLDS) -> list[Array]:
        """Return the second derivatives of some folds:  Σ_i v_i (Σ_k p_k F_k F_kᵀ − f fᵀ),  f = Σ_k p_k F_k."""
        some = [fold for fold, _ in self._blocks if fold < folds]
        out = np.zeros((folds, *self.parts.shape[2:], *self.parts.shape[2:]))
        bounds = self._bounds[: len(some) + 1]
        _core.log_linear_hessians(self.parts, self.weight, p, bounds, np.array(some, np.int64), out)
        return list(out)

    def _step(self, w: Array, slope: Array, hessian: Array) -> Array:
        """Return the step to the minimum over w ≥ 0 of the quadratic approximation."""
        curvature = hessian + np.diag(self.penalty + 1e-9)
        found = minimum_above_zero(curvature, slope - curvature @ w, (w > 0) | (slope < 0))
        return found - w

    def fit(self, begin: Array | None = None) -> Array:
        """Return the exponents w, (parts,); the search begins at w⁰, or at `begin`, which is near the minimum.

        Far from the minimum the second derivatives of one fold are good enough, and near it those of all rows are
        computed anew only if the last ones do not lead there quickly.
        """
        w = np.maximum(self.start if begin is None else begin, 0.0)
        if not self.parts.size:
            return w
        rough = self.parts.shape[1] >= ROUGH_ROWS * FOLDS * self.parts.shape[2]
        best = self.loss(w)
        hessian: Array | None = None
        gained = np.inf
        for _ in range(STEPS):
            if rough:
                hessian = FOLDS * self.hessians(best.p, 1)[0]
            elif hessian is None:
                self._hessians = self.hessians(best.p)
                hessian = np.sum(self._hessians, axis=0)
            step = self._step(w, self.slope(w, best.gradients.sum(axis=0)), hessian)
            found, size = self._shortened(w, step, best.value)
            before, gained = gained, 0.0 if found is None else best.value - found[1].value
            if found is not None:
                w, best = found
            if rough and gained < NEAR:
                rough, hessian = False, None
            elif not rough and gained < ENOUGH:
                break
            elif not rough and (size < 1.0 or gained > QUICK * before):
                hessian = None
        return np.asarray(w)

    def _shortened(self, w: Array, step: Array, best: float) -> tuple[tuple[Array, Loss] | None, float]:
        """Return exponents after the largest part of a step that has a lower loss than `best`, and which part it is."""
        size = 1.0
        while size > 1e-4:
            tried = np.maximum(w + size * step, 0.0)
            found = self.loss(tried)
            if found.value < best:
                return (tried, found), size
            size *= 0.5
        return None, size

    def cross_fitted(self, w: Array) -> Array:
        """Return scores of rows, (classes − 1, rows), by exponents of the other folds: a Newton step from those of all.

        At the minimum w of all rows the gradient of the others is the negative of that of the fold, so the step is
        short. The second derivatives are those of the last steps of `fit`.
        """
        if not self.parts.size:
            return self.scores(w)
        _, gradients, p = self.loss(w)
        hessians = self.hessians(p) if self._hessians is None else self._hessians
        whole, slope = np.sum(hessians, axis=0), self.slope(w, gradients.sum(axis=0))
        out = np.empty(self.offset.shape)
        for own, hessian, gradient in zip(self._folds, hessians, gradients, strict=True):
            left, free = slope - gradient, (w > 0) | (slope < gradient)
            curvature = (whole - hessian + np.diag(self.penalty + 1e-9))[np.ix_(free, free)]
            rest = w.copy()
            rest[free] = np.maximum(w[free] - np.linalg.solve(curvature, left[free]), 0.0)
            out[:, own] = self.offset[:, own] + self.parts[:, own] @ rest.astype(self.parts.dtype)
        return out


def _cut(rows: slice) -> Iterator[slice]:
    """Cut rows into blocks of about equal size."""
    n = rows.stop - rows.start
    blocks = -(-n // AT_ONCE)
    return (slice(rows.start + b * n // blocks, rows.start + (b + 1) * n // blocks) for b in range(blocks))


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
