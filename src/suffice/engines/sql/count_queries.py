"""Distinct values and their weight in each class: one query with a grouping set for each column.

The result is rows with weights, which statistics of values summarize like any rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import sqlglot.expressions as sge

from suffice.core import frames
from suffice.core.arrays import Array, Categories, Codes
from suffice.core.frames import as_frame
from suffice.core.statistics import Counts, Statistic
from suffice.engines.sql.table_columns import (
    BlockStatistics,
    SqlRows,
    SummedBlock,
    class_labels,
    database_error,
    execute,
    naming_column,
)
from suffice.formulas import X

GROUPING_SETS = (
    "athena",
    "bigquery",
    "databricks",
    "duckdb",
    "mssql",
    "oracle",
    "postgres",
    "pyspark",
    "snowflake",
    "trino",
)


def count_statistics(rows: SqlRows, wanted: Mapping[int, SummedBlock]) -> BlockStatistics:
    """Compute the statistics of blocks that are made of distinct values."""
    sets: list[tuple[str, ...]] = []
    sets_of = {}
    for k, block in wanted.items():
        new = [block.columns] if block.summary.joint else [(c,) for c in block.columns]
        sets_of[k] = np.arange(len(sets), len(sets) + len(new))
        sets += new
    used = rows.cleaned.select("y", *(["w"] if rows.weighted else []), *(c for s in sets for c in s))
    result = grouped(used, sets)
    labels = class_labels(result, rows.task.target)
    which = frames.numbers(result["which"])
    weight = frames.numbers(result["n"])
    n = np.zeros(len(labels.values))
    n[labels.codes[which < 0]] = weight[which < 0]
    statistics = {}
    for k, block in wanted.items():
        part = np.flatnonzero(np.isin(which, sets_of[k]))
        statistics[k] = _of_rows(block, result.take(part), labels.codes[part], len(n), weight[part])
    return BlockStatistics(labels.values, n, statistics)


def _of_rows(block: SummedBlock, result: pa.Table, codes: Codes, n_classes: int, weight: Array) -> Statistic:
    """Summarize rows with weights; in each, all columns are missing but those of one grouping set."""
    summary = block.summary
    if summary.of is not X or block.block.found is not None:  # the database has computed the formula
        x = np.stack([frames.numbers(result[c]) for c in block.columns], axis=1)
        entries = Categories(x, None) if summary.statistic is Counts else x
        return summary.statistic.of(entries, codes, n_classes, weight, **summary.options)
    frame = as_frame(result.select(list(block.columns)).rename_columns(list(block.block.names)))
    with naming_column(block):
        x = block.block.read(frame)
        block.block.family.check_width(x.shape[1])
        return summary.take(x, codes, n_classes, weight)


def grouped(t: ir.Table, sets: list[tuple[str, ...]]) -> pa.Table:
    """Return the weight `n` of each class, and of each class and value; `which` is the set of a row, −1 for a class."""
    try:
        backend = t.get_backend()
    except Exception as error:  # no table, or tables of several databases
        raise database_error("counts by class", error) from error
    in_database = not t.op().find(ops.InMemoryTable)  # a table in memory has no name in SQL yet
    query = _in_sql(backend, t, sets) if backend.name in GROUPING_SETS and in_database else _by_union(t, sets)
    return execute(query, "counts by class")


def _in_sql(backend: Any, t: ir.Table, sets: list[tuple[str, ...]]) -> ir.Table:
    """Return a query with grouping sets, as SQL text: Ibis has no expression for it."""

    def named(column: str) -> str:
        return sge.to_identifier(column, quoted=True).sql(backend.dialect)

    names = [named(c) for c in t.columns if c != "w"]
    counted = sge.Sum(this=sge.column("w", quoted=True)) if "w" in t.columns else sge.Count(this=sge.Star())
    n = sge.Cast(this=counted, to=sge.DataType.build("double")).sql(backend.dialect)
    tests = (" AND ".join(f"GROUPING({named(c)}) = 0" for c in s) for s in sets)
    cases = " ".join(f"WHEN {test} THEN {k}" for k, test in enumerate(tests))
    groups = ", ".join(f"({', '.join(map(named, ('y', *s)))})" for s in [(), *sets])
    text = (
        f"SELECT {', '.join(names)}, CASE {cases} ELSE -1 END AS {named('which')}, {n} AS {named('n')} "
        f"FROM ({backend.compile(t)}) AS {named('rows')} GROUP BY GROUPING SETS ({groups})"
    )
    schema = {c: t[c].type() for c in t.columns if c != "w"} | {"which": "int64", "n": "float64"}
    return backend.sql(text, schema=schema)


def _by_union(t: ir.Table, sets: list[tuple[str, ...]]) -> ir.Table:
    """Return the same as a union of one query for each set."""
    n = t.count() if "w" not in t.columns else t["w"].sum()
    queries = []
    for k, columns in enumerate([(), *sets]):
        grouped = t.group_by(["y", *columns]).aggregate(n=n.cast("float64"))
        others = {c: ibis.null(t[c].type()) for c in t.columns if c not in ("y", "w", *columns)}
        query = grouped.mutate(which=ibis.literal(k - 1, "int64"), **others)
        queries.append(query.select("y", *(c for c in t.columns if c not in ("y", "w")), "which", "n"))
    return ibis.union(*queries) if len(queries) > 1 else queries[0]
