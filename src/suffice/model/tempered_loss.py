"""The log-loss of evidence with the exponent that makes it least, to compare experts that differ in a parameter."""

from __future__ import annotations

import numpy as np

from suffice.core.arrays import Array, Codes

LEAST = np.log(1e-12)  # lower bound of a log-prior, so that a class without rows has a gradient
STEPS = 40
ENOUGH = 1e-9  # of the loss, at which the search ends


def tempered_loss(
    evidence: Array, log_prior: Array, codes: Codes, weight: Array, exponent: float = 1.0
) -> tuple[float, float]:
    """Return min_a mean −log softmax(log π + a E)_y + ½ (a − 1)² / Σ w, a ≥ 0, and its a, by Newton's method.

    `evidence` is (rows, classes), `log_prior` (classes,) or (rows, classes). The search begins at `exponent`.
    """
    rows, total = np.arange(len(codes)), weight.sum()
    share = weight / total
    start = np.broadcast_to(np.maximum(log_prior, LEAST), evidence.shape)
    apart = evidence - evidence[rows, codes][:, None]  # of the own class 0
    start = start - start[rows, codes][:, None]

    def at(a: float) -> tuple[float, Array, Array]:
        scores = start + a * apart
        top = scores.max(axis=1, keepdims=True)
        p = np.exp(scores - top)
        norm = p.sum(axis=1, keepdims=True)
        return float(share @ (top + np.log(norm))[:, 0]) + 0.5 * (a - 1.0) ** 2 / total, p, norm

    loss, p, norm = at(exponent)
    for _ in range(STEPS):
        p /= norm
        first = np.einsum("ij,ij->i", p, apart)
        second = np.einsum("ij,ij,ij->i", p, apart, apart) - first**2
        slope = float(share @ first) + (exponent - 1.0) / total
        step = -slope / (float(share @ second) + 1.0 / total)
        while True:
            tried = max(exponent + step, 0.0)
            found, p, norm = at(tried)
            if found <= loss or abs(step) < 1e-12 * max(exponent, 1e-300):
                break
            step *= 0.25
        gain, loss, exponent = loss - found, min(found, loss), tried
        if gain < ENOUGH:
            break
    return loss, exponent
