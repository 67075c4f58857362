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
    # Classes come first: NumPy adds up many long rows faster than many short ones.
    apart = np.ascontiguousarray(evidence.T)
    apart = apart - apart[codes, rows]
    start = np.ascontiguousarray(np.broadcast_to(np.maximum(log_prior, LEAST), evidence.shape).T)
    start = start - start[codes, rows]

    def at(a: float) -> tuple[float, Array, Array]:
        p = a * apart
        p += start
        top = p.max(axis=0)
        p -= top
        np.exp(p, out=p)
        norm = p.sum(axis=0)
        return float(share @ (top + np.log(norm))) + 0.5 * (a - 1.0) ** 2 / total, p, norm

    loss, p, norm = at(exponent)
    for _ in range(STEPS):
        p *= apart
        first = p.sum(axis=0) / norm
        p *= apart
        second = p.sum(axis=0) / norm - first**2
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
