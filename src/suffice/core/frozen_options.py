"""Dataclasses that may hold arrays: records, and the frozen options of priors and families."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache, cached_property
from typing import Any, Self

import numpy as np

from suffice.core.arrays import Codes
from suffice.core.errors import MismatchError
from suffice.core.registry import Registered
from suffice.core.validation import check_options


def same_options(a: Any, b: Any) -> bool:
    """Return whether two options are equal; they may be arrays, tuples, records or estimators."""
    if isinstance(a, Record) or isinstance(b, Record):
        return bool(a == b)
    if hasattr(a, "get_params") and type(a) is type(b):  # a scikit-learn estimator as an option
        mine, theirs = a.get_params(), b.get_params()
        return all(same_options(value, theirs[name]) for name, value in mine.items())
    if isinstance(a, tuple) and isinstance(b, tuple):  # their parts may differ in shape
        return len(a) == len(b) and all(map(same_options, a, b))
    if a is b:
        return True
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all(a == b))  # array_equal of NumPy 2.0 fails with a number and a string


class Record(Registered):
    """A frozen dataclass, equal to another if all the fields that are compared are equal; fields may be arrays."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        compared = [f.name for f in fields(self) if f.compare]  # type: ignore[arg-type]  # every subclass is a dataclass
        return all(same_options(getattr(self, name), getattr(other, name)) for name in compared)

    __hash__ = None  # type: ignore[assignment]  # equality compares arrays


_field_names: Callable[[Any], tuple[str, ...]] = cache(lambda cls: tuple(f.name for f in fields(cls)))


class Options(Record):
    """Frozen options of a prior or family."""

    @classmethod
    def _made(cls, *values: Any) -> Self:
        """Make an instance without the checks of its constructor, from values that need none."""
        made = object.__new__(cls)
        made.__dict__.update(zip(_field_names(cls), values, strict=True))
        return made

    def __post_init__(self) -> None:
        check_options(self)

    def of_rows(self, codes: Codes) -> Self:
        """Return the options of the class of each row: arrays (classes, columns) become (rows, columns)."""
        values = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return self._made(*(np.asarray(v)[codes] if np.ndim(v) == 2 and len(v) > 1 else v for v in values))

    @cached_property
    def width(self) -> int | None:
        """The number of columns that the options are for; None if they are for any."""
        values = (getattr(self, name) for name in _field_names(type(self)))
        given = [v for v in values if isinstance(v, (np.ndarray, list, tuple))]
        return self._only(np.shape(v)[-1] for v in given if np.ndim(v))

    def height(self) -> int | None:
        """Return the number of classes that the options are for; None if they are for any."""
        return self._only(np.shape(v)[0] for v in vars(self).values() if isinstance(v, np.ndarray) and v.ndim > 1)

    def _only(self, sizes: Iterable[int]) -> int | None:
        """Return the one size that is not 1; None if all are 1."""
        found = sorted(set(sizes) - {1})
        if len(found) > 1:
            raise MismatchError(
                f"{type(self).__name__}: options for {found[0]} and for {found[1]} do not fit each other"
            )
        return found[0] if found else None
