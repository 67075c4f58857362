"""Dask: the same rows in 1 to 8 partitions of a local cluster."""

from __future__ import annotations

from benchmarks.engines_data import Files
from benchmarks.engines_partitions import ROWS, cases, measured
from benchmarks.harness import Group, Measurement, Settings


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
    return [Group(lambda: Cluster(Files(rows, files=8)), cases("Dask", rows, "partitions", _partitioned))]


def _partitioned(cluster: Cluster, partitions: int) -> Measurement:
    import dask.dataframe as dd
    from dask.distributed import wait

    frame = dd.read_parquet(cluster.files.pattern).repartition(npartitions=partitions).persist()
    wait(frame)
    return measured(frame)
