"""How classifiers are judged against each other: the folds, the measures, and the page that shows them."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.quality_page import against, summary, tally, write_section
from benchmarks.tables import Quality, Table, evaluate, measure
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB


class FromArrow(GaussianNB):
    """scikit-learn's, from tables of Arrow."""

    def fit(self, X, y):
        return super().fit(X.to_pandas().to_numpy(), y)

    def predict_proba(self, X):
        return super().predict_proba(X.to_pandas().to_numpy())


class Fixed:
    """Gives every row the same probabilities."""

    def __init__(self, p):
        self.p = p

    def fit(self, X, y):
        self.classes_ = np.array(["a", "b"])
        assert X.num_rows == len(y)

    def predict_proba(self, X):
        return np.tile(self.p, (X.num_rows, 1))


def halves(labels):
    rows = np.arange(len(labels))
    return Table("small", pa.table({"x": rows}), np.array(labels), [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])])


def test_accuracy_and_log_loss_are_those_of_scikit_learns_cross_validation():
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    found = cross_validate(GaussianNB(), *load_wine(return_X_y=True), cv=folds, scoring=["accuracy", "neg_log_loss"])
    accuracy, log_loss, _ = evaluate(FromArrow, "wine")
    assert_allclose(accuracy, found["test_accuracy"].mean())
    assert_allclose(log_loss, -found["test_neg_log_loss"].mean(), rtol=1e-6)


def test_the_calibration_error_is_that_of_all_left_out_rows_together():
    found = measure(lambda: Fixed([0.75, 0.25]), halves(["a", "a", "a", "b", "a", "a", "a", "b"]))
    assert_allclose(found.calibration_error, 0.0, atol=1e-15)  # 6 of 8 are right; of the folds, 4 of 4 and 2 of 4
    assert_allclose(found.calibration_error_of_folds, 0.25)
    assert_allclose(found.accuracy, 0.75)


def test_a_probability_of_zero_costs_36_nats():
    found = measure(lambda: Fixed([1.0, 0.0]), halves(["a", "b", "a", "b", "b", "a"]))
    assert_allclose(found.log_loss, 0.5 * 52 * np.log(2))


def test_a_table_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="There is no table 'iris'; there are adult, vehicle"):
        Table.read("iris")


def test_the_same_as_the_peer_is_level():
    assert tally([0.01, 0.0005, -0.0005, -0.01, -0.02]) == "1 – 2 – 2"


def test_wins_and_losses_count_higher_accuracy_and_lower_losses():
    ours, peer = (
        SimpleNamespace(name="a", title="A", packages=()),
        SimpleNamespace(name="b", title="B", packages=("b",)),
    )
    better, worse = Quality(0.9, 0.2, 0.01, 0.02, 1.0, 1.0), Quality(0.8, 0.3, 0.02, 0.03, 1.0, 1.0)
    results = {"x": {"a": better, "b": worse}, "y": {"a": worse, "b": better}, "z": {"a": better, "b": worse}}
    assert "| B | 2 – 0 – 1 | 2 – 0 – 1 | 2 – 0 – 1 | y |" in against(results, ours, [peer])
    assert "| y | 0.800 / 0.300 | 0.900 / 0.200 |" in summary(results, [ours, peer])


def test_only_what_stands_between_the_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- one begin -->\n\nold\n\n<!-- one end -->\n\nafter\n", encoding="utf-8")
    for text in ("new", "newer"):
        write_section("one", text, page)
    assert page.read_text(encoding="utf-8") == ("before\n\n<!-- one begin -->\n\nnewer\n\n<!-- one end -->\n\nafter\n")
    with pytest.raises(ValueError, match="one pair of marks <!-- two begin -->"):
        write_section("two", "new", page)
