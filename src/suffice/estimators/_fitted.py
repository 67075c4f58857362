"""What every estimator has: parameters, what was learned, and how rows in memory are read."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np

from suffice.core.arrays import Array, Values, as_matrix, is_sparse
from suffice.core.errors import MismatchError, RefusedValueError
from suffice.core.priors import ClassPrior
from suffice.core.statistics import ByClass
from suffice.core.validation import PLAIN
from suffice.estimators import _documentation, parameter_checks
from suffice.estimators._threads import snapshot
from suffice.estimators.parameter_checks import Allowed
from suffice.estimators.scikit_learn import (
    BaseEstimator,
    ClassifierMixin,
    as_labels,
    check_consistent_length,
    check_is_fitted,
    refuse_device,
    validate_data,
)
from suffice.families import Family
from suffice.model.calibration import Calibration
from suffice.model.forms import Form
from suffice.model.joint import Model
from suffice.model.learned import Learned

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound="Fitted")
PathLike = str | os.PathLike[str]


MOST_MADE = 1000


def made_once(make: Callable[[E], R]) -> Callable[[E], R]:
    """Keep what a method makes of parameters alone: the same is asked for with every row that is learned."""
    known: dict[tuple[Any, ...], R] = {}

    @wraps(make)
    def made(self: E) -> R:
        held = self.__dict__
        values = [held[name] for name in self._parameters]
        types = [*map(type, values)]
        if not PLAIN.issuperset(types):
            return make(self)
        key = (type(self), *types, *values)
        found = known.get(key)
        if found is None:
            if len(known) >= MOST_MADE:
                known.clear()
            found = known[key] = make(self)
        return found

    return made


class Fitted(ClassifierMixin, BaseEstimator, ABC):
    """An estimator that keeps what it has learned in `_learned`."""

    _learned: Learned
    _parameters: ClassVar[Mapping[str, Allowed]]  # what the parameters may be
    _fitted: ClassVar[tuple[str, ...]] = ("_learned", "n_features_in_", "feature_names_in_")  # what fitting sets
    _form: ClassVar[Form] = "numbers"  # how the family reads the columns of a table
    _accept_sparse: ClassVar[str | bool] = "csr"
    _keeps_single: ClassVar[bool] = False  # whether answers are float32 where all rows are

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("suffice."):
            _documentation.complete_methods(cls)

    @abstractmethod
    def _family(self) -> Family[Any]:
        """Build the family that the parameters describe, refusing what makes no sense."""

    def _family_of_learned(self) -> Family[Any]:
        """Build the family that what was learned must be of."""
        return self._family()

    @abstractmethod
    def _class_prior(self) -> ClassPrior:
        """Build the class prior that the parameters describe."""

    def _check_parameters(self) -> None:
        parameter_checks.check(type(self).__name__, self._parameters, self.__dict__)

    def _check_loaded(self) -> None:
        """Refuse parameters, which may come from a file, that do not fit each other or what was learned."""
        self._check_parameters()
        learned, family = self._learned, self._family_of_learned()
        if type(learned.family) is not type(family):
            raise MismatchError(f"The family must be {type(family).__name__}, found {type(learned.family).__name__}")
        family.check_statistic(learned.statistics.statistic)
        self._class_prior().check(len(learned.labels))

    # ---- what was learned

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in self.__dict__

    def _settled(self) -> Learned:
        """Finish learning that was put off, and return what was learned."""
        self._settle()
        learned: Learned | None = self.__dict__.get("_learned")
        if learned is None:
            check_is_fitted(self)
            raise AssertionError("check_is_fitted raises")
        return learned

    def _settle(self) -> None:
        """Finish learning that was put off. Most estimators put off nothing."""

    def _now(self) -> Self:
        """Return the estimator as it is now: what other threads learn meanwhile does not change it."""
        self._settle()
        return snapshot(self)

    def _calibration(self) -> Calibration | None:
        """The calibration of probabilities; None where they are those of the model."""
        return None

    @property
    def classes_(self) -> Values:
        """Class labels known to the classifier, sorted, (n_classes,)."""
        return self._settled().labels

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class, (n_classes,)."""
        return read_only(self._settled().statistics.weight)

    @property
    def n_parameters_(self) -> int:
        """How many free parameters were estimated, those of the class prior included."""
        return self._settled().model.n_parameters

    @property
    def model_(self) -> Model:
        """The joint distribution p(x, y) that was estimated."""
        return self._settled().model

    @property
    def statistics_(self) -> ByClass[Any]:
        """Everything that was learned from the data."""
        return self._settled().statistics

    def _names(self) -> list[str]:
        """The names of the columns; x0, x1, … where they have none."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _columns_read(self, family: Family[Any]) -> tuple[str, ...]:  # noqa: ARG002  # most families read all
        """The names of the columns that a family reads."""
        return tuple(self._names())

    def _as_learned(self, values: Array) -> Array:
        """Return parameters in the type of the training rows."""
        return values.astype(self._settled().dtype, copy=False)

    # ---- rows in memory

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, Values]:
        rows = self._check_X(X, reset=reset)
        if not (isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"):
            y = as_labels(y, self)
        if rows.shape[0] != len(y):
            check_consistent_length(rows, y)
        return rows, y

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Read X. Arrays like the training rows pass at once: scikit-learn's checks take most of a millisecond."""
        if self._is_plain(X, "f", reset):
            return as_matrix(X)
        refuse_device(X)
        if isinstance(X, np.ma.MaskedArray) or (self._accept_sparse and is_sparse(X)):
            X = as_matrix(X)  # SciPy, by which scikit-learn converts, believes what a sparse matrix says of itself
        return as_matrix(
            validate_data(self, X, reset=reset, accept_sparse=self._accept_sparse, ensure_all_finite=False)
        )

    def _is_plain(self, X: Any, kinds: str, reset: bool) -> bool:
        """Whether X is an array like the training rows, so that nothing about it needs checking."""
        return (
            not reset
            and type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.kind in kinds
            and X.shape[1] == self.n_features_in_
            and X.shape[0] > 0
            and "feature_names_in_" not in self.__dict__
        )

    def _run(self, step: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        """Call a function of rows. Its errors name the estimator that was given a refused value, as scikit-learn's."""
        try:
            return step(*args, **options)
        except RefusedValueError as error:
            raise error.passed_to(type(self).__name__) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = bool(self._accept_sparse)
        return tags


def read_only(array: Array) -> Array:
    """Return a view that cannot be written to: what was learned is not to be changed from outside."""
    view = array.view()
    view.flags.writeable = False
    return view
