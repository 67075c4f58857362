"""The schema of a table: which family each column gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import ColumnProfile
from suffice.core.frames.frame import listed
from suffice.core.frames.profile import ENOUGH
from suffice.core.priors import Dirichlet
from suffice.core.statistics.cells import LIMIT
from suffice.families import Family, Table
from suffice.families import named as family_named
from suffice.families.choose import Automatic, AutomaticBernoulli, AutomaticCategorical, ChosenDistribution, Smoothing
from suffice.families.product import Block, ProductDistribution
from suffice.families.text import Text

FREE_TEXT = 30  # mean number of characters, above which a column of mostly distinct strings is text
WIDE = 300  # columns, above which fewer families are tried for each
DISTINCT = 0.9  # share of distinct values, from which on strings are texts or identifiers

FITS = {
    "numbers": ("bool", "number", "category", "empty"),
    "categories": ("bool", "number", "text", "category", "empty"),
    "text": ("text", "category", "empty"),
}
SUITED = {
    "text": "Categorical, JointCategorical, Text",
    "category": "Categorical, JointCategorical",
    "bool": "Bernoulli, Categorical",
    "number": "Gaussian, Kernel, Mixture, Binned, Poisson, Categorical and the other families of numbers",
}


@dataclass(frozen=True)
class Schema:
    """The blocks of columns, the columns left out with the reasons, and the columns of integers."""

    blocks: tuple[Block, ...]
    left_out: dict[str, str]
    whole: tuple[str, ...]


def infer(
    columns: Mapping[str, ColumnProfile],
    families: Mapping[Any, Any] | None,
    smoothing: Smoothing = 1.0,
    missing: Literal["ignore", "informative"] = "ignore",
    limit: int | None = LIMIT,
) -> Schema:
    """Give every column a family: the one that the user named, or one by its type."""
    blocks: list[Block] = []
    named: set[str] = set()
    left_out: dict[str, str] = {}
    for key, family in (families or {}).items():
        names = tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)
        for name in names:
            if name in named:
                raise InvalidOptionError(f"families names column {name!r} twice: a column can only be in one block")
            if name not in columns:
                raise InvalidDataError(f"There is no column {name!r}: the columns are {listed(list(columns))}")
            named.add(name)
        if family is None:
            left_out.update((name, "left out as asked") for name in names)
            continue
        if family == "auto":
            named.difference_update(names)
            continue
        if isinstance(family, str):
            family = family_named(family)()
        if not isinstance(family, Family):
            raise InvalidOptionError(
                f"families: {key!r} must have a family, the name of one, 'auto' or None, found {family!r}"
            )
        _check_fits(columns, names, family)
        blocks.append(Block(names, family))
    number = Automatic(smoothing, limit=limit, few=len(columns) > WIDE)  # one for all columns of numbers
    for name, profile in columns.items():
        if name in named:
            continue
        found = by_type(profile, smoothing, number)
        if isinstance(found, str):
            left_out[name] = found
        else:
            blocks.append(Block.of_column(name, found))
    order = {name: i for i, name in enumerate(columns)}
    blocks.sort(key=lambda block: order[block.names[0]])
    if missing == "informative":
        blocks += [Block((name,), AutomaticBernoulli(smoothing), missing=True) for b in blocks for name in b.names]
    if not blocks:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items()) or "the table has no columns"
        raise InvalidDataError(f"No column is left to learn from: {why}")
    return Schema(tuple(blocks), left_out, tuple(name for name, profile in columns.items() if profile.is_integer))


def by_type(profile: ColumnProfile, smoothing: Smoothing, number: Automatic) -> Family[Any] | str:
    """Return the family of a column that the user did not name, `number` for numbers, or the reason to leave it out."""
    kind = profile.kind
    if kind == "bool":
        return AutomaticBernoulli(smoothing)
    if kind == "number":
        if profile.is_row_number:
            return "it numbers the rows"
        return number
    if kind == "category":
        return AutomaticCategorical(smoothing)
    if kind == "text":
        return _text_family(profile, smoothing)
    if kind == "date":
        return f"{profile.type} is a time: turn it into numbers or categories, such as the month"
    if kind == "empty":
        return "it holds no value"
    return f"{profile.type} is not supported: turn it into numbers or text"


def _text_family(profile: ColumnProfile, smoothing: Smoothing) -> Family[Any] | str:
    """Return categories, or text if most values are distinct and long; distinct short values are identifiers."""
    present = profile.n_present
    distinct = profile.n_distinct if present >= ENOUGH else 0
    if present < ENOUGH or distinct < DISTINCT * present:
        return AutomaticCategorical(smoothing)
    if profile.mean_length > FREE_TEXT:
        return Text(prior=Dirichlet(1.0 if smoothing == "auto" else smoothing))
    return f"{distinct} of {present} values differ: it names the rows"


def _check_fits(columns: Mapping[str, ColumnProfile], names: tuple[str, ...], family: Family[Any]) -> None:
    for name in names:
        kind = columns[name].kind
        if kind not in FITS[family.reads]:
            fitting = SUITED.get(kind, "none: turn it into numbers or text first")
            raise InvalidOptionError(
                f"{type(family).__name__} reads {family.reads}, but column {name!r} holds {columns[name].type}. "
                f"Families that would fit: {fitting}"
            )


def describe(found: ProductDistribution, schema: Schema | None) -> Table:
    """Return a row for each block: its family, whether it votes, and its information about the class by itself."""
    names, cells = [], []
    for block, part in zip(found.family.blocks, found.parts, strict=True):
        names.append(block.title)
        if isinstance(part, ChosenDistribution):
            gain = max(part.score - part.chance, 0.0) / np.log(2)
            note = "" if part.votes else "it tells no more than chance would"
            cells.append([part.choice.name, "yes" if part.votes else "no", f"{gain:.4f}", note])
        else:
            note = "its parameters are integrated out" if block.family.learn == "predictive" else ""
            cells.append([type(block.family).__name__, "yes", "", note])
    for name, reason in (schema.left_out if schema is not None else {}).items():
        names.append(name)
        cells.append(["", "left out", "", reason])
    return Table("column", names, ["family", "votes", "bits", "note"], np.array(cells, dtype=object))
