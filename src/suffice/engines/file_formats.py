"""Which files a name means, their formats by their endings, and how Arrow is to read them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from suffice.core.errors import InvalidDataError, MismatchError, did_you_mean

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
        if kind == "parquet":
            return ParquetRows(path)
        plain = kind in TEXT_FORMATS and not path.name.lower().endswith(PACKED)
        if path.name.lower().endswith(".zst") or (plain and path.stat().st_size <= BLOCK):
            found = TextRows(path, kind, keep and plain)
        else:
            import pyarrow.dataset as ds

            found = next(iter(ds.dataset(str(path), format=_format(kind)).get_fragments()))
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Empty JSON" in str(error):
            return None
        if "Column() changed from object to array" in str(error):
            raise InvalidDataError("It holds an array of JSON: write one object to a line instead") from error
        raise
    if kind in TEXT_FORMATS:
        _check_text(found.physical_schema)
    return found


def _check_text(schema: Any) -> None:
    """Refuse text that is not UTF-8: Arrow reads it as binary, and such columns are left out."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_binary(field.type):
            raise InvalidDataError(
                f"Column {field.name!r} is not written in UTF-8: convert the file, such as by iconv -f latin1 -t utf-8"
            )


def _format(kind: str) -> Any:
    """The format as Arrow describes it."""
    import pyarrow.dataset as ds

    if kind == "json":
        return ds.JsonFileFormat(**_json_options())
    return ds.CsvFileFormat(**_csv_options(kind)) if kind in ("csv", "tsv") else kind


def _json_options() -> dict[str, Any]:
    import pyarrow.json as json

    return {"read_options": json.ReadOptions(block_size=BLOCK)}


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
        import pyarrow as pa

        wanted = pa.schema([schema.field(name) for name in columns])
        with self._open() as file:
            for batch in file.iter_batches(size, columns=columns):
                held = [_cast(batch[field.name], field) for field in wanted]
                yield pa.RecordBatch.from_arrays(held, schema=wanted)


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
            return json.open_json(stream, parse_options=typed, **_json_options())
        return csv.open_csv(stream, **_csv_options(self.kind, schema, columns))

    def _kept_as(self, columns: list[str], schema: Any) -> Any:
        """The rows that were kept, as the types of a schema; None where the text has to be read again for that."""
        import pyarrow as pa

        wanted = pa.schema([schema.field(name) for name in columns])
        if self.kept is None or any(name not in self.kept.column_names for name in columns):
            return None
        for field in wanted:
            held = self.kept.schema.field(field.name).type
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
                for at in range(0, batch.num_rows, size):
                    yield batch.select(columns).slice(at, size)


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
    found = [path for each in asked for path in _files(os.fspath(each))]
    return list(dict.fromkeys(found))


def _files(name: str) -> list[Path]:
    path = Path(name)
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        _check_ending(path)
        return [path]
    if not has_magic(name):
        raise _nothing(name)
    found = [Path(match) for match in sorted(glob(name, recursive=True))]
    files = [file for match in found for file in (_in_folder(match) if match.is_dir() else [match])]
    if not files:
        raise _nothing(name)
    for file in files:
        _check_ending(file)
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


def _check_ending(path: Path) -> None:
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
