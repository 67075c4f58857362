"""Real numbers cut into bins, against counting in loops, scikit-learn's bins and entropies written out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import log2

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import KBinsDiscretizer

import laws
import reference
import suffice as sf
from suffice.core.errors import (
    InfiniteValueError,
    InvalidOptionError,
    MismatchError,
    NoLinearFormError,
)
from suffice.families.bin_edges import of_quantiles_with_ties
from suffice.model.joint import leave_one_out

LABELS = np.array(["ape", "bat", "cow"])
EDGES = ((-1.0, 0.5, 2.0), (0.0,))
LEARN = [(None, "mle"), *((sf.Dirichlet(a), learn) for learn in ("map", "mean", "predictive") for a in (1.0, 2.5))]
CUTS = [{"edges": EDGES}, {"how": "width", "bins": 4}, {"how": "quantile", "bins": 5}, {"how": "mdl"}]


def rows_of(seed: int, n: int = 60):
    """Rows of two columns with gaps, labels and weights of which some are 0; and new rows."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(n) % 3)
    x = rng.normal(classes[:, None] * [1.0, 3.0], 1.0, (n, 2)).round(2)
    rows = rng.normal(1.0, 4.0, (25, 2)).round(2)
    rows[0] = [-1.0, 0.0]  # on edges
    for table in (x, rows):
        table[rng.random(table.shape) < 0.15] = np.nan
    return x, LABELS[classes], rng.choice([0.0, 0.5, 1.0, 2.25], n, p=[0.1, 0.3, 0.3, 0.3]), rows


def bin_of(value, edges):
    """The number of edges below the value: bins are closed on the right."""
    return value if value != value else float(sum(edge < value for edge in edges))


def oracle(x, y, weight, family, edges) -> reference.Fitted:
    """Cut, then categorical over every bin."""

    def cut(rows):
        return np.array([[bin_of(v, edges[j]) for j, v in enumerate(row)] for row in rows])

    alpha = 0.0 if family.prior is None else family.prior.alpha
    categories = [[float(k) for k in range(len(inner) + 1)] for inner in edges]
    learned = reference.categorical(cut(x), y, weight, LABELS, categories, family.learn, alpha)
    return reference.Fitted(learned.parameters, lambda rows: learned.log_density(cut(rows)))


def edges_of(x, y, weight, family):
    """The edges of each column, cut in loops."""
    if family.edges is not None:
        return family.edges
    found = []
    for j in range(x.shape[1]):
        seen = [i for i in range(len(y)) if weight[i] > 0 and x[i, j] == x[i, j]]
        values, labels, w = x[seen, j], np.asarray(y)[seen], weight[seen]
        if family.how == "mdl":
            found.append(sorted(split(values, labels, w)))
        elif family.how == "width":
            inner = [values.min() + (values.max() - values.min()) * k / family.bins for k in range(1, family.bins)]
            found.append(inner)
        else:
            inner = {quantile(values, w, k / family.bins) for k in range(1, family.bins)}
            found.append(sorted(edge for edge in inner if edge < values.max()))
    return found


def quantile(values, weight, share):
    """The value where the share of the weight is passed; the middle of two where one reaches it exactly."""
    below = 0.0
    distinct = sorted(set(values))
    for i, value in enumerate(distinct):
        below += weight[values == value].sum()
        if np.isclose(below, share * weight.sum(), rtol=1e-12):
            return (value + distinct[min(i + 1, len(distinct) - 1)]) / 2
        if below > share * weight.sum():
            return value
    raise AssertionError("some value passes every share below one")


def entropy(labels, weight):
    total = weight.sum()
    shares = [weight[labels == c].sum() / total for c in set(labels)]
    return -sum(p * log2(p) for p in shares if p > 0)


def split(values, labels, weight):
    """Fayyad & Irani's recursion, every cut tried."""
    best, at, whole = np.inf, None, weight.sum()
    distinct = sorted(set(values))
    for a, b in pairwise(distinct):
        left = values <= a
        rest = sum(weight[s].sum() / whole * entropy(labels[s], weight[s]) for s in (left, ~left))
        if rest < best - 1e-12:
            best, at = rest, (a + b) / 2
    if at is None:
        return []
    sides = [values <= at, values > at]
    k, k1, k2 = (len(set(labels[s])) for s in (slice(None), *sides))
    gain = entropy(labels, weight) - best
    change = log2(3**k - 2) - (
        k * entropy(labels, weight)
        - k1 * entropy(labels[sides[0]], weight[sides[0]])
        - k2 * entropy(labels[sides[1]], weight[sides[1]])
    )
    if gain <= (log2(max(whole - 1, 1)) + change) / whole:
        return []
    return [at, *(edge for s in sides for edge in split(values[s], labels[s], weight[s]))]


# --------------------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize(("prior", "learn"), LEARN, ids=repr)
@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_probabilities_are_those_of_categories(options, prior, learn):
    family = sf.Binned(prior, learn, **options)
    for seed in range(2):
        x, y, weight, rows = rows_of(seed)
        model = sf.Model.fit(x, y, family, weight=weight)
        edges = edges_of(x, y, weight, family)
        for found, expected in zip(model.distribution.edges, edges, strict=True):
            assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        expected = oracle(x, y, weight, family, edges)
        assert_allclose(model.distribution.probability, expected.parameters["probability"], rtol=1e-12)
        assert_allclose(model.log_conditional(rows), expected.log_density(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("prior", "learn"), LEARN[::2], ids=repr)
@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_leaving_one_out_is_learning_anew_without_the_row(options, prior, learn):
    family = sf.Binned(prior, learn, **options)
    x, y, weight, _ = rows_of(5, n=24)
    found = leave_one_out(family.summarize(x, y, weight), family, sf.ClassPrior(sf.Dirichlet(1)), x, y, weight)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        edges = edges_of(x[rest], y[rest], weight[rest], family)
        density = oracle(x[rest], y[rest], weight[rest], family, edges).log_density(x[i : i + 1])
        expected = density + reference.log_class_prior(y[rest], weight[rest], LABELS, 1.0)
        assert_allclose(found[i], expected[0], rtol=1e-10, atol=1e-10)


def test_bins_are_closed_on_the_right_and_open_at_both_ends():
    x = np.array([[-1e300], [3.0], [3.0000001], [4.0], [4.5], [1e300]])
    family = sf.Binned(prior=None, edges=[3, 4])
    counts = family.summarize(x, ["u"] * 6).statistic
    assert_array_equal(counts.weight, [[2, 2, 2]])


def test_an_empty_bin_is_a_category_too():
    model = sf.Model.fit([[0.5], [1.5]], ["u", "u"], sf.Binned(edges=[1, 2, 3]))
    assert_allclose(model.distribution.probability, [[2 / 6, 2 / 6, 1 / 6, 1 / 6]])
    nothing = sf.Model.fit([[0.5], [1.5]], ["u", "u"], sf.Binned(prior=None, edges=[1, 2, 3]))
    assert_array_equal(nothing.log_conditional([[7.0]]), [[-np.inf]])


def test_one_sequence_of_edges_serves_all_columns():
    x, y, weight, rows = rows_of(3)
    one = sf.Model.fit(x, y, sf.Binned(edges=[0.0, 1.0]), weight=weight)
    each = sf.Model.fit(x, y, sf.Binned(edges=np.array([[0.0, 1.0]] * 2)), weight=weight)
    assert_array_equal(one.log_joint(rows), each.log_joint(rows))


def test_float32_and_sparse_columns_are_cut_as_they_are():
    x, y, _, rows = rows_of(4)
    x, rows = np.nan_to_num(x.round(1)), np.nan_to_num(rows)
    model = sf.Model.fit(x, y, sf.Binned(edges=[0.0, 1.5]))
    for other in (x.astype(np.float32), scipy.sparse.csr_matrix(x), np.asfortranarray(x), x.tolist()):
        assert_array_equal(sf.Model.fit(other, y, sf.Binned(edges=[0.0, 1.5])).log_joint(rows), model.log_joint(rows))
    assert_array_equal(model.log_joint(scipy.sparse.csr_matrix(rows)), model.log_joint(rows))


# ------------------------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("bins", [2, 3, 10])
def test_edges_of_widths_are_scikit_learns_and_those_of_quantiles_are_numpys(bins):
    rng = np.random.default_rng(bins)
    x = np.stack([rng.normal(size=200), rng.gamma(2.0, size=200), rng.integers(0, 1000, 200)], axis=1)
    weight = rng.integers(1, 5, 200)
    y = rng.integers(0, 2, 200)
    repeated = np.repeat(x, weight, axis=0)
    peer = KBinsDiscretizer(bins, encode="ordinal", strategy="uniform", subsample=None).fit(repeated)
    shares = np.arange(1, bins) / bins
    for how, edges in [
        ("width", [each[1:-1] for each in peer.bin_edges_]),
        ("quantile", np.quantile(repeated, shares, axis=0, method="averaged_inverted_cdf").T),
    ]:
        mine = sf.Model.fit(x, y, sf.Binned(how=how, bins=bins), weight=weight).distribution
        for found, expected in zip(mine.edges, edges, strict=True):
            assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_value_that_makes_up_several_quantiles_is_one_bin():
    x = np.array([0.0] * 60 + list(range(1, 41)))[:, None]
    model = sf.Model.fit(x, ["u"] * 100, sf.Binned(prior=None, how="quantile", bins=10))
    assert_allclose(model.distribution.edges[0], [0.0, 0.5, 10.5, 20.5, 30.5])
    lumped = sf.Model.fit([[5.0], [5.0], [7.0]], ["u"] * 3, sf.Binned(how="quantile", bins=4))
    assert_array_equal(lumped.distribution.edges[0], [5.0])


def test_a_constant_column_is_one_bin_that_tells_nothing():
    x = np.array([[2.0, np.nan], [2.0, np.nan], [2.0, np.nan]])
    for how in ("width", "quantile", "mdl"):
        for prior in (None, sf.Dirichlet(1)):
            model = sf.Model.fit(x, ["a", "a", "b"], sf.Binned(prior, how=how))
            assert_array_equal(model.log_conditional([[2.0, 1.0], [-9.0, np.nan]]), np.zeros((2, 2)))
            assert model.n_parameters == 1
            assert "any" in str(model.tables()[1])


def test_numbers_next_to_each_other_can_be_told_apart():
    a = 1.0
    b = np.nextafter(a, 2.0)
    x, y = np.array([[a], [b]] * 20), ["low", "high"] * 20
    for how in ("quantile", "mdl", "width"):
        model = sf.Model.fit(x, y, sf.Binned(how=how, bins=2))
        assert_array_equal(model.predict(x), y)
    wide = np.array([[-1.7e308], [1.7e308]] * 20)
    for how in ("quantile", "mdl", "width"):
        model = sf.Model.fit(wide, y, sf.Binned(how=how, bins=4))
        assert np.isfinite(model.distribution.edges[0]).all()
        assert_array_equal(model.predict(wide), y)


# Ten values, five of each class in two runs: the one cut leaves no entropy. N = 10, k = 2, Ent(S) = 1, so
# the gain of 1 bit is compared with (log2 9 + log2 7 − 2) / 10 = 0.3977.
def test_description_length_of_two_clean_runs_by_hand():
    x, y = np.arange(10.0)[:, None], ["a"] * 5 + ["b"] * 5
    model = sf.Model.fit(x, y, sf.Binned(how="mdl"))
    assert_array_equal(model.distribution.edges[0], [4.5])


# One row each: the gain of 1 bit stands against (log2 1 + log2 7 − 2) / 2 = 0.4037, and the cut is made. With classes
# that alternate, a b a b, the best cut (after the first) gains 0.3113 bits against
# (log2 3 + log2 7 − 2 + 0.9183·2) / 4 = 1.057, and none is made.
def test_description_length_of_very_few_rows_by_hand():
    two = sf.Model.fit([[0.0], [1.0]], ["a", "b"], sf.Binned(how="mdl"))
    assert_array_equal(two.distribution.edges[0], [0.5])
    four = sf.Model.fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], sf.Binned(how="mdl"))
    assert four.distribution.edges[0].size == 0


@pytest.mark.parametrize("seed", range(8))
def test_description_length_is_the_recursion_written_out(seed):
    rng = np.random.default_rng(seed)
    n, classes = 120, 2 + seed % 3
    value = rng.choice([rng.uniform(0, 10, n), rng.integers(0, 12, n)])
    y = ((value * rng.uniform(0.3, 1.0)).astype(int) + (rng.random(n) < 0.15)) % classes
    weight = rng.choice([0.5, 1.0, 3.0], n)
    found = sf.Model.fit(value[:, None], y, sf.Binned(how="mdl"), weight=weight).distribution.edges[0]
    assert_allclose(found, sorted(split(value, y, weight)), rtol=1e-12)


# Runs of 10, 10, 30 and 30 rows. The first cut leaves 10 + 10 + 30 rows of 68.5 bits on its left; then the cut
# before the 30 saves 48.5 bits at the cost of 8.1, and the last one 20 bits at the cost of 5.1.
def test_of_the_most_bins_allowed_those_that_save_the_most_bits_are_made():
    y = np.repeat([0, 1, 2, 3], [10, 10, 30, 30])
    x = np.arange(80.0)[:, None]
    order = [49.5, 19.5, 9.5]
    for most in (2, 3, 4, 9, None):
        found = sf.Model.fit(x, y, sf.Binned(how="mdl", bins=most)).distribution.edges[0]
        assert_array_equal(found, sorted(order[: (most or 99) - 1]))


# Left of 60 lie runs of 6 and 54, right of it runs of 30 and 30: the right side has more to save.
def test_of_two_sides_the_one_that_saves_more_is_cut_first():
    y = np.repeat([0, 1, 2, 3], [6, 54, 30, 30])
    x = np.arange(120.0)[:, None]
    edges = [sf.Model.fit(x, y, sf.Binned(how="mdl", bins=b)).distribution.edges[0].tolist() for b in (2, 3, 4)]
    assert edges == [[59.5], [59.5, 89.5], [5.5, 59.5, 89.5]]


def test_noise_is_not_cut():
    rng = np.random.default_rng(0)
    model = sf.Model.fit(rng.normal(size=(500, 3)), rng.integers(0, 3, 500), sf.Binned(how="mdl"))
    assert [inner.size for inner in model.distribution.edges] == [0, 0, 0]


def test_bounding_the_values_kept_moves_quantiles_little():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20_000, 1)), rng.integers(0, 2, 20_000)
    exact, bounded = (
        sf.Model.fit(x, y, sf.Binned(how="quantile", limit=limit)).distribution.edges[0] for limit in (None, 500)
    )
    assert_allclose(bounded, exact, atol=2.0**-6)  # the width of a cell
    family = sf.Binned(limit=10)
    rest = family.summarize(x, y) - family.summarize(x[:5], y[:5])
    assert rest == family.summarize(x[5:], y[5:])


# ---------------------------------------------------------------------------------------------------- laws


@given(data=st.data())
@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_statistics_merge_forget_and_count_weights_as_repetitions(options, data):
    family = sf.Binned(**options)
    n = data.draw(st.integers(1, 12))
    cells = data.draw(st.lists(st.one_of(st.floats(-3, 3, width=16), st.just(np.nan)), min_size=2 * n, max_size=2 * n))
    x = np.array(cells).reshape(n, 2)
    y = np.array(data.draw(st.lists(st.sampled_from(["a", "b"]), min_size=n, max_size=n)))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    cut = data.draw(st.integers(0, n))
    whole = family.summarize(x, y, times)
    a, b = family.summarize(x[:cut], y[:cut], times[:cut]), family.summarize(x[cut:], y[cut:], times[cut:])
    repeated = np.repeat(np.arange(n), times)
    assert a + b == whole == b + a
    assert family.summarize(x[cut:], y[cut:], times[cut:], a) == whole
    assert whole - b == a
    assert family.summarize(x[repeated], y[repeated]) == whole
    if options == CUTS[0]:
        laws.assert_equal(whole.scale(2.0), family.summarize(x, y, 2.0 * times))


@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_rows_summarized_in_chunks_are_those_summarized_at_once(options, monkeypatch):
    x, y, weight, _ = rows_of(6)
    family = sf.Binned(**options)
    whole = family.summarize(x, y, weight)
    monkeypatch.setattr("suffice.core.statistics.by_class.CHUNK", 7)
    assert family.summarize(x, y, weight) == whole


def test_the_statistic_is_counts_where_the_edges_are_given_and_else_cells():
    assert sf.Binned(edges=[1]).summary.statistic is sf.Counts
    assert sf.Binned().summary.statistic is sf.Cells
    with pytest.raises(MismatchError, match="Counts and Cells"):
        sf.Binned(edges=[1]).summarize([[1.0]], ["a"]) + sf.Binned().summarize([[1.0]], ["a"])


# ------------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_drawn_values_fall_into_bins_by_their_probabilities(options):
    x, y, weight, _ = rows_of(7, n=90)
    model = sf.Model.fit(x, y, sf.Binned(**options), weight=weight)
    drawn, _ = model.sample(20_000, "bat", random_state=3)
    fitted = model.distribution
    parts = fitted.table.counts.columns(fitted.probability)
    for j in range(2):
        bins = np.array([bin_of(v, fitted.edges[j]) for v in drawn[:2000, j]])
        assert_allclose([(bins == k).mean() for k in range(len(parts[j][1]))], parts[j][1], atol=0.05)
        if "how" in options:
            assert drawn[:, j].min() >= np.nanmin(x[:, j])
            assert drawn[:, j].max() <= np.nanmax(x[:, j])
    assert_allclose(drawn.mean(axis=0), fitted.expect(np.full((1, 2), np.nan))[0, 1], atol=0.05)


def test_open_ends_of_given_edges_are_as_wide_as_their_neighbours():
    model = sf.Model.fit([[0.0, 0.0], [9.0, 9.0]], ["a", "a"], sf.Binned(prior=None, edges=[[1, 3, 4], [5]]))
    drawn, _ = model.sample(2000, random_state=0)
    assert_allclose([drawn[:, 0].min(), drawn[:, 0].max()], [-1, 5], atol=0.02)  # (−1, 1] and (4, 5]
    assert_allclose([drawn[:, 1].min(), drawn[:, 1].max()], [0, 10], atol=0.02)  # one edge: as far as from 0
    filled = model.distribution.expect([[np.nan, 2.0]])
    assert_allclose(filled, [[[0.5 * 0.0 + 0.5 * 4.5, 2.0]]])


def test_a_column_of_which_nothing_was_seen_is_drawn_as_missing():
    model = sf.Model.fit([[1.0, np.nan], [2.0, np.nan]], ["a", "b"], sf.Binned())
    drawn, _ = model.sample(5, random_state=0)
    assert np.isnan(drawn[:, 1]).all()
    assert np.isfinite(drawn[:, 0]).all()


def test_tables_name_the_bins():
    model = sf.Model.fit([[2.0], [3.5], [9.0]], ["a", "a", "b"], sf.Binned(edges=[3, 4, 5.5]))
    table = model.tables(["height"])[1]
    assert table.title == "height"
    assert list(table.rows) == ["≤ 3", "3 – 4", "4 – 5.5", "> 5.5"]
    assert_allclose(table.values.T, [[2 / 6, 2 / 6, 1 / 6, 1 / 6], [1 / 5, 1 / 5, 1 / 5, 2 / 5]])
    close = sf.Model.fit([[2.0]], ["a"], sf.Binned(edges=[1.00000001, 1.00000002])).tables()[1]
    assert list(close.rows) == ["≤ 1.00000001", "1.00000001 – 1.00000002", "> 1.00000002"]


def test_parameters_are_counted_bin_by_bin():
    x, y, _, _ = rows_of(8)
    assert sf.Model.fit(x, y, sf.Binned(edges=EDGES)).n_parameters == 2 + 3 * (3 + 1)


def test_there_is_no_linear_form():
    with pytest.raises(NoLinearFormError, match="step function"):
        sf.Model.fit([[1.0]], ["a"], sf.Binned(edges=[2])).linear()


def test_each_bin_may_have_a_pseudo_count_of_its_own():
    family = sf.Binned(sf.Dirichlet(np.array([1.0, 2.0, 3.0])), edges=[0, 1])
    assert_allclose(sf.Model.fit([[0.5]], ["a"], family).distribution.probability, [[1 / 7, 3 / 7, 3 / 7]])
    with pytest.raises(MismatchError, match="3 pseudo-counts for 4 bins"):
        replace(family, edges=[0, 1, 2]).estimate(family.summarize([[0.5]], ["a"]).statistic)


def test_options_are_equal_where_their_edges_are():
    assert sf.Binned(edges=[[1, 2], [3]]) == sf.Binned(edges=((1.0, 2.0), np.array([3])))
    assert sf.Binned(edges=[[1, 2], [3]]) != sf.Binned(edges=[[1, 2], [4]])
    assert sf.Binned(edges=[[1, 2], [3]]) != sf.Binned(edges=[1, 2])
    assert sf.Binned() == sf.Binned(how="quantile", bins=10) != sf.Binned(how="mdl")
    assert "how='quantile', limit=4096" in repr(sf.Binned())


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"edges": [1, 3, 2]}, "edge 2 is 2 after 3"),
        ({"edges": [1, 1]}, "edge 1 is 1 after 1"),
        ({"edges": [[1, 2], [3, 0]]}, "edges of column 1 must increase, but edge 1 is 0 after 3"),
        ({"edges": [0, np.nan]}, "edge 1 is nan"),
        ({"edges": [[0], [np.inf]]}, "edge 0 of column 1 is inf"),
        ({"edges": []}, "empty list"),
        ({"edges": [[1], []]}, "edges of column 1 are an empty list"),
        ({"edges": [1, [2, 3]]}, "one sequence of numbers"),
        ({"edges": [[[1]]]}, "one sequence of numbers"),
        ({"edges": ["low", "high"]}, "must be numbers"),
        ({"edges": 5}, "must be numbers"),
        ({"edges": [1], "bins": 3}, "leave out bins=3"),
        ({"edges": [1], "how": "mdl"}, "leave out how='mdl'"),
        ({"edges": [1], "limit": 9}, "leave out limit=9"),
        ({"bins": 1}, "from 2 to"),
        ({"bins": 2.5}, "an integer"),
        ({"how": "clever"}, "one of 'quantile', 'width', 'mdl' or None"),
        ({"limit": 0}, "an integer ≥ 1 or None"),
        ({"prior": sf.Beta()}, "must be a Dirichlet"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused_with_the_reason(options, said):
    with pytest.raises(InvalidOptionError, match=said):
        sf.Binned(**options)


def test_edges_for_another_number_of_columns_are_refused():
    with pytest.raises(InvalidOptionError, match="edges for 2 columns, data of 3"):
        sf.Binned(edges=EDGES).summarize(np.zeros((1, 3)), ["a"])


def test_counts_of_other_edges_are_refused():
    counts = sf.Binned(edges=[1, 2, 3]).summarize([[5.0]], ["a"]).statistic
    with pytest.raises(MismatchError, match="other edges"):
        sf.Binned(edges=[1]).estimate(counts)


@pytest.mark.parametrize("options", CUTS, ids=["given", "width", "quantile", "mdl"])
def test_infinite_values_are_refused_though_an_open_end_would_hold_them(options):
    x, y, _, rows = rows_of(9)
    model = sf.Model.fit(x, y, sf.Binned(**options))
    x[3, 1], rows[2, 0] = np.inf, -np.inf
    with pytest.raises(InfiniteValueError, match="row 3, column 1"):
        sf.Binned(**options).summarize(x, y)
    with pytest.raises(InfiniteValueError, match="row 2, column 0"):
        model.log_joint(rows)


def test_a_column_of_one_value_or_none_has_no_cuts():
    for values in ([3.0, 3.0, np.nan], [np.nan], []):
        found = of_quantiles_with_ties(np.array(values), np.ones(len(values)), 4)
        assert found.tolist() == []
    assert of_quantiles_with_ties(np.array([3.0, 5.0]), np.ones(2), 4).tolist() == [4.0]
