"""Dask: the same rows in 1 to 8 partitions of a local cluster."""

from __future__ import annotations

from functools import partial

from benchmarks.engines_data import COLUMNS, Files
from benchmarks.engines_spark import PARTITIONS, ROWS, _ours
from benchmarks.harness import Case, Group, Measurement, Settings, Task, interleave, milliseconds, short


class Cluster:
    """Two workers of one thread each, and files."""

    def __init__(self, files: Files):
        from dask.distributed import Client, LocalCluster

        self.files = files
        made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True)
        self.client = Client(made)


def groups(settings: Settings) -> list[Group]:
    """Fits of rows that the workers hold."""
    rows = settings.rows(ROWS)
    name = f"Dask {short(rows)}×{COLUMNS} GaussianNB fit"
    cases = [Case(f"{name}, {n} partitions", None, partial(_partitioned, partitions=n)) for n in PARTITIONS]
    return [Group(lambda: Cluster(Files(rows, files=8)), cases)]


def _partitioned(cluster: Cluster, partitions: int) -> Measurement:
    import dask.dataframe as dd
    from dask.distributed import wait

    frame = dd.read_parquet(cluster.files.pattern).repartition(npartitions=partitions).persist()
    wait(frame)
    seconds, _ = interleave(Task(partial(_ours, frame)), Task(lambda: None), rounds=3)
    return Measurement(min(seconds), milliseconds(seconds), details={"ours_seconds": seconds})
