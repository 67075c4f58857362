"""The logarithm of the gamma function and of its ratios, without SciPy.

Importing that takes longer than most commands at a terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.core.arrays import Array

SHIFT = 10  # from here on Stirling's series below has all digits
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # B_2k / (2k (2k − 1))


def log_gamma(x: Any) -> Array:
    """Return log Γ(x) of positive numbers.

    By Stirling's series for z ≥ 10,  log Γ(z) = (z − ½) log z − z + ½ log 2π + Σ_k B_2k / (2k (2k − 1) z^(2k − 1)),
    and below that by  Γ(x) = Γ(x + 10) / (x (x + 1) … (x + 9)).

    >>> log_gamma([1.0, 2.0, 5.0]).round(12)
    array([0.        , 0.        , 3.17805383])
    """
    x = np.asarray(x, dtype=np.float64)
    small = x < SHIFT
    z = np.where(small, x + SHIFT, x)
    product = np.ones_like(x)
    below = np.where(small, x, 1.0)
    for k in range(SHIFT):
        product *= below + k
    with np.errstate(divide="ignore"):
        out = (z - 0.5) * (np.log(z) - 1.0) + 0.5 * np.log(2.0 * np.pi / np.e) + _series(z)
        return np.asarray(np.where(small, out - np.log(product), out))


def log_gamma_by(x: Any, log: Callable[[Any], Any]) -> Any:
    """Return log Γ(x) for x > 0 to 14 digits, of anything that has arithmetic and a logarithm, such as a column in SQL.

    By Stirling's series at x + 8, less log(x (x + 1) … (x + 7)).
    """
    z = x + 8.0
    series = 1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * z * z)) / (z * z)) / (z * z)) / (z * z)
    far = (z - 0.5) * log(z) - z + 0.5 * float(np.log(2 * np.pi)) + series / z
    near = [log((x + 2.0 * i) * (x + (2.0 * i + 1.0))) for i in range(4)]
    return far - ((near[0] + near[1]) + (near[2] + near[3]))


def _series(z: Array) -> Array:
    """Return Σ_k B_2k / (2k (2k − 1) z^(2k − 1)) of Stirling's series."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = np.zeros_like(z)
    for coefficient in reversed(STIRLING):
        series = series * square + coefficient
    return np.asarray(series * inverse)


def log_rising(a: Any, x: Any) -> Array:
    """Return log Γ(a + x) − log Γ(a) of a > 0 and x ≥ 0.

    Both logarithms are about a log a, and their difference only about x log a. It is computed without them, from a = 10
    on by the difference of Stirling's series,  (a − ½) log(1 + x/a) + x (log(a + x) − 1) + …, and below from that of
    a + 10, less  Σ_k log(1 + x/(a + k)),  k = 0 … 9.

    >>> float(log_rising(1e15, 2.0).round(8))  # log a (a + 1)
    69.07755279
    """
    a, x = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(x, dtype=np.float64))
    small = a < SHIFT
    some = bool(small.any())
    large = np.where(small, a + SHIFT, a) if some else a
    whole = large + x
    out = (large - 0.5) * np.log1p(x / large) + x * (np.log(whole) - 1.0) + (_series(whole) - _series(large))
    if some:
        below = np.where(small, a, 1.0)[..., None] + np.arange(SHIFT)
        out = out - np.where(small, np.log1p(x[..., None] / below).sum(axis=-1), 0.0)
    return np.asarray(out)


def log_gamma_ratio(a: Any, p: Any, q: Any) -> Array:
    """Return log Γ(a + p + q) Γ(a) / (Γ(a + p) Γ(a + q)) of a > 0 and p, q ≥ 0.

    It is symmetric in p and q: the smaller one is what Γ(a + larger) and Γ(a) rise by, so that little cancels.

    >>> float(log_gamma_ratio(1.0, 2.0, 1e15).round(8))  # log (q + 1) (q + 2) / 2
    68.38440561
    """
    a, p, q = (np.asarray(v, dtype=np.float64) for v in (a, p, q))
    least = np.minimum(p, q)
    return np.asarray(log_rising(a + np.maximum(p, q), least) - log_rising(a, least))
