"""What is asked of rows before they are summed up: whether they can be learned from, and where their middle is."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.errors import InvalidDataError
from suffice.core.statistics import Counts, Moments, Sample, Totals
from suffice.engines.sql.expressions import is_broken, number
from suffice.engines.sql.table_columns import ELSEWHERE, SUMS, Part, Rows, columns, run, without_rows
from suffice.formulas import X

FIRST = 1000  # rows that tell where the middle of a column is
MOST = 10_000  # distinct values of a column that are fetched


def check_weights(table: Any, name: str) -> None:
    """Refuse weights as rows in memory are refused for them."""
    column = table[name]
    if not (column.type().is_numeric() or column.type().is_boolean()):
        raise InvalidDataError(f"Column {name!r} holds {column.type()}, which cannot be read as weights")
    weight = number(column)
    asked = table.aggregate(rows=table.count(), missing=weight.isnull().sum(), least=weight.min(), most=weight.max())
    found = run(asked, "the weights").to_pylist()[0]
    if found["missing"]:
        raise InvalidDataError(f"{found['missing']} rows have no weight in column {name!r}")
    if found["rows"] and (found["least"] < 0 or np.isinf(found["most"])):
        what = "Negative values" if found["least"] < 0 else "Infinity"
        raise InvalidDataError(
            f"{what} in the weights of column {name!r}: it holds {found['least']} to {found['most']}"
        )
    if found["rows"] and not found["most"]:
        raise InvalidDataError("The total weight of all rows is zero: there is nothing to learn from")


def middles(rows: Rows) -> dict[str, float]:
    """About where the numbers of each column lie, by its first ones: a point to sum up differences from."""
    some = rows.table.limit(FIRST)
    asked = {}
    for part in rows.of(*SUMS):
        for c, x in zip(part.columns, columns(some, part.block), strict=True):
            asked[c] = x.mean()
    found = run(some.aggregate(**asked), "the middle of columns").to_pylist()[0] if asked else {}
    return {c: mean if mean is not None and np.isfinite(mean) else 0.0 for c, mean in found.items()}


def examine(rows: Rows, thoroughly: bool = False) -> None:
    """Refuse numbers as they would be in memory, and values that are too many to be fetched.

    Infinite numbers show in sums: families that take all finite ones need not ask, unless it is `thoroughly`.
    """
    binned = [p for p in rows.of(Counts) if p.summary.of is not X and not p.block.missing]
    shown = [*(p for p in rows.of(*SUMS) if not p.block.missing and (thoroughly or _is_particular(p))), *binned]
    few = rows.of(Sample)
    asked = {name: value for part in shown for name, value in _extremes(rows, part).items()}
    asked |= {f"d_{c}": rows.expressions[c].approx_nunique() for part in few for c in part.columns}
    found = run(rows.table.aggregate(**asked), "the extremes of columns").to_pylist()[0] if asked else {}
    for part in shown:
        _show(part, found)
    for part in few:
        _refuse_too_many(part, found)


def _is_particular(part: Part) -> bool:
    """Whether some finite numbers are refused."""
    return part.kind is Totals or bool(part.block.family.support.expected)


def _extremes(rows: Rows, part: Part) -> dict[str, Any]:
    """The least and the greatest number of each column, and one that is not whole."""
    asked: dict[str, Any] = {}
    for c, name in zip(part.columns, part.block.names, strict=True):
        x = number(rows.table[name])
        whole = rows.table[name].type().is_integer() or rows.table[name].type().is_boolean()
        asked |= {f"least_{c}": x.min(), f"most_{c}": x.max()}
        asked[f"broken_{c}"] = x.min() if whole else x.max(where=is_broken(x))
    return asked


def _show(part: Part, found: dict[str, Any]) -> None:
    """Show a family, and its statistic, the extremes: they refuse what they would refuse of any row."""
    family = part.block.family
    x = np.array(
        [[found[f"{what}_{c}"] for c in part.columns] for what in ("least", "most", "broken")], dtype=np.float64
    )
    with without_rows(part):
        seen = family.summary.entries(family.read(x))
        if part.kind is Totals:
            Totals.of(seen, np.zeros(len(x), np.int32), 1, **part.summary.statistic_options)
        elif part.kind is not Counts:
            Moments.of(seen, np.zeros(len(x), np.int32), 1)


def _refuse_too_many(part: Part, found: dict[str, Any]) -> None:
    if part.options.get("joint"):
        raise InvalidDataError(
            f"{type(part.block.family).__name__} needs whole rows of {part.block.title}, and no row leaves the "
            f"database: {ELSEWHERE}"
        )
    for c, name in zip(part.columns, part.block.names, strict=True):
        if found[f"d_{c}"] > MOST:
            raise InvalidDataError(
                f"{type(part.block.family).__name__} needs the values of column {name!r}, of which there are about "
                f"{found[f'd_{c}']}; no more than {MOST} are fetched from a database. Name a family that needs only "
                f"sums, such as Gaussian, round the values, or {ELSEWHERE}"
            )
