"""Conjugate priors, and the prior of the classes."""

from suffice.core.priors import *  # noqa: F403  # a public path
