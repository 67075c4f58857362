"""Labels that are probably wrong: judged by all other rows, with evidence that adds up."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import suffice as sf
from suffice.cli.program import run
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError, NotPartError
from suffice.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from suffice.model.suspects import find_suspects
from suffice.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB

RNG = np.random.default_rng(5)
Y = np.array(list("abc"))[np.arange(120) % 3]
X = RNG.normal(size=(120, 2)) + 4.0 * (np.arange(120) % 3)[:, None] * [1.0, -1.0]
PLANTED = {4: "a", 50: "b", 101: "a"}
WRONG = Y.copy()
WRONG[list(PLANTED)] = list(PLANTED.values())
COUNTS = RNG.poisson([[9, 1, 1], [1, 9, 1], [1, 1, 9]], (40, 3, 3)).reshape(120, 3).astype(float)
WORDS = np.array(["apple pear plum", "bolt screw nail", "cloud rain wind"])
TEXTS = [" ".join(RNG.choice(WORDS[i % 3].split(), 6)) for i in range(120)]
MODELS = [
    (GaussianNB(), X),
    (MultinomialNB(), COUNTS),
    (MultinomialNB(), scipy.sparse.csr_matrix(COUNTS)),
    (CategoricalNB(), (COUNTS > 4).astype(int)),
    (LinearDiscriminantAnalysis(), X),
    (QuadraticDiscriminantAnalysis(), X),
    (sf.BayesClassifier(), X),
    (sf.BayesClassifier(structure="naive"), X),
    (sf.BayesClassifier(calibrate=False), X),
    (sf.TextClassifier(), TEXTS),
]
IDS = [f"{type(model).__name__}-{i}" for i, (model, _) in enumerate(MODELS)]


@pytest.mark.parametrize(("model", "x"), MODELS, ids=IDS)
def test_planted_errors_are_found_with_evidence_that_adds_up_to_the_log_odds(model, x):
    found = clone(model).fit(x, WRONG).suspects(x, WRONG)
    assert set(found.rows[:2].tolist()) <= set(PLANTED)  # calibrated on 120 rows, one may be expected to be right
    assert_array_equal(found.label, WRONG[found.rows])
    assert_array_equal(found.suggested[:2], Y[found.rows[:2]])
    assert found.left_out
    assert found.checked == 120
    for table, odds in zip(found.evidence, found.log_odds, strict=True):
        *parts, last = table.values[:, 0]
        assert_allclose(sum(parts), odds, rtol=1e-9)
        assert last == odds
        assert table.rows[0] == "(prior)"
        assert table.rows[-2:] == ["(itself)", "(sum)"]


def test_each_row_is_judged_by_a_model_that_was_fitted_without_it():
    found = GaussianNB().fit(X, WRONG).suspects(X, WRONG)
    for row, label, suggested, odds in zip(found.rows, found.label, found.suggested, found.log_odds, strict=True):
        rest = np.delete(np.arange(120), row)
        other = GaussianNB().fit(X[rest], WRONG[rest])
        log_p = dict(zip(other.classes_, other.predict_log_proba(X[[row]])[0], strict=True))
        assert_allclose(odds, log_p[suggested] - log_p[label], rtol=1e-8)
        assert suggested == max(log_p, key=log_p.get)


@given(st.floats(0.01, 0.3), st.integers(2, 6), st.integers(0, 100))
def test_the_probability_of_a_wrong_label_is_that_of_labels_drawn_anew(rate, classes, seed):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(classes, 0.1), 50)
    noise = rate / (classes - 1)
    said = (1 - rate) * true + noise * (1 - true)  # p(label | x), where labels are wrong at this rate
    codes = np.array([rng.choice(classes, p=p) for p in said], dtype=np.int32)
    found = find_suspects(np.log(said), codes, np.arange(classes), None, rate, True)
    own = true[found.rows, codes[found.rows]]
    assert_allclose(found.wrong, noise * (1 - own) / ((1 - rate) * own + noise * (1 - own)), atol=1e-9)
    assert (np.diff(found.wrong) <= 1e-12).all()
    every = noise * (1 - true[np.arange(50), codes]) / said[np.arange(50), codes]
    assert len(found) <= every.sum() + 1


def test_the_rate_of_wrong_labels_is_estimated_where_the_posterior_is_surest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    x = rng.normal(size=(6000, 2)) + 6.0 * y[:, None] * [1.0, -1.0]
    for rate in (0.02, 0.1, 0.25):
        wrong = rng.random(6000) < rate
        labels = np.where(wrong, (y + rng.integers(1, 3, 6000)) % 3, y)
        found = sf.BayesClassifier(structure="naive").fit(x, labels).suspects(x, labels)
        assert_allclose(found.rate, rate, rtol=0.15)
        assert wrong[found.rows].mean() > 0.97  # precision
        assert wrong[found.rows].sum() / wrong.sum() > 0.8  # recall


def test_a_given_rate_lists_more_or_fewer():
    model = GaussianNB().fit(X, WRONG)
    few, some, more = (model.suspects(X, WRONG, rate=rate).rows.tolist() for rate in (1e-9, 0.02, 0.6))
    assert len(few) <= len(some) <= len(more)
    assert more[: len(some)] == some


def test_the_order_of_the_rows_does_not_matter():
    order = RNG.permutation(120)
    a = GaussianNB().fit(X, WRONG).suspects(X, WRONG)
    b = GaussianNB().fit(X[order], WRONG[order]).suspects(X[order], WRONG[order])
    assert_array_equal(a.rows, order[b.rows])
    assert_allclose(a.log_odds, b.log_odds, rtol=1e-9)
    assert_allclose(a.rate, b.rate, rtol=1e-12)


def test_a_weight_of_two_is_two_rows_and_a_weight_of_zero_is_none():
    weight = np.where(np.arange(120) % 4 == 0, 2.0, 1.0)
    weight[50] = 0.0
    found = GaussianNB().fit(X, WRONG, weight).suspects(X, WRONG, weight)
    assert 50 not in found.rows
    assert {4, 101} <= set(found.rows.tolist())
    log_p = np.log(np.where(np.arange(2) == 0, [[0.9, 0.1], [0.2, 0.8], [0.95, 0.05]], [[0.1, 0.9]] * 3))
    codes, classes = np.array([0, 1, 1], np.int32), np.array(["a", "b"])
    twice = np.repeat(np.arange(3), [1, 2, 1])
    weighted = find_suspects(log_p, codes, classes, [1.0, 2.0, 1.0], None, True)
    repeated = find_suspects(log_p[twice], codes[twice], classes, None, None, True)
    assert weighted.rate == repeated.rate


def test_rows_that_were_not_learned_are_judged_by_the_whole_model():
    model = GaussianNB().fit(X, Y)
    found = model.suspects(X[:60], WRONG[:60], learned=False)
    assert not found.left_out
    assert "may have learned" in repr(found)
    log_p = model.predict_log_proba(X[found.rows])
    own = np.searchsorted(model.classes_, found.label)
    best = np.searchsorted(model.classes_, found.suggested)
    at = np.arange(len(found))
    assert_allclose(found.log_odds, log_p[at, best] - log_p[at, own], rtol=1e-9)
    assert {4, 50} <= set(found.rows.tolist())
    with pytest.raises(NotPartError, match="learned=False"):
        sf.BayesClassifier(structure="naive").fit(X, Y).suspects(X + 0.51, Y)


def test_rows_without_a_doubt_give_an_empty_list():
    found = GaussianNB().fit(X, Y).suspects(X, Y)
    assert len(found) == 0
    assert repr(found).startswith("0 of 120 labels are suspect")
    assert found.to_arrow().num_rows == 0
    assert found.why == []


def test_suspects_show_as_tables():
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "label": WRONG})
    found = sf.BayesClassifier(structure="naive").fit(table, "label").suspects(table, "label")
    shown = found.to_pandas()
    assert shown.columns.tolist() == ["row", "label", "suggested", "wrong", "log_odds", "why"]
    assert_array_equal(shown["row"], found.rows)
    assert all("u +" in why or "v +" in why for why in found.why)
    assert len(repr(found).splitlines()) == 2 + min(len(found), 20)
    assert found.table(1).rows == [str(found.rows[0])]


def test_evidence_takes_a_class_for_each_row():
    model = GaussianNB().fit(X, Y)
    label, against = np.array(["a", "b", "c"]), np.array(["b", "c", "a"])
    said = model.evidence(X[:3], label, against)
    for i in range(3):
        one = model.evidence(X[[i]], label[i], against[i])
        assert all(said[name][i] == one[name][0] for name in one)
    with pytest.raises(InvalidOptionError, match="one for each of 3 rows"):
        model.evidence(X[:3], np.array(["a", "b"]))
    with pytest.raises(MismatchError, match="No class"):
        model.evidence(X[:3], np.array(["a", "b", "z"]))


def test_rows_without_a_label_are_passed_over(tmp_path, capsys):
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(90) % 2, "u", "v").astype(object)
    x = {"a": rng.normal(size=90) + 6.0 * (truth == "u")}
    labels = truth.copy()
    labels[40] = "u"  # wrong
    labels[::3] = None
    known = np.flatnonzero([each is not None for each in labels])
    few, said = {"a": x["a"][known]}, labels[known]
    clf = sf.BayesClassifier(structure="naive").fit(few, said)
    expected, found = clf.suspects(few, said), clf.suspects(x, labels)
    assert expected.rows.tolist() == [known.tolist().index(40)]
    assert found.rows.tolist() == [40]
    assert (found.checked, found.rate, found.wrong.tolist()) == (60, expected.rate, expected.wrong.tolist())
    named = clf.suspects({**x, "y": labels, "n": np.ones(90)}, "y", "n")
    assert named.rows.tolist() == [40]
    clf.save(tmp_path / "m.suffice")
    rows = zip(x["a"], labels, strict=True)
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"{a},{'' if y is None else y}\n" for a, y in rows))
    model, data, out = (str(tmp_path / name) for name in ("m.suffice", "a.csv", "out.csv"))
    assert run(["suspects", model, data, "-o", out]) == 0
    assert "1 of 60 labels are suspect" in capsys.readouterr().out
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("40,")


def test_what_cannot_be_judged_is_refused():
    model = GaussianNB().fit(X, Y)
    for rate in (0.0, -0.1, 0.67, 2.0):
        with pytest.raises(InvalidOptionError, match="share of labels"):
            model.suspects(X, Y, rate=rate)
    with pytest.raises(MismatchError, match="'z' was not in the training data"):
        model.suspects(X[:1], ["z"])
    with pytest.raises(InvalidDataError, match="two classes"):
        GaussianNB().fit(X, np.full(120, "a")).suspects(X, np.full(120, "a"))
