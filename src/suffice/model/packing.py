"""Values as a tree of plain JSON and named arrays, and back.

Only dataclasses of `core.registry` are ever made, by setting their fields. No code in a file is run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib.metadata import version
from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core import registry
from suffice.core.errors import DamagedFileError, InvalidDataError, MismatchError, UnstorableError
from suffice.core.frames import Frame
from suffice.core.frames.arrow_streams import read_stream
from suffice.core.frozen_options import same_options
from suffice.core.validation import Sizes, StoredFieldError, check_stored

Tensors: TypeAlias = dict[str, NDArray[Any]]
Tree: TypeAlias = Any  # a value of JSON

DTYPES = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}") for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


@cache
def installed_version() -> str:
    """Return the version of suffice."""
    return version("suffice")


def is_shape(shape: list[Any]) -> bool:
    """Return whether NumPy can make an array of that shape. NumPy limits its size even if one side is 0."""
    integers = all(type(n) is int and n >= 0 for n in shape)
    return integers and len(shape) <= 32 and prod(n for n in shape if n) < 1 << 56


def pack(value: Any) -> tuple[Tree, Tensors]:
    """Split a value into a tree of JSON and its arrays, which are named by their path in the value."""
    packer = _Packer()
    return packer.tree(value, ""), packer.tensors


def unpack(tree: Tree, tensors: Tensors, writer: str | None = None) -> Any:
    """Make the value that `pack` was given; errors name `writer`, the version of suffice that wrote it."""
    return _Unpacker(tensors, writer or installed_version()).whole(tree)


def _arrow_bytes(frame: Frame) -> bytes:
    """Return a table in the format of Arrow, each column in one chunk."""
    import pyarrow as pa

    table = frame.table().combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _frame(data: NDArray[Any], rows: int, path: str) -> Frame:
    """Return the table that `_arrow_bytes` wrote."""
    if data.dtype != np.uint8 or data.ndim != 1:
        raise DamagedFileError(f"{_at(path)}the file's rows must be bytes, found {data.dtype} of shape {data.shape}")
    try:
        table = read_stream(data.tobytes())
    except InvalidDataError as error:
        raise DamagedFileError(f"{_at(path)}the file's rows cannot be read: {error}") from None
    if table.num_columns and table.num_rows != rows:
        raise DamagedFileError(f"{_at(path)}the file should hold {rows} rows and holds {table.num_rows}")
    return Frame(dict(zip(table.column_names, table.columns, strict=True)), rows)


class _Packer:
    """Writes values as JSON. Tuples, arrays and instances become JSON objects that name their type."""

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
        if array.dtype.newbyteorder("<") not in DTYPE_NAMES:
            raise UnstorableError(
                f"{_at(path)}an array of {array.dtype} cannot be stored: safetensors has no such type"
            )
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            return {"array": self.tensor(array.T, path), "order": "F"}  # the order of memory changes how sums round
        return {"array": self.tensor(array, path)}

    def column(self, values: list[Any], path: str) -> Tree:
        """Write Python objects: those of one plain type as an array, tuples part by part, others one by one."""
        types = set(map(type, values))
        if types == {tuple} and values[0] and len(set(map(len, values))) == 1:
            parts = enumerate(zip(*values, strict=True))
            return {"tuple": [self.column(list(part), _join(path, i)) for i, part in parts]}
        plain = types in ({bool}, {float})
        plain = plain or (types == {int} and min(values) >= -(1 << 63) and max(values) < 1 << 63)
        if types == {str}:  # NumPy makes all as wide as the longest, and drops trailing NULs
            lengths = [len(v) for v in values]
            plain = len(values) * max(lengths) <= 4 * sum(lengths) + 1024 and not any(v.endswith("\0") for v in values)
        return self.array(np.array(values), path) if plain else self.items(values, path)

    def strings(self, array: NDArray[Any], path: str) -> Tree:
        """Write strings as arrays of the numbers of their characters, as wide as the longest string."""
        kind, unit = ("str", np.dtype("<u4")) if array.dtype.kind == "U" else ("bytes", np.dtype("u1"))
        width = int(np.strings.str_len(array).max(initial=1))
        narrow = array.reshape(-1).astype(f"<{array.dtype.kind}{width}")
        return {"array": self.tensor(narrow.view(unit).reshape(*array.shape, width), path), "of": kind}

    def tensor(self, array: NDArray[Any], path: str) -> str:
        name, again = path or "value", 1
        while name in self.tensors or name == "__metadata__":  # two paths may have the same text, as a.b and a, b
            again += 1
            name = f"{path}#{again}"
        little = array.dtype.newbyteorder("<")
        self.tensors[name] = np.ascontiguousarray(array, dtype=little).reshape(array.shape)
        return name


class _Unpacker:
    """Makes the value that a tree describes; refuses what `_Packer` does not write."""

    def __init__(self, tensors: Tensors, writer: str):
        self.tensors, self.writer = dict(tensors), writer
        self.sizes: dict[int, Sizes] = {}  # of each object that was made, by its id

    def whole(self, tree: Tree) -> Any:
        """Make the value; every tensor must be part of it."""
        value = self.value(tree, "")
        if self.tensors:
            raise DamagedFileError(f"{min(self.tensors)}: the file's description does not use this tensor")
        return value

    def tensor(self, name: str, path: str) -> NDArray[Any]:
        """Take a tensor. Each is used once: otherwise a small file could describe a large value."""
        if name not in self.tensors:
            raise DamagedFileError(f"{_at(path)}the file holds no tensor {_short(name)}, or describes it twice")
        return self.tensors.pop(name)

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
            case {"dtype": str(name), **rest} if not rest and name in {d.str for d in DTYPES.values()}:
                return np.dtype(name)
            case {"objects": node, "shape": list(shape), **rest} if not rest:
                return self.objects(self.column(node, path), shape, path)
            case {"array": str(name), **layout}:
                return _read_only(self.array(self.tensor(name, path), layout, path))
            case {"arrow": str(name), "rows": int(rows), **rest} if not rest and type(rows) is int and rows >= 0:
                return _frame(self.tensor(name, path), rows, path)
            case {"class": str(name), "fields": dict(values), **rest} if not rest:
                return self.instance(name, values, path)
        raise DamagedFileError(f"{_at(path)}the file's description cannot be read: {_short(tree)}")

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
        if not is_shape(shape) or prod(shape) != len(items):
            raise DamagedFileError(f"{_at(path)}{len(items)} values do not fill an array of shape {_short(shape)}")
        out = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # one by one, as NumPy would make tuples an axis
            out[i] = item
        return _read_only(out.reshape(shape))

    def array(self, array: NDArray[Any], layout: dict[str, Tree], path: str) -> NDArray[Any]:
        match layout:
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
        raise DamagedFileError(f"{_at(path)}the file's array is not {_short(layout)}")

    def instance(self, name: str, values: dict[str, Tree], path: str) -> Any:
        cls: type | None = registry.find(name)
        if cls is None or not is_dataclass(cls):
            raise DamagedFileError(
                f"{_at(path)}suffice {installed_version()} has no {name!r}. Suffice {self.writer} wrote the "
                "file: upgrade if that is newer; if the file holds an estimator, read it by suffice.load"
            )
        known = fields(cls)
        needed = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
        odd = (needed - set(values)) | (set(values) - {f.name for f in known})
        if odd:
            raise DamagedFileError(
                f"{_at(path)}{name} has other fields in suffice {self.writer}, which wrote the file, than in "
                f"{installed_version()}: {', '.join(sorted(odd))}"
            )
        # An older version may not have had a field that has a default.
        held = {f.name: self.value(values[f.name], _join(path, f.name)) for f in known if f.name in values}
        try:
            sizes = check_stored(cls, held, lambda part: self.sizes.get(id(part)))
            made = cls(**{f.name: held[f.name] for f in known if f.init and f.name in held})  # checks its options
            for field in (each for each in known if each.name in held):
                if field.init or field.compare:
                    _set_as_stored(made, field.name, held[field.name])
                else:  # what follows from the other fields, and takes long to compute
                    object.__setattr__(made, field.name, held[field.name])
            if len(held) < len(known) and hasattr(made, "rounded"):
                made = made.rounded()  # earlier versions did not keep what rounding took from sums
            if hasattr(made, "check_agreement"):
                made.check_agreement()
        except StoredFieldError as error:
            raise DamagedFileError(f"{_join(path, error.field)}: the file holds no {name}: {error}") from error
        except Exception as error:  # any error means that the file is damaged
            raise DamagedFileError(f"{_at(path)}the file holds no {name}: {error}") from error
        self.sizes[id(made)] = sizes
        return made


def _set_as_stored(made: Any, field: str, stored: Any) -> None:
    """Set a field to the stored value, as the constructor may round; refuse one that the constructor replaces."""
    own = getattr(made, field)
    if own is stored:
        return
    if isinstance(stored, np.ndarray) and isinstance(own, np.ndarray) and own.shape == stored.shape:
        same = np.allclose(own, stored, rtol=1e-9, atol=0.0)
    else:
        same = type(own) is type(stored) and same_options(own, stored)
    if not same:
        raise MismatchError(f"{field} must be {_short(own)}, found {_short(stored)}")
    object.__setattr__(made, field, stored)


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
            "the new one: make it again"
        )
    return (
        f"{_at(path)}{_short(value)} of type {kind.__module__}.{kind.__qualname__} cannot be stored: only numbers, "
        "strings, lists, tuples, dictionaries, arrays, and suffice's own statistics, priors and families can"
    )
