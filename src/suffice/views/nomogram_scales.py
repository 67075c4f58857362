"""The scales of a nomogram: what each value of each column adds to the log-odds of one class against another.

    log p(a | x) / p(b | x) = log π_a / π_b + Σ_j s_j(x_j) + what pairs of columns and experts add

A column that says something by itself has a scale s_j. Columns that speak together only, such as pairs, texts and joint
blocks, have none. What they add is measured on the rows that were kept in learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from suffice import engines
from suffice.core.arrays import Array
from suffice.core.errors import InvalidOptionError, NoDistributionError, NoFormulaError
from suffice.core.frames import as_frame
from suffice.families import Distribution, Independent
from suffice.model.class_conditionals import Curve, conditionals
from suffice.model.explain import Evidence, contrasted
from suffice.model.structure import Structure
from suffice.views.column_inputs import Input, blocks_of, inputs_of
from suffice.views.fitted import column_names, form_of, nameless
from suffice.views.round_numbers import ticks

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier

PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
POINTS = 401  # values of a number at which its scale is computed
TICKS = 8  # round numbers on the scale of a number
INTERVALS = 6  # into which the bins of a number are merged
LIMIT = 8.0  # log-odds beyond which nothing is drawn: a probability of 99.97 %
NAMES = 40  # categories of a column, the most telling
ALIKE = 0.03  # share of the largest reach: what turns back by less is no turning point, and bins that differ less merge
SHOWN = 4  # of what has no scale
SILENT = 0.005  # a column that adds less has no scale


@dataclass(frozen=True)
class Tick:
    """A value by its name, and what it adds to the log-odds."""

    name: str
    at: float


@dataclass(frozen=True)
class Scale:
    """The scale of a column. `runs` are parts of it in which log-odds rise or fall: a scale that turns has several."""

    title: str
    kind: Literal["number", "categories"]
    runs: tuple[tuple[Tick, ...], ...]
    least: float
    most: float

    @property
    def ticks(self) -> list[Tick]:
        """All ticks."""
        return [tick for run in self.runs for tick in run]

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest log-odds that are drawn."""
        return max(self.least, -LIMIT), min(self.most, LIMIT)

    @property
    def reach(self) -> float:
        """The length of what is drawn."""
        low, high = self.span
        return high - low


@dataclass(frozen=True)
class Remainder:
    """What has no scale, and what it adds to the rows that were kept in learning."""

    titles: tuple[str, ...]
    rows: int = 0
    size: float = 0.0  # the mean change of the log-odds, within the limit that is drawn
    agreeing: float = 1.0  # the share of rows for which the scales alone favour the same of the two classes

    def __str__(self) -> str:
        if not self.titles:
            return ""
        pairs = [title for title in self.titles if " × " in title]
        shown = [title for title in self.titles if title not in pairs]
        shown = [
            *([f"{len(pairs)} pairs of columns"] if pairs else []),
            *shown[:SHOWN],
            *([f"{len(shown) - SHOWN} more"] if len(shown) > SHOWN else []),
        ]
        said = f"Not drawn, as no column says it alone: {', '.join(shown)}."
        if not self.rows:
            return said
        return (
            f"{said} It changes the sum by {self.size:.2f} on average, and the favoured class of "
            f"{100 * (1 - self.agreeing):.1f} % of {self.rows:,} rows of training."
        )


@dataclass(frozen=True)
class Nomogram:
    """Scales that add up to the log-odds of `label` against `against`, the longest first."""

    label: Any
    against: Any
    prior: float
    scales: tuple[Scale, ...]
    remainder: Remainder
    mixed: float = 0.0  # the share of the prior that is mixed into the probabilities of two classes
    of_more: bool = False  # whether there are more than the two classes

    @classmethod
    def of(
        cls,
        estimator: GenerativeClassifier,
        label: Any = None,
        against: Any = None,
        names: Sequence[str] | None = None,
    ) -> Nomogram:
        """Return the nomogram of a fitted estimator.

        By default of the second of two classes against the first, or of the two most frequent of more.
        """
        if not hasattr(type(estimator), "model_"):
            raise InvalidOptionError(f"A nomogram is of an estimator of suffice, found {type(estimator).__name__}")
        model = estimator.model_
        if form_of(estimator) == "texts":
            raise NoDistributionError("Texts have no columns: plot.top_words shows what their words say")
        first, second = (int(each[0]) for each in contrasted(model, model.log_prior[None], label, against))
        label, against = model.labels[first], model.labels[second]
        known = column_names(estimator, names)
        probes = list(_probes(estimator, known))
        if not probes:
            raise NoDistributionError("The columns speak together only: there is no scale of any of them")
        answers = _answers(estimator, known, probes, label, against)
        prior = float(model.log_prior[first] - model.log_prior[second])
        coarse = ALIKE * max((np.ptp(np.clip(points, -LIMIT, LIMIT)) for points in answers if len(points)), default=0.0)
        both = zip(probes, answers, strict=True)
        scales = [probe.scale(points, coarse) for probe, points in both if np.isfinite(points).any()]
        told = sorted(
            (each for each in scales if each.reach >= SILENT and len(each.ticks) > 1),
            key=lambda e: (-e.reach, e.least - e.most),
        )
        if not told:
            raise NoDistributionError("No column says anything by itself: there is no scale to draw")
        calibration = estimator._calibration()
        mixed = calibration.mixed if calibration is not None and len(model.labels) == 2 else 0.0
        rest = _remainder(estimator, {probe.title for probe in probes}, first, second)
        return cls(label, against, prior, tuple(told), rest, mixed, len(model.labels) > 2)

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the axis of all scales."""
        ends = [self.prior, *(end for scale in self.scales for end in scale.span)]
        return min(*ends, -0.5), max(*ends, 0.5)

    @property
    def total_span(self) -> tuple[float, float]:
        """The least and the largest log-odds that values can add up to, within the limit."""
        low = self.prior + sum(min(scale.least, 0.0) for scale in self.scales)
        high = self.prior + sum(max(scale.most, 0.0) for scale in self.scales)
        return max(low, -LIMIT), min(high, LIMIT)

    def probability_ticks(self) -> list[tuple[float, float]]:
        """Return probabilities, and the sums of log-odds that they belong to, within the span."""
        low, high = self.total_span
        share = 1.0 / (1.0 + np.exp(-self.prior))
        inner = [(p, (p - self.mixed * share) / (1.0 - self.mixed)) for p in PROBABILITIES]
        found = [(p, float(np.log(q) - np.log1p(-q))) for p, q in inner if 0.0 < q < 1.0]
        return [(p, at) for p, at in found if low <= at <= high]

    def probability(self, log_odds: Array) -> Array:
        """Return p(label | label or against) of the sums of the scales and the prior."""
        share = 1.0 / (1.0 + np.exp(-self.prior))
        return (1.0 - self.mixed) / (1.0 + np.exp(-np.asarray(log_odds))) + self.mixed * share


# ------------------------------------------------------------------------------------------------ values to ask for


@dataclass(frozen=True)
class _Probe:
    """Values of a column: a grid, the bounds of bins, or categories with their positions and names."""

    title: str
    column: str
    values: tuple[Any, ...]
    kind: Literal["number", "integers", "bins", "categories"]
    named: tuple[tuple[int, str], ...] = ()
    mass: tuple[float, ...] = ()  # of bins: the share of rows in each

    @property
    def asked(self) -> tuple[Any, ...]:
        """The values to ask for: of bins, the middle of each."""
        if self.kind != "bins":
            return self.values
        bounds = np.asarray(self.values)
        return tuple((0.5 * bounds[:-1] + 0.5 * bounds[1:]).tolist())

    def scale(self, points: Array, coarse: float) -> Scale:
        """Return the scale of what the values add."""
        finite = np.isfinite(points)
        least, most = float(points[finite].min()), float(points[finite].max())
        if self.kind == "categories":
            found = [Tick(name, float(points[i])) for i, name in self.named if finite[i]]
            order = sorted(sorted(found, key=lambda tick: -abs(tick.at))[:NAMES], key=lambda tick: tick.at)
            return Scale(self.title, "categories", (tuple(order),), least, most)
        if self.kind == "bins":
            return Scale(
                self.title, "number", (tuple(_intervals(self.values, self.mass, points, coarse)),), least, most
            )
        runs = [tuple(self._round_ticks(points, lo, hi)) for lo, hi in _runs(points, coarse)]
        return Scale(self.title, "number", tuple(run for run in runs if run), least, most)

    def _round_ticks(self, points: Array, lo: int, hi: int) -> Iterator[Tick]:
        """Yield round numbers between two positions, as many as fit into what is drawn."""
        drawn = lo + np.flatnonzero(np.abs(points[lo : hi + 1]) <= LIMIT)
        if not len(drawn):
            return
        x = np.asarray(self.values)
        begin, end = x[max(drawn[0] - 1, lo)], x[min(drawn[-1] + 1, hi)]
        share = (end - begin) / max(x[-1] - x[0], 1e-300)
        about = max(2, round(TICKS * max(share, min(1.0, 2 * np.ptp(points[drawn]) / LIMIT))))
        for t in ticks(float(begin), float(end), about):
            if self.kind != "integers" or t.is_integer():
                yield Tick(_short(t), float(np.interp(t, x, points)))


def _probes(estimator: GenerativeClassifier, names: list[str]) -> Iterator[_Probe]:
    """Yield the values to ask for of each column that speaks by itself."""
    model = estimator.model_
    try:
        curves = {each.title: each for each in conditionals(estimator, names=names) if isinstance(each, Curve)}
    except NoDistributionError:
        curves = {}
    for title, columns, part, missing in blocks_of(model, names):
        if missing:
            known = next((each for each in _probes_of_values(model, names, columns[0], curves)), None)
            if known is not None:
                values = (None, next(v for v in known.values if v is not None))
                yield _Probe(title, columns[0], values, "categories", ((0, "missing"), (1, "known")))
            continue
        if len(columns) > 1 and not isinstance(part, Independent):
            continue
        for column in columns:
            own = title if len(columns) == 1 else column
            if column in names:  # a part of a date is no column of the table, and cannot be asked for
                yield from _of_column(own, column, part, columns, curves, model.log_prior)


def _probes_of_values(model: Any, names: list[str], column: str, curves: dict[str, Curve]) -> Iterator[_Probe]:
    """Yield the probe of a column of which also is asked whether it is there."""
    for title, columns, part, missing in blocks_of(model, names):
        if column in columns and not missing:
            yield from _of_column(title, column, part, columns, curves, model.log_prior)


def _of_column(
    title: str, column: str, part: Distribution, columns: tuple[str, ...], curves: dict[str, Curve], log_prior: Array
) -> Iterator[_Probe]:
    if part.reads == "text":
        return
    try:
        asked = next((each for each in inputs_of(columns, part) if each.name == column), Input(column, "number"))
    except NoFormulaError:
        asked = Input(column, "number")
    if asked.kind == "choice":
        names = [str(v).lower() if isinstance(v, bool) else str(v) for v in asked.options]
        yield _Probe(title, column, tuple(asked.options), "categories", tuple(enumerate(names)))
        return
    curve = curves.get(column)
    if curve is None or not curve.x.size:
        return
    x = curve.x
    if curve.kind == "steps":
        share = np.exp(log_prior - np.logaddexp.reduce(log_prior))
        mass = share @ curve.density[:, : len(x) - 1] * np.diff(x)
        yield _Probe(title, column, tuple(x.tolist()), "bins", mass=tuple(mass.tolist()))
        return
    low, high = float(x[0]), float(x[-1])
    if curve.kind == "mass":
        yield _Probe(title, column, tuple(np.unique(np.round(x)).tolist()), "integers")
    else:
        yield _Probe(title, column, tuple(np.linspace(low, high, POINTS).tolist()), "number")


def _answers(
    estimator: GenerativeClassifier, names: list[str], probes: list[_Probe], label: Any, against: Any
) -> list[Array]:
    """Return what each value of each probe adds, asked for in one table in which all other columns are missing."""
    rows = sum(len(probe.asked) for probe in probes)
    columns: dict[str, list[Any]] = {name: [None] * rows for name in names}
    at = 0
    for probe in probes:
        columns[probe.column][at : at + len(probe.asked)] = probe.asked
        at += len(probe.asked)
    form = form_of(estimator)
    estimator = estimator if form == "table" else nameless(estimator)
    asked = engines.in_form(as_frame(columns), form)
    calibration = estimator._calibration()
    if isinstance(calibration, Structure):  # a scale is that of complete rows
        predictor = replace(estimator._predictor(), calibration=calibration.of_complete_rows())
        evidence = predictor.evidence_of(estimator._check_X(asked), label, against)
        assert isinstance(evidence, Evidence), "of a table"
        found = as_frame(evidence.columns())
    else:
        found = as_frame(estimator.evidence(asked, label, against))
    out, at = [], 0
    own = dict(zip(names, estimator._names(), strict=True)) if form != "table" else {}
    for probe in probes:
        title = own.get(probe.title, probe.title)
        title = f"{title} (column)" if f"{title} (column)" in found.names else title
        out.append(np.asarray(found.column(title), dtype=np.float64)[at : at + len(probe.asked)])
        at += len(probe.asked)
    return out


# ------------------------------------------------------------------------------------------------ ticks


def _runs(points: Array, coarse: float) -> list[tuple[int, int]]:
    """Return the first and last position of each part that rises or falls; what turns back by ≤ `coarse` is ignored."""
    turns, extreme, rising = [0], 0, None
    for i in range(1, len(points)):
        if rising is None:
            if abs(points[i] - points[0]) > coarse:
                rising, extreme = bool(points[i] > points[0]), i
        elif (points[i] > points[extreme]) == rising and points[i] != points[extreme]:
            extreme = i
        elif abs(points[i] - points[extreme]) > coarse:
            turns.append(extreme)
            rising, extreme = not rising, i
    turns.append(len(points) - 1)
    return list(pairwise(turns))


def _intervals(bounds: Sequence[float], mass: Sequence[float], points: Array, coarse: float) -> Iterator[Tick]:
    """Merge neighbouring bins, until they differ enough and are few; yield a tick for each.

    Those are merged first that change the log-odds of rows least: m_a m_b / (m_a + m_b) (s_a − s_b)² (Ward, 1963).
    """
    least = 1e-9 * sum(mass) + 1e-300  # where there are no rows
    each = zip(bounds[:-1], bounds[1:], points.tolist(), mass, strict=True)
    merged = [(lo, hi, p, max(m, least)) for lo, hi, p, m in each]
    while len(merged) > 1:
        both = list(pairwise(merged))
        # A product may be infinite, where a power would be an error.
        i = int(np.argmin([a[3] * b[3] / (a[3] + b[3]) * (a[2] - b[2]) * (a[2] - b[2]) for a, b in both]))
        a, b = both[i]
        if abs(a[2] - b[2]) > coarse and len(merged) <= INTERVALS:
            break
        total = a[3] + b[3]
        merged[i : i + 2] = [(a[0], b[1], (a[2] * a[3] + b[2] * b[3]) / total, total)]
    last = len(merged) - 1
    for i, (lo, hi, at, _) in enumerate(merged):
        between = f"{_short(lo)} – {_short(hi)}"
        name = "any" if not last else f"< {_short(hi)}" if i == 0 else f"> {_short(lo)}" if i == last else between
        yield Tick(name, at)


def _short(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.6g}").replace("-", "−")


# ------------------------------------------------------------------------------------------------ what has no scale


def _remainder(estimator: GenerativeClassifier, told: set[str], first: int, second: int) -> Remainder:
    """Return the parts of the evidence without a scale, and what they add to the kept rows."""
    learned, calibration, form = estimator._settled(), estimator._calibration(), form_of(estimator)
    if form != "table":
        return Remainder(())
    kept = learned.family.kept_rows(learned.estimated.statistic)
    titles = [title for title, *_ in blocks_of(learned.model, estimator._names())]
    voting = {title for title, _, part, _ in blocks_of(learned.model, estimator._names()) if part.votes}
    if kept is None or not len(kept.codes) or calibration is None:
        return Remainder(tuple(title for title in titles if title not in told and title in voting))
    rows = learned.family.read(kept.rows)
    codes = np.zeros(len(kept.codes), dtype=np.int64)
    parts, added = calibration.contrast(learned, rows, titles, codes + first, codes + second)
    prior = learned.model.log_prior[first] - learned.model.log_prior[second]
    scores = calibration.evidence(learned, rows)
    whole = prior + calibration.slope[first] * scores[:, first] - calibration.slope[second] * scores[:, second]
    scaled = prior + added[:, [i for i, title in enumerate(parts) if title in told]].sum(axis=1)
    left = [title for i, title in enumerate(parts) if title not in told and np.abs(added[:, i]).max() >= SILENT]
    own = np.isin(kept.codes, (first, second))  # of other classes the two log-odds say nothing
    whole, scaled = whole[own], scaled[own]
    with np.errstate(invalid="ignore"):
        rest = np.abs(np.clip(whole, -LIMIT, LIMIT) - np.clip(scaled, -LIMIT, LIMIT))
    some = np.isfinite(rest)
    if not left and (not some.any() or float(rest[some].max()) < SILENT):
        return Remainder(())
    experts = [f"the {each.title} expert" for each in getattr(calibration, "experts", ())]
    agreeing = float(np.mean((whole > 0) == (scaled > 0))) if len(whole) else 1.0
    return Remainder((*left, *experts), len(whole), float(rest[some].mean()), agreeing)


# ------------------------------------------------------------------------------------------------ where names go


def placed(scale: Scale, width: float, gap: float) -> list[tuple[Tick, int]]:
    """Return the ticks that are drawn, and where their names go: 1 above the line, −1 below it, 0 nowhere.

    A letter is `width` wide and names are `gap` apart, in log-odds. Ends come first. The parts of a scale that turns
    alternate between above and below.
    """
    low, high = scale.span
    taken: dict[int, list[tuple[float, float]]] = {1: [], -1: []}
    out = []
    for k, run in enumerate(scale.runs):
        inside = [tick for tick in run if low - 1e-9 <= tick.at <= high + 1e-9]
        middle = 0.5 * (low + high)
        sides = (1, -1) if len(scale.runs) == 1 else (1 if k % 2 == 0 else -1,)
        for tick in sorted(inside, key=lambda tick: -abs(tick.at - middle)):
            half = 0.5 * width * len(tick.name)
            span = (tick.at - half - gap, tick.at + half + gap)
            free = (side for side in sides if all(b <= span[0] or a >= span[1] for a, b in taken[side]))
            side = next(free, 0)
            if side:
                taken[side].append((tick.at - half, tick.at + half))
            out.append((tick, side))
    return out
