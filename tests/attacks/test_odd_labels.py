"""Labels that NumPy would convert are kept apart, or refused by name."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice as sf
from attacks.odd_labels import OPTIONS, judge, judge_around
from attacks.sequences import around
from attacks.targets import estimator_classes, make, rows_for
from suffice.core.labels import as_one_type, encode_labels, label_positions, same_labels, union_labels
from suffice.naive_bayes import GaussianNB
from suffice.views.report.page import render

CLASSES = estimator_classes()
X = np.arange(8.0).reshape(4, 2) ** 2

every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


@every
def test_odd_labels_are_counted_apart_or_refused(cls):
    for seed in range(60):
        title, outcome = judge(cls, np.random.default_rng([7, seed]))
        assert outcome in ("refused", "answered"), f"seed {seed}, {title}: {outcome}"


@every
@pytest.mark.parametrize("outer", around(), ids=lambda outer: outer.__name__)
def test_odd_labels_of_single_rows_are_counted_apart_or_refused(outer, cls):
    for seed in range(12):
        title, outcome = judge_around(outer, cls, np.random.default_rng([8, seed]))
        assert outcome in ("refused", "answered"), f"seed {seed}, {title}: {outcome}"


@pytest.mark.parametrize("outer", [sf.Fading, sf.Window])
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([("x", "z"), False] * 2, "one for each row, found \\('x', 'z'\\)"),
        ([["x"], ["y"]] * 2, "one for each row, found \\['x'\\]"),
        ({"a", "b"}, "one for each row"),
        (pl.Series([2**70, 1] * 2, dtype=pl.Int128), "no exact type"),
    ],
    ids=["pairs", "lists", "set", "integers of 128 bits"],
)
def test_labels_of_classifiers_around_others_are_refused_by_name(outer, labels, said):
    model = outer(GaussianNB(), **OPTIONS[outer.__name__])
    with pytest.raises(sf.InvalidDataError, match=said):
        model.fit(X, labels)
    assert not model.__sklearn_is_fitted__()


@every
def test_integers_below_and_above_2_to_the_63_may_be_labels_of_one_model(cls):
    rows, labels = rows_for(cls), [2**53 + 1, 2**63, 2**64 - 1] * 4
    model = make(cls).fit(rows, labels)
    assert model.classes_.tolist() == labels[:3]
    assert model.classes_.dtype == np.uint64
    names = [f"x{j}" for j in range(3)]
    clf, one_by_one = make(cls), rows if cls._form == "texts" else [dict(zip(names, row, strict=True)) for row in rows]
    for row, label in zip(one_by_one, labels, strict=True):
        clf.learn_one(row, label)
    np.testing.assert_array_equal(clf.class_count_, [4, 4, 4])
    with pytest.raises(sf.InvalidDataError, match="pass them as strings"):
        make(cls).fit(rows, [-1, 2**63] * 6)


@every
def test_large_integers_of_either_sign_stay_apart(cls):
    rows, big = rows_for(cls), np.array([2**53, 2**53 + 1] * 6)
    model = make(cls).fit(rows, big).partial_fit(rows, big.astype(np.uint64))
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.classes_.dtype == np.int64
    np.testing.assert_array_equal(model.class_count_, [12, 12])
    with pytest.raises(sf.MismatchError, match="float64 does not hold all of them exactly"):
        model.partial_fit(rows, np.array([1.0, 2.0] * 6))
    np.testing.assert_array_equal(model.class_count_, [12, 12])


@every
def test_a_class_is_renamed_to_one_label_or_not_at_all(cls):
    rows = rows_for(cls)
    model = make(cls).fit(rows, ["a", "b"] * 6)
    for new in [("x", "y"), ["x"], np.array(["x"]), {"x"}, None, float("nan"), pd.NaT, 3, True, b"x", 1j]:
        with pytest.raises(ValueError, match=r"label|Label|Complex"):
            model.rename_class("a", new)
        assert model.classes_.tolist() == ["a", "b"]
    model.rename_class("a", "a\0")
    assert model.classes_.tolist() == ["a\0", "b"]
    with pytest.raises(sf.NotPartError, match="No class 'a'"):
        model.drop_class("a")
    np.testing.assert_array_equal(model.drop_class("a\0").class_count_, [6])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("nan")])
def test_every_kind_of_missing_label_is_missing(missing):
    others = [np.datetime64("2020-01-01")] * 3 if isinstance(missing, np.datetime64) else ["a", "b", "a"]
    with pytest.raises(sf.MissingLabelError, match="row 3 is missing"):
        GaussianNB().fit(X, [*others, missing])


@pytest.mark.parametrize(
    "labels",
    [
        [1, "a", 1, "a"],
        [True, 2, True, 2],
        [b"a", "a", b"a", "a"],
        [2**63 + 1, -1, 2**63 + 1, -1],
        [2**53 + 1, 1.0, 2**53 + 1, 1.0],
        [2**70 + 1, 1, 2**70 + 1, 1],
    ],
)
def test_a_list_that_numpy_would_convert_is_refused(labels):
    with pytest.raises(sf.InvalidDataError, match=r"mix of|no exact type"):
        GaussianNB().fit(X, labels)
    with pytest.raises(sf.InvalidDataError):
        sf.BayesClassifier().fit({"a": X[:, 0], "label": labels}, "label")


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (["b", "a", "b", "a"], ["a", "b"], "U"),
        ([3, 1, 3, 1], [1, 3], "i"),
        ([True, False, True, False], [False, True], "b"),
        (np.array([3, 1, 3, 1], np.int8), [1, 3], "i"),
        (np.array([3.0, 1.0, 3.0, 1.0]), [1.0, 3.0], "f"),
        ([0.0, -0.0, 1.0, -0.0], [0.0, 1.0], "f"),
        (pd.Series([3, 1, 3, 1], dtype="Int64"), [1, 3], "i"),
        (pd.Categorical([True, False, True, False]), [False, True], "b"),
        (pa.array(["b", "a", "b", "a"]), ["a", "b"], "U"),
        (["a", "a\0", "a", "a\0"], ["a", "a\0"], "O"),
    ],
)
def test_classes_have_the_type_of_the_labels(labels, classes, kind):
    found = GaussianNB().fit(X, labels).classes_
    assert found.tolist() == classes
    assert found.dtype.kind == kind
    assert not np.signbit(np.asarray(found[:1], dtype=float)).any() if kind == "f" else True


def test_a_very_long_label_takes_no_room_for_every_row():
    labels = ["x" * 10_000_000, *["y"] * 999]
    model = GaussianNB().fit(np.arange(1000.0)[:, None], labels)
    assert [len(label) for label in model.classes_] == [10_000_000, 1]
    table = pa.table({"x": np.arange(1000.0), "label": labels})
    np.testing.assert_array_equal(GaussianNB().fit(table, "label").class_count_, [1, 999])


def test_the_type_of_merged_labels_does_not_depend_on_their_order():
    kinds = [np.array([1, 2], np.int8), np.array([1, 3], np.uint64), np.array([2.0, 4.0], np.float32)]
    for a in kinds:
        for b in kinds:
            assert union_labels(a, b).dtype == union_labels(b, a).dtype
            assert union_labels(a, b).tolist() == sorted({*a.tolist(), *b.tolist()})
    days, moments = np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-01T00:00:00.000000001"], "M8[ns]")
    assert len(union_labels(days, moments)) == 2
    with pytest.raises(sf.MismatchError, match="does not hold all of them exactly"):
        as_one_type(np.array(["9999-12-31"], "M8[D]"), moments)
    with pytest.raises(sf.MismatchError, match="no type of 64 bits"):
        union_labels(np.array([-1]), np.array([2**63], np.uint64))


def test_labels_are_found_by_their_exact_value():
    known = np.array([1, 2**53, 2**63 - 1])
    assert label_positions(np.array([1.0, 2.0**53]), known).tolist() == [0, 1]
    assert label_positions(np.array([2.0**63]), known) is None
    assert label_positions(np.array([True]), known) is None
    np.testing.assert_array_equal(same_labels(np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0])), [True, False, True])
    assert encode_labels([dt.date(2020, 1, 2), dt.date(2020, 1, 1)]).codes.tolist() == [1, 0]


def test_decimal_labels_of_a_table_are_exact():
    whole = pa.table({"x": X[:, 0], "label": pa.array([Decimal("1.0"), Decimal("2.5")] * 2)})
    assert GaussianNB().fit(whole, "label").classes_.tolist() == [1.0, 2.5]
    with pytest.raises(sf.InvalidDataError, match=r"The label Decimal\('1.1'\) .* would be read as 1.1"):
        GaussianNB().fit(pa.table({"x": X[:, 0], "label": pa.array([Decimal("1.1"), Decimal("2.5")] * 2)}), "label")


NANOSECONDS = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")


@every
@pytest.mark.parametrize("labels", [["a", "a\0"], list(NANOSECONDS), [2**63, 2**63 + 1], [False, True]], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_labels_that_numpy_has_no_equal_for_stay_in_every_answer(cls, labels):
    rows = rows_for(cls)
    model = make(cls).fit(rows, labels * 6)
    row = rows[0] if cls._form == "texts" else dict(zip(model._names(), rows[0].tolist(), strict=True))
    assert list(model.predict_proba_one(row)) == labels
    assert model.predict_one(row) in labels
    assert type(model.predict_one(row)) is type(labels[0])
    model.learn_one(row, labels[1]).settle()
    np.testing.assert_array_equal(model.class_count_, [6, 7])
    monitor = sf.Monitor(model)
    expected = model.predict_log_proba(rows)[np.arange(12), [0, 1] * 6]
    np.testing.assert_allclose(monitor._scores(rows, labels * 6)["log p(y | x)"], expected)
    assert str(labels[0]) in render(model)
    np.testing.assert_array_equal(model.rename_class(labels[0], labels[1]).class_count_, [13])


def test_labels_that_onnx_has_no_type_for_are_refused_there():
    for labels in (NANOSECONDS, NANOSECONDS.astype("M8[D]"), np.array([2**63, 1], np.uint64)):
        with pytest.raises(sf.NoFormulaError, match="Labels are strings or numbers of 64 bits"):
            GaussianNB().fit(X, labels[[0, 1, 0, 1]]).to_onnx()
