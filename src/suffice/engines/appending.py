"""Rows with answers appended, in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from suffice.core.errors import InvalidDataError, RefusedValueError
from suffice.engines.source import Answer
from suffice.model.predictor import TITLES


def new_columns(answer: Answer, names: Sequence[str] = ()) -> dict[str, Any]:
    """The Arrow types of the columns that are appended to a table of columns `names`."""
    import pyarrow as pa

    labels = answer.predictor.labels.tolist()
    columns = {"prediction": pa.array(labels).type}
    if answer.question != "predict":
        columns |= {f"{TITLES[answer.question]} {label}": pa.float64() for label in labels}
    for name in columns:
        if name in names:
            raise InvalidDataError(f"There is a column {name!r} already, where the answers should go: rename it")
    return columns


def append(answer: bytes | Answer, table: Any) -> Any:
    """Arrow rows with the answers in columns of their own."""
    import pyarrow as pa

    asked = Answer.from_bytes(answer) if isinstance(answer, bytes) else answer
    answers = asked.predictor.answer(asked.question, table) if table.num_rows else {}
    for name, kind in new_columns(asked).items():
        table = table.append_column(pa.field(name, kind), pa.array(answers.get(name, []), kind))
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
                    table = append(answer, batch)
                except RefusedValueError as error:
                    raise error.shifted(before) from None
                yield pa.RecordBatch.from_arrays(table.columns, schema=whole)
            before += batch.num_rows

    return pa.RecordBatchReader.from_batches(whole, rows())
