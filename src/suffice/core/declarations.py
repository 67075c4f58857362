"""What a field of a stored class may hold, beside its type: see `core.validation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

Size: TypeAlias = str | int | tuple[str | int, ...] | None  # a name, "name+1", a number, any, or one of several

MOST_INTEGER = 2**63 - 1  # kernels take integers of 64 bits


def is_too_large(value: object) -> bool:
    """Return whether a value is an integer of more than 64 bits."""
    return isinstance(value, Integral) and not -MOST_INTEGER <= int(value) <= MOST_INTEGER


@dataclass(frozen=True, init=False)
class Held:
    """What a number or the numbers of an array may be. Numbers are finite, unless they may be `missing`.

    Parameters
    ----------
    shape : str, int, None or tuple of these
        The lengths of an array along its axes: the name of a size, "name+1", a number, None for any length, or several
        of which it is one. Without a shape an array may have any.
    least, most, above, under
        Numbers lie between `least` and `most`, are larger than `above` and smaller than `under`.
    missing
        NaN is allowed: it stands for a missing value.
    below
        Integers lie between 0 and the size of that name − 1.
    fills
        An array of starts: it ascends from 0 to the size of that name.
    size
        The integer is the size of that name.
    given
        Options as users give them: numbers of any type, and lists and tuples instead of arrays.
    """

    shape: tuple[Size, ...] | None
    least: float = -np.inf
    most: float = np.inf
    above: float | None = None
    under: float | None = None
    missing: bool = False
    below: str | None = None
    fills: str | None = None
    size: str | None = None
    given: bool = False

    def __init__(self, *shape: Size, **options: Any):
        object.__setattr__(self, "shape", shape or None)
        for name, value in options.items():
            object.__setattr__(self, name, value)

    @property
    def range(self) -> str:
        """The range in words."""
        if self.above is not None:
            upper = f" and at most {self.most}" if self.most < np.inf else ""
            return f" above {self.above}{upper if self.under is None else f' and below {self.under}'}"
        if self.most < np.inf:
            return f" from {self.least} to {self.most}"
        return f" ≥ {self.least}" if self.least > -np.inf else ""

    def holds(self, low: Any, high: Any) -> bool:
        """Return whether numbers between `low` and `high` are allowed; NaN is not."""
        if not (self.least <= low and high <= self.most and -np.inf < low and high < np.inf):
            return False
        return (self.above is None or bool(low > self.above)) and (self.under is None or bool(high < self.under))


@dataclass(frozen=True)
class Labels:
    """Labels or categories: an array of one axis, strictly ascending, all strings or all numbers."""

    size: str | None = None


@dataclass(frozen=True, init=False)
class Agrees:
    """Sizes of a part, or of each of several parts, that are those of its owner."""

    names: tuple[str, ...]

    def __init__(self, *names: str):
        object.__setattr__(self, "names", names)


@dataclass(frozen=True)
class CheckedIn:
    """A field that no type describes: the method of that name checks it."""

    method: str


@dataclass
class Sizes:
    """The sizes of an object by name: those that are known, and the least that the others must be."""

    known: dict[str, int] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)  # the field that asks for the least size
    of: SizesOf = lambda _: None  # returns the sizes of a part
    field: str = ""  # that is checked

    def set(self, name: str, size: int) -> None:
        """Note a size; refuse another one than is known."""
        if self.known.setdefault(name, size) != size:
            raise MisfitError(f"of {self.known[name]} {name}", f"{size} {name}")

    def require(self, name: str, size: int) -> None:
        """Note that a size must be at least so large."""
        if size > self.least.get(name, -1):
            self.least[name], self.codes[name] = size, self.field

    def check_least(self) -> None:
        """Refuse codes that are not below the size that they are codes of."""
        for name, least in self.least.items():
            if name in self.known and least > self.known[name]:
                self.field = self.codes[name]
                raise MisfitError(f"codes below the number of {name}, {self.known[name]}", f"code {least - 1}")


class MisfitError(Exception):
    """A value that is not what was declared: where in the field it is, what was expected, what was found."""

    def __init__(self, expected: str | Callable[[], str], found: str | Callable[[], str]):
        super().__init__(expected, found)
        self._expected, self._found, self.inside = expected, found, ""

    @property
    def expected(self) -> str:
        """What was expected; put in words only if it is asked for, as most values fit another rule."""
        return self._expected if isinstance(self._expected, str) else self._expected()

    @property
    def found(self) -> str:
        """What was found."""
        return self._found if isinstance(self._found, str) else self._found()

    def within(self, key: object) -> MisfitError:
        """Return the same for the value that has this one at `key`."""
        self.inside = f".{key}{self.inside}"
        return self


SizesOf: TypeAlias = Callable[[object], Sizes | None]
