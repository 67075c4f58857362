"""The errors that suffice raises. A message says what was found, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Self

from numpy.linalg import LinAlgError


class SufficeError(Exception):
    """The base class of all errors of suffice."""


class InvalidDataError(SufficeError, ValueError):
    """Rows, labels or weights that cannot be learned from."""


class _RowError(InvalidDataError):
    """An error of one row. Its attributes are the arguments that it was made with."""

    row: int

    def _arguments(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "__notes__"}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), tuple(self._arguments().values())

    def _with(self, **changes: object) -> Self:
        return type(self)(**self._arguments() | changes)

    def shifted(self, rows: int) -> Self:
        """Return the same error for a larger table, in which this one starts at row `rows`."""
        return self._with(row=self.row + rows)


class MissingLabelError(_RowError):
    """Rows without a label: the first of them, how many there are, and among how many rows."""

    def __init__(self, row: int, missing: int = 1, rows: int | None = None):
        rows = row + 1 if rows is None else rows
        super().__init__(
            f"Input y contains NaN or null: the label of row {row} is missing, the first of {missing} among "
            f"{rows} rows. Pass missing_labels='drop' to fit to leave such rows out, or unlabelled='learn' to learn "
            "from them"
        )
        self.row, self.missing, self.rows = row, missing, rows

    @classmethod
    def of(cls, missing: Any) -> Self:
        """Make the error of rows, of which a mask says whether their label is missing."""
        return cls(int(missing.argmax()), int(missing.sum()), len(missing))

    def shifted(self, rows: int) -> Self:
        """Return the same error for a larger table, in which this one starts at row `rows`."""
        return self._with(row=self.row + rows, rows=self.rows + rows)


class RefusedValueError(_RowError):
    """A value that cannot be learned from, with its row and column."""

    def __init__(self, what: str, value: object, row: int, column: int | str, advice: str = ""):
        super().__init__(f"{what} Found {value} in row {row}, column {column!r}.{advice}")
        self.what, self.value, self.row, self.column, self.advice = what, value, row, column, advice

    def in_row(self, row: int) -> Self:
        """Return the same error with another number of the row."""
        return self._with(row=row)

    def in_column(self, name: str) -> Self:
        """Return the same error with the name of the column."""
        return self._with(column=name)

    def passed_to(self, estimator: str) -> Self:  # noqa: ARG002  # only some errors name it
        """Return the same error with the name of the estimator that the data were passed to."""
        return self


class InfiniteValueError(RefusedValueError):
    """An infinite number."""


class NegativeValueError(RefusedValueError):
    """A negative number where counts or category numbers are expected."""

    def passed_to(self, estimator: str) -> Self:
        """Return the same error with the name of the estimator that the data were passed to."""
        return self._with(what=f"Negative values in data passed to {estimator} (input X).")


class InvalidTextError(InvalidDataError):
    """A value that is not a text, or a text that cannot be decoded."""


class EngineError(SufficeError, RuntimeError):
    """An engine, such as a database, failed."""


class MissingPackageError(SufficeError, ImportError):
    """An option needs a package that is not installed."""


class InvalidOptionError(SufficeError, ValueError):
    """An option, prior or parameter that is not valid, alone or together with others."""


class NotPartError(SufficeError, ValueError):
    """Rows to be subtracted that were never added."""


class MismatchError(SufficeError, ValueError):
    """Two things that do not fit each other: they differ in columns, options or shapes."""


class SingularCovarianceError(SufficeError, LinAlgError):
    """Columns that are linearly dependent within a class, where the covariance must be inverted."""


class NoLinearFormError(SufficeError, TypeError):
    """A model whose log-odds are not linear in x."""


class NoFormulaError(SufficeError, TypeError):
    """A distribution that cannot be written as a formula for a database or a web page."""


class NoDistributionError(SufficeError, TypeError):
    """A model that scores classes without a distribution of x, so that x cannot be sampled."""


class StorageError(SufficeError, ValueError):
    """A value that cannot be stored, or a file that cannot be read."""


class UnstorableError(StorageError):
    """A value that cannot be stored as data."""


class ForeignFileError(StorageError):
    """A file that suffice did not write."""


class DamagedFileError(StorageError):
    """A file that was cut off or changed after it was written."""


class NewerFileError(StorageError):
    """A file in a format that only later versions of suffice read."""


class UnwritableFileError(SufficeError, OSError):
    """A file that cannot be written: `errno`, `strerror` and `filename` are those of an `OSError`."""

    def __init__(self, number: int, what: str, path: str):
        super().__init__(number, what, path)

    def __str__(self) -> str:
        return f"{self.filename} cannot be written: {self.strerror}"


class FolderInPlaceError(UnwritableFileError, IsADirectoryError):
    """A folder where a file should be written."""


class MissingFolderError(UnwritableFileError, FileNotFoundError):
    """A file in a folder that does not exist."""


class NotConvergedWarning(UserWarning):
    """An iteration ended before it converged: more steps would change the result."""


class ImpossibleRowWarning(UserWarning):
    """Rows that have probability 0 under every class: their posterior is the class prior."""


class UncalibratedWarning(UserWarning):
    """Probabilities that could not be calibrated, because no rows were kept."""


class MissingColumnWarning(UserWarning):
    """Columns of the training table that are not in this table: their values count as missing."""


class LeftOutWarning(UserWarning):
    """Columns, rows or values that are not learned from, with the reasons; one warning for each call of `fit`."""


class QuantityWarning(UserWarning):
    """Labels that look like a measured quantity, which is no class."""


@contextmanager
def naming_columns(names: Sequence[str]) -> Iterator[None]:
    """Put the names of columns into errors that know them by number, or not at all."""
    try:
        yield
    except RefusedValueError as error:
        known = isinstance(error.column, int) and error.column < len(names)
        raise (error.in_column(names[error.column]) if known else error) from None  # type: ignore[index]  # known
    except MismatchError as error:
        raise MismatchError(f"Column {', '.join(map(repr, names))}: {error}") from None


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the question for the known name that is closest, or nothing.

    >>> did_you_mean("incme", ["age", "income"])
    "Did you mean 'income'? "
    >>> did_you_mean("x", ["age", "income"])
    ''
    """
    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]!r}? " if near else ""
