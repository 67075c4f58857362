"""A fitted model as formulas: from rows to class probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.formulas.arithmetic import Formula
from suffice.formulas.node import Array, Packing, to_json
from suffice.formulas.plain_rows import Rows

BEYOND = 1e9  # evidence against a class that counts as excluding it


@dataclass(frozen=True)
class Term:
    """What one column, or one block of columns that speak together, says: log p(x_block | y)."""

    title: str
    columns: tuple[str, ...]
    formula: Formula

    def to_json(self, packed: Packing | None = None) -> dict[str, Any]:
        """As dicts, lists, strings and numbers."""
        return {"title": self.title, "columns": list(self.columns), "formula": self.formula.to_json(packed)}


@dataclass(frozen=True)
class Scoring:
    """Everything that turns a row into class probabilities, as `predict_proba` gives them.

        E_y = Σ_terms log p(x_block | y)
        p(y | x) = (1 − ε) softmax_y( log π_y + a_y (E_y − max E) + b_y ) + ε π_y

    with the class prior π (`log_prior`), slopes a, biases b, (classes,) each, and the part ε of the prior `mixed` in:
    1, 0 and 0 where probabilities are not calibrated. A class whose E_y is −inf is impossible; where all of them are,
    the prior is the answer. Terms leave out what all classes share.
    """

    labels: NDArray[Any]
    log_prior: Array
    terms: tuple[Term, ...]
    slope: Array
    bias: Array
    mixed: float = 0.0

    @classmethod
    def plain(cls, labels: NDArray[Any], log_prior: Array, terms: Sequence[Term]) -> Scoring:
        """Without calibration."""
        return cls(labels, log_prior, tuple(terms), np.ones(len(labels)), np.zeros(len(labels)))

    def evidence(self, columns: Mapping[str, Any]) -> Array:
        """E_y of every row, (rows, classes)."""
        shape = (Rows(columns).n, len(self.labels))
        return np.sum([np.broadcast_to(t.formula.evaluate(columns), shape) for t in self.terms], axis=0)

    def posterior(self, columns: Mapping[str, Any]) -> Array:
        """p(y | x) of every row, (rows, classes); NaN where a term is unknown."""
        evidence = self.evidence(columns)
        known = np.isfinite(self.log_prior).any()
        log_prior = self.log_prior if known else np.zeros(len(self.labels))
        top = evidence.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            apart = np.maximum(evidence - np.where(np.isinf(top), 0.0, top), -BEYOND)
        scores = self.log_prior + self.slope * apart + self.bias
        scores[np.isneginf(evidence)] = -np.inf
        scores[np.isneginf(scores).all(axis=1)] = log_prior
        prior = _softmax(log_prior[None])
        return np.asarray((1.0 - self.mixed) * _softmax(scores) + self.mixed * prior)

    def to_json(self) -> dict[str, Any]:
        """As dicts, lists, strings and numbers; the labels as strings."""
        return {
            "labels": [str(label) for label in self.labels.tolist()],
            "log_prior": to_json(self.log_prior),
            "terms": [term.to_json() for term in self.terms],
            "slope": to_json(self.slope),
            "bias": to_json(self.bias),
            "mixed": self.mixed,
        }


def _softmax(scores: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
