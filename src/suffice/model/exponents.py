"""Exponents of evidence: the weights of log-linear combinations, by Newton's method on the log-loss.

The scores of row i and class k are  s_ik + Σ_j w_j F_ikj, and the weights minimise the convex

    Σ_i v_i (−log softmax(scores_i)[y_i]) / Σ_i v_i + Σ_j λ_j (w_j − w⁰_j)² / (2 Σ_i v_i)

A penalty λ counts rows: it is as strong as what λ rows say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes

STEPS = 40  # of Newton's method, at most
ENOUGH = 1e-7  # a step that gains less is the last
FOLDS = 5


@dataclass
class LogLinear:
    """Evidence of rows in parts, and what their exponents are drawn to.

    `parts` F is (rows, classes, parts), `offset` s (rows, classes), `start` is w⁰ and `penalty` λ, (parts,) each.
    Exponents are not negative.
    """

    parts: Array
    offset: Array
    codes: Codes
    weight: Array
    start: Array
    penalty: Array

    @cached_property
    def _design(self) -> Array:
        """The parts of each row and class; of two classes, the difference of the second and the first."""
        if self.parts.shape[1] == 2:
            return np.ascontiguousarray(self.parts[:, 1] - self.parts[:, 0])
        return self.parts.reshape(-1, self.parts.shape[2])

    def _scores(self, w: Array) -> Array:
        if self.parts.shape[1] == 2:
            out = self.offset.copy()
            out[:, 1] += self._design @ w
            return out
        return self.offset + (self._design @ w).reshape(self.offset.shape)

    def value(self, w: Array) -> tuple[float, Array]:
        """Return the penalised loss of exponents, and p(y | x) of all rows."""
        scores = self._scores(w)
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        norm = p.sum(axis=1, keepdims=True)
        own = scores[np.arange(len(self.codes)), self.codes]
        total = self.weight.sum()
        loss = self.weight @ (np.log(norm[:, 0]) - own) + 0.5 * self.penalty @ (w - self.start) ** 2
        return float(loss / total), p / norm

    def gradient(self, p: Array, rows: slice | NDArray[np.int64] = slice(None)) -> Array:
        """Return the gradient of the loss of some rows, not divided by the weight and without the penalty."""
        error = p[rows] * self.weight[rows, None]
        error[np.arange(len(error)), self.codes[rows]] -= self.weight[rows]
        if self.parts.shape[1] == 2:
            return np.asarray(self._design[rows].T @ error[:, 1])
        return np.asarray(self.parts[rows].reshape(-1, self.parts.shape[2]).T @ error.ravel())

    def hessian(self, p: Array, rows: slice | NDArray[np.int64] = slice(None)) -> Array:
        """Return the matrix of second derivatives:  Σ_i v_i (Σ_k p_k F_k F_kᵀ − f fᵀ),  f = Σ_k p_k F_k."""
        p, weight = p[rows], self.weight[rows]
        if self.parts.shape[1] == 2:
            apart = self._design[rows] * np.sqrt(weight * p[:, 0] * p[:, 1])[:, None]
            return np.asarray(apart.T @ apart)
        parts = self.parts[rows]
        mean = np.matmul(p[:, None, :], parts)
        centred = (parts - mean) * np.sqrt(p * weight[:, None])[:, :, None]
        flat = centred.reshape(-1, parts.shape[2])
        return np.asarray(flat.T @ flat)

    def _step(self, w: Array, gradient: Array, hessian: Array) -> Array:
        """Return Newton's step; exponents that would become negative stay 0."""
        free = (w > 0) | (gradient < 0)
        step = np.zeros(len(w))
        if free.any():
            ridge = np.diag(self.penalty[free] + 1e-9)
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)] + ridge, gradient[free])
        return step

    def fit(self) -> Array:
        """Return the exponents w, (parts,)."""
        w = np.maximum(self.start, 0.0)
        if not self.parts.size or self.parts.shape[1] < 2:
            return w
        best, p = self.value(w)
        for _ in range(STEPS):
            gradient = self.gradient(p) + self.penalty * (w - self.start)
            step, size, found = self._step(w, gradient, self.hessian(p)), 1.0, None
            while size > 1e-4:
                tried = np.maximum(w + size * step, 0.0)
                loss, q = self.value(tried)
                if loss < best:
                    found = tried, loss, q
                    break
                size *= 0.5
            if found is None:
                break
            gained = best - found[1]
            w, best, p = found
            if gained < ENOUGH:
                break
        return np.asarray(w)

    def cross_fitted(self, w: Array) -> Array:
        """Return scores of rows, (rows, classes), by exponents of the other folds: one Newton step from those of all.

        At the minimum of all rows the gradient of the others is the negative of that of the fold, so the step is short.
        """
        _, p = self.value(w)
        n, out = len(self.codes), np.empty(self.offset.shape)
        rows = [np.arange(k, n, FOLDS) for k in range(FOLDS)]  # kept rows are sorted by hash: neighbours are unrelated
        hessians = [self.hessian(p, own) for own in rows]
        gradients = [self.gradient(p, own) for own in rows]
        whole, slope = sum(hessians), sum(gradients) + self.penalty * (w - self.start)
        for own, hessian, gradient in zip(rows, hessians, gradients, strict=True):
            rest = np.maximum(w + self._step(w, slope - gradient, whole - hessian), 0.0)
            out[own] = self.offset[own] + self.parts[own] @ rest
        return out
