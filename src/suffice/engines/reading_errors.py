"""Errors of reading files, in the user's words: which file, which row and column, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from re import DOTALL, Match

from suffice.core.errors import InvalidDataError, MissingLabelError, RefusedValueError, SufficeError

LONGEST = 80  # characters of a row that are shown
UTF8 = "convert the file, such as by iconv -f latin1 -t utf-8"
COPY = "take another copy, or write it again"


@contextmanager
def located(title: str, before: int = 0, names: Sequence[str] = ()) -> Iterator[None]:
    """Add the file and the row to errors; `before` is the number of rows read so far, `names` are those of columns."""
    import pyarrow as pa

    try:
        yield
    except RefusedValueError as error:
        at = error.shifted(before)
        raise type(error)(at.what, at.value, at.row, at.column, f"{at.advice} The file is {title}.") from None
    except MissingLabelError as error:
        raise InvalidDataError(f"{title}: {error.shifted(before)}") from None
    except SufficeError as error:
        raise type(error)(f"{title}: {error}") from error
    except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
        raise InvalidDataError(f"{title} cannot be read{_reason(error, before, names)}") from error


def _reason(error: Exception, before: int, names: Sequence[str]) -> str:
    """Return what Arrow says, translated where it is known."""
    if isinstance(error, FileNotFoundError):
        return ": it is not there any more"
    if isinstance(error, PermissionError):
        return ": you have no permission to read it"
    if isinstance(error, UnicodeError):
        return f": a text in it is not written in UTF-8. If it is a text file, {UTF8}"
    said = str(error)
    for pattern, translated in KNOWN:
        found = re.search(pattern, said, DOTALL)
        if found is not None:
            return f": {translated(found, before, names)}"
    after = f" after row {before - 1}" if before else ""
    said = re.sub(r"^.*Could not open \w+ input source '.*?': (Invalid: |IOError: )?", "", said, flags=DOTALL)
    return f"{after}: {_cut(said, 4 * LONGEST).rstrip('.')}. If it was changed or cut off, {COPY}"


def _cut(text: str, longest: int = LONGEST) -> str:
    """Return a text in one line, cut off if it is too long."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _column(number: str, names: Sequence[str]) -> str:
    """Return a column of CSV that Arrow knows by its number."""
    return f"column {names[int(number)]!r}" if int(number) < len(names) else f"column number {int(number) + 1}"


def _row(number: str | None) -> str:
    return "A row" if number is None else f"Row #{number}, the header being row 1,"


def _fields(found: Match[str], *_: object) -> str:
    row, expected, had, text = found.groups()
    odd = (
        " Is a quote left open?" if text.count('"') % 2 else " Is it UTF-16? Write it in UTF-8" if "\0" in text else ""
    )
    return f"{_row(row)} has {had} columns where {expected} are expected: {_cut(text)!r}.{odd}"


def _value(found: Match[str], _: int, names: Sequence[str]) -> str:
    column, row, held, value = found.groups()
    return (
        f"{_row(row)} has {_cut(value)} in {_column(column, names)}, where the rows before it have {held}: "
        "write all values of a column alike"
    )


def _encoding(found: Match[str], _: int, names: Sequence[str]) -> str:
    return f"{_row(found[2])} has a text in {_column(found[1], names)} that is not written in UTF-8: {UTF8}"


def _any_encoding(found: Match[str], before: int, names: Sequence[str]) -> str:
    where = _column(found[1], names)
    return f"Row {before + int(found[2])} has a text in {where} that is not written in UTF-8: write it in UTF-8"


def _changed(found: Match[str], before: int, _: Sequence[str]) -> str:
    column, was, now, row = found.groups()
    return (
        f"Row {before + int(row)} has the type {now} in column {column!r}, where the rows before it have {was}: "
        "write all values of a column alike"
    )


def _twice(found: Match[str], before: int, _: Sequence[str]) -> str:
    return f"Row {before + int(found[2])} has the column {found[1]!r} twice: give each a name of its own"


def _no_json(found: Match[str], before: int, _: Sequence[str]) -> str:
    return f"Row {before + int(found[2])} is no JSON: {found[1].rstrip('.')}. Write one object to a line"


def _too_long(_: Match[str], before: int, __: Sequence[str]) -> str:
    from suffice.engines.file_formats import BLOCK

    which = f"A row after row {before - 1}" if before else "A row"
    return f"{which} is longer than {BLOCK >> 20} MB: shorten it, or, in CSV, close a quote that is left open"


def _cut_off(found: Match[str], *_: object) -> str:
    return f"it is cut off ({found[0]}): {COPY}"


Translation = Callable[[Match[str], int, Sequence[str]], str]
# What Arrow says, and how it is translated. The first that matches is taken.
KNOWN: Sequence[tuple[str, Translation]] = (
    (r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", _fields),
    (r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to \w+: invalid UTF8 data", _encoding),
    (r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): invalid value (.*)", _value),
    (r"In column (\d+): Invalid: Invalid UTF8 sequence at string index (\d+)", _any_encoding),
    (r"Column\(/(.*)\) changed from (\w+) to (\w+) in row (\d+)", _changed),
    (r"Column\(/(.*)\) was specified twice in row (\d+)", _twice),
    (r"JSON parse error: (.*) in row (\d+)", _no_json),
    (r"straddling object", _too_long),
    (r"Truncated compressed stream", _cut_off),
)
