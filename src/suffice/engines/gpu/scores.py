"""Scores log p(x | y) of rows on a device, by the class of the distribution: its parameters, as kernels read them."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError
from suffice.engines.gpu.device import Device
from suffice.engines.gpu.matrices import DenseRows, SparseRows, halving
from suffice.engines.gpu.summaries import category_indices, f8, fresh_status, i4, i8, refuse_categories
from suffice.families import Distribution, Entrywise
from suffice.families.categorical import CategoricalDistribution
from suffice.families.gaussian import GaussianDistribution
from suffice.families.linear_discriminant import LinearDiscriminantDistribution
from suffice.families.multivariate_gaussian import MultivariateGaussianDistribution

LOG_2PI = float(np.log(2.0 * np.pi))
SCORES, LOG_JOINT, LOG_POSTERIOR, POSTERIOR, MOST_PROBABLE, LOG_DENSITY = range(6)  # what kernels are asked
MULTIPLIERS, ROWS = 128, 32  # threads of a block that multiplies, and rows of each of its warps
FETCHED = MULTIPLIERS // 32 * 2 * ROWS * 192  # bytes of shared memory that hold its rows
MOST_BLOCKS = 1584
NEAR_MEANS = {8: 30.0, 4: 1e3}  # deviations from the origin, by the size of entries, within which products keep digits
FINISHED, MOST_SHARED = 64, 96 << 10  # rows that a block finishes, and shared memory that it takes for them
AT_ONCE = 1 << 26  # numbers of a working array
MOST_TILES = 5  # of eight classes that are scored together
MOST_STAGED = 110 << 10  # bytes of shared memory of a block that holds tables, too: two fit side by side


@dataclass
class Asked:
    """What is asked of rows, and where the answers go: (rows, classes), or (rows,) of one answer each."""

    device: Device
    question: int
    prior: Array  # log p(y), on the host
    log_prior: Any
    fallback: Any
    out: Any
    status: Any

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.log_prior)

    @property
    def single(self) -> np.int32:
        """Whether answers are float32."""
        return i4(self.out.dtype == np.float32)

    def finish(self, scores: Any, low: int, high: int) -> None:
        """Answer for rows whose scores are known; the scores are overwritten."""
        shared = FINISHED * (self.classes | 1) * 8
        staged = shared <= min(MOST_SHARED, self.device.most_shared)
        known = (self.log_prior, self.fallback, i4(self.question), i8(low), i4(staged), self.out[low:high], self.single)
        args = (scores, i8(high - low), i4(self.classes), *known, self.status)
        self.device.launch("finish_rows", (-(-(high - low) // FINISHED),), FINISHED, args, shared if staged else 0)


class Scorer(ABC):
    """Computes the scores of rows, batch by batch, and has them answered."""

    def __init__(self, device: Device, distribution: Any, relative: bool):
        self.device, self.relative = device, relative
        self._distribution = weakref.ref(distribution)  # which is kept by the model: scorers live as long as it does

    @property
    def distribution(self) -> Any:
        """The distribution that rows are scored under."""
        return self._distribution()

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows."""
        n, d = rows.shape
        step = max(1, AT_ONCE // max(asked.classes if isinstance(rows, SparseRows) else d, asked.classes, 1))
        halving(self.device, n, step, lambda low, high: self._some(rows, asked, low, high))

    def _some(self, rows: DenseRows | SparseRows, asked: Asked, low: int, high: int) -> None:
        scores = self.scores(rows, low, high, asked)
        asked.finish(self.device.xp.ascontiguousarray(scores), low, high)

    @abstractmethod
    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch, (rows, classes)."""


class ProductScorer(Scorer):
    """Scores of dense rows by products of matrices: start + Σ_j z_j² A_j + z_j B_j, with z = x − origin."""

    kind: str
    origin: Array | None = None
    squares: Array | None = None  # A, (classes, columns)
    coef: Array  # B
    lost: Array  # what a missing entry adds
    start: Array
    threshold: float | None = None

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows: in one pass if there are few classes."""
        if isinstance(rows, SparseRows) or not self.is_whole or asked.classes > 8 * MOST_TILES:
            super().answer(rows, asked)
            return
        halving(
            self.device,
            rows.shape[0],
            rows.rows_at_once(ROWS),
            lambda low, high: self._launch(rows, low, high, asked, asked.question, asked.prior, asked.out[low:high]),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the kernel computes all of the scores."""
        return True

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        out = self.device.xp.empty((high - low, asked.classes))
        self._launch(rows, low, high, asked, SCORES, np.zeros(asked.classes), out)
        return out

    def _launch(
        self, rows: DenseRows, low: int, high: int, asked: Asked, question: int, prior: Array, out: Any
    ) -> None:
        x, classes, d = rows.batch(low, high), asked.classes, rows.shape[1]
        size, groups = x.itemsize, -(-d // 16)
        aligned = rows.is_aligned(16)
        tiles = 1 if classes <= 8 else 2 if classes <= 16 else MOST_TILES
        limit = (i4(self.threshold is not None), f8(0.0 if self.threshold is None else self.threshold))
        sizes = (i8(x.strides[0] // size), i4(aligned), i8(high - low), i4(d))
        answers = (asked.fallback, i4(question), i8(low), out, i4(out.dtype == np.float32), asked.status)
        origin, tables = self._tables(tiles, classes)
        start = self._upload(self.start + prior)
        fixed = FETCHED + 64 * tiles
        staged = fixed + groups * 128 + (2 if self.squares is not None else 1) * groups * tiles * 1024
        inside = staged <= min(MOST_STAGED, self.device.most_shared)
        for first, table in zip(range(0, classes, 8 * tiles), tables, strict=True):
            self.device.launch(
                f"{self.kind}_f{size * 8}_{tiles}",
                (min(MOST_BLOCKS, -(-(high - low) // MULTIPLIERS)),),
                MULTIPLIERS,
                (x, *sizes, origin, table, i4(inside), start, *limit, i4(classes), i4(first), *answers),
                staged if inside else fixed,
            )

    def _tables(self, tiles: int, classes: int) -> tuple[Any, list[Any]]:
        """Return the origin, and the tables of each `tiles` of eight classes in the order in which lanes read them."""
        if self.kept is None or self.kept[0] != tiles:
            d = self.coef.shape[1]
            origin = np.zeros(-(-d // 16) * 16)
            origin[:d] = 0.0 if self.origin is None else self.origin
            parts = (self.coef, self.lost) if self.squares is None else (self.coef, self.lost, self.squares)
            tables = [
                self._upload(np.stack([_for_lanes(part[first : first + 8 * tiles], tiles) for part in parts]))
                for first in range(0, classes, 8 * tiles)
            ]
            self.kept = (tiles, self._upload(origin), tables)
        return self.kept[1:]

    kept: Any = None  # the last tables

    def _upload(self, table: Array) -> Any:
        return self.device.xp.asarray(np.ascontiguousarray(table, dtype=np.float64))


def _for_lanes(table: Array, tiles: int) -> Array:
    """Return a table of (classes, columns) for the product of 16 columns and 8 classes: lane 4 g + t reads class g.

    It reads columns 4 t to 4 t + 3 in two pairs, which are (columns / 16, tiles, pairs, g, t, 2).
    """
    classes, d = table.shape
    groups = -(-d // 16)
    padded = np.zeros((groups * 16, tiles * 8))
    padded[:d, :classes] = table.T
    return padded.reshape(groups, 4, 2, 2, tiles, 8).transpose(0, 4, 2, 5, 1, 3)


class GaussianScorer(ProductScorer):
    """Independent Gaussians: Σ_j −½ log 2πσ_j² − ½ ((x_j − μ_j)/σ_j)²."""

    kind = "near"

    def __init__(self, device: Device, distribution: GaussianDistribution, relative: bool):
        super().__init__(device, distribution, relative)
        self.mean, self.inverse = distribution.kernel_tables
        self.level = -0.5 * np.log(2 * np.pi * distribution.variance)
        self.origin = 0.5 * (self.mean.min(axis=0) + self.mean.max(axis=0))
        off = self.mean - self.origin
        with np.errstate(over="ignore", invalid="ignore"):
            self.farthest = float((np.abs(off) * self.inverse).max(initial=0.0))
            self.squares = -0.5 * self.inverse**2
            self.coef = off * self.inverse**2
            each = self.level - 0.5 * (off * self.inverse) ** 2
        self.lost, self.start = -each, each.sum(axis=1)

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows; of classes that are far apart, by differences from each mean."""
        tables = (self.squares, self.coef, self.lost)
        finite = all(np.isfinite(table).all() for table in tables if table is not None)
        self.near = finite and self.farthest < NEAR_MEANS[rows.dtype.itemsize]
        if self.near:
            super().answer(rows, asked)
        else:
            Scorer.answer(self, rows, asked)

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        if self.near:
            return super().scores(rows, low, high, asked)
        x, out = rows.batch(low, high), self.device.xp.empty((high - low, asked.classes))
        sizes = (i8(x.strides[0] // x.itemsize), i8(high - low), i4(rows.shape[1]))
        tables = [self._upload(table) for table in (self.mean, self.inverse, self.level, self.level.sum(axis=1))]
        args = (x, *sizes, *tables, i4(asked.classes), i8(low), out, asked.status)
        self.device.launch(f"far_scores_f{x.itemsize * 8}", (-(-(high - low) // 8),), 256, args)
        return out


class LinearScorer(ProductScorer):
    """Log-densities that are linear in the entries, up to a term that all classes share; dense or sparse rows."""

    kind = "linear"

    def __init__(self, device: Device, distribution: Entrywise, relative: bool):
        super().__init__(device, distribution, relative)
        affine = distribution.linear_scores
        assert affine is not None, "the scorer is chosen for linear log-densities"
        self.affine, self.threshold = affine, affine.threshold
        self.least = float(distribution.support.least)
        self.coef, self.lost, self.start = affine.coef, -affine.absent, affine.scores.intercept
        self.vetoes = None if affine.vetoes is None else Vetoes(device, affine, relative)

    @property
    def is_whole(self) -> bool:
        """Whether no entry is impossible, and no term of all classes is asked for."""
        return self.vetoes is None and (self.relative or self.affine.shared is None)

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        xp = self.device.xp
        sparse = isinstance(rows, SparseRows)
        out = self._sparse(rows, low, high, asked) if sparse else super().scores(rows, low, high, asked)
        if self.vetoes is not None:
            found = self.vetoes.scores(rows, low, high, asked)
            out = xp.where(found > 1e-12, -np.inf, out)
        if not self.relative and self.affine.shared is not None:
            part = rows.piece(low, high) if sparse else rows.batch(low, high)
            out += self._shared(part, sparse)[:, None]
        return out

    def _sparse(self, rows: SparseRows, low: int, high: int, asked: Asked) -> Any:
        out = self.device.xp.empty((high - low, asked.classes))
        single = asked.question == MOST_PROBABLE or asked.out.dtype == np.float32
        if self.relative and single and rows.dtype == np.float32 and asked.classes <= 128:
            self._sum_small(rows, low, high, asked, out)
            return out
        if self.stored is None:
            self.stored = tuple(self._upload(table) for table in (self.coef.T, -self.lost.T, self.start))
        self._sum_stored(rows, low, high, asked.classes, self.stored, self.threshold, out, asked.status)
        return out

    stored: Any = None  # coefficients, as the kernels of sparse rows read them
    small: Any = None  # in float32

    def _sum_small(self, rows: SparseRows, low: int, high: int, asked: Asked, out: Any) -> None:
        """Sum the stored entries of rows times coefficients in float32, less what all classes share."""
        n, (classes, d) = high - low, self.coef.shape
        lanes = max(4, 1 << (-(-classes // 4) - 1).bit_length())

        if self.small is None:
            gaps = self._small_table(-self.lost, lanes) if self.lost.any() else None
            self.small = (self._small_table(self.coef, lanes), gaps, self._upload(self.start))
        limit = (i4(self.threshold is not None), f8(0.0 if self.threshold is None else self.threshold), f8(self.least))
        stored = (rows.data, rows.indices, rows.starts[low:], i8(n), i4(d), i4(classes), i4(lanes))
        self.device.launch(
            f"sparse_scores_small_{rows.suffix()[-3:]}",
            (-(-n // 4),),
            128,
            (*stored, *self.small, *limit, i8(low), out, asked.status),
        )

    def _small_table(self, table: Array, lanes: int) -> Any:
        """Return a table of classes and columns less its mean over classes, (columns, 4 lanes) of float32."""
        xp, (classes, d) = self.device.xp, table.shape
        whole = self._upload(table)
        out = xp.zeros((d, 4 * lanes), np.float32)
        out[:, :classes] = (whole - whole.mean(axis=0)).T
        return out

    least = -np.inf  # the least value that an entry may have; what is less is reported as infinite entries are

    def _sum_stored(
        self,
        rows: SparseRows,
        low: int,
        high: int,
        classes: int,
        tables: tuple[Any, ...],
        threshold: float | None,
        out: Any,
        status: Any,
    ) -> None:
        """Sum the stored entries of rows times the coefficients of their columns."""
        n, d = high - low, rows.shape[1]
        limit = (i4(threshold is not None), f8(0.0 if threshold is None else threshold), f8(self.least))
        stored = (rows.data, rows.indices, rows.starts[low:])
        self.device.launch(
            f"sparse_scores_{rows.suffix()}",
            (-(-n // 8),),
            256,
            (*stored, i8(n), i4(d), i4(classes), *tables, *limit, i8(low), out, status),
        )

    def _shared(self, part: Any, sparse: bool) -> Any:
        """Compute the term that all classes share, by its formula in the namespace of the device, (rows,)."""
        shared, xp = self.affine.shared, self.device.xp
        assert shared is not None

        def at(values: Any) -> Any:
            found = shared.at(values, own=xp.asarray, log_gamma=self.device.log_gamma)
            return xp.where(xp.isnan(values), 0.0, found)

        if not sparse:
            return at(part.astype(np.float64)).sum(axis=1)
        at_zero = at(xp.zeros((1, 1)))[0, 0]
        change = at(part.data.astype(np.float64)[:, None])[:, 0] - at_zero
        n, d = part.shape
        out, ones, base = xp.empty((n, 1)), xp.ones((d, 1)), xp.reshape(at_zero * d, 1)
        starts = part.starts - part.starts[0]
        each = SparseRows(self.device, change, part.indices, starts, part.shape)
        self._sum_stored(each, 0, n, 1, (ones, None, base), None, out, fresh_status(self.device, n * d))
        return out[:, 0]


class Vetoes(LinearScorer):
    """How many entries of a row are impossible in each class."""

    def __init__(self, device: Device, affine: Any, relative: bool):
        Scorer.__init__(self, device, affine, relative)
        self.affine, self.threshold, self.vetoes = affine, affine.threshold, None
        found = affine.vetoes
        self.coef, self.start = found.coef, found.intercept
        self.lost = np.zeros_like(found.coef) if found.absent is None else -found.absent
        self.relative = True


class CategoryScorer(LinearScorer):
    """Tables of categories: a row is a sparse row of ones, one for each of its categories."""

    def __init__(self, device: Device, distribution: CategoricalDistribution, relative: bool):
        Scorer.__init__(self, device, distribution, relative)
        counts = distribution.counts
        if counts.keys is not None:
            raise InvalidDataError(
                "The categories were learned by name, and arrays on a GPU hold numbers: pass a table on the host"
            )
        self.offsets = counts.offsets
        known = np.concatenate([distribution.probability, distribution.unseen], axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(known)
        impossible = np.isneginf(logs)
        self.size, self.columns = known.shape[1], len(counts.sizes)
        self.impossible = bool(impossible.any())
        self.tables = [
            self._upload(np.concatenate([table, np.zeros((len(table), 1))], axis=1).T)
            for table in (np.where(impossible, 0.0, logs), impossible.astype(np.float64))
        ]
        self.base = self._upload(np.zeros(len(known)))

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows."""
        assert isinstance(rows, DenseRows)
        refuse_categories(rows)
        Scorer.answer(self, rows, asked)

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        xp = self.device.xp
        unseen = xp.arange(self.size - self.columns, self.size)
        part = DenseRows(self.device, rows.part(low, high))
        ones = category_indices(self.device, part, self.offsets, unseen, self.size)
        out, odd = (xp.empty((high - low, asked.classes)) for _ in range(2))
        for table, to in zip(self.tables, (out, odd) if self.impossible else (out,), strict=False):
            tables = (table, None, self.base)
            self._sum_stored(ones, 0, high - low, asked.classes, tables, None, to, asked.status)
        return xp.where(odd > 0, -np.inf, out) if self.impossible else out


class MultivariateScorer(Scorer):
    """Gaussians of whole rows by products of matrices; rows with missing entries are scored on the host."""

    def __init__(self, device: Device, distribution: MultivariateGaussianDistribution, relative: bool):
        super().__init__(device, distribution, relative)
        xp = device.xp
        self.linear = relative and distribution.tied
        if self.linear:
            origin, coef, level = (xp.asarray(np.ascontiguousarray(each)) for each in distribution.linear_about)
            self.origin, self.coef, self.level = origin, coef.T, level
            return
        whitening = distribution.whitening
        log_volume = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
        norm = np.broadcast_to(log_volume - 0.5 * distribution.n_columns * LOG_2PI, len(distribution.mean))
        self.mean, self.norm = xp.asarray(distribution.mean), xp.asarray(np.ascontiguousarray(norm))
        self.whitening = xp.asarray(whitening)

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        device, xp = self.device, self.device.xp
        x = rows.batch(low, high).astype(np.float64)
        if self.linear:
            out = (x - self.origin) @ self.coef + self.level
        else:
            out = xp.empty((high - low, asked.classes))
            for c in range(asked.classes):
                z = (x - self.mean[c]) @ self.whitening[min(c, len(self.whitening) - 1)].T
                out[:, c] = self.norm[c] - 0.5 * (z * z).sum(axis=1)
        odd = xp.flatnonzero(~xp.isfinite(x).all(axis=1))
        if len(odd):
            places = device.to_host(odd)
            some = rows.take_to_host(odd + low)
            found = self.distribution.relative_log_density if self.relative else self.distribution.log_density
            infinite = np.isinf(some)
            if infinite.any():
                row, column = divmod(int(np.argmax(infinite)), some.shape[1])
                rows.refuse(int(places[row] + low) * some.shape[1] + column)
            out[odd] = xp.asarray(found(some))
        return out


Made = Callable[[Device, Any, bool], Scorer]
SCORERS: dict[type[Distribution], Made] = {
    GaussianDistribution: GaussianScorer,
    CategoricalDistribution: CategoryScorer,
    MultivariateGaussianDistribution: MultivariateScorer,
    LinearDiscriminantDistribution: MultivariateScorer,
}


def scorer(device: Device, distribution: Distribution, relative: bool) -> Scorer:
    """Return what scores rows under a distribution; `relative` is up to a term that all classes share.

    It is kept as long as the distribution is, so that parameters are copied to the device once.
    """
    kept = _KEPT.setdefault(id(distribution), {})
    if not kept:
        weakref.finalize(distribution, _KEPT.pop, id(distribution), None)
    made = SCORERS.get(type(distribution))
    if made is None and isinstance(distribution, Entrywise) and distribution.linear_scores is not None:
        made = LinearScorer
    if made is None:
        raise InvalidDataError(
            f"{type(distribution).__name__} is not computed on a GPU: copy rows to the host, such as by cupy.asnumpy"
        )
    if (device, relative) not in kept:
        kept[device, relative] = made(device, distribution, relative)
    return kept[device, relative]


_KEPT: dict[int, dict[tuple[Device, bool], Scorer]] = {}  # by the distribution's id

__all__ = ["LOG_DENSITY", "LOG_JOINT", "LOG_POSTERIOR", "MOST_PROBABLE", "POSTERIOR", "Asked", "fresh_status", "scorer"]
