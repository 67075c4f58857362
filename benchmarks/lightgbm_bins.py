"""The cases: BayesClassifier beside LightGBM, and tables of many columns.

Before it learns anything, LightGBM sorts every column into at most 255 bins (`Dataset.construct`). BayesClassifier also
looks at every value once; ours includes the choice of families, the calibration and the answer for one row.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import pyarrow as pa

from benchmarks import data
from benchmarks.classifier import SENSIBLE, TARGET, read
from benchmarks.harness import (
    AnswersDifferError,
    Case,
    Group,
    Measurement,
    Quantity,
    Settings,
    Target,
    Task,
    interleave,
    milliseconds,
    no_collecting,
    short,
    turn,
)
from suffice import BayesClassifier

COPIES = 30  # of Adult
SILENT = {"verbosity": -1}


def groups(settings: Settings) -> list[Group]:
    """List all cases; those on Adult only where the data are."""
    rows, columns = settings.rows(1_000_000), 10
    size = f"{short(rows)} × {columns}, 10 classes"
    found = [
        Group(
            lambda: data.gaussian(rows, columns, 10),
            [
                Case(
                    f"BayesClassifier(structure='naive') fit and first answer ÷ LightGBM's bins, {size}",
                    below(0.5),
                    partial(fits, settings, "naive"),
                ),
                Case(
                    f"BayesClassifier() fit and first answer ÷ LightGBM's bins, {size}",
                    below(0.5),
                    partial(fits, settings, "auto"),
                ),
            ],
        ),
        *(wide(settings, *shape) for shape in ((4, 100_000, 5.0), (1000, 4000, 1.0))),
    ]
    folder = os.environ.get("SUFFICE_DATA")
    if not folder:
        print("LightGBM on Adult is left out: SUFFICE_DATA does not say where the data are", file=sys.stderr)
        return found
    copies = 2 if settings.quick else COPIES
    once = read("train", folder)
    size = f"Adult × {copies} ({short(round(copies * once.num_rows, -3))} rows from Arrow)"
    cases = [
        Case(
            f"BayesClassifier(structure='naive') fit and first answer ÷ LightGBM's bins, {size}",
            below(0.7),
            partial(adult_fits, settings, "naive"),
        ),
        Case(
            f"BayesClassifier() fit and first answer ÷ LightGBM's bins, {size}",
            None,
            partial(adult_fits, settings, "auto"),
        ),
        Case(
            f"BayesClassifier(structure='naive') predict_proba ÷ LightGBM's, {size}",
            below(0.1),
            partial(adult_predictions, settings, "naive"),
        ),
        Case(
            f"BayesClassifier() predict_proba ÷ LightGBM's, {size}",
            below(0.1),
            partial(adult_predictions, settings, "auto"),
        ),
    ]
    return [*found, Group(lambda: Adult.of(once, copies), cases)]


def below(high: float, unit: str = "") -> Target:
    """Return the target of a ratio, or of seconds."""
    return Target(high=high, unit=unit)


def ratio(ours: Task, theirs: Task, settings: Settings, details: dict[str, Any] | None = None) -> Measurement:
    """Measure our time as a multiple of theirs."""
    a, b = interleave(ours, theirs, settings.repeats)
    found = median(a) / median(b)
    told = {"ours_seconds": a, "theirs_seconds": b, "agreement": details or {}}
    return Measurement(found, milliseconds(a), milliseconds(b), Quantity(found, ""), told)


# ------------------------------------------------------------------------------------------ numbers


def fits(settings: Settings, structure: Any, rows: tuple[Any, Any]) -> Measurement:
    """Compare a fit and the answer for one row with LightGBM's bins."""
    X, y = rows

    def ours() -> Any:
        return BayesClassifier(structure=structure).fit(X, y).predict_proba(X[:1])

    return ratio(Task(ours), Task(lambda: lightgbm.Dataset(X, y, params=SILENT).construct()), settings)


def wide(settings: Settings, rows: int, columns: int, most: float) -> Group:
    """Time a fit and the answer for one row on a table of many columns; nothing else does it."""
    columns = columns // 20 if settings.quick else columns

    def measure(structure: Any, read_as: Any, table: tuple[Any, Any]) -> Measurement:
        X, y = read_as(table[0]), table[1]
        with no_collecting():
            task = Task(lambda: BayesClassifier(structure=structure).fit(X, y).predict_proba(X[:1]))
            seconds = [turn(task) for _ in range(min(settings.repeats, 3))]
        return Measurement(median(seconds), milliseconds(seconds), details={"ours_seconds": seconds})

    size = f"fit and first answer, {short(rows)} rows × {short(columns)} columns"
    cases = [
        Case(f"BayesClassifier(structure={structure!r}) {size}{title}", below(most, " s"), partial(measure, *how))
        for structure, title, *how in (
            ("naive", "", "naive", np.asarray),
            ("auto", "", "auto", np.asarray),
            ("auto", " of pandas", "auto", as_pandas),
            ("auto", " of Arrow", "auto", as_arrow),
        )
    ]
    return Group(lambda: data.gaussian(rows, columns, 2), cases)


def as_pandas(X: Any) -> Any:
    """Make a data frame of an array, each column for itself."""
    import pandas as pd

    return pd.DataFrame({f"x{j}": column for j, column in enumerate(X.T)})


def as_arrow(X: Any) -> Any:
    """Make a table of Arrow of an array."""
    return pa.table([np.ascontiguousarray(column) for column in X.T], names=[f"x{j}" for j in range(X.shape[1])])


# ------------------------------------------------------------------------------------------ Adult


@dataclass(frozen=True)
class Adult:
    """The rows many times over: as Arrow for ours, as a matrix with codes of categories for LightGBM, and its model."""

    once: pa.Table
    table: pa.Table
    matrix: Any
    categories: list[int]
    codes: Any
    theirs: Any

    @classmethod
    def of(cls, once: pa.Table, copies: int) -> Adult:
        """Repeat the rows; models learn from them once, as the number of rows does not change how they answer."""
        names = [name for name in once.column_names if name != TARGET]
        columns, categories = [], []
        for j, name in enumerate(names):
            column = once[name]
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                columns.append(column.to_numpy().astype(np.float64))
                continue
            codes = column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
            columns.append(codes.astype(np.float64))
            categories.append(j)
        matrix = np.stack(columns, axis=1)
        y = once[TARGET].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.float64)
        binned = lightgbm.Dataset(matrix, y, params=SILENT, categorical_feature=categories)
        theirs = lightgbm.train({"objective": "binary", **SILENT}, binned)
        table = pa.concat_tables([once] * copies).combine_chunks()
        return cls(once, table, np.tile(matrix, (copies, 1)), categories, np.tile(y, copies), theirs)


def adult_fits(settings: Settings, structure: Any, rows: Adult) -> Measurement:
    """Compare a fit and the answer for one row with LightGBM's bins."""
    first = rows.table.drop_columns([TARGET]).slice(0, 1)

    def ours() -> Any:
        return BayesClassifier(structure=structure).fit(rows.table, TARGET).predict_proba(first)

    def theirs() -> Any:
        made = lightgbm.Dataset(rows.matrix, rows.codes, params=SILENT, categorical_feature=rows.categories)
        return made.construct()

    return ratio(Task(ours), Task(theirs), settings)


def adult_predictions(settings: Settings, structure: Any, rows: Adult) -> Measurement:
    """Compare the posteriors of all rows: ours from the Arrow table, theirs from the matrix."""
    features, model = rows.table.drop_columns([TARGET]), BayesClassifier(structure=structure).fit(rows.once, TARGET)
    truth = rows.table[TARGET].to_numpy() == model.classes_[1]
    right = np.mean((model.predict_proba(features)[:, 1] > 0.5) == truth)
    if not right >= SENSIBLE:
        raise AnswersDifferError(f"from any sensible ones: ours have an accuracy of {right:.3f}")
    ours, theirs = (partial(model.predict_proba, features), partial(rows.theirs.predict, rows.matrix))
    return ratio(Task(ours), Task(theirs), settings, {"accuracy": float(right)})
