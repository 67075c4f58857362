"""All that estimators take from scikit-learn, in one place.

In the library every name here is scikit-learn's own, always. Importing scikit-learn takes longer than most things one
asks at a terminal, so a program that never hands its estimators to scikit-learn may say, before it imports the first
of them, that plain stand-ins are enough: `do_without_sklearn()`. The command line does.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

HOMES = {
    "BaseEstimator": "sklearn.base",
    "ClassNamePrefixFeaturesOutMixin": "sklearn.base",
    "ClassifierMixin": "sklearn.base",
    "HasMethods": "sklearn.utils._param_validation",
    "Interval": "sklearn.utils._param_validation",
    "StrOptions": "sklearn.utils._param_validation",
    "TransformerMixin": "sklearn.base",
    "_check_feature_names": "sklearn.utils.validation",
    "_check_n_features": "sklearn.utils.validation",
    "_check_y": "sklearn.utils.validation",
    "check_classification_targets": "sklearn.utils.multiclass",
    "check_consistent_length": "sklearn.utils.validation",
    "check_is_fitted": "sklearn.utils.validation",
    "check_random_state": "sklearn.utils",
    "clone": "sklearn.base",
    "unique_labels": "sklearn.utils.multiclass",
    "validate_data": "sklearn.utils.validation",
}
_without = False


def do_without_sklearn() -> bool:
    """Give stand-ins from now on; tell whether it is so. Not where scikit-learn, or an estimator, is here already."""
    global _without
    if "sklearn" not in sys.modules and "suffice.estimators.generative_classifier" not in sys.modules:
        _without = True
    return _without


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'suffice.estimators._sklearn' has no attribute {name!r}")
    return getattr(import_module("suffice.estimators._stand_ins" if _without else HOMES[name]), name)
