"""Statistics so large or so small that float64 cannot hold what follows from them: errors that say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suffice.core.errors import InvalidDataError, SufficeError

OUT_OF_RANGE = "A number of the statistics is too large or too small for float64"


@contextmanager
def within_float64() -> Iterator[None]:
    """Name the errors of arithmetic that statistics far outside the range of float64 cause."""
    try:
        yield
    except SufficeError:
        raise
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise InvalidDataError(f"{OUT_OF_RANGE} ({error}): rescale the columns or the weights") from error


@contextmanager
def drawing() -> Iterator[None]:
    """Name the error of a generator whose parameters are out of its range."""
    try:
        yield
    except SufficeError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise InvalidDataError(f"No rows can be drawn. {OUT_OF_RANGE} ({error})") from error


def numbers_only(scores: Any, before: int = 0) -> Any:
    """Return log-densities (rows, classes); raise an error if one is not a number, or infinitely large.

    Rows are numbered from `before` on.
    """
    if scores.size and not scores.max() < np.inf:  # of numbers and NaN, the latter is the largest
        raise not_a_number(before + int((~(scores < np.inf).all(axis=1)).argmax()))
    return scores


def not_a_number(row: int) -> InvalidDataError:
    """Make the error of a row that has no log-density."""
    return InvalidDataError(
        f"log p(x | y) of row {row} is not a number. {OUT_OF_RANGE}, or a value of the row is: rescale the columns or "
        "the weights"
    )
