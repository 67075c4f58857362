"""Dask: one statistic for each partition, added as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd

from suffice.core.statistics import ByClass
from suffice.engines import workers
from suffice.engines.source import HEAD, Answer, Source
from suffice.engines.summarizing import Task
from suffice.engines.workers import Families

ADVICE = (
    "install it into the environment that the workers are started in (pip install suffice), or, on a cluster that "
    'runs, client.register_plugin(distributed.PipInstall(["suffice"]))'
)


def find(x: Any) -> Source | None:
    """Data frames of Dask."""
    return DaskSource(x) if isinstance(x, dd.DataFrame) else None


class DaskSource(Source):
    """A data frame of Dask."""

    def __init__(self, frame: Any):
        self.frame = frame

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.frame.columns]

    def head(self, rows: int = HEAD) -> Any:
        """Return the first rows, from as few partitions as possible."""
        import pandas as pd

        found: list[Any] = []
        at, step = 0, 1
        while at < self.frame.npartitions and rows > 0:  # more at a time, where partitions are small
            some = self.frame.partitions[at : at + step]
            found.append(some.head(rows, npartitions=-1))
            rows, at, step = rows - len(found[-1]), at + step, 2 * step
        return workers.from_pandas(pd.concat([part for part in found if len(part)] or found[:1]))

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Compute one statistic for each partition, and add several at a time until there is one."""
        workers.no_checkpoint(checkpoint, "Dask")
        summarize, merge = (dask.delayed(function, pure=False) for function in _workers(task.to_bytes(), task.families))
        parts = [summarize(part) for part in self.frame[self._columns(task.columns)].to_delayed()]
        while len(parts) > 1:
            parts = [merge(parts[k : k + workers.FAN]) for k in range(0, len(parts), workers.FAN)]
        with workers.shipping(ADVICE):
            return workers.total(dask.compute(*parts))

    def answer(self, answer: Answer) -> Any:
        """Return the frame with the answers as further columns, lazily."""
        import pyarrow as pa

        added = workers.new_columns(answer, self.names)
        empty = pa.table({name: pa.array([], kind) for name, kind in added.items()}).to_pandas()
        meta = self.frame._meta.assign(**{name: empty[name] for name in added})
        return self.frame.map_partitions(
            _answerer(answer.to_bytes(), answer.families, self._columns(answer.predictor.columns)), meta=meta
        )

    def _columns(self, names: Sequence[str]) -> list[Any]:
        """What Dask calls the columns, whose names need not be strings."""
        return [self.frame.columns[self.names.index(name)] for name in names]


# What the workers run is made of functions within functions: they travel whole, and a worker that lacks the package
# can still say so.


def _workers(
    task: bytes, families: Families
) -> tuple[Callable[[Any], bytes | None], Callable[[list[Any]], bytes | None]]:
    def summarize(part: Any) -> bytes | None:
        from suffice.engines import workers

        workers.arrived(families)
        return workers.summarize(task, map(workers.from_pandas, [part]))

    def merge(parts: list[Any]) -> bytes | None:
        from suffice.engines import workers

        return workers.merge(parts)

    return summarize, merge


def _answerer(answer: bytes, families: Families, columns: list[Any]) -> Callable[[Any], Any]:
    def append(part: Any) -> Any:
        from suffice.engines import workers

        workers.arrived(families)
        table = workers.append(answer, workers.from_pandas(part[columns]))
        added = table.select(table.column_names[len(columns) :]).to_pandas()
        return part.assign(**{name: added[name].set_axis(part.index) for name in added})

    return append
