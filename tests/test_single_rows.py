"""Single rows of Python values: scored without arrays, and answered as any table is."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf
from family_cases import LABELS, REALS, table_of_all_kinds
from suffice.core.errors import InvalidDataError, MissingColumnWarning
from suffice.formulas.row_scores import RowScores
from suffice.model.single_rows import single_row


def one_by_one(clf, table, n):
    """Ask for rows one at a time, as lists of one value, and see that they were scored without arrays."""
    out = []
    for i in range(n):
        row = {name: [values[i]] for name, values in table.items()}
        assert clf._scored_row(row) is not None, row
        out.append(clf.predict_proba(row)[0])
    return np.array(out)


@pytest.mark.parametrize("missing", ["ignore", "informative"])
@pytest.mark.parametrize("structure", ["naive", "columns", "pairs"])
def test_a_row_alone_has_the_answer_that_it_has_among_others(structure, missing):
    table, y = table_of_all_kinds()
    clf = sf.BayesClassifier({"class number": sf.Categorical()}, structure=structure, missing=missing).fit(table, y)
    table["kind"][0], table["class number"][1], table["height"][2] = "unseen", 99, float("nan")
    some = {name: values[:100] for name, values in table.items()}
    assert_allclose(one_by_one(clf, table, 100), clf.predict_proba(some), rtol=0, atol=1e-12)


@pytest.mark.parametrize("family", [sf.Gaussian(), sf.Kernel(), sf.Mixture(2), sf.Binned(), sf.MultivariateGaussian()])
def test_families_of_all_kinds(family):
    columns = {name: REALS[:, j].tolist() for j, name in enumerate("abc")}
    columns["b"][3] = None
    joint = isinstance(family, sf.MultivariateGaussian)
    families = {tuple("ab"): family, "c": sf.Gaussian()} if joint else dict.fromkeys("abc", family)
    clf = sf.BayesClassifier(families, structure="naive").fit(columns, LABELS)
    assert_allclose(one_by_one(clf, columns, 20), clf.predict_proba(columns)[:20], rtol=0, atol=1e-12)


def test_a_pool_with_a_quadratic_discriminant():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1200, 3))
    x[600:] = x[600:] @ np.array([[1.0, 0.9, 0.0], [0.0, 0.4, 0.9], [0.0, 0.0, 0.4]])
    table = {name: x[:, j].tolist() for j, name in enumerate("abc")}
    clf = sf.BayesClassifier(structure="pool", found_columns=False).fit(table, np.arange(1200) // 600)
    assert any(each.title == "quadratic" for each in clf.calibration_.experts)
    table["a"][0], table["b"][1], table["c"][2] = None, 1e6, -1e6
    assert_allclose(one_by_one(clf, table, 60), clf.predict_proba(table)[:60], rtol=0, atol=1e-12)


def test_long_formulas_take_the_general_way():
    x = np.random.default_rng(0).normal(size=(300, 48))
    table = {f"x{j}": x[:, j].tolist() for j in range(48)}
    clf = sf.BayesClassifier({tuple(table): sf.MultivariateGaussian()}, structure="naive").fit(table, x[:, 0] > 0)
    assert clf._scored_row({name: values[:1] for name, values in table.items()}) is None


def test_ratios_of_columns():
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(size=(2, 600))
    y = (a / b > 1.0) ^ (rng.random(600) < 0.05)
    table = {"a": a.tolist(), "b": b.tolist()}
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    assert any(block.found.operation == "ratio" for block in clf.calibration_.found)
    table["a"][0], table["b"][1], table["a"][2] = -1.0, 0.0, None
    assert_allclose(one_by_one(clf, table, 30), clf.predict_proba(table)[:30], rtol=0, atol=1e-12)


def test_all_questions_and_all_ways_to_write_a_row():
    table, y = table_of_all_kinds()
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    row = {name: values[0] for name, values in table.items()}
    lists = {name: [value] for name, value in row.items()}
    some = {name: values[:1] * 2 for name, values in table.items()}
    for asked in ([row], lists):
        assert_allclose(clf.predict_proba(asked), clf.predict_proba(some)[:1], rtol=0, atol=1e-12)
        assert_allclose(clf.predict_log_proba(asked), clf.predict_log_proba(some)[:1], rtol=0, atol=1e-10)
        assert_array_equal(clf.predict(asked), clf.predict(some)[:1])
    assert (
        single_row({"a": [1], "b": [1, 2]})
        is single_row({})
        is single_row([lists])
        is single_row(lists.items())
        is None
    )
    assert single_row({"a": [1], "b": 2}) is None


def test_rows_that_need_more_than_a_look_take_the_general_way():
    table, y = table_of_all_kinds()
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    row = {name: [values[0]] for name, values in table.items()}
    clf.predict_proba(row)
    with pytest.raises(InvalidDataError, match="height"):
        clf.predict_proba(row | {"height": [float("inf")]})
    with pytest.raises(InvalidDataError, match="height"):
        clf.predict_proba(row | {"height": ["tall"]})
    with pytest.warns(MissingColumnWarning, match="height"):
        found = clf.predict_proba({name: values for name, values in row.items() if name != "height"})
    assert_allclose(found, clf.predict_proba(row | {"height": [None]}), rtol=0, atol=1e-12)
    for odd in (np.float64(1.5), 10**300, -(10**300), 2**60, -(2**60)):
        assert clf._scored_row(row | {"height": [odd]}) is None
        assert np.isfinite(clf.predict_proba(row | {"height": [odd]})).all()
    assert clf._scored_row(row | {"more": [object()]}) is not None  # a column that the model does not read


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf")])
def test_an_infinite_number_is_in_no_bin(infinite):
    x = {"x": np.exp(np.random.default_rng(0).normal(size=80)).tolist()}
    clf = sf.BayesClassifier({"x": sf.Binned()}, structure="naive").fit(x, ["a", "b"] * 40)
    assert clf._scored_row({"x": [1.5]}) is not None
    with pytest.raises(InvalidDataError, match="'x'"):
        clf.predict_proba({"x": [infinite]})


def test_what_is_kept_for_rows_is_not_copied_or_stored():
    table, y = table_of_all_kinds()
    clf = sf.BayesClassifier(structure="pairs").fit(table, y)
    row = {name: [values[0]] for name, values in table.items()}
    expected = clf.predict_proba(row)
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        assert_array_equal(other.predict_proba(row), expected)
    clf.partial_fit(table, y)
    assert not np.array_equal(clf.predict_proba(row), expected)


def test_models_without_a_formula_answer_too():
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=60).tolist(), "note": ["a good day out", "a bad day in", "no day"] * 20}
    clf = sf.BayesClassifier({"note": sf.Text()}, structure="naive").fit(table, np.arange(60) % 3)
    row = {name: [values[0]] for name, values in table.items()}
    assert clf._scored_row(row) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(clf.predict_proba(row).sum(), 1.0)


def test_sums_of_formulas_are_those_of_their_evaluation():
    table, y = table_of_all_kinds()
    clf = sf.BayesClassifier(structure="pairs", missing="informative").fit(table, y)
    formulas = [term.formula for term in clf.formula().terms]
    scores = RowScores(formulas, 2)
    for i in range(20):
        row = {name: float(v) if isinstance(v := values[i], (int, float)) else v for name, values in table.items()}
        one = {name: [value] for name, value in row.items()}
        expected = sum(np.broadcast_to(each.evaluate(one), (1, 2)) for each in formulas)
        assert_allclose(scores(row)[None], expected, rtol=0, atol=1e-10)
