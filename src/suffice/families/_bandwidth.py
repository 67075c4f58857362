"""Rules that choose the bandwidth of a Gaussian kernel from distinct ascending values and their weights.

Weights are frequencies: a value of weight 3 is three equal values, and n is the sum of all weights. A rule returns 0
if the values do not vary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array
from suffice.core.statistics.statistic import RESIDUE

Rule = Callable[[Array, Array], float]

THUMB, NORMAL = 1.34, 1.349  # what the distance of quartiles is divided by: as rules of thumb write it, and exactly
CELLS = 1000  # of the grid on which pairs of values are counted
NARROWEST, WIDEST, STEPS = 0.05, 5.0, 24  # of the search by likelihood, in units of Silverman's bandwidth


def spread_without(
    values: Array, weight: Array, place: NDArray[np.int64], removed: Array, divisor: float = THUMB
) -> Array:
    """Compute min(σ, IQR / divisor) without some weight: `removed[i]` less of the value at `place[i]`, for each i.

    σ² is the sum of squares around the mean, divided by n − 1, or by n / 2 where n < 2. The quartiles are interpolated
    as by NumPy and R. If they are equal, the result is σ. It is 0 if no two different values remain.
    """
    out = np.empty(len(place))
    rows = np.ascontiguousarray(values), weight, np.asarray(place, np.int64), np.asarray(removed, np.float64)
    _core.spread_without(*rows, divisor, RESIDUE, out)
    return out


def spread(values: Array, weight: Array, divisor: float = THUMB) -> float:
    """Compute min(σ, IQR / divisor), a standard deviation that is robust against outliers and a second mode."""
    return float(spread_without(values, weight, np.zeros(1, np.int64), np.zeros(1), divisor)[0])


def silverman(values: Array, weight: Array) -> float:
    """0.9 min(σ, IQR / 1.34) n^(−1/5): Silverman (1986), equation 3.31; R's `bw.nrd0`."""
    return 0.9 * spread(values, weight) * float(weight.sum()) ** -0.2


def scott(values: Array, weight: Array) -> float:
    """1.06 min(σ, IQR / 1.34) n^(−1/5): Scott (1992), the best for a normal density; R's `bw.nrd`."""
    return 1.06 * spread(values, weight) * float(weight.sum()) ** -0.2


def sheather_jones(values: Array, weight: Array) -> float:
    """Solve h = (R(K) / (n ∫ f''²))^(1/5), where f'' is estimated with a pilot bandwidth that depends on h.

    Sheather and Jones (1991), as R's `bw.SJ` with its defaults: the sums over all pairs of values are computed on a
    grid of 1000 cells, and the equation is solved to a hundredth of the largest bandwidth. If there is no solution,
    Silverman's rule is used.
    """
    n, width = float(weight.sum()), spread(values, weight, NORMAL)
    if width == 0.0 or n <= 1.0:
        return silverman(values, weight)
    lags, pairs = _pairs(values, weight, width)  # in units of width, as everything below
    norm = n * (n - 1.0) * np.sqrt(2.0 * np.pi)

    def roughness(h: float) -> float:  # ∫ f''²
        z = np.square(lags / h)
        return float((pairs * ((z - 6.0) * z + 3.0) * np.exp(-0.5 * z)).sum()) / (norm * h**5)

    def roughness_of_slope(h: float) -> float:  # ∫ f'''²
        z = np.square(lags / h)
        return -float((pairs * (((z - 15.0) * z + 45.0) * z - 15.0) * np.exp(-0.5 * z)).sum()) / (norm * h**7)

    second, third = roughness(1.24 * n ** (-1 / 7)), roughness_of_slope(1.23 * n ** (-1 / 9))
    if second <= 0.0 or third <= 0.0:
        return silverman(values, weight)
    pilot = 1.357 * (second / third) ** (1 / 7)

    def excess(h: float) -> float:
        found = roughness(pilot * h ** (5 / 7))
        return (1.0 / (2.0 * np.sqrt(np.pi) * n * found)) ** 0.2 - h if found > 0.0 else np.inf

    upper = 1.144 * n**-0.2
    lower = 0.1 * upper
    for attempt in range(40):  # a solution far outside is one of repeated values, not of their density
        if excess(lower) > 0.0 > excess(upper):
            return width * _root(excess, lower, upper, 0.1 * lower)
        lower, upper = (lower / 1.2, upper) if attempt % 2 else (lower, upper * 1.2)
    return silverman(values, weight)


def _root(f: Callable[[float], float], a: float, b: float, tolerance: float) -> float:
    """Find where f is 0 between a and b by Brent's method, with the steps of R's `uniroot`.

    The tolerance is wide, so that another order of steps, as that of `scipy.optimize.brentq`, ends elsewhere.
    """
    fa, fb = f(a), f(b)
    c, fc = a, fa
    while True:
        last = b - a
        if abs(fc) < abs(fb):  # b is the best so far, c is on the other side of the root
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        least = 2.0 * float(np.finfo(np.float64).eps) * abs(b) + 0.5 * tolerance
        half = 0.5 * (c - b)
        if abs(half) <= least or fb == 0.0:
            return b
        step = half
        if abs(last) >= least and abs(fa) > abs(fb):
            t1, width = fb / fa, c - b
            if a == c:
                p, q = width * t1, 1.0 - t1
            else:
                q, t1, t2 = fa / fc, fb / fc, fb / fa
                p, q = t2 * (width * q * (q - t1) - (b - a) * (t1 - 1.0)), (q - 1.0) * (t1 - 1.0) * (t2 - 1.0)
            p, q = (p, -q) if p > 0 else (-p, q)
            if p < 0.75 * width * q - 0.5 * abs(least * q) and p < abs(0.5 * last * q):
                step = p / q
        if abs(step) < least:
            step = least if step > 0 else -least
        a, fa = b, fb
        b += step
        fb = f(b)
        if (fb > 0) == (fc > 0):
            c, fc = a, fa


def _pairs(values: Array, weight: Array, width: float) -> tuple[Array, Array]:
    """Return the distances between cells, in units of `width`, and the weight of the pairs of values at each distance.

    Pairs of a value with itself are included. Values are rounded to cells towards 0, as R rounds them.
    """
    step = 1.01 * (values[-1] / CELLS - values[0] / CELLS)
    cells = np.trunc(values / step)
    counts = np.bincount((cells - cells[0]).astype(np.int64), weight)
    pairs: Array = np.correlate(counts, counts, "full")[len(counts) - 1 :].astype(np.float64)
    pairs[1:] *= 2.0
    return step / width * np.arange(float(len(pairs))), pairs


def maximum_likelihood(values: Array, weight: Array) -> float:
    """Find the h that maximizes the leave-one-out log-likelihood Σ_i log f_{−i}(x_i).

    With equal values it grows without bound as h → 0, so the search is bounded: over a grid of 25 values from 0.05 to
    5 times Silverman's bandwidth, then between the neighbours of the best of them, to 1e-6 of its value.
    """
    from scipy.optimize import minimize_scalar

    start = silverman(values, weight)
    total = weight.sum(keepdims=True)
    left_out = np.minimum(weight, 1.0)  # one of several equal values, or all of a smaller weight
    if start == 0.0:
        return 0.0
    order, ends = np.arange(len(values)), np.array([0, len(values)])

    def unlikelihood(log_h: float) -> float:
        out = np.zeros(len(values))
        h = np.array([start * np.exp(log_h)])
        _core.kernel_log_density(0, values, order, left_out, values, weight, ends, total, h, out)
        return -float((weight * out).sum())

    grid = np.linspace(np.log(NARROWEST), np.log(WIDEST), STEPS + 1)
    best = int(np.argmin([unlikelihood(g) for g in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, STEPS)]
    found = minimize_scalar(unlikelihood, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(start * np.exp(found.x))
