"""A fit that was broken off goes on where it was, and comes to the same."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from suffice import BayesClassifier, Gaussian, TextClassifier
from suffice.core.errors import ForeignFileError, InvalidOptionError, MismatchError, StorageError
from suffice.engines import checkpoints
from suffice.engines.summarizing import Task
from suffice.model import storage
from suffice.naive_bayes import CategoricalNB, GaussianNB

ESTIMATORS = {
    "GaussianNB": (GaussianNB, ["a", "b"]),
    "CategoricalNB": (CategoricalNB, ["kind"]),
    "BayesClassifier": (BayesClassifier, ["a", "b", "kind"]),
    "TextClassifier": (TextClassifier, ["text"]),
}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for i in range(5):
        y = rng.integers(0, 2, 400)
        columns = {"a": rng.normal(y, 1.0), "b": rng.normal(1e6, 3.0, 400), "kind": [f"k{i}{j}" for j in y]}
        text = [f"word{j} other{k}" for j, k in zip(y, rng.integers(0, 5, 400), strict=True)]
        pq.write_table(pa.table({**columns, "text": text, "y": y}), tmp_path / "data" / f"{i}.parquet")
    return tmp_path


def write(folder, names):
    """The same files with these columns only."""
    to = folder / "some"
    to.mkdir(exist_ok=True)
    for path in (folder / "data").iterdir():
        pq.write_table(pq.read_table(path, columns=[*names, "y"]), to / path.name)
    return to


def broken_off(monkeypatch, model, files, checkpoint, batches, **options):
    """Fit until some batches are summarized, and then fail."""
    plain, left = Task.summarize, [batches]

    def summarize(task, batch, onto=None):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return plain(task, batch, onto)

    with monkeypatch.context() as patched:
        patched.setattr(Task, "summarize", summarize)
        with pytest.raises(KeyboardInterrupt):
            model.fit(files, "y", checkpoint=checkpoint, **options)


def learned(model):
    return storage.to_bytes(model.statistics_)


def count_batches(monkeypatch):
    rows, plain = [], Task.summarize
    monkeypatch.setattr(Task, "summarize", lambda task, b, onto=None: rows.append(b.num_rows) or plain(task, b, onto))
    return rows


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_going_on_after_some_files_gives_the_same_to_the_bit(name, batches, folder, monkeypatch):
    make, names = ESTIMATORS[name]
    files, checkpoint = write(folder, names), folder / "run.suffice"
    monkeypatch.setattr("suffice.engines.checkpoints.SHARE", 0.0)
    expected = make().fit(files, "y")
    model = make()
    broken_off(monkeypatch, model, files, checkpoint, batches)
    assert not hasattr(model, "classes_")
    assert checkpoint.exists() == (batches > 0)
    rows = count_batches(monkeypatch)
    model.fit(files, "y", checkpoint=str(checkpoint))
    assert sum(rows) == 400 * (5 - batches)
    assert learned(model) == learned(expected)
    assert sorted(path.name for path in folder.iterdir()) == ["data", "some"]  # it is removed, and nothing is left over


def test_within_a_file_it_goes_on_from_the_row(folder, monkeypatch):
    files, checkpoint = write(folder, ["a", "b"]), folder / "run.suffice"
    monkeypatch.setattr("suffice.engines.files.BATCH", 150)
    monkeypatch.setattr("suffice.engines.checkpoints.EVERY", 0.0)
    expected = GaussianNB().fit(files, "y")
    model = GaussianNB()
    broken_off(monkeypatch, model, files, checkpoint, 4)  # 150 + 150 + 100 of the first file, 150 of the second
    held = storage.load(checkpoint)
    assert (held.part, held.row) == (1, 150)
    rows = count_batches(monkeypatch)
    assert learned(model.fit(files, "y", checkpoint=checkpoint)) == learned(expected)
    assert sum(rows) == 5 * 400 - 550


def test_without_a_failure_a_checkpoint_changes_nothing(folder):
    files = write(folder, ["a", "b"])
    model = GaussianNB().fit(files, "y", checkpoint=folder / "run.suffice")
    assert learned(model) == learned(GaussianNB().fit(files, "y"))
    assert not (folder / "run.suffice").exists()


def test_a_checkpoint_of_another_fit_is_refused(folder, monkeypatch):
    files, checkpoint = write(folder, ["a", "b"]), folder / "run.suffice"
    broken_off(monkeypatch, GaussianNB(), files, checkpoint, 2)
    before = checkpoint.read_bytes()
    with pytest.raises(MismatchError, match="another fit"):
        GaussianNB().fit(files, "a", checkpoint=checkpoint)
    with pytest.raises(MismatchError, match="another fit"):
        GaussianNB().fit(files, "y", "b", checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    os.rename(files / "4.parquet", folder / "4.parquet")
    with pytest.raises(MismatchError, match="of 5 files, and here are 4"):
        GaussianNB().fit(files, "y", checkpoint=checkpoint)
    os.rename(folder / "4.parquet", files / "4.parquet")
    times = os.stat(files / "1.parquet")
    os.utime(files / "1.parquet", ns=(times.st_atime_ns, times.st_mtime_ns + 10**9))  # other rows may be as long
    with pytest.raises(MismatchError, match=r"1\.parquet was changed"):
        GaussianNB().fit(files, "y", checkpoint=checkpoint)
    os.utime(files / "1.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    pq.write_table(pq.read_table(files / "1.parquet").slice(0, 10), files / "1.parquet")
    with pytest.raises(MismatchError, match=r"1\.parquet was changed"):
        GaussianNB().fit(files, "y", checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_files_that_are_no_checkpoints_are_left_alone(folder):
    files = write(folder, ["a", "b"])
    GaussianNB().fit(files, "y").save(folder / "model.suffice")
    (folder / "notes.txt").write_text("do not lose these")
    with pytest.raises(MismatchError, match="no checkpoint"):
        GaussianNB().fit(files, "y", checkpoint=folder / "model.suffice")
    with pytest.raises(ForeignFileError, match=r"notes\.txt is no checkpoint"):
        GaussianNB().fit(files, "y", checkpoint=folder / "notes.txt")
    assert (folder / "notes.txt").read_text() == "do not lose these"


def test_a_name_that_cannot_be_written_is_told_before_any_row_is_read(folder, monkeypatch):
    files, rows = write(folder, ["a", "b"]), count_batches(monkeypatch)
    with pytest.raises(InvalidOptionError, match="there is no folder"):
        GaussianNB().fit(files, "y", checkpoint=folder / "nowhere" / "run.suffice")
    with pytest.raises(InvalidOptionError, match="is a folder"):
        GaussianNB().fit(files, "y", checkpoint=folder)
    assert not rows


KILLED = """
import os, signal, sys
from suffice.model import storage
from suffice.engines import checkpoints
from suffice.naive_bayes import GaussianNB

checkpoints.SHARE, plain, left = 0.0, storage.save, [3]

def save(value, to):  # the process dies while it writes, when the file is there but not yet in its place
    left[0] -= 1
    if not left[0]:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    plain(value, to)

storage.save = save
GaussianNB().fit(sys.argv[1], "y", checkpoint=sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_that_is_killed_while_it_writes_leaves_the_checkpoint_before(folder, monkeypatch):
    files, checkpoint = write(folder, ["a", "b"]), folder / "run.suffice"
    died = subprocess.run([sys.executable, "-c", KILLED, files, checkpoint], check=False)
    assert died.returncode == -signal.SIGKILL
    assert storage.load(checkpoint).part == 2
    rows = count_batches(monkeypatch)
    model = GaussianNB().fit(files, "y", checkpoint=checkpoint)
    assert sum(rows) == 3 * 400
    assert learned(model) == learned(GaussianNB().fit(files, "y"))


def test_a_full_disk_leaves_the_checkpoint_before(folder, monkeypatch):
    files, checkpoint = write(folder, ["a", "b"]), folder / "run.suffice"
    monkeypatch.setattr("suffice.engines.checkpoints.SHARE", 0.0)
    broken_off(monkeypatch, GaussianNB(), files, checkpoint, 2)
    before = checkpoint.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    model = GaussianNB()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left on device"):
            model.fit(files, "y", checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert not hasattr(model, "classes_")
    assert sorted(path.name for path in folder.iterdir()) == ["data", "run.suffice", "some"]
    assert learned(model.fit(files, "y", checkpoint=checkpoint)) == learned(GaussianNB().fit(files, "y"))


def test_rows_that_come_from_no_file_have_no_checkpoints(folder):
    table = pq.read_table(folder / "data" / "0.parquet", columns=["a", "y"])
    for rows in (ds.dataset(table), table.to_reader(), iter([table])):
        with pytest.raises(InvalidOptionError, match="checkpoint is for rows that come from files"):
            GaussianNB().fit(rows, "y", checkpoint=folder / "run.suffice")


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_checkpoints_take_a_small_share_of_the_time_and_none_follows_the_last_file(folder, monkeypatch):
    clock, saved = Clock(), []

    def save(value, _):
        saved.append((clock.now, value.part, value.row))
        clock.now += 2.0  # it takes two seconds

    monkeypatch.setattr(checkpoints, "monotonic", clock)
    monkeypatch.setattr(checkpoints.storage, "save", save)
    task = Task(Gaussian(), ("a",), "y", None)
    kept = checkpoints.Checkpoint(folder / "run.suffice", task, [(f"{i}.csv", 1, 1) for i in range(5)])
    kept.after_part(None, 1)  # nothing is known of how long it takes: the first file is saved
    assert saved == [(0.0, 1, 0)]
    for seconds, part, expected in ((1.0, 2, 1), (38.9, 3, 1), (0.1, 3, 2), (500.0, 5, 2), (0.0, 4, 3)):
        clock.now += seconds  # 20 times the two seconds must have passed, and a file must be left
        kept.after_part(None, part)
        assert len(saved) == expected, part
    for seconds, expected in ((29.9, 3), (0.1, 4), (29.9, 4)):
        clock.now += seconds
        kept.now_and_then(None, 4, 7)
        assert len(saved) == expected
    assert saved[-1][1:] == (4, 7)
