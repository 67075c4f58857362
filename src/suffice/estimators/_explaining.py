"""Explaining: what columns say, what is missing, rows drawn from the model, and the model as a table or a formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from suffice import engines
from suffice.core.arrays import Array, Values
from suffice.estimators._answering import Answering
from suffice.estimators._left_out import LeftOut, column_name, without_label
from suffice.estimators._threads import answering
from suffice.families import LinearForm, Table
from suffice.formulas import Scoring
from suffice.model.explain import Evidence, rank_features
from suffice.model.suspects import Suspects


class Explaining(Answering):
    """Estimators that show what they know."""

    @answering
    def impute(self, X: Any) -> Array:
        """Fill missing entries by their expectation given what was observed.

        Returns
        -------
        X_filled : ndarray of shape (n_samples, n_features)
            The rows, missing entries filled by Σ_y p(y | observed) E[x | observed, y], the exact conditional mean.
        """
        learned, rows = self._settled(), self._check_X(X)
        return self._run(learned.model.impute, rows).astype(learned.dtype_for(rows), copy=False)

    @answering
    def evidence(self, X: Any, label: Any = None, against: Any = None) -> dict[str, Values]:
        """Return what each column says for one class against another, in log-odds that add up.

        Parameters
        ----------
        label : label, default=None
            The class to speak for: by default the second of two, else the most probable of each row.
        against : label, default=None
            The class to speak against: by default the first of two, else the next most probable.

        Returns
        -------
        evidence : dict of str to ndarray of shape (n_samples,)
            For each row the classes compared, the prior log-odds, each column's contribution, and their sum, the
            log-odds of `predict_proba`.
        """
        model, rows = self._settled().model, self._check_X(X)
        found = Evidence.of(model, rows, model.log_posterior(rows), self._names(), label, against)
        return found.columns(calibrated=False)

    @answering
    def suspects(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, rate: float | None = None, learned: bool = True
    ) -> Suspects:
        """Return rows whose label is probably wrong, the most suspect first, and the evidence against each label.

        Each row is judged by the posterior of the model of all other rows, exactly. As many rows are listed as labels
        are expected to be wrong, and only rows whose label is not the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or table
            Rows that were learned, with the weights they were learned with; or others, with `learned=False`.
        y : array-like of shape (n_samples,), or str
            The labels to be checked, or the name of the column of X that holds them. Rows without a label are passed
            over.
        rate : float, default=None
            The share of labels that are wrong. By default it is the share that is denied where the posterior is surest.
        learned : bool, default=True
            Whether the rows were learned. With False, nothing is left out: right of rows that the model has not seen.
            Of rows that it has seen it is too mild, because each row has taught the model its own label.

        Returns
        -------
        suspects : Suspects
            The positions of the rows, their labels and the suggested ones, the probability that the label is wrong,
            and the evidence: `suspects.evidence[i]` is a table of what each column or word adds.
        """
        missing = without_label(X, column_name(y)) if y is not None and engines.is_in_memory(X) else np.zeros(0, bool)
        if missing.any():
            X, y, sample_weight = LeftOut().unlabelled(X, column_name(y), column_name(sample_weight))
        rows, labels, weight = self._read_learned(X, y, sample_weight)
        found: Suspects = self._run(self._predictor().suspects, rows, labels, weight, rate, learned)
        return found.among(np.flatnonzero(~missing)) if missing.any() else found

    @answering
    def top_features(self, label: Any, n: int = 10, by: str = "log_odds") -> Table:
        """Return the columns, categories or words that say most of a class.

        Parameters
        ----------
        label : label
            The class.
        n : int, default=10
            How many.
        by : {'log_odds', 'probability', 'information'}, default='log_odds'
            Log p(value | label) − log p(value | other classes); p(value | label); or the mutual information, in bits,
            of having the value and being of the class. Numbers are not values: of a `BayesClassifier`, columns of
            them are ranked by 'information' alone, the leave-one-out gain of the column.

        Returns
        -------
        table : Table
            One row for each, the most informative first.
        """
        return rank_features(self._settled().model, self._titles(), [label], n, by)[0]

    def _titles(self) -> list[str]:
        """What to call columns before their values."""
        return self._names()

    @answering
    def tables(self) -> list[Table]:
        """Return the class prior and every parameter as tables for people; print them to read them."""
        return self._settled().model.tables(getattr(self, "feature_names_in_", None))

    @answering
    def linear_form(self) -> LinearForm:
        """Return `coef` and `intercept` of the log-odds; an error says why where they are not linear in x.

        For two classes the log-odds of the second are coef·x + intercept, as in logistic regression; for
        more, the posterior is the softmax of coef·x + intercept.
        """
        return self._settled().model.linear()

    @answering
    def formula(self) -> Scoring:
        """Return what `predict_proba` computes as formulas over the columns; an error names columns without one.

        They are for computing probabilities elsewhere, in a database or a web page: see `suffice.formulas`.
        """
        return self._predictor().formula()

    @answering
    def to_sql(self, dialect: str = "duckdb", table: str = "data", types: Mapping[str, str] | None = None) -> str:
        """Return the query that scores a table of a database; an error names columns without a formula.

        Parameters
        ----------
        dialect : str, default='duckdb'
            Any that sqlglot writes: 'duckdb', 'postgres', 'snowflake', 'bigquery', 'sqlite', …
        table : str, default='data'
            The name of the table.
        types : dict of str to str, default=None
            Types of columns as Ibis calls them, where they are others than numbers ('float64') and what the
            categories are; also columns to be handed through, such as {'id': 'int64'}.

        Returns
        -------
        query : str
            A SELECT of the columns, "prediction", and "probability <label>" for every class.
        """
        return engines.to_sql(
            self._predictor().table_formula(), dialect, table, self._boolean_columns() | dict(types or {})
        )

    @answering
    def to_onnx(
        self,
        inputs: Literal["auto", "columns", "matrix"] = "auto",
        dtype: Literal["float64", "float32"] = "float64",
    ) -> Any:
        """Return the model in ONNX, for any runtime of it; an error names columns without a formula.

        Parameters
        ----------
        inputs : {'auto', 'columns', 'matrix'}, default='auto'
            An input of shape (n_samples, 1) for each column, under its name; or one matrix "X" of all columns. By
            default columns have inputs if they had names in training. Missing numbers are NaN, missing strings are
            empty, and booleans are 0 and 1.
        dtype : {'float64', 'float32'}, default='float64'
            Type of the numbers in inputs and probabilities; the computation is in float64.

        Returns
        -------
        model : onnx.ModelProto
            With the outputs "label", (n_samples,), and "probabilities", (n_samples, n_classes); of columns with such
            names "label1" and "probabilities1".
        """
        return engines.to_onnx(self._predictor(), inputs, dtype)

    def _boolean_columns(self) -> dict[str, str]:
        """The types of columns that are known to be booleans."""
        return {}

    @answering
    def sample(self, n: int = 1, label: Any = None, random_state: Any = None) -> tuple[Any, Values]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, default=1
            How many.
        label : label, or ndarray of n labels, default=None
            Draw from p(x | label); by default the labels are drawn as well.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            Rows.
        y : ndarray of shape (n,)
            Their labels.
        """
        return self._settled().model.sample(n, label, random_state)
