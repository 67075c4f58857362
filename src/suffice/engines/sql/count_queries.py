"""Distinct values and how often each class has them: one query with a grouping set for each column.

What comes back are rows with weights, which statistics of values read as they read any rows.
"""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import sqlglot.expressions as sge

from suffice.core import frames
from suffice.core.arrays import Categories
from suffice.core.frames import as_frame
from suffice.core.statistics import Counts, Sample
from suffice.engines.sql.sum_queries import Found
from suffice.engines.sql.table_columns import Part, Rows, classes, failed, run, without_rows
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


def values(rows: Rows) -> Found:
    """The statistics that are made of distinct values."""
    wanted = {k: part for k, part in enumerate(rows.parts) if part.kind in (Counts, Sample)}
    sets: list[tuple[str, ...]] = []
    own = {}
    for k, part in wanted.items():
        new = [part.columns] if part.summary.joint else [(c,) for c in part.columns]
        own[k] = np.arange(len(sets), len(sets) + len(new))
        sets += new
    used = rows.cleaned.select("y", *(["w"] if rows.weighted else []), *(c for s in sets for c in s))
    found = _grouped(used, sets)
    codes, labels = classes(found, rows.task.target)
    which = frames.numbers(found["which"])
    weight = frames.numbers(found["n"])
    whole = which < 0
    n = np.zeros(len(labels))
    n[codes[whole]] = weight[whole]
    parts = {}
    for k, part in wanted.items():
        some = np.flatnonzero(np.isin(which, own[k]))
        parts[k] = _of_rows(part, found.take(some), codes[some], len(labels), weight[some])
    return Found(labels, n, parts)


def _of_rows(part: Part, found: Any, codes: Any, n_classes: int, weight: Any) -> Any:
    """The statistic of rows, of which each has its weight, and all but one column, or one combination, missing."""
    if part.summary.of is not X:  # the database has computed the formula
        x = np.stack([frames.numbers(found[c]) for c in part.columns], axis=1)
        return part.kind.of(Categories(x, None) if part.kind is Counts else x, codes, n_classes, weight, **part.options)
    frame = as_frame(found.select(list(part.columns)).rename_columns(list(part.block.names)))
    with without_rows(part):
        x = part.block.read(frame)
        part.block.family.check_width(x.shape[1])
        return part.summary.take(x, codes, n_classes, weight)


def _grouped(t: Any, sets: list[tuple[str, ...]]) -> Any:
    """The weight `n` of each class, and of each class and value; `which` set a row is of, −1 for the classes."""
    try:
        backend = t.get_backend()
    except Exception as error:  # no table, or tables of several databases
        raise failed("counts by class", error) from error
    at_hand = not t.op().find(ops.InMemoryTable)  # what Ibis holds has no name yet
    made = _in_sql(backend, t, sets) if backend.name in GROUPING_SETS and at_hand else _by_union(t, sets)
    return run(made, "counts by class")


def _in_sql(backend: Any, t: Any, sets: list[tuple[str, ...]]) -> Any:
    """A query that Ibis has no words for."""

    def named(column: str) -> str:
        return sge.to_identifier(column, quoted=True).sql(backend.dialect)

    names = [named(c) for c in t.columns if c != "w"]
    counted = sge.Sum(this=sge.column("w", quoted=True)) if "w" in t.columns else sge.Count(this=sge.Star())
    n = sge.Cast(this=counted, to=sge.DataType.build("double")).sql(backend.dialect)
    cases = " ".join(f"WHEN GROUPING({named(s[0])}) = 0 THEN {k}" for k, s in enumerate(sets))
    groups = ", ".join(f"({', '.join(map(named, ('y', *s)))})" for s in [(), *sets])
    text = (
        f"SELECT {', '.join(names)}, CASE {cases} ELSE -1 END AS {named('which')}, {n} AS {named('n')} "
        f"FROM ({backend.compile(t)}) AS {named('rows')} GROUP BY GROUPING SETS ({groups})"
    )
    schema = {c: t[c].type() for c in t.columns if c != "w"} | {"which": "int64", "n": "float64"}
    return backend.sql(text, schema=schema)


def _by_union(t: Any, sets: list[tuple[str, ...]]) -> Any:
    """The same by a query for each set."""
    n = t.count() if "w" not in t.columns else t["w"].sum()
    parts = []
    for k, own in enumerate([(), *sets]):
        found = t.group_by(["y", *own]).aggregate(n=n.cast("float64"))
        others = {c: ibis.null(t[c].type()) for c in t.columns if c not in ("y", "w", *own)}
        made = found.mutate(which=ibis.literal(k - 1, "int64"), **others)
        parts.append(made.select("y", *(c for c in t.columns if c not in ("y", "w")), "which", "n"))
    return ibis.union(*parts) if len(parts) > 1 else parts[0]
