"""Files of rows, read one after the other while the rows that came before are summarized."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.frames.frame import is_text, value_type
from suffice.core.statistics import ByClass
from suffice.engines.checkpoints import Checkpoint
from suffice.engines.file_formats import (
    TEXT_FORMATS,
    ArrowRows,
    ParquetRows,
    TextRows,
    format_of,
    fragment_of,
    is_path,
    matching,
    sound,
)
from suffice.engines.progress import Progress
from suffice.engines.reading_errors import located
from suffice.engines.source import HEAD, Answer, Source, answered
from suffice.engines.summarizing import BATCH, Task

__all__ = ["Files", "is_path"]

AHEAD = 4  # batches that are read while one is summarized


@dataclass(frozen=True)
class Part:
    """A file, or what else a dataset is made of."""

    title: str
    fragment: Any
    size: int | None = None  # bytes; None of what is no file
    changed: int = 0  # nanoseconds

    @property
    def rows(self) -> int | None:
        """The number of rows, where the file states it."""
        return self.fragment.count if isinstance(self.fragment, ParquetRows) else None

    @property
    def is_text(self) -> bool:
        """Whether it is a text format, whose column types are inferred from the first rows."""
        return format_of(self.title) in TEXT_FORMATS


class Files(Source):
    """Files by name, by pattern or in a folder, or a dataset of Arrow; they are opened when first needed."""

    def __init__(self, asked: Any, without: Sequence[str] = ()):
        self.asked, self.without = asked, without  # `without` are columns to ignore

    @cached_property
    def _opened(self) -> tuple[list[Part], Any]:
        """The parts, and the schema they share."""
        parts, schema = self._open()
        for name in self.without:
            schema = schema.remove(schema.get_field_index(name))
        return parts, schema

    def _open(self) -> tuple[list[Part], Any]:
        if isinstance(self.asked, Sequence):
            return self._open_files(matching(self.asked))
        try:
            fragments = list(self.asked.get_fragments())
        except ValueError:  # a dataset with a filter is one part
            return [Part("the dataset", self.asked)], self.asked.schema
        return [_part_of(fragment) for fragment in fragments], self.asked.schema

    @staticmethod
    def _open_files(paths: list[Path]) -> tuple[list[Part], Any]:
        parts: list[Part] = []
        schemas = []
        for path in paths:
            with located(str(path)):
                found = fragment_of(path, keep=not parts)
                about = path.stat()
            if found is None:  # a file of no bytes has no rows
                continue
            parts.append(Part(str(path), found, about.st_size, about.st_mtime_ns))
            schemas.append(found.physical_schema)
        if not parts:
            raise InvalidDataError(f"All files are empty: {', '.join(str(path) for path in paths[:5])}")
        return parts, common(schemas, [part.title for part in parts])

    @property
    def parts(self) -> list[Part]:
        """What is read, in this order."""
        return self._opened[0]

    @property
    def schema(self) -> Any:
        """The Arrow schema that holds the rows of all parts."""
        return self._opened[1]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def head(self, rows: int = HEAD) -> Any:
        """The first rows as an Arrow table."""
        import pyarrow as pa

        found: list[Any] = []
        for part in self.parts:
            text = part.is_text and isinstance(self.asked, Sequence) and not isinstance(part.fragment, TextRows)
            if text:  # a dataset would fail on types that change further down
                part = replace(part, fragment=TextRows(Path(part.title), str(format_of(part.title))))
            for _, batch in self._read(part, self.names, self.schema, size=rows, ahead=0):
                found.append(batch)
                if part.is_text or sum(map(len, found)) >= rows:  # further down in a text, columns may be others
                    break
            if sum(map(len, found)) >= rows:
                break
        return pa.Table.from_batches(found, self.schema).slice(0, rows)

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Summarize all rows, from the checkpoint on where there is one; None where there are none."""
        kept = None if checkpoint is None else self._checkpoint(checkpoint, task)
        found, first, skip = (None, 0, 0) if kept is None else kept.resume()
        _give_back_memory()  # of the first rows, which were read before
        with self._progress(first) as progress:
            for number in range(first, len(self.parts)):
                part = self.parts[number]
                schema = floats(self.schema, task) if part.is_text else self.schema
                for before, batch in self._read(part, task.columns, schema, skip):
                    with located(part.title, before):
                        found = task.summarize(batch, found)
                    progress.rows(batch.num_rows)
                    if kept is not None:
                        kept.now_and_then(found, number, before + batch.num_rows)
                progress.part(number)
                skip = 0
                if kept is not None:
                    kept.after_part(found, number + 1)
                _give_back_memory()
        if kept is not None:
            kept.remove()
        return found

    def answer(self, answer: Answer) -> Any:
        """The rows as a `pyarrow.RecordBatchReader`, read as it is, with the answers in columns of their own."""
        return answered(answer, self.schema, self.batches())

    def batches(self, shown: bool = True) -> Iterator[Any]:
        """Yield all rows in batches; progress is `shown` on a terminal."""
        with self._progress(shown=shown) as progress:
            for number, part in enumerate(self.parts):
                for _, batch in self._read(part, self.names, self.schema):
                    yield batch
                    progress.rows(batch.num_rows)
                progress.part(number)

    def _progress(self, done: int = 0, shown: bool = True) -> Progress:
        return Progress([part.size or 0 for part in self.parts], [part.rows for part in self.parts], done, shown)

    def _read(
        self, part: Part, columns: list[str], schema: Any, skip: int = 0, size: int | None = None, ahead: int = AHEAD
    ) -> Iterator[tuple[int, Any]]:
        """The rows of a part after the first `skip`, in batches, each with the number of rows before it."""
        before, size = 0, size or BATCH
        names = part.fragment.physical_schema.names if part.is_text else ()
        with located(part.title, names=names):
            if isinstance(part.fragment, (ArrowRows, ParquetRows, TextRows)):
                batches = part.fragment.batches(columns, schema, size)
            else:
                typed = {} if part.fragment is self.asked else {"schema": schema}
                options = {"batch_size": size, "batch_readahead": ahead, "fragment_readahead": 1, **typed}
                batches = map(sound, part.fragment.scanner(columns=columns, **options).to_batches())
        coming = read_ahead(batches)
        while True:
            with located(part.title, before, names):
                batch = next(coming, None)
            if batch is None:
                return
            before += batch.num_rows
            if before > skip:
                fresh = batch.slice(max(0, batch.num_rows - (before - skip)))
                yield before - fresh.num_rows, fresh

    def _checkpoint(self, path: Path, task: Task) -> Checkpoint:
        for part in self.parts:
            if part.size is None:
                raise InvalidOptionError(f"checkpoint is for rows that come from files; {part.title} is none")
        return Checkpoint(path, task, [(part.title, int(part.size or 0), part.changed) for part in self.parts])


def read_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the same batches, each read by a thread while the one before it is in use."""
    with ThreadPoolExecutor(max_workers=1) as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _give_back_memory() -> None:
    """Let Arrow return what batches took to the system: what comes next need not come on top of it."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _part_of(fragment: Any) -> Part:
    path = getattr(fragment, "path", None)
    if path is None:
        return Part("part of the dataset", fragment)
    info = fragment.filesystem.get_file_info(path)
    return Part(path, fragment, info.size, info.mtime_ns or 0)


# ---- one schema for the rows of several files


def common(schemas: Sequence[Any], titles: Sequence[str]) -> Any:
    """The schema that holds the rows of all files: the same columns, of types that go together.

    Integers go with floats, and an empty column goes with any type. Only JSON lines may leave out columns.
    """
    import pyarrow as pa

    types: dict[str, Any] = {}
    for schema, title in zip(schemas, titles, strict=True):
        _check_names(schema.names, types, title, titles[0])
        for field in schema:
            before = types.get(field.name, field.type)
            both = _joined(before, field.type)
            if both is None:
                raise MismatchError(
                    f"Column {field.name!r} is {field.type} in {title}, but {before} in the files before it "
                    f"({titles[0]}): make the files alike"
                )
            types[field.name] = both
    return pa.schema(types.items())


def _check_names(names: Sequence[str], known: Mapping[str, Any], title: str, first: str) -> None:
    found: dict[str, None] = {}
    for name in names:
        if name in found:
            raise MismatchError(f"{title} has two columns named {name!r}: give each a name of its own")
        found[name] = None
    if not known or format_of(title) == "json":
        return
    for name in known:
        if name not in found:
            raise MismatchError(f"{title} has no column {name!r}, which {first} has: make the files alike")
    for name in found:
        if name not in known:
            raise MismatchError(f"{title} has a column {name!r}, which {first} has not: make the files alike")


def _joined(one: Any, other: Any) -> Any:
    """The type that holds the values of both; None if there is none."""
    import pyarrow as pa

    if one == other:
        return one
    one, other = value_type(one), value_type(other)
    if is_text(one) and is_text(other):
        return pa.large_string()
    try:
        schemas = [pa.schema([("", one)]), pa.schema([("", other)])]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def floats(schema: Any, task: Task) -> Any:
    """Read integer columns that are measured as floats: in text, 1.5 may come after many integers."""
    import pyarrow as pa

    measured = {task.weight, *(task.names if task.form == "numbers" else ())}
    fields = []
    for field in schema:
        whole = pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        fields.append(pa.field(field.name, pa.float64()) if whole and field.name in measured else field)
    return pa.schema(fields)
