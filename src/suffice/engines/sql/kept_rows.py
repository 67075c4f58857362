"""Rows that leave the database for calibration, where the user asked for some: those of least hash.

The hash is one that the database computes. So the rows may be others than those that are kept of rows in memory; but
they are chosen by what they hold alone, too.
"""

from __future__ import annotations

from hashlib import blake2b

import ibis
import ibis.expr.types as ir

from suffice.core import frames
from suffice.core.arrays import Values
from suffice.core.errors import InvalidOptionError
from suffice.core.frames import as_frame
from suffice.core.statistics import RowSample
from suffice.engines.sql.expressions import by_groups
from suffice.engines.sql.table_columns import ELSEWHERE, SqlRows, execute, execute_row, known_codes, weight_of


def kept_rows(rows: SqlRows, labels: Values, size: int) -> RowSample:
    """Fetch the rows with the `size` smallest hashes, each with its weight."""
    names = rows.task.names
    columns = {f"x{j}": rows.table[name] for j, name in enumerate(names)}
    t = rows.select(h=row_hash(rows.table, names), **columns)
    least = t.select("h").distinct().order_by("h").limit(size)
    most = execute_row(least, {"most": least["h"].max()}, "hashes of rows")["most"]
    some = t.filter(t["h"] <= most)
    result = execute(some.group_by(["y", *columns]).aggregate(n=weight_of(some)), "rows to calibrate by")
    frame = as_frame(result.select(list(columns)).rename_columns(list(names)))
    codes = known_codes(result, rows.task.target, labels)
    return RowSample.of(frame, codes, len(labels), frames.numbers(result["n"]), size=size).rounded()


def row_hash(table: ir.Table, names: tuple[str, ...]) -> ir.Value:
    """Return a 64-bit hash of the entries of columns; refuse databases for which none is known."""
    backend = table.get_backend()
    if backend.name == "duckdb":
        return ibis.struct({f"x{j}": table[name] for j, name in enumerate(names)}).hash()
    texts = [table[name].cast("string").fill_null("") for name in names]
    text = by_groups(texts, lambda some: ibis.literal("|").join(some))
    if backend.name == "postgres":
        return text.hash()
    if backend.name == "sqlite":  # which runs in this process
        backend.con.create_function("suffice_hash", 1, _hash, deterministic=True)
        return _suffice_hash(text)
    raise InvalidOptionError(
        f"keep: rows of {backend.name} cannot be chosen by their hashes, only those of DuckDB, PostgreSQL and SQLite. "
        f"Leave keep out, or {ELSEWHERE}"
    )


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


@ibis.udf.scalar.builtin(name="suffice_hash")  # type: ignore[untyped-decorator]  # Ibis has no types for it
def _suffice_hash(text: str) -> int:  # type: ignore[empty-body]  # SQLite calls `_hash`
    ...
