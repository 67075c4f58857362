"""Statistics and options as one file: safetensors with a JSON description, checked before it is believed.

A value is taken apart into a tree of plain JSON and the arrays that hang on it (`pack`), and put together again
(`unpack`). Only classes of `core.registry` are ever made, by setting their fields: nothing in a file is executed.

>>> from suffice.core.statistics import Moments
>>> moments = Moments.of(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1)
>>> from_bytes(to_bytes(moments)) == moments
True
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice import families  # noqa: F401  # what is imported can be loaded
from suffice.core import registry
from suffice.core.errors import DamagedFileError, ForeignFileError, NewerFileError, UnstorableError
from suffice.core.frames import Frame
from suffice.model.schema import Schema

FORMAT = 1  # raised when files change so that older versions cannot read them
MOST_HEADER = 100_000_000  # bytes; the limit of the safetensors library too
SMALL = 1 << 16  # bytes; smaller arrays are copied, so that they do not keep a whole file in memory

C = TypeVar("C", bound=type)
Tensors: TypeAlias = dict[str, NDArray[Any]]
Tree: TypeAlias = Any  # what JSON can hold

_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}") for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


# ------------------------------------------------------------------------------------ what may be in a file


def storable(cls: C) -> C:
    """Allow a frozen dataclass in files, under its name; also a decorator. Families and statistics need none."""
    return registry.register(cls)


storable(Schema)


# ------------------------------------------------------------------------------------------ files and bytes


def save(value: Any, to: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a value to a file, or to an open binary one.

    A file of that name is replaced in one step once the new one is safely on the disk; whatever fails
    before, it stays as it was.
    """
    parts = _parts(value)
    if isinstance(to, (str, os.PathLike)):
        with replacing(Path(to)) as file:
            file.writelines(parts)
    else:
        to.writelines(parts)


def load(source: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read what `save` wrote; damaged, newer and foreign files are refused. Its arrays are read-only."""
    if isinstance(source, (str, os.PathLike)):
        return from_bytes(Path(source).read_bytes())
    return from_bytes(source.read())


def to_bytes(value: Any) -> bytes:
    """Make the bytes that `save` writes: equal values, type by type, give equal bytes."""
    return b"".join(_parts(value))


def from_bytes(data: bytes | bytearray | memoryview) -> Any:
    """Make the value that `to_bytes` was given."""
    view = memoryview(data).cast("B")
    if not view.readonly:  # what is made of it must not change with it
        view = memoryview(bytes(view))
    header, body = _split(view)
    text = _check(header, body)
    try:
        description = json.loads(text)
        writer, tree = description["version"], description["value"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DamagedFileError("The description in the file cannot be read") from None
    tensors = _tensors(header, body)
    try:
        return _Unpacker(tensors, str(writer)).value(tree, "")
    except RecursionError:
        raise DamagedFileError("The description in the file is nested too deeply") from None


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once it is written, or vanishes."""
    path = Path(os.path.realpath(path))  # what a link leads to is replaced, not the link
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    # Opened like this, and not by tempfile, so that the file gets the permissions files get here.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    if hasattr(os, "O_DIRECTORY"):  # the new name must reach the disk as well, where folders can be opened
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some file systems cannot, and the file itself is there
                os.fsync(folder)
        finally:
            os.close(folder)


def _parts(value: Any) -> list[Any]:
    """The bytes of a file, piece by piece, the arrays as they lie in memory."""
    tree, tensors = pack(value)
    order = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # so that each starts aligned
    header: dict[str, Any] = {
        "__metadata__": {"format": str(FORMAT), "suffice": _json({"version": _version(), "value": tree})}
    }
    at = 0
    for name in order:
        array = tensors[name]
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    body = [tensors[name].reshape(-1).view(np.uint8) for name in order]
    header["__metadata__"]["checksum"] = _checksum(header, body)
    text = _json(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise UnstorableError(
            f"The description would have {len(text)} bytes, of at most {MOST_HEADER}: hold large data in arrays"
        )
    return [len(text).to_bytes(8, "little"), text, *body]


def _checksum(header: dict[str, Any], body: list[Any]) -> str:
    """SHA-256 of the header without the checksum, and of the tensors."""
    metadata = {name: value for name, value in header["__metadata__"].items() if name != "checksum"}
    digest = sha256(_json({**header, "__metadata__": metadata}).encode())
    for part in body:
        digest.update(part)
    return digest.hexdigest()


def _json(tree: Tree) -> str:
    """The one way to write it down."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)


@cache
def _version() -> str:
    return version("suffice")


# ------------------------------------------------------------------------------------------- reading a file


def _split(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header and the bytes of the tensors, as every safetensors file has them."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= size <= MOST_HEADER or bytes(data[8:9]) not in (b"", b"{"):
        raise ForeignFileError(f"This is not a suffice file ({_first_bytes(data)}): suffice.load reads what save wrote")
    if len(data) < 8 + size:
        raise DamagedFileError(
            f"The file is cut off: its header has {size} bytes, of which {len(data) - 8} are there. Take another copy."
        )
    try:
        header = json.loads(bytes(data[8 : 8 + size]))
    except (ValueError, RecursionError):
        raise DamagedFileError("The header of the file cannot be read. Take another copy.") from None
    if not isinstance(header, dict):
        raise DamagedFileError("The header of the file is not a description of tensors")
    return header, data[8 + size :]


def _first_bytes(data: memoryview) -> str:
    return f"it begins with {bytes(data[:12])!r}" if len(data) else "it is empty"


def _check(header: dict[str, Any], body: memoryview) -> str:
    """The description, after everything is known to be as it was written."""
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or "suffice" not in metadata:
        raise ForeignFileError("This is a safetensors file, but none that suffice wrote: it holds no description")
    known, found = str(FORMAT), metadata.get("format")
    if isinstance(found, str) and found.isascii() and found.isdigit() and int(found[:9]) > FORMAT:
        raise NewerFileError(
            f"The file has format {found}; suffice {_version()} reads formats up to {known}. Upgrade to read it."
        )
    if set(metadata) != {"checksum", "format", "suffice"} or found != known:
        raise DamagedFileError(f"The file's metadata are not those of format {known}. Take another copy.")
    expected = max([0, *(_place(entry)[1] for name, entry in header.items() if name != "__metadata__")])
    if expected != len(body):
        raise DamagedFileError(
            f"The file should hold {expected} bytes of arrays and holds {len(body)}: take another copy"
        )
    try:
        checksum = _checksum(header, [body])
    except (ValueError, RecursionError):  # not JSON as we write it: NaN, or nested without end
        checksum = ""
    if checksum != metadata["checksum"] or not checksum:
        raise DamagedFileError(
            "The checksum does not fit: the file was changed after it was written. Take another copy."
        )
    text = metadata["suffice"]
    if not isinstance(text, str):
        raise DamagedFileError("The file's description is not text")
    return text


def _place(entry: Any) -> tuple[int, int]:
    """Where a tensor begins and ends; −1 if that is not said."""
    match entry:
        case {"data_offsets": [int(start), int(end)]}:
            return start, end
    return -1, -1


def _tensors(header: dict[str, Any], body: memoryview) -> Tensors:
    """Arrays that look at the file's bytes. All sizes are compared with what is there before anything is made."""
    out: Tensors = {}
    after = 0
    for name, entry in sorted(header.items(), key=lambda item: _place(item[1])):
        if name == "__metadata__":
            continue
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(start), int(end)]} if (
                kind in _DTYPES and _is_shape(shape)
            ):
                dtype = _DTYPES[kind]
            case _:
                raise DamagedFileError(f"The file's entry for {name!r} is not that of a tensor")
        if start != after or end - start != prod(shape) * dtype.itemsize:
            raise DamagedFileError(f"The file's entry for {name!r} has a size that does not fit its place")
        after = end
        array = np.frombuffer(body[start:end], dtype=dtype).reshape(shape)
        if kind == "BOOL" and (array.view(np.uint8) > 1).any():
            raise DamagedFileError(f"{name!r} holds truths that are neither 0 nor 1")
        if array.nbytes < SMALL or not array.flags.aligned:
            array = array.copy()
        out[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return out


def _is_shape(shape: list[Any]) -> bool:
    """Tell whether NumPy can have an array of that shape, which it must even if one side is 0."""
    whole = all(type(n) is int and n >= 0 for n in shape)
    return whole and len(shape) <= 32 and prod(n for n in shape if n) < 1 << 56


# ----------------------------------------------------------------------------------------------- the tree


def pack(value: Any) -> tuple[Tree, Tensors]:
    """Take a value apart into what JSON holds and the arrays, which are named by where they belong."""
    packer = _Packer()
    return packer.tree(value, ""), packer.tensors


def unpack(tree: Tree, tensors: Tensors) -> Any:
    """Put together what `pack` took apart."""
    return _Unpacker(tensors, _version()).value(tree, "")


def _arrow_bytes(frame: Frame) -> bytes:
    """A table as Arrow writes it, each column in one piece."""
    import pyarrow as pa

    table = frame.table().combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _frame(data: NDArray[Any], rows: int, path: str) -> Frame:
    """The table that `_arrow_bytes` wrote, after Arrow has checked every value."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise DamagedFileError(f"{_at(path)}the file's rows cannot be read: {error}") from None
    if table.num_columns and table.num_rows != rows:
        raise DamagedFileError(f"{_at(path)}the file should hold {rows} rows and holds {table.num_rows}")
    return Frame(dict(zip(table.column_names, table.columns, strict=True)), rows)


class _Packer:
    """JSON has no tuples, no arrays and no classes: those become an object that says what it stands for."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}

    def tree(self, value: Any, path: str) -> Tree:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self.items(value, path)
        if kind is tuple:
            return {"tuple": self.items(value, path)}
        if kind is dict:
            return {"dict": [[self.tree(k, path), self.tree(v, _join(path, k))] for k, v in value.items()]}
        if kind is np.ndarray:
            return self.array(value, path)
        if isinstance(value, np.generic):
            return {"scalar": self.array(np.asarray(value), path)}
        if kind is Frame:
            return {"arrow": self.tensor(np.frombuffer(_arrow_bytes(value), dtype=np.uint8), path), "rows": value.n}
        if isinstance(value, np.dtype) and value.kind in "biuf":
            return {"dtype": value.newbyteorder("<").str}
        name = registry.name_of(kind)
        if name is None or not is_dataclass(kind):
            raise UnstorableError(_why_not(value, path))
        each = {f.name: self.tree(getattr(value, f.name), _join(path, f.name)) for f in fields(value)}
        return {"class": name, "fields": each}

    def items(self, values: Any, path: str) -> list[Tree]:
        return [self.tree(value, _join(path, i)) for i, value in enumerate(values)]

    def array(self, array: NDArray[Any], path: str) -> Tree:
        if array.dtype.kind == "O":
            return {"objects": self.column(array.ravel().tolist(), path), "shape": list(array.shape)}
        if array.dtype.kind in "US":
            return self.strings(array, path)
        if array.dtype.kind in "mM":
            numbers = array.astype(array.dtype.newbyteorder("<"), copy=False).view("<i8")
            return {"array": self.tensor(numbers, path), "of": array.dtype.name}
        if array.dtype.newbyteorder("<") not in _NAMES:
            raise UnstorableError(
                f"{_at(path)}an array of {array.dtype} cannot be stored: safetensors has no such type"
            )
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            return {"array": self.tensor(array.T, path), "order": "F"}  # sums over other orders round otherwise
        return {"array": self.tensor(array, path)}

    def column(self, values: list[Any], path: str) -> Tree:
        """Python objects: of one plain type as an array, tuples part by part, others one by one."""
        kinds = set(map(type, values))
        if kinds == {tuple} and values[0] and len(set(map(len, values))) == 1:
            parts = enumerate(zip(*values, strict=True))
            return {"tuple": [self.column(list(part), _join(path, i)) for i, part in parts]}
        plain = kinds in ({bool}, {float})
        plain = plain or (kinds == {int} and min(values) >= -(1 << 63) and max(values) < 1 << 63)
        if kinds == {str}:  # NumPy makes all as wide as the longest, and forgets NULs at the end
            lengths = [len(v) for v in values]
            plain = len(values) * max(lengths) <= 4 * sum(lengths) + 1024 and not any(v.endswith("\0") for v in values)
        return self.array(np.array(values), path) if plain else self.items(values, path)

    def strings(self, array: NDArray[Any], path: str) -> Tree:
        """Strings as the numbers of their characters, no wider than the longest of them."""
        kind, unit = ("str", np.dtype("<u4")) if array.dtype.kind == "U" else ("bytes", np.dtype("u1"))
        width = int(np.strings.str_len(array).max(initial=1))
        narrow = array.reshape(-1).astype(f"<{array.dtype.kind}{width}")
        return {"array": self.tensor(narrow.view(unit).reshape(*array.shape, width), path), "of": kind}

    def tensor(self, array: NDArray[Any], path: str) -> str:
        name, again = path or "value", 1
        while name in self.tensors or name == "__metadata__":  # two paths may read alike, as a.b and a, b
            again += 1
            name = f"{path}#{again}"
        little = array.dtype.newbyteorder("<")
        self.tensors[name] = np.ascontiguousarray(array, dtype=little).reshape(array.shape)
        return name


class _Unpacker:
    """Make what a tree describes, refusing whatever `_Packer` would not have written."""

    def __init__(self, tensors: Tensors, writer: str):
        self.tensors, self.writer = tensors, writer

    def value(self, tree: Tree, path: str) -> Any:
        if isinstance(tree, list):
            return self.items(tree, path)
        if not isinstance(tree, dict):
            return tree
        match tree:
            case {"float": "inf" | "-inf" | "nan" as number, **rest} if not rest:
                return float(number)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.items(items, path))
            case {"dict": list(pairs), **rest} if not rest:
                return self.dictionary(pairs, path)
            case {"scalar": node, **rest} if not rest:
                return self.scalar(node, path)
            case {"dtype": str(name), **rest} if not rest and name in {d.str for d in _DTYPES.values()}:
                return np.dtype(name)
            case {"objects": node, "shape": list(shape), **rest} if not rest:
                return self.objects(self.column(node, path), shape, path)
            case {"array": str(name), **reading} if name in self.tensors:
                return _read_only(self.array(self.tensors[name], reading, path))
            case {"arrow": str(name), "rows": int(rows), **rest} if not rest and name in self.tensors:
                return _frame(self.tensors[name], rows, path)
            case {"class": str(name), "fields": dict(values), **rest} if not rest:
                return self.instance(name, values, path)
        raise DamagedFileError(f"{_at(path)}the file's description makes no sense: {_short(tree)}")

    def items(self, trees: list[Tree], path: str) -> list[Any]:
        return [self.value(tree, _join(path, i)) for i, tree in enumerate(trees)]

    def dictionary(self, pairs: list[Tree], path: str) -> dict[Any, Any]:
        try:
            keys = [(self.value(key, path), value) for key, value in pairs]
            return {key: self.value(value, _join(path, key)) for key, value in keys}
        except (TypeError, ValueError) as error:
            if isinstance(error, DamagedFileError):
                raise
            raise DamagedFileError(f"{_at(path)}the file's description holds no dictionary here") from None

    def scalar(self, node: Tree, path: str) -> Any:
        array = self.value(node, path)
        if not isinstance(array, np.ndarray) or array.ndim:
            raise DamagedFileError(f"{_at(path)}one value was expected, not several")
        return array[()]

    def column(self, node: Tree, path: str) -> list[Any]:
        match node:
            case {"tuple": [_, *_] as parts, **rest} if not rest:
                columns = [self.column(part, _join(path, i)) for i, part in enumerate(parts)]
                if len(set(map(len, columns))) == 1:
                    return list(zip(*columns, strict=True))
            case list():
                return self.items(node, path)
            case _:
                array = self.value(node, path)
                if isinstance(array, np.ndarray) and array.ndim == 1:
                    return array.tolist()
        raise DamagedFileError(f"{_at(path)}a list of values was expected: {_short(node)}")

    def objects(self, items: list[Any], shape: list[Any], path: str) -> NDArray[Any]:
        if not _is_shape(shape) or prod(shape) != len(items):
            raise DamagedFileError(f"{_at(path)}{len(items)} values do not fill an array of shape {_short(shape)}")
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # one by one, or NumPy would look into tuples
            out[i] = item
        return _read_only(out.reshape(shape))

    def array(self, array: NDArray[Any], reading: dict[str, Any], path: str) -> NDArray[Any]:
        match reading:
            case {"order": "F", **rest} if not rest:
                return array.T
            case {"of": "str" | "bytes" as kind, **rest} if not rest and array.ndim and array.shape[-1]:
                letter, unit = ("U", np.uint32) if kind == "str" else ("S", np.uint8)
                if array.dtype == unit and not (kind == "str" and (array > 0x10FFFF).any()):
                    flat = np.ascontiguousarray(array).reshape(-1).view(f"{letter}{array.shape[-1]}")
                    return flat.reshape(array.shape[:-1])
            case {"of": str(name), **rest} if not rest and array.dtype == np.int64:
                with suppress(TypeError):
                    dtype = np.dtype(name)
                    if dtype.kind in "mM" and dtype.name == name:
                        return array.view(dtype)
            case {**rest} if not rest:
                return array
        raise DamagedFileError(f"{_at(path)}the file's array is not {_short(reading)}")

    def instance(self, name: str, values: dict[str, Tree], path: str) -> Any:
        cls: type | None = registry.find(name)
        if cls is None or not is_dataclass(cls):
            raise DamagedFileError(
                f"{_at(path)}suffice {_version()} knows no {name!r}. The file was written by suffice {self.writer}: "
                "if that is newer, upgrade; if it holds an estimator, suffice.load reads it"
            )
        known = fields(cls)
        if {f.name for f in known} != set(values):
            odd = sorted({f.name for f in known} ^ set(values))
            raise DamagedFileError(
                f"{_at(path)}{name} has other fields in suffice {self.writer}, which wrote the file, than in "
                f"{_version()}: {', '.join(odd)}"
            )
        held = {f.name: self.value(values[f.name], _join(path, f.name)) for f in known}
        try:
            made = cls(**{f.name: held[f.name] for f in known if f.init})  # says what it thinks of its options
            for field, value in held.items():
                object.__setattr__(made, field, value)  # as they were, where making it anew would round again
            if hasattr(made, "check_arrays"):
                made.check_arrays()
        except Exception as error:  # whatever it stumbles over, the file is at fault
            raise DamagedFileError(f"{_at(path)}the file holds no {name}: {error}") from error
        return made


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _join(path: str, name: Any) -> str:
    return f"{path}.{name}" if path else str(name)


def _at(path: str) -> str:
    return f"{path}: " if path else ""


def _short(tree: Tree) -> str:
    text = " ".join(repr(tree).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _why_not(value: Any, path: str) -> str:
    kind = type(value)
    if hasattr(value, "get_params"):
        return (
            f"{_at(path)}a {kind.__name__} cannot be stored: a file holds data and no code, and another library's "
            "estimator is code. Leave it out, or keep this model by pickling it."
        )
    if registry.find(kind.__name__) is not None:
        return (
            f"{_at(path)}{kind.__name__} was defined again after {_short(value)} was made, and a file would be read as "
            "the new one: make it anew"
        )
    return (
        f"{_at(path)}{_short(value)} of type {kind.__module__}.{kind.__qualname__} cannot be stored: only numbers, "
        "strings, lists, tuples, dictionaries, arrays, and suffice's own statistics, priors and families can"
    )
