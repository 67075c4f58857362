"""Class labels: read, numbered, compared and merged. They stay what they are, or an error says why they cannot.

NumPy converts in silence: integers to floats, which are the same from 2⁵³ on, numbers to strings, and booleans to 0 and
1. Labels are names, so none of that is done to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Codes, Values, as_objects, as_strings, encode, repeated
from suffice.core.errors import InvalidDataError, MismatchError, MissingLabelError

LOOKED_AT = 1 << 14  # rows at a time


@dataclass(frozen=True)
class Labels:
    """The label of row i is `values[codes[i]]`. Values are sorted, and each occurs."""

    codes: Codes
    values: Values

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def each(self) -> Values:
        """The label of each row."""
        return repeated(self.values, self.codes)

    def __getitem__(self, rows: slice) -> Labels:
        codes = self.codes[rows]
        seen = np.zeros(len(self.values), dtype=bool)
        for lo in range(0, len(codes), LOOKED_AT):  # the first rows often show all labels
            seen[codes[lo : lo + LOOKED_AT]] = True
            if seen.all():
                return Labels(codes, self.values)
        return Labels((np.cumsum(seen, dtype=np.int32) - 1)[codes], self.values[seen])


def encode_labels(y: Any) -> Labels:
    """Number the distinct labels of `y` in sorted order.

    >>> encode_labels(["ham", "spam", "ham"])
    Labels(codes=array([0, 1, 0], dtype=int32), values=array(['ham', 'spam'], dtype='<U4'))
    """
    if isinstance(y, Labels):
        return y
    y = read_labels(y)
    codes, values = encode(y)
    if y.dtype.kind in "fOmMT" and len(codes) and codes.min() < 0:  # other types have no missing values
        raise MissingLabelError.of(codes < 0)
    return Labels(codes, values)


# --------------------------------------------------------------------------------------------- reading


def read_labels(y: Any) -> Values:
    """Read a sequence, array, Series or Arrow array of labels, one for each row; or labels that were read as codes."""
    if isinstance(y, Labels):
        return y.each
    if type(y) is np.ndarray:
        array = y
    elif isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise MissingLabelError.of(np.ma.getmaskarray(y).ravel())
    elif isinstance(y, np.ndarray):
        array = np.ma.getdata(y)
    elif isinstance(y, (list, tuple)):
        array = _from_list(y)
    else:
        array = _from_column(y) if is_column(y) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidDataError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if array.dtype.kind == "T":  # NumPy's strings of any length, among which some may be missing
        array = as_objects(array.tolist())
    if array.dtype.kind in "cV":
        raise InvalidDataError(f"Labels are strings, numbers, booleans or times, found {array.dtype}")
    return array


def label_list(labels: Values) -> list[Any]:
    """Return labels as objects of Python. Times that Python has no type for, such as of nanoseconds, stay NumPy's.

    >>> label_list(np.array(["2020-01-01"], "M8[D]")), label_list(np.array(["2020-01-01"], "M8[ns]"))
    ([datetime.date(2020, 1, 1)], [np.datetime64('2020-01-01T00:00:00.000000000')])
    """
    found = labels.tolist()
    return list(labels) if labels.dtype.kind in "mM" and any(type(each) is int for each in found) else found


def each_label(y: Any) -> list[Any]:
    """Return the label of each row as an object, as it is; missing ones stay missing."""
    if isinstance(y, np.ndarray) and y.ndim == 1:
        return label_list(y)
    dimensions = getattr(y, "ndim", 1 if isinstance(y, Sized) else 0)
    if isinstance(y, (str, bytes, Mapping, Set)) or dimensions != 1:
        raise InvalidDataError(f"Labels are needed, one for each row, found {y!r}")
    found = list(next((getattr(y, name)() for name in (*_LISTS, "tolist") if hasattr(y, name)), y))
    for each in found:
        if isinstance(each, (list, tuple, np.ndarray)):
            raise InvalidDataError(f"Labels are needed, one for each row, found {each!r} for one of them")
    return found


_LISTS = ("to_pylist", "to_list")  # of Arrow; of pandas and Polars


def is_column(y: Any) -> bool:
    """Return whether labels come in a Series or array of pandas, Polars or Arrow, or in a list."""
    if isinstance(y, (list, tuple)):
        return True
    if isinstance(y, np.ndarray) or getattr(y, "ndim", 1) != 1:
        return False
    return any(hasattr(y, name) for name in (*_LISTS, "isna"))  # the last is of pandas' arrays without an index


def _from_column(column: Any) -> Values:
    """Read a Series or an Arrow array: numbers and times as NumPy holds them, all else as a list of objects."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    try:  # Polars before 2 panics about integers of 128 bits
        array = np.empty(0, dtype=object) if str(dtype) in ("Int128", "UInt128") else np.asarray(column)
    except Exception:  # each library has errors of its own for types that NumPy lacks
        array = np.empty(0, dtype=object)
    dtype = getattr(dtype, "value_type", getattr(getattr(dtype, "categories", None), "dtype", dtype))
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    if array.dtype.kind in "biufmM" and zone is None:
        return array
    return _from_list(next(getattr(column, name)() for name in (*_LISTS, "tolist") if hasattr(column, name)))


def _from_list(values: Sequence[Any]) -> Values:
    """Read a list as the array that holds every value unchanged: of objects, if there is no other."""
    types = set(map(type, values))
    if types and all(issubclass(t, str) for t in types):
        return as_strings(values if types == {str} else [str.__str__(value) for value in values])
    if types & {bool, np.bool_} and not types <= {bool, np.bool_}:
        return as_objects(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidDataError("y should be a 1d array, got lists of several lengths instead.") from None
    if array.ndim != 1:
        return array
    integers = {t for t in types if issubclass(t, (int, np.integer)) and not issubclass(t, np.timedelta64)}
    floats = {t for t in types if issubclass(t, (float, np.floating))}
    if types == integers | floats:
        if types and not floats and array.dtype.kind not in "biu" and min(values) >= 0 and max(values) < 1 << 64:
            array = np.array(values, np.uint64)  # NumPy takes floats for integers below and above 2⁶³
        exact = array.dtype.kind == "f" if floats else array.dtype.kind in "biu"
        if integers and floats:
            exact = exact and all(map(_same_number, array.tolist(), values))
        if types and not exact:
            raise InvalidDataError(
                f"Labels are numbers from {min(values)} to {max(values)}, which NumPy has no exact type for: "
                "pass them as strings"
            )
        return array
    if types == {np.datetime64} or types == {np.timedelta64}:
        same = all(
            each.astype(value.dtype) == value or value != value for each, value in zip(array, values, strict=True)
        )
        return array if same else as_objects(values)
    exact = array.dtype.kind == "O" or (types == {bytes} and array.tolist() == list(values))  # NumPy drops NULs
    return array if exact and len(types) == 1 else as_objects(values)


def _same_number(read: Any, given: Any) -> bool:
    """Compare a number with what became of it; Python compares integers and floats exactly."""
    return read == (given.item() if isinstance(given, np.generic) else given) or given != given


def refuse_changed(given: Iterable[Any], read: Values, name: str | None) -> None:
    """Raise an error that names the first label of a column that became another value when it was read."""
    for i, (label, found) in enumerate(zip(given, read.tolist(), strict=True)):
        alike = isinstance(label, str) == isinstance(found, str)
        alike &= isinstance(label, (bool, np.bool_)) == isinstance(found, bool)
        if not (alike and label == found) and label is not None:
            raise InvalidDataError(
                f"The label {label!r} ({type(label).__name__}) of column {name!r}, entry {i}, would be read as "
                f"{found!r}: make the labels strings, or numbers of 64 bits"
            )


def as_label(label: Any) -> Values:
    """Read one label, as an array of one."""
    several = isinstance(label, (list, tuple, set, frozenset, dict)) or np.ndim(label) > 0
    if not several:
        codes, found = encode(read_labels([label]))
        if codes[0] >= 0:
            return found
    raise InvalidDataError(f"A label is one string, number, boolean or time, found {label!r}")


# ------------------------------------------------------------------------------------------- comparing


def _kind(labels: Values) -> str:
    """Return what labels are: values of the same kind can be compared and sorted."""
    kind = labels.dtype.kind
    if kind != "O":
        return {"U": "strings", "T": "strings", "S": "bytes", "b": "booleans", "M": "times", "m": "durations"}.get(
            kind, "numbers"
        )
    first = labels[0]
    if isinstance(first, str):
        return "strings"
    if isinstance(first, (bool, np.bool_)):
        return "booleans"
    return "numbers" if isinstance(first, Number) else type(first).__name__


def as_one_type(a: Values, b: Values) -> tuple[Values, Values]:
    """Return two sets of labels as arrays of one type, which does not depend on their order; none changes its value."""
    if a.dtype == b.dtype and a.dtype.kind != "O":
        return a, b
    if not len(a) or not len(b):
        return (a, a[:0]) if len(a) else (b[:0], b)
    if _kind(a) != _kind(b):
        raise _cannot_merge(a, b, "whose labels are all strings, all numbers or all booleans")
    if "O" in (a.dtype.kind, b.dtype.kind):
        return a.astype(object), b.astype(object)
    dtype = np.promote_types(a.dtype, b.dtype)
    if dtype.kind == "f" and a.dtype.kind != "f" and b.dtype.kind != "f":  # signed and unsigned integers
        low, high = min(int(a.min()), int(b.min())), max(int(a.max()), int(b.max()))
        dtype = np.dtype(np.int64 if high < 1 << 63 else np.uint64)
        if low < 0 and high >= 1 << 63:
            raise _cannot_merge(a, b, "and no type of 64 bits holds both")
    found = a.astype(dtype), b.astype(dtype)
    for before, after in zip((a, b), found, strict=True):
        if not _is_same(before, after):
            raise _cannot_merge(a, b, f"and {dtype} does not hold all of them exactly: pass them as strings")
    return found


def _is_same(before: Values, after: Values) -> bool:
    """Return whether a conversion has changed no value."""
    if before.dtype.kind in "iu" and after.dtype.kind == "f":
        return [int(value) for value in after.tolist()] == before.tolist()
    if before.dtype.kind in "mM":
        return bool((after.astype(before.dtype) == before).all())
    return True


def _cannot_merge(a: Values, b: Values, why: str) -> MismatchError:
    return MismatchError(
        f"The labels so far are like {a.tolist()[0]!r} ({a.dtype}), the new ones like {b.tolist()[0]!r} ({b.dtype}): "
        f"they cannot be classes of one model, {why}"
    )


def union_labels(a: Values, b: Values) -> Values:
    """Return the sorted union of two sets of sorted labels."""
    if a is b or not len(b):
        return a
    if not len(a):
        return b
    first, second = as_one_type(a, b)
    if len(first) == len(second) and np.array_equal(first, second):
        return a if a.dtype == first.dtype else first
    try:
        return np.union1d(first, second)
    except TypeError:
        raise _cannot_merge(a, b, "because they have no order") from None


def label_positions(some: Values, labels: Values) -> NDArray[np.int32] | None:
    """Find the positions of `some` labels among sorted `labels`; None if one is not there."""
    if not len(some) or not len(labels):
        return None
    plain = some.dtype == labels.dtype and some.dtype.kind != "O"
    if not plain and _kind(some) == _kind(labels) == "numbers" and some.dtype.kind != labels.dtype.kind:
        some, labels = some.astype(object), labels.astype(object)  # Python compares integers and floats exactly
    try:
        some, labels = (some, labels) if plain else as_one_type(some, labels)
        places = labels.searchsorted(some)
        if len(some) == 1:  # fast for models that learn one row at a time
            known = places[0] < len(labels) and labels[places[0]] == some[0]
        else:
            known = places.max() < len(labels) and (labels[places] == some).all()
        if not known:
            return None
    except (MismatchError, TypeError):  # of other kinds, or without an order
        return None
    return places.astype(np.int32)


def places_among(some: Values, labels: Values) -> NDArray[np.int32]:
    """Return the positions of `some` labels among sorted `labels`, which have all of them."""
    places = label_positions(some, labels) if len(some) else np.zeros(0, np.int32)
    assert places is not None, "all of them are there"
    return places


def first_unknown(some: Values, labels: Values) -> Any:
    """Return the first of `some` labels that is not among `labels`."""
    return next(each for i, each in enumerate(label_list(some)) if label_positions(some[i : i + 1], labels) is None)


def position_of(label: Any, labels: Values) -> int:
    """Return the position of one label among sorted `labels`; refuse one that is not there."""
    places = label_positions(as_label(label), labels)
    if places is None:
        raise MismatchError(f"No class {label!r}: the classes are {', '.join(map(repr, label_list(labels)))}")
    return int(places[0])


def same_labels(a: Values, b: Values) -> NDArray[np.bool_]:
    """Return where two labels of a row are the same."""
    if a.dtype.kind == b.dtype.kind and a.dtype.kind != "O":
        return np.asarray(a == b)
    first, second = encode_labels(a), encode_labels(b)
    places = (label_positions(second.values[i : i + 1], first.values) for i in range(len(second.values)))
    known = np.array([-1 if place is None else int(place[0]) for place in places], dtype=np.int32)
    return np.asarray(known[second.codes] == first.codes)
