"""Laws of a sample of rows and of several statistics side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice.core.arrays import as_categories
from suffice.core.frames import as_frame, row_hashes
from suffice.core.statistics import Batch, Blocks, Counts, Moments, RowSample, Totals
from suffice.model.packing import pack, unpack


def table(n, seed=0, values=6):
    rng = np.random.default_rng(seed)
    return as_frame({"a": rng.integers(0, values, n), "b": rng.choice(list("xyz"), n).tolist()})


def classes_of(n, seed=0):
    return np.random.default_rng(seed + 1).integers(0, 3, n).astype(np.int32)


def naive(frame, codes, weight, size):
    """The rows of the `size` smallest hashes: {(hash, class): weight}."""
    hashes = row_hashes(frame).tolist()
    smallest = set(sorted({h for h, w in zip(hashes, weight, strict=True) if w > 0})[:size])
    out = {}
    for h, c, w in zip(hashes, codes.tolist(), weight.tolist(), strict=True):
        if h in smallest and w > 0:
            out[h, c] = out.get((h, c), 0.0) + w
    return out


def content(sample):
    return {(h, c): w for h, c, w in zip(sample.hashes.tolist(), sample.codes.tolist(), sample.weight, strict=True)}


@given(st.integers(0, 60), st.integers(0, 25), st.integers(0, 5))
def test_a_sample_holds_the_rows_of_the_smallest_hashes(n, size, seed):
    frame, codes = table(n, seed), classes_of(n, seed)
    weight = np.random.default_rng(seed).choice([0.0, 1.0, 2.5], n)
    sample = RowSample.of(frame, codes, 3, weight, size=size)
    assert content(sample) == naive(frame, codes, weight, size)
    assert_array_equal(row_hashes(sample.rows) if len(sample.hashes) else sample.hashes, sample.hashes)


@given(st.integers(1, 80), st.integers(0, 80), st.integers(0, 20), st.integers(0, 3))
def test_the_samples_of_parts_merge_to_the_sample_of_the_whole(n, at, size, seed):
    frame, codes, at = table(n, seed), classes_of(n, seed), min(at, n)
    whole = RowSample.of(frame, codes, 3, size=size)
    a, b = (RowSample.of(frame[part], codes[part], 3, size=size) for part in (slice(None, at), slice(at, None)))
    assert a + b == whole
    assert b + a == whole
    assert RowSample.of(frame[at:], codes[at:], 3, onto=a, size=size) == whole


@pytest.mark.parametrize("at", [0, 7, 20, 40])
@pytest.mark.parametrize("whole_first", [False, True])
def test_samples_of_rows_with_fractional_weights_merge_and_are_stored(at, whole_first):
    frame, codes = table(40, values=2), classes_of(40)
    weight = np.random.default_rng(3).choice([0.1, 1 / 3, 0.7], 40)
    if whole_first:
        weight[:at] = 1.0
    whole = RowSample.of(frame, codes, 3, weight, size=100)
    a, b = (RowSample.of(frame[part], codes[part], 3, weight[part], size=100) for part in (slice(at), slice(at, None)))
    expected = naive(frame, codes, weight, 100)
    for merged in (a + b, b + a, unpack(*pack(a)) + unpack(*pack(b))):
        assert_allclose(
            [w for _, w in sorted(content(merged).items())], [w for _, w in sorted(expected.items())], rtol=1e-15
        )
        assert_array_equal(merged.weight, whole.weight)


@given(st.integers(1, 60), st.integers(0, 3))
def test_the_order_of_rows_makes_no_difference(n, seed):
    frame, codes = table(n, seed), classes_of(n, seed)
    order = np.random.default_rng(seed).permutation(n)
    assert RowSample.of(frame, codes, 3, size=7) == RowSample.of(frame[order], codes[order], 3, size=7)


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 3))
def test_with_room_for_all_forgetting_a_part_leaves_the_sample_of_the_rest(n, at, seed):
    frame, codes, at = table(n, seed), classes_of(n, seed), min(at, n)
    whole = RowSample.of(frame, codes, 3, size=1000)
    a, b = (RowSample.of(frame[part], codes[part], 3, size=1000) for part in (slice(None, at), slice(at, None)))
    assert whole - b == a


def test_without_room_forgetting_leaves_rows_of_the_rest_and_nothing_else():
    frame, codes = table(300, values=40), classes_of(300)
    whole = RowSample.of(frame, codes, 3, size=20)
    gone = RowSample.of(frame[:150], codes[:150], 3, size=20)
    rest = content(RowSample.of(frame[150:], codes[150:], 3, size=1000))
    left = content(whole - gone)
    assert left
    assert all(rest[key] == weight for key, weight in left.items())


def test_the_same_row_in_two_classes_takes_one_place():
    frame = as_frame({"a": [1, 1, 2, 2, 3]})
    codes = np.array([0, 1, 0, 0, 1], np.int32)
    sample = RowSample.of(frame, codes, 2, size=2)
    assert len(np.unique(sample.hashes)) == 2
    assert content(sample) == naive(frame, codes, np.ones(5), 2)


def test_integer_weights_are_repetition_and_scaling_is_weight():
    frame, codes = table(20), classes_of(20)
    times = np.random.default_rng(0).integers(0, 4, 20)
    again = np.repeat(np.arange(20), times)
    weighed = RowSample.of(frame, codes, 3, times.astype(float), size=9)
    assert weighed == RowSample.of(frame[again], codes[again], 3, size=9)
    assert weighed.scale(2.5) == RowSample.of(frame, codes, 3, 2.5 * times, size=9)
    assert not len(weighed.scale(0.0).hashes)


def test_classes_are_taken_and_spread():
    frame, codes = table(30), classes_of(30)
    whole = RowSample.of(frame, codes, 3, size=100)
    some = np.flatnonzero(codes != 1)
    taken = whole.take(np.array([2, 0]))
    assert taken == RowSample.of(frame[some], np.where(codes[some] == 2, 0, 1).astype(np.int32), 2, size=100)
    assert taken.spread(np.array([2, 0]), 3) == RowSample.of(frame[some], codes[some], 3, size=100)


# ------------------------------------------------------------------------------------------------ blocks


READERS = ((Moments, {}), (Totals, {}), (Counts, {}), (RowSample, {"size": 1000}))


def batch(n, seed=0):
    rng = np.random.default_rng(seed)
    numbers, counts = rng.integers(-4, 5, (n, 2)).astype(float), rng.poisson(2.0, (n, 1)).astype(float)
    names = as_categories(rng.choice(list("xyz"), (n, 1)).astype(object))
    return Batch((numbers, counts, names, table(n, seed)), n)


def blocks(rows, codes, weight=None, onto=None):
    return Blocks.of(rows, codes, 3, weight, onto, readers=READERS)


def assert_same(a, b):
    for mine, theirs in zip(a.parts, b.parts, strict=True):
        if isinstance(mine, Moments):
            assert_allclose(mine.mean, theirs.mean, atol=1e-12)
            assert_allclose(mine.squares, theirs.squares, atol=1e-9)
            assert_array_equal(mine.weight, theirs.weight)
        elif isinstance(mine, Counts):
            mine, theirs = mine._aligned(theirs)
            assert_array_equal(mine.weight, theirs.weight)
        elif isinstance(mine, Totals):
            assert_array_equal(mine.total, theirs.total)
        else:
            assert mine == theirs


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 3))
def test_blocks_of_parts_merge_to_those_of_the_whole_and_can_be_forgotten(n, at, seed):
    rows, codes, at = batch(n, seed), classes_of(n, seed), min(at, n)
    whole = blocks(rows, codes)
    a, b = (blocks(rows[part], codes[part]) for part in (slice(None, at), slice(at, None)))
    assert_same(a + b, whole)
    assert_same(b + a, whole)
    assert_same(blocks(rows[at:], codes[at:], onto=a), whole)
    assert_same(whole - b, a)
    nothing = Blocks.empty(3, 4)
    assert_same(whole + nothing, whole)
    assert_same(nothing + whole, whole)


def test_each_block_is_what_its_statistic_would_be_alone():
    rows, codes = batch(20), classes_of(20)
    weight = np.random.default_rng(0).random(20)
    found = blocks(rows, codes, weight)
    assert found.parts == tuple(
        kind.of(part, codes, 3, weight, **how) for part, (kind, how) in zip(rows.parts, READERS, strict=True)
    )
    assert found.scale(2.0).parts == tuple(part.scale(2.0) for part in found.parts)
    order = np.array([2, 0])
    assert found.take(order).parts == tuple(part.take(order) for part in found.parts)


def test_blocks_of_other_kinds_are_refused():
    rows, codes = batch(5), classes_of(5)
    fewer = Blocks.of(Batch(rows.parts[:2], 5), codes, 3, readers=READERS[:2])
    with pytest.raises(sf.MismatchError, match="4 and of 2"):
        blocks(rows, codes).check_fits(fewer)
    swapped = Blocks.of(Batch(rows.parts[1::-1], 5), codes, 3, readers=READERS[1::-1])
    with pytest.raises(sf.MismatchError, match="Moments and Totals"):
        fewer.check_fits(swapped)


@pytest.mark.parametrize("distinct", [40, 5_000])
def test_a_sample_that_grows_by_batches_is_that_of_all_rows(distinct):
    rng = np.random.default_rng(4)
    x, codes = rng.integers(0, distinct, 6_000).astype(float), rng.integers(0, 3, 6_000).astype(np.int32)
    whole = RowSample.of(as_frame({"x": x}), codes, 3, size=200)
    grown = None
    for lo in range(0, 6_000, 500):
        part = slice(lo, lo + 500)
        grown = RowSample.of(as_frame({"x": x[part]}), codes[part], 3, None, grown, size=200)
    rows, count = np.unique(np.stack([x, codes]), axis=1, return_counts=True)
    least = np.sort(np.unique(row_hashes(as_frame({"x": np.unique(x)}))))[:200]
    kept = np.isin(row_hashes(as_frame({"x": rows[0]})), least)
    for sample in (whole, grown):
        found = np.stack([np.asarray(sample.rows.column("x")), sample.codes, sample.weight])
        order = np.lexsort((found[1], found[0]))
        assert_array_equal(found[:, order], np.vstack([rows, count])[:, kept])
    assert_array_equal(whole.hashes, grown.hashes)
    weighed = RowSample.of(as_frame({"x": x}), codes, 3, np.ones(6_000), size=200)
    assert_array_equal(weighed.weight, whole.weight)


@pytest.mark.parametrize("values", [5, 6000])
def test_rows_of_a_slice_have_the_hashes_they_have_in_a_table_whose_strings_are_known(values):
    rng = np.random.default_rng(0)
    strings = [None if v == 0 else f"v{v}" for v in rng.integers(0, values, 9000).tolist()]
    frame = as_frame({"a": strings, "b": rng.normal(size=9000)})
    every = row_hashes(frame)  # which numbers the strings
    for rows in (slice(10, 500), slice(0, 0), slice(8990, 9000)):
        part = frame[rows]
        assert_array_equal(row_hashes(part), every[rows])
        assert_array_equal(row_hashes(part[2:]), every[rows][2:])
        alone = as_frame({"a": strings[rows], "b": frame.column("b").to_pylist()[rows]})
        assert_array_equal(row_hashes(alone), every[rows])
