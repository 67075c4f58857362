"""What `suffice.estimators._sklearn` gives where scikit-learn is done without: the same names, signatures and words of errors.

As much of each as the estimators here use, and no more. In the library none of this is ever used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np

from suffice.core.arrays import Values, as_matrix, encode_labels, is_sparse, is_table
from suffice.core.errors import InvalidDataError

# ------------------------------------------------------------------------------------------------ estimators


class NotFittedError(ValueError, AttributeError):
    """Something is asked of an estimator that has learned nothing."""


class BaseEstimator:
    """Parameters are what the constructor takes, kept under the same names."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        taken = signature(cls.__init__).parameters.values()
        return sorted(p.name for p in taken if p.name != "self" and p.kind != Parameter.VAR_KEYWORD)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and with `deep` those of estimators among them."""
        own = {name: getattr(self, name) for name in self._get_param_names()}
        inner = {
            f"{name}__{key}": each
            for name, value in own.items()
            if deep and hasattr(value, "get_params") and not isinstance(value, type)
            for key, each in value.get_params().items()
        }
        return own | inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._get_param_names()
        for name in params:
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _validate_params(self) -> None:
        constraints: dict[str, list[Any]] = self._parameter_constraints  # type: ignore[attr-defined]  # estimators have
        for name, value in self.get_params(deep=False).items():
            check_parameter(constraints.get(name, [object]), name, value, type(self).__name__)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = {p.name: p.default for p in signature(type(self).__init__).parameters.values()}
        params = ((name, getattr(self, name)) for name in defaults if name != "self")
        shown = ", ".join(f"{name}={value!r}" for name, value in params if repr(value) != repr(defaults[name]))
        return f"{type(self).__name__}({shown})"[:N_CHAR_MAX]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()


class ClassifierMixin:
    """What all classifiers can do."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted."""
        right = self.predict(X) == np.asarray(y)  # type: ignore[attr-defined]  # classifiers do
        return float(np.average(right, weights=sample_weight))


class TransformerMixin:
    """What all transformers can do."""

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Learn from rows, and transform them."""
        return self.fit(X, y, **options).transform(X)  # type: ignore[attr-defined]  # transformers do


class ClassNamePrefixFeaturesOutMixin:
    """Columns that come out are called by the class, and numbered."""

    def get_feature_names_out(self, input_features: Any = None) -> Values:  # noqa: ARG002  # the contract
        """Return the names of the columns that `transform` gives."""
        check_is_fitted(self)
        count: int = self._n_features_out  # type: ignore[attr-defined]  # transformers have it
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(count)], dtype=object)


def clone(estimator: Any, *, safe: bool = True) -> Any:
    """An estimator with the same parameters that has learned nothing."""
    if not hasattr(estimator, "get_params"):
        if safe:
            raise TypeError(f"Cannot clone object {estimator!r}: it is no estimator")
        return deepcopy(estimator)
    params = {name: clone(value, safe=False) for name, value in estimator.get_params(deep=False).items()}
    return type(estimator)(**params)


def check_is_fitted(estimator: Any) -> None:
    """Raise unless something was learned."""
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
            "before using this estimator."
        )


# ------------------------------------------------------------------------------------------------ rows and labels


def validate_data(
    estimator: Any,
    X: Any,
    reset: bool = True,
    accept_sparse: Any = False,
    ensure_all_finite: bool = True,  # noqa: ARG001  # every caller here takes NaN as missing
    dtype: Any = "numeric",
) -> Any:
    """Rows as a matrix, of as many columns as were learned; with `reset` their number and names are taken down."""
    _check_feature_names(estimator, X, reset=reset)
    if is_sparse(X):
        if not accept_sparse:
            raise TypeError("Sparse data was passed, but dense data is required. Use '.toarray()' to convert it.")
        rows: Any = X.tocsr()
    elif dtype is None:
        rows = np.asarray(X)
    else:
        rows = np.asarray(X) if not is_table(X) and np.asarray(X).ndim != 2 else as_matrix(X)
    if rows.ndim != 2:
        raise InvalidDataError(f"Expected 2D array, got {_dimensions(rows)} array instead:\narray={rows!r}.")
    for axis, what in ((0, "sample"), (1, "feature")):
        if not rows.shape[axis]:
            raise InvalidDataError(
                f"Found array with 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required."
            )
    _check_n_features(estimator, rows, reset=reset)
    return rows


def _dimensions(rows: Any) -> str:
    return "scalar" if not rows.ndim else f"{rows.ndim}D"


def _check_n_features(estimator: Any, X: Any, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise InvalidDataError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def _check_feature_names(estimator: Any, X: Any, *, reset: bool) -> None:
    names = np.array([str(name) for name in X.columns], dtype=object) if is_table(X) else None
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = names
        return
    known = estimator.__dict__.get("feature_names_in_")
    if known is not None and names is not None and (len(known) != len(names) or (known != names).any()):
        raise InvalidDataError(
            f"The feature names should match those that were passed during fit: {known.tolist()}, "
            f"found {names.tolist()}"
        )


def _check_y(y: Any, multi_output: bool, y_numeric: bool, estimator: Any) -> Values:  # noqa: ARG001  # one label a row
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidDataError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    encode_labels(array)  # refuses what is missing
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise InvalidDataError("Input y contains infinity or a value too large for dtype('float64').")
    return array


def check_classification_targets(y: Any) -> None:
    """Refuse labels that are measured numbers."""
    array = np.asarray(y)
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise InvalidDataError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
            "classes on a regression target with continuous values."
        )


def check_consistent_length(*arrays: Any) -> None:
    """Refuse rows and labels that are not equally many."""
    lengths = [int(a.shape[0]) if hasattr(a, "shape") else len(a) for a in arrays if a is not None]
    if len(set(lengths)) > 1:
        raise InvalidDataError(f"Found input variables with inconsistent numbers of samples: {lengths}")


def unique_labels(*labels: Any) -> Values:
    """The labels that occur, sorted."""
    return np.unique(np.concatenate([np.asarray(each) for each in labels]))


def check_random_state(seed: Any) -> np.random.RandomState:
    """A generator of random numbers from a seed, or the one that is given."""
    if isinstance(seed, np.random.RandomState):
        return seed
    return np.random.RandomState(None if seed is None else int(seed))  # as scikit-learn draws


# ------------------------------------------------------------------------------------------------ parameters


class InvalidParameterError(ValueError, TypeError):
    """A parameter that cannot be."""


class Constraint(ABC):
    """What a parameter may be; its text tells."""

    @abstractmethod
    def is_satisfied_by(self, value: Any) -> bool:
        """Tell whether a value may be."""


class Interval(Constraint):
    """Numbers between two bounds, either of which may be None for none, or part of it (`closed`) or not."""

    def __init__(self, kind: Any, left: Any, right: Any, *, closed: Literal["left", "right", "both", "neither"]):
        self.kind, self.left, self.right, self.closed = kind, left, right, closed

    def is_satisfied_by(self, value: Any) -> bool:
        """Tell whether a value is a number of the interval."""
        if not isinstance(value, self.kind):
            return False
        left, right = (-np.inf if self.left is None else self.left), (np.inf if self.right is None else self.right)
        above = value >= left if self.closed in ("left", "both") else value > left
        below = value <= right if self.closed in ("right", "both") else value < right
        return bool(above and below)

    def __str__(self) -> str:
        whole = self.kind is Integral
        left, right = ("-inf" if self.left is None else self.left), ("inf" if self.right is None else self.right)
        if not whole:
            left, right = (float(bound) if isinstance(bound, Real) else bound for bound in (left, right))
        opened, ended = (
            "[" if self.closed in ("left", "both") else "(",
            "]" if self.closed in ("right", "both") else ")",
        )
        return f"{'an int' if whole else 'a float'} in the range {opened}{left}, {right}{ended}"


class StrOptions(Constraint):
    """One of some strings."""

    def __init__(self, options: set[str]):
        self.options = options

    def is_satisfied_by(self, value: Any) -> bool:
        """Tell whether a value is one of them."""
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(repr(option) for option in self.options)}}}"


class HasMethods(Constraint):
    """Anything with some methods."""

    def __init__(self, methods: str | Sequence[str]):
        self.methods = [methods] if isinstance(methods, str) else list(methods)

    def is_satisfied_by(self, value: Any) -> bool:
        """Tell whether a value has them."""
        return all(callable(getattr(value, method, None)) for method in self.methods)

    def __str__(self) -> str:
        *others, last = map(repr, self.methods)
        return f"an object implementing {', '.join(others) + ' and ' if others else ''}{last}"


class _OneOf(Constraint):
    """What is told of by a word, a type or None rather than by an object."""

    def __init__(self, told: Any):
        self.told = told

    def is_satisfied_by(self, value: Any) -> bool:
        if self.told is None:
            return value is None
        if self.told == "array-like":
            has = hasattr(value, "__len__") or hasattr(value, "shape") or hasattr(value, "__array__")
            return has and not isinstance(value, (str, bytes, dict)) and not np.isscalar(value)
        if isinstance(self.told, tuple):
            return any(as_constraint(each).is_satisfied_by(value) for each in self.told)
        return isinstance(value, self.told)

    def __str__(self) -> str:
        if self.told is None:
            return "None"
        if self.told == "array-like":
            return "an array-like"
        if isinstance(self.told, tuple):
            return _listed(self.told)
        home, name = self.told.__module__, self.told.__qualname__
        return f"an instance of {name if home == 'builtins' else f'{home}.{name}'!r}"


NAMED = {
    "boolean": (bool, np.bool_),
    "random_state": (Interval(Integral, 0, 2**32 - 1, closed="both"), np.random.RandomState, None),
}


def as_constraint(told: Any) -> Constraint:
    """The constraint that an entry of `_parameter_constraints` means."""
    if isinstance(told, Constraint):
        return told
    return _OneOf(NAMED.get(told, told) if isinstance(told, str) else told)


def _listed(constraints: Sequence[Any]) -> str:
    *others, last = (str(as_constraint(each)) for each in constraints)
    return f"{', '.join(others)} or {last}" if others else last


def check_parameter(constraints: list[Any], name: str, value: Any, caller: str) -> None:
    """Refuse a parameter that satisfies none of its constraints, in scikit-learn's words."""
    if not any(as_constraint(each).is_satisfied_by(value) for each in constraints):
        raise InvalidParameterError(
            f"The {name!r} parameter of {caller} must be {_listed(constraints)}. Got {value!r} instead."
        )
