"""What the columns leave unexplained: only found columns and pairs that explain some of it are counted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import suffice as sf
from suffice.core.statistics import Batch
from suffice.families.choose import Automatic
from suffice.families.pair_plan import plan_pairs
from suffice.families.product import Block
from suffice.model import unexplained
from suffice.model.cosine_expert import CosineExpert
from suffice.model.unexplained import JUDGES, Unexplained

CLASSES = 3


def numbers(n=400, seed=0):
    rng = np.random.default_rng(seed)
    codes = (np.arange(n) % CLASSES).astype(np.int32)
    x = rng.normal(size=(n, 3)) + codes[:, None] * [0.8, -0.5, 0.0]
    x[rng.random((n, 3)) < 0.05] = np.nan
    families = (Automatic(),) * 3
    return families, Batch(tuple(x[:, j : j + 1] for j in range(3)), n), codes


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_of_bins_is_that_of_the_other_rows(weighted):
    families, rows, codes = numbers()
    weight = 0.5 + np.arange(400) % 3 if weighted else np.ones(400)
    rest = Unexplained.of(families, rows, codes, weight, CLASSES)
    found = rest._evidence(families[0], rows.parts[0])
    plan = plan_pairs(families[:1] * 2, Batch(rows.parts[:1] * 2, 400), codes, weight, CLASSES, 12.0**3 * CLASSES)
    cell = plan.columns[0].codes(rows.parts[0]).astype(int)
    size = plan.columns[0].size
    spread = np.array([weight[cell == v].sum() + 0.5 for v in range(size)])
    spread /= weight[cell < size].sum() + 0.5 * size
    for i in [0, 1, 2, 50, 399]:
        for k in range(CLASSES):
            others = weight - np.where(np.arange(400) == i, np.minimum(weight, 1.0), 0.0)
            own = (codes == k) & (cell < size)
            counted = others[own & (cell == cell[i])].sum()
            expected = np.log((counted + spread[cell[i]]) / (others[own].sum() + 1.0)) if cell[i] < size else 0.0
            assert found[k, i] == pytest.approx(expected)


def test_posteriors_are_naive_bayes_with_one_exponent():
    families, rows, codes = numbers()
    rest = Unexplained.of(families, rows, codes, np.ones(400), CLASSES)
    assert_allclose(rest.p.sum(axis=0), 1.0)
    evidence = sum(rest._evidence(family, part) for family, part in zip(families, rows.parts, strict=True))
    log_prior = np.log(np.bincount(codes) / 400)[:, None]

    def loss(exponent):
        scores = log_prior + exponent * evidence
        return np.mean(np.log(np.exp(scores).sum(axis=0)) - scores[codes, np.arange(400)])

    assert -np.log(rest.p[codes, np.arange(400)]).mean() == pytest.approx(
        min(loss(a) for a in np.linspace(0, 2, 401)), abs=1e-4
    )


def test_slopes_of_pairs_are_derivatives_of_the_log_likelihood_of_rows_left_out():
    families, rows, codes = numbers(120)
    rest = Unexplained.of(families, rows, codes, np.ones(120), CLASSES)
    plan = plan_pairs(families, rows, codes, np.ones(120), CLASSES, 120.0)
    columns = np.ascontiguousarray(plan.codes(rows.parts, 120).T)
    found = rest._of_pairs(plan, columns)
    for q, (a, b) in enumerate(plan.pairs.T):
        present = (columns[a] < plan.sizes[a]) & (columns[b] < plan.sizes[b])
        for i in range(0, 120, 7):
            ratio = np.zeros(CLASSES)
            for k in range(CLASSES):
                own = (codes == k) & present & (np.arange(120) != i)
                joint = np.sum(own & (columns[a] == columns[a][i]) & (columns[b] == columns[b][i]))
                product = np.sum(own & (columns[a] == columns[a][i])) * np.sum(own & (columns[b] == columns[b][i]))
                ratio[k] = np.log((joint + 3) / (product / own.sum() + 3))
            expected = ratio[codes[i]] - rest.p[:, i] @ ratio if present[i] else 0.0
            assert found[i, q] == pytest.approx(expected, abs=1e-5)


def independent(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    shift = rng.normal(size=(3, 4))
    return rng.normal(size=(n, 4)) + shift[y], y


def structure_of(clf, x):
    clf.predict_proba(x[:1])
    return clf._learned.calibration("pool")


def test_pairs_and_sums_of_independent_columns_are_not_counted():
    x, y = independent(3 * JUDGES)
    clf = sf.BayesClassifier(keep=JUDGES).fit(x, y)
    found = structure_of(clf, x)
    assert found.plan.is_naive
    assert not found.found
    assert not found.pairs.size
    assert not found.experts
    naive = sf.BayesClassifier(structure="naive", keep=JUDGES).fit(x, y)
    new, labels = independent(5000)
    losses = [-np.log(each.predict_proba(new)[np.arange(5000), labels]).mean() for each in (clf, naive)]
    assert losses[0] < losses[1] + 1e-3


def test_answers_without_pairs_are_the_same_in_files_and_as_formulas(tmp_path):
    x, y = independent(3 * JUDGES)
    clf = sf.BayesClassifier(keep=JUDGES).fit({f"x{j}": x[:, j] for j in range(4)} | {"y": y}, "y")
    rows = {f"x{j}": x[:50, j] for j in range(4)}
    expected = clf.predict_proba(rows)
    clf.save(tmp_path / "model.suffice")
    assert_allclose(sf.load(tmp_path / "model.suffice").predict_proba(rows), expected, rtol=0)
    twice = clf + clf
    assert_allclose(twice.class_count_, 2 * clf.class_count_)
    one = clf.predict_proba({name: values[:1] for name, values in rows.items()})
    assert_allclose(one, expected[:1], rtol=1e-12)


def test_pairs_are_counted_where_two_columns_matter_together():
    x, y = independent(3 * JUDGES)
    y = (y == 0) ^ (x[:, 0] * x[:, 1] > 0)
    found = structure_of(sf.BayesClassifier(keep=JUDGES).fit(x, y), x)
    assert not found.plan.is_naive
    assert found.pairs.any()


def test_cosines_are_fitted_where_three_columns_matter_together_and_no_two_do():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3 * JUDGES, 3))
    y = x.prod(axis=1) > 0
    clf = sf.BayesClassifier(keep=JUDGES).fit(x, y)
    found = structure_of(clf, x)
    assert found.plan.is_naive
    assert [type(each) for each in found.experts] == [CosineExpert]
    new = rng.normal(size=(4000, 3))
    assert np.mean(clf.predict(new) == (new.prod(axis=1) > 0)) > 0.85


def test_a_ratio_that_explains_the_classes_is_counted():
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(size=(3 * JUDGES, 4)))
    y = (x[:, 0] / x[:, 1] > 1).astype(int)
    y = np.where(rng.random(len(y)) < 0.1, 1 - y, y)
    found = structure_of(sf.BayesClassifier(keep=JUDGES).fit(x, y), x)
    assert any(block.found.operation == "ratio" for block in found.found)


@pytest.mark.parametrize("keep", [1000, JUDGES - 1])
def test_few_rows_leave_no_pair_out(keep):
    x, y = independent(2 * JUDGES)
    found = structure_of(sf.BayesClassifier(keep=keep).fit(x, y), x)
    assert found.plan.pairs.size


def test_all_rows_at_hand_leave_no_pair_out():
    x, y = independent(JUDGES)
    found = structure_of(sf.BayesClassifier().fit(x, y), x)
    assert found.plan.pairs.size


def test_many_classes_are_not_judged():
    assert Unexplained.can_be_judged(JUDGES, 100)
    assert not Unexplained.can_be_judged(JUDGES, unexplained.MOST_ENTRIES // JUDGES + 1)


def test_blocks_without_bins_take_no_part():
    families, rows, codes = numbers()
    constant = np.zeros((400, 1))
    rest = Unexplained.of(
        (*families, Automatic(), None), Batch((*rows.parts, constant, constant), 400), codes, np.ones(400), 3
    )
    assert_allclose(rest.p, Unexplained.of(families, rows, codes, np.ones(400), CLASSES).p)
    assert rest.is_explained_by(Block(("x",), Automatic()), constant)
    plan = rest.plan_without_pairs(families[:1], Batch(rows.parts[:1], 400))
    assert plan is not None
    assert not plan.is_naive


@pytest.mark.parametrize("weight", [1e-30, 1e30])
def test_weights_of_any_size_are_judged_alike(weight):
    x, y = independent(2 * JUDGES)
    clf = sf.BayesClassifier(keep=JUDGES).fit(x, y, sample_weight=np.full(len(y), weight))
    assert structure_of(clf, x).plan.is_naive  # and nothing overflowed, which would be an error here
    assert np.isfinite(clf.predict_log_proba(x[:100])).all()
