"""The estimators of both sides, and what it means to fit one.

A fit counts until the parameters have been read, on both sides, because ours are computed when first needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.discriminant_analysis
import sklearn.naive_bayes

import suffice.discriminant_analysis
import suffice.naive_bayes


def ours(estimator: str) -> Any:
    """Make one of our estimators."""
    home = suffice.discriminant_analysis if estimator.endswith("Analysis") else suffice.naive_bayes
    return getattr(home, estimator)()


def theirs(estimator: str) -> Any:
    """Make one of scikit-learn's estimators."""
    home = sklearn.discriminant_analysis if estimator.endswith("Analysis") else sklearn.naive_bayes
    return getattr(home, estimator)()


SIDES = {"ours": ours, "theirs": theirs}


def fit(model: Any, X: Any, y: Any) -> list[Any]:
    """Fit and read the parameters."""
    return parameters(model.fit(X, y))


def parameters(model: Any) -> list[Any]:
    """Read all that a model has estimated."""
    if type(model).__name__ == "GaussianNB":
        return [model.class_prior_, model.theta_, model.var_]
    if type(model).__name__ == "LinearDiscriminantAnalysis":
        return [model.priors_, model.means_, model.coef_, model.intercept_, np.abs(model.scalings_)]
    if type(model).__name__ == "QuadraticDiscriminantAnalysis":
        return [model.priors_, model.means_, *model.scalings_, *map(np.abs, model.rotations_)]
    logs = model.feature_log_prob_
    return [model.class_log_prior_, *(logs if isinstance(logs, list) else [logs])]
