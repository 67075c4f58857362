"""Sparse matrices of SciPy that are not what they say: indices outside, arrays of other lengths and types, wrong flags.

A matrix is broken in one way and handed to every method of every estimator, to every family and to every statistic. A
matrix whose entries can no longer be told must be refused by a named error; one that only looks odd must give the
answer of the dense matrix. The cases run in a process of their own, so that a crash is seen and named.
"""

from __future__ import annotations

import copy
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse

from attacks import children
from attacks.sequences import AROUND, around, takes
from attacks.tally import Tally, generator
from attacks.targets import estimator_classes, make, methods_of_rows
from suffice import BagOfWords, BayesClassifier, Monitor, Suspects, cluster
from suffice.core import registry
from suffice.core.statistics import Statistic
from suffice.errors import SufficeError
from suffice.estimators.generative_classifier import GenerativeClassifier
from suffice.families import Family
from suffice.naive_bayes import MultinomialNB

FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
DENSE = np.array([[1, 0, 2, 0], [0, 3, 0, 1], [2, 0, 0, 0], [0, 0, 1, 3], [1, 1, 0, 0], [0, 2, 0, 2.0]])
Y = np.array([0, 1, 0, 1, 0, 1])
CODES = Y.astype(np.int32)

# A change makes a matrix malformed if it returns True, and leaves its entries as they were if it returns False. It
# returns None if it does not apply to the format.
Change = Callable[[Any, np.random.Generator], bool | None]
CHANGES: dict[str, Change] = {}


def change(function: Change) -> Change:
    """Add a way to change a matrix."""
    CHANGES[function.__name__] = function
    return function


def matrix(form: str, kind: str, numbers: Any = DENSE) -> Any:
    """Return the rows in a format of SciPy, as a "matrix" or an "array", with index arrays of their own."""
    made = getattr(scipy.sparse, f"{form}_{kind}")(numbers)
    return made.tocsr().tobsr((2, 2)) if form == "bsr" else made


def _index_names(x: Any) -> tuple[str, ...]:
    return {"coo": ("row", "col"), "dia": ("offsets",), "lil": (), "dok": ()}.get(x.format, ("indices", "indptr"))


def _positions(x: Any) -> str | None:
    """The name of an array of positions that has an entry for each stored value."""
    return {"coo": "col", "csr": "indices", "csc": "indices", "bsr": "indices"}.get(x.format)


def _set_entry(x: Any, rng: np.random.Generator, value: int) -> bool | None:
    """Move one stored value to another column."""
    if x.format == "lil":
        x.rows[2][0] = value
    elif x.format == "dok":
        x._dict[(1, value) if rng.random() < 0.5 else (value, 1)] = 1.0
    elif (name := _positions(x)) is not None:
        side = int(rng.integers(2))
        places = (x.coords[side] if x.format == "coo" else getattr(x, name)).astype(np.int64)
        places[rng.integers(len(places))] = value
        if np.iinfo(np.int32).min <= value <= np.iinfo(np.int32).max:
            places = places.astype(np.int32)
        if x.format == "coo":  # SciPy converts what is set by name
            x.coords = (places, x.coords[1]) if side == 0 else (x.coords[0], places)
        else:
            setattr(x, name, places)
    else:
        return None
    return True


@change
def index_just_outside(x: Any, rng: np.random.Generator) -> bool | None:
    """The first column, or row, that is not there."""
    return _set_entry(x, rng, 6)


@change
def index_far_outside(x: Any, rng: np.random.Generator) -> bool | None:
    """Indices that lead far out of memory."""
    return _set_entry(x, rng, int(rng.choice([10**6, 2**31 - 1, 2**40, 2**63 - 1])))


@change
def index_negative(x: Any, rng: np.random.Generator) -> bool | None:
    """Indices before the first."""
    return _set_entry(x, rng, int(rng.choice([-1, -5, -(2**31), -(2**62)])))


def _compressed(x: Any) -> bool:
    return x.format in ("csr", "csc", "bsr")


def _set_indptr(x: Any, at: int, value: int) -> bool | None:
    if not _compressed(x):
        return None
    x.indptr = x.indptr.copy()
    x.indptr[at] = value
    x.has_sorted_indices = bool(at % 2)
    return True


@change
def indptr_starts_late(x: Any, rng: np.random.Generator) -> bool | None:
    """Stored values before the first row."""
    return _set_indptr(x, 0, int(rng.choice([1, -1, -(2**30)])))


@change
def indptr_falls(x: Any, rng: np.random.Generator) -> bool | None:
    """A row of negative length."""
    return _set_indptr(x, 1, int(rng.choice([2**30, 100, 10])))


@change
def indptr_ends_late(x: Any, rng: np.random.Generator) -> bool | None:
    """A last row that reaches beyond what is stored."""
    return _set_indptr(x, -1, int(rng.choice([2**31 - 1, 1000, 13])))


@change
def indptr_of_other_length(x: Any, rng: np.random.Generator) -> bool | None:
    """Another number of rows."""
    if not _compressed(x):
        return None
    x.indptr = x.indptr[:-1] if rng.random() < 0.5 else np.append(x.indptr, x.indptr[-1])
    return True


@change
def shape_of_more_rows(x: Any, rng: np.random.Generator) -> bool | None:
    """A shape that the arrays do not have."""
    if x.format in ("coo", "dia", "dok"):
        return None
    x._shape = (x.shape[0] + 2, x.shape[1] + 2) if rng.random() < 0.5 else (10**6, 10**6)
    return True


@change
def shape_of_fewer_columns(x: Any, rng: np.random.Generator) -> bool | None:  # noqa: ARG001  # as all changes
    """A shape that leaves entries outside."""
    if x.format == "dia":
        return None
    x._shape = (x.shape[0] - 2, x.shape[1] - 2)
    return True


@change
def arrays_of_other_lengths(x: Any, rng: np.random.Generator) -> bool | None:
    """Positions without values, or values without positions."""
    if x.format == "lil":
        x.data[1].append(1.0) if rng.random() < 0.5 else x.rows[1].append(0)
        return True
    if x.format == "dok":
        return None
    name = str(rng.choice(["data", _positions(x) or "offsets"]))
    setattr(x, name, getattr(x, name)[:-1])
    return True


@change
def arrays_of_two_dimensions(x: Any, rng: np.random.Generator) -> bool | None:
    """Arrays of another shape."""
    if x.format in ("lil", "dok"):
        return None
    name = str(rng.choice(["data", *_index_names(x)]))
    if x.format == "coo" and name != "data":  # SciPy converts what is set
        x.coords = tuple(each[:, None] for each in x.coords)
    else:
        setattr(x, name, getattr(x, name)[..., None])
    return True


@change
def positions_of_no_integers(x: Any, rng: np.random.Generator) -> bool | None:
    """Indices that are floats, objects, or no array at all."""
    wrong = [lambda a: a.astype(float) + 0.5, lambda a: a.astype(object), lambda a: a.astype(str), list]
    convert = wrong[rng.integers(len(wrong))]
    if x.format == "lil":
        x.rows[0] = [["zero"], [0.5], [None], "ab", (0, 2)][rng.integers(5)]
        x.data[0] = [1.0] * len(x.rows[0])
    elif x.format == "dok":
        x._dict[[("a", "b"), (0.5, 1), (0,), (0, 1, 2), None, "ab"][rng.integers(6)]] = 1.0
    elif x.format == "coo":
        x.coords = tuple(convert(each) for each in x.coords)
    else:
        name = str(rng.choice(_index_names(x)))
        setattr(x, name, convert(getattr(x, name)))
    return True


@change
def values_that_are_no_numbers(x: Any, rng: np.random.Generator) -> bool | None:
    """Values of complex numbers, texts, times, or objects of any kind."""
    if x.format == "lil":
        x.data[0][0] = ["text", [1], {}, 1j][rng.integers(4)]
    elif x.format == "dok":
        x._dict[(0, 0)] = ["text", [1], {}, 1j][rng.integers(4)]
    else:
        kind = rng.choice(["c16", "U3", "M8[s]", "V8", "O"])
        x.data = x.data.astype(object) if kind == "O" else np.zeros(x.data.shape, kind)
        if kind == "O":
            x.data.flat[0] = "text"
        return True
    return True


@change
def values_of_other_types(x: Any, rng: np.random.Generator) -> bool | None:
    """The same numbers in other types."""
    kind = str(rng.choice(["f2", "f4", "g", ">f8", ">f4", ">i4", "i1", "u8", "i8", ">u2", "O"]))
    if x.format in ("lil", "dok"):
        return None
    x.data = x.data.astype(kind)
    return False


@change
def positions_of_other_types(x: Any, rng: np.random.Generator) -> bool | None:
    """The same indices in other types."""
    if x.format in ("lil", "dok"):
        return None
    kind = str(rng.choice(["u8", "u4", "i1", "i8", ">i4", ">i8", ">u8"]))
    for name in _index_names(x)[: int(rng.integers(1, 3))]:
        wanted = kind.replace("u", "i") if name == "offsets" else kind  # which may be negative
        if x.format == "coo":
            x.coords = tuple(each.astype(wanted) for each in x.coords)
        else:
            setattr(x, name, getattr(x, name).astype(wanted))
    return False


@change
def positions_with_gaps(x: Any, rng: np.random.Generator) -> bool | None:  # noqa: ARG001  # as all changes
    """Arrays that are not contiguous."""
    if x.format in ("lil", "dok", "coo"):
        return None
    for name in ("data", *_index_names(x)):
        setattr(x, name, np.repeat(getattr(x, name), 2, axis=0)[::2])
    return False


@change
def room_for_more(x: Any, rng: np.random.Generator) -> bool | None:  # noqa: ARG001  # as all changes
    """Arrays longer than `indptr` says, with anything behind."""
    if not _compressed(x):
        return None
    x.indices = np.append(x.indices, [2**30, -7]).astype(x.indices.dtype)
    x.data = np.concatenate([x.data, np.full((2, *x.data.shape[1:]), np.inf)])
    return False


@change
def unsorted_that_says_sorted(x: Any, rng: np.random.Generator) -> bool | None:  # noqa: ARG001  # as all changes
    """Indices out of order, under a flag that says they are in order."""
    if x.format not in ("csr", "csc"):
        return None
    for a, b in zip(x.indptr[:-1], x.indptr[1:], strict=True):
        x.indices[a:b], x.data[a:b] = x.indices[a:b][::-1].copy(), x.data[a:b][::-1].copy()
    x.has_sorted_indices = x.has_canonical_format = True
    return False


@change
def duplicates_that_say_canonical(x: Any, rng: np.random.Generator) -> bool | None:  # noqa: ARG001  # as all changes
    """Entries stored in two parts, under a flag that says there are none."""
    if x.format not in ("csr", "csc"):
        return None
    x.indices, x.data, x.indptr = np.repeat(x.indices, 2), np.repeat(x.data / 2, 2), x.indptr * 2
    x.has_sorted_indices = x.has_canonical_format = True
    return False


# ------------------------------------------------------------------------------------------------------ targets


def targets() -> dict[str, Callable[[Any], Any]]:
    """Return what takes rows, by name: a function of a matrix that gives an answer to compare."""
    found: dict[str, Callable[[Any], Any]] = {}
    for cls in estimator_classes():
        fitted = make(cls).fit(DENSE, Y) if cls._form != "texts" else None
        for method in methods_of_rows(cls):
            found[f"{cls.__name__}.{method}"] = _method(cls, fitted, method)
    for outer in around():
        for method in methods_of_rows(outer):
            found[f"{outer.__name__}.{method}"] = _around(outer, method)
    monitored = make(BayesClassifier).fit(DENSE, Y)
    found["Monitor.update"] = lambda x: Monitor(monitored, reference=None).update(x, Y)
    found["cluster"] = lambda x: cluster(x, 2).predict_proba(DENSE)
    for name in registry.names(Family):
        family = registry.find(name, Family)
        with suppress(TypeError, ValueError):  # needs options
            made = family()  # type: ignore[misc]
            found[f"{name}.summarize"] = lambda x, made=made: made.summarize(x, Y).weight
    for name in registry.names(Statistic):
        statistic = registry.find(name, Statistic)
        if not getattr(statistic, "__abstractmethods__", None):
            found[f"{name}.of"] = lambda x, statistic=statistic: statistic.of(x, CODES, 2).take(np.arange(2)).n_columns
    bag = BagOfWords(vocabulary=["a", "b", "c", "d"])
    found["BagOfWords.inverse_transform"] = lambda x: [sorted(words) for words in bag.inverse_transform(x)]
    return found


def _method(cls: type, fitted: Any, method: str) -> Callable[[Any], Any]:
    def ask(x: Any) -> Any:
        estimator = make(cls) if fitted is None or method == "fit" else copy.deepcopy(fitted)
        if method in ("fit", "partial_fit"):
            return getattr(estimator, method)(x, Y).predict_proba(DENSE)
        if method == "forget":
            return estimator.partial_fit(DENSE, Y).forget(x, Y).class_count_
        asked = getattr(estimator, method)
        answer = asked(x, Y) if takes(asked, "y") else asked(x)
        return answer.table().values if isinstance(answer, Suspects) else answer

    return ask


def _around(outer: type, method: str) -> Callable[[Any], Any]:
    def ask(x: Any) -> Any:
        classifier = outer(make(MultinomialNB), **AROUND[outer.__name__])
        if method in ("fit", "partial_fit"):
            return getattr(classifier, method)(x, Y).predict_proba(DENSE)
        asked = getattr(classifier.fit(DENSE, Y), method)
        return asked(x, Y) if takes(asked, "y") else asked(x)

    return ask


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, GenerativeClassifier):  # as `adapt` returns one
        return _same(a.predict_proba(DENSE), b.predict_proba(DENSE))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if hasattr(a, "__dataframe__") or isinstance(a, list):
        return str(a) == str(b)
    a, b = (np.asarray(each.toarray() if scipy.sparse.issparse(each) else each) for each in (a, b))
    if a.dtype.kind == "f":
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
    return np.array_equal(a, b)


def judge(ask: Callable[[Any], Any], x: Any, honest: Any, is_malformed: bool) -> str:
    """Ask with a changed matrix; return "refused", "answered", or why that is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = ask(honest)
        except Exception as error:  # it takes no sparse matrix, or not this one
            expected = error
        try:
            answer = ask(x)
        except SufficeError:
            return "refused" if is_malformed or isinstance(expected, Exception) else traceback.format_exc()
        except Exception as error:  # what refuses the honest matrix, too, takes no sparse matrix
            refused = type(error) is type(expected) or (isinstance(expected, TypeError) and type(error) is ValueError)
            return "refused" if refused else traceback.format_exc()
    if is_malformed:
        return f"a malformed matrix was answered: {answer!r}"
    if isinstance(expected, Exception) or not _same(answer, expected):
        return f"the answer is {answer!r}, that of the honest matrix is {expected!r}"
    return "answered"


def case(rng: np.random.Generator, form: str, kind: str, changing: str) -> tuple[Any, bool] | None:
    """Return a changed matrix, and whether it is malformed; None if the change does not apply."""
    x = matrix(form, kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            is_malformed = CHANGES[changing](x, rng)
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError):
        return None  # SciPy refused it, or an earlier version has no such attribute
    return None if is_malformed is None else (x, is_malformed)


# --------------------------------------------------------------------------------------------------- the attack


def cases() -> children.Cases:
    """Prepare what takes rows; a case changes one matrix in one way and hands it to one of them."""
    every = targets()
    names = list(every)

    def draw(name: str) -> tuple[str | None, Callable[[], str]]:
        rng = generator(name)
        form, kind, changing = rng.choice(FORMATS), rng.choice(["matrix", "array"]), rng.choice(list(CHANGES))
        made, target = case(rng, form, kind, changing), names[rng.integers(len(names))]
        if made is None:
            return None, str
        title = f"{target} of a {form}_{kind} with {changing}"
        return title, lambda: judge(every[target], made[0], matrix(form, kind), made[1])

    return draw


def attack(seconds: float, seed: int) -> Tally:
    """Hand malformed matrices to everything that takes rows."""
    return children.attack(__name__, seconds, seed)
