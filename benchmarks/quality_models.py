"""The classifiers of `benchmarks.quality`, with their defaults; each is given tables of Arrow and labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.tables import kinds
from suffice import BayesClassifier

JOBS = 2
STRUCTURES = ("naive", "columns", "pairs", "pool")


@dataclass(frozen=True)
class Model:
    """A row of the tables; `packages` are the distributions that may provide a peer, none for ours."""

    name: str
    title: str
    make: Callable[[], Any]
    packages: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of the peer; empty for ours, which changes from day to day."""
        for package in self.packages:
            try:
                return version(package)
            except PackageNotFoundError:
                continue
        if self.packages:
            raise PackageNotFoundError(f"{self.title} is not installed: pip install --group bench-quality")
        return ""


def models() -> list[Model]:
    """List ours, with every structure that it knows, and the peers."""
    ours = [Model("ours", "`BayesClassifier()`", BayesClassifier)]
    if "structure" in inspect.signature(BayesClassifier).parameters:
        for name in STRUCTURES:
            make = partial(BayesClassifier, structure=name)
            ours.append(Model(f"ours-{name}", f'`BayesClassifier(structure="{name}")`', make))
    return [*ours, *PEERS]


def choose(names: str) -> list[Model]:
    """Choose models by the names between commas; `ours` stands for all of ours, and nothing for all of all."""
    known, chosen = models(), []
    for name in filter(None, names.split(",")):
        found = [m for m in known if m.name == name or (name == "ours" and not m.packages)]
        if not found:
            raise ValueError(f"There is no model {name!r}; there are {', '.join(m.name for m in known)}")
        chosen += [m for m in found if m not in chosen]
    return chosen or known


# ------------------------------------------------------------------------------------------ how peers get their columns


class Encoded:
    """A pipeline of scikit-learn, made for the numbers and the categories of a table."""

    def __init__(self, make: Callable[[list[str], list[str]], Any]):
        self.make = make

    def fit(self, X: pa.Table, y: Any) -> Self:
        """Fit the pipeline to a data frame."""
        self.model = self.make(*kinds(X)).fit(X.to_pandas(), y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: pa.Table) -> Any:
        """Ask the pipeline."""
        return self.model.predict_proba(X.to_pandas())


class Native:
    """A classifier that knows missing values and pandas' categories by itself, and wants labels numbered from 0."""

    def __init__(self, make: Callable[[], Any]):
        self.make = make

    def fit(self, X: pa.Table, y: Any) -> Self:
        """Settle categories by the rows to learn."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.model = self.make().fit(self.with_categories_of(X).frame(X), codes)
        return self

    def with_categories_of(self, X: pa.Table) -> Self:
        """Settle categories only."""
        self.categories = {name: sorted(X[name].drop_null().unique().to_pylist()) for name in kinds(X)[1]}
        return self

    def predict_proba(self, X: pa.Table) -> Any:
        """Ask with the categories of the fit."""
        return self.model.predict_proba(self.frame(X))

    def frame(self, X: pa.Table) -> pd.DataFrame:
        """Bring a table into pandas; categories that the fit had not met are missing values."""
        frame = X.to_pandas()
        for name, known in self.categories.items():
            frame[name] = frame[name].astype("category").cat.set_categories(known)
        return frame


# ------------------------------------------------------------------------------------------ the peers


def columns(numbers: list[str], categories: list[str], *steps: Any) -> Any:
    """Numbers with gaps at their median, then `steps`; an indicator of every category, with missing as one more."""
    parts = (make_pipeline(SimpleImputer(strategy="median"), *steps), numbers)
    return make_column_transformer(parts, (OneHotEncoder(handle_unknown="ignore"), categories), sparse_threshold=0)


def logistic_regression(numbers: list[str], categories: list[str]) -> Pipeline:
    """LogisticRegression on scaled numbers and indicators."""
    return make_pipeline(columns(numbers, categories, StandardScaler()), LogisticRegression(max_iter=1000))


def random_forest(numbers: list[str], categories: list[str]) -> Pipeline:
    """300 trees on numbers and indicators."""
    return make_pipeline(columns(numbers, categories), RandomForestClassifier(300, n_jobs=JOBS, random_state=0))


def lightgbm() -> Any:
    """LightGBM's classifier, silent."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=JOBS, verbosity=-1)


def xgboost() -> Any:
    """XGBoost's classifier, which must be told that it may use categories."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=JOBS, enable_categorical=True)


PEERS = [
    Model("logistic", "logistic regression", partial(Encoded, logistic_regression), ("scikit-learn",)),
    Model("forest", "random forest, 300 trees", partial(Encoded, random_forest), ("scikit-learn",)),
    Model(
        "hgb",
        "HistGradientBoosting",
        partial(Native, partial(HistGradientBoostingClassifier, random_state=0)),
        ("scikit-learn",),
    ),
    Model("lightgbm", "LightGBM", partial(Native, lightgbm), ("lightgbm",)),
    Model("xgboost", "XGBoost", partial(Native, xgboost), ("xgboost-cpu", "xgboost")),
]
