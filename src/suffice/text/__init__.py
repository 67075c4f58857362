"""Texts: as matrices of counts for scikit-learn, and from raw documents to a calibrated classifier."""

from suffice.text.bag_of_words import BagOfWords
from suffice.text.classifier import TextClassifier

__all__ = ["BagOfWords", "TextClassifier"]
