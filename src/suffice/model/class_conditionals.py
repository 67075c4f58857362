"""What p(x | y) of each column looks like, as arrays: for whoever draws, with whatever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidOptionError, MismatchError
from suffice.core.frames.frame import listed
from suffice.core.suggestions import did_you_mean
from suffice.families import Bins, Distribution, Support
from suffice.families.product import ProductDistribution
from suffice.model.explain import MEASURES, rank_features
from suffice.model.joint import Model

POINTS = 161  # of a curve, evenly spaced, beside those where the classes have their mass
COVERED = 0.01  # the share of a class that may lie beyond each end of a curve
MARGIN = 0.15  # by which that range is widened
DRAWS = 1000  # rows drawn of each class to see where its mass lies
CELLS = 1 << 22  # numbers drawn at most, as long as there are 100 rows of each class
BOOLEANS = 20  # columns of booleans, beyond which they are shown as words: those that tell most


@dataclass(frozen=True)
class Conditional:
    """What p(x | y) of some columns looks like.

    `title` says what the columns are called, `labels` the classes; where `votes` is False all classes share one
    distribution, for the columns tell nothing of them.
    """

    title: str
    columns: tuple[str, ...]
    labels: Values
    votes: bool


@dataclass(frozen=True)
class Curve(Conditional):
    """A number: p(x | y) over x.

    `kind` is "density" (lines through the points), "steps" (bins: `x` holds one bound more than there are densities) or
    "mass" (`x` are whole numbers, and `density` their probabilities). `x` and `density` are empty if no value was seen.
    No value can lie below `least`, which is 0 or −∞.
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


@dataclass(frozen=True)
class Words(Conditional):
    """Words, or many columns that are counts of something: those that tell most of each class, by `by`."""

    words: tuple[tuple[str, ...], ...]  # for each class
    log_odds: tuple[Array, ...]  # log p(word | class) − log p(word | other classes)
    probability: tuple[Array, ...]
    by: str


@dataclass(frozen=True)
class Ellipses(Conditional):
    """Numbers that are Gaussian together: their mean and covariance, and the curve of each by itself.

    Of Student's t, `covariance` is the scale matrix.
    """

    mean: Array  # (classes, columns)
    covariance: Array  # (classes, columns, columns)
    margins: tuple[Curve, ...]


def conditionals(
    estimator: Any,
    columns: Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    words: int = 10,
    by: str = "log_odds",
    most: int | None = None,
) -> list[Conditional]:
    """Say what p(x | y) of each column of a fitted estimator looks like, for drawing.

    Parameters
    ----------
    estimator : fitted estimator of suffice, or Model
        What to look at.
    columns : sequence of str, default=None
        Only blocks that hold one of these columns; by default all.
    names : sequence of str, default=None
        What to call columns: by default as in training, or x0, x1, …
    words : int, default=10
        How many words to name for each class.
    by : {'log_odds', 'probability', 'information'}, default='log_odds'
        What words are ranked by, as in `top_features`.
    most : int, default=None
        How many conditionals at most, the first ones; by default all.

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
    """Refuse a column that the model does not have, naming the one that was perhaps meant."""
    if name not in known:
        raise MismatchError(
            f"The model has no column {name!r}. {did_you_mean(name, known)}The columns are {listed(known)}"
        )


def _model_of(estimator: Any) -> Model:
    found = estimator.model_ if hasattr(type(estimator), "model_") else None  # which raises where nothing was fitted
    if not isinstance(found, Model):
        raise InvalidOptionError(
            f"Only estimators of suffice, and a Model, know what p(x | y) looks like; found {type(estimator).__name__}"
        )
    return found


def _blocks(model: Model, names: Sequence[str] | None) -> Iterator[tuple[str, Distribution, tuple[str, ...]]]:
    """The title of each block, what it is distributed by, and the names of its columns."""
    distribution = model.distribution
    if isinstance(distribution, ProductDistribution):  # its blocks know what they are called
        for block, part in zip(distribution.family.blocks, distribution.parts, strict=True):
            yield block.title, part, (block.title,) if block.missing else block.names
        return
    own = tuple(f"x{j}" if names is None else str(names[j]) for j in range(distribution.n_columns))
    yield ", ".join(own[:4]) + (", …" if len(own) > 4 else ""), distribution, own


@dataclass(frozen=True)
class _Block:
    """A block of a model, of which some columns are wanted, or all."""

    model: Model
    part: Distribution
    title: str
    names: tuple[str, ...]
    wanted: Sequence[str] | None

    @property
    def votes(self) -> bool:
        return bool(getattr(self.part, "votes", True))

    @property
    def places(self) -> list[int]:
        """The columns that are asked for."""
        return [j for j, name in enumerate(self.names) if self.wanted is None or name in self.wanted]

    def conditionals(self, words: int, by: str) -> Iterator[Conditional]:
        kind, gaussian = self.part.column_support(0).kind, self.part.gaussian
        if kind == "words" or (kind == "boolean" and len(self.places) > BOOLEANS):
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
        alone = Model(self.model.labels, self.model.log_prior, self.part)
        text = self.part.reads == "text"
        told = rank_features(alone, [""] if text else self.names, self.model.labels.tolist(), n, by)
        return Words(
            self.title if self.title != "x0" or not text else "words",
            self.names,
            self.model.labels,
            self.votes,
            tuple(tuple(table.rows) for table in told),
            tuple(table.values[:, MEASURES.index("log_odds")] for table in told),
            tuple(table.values[:, MEASURES.index("probability")] for table in told),
            by,
        )

    def _booleans(self) -> Iterator[Bars]:
        p = np.concatenate([each.probability for each in self.part.outcomes(self.names)], axis=1)
        for j in self.places:
            both = np.stack([1.0 - p[:, j], p[:, j]], axis=1)
            yield Bars(self.names[j], (self.names[j],), self.model.labels, self.votes, ("false", "true"), both)

    def _bars(self) -> Iterator[Bars]:
        """From the tables: one for each column, or one for all of them."""
        tables = self.part.tables(self.model.labels, self.names)
        for j, table in enumerate(tables):
            own = (self.names[j],) if len(tables) == len(self.names) else self.names
            if self.wanted is None or set(own) & set(self.wanted):
                p = np.broadcast_to(table.values.T, (len(self.model.labels), len(table.rows)))
                yield Bars(", ".join(own), own, self.model.labels, self.votes, tuple(table.rows), p)

    # ---- numbers

    def _curves(self) -> Iterator[Conditional]:
        drawn = self._drawn()
        for j in self.places:
            support = self.part.column_support(j)
            name = self.names[j]
            whole = Curve(
                name, (name,), self.model.labels, self.votes, np.empty(0), np.empty((len(drawn), 0)), "density"
            )
            if isinstance(support, Bins):
                assert support.bounds is not None, "bins have bounds"
                yield self._halves(name, j) if len(support.bounds) == 3 else self._steps(whole, j, support.bounds)
                continue
            x = _grid(drawn[:, :, j], support)
            if len(x):
                whole = replace(whole, x=x, density=np.exp(self._log_density(j, x)))
            kind: Literal["mass", "density"] = "mass" if support.kind == "integer" else "density"
            yield replace(whole, kind=kind, least=support.least)

    def _drawn(self) -> Array:
        """Rows of each class, to see where its mass lies, (classes, rows, columns)."""
        classes, columns = len(self.model.labels), len(self.names)
        n = int(np.clip(CELLS // (classes * columns), 100, DRAWS))
        codes = np.repeat(np.arange(classes, dtype=np.int32), n)
        with np.errstate(over="ignore", invalid="ignore"):  # of what was never seen nothing can be drawn
            drawn = np.asarray(self.part.sample(codes, np.random.default_rng(0)), dtype=np.float64)
        return drawn.reshape(classes, n, columns)

    def _log_density(self, column: int, x: Array) -> Array:
        """Log p(x_j | y), (classes, points): the other columns are missing, so they are summed out."""
        rows = np.full((len(x), len(self.names)), np.nan)
        rows[:, column] = x
        return self.part.log_density(self.part.read(rows)).T

    def _halves(self, name: str, column: int) -> Bars:
        """Two bins, below an edge and above it, both open: how wide to draw them nobody knows."""
        table = self.part.tables(self.model.labels, self.names)[column]
        p = np.broadcast_to(table.values.T, (len(self.model.labels), 2))
        return Bars(name, (name,), self.model.labels, self.votes, tuple(table.rows), p)

    def _steps(self, empty: Curve, column: int, bounds: Array) -> Curve:
        """The density of bins: their probability over their width."""
        if not np.isfinite(bounds).all():
            return empty
        widths = np.diff(bounds)
        some = widths[widths > 0]
        least = float(some.min()) if len(some) else max(1.0, abs(float(bounds[0])))
        bounds = bounds.copy()
        bounds[0] -= least * (widths[0] <= 0)  # a bin that holds a single value is drawn as wide as the narrowest
        bounds[-1] += least * (widths[-1] <= 0 and len(widths) > 1)
        mass = np.exp(self._log_density(column, 0.5 * bounds[:-1] + 0.5 * bounds[1:]))
        return replace(empty, x=bounds, density=mass / np.diff(bounds), kind="steps")


def _grid(drawn: Array, support: Support) -> Array:
    """Points that show a column of draws (classes, rows): evenly spaced ones, and more where a class has its mass."""
    finite = np.where(np.isfinite(drawn), drawn, np.nan)
    seen = finite[~np.isnan(finite).all(axis=1)]
    if not len(seen):
        return np.empty(0)
    share = np.linspace(COVERED, 1.0 - COVERED, max(9, POINTS // len(seen)))
    quantiles: NDArray[Any] = np.nanquantile(seen, share, axis=1)
    low, high = float(quantiles.min()), float(quantiles.max())
    margin = MARGIN * (high - low) or max(1.0, abs(low)) * 0.5
    low, high = low - margin, high + margin
    if support.kind == "integer":
        return np.unique(np.round(np.linspace(max(0.0, np.floor(low)), np.ceil(high), POINTS)))
    if support.kind == "positive":
        low = max(low, min(0.01 * high, float(np.nanmin(seen))))
    return np.unique(np.concatenate([np.linspace(low, high, POINTS), quantiles.ravel()]))
