"""Files that appear under their names when they are complete: everything that the library writes is written here.

The content goes to a temporary file in the same folder, which then replaces the older file in one step. A process that
is killed leaves its temporary file behind. The next write to the same name removes it, if it can tell that the process
is gone: a process holds a lock on its temporary file, which the system releases when the process ends, however it ends.
Locks are not always visible to other machines that share a folder. So the name of a temporary file also says which
machine wrote it, and only files of this one are removed.
"""

from __future__ import annotations

import errno
import os
import platform
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from io import RawIOBase
from pathlib import Path
from typing import IO, Any

from suffice.core.errors import FolderInPlaceError, InvalidOptionError, MissingFolderError, UnwritableFileError

if sys.platform != "win32":
    import fcntl

LOCKS = sys.platform != "win32"  # elsewhere nothing tells a file of a dead process from one that is being written
LONGEST = 100  # bytes of a name that are repeated in that of its temporary file; the limit of most systems is 255
ENDING = ".tmp"
BOOT = Path("/proc/sys/kernel/random/boot_id")  # of Linux: the same in all containers of a machine


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[OutputFile]:
    """Open a new file that replaces `path` when it is written; after an error `path` is as it was.

    A device or a pipe is written to as it is. Errors of writing are `UnwritableFileError`s that name `path`.
    """
    check_place(path)
    named = os.fspath(path)
    target = Path(os.path.realpath(path))  # replace the target of a link, not the link
    if is_special(target):
        with naming(named):
            device = open(target, "wb", buffering=0)  # noqa: SIM115  # errors of closing are named as well
        with device:
            yield OutputFile(device, named)
        return
    remove_leftovers(target)
    with naming(named):
        temporary, handle = _new_file(target)
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            yield OutputFile(file, named)
            with naming(named):
                os.fsync(handle)
                if LOCKS:  # it is locked until it is in its place
                    _put(temporary, target)
        if not LOCKS:  # Windows renames no open file
            with naming(named):
                _put(temporary, target)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def remove(path: Path) -> None:
    """Remove a file that `replacing` wrote, if it is there, with what killed processes left of it."""
    target = Path(os.path.realpath(path))
    target.unlink(missing_ok=True)
    remove_leftovers(target)


class OutputFile(RawIOBase):
    """An open binary file, also for pyarrow: `close` leaves the inner file open, and errors name it."""

    def __init__(self, file: IO[bytes], name: str):
        self.file, self.name = file, name
        self.discards = False  # after an error nothing more is written

    def write(self, data: Any) -> int:
        """Write all bytes of a buffer."""
        view = memoryview(data).cast("B")
        left = view[len(view) :] if self.discards else view
        while len(left):
            with naming(self.name):
                left = left[self.file.write(left) :]
        return len(view)

    def flush(self) -> None:
        """Pass on what the inner file holds back; one that was closed holds nothing."""
        if not self.file.closed:  # Python closes, and so flushes, what is left, and from 3.13 on shows what goes wrong
            with naming(self.name):
                self.file.flush()

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in errors of writing, such as that of a full disk. A closed pipe is left to the caller."""
    try:
        yield
    except (BrokenPipeError, UnwritableFileError):
        raise
    except OSError as error:
        what = f"{error.strerror or error} while writing it. {_advice(error)}".rstrip(". ")
        raise UnwritableFileError(error.errno or 0, what, name) from error


def _advice(error: OSError) -> str:
    full = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} if LOCKS else {errno.ENOSPC}
    return "Make room, or write to another place" if error.errno in full else ""


# ------------------------------------------------------------------------------------------ what can be written


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path at which no file can be written, before any work is done for it."""
    named = os.fspath(path)
    if not named or "\0" in named:
        raise InvalidOptionError(f"{named!r} is no name of a file: name one to write to")
    target = Path(os.path.realpath(named))
    folder = target.parent
    with naming(named):
        found = _mode(target)
    if found is None and not folder.is_dir():
        if folder.exists():
            raise UnwritableFileError(errno.ENOTDIR, f"{str(folder)!r} is a file, and no folder", named)
        what = f"there is no folder {os.path.dirname(named)!r}: make it first"
        raise MissingFolderError(errno.ENOENT, what, named)
    if found is not None and stat.S_ISDIR(found):
        raise FolderInPlaceError(errno.EISDIR, "it is a folder: name a file in it", named)
    if found is not None and not os.access(target, os.W_OK):
        what = "it is a file that you may only read: change its permissions, or name another file"
        raise UnwritableFileError(errno.EACCES, what, named)
    if (found is None or stat.S_ISREG(found)) and not os.access(folder, os.W_OK | os.X_OK):
        what = f"you may not write into the folder {str(folder)!r}: name a file in another one"
        raise UnwritableFileError(errno.EACCES, what, named)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a device, a pipe or a socket, which must not be replaced."""
    found = _mode(Path(path))
    return found is not None and not stat.S_ISREG(found) and not stat.S_ISDIR(found)


def _mode(path: Path) -> int | None:
    """Return the type and the permissions of a file; None if there is none."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


# ------------------------------------------------------------------------------------------- temporary files


def _new_file(target: Path) -> tuple[Path, int]:
    """Open a new file beside `target`, locked while this process lives."""
    while True:
        marks = ".".join((*_machine(), secrets.token_hex(4)))
        temporary = target.with_name(f"{_beginning(target)}{marks}{ENDING}")
        # `os.open` gives the file the default permissions of this folder, which tempfile does not.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks: then no other process gets the lock either
                fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(temporary), os.fstat(handle)):
                return temporary, handle
        os.close(handle)  # another process has removed it before it was locked


def _put(temporary: Path, target: Path) -> None:
    """Rename a complete file, with the permissions of the one that it replaces."""
    with suppress(FileNotFoundError):
        temporary.chmod(stat.S_IMODE(target.stat().st_mode))
    os.replace(temporary, target)


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk as well, if folders can be opened; the file itself is there already."""
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def remove_leftovers(target: Path) -> None:
    """Remove temporary files of `target` that processes of this machine have left; those being written stay."""
    if not LOCKS:
        return
    beginning = _beginning(target)
    with suppress(OSError):  # a folder that cannot be listed keeps them
        for name in os.listdir(target.parent):
            if name.startswith(beginning) and name.endswith(ENDING):
                marks = name[len(beginning) : -len(ENDING)].split(".")
                if len(marks) == 3 and any(map(str.__eq__, marks, _machine())):
                    _remove_if_dead(target.with_name(name))


def _remove_if_dead(temporary: Path) -> None:
    """Remove a temporary file whose lock is free."""
    if sys.platform == "win32":
        return
    with suppress(OSError):  # it is locked, gone, or another user's
        handle = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            temporary.unlink()
        finally:
            os.close(handle)


def _beginning(target: Path) -> str:
    """Return how the names of the temporary files of `target` begin; a long name is represented by its hash."""
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= LONGEST else sha256(name).hexdigest()[:16]}."


@cache
def _machine() -> tuple[str, str]:
    """Return marks of this machine: by its name, which stays when it restarts, and by its start, if that has a number.

    Containers of one machine have several names and one start.
    """
    name = platform.node()
    try:
        start = BOOT.read_text()
    except OSError:
        start = name
    return sha256(name.encode(errors="replace")).hexdigest()[:8], sha256(start.encode()).hexdigest()[:8]
