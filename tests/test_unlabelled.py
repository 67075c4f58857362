"""Rows without labels: divided by EM, kept apart from what labels taught, and refused where they do not help."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone

import suffice as sf
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    LeftOutWarning,
    MissingLabelError,
    NotConvergedWarning,
)
from suffice.core.frames import as_frame
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.engines import Task, workers
from suffice.model import unlabelled as module
from suffice.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

RNG = np.random.default_rng(1)
N, KNOWN = 400, 30
CODES = np.append(np.arange(KNOWN) % 3, RNG.integers(0, 3, N - KNOWN))
TRUE = np.array(["a", "b", "c"])[CODES]
X = RNG.normal(size=(N, 3)) + 2.0 * np.eye(3)[CODES]
CLEAR = X + np.eye(3)[CODES]  # clusters so far from each other that thirty labels tell that others help
COUNTS = RNG.poisson(1.0 + 4.0 * np.eye(3)[CODES]).astype(float)
Y = TRUE.astype(object)
Y[KNOWN:] = None
WORDS = ["apple pear plum fig", "bolt screw nail nut", "cloud rain wind fog"]
TEXTS = [" ".join(RNG.choice([*WORDS[c].split(), "day", "night"], 4)) for c in CODES]
MODELS = [
    (GaussianNB(), X),
    (BernoulliNB(), (X > 1).astype(float)),
    (MultinomialNB(), COUNTS),
    (LinearDiscriminantAnalysis(), X),
    (sf.BayesClassifier(), X),
    (sf.BayesClassifier({("x0", "x1"): sf.MultivariateGaussian()}, calibrate=False), X),
    (sf.TextClassifier(), TEXTS),
]
IDS = [f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(MODELS)]


def some(x, rows):
    return [x[i] for i in rows] if isinstance(x, list) else x[rows]


@pytest.mark.parametrize(("model", "x"), MODELS, ids=IDS)
def test_with_all_labels_it_is_fit_to_the_last_bit_and_a_weight_of_0_is_leaving_out(model, x):
    whole = clone(model).fit(x, TRUE)
    for each in ("learn", 0.5):
        assert_array_equal(clone(model).fit(x, TRUE, unlabelled=each).predict_proba(x), whole.predict_proba(x))
    few = clone(model).fit(some(x, range(KNOWN)), TRUE[:KNOWN])
    with pytest.warns(LeftOutWarning, match="370 rows without a label"):
        none = clone(model).fit(x, Y, unlabelled=0)
    assert_array_equal(none.predict_proba(x), few.predict_proba(x))


@pytest.mark.parametrize(("model", "x"), MODELS, ids=IDS)
def test_it_helps_where_classes_are_clusters_and_labelled_statistics_stay_apart(model, x):
    few = clone(model).fit(some(x, range(KNOWN)), TRUE[:KNOWN])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        found = clone(model).fit(x, Y, unlabelled="learn")
    said = found.unlabelled_
    assert said["rows"] == pytest.approx(N - KNOWN)
    assert said["reached"] <= said["ignored"]
    assert found.score(x, TRUE) >= few.score(x, TRUE) - 0.01
    assert found.class_count_.tolist() == [10, 10, 10]


def test_one_step_adds_the_rows_divided_by_their_posteriors(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 1)
    few = MultinomialNB().fit(COUNTS[:KNOWN], TRUE[:KNOWN])
    with pytest.warns(NotConvergedWarning):
        found = MultinomialNB().fit(COUNTS, Y, unlabelled=0.25)
    p = few.predict_proba(COUNTS[KNOWN:])
    expected = few.feature_count_ + 0.25 * p.T @ COUNTS[KNOWN:]
    assert_allclose(found.feature_count_, expected, rtol=1e-7)
    assert_allclose(np.exp(found.class_log_prior_), (10 + 0.25 * p.sum(axis=0)) / (30 + 0.25 * 370), rtol=1e-7)


def multinomial_objective(model, weight):
    theta, alpha = model.feature_log_prob_, 1.0
    joint = COUNTS @ theta.T + model.class_log_prior_
    labelled = joint[np.arange(KNOWN), CODES[:KNOWN]].sum()
    return labelled + weight * logsumexp(joint[KNOWN:], axis=1).sum() + alpha * theta.sum()


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_em_never_decreases_the_penalized_likelihood(weight, monkeypatch):
    reached = []
    for steps in range(1, 9):
        monkeypatch.setattr(module, "STEPS", steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            reached.append(multinomial_objective(MultinomialNB().fit(COUNTS, Y, unlabelled=weight), weight))
    assert (np.diff(reached) > -1e-6).all()
    assert reached[-1] > reached[0]


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(N)
    for model, x in ((GaussianNB(), X), (sf.BayesClassifier(structure="naive"), X), (sf.TextClassifier(), TEXTS)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            a = clone(model).fit(x, Y, unlabelled=0.5)
            b = clone(model).fit(some(x, order), Y[order], unlabelled=0.5)
        assert_allclose(a.predict_proba(x), b.predict_proba(x), atol=1e-6)


@pytest.mark.parametrize("weight", ["learn", 0.3])
def test_files_are_divided_as_memory_is(weight, tmp_path):
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "y": pa.array(Y.tolist(), pa.string())})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", LeftOutWarning)  # 30 labels do not tell by more than a standard error
        there = sf.BayesClassifier(structure="naive").fit(str(tmp_path / "rows.parquet"), "y", unlabelled=weight)
        here = sf.BayesClassifier(structure="naive").fit(table, "y", unlabelled=weight)
    assert there.unlabelled_["rows"] == N - KNOWN
    if weight == "learn":
        few = sf.BayesClassifier(structure="naive").fit(table.drop(["y"])[:KNOWN], TRUE[:KNOWN])
        assert there.score(table.drop(["y"]), TRUE) >= few.score(table.drop(["y"]), TRUE)
    else:
        assert there.score(table.drop(["y"]), TRUE) > 0.75
        assert_allclose(there.predict_proba(table), here.predict_proba(table), atol=1e-6)


def test_labelled_rows_are_forgotten_and_learned_exactly_and_parts_stay(tmp_path):
    found = GaussianNB().fit(X, Y, unlabelled=0.5)
    parts = found._settled().unlabelled.divided
    less = clone(found).fit(X, Y, unlabelled=0.5).forget(X[:3], TRUE[:3])
    assert_allclose(less.statistics_.statistic.mean, GaussianNB().fit(X[3:KNOWN], TRUE[3:KNOWN]).theta_, rtol=1e-9)
    assert_array_equal(less._settled().unlabelled.divided.weight, parts.weight)
    more = less.partial_fit(X[:3], TRUE[:3])
    assert_allclose(more.predict_proba(X), found.predict_proba(X), rtol=1e-6, atol=1e-12)
    found.save(tmp_path / "m.suffice")
    again = sf.load(tmp_path / "m.suffice")
    assert_array_equal(again.predict_proba(X), found.predict_proba(X))
    assert again.unlabelled_["weight"] == pytest.approx(0.5)


def test_sums_dropped_and_renamed_classes_take_the_parts_along():
    found = GaussianNB().fit(X, Y, unlabelled=0.5)
    both = found + found
    assert both.unlabelled_["rows"] == 2 * (N - KNOWN)
    assert both.unlabelled_["weight"] == pytest.approx(0.5)
    assert_allclose(both.theta_, found.theta_)
    plain = found + GaussianNB().fit(X[:KNOWN], TRUE[:KNOWN])
    assert_array_equal(plain.class_count_, [20, 20, 20])
    assert plain.unlabelled_["rows"] == N - KNOWN
    theta = found.theta_
    renamed = clone(found).fit(X, Y, unlabelled=0.5).rename_class("a", "z")
    assert_allclose(renamed.theta_, theta[[1, 2, 0]])
    assert_allclose(clone(found).fit(X, Y, unlabelled=0.5).drop_class("a").theta_, theta[1:])


def test_rows_whose_clusters_are_not_the_classes_are_refused():
    rng = np.random.default_rng(0)
    cluster, label = rng.integers(0, 2, 1500), rng.integers(0, 2, 1500)
    x = np.column_stack([rng.normal(size=1500) + 12 * cluster, rng.normal(size=1500) + 2.0 * label])
    y = np.array(["no", "yes"])[label].astype(object)
    y[400:] = None
    with pytest.warns(LeftOutWarning, match="1100 rows without a label .labelled rows"):
        found = GaussianNB().fit(x, y, unlabelled="learn")
    assert found.unlabelled_["weight"] == 0.0
    few = GaussianNB().fit(x[:400], y[:400].astype(str))
    assert_array_equal(found.predict_proba(x), few.predict_proba(x))


@pytest.mark.parametrize(("model", "x"), [MODELS[0], MODELS[3], MODELS[6]], ids=["numbers", "together", "texts"])
def test_the_weight_is_chosen_by_file_too_where_no_rows_are_kept(model, x, tmp_path):
    columns = {"text": x} if isinstance(x, list) else {f"x{j}": x[:, j] for j in range(3)}
    table = pa.table(columns | {"y": pa.array(Y.tolist(), pa.string())})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=90)
    rows = x if isinstance(x, list) else table.drop_columns("y")
    few = clone(model).fit(some(x, range(KNOWN)), TRUE[:KNOWN])
    found = clone(model).fit(str(tmp_path / "rows.parquet"), "y", unlabelled="learn")
    assert found.unlabelled_["rows"] == N - KNOWN
    assert found.unlabelled_["weight"] > 0
    assert found.unlabelled_["reached"] < found.unlabelled_["ignored"]
    others = np.arange(KNOWN, N)
    loss, alone = (-np.log(p[others, CODES[others]]).mean() for p in (found.predict_proba(rows), few.predict_proba(x)))
    assert loss < alone
    assert_allclose(found.class_count_, few.class_count_)


def test_workers_divide_their_parts_of_the_rows():
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "y": pa.array(Y.tolist(), pa.string())})
    model = sf.BayesClassifier(structure="naive").fit(table.slice(0, KNOWN), "y")
    learned, calibration = model._settled(), model._calibration()
    family, predictor = module.plain_family(learned.family), model._predictor_of(learned, calibration)
    task = Task(family, ("u", "v"), "y", None, divided_by=predictor, least=1e-9)
    parts = [workers.summarize(task.to_bytes(), [batch]) for batch in table.to_batches(max_chunksize=90)]
    whole = workers.total(parts)
    rows = predictor.read(as_frame(table.slice(KNOWN)))
    here = module.divided(learned, calibration, rows, None, 1e-9)
    assert_allclose(whole.weight, here.weight)
    assert_allclose(whole.weight.sum(), N - KNOWN)
    assert_allclose(whole.weight, model.predict_proba(table.slice(KNOWN)).sum(axis=0), rtol=1e-6)


def test_weights_gaps_and_names_are_read():
    table = {"u": CLEAR[:, 0].copy(), "v": CLEAR[:, 1], "w": CLEAR[:, 2], "y": Y, "n": np.ones(N)}
    table["u"][::7] = np.nan
    a = sf.BayesClassifier(structure="naive").fit(table, "y", "n", unlabelled="learn")
    assert a.unlabelled_["rows"] == pytest.approx(N - KNOWN)
    weight = np.where(np.arange(N) % 2, 1.0, 0.0)
    b = GaussianNB().fit(X, Y, weight, unlabelled=0.5)
    kept = weight > 0
    c = GaussianNB().fit(X[kept], Y[kept], unlabelled=0.5)
    assert_allclose(b.predict_proba(X), c.predict_proba(X), atol=1e-6)


def test_what_cannot_be_learned_is_refused_and_changes_nothing(tmp_path):
    model = GaussianNB().fit(X, TRUE)
    before = model.predict_proba(X)
    for wrong in ("yes", -1.0, np.nan, True):
        with pytest.raises(InvalidOptionError, match="unlabelled must be"):
            model.fit(X, Y, unlabelled=wrong)
    with pytest.raises(MissingLabelError, match="unlabelled='learn'"):
        model.fit(X, Y)
    table = pa.table({"u": X[:, 0], "y": pa.array(Y.tolist(), pa.string())})
    with pytest.raises(InvalidOptionError, match="read once"):
        sf.BayesClassifier().fit(iter(table.to_batches()), "y", unlabelled="learn")
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InvalidOptionError, match="checkpoint is for one pass"):
        sf.BayesClassifier().fit(tmp_path / "rows.parquet", "y", checkpoint=tmp_path / "c", unlabelled="learn")
    with pytest.raises(InvalidOptionError, match="give it as a number"):
        sf.BayesClassifier(keep=0, calibrate=False).fit(tmp_path / "rows.parquet", "y", unlabelled="learn")
    with pytest.raises(InvalidOptionError, match="leaves out the rows that unlabelled= learns from"):
        model.fit(X, Y, unlabelled="learn", missing_labels="drop")
    none, one = np.full(len(Y), None), np.full(len(Y), None)
    one[[np.flatnonzero(label == TRUE)[0] for label in np.unique(TRUE)]] = np.unique(TRUE)
    with pytest.raises(InvalidOptionError, match="No class has a second labelled row to leave out"):
        model.fit(X, one, unlabelled="learn")
    for options in ({"unlabelled": "learn"}, {"unlabelled": 0.5}, {"missing_labels": "drop"}):
        with pytest.raises(InvalidDataError, match=f"None of the {len(Y)} rows has a label"):
            model.fit(X, none, **options)
    pq.write_table(table.set_column(1, "y", pa.nulls(len(Y), pa.string())), tmp_path / "none.parquet")
    with pytest.raises(InvalidDataError, match="no rows with a label"):
        sf.BayesClassifier().fit(tmp_path / "none.parquet", "y", unlabelled="learn")
    assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(AttributeError, match="has not learned from rows without labels"):
        _ = model.unlabelled_


def test_columns_are_what_all_rows_show_and_few_labels_of_texts_in_a_table_learn():
    rng = np.random.default_rng(3)
    n, known = 600, 12
    truth = np.array(["a", "b"])[np.arange(n) % 2]
    words = np.array([f"word{i}" for i in range(300)])
    notes = [" ".join(rng.choice(words[100 * k : 100 * k + 200], 12)) for k in np.arange(n) % 2]
    rows = pa.table({"note": notes, "number": rng.normal(size=n), "code": [f"{i:05d}x" for i in range(n)]})
    labels = truth.astype(object)
    labels[known:] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        few = sf.BayesClassifier().fit(rows[:known], truth[:known])
        every = sf.BayesClassifier().fit(rows, labels, unlabelled="learn")
        named = sf.BayesClassifier().fit(
            rows.append_column("y", pa.array(labels.tolist(), pa.string())), "y", unlabelled="learn"
        )
    shown = dict(zip(every.schema_.rows, every.schema_.values.tolist(), strict=True))
    assert shown["note"][:2] == ["text", "yes"]
    assert shown["code"][1] == "left out"  # it names the rows, which twelve of them cannot show
    rest = rows[known:]
    assert every.unlabelled_["weight"] > 0
    assert every.score(rest, truth[known:]) > few.score(rest, truth[known:]) + 0.05
    assert_array_equal(named.predict_proba(rest), every.predict_proba(rest))


@pytest.mark.parametrize(
    "truth", [np.arange(60) % 2, np.arange(60) % 2 == 1, np.where(np.arange(60) % 2, "u", "v"), np.arange(60) % 2 + 0.0]
)
def test_labels_among_which_some_are_none_are_what_they_are_without(truth):
    x = np.random.default_rng(0).normal(size=(60, 2)) + 3.0 * (np.arange(60) % 2)[:, None]
    labels = np.full(60, None, dtype=object)
    labels[:30] = truth[:30]
    expected = GaussianNB().fit(x[:30], truth[:30])
    for options in ({"unlabelled": 0.5}, {"missing_labels": "drop"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeftOutWarning)
            found = GaussianNB().fit(x, labels, **options)
        assert_array_equal(found.classes_, expected.classes_)
        assert found.classes_.dtype == expected.classes_.dtype


def test_a_calibration_does_not_judge_the_rows_it_was_fitted_on():
    class Fold:
        def __init__(self, seed):
            rng = np.random.default_rng(seed)
            self.codes, self.weight = np.array([0, 1, 0, 1], dtype=np.int32), np.ones(4)
            self.evidence = 3.0 * rng.normal(size=(4, 2))  # that tells nothing

        def with_parts(self, parts, weight):
            del parts, weight

        def scores(self, learned):
            del learned
            return self.evidence.copy(), np.log([0.5, 0.5])

    gains = []
    for seed in range(20):
        folds = [Fold(3 * seed + i) for i in range(3)]
        losses, fitted = module._trial(folds, [None] * 3, 1.0, True)
        whole = np.concatenate([each.evidence for each in folds])
        codes = np.concatenate([each.codes for each in folds])
        flattered = -fitted.log_posterior(whole, np.full((12, 2), np.log(0.5)))[np.arange(12), codes]
        gains.append(losses.mean() - flattered.mean())
    assert np.mean(gains) > 0.005


def test_a_gain_below_its_standard_error_is_refused_also_in_the_shares_of_the_others():
    alone = np.array([1.0, 1.0, 1.0, 1.0])
    assert module.is_better(np.array([0.8, 0.9, 0.7, 0.8]), alone, np.ones(4))
    assert not module.is_better(np.array([0.1, 1.4, 0.9, 1.2]), alone, np.ones(4))
    found = RNG.normal(size=500)
    gain, n = found, len(found)
    better = gain.mean() > np.sqrt(((gain - gain.mean()) ** 2).mean() / n)
    assert module.is_better(1.0 - gain, np.ones(n), np.full(n, 3.0)) == better
    parts = [sf.ByClass(np.array(["a", "b"]), np.array([30.0, 10.0]), None)]
    ratio = module._ratio_of_shares(parts, np.array([0, 1, 1, 0]), np.ones(4), np.array(["a", "b"]))
    assert_allclose(ratio, [1.5, 0.5, 0.5, 1.5])


def test_labels_by_class_in_other_shares_than_the_rows_do_not_make_it_worse():
    # Labels that were asked for by class say nothing of the shares; classes that are no clusters make EM worse.
    rng = np.random.default_rng(5)
    n = 2000
    x = rng.normal(size=(n, 4))
    truth = np.where(x[:, 0] * x[:, 1] + 0.3 * x[:, 2] + 0.2 * rng.normal(size=n) > 0.7, "b", "a")
    labels = np.full(n, None, dtype=object)
    for each in ("a", "b"):
        labels[np.flatnonzero(truth == each)[:40]] = each
    known = labels != None  # noqa: E711  # entry by entry
    few = sf.BayesClassifier().fit(x[known], truth[known])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        found = sf.BayesClassifier().fit(x, labels, unlabelled="learn")
    rest = ~known
    codes = (truth[rest] == "b").astype(int)

    def loss(clf):
        return -np.log(np.maximum(clf.predict_proba(x[rest])[np.arange(len(codes)), codes], 1e-12)).mean()

    assert loss(found) <= loss(few) + 0.01
