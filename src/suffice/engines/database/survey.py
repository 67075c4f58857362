"""What is asked of the rows before they are summed up: whether they can be learned from, and where their middle is."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.engines.database.rows import ELSEWHERE, Part, Rows, category, number, run, without_rows
from suffice.errors import InvalidDataError
from suffice.families import Family
from suffice.statistics import Counts, Moments, Sample, Scatter, Totals

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


def survey(rows: Rows) -> dict[str, float] | None:
    """Refuse rows as they would be in memory; the mean of every column that is summed up, None where nothing is."""
    t, summed, few = rows.table, rows.of(Moments, Scatter, Totals), rows.of(Sample)
    asked = {"n": t.count(), "unlabelled": category(t[rows.task.target]).isnull().sum()}
    asked |= {f"m_{c}": rows.expressions[c].mean() for part in summed for c in part.columns}
    binned = [p for p in rows.of(Counts) if p.block.family.cells(len(p.columns)) is not None]
    particular = [*filter(_is_particular, summed), *binned]
    for part in particular:
        asked |= _extremes(rows, part)
    asked |= {f"d_{c}": rows.expressions[c].approx_nunique() for part in few for c in part.columns}
    found = run(t.aggregate(**asked), "means of columns").to_pylist()[0]
    if not found["n"]:
        return None
    if found["unlabelled"]:
        raise InvalidDataError(
            f"Input y contains NaN or null: {found['unlabelled']} of {found['n']} rows have no label in column "
            f"{rows.task.target!r}; filter them out"
        )
    means = {c: found[f"m_{c}"] for part in summed for c in part.columns}
    strange = [p for p in summed if p not in particular and not all(_is_finite(means[c]) for c in p.columns)]
    if strange:
        more = {name: value for part in strange for name, value in _extremes(rows, part).items()}
        found |= run(t.aggregate(**more), "the extremes of columns").to_pylist()[0]
    for part in [*particular, *strange]:
        _show(part, found)
    for part in few:
        _refuse_too_many(part, found)
    return {c: float(mean or 0.0) for c, mean in means.items()}


def _is_finite(mean: float | None) -> bool:
    return mean is None or bool(np.isfinite(mean))


def _is_particular(part: Part) -> bool:
    """Whether some finite numbers are refused; if not, the mean tells that all are finite."""
    return not part.block.missing and (part.kind is Totals or type(part.block.family).read is not Family.read)


def _extremes(rows: Rows, part: Part) -> dict[str, Any]:
    """The least and the greatest number of each column, and one that is not whole."""
    asked = {}
    for c, name in zip(part.columns, part.block.names, strict=True):
        x = number(rows.table[name])
        whole = rows.table[name].type().is_integer() or rows.table[name].type().is_boolean()
        asked |= {f"least_{c}": x.min(), f"most_{c}": x.max()}
        asked[f"broken_{c}"] = x.min() if whole else x.max(where=x != x.floor())
    return asked


def _show(part: Part, found: dict[str, Any]) -> None:
    """Show a family, and its statistic, the extremes: they refuse what they would refuse of any row."""
    family = part.block.family
    x = np.array(
        [[found[f"{what}_{c}"] for c in part.columns] for what in ("least", "most", "broken")], dtype=np.float64
    )
    with without_rows(part):
        seen = family.prepared(family.read(x))
        if part.kind is Totals:
            Totals.of(seen, np.zeros(len(x), np.int32), 1, **part.reading)
        elif part.kind is not Counts:
            Moments.of(seen, np.zeros(len(x), np.int32), 1)


def _refuse_too_many(part: Part, found: dict[str, Any]) -> None:
    if part.reading.get("joint"):
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
