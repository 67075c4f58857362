"""Learning: rows are summarized, summaries added and subtracted."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice import engines
from suffice.core import frames
from suffice.core.arrays import Array, Positions, Values, as_weight
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.frames import Frame, as_frame
from suffice.core.frames.input import is_in_memory as is_frame
from suffice.core.frames.input import taken
from suffice.core.frozen_options import same_options
from suffice.core.labels import Labels, as_label, encode_labels, label_positions, read_labels
from suffice.core.statistics import ByClass
from suffice.estimators._fitted import Fitted, PathLike
from suffice.estimators._left_out import LeftOut, MissingLabels, column_name, warn_of_quantity, without_label
from suffice.estimators._threads import learning
from suffice.estimators.scikit_learn import as_labels, check_columns, clone
from suffice.families import Categorical, Family, Gaussian
from suffice.families.product import Block, Product
from suffice.model.calibration import Calibration
from suffice.model.forms import in_form
from suffice.model.learned import Calibrate, Learned
from suffice.model.predictor import Predictor
from suffice.model.unlabelled import JUDGES as MOST_JUDGES
from suffice.model.unlabelled import Divide, LabelledRows, divided, learn_unlabelled, plain_family

LOG = logging.getLogger(__name__)


class Learning(Fitted):
    """Estimators that learn from rows wherever they are, and forget them again."""

    calibrate: bool | str = False

    def _calibrate(self) -> Calibrate:
        """How probabilities are calibrated."""
        return self.calibrate  # type: ignore[return-value]  # parameters are checked

    def _predictor_of(self, learned: Learned, calibration: Calibration | None) -> Predictor:
        """What workers need to answer."""
        known = self.__dict__.get("feature_names_in_")  # some tools set it to None
        names = None if known is None else tuple(map(str, known))
        return Predictor(
            type(self).__name__, learned, calibration, self.n_features_in_, names, self.__dict__.get("_schema")
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: PathLike | None = None,
        missing_labels: MissingLabels = "error",
        unlabelled: float | Literal["learn"] | None = None,
    ) -> Self:
        """Learn from rows, forgetting whatever was learned before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), table, or rows that are not in memory
            Training rows; NaN and null mean missing. Files by name or pattern, streams, data frames of Spark, Dask and
            Ray, and tables of Ibis are learned where they are.
        y : array-like of shape (n_samples,), str or int
            Labels: numbers or strings; or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            Weights of the rows, 1 each by default, or the name of the column of X that holds them: 0, or from 1e-140 to
            1e140. A row of weight 0 counts as absent.
        checkpoint : str or path, default=None
            Of files: where to keep what was learned so far, so that an interrupted fit resumes there.
        missing_labels : {'error', 'drop'}, default='error'
            Rows without a label are an error, or are left out.
        unlabelled : 'learn' or float, default=None
            Learn from rows without a label too: each is divided among the classes by its posterior, again and again
            (EM). A number is the weight of such a row, 0 leaves them out; 'learn' chooses the weight by leave-one-out
            on rows with labels, and leaves the others out if that is best. Takes a pass over the rows for each step.
        """
        with learning(self) as draft:
            options: dict[str, Any] = {"checkpoint": checkpoint, "missing_labels": missing_labels}
            draft._learn_rows(X, y, sample_weight, unlabelled=unlabelled, **options)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: Any = None,
        *,
        missing_labels: MissingLabels = "error",
    ) -> Self:
        """Learn from more rows. The rows may be cut into pieces in any way: the result is that of `fit` on the whole.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), table, or rows that are not in memory
            More training rows, with the same columns.
        y : array-like of shape (n_samples,), or str
            Labels, or the name of the column of X that holds them; new classes may appear at any time.
        classes : array-like of shape (n_classes,), default=None
            Classes to have in the model even before a row of theirs has come. Not needed.
        missing_labels : {'error', 'drop'}, default='error'
            Rows without a label are an error, or are left out.
        """
        with learning(self) as draft:
            draft._settle()
            before = draft.__dict__.get("_learned")
            draft._learn_rows(X, y, sample_weight, before, classes, partial=True, missing_labels=missing_labels)
        return self

    def _learn_rows(
        self,
        X: Any,
        y: Any,
        weight: Any,
        before: Learned | None = None,
        classes: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
        partial: bool = False,
        missing_labels: MissingLabels = "error",
        unlabelled: float | Literal["learn"] | None = None,
    ) -> None:
        """Add the statistics of rows to those from before, if there are any."""
        if before is None:
            self._check_parameters()
        if unlabelled is not None:
            missing_labels = _checked_unlabelled(unlabelled, missing_labels, checkpoint)
        if missing_labels not in ("error", "drop"):
            raise InvalidOptionError(f"missing_labels must be 'error' or 'drop', found {missing_labels!r}")
        declared = self._declared(before, classes)
        y, weight = column_name(y), column_name(weight)
        left_out, drop = LeftOut(), missing_labels == "drop"
        given = X, y, weight
        if drop and engines.is_in_memory(X):
            X, y, weight = left_out.unlabelled(X, y, weight)
        every = given[0] if unlabelled and X is not given[0] else None
        source = self._open(X, y, weight, first=before is None, left_out=left_out, every=every)
        family = self._family()
        target, weights = y if isinstance(y, str) else "", weight if isinstance(weight, str) else None
        task = engines.Task(family, self._columns_read(family) if source.has_names else (), target, weights, drop)
        if unlabelled:
            source.check_divides()
        place = None if checkpoint is None else Path(checkpoint)
        begun = time.perf_counter()
        seen, family = self._run(self._summarize, source, task, before, place, partial)
        if LOG.isEnabledFor(logging.INFO):  # asked first: a row is learned in a few microseconds
            name = type(self).__name__
            LOG.debug("%s learned rows in %.3f s", name, time.perf_counter() - begun)
            LOG.info("%s knows rows of weight %g, of %d classes", name, seen.weight.sum(), len(seen.labels))
        dtype = source.dtype if self._keeps_single else np.dtype(np.float64)
        dtype = dtype if before is None or dtype is before.dtype else np.promote_types(before.dtype, dtype)
        kept = None if before is None else before.unlabelled
        self._learned = Learned(seen, family, self._class_prior(), declared, dtype, kept).checked()
        if unlabelled:
            self._run(self._learn_unlabelled, given, source, task, unlabelled, left_out)
        if not partial:
            self._check_fit()
            warn_of_quantity(seen)
        left_out.warn()

    def _learn_unlabelled(
        self,
        given: tuple[Any, Any, Any],
        source: engines.Source,
        task: engines.Task,
        weight: float | Literal["learn"],
        left_out: LeftOut,
    ) -> None:
        """Learn also from rows without labels, in memory or not."""
        X, y, sample_weight = given
        divide: Divide
        judges: LabelledRows | None = None
        if engines.is_in_memory(X):
            missing = np.flatnonzero(without_label(X, y))
            if not len(missing):
                return
            rows, w = self._read_unlabelled(taken(X, missing), sample_weight, missing)

            def divide(learned: Learned, calibration: Calibration | None, least: float) -> ByClass[Any] | None:
                return divided(learned, calibration, rows, w, least)

            judges = self._labelled_judges(source)
        else:
            if weight == "learn":
                judges = self._judges_elsewhere(source, task)

            def divide(learned: Learned, calibration: Calibration | None, least: float) -> ByClass[Any] | None:
                family, predictor = plain_family(learned.family), self._predictor_of(learned, calibration)
                return source.reduce(replace(task, family=family, divided_by=predictor, least=least))

        share = None if weight == "learn" else float(weight)
        self._learned = learn_unlabelled(self._learned, divide, share, self._calibrate(), judges)
        found = self._learned.unlabelled
        left_out.rows = 0
        if found is not None and found.divided is None:
            left_out.rows, left_out.reason = (
                round(found.rows),
                "labelled rows that are left out are predicted better without them",
            )

    def _read_unlabelled(self, X: Any, weight: Any, at: Positions) -> tuple[Any, Array | None]:
        """Read rows without labels, and their weights; those of an array are at some positions."""
        w = None
        if isinstance(weight, str):
            w = frames.weights(as_frame(X).column(weight), weight)
        elif weight is not None:
            w = as_weight(np.asarray(weight)[at], len(at))
        named = engines.find(X) is None and "feature_names_in_" in self.__dict__ and is_frame(X)
        return (self._read_frame(as_frame(X)) if named else self._check_X(X)), w

    def _labelled_judges(self, source: engines.Source) -> LabelledRows:
        """Return labelled rows in memory that the weight of others is chosen by."""
        assert isinstance(source, engines.Memory), "rows are in memory"
        learned = self._learned
        rows = self._read_frame(source.rows) if source.has_names else source.rows
        labels = source.labels if isinstance(source.labels, Labels) else encode_labels(source.labels)
        some = np.random.default_rng(0).permutation(len(labels))[:MOST_JUDGES]
        w = as_weight(source.weight, len(labels))
        codes = learned.codes_of(labels.values)[labels.codes[some]]
        return LabelledRows(learned.family.read(rows)[some], codes, np.ones(len(some)) if w is None else w[some])

    def _judges_elsewhere(self, source: engines.Source, task: engines.Task) -> LabelledRows | None:
        """Return labelled rows of a source that the weight of others is chosen by: what tables keep, else by a pass."""
        learned = self._learned
        if self._form == "table":
            kept = learned.family.kept_rows(learned.statistics.statistic)
            return None if kept is None else LabelledRows(*kept[:3])
        simple: dict[str, Family[Any]] = {"numbers": Gaussian(), "categories": Categorical()}
        each = simple.get(self._form, learned.family)
        keeping = Product(blocks=tuple(Block((name,), plain_family(each)) for name in task.names), keep=MOST_JUDGES)
        seen = source.learn(replace(task, family=keeping))
        kept = keeping.kept_rows(seen.statistic)
        return LabelledRows(in_form(kept.rows.select(task.names), self._form), kept.codes, kept.weight)

    def _summarize(
        self, source: engines.Source, task: engines.Task, before: Learned | None, checkpoint: Path | None, partial: bool
    ) -> tuple[ByClass[Any], Family[Any]]:
        """Add the statistics of rows to those from before; return them, and the family that they are of."""
        del partial  # `fit` and `partial_fit` learn alike
        return source.learn(task, None if before is None else before.seen, checkpoint), task.family

    def _open(self, X: Any, y: Any, weight: Any, first: bool, left_out: LeftOut, every: Any = None) -> engines.Source:
        """Find the engine of the rows. The first rows show what the columns are; later ones must have the same.

        Rows without labels show it too where they are learned: `every` then has all rows.
        """
        source = engines.find(X, named=isinstance(y, str) or isinstance(weight, str))
        besides = [name for name in (y, weight) if isinstance(name, str)]
        if source is None:
            rows, labels = self._check_X_y(X, y, reset=first)
            if every is not None:
                self._note_all(every, besides)
            self._note_left_out(rows, left_out, first)
            return engines.Memory(rows, labels, weight)
        if not source.has_names:
            return self._array_rows(source, X, y, weight, reset=first)
        if isinstance(source, engines.Memory) and not isinstance(y, str):
            y = as_labels(y, self)
        source = source.labelled(y, weight)
        if first or (self._form == "texts" and "feature_names_in_" not in self.__dict__):  # texts need no column
            few = self._form in ("numbers", "categories")
            head = as_frame(source.head(engines.FEW if few else engines.HEAD))
            columns = head.select([name for name in source.names if name not in besides])
            self._note_columns(columns, source)
            if every is not None:
                self._note_all(every, besides)
            self._note_left_out(columns, left_out, first)
        elif self._form == "table" and isinstance(source, engines.Memory):
            self._note_left_out(source.rows, left_out, first)
            source = replace(source, rows=self._read_frame(source.rows))  # columns that are not there count as missing
        else:
            for name in self._columns_read(self._settled().family):
                source.check_column(name, "that the model was trained on")
        return source

    def _array_rows(self, source: Any, X: Any, y: Any, weight: Any, reset: bool) -> Any:
        """Return the rows of an array that is not on the host, with their labels and weights."""
        self._check_array(source, X, reset)
        source = source.labelled(y if engines.is_on_device(y) or isinstance(y, str) else as_labels(y, self), weight)
        as_labels(source.labels.values, self)  # refuses what no class can be called
        return source

    def _check_array(self, source: Any, X: Any, reset: bool) -> None:  # noqa: ARG002  # tables read its columns
        """Compare the columns of an array that is not on the host with those of the training rows, or note them."""
        if self._form not in ("numbers", "categories"):
            raise InvalidDataError(
                f"{type(self).__name__} learns from texts, which lie on the host: copy them there, such as by "
                "cupy.asnumpy"
            )
        check_columns(self, X, reset=reset)

    def _on_device(self, X: Any, y: Any, weight: Any) -> Any:
        """Return the rows of an array on a GPU that were learned; None for anything else."""
        source = engines.gpu.find(X)
        return None if source is None else self._array_rows(source, X, y, weight, reset=False)

    def _declared(self, before: Learned | None, classes: ArrayLike | None) -> Values | None:
        """Return the classes named in advance, by this call or an earlier one."""
        known = None if before is None else before.declared
        if classes is None:
            return known
        named = encode_labels(as_labels(classes, self)).values
        if known is not None and (len(known) != len(named) or label_positions(named, known) is None):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return named

    def _note_columns(self, head: Frame, source: engines.Source) -> None:  # noqa: ARG002  # for tables of any kind
        """Note the columns of a source; `head` has its first rows, if any."""
        if not head.names:
            raise InvalidDataError("There is no column to learn from besides the labels")
        if self._form != "table":
            in_form(head, self._form)  # refuses columns that cannot be read
        self.n_features_in_ = len(head.names)
        self.feature_names_in_ = np.array(head.names, dtype=object)

    def _note_all(self, X: Any, besides: list[str]) -> None:
        """Note what all rows in memory show of the columns, those without labels too; most estimators need no more."""

    def _note_left_out(self, rows: Any, left_out: LeftOut, first: bool) -> None:
        """Note the columns, and values, of the first rows that are not learned from. Most estimators learn from all."""

    def _check_fit(self) -> None:
        """Refuse what one call of `fit` has learned, where it makes no model."""

    def _read_learned(self, X: Any, y: Any, weight: Any) -> tuple[Any, Values, Any]:
        """Read rows that were learned, their labels and their weights, any of which may be columns of X."""
        y, weight = column_name(y), column_name(weight)
        if not isinstance(y, str) and not isinstance(weight, str):
            return *self._check_X_y(X, y, reset=False), weight
        found = engines.Memory(as_frame(X)).labelled(y, weight)
        labels = as_labels(read_labels(found.labels), self)
        return self._read_frame(found.rows), labels, found.weight

    def _read_frame(self, frame: Frame) -> Any:
        """Read the columns of a table by name."""
        return in_form(frame.select(self._columns_read(self._settled().family)), self._form)

    @property
    def unlabelled_(self) -> dict[str, float]:
        """What became of rows without labels: their weight in the model, how often they were divided, and more.

        `rows` is how many there were, and `ignored` and `reached` are the log-loss on labelled rows left out, without
        and with them.
        """
        found = self._settled().unlabelled
        if found is None:
            raise AttributeError(f"This {type(self).__name__} has not learned from rows without labels")
        each = {"weight": found.weight, "rows": found.rows, "passes": found.passes}
        return each | {"ignored": found.ignored, "reached": found.reached}

    # ---- adding and subtracting

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Undo the learning of rows, by subtraction. They must have the weights they were learned with.

        Returns
        -------
        self : object
            The estimator as if it had never seen the rows; not fitted, if nothing else was learned.
        """
        with learning(self) as draft:
            before = draft._settled()
            source = draft._on_device(X, y, sample_weight)
            if source is None:
                found = draft._run(before.family.summarize, *draft._read_learned(X, y, sample_weight))
            else:
                found = draft._run(source.reduce, engines.Task(before.family, (), "", None))
            rest = before.seen - found
            if len(rest.labels) or before.declared is not None:
                draft._become(replace(before, seen=rest))
            else:
                for name in draft._fitted:
                    draft.__dict__.pop(name, None)
        return self

    def drop_class(self, label: Any) -> Self:
        """Forget a class: the estimator becomes what fitting without its rows would have given."""
        with learning(self) as draft:
            draft._become(draft._settled().without_class(label))
        return self

    def rename_class(self, old: Any, new: Any) -> Self:
        """Call a class something else; if the new name is a class already, the two become one."""
        if (name := as_label(new)).dtype.kind == "O":
            as_labels(name, self)  # refuses what `fit` would refuse
        with learning(self) as draft:
            draft._become(draft._settled().renamed_class(old, new))
        return self

    def _become(self, learned: Learned) -> None:
        """Hold other statistics, with the class prior of the present parameters."""
        self._learned = replace(learned, prior=self._class_prior()).checked()

    def __add__(self, other: Any) -> Self:
        """Merge two fitted estimators into one that has seen the rows of both."""
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._now(), other._now()
        learned = mine._settled(), theirs._settled()
        for name, value in mine.get_params().items():
            if not same_options(value, theirs.get_params()[name]):
                raise MismatchError(f"Cannot merge: {name} is {value!r} here and {theirs.get_params()[name]!r} there")
        if mine.n_features_in_ != theirs.n_features_in_:
            raise MismatchError(f"Cannot merge models of {mine.n_features_in_} and {theirs.n_features_in_} columns")
        names = [getattr(e, "feature_names_in_", None) for e in (mine, theirs)]
        if names[0] is not None and names[1] is not None and (names[0] != names[1]).any():
            at = int(np.argmax(names[0] != names[1]))
            raise MismatchError(f"Cannot merge: column {at} is {names[0][at]!r} here and {names[1][at]!r} there")
        merged = clone(mine)
        merged.n_features_in_ = mine.n_features_in_
        known = names[0] if names[0] is not None else names[1]
        if known is not None:
            merged.feature_names_in_ = known
        merged._become(learned[0] + learned[1])
        return merged

    __radd__ = __add__


def _checked_unlabelled(unlabelled: Any, missing_labels: MissingLabels, checkpoint: PathLike | None) -> MissingLabels:
    """Refuse what is no weight of rows without labels; return what becomes of these rows in the first pass."""
    number = isinstance(unlabelled, Real) and not isinstance(unlabelled, (bool, np.bool_))
    if not (unlabelled == "learn" or (number and 0 <= float(unlabelled) <= 1e9)):
        raise InvalidOptionError(
            f"unlabelled must be 'learn', or the weight of a row without a label of at least 0; found {unlabelled!r}"
        )
    if missing_labels not in ("error", "drop"):
        raise InvalidOptionError(f"missing_labels must be 'error' or 'drop', found {missing_labels!r}")
    if checkpoint is not None and unlabelled:
        raise InvalidOptionError("checkpoint is for one pass, and rows without labels take several: leave it out")
    if missing_labels == "drop" and unlabelled:
        raise InvalidOptionError("missing_labels='drop' leaves out the rows that unlabelled= learns from: give one")
    return "drop"
