"""Curves, bars, words and ellipses of p(x | y) for each column, as arrays for drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidOptionError, MismatchError, did_you_mean
from suffice.core.frames.frame import listed
from suffice.core.labels import label_list
from suffice.families import Distribution, Support, Table
from suffice.families.product import ProductDistribution
from suffice.model.explain import MEASURES, rank_features
from suffice.model.joint import Model
from suffice.model.out_of_range import drawing

POINTS = 161  # evenly spaced points of a curve, besides quantiles of the classes
BEYOND_ENDS = 0.01  # the share of a class that may lie beyond each end of a curve
MARGIN = 0.15  # by which that range is widened
DRAWS = 1000  # rows drawn of each class to find its range
CELLS = 1 << 22  # the most numbers drawn, but at least 100 rows of each class
BOOLEANS = 20  # more columns of booleans than this are shown as words, the most informative ones


@dataclass(frozen=True)
class Conditional:
    """p(x | y) of some columns, for drawing.

    `title` is the name of the columns for people, and `labels` are the classes. If `votes` is False, all classes share
    one distribution, as the columns do not separate them.
    """

    title: str
    columns: tuple[str, ...]
    labels: Values
    votes: bool


@dataclass(frozen=True)
class Curve(Conditional):
    """A number: p(x | y) over x.

    `kind` is "density" (lines through the points), "steps" (bins: `x` holds one bound more than there are densities) or
    "mass" (`x` are integers, and `density` their probabilities). `x` and `density` are empty if the column had no
    values. No value can lie below `least`, which is 0 or −∞.
    """

    x: Array
    density: Array  # (classes, points)
    kind: Literal["density", "steps", "mass"]
    least: float = -np.inf


@dataclass(frozen=True)
class Bars(Conditional):
    """One of several outcomes, or combinations of them: their probabilities."""

    outcomes: tuple[str, ...]
    probability: Array  # (classes, outcomes)

    @property
    def names(self) -> list[str]:
        """The outcomes as they are shown: if all are integers, without `.0`."""
        integers = all(name.endswith(".0") for name in self.outcomes)
        return [name.removesuffix(".0") if integers else name for name in self.outcomes]


@dataclass(frozen=True)
class Words(Conditional):
    """Words, or many columns of counts: the most informative ones of each class by the measure `by`."""

    words: tuple[tuple[str, ...], ...]  # for each class
    log_odds: tuple[Array, ...]  # log p(word | class) − log p(word | other classes)
    probability: tuple[Array, ...]
    by: str


@dataclass(frozen=True)
class Ellipses(Conditional):
    """Numbers that are jointly Gaussian: their mean and covariance, and the curve of each by itself.

    For Student's t, `covariance` is the scale matrix.
    """

    mean: Array  # (classes, columns)
    covariance: Array  # (classes, columns, columns)
    margins: tuple[Curve, ...]

    def outline(self, c: int, radius: float) -> Array:
        """Return points of (x − μ)ᵀ Σ⁻¹ (x − μ) = radius² of class c, in the first two columns, (2, points)."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        values, vectors = np.linalg.eigh(self.covariance[c, :2, :2])
        scale = radius * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean[c, :2, None] + vectors * scale @ np.stack([np.cos(angle), np.sin(angle)]))


def conditionals(
    estimator: Any,
    columns: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    words: int = 10,
    by: str = "log_odds",
    most: int | None = None,
) -> list[Conditional]:
    """Compute p(x | y) of each column of a fitted estimator, for drawing.

    Parameters
    ----------
    estimator : fitted estimator of suffice, or Model
        The model.
    columns : sequence of str, default=None
        Only blocks that hold one of these columns; by default all.
    names : sequence of str, default=None
        Names of the columns: by default those of training, or x0, x1, …
    words : int, default=10
        How many words to return for each class.
    by : {'log_odds', 'probability', 'information'}, default='log_odds'
        The measure that ranks words, as in `top_features`.
    most : int, default=None
        How many conditionals to return at most; by default all.

    Returns
    -------
    conditionals : list of Curve, Bars, Words or Ellipses
        One for each column, or for each block of columns that are not independent.

    Examples
    --------
    >>> from suffice import Gaussian, Model
    >>> curve = conditionals(Model.fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"], Gaussian(prior=None)))[0]
    >>> curve.title, curve.kind, curve.density.shape == (2, len(curve.x))
    ('x0', 'density', True)
    """
    if by not in MEASURES:
        raise InvalidOptionError(f"by must be one of {MEASURES}, found {by!r}")
    if words < 1:
        raise InvalidOptionError(f"words must be at least 1, found {words}")
    model = estimator if isinstance(estimator, Model) else _model_of(estimator)
    known = getattr(estimator, "feature_names_in_", None) if names is None else names
    blocks = list(_blocks(model, None if known is None else [str(name) for name in known]))
    wanted = None if columns is None else [str(name) for name in columns]
    if wanted is not None:
        every = [name for _, _, own in blocks for name in own]
        for name in wanted:
            check_column(name, every)
    chosen = (block for block in blocks if wanted is None or set(wanted) & set(block[2]))
    found = (_Block(model, part, title, own, wanted).conditionals(words, by) for title, part, own in chosen)
    return list(islice(chain.from_iterable(found), most))


def check_column(name: str, known: Sequence[str]) -> None:
    """Refuse a column that the model does not have; the error suggests a similar name."""
    if name not in known:
        raise MismatchError(
            f"The model has no column {name!r}. {did_you_mean(name, known)}The columns are {listed(known)}"
        )


def _model_of(estimator: Any) -> Model:
    found = estimator.model_ if hasattr(type(estimator), "model_") else None  # raises an error if it is not fitted
    if not isinstance(found, Model):
        raise InvalidOptionError(
            f"Only estimators of suffice, and a Model, have p(x | y); found {type(estimator).__name__}"
        )
    return found


def _blocks(model: Model, names: Sequence[str] | None) -> Iterator[tuple[str, Distribution, tuple[str, ...]]]:
    """Yield the title of each block, its distribution, and the names of its columns."""
    distribution = model.distribution
    if isinstance(distribution, ProductDistribution):  # its blocks have names
        for block, part in zip(distribution.family.blocks, distribution.parts, strict=True):
            yield block.title, part, (block.title,) if block.missing else block.names
        return
    columns = tuple(model.column_names(names))
    yield ", ".join(columns[:4]) + (", …" if len(columns) > 4 else ""), distribution, columns


@dataclass(frozen=True)
class _Block:
    """A block of a model, and the columns of it that are wanted (None: all)."""

    model: Model
    part: Distribution
    title: str
    names: tuple[str, ...]
    wanted: Sequence[str] | None

    @property
    def votes(self) -> bool:
        return bool(getattr(self.part, "votes", True))

    @property
    def positions(self) -> list[int]:
        """The positions of the wanted columns."""
        return [j for j, name in enumerate(self.names) if self.wanted is None or name in self.wanted]

    def conditionals(self, words: int, by: str) -> Iterator[Conditional]:
        kind, gaussian = self.part.column_support(0).kind, self.part.gaussian
        if kind == "words" or (kind == "boolean" and len(self.positions) > BOOLEANS):
            yield self._words(words, by)
        elif kind == "boolean":
            yield from self._booleans()
        elif kind == "categories":
            yield from self._bars()
        elif gaussian is not None:
            margins = tuple(each for each in self._curves() if isinstance(each, Curve))
            yield Ellipses(self.title, self.names, self.model.labels, self.votes, *gaussian, margins)
        else:
            yield from self._curves()

    def _words(self, n: int, by: str) -> Words:
        model = Model(self.model.labels, self.model.log_prior, self.part)
        text = self.part.reads == "text"
        tables = rank_features(model, [""] if text else self.names, label_list(self.model.labels), n, by)
        return Words(
            self.title if self.title != "x0" or not text else "words",
            self.names,
            self.model.labels,
            self.votes,
            tuple(tuple(table.rows) for table in tables),
            tuple(table.values[:, MEASURES.index("log_odds")] for table in tables),
            tuple(table.values[:, MEASURES.index("probability")] for table in tables),
            by,
        )

    def _booleans(self) -> Iterator[Bars]:
        p = np.concatenate([each.probability for each in self.part.outcomes(self.names)], axis=1)
        for j in self.positions:
            both = np.stack([1.0 - p[:, j], p[:, j]], axis=1)
            yield Bars(self.names[j], (self.names[j],), self.model.labels, self.votes, ("false", "true"), both)

    def _bars(self) -> Iterator[Bars]:
        """Yield the bars of each table: one for each column, or one for all of them."""
        tables = self.part.tables(self.model.labels, self.names)
        for j, table in enumerate(tables):
            columns = (self.names[j],) if len(tables) == len(self.names) else self.names
            if self.wanted is None or set(columns) & set(self.wanted):
                yield self._bars_of(columns, table)

    def _bars_of(self, columns: tuple[str, ...], table: Table) -> Bars:
        p = np.broadcast_to(table.values.T, (len(self.model.labels), len(table.rows)))
        return Bars(", ".join(columns), columns, self.model.labels, self.votes, tuple(table.rows), p)

    # ---- numbers

    def _curves(self) -> Iterator[Conditional]:
        drawn = self._drawn()
        for j in self.positions:
            support = self.part.column_support(j)
            name = self.names[j]
            empty = Curve(
                name, (name,), self.model.labels, self.votes, np.empty(0), np.empty((len(drawn), 0)), "density"
            )
            if support.bounds is not None:
                if len(support.bounds) == 3:  # two open bins, whose widths are unknown
                    yield self._bars_of((name,), self.part.tables(self.model.labels, self.names)[j])
                else:
                    yield self._steps(empty, j, support.bounds)
                continue
            x = _grid(drawn[:, :, j], support)
            curve = replace(empty, x=x, density=np.exp(self._log_density(j, x))) if len(x) else empty
            kind: Literal["mass", "density"] = "mass" if support.kind == "integer" else "density"
            yield replace(curve, kind=kind, least=support.least)

    def _drawn(self) -> Array:
        """Draw rows of each class to find its range, (classes, rows, columns)."""
        classes, columns = len(self.model.labels), len(self.names)
        n = int(np.clip(CELLS // (classes * columns), 100, DRAWS))
        codes = np.repeat(np.arange(classes, dtype=np.int32), n)
        with np.errstate(over="ignore", invalid="ignore"), drawing():  # draws from a column without values are NaN
            drawn = np.asarray(self.part.sample(codes, np.random.default_rng(0)), dtype=np.float64)
        return drawn.reshape(classes, n, columns)

    def _log_density(self, column: int, x: Array) -> Array:
        """Compute log p(x_j | y), (classes, points); the other columns are missing, so they are summed out."""
        rows = np.full((len(x), len(self.names)), np.nan)
        rows[:, column] = x
        return self.part.log_density(self.part.read(rows)).T

    def _steps(self, empty: Curve, column: int, bounds: Array) -> Curve:
        """Return the density of bins, their probability divided by their width."""
        if not np.isfinite(bounds).all():
            return empty
        widths = np.diff(bounds)
        some = widths[widths > 0]
        least = float(some.min()) if len(some) else max(1.0, abs(float(bounds[0])))
        bounds = bounds.copy()
        bounds[0] -= least * (widths[0] <= 0)  # a bin of a single value is drawn as wide as the narrowest bin
        bounds[-1] += least * (widths[-1] <= 0 and len(widths) > 1)
        mass = np.exp(self._log_density(column, 0.5 * bounds[:-1] + 0.5 * bounds[1:]))
        return replace(empty, x=bounds, density=mass / np.diff(bounds), kind="steps")


def _grid(drawn: Array, support: Support) -> Array:
    """Return the points of a curve for draws (classes, rows): evenly spaced ones, and quantiles of each class."""
    finite = np.where(np.isfinite(drawn), drawn, np.nan)
    known = finite[~np.isnan(finite).all(axis=1)]
    if not len(known):
        return np.empty(0)
    share = np.linspace(BEYOND_ENDS, 1.0 - BEYOND_ENDS, max(9, POINTS // len(known)))
    quantiles: Array = np.nanquantile(known, share, axis=1)
    low, high = float(quantiles.min()), float(quantiles.max())
    margin = MARGIN * (high - low) or max(1.0, abs(low)) * 0.5
    low, high = low - margin, high + margin
    if support.kind == "integer":
        return np.unique(np.round(np.linspace(max(0.0, np.floor(low)), np.ceil(high), POINTS)))
    if support.kind == "positive":
        low = max(low, min(0.01 * high, float(np.nanmin(known))))
    return np.unique(np.concatenate([np.linspace(low, high, POINTS), quantiles.ravel()]))
