"""Exponents for columns, evidence of pairs, found columns and the pool: against obvious versions and against refits."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import suffice as sf
from suffice.core.arrays import Categories
from suffice.core.errors import MismatchError, RefusedValueError
from suffice.core.statistics import Batch, Pairs, RowSample
from suffice.families.bin_edges import of_quantiles_with_ties
from suffice.families.choose import Automatic
from suffice.families.found_columns import OPERATIONS, Candidate, FoundColumn, find_columns, judge, tell
from suffice.families.pair_plan import CodedColumn, PairPlan, plan_pairs
from suffice.families.product import Block
from suffice.model.exponents import LogLinear
from suffice.model.pair_evidence import PairEvidence
from suffice.model.pool import Member, PairPlaces, Pool
from suffice.model.structure import Structure

STRUCTURES = ("columns", "pairs", "pool")


def a_table(n=400, seed=0, classes=("a", "b")):
    """A table whose classes differ in a pair of categories, a ratio, and a little in a number with missing values."""
    rng = np.random.default_rng(seed)
    y = np.array(classes)[rng.integers(0, len(classes), n)]
    first = y == classes[0]
    coin = rng.integers(0, 2, n)
    x = np.exp(rng.normal(size=n))
    table = {
        "left": np.where(coin, "heads", "tails"),
        "right": np.where(coin ^ (first & (rng.random(n) < 0.8)), "heads", "tails"),
        "x": x,
        "z": x * np.exp(rng.normal(scale=0.3, size=n) + 0.6 * first),
        "noise": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 0.3 * first),
    }
    return table, y


def rows(table, some):
    return {name: column[some] for name, column in table.items()}


# ------------------------------------------------------------------------------------------------ the statistic


def pairs_of(codes, y, classes, weight=None):
    sizes = np.array([3, 4, 2], np.int64)
    pairs = np.array([[0, 0, 1], [1, 2, 2]], np.int32)
    return Pairs.of(codes, y, classes, weight, sizes=sizes, pairs=pairs)


def coded(n, rng):
    codes = np.stack([rng.integers(0, size, n) for size in (3, 4, 2)], axis=1).astype(np.uint8)
    codes[rng.random((n, 3)) < 0.1] = 255
    return codes, rng.integers(0, 2, n).astype(np.int32)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_counted_as_a_loop_counts_them(weighted):
    rng = np.random.default_rng(1)
    codes, y = coded(200, rng)
    weight = rng.choice([0.0, 0.5, 1.25, 3.0], 200) if weighted else None
    found = pairs_of(codes, y, 2, weight)
    for (i, j), table in zip(found.pairs.T, found.tables(found.weight), strict=True):
        expected = np.zeros(table.shape)
        for r in range(200):
            if codes[r, i] < 255 and codes[r, j] < 255:
                expected[y[r], codes[r, i], codes[r, j]] += 1.0 if weight is None else weight[r]
        np.testing.assert_allclose(table, expected, rtol=1e-12)


def test_pairs_of_two_parts_add_up_and_can_be_taken_away():
    codes, y = coded(300, np.random.default_rng(2))
    whole, first, second = pairs_of(codes, y, 2), pairs_of(codes[:120], y[:120], 2), pairs_of(codes[120:], y[120:], 2)
    assert first + second == whole == second + first
    assert whole - second == first
    assert first.scale(2.0) == first + first


def test_pairs_of_other_plans_do_not_merge():
    codes, y = coded(30, np.random.default_rng(3))
    other = Pairs.of(codes, y, 2, sizes=np.array([3, 5, 2]), pairs=np.array([[0], [1]], np.int32))
    with pytest.raises(MismatchError, match="different plans"):
        pairs_of(codes, y, 2).check_fits(other)


@pytest.mark.parametrize("weight", ["repeats", "fractions"])
def test_pairs_of_weighted_rows_are_those_of_every_cell(weight):
    """Rows that count a few times are counted, and others added up: both are what NumPy sums cell by cell."""
    rng = np.random.default_rng(3)
    codes, y = coded(500, rng)
    codes[rng.random(codes.shape) < 0.1] = 255
    w = (rng.integers(0, 4, 500) / (2.0 if weight == "fractions" else 1.0)).astype(float)
    found = pairs_of(codes, y, 2, w)
    expected = np.zeros_like(found.weight)
    for row, label, own in zip(codes.astype(int), y, w, strict=True):
        for start, (i, j) in zip(found.offsets, found.pairs.T, strict=False):
            if row[i] < found.sizes[i] and row[j] < found.sizes[j]:
                expected[label, start + row[i] * found.sizes[j] + row[j]] += own
    np.testing.assert_array_equal(found.weight, expected)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_evidence_of_a_row_left_out_is_that_of_counts_without_it(classes):
    rng = np.random.default_rng(4)
    codes, y = coded(80, rng)[0], rng.integers(0, classes, 80).astype(np.int32)
    weight = np.where(np.arange(80) % 3, 1.0, 0.5)
    whole = PairEvidence(pairs_of(codes, y, classes))
    columns, places = np.ascontiguousarray(codes.T), np.repeat(np.arange(3)[None], 2, axis=0)
    left_out = np.zeros((classes - 1, 80, 3))
    whole.left_out(columns, y, weight, np.array([1.0, 2.0, 1.0]), places, left_out)
    for r in range(0, 80, 7):
        rest = np.ones(80)
        rest[r] -= weight[r]
        without = PairEvidence(pairs_of(codes, y, classes, rest))
        expected = np.stack(list(without.each(columns[:, r : r + 1])), axis=2)[0]
        np.testing.assert_allclose(left_out[:, r], (expected[1:] - expected[0]) * [1, 2, 1], atol=1e-12)


def test_the_evidence_of_pairs_left_out_adds_up_in_the_places_of_both_columns():
    codes, y = coded(60, np.random.default_rng(8))
    evidence, columns = PairEvidence(pairs_of(codes, y, 2)), np.ascontiguousarray(codes.T)
    each, sums = np.zeros((1, 60, 3)), np.zeros((1, 60, 3))
    evidence.left_out(columns, y, np.ones(60), np.ones(3), np.repeat(np.arange(3)[None], 2, axis=0), each)
    evidence.left_out(columns, y, np.ones(60), np.ones(3), evidence.pairs.pairs, sums)
    expected = np.zeros((1, 60, 3))
    for q, (i, j) in enumerate(evidence.pairs.pairs.T):
        expected[:, :, i] += each[:, :, q]
        expected[:, :, j] += each[:, :, q]
    np.testing.assert_allclose(sums, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("columns", "rows", "classes", "own"),
    [
        (10, 1349, 2, False),  # 30 rows for each of 45 pairs
        (10, 1350, 2, True),
        (28, 10**6, 2, True),  # 28 + 378 exponents: 10⁹ / 406² is more than 5000 rows
        (30, 10**6, 2, False),  # 30 + 435
        (28, 10**6, 3, False),  # a third of the rows
        (20, 10**6, 3, True),  # 20 + 190
    ],
)
def test_pairs_have_their_own_exponents_where_rows_and_time_allow(columns, rows, classes, own):
    coded = tuple(CodedColumn(block=j, edges=np.zeros(1)) for j in range(columns))
    plan = PairPlan(coded, np.array(list(combinations(range(columns), 2)), np.int32).T)
    assert repr(plan) == f"PairPlan({columns * (columns - 1) // 2} pairs of {columns} columns)"
    places = PairPlaces.of(plan, columns, rows, classes)
    assert places.exponents == (columns * (columns - 1) // 2 if own else columns)
    assert (places.to[0] == places.to[1]).all() == own


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
def test_scores_of_cells_are_sums_of_evidence_relative_to_the_first_class(classes):
    rng = np.random.default_rng(5)
    codes, y = coded(2500, rng)[0], rng.integers(0, classes, 2500).astype(np.int32)
    evidence, u = PairEvidence(pairs_of(codes, y, classes)), np.array([0.5, 0.0, 2.0])
    columns, out = np.ascontiguousarray(codes.T), np.ones((2500, classes))
    evidence.scores(u).add(columns, out)
    expected = sum(a * part for a, part in zip(u, evidence.each(columns), strict=True))
    np.testing.assert_allclose(out, 1.0 + expected - expected[:, :1], atol=1e-12)


# ------------------------------------------------------------------------------------------------ edges and exponents


def test_a_frequent_value_is_a_bin_of_its_own():
    x = np.concatenate([np.zeros(90), np.arange(1.0, 11.0)])
    edges = of_quantiles_with_ties(x, np.ones(100), 5)
    assert edges[0] == 0.5  # nothing shares a bin with 0
    counts = np.bincount(np.searchsorted(edges, x))
    assert counts.tolist() == [90, 2, 2, 2, 2, 2]


def test_few_values_are_a_bin_each():
    assert of_quantiles_with_ties(np.array([3.0, 1.0, 2.0, 2.0, np.nan]), np.ones(5), 4).tolist() == [1.5, 2.5]


def test_categories_that_are_numbers_have_codes_and_missing_ones_none():
    column = CodedColumn(block=0, keys=np.array([1, 3]))
    assert column.codes(Categories(np.array([[1.0], [np.nan], [3.0], [0.0]]), None)).tolist() == [0, 255, 1, 2]
    named = Categories(np.array([[1], [-1], [0]], np.int32), (np.array([1, 7]),))
    assert column.codes(named).tolist() == [2, 255, 0]


def apart(evidence):
    """Evidence (rows, classes, …) relative to the first class, (classes − 1, rows, …)."""
    return np.ascontiguousarray(np.swapaxes(evidence[:, 1:] - evidence[:, :1], 0, 1))


@pytest.mark.parametrize("classes", [2, 3])
def test_exponents_of_evidence_are_those_of_logistic_regression(classes):
    rng = np.random.default_rng(6)
    x, codes = rng.normal(size=(300, 2)), rng.integers(0, classes, 300).astype(np.int32)
    x += 0.5 * codes[:, None]
    parts = np.zeros((300, classes, 2 * (classes - 1)))  # one-hot of classes × columns: softmax regression
    for k in range(1, classes):
        parts[:, k, 2 * (k - 1) : 2 * k] = x
    m = parts.shape[2]
    offset = np.zeros((300, classes))
    found = LogLinear(apart(parts), apart(offset), codes, np.ones(300), np.zeros(m), np.full(m, 1e-6)).fit()
    peer = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-10, max_iter=1000).fit(x, codes)
    expected = peer.coef_ if classes == 2 else peer.coef_[1:] - peer.coef_[0]
    np.testing.assert_allclose(found.reshape(classes - 1, 2), expected, atol=2e-3)


def test_exponents_that_must_not_be_negative_are_zero_where_evidence_misleads():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 2, 200).astype(np.int32)
    right = np.zeros((200, 2))
    right[np.arange(200), codes] = 1.0
    parts = np.stack([right + rng.normal(size=(200, 2)), -right], axis=2)
    problem = LogLinear(apart(parts), np.zeros((1, 200)), codes, np.ones(200), np.full(2, 0.5), np.ones(2))
    w = problem.fit()
    assert w[0] > 0.5
    assert w[1] == 0.0


@pytest.mark.parametrize(("classes", "rows", "parts"), [(2, 4000, 40), (3, 900, 25), (2, 120, 30)])
def test_exponents_are_at_the_minimum_over_numbers_that_are_not_negative(classes, rows, parts):
    rng = np.random.default_rng(9)
    codes = rng.integers(0, classes, rows).astype(np.int32)
    evidence = rng.normal(size=(rows, classes, parts)) * rng.exponential(2.0, parts)
    evidence[np.arange(rows), codes] += rng.choice([0.0, 0.5, -0.5], parts)
    weight, penalty = rng.choice([0.5, 1.0, 30.0], rows), np.full(parts, 30.0)
    problem = LogLinear(apart(evidence), np.zeros((classes - 1, rows)), codes, weight, np.full(parts, 0.2), penalty)
    w = problem.fit()
    slope = problem.slope(w, problem.loss(w).gradients.sum(axis=0))
    assert 0 < np.count_nonzero(w) < parts
    assert np.abs(slope[w > 0]).max() < 1e-3 * weight.sum() ** 0.5
    assert slope[w == 0].min() > -1e-3 * weight.sum() ** 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("classes", "parts"), [(2, 1), (2, 70), (3, 33), (12, 5), (150, 3)])
def test_the_loss_of_exponents_and_its_derivatives_are_those_of_their_formulas(classes, parts, dtype, monkeypatch):
    rng = np.random.default_rng(12)
    rows = 2300
    codes, weight = rng.integers(0, classes, rows).astype(np.int32), rng.choice([0.0, 1.0, 2.5], rows)
    evidence, offset = rng.normal(size=(rows, classes, parts)).astype(dtype), 3.0 * rng.normal(size=(rows, classes))
    start, penalty, w = np.full(parts, 0.1), np.full(parts, 3.0), rng.random(parts)
    problem = LogLinear(apart(evidence), apart(offset), codes, weight, start, penalty)
    scores = offset + evidence.astype(np.float64) @ w
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -(weight @ np.log(p[np.arange(rows), codes])) + 0.5 * (penalty @ (w - start) ** 2)
    found = problem.loss(w)
    exact = 1e-9 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(found.value, loss / weight.sum(), rtol=exact)
    np.testing.assert_allclose(found.p, p[:, 1:].T, atol=exact)
    folds = np.repeat(np.arange(5), rows // 5)
    error = p.copy()
    error[np.arange(rows), codes] -= 1.0
    for fold in range(5):
        own = (folds == fold) * weight
        slope = np.einsum("i,ik,ikj->j", own, error, evidence)
        np.testing.assert_allclose(found.gradients[fold], slope, atol=exact * 100)
    hessians = problem.hessians(found.p)
    for fold in range(5):
        own = (folds == fold) * weight
        mean = np.einsum("ik,ikj->ij", p, evidence)
        hessian = np.einsum("i,ik,ikj,ikl->jl", own, p, evidence, evidence, optimize=True)
        hessian -= np.einsum("i,ij,il->jl", own, mean, mean, optimize=True)
        np.testing.assert_allclose(hessians[fold], hessian, atol=exact * 1000)
    np.testing.assert_array_equal(problem.hessians(found.p, 1)[0], hessians[0])
    monkeypatch.setenv("SUFFICE_NUM_THREADS", "7")
    again = problem.loss(w)
    assert again.value == found.value
    np.testing.assert_array_equal(again.gradients, found.gradients)
    np.testing.assert_array_equal(problem.hessians(found.p), hessians)


def test_scores_are_those_of_exponents_that_were_fitted_without_the_row():
    rng = np.random.default_rng(10)
    codes = rng.integers(0, 2, 500).astype(np.int32)
    evidence = rng.normal(size=(1, 500, 3)) + 0.4 * (2 * codes - 1)[:, None]

    def problem(rows):
        return LogLinear(evidence[:, rows], np.zeros((1, len(rows))), codes[rows], np.ones(len(rows)), start, pulled)

    start, pulled = np.full(3, 0.5), np.full(3, 30.0)
    whole = problem(np.arange(500))
    found = whole.cross_fitted(whole.fit())
    for fold in range(5):
        own = np.arange(500) // 100 == fold
        expected = evidence[:, own] @ problem(np.flatnonzero(~own)).fit()
        np.testing.assert_allclose(found[:, own], expected, atol=0.02)


# ------------------------------------------------------------------------------------------------ found columns


@pytest.mark.parametrize("classes", [2, 4])
def test_the_kernel_that_screens_combinations_judges_as_leave_one_out_does(classes):
    rng = np.random.default_rng(11)
    y, weight = rng.integers(0, classes, 700).astype(np.int32), rng.choice([0.5, 1.0, 2.0], 700)
    table = np.stack([rng.normal(size=700) + y, np.round(rng.exponential(size=700), 1), rng.integers(-3, 4, 700) + 0.0])
    table[0, ::9], table[1, ::7] = np.nan, -0.0
    candidates = [Candidate(i, i) for i in range(3)]
    candidates += [Candidate(i, j, how, (1.5, 0.7)) for i, j in [(0, 1), (2, 1)] for how in OPERATIONS]
    found = tell(table, candidates, y, weight, classes)
    for (i, j, how, scales), mean in zip(candidates, found, strict=True):
        x = table[i] if how is None else FoundColumn("a", "b", how, scales).of(table[i], table[j])
        assert mean == pytest.approx(judge(x, y, weight, classes).mean, rel=1e-12)


def test_a_ratio_that_tells_more_than_its_columns_is_found():
    table, y = a_table(1500)
    codes = (y == "b").astype(np.int32)
    numbers = [(name, table[name]) for name in ("x", "z", "noise")]
    found = find_columns(numbers, codes, np.ones(len(y)), 2, 4)
    assert found[0].names == ("x", "z")
    assert found[0].operation == "ratio"
    rng = np.random.default_rng(0)
    assert not find_columns([("a", rng.normal(size=900)), ("b", rng.normal(size=900))], codes[:900], np.ones(900), 2, 4)


def test_ratios_are_missing_where_a_number_is_not_positive():
    ratio = FoundColumn("z", "x", "ratio")
    assert ratio.title == "z / x"
    np.testing.assert_array_equal(
        ratio.of(np.array([6.0, 1.0, -1.0, np.nan]), np.array([3.0, 0.0, 2.0, 1.0])), [2.0, np.nan, np.nan, np.nan]
    )
    assert FoundColumn("z", "x", "difference", (2.0, 1.0)).of(np.array([6.0]), np.array([1.0])) == 2.0


def test_found_columns_are_named_and_can_be_turned_off():
    table, y = a_table(1500)
    found = sf.BayesClassifier(structure="pairs").fit(table, y).calibration_
    assert "x / z" in [block.title for block in found.found]
    assert sf.BayesClassifier(structure="pairs", found_columns=False).fit(table, y).calibration_.found == ()
    assert len(sf.BayesClassifier(structure="pairs", found_columns=1).fit(table, y).calibration_.found) == 1


def test_found_columns_are_smoothed_as_columns_are():
    table, y = a_table(800)
    clf = sf.BayesClassifier(structure="pairs", smoothing=3.0, found_columns=1).fit(table, y)
    (block,) = clf.calibration_.found
    assert block.family == clf._learned.family.blocks[list(table).index(block.names[0])].family
    assert block.family != Automatic()


def test_rows_are_left_out_of_found_columns_too():
    """A ratio that tells all: without its own row, the few rows that are like none of the others are less certain."""
    rng = np.random.default_rng(5)
    y = np.arange(200) % 2
    x = np.exp(rng.normal(size=200))
    table = {"x": x, "z": x * np.exp(rng.normal(scale=0.2, size=200) + y)}
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    assert [block.title for block in clf.calibration_.found] == ["x / z"]
    left_out = np.exp(clf.leave_one_out(table, y))[np.arange(200), y]
    fitted = clf.predict_proba(table)[np.arange(200), y]
    assert (left_out > 0.5).mean() > 0.95
    assert left_out.mean() < fitted.mean()


def test_what_is_decided_of_found_columns_is_one_for_each():
    table, y = a_table(800)
    found = sf.BayesClassifier(structure="pairs").fit(table, y).calibration_
    found.check_agreement()
    plain = Block(("x",), Automatic())
    for changes in ({"decisions": ()}, {"found": (plain,) * len(found.found)}):
        with pytest.raises(MismatchError, match="found must be found columns"):
            replace(found, **changes).check_agreement()


@pytest.mark.parametrize("kept", [False, True])
def test_cosines_must_gain_two_standard_errors(kept):
    """Cosines that say what is known are left out; those that say something else that is true are kept."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 600).astype(np.int32)
    sign = 2.0 * codes - 1.0
    known, new = 2.0 * (sign + rng.normal(size=(2, 600)))  # log-odds
    other = new if kept else known + 1e-3 * rng.normal(size=600)
    pool = Pool(codes, np.ones(600), np.zeros((1, 600)))
    members = [
        Member(name, scores[None], np.zeros(0), np.zeros(0))
        for name, scores in (("columns", known), ("CosineExpert", other))
    ]
    chosen, weights, _ = pool._chosen(members)
    assert [each.name for each in chosen] == ["columns", "CosineExpert"][: 1 + kept]
    assert len(weights) == len(chosen)


# ------------------------------------------------------------------------------------------------ the classifier


@pytest.mark.parametrize("structure", STRUCTURES)
def test_probabilities_are_those_of_the_parts_added_up(structure):
    """Evidence by column and pair, what is left, and the prior are the log-odds of predict_proba."""
    table, y = a_table()
    clf = sf.BayesClassifier(structure=structure).fit(table, y)
    p = clf.predict_proba(table)
    assert isinstance(clf.calibration_, Structure)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    found = clf.evidence(table)
    parts = [v for name, v in found.items() if name not in ("label", "against", "log_odds")]
    np.testing.assert_allclose(sum(parts), found["log_odds"], atol=1e-9)
    np.testing.assert_allclose(found["log_odds"], np.log(p[:, 1] / p[:, 0]), atol=1e-9)
    if structure != "pool":  # without experts, all but the share of the prior is told by column and pair
        assert np.median(np.abs(found["rest"])) < 0.1 * np.median(np.abs(found["log_odds"]))


def test_on_adult_columns_and_pairs_tell_nearly_all_of_the_log_odds(data_dir):
    train, test = (pq.read_table(data_dir / f"adult-{part}.parquet") for part in ("train", "test"))
    found = sf.BayesClassifier().fit(train, "income").evidence(test.drop_columns(["income"]))
    rest, odds = (np.abs(found[name].to_numpy()) for name in ("rest", "log_odds"))
    assert np.median(rest) <= 0.1 * np.median(odds)


def test_pairs_tell_what_columns_by_themselves_cannot():
    table, y = a_table(2000)
    train, test = slice(0, 1000), slice(1000, 2000)
    accuracy = {}
    for structure in ("naive", *STRUCTURES):
        clf = sf.BayesClassifier(structure=structure).fit(rows(table, train), y[train])
        accuracy[structure] = clf.score(rows(table, test), y[test])
    assert accuracy["pairs"] > accuracy["columns"] + 0.05
    assert accuracy["pairs"] > accuracy["naive"] + 0.05
    assert accuracy["pool"] > accuracy["naive"] + 0.05


@pytest.mark.parametrize("structure", STRUCTURES)
def test_leaving_a_row_out_is_learning_without_it(structure):
    """Exponents and experts' parameters stay; with one row of 400 less, the refit hardly differs."""
    table, y = a_table()
    clf = sf.BayesClassifier(structure=structure).fit(table, y)
    left_out = np.exp(clf.leave_one_out(table, y))
    for r in (0, 17, 203):
        rest = np.delete(np.arange(400), r)
        refit = sf.BayesClassifier(structure=structure).fit(rows(table, rest), y[rest])
        np.testing.assert_allclose(left_out[r], refit.predict_proba(rows(table, [r]))[0], atol=0.2)
    own = left_out[np.arange(400), np.searchsorted(clf.classes_, y)]
    fitted = clf.predict_proba(table)[np.arange(400), np.searchsorted(clf.classes_, y)]
    assert np.log(own).mean() < np.log(fitted).mean()  # without the row itself, its class is less probable


@pytest.mark.parametrize("keep", [20_000, 150])
def test_merging_and_forgetting_give_what_one_fit_gives(keep):
    """All rows are kept, or the plan of the first is used for the second."""
    table, y = a_table()
    options = {"keep": keep, "structure": "pairs"}
    whole = sf.BayesClassifier(**options).fit(table, y)
    first = sf.BayesClassifier(**options).fit(rows(table, slice(0, 250)), y[:250])
    later = rows(table, slice(250, 400))
    merged = sf.BayesClassifier(**options).fit(rows(table, slice(0, 250)), y[:250]).partial_fit(later, y[250:])
    if keep > 400:
        np.testing.assert_allclose(merged.predict_proba(table), whole.predict_proba(table), atol=1e-9)
        both = first + sf.BayesClassifier(**options).fit(later, y[250:])
        np.testing.assert_allclose(both.predict_proba(table), whole.predict_proba(table), atol=1e-9)
    left, known = merged.forget(later, y[250:])._learned.seen.statistic.parts, first._learned.seen.statistic.parts
    for a, b in zip(left, known, strict=True):
        if not isinstance(a, RowSample):  # which is not filled up again
            assert a == b


def test_row_by_row_is_learned_as_in_chunks():
    table, y = a_table(120)
    chunked = sf.BayesClassifier(keep=60).partial_fit(rows(table, slice(0, 100)), y[:100])
    chunked.partial_fit(rows(table, slice(100, 120)), y[100:])
    by_row = sf.BayesClassifier(keep=60).partial_fit(rows(table, slice(0, 10)), y[:10])
    for r in range(10, 120):
        by_row.partial_fit(rows(table, slice(r, r + 1)), y[r : r + 1])
    assert by_row._learned.family.plan is not None
    assert by_row._learned.seen == chunked._learned.seen
    np.testing.assert_allclose(by_row.predict_proba(table), chunked.predict_proba(table), atol=1e-9)


def test_models_of_different_plans_do_not_merge():
    table, y = a_table()
    a = sf.BayesClassifier(keep=100).fit(rows(table, slice(0, 200)), y[:200])
    b = sf.BayesClassifier(keep=100).fit(rows(table, slice(200, 400)), y[200:])
    with pytest.raises(MismatchError, match="different plans"):
        a + b


def test_models_of_one_plan_merge_to_the_statistics_of_one_pass():
    table, y = a_table()
    a = sf.BayesClassifier(keep=100, structure="pairs").fit(rows(table, slice(0, 200)), y[:200])
    b = a.like().fit(rows(table, slice(200, 400)), y[200:])
    whole = a.like().fit(table, y)
    assert (a + b)._learned.seen == whole._learned.seen
    np.testing.assert_allclose((a + b).predict_proba(table), whole.predict_proba(table), atol=1e-9)


def test_parts_that_are_kept_whole_count_by_the_plan_they_were_given():
    table, y = a_table()
    whole = sf.BayesClassifier(keep=250, structure="pairs").fit(table, y)
    parts = [whole.like().fit(rows(table, part), y[part]) for part in (slice(0, 200), slice(200, 400))]
    assert parts[0]._learned.family.plan is not None  # though 250 rows are kept, and these are 200
    for merged in (parts[0] + parts[1], parts[1] + parts[0]):
        assert merged._learned.seen == whole._learned.seen
        np.testing.assert_allclose(merged.predict_proba(table), whole.predict_proba(table), atol=1e-12)


def test_parts_of_different_plans_merge_if_one_of_them_is_kept_whole():
    table, y = a_table()
    large = sf.BayesClassifier(keep=150).fit(rows(table, slice(0, 300)), y[:300])
    other = sf.BayesClassifier(keep=150).fit(rows(table, slice(50, 350)), y[50:350])
    small = other.like().fit(rows(table, slice(300, 400)), y[300:])
    again = large.like().fit(rows(table, slice(300, 400)), y[300:])
    assert (large + small)._learned.seen == (large + again)._learned.seen
    assert (small + large)._learned.seen == (again + large)._learned.seen


def test_the_schema_tells_of_found_columns_pairs_and_experts():
    table, y = a_table(1500)
    found = sf.BayesClassifier().fit(table, y).schema_
    shown = str(found)
    assert found.values[found.rows.index("x / z"), 1] == "yes"
    assert "found: it tells more than x or z" in shown
    assert "left × right" in shown
    assert "exponent" in shown


@pytest.mark.parametrize("keep", [20_000, 100])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_saved_model_answers_the_same(tmp_path, structure, keep):
    table, y = a_table()
    clf = sf.BayesClassifier(structure=structure, keep=keep).fit(table, y)
    expected = clf.predict_proba(table)
    clf.save(tmp_path / "model.suffice")
    loaded = sf.load(tmp_path / "model.suffice")
    assert isinstance(loaded._learned.decided.calibrations[structure], Structure)
    np.testing.assert_array_equal(loaded.predict_proba(table), expected)


@pytest.mark.parametrize("structure", ["columns", "pairs"])
def test_the_formula_gives_the_same_probabilities(structure):
    table, y = a_table()
    clf = sf.BayesClassifier(structure=structure).fit(table, y)
    found = clf.formula().posterior(table)
    np.testing.assert_allclose(found, clf.predict_proba(table), atol=1e-9)


# ------------------------------------------------------------------------------------------------ gaps


def numbers_that_belong_together(n, seed):
    """Numbers of which none tells much, and all together nearly everything."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 1)) * 3 + rng.normal(size=(n, 4)) * 0.3 + np.eye(4)[y] * 0.9, y


def with_gaps(x, share):
    gaps = np.random.default_rng(5).random(x.shape) < share
    return np.where(gaps, np.nan, x), gaps.any(axis=1)


def log_loss(clf, x, y):
    return -clf.predict_log_proba(x)[np.arange(len(y)), y].mean()


def test_rows_with_gaps_that_training_had_not_are_answered_as_well_as_by_pairs():
    x, y = numbers_that_belong_together(1200, 0)
    new, labels = numbers_that_belong_together(600, 1)
    pool, pairs = (sf.BayesClassifier(structure=name, found_columns=False).fit(x, y) for name in ("pool", "pairs"))
    assert log_loss(pool, new, labels) < log_loss(pairs, new, labels) - 0.1
    new, gap = with_gaps(new, 0.3)
    np.testing.assert_allclose(log_loss(pool, new[gap], labels[gap]), log_loss(pairs, new[gap], labels[gap]), atol=0.02)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(pool.predict_proba(np.full((1, 4), np.nan))[0], shares, atol=1e-12)


def test_gaps_that_training_had_too_are_left_to_the_experts():
    x, y = numbers_that_belong_together(1200, 0)
    x[np.random.default_rng(2).random(1200) < 0.1, 0] = np.nan
    clf = sf.BayesClassifier(structure="pool", found_columns=False).fit(x, y)
    assert sorted(clf.calibration_.needed) == ["x1", "x2", "x3"]


def a_pool_and_rows_with_gaps():
    x, y = numbers_that_belong_together(400, 0)
    clf = sf.BayesClassifier(structure="pool", found_columns=False).fit(dict(zip("abcd", x.T, strict=True)), y)
    new, gap = with_gaps(x, 0.2)
    assert 0 < gap.sum() < len(gap)
    assert clf.calibration_.needed
    return clf, dict(zip("abcd", new.T, strict=True)), gap


def test_the_answer_to_a_row_does_not_depend_on_which_other_rows_have_gaps():
    clf, new, gap = a_pool_and_rows_with_gaps()
    together, evidence = clf.predict_proba(new), clf.evidence(new)["log_odds"]
    for some in (gap, ~gap):
        np.testing.assert_allclose(clf.predict_proba(rows(new, some)), together[some], rtol=1e-12)
        np.testing.assert_allclose(clf.evidence(rows(new, some))["log_odds"], evidence[some], rtol=1e-9)


def repeated(table, n):
    return {name: np.resize(column, n) for name, column in table.items()}


def test_a_value_that_is_refused_is_named_with_its_row_among_rows_with_gaps():
    clf, new, gap = a_pool_and_rows_with_gaps()
    for row in (np.flatnonzero(~gap)[-1], np.flatnonzero(gap & ~np.isnan(new["b"]))[-1]):
        for before in (0, 40_000):
            refused = repeated(new, before + len(gap))
            refused["b"][before + row] = np.inf
            with pytest.raises(RefusedValueError, match=f"row {before + row}, column 'b'"):
                clf.predict_proba(refused)


def test_answers_in_blocks_of_rows_are_those_of_each_row():
    clf, new, gap = a_pool_and_rows_with_gaps()
    found = clf.predict_proba(repeated(new, 100 * len(gap)))
    np.testing.assert_allclose(found, np.tile(clf.predict_proba(new), (100, 1)), rtol=1e-9)


def test_evidence_of_rows_with_gaps_adds_up_without_experts():
    clf, new, gap = a_pool_and_rows_with_gaps()
    found, p = clf.evidence(new), clf.predict_proba(new)
    parts = [v for name, v in found.items() if name not in ("label", "against", "log_odds")]
    first, second = (np.searchsorted(clf.classes_, found[name]) for name in ("label", "against"))
    at = np.arange(len(p))
    np.testing.assert_allclose(sum(parts), found["log_odds"], atol=1e-9)
    np.testing.assert_allclose(found["log_odds"], np.log(p[at, first] / p[at, second]), atol=1e-9)
    missing = gap & np.isnan(new["a"])
    for name in found:
        if name.split(" × ")[0] == "a":
            assert not np.asarray(found[name])[missing].any(), name


def test_rows_with_gaps_are_left_out_as_pairs_leave_them_out():
    x, y = numbers_that_belong_together(300, 0)
    some = np.array([7, 8, 9])
    x[some, [2, 0, 3]] = np.nan
    found = []
    for structure in ("pool", "pairs"):
        clf = sf.BayesClassifier(structure=structure, found_columns=False).fit(x, y)
        found.append(np.exp(clf.leave_one_out(x, y)))
    np.testing.assert_allclose(found[0][some], found[1][some], atol=0.01)
    assert np.abs(found[0][:7] - found[1][:7]).max() > 0.05


def test_files_hold_how_rows_with_gaps_are_scored(tmp_path):
    clf, new, _ = a_pool_and_rows_with_gaps()
    clf.save(tmp_path / "model.suffice")
    np.testing.assert_array_equal(sf.load(tmp_path / "model.suffice").predict_proba(new), clf.predict_proba(new))


def test_a_structure_for_gaps_has_no_experts_and_columns_that_these_need():
    found = a_pool_and_rows_with_gaps()[0].calibration_
    for changes in ({"needed": ()}, {"for_gaps": None}, {"for_gaps": found}, {"needed": ("unknown",)}):
        with pytest.raises(MismatchError, match="needed"):
            replace(found, **changes).check_agreement()


def test_the_formula_of_a_pool_has_its_cosines():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (600, 2))
    y = (np.sin(6 * x[:, 0]) * np.sin(6 * x[:, 1]) > 0).astype(int)
    clf = sf.BayesClassifier(structure="pool").fit(x, y)
    assert "CosineExpert" in [type(each).__name__ for each in clf.calibration_.experts]
    found = clf.formula().posterior({name: x[:, j] for j, name in enumerate(["x0", "x1"])})
    np.testing.assert_allclose(found, clf.predict_proba(x), rtol=0, atol=1e-5)  # kernels compute cosines in float32


@pytest.mark.parametrize(("n", "enough"), [(30, False), (49, False), (50, True)])
def test_fewer_rows_than_fifty_have_one_exponent(n, enough):
    table, y = a_table(n)
    assert isinstance(sf.BayesClassifier().fit(table, y).calibration_, Structure) is enough


def test_files_are_learned_by_the_plan_of_their_head(tmp_path):
    table, y = a_table(600)
    pq.write_table(pa.table(table | {"y": y}), tmp_path / "rows.parquet", row_group_size=100)
    small = sf.BayesClassifier(structure="pairs").fit(str(tmp_path / "rows.parquet"), "y")
    np.testing.assert_allclose(
        small.predict_proba(table), sf.BayesClassifier(structure="pairs").fit(table, y).predict_proba(table), atol=1e-9
    )
    large = sf.BayesClassifier(structure="pairs", keep=100).fit(str(tmp_path / "rows.parquet"), "y")
    assert large._learned.family.plan is not None
    assert large.score(table, y) > sf.BayesClassifier(structure="naive").fit(table, y).score(table, y)


@pytest.mark.parametrize(("total", "bins"), [(100, 4), (2 * 10**3, 10), (2 * 30**3, 30), (10**9, 48)])
def test_pairs_of_numbers_have_bins_by_the_cube_root_of_the_rows_of_a_class(total, bins, monkeypatch):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(500, 3)), (np.arange(500) % 2).astype(np.int32)
    given = (sf.Gaussian(),) * 3, Batch(tuple(x[:, [j]] for j in range(3)), 500), codes, np.ones(500), 2, total
    plan = plan_pairs(*given)
    assert plan.pairs.T.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert {abs(column.size - bins) <= 1 for column in plan.columns} == {True}  # and one for missing values
    monkeypatch.setattr("suffice.families.pair_plan.MOST_CELLS", 2 * 3 * 12**2)
    fewer = plan_pairs(*given)
    assert all(column.size <= min(bins, 12) + 1 for column in fewer.columns)
    assert bins > 12 or [column.size for column in fewer.columns] == [column.size for column in plan.columns]


def test_pairs_of_a_single_class_have_bins_by_the_cube_root_of_all_rows():
    x, one = np.random.default_rng(0).normal(size=(500, 2)), np.zeros(500, np.int32)
    plan = plan_pairs((sf.Gaussian(),) * 2, Batch((x[:, :1], x[:, 1:]), 500), one, np.ones(500), 1, 10**3)
    assert [column.size for column in plan.columns] == [10, 10]


# ------------------------------------------------------------------------------------------------ columns by chance


@pytest.mark.parametrize("classes", [2, 4])
def test_for_each_fold_the_other_folds_choose_which_columns_vote(classes):
    rng = np.random.default_rng(classes)
    n, codes = 203, rng.integers(0, classes, 203).astype(np.int32)
    weight, prior = rng.choice([0.5, 1.0, 2.0], n), np.log(rng.dirichlet(np.full(classes, 9.0)))
    log_prior = np.repeat((prior[1:] - prior[0])[:, None], n, axis=1)
    columns = [rng.normal(0, 0.4, (classes - 1, n)) for _ in range(12)]
    columns[0][codes[codes > 0] - 1, np.flatnonzero(codes > 0)] += 2.0  # it tells much
    expected = [column.copy() for column in columns]
    for column in expected:
        scores = np.vstack([np.zeros(n), log_prior + column])
        chosen = scores[codes, np.arange(n)] - np.log(np.exp(scores).sum(axis=0))
        gain = chosen - prior[codes]
        kept = column.copy()
        for k in range(5):
            own = np.arange(k * n // 5, (k + 1) * n // 5)
            w, others = np.delete(weight, own), np.delete(gain, own)
            mean = np.average(others, weights=w)
            error = np.sqrt(np.average((others - mean) ** 2, weights=w) / w.sum())
            if mean <= 0.5 * error:
                kept[:, own] = 0.0
        column[:] = kept
    Pool(codes, weight, log_prior).choose_by_others(columns)
    for found, wanted in zip(columns, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert columns[0].all()
    assert not all(column.all() for column in columns)


@pytest.mark.parametrize(("columns", "most"), [(200, 0.76), (400, 0.72)])
def test_many_columns_of_noise_are_not_believed(columns, most):
    """Those that tell something by chance vote, but what the rows that chose them say is not taken for knowledge."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1100, columns)), rng.integers(0, 2, 1100)
    for structure in ("columns", "pairs", "pool"):
        p = sf.BayesClassifier(structure=structure).fit(x[:100], y[:100]).predict_proba(x[100:])
        assert -np.log(p[np.arange(1000), y[100:]]).mean() < most  # 0.69 is chance; it was 1.0 and more
