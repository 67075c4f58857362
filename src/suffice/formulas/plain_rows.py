"""Rows as formulas read them in Python: slow and plain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InvalidDataError
from suffice.formulas.node import Array


class Rows:
    """Columns of values, read as numbers or as they are."""

    def __init__(self, columns: Mapping[str, Any]):
        self.columns = {name: _as_objects(values) for name, values in columns.items()}
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise InvalidDataError(f"All columns must have equally many rows, found {sorted(lengths)}")
        self.n = lengths.pop() if lengths else 1

    def values(self, name: str) -> NDArray[Any]:
        """The values as they are, None where one is missing, (rows,)."""
        if name not in self.columns:
            raise InvalidDataError(f"There is no column {name!r}: the columns are {list(self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> Array:
        """The values as numbers, NaN where one is missing, (rows, 1)."""
        try:
            return np.array([np.nan if v is None else float(v) for v in self.values(name)])[:, None]
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"Column {name!r} holds what is no number: {error}") from None


def _as_objects(values: Any) -> NDArray[Any]:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    out = np.empty(len(plain), dtype=object)
    out[:] = [None if v is None or v != v else v for v in plain]
    return out
