"""What goes in and out: rows from files or standard input, models, and files that are whole or not there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from suffice.cli.options import listed
from suffice.core.errors import InvalidDataError, InvalidOptionError

FORMATS = {"csv": ".csv", "tsv": ".tsv", "json": ".jsonl", "parquet": ".parquet", "arrow": ".arrow"}
STDIN = "-"


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint at what may have been meant."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}? " if near else ""


# ------------------------------------------------------------------------------------------------ rows


@contextmanager
def opened(data: Sequence[str], form: str | None = None, drop: Sequence[str] | None = None) -> Iterator[Any]:
    """The rows of files, or of standard input, which is kept in a temporary file while it is needed."""
    from suffice.engines.files import Files

    if STDIN not in data:
        if form is not None:
            raise InvalidOptionError("--input-format is for standard input: files tell by their endings")
        files = Files(list(data))
        yield _without(files, drop)
        return
    if len(data) > 1:
        raise InvalidOptionError("Standard input, -, comes alone: it cannot be read together with files")
    with tempfile.TemporaryDirectory(prefix="suffice-") as folder:
        path = _spool(Path(folder), form)
        try:
            yield _without(Files([path]), drop)
        except Exception as error:
            if path.name in str(error) and len(error.args) == 1:
                error.args = (str(error).replace(str(path), "standard input"),)
            raise


def _without(files: Any, said: Sequence[str] | None) -> Any:
    from suffice.engines.files import Files

    drop = listed(said, files.names)
    for name in drop:
        files.check_column(name, "to drop")
    return Files(files.asked, drop) if drop else files


def _spool(folder: Path, form: str | None) -> Path:
    """Standard input as a file, with the ending of its format."""
    source = sys.stdin.buffer
    start = source.peek(8)[:8] if hasattr(source, "peek") else b""
    if not start and not hasattr(source, "peek"):
        whole = source.read()
        start = whole[:8]
    else:
        whole = None
    if not start:
        raise InvalidDataError("Standard input is empty")
    if start[:4] == b"\xff\xff\xff\xff" and form in (None, "arrow"):  # Arrow's stream, which is not its file
        return _spool_stream(folder / "stdin.arrow", source if whole is None else whole)
    path = folder / f"stdin{_ending(start, form)}"
    with path.open("wb") as file:
        if whole is None:
            shutil.copyfileobj(source, file)
        else:
            file.write(whole)
    return path


def _ending(start: bytes, form: str | None) -> str:
    packed = {b"\x1f\x8b": ".gz", b"BZ": ".bz2", b"\x28\xb5": ".zst"}.get(start[:2], "")
    if form is not None:
        if form not in FORMATS:
            raise InvalidOptionError(
                f"--input-format: no {form!r}. {nearest(form, list(FORMATS))}Known are {', '.join(FORMATS)}"
            )
        return FORMATS[form] + packed
    if start[:4] == b"PAR1":
        return ".parquet"
    if start[:6] == b"ARROW1":
        return ".arrow"
    if packed:
        return f".csv{packed}"
    return ".jsonl" if start.lstrip()[:1] == b"{" else ".csv"


def _spool_stream(path: Path, source: Any) -> Path:
    import pyarrow as pa

    with pa.ipc.open_stream(source) as reader, pa.ipc.new_file(str(path), reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return path


# ------------------------------------------------------------------------------------------------ what is written


def check_output(path: str | None) -> None:
    """Refuse a place where no file can be written, before any work is done."""
    if path in (None, STDIN):
        return
    place = Path(str(path))
    if place.is_dir():
        raise InvalidOptionError(f"{place} is a folder: name a file in it")
    if not place.parent.is_dir():
        raise InvalidOptionError(f"There is no folder {str(place.parent)!r} to write {place.name} into: make it first")
    if not os.access(place.parent, os.W_OK) and not place.exists():
        raise InvalidOptionError(f"Nothing can be written into the folder {str(place.parent)!r}")


def check_model_output(path: str | None) -> None:
    """Refuse a place where no model can be written: on standard output it would stand among what is told of it."""
    if path == STDIN:
        raise InvalidOptionError("--output: a model goes into a file, not to standard output: name one")
    check_output(path)


def check_apart(output: str | None, data: Sequence[str], model: str | None = None) -> None:
    """Refuse to write over what is read."""
    place = Path(str(output))
    if output in (None, STDIN) or not place.is_file():
        return
    for path, what in [*((each, "the data") for each in data), (str(model), "the model")]:
        if Path(path).exists() and Path(path).samefile(place):
            raise InvalidOptionError(f"{output} is {what}: write somewhere else")


@contextmanager
def written(path: str | None) -> Iterator[Any]:
    """A binary file that takes its name once it is whole; nothing for standard output."""
    from suffice.model.storage import replacing

    if path in (None, STDIN):
        sys.stdout.flush()
        yield _Named(sys.stdout.buffer, "standard output")
        sys.stdout.buffer.flush()
        return
    with open(str(path), "wb", buffering=0) if _is_special(str(path)) else replacing(Path(str(path))) as file:
        named = _Named(file, str(path))
        yield named
        named.flush()


def _is_special(path: str) -> bool:
    """Tell whether it is a device or a pipe, which is not to be replaced."""
    return Path(path).exists() and not Path(path).is_file()


class _Named:
    """A file that stays open, and whose errors say which it is: those of a full disk do not."""

    def __init__(self, file: IO[bytes], name: str):
        self.file, self.name, self.closed = file, name, False
        self.given_up = False  # after an error nothing more is written

    def write(self, data: Any) -> int:
        if self.given_up:
            return len(data)
        try:
            return self.file.write(data)
        except OSError as error:
            raise self._of(error) from error

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self.file.flush()
        except OSError as error:
            raise self._of(error) from error

    def _of(self, error: OSError) -> OSError:
        if isinstance(error, BrokenPipeError):
            return error
        return OSError(error.errno, f"{error.strerror} while writing", self.name)

    def close(self) -> None:
        self.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def format_named(path: str | None, form: str | None) -> str:
    """The format to write: the one asked for, or the one a file's ending means; CSV to a terminal or a pipe."""
    from suffice.engines.file_formats import format_of

    if form is not None:
        if form not in FORMATS:
            raise InvalidOptionError(
                f"--format: no {form!r}. {nearest(form, list(FORMATS))}Known are {', '.join(FORMATS)}"
            )
        return form
    if path in (None, STDIN) or _is_special(str(path)):
        return "csv"
    found = format_of(str(path))
    if found is None or str(path).endswith((".gz", ".bz2", ".zst")):
        known = ".csv, .tsv, .jsonl, .parquet and .arrow"
        raise InvalidOptionError(f"{path} does not end as a file of rows does: known are {known}, or say --format")
    return "arrow" if found == "ipc" else found


@contextmanager
def table_writer(path: str | None, form: str | None) -> Iterator[Any]:
    """Something that writes Arrow tables one after the other, in the format of the file."""
    kind = format_named(path, form)
    with written(path) as file:
        writer = _Writer(file, kind)
        try:
            yield writer
        except BaseException:
            file.given_up = True  # whatever Arrow wants to write at the end of a file
            writer.close()
            raise
        writer.close()


class _Writer:
    """Rows as CSV, JSON lines, Parquet or Arrow, a table at a time."""

    def __init__(self, file: Any, kind: str):
        self.file, self.kind = file, kind
        self.inner: Any = None

    def begin(self, schema: Any) -> None:
        """Write what begins a file, unless that is done."""
        if self.inner is None and self.kind != "json":
            self.inner = self._open(schema)

    def write(self, table: Any) -> None:
        """Write some rows more."""
        self.begin(table.schema)
        if self.kind == "json":
            rows = (json.dumps(as_json(row), ensure_ascii=False) for row in table.to_pylist())
            self.file.write("".join(f"{row}\n" for row in rows).encode())
            return
        if self.kind == "parquet":
            self.inner.write_table(table)
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

        between = "\t" if self.kind == "tsv" else ","
        self.file.write((between.join(_quoted(name, between) for name in schema.names) + "\n").encode())
        return csv.CSVWriter(self.file, schema, write_options=csv.WriteOptions(include_header=False, delimiter=between))

    def close(self) -> None:
        """Write what ends a file."""
        if self.inner is not None:
            self.inner.close()


def _quoted(name: str, between: str) -> str:
    special = any(each in name for each in (between, '"', "\n", "\r"))
    return '"' + name.replace('"', '""') + '"' if special else name


def as_json(value: Any) -> Any:
    """What JSON has of numbers, strings, lists and dicts; what is no number is null."""
    import numpy as np

    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_json(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
