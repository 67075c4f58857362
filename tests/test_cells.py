"""Values counted in cells: the least level, exact sums in any order, and differences beyond the limit."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice import Cells, InvalidDataError, MismatchError, Moments, NotPartError
from suffice.core.statistics.cells import COARSEST, FINEST, LIMIT, coarser, edges, middle
from suffice.model.storage import from_bytes, to_bytes
from suffice.naive_bayes import KernelNB

LARGEST = sys.float_info.max


def obvious_edge(x: float, level: int) -> float:
    """The lower edge of the cell of x, in rational numbers."""
    if level == FINEST:
        return x + 0.0
    unit = Fraction(2) ** level
    try:
        return float(floor(Fraction(x) / unit) * unit) + 0.0
    except OverflowError:
        return -LARGEST


def obvious(x, codes, classes, limit):
    """The least level, and the edges and counts of each class, by trying level after level."""
    present = ~np.isnan(x)
    x, codes = x[present], codes[present]

    def counted(level):
        edge = np.array([obvious_edge(v, level) for v in x.tolist()])
        return [np.unique(edge[codes == c], return_counts=True) for c in range(classes)]

    low, high = FINEST, COARSEST
    while low < high:
        half = (low + high) // 2
        if max(len(found) for found, _ in counted(half)) > limit:
            low = half + 1
        else:
            high = half
    return low, counted(low)


RNG = np.random.default_rng(0)
SIGN = RNG.choice([-1.0, 1.0], 400)
COLUMNS = {
    "normal": RNG.normal(size=400),
    "one value": np.full(400, 7.25),
    "one ulp apart": RNG.choice([1.0, np.nextafter(1.0, 2.0)], 400),
    "1e-300 to 1e300": SIGN * 10.0 ** RNG.uniform(-300, 300, 400),
    "subnormal": RNG.integers(-500, 500, 400) * 5e-324,
    "nearly overflowing": SIGN * LARGEST * RNG.uniform(0.5, 1.0, 400),
    "99 % zeros": np.where(RNG.random(400) < 0.99, 0.0, RNG.normal(size=400)),
    "integers beyond 2^53": RNG.integers(2**53, 2**62, 400).astype(float),
    "minus zero": RNG.choice([-0.0, 0.0, 1.0], 400),
    "offset 1e9": RNG.normal(1e9, 1.0, 400),
    "outliers": RNG.standard_cauchy(400) ** 3,
    "decimals": RNG.normal(size=400).round(2),
    "integers": RNG.integers(-90, 90, 400).astype(float),
    "gaps": np.where(RNG.random(400) < 0.5, np.nan, RNG.normal(size=400)),
    "all missing": np.full(400, np.nan),
    "small, then large": np.r_[RNG.normal(0.0, 1e-12, 200), RNG.normal(0.0, 1e12, 200)],
}
CODES = RNG.integers(0, 3, 400).astype(np.int32)


@pytest.mark.parametrize("limit", [1, 3, 16, 64, 1000])
@pytest.mark.parametrize("name", COLUMNS)
def test_cells_are_those_of_the_least_level(name, limit):
    x = COLUMNS[name]
    found = Cells.of(x[:, None], CODES, 3, limit=limit)
    level, cells = obvious(x, CODES, 3, limit)
    assert found.level.tolist() == [level]
    for c, (edge, count) in enumerate(cells):
        values, weight = found.parts[0].of_class(c)
        assert_array_equal(values[:, 0], edge)
        assert_array_equal(weight, count)
    assert not np.signbit(found.parts[0].values[found.parts[0].values == 0]).any()


@pytest.mark.parametrize("limit", [1, 3, 16, 64, 1000])
@pytest.mark.parametrize("name", COLUMNS)
def test_neither_order_nor_chunks_change_a_count(name, limit):
    x = COLUMNS[name][:, None]
    whole = Cells.of(x, CODES, 3, limit=limit)
    order = np.random.default_rng(1).permutation(len(x))
    assert Cells.of(x[order], CODES[order], 3, limit=limit) == whole
    for cuts in ([100], [1, 399], [37, 200, 201]):
        parts = [Cells.of(a, b, 3, limit=limit) for a, b in zip(np.split(x, cuts), np.split(CODES, cuts), strict=True)]
        assert sum(parts[1:], start=parts[0]) == whole
        assert sum(parts[-2::-1], start=parts[-1]) == whole
        onto = None
        for a, b in zip(np.split(x, cuts), np.split(CODES, cuts), strict=True):
            onto = Cells.of(a, b, 3, None, onto, limit=limit)
        assert onto == whole
    weight = np.random.default_rng(2).integers(0, 4, len(x))
    repeated = Cells.of(np.repeat(x, weight, axis=0), np.repeat(CODES, weight), 3, limit=limit)
    assert Cells.of(x, CODES, 3, weight.astype(float), limit=limit) == repeated


@pytest.mark.parametrize("limit", [1, 3, 16, 64])
@pytest.mark.parametrize("name", COLUMNS)
def test_what_was_added_is_taken_away_exactly_at_the_level_reached(name, limit):
    x = COLUMNS[name][:, None]
    a, b = Cells.of(x[:150], CODES[:150], 3, limit=limit), Cells.of(x[150:], CODES[150:], 3, limit=limit)
    rest = (a + b) - b
    assert rest.level >= a.level
    assert rest.parts[0] == coarser(a.parts[0], int(rest.level[0]))
    assert (a + b) - (a + b) == Cells.empty(3, 1, limit) or rest.level > FINEST


def test_many_rows_and_columns_are_counted_alike_by_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400_000, 3))  # more than one slice
    x[:, 1] = x[:, 1].round(2)
    x[:, 2] **= 5
    codes = rng.integers(0, 5, len(x)).astype(np.int32)
    found = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        found.append(Cells.of(x, codes, 5))
    assert found[0] == found[1] == found[2]
    assert found[0] == Cells.of(x[:250_000], codes[:250_000], 5) + Cells.of(x[250_000:], codes[250_000:], 5)
    most = [np.diff(part.start).max() for part in found[0].parts]
    assert max(most) <= LIMIT
    assert found[0].exact.tolist() == [False, True, False]
    for j in range(3):
        level, part = int(found[0].level[j]), found[0].parts[j]
        for c in range(5):
            edge, count = np.unique(edges(x[codes == c, j], level), return_counts=True)
            assert_array_equal(part.of_class(c)[0][:, 0], edge)
            assert_array_equal(part.of_class(c)[1], count)
        if level > FINEST:  # no finer level would do
            finer = [len(np.unique(edges(x[codes == c, j], level - 1))) for c in range(5)]
            assert max(finer) > LIMIT


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30),
    st.integers(FINEST, COARSEST),
)
def test_edges_and_middles_are_those_of_rational_numbers(values, level):
    x = np.array(values)
    edge = edges(x, level)
    assert_array_equal(edge, [obvious_edge(v, level) for v in values])
    assert (edge <= x).all()
    assert_array_equal(edges(edge, level), edge)
    centre = middle(edge, level)
    assert np.isfinite(centre).all()
    if level < COARSEST:
        assert_array_equal(edges(centre, level)[edge > -LARGEST], edge[edge > -LARGEST])
    wider = min(level + 3, COARSEST)
    assert_array_equal(edges(edge, wider), edges(x, wider))


def test_moments_are_exact_beside_wide_cells():
    rng = np.random.default_rng(4)
    x = rng.normal(1e6, 1.0, (3000, 2))
    codes = rng.integers(0, 2, 3000).astype(np.int32)
    a, b = (Cells.of(x[s], codes[s], 2, limit=50, exact_moments=True) for s in (slice(0, 40), slice(40, None)))
    assert a.exact.all()
    assert a.kept is None
    found, wanted = (a + b).moments, Moments.of(x, codes, 2)
    assert_allclose(found.mean, wanted.mean, rtol=1e-15)
    assert_allclose(found.squares, wanted.squares, rtol=1e-14)
    left = ((a + b) - b).moments
    assert_allclose(left.squares, a.moments.squares, rtol=1e-9)


def test_what_cannot_be_counted_is_refused():
    x, codes = np.array([[1.0], [np.inf]]), np.zeros(2, np.int32)
    with pytest.raises(InvalidDataError, match="infinity"):
        Cells.of(x, codes, 1)
    with pytest.raises(sf.InvalidOptionError, match="at least 1 cell"):
        Cells.of(x[:1], codes[:1], 1, limit=0)
    one, two = Cells.of(x[:1], codes[:1], 1), Cells.of(x[:1] + 1.0, codes[:1], 1)
    with pytest.raises(NotPartError):
        one - two
    with pytest.raises(MismatchError, match="limit=4096 and of limit=7"):
        one + Cells.of(x[:1], codes[:1], 1, limit=7)
    with pytest.raises(MismatchError, match="exact moments"):
        one.check_made_with(exact_moments=True)


def test_all_values_are_kept_without_a_limit():
    x = np.random.default_rng(5).normal(size=(9000, 1))
    found = Cells.of(x, np.zeros(9000, np.int32), 1, limit=None)
    assert found.exact.all()
    assert_array_equal(found.parts[0].values, np.sort(x, axis=0))


# ---- what is estimated from wide cells


@pytest.mark.parametrize("shape", ["normal", "skewed", "two humps"])
def test_kernels_over_cells_differ_by_less_than_a_thousandth(shape):
    rng = np.random.default_rng(6)
    x = {
        "normal": rng.normal(size=30_000),
        "skewed": rng.gamma(2.0, size=30_000),
        "two humps": np.r_[rng.normal(-3.0, 0.5, 15_000), rng.normal(3.0, 1.0, 15_000)],
    }[shape][:, None]
    y = np.zeros(len(x))
    counted, every = KernelNB().fit(x, y), KernelNB(limit=None).fit(x, y)
    assert not counted.statistics_.statistic.exact.any()
    rows = np.sort(x, axis=0)[::100]
    density = [np.exp(clf.score_samples(rows)) for clf in (counted, every)]
    assert_allclose(density[0], density[1], rtol=1e-3)


def test_rows_beyond_the_limit_are_forgotten_and_left_out():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 6000)
    x = rng.normal(y[:, None], 1.0, (6000, 2))
    for clf in (KernelNB(limit=100), sf.BayesClassifier(limit=100)):
        whole = clf.fit(x, y)
        left = whole.leave_one_out(x[:20], y[:20])
        for i in range(20):
            rest = type(clf)(**clf.get_params()).fit(np.delete(x, i, axis=0), np.delete(y, i))
            assert_allclose(left[i], rest.predict_log_proba(x[i : i + 1])[0], atol=0.05)
        whole.forget(x[:5000], y[:5000])
        assert whole.class_count_.tolist() == np.bincount(y[5000:]).tolist()
        again = type(clf)(**clf.get_params()).fit(x[5000:], y[5000:])
        assert_allclose(whole.predict_proba(x[5000:]), again.predict_proba(x[5000:]), atol=0.03)


def test_no_edge_of_a_bin_lies_within_a_cell():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 5000)
    x = rng.normal(y[:, None], 1.0, (5000, 1))
    for how in ("quantile", "width", "mdl"):
        family = sf.Binned(how=how, limit=64)
        cells = family.summarize(x, y).statistic
        fixed, counts = family.with_edges(cells)
        assert counts == fixed.summarize(x, y).statistic
        assert len(fixed.edges[0]) > 3
    assert "0" in sf.families.bin_edges.names([np.nextafter(0.0, -1.0), 1.0])[0]


def test_files_streams_and_memory_count_the_same_cells(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("suffice.engines.files.BATCH", 700)
    rng = np.random.default_rng(9)
    y = rng.integers(0, 3, 9000)
    columns = {
        "normal": rng.normal(y, 1.0),
        "outliers": rng.standard_cauchy(9000) ** 3,
        "integers": rng.integers(-5000, 5000, 9000).astype(float),
        "small, then large": np.r_[rng.normal(0.0, 1e-9, 4500), rng.normal(0.0, 1e9, 4500)],
        "gaps": np.where(rng.random(9000) < 0.5, np.nan, rng.normal(size=9000)),
    }
    table = pa.table(columns | {"y": y})
    for k in range(3):
        pq.write_table(table.slice(3000 * k, 3000), tmp_path / f"{k}.parquet", row_group_size=1000)
    memory = sf.BayesClassifier(limit=256).fit(table, "y").statistics_.statistic
    files = sf.BayesClassifier(limit=256).fit(str(tmp_path / "*.parquet"), "y").statistics_.statistic
    stream = table.to_reader(max_chunksize=450)
    streamed = sf.BayesClassifier(limit=256).fit(stream, "y").statistics_.statistic
    for name, a, b, c in zip(columns, memory.parts, files.parts, streamed.parts, strict=False):
        assert a.level == b.level == c.level, name
        assert a.parts == b.parts == c.parts, name
    assert not all(part.exact.all() for part in memory.parts[:5])


@pytest.mark.parametrize("level", [FINEST, -60, 0, 60])
def test_minus_zero_is_in_the_cell_of_zero(level):
    found = edges(np.array([-0.0, 0.0]), level)
    assert found.tolist() == [0.0, 0.0]
    assert not np.signbit(found).any()  # a sign would give equal counts other bytes


def test_an_empty_summary_takes_the_limit_of_the_other():
    some = Cells.of(np.arange(5.0)[:, None], np.zeros(5, np.int32), 1, limit=8)
    none = Cells.empty(1, 1, limit=None)
    assert (some + none).limit == (none + some).limit == 8
    with pytest.raises(MismatchError, match="limit=8 and of limit=16"):
        some + Cells.of(np.arange(5.0)[:, None], np.zeros(5, np.int32), 1, limit=16)


@pytest.mark.parametrize("strided", [False, True])
def test_counting_batches_of_columns_onto_cells_equals_counting_all_rows_at_once(strided):
    rng = np.random.default_rng(3)
    n, limit = 60_000, 256
    columns = [
        rng.standard_normal(n),
        rng.integers(-50, 50, n).astype(float),  # fewer values than cells
        np.where(rng.random(n) < 0.3, np.nan, rng.standard_cauchy(n)),  # values far from the window
        1e9 + rng.random(n),
        rng.standard_normal(n) * np.where(np.arange(n) < n // 2, 1e-300, 1.0),  # the level rises late
    ]
    if strided:
        columns = list(np.stack(columns, axis=1).T)
    codes, names = rng.integers(0, 3, n).astype(np.int32), [(f"x{j}",) for j in range(5)]
    options = {"limit": limit, "exact_moments": True}
    found = [None] * 5
    for lo in range(0, n, 7_000):
        part = slice(lo, lo + 7_000)
        found = Cells.of_columns([x[part] for x in columns], codes[part], 3, None, found, names, **options)
    whole = Cells.of_columns(columns, codes, 3, None, [None] * 5, names, **options)
    for x, one, two in zip(columns, found, whole, strict=True):
        assert_array_equal(one.level, two.level)
        assert one.parts == two.parts
        for c in range(3):
            seen = x[(codes == c) & ~np.isnan(x)]
            assert one.parts[0].weight[slice(*one.parts[0].start[c : c + 2])].sum() == len(seen)
            assert_allclose(one.moments.mean[c, 0], seen.mean(), rtol=1e-12, atol=1e-12 * np.abs(seen).max())
            assert_allclose(one.moments.squares[c, 0], ((seen - seen.mean()) ** 2).sum(), rtol=1e-9)


def test_moments_of_columns_name_the_column_that_overflows():
    x = np.array([1e200, -1e200, 3.0])
    with pytest.raises(InvalidDataError, match="wide"):
        Moments.of_columns([np.ones(3), x], np.zeros(3, np.int32), 1, names=[("narrow",), ("wide",)])


def test_cells_of_sparse_rows_are_those_of_dense_ones():
    x = np.where(RNG.random((40, 2)) < 0.6, 0.0, RNG.normal(size=(40, 2)))
    codes = (np.arange(40) % 2).astype(np.int32)
    assert Cells.of(scipy.sparse.csr_array(x), codes, 2) == Cells.of(x, codes, 2)


def test_cells_of_more_or_fewer_columns_than_levels_are_refused():
    cells = Cells.of(RNG.normal(size=(10, 2)), np.zeros(10, np.int32), 1)
    cells.check_agreement()
    for parts in (cells.parts[:1], (*cells.parts, cells.parts[0])):
        with pytest.raises(MismatchError, match="parts must be of 2 columns"):
            replace(cells, parts=parts).check_agreement()


@pytest.mark.parametrize("row", [0, 2])
def test_an_infinite_value_of_one_of_several_columns_is_refused_by_its_name(row):
    x = np.ones(3)
    x[row] = np.inf
    for columns, names in (([x], [("bad",)]), ([np.ones(3), x], [("good",), ("bad",)])):
        with pytest.raises(InvalidDataError, match="'bad'"):
            Cells.of_columns(columns, np.zeros(3, np.int32), 1, None, [None] * len(columns), names)


def test_columns_are_counted_with_moments_only_if_all_that_was_counted_before_has_them():
    rng = np.random.default_rng(11)
    columns, codes = [rng.normal(size=30), rng.normal(size=30)], rng.integers(0, 2, 30).astype(np.int32)
    names, nothing = [("a",), ("b",)], [None, None]
    for asked in (False, True):
        for known in (False, True):
            before = Cells.of_columns(columns, codes, 2, None, nothing, names, 8, exact_moments=known)
            found = Cells.of_columns(columns, codes, 2, None, before, names, 8, exact_moments=asked)
            for j, cells in enumerate(found):
                assert cells.exact_moments == (cells.kept is not None) == (asked and known)
                assert cells == Cells.of(columns[j][:, None], codes, 2, None, before[j], 8, exact_moments=asked)


def test_cells_of_one_value_in_each_class_are_stored():
    cells = Cells.of(np.array([[1.0], [2.0], [5.0]]), np.zeros(3, np.int32), 1, limit=1)
    again = from_bytes(to_bytes(cells))
    assert again == cells
    assert again.limit == 1
    with pytest.raises(sf.DamagedFileError, match="limit"):
        from_bytes(to_bytes(replace(cells, limit=0)))
