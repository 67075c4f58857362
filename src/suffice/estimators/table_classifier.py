"""The classifier for tables: columns of any kind, gaps and all, and every question a joint model can answer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice import engines
from suffice.core import frames
from suffice.core.arrays import Array, Codes, Values, is_sparse
from suffice.core.errors import (
    InvalidDataError,
    InvalidOptionError,
    MismatchError,
    MissingColumnWarning,
    UncalibratedWarning,
)
from suffice.core.frames import Frame, as_frame
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.core.statistics import Batch, RowSample
from suffice.estimators._sklearn import Interval, StrOptions, validate_data
from suffice.estimators.calibrated_classifier import CalibratedClassifier
from suffice.families import Table
from suffice.families._choose import AutomaticBernoulli, ChosenDistribution
from suffice.families._product import Product, ProductDistribution
from suffice.model.explain import Evidence, impute
from suffice.model.schema import Schema, infer

__all__ = ["BayesClassifier"]

MOST_VALUES = 5000  # that are kept of a column for each class, of rows that may be any number
DENSE_CELLS = 1 << 26  # a sparse matrix may become a table of half a gigabyte


class BayesClassifier(CalibratedClassifier):
    """Naive Bayes for tables with columns of any kind:  p(x, y) = p(y) Π_block p(x_block | y).

    Parameters
    ----------
    families : 'auto' or dict, default='auto'
        What columns are: a family for a column's name, or for a tuple of names a family over all of them together;
        None leaves a column out. Columns not named get a family by their type: truths, categories, and for numbers
        the one of four that tells the classes apart best by itself, by exact leave-one-out. A column that tells
        nothing does not vote.
    prior : array-like, 'uniform', Dirichlet or None, default=None
        Prior probabilities of the classes; by default those of the data.
    smoothing : float or 'auto', default=1.0
        What is added to every count of a category or bin; with 'auto' the best of a few for each column.
    missing : {'ignore', 'informative'}, default='ignore'
        With 'informative', whether an entry is missing is evidence too.
    calibrate : bool or 'classes', default=True
        Temper the evidence so that probabilities can be believed, fitted on exact leave-one-out scores of rows kept
        for that. With 'classes' every class has a slope and bias of its own.
    keep : int, default=5000
        Rows kept beside the statistics, chosen by what they hold, for calibration and outliers.
    limit : int, 'auto' or None, default='auto'
        Bounds the distinct values of a column of numbers that are kept for each class; once they are merged to keep
        within it, rows can no longer be forgotten. With 'auto' all are kept of rows in memory, and of rows that are
        not, which may be any number, 5000; with None, all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    schema_ : Table
        What each column is taken to be, how much it tells, and what was left out.
    calibration_ : Calibration
        The exponent on the evidence and the part of the prior mixed in.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they have names.

    Examples
    --------
    >>> from suffice import BayesClassifier
    >>> table = {"height": [1.9, 1.8, None, 1.6, 1.7, 1.5], "hair": list("ssslls"), "sex": list("mmmfff")}
    >>> clf = BayesClassifier(calibrate=False).fit(table, "sex")
    >>> clf.predict({"height": [1.85, None], "hair": ["s", "l"]})
    array(['m', 'f'], dtype='<U1')
    """

    _fitted: ClassVar[tuple[str, ...]] = (*CalibratedClassifier._fitted, "_schema")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "families": [StrOptions({"auto"}), dict],
        "prior": [StrOptions({"uniform"}), "array-like", Dirichlet, ClassPrior, None],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "missing": [StrOptions({"ignore", "informative"})],
        "calibrate": ["boolean", StrOptions({"classes"})],
        "keep": [Interval(Integral, 0, None, closed="left")],
        "limit": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        families: Any = "auto",
        *,
        prior: Any = None,
        smoothing: float | Literal["auto"] = 1.0,
        missing: Literal["ignore", "informative"] = "ignore",
        calibrate: bool | Literal["classes"] = True,
        keep: int = 5000,
        limit: int | Literal["auto"] | None = "auto",
    ):
        self.families = families
        self.prior = prior
        self.smoothing = smoothing
        self.missing = missing
        self.calibrate = calibrate
        self.keep = keep
        self.limit = limit

    # ---- learning

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Learn from a table, forgetting whatever was learned before.

        Parameters
        ----------
        X : table
            A data frame of pandas or Polars, anything of Arrow, a DuckDB relation, a dict of columns, a NumPy array, a
            list of records; null and NaN mean missing. Files by name or pattern, streams, data frames of Spark,
            Dask and Ray, and tables of Ibis are learned where they lie.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds the labels, or the labels. Of a single label comes a
            model that always predicts it.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The name of a column of weights, or the weights.
        checkpoint : str or path, default=None
            Of files: where to keep what was learned so far, so that a fit that was broken off goes on from there.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if engines.find(X, learning=isinstance(y, str)) is None:
            X, y, sample_weight = self._split(X, y, sample_weight)
        return super().fit(X, y, sample_weight, checkpoint=checkpoint)

    def partial_fit(self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; what columns are was settled by the first.

        Parameters
        ----------
        X : table
            More rows with the same columns.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds the labels, or the labels; new classes may appear at any time.
        classes : array-like of shape (n_classes,), default=None
            Classes to have in the model even before a row of theirs has come. Not needed.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The name of a column of weights, or the weights.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        if engines.find(X, learning=isinstance(y, str)) is None:
            X, y, sample_weight = self._split(X, y, sample_weight)
        return super().partial_fit(X, y, classes, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Undo the learning of rows, by subtraction.

        Parameters
        ----------
        X : table
            Rows that were learned.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds their labels, or the labels.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The weights they were learned with.

        Returns
        -------
        self : object
            The classifier as if it had never seen the rows.
        """
        names = self._product().names
        rows, labels, weight = self._split(X, y, sample_weight)
        source = _Source(*self._read(rows, reset=False))
        absent = [name for name in names if name not in source.frame.columns]
        if absent:  # the other columns would lose rows that these keep
            raise MismatchError(f"Columns {absent[:10]} are not in this table: rows are forgotten as they were learned")
        return super().forget(source, labels, weight)

    def __add__(self, other: Any) -> Self:
        """Merge two fitted classifiers into one that has seen the rows of both."""
        mine, theirs = (list(getattr(model, "feature_names_in_", ())) for model in (self, other))
        if isinstance(other, BayesClassifier) and mine == theirs:
            self._product().check_same(other._product())
        merged = super().__add__(other)
        if merged is not NotImplemented and merged is not self:
            whole = tuple(name for name in self._schema.whole if name in other._schema.whole)
            merged._schema = replace(self._schema, left_out=other._schema.left_out | self._schema.left_out, whole=whole)
            merged._prototype = self._like()
        return merged

    __radd__ = __add__

    def _split(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Take labels and weights that are columns out of the table."""
        if not isinstance(y, str) and not isinstance(weight, str):
            return X, y, weight
        rows = as_frame(X)
        taken = {value for value in (y, weight) if isinstance(value, str)}
        if isinstance(y, str):
            if not len(rows.columns) or y not in rows.columns:
                raise InvalidDataError(f"There is no column {y!r} to learn: the columns are {rows.names}")
            column = rows.column(y)
            if len(column) and frames.column_kind(column) == "empty":
                raise InvalidDataError(f"The target column {y!r} holds no label at all")
            y = frames.labels(column, y)
        if isinstance(weight, str):
            weight = frames.weights(rows.column(weight), weight)
        kept = [name for name in rows.names if name not in taken]
        return _Source(rows.select(kept), X), y, weight

    def _family(self) -> Product:
        return Product(blocks=self._schema.blocks, keep=self.keep)

    def _product(self) -> Product:
        """The family of what was learned."""
        return self._get_learned().family  # type: ignore[return-value]

    def _check_fit(self) -> None:
        if self.calibrate and self.keep and not len(self._kept()[1]):
            warnings.warn(
                "No rows could be kept to calibrate by, as none leave a database: probabilities are those of the "
                "model, which are often too sure. Pass calibrate=False to have it so, or fit on rows, such as those of "
                "table.to_pyarrow_batches()",
                UncalibratedWarning,
                stacklevel=5,
            )

    # ---- reading input

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        if isinstance(X, Batch):
            return X
        frame, source = self._read(X, reset)
        if reset:
            self._schema = self._infer(frames.profiles(frame), None)
            self._prototype = frames.prototype(source)
            return frame
        return self._aligned(frame)

    def _infer(self, profiles: Mapping[str, frames.ColumnProfile], limit: int | None) -> Schema:
        """Give every column a family; `limit` is what 'auto' means."""
        named = self.families if isinstance(self.families, dict) else None
        return infer(profiles, named, self.smoothing, self.missing, limit if self.limit == "auto" else self.limit)

    def _read(self, X: Any, reset: bool) -> tuple[Frame, Any]:
        """A frame of the columns, and what it was made of."""
        if isinstance(X, _Source):
            frame, source = X.frame, X.source
        elif is_sparse(X):
            if X.shape[0] * X.shape[1] > DENSE_CELLS:
                raise InvalidDataError(
                    f"A sparse matrix of {X.shape[0]} × {X.shape[1]} is too large for a table of columns: "
                    "MultinomialNB and BernoulliNB of suffice.naive_bayes read it as it is"
                )
            return self._read(X.toarray(), reset)
        elif _is_array(X):
            table = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            return as_frame(table), X
        else:
            frame, source = as_frame(X), X
        if reset:
            if not len(frame.columns):
                raise InvalidDataError(f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
            if not frame.n:
                raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required.")
            self.n_features_in_ = len(frame.columns)
            self.__dict__.pop("feature_names_in_", None)
            self.feature_names_in_ = np.array(frame.names, dtype=object)
        return frame, source

    def _aligned(self, frame: Frame) -> Frame:
        """The columns that were there in training; those that are not here count as missing."""
        import pyarrow as pa

        wanted = self._schema_names()
        absent = [name for name in wanted if name not in frame.columns]
        if len(absent) == len(wanted):
            raise MismatchError(
                f"None of the columns of the training table is here: it had {wanted[:10]}, this has {frame.names[:10]}"
            )
        if absent:
            what = f"Columns {absent[:10]} are not in this table; they count as missing"
            warnings.warn(what, MissingColumnWarning, stacklevel=4)
        nothing = pa.chunked_array([pa.nulls(frame.n)])
        return Frame({name: frame.columns.get(name, nothing) for name in wanted}, frame.n)

    _form: ClassVar[engines.Form] = "table"

    def _check_columns(self, head: Frame, profiles: Mapping[str, frames.ColumnProfile]) -> None:
        self._note_columns(head)
        self._schema = self._infer(profiles, MOST_VALUES)
        self._prototype = frames.prototype(head)

    def _columns_read(self) -> tuple[str, ...]:
        return tuple(self._schema_names())

    def _schema_names(self) -> list[str]:
        learned = self.__dict__.get("_learned")
        family = learned.family if learned is not None else self._family()
        return family.names

    def _truths(self) -> dict[str, str]:
        truths = (b for b in self._product().blocks if isinstance(b.family, AutomaticBernoulli) and not b.missing)
        return {name: "boolean" for block in truths for name in block.names}

    # ---- answering

    def _distribution(self) -> ProductDistribution:
        return self._get_learned().model.distributions[0]  # type: ignore[return-value]

    def _kept(self) -> tuple[Any, Codes, Array]:
        kept: RowSample = self._get_learned().statistics.statistic.parts[-1]
        return kept.rows, kept.codes, kept.weight

    def leave_one_out(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Return log p(y | x_i) of each training row under the model of all other rows, exactly.

        The choice of families, and the calibration, stay as the whole data have them.

        Parameters
        ----------
        X : table
            Rows that were learned.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds their labels, or the labels.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The weights they were learned with.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Leave-one-out log-probabilities, classes in the order of `classes_`.
        """
        return super().leave_one_out(*self._split(X, y, sample_weight))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : table
            Rows.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds their labels, or the labels.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The name of a column of weights, or the weights.

        Returns
        -------
        score : float
            Mean accuracy.
        """
        return float(super().score(*self._split(X, y, sample_weight)))

    def outliers(self, X: Any, rate: float = 0.01) -> NDArray[np.bool_]:
        """Tell which rows are more unusual than all but a share of those learned.

        Parameters
        ----------
        X : table
            Rows.
        rate : float, default=0.01
            The share of training rows that would be called outliers, by those that were kept.

        Returns
        -------
        outlier : ndarray of shape (n_samples,)
            True where log p(x) is below the `rate` quantile of the rows kept.
        """
        if not 0 <= rate <= 1:
            raise InvalidOptionError(f"rate is a share of the rows, from 0 to 1; found {rate}")
        learned = self._get_learned()
        kept: RowSample = learned.statistics.statistic.parts[-1]
        if not len(kept.hashes):
            raise InvalidDataError("No rows were kept to compare with: fit with keep above 0")
        usual = learned.model.log_density(kept.rows)
        order = np.argsort(usual)
        reached = np.cumsum(kept.weight[order]) / kept.weight.sum()
        threshold = usual[order][min(int(np.searchsorted(reached, rate)), len(order) - 1)]
        return self.score_samples(X) < threshold

    def evidence(self, X: Any, label: Any = None, against: Any = None) -> Any:
        """Return what each column says for one class against another, in log-odds that add up.

        Parameters
        ----------
        X : table
            Rows.
        label : label, default=None
            The class to speak for: by default the second of two, else the most probable of each row.
        against : label, default=None
            The class to speak against: by default the first of two, else the next most probable.

        Returns
        -------
        evidence : table
            For each row the classes compared, the prior log-odds, each block's contribution, what calibration
            changes, and their sum, the log-odds of `predict_proba`; of the type of X.
        """
        return frames.table_like(self._evidence(X, label, against).columns(), _as_source(X))

    def _evidence(self, X: Any, label: Any = None, against: Any = None) -> Evidence:
        learned = self._get_learned()
        rows = learned.family.read(self._check_X(X))
        log_posterior = self._log_posterior(learned.model, rows)
        titles = [block.title for block in self._distribution().family.blocks]
        return Evidence.of(learned.model, rows, log_posterior, titles, label, against)

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
        X : table
            Rows, of the type and with the columns of the training table that are part of the model.
        y : ndarray of shape (n,)
            Their labels.
        """
        drawn, labels = self._get_learned().model.sample(n, label, random_state)
        names = [name for name in self._order() if name in drawn]
        return frames.table_like({name: self._typed(name, drawn[name]) for name in names}, self._like()), labels

    def _typed(self, name: str, values: Any) -> Any:
        """Numbers of a column that held whole ones, rounded to such."""
        whole = name in self._schema.whole and values.dtype.kind == "f"
        return np.round(values) if whole else values

    def impute(self, X: Any, how: Literal["mean", "mode", "sample"] = "mean", random_state: Any = None) -> Any:
        """Fill gaps from p(missing | observed).

        Parameters
        ----------
        X : table
            Rows with gaps.
        how : {'mean', 'mode', 'sample'}, default='mean'
            Numbers by their conditional mean, categories and truths by the most probable one; with 'mode' numbers by
            what is usual in the most probable class; or all by a random draw.
        random_state : int or numpy.random.Generator, default=None
            Makes the draws repeatable.

        Returns
        -------
        X_filled : table
            The rows, of the type of X, gaps filled in the columns that the model knows.
        """
        if how not in ("mean", "mode", "sample"):
            raise InvalidOptionError(f"how must be 'mean', 'mode' or 'sample', found {how!r}")
        learned = self._get_learned()
        frame, source = self._read(X, reset=False)
        rows = learned.family.read(self._aligned(frame))
        posterior = self._posterior(learned.model, rows)
        filled = impute(learned.model, rows, posterior, how, np.random.default_rng(random_state))
        if how != "mean":  # a mean of whole numbers need not be one
            filled = {name: self._typed(name, values) for name, values in filled.items()}
        columns = {name: filled.get(name, column) for name, column in frame.columns.items()}
        return frames.table_like(columns, source)

    def cross_validate(
        self, X: Any, y: Any = None, folds: int = 10, sample_weight: Any = None, random_state: Any = 0
    ) -> Array:
        """Return log p(y | x_i) of each training row under the model without its fold, by subtraction.

        Parameters
        ----------
        X : table
            Rows that were learned.
        y : str or array-like of shape (n_samples,)
            The name of the column that holds their labels, or the labels.
        folds : int, default=10
            How many parts the rows are cut into, at random.
        sample_weight : str or array-like of shape (n_samples,), default=None
            The weights they were learned with.
        random_state : int, default=0
            Decides which rows go together.

        Returns
        -------
        C : ndarray of shape (n_samples, n_classes)
            Log-probabilities, classes in the order of `classes_`; −inf for a class that only its own fold has.
        """
        rows, labels, weight = self._split(X, y, sample_weight)
        return super().cross_validate(rows, labels, folds, weight, random_state)

    # ---- what was learned

    def _order(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", self._schema_names())]

    def _like(self) -> Any:
        """A table of the kind that was learned from."""
        import pyarrow as pa

        source = self.__dict__.get("_prototype")
        return pa.table({}) if source is None else source

    @property
    def schema_(self) -> Table:
        """What each column is taken to be, and how much it tells."""
        return describe(self._distribution(), getattr(self, "_schema", None))

    def tables(self) -> list[Table]:
        """Return the class prior and the parameters of every block as tables for people; print them to read them."""
        return self._get_learned().model.tables()  # blocks know the names of their columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = super().__repr__(N_CHAR_MAX)
        learned = self.__dict__.get("_learned")
        if learned is None or "model" not in learned.__dict__:  # nothing is reckoned for the sake of showing it
            return shown
        schema = self.schema_
        by_family: dict[str, list[str]] = {}
        for name, (family, votes, _, _) in zip(schema.rows, schema.values, strict=True):
            by_family.setdefault(family if votes == "yes" else "not voting", []).append(name)
        told = "; ".join(f"{family}: {', '.join(names)}" for family, names in by_family.items())
        return f"{shown}  # {told}"

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_prototype", None)
        return state


class _Source:
    """A table without its labels and weights, and what it was made of."""

    def __init__(self, frame: Frame, source: Any):
        self.frame, self.source = frame, source
        self.shape = frame.shape

    def __len__(self) -> int:
        return self.frame.n


def _as_source(X: Any) -> Any:
    return X.source if isinstance(X, _Source) else X


def _is_array(X: Any) -> bool:
    """Tell whether X has no named columns, so that scikit-learn's own checks are for it."""
    if isinstance(X, (list, tuple)):
        return not len(X) or not hasattr(X[0], "keys")
    return (
        (isinstance(X, np.ndarray) or (hasattr(X, "__array__") and not hasattr(X, "__arrow_c_stream__")))
        and not hasattr(X, "columns")
        and getattr(getattr(X, "dtype", None), "names", None) is None
    )


def describe(found: ProductDistribution, schema: Schema | None) -> Table:
    """A row for each block: its family, whether it votes, and what it tells by itself."""
    names, cells = [], []
    for block, part in zip(found.family.blocks, found.parts, strict=True):
        names.append(block.title)
        if isinstance(part, ChosenDistribution):
            gain = max(part.score - part.chance, 0.0) / np.log(2)
            note = "" if part.votes else "it tells no more than chance would"
            cells.append([part.choice.name, "yes" if part.votes else "no", f"{gain:.4f}", note])
        else:
            note = "its parameters are integrated out" if block.family.learn == "predictive" else ""
            cells.append([type(block.family).__name__, "yes", "", note])
    for name, reason in (schema.left_out if schema is not None else {}).items():
        names.append(name)
        cells.append(["", "left out", "", reason])
    return Table("column", names, ["family", "votes", "bits", "note"], np.array(cells, dtype=object))
