"""Leaving each row out, many at a time, is subtracting it, and is learning anew without it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import suffice as sf
from suffice.core.errors import InfiniteValueError, InvalidOptionError, NegativeValueError, NotPartError
from suffice.families._base import Family
from suffice.model.joint import leave_one_out
from suffice.naive_bayes import BernoulliNB, GaussianNB, KernelNB, MultinomialNB, PoissonNB

LABELS = np.array(["a", "b", "c", "lone", "never"])
PER_CLASS = np.linspace(0.5, 2.0, len(LABELS))[:, None]
NIG = sf.NormalInverseGamma

GAUSSIANS = [
    sf.Gaussian(learn=learn, variance=variance, var_smoothing=smoothing)
    for learn, variance, smoothing in itertools.product(
        ["mle", "mean", "map", "predictive"], ["class", "shared", 1.5, np.array([0.5, 1.0, 2.0])], [0.0, 0.1]
    )
] + [
    sf.Gaussian(prior, learn, variance)
    for prior, learn, variance in itertools.product(
        [NIG(0.5, 1.0, 2.0, 3.0), NIG([0.0, 1.0, 2.0], 0.5), NIG(PER_CLASS, PER_CLASS, 2.0, PER_CLASS)],
        ["mean", "map", "predictive"],
        ["class", "shared"],
    )
]
COUNTS = [
    family(prior, learn)
    for family, priors in [
        (sf.Poisson, [sf.Gamma(1, 1), sf.Gamma(0.4, 2.0), sf.Gamma([2.5, 1.0, 0.5], [0.5, 1.0, 2.0])]),
        (sf.Poisson, [sf.Gamma(PER_CLASS, PER_CLASS)]),
        (sf.Multinomial, [sf.Dirichlet(1.0), sf.Dirichlet(0.3), sf.Dirichlet(2.5), sf.Dirichlet([0.2, 1.0, 3.0])]),
        (sf.Multinomial, [sf.Dirichlet(PER_CLASS)]),
    ]
    for prior, learn in itertools.product(priors, ["mean", "map", "predictive"])
] + [sf.Poisson(prior=None), sf.Multinomial(prior=None)]


def problem(offset=0.0, gaps=True, n=24):
    """Rows of three classes, one that a single row has, and one without any; of some the weight is 0."""
    rng = np.random.default_rng(3)
    y = np.append(rng.choice(LABELS[:3], n), "lone")
    x = offset + np.round(rng.normal(size=(n + 1, 3)) * [1.0, 2.0, 0.5] + (y == "b")[:, None], 3)
    if gaps:
        x[rng.random(x.shape) < 0.15] = np.nan
        x[y == "c", 2] = np.nan  # of which class c shows one entry
        x[np.argmax(y == "c"), 2] = 0.25
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], n + 1)
    weight[-1] = 1.5
    return x, y, weight


def counts(gaps):
    x, y, weight = problem(gaps=gaps)
    return np.floor(np.abs(2.0 * x)), y, weight


def numbers_of(y):
    return np.searchsorted(LABELS, y).astype(np.int32)


def everything(family, x, y, weight):
    statistic = family.summarize(x, y, weight).over(LABELS).statistic
    return statistic, family.estimate(statistic), family.read(x), numbers_of(y), weight


def one_by_one(family, x, y, weight):
    statistic, _, x, codes, weight = everything(family, x, y, weight)
    return family._one_by_one(statistic, x, codes, weight, lambda rest, row: family.estimate(rest).log_density(row))


def learned_anew(family, x, y, weight):
    """Each row under what all other rows teach."""
    out = np.empty((len(y), len(LABELS)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        w = None if weight is None else weight[rest]
        others = family.summarize(x[rest], y[rest], w).over(LABELS).statistic
        out[i] = family.estimate(others).log_density(family.read(x[i : i + 1]))[0]
    return out


@pytest.fixture
def never_one_by_one(monkeypatch):
    """Refuse to subtract rows one after the other; the first may be, to check what was found for all together."""
    really = Family._one_by_one

    def refuse(self, statistic, x, *rest):
        assert x.shape[0] == 1, "rows were subtracted one by one"
        return really(self, statistic, x, *rest)

    monkeypatch.setattr(Family, "_one_by_one", refuse)


# ------------------------------------------------------------------------------------------------ real numbers


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("family", GAUSSIANS, ids=str)
def test_leaving_one_out_of_a_gaussian_is_learning_anew(family, weighted):
    x, y, weight = problem()
    weight = weight if weighted else None
    found = family.leave_one_out(*everything(family, x, y, weight))
    assert_allclose(found, learned_anew(family, x, y, weight), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("family", GAUSSIANS, ids=str)
def test_leaving_one_out_of_a_gaussian_is_subtracting_row_by_row(family, offset):
    x, y, weight = problem(offset)
    found = family.leave_one_out(*everything(family, x, y, weight))
    assert_allclose(found, one_by_one(family, x, y, weight), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("family", [f for f in GAUSSIANS if f.prior == NIG() or f.prior is None], ids=str)
def test_a_large_offset_changes_nothing_but_the_last_digits(family):
    x, y, _ = problem(gaps=False)
    keep = y != "lone"  # without it the class would lean on all others, to whose point masses an offset matters
    x, y = np.round(8.0 * x[keep]) / 8.0, y[keep]
    near, far = (family.leave_one_out(*everything(family, x + offset, y, None)) for offset in (0.0, 1e8))
    assert_allclose(far, near, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("never_one_by_one")
@pytest.mark.parametrize("family", GAUSSIANS, ids=str)
def test_no_gaussian_subtracts_row_by_row(family):
    x, y, weight = problem()
    assert not np.isnan(family.leave_one_out(*everything(family, x, y, weight))).any()


@pytest.mark.usefixtures("never_one_by_one")
@pytest.mark.parametrize("learn", ["mle", "mean", "map", "predictive"])
@pytest.mark.parametrize("variance", ["class", "shared", 0.5])
def test_leaving_one_out_of_a_log_normal_is_learning_anew(learn, variance):
    family = sf.LogNormal(learn=learn, variance=variance)
    x, y, weight = problem()
    x = np.exp(x)
    found = family.leave_one_out(*everything(family, x, y, weight))
    assert_allclose(found, learned_anew(family, x, y, weight), rtol=1e-10, atol=1e-10)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(LABELS[:3].tolist()),
            st.sampled_from([0.0, 1.0, 0.5, 3.25]),
            st.sampled_from([np.nan, 0.0, 1.0, 1.0, -2.5, 7.0]),
            st.one_of(st.just(np.nan), st.floats(-100, 100, width=16)),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(GAUSSIANS[:32:5] + GAUSSIANS[2:32:5]),
    st.sampled_from([0.0, 1e8]),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_rows_are_left_out_as_if_subtracted_by_themselves(rows, family, offset, dtype):
    y, weight = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    x = (np.array([[*r[2:], 1.0] for r in rows]) + offset).astype(dtype)
    found = family.leave_one_out(*everything(family, x, y, weight))
    assert_allclose(found, one_by_one(family, x, y, weight), rtol=1e-9, atol=1e-9)


def test_pieces_of_rows_make_no_difference():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9000, 3)), rng.choice(LABELS[:3], 9000)  # more than are worked on at once
    for family in (sf.Gaussian(), sf.Gaussian(learn="predictive", variance="shared"), sf.Poisson(learn="map")):
        data = np.floor(np.abs(x)) if isinstance(family, sf.Poisson) else x
        statistic, fitted, data, codes, _ = everything(family, data, y, None)
        whole = family.leave_one_out(statistic, fitted, data, codes, None)
        some = slice(8700, 8800)
        assert_array_equal(family.leave_one_out(statistic, fitted, data[some], codes[some], None), whole[some])


def test_the_model_takes_the_row_out_of_the_class_prior_too():
    x, y, _ = problem()
    for family in (sf.Gaussian(learn="predictive"), sf.Gaussian(prior=None, variance="shared")):
        found = leave_one_out(family.summarize(x, y), family, sf.ClassPrior(sf.Dirichlet(1)), x, y)
        share = np.array([np.sum(y == label) for label in LABELS[:4]]) - (y[:, None] == LABELS[:4])
        expected = learned_anew(family, x, y, None)[:, :4]
        assert_allclose(found, expected + np.log((share + 1) / (len(y) + 3)), rtol=1e-10, atol=1e-10)


def test_rows_that_were_never_learned_cannot_be_left_out():
    x, y, _ = problem(gaps=False)
    for family in (sf.Gaussian(), sf.Gaussian(prior=None, variance="shared"), sf.LogNormal(), sf.Exponential()):
        data = np.exp(x)
        statistic, fitted, data, codes, _ = everything(family, data, y, None)
        with pytest.raises(NotPartError):
            family.leave_one_out(statistic, fitted, data, codes, np.full(len(y), 100.0))
    statistic, fitted, x, codes, _ = everything(sf.Gaussian(), x, y, None)
    far = x + np.array([0.0, 1e3, 0.0])
    with pytest.raises(NotPartError, match="column 1"):
        sf.Gaussian().leave_one_out(statistic, fitted, far, codes, None)


def test_infinite_and_negative_values_are_refused_where_they_are():
    x, y, _ = problem(gaps=False)
    statistic, fitted, x, codes, _ = everything(sf.Gaussian(), x, y, None)
    x = x.copy()
    x[20, 1] = np.inf
    with pytest.raises(InfiniteValueError, match=r"row 20\b.*column 1|column 1\b.*row 20"):
        sf.Gaussian().leave_one_out(statistic, fitted, x, codes, None)
    for family in (sf.Poisson(learn="predictive"), sf.Multinomial(learn="predictive")):
        data = np.ones((4, 2))
        statistic = family.summarize(data, [0, 0, 1, 1]).statistic
        data[3, 1] = -1.0
        for rows in (data, scipy.sparse.csr_matrix(data)):
            with pytest.raises(NegativeValueError):
                family.leave_one_out(
                    statistic, family.estimate(statistic), family.read(rows), np.array([0, 0, 1, 1], np.int32), None
                )


def test_what_a_prior_cannot_say_of_an_emptied_class_is_refused():
    x, y, _ = problem(gaps=False)
    for options in ({"learn": "predictive"}, {"learn": "mean"}):
        family = sf.Gaussian(NIG(0.0, 0.0, 0.6, 1.0), **options)
        three = np.isin(y, LABELS[:3])
        statistic = family.summarize(x[three], y[three]).statistic
        fitted = family.estimate(statistic)
        lone = np.append(np.flatnonzero(three), len(y) - 1)
        family.leave_one_out(statistic, fitted, x[three], numbers_of(y[three]), None)
        alone = family.summarize(x[lone], y[lone]).statistic
        with pytest.raises(InvalidOptionError):
            family.leave_one_out(alone, fitted, x[lone], numbers_of(y[lone]), None)


# ------------------------------------------------------------------------------------------------------ counts


@pytest.mark.usefixtures("never_one_by_one")
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("gaps", [False, True], ids=["", "gaps"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("family", COUNTS, ids=str)
def test_leaving_one_out_of_counts_is_learning_anew(family, sparse, gaps, weighted):
    x, y, weight = counts(gaps)
    weight = weight if weighted else None
    rows = scipy.sparse.csr_matrix(x) if sparse else x
    found = family.leave_one_out(*everything(family, rows, y, weight))
    assert_allclose(found, learned_anew(family, x, y, weight), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("learn", ["mean", "map", "predictive"])
@pytest.mark.parametrize("kind", [sf.Poisson, sf.Multinomial])
def test_entries_stored_in_parts_are_their_sum(kind, learn):
    family = kind(learn=learn)
    whole = scipy.sparse.csr_matrix([[3.0, 0.0], [1.0, 2.0], [0.0, 4.0]])
    data, places = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 1.0]), np.array([0, 0, 0, 1, 1, 1])
    parts = scipy.sparse.csr_matrix((data, places, np.array([0, 2, 4, 6])), shape=(3, 2))
    statistic = family.summarize(whole, ["u", "u", "v"]).statistic
    fitted, codes = family.estimate(statistic), np.array([0, 0, 1], np.int32)
    found, expected = (family.leave_one_out(statistic, fitted, rows, codes, None) for rows in (parts, whole))
    assert_allclose(found, expected, rtol=1e-13)


def test_the_negative_binomial_of_a_sparse_row_is_that_of_the_dense_one():
    x, y, weight = counts(gaps=False)
    for prior in (sf.Gamma(0.0, 1.0), sf.Gamma(0.5, 0.0), sf.Gamma(1.0, 1.0)):
        fitted = sf.Model.fit(x, y, sf.Poisson(prior, "predictive"), weight=weight).distribution
        assert_allclose(fitted.log_density(scipy.sparse.csr_matrix(x)), fitted.log_density(x), rtol=1e-12, atol=1e-12)


# -------------------------------------------------------------------------------------------------------- bins


@pytest.mark.usefixtures("never_one_by_one")
@pytest.mark.parametrize("options", [{}, {"how": "width", "bins": 4}, {"how": "mdl"}, {"edges": [0.0, 0.5]}], ids=str)
@pytest.mark.parametrize("learn", ["mle", "mean", "map"])
def test_edges_found_once_leave_one_out_in_closed_form(options, learn):
    x, y, weight = problem(n=40)
    x[:, 1] = 4.0  # a single bin
    family = sf.Binned(learn=learn, **options)
    sample = sf.ByClass.of(sf.Cells, x, y, weight).over(LABELS).statistic
    fixed, found = family.with_edges(sample)
    assert found == fixed.summarize(x, y, weight).over(LABELS).statistic.resized(found.sizes)
    if family.edges is None:
        assert fixed.edges[1] == ()
        assert_array_equal(fixed.estimate(found).probability, family.estimate(sample).probability)
    left = fixed.leave_one_out(found, fixed.estimate(found), x, numbers_of(y), weight)
    assert_allclose(left, learned_anew(fixed, x, y, weight), rtol=1e-10, atol=1e-10)


def test_given_edges_stay_as_they_are():
    family = sf.Binned(edges=[1.0])
    sample = sf.Binned().summarize([[0.0], [2.0], [3.0]], ["u", "u", "v"]).statistic
    fixed, found = family.with_edges(sample)
    assert fixed is family
    assert_array_equal(found.weight, [[1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_prior_for_each_class_of_truths_goes_with_the_class(sparse):
    rng = np.random.default_rng(8)
    x, y = (rng.random((40, 3)) < 0.4).astype(float), rng.integers(0, 2, 40)
    family = sf.Bernoulli(prior=sf.Beta(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[2.0], [0.5]])))
    rows = scipy.sparse.csr_matrix(x) if sparse else x
    found = leave_one_out(family.summarize(rows, y), family, sf.ClassPrior(), rows, y)
    for i in (0, 11, 39):
        others = np.arange(40) != i
        again = sf.Model.fit(x[others], y[others], family).log_joint(x[i : i + 1])[0]
        np.testing.assert_allclose(found[i], again, rtol=1e-10)


HEAVY = np.array([3.3e9, 1.3, 2.6, 0.7, 5.1e9, 1.9])
BAGS = ["buy now now", "lunch at noon", "buy lunch at", "noon now", "at lunch noon", "buy now"]


@pytest.mark.parametrize(
    "estimator",
    [
        *(
            sf.TextClassifier(event=event, smoothing=1.0, ngrams=(1, 1), calibrate=False)
            for event in ("multinomial", "complement", "bernoulli")
        ),
        *(BernoulliNB(), MultinomialNB(), PoissonNB(), KernelNB(bandwidth=0.5), GaussianNB()),
    ],
    ids=lambda estimator: getattr(estimator, "event", type(estimator).__name__),
)
def test_light_rows_are_not_lost_where_a_heavy_one_is_left_out(estimator):
    """Beside a row of weight 10⁹ the others are small, and still no rounding error."""
    labels, rows = np.array(list("aaabbb")), np.arange(6)
    table = np.array([[1.0, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]])
    if isinstance(estimator, (KernelNB, GaussianNB)):
        table = table + rows[:, None] / 7
    x = np.array(BAGS, dtype=object) if isinstance(estimator, sf.TextClassifier) else table
    found = np.exp(clone(estimator).fit(x, labels, HEAVY).leave_one_out(x, labels, HEAVY))
    for i in rows:
        rest = clone(estimator).fit(x[rows != i], labels[rows != i], HEAVY[rows != i])
        np.testing.assert_allclose(found[i], rest.predict_proba(x[[i]])[0], rtol=0, atol=1e-6)


def test_rounding_leaves_no_value_that_only_the_row_had():
    """0.3 − 0.1 − 0.2 is not 0: without its only false row a class has none, and says so."""
    x, y, weight = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array(list("aabb")), np.array([0.2, 0.1, 1.0, 1.0])
    clf = BernoulliNB(alpha=0.0, force_alpha=True).fit(x, y, weight)
    with np.errstate(divide="ignore"):
        assert_allclose(clf.leave_one_out(x, y, weight)[0], [-np.inf, 0.0], atol=1e-12)


def test_words_of_one_document_are_gone_from_every_complement_without_it():
    """Without a prior, log 0 is bounded: no closed form may be used."""
    x, y = np.array([[1.0, 0, 2], [0, 1, 1], [1, 1, 0], [2, 0, 0]]), np.array(list("aabb"))
    for family in (sf.Complement(prior=None), sf.Complement()):
        statistic, fitted, data, codes, _ = everything(family, x, y, None)
        found = family.leave_one_out(statistic, fitted, data, codes, None)
        assert_allclose(found, learned_anew(family, x, y, None), rtol=1e-9, atol=1e-9)
