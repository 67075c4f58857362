import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import laws
from suffice import (
    ByClass,
    Cells,
    Counts,
    InvalidDataError,
    MismatchError,
    Moments,
    NotPartError,
    Sample,
    Scatter,
    Totals,
)
from suffice.core.arrays import Categories
from suffice.core.statistics import Batch, Blocks
from suffice.model import storage

same_kind = st.integers(0, 12)


@given(laws.rows())
def test_an_empty_statistic_changes_nothing(r):
    laws.addition_has_an_identity(r)


@given(laws.rows(), same_kind)
def test_addition_commutes(r, at):
    laws.addition_commutes(*laws.cut(r, at))


@given(laws.rows(), same_kind, same_kind)
def test_addition_associates(r, one, two):
    first, rest = laws.cut(r, one)
    laws.addition_associates(first, *laws.cut(rest, two))


@given(laws.rows(), same_kind)
def test_merging_two_parts_equals_summarizing_the_whole(r, at):
    laws.merging_parts_equals_summarizing_the_whole(r, at)


@given(laws.rows(), same_kind)
def test_subtracting_what_was_added_gives_back_the_rest(r, at):
    laws.subtraction_undoes_addition(r, at)


@given(laws.rows(), st.data())
def test_an_integer_weight_equals_repeating_the_row(r, data):
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(r.y), max_size=len(r.y)))
    laws.integer_weight_equals_repeated_rows(r, np.array(times, dtype=np.int64))


@given(laws.rows(), st.data())
def test_a_row_of_weight_zero_is_absent(r, data):
    present = data.draw(st.lists(st.booleans(), min_size=len(r.y), max_size=len(r.y)))
    laws.zero_weight_equals_absence(r, np.array(present, dtype=bool))


@given(laws.rows(), st.sampled_from([0.5, 1.0, 2.0, 10.0]))
def test_scaling_equals_heavier_rows(r, factor):
    laws.scaling_equals_heavier_rows(r, factor)


@given(laws.rows())
def test_loading_undoes_saving(r):
    laws.loading_undoes_saving(r)


@given(laws.rows(), same_kind)
def test_what_was_loaded_goes_on_adding_and_subtracting(r, at):
    laws.what_was_loaded_goes_on_adding_and_subtracting(r, at)


@given(laws.rows(), same_kind)
def test_equal_statistics_give_equal_bytes_however_they_came_about(r, at):
    laws.equal_statistics_give_equal_bytes(r, at)


@given(laws.rows())
def test_a_statistic_equals_itself_and_says_what_it_holds_in_one_line(r):
    a = r.summary()
    assert a == r.summary()
    assert "\n" not in repr(a)
    assert type(a.statistic).__name__ in repr(a)


@given(laws.rows(min_rows=1))
def test_one_more_row_makes_another_statistic(r):
    a = r.summary()
    more = a + r.take([0]).summary() if r.weight is None or r.weight[0] else a
    assert (more == a) == bool(r.weight is not None and not r.weight[0])


def test_moments_keep_every_digit_of_the_variance_at_a_large_offset():
    x = 1e9 + np.array([4.0, 7.0, 13.0, 16.0])[:, None]
    moments = Moments.of(x, np.zeros(4, np.int32), 1)
    assert moments.squares[0, 0] == pytest.approx(90.0, rel=1e-6)
    halves = Moments.of(x[:2], np.zeros(2, np.int32), 1) + Moments.of(x[2:], np.zeros(2, np.int32), 1)
    assert halves.squares[0, 0] == pytest.approx(90.0, rel=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("columns", [1, 3, 8, 13, 50])
def test_moments_of_many_rows_equal_numpys_in_every_layout(order, dtype, missing, columns):
    rng = np.random.default_rng(columns)
    x = rng.normal(5, 3, (9001, columns)).astype(dtype)
    x[rng.random(x.shape) < missing] = np.nan
    x = np.asarray(x, order=order)
    codes, weight = rng.integers(0, 4, len(x)).astype(np.int32), rng.integers(0, 3, len(x)).astype(float)
    moments = Moments.of(x, codes, 4, weight)
    for c in range(4):
        rows = np.repeat(x[codes == c].astype(np.float64), weight[codes == c].astype(int), axis=0)
        np.testing.assert_array_equal(moments.weight[c], (~np.isnan(rows)).sum(axis=0))
        np.testing.assert_allclose(moments.mean[c], np.nanmean(rows, axis=0), rtol=1e-12)
        np.testing.assert_allclose(moments.variance[c], np.nanvar(rows, axis=0), rtol=1e-11)


def test_pooling_the_classes_equals_summarizing_without_labels():
    rng = np.random.default_rng(0)
    x, codes = 1e6 + rng.normal(size=(100, 3)), rng.integers(0, 4, 100).astype(np.int32)
    pooled, whole = Moments.of(x, codes, 4).pooled(), Moments.of(x, np.zeros(100, np.int32), 1)
    np.testing.assert_allclose(pooled.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(pooled.squares, whole.squares, rtol=1e-9)


@pytest.mark.parametrize("threshold", [None, 1.5])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_totals_equal_dense_totals(threshold, index, dtype):
    rng = np.random.default_rng(0)
    dense = (rng.poisson(0.3, (500, 40)) * 1.0).astype(dtype)
    dense[rng.random(dense.shape) < 0.02] = np.nan
    sparse = scipy.sparse.csr_matrix(dense)
    sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
    codes, weight = rng.integers(0, 5, 500).astype(np.int32), rng.random(500)
    a = Totals.of(dense, codes, 5, weight, threshold=threshold)
    b = Totals.of(sparse, codes, 5, weight, threshold=threshold)
    np.testing.assert_allclose(a.total, b.total, rtol=1e-12)
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)


def test_an_entry_stored_in_two_parts_is_compared_with_the_threshold_as_a_whole():
    x = scipy.sparse.csr_matrix((np.array([1.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    assert Totals.of(x, np.zeros(1, np.int32), 1, threshold=1.5).total.tolist() == [[1.0, 0.0]]
    assert x.nnz == 2, "the user's matrix is left as it was"


def test_a_malformed_sparse_matrix_is_refused():
    x = scipy.sparse.csr_matrix((3, 4))
    x.data, x.indices, x.indptr = np.ones(1), np.array([9], np.int32), np.array([0, 0, 1, 1], np.int32)
    with pytest.raises(InvalidDataError, match="malformed"):
        Totals.of(x, np.zeros(3, np.int32), 1)


def test_counts_are_merged_by_value_and_not_by_number():
    a = ByClass.of(Counts, np.array([["b"], ["c"]], object), [0, 0])
    b = ByClass.of(Counts, np.array([["a"], ["c"]], object), [0, 1])
    both = a + b
    assert both.statistic.keys[0].tolist() == ["a", "b", "c"]
    assert both.statistic.weight.tolist() == [[1, 1, 1], [0, 0, 1]]


def test_categories_of_other_types_cannot_be_one_column():
    a = ByClass.of(Counts, np.array([["b"]], object), [0])
    b = ByClass.of(Counts, np.array([[1]]), [0])
    with pytest.raises(MismatchError, match="Column 0"):
        a + b


def test_rows_without_any_value_are_one_statistic_whatever_rows_were_taken_away():
    named = np.array([["b"], [None]], object)
    left = ByClass.of(Counts, named, [0, 0]) - ByClass.of(Counts, named[:1], [0])
    assert storage.to_bytes(left) == storage.to_bytes(ByClass.of(Counts, named[1:], [0]))


def test_what_was_never_added_cannot_be_taken_away():
    a = ByClass.of(Moments, np.ones((3, 2)), ["x", "x", "y"])
    with pytest.raises(NotPartError, match="more than was added"):
        a - ByClass.of(Moments, np.ones((3, 2)), ["x", "y", "y"])
    with pytest.raises(NotPartError, match="'z'"):
        a - ByClass.of(Moments, np.ones((1, 2)), ["z"])
    c = ByClass.of(Counts, np.array([["b"]], object), [0])
    with pytest.raises(NotPartError, match="categories"):
        c - ByClass.of(Counts, np.array([["q"]], object), [0])


def test_moments_that_could_not_have_held_the_values_do_not_give_them_away():
    with pytest.raises(NotPartError, match="column 0 does not vary enough"):
        ByClass.of(Moments, np.array([[0.0], [1.0], [2.0]]), [0, 0, 0]) - ByClass.of(Moments, np.array([[100.0]]), [0])


@pytest.mark.parametrize("kind", [Moments, Totals, Counts, Scatter])
def test_statistics_of_other_columns_or_kinds_are_not_merged(kind):
    a, b = (ByClass.of(kind, np.ones((2, columns)), [0, 1]) for columns in (1, 4))
    for merge in (lambda: a + b, lambda: b - a, lambda: ByClass.of(kind, np.ones((2, 4)), [0, 1], onto=a)):
        with pytest.raises(MismatchError, match="columns"):
            merge()
    other = Totals if kind is Moments else Moments
    with pytest.raises(MismatchError, match="cannot be merged"):
        a + ByClass.of(other, np.ones((2, 1)), [0, 1])
    assert a != b


def test_statistics_with_nothing_in_common_are_unequal():
    assert ByClass.of(Moments, np.ones((1, 1)), ["x"]) != ByClass.of(Moments, np.ones((1, 1)), [1])
    assert Counts.of([["a"]], np.zeros(1, np.int32), 1) != Counts.of([[1]], np.zeros(1, np.int32), 1)


def test_a_row_of_weight_zero_may_hold_anything():
    for order in "CF":
        for value, kind in ((np.inf, Moments), (-1.0, Totals), (np.inf, Totals), (-1.0, Counts)):
            x = np.ones((20, 13))
            x[3] = value
            weight = np.ones(20)
            weight[3] = 0.0
            a = ByClass.of(kind, np.asarray(x, order=order), np.zeros(20, int), weight)
            laws.assert_equal(a, ByClass.of(kind, np.ones((19, 13)), np.zeros(19, int)))


def test_class_numbers_outside_their_range_are_refused():
    with pytest.raises(ValueError, match="class codes must lie between"):
        Moments.of(np.ones((4, 3)), np.array([0, 50_000_000, 1, -7], np.int32), 2)


@given(laws.rows(min_rows=1))
def test_long_tables_are_summarized_chunk_by_chunk_to_the_same_end(r):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.core.statistics.by_class.CHUNK", 3)
        chunked = r.summary()
    laws.assert_equal(chunked, r.summary(), r.size)


def test_a_chunk_has_about_a_million_rows():
    """Other sizes give the same statistics, by the test above; larger ones take more memory for the codes of labels."""
    rows = []

    class Recorded(Moments):
        @classmethod
        def of(cls, x, codes, *arguments, **options):
            rows.append((len(x), len(codes)))
            return super().of(x, codes, *arguments, **options)

    n = (1 << 20) + 5
    ByClass.of(Recorded, np.ones((n, 1)), np.zeros(n, np.int8))
    assert rows == [(1 << 20, 1 << 20), (5, 5)]


def test_a_missing_label_far_down_is_named_by_its_row():
    y = np.full(1_200_000, "a", dtype=object)
    y[1_199_999] = None
    with pytest.raises(InvalidDataError, match="row 1199999"):
        ByClass.of(Moments, np.ones((1_200_000, 1)), y)
    x = np.ones((1_200_000, 1))
    x[1_199_999] = np.inf
    with pytest.raises(InvalidDataError, match="row 1199999, column 0"):
        ByClass.of(Moments, x, np.zeros(1_200_000, int))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_labels_at_the_ends_of_an_integer_type_stay_what_they_are(dtype):
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert ByClass.of(Moments, np.ones((4, 1)), np.repeat(ends, 2)).labels.tolist() == ends.tolist()


def test_labels_are_copied_from_the_callers_array():
    y = np.array([3])
    a = ByClass.of(Moments, np.ones((1, 1)), y)
    y[0] = 5
    assert a.labels.tolist() == [3]


def test_labels_of_strings_and_numbers_cannot_be_classes_of_one_model():
    with pytest.raises(MismatchError, match="cannot be classes of one model"):
        ByClass.of(Moments, np.ones((1, 1)), ["x"]) + ByClass.of(Moments, np.ones((1, 1)), [1])


def test_summaries_can_be_summed():
    parts = [ByClass.of(Moments, np.full((1, 1), float(i)), ["x"]) for i in range(4)]
    assert sum(parts).statistic.mean.tolist() == [[1.5]]


THREADS = """
import sys, numpy as np, scipy.sparse, suffice as sf
rng = np.random.default_rng(0)
n = 120_000
x = rng.normal(size=(n, 12)); x[rng.random(x.shape) < 0.01] = np.nan
y, w = rng.integers(0, 5, n).astype(np.int32), rng.random(n)
m = sf.Moments.of(x, y, 5, w)
one = np.asarray(rng.normal(5, 1, (n, 13))); one[n // 2, 3] = np.nan
u = sf.Moments.of(one, y, 5)
v = sf.Moments.of(np.asfortranarray(one), y, 5)
t = sf.Totals.of(np.abs(x), y, 5, w)
s = sf.Totals.of(scipy.sparse.random(n, 300, 0.05, "csr", random_state=0), np.zeros(n, np.int32), 1, w)
c = sf.Counts.of(rng.integers(0, 9, (n, 12)), y, 5, w)
one[::7, 2] = np.nan
z = sf.Scatter.of(one, y, 5, w, fourth=True)
f = sf.Scatter.of(np.asfortranarray(one), y, 5)
g = sf.Model.fit(one[:20_000], y[:20_000], sf.MultivariateGaussian())
for a in (z.weight, z.mean, z.cross, z.higher.fourth, f.cross, z.gaps.parts[0].weight, g.distribution.covariance,
          g.log_joint(one[:20_000]), g.posterior(x[:20_000, [*range(12), 0]]), g.impute(one[:20_000])):
    sys.stdout.write(a.tobytes().hex())
for a in (m.weight, m.mean, m.squares, u.mean, u.squares, v.mean, v.squares, t.weight, t.total, s.total, c.weight):
    sys.stdout.write(a.tobytes().hex())
"""


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits():
    def run(threads: int) -> str:
        env = {**os.environ, "SUFFICE_NUM_THREADS": str(threads)}
        return subprocess.run(
            [sys.executable, "-c", THREADS], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert run(1) == run(2) == run(3)


def test_categories_that_are_large_integers_stay_apart():
    def counts(keys):
        return Counts.of(Categories(np.array([[0], [1]], np.int32), (keys,)), np.zeros(2, np.int32), 1)

    big = counts(np.array([2**53, 2**53 + 1]))
    both = big + counts(np.array([2**53, 2**53 + 1], np.uint64))
    assert both.keys[0].tolist() == [2**53, 2**53 + 1]
    assert both.weight.tolist() == [[2, 2]]
    assert (counts(np.array([1, 2])) + counts(np.array([2.0, 2.5]))).keys[0].tolist() == [1.0, 2.0, 2.5]
    with pytest.raises(MismatchError, match="Column 0 held categories of int64 before and now holds float64"):
        big + counts(np.array([1.0, 2.0]))


def test_rows_of_new_labels_are_added_to_a_summary():
    x = np.arange(12.0).reshape(6, 2) ** 2
    first = ByClass.of(Moments, x[:3], ["a", "b", "b"])
    both = ByClass.of(Moments, x[3:], ["c", "b", "A"], onto=first)
    assert both.labels.tolist() == ["A", "a", "b", "c"]
    laws.assert_equal(both, ByClass.of(Moments, x, ["a", "b", "b", "c", "b", "A"]))


@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.1, 1 / 3, 2.0, 0.7])], ids=["whole", "fractions"])
@pytest.mark.parametrize("kind", [Moments, Totals, Counts])
def test_all_classes_pooled_are_one_class(kind, weight):
    x = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    codes = np.array([0, 1, 2, 1, 0], np.int32)
    whole = kind.of(x, np.zeros(5, np.int32), 1, weight)
    pooled = kind.of(x, codes, 3, weight).pooled()
    for name in ("weight", "mean", "squares", "total"):
        if hasattr(whole, name):
            np.testing.assert_allclose(getattr(pooled, name), getattr(whole, name), rtol=1e-14, atol=1e-14)
    assert kind.of(x[:, :0], codes, 3, weight).pooled().weight.shape[0] == 1  # of no columns


def test_blocks_of_several_columns_are_summarized_with_all_of_them():
    """Columns by themselves are counted together, in one call; these are not."""
    x = np.arange(24.0).reshape(6, 4) % 7
    codes = np.array([0, 1, 0, 1, 0, 1], np.int32)
    readers = ((Cells, {"limit": None}),) * 3
    found = Blocks.of(Batch((x[:, :2], x[:, 2:], x[:, :1]), 6), codes, 2, readers=readers)
    for part, columns in zip(found.parts, (x[:, :2], x[:, 2:], x[:, :1]), strict=True):
        assert part == Cells.of(columns, codes, 2, limit=None)


def test_third_and_fourth_products_are_those_about_the_mean_of_all_rows():
    """Σ w z_j² z_k and Σ w z_j² z_k² of parts with other means, merged, and of a part taken away again."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.gamma(2.0, size=(9, 3)), 3.0 - rng.gamma(1.0, size=(14, 3))])
    weight = rng.choice([0.5, 1.0, 2.0], 23)
    codes = np.zeros(23, np.int32)
    a, b = (Scatter.of(x[part], codes[part], 1, weight[part], fourth=True) for part in (slice(9), slice(9, None)))

    def products(part):
        z = x[part] - np.average(x[part], axis=0, weights=weight[part])
        squares = weight[part, None] * z**2
        return [squares.T @ z], [squares.T @ z**2]

    for found, part in ((a + b, slice(None)), ((a + b) - a, slice(9, None)), ((a + b) - b, slice(9))):
        third, fourth = products(part)
        np.testing.assert_allclose(found.higher.third, third, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.higher.fourth, fourth, rtol=1e-10, atol=1e-10)


def test_samples_of_whole_rows_and_of_columns_are_told_apart():
    x, codes = np.arange(6.0).reshape(3, 2), np.zeros(3, np.int32)
    for joint in (False, True):
        sample = Sample.of(x, codes, 1, joint=joint)
        sample.check_made_with(joint=joint)
        with pytest.raises(MismatchError, match=f"joint={not joint}, found one with joint={joint}"):
            sample.check_made_with(joint=not joint)


def test_pooled_squares_keep_their_digits_far_from_0():
    """About 0 the squares are 10¹⁸ times as large as about the mean, and all digits would be lost."""
    x = 1e9 + np.array([[0.0], [1.0], [4.0], [5.0], [2.0]])
    for of in (Moments, Scatter):
        pooled = of.of(x, np.array([0, 0, 1, 1, 2], np.int32), 3).pooled()
        found = pooled.squares if of is Moments else pooled.cross[:, :, 0]
        np.testing.assert_allclose(found, [[17.2]], rtol=1e-7)


def test_totals_that_overflow_name_the_column():
    x = np.array([[1.0, 1e308], [1.0, 1.7e308]])
    with pytest.raises(InvalidDataError, match="Column 1 holds values so large that their sum overflows"):
        Totals.of(x, np.zeros(2, np.int32), 1)


def test_of_several_columns_that_overflow_the_first_is_named():
    x = np.array([[1.0, 1e308, 1e308], [1.0, 1.7e308, 1.7e308]])
    with pytest.raises(InvalidDataError, match="Column 1 holds"):
        Totals.of(x, np.zeros(2, np.int32), 1)


def test_moments_of_scaled_rows_add_up_to_whole_weights():
    """What rounding took from the mean is scaled along, and the weights have no such rest."""
    found = Moments.of(np.array([[0.1], [0.7], [0.4]]), np.zeros(3, np.int32), 1)
    thrice = found.scale(2.0) + found
    assert thrice.weight == 9.0
    np.testing.assert_allclose(thrice.mean, 0.4, rtol=1e-15)
    np.testing.assert_allclose(thrice.squares, 3 * 0.18, rtol=1e-15)


def test_what_rounding_took_is_scaled_with_the_sums():
    """A sum and what rounding took from it are about 106 bits: in exact arithmetic, they are 7 times as large."""
    rng = np.random.default_rng(2)
    found = Moments.of(rng.normal(size=(50, 1)), np.zeros(50, np.int32), 1, rng.random(50))
    scaled = found.scale(7.0)
    for row, name in ((0, "weight"), (2, "squares")):
        before, after = (
            Fraction(float(getattr(each, name)[0, 0])) + Fraction(float(each.rest[0, row, 0]))
            for each in (found, scaled)
        )
        assert found.rest[0, row, 0] != 0
        assert abs(after - 7 * before) <= 7 * before / 2**100
        assert scaled.rest[0, row + 3, 0] >= 7 * found.rest[0, row + 3, 0] > 0


def test_what_rounding_took_is_scaled_with_products_of_squares():
    rng = np.random.default_rng(3)
    whole = Scatter.of(rng.normal(size=(50, 3)), np.zeros(50, np.int32), 1, rng.random(50), fourth=True)
    doubts, larger = whole.rest[0, 8:11], whole.scale(7.0).rest[0, 8:11]  # of the squares, after those of the means
    assert ((7 * doubts <= larger) & (larger <= 2.0**-50 * 7 * np.diag(whole.cross[0]))).all()  # a last digit of each
    found, scaled = whole.higher, whole.scale(7.0).higher
    for number, name in enumerate(("third", "fourth")):
        for place in np.ndindex(3, 3):
            before, after = (
                Fraction(float(getattr(each, name)[0][place])) + Fraction(float(each.rest[0, number][place]))
                for each in (found, scaled)
            )
            assert abs(after - 7 * before) <= abs(7 * before) / 2**100
    assert (scaled.rest[0, 2] >= 7 * found.rest[0, 2]).all()


def test_squares_that_were_rounded_elsewhere_are_doubted_more():
    found = Scatter.of(np.random.default_rng(3).normal(size=(50, 3)), np.zeros(50, np.int32), 1)
    squares = np.diag(found.cross[0])
    assert (found.doubt[0] < 2.0**-80 * squares).all()
    np.testing.assert_allclose(replace(found, rest=None).doubt[0], 2.0**-46 * squares)


def test_classes_whose_rows_have_no_weight_are_none():
    x, y = np.arange(4.0)[:, None], np.array(["a", "a", "b", "b"])
    assert ByClass.of(Moments, x, y, np.zeros(4)).labels.tolist() == []
    some = ByClass.of(Moments, x, y, np.array([0.0, 0.0, 1.0, 0.0]))
    assert some.labels.tolist() == ["b"]
    np.testing.assert_array_equal(some.statistic.mean, [[2.0]])


def test_counts_of_other_columns_or_classes_differ():
    codes, x = np.zeros(4, np.int32), np.array([[0, 1], [1, 0], [0, 0], [1, 1]])
    both, one = Counts.of(x, codes, 1), Counts.of(x[:, :1], codes, 1)
    assert both == Counts.of(x[::-1], codes, 1)
    assert both != one
    assert one != both
    assert both != Counts.of(x, codes, 2)


def test_missing_entries_of_sparse_rows_weigh_as_those_of_dense_ones():
    rng = np.random.default_rng(8)
    x, weight, codes = rng.integers(0, 3, (40, 3)).astype(float), rng.random(40), (np.arange(40) % 2).astype(np.int32)
    x[rng.random((40, 3)) < 0.4] = np.nan
    assert Totals.of(scipy.sparse.csr_matrix(x), codes, 2, weight) == Totals.of(x, codes, 2, weight)


def test_totals_that_differ_in_what_rounding_took_are_not_equal():
    codes, sums = np.zeros(2, np.int32), ([[0.1], [0.2]], [[0.1 + 0.2], [0.0]], [[0.3], [2.0**-54]])
    found = [Totals.of(np.array(each), codes, 1) for each in sums]
    assert found[0].total == found[1].total
    assert found[0] != found[1]
    assert found[0] == Totals.of(np.array(sums[0])[::-1], codes, 1)


@pytest.mark.parametrize("kind", [Moments, Totals, Counts, Scatter, Cells, Sample])
def test_statistics_of_other_rows_or_weights_are_not_equal(kind):
    x, codes = np.array([[0.0], [2.0], [1.0]]), np.zeros(3, np.int32)
    one = kind.of(x, codes, 1)
    assert one == kind.of(x.copy(), codes, 1)
    assert one != kind.of(np.array([[0.0], [2.0], [2.0]]), codes, 1)
    assert one != kind.of(x, codes, 1, np.array([1.0, 1.0, 2.0]))
    assert one != kind.of(x, codes, 1, np.array([1.0, 1.0, 0.1]))
    assert one != kind.of(x, codes, 2)
