"""Naive Bayes estimators: drop-in replacements for `sklearn.naive_bayes`, and more."""

from suffice.estimators.naive_bayes import *  # noqa: F403  # a public path
from suffice.estimators.naive_bayes import __all__ as __all__
