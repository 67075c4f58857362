"""Families of class-conditional distributions: one file each. A family is registered by being defined.

Every module here whose name has no leading underscore holds a public family; it is exported, known to files, to
`BayesClassifier(families=…)` and to the command line without being listed anywhere.
"""

from importlib import import_module
from pkgutil import iter_modules

from suffice.core import registry
from suffice.core.errors import InvalidOptionError
from suffice.families import _choose, _linear_discriminant, _product  # noqa: F401  # files may hold them
from suffice.families._base import Distribution, Entrywise, Family, Independent
from suffice.families._results import LinearForm, Table
from suffice.families._summary import Summary

__all__ = ["Distribution", "Entrywise", "Family", "Independent", "LinearForm", "Summary", "Table"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        _found = vars(import_module(f"{__name__}.{_module.name}"))
        (_family,) = (name for name in _found if name.lower() == _module.name.replace("_", ""))
        globals()[_family] = _found[_family]
        __all__ += [_family]


def named(name: str) -> type[Family]:  # type: ignore[type-arg]  # of any statistic
    """Return the family of a name, such as "gaussian", "log-normal" or "LogNormal"; an error lists those there are."""
    plain = {_plain(known): known for known in family_names()}
    found = registry.find(plain.get(_plain(name), ""), Family)
    if found is None:
        raise InvalidOptionError(f"No family {name!r}: known are {', '.join(map(_dashed, family_names()))}")
    return found


def family_names() -> list[str]:
    """List the names of all families that can be chosen for columns."""
    known = registry.names(Family)
    return [name for name in known if not registry.find(name).__module__.startswith("suffice.families._")]


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _dashed(name: str) -> str:
    """LogNormal is called log-normal on the command line."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
