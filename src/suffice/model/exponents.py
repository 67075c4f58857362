"""Exponents of evidence: the weights of log-linear combinations, by Newton's method on the log-loss.

The scores of row i and class k are  s_ik + Σ_j w_j F_ikj, and the weights minimise the convex

    Σ_i v_i (−log softmax(scores_i)[y_i]) / Σ_i v_i + Σ_j λ_j (w_j − w⁰_j)² / (2 Σ_i v_i)

A penalty λ counts rows: it is as strong as what λ rows say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Mask

STEPS = 40  # of Newton's method, at most
ENOUGH = 1e-9  # a step that gains less is the last
FOLDS = 5


def fit_exponents(
    parts: Array, offset: Array, codes: Codes, weight: Array, start: Array, penalty: Array, nonnegative: Mask
) -> Array:
    """Return the exponents w, (parts,).

    `parts` F is (rows, classes, parts), `offset` s (rows, classes), `start` is w⁰, `penalty` λ, and `nonnegative` says
    which exponents must not be negative.
    """
    n, classes, m = parts.shape
    total = float(weight.sum())
    if not m or not n or classes < 2:
        return start
    share, strength = weight / total, penalty / total
    rows = np.arange(n)
    flat = parts.reshape(n * classes, m)

    def value(w: Array) -> tuple[float, Array]:
        scores = offset + (flat @ w).reshape(n, classes)
        top = scores.max(axis=1, keepdims=True)
        p = np.exp(scores - top)
        norm = p.sum(axis=1, keepdims=True)
        loss = share @ (np.log(norm[:, 0]) + top[:, 0] - scores[rows, codes])
        return float(loss + 0.5 * strength @ (w - start) ** 2), p / norm

    w = np.where(nonnegative, np.maximum(start, 0.0), start)
    best, p = value(w)
    for _ in range(STEPS):
        error = p * share[:, None]
        error[rows, codes] -= share
        gradient = flat.T @ error.ravel() + strength * (w - start)
        free = ~nonnegative | (w > 0) | (gradient < 0)
        if not free.any():
            break
        hessian = _hessian(parts, p, share) + np.diag(strength + 1e-12)
        step = np.zeros(m)
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        size, found = 1.0, None
        while size > 1e-4:
            tried = w + size * step
            tried = np.where(nonnegative, np.maximum(tried, 0.0), tried)
            loss, q = value(tried)
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


def _hessian(parts: Array, p: Array, share: Array) -> Array:
    """Compute Σ_i v_i (Σ_k p_k F_k F_kᵀ − f fᵀ), f = Σ_k p_k F_k."""
    n, classes, m = parts.shape
    if classes == 2:  # a difference of the two classes says it all
        apart = (parts[:, 1] - parts[:, 0]) * np.sqrt(share * p[:, 0] * p[:, 1])[:, None]
        return np.asarray(apart.T @ apart)
    mean = np.matmul(p[:, None, :], parts)[:, 0]
    centred = (parts - mean[:, None]) * np.sqrt(p * share[:, None])[:, :, None]
    flat = centred.reshape(n * classes, m)
    return np.asarray(flat.T @ flat)


def cross_fitted(
    parts: Array, offset: Array, codes: Codes, weight: Array, start: Array, penalty: Array, nonnegative: Mask
) -> Array:
    """Return scores of rows, (rows, classes), whose exponents were fitted without them: on the other folds."""
    out = np.empty(offset.shape)
    fold = folds(len(codes))
    for k in range(FOLDS):
        own, rest = fold == k, fold != k
        w = fit_exponents(parts[rest], offset[rest], codes[rest], weight[rest], start, penalty, nonnegative)
        out[own] = offset[own] + parts[own] @ w
    return out


def folds(rows: int) -> NDArray[np.int64]:
    """Return the fold of each row. Kept rows are sorted by hash, so that neighbours have nothing in common."""
    return np.arange(rows) % FOLDS
