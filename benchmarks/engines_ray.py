"""Ray: the same rows in 1 to 8 blocks of a local instance."""

from __future__ import annotations

from functools import partial

from benchmarks.engines_data import COLUMNS, Files
from benchmarks.engines_spark import PARTITIONS, ROWS, _ours
from benchmarks.harness import Case, Group, Measurement, Settings, Task, interleave, milliseconds, short


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
    name = f"Ray {short(rows)}×{COLUMNS} GaussianNB fit"
    cases = [Case(f"{name}, {n} blocks", None, partial(_partitioned, partitions=n)) for n in PARTITIONS]
    return [Group(lambda: Instance(Files(rows, files=8)), cases)]


def _partitioned(instance: Instance, partitions: int) -> Measurement:
    import ray

    rows = ray.data.read_parquet(str(instance.files.folder)).repartition(partitions).materialize()
    seconds, _ = interleave(Task(partial(_ours, rows)), Task(lambda: None), rounds=3)
    return Measurement(min(seconds), milliseconds(seconds), details={"ours_seconds": seconds})
