"""Discriminant analysis: drop-in replacements for `sklearn.discriminant_analysis`, and more.

Change the import, keep the code: parameters, fitted attributes, errors and answers are scikit-learn's. Beyond them
both estimators take weights and NaN, learn piece by piece (`partial_fit`), add (`a + b`), forget (`forget`), drop
classes, draw rows (`sample`), fill missing entries (`impute`) and leave one out exactly without refitting.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from suffice.core.arrays import Array, refuse_infinite
from suffice.core.errors import InvalidDataError, InvalidOptionError, SingularCovarianceError
from suffice.core.parallel import in_threads
from suffice.core.priors import ClassPrior
from suffice.core.statistics import Scatter
from suffice.estimators._documentation import estimator
from suffice.estimators._fitted import read_only
from suffice.estimators._threads import answering
from suffice.estimators.generative_classifier import GenerativeClassifier
from suffice.estimators.parameter_checks import ARRAY_LIKE, BOOLEAN, Allowed, choice, has_method, interval
from suffice.estimators.scikit_learn import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from suffice.families import MultivariateGaussian
from suffice.families.covariance import as_scatter, average, exceeds, one_blas_thread
from suffice.families.linear_discriminant import Directions, LinearDiscriminant
from suffice.model.joint import Model

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]


class _DiscriminantAnalysis(GenerativeClassifier):
    """What both kinds share: their parameters, and the Gaussians behind them."""

    solver: str
    shrinkage: str | float | None
    priors: ArrayLike | None
    store_covariance: bool
    tol: float
    covariance_estimator: Any

    _accept_sparse: ClassVar[str | bool] = False
    _keeps_single: ClassVar[bool] = True

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "shrinkage": (choice("auto"), interval(Real, 0, 1, "both"), None),
        "priors": (ARRAY_LIKE, None),
        "store_covariance": (BOOLEAN,),
        "tol": (interval(Real, 0),),
        "covariance_estimator": (has_method("fit"), None),
    }

    def _options(self) -> dict[str, Any]:
        """The options of the family that the parameters name."""
        if self.solver == "svd":
            if self.shrinkage is not None:
                raise NotImplementedError("shrinkage not supported with 'svd' solver.")
            if self.covariance_estimator is not None:
                raise InvalidOptionError(self._no_estimator)
            return {}
        if self.covariance_estimator is not None:
            if self.shrinkage:
                raise InvalidOptionError(
                    "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
                )
            return {"estimator": self.covariance_estimator}
        if self.shrinkage == "auto":
            return {"shrinkage": "ledoit-wolf", "toward": "diagonal"}
        return {"shrinkage": self.shrinkage}

    def _given_priors(self) -> Array | None:
        """The priors that were given, made to sum to 1."""
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=np.float64)
        if (priors < 0).any():
            raise InvalidOptionError("priors must be non-negative")
        return priors / priors.sum()

    def _check_priors(self) -> None:
        if self.priors is not None and abs(np.sum(self.priors) - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)

    def _class_prior(self) -> ClassPrior:
        priors = self._given_priors()
        return ClassPrior() if priors is None else ClassPrior(priors)

    _no_estimator: ClassVar[str]  # what to say of a covariance estimator given to the solver 'svd'

    @property
    def _distribution(self) -> Any:
        return self._settled().model.distribution

    @property
    def _scatter(self) -> Scatter:
        return as_scatter(self._settled().estimated.statistic)

    @property
    def means_(self) -> Array:
        """Mean of each column in each class, (n_classes, n_features)."""
        return read_only(self._as_learned(self._distribution.mean))

    @property
    def priors_(self) -> Array:
        """Probability of each class, (n_classes,)."""
        return self._as_learned(np.exp(self._settled().model.log_prior))

    @answering
    def decision_function(self, X: Any) -> Array:
        """Return scores whose differences between classes are log-odds; missing entries are integrated out.

        Returns
        -------
        C : ndarray of shape (n_samples,) or (n_samples, n_classes)
            log p(x, y) up to a term that is the same for all classes; for two classes the log-odds of the second.
        """
        learned, rows = self._settled(), self._check_X(X)
        scores = self._run(self._scores, learned.model, rows).astype(learned.dtype_for(rows), copy=False)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @abstractmethod
    def _scores(self, model: Model, rows: Any) -> Array:
        """Log p(x, y) up to the term that scikit-learn leaves out."""


@estimator(kw_only=False)
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _DiscriminantAnalysis):
    """Linear discriminant analysis:  p(x | y) = N(x; μ_y, Σ), one covariance for all classes.

    Parameters
    ----------
    solver : {'svd', 'lsqr', 'eigen'}, default='svd'
        'svd' leaves out directions in which the classes do not vary, and can `transform`. 'lsqr' solves by least
        squares and can shrink. 'eigen' can do both. None of them looks at more than the cross-products of the
        columns.
    shrinkage : 'auto' or float, default=None
        A number from 0 to 1, or 'auto' for that of Ledoit and Wolf, estimated for each class. Not with 'svd'.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, instead of those of the data.
    n_components : int, default=None
        How many directions `transform` gives, at most min(n_classes - 1, n_features).
    store_covariance : bool, default=False
        Give `covariance_` with 'svd' too.
    tol : float, default=1e-4
        With 'svd', what a direction must vary by within classes, each column scaled by its deviation, to be kept.
        Below about 1e-7 rounding decides, for it is squares that are kept.
    covariance_estimator : covariance estimator, default=None
        Fitted to the rows of each class, which are then kept. Not with 'svd', nor with shrinkage.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> clf = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> clf.predict([[-0.8, -1], [np.nan, 1.5]])
    array([1, 2])
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        **_DiscriminantAnalysis._parameters,
        "solver": (choice("svd", "lsqr", "eigen"),),
        "n_components": (interval(Integral, 1), None),
    }
    _no_estimator: ClassVar[str] = "covariance estimator is not supported with svd solver. Try another solver"

    solver: str = "svd"
    shrinkage: str | float | None = None
    priors: ArrayLike | None = None
    n_components: int | None = None
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None

    def _family(self) -> LinearDiscriminant:
        self._check_priors()
        priors = self._given_priors()
        share = None if self.solver == "svd" else priors
        return LinearDiscriminant(
            prior=None,
            tied=True,
            share=share,
            solver=self.solver,  # type: ignore[arg-type]  # validated
            tol=self.tol,
            priors=priors,
            **self._options(),
        )

    def _scores(self, model: Model, rows: Any) -> Array:
        scores = model.relative_log_conditional(rows)  # which refuses what is infinite
        scores += np.nan_to_num(self._distribution.common(rows))  # rows with missing values have none
        return scores + model.log_prior

    def _check_fit(self) -> None:
        statistics = self._settled().estimated
        classes, scatter = len(statistics.labels), self._scatter
        if (
            np.isclose(statistics.weight.sum(), classes)
            and not scatter.cross.any()
            and not len(scatter.gaps.parts[0].weight)
        ):
            raise InvalidDataError(
                "The number of samples must be more than the number of classes. "
                f"Got {statistics.weight.sum():g} samples of {classes} classes."
            )
        if self.n_components is not None and self.n_components > self._most_components:
            raise InvalidOptionError("n_components cannot be larger than min(n_features, n_classes - 1).")
        assert self._distribution, "estimating raises where it cannot be done"

    @property
    def _most_components(self) -> int:
        return min(len(self.classes_) - 1, self.n_features_in_)

    @property
    def _n_features_out(self) -> int:
        return self._most_components if self.n_components is None else min(self.n_components, self._most_components)

    @property
    def _directions(self) -> Directions:
        return self._distribution.directions

    def _found(self, values: Array | None, name: str) -> Array:
        if values is None:
            raise AttributeError(f"solver={self.solver!r} has no {name}")
        return self._as_learned(values)

    @property
    def coef_(self) -> Array:
        """Coefficients of the scores, (n_classes, n_features); of the log-odds of the second of two classes, 1 row."""
        return self._as_learned(self._settled().model.linear().coef)

    @property
    def intercept_(self) -> Array:
        """Intercepts of the scores; for two classes of the log-odds of the second, (n_classes,)."""
        return self._as_learned(self._settled().model.linear().intercept)

    @property
    def covariance_(self) -> Array:
        """Covariance within classes, each class counting by its prior, (n_features, n_features)."""
        if self.solver != "svd":
            return self._as_learned(self._distribution.estimated[0])
        if not self.store_covariance:
            raise AttributeError("covariance_ is there with solver='lsqr', 'eigen' or store_covariance=True")
        scatter = self._settled().family.complete(self._scatter)  # type: ignore[attr-defined]
        share = np.exp(self._settled().model.log_prior)
        return self._as_learned(average(scatter.cross, scatter.weight, share))

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the variance between classes in each direction, (n_components,)."""
        found = self._found(self._directions.explained, "explained_variance_ratio_")
        return found[: self._n_features_out]

    @property
    def scalings_(self) -> Array:
        """The directions, one to a column, (rank, n_classes - 1)."""
        return self._found(self._directions.scalings, "scalings_")

    @property
    def xbar_(self) -> Array:
        """The means, weighed by the priors, (n_features,)."""
        return self._found(self._directions.centre, "xbar_")

    @answering
    def transform(self, X: Any) -> Array:
        """Project rows on the directions that separate the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are filled by their expectation given what was observed.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Projected rows.
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        learned, rows = self._settled(), self._check_X(X)
        dtype = learned.dtype_for(rows)
        self._run(refuse_infinite, rows)
        rows = learned.model.impute(rows) if np.isnan(rows).any() else rows
        centre = self._directions.centre
        kept = self._directions.scalings[:, : self._n_features_out]  # type: ignore[index]  # lsqr has been refused
        return np.asarray((rows if centre is None else rows - centre) @ kept, dtype)


@estimator()
class QuadraticDiscriminantAnalysis(_DiscriminantAnalysis):
    """Quadratic discriminant analysis:  p(x | y) = N(x; μ_y, Σ_y), a covariance for each class.

    Parameters
    ----------
    solver : {'svd', 'eigen'}, default='svd'
        Which parameters are allowed: 'svd' takes `reg_param`, 'eigen' takes `shrinkage` or `covariance_estimator`.
        The answers are the same.
    shrinkage : 'auto' or float, default=None
        A number from 0 to 1, or 'auto' for that of Ledoit and Wolf, estimated for each class.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, instead of those of the data.
    reg_param : float, default=0.0
        Part of every covariance that is replaced by the identity matrix: (1 - reg_param) Σ + reg_param I.
    store_covariance : bool, default=False
        Give `covariance_`.
    tol : float, default=1e-4
        `fit` refuses a class whose covariance has an eigenvalue no larger than this.
    covariance_estimator : covariance estimator, default=None
        Fitted to the rows of each class, which are then kept.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> clf = QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> clf.predict([[-0.8, -1], [np.nan, 1.5]])
    array([1, 2])
    """

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        **_DiscriminantAnalysis._parameters,
        "solver": (choice("svd", "eigen"),),
        "reg_param": (interval(Real, 0, 1, "both"),),
    }
    _no_estimator: ClassVar[str] = (
        "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
    )

    solver: str = "svd"
    shrinkage: str | float | None = None
    priors: ArrayLike | None = None
    reg_param: float = 0.0
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None

    def _family(self) -> MultivariateGaussian:
        self._check_priors()
        options = self._options()
        if self.solver == "svd" and self.reg_param:
            options = {"shrinkage": self.reg_param, "toward": "identity"}
        return MultivariateGaussian(prior=None, **options)

    def _scores(self, model: Model, rows: Any) -> Array:
        norm = 0.5 * self.n_features_in_ * np.log(2.0 * np.pi)
        return model.log_conditional(rows) + norm + model.log_prior

    def _check_fit(self) -> None:
        labels, scatter = self.classes_, self._scatter
        if len(labels) < 2:
            raise InvalidDataError(f"The number of classes has to be greater than one. Got {len(labels)} class.")
        for label, weight, cross in zip(labels, self.class_count_, scatter.cross, strict=True):
            if weight <= 1 and not cross.any():
                raise InvalidDataError(f"y has only 1 sample in class {label}, covariance is ill defined.")
        covariances = self._distribution.estimated
        work = covariances.size * len(covariances[0]) // 8
        with one_blas_thread(len(covariances[0])):
            exceed = in_threads(lambda covariance: exceeds(covariance, self.tol), covariances, work)
        for label, fits, weight in zip(labels, exceed, self.class_count_, strict=True):
            if not fits:
                raise SingularCovarianceError(self._why_singular(label, weight))

    def _why_singular(self, label: Any, weight: float) -> str:
        what = f"The covariance matrix of class {label} is not full rank. "
        if self.solver == "svd" and weight <= self.n_features_in_:
            return (
                f"{what}When using `solver='svd'` the number of samples in each class should be more than the number "
                f"of features, but class {label} has {weight:g} samples and {self.n_features_in_} features. Try using "
                "`solver='eigen'` and setting the parameter `shrinkage` for regularization."
            )
        parameter = "shrinkage" if self.solver == "eigen" else "reg_param"
        return f"{what}Increase the value of `{parameter}` to reduce the collinearity."

    @property
    def scalings_(self) -> list[Array]:
        """Eigenvalues of each class's covariance, the largest first: a list of arrays (n_features,)."""
        return list(self._as_learned(self._distribution.eigen[0]))

    @property
    def rotations_(self) -> list[Array]:
        """Eigenvectors of each class's covariance, one to a column: a list of arrays (n_features, n_features)."""
        return list(self._as_learned(self._distribution.eigen[1]))

    @property
    def covariance_(self) -> list[Array]:
        """Covariance of each class, (n_features, n_features)."""
        if not self.store_covariance:
            raise AttributeError("covariance_ is there with store_covariance=True")
        return list(self._as_learned(self._distribution.covariance))
