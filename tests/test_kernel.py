import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KernelDensity

import suffice as sf
from suffice.naive_bayes import KernelNB

KERNELS = ["gaussian", "epanechnikov", "triangular", "uniform", "biweight", "cosine"]
RULES = ["silverman", "scott", "sheather-jones", "likelihood"]
FORMULAS = {
    "epanechnikov": lambda z: 0.75 * (1 - z) * (1 + z),
    "triangular": lambda z: 1 - z,
    "uniform": lambda z: 0.5 + 0 * z,
    "biweight": lambda z: 15 / 16 * ((1 - z) * (1 + z)) ** 2,
    "cosine": lambda z: np.pi / 4 * np.sin(np.pi / 2 * (1 - z)),
}
DEVIATIONS = {
    "epanechnikov": 5**-0.5,
    "triangular": 6**-0.5,
    "uniform": 3**-0.5,
    "biweight": 7**-0.5,
    "cosine": (1 - 8 / np.pi**2) ** 0.5,
}


def log_sum(terms, weight):
    top = terms.max(axis=1, keepdims=True)
    return top[:, 0] + np.log(np.exp(terms - top) @ weight)


def direct(kernel, x, points, h, weight=None):
    """The logarithm of the sum over all points, in extended precision."""
    weight = np.ones(len(points)) if weight is None else weight
    off = np.abs(np.asarray(x)[:, None] - points)
    x, points, weight = (np.asarray(a, np.longdouble) for a in (x, points, weight))

    def gaussian(h):
        z = (x[:, None] - points) / h
        return log_sum(-0.5 * z * z, weight / weight.sum()) - np.log(h) - 0.5 * np.log(2 * np.pi)

    if kernel == "gaussian":
        return gaussian(h).astype(float)
    z = np.abs(x[:, None] - points) / h
    with np.errstate(divide="ignore"):
        inside = np.log(np.where(off < h, FORMULAS[kernel](z), 0.0) @ weight / weight.sum() / h)
    return np.maximum(inside, np.log(1e-12) + gaussian(h * DEVIATIONS[kernel])).astype(float)


def fitted(x, y=None, weight=None, **options):
    x = np.asarray(x, float).reshape(len(x), -1)
    family = sf.Kernel(**options)
    return family.estimate(family.summarize(x, np.zeros(len(x), int) if y is None else y, weight).statistic)


def density(x, points, h, kernel="gaussian", weight=None):
    return fitted(points, weight=weight, bandwidth=h, kernel=kernel).log_density(np.asarray(x, float)[:, None])[:, 0]


# ------------------------------------------------------------------------------------------ the density


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("h", [1e-6, 1e-3, 0.05, 0.3, 1.0, 40.0, 1e5])
def test_the_log_density_is_that_of_the_direct_sum_for_any_bandwidth(kernel, h):
    rng = np.random.default_rng(0)
    points, x = rng.normal(size=1500), rng.normal(size=400) * 1.5
    assert_allclose(density(x, points, h, kernel), direct(kernel, x, points, h), rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gaps_between_clusters_ties_and_uneven_weights_are_summed_exactly(kernel):
    rng = np.random.default_rng(1)
    clusters = np.concatenate([rng.normal(size=300) * 0.1, 5 + rng.normal(size=250) * 0.01, 100 + rng.normal(size=50)])
    everywhere = np.concatenate([rng.uniform(-4, 110, 300), np.linspace(0, 5, 500)])
    for h in (0.2, 0.5, 1.0, 3.0):
        expected = direct(kernel, everywhere, clusters, h)
        assert_allclose(density(everywhere, clusters, h, kernel), expected, rtol=1e-13, atol=1e-10)
    steps = np.arange(20.0)
    for weight in (np.where(steps % 7 == 0, 1e13, 1e-3), 10 ** rng.uniform(-8, 8, 20)):
        x = np.concatenate([steps, steps + 0.5, rng.uniform(-5, 25, 500)])
        expected = direct(kernel, x, steps, 1.0, weight)
        assert_allclose(density(x, steps, 1.0, kernel, weight), expected, rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_large_offset_costs_no_digits(kernel):
    rng = np.random.default_rng(2)
    points, x = 1e8 + rng.normal(size=1000), 1e8 + rng.normal(size=300)
    assert_allclose(density(x, points, 0.1, kernel), direct(kernel, x, points, 0.1), atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_far_outside_the_data_the_log_density_is_finite_and_falls_with_the_distance(kernel):
    points = np.random.default_rng(3).normal(size=500)
    x = np.array([5.0, 10.0, 1e2, 1e4, 1e5, 1e6, 1e7])
    found = density(x, points, 0.1, kernel)
    assert_allclose(found, direct(kernel, x, points, 0.1), rtol=1e-13)
    assert (np.diff(found) < 0).all()
    assert np.isfinite(density([1e12, -1e100, 1e200, -1e300, 1.7e308], points, 0.1, kernel)).all()
    close = np.linspace(1e6, 1e6 + 1, 50)  # many queries in one box
    assert_allclose(density(close, points, 0.1, kernel), direct(kernel, close, points, 0.1), rtol=1e-13)


def test_points_that_differ_in_their_last_digits_count_from_far_away_too():
    points, x = np.random.default_rng(4).uniform(0, 1e-5, 100), np.linspace(-1e6, -1e6 + 1, 100)
    assert_allclose(density(x, points, 0.1), direct("gaussian", x, points, 0.1), rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_point_is_the_kernel_itself(kernel):
    z = np.linspace(-0.99, 0.99, 101)
    found = np.exp(density(3.0 + 2.0 * z, [3.0], 2.0, kernel))
    expected = scipy.stats.norm.pdf(z) if kernel == "gaussian" else FORMULAS[kernel](np.abs(z))
    assert_allclose(found, expected / 2.0, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_density_integrates_to_one(kernel):
    points = np.random.default_rng(5).normal(size=40)
    grid = np.linspace(-9, 9, 40_001)
    total = scipy.integrate.trapezoid(np.exp(density(grid, points, 0.4, kernel)), grid)
    assert total == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("gaussian", "gaussian"),
        ("epanechnikov", "epanechnikov"),
        ("triangular", "linear"),
        ("uniform", "tophat"),
        ("cosine", "cosine"),
    ],
)
@pytest.mark.parametrize("h", [0.1, 0.7])
def test_bandwidth_means_what_it_means_in_scikit_learns_kernel_density(ours, theirs, h):
    rng = np.random.default_rng(6)
    points, x = rng.normal(size=(300, 1)), rng.normal(size=(100, 1))
    peer = KernelDensity(bandwidth=h, kernel=theirs, rtol=0, atol=0).fit(points)
    expected = peer.score_samples(x)
    seen = expected > -20  # where the peer has any density at all
    assert_allclose(density(x[:, 0], points[:, 0], h, ours)[seen], expected[seen], rtol=1e-10)


def test_the_density_is_scipys_gaussian_kde():
    rng = np.random.default_rng(7)
    points, weight, x = rng.normal(size=200), rng.random(200), rng.normal(size=50)
    peer = scipy.stats.gaussian_kde(points, bw_method=0.3, weights=weight)
    h = float(np.sqrt(peer.covariance[0, 0]))
    assert_allclose(density(x, points, h, weight=weight), peer.logpdf(x), rtol=1e-10)


@given(
    st.lists(st.floats(-100, 100, width=16), min_size=1, max_size=30),
    st.lists(st.floats(-150, 150, width=16), min_size=1, max_size=30),
    st.sampled_from([1e-3, 0.1, 1.0, 3.5, 200.0]),
    st.sampled_from(KERNELS),
)
def test_any_points_any_queries(points, x, h, kernel):
    expected = direct(kernel, np.array(x), np.array(points), h)
    assert_allclose(density(x, points, h, kernel), expected, rtol=1e-13, atol=1e-10)


def test_missing_entries_say_nothing_and_single_precision_is_read_as_it_is():
    x = np.random.default_rng(8).normal(size=(60, 3)).astype(np.float32)
    x[::7, 1] = np.nan
    model = fitted(x, bandwidth=0.5)
    whole = x.astype(float)
    expected = sum(
        np.where(np.isnan(whole[:, j]), 0.0, direct("gaussian", np.nan_to_num(whole[:, j]), column, 0.5))
        for j, column in enumerate(c[~np.isnan(c)] for c in whole.T)
    )
    assert_allclose(model.log_density(x)[:, 0], expected, atol=1e-9)
    assert_array_equal(model.log_density(np.full((2, 3), np.nan)), np.zeros((2, 1)))
    assert_array_equal(model.log_density(np.asfortranarray(x)), model.log_density(x))


# ------------------------------------------------------------------------------------------ bandwidths


def thumb(x, factor, divisor=1.34):
    quartiles = np.quantile(x, [0.25, 0.75])
    return factor * min(x.std(ddof=1), (quartiles[1] - quartiles[0]) / divisor) * len(x) ** -0.2


def sheather_jones(x):
    """R's bw.SJ(method="ste") by all pairs, without bins."""
    n, z = len(x), x[:, None] - x
    scale = thumb(x, 1.0, 1.349) * n**0.2

    def phi4(h):
        t = (z / h) ** 2
        return ((t * t - 6 * t + 3) * np.exp(-t / 2)).sum() / (n * (n - 1) * h**5 * np.sqrt(2 * np.pi))

    def phi6(h):
        t = (z / h) ** 2
        return ((t**3 - 15 * t * t + 45 * t - 15) * np.exp(-t / 2)).sum() / (n * (n - 1) * h**7 * np.sqrt(2 * np.pi))

    a, b = 1.24 * scale * n ** (-1 / 7), 1.23 * scale * n ** (-1 / 9)
    alpha = 1.357 * (phi4(a) / -phi6(b)) ** (1 / 7)
    return scipy.optimize.brentq(
        lambda h: (1 / (2 * np.sqrt(np.pi) * n * phi4(alpha * h ** (5 / 7)))) ** 0.2 - h, 0.01 * scale, 2 * scale
    )


def left_out_likelihood(x, h):
    terms = -0.5 * ((x[:, None] - x) / h) ** 2
    np.fill_diagonal(terms, -np.inf)
    return (log_sum(terms, np.ones(len(x))) - np.log(h)).sum()


SAMPLES = {
    "normal": np.random.default_rng(0).normal(3, 2, 300),
    "skewed": np.random.default_rng(1).lognormal(0, 1, 250),
    "two modes": np.concatenate(
        [np.random.default_rng(2).normal(-5, 1, 200), np.random.default_rng(3).normal(4, 0.3, 150)]
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_bandwidths_are_those_of_their_definitions(name):
    x = SAMPLES[name]
    widths = {rule: fitted(x, bandwidth=rule).bandwidth[0, 0] for rule in RULES}
    assert widths["silverman"] == pytest.approx(thumb(x, 0.9), rel=1e-12)
    assert widths["scott"] == pytest.approx(thumb(x, 1.06), rel=1e-12)
    assert widths["sheather-jones"] == pytest.approx(sheather_jones(x), rel=0.02)  # R counts in cells
    best = widths["likelihood"]
    reached = left_out_likelihood(x, best)
    assert all(reached >= left_out_likelihood(x, best * f) for f in (0.7, 0.95, 0.999, 1.001, 1.05, 1.4))


# R 4.2.2:  i <- 1:150; u <- (i * 0.6180339887498949) %% 1; x <- round(log(u / (1 - u)) + 4 * (i %% 3 == 0), 6)
#           j <- 1:97; v <- (j * 0.7548776662466927) %% 1; y <- round(-2.5 * log(v), 6)
#           c(bw.nrd0(x), bw.nrd(x), bw.SJ(x)), and the same of y, -x, y + 1000 and rep(y, 9)
IN_R = {
    "x": (0.8814668824, 1.038172106, 0.8851750542),
    "y": (0.7236440383, 0.8522918673, 0.4763757614),
    "-x": (0.8814668824, 1.038172106, 0.8851750542),
    "y + 1000": (0.7236440383, 0.8522918673, 0.4765217228),
    "rep(y, 9)": (0.4663118872, 0.5492117783, 0.2015991768),
}


@pytest.mark.parametrize("name", IN_R)
def test_bandwidths_are_those_of_r(name):
    i, j = np.arange(1, 151), np.arange(1, 98)
    u, v = (i * 0.6180339887498949) % 1, (j * 0.7548776662466927) % 1
    x, y = np.round(np.log(u / (1 - u)) + 4 * (i % 3 == 0), 6), np.round(-2.5 * np.log(v), 6)
    sample = {"x": x, "y": y, "-x": -x, "y + 1000": y + 1000, "rep(y, 9)": np.repeat(y, 9)}[name]
    found = [fitted(sample, bandwidth=rule).bandwidth[0, 0] for rule in ("silverman", "scott", "sheather-jones")]
    assert_allclose(found, IN_R[name], rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_an_integer_weight_gives_the_bandwidth_of_repeated_rows(rule):
    rng = np.random.default_rng(9)
    x, times = rng.normal(size=40), rng.integers(1, 4, 40)
    weighted, repeated = fitted(x, weight=times, bandwidth=rule), fitted(np.repeat(x, times), bandwidth=rule)
    assert_allclose(weighted.bandwidth, repeated.bandwidth, rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "ratio"),
    [("epanechnikov", 2.2138), ("triangular", 2.4320), ("uniform", 1.7401), ("biweight", 2.6226), ("cosine", 2.2750)],
)
def test_rules_are_carried_over_to_other_kernels_by_canonical_bandwidths(kernel, ratio):
    x = SAMPLES["normal"]
    assert fitted(x, kernel=kernel).bandwidth[0, 0] / fitted(x).bandwidth[0, 0] == pytest.approx(ratio, abs=1e-4)


def test_quartiles_that_fall_together_leave_the_standard_deviation():
    x = np.array([0.0] * 20 + [1.0, -1.0, 2.0])
    assert fitted(x).bandwidth[0, 0] == pytest.approx(0.9 * x.std(ddof=1) * 23**-0.2)


@pytest.mark.parametrize("weight", [[0.3, 0.3, 0.3], [1e6, 1.0, 1.0]])
def test_where_sheather_and_jones_have_no_solution_silvermans_rule_counts(weight):
    x = [0.0, 1.0, 2.5]
    assert_array_equal(
        fitted(x, weight=weight, bandwidth="sheather-jones").bandwidth, fitted(x, weight=weight).bandwidth
    )


@pytest.mark.parametrize("rule", RULES)
def test_values_of_any_size_have_bandwidths_in_proportion(rule):
    x = SAMPLES["two modes"]
    for size in (1e-140, 1e-60, 1e60, 1e200):
        assert_allclose(
            fitted(x * size, bandwidth=rule).bandwidth / size, fitted(x, bandwidth=rule).bandwidth, rtol=1e-5
        )
    assert fitted([0.0, 5e-324], bandwidth=rule).bandwidth.tolist() == [[1e-150]]


def test_each_class_and_column_has_a_bandwidth_of_its_own_and_a_given_one_is_shared():
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(100, 3)) * [1.0, 5.0, 0.1], np.repeat([0, 1], 50)
    found = fitted(x, y).bandwidth
    assert_allclose(found, [[thumb(x[y == c, j], 0.9) for j in range(3)] for c in (0, 1)], rtol=1e-12)
    assert_array_equal(fitted(x, y, bandwidth=0.2).bandwidth, np.full((2, 3), 0.2))
    assert_array_equal(fitted(x, y, bandwidth=np.array([1.0, 2.0, 3.0])).bandwidth, [[1, 2, 3], [1, 2, 3]])
    assert fitted(x, y).n_parameters == 6
    assert fitted(x, y, bandwidth=0.2).n_parameters == 0


def test_a_class_that_does_not_vary_has_the_bandwidth_of_all_classes_together():
    x = np.array([1.0, 1.0, 1.0, 0.0, 2.0, 5.0, 7.0])
    found = fitted(x, [0, 0, 0, 1, 1, 1, 1]).bandwidth[:, 0]
    assert_allclose(found, [thumb(x, 0.9), thumb(x[3:], 0.9)], rtol=1e-12)
    one_row = fitted(x, [0, 1, 1, 1, 1, 1, 1]).bandwidth[:, 0]
    assert_allclose(one_row, [thumb(x, 0.9), thumb(x[1:], 0.9)], rtol=1e-12)


def test_a_column_that_never_varies_is_a_point_mass_and_never_nan():
    model = fitted(np.full(6, 3.0), [0, 0, 0, 1, 1, 1])
    assert_allclose(model.bandwidth, np.full((2, 1), 3 * np.finfo(float).eps))
    found = model.log_density(np.array([[3.0], [4.0], [1e300]]))
    assert np.isfinite(found).all()
    assert (found[0] > found[1]).all()
    assert_array_equal(found[:, 0], found[:, 1])
    assert np.isfinite(fitted(np.zeros(3)).log_density(np.array([[0.0], [1.0], [-1e308]]))).all()


def test_a_class_that_has_shown_nothing_of_a_column_has_the_values_of_all():
    x = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 5.0], [4.0, 6.0], [9.0, 9.0]])
    model = fitted(x, ["a", "a", "b", "b", "b"], bandwidth=0.5)
    alone = fitted(x[2:, 1], bandwidth=0.5)
    question = np.array([[np.nan, 5.5]])
    assert_allclose(model.log_density(question), np.repeat(alone.log_density(question[:, 1:]), 2)[None])
    nothing = fitted(np.array([[np.nan, 1.0], [np.nan, 2.0]]), bandwidth=0.5)
    assert_allclose(
        nothing.log_density(np.array([[7.0, 1.0]])), direct("gaussian", [1.0], np.array([1.0, 2.0]), 0.5)[None]
    )
    assert np.isnan(nothing.sample(np.zeros(3, np.int32), np.random.default_rng(0))[:, 0]).all()


# ------------------------------------------------------------------------------------------ leaving one out


def refitted_without(family, x, y, weight, i):
    others = np.arange(len(y)) != i
    rest = family.summarize(x[others], y[others], weight[others]).over(np.unique(y))
    return family.estimate(rest.statistic).log_density(x[i : i + 1])[0]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bandwidth", [0.3, *RULES])
def test_leaving_a_row_out_equals_fitting_without_it(kernel, bandwidth):
    rng = np.random.default_rng(11)
    x = rng.normal(size=(36, 2)).round(1)  # ties
    x[:, 1] = rng.lognormal(size=36)
    x[3, 0], x[20, 1], x[5, 1] = 60.0, 1e7, np.nan  # far out, farther, missing
    x = np.column_stack([x, np.full(36, np.nan)])  # a column of which nothing is known
    y, weight = rng.integers(0, 3, 36), rng.choice([0.0, 0.5, 1.0, 2.0], 36)
    family = sf.Kernel(kernel, bandwidth)
    statistic = family.summarize(x, y, weight).statistic
    found = family.leave_one_out(statistic, family.estimate(statistic), x, y.astype(np.int32), weight)
    rows = range(36) if bandwidth in (0.3, "silverman", "scott") else range(0, 36, 9)
    expected = np.array([refitted_without(family, x, y, weight, i) for i in rows])
    assert_allclose(found[list(rows)], expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "uniform"])
@pytest.mark.parametrize("bandwidth", [0.3, "silverman", "sheather-jones"])
def test_leaving_out_a_row_that_changes_what_classes_share_equals_fitting_without_it(bandwidth, kernel):
    nan = np.nan
    x = np.array(
        [  # a class that does not vary, missing values, a column that never varies, one of a single value
            [1.0, 2.0, 7.0, nan],
            [1.0, 3.0, 7.0, nan],
            [1.0, 3.5, 7.0, nan],
            [4.0, nan, 7.0, nan],
            [5.0, nan, 7.0, nan],
            [7.0, nan, 7.0, 1.0],
            [3.0, 8.0, nan, nan],
            [3.5, 9.0, nan, nan],
            [9.0, 9.5, 7.0, nan],
        ]
    )
    y, weight = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3]), np.array([1.0, 0.5, 2.0, 1.0, 1.0, 2.0, 1.0, 3.0, 1.0])
    family = sf.Kernel(kernel, bandwidth)
    for columns in ([0], [1], [0, 1], [2], [0, 1, 2], [0, 1, 2, 3]):
        some = x[:, columns]
        statistic = family.summarize(some, y, weight).statistic
        found = family.leave_one_out(statistic, family.estimate(statistic), some, y.astype(np.int32), weight)
        expected = [refitted_without(family, some, y, weight, i) for i in range(len(y))]
        assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


def test_many_rows_are_left_out_as_one_by_one():
    rng = np.random.default_rng(12)
    x, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    for bandwidth in (0.2, "silverman"):
        clf = KernelNB(bandwidth=bandwidth).fit(x, y)
        found = clf.leave_one_out(x, y)
        for i in (0, 1500, 2999):
            others = np.arange(3000) != i
            expected = KernelNB(bandwidth=bandwidth).fit(x[others], y[others]).predict_log_proba(x[i : i + 1])[0]
            assert_allclose(found[i], expected, atol=1e-9)


def test_a_row_that_was_not_learned_cannot_be_left_out():
    x, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    clf = KernelNB().fit(x, y)
    with pytest.raises(sf.NotPartError, match=r"leave out 0\.25"):
        clf.leave_one_out(np.full((1, 1), 0.25), [0])
    with pytest.raises(sf.NotPartError, match="more than was added"):
        clf.leave_one_out(x[:1], [0], [5.0])
    many = np.random.default_rng(0).normal(size=(100, 1))
    small = KernelNB(limit=3).fit(many, np.zeros(100))
    assert_allclose(small.leave_one_out(many, np.zeros(100)), 0.0)
    with pytest.raises(sf.NotPartError, match="leave out"):
        small.leave_one_out(np.full((1, 1), 1e6), [0])
    assert small.forget(many[:50], np.zeros(50)).class_count_ == [50]


# ------------------------------------------------------------------------------------------ drawing, showing


@pytest.mark.parametrize("kernel", KERNELS)
def test_drawn_rows_follow_the_density(kernel):
    points, weight = np.array([0.0, 1.0, 6.0]), np.array([1.0, 2.0, 1.0])
    model = fitted(points, weight=weight, bandwidth=1.5, kernel=kernel)
    drawn = model.sample(np.zeros(20_000, np.int32), np.random.default_rng(0))[:, 0]
    grid = np.linspace(-10, 16, 20_001)
    mass = np.exp(model.log_density(grid[:, None])[:, 0])
    cdf = scipy.integrate.cumulative_trapezoid(mass, grid, initial=0)
    assert scipy.stats.kstest(drawn, lambda v: np.interp(v, grid, cdf)).pvalue > 0.01
    again = model.sample(np.zeros(20_000, np.int32), np.random.default_rng(0))[:, 0]
    assert_array_equal(drawn, again)


def test_expectation_fills_gaps_with_the_means_of_the_classes():
    x = np.array([[1.0, 10.0], [3.0, 20.0], [7.0, 40.0]])
    model = fitted(x, [0, 0, 1])
    assert_allclose(model.expect(np.array([[np.nan, 5.0]])), [[[2.0, 5.0], [7.0, 5.0]]])


def test_tables_show_points_bandwidth_and_mean():
    table = fitted([1.0, 3.0, 3.0, 9.0], [0, 0, 0, 1], bandwidth=0.5).tables(np.array(["a", "b"]), ["size"])[0]
    assert table.title == "size"
    assert_allclose(table.values, [[2, 1], [0.5, 0.5], [7 / 3, 9.0]])


def test_there_is_no_linear_form():
    with pytest.raises(sf.NoLinearFormError, match="not linear"):
        KernelNB().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]).linear_form()


# ------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("bad", [0, 0.0, -1.0, np.nan, np.inf, "wide", [1.0, 0.0], [[1.0]], None, True])
def test_a_bandwidth_that_makes_no_sense_is_refused(bad):
    with pytest.raises(sf.InvalidOptionError, match="bandwidth"):
        sf.Kernel(bandwidth=bad)


def test_other_options_that_make_no_sense_are_refused():
    with pytest.raises(sf.InvalidOptionError, match="kernel must be one of 'gaussian'"):
        sf.Kernel("tricube")
    for limit in (0, -3, 2.5):
        with pytest.raises(sf.InvalidOptionError, match="limit"):
            sf.Kernel(limit=limit)
    with pytest.raises(TypeError, match="prior"):
        sf.Kernel(prior=sf.Gamma(1, 1))
    with pytest.raises(sf.MismatchError, match="2 columns"):
        sf.Kernel(bandwidth=np.array([1.0, 2.0])).summarize([[1.0]], [0])
    for options in (
        {"bandwidth": 0.0},
        {"bandwidth": "wide"},
        {"kernel": "?"},
        {"limit": 0},
        {"bandwidth": [1.0, -1.0]},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            KernelNB(**options).fit([[1.0, 2.0], [2.0, 3.0]], [0, 1])


def test_options_are_equal_where_all_of_them_are_and_are_shown():
    assert sf.Kernel(bandwidth=0.5) == sf.Kernel(bandwidth=0.5)
    assert sf.Kernel(bandwidth=0.5) != sf.Kernel()
    assert repr(sf.Kernel("cosine", limit=10)) == "Kernel(kernel='cosine', bandwidth='silverman', limit=10)"


def test_infinite_values_are_refused_by_name():
    clf = KernelNB().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    with pytest.raises(sf.InfiniteValueError, match="row 1, column 0"):
        clf.predict([[0.0], [np.inf]])
    with pytest.raises(sf.InfiniteValueError, match="row 0, column 0"):
        clf.leave_one_out([[np.inf]], [0])
    with pytest.raises(sf.InfiniteValueError, match="row 0, column 0"):
        clf.partial_fit([[-np.inf]], [0])
    assert clf.class_count_.tolist() == [2, 2]


# ------------------------------------------------------------------------------------------ the estimator


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["x", "y", "z"], n)
    x = rng.normal(size=(n, 3)) + (y == "y")[:, None] * [0.0, 2.0, 4.0]
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, y


def test_pieces_halves_and_the_whole_give_the_same_model():
    x, y = mixed()
    whole = KernelNB().fit(x, y)
    pieces = KernelNB()
    for i in range(0, 300, 70):
        pieces.partial_fit(x[i : i + 70], y[i : i + 70])
    halves = KernelNB().fit(x[:150], y[:150]) + KernelNB().fit(x[150:], y[150:])
    for other in (pieces, halves):
        assert other.statistics_ == whole.statistics_
        assert_array_equal(other.predict_proba(x), whole.predict_proba(x))
    assert_allclose(pieces.bandwidth_, whole.bandwidth_, rtol=1e-15)


def test_forgetting_and_dropping_equal_never_having_seen():
    x, y = mixed()
    clf = KernelNB().fit(x, y).forget(x[200:], y[200:])
    assert clf.statistics_ == KernelNB().fit(x[:200], y[:200]).statistics_
    kept = y != "y"
    assert KernelNB().fit(x, y).drop_class("y").statistics_ == KernelNB().fit(x[kept], y[kept]).statistics_


def test_probabilities_are_bayes_rule_over_direct_sums():
    x, y = mixed()
    clf = KernelNB(bandwidth=0.4, kernel="biweight", priors=[0.2, 0.3, 0.5]).fit(x, y)
    question = np.nan_to_num(x[:40])
    joint = np.log([0.2, 0.3, 0.5]) + np.stack(
        [
            sum(direct("biweight", question[:, j], x[(y == c) & ~np.isnan(x[:, j]), j], 0.4) for j in range(3))
            for c in "xyz"
        ],
        axis=1,
    )
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    assert_allclose(clf.predict_proba(question), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    assert_allclose(clf.class_prior_, [0.2, 0.3, 0.5])


def test_shapes_that_a_gaussian_cannot_tell_apart_are_told_apart():
    rng = np.random.default_rng(13)
    ring = rng.choice([-2.0, 2.0], 500) + rng.normal(size=500) * 0.2
    centre = rng.normal(size=500) * 2.0
    x, y = np.concatenate([ring, centre])[:, None], np.repeat(["ring", "centre"], 500)
    assert KernelNB().fit(x, y).score(x, y) > 0.8


def test_a_bounded_sample_stays_small_and_near():
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(20_000, 1)), np.zeros(20_000)
    exact, bounded = KernelNB().fit(x, y), KernelNB(limit=500)
    for i in range(0, 20_000, 1000):
        bounded.partial_fit(x[i : i + 1000], y[i : i + 1000])
    assert len(bounded.statistics_.statistic.parts[0].weight) <= 1000
    assert bounded.class_count_.tolist() == [20_000]
    grid = np.linspace(-3, 3, 101)[:, None]
    a, b = (m.predict_joint_log_proba(grid)[:, 0] for m in (exact, bounded))
    assert np.abs(a - b).max() < 0.02


def test_a_fitted_estimator_can_be_pickled_and_its_bandwidths_not_changed():
    x, y = mixed()
    clf = KernelNB(kernel="cosine").fit(x, y)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(x), clf.predict_proba(x))
    with pytest.raises(ValueError, match="read-only"):
        clf.bandwidth_[0] = 1.0
    assert clf.bandwidth_.shape == (3, 3)


THREADS = """
import sys, numpy as np, suffice as sf
rng = np.random.default_rng(0)
x, y = rng.normal(size=(30_000, 2)), rng.integers(0, 3, 30_000)
for kernel in ("gaussian", "epanechnikov", "triangular", "uniform", "biweight", "cosine"):
    model = sf.Model.fit(x, y, sf.Kernel(kernel))
    sys.stdout.write(model.log_joint(x * 1.1).tobytes().hex())
few, family = x[:2000], sf.Kernel()
s = family.summarize(few, y[:2000]).statistic
out = family.leave_one_out(s, family.estimate(s), few, y[:2000].astype(np.int32), None)
sys.stdout.write(out.tobytes().hex())
"""


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits():
    def run(threads: int) -> str:
        env = {**os.environ, "SUFFICE_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", THREADS]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    assert run(1) == run(2) == run(3)


def test_many_rows_of_few_values_have_the_densities_of_those_values():
    rng = np.random.default_rng(5)
    family = sf.Kernel()
    x, y = rng.integers(0, 50, (500, 2)).astype(float), rng.integers(0, 2, 500)
    fitted = family.estimate(family.summarize(x, y).statistic)
    rows = rng.integers(-5, 60, (100_000, 2)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = fitted.log_density(rows)
    some = rng.choice(100_000, 500, replace=False)
    np.testing.assert_allclose(found[some], fitted.log_density(rows[some]), rtol=1e-12)


@pytest.mark.parametrize("rounded", [1 - 2.0**-52, 1 + 2.0**-52])
def test_a_bandwidth_does_not_depend_on_the_last_digit_of_a_weight(rounded):
    x, labels = np.array([[0.0], [1.0], [1.5], [4.0]]), ["a"] * 4
    weight = np.array([1.0, 0.75, 0.7, 0.74])
    exact = KernelNB().fit(x, labels, sample_weight=weight)
    near = KernelNB().fit(x, labels, sample_weight=weight * np.where(weight == 1, rounded, 1.0))
    np.testing.assert_allclose(near.bandwidth_, exact.bandwidth_, rtol=1e-9)
