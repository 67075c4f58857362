"""Rows with answers appended, in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from suffice.core.errors import InvalidDataError, RefusedValueError, naming_columns
from suffice.engines.source import Answer


def new_columns(answer: Answer, names: Sequence[str] = ()) -> dict[str, Any]:
    """The Arrow types of the columns that are appended to a table of columns `names`."""
    import pyarrow as pa

    classes = _estimator()._loaded(answer.estimator).classes_
    columns = {"prediction": pa.array(classes.tolist()).type}
    if answer.title is not None:
        columns |= {f"{answer.title} {label}": pa.float64() for label in classes.tolist()}
    for name in columns:
        if name in names:
            raise InvalidDataError(f"There is a column {name!r} already, where the answers should go: rename it")
    return columns


def append(answer: bytes | Answer, table: Any) -> Any:
    """Arrow rows with the answers in columns of their own."""
    import pyarrow as pa

    asked = Answer.from_bytes(answer) if isinstance(answer, bytes) else answer
    with naming_columns(asked.names):
        told = _estimator().answer_batch(asked, table) if table.num_rows else {}
    for name, kind in new_columns(asked).items():
        table = table.append_column(pa.field(name, kind), pa.array(told[name] if told else [], kind))
    return table


def answered(answer: Answer, schema: Any, batches: Iterable[Any]) -> Any:
    """A `pyarrow.RecordBatchReader` of the rows and their answers; a batch is read when it is asked for."""
    import pyarrow as pa

    whole = pa.schema([*schema, *(pa.field(*column) for column in new_columns(answer, schema.names).items())])

    def rows() -> Iterator[Any]:
        before = 0
        for batch in batches:
            if batch.num_rows:
                try:
                    told = append(answer, batch)
                except RefusedValueError as error:
                    raise error.shifted(before) from None
                yield pa.RecordBatch.from_arrays(told.columns, schema=whole)
            before += batch.num_rows

    return pa.RecordBatchReader.from_batches(whole, rows())


def _estimator() -> Any:
    """The module of estimators, which imports this package."""
    return import_module("suffice.estimators.generative_classifier")
