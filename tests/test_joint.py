"""Rows that no class can have, classes that no prior allows, and rows that cannot be asked for or drawn."""

from dataclasses import replace

import numpy as np
import pytest

import suffice as sf
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.families import Decisions
from suffice.families.choose import Automatic
from suffice.model import joint
from suffice.model.out_of_range import numbers_only

X, Y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array(["a", "a", "a", "b"])
IMPOSSIBLE = np.array([[7.0], [0.0]])  # no class has a 7


@pytest.fixture
def model():
    """A model without smoothing, in which values that were not seen are impossible."""
    return sf.Model.fit(X, Y, sf.Categorical(prior=None))


@pytest.mark.parametrize("log", [False, True])
def test_a_row_that_is_impossible_under_every_class_gets_the_prior(model, log):
    with pytest.warns(sf.ImpossibleRowWarning, match="1 of 2 rows"):
        found = np.exp(model.log_posterior(IMPOSSIBLE)) if log else model.posterior(IMPOSSIBLE)
    np.testing.assert_allclose(found, [[0.75, 0.25], [1.0, 0.0]], rtol=1e-12)
    assert model.predict(IMPOSSIBLE).tolist() == ["a", "a"]
    rare = replace(model, log_prior=np.log([0.25, 0.75]))
    assert rare.predict(IMPOSSIBLE).tolist() == ["b", "a"]
    with pytest.warns(sf.ImpossibleRowWarning, match="1 of 2 rows"):
        np.testing.assert_allclose(rare.posterior(IMPOSSIBLE)[0], [0.25, 0.75], rtol=1e-12)


def test_without_any_prior_all_classes_are_equally_probable(model):
    none = replace(model, log_prior=np.full(2, -np.inf))
    with pytest.warns(sf.ImpossibleRowWarning, match="2 of 2 rows"):
        np.testing.assert_allclose(none.posterior(IMPOSSIBLE), np.full((2, 2), 0.5), rtol=1e-12)
    assert none.predict(IMPOSSIBLE).tolist() == ["a", "a"]
    _, drawn = none.sample(400, random_state=0)
    assert 150 < (drawn == "a").sum() < 250
    _, drawn = model.sample(400, random_state=0)
    assert 260 < (drawn == "a").sum() < 340


@pytest.mark.parametrize("columns", [0, 2])
def test_rows_of_fewer_or_more_columns_are_refused(model, columns):
    with pytest.raises(MismatchError, match=f"Expected rows of 1 columns, found {columns}"):
        model.log_joint(np.zeros((3, columns)))


@pytest.mark.parametrize("row", [0, 1, 3])
def test_a_score_that_is_no_number_is_refused_with_its_row(model, row):
    scores = np.zeros((5, 2))
    scores[row, 0] = np.nan
    for as_log in (False, True):
        with pytest.raises(InvalidDataError, match=rf"row {row}\b"):
            model.normalize(scores.copy(), model.log_prior, as_log)


def test_a_search_begins_at_what_was_decided_about_fewer_rows(monkeypatch):
    asked, family, near = [], sf.Categorical(), Decisions()
    monkeypatch.setattr(sf.Categorical, "estimate_near", lambda self, s, known: asked.append(known) or self.estimate(s))
    statistics = family.summarize(X, Y)
    sf.Model.of(statistics, family)
    assert asked == []
    sf.Model.of(statistics, family, near=near)
    assert asked == [near]


def test_a_prior_that_was_not_estimated_adds_no_parameters(model):
    given = sf.Model(model.labels, np.log([0.5, 0.5]), model.distribution)
    assert given.n_parameters == model.distribution.n_parameters
    assert model.n_parameters == model.distribution.n_parameters + 1  # of two shares, one is free


def test_as_many_rows_are_drawn_as_memory_allows(monkeypatch):
    model = sf.Model.fit(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0]]), ["a", "b"], sf.Gaussian())
    assert model.sample(0, random_state=0)[0].shape == (0, 3)
    for n in (-1, 2.0):
        with pytest.raises(InvalidOptionError, match="an integer ≥ 0"):
            model.sample(n)
    monkeypatch.setattr(joint, "MOST_DRAWN", 12)  # entries
    assert model.sample(4, random_state=0)[0].shape == (4, 3)
    with pytest.raises(InvalidOptionError, match="5 rows of 3 columns are too many"):
        model.sample(5)
    labels_alone = sf.Model.fit(np.empty((2, 0)), ["a", "b"], sf.Gaussian())
    assert len(labels_alone.sample(12, random_state=0)[1]) == 12
    with pytest.raises(InvalidOptionError, match="13 rows of 0 columns are too many"):
        labels_alone.sample(13)


def test_each_row_can_be_drawn_of_a_class_of_its_own(model):
    wanted = np.array(["b", "a", "a", "b"])
    rows, labels = model.sample(4, label=wanted, random_state=0)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(rows[:, 0], [1.0, 0.0, 0.0, 1.0])
    for other in (wanted[:3], wanted[:, None]):
        with pytest.raises(InvalidOptionError, match="label must be one label, or an array of 4, found shape"):
            model.sample(4, label=other)


def test_a_column_that_does_not_vote_has_a_density_left_out_and_says_exactly_nothing():
    x, y = np.random.default_rng(0).normal(size=(60, 1)), np.arange(60) % 2
    family, prior = Automatic(), sf.ClassPrior()
    statistics = family.summarize(x, y)
    silent = family.estimate(statistics.statistic)
    assert not silent.votes
    said, log_prior = joint.leave_one_out_parts(statistics, family, prior, x, y)
    np.testing.assert_array_equal(said, 0.0)
    found = joint.leave_one_out(statistics, family, prior, x, y)
    np.testing.assert_allclose(found - log_prior, silent.log_density(x))
    np.testing.assert_allclose(np.exp(log_prior), np.where(y[:, None] == [0, 1], 29 / 59, 30 / 59))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_log_density_that_is_no_number_is_refused_with_its_row(odd):
    scores = np.zeros((4, 2))
    scores[2, 1] = odd
    with pytest.raises(InvalidDataError, match=r"of row 2 is not a number"):
        numbers_only(scores)
    scores[2, 1] = -np.inf
    assert numbers_only(scores) is scores
