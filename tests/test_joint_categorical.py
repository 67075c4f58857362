"""Several discrete columns as one table, against a table of every combination written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import laws
import reference
import suffice as sf
from suffice.core.errors import (
    InfiniteValueError,
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    NegativeValueError,
    NoLinearFormError,
    NotPartError,
)
from suffice.families import joint_categorical
from suffice.model.joint import leave_one_out

LABELS = np.array(["ham", "jam", "spam"])
NAMES = (("no", "yes"), ("high", "low", "mid"), ("e", "n", "s", "w"))
FAMILIES = [
    sf.JointCategorical(prior=None),
    *(
        sf.JointCategorical(sf.Dirichlet(alpha), learn)
        for learn in ("map", "mean", "predictive")
        for alpha in (0.4, 1.0, 2.5)
    ),
]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=repr)
both_kinds = pytest.mark.parametrize("kind", ["numbers", "names"])


def rows_of(kind: str, seed: int, n: int = 40):
    """Rows with gaps, labels and weights of which some are 0; and new rows with gaps and unmet values."""
    rng = np.random.default_rng(seed)
    sizes = [len(names) for names in NAMES]
    x = rng.integers(0, sizes, (n, 3)).astype(float)
    x[:, 0] = np.minimum(x[:, 0], x[:, 1])  # not independent
    rows = rng.integers(0, np.array(sizes) + 1, (14, 3)).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    rows[rng.random(rows.shape) < 0.25] = np.nan
    if kind == "names":
        x, rows = (named(table) for table in (x, rows))
    weight = rng.choice([0.0, 0.5, 1.0, 2.25], n)
    return x, LABELS[rng.permutation(np.arange(n) % 3)], weight, rows


def named(codes: np.ndarray) -> np.ndarray:
    out = np.full(codes.shape, None, dtype=object)
    for i, j in np.ndindex(codes.shape):
        if codes[i, j] == codes[i, j]:
            out[i, j] = [*NAMES[j], "what?"][int(codes[i, j])]
    return out


def oracle(x, y, weight, family, domain=None):
    """A dictionary of all combinations for each class; a row's probability is summed over those that agree."""
    alpha = 0.0 if family.prior is None else family.prior.alpha
    complete = [i for i in range(len(y)) if weight[i] > 0 and not any(map(reference.is_missing, x[i]))]
    if domain is None:
        domain = [sorted({x[i][j] for i in complete}) for j in range(len(x[0]))]
    estimate = reference.dirichlet_mode if family.learn == "map" else reference.dirichlet_mean
    tables, beyond = [], []
    for label in LABELS:
        counts = dict.fromkeys(product(*domain), 0.0)
        for i in complete:
            if y[i] == label:
                counts[tuple(x[i])] += weight[i]
        shares = estimate(list(counts.values()), alpha)
        tables.append(dict(zip(counts, shares, strict=True)))
        beyond.append(estimate([*counts.values(), 0.0], alpha)[-1])

    def log_density(rows):
        out = np.zeros((len(rows), len(LABELS)))
        for i, row in enumerate(rows):
            seen = [j for j in range(len(row)) if not reference.is_missing(row[j])]
            for c in range(len(LABELS)):
                if any(row[j] not in domain[j] for j in seen):
                    out[i, c] = reference.log(beyond[c])
                elif seen:
                    agree = (p for k, p in tables[c].items() if all(k[j] == row[j] for j in seen))
                    out[i, c] = reference.log(sum(agree))
        return out

    return log_density, domain


# --------------------------------------------------------------------------------------------- probabilities


@both_kinds
@every_family
def test_probabilities_are_those_of_the_table_written_out(family, kind):
    for seed in range(3):
        x, y, weight, rows = rows_of(kind, seed)
        model = sf.Model.fit(x, y, family, weight=weight)
        log_density, domain = oracle(x, y, weight, family)
        assert_allclose(model.log_conditional(rows), log_density(rows), rtol=1e-11, atol=1e-11)
        assert_allclose(model.log_conditional(x), log_density(x), rtol=1e-11, atol=1e-11)
        cells = np.prod([len(values) for values in domain])
        assert model.n_parameters == 2 + 3 * (cells - 1)


@both_kinds
@every_family
def test_all_combinations_together_have_probability_one(family, kind):
    x, y, weight, _ = rows_of(kind, 3)
    model = sf.Model.fit(x, y, family, weight=weight)
    every = np.array(list(product(*(NAMES if kind == "names" else map(range, (2, 3, 4))))), dtype=object)
    every = every if kind == "names" else every.astype(float)
    assert_allclose(np.exp(model.log_conditional(every)).sum(axis=0), 1.0, rtol=1e-12)
    nothing = every[:1].copy()
    nothing[:] = None if kind == "names" else np.nan
    assert_array_equal(model.log_conditional(nothing), [[0.0, 0.0, 0.0]])


@both_kinds
@every_family
def test_leaving_one_out_is_learning_anew_over_the_same_combinations(family, kind):
    x, y, weight, _ = rows_of(kind, 4, n=24)
    _, domain = oracle(x, y, weight, family)
    prior = sf.ClassPrior(sf.Dirichlet(1))
    found = leave_one_out(family.summarize(x, y, weight), family, prior, x, y, weight)
    counted = weight > 0  # a row that weighs nothing may hold a value that is met nowhere else
    for i in np.flatnonzero(counted):
        rest = np.arange(len(y)) != i
        density = oracle(x[rest], y[rest], weight[rest], family, domain)[0](x[i : i + 1])
        expected = density + reference.log_class_prior(y[rest], weight[rest], LABELS, 1.0)
        assert_allclose(found[i], expected[0], rtol=1e-10, atol=1e-10)


def test_the_only_row_of_a_combination_leaves_nothing_of_it_by_maximum_likelihood():
    x, y = [["a", "b"], ["c", "d"]], ["u", "v"]
    family = sf.JointCategorical(prior=None)
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior("uniform"), x, y)
    assert_array_equal(found, np.full((2, 2), -np.inf))


def test_smoothing_spreads_one_pseudo_count_to_every_possible_combination():
    x = [["a", "x"], ["a", "x"], ["b", "y"]]
    model = sf.Model.fit(x, ["u", "u", "u"], sf.JointCategorical(sf.Dirichlet(1)))
    rows = np.array([["a", "x"], ["b", "y"], ["a", "y"], ["a", "z"], ["a", None]], dtype=object)
    assert_allclose(np.exp(model.log_conditional(rows))[:, 0], [3 / 7, 2 / 7, 1 / 7, 1 / 8, 4 / 7])


def test_columns_that_decide_only_together_are_told_apart():
    x = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 5)
    y = x[:, 0] ^ x[:, 1]
    assert_array_equal(sf.Model.fit(x, y, sf.JointCategorical()).predict(x), y)


def test_more_combinations_than_a_float_can_count_are_no_overflow():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, (50, 400))
    x[:10] = np.arange(10)[:, None]  # each value is met in each column
    y = np.arange(50) % 2
    model = sf.Model.fit(x, y, sf.JointCategorical())
    joint = model.log_joint(x)
    own = np.log(2) - 400 * np.log(10)  # one row and one pseudo-count among 10^400
    assert_allclose(joint[np.arange(50), y] - np.log(0.5), own, rtol=1e-12)
    assert model.n_parameters == 1 + 2 * (10**400 - 1)
    rows = x[:3].astype(float)
    rows[0, :399] = np.nan
    assert_allclose(model.log_conditional(rows)[0], -np.log(10), rtol=1e-12)
    assert model.sample(4, random_state=0)[0].shape == (4, 400)
    direct = sf.Model.fit(x, y, sf.JointCategorical(prior=None))
    assert_array_equal(direct.predict(x), y)


def test_large_category_numbers_are_only_names():
    x = np.array([[2**40, 3, 2**39], [2**40, 5, 7], [1, 5, 7]])
    model = sf.Model.fit(x, ["a", "a", "b"], sf.JointCategorical(prior=None))
    assert_allclose(np.exp(model.log_conditional(x)), [[0.5, 0], [0.5, 0], [0, 1]])

    many = np.stack([np.arange(700), 2**52 - np.arange(700), np.arange(700) % 3 + 2**33], axis=1)
    model = sf.Model.fit(many, np.arange(700) % 2, sf.JointCategorical(prior=None))
    assert_array_equal(model.predict(many), np.arange(700) % 2)
    for huge in (np.array([[2**60, 1]]), np.array([[1e300, 1.0]])):
        with pytest.raises(InvalidDataError, match=r"Column 0 holds a category number of 2\^53 or more"):
            sf.JointCategorical().summarize(huge, ["a"])


# ---------------------------------------------------------------------------------------------------- laws


@st.composite
def some_rows(draw, n_columns: int):
    """Rows of tuples to be, with labels and whole weights."""
    n = draw(st.integers(0, 10))
    names = draw(st.booleans())
    cell = st.sampled_from(["x", "y", "zz", None]) if names else st.sampled_from([0.0, 1.0, 2.0, 7.0, np.nan])
    cells = draw(st.lists(cell, min_size=n * n_columns, max_size=n * n_columns))
    x = np.array(cells, dtype=object if names else float).reshape(n, n_columns)
    y = np.array(draw(st.lists(st.sampled_from(["a", "b"]), min_size=n, max_size=n)), dtype="<U1")
    return x, y, np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=int)


@given(some_rows(3), st.integers(0, 10), st.integers(0, 10))
def test_counts_of_combinations_obey_the_laws(rows, i, j):
    x, y, times = rows
    i, j = sorted((min(i, len(y)), min(j, len(y))))
    family = sf.JointCategorical()

    def summary(part, onto=None):
        return family.summarize(x[part], y[part], times[part], onto)

    a, b, c = summary(slice(i)), summary(slice(i, j)), summary(slice(j, None))
    whole = summary(slice(None))
    laws.assert_equal(a + b, b + a)
    laws.assert_equal((a + b) + c, a + (b + c))
    laws.assert_equal(a + (b + c), whole)
    laws.assert_equal(summary(slice(j, None), summary(slice(i, j), a)), whole)
    laws.assert_equal(whole - c, a + b)
    laws.assert_equal(sf.ByClass.empty(sf.Counts, 1) + whole, whole)
    repeated = np.repeat(np.arange(len(y)), times)
    laws.assert_equal(family.summarize(x[repeated], y[repeated]), whole)
    laws.assert_equal(whole.scale(2.0), family.summarize(x, y, 2.0 * times))
    assert whole == a + (b + c)


@both_kinds
def test_rows_counted_in_chunks_are_those_counted_at_once(kind, monkeypatch):
    x, y, weight, _ = rows_of(kind, 7)
    family = sf.JointCategorical()
    for w in (None, weight):
        whole = family.summarize(x, y, w)
        with monkeypatch.context() as patch:
            patch.setattr("suffice.core.statistics.by_class.CHUNK", 7)
            assert family.summarize(x, y, w) == whole


def test_forgetting_rows_forgets_their_combinations():
    family = sf.JointCategorical()
    x, y = np.array([["a", "b"], ["a", "c"]]), ["u", "u"]
    rest = family.summarize(x, y) - family.summarize(x[:1], y[:1])
    assert rest.statistic.keys[0].tolist() == [("a", "c")]
    with pytest.raises(NotPartError):
        rest - family.summarize(x[:1], y[:1])


def test_combinations_of_other_columns_cannot_be_added():
    family = sf.JointCategorical()
    one = family.summarize([["a", "b"]], ["u"])
    for other in ([["a", "b", "c"]], [[0, 1]]):
        with pytest.raises(MismatchError, match=r"\(str, str\) categories before"):
            one + family.summarize(other, ["u"])
        assert one != family.summarize(other, ["u"])
    with pytest.raises(MismatchError, match="cannot be one column's"):
        one + sf.Categorical().summarize([["a"]], ["u"])


def test_numbers_are_the_same_categories_however_they_are_stored():
    family = sf.JointCategorical()
    x = np.array([[0, 1], [1, 2], [0, 1]])
    whole = family.summarize(x, ["u", "v", "u"])
    for other in (x.astype(np.int8), x.astype(float), x.astype(np.float32), np.asfortranarray(x), pd.DataFrame(x)):
        assert family.summarize(other, ["u", "v", "u"]) == whole


def test_rows_numbered_in_several_steps_keep_their_order():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (200, 45))
    codes[100:] = codes[:100]
    number, one = joint_categorical.number_rows(codes, [3] * 45)  # 3^45 is more than an integer holds
    assert_array_equal(codes[one][number], codes)
    ranked = sorted(set(map(tuple, codes.tolist())))
    assert [tuple(row) for row in codes[one].tolist()] == ranked


# ------------------------------------------------------------------------------------------------- questions


@both_kinds
def test_drawn_rows_have_their_probabilities(kind):
    x, y, weight, _ = rows_of(kind, 5)
    model = sf.Model.fit(x, y, sf.JointCategorical(sf.Dirichlet(2.0)), weight=weight)
    drawn, _ = model.sample(20_000, "jam", random_state=1)
    assert drawn.shape == (20_000, 3)
    every = np.array(list(product(*(NAMES if kind == "names" else map(range, (2, 3, 4))))), dtype=object)
    rows = every if kind == "names" else every.astype(float)
    p = np.exp(model.log_conditional(rows))[:, 1]
    found = [np.mean((drawn == row).all(axis=1)) for row in every]
    assert_allclose(found, p, atol=0.012)


def test_by_maximum_likelihood_only_combinations_seen_are_drawn():
    x, y, weight, _ = rows_of("names", 6)
    model = sf.Model.fit(x, y, sf.JointCategorical(prior=None), weight=weight)
    drawn, _ = model.sample(500, random_state=2)
    assert np.isfinite(model.log_density(drawn)).all()


def test_a_class_without_a_complete_row_draws_from_all():
    x = np.array([[0, 1], [1, np.nan]])
    model = sf.Model.fit(x, ["a", "b"], sf.JointCategorical(prior=None))
    assert_array_equal(model.sample(2, "b", random_state=0)[0], [[0, 1], [0, 1]])
    assert_array_equal(model.log_conditional([[0, 1], [0, np.nan]]), [[0.0, -np.inf], [0.0, -np.inf]])


def test_the_table_shows_the_combinations_seen_and_what_every_other_one_has():
    x = [["a", "x"], ["a", "x"], ["b", "y"]]
    model = sf.Model.fit(x, ["u", "u", "v"], sf.JointCategorical())
    table = model.tables(["one", "two"])[1]
    assert table.title == "one, two"
    assert list(table.rows) == ["a, x", "b, y", "each other"]
    assert_allclose(table.values, [[3 / 6, 1 / 5], [1 / 6, 2 / 5], [1 / 6, 1 / 5]])
    full = sf.Model.fit([["a"], ["b"]], ["u", "v"], sf.JointCategorical()).tables()[1]
    assert list(full.rows) == ["a", "b"]


def test_there_is_no_linear_form():
    with pytest.raises(NoLinearFormError, match="combination"):
        sf.Model.fit([[0, 1]], ["u"], sf.JointCategorical()).linear()


def test_named_and_numbered_columns_may_stand_in_one_table():
    frame = pd.DataFrame({"size": [1, 2, 2, 1], "colour": ["red", "red", "blue", None]})
    model = sf.Model.fit(frame, ["a", "a", "b", "b"], sf.JointCategorical(prior=None))
    assert_allclose(np.exp(model.log_conditional(frame)), [[0.5, 0], [0.5, 0], [0, 1], [0.5, 0]])
    drawn, _ = model.sample(3, "b", random_state=0)
    assert drawn.tolist() == [[2, "blue"]] * 3


# ------------------------------------------------------------------------------------------------- bad input


def test_what_is_no_category_is_refused_with_its_place():
    family = sf.JointCategorical()
    model = sf.Model.fit([[0, 1], [1, 1]], ["u", "v"], family)
    for bad, error in [(-1.0, NegativeValueError), (np.inf, InfiniteValueError)]:
        rows = np.array([[0.0, 1.0], [0.0, bad]])
        with pytest.raises(error, match="row 1, column 1"):
            family.summarize(rows, ["u", "v"])
        with pytest.raises(error, match="row 1, column 1"):
            model.log_joint(rows)


def test_names_and_numbers_cannot_stand_for_each_other():
    named, numbered = (sf.Model.fit(x, ["u"], sf.JointCategorical()) for x in ([["a", "b"]], [[0, 1]]))
    with pytest.raises(MismatchError, match="strings in training"):
        named.log_joint([[0, 1]])
    with pytest.raises(MismatchError, match="numbers in training"):
        numbered.log_joint([["a", "b"]])
    assert_array_equal(named.log_joint([[None, None]]), [[0.0]])
    with pytest.raises(MismatchError, match="Expected rows of 2 columns"):
        named.log_joint([["a"]])


def test_where_every_row_has_a_gap_nothing_can_be_counted():
    with pytest.raises(InvalidDataError, match="every row has a missing value"):
        sf.Model.fit([["a", None], [None, "b"]], ["u", "v"], sf.JointCategorical())
    with pytest.raises(InvalidDataError, match="no columns"):
        sf.JointCategorical().summarize(np.zeros((2, 0)), ["u", "v"])


def test_all_combinations_have_the_same_pseudo_count():
    with pytest.raises(InvalidOptionError, match="one alpha for all combinations"):
        sf.JointCategorical(sf.Dirichlet(np.ones(3)))


def test_missing_entries_are_filled_from_the_combination_that_agrees():
    rows = {"u": ["a", "a", "b", "b", "a"], "v": ["x", "x", "y", "y", "y"]}
    model = sf.BayesClassifier({("u", "v"): sf.JointCategorical()}).fit(rows, ["p"] * 5)
    filled = model.impute({"u": ["a", None, "b"], "v": [None, "y", None]})
    assert [list(filled[name]) for name in ("u", "v")] == [["a", "b", "b"], ["x", "y", "y"]]


def test_a_class_without_a_mode_has_the_mean():
    """With α = 1 the mode of a class without counts is 0/0; every combination is then as probable as another."""
    family = sf.JointCategorical(prior=sf.Dirichlet(1.0), learn="map")
    x = np.array([["a", "u"], ["b", "v"], [None, "u"]], dtype=object)
    found = family.estimate(family.summarize(x, np.array(["p", "p", "q"])).statistic)
    p = np.exp(found.log_density(np.array([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]], dtype=object)))
    np.testing.assert_allclose(p[:, 0], [0.5, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(p[:, 1], 0.25)


def test_a_combination_that_is_new_has_no_position():
    x = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]])
    found = sf.Model.fit(x, [0, 0, 1, 1, 1], sf.JointCategorical(prior=None)).distribution
    rows = np.array([[0, 0], [0, 1], [1, 1], [np.nan, 1], [7, 1], [1, 0]])
    assert found.positions(rows).tolist() == [0, -1, 1, -1, -1, -1]


def test_gaps_are_filled_by_the_likeliest_combination_or_by_draws_of_all():
    table = {"a": ["x"] * 60 + ["z"] * 40, "b": ["p"] * 40 + ["q"] * 20 + ["q"] * 30 + ["r"] * 10}
    clf = sf.BayesClassifier({("a", "b"): sf.JointCategorical(prior=None)}, calibrate=False).fit(table, ["y"] * 100)
    rows = {"a": ["x"] * 600, "b": [None] * 600}
    assert set(clf.impute(rows, "mode")["b"]) == {"p"}
    drawn = list(clf.impute(rows, "sample", random_state=0)["b"])
    assert set(drawn) == {"p", "q"}
    assert abs(drawn.count("p") / 600 - 2 / 3) < 0.06
