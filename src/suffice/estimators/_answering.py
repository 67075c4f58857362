"""Answering: probabilities and labels of rows, new ones and those that were learned."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from suffice import engines
from suffice.core.arrays import Array, as_weight
from suffice.core.errors import InvalidOptionError
from suffice.core.labels import same_labels
from suffice.estimators._learning import Learning
from suffice.estimators._threads import answering
from suffice.model.calibration import ScoredRow
from suffice.model.learned import Calibrate, Learned
from suffice.model.predictor import Predictor, Question


class Answering(Learning):
    """Estimators that say which class a row is of, and how usual it is."""

    calibrate: bool | str = False

    def _calibrate(self) -> Calibrate:
        """How probabilities are calibrated."""
        return self.calibrate  # type: ignore[return-value]  # parameters are checked

    @answering
    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, in memory or not; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples,)
            Labels. Of rows that are not in memory: the table with a column "prediction".
        """
        return self._answer(X, "predict", Learned.predict)

    @answering
    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x) for each row, in memory or not, and each class; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Log-probabilities, classes in the order of `classes_`. Of rows that are not in memory: the table with a
            column for each class.
        """
        return self._answer(X, "predict_log_proba", Learned.log_posterior)

    @answering
    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x) for each row, in memory or not, and each class; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Probabilities, classes in the order of `classes_`. Of rows that are not in memory: the table with a column
            for each class.
        """
        return self._answer(X, "predict_proba", Learned.posterior)

    def _answer(self, X: Any, question: Question, ask: Callable[..., Any]) -> Any:
        learned = self._settled()
        row = self._scored_row(X)
        if row is not None:
            return ask(learned, row, self._calibration())
        source = engines.find(X)
        if source is None:
            return self._run(ask, learned, self._check_X(X), self._calibration())
        predictor = self._predictor()
        for name in predictor.columns:
            source.check_column(name, "that the model was trained on")
        return source.answer(engines.Answer(predictor, question))

    def _scored_row(self, X: Any) -> ScoredRow | None:  # noqa: ARG002  # only tables have such rows
        """Score a single row of Python values; None where X is something else."""
        return None

    def _predictor(self) -> Predictor:
        """What workers need to answer."""
        known = self.__dict__.get("feature_names_in_")  # some tools set it to None
        names = None if known is None else tuple(map(str, known))
        schema = self.__dict__.get("_schema")
        learned, calibration = self._settled(), self._calibration()
        return Predictor(type(self).__name__, learned, calibration, self.n_features_in_, names, schema)

    @answering
    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y) for each row and class; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Joint log-probabilities, classes in the order of `classes_`.
        """
        learned, rows = self._settled(), self._check_X(X)
        return self._run(learned.model.log_joint, rows, learned.dtype_for(rows))

    @answering
    def score_samples(self, X: Any) -> Array:
        """Return log p(x) = log Σ_y p(x, y) of each row: how usual it is; missing entries are left out of account.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities.
        """
        return self._run(self._settled().log_density, self._check_X(X))

    @answering
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Returns
        -------
        score : float
            Mean accuracy.
        """
        rows, labels, weight = self._read_learned(X, y, sample_weight)
        found = self._run(self._settled().predict, rows, self._calibration())
        return float(np.average(same_labels(found, labels), weights=as_weight(weight, len(labels))))

    # ---- rows that were learned

    @answering
    def leave_one_out(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Return log p(y | x_i) of each training row under the model of all other rows, exactly.

        No model is refitted: each row is subtracted from the statistics. Which classes, categories and families there
        are, and the calibration, stay as the whole data have them. The rows must have the weights they were learned
        with.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Leave-one-out log-probabilities, classes in the order of `classes_`.
        """
        learned = self._settled()
        return learned.leave_one_out(*self._read_learned(X, y, sample_weight), self._calibration())

    @answering
    def cross_validate(
        self, X: Any, y: Any = None, folds: int = 10, sample_weight: Any = None, random_state: Any = 0
    ) -> Array:
        """Return log p(y | x_i) of each training row under the model without its fold, by subtraction.

        The rows must have the weights they were learned with.

        Parameters
        ----------
        folds : int, default=10
            How many parts the rows are cut into, at random.
        random_state : int, default=0
            Decides which rows go together.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Log-probabilities, classes in the order of `classes_`; −inf for a class that only its own fold has.
        """
        if not isinstance(folds, Integral) or folds < 2:
            raise InvalidOptionError(f"folds must be a whole number of at least 2, found {folds!r}")
        rows, labels, weight = self._read_learned(X, y, sample_weight)
        return self._settled().cross_validate(rows, labels, weight, folds, random_state, self._calibrate())
