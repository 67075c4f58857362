"""The live panel: the model's parameters as data, and a form to fill in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import NoFormulaError, SufficeError
from suffice.core.frames import as_frame
from suffice.core.labels import label_list
from suffice.families import Distribution
from suffice.families.product import ProductDistribution
from suffice.families.text import TextDistribution
from suffice.formulas import Term, in_base64, to_json
from suffice.model.calibration import Calibration
from suffice.model.experts import UNTOLD
from suffice.model.joint import Model
from suffice.model.quadratic_expert import QuadraticExpert
from suffice.model.structure import Structure
from suffice.views.column_inputs import Input, blocks_of, inputs_of
from suffice.views.fitted import nameless

MOST_INPUTS = 300  # columns that anybody would fill in
MOST_EXAMPLES = 30  # classes of which a row is drawn
LONG = 32  # numbers from which on an array is written as bytes
DRAWS = 20  # rows of which the most typical is shown


@dataclass(frozen=True)
class Panel:
    """What the page needs to compute p(y | x), and the columns that it cannot, with the reasons.

    Blocks are independent, so that leaving one out is what a missing one is.
    """

    model: Model
    terms: tuple[dict[str, Any], ...]
    inputs: tuple[Input, ...]
    examples: tuple[tuple[Any, list[Any]], ...]
    refused: tuple[tuple[str, str], ...]
    calibration: Calibration
    without: tuple[str, ...] = ()  # parts of the model that a page cannot compute
    for_gaps: dict[str, Any] | None = None  # other terms, of rows in which one of some columns is missing

    @classmethod
    def of(cls, estimator: Any, names: Sequence[str]) -> Panel:
        """Of a fitted estimator."""
        model = page_model(estimator.model_)
        inputs: dict[str, Input] = {}
        terms: list[Any] = []
        refused = []
        simpler: list[str] = []
        blocks = list(blocks_of(model, names))
        wide = len({name for _, columns, _, _ in blocks for name in columns})
        if wide > MOST_INPUTS:
            refused.append((f"{wide} columns", f"Nobody would fill in {wide} columns"))
        calibration = cls._calibration(estimator)
        if isinstance(calibration, Structure) and calibration is not estimator.calibration_:
            simpler.append("pairs of columns and experts")
        for title, columns, part, missing in blocks if wide <= MOST_INPUTS else ():
            try:
                found = list(_terms(title, columns, part, missing))
                own = {} if missing else {each.name: each for each in inputs_of(columns, part)}
            except NoFormulaError as error:
                refused.append((title, str(error)))
                continue
            terms += found
            if part.votes or isinstance(calibration, Structure):
                for name in columns:
                    inputs.setdefault(name, own.get(name) or _asked_for(model, names, name))
        for_gaps = None
        if isinstance(calibration, Structure) and inputs and not refused:
            learned = estimator._settled()
            terms = [each | {"times": float(a)} for each, a in _texts(model, calibration)]
            texts = {each["title"]: i for i, each in enumerate(terms)}
            terms += list(_quadratic(calibration, {title for title, *_ in blocks}))
            for term in calibration.terms(learned, texts=False, quadratic=False):
                terms.append(term.to_json(packed) | ({"rest": True} if term.title in UNTOLD else {}))
            gaps = calibration.terms_for_gaps(learned, texts=False)
            if gaps is not None and calibration.for_gaps is not None:
                there = [_text_again(each, a, texts) for each, a in _texts(model, calibration.for_gaps)]
                there += [term.to_json(packed) for term in gaps.terms]
                for_gaps = {"columns": list(gaps.columns), "terms": there}
        examples = tuple(_examples(estimator, list(inputs.values()), names))
        given = tuple(inputs.values())
        return cls(model, tuple(terms), given, examples, tuple(refused), calibration, tuple(simpler), for_gaps)

    @staticmethod
    def _calibration(estimator: Any) -> Calibration:
        """Return how the panel combines evidence: as the model does, or without pairs whose tables are too large."""
        found: Calibration = getattr(estimator, "calibration_", None) or Calibration.none(len(estimator.classes_))
        for simpler in ("columns", True):
            if not isinstance(found, Structure):
                break
            try:
                found.terms(estimator._settled(), texts=False)
                break
            except NoFormulaError:
                found = estimator._settled().calibration(simpler)
        return found

    @property
    def obstacle(self) -> str | None:
        """Why there is nothing to fill in, in a sentence; None where there is."""
        why = "; ".join(why for _, why in self.refused) or "no column tells anything of the class"
        return None if self.inputs else f"There is no panel: {why}."

    def to_json(self) -> dict[str, Any]:
        """All of it, as the script reads it."""
        return {
            "labels": [str(label) for label in label_list(self.model.labels)],
            "log_prior": to_json(self.model.log_prior),
            "slope": to_json(self.calibration.slope),
            "bias": to_json(self.calibration.bias),
            "mixed": self.calibration.mixed,
            "calibrated": is_calibrated(self.calibration),
            "inputs": [{"name": i.name, "kind": i.kind, "options": list(i.options)} for i in self.inputs],
            "terms": list(self.terms),
            "for_gaps": self.for_gaps,
            "examples": [row for _, row in self.examples],
        }


def page_model(model: Model) -> Model:
    """Return the model that a page can hold: of long vocabularies the most telling words."""
    found = model.distribution
    if isinstance(found, TextDistribution):
        return model if found.for_page is found else replace(model, distribution=found.for_page)
    if isinstance(found, ProductDistribution):
        parts = tuple(each.for_page if isinstance(each, TextDistribution) else each for each in found.parts)
        same = all(one is other for one, other in zip(parts, found.parts, strict=True))
        return model if same else replace(model, distribution=replace(found, parts=parts))
    return model


def is_calibrated(found: Calibration) -> bool:
    """Return whether a calibration changes probabilities."""
    return bool((found.slope != 1).any() or found.bias.any() or found.mixed)


def _terms(title: str, columns: tuple[str, ...], part: Distribution, missing: bool) -> Iterator[dict[str, Any]]:
    """The formulas of a block, as the script reads them."""
    if isinstance(part, TextDistribution) and not missing:
        yield {"title": title, "columns": list(columns), "text": part.to_page(columns[0])}
    elif part.votes:
        found: list[Term] = ProductDistribution.formula_of_block(part, columns, missing, title)
        yield from (term.to_json(packed) for term in found)


def _texts(model: Model, structure: Structure) -> Iterator[tuple[dict[str, Any], float]]:
    """The columns of texts of a table, as the script reads them, and their exponents."""
    found = model.distribution
    assert isinstance(found, ProductDistribution), "tables have a structure"
    for block, part, a in zip(found.family.blocks, found.parts, structure.columns, strict=False):
        if isinstance(part, TextDistribution) and not block.missing and a:
            yield {"title": block.title, "columns": list(block.names), "text": part.to_page(block.names[0])}, a


def _text_again(term: dict[str, Any], exponent: float, known: dict[str, int]) -> dict[str, Any]:
    """Return a column of texts with another exponent; its words are not repeated if a page has them already."""
    times = {"times": float(exponent)}
    return {"as": known[term["title"]]} | times if term["title"] in known else term | times


def _quadratic(structure: Structure, titles: set[str]) -> Iterator[dict[str, Any]]:
    """The quadratic expert, as the script reads it; `told` says which of its columns are shown by themselves."""
    for expert, v in zip(structure.experts, structure.weights.tolist(), strict=True):
        if isinstance(expert, QuadraticExpert):
            found = expert.to_page()
            told = [name in titles for name in found["columns"]]
            yield {"title": "the quadratic expert", "quadratic": found | {"told": told}, "times": v, "rest": True}


def packed(array: Array) -> dict[str, Any] | None:
    """The bytes of a long array in base 64: shorter than its digits, and just as exact."""
    if array.size < LONG:
        return None
    return {"f64": in_base64(array, "<f8"), "shape": list(array.shape)}


# ------------------------------------------------------------------------------------------------ the form


def _asked_for(model: Model, names: Sequence[str], name: str) -> Input:
    """What to fill in for a column of which only is asked whether it is there."""
    for _, columns, part, missing in blocks_of(model, names):
        if name in columns and not missing:
            try:
                return next(each for each in inputs_of(columns, part) if each.name == name)
            except NoFormulaError:
                break
    return Input(name, "number")


def _examples(estimator: Any, inputs: list[Input], names: Sequence[str]) -> Iterator[tuple[Any, list[Any]]]:
    """For each class a row drawn from it: of several the one most surely of the class."""
    estimator = nameless(estimator) if estimator._form != "table" else estimator  # what it draws has no names
    labels = estimator.classes_[:MOST_EXAMPLES]
    try:
        drawn, _ = estimator.sample(DRAWS * len(labels), np.repeat(labels, DRAWS), random_state=0)
        p = np.asarray(estimator.predict_proba(drawn))
    except SufficeError:
        return
    for place, label in enumerate(label_list(labels)):
        best = DRAWS * place + int(np.argmax(p[DRAWS * place : DRAWS * (place + 1), place]))
        if isinstance(drawn, np.ndarray):
            row = dict(zip(names, np.atleast_1d(drawn[best]).tolist(), strict=True))
        else:
            row = {name: column[best].as_py() for name, column in as_frame(drawn).columns.items()}
        yield label, [_shown(row.get(each.name), each) for each in inputs]


def _shown(value: Any, of: Input) -> Any:
    """A value as somebody would type it: numbers to four digits."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return None
    if of.kind == "number":
        return float(f"{float(value):.4g}") if not float(value).is_integer() else int(value)
    if of.kind == "choice" and of.options and isinstance(of.options[0], bool):
        return bool(value)
    return value if of.kind == "choice" else str(value)
