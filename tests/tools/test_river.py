"""The adapter for river: its own checks, and its pipelines."""

import numpy as np
import pytest

import suffice as sf
from suffice.naive_bayes import GaussianNB

pytest.importorskip("river", reason="river is not installed")
from river import checks, compose, evaluate, metrics, preprocessing

from suffice.river import RiverClassifier

ESTIMATORS = {"table": None, "naive": sf.BayesClassifier(structure="naive"), "numbers": GaussianNB()}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_the_adapter_passes_the_checks_of_river(estimator):
    model = RiverClassifier(estimator)
    for check in checks.yield_checks(model):
        check(model.clone())


def stream(n):
    rng = np.random.default_rng(2)
    for y in rng.integers(0, 2, n).tolist():
        yield {"number": float(rng.normal(y)), "kind": "ab"[int(rng.random() < 0.3 + 0.4 * y)]}, bool(y)


def test_the_adapter_runs_in_pipelines():
    scaled = compose.Select("number") | preprocessing.StandardScaler()
    pipeline = (scaled + compose.Select("kind")) | RiverClassifier(sf.BayesClassifier(structure="naive"))
    assert evaluate.progressive_val_score(stream(300), pipeline, metrics.Accuracy()).get() > 0.65


def test_texts_go_through_as_they_are():
    model = RiverClassifier(sf.TextClassifier())
    texts = [("cheap pills", "spam"), ("lunch at noon", "ham")] * 20
    assert evaluate.progressive_val_score(iter(texts), model, metrics.Accuracy()).get() > 0.9


def test_a_clone_has_learned_nothing():
    model = RiverClassifier(GaussianNB())
    model.learn_one({"x": 1.0}, "a")
    assert model.clone().predict_one({"x": 1.0}) is None
    assert model.predict_one({"x": 1.0}) == "a"
