"""What the engines of many machines share: what their workers do, and what the driver does with the results.

Everything that is sent is bytes in the library's storage format. Errors of workers are sent as values: an engine would
retry the same rows, and wrap the message in a traceback of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from suffice.core import errors, registry
from suffice.core.errors import InvalidDataError, InvalidOptionError, MissingPackageError, SufficeError
from suffice.core.frames.input import refuse_hazards
from suffice.core.statistics import ByClass
from suffice.engines.source import append, new_columns
from suffice.engines.summarizing import summarize_part
from suffice.families import Family
from suffice.model import storage

__all__ = [
    "FAN",
    "Families",
    "Refusal",
    "append",
    "arrived",
    "from_pandas",
    "merge",
    "new_columns",
    "no_checkpoint",
    "shipping",
    "summarize",
    "total",
]

Families: TypeAlias = tuple[type[Family[Any]], ...]  # classes that users have defined

FAN = 8  # how many statistics are added at a time on the way to the driver


@storage.storable
@dataclass(frozen=True)
class Refusal:
    """An error that a worker raised."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: SufficeError) -> Refusal:
        """Describe an error for the driver; rows can only be counted within a part."""
        if isinstance(error, InvalidDataError):
            return cls("InvalidDataError", f"In a part of the rows, counted from its first: {error}")
        return cls(type(error).__name__, str(error))

    def again(self) -> SufficeError:
        """Return the error for the driver to raise."""
        kind: Any = getattr(errors, self.kind, None)
        named = isinstance(kind, type) and issubclass(kind, SufficeError)
        # Some errors are made from more than a message.
        plain = named and not any(
            "__init__" in vars(base) for base in kind.__mro__ if base.__module__ == kind.__module__
        )
        return kind(self.message) if plain else InvalidDataError(self.message)


# ---- on the workers


def arrived(families: Families) -> None:
    """Register the families that came with a function, unless being unpickled has done so."""
    for family in families:
        registry.register(family)


def summarize(task: bytes, batches: Iterable[Any]) -> bytes | None:
    """Return the statistics of a part, or its error; None if the part has no rows."""
    try:
        return summarize_part(task, batches)
    except SufficeError as error:
        return storage.to_bytes(Refusal.of(error))


def merge(parts: Iterable[bytes | None]) -> bytes | None:
    """Return the sum of several parts, in their order, or the first error among them."""
    found = [part for part in parts if part is not None]
    if len(found) < 2:
        return found[0] if found else None
    total: Any = None
    for part in found:
        value = storage.from_bytes(part)
        if isinstance(value, Refusal):
            return part
        try:
            total = value if total is None else total + value
        except SufficeError as error:  # labels of several kinds, say
            return storage.to_bytes(Refusal.of(error))
    return storage.to_bytes(total)


def from_pandas(frame: Any) -> Any:
    """A data frame of pandas as Arrow rows; NaN becomes null, both mean missing."""
    import pyarrow as pa

    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InvalidDataError(f"Two columns are named {twice!r}: give each a name of its own")
    for name, dtype in frame.dtypes.items():
        if str(dtype) == "object":
            refuse_hazards(frame[name].tolist(), name)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise InvalidDataError(f"A column holds values of several kinds: {error}") from error


# ---- on the driver


def total(parts: Iterable[bytes | None]) -> ByClass[Any] | None:
    """Return the sum of all parts; raise the error of a worker, if there is one."""
    whole = merge(parts)
    found = None if whole is None else storage.from_bytes(whole)
    if isinstance(found, Refusal):
        raise found.again()
    return found


def no_checkpoint(checkpoint: Path | None, engine: str) -> None:
    """Refuse a checkpoint: the engine retries by itself."""
    if checkpoint is not None:
        raise InvalidOptionError(
            f"checkpoint is for rows that come from files: {engine} retries after a failure by itself. Leave it out"
        )


@contextmanager
def shipping(advice: str) -> Iterator[None]:
    """Say how to bring the package to workers that lack it."""
    try:
        yield
    except Exception as error:
        if "No module named 'suffice" not in str(error):
            raise
        raise MissingPackageError(f"The workers have no package suffice: {advice}") from error
