"""Evidence for a class, imputation of missing values, and ranks of the values that are most informative."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Positions, Rows, Values
from suffice.core.errors import InvalidOptionError, NoDistributionError
from suffice.core.labels import encode_labels
from suffice.core.statistics import Batch
from suffice.core.words import Texts
from suffice.families import FillMethod, Table
from suffice.families.chosen import ChosenDistribution
from suffice.families.covariance import one_blas_thread
from suffice.families.documents import Bags
from suffice.families.logarithms import log_ratio
from suffice.families.product import ProductDistribution
from suffice.families.text import TextDistribution
from suffice.model.calibration import Calibration
from suffice.model.joint import Model
from suffice.model.out_of_range import drawing


def product(model: Model) -> ProductDistribution:
    """Return the blocks of a model of tables."""
    found = model.distribution
    assert isinstance(found, ProductDistribution), "a model of tables has blocks"
    return found


# ------------------------------------------------------------------------------------------------ evidence


def contrasted(
    model: Model, log_posterior: Array, label: Any = None, against: Any = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two classes to compare for each row: those given, the second of two and the first, or the best two."""
    n = len(log_posterior)
    if len(model.labels) < 2:
        raise InvalidOptionError("Evidence compares classes, and there is only one")
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    first = order[:, 0]
    if label is not None:
        first = _positions(model, label, n)
    elif len(model.labels) == 2:
        first = np.ones(n, np.int64) if against is None else 1 - _positions(model, against, n)
    if against is not None:
        return first, _positions(model, against, n)
    return first, np.where(order[:, 0] == first, order[:, 1], order[:, 0])


def _positions(model: Model, label: Any, n: int) -> NDArray[np.int64]:
    """Return the position of a class, for each of n rows, or those of an array of one class for each row."""
    if not isinstance(label, np.ndarray) or label.ndim != 1:
        return np.full(n, model.position(label))
    if len(label) != n:
        raise InvalidOptionError(f"Expected one class, or one for each of {n} rows; found {len(label)}")
    given = encode_labels(label)
    places = np.array([model.position(each) for each in given.values], dtype=np.int64)
    return places[given.codes]


Split: TypeAlias = Callable[[Positions, Positions], tuple[list[str], Array]]


@dataclass(frozen=True)
class Evidence:
    """Two classes for each row, and the parts of the log-odds of the first against the second.

    log_odds = prior + Σ blocks + calibration, (rows,); `blocks` is (rows, blocks). What blocks say is tempered;
    `calibration` is what is left: the share of the prior that is mixed in, and experts that no column tells of.
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
        cls,
        model: Model,
        rows: Rows,
        log_posterior: Array,
        titles: list[str],
        label: Any = None,
        against: Any = None,
        split: Split | None = None,
    ) -> Evidence:
        """Compare classes: those given, or the second of two and the first, or the two best of each row.

        `split` gives the titles and log-odds of all parts for two classes of each row; by default these are the blocks
        of the model, as it is without calibration.
        """
        at = np.arange(len(log_posterior))
        first, second = contrasted(model, log_posterior, label, against)
        if split is None:
            blocks = model.distribution.contrast(rows, first, second)
        else:
            titles, blocks = split(first, second)
        prior = log_ratio(model.log_prior[first], model.log_prior[second])
        total = log_ratio(log_posterior[at, first], log_posterior[at, second])
        with np.errstate(invalid="ignore"):  # infinite if a class is impossible; then the rest is 0
            rest = total - prior - blocks.sum(axis=1)
        rest = np.where(np.isnan(rest), 0.0, rest)
        return cls(model.labels[first], model.labels[second], prior, titles, blocks, rest, total)

    @classmethod
    def whole(cls, model: Model, log_posterior: Array, label: Any = None, against: Any = None) -> Evidence:
        """Compare classes by all columns together."""
        at = np.arange(len(log_posterior))
        first, second = contrasted(model, log_posterior, label, against)
        prior = log_ratio(model.log_prior[first], model.log_prior[second])
        total = log_ratio(log_posterior[at, first], log_posterior[at, second])
        rest = np.zeros(len(total))
        return cls(
            model.labels[first], model.labels[second], prior, ["all columns"], (total - prior)[:, None], rest, total
        )

    def columns(self, calibrated: bool = True) -> dict[str, Values]:
        """Return the columns of a table; that of calibration only if the model is `calibrated`."""
        out: dict[str, Values] = {"label": self.label, "against": self.against, "prior": self.prior}
        rest = ({"rest": self.calibration} if calibrated else {}) | {"log_odds": self.log_odds}
        titles = [f"{title} (column)" if title in out or title in rest else title for title in self.titles]
        return out | dict(zip(titles, self.blocks.T, strict=True)) | rest

    def tables(self) -> list[Table]:
        """Return a table for each row: the prior, the blocks by decreasing evidence, what is left, and the sum."""
        names, rests = self.titles, ("(rest)", "(sum)")
        rows = zip(self.label, self.against, self.prior, self.blocks, self.log_odds, strict=True)
        return [_as_table(f"{a} against {b}", prior, names, own, {}, odds, rests) for a, b, prior, own, odds in rows]


def word_evidence(
    model: Model,
    texts: Texts | Bags,
    log_posterior: Array,
    label: Any = None,
    against: Any = None,
    calibration: Calibration | None = None,
) -> list[Table]:
    """Return a table for each text: the prior log-odds, the log-odds that each known feature adds, and the sum.

    What features add is tempered by the calibration.
    """
    found = model.distribution
    assert isinstance(found, TextDistribution), "a model of texts"
    first, second = contrasted(model, log_posterior, label, against)
    tempering = 1.0 if calibration is None else calibration.tempering
    out: list[Table] = []
    for bags in found.bags(texts):
        at = np.arange(len(out), len(out) + len(bags))
        features = found.event.contrast(bags, first[at], second[at]) * tempering
        besides = found.event.contrast_besides(bags, first[at], second[at])
        for i, row in enumerate(at):
            part = slice(bags.start[i], bags.start[i + 1])
            odds = log_posterior[row, first[row]] - log_posterior[row, second[row]]
            prior = model.log_prior[first[row]] - model.log_prior[second[row]]
            names = [found.vocabulary[int(j)] for j in bags.feature[part]]
            title = f"{model.labels[first[row]]} against {model.labels[second[row]]}"
            others = {name: tempering * float(each[i]) for name, each in besides.items()}
            out.append(_as_table(title, prior, names, features[part], others, odds))
    return out


def _as_table(
    title: str,
    prior: float,
    names: list[str],
    features: Array,
    besides: dict[str, float],
    odds: float,
    last: tuple[str, str] = ("(calibration)", "(sum)"),
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
    rows += last
    values += [0.0 if np.isnan(rest) else rest, odds]
    return Table(title, rows, ["log_odds"], np.array(values)[:, None])


# ------------------------------------------------------------------------------------------------ imputation


def impute(
    model: Model, rows: Batch, posterior: Array, method: FillMethod, rng: np.random.Generator
) -> dict[str, Values]:
    """Return the columns of all blocks by name; missing values are filled by `method`, weighted by the posterior."""
    found = product(model)
    likeliest = posterior.argmax(axis=1).astype(np.int32)
    reached = np.cumsum(posterior, axis=1)
    drawn = (rng.random((len(rows), 1)) * reached[:, -1:] > reached).sum(axis=1).astype(np.int32)
    drawn = np.minimum(drawn, posterior.shape[1] - 1)
    out: dict[str, Values] = {}
    for block, part, read in zip(found.family.blocks, found.parts, rows.parts, strict=False):
        if block.missing or block.family.reads == "text":  # a missing text cannot be filled in
            continue
        with drawing():
            filled = part.fill(read, posterior, drawn if method == "sample" else likeliest, method, rng)
        out.update((name, filled[:, j]) for j, name in enumerate(block.names))
    return out


# ------------------------------------------------------------------------------------------------ ranks

MEASURES = ("log_odds", "probability", "information")


def rank_features(model: Model, names: Sequence[str], labels: Sequence[Any], n: int, by: str) -> list[Table]:
    """Rank the outcomes by what they say about each of some classes; one table of the first n for each class.

    By information, the columns of numbers that chose a family are ranked too.
    """
    if by not in MEASURES:
        raise InvalidOptionError(f"by must be one of {MEASURES}, found {by!r}")
    positions = [model.position(label) for label in labels]
    share = np.exp(model.log_prior - np.logaddexp.reduce(model.log_prior))
    found: list[list[tuple[str, Array]]] = [[] for _ in labels]
    for outcomes in model.distribution.outcomes(names):
        rest = _elsewhere(outcomes.probability, share, positions)
        for c, others, ranked in zip(positions, rest, found, strict=True):
            # There may be millions of words: only the first n get all measures and a title.
            own = outcomes.probability[c]
            some = _largest(_measure(own, others, float(share[c]), by), n)
            values = _measures(own[some], others[some], float(share[c]))
            ranked += [(outcomes.title(int(i)), each) for i, each in zip(some, values, strict=True)]
    if isinstance(model.distribution, ProductDistribution):
        columns = [(title, np.array([np.nan, np.nan, bits])) for title, bits in _columns(model)]
        found = [ranked + columns for ranked in found]
    if not all(found):
        raise NoDistributionError(
            f"{type(model.distribution).__name__} has no outcomes to rank: its columns hold numbers of any size"
        )
    return [_first(label, ranked, n, by) for label, ranked in zip(labels, found, strict=True)]


def _largest(values: Array, n: int) -> Positions:
    """Return the positions of the n largest values, in order, equal ones by position; NaN is the least."""
    values = np.where(np.isnan(values), -np.inf, values)
    if n >= len(values):
        return np.argsort(-values, kind="stable")
    some = np.flatnonzero(values >= np.partition(values, len(values) - n)[len(values) - n])
    return some[np.argsort(-values[some], kind="stable")[:n]]


def _first(label: Any, found: list[tuple[str, Array]], n: int, by: str) -> Table:
    """Return the first n as a table."""
    titles, values = [title for title, _ in found], np.array([each for _, each in found]).reshape(-1, len(MEASURES))
    at = values[:, MEASURES.index(by)]
    ranked = [i for i in np.argsort(-at, kind="stable") if not np.isnan(at[i])][:n]
    return Table(f"tells of {label}", [titles[i] for i in ranked], list(MEASURES), values[ranked])


def _columns(model: Model) -> Iterator[tuple[str, float]]:
    """Yield each column of numbers that chose its family, and its information about the class in bits."""
    found = product(model)
    for block, part in zip(found.family.blocks, found.parts, strict=True):
        if isinstance(part, ChosenDistribution) and not any(True for _ in part.outcomes(block.names)):
            yield block.title, max(part.score - part.chance, 0.0) / np.log(2.0)


def _elsewhere(p: Array, share: Array, classes: list[int]) -> Array:
    """Compute the probability of values in all classes but c, for each c of `classes`, (len(classes), values)."""
    others = np.repeat(share[None], len(classes), axis=0)
    others[np.arange(len(classes)), classes] = 0.0
    total = others.sum(axis=1, keepdims=True)
    with one_blas_thread(len(share)):
        return np.divide(others, total, out=np.zeros_like(others), where=total > 0) @ p


def _measure(own: Array, rest: Array, share: float, by: str) -> Array:
    """Compute one measure of all values of a class, of its share and their probability there and elsewhere."""
    if by == "probability":
        return own
    return _log_odds(own, rest) if by == "log_odds" else _measures(own, rest, share)[:, MEASURES.index(by)]


def _log_odds(own: Array, rest: Array) -> Array:
    """Compute the log-odds of values in a class against the others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(own) - np.log(rest)


def _measures(own: Array, rest: Array, share: float) -> Array:
    """Compute the log-odds, the probability and the information of values for a class, (values, 3)."""
    bits = np.zeros(len(own))
    overall = share * own + (1 - share) * rest
    for weight, given in ((share, own), (1 - share, rest)):
        for part, whole in ((given, overall), (1 - given, 1 - overall)):
            joint, product = weight * part, weight * whole
            ratio = np.divide(joint, product, out=np.ones_like(joint), where=(joint > 0) & (product > 0))
            bits += joint * np.log2(ratio)
    return np.stack([_log_odds(own, rest), own, bits], axis=1)
