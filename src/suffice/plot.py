"""Pictures of what a model has learned and of how well it does."""

from suffice.views.plot import *  # noqa: F403  # a public path
from suffice.views.plot import __all__ as __all__
