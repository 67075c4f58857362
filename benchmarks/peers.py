"""Pipelines of scikit-learn for a table of numbers and categories with missing values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler


class MixedNB:
    """Naive Bayes over both kinds of columns: log p(y | x) = log p(y | numbers) + log p(y | categories) − log p(y) + c.

    Missing numbers become the median, and GaussianNB has them. Missing categories become the most frequent one,
    OrdinalEncoder numbers them, and CategoricalNB has those.
    """

    def __init__(self, numbers: list[str], categories: list[str]):
        self.numbers, self.categories = numbers, categories

    def fit(self, X: Any, y: Any) -> Self:
        """Fit both models to a data frame of pandas."""
        self.gaussian = make_pipeline(SimpleImputer(strategy="median"), GaussianNB()).fit(X[self.numbers], y)
        self.categorical = make_pipeline(codes(), CategoricalNB()).fit(X[self.categories], y)
        self.classes_ = self.gaussian.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Add what both models say, with the class prior counted once."""
        joint = self.gaussian.predict_log_proba(X[self.numbers])
        joint += self.categorical.predict_log_proba(X[self.categories])
        joint -= self.categorical[-1].class_log_prior_
        p = np.exp(joint - joint.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def gaussian_numbers(numbers: list[str], categories: list[str]) -> Pipeline:  # noqa: ARG001  # they are left out
    """GaussianNB on the numbers alone."""
    return make_pipeline(make_column_transformer((SimpleImputer(strategy="median"), numbers)), GaussianNB())


def gaussian_everything(numbers: list[str], categories: list[str]) -> Pipeline:
    """GaussianNB on the numbers and an indicator of every category."""
    parts = (SimpleImputer(strategy="median"), numbers), (indicators(), categories)
    return make_pipeline(make_column_transformer(*parts, sparse_threshold=0), GaussianNB())


def quantile_bins(numbers: list[str], categories: list[str]) -> Pipeline:
    """CategoricalNB on ten quantile bins of every number and on the categories."""
    cut = KBinsDiscretizer(10, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    bins = make_pipeline(SimpleImputer(strategy="median"), cut)
    return make_pipeline(make_column_transformer((bins, numbers), (codes(), categories)), CategoricalNB())


def calibrated_bins(numbers: list[str], categories: list[str]) -> CalibratedClassifierCV:
    """The same, fitted five times over, with a sigmoid on the scores of the folds left out."""
    return CalibratedClassifierCV(quantile_bins(numbers, categories), method="sigmoid", cv=5, ensemble=False)


def logistic_regression(numbers: list[str], categories: list[str]) -> Pipeline:
    """LogisticRegression on scaled numbers and an indicator of every category."""
    scaled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    parts = (scaled, numbers), (indicators(), categories)
    return make_pipeline(make_column_transformer(*parts), LogisticRegression(max_iter=1000))


def codes() -> Pipeline:
    """Number categories from 1; 0 is for those that training never met, which CategoricalNB would refuse."""
    number = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(most_frequent(), number, FunctionTransformer(_from_one))


def indicators() -> Pipeline:
    """A column of 0 and 1 for every category; a new one is 0 in all of them."""
    return make_pipeline(most_frequent(), OneHotEncoder(handle_unknown="ignore"))


def most_frequent() -> SimpleImputer:
    """Fill in missing strings, which pandas may hold as NaN."""
    return SimpleImputer(strategy="most_frequent")


def _from_one(found: Any) -> Any:
    return found + 1
