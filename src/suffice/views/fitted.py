"""What pictures and reports ask of a classifier, as protocols, and the labels of rows that it is judged by."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from suffice.core.arrays import Values
from suffice.core.frames import as_frame
from suffice.core.frames import labels as column_labels
from suffice.core.labels import label_list, read_labels
from suffice.engines import Form

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier


class Classifier(Protocol):
    """Any fitted classifier, of suffice or of scikit-learn."""

    @property
    def classes_(self) -> Values:
        """The classes, sorted."""

    def predict(self, X: Any, /) -> Any:
        """Return the most probable class of each row."""


class ProbabilisticClassifier(Classifier, Protocol):
    """A fitted classifier that gives probabilities."""

    def predict_proba(self, X: Any, /) -> Any:
        """Return p(y | x), (rows, classes)."""


def form_of(estimator: object) -> Form:
    """Return the form in which an estimator reads rows: a table, texts, or a matrix of numbers or categories."""
    form: Form = getattr(estimator, "_form", "numbers")
    return form


def labels_of(X: object, y: object) -> Values:
    """Return labels as an array; `y` may be the name of a column of X."""
    return column_labels(as_frame(X).column(y), y) if isinstance(y, str) else read_labels(y)


def spelled_as(classes: Values, labels: Values) -> Values:
    """Return labels with the type of the classes: a file may hold numbers as text."""
    if (labels.dtype.kind in "US") == (classes.dtype.kind in "US"):
        return labels
    known = {str(each): each for each in classes.tolist()}
    return np.array([known.get(str(each), str(each)) for each in label_list(labels)])


def column_names(estimator: GenerativeClassifier, names: object = None) -> list[str]:
    """Return the names of the columns: `names`, or those of training, or x0, x1, …"""
    known: Any = getattr(estimator, "feature_names_in_", None) if names is None else names
    return [f"x{j}" for j in range(estimator.n_features_in_)] if known is None else [str(name) for name in known]


def nameless(estimator: Any) -> Any:
    """The same estimator for a matrix, whose columns have no names."""
    out = copy(estimator)
    out.__dict__.pop("feature_names_in_", None)
    return out
