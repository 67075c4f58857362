"""Exponential, geometric and log-normal columns against SciPy's distributions and rows learned anew."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import laws
import reference
import suffice as sf
from suffice.core.errors import (
    InfiniteValueError,
    InvalidOptionError,
    MismatchError,
    NegativeValueError,
    NoLinearFormError,
    RefusedValueError,
)
from suffice.model.joint import leave_one_out

LABELS = np.array(["calm", "dull", "quick"])
LEARN = ("mle", "map", "mean", "predictive")


def rows_of(kind: str, seed: int, n: int = 40):
    """Rows with gaps, labels and weights of which some are 0; and new rows."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    classes = rng.permutation(np.arange(n) % 3)
    scale = rng.uniform(0.3, 5.0, (3, 3))
    tables = []
    for c in (classes, rng.integers(0, 3, 12)):
        x = {
            "times": lambda c=c: rng.exponential(scale[c]),
            "failures": lambda c=c: rng.geometric(1 / (1 + scale[c])) - 1.0,
            "positive": lambda c=c: np.exp(rng.normal(scale[c], 1.0)),
        }[kind]()
        x[rng.random(x.shape) < 0.15] = np.nan
        tables.append(x)
    weight = rng.uniform(0.2, 3.0, n)
    weight[rng.choice(n, 3, replace=False)] = 0.0
    return tables[0], LABELS[classes], weight, tables[1]


def exponential(x, y, weight, labels, learn, prior=(1.0, None)) -> reference.Fitted:
    n, s = reference.observed_weight(x, y, weight, labels), reference.totals(x, y, weight, labels)
    mean = s.sum(axis=0) / n.sum(axis=0)
    shape, rate = (0.0, 0.0) if learn == "mle" else prior
    rate = shape * mean if rate is None else rate
    a, b = n + shape, s + rate
    lam = (np.where(a > 1, a - 1, a) if learn == "map" else a) / b

    def term(v, c, j):
        if learn == "predictive":
            return stats.lomax.logpdf(v, a[c, j], scale=b[c, j])
        return stats.expon.logpdf(v, scale=1 / lam[c, j])

    return reference.Fitted({"rate": lam}, reference.naive(labels, x.shape[1], term))


def geometric(x, y, weight, labels, learn, prior=(1.0, 1.0)) -> reference.Fitted:
    n, s = reference.observed_weight(x, y, weight, labels), reference.totals(x, y, weight, labels)
    a, b = (0.0, 0.0) if learn == "mle" else prior
    a, b = n + a, s + b
    theta = (a - 1) / (a + b - 2) if learn == "map" else a / (a + b)

    def term(v, c, j):
        if learn == "predictive":  # ∫ θ (1 − θ)^v Beta(θ; a, b) dθ, drawn one failure at a time
            chances = [(b[c, j] + i) / (a[c, j] + b[c, j] + i) for i in range(int(v))]
            return np.log(chances).sum() + np.log(a[c, j] / (a[c, j] + b[c, j] + v))
        return stats.geom.logpmf(v, theta[c, j], loc=-1)

    return reference.Fitted({"probability": theta}, reference.naive(labels, x.shape[1], term))


def log_normal(x, y, weight, labels, learn, **options) -> reference.Fitted:
    of_log = reference.gaussian(np.log(x), y, weight, labels, learn, **options)

    def log_density(rows):
        logs = np.log(rows)
        return of_log.log_density(logs) - np.nansum(logs, axis=1)[:, None]

    return reference.Fitted(of_log.parameters, log_density)


CASES = [
    *((sf.Exponential(learn=learn), "times", exponential, {"learn": learn}) for learn in LEARN),
    *(
        (sf.Exponential(sf.Gamma(2.5, 0.7), learn), "times", exponential, {"learn": learn, "prior": (2.5, 0.7)})
        for learn in LEARN[1:]
    ),
    *((sf.Geometric(learn=learn), "failures", geometric, {"learn": learn}) for learn in LEARN),
    *(
        (sf.Geometric(sf.Beta(2.0, 1.5), learn), "failures", geometric, {"learn": learn, "prior": (2.0, 1.5)})
        for learn in LEARN[1:]
    ),
    *((sf.LogNormal(learn=learn), "positive", log_normal, {"learn": learn}) for learn in LEARN),
    (sf.LogNormal(None, variance="shared"), "positive", log_normal, {"learn": "mle", "variance": "shared"}),
    (sf.LogNormal(variance=2.0), "positive", log_normal, {"learn": "mean", "variance": 2.0}),
]
every_case = pytest.mark.parametrize(("family", "kind", "oracle", "options"), CASES, ids=[repr(c[0]) for c in CASES])
every_family = pytest.mark.parametrize(
    ("family", "kind"),
    [(sf.Exponential(), "times"), (sf.Geometric(), "failures"), (sf.LogNormal(), "positive")],
    ids=["exponential", "geometric", "log-normal"],
)


# --------------------------------------------------------------------------------------------- the densities


@every_case
def test_densities_are_scipys(family, kind, oracle, options):
    x, y, weight, rows = rows_of(kind, 1)
    model = sf.Model.fit(x, y, family, weight=weight)
    expected = oracle(x, y, weight, LABELS, **options)
    assert_allclose(model.log_conditional(rows), expected.log_density(rows), rtol=1e-10, atol=1e-10)


@every_case
def test_leaving_one_out_is_learning_anew_without_the_row(family, kind, oracle, options):
    x, y, weight, _ = rows_of(kind, 2, n=24)
    prior = sf.ClassPrior(sf.Dirichlet(1))
    found = leave_one_out(family.summarize(x, y, weight), family, prior, x, y, weight)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        density = oracle(x[rest], y[rest], weight[rest], LABELS, **options).log_density(x[i : i + 1])
        expected = density + reference.log_class_prior(y[rest], weight[rest], LABELS, 1.0)
        assert_allclose(found[i], expected[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", [sf.Exponential(), sf.Exponential(learn="predictive"), sf.Geometric()], ids=repr)
def test_a_sparse_matrix_gives_what_the_dense_one_gives(family):
    x, y, weight, rows = rows_of("failures", 3)
    dense = sf.Model.fit(x, y, family, weight=weight)
    sparse = sf.Model.fit(scipy.sparse.csr_matrix(x), y, family, weight=weight)
    assert_allclose(sparse.log_joint(scipy.sparse.csr_matrix(rows)), dense.log_joint(rows), rtol=1e-12)
    found, expected = (
        leave_one_out(family.summarize(a, y, weight), family, sf.ClassPrior(), a, y, weight)
        for a in (scipy.sparse.csr_matrix(x), x)
    )
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("learn", LEARN)
def test_densities_sum_or_integrate_to_one(learn):
    y = np.array(["a", "a", "a", "b", "b"])
    counts = sf.Model.fit(np.array([[0.0], [3.0], [1.0], [7.0], [2.0]]), y, sf.Geometric(learn=learn))
    k = np.arange(400_000.0)[:, None]
    assert_allclose(np.exp(counts.log_conditional(k)).sum(axis=0), 1.0, rtol=1e-4)
    t = np.exp(np.linspace(-40, 40, 200_001))
    for family in (sf.Exponential(learn=learn), sf.LogNormal(learn=learn)):
        model = sf.Model.fit(np.array([[1.0], [3.0], [1.5], [7.0], [2.0]]), y, family)
        density = np.exp(model.log_conditional(t[:, None])) * t[:, None]
        assert_allclose(np.trapezoid(density, np.log(t), axis=0), 1.0, rtol=1e-3)


def test_the_predictive_of_the_exponential_is_the_mean_of_its_density_over_the_posterior():
    family = sf.Exponential(sf.Gamma(2.0, 3.0), "predictive")
    x = np.array([[0.5], [1.5], [4.0]])
    model = sf.Model.fit(x, ["a"] * 3, family)
    rate = stats.gamma.ppf((np.arange(200_000) + 0.5) / 200_000, 5.0, scale=1 / 9.0)
    assert_allclose(np.exp(model.log_conditional([[2.0]])), [[np.mean(rate * np.exp(-2.0 * rate))]], rtol=1e-5)


@every_family
def test_a_bare_family_learns_the_same_in_any_unit_or_from_any_input(family, kind):
    x, y, _, rows = rows_of(kind, 4)
    model = sf.Model.fit(x, y, family)
    assert_allclose(sf.Model.fit(x.tolist(), y, family).log_joint(rows.tolist()), model.log_joint(rows))
    small = sf.Model.fit(x.astype(np.float32), y, family)
    assert_allclose(small.log_joint(rows), model.log_joint(rows), rtol=1e-4)
    if kind != "failures":
        scaled = sf.Model.fit(x * 1e-6, y, family)
        assert_allclose(scaled.posterior(rows * 1e-6), model.posterior(rows), rtol=1e-9)


# ---------------------------------------------------------------------------------------------------- laws


@given(data=st.data())
@every_family
def test_statistics_merge_forget_and_count_weights_as_repetitions(family, kind, data):
    n = data.draw(st.integers(1, 12))
    values = st.integers(1, 9).map(float) if kind == "failures" else st.floats(0.125, 100, width=32)
    cells = data.draw(st.lists(st.one_of(values, st.just(np.nan)), min_size=2 * n, max_size=2 * n))
    x = np.array(cells).reshape(n, 2)
    y = np.array(data.draw(st.lists(st.sampled_from(["a", "b"]), min_size=n, max_size=n)))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    cut = data.draw(st.integers(0, n))
    whole = family.summarize(x, y, times)
    a, b = family.summarize(x[:cut], y[:cut], times[:cut]), family.summarize(x[cut:], y[cut:], times[cut:])
    size = float(np.nan_to_num(x).max())
    laws.assert_equal(a + b, whole, size)
    laws.assert_equal(family.summarize(x[cut:], y[cut:], times[cut:], a), whole, size)
    laws.assert_equal(whole - b, a, 4 * size, 1.0 + times.sum())
    repeated = np.repeat(np.arange(n), times)
    laws.assert_equal(family.summarize(x[repeated], y[repeated]), whole, size)


# ------------------------------------------------------------------------------------------- decided answers


def test_times_that_are_all_zero_are_a_point_mass_with_a_finite_density():
    x, y = np.array([[0.0], [0.0], [2.0], [4.0]]), np.array(["still", "still", "slow", "slow"])
    model = sf.Model.fit(x, y, sf.Exponential(prior=None))
    floor = 1.5 * np.finfo(float).eps  # of the mean of all rows
    assert_allclose(model.distribution.rate, [[1 / 3], [1 / floor]])
    assert np.isfinite(model.log_joint([[0.0], [1e-9], [1.0]])).all()
    assert_array_equal(model.predict([[0.0], [1.0]]), ["still", "slow"])


@pytest.mark.parametrize("learn", LEARN)
def test_a_column_of_nothing_but_zeros_is_no_nan(learn):
    model = sf.Model.fit(np.zeros((4, 1)), ["a", "a", "b", "b"], sf.Exponential(learn=learn))
    assert np.isfinite(model.log_joint([[0.0]])).all()
    assert not np.isnan(model.log_joint([[1e-5], [1e300]])).any()


@pytest.mark.parametrize(
    "family", [f(learn=learn) for f in (sf.Exponential, sf.Geometric) for learn in LEARN], ids=repr
)
def test_a_class_that_shows_nothing_of_a_column_has_a_density_there(family):
    x = np.array([[1.0, 2.0], [3.0, np.nan], [4.0, np.nan], [2.0, 6.0]])
    model = sf.Model.fit(x, ["a", "b", "b", "a"], family)
    assert np.isfinite(model.log_joint(x[:1])).all()
    never = sf.Model.fit(np.array([[1.0, np.nan], [2.0, np.nan]]), ["a", "b"], family)
    assert np.isfinite(never.log_joint(x[:1])).all()


def test_by_maximum_likelihood_a_class_without_times_takes_those_of_all():
    x = np.array([[2.0], [4.0], [np.nan]])
    model = sf.Model.fit(x, ["a", "a", "b"], sf.Exponential(prior=None))
    assert_allclose(model.distribution.rate, [[1 / 3], [1 / 3]])


def test_a_failure_never_seen_is_impossible_by_maximum_likelihood():
    model = sf.Model.fit([[0], [0], [1]], ["a", "a", "b"], sf.Geometric(prior=None))
    assert_allclose(model.log_conditional([[0], [2]]), [[0.0, np.log(0.5)], [-np.inf, np.log(0.125)]])
    improper = sf.Model.fit([[0], [0]], ["a", "a"], sf.Geometric(sf.Beta(1.0, 0.0), "predictive"))
    assert_array_equal(improper.log_conditional([[0], [2]]), [[0.0], [-np.inf]])


def test_a_mode_of_zero_is_replaced_by_the_mean():
    unseen = sf.Totals(np.array([[0.2]]), np.array([[0.3]]))
    rate = sf.Exponential(sf.Gamma(0.5, 1.0), "map").estimate(unseen).rate
    assert_allclose(rate, 0.7 / 1.3)
    theta = sf.Geometric(sf.Beta(0.5, 3.0), "map").estimate(unseen).probability
    assert_allclose(theta, 0.7 / 4.0)


# ------------------------------------------------------------------------------------------------ questions


@pytest.mark.parametrize(("family", "kind"), [(sf.Exponential(), "times"), (sf.Geometric(), "failures")], ids=repr)
def test_waiting_times_are_linear_in_x(family, kind):
    x, y, _, _ = rows_of(kind, 5)
    rows = np.nan_to_num(x)
    model = sf.Model.fit(x, y, family)
    form = model.linear()
    scores = rows @ form.coef.T + form.intercept
    assert_allclose(scores, model.log_joint(rows), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (sf.Exponential(learn="predictive"), "Lomax"),
        (sf.Geometric(learn="predictive"), "beta-geometric"),
        (sf.LogNormal(variance="shared"), "log x"),
        (sf.Geometric(prior=None), "zero"),
    ],
    ids=repr,
)
def test_where_there_is_no_linear_form_the_error_says_why(family, said):
    x = [[1], [1], [2]] if isinstance(family, sf.LogNormal) else [[0], [0], [2]]
    with pytest.raises(NoLinearFormError, match=said):
        sf.Model.fit(x, ["a", "a", "b"], family).linear()


@pytest.mark.parametrize("learn", ["mean", "predictive"])
@every_family
def test_drawn_rows_follow_the_density(family, kind, learn):
    x, y, _, _ = rows_of(kind, 6, n=60)
    model = sf.Model.fit(x, y, type(family)(learn=learn))
    drawn, labels = model.sample(4000, "dull", random_state=0)
    assert drawn.shape == (4000, 3)
    assert (labels == "dull").all()
    grid = np.arange(0.0, 3e4) if kind == "failures" else np.exp(np.linspace(-12, 12, 20_001))
    for j in range(3):
        points = np.full((len(grid), 3), np.nan)
        points[:, j] = grid
        density = np.exp(model.log_conditional(points)[:, 1])
        steps = density if kind == "failures" else np.append(np.diff(grid), 0.0) * density
        cdf = np.cumsum(steps)
        quantiles = grid[np.searchsorted(cdf / cdf[-1], [0.25, 0.5, 0.75])]
        below = [(drawn[:, j] <= q).mean() for q in quantiles]
        reached = [cdf[np.searchsorted(grid, q)] for q in quantiles]
        assert_allclose(below, reached, atol=0.03)


def test_gaps_are_filled_with_each_class_mean():
    x, y = np.array([[1.0], [3.0], [5.0], [7.0]]), ["a", "a", "b", "b"]
    rows = np.array([[np.nan], [2.5]])
    for family, means in [
        (sf.Exponential(prior=None), [2.0, 6.0]),
        (sf.Geometric(prior=None), [2.0, 6.0]),
        (sf.Exponential(sf.Gamma(2.0, 1.0), "predictive"), [5 / 3, 13 / 3]),
        (sf.Geometric(sf.Beta(2.0, 1.0), "predictive"), [5 / 3, 13 / 3]),
        (sf.Exponential(sf.Gamma(0.0, 1.0), "predictive"), [5.0, 13.0]),
    ]:
        expected = sf.Model.fit(x, y, family).distribution.expect(rows)
        assert_allclose(expected, np.stack([np.array(means)[:, None], np.full((2, 1), 2.5)]))
    logs = np.log(x[:2, 0])
    filled = sf.Model.fit(x, y, sf.LogNormal(prior=None)).distribution.expect(rows)
    assert_allclose(filled[0, 0, 0], np.exp(logs.mean() + logs.var() / 2))
    assert_array_equal(filled[1], [[2.5], [2.5]])
    student = sf.Model.fit(x, y, sf.LogNormal(learn="predictive")).distribution.expect(rows)
    assert 1.0 < student[0, 0, 0] < 3.0  # the median, as the mean does not exist


@every_family
def test_tables_and_parameters_are_counted(family, kind):
    x, y, _, _ = rows_of(kind, 7)
    for learn in LEARN:
        model = sf.Model.fit(x, y, type(family)(learn=learn))
        assert model.n_parameters == 2 + (18 if kind == "positive" else 9)
        assert model.distribution.n_columns == 3
        text = "\n".join(map(str, model.tables(["one", "two", "three"])))
        assert all(word in text for word in ("one", "two", "three", "quick"))
        assert ("log x" in text) == (kind == "positive")


# ------------------------------------------------------------------------------------------------ bad input


@every_family
def test_negative_and_infinite_values_are_refused_with_their_place(family, kind):
    x, y, _, rows = rows_of(kind, 8)
    model = sf.Model.fit(x, y, family)
    for bad, error in [(-1.0, NegativeValueError), (np.inf, InfiniteValueError)]:
        x[2, 1], rows[3, 2] = bad, bad
        with pytest.raises(error, match="row 2, column 1") as caught:
            family.summarize(x, y)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        with pytest.raises(error, match="row 3, column 2"):
            model.log_joint(rows)


@pytest.mark.parametrize("learn", LEARN)
def test_infinity_is_refused_by_every_way_to_learn(learn):
    for family in (sf.Exponential(learn=learn), sf.Geometric(learn=learn), sf.LogNormal(learn=learn)):
        model = sf.Model.fit([[1.0], [2.0], [3.0]], ["a", "a", "b"], family)
        with pytest.raises(InfiniteValueError, match="row 1, column 0"):
            model.log_joint([[1.0], [np.inf]])


def test_zero_has_no_logarithm():
    with pytest.raises(RefusedValueError, match=r"above 0.*Found 0.0 in row 1, column 0"):
        sf.LogNormal().summarize([[1.0], [0.0]], ["a", "b"])


def test_failures_come_in_whole_numbers():
    with pytest.raises(RefusedValueError, match=r"integers.*Found 0.5 in row 0, column 1.*Exponential"):
        sf.Geometric().summarize([[1.0, 0.5]], ["a"])
    sparse = scipy.sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 1.5]]))
    with pytest.raises(RefusedValueError, match="row 1, column 1"):
        sf.Geometric().summarize(sparse, ["a", "b"])


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(InvalidOptionError, match="must be a Gamma"):
        sf.Exponential(sf.Beta(1, 1))
    with pytest.raises(InvalidOptionError, match="only Exponential"):
        sf.Poisson(sf.Gamma(1.0, None))
    with pytest.raises(InvalidOptionError, match="variance must be"):
        sf.LogNormal(variance="none")
    with pytest.raises(MismatchError, match="LogNormal: options for 3 columns"):
        sf.LogNormal(variance=np.ones(3)).summarize([[1.0, 2.0]], ["a"])
    with pytest.raises(MismatchError, match="Geometric: options for 3 columns"):
        sf.Geometric(sf.Beta(np.ones(3), 1.0)).summarize([[1.0, 2.0]], ["a"])


@pytest.mark.parametrize("learn", LEARN)
def test_leaving_the_only_row_out_leaves_no_nan(learn):
    families = [sf.Exponential(learn=learn), sf.Geometric(learn=learn), sf.Binned(learn=learn), sf.JointCategorical()]
    families += [sf.Binned(learn=learn, how="mdl"), sf.Binned(learn=learn, edges=[1.0, 2.0])]
    for family in families:
        for x, y in [([[2.0]], ["a"]), ([[2.0], [0.0]], ["a", "b"])]:
            found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(sf.Dirichlet(1)), x, y)
            assert not np.isnan(found).any()
            assert (found < np.inf).all()
