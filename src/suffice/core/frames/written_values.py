"""Numbers, dates and times that are written as strings, read many at a time by Arrow.

Each function takes an Arrow array of strings and returns numbers (NaN) or timestamps (null) where a string does not
read. `number_form`, `date_form` and `clock_form` find out how a column is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from suffice.core.arrays import Array, Mask, Positions
from suffice.core.frames.arrow_arrays import as_numpy
from suffice.core.frames.frame import Column

NEARLY = 0.95  # share of the values that must read
FEW = 200  # distinct values that are tried first

# What people write where a value is missing, in lower case.
GAPS = frozenset(["", "?", "-", "--", ".", "n/a", "na", "#n/a", "nan", "null", "none", "nil", "missing", "unknown"])

CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF)"
_NUMBER = (
    r"^[-+−]?\s*{currency}?\s*[-+−]?(?:\d{{1,3}}(?:[{mark}'\x{{00a0}}\x{{202f}} ]\d{{3}})+|\d+)?"
    r"(?:{point}\d*)?(?:[eE][-+]?\d+)?\s*(?:%|{currency})?$"
)
DECIMAL_SIGNS = (".", ",")
CODE = r"^0\d+$"  # 007 and 02134 are names, not numbers
MOST_DIGITS = 15  # that float64 holds; longer ones number something

_TIME = r"(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(?P<half>[AaPp][Mm])?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?"
_DATE_AND_TIME = rf"^(?P<date>.*?)(?:(?:T|,?\s)\s*{_TIME})?$"
_DURATION = r"^(?P<sign>-?)(?:(?P<days>\d+) days?,? ?)\+?(?P<h>\d+):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?)$"
_LATE_DAY = r"\b(?:29|30|31)\b"

# The first of those that read equally many strings is taken: 3/4/2024 is in March.
DATE_FORMS: Mapping[str, str] = {
    "%Y-%m-%d": r"^\d{4}-\d{1,2}-\d{1,2}$",
    "%Y/%m/%d": r"^\d{4}/\d{1,2}/\d{1,2}$",
    "%d.%m.%Y": r"^\d{1,2}\.\d{1,2}\.\d{4}$",
    "%m/%d/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%d/%m/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%d-%m-%Y": r"^\d{1,2}-\d{1,2}-\d{4}$",
    "%m/%d/%y": r"^\d{1,2}/\d{1,2}/\d{2}$",
    "%d/%m/%y": r"^\d{1,2}/\d{1,2}/\d{2}$",
    "%d.%m.%y": r"^\d{1,2}\.\d{1,2}\.\d{2}$",
    "%d %b %Y": r"^\d{1,2} [A-Za-z]{3,9} \d{4}$",
    "%d-%b-%Y": r"^\d{1,2}-[A-Za-z]{3,9}-\d{4}$",
    "%b %d, %Y": r"^[A-Za-z]{3,9} \d{1,2}, \d{4}$",
}


def _trimmed(strings: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(strings.cast(pa.string()))


def numbers_written(strings: Column, sign: str) -> Array:
    """Read strings as numbers with a decimal sign, "." or ","; thousands may be marked, and 50 % is 0.5.

    >>> import pyarrow as pa
    >>> numbers_written(pa.array(["$5,000.00", "50.1%", "-3", "n/a", None]), ".")
    array([ 5.00e+03,  5.01e-01, -3.00e+00,       nan,       nan])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    point, mark = (r"\.", ",") if sign == "." else (",", ".")
    pattern = _NUMBER.format(currency=CURRENCY, mark=mark, point=point)
    text = _trimmed(strings)
    reads = pc.and_(pc.match_substring_regex(text, pattern), pc.match_substring_regex(text, r"\d"))
    percent = as_numpy(pc.fill_null(pc.ends_with(text, "%"), False))
    bare = pc.replace_substring_regex(text, rf"[^\d{point}eE+−-]|{CURRENCY}", "")
    bare = pc.replace_substring_regex(bare, "[^0-9.,eE+-]", "-")  # the minus sign of typesetters
    bare = pc.replace_substring(bare, ",", ".")
    long = pc.greater(pc.utf8_length(pc.replace_substring_regex(text, r"\D", "")), MOST_DIGITS)
    long = pc.and_(long, pc.match_substring_regex(text, r"^\d+$"))
    keep = pc.and_(reads, pc.invert(long))
    values = pc.if_else(pc.fill_null(keep, False), bare, None).cast(pa.float64())
    found = np.array(as_numpy(values), dtype=np.float64)
    found[percent] /= 100.0
    return found


def dates_written(strings: Column, form: str) -> Column:
    """Read strings as dates of a form, with a time of day or without; the time is as written, whatever its zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = _trimmed(strings)
    parts = pc.extract_regex(text, _DATE_AND_TIME)
    date, time, half = (pc.struct_field(parts, name) for name in ("date", "time", "half"))
    date = pc.if_else(pc.match_substring_regex(date, DATE_FORMS[form]), date, None)
    if "%b" in form:  # by the first three letters, as March is written in full, too
        date = pc.replace_substring_regex(date, r"([A-Za-z]{3})[A-Za-z]*", r"\1")
    seconds = pc.if_else(pc.match_substring_regex(time, r"^\d+:\d+$"), ":00", "")
    clock = pc.if_else(pc.equal(time, ""), "00:00:00", pc.binary_join_element_wise(time, seconds, ""))
    whole = pc.binary_join_element_wise(date, clock, " ")
    plain = pc.strptime(whole, f"{form} %H:%M:%S", "s", error_is_null=True)
    halves = pc.strptime(pc.binary_join_element_wise(whole, half, " "), f"{form} %I:%M:%S %p", "s", error_is_null=True)
    found = pc.if_else(pc.equal(half, ""), plain, halves)
    if "%Y" in form:  # 31 February would be 2 March
        late = pc.and_(pc.match_substring_regex(date, _LATE_DAY), pc.less_equal(pc.day(found), 3))
        found = pc.if_else(late, pa.scalar(None, found.type), found)
    return found


def times_written(strings: Column) -> Array:
    """Read times of day, such as 14:30 and 2:30 pm, as hours since midnight."""
    import pyarrow.compute as pc

    text = _trimmed(strings)
    text = pc.if_else(pc.match_substring_regex(text, rf"^{_TIME}$"), text, None)
    at = dates_written(pc.binary_join_element_wise("1970-01-01", text, " "), "%Y-%m-%d")
    return np.asarray(as_numpy(at.cast("int64")), dtype=np.float64) / 3600.0


def durations_written(strings: Column) -> Array:
    """Read durations as pandas and Python write them, such as "1 days 02:30:00", in seconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(_trimmed(strings), _DURATION)
    days, h, m, s = (
        np.asarray(as_numpy(pc.struct_field(parts, name).cast(pa.float64())), dtype=np.float64)
        for name in ("days", "h", "m", "s")
    )
    sign = as_numpy(pc.fill_null(pc.equal(pc.struct_field(parts, "sign"), "-"), False))
    return np.where(sign, -1.0, 1.0) * 86400.0 * days + 3600.0 * h + 60.0 * m + s


# ---------------------------------------------------------------------------------- how a column is written


def may_read(strings: Column, weight: Array | None = None) -> bool:
    """Return whether so many strings hold a digit that they may be numbers, dates or times: all of these have one.

    `weight` is the number of rows of each string; without it, whether some string holds one.
    """
    import pyarrow.compute as pc

    def digits(some: Column) -> Mask:
        return as_numpy(pc.fill_null(pc.match_substring_regex(some, "[0-9]"), False))

    if weight is None:
        return bool(digits(_some(strings)[0]).any())
    return _best({"digits": digits}, strings, weight) is not None


def number_form(strings: Column, weight: Array) -> str | None:
    """Return the decimal sign of strings that are numbers; None if not nearly all are.

    `weight` is the number of rows of each string.
    """
    import pyarrow.compute as pc

    def reads(sign: str) -> Callable[[Column], Mask]:
        return lambda some: ~np.isnan(numbers_written(some, sign))

    found = _best({sign: reads(sign) for sign in DECIMAL_SIGNS}, strings, weight)
    codes = found is not None and pc.any(pc.match_substring_regex(strings, CODE)).as_py()
    return None if codes else found


def date_form(strings: Column, weight: Array) -> str | None:
    """Return the form of strings that are dates; None if not nearly all are."""

    def reads(form: str) -> Callable[[Column], Mask]:
        return lambda some: as_numpy(dates_written(some, form).is_valid())

    return _best({form: reads(form) for form in DATE_FORMS}, strings, weight)


def clock_form(strings: Column, weight: Array) -> str | None:
    """Return "hours" for times of day, "seconds" for durations; None if not nearly all strings are one of these."""
    ways: dict[str, Callable[[Column], Mask]] = {
        "hours": lambda some: ~np.isnan(times_written(some)),
        "seconds": lambda some: ~np.isnan(durations_written(some)),
    }
    return _best(ways, strings, weight)


def gaps(strings: Column) -> Mask:
    """Return which strings say that a value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_lower(_trimmed(strings))
    return as_numpy(pc.is_in(text, value_set=pa.array(sorted(GAPS), text.type)))


def _some(strings: Column) -> tuple[Column, Positions | None]:
    """Return strings that are tried first, and their positions; None if these are all."""
    if len(strings) <= FEW:
        return strings, None
    some = np.linspace(0, len(strings) - 1, FEW).astype(np.int64)
    return strings.take(some), some


def _best(ways: Mapping[str, Callable[[Column], Mask]], strings: Column, weight: Array) -> str | None:
    """Return the way that reads most rows, if it reads nearly all that are no gaps; the first of equals."""
    few, some = _some(strings)
    rows = weight if some is None else weight[some]
    missing = gaps(few)
    rows = np.where(missing, 0.0, rows)
    if not rows.sum():
        return None
    shares = {name: float(rows @ reads(few) / rows.sum()) for name, reads in ways.items()}
    able = [name for name, share in shares.items() if share >= (NEARLY if some is None else 0.5)]
    if some is None or not able:
        return max(able, key=shares.__getitem__, default=None)
    rows = np.where(gaps(strings), 0.0, weight)
    shares = {name: float(rows @ ways[name](strings) / rows.sum()) for name in able}
    best = max(able, key=shares.__getitem__)
    return best if shares[best] >= NEARLY else None
