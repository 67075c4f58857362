"""Saving: estimators as files, and back."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any, BinaryIO

from suffice.core.errors import DamagedFileError, MismatchError, SufficeError, UnstorableError
from suffice.estimators._fitted import Fitted, PathLike
from suffice.model import storage
from suffice.model.predictor import Saved


class Saving(Fitted):
    """Estimators that can be written to a file."""

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write everything that was learned, and the parameters, to one file; `suffice.load` reads it.

        The loaded estimator gives the same answers, bit for bit, and can learn more, merge and forget. What takes long
        to decide (families, smoothing, calibration) is decided first, and stored: the loaded estimator answers at once.
        The file holds data and no code. A file of that name is replaced in one step, or, if anything fails,
        left as it was.

        Parameters
        ----------
        path : str, path or binary file
            Where to write; the usual ending is `.suffice`.
        """
        now = self._now()
        name = type(self).__name__
        if _known().get(name) is not type(self):
            raise UnstorableError(f"{name} is none of suffice's estimators: a file would not say how to make it again")
        with suppress(SufficeError):  # a model that cannot answer can be saved
            now._settled().decide(now._calibrate())
        fitted = {name: now.__dict__[name] for name in self._fitted if name in now.__dict__}
        storage.save(Saved(name, now.get_params(deep=False), fitted), path)


def load(path: PathLike | BinaryIO) -> Any:
    """Read an estimator that `save` wrote. Files that are cut off, changed, newer or foreign are refused."""
    saved = storage.load(path)
    if not isinstance(saved, Saved):
        kind = type(saved).__name__
        raise DamagedFileError(f"The file holds a {kind} and no estimator: suffice.storage.load reads it")
    return restored(saved)


def restored(saved: Saved) -> Any:
    """Make the estimator that was saved."""
    known = _known()
    if saved.estimator not in known:
        raise DamagedFileError(f"The file holds a {saved.estimator!r}, which is none of the estimators known here")
    try:
        estimator = known[saved.estimator](**saved.parameters)
        if not set(saved.attributes) <= set(estimator._fitted):
            raise MismatchError("attributes must be those of the estimator")
        estimator.__dict__.update(saved.attributes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when the estimator was fitted
            estimator._check_loaded()
    except Exception as error:  # any error means that the file is damaged
        raise DamagedFileError(f"The file holds no {saved.estimator} of this version: {error}") from error
    return estimator


def _known() -> dict[str, type[Any]]:
    """The estimators that files may hold, by name."""
    from suffice.estimators import discriminant_analysis, naive_bayes  # which import this module
    from suffice.estimators.table_classifier import BayesClassifier
    from suffice.estimators.text_classifier import TextClassifier

    names = [(module, name) for module in (naive_bayes, discriminant_analysis) for name in module.__all__]
    known = {name: getattr(module, name) for module, name in names}
    return known | {"BayesClassifier": BayesClassifier, "TextClassifier": TextClassifier}
