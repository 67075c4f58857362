"""Texts: as matrices of counts for scikit-learn, and from raw documents to a calibrated classifier."""

from importlib import import_module
from typing import Any

from suffice.text.classifier import TextClassifier

__all__ = ["BagOfWords", "TextClassifier"]


def __getattr__(name: str) -> Any:
    if name == "BagOfWords":  # which is scikit-learn's through and through, so only what asks for it imports that
        return import_module("suffice.text.bag_of_words").BagOfWords
    raise AttributeError(f"module 'suffice.text' has no attribute {name!r}")
