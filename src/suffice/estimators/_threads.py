"""Estimators that several threads use: one of them learns at a time, and answers wait for none.

What was learned is replaced in one step, by a single assignment. So an answer comes from what was known before or after
a step of learning, never from a mixture.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")

# The locks are kept beside the estimators, not in them: they are not copied, pickled or compared with them.
_locks: dict[int, threading.RLock] = {}
_guard = threading.Lock()


def lock_of(estimator: object) -> threading.RLock:
    """Return the lock of an estimator, which a thread holds while it learns."""
    lock = _locks.get(id(estimator))
    if lock is not None:
        return lock
    with _guard:
        lock = _locks.get(id(estimator))
        if lock is None:
            lock = _locks[id(estimator)] = threading.RLock()
            weakref.finalize(estimator, _locks.pop, id(estimator), None).atexit = False
    return lock


def _after_fork() -> None:
    """Make new locks in a process that was forked: threads that held the old ones are not there."""
    global _guard
    _guard = threading.Lock()
    for key in list(_locks):
        _locks[key] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def snapshot(estimator: E) -> E:
    """Return the estimator as it is at this moment: what is learned later does not change it."""
    made = object.__new__(type(estimator))
    made.__dict__.update(estimator.__dict__)
    return made


class learning(Generic[E]):  # noqa: N801  # used as a function: a generator would take twice the time for one row
    """Lock an estimator, give a copy of it to learn with, and take over what that has learned unless something fails.

    Attributes that others set meanwhile, such as parameters, stay as they are set.
    """

    __slots__ = ("before", "draft", "estimator", "lock")

    def __init__(self, estimator: E):
        self.estimator = estimator

    def __enter__(self) -> E:
        self.lock = lock_of(self.estimator)
        self.lock.acquire()
        self.draft = draft = snapshot(self.estimator)
        self.before = draft.__dict__.copy()
        return draft

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            if failed is None:
                self._take_over()
        finally:
            self.lock.release()

    def _take_over(self) -> None:
        before, after, made = self.before, self.draft.__dict__, self.estimator.__dict__.copy()
        gone = len(before)
        for name, value in after.items():
            known = before.get(name, self)
            gone -= known is not self
            if value is not known:
                made[name] = value
        if gone:
            for name in before.keys() - after.keys():
                made.pop(name, None)
        self.estimator.__dict__ = made


def answering(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method answer from the estimator as it is when it is asked."""

    @wraps(method)
    def answer(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return method(self._now(), *args, **options)

    return answer
