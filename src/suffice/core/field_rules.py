"""The rules that the types of fields, and what is declared beside them, make: see `core.validation`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import cache, partial
from inspect import get_annotations
from itertools import pairwise
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from suffice.core.declarations import Agrees, CheckedIn, Held, Labels, MisfitError, Size, Sizes, is_too_large

SHORT = 80  # characters of a value in an error


class Rule:
    """What a value may be."""

    complete: ClassVar[bool] = True  # whether it says all about the value
    late: bool = False  # whether the sizes must be known first

    def check(self, value: Any, sizes: Sizes) -> None:
        """Raise `MisfitError` if the value is not what was declared."""
        raise NotImplementedError

    def refuse(self, value: object) -> MisfitError:
        """Return the error of a value."""
        return MisfitError(self.describe, partial(shown, value))

    def describe(self) -> str:
        """What is expected, in words."""
        raise NotImplementedError


class Anything(Rule):
    """Any value: a type that says nothing."""

    complete = False

    def describe(self) -> str:
        """Say so."""
        return "any value"

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept the value."""


class Elsewhere(Anything):
    """Any value, which a method of the class checks."""

    complete = True


@dataclass
class Plain(Rule):
    """A value of a plain type."""

    kinds: tuple[type, ...]
    what: str

    def describe(self) -> str:
        """Name the type."""
        return self.what

    def check(self, value: Any, sizes: Sizes) -> None:  # noqa: ARG002  # the contract
        """Accept instances of the types."""
        if not isinstance(value, self.kinds):
            raise self.refuse(value)


@dataclass
class Choice(Rule):
    """One of several values."""

    options: tuple[Any, ...]

    def check(self, value: Any, sizes: Sizes) -> None:  # noqa: ARG002  # the contract
        """Accept the options, of their own types."""
        if not any(type(value) is type(option) and value == option for option in self.options):
            raise self.refuse(value)

    def describe(self) -> str:
        """List the options."""
        listed = ", ".join(map(repr, self.options))
        return listed if len(self.options) == 1 else f"one of {listed}"


@dataclass
class Number(Rule):
    """An integer or a real number in a range."""

    whole: bool
    held: Held

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept numbers of Python and NumPy in the range."""
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, (bool, np.bool_)):
            raise self.refuse(value)
        if not (self.held.holds(value, value) or (self.held.missing and value != value)):
            raise self.refuse(value)
        if is_too_large(value):
            raise self.refuse(value)
        if self.held.size is not None:
            sizes.set(self.held.size, int(value))  # type: ignore[call-overload]  # it is an integer

    def describe(self) -> str:
        """Describe the range."""
        return f"{'an integer' if self.whole else 'a finite number'}{self.held.range}"


@dataclass
class ArrayRule(Rule):
    """An array of one type, with a shape and a range."""

    dtype: Any  # a type of NumPy, np.integer for any integers, None for any type
    held: Held
    declared: bool

    def __post_init__(self) -> None:
        self.late = any(isinstance(size, tuple) for size in self.held.shape or ())

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether more than the type was declared."""
        return self.declared

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept arrays of the type, the shape and the range."""
        array = self._as_array(value)
        if self.held.shape is not None:
            if array.ndim != len(self.held.shape):
                raise self.refuse(value)
            for size, length in zip(self.held.shape, array.shape, strict=True):
                if not fits(size, length, sizes):
                    raise MisfitError(self._describe(sizes), shown(value))
        self.check_range(array, sizes)

    def check_range(self, array: NDArray[Any], sizes: Sizes) -> None:
        """Refuse numbers outside the range. The array is read at most twice, and never copied."""
        held = self.held
        if array.size and array.dtype.kind in "fiu":
            low, high = array.min(), array.max()
            if held.missing and low != low:
                low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)
            if not (held.holds(low, high) or (held.missing and low != low)):
                raise MisfitError(f"numbers{held.range or ' that are finite'}", f"{low:g} to {high:g}")
            if held.below is not None:
                if low < 0:
                    raise MisfitError(f"codes below the number of {held.below}", f"code {low}")
                sizes.require(held.below, int(high) + 1)
        if held.fills is not None:
            if not len(array) or array[0] or (array[1:] < array[:-1]).any():
                raise MisfitError("ascending from 0", shown(array))
            sizes.set(held.fills, int(array[-1]))

    def _as_array(self, value: Any) -> NDArray[Any]:
        if self.held.given and isinstance(value, (list, tuple, np.ndarray)):
            array = _as_numbers(value, self)
            if array.ndim > 2:  # classes and columns
                raise self.refuse(value)
            return array
        if type(value) is not np.ndarray or not self._is_type(value.dtype):
            raise self.refuse(value)
        return value

    def _is_type(self, dtype: np.dtype[Any]) -> bool:
        if self.dtype is None:
            return True
        return np.issubdtype(dtype, self.dtype) if self.dtype is np.integer else dtype == self.dtype

    def describe(self) -> str:
        """Describe type, shape and range."""
        return self._describe(Sizes())

    def _describe(self, sizes: Sizes) -> str:
        kind = "numbers" if self.held.given or self.dtype is None else np.dtype(self.dtype or float).name
        kind = "integers" if self.dtype is np.integer else kind
        if self.held.shape is None:
            return f"an array of {kind}{self.held.range}"
        lengths = [str(sizes.known.get(size, size) if isinstance(size, str) else size) for size in self.held.shape]
        return f"{kind}{self.held.range} of shape ({', '.join(lengths)})"


@dataclass
class LabelsRule(Rule):
    """Labels or categories."""

    size: str | None

    def describe(self) -> str:
        """Say what labels are."""
        return "an array of distinct labels in ascending order, all strings or all numbers"

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept sorted, distinct labels of one kind."""
        if type(value) is not np.ndarray or value.ndim != 1 or not ascends(value):
            raise self.refuse(value)
        if self.size is not None:
            sizes.set(self.size, len(value))


@dataclass
class Either(Rule):
    """One of several types."""

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        self.late = any(rule.late for rule in self.rules)

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether each says all about the value."""
        return all(rule.complete for rule in self.rules)

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept what one of the rules accepts."""
        closest: MisfitError | None = None
        for rule in self.rules:
            try:
                rule.check(value, sizes)
            except MisfitError as error:
                # The rule of the value's own type knows best what is wrong with it.
                own = error.inside or (isinstance(rule, ArrayRule) and isinstance(value, (np.ndarray, list, tuple)))
                closest = error if own else closest
            else:
                return
        raise closest or self.refuse(value)

    def describe(self) -> str:
        """List what is accepted."""
        return " or ".join(rule.describe() for rule in self.rules)


@dataclass
class Items(Rule):
    """A tuple or list of values of one type, or a tuple of values of given types."""

    kind: Any  # tuple or list
    rules: tuple[Rule, ...]
    repeated: bool
    least: int

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether each says all about its value."""
        return all(rule.complete for rule in self.rules)

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept values that the rules accept, one by one."""
        if type(value) is not self.kind or (not self.repeated and len(value) != len(self.rules)):
            raise self.refuse(value)
        if len(value) < self.least:
            raise self.refuse(value)
        for i, each in enumerate(value):
            try:
                self.rules[0 if self.repeated else i].check(each, sizes)
            except MisfitError as error:
                raise error.within(i) from None

    def describe(self) -> str:
        """Describe the items."""
        if self.repeated:
            least = f" with at least {self.least} item" if self.least else ""
            return f"a {self.kind.__name__} of {self.rules[0].describe()}{least}"
        return f"({', '.join(rule.describe() for rule in self.rules)})"


@dataclass
class Mappings(Rule):
    """A dictionary."""

    key: Rule
    value: Rule

    @property
    def complete(self) -> bool:  # type: ignore[override]
        """Whether keys and values are described."""
        return self.key.complete and self.value.complete

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept keys and values, one by one."""
        if type(value) is not dict:
            raise self.refuse(value)
        for key, each in value.items():
            self.key.check(key, sizes)
            try:
                self.value.check(each, sizes)
            except MisfitError as error:
                raise error.within(key) from None

    def describe(self) -> str:
        """Describe keys and values."""
        return f"a dictionary of {self.value.describe()}"


@dataclass
class Part(Rule):
    """An instance of a class, some of whose sizes are those of its owner."""

    kind: type
    names: tuple[str, ...]

    def check(self, value: Any, sizes: Sizes) -> None:
        """Accept instances, and take over their sizes."""
        if not isinstance(value, self.kind):
            raise self.refuse(value)
        own = (sizes.of(value) if self.names else None) or Sizes()
        for name in self.names:
            if name in own.known:
                sizes.set(name, own.known[name])
            if name in own.least:
                sizes.require(name, own.least[name])

    def describe(self) -> str:
        """Name the class."""
        return f"a {self.kind.__name__}"


# ------------------------------------------------------------------------------------- rules from types


@cache
def rules_of(cls: type) -> dict[str, Rule]:
    """Return the rule of each field of a dataclass, those first that need no sizes of others."""
    hints = _hints(cls)
    found = {each.name: _rule(hints.get(each.name, Any), ()) for each in fields(cls)}
    return dict(sorted(found.items(), key=lambda item: item[1].late))


def undeclared(cls: type) -> list[str]:
    """List the fields of which the class does not say what they may hold."""
    return [name for name, rule in rules_of(cls).items() if not rule.complete]


def _hints(cls: type) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception:  # a class of a user whose annotations name what is not there at run time
        return {name: hint for base in reversed(cls.__mro__) for name, hint in _own_hints(base).items()}


def _own_hints(cls: type) -> dict[str, Any]:
    known, out = vars(sys.modules.get(cls.__module__, object)), {}
    for name, hint in get_annotations(cls).items():
        try:
            out[name] = eval(hint, dict(known)) if isinstance(hint, str) else hint
        except Exception:
            out[name] = Any
    return out


def _rule(hint: Any, about: tuple[Any, ...]) -> Rule:
    """Return the rule that a type and what is declared `about` it make."""
    origin, inner = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # a name for a type, as `NDArray` is from NumPy 2.5 and Python 3.12 on
        return _rule(origin.__value__[inner], about)
    if origin is Annotated:
        return _rule(inner[0], (*hint.__metadata__, *about))
    for each in about:
        if isinstance(each, CheckedIn):
            return Elsewhere()
        if isinstance(each, Labels) and origin is np.ndarray:
            return LabelsRule(each.size)
    held = next((each for each in about if isinstance(each, Held)), None)
    if origin in (Union, UnionType):
        return Either(tuple(_rule(each, about) for each in sorted(inner, key=lambda each: each is NoneType)))
    if origin is Literal:
        return Choice(inner)
    if origin is np.ndarray:
        return ArrayRule(_element(inner), held or Held(), declared=held is not None)
    if origin is tuple and inner:
        repeated = len(inner) == 2 and inner[1] is ...
        rules = tuple(_rule(each, about) for each in (inner[:1] if repeated else inner))
        least = int(held.least) if held is not None and held.shape is None and repeated and held.least > 0 else 0
        return Items(tuple, rules, repeated, least)
    if origin is list and inner:
        return Items(list, (_rule(inner[0], about),), True, 0)
    if origin is dict and inner:
        return Mappings(_rule(inner[0], ()), _rule(inner[1], ()))
    if isinstance(hint, TypeVar):
        return _rule(hint.__bound__ or Any, about)
    return _rule_of_class(origin or hint, held or Held(), about)


def _rule_of_class(cls: Any, held: Held, about: tuple[Any, ...]) -> Rule:
    if cls in (None, NoneType):
        return Plain((NoneType,), "None")
    if cls is bool:
        return Plain((bool, np.bool_), "True or False")
    if cls in (int, float):
        return Number(cls is int, held)
    if cls is str:
        return Plain((str,), "a string")
    if cls is Any or cls is object or not isinstance(cls, type):
        return Anything()
    names = next((each.names for each in about if isinstance(each, Agrees)), ())
    return Part(cls, names)


def _element(inner: tuple[Any, ...]) -> Any:
    """Return the type of the elements of `NDArray[…]`; None for any."""
    (element,) = get_args(inner[1]) or (Any,)
    element = get_origin(element) or element
    return element if isinstance(element, type) and element is not np.generic else None


# ------------------------------------------------------------------------------------------------- values


def fits(size: Size, length: int, sizes: Sizes) -> bool:
    """Return whether a length is that of a size; a name without a size gets it."""
    if isinstance(size, tuple):
        return any(length == (each if isinstance(each, int) else sizes.known.get(each)) for each in size)
    if isinstance(size, str):
        name, _, more = size.partition("+")
        return sizes.known.setdefault(name, length - int(more or 0)) == length - int(more or 0) >= 0
    return size is None or size == length


def ascends(values: NDArray[Any]) -> bool:
    """Return whether labels or categories are strictly ascending, all strings, all numbers, or all tuples of these."""
    if values.dtype.kind == "O":
        items = values.tolist()
        kinds = {_kind(item) for item in items}
        return len(kinds) <= 1 and None not in kinds and all(a < b for a, b in pairwise(items))
    if values.dtype.kind not in "biufUSmM":
        return False
    return bool((values[1:] > values[:-1]).all() and (values[:1] == values[:1]).all())  # NaN is neither


def _kind(item: object) -> object:
    """Return what an item can be compared with: strings, bytes, numbers, or tuples of these; None for other items."""
    if isinstance(item, tuple):
        kinds = tuple(map(_kind, item))
        return None if None in kinds or not kinds else kinds
    if isinstance(item, (str, bytes)):
        return str if isinstance(item, str) else bytes
    return float if isinstance(item, (Real, np.bool_)) and item == item else None


def shown(value: object) -> str:
    """Return a value for an error, shortened; an array by its type and shape."""
    if isinstance(value, np.ndarray) and (value.ndim != 1 or value.size > 8):
        return f"{value.dtype} of shape {value.shape}"
    if is_too_large(value):
        return "an integer of more than 64 bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def _as_numbers(value: Any, rule: Rule) -> NDArray[Any]:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return array
    except ValueError:  # rows of several lengths
        pass
    raise rule.refuse(value)
