"""What the fields of a stored class may hold, declared beside their types and checked in one place.

A field states its type, and with `Held` what the type does not say: the shape of an array, the range of its numbers.
Sizes have names, such as "classes" and "columns". Within one object a name stands for one number, and `Agrees` says
which of the sizes of a part are those of its owner.

    class Moments(Record):
        weight: Annotated[Array, Held("classes", "columns", least=0)]
        mean: Annotated[Array, Held("classes", "columns")]

What comes from a file is checked by `check_stored`, and options that a user gives by `check_options`: both read the
same declarations. What only several fields together show is checked by the method `check_agreement` of the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from suffice.core.declarations import Agrees, CheckedIn, Held, Labels, MisfitError, Sizes, SizesOf
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.field_rules import ascends, rules_of, shown, undeclared

__all__ = [
    "PLAIN",
    "Agrees",
    "CheckedIn",
    "Held",
    "Labels",
    "Sizes",
    "StoredFieldError",
    "ascends",
    "check_options",
    "check_stored",
    "check_value",
    "shown",
    "undeclared",
]


def check_stored(cls: type, values: Mapping[str, Any], sizes_of: SizesOf) -> Sizes:
    """Check the fields of an object that comes from a file, and return its sizes.

    `sizes_of` returns those of its parts. The error names the field.
    """
    sizes = Sizes(of=sizes_of)
    try:
        for sizes.field, rule in rules_of(cls).items():
            if sizes.field in values:
                rule.check(values[sizes.field], sizes)
        sizes.check_least()
    except MisfitError as error:
        raise StoredFieldError(f"{sizes.field}{error.inside}", error) from None
    return sizes


def check_value(value: Any) -> None:
    """Check a value with all its parts, as if it came from a file."""
    sizes: dict[int, Sizes] = {}

    def visit(part: Any) -> None:
        if isinstance(part, (tuple, list)):
            for each in part:
                visit(each)
        elif isinstance(part, dict):
            visit(list(part.values()))
        elif is_dataclass(part) and not isinstance(part, type):
            held = {each.name: getattr(part, each.name) for each in fields(part)}
            visit(list(held.values()))
            sizes[id(part)] = check_stored(type(part), held, lambda each: sizes.get(id(each)))
            if hasattr(part, "check_agreement"):
                part.check_agreement()

    visit(value)


class StoredFieldError(MismatchError):
    """A field that does not hold what it must."""

    def __init__(self, name: str, error: MisfitError):
        super().__init__(f"{name} must be {error.expected}, found {error.found}")
        self.field = name


MOST_CHECKED = 10_000
PLAIN = frozenset({bool, int, float, str, type(None)})  # types of options that never change
_checked: set[tuple[Any, ...]] = set()


def check_options(options: Any, *names: str) -> None:
    """Check the fields of options that a user has given: all of them, or those that are named."""
    cls: Any = type(options)
    rules, sizes = rules_of(cls), Sizes()
    # Columns and classes have many families of equal options: those that were checked before are known.
    values = [getattr(options, name) for name in names or rules]
    known = (cls, names, *((type(value), value) for value in values)) if PLAIN.issuperset(map(type, values)) else None
    if known is not None and known in _checked:
        return
    for name in names or rules:
        try:
            rules[name].check(getattr(options, name), sizes)
        except MisfitError as error:
            owner = type(options).__name__
            raise InvalidOptionError(
                f"{owner}: {name} must be {error.expected}, found {shown(getattr(options, name))}"
            ) from None
    if known is not None and len(_checked) < MOST_CHECKED:
        _checked.add(known)
