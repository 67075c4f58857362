"""Scores log p(x | y) of rows on a device, by the class of the distribution: its parameters, as kernels read them."""

from __future__ import annotations

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
HELD, HOLDERS = 512, 128  # rows and threads of a block
NEAR_MEANS = 1e3  # deviations from the origin within which a multiplied form keeps its digits
FINISHED, MOST_SHARED = 64, 96 << 10  # rows that a block finishes, and shared memory that it takes for them
AT_ONCE = 1 << 26  # numbers of a working array


@dataclass
class Asked:
    """What is asked of rows, and where the answers go: (rows, classes), or (rows,) of one answer each."""

    device: Device
    question: int
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
        staged = shared <= MOST_SHARED
        known = (self.log_prior, self.fallback, i4(self.question), i8(low), i4(staged), self.out[low:high], self.single)
        args = (scores, i8(high - low), i4(self.classes), *known, self.status)
        self.device.launch("finish_rows", (-(-(high - low) // FINISHED),), FINISHED, args, shared if staged else 0)


class Scorer(ABC):
    """Computes the scores of rows, batch by batch, and has them answered."""

    def __init__(self, device: Device, distribution: Any, relative: bool):
        self.device, self.distribution, self.relative = device, distribution, relative

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


class TileScorer(Scorer):
    """Scores of dense rows by the kernel that sums over columns: squares of distances, or products."""

    kind: str
    origin: Any = None
    a: Any
    b: Any = None
    absent: Any = None
    base: Any = None
    threshold: float | None = None

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows: in one pass if there are few classes."""
        if isinstance(rows, SparseRows) or not self.is_whole or asked.classes > 10:
            super().answer(rows, asked)
            return
        halving(
            self.device,
            rows.shape[0],
            rows.rows_at_once(HELD),
            lambda low, high: self._launch(rows, low, high, asked, asked.question, asked.out[low:high]),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the kernel computes all of the scores."""
        return True

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        out = self.device.xp.empty((high - low, asked.classes))
        self._launch(rows, low, high, asked, SCORES, out)
        return out

    def _launch(self, rows: DenseRows, low: int, high: int, asked: Asked, question: int, out: Any) -> None:
        x, classes = rows.batch(low, high), asked.classes
        size, d = x.itemsize, rows.shape[1]
        aligned = self.device.address(x) % 16 == 0 and x.strides[0] % 16 == 0
        many = 2 if classes <= 2 else 4 if classes <= 4 else 10
        wide = 64 // size
        shared = max(16 * wide * many + 8 * wide + HELD * (wide + 1) * size, many * (HELD + 1) * 8)
        limit = (i4(self.threshold is not None), f8(0.0 if self.threshold is None else self.threshold))
        tables = (self.origin, self.a, self.b, self.absent, self.base)
        sizes = (i8(x.strides[0] // size), i4(aligned), i8(high - low), i4(d))
        single = i4(out.dtype == np.float32)
        answers = (asked.log_prior, asked.fallback, i4(question), i8(low), out, single, asked.status)
        for first in range(0, classes, many):
            self.device.launch(
                f"{self.kind}_f{size * 8}_{many}",
                (-(-(high - low) // HELD),),
                HOLDERS,
                (x, *sizes, *tables, *limit, i4(classes), i4(first), *answers),
                shared,
            )

    def _upload(self, table: Array) -> Any:
        return self.device.xp.asarray(np.ascontiguousarray(table, dtype=np.float64))


class GaussianScorer(TileScorer):
    """Independent Gaussians: Σ_j −½ log 2πσ_j² − ½ ((x_j − μ_j)/σ_j)²."""

    def __init__(self, device: Device, distribution: GaussianDistribution, relative: bool):
        super().__init__(device, distribution, relative)
        mean, inverse = distribution.kernel_tables
        level = -0.5 * np.log(2 * np.pi * distribution.variance)
        origin = 0.5 * (mean.min(axis=0) + mean.max(axis=0))
        with np.errstate(over="ignore"):
            near = bool((np.abs(mean - origin) * inverse < NEAR_MEANS).all())
        self.kind, self.origin = "near" if near else "exact", self._upload(origin)
        self.a, self.b = self._upload(((origin - mean) * inverse if near else mean).T), self._upload(inverse.T)
        self.absent, self.base = self._upload(level.T), self._upload(level.sum(axis=1))


class LinearScorer(TileScorer):
    """Log-densities that are linear in the entries, up to a term that all classes share; dense or sparse rows."""

    kind = "linear"

    def __init__(self, device: Device, distribution: Entrywise, relative: bool):
        super().__init__(device, distribution, relative)
        affine = distribution.linear_scores
        assert affine is not None, "the scorer is chosen for linear log-densities"
        self.affine, self.threshold = affine, affine.threshold
        self.a, self.absent = self._upload(affine.coef.T), self._upload(affine.absent.T)
        self.base = self._upload(affine.scores.intercept)
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
        tables = (self.a, self.absent, self.base)
        self._sum_stored(rows, low, high, asked.classes, tables, self.threshold, out, asked.status)
        return out

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
        limit = (i4(threshold is not None), f8(0.0 if threshold is None else threshold))
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
        Scorer.__init__(self, device, None, relative)
        self.affine, self.threshold, self.vetoes = affine, affine.threshold, None
        found = affine.vetoes
        self.a = self._upload(found.coef.T)
        self.absent = self._upload((np.zeros_like(found.coef) if found.absent is None else found.absent).T)
        self.base = self._upload(found.intercept)
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
        self.absent, self.base, self.threshold = None, self._upload(np.zeros(len(known))), None

    def answer(self, rows: DenseRows | SparseRows, asked: Asked) -> None:
        """Answer for all rows."""
        assert isinstance(rows, DenseRows)
        refuse_categories(rows)
        Scorer.answer(self, rows, asked)

    def scores(self, rows: Any, low: int, high: int, asked: Asked) -> Any:
        """Compute the scores of a batch."""
        xp = self.device.xp
        unseen = xp.arange(self.size - self.columns, self.size)
        part = DenseRows(self.device, rows.x[low:high])
        ones = category_indices(self.device, part, self.offsets, unseen, self.size)
        self.a = self.tables[0]
        out = self._sparse(ones, 0, high - low, asked)
        if self.impossible:
            self.a = self.tables[1]
            out = xp.where(self._sparse(ones, 0, high - low, asked) > 0, -np.inf, out)
        return out


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
    """Return what scores rows under a distribution; `relative` is up to a term that all classes share."""
    made = SCORERS.get(type(distribution))
    if made is None and isinstance(distribution, Entrywise) and distribution.linear_scores is not None:
        made = LinearScorer
    if made is None:
        raise InvalidDataError(
            f"{type(distribution).__name__} is not computed on a GPU: copy rows to the host, such as by cupy.asnumpy"
        )
    return made(device, distribution, relative)


__all__ = ["LOG_DENSITY", "LOG_JOINT", "LOG_POSTERIOR", "MOST_PROBABLE", "POSTERIOR", "Asked", "fresh_status", "scorer"]
