"""Estimators in pipelines of river."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

from suffice.core.errors import MissingPackageError
from suffice.estimators.scikit_learn import clone
from suffice.estimators.table_classifier import BayesClassifier

try:
    from river import base
except ImportError as error:
    raise MissingPackageError("suffice.river needs river: pip install river") from error

__all__ = ["RiverClassifier"]


class RiverClassifier(base.Classifier):  # type: ignore[misc]  # river may not be there
    """A classifier of river that learns and answers by an estimator of suffice.

    Parameters
    ----------
    estimator : estimator, default=None
        Any classifier of suffice: its parameters are taken, and not what it has learned. By default a
        `BayesClassifier`.

    Examples
    --------
    >>> import suffice as sf
    >>> from river import datasets, evaluate, metrics
    >>> from suffice.river import RiverClassifier
    >>> model = RiverClassifier(sf.BayesClassifier(structure="naive"))
    >>> evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy()).get() > 0.8
    True

    """

    def __init__(self, estimator: Any = None):
        self.estimator = estimator
        self._model = BayesClassifier() if estimator is None else clone(estimator)

    def __copy__(self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _model=copy(self._model))  # copies learn apart
        return made

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": BayesClassifier()}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one row.

        Parameters
        ----------
        x
            Values by the names of columns, or a text.
        y
            The class.

        """
        self._model.learn_one(x, y)

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:  # noqa: ARG002  # river's contract
        """Return the probability of each class.

        Parameters
        ----------
        x
            Values by the names of columns, or a text.

        """
        found: dict[Any, float] = self._model.predict_proba_one(x)
        return found
