"""Statistics and models as files: data, never code."""

from suffice.model.storage import *  # noqa: F403  # a public path
