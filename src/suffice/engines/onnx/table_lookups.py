"""Numbers that are looked up in constants, for several tables at once.

A table of a class begins where that of the class before ends, and so do the tables of members. So the place of a number
is an integer, and one operator fetches all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array
from suffice.engines.onnx.graph import Tensor

Numbers: TypeAlias = NDArray[Any]  # float64 or int64


def choose_numbers(index: Tensor, tables: Sequence[Numbers]) -> Tensor:
    """Return the numbers of `tables`, (classes or 1, entries) each, at positions (rows, classes or 1, members)."""
    classes = max(len(table) for table in tables)
    whole = np.concatenate([np.broadcast_to(table, (classes, table.shape[1])) for table in tables], axis=1)
    starts = np.cumsum([0, *(table.shape[1] for table in tables)][:-1], dtype=np.int64)
    first = np.arange(classes, dtype=np.int64)[:, None] * whole.shape[1] + starts
    place = index + first[None] if first.any() else index
    return index.graph.constant(whole.reshape(-1)).gather(place, axis=0)


def edges_below(x: Tensor, edges: Sequence[Array]) -> Tensor:
    """Return how many edges of each member are below x, (rows, classes or 1, members); NaN has none below it.

    It is found by bisection: a step asks whether the edge in the middle of those that are left is below x.
    """
    steps = max(map(len, edges), default=0).bit_length()
    size = (1 << steps) - 1
    whole = np.full((len(edges), size), np.inf)
    for row, own in zip(whole, edges, strict=True):
        row[: len(own)] = own
    start = np.arange(len(edges), dtype=np.int64)[None, None] * size
    if not steps:
        return x.is_nan().cast(np.int64) * np.int64(0)
    flat, place = x.graph.constant(whole.reshape(-1)), x.graph.constant(start)
    for half in (1 << k for k in reversed(range(steps))):
        below = flat.gather(place + np.int64(half - 1), axis=0) < x
        place = below.where(place + np.int64(half), place)
    return place - start


def position_among(x: Tensor, keys: Sequence[Array]) -> Tensor:
    """Return the positions of numbers among the keys of each member; that after the last if there is none."""
    order = [np.argsort(own, kind="stable") for own in keys]
    ascending = [own[by] for own, by in zip(keys, order, strict=True)]
    place = edges_below(x, ascending)
    found = choose_numbers(place, [np.append(own, np.nan)[None] for own in ascending])
    at = choose_numbers(place, [np.append(by, len(by))[None].astype(np.int64) for by in order])
    last = np.array([len(own) for own in keys], dtype=np.int64)[None, None]
    return found.equals(x).where(at, last)
