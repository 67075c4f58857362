"""Several threads for work that is mostly native: kernels, Arrow and NumPy run while other threads run Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import count
from threading import Lock, local
from typing import TYPE_CHECKING, TypeVar

from suffice import _core

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

WORTH_THREADS = 1 << 16  # entries, below which waking threads takes longer than the work
WORTH_TURNS = 1 << 11  # entries of an item, below which threads mostly wait for their turn to run Python


def in_threads(function: Callable[[T], R], items: Iterable[T], entries: int) -> list[R]:
    """Return the results for all items, in their order; in threads if there are so many `entries` that it is worth it.

    If some fail, the error of the first of them is raised. This thread works as well, and waits for no thread that has
    not begun: so a function may itself use threads. It gets twice its share of all of them, as items differ in length.
    """
    todo = list(items)
    threads = min(_core.max_threads(), len(todo))
    if threads < 2 or entries < max(WORTH_THREADS, WORTH_TURNS * len(todo)):
        return [function(item) for item in todo]
    found: dict[int, R] = {}
    failed: dict[int, BaseException] = {}
    following = count()
    share = -(-2 * _core.max_threads() // threads)
    depth = getattr(_within, "depth", 0)

    def work() -> None:
        before, _within.depth = _core.limit_threads(share), depth + 1
        while (i := next(following)) < min([len(todo), *failed]):
            try:
                found[i] = function(todo[i])
            except BaseException as error:  # it is raised below, in the thread that asked
                failed[i] = error
        _core.limit_threads(before)
        _within.depth = depth

    helpers = _kept.threads(threads - 1, depth)
    begun = [helpers.submit(work) for _ in range(threads - 1)]
    work()
    for each in begun:
        if not each.cancel():
            each.result()
    if failed:
        raise failed[min(failed)]
    return [found[i] for i in range(len(todo))]


class _KeptThreads:
    """Threads that wait for the next work: starting them takes as long as a little work.

    Work within work has threads of its own. It would find all others taken, and run in one thread while these wait.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._pools: dict[int, tuple[int, ThreadPoolExecutor]] = {}

    def threads(self, size: int, depth: int) -> ThreadPoolExecutor:
        """Return a pool of at least so many threads, for work within so much other work."""
        from concurrent.futures import ThreadPoolExecutor  # commands that answer for few rows start sooner without it

        with self._lock:
            known, pool = self._pools.get(depth, (0, None))
            if pool is None or known < size:
                pool = ThreadPoolExecutor(size, "suffice")
                self._pools[depth] = size, pool
            return pool


_within = local()  # its depth is how much work a thread is within
_kept = _KeptThreads()


def _after_fork() -> None:
    """Forget the threads, which a forked process does not have."""
    global _kept
    _kept = _KeptThreads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
