"""All that the package takes from scikit-learn, by its public API: no other module imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from suffice.core.arrays import Values
from suffice.core.errors import InvalidDataError, MissingLabelError
from suffice.core.labels import encode_labels, is_column, read_labels
from suffice.engines.gpu import is_on_device

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler, normalize

    class BaseEstimator:
        """The base class, with members of any type: under a base of unknown type, constructors accept any parameter."""

        def __getattr__(self, name: str) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...
        def __repr__(self, N_CHAR_MAX: int = 700) -> str: ...
        def __sklearn_tags__(self) -> Any: ...
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102  # described by scikit-learn

    class ClassifierMixin(BaseEstimator):
        """As the base class."""

    class TransformerMixin(BaseEstimator):
        """As the base class."""

    class ClassNamePrefixFeaturesOutMixin(BaseEstimator):
        """As the base class."""
else:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    def __getattr__(name: str) -> object:
        """Import what only `BagOfWords` and comparisons need when it is asked for: it takes long."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from sklearn import preprocessing
        from sklearn.feature_extraction import text

        for module in (text, preprocessing):
            if hasattr(module, name):
                return getattr(module, name)
        from sklearn import exceptions, impute, linear_model, pipeline

        return next(
            getattr(module, name) for module in (exceptions, impute, linear_model, pipeline) if hasattr(module, name)
        )


__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ConvergenceWarning",
    "CountVectorizer",
    "LogisticRegression",
    "MaxAbsScaler",
    "NotFittedError",
    "OneHotEncoder",
    "SimpleImputer",
    "StandardScaler",
    "TfidfVectorizer",
    "TransformerMixin",
    "as_labels",
    "as_sparse_interface",
    "check_array",
    "check_columns",
    "check_consistent_length",
    "check_is_fitted",
    "check_random_state",
    "clone",
    "make_pipeline",
    "normalize",
    "refuse_device",
    "validate_data",
]


def as_labels(y: Any, estimator: Any) -> Values:
    """Read class labels: one for each row, all of them there, and not measured numbers."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    refuse_device(y, "y")
    labels = read_labels(y if is_column(y) else column_or_1d(y, warn=True))
    if labels.dtype.kind == "c":
        raise InvalidDataError(f"Complex data not supported\n{labels}\n")
    if labels.dtype.kind in "OmM":  # these must sort before scikit-learn can judge them, and none may be missing
        check_classification_targets(encode_labels(labels).values)
    elif labels.dtype.kind == "f":
        missing = np.isnan(labels)
        if missing.any():
            raise MissingLabelError.of(missing)
        assert_all_finite(labels, input_name="y", estimator_name=type(estimator).__name__)
        check_classification_targets(labels)
    return labels


def refuse_device(x: Any, what: str = "X") -> None:
    """Refuse an array on a GPU where one on the host is needed."""
    if is_on_device(x):
        raise InvalidDataError(
            f"{what} lies on a GPU, where this is not computed, or what goes with it is on the host. Put all on one "
            "side: cupy.asnumpy copies to the host, cupy.asarray to the GPU"
        )


def check_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Compare the number and names of the columns with those of the training rows; with `reset`, note them."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def as_sparse_interface(X: Any) -> Any:
    """Return a sparse matrix as the array or matrix that scikit-learn is configured to give."""
    import scipy.sparse

    wanted = get_config().get("sparse_interface", "spmatrix")  # older versions know matrices only
    kind = "array" if wanted == "sparray" else "matrix"
    return getattr(scipy.sparse, f"{X.format}_{kind}")(X)
