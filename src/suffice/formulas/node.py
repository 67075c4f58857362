"""What all parts of a formula have in common: a tree to walk through, and JSON."""

from __future__ import annotations

from abc import ABC
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Reads: TypeAlias = Literal["number", "category"]
Packing: TypeAlias = Callable[[Array], "dict[str, Any] | None"]  # a shorter way to write some arrays


class Node(ABC):
    """Part of a formula: frozen, comparable by identity only, and written as JSON field by field."""

    op: ClassVar[str]  # what it is called in JSON

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.op = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")

    def to_json(self, packed: Packing | None = None) -> dict[str, Any]:
        """As dicts, lists, strings and numbers; infinite ones are strings, "-Infinity", which JSON lacks.

        Where `packed` makes something of an array, that is written instead.
        """
        named = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]  # all are dataclasses
        return {"op": self.op} | {name: to_json(value, packed) for name, value in named}

    def parts(self) -> Iterator[Node]:
        """The nodes directly below this one."""
        for field in fields(self):  # type: ignore[arg-type]  # all are dataclasses
            value = getattr(self, field.name)
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Node):
                    yield each

    def walk(self) -> Iterator[Node]:
        """The node itself and all below it."""
        yield self
        for part in self.parts():
            yield from part.walk()

    def reads(self) -> dict[str, Reads]:
        """The columns read, and whether as numbers or as categories; what is only asked to be there is not read."""
        found: dict[str, Reads] = {}
        for node in self.walk():
            found.update(node._own())
        return found

    def _own(self) -> dict[str, Reads]:
        return {}


def to_json(value: Any, packed: Packing | None = None) -> Any:
    """Numbers, arrays, tuples and nodes as JSON has them; infinite and undefined numbers as strings."""
    if isinstance(value, Node):
        return value.to_json(packed)
    if isinstance(value, np.ndarray):
        short = None if packed is None else packed(value)
        return to_json(value.tolist()) if short is None else short
    if isinstance(value, (list, tuple)):
        return [to_json(each, packed) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


def in_base64(array: NDArray[Any], dtype: str) -> str:
    """Write the bytes of an array as text."""
    return b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
