"""What was learned so far, kept in a file, so that an interrupted fit resumes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from suffice.core.errors import InvalidOptionError, MismatchError, StorageError, UnwritableFileError
from suffice.core.output_files import check_place, remove
from suffice.core.statistics import ByClass
from suffice.core.validation import Held
from suffice.engines.summarizing import Task
from suffice.model import storage

EVERY = 30.0  # seconds between checkpoints within a file
SHARE = 20.0  # of small files: the next checkpoint comes after this many times the seconds that the last one took


@storage.storable
@dataclass(frozen=True)
class Progressed:
    """The content of a checkpoint: the task and the files, how far the fit came, and the statistics so far."""

    task: str  # its SHA-256
    files: tuple[tuple[str, int, int], ...]  # names, bytes, and when they were changed
    part: Annotated[int, Held(least=0)]  # the file that is read
    row: Annotated[int, Held(least=0)]  # how many of its rows are in the statistics
    found: ByClass[Any] | None


class Checkpoint:
    """The checkpoint of one fit. It is replaced in one step, and deleted when the fit is complete."""

    def __init__(self, path: Path, task: Task, files: Sequence[tuple[str, int, int]]):
        try:
            check_place(path)  # refused before hours of work, not after
        except UnwritableFileError as error:
            raise InvalidOptionError(f"The checkpoint {error}") from error
        self.path, self.files = path, tuple(files)
        self.task = sha256(task.to_bytes()).hexdigest()
        self.saved, self.took = monotonic(), 0.0

    def resume(self) -> tuple[ByClass[Any] | None, int, int]:
        """Return the statistics so far, and the file and row to resume from; without a checkpoint, the beginning."""
        if not self.path.exists():
            return None, 0, 0
        try:
            held = storage.load(self.path)
        except StorageError as error:
            raise type(error)(f"{self.path} is no checkpoint to go on from: {error}. Choose another name") from error
        if not isinstance(held, Progressed):
            raise MismatchError(f"{self.path} holds a {type(held).__name__} and no checkpoint: choose another name")
        if held.task != self.task:
            raise MismatchError(
                f"{self.path} is the checkpoint of another fit: of other columns, parameters or labels. "
                "Remove it to start again, or choose another name"
            )
        for before, now in zip(held.files, self.files, strict=False):
            if before != now:
                raise MismatchError(
                    f"{before[0]} was changed or replaced since the checkpoint {self.path} was written (here is "
                    f"{now[0]} of {now[1]} bytes, there were {before[1]}): remove the checkpoint to start again"
                )
        if len(held.files) != len(self.files):
            raise MismatchError(
                f"{self.path} is the checkpoint of {len(held.files)} files, and here are {len(self.files)}: "
                "remove the checkpoint to start again"
            )
        return held.found, held.part, held.row

    def now_and_then(self, found: ByClass[Any] | None, part: int, row: int) -> None:
        """Within a file: save if the last time was long ago."""
        if monotonic() - self.saved >= EVERY:
            self._save(found, part, row)

    def after_part(self, found: ByClass[Any] | None, part: int) -> None:
        """After a file: save, unless that would take a good part of the time."""
        if part < len(self.files) and monotonic() - self.saved >= SHARE * self.took:
            self._save(found, part, 0)

    def _save(self, found: ByClass[Any] | None, part: int, row: int) -> None:
        began = monotonic()
        try:
            storage.save(Progressed(self.task, self.files, part, row, found), self.path)
        except UnwritableFileError as error:
            raise StorageError(
                f"The checkpoint {error}. The one before it, if any, is still there: call fit again to go on from it"
            ) from error
        self.saved = monotonic()
        self.took = self.saved - began

    def remove(self) -> None:
        """Delete the file: the fit is complete."""
        remove(self.path)
