"""Sufficient statistics: they add and subtract."""

from suffice.core.statistics import *  # noqa: F403  # a public path
from suffice.core.statistics import __all__ as __all__
