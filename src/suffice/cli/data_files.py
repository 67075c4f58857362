"""Input and output: rows from files or standard input, and output files that are written completely or not at all."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.cli.options import invalid, listed
from suffice.cli.terminal import as_json

if TYPE_CHECKING:
    from suffice.core.output_files import OutputFile
    from suffice.engines.files import Files

FORMATS = {"csv": ".csv", "tsv": ".tsv", "json": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}
STDIN = "-"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the hint at a known name, more generously than for columns: names of options and files are short."""
    from suffice.core.errors import did_you_mean  # which imports NumPy

    return did_you_mean(name, known, cutoff=0.5)


def check_format(form: str, option: str) -> str:
    """Return a format, or refuse one that is not known."""
    if form not in FORMATS:
        raise invalid(f"{option}: no {form!r}. {nearest(form, FORMATS)}Known are {', '.join(FORMATS)}")
    return form


# ------------------------------------------------------------------------------------------------ rows


@contextmanager
def opened(data: Sequence[str], form: str | None = None, drop: Sequence[str] | None = None) -> Iterator[Files]:
    """Open files, or standard input, which is copied to a temporary file."""
    if STDIN not in data:
        if form is not None:
            raise invalid("--input-format is for standard input: files have their endings")
        yield _files(list(data), drop)
        return
    if len(data) > 1:
        raise invalid("Standard input (-) cannot be read together with files")
    with tempfile.TemporaryDirectory(prefix="suffice-") as folder:
        path = _spool(Path(folder), form)
        try:
            yield _files([path], drop)
        except Exception as error:
            if path.name in str(error) and len(error.args) == 1:
                error.args = (str(error).replace(str(path), "standard input"),)
            raise


def _files(paths: Sequence[str | Path], dropped: Sequence[str] | None) -> Files:
    from suffice.engines.files import Files

    files = Files(paths)
    drop = listed(dropped, files.names)
    for name in drop:
        files.check_column(name, "to drop")
    return Files(files.asked, drop) if drop else files


def _spool(folder: Path, form: str | None) -> Path:
    """Copy standard input to a file with the ending of its format."""
    buffer: Any = sys.stdin.buffer
    source: Any = buffer if hasattr(buffer, "peek") else BufferedReader(buffer)
    start = source.peek(8)[:8]
    if not start:
        raise invalid("Standard input is empty")
    if start[:4] == b"\xff\xff\xff\xff" and form in (None, "arrow"):  # an Arrow stream, which differs from a file
        import pyarrow as pa

        path = folder / "stdin.arrow"
        with pa.ipc.open_stream(source) as reader, pa.ipc.new_file(str(path), reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return path
    path = folder / f"stdin{_ending(start, form)}"
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    return path


def _ending(start: bytes, form: str | None) -> str:
    """Return the ending of a format, or the one that the first bytes suggest."""
    packed = {b"\x1f\x8b": ".gz", b"BZ": ".bz2", b"\x28\xb5": ".zst"}.get(start[:2], "")
    if form is not None:
        return FORMATS[check_format(form, "--input-format")] + packed
    if start[:4] == b"PAR1":
        return ".parquet"
    if start[:6] == b"ARROW1":
        return ".arrow"
    if packed:
        return f".csv{packed}"
    return ".jsonl" if start.lstrip()[:1] == b"{" else ".csv"


# ------------------------------------------------------------------------------------------------ output


def check_output(path: str | None, data: Sequence[str] = (), model: str | None = None) -> None:
    """Refuse a path that cannot be written, or is that of the data or the model, before any work is done."""
    if path in (None, STDIN):
        return
    from suffice.core.output_files import check_place

    check_place(str(path))
    place = Path(str(path))
    for other, what in [*((each, "the data") for each in data), (str(model), "the model")]:
        if place.is_file() and Path(other).exists() and place.samefile(other):
            raise invalid(f"{path} is {what}: write to another file")


def check_model_output(path: str | None, data: Sequence[str] = ()) -> None:
    """Refuse a path that cannot hold a model; standard output is for messages."""
    if path == STDIN:
        raise invalid("--output: a model cannot be written to standard output: name a file")
    check_output(path, data)


@contextmanager
def written(path: str | None) -> Iterator[OutputFile]:
    """Open a binary file that appears under its name when it is complete; or standard output."""
    from suffice.core.output_files import OutputFile, replacing

    if path in (None, STDIN):
        sys.stdout.flush()
        file = OutputFile(sys.stdout.buffer, "standard output")
        yield file
        file.flush()
    else:
        with replacing(str(path)) as file:
            yield file


def format_named(path: str | None, form: str | None) -> str:
    """Return the format to write: the given one, or that of the file's ending; CSV for standard output."""
    from suffice.core.output_files import is_special
    from suffice.engines.file_formats import format_of

    if form is not None:
        return check_format(form, "--format")
    if path in (None, STDIN) or is_special(str(path)):
        return "csv"
    found = format_of(str(path))
    if found is None or str(path).endswith((".gz", ".bz2", ".zst")):
        known = ".csv, .tsv, .jsonl, .parquet and .arrow"
        raise invalid(f"The ending of {path} is not known: known are {known}, or set --format")
    return "arrow" if found == "ipc" else found


def check_table_output(path: str | None, form: str | None, data: Sequence[str] = (), model: str | None = None) -> None:
    """Refuse an output that cannot be written, or that would overwrite the data or the model."""
    check_output(path, data, model)
    format_named(path, form)


@contextmanager
def table_writer(path: str | None, form: str | None) -> Iterator[_TableWriter]:
    """Open a writer of Arrow tables, which appends them in the format of the file."""
    kind = format_named(path, form)
    with written(path) as file:
        writer = _TableWriter(file, kind)
        try:
            yield writer
        except BaseException:
            file.discards = True  # Arrow writes the end of a file when it is closed
            writer.close()
            raise
        writer.close()


class _TableWriter:
    """Writes CSV, JSON lines, Parquet or Arrow, a table at a time."""

    def __init__(self, file: OutputFile, kind: str):
        self.file, self.kind = file, kind
        self.inner: Any = None

    def begin(self, schema: Any) -> None:
        """Write the beginning of the file, once."""
        if self.inner is None and self.kind != "json":
            self.inner = self._open(schema)

    def write(self, table: Any) -> None:
        """Append rows."""
        self.begin(table.schema)
        if self.kind == "json":
            rows = (json.dumps(as_json(row), ensure_ascii=False) for row in table.to_pylist())
            self.file.write("".join(f"{row}\n" for row in rows).encode())
        else:
            self.inner.write(table)

    def _open(self, schema: Any) -> Any:
        if self.kind == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self.file, schema)
        import pyarrow as pa

        if self.kind == "arrow":
            return pa.ipc.new_file(self.file, schema)
        import pyarrow.csv as csv

        separator = "\t" if self.kind == "tsv" else ","
        self.file.write((separator.join(_quoted(name, separator) for name in schema.names) + "\n").encode())
        return csv.CSVWriter(
            self.file, schema, write_options=csv.WriteOptions(include_header=False, delimiter=separator)
        )

    def close(self) -> None:
        """Write the end of the file."""
        if self.inner is not None:
            self.inner.close()


def _quoted(name: str, separator: str) -> str:
    special = any(each in name for each in (separator, '"', "\n", "\r"))
    return '"' + name.replace('"', '""') + '"' if special else name
