"""What a reader may fill in or ask for of each column: a number, one of some options, or a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from suffice.families import Distribution
from suffice.families.product import ProductDistribution
from suffice.model.joint import Model


@dataclass(frozen=True)
class Input:
    """Something to fill in: a number, one of some options, or a text."""

    name: str
    kind: Literal["number", "choice", "text"]
    options: tuple[Any, ...] = ()
    closed: bool = False  # whether there can be no other option


def blocks_of(model: Model, names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...], Distribution, bool]]:
    """The title of each block, its columns, its distribution, and whether it only asks if they are there."""
    distribution, own = model.distribution, tuple(names)
    if isinstance(distribution, ProductDistribution):
        for block, part in zip(distribution.family.blocks, distribution.parts, strict=True):
            yield block.title, block.names, part, block.missing
        return
    yield ", ".join(own[:4]) + (", …" if len(own) > 4 else ""), own, distribution, False


def inputs_of(columns: tuple[str, ...], part: Distribution) -> Iterator[Input]:
    """What to fill in for the columns of a block."""
    if part.reads == "text":
        yield Input(columns[0], "text")
        return
    if part.column_support(0).values:
        yield from (Input(name, "choice", part.column_support(0).values, closed=True) for name in columns)
        return
    for name, known in part.known_values(columns).items():
        numbers = all(isinstance(key, (int, float)) and not isinstance(key, bool) for key in known)
        yield Input(name, "number") if numbers else Input(name, "choice", known)
