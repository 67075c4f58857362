"""Spark: one statistic for each partition, added by groups of partitions, then by the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import floor, sqrt
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from suffice.core.errors import InvalidDataError
from suffice.core.statistics import ByClass
from suffice.engines import workers
from suffice.engines.source import FEW, HEAD, Answer, Source
from suffice.engines.spark_sums import moments
from suffice.engines.summarizing import Task
from suffice.engines.workers import Families

ADVICE = (
    "install it into the Python that PYSPARK_PYTHON names on every node (pip install suffice), or ship an environment "
    "that has it by spark-submit --archives or spark.addArtifacts(..., archive=True); it has native code, so that "
    "--py-files alone will not do"
)


def find(x: Any) -> Source | None:
    """Data frames of Spark, classic or Connect."""
    return SparkSource(x) if isinstance(x, DataFrame) else None


class SparkSource(Source):
    """A data frame of Spark."""

    def __init__(self, frame: DataFrame):
        self.frame = frame
        self._first: Any = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    def head(self, rows: int = HEAD) -> Any:
        """Return the first rows; columns that Arrow has no type for are refused."""
        import pyarrow as pa

        try:
            schema = to_arrow_schema(self.frame.schema, timezone="UTC")  # times must have some zone; none is learned
        except Exception as error:  # each version of Spark has its own for this
            reason = str(error) or type(error).__name__
            raise InvalidDataError(
                f"Spark cannot convert all columns to Arrow: {reason}. Leave out, or cast, those of unusual types"
            ) from error
        found = self.frame.take(rows)  # of one partition, if it has as many; `toArrow` would ask all of them
        columns = [_column([row[k] for row in found], field.type) for k, field in enumerate(schema)]
        self._first = pa.Table.from_arrays(columns, schema.names)
        return self._first

    def reduce(self, task: Task, checkpoint: Path | None = None) -> ByClass[Any] | None:
        """Moments by Spark itself; else one statistic for each partition, neighbours added on the workers, in order."""
        workers.no_checkpoint(checkpoint, "Spark")
        rows = self._numbered().select([f"c{self.names.index(name)}" for name in task.columns])
        if task.divided_by is not None:
            return self._by_workers(rows, task)
        found = moments(rows, task, self.head(FEW) if self._first is None else self._first)
        return self._by_workers(rows, task) if found is None else found

    @staticmethod
    def _by_workers(rows: DataFrame, task: Task) -> ByClass[Any] | None:
        parts = rows.mapInArrow(_summarizer(task.to_bytes(), task.families, task.columns), "place int, state binary")
        # Partitions k² to (k + 1)² − 1 make a group: of P partitions, no worker adds more than 2 √P statistics.
        groups = parts.groupBy(floor(sqrt(parts.place)).alias("group"))
        with workers.shipping(ADVICE):
            found = groups.applyInArrow(_merger(), "place int, state binary").collect()
        return workers.total(bytes(row.state) for row in sorted(found, key=lambda row: row.place))

    def answer(self, answer: Answer) -> DataFrame:
        """Return the frame with the answers as further columns, lazily."""
        columns = workers.new_columns(answer, self.names)
        numbered = self._numbered()
        added = [StructField(f"a{k}", from_arrow_type(kind)) for k, kind in enumerate(columns.values())]
        kinds = StructType([*numbered.schema.fields, *added])
        answers = numbered.mapInArrow(_answerer(answer.to_bytes(), answer.families, self.names, kinds.names), kinds)
        return answers.toDF(*self.names, *columns)

    def _numbered(self) -> DataFrame:
        """Rename the columns to c0, c1, …: names with dots cannot be passed to Python."""
        return self.frame.toDF(*(f"c{k}" for k in range(len(self.names))))


def _column(values: list[Any], kind: Any) -> Any:
    """Convert values to Arrow; types that differ between Spark and Arrow, such as maps, become nulls of the type."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.nulls(len(values), kind)


# What the workers run is made of functions within functions: they travel whole, and a worker that lacks the package
# can still say so.


def _summarizer(task: bytes, families: Families, names: list[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def summarize(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        from suffice.engines import workers

        workers.arrived(families)
        state = workers.summarize(task, (batch.rename_columns(names) for batch in batches))
        context = TaskContext.get()
        if state is not None and context is not None:
            place = pa.array([context.partitionId()], pa.int32())
            yield pa.record_batch({"place": place, "state": pa.array([state], pa.binary())})

    return summarize


def _merger() -> Callable[[Any], Any]:
    def merge(group: Any) -> Any:
        import pyarrow as pa

        from suffice.engines import workers

        group = group.sort_by("place")
        state = pa.array([workers.merge(group["state"].to_pylist())], pa.binary())
        return pa.table({"place": group["place"][:1], "state": state})

    return merge


def _answerer(
    answer: bytes, families: Families, names: list[str], numbered: list[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def append(batches: Iterator[Any]) -> Iterator[Any]:
        from suffice.engines import workers

        workers.arrived(families)
        for batch in batches:
            yield workers.append(answer, batch.rename_columns(names)).rename_columns(numbered)

    return append
