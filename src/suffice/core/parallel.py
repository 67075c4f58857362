"""Several threads for work that is mostly native: kernels, Arrow and NumPy run while other threads run Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from suffice import _core

T = TypeVar("T")
R = TypeVar("R")

WORTH_THREADS = 1 << 16  # entries, below which starting threads takes longer than the work
WORTH_TURNS = 1 << 11  # entries of an item, below which threads mostly wait for their turn to run Python


def in_threads(function: Callable[[T], R], items: Iterable[T], entries: int) -> list[R]:
    """Return the results for all items, in their order; in threads if there are so many `entries` that it is worth it.

    If some fail, the error of the first of them is raised.
    """
    todo = list(items)
    threads = min(_core.max_threads(), len(todo))
    if threads < 2 or entries < max(WORTH_THREADS, WORTH_TURNS * len(todo)):
        return [function(item) for item in todo]
    from concurrent.futures import ThreadPoolExecutor  # commands that answer for few rows start sooner without it

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, todo))
