"""Answering: probabilities and labels of rows, new ones and those that were learned."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np

from suffice import engines
from suffice.core import frames
from suffice.core.arrays import Array, Values, as_weight
from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.core.labels import label_list, same_labels
from suffice.estimators._learning import Learning
from suffice.estimators._left_out import column_name
from suffice.estimators._threads import answering
from suffice.estimators.scikit_learn import check_columns
from suffice.families import Table
from suffice.model.calibration import ScoredRow
from suffice.model.learned import Learned
from suffice.model.predictor import TITLES, Predictor, Question


class Answering(Learning):
    """Estimators that say which class a row is of, and how usual it is."""

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
        if not source.has_names:
            check_columns(self, X, reset=False)
            return self._run(source.answer, engines.Answer(self._predictor(), question))
        predictor = self._predictor()
        for name in predictor.columns:
            source.check_column(name, "that the model was trained on")
        return source.answer(engines.Answer(predictor, question))

    def _array_on_device(self, X: Any) -> Any:
        """Return the rows of an array on a GPU; None for anything else."""
        source = engines.gpu.find(X)
        if source is not None:
            check_columns(self, X, reset=False)
        return source

    def _scored_row(self, X: Any) -> ScoredRow | None:  # noqa: ARG002  # only tables have such rows
        """Score a single row of Python values; None where X is something else."""
        return None

    def _predictor(self) -> Predictor:
        """What workers need to answer."""
        return self._predictor_of(self._settled(), self._calibration())

    @answering
    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y) for each row and class; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Joint log-probabilities, classes in the order of `classes_`.
        """
        learned, source = self._settled(), self._array_on_device(X)
        if source is not None:
            return self._run(source.log_joint, learned)
        rows = self._check_X(X)
        return self._run(learned.model.log_joint, rows, learned.dtype_for(rows))

    @answering
    def score_samples(self, X: Any) -> Array:
        """Return log p(x) = log Σ_y p(x, y) of each row: how usual it is; missing entries are left out of account.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities.
        """
        learned, source = self._settled(), self._array_on_device(X)
        if source is not None:
            return self._run(source.log_density, learned)
        return self._run(learned.log_density, self._check_X(X))

    @answering
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Returns
        -------
        score : float
            Mean accuracy.
        """
        source = self._on_device(X, y, sample_weight)
        if source is not None:
            return self._run(source.accuracy, self._settled(), self._calibration())
        rows, labels, weight = self._read_learned(X, y, sample_weight)
        found = self._run(self._settled().predict, rows, self._calibration())
        return float(np.average(same_labels(found, labels), weights=as_weight(weight, len(labels))))

    # ---- rows of other class shares

    @answering
    def adapt(self, X: Any, sample_weight: Any = None) -> Self:
        """Return a classifier for rows whose classes have other shares than those of training.

        The shares are estimated from the rows, without labels, by EM on their posteriors. Nothing is learned anew: the
        class prior is a factor of its own. Classes must look as they did in training. What is learned, forgotten or
        added later has the shares of the training rows again; `leave_one_out`, `cross_validate` and `suspects` always
        have them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), table, files or a stream
            Rows, labelled or not: labels are not read. The posteriors of all rows are held in memory.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights of the rows, or the name of the column that holds them.

        Returns
        -------
        classifier : object
            A fitted classifier of the same type that answers with the estimated shares; `shares_` shows them.
        """
        learned, predictor, weight = self._settled(), self._predictor(), column_name(sample_weight)
        answers = self._answer(X, "predict_log_proba", Learned.log_posterior)
        if isinstance(answers, np.ndarray):
            if isinstance(weight, str):
                weight = frames.weights(as_frame(X).column(weight), weight)
            posterior = np.exp(answers)
        elif hasattr(answers, "read_all"):
            posterior, weight = _collected(answers, predictor.labels, weight)
        else:
            raise InvalidDataError(
                f"Class shares are estimated from rows in memory, files or streams, not from a {type(X).__name__}: "
                "take a sample of the rows. A few thousand are enough"
            )
        self._learned = learned.adapted(predictor.shares(posterior, as_weight(weight, len(posterior))))
        return self

    @property
    def shares_(self) -> Table:
        """The class shares that `adapt` found, their standard errors, and the shares of training."""
        learned = self._settled()
        if learned.shares is None:
            raise AttributeError(f"This {type(self).__name__} was not adapted: its class shares are those of training")
        values = [learned.shares.share, learned.shares.error, np.exp(learned.training_log_prior)]
        names = list(map(str, label_list(learned.labels)))
        return Table("class", names, ["share", "error", "in training"], np.stack(values, axis=1))

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
        learned, source = self._settled(), self._on_device(X, y, sample_weight)
        if source is not None:
            return self._run(source.leave_one_out, learned, self._calibration())
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


def _collected(reader: Any, labels: Values, weight: str | None) -> tuple[Array, Array | None]:
    """Return p(y | x) of rows that are answered batch by batch, (rows, classes), and their weights."""
    names = [f"{TITLES['predict_log_proba']} {label}" for label in label_list(labels)]
    parts, weights = [np.empty((0, len(names)))], [np.empty(0)]
    for batch in reader:
        parts.append(np.stack([np.exp(batch.column(name).to_numpy()) for name in names], axis=1))
        if weight is not None:
            weights.append(frames.weights(as_frame(batch).column(weight), weight))
    return np.concatenate(parts), None if weight is None else np.concatenate(weights)
