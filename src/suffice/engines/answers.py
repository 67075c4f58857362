"""Rows with answers appended, as an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from suffice.engines.source import Answer
from suffice.errors import InvalidDataError


def append(answer: Answer, schema: Any, batches: Iterable[Any]) -> Any:
    """A `pyarrow.RecordBatchReader` of the rows and their answers; a batch is read when it is asked for."""
    import pyarrow as pa

    ask = import_module("suffice.estimator").answer_batch  # estimators import this package
    nothing = pa.table({name: pa.nulls(1, schema.field(name).type) for name in answer.names})
    told = pa.table({name: pa.array(values) for name, values in ask(answer, nothing).items()})
    for name in told.schema.names:
        if name in schema.names:
            raise InvalidDataError(f"The table has a column {name!r} already: rename it to have the answers beside it")
    whole = pa.schema([*schema, *told.schema])

    def answered() -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                columns = ask(answer, batch)
                new = [pa.array(columns[field.name], type=field.type) for field in told.schema]
                yield pa.RecordBatch.from_arrays([*batch.columns, *new], schema=whole)

    return pa.RecordBatchReader.from_batches(whole, answered())
