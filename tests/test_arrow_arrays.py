"""NumPy arrays as Arrow arrays and back, beside Arrow's own conversion; and log Γ beside SciPy's."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from suffice.core.frames import as_arrow, as_numpy
from suffice.core.special import log_gamma

ARRAYS = [
    np.array([1.5, -2.0, np.nan, np.inf]),
    np.array([1.5, 2.5], np.float32),
    np.arange(10, dtype=np.int8)[::3],
    np.array([2**63], np.uint64),
    np.arange(21) % 3 == 0,
    np.array(["", "a", "ä€😀", "longer than the others"]),
    np.array(["b", "a"], dtype=object),
    np.array([1.5, 2.5], ">f8"),
    np.empty(0),
    np.empty(0, dtype="U1"),
]


@pytest.mark.parametrize("values", ARRAYS, ids=lambda values: f"{values.dtype}-{len(values)}")
def test_arrow_holds_what_numpy_held(values):
    mine, expected = as_arrow(values), pa.array(values.astype(values.dtype.newbyteorder("=")))
    mine.validate(full=True)
    assert mine.type == expected.type
    assert mine.to_pylist() == pytest.approx(expected.to_pylist(), nan_ok=True)


@pytest.mark.parametrize("offset", [0, 1, 7, 8, 9])
@pytest.mark.parametrize(
    "array",
    [
        pa.array([1.5, None, 2.5, np.nan] * 6),
        pa.array(list(range(24)), pa.int16()),
        pa.array([None, 3] * 12, pa.int64()),
        pa.array([True, False, True] * 8),
        pa.array([True, None, False] * 8),
        pa.array([1.5, None] * 12, pa.float32()),
    ],
    ids=lambda array: f"{array.type}, {array.null_count} null",
)
def test_numpy_holds_what_arrow_held_wherever_the_array_begins(array, offset):
    part = array.slice(offset, 11)
    assert_array_equal(as_numpy(part), part.to_numpy(zero_copy_only=False))
    assert as_numpy(part).dtype == part.to_numpy(zero_copy_only=False).dtype
    assert_array_equal(as_numpy(pa.chunked_array([part, part])), np.concatenate([as_numpy(part)] * 2))


NUMBERS = ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("name", [*NUMBERS, "float16", "float32", "float64"])
@pytest.mark.parametrize("values", [[], [0, 1, 1]], ids=["empty", "three rows"])
def test_numpy_has_the_type_of_every_arrow_number(name, values):
    array = pa.array(np.array(values, name), getattr(pa, name)())
    assert as_numpy(array).dtype == np.dtype(name)
    assert as_numpy(array).tolist() == values


def test_the_logarithm_of_gamma_is_scipys():
    x = np.concatenate([np.geomspace(1e-12, 1e12, 2001), np.linspace(0.01, 40, 4000), [1, 2, 10, 1e300, np.inf]])
    assert_allclose(log_gamma(x), gammaln(x), rtol=1e-13, atol=1e-14)
