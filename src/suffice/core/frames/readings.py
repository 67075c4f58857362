"""Readings: how a column of strings or times becomes columns of numbers. They are part of what a model is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import written_values as written
from suffice.core.frames.arrow_arrays import as_arrow, as_numpy
from suffice.core.frames.columns import dictionary_codes
from suffice.core.frames.frame import Column, Frame, column_kind, is_text, value_type
from suffice.core.frozen_options import Options

Part = Literal["number", "year", "month", "weekday", "hour", "days", "hours", "seconds"]
DATE_PARTS: tuple[Part, ...] = ("year", "month", "weekday", "hour", "days")
WHOLE: tuple[Part, ...] = ("year", "month", "weekday", "hour")
DAY = 86400e6  # microseconds
ORIGIN = np.datetime64("2000-01-01")  # one for all tables, so that models of two tables can be added


@dataclass(frozen=True, eq=False, repr=False)
class ColumnReading(Options):
    """The column `name`, which holds a number that is read from the column `source` of a table.

    A "number" is read from strings. "year", "month" (1 to 12), "weekday" (Monday is 0), "hour" and "days" since
    2000-01-01 are parts of a date. "hours" is a time of day, and "seconds" a
    duration. `form` says how strings are written: the decimal sign, or the form of dates. Entries that do not read
    count as missing.

    >>> from suffice.core.frames import as_frame
    >>> frame = as_frame({"paid": ["$5,000.00", "n/a"], "on": ["2024-03-01", "2024-03-04"]})
    >>> readings = ColumnReading("paid", "paid", "number", "."), ColumnReading("on", "on weekday", "weekday")
    >>> with_readings(frame, readings).table().to_pydict()
    {'paid': [5000.0, nan], 'on weekday': [4.0, 0.0]}
    """

    source: str
    name: str
    part: Part
    form: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        forms = written.DECIMAL_SIGNS if self.part == "number" else ("", *written.DATE_FORMS)
        if self.form not in forms:
            raise InvalidOptionError(f"ColumnReading: form must be one of {forms}, found {self.form!r}")
        if self.part in WHOLE and self.source == self.name:
            raise InvalidOptionError(f"ColumnReading: the {self.part} of {self.source!r} needs a name of its own")

    def __repr__(self) -> str:
        return f"ColumnReading({self.name!r}: {self.note})"

    @property
    def note(self) -> str:
        """What is read, for people."""
        if self.part == "number":
            return "strings read as numbers" + (", with a decimal comma" if self.form == "," else "")
        if self.part == "seconds":
            return "a duration in seconds"
        if self.part == "hours":
            return "a time of day in hours"
        what = f"days since {ORIGIN}" if self.part == "days" else f"the {self.part}"
        return f"{what}, read from dates" + (f" like {self.form}" if self.form else "")

    def of(self, column: Column) -> Column:
        """Read a column. Numbers that come as numbers are returned as they are."""
        import pyarrow as pa

        kind = column_kind(column)
        if self.source == self.name and kind in ("number", "bool", "empty"):
            return column
        if kind == "empty":
            return pa.chunked_array([pa.nulls(len(column), pa.float64())])
        return pa.chunked_array([as_arrow(self._numbers(column))])

    def _numbers(self, column: Column) -> Array:
        if is_text(value_type(column.type)):
            codes, found = dictionary_codes(column)
            return np.append(self._of_strings(found), np.nan)[codes]
        if column_kind(column) != "date":
            raise InvalidDataError(
                f"Column {self.source!r} has the Arrow type {column.type}, but the model has {self.note} there: pass "
                "what it was trained on"
            )
        return self._of_times(column)

    def _of_strings(self, found: Column) -> Array:
        if self.part == "number":
            return written.numbers_written(found, self.form)
        if self.part == "hours":
            return written.times_written(found)
        if self.part == "seconds":
            return written.durations_written(found)
        return self._of_times(written.dates_written(found, self.form or next(iter(written.DATE_FORMS))))

    def _of_times(self, column: Column) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = column.cast(value_type(column.type))
        if pa.types.is_duration(column.type):
            return _floats(column.cast(pa.duration("us"), safe=False).cast(pa.int64())) / 1e6
        if pa.types.is_time(column.type):
            return _floats(column.cast(pa.time64("us"), safe=False).cast(pa.int64())) / 3.6e9
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = pc.local_timestamp(column)
        column = column.cast(pa.timestamp("us"), safe=False)
        if self.part == "days":
            return _floats(column.cast(pa.int64())) / DAY - ORIGIN.astype(np.int64)
        parts = {"year": pc.year, "month": pc.month, "weekday": pc.day_of_week, "hour": pc.hour}
        if self.part not in parts:
            raise InvalidDataError(f"Column {self.source!r} holds dates, but the model has {self.note} there")
        return _floats(parts[self.part](column))


def _floats(column: Column) -> Array:
    return np.asarray(as_numpy(column), dtype=np.float64)


def with_readings(frame: Frame, readings: Sequence[ColumnReading]) -> Frame:
    """Replace the columns that are read by what is read from them; others stay.

    Where a table has the column that a reading makes, and not its source, that column is used.
    """
    known = [each for each in readings if each.source in frame.columns]
    if not known:
        return frame
    made: dict[str, list[ColumnReading]] = {}
    for each in known:
        made.setdefault(each.source, []).append(each)
    columns: dict[str, Column] = {}
    for name, column in frame.columns.items():
        if name in made:
            columns.update((each.name, frame.once(f"reading {each!r}", name, each.of)) for each in made[name])
        else:
            columns.setdefault(name, column)
    return Frame(columns, frame.n)


def suggested(column: Column, name: str, codes: tuple[Any, Any] | None = None) -> tuple[ColumnReading, ...]:
    """Return how a column of strings or times is best read; nothing if it stays as it is.

    `codes` are those of `dictionary_codes`, where they are known.
    """
    kind = column_kind(column)
    if kind == "date":
        return _of_times(column, name, "")
    if kind != "text":
        return ()
    rows, found = dictionary_codes(column) if codes is None else codes
    if not written.may_read(found):  # as in most columns
        return ()
    weight = np.bincount(rows + 1, minlength=len(found) + 1)[1:].astype(np.float64)
    if not written.may_read(found, weight):
        return ()
    sign = written.number_form(found, weight)
    if sign is not None:
        return (ColumnReading(name, name, "number", sign),)
    form = written.date_form(found, weight)
    if form is not None:
        return _of_times(written.dates_written(found, form), name, form)
    clock = written.clock_form(found, weight)
    return () if clock is None else (ColumnReading(name, name, "hours" if clock == "hours" else "seconds"),)


def unread(column: Column, reading: ColumnReading) -> int:
    """Return how many entries of a column of strings do not read, besides those that say that they are missing."""
    if not is_text(value_type(column.type)):
        return 0
    codes, found = dictionary_codes(column)
    lost = np.isnan(reading._of_strings(found)) & ~written.gaps(found) & as_numpy(found.is_valid())
    return int(np.append(lost, False)[codes].sum())


def as_number(column: Column, name: str) -> ColumnReading | None:
    """Return the one number that a column of strings or times is read as: of dates, the days since the first."""
    found = suggested(column, name)
    last = found[-1] if found else None
    return ColumnReading(name, name, "days", last.form) if last is not None and last.part == "days" else last


def part_of(column: Column, source: str, name: str) -> ColumnReading | None:
    """Return the reading that makes the column `name`, such as "bought month", of a column of dates."""
    part = name.removeprefix(f"{source} ")
    if part == name or part not in DATE_PARTS:
        return None
    days = next((each for each in suggested(column, source) if each.part == "days"), None)
    return None if days is None else ColumnReading(source, name, part, days.form)


def _of_times(column: Column, name: str, form: str) -> tuple[ColumnReading, ...]:
    import pyarrow as pa

    held = value_type(column.type)
    if pa.types.is_duration(held):
        return (ColumnReading(name, name, "seconds"),)
    if pa.types.is_time(held):
        return (ColumnReading(name, name, "hours"),)
    if not (pa.types.is_date(held) or pa.types.is_timestamp(held)):
        return ()  # an interval of months has no length
    parts = [ColumnReading(name, f"{name} {part}", part, form) for part in DATE_PARTS]
    values = [each._of_times(column) for each in parts]
    varied = [each for each, x in zip(parts, values, strict=True) if len(np.unique(x[~np.isnan(x)])) > 1]
    return tuple(varied) or (parts[-1],)
