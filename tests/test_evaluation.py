"""How good predictions are, against scikit-learn's metrics."""

import json

import numpy as np
import pytest
from sklearn import metrics

from suffice.core.errors import InvalidDataError, MismatchError
from suffice.model.evaluate import Evaluation, Reliability


def rows(classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(len(classes), 0.7), n)
    y = np.array([rng.choice(classes, p=0.7 * row + 0.3 / len(classes)) for row in p])
    return y, p, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c", "d"], [1, 5, 7]])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_is_that_of_scikit_learn(classes, weighted):
    y, p, w = rows(classes)
    weight = w if weighted else None
    found = Evaluation.of(y, classes, p, weight)
    called = np.array(classes)[p.argmax(axis=1)]
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, called, sample_weight=weight))
    assert found.log_loss == pytest.approx(metrics.log_loss(y, p, labels=classes, sample_weight=weight))
    if len(classes) == 2:
        brier = metrics.brier_score_loss(y, p[:, 1], pos_label=classes[1], sample_weight=weight)
    else:
        hit = y[:, None] == np.array(classes)  # scikit-learn scores several classes from 1.7 on
        brier = np.average(((p - hit) ** 2).sum(axis=1), weights=weight)
    assert found.brier == pytest.approx(brier)
    expected = metrics.precision_recall_fscore_support(y, called, labels=classes, sample_weight=weight)
    for mine, theirs in zip((found.precision, found.recall, found.f1, found.support), expected, strict=True):
        np.testing.assert_allclose(mine, theirs)
    np.testing.assert_allclose(found.confusion, metrics.confusion_matrix(y, called, sample_weight=weight))


def test_the_calibration_error_is_the_mean_gap_of_the_bins():
    y, p, _ = rows(["a", "b", "c"])
    top, right = p.max(axis=1), np.array(["a", "b", "c"])[p.argmax(axis=1)] == y
    expected = 0.0
    for k in range(15):
        own = (top >= k / 15) & ((top < (k + 1) / 15) | (k == 14))
        if own.any():
            expected += own.mean() * abs(right[own].mean() - top[own].mean())
    found = Evaluation.of(y, ["a", "b", "c"], p)
    assert found.calibration_error == pytest.approx(expected)
    assert found.reliability.share.sum() == pytest.approx(1.0)


def test_parts_add_up_to_the_whole_even_where_classes_are_missing():
    y, p, w = rows(["a", "b", "c"])
    whole = Evaluation.of(y, ["a", "b", "c"], p, w)
    added = sum(Evaluation.of(y[at], ["a", "b", "c"], p[at], w[at]) for at in np.array_split(np.arange(len(y)), 7))
    np.testing.assert_allclose(added.confusion, whole.confusion)
    for name in ("rows", "accuracy", "log_loss", "brier", "calibration_error"):
        assert added.as_dict()[name] == pytest.approx(whole.as_dict()[name])
    assert added.calibration_error == pytest.approx(whole.calibration_error)
    empty = Evaluation.of(y[:0], ["a", "b", "c"], p[:0])
    assert (empty + whole).accuracy == whole.accuracy
    assert empty.accuracy == 0


def test_a_label_that_was_never_learned_makes_the_loss_infinite_and_nothing_else():
    found = Evaluation.of(["a", "z"], ["a", "b"], [[0.9, 0.1], [0.5, 0.5]])
    assert found.classes.tolist() == ["a", "b", "z"]
    assert found.accuracy == 0.5
    assert found.log_loss == np.inf
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["log_loss"] is None
    absent = Evaluation.of(["a", "z"], ["a", "b"], [[0.9, 0.1], [0.5, 0.5]], [1, 0])
    assert absent.log_loss == pytest.approx(-np.log(0.9))


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InvalidDataError, match="2 rows and 2 classes, found shape"):
        Evaluation.of(["a", "b"], ["a", "b"], [[1.0], [0.0]])
    with pytest.raises(InvalidDataError, match="at least 0"):
        Evaluation.of(["a"], ["a", "b"], [[np.nan, 1.0]])


def test_tables_are_for_people():
    y, p, _ = rows(["yes", "no"][::-1])
    shown = "\n".join(map(str, Evaluation.of(y, ["no", "yes"], p).tables()))
    for word in ("accuracy", "calibration error", "precision", "true \\ predicted", "share right", "0.93 to 1.00"):
        assert word in shown


def test_reliability_is_a_table_of_the_bins_that_hold_rows():
    found = Reliability.of([0.1, 0.15, 0.6, 1.0], [False, True, True, True], [1.0, 3.0, 2.0, 4.0], bins=4)
    table = found.table()
    assert table.rows == ["0.00 to 0.25", "0.50 to 0.75", "0.75 to 1.00"]
    np.testing.assert_allclose(table.values, [[4.0, 0.55 / 4, 0.75], [2.0, 0.6, 1.0], [4.0, 1.0, 1.0]])
    np.testing.assert_allclose(found.share, [0.4, 0.0, 0.2, 0.4])
    assert found.error == pytest.approx(0.4 * (0.75 - 0.55 / 4) + 0.2 * 0.4)


def test_evaluations_of_other_types_of_classes_do_not_add():
    letters = Evaluation.of(["a"], ["a"], [[1.0]])
    with pytest.raises(MismatchError, match="<U1 here and int64 there"):
        letters + Evaluation.of([1], [1], [[1.0]])
    with pytest.raises(TypeError):
        letters + 1
    assert 0 + letters is letters


def test_everything_is_there_for_json():
    found = Evaluation.of(["a", "b", "b"], ["a", "b"], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]).as_dict()
    assert (found["rows"], found["accuracy"]) == (3.0, 2 / 3)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.6, 0.3]).mean())
    assert found["brier"] == pytest.approx(np.square([0.2, 0.4, 0.7]).mean())
    assert found["confusion"] == [[1.0, 0.0], [1.0, 1.0]]
    assert found["classes"][1] == {"label": "b", "precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "rows": 2}
    assert [each["rows"] for each in found["reliability"] if each["rows"]] == [1.0, 1.0, 1.0]


def test_reliability_of_what_is_certain_and_right_has_no_error():
    assert Reliability.of([1.0, 0.0], [True, False]).error == 0.0
