"""How good probabilities are."""

from suffice.model.evaluate import *  # noqa: F403  # a public path
