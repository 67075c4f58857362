"""Families of many columns, chosen by one kernel: what is chosen for each column by itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice.families import many_columns

RNG = np.random.default_rng(0)


def gaussian(rows, columns, classes):
    y = RNG.integers(0, classes, rows)
    centre, spread = RNG.normal(size=(classes, columns)), RNG.uniform(0.5, 2.0, (classes, columns))
    return RNG.normal(centre[y], spread[y]), y


def mixed(rows=300, classes=3):
    """Columns of every kind that is chosen, and those that are hard: gaps, constants, outliers, an offset."""
    x, y = gaussian(rows, 40, classes)
    x[:, :8] = x[:, :8].round()
    x[:, 8:14] = np.exp(3.0 * x[:, 8:14])
    x[:, 14:18] = RNG.standard_cauchy((rows, 4)) ** 3
    x[:, 18] = 5.0
    x[:, 19] = np.where(RNG.random(rows) < 0.9, 0.0, x[:, 19])
    x[:, 20:24] = RNG.normal(size=(rows, 4))  # they tell nothing of the class
    x[:, 24] += 1e6
    x[RNG.random(x.shape) < 0.1] = np.nan
    x[:, 25] = np.where(y == 0, x[:, 25], np.nan)  # two classes have no value
    x[:, 26] = np.where((y != 1) | (np.arange(rows) < 3), x[:, 26], np.nan)  # one class has few
    return x, y


TABLES = {
    "two classes": gaussian(200, 80, 2),
    "ten classes": gaussian(400, 30, 10),
    "four rows": gaussian(4, 100, 2),
    "every kind": mixed(),
    "heavy tails": (RNG.standard_cauchy((500, 20)) * (1.0 + 2.0 * (np.arange(500) % 2))[:, None], np.arange(500) % 2),
}


def both(monkeypatch, x, y, **options):
    """Fit with the kernel, and column by column."""
    monkeypatch.setattr(many_columns, "WORTH_IT", 2)
    many = sf.BayesClassifier(**options).fit(x, y)
    many.predict_proba(x[:1])
    monkeypatch.setattr(many_columns, "WORTH_IT", 10**9)
    each = sf.BayesClassifier(**options).fit(x, y)
    each.predict_proba(x[:1])
    return many, each


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
@pytest.mark.parametrize("name", TABLES)
def test_the_kernel_chooses_what_each_column_by_itself_does(monkeypatch, name, smoothing):
    x, y = TABLES[name]
    many, each = both(monkeypatch, x, y, smoothing=smoothing)
    assert many.schema_.values[:, :2].tolist() == each.schema_.values[:, :2].tolist()
    ours, theirs = (clf._learned.model.distribution.parts for clf in (many, each))
    assert_allclose([p.score for p in ours], [p.score for p in theirs], rtol=1e-7, atol=1e-9)
    assert_allclose([p.chance for p in ours], [p.chance for p in theirs], rtol=1e-12)
    assert_allclose(many.calibration_.slope, each.calibration_.slope, rtol=1e-7)
    assert_allclose(many.predict_log_proba(x), each.predict_log_proba(x), rtol=1e-7, atol=1e-9)
    assert_allclose(many.score_samples(x[:20]), each.score_samples(x[:20]), rtol=1e-7)


def test_rows_that_are_new_are_answered_alike(monkeypatch):
    x, y = mixed()
    many, each = both(monkeypatch, x, y)
    new = RNG.normal(0.0, 10.0, (50, x.shape[1])).round(1)
    new[RNG.random(new.shape) < 0.2] = np.nan
    assert_allclose(many.predict_log_proba(new), each.predict_log_proba(new), rtol=1e-7, atol=1e-9)
    assert_allclose(many.predict_proba(new[:1]), each.predict_proba(new[:1]), rtol=1e-7)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    x, y = gaussian(300, 200, 3)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SUFFICE_NUM_THREADS", threads)
        found.append(sf.BayesClassifier().fit(x, y).predict_log_proba(x))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_weights_are_learned_column_by_column():
    x, y = gaussian(60, 80, 2)
    weight = RNG.integers(1, 4, 60).astype(float)
    whole = sf.BayesClassifier(keep=0, calibrate=False).fit(x, y, weight)
    repeated = sf.BayesClassifier(keep=0, calibrate=False).fit(
        np.repeat(x, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    assert_allclose(whole.predict_proba(x), repeated.predict_proba(x), rtol=1e-9)
    halves = sf.BayesClassifier(keep=0, calibrate=False).fit(x, y, 0.5 * weight)
    assert halves._learned.model.distribution.many is None


def test_an_infinite_entry_is_refused_by_the_name_of_its_column():
    x, y = gaussian(60, 80, 2)
    clf = sf.BayesClassifier().fit(x, y)
    bad = x[:5].copy()
    bad[3, 70] = np.inf
    with pytest.raises(sf.InvalidDataError, match=r"x70.*row 3|row 3.*x70"):
        clf.predict(bad)
    with pytest.raises(sf.InvalidDataError, match="x70"):
        sf.BayesClassifier().fit(np.where(np.arange(80) == 70, np.inf, x), y)


def test_a_wide_table_is_learned_stored_and_merged(tmp_path):
    x, y = gaussian(80, 100, 2)
    whole = sf.BayesClassifier().fit(x, y)
    whole.save(tmp_path / "wide.suffice")
    assert_allclose(sf.load(tmp_path / "wide.suffice").predict_proba(x), whole.predict_proba(x), rtol=1e-12)
    parts = sf.BayesClassifier().fit(x[:30], y[:30]) + sf.BayesClassifier().fit(x[30:], y[30:])
    assert_allclose(parts.predict_proba(x), whole.predict_proba(x), rtol=1e-9)
    parts.forget(x[:30], y[:30])
    assert_allclose(parts.predict_proba(x), sf.BayesClassifier().fit(x[30:], y[30:]).predict_proba(x), rtol=1e-6)
