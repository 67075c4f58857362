"""A fitted model as formulas: from rows to class probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.core.arrays import Values
from suffice.core.labels import label_list
from suffice.formulas.arithmetic import Formula
from suffice.formulas.conditions import Missing
from suffice.formulas.environments import ColumnValues, NamedColumns
from suffice.formulas.node import Array, Json, Packing, to_json

BEYOND = 1e9  # evidence against a class is at most this number


@dataclass(frozen=True)
class Term:
    """The log-density log p(x_block | y) of one column, or of one block of dependent columns."""

    title: str
    columns: tuple[str, ...]
    formula: Formula

    def to_json(self, packed: Packing | None = None) -> dict[str, Json]:
        """Return the term as JSON."""
        return {"title": self.title, "columns": list(self.columns), "formula": self.formula.to_json(packed)}


@dataclass(frozen=True)
class ForGaps:
    """Other terms, for rows in which one of some columns is missing."""

    columns: tuple[str, ...]
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Scoring:
    """Everything that is needed to compute class probabilities from a row, equal to `predict_proba`.

        E_y = Σ_terms log p(x_block | y)
        p(y | x) = (1 − ε) softmax_y( log π_y + a_y (E_y − max E) + b_y ) + ε π_y

    with the class prior π (`log_prior`), slopes a and biases b, (classes,) each, and the share ε (`mixed`) of the
    prior. Without calibration they are 1, 0 and 0. A class whose E_y is −inf is impossible; if all classes are, the
    result is the prior. Terms leave out what all classes share. Rows with gaps may have other terms (`for_gaps`).
    """

    labels: Values
    log_prior: Array
    terms: tuple[Term, ...]
    slope: Array
    bias: Array
    mixed: float = 0.0
    for_gaps: ForGaps | None = None

    @property
    def all_terms(self) -> tuple[Term, ...]:
        """The terms, then those of rows with gaps."""
        return self.terms if self.for_gaps is None else (*self.terms, *self.for_gaps.terms)

    @classmethod
    def plain(cls, labels: Values, log_prior: Array, terms: Sequence[Term]) -> Scoring:
        """Make a scoring without calibration."""
        return cls(labels, log_prior, tuple(terms), np.ones(len(labels)), np.zeros(len(labels)))

    def evidence(self, columns: Mapping[str, ColumnValues]) -> Array:
        """Compute E_y of every row, (rows, classes)."""
        rows = NamedColumns(columns)
        shape = rows.n, len(self.labels)

        def total(terms: Sequence[Term]) -> Array:
            return np.sum([np.broadcast_to(t.formula.evaluate(columns), shape) for t in terms], axis=0)

        if self.for_gaps is None:
            return total(self.terms)
        gaps = np.any([Missing(name).on(rows) for name in self.for_gaps.columns], axis=0)
        return np.where(gaps, total(self.for_gaps.terms), total(self.terms))

    def posterior(self, columns: Mapping[str, ColumnValues]) -> Array:
        """Compute p(y | x) of every row, (rows, classes); NaN where a term is unknown."""
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

    def to_json(self) -> dict[str, Json]:
        """Return the scoring as JSON; labels are strings."""
        return {
            "labels": [str(label) for label in label_list(self.labels)],
            "log_prior": to_json(self.log_prior),
            "terms": [term.to_json() for term in self.terms],
            "slope": to_json(self.slope),
            "bias": to_json(self.bias),
            "mixed": self.mixed,
            "for_gaps": None
            if self.for_gaps is None
            else {
                "columns": list(self.for_gaps.columns),
                "terms": [term.to_json() for term in self.for_gaps.terms],
            },
        }


def _softmax(scores: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
