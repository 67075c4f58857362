"""Frozen options of priors and families."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np

from suffice.core.arrays import Codes
from suffice.core.errors import InvalidOptionError
from suffice.core.registry import Registered


def same_options(a: Any, b: Any) -> bool:
    """Compare options, which may be arrays."""
    if isinstance(a, Options) or isinstance(b, Options):
        return bool(a == b)
    if hasattr(a, "get_params") and type(a) is type(b):  # a scikit-learn estimator as an option
        mine, theirs = a.get_params(), b.get_params()
        return all(same_options(value, theirs[name]) for name, value in mine.items())
    if isinstance(a, tuple) and isinstance(b, tuple):  # of which some may be longer than others
        return len(a) == len(b) and all(map(same_options, a, b))
    return a is b or (np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b))))


class Options(Registered):
    """Frozen options that are equal where all their fields are, arrays included."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]  # every subclass is a dataclass
        return all(same_options(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # equality looks into arrays

    @classmethod
    def _made(cls, *values: Any) -> Self:
        """The same kind with fields that follow from checked ones, and so need no check."""
        made = object.__new__(cls)
        for field, value in zip(fields(cls), values, strict=True):  # type: ignore[arg-type]
            object.__setattr__(made, field.name, value)
        return made

    def _require_non_negative(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            number = np.asarray(np.nan if value is None else value, dtype=np.float64)
            if value is not None and not np.all((number >= 0) & np.isfinite(number)):
                raise InvalidOptionError(f"{type(self).__name__} needs a finite {name} ≥ 0, found {value}")

    def of_rows(self, codes: Codes) -> Self:
        """The options of each row's class: what is given for each class, (classes, …), becomes (rows, …)."""
        values = (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return self._made(*(np.asarray(v)[codes] if np.ndim(v) == 2 and len(v) > 1 else v for v in values))

    def width(self) -> int | None:
        """How many columns the options are for, where they say."""
        values = (v for v in vars(self).values() if isinstance(v, (np.ndarray, list, tuple)))
        sizes = {np.shape(v)[-1] for v in values if np.ndim(v)} - {1}
        return max(sizes) if sizes else None
