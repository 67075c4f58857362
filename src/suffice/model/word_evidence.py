"""The evidence of each word of a text for a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.arrays import Array
from suffice.core.words import Texts
from suffice.families import Table
from suffice.families.documents import Bags
from suffice.families.text import TextDistribution
from suffice.model.explain import contrasted
from suffice.model.joint import Model


def word_evidence(
    model: Model, texts: Texts | Bags, log_posterior: Array, label: Any = None, against: Any = None
) -> list[Table]:
    """Return a table for each text: the prior log-odds, the log-odds that each known feature adds, and the sum."""
    found = model.distribution
    assert isinstance(found, TextDistribution), "a model of texts"
    first, second = contrasted(model, log_posterior, label, against)
    out: list[Table] = []
    for bags in found.bags(texts):
        at = np.arange(len(out), len(out) + len(bags))
        features = found.event.contrast(bags, first[at], second[at])
        besides = found.event.contrast_besides(bags, first[at], second[at])
        for i, row in enumerate(at):
            part = slice(bags.start[i], bags.start[i + 1])
            odds = log_posterior[row, first[row]] - log_posterior[row, second[row]]
            prior = model.log_prior[first[row]] - model.log_prior[second[row]]
            names = [found.vocabulary[int(j)] for j in bags.feature[part]]
            title = f"{model.labels[first[row]]} against {model.labels[second[row]]}"
            others = {name: float(each[i]) for name, each in besides.items()}
            out.append(_as_table(title, prior, names, features[part], others, odds))
    return out


def _as_table(
    title: str, prior: float, names: list[str], features: Array, besides: dict[str, float], odds: float
) -> Table:
    """List the prior, the features by decreasing evidence, and the sum."""
    order = np.argsort(-np.abs(features), kind="stable")
    rows = ["(prior)", *(names[i] for i in order)]
    values = [prior, *features[order]]
    for name, value in besides.items():
        if value:
            rows.append(f"({name})")
            values.append(value)
    with np.errstate(invalid="ignore"):
        rest = odds - sum(values)
    rows += ["(calibration)", "(sum)"]
    values += [0.0 if np.isnan(rest) else rest, odds]
    return Table(title, rows, ["log_odds"], np.array(values)[:, None])
