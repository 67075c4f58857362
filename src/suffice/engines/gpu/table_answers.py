"""Answers about tables on a device: the evidence of columns, pairs and experts, in the namespace of the arrays.

Formulas of densities are evaluated there, tables of bins are looked up, and experts are products of matrices. Kernel
densities and pairs have kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, naming_columns
from suffice.core.statistics.sample import Points
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.device_tables import ON_THE_HOST, TableColumns, check_blocks, codes_of
from suffice.engines.gpu.matrices import DenseRows, halving
from suffice.engines.gpu.summaries import i4, i8
from suffice.families import Distribution, Entrywise
from suffice.families.bernoulli import BernoulliDistribution
from suffice.families.binned import BinnedDistribution
from suffice.families.categorical import CategoricalDistribution
from suffice.families.chosen import ChosenDistribution
from suffice.families.kernel import KernelDistribution
from suffice.families.mixture import MixtureDistribution
from suffice.families.product import Product, ProductDistribution
from suffice.formulas import Formula, LogGammaRatio, X
from suffice.model.calibration import Calibration
from suffice.model.column_scores import CategoryTable, Pieces, column_scores
from suffice.model.cosine_expert import CosineExpert, frequencies
from suffice.model.experts import Expert
from suffice.model.features import FARTHEST, NumberFeatures
from suffice.model.learned import Learned
from suffice.model.linear_expert import LinearExpert
from suffice.model.quadratic_expert import QuadraticExpert
from suffice.model.structure import Parts, Structure

NUMBERS = 1 << 28  # of working arrays of a batch: few launches for many rows
ROW = 2048  # numbers that a row takes in them, besides its columns
THREADS = 128
LOG_2PI = float(np.log(2.0 * np.pi))

Columns: TypeAlias = Sequence[Any]  # what each block reads of rows, (rows,)
Score: TypeAlias = Callable[[Any], Any]  # from numbers (rows,) to scores (rows, classes), 0 where one is missing
Evidence: TypeAlias = Callable[[Columns], Any]


class TableAnswers:
    """What scores the rows of a table on a device: the densities of its columns, and what a calibration adds."""

    def __init__(self, device: Device, learned: Learned, calibration: Calibration | None, columns: int):
        family, found = learned.family, learned.model.distribution
        assert isinstance(family, Product), "tables have blocks"
        assert isinstance(found, ProductDistribution), "tables have blocks"
        check_blocks(family, columns)
        self.device, self.family, self.distribution = device, family, found
        self.classes = len(learned.labels)
        self.log_prior: Array = learned.model.log_prior
        self.calibration = calibration
        self.columns = TableColumns.of(device, columns)
        self.blocks = tuple(family.blocks)
        self._densities: dict[int, Score] = {}
        self._evidence: list[tuple[float, int]] = []  # exponents, and blocks
        self._others: list[Evidence] = []
        self._for_gaps: TableAnswers | None = None
        self._needed: list[int] = []  # blocks of one column without which a row is scored so
        if isinstance(calibration, Structure):
            self._add_structure(Parts(learned, calibration), calibration)
            if calibration.for_gaps is not None:
                self._for_gaps = TableAnswers(device, learned, calibration.for_gaps, columns)
                needed = set(calibration.needed)
                self._needed = [j for j, block in enumerate(family.blocks) if needed.intersection(block.names)]
        else:
            self._evidence = [(1.0, j) for j, part in enumerate(found.parts) if part.votes]

    @classmethod
    def of(cls, device: Device, learned: Learned, calibration: Calibration | None, columns: int) -> TableAnswers:
        """Return what scores rows; it is kept beside what was learned, as the model is."""
        kept = learned.__dict__.setdefault("_on_device", {})
        key = device, id(calibration)
        if key not in kept:
            kept[key] = cls(device, learned, calibration, columns)
        found: TableAnswers = kept[key]
        return found

    def _add_structure(self, parts: Parts, structure: Structure) -> None:
        """Note the exponents of columns, pairs and experts."""
        own = len(self.blocks)
        self.blocks = (*self.blocks, *parts.family.found)
        fitted = (*self.distribution.parts, *parts.distributions)
        exponents = structure.columns.tolist()
        self._evidence = [(a, j) for j, (a, part) in enumerate(zip(exponents, fitted, strict=True)) if a and part.votes]
        for j, part in enumerate(parts.distributions):
            self._densities[own + j] = column_score(self.device, part, self.blocks[own + j].title)
        plan = parts.family.plan
        if plan is not None and structure.pairs.any():
            found = parts.pair_evidence.scores(structure.pairs)
            self._others.append(PairScorer(self.device, plan, found, self.classes))
        for expert, weight in zip(structure.experts, structure.weights.tolist(), strict=True):
            self._others.append(weighted(expert_score(self.device, expert), weight))

    def density(self, j: int) -> Score:
        """Return what computes the log-density of a block."""
        if j not in self._densities:
            with naming_columns(self.blocks[j].names):
                self._densities[j] = column_score(self.device, self.distribution.parts[j], self.blocks[j].title)
        return self._densities[j]

    # ---- rows

    def each(self, rows: DenseRows, work: Callable[[int, int, Columns], None]) -> None:
        """Call `work` with batches of rows: from which to which, and what each block reads of them."""

        def some(low: int, high: int) -> None:
            numbers = self.columns.numbers(rows.batch(low, high))
            work(low, high, [self.columns.read(block, numbers) for block in self.blocks])

        step = max(1, NUMBERS // (ROW + 3 * len(self.blocks) + 8 * self.classes))
        with naming_columns(list(self.columns.place)):
            rows.refuse_infinite()
            halving(self.device, rows.shape[0], step, some)

    def absolute(self, columns: Columns) -> Any:
        """Compute log p(x | y), (rows, classes)."""
        out = self.device.xp.zeros((len(columns[0]), self.classes))
        for j in range(len(self.family.blocks)):
            out += self.density(j)(columns[j])
        return out

    def evidence(self, columns: Columns) -> Any:
        """Compute the evidence of rows for each class up to a term that all share, (rows, classes)."""
        out = self.device.xp.zeros((len(columns[0]), self.classes))
        for a, j in self._evidence:
            said = self.density(j)(columns[j])
            out += said if a == 1.0 else a * said
        for other in self._others:
            out += other(columns)
        if self._for_gaps is not None:
            xp = self.device.xp
            gaps = xp.isnan(xp.stack([columns[j] for j in self._needed])).any(axis=0)
            if bool(gaps.any()):
                out = xp.where(gaps[:, None], self._for_gaps.evidence(columns), out)
        return out

    def log_posterior(self, evidence: Any, before: int) -> Any:
        """Return log p(y | x) of rows by the calibration."""
        assert self.calibration is not None, "there is a calibration"
        return self.calibration.log_posterior(evidence, self.log_prior, before, self.device.xp)


def weighted(evidence: Evidence, weight: float) -> Evidence:
    """Return evidence times a weight."""
    return lambda columns: weight * evidence(columns)


# ---- columns


def column_score(device: Device, part: Distribution, title: str) -> Score:
    """Return what computes log p(x | y) of the numbers of a column."""
    inner = part.fitted if isinstance(part, ChosenDistribution) else part
    if isinstance(inner, KernelDistribution) and inner.kernel == "gaussian":
        return KernelScorer(device, inner)
    edges: Array | None = None
    if isinstance(inner, BinnedDistribution):
        edges = inner.edges[0]
    elif isinstance(inner, BernoulliDistribution) and inner.threshold is not None:
        edges = np.array([inner.threshold], np.float64)
    if edges is not None:  # a number stands for each bin, which is closed on the right
        points = np.concatenate([edges, np.nextafter(edges[-1:], np.inf)]) if len(edges) else np.zeros(1)
        return StepScorer(device, edges, part.log_density(part.read(points[:, None])), exact=False)
    if isinstance(inner, CategoricalDistribution) and isinstance(part, ChosenDistribution):
        known = np.asarray(part.choice.statistic.keys[0], np.float64)
        points = np.append(known, np.nextafter(known[-1], np.inf))
        return StepScorer(device, known, part.log_density(part.read(points[:, None])), exact=True)
    if isinstance(inner, Entrywise):
        own = inner.with_parameters(lambda table: np.ascontiguousarray(table[..., 0]))
        formula = own.density(X)
        if not any(isinstance(node, LogGammaRatio) for node in formula.walk()):  # its digits need the host's functions
            return FormulaScorer(device, formula)
    if isinstance(inner, MixtureDistribution):
        return FormulaScorer(device, inner.column_density(X, 0))  # type: ignore[arg-type]  # it stands for a column
    raise InvalidDataError(f"Column {title!r}: {type(inner).__name__} is not computed on a GPU: {ON_THE_HOST}")


class FormulaScorer:
    """Evaluates the formula of a density in the namespace of the device."""

    def __init__(self, device: Device, formula: Formula):
        self.device, self.formula = device, formula

    def __call__(self, x: Any) -> Any:
        """Compute the log-densities of numbers."""
        xp, entries = self.device.xp, x[:, None]
        found = self.formula.at(entries, own=xp.asarray, log_gamma=self.device.log_gamma)
        return xp.where(xp.isnan(entries), 0.0, found)


class StepScorer:
    """Looks up numbers in a table of bins, or of values if it is `exact`: others have the last row of the table."""

    def __init__(self, device: Device, edges: Array, table: Array, exact: bool):
        self.device, self.exact = device, exact
        self.edges = device.xp.asarray(np.ascontiguousarray(edges, np.float64))
        self.table = device.xp.asarray(np.concatenate([table, np.zeros((1, table.shape[1]))]))  # missing at the end

    def __call__(self, x: Any) -> Any:
        """Look up the scores of numbers."""
        xp, rows = self.device.xp, len(self.table) - 1
        place = xp.searchsorted(self.edges, x)
        if self.exact:
            there = self.edges[xp.minimum(place, rows - 2)] == x
            place = xp.where(there, place, rows - 1)
        return self.table[xp.where(xp.isnan(x), rows, place)]


class KernelScorer:
    """Sums Gaussian curves over the points of each class by a kernel."""

    def __init__(self, device: Device, fitted: KernelDistribution):
        part: Points = fitted.parts[0]
        self.device, self.classes = device, len(fitted.bandwidth)
        self.empty = not len(part.weight)
        width, total = fitted.bandwidth[:, 0], part.class_weight
        tables: list[Any] = [
            part.values[:, 0],
            part.weight,
            part.start.astype(np.int64),
            1.0 / width,
            np.log(total) + np.log(width) + 0.5 * LOG_2PI,
            np.log(total),
        ]
        self.tables = [device.xp.asarray(np.ascontiguousarray(each)) for each in tables]

    def __call__(self, x: Any) -> Any:
        """Compute the log-densities of numbers."""
        xp, n = self.device.xp, len(x)
        out = xp.zeros((n, self.classes))
        if not self.empty and n:
            args = (xp.ascontiguousarray(x), i8(n), i4(self.classes), *self.tables, out)
            self.device.launch("kernel_scores", (-(-n // THREADS),), THREADS, args)
        return out


# ---- pairs and experts


class PairScorer:
    """Looks up the scores of pairs of columns by a kernel."""

    def __init__(self, device: Device, plan: Any, scores: Any, classes: int):
        xp = device.xp
        self.device, self.plan, self.classes = device, plan, classes
        self.many = scores.pairs.shape[1]
        tables = scores.pairs.astype(np.int32), scores.sizes, scores.offsets, scores.scores
        self.pairs, self.sizes, _, self.scores = (xp.asarray(np.ascontiguousarray(each)) for each in tables)
        high = scores.sizes[scores.pairs] + 1  # the last code is of missing values
        self.offsets = xp.asarray(np.concatenate([[0], np.cumsum(high[0] * high[1])]).astype(np.int64))

    def __call__(self, columns: Columns) -> Any:
        """Look up the scores of rows."""
        n = len(columns[0])
        out = self.device.xp.zeros((n, self.classes))
        if n and self.classes > 1:
            codes = codes_of(self.device, self.plan, columns)
            known = (self.pairs, i4(self.many), self.sizes, self.offsets, self.scores, i4(self.classes), out)
            self.device.launch("pair_scores", (-(-n // THREADS),), THREADS, (codes, i8(n), *known))
        return out


def expert_score(device: Device, expert: Expert) -> Evidence:
    """Return what computes the evidence of an expert."""
    if isinstance(expert, LinearExpert):
        return LinearScorer(device, expert)
    return QuadraticScorer(device, expert) if isinstance(expert, QuadraticExpert) else CosineScorer(device, expert)


def _numbers(columns: Sequence[Any]) -> list[NumberFeatures]:
    """Return the features of columns, all of which are numbers."""
    return [column for column in columns if isinstance(column, NumberFeatures)]


class LinearScorer:
    """Sums functions of single columns that are linear between breaks."""

    def __init__(self, device: Device, expert: LinearExpert):
        self.device, self.parts = device, []
        self.intercept = device.xp.asarray(expert.intercept)
        for column, own in zip(expert.features.columns, expert.features.slices, strict=True):
            pieces = column_scores(column, expert.coef[:, own])
            assert not isinstance(pieces, CategoryTable), "columns are numbers"
            self.parts.append((column.block, self._tables(pieces), pieces.of.mean))

    def _tables(self, pieces: Pieces) -> list[Any]:
        each = pieces.breaks, pieces.origin, pieces.level, pieces.slope
        return [self.device.xp.asarray(np.ascontiguousarray(table)) for table in each]

    def __call__(self, columns: Columns) -> Any:
        """Compute the evidence of rows."""
        xp = self.device.xp
        out = xp.zeros((len(columns[0]), len(self.intercept))) + self.intercept
        for block, (breaks, origin, level, slope), mean in self.parts:
            x = columns[block]
            absent = xp.isnan(x)
            piece = xp.where(absent, len(breaks) + 1, xp.searchsorted(breaks, x))
            far = xp.minimum(xp.maximum(xp.where(absent, mean, x), breaks[0]), breaks[-1]) - origin[piece]
            out += slope[piece] * far[:, None] + level[piece]
        return out


class QuadraticScorer:
    """Student's t of standard scores, with a covariance for each class."""

    def __init__(self, device: Device, expert: QuadraticExpert):
        xp = device.xp
        self.device, self.columns = device, _numbers(expert.features.columns)
        self.mean, self.whitening = xp.asarray(expert.mean), xp.asarray(expert.whitening)
        self.level, self.freedom, self.scale = (xp.asarray(each) for each in expert.terms)

    def __call__(self, columns: Columns) -> Any:
        """Compute the evidence of rows."""
        xp = self.device.xp
        z = xp.empty((len(columns[0]), len(self.columns)))
        for j, column in enumerate(self.columns):
            x = (columns[column.block] - column.mean) / column.deviation
            z[:, j] = xp.where(xp.isnan(x), 0.0, xp.minimum(xp.maximum(x, -FARTHEST), FARTHEST))
        q = xp.empty((len(z), len(self.mean)))
        for k in range(len(self.mean)):
            q[:, k] = xp.square((z - self.mean[k]) @ self.whitening[k].T).sum(axis=1)
        return self.level - 0.5 * self.freedom * xp.log1p(q / self.scale)


class CosineScorer:
    """A linear function of random cosines of ranks."""

    def __init__(self, device: Device, expert: CosineExpert):
        xp, cosines = device.xp, expert.coef.shape[1]
        self.device, self.columns = device, _numbers(expert.features.columns)
        frequency, phase = frequencies(expert.features.size, cosines)
        self.frequency = xp.asarray((frequency / expert.spread).astype(np.float32).astype(np.float64))
        self.phase = xp.asarray(phase.astype(np.float32).astype(np.float64))
        self.coef, self.intercept = xp.asarray(expert.coef.T * np.sqrt(2.0 / cosines)), xp.asarray(expert.intercept)
        self.knots = [(xp.asarray(column.knots), xp.asarray(column.ranks)) for column in self.columns]

    def __call__(self, columns: Columns) -> Any:
        """Compute the evidence of rows."""
        xp = self.device.xp
        ranks = xp.empty((len(columns[0]), len(self.columns)))
        for j, (column, (knots, known)) in enumerate(zip(self.columns, self.knots, strict=True)):
            x = columns[column.block]
            found = xp.interp(xp.where(xp.isnan(x), known[0], x), knots, known)
            ranks[:, j] = xp.where(xp.isnan(x), 0.0, found).astype(np.float32)
        turns = ranks @ self.frequency + self.phase
        return xp.cos(2.0 * np.pi * (turns - xp.rint(turns))) @ self.coef + self.intercept
