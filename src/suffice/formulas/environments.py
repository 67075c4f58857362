"""The values of a formula's variables in Python: columns by name, or one matrix of entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from suffice.core.arrays import Values
from suffice.core.errors import InvalidDataError
from suffice.formulas.node import Array

ColumnValues: TypeAlias = Sequence[object] | Values


def host_log_gamma(x: Array) -> Array:
    """Compute log Γ by SciPy, which is imported only here."""
    from scipy.special import gammaln

    return np.asarray(gammaln(x))


class NamedColumns:
    """Columns of Python objects by name."""

    own = staticmethod(np.asarray)
    log_gamma = staticmethod(host_log_gamma)

    def __init__(self, columns: Mapping[str, ColumnValues]):
        self.columns = {name: _as_objects(values) for name, values in columns.items()}
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise InvalidDataError(f"All columns must have the same number of rows, found {sorted(lengths)}")
        self.n = lengths.pop() if lengths else 1

    @property
    def entries(self) -> Array:
        """Refuse: columns have names here."""
        raise InvalidDataError("The formula has a variable X: replace it by a column")

    def values(self, name: str) -> Values:
        """Return the values as they are, None where one is missing, (rows,)."""
        if name not in self.columns:
            raise InvalidDataError(f"There is no column {name!r}: the columns are {list(self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> Array:
        """Return the values as numbers, NaN where one is missing, (rows, 1)."""
        try:
            return np.array([np.nan if v is None else float(v) for v in self.values(name)])[:, None]
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"Column {name!r} holds a value that is not a number: {error}") from None


class EntryMatrix:
    """A matrix of entries as the value of `X`; there are no named columns.

    The entries may be of another library than NumPy: `own` then makes its arrays of NumPy's, and `log_gamma` is its
    function.
    """

    def __init__(
        self,
        entries: Array,
        own: Callable[..., Array] = np.asarray,
        log_gamma: Callable[[Array], Array] = host_log_gamma,
    ):
        self.entries, self.own, self.log_gamma = entries, own, log_gamma

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.entries)

    def values(self, name: str) -> Values:
        """Refuse: columns have no names here."""
        raise InvalidDataError(f"There is no column {name!r}: these entries have no names")

    numbers = values


Environment: TypeAlias = NamedColumns | EntryMatrix  # the values of a formula's variables


def _as_objects(values: ColumnValues) -> Values:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    out = np.empty(len(plain), dtype=object)
    out[:] = [None if v is None or v != v else v for v in plain]
    return out
