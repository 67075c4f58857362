"""Streams of rows, which come once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError, SufficeError
from suffice.core.frames import Frame, as_frame
from suffice.core.frames.input import is_a, mark_read, was_read
from suffice.core.statistics import ByClass
from suffice.engines.source import HEAD, Answer, Source, answered
from suffice.engines.summarizing import Task

_END = object()


@dataclass
class _Seen:
    """What was read ahead from a stream, and whether the stream has been used since."""

    first: list[Any] = field(default_factory=list)  # as it came
    ahead: list[Any] = field(default_factory=list)  # as tables
    used: bool = False


# What a failed call has read is kept for the next one. Some iterators have no weak references: the last few are held.
_SEEN: WeakKeyDictionary[Any, _Seen] = WeakKeyDictionary()
_HELD: deque[tuple[Any, _Seen]] = deque(maxlen=16)


def _seen(stream: Any) -> _Seen:
    try:
        return _SEEN.setdefault(stream, _Seen())
    except TypeError:
        for held, seen in _HELD:
            if held is stream:
                return seen
        _HELD.append((stream, _Seen()))
        return _HELD[-1][1]


def gives_tables(stream: Iterator[Any]) -> bool:
    """Whether an iterator yields tables, rather than texts or rows. The item read to find out is kept."""
    seen = _seen(stream)
    if not (seen.first or seen.ahead or seen.used):
        seen.first.extend(islice(stream, 1))
    return not seen.first or not (seen.first[0] is None or isinstance(seen.first[0], (str, bytes, list, tuple)))


def unread(stream: Iterable[Any]) -> Iterable[Any]:
    """Return an iterator from its beginning, including an item that was read ahead."""
    if not isinstance(stream, Iterator):
        return stream
    first, _seen(stream).first = _seen(stream).first, []
    return chain(first, stream)


class Handed:
    """Rows of an object with the Arrow stream interface; the stream is opened when the first rows are needed."""

    def __init__(self, giver: Any):
        self.giver = giver

    @cached_property
    def _reader(self) -> Any:
        import pyarrow as pa

        try:
            return pa.RecordBatchReader.from_stream(self.giver)
        except Exception as error:  # a database has its own for a query that fails
            what = f"{type(self.giver).__module__}.{type(self.giver).__qualname__}"
            raise InvalidDataError(f"The {what} cannot hand its rows on: {type(error).__name__}: {error}") from error

    def __iter__(self) -> Handed:
        return self

    def __next__(self) -> Any:
        return next(self._reader)


def _alike(table: Any, schema: Any) -> list[Any]:
    """Return the batches of a table, cast to the schema of the first one."""
    try:
        return list(table.cast(schema).to_batches())
    except (ValueError, NotImplementedError) as error:  # Arrow's, for other names and for values that do not fit
        raise MismatchError(f"A batch of the stream is not like the first one: {error}") from error


class Stream(Source):
    """A `pyarrow.RecordBatchReader`, or an iterator of tables of any kind."""

    once: ClassVar[bool] = True

    def __init__(self, stream: Any):
        self.stream = stream

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if is_a(self.stream, "pyarrow.RecordBatchReader"):
            return list(self.stream.schema.names)
        return list(self._first().schema.names)

    def head(self, rows: int = HEAD) -> Any:
        """Return the first rows as an Arrow table; they stay in the stream."""
        seen = self._fresh()
        self._first()
        for table in self._pull():
            seen.ahead.append(table)
            if sum(len(each) for each in seen.ahead) >= rows:
                break
        return Frame.concat([as_frame(table) for table in seen.ahead]).table().slice(0, rows)

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Summarize all rows as they come. An empty stream is an error: it may have been read before."""
        if checkpoint is not None:
            raise InvalidOptionError("checkpoint is for rows that come from files: a stream cannot be taken up again")
        self._first()
        return task.summarize_all(self._use())

    def answer(self, answer: Answer) -> Any:
        """The rows as a `pyarrow.RecordBatchReader`, read as it is, with the answers in columns of their own."""
        schema = self._first().schema
        return answered(answer, schema, (batch for table in self._use() for batch in _alike(table, schema)))

    def _fresh(self) -> _Seen:
        seen = _seen(self.stream)
        if seen.used or was_read(self.stream):
            raise InvalidDataError("This stream has been read before, and can be read only once: make a new one")
        return seen

    def _first(self) -> Any:
        """Return the first table that has rows; it stays in the stream."""
        seen = self._fresh()
        while not seen.ahead or not len(seen.ahead[-1]):
            table = next(self._pull(), None)
            if table is None:
                if seen.ahead:
                    return seen.ahead[0]
                raise InvalidDataError("This stream gives no rows: it is empty, or somebody has read it before")
            seen.ahead.append(table)
        return next(table for table in seen.ahead if len(table))

    def _use(self) -> Iterator[Any]:
        """Return all tables, including those read ahead; from now on the stream counts as read."""
        seen = self._fresh()
        seen.used = True
        mark_read(self.stream)
        ahead, seen.ahead = seen.ahead, []
        return self._chained(ahead)

    def _chained(self, ahead: list[Any]) -> Iterator[Any]:
        rows = sum(map(len, ahead))
        while ahead:
            yield ahead.pop(0)
        yield from self._pull(rows)

    def _pull(self, before: int = 0) -> Iterator[Any]:
        """More tables from the stream itself."""
        import pyarrow as pa

        first = _seen(self.stream).first
        while True:
            try:
                batch = first.pop() if first else next(self.stream, _END)
                if batch is _END:
                    return
                table = as_frame(batch).table()
            except pa.ArrowException as error:
                raise InvalidDataError(f"The stream broke off after row {before}: {error}") from error
            except SufficeError as error:
                raise type(error)(f"In the batch of the stream after row {before}: {error}") from error
            before += len(table)
            yield table
