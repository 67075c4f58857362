"""Random sequences of learning, forgetting, merging and storing, against fitting once on the rows that are held.

Every estimator of the package and every family in a `BayesClassifier` is attacked with each kind of rows that it
accepts, and every classifier around another one (`Fading`, `Window`, the adapter for river) around each estimator.
After each step the estimator must have the classes and class weights of the rows held, as they count then, and give the
probabilities of one that was fitted to those rows at once, within `BOUND`. A step that is refused must raise a named
error and leave the estimator as it was, to the byte.

Values are rounded ones, any, far from 0, missing, and outliers; weights are 1, integers, fractions, tiny and huge ones.
"""

from __future__ import annotations

import copy
import inspect
import io
import math
import pickle
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import shipped
import suffice as sf
from attacks.tally import Tally
from suffice import estimators, families
from suffice.core.statistics import Moments, Scatter
from suffice.discriminant_analysis import LinearDiscriminantAnalysis
from suffice.errors import MissingPackageError, SufficeError
from suffice.estimators.generative_classifier import GenerativeClassifier

PARTS = 7  # of the seconds of all attacks: in ten minutes some 10 000 steps
STEPS = 30  # of a sequence
SEQUENCES = 4  # of a case, one after the other
BOUND = 1e-6  # by which probabilities may differ
FAR_BOUND = 1e-4  # the same of columns near 1e9, in which a difference of 1 has nine digits less
SINGULAR = 1e-8  # of the largest eigenvalue of a correlation matrix: less is decided by rounding after forgetting
UNIT = 2.0**-100  # u of the bounds that docs/mathematics.md states for what forgetting leaves
LABELS = ["a", "b", "c"]
BASE = "y", "z"  # the labels of rows that are never forgotten
ENOUGH = 100  # rows, of which more than 50 are distinct: a structure asks for so many

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Held:
    """A row with its label and weight."""

    row: Row
    label: str
    weight: float
    time: float = 0.0  # when it was learned, for those to whom it matters


# ------------------------------------------------------------------------------------------------ kinds of rows

WORDS = ["red", "green", "blue", None]
TEXTS = ["buy now", "now or never", "lunch at noon", "noon", "buy buy buy", ""]


def _numbers(*extra: float) -> st.SearchStrategy[Any]:
    """Numbers of one column: rounded ones, any, far from 0, outliers, missing."""
    rounded = st.integers(-3, 3).map(float)
    return st.one_of(rounded, rounded.map(lambda v: v / 8), st.floats(-100, 100, width=32), st.sampled_from(extra))


REAL = _numbers(math.nan, 1e6, -1e5)
FAR = st.one_of(st.integers(-3, 3).map(lambda v: 1e9 + v), st.integers(-8, 8).map(lambda v: 1e9 + v / 8))
NEAR = st.integers(-2, 2).map(lambda v: 1e6 + v)
POSITIVE = st.one_of(st.integers(1, 9).map(float), st.floats(1e-3, 1e3), st.sampled_from([math.nan, 1e-6, 1e5]))
COUNTS = st.one_of(st.integers(0, 3).map(float), st.integers(0, 50).map(float), st.just(math.nan))

COLUMNS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "real": (REAL, REAL),
    "offset": (FAR, NEAR),
    "positive": (POSITIVE, POSITIVE),
    "counts": (COUNTS, COUNTS),
    "categories": (st.sampled_from(WORDS), st.sampled_from(WORDS[1:])),
    "texts": (st.sampled_from(TEXTS),),
    "mixed": (REAL, st.sampled_from(WORDS), st.sampled_from([True, False, None])),
}
WEIGHTS = st.one_of(
    st.just(1.0), st.just(1.0), st.sampled_from([2.0, 3.0, 0.5, 0.1, 1 / 3]), st.sampled_from([1e-9, 1e-3, 1e3, 1e9])
)
NAMES = ("u", "v", "w")


EXAMPLES: dict[str, list[Row]] = {
    "real": [(1.0, -2.0), (0.5, 1.0), (-3.0, 0.25), (2.0, -1.0), (1.5, 2.5)],
    "offset": [(1e9, 1e6 + 1), (1e9 + 0.125, 1e6), (1e9 + 3, 1e6), (1e9 - 1, 1e6 - 2), (1e9 + 2, 1e6 + 2)],
    "positive": [(1.0, 2.0), (0.5, 1.5), (3.0, 0.25), (2.0, 7.0), (1.5, 2.5)],
    "counts": [(1.0, 0.0), (0.0, 2.0), (3.0, 1.0), (2.0, 1.0), (1.0, 4.0)],
    "categories": [("red", "green"), ("green", "blue"), ("red", "blue"), ("blue", "green"), ("red", "blue")],
    "texts": [("buy now",), ("lunch at noon",), ("now",), ("noon",), ("buy",)],
    "mixed": [(1.0, "red", True), (2.0, "blue", False), (0.5, "red", False), (3.0, "green", True), (2.5, "red", True)],
}


# ------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """An estimator with its options, and a kind of rows that it accepts."""

    name: str
    make: Callable[[], Any]
    kind: str
    table: bool = False
    infinite: bool = False  # whether an infinite number is a value like others
    base: tuple[Held, ...] = ()  # the first rows that are learned, always, and never forgotten
    exact: bool = True  # whether answers are those of a fit at once: not if fewer rows are kept than there are
    around: type | None = None  # a classifier around the estimator

    def begin(self) -> Any:
        """Return what is attacked: the estimator, or one around it."""
        options = AROUND.get(self.around.__name__, {}) if self.around else {}
        return self.around(self.make(), **options) if self.around else self.make()

    def as_row(self, row: Row, estimator: Any) -> Any:
        """Return one row as a user would hand it in: a text, or values by the names of columns."""
        inner = within(estimator)
        if inner._form == "texts":
            return row[0]
        first = NAMES if self.is_table else [f"x{j}" for j in range(len(row))]
        names = inner._names() if inner.__sklearn_is_fitted__() else first[: len(row)]
        return {name: None if value != value else value for name, value in zip(names, row, strict=True)}

    @property
    def is_table(self) -> bool:
        """Whether columns have names."""
        return self.table or self.kind == "mixed"

    def as_input(self, rows: list[Row]) -> Any:
        """Return rows as a user would hand them in."""
        width = len(COLUMNS[self.kind])
        if self.is_table:
            columns = {name: [row[j] for row in rows] for j, name in enumerate(NAMES[:width])}
            return {name: [None if v != v else v for v in values] for name, values in columns.items()}  # NaN is null
        if self.kind == "texts":
            return [row[0] for row in rows]
        return np.array(rows, dtype=object if self.kind == "categories" else np.float64).reshape(len(rows), width)

    def learn(self, onto: Any, held: list[Held], by_row: bool = False) -> Any:
        """Learn rows in one call, or one after the other: if that is wanted, or there is no such call."""
        if hasattr(onto, "partial_fit") and not by_row:
            x, y, classes, weight = self.arguments(held)
            return onto.partial_fit(x, y) if weight is None else onto.partial_fit(x, y, classes, weight)
        for each in held:
            onto.learn_one(self.as_row(each.row, onto), each.label)
        return onto

    def at_once(self, held: list[Held]) -> Any:
        """Return the estimator, fitted to rows; if these are not among them, the first rows only show the columns."""
        made = self.make()
        if set(self.base) <= {replace(each, weight=1.0, time=0.0) for each in held}:
            # Numbers in single rows are names of categories; in an array, the numbers below them are categories, too.
            by_row = made._form == "categories" and not hasattr(self.begin(), "partial_fit")
            return self.learn(made, held, by_row)
        shown = self.learn(made, [*self.base, *held])
        x, y, _, _ = self.arguments(list(self.base))
        return shown.forget(x, y)

    def counted(self, held: list[Held], now: float) -> list[Held]:
        """Return the rows that count at a time, each with its weight."""
        name = self.around.__name__ if self.around else ""
        if name == "Window":
            return held[-AROUND[name]["rows"] :]
        if name == "Fading":
            faded = [2.0 ** ((each.time - now) / AROUND[name]["half_life"]) for each in held]
            return [replace(each, weight=each.weight * by) for each, by in zip(held, faded, strict=True)]
        return held

    def arguments(self, held: list[Held]) -> tuple[Any, Any, Any, Any]:
        """Return X, y, classes and sample_weight for `partial_fit`."""
        weights = [each.weight for each in held]
        plain = all(weight == 1.0 for weight in weights)
        x = self.as_input([each.row for each in held])
        return x, np.array([each.label for each in held]), None, None if plain else np.array(weights)


def exported() -> list[type[GenerativeClassifier]]:
    """List every estimator of the package, wherever it is defined."""
    for module in iter_modules(estimators.__path__):
        with suppress(MissingPackageError):  # an estimator for a library that is not installed
            import_module(f"suffice.estimators.{module.name}")
    found, todo = [], [GenerativeClassifier]
    while todo:
        for cls in todo.pop().__subclasses__():
            todo.append(cls)
            if cls.__module__.startswith("suffice.") and not getattr(cls, "__abstractmethods__", None):
                found.append(cls)
    return sorted((cls for cls in set(found) if not cls.__name__.startswith("_")), key=lambda cls: cls.__name__)


def within(classifier: Any) -> Any:
    """Return the estimator that answers: the classifier itself, or the one that it is around, as rows count now."""
    if isinstance(classifier, GenerativeClassifier):
        return classifier
    if not hasattr(type(classifier), "estimator_"):
        return classifier._model
    return classifier.estimator_ if classifier.__sklearn_is_fitted__() else classifier.estimator


def takes(method: Any, name: str) -> bool:
    """Return whether a method has a parameter of that name."""
    return name in inspect.signature(method).parameters


def around() -> list[type]:
    """List every classifier of the package that is around another one."""
    exported()  # imports all of them
    found = {
        cls
        for module in iter_modules(estimators.__path__)
        for cls in vars(sys.modules.get(f"suffice.estimators.{module.name}", object())).values()
        if isinstance(cls, type) and cls.__module__.startswith("suffice.") and not inspect.isabstract(cls)
        if hasattr(cls, "predict_proba_one") and "estimator" in inspect.signature(cls).parameters
    }
    return sorted((cls for cls in found if not cls.__name__.startswith("_")), key=lambda cls: cls.__name__)


# Options of classifiers around others: sequences are long enough for rows to fade and to leave a window.
AROUND: dict[str, dict[str, Any]] = {"Fading": {"half_life": 12.0}, "Window": {"rows": 15}}

# The last keeps fewer rows than there are: its pairs are counted by a plan.
STRUCTURES: list[dict[str, Any]] = [
    {"structure": "columns"},
    {"structure": "pairs"},
    {"structure": "pool"},
    {"structure": "pairs", "keep": 50},
]

# Options that learn or answer in another way than the default ones.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "BayesClassifier": [
        {"calibrate": False, "missing": "informative"},
        {"calibrate": False, "structure": "naive", "keep": 0},  # as clusters are
        *STRUCTURES,
    ],
    "GaussianNB": [{"var_smoothing": 0.0}],
    "KernelNB": [{"kernel": "epanechnikov", "bandwidth": 0.5}],
    "LinearDiscriminantAnalysis": [{"solver": "lsqr", "shrinkage": "auto"}],
    "QuadraticDiscriminantAnalysis": [{"reg_param": 0.1}],
    "TextClassifier": [{"event": "multinomial"}, {"event": "bernoulli"}],
}


def first(cls: type, kind: str) -> tuple[Held, ...]:
    """Return the rows that show a `BayesClassifier` what the columns of a table are: always the same."""
    return tuple(Held(row, BASE[1], 1.0) for row in EXAMPLES[kind]) if cls is sf.BayesClassifier else ()


def many(kind: str) -> tuple[Held, ...]:
    """Return rows of two classes, enough for a structure: which values come together depends on the class."""
    rng, examples = np.random.default_rng(7), EXAMPLES[kind]

    def value(number: int, column: int) -> Any:
        found = examples[number % len(examples)][column]
        further = float(rng.integers(24))
        return found + (further if kind == "counts" else further / 8) if type(found) is float else found

    held = []
    for i in range(ENOUGH):
        first = int(rng.integers(len(examples)))
        row = tuple(value(first + column * (1 + i % 2), column) for column in range(len(COLUMNS[kind])))
        held.append(Held(row, BASE[i % 2], 1.0))
    return tuple(held)


def cases() -> Iterator[Case]:
    """Yield every estimator and every family with every kind of rows that it accepts."""
    for cls in exported():
        for options in [{}, *VARIANTS.get(cls.__name__, [])]:
            shown = ", ".join(f"{name}={value!r}" for name, value in options.items())
            make = partial(cls, **options)
            for kind in EXAMPLES:
                base = many(kind) if "structure" in options else first(cls, kind)
                yield Case(f"{cls.__name__}({shown}) of {kind}", make, kind, base=base, exact="keep" not in options)
    for outer in around():
        for cls in exported():
            for kind in EXAMPLES:
                name = f"{outer.__name__}({cls.__name__}) of {kind}"
                yield Case(name, cls, kind, base=first(cls, kind), around=outer)
    for name in shipped.family_names():
        family = families.named(name)
        for kind, columns in COLUMNS.items():
            if kind != "mixed":
                block: Any = NAMES[: len(columns)] if len(columns) > 1 else NAMES[0]
                make = partial(sf.BayesClassifier, {block: family()}, calibrate=False)
                infinite = family.reads == "categories"
                yield Case(f"family {name} of {kind}", make, kind, table=True, infinite=infinite)


def accepted() -> Iterator[Case]:
    """Yield the cases whose estimator learns from rows of the kind and answers."""
    for case in cases():
        held = [Held(row, label, 1.0) for row, label in zip(EXAMPLES[case.kind], "aabba", strict=True)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                within(case.learn(case.begin(), held)).predict_proba(case.arguments(held)[0])
        except (SufficeError, ValueError, TypeError):
            continue
        yield case


# ----------------------------------------------------------------------------------------------------- machine

REFUSALS = (SufficeError, ValueError)  # scikit-learn's own checks, and NotFittedError, are a ValueError


def is_nearly_singular(estimator: Any) -> bool:
    """Return whether a covariance within classes is nearly singular, so that rounding decides on a direction.

    Rows of weight 1e-9 alone may vary in a direction, with a variance of a billionth of the others. Once a row of
    weight 1e9 far from 0 was forgotten, that is within what rounding may have taken, and the shrinkage with it.
    """
    if not isinstance(estimator, LinearDiscriminantAnalysis) or estimator.solver == "svd":
        return False
    covariance = estimator.covariance_
    deviation = np.sqrt(np.diagonal(covariance))
    if not (deviation > 0).all():
        return False  # a column that does not vary is left out on both sides
    least, *_, most = np.linalg.eigvalsh(covariance / np.outer(deviation, deviation))
    return 0 < least < SINGULAR * most


@dataclass
class Ever:
    """What an estimator has held at any time, from which the bounds of docs/mathematics.md follow."""

    steps: int = 0  # rows that were added or taken away
    weight: float = 0.0
    value: float = 0.0

    def hold(self, held: list[Held], steps: int) -> None:
        """Take account of the rows that are held after further rows were added or taken away."""
        values = [abs(v) for each in held for v in each.row if isinstance(v, float) and math.isfinite(v)]
        logs = [abs(math.log(v)) for v in values if v]  # which some families take
        self.steps += steps
        self.weight = max(self.weight, sum(each.weight for each in held))
        self.value = max([self.value, *values, *logs])

    def check(self, found: Any, fresh: Any) -> None:
        """Require that what was learned differs from a fit at once by no more than the bounds, rounded to float64."""
        last = 4 * np.finfo(float).eps
        for mine, other in zip(_sums_in(found), _sums_in(fresh), strict=True):
            left = other.weight[:, None] if isinstance(other, Scatter) else other.weight
            weight = self.steps * UNIT * self.weight
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.where(left > 0, weight * self.value / left, 0.0)
            names = ("weight", "mean", "squares" if isinstance(other, Moments) else "cross")
            for name, bound in zip(names, (weight, mean, self.steps * weight * self.value**2), strict=True):
                a, b = getattr(mine, name), getattr(other, name)
                assert (np.abs(a - b) <= bound + last * np.abs(b)).all(), (name, a, b, bound)


def _sums_in(statistic: Any) -> Iterator[Moments | Scatter]:
    """Yield all moments and scatters within a statistic."""
    if isinstance(statistic, (Moments, Scatter)):
        yield statistic
    for part in getattr(statistic, "parts", ()):
        yield from _sums_in(part)


def is_up_to_rounding(found: Any, fresh: Any) -> bool:
    """Return whether rounding decides on answers, within the bounds of what forgetting leaves.

    A class that has equal values in a column, and no variance from elsewhere, is a point: its log-density falls by
    more than 1e30 for each unit of distance, so the last digit of its mean decides. That digit may differ where rows
    were forgotten that outweighed those that are left by more than 2^50.
    """
    if not hasattr(fresh, "var_"):
        return is_nearly_singular(fresh)
    size = np.abs(fresh.theta_).max(axis=0) * np.finfo(float).eps
    point = fresh.var_ <= np.maximum(size**2, 1e-300)
    return bool((point & (found.theta_ != fresh.theta_)).any())


def saved(estimator: Any) -> bytes | None:
    """Return the bytes of the file; None if the estimator is not fitted."""
    estimator = within(estimator)
    if not estimator.__sklearn_is_fitted__():
        return None
    file = io.BytesIO()
    estimator.save(file)
    return file.getvalue()


def machine(case: Case, tally: Counter[str]) -> type[RuleBasedStateMachine]:
    """Make the state machine of a case. Its steps are counted in `tally`."""
    held_rows = st.builds(Held, st.tuples(*COLUMNS[case.kind]), st.sampled_from(LABELS), WEIGHTS)
    batches = st.one_of(st.lists(held_rows, min_size=1, max_size=1), st.lists(held_rows, min_size=1, max_size=8))
    plain = batches.map(lambda batch: [replace(each, weight=1.0) for each in batch])
    some_rows = st.one_of(plain, batches)
    made = case.begin()
    known = getattr(made, "partial_fit", None)
    if known is None or not takes(known, "sample_weight"):
        some_rows = plain

    def can(name: str) -> bool:
        return hasattr(made, name)

    class Sequence(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.estimator = case.begin()
            self.held: list[Held] = []
            self.clock = 0.0
            self.ever = Ever()
            if case.base:
                self.held = self.newer(list(case.base))
                case.learn(self.estimator, self.held)
            self.whole = True  # whether all weights ever held are integers, whose sums are exact

        # ---- steps

        def newer(self, batch: list[Held]) -> list[Held]:
            """Return rows as the newest ones."""
            rows = [replace(each, time=self.clock + i) for i, each in enumerate(batch, 1)]
            self.clock += len(rows)
            return rows

        def become(self, estimator: Any, held: list[Held]) -> None:
            """Hold other rows, and compare with fitting those that count at once."""
            tally["tried"] += 1
            self.ever.hold(held, len(held) + len(self.held))
            self.estimator, self.held = estimator, held
            counted = case.counted(held, self.clock)
            self.whole &= all(each.weight.is_integer() for each in counted)
            self.compare(counted)

        def refused(self, step: Callable[[], Any]) -> None:
            """Require that a step is refused by a named error and changes nothing."""
            tally["tried"] += 1
            before = saved(self.estimator)
            try:
                step()
            except REFUSALS:
                tally["refused"] += 1
            else:
                raise AssertionError("this should have been refused")
            assert saved(self.estimator) == before, "what was refused has changed the estimator"

        def compare(self, held: list[Held]) -> None:
            """Compare with an estimator that was fitted to rows at once."""
            found_in = within(self.estimator)
            if not held:
                assert not found_in.__sklearn_is_fitted__(), "nothing is held, but it is fitted"
                tally["answered"] += 1
                return
            weight: Counter[str] = Counter()
            for each in held:
                weight[each.label] += each.weight
            fresh = case.at_once(held)
            assert found_in.classes_.tolist() == sorted(weight)
            counted = [weight[label] for label in sorted(weight)]
            if self.whole:
                assert found_in.class_count_.tolist() == counted
            np.testing.assert_allclose(found_in.class_count_, counted, rtol=1e-12)
            x = case.as_input([*(each.row for each in held), *EXAMPLES[case.kind]])
            try:
                expected = fresh.predict_proba(x)
            except SufficeError as error:
                tally["refused"] += 1
                try:
                    found_in.predict_proba(x)
                except type(error):
                    return
                raise AssertionError(f"it answers where fitting at once is refused: {error}") from error
            found = found_in.predict_proba(x)
            np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
            if case.exact:
                if not case.around:  # the weights of which are not those that are held
                    self.ever.check(found_in.statistics_.statistic, fresh.statistics_.statistic)
                if not is_up_to_rounding(found_in, fresh):
                    bound = FAR_BOUND if case.kind == "offset" else BOUND
                    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
            tally["answered"] += 1

        @property
        def free(self) -> list[int]:
            """The positions of the rows that may be forgotten."""
            return [i for i, each in enumerate(self.held) if each.label not in BASE]

        @property
        def labels(self) -> list[str]:
            """The classes that may be dropped and renamed."""
            return sorted({self.held[i].label for i in self.free})

        @precondition(lambda _: can("fit"))
        @rule(batch=some_rows)
        def fit(self, batch: list[Held]) -> None:
            batch = [*case.base, *batch]
            x, y, _, weight = case.arguments(batch)
            before = saved(self.estimator)
            try:
                found = self.estimator.fit(x, y) if weight is None else self.estimator.fit(x, y, weight)
            except REFUSALS:  # discriminant analysis refuses a single row of a class
                tally.update(tried=1, refused=1)
                assert saved(self.estimator) == before, "what was refused has changed the estimator"
                return
            self.whole, self.clock = True, 0.0
            self.become(found, self.newer(batch))

        @rule(batch=some_rows)
        def partial_fit(self, batch: list[Held]) -> None:
            self.become(case.learn(self.estimator, batch), self.held + self.newer(batch))

        @precondition(lambda self: self.held)
        @rule(batch=some_rows, asked=st.booleans(), settled=st.booleans())
        def learn_one(self, batch: list[Held], asked: bool, settled: bool) -> None:
            for each in batch:
                row = case.as_row(each.row, self.estimator)
                if asked:  # choices are kept for the next rows
                    with suppress(SufficeError):  # a fit at once may be refused an answer, too: `compare` sees to it
                        self.estimator.predict_one(row)
                weight = {"w": each.weight} if takes(self.estimator.learn_one, "w") else {}
                self.estimator.learn_one(row, each.label, **weight)
            if settled and can("settle"):
                self.estimator.settle()
            self.become(self.estimator, self.held + self.newer(batch))

        @precondition(lambda self: can("forget") and self.free)
        @rule(data=st.data())
        def forget(self, data: Any) -> None:
            chosen = data.draw(st.sets(st.sampled_from(self.free), min_size=1), "rows to forget")
            gone = [self.held[i] for i in sorted(chosen)]
            x, y, _, weight = case.arguments(gone)
            self.become(
                self.estimator.forget(x, y, weight), [each for i, each in enumerate(self.held) if i not in chosen]
            )

        @precondition(lambda self: can("forget") and self.free)
        @rule(data=st.data())
        def forget_one_by_one(self, data: Any) -> None:
            order = data.draw(st.permutations(self.free), "order")[1:]
            for i in order:
                x, y, _, weight = case.arguments([self.held[i]])
                self.estimator.forget(x, y, weight)
            self.become(self.estimator, [each for i, each in enumerate(self.held) if i not in order])

        @precondition(lambda self: can("__add__") and self.held)
        @rule(batch=some_rows, left=st.booleans())
        def merge(self, batch: list[Held], left: bool) -> None:
            batch = [*case.base, *batch]
            other = case.learn(case.begin() if case.exact else self.estimator.like(), batch)
            mine = [replace(each, time=each.time - self.clock) for each in self.held]  # each as old as its own rows say
            self.clock = -float(len(batch))
            theirs = self.newer(batch)
            self.become(self.estimator + other if left else other + self.estimator, mine + theirs)

        @precondition(lambda self: can("drop_class") and self.labels and len({each.label for each in self.held}) > 1)
        @rule(data=st.data())
        def drop_class(self, data: Any) -> None:
            label = data.draw(st.sampled_from(self.labels))
            self.become(self.estimator.drop_class(label), [each for each in self.held if each.label != label])

        @precondition(lambda self: can("rename_class") and self.labels)
        @rule(data=st.data(), new=st.sampled_from([*LABELS, "d"]))
        def rename_class(self, data: Any, new: str) -> None:
            old = data.draw(st.sampled_from(self.labels))
            renamed = [replace(each, label=new) if each.label == old else each for each in self.held]
            self.become(self.estimator.rename_class(old, new), renamed)

        @precondition(lambda self: self.held)
        @rule(how=st.sampled_from(["save", "pickle", "deepcopy"]))
        def store(self, how: str) -> None:
            before = saved(self.estimator)
            assert before is not None
            if how == "save" and can("save"):
                again = sf.load(io.BytesIO(before))
            else:
                again = (
                    copy.deepcopy(self.estimator) if how == "deepcopy" else pickle.loads(pickle.dumps(self.estimator))
                )
            assert saved(again) == before
            self.become(again, self.held)

        @precondition(lambda self: within(self.estimator) is self.estimator and self.held)
        @rule(factor=st.sampled_from([0.5, 2.0, 8.0]))
        def scale(self, factor: float) -> None:
            before, learned, scaled = (self.estimator, self.held), self.estimator._settled(), copy.copy(self.estimator)
            scaled._become(replace(learned, seen=learned.seen.scale(factor)))
            self.become(scaled, [replace(each, weight=factor * each.weight) for each in self.held])
            self.estimator, self.held = before  # a row is forgotten with the weight that it was learned with

        # ---- what must be refused

        @precondition(lambda _: can("partial_fit"))
        @rule(row=held_rows, wrong=st.sampled_from(["weight", "length", "label", "value", "class", "row", "heavy"]))
        def do_what_must_be_refused(self, row: Held, wrong: str) -> None:
            x, y, _, _ = case.arguments([row])
            learn, known = self.estimator.partial_fit, [each.label for each in self.held]
            if case.around and wrong not in ("length", "label", "value"):
                return  # it takes no weights, and has no steps that could be refused
            if wrong == "weight":
                for weight in (-1.0, math.nan, math.inf):
                    self.refused(partial(learn, x, y, None, np.array([weight])))
            elif wrong == "length":
                self.refused(partial(learn, x, np.concatenate([y, y])))
            elif wrong == "label":
                self.refused(partial(learn, x, np.array([None], dtype=object)))
            elif wrong == "value" and case.kind in ("real", "offset", "positive", "counts") and not case.infinite:
                infinite = case.as_input([(math.inf, *row.row[1:])])
                self.refused(partial(learn, infinite, y))
            elif wrong == "class":
                self.refused(partial(self.estimator.drop_class, "never"))
                self.refused(partial(self.estimator.rename_class, "never", "d"))
                if len(set(known)) == 1:
                    self.refused(partial(self.estimator.drop_class, known[0]))
            elif wrong == "row":
                self.refused(partial(self.estimator.forget, x, np.array(["never"])))
            elif wrong == "heavy" and known:
                heavy = 4.0 * sum(each.weight for each in self.held) + 1.0
                self.refused(partial(self.estimator.forget, x, np.array(known[:1]), np.array([heavy])))

    Sequence.__name__ = Sequence.__qualname__ = f"Sequence[{case.name}]"
    return Sequence


def run(
    case: Case,
    tally: Counter[str],
    sequences: int = SEQUENCES,
    steps: int = STEPS,
    seed: int | None = None,
    shrink: bool = False,
) -> None:
    """Run sequences of a case, without a seed always the same ones; `shrink` looks for a shorter one that fails too."""
    made = machine(case, tally)
    options = settings(
        max_examples=sequences,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=seed is None,
        phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_state_machine_as_test(made if seed is None else seeded(seed)(made), settings=options)


def attack(seconds: float, seed: int) -> Counter[str]:
    """Run sequences of one case after the other, in an order that depends on the seed."""
    tally, end = Tally(), time.monotonic() + seconds
    known = list(accepted())
    rng = np.random.default_rng(seed)
    broken: set[str] = set()
    while time.monotonic() < end or not tally["tried"]:
        for i in rng.permutation(len(known)):
            case = known[i]
            number = int(rng.integers(2**32))
            if case.name in broken or (time.monotonic() > end and tally["tried"]):
                continue
            counted: Counter[str] = Counter()
            try:
                run(case, counted, seed=number)
            except Exception:
                broken.add(case.name)
                tally["tried"] += 1
                tally.fail(f"sequences.run(case {case.name!r}, seed={number})", traceback.format_exc(chain=False))
            else:
                tally.update(counted)
        if len(broken) == len(known):
            break
    return tally
