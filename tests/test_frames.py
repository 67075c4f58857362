"""Tables of any kind: the same values read alike from each, and answers come back as what was passed in."""

import datetime as dt
import math
import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from suffice import InvalidDataError, MismatchError, MissingLabelError
from suffice.core import arrays as tables
from suffice.core.frames import (
    Frame,
    as_frame,
    categories,
    column_kind,
    label_codes,
    labels,
    numbers,
    prototype,
    row_hashes,
    table_like,
    weights,
)
from suffice.core.labels import encode_labels

# ------------------------------------------------------------------------- one table, from every source

DAYS = [dt.date(2020, 2, 29), dt.date(1969, 7, 20), None, dt.date(2024, 1, 1)]
VALUES = {
    "count": [3, 1, 2, -5],
    "real": [0.5, None, -0.0, 1e300],
    "job": ["clerk", None, "baker", "clerk"],
    "member": [True, False, True, True],
    "size": ["S", "L", "S", None],
}
KINDS = {"count": "number", "real": "number", "job": "text", "member": "bool", "size": "category"}
ENUM = ["S", "M", "L"]


def arrow_table():
    columns = {name: pa.array(values) for name, values in VALUES.items()}
    codes = pa.array([0, 2, 0, None], pa.int8())
    return pa.table(columns | {"size": pa.DictionaryArray.from_arrays(codes, pa.array(ENUM))})


def pandas_frame(**types):
    index = pd.Index([10, 20, 30, 40], name="row")
    frame = pd.DataFrame({name: pd.Series(values, index=index) for name, values in VALUES.items()})
    return frame.astype({"size": pd.CategoricalDtype(ENUM)} | types)


class Capsule:
    """Something that speaks Arrow's C interface and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class ArrayCapsule:
    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def polars_frame():
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    return pl.DataFrame(VALUES).with_columns(pl.col("size").cast(pl.Enum(ENUM)))


def duckdb_relation():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.from_arrow(arrow_table()).project("* REPLACE (CAST(size AS ENUM('S', 'M', 'L')) AS size)")


def chunked(table):
    return pa.concat_tables([table[:1], table[1:1], table[1:3], table[3:]])


def structured():
    dtype = [("count", "i4"), ("real", "f4"), ("job", "O"), ("member", "?"), ("size", "O")]
    rows = list(zip(*VALUES.values(), strict=True))
    return np.array([(c, np.nan if r is None else min(r, 1e30), *rest) for c, r, *rest in rows], dtype=dtype)


def objects():
    return np.array(list(zip(*VALUES.values(), strict=True)), dtype=object)


SOURCES = {
    "pandas": pandas_frame,
    "pandas objects": lambda: pandas_frame(job=object, member=object).assign(
        real=np.array(VALUES["real"], dtype=object), job=np.array(VALUES["job"], dtype=object)
    ),
    "pandas nullable": lambda: pandas_frame(count="Int64", real="Float64", job="string", member="boolean"),
    "pandas on Arrow": lambda: pandas_frame(
        count="int64[pyarrow]", real="double[pyarrow]", job="string[pyarrow]", member="bool[pyarrow]"
    ),
    "Polars": polars_frame,
    "Polars lazy": lambda: polars_frame().lazy(),
    "Arrow table": arrow_table,
    "Arrow chunks": lambda: chunked(arrow_table()),
    "Arrow batch": lambda: arrow_table().to_batches()[0],
    "Arrow stream": lambda: arrow_table().to_reader(),
    "Arrow struct": lambda: arrow_table().to_struct_array().combine_chunks(),
    "C stream": lambda: Capsule(arrow_table()),
    "C array": lambda: ArrayCapsule(arrow_table().to_batches()[0]),
    "DuckDB": duckdb_relation,
    "dict of lists": lambda: dict(VALUES),
    "dict of columns": lambda: {
        "count": np.array(VALUES["count"]),
        "real": pd.Series(VALUES["real"]),
        "job": pa.array(VALUES["job"]),
        "member": tuple(VALUES["member"]),
        "size": pd.Categorical(VALUES["size"], categories=ENUM),
    },
    "records": lambda: [dict(zip(VALUES, row, strict=True)) for row in zip(*VALUES.values(), strict=True)],
    "Frame": lambda: as_frame(arrow_table()),
}
PLAIN = {"dict of lists", "records"}  # have no way to say that a column of strings is categorical


@pytest.fixture(params=SOURCES)
def source(request):
    return request.param, SOURCES[request.param]()


def test_every_source_gives_the_same_frame(source):
    name, table = source
    frame = as_frame(table)
    assert frame.shape == (4, 5)
    assert len(frame) == 4
    assert frame.names == list(VALUES)
    for column, expected in KINDS.items():
        assert frame.kind_of(column) == ("text" if name in PLAIN and column == "size" else expected)
    assert all(frame.column(c).to_pylist() == VALUES[c] for c in ("count", "job", "member", "size"))
    np.testing.assert_array_equal(numbers(frame.column("count")), [3.0, 1.0, 2.0, -5.0])
    np.testing.assert_array_equal(numbers(frame.column("real")), [0.5, np.nan, 0.0, 1e300])
    np.testing.assert_array_equal(numbers(frame.column("member")), [1.0, 0.0, 1.0, 1.0])
    found = categories(*frame.columns.values(), names=frame.names)
    np.testing.assert_array_equal(
        found.codes.T, [[3, 1, 2, 0], [1, -1, 0, 2], [1, -1, 0, 1], [1, 0, 1, 1], [1, 0, 1, -1]]
    )
    assert [keys.tolist() for keys in found.keys] == [
        [-5, 1, 2, 3],
        [0.0, 0.5, 1e300],
        ["baker", "clerk"],
        [False, True],
        ["L", "S"],
    ]


def test_every_source_gives_the_same_row_hashes(source):
    _, table = source
    expected = row_hashes(as_frame(arrow_table()))
    np.testing.assert_array_equal(row_hashes(as_frame(table)), expected)
    assert len(set(expected.tolist())) == 4


def test_arrays_of_objects_and_of_records_are_read_column_by_column():
    frame = as_frame(objects(), names=VALUES)
    assert [frame.kind_of(name) for name in frame.names] == ["number", "number", "text", "bool", "text"]
    np.testing.assert_array_equal(row_hashes(frame), row_hashes(as_frame(arrow_table())))
    frame = as_frame(structured())
    assert [frame.kind_of(name) for name in frame.names] == ["number", "number", "text", "bool", "text"]
    assert frame.column("count").type == pa.int32()
    assert frame.column("real").type == pa.float32()
    assert as_frame([list(row) for row in objects()]).column("x2").to_pylist() == VALUES["job"]


def test_a_matrix_has_columns_named_by_number_and_masked_entries_are_missing():
    x = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    frame = as_frame(x)
    assert frame.names == ["x0", "x1"]
    assert frame.column("x1").to_pylist() == [None, 4]
    named = as_frame(np.ma.MaskedArray(np.array([["a", 1], ["b", 2]], object), mask=x.mask), names=["a", "b"])
    assert named.column("b").to_pylist() == [None, 2]
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    np.testing.assert_array_equal(numbers(as_frame(strided).column("x1")), strided[:, 1])
    turned = np.array([[1, 2]], dtype=">i4")
    assert as_frame(turned).column("x1").to_pylist() == [2]
    assert as_frame(np.array([["a", "b"]])).kind_of("x0") == "text"
    assert as_frame(np.array([[b"a", b"b"]])).column("x1").to_pylist() == ["b"]
    assert as_frame(np.array([[1.5]], dtype=np.longdouble)).column("x0").to_pylist() == [1.5]


def test_columns_of_floats_are_not_copied():
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 3)))
    assert np.shares_memory(numbers(as_frame(x).column("x1")), x)
    column = as_frame(pa.table({"x": x[:, 0]})).column("x")
    assert np.shares_memory(numbers(column), x)


def test_names_become_strings_and_can_be_replaced():
    assert as_frame(pd.DataFrame({0: [1], ("a", 1): [2]})).names == ["0", "('a', 1)"]
    assert as_frame({1: [1]}, names=["one"]).names == ["one"]
    with pytest.raises(InvalidDataError, match="1 names were given for 2 columns"):
        as_frame(np.ones((2, 2)), names=["a"])


def test_pandas_categories_that_are_not_values_become_text():
    cut = pd.DataFrame({"cut": pd.cut(pd.Series([1.0, 2.0, 9.0, np.nan]), [0, 5, 10])})
    assert as_frame(cut).column("cut").to_pylist() == ["(0, 5]", "(0, 5]", "(5, 10]", None]
    pd.testing.assert_frame_equal(table_like(as_frame(cut), cut), cut)
    mixed = pd.DataFrame({"m": pd.Categorical(["a", 1, "a"])})
    assert as_frame(mixed).column("m").to_pylist() == ["a", "1", "a"]


def test_sparse_and_period_columns_of_pandas_are_read():
    frame = pd.DataFrame({"s": pd.arrays.SparseArray([0, 1, 0]), "p": pd.period_range("2020-01", periods=3, freq="M")})
    frame = as_frame(frame)
    assert frame.column("s").to_pylist() == [0, 1, 0]
    assert frame.kind_of("p") == "date"


def test_reading_imports_none_of_the_packages_it_reads_from():
    code = (
        "import sys, numpy as np, suffice\n"
        "from suffice.core.frames import as_frame\n"
        "before = 'pyarrow' in sys.modules\n"
        "as_frame({'a': [1, 2]}); as_frame(np.ones((2, 2)))\n"
        "print(before, *{'polars', 'duckdb', 'scipy'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False"]


# ------------------------------------------------------------------------------------------------ kinds

TYPES = {
    "bool": [pa.array([True, None])],
    "number": [
        *(pa.array([1, None], t) for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
        *(pa.array([1, None], t) for t in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
        pa.array(np.array([1, np.nan], np.float16)),
        *(pa.array([1.0, None], t) for t in (pa.float32(), pa.float64())),
        *(pa.array([Decimal("1"), None], t(5, 2)) for t in (pa.decimal128, pa.decimal256)),
    ],
    "text": [pa.array(["a", None], t) for t in (pa.string(), pa.large_string(), pa.string_view())],
    "category": [
        pa.array(["a", None]).dictionary_encode(),
        pa.array([1, None]).dictionary_encode(),
        pa.array([True, None]).dictionary_encode(),
    ],
    "date": [
        *(pa.array([1, None], t) for t in (pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.duration("ms"))),
        *(pa.array([1, None], t) for t in (pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"))),
        pa.array([None, (1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([1, None], pa.date32()).dictionary_encode(),
    ],
    "empty": [
        pa.nulls(2),
        pa.nulls(2, pa.string()),
        pa.nulls(2, pa.list_(pa.int8())),
        pa.array([np.nan, None]),
        pa.array([np.nan] * 5000),
        pa.array([None, None], pa.dictionary(pa.int8(), pa.string())),
    ],
    "other": [
        *(pa.array([b"a", None], t) for t in (pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view())),
        pa.array([[1], None]),
        pa.array([[1], None], pa.large_list(pa.int64())),
        pa.array([[1], None], pa.list_(pa.int64(), 1)),
        pa.array([{"a": 1}, None]),
        pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        pa.UnionArray.from_dense(
            pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
        ),
        pa.array([b"a", None]).dictionary_encode(),
    ],
}
CASES = [(expected, column) for expected, columns in TYPES.items() for column in columns]


@pytest.mark.parametrize(("expected", "column"), CASES, ids=[f"{e} {c.type}" for e, c in CASES])
def test_the_kind_follows_from_the_arrow_type(expected, column):
    assert column_kind(column) == expected
    frame = as_frame(pa.table({"x": column}))
    assert frame.kind_of("x") == expected
    readable = expected in {"bool", "number", "category", "empty"} and column.type != TYPES["category"][0].type
    if readable:
        assert len(numbers(frame.column("x"), "x")) == len(column)
    else:
        with pytest.raises(InvalidDataError, match=r"Column 'x' has the Arrow type .*cannot be read as numbers"):
            numbers(frame.column("x"), "x")
    if expected in {"date", "other"}:
        with pytest.raises(InvalidDataError, match=r"Column 'x' has the Arrow type .*cannot be read as categories"):
            categories(frame.column("x"), names=["x"])
    else:
        assert categories(frame.column("x"), names=["x"]).shape == (len(column), 1)
    if expected == "other" or pa.types.is_interval(column.type):
        with pytest.raises(InvalidDataError, match=r"Column 'x' .* row's hash"):
            row_hashes(frame)
    else:
        assert len(row_hashes(frame)) == len(column)


def test_a_column_without_rows_is_of_its_types_kind():
    assert column_kind(pa.array([], pa.float64())) == "number"
    assert column_kind(pa.array([], pa.string())) == "text"


def test_extensions_and_run_lengths_are_unpacked():
    frame = as_frame(pa.table({"r": pc.run_end_encode(pa.array(["a", "a", None]))}))
    assert frame.column("r").to_pylist() == ["a", "a", None]
    assert frame.kind_of("r") == "text"

    uuid = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16], pa.binary(16)))
    assert as_frame(pa.table({"id": uuid})).kind_of("id") == "other"
    bools = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    assert as_frame(pa.table({"b": bools})).column("b").to_pylist() == [1, 0]


def test_string_views_read_as_strings():
    """As Polars sends them to whoever asks for no particular type."""
    views = pa.array(["a", None, "b", "a"], pa.string_view())
    numbered = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.uint32()), pa.array(["a", "b"], views.type))
    frame = as_frame(Capsule(pa.table({"s": views, "d": numbered})))
    assert categories(*frame.columns.values()).codes.T.tolist() == [[0, -1, 1, 0]] * 2
    assert as_frame({"s": Capsule(pa.chunked_array([views]))}).column("s").to_pylist() == ["a", None, "b", "a"]


def test_whatever_becomes_an_array_is_read_as_one():
    class Tensor:
        def __init__(self, values):
            self.values = np.array(values)

        def __array__(self, dtype=None, copy=None):
            return self.values

    assert as_frame(Tensor([[1, 2], [3, 4]])).column("x1").to_pylist() == [2, 4]
    assert as_frame({"a": Tensor([1, 2])}).column("a").to_pylist() == [1, 2]
    days = as_frame({"a": np.array([1, 2], "m8[D]")}).column("a")
    assert days.to_pylist() == [dt.timedelta(days=1), dt.timedelta(days=2)]


# ------------------------------------------------------------------------------------------- converters


def test_numbers_are_floats_with_nan_for_null():
    expected = [1.0, np.nan, 3.0]
    for column in (
        pa.array([1, None, 3]),
        pa.array([1, None, 3], pa.uint8()),
        pa.array([1.0, np.nan, 3.0]),
        pa.array([1.0, None, 3.0], pa.float32()),
        pa.array([Decimal(1), None, Decimal(3)]),
        pa.array([1, None, 3]).dictionary_encode(),
        pa.chunked_array([[1], [None], [], [3]]),
    ):
        found = numbers(column)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
    assert numbers(pa.array([2**63 - 1]))[0] == 2.0**63
    assert np.isinf(numbers(pa.array([np.inf])))[0]


@pytest.mark.parametrize(
    "values",
    [
        ["b", None, "a", "ü", "b", "zz", "é"],
        [3, 1, None, 2, 1],
        [3, 1, 2, 1, 10**12],
        [True, None, False],
        [0.5, np.nan, -1.0, None, 0.0, -0.0],
        [None, None],
        [],
    ],
)
def test_categories_number_values_as_encode_does(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    codes, keys = tables.encode(array)
    column = pa.array(values, from_pandas=True)
    for same in (column, pa.chunked_array([column[:2], column[2:2], column[2:]])):
        variants = [same] if pa.types.is_null(column.type) else [same, same.dictionary_encode()]
        for variant in variants:
            found = categories(variant)
            assert found.codes.dtype == np.int32
            np.testing.assert_array_equal(found.codes[:, 0], codes)
            np.testing.assert_array_equal(found.keys[0], keys)


@given(
    st.lists(st.none() | st.text(max_size=3) | st.sampled_from("abc"), max_size=30), st.integers(0, 30), st.booleans()
)
def test_however_a_column_is_cut_and_held_its_categories_are_the_same(values, cut, numbered):
    parts = [pa.array(part, pa.string()) for part in (values[:cut], values[cut:])]
    column = pa.chunked_array([part.dictionary_encode() if numbered else part for part in parts])
    found = categories(column)
    present = sorted({v.rstrip("\0") for v in values if v is not None})  # NumPy's strings end at their last character
    assert found.keys[0].tolist() == present
    assert found.codes[:, 0].tolist() == [-1 if v is None else present.index(v.rstrip("\0")) for v in values]


def test_categories_that_no_row_has_are_left_out():
    dictionary = pa.DictionaryArray.from_arrays(pa.array([3, 0, None, 2, 3]), pa.array(["z", "unused", "a", "m", None]))
    found = categories(dictionary)
    assert found.codes[:, 0].tolist() == [1, 2, -1, 0, 1]
    assert found.keys[0].tolist() == ["a", "m", "z"]
    null_inside = pa.DictionaryArray.from_arrays(pa.array([4, 0]), pa.array(["z", "unused", "a", "m", None]))
    assert categories(null_inside).codes[:, 0].tolist() == [-1, 0]
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "b", "a"]))
    assert categories(twice).codes[:, 0].tolist() == [0, 1, 0]


def test_chunks_with_other_dictionaries_are_numbered_alike():
    a, b = pa.array(["x", "y"]).dictionary_encode(), pa.array(["y", "a"]).dictionary_encode()
    found = categories(pa.chunked_array([a, b]))
    assert found.codes[:, 0].tolist() == [1, 2, 2, 0]
    assert found.keys[0].tolist() == ["a", "x", "y"]


@pytest.mark.parametrize("values", [["b", "a", "b"], [3, 1, 3], [True, False, True], [0.5, 0.0, 0.5]])
def test_labels_are_what_encode_labels_reads(values):
    for column in (pa.array(values), pa.array(values).dictionary_encode()):
        expected = encode_labels(values)
        found = encode_labels(labels(column))
        direct = label_codes(column)
        for answer in (found, direct):
            np.testing.assert_array_equal(answer.codes, expected.codes)
            np.testing.assert_array_equal(answer.values, expected.values)
            assert answer.values.dtype.kind == expected.values.dtype.kind


def test_a_missing_label_is_named_by_its_row():
    for column in (pa.array(["a", "b", None]), pa.array([0.0, 1.0, np.nan]), pa.array([1, 2, None])):
        with pytest.raises(MissingLabelError, match="row 2"):
            labels(column)
    with pytest.raises(InvalidDataError, match=r"Column 'y' .* labels"):
        labels(pa.array([[1]]), "y")


def test_weights_are_finite_and_not_negative():
    np.testing.assert_array_equal(weights(pa.array([1, 2])), [1.0, 2.0])
    for bad in ([1, None], [1.0, np.inf], [1, -1]):
        with pytest.raises(InvalidDataError, match="row 1 has weight"):
            weights(pa.array(bad))


# ----------------------------------------------------------------------------------------------- frames


def test_rows_are_taken_by_slice_mask_and_position():
    frame = as_frame(chunked(arrow_table()))
    everything = np.arange(4)
    for rows in (
        slice(1, 3),
        slice(None, None, -1),
        slice(3, 1),
        [2, 0, -1],
        everything > 1,
        [],
        np.int64(2),
        slice(9),
    ):
        found = frame[rows]
        positions = np.atleast_1d(everything[np.array(rows, dtype=int) if isinstance(rows, list) else rows])
        assert found.n == len(positions)
        for name, values in VALUES.items():
            assert found.column(name).to_pylist() == [values[i] for i in positions]


def test_slices_share_memory():
    x = np.arange(10.0)
    column = as_frame({"x": x})[3:7].column("x")
    assert np.shares_memory(numbers(column), x)


def test_columns_are_selected_and_dropped_by_name():
    frame = as_frame(arrow_table())
    assert frame.select(["size", "count"]).names == ["size", "count"]
    assert frame.drop("job").names == ["count", "real", "member", "size"]
    for wrong in (frame.column, frame.drop, lambda name: frame.select([name]), frame.kind_of):
        with pytest.raises(InvalidDataError, match="There is no column 'nothing': the columns are 'count', 'real'"):
            wrong("nothing")
    assert frame.table().equals(arrow_table())
    assert repr(frame) == "Frame(4 rows × 5 columns: count number, real number, job text, member bool, size category)"


def test_frames_are_put_one_after_the_other():
    frame = as_frame(arrow_table())
    both = Frame.concat([frame[:1], as_frame(dict(VALUES))[1:3], frame[3:]])
    np.testing.assert_array_equal(row_hashes(both), row_hashes(frame))
    wider = Frame.concat([as_frame({"a": [1]}), as_frame({"a": [1.5]}), as_frame({"a": [None]})])
    assert wider.column("a").to_pylist() == [1.0, 1.5, None]
    assert Frame.concat([]).shape == (0, 0)
    assert Frame.concat([as_frame(np.ones((3, 0))), as_frame(np.ones((2, 0)))]).shape == (5, 0)
    with pytest.raises(MismatchError, match="Frame 0 has the columns 'a', frame 1 has 'b'"):
        Frame.concat([as_frame({"a": [1]}), as_frame({"b": [1]})])
    with pytest.raises(MismatchError, match="Column 'a' holds int64, string"):
        Frame.concat([as_frame({"a": [1]}), as_frame({"a": ["x"]})])


def test_tables_without_rows_or_columns_have_a_shape():
    assert as_frame({}).shape == (0, 0)
    assert as_frame([]).shape == (0, 0)
    assert as_frame(np.empty((3, 0))).shape == (3, 0)
    assert as_frame(pd.DataFrame(index=range(3))).shape == (3, 0)
    assert repr(as_frame(np.empty((3, 0)))) == "Frame(3 rows × 0 columns)"
    nothing = as_frame(arrow_table()[:0])
    assert nothing.shape == (0, 5)
    assert [nothing.kind_of(name) for name in nothing.names] == list(KINDS.values())
    assert categories(*nothing.columns.values()).shape == (0, 5)
    assert len(numbers(nothing.column("real"))) == len(row_hashes(nothing)) == len(labels(nothing.column("job"))) == 0
    empty = pa.chunked_array([], pa.string())
    assert categories(empty).shape == (0, 1)
    assert as_frame(arrow_table()[:1]).shape == (1, 5)
    assert row_hashes(as_frame(np.empty((3, 0)))).tolist() == [0, 0, 0]
    with pytest.raises(InvalidDataError, match="at least one column"):
        categories()


def test_columns_of_categories_are_equally_long():
    with pytest.raises(InvalidDataError, match=r"equally many rows, found \[2, 1\]"):
        categories(pa.array([1, 2]), pa.array([1]))


# ------------------------------------------------------------------------------------------------ hashes


@pytest.mark.slow
def test_hashes_are_the_same_in_every_process_and_version():
    """The first is splitmix64 of the bits of 1.0; the others pin the format, since samples of rows rest on it."""
    mask = (1 << 64) - 1
    z = (int.from_bytes(np.float64(1).tobytes(), "little") + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    assert int(row_hashes(as_frame({"a": [1]}))[0]) == z ^ (z >> 31)
    code = (
        "from suffice.core.frames import as_frame, row_hashes\n"
        "print(*row_hashes(as_frame({'a': [1, None], 'b': ['x', 'y']})))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)]
    here = row_hashes(as_frame({"a": [1, None], "b": ["x", "y"]}))
    assert runs[0] == runs[1] == f"{here[0]} {here[1]}\n"


def test_equal_values_hash_alike_whatever_holds_them():
    def hashed(column):
        return row_hashes(as_frame({"a": column})).tolist()

    one = hashed(pa.array([1, None, 0], pa.int8()))
    assert one == hashed([1.0, np.nan, -0.0]) == hashed(np.array([1, np.nan, 0], np.float32))
    assert one == hashed([True, None, False]) == hashed([Decimal(1), None, Decimal(0)])
    assert one == hashed(pd.Categorical([1, None, 0])) == hashed(pd.array([1, None, 0], "Int8"))
    instants = pd.Series(pd.to_datetime(DAYS))
    assert hashed(instants) == hashed(DAYS) == hashed(instants.astype("datetime64[ns]"))
    assert hashed(np.array(["2020", "NaT"], "M8[Y]")) == hashed(np.array(["2020-01-01", "NaT"], "M8[h]"))
    assert hashed([None, None]) == hashed(pa.nulls(2, pa.string())) == hashed([np.nan, np.nan])


def test_different_rows_hash_differently():
    rng = np.random.default_rng(3)
    x = rng.integers(-50, 50, size=(100_000, 2))
    distinct = len(np.unique(x, axis=0))
    assert len(np.unique(row_hashes(as_frame(x)))) == distinct
    swapped = as_frame({"a": [1, 2], "b": [2, 1]})
    assert len(set(row_hashes(swapped).tolist())) == 2
    np.testing.assert_array_equal(row_hashes(swapped, ["b", "a"]), row_hashes(swapped)[::-1])
    np.testing.assert_array_equal(row_hashes(swapped[1:]), row_hashes(swapped)[1:])
    high_bits = (row_hashes(as_frame(np.arange(64_000.0)[:, None])) >> np.uint64(58)).astype(int)
    counts = np.bincount(high_bits, minlength=64)
    assert abs(counts - 1000).max() < 150  # five standard deviations


# ------------------------------------------------------------------------------------- giving results back


def same(found, table):
    if isinstance(table, pd.DataFrame):
        pd.testing.assert_frame_equal(found, table)
    elif isinstance(table, Frame):
        assert found.table().equals(table.table())
    elif hasattr(table, "equals"):
        assert found.equals(table)
    else:
        assert found == table


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"dict of columns"}))
def test_columns_come_back_as_the_type_of_their_source(name):
    table = SOURCES[name]()
    frame = as_frame(table)
    found = table_like(frame, table)
    if name == "Polars lazy":
        assert found.equals(polars_frame())
    elif name in {"Arrow stream", "Arrow struct", "C stream", "C array", "DuckDB"}:
        assert isinstance(found, pa.Table)
        assert found.to_pydict() == VALUES
    else:
        assert type(found) is type(table)
        same(found, table)


@pytest.mark.parametrize("name", sorted(set(SOURCES) - {"dict of columns"}))
def test_arrays_take_the_types_of_their_source(name):
    """As imputation gives them: floats for all numbers, strings for all categories."""
    table = SOURCES[name]()
    frame = as_frame(table)
    filled = {
        "count": np.array([3.0, 1.0, 2.0, -5.0]),
        "real": np.array([0.5, 0.25, 0.0, 1.0]),
        "job": np.array(["clerk", "clerk", "baker", "clerk"]),
        "member": np.array([1.0, 0.0, 1.0, 1.0]),
        "size": np.array(["S", "L", "S", "L"], dtype=object),
    }
    found = as_frame(table_like(filled, table))
    streams = {"C stream"}  # read once, and nothing is known of them afterwards
    for column in VALUES if name not in streams else ():
        assert found.column(column).type == frame.column(column).type
    assert found.column("job").to_pylist() == filled["job"].tolist()
    np.testing.assert_array_equal(numbers(found.column("count")), filled["count"])


def test_times_of_nanoseconds_stay_times_in_an_array_of_several_kinds():
    times = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
    found = table_like({"when": times, "x": np.array([0.5, 1.5])}, np.zeros((2, 2)))
    assert found.tolist() == [[times[0], 0.5], [times[1], 1.5]]


def test_values_that_do_not_fit_keep_a_type_that_holds_them():
    source = pandas_frame()
    values = {
        "count": [0.5, 1.0],
        "member": [0.5, 1.0],
        "size": ["S", "huge"],
        "job": ["a", "b"],
        "new": [1, 2],
    }
    found = table_like(values, source)
    assert {name: found[name].tolist() for name in values} == values
    assert found.index.tolist() == [0, 1]
    assert table_like({"job": [1.5]}, source)["job"].tolist() == [1.5]
    assert table_like({"count": ["x"]}, source)["count"].tolist() == ["x"]
    assert table_like({"count": [0.5]}, pandas_frame(count="Int64"))["count"].tolist() == [0.5]
    assert table_like({"size": [1.5]}, source)["size"].tolist() == [1.5]
    assert table_like({"count": pa.array([1, 2]).dictionary_encode()}, source)["count"].tolist() == [1, 2]
    exact = pa.table({"d": pa.array([Decimal("1.5")]), "i": pa.array([1], pa.int8())})
    found = table_like({"d": [0.25], "i": [300]}, exact)
    assert found.to_pydict() == {"d": [0.25], "i": [300]}
    assert table_like({"d": [0.5], "i": [100.0]}, exact).schema == exact.schema
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    found = table_like({"size": ["S", "huge"]}, polars_frame())
    assert found["size"].dtype == pl.String
    assert found["size"].to_list() == ["S", "huge"]
    table = pl.DataFrame({"c": pl.Series(["a", "b"], dtype=pl.Categorical)})
    assert table_like({"c": ["a", "new"]}, table)["c"].dtype == pl.Categorical


def test_gaps_that_remain_stay_gaps():
    found = table_like({"count": [1.0, np.nan, 2.0, 3.0], "size": ["S", None, "L", "M"]}, pandas_frame())
    assert found["count"].isna().tolist() == [False, True, False, False]
    assert found["size"].dtype == pd.CategoricalDtype(ENUM)
    assert found["size"].isna().sum() == 1
    assert found.index.tolist() == [10, 20, 30, 40]
    nullable = table_like({"count": [1.0, np.nan]}, pandas_frame(count="Int64"))
    assert nullable["count"].dtype == "Int64"
    assert nullable["count"][0] == 1
    assert table_like({"a": [1.0, np.nan]}, [{"a": 3}]) == [{"a": 1}, {"a": None}]


def test_pandas_names_that_are_not_strings_come_back():
    table = pd.DataFrame({0: [1, 2], 1: ["a", "b"]}, index=["r", "s"])
    pd.testing.assert_frame_equal(table_like(as_frame(table), table), table)


def test_a_mapping_gives_back_each_column_as_it_was():
    table = SOURCES["dict of columns"]()
    found = table_like(as_frame(table), table)
    assert isinstance(found["count"], np.ndarray)
    assert found["count"].dtype == np.int64
    assert isinstance(found["real"], pd.Series)
    assert isinstance(found["job"], pa.Array)
    assert isinstance(found["member"], list)
    floats = table_like({"a": np.array([1.0, 2.0])}, {"a": np.ma.MaskedArray([1, 2], mask=[True, False])})
    assert isinstance(floats["a"], np.ma.MaskedArray)
    assert floats["a"].dtype == np.int64
    pl = pytest.importorskip("polars", reason="Polars is not installed")
    assert table_like({"a": [1.0]}, {"a": pl.Series("a", [4])})["a"].to_list() == [1]


def test_matrices_come_back_as_matrices():
    for x in (
        np.arange(6.0).reshape(3, 2),
        np.arange(6, dtype=np.float32).reshape(3, 2),
        np.arange(6).reshape(3, 2),
        np.array([[True, False], [False, True]]),
        np.array([["a", "b"], ["c", "d"]]),
        np.array([["a", 1], [None, 2]], dtype=object),
        np.array([["2020-01-01", "NaT"]], dtype="M8[s]"),
        np.empty((3, 0)),
        np.empty((0, 2)),
    ):
        found = table_like(as_frame(x), x)
        assert found.dtype == x.dtype
        assert found.shape == x.shape
        np.testing.assert_array_equal(found, x)
    fractions = table_like({"x0": [0.5], "x1": [1.0]}, np.array([[1, 2]]))
    np.testing.assert_array_equal(fractions, [[0.5, 1.0]])
    masked = np.ma.MaskedArray([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    found = table_like(as_frame(masked), masked)
    np.testing.assert_array_equal(found.mask, masked.mask)
    records = structured()
    found = table_like(as_frame(records), records)
    assert found.dtype == records.dtype
    assert found["job"].tolist() == VALUES["job"]
    assert found["count"].tolist() == VALUES["count"]
    rows = [(1, "a"), (2, "b")]
    assert table_like(as_frame(rows), rows) == rows
    assert table_like(as_frame([[1, "a"]]), [[1, "a"]]) == [[1, "a"]]


# --------------------------------------------------------------------------------------------- bad input

BAD = [
    ("sparse", lambda: scipy.sparse.eye(3), "sparse matrix .* suffice.naive_bayes"),
    ("a path", lambda: "adult.parquet", "Expected a table of rows and columns, found str"),
    ("None", lambda: None, "found NoneType"),
    ("one dimension", lambda: np.ones(3), r"found an array of shape \(3,\)"),
    ("three dimensions", lambda: np.ones((1, 1, 1)), r"found an array of shape \(1, 1, 1\)"),
    ("list of numbers", lambda: [1, 2], "found int in row 0"),
    ("list of strings", lambda: ["ab"], "found str in row 0"),
    ("ragged rows", lambda: [[1, 2], [1]], "Row 0 has 2 entries, row 1 has 1"),
    ("records and rows", lambda: [{"a": 1}, [1]], "Row 0 is dict, row 1 is list"),
    ("a Series", lambda: pd.Series([1]), "Series could not be read as a table|found an array of shape"),
    ("an Arrow array", lambda: pa.array([1]), "could not be read as a table"),
    ("ragged dict", lambda: {"a": [1], "b": [1, 2]}, "equally many rows: 'a' has 1, 'b' has 2"),
    ("scalar", lambda: {"a": [1], "b": 2}, "Column 'b' must be a list or an array, found int"),
    ("string scalar", lambda: {"a": "abc", "b": [1]}, "Column 'a' must be a list or an array, found str"),
    ("array scalar", lambda: {"a": np.float64(1), "b": [1]}, "Column 'a' must be a list or an array"),
    ("column of columns", lambda: {"a": np.ones((2, 2))}, r"Column 'a' must have one dimension, .* \(2, 2\)"),
    ("complex", lambda: {"a": np.ones(2, complex)}, "Column 'a' is complex"),
    ("complex objects", lambda: {"a": [1j]}, "Column 'a' holds values of type complex"),
    ("mixed", lambda: {"a": ["x", 1.5, None]}, "Column 'a' holds values of type float, str"),
    ("mixed pandas", lambda: pd.DataFrame({"a": ["x", 1]}), "Column 'a' holds values of type int, str"),
    ("half a character", lambda: {"a": ["\ud800"]}, "Row 0 of column 'a' holds '\\\\ud800', half of a character"),
    ("duplicate pandas", lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "Two columns are named 'a'"),
    ("duplicate Arrow", lambda: pa.table([[1], [2]], names=["b", "b"]), "Two columns are named 'b'"),
    ("duplicate after str", lambda: {1: [1], "1": [2]}, "Two columns are named '1'"),
]


@pytest.mark.parametrize(("table", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_tables_are_refused_by_name(table, message):
    with pytest.raises(InvalidDataError, match=message):
        as_frame(table())


def test_duplicate_names_given_are_refused():
    with pytest.raises(InvalidDataError, match="Two columns are named 'a'"):
        as_frame(np.ones((2, 2)), names=["a", "a"])


def test_numbers_of_several_types_become_floats():
    for values in ([True, 2, None], [Decimal(1), 2.5], [2**70, 1]):
        assert as_frame({"a": values}).column("a").to_pylist() == [None if v is None else float(v) for v in values]


def test_a_stream_is_read_once():
    reader = arrow_table().to_reader()
    as_frame(reader)
    with pytest.raises(InvalidDataError, match="has been read before"):
        as_frame(reader)
    once = Capsule(arrow_table())
    once.stream = once.__arrow_c_stream__()
    once.table = SimpleNamespace(__arrow_c_stream__=lambda _: once.stream)
    assert as_frame(once).n == 4
    with pytest.raises(InvalidDataError, match=r"could not be read as a table of Arrow columns: .*released"):
        as_frame(once)


def test_unsupported_columns_are_kept_until_used():
    frame = as_frame({"x": [1, 2], "list": [[1], [2, 3]]})
    assert frame.kind_of("list") == "other"
    assert frame[1:].column("list").to_pylist() == [[2, 3]]
    with pytest.raises(InvalidDataError, match=r"Column 'list' has the Arrow type list<.*int64>, which cannot"):
        categories(frame.column("list"), names=["list"])


def test_adult_is_read_as_it_is(data_dir):
    import pyarrow.parquet as pq

    table = pq.read_table(data_dir / "adult-train.parquet")
    frame = as_frame(table)
    texts = [name for name in frame.names if frame.kind_of(name) == "text"]
    assert len(texts) == 9
    found = categories(*(frame.column(name) for name in texts))
    for j, name in enumerate(texts):
        codes, keys = tables.encode(table[name].to_pandas().to_numpy(dtype=object))
        np.testing.assert_array_equal(found.codes[:, j], codes)
        np.testing.assert_array_equal(found.keys[j], keys)


# ---- every type of Arrow

HALF = np.array([0.5, 1.5, 0.5, 1.5], np.float16)
WORDS = pa.array(["x", "y", "x", None])
READ_AS = {
    "half floats": (pa.array(HALF), "number", [0.5, 1.5, 0.5, 1.5]),
    "a dictionary of half floats": (pa.DictionaryArray.from_arrays([0, 1, 0, 1], HALF[:2]), "category", [0.5, 1.5] * 2),
    "views of strings": (WORDS.cast(pa.string_view()), "text", ["x", "y", "x", None]),
    "a dictionary of views": (
        pa.DictionaryArray.from_arrays([0, 1, 0, None], pa.array(["x", "y"], pa.string_view())),
        "category",
        ["x", "y", "x", None],
    ),
    "run lengths of strings": (pc.run_end_encode(WORDS), "text", ["x", "y", "x", None]),
    "run lengths of half floats": (
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 7], pa.int32()), HALF[:3]).slice(1, 4),
        "number",
        [0.5, 1.5, 0.5, 0.5],
    ),
    "a dictionary of a dictionary": (
        pa.DictionaryArray.from_arrays([0, 1, 0, None], pa.array(["x", "y"]).dictionary_encode()),
        "category",
        ["x", "y", "x", None],
    ),
    "a dictionary of an extension type": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 0, 1]), pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1], pa.int8()))
        ),
        "category",
        [0, 1, 0, 1],
    ),
    "views of bytes": (pa.array([b"x", None], pa.binary_view()), "other", [b"x", None]),
}
if int(pa.__version__.split(".")[0]) >= 21:  # older ones have none
    READ_AS["an extension type"] = (pa.ExtensionArray.from_storage(pa.json_(), WORDS), "text", ["x", "y", "x", None])


@pytest.mark.parametrize("what", READ_AS)
def test_types_for_which_arrow_has_few_functions_become_plain_ones(what):
    column, kind, values = READ_AS[what]
    for chunks in ([column], [column.slice(0, 1), column.slice(1)], []):
        frame = as_frame(pa.table({"a": pa.chunked_array(chunks, type=column.type)}))
        assert frame.column("a").to_pylist() == (values if chunks else [])
        assert not chunks or frame.kind_of("a") == kind
        assert frame[::-1].column("a").to_pylist() == (values[::-1] if chunks else [])  # rows can be taken
    table = pa.table({"a": column})
    assert prototype(table).schema == table.schema
    if kind != "other":
        assert categories(as_frame(table).column("a")).keys[0].tolist() == sorted({v for v in values if v is not None})


# ---- objects


def nested(depth, value=1):
    for _ in range(depth):
        value = [value]
    return value


def endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([np.datetime64("2020-01-01"), np.int8(1)], "datetime64, int8, which cannot be one column"),
        ([np.datetime64("2020-01-01"), np.float32(1), None], "datetime64, float32, which cannot be one column"),
        ([np.datetime64("2020-01-01"), np.timedelta64(1, "D")], "datetime64, timedelta64, which"),
        ([[np.datetime64("2020-01-01"), np.bool_(True)], [1]], "which cannot be one column"),
        ([{"a": np.datetime64("2020-01-01")}, {"a": np.int8(1)}], "which cannot be one column"),
        ([1, np.complex64(2j)], "complex64, int, which cannot be one column"),
        ([nested(20_000), None], "lists within lists, deeper than 64"),
        ([endless(), None], "lists within lists, deeper than 64"),
    ],
)
def test_objects_on_which_arrow_would_end_the_process_are_refused(values, says):
    with pytest.raises(InvalidDataError, match=says):
        as_frame({"x": values})
    with pytest.raises(InvalidDataError, match=says):
        as_frame(pd.DataFrame({"x": pd.Series(values, dtype=object)}))


def test_lists_that_are_not_deep_stay_columns():
    assert as_frame({"x": [[1, 2], [3]], "y": [np.ones(2), np.zeros(2)], "z": [nested(60), None]}).n == 2


def test_half_of_a_character_is_named_with_its_row():
    """Text that was read with errors="surrogateescape" has them: it says what it is, not that types are mixed."""
    with pytest.raises(InvalidDataError, match=r"Row 1 of column 'a' holds '\\udcff', half of a character"):
        as_frame({"a": ["q", "x\udcff", None]})


@pytest.mark.parametrize("time", [np.timedelta64(1, "ns"), np.datetime64("2020-01-01", "ns")])
def test_a_time_among_numbers_is_not_counted_as_a_number(time):
    """Arrow reads [0, 1 ns, 1] as [0, 1, 1]: two labels would be one."""
    for values in ([0, time, 1], [time, 0.5], [True, time]):
        with pytest.raises(InvalidDataError, match="which cannot be one column"):
            as_frame({"y": values})
    assert as_frame({"y": [time, None, math.nan]}).n == 3
