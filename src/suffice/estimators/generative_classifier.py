"""The scikit-learn side of a generative model, written once for all estimators."""

from __future__ import annotations

import os
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from importlib import import_module
from io import BytesIO
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice import engines
from suffice.core.arrays import Array, Values, as_matrix, encode_labels
from suffice.core.errors import (
    DamagedFileError,
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    RefusedValueError,
    UnstorableError,
)
from suffice.core.frames import ColumnProfile, Frame, as_frame
from suffice.core.frozen_options import same_options
from suffice.core.priors import ClassPrior
from suffice.core.statistics import ByClass
from suffice.core.statistics.by_class import union_labels
from suffice.estimators._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    _check_y,
    check_classification_targets,
    check_consistent_length,
    check_is_fitted,
    clone,
    unique_labels,
    validate_data,
)
from suffice.families import Family, LinearForm, Table
from suffice.formulas import Scoring
from suffice.model import storage
from suffice.model.explain import Evidence, rank_features
from suffice.model.joint import Model, leave_one_out_parts

# Where estimators are that files may hold; those modules import this one.
ESTIMATORS = {
    **dict.fromkeys(
        [
            "BernoulliNB",
            "CategoricalNB",
            "ComplementNB",
            "GaussianNB",
            "KernelNB",
            "MixtureNB",
            "MultinomialNB",
            "PoissonNB",
        ],
        "suffice.estimators.naive_bayes",
    ),
    **dict.fromkeys(
        ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"], "suffice.estimators.discriminant_analysis"
    ),
    "BayesClassifier": "suffice.estimators.table_classifier",
    "TextClassifier": "suffice.estimators.text_classifier",
}


@storage.storable
@dataclass(frozen=True)
class _Learned:
    """All that an estimator has learned: statistics, and the options they are to be read with."""

    seen: ByClass[Any]
    family: Family[Any]
    prior: ClassPrior
    declared: Values | None  # classes named in advance, of which no row need have been seen
    dtype: np.dtype[Any]

    def __getstate__(self) -> dict[str, Any]:
        """What was learned, without what follows from it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def check_arrays(self) -> None:
        """Refuse what no estimator could have learned; for what comes from a file."""
        expected = {"seen": ByClass, "family": Family, "prior": ClassPrior, "dtype": np.dtype}
        for name, kind in expected.items():
            if not isinstance(getattr(self, name), kind):
                raise MismatchError(f"{name} should be a {kind.__name__}, found {getattr(self, name)!r}")
        if self.declared is not None and (not isinstance(self.declared, np.ndarray) or self.declared.ndim != 1):
            raise MismatchError(f"declared should be an array of classes, found {self.declared!r}")

    @cached_property
    def statistics(self) -> ByClass[Any]:
        """The statistics over all classes, those only declared being empty."""
        if self.declared is None:
            return self.seen
        return self.seen.over(union_labels(self.declared, self.seen.labels))

    @cached_property
    def model(self) -> Model:
        return Model.of(self.statistics, self.family, self.prior)


@storage.storable
@dataclass(frozen=True)
class _Saved:
    """A fitted estimator as files hold it: its class by name, its parameters, and what fitting gave it."""

    estimator: str
    parameters: dict[str, Any]
    attributes: dict[str, Any]


class GenerativeClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no type hints
    """A scikit-learn classifier made of statistics: rows are summarized, summaries added, models made of them.

    An estimator says which family and which class prior its parameters mean; everything else is here.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    _fitted: ClassVar[tuple[str, ...]] = ("_learned", "n_features_in_", "feature_names_in_")  # what fitting sets

    # ---- what an estimator has to say of itself

    @abstractmethod
    def _family(self) -> Family[Any]:
        """Build the family that the parameters describe, refusing what makes no sense."""

    @abstractmethod
    def _class_prior(self) -> ClassPrior:
        """Build the class prior that the parameters describe."""

    # ---- learning

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Learn from rows, forgetting whatever was learned before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or rows that are not in memory
            Training rows; NaN means missing. Files by name or pattern, streams, data frames of Spark, Dask and Ray,
            and tables of Ibis are learned where they lie.
        y : array-like of shape (n_samples,), or str
            Labels: numbers or strings; of rows that are not in memory, the name of the column that holds them.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights of the rows, 1 each by default. A row of weight 0 is as good as absent.
        checkpoint : str or path, default=None
            Of files: where to keep what was learned so far, so that a fit that was broken off goes on from there.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        source = engines.find(X, learning=isinstance(y, str))
        if source is not None:
            return self._fit_source(source, y, sample_weight, checkpoint)
        if checkpoint is not None:
            raise InvalidOptionError("checkpoint is for rows that come from files: these are in memory already")
        with _Unchanged(self):
            self._validate_params()
            rows, labels = self._check_X_y(X, y, reset=True)
            family = self._family()
            self._learn(self._summarize(family, rows, labels, sample_weight), family, None, self._dtype_of(rows))
            self._check_fit()
        return self

    def _check_fit(self) -> None:
        """Refuse what was learned from one call of `fit`, where it makes no model."""

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows. Any cutting of the data into pieces gives what `fit` gives on the whole.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            More training rows; NaN means missing.
        y : array-like of shape (n_samples,)
            Labels; new classes may appear at any time.
        classes : array-like of shape (n_classes,), default=None
            Classes to have in the model even before a row of theirs has come. Not needed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, 1 each by default.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        before: _Learned | None = self.__dict__.get("_learned")
        source = engines.find(X, learning=isinstance(y, str))
        if source is not None:
            return self._fit_source(source, y, sample_weight, None, before, classes)
        with _Unchanged(self):
            if before is None:
                self._validate_params()
            declared = self._declare(before, classes)
            rows, labels = self._check_X_y(X, y, reset=before is None)
            family, dtype, onto = self._family(), self._dtype_of(rows), None
            if before is not None:
                onto, dtype = before.seen, np.promote_types(before.dtype, dtype)
            self._learn(self._summarize(family, rows, labels, sample_weight, onto), family, declared, dtype)
        return self

    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Undo the learning of rows, by subtraction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learned with.

        Returns
        -------
        self : object
            The estimator as if it had never seen the rows; not fitted, if nothing else was learned.
        """
        before = self._get_learned()
        with _Unchanged(self):
            rows, labels = self._check_X_y(X, y, reset=False)
            rest = before.seen - self._summarize(before.family, rows, labels, sample_weight)
            if len(rest.labels) or before.declared is not None:
                self._learn(rest, before.family, before.declared, before.dtype)
            else:
                for name in self._fitted:
                    self.__dict__.pop(name, None)
        return self

    def drop_class(self, label: Any) -> Self:
        """Forget a class: the estimator becomes what fitting without its rows would have given."""
        before = self._get_learned()
        with _Unchanged(self):
            rest = before.statistics.drop(label)
            if not len(rest.labels):
                raise InvalidDataError(f"{label!r} is the only class: without it nothing would be left")
            declared = None if before.declared is None else before.declared[before.declared != label]
            self._learn(rest.take(np.flatnonzero(rest.weight > 0)), before.family, declared, before.dtype)
        return self

    def rename_class(self, old: Any, new: Any) -> Self:
        """Call a class something else; if the new name is a class already, the two become one."""
        learned = self._get_learned()
        if old not in self.classes_.tolist():
            raise MismatchError(f"No class {old!r}: the classes are {self.classes_.tolist()}")
        seen = learned.seen
        if old in seen.labels.tolist():
            rest = seen.take(np.flatnonzero(seen.labels != old))
            renamed = replace(seen.take(np.flatnonzero(seen.labels == old)), labels=np.array([new]))
            seen = rest + renamed if len(rest.labels) else renamed
        declared = None
        if learned.declared is not None:
            declared = np.unique(np.array([new if label == old else label for label in learned.declared.tolist()]))
        self._learn(seen, learned.family, declared, learned.dtype)
        return self

    def __add__(self, other: Any) -> Self:
        """Merge two fitted estimators into one that has seen the rows of both."""
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._get_learned(), other._get_learned()
        for name, value in self.get_params().items():
            if not same_options(value, other.get_params()[name]):
                raise MismatchError(f"Cannot merge: {name} is {value!r} here and {other.get_params()[name]!r} there")
        if self.n_features_in_ != other.n_features_in_:
            raise MismatchError(f"Cannot merge models of {self.n_features_in_} and {other.n_features_in_} columns")
        names = [getattr(e, "feature_names_in_", None) for e in (self, other)]
        if names[0] is not None and names[1] is not None and (names[0] != names[1]).any():
            at = int(np.argmax(names[0] != names[1]))
            raise MismatchError(f"Cannot merge: column {at} is {names[0][at]!r} here and {names[1][at]!r} there")
        merged = clone(self)
        merged.n_features_in_ = self.n_features_in_
        known = names[0] if names[0] is not None else names[1]
        if known is not None:
            merged.feature_names_in_ = known
        declared = [d for d in (mine.declared, theirs.declared) if d is not None]
        both = union_labels(declared[0], declared[-1]) if declared else None
        merged._learn(mine.seen + theirs.seen, mine.family, both, np.promote_types(mine.dtype, theirs.dtype))
        return merged

    __radd__ = __add__

    # ---- rows that are not in memory

    _form: ClassVar[engines.Form] = "numbers"  # what columns are handed to the family as

    def _fit_source(
        self,
        source: engines.Source,
        y: Any,
        weight: Any,
        checkpoint: str | os.PathLike[str] | None = None,
        before: _Learned | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows where they lie: what columns are, their first rows tell."""
        for name, what in ((y, "y"), (weight, "sample_weight")):
            if not isinstance(name, str) and not (name is None and what == "sample_weight"):
                raise InvalidDataError(
                    f"Of rows that are not in memory, {what} is the name of a column; found {reprlib.repr(name)}"
                )
        source.check_column(y, "to learn")
        if weight is not None:
            source.check_column(weight, "of weights")
        with _Unchanged(self):
            self._validate_params()
            declared = self._declare(before, classes)
            names = [name for name in source.names if name not in (y, weight)]
            if before is None:
                few = self._form in ("numbers", "categories")
                head = as_frame(source.head(engines.FEW if few else engines.HEAD)).select(names)
                self._check_columns(head, source.profiles(head))
                family = self._family()
            else:
                family = before.family
                for name in self._columns_read():
                    source.check_column(name, "that the model was trained on")
            task = engines.Task(family, self._columns_read(), y, weight, self._form)
            try:
                found = source.reduce(task, None if checkpoint is None else Path(checkpoint))
            except RefusedValueError as error:
                raise error.passed_to(type(self).__name__) from None
            if found is None:
                raise InvalidDataError("There are no rows to learn from")
            seen = found if before is None else before.seen + found
            self._learn(seen, family, declared, np.dtype(np.float64) if before is None else before.dtype)
            if before is None:
                self._check_fit()
        return self

    def _check_columns(self, head: Frame, profiles: Mapping[str, ColumnProfile]) -> None:  # noqa: ARG002  # all are read alike
        """Take note of the columns of a table, of which the first rows, if any, and a look at each column are here."""
        engines.in_form(head, self._form)  # refuses what cannot be read so
        self._note_columns(head)

    def _note_columns(self, head: Frame) -> None:
        if not head.names:
            raise InvalidDataError("There is no column to learn from besides the labels")
        self.n_features_in_ = len(head.names)
        self.feature_names_in_ = np.array(head.names, dtype=object)

    def _columns_read(self) -> tuple[str, ...]:
        """The columns that the family reads."""
        return tuple(str(name) for name in self.feature_names_in_)

    def _answer_source(self, source: engines.Source, question: engines.Question) -> Any:
        """Ask about rows where they lie."""
        self._get_learned()
        for name in self._columns_read():
            source.check_column(name, "that the model was trained on")
        return source.answer(engines.Answer(self._to_bytes(), question, self._columns_read()))

    def _learn(self, seen: ByClass[Any], family: Family[Any], declared: Values | None, dtype: np.dtype[Any]) -> None:
        learned = _Learned(seen, family, self._class_prior(), declared, dtype)
        classes = len(learned.statistics.labels)
        if not classes:
            raise InvalidDataError("The total weight of all rows is zero: there is nothing to learn from")
        learned.prior.check(classes)
        self._learned = learned

    def _summarize(
        self, family: Family[Any], rows: Any, labels: Values, weight: Any, onto: ByClass[Any] | None = None
    ) -> ByClass[Any]:
        try:
            return family.summarize(rows, labels, weight, onto)
        except RefusedValueError as error:  # in scikit-learn's words, which say who was given the value
            raise error.passed_to(type(self).__name__) from None

    @staticmethod
    def _declare(before: _Learned | None, classes: ArrayLike | None) -> Values | None:
        known = None if before is None else before.declared
        if classes is None:
            return known
        named: Values = unique_labels(classes)
        if known is not None and not np.array_equal(known, named):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return named

    # ---- reading input

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, Values]:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        rows = self._check_X(X, reset=reset)
        plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iubU"
        if not plain:
            y = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
            if y.dtype.kind in "fO":  # objects must sort before scikit-learn can judge them
                check_classification_targets(y if y.dtype.kind == "f" else encode_labels(y).values)
        if rows.shape[0] != len(y):
            check_consistent_length(rows, y)
        return rows, y

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Read X; what needs no care passes at once, for scikit-learn's own checks take most of a millisecond."""
        if self._is_plain(X, "f", reset):
            return as_matrix(X)
        if isinstance(X, np.ma.MaskedArray):
            X = as_matrix(X)
        return as_matrix(
            validate_data(self, X, reset=reset, accept_sparse=self._accept_sparse, ensure_all_finite=False)
        )

    def _is_plain(self, X: Any, kinds: str, reset: bool) -> bool:
        """Tell whether X is an array like the training rows, so that nothing about it needs checking."""
        return (
            not reset
            and type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype.kind in kinds
            and X.shape[1] == self.n_features_in_
            and X.shape[0] > 0
            and "feature_names_in_" not in self.__dict__
        )

    _accept_sparse: ClassVar[Any] = "csr"

    _keeps_single: ClassVar[bool] = False  # whether answers are float32 where all rows are

    def _dtype_of(self, rows: Any) -> np.dtype[Any]:
        return rows.dtype if self._keeps_single else np.dtype(np.float64)

    def _as_learned(self, values: Array) -> Array:
        return values.astype(self._get_learned().dtype, copy=False)

    # ---- what was learned

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in self.__dict__

    def _get_learned(self) -> _Learned:
        learned: _Learned | None = self.__dict__.get("_learned")
        if learned is None:
            check_is_fitted(self)
            raise AssertionError("check_is_fitted raises")
        return learned

    @property
    def classes_(self) -> Values:
        """Class labels known to the classifier, sorted."""
        return self._get_learned().statistics.labels

    @property
    def class_count_(self) -> Array:
        """Weight of the rows of each class."""
        return read_only(self._get_learned().statistics.weight)

    @property
    def n_parameters_(self) -> int:
        """How many free parameters were estimated, those of the class prior included."""
        return self._get_learned().model.n_parameters

    @property
    def model_(self) -> Model:
        """The joint distribution p(x, y) that was estimated."""
        return self._get_learned().model

    @property
    def statistics_(self) -> ByClass[Any]:
        """Everything that was learned from the data."""
        return self._get_learned().statistics

    def tables(self) -> list[Table]:
        """Return the class prior and every parameter as tables for people; print them to read them."""
        return self._get_learned().model.tables(getattr(self, "feature_names_in_", None))

    # ---- answering

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(x, y) for each row and class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Joint log-probabilities, classes in the order of `classes_`.
        """
        return self._ask(Model.log_joint, X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples,)
            Labels.
        """
        source = engines.find(X)
        return self._ask(self._most_probable, X) if source is None else self._answer_source(source, "predict")

    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x) for each row and class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Log-probabilities, classes in the order of `classes_`.
        """
        source = engines.find(X)
        return self._ask(self._log_posterior, X) if source is None else self._answer_source(source, "predict_log_proba")

    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x) for each row and class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are left out of account.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Probabilities, classes in the order of `classes_`.
        """
        source = engines.find(X)
        return self._ask(self._posterior, X) if source is None else self._answer_source(source, "predict_proba")

    # How a model's answers are given; probabilities that are calibrated are other ones.

    def _most_probable(self, model: Model, rows: Any, dtype: Any = None) -> Values:  # noqa: ARG002  # labels have their own
        return model.predict(rows)

    def _posterior(self, model: Model, rows: Any, dtype: Any = np.float64) -> Array:
        return model.posterior(rows, dtype)

    def _log_posterior(self, model: Model, rows: Any, dtype: Any = np.float64) -> Array:
        return model.log_posterior(rows, dtype)

    def _left_out(self, model: Model, evidence: Array, log_prior: Array) -> Array:
        """Log p(y | x) of rows whose log p(x | y) and log p(y) were reckoned without them."""
        return model.normalize(evidence + log_prior, np.zeros(evidence.shape[1]), as_log=True)

    def _ask(self, question: Callable[..., Any], X: Any) -> Any:
        """Ask the model about rows. Numbers are float32 where both the training rows and these are."""
        learned = self._get_learned()
        rows = self._check_X(X)
        single = learned.dtype == np.float32 and rows.dtype == np.float32
        try:
            return question(learned.model, rows, dtype=np.float32) if single else question(learned.model, rows)
        except RefusedValueError as error:
            raise error.passed_to(type(self).__name__) from None

    def leave_one_out(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Array:
        """Return log p(y | x_i) of each training row under the model of all other rows, exactly.

        No model is refitted: each row is subtracted from the statistics. What depends on which values
        exist at all (classes, categories) stays as the whole data have it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learned with.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Leave-one-out log-probabilities, classes in the order of `classes_`.
        """
        learned = self._get_learned()
        rows, labels = self._check_X_y(X, y, reset=False)
        parts = leave_one_out_parts(
            learned.statistics, learned.family, learned.prior, rows, labels, sample_weight, learned.model
        )
        return self._left_out(learned.model, *parts)

    def cross_validate(
        self, X: Any, y: Any, folds: int = 10, sample_weight: ArrayLike | None = None, random_state: Any = 0
    ) -> Array:
        """Return log p(y | x_i) of each training row under the model without its fold, by subtraction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were learned.
        y : array-like of shape (n_samples,)
            Their labels.
        folds : int, default=10
            How many parts the rows are cut into, at random.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learned with.
        random_state : int, default=0
            Decides which rows go together.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Log-probabilities, classes in the order of `classes_`; −inf for a class that only its own fold has.
        """
        if not isinstance(folds, Integral) or folds < 2:
            raise InvalidOptionError(f"folds must be a whole number of at least 2, found {folds!r}")
        learned = self._get_learned()
        rows, labels = self._check_X_y(X, y, reset=False)
        read = learned.family.read(rows)
        fold = np.random.default_rng(random_state).permutation(len(labels)) % folds
        out = np.full((len(labels), len(self.classes_)), -np.inf)
        for k in range(folds):
            own = np.flatnonzero(fold == k)
            part = None if sample_weight is None else np.asarray(sample_weight)[own]
            rest = self._with(learned.seen - learned.family.summarize(read[own], labels[own], part))
            places = np.searchsorted(self.classes_, rest.classes_)
            out[np.ix_(own, places)] = rest.predict_log_proba(read[own])
        return out

    def _with(self, seen: ByClass[Any]) -> Self:
        """The same estimator with other statistics."""
        learned = self._get_learned()
        other = clone(self)
        other.__dict__.update(self.__dict__)
        other._learn(seen, learned.family, learned.declared, learned.dtype)
        return other

    def score_samples(self, X: Any) -> Array:
        """Return log p(x) = log Σ_y p(x, y) of each row: how usual it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing entries are left out of account.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities.
        """
        return self._ask(_log_density, X)

    def impute(self, X: Any) -> Array:
        """Fill gaps by their expectation given what was observed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, NaN where an entry is missing.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features)
            The rows with each gap filled by Σ_y p(y | observed) E[x | observed, y], the exact conditional mean.
        """
        return self._ask(_impute, X)

    def evidence(self, X: Any, label: Any = None, against: Any = None) -> dict[str, Any]:
        """Return what each column says for one class against another, in log-odds that add up.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        label : label, default=None
            The class to speak for: by default the second of two, else the most probable of each row.
        against : label, default=None
            The class to speak against: by default the first of two, else the next most probable.

        Returns
        -------
        evidence : dict of str to ndarray of shape (n_samples,)
            For each row the classes compared, the prior log-odds, each column's contribution, and their sum, the
            log-odds of `predict_proba`.
        """
        learned = self._get_learned()
        rows = self._check_X(X)
        log_posterior = learned.model.log_posterior(rows)
        found = Evidence.of(learned.model, rows, log_posterior, self._names(), label, against)
        return found.columns(calibrated=False)

    def top_features(self, label: Any, n: int = 10, by: str = "log_odds") -> Table:
        """Return the columns, categories or words that tell most of a class.

        Parameters
        ----------
        label : label
            The class.
        n : int, default=10
            How many.
        by : {'log_odds', 'probability', 'information'}, default='log_odds'
            Log p(value | label) − log p(value | other classes); p(value | label); or what knowing whether the row has
            the value tells of whether it is of the class, in bits. Numbers are not values: of a `BayesClassifier`,
            columns of them are ranked by 'information' alone, the leave-one-out gain of the column.

        Returns
        -------
        table : Table
            One row for each, the most telling first.
        """
        return rank_features(self._get_learned().model, self._names(), [label], n, by)[0]

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def linear_form(self) -> LinearForm:
        """Return `coef` and `intercept` of the log-odds; an error says why where they are not linear in x.

        For two classes the log-odds of the second are coef·x + intercept, as in logistic regression; for
        more, the posterior is the softmax of coef·x + intercept.
        """
        return self._get_learned().model.linear()

    def formula(self) -> Scoring:
        """Return what `predict_proba` does as formulas over the columns; an error says which columns have none.

        They are for computing probabilities elsewhere, in a database or a web page: see `suffice.formulas`.
        """
        return self._get_learned().model.formula(self._names())

    def to_sql(self, dialect: str = "duckdb", table: str = "data", types: Mapping[str, str] | None = None) -> str:
        """Return the query that scores a table of a database; an error says which columns have no formula.

        Parameters
        ----------
        dialect : str, default='duckdb'
            Any that Ibis writes: 'duckdb', 'postgres', 'snowflake', 'bigquery', 'sqlite', …
        table : str, default='data'
            The name of the table.
        types : dict of str to str, default=None
            Types of columns as Ibis calls them, where they are others than numbers ('float64') and what the
            categories are; also columns to be handed through, such as {'id': 'int64'}.

        Returns
        -------
        query : str
            A SELECT of the columns, "prediction", and "probability <label>" for every class.
        """
        return engines.to_sql(self.formula(), dialect, table, self._truths() | dict(types or {}))

    def _truths(self) -> dict[str, str]:
        """The types of columns that are known to be truths."""
        return {}

    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[Any, Values]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, default=1
            How many.
        label : label, default=None
            Draw from p(x | label); by default the labels are drawn as well.
        random_state : int or numpy.random.Generator, default=None
            Makes the draws repeatable.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            Rows.
        y : ndarray of shape (n,)
            Their labels.
        """
        return self._get_learned().model.sample(n, label, random_state)

    # ---- keeping

    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write everything that was learned, and the parameters, to one file; `suffice.load` reads it.

        The loaded estimator gives the same answers, bit for bit, and goes on learning, merging and forgetting.
        The file holds data and no code. A file of that name is replaced in one step, or, if anything fails,
        left as it was.

        Parameters
        ----------
        path : str, path or binary file
            Where to write; the usual ending is `.suffice`.
        """
        storage.save(self._saved(), path)

    def _saved(self) -> _Saved:
        self._get_learned()
        name = type(self).__name__
        if ESTIMATORS.get(name) != type(self).__module__:
            raise UnstorableError(f"{name} is none of suffice's estimators: a file would not tell how to make it again")
        fitted = {name: self.__dict__[name] for name in self._fitted if name in self.__dict__}
        return _Saved(name, self.get_params(deep=False), fitted)

    def _to_bytes(self) -> bytes:
        """As `save` writes it."""
        return storage.to_bytes(self._saved())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = bool(self._accept_sparse)
        return tags


def _log_density(model: Model, rows: Any, dtype: Any = np.float64) -> Array:
    return np.asarray(model.log_density(rows), dtype)


def load(path: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read an estimator that `save` wrote. Files that are cut off, changed, newer or foreign are refused."""
    saved = storage.load(path)
    if not isinstance(saved, _Saved):
        kind = type(saved).__name__
        raise DamagedFileError(f"The file holds a {kind} and no estimator: suffice.storage.load reads it")
    home = ESTIMATORS.get(saved.estimator) if isinstance(saved.estimator, str) else None
    if home is None:
        raise DamagedFileError(f"The file holds a {saved.estimator!r}, which is none of the estimators known here")
    try:
        estimator = getattr(import_module(home), saved.estimator)(**saved.parameters)
        estimator._validate_params()
        learned, names = saved.attributes["_learned"], saved.attributes.get("feature_names_in_", np.empty(0))
        whole = isinstance(learned, _Learned) and type(saved.attributes["n_features_in_"]) is int
        whole = whole and isinstance(names, np.ndarray) and set(saved.attributes) <= set(estimator._fitted)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DamagedFileError(f"The file holds no {saved.estimator} of this version: {error}") from error
    if not whole:
        raise DamagedFileError(f"The file does not hold what a fitted {saved.estimator} knows")
    estimator.__dict__.update(saved.attributes)
    return estimator


def answer_batch(answer: engines.Answer, batch: Any) -> dict[str, Any]:
    """What a worker does: the answers for a batch of rows, as columns by name.

    `predict` gives "prediction"; `predict_proba` a column "probability <label>" for every class besides, and
    `predict_log_proba` "log_probability <label>".
    """
    estimator = _loaded(answer.estimator)
    rows = engines.in_form(as_frame(batch).select(answer.names), estimator._form)
    if answer.title is None:
        return {"prediction": estimator.predict(rows)}
    told = getattr(estimator, answer.question)(rows)
    columns = {f"{answer.title} {label}": told[:, k] for k, label in enumerate(estimator.classes_.tolist())}
    return {"prediction": estimator.classes_[told.argmax(axis=1)]} | columns


@lru_cache(maxsize=2)
def _loaded(estimator: bytes) -> Any:
    """The estimator that travelled: once for all batches of a worker."""
    loaded = load(BytesIO(estimator))
    if loaded._form != "table":  # its columns come by their names, but not with them
        loaded.__dict__.pop("feature_names_in_", None)
    return loaded


def _impute(model: Model, rows: Any, dtype: Any = np.float64) -> Array:
    return np.asarray(model.impute(rows), dtype)


class _Unchanged:
    """A failed operation leaves the estimator as it was."""

    def __init__(self, estimator: GenerativeClassifier):
        self.attributes, self.before = estimator.__dict__, estimator.__dict__.copy()

    def __enter__(self) -> None: ...

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        if failed is not None:
            self.attributes.clear()
            self.attributes.update(self.before)


def read_only(array: Array) -> Array:
    """A view that cannot be written to: what was learned is not to be changed from outside."""
    view = array.view()
    view.flags.writeable = False
    return view
