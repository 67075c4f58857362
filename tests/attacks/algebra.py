"""Random sequences of the algebra of statistics, against summarizing the rows that are held at once.

Every registered statistic is attacked: rows are added by `onto` and by `+` from either side, taken away, dropped with
their class, scaled, and what is held is stored and loaded. A statistic that is added later is attacked with a matrix of
numbers, unless `targets` has other rows for it. Weights and numbers are multiples of powers of two, so that every count
must come out exactly and every sum to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from inspect import isabstract
from typing import Any

import numpy as np

from attacks.tally import Tally, until
from suffice.core import registry
from suffice.core.frames import as_frame
from suffice.core.statistics import ByClass, Moments, Statistic
from suffice.core.statistics.blocks import Batch
from suffice.core.words import Texts
from suffice.model import packing, storage

STEPS = 20  # of a sequence
POOL = 40  # rows to choose from
ROUNDING = 1e-9  # relative to the largest number
LABELS = np.array(["a", "b", "c", "d"])


@dataclass(frozen=True)
class Target:
    """A statistic, the options of its `of`, and the rows that it summarizes."""

    name: str
    statistic: type[Statistic]
    rows: Any
    options: dict[str, Any] = field(default_factory=dict)

    def of(self, held: list[tuple[int, int, float]], onto: ByClass[Any] | None = None) -> ByClass[Any]:
        """Summarize rows of the pool, each with its class and weight."""
        places, classes, weight = (np.array(column) for column in zip(*held, strict=True))
        return ByClass.of(self.statistic, self.rows[places], LABELS[classes], weight, onto, **self.options)


def _numbers(offset: float = 0.0) -> Any:
    """Rounded numbers, some of them missing."""
    rng = np.random.default_rng(3)
    out = rng.integers(-8, 9, (POOL, 3)) / 4 + offset
    out[rng.random(out.shape) < 0.1] = np.nan
    return out


def _names() -> Any:
    return np.array(["red", "green", "blue", None], dtype=object)[np.random.default_rng(5).integers(0, 4, (POOL, 2))]


def _codes() -> Any:
    codes = np.random.default_rng(6).integers(0, 3, (POOL, 2)).astype(np.uint8)
    codes[::9, 0] = 255
    return codes


def _texts() -> Any:
    words = np.array(["red", "green", "blue", "", "red"])
    chosen = np.random.default_rng(4).integers(0, len(words), (POOL, 4))
    return Texts.of([None if i % 11 == 3 else " ".join(words[each]) for i, each in enumerate(chosen)])


def _table() -> Any:
    numbers = _numbers()
    return as_frame({"number": numbers[:, 0].tolist(), "name": [f"n{int(v)}" for v in np.nan_to_num(numbers[:, 1])]})


def targets() -> Iterator[Target]:
    """Yield every statistic of the registry, with rows and options that suit it."""
    complete = np.nan_to_num(_numbers())
    rows: dict[str, list[tuple[str, Any, dict[str, Any]]]] = {
        "Blocks": [
            ("", Batch((_numbers(), _numbers()), POOL), {"readers": ((Moments, {}), (registry.find("Cells"), {}))})
        ],
        "Cells": [("", _numbers(1e9), {}), ("with moments", _numbers(), {"exact_moments": True})],
        "Counts": [("", np.floor(np.abs(_numbers())), {}), ("of names", _names(), {})],
        "Moments": [("", _numbers(1e6), {})],
        "Pairs": [("", _codes(), {"sizes": np.array([3, 4]), "pairs": np.array([[0], [1]], np.int32)})],
        "RowSample": [("", _table(), {"size": 10 * POOL})],
        "Sample": [("", _numbers(), {"joint": True})],
        "Scatter": [("", _numbers(), {}), ("with fourth moments", complete, {"fourth": True})],
        "Totals": [("", np.abs(_numbers()), {}), ("of booleans", _numbers(), {"threshold": 0.5})],
        "WordCounts": [("", _texts(), {"keep": 10 * POOL})],
    }
    for name in registry.names(Statistic):
        statistic = registry.find(name, Statistic)
        if statistic is not None and not isabstract(statistic) and statistic.__module__.startswith("suffice."):
            for title, x, options in rows.get(name, [("", _numbers(), {})]):
                yield Target(f"{name} {title}".strip(), statistic, x, options)


def content(value: Any) -> tuple[Any, dict[str, Any]]:
    """Return the tree and arrays of a value without what rounding took from its sums."""
    tree, tensors = packing.pack(value)

    def without_rest(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: without_rest(each) for key, each in part.items() if key != "rest"}
        return [without_rest(each) for each in part] if isinstance(part, list) else part

    return without_rest(tree), {name: array for name, array in tensors.items() if not name.endswith("rest")}


def assert_same(found: Any, expected: Any) -> None:
    """Compare what two statistics hold: integers exactly, sums to rounding."""
    (tree, tensors), (other_tree, other_tensors) = content(found), content(expected)
    assert tree == other_tree, (tree, other_tree)
    assert tensors.keys() == other_tensors.keys()
    for name, array in tensors.items():
        other = other_tensors[name]
        assert array.dtype == other.dtype, name
        if array.dtype.kind == "f":
            size = float(np.nanmax(np.abs(other), initial=1.0))
            np.testing.assert_allclose(array, other, rtol=ROUNDING, atol=ROUNDING * size, err_msg=name)
        else:
            np.testing.assert_array_equal(array, other, err_msg=name)


def sequence(target: Target, rng: np.random.Generator, steps: int = STEPS) -> None:
    """Run one sequence: raise AssertionError where a step does not give the summary of the rows held."""

    def batch() -> list[tuple[int, int, float]]:
        n = int(rng.integers(1, 9))
        weights = rng.choice([1.0, 1.0, 2.0, 0.5, 0.25, 1024.0], n)
        return list(
            zip(rng.integers(0, POOL, n).tolist(), rng.integers(0, len(LABELS), n).tolist(), weights, strict=True)
        )

    batches = [batch()]
    value = target.of(batches[0])
    for _ in range(steps):
        step = rng.choice(["onto", "add", "added to", "take away", "take away", "drop", "store", "scale"])
        if step in ("onto", "add", "added to"):
            more = batch()
            batches.append(more)
            summary = target.of(more)
            value = target.of(more, value) if step == "onto" else value + summary if step == "add" else summary + value
        elif step == "take away" and len(batches) > 1:
            value = value - target.of(batches.pop(int(rng.integers(len(batches)))))
        elif step == "drop" and len(value.labels) > 1:
            label = rng.choice(value.labels)
            value = value.drop(label)
            others = [[row for row in each if LABELS[row[1]] != label] for each in batches]
            batches = [each for each in others if each]
        elif step == "scale":
            factor = float(rng.choice([0.5, 2.0, 4.0]))
            heavier = [(place, c, factor * weight) for each in batches for place, c, weight in each]
            assert_same(value.scale(factor), target.of(heavier))
        elif step == "store":
            data = storage.to_bytes(value)
            value = storage.from_bytes(data)
            assert storage.to_bytes(value) == data
        assert_same(value, target.of([row for each in batches for row in each]))


def attack(seconds: float, seed: int) -> Tally:
    """Run sequences of one statistic after the other until the seconds have passed."""
    tally, known = Tally(), list(targets())
    for name, rng in until(seconds, seed):
        target = known[int(name.rpartition("-")[2]) % len(known)]
        tally.attempt(f"algebra {name}: {target.name}", partial(sequence, target, rng), ())
    return tally
