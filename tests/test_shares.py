"""Class shares of rows without labels: the most likely ones, and answers that have them."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import suffice as sf
from suffice.core.errors import InvalidDataError, NoDistributionError
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.engines.source import Source
from suffice.model.shares import Shares
from suffice.naive_bayes import ComplementNB, GaussianNB, MultinomialNB

RNG = np.random.default_rng(2)
Y = np.repeat(["a", "b", "c"], [200, 150, 50])
CENTRES = {"a": [0.0, 0.0], "b": [2.0, 0.0], "c": [0.0, 2.0]}
X = RNG.normal(size=(400, 2)) + [CENTRES[y] for y in Y]
NEW = RNG.normal(size=(600, 2)) + np.repeat([CENTRES["a"], CENTRES["b"], CENTRES["c"]], [60, 90, 450], axis=0)
WORDS = np.array(["apple pear plum day", "bolt screw nail day", "cloud rain wind day"])
TEXTS = [" ".join(RNG.choice(WORDS["abc".index(y)].split(), 5)) for y in Y]
NEW_TEXTS = [" ".join(RNG.choice(WORDS[i].split(), 5)) for i in np.repeat([0, 1, 2], [10, 30, 160])]
MODELS = [
    (GaussianNB(), X, NEW),
    (MultinomialNB(), np.exp(X).round(), np.exp(NEW).round()),
    (LinearDiscriminantAnalysis(), X, NEW),
    (QuadraticDiscriminantAnalysis(), X, NEW),
    (sf.BayesClassifier(), X, NEW),
    (sf.BayesClassifier(structure="naive"), X, NEW),
    (sf.BayesClassifier(calibrate="classes"), X, NEW),
    (sf.BayesClassifier(prior="uniform"), X, NEW),
    (sf.TextClassifier(), TEXTS, NEW_TEXTS),
]
IDS = [f"{type(model).__name__}-{i}" for i, (model, _, _) in enumerate(MODELS)]


@pytest.mark.parametrize(("model", "x", "new"), MODELS, ids=IDS)
def test_the_shares_are_the_mean_of_the_answers_and_nothing_is_learned_anew(model, x, new):
    model = clone(model).fit(x, Y)
    before, left_out = model.predict_proba(new), model.leave_one_out(x, Y)
    adapted = model.adapt(new)
    assert type(adapted) is type(model)
    share, error, _ = adapted.shares_.values.T
    assert_allclose(adapted.predict_proba(new).mean(axis=0), share, atol=1e-6)
    assert_allclose(np.exp(adapted.model_.log_prior), share)
    assert (error > 0).all()
    assert share[2] > 0.6 > 0.3 > share[0]
    assert_array_equal(model.predict_proba(new), before)  # the classifier itself is as it was
    assert adapted.statistics_ is model.statistics_
    assert_array_equal(adapted.leave_one_out(x, Y), left_out)


@pytest.mark.parametrize("model", [GaussianNB(), LinearDiscriminantAnalysis(), sf.BayesClassifier(calibrate=False)])
def test_an_adapted_classifier_is_one_that_is_told_the_shares(model):
    name = "prior" if isinstance(model, sf.BayesClassifier) else "priors"
    adapted = clone(model).fit(X, Y).adapt(NEW)
    share = adapted.shares_.values[:, 0]
    told = clone(model).set_params(**{name: share}).fit(X, Y)
    assert_allclose(adapted.predict_proba(NEW), told.predict_proba(NEW), atol=1e-12)
    before = clone(model).fit(X, Y).predict_proba(NEW) * share / [0.5, 0.375, 0.125]
    assert_allclose(adapted.predict_proba(NEW), before / before.sum(axis=1, keepdims=True), atol=1e-9)


@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 1000), st.floats(0.05, 3.0))
def test_no_other_shares_are_more_likely(classes, rows, seed, spread):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(classes, 5.0))
    posterior = rng.dirichlet(np.full(classes, spread), rows)
    weight = rng.choice([0.5, 1.0, 2.0], rows)
    found = Shares.of(posterior, np.log(prior), 0.0, weight)
    ratio = posterior / prior
    slope = (weight / (ratio @ found.share)) @ ratio / weight.sum()  # of the log-likelihood: 1 inside, below 1 where 0
    assert_allclose(found.share.sum(), 1.0)
    assert (slope < 1 + 1e-3).all()
    assert_allclose(slope[found.share > 1e-3], 1.0, atol=1e-3)


def test_the_part_of_the_prior_that_calibration_mixes_in_changes_nothing():
    rng = np.random.default_rng(0)
    prior, plain = np.array([0.5, 0.3, 0.2]), rng.dirichlet([0.5, 0.5, 0.5], 200)
    a = Shares.of(plain, np.log(prior), 0.0)
    b = Shares.of(0.9 * plain + 0.1 * prior, np.log(prior), 0.1)
    assert_allclose(a.share, b.share, atol=1e-8)
    assert_allclose(a.error, b.error, rtol=1e-6)


def test_standard_errors_are_those_of_repeated_draws():
    model, true = GaussianNB().fit(X, Y), np.array([0.3, 0.1, 0.6])
    off = []
    for seed in range(100):
        labels = np.array(["a", "b", "c"])[np.random.default_rng(seed).choice(3, 300, p=true)]
        drawn, _ = model.sample(300, labels, random_state=seed)
        share, error, _ = model.adapt(drawn).shares_.values.T
        off.append((share - true) / error)
    assert_allclose(np.std(off, axis=0), 1.0, atol=0.25)
    assert_allclose(np.mean(off, axis=0), 0.0, atol=0.3)


def test_the_order_and_place_of_rows_do_not_matter_and_weights_are_repeated_rows(tmp_path):
    model = sf.BayesClassifier(structure="naive").fit(pa.table({"u": X[:, 0], "v": X[:, 1], "y": Y}), "y")
    count = RNG.integers(0, 3, len(NEW))
    table = pa.table({"u": NEW[:, 0], "v": NEW[:, 1], "w": count})
    pq.write_table(table, tmp_path / "new.parquet")
    each = [
        model.adapt(table.take(np.repeat(np.arange(len(NEW)), count)[::-1])),
        model.adapt(table, count),
        model.adapt(table, "w"),
        model.adapt(str(tmp_path / "new.parquet"), "w"),
        model.adapt(iter(table.to_batches(max_chunksize=100)), "w"),
    ]
    for other in each[1:]:
        assert_allclose(other.shares_.values, each[0].shares_.values, rtol=1e-8)


def test_shares_stay_in_files_and_copies_and_go_when_more_is_learned(tmp_path):
    model = sf.BayesClassifier().fit(X, Y)
    adapted = model.adapt(NEW)
    adapted.save(tmp_path / "m.suffice")
    for again in (sf.load(tmp_path / "m.suffice"), pickle.loads(pickle.dumps(adapted)), adapted.adapt(NEW)):
        assert_allclose(again.predict_proba(NEW), adapted.predict_proba(NEW), atol=1e-8)
        assert_allclose(again.shares_.values, adapted.shares_.values, atol=1e-8)
    assert_array_equal(sf.load(tmp_path / "m.suffice").predict_proba(NEW), adapted.predict_proba(NEW))
    for changed in (adapted.adapt(NEW).forget(X[:1], Y[:1]), adapted.adapt(NEW).partial_fit(X[:1], Y[:1])):
        assert not hasattr(changed, "shares_")
    assert_allclose((adapted + adapted).model_.log_prior, model.model_.log_prior)
    with pytest.raises(AttributeError, match="was not adapted"):
        _ = model.shares_


def test_every_form_of_the_model_has_the_shares():
    rows = [dict(zip("uv", row, strict=True)) for row in NEW[:5].tolist()]
    adapted = (
        sf.BayesClassifier().fit({"u": X[:, 0], "v": X[:, 1], "y": Y}, "y").adapt({"u": NEW[:, 0], "v": NEW[:, 1]})
    )
    p = adapted.predict_proba(rows)
    assert_allclose([adapted.predict_proba(row)[0] for row in rows], p, atol=1e-12)
    assert_allclose(np.exp(adapted.formula().log_prior), adapted.shares_.values[:, 0])
    odds = np.sort(np.log(p), axis=1)
    said = adapted.evidence(rows)
    assert_allclose([each["log_odds"] for each in said], odds[:, -1] - odds[:, -2], atol=1e-9)


def test_what_rows_do_not_tell_is_said():
    found = Shares.of(np.full((30, 2), 0.5), np.log([0.5, 0.5]), 0.0)
    assert np.isnan(found.error).all()
    assert_allclose(found.share, 0.5)
    one = Shares.of(np.ones((4, 1)), np.zeros(1), 0.0)
    assert one.share.tolist() == [1.0]
    assert one.error.tolist() == [0.0]


def test_a_class_that_was_only_declared_has_no_share():
    model = GaussianNB().partial_fit(X, Y, classes=["a", "b", "c", "d"])
    share = model.adapt(NEW).shares_.values[:, 0]
    assert share[3] == 0.0
    assert_allclose(share[:3], GaussianNB().fit(X, Y).adapt(NEW).shares_.values[:, 0], atol=1e-8)


def test_what_cannot_be_adapted_is_refused():
    with pytest.raises(NoDistributionError, match="ComplementNB has no p"):
        ComplementNB().fit(np.exp(X), Y).adapt(np.exp(NEW))
    model = GaussianNB().fit(X, Y)
    with pytest.raises(InvalidDataError, match="no rows"):
        model.adapt(NEW, np.zeros(len(NEW)))
    with pytest.raises(InvalidDataError, match="Nothing was learned"), pytest.warns(sf.ImpossibleRowWarning):
        GaussianNB().partial_fit(X, Y, classes=["a", "b", "c"]).forget(X, Y).adapt(NEW)
    with pytest.raises(InvalidDataError, match="No row tells anything"):
        Shares.of(np.full((3, 2), 0.5), np.log([0.5, 0.5]), 1.0)

    class Elsewhere(Source):
        names, head, reduce = ["x0", "x1"], None, None

        def answer(self, answer):
            return answer

    with pytest.raises(InvalidDataError, match="take a sample"):
        model.adapt(Elsewhere())
