"""Estimators whose probabilities are calibrated on rows that were kept, each left out of the model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from suffice.core.arrays import Array, Codes, Values
from suffice.core.errors import NotPartError
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.estimators.generative_classifier import GenerativeClassifier
from suffice.formulas import Scoring
from suffice.model.calibration import Calibration
from suffice.model.joint import Model, leave_one_out_parts


class CalibratedClassifier(GenerativeClassifier):
    """A generative classifier that keeps some rows with its statistics, and tempers its evidence by them."""

    prior: Any
    calibrate: bool | Literal["classes"]

    def _class_prior(self) -> ClassPrior:
        if isinstance(self.prior, ClassPrior):
            return self.prior
        if self.prior is None:
            return ClassPrior()
        if isinstance(self.prior, (str, Dirichlet)):
            return ClassPrior(self.prior)  # type: ignore[arg-type]  # validated
        return ClassPrior(np.asarray(self.prior))

    @abstractmethod
    def _kept(self) -> tuple[Any, Codes, Array]:
        """The rows kept, their classes and their weights."""

    @property
    def calibration_(self) -> Calibration:
        """The exponent on the evidence, and the part of the prior mixed in."""
        learned = self._get_learned()
        found = learned.__dict__.get("calibration")
        if found is None or found[0] != self.calibrate:
            found = self.calibrate, self._fit_calibration()
            learned.__dict__["calibration"] = found
        return found[1]

    def _fit_calibration(self) -> Calibration:
        learned = self._get_learned()
        classes = len(learned.statistics.labels)
        if self.calibrate is False:
            return Calibration.none(classes)
        kept, codes, weight = self._kept()
        if not len(codes):
            return Calibration.none(classes)
        unit = np.minimum(weight, 1.0)
        rows = learned.family.read(kept)
        labels = learned.statistics.labels[codes]
        try:
            evidence, log_prior = leave_one_out_parts(
                learned.statistics, learned.family, learned.prior, rows, labels, unit, learned.model
            )
        except NotPartError:  # values were compressed to a limit: rows can no longer be left out
            evidence = learned.model.relative_log_conditional(rows)
            log_prior = np.repeat(learned.model.log_prior[None], len(evidence), axis=0)
        # A row that is all there is of its class says nothing of how well the class is known.
        others = learned.statistics.weight[codes] > unit * (1 + 1e-9)
        some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(unit)), codes]))
        form: Literal["exponent", "classes"] = "classes" if self.calibrate == "classes" else "exponent"
        return Calibration.fit(evidence[some], log_prior[some], codes[some], weight[some], form)

    def _most_probable(self, model: Model, rows: Any, dtype: Any = np.float64) -> Values:
        return self.classes_[self._posterior(model, rows, dtype).argmax(axis=1)]

    def _posterior(self, model: Model, rows: Any, dtype: Any = np.float64) -> Array:
        calibration = self.calibration_
        if not self.calibrate:
            return super()._posterior(model, rows, dtype)
        return calibration.posterior(model.relative_log_conditional(rows), model.log_prior)

    def _log_posterior(self, model: Model, rows: Any, dtype: Any = np.float64) -> Array:
        calibration = self.calibration_
        if not self.calibrate:
            return super()._log_posterior(model, rows, dtype)
        return calibration.log_posterior(model.relative_log_conditional(rows), model.log_prior)

    def formula(self) -> Scoring:
        """Return what `predict_proba` does as formulas over the columns; an error says which columns have none.

        They are for computing probabilities elsewhere, in a database or a web page: see `suffice.formulas`.
        """
        found, calibration = super().formula(), self.calibration_
        return replace(found, slope=calibration.slope, bias=calibration.bias, mixed=calibration.mixed)

    def _left_out(self, model: Model, evidence: Array, log_prior: Array) -> Array:
        if not self.calibrate:
            return super()._left_out(model, evidence, log_prior)
        return self.calibration_.log_posterior(evidence, log_prior)
