"""Naive Bayes estimators: drop-in replacements for `sklearn.naive_bayes`, and more."""

from suffice.estimators.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    KernelNB,
    MixtureNB,
    MultinomialNB,
    PoissonNB,
)

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "KernelNB",
    "MixtureNB",
    "MultinomialNB",
    "PoissonNB",
]
