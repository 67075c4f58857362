"""Several threads for work that is mostly native: kernels, Arrow and NumPy run while other threads run Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from suffice import _core

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

WORTH_THREADS = 1 << 16  # entries, below which waking threads takes longer than the work
WORTH_TURNS = 1 << 11  # entries of an item, below which threads mostly wait for their turn to run Python

NESTED = 4  # how deep work within work is: a structure, its experts, the blocks of one


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

    def work() -> None:
        before = _core.limit_threads(share)
        while (i := next(following)) < min([len(todo), *failed]):
            try:
                found[i] = function(todo[i])
            except BaseException as error:  # it is raised below, in the thread that asked
                failed[i] = error
        _core.limit_threads(before)

    helpers = _kept.threads(threads - 1)
    begun = [helpers.submit(work) for _ in range(threads - 1)]
    work()
    for each in begun:
        if not each.cancel():
            each.result()
    if failed:
        raise failed[min(failed)]
    return [found[i] for i in range(len(todo))]


class _KeptThreads:
    """Threads that wait for the next work: starting them takes as long as a little work."""

    def __init__(self) -> None:
        self._lock, self._pool, self._size = Lock(), None, 0

    _pool: ThreadPoolExecutor | None

    def threads(self, size: int) -> ThreadPoolExecutor:
        """Return a pool of at least so many threads.

        It has several times as many, which start when they are needed: work within work within work would find all
        of them taken otherwise, and run in one thread while others wait for its end.
        """
        from concurrent.futures import ThreadPoolExecutor  # commands that answer for few rows start sooner without it

        with self._lock:
            if self._pool is None or self._size < size:
                self._pool, self._size = ThreadPoolExecutor(NESTED * size, "suffice"), size
            return self._pool


_kept = _KeptThreads()


def _after_fork() -> None:
    """Forget the threads, which a forked process does not have."""
    global _kept
    _kept = _KeptThreads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
