"""Families of class-conditional distributions: one file each. A family is registered by being defined.

Every module here whose name has no leading underscore holds a public family; it is exported, known to files, to
`BayesClassifier(families=…)` and to the command line without being listed anywhere.
"""

from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from suffice.core import registry
from suffice.core.errors import InvalidOptionError
from suffice.families import _choose, _linear_discriminant, _product  # noqa: F401  # files may hold them
from suffice.families._base import Distribution, Entrywise, Family, Independent
from suffice.families._results import LinearForm, Table
from suffice.families._summary import Summary
from suffice.families._support import Support

__all__ = ["Distribution", "Entrywise", "Family", "Independent", "LinearForm", "Summary", "Support", "Table"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        _found = vars(import_module(f"{__name__}.{_module.name}"))
        (_family,) = (name for name in _found if name.lower() == _module.name.replace("_", ""))
        globals()[_family] = _found[_family]
        __all__ += [_family]


def named(name: str) -> type[Family[Any]]:
    """Return the family of a name, such as "gaussian", "log-normal" or "LogNormal"; an error lists those there are."""
    for known, family in _by_name().items():
        if known.replace("-", "") == name.lower().replace("-", "").replace("_", ""):
            return family
    near = get_close_matches(name.lower(), family_names(), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise InvalidOptionError(f"No family {name!r}. {hint}Known are {', '.join(family_names())}")


def family_names() -> list[str]:
    """List the names of all families that can be chosen for columns, such as "log-normal" for `LogNormal`."""
    return list(_by_name())


def _by_name() -> dict[str, type[Family[Any]]]:
    out = {}
    for name in registry.names(Family):
        family = registry.find(name, Family)
        if family is not None and not family.__module__.startswith("suffice.families._"):
            out["".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")] = family
    return out
