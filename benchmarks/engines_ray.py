"""Ray: the same rows in 1 to 8 blocks of a local instance."""

from __future__ import annotations

from benchmarks.engines_data import Files
from benchmarks.engines_partitions import ROWS, cases, measured
from benchmarks.harness import Group, Measurement, Settings


class Instance:
    """A local instance on two cores, and files."""

    def __init__(self, files: Files):
        import ray

        self.files = files
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
        ray.data.DataContext.get_current().enable_progress_bars = False


def groups(settings: Settings) -> list[Group]:
    """Fits of rows that are in the object store."""
    rows = settings.rows(ROWS)
    return [Group(lambda: Instance(Files(rows, files=8)), cases("Ray", rows, "blocks", _partitioned))]


def _partitioned(instance: Instance, partitions: int) -> Measurement:
    import ray

    rows = ray.data.read_parquet(str(instance.files.folder)).repartition(partitions).materialize()
    return measured(rows)
