"""Statistics and options as one file: safetensors with a JSON description, which is checked before it is used.

A value is split into a tree of plain JSON and its arrays (`pack`), and made again from them (`unpack`). A file holds
data and no code: nothing in it is run.

>>> from suffice.core.statistics import Moments
>>> moments = Moments.of(np.array([[1.0], [3.0]]), np.zeros(2, np.int32), 1)
>>> from_bytes(to_bytes(moments)) == moments
True
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from suffice import families  # noqa: F401  # registers the families
from suffice.core import registry
from suffice.core.errors import DamagedFileError, ForeignFileError, NewerFileError, UnstorableError
from suffice.core.output_files import replacing
from suffice.model.packing import DTYPE_NAMES, DTYPES, Tensors, Tree, installed_version, is_shape, pack, unpack
from suffice.model.schema import Schema

FORMAT = 1  # raised when older versions cannot read new files
MOST_HEADER = 100_000_000  # bytes; the limit of the safetensors library too
AT_ONCE = 1 << 24  # bytes that are read at a time from a stream, whose size is not known
SMALL = 1 << 16  # bytes; smaller arrays are copied, so that they do not keep a whole file in memory

C = TypeVar("C", bound=type)


# ------------------------------------------------------------------------------------ what may be in a file


def storable(cls: C) -> C:
    """Register a frozen dataclass by its name, so that files may hold it. Families and statistics are registered."""
    return registry.register(cls)


storable(Schema)


# ------------------------------------------------------------------------------------------ files and bytes


def save(value: Any, to: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a value to a file, or to an open binary one.

    An existing file is replaced in one step when the new one is on the disk. If an error occurs before that, it is
    unchanged.
    """
    parts = _parts(value)
    if isinstance(to, (str, os.PathLike)):
        with replacing(to) as file:
            file.writelines(parts)
    else:
        to.writelines(parts)


def load(source: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read a file of `save`; refuse damaged, newer and foreign files. The arrays of the value are read-only.

    The first bytes and the size are looked at before the rest is read.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _read(source)
    path = Path(source)
    refuse_special(path)
    with path.open("rb") as file:
        return _read(file)


def to_bytes(value: Any) -> bytes:
    """Make the bytes that `save` writes: equal values, type by type, give equal bytes."""
    return b"".join(_parts(value))


def from_bytes(data: bytes | bytearray | memoryview) -> Any:
    """Make the value that `to_bytes` was given."""
    view = memoryview(data).cast("B")
    if not view.readonly:  # arrays of the value must not change with the buffer
        view = memoryview(bytes(view))
    size = _header_size(view[:9])
    if len(view) < 8 + size:
        raise _truncated(size, len(view) - 8)
    return _made(_header(view[8 : 8 + size]), view[8 + size :])


def refuse_special(path: Path) -> None:
    """Raise an error if a path is a folder, a pipe or a device: no file is there to be read."""
    mode = path.stat().st_mode
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    if not stat.S_ISREG(mode):
        what = kinds.get(stat.S_IFMT(mode), "a device")
        raise ForeignFileError(f"{path} is {what}, and not a file of suffice: name the file that save wrote")


def _made(header: dict[str, Tree], body: memoryview) -> Any:
    """Make the value that a header and the bytes of the tensors describe."""
    text = _check(header, body)
    try:
        description = json.loads(text)
        writer, tree = description["version"], description["value"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DamagedFileError("The description in the file cannot be read") from None
    tensors = _tensors(header, body)
    try:
        return unpack(tree, tensors, str(writer))
    except RecursionError:
        raise DamagedFileError("The description in the file is nested too deeply") from None


def _parts(value: Any) -> list[bytes | memoryview]:
    """Return the parts of a file; arrays are not copied."""
    tree, tensors = pack(value)
    order = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # so that each is aligned
    header: dict[str, Any] = {
        "__metadata__": {"format": str(FORMAT), "suffice": _json({"version": installed_version(), "value": tree})}
    }
    at = 0
    for name in order:
        array = tensors[name]
        header[name] = {
            "dtype": DTYPE_NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    body = [tensors[name].reshape(-1).view(np.uint8).data for name in order]
    header["__metadata__"]["checksum"] = _checksum(header, body)
    text = _json(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise UnstorableError(
            f"The description would have {len(text)} bytes, and at most {MOST_HEADER} are allowed: keep large data in "
            "arrays"
        )
    return [len(text).to_bytes(8, "little"), text, *body]


def _checksum(header: dict[str, Tree], body: Sequence[memoryview]) -> str:
    """Compute the SHA-256 of the header without the checksum, and of the tensors."""
    metadata = {name: value for name, value in header["__metadata__"].items() if name != "checksum"}
    digest = sha256(_json({**header, "__metadata__": metadata}).encode())
    for part in body:
        digest.update(part)
    return digest.hexdigest()


def _json(tree: Tree) -> str:
    """Write JSON in the canonical form, so that equal values give equal bytes."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)


# ------------------------------------------------------------------------------------------- reading a file


def _read(file: BinaryIO) -> Any:
    """Read an open file: its first bytes, then the header, then as many bytes as the header says and one more."""
    first = _take(file, 9)
    size = _header_size(memoryview(first))
    text = first[8:] + _take(file, size - 1)
    if len(text) < size:
        raise _truncated(size, len(text))
    header = _header(memoryview(text))
    body = memoryview(_take(file, _body_size(header)))
    if file.read(1):
        raise DamagedFileError(f"The file should hold {len(body)} bytes of arrays and holds more: take another copy")
    return _made(header, body)


def _take(file: BinaryIO, size: int) -> bytes:
    """Read so many bytes, or fewer where the file ends; no memory is asked for that the file does not fill."""
    parts: list[bytes] = []
    while size > 0:
        part = file.read(min(size, _left(file)))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _left(file: BinaryIO) -> int:
    """Return how many bytes a file has left, or how many to ask for at a time where it does not say."""
    try:
        at = file.tell()
        end = file.seek(0, os.SEEK_END)
        file.seek(at)
    except (OSError, ValueError, AttributeError):
        return AT_ONCE
    return max(end - at, 1)


def _header_size(first: memoryview) -> int:
    """Return the size of the header, from the first bytes; refuse those of another file."""
    size = int.from_bytes(first[:8], "little")
    if len(first) < 8 or not 2 <= size <= MOST_HEADER or bytes(first[8:9]) not in (b"", b"{"):
        found = f"it begins with {bytes(first)!r}" if len(first) else "it is empty"
        raise ForeignFileError(f"This is not a suffice file ({found}): suffice.load reads what save wrote")
    return size


def _truncated(size: int, present: int) -> DamagedFileError:
    return DamagedFileError(
        f"The file is truncated: its header has {size} bytes, and {present} are present. Take another copy."
    )


def _header(text: memoryview) -> dict[str, Tree]:
    try:
        header = json.loads(bytes(text))
    except (ValueError, RecursionError):
        raise DamagedFileError("The header of the file cannot be read. Take another copy.") from None
    if not isinstance(header, dict):
        raise DamagedFileError("The header of the file is not a description of tensors")
    return header


def _body_size(header: dict[str, Tree]) -> int:
    """Return how many bytes the tensors have by the header."""
    return max([0, *(_offsets(entry)[1] for name, entry in header.items() if name != "__metadata__")])


def _check(header: dict[str, Tree], body: memoryview) -> str:
    """Check that a file is as it was written, and return its description."""
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or "suffice" not in metadata:
        raise ForeignFileError("This is a safetensors file, but none that suffice wrote: it holds no description")
    known, found = str(FORMAT), metadata.get("format")
    if isinstance(found, str) and found.isascii() and found.isdigit() and int(found[:9]) > FORMAT:
        raise NewerFileError(
            f"The file has format {found}; suffice {installed_version()} reads formats up to {known}: upgrade suffice"
        )
    if set(metadata) != {"checksum", "format", "suffice"} or found != known:
        raise DamagedFileError(f"The file's metadata are not those of format {known}. Take another copy.")
    expected = _body_size(header)
    if expected != len(body):
        raise DamagedFileError(
            f"The file should hold {expected} bytes of arrays and holds {len(body)}: take another copy"
        )
    try:
        checksum = _checksum(header, [body])
    except (ValueError, RecursionError):  # JSON that `_json` does not write: NaN, or nested too deeply
        checksum = ""
    if checksum != metadata["checksum"] or not checksum:
        raise DamagedFileError("The checksum is wrong: the file was changed after it was written. Take another copy.")
    text = metadata["suffice"]
    if not isinstance(text, str):
        raise DamagedFileError("The file's description is not text")
    return text


def _offsets(entry: Tree) -> tuple[int, int]:
    """Return where a tensor begins and ends; −1 if the entry does not say."""
    match entry:
        case {"data_offsets": [int(start), int(end)]}:
            return start, end
    return -1, -1


def _tensors(header: dict[str, Tree], body: memoryview) -> Tensors:
    """Return arrays that view the bytes of the file. Their sizes are checked before an array is made."""
    out: Tensors = {}
    after = 0
    for name, entry in sorted(header.items(), key=lambda item: _offsets(item[1])):
        if name == "__metadata__":
            continue
        match entry:
            case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(start), int(end)]} if (
                kind in DTYPES and is_shape(shape)
            ):
                dtype = DTYPES[kind]
            case _:
                raise DamagedFileError(f"The file's entry for {name!r} is not that of a tensor")
        if start != after or end - start != prod(shape) * dtype.itemsize:
            raise DamagedFileError(f"The file's entry for {name!r} has a size that does not match its offsets")
        after = end
        array = np.frombuffer(body[start:end], dtype=dtype).reshape(shape)
        if kind == "BOOL" and (array.view(np.uint8) > 1).any():
            raise DamagedFileError(f"{name!r} holds booleans that are neither 0 nor 1")
        if array.nbytes < SMALL or not array.flags.aligned:
            array = array.copy()
        out[name] = array.astype(dtype.newbyteorder("="), copy=False)
    return out
