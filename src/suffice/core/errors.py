"""The errors suffice raises, each saying what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from numpy.linalg import LinAlgError


class SufficeError(Exception):
    """Anything that suffice itself refuses."""


class InvalidDataError(SufficeError, ValueError):
    """Rows, labels or weights that cannot be learned from."""


class MissingLabelError(InvalidDataError):
    """A row without a label."""

    def __init__(self, row: int):
        super().__init__(f"Input y contains NaN or null: the label of row {row} is missing")
        self.row = row

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.row,)

    def shifted(self, rows: int) -> Self:
        """The same of a table of which this one was a part, beginning `rows` rows down."""
        return type(self)(self.row + rows)


class RefusedValueError(InvalidDataError):
    """A value that cannot be learned from, and where it stands."""

    def __init__(self, what: str, value: object, row: int, column: int | str, advice: str = ""):
        super().__init__(f"{what} Found {value} in row {row}, column {column!r}.{advice}")
        self.what, self.value, self.row, self.column, self.advice = what, value, row, column, advice

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.what, self.value, self.row, self.column, self.advice)

    def shifted(self, rows: int) -> Self:
        """The same of a table of which this one was a part, beginning `rows` rows down."""
        return type(self)(self.what, self.value, self.row + rows, self.column, self.advice)

    def in_column(self, name: str) -> Self:
        """The same, the column called by its name."""
        return type(self)(self.what, self.value, self.row, name, self.advice)

    def passed_to(self, estimator: str) -> Self:  # noqa: ARG002  # only some errors name it
        """The same, saying which estimator the data were passed to."""
        return self


class InfiniteValueError(RefusedValueError):
    """An infinite number."""


class NegativeValueError(RefusedValueError):
    """A negative number where counts or category numbers are expected."""

    def passed_to(self, estimator: str) -> Self:
        """The same, saying which estimator the data were passed to."""
        what = f"Negative values in data passed to {estimator} (input X)."
        return type(self)(what, self.value, self.row, self.column, self.advice)


class InvalidTextError(InvalidDataError):
    """Something that is no text, or a text that cannot be read."""


class EngineError(SufficeError, RuntimeError):
    """An engine, such as a database, failed at what it was asked for."""


class MissingPackageError(SufficeError, ImportError):
    """An option needs a package that is not installed."""


class InvalidOptionError(SufficeError, ValueError):
    """An option, prior or parameter that makes no sense, alone or with the others."""


class NotPartError(SufficeError, ValueError):
    """Something was to be subtracted that was never added."""


class MismatchError(SufficeError, ValueError):
    """Two things that do not belong together: other columns, other options, other shapes."""


class SingularCovarianceError(SufficeError, LinAlgError):
    """Columns that, within a class, follow from each other, where that is not allowed for."""


class NoLinearFormError(SufficeError, TypeError):
    """The log-odds of this model are not linear in x."""


class NoFormulaError(SufficeError, TypeError):
    """A distribution that cannot be written as a formula for a database or a web page."""


class NoDistributionError(SufficeError, TypeError):
    """The model scores classes without a distribution of x, so x cannot be drawn from it."""


class StorageError(SufficeError, ValueError):
    """Something cannot be stored, or a file cannot be read."""


class UnstorableError(StorageError):
    """A value that cannot be stored as data."""


class ForeignFileError(StorageError):
    """A file that suffice did not write."""


class DamagedFileError(StorageError):
    """A file that was cut off or changed after it was written."""


class NewerFileError(StorageError):
    """A file in a format that only later versions of suffice read."""


class NotConvergedWarning(UserWarning):
    """An iteration ended before it had settled: the answer is usable, but more steps would change it."""


class ImpossibleRowWarning(UserWarning):
    """Some rows have probability zero under every class; they were given the class prior."""


class UncalibratedWarning(UserWarning):
    """Probabilities were to be calibrated, and are not: no rows were kept to do it by."""


class MissingColumnWarning(UserWarning):
    """Columns of the training table are not there; they count as missing."""


@contextmanager
def naming_columns(names: Sequence[str]) -> Iterator[None]:
    """Call columns by their names in errors of what reads a block of them by number."""
    try:
        yield
    except RefusedValueError as error:
        known = isinstance(error.column, int) and error.column < len(names)
        raise (error.in_column(names[error.column]) if known else error) from None  # type: ignore[index]  # known
    except MismatchError as error:
        raise MismatchError(f"Column {', '.join(map(repr, names))}: {error}") from None
