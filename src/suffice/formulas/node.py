"""The base class of all parts of a formula: a tree that can be walked and written as JSON."""

from __future__ import annotations

from abc import ABC
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias, dataclass_transform

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Reads: TypeAlias = Literal["number", "category"]
Json: TypeAlias = Any  # dicts, lists, strings, numbers, booleans and None
Packing: TypeAlias = Callable[[Array], "dict[str, Json] | None"]  # a shorter form of some arrays, None for others


@dataclass_transform(frozen_default=True, eq_default=False)
class Node(ABC):
    """Part of a formula: a frozen dataclass, compared by identity, and written as JSON field by field.

    `converts` says how fields are converted, by name.
    """

    op: ClassVar[str]  # its name in JSON
    converts: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.op = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")
        dataclass(frozen=True, eq=False)(cls)

    def __post_init__(self) -> None:
        for name, convert in self.converts.items():
            object.__setattr__(self, name, convert(getattr(self, name)))

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return the node as JSON. Infinite numbers are strings, such as "-Infinity".

        If `packed` returns a shorter form of an array, that is written instead.
        """
        named = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]  # all are dataclasses
        return {"op": self.op} | {name: to_json(value, packed) for name, value in named}

    def parts(self) -> Iterator[Node]:
        """Yield the nodes directly below this one."""
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]  # all are dataclasses
            value = getattr(self, name)
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Node):
                    yield each

    def walk(self) -> Iterator[Node]:
        """Yield the node itself and all nodes below it."""
        yield self
        for part in self.parts():
            yield from part.walk()

    def reads(self) -> dict[str, Reads]:
        """Return the columns that are read, as numbers or as categories. A test for missing values does not read."""
        found: dict[str, Reads] = {}
        for node in self.walk():
            found.update(node._columns_read())
        return found

    def _columns_read(self) -> dict[str, Reads]:
        return {}


def to_json(value: object, packed: Packing | None = None) -> Json:
    """Return numbers, arrays, tuples and nodes as JSON; infinite numbers and NaN as strings."""
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


def smallest_codes(n: int) -> str:
    """Return the smallest type of integers that holds 0 … n − 1."""
    return "<u1" if n <= 1 << 8 else "<u2" if n <= 1 << 16 else "<u4"


def in_base64(array: NDArray[Any], dtype: str) -> str:
    """Return the bytes of an array as base64 text."""
    return b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")
