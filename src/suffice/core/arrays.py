"""Convert what users pass in to what kernels read: matrices, category codes and weights.

Missing entries become NaN in matrices and −1 in codes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.errors import (
    InfiniteValueError,
    InvalidDataError,
    NegativeValueError,
    RefusedValueError,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from typing_extensions import TypeIs

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]
Positions: TypeAlias = NDArray[np.integer[Any]]
Values: TypeAlias = NDArray[Any]  # labels or categories, of any type that can be sorted
Dense: TypeAlias = NDArray[Any]  # a matrix of float32 or float64
Rows: TypeAlias = Any  # what a statistic summarizes: a matrix, Categories, Texts, a Frame, or a Batch of these
Sparse: TypeAlias = "csr_matrix[Any]"
Matrix: TypeAlias = "Dense | csr_matrix[Any]"


# ------------------------------------------------------------------------------------------- matrices


_READY = (np.dtype(np.float64), np.dtype(np.float32))  # in the byte order of this machine


def is_sparse(x: object) -> TypeIs[Sparse]:
    """Return whether `x` is a SciPy sparse matrix or array, without importing SciPy."""
    sparse = None if type(x) is np.ndarray else sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def is_table(x: object) -> bool:
    """Return whether `x` has named columns, each with its own type, as data frames have."""
    return hasattr(x, "dtypes") and hasattr(x, "columns")


def as_matrix(x: Any) -> Matrix:
    """Return `x` as a dense or CSR matrix of float32 or float64, copied only where that is needed.

    Dense matrices keep their memory order where rows or columns are contiguous. Masked entries and nulls become NaN.
    """
    if type(x) is np.ndarray and x.ndim == 2 and x.dtype in _READY and x.flags.carray:
        return x
    if is_sparse(x):
        return as_csr(x)
    if isinstance(x, np.ma.MaskedArray):
        x = np.ma.filled(x.astype(_float_type(x.dtype)), np.nan)
    if not isinstance(x, np.ndarray):
        x = _table_to_array(x) if is_table(x) else np.asarray(x)
    if x.ndim != 2:
        raise InvalidDataError(f"Expected a table of rows and columns, found an array of shape {x.shape}")
    if x.dtype != np.float64 and x.dtype != np.float32:
        x = _to_float(x)
    if x.strides[1] != x.itemsize and x.strides[0] != x.itemsize:
        x = np.ascontiguousarray(x)
    if not x.dtype.isnative or not x.flags.aligned:
        x = x.astype(x.dtype.newbyteorder("="))
    return x


def as_dense(x: Any) -> Dense:
    """Return `x` as a dense matrix of float32 or float64."""
    x = as_matrix(x)
    return x.toarray() if is_sparse(x) else x


def _float_type(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def _table_to_array(x: Any) -> NDArray[Any]:
    """Read a data frame; nulls become NaN."""
    if any(str(dtype) in {"object", "category", "str", "string"} for dtype in x.dtypes):
        return np.asarray(x)
    if hasattr(x, "to_numpy"):
        try:
            return np.asarray(x.to_numpy(dtype=np.float64, na_value=np.nan))  # pandas
        except TypeError:
            return np.asarray(x.to_numpy())  # Polars
    return np.asarray(x)


def _to_float(x: NDArray[Any]) -> Array:
    if x.dtype.kind == "c":
        raise InvalidDataError("Complex data not supported: the columns must be real numbers")
    if x.dtype.kind in "mM":
        raise InvalidDataError(f"Expected numbers, found {x.dtype}: turn dates and times into numbers first")
    try:
        return np.asarray(x, dtype=np.float64, order="K")
    except (TypeError, ValueError):
        row, column, value = _first_unreadable(x)
        raise InvalidDataError(
            f"could not convert {value!r} in row {row}, column {column} to a number: "
            "encode it, or use a categorical model"
        ) from None


def _first_unreadable(x: NDArray[Any]) -> tuple[int, int, Any]:
    for (row, column), value in np.ndenumerate(x):
        try:
            float(value)
        except (TypeError, ValueError):
            return row, column, value
    return 0, 0, x


def as_csr(x: Any) -> Sparse:
    """Return a sparse or dense matrix as a CSR matrix of float32 or float64; refuse a malformed one."""
    x = checked_sparse(x)
    if x.dtype in _READY:
        return x
    return type(x)((x.data.astype(np.float64), x.indices, x.indptr), shape=x.shape)


def checked_sparse(x: Any) -> Sparse:
    """Return a sparse matrix as a well-formed CSR matrix of numbers: see `sparse_matrices.checked`."""
    import scipy.sparse

    from suffice.core.sparse_matrices import checked  # it imports SciPy

    return checked(x if is_sparse(x) else scipy.sparse.csr_matrix(x))


def chunks(x: Any, codes: Codes, weight: Array | None, cells: int = 1 << 23) -> Iterator[tuple[Any, Codes, Any]]:
    """Cut dense rows into pieces of about `cells` entries, so that working copies stay small; keep sparse rows."""
    rows = max(1, x.shape[0] if is_sparse(x) else cells // max(1, x.shape[1]))
    for lo in range(0, max(1, x.shape[0]), rows):
        piece = slice(lo, lo + rows)
        yield x[piece], codes[piece], None if weight is None else weight[piece]


def refuse_at(position: int, x: Matrix) -> None:
    """Raise an error if a kernel refused a value, infinite or negative, at row * columns + column; −1 means none."""
    if position == -1:
        return
    if position < 0:
        raise InvalidDataError("The sparse matrix is malformed: it stores a column index outside its shape")
    row, column = divmod(position, x.shape[1])
    found = x[row, column]
    if np.isinf(found):
        what = f"Input X contains infinity or a value too large for {x.dtype!r}."
        raise InfiniteValueError(what, found, row, column, " NaN is accepted as missing.")
    raise NegativeValueError("Negative values in data passed as counts or category numbers.", found, row, column)


def stored(x: Matrix) -> NDArray[Any]:
    """Return the entries of a dense matrix, or those that a sparse one stores."""
    return x.data if is_sparse(x) else x


def refuse_infinite(x: Matrix) -> None:
    """Raise an error that names the first infinite value of a matrix, if there is one."""
    infinite = np.isinf(stored(x))
    if infinite.any():
        row, column = _row_and_column(int(np.argmax(infinite)), x)
        refuse_at(row * x.shape[1] + column, x)


def _row_and_column(at: int, x: Matrix) -> tuple[int, int]:
    """Return the row and column of entry `at` of `stored(x)`."""
    if is_sparse(x):
        return int(np.searchsorted(x.indptr, at, side="right") - 1), int(x.indices[at])
    return divmod(at, x.shape[1])


def pack(table: Array) -> Array:
    """Return a (classes, columns) table in the layout of kernels: by column, classes padded to 64 bytes."""
    classes, columns = table.shape
    packed = np.zeros((columns, -(-classes // 8) * 8))
    packed[:, :classes] = table.T
    return packed


def without_duplicates(x: Sparse) -> Sparse:
    """Return a CSR matrix that stores each entry once: several values stored for one entry are added."""
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def count_entries(x: Matrix) -> tuple[Positions, Positions, Array]:
    """Return row, column and value of every entry of a matrix of counts that is neither missing nor 0."""
    refuse_infinite(x)
    refuse_entries(x, lambda entries: entries < 0, "Negative values in data passed as counts or category numbers.")
    if is_sparse(x):
        x = without_duplicates(x)
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        columns: Positions = x.indices[: len(rows)]
        values = x.data[: len(rows)]
        if len(rows) and not 0 <= columns.min() <= columns.max() < x.shape[1]:
            refuse_at(-2, x)
    else:
        rows, columns = (a.ravel() for a in np.indices(x.shape))
        values = x.ravel()
    counted = (values == values) & (values != 0)
    return rows[counted], columns[counted], values[counted].astype(np.float64)


def refuse_entries(x: Matrix, bad: Callable[[NDArray[Any]], Mask], what: str, advice: str = "") -> None:
    """Raise an error that names the first `bad` entry of a matrix, if there is one; `what` says what was expected."""
    wrong = bad(stored(x))
    if wrong.any() and is_sparse(x):  # an entry that is stored in parts is their sum, whatever the flags of `x` say
        x = without_duplicates(type(x)((x.data, x.indices, x.indptr), shape=x.shape))
        wrong = bad(stored(x))
    if not wrong.any():
        return
    row, column = _row_and_column(int(np.argmax(wrong)), x)
    found = x[row, column]
    raise (NegativeValueError if found < 0 else RefusedValueError)(what, found, row, column, advice)


def starts(lengths: Positions | Mask) -> NDArray[np.int64]:
    """Return where segments of these lengths start when they lie side by side, and where the last one ends.

    >>> starts(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def positions_in(some: Positions, size: int) -> Codes:
    """Return where each of 0 … `size` − 1 stands among `some` distinct ones of them, −1 where it is not there.

    >>> positions_in(np.array([2, 0]), 3)
    array([ 1, -1,  0], dtype=int32)
    """
    out = np.full(size, -1, dtype=np.int32)
    out[some] = np.arange(len(some), dtype=np.int32)
    return out


# ----------------------------------------------------------------------------------- values and weights


def as_objects(values: Sequence[Any]) -> Values:
    """Return a NumPy array of objects, also of objects that are sequences."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


MOST_CHARACTERS = 1 << 26  # of an array of strings as NumPy holds them: a quarter of a gigabyte


def as_strings(texts: Sequence[str]) -> Values:
    r"""Return strings as a NumPy array of strings, or of objects where that would not hold them.

    NumPy drops NULs at the end of a string, and gives each string the room of the longest.

    >>> as_strings(["a", "bc"]), as_strings(["a", "a\0"])
    (array(['a', 'bc'], dtype='<U2'), array(['a', 'a\x00'], dtype=object))
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    if lengths.max(initial=0) * len(texts) <= MOST_CHARACTERS:
        array = np.array(texts, dtype=str)
        if np.array_equal(np.strings.str_len(array), lengths):
            return array
    return as_objects(texts)


def repeated(values: Values, codes: Codes) -> Values:
    """Return `values[codes]`, long strings as objects: NumPy would give each row the room of the longest."""
    wide = values.dtype.kind == "U" and values.dtype.itemsize // 4 * len(codes) > MOST_CHARACTERS
    return (values.astype(object) if wide else values)[codes]


def encode(values: Values) -> tuple[Codes, Values]:
    """Number the distinct values in sorted order; missing values get −1."""
    kind = values.dtype.kind
    if kind == "T":  # NumPy's strings of any length, among which some may be missing
        return _encode_objects(as_objects(values.tolist()))
    if len(values) == 1 and kind in "iubU":  # fast for models that learn one row at a time
        return np.zeros(1, dtype=np.int32), values.copy()
    if kind == "b":
        return _encode_small_integers(values.astype(np.int64), 0, 1, values.dtype)
    if kind in "iu" and values.size and np.can_cast(values.dtype, np.int64):
        whole = np.ascontiguousarray(values, dtype=np.int64)
        low, high = _core.integer_range(whole)
        if high - low < max(1024, values.size):
            return _encode_small_integers(whole, low, high, values.dtype)
    if kind == "O":
        return _encode_objects(values)
    if kind in "fmM":
        missing = np.isnan(values)
        if missing.any():
            codes, found = encode(values[~missing])
            spread = np.full(len(values), -1, dtype=np.int32)
            spread[~missing] = codes
            return spread, found
    if kind == "U" and values.size > 10_000:
        return _encode_by_hashing(values)
    found, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int32), found + 0.0 if kind == "f" else found  # −0.0 and 0.0 are one value, 0.0


def _encode_small_integers(values: Values, low: int, high: int, dtype: np.dtype[Any]) -> tuple[Codes, Values]:
    """Number integers between low and high without sorting, by a table of those that occur."""
    codes, seen = np.empty(len(values), dtype=np.int32), np.zeros(high - low + 1, dtype=bool)
    _core.number_integers(values, low, codes, seen)
    present = np.flatnonzero(seen)
    found = (present + low).astype(dtype)
    return codes if len(present) == len(seen) else positions_in(present, len(seen))[codes], found


def distinct_pairs(a: Values, b: Values) -> tuple[Values, Values, NDArray[np.intp]]:
    """Find the distinct pairs (a[i], b[i]), sorted: their first parts, their second parts, and the number of each i's.

    >>> distinct_pairs(np.array([1, 0, 1]), np.array([0.5, 2.0, 0.5]))
    (array([0, 1]), array([2. , 0.5]), array([1, 0, 1]))
    """
    order = np.lexsort((b, a))
    a, b = a[order], b[order]
    fresh = np.ones(len(a), dtype=bool)
    fresh[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    pair = np.empty(len(a), dtype=np.intp)
    pair[order] = np.cumsum(fresh) - 1
    return a[fresh], b[fresh], pair


def distinct_numbers(x: Array) -> tuple[Array, Positions]:
    """Return the distinct numbers in ascending order, without −0, and the place of each entry among them.

    A radix sort takes a fifth of the time of NumPy's `unique`.
    """
    ordered, order = x + 0.0, np.empty(len(x), np.int64)
    _core.sort_segments(ordered, np.array([0, len(x)]), order)
    fresh = np.append([True], ordered[1:] != ordered[:-1])[: len(x)]
    place = np.empty(len(x), np.int64)
    place[order] = np.cumsum(fresh) - 1
    return ordered[fresh], place


def encode_repeated(values: Array) -> tuple[NDArray[np.int32], Array] | None:
    """Number the distinct values of a long column by hashing; None where it is short or has many of them."""
    import pyarrow as pa

    if len(values) < 1 << 16 or len(np.unique(values[:: len(values) // 1024])) > 256:
        return None
    encoded = pa.array(values).dictionary_encode()
    return np.asarray(encoded.indices), np.asarray(encoded.dictionary)


def _encode_by_hashing(values: Values) -> tuple[Codes, Values]:
    """Number strings by the bytes of their entries, all of one length."""
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    width, codes = values.dtype.itemsize, np.empty(len(values), np.int32)
    rows = _core.string_codes(np.arange(len(values) + 1) * width, values.view(np.uint8), None, 0, codes)
    found = values[rows]
    order = np.argsort(found)
    return positions_in(order, len(order))[codes], found[order]


def is_missing(value: object) -> bool:
    """Return whether one value stands for none: None, NaN, NaT, and NA of pandas."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # an array, for example, is not one value
        return False


def _encode_objects(values: Values) -> tuple[Codes, Values]:
    missing = np.fromiter((is_missing(v) for v in values), dtype=bool, count=len(values))
    present = values[~missing]
    types = {type(v) for v in present}
    names = ", ".join(sorted(t.__name__ for t in types))
    apart = [t for t in types if issubclass(t, (str, bool, np.bool_))]  # that NumPy and Python mix with numbers
    if all(issubclass(t, str) for t in types):
        codes, found = _encode_strings(present, types <= {str})
    elif apart and not all(issubclass(t, (bool, np.bool_)) for t in types):
        raise InvalidDataError(
            f"Cannot order a mix of {names}: labels and categories must all be strings, all numbers or all booleans"
        )
    else:
        try:
            found, inverse = np.unique(present, return_inverse=True)
            ordered = all(a < b for a, b in pairwise(found))  # sets, for example, have an order of some only
        except (TypeError, ValueError, ArithmeticError):
            ordered = False
        if not ordered:
            raise InvalidDataError(f"Cannot order values of type {names}: pass strings or numbers")
        codes, found = inverse.astype(np.int32), found.astype(object)
    spread = np.full(len(values), -1, dtype=np.int32)
    spread[~missing] = codes
    return spread, found


def _encode_strings(values: Values, plain: bool) -> tuple[Codes, Values]:
    """Number strings by a dictionary, which needs no room for the longest of them."""
    texts = values if plain else [str.__str__(value) for value in values]  # what a member of an enumeration equals
    number: dict[str, int] = {}
    codes = np.fromiter((number.setdefault(text, len(number)) for text in texts), np.int32, len(values))
    found = sorted(number)
    rank = np.empty(len(found), dtype=np.int32)
    rank[[number[text] for text in found]] = np.arange(len(found))
    return rank[codes], as_strings(found) if found else np.empty(0, dtype="<U1")


# Squares of weights, and of the sum of as many as there may be rows, stay within the range of float64.
LEAST_WEIGHT, MOST_WEIGHT = 1e-140, 1e140
WEIGHTS_ARE = f"Weights are 0 or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}, so that no sum overflows: rescale them"


def as_weight(weight: Any, n: int) -> Array | None:
    """Check sample weights: one number, 0 or from 1e-140 to 1e140, for each of `n` rows, or one for all."""
    if weight is None:
        return None
    try:
        array = np.asarray(weight)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"Sample weights must be numbers, one for each row: {error}") from None
    array = np.full(n, array) if array.ndim == 0 else np.ascontiguousarray(array)
    if array.ndim != 1:
        raise InvalidDataError(
            f"Sample weights must be 1D array or scalar, got {array.ndim}D array. "
            "Expected either a scalar value or a 1D array of length "
            f"{n}."
        )
    if array.shape != (n,):
        raise InvalidDataError(f"sample_weight.shape == {array.shape}, expected {(n,)}!")
    refused = ~(((array >= LEAST_WEIGHT) & (array <= MOST_WEIGHT)) | (array == 0))
    if refused.any():
        row = int(np.argmax(refused))
        found = array[row]
        what = "Negative values in data passed to" if found < 0 else "NaN or infinity in"
        what, advice = ("Values out of range in", f". {WEIGHTS_ARE}") if 0 < found < np.inf else (what, "")
        raise InvalidDataError(f"{what} `sample_weight`: row {row} has weight {found}{advice}")
    return array


# ------------------------------------------------------------------------------------------ categories


@dataclass(frozen=True)
class Categories:
    """Columns of category codes: code c of column j is the category `keys[j][c]`, or c where `keys` is None.

    `codes` is a matrix of integers, or of floats whose integer parts are the codes. Negative codes and NaN are missing.
    """

    codes: NDArray[Any]
    keys: tuple[Values, ...] | None

    def __getitem__(self, rows: slice | Positions | Mask) -> Categories:
        return Categories(self.codes[rows], self.keys)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return self.codes.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.codes.shape


def as_categories(x: Any) -> Categories:
    """Read columns of categories from a matrix or a data frame.

    Numbers are codes 0, 1, 2, …, as in scikit-learn's `CategoricalNB`. In anything else (strings, objects, data frames
    with such columns) the sorted distinct values of each column are numbered.
    """
    if isinstance(x, Categories):
        return x
    if isinstance(x, np.ma.MaskedArray):
        mask, x = np.ma.getmaskarray(x), np.ma.getdata(x)
        x = np.where(mask, np.nan, x) if x.dtype.kind in "fiub" else np.where(mask, None, x.astype(object))
    if is_table(x):
        columns = [x[name] for name in x.columns]
        kinds = [str(getattr(column, "dtype", "")) for column in columns]
        if any(not _is_numeric(kind) for kind in kinds):
            return encode_columns(
                as_objects(column.to_list() if hasattr(column, "to_list") else column) for column in columns
            )
        x = _table_to_array(x)
    array = x if isinstance(x, np.ndarray) else _column_to_array_2d(x)
    if array.ndim != 2:
        raise InvalidDataError(f"Expected a table of rows and columns, found an array of shape {array.shape}")
    if array.dtype.kind in "OU" or array.dtype.kind == "S":
        as_numbers = _as_numbers(array)
        if as_numbers is None:
            return encode_columns(array.T)
        array = as_numbers
    return Categories(_as_code_matrix(array), None)


def encode_columns(columns: Iterable[Values]) -> Categories:
    """Number the distinct values of each column in sorted order, under these values as names."""
    codes, keys = zip(*map(encode, columns), strict=True)
    return Categories(np.stack(codes, axis=1), keys)


def _is_numeric(kind: str) -> bool:
    return kind.lower().startswith(("int", "uint", "float", "bool", "double"))


def _column_to_array_2d(x: Any) -> NDArray[Any]:
    array = np.asarray(x)
    if array.dtype.kind == "U":
        array = np.asarray(x, dtype=object)  # a list of lists may mix strings, numbers and None
    return array


def _as_numbers(array: NDArray[Any]) -> NDArray[Any] | None:
    """Read numbers held as objects; None if there are strings among them."""
    if array.dtype.kind != "O" or any(isinstance(v, str) for v in array.flat):
        return None
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _as_code_matrix(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "c":
        raise InvalidDataError("Complex data not supported: category codes must be integers")
    if array.dtype.kind == "f":
        array = array.astype(_float_type(array.dtype), copy=False)
    elif array.dtype.newbyteorder("=") not in (np.int64, np.int32):
        small = array.dtype.kind == "b" or array.dtype.itemsize < 4
        array = array.astype(np.int32 if small else np.float64 if array.dtype == np.uint64 else np.int64)
    array = array.astype(array.dtype.newbyteorder("="), copy=not array.flags.aligned)
    if array.strides[1] != array.itemsize and array.strides[0] != array.itemsize:
        array = np.ascontiguousarray(array)
    return array
