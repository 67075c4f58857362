"""The kernel that scores the families of many columns, against NumPy: leave each row out, and average log p(y | x)."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.core.arrays import Categories
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.core.statistics import Moments
from suffice.families import Family
from suffice.families.choose import (
    MARGIN,
    STUDENT,
    Automatic,
    AutomaticBernoulli,
    AutomaticCategorical,
    Score,
    columns_of,
    decide,
    score_columns,
)

RNG = np.random.default_rng(5)
N = 400
TWO = RNG.integers(0, 2, N)
NORMAL = RNG.normal(size=N)
SHIFTED = NORMAL + TWO

COLUMNS = {
    "shifted": SHIFTED,
    "noise": NORMAL,
    "few values": RNG.integers(0, 7, N) + TWO,
    "two values": (RNG.random(N) < 0.3 + 0.4 * TWO).astype(float),
    "one value": np.full(N, 3.5),
    "ties": np.where(RNG.random(N) < 0.6, 0.0, np.exp(SHIFTED)),
    "rounded": SHIFTED.round(1),
    "missing": np.where(RNG.random(N) < 0.4, np.nan, SHIFTED),
    "nearly all missing": np.where(np.arange(N) < N - 5, np.nan, SHIFTED),
    "all missing": np.full(N, np.nan),
    "far outlier": np.r_[SHIFTED[:-1], 1e6],
    "one that differs": np.r_[np.zeros(N - 1), 1.0],
    "constant in a class": np.where(TWO == 1, 2.0, NORMAL),
    "constant in each class": np.where(TWO == 1, 2.0, 7.0),
    "one ulp apart": np.where(TWO == 1, 1.0, np.nextafter(1.0, 2.0)),
    "tiny": 1e-150 * SHIFTED,
    "large": 1e140 * SHIFTED,
    "heavy tails": RNG.standard_cauchy(N) ** 3 + TWO,
}


def labels(kind: str) -> np.ndarray:
    if kind == "two":
        return TWO
    if kind == "many":
        return np.r_[TWO[:-40] * 3 + np.arange(N - 40) % 3, np.arange(40) // 2 + 10]
    if kind == "one":
        return np.zeros(N, np.int64)
    return np.r_[TWO[:-1], 9]  # a class of one row


def score(log_density: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Score:
    """What the kernel computes, in NumPy."""
    one, rows = np.minimum(weight, 1.0), np.arange(len(codes))
    rest = np.repeat(np.bincount(codes, weight, minlength=log_density.shape[1])[None], len(codes), axis=0)
    rest[rows, codes] = np.maximum(rest[rows, codes] - one, 0.0)
    prior = ClassPrior(Dirichlet(1.0)).log(rest)
    joint = np.maximum(log_density, -1e300) + prior
    top = joint.max(axis=1, keepdims=True)
    posterior = joint[rows, codes] - top[:, 0] - np.log(np.exp(joint - top).sum(axis=1))
    gain = np.maximum(posterior - prior[rows, codes], -1e100)
    mean = np.average(gain, weights=weight)
    error = np.sqrt(np.average((gain - mean) ** 2, weights=weight) / weight.sum())
    return Score(np.average(posterior, weights=weight), np.average(prior[rows, codes], weights=weight), error)


def rows_of(family, statistic):
    """The rows that a column is scored on."""
    if isinstance(family, Automatic):
        points = statistic.points[0]
        some = family.scored(len(points.weight), statistic.n_classes)
        some = slice(None) if some is None else some
        return np.ascontiguousarray(points.values[some]), points.codes[some], points.weight[some]
    place, _, _, weight, start = family.placed(statistic)
    codes = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    if isinstance(family, AutomaticCategorical):
        return Categories(place[:, None].astype(np.int32), statistic.keys), codes, weight
    return place[:, None], codes, weight


def expected(family, statistic) -> list[Score]:
    """Score each candidate by the general leave-one-out of its family."""
    x, codes, weight = rows_of(family, statistic)
    out = []
    for choice in family.candidates(statistic):
        one, held = np.minimum(weight, 1.0), choice.statistic
        if choice.name == "student":
            points = statistic.points[0]
            held = Moments.of(points.values, points.codes, statistic.n_classes, points.weight)
            left_out = Family.leave_one_out(STUDENT, held, STUDENT.estimate(held), x, codes, one)
        else:
            left_out = choice.family.leave_one_out(held, choice.fit(), choice.read(x), codes, one)
        out.append(score(left_out, codes, weight))
    return out


def found(family, statistic) -> list[Score]:
    (column,) = columns_of([(family, statistic)])
    return [] if column.is_clear else score_columns([column])[0]


def assert_same(family, statistic, rtol: float = 1e-12) -> None:
    ours = found(family, statistic)
    if not ours:
        return
    theirs = expected(family, statistic)
    assert len(ours) == len(theirs)
    size = max(1.0, abs(theirs[0].chance))
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * size)
    (decision,) = decide([(family, statistic)])
    means = [each.mean for each in theirs]
    assert decision.score == pytest.approx(max(means), rel=1e-9, abs=1e-9)
    best = theirs[int(np.argmin(np.abs(np.array(means) - decision.score)))]
    if abs(best.mean - best.chance - MARGIN * best.error) > 1e-9:
        assert decision.votes == (best.mean - best.chance > MARGIN * best.error)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["two", "many", "one", "lone"])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_kernel_scores_as_leaving_rows_out(name, kind, weighted):
    weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 2.5], N) if weighted else None
    family = Automatic(smoothing="auto")
    statistic = family.summarize(COLUMNS[name][:, None], labels(kind), weight).statistic
    assert_same(family, statistic)


@pytest.mark.parametrize("name", ["shifted", "ties", "few values", "constant in a class"])
def test_values_far_from_zero_have_few_digits(name):
    family = Automatic()
    statistic = family.summarize(COLUMNS[name][:, None] + 1e9, TWO).statistic
    assert_same(family, statistic, 1e-9)


@pytest.mark.parametrize("limit", [None, 50])
def test_cells_wider_than_a_value_stand_for_their_middle(limit):
    y = RNG.integers(0, 3, 9000)
    family = Automatic(limit=limit)
    assert_same(family, family.summarize(RNG.normal(size=(9000, 1)) + y[:, None], y).statistic)


@pytest.mark.parametrize("smoothing", [0.0, 1.0, "auto"])
def test_tables_of_categories_and_of_booleans(smoothing):
    names = np.array(list("abcdefgh"))[np.minimum(RNG.integers(0, 8, N), 2 + 5 * TWO)]
    family = AutomaticCategorical(smoothing)
    statistic = family.summarize(names[:, None].astype(object), TWO).statistic
    assert_same(family, statistic)
    empty = np.where(np.array([key == "g" for key in statistic.keys[0]]), 0.0, statistic.weight)
    assert_same(family, replace(statistic, weight=empty))  # a category that no row has
    true = AutomaticBernoulli(smoothing)
    weight = RNG.choice([1.0, 2.0, 3.0], N)
    assert_same(true, true.summarize((RNG.random(N) < 0.2 + 0.5 * TWO)[:, None], TWO, weight).statistic)


def test_many_columns_are_decided_as_each_alone():
    family = Automatic()
    each = [(family, family.summarize(x[:, None], labels("many")).statistic) for x in COLUMNS.values()]
    together = decide(each)
    for column, decision in zip(each, together, strict=True):
        assert repr(decide([column])[0]) == repr(decision)


def test_a_column_that_one_row_makes_vary_does_not_vary_without_it():
    y = np.arange(N) % 20
    family = Automatic()
    for value in (1.0, 0.1, 1e-9):
        assert_same(family, family.summarize(np.r_[np.zeros(N - 1), value][:, None], y).statistic)


def test_values_too_large_are_refused():
    family = Automatic()
    statistic = family.summarize(np.array([[1e200], [-1e200], [1.0], [2.0]]), [0, 1, 0, 1]).statistic
    with pytest.raises(sf.errors.InvalidDataError, match="overflows"):
        family.estimate(statistic)
