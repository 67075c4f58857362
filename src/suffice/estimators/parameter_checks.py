"""What the parameters of an estimator may be, declared beside it and checked before it learns.

>>> from numbers import Real
>>> check("MultinomialNB", {"alpha": (interval(Real, 0), ARRAY_LIKE)}, {"alpha": -1})
Traceback (most recent call last):
    ...
suffice.core.errors.InvalidOptionError: The 'alpha' parameter of MultinomialNB must be a float in the range ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.core.declarations import is_too_large
from suffice.core.errors import InvalidOptionError


@dataclass(frozen=True)
class Constraint:
    """Some values, and what to call them in an error."""

    accepts: Callable[[Any], bool]
    title: str


# A type, a constraint, or None for None itself; a parameter may be any of several.
Allowed: TypeAlias = tuple[type | Constraint | None, ...]


def interval(
    kind: type, low: float | None = None, high: float | None = None, closed: Literal["left", "both", "neither"] = "left"
) -> Constraint:
    """Allow numbers from `low` to `high`; a bound that is None is infinite. `closed` bounds are allowed themselves."""
    left: Any = -np.inf if low is None else low
    right: Any = np.inf if high is None else high

    def accepts(value: Any) -> bool:
        if not isinstance(value, kind) or is_too_large(value):
            return False
        above = left < value if closed == "neither" else left <= value
        return bool(above and (value <= right if closed == "both" else value < right))

    bounds = [each if kind is Integral or not np.isfinite(each) else float(each) for each in (left, right)]
    opened, ended = "(" if closed == "neither" else "[", "]" if closed == "both" else ")"
    name = "an int" if kind is Integral else "a float"
    return Constraint(accepts, f"{name} in the range {opened}{bounds[0]}, {bounds[1]}{ended}")


def choice(*options: str) -> Constraint:
    """Allow some strings."""
    listed = ", ".join(map(repr, sorted(options)))
    return Constraint(lambda value: isinstance(value, str) and value in options, f"a str among {{{listed}}}")


def has_method(name: str) -> Constraint:
    """Allow objects that have a method."""
    return Constraint(lambda value: callable(getattr(value, name, None)), f"an object implementing {name!r}")


def _is_array_like(value: Any) -> bool:
    sized = hasattr(value, "__len__") or hasattr(value, "shape") or hasattr(value, "__array__")
    return sized and not isinstance(value, (str, bytes, dict)) and not np.isscalar(value)


ARRAY_LIKE = Constraint(_is_array_like, "an array-like")
BOOLEAN = Constraint(
    lambda value: isinstance(value, (bool, np.bool_)), "an instance of 'bool' or an instance of 'numpy.bool'"
)
CALLABLE = Constraint(callable, "a callable")
RANDOM_STATE: Allowed = (interval(Integral, 0, 2**32 - 1, "both"), np.random.RandomState, None)


def check(owner: str, allowed: Mapping[str, Allowed], values: Mapping[str, Any]) -> None:
    """Refuse a parameter that is none of what is allowed."""
    for name, kinds in allowed.items():
        value = values[name]
        if not any(_accepts(kind, value) for kind in kinds):
            *others, last = map(_title, kinds)
            what = f"{', '.join(others)} or {last}" if others else last
            bits = ", of more than 64 bits" if is_too_large(value) else ""
            raise InvalidOptionError(f"The {name!r} parameter of {owner} must be {what}. Got {value!r}{bits} instead.")


def _accepts(kind: type | Constraint | None, value: Any) -> bool:
    if kind is None:
        return value is None
    return kind.accepts(value) if isinstance(kind, Constraint) else isinstance(value, kind)


def _title(kind: type | Constraint | None) -> str:
    if kind is None:
        return "None"
    if isinstance(kind, Constraint):
        return kind.title
    home = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"an instance of {f'{home}{kind.__qualname__}'!r}"
