"""The schema of a table: which family each column gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import ColumnProfile, ColumnReading, Frame, with_readings
from suffice.core.frames.frame import listed
from suffice.core.frames.profile import ENOUGH
from suffice.core.statistics.cells import LIMIT
from suffice.families import Family, Table
from suffice.families import named as family_named
from suffice.families.automatic_text import AutomaticText
from suffice.families.choose import Automatic, AutomaticBernoulli, AutomaticCategorical, Smoothing
from suffice.families.chosen import ColumnDecision
from suffice.families.product import Block, ProductDistribution

FREE_TEXT = 30  # mean number of characters, above which a column of mostly distinct strings is text
AS_ASKED = "left out as asked"
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
    """The blocks of columns, the columns left out with the reasons, the columns of integers, and how some are read."""

    blocks: tuple[Block, ...]
    left_out: dict[str, str]
    whole: tuple[str, ...]
    readings: tuple[ColumnReading, ...] = ()
    columns: tuple[str, ...] = ()  # of the training table, in their order

    def columns_in(self, frame: Frame) -> Frame:
        """Return a table with the columns that the blocks name: some are read from others."""
        return with_readings(frame, self.readings)


def infer(
    columns: Mapping[str, ColumnProfile],
    families: Mapping[Any, Any] | None,
    smoothing: Smoothing = 1.0,
    missing: Literal["ignore", "informative"] = "ignore",
    limit: int | None = LIMIT,
) -> Schema:
    """Give every column a family: the one that the user named, or one by its type.

    Columns of strings and times that hold numbers are read first, each as one column or more.
    """
    wanted, names = _wanted(families), tuple(columns)
    columns, readings = _read(columns, wanted)
    blocks: list[Block] = []
    named: set[str] = set()
    left_out: dict[str, str] = {}
    for key, family in wanted.items():
        named.update(key)
        if family is None:
            left_out.update((name, AS_ASKED) for name in key)
            continue
        _check_fits(columns, key, family)
        blocks.append(Block(key, family))
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
        parts = {each.name: each.source for each in readings}  # the parts of a date are missing together
        once = {parts.get(name, name): name for block in blocks for name in block.names}
        blocks += [Block((name,), AutomaticBernoulli(smoothing), missing=True) for name in once.values()]
    if not blocks:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items()) or "the table has no columns"
        raise InvalidDataError(f"No column is left to learn from: {why}")
    used = {name for block in blocks for name in block.names}
    whole = tuple(name for name, profile in columns.items() if profile.is_integer)
    return Schema(tuple(blocks), left_out, whole, tuple(each for each in readings if each.name in used), names)


def _wanted(families: Mapping[Any, Any] | None) -> dict[tuple[str, ...], Family[Any] | None]:
    """Return the families that the user gave or named, by the names of the columns; None leaves columns out."""
    out: dict[tuple[str, ...], Family[Any] | None] = {}
    named: set[str] = set()
    for key, family in (families or {}).items():
        names = tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)
        for name in names:
            if name in named:
                raise InvalidOptionError(f"families names column {name!r} twice: a column can only be in one block")
            named.add(name)
        if isinstance(family, str):
            if family.lower() == "auto":
                continue
            family = None if family.lower() == "none" else family_named(family)()
        if family is not None and not isinstance(family, Family):
            raise InvalidOptionError(
                f"families: {key!r} must have a family, the name of one, 'auto' or None, found {family!r}"
            )
        out[names] = family
    return out


def _read(
    columns: Mapping[str, ColumnProfile], wanted: Mapping[tuple[str, ...], Family[Any] | None]
) -> tuple[dict[str, ColumnProfile], list[ColumnReading]]:
    """Replace columns that hold numbers in strings or times by what is read from them, and return how.

    A column that the user gave a family is read if the family is one of numbers.
    """
    asked = {name: family for names, family in wanted.items() for name in names}
    out: dict[str, ColumnProfile] = {}
    readings: list[ColumnReading] = []
    for name, profile in columns.items():
        if name not in asked:
            found = {each.name: each for each in profile.readings(name)}
            found |= {part: read for part in asked if (read := profile.part(name, part)) is not None}
        else:
            family = asked[name]
            read = profile.as_number(name) if family is not None and family.reads == "numbers" else None
            found = {} if read is None else {name: read}
        found = {own: each for own, each in found.items() if own == name or own not in columns}
        out.update({own: profile.read(each) for own, each in found.items()} if found else {name: profile})
        readings += found.values()
    for name in asked:
        if name not in out:
            raise InvalidDataError(f"There is no column {name!r}: the columns are {listed(list(columns))}")
    return out, readings


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
        return f"{profile.type} cannot be read as numbers here: turn it into numbers or categories"
    if kind == "empty":
        return "it holds no value"
    return f"{profile.type} is not supported: turn it into numbers or text"


def _text_family(profile: ColumnProfile, smoothing: Smoothing) -> Family[Any] | str:
    """Return text if most values are distinct, long and of several words, else categories; some name the rows.

    With few rows it cannot be judged whether short values would repeat. Of sentences, no two need be alike: as
    categories they would tell nothing.
    """
    present, distinct = profile.n_present, profile.n_distinct
    if distinct < DISTINCT * present:
        return AutomaticCategorical(smoothing)
    if profile.mean_length > FREE_TEXT and not profile.is_one_token:
        return AutomaticText(event="auto")
    if present < ENOUGH:
        return AutomaticCategorical(smoothing)
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


def chosen(found: ProductDistribution) -> Iterator[str]:
    """Say of each column what was chosen for it, in a line for a log."""
    table = describe(found, None)
    for name, (family, votes, bits, note) in zip(table.rows, table.values, strict=True):
        gain = f", {bits} bits" if bits else ""
        yield f"{name}: {family}{gain}{'' if votes == 'yes' else ', does not vote'}{f' ({note})' if note else ''}"


def describe(found: ProductDistribution, schema: Schema | None) -> Table:
    """Return a row for each block: its family, whether it votes, and its information about the class by itself."""
    names, cells = [], []
    read = {each.name: each.note for each in found.family.readings}
    for block, part in zip(found.family.blocks, found.parts, strict=True):
        names.append(block.title)
        notes, decided = [read[name] for name in block.names if name in read], part.decisions
        if isinstance(decided, ColumnDecision):
            gain = max(decided.score - decided.chance, 0.0) / np.log(2)
            notes += [] if decided.votes else ["it tells no more than chance would"]
            cells.append([decided.family, "yes" if decided.votes else "no", f"{gain:.4f}", "; ".join(notes)])
        else:
            notes += ["its parameters are integrated out"] if block.family.learn == "predictive" else []
            cells.append([type(block.family).__name__, "yes", "", "; ".join(notes)])
    for name, reason in (schema.left_out if schema is not None else {}).items():
        names.append(name)
        cells.append(["", "left out", "", reason])
    return Table("column", names, ["family", "votes", "bits", "note"], np.array(cells, dtype=object))
