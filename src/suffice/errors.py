"""The errors suffice raises, each saying what was found, where, and what to do."""

from __future__ import annotations


class SufficeError(Exception):
    """Anything that suffice itself refuses."""


class InvalidDataError(SufficeError, ValueError):
    """Rows, labels or weights that cannot be learned from."""


class NegativeValueError(InvalidDataError):
    """A negative number where counts or category numbers are expected."""


class InvalidOptionError(SufficeError, ValueError):
    """An option, prior or parameter that makes no sense, alone or with the others."""


class NotPartError(SufficeError, ValueError):
    """Something was to be subtracted that was never added."""


class MismatchError(SufficeError, ValueError):
    """Two things that do not belong together: other columns, other options, other shapes."""


class NoLinearFormError(SufficeError, TypeError):
    """The log-odds of this model are not linear in x."""


class NoDistributionError(SufficeError, TypeError):
    """The model scores classes without a distribution of x, so x cannot be drawn from it."""


class ImpossibleRowWarning(UserWarning):
    """Some rows have probability zero under every class; they were given the class prior."""
