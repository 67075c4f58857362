"""Gaussian mixtures by EM: every step against the oracle, the optimum against scikit-learn, and what can go wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

import reference
import suffice as sf
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    NoLinearFormError,
    NotConvergedWarning,
    NotPartError,
)
from suffice.naive_bayes import MixtureNB

# ------------------------------------------------------------------------------------------ problems


def bumps(rng, n, centres=(0.0, 5.0), deviations=(1.0, 0.5), shares=(0.6, 0.4)):
    """Draw numbers from a mixture, (n,)."""
    k = rng.choice(len(centres), size=n, p=shares)
    return rng.normal(np.array(centres)[k], np.array(deviations)[k])


def block(rng, n):
    """Draw rows of two columns from two slanted clouds."""
    slant = np.array([[1.0, 0.7], [0.0, 0.6]])
    return rng.normal(size=(n, 2)) @ slant + np.where(rng.random((n, 1)) < 0.4, [4.0, -1.0], [0.0, 1.0])


def with_gaps(rng, x, share=0.2):
    x = x.copy()
    x[rng.random(x.shape) < share] = np.nan
    return x


def estimated(family, x, y=None, weight=None):
    y = np.zeros(len(x), int) if y is None else y
    return family.estimate(family.summarize(x, y, weight).statistic)


@contextmanager
def stopped_early():
    """EM is told to stop after a few steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        yield


def parameters(distribution, c=0, column=0):
    """Shares, means (k, d) and covariances (k, d, d) of one class, however they were found."""
    if hasattr(distribution, "components"):
        own = distribution.components[c]
        return own.share, own.mean, own.covariance
    used = distribution.used[c, column]
    share, mean, variance = (
        table[c, column, :used] for table in (distribution.share, distribution.mean, distribution.variance)
    )
    return share, mean[:, None], variance[:, None, None]


# ------------------------------------------------------------------------------------------ against the oracle


@pytest.mark.parametrize("components", [1, 2, 3])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_every_step_of_a_column_is_the_oracles(components, steps):
    rng = np.random.default_rng(components)
    x, weight = bumps(rng, 60)[:, None], rng.uniform(0.2, 3.0, 60)
    with stopped_early():
        before = estimated(sf.Mixture(components, tol=0.0, max_iter=steps), x, weight=weight)
        after = estimated(sf.Mixture(components, tol=0.0, max_iter=steps + 1), x, weight=weight)
    unit = np.sqrt(np.cov(x.T, aweights=weight, ddof=0).reshape(1))
    expected = reference.mixture_step(x, weight, *parameters(before), 1e-6, unit)
    for found, wanted in zip(parameters(after), expected, strict=True):
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert_allclose(after.score[0, 0], reference.mixture_log_likelihood(x, weight, *parameters(after)), rtol=1e-12)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("steps", [1, 4])
def test_every_step_of_a_block_is_the_oracles(gaps, steps):
    rng = np.random.default_rng(steps)
    x, weight = with_gaps(rng, block(rng, 50), gaps), rng.uniform(0.2, 3.0, 50)
    seen = ~np.isnan(x).all(axis=1)
    x, weight = x[seen], weight[seen]
    with stopped_early():
        before = estimated(sf.Mixture(2, joint=True, tol=0.0, max_iter=steps), x, weight=weight)
        after = estimated(sf.Mixture(2, joint=True, tol=0.0, max_iter=steps + 1), x, weight=weight)
    unit = np.sqrt(
        [
            np.average((c[s] - np.average(c[s], weights=weight[s])) ** 2, weights=weight[s])
            for c, s in zip(x.T, ~np.isnan(x.T), strict=True)
        ]
    )
    expected = reference.mixture_step(x, weight, *parameters(before), 1e-6, unit)
    order = np.argsort(expected[1][:, 0])
    for found, wanted in zip(parameters(after), expected, strict=True):
        assert_allclose(found, wanted[order], rtol=1e-8, atol=1e-10)
    assert_allclose(after.score[0], reference.mixture_log_likelihood(x, weight, *parameters(after)), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_log_densities_are_the_direct_sums(dtype, order):
    rng = np.random.default_rng(3)
    columns, classes = 37, 3  # more columns than are multiplied together before a logarithm is taken
    y = rng.integers(classes, size=300)
    x = rng.normal(size=(300, columns)) + y[:, None] + np.where(rng.random((300, columns)) < 0.5, 4.0, 0.0)
    found = estimated(sf.Mixture(3, max_iter=30, tol=1e-2), x, y)
    rows = np.asarray(with_gaps(rng, 3 * rng.normal(size=(130, columns))), dtype=dtype, order=order)
    expected = np.zeros((130, classes))
    for c in range(classes):
        for j in range(columns):
            share, mean, variance = (np.ravel(p) for p in parameters(found, c, j))
            terms = np.log(share) + stats.norm.logpdf(np.float64(rows[:, j : j + 1]), mean, np.sqrt(variance))
            expected[:, c] += np.where(np.isnan(rows[:, j]), 0.0, logsumexp(terms, axis=1))
    assert_allclose(found.log_density(rows), expected, rtol=1e-11)


def test_log_densities_of_a_block_are_the_direct_sums():
    rng = np.random.default_rng(4)
    found = estimated(sf.Mixture(2, joint=True), block(rng, 200))
    rows = with_gaps(rng, 3 * rng.normal(size=(40, 2)), 0.3)
    expected = [logsumexp(reference.mixture_terms(row, *parameters(found))) for row in rows]
    assert_allclose(found.log_density(rows)[:, 0], expected, rtol=1e-11, atol=1e-13)


# ------------------------------------------------------------------------------------------ against scikit-learn


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("joint", [False, True])
def test_the_likelihood_is_as_high_as_scikit_learns(seed, joint):
    rng = np.random.default_rng(seed)
    x = block(rng, 400) if joint else bumps(rng, 400, (-3, 0, 3), (0.6, 0.5, 0.9), (0.3, 0.4, 0.3))[:, None]
    components = 2 if joint else 3
    theirs = GaussianMixture(components, tol=1e-7, max_iter=2000, n_init=3, random_state=0).fit(x)
    ours = estimated(sf.Mixture(components, joint=joint, tol=1e-7, max_iter=2000, n_init=3), x)
    assert ours.score.item() >= theirs.score(x) - 1e-5
    assert_allclose(ours.log_density(x).mean(), ours.score.item(), rtol=1e-12)


def test_tol_means_what_it_means_to_scikit_learn():
    x = bumps(np.random.default_rng(5), 500)[:, None]
    for tol in (1e-2, 1e-4, 1e-6):
        family = sf.Mixture(2, tol=tol, max_iter=1000)
        gains = np.diff(family.trace(family.summarize(x, np.zeros(500)).statistic, 0)[:-1])
        assert gains[-1] < tol
        assert (gains[:-1] >= tol).all()
        start = estimated(sf.Mixture(2), x)
        theirs = GaussianMixture(2, tol=tol, max_iter=1000, means_init=start.mean[0, 0][:, None]).fit(x)
        ours = estimated(family, x)
        assert abs(ours.score.item() - theirs.score(x)) < 5 * tol


# ------------------------------------------------------------------------------------------ closed forms


def test_one_component_is_one_gaussian():
    rng = np.random.default_rng(6)
    x, y, weight = with_gaps(rng, rng.normal(1e8, 2.0, (50, 3))), rng.integers(2, size=50), rng.uniform(0.1, 2, 50)
    mixture, gaussian = (sf.Model.fit(x, y, f, weight=weight) for f in (sf.Mixture(1), sf.Gaussian(prior=None)))
    assert_allclose(mixture.distribution.mean[:, :, 0], gaussian.distribution.mean, rtol=1e-15)
    assert_allclose(mixture.distribution.variance[:, :, 0], gaussian.distribution.variance, rtol=1e-9)
    assert_allclose(mixture.log_joint(x), gaussian.log_joint(x), rtol=1e-8)
    assert mixture.n_parameters == gaussian.n_parameters


def test_one_joint_component_has_the_mean_and_covariance_of_the_rows():
    rng = np.random.default_rng(7)
    x, weight = block(rng, 80), rng.uniform(0.1, 2, 80)
    share, mean, covariance = parameters(estimated(sf.Mixture(1, joint=True), x, weight=weight))
    assert_allclose(share, [1.0])
    assert_allclose(mean[0], np.average(x, axis=0, weights=weight), rtol=1e-12)
    assert_allclose(covariance[0], np.cov(x.T, aweights=weight, ddof=0), rtol=1e-12)


def test_a_joint_block_of_one_column_is_a_column():
    x = bumps(np.random.default_rng(8), 300)[:, None]
    apart, joint = (estimated(sf.Mixture(2, joint=j, tol=1e-12, max_iter=5000), x) for j in (False, True))
    for found, wanted in zip(parameters(joint), parameters(apart), strict=True):
        assert_allclose(found, wanted, rtol=1e-4)
    assert_allclose(joint.score, apart.score[0], atol=1e-9)


@pytest.mark.parametrize("joint", [False, True])
def test_units_and_offsets_change_nothing(joint):
    rng = np.random.default_rng(9)
    x = np.round(block(rng, 100), 6)
    plain = estimated(sf.Mixture(2, joint=joint), x)
    for factor, offset in ((2.0**20, 0.0), (2.0**-20, 0.0), (1.0, 2.0**26), (2.0**-300, 0.0), (2.0**300, 0.0)):
        moved = estimated(sf.Mixture(2, joint=joint), x * factor + offset)
        for column in range(1 if joint else 2):
            share, mean, covariance = parameters(plain, 0, column)
            assert_allclose(parameters(moved, 0, column)[0], share, rtol=1e-5)
            assert_allclose(parameters(moved, 0, column)[1], mean * factor + offset, rtol=1e-6)
            assert_allclose(parameters(moved, 0, column)[2] / factor / factor, covariance, rtol=1e-5)


# ------------------------------------------------------------------------------------------ the algebra


JOINT = pytest.mark.parametrize("joint", [False, True])


def same(a, b, rtol=1e-9):
    rows = np.random.default_rng(0).normal(1, 3, (30, a.n_columns))
    assert_allclose(a.log_density(rows), b.log_density(rows), rtol=rtol)


@JOINT
def test_integer_weights_are_repeated_rows(joint):
    rng = np.random.default_rng(10)
    x, y, times = with_gaps(rng, block(rng, 60), 0.1), rng.integers(2, size=60), rng.integers(0, 4, 60)
    family = sf.Mixture(2, joint=joint, select="bic")
    again = np.repeat(np.arange(60), times)
    same(estimated(family, x, y, times.astype(float)), estimated(family, x[again], y[again]))


@JOINT
def test_merging_halves_and_forgetting_are_refitting(joint):
    rng = np.random.default_rng(11)
    x, y = with_gaps(rng, block(rng, 200), 0.1), np.arange(200) % 2
    family = sf.Mixture(2, joint=joint, n_init=2)
    whole, first, rest = (family.summarize(x[s], y[s]) for s in (slice(None), slice(90), slice(90, None)))
    for statistics, wanted in ((first + rest, whole), (whole - rest, first)):
        a, b = family.estimate(statistics.statistic), family.estimate(wanted.statistic)
        same(a, b, rtol=0)
    shuffled = rng.permutation(200)
    same(estimated(family, x[shuffled], y[shuffled]), family.estimate(whole.statistic), rtol=0)


def test_the_estimator_streams_merges_forgets_and_drops_classes():
    rng = np.random.default_rng(12)
    x, y = with_gaps(rng, block(rng, 90), 0.1), np.array(["a", "b", "c"])[np.arange(90) % 3]
    whole = MixtureNB(n_init=3).fit(x, y)
    pieces = MixtureNB(n_init=3)
    for part in np.array_split(np.arange(90), 4):
        pieces.partial_fit(x[part], y[part])
    merged = MixtureNB(n_init=3).fit(x[:40], y[:40]) + MixtureNB(n_init=3).fit(x[40:], y[40:])
    for other in (pieces, merged):
        assert_array_equal(other.predict_log_proba(x), whole.predict_log_proba(x))
    without = MixtureNB(n_init=3).fit(x[y != "b"], y[y != "b"])
    assert_array_equal(whole.drop_class("b").predict_log_proba(x), without.predict_log_proba(x))
    assert_array_equal(pieces.forget(x[y == "b"], y[y == "b"]).predict_log_proba(x), without.predict_log_proba(x))


@JOINT
def test_leaving_one_out_is_refitting_without_the_row(joint):
    rng = np.random.default_rng(13)
    x, y = block(rng, 24), np.arange(24) % 2
    family = sf.Mixture(2, joint=joint)
    statistic = family.summarize(x, y).statistic
    found = family.leave_one_out(statistic, family.estimate(statistic), x, y.astype(np.int32), None)
    for i in (0, 7, 23):
        rest = np.arange(24) != i
        assert_allclose(found[i], estimated(family, x[rest], y[rest]).log_density(x[i : i + 1])[0], rtol=1e-10)


# ------------------------------------------------------------------------------------------ the likelihood rises

numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-50, 50, width=32))


@given(
    st.lists(st.tuples(numbers, st.sampled_from([1e-6, 0.5, 1.0, 3.0, 1e6])), min_size=1, max_size=25),
    st.integers(1, 4),
    st.sampled_from([0.0, 1e8]),
    st.integers(1, 2),
)
def test_no_step_lowers_the_likelihood_of_a_column(points, components, offset, n_init):
    x, weight = np.array(points).T
    family = sf.Mixture(components, tol=1e-9, max_iter=60, n_init=n_init)
    trace = family.trace(family.summarize(x[:, None] + offset, np.zeros(len(x)), weight).statistic, 0)
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-9).all(), np.diff(trace)


@pytest.mark.slow
@given(
    st.lists(st.tuples(*[st.one_of(numbers, st.just(np.nan))] * 3), min_size=1, max_size=14),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_no_step_lowers_the_likelihood_of_a_block(points, components, seed):
    x = np.array(points)
    family = sf.Mixture(components, joint=True, tol=1e-9, max_iter=25, random_state=seed)
    trace = family.trace(family.summarize(x, np.zeros(len(x))).statistic, 0)
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e-8).all(), np.diff(trace)
    with stopped_early():
        assert np.isfinite(estimated(family, x).log_density(x)).all()


@JOINT
def test_further_starts_never_do_worse(joint):
    rng = np.random.default_rng(14)
    x = rng.normal(size=(60, 2)) ** 3
    with stopped_early():
        scores = [estimated(sf.Mixture(4, joint=joint, n_init=n), x).score for n in (1, 2, 8)]
    assert (scores[1] >= scores[0]).all()
    assert (scores[2] >= scores[1]).all()


# ------------------------------------------------------------------------------------------ how many


@pytest.mark.parametrize("true", [1, 2, 3])
def test_bic_finds_the_true_number_of_components(true):
    rng = np.random.default_rng(15)
    x = np.stack(
        [bumps(rng, 600, np.arange(true) * 6.0, np.ones(true), np.ones(true) / true) for _ in range(3)], axis=1
    )
    assert_array_equal(estimated(sf.Mixture(5, select="bic", tol=1e-5), x).used, [[true] * 3])
    centres = np.array([[0, 0], [6, 6], [-6, 6]])[rng.integers(true, size=400)]
    joint = estimated(
        sf.Mixture(4, select="bic", joint=True, n_init=2, max_iter=500), centres + rng.normal(size=(400, 2))
    )
    assert len(joint.components[0].share) == true


def test_bic_is_schwarzs_criterion():
    x = bumps(np.random.default_rng(16), 150, (0.0, 2.5))[:, None]
    weight = np.full(150, 2.0)
    scores = [estimated(sf.Mixture(k, tol=1e-6, max_iter=2000), x, weight=weight).score.item() for k in (1, 2, 3)]
    costs = [(3 * k - 1) * np.log(300) - 2 * 300 * score for k, score in zip((1, 2, 3), scores, strict=True)]
    chosen = estimated(sf.Mixture(3, select="bic", tol=1e-6, max_iter=2000), x, weight=weight)
    assert chosen.used.item() == 1 + int(np.argmin(costs))
    assert chosen.score.item() == scores[int(np.argmin(costs))]


# ------------------------------------------------------------------------------------------ degenerate cases


@JOINT
def test_more_components_than_points_gives_one_for_each_point(joint):
    found = estimated(sf.Mixture(5, joint=joint), np.array([[1.0], [4.0], [4.0]]))
    share, mean, covariance = parameters(found)
    assert_allclose(share, [1 / 3, 2 / 3], rtol=1e-12)
    assert_allclose(mean.ravel(), [1.0, 4.0], rtol=1e-12)
    assert_allclose(covariance.ravel(), 1e-6 * 2.0, rtol=1e-9, err_msg="the floor times the variance of the class")


@JOINT
@pytest.mark.parametrize("value", [0.0, 3.0, 1e8])
def test_a_constant_column_is_a_point_mass(joint, value):
    gaussian = estimated(sf.Gaussian(prior=None), np.full((4, 1), value))
    for rows in (1, 4):
        found = estimated(sf.Mixture(3, joint=joint), np.full((rows, 1), value))
        share, mean, covariance = parameters(found)
        assert_allclose((share[0], mean[0, 0]), (1.0, value))
        assert_allclose(covariance.ravel(), gaussian.variance.ravel(), rtol=1e-6)
        assert np.isfinite(found.log_density(np.array([[value], [value + 1], [-1e300]]))).all()


@JOINT
def test_a_constant_column_beside_another_leaves_it_alone(joint):
    rng = np.random.default_rng(17)
    x = np.stack([bumps(rng, 100), np.full(100, 7.0)], axis=1)
    both, alone = (estimated(sf.Mixture(2, joint=joint), rows) for rows in (x, x[:, :1]))
    rows = np.array([[0.3, np.nan], [4.0, np.nan]])
    assert_allclose(both.log_density(rows), alone.log_density(rows[:, :1]), rtol=1e-6)


def test_a_class_without_values_in_a_column_takes_the_mixture_of_all():
    rng = np.random.default_rng(18)
    x, y = np.stack([bumps(rng, 90), bumps(rng, 90)], axis=1), np.arange(90) % 3
    x[y == 1, 0] = np.nan
    found = estimated(sf.Mixture(2), x, y)
    whole = estimated(sf.Mixture(2), x)
    assert_allclose(found.mean[1, 0], whole.mean[0, 0])
    assert_allclose(found.mean[1, 1], estimated(sf.Mixture(2), x[y == 1][:, 1:]).mean[0, 0])
    model = MixtureNB().partial_fit(x, y, classes=[0, 1, 2, 9])
    assert_allclose(model.means_[3], whole.mean[0], err_msg="a class declared, without rows")


def test_a_class_of_a_block_that_never_shows_a_column_takes_its_mean_and_variance_from_all():
    rng = np.random.default_rng(19)
    x, y = block(rng, 120), np.arange(120) % 2
    x[y == 1, 0] = np.nan
    found = estimated(sf.Mixture(1, joint=True), x, y).components[1]
    assert_allclose(found.mean[0], [np.nanmean(x[:, 0]), x[y == 1, 1].mean()], rtol=1e-9)
    expected = np.diag([np.nanvar(x[:, 0]), x[y == 1, 1].var()])
    assert_allclose(found.covariance[0], expected, rtol=1e-9, atol=1e-12)
    nobody = estimated(sf.Mixture(2, joint=True), np.full((3, 2), np.nan))
    assert_allclose(nobody.log_density(np.array([[0.0, 0.0]])), -np.log(2 * np.pi))


def test_a_column_nobody_shows_anything_of_says_nothing():
    x = np.array([[0.0, np.nan], [1.0, np.nan], [5.0, np.nan]])
    found = estimated(sf.Mixture(2), x, [0, 0, 1])
    assert found.used[:, 1].tolist() == [0, 0]
    with_it, without = (found.log_density(np.array([[0.5, v]])) for v in (3.0, np.nan))
    assert_array_equal(with_it, without)
    assert np.isnan(found.sample(np.zeros(3, np.int32), np.random.default_rng(0))[:, 1]).all()
    assert np.isnan(found.expect(x)[:, :, 1]).all()
    assert found.n_parameters == 5 + 2


@JOINT
def test_log_densities_are_finite_far_outside_and_never_nan(joint):
    rng = np.random.default_rng(20)
    x = block(rng, 50)
    x[:, 1] = np.where(rng.random(50) < 0.5, 1.0, x[:, 1])
    found = estimated(sf.Mixture(3, joint=joint), x)
    far = np.array([[1e10, 0], [1e200, -1e200], [-1e308, 1e308], [1e-320, np.nan], [np.nan, np.nan]])
    assert np.isfinite(found.log_density(far)).all()
    assert_allclose(found.log_density(far)[-1], 0.0, atol=1e-15)
    with pytest.raises(InvalidDataError, match="Found inf in row 0, column 1"):
        found.log_density(np.array([[1.0, np.inf]]))


@JOINT
def test_sparse_rows_are_dense_ones(joint):
    rng = np.random.default_rng(32)
    x, y = np.where(rng.random((60, 2)) < 0.3, 0.0, block(rng, 60)), np.arange(60) % 2
    family, sparse = sf.Mixture(2, joint=joint), scipy.sparse.csr_matrix(x)
    model = sf.Model.fit(sparse, y, family)
    assert_array_equal(model.log_joint(sparse), sf.Model.fit(x, y, family).log_joint(x))


@JOINT
def test_values_whose_squares_overflow_are_refused(joint):
    for column in (0, 1):
        x = np.ones((3, 2))
        x[1, column] = -1e160
        with pytest.raises(InvalidDataError, match=f"Column {column} holds a value too large"):
            sf.Mixture(joint=joint).summarize(x, [0, 0, 1])


@JOINT
def test_weights_of_any_size_are_shares(joint):
    rng = np.random.default_rng(21)
    x, weight = block(rng, 50), rng.uniform(0.5, 2.0, 50)
    for factor in (1e-12, 1e12):
        a, b = (estimated(sf.Mixture(2, joint=joint), x, weight=w) for w in (weight, weight * factor))
        same(a, b, rtol=1e-8)


# ------------------------------------------------------------------------------------------ gaps in a block


def test_a_gap_in_a_block_is_integrated_out_exactly():
    rng = np.random.default_rng(22)
    found = estimated(sf.Mixture(2, joint=True), with_gaps(rng, block(rng, 150), 0.2))

    def density(value, known):
        return float(np.exp(found.log_density(np.array([[known, value]]))[0, 0]))

    for known in (-1.0, 2.0, 5.0):
        whole = quad(density, -30, 30, args=(known,), points=[-2, 0, 2], epsabs=1e-12)[0]
        mean = quad(lambda v, k: v * density(v, k), -30, 30, args=(known,), points=[-2, 0, 2], epsabs=1e-12)[0] / whole
        row = np.array([[known, np.nan]])
        assert_allclose(np.exp(found.log_density(row)[0, 0]), whole, rtol=1e-8)
        assert_allclose(found.expect(row)[0, 0], [known, mean], rtol=1e-8)
    share, means, _ = parameters(found)
    assert_allclose(found.expect(np.full((1, 2), np.nan))[0, 0], share @ means, rtol=1e-12)


def test_rows_with_gaps_teach_a_block():
    rng = np.random.default_rng(23)
    x = block(rng, 3000)
    hidden = np.where(rng.random((3000, 1)) < 0.7, x, np.where([True, False], x, np.nan))
    share, mean, _ = parameters(estimated(sf.Mixture(2, joint=True, tol=1e-6), hidden))
    assert_allclose(share, [0.6, 0.4], atol=0.04)
    assert_allclose(mean, [[0, 1], [4, -1]], atol=0.15)


# ------------------------------------------------------------------------------------------ the distribution


@JOINT
def test_drawn_rows_have_the_mixtures_moments(joint):
    rng = np.random.default_rng(24)
    x, y = block(rng, 400), np.arange(400) % 2
    model = sf.Model.fit(x, y, sf.Mixture(2, joint=joint))
    rows, labels = model.sample(60_000, random_state=1)
    for label in (0, 1):
        own, data = rows[labels == label], x[y == label]
        assert_allclose(own.mean(axis=0), data.mean(axis=0), atol=0.05)
        assert_allclose(own.std(axis=0), data.std(axis=0), rtol=0.03)
    correlation = np.corrcoef(rows.T)[0, 1]
    assert_allclose(correlation, np.corrcoef(x.T)[0, 1] if joint else 0.0, atol=0.05)


def test_gaps_of_columns_apart_are_expected_at_the_class_mean():
    rng = np.random.default_rng(25)
    x, y = block(rng, 100), np.arange(100) % 2
    found = estimated(sf.Mixture(2), x, y)
    filled = found.expect(np.array([[np.nan, 2.0]]))
    assert_allclose(filled[0], [[x[y == 0, 0].mean(), 2.0], [x[y == 1, 0].mean(), 2.0]], rtol=1e-9)


def test_tables_parameters_and_the_missing_linear_form():
    rng = np.random.default_rng(26)
    x, y = block(rng, 100), np.arange(100) % 2
    apart, joint = (sf.Model.fit(x, y, sf.Mixture(2, joint=j)) for j in (False, True))
    assert apart.n_parameters == 1 + 2 * 2 * 5
    assert joint.n_parameters == 1 + 2 * (1 + 2 * (2 + 3))
    shown = "\n".join(map(str, apart.tables(["u", "v"])))
    assert "deviation 2" in shown
    assert apart.tables()[1].values[1] == pytest.approx(apart.distribution.mean[:, 0, 0])
    shown = "\n".join(map(str, joint.tables(["u", "v"])))
    assert "mean of v" in shown
    assert "1, covariance of component 2" in shown
    for model in (apart, joint):
        with pytest.raises(NoLinearFormError, match="mixtures are not linear"):
            model.linear()


# ------------------------------------------------------------------------------------------ options


def test_stopping_early_warns_of_where():
    rng = np.random.default_rng(27)
    x, y = block(rng, 100), np.arange(100) % 2
    with pytest.warns(
        NotConvergedWarning, match=r"converge in 2 steps for class 0, column 0 and 3 more: .* Raise max_iter"
    ):
        estimated(sf.Mixture(2, tol=0.0, max_iter=2), x, y)
    with pytest.warns(
        NotConvergedWarning,
        match="for class 0 and 1 more: the last step still changed the mean log-likelihood by 0 or more",
    ):
        estimated(sf.Mixture(2, tol=0.0, max_iter=2, joint=True), x, y)


BAD = [
    ({"components": 0}, "components must be an integer from 1 to"),
    ({"components": 10**9}, "components must be an integer from 1 to"),
    ({"max_iter": 10**9}, "max_iter must be an integer from 1 to"),
    ({"max_iter": 10**5, "n_init": 1000}, r"max_iter · n_init must be at most"),
    ({"components": 2.5}, "components must be an integer"),
    ({"components": True}, "components must be an integer"),
    ({"select": "aic"}, "select must be 'bic' or None"),
    ({"tol": -1.0}, "tol must be a finite number ≥ 0"),
    ({"tol": np.nan}, "tol must be a finite number ≥ 0"),
    ({"max_iter": 0}, "max_iter must be an integer from 1 to"),
    ({"n_init": 0}, "n_init must be an integer from 1 to"),
    ({"floor": 0.0}, "floor must be a finite number from 1e-10 to 1"),
    ({"floor": np.nan}, "floor must be a finite number from 1e-10 to 1"),
    ({"random_state": -1}, "random_state must be an integer ≥ 0"),
    ({"random_state": None}, "random_state must be an integer"),
    ({"limit": 0}, "limit must be an integer ≥ 1 or None"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[str(b[0]) for b in BAD])
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        sf.Mixture(**options)


def test_a_mixture_has_no_option_for_a_prior():
    with pytest.raises(TypeError, match="prior"):
        sf.Mixture(3, prior=sf.Dirichlet(1.0))
    assert repr(sf.Mixture(3)).startswith("Mixture(components=3, ")


def test_a_limit_bounds_what_is_kept_and_hardly_changes_the_mixture():
    rng = np.random.default_rng(28)
    x = bumps(rng, 20_000)[:, None]
    family = sf.Mixture(2, limit=500, tol=1e-5)
    statistics = family.summarize(x, np.zeros(20_000))
    assert len(statistics.statistic.parts[0].weight) <= 500
    found, whole = family.estimate(statistics.statistic), estimated(sf.Mixture(2, tol=1e-5), x)
    assert_allclose(found.mean, whole.mean, atol=0.01)
    assert_allclose(found.variance, whole.variance, rtol=0.02)
    assert statistics - family.summarize(x[:10], np.zeros(10)) == family.summarize(x[10:], np.zeros(19_990))
    with pytest.raises(NotPartError):
        statistics - family.summarize(x[:1] + 1e3, [0.0])


# ------------------------------------------------------------------------------------------ the estimator


def test_attributes_are_the_mixtures():
    rng = np.random.default_rng(29)
    x, y = block(rng, 200), np.array(["a", "b"])[np.arange(200) % 2]
    x[y == "b", 1] = 3.0
    model = MixtureNB(components=3, select="bic", priors=[0.3, 0.7]).fit(x, y)
    assert model.weights_.shape == model.means_.shape == model.variances_.shape == (2, 2, 3)
    assert model.n_components_[1, 1] == 1
    assert (model.n_iter_ >= 1).all()
    assert_allclose(model.weights_.sum(axis=2), 1.0)
    assert ((model.weights_ > 0).sum(axis=2) == model.n_components_).all()
    assert_allclose(model.class_prior_, [0.3, 0.7])
    with pytest.raises(ValueError, match="read-only"):
        model.means_[0] = 0.0


def test_random_states_are_those_of_scikit_learn():
    x, y = np.random.default_rng(30).normal(size=(40, 2)), np.arange(40) % 2
    with stopped_early():
        seeded = [MixtureNB(components=4, n_init=3, random_state=s).fit(x, y).means_ for s in (7, 7)]
        drawn = [
            MixtureNB(components=4, n_init=3, random_state=np.random.RandomState(1)).fit(x, y).means_ for _ in range(2)
        ]
        MixtureNB(random_state=None).fit(x, y).predict(x)
    assert_array_equal(*seeded)
    assert_array_equal(*drawn)


def test_estimators_of_other_options_do_not_merge():
    x, y = np.random.default_rng(31).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(MismatchError, match="components is 2 here and 3 there"):
        MixtureNB().fit(x, y) + MixtureNB(components=3).fit(x, y)


PROGRAM = """
import numpy as np, suffice as sf
rng = np.random.default_rng(0)
y = np.arange(30_000) % 3
x = rng.normal(size=(30_000, 4)) + np.where(rng.random((30_000, 4)) < 0.4, 3.0, 0.0) + y[:, None]
model = sf.Model.fit(x, y, sf.Mixture(3, n_init=2, max_iter=30, tol=1e-2))
print(hash(model.distribution.mean.tobytes()), hash(model.log_joint(x).tobytes()))
"""


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits():
    found = set()
    for threads in (1, 2, 5):
        env = {**os.environ, "SUFFICE_NUM_THREADS": str(threads), "PYTHONHASHSEED": "0"}
        found.add(subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, check=True).stdout)
    assert len(found) == 1


def test_the_likelihood_of_joint_mixtures_never_falls():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(60, 2)), rng.normal(4.0, 1.0, (60, 2))])
    family = sf.Mixture(2, joint=True)
    statistic = family.summarize(x, np.zeros(120)).statistic
    trace = family.trace(statistic, 0)
    assert len(trace) > 2
    assert (np.diff(trace) > -1e-9).all()


def test_the_formula_of_classes_with_other_numbers_of_components_is_the_density():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(240, 2)), np.repeat(["one", "two"], 120)
    x[120:180] += [9.0, -6.0]
    model = sf.Model.fit(x, y, sf.Mixture(components=2, select="bic", joint=True))
    assert [len(each.share) for each in model.distribution.components] == [1, 2]
    found = model.formula(["a", "b"]).posterior({"a": x[:, 0], "b": x[:, 1]})
    assert_allclose(found, model.posterior(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("joint", [False, True])
def test_the_trace_ends_at_the_mean_log_likelihood_of_what_is_found(joint):
    x, family = np.random.default_rng(4).normal(size=(40, 1)), sf.Mixture(components=2, joint=joint)
    x[:15] += 4.0
    statistic = family.summarize(x, np.zeros(40)).statistic
    assert_allclose(family.trace(statistic, 0)[-1], family.estimate(statistic).log_density(x).mean(), rtol=1e-12)
