"""The multivariate Gaussian and its every option against the oracle; gaps, rank, leaving one out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_iris

import reference
import suffice as sf
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError, NoLinearFormError, NotPartError
from suffice.model.joint import leave_one_out

LABELS = np.array(["ant", "bee", "ox"])
D = 4


def problem(seed=0, n=45, d=D, gaps=0.0, weights=(0, 1, 2, 3)):
    """Correlated rows in different units, string labels in no order, whole weights some of which are 0."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    mix = rng.normal(size=(3, d, d)) + 0.5 * np.eye(d)
    x = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mix[y]) * (1.0 + np.arange(d)) + rng.normal(0, 3, (3, d))[y]
    rows = rng.normal(0, 4, (9, d))
    if gaps:
        x[rng.random(x.shape) < gaps] = np.nan
        rows[rng.random(rows.shape) < 0.4] = np.nan
        rows[0] = np.nan
    weight = rng.choice(np.array(weights, float), n) if len(weights) else None
    return x, LABELS[y], weight, rows


def point_of(model):
    distribution = model.distribution
    covariance = np.broadcast_to(distribution.covariance, (len(model.labels), *distribution.covariance.shape[1:]))
    return distribution.mean, covariance


def fit(x, y, weight=None, **options):
    return sf.Model.fit(x, y, sf.MultivariateGaussian(**options), weight=weight)


# ------------------------------------------------------------------------------------- against the oracle

SHRINKAGES = [
    (None, "sphere"),
    *product([0, 0.3, 1, "ledoit-wolf", "oas"], ["sphere", "diagonal", "identity"]),
]
TIES = [(False, None), (True, None), (True, [0.5, 0.2, 0.3])]


@pytest.mark.parametrize(("shrinkage", "toward"), SHRINKAGES, ids=str)
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("unbiased", [False, True], ids=["n", "n-1"])
@pytest.mark.parametrize(("tied", "share"), TIES, ids=["each", "tied", "shared"])
def test_every_combination_of_options_is_the_oracles(shrinkage, toward, covariance, unbiased, tied, share):
    x, y, weight, rows = problem()
    rows[3, 1] = rows[4, [0, 2]] = np.nan
    options = {"covariance": covariance, "unbiased": unbiased, "shrinkage": shrinkage, "toward": toward}
    options |= {"tied": tied, "share": share}
    expected = reference.multivariate_gaussian(x, y, weight, LABELS, **options)
    model = fit(x, y, weight, prior=None, **options)
    mean, found = point_of(model)
    assert_allclose(mean, expected.parameters["mean"], rtol=1e-12)
    assert_allclose(found, expected.parameters["covariance"], rtol=1e-10, atol=1e-11)
    density = expected.log_density(rows)
    assert_allclose(model.distribution.log_density(rows), density, rtol=1e-9)
    prior = reference.log_class_prior(y, weight, LABELS)
    assert_allclose(model.log_posterior(rows), reference.log_posterior(density + prior, prior), rtol=1e-8, atol=1e-9)


PRIORS = [
    {},
    {"mean": [0.5, -1.0, 0.0, 2.0], "strength": 2.5, "freedom": 9.0, "scale": np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5},
    {"strength": 7.0},
    {"freedom": 30.0},
    {"scale": np.eye(4) * 9.0},
]


@pytest.mark.parametrize("learn", ["map", "mean", "predictive"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("told", PRIORS, ids=str)
def test_every_prior_and_way_of_learning_is_the_oracles(learn, tied, told):
    x, y, weight, rows = problem(1)
    rows[3, 1] = rows[4, [0, 2]] = rows[5, :3] = np.nan
    weight = weight * 0.7
    expected = reference.multivariate_gaussian(
        x, y, weight, LABELS, learn=learn, prior=reference.NormalInverseWishart(**told), tied=tied
    )
    model = fit(x, y, weight, prior=sf.NormalInverseWishart(**told), learn=learn, tied=tied)
    mean, found = point_of(model)
    assert_allclose(mean, expected.parameters["mean"], rtol=1e-12)
    assert_allclose(found, expected.parameters["covariance"], rtol=1e-10, atol=1e-12)
    assert_allclose(model.distribution.log_density(rows), expected.log_density(rows), rtol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_a_bare_family_has_a_weak_prior_and_learns_its_mean(tied):
    x, y, weight, rows = problem(2)
    expected = reference.multivariate_gaussian(x, y, weight, LABELS, learn="mean", tied=tied)
    assert_allclose(fit(x, y, weight, tied=tied).distribution.log_density(rows), expected.log_density(rows))


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize(("tied", "share"), TIES, ids=["each", "tied", "shared"])
@pytest.mark.parametrize("estimator", [LedoitWolf(), OAS(), EmpiricalCovariance(), ShrunkCovariance(shrinkage=0.4)])
def test_an_estimator_of_the_covariance_is_fitted_to_the_rows_of_each_class(covariance, tied, share, estimator):
    x, y, weight, rows = problem(3)
    options = {"covariance": covariance, "tied": tied, "share": share, "estimator": estimator}
    expected = reference.multivariate_gaussian(x, y, weight, LABELS, **options)
    model = fit(x, y, weight, **options)
    assert_allclose(point_of(model)[1], expected.parameters["covariance"], rtol=1e-10, atol=1e-11)
    assert_allclose(model.distribution.log_density(rows), expected.log_density(rows), rtol=1e-9)


def test_an_estimator_cannot_be_given_parts_of_rows():
    x, y, _, _ = problem()
    with pytest.raises(InvalidDataError, match="takes no weights"):
        fit(x, y, np.full(len(y), 0.5), estimator=LedoitWolf())


def test_an_estimator_without_a_covariance_is_refused():
    class Nothing(LedoitWolf):
        def fit(self, x, y=None):  # noqa: ARG002
            return self

    x, y, _, _ = problem()
    with pytest.raises(InvalidOptionError, match="does not have a covariance_ attribute"):
        fit(x, y, estimator=Nothing())


@pytest.mark.parametrize("n", [30, 300])
def test_shrinkage_is_scikit_learns(n):
    x, _, _, _ = problem(4, n, weights=())
    one = np.zeros(n, int)
    for shrinkage, peer in (("ledoit-wolf", LedoitWolf()), ("oas", OAS()), (0.2, ShrunkCovariance(shrinkage=0.2))):
        covariance = fit(x, one, shrinkage=shrinkage).distribution.covariance[0]
        assert_allclose(covariance, peer.fit(x).covariance_, rtol=1e-11, atol=1e-12)


def test_means_and_covariances_are_numpys():
    x, y, _, _ = problem(5, weights=())
    model = fit(x, y, prior=None)
    for c, label in enumerate(LABELS):
        assert_allclose(model.distribution.mean[c], x[y == label].mean(axis=0), rtol=1e-12)
        assert_allclose(model.distribution.covariance[c], np.cov(x[y == label].T, bias=True), rtol=1e-11)
        unbiased = fit(x, y, unbiased=True).distribution.covariance[c]
        assert_allclose(unbiased, np.cov(x[y == label].T), rtol=1e-11)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 16, 17, 24, 33, 50])
def test_scatters_of_many_rows_equal_numpys_in_every_layout(order, dtype, columns):
    rng = np.random.default_rng(columns)
    x = (rng.normal(5, 3, (4401, columns)) @ rng.normal(size=(columns, columns))).astype(dtype)
    x[::50, columns // 2] = np.nan
    if order == "strided":
        wide = np.zeros((2 * len(x), columns + 3), dtype)
        wide[::2, 1 : columns + 1] = x
        x = wide[::2, 1 : columns + 1]
    else:
        x = np.asarray(x, order=order)
    codes, weight = rng.integers(0, 3, len(x)).astype(np.int32), rng.integers(0, 3, len(x)).astype(float)
    scatter = sf.Scatter.of(x, codes, 4, weight, fourth=True)
    for c in range(3):
        own = np.repeat(x[codes == c].astype(float), weight[codes == c].astype(int), axis=0)
        own = own[~np.isnan(own).any(axis=1)]
        assert scatter.weight[c] == len(own)
        assert_allclose(scatter.mean[c], own.mean(axis=0), rtol=1e-12, atol=1e-12)
        z = own - own.mean(axis=0)
        scale = np.abs(z).max()
        assert_allclose(scatter.cross[c], z.T @ z, rtol=1e-11, atol=1e-11 * scale**2 * len(own))
        third, fourth = (z**2).T @ z, (z**2).T @ z**2
        assert_allclose(scatter.higher.third[c], third, rtol=1e-9, atol=1e-11 * scale**3 * len(own))
        assert_allclose(scatter.higher.fourth[c], fourth, rtol=1e-9, atol=1e-11 * scale**4 * len(own))
    assert not scatter.weight[3]
    assert not scatter.cross[3].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
@pytest.mark.parametrize("tied", [False, True])
def test_rows_in_any_layout_get_the_same_answers(dtype, order, tied):
    x, y, weight, rows = problem(6, gaps=0.1)
    x, rows = x.astype(dtype), rows.astype(dtype)
    plain = fit(x.astype(float), y, weight, tied=tied)

    def laid_out(table):
        if order == "strided":
            wide = np.zeros((2 * len(table), 2 * D), dtype)
            wide[::2, ::2] = table
            return wide[::2, ::2]
        return table[::-1].copy()[::-1] if order == "reversed" else np.asarray(table, order=order)

    model = fit(laid_out(x), y, weight, tied=tied)
    assert_allclose(model.log_joint(laid_out(rows)), plain.log_joint(rows.astype(float)), rtol=1e-9)
    assert_allclose(model.posterior(laid_out(rows)), plain.posterior(rows.astype(float)), rtol=1e-7, atol=1e-12)
    assert_allclose(model.impute(laid_out(rows)), plain.impute(rows.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"prior": None}, {"shrinkage": "oas"}, {"tied": True, "prior": None}], ids=str)
def test_far_from_zero_every_digit_of_the_covariance_is_kept(options):
    x, y, weight, rows = problem(7)
    far = 2.0**27  # about 1e8; what is added can be taken away again
    x, rows = (np.round(t * 2**16) / 2**16 for t in (x, rows))
    near, moved = fit(x, y, weight, **options), fit(x + far, y, weight, **options)
    assert_allclose(moved.distribution.covariance, near.distribution.covariance, rtol=1e-7, atol=1e-7)
    assert_allclose(moved.log_joint(rows + far), near.log_joint(rows), rtol=1e-6)
    assert_allclose(moved.posterior(rows + far), near.posterior(rows), rtol=1e-5, atol=1e-9)


FITS = [
    {},
    {"prior": None},
    {"tied": True},
    {"prior": None, "tied": True, "unbiased": True},
    {"shrinkage": "ledoit-wolf"},
    {"shrinkage": "ledoit-wolf", "toward": "diagonal", "tied": True},
    {"shrinkage": "oas", "tied": True, "share": [0.2, 0.3, 0.5]},
    {"shrinkage": 0.3, "toward": "identity"},
    {"covariance": "diagonal"},
    {"covariance": "spherical", "tied": True},
    {"learn": "map"},
    {"learn": "predictive"},
    {"learn": "predictive", "tied": True},
    {"estimator": LedoitWolf()},
    {"estimator": EmpiricalCovariance(), "tied": True},
    {"missing": "complete"},
]
every_fit = pytest.mark.parametrize("options", FITS, ids=str)


@every_fit
@pytest.mark.parametrize("gaps", [0.0, 0.12])
def test_a_whole_weight_is_that_many_rows(options, gaps):
    x, y, weight, rows = problem(8, n=60, d=3, gaps=gaps)
    times = weight.astype(int)
    repeated = fit(np.repeat(x, times, axis=0), np.repeat(y, times), **options)
    weighed = fit(x, y, weight, **options)
    assert_allclose(weighed.log_joint(rows), repeated.log_joint(rows), rtol=1e-6)
    kept = times > 0
    absent = fit(x[kept], y[kept], weight[kept], **options)
    assert_allclose(weighed.log_joint(rows), absent.log_joint(rows), rtol=1e-6)


@every_fit
@pytest.mark.parametrize("gaps", [0.0, 0.12])
def test_merging_forgetting_and_dropping_equal_fitting_again(options, gaps):
    x, y, weight, rows = problem(9, n=60, d=3, gaps=gaps)
    family = sf.MultivariateGaussian(**options)
    whole, a, b = (family.summarize(x[s], y[s], weight[s]) for s in (slice(None), slice(25), slice(25, None)))

    def density(statistics):
        return sf.Model.of(statistics, family).log_joint(rows)

    assert_allclose(density(a + b), density(whole), rtol=1e-6)
    assert_allclose(density(family.summarize(x[25:], y[25:], weight[25:], a)), density(whole), rtol=1e-6)
    assert_allclose(density(whole - b), density(a), rtol=1e-5)
    assert_allclose(density(whole.scale(2.0).scale(0.5)), density(whole), rtol=1e-9)
    if options.get("share") is None:
        left = y != "bee"
        assert_allclose(
            density(whole.drop("bee")), density(family.summarize(x[left], y[left], weight[left])), rtol=1e-6
        )


def test_what_was_never_added_cannot_be_forgotten():
    x, y, _, _ = problem()
    gap = np.array([[1.0, 2.0, np.nan, 0.0]])
    family = sf.MultivariateGaussian()
    whole = family.summarize(x, y)
    for rows in (gap, np.full((1, D), 1e6)):
        with pytest.raises(NotPartError):
            whole - family.summarize(rows, ["ant"])


def test_one_column_is_the_gaussian_family():
    x, y, weight, rows = problem(10, d=1)
    pairs = [
        ({"prior": None}, sf.Gaussian(prior=None)),
        ({"prior": None, "tied": True}, sf.Gaussian(prior=None, variance="shared")),
        ({}, sf.Gaussian()),
        ({"tied": True}, sf.Gaussian(variance="shared")),
        ({"learn": "map"}, sf.Gaussian(learn="map")),
        ({"learn": "predictive"}, sf.Gaussian(learn="predictive")),
        (
            {"prior": sf.NormalInverseWishart([1.0], 2.0, 5.0, [[3.0]]), "learn": "predictive"},
            sf.Gaussian(sf.NormalInverseGamma(1.0, 2.0, 2.5, 1.5), "predictive"),
        ),
    ]
    rows[2] = np.nan
    for options, family in pairs:
        expected = sf.Model.fit(x, y, family, weight=weight)
        assert_allclose(fit(x, y, weight, **options).log_joint(rows), expected.log_joint(rows), rtol=1e-10)


def test_a_diagonal_covariance_is_naive():
    x, y, weight, rows = problem(11)
    rows[2, 1:3] = np.nan
    naive = sf.Model.fit(x, y, sf.Gaussian(prior=None), weight=weight)
    assert_allclose(fit(x, y, weight, covariance="diagonal").log_joint(rows), naive.log_joint(rows), rtol=1e-10)


# --------------------------------------------------------------------------------------------------- gaps


@pytest.mark.parametrize("learn", ["mle", "mean", "predictive"])
@pytest.mark.parametrize("tied", [False, True])
def test_gaps_are_integrated_out_of_the_density(learn, tied):
    x, y, weight, rows = problem(12)
    rows[rows < 0] = np.nan
    model = fit(x, y, weight, learn=learn, tied=tied)
    mean, covariance = point_of(model)
    found, log_prior = model.log_joint(rows), model.log_prior
    for i, row in enumerate(rows):
        o = ~np.isnan(row)
        for c in range(3):
            block = mean[c][o], covariance[c][np.ix_(o, o)]
            if not o.any():
                expected = 0.0
            elif learn == "predictive":
                expected = stats.multivariate_t.logpdf(row[o], *block, df=model.distribution.freedom[c])
            else:
                expected = stats.multivariate_normal.logpdf(row[o], *block)
            assert found[i, c] - log_prior[c] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    joint = found - found.max(axis=1, keepdims=True)
    assert_allclose(model.posterior(rows), np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize("learn", ["mle", "mean", "predictive"])
@pytest.mark.parametrize("tied", [False, True])
def test_gaps_are_filled_by_the_conditional_mean(learn, tied):
    x, y, weight, rows = problem(13, gaps=0.1)
    model = fit(x, y, weight, learn=learn, tied=tied)
    mean, covariance = point_of(model)
    filled = model.distribution.expect(rows)
    each = np.array([[reference.conditional(r, m, s)[0] for m, s in zip(mean, covariance, strict=True)] for r in rows])
    assert_allclose(filled, each, rtol=1e-8, atol=1e-9)
    posterior = model.posterior(rows)
    assert_allclose(model.impute(rows), np.einsum("nc,ncd->nd", posterior, each), rtol=1e-8, atol=1e-9)
    assert_array_equal(model.impute(rows)[~np.isnan(rows)], rows[~np.isnan(rows)])
    assert not np.isnan(filled).any()


def test_of_two_columns_the_filling_lies_on_the_regression_line():
    x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.0], [3.0, 3.0], [-1.0, -1.0]])
    # Mean (1, 1), variances 12/7, covariance 8/7: the slope is 2/3.
    model = fit(x, np.zeros(7, int), prior=None)
    assert_allclose(model.impute(np.array([[4.0, np.nan], [np.nan, -2.0]])), [[4.0, 3.0], [-1.0, -2.0]], rtol=1e-13)
    assert_allclose(model.impute(np.full((1, 2), np.nan)), [[1.0, 1.0]], rtol=1e-14)


def test_a_bias_is_corrected_once_gaps_have_been_filled():
    x, y, weight, _ = problem(23, n=90, d=3, gaps=0.2)
    mean, covariance = point_of(fit(x, y, weight, unbiased=True))
    plain, biased = point_of(fit(x, y, weight, prior=None))
    n = np.array([weight[y == label].sum() for label in LABELS])
    assert_allclose(mean, plain, rtol=1e-12)
    assert_allclose(covariance, biased * (n / (n - 1))[:, None, None], rtol=1e-9)


EM = [{"prior": None}, {"prior": None, "tied": True}, {}, {"tied": True}, {"learn": "map"}, {"covariance": "diagonal"}]


@pytest.mark.parametrize("options", [*EM, {"shrinkage": 0.3}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_another_round_of_expectation_and_maximisation_changes_nothing(options, seed):
    x, y, weight, _ = problem(20 + seed, n=90, d=3, gaps=0.2)
    mean, covariance = point_of(fit(x, y, weight, **options))
    sums = reference.expected_sums(x, y, weight, LABELS, mean, covariance)
    told = {"learn": "mle" if "prior" in options or len(options.keys() & {"covariance", "shrinkage"}) else "mean"}
    told |= {k: v for k, v in options.items() if k != "prior"}
    new_mean, new_covariance = reference.gaussian_point(sums, **told)
    assert_allclose(mean, new_mean, rtol=1e-6, atol=1e-6)
    assert_allclose(covariance, new_covariance, rtol=1e-6, atol=1e-6)


def test_learning_from_gaps_is_the_oracle_run_to_convergence():
    x, y, weight, _ = problem(24, n=60, d=2, gaps=0.2)
    sums = reference.cross_products(x, y, weight, LABELS)
    mean, covariance = reference.gaussian_point(sums)
    for _ in range(60):
        mean, covariance = reference.gaussian_point(reference.expected_sums(x, y, weight, LABELS, mean, covariance))
    found = point_of(fit(x, y, weight, prior=None))
    assert_allclose(found[0], mean, rtol=1e-6, atol=1e-7)
    assert_allclose(found[1], covariance, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("tied", [False, True])
def test_what_is_learned_from_gaps_has_the_greatest_likelihood_of_what_was_observed(tied):
    x, y, _, _ = problem(25, n=120, d=3, gaps=0.25, weights=())
    mean, covariance = point_of(fit(x, y, prior=None, tied=tied))
    rng = np.random.default_rng(0)

    def likelihood(mean, covariance):
        total = 0.0
        for row, label in zip(x, y, strict=True):
            c, o = int(np.searchsorted(LABELS, label)), ~np.isnan(row)
            if o.any():
                z, block = row[o] - mean[c][o], covariance[c][np.ix_(o, o)]
                total -= 0.5 * (z @ np.linalg.solve(block, z) + np.linalg.slogdet(2 * np.pi * block)[1])
        return total

    best = likelihood(mean, covariance)
    for _ in range(8):
        root = np.linalg.cholesky(covariance)
        bend = rng.normal(size=(1 if tied else 3, 3, 3))
        by, bend = np.einsum("cij,cj->ci", root, rng.normal(size=(3, 3))), root @ (bend + bend.mT) @ root.mT
        ahead, behind = (likelihood(mean + h * by, covariance + h * bend) for h in (1e-4, -1e-4))
        assert ahead < best, "a step in any direction loses"
        assert behind < best
        assert abs(ahead - behind) / 2e-4 < 1e-3, "the slope is 0"


def test_where_only_the_second_column_has_gaps_the_answer_is_little_and_rubins():
    rng = np.random.default_rng(26)
    n, seen = 80, 50
    first = rng.normal(3.0, 2.0, n)
    second = 1.0 - 0.7 * first + rng.normal(0, 0.5, n)
    x = np.column_stack([first, second])
    x[seen:, 1] = np.nan
    # The likelihood factorises: the first column from all rows, the regression on it from the complete ones.
    mean_1, var_1 = first.mean(), first.var()
    cov = np.cov(first[:seen], second[:seen], bias=True)
    slope = cov[0, 1] / cov[0, 0]
    mean_2 = second[:seen].mean() + slope * (mean_1 - first[:seen].mean())
    var_2 = cov[1, 1] + slope**2 * (var_1 - cov[0, 0])
    found = fit(x, np.zeros(n, int), prior=None).distribution
    assert_allclose(found.mean[0], [mean_1, mean_2], rtol=1e-7)
    assert_allclose(found.covariance[0], [[var_1, slope * var_1], [slope * var_1, var_2]], rtol=1e-7)


@pytest.mark.parametrize("options", [{}, {"prior": None, "tied": True}, {"shrinkage": "ledoit-wolf"}], ids=str)
def test_complete_rows_alone_are_learned_from_when_asked(options):
    x, y, weight, rows = problem(27, n=60, gaps=0.1)
    whole = ~np.isnan(x).any(axis=1)
    model = fit(x, y, weight, missing="complete", **options)
    dropped = fit(x[whole], y[whole], weight[whole], **options)
    assert_allclose(model.distribution.covariance, dropped.distribution.covariance, rtol=1e-12)
    assert_allclose(model.log_conditional(rows), dropped.log_conditional(rows), rtol=1e-11)
    assert_allclose(model.log_prior, reference.log_class_prior(y, weight, LABELS), rtol=1e-13)


def test_an_estimator_sees_complete_rows_and_rows_with_gaps_count_for_the_prior():
    x, y, weight, rows = problem(28, n=60, gaps=0.1)
    whole = ~np.isnan(x).any(axis=1)
    model, dropped = (fit(x[s], y[s], weight[s], estimator=OAS()) for s in (np.ones(len(y), bool), whole))
    assert_allclose(model.log_conditional(rows), dropped.log_conditional(rows), rtol=1e-10)
    assert_allclose(model.log_prior, reference.log_class_prior(y, weight, LABELS), rtol=1e-13)


@pytest.mark.parametrize("options", [{}, {"prior": None}, {"tied": True, "prior": None}, {"shrinkage": "oas"}], ids=str)
def test_columns_or_classes_that_show_nothing_never_give_nan(options):
    x, y, _, rows = problem(29, weights=())
    column, kind, every = x.copy(), x.copy(), x.copy()
    column[:, 2] = np.nan
    kind[y == "bee"] = np.nan
    every[y == "bee", 1] = np.nan
    for table in (column, kind, every):
        model = fit(table, y, **options)
        for asked in (rows, table[:5], np.full((1, D), np.nan)):
            assert np.isfinite(model.log_joint(asked)).all()
            assert np.isfinite(model.impute(asked)).all()
        assert_allclose(model.posterior(np.full((1, D), np.nan)), [[1 / 3] * 3], rtol=1e-12)


def test_a_column_never_seen_in_a_class_is_no_surprise_there():
    """The Gaussian family takes the variance of all classes then, and a diagonal covariance is that family."""
    x, y, _, rows = problem(29, weights=())
    x[y == "bee", 1] = np.nan
    naive = sf.Model.fit(x, y, sf.Gaussian(prior=None))
    assert_allclose(fit(x, y, covariance="diagonal").log_joint(rows), naive.log_joint(rows), rtol=1e-7)
    assert (fit(x, y, prior=None).log_joint(rows) > -1e6).all()


@pytest.mark.parametrize("options", FITS, ids=str)
def test_rows_of_nothing_but_gaps_leave_the_prior(options):
    nothing, y = np.full((9, D), np.nan), LABELS[np.arange(9) % 3]
    model = fit(nothing, y, **options)
    assert_allclose(model.posterior(nothing), 1 / 3)
    assert not np.isnan(model.log_joint(np.ones((1, D)))).any()


@pytest.mark.parametrize("options", [{}, {"prior": None}, {"unbiased": True}, {"shrinkage": 0.3}], ids=str)
def test_a_class_that_shows_a_column_once_or_never_is_learned(options):
    x = np.array([[1.0, np.nan], [3.0, np.nan], [4.0, 5.0], [0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [2.0, 2.0]])
    for rows in (np.arange(7), np.array([0, 1, 3, 4, 5, 6])):
        model = fit(x[rows], np.array(list("aaabbbb"))[rows], **options)
        assert np.isfinite(model.distribution.covariance).all()
        assert np.isfinite(model.log_joint(x)).all()


@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "oas"])
@pytest.mark.parametrize("scale", [1e-60, 1e60, 1e100])
def test_shrinkage_is_the_same_in_any_unit_or_refused(shrinkage, scale):
    x, y, _, rows = problem(39, weights=())
    plain = fit(x, y, shrinkage=shrinkage)
    try:
        scaled = fit(x * scale, y, shrinkage=shrinkage)
    except InvalidDataError:
        assert scale > 1e70, "fourth powers overflow only there"
        return
    assert_allclose(scaled.log_posterior(rows * scale), plain.log_posterior(rows), rtol=1e-7, atol=1e-8)


def test_a_class_without_rows_takes_no_part_in_the_tied_covariance():
    x, y, _, _ = problem(39, weights=())
    share = np.array([0.2, 0.3, 0.5])
    known = y != "bee"
    family = sf.MultivariateGaussian(tied=True, share=share)
    found = sf.Model.of(family.summarize(x[known], y[known]).over(LABELS), family).distribution
    alone = fit(x[known], y[known], tied=True, share=share[[0, 2]]).distribution
    assert_allclose(found.covariance, alone.covariance, rtol=1e-10)


# ----------------------------------------------------------------------------------------- leaving one out

LEFT_OUT = [
    *({"prior": None, "shrinkage": s} for s in (None, 0.3, 1)),
    *({"prior": None, "tied": True, "shrinkage": s} for s in (None, 0.3)),
    {"prior": None, "tied": True, "share": [0.2, 0.3, 0.5]},
    {"prior": None, "tied": True, "share": [0.2, 0.3, 0.5], "shrinkage": 0.3, "unbiased": True},
    {"unbiased": True},
    {"unbiased": True, "tied": True},
    {"unbiased": True, "shrinkage": 0.3},
    {"unbiased": True, "shrinkage": 0.3, "toward": "identity"},
    {"shrinkage": 0.3, "toward": "identity"},
    {"shrinkage": 0.3, "toward": "identity", "tied": True},
    {"shrinkage": 0.3, "toward": "identity", "tied": True, "unbiased": True},
    {"shrinkage": 0.3, "toward": "identity", "tied": True, "share": [0.2, 0.3, 0.5]},
    {"shrinkage": 0.3, "toward": "diagonal"},
    {"shrinkage": "ledoit-wolf"},
    {"shrinkage": "oas", "tied": True},
    {"covariance": "diagonal"},
    {"covariance": "spherical", "tied": True},
    {},
    {"tied": True},
    {"learn": "map"},
    {"learn": "predictive"},
    {"estimator": EmpiricalCovariance()},
    {"missing": "complete", "prior": None},
]


def without_each_row(family, x, y, weight, rows=None):
    """Refit on all other rows, for every row, with the classes of the whole."""
    labels, out = np.unique(y[weight > 0]), []
    for i in range(len(y)) if rows is None else rows:
        rest = np.arange(len(y)) != i
        statistics = family.summarize(x[rest], y[rest], weight[rest]).over(labels)
        out.append(sf.Model.of(statistics, family).log_joint(x[i : i + 1])[0])
    return np.array(out)


@pytest.mark.parametrize(
    ("options", "gaps"), [*((o, 0.0) for o in LEFT_OUT), *((o, 0.1) for o in LEFT_OUT[::2])], ids=str
)
def test_leaving_one_out_equals_fitting_the_rest(options, gaps):
    x, y, weight, _ = problem(30, n=24, d=2, gaps=gaps)
    family = sf.MultivariateGaussian(**options)
    some = slice(None, None, 4 if gaps else 1)
    statistics = family.summarize(x, y, weight)
    found = leave_one_out(statistics, family, sf.ClassPrior(), x[some], y[some], weight[some])
    assert_allclose(found, without_each_row(family, x, y, weight, np.arange(len(y))[some]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("options", LEFT_OUT[:4], ids=str)
def test_leaving_one_out_far_from_zero_equals_fitting_the_rest(options, offset):
    x, y, weight, _ = problem(31, n=40, d=3, weights=(1, 0.5))
    x = x + offset
    family = sf.MultivariateGaussian(**options)
    found = leave_one_out(family.summarize(x, y, weight), family, sf.ClassPrior(), x, y, weight)
    assert_allclose(found, without_each_row(family, x, y, weight), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("options", [{"prior": None, "shrinkage": 0.2}, {"prior": None, "tied": True}, {}], ids=str)
def test_without_its_only_row_a_class_is_gone_and_the_rest_stays(options):
    rng = np.random.default_rng(32)
    x, y = rng.normal(size=(14, 2)), np.array(["a"] * 6 + ["b"] * 7 + ["c"])
    family = sf.MultivariateGaussian(**options)
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(), x, y)
    assert found[-1, 2] == -np.inf
    assert np.isfinite(found[:-1]).all()
    assert_allclose(found, without_each_row(family, x, y, np.ones(14)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("options", [{"prior": None}, {"prior": None, "tied": True}, {"shrinkage": 0.1}, {}], ids=str)
def test_a_row_without_which_a_class_is_singular_can_be_left_out(options):
    """Class a is on a line but for its last row; class b has as many rows as columns and one more."""
    x = np.array([[0.0, 0], [1, 1], [2, 2], [3, 3], [1, 5], [7, 1], [9, 2], [8, 4]])
    y = np.array(list("aaaaabbb"))
    family = sf.MultivariateGaussian(**options)
    found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(), x, y)
    assert np.isfinite(found).all()
    assert_allclose(found, without_each_row(family, x, y, np.ones(8)), rtol=1e-4)


@pytest.mark.parametrize("options", [{"prior": None}, {"prior": None, "tied": True}, {"unbiased": True}, {}], ids=str)
def test_rows_with_a_constant_column_can_be_left_out(options):
    x, y, weight, _ = problem(32, n=30, d=2, weights=(1, 2))
    x = np.column_stack([x, np.full(30, 4.0)])
    family = sf.MultivariateGaussian(**options)
    found = leave_one_out(family.summarize(x, y, weight), family, sf.ClassPrior(), x, y, weight)
    assert_allclose(found, without_each_row(family, x, y, weight), rtol=1e-6, atol=1e-6)


# -------------------------------------------------------------------------------------------------- rank

SINGULAR = {
    "a duplicated column": lambda x: x[:, [0, 1, 2, 1]],
    "a constant column": lambda x: np.where(np.arange(D) == 2, 7.5, x),
    "a sum of columns": lambda x: np.column_stack([x[:, :3], x[:, 0] + x[:, 1] - 2 * x[:, 2]]),
}


@pytest.mark.parametrize("what", SINGULAR)
@pytest.mark.parametrize("options", FITS, ids=str)
def test_columns_that_follow_from_each_other_give_a_thin_distribution(what, options):
    x, y, weight, rows = problem(33)
    x, rows = SINGULAR[what](x), np.vstack([rows, SINGULAR[what](rows)])
    rows[0, 1] = np.nan
    model = fit(x, y, weight, **options)
    assert np.isfinite(model.log_joint(rows)).all()
    assert np.isfinite(model.posterior(rows)).all()
    assert np.isfinite(model.impute(rows)).all()
    if "prior" in options:
        assert_array_equal(model.distribution.rank, np.full(1 if options.get("tied") else 3, 3))


def test_the_rank_is_that_of_the_covariance():
    x, y, _, _ = problem(34, weights=())
    assert_array_equal(fit(x, y, prior=None).distribution.rank, [D, D, D])
    few = np.concatenate([np.flatnonzero(y == label)[:n] for label, n in zip(LABELS, (1, 3, 9), strict=True)])
    model = fit(x[few], y[few], prior=None)
    assert_array_equal(model.distribution.rank, [0, 2, D])
    assert np.isfinite(model.log_joint(x)).all()
    assert_array_equal(fit(x[few], y[few], prior=None, tied=True).distribution.rank, [D])
    assert_array_equal(fit(np.ones((4, 2)), [0, 0, 1, 1], prior=None).distribution.rank, [0, 0])


def test_within_its_directions_a_thin_distribution_tells_like_that_of_the_other_columns():
    x, y, weight, _ = problem(35)
    x, twice = x[:, :3], x[:, [0, 1, 2, 1]]
    alone, both = fit(x, y, weight, prior=None), fit(twice, y, weight, prior=None)
    plain, thin = alone.log_joint(x), both.log_joint(twice)
    # The duplicate adds what depends on the class alone: half the log of the thin variance.
    differ = thin - plain
    assert_allclose(differ - differ[0], 0.0, atol=1e-4)


def test_a_row_off_the_line_of_a_class_is_not_of_that_class():
    x = np.array([[0.0, 0], [1, 1], [2, 2], [0, 5], [5, 0], [4, 4]])
    model = fit(x, list("aaabbb"), prior=None)
    assert_array_equal(model.predict(np.array([[1.5, 1.5], [1.5, 1.4]])), ["a", "b"])


@every_fit
@pytest.mark.filterwarnings("ignore:Only one sample available")  # as scikit-learn's estimators say
def test_a_class_of_one_row_is_a_class(options):
    x, y, _, rows = problem(36, weights=())
    few = np.append(np.flatnonzero(y != "ox"), np.flatnonzero(y == "ox")[0])
    model = fit(x[few], y[few], **options)
    assert np.isfinite(model.log_joint(rows)).all()
    assert np.isfinite(model.posterior(rows)).all()


def test_values_of_any_size_give_finite_densities():
    x, y, _, rows = problem(37, weights=())
    for scale in (1e-150, 1e-20, 1e20, 1e140):
        model = fit(x * scale, y, prior=None)
        assert np.isfinite(model.log_joint(rows * scale)).all(), scale
        assert_allclose(
            model.log_posterior(rows * scale), fit(x, y, prior=None).log_posterior(rows), rtol=1e-6, atol=1e-8
        )


def test_columns_of_very_different_sizes_are_not_taken_for_singular():
    x, y, _, rows = problem(38, weights=())
    units = np.array([1e-9, 1.0, 1e6, 1e12])
    plain, scaled = fit(x, y, prior=None), fit(x * units, y, prior=None)
    assert_array_equal(scaled.distribution.rank, [D, D, D])
    assert_allclose(scaled.log_posterior(rows * units), plain.log_posterior(rows), rtol=1e-7, atol=1e-8)


# ------------------------------------------------------------------------------------- questions asked of it


@pytest.mark.parametrize("options", [{"prior": None}, {"tied": True, "prior": None}, {"learn": "predictive"}], ids=str)
def test_drawn_rows_have_the_moments_of_the_distribution(options):
    x, y, _, _ = problem(40, weights=())
    model = fit(x, y, **options)
    mean, covariance = point_of(model)
    drawn, labels = model.sample(60_000, random_state=0)
    assert_allclose((labels[:, None] == LABELS).mean(axis=0), np.exp(model.log_prior), atol=0.01)
    for c, label in enumerate(LABELS):
        own = drawn[labels == label]
        sigma = covariance[c]
        if options.get("learn") == "predictive":
            nu = model.distribution.freedom[c]
            sigma = sigma * nu / (nu - 2)
        deviation = np.sqrt(np.diag(sigma))
        assert (np.abs(own.mean(axis=0) - mean[c]) < 0.04 * deviation).all()
        assert (np.abs(np.cov(own.T) - sigma) < 0.06 * np.outer(deviation, deviation)).all()
    only, labels = model.sample(5, label="ox", random_state=1)
    assert only.shape == (5, D)
    assert set(labels) == {"ox"}


@pytest.mark.parametrize(
    ("options", "free"),
    [
        ({}, 3 * 55),
        ({"tied": True}, 55),
        ({"covariance": "diagonal"}, 30),
        ({"covariance": "diagonal", "tied": True}, 10),
        ({"covariance": "spherical"}, 3),
        ({"covariance": "spherical", "tied": True}, 1),
        ({"learn": "predictive"}, 3 * 55),
        ({"learn": "predictive", "tied": True}, 55),
    ],
    ids=str,
)
def test_parameters_are_counted(options, free):
    x, y, _, _ = problem(41, n=60, d=10, weights=())
    model = fit(x, y, **options)
    assert model.distribution.n_parameters == 30 + free
    assert model.n_parameters == 30 + free + 2


TIED = [
    {"prior": None},
    {},
    {"shrinkage": 0.3},
    {"unbiased": True},
    {"covariance": "diagonal"},
    {"covariance": "spherical"},
    {"estimator": OAS()},
    {"learn": "map"},
]


@pytest.mark.parametrize("options", TIED, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_form_of_a_tied_covariance_is_the_log_odds(options, classes):
    x, y, weight, rows = problem(42)
    kept = np.isin(y, LABELS[:classes])
    model = fit(x[kept], y[kept], weight[kept], tied=True, **options)
    form, joint = model.linear(), model.log_joint(rows)
    scores = rows @ form.coef.T + form.intercept
    if classes == 2:
        assert_allclose(scores[:, 0], joint[:, 1] - joint[:, 0], rtol=1e-10, atol=1e-10)
    else:
        assert_allclose(scores - scores[:, :1], joint - joint[:, :1], rtol=1e-10, atol=1e-10)
    assert_allclose(model.log_posterior(rows), reference.log_posterior(joint, model.log_prior), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"covariance": "spherical"}, {"learn": "predictive", "tied": True}], ids=str)
def test_where_log_odds_bend_there_is_no_linear_form(options):
    x, y, _, _ = problem(43)
    with pytest.raises(NoLinearFormError, match="tied=True"):
        fit(x, y, **options).linear()


def test_one_class_with_a_tied_covariance_and_without_is_the_same():
    x, _, weight, rows = problem(44)
    one = ["only"] * len(x)
    tied, own = (fit(x, one, weight, prior=None, tied=t) for t in (True, False))
    assert_allclose(tied.log_joint(rows), own.log_joint(rows), rtol=1e-12)
    assert_array_equal(tied.predict(rows), ["only"] * len(rows))
    assert_allclose(own.posterior(rows), 1.0)


def test_tables_show_means_deviations_and_correlations():
    iris = load_iris()
    model = sf.Model.fit(iris.data, iris.target_names[iris.target], sf.MultivariateGaussian(prior=None))
    tables = model.tables(iris.feature_names)
    text = "\n".join(map(str, tables))
    assert "setosa" in text
    assert "sepal length (cm)" in text
    own = iris.data[iris.target == 1]
    assert_allclose(tables[3].values[:, 0], own.std(axis=0), rtol=1e-12)
    assert_allclose(tables[3].values[:, 1:], np.corrcoef(own.T), rtol=1e-11)


# ---------------------------------------------------------------------------------------------- bad options

WRONG = [
    ({"covariance": "round"}, "covariance must be one of .* found 'round'"),
    ({"toward": "north", "shrinkage": 0.1}, "toward must be one of"),
    ({"missing": "drop"}, "missing must be one of"),
    ({"shrinkage": "auto"}, "shrinkage must be a finite number from 0 to 1 or one of 'ledoit-wolf', 'oas' or None"),
    ({"shrinkage": -0.1}, "from 0 to 1 .*, found -0.1"),
    ({"shrinkage": 1.5}, "from 0 to 1 .*, found 1.5"),
    ({"shrinkage": np.nan}, "from 0 to 1 .*, found nan"),
    ({"toward": "diagonal"}, "give shrinkage too"),
    ({"floor": 0.0}, "floor must be a finite number above 0 and below 1"),
    ({"floor": 1.0}, "floor must be a finite number above 0 and below 1"),
    ({"floor": np.nan}, "floor must be a finite number above 0 and below 1"),
    ({"learn": "guess"}, "learn must be one of"),
    ({"prior": sf.NormalInverseGamma()}, "must be a NormalInverseWishart"),
    ({"prior": None, "learn": "map"}, "needs a prior"),
    ({"prior": sf.NormalInverseWishart(), "learn": "mle"}, "maximum likelihood takes no prior"),
    *(
        ({"prior": sf.NormalInverseWishart(), **more}, "a prior needs a full covariance")
        for more in (
            {"covariance": "diagonal"},
            {"shrinkage": 0.5},
            {"unbiased": True},
            {"estimator": OAS()},
            {"tied": True, "share": [0.5, 0.5]},
        )
    ),
    ({"learn": "predictive", "shrinkage": 0.5}, "a prior needs a full covariance"),
    ({"estimator": OAS(), "shrinkage": 0.5}, "with an estimator, leave out shrinkage"),
    ({"estimator": OAS(), "unbiased": True}, "with an estimator, leave out shrinkage"),
    ({"share": [0.5, 0.5]}, "for a tied covariance"),
    ({"share": [0.5, -0.5], "tied": True}, "share must be numbers ≥ 0"),
    ({"share": [[0.5, 0.5]], "tied": True}, "share must be"),
    ({"share": [0.0, 0.0], "tied": True}, "share is one number"),
    ({"share": [np.nan, 0.5], "tied": True}, "share must be"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[str(o) for o, _ in WRONG])
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        sf.MultivariateGaussian(**options)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"strength": -1.0}, "strength"),
        ({"freedom": -1.0}, "freedom"),
        ({"mean": [np.inf, 0.0]}, "mean must be"),
        ({"scale": [[1.0, np.nan], [np.nan, 1.0]]}, "scale must be"),
        ({"scale": [1.0, 2.0]}, "symmetric scale matrix"),
        ({"scale": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric scale matrix"),
        ({"scale": [[1.0, 2.0], [2.0, 1.0]]}, "no eigenvalue below 0"),
    ],
)
def test_priors_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(InvalidOptionError, match=message):
        sf.NormalInverseWishart(**fields)


def test_options_for_other_data_are_refused():
    x, y, _, _ = problem()
    with pytest.raises(MismatchError, match="options for 2 columns, data of 4"):
        fit(x, y, prior=sf.NormalInverseWishart(mean=[0.0, 1.0]))
    with pytest.raises(MismatchError, match="options for 3 columns, data of 4"):
        fit(x, y, prior=sf.NormalInverseWishart(scale=np.eye(3)))
    with pytest.raises(InvalidOptionError, match="needs a freedom above 3, found 2"):
        fit(x, y, prior=sf.NormalInverseWishart(freedom=2.0))
    with pytest.raises(MismatchError, match="options for 2 classes, data of 3"):
        fit(x, y, tied=True, share=[0.5, 0.5])
    with pytest.raises(InvalidOptionError, match="does not exist"):
        fit(x[:1], y[:1], prior=sf.NormalInverseWishart(freedom=3.5))
    with pytest.raises(MismatchError, match="Expected rows of 4 columns, found 3"):
        fit(x, y).log_joint(x[:, :3])


def test_infinite_values_are_refused_where_they_stand():
    x, y, _, rows = problem()
    model = fit(x, y)
    tied = fit(x, y, tied=True)
    for table in (x, rows):
        bad = table.copy()
        bad[7, 2] = -np.inf
        asks = [model.log_joint, model.posterior, model.predict, tied.posterior, tied.predict, model.impute]
        asks += [lambda t: fit(t, y[: len(t)]), lambda t: fit(t, y[: len(t)], estimator=OAS())]
        for ask in asks:
            with pytest.raises(InvalidDataError, match=r"Found -inf in row 7, column 2"):
                ask(bad)
            with_gap = bad.copy()
            with_gap[7, 0] = with_gap[3, 1] = np.nan
            with pytest.raises(InvalidDataError, match=r"Found -inf in row 7, column 2"):
                ask(with_gap)


def test_values_whose_squares_overflow_are_refused():
    x, y, _, _ = problem()
    for big in (1e200, 1.7e308):
        bad = x.copy()
        bad[7, 2] = big
        with pytest.raises(InvalidDataError, match="Column 2 holds a value too large"):
            fit(bad, y)
        bad[11, 2] = -big
        with pytest.raises(InvalidDataError, match="Column 2 holds a value too large"):
            fit(bad, y)


@pytest.mark.parametrize(("tied", "free"), [(True, 2 * 3 + 6), (False, 2 * 3 + 2 * 6)])
def test_a_predictive_distribution_counts_the_parameters_of_means_and_covariances(tied, free):
    x = np.random.default_rng(0).normal(size=(20, 3))
    family = sf.MultivariateGaussian(learn="predictive", tied=tied)
    found = family.estimate(family.summarize(x, np.arange(20) % 2).statistic)
    assert found.n_parameters == free
    assert type(found.n_parameters) is int


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_simpler_covariances_have_no_prior_and_refuse_one(covariance):
    assert sf.MultivariateGaussian(covariance=covariance).prior is None
    with pytest.raises(InvalidOptionError, match="a prior needs a full covariance"):
        sf.MultivariateGaussian(sf.NormalInverseWishart(), covariance=covariance)
