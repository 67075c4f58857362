"""Estimators that several threads use: one of them learns at a time, and answers wait for none.

What was learned is replaced in one step, by a single assignment. So an answer comes from what was known before or after
a step of learning, never from a mixture.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")

# The locks are kept beside the estimators, not in them: they are not copied, pickled or compared with them.
_locks: dict[int, threading.RLock] = {}
_guard = threading.Lock()


def lock_of(estimator: object) -> threading.RLock:
    """Return the lock of an estimator, which a thread holds while it learns."""
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


@contextmanager
def learning(estimator: E) -> Iterator[E]:
    """Lock an estimator, give a copy of it to learn with, and take over what that has learned unless something fails.

    Attributes that others set meanwhile, such as parameters, stay as they are set.
    """
    with lock_of(estimator):
        draft = snapshot(estimator)
        before = draft.__dict__.copy()
        yield draft
        after, now = draft.__dict__, estimator.__dict__
        changed = {name: value for name, value in after.items() if value is not before.get(name, draft)}
        estimator.__dict__ = {n: v for n, v in now.items() if n in after or n not in before} | changed


def answering(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method answer from the estimator as it is when it is asked."""

    @wraps(method)
    def answer(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return method(self._now(), *args, **options)

    return answer
