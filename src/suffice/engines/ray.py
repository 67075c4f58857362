"""Ray Data: one statistic for each block, added several at a time, then by the driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.data import Dataset

from suffice.core.statistics import ByClass
from suffice.engines import workers
from suffice.engines.source import HEAD, Answer, Source
from suffice.engines.summarizing import Task
from suffice.engines.workers import Families

ADVICE = (
    'ray.init(runtime_env={"pip": ["suffice"]}) installs it on the nodes of a cluster; or install it into the image '
    "that the nodes are started from (pip install suffice)"
)


def find(x: Any) -> Source | None:
    """Datasets of Ray."""
    return RaySource(x) if isinstance(x, Dataset) else None


class RaySource(Source):
    """A dataset of Ray."""

    def __init__(self, data: Dataset):
        self.data = data
        self._names = list(data.columns() or [])  # once: where names are not known, Ray reads a row

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._names

    def head(self, rows: int = HEAD) -> Any:
        """The first rows."""
        import pyarrow as pa

        found = ray.get(self.data.limit(rows).to_arrow_refs())
        return pa.concat_tables(found, promote_options="permissive")

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Compute one statistic for each block; workers add some, the driver the rest."""
        workers.no_checkpoint(checkpoint, "Ray")
        summarize, merge = _workers(task.to_bytes(), task.families)
        parts = self.data.select_columns(task.columns).map_batches(summarize, batch_format="pyarrow", batch_size=None)
        groups = parts.map_batches(merge, batch_format="pyarrow", batch_size=workers.FAN)
        with workers.shipping(ADVICE):
            return workers.total(row["state"] for row in groups.take_all())

    def answer(self, answer: Answer) -> Dataset:
        """Return the dataset with the answers as further columns, lazily."""
        workers.new_columns(answer, self.names)
        return self.data.map_batches(
            _answerer(answer.to_bytes(), answer.families), batch_format="pyarrow", batch_size=None
        )


# What the workers run is made of functions within functions: they travel whole, and a worker that lacks the package
# can still say so.


def _workers(task: bytes, families: Families) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    def table(state: bytes | None) -> Any:
        import pyarrow as pa

        return pa.table({"state": pa.array([] if state is None else [state], pa.large_binary())})

    def summarize(block: Any) -> Any:
        from suffice.engines import workers

        workers.arrived(families)
        return table(workers.summarize(task, [block]))

    def merge(states: Any) -> Any:
        from suffice.engines import workers

        return table(workers.merge(states["state"].to_pylist() if states.num_rows else []))

    return summarize, merge


def _answerer(answer: bytes, families: Families) -> Callable[[Any], Any]:
    def append(block: Any) -> Any:
        from suffice.engines import workers

        workers.arrived(families)
        return workers.append(answer, block)

    return append
