"""Files appear under their names when they are complete, whatever happens to the process that writes them."""

import errno
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from suffice.core import output_files
from suffice.core.errors import (
    FolderInPlaceError,
    InvalidOptionError,
    MissingFolderError,
    SufficeError,
    UnwritableFileError,
)
from suffice.core.output_files import check_place, remove, replacing
from suffice.model import storage
from suffice.naive_bayes import GaussianNB

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither SIGKILL nor these locks")


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def left(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".tmp"))


# ---- killed processes

KILLED = """
import json, os, signal, sys
from suffice.core import output_files
from suffice.core.output_files import OutputFile
from suffice.model import storage

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def die_at(point):
    name, _, number = point.partition(" ")
    owner = OutputFile if name == "write" else output_files if name.startswith("_") else os
    plain, calls = getattr(owner, name), [int(number or 1)]
    def counted(*arguments, **options):
        calls[0] -= 1
        if not calls[0]:
            die()
        return plain(*arguments, **options)
    setattr(owner, name, counted)

folder, found = sys.argv[1], {}
for point in sys.argv[2:]:
    path = os.path.join(folder, "model")
    storage.save("old", path)
    before = os.listdir(folder)
    child = os.fork()
    if not child:
        die_at(point)
        storage.save(["new"] * 3, path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    held = os.listdir(folder)
    holds = storage.load(path)
    storage.save("next", path)
    found[point] = [os.WTERMSIG(status), holds, len(held) - len(before), os.listdir(folder)]
print(json.dumps(found))
"""
# The call at which a process is killed, what the file holds then, and how many temporary files are left.
POINTS = {
    "open": ("old", 0),
    "write 1": ("old", 1),
    "write 2": ("old", 1),
    "fsync 1": ("old", 1),
    "_put": ("old", 1),
    "replace": ("old", 1),
    "_sync_folder": (["new"] * 3, 0),
    "fsync 2": (["new"] * 3, 0),
}


@posix
def test_a_killed_process_leaves_the_old_or_the_new_file_and_the_next_write_clears_what_it_left(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path), *POINTS]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert set(found) == set(POINTS)
    for point, (holds, leftovers) in POINTS.items():
        assert found[point] == [signal.SIGKILL, holds, leftovers, ["model"]], point


@posix
def test_what_is_being_written_is_never_removed(tmp_path):
    path = tmp_path / "model"
    with replacing(path) as mine:
        mine.write(b"mine, ")
        write(path, b"theirs")  # another process, or another thread
        assert path.read_bytes() == b"theirs"
        assert len(left(tmp_path)) == 1
        mine.write(b"later")
    assert path.read_bytes() == b"mine, later"
    assert os.listdir(tmp_path) == ["model"]


@posix
def test_only_leftovers_of_the_same_name_and_of_this_machine_are_removed(tmp_path, monkeypatch):
    path, other = tmp_path / "model", tmp_path / "model.old"
    name, start = output_files._machine()
    mine = [f".model.{name}.00000000.1.tmp", f".model.00000000.{start}.1.tmp"]
    theirs = [f".model.00000000.11111111.{name}.tmp", f".model.old.{name}.{start}.1.tmp", f".{name}.tmp", ".model.tmp"]
    for each in (*mine, *theirs):
        (tmp_path / each).write_text("left")
    write(path)
    assert left(tmp_path) == sorted(theirs)
    write(other)
    assert left(tmp_path) == sorted(theirs[:1] + theirs[2:])
    monkeypatch.setattr(output_files, "LOCKS", False)
    (tmp_path / mine[0]).write_text("left")
    write(path)
    assert mine[0] in left(tmp_path)  # without locks nobody knows


@posix
def test_a_folder_that_looks_like_a_leftover_stays(tmp_path):
    name, start = output_files._machine()
    (tmp_path / f".model.{name}.{start}.1.tmp").mkdir()
    write(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert len(left(tmp_path)) == 1


@posix
def test_a_temporary_file_that_was_taken_for_dead_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    plain, opened = os.open, []

    def removed_once(path, *arguments):
        handle = plain(path, *arguments)
        if str(path).endswith(".tmp") and not opened:
            os.unlink(path)
            opened.append(path)
        return handle

    monkeypatch.setattr(os, "open", removed_once)
    write(tmp_path / "model")
    assert opened
    assert (tmp_path / "model").read_bytes() == b"new"


def test_names_as_long_as_the_system_allows_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write(path)
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(UnwritableFileError, match="name too long"):
        write(tmp_path / ("n" * 256))


def test_many_threads_write_one_file_and_it_is_one_of_theirs(tmp_path):
    path, contents = tmp_path / "model", [bytes([i]) * 1000 for i in range(8)]
    threads = [threading.Thread(target=lambda c=c: [write(path, c) for _ in range(5)]) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_that_is_dropped_after_it_was_written_complains_of_nothing(tmp_path):
    with replacing(tmp_path / "m") as file:
        file.write(b"1")
    file.close()  # as Python does, which from 3.13 on shows what goes wrong
    assert (tmp_path / "m").read_bytes() == b"1"


def test_removing_a_file_removes_what_was_left_of_it(tmp_path):
    path = tmp_path / "model"
    name, start = output_files._machine()
    write(path)
    (tmp_path / f".model.{name}.{start}.1.tmp").write_text("left")
    remove(path)
    remove(path)  # it need not be there
    assert left(tmp_path) == ([] if output_files.LOCKS else [f".model.{name}.{start}.1.tmp"])
    assert not path.exists()


# ---- places that cannot be written


def test_places_that_cannot_be_written_are_named_before_anything_is_written(tmp_path):
    (tmp_path / "file").write_text("old")
    for path, kind, builtin, said in (
        (tmp_path / "no" / "x", MissingFolderError, FileNotFoundError, "there is no folder '.*no'"),
        (tmp_path, FolderInPlaceError, IsADirectoryError, "it is a folder: name a file in it"),
        (tmp_path / "file" / "x", UnwritableFileError, OSError, "file' is a file, and no folder"),
    ):
        with pytest.raises(kind, match=said) as caught:
            write(path)
        assert isinstance(caught.value, builtin)
        assert isinstance(caught.value, SufficeError)
        assert caught.value.filename == str(path)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    for name in ("", "a\0b"):
        with pytest.raises(InvalidOptionError, match="is no name of a file"):
            write(name)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


AS_NOBODY = """
import os, sys
from suffice.core.output_files import replacing
os.chdir(sys.argv[1])
if not os.getuid():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in sys.argv[2:]:
    try:
        with replacing(path) as file:
            file.write(b"new")
        print("written")
    except OSError as error:
        print(error)
"""


@posix
def test_files_and_folders_that_may_only_be_read_are_told_so(tmp_path):
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("old")
    (tmp_path / "open" / "x").chmod(0o444)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and folder.stat().st_mode & 0o055 != 0o055:
            folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "closed").chmod(0o555)
    command = [sys.executable, "-c", AS_NOBODY, str(tmp_path), "open/x", "closed/x", "closed/y", "open/y"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    (tmp_path / "closed").chmod(0o755)
    assert "open/x cannot be written: it is a file that you may only read" in said[0]
    assert "closed/x cannot be written: " in said[1]
    assert "you may not write into the folder" in said[2]
    assert said[3] == "written"
    assert (tmp_path / "open" / "x").read_text() == (tmp_path / "closed" / "x").read_text() == "old"


FULL = """
import resource, signal, sys
from suffice.model import storage
import numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    storage.save(np.zeros(100_000), sys.argv[1])
except OSError as error:
    print(type(error).__name__, error, sep=": ")
"""


@posix
def test_a_disk_without_room_is_told_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "model.suffice"
    storage.save(1, path)
    said = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"UnwritableFileError: {path} cannot be written: File too large while writing it. Make room")
    assert storage.load(path) == 1
    assert os.listdir(tmp_path) == ["model.suffice"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_devices_are_written_to_and_not_replaced():
    for device, expected in (("/dev/full", errno.ENOSPC), ("/dev/null", None)):
        if expected is None:
            GaussianNB().fit(np.eye(2), [0, 1]).save(device)
        else:
            with pytest.raises(UnwritableFileError, match="/dev/full cannot be written: No space left") as caught:
                GaussianNB().fit(np.eye(2), [0, 1]).save(device)
            assert caught.value.errno == expected
        assert stat.S_ISCHR(os.stat(device).st_mode)


@posix
def test_a_pipe_is_written_to(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"x" * 200_000)
    reader.join()
    assert got == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_place_is_checked_without_touching_it(tmp_path):
    check_place(tmp_path / "x")
    assert not os.listdir(tmp_path)


def test_links_that_lead_nowhere_are_written_through(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(UnwritableFileError, match="symbolic links"):
        write(tmp_path / "round")
