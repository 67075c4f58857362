"""Questions to a model of several blocks: what speaks for a class, what fills a gap, which values tell most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidOptionError, MismatchError, NoDistributionError
from suffice.core.statistics import Batch
from suffice.families import FillMethod, Table
from suffice.families.choose import ChosenDistribution
from suffice.families.logarithms import log_ratio
from suffice.families.product import ProductDistribution
from suffice.model.joint import Model


def product(model: Model) -> ProductDistribution:
    """The model's blocks."""
    found = model.distribution
    assert isinstance(found, ProductDistribution), "a model of tables has blocks"
    return found


def place(model: Model, label: Any) -> int:
    """The position of a class."""
    known = np.flatnonzero(model.labels == label)
    if not len(known):
        raise MismatchError(f"No class {label!r}: the classes are {', '.join(map(repr, model.labels.tolist()))}")
    return int(known[0])


# ------------------------------------------------------------------------------------------------ evidence


def contrasted(
    model: Model, log_posterior: Array, label: Any = None, against: Any = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The classes compared for each row: those given, or the second of two with the first, or the likeliest two."""
    n = len(log_posterior)
    if len(model.labels) < 2:
        raise InvalidOptionError("Evidence compares classes, and there is only one")
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    first = order[:, 0]
    if label is not None:
        first = np.full(n, place(model, label))
    elif len(model.labels) == 2:
        first = np.full(n, 1 if against is None else 1 - place(model, against))
    if against is not None:
        return first, np.full(n, place(model, against))
    return first, np.where(order[:, 0] == first, order[:, 1], order[:, 0])


@dataclass(frozen=True)
class Evidence:
    """For each row two classes, and log-odds of the first against the second that add up.

    log_odds = prior + Σ blocks + calibration, (rows,); `blocks` is (rows, blocks).
    """

    label: Values
    against: Values
    prior: Array
    titles: list[str]
    blocks: Array
    calibration: Array
    log_odds: Array

    @classmethod
    def of(
        cls, model: Model, rows: Any, log_posterior: Array, titles: list[str], label: Any = None, against: Any = None
    ) -> Evidence:
        """Compare classes: those given, or the second of two with the first, or the likeliest two of each row."""
        at = np.arange(len(log_posterior))
        first, second = contrasted(model, log_posterior, label, against)
        blocks = model.distribution.contrast(rows, first, second)
        prior = log_ratio(model.log_prior[first], model.log_prior[second])
        total = log_ratio(log_posterior[at, first], log_posterior[at, second])
        with np.errstate(invalid="ignore"):  # where a class is excluded there is nothing left to explain
            rest = total - prior - blocks.sum(axis=1)
        rest = np.where(np.isnan(rest), 0.0, rest)
        return cls(model.labels[first], model.labels[second], prior, titles, blocks, rest, total)

    def columns(self, calibrated: bool = True) -> dict[str, Any]:
        """As columns of a table; what calibration changes only where there is any."""
        out: dict[str, Any] = {"label": self.label, "against": self.against, "prior": self.prior}
        rest = ({"calibration": self.calibration} if calibrated else {}) | {"log_odds": self.log_odds}
        titles = [f"{title} (column)" if title in out or title in rest else title for title in self.titles]
        return out | dict(zip(titles, self.blocks.T, strict=True)) | rest


# ------------------------------------------------------------------------------------------------ imputation


def impute(model: Model, rows: Batch, posterior: Array, method: FillMethod, rng: np.random.Generator) -> dict[str, Any]:
    """The columns of each block with their gaps filled, posterior-weighted over the classes, by name."""
    found = product(model)
    likeliest = posterior.argmax(axis=1).astype(np.int32)
    reached = np.cumsum(posterior, axis=1)
    drawn = (rng.random((len(rows), 1)) * reached[:, -1:] > reached).sum(axis=1).astype(np.int32)
    drawn = np.minimum(drawn, posterior.shape[1] - 1)
    out: dict[str, Any] = {}
    for block, part, read in zip(found.family.blocks, found.parts, rows.parts, strict=False):
        if block.missing or block.family.reads == "text":  # nothing can be written into a text that is missing
            continue
        filled = part.fill(read, posterior, drawn if method == "sample" else likeliest, method, rng)
        out.update((name, filled[:, j]) for j, name in enumerate(block.names))
    return out


# ------------------------------------------------------------------------------------------------ what tells most

MEASURES = ("log_odds", "probability", "information")


def rank_features(model: Model, names: Sequence[str], labels: Sequence[Any], n: int, by: str) -> list[Table]:
    """The outcomes, and by information also the columns that chose a family, that tell most of each of some classes."""
    if by not in MEASURES:
        raise InvalidOptionError(f"by must be one of {MEASURES}, found {by!r}")
    places = [place(model, label) for label in labels]
    share = np.exp(model.log_prior - np.logaddexp.reduce(model.log_prior))
    found: list[list[tuple[str, Array]]] = [[] for _ in labels]
    for outcomes in model.distribution.outcomes(names):
        for own, ranked in zip(places, found, strict=True):
            # Of millions of words only those that may be among the first are measured further, and get a name.
            some = np.argsort(-_measure(outcomes.probability, share, own, by), kind="stable")[:n]
            values = _measures(outcomes.probability[:, some], share, own)
            ranked += [(outcomes.title(int(i)), each) for i, each in zip(some, values, strict=True)]
    if isinstance(model.distribution, ProductDistribution):
        columns = [(title, np.array([np.nan, np.nan, bits])) for title, bits in _columns(model)]
        found = [ranked + columns for ranked in found]
    if not all(found):
        raise NoDistributionError(
            f"{type(model.distribution).__name__} has no outcomes to rank: its columns hold numbers of any size"
        )
    return [_first(label, ranked, n, by) for label, ranked in zip(labels, found, strict=True)]


def _first(label: Any, found: list[tuple[str, Array]], n: int, by: str) -> Table:
    """The n that tell most."""
    titles, values = [title for title, _ in found], np.array([each for _, each in found]).reshape(-1, len(MEASURES))
    at = values[:, MEASURES.index(by)]
    ranked = [i for i in np.argsort(-at, kind="stable") if not np.isnan(at[i])][:n]
    return Table(f"tells of {label}", [titles[i] for i in ranked], list(MEASURES), values[ranked])


def _columns(model: Model) -> Iterator[tuple[str, float]]:
    """Each column of numbers that chose its family, and the bits it tells of the class by itself."""
    found = product(model)
    for block, part in zip(found.family.blocks, found.parts, strict=True):
        if isinstance(part, ChosenDistribution) and not any(True for _ in part.outcomes(block.names)):
            yield block.title, max(part.score - part.chance, 0.0) / np.log(2.0)


def _measure(p: Array, share: Array, own: int, by: str) -> Array:
    """One measure of all values, (values,)."""
    if by == "probability":
        return p[own]
    return _log_odds(p, share, own)[0] if by == "log_odds" else _measures(p, share, own)[:, MEASURES.index(by)]


def _log_odds(p: Array, share: Array, own: int) -> tuple[Array, Array]:
    """Log-odds of values in a class against the others, and their probability in the others."""
    others = np.where(np.arange(len(share)) == own, 0.0, share)
    rest = others @ p / others.sum() if others.sum() > 0 else np.zeros(p.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(p[own]) - np.log(rest), rest


def _measures(p: Array, share: Array, own: int) -> Array:
    """Log-odds of values in a class against the others, their probability there, and their bits, (values, 3)."""
    odds, rest = _log_odds(p, share, own)
    bits = np.zeros(p.shape[1])
    either = share[own] * p[own] + (1 - share[own]) * rest
    for weight, given in ((share[own], p[own]), (1 - share[own], rest)):
        for part, whole in ((given, either), (1 - given, 1 - either)):
            joint = weight * part
            apart = weight * whole
            bits += joint * np.log2(np.divide(joint, apart, out=np.ones_like(joint), where=(joint > 0) & (apart > 0)))
    return np.stack([odds, p[own], bits], axis=1)
