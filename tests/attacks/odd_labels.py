"""Labels that look alike, or that NumPy would convert: each row counts for its own label, or an error says why not.

Rows are learned with odd labels in several containers, then more rows are learned, merged or forgotten, or a class is
renamed or dropped. The classes must be those that Python tells apart, with as many rows as were given. A refused step
leaves the estimator as it was. Classifiers around others learn the rows at once, or one after the other.
"""

from __future__ import annotations

import copy
import datetime as dt
import enum
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from attacks import children
from attacks.sequences import around, within
from attacks.tally import Tally, generator
from attacks.targets import estimator_classes, make, rows_for
from suffice.errors import SufficeError

N = 12


class Colour(enum.Enum):
    """A member of an enumeration has no order."""

    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    """A member is an integer."""

    LOW = 1
    HIGH = 2


class Name(str, enum.Enum):  # noqa: UP042  # whose str() is another string
    """A member is a string."""

    A = "a"
    B = "b"


ZONE = dt.timezone(dt.timedelta(hours=2))
POOLS: dict[str, list[Any]] = {
    "strings": ["a", "a\0", "a\0\0", "", "\0", " ", "A", "é", "e\u0301", "1", "True", "nan", "None", "\U0001f600"],
    "longest": ["a", "b", "x" * 20_000],
    "surrogates": ["a", "\ud800", "b"],
    "integers": [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "unsigned": [0, 1, 2**53 + 1, 2**63, 2**64 - 1],
    "huge": [1, 2**70, -(2**70)],
    "floats": [0.0, -0.0, 1.0, 2.0**53, 2.0**63, 1e300],
    "fractions": [0.5, 1.5, 2.0],
    "booleans": [True, False],
    "scalars": [np.int8(1), np.uint64(2**63), np.float32(2), np.float16(3), np.int64(-4)],
    "strings of NumPy": [np.str_("a"), np.str_("b"), "c"],
    "bytes": [b"a", b"a\0", b"b"],
    "decimals": [Decimal(1), Decimal("1.5"), Decimal("1e30")],
    "ratios": [Fraction(1, 2), Fraction(1, 3)],
    "dates": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
    "times": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12)],  # without a zone
    "zoned": [dt.datetime(2020, 1, 1, 2, tzinfo=ZONE), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
    "days": [np.datetime64("2020-01-01"), np.datetime64("9999-12-31"), np.datetime64("1500-01-01")],
    "moments": [np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-01T00:00:00.000000001", "ns")],
    "spans": [np.timedelta64(1, "D"), np.timedelta64(24, "h"), np.timedelta64(1, "ns")],
    "stamps": [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")],
    "enums": [Colour.RED, Colour.BLUE],
    "levels": [Level.LOW, Level.HIGH, 3],
    "names": [Name.A, Name.B, "c"],
    "tuples": [("x", "y"), ("x", "z")],
    "sets": [frozenset("ab"), frozenset("b"), frozenset("c")],
    "complex": [1j, 2 + 0j],
    "missing": [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT")],
}

CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": lambda values: _objects(values),
    "array": np.asarray,
    "int64": lambda values: np.array(values, np.int64),
    "uint64": lambda values: np.array(values, np.uint64),
    "int8": lambda values: np.array(values, np.int8),
    "float64": lambda values: np.array(values, np.float64),
    "float32": lambda values: np.array(values, np.float32),
    "big-endian": lambda values: np.array(values).astype(np.array(values).dtype.newbyteorder(">")),
    "strings": lambda values: np.array(values, np.dtypes.StringDType()),
    "Series": pd.Series,
    "Series of objects": lambda values: pd.Series(values, dtype=object),
    "Categorical": pd.Categorical,
    "nullable": lambda values: pd.Series(values, dtype="Int64"),
    "polars": pl.Series,
    "arrow": lambda values: _arrow(values),
    "dictionary": lambda values: _arrow(values).dictionary_encode(),
}


def _objects(values: list[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _arrow(values: list[Any]) -> Any:
    if len({type(value) for value in values if isinstance(value, np.generic)}) > 1:
        raise TypeError("Arrow ends the process where times and other scalars of NumPy are mixed")
    return pa.array(values)


def held(container: Any) -> list[Any]:
    """Return the labels that a container holds, which may have converted what it was made of."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(container, name):
            if isinstance(container, np.ndarray) and container.dtype.kind in "mM":
                return list(container)
            return getattr(container, name)()  # type: ignore[no-any-return]
    return list(container)


def key(label: Any) -> Any:
    """Return what tells labels apart: the characters of strings, the exact value of numbers, the moment of times."""
    if isinstance(label, (np.datetime64, np.timedelta64)) and not np.isnat(label):
        unit, count = np.datetime_data(label.dtype)
        return type(label).__name__, _nanoseconds(unit) * count * int(label.astype(np.int64))
    if label is None or label is pd.NaT or label is pd.NA or isinstance(label, (np.datetime64, np.timedelta64)):
        return ("missing",)
    if isinstance(label, dt.timedelta):
        return key(label.to_timedelta64() if isinstance(label, pd.Timedelta) else np.timedelta64(label))
    if isinstance(label, dt.date) and getattr(label, "tzinfo", None) is None:
        return key(label.to_datetime64() if isinstance(label, pd.Timestamp) else np.datetime64(label))
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, list):
        return "list", repr(label)
    if isinstance(label, str):
        return "str", str.__str__(label)
    if isinstance(label, bool):
        return "bool", label
    return ("number" if isinstance(label, Number) else type(label).__name__), label


def _nanoseconds(unit: str) -> int:
    known = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
    return known.get(unit, 86_400 * 10**9)


def counted(model: Any) -> Counter[Any]:
    """Return how many rows each class has."""
    labels = model.classes_
    listed = list(labels) if labels.dtype.kind in "mM" else labels.tolist()
    found: Counter[Any] = Counter()
    for label, count in zip(listed, model.class_count_.tolist(), strict=True):
        found[key(label)] += count  # type: ignore[assignment]  # whole numbers
    assert len(found) == len(labels), "two classes are the same"
    return found


def draw(rng: np.random.Generator) -> tuple[str, Any]:
    """Return labels in a container, and the names of both; another draw where the container refuses them."""
    while True:
        pools = [str(rng.choice(list(POOLS)))]
        if rng.random() < 0.15:
            pools.append(str(rng.choice(list(POOLS))))
        some = [label for pool in pools for label in POOLS[pool]]
        chosen = [some[i] for i in rng.choice(len(some), min(len(some), int(rng.integers(2, 5))), replace=False)]
        values = [chosen[i % len(chosen)] for i in range(N)]
        container = str(rng.choice(list(CONTAINERS)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = CONTAINERS[container](values)
                if len(made) == N and getattr(made, "ndim", 1) == 1:
                    return f"{container} of {' and '.join(pools)}: {held(made)!r}"[:300], made
        except Exception:  # the container does not hold these
            continue


class Step(NamedTuple):
    """A step after learning: what it is called, what is done, and how many rows each class should have then."""

    name: str
    do: Callable[[], Any]
    expected: Counter[Any]


def draw_step(rng: np.random.Generator, model: Any, rows: Any, first: Any) -> Step:
    """Draw what is done with an estimator that has learned rows with labels `first`."""
    name, second = draw(rng)
    before, more = (Counter(map(key, held(labels))) for labels in (first, second))
    label, new = held(first)[0], held(second)[0]
    others = Counter({each: n for each, n in before.items() if each != key(label)})
    fresh, twice = make(type(model)), copy.deepcopy(model)
    named = list({key(each): each for each in held(first)}.values())

    def score() -> Any:
        hits = [key(a) == key(b) for a, b in zip(model.predict(rows), held(second), strict=True)]
        assert abs(model.score(rows, second) - np.mean(hits)) < 1e-12, "the score is another"
        return model

    return [
        Step(f"partial_fit({name})", lambda: model.partial_fit(rows, second), before + more),
        Step("partial_fit again", lambda: model.partial_fit(rows, first), before + before),
        Step(f"+ {name}", lambda: model + fresh.fit(rows, second), before + more),
        Step("forget again", lambda: twice.partial_fit(rows, first).forget(rows, first), before),
        Step(
            f"rename_class({label!r}, {new!r})",
            lambda: model.rename_class(label, new),
            others + Counter({key(new): before[key(label)]}),
        ),
        Step(
            f"drop_class({new!r})",
            lambda: model.drop_class(new),
            Counter({each: n for each, n in before.items() if each != key(new)}),
        ),
        Step(f"classes={named!r}", lambda: fresh.partial_fit(rows, first, classes=named), before),
        Step(f"score({name})", score, before),
    ][rng.integers(8)]


REFUSALS = (  # of scikit-learn, which judges labels, and of estimators in its words
    "Unknown label type",
    "Input y contains",
    "y should be a 1d array",
    "labels represented as bytes",
    "is not the same as on last call",
    "Mix of label input types",
    "Complex data not supported",
    "legacy multi-label data representation",
)


def is_refusal(error: Exception) -> bool:
    """Return whether an error is one of suffice's, or one that scikit-learn has for labels."""
    return isinstance(error, SufficeError) or (
        isinstance(error, (ValueError, TypeError)) and any(said in str(error) for said in REFUSALS)
    )


def _table(rows: Any, labels: Any = None) -> Any:
    """Return rows as columns by name, with labels in one of them."""
    texts = isinstance(rows, list)
    columns = {"text": rows} if texts else {f"c{j}": rows[:, j] for j in range(rows.shape[1])}
    if labels is None:
        return rows if texts else pd.DataFrame(columns)
    return columns | {"label": labels}


def judge(cls: Any, rng: np.random.Generator) -> tuple[str, str]:
    """Try one case; return its name, and "refused", "answered", or what is wrong."""
    rows = rows_for(cls, N)
    name, first = draw(rng)
    by_name = rng.random() < 0.3 and cls._form != "categories"  # whose tables hold no numbered categories
    title = f"{cls.__name__}.fit({name}{', by name' if by_name else ''})"
    model = make(cls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if by_name:
                model.fit(_table(rows, first), "label")
                rows = _table(rows)
            else:
                model.fit(rows, first)
        except Exception as error:
            if model.__dict__ != make(cls).__dict__:
                return title, "a refused fit left something behind"
            return title, "refused" if is_refusal(error) else traceback.format_exc()
        try:
            if counted(model) != (expected := Counter(map(key, held(first)))):
                return title, f"{counted(model)!r} were counted, {expected!r} learned"
            held_before = copy.deepcopy(model)
            step = draw_step(rng, model, rows, first)
            title = f"{title}.{step.name}"
        except Exception:
            return title, traceback.format_exc()
        try:
            found = step.do()
        except Exception as error:
            if counted(model) != counted(held_before):
                return title, "a refused step changed the classes"
            return title, "refused" if is_refusal(error) else traceback.format_exc()
        try:
            if counted(found) != step.expected:
                return title, f"{counted(found)!r} were counted, {step.expected!r} expected"
            found.predict(rows)
        except Exception:
            return title, traceback.format_exc()
    return title, "answered"


# Options of classifiers around others, with which no row loses its weight.
OPTIONS: dict[str, dict[str, Any]] = {"Fading": {"half_life": 1e15}, "Window": {"rows": 1000}}


def judge_around(outer: Any, cls: Any, rng: np.random.Generator) -> tuple[str, str]:
    """Try one case with a classifier around another one, as `judge` does."""
    rows = rows_for(cls, N)
    listed = [rows[i] if cls._form == "texts" else {f"x{j}": v for j, v in enumerate(rows[i])} for i in range(N)]
    model = outer(make(cls), **OPTIONS.get(outer.__name__, {}))
    title, expected = f"{outer.__name__}({cls.__name__})", Counter[Any]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            name, labels = draw(rng)
            at_once = hasattr(model, "partial_fit") and rng.random() < 0.5
            title += f".{'partial_fit' if at_once else 'learn_one'}({name})"
            steps = (
                [(rows, labels, held(labels))]
                if at_once
                else [(row, label, [label]) for row, label in zip(listed, held(labels), strict=True)]
            )
            try:
                for x, y, counts in steps:
                    (model.partial_fit if at_once else model.learn_one)(x, y)
                    expected.update(map(key, counts))
            except Exception as error:
                if not is_refusal(error):
                    return title, traceback.format_exc()
                if known(model) != expected:
                    return title, f"after a refused step {known(model)!r} were counted, {expected!r} learned"
                return title, "refused"
            if known(model) != expected:
                return title, f"{known(model)!r} were counted, {expected!r} learned"
            if not {key(label) for label in model.predict_proba_one(listed[0])} <= set(expected):
                return title, f"a row has the classes {list(model.predict_proba_one(listed[0]))!r}"
    return title, "answered"


def known(model: Any) -> Counter[Any]:
    """Return how many rows each class of a classifier around another one has."""
    inner = within(model)
    if not inner.__sklearn_is_fitted__():
        return Counter()
    return Counter({each: round(count) for each, count in counted(inner).items()})


def cases() -> children.Cases:
    """List the estimators and the classifiers around them; a case tries odd labels with one of them."""
    classes, outer = estimator_classes(), [None, None, *around()]

    def draw(name: str) -> tuple[str | None, Callable[[], str]]:
        rng = generator(name)
        cls, other = classes[rng.integers(len(classes))], outer[rng.integers(len(outer))]

        def attempt() -> str:
            title, outcome = judge(cls, rng) if other is None else judge_around(other, cls, rng)
            return outcome if outcome in ("refused", "answered") else f"{title}\n{outcome}"

        return cls.__name__, attempt

    return draw


def attack(seconds: float, seed: int) -> Tally:
    """Try odd labels with every estimator."""
    return children.attack(__name__, seconds, seed)
