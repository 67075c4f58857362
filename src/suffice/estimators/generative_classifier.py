"""The scikit-learn side of a generative model, written once for all estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.priors import ClassPrior, Dirichlet
from suffice.estimators._explaining import Explaining
from suffice.estimators._one_by_one import OneByOne
from suffice.estimators.saving import Saving
from suffice.model.calibration import Calibration
from suffice.model.learned import Calibrate


class GenerativeClassifier(OneByOne, Explaining, Saving):
    """A scikit-learn classifier made of statistics: rows are summarized, summaries added, models made of them.

    An estimator says which family and which class prior its parameters mean. Learning, answering, explaining and saving
    are the same for all, and each in a module of its own.
    """


class CalibratedClassifier(GenerativeClassifier):
    """A generative classifier that keeps some rows with its statistics, and calibrates its evidence by them."""

    prior: Any
    calibrate: Calibrate

    def _class_prior(self) -> ClassPrior:
        if isinstance(self.prior, ClassPrior):
            return self.prior
        if self.prior is None:
            return ClassPrior()
        if isinstance(self.prior, (str, Dirichlet)):
            return ClassPrior(self.prior)  # type: ignore[arg-type]  # validated
        return ClassPrior(np.asarray(self.prior))

    def _calibration(self) -> Calibration | None:
        return self._settled().calibration(self._calibrate())

    @property
    def calibration_(self) -> Calibration:
        """The exponent on the evidence, and the part of the prior mixed in."""
        return self._calibration() or Calibration.none(len(self.classes_))
