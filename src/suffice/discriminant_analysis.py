"""Linear and quadratic discriminant analysis: drop-in replacements for `sklearn.discriminant_analysis`."""

from suffice.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
