"""What was learned can be forgotten, and what is left is what a refit on the rest of the rows gives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import suffice as sf
from suffice import ByClass, Cells, Counts, InvalidDataError, Moments, NotPartError, Sample, Scatter, Totals
from suffice.core.arrays import Categories
from suffice.core.frames import as_frame
from suffice.core.statistics import RowSample, WordCounts
from suffice.core.statistics.compensated import Sums, minus, plus, product, rounded, times
from suffice.core.words import Texts
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.model.packing import pack, unpack
from suffice.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)

UNIT = 2.0**-100  # of the bounds in docs/mathematics.md

WEIGHTS = [1.0, 0.1, 1 / 3, 2.5e-10, 7e12, 1e13, 3.0]
VALUES = [0.0, 1.0, -1.0, 0.3, -2.7, 1e-3, 1e8, 1e9 + 1, 1e9 - 1.5, -1e8]


@st.composite
def weighted_rows(draw, values=VALUES):
    """Draw rows of two columns with weights of very different sizes, and the order in which some are forgotten."""
    n = draw(st.integers(2, 9))
    x = np.array(draw(st.lists(st.sampled_from(values), min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    weight = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)))
    order = draw(st.permutations(range(n)))
    return x, weight, list(order[: draw(st.integers(1, n - 1))])


def left_and_refitted(kind, x, weight, forgotten, **options):
    """Forget rows one at a time; return what is left, and the summary of the others alone."""
    codes = np.zeros(len(weight), np.int32)

    def summary(rows):
        return kind.of(x[rows], codes[rows], 1, weight[rows], **options)

    out = summary(np.arange(len(weight)))
    for row in forgotten:
        out = out - summary(np.array([row]))
    return out, summary(np.setdiff1d(np.arange(len(weight)), forgotten))


def assert_weights(left, again, held, n):
    np.testing.assert_allclose(left, again, rtol=1e-15, atol=n * UNIT * held)


# A far row is forgotten, and what is left varies by less than a doubt that many rows would have.
LITTLE = np.array([[1.0, 0.0], [0.0, 0.0], [1e8, 0.0]]), np.array([1.0, 2.5e-10, 1.0]), [2]
TWO_GO = np.array([[0, 0], [0, 0], [0, 1e-3], [0, 0], [0, 1e9]]), np.array([1.0, 1.0, 0.1, 1.0, 1.0]), [0, 4]


@given(weighted_rows())
@example(LITTLE)
@example(TWO_GO)
def test_moments_after_forgetting_are_those_of_a_refit(case):
    x, weight, forgotten = case
    left, again = left_and_refitted(Moments, x, weight, forgotten)
    n, held, size = 2 * len(x), weight.sum(), np.abs(x).max(axis=0)
    assert_weights(left.weight, again.weight, held, n)
    np.testing.assert_allclose(left.mean, again.mean, rtol=1e-15, atol=(n * UNIT * held / again.weight * size).max())
    np.testing.assert_allclose(left.squares, again.squares, rtol=1e-15, atol=(n**2 * UNIT * held * size**2).max())


@given(weighted_rows())
@example(LITTLE)
@example(TWO_GO)
def test_scatter_after_forgetting_is_that_of_a_refit(case):
    x, weight, forgotten = case
    left, again = left_and_refitted(Scatter, x, weight, forgotten)
    n, held, size = 2 * len(x), weight.sum(), np.abs(x).max(axis=0)
    assert_weights(left.weight, again.weight, held, n)
    np.testing.assert_allclose(left.mean, again.mean, rtol=1e-15, atol=(n * UNIT * held / again.weight[0] * size).max())
    # A variance within its bound counts as 0, and then the column goes with no other.
    bound, variance = n**2 * UNIT * held * size**2, np.diagonal(again.cross[0])
    products = np.sqrt(np.outer(bound, bound + variance)) + np.sqrt(np.outer(bound + variance, bound))
    assert (np.abs(left.cross - again.cross) <= 1e-15 * np.abs(again.cross) + products).all()


@given(weighted_rows(values=[0.0, 1.0, 3.0, 0.1, 1e8, 1 / 3]), st.booleans())
def test_totals_after_forgetting_are_those_of_a_refit(case, sparse):
    x, weight, forgotten = case
    rows = scipy.sparse.csr_array(x) if sparse else x
    left, again = left_and_refitted(Totals, rows, weight, forgotten)
    n, held = 2 * len(x), weight.sum()
    assert_weights(left.weight, again.weight, held, n)
    assert_weights(left.total, again.total, held * x.max(), n)


@given(weighted_rows(values=[0.0, 1.0, 2.0]))
def test_counts_after_forgetting_are_those_of_a_refit(case):
    x, weight, forgotten = case
    left, again = left_and_refitted(Counts, x, weight, forgotten)
    assert left.sizes.tolist() == again.sizes.tolist()
    assert_weights(left.weight, again.weight, weight.sum(), 2 * len(x))


@given(weighted_rows(values=[0.0, 1.0, 2.5]), st.booleans())
def test_samples_after_forgetting_are_those_of_a_refit(case, joint):
    x, weight, forgotten = case
    left, again = left_and_refitted(Sample, x, weight, forgotten, joint=joint)
    for p, q in zip(left.parts, again.parts, strict=True):
        np.testing.assert_array_equal(p.values, q.values)
        assert_weights(p.weight, q.weight, weight.sum(), 2 * len(x))


@given(weighted_rows(values=[0.0, 1.0, 2.5]))
def test_kept_rows_after_forgetting_are_those_of_a_refit(case):
    x, weight, forgotten = case
    frame = as_frame({"a": x[:, 0], "b": x[:, 1]})
    left, again = left_and_refitted(RowSample, frame, weight, forgotten, size=50)
    assert left.hashes.tolist() == again.hashes.tolist()
    assert_weights(left.weight, again.weight, weight.sum(), 2 * len(x))


@given(weighted_rows(values=[0.0, 1.0, 2.0]))
def test_words_after_forgetting_are_those_of_a_refit(case):
    x, weight, forgotten = case
    texts = Texts.of([" ".join(["one"] * int(a) + ["two"] * int(b) + ["three"]) for a, b in x])
    left, again = left_and_refitted(WordCounts, texts, weight, forgotten, keep=20)
    held, n = 4 * weight.sum(), 2 * len(x)
    assert left.vocabulary == again.vocabulary
    assert left.codes.tolist() == again.codes.tolist()
    for name in ("total", "documents", "words"):
        assert_weights(getattr(left, name), getattr(again, name), held, n)
    assert left.kept.hashes.tolist() == again.kept.hashes.tolist()
    assert_weights(left.kept.weight, again.kept.weight, held, n)


@given(weighted_rows())
def test_classes_of_which_every_row_was_forgotten_are_gone(case):
    x, weight, _ = case
    whole = ByClass.of(Moments, x, ["a"] * len(x), weight) + ByClass.of(Moments, x, ["b"] * len(x), weight)
    for row in range(len(x)):
        whole = whole - ByClass.of(Moments, x[row : row + 1], ["a"], weight[row : row + 1])
    assert whole.labels.tolist() == ["b"]


@pytest.mark.parametrize("kind", [Moments, Scatter])
def test_no_sequence_of_rounded_normals_is_refused(kind):
    rng = np.random.default_rng(0)
    zero = np.zeros(8, np.int32)
    for _ in range(2000):
        x = np.round(rng.normal(size=(8, 1)))
        left = kind.of(x, zero, 1)
        for i in range(7):
            left = left - kind.of(x[i : i + 1], zero[:1], 1)
        assert left.mean[0, 0] == x[7, 0]
        assert (left.squares if kind is Moments else left.cross).max() == 0.0


def test_the_sum_of_many_rows_is_what_exact_fractions_give():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=50) * 10.0 ** rng.integers(-3, 9, 50), rng.random(50) * 10.0 ** rng.integers(-9, 9, 50)
    found = Moments.of(x[:, None], np.zeros(50, np.int32), 1, weight)
    w, v = [Fraction(a) for a in weight], [Fraction(a) for a in x]
    mean = sum(a * b for a, b in zip(w, v, strict=True)) / sum(w)
    squares = sum(a * (b - mean) ** 2 for a, b in zip(w, v, strict=True))
    for name, row, exact in (("weight", 0, sum(w)), ("mean", 1, mean), ("squares", 2, squares)):
        value, low, doubt = getattr(found, name)[0, 0], found.rest[0, row, 0], found.rest[0, row + 3, 0]
        error = abs(Fraction(value) + Fraction(low) - exact)
        assert error <= Fraction(doubt)
        assert error <= abs(exact) * Fraction(2) ** -90


# ---- estimators

SEEDS = np.random.default_rng(3)
NUMBERS = SEEDS.normal(size=(12, 3)).round(1)
NUMBERS[:, 2] += 3.0
LABELS = np.array([0, 1, 2] * 4)
TEXTS = np.array([f"{'red ' * (i % 3)}{'green ' * (i % 2)}word{i % 4}" for i in range(12)], dtype=object)
ESTIMATORS = {
    "GaussianNB": (GaussianNB(), NUMBERS),
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis(), NUMBERS),
    "QuadraticDiscriminantAnalysis": (QuadraticDiscriminantAnalysis(reg_param=0.1), NUMBERS),
    "MultinomialNB": (MultinomialNB(), np.abs(NUMBERS)),
    "MultinomialNB, sparse": (MultinomialNB(), scipy.sparse.csr_array(np.abs(NUMBERS).round())),
    "ComplementNB": (ComplementNB(), np.abs(NUMBERS).round()),
    "BernoulliNB": (BernoulliNB(), NUMBERS > 0),
    "CategoricalNB": (CategoricalNB(), np.abs(NUMBERS).round().astype(int)),
    "PoissonNB": (sf.naive_bayes.PoissonNB(), np.abs(NUMBERS).round()),
    "KernelNB": (sf.naive_bayes.KernelNB(), NUMBERS),
    "BayesClassifier": (sf.BayesClassifier(calibrate=False), NUMBERS),
    "TextClassifier": (sf.TextClassifier(calibrate=False), TEXTS),
}


@pytest.mark.parametrize("heavy", [1e13, 7e12 / 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_light_rows_stay_when_heavy_ones_are_forgotten(name, heavy):
    model, x = ESTIMATORS[name]
    weight = np.where(np.arange(12) % 2, 1.0, heavy)
    gone, kept = np.flatnonzero(weight > 1), np.flatnonzero(weight == 1)
    learned = type(model)(**model.get_params())
    learned.fit(x, LABELS, sample_weight=weight)
    for row in gone:
        learned.forget(x[[row]], LABELS[[row]], sample_weight=weight[[row]])
    again = type(model)(**model.get_params()).fit(x[kept], LABELS[kept])
    np.testing.assert_allclose(learned.predict_proba(x), again.predict_proba(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("name", ["GaussianNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_a_class_left_with_one_row_is_what_a_refit_gives(name, offset):
    model, _ = ESTIMATORS[name]
    rng = np.random.default_rng(5)
    x = offset + rng.integers(-1, 2, (40, 2)) + rng.normal(size=(40, 2)) * [0, 1]
    y = np.array([0] * 30 + [1] * 10)
    x[38] = x[39]  # of two equal rows a covariance can be estimated, and is 0
    last = 38 if name.startswith("Quadratic") else 39
    learned = type(model)(**model.get_params()).fit(x, y)
    for row in range(30, last):
        learned.forget(x[[row]], y[[row]])
    kept = np.r_[0:30, last:40]
    again = type(model)(**model.get_params()).fit(x[kept], y[kept])
    np.testing.assert_allclose(learned.predict_proba(x), again.predict_proba(x), rtol=1e-9, atol=1e-12)


def test_the_seventh_of_eight_rows_can_be_forgotten():
    x = np.array([[-1.0], [0.0], [0.0], [1.0], [0.0], [-1.0], [0.0], [0.0]])
    model = GaussianNB().fit(x, np.zeros(8))
    for row in range(7):
        model.forget(x[[row]], [0.0])
    assert (model.theta_[0, 0], model.class_count_[0]) == (0.0, 1.0)


# ---- what is refused


def test_rows_that_were_never_learned_are_refused():
    equal = Moments.of(np.full((3, 1), 1e9), np.zeros(3, np.int32), 1)
    one = np.zeros(1, np.int32)
    with pytest.raises(NotPartError, match="does not vary enough"):
        equal - Moments.of(np.array([[1e9 + 1.0]]), one, 1)
    with pytest.raises(NotPartError, match="more than was added"):
        equal - Moments.of(np.array([[1e9]]), one, 1, np.array([3.001]))
    with pytest.raises(NotPartError, match="more than was added"):
        Scatter.of(np.full((3, 1), 1e9), np.zeros(3, np.int32), 1) - Scatter.of(
            np.array([[1e9]]), one, 1, np.array([3.001])
        )


def test_a_row_computed_again_may_differ_in_its_last_digit():
    equal = Moments.of(np.full((3, 1), 1e9), np.zeros(3, np.int32), 1)
    left = equal - Moments.of(np.array([[np.nextafter(1e9, 2e9)]]), np.zeros(1, np.int32), 1)
    assert (left.weight[0, 0], left.squares[0, 0]) == (2.0, 0.0)
    assert minus(Sums(np.array([0.3]), None), Sums(np.array([0.1 + 0.2]), None)).value.tolist() == [0.0]


@pytest.mark.parametrize("kind", [Moments, Scatter])
def test_a_sum_whose_squares_overflow_is_refused_and_leaves_both_as_they_were(kind):
    one = np.zeros(1, np.int32)
    a, b = kind.of(np.array([[1e200]]), one, 1), kind.of(np.array([[-1e200]]), one, 1)
    before = [pack(s)[1] for s in (a, b)]
    with pytest.raises(InvalidDataError, match=r"Column 0 .* overflows"):
        a + b
    for stat, old in zip((a, b), before, strict=True):
        for name, array in pack(stat)[1].items():
            np.testing.assert_array_equal(array, old[name])


@pytest.mark.parametrize("kind", [Moments, Scatter, Totals, Counts, Cells, Sample])
def test_weights_whose_sum_overflows_are_refused(kind):
    x, one = np.ones((1, 1)), np.zeros(1, np.int32)
    heavy = kind.of(x, one, 1, np.array([1.5e308]))
    with pytest.raises(InvalidDataError, match="overflow"):
        heavy + heavy
    with pytest.raises(InvalidDataError, match="overflow"):
        heavy.scale(10.0)


# ---- sums of other origins


def older(value):
    """Store and load a value as an earlier version did, without what rounding took."""
    tree, tensors = pack(value)

    def strip(node):
        if isinstance(node, dict):
            return {k: strip(v) for k, v in node.items() if not k.endswith("rest")}
        return [strip(v) for v in node] if isinstance(node, list) else node

    return unpack(strip(tree), {name: array for name, array in tensors.items() if not name.endswith("rest")})


@pytest.mark.parametrize("kind", [Moments, Scatter, Totals, Counts, Cells, Sample])
def test_statistics_of_earlier_files_add_and_forget(kind):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (20, 2)) * (1.0 if kind in (Counts, Cells, Sample) else 0.1)
    y, weight = np.array(["a", "b"] * 10), rng.random(20)
    old = older(ByClass.of(kind, x, y, weight))
    both = old + ByClass.of(kind, x, y, weight)
    for row in range(0, 20, 2):
        part = ByClass.of(kind, x[row : row + 1], y[row : row + 1], weight[row : row + 1])
        both, old = both - part, old - part
    assert old.labels.tolist() == ["b"], "no class is left of rounding"
    np.testing.assert_allclose(both.weight, [weight[::2].sum(), 2 * weight[1::2].sum()], rtol=1e-12)


# ---- the parts


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_a_product_with_its_remainder_is_exact(a, b):
    value, rest = product(np.array([a]), np.array([b]))
    if abs(a * b) > 1e-200 or 0.0 in (a, b):  # the remainder of a smaller product underflows
        assert Fraction(value[0]) + Fraction(rest_of(rest)) == Fraction(a) * Fraction(b)


def rest_of(rest):
    return 0.0 if rest is None else float(rest[0, 0])


@settings(max_examples=200)
@given(st.lists(st.sampled_from(WEIGHTS), min_size=1, max_size=12))
def test_adding_and_subtracting_keeps_106_bits(weights):
    total = Sums(np.zeros(1), None)
    for w in weights:
        total = plus(total, Sums(np.array([w]), None))
    exact = sum(Fraction(w) for w in weights)
    assert abs(Fraction(total.value[0]) + Fraction(rest_of(total.rest)) - exact) <= exact * Fraction(2) ** -100
    for w in weights:
        total = minus(total, Sums(np.array([w]), None))
    assert total.value[0] == 0.0


def test_integers_need_no_remainder():
    a, b = Sums(np.array([3.0, 2.0**51]), None), Sums(np.array([1.0, 1.0]), None)
    assert plus(a, b).rest is None
    assert minus(a, b).value.tolist() == [2.0, 2.0**51 - 1]
    assert minus(a, b).rest is None
    assert times(a, 2.0).value.tolist() == [6.0, 2.0**52]
    whole = ByClass.of(Counts, np.array([[0], [1], [1]]), [0, 0, 1])
    assert whole.rest is None
    assert whole.statistic.rest is None


def test_scaled_weights_can_be_forgotten_by_rows_scaled_one_by_one():
    rng = np.random.default_rng(2)
    x, weight = rng.normal(size=(9, 2)), rng.random(9)
    left = ByClass.of(Moments, x, [0] * 9, weight).scale(0.9).scale(0.9)
    for row in range(8):
        left = left - ByClass.of(Moments, x[row : row + 1], [0], weight[row : row + 1] * 0.81)
    np.testing.assert_allclose(left.statistic.mean[0], x[8], rtol=1e-9)
    left = left - ByClass.of(Moments, x[8:], [0], weight[8:] * 0.81)
    assert len(left.labels) == 0


def test_totals_keep_one_weight_for_all_columns_after_forgetting_too():
    x, zero = np.array([[0.1, 0.2], [0.3, np.nan]]), np.zeros(2, np.int32)
    whole = Totals.of(x, zero, 1, np.array([0.1, 0.7]))
    assert whole.weight.shape == (1, 2)
    left = whole - Totals.of(x[1:], zero[1:], 1, np.array([0.7]))
    assert left.weight.shape == (1, 1)
    assert left == replace(
        Totals.of(x[:1], zero[:1], 1, np.array([0.1])), weight_rest=left.weight_rest, total_rest=left.total_rest
    )


def test_pooling_classes_far_from_zero_keeps_every_digit():
    x = 1e9 + np.array([[4.0], [7.0], [13.0], [16.0]])
    pooled = Moments.of(x, np.array([0, 0, 1, 1], np.int32), 2).pooled()
    assert (pooled.mean[0, 0], pooled.squares[0, 0]) == (1e9 + 10.0, 90.0)


@pytest.mark.parametrize("factor", [0.25, 1.0, 8.0])
def test_weights_scaled_by_a_power_of_two_keep_light_rows_beside_heavy_ones(factor):
    family = sf.Poisson()
    both = family.summarize([[1.0], [2.0]], ["b", "b"], [1e9, 1e-9]).scale(factor)
    left = both - family.summarize([[1.0]], ["b"], [1e9 * factor])
    assert left.weight.tolist() == [1e-9 * factor]
    assert left.statistic.total.tolist() == [[2e-9 * factor]]


CATEGORIES = np.array([["a", "u"], ["b", "v"], ["c", "u"]], dtype=object)
NUMBERED = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 0.0]])


@pytest.mark.parametrize("x", [CATEGORIES, NUMBERED], ids=["strings", "numbers"])
def test_categories_that_only_a_dropped_class_had_are_none_any_more(x):
    family = sf.Categorical()
    rest = family.summarize(x, ["p", "q", "p"]).drop("q")
    refitted = family.summarize(x[[0, 2]], ["p", "p"])
    assert rest.statistic.sizes.tolist() == refitted.statistic.sizes.tolist() == [2, len(set(x[[0, 2], 1]))]
    assert pack(rest)[0] == pack(refitted)[0]


def test_categories_of_rows_without_weight_are_none():
    for x in (CATEGORIES, NUMBERED):
        found = sf.Categorical().summarize(x, ["p"] * 3, [1.0, 0.0, 1.0])
        assert (
            found.statistic.sizes.tolist() == sf.Categorical().summarize(x[[0, 2]], ["p"] * 2).statistic.sizes.tolist()
        )


def test_sums_that_were_rounded_elsewhere_are_doubted_by_a_few_last_digits_and_no_more():
    """A database sums 10⁶ numbers and rounds. What rounding took may be missing when all is taken away again."""
    value = np.array([1000.1, 3.0])
    whole = Sums(value, rounded(value))
    for factor in (1.0, 1 + 2.0**-50, 1 - 2.0**-50):
        assert minus(whole, Sums(value * [factor, 1.0], None)).value.tolist() == [0.0, 0.0]
    for more in ([1000.1 * (1 + 1e-12), 3.0], [1000.1, 3.0 * (1 + 1e-12)]):
        with pytest.raises(NotPartError):
            minus(whole, Sums(np.array(more), None))
    left = minus(whole, Sums(value * (1 - 1e-12), None)).value
    np.testing.assert_allclose(left, 1e-12 * value, rtol=1e-3)  # it is not taken for rounding


def test_kernels_and_numpy_doubt_the_weights_of_a_database_alike():
    weight = np.array([[0.7, 3.0, 1000.1]])
    rest = (Moments(weight, np.ones((1, 3)), np.ones((1, 3))) + Moments.empty(1, 3)).rest
    found = rounded(weight)
    assert found is not None
    np.testing.assert_array_equal(rest[:, 3], found[..., 1])


def test_rows_that_are_counted_onto_fractional_weights_keep_their_remainders():
    x, codes = Categories(np.zeros((3, 1), np.int32), None), np.zeros(3, np.int32)
    before = Counts.of(x, codes, 1, np.array([0.1, 0.7, 1e-9]))
    assert before.rest is not None
    found = Counts.of(x, codes, 1, None, before)
    assert found == before + Counts.of(x, codes, 1)
    assert found.rest is not None
    assert (found - Counts.of(x, codes, 1)).weight == before.weight


def test_light_documents_stay_when_a_merged_heavy_one_is_forgotten():
    family = sf.Text()
    light = family.summarize(["red green", "green"], ["p", "q"], [0.1, 0.3])
    heavy = family.summarize(["green blue", "green"], ["p", "q"], [1e13 + 0.5, 7e12])
    for merged in (light + heavy, heavy + light):
        np.testing.assert_allclose((merged - heavy).statistic.total, light.statistic.total, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
def test_products_of_squares_after_forgetting_a_row_far_out_are_those_of_a_refit(offset, far):
    """The fourth power of 10⁶ has 24 digits: in float64 nothing would be left of the others."""
    rng = np.random.default_rng(3)
    x = offset + np.round(rng.normal(size=(20, 3)) @ rng.normal(size=(3, 3)), 3)
    x[0, 1] = offset + far
    codes = np.zeros(20, np.int32)
    left = Scatter.of(x, codes, 1, fourth=True) - Scatter.of(x[:3], codes[:3], 1, fourth=True)
    again = Scatter.of(x[3:], codes[3:], 1, fourth=True)
    bound = 20**2 * UNIT * 20 * max(far, 1.0) ** 4 + 1e-14
    np.testing.assert_allclose(left.higher.third, again.higher.third, rtol=bound, atol=bound)
    np.testing.assert_allclose(left.higher.fourth, again.higher.fourth, rtol=bound, atol=bound)
    assert (np.abs(left.higher.fourth - again.higher.fourth) <= left.higher.doubt + 1e-15 * again.higher.fourth).all()


def test_products_of_squares_are_what_exact_fractions_give():
    x = np.array([[1e9 + 0.125, 3.0], [1e9 - 1.0, -2.5], [1e9 + 7.0, 0.1]])
    weight = [0.3, 2.0, 1e6]
    rows, w = [[Fraction(v) for v in row] for row in x.tolist()], [Fraction(v) for v in weight]
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / sum(w) for j in range(2)]
    z = [[row[j] - mean[j] for j in range(2)] for row in rows]
    found = Scatter.of(x, np.zeros(3, np.int32), 1, np.array(weight), fourth=True).higher
    for i in range(2):
        for j in range(2):
            third = sum(a * e[i] ** 2 * e[j] for a, e in zip(w, z, strict=True))
            fourth = sum(a * e[i] ** 2 * e[j] ** 2 for a, e in zip(w, z, strict=True))
            assert found.third[0, i, j] == pytest.approx(float(third), rel=1e-15)
            assert found.fourth[0, i, j] == pytest.approx(float(fourth), rel=1e-15)


def test_many_rows_have_the_products_of_squares_of_exact_sums_unless_a_few_are_far_out():
    """Four million products are summed in blocks of float64; beside one row far out that would lose the others."""
    rng = np.random.default_rng(5)
    x, codes = rng.normal(size=(1 << 14, 17)), np.zeros(1 << 14, np.int32)
    whole = Scatter.of(x, codes, 1, fourth=True)
    z = x - x.mean(axis=0)
    np.testing.assert_allclose(whole.higher.fourth[0], (z**2).T @ z**2, rtol=1e-12)
    assert (whole.higher.doubt > 2.0**-50 * whole.higher.fourth).all()
    heavy = Scatter.of(x, codes, 1, np.where(np.arange(len(x)) == 0, 2.0**21, 1.0), fourth=True)
    assert (heavy.higher.doubt < 2.0**-80 * heavy.higher.fourth).all()
    far = x.copy()
    far[0] = 1e6
    left = Scatter.of(far, codes, 1, fourth=True) - Scatter.of(far[:1], codes[:1], 1, fourth=True)
    z = x[1:] - x[1:].mean(axis=0)
    np.testing.assert_allclose(left.higher.fourth[0], (z**2).T @ z**2, rtol=1e-6)


def test_shrinkage_that_is_estimated_is_that_of_a_refit_after_a_row_far_out_is_forgotten():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)), np.repeat([0, 1], 30)
    x[y == 1] += 1.0
    x[0, 0] = 1e6
    for kind, solver in ((LinearDiscriminantAnalysis, "lsqr"), (QuadraticDiscriminantAnalysis, "eigen")):
        left = kind(solver=solver, shrinkage="auto", store_covariance=True).fit(x, y).forget(x[:1], y[:1])
        again = kind(solver=solver, shrinkage="auto", store_covariance=True).fit(x[1:], y[1:])
        np.testing.assert_allclose(left.covariance_, again.covariance_, rtol=1e-7)
        np.testing.assert_allclose(left.predict_proba(x[1:]), again.predict_proba(x[1:]), atol=1e-7)


def test_two_rows_left_far_from_0_are_not_shrunk_by_rounding():
    """The sampling variance of two rows is 0: what forgetting leaves of it must not shrink."""
    x = np.array([[0.75, 0.0], [0.0, -2.0], [0.875, -1.0], [3.0, 0.0], [0.125, -1.0], [-1.0, 0.0]])
    x += np.array([1e9, 1e6])
    y = np.array(["c", "c", "c", "c", "c", "a"])
    gone = np.array([0, 1, 3])
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y).forget(x[gone], y[gone])
    np.testing.assert_array_equal(model.covariance_, [[0.75**2 / 6, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(model.coef_, [[(0.5 + 1.0) / (0.75**2 / 6), 0.0]])


def test_a_heavy_row_far_from_0_that_is_forgotten_leaves_the_shrinkage_of_a_refit():
    """The mean that is left is in doubt, but the products are those about it: they change little with the mean."""
    x = np.array([[-0.125, 2.0], [3.0, 2.0], [1.0, -1.0], [-3.0, -2.0]]) + np.array([1e9, 1e6])
    y, weight = np.array(["a", "c", "a", "a"]), np.array([1.0, 1.0, 0.5, 1e9])
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y, weight)
    model.forget(x[3:], y[3:], weight[3:])
    again = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").partial_fit(x[:3], y[:3], None, weight[:3])
    np.testing.assert_allclose(model.covariance_, again.covariance_, rtol=1e-9)
    assert again.covariance_[0, 1] != again._scatter.cross[0, 0, 1] / weight[:3].sum()  # it is shrunk


FAR_FROM_A_HEAVY_ROW = (  # the weight that is left is wrong by its 106th bit, and so are squares about the new mean
    np.array([[0.0, 0.125 * (i == 5)] for i in range(9)]),
    np.array([1.0, 1.0, 0.1, 7e12, 2.5e-10, 2.5e-10, 1.0, 1.0, 1.0]),
    [0, 1, 2, 3, 8, 6, 7],
)


@given(weighted_rows([0.0, 0.125, -1.0, 3.0, 1e9, 1e9 + 0.5, 1e9 - 2.0]))
@example(FAR_FROM_A_HEAVY_ROW)
@settings(max_examples=150)
def test_the_doubt_of_products_of_squares_holds_what_forgetting_costs(case):
    x, weight, order = case
    codes = np.zeros(len(x), np.int32)
    value = Scatter.of(x, codes, 1, weight, fourth=True)
    held = set(range(len(x)))
    for at in order:
        value -= Scatter.of(x[[at]], codes[:1], 1, weight[[at]], fourth=True)
        held.discard(at)
    rows = [[Fraction(v) for v in x[i]] for i in held]
    w = [Fraction(weight[i]) for i in held]
    mean = [sum(a * r[j] for a, r in zip(w, rows, strict=True)) / sum(w) for j in range(2)]
    for i in range(2):
        for j in range(2):
            exact = sum(a * (r[i] - mean[i]) ** 2 * (r[j] - mean[j]) ** 2 for a, r in zip(w, rows, strict=True))
            low = value.higher.rest[0, 1, i, j]
            error = abs(Fraction(value.higher.fourth[0, i, j]) + Fraction(low) - exact)
            if value.cross[0, i, i] and value.cross[0, j, j]:  # a variance within its doubt is 0
                assert error <= Fraction(value.higher.doubt[0, i, j])


def test_a_covariance_that_is_singular_stays_so_after_a_heavy_row_far_from_0_is_forgotten():
    """Two rows of one class and one of another have one direction: what forgetting leaves of a second is rounding."""
    x = np.array([[2.0, 1.0], [3.0, -1.0], [1.0, 0.0], [-3.0, 2.0]]) + np.array([1e9, 1e6])
    y, weight = np.array(["a", "a", "c", "a"]), np.array([1.0, 1.0, 1.0, 1e9])
    for heavy in (1e3, 1e6, 1e9):
        weight[3] = heavy
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y, weight)
        model.forget(x[3:], y[3:], weight[3:])
        again = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").partial_fit(x[:3], y[:3])
        np.testing.assert_allclose(model.predict_proba(x), again.predict_proba(x), atol=1e-6)


def test_products_of_squares_of_earlier_files_add_and_forget():
    """They have no remainders: rounding has been there."""
    x, codes = np.random.default_rng(2).normal(size=(12, 2)), np.zeros(12, np.int32)
    a, b = (Scatter.of(x[part], codes[part], 1, fourth=True) for part in (slice(7), slice(7, None)))
    old = replace(a, higher=replace(a.higher, rest=None))
    assert (old.higher.doubt > 0).all()
    for found, expected in ((old + b, a + b), ((old + b) - b, a), (old.scale(3.0), a.scale(3.0))):
        np.testing.assert_allclose(found.higher.fourth, expected.higher.fourth, rtol=1e-12)
        assert (found.higher.doubt >= expected.higher.doubt).all()


def test_scaled_products_of_squares_keep_their_remainders():
    x = np.random.default_rng(8).normal(size=(9, 2)) * 1e3
    codes = np.zeros(9, np.int32)
    whole, part = (Scatter.of(x[rows], codes[rows], 1, fourth=True).scale(1 / 3) for rows in (slice(9), slice(5, 9)))
    assert whole.higher.rest[:, :2].any()
    again = Scatter.of(x[:5], codes[:5], 1, np.full(5, 1 / 3), fourth=True)
    np.testing.assert_allclose((whole - part).higher.fourth, again.higher.fourth, rtol=1e-14)


@pytest.mark.parametrize("kind", [Moments, Scatter])
@pytest.mark.parametrize("place", [0, 256, 777])
@pytest.mark.parametrize("apart", [0.0, 1e6])
def test_one_of_many_rows_that_is_far_out_can_be_forgotten_wherever_it_is(kind, place, apart):
    """Of many rows some are looked at for what is typical: the one far out may be among them, or the very first."""
    rng = np.random.default_rng(6)
    codes = (np.arange(1 << 14) % 2).astype(np.int32)
    x = rng.normal(size=(1 << 14, 3)) + apart * codes[:, None]
    x[place] = 1e9
    one = np.arange(place, place + 1)
    others = np.delete(np.arange(len(x)), place)
    left = kind.of(x, codes, 2) - kind.of(x[one], codes[one], 2)
    again = kind.of(x[others], codes[others], 2)
    np.testing.assert_allclose(left.mean, again.mean, rtol=1e-13, atol=1e-13)
    name = "squares" if kind is Moments else "cross"
    np.testing.assert_allclose(getattr(left, name), getattr(again, name), rtol=1e-9, atol=1e-8)


def test_counts_with_fractional_weights_are_added_to_others_with_their_remainders():
    x, codes = np.zeros((1, 1)), np.zeros(1, np.int32)
    heavy = Counts.of(x, codes, 1, np.array([1e16]))
    both = Counts.of(x, codes, 1, np.array([0.1]), onto=heavy)
    assert (both - heavy).weight.tolist() == [[0.1]]


def test_totals_are_equal_only_if_their_remainders_are():
    x, codes = np.array([[0.1], [0.2]]), np.zeros(2, np.int32)
    both = Totals.of(x, codes, 1)
    assert both == Totals.of(x, codes, 1)
    assert both.total_rest is not None
    assert both != replace(both, total_rest=None)
    assert both != replace(both, total_rest=both.total_rest + np.array([0.0, 1e-40]))


@pytest.mark.parametrize("kind", [Moments, Scatter])
def test_equal_values_do_not_vary_after_rows_were_forgotten_and_others_added(kind):
    """Forgetting may leave a mean that is off in its thirtieth digit; added to equal values, that is no variance."""
    rng = np.random.default_rng(0)
    one = np.zeros(1, np.int32)
    for _ in range(200):
        others = 1e6 + rng.integers(-2, 3, (rng.integers(2, 7), 1)).astype(float)
        equal = np.full((2, 1), 1e6)
        held = kind.of(np.concatenate([equal[:1], others]), np.zeros(1 + len(others), np.int32), 1)
        for row in rng.permutation(len(others)):
            held = held - kind.of(others[[row]], one, 1)
        for both in (held + kind.of(equal[1:], one, 1), kind.of(equal[1:], one, 1) + held):
            assert not (both.squares if kind is Moments else both.cross).any()
