"""What learning leaves out: it is said once, in one warning."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np

from suffice.core.arrays import Mask
from suffice.core.errors import InvalidDataError, LeftOutWarning, QuantityWarning
from suffice.core.frames import as_frame, as_numpy
from suffice.core.frames.input import as_column, taken
from suffice.core.statistics import ByClass

MissingLabels: TypeAlias = Literal["error", "drop"]

LONGEST = 160  # characters of a reason
SHOWN = 8  # columns that a warning names
MOST_CLASSES = 20  # that numbers may name without looking like a quantity
FILLED = 0.5  # share of the integers of a range
ROWS_PER_CLASS = 3  # fewer on average look like a quantity


def column_name(y: Any) -> Any:
    """Return the name of a column that is given as a number, as columns of pandas may have; anything else as it is."""
    if y is None or isinstance(y, (np.ndarray, str, bool, np.bool_)):
        return y
    return str(y) if isinstance(y, Integral) else y


@dataclass
class LeftOut:
    """Columns with the reasons, values of columns that do not read, and rows without labels, that are not learned."""

    columns: dict[str, str] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    advice: str = ""
    reason: str = ""  # why rows without labels are left out, where they need not be

    def unlabelled(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return rows, labels and weights without the rows that have no label."""
        missing = without_label(X, y)
        if not missing.any():
            return X, y, weight
        if missing.all():
            raise InvalidDataError(
                f"None of the {len(missing)} rows has a label. Rows without any are clustered: sf.cluster(rows)"
            )
        self.rows, kept = int(missing.sum()), np.flatnonzero(~missing)
        X = taken(X, kept)
        y = y if isinstance(y, str) else taken(y, kept)
        if isinstance(y, np.ndarray) and y.dtype.kind == "O" and y.ndim == 1:  # as some were None: read as a list
            y = y.tolist()
        return X, y, weight if weight is None or isinstance(weight, str) else np.asarray(weight)[kept]

    def warn(self) -> None:
        """Say what was left out, if anything was."""
        if not (self.columns or self.rows or self.values):
            return
        said = [f"column {name!r} ({_short(why)})" for name, why in list(self.columns.items())[:SHOWN]]
        if len(self.columns) > SHOWN:
            said.append(f"{len(self.columns) - SHOWN} more columns")
        if self.rows:
            why = f" ({self.reason})" if self.reason else ""
            said.append(f"{self.rows} row{'s' * (self.rows > 1)} without a label{why}")
        said += [f"{n} values of column {name!r} that do not read" for name, n in self.values.items() if n]
        if said:
            warnings.warn(
                f"Not learned from: {'; '.join(said)}. {self.advice}To silence this, filter "
                "suffice.errors.LeftOutWarning",
                LeftOutWarning,
                stacklevel=_caller(),
            )


def without_label(X: Any, y: Any) -> Mask:
    """Return which rows in memory have no label."""
    return _missing(as_frame(X).column(y)) if isinstance(y, str) else _missing(as_column(y, "y"))


def warn_of_quantity(seen: ByClass[Any]) -> None:
    """Warn if labels are so many numbers that they look like measurements."""
    classes, rows = len(seen.labels), float(seen.weight.sum())
    if seen.labels.dtype.kind not in "iuf" or classes <= MOST_CLASSES or rows >= ROWS_PER_CLASS * classes:
        return
    width = float(seen.labels[-1]) - float(seen.labels[0]) + 1
    if width > classes / FILLED:  # numbers that fill their range number the classes
        warnings.warn(
            f"The target holds {classes} distinct numbers in {rows:g} rows: it looks like a quantity, and every number "
            "is a class of its own here. Cut it into a few ranges first, such as by pandas.qcut",
            QuantityWarning,
            stacklevel=_caller(),
        )


def _short(why: str) -> str:
    """Shorten a reason, which may hold the name of a deep type."""
    return why if len(why) <= LONGEST else f"{why[: LONGEST // 2]} … {why[-LONGEST // 2 :]}"


def _caller() -> int:
    """Return the level of the first caller that is not of this package, for `warnings.warn`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("suffice."):
        level, frame = level + 1, frame.f_back
    return level


def _missing(column: Any) -> Mask:
    return np.asarray(as_numpy(column.is_null(nan_is_null=True)), dtype=bool)
