"""Rows that were repeated, or that weigh more than one, tell no more than they do once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice.core.frames import as_frame
from suffice.core.statistics import RowSample


def sample_of(x, codes, weight=None, size=1000):
    return RowSample.of(as_frame({"x": np.asarray(x)}), np.asarray(codes, np.int32), 2, weight, size=size)


def by_value(sample, values):
    return dict(zip(np.asarray(sample.rows.column("x").to_numpy()).tolist(), values.tolist(), strict=True))


def test_a_row_that_was_seen_several_times_among_others_is_left_out_once():
    x = [*range(100), 7, 7, 9]
    sample = sample_of(x, np.zeros(103))
    assert_array_equal(sample.unit, 1.0)
    assert_array_equal(sample.independent, sample.weight)
    assert by_value(sample, sample.without_copies)[7] == 3.0


@given(st.integers(2, 50), st.integers(1, 60), st.integers(0, 5))
def test_rows_of_a_class_that_were_all_repeated_are_left_out_with_their_copies(times, n, seed):
    codes = np.random.default_rng(seed).integers(0, 2, n)
    weight = np.where(codes == 1, times, 1.0)
    sample = sample_of(np.arange(n), codes, weight)
    assert_array_equal(sample.unit, sample.weight)
    assert_array_equal(sample.without_copies, 1.0)
    assert sample.independent.sum() == pytest.approx(n)
    assert_allclose(sample.independent * weight.sum(), sample.weight * n)  # classes have the shares they had
    again = sample_of(np.repeat(np.arange(n), weight.astype(int)), np.repeat(codes, weight.astype(int)))
    assert_array_equal(again.unit, sample.unit)


def test_rows_that_several_classes_have_in_common_are_left_out_once():
    x, codes = np.tile(np.arange(12), 2), np.repeat([0, 1], 12)
    sample = sample_of(x, codes, np.full(24, 40.0))
    assert_array_equal(sample.unit, 1.0)
    assert_array_equal(sample.independent, 40.0)


def test_less_than_a_row_is_left_out_as_a_whole():
    weight = np.linspace(0.01, 1, 50)
    sample = sample_of(np.arange(50), np.arange(50) % 2, weight)
    assert_array_equal(sample.unit, sample.weight)
    assert_array_equal(sample.independent, sample.weight)  # old rows of streams stay as light as they are


def table(n, seed):
    """Numbers and categories that interact; many values, so that pairs and cosines can learn rows by heart."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    c, d = rng.integers(0, 12, (2, n))
    y = (a * b + 0.3 * ((c + d) % 3) + rng.normal(size=n) > 0.2).astype(int)
    return pa.table({"a": a.round(2), "b": b.round(2), "c": c.astype(str).tolist(), "d": d.astype(str).tolist()}), y


def log_loss(clf, x, y):
    return -np.log(clf.predict_proba(x)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("structure", ["naive", "columns", "pairs", "pool"])
@pytest.mark.parametrize("keep", ["auto", 400])
def test_a_table_of_copies_is_learned_as_well_as_its_rows(structure, keep):
    x, y = table(800, 0)
    new = table(2000, 1)
    once = log_loss(sf.BayesClassifier(structure=structure, keep=keep).fit(x, y), *new)
    copies = pa.concat_tables([x] * 8), np.tile(y, 8)
    repeated = sf.BayesClassifier(structure=structure, keep=keep).fit(*copies)
    assert log_loss(repeated, *new) < once + 0.05  # it is smoothed less
    weighted = sf.BayesClassifier(structure=structure, keep=keep).fit(x, y, sample_weight=np.full(len(y), 8.0))
    assert_allclose(weighted.predict_proba(new[0]), repeated.predict_proba(new[0]), rtol=1e-6, atol=1e-9)


def test_a_repeated_class_has_a_larger_prior_and_the_rest_as_before():
    x, y = table(800, 0)
    new = table(2000, 1)
    clf = sf.BayesClassifier(structure="pairs").fit(x, y, sample_weight=np.where(y == 1, 10.0, 1.0))
    p = clf.predict_proba(new[0])
    odds = p[:, 1] / p[:, 0] / 10  # as the rows came
    fair = np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)
    plain = sf.BayesClassifier(structure="pairs").fit(x, y)
    assert -np.log(fair[np.arange(2000), new[1]]).mean() < log_loss(plain, *new) + 0.05


@pytest.mark.parametrize("event", ["multinomial", "auto"])
def test_texts_that_were_all_repeated_are_learned_as_well_as_once(event):
    rng = np.random.default_rng(0)

    def texts(n):
        y = rng.integers(0, 2, n)
        words = [[f"w{int(w)}" for w in rng.zipf(1.3, 8) % 400 + 400 * (rng.random(8) < 0.15) * k] for k in y]
        return [" ".join(each) for each in words], y

    (x, y), new = texts(300), texts(1000)
    once = log_loss(sf.TextClassifier(event=event).fit(x, y), *new)
    repeated = sf.TextClassifier(event=event).fit(x * 8, np.tile(y, 8))
    assert log_loss(repeated, *new) < once + 0.05  # it is smoothed less
