"""The laws of the algebra, as functions to call with values built from data, and the data to build them from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from suffice.core.statistics import ByClass, Cells, Counts, Moments, Sample, Scatter, Totals
from suffice.model.storage import from_bytes, to_bytes

EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Rows:
    """Some rows with their labels and weights, and how a family reads them."""

    kind: type
    x: Any
    y: np.ndarray
    weight: np.ndarray | None
    threshold: float | None = None
    joint: bool = False
    fourth: bool = False

    def summary(self) -> ByClass:
        return self.onto(None)

    def onto(self, before: ByClass | None) -> ByClass:
        reading: dict[str, Any] = {"threshold": self.threshold} if self.threshold is not None else {}
        if self.joint:
            reading["joint"] = True
        if self.fourth:
            reading["fourth"] = True
        return ByClass.of(self.kind, self.x, self.y, self.weight, before, **reading)

    def empty(self) -> ByClass:
        return ByClass.empty(self.kind, self.x.shape[1])

    def take(self, index: Any) -> Rows:
        weight = None if self.weight is None else self.weight[index]
        return replace(self, x=self.x[index], y=self.y[index], weight=weight)

    @property
    def size(self) -> float:
        """The largest number in x, by which rounding scales."""
        if self.kind is Counts or not self.x.size:
            return 1.0
        values = np.abs(np.asarray(self.x, dtype=np.float64))
        return float(np.nanmax(np.where(np.isnan(values), 0.0, values), initial=1.0))

    @property
    def apart(self) -> float:
        """How far apart the values of x are, at most."""
        if self.kind is Counts or not np.isfinite(np.asarray(self.x, dtype=np.float64)).any():
            return 0.0
        return float(np.nanmax(self.x) - np.nanmin(self.x))


@st.composite
def rows(draw: Any, min_rows: int = 0, max_rows: int = 12) -> Rows:
    """Draw rows: empty, one row, one class, zero weight, all missing, offset 1e8, float32, any memory order."""
    n, columns = draw(st.integers(min_rows, max_rows)), draw(st.integers(1, 4))
    labels = draw(st.sampled_from([["a", "b", "c"], [3, -1, 7], ["only"]]))
    y = np.array(draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)), dtype=np.asarray(labels).dtype)
    weight = draw(
        st.one_of(
            st.none(),
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 0.5, 3.25]), min_size=n, max_size=n).map(np.array),
        )
    )
    if weight is not None:
        weight = weight.astype(np.float64).reshape(n)
    what = draw(st.sampled_from(["moments", "totals", "truths", "numbers", "names", "values", "rows", "scatter"]))
    if what == "names":
        cells = draw(st.lists(st.sampled_from(["x", "y", "zz", None]), min_size=n * columns, max_size=n * columns))
        x = np.array(cells, dtype=object).reshape(n, columns)
        return Rows(Counts, x, y, weight)
    numbers = {
        "moments": st.floats(-100, 100, width=32),
        "scatter": st.floats(-100, 100, width=32),
        "totals": st.integers(0, 9).map(float),
        "truths": st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
        "numbers": st.integers(0, 3).map(float),
        "values": st.one_of(st.floats(-100, 100, width=32), st.sampled_from([-0.0, 0.0, 1.0])),
        "rows": st.sampled_from([-0.0, 0.0, 1.0, 2.5]),
    }[what]
    gap = draw(st.sampled_from([np.nan, 1.0])) if what == "scatter" else np.nan  # half the time every row is complete
    cells = draw(st.lists(st.one_of(numbers, st.just(gap)), min_size=n * columns, max_size=n * columns))
    x = np.array(cells, dtype=np.float64).reshape(n, columns)
    if what in ("moments", "scatter") and draw(st.booleans()):
        x += 1e8
    if draw(st.booleans()):
        x = x.astype(np.float32)
    layout = draw(st.sampled_from(["C", "F", "strided"]))
    if layout == "strided":
        wide = np.zeros((2 * n, 2 * columns), dtype=x.dtype)
        wide[::2, ::2] = x
        x = np.ascontiguousarray(wide[:, ::2])[::2]  # rows apart from each other
    else:
        x = np.asarray(x, order=layout)
    kinds = {
        "moments": Moments,
        "totals": Totals,
        "truths": Totals,
        "numbers": Counts,
        "values": Cells,
        "rows": Sample,
        "scatter": Scatter,
    }
    fourth = what == "scatter" and draw(st.booleans())
    return Rows(kinds[what], x, y, weight, 0.0 if what == "truths" else None, what == "rows", fourth)


def assert_equal(a: ByClass, b: ByClass, size: float = 1.0, lost: float = 1.0, taken: float = 0.0) -> None:
    """Compare summaries: counts exactly, sums to rounding of numbers as large as `size`.

    `lost` is the ratio of weights by which a subtraction magnifies rounding, `taken` how far apart the values were
    among which it was.
    """
    labels = np.union1d(a.labels, b.labels) if len(a.labels) and len(b.labels) else max(a.labels, b.labels, key=len)
    a, b = a.over(labels), b.over(labels)
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12, atol=1e-12 * lost)
    s, t = a.statistic, b.statistic
    if isinstance(s, Counts):
        s, t = s._aligned(t)
        np.testing.assert_allclose(s.weight, t.weight, rtol=1e-12, atol=1e-12 * lost)
    elif isinstance(s, Totals):
        s_weight, t_weight = (np.broadcast_to(v.weight, v.total.shape) for v in (s, t))
        np.testing.assert_allclose(s_weight, t_weight, rtol=1e-12, atol=1e-12 * lost)
        np.testing.assert_allclose(s.total, t.total, rtol=1e-12, atol=1e-12 * lost)
    elif isinstance(s, (Cells, Sample)):
        for p, q in zip(s.parts, t.parts, strict=True):
            np.testing.assert_array_equal(p.values, q.values)
            np.testing.assert_array_equal(p.start, q.start)
            np.testing.assert_allclose(p.weight, q.weight, rtol=1e-12, atol=1e-12 * lost)
    elif isinstance(s, Scatter):
        assert_equal_scatter(s, t, size, lost)
    else:
        np.testing.assert_allclose(s.weight, t.weight, rtol=1e-12, atol=1e-12 * lost)
        step = 64 * EPS * size * lost  # what rounding may move a mean by
        np.testing.assert_allclose(s.mean, t.mean, rtol=0, atol=step)
        spread = np.sqrt(np.maximum(s.squares, t.squares)) + step
        bound = 1e-9 + lost * 1e-11 * spread**2 + 64 * step * spread * np.sqrt(np.maximum(s.weight, 1.0))
        bound += 8 * EPS * size * lost * taken  # a rounded mean, times the distance of what was taken away
        assert (np.abs(s.squares - t.squares) <= bound).all(), (s.squares, t.squares, bound)


def assert_equal_scatter(s: Scatter, t: Scatter, size: float, lost: float) -> None:
    """Compare weights exactly, gaps value by value, and products to rounding of numbers that differ by up to 208."""
    np.testing.assert_allclose(s.weight, t.weight, rtol=1e-12, atol=1e-12 * lost)
    step = 64 * EPS * size * lost
    np.testing.assert_allclose(s.mean, t.mean, rtol=0, atol=step)
    diagonals = [np.diagonal(v.cross, axis1=1, axis2=2) for v in (s, t)]
    spread = np.sqrt(np.maximum(*diagonals)) + step
    heavy = np.maximum(s.weight, 1.0)[:, None, None]
    both = spread[:, :, None] + spread[:, None, :]
    bound = 1e-9 + lost * 1e-11 * spread[:, :, None] * spread[:, None, :] + 64 * step * both * np.sqrt(heavy)
    assert (np.abs(s.cross - t.cross) <= bound).all(), (s.cross, t.cross, bound)
    assert (s.cross == s.cross.transpose(0, 2, 1)).all()
    (p,), (q,) = s.gaps.parts, t.gaps.parts
    np.testing.assert_array_equal(p.start, q.start)
    np.testing.assert_array_equal(p.values, q.values)
    np.testing.assert_allclose(p.weight, q.weight, rtol=1e-12, atol=1e-12 * lost)
    if s.higher is None or t.higher is None:
        assert not (s if s.higher is None else t).weight.any() or s.higher is t.higher
        return
    for name, power in (("third", 3), ("fourth", 4)):
        rounding = heavy * (1e-12 * lost * 208.0**power + 64 * step * 208.0 ** (power - 1))
        a, b = getattr(s.higher, name), getattr(t.higher, name)
        assert (np.abs(a - b) <= rounding).all(), (name, a, b, rounding)


def cut(whole: Rows, at: int) -> tuple[Rows, Rows]:
    """Cut rows in two."""
    return whole.take(slice(None, at)), whole.take(slice(at, None))


def addition_has_an_identity(r: Rows) -> None:
    a = r.summary()
    assert_equal(a + r.empty(), a, r.size)
    assert_equal(r.empty() + a, a, r.size)


def addition_commutes(a: Rows, b: Rows) -> None:
    assert_equal(a.summary() + b.summary(), b.summary() + a.summary(), max(a.size, b.size))


def addition_associates(a: Rows, b: Rows, c: Rows) -> None:
    p, q, r = a.summary(), b.summary(), c.summary()
    assert_equal((p + q) + r, p + (q + r), max(a.size, b.size, c.size))


def merging_parts_equals_summarizing_the_whole(whole: Rows, at: int) -> None:
    a, b = cut(whole, at)
    assert_equal(a.summary() + b.summary(), whole.summary(), whole.size)
    assert_equal(b.onto(a.summary()), whole.summary(), whole.size)


def subtraction_undoes_addition(whole: Rows, at: int) -> None:
    a, b = cut(whole, at)
    p, q = a.summary(), b.summary()
    weights = p.weight[p.weight > 0]
    lost = 1.0 + (q.weight.sum() / weights.min() if len(weights) else 1.0)
    assert_equal((p + q) - q, p, whole.size, lost, whole.apart)


def integer_weight_equals_repeated_rows(r: Rows, times: np.ndarray) -> None:
    repeated = r.take(np.repeat(np.arange(len(r.y)), times))
    assert_equal(
        replace(r, weight=times.astype(np.float64)).summary(), replace(repeated, weight=None).summary(), r.size
    )


def zero_weight_equals_absence(r: Rows, present: np.ndarray) -> None:
    weight = np.ones(len(r.y)) if r.weight is None else r.weight
    assert_equal(replace(r, weight=weight * present).summary(), r.take(present).summary(), r.size)


def scaling_equals_heavier_rows(r: Rows, factor: float) -> None:
    weight = np.ones(len(r.y)) if r.weight is None else r.weight
    assert_equal(r.summary().scale(factor), replace(r, weight=weight * factor).summary(), r.size, max(factor, 1.0))


def loading_undoes_saving(r: Rows) -> None:
    a = r.summary()
    data = to_bytes(a)
    b = from_bytes(data)
    assert b == a
    assert to_bytes(b) == data
    assert b.labels.dtype.kind == a.labels.dtype.kind


def what_was_loaded_goes_on_adding_and_subtracting(whole: Rows, at: int) -> None:
    a, b = cut(whole, at)
    p, q = (from_bytes(to_bytes(part.summary())) for part in (a, b))
    assert p + q == a.summary() + b.summary()
    assert b.onto(p) == b.onto(a.summary())
    both = a.summary() + b.summary()
    assert from_bytes(to_bytes(both)) - q == both - b.summary()


def equal_statistics_give_equal_bytes(whole: Rows, at: int) -> None:
    a, b = cut(whole, at)
    p, q = a.summary(), b.summary()
    same = [p + q, q + p, b.onto(p), whole.summary(), a.onto(q)]
    if p.labels.size == 0 or (isinstance(p.statistic, Counts) and p.statistic.weight.size == 0):
        return  # of nothing, one may still know of which type labels or categories would be
    for one in same[1:]:
        if one == same[0]:
            assert to_bytes(one) == to_bytes(same[0])
    if (p + q) - q == p:
        assert to_bytes((p + q) - q) == to_bytes(p)
