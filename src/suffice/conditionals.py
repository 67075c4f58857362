"""What p(x | y) of each column looks like, as arrays."""

from suffice.model.class_conditionals import *  # noqa: F403  # a public path
