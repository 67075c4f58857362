from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice import ByClass, Sample, storage
from suffice.core.statistics.compensated import Sums, segment_sums


def codes(n, classes=1, seed=0):
    return np.random.default_rng(seed).integers(0, classes, n).astype(np.int32)


def test_each_distinct_value_is_kept_once_with_its_weight():
    x = np.array([[2.0, -0.0], [1.0, 0.0], [2.0, np.nan]])
    sample = Sample.of(x, np.zeros(3, np.int32), 1, np.array([1.0, 0.5, 3.0]))
    first, second = sample.parts
    assert_array_equal(first.of_class(0)[0], [[1.0], [2.0]])
    assert_array_equal(first.of_class(0)[1], [0.5, 4.0])
    assert_array_equal(second.values, [[0.0]])
    assert_array_equal(second.class_weight, [1.5])


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0])])
def test_minus_zero_is_kept_as_zero_and_the_rows_are_left_as_they_were(joint, weight):
    x = np.array([[2.0, -0.0], [-0.0, 1.0]])
    sample = Sample.of(x, np.zeros(2, np.int32), 1, weight, joint=joint)
    assert not any(np.signbit(part.values).any() for part in sample.parts)
    plain = Sample.of(np.abs(x), np.zeros(2, np.int32), 1, weight, joint=joint)
    assert storage.to_bytes(sample) == storage.to_bytes(plain)
    assert_array_equal(np.signbit(x), [[False, True], [True, False]])


def test_joint_rows_keep_their_gaps_and_rows_of_gaps_are_left_out():
    nan = np.nan
    x = np.array([[1.0, nan], [nan, nan], [1.0, nan], [0.0, 2.0], [nan, 1.0]])
    (part,) = Sample.of(x, np.zeros(5, np.int32), 1, joint=True).parts
    assert_array_equal(part.values, [[0.0, 2.0], [1.0, nan], [nan, 1.0]])
    assert_array_equal(part.weight, [1.0, 2.0, 1.0])


def test_points_know_their_class():
    x = np.arange(6.0)[:, None]
    (part,) = Sample.of(x, np.array([2, 0, 2, 0, 2, 2], np.int32), 3).parts
    assert_array_equal(part.codes, [0, 0, 2, 2, 2, 2])
    assert_array_equal(part.start, [0, 2, 2, 6])
    assert_array_equal(part.class_weight, [2, 0, 4])


def test_a_value_of_weight_zero_may_be_infinite_and_another_is_named():
    x, weight = np.array([[1.0], [np.inf]]), np.array([1.0, 0.0])
    assert_array_equal(Sample.of(x, codes(2), 1, weight).parts[0].values, [[1.0]])
    with pytest.raises(sf.InfiniteValueError, match="row 1, column 0"):
        Sample.of(x, codes(2), 1)


def test_the_rows_weights_are_left_as_they_were():
    weight = np.array([3.0, 1.0, 2.0])
    Sample.of(np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 0.0]]), codes(3), 1, weight)
    assert_array_equal(weight, [3.0, 1.0, 2.0])


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("limit", [1, 7, 50])
def test_compression_keeps_weight_and_mean(joint, limit):
    rng = np.random.default_rng(1)
    x, weight = rng.lognormal(size=(400, 3)), rng.random(400)
    sample = Sample.of(x, codes(400, 2), 2, weight, joint=joint)
    small = sample.compressed(limit)
    for whole, part in zip(sample.parts, small.parts, strict=True):
        assert np.diff(part.start).max() <= limit
        assert_allclose(part.class_weight, whole.class_weight, rtol=1e-12)
        for c in (0, 1):
            (v, w), (a, b) = whole.of_class(c), part.of_class(c)
            assert_allclose(b @ a, w @ v, rtol=1e-12)


def test_compressed_points_are_close_to_the_quantiles():
    x = np.sort(np.random.default_rng(2).normal(size=100_000))
    points, weight = Sample.of(x[:, None], codes(100_000), 1).compressed(200).parts[0].of_class(0)
    middle = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    # Cells are π √(q (1 − q)) / 200 wide in rank.
    assert np.abs(np.searchsorted(x, points[:, 0]) / 1e5 - middle).max() < 0.5 * np.pi / 200


@given(st.lists(st.integers(0, 400), min_size=1, max_size=6), st.integers(1, 40))
def test_with_a_limit_memory_is_bounded_however_rows_come(sizes, limit):
    rng = np.random.default_rng(3)
    total = ByClass.empty(Sample, 2)
    for n in sizes:
        rows = rng.normal(size=(n, 2))
        total = ByClass.of(Sample, rows, np.zeros(n, int), onto=total, limit=limit)
    assert_allclose(total.weight.sum(), sum(sizes))
    for part in total.statistic.parts:
        assert np.diff(part.start).max(initial=0) <= 2 * limit
        assert_allclose(part.weight.sum(), sum(sizes), rtol=1e-12)


def test_samples_of_other_options_are_not_merged():
    x = np.ones((2, 2))
    a, b = ByClass.of(Sample, x, [0, 1]), ByClass.of(Sample, x, [0, 1], joint=True)
    with pytest.raises(sf.MismatchError, match="joint"):
        a + b
    with pytest.raises(sf.InvalidOptionError, match="at least 1 point"):
        ByClass.of(Sample, x, [0, 1], limit=0)


def test_what_was_never_added_cannot_be_taken_away():
    a = ByClass.of(Sample, np.array([[1.0], [2.0]]), [0, 0])
    with pytest.raises(sf.NotPartError, match="more than was added"):
        a - ByClass.of(Sample, np.array([[1.5]]), [0])


def test_more_patterns_of_gaps_than_points_are_refused():
    x = np.array([[1.0, np.nan], [np.nan, 1.0], [1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(sf.InvalidOptionError, match="patterns of missing values"):
        Sample.of(x, np.zeros(4, np.int32), 1, joint=True).compressed(2)


def test_pooling_the_classes_equals_summarizing_without_labels():
    x = np.random.default_rng(4).normal(size=(100, 2)).round(1)
    assert Sample.of(x, codes(100, 3), 3).pooled() == Sample.of(x, codes(100), 1)


def test_values_of_all_kinds_are_sorted_as_numpy_sorts_them():
    rng = np.random.default_rng(5)
    kinds = [
        rng.normal(size=5000),
        1e8 + rng.normal(size=5000),
        np.concatenate([1e8 + rng.normal(size=5000), [0.0, -1e300]]),  # most share their leading digits
        rng.normal(size=5000) * 10.0 ** rng.integers(-300, 300, 5000),
        rng.integers(-3, 3, 5000) * 1.0,
        np.array([5e-324, -5e-324, 0.0, np.finfo(float).max, np.finfo(float).min]),
        rng.normal(size=255),
        rng.normal(size=256),
    ]
    for x in kinds:
        y, weight = codes(len(x), 3), rng.random(len(x))
        (part,) = Sample.of(x[:, None], y, 3).parts
        (heavy,) = Sample.of(x[:, None], y, 3, weight).parts
        for c in range(3):
            distinct, counts = np.unique(x[y == c], return_counts=True)
            assert_array_equal(part.of_class(c)[0][:, 0], distinct)
            assert_array_equal(part.of_class(c)[1], counts)
            sums = [weight[(y == c) & (x == v)].sum() for v in distinct[:50]]
            assert_allclose(heavy.of_class(c)[1][:50], sums, rtol=1e-12)


def test_a_sample_scaled_by_zero_is_empty_and_unequal_to_other_things():
    a = Sample.of(np.array([[1.0, 2.0]]), codes(1), 1)
    assert a.scale(0.0) == Sample.empty(1, 2)
    assert a != Sample.of(np.array([[1.0]]), codes(1), 1)
    assert a != "a sample"


def test_few_rows_that_differ_are_not_cut_further_than_they_can_be():
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    sample = Sample.of(rows, codes(3), 1, joint=True)
    assert sample.compressed(3) == sample
    assert sample.compressed(10) == sample


def test_whole_rows_that_are_compressed_stand_in_order():
    x = np.random.default_rng(2).normal(size=(60, 2))
    points = Sample.of(x, np.zeros(60, np.int32), 1, joint=True).compressed(8).parts[0]
    assert len(points.weight) <= 8
    assert points.values.tolist() == sorted(points.values.tolist())


def test_values_within_the_limit_are_compressed_to_many_points_with_small_ends():
    x = np.sort(np.random.default_rng(0).normal(size=5000))
    (found,) = Sample.of(x[:, None], np.zeros(5000, np.int32), 1).compressed(64).parts
    assert 32 <= len(found.weight) <= 64
    assert found.weight[[0, -1]].max() < 5000 / 64 / 4 < np.median(found.weight)  # cells shrink to both ends
    assert_allclose(found.weight.sum(), 5000)
    assert_allclose(found.weight @ found.values[:, 0], x.sum(), atol=1e-9)


def test_points_are_equal_by_what_they_hold():
    x, codes = np.array([[1.0], [2.0], [4.0]]), np.zeros(3, np.int32)
    (one,), (two,) = Sample.of(x, codes, 1).parts, Sample.of(x[::-1], codes, 1).parts
    (other,) = Sample.of(2.0 * x, codes, 1).parts
    assert one == two
    assert one != other


def test_values_that_do_not_ascend_are_no_sample():
    sample = Sample.of(np.array([[1.0], [2.0], [4.0]]), np.zeros(3, np.int32), 1)
    (part,) = sample.parts
    for values in (part.values[::-1].copy(), np.array([[1.0], [2.0], [2.0]]), np.array([[np.nan], [2.0], [4.0]])):
        wrong = replace(sample, parts=(replace(part, values=values),))
        with pytest.raises(sf.DamagedFileError, match="ascend"):
            storage.from_bytes(storage.to_bytes(wrong))


def test_doubts_of_sums_of_segments_are_as_large_as_the_sums():
    weight, first = np.array([0.1, 0.2, 0.3, 0.7, 1 / 3]), np.array([0, 3])
    for factor in (1.0, 2.0**-40, 2.0**40):
        found = segment_sums(Sums(weight * factor, None), first)
        assert found.rest is not None
        doubt = found.rest[:, 1]
        assert (2.0**-110 * found.value < doubt).all()
        assert (doubt <= 3 * 2.0**-100 * found.value).all()  # n u W, of at most three numbers
