"""The classifier for tables: columns of any kind, missing values, and every question a joint model can answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from suffice import engines
from suffice.core import frames
from suffice.core.arrays import Array, Values, checked_sparse, is_sparse
from suffice.core.errors import InvalidDataError, MismatchError, UncalibratedWarning
from suffice.core.frames import ColumnProfile, Frame, as_frame
from suffice.core.frames.readings import unread
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.core.statistics import ByClass
from suffice.core.statistics.cells import LIMIT
from suffice.estimators._documentation import estimator
from suffice.estimators._left_out import LeftOut
from suffice.estimators._planned_learning import learn_with_plan
from suffice.estimators._threads import answering
from suffice.estimators._waiting_rows import Stream
from suffice.estimators.generative_classifier import CalibratedClassifier
from suffice.estimators.parameter_checks import ARRAY_LIKE, BOOLEAN, Allowed, choice, interval
from suffice.estimators.scikit_learn import check_columns, clone, validate_data
from suffice.families import Family, Table
from suffice.families.choose import AutomaticBernoulli
from suffice.families.product import Product
from suffice.formulas.lookups import MOST_EXACT
from suffice.model.calibration import Calibration, ScoredRow
from suffice.model.explain import Evidence
from suffice.model.forms import Form, aligned
from suffice.model.learned import Calibrate, Learned, combined
from suffice.model.planning import planned
from suffice.model.schema import AS_ASKED, infer
from suffice.model.single_rows import SingleRows, single_row

__all__ = ["BayesClassifier"]

MOST_FOUND = 8  # columns that are found
LARGE = 1e60  # with any weight, the squares of so large numbers can be added: no row that waits is refused later
DENSE_CELLS = 1 << 26  # a sparse matrix may become a table of half a gigabyte


@estimator()
class BayesClassifier(CalibratedClassifier):
    """Naive Bayes for tables with columns of any kind:  p(x, y) = p(y) Π_block p(x_block | y).

    Parameters
    ----------
    families : 'auto' or dict, default='auto'
        What columns are: a family for a column's name, or for a tuple of names a family over all of them together;
        None leaves a column out. Columns not named get a family by their type: booleans, categories, and for numbers
        the one of four that separates the classes best by itself, by exact leave-one-out. A column without
        information does not vote.
    prior : array-like, 'uniform', Dirichlet or None, default=None
        Prior probabilities of the classes; by default those of the data.
    smoothing : float or 'auto', default=1.0
        What is added to every count of a category or bin; with 'auto' the best of a few for each column.
    missing : {'ignore', 'informative'}, default='ignore'
        With 'informative', whether an entry is missing is evidence too.
    calibrate : bool, 'classes' or 'columns', default=True
        Temper the evidence so that probabilities can be believed, fitted on exact leave-one-out scores of rows kept
        for that, as `structure` says. With 'classes' every class has a slope and bias of its own, with 'columns' every
        column an exponent; both are without pairs and experts. False is naive Bayes as it is.
    keep : int or 'auto', default='auto'
        Rows kept beside the statistics, chosen by what they hold, for structure, calibration and outliers. 'auto' is
        20000, but none of a table in a database: with a number, that many of its rows leave the database.
    limit : int, 'auto' or None, default='auto'
        The number of cells that the values of a column of numbers are counted in, for each class. Where there are no
        more distinct values, the cells are the values themselves; where there are more, cells become wider. 'auto' is
        4096; None keeps all values, which needs memory for all of them.
    structure : {'auto', 'naive', 'columns', 'pairs', 'pool'}, default='auto'
        How evidence is combined, on exact leave-one-out evidence of the kept rows. 'naive': one exponent for all
        columns. 'columns': one for each. 'pairs': what pairs of columns say beyond the two is evidence too. 'pool': so
        are a linear and a quadratic discriminant and random cosines. 'auto' is 'pool', in which what does not help gets
        no weight; small tables fall back to simpler forms.
    found_columns : bool or int, default=True
        How many ratios, differences and sums of two columns of numbers may become columns, where they tell more about
        the class than either; True is 8.

    Examples
    --------
    >>> from suffice import BayesClassifier
    >>> table = {"height": [1.9, 1.8, None, 1.6, 1.7, 1.5], "hair": list("ssslls"), "sex": list("mmmfff")}
    >>> clf = BayesClassifier(calibrate=False).fit(table, "sex")
    >>> clf.predict({"height": [1.85, None], "hair": ["s", "l"]})
    array(['m', 'f'], dtype='<U1')
    """

    _fitted: ClassVar[tuple[str, ...]] = (*CalibratedClassifier._fitted, "_schema")

    _form: ClassVar[Form] = "table"

    _parameters: ClassVar[Mapping[str, Allowed]] = {
        "families": (choice("auto"), dict),
        "prior": (choice("uniform"), ARRAY_LIKE, Dirichlet, ClassPrior, None),
        "smoothing": (choice("auto"), interval(Real, 0)),
        "missing": (choice("ignore", "informative"),),
        "calibrate": (BOOLEAN, choice("classes", "columns")),
        "keep": (interval(Integral, 0), choice("auto")),
        "limit": (interval(Integral, 1), choice("auto"), None),
        "structure": (choice("auto", "naive", "columns", "pairs", "pool"),),
        "found_columns": (BOOLEAN, interval(Integral, 0)),
    }

    families: Any = field(default="auto", kw_only=False)
    prior: Any = None
    smoothing: float | Literal["auto"] = 1.0
    missing: Literal["ignore", "informative"] = "ignore"
    calibrate: bool | Literal["classes", "columns"] = True
    keep: int | Literal["auto"] = "auto"
    limit: int | Literal["auto"] | None = "auto"
    structure: Literal["auto", "naive", "columns", "pairs", "pool"] = "auto"
    found_columns: bool | int = True

    def _family(self) -> Product:
        most = (
            self.found_columns
            if not isinstance(self.found_columns, (bool, np.bool_))
            else MOST_FOUND * self.found_columns
        )
        pairs = combined(self.calibrate, self.structure) in ("pairs", "pool")
        schema = self._schema
        found = int(most) if pairs else 0
        family = Product(blocks=schema.blocks, keep=self.keep, find=found, readings=schema.readings)
        given: Product | None = self.__dict__.get("_plan_of")
        if given is None or not pairs:
            return family
        given.check_same(family)
        return replace(family, found=given.found, plan=given.plan, given=True)

    def _family_of_learned(self) -> Product:
        learned = self._learned.family
        assert isinstance(learned, Product), "checked when it was loaded"
        return replace(self._family(), found=learned.found, plan=learned.plan, given=learned.given)

    def _calibrate(self) -> Calibrate:
        return combined(self.calibrate, self.structure)

    def _summarize(
        self, source: engines.Source, task: engines.Task, before: Learned | None, checkpoint: Path | None, partial: bool
    ) -> tuple[ByClass[Any], Family[Any]]:
        if self._calibrate() not in ("pairs", "pool"):
            return super()._summarize(source, task, before, checkpoint, partial)
        return learn_with_plan(source, task, before, checkpoint, partial)

    def _product(self) -> Product:
        """The family of what was learned."""
        return self._settled().family  # type: ignore[return-value]

    # ---- learning

    def _note_columns(self, head: Frame, source: engines.Source) -> None:
        super()._note_columns(head, source)
        origin = head if source.origin is None else source.origin
        self._choose_families(source.profiles(head), origin)

    def _note_all(self, X: Any, besides: list[str]) -> None:
        frame = self._as_frame(_dense(X))
        frame = frame.select([name for name in frame.names if name not in besides])
        self._choose_families(frames.profiles(frame), X)

    def _check_array(self, source: Any, X: Any, reset: bool) -> None:
        check_columns(self, X, reset=reset)
        if reset:
            self._choose_families(source.profiles(None), np.empty((0, source.shape[1]), source.dtype))

    def _choose_families(self, profiles: Mapping[str, ColumnProfile], origin: Any) -> None:
        """Give every column a family; `origin` is a table of the user's own type."""
        named = self.families if isinstance(self.families, dict) else None
        most = LIMIT if self.limit == "auto" else self.limit
        self._schema = infer(profiles, named, self.smoothing, self.missing, most)
        self._prototype = frames.prototype(origin)

    def _note_left_out(self, rows: Frame, left_out: LeftOut, first: bool) -> None:
        if not first:
            new = [name for name in rows.names if name not in set(self._names())]
            left_out.columns |= dict.fromkeys(new, "it was not in the table that was learned first")
            return
        left_out.advice = "`schema_` says what columns are taken to be, and `families` says otherwise. "
        left_out.columns |= {name: why for name, why in self._schema.left_out.items() if why != AS_ASKED}
        sources = {each.source: each for each in self._schema.readings}
        left_out.values |= {name: unread(rows.column(name), each) for name, each in sources.items() if rows.n}

    def _check_fit(self) -> None:
        learned = self._settled()
        if self.calibrate and self.keep and not len(self._product().kept_rows(learned.statistics.statistic).codes):
            warnings.warn(
                "No rows were kept to calibrate by, as none leave a database unasked: columns are taken as independent "
                "(structure='naive'), and probabilities are those of the model, which are often too sure. Pass "
                "keep=5000 to let that many rows leave it, or calibrate=False to have it so",
                UncalibratedWarning,
                stacklevel=4,
            )

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Undo the learning of rows, by subtraction. They must have the weights they were learned with.

        Parameters
        ----------
        X : table
            Rows that were learned, with all columns of the model: the others would keep what these lose.
        """
        if engines.is_on_device(X):
            return super().forget(X, y, sample_weight)
        names = self._product().names
        frame = self._as_frame(_dense(X))
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise MismatchError(f"Columns {absent[:10]} are not in this table: rows are forgotten as they were learned")
        return super().forget(frame, y, sample_weight)

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

    def like(self) -> Self:
        """Return an unfitted classifier that counts pairs of columns by the plan of this one.

        Classifiers that were fitted on more rows than are kept can be added if their pairs were counted by one plan:
        fit one, and the others with its `like()`, elsewhere.

        Returns
        -------
        classifier : BayesClassifier
            With the same parameters, and the same bins, categories and found columns.
        """
        made = clone(self)
        learned = self._settled()
        if self._calibrate() in ("pairs", "pool"):
            made._plan_of = planned(learned).family
        return made

    # ---- reading input

    def _check_X(self, X: Any, reset: bool = False) -> Frame:
        X = _dense(X)
        frame = self._as_frame(X, reset)
        if not reset:
            return self._read_frame(frame)
        self._choose_families(frames.profiles(frame), X)
        return frame

    def _as_frame(self, X: Any, reset: bool = False) -> Frame:
        """Read a table. Arrays without names are checked by scikit-learn's rules."""
        if engines.is_on_device(X):
            raise InvalidDataError("This is not computed on a GPU: copy the rows to the host, such as by cupy.asnumpy")
        if _is_array(X):
            rows = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            return as_frame(rows, None if reset else self._schema.columns or None)  # by their position
        frame = as_frame(X)
        if reset:
            if not len(frame.columns):
                raise InvalidDataError(f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
            if not frame.n:
                raise InvalidDataError("Found array with 0 sample(s) while a minimum of 1 is required.")
            self.n_features_in_ = len(frame.columns)
            self.feature_names_in_ = np.array(frame.names, dtype=object)
        return frame

    def _read_frame(self, frame: Frame) -> Frame:
        return aligned(frame, self._product().names, self._schema.readings)

    def _columns_read(self, family: Family[Any]) -> tuple[str, ...]:
        assert isinstance(family, Product)
        return tuple(family.names)

    # ---- one row at a time

    _waits: ClassVar[bool] = True
    _first: ClassVar[bool] = True

    def _waiting_row(self, x: Any, stream: Stream) -> Any:
        """Return a row whose values have the types of those before it; nothing of it can be refused then."""
        if type(x) is not dict or isinstance(self.families, dict):  # families that were asked for may refuse values
            return None
        kinds, row = stream.kinds, x.copy() if stream.first is not None else {}
        for name, kind in kinds.items():
            value = x.get(name)
            if value is not None and type(value) is not kind:
                if kind is not float or type(value) is not int or not -MOST_EXACT <= value <= MOST_EXACT:
                    return None
                value = float(value)
            if type(value) is float and (value > LARGE or value < -LARGE):
                return None
            row[name] = value
        for name in x.keys() - kinds.keys():
            if x[name] is not None and (stream.first is not None or name in self._names_learned):
                return None
        return row

    def _note_row(self, x: Any, stream: Stream) -> None:
        for name, value in x.items():
            kind = float if type(value) is int else type(value)
            if kind in (float, str, bool) and type(name) is str:
                stream.kinds.setdefault(name, kind)

    def _expect_many(self) -> None:
        calibration = self._calibration()
        reader = None if calibration is None else self._single_rows(calibration)
        if calibration is not None and reader is not None:
            self._quick = reader.evidence, calibration.answering(self._learned.model.log_prior)

    def _posterior_one(self, x: Any) -> Array:
        if type(x) is dict and self._quick is not None:
            evidence, posterior = self._quick
            found = evidence(x)
            if found is not None:
                return posterior(found)[0]
        self._refuse_no_row(x)
        row = {name: x.get(name) for name in self._names()}
        calibration = self._calibration()
        scored = self._scored_row(row)
        if scored is None:
            return super()._posterior_one(x)
        return self._learned.posterior(scored, calibration)[0]

    @property
    def _names_learned(self) -> frozenset[str]:
        return frozenset(self._names())

    # ---- answering

    def _scored_row(self, X: Any) -> ScoredRow | None:
        row = single_row(X)
        calibration = None if row is None else self._calibration()
        if row is None or calibration is None:
            return None
        reader = self._single_rows(calibration)
        return None if reader is None else reader.score(row)

    def _single_rows(self, calibration: Calibration) -> SingleRows | None:
        """Return what scores single rows, if there is any."""
        kept = self._settled().__dict__.setdefault("_single_rows", {})  # beside what was learned, as the model is
        if id(calibration) not in kept:
            kept[id(calibration)] = (calibration, SingleRows.of(self._predictor()))
        reader: SingleRows | None = kept[id(calibration)][1]
        return reader

    @answering
    def outliers(self, X: Any, rate: float = 0.01) -> NDArray[np.bool_]:
        """Return which rows are more unusual than all but a share of those learned.

        Parameters
        ----------
        rate : float, default=0.01
            The share of training rows that would be called outliers, by those that were kept.

        Returns
        -------
        outlier : ndarray of shape (n_samples,)
            True where log p(x) is below the `rate` quantile of the rows kept.
        """
        threshold = self._settled().outlier_threshold(rate)
        return self.score_samples(X) < threshold

    @answering
    def evidence(self, X: Any, label: Any = None, against: Any = None) -> Any:
        """Return what each column says for one class against another, in log-odds that add up.

        Returns
        -------
        evidence : table
            For each row the classes compared, the prior log-odds, what each column (and pair of columns) adds, what is
            left, and their sum, the log-odds of `predict_proba`; of the type of X.
        """
        return frames.table_like(self._evidence(X, label, against).columns(), X)

    def _evidence(self, X: Any, label: Any = None, against: Any = None) -> Evidence:
        learned = self._settled()
        rows = learned.family.read(self._check_X(X))
        calibration = self._calibration()
        log_posterior = learned.log_posterior(rows, calibration)
        titles = [block.title for block in self._product().blocks]
        split = None if calibration is None else partial(calibration.contrast, learned, rows, titles)
        return Evidence.of(learned.model, rows, log_posterior, titles, label, against, split)

    @answering
    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[Any, Values]:
        """Draw rows from the model.

        Returns
        -------
        X : table
            Rows, of the type and with the columns of the training table that are part of the model.
        y : ndarray of shape (n,)
            Their labels.
        """
        columns, labels = self._predictor().sample(n, label, random_state)
        return frames.table_like(columns, self._like()), labels

    @answering
    def impute(self, X: Any, how: Literal["mean", "mode", "sample"] = "mean", random_state: Any = None) -> Any:
        """Fill missing entries from p(missing | observed).

        Parameters
        ----------
        how : {'mean', 'mode', 'sample'}, default='mean'
            Numbers by their conditional mean, categories and booleans by the most probable one; with 'mode' numbers by
            what is usual in the most probable class; or all by a random draw.

        Returns
        -------
        X_filled : table
            The rows, of the type of X, missing entries filled in the columns that the model knows.
        """
        X = _dense(X)
        return frames.table_like(self._predictor().impute(self._as_frame(X), how, random_state), X)

    def _like(self) -> Any:
        """A table of the type that was learned from."""
        import pyarrow as pa

        origin = self.__dict__.get("_prototype")
        return pa.table({}) if origin is None else origin

    # ---- what was learned

    def _boolean_columns(self) -> dict[str, str]:
        booleans = (b for b in self._product().blocks if isinstance(b.family, AutomaticBernoulli) and not b.missing)
        return {name: "boolean" for block in booleans for name in block.names}

    @property
    def schema_(self) -> Table:
        """What each column is taken to be, and its information about the class."""
        return self._predictor().described

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown: str = super().__repr__(N_CHAR_MAX)
        learned = self.__dict__.get("_learned")
        if learned is None or "model" not in learned.__dict__:  # a model is not computed only to be shown
            return shown
        schema = self.schema_
        by_family: dict[str, list[str]] = {}
        for name, (family, votes, _, note) in zip(schema.rows, schema.values, strict=True):
            weight = f" {note.split()[1].rstrip(';')}" if family in ("pair", "expert") else ""  # its exponent
            by_family.setdefault(family if votes == "yes" else "not voting", []).append(f"{name}{weight}")
        listed = "; ".join(f"{family}: {', '.join(names)}" for family, names in by_family.items())
        return f"{shown}  # {listed}"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_prototype", None)
        if isinstance(self.families, dict):  # as pairs, because JSON, in which skops writes, has no tuples as keys
            state["families"] = list(self.families.items())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        families = state.get("families")
        super().__setstate__(state | {"families": dict(families)} if isinstance(families, list) else state)


def _dense(X: Any) -> Any:
    """Make a sparse matrix dense: a table has columns of several types."""
    if not is_sparse(X):
        return X
    X = checked_sparse(X)
    if X.shape[0] * X.shape[1] > DENSE_CELLS:
        raise InvalidDataError(
            f"A sparse matrix of {X.shape[0]} × {X.shape[1]} is too large for a table of columns: "
            "MultinomialNB and BernoulliNB of suffice.naive_bayes read it as it is"
        )
    return X.toarray()


def _is_array(X: Any) -> bool:
    """Whether X has no named columns, so that scikit-learn's own checks apply."""
    if isinstance(X, (list, tuple)):
        return not len(X) or not hasattr(X[0], "keys")
    return (
        (isinstance(X, np.ndarray) or (hasattr(X, "__array__") and not hasattr(X, "__arrow_c_stream__")))
        and not hasattr(X, "columns")
        and getattr(getattr(X, "dtype", None), "names", None) is None
    )
