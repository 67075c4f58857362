"""Estimators in pipelines of river, which must be installed."""

from suffice.estimators.river_classifier import RiverClassifier as RiverClassifier

__all__ = ["RiverClassifier"]
