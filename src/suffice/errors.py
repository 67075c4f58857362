"""The errors and warnings that suffice raises."""

from suffice.core.errors import *  # noqa: F403  # a public path
