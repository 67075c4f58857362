"""Which files a name means, their formats by their endings, and how Arrow is to read them."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from suffice.core.errors import InvalidDataError, MismatchError, RefusedValueError, did_you_mean
from suffice.core.frames.frame import is_text
from suffice.engines.json_lines import StructureCheck
from suffice.engines.reading_errors import COPY, UTF8

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
PACKED = (".gz", ".bz2", ".zst")
TEXT_FORMATS = ("csv", "tsv", "json")
BUFFER = 1 << 20  # bytes of a column of Parquet that are read together
BLOCK = 1 << 23  # bytes of text that are parsed together; the types of columns are inferred from the first block


def format_of(name: str) -> str | None:
    """The format of a file of that name; None if its ending is not known."""
    name = name.lower()
    for packed in PACKED:
        if name.endswith(packed):
            inner = format_of(name.removesuffix(packed))
            return inner if inner in TEXT_FORMATS else None
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def fragment_of(path: Path, keep: bool = False) -> Any:
    """Open a file as a fragment of an Arrow dataset, or like one; None if there is nothing in it.

    Text of one block is read at once: a dataset reads several blocks at a time, but takes long to import. With `keep`
    the rows of such a file are kept, so that it is parsed only once.
    """
    import pyarrow as pa

    kind = str(format_of(path.name))
    try:
        found = _opened(path, kind, keep)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Empty JSON" in str(error):
            return None
        raise
    _check_header(found.physical_schema)
    if kind in TEXT_FORMATS:
        _check_text(found.physical_schema)
    return found


def _opened(path: Path, kind: str, keep: bool) -> Any:
    if kind == "parquet":
        return ParquetRows(path)
    if kind == "ipc":
        return ArrowRows(path)
    packed = path.name.lower().endswith(PACKED)
    if not packed:
        _check_start(path)
    small = not packed and path.stat().st_size <= BLOCK
    if kind == "json" or path.name.lower().endswith(".zst") or small:
        return TextRows(path, kind, keep and small)
    import pyarrow.dataset as ds

    return next(iter(ds.dataset(str(path), format=_format(kind)).get_fragments()))


def _check_start(path: Path) -> None:
    """Refuse text in UTF-16 or UTF-32, whose first bytes say so."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or start == codecs.BOM_UTF32_BE:
        wide = start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
        name = "utf-32" if wide else "utf-16"
        raise InvalidDataError(
            f"It is written in {name.upper()}: convert it to UTF-8, such as by iconv -f {name} -t utf-8"
        )


def _check_header(schema: Any) -> None:
    """Refuse names of columns, and of what is nested in them, that are no text."""
    try:
        names = schema.names
        for field in schema:
            str(field.type)
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"The name {error.object!r} of a column is not written in UTF-8: {UTF8}") from error
    for name in names:
        if "\0" in name:
            raise InvalidDataError(f"The column {name!r} has a zero byte in its name: is it UTF-16? Write it in UTF-8")


def _check_text(schema: Any) -> None:
    """Refuse text that is not UTF-8: Arrow reads it as binary, and such columns are left out."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_binary(field.type):
            raise InvalidDataError(f"Column {field.name!r} is not written in UTF-8: {UTF8}")


def sound(batch: Any) -> Any:
    """Return a batch of rows from a file whose content Arrow does not check, once it is checked."""
    import pyarrow as pa

    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _refuse_unsound(name, column)
        raise
    return batch


def _refuse_unsound(name: str, column: Any) -> None:
    """Raise an error that names the column, and the row if it is a text that is not UTF-8."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        found = re.search(r"Invalid UTF8 sequence at string index (\d+)", str(error))
        if found is None or not is_text(column.type):
            raise InvalidDataError(f"Column {name!r} is damaged ({error}): {COPY}") from error
        row = int(found[1])
        held = column.view(pa.large_binary() if column.type == pa.large_string() else pa.binary())[row].as_py()
        what = "A text is not written in UTF-8."
        raise RefusedValueError(what, repr(held[:40]), row, name, " Write the column in UTF-8.") from error


def _format(kind: str) -> Any:
    """The format as Arrow describes it."""
    import pyarrow.dataset as ds

    return ds.CsvFileFormat(**_csv_options(kind))


def _csv_options(kind: str, types: Any = None, columns: Any = None) -> dict[str, Any]:
    """Options for CSV: as in pandas, NA, null and empty entries are missing. Quoted text may span several lines."""
    import pyarrow.csv as csv

    return {
        "parse_options": csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=types, include_columns=columns
        ),
        "read_options": csv.ReadOptions(block_size=BLOCK),
    }


class ArrowRows:
    """An Arrow file, read a batch at a time and checked before use: Arrow trusts the offsets and indices in it."""

    def __init__(self, path: Path):
        self.path = path
        with self._open() as reader:
            self.physical_schema = reader.schema

    @contextmanager
    def _open(self, columns: Sequence[str] = ()) -> Iterator[Any]:
        import pyarrow as pa

        with pa.OSFile(str(self.path)) as file:  # not mapped into memory: a file that is cut off then would be a crash
            reader = pa.ipc.open_file(file)
            if columns:
                some = [reader.schema.get_field_index(name) for name in columns]
                reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=sorted(some)))
            yield reader

    def batches(self, columns: list[str], schema: Any, size: int) -> Iterator[Any]:
        """Yield some columns in batches, as the types of a schema."""
        with self._open(columns) as reader:
            for i in range(reader.num_record_batches):
                batch = _as_types(sound(reader.get_batch(i)), columns, schema)
                for at in range(0, batch.num_rows, size):
                    yield batch.slice(at, size)


class ParquetRows:
    """A Parquet file, read a few rows at a time: datasets hold whole row groups, often a million rows, in memory."""

    def __init__(self, path: Path):
        self.path = path
        with self._open() as file:
            self.physical_schema, self.count = file.schema_arrow, file.metadata.num_rows

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self.path, buffer_size=BUFFER, pre_buffer=False)

    def batches(self, columns: list[str], schema: Any, size: int) -> Iterator[Any]:
        """Yield some columns in batches, as the types of a schema."""
        with self._open() as file:
            for batch in file.iter_batches(size, columns=columns):
                yield _as_types(sound(batch), columns, schema)


def _as_types(batch: Any, columns: list[str], schema: Any) -> Any:
    """Return some columns of a batch, as the types of a schema."""
    import pyarrow as pa

    wanted = pa.schema([schema.field(name) for name in columns])
    held = [_cast(batch[field.name], field) for field in wanted]
    return pa.RecordBatch.from_arrays(held, schema=wanted)


def _cast(column: Any, field: Any) -> Any:
    """Cast a column to the type that all files share; large integers may not fit there."""
    import pyarrow as pa

    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise MismatchError(
            f"Column {field.name!r} is {column.type} here, and with the other files {field.type}, which has no room "
            f"for all of its values ({error}): make the files alike"
        ) from error


class TextRows:
    """A file of text, read like a fragment, in order."""

    def __init__(self, path: Path, kind: str, keep: bool = False):
        self.path, self.kind, self.small = path, kind, path.stat().st_size <= BLOCK
        with self._open() as reader:
            self.physical_schema = reader.schema
            self.kept = reader.read_all() if keep else None
        if self.kept is not None and kind == "json":
            for batch in self.kept.to_batches():
                sound(batch)

    def _open(self, columns: list[str] | None = None, schema: Any = None) -> Any:
        import pyarrow as pa
        import pyarrow.csv as csv
        import pyarrow.json as json

        if self.kind != "json" and self.small and not self.path.name.lower().endswith(PACKED):
            options = _csv_options(self.kind, schema, columns)
            options["read_options"].use_threads = False  # errors then say which row it is
            return csv.read_csv(str(self.path), **options).to_reader()
        stream = pa.input_stream(str(self.path), compression="detect")
        if self.kind == "json":
            typed = None if schema is None else json.ParseOptions(explicit_schema=schema)
            checked = pa.TransformInputStream(stream, StructureCheck())
            return json.open_json(checked, json.ReadOptions(block_size=BLOCK), typed)
        return csv.open_csv(stream, **_csv_options(self.kind, schema, columns))

    def _kept_as(self, columns: list[str], schema: Any) -> Any:
        """The rows that were kept, as the types of a schema; None where the text has to be read again for that."""
        import pyarrow as pa

        types = {} if self.kept is None else {field.name: field.type for field in self.kept.schema}
        if self.kept is None or any(name not in types for name in columns):
            return None
        wanted = pa.schema([schema.field(name) for name in columns])
        for field in wanted:
            held = types[field.name]
            measured = pa.types.is_integer(held) and field.type == pa.float64()
            if held != field.type and not measured and not pa.types.is_null(held):
                return None
        try:
            return self.kept.select(columns).cast(wanted)
        except pa.ArrowInvalid:  # integers that a float cannot hold
            return None

    def batches(self, columns: list[str], schema: Any, size: int) -> Iterator[Any]:
        """Yield some columns in batches, as the types of a schema."""
        kept = self._kept_as(columns, schema)
        if kept is not None:
            yield from kept.to_batches(size)
            return
        with self._open(columns, schema) as reader:
            for batch in reader:
                some = batch.select(columns)
                some = sound(some) if self.kind == "json" else some
                for at in range(0, batch.num_rows, size):
                    yield some.slice(at, size)


# ---- names, patterns and folders


def is_path(x: Any, strictly: bool = False) -> bool:
    """Tell whether `x` names files: strings do that end as files do, that exist, or that are patterns of one word.

    `strictly`, a string has to end as a file does.
    """
    if not isinstance(x, str):
        return isinstance(x, os.PathLike)
    if not x or len(x) > 4096 or "\n" in x or "\0" in x:
        return False
    if format_of(x) is not None:
        return True
    return not strictly and (os.path.exists(x) or (has_magic(x) and not any(map(str.isspace, x))))


def matching(asked: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """All files that are meant, each once, those of a folder or a pattern in the order of their names."""
    found = []
    for each in asked:
        try:
            found += _files(os.fspath(each))
        except OSError as error:  # a folder without permission, a name that is too long
            raise InvalidDataError(f"{os.fspath(each)} cannot be read: {error.strerror}") from error
    return list(dict.fromkeys(found))


def _files(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        _check_file(path)
        return [path]
    if path.is_symlink():
        raise InvalidDataError(f"{path} is a link to {os.readlink(path)!r}, which is not there")
    if not has_magic(name):
        raise _nothing(name)
    found = [Path(match) for match in sorted(glob(name, recursive=True))]
    files = [file for match in found for file in (_in_folder(match) if match.is_dir() else [match])]
    if not files:
        raise _nothing(name)
    for file in files:
        _check_file(file)
    return files


def _in_folder(folder: Path) -> list[Path]:
    """The files in a folder and those below it; what begins with a point or an underscore is not data."""
    all_files = sorted(path for path in folder.rglob("*") if path.is_file())
    seen = [path for path in all_files if not any(part[0] in "._" for part in path.relative_to(folder).parts)]
    files = [path for path in seen if format_of(path.name) is not None]
    if not files:
        held = ", ".join(str(path.relative_to(folder)) for path in all_files[:10]) or "nothing"
        raise InvalidDataError(f"The folder {folder} holds no file to learn from: it holds {held}. {_known()}")
    return files


def _check_file(path: Path) -> None:
    """Refuse what is no file, such as a pipe, and files of unknown kinds."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise InvalidDataError(
            f"{path} is {what} and no file, so that its rows could not be read a second time: write them to a file "
            "first, or pass them to the command line as standard input (-)"
        )
    if format_of(path.name) is None:
        raise InvalidDataError(f"{path} has an ending that is not known. {_known()}")


def _known() -> str:
    return f"Known are {', '.join(ENDINGS)}; .csv, .tsv and JSON lines also with .gz, .bz2 or .zst after it."


def _nothing(name: str) -> InvalidDataError:
    """The error of a name that means no file: what is near it."""
    if "://" in name:
        return InvalidDataError(f"{name} is not on this machine: pass a pyarrow.dataset.Dataset of it")
    folder = Path(name).parent
    while not folder.is_dir():
        folder = folder.parent
    held = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    hint = did_you_mean(Path(name).name, held)
    listed = ", ".join(held[:10]) + (", …" if len(held) > 10 else "") or "nothing"
    return InvalidDataError(f"No file matches {name!r}. {hint}The folder {str(folder)!r} holds {listed}")
