"""Columns that choose their family, and columns that do not vote."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice import BayesClassifier, Dirichlet
from suffice.families.choose import (
    AMOUNTS,
    Automatic,
    AutomaticBernoulli,
    AutomaticCategorical,
    columns_of,
    score_columns,
)
from suffice.families.chosen import SilentDistribution


def chosen(x, y, **options):
    family = Automatic(**options)
    return family.estimate(family.summarize(np.asarray(x, dtype=float)[:, None], y).statistic)


def refitted_score(choice, x, y):
    """The mean log p(y | x) of each row under a model fitted without it, and the same of the class prior alone."""
    told = chance = 0.0
    classes = np.unique(y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        found = choice.family.estimate(choice.family.summarize(choice.read(x[rest]), y[rest]).statistic)
        counts = np.array([(y[rest] == c).sum() for c in classes]) + 1.0
        log_prior = np.log(counts / counts.sum())
        joint = found.log_density(found.read(choice.read(x[i : i + 1])))[0] + log_prior
        own = np.flatnonzero(classes == y[i])[0]
        told += joint[own] - np.logaddexp.reduce(joint)
        chance += log_prior[own]
    return told / len(y), chance / len(y)


def small():
    rng = np.random.default_rng(3)
    few = np.concatenate([rng.normal(0, 1, 14), rng.normal(2, 1, 12), [0.0, 0.0, 1.0, 1.0]]).round(1)
    return few[:, None], np.array([0] * 14 + [1] * 12 + [0, 1, 1, 0])


@pytest.mark.parametrize("name", ["student", "bins", "values", "kernel"])
def test_the_score_of_a_candidate_is_that_of_refitting_without_each_row(name):
    x, y = small()
    if name == "values":
        x = np.round(x)
    if name == "kernel":  # which wants more than 20 values and none of them common
        x = np.concatenate([x, np.linspace(-3, 5, 30)[:, None]])
        y = np.concatenate([y, np.tile([0, 1, 1], 10)])
        some = np.unique(x[:, 0], return_index=True)[1]
        x, y = x[some], y[some]
    family = Automatic()
    sample = family.summarize(x, y).statistic
    (column,) = columns_of([(family, sample)])
    at = next(i for i, candidate in enumerate(column.options) if candidate.name == name)
    found = score_columns([column])[0][at]
    choice = family.make(sample, column.options[at])
    assert_allclose(found[:2], refitted_score(choice, x, y), rtol=1e-9)


@pytest.mark.parametrize("smoothing", ["auto", 0.5])
def test_the_best_candidate_by_refitting_is_the_one_chosen(smoothing):
    x, y = small()
    x = np.round(x)
    family = Automatic(smoothing)
    sample = family.summarize(x, y).statistic
    choices = list(family.candidates(sample))
    scores = [refitted_score(choice, x, y)[0] for choice in choices]
    best = choices[int(np.argmax(np.round(scores, 10)))]
    found = family.estimate(sample)
    assert found.choice.name == best.name
    assert repr(found.choice.family) == repr(best.family)
    assert_allclose(found.score, max(scores), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_smoothing_of_categories_is_what_refitting_would_choose(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 40)
    numbers = rng.integers(0, 4, 40) + y * rng.integers(0, 3 * seed + 1, 40)
    x = np.array([f"c{each}" for each in numbers], dtype=object)[:, None]
    clf = BayesClassifier(smoothing="auto", calibrate=False).fit({"x": x[:, 0].tolist()}, y)
    part = clf.statistics_.statistic.parts[0]
    found = AutomaticCategorical("auto").estimate(part)

    def score(amount):
        told = 0.0
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            counts = np.array([[np.sum((x[rest, 0] == v) & (y[rest] == c)) for v in np.unique(x)] for c in (0, 1)])
            p = (counts + amount) / (counts + amount).sum(axis=1, keepdims=True)
            prior = (counts.sum(axis=1) + 1.0) / (counts.sum() + 2.0)
            joint = prior * p[:, np.flatnonzero(np.unique(x) == x[i, 0])[0]]
            told += np.log(joint[y[i]] / joint.sum())
        return told / len(y)

    scores = [score(amount) for amount in AMOUNTS]
    assert_allclose(found.score, max(scores), rtol=1e-9)
    if found.votes:
        assert found.choice.family.prior == Dirichlet(AMOUNTS[int(np.argmax(scores))])


def test_smoothing_of_truths_is_chosen_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30)
    x = (rng.random(30) < 0.2 + 0.6 * y).astype(float)[:, None]
    family = AutomaticBernoulli("auto")
    totals = family.summarize(x, y).statistic
    scores = [refitted_score(choice, x, y)[0] for choice in family.candidates(totals)]
    found = family.estimate(totals)
    assert_allclose(found.score, max(scores), rtol=1e-9)
    assert found.choice.family.prior.a == AMOUNTS[int(np.argmax(scores))]


# -------------------------------------------------------------------------------- data made for a family


def labels(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, 2, n)


def test_students_t_is_chosen_for_normal_numbers():
    picked = []
    for seed in range(20):  # a kernel comes close, and by luck is sometimes ahead
        rng, y = labels(400, seed)
        picked.append(chosen(rng.normal(size=400) * (1 + 2 * y) + y, y).choice.name)
    assert picked.count("student") >= 14


def test_bins_are_chosen_for_skewed_numbers():
    rng, y = labels()
    assert chosen(np.exp(1.5 * rng.normal(size=2000) + y), y).choice.name == "bins"


def test_a_kernel_or_bins_are_chosen_for_several_modes():
    rng, y = labels()
    peaks = np.where(y == 0, rng.choice([-6, 0, 6], 2000), rng.choice([-3, 3], 2000))
    assert chosen(peaks + 0.7 * rng.normal(size=2000), y).choice.name in ("kernel", "bins")


def test_values_are_chosen_where_each_has_its_own_story():
    rng, y = labels()
    assert chosen(2 * rng.integers(0, 10, 2000) + (rng.random(2000) < 0.2 + 0.6 * y), y).choice.name == "values"


def test_a_missing_value_says_nothing_beside_one_that_is_new():
    rng, x = np.random.default_rng(0), np.tile([1.0, 2.0, 5.0], 40)
    y = np.where(rng.random(120) < 0.8, x == 2, x != 2).astype(int)
    clf = BayesClassifier(structure="naive", calibrate=False).fit({"x": x}, y)
    assert clf.schema_.values[0, 0] == "values"
    found = clf.predict_proba({"x": [np.nan, 99.5]})
    assert_allclose(found[0], np.bincount(y) / 120, rtol=1e-12)
    assert not np.allclose(found[1], found[0])
    assert_allclose(clf.predict_joint_log_proba({"x": [np.nan, 99.5]})[0], np.log(np.bincount(y) / 120), rtol=1e-12)
    assert_allclose(clf.score_samples({"x": [np.nan, 99.5]})[0], 0.0, atol=1e-12)


def test_there_is_no_kernel_where_one_value_holds_more_than_a_twentieth():
    rng, y = labels()
    peaks = np.where(y == 0, rng.choice([-6, 0, 6], 2000), rng.choice([-3, 3], 2000)) + 0.7 * rng.normal(size=2000)
    for share, there in ((0.04, True), (0.06, False)):
        inflated = peaks.copy()
        inflated[: int(share * 2000)] = 1.25
        family = Automatic()
        names = [choice.name for choice in family.candidates(family.summarize(inflated[:, None], y).statistic)]
        assert ("kernel" in names) is there


def test_values_are_candidates_up_to_twenty_of_them():
    family = Automatic()
    for distinct, there in ((20, True), (21, False)):
        x = np.tile(np.arange(float(distinct)), 5)[:, None]
        names = [choice.name for choice in family.candidates(family.summarize(x, np.arange(len(x)) % 2).statistic)]
        assert ("values" in names) is there


@pytest.mark.parametrize(("distinct", "bins"), [(5, {6}), (6, {6}), (7, {6, 12}), (12, {6, 12}), (13, {6, 12, 24})])
def test_there_are_no_more_bins_than_one_number_above_the_distinct_values(distinct, bins):
    family, x = Automatic(), np.tile(np.arange(float(distinct)), 40)[:, None]
    found = family.all_options(family.summarize(x, np.arange(len(x)) % 2).statistic)
    assert {candidate.bins for candidate in found if candidate.name == "bins"} == bins


# --------------------------------------------------------------------------------- columns that do not vote


def test_columns_that_tell_nothing_do_not_vote_and_say_exactly_nothing():
    rng, y = labels(600)
    noise = {f"real {j}": rng.random(600) for j in range(20)} | {"id": rng.permutation(600)}
    noise |= {f"name {j}": rng.choice(list("abcdefgh"), 600).tolist() for j in range(20)}
    rows = noise | {"x": rng.normal(size=600) + y}
    clf = BayesClassifier(calibrate=False).fit(rows, y)
    votes = dict(zip(clf.schema_.rows, clf.schema_.values[:, 1], strict=True))
    silent = [name for name, vote in votes.items() if vote == "no"]
    assert votes["x"] == "yes"
    assert votes["id"] == "no"
    assert len(silent) > 0.75 * len(noise)  # a few are lucky
    evidence = clf.evidence(rows)
    for name in silent:
        assert not np.any(evidence[name])
    rest = {name: column for name, column in rows.items() if name not in silent}
    alone = BayesClassifier(calibrate=False).fit(rest, y)
    assert_allclose(clf.predict_log_proba(rows), alone.predict_log_proba(rest), rtol=1e-10)


def test_a_silent_column_still_has_a_density():
    rng, y = labels(300, seed=2)
    x = rng.normal(size=(300, 1))
    found = chosen(x[:, 0], y)
    assert isinstance(found, SilentDistribution)
    density = found.log_density(x)
    assert_array_equal(density[:, 0], density[:, 1])
    pooled = sf.Model.fit(x, ["all"] * 300, found.choice.family).log_conditional(x)
    assert_allclose(density[:, :1], pooled, rtol=1e-12)
    assert_array_equal(found.relative_log_density(x), 0.0)
    assert_array_equal(found.linear()[0], 0.0)
    assert found.sample(np.zeros(5, np.int32), rng).shape == (5, 1)


def test_without_the_gate_every_column_votes():
    rng, y = labels(300)
    assert not isinstance(chosen(rng.normal(size=300), y, gate=False), SilentDistribution)


@pytest.mark.parametrize("x", [[1.0] * 40, [np.nan] * 40], ids=["constant", "missing"])
def test_columns_without_any_difference_have_a_distribution(x):
    found = chosen(x, np.arange(40) % 2)
    assert np.isfinite(found.log_density(np.array([[1.0], [np.nan], [7.0]]))).all()


@pytest.mark.parametrize("smoothing", [-1.0, "none", None])
def test_smoothing_is_a_number_or_auto(smoothing):
    with pytest.raises(sf.InvalidOptionError, match="smoothing must be a finite number ≥ 0 or 'auto'"):
        Automatic(smoothing)


def test_a_choice_is_for_one_column():
    with pytest.raises(sf.MismatchError, match="for one column, found 2"):
        Automatic().summarize(np.zeros((3, 2)), [0, 1, 0])
