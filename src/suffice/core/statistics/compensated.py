"""Weighted sums that keep what rounding takes from them, so that what was added can be taken away again.

A sum is a float64 `value` and, where that is not exact, a `rest` (…, 2) beside it: the remainder, so that value +
remainder has about 106 bits (Dekker, 1971), and the doubt, a bound on what rounding has taken from that. A rest of
zeros is None, so that equal sums have equal arrays. Sums that were rounded to float64 elsewhere, as by a database, by
Spark or by an earlier version, have a doubt and no remainder.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Mask, Positions
from suffice.core.errors import InvalidDataError, MismatchError, NotPartError

OUTSIDE = 2.0**-46  # what rounding to float64 may have taken from a sum, relative to it; as in double_double.hpp
LAST_DIGIT = 2.0**-52  # what a remainder may be, relative to its number
PAIR = 2.0**-101  # what an operation on pairs loses, relative to its result; as in double_double.hpp

Rest: TypeAlias = Array | None


class Sums(NamedTuple):
    """Sums with what rounding took from them."""

    value: Array
    rest: Rest

    def at(self, places: Positions | Mask | slice) -> Sums:
        """Take some of the sums along the first axis."""
        return Sums(self.value[places], None if self.rest is None else self.rest[places])


def check_rest(name: str, value: Array, rest: Rest) -> None:
    """Raise an error if a rest is not what rounding took from the sums beside it."""
    if rest is not None:
        check_remainder(name, value, rest[..., 0], rest[..., 1])
        if (rest[..., 1] > np.abs(value)).any():
            raise MismatchError(f"{name} must have doubts that are smaller than the sums")


def check_remainder(name: str, value: Array, low: Array, doubt: Array) -> None:
    """Raise an error if a remainder is larger than a last digit of its number, or a doubt is negative."""
    if (np.abs(low) > LAST_DIGIT * np.abs(value)).any() or (doubt < 0).any():
        raise MismatchError(f"{name} must be what rounding took from the numbers beside it")


def added(value: Array, low: Array, rows: int) -> Sums:
    """Return the sums that a kernel computed as high and low parts over `rows` rows."""
    high, rest = np.empty(value.shape), np.empty((*value.shape, 2))
    return Sums(high, rest if _core.join_parts(value, low, rows * PAIR, high, rest) else None)


def rounded(value: Array) -> Rest:
    """Return the rest of sums that were rounded to float64 elsewhere; integers are exact."""
    whole = value == np.rint(value)
    if whole.all():
        return None
    doubt = np.where(whole, 0.0, OUTSIDE * np.abs(value))
    return np.stack([np.zeros_like(doubt), doubt], axis=-1) if doubt.any() else None


def product(a: Array, b: Array) -> Sums:
    """Multiply numbers, with what rounding takes: Dekker's product, by halves of 26 bits."""
    out = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    low = ((ah * bh - out) + ah * bl + al * bh) + al * bl
    return Sums(out, np.stack([low, np.zeros_like(low)], axis=-1) if low.any() else None)


def _halves(a: Array) -> tuple[Array, Array]:
    shifted = 134217729.0 * a  # 2²⁷ + 1
    high = shifted - (shifted - a)
    return high, a - high


def plus(a: Sums, b: Sums) -> Sums:
    """Add sums number by number; raise an error where one overflows."""
    a, b = _alike(a, b)
    out = np.empty(a.value.shape)
    if a.rest is b.rest is None and _core.add_whole(a.value, b.value, 1.0, out):
        return Sums(out, None)
    rest = np.empty((*out.shape, 2))
    _core.add_sums(a.value, a.rest, b.value, b.rest, 1.0, out, rest)
    return _checked(out, rest)


def minus(a: Sums, b: Sums) -> Sums:
    """Subtract sums number by number, and set to 0 what only rounding leaves; raise an error where b is larger."""
    a, b = _alike(a, b)
    out = np.empty(a.value.shape)
    if a.rest is None and b.rest is None and _core.add_whole(a.value, b.value, -1.0, out):
        worst = int(out.argmin()) if out.size else 0
        if not out.size or out.flat[worst] >= 0:
            return Sums(out, None)
    else:
        rest = np.empty((*out.shape, 2))
        worst = _core.add_sums(a.value, a.rest, b.value, b.rest, -1.0, out, rest)
        if worst < 0:
            return _checked(out, rest)
    raise NotPartError(
        f"Cannot take away more than was added: {b.value.flat[worst]:g} from {a.value.flat[worst]:g} at "
        f"{tuple(int(i) for i in np.unravel_index(worst, out.shape))}. Only rows that were learned can be forgotten."
    )


def times(a: Sums, factor: float) -> Sums:
    """Multiply sums by a number; raise an error where one overflows."""
    if factor == 1 or not a.value.size:
        return a
    if not factor:
        return Sums(np.zeros(a.value.shape), None)
    out, rest = np.empty(a.value.shape), np.empty((*a.value.shape, 2))
    value, lost = _contiguous(a)
    _core.scale_sums(value, lost, factor, out, rest)
    return _checked(out, rest)


def pooled(a: Sums) -> Sums:
    """Sum over the first axis, which is kept with length 1."""
    out = Sums(np.zeros((1, *a.value.shape[1:])), None)
    for i in range(len(a.value)):
        out = plus(out, a.at(slice(i, i + 1)))
    return out


def segment_sums(a: Sums, first: NDArray[np.int64]) -> Sums:
    """Sum each segment, which starts at `first` and ends where the next one starts."""
    if a.rest is None and _core.all_whole(a.value):
        return Sums(np.add.reduceat(a.value, first) if len(first) else a.value[:0], None)
    start = np.append(first, len(a.value)).astype(np.int64)
    out, low = np.empty((2, len(first)))
    lost = None if a.rest is None else np.ascontiguousarray(a.rest[:, 0])
    _core.sum_segments(np.ascontiguousarray(a.value), lost, start, out, low)
    doubt = np.where(low != 0, int(np.diff(start).max(initial=1)) * PAIR * out, 0.0)
    if a.rest is not None and len(first):
        doubt += np.add.reduceat(a.rest[:, 1], first)
    return _checked(out, np.stack([low, doubt], axis=-1))


def class_weight(codes: Codes, classes: int, weight: Array | None, onto: Sums | None = None) -> Sums:
    """Sum the weights of the rows of each class, and add that to `onto`."""
    if onto is not None:
        if weight is onto.rest is None and _core.all_whole(onto.value):
            out = onto.value.copy()
            _core.class_weights(codes, classes, None, out, None)
            if _core.all_whole(out):  # so that no sum was rounded
                return Sums(out, None)
        return plus(onto, class_weight(codes, classes, weight))
    out = np.zeros(classes)
    if weight is None:
        _core.class_weights(codes, classes, None, out, None)
        return Sums(out, None)
    low = np.zeros(classes)
    _core.class_weights(codes, classes, weight, out, low)
    with np.errstate(invalid="ignore"):
        found = added(out, low, len(codes))
    return found if found.rest is None else _checked(found.value, found.rest)


def _checked(value: Array, rest: Array) -> Sums:
    """Return sums, without a rest where there is none; raise an error if one overflows."""
    if not np.isfinite(value).all():
        raise InvalidDataError("The weights are so large that their sum overflows: divide them by a common factor")
    return Sums(value, rest if rest.any() else None)


def _alike(a: Sums, b: Sums) -> tuple[Sums, Sums]:
    """Return both in one shape and contiguous."""
    if a.value.shape != b.value.shape:
        shape = np.broadcast_shapes(a.value.shape, b.value.shape)
        a, b = (
            Sums(np.broadcast_to(s.value, shape), None if s.rest is None else np.broadcast_to(s.rest, (*shape, 2)))
            for s in (a, b)
        )
    return _contiguous(a), _contiguous(b)


def _contiguous(a: Sums) -> Sums:
    if a.rest is None and a.value.flags.c_contiguous:
        return a
    return Sums(np.ascontiguousarray(a.value), None if a.rest is None else np.ascontiguousarray(a.rest))
