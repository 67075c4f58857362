"""The family of docs/adding_a_family.md keeps the laws that every family keeps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import laws
import suffice as sf
from suffice.model.joint import leave_one_out

PAGE = Path(__file__).parent.parent / "docs" / "adding_a_family.md"


def written():
    scope: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1], scope)
    return scope["Rayleigh"]


Rayleigh = written()


@st.composite
def winds(draw, min_rows: int = 0) -> laws.Rows:
    """Squares of speeds as the family hands them to its statistic, with gaps, labels and weights."""
    n = draw(st.integers(min_rows, 12))
    entry = st.one_of(st.floats(0, 60, width=32), st.just(np.nan))
    speeds = np.array(draw(st.lists(entry, min_size=2 * n, max_size=2 * n)), dtype=float).reshape(n, 2)
    y = np.array(draw(st.lists(st.sampled_from(["land", "sea"]), min_size=n, max_size=n)), dtype="<U4")
    weight = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5]), min_size=n, max_size=n))
    return laws.Rows(Rayleigh.kind, Rayleigh().prepared(speeds), y, np.array(weight, dtype=float))


@given(winds(), winds(), winds())
def test_its_statistic_adds_like_any_other(a, b, c):
    laws.addition_has_an_identity(a)
    laws.addition_commutes(a, b)
    laws.addition_associates(a, b, c)


@given(winds(), st.integers(0, 12))
def test_parts_make_the_whole_and_can_be_taken_away(rows, at):
    laws.merging_parts_equals_summarizing_the_whole(rows, at)
    laws.subtraction_undoes_addition(rows, at)
    laws.loading_undoes_saving(rows)


@given(winds(1), st.data())
def test_whole_weights_are_repeated_rows_and_no_weight_is_absence(rows, data):
    n = len(rows.y)
    laws.integer_weight_equals_repeated_rows(
        rows, np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    )
    laws.zero_weight_equals_absence(rows, np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))))


RNG = np.random.default_rng(0)
Y = np.array(["land", "sea"])[np.arange(80) % 2]
X = RNG.rayleigh(np.where(Y == "sea", 6.0, 3.0)[:, None], (80, 2))
X[RNG.random(X.shape) < 0.1] = np.nan


@pytest.mark.parametrize(
    "family", [Rayleigh(), Rayleigh(prior=None), Rayleigh(learn="map"), Rayleigh(sf.Gamma(2, 30))], ids=str
)
def test_leaving_one_out_is_fitting_again_without_it(family):
    out = leave_one_out(family.summarize(X, Y), family, sf.ClassPrior(), X, Y)
    for i in (0, 17, 79):
        others = np.arange(80) != i
        assert_allclose(out[i], sf.Model.fit(X[others], Y[others], family).log_joint(X[i : i + 1])[0], rtol=1e-10)


def test_its_density_is_rayleighs_and_gaps_are_left_out():
    model = sf.Model.fit(X, Y, Rayleigh(prior=None))
    for c, label in enumerate(model.labels):
        for j in range(2):
            seen = X[label == Y, j]
            scale = np.sqrt(np.nanmean(seen**2) / 2)
            assert_allclose(1 / np.sqrt(2 * model.distributions[0].rate[c, j]), scale, rtol=1e-12)
            row = np.full((1, 2), np.nan)
            row[0, j] = 4.2
            assert_allclose(model.log_conditional(row)[0, c], stats.rayleigh.logpdf(4.2, scale=scale), rtol=1e-12)
    assert_allclose(model.log_conditional(np.full((1, 2), np.nan)), 0.0)


def test_drawn_speeds_have_its_mean_and_options_that_make_no_sense_are_refused():
    model = sf.Model.fit(X, Y, Rayleigh())
    drawn, _ = model.sample(20_000, label="sea", random_state=0)
    assert_allclose(drawn.mean(axis=0), model.distributions[0].expected[1], rtol=0.02)
    with pytest.raises(sf.InvalidDataError, match="at least 0"):
        sf.Model.fit(-X, Y, Rayleigh())
    with pytest.raises(sf.InvalidOptionError, match="not written yet"):
        sf.Model.fit(X, Y, Rayleigh(learn="predictive"))
