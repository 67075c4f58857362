"""Texts: as matrices of counts for scikit-learn, and from raw documents to a calibrated classifier."""

from suffice.estimators.bag_of_words import BagOfWords
from suffice.estimators.text_classifier import TextClassifier

__all__ = ["BagOfWords", "TextClassifier"]
