"""Rows that were repeated, or that weigh more than one, tell no more than they do once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from suffice.core.frames import as_frame, row_hashes
from suffice.core.statistics import RowSample
from suffice.families import KeptRows


def sample_of(x, codes, weight=None, size=1000):
    """A sample of rows of three numbers, of which few of the possible combinations occur."""
    frame = as_frame({"x": np.asarray(x), "y": np.cos(x), "z": np.sin(x)})
    return RowSample.of(frame, np.asarray(codes, np.int32), 2, weight, size=size)


def by_value(sample, values):
    return dict(zip(np.asarray(sample.rows.column("x").to_numpy()).tolist(), values.tolist(), strict=True))


def test_a_row_that_was_seen_several_times_among_others_is_left_out_once():
    x = [*range(100), 7, 7, 9]
    sample = sample_of(x, np.zeros(103))
    assert_array_equal(sample.unit, 1.0)
    assert_array_equal(sample.independent, sample.weight)
    assert by_value(sample, sample.without_copies)[7] == 3.0


@given(st.integers(2, 50), st.integers(11, 60), st.integers(0, 5))
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


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_rows_of_few_possible_values_come_again_by_themselves(columns):
    x = np.random.default_rng(0).integers(0, 3, (3000, columns))
    frame = as_frame({f"x{j}": x[:, j] for j in range(columns)} | {"one": np.ones(3000)})
    sample = RowSample.of(frame, (x.sum(axis=1) > columns).astype(np.int32), 2, size=1000)
    assert (sample.weight > 1).all()
    assert_array_equal(sample.unit, 1.0)


@pytest.mark.parametrize("rule", [np.all, np.any])
def test_rules_of_few_rows_that_come_often_are_learned(rule):
    x = np.random.default_rng(0).integers(0, 2, (5000, 3))
    y = rule(x, axis=1).astype(int)
    clf = sf.BayesClassifier().fit({f"x{j}": column.astype(str) for j, column in enumerate(x.T)}, y)
    p = clf.predict_proba({f"x{j}": column.astype(str) for j, column in enumerate(x.T)})
    assert -np.log(p[np.arange(5000), y]).mean() < 0.01


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


def few_values(n, seed, q):
    """Rows of three columns of few values, whose classes have the probabilities q."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(0, size, n) for size in q.shape], axis=1)
    p = q[tuple(x.T)]
    return {f"x{j}": column.astype(str) for j, column in enumerate(x.T)}, (rng.random(n) < p).astype(int), p


def test_two_columns_that_matter_together_are_learned_from_four_rows_that_come_often():
    x = np.random.default_rng(0).integers(0, 2, (1000, 2))
    rows, y = {"a": x[:, 0].astype(str), "b": x[:, 1].astype(str)}, x[:, 0] ^ x[:, 1]
    assert log_loss(sf.BayesClassifier().fit(rows, y), rows, y) < 0.01
    assert log_loss(sf.BayesClassifier(structure="pairs").fit(rows, y), rows, y) < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_any_probabilities_of_few_rows_are_learned(seed):
    q = np.random.default_rng(seed).beta(0.7, 0.7, (2, 2, 3))
    rows, y, _ = few_values(2000, seed, q)
    new, labels, p = few_values(20_000, seed + 100, q)
    best = -np.mean(np.log(np.where(labels == 1, p, 1 - p)))
    clf = sf.BayesClassifier().fit(rows, y)
    assert log_loss(clf, new, labels) < best + 0.03
    naive = sf.BayesClassifier(structure="naive").fit(rows, y)
    assert log_loss(clf, new, labels) < log_loss(naive, new, labels)


def test_few_rows_that_come_often_are_left_out_as_if_they_had_not_been_learned(tmp_path):
    q = np.random.default_rng(1).beta(0.7, 0.7, (2, 2, 3))
    rows, y, _ = few_values(600, 1, q)
    clf = sf.BayesClassifier().fit(rows, y)
    left_out = clf.leave_one_out(rows, y)
    assert_allclose(np.exp(left_out).sum(axis=1), 1.0)
    p = clf.predict_proba(rows)
    assert 0 < -(np.exp(left_out) - p)[np.arange(600), y].mean() < 0.01  # a row of hundreds changes little
    clf.save(tmp_path / "few.suffice")
    assert_array_equal(sf.load(tmp_path / "few.suffice").predict_proba(rows), p)
    weighted = {name: values[:300] for name, values in rows.items()}
    twice = sf.BayesClassifier().fit(weighted, y[:300], sample_weight=np.full(300, 2.0))
    repeated = {name: np.tile(values, 2) for name, values in weighted.items()}
    assert_allclose(
        twice.predict_proba(rows),
        sf.BayesClassifier().fit(repeated, np.tile(y[:300], 2)).predict_proba(rows),
        rtol=1e-9,
    )


@given(st.lists(st.floats(0.1, 90), min_size=1, max_size=40), st.integers(1, 300))
def test_divided_rows_have_the_weight_of_the_rows_and_come_in_turns(weights, rows):
    n = len(weights)
    sample = sample_of(np.arange(n) % 3, np.arange(n) % 2, np.array(weights))
    kept = KeptRows.of(sample.rows, sample)
    divided = kept.divided(rows)
    place = {key: i for i, key in enumerate(zip(sample.hashes.tolist(), sample.codes.tolist(), strict=True))}
    at = [place[key] for key in zip(row_hashes(divided.rows).tolist(), divided.codes.tolist(), strict=True)]
    for name in ("weight", "without_copies", "independent"):
        assert_allclose(np.bincount(at, getattr(divided, name)), getattr(kept, name))
    assert at[: len(sample)] == list(range(len(sample)))
    assert (divided.unit <= divided.weight).all()
    assert len(divided.codes) < rows + 2 * len(sample)
