"""Learning curves of generative models beside logistic regression."""

from suffice.views.comparison import *  # noqa: F403  # a public path
