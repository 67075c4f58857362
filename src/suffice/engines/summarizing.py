"""Summarizing a batch of rows: the same on every engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from suffice.core import frames
from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, MissingLabelError, RefusedValueError, naming_columns
from suffice.core.frames import Frame, as_frame
from suffice.core.labels import Labels
from suffice.core.statistics import Blocks, ByClass, Pairs, RowSample, Statistic
from suffice.core.validation import Held
from suffice.families import Family
from suffice.families.product import Block, Product
from suffice.model import storage
from suffice.model.forms import Form, form_of, in_form
from suffice.model.predictor import Predictor
from suffice.model.unlabelled import divided

BATCH = 3 << 15  # rows that are summarized together


@storage.storable
@dataclass(frozen=True)
class Task:
    """Summarize rows by their labels: `family` of the columns `names`. With no target, all rows are of the class 0.

    A task and the statistics it gives travel in the library's own storage format, so that a worker needs nothing but
    the library.
    """

    family: Family[Any]
    names: tuple[str, ...]
    target: str
    weight: str | None
    drop_unlabelled: bool = False  # leave rows without a label out; otherwise they are an error
    divided_by: Predictor | None = None  # if there is one, only rows without a label, divided by posteriors
    least: Annotated[float, Held(least=0, most=1)] = 0.0  # of a posterior

    @property
    def form(self) -> Form:
        """The form in which the family reads the columns."""
        return form_of(self.family)

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        named = [name for name in (self.target, self.weight) if name]
        return [*self.names, *named]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of columns that are summarized separately: several for a product of families, else one."""
        return self.family.blocks if isinstance(self.family, Product) else (Block(self.names, self.family),)

    @property
    def found(self) -> tuple[Block, ...]:
        """The columns that are computed from others, by the plan of a product."""
        return self.family.found if isinstance(self.family, Product) else ()

    def assembled(
        self,
        labels: Values,
        weight: Array,
        parts: Sequence[Statistic],
        kept: RowSample | None,
        pairs: Pairs | None = None,
    ) -> ByClass[Any]:
        """What `summarize` gives, of the statistics of the blocks and then of found columns.

        Of a product, also of the rows that are kept, and of the pairs of its plan.
        """
        if not isinstance(self.family, Product):
            return ByClass(labels, weight, parts[0]).rounded()
        own = len(self.blocks)
        kept = RowSample.empty(len(labels), len(self.names)) if kept is None else kept
        counted = () if pairs is None else (pairs,)
        return ByClass(labels, weight, Blocks((*parts[:own], kept, *parts[own:], *counted), len(labels))).rounded()

    def summarize(self, batch: Any, onto: ByClass[Any] | None = None) -> ByClass[Any] | None:
        """Add a batch of rows to `onto`; without rows, `onto` is returned."""
        frame = as_frame(batch)
        for name in self.columns:
            if name not in frame.columns:
                raise InvalidDataError(f"There is no column {name!r}: the columns are {frame.names[:20]}")
        if not frame.n:
            return onto
        if self.divided_by is not None:
            return self._divide(frame, self.divided_by, onto)
        rows = self.labelled_rows(frame)
        if rows is None:
            return self.summarize_frame(frame, *self.labels_in(frame), onto)
        if not len(rows):
            return onto
        some = frame[rows]
        try:
            return self.summarize_frame(some, *self.labels_in(some), onto)
        except RefusedValueError as error:
            raise error.in_row(int(rows[error.row])) from None

    def _divide(self, frame: Frame, predictor: Predictor, onto: ByClass[Any] | None) -> ByClass[Any] | None:
        """Add the rows of a table that have no label to `onto`, each divided among the classes."""
        rows = np.arange(frame.n)
        if self.target:
            rows = np.flatnonzero(frames.as_numpy(frame.column(self.target).is_null(nan_is_null=True)))
        if not len(rows):
            return onto
        some = frame[rows]
        weight = None if self.weight is None else frames.weights(some.column(self.weight), self.weight)
        try:
            read = predictor.read(some)
            return divided(predictor.learned, predictor.calibration, read, weight, self.least, onto)
        except RefusedValueError as error:
            raise error.in_row(int(rows[error.row])) from None

    def labelled_rows(self, frame: Frame) -> NDArray[np.int64] | None:
        """Return which rows have a label; None if those without one are not to be dropped, or there are none."""
        missing = frame.column(self.target).is_null(nan_is_null=True) if self.drop_unlabelled else None
        if missing is None or not (gaps := frames.as_numpy(missing)).any():
            return None
        return np.flatnonzero(~gaps)

    def labels_in(self, frame: Frame) -> tuple[Labels, Array | None]:
        """Read the labels and weights of a table."""
        weight = None if self.weight is None else frames.weights(frame.column(self.weight), self.weight)
        if not self.target:
            return Labels(np.zeros(frame.n, dtype=np.int32), np.zeros(1, dtype=np.int64)), weight
        return frames.label_codes(frame.column(self.target), self.target), weight

    def summarize_frame(
        self, frame: Frame, labels: Values | Labels, weight: Array | None, onto: ByClass[Any] | None
    ) -> ByClass[Any]:
        """Add a table, whose labels and weights were read, to `onto`."""
        with nullcontext() if self.form == "table" else naming_columns(self.names):
            return self.family.summarize(in_form(frame.select(self.names), self.form), labels, weight, onto)

    def summarize_all(self, batches: Iterable[Any], onto: ByClass[Any] | None = None) -> ByClass[Any] | None:
        """Add batches one after the other; errors count rows from the first batch."""
        before = 0
        for batch in together(batches):
            try:
                onto = self.summarize(batch, onto)
            except (RefusedValueError, MissingLabelError) as error:
                raise error.shifted(before) from None
            before += batch.num_rows
        return onto

    @property
    def families(self) -> tuple[type[Family[Any]], ...]:
        """The classes of families that are not the library's own: see `own_families`."""
        return own_families(self.family)

    def to_bytes(self) -> bytes:
        """As it travels."""
        return storage.to_bytes(self)


def own_families(family: Family[Any]) -> tuple[type[Family[Any]], ...]:
    """List the classes of a family, and of its blocks, that a user has defined.

    Files and tasks name a class and do not hold it. So what a worker runs refers to these classes: it is pickled with
    them, and they are registered on the worker when it arrives.
    """
    every = (family, *(block.family for block in family.blocks)) if isinstance(family, Product) else (family,)
    return tuple({type(each) for each in every if not type(each).__module__.startswith("suffice.")})


def together(batches: Iterable[Any]) -> Iterator[Any]:
    """Join Arrow batches to tables of `BATCH` rows or more: engines yield a few thousand rows at a time."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        if held and table.schema != held[0].schema:
            yield pa.concat_tables(held)
            held = []
        held.append(table)
        if sum(map(len, held)) >= BATCH:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def summarize_part(task: bytes, batches: Iterable[Any]) -> bytes | None:
    """Return the statistics of a worker's part, serialized; None if it has no rows."""
    found = storage.from_bytes(task).summarize_all(batches)
    return None if found is None else storage.to_bytes(found)
