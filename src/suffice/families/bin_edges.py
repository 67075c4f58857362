"""Edges that cut real numbers into bins: given, of equal width, quantiles, or by minimum description length.

Values are the lower edges of cells, and `last` is the largest number of each cell: the value itself where cells are
values. No edge of a bin lies within a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, distinct_numbers
from suffice.core.errors import InvalidOptionError
from suffice.core.statistics import Points

Edges = tuple[float, ...]


def checked(edges: Any) -> Edges | tuple[Edges, ...]:
    """Return the edges for all columns, or for each column, as tuples. They must be finite and strictly increasing."""
    try:
        given = [np.asarray(e, dtype=np.float64) for e in edges]
    except (TypeError, ValueError):
        raise InvalidOptionError(
            f"Binned: edges must be numbers, or a sequence of numbers for each column, found {edges!r}"
        ) from None
    if given and any(e.ndim != given[0].ndim or e.ndim > 1 for e in given):
        raise InvalidOptionError("Binned: edges are one sequence of numbers for all columns, or one for each column")
    if given and given[0].ndim:
        return tuple(_increasing(e, f" of column {j}") for j, e in enumerate(given))
    return _increasing(np.asarray(given, dtype=np.float64), "")


def _increasing(edges: Array, whose: str) -> Edges:
    if not len(edges):
        raise InvalidOptionError(f"Binned: the edges{whose} are an empty list; give at least one edge")
    for i, edge in enumerate(edges.tolist()):
        if not np.isfinite(edge):
            raise InvalidOptionError(
                f"Binned: edge {i}{whose} is {edge}; edges must be finite (the first and last bin are open)"
            )
        if i and edge <= edges[i - 1]:
            raise InvalidOptionError(
                f"Binned: the edges{whose} must increase, but edge {i} is {edge:g} after {edges[i - 1]:g}"
            )
    return tuple(edges.tolist())


def of_equal_width(points: Points, last: Array, bins: int) -> Array:
    """Cut the range between the smallest and the largest value into equal parts; no cell is cut."""
    if not len(points.values):
        return np.empty(0)
    values, first = np.unique(points.values[:, 0], return_index=True)
    low, high = values[0], last.max()
    t = np.arange(1, bins) / bins
    edges = low * (1.0 - t) + high * t
    end = last[first[np.searchsorted(values, edges, side="right") - 1]]
    return _inner(np.maximum(edges, end), values[-1])


def of_quantiles(points: Points, last: Array, bins: int) -> Array:
    """Cut at the quantiles 1/bins, 2/bins, … of the values of all classes.

    A quantile is the value at which the cumulative weight passes the share, or the middle of two values if the first
    reaches it exactly. Equal quantiles count once, so frequent values can reduce the number of bins.
    """
    if not len(points.values):
        return np.empty(0)
    values, first, place = np.unique(points.values[:, 0], return_index=True, return_inverse=True)
    end = last[first]
    reached = np.cumsum(np.bincount(place, weights=points.weight))
    wanted = reached[-1] * (np.arange(1, bins) / bins)  # no product is larger than the sum
    slack = 1e-10 * reached[-1]  # rounding error of sums of weights
    at = np.searchsorted(reached, wanted - slack)
    after = np.minimum(at + 1, len(values) - 1)
    exact = np.abs(reached[at] - wanted) <= slack
    return _inner(np.where(exact, between(end[at], values[after]), end[at]), values[-1])


def of_cells_with_ties(points: Points, last: Array, bins: int) -> Array:
    """Cut so that a value with more than 1/bins of the weight is a bin of its own, and the others share `bins` bins.

    At most `bins` distinct values are a bin each. Otherwise a frequent value would widen the bins beside it: of a
    column of which nine tenths are 0, quantiles make one bin or two.
    """
    if not len(points.values):
        return np.empty(0)
    values, first, place = np.unique(points.values[:, 0], return_index=True, return_inverse=True)
    return _core.tie_edges(values, last[first], _sums(place, points.weight), bins)


def of_quantiles_with_ties(values: Array, weight: Array, bins: int) -> Array:
    """Cut values as `of_cells_with_ties` does; NaN is missing.

    >>> of_quantiles_with_ties(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([9.0, 1.0, 1.0, 1.0, 1.0]), 2)
    array([0.5, 2.5])
    """
    return of_sorted_with_ties(*distinct(values, weight), bins)


def distinct(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return the distinct values in ascending order, and the weight of each; NaN is missing."""
    present = ~np.isnan(values)
    values, place = distinct_numbers(values[present])
    return values, _sums(place, weight[present])


def of_sorted_with_ties(values: Array, weight: Array, bins: int) -> Array:
    """Cut values that ascend and are distinct."""
    return _core.tie_edges(values, values, weight, bins)


def _sums(place: NDArray[np.integer], weight: Array) -> Array:
    return np.asarray(np.bincount(place, weights=weight), np.float64)


def of_least_description(points: Points, last: Array, most: int | None) -> Array:
    """Cut where a bin saves more bits in the description of the class than the description of the cut takes.

    Fayyad & Irani (1993): of all cuts of a range S of weight N, the one that leaves the least entropy is made if

        Gain > (log₂(N − 1) + log₂(3^k − 2) − k Ent(S) + k₁ Ent(S₁) + k₂ Ent(S₂)) / N

    where k, k₁, k₂ are the numbers of classes in S and its parts. Then both parts are cut in turn. The cuts that save
    the most bits are made first, until there are `most` bins.
    """
    values, first, place = np.unique(points.values[:, 0], return_index=True, return_inverse=True)
    table = np.zeros((len(values) + 1, len(points.start) - 1))
    table[place + 1, points.codes] = points.weight
    reached = np.cumsum(table, axis=0, out=table)
    queue: list[tuple[float, int, int, int]] = []  # bits saved (negative, as the heap pops the least), range, cut

    def consider(lo: int, hi: int) -> None:
        cut, saved = _best_cut(reached[lo : hi + 1])
        if saved > 0:
            heappush(queue, (-saved, lo, hi, lo + cut))

    consider(0, len(values))
    cuts: list[int] = []
    while queue and (most is None or len(cuts) < most - 1):
        _, lo, hi, cut = heappop(queue)
        cuts.append(cut)
        consider(lo, cut)
        consider(cut, hi)
    at = np.sort(np.asarray(cuts, dtype=np.int64))
    return between(last[first[at - 1]], values[at])


def _best_cut(reached: Array) -> tuple[int, float]:
    """Return the number of values to the left of the best cut, and the bits that it saves after its own cost.

    `reached` (values + 1, classes) is the weight of each class up to each value.
    """
    whole = reached[-1] - reached[0]
    if len(reached) < 3 or (whole > 0).sum() < 2:
        return 0, 0.0
    left = reached[1:-1] - reached[0]
    right = reached[-1] - reached[1:-1]
    spent = _bits(left) + _bits(right)
    # If several cuts are equally good up to rounding, take the first.
    best = int(np.argmax(spent <= spent.min() + 1e-9 * max(float(spent.min()), 1.0)))
    bits, n = float(_bits(whole[None])[0]), float(whole.sum())
    classes, entropies = [], []
    for part in (whole, left[best], right[best]):
        classes.append(int((part > 0).sum()))
        entropies.append(float(_bits(part[None])[0]) / float(part.sum()))
    k, k1, k2 = classes
    change = log2(3**k - 2) - (k * entropies[0] - k1 * entropies[1] - k2 * entropies[2])
    return best + 1, bits - float(spent[best]) - log2(max(n - 1.0, 1.0)) - change


def _bits(weight: Array) -> Array:
    """Compute the weight times the entropy of each row of class weights: Σ_k n_k log₂(n / n_k)."""
    total = weight.sum(axis=1)
    logs = np.log2(weight, out=np.zeros_like(weight), where=weight > 0)
    return total * np.log2(total, out=np.zeros_like(total), where=total > 0) - (weight * logs).sum(axis=1)


def between(a: Array, b: Array) -> Array:
    """Return the middle of a and b, or a if there is no number between them. It is at least a, and below b if a is."""
    middle = 0.5 * a + 0.5 * b
    return np.where((middle >= a) & (middle < b), middle, a)


def _inner(edges: Array, high: float) -> Array:
    """Return the distinct edges that have a value above them."""
    edges = np.unique(edges)
    return edges[edges < high]


def _after(edge: float) -> float:
    return float(np.nextafter(edge, np.inf))


def names(edges: Sequence[float]) -> list[str]:
    """Return the names of bins for people: ≤ 3, 3 – 4, > 4."""
    if not len(edges):
        return ["any"]
    # The last number before the end of a cell is shown as that end.
    edges = [after if len(repr(after)) < len(repr(edge)) - 2 else edge for edge in edges for after in (_after(edge),)]
    shown = [f"{edge:g}" for edge in edges]
    if len(set(shown)) < len(shown):  # too close for six digits
        shown = [repr(float(edge)) for edge in edges]
    inner = [f"{a} – {b}" for a, b in pairwise(shown)]
    return [f"≤ {shown[0]}", *inner, f"> {shown[-1]}"]
