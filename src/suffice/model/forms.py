"""The forms in which families read columns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.core import frames
from suffice.core.errors import MismatchError, MissingColumnWarning
from suffice.core.frames import ColumnReading, Frame
from suffice.core.words import Texts
from suffice.families import Family
from suffice.families.product import Product

Form: TypeAlias = Literal["table", "numbers", "categories", "texts"]
Columns: TypeAlias = Any  # a Frame, a matrix, Categories or Texts: what the family of the form reads

_FORMS: dict[str, Form] = {"numbers": "numbers", "categories": "categories", "text": "texts"}


def form_of(family: Family[Any]) -> Form:
    """Return the form in which a family reads the columns of a table."""
    return "table" if isinstance(family, Product) else _FORMS[family.reads]


def in_form(frame: Frame, form: Form) -> Columns:
    """Bring the columns of a table into a form."""
    if form == "table":
        return frame
    columns = [frame.column(name) for name in frame.names]
    if form == "texts":
        return Texts.of(columns[0])
    if form == "categories":
        return frames.categories(*columns, names=frame.names)
    out = np.empty((frame.n, len(columns)), order="F")
    for j, (name, column) in enumerate(zip(frame.names, columns, strict=True)):
        out[:, j] = frames.numbers(column, name)
    return out


def aligned(frame: Frame, names: Sequence[str], readings: Sequence[ColumnReading] = ()) -> Frame:
    """Select columns of a table by name. Columns that are not there count as missing, with a warning.

    Instead of a column that is read, a table may have what is read from it, as rows that were drawn do.
    """
    import pyarrow as pa

    made: dict[str, list[str]] = {}
    for each in readings:
        if each.source not in frame.columns and each.name in frame.columns:
            made.setdefault(each.source, []).append(each.name)
    names = [own for name in names for own in made.get(name, [name])]
    absent = [name for name in names if name not in frame.columns]
    if len(absent) == len(names):
        raise MismatchError(
            f"None of the columns of the training table is here: it had {list(names[:10])}, this has {frame.names[:10]}"
        )
    if absent:
        what = f"Columns {absent[:10]} are not in this table; they count as missing"
        warnings.warn(what, MissingColumnWarning, stacklevel=5)
    if not absent:
        return frame.select(names)
    missing = pa.chunked_array([pa.nulls(frame.n)])
    return Frame({name: frame.columns.get(name, missing) for name in names}, frame.n)
