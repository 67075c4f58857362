"""Kernels that read columns of tables: strings as codes, rows of least hash, and scores by steps."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice import _core
from suffice.core.errors import InvalidDataError
from suffice.core.frames import as_frame, categories, row_hashes
from suffice.core.statistics import Moments, RowSample
from suffice.engines.json_lines import DEEPEST, StructureCheck
from suffice.naive_bayes import KernelNB

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "a", "ab", "1234567", "12345678", "123456789", "é", "𝒳"]),
    st.sampled_from([f"12345678{a}2345678{b}2345678{c}" for a in "xy" for b in "xy" for c in ("", "z", "yz", "xz")]),
    st.none(),
)


@given(st.lists(TEXTS, max_size=60), st.integers(0, 5), st.sampled_from([pa.string(), pa.large_string()]))
def test_strings_are_numbered_in_the_order_that_python_sorts_them(texts, first, arrow_type):
    column = pa.array(texts, arrow_type).slice(min(first, len(texts)))
    present = sorted({text for text in texts[first:] if text is not None})
    found = categories(column)
    wanted = [-1 if text is None else present.index(text) for text in texts[first:]]
    assert_array_equal(found.codes.ravel(), wanted)
    assert [str(key) for key in found.keys[0]] == present
    halves = pa.chunked_array([column.slice(0, len(column) // 2), column.slice(len(column) // 2)])
    assert_array_equal(categories(halves).codes.ravel(), wanted)


def test_many_strings_are_numbered_alike_by_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [f"{'a long beginning ' * (k % 3)}{k % 997}" for k in rng.integers(0, 5000, 200_000).tolist()]
    present = {text: number for number, text in enumerate(sorted(set(texts)))}
    for threads in ("1", "3"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        found = categories(pa.array(texts))
        assert_array_equal(found.codes.ravel(), [present[text] for text in texts])
        assert found.keys[0].tolist() == list(present)


def test_malformed_strings_are_refused():
    offsets, text, codes = np.array([0, 3, 2], np.int32), np.zeros(3, np.uint8), np.empty(2, np.int32)
    with pytest.raises(ValueError, match="ascend"):
        _core.string_codes(offsets, text, None, 0, codes)
    with pytest.raises(ValueError, match="ascend"):
        _core.string_codes(np.array([0, 1, 4], np.int32), text, None, 0, codes)


@pytest.mark.parametrize("size", [0, 1, 7, 300, 5000])
@pytest.mark.parametrize("copies", [1, 40])
def test_the_rows_of_least_hash_are_those_of_a_full_sort(size, copies):
    rng = np.random.default_rng(1)
    hashes = np.tile(rng.integers(0, 2**64, 900, dtype=np.uint64), copies)
    weight = rng.integers(0, 3, len(hashes)).astype(float)
    least = np.unique(hashes[weight > 0])[:size]
    wanted = np.flatnonzero(np.isin(hashes, least) & (weight > 0))
    assert_array_equal(_core.least_hashes(hashes, weight, size), wanted)
    assert_array_equal(
        _core.least_hashes(hashes, None, size), np.flatnonzero(np.isin(hashes, np.unique(hashes)[:size]))
    )


@pytest.mark.parametrize("threads", ["1", "3", "16"])
def test_threads_find_the_same_rows_of_least_hash(threads, monkeypatch):
    monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
    rng = np.random.default_rng(3)
    hashes = rng.choice(rng.integers(0, 2**64, 90_000, dtype=np.uint64), 600_000)
    codes = rng.integers(0, 3, len(hashes)).astype(np.int32)
    least = np.unique(hashes)[:2000]
    wanted = np.flatnonzero(np.isin(hashes, least))
    assert_array_equal(_core.least_hashes(hashes, None, 2000), wanted)
    assert_array_equal(_core.least_hashes(hashes, None, 2000, int(least[99])), wanted[hashes[wanted] <= least[99]])
    order = wanted[np.lexsort([wanted, codes[wanted], hashes[wanted]])]
    _, first, count = np.unique(
        np.stack([hashes[order], codes[order].astype(np.uint64)]), axis=1, return_index=True, return_counts=True
    )
    rows, found = _core.least_rows(hashes, codes, 2000)
    assert_array_equal(rows, order[first])
    assert_array_equal(found, count)


def test_a_code_beyond_the_table_of_hashes_is_refused():
    codes, table = np.array([0, 3, -1], np.int32), np.zeros(3, np.uint64)
    with pytest.raises(ValueError, match="codes beyond the table"):
        _core.row_hashes([(codes, table)], 0, np.empty(3, np.uint64))


def test_a_row_sample_keeps_the_rows_of_least_hash_with_their_weights():
    rng = np.random.default_rng(2)
    frame = as_frame({"a": rng.integers(0, 40, 3000), "b": [f"t{k}" for k in rng.integers(0, 30, 3000)]})
    codes, hashes = rng.integers(0, 3, 3000).astype(np.int32), row_hashes(frame)
    kept = RowSample.of(frame, codes, 3, None, size=50)
    least = np.unique(hashes)[:50]
    assert_array_equal(np.unique(kept.hashes), least)
    for hashed, code, weight in zip(kept.hashes, kept.codes, kept.weight, strict=True):
        assert weight == np.sum((hashes == hashed) & (codes == code))
    assert_array_equal(row_hashes(kept.rows), kept.hashes)


@pytest.mark.parametrize("edges", [0, 1, 9, 24, 40])
def test_scores_of_steps_are_those_of_a_search(edges):
    rng = np.random.default_rng(3)
    edge, scores = np.sort(rng.normal(size=edges)), rng.normal(size=(edges + 1, 8))
    x = np.append(rng.normal(size=3000), edge)
    x[::7] = np.nan
    start = rng.normal(size=(len(x), 5))
    out = start.copy()
    assert _core.step_scores(x, edge, False, scores, out) == -1
    wanted = np.where(np.isnan(x)[:, None], start, start + scores[np.searchsorted(edge, x), :5])
    assert_allclose(out, wanted, rtol=1e-15)
    out = start.copy()
    assert _core.step_scores(x[::-1], edge, True, scores, out) == -1
    place = np.where(np.isin(x, edge), np.searchsorted(edge, x), edges)[::-1]
    assert_allclose(out, np.where(np.isnan(x[::-1])[:, None], start, start + scores[place, :5]), rtol=1e-15)
    x[5] = -np.inf
    assert _core.step_scores(x, edge, False, scores, out) == 5


NORMAL = np.random.default_rng(3).normal(size=1000)
EDGES = {
    "quantiles": np.quantile(NORMAL, np.linspace(0, 1, 97)),
    "of a long tail": np.exp(6 * np.linspace(-1, 1, 80)),
    "nearly all in one place": np.sort(np.append(NORMAL[:60], [-1e12, 1e12])),
    "one number apart": np.nextafter(1e9, np.inf) + np.arange(50) * np.spacing(1e9),
    "near the largest number": 1.6e308 * np.linspace(-1, 1, 64),
    "near the least number": np.arange(-20, 21) * 5e-324,
    "of both": np.array([-1e308, *np.linspace(-1e-300, 1e-300, 40), 1e308]),
}


@pytest.mark.parametrize("kind", EDGES)
@pytest.mark.parametrize("rows", [100, 20_000])
def test_numbers_are_found_among_edges_of_any_spread(kind, rows):
    rng = np.random.default_rng(3)
    edges = np.unique(EDGES[kind])
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    x = np.concatenate([near, rng.choice(edges, rows) * rng.uniform(0.9, 1.1, rows), [0.0, -0.0, 1.7e308, -1.7e308]])
    codes, missing = np.empty(len(x) + 1, np.uint8), np.append(x, np.nan)
    _core.bin_codes(missing, edges, codes)
    assert codes[-1] == 255
    np.testing.assert_array_equal(codes[:-1], np.searchsorted(edges, x))
    infinite = np.resize([np.inf, -np.inf], rows)
    _core.bin_codes(infinite, edges, codes[:rows])
    np.testing.assert_array_equal(codes[:rows], np.resize([len(edges), 0], rows))


@pytest.mark.parametrize("copies", [1, 300_000])  # the second in several blocks
def test_categories_get_their_codes_and_what_has_none_is_missing(copies):
    values = np.tile(np.array([2, -1, 0, 3, -(2**31), 2**31 - 1, 1], np.int32), copies)
    beside = np.stack([values, np.zeros_like(values)], axis=1)
    for each in (values, beside[:, 0]):
        out = np.zeros(len(values), np.uint8)
        _core.category_codes(each, np.array([5, 6, 254], np.uint8), out)
        assert_array_equal(out, np.tile([254, 255, 5, 255, 255, 255, 6], copies))


@pytest.mark.parametrize(("breaks", "classes"), [(1, 3), (2, 2), (9, 5), (150, 9)])
def test_scores_of_lines_are_those_of_a_search(breaks, classes):
    rng = np.random.default_rng(8)
    at = np.sort(rng.normal(size=breaks))
    origin, level, slope = rng.normal(size=breaks + 2), *rng.normal(size=(2, breaks + 2, classes))
    x = np.concatenate([3 * rng.normal(size=3000), at, [np.inf, -np.inf]])
    x[::7] = np.nan
    start = rng.normal(size=(len(x), classes))
    missing, piece = np.isnan(x), np.searchsorted(at, x)
    piece[missing] = breaks + 1
    apart = np.where(missing, 0.0, np.clip(x, at[0], at[-1]) - origin[piece])
    wanted = start + level[piece] + slope[piece] * apart[:, None]
    for step in (1, -1):
        out = start[::step].copy()
        _core.line_scores(x[::step], at, origin, level, slope, out)
        assert_allclose(out, wanted[::step], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("shape", ["normal", "heavy tails", "repeated"])
def test_leaving_rows_out_of_a_kernel_is_what_a_sum_over_all_others_gives(shape):
    rng = np.random.default_rng(4)
    x = {
        "normal": rng.normal(size=400),
        "heavy tails": rng.standard_cauchy(400),
        "repeated": rng.normal(size=400).round(1),
    }[shape]
    y = np.zeros(400)
    clf = KernelNB().fit(x[:, None], y)
    statistic, fitted = clf._learned.statistics.statistic, clf._learned.model.distribution
    found = clf._learned.family.leave_one_out(statistic, fitted, x[:, None], np.zeros(400, np.int32), None)[:, 0]
    for i in range(0, 400, 7):
        others = np.delete(x, i)
        spread = min(others.std(ddof=1), (np.quantile(others, 0.75) - np.quantile(others, 0.25)) / 1.34)
        h = 0.9 * spread * 399**-0.2
        z = -0.5 * ((x[i] - others) / h) ** 2
        density = z.max() + np.log(np.exp(z - z.max()).sum()) - np.log(399 * h * np.sqrt(2 * np.pi))
        assert_allclose(found[i], density, rtol=1e-8, atol=1e-8)


def test_a_matrix_is_learned_as_its_columns_are():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    x[::9, 2] = np.nan
    x[:, 4] = np.nan
    warnings.simplefilter("ignore", sf.LeftOutWarning)
    one = sf.BayesClassifier().fit(x, y)
    for same in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        assert_array_equal(sf.BayesClassifier().fit(same, y).predict_proba(x), one.predict_proba(x))
    named = {f"x{j}": x[:, j] for j in range(5)}
    assert_allclose(sf.BayesClassifier().fit(named, y).predict_proba(named), one.predict_proba(x), rtol=1e-12)
    frame = as_frame(x)
    assert frame.matrix is not None
    assert_array_equal(np.asarray(frame.column("x1")), x[:, 1])
    assert_array_equal(np.asarray(frame[[3, 5]].column("x0")), x[[3, 5], 0])
    assert frame[10:13].select(["x3", "x1"]).names == ["x3", "x1"]
    assert_array_equal(row_hashes(frame), row_hashes(as_frame(named)))
    assert frame.kind_of("x4") == "empty"


def test_moments_of_several_columns_are_the_means_and_squares_of_each(monkeypatch):
    rng, n, classes = np.random.default_rng(5), 50_000, 3
    columns = [rng.normal(place, size, n) for place, size in ((0.0, 1.0), (1e6, 3.0), (-5.0, 1e-3))]
    columns[1][::7] = np.nan
    codes = rng.integers(0, classes, n).astype(np.int32)
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        found.append(Moments.of_columns(columns, codes, classes))
    for one, four, x in zip(*found, columns, strict=True):
        assert one == four
        for c in range(classes):
            own = x[(codes == c) & ~np.isnan(x)]
            assert one.weight[c, 0] == len(own)
            assert_allclose(one.mean[c, 0], own.mean(), rtol=1e-12, atol=1e-12)
            assert_allclose(one.squares[c, 0], ((own - own.mean()) ** 2).sum(), rtol=1e-10)


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(st.sampled_from('a{}[]"\\\n ,:é'), max_size=8)),
    lambda inside: st.one_of(st.lists(inside, max_size=3), st.dictionaries(st.text(max_size=3), inside, max_size=3)),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=3), max_size=5), st.data())
def test_json_lines_cut_anywhere_are_accepted_whatever_their_strings_hold(rows, data):
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    check = StructureCheck()
    blocks = [text[lo:hi] for lo, hi in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert b"".join(bytes(check(block)) for block in blocks) == text


@given(st.integers(1, 2 * DEEPEST), st.integers(0, 300))
def test_json_lines_are_refused_from_the_first_level_that_is_too_deep(depth, cut):
    text = b'{"a": ' * depth + b"1" + b"}" * depth
    check = StructureCheck()
    if depth <= DEEPEST:
        assert bytes(check(text[:cut])) + bytes(check(text[cut:])) == text
    else:
        with pytest.raises(InvalidDataError, match=f"more than {DEEPEST} levels"):
            [check(block) for block in (text[:cut], text[cut:])]
