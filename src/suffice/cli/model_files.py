"""Models in files: which columns of a table they read, and which column holds the labels."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from suffice.cli.data_files import nearest, written
from suffice.core import frames
from suffice.core.arrays import Array, Values
from suffice.core.errors import DamagedFileError, InvalidDataError, InvalidOptionError, StorageError
from suffice.core.frames import Frame, as_arrow, as_frame
from suffice.core.labels import label_list
from suffice.engines.files import Files
from suffice.families import FillMethod
from suffice.model import storage
from suffice.model.evaluate import Evaluation
from suffice.model.forms import Form, in_form
from suffice.model.learned import Learned
from suffice.model.predictor import Predictor, Saved
from suffice.views.fitted import spelled_as


class Loaded:
    """A model that predicts: the columns that it reads, its classes, and the parameters of its estimator."""

    def __init__(self, saved: Saved):
        self.saved, self.kind, self.n_columns = saved, saved.estimator, saved.predictor.n_columns
        self.names = None if saved.predictor.names is None else list(saved.predictor.names)  # of the training columns

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a model file; the error names a file that is none."""
        if not Path(path).exists():
            near = nearest(Path(path).name, [each.name for each in Path(path).parent.glob("*")])
            raise InvalidDataError(f"There is no model file {path!r}. {near}`suffice fit` makes one")
        try:
            saved = storage.load(path)
            if not isinstance(saved, Saved):
                raise DamagedFileError(f"The file holds a {type(saved).__name__}, not a model")
            return cls._of(saved)
        except StorageError as error:
            raise type(error)(f"{path} is not a readable model: {error}") from error

    @classmethod
    def _of(cls, saved: Saved) -> Self:
        return cls(saved)

    @property
    def predictor(self) -> Predictor:
        """What predicts rows."""
        return self.saved.predictor

    @property
    def learned(self) -> Learned:
        """What was learned."""
        return self.predictor.learned

    @property
    def form(self) -> Form:
        """The form in which columns are read."""
        return self.learned.form

    @property
    def is_table(self) -> bool:
        """Whether columns are read by families of their own."""
        return self.form == "table"

    @property
    def classes(self) -> list[Any]:
        """The labels of the classes."""
        return label_list(self.learned.labels)

    def label(self, given: str | None, option: str = "--label") -> Any:
        """Return the class that an option names."""
        if given is None:
            return None
        known = {f"{each:g}": each for each in self.classes if isinstance(each, float)}
        known |= {str(each).lower(): each for each in self.classes if isinstance(each, bool)}  # as files write them
        known |= {str(each): each for each in self.classes}
        if given not in known:
            shown = ", ".join(list(known)[:20])
            raise InvalidOptionError(f"{option}: no class {given!r}. {nearest(given, known)}The classes are {shown}")
        return known[given]

    # ---- reading tables

    def columns(self, names: list[str], besides: tuple[str | None, ...] = ()) -> list[str]:
        """Return the columns of a table that are read."""
        free = [name for name in names if name not in besides]
        if self.is_table:
            return free
        if self.names is not None:
            absent = [name for name in self.names if name not in names]
            if absent:
                what = f"There is no column {absent[0]!r}, which the model reads"
                raise InvalidDataError(f"{what}. {nearest(absent[0], free)}Found {free[:20]}")
            return self.names
        if len(free) != self.n_columns:
            raise InvalidDataError(
                f"The model was trained on {self.n_columns} columns without names; "
                f"found {len(free)}: {free[:20]}. Pass a file with these columns only"
            )
        return free

    def besides(self, source: Files) -> tuple[str, ...]:
        """Return columns of labels that a model without names of columns would take for its own."""
        if self.is_table or self.names is not None or len(source.names) <= self.n_columns:
            return ()
        holding = self._holding_labels(source, source.names)
        return tuple(holding) if len(source.names) - len(holding) == self.n_columns else ()

    # ---- labels

    def target(self, source: Files, given: str | None) -> str:
        """Return the column of the labels: the given one, or the only one that can be it."""
        if given is not None:
            source.check_column(given, "of labels")
            if given in (self.names or ()):
                raise InvalidOptionError(f"--target: {given!r} is a column that the model reads: name another")
            return given
        others = [name for name in source.names if name not in (self.names or ())]
        fitting = self._holding_labels(source, others)
        found = fitting if len(fitting) == 1 else others
        if len(found) != 1:
            shown = f"It may be one of {found[:10]}" if found else "None of the columns does"
            raise InvalidDataError(f"Which column holds the labels? {shown}: name it with --target")
        return found[0]

    def _holding_labels(self, source: Files, names: list[str]) -> list[str]:
        """Return the columns whose first values are all classes."""
        head, classes = as_frame(source.head()), {str(each) for each in self.classes}
        return [name for name in names if _holds(head, name, classes)]

    def labels(self, table: Any, target: str) -> Values:
        """Return the labels of rows, with the type of the classes."""
        return spelled_as(self.learned.labels, frames.labels(as_frame(table).column(target), target))

    def batches(
        self, source: Files, target: str | None, weight: str | None, drop: bool = False
    ) -> Iterator[tuple[Any, Any, Any]]:
        """Yield rows, labels and weights, batch by batch; with `drop`, without the rows that have no label."""
        if weight is not None:
            source.check_column(weight, "of weights")
        for batch in source.batches():
            if drop and target is not None:
                batch = batch.filter(batch.column(target).is_valid())
            if not batch.num_rows:
                continue
            labels = None if target is None else self.labels(batch, target)
            yield self.rows(batch, (target, weight)), labels, weights(batch, weight)

    def rows(self, table: Any, besides: tuple[str | None, ...] = ()) -> Any:
        """Return the columns of an Arrow table that are read, with the names that the predictor uses."""
        frame = as_frame(table)
        chosen = frame.select(self.columns(frame.names, besides))
        return chosen if self.is_table else as_frame(chosen, self.predictor.columns)

    def predict_proba(self, rows: Any) -> Array:
        """Return p(y | x), (rows, classes)."""
        return self.predictor.predict_proba(rows)

    # ---- answers

    def answers_schema(self, schema: Any, kept: list[str]) -> Any:
        """Return the Arrow schema of predictions, after the columns that are kept."""
        answers = {"prediction": as_arrow(self.learned.labels).type}
        answers |= {f"probability {label}": pa.float64() for label in self.classes} | {"log_density": pa.float64()}
        for name in kept:
            if name in answers:
                raise InvalidDataError(f"There is a column {name!r} already, where predictions should go: rename it")
        return pa.schema([*(schema.field(name) for name in kept), *answers.items()])

    def answers(self, batch: Any, kept: list[str], besides: tuple[str, ...]) -> Any:
        """Return the predictions for an Arrow batch, after the columns that are kept."""
        rows = self.rows(batch, besides)
        answers = self.predictor.answer("predict_proba", rows) | {"log_density": self.predictor.log_density(rows)}
        columns = {name: batch.column(name) for name in kept}
        return pa.table(columns | {name: as_arrow(values) for name, values in answers.items()})

    def filled(self, batch: Any, besides: tuple[str, ...], how: FillMethod, rng: np.random.Generator) -> Any:
        """Return an Arrow batch with its missing values filled in."""
        table = pa.Table.from_batches([batch])
        filled = self.predictor.impute(self.rows(batch, besides), how, rng)
        if self.is_table:
            return frames.table_like(filled, table)
        for name, values in zip(self.columns(table.column_names, besides), filled.values(), strict=True):
            table = table.set_column(table.column_names.index(name), name, as_arrow(values))
        return table

    def evaluate(self, source: Files, target: str, weight: str | None) -> Evaluation:
        """Compare the predictions with the labels of rows, batch by batch."""
        batches = self.batches(source, target, weight)
        total = sum(Evaluation.of(y, self.learned.labels, self.predict_proba(x), w) for x, y, w in batches)
        if isinstance(total, int):
            raise InvalidDataError("There are no rows to evaluate on")
        return total


class Fitted(Loaded):
    """An estimator that can learn more.

    Estimators of matrices get matrices without names, so columns are found by name here.
    """

    def __init__(self, estimator: Any):
        self.estimator, self.kind, self.n_columns = estimator, type(estimator).__name__, estimator.n_features_in_
        known = estimator.__dict__.get("feature_names_in_")
        self.names = None if known is None else [str(name) for name in known]
        if not self.is_table:
            estimator.__dict__.pop("feature_names_in_", None)

    @classmethod
    def _of(cls, saved: Saved) -> Self:
        from suffice.estimators.saving import restored

        return cls(restored(saved))

    def save(self, path: str) -> None:
        """Write the model to a file, completely or not at all."""
        with written(path) as file:
            self.named.save(file)

    @property
    def named(self) -> Any:
        """The estimator with the names of its columns, to describe and save it."""
        if self.is_table or self.names is None:
            return self.estimator
        whole = copy(self.estimator)
        whole.feature_names_in_ = np.array(self.names, dtype=object)
        return whole

    @property
    def learned(self) -> Learned:
        """What was learned."""
        return self.estimator._settled()

    @property
    def predictor(self) -> Predictor:
        """What predicts rows."""
        return self.named._predictor()

    def rows(self, table: Any, besides: tuple[str | None, ...] = ()) -> Any:
        """Return the rows of an Arrow table as the estimator reads them."""
        frame = as_frame(table)
        chosen = frame.select(self.columns(frame.names, besides))
        return chosen.table() if self.is_table else in_form(chosen, self.form)

    def predict_proba(self, rows: Any) -> Array:
        """Return p(y | x), (rows, classes)."""
        return self.estimator.predict_proba(rows)


def _holds(frame: Frame, name: str, classes: set[str]) -> bool:
    """Return whether a column holds only classes."""
    column = frame.column(name).drop_null().unique()
    if len(column) > len(classes):  # an array of long texts would need much memory
        return False
    try:
        values = set(map(str, frames.labels(column, name).tolist()))
    except InvalidDataError:
        return False
    return bool(values) and values <= classes


def weights(table: Any, name: str | None) -> Array | None:
    """Return a column of weights."""
    return None if name is None else frames.weights(as_frame(table).column(name), name)
