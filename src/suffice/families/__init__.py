"""Families of class-conditional distributions, one file for each. A family is registered when it is defined.

A module that defines a family of its own name, as `log_normal` defines `LogNormal`, is found in the folder. The package
exports the family; files, `BayesClassifier(families=…)` and the command line find it by its name. No list has to be
extended.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from suffice.core import registry
from suffice.core.errors import InvalidOptionError, did_you_mean
from suffice.families._base import Distribution, Entrywise, Family, FillMethod, Independent
from suffice.families._contract import Decisions, KeptRows, LinearForm, Summary, Support, Table

__all__ = [
    "Decisions",
    "Distribution",
    "Entrywise",
    "Family",
    "FillMethod",
    "Independent",
    "KeptRows",
    "LinearForm",
    "Summary",
    "Support",
    "Table",
]

for _module in iter_modules(__path__):
    for _name, _family in vars(import_module(f"{__name__}.{_module.name}")).items():
        own = isinstance(_family, type) and issubclass(_family, Family) and _family.public
        if own and _name.lower() == _module.name.replace("_", ""):
            globals()[_name] = _family
            __all__ += [_name]


def named(name: str) -> type[Family[Any]]:
    """Return the family with a name such as "gaussian", "log-normal" or "LogNormal"; an error lists all names."""
    for known, family in _by_name().items():
        if known.replace("-", "") == name.lower().replace("-", "").replace("_", ""):
            return family
    hint = did_you_mean(name.lower(), family_names())
    raise InvalidOptionError(f"There is no family {name!r}. {hint}The families are {', '.join(family_names())}")


def family_names() -> list[str]:
    """List the names of all families that can be chosen for columns, such as "log-normal" for `LogNormal`."""
    return list(_by_name())


def _by_name() -> dict[str, type[Family[Any]]]:
    out = {}
    for name in registry.names(Family):
        family = registry.find(name, Family)
        if family is not None and family.public:
            out["".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")] = family
    return out
