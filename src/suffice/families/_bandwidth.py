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

NARROWEST, WIDEST, STEPS = 0.05, 5.0, 24  # of the search by likelihood, in units of Silverman's bandwidth


def spread_without(values: Array, weight: Array, place: NDArray[np.int64], removed: Array) -> Array:
    """Compute min(σ, IQR / 1.349) without some weight: `removed[i]` less of the value at `place[i]`, for each i.

    σ² is the mean square around the mean. The quartiles are interpolated as by NumPy. If they are equal, the result is
    σ. It is 0 if no two different values remain.
    """
    half = 0.5 * values[-1] - 0.5 * values[0]
    if half == 0.0:
        return np.zeros(len(place))
    values = (0.5 * values - 0.5 * values[0]) / half  # from 0 to 1, so that squares neither overflow nor underflow
    cumulative = np.cumsum(weight)
    total = cumulative[-1]
    mean = (weight * values).sum() / total
    squares = (weight * (values - mean) ** 2).sum()
    gone = weight[place] - removed <= RESIDUE * weight[place]
    n = total - removed
    last = np.where(gone & (place == len(values) - 1), len(values) - 2, len(values) - 1)
    several = len(values) - gone >= 2
    n = np.where(several, n, 1.0)

    off = values[place] - mean
    rest = squares - off * off * removed * total / n
    for i in np.flatnonzero(several & (rest < 1e-5 * squares)):  # too few digits are left: sum the others again
        others = weight.copy()
        others[place[i]] = 0.0 if gone[i] else others[place[i]] - removed[i]
        rest[i] = (others * (values - (others * values).sum() / n[i]) ** 2).sum()
    deviation = np.sqrt(np.maximum(rest, 0.0) / n)

    def value_of_rank(rank: Array) -> Array:
        at = np.searchsorted(cumulative, rank, side="right")
        beyond = np.maximum(place, np.searchsorted(cumulative, rank + removed, side="right"))
        return values[np.minimum(np.where(at < place, at, beyond), last)]

    def quantile(p: float) -> Array:
        rank = np.maximum(p * (n - 1.0), 0.0)
        low = np.floor(rank)
        below, above = value_of_rank(low), value_of_rank(np.ceil(rank))
        return below + (rank - low) * (above - below)

    between = (quantile(0.75) - quantile(0.25)) / 1.349
    spreads = np.where(between > 0, np.minimum(deviation, between), deviation)
    return half * np.where(several, 2.0 * spreads, 0.0)


def spread(values: Array, weight: Array) -> float:
    """Compute min(σ, IQR / 1.349), a standard deviation that is robust against outliers and a second mode."""
    return float(spread_without(values, weight, np.zeros(1, np.int64), np.zeros(1))[0])


def silverman(values: Array, weight: Array) -> float:
    """0.9 min(σ, IQR / 1.349) n^(−1/5): Silverman (1986), equation 3.31."""
    return 0.9 * spread(values, weight) * float(weight.sum()) ** -0.2


def scott(values: Array, weight: Array) -> float:
    """1.06 min(σ, IQR / 1.349) n^(−1/5): Scott (1992), the best for a normal density; R's `bw.nrd`."""
    return 1.06 * spread(values, weight) * float(weight.sum()) ** -0.2


def sheather_jones(values: Array, weight: Array) -> float:
    """Solve h = (R(K) / (n ∫ f''²))^(1/5), where f'' is estimated with a pilot bandwidth that depends on h.

    Sheather and Jones (1991), in the form of R's `bw.SJ(method="ste")`. The sums over all pairs of values are computed
    on a grid, by linear binning and the autocorrelation of the counts. If there is no solution, Silverman's rule is
    used.
    """
    from scipy.optimize import brentq

    n, width = float(weight.sum()), spread(values, weight)
    if width == 0.0 or n <= 1.0:
        return silverman(values, weight)
    first = 1.24 * n ** (-1 / 7)  # in units of width, as everything below
    lags, pairs = _pairs((values - values[0]) / width, weight, step=n**-0.2 / 64, reach=40.0 * first)
    norm = n * (n - 1.0) * np.sqrt(2.0 * np.pi)

    def roughness(h: float) -> float:  # ∫ f''²
        z = np.square(lags / h)
        return float((pairs * ((z - 6.0) * z + 3.0) * np.exp(-0.5 * z)).sum()) / (norm * h**5)

    def roughness_of_slope(h: float) -> float:  # ∫ f'''²
        z = np.square(lags / h)
        return -float((pairs * (((z - 15.0) * z + 45.0) * z - 15.0) * np.exp(-0.5 * z)).sum()) / (norm * h**7)

    second, third = roughness(first), roughness_of_slope(1.23 * n ** (-1 / 9))
    if second <= 0.0 or third <= 0.0:
        return silverman(values, weight)
    pilot = 1.357 * (second / third) ** (1 / 7)

    def excess(h: float) -> float:
        found = roughness(pilot * h ** (5 / 7))
        return (1.0 / (2.0 * np.sqrt(np.pi) * n * found)) ** 0.2 - h if found > 0.0 else np.inf

    upper = 1.144 * n**-0.2
    lower = 0.1 * upper
    for _ in range(20):
        if excess(lower) > 0.0 > excess(upper):
            return width * float(brentq(excess, lower, upper, xtol=1e-9 * upper, rtol=1e-9))
        lower, upper = lower / 1.2 if excess(lower) <= 0.0 else lower, upper * 1.2 if excess(upper) >= 0.0 else upper
    return silverman(values, weight)


def _pairs(values: Array, weight: Array, step: float, reach: float) -> tuple[Array, Array]:
    """Return distances up to `reach` on a grid, and the weight of the pairs of values at each distance.

    Pairs of a value with itself are included.
    """
    # No pair is counted over a distance above `reach`, so larger steps between neighbours are shortened to that.
    at = np.cumsum(np.minimum(np.diff(values, prepend=values[0]), reach + 2.0 * step))
    step = max(step, float(at[-1]) / (1 << 21))
    at /= step
    low = at.astype(np.int64)
    share, bins = at - low, int(low[-1]) + 2
    counts = np.bincount(low, weight * (1.0 - share), minlength=bins)
    counts += np.bincount(low + 1, weight * share, minlength=bins)
    padded = 1 << int(np.ceil(np.log2(2 * bins)))
    pairs = np.fft.irfft(np.abs(np.fft.rfft(counts, padded)) ** 2, padded)
    pairs = pairs[: min(bins, int(reach / step) + 1)]
    pairs[1:] *= 2.0
    return step * np.arange(float(len(pairs))), pairs


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
