"""The logarithm of the gamma function, without SciPy: importing that takes longer than most commands at a terminal."""

from __future__ import annotations

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
    inverse = 1.0 / z
    square = inverse * inverse
    series = np.zeros_like(x)
    for coefficient in reversed(STIRLING):
        series = series * square + coefficient
    with np.errstate(divide="ignore"):
        out = (z - 0.5) * (np.log(z) - 1.0) + 0.5 * np.log(2.0 * np.pi / np.e) + series * inverse
        return np.asarray(np.where(small, out - np.log(product), out))
