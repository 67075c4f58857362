"""Tools of others, with our estimators in place of scikit-learn's: `make test-tools` installs and runs them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice as sf
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.naive_bayes import GaussianNB

pytestmark = pytest.mark.filterwarnings("default")  # of the tools


def people(n=300, seed=0):
    """A table of numbers, categories and dates, and two classes."""
    rng = np.random.default_rng(seed)
    buys = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.where(buys, 47, 38), 9).round(),
            "job": np.where(buys, rng.choice(["tech", "law"], n), rng.choice(["tech", "farm"], n)),
            "on": (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D")).strftime("%Y-%m-%d"),
        }
    )
    return frame, np.where(buys, "yes", "no")


ESTIMATORS = [sf.BayesClassifier(), GaussianNB(), LinearDiscriminantAnalysis()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_skops_writes_and_reads_estimators_without_pickle(estimator):
    sio = pytest.importorskip("skops.io")
    X, y = load_iris(return_X_y=True)
    fitted = make_pipeline(StandardScaler(), estimator).fit(X, y)
    data = sio.dumps(fitted)
    back = sio.loads(data, trusted=sio.get_untrusted_types(data=data))
    assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))


def test_skops_writes_and_reads_a_table_whose_columns_are_read():
    sio = pytest.importorskip("skops.io")
    X, y = people()
    fitted = sf.BayesClassifier({"job": "categorical"}).fit(X, y)
    data = sio.dumps(fitted)
    back = sio.loads(data, trusted=sio.get_untrusted_types(data=data))
    assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("form", ["cloudpickle", "skops"])
def test_mlflow_logs_and_loads_a_model(form, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder needs no database
    mlflow = pytest.importorskip("mlflow")
    models = pytest.importorskip("mlflow.sklearn")
    X, y = people()
    fitted = sf.BayesClassifier().fit(X, y)
    mlflow.set_tracking_uri(tmp_path.as_uri())
    mlflow.create_experiment("tables", artifact_location=tmp_path.as_uri())
    mlflow.set_experiment("tables")
    options = {}
    if form == "skops":
        sio = pytest.importorskip("skops.io")
        options["skops_trusted_types"] = sio.get_untrusted_types(data=sio.dumps(fitted))
    with mlflow.start_run():
        try:
            logged = models.log_model(fitted, name="model", serialization_format=form, **options)
        except (TypeError, mlflow.exceptions.MlflowException) as error:
            if form == "skops":
                pytest.skip(f"this version of MLflow does not write skops: {error}")
            raise
    assert_array_equal(models.load_model(logged.model_uri).predict_proba(X), fitted.predict_proba(X))
    served = mlflow.pyfunc.load_model(logged.model_uri)
    assert_array_equal(served.predict(X), fitted.predict(X))


def test_shap_explains_a_table_with_names_by_arrays():
    shap = pytest.importorskip("shap")
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = sf.BayesClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap.KernelExplainer(fitted.predict_proba, X.iloc[::15])
        values = np.asarray(explainer.shap_values(X.iloc[:2], nsamples=40, silent=True))
    # Shapley values add up to the prediction less the mean.
    total = values.sum(axis=1) + explainer.expected_value
    assert_allclose(total, fitted.predict_proba(X.iloc[:2]), atol=1e-6)


def test_frozen_estimators_are_not_fitted_again():
    frozen = pytest.importorskip("sklearn.frozen")
    from sklearn.calibration import CalibratedClassifierCV

    X, y = people()
    fitted = sf.BayesClassifier().fit(X[:200], y[:200])
    kept = frozen.FrozenEstimator(fitted)
    assert_array_equal(kept.fit(X[200:], y[200:]).predict_proba(X), fitted.predict_proba(X))
    calibrated = CalibratedClassifierCV(kept, method="sigmoid").fit(X[200:], y[200:])
    assert calibrated.predict_proba(X).shape == (300, 2)


def test_imbalanced_learn_samples_and_fits():
    over = pytest.importorskip("imblearn.over_sampling")
    ensemble = pytest.importorskip("imblearn.ensemble")
    from imblearn.pipeline import make_pipeline as make_sampling_pipeline

    X, y = people()
    clf = make_sampling_pipeline(over.RandomOverSampler(random_state=0), sf.BayesClassifier()).fit(X, y)
    counts = clf[-1].class_count_
    assert counts[0] == counts[1]
    numbers, labels = load_iris(return_X_y=True)
    bagged = ensemble.BalancedBaggingClassifier(GaussianNB(), n_estimators=3, random_state=0).fit(numbers, labels)
    assert bagged.score(numbers, labels) > 0.9


def test_mlxtend_votes_stacks_and_selects():
    classifier = pytest.importorskip("mlxtend.classifier")
    selection = pytest.importorskip("mlxtend.feature_selection")
    X, y = load_iris(return_X_y=True)
    vote = classifier.EnsembleVoteClassifier([GaussianNB(), LinearDiscriminantAnalysis()], voting="soft").fit(X, y)
    assert vote.score(X, y) > 0.9
    stack = classifier.StackingClassifier([GaussianNB(), sf.BayesClassifier()], LinearDiscriminantAnalysis()).fit(X, y)
    assert stack.score(X, y) > 0.9
    chosen = selection.SequentialFeatureSelector(GaussianNB(), k_features=2, cv=3).fit(X, y)
    assert len(chosen.k_feature_idx_) == 2


@pytest.mark.parametrize("ours", [True, False], ids=["suffice", "scikit-learn"])
def test_yellowbrick_draws_what_it_draws_of_scikit_learns_own(ours):
    """Recent versions of scikit-learn broke yellowbrick: what fails with its own fails with ours in the same way."""
    visualizers = pytest.importorskip("yellowbrick.classifier")
    from sklearn.naive_bayes import GaussianNB as Theirs

    X, y = load_iris(return_X_y=True)

    def drawn(estimator):
        try:
            picture = visualizers.ClassificationReport(estimator)
            picture.fit(X, y)
            return round(picture.score(X, y), 6)
        except Exception as error:  # whatever it is, it must be the same
            return type(error).__name__

    assert drawn(GaussianNB() if ours else Theirs()) == drawn(Theirs())
