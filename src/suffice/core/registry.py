"""Classes by name: model files, the command line and `families="…"` find a class by the name it was defined with.

>>> class Example(Registered):
...     pass
>>> find("Example") is Example, names(Example)
(True, [])
"""

from __future__ import annotations

from typing import Any, TypeVar

C = TypeVar("C", bound=type)
T = TypeVar("T")

_CLASSES: dict[str, type] = {}  # a file names a class without saying what it is, so there is one table for all
_NAMES: dict[type, str] = {}


class Registered:
    """Register every subclass when it is defined: under its name, or as "Y" if it is `class X(Base, stored_as="Y")`."""

    def __init_subclass__(cls, stored_as: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if cls._is_complete():
            register(cls, stored_as)

    @classmethod
    def _is_complete(cls) -> bool:
        """Tell whether the class can be used as it is; one that cannot is not registered."""
        return True


def register(cls: C, name: str | None = None) -> C:
    """Register a class under `name`, by default its own without leading underscores; also a decorator.

    A second class of the same name is refused, unless it comes from the same module: a cell of a notebook that is run
    again, and a class that arrives in a worker, replace the class that was defined before.
    """
    name = name or cls.__name__.lstrip("_")
    before = _CLASSES.get(name)
    if before is not None and before.__module__ != cls.__module__:
        raise TypeError(
            f"{cls.__module__}.{cls.__qualname__} needs another name: {before.__module__}.{before.__qualname__} is "
            f"registered as {name!r}, and files know classes by name"
        )
    if before is not None:
        _NAMES.pop(before, None)
    _CLASSES[name] = cls
    _NAMES[cls] = name
    return cls


def find(name: str, base: type[T] | None = None) -> type[T] | None:
    """Find the class registered under `name`; None if there is none, or it is not a subclass of `base`."""
    cls = _CLASSES.get(name)
    return cls if cls is not None and issubclass(cls, base or object) else None


def name_of(cls: type) -> str | None:
    """Return the name a class is registered under; None if it is not, or if another class has taken its name."""
    return _NAMES.get(cls)


def names(base: type = object) -> list[str]:
    """List the names of the registered subclasses of `base`, sorted; `base` itself is left out."""
    return sorted(name for name, cls in _CLASSES.items() if issubclass(cls, base) and cls is not base)
