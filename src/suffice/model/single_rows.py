"""One row of a table of Python values, scored without arrays: what a server is asked for most often.

Only rows that need no conversion are scored so: all columns are there, and each value has the type that its column had
in training. Whatever else comes, and whatever may have to be refused, takes the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import NoFormulaError, SufficeError
from suffice.families.product import Product, ProductDistribution
from suffice.formulas import Scoring, WordScores
from suffice.formulas.lookups import MOST_EXACT
from suffice.formulas.row_scores import Row, RowScores
from suffice.model.calibration import ScoredRow
from suffice.model.predictor import Predictor
from suffice.model.structure import Structure

MOST_NODES = 30  # of formulas that are evaluated as they are, for each column: about what the general way costs
NUMBERS = frozenset((int, float))


class SingleRows:
    """Reads and scores single rows."""

    def __init__(self, predictor: Predictor):
        self.cosines: list[tuple[float, Callable[[Row], Array]]] = []  # computed by their kernel, for rows without gaps
        if isinstance(predictor.calibration, Structure):
            structure, cosines = predictor.calibration.without_cosines()
            predictor = replace(predictor, calibration=structure)
            self.cosines = [(v, expert.of_one()) for v, expert in cosines]
        scoring, classes = predictor.formula(), len(predictor.labels)
        family, strings = predictor.learned.family, predictor.string_columns
        assert isinstance(family, Product), "tables have columns"
        if any(block.family.reads == "text" for block in family.blocks) and _reads_words(scoring):
            raise NoFormulaError("Texts take the general way")
        self.scores = RowScores([term.formula for term in scoring.terms], classes)
        self.for_gaps, self.needed = scoring.for_gaps, () if scoring.for_gaps is None else scoring.for_gaps.columns
        types = dict.fromkeys(predictor.columns, NUMBERS) | dict.fromkeys(strings, frozenset((str,)))
        types |= dict.fromkeys(predictor.truth_columns, frozenset((bool,)))
        found = predictor.learned.model.distribution
        assert isinstance(found, ProductDistribution), "tables have columns"
        for block, part in zip(family.blocks, found.parts, strict=True):
            if block.family.reads == "categories":
                types |= {name: frozenset(map(type, keys)) for name, keys in part.known_values(block.names).items()}
        self.types = types

    @classmethod
    def of(cls, predictor: Predictor) -> SingleRows | None:
        """Return what scores single rows; None if the model has no formula, or a longer one than the general way."""
        try:
            made = cls(predictor)
        except SufficeError:
            return None
        return made if made.scores.n_evaluated <= MOST_NODES * len(made.types) else None

    @cached_property
    def scores_for_gaps(self) -> RowScores:
        """The scores of rows that lack a column."""
        assert self.for_gaps is not None, "it names the columns"
        return RowScores([term.formula for term in self.for_gaps.terms], self.scores.classes)

    def score(self, x: Any) -> ScoredRow | None:
        """Score a row, of values or of lists of one value; None if it has to take the general way."""
        values = {name: value[0] if type(value) is list and len(value) == 1 else value for name, value in x.items()}
        evidence = self.evidence(values, x)
        return None if evidence is None else ScoredRow(evidence)

    def evidence(self, x: dict[str, Any], absent: Any = None) -> Array | None:
        """Compute the evidence of a row of values, (1, classes); None if it has to take the general way.

        What is not in the row is `absent`: by default, it is missing.
        """
        row = self._read(x, absent)
        if row is None:
            return None
        scores, others = self.scores, self.cosines
        for name in self.needed:
            if row[name] is None:
                scores, others = self.scores_for_gaps, []
                break
        try:
            evidence = scores(row)
            for v, each in others:
                evidence += v * each(row)
        except (TypeError, ZeroDivisionError, OverflowError):
            return None
        return evidence[None] if np.isfinite(evidence).all() else None

    def _read(self, x: dict[str, Any], absent: Any) -> Row | None:
        """Return the values of the columns by name: strings, floats, and None where one is missing."""
        row: dict[str, Any] = {}
        for name, types in self.types.items():
            value = x.get(name, absent)
            kind = type(value)
            if kind in types:
                if kind is not str:
                    if kind is int and not -MOST_EXACT <= value <= MOST_EXACT:
                        return None
                    value = float(value)
                    if value in (inf, -inf):
                        return None
                    if value != value:
                        value = None
            elif value is not None:
                return None
            row[name] = value
        return row


def _reads_words(scoring: Scoring) -> bool:
    return any(isinstance(node, WordScores) for term in scoring.all_terms for node in term.formula.walk())


def single_row(x: Any) -> dict[str, Any] | None:
    """Return one row as a dict, of values or of lists of one value; None if `x` is no such thing."""
    if type(x) is list and len(x) == 1:
        x = x[0]
        return x if type(x) is dict and list not in map(type, x.values()) else None
    if type(x) is not dict or not x:
        return None
    lengths = {len(value) if type(value) is list else None for value in x.values()}
    return x if lengths in ({1}, {None}) else None
