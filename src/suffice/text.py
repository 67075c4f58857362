"""Texts: as matrices of counts for scikit-learn, and from raw documents to a calibrated classifier."""

from typing import TYPE_CHECKING

from suffice.estimators.text_classifier import TextClassifier

if TYPE_CHECKING:
    from suffice.estimators.bag_of_words import BagOfWords

__all__ = ["BagOfWords", "TextClassifier"]


def __getattr__(name: str) -> object:
    """Import `BagOfWords` when it is asked for: a classifier does not need what it imports from scikit-learn."""
    if name != "BagOfWords":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from suffice.estimators.bag_of_words import BagOfWords

    return BagOfWords
