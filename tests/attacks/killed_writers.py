"""kill -9 during `save`, during checkpoints and during `suffice merge`, at random moments.

There is always the old or the new file, whole. A fit that goes on from its checkpoint gives the same bits. The next
write to the same name leaves no temporary file.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import suffice as sf
from attacks.tally import Tally, until
from suffice.cli.program import run
from suffice.engines import checkpoints, files
from suffice.model import storage
from suffice.naive_bayes import GaussianNB

PARTS = 6  # of the seconds of all attacks: in ten minutes more than 1000 kills, also on a busy machine
FILES = 6  # of data, for checkpoints
MOST_KILLS = 4  # of one fit, before it may come to its end
LIMIT = 60.0  # seconds that a process may take to begin
KILLED: list[int | None] = []  # the processes that were still at work


def attack(seconds: float, seed: int) -> Tally:
    """Kill processes that write until the seconds have passed, each kind of writer in turn."""
    tally = Tally()
    if sys.platform == "win32":  # no SIGKILL, and no locks by which leftovers are known
        tally.attempt("nothing", lambda: None)
        return tally
    with tempfile.TemporaryDirectory(prefix="suffice-kill-") as folder:
        attacks = [each(Path(folder)) for each in (Saves, Checkpoints, Merges)]
        KILLED.clear()
        for name, rng in until(seconds, seed):
            attacked = attacks[int(name.rpartition("-")[2]) % len(attacks)]
            tally.attempt(f"killed_writers {type(attacked).__name__} {name}", partial(attacked.strike, rng), ())
    tally["processes killed at work"] = len(KILLED)
    return tally


def killed_after(work: Callable[..., None], arguments: tuple[Any, ...], delay: float) -> bool:
    """Run a function in a process of its own, and kill it after some seconds; return whether it was still at work."""
    here, there = SPAWNING.Pipe(duplex=False)
    process = SPAWNING.Process(target=work, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    try:
        assert here.poll(LIMIT), "the process did not begin"
        here.recv()
        time.sleep(delay)
    finally:
        process.kill()
        process.join()
    if process.exitcode != 0:
        KILLED.append(process.pid)
    return process.exitcode != 0


def temporary_files(folder: Path) -> list[str]:
    """List what was left of files that were being written."""
    return [each for each in os.listdir(folder) if each.endswith(".tmp")]


class Saves:
    """`save` over a file, again and again."""

    def __init__(self, folder: Path):
        rng = np.random.default_rng(0)
        self.folder = folder / "saves"
        self.folder.mkdir()
        self.path = self.folder / "model.suffice"
        models = [GaussianNB().fit(rng.normal(size=(4, 50_000)), [0, 0, 1, 1]) for _ in range(2)]
        self.sources = [folder / f"source{i}.suffice" for i in range(2)]
        for model, source in zip(models, self.sources, strict=True):
            model.save(source)
        models[0].save(self.path)
        self.models, self.whole = models, {source.read_bytes() for source in self.sources}

    def strike(self, rng: np.random.Generator) -> None:
        """Kill one process that saves."""
        killed_after(_save_forever, (self.sources, self.path), rng.uniform(0, 0.03))
        assert self.path.read_bytes() in self.whole, "the file is neither the old nor the new one"
        assert len(temporary_files(self.folder)) <= 1
        self.models[rng.integers(2)].save(self.path)
        assert os.listdir(self.folder) == [self.path.name], "the next write left temporary files"


def _save_forever(ready: Any, sources: list[Path], path: Path) -> None:
    models = [sf.load(source) for source in sources]
    ready.send(None)
    while True:
        for model in models:
            model.save(path)


class Checkpoints:
    """A fit that saves its progress after every few rows."""

    def __init__(self, folder: Path):
        rng = np.random.default_rng(1)
        self.folder, self.data = folder / "checkpoints", folder / "data"
        self.folder.mkdir()
        self.data.mkdir()
        for i in range(FILES):
            rows = {f"x{j}": rng.normal(size=60) for j in range(20)}
            pq.write_table(pa.table({**rows, "y": rng.integers(0, 3, 60)}), self.data / f"{i}.parquet")
        with _saving_often():
            self.expected = storage.to_bytes(sf.BayesClassifier().fit(self.data, "y").statistics_)

    def strike(self, rng: np.random.Generator) -> None:
        """Kill one fit several times, and let it come to its end."""
        path = self.folder / "run.suffice"
        for _ in range(rng.integers(1, MOST_KILLS + 1)):
            if not killed_after(_fit, (self.data, path), rng.uniform(0, 0.12)):
                break
            if path.exists():
                assert isinstance(storage.load(path), checkpoints.Progressed)
        with _saving_often():
            found = sf.BayesClassifier().fit(self.data, "y", checkpoint=path)
        assert storage.to_bytes(found.statistics_) == self.expected, "a fit that went on came to another result"
        assert not os.listdir(self.folder), "a fit that was complete left files"


def _fit(ready: Any, data: Path, path: Path) -> None:
    with _saving_often():
        ready.send(None)
        sf.BayesClassifier().fit(data, "y", checkpoint=path)


@contextmanager
def _saving_often() -> Iterator[None]:
    """Make a checkpoint after every 20 rows."""
    before = files.BATCH, checkpoints.EVERY, checkpoints.SHARE
    files.BATCH, checkpoints.EVERY, checkpoints.SHARE = 20, 0.0, 0.0
    try:
        yield
    finally:
        files.BATCH, checkpoints.EVERY, checkpoints.SHARE = before


class Merges:
    """`suffice merge` over an older sum."""

    def __init__(self, folder: Path):
        rng = np.random.default_rng(2)
        self.folder = folder / "merges"
        self.folder.mkdir()
        self.path, self.parts = self.folder / "all.suffice", [folder / f"part{i}.suffice" for i in range(2)]
        for part in self.parts:
            GaussianNB().fit(rng.normal(size=(4, 20_000)), [0, 0, 1, 1]).save(part)
        self.old = self.parts[0].read_bytes()
        _merge(None, self.parts, self.path)
        self.new = self.path.read_bytes()

    def strike(self, rng: np.random.Generator) -> None:
        """Kill one merge."""
        shutil.copyfile(self.parts[0], self.path)
        killed_after(_merge, (self.parts, self.path), rng.uniform(0, 0.12))
        assert self.path.read_bytes() in (self.old, self.new), "the file is neither the old nor the new one"
        _merge(None, self.parts, self.path)
        assert self.path.read_bytes() == self.new
        assert os.listdir(self.folder) == [self.path.name], "the next merge left temporary files"


def _merge(ready: Any, parts: list[Path], path: Path) -> None:
    if ready is not None:
        ready.send(None)
    with redirect_stdout(StringIO()):
        code = run(["merge", *map(str, parts), "-o", str(path)])
    assert code == 0


# Processes are forked from one that has imported the library and has no threads yet.
SPAWNING: Any = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
if sys.platform != "win32":
    SPAWNING.set_forkserver_preload(["pyarrow.parquet", "suffice.naive_bayes", "suffice.cli.program"])
