"""Real numbers of any distribution: a mixture of a few Gaussians in each class, by expectation-maximization."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, Mask, Values, refuse_at
from suffice.core.errors import InvalidDataError, InvalidOptionError, NotConvergedWarning
from suffice.core.statistics import ByClass, Cells, Moments, Points, Sample
from suffice.core.statistics.cells import LIMIT
from suffice.core.validation import Held
from suffice.families._base import Distribution, Family, Independent, derived, resolution
from suffice.families._contract import Summary, Table
from suffice.families._joint_mixture import Components, JointMixtureDistribution, Run, best_run
from suffice.families.logarithms import log
from suffice.formulas import Bumps, Column, Formula

LARGEST = 1e150  # the largest value whose square does not overflow
MOST_COMPONENTS = 1000  # tables have a place for each, in every class and column
MOST_STEPS = 1_000_000  # of EM, over all starts: a mixture that needs more does not converge


class Mixture(Family[Cells | Sample]):
    """A real number from one of several Gaussians:  p(x | y) = Σ_k π_yk N(x; μ_yk, σ²_yk).

    Each column and class has `components` Gaussians; with `joint`, the block of columns has Gaussians with full
    covariances Σ_yk. `select="bic"` chooses 1 … `components` by Schwarz's criterion, −2 log L + p log n, separately for
    each class (and column), where n is the weight of its rows.

    EM starts from k-means of the sorted values. For `joint`, and for all but the first of `n_init` starts, it starts
    from k-means++ drawn by `random_state`. The run of the largest likelihood is used. EM ends when a step changes the
    mean log-likelihood of a row by less than `tol`, or after `max_iter` steps, with a `NotConvergedWarning`.

    A variance is at least `floor` times the variance of the class (with `joint`: an eigenvalue of a covariance whose
    columns are in units of their deviation). Raising it is the exact constrained maximum, so no step lowers the
    likelihood. A component whose share falls below 1e-100 is dropped. A class with fewer distinct points than
    `components` has as many components as points. A single point, or a constant column, is a point mass, as wide as
    the resolution of floating point. A class without values of a column takes the mixture of all classes. A column
    without any values adds 0 to the log-density.

    Missing entries are left out. In a joint block, EM uses the observed entries of a row and expects the others, and
    prediction integrates them out. There is no prior, and leave-one-out fits again for every row. Values
    are counted in at most `limit` cells for each class and column (see `Cells`), with a value at the middle of each;
    of joint rows, at most twice as many as `limit` are kept (see `Sample`). `limit=None` keeps all.

    >>> family = Mixture(2)
    >>> found = family.estimate(family.summarize([[0.0], [1.0], [8.0], [9.0]], list("aaaa")).statistic)
    >>> found.mean.round(6), found.share.round(6)
    (array([[[0.5, 8.5]]]), array([[[0.5, 0.5]]]))
    """

    prior: None = field(default=None, init=False)  # nothing is conjugate to a mixture
    learn: Literal["mle"] = field(default="mle", init=False)
    components: Annotated[int, Held(least=1, most=MOST_COMPONENTS)] = 2
    select: Literal["bic"] | None = None
    joint: bool = False
    tol: Annotated[float, Held(least=0)] = 1e-3
    max_iter: Annotated[int, Held(least=1, most=MOST_STEPS)] = 100
    n_init: Annotated[int, Held(least=1, most=MOST_STEPS)] = 1
    floor: Annotated[float, Held(least=1e-10, most=1)] = 1e-6
    random_state: Annotated[int, Held(least=0)] = 0
    limit: Annotated[int | None, Held(least=1)] = LIMIT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_iter * self.n_init > MOST_STEPS:
            raise InvalidOptionError(
                f"Mixture: max_iter · n_init must be at most {MOST_STEPS}, the steps of EM for one mixture; found "
                f"{self.max_iter} · {self.n_init}"
            )

    @property
    def summary(self) -> Summary[Any]:  # type: ignore[override]  # it depends on an option
        """The values of each column, or whole rows if they are joint."""
        if self.joint:
            return Summary(Sample, options={"joint": True, "limit": self.limit})
        return Summary(Cells, options={"limit": self.limit})

    def summarize(self, x: Any, y: Any, weight: Any = None, onto: ByClass[Any] | None = None) -> ByClass[Any]:
        """Keep the values of rows by their labels."""
        found = super().summarize(x, y, weight, onto)
        column = 0
        for points in found.statistic.parts:
            large = np.asarray((np.abs(points.values) > LARGEST).any(axis=0))
            if large.any():
                raise InvalidDataError(
                    f"Column {column + int(np.argmax(large))} holds a value too large for float64: its square "
                    "overflows; rescale the column"
                )
            column += len(large)
        return found

    def estimate(self, statistic: Cells | Sample) -> Distribution:
        """Run EM for every class, and for every column unless they are joint."""
        if isinstance(statistic, Sample):
            return self._estimate_joint(statistic)
        return self._estimate_apart(statistic)

    def trace(self, statistic: Cells | Sample, c: int, column: int = 0) -> Array:
        """Return the mean log-likelihood of a row of one class (and column) before every step of EM and at its end."""
        if isinstance(statistic, Sample):
            return self._run(statistic.parts[0].of_class(c), statistic.pooled().parts[0].of_class(0)).trace
        values, weight = statistic.points[column].of_class(c)
        one = Points(values, weight, np.array([0, len(weight)]))
        trace = np.full(self.max_iter + 1, np.nan)
        self._fit((one,), trace)
        return trace[~np.isnan(trace)]

    # ---- independent columns

    def _estimate_apart(self, cells: Cells) -> Distribution:
        fit = self._fit(cells.points)
        lacking = fit.used == 0
        some = np.flatnonzero(lacking.any(axis=0) & ~lacking.all(axis=0))
        if len(some):
            whole = cells.pooled()
            pooled = self._fit(tuple(whole.points[j] for j in some))
            for at, j in enumerate(some):
                for mine, theirs in zip(fit, pooled, strict=True):
                    mine[lacking[:, j], j] = theirs[0, at]
        where = [f"class {c}, column {j}" for c, j in np.argwhere(~fit.converged)]
        self._warn(where)
        return MixtureDistribution(fit.share, fit.mean, fit.variance, fit.used, fit.steps, fit.score)

    def _fit(self, parts: Sequence[Points], trace: Array | None = None) -> _Fit:
        """Fit all classes and columns in one native call."""
        classes = len(parts[0].start) - 1
        offsets = np.cumsum([0, *(len(p.weight) for p in parts)])
        start = [*(p.start[:-1] + at for p, at in zip(parts, offsets, strict=False)), offsets[-1:]]
        fit = _Fit.unfilled((len(parts), classes), self.components)
        _core.mixture_fit(
            np.concatenate([p.values[:, 0] for p in parts]),
            np.concatenate([p.weight for p in parts]),
            np.concatenate(start).astype(np.int64),
            np.repeat([resolution(p.values)[0] for p in parts], classes),
            self.select is not None,
            float(self.tol),
            int(self.max_iter),
            float(self.floor),
            self._uniform()[1:],
            *fit,
            trace,
        )
        return fit.by_class()

    def _uniform(self) -> Array:
        """Return the uniform draws of the starts. They are the same for every class and column."""
        return np.random.default_rng(self.random_state).random((self.n_init, self.components))

    # ---- joint columns

    def _estimate_joint(self, sample: Sample) -> Distribution:
        whole = sample.pooled().parts[0].of_class(0)
        runs = [self._run(sample.parts[0].of_class(c), whole) for c in range(sample.n_classes)]
        self._warn([f"class {c}" for c, run in enumerate(runs) if not run.converged])
        score = np.array([run.trace[-1] for run in runs])
        return JointMixtureDistribution(tuple(run.found for run in runs), sample.width, score)

    def _run(self, points: tuple[Array, Array], whole: tuple[Array, Array]) -> Run:
        """Run EM on the points of one class, in units of its deviations; on all points if the class has none."""
        x, weight = points if len(points[1]) else whole
        width = x.shape[1]
        if not len(weight):
            standard = Components.of(np.ones(1), np.zeros((1, width)), np.eye(width)[None])
            return Run(standard, np.zeros(1), converged=True)
        (n, mean, variance), (n_all, mean_all, variance_all) = _column_moments(x, weight), _column_moments(*whole)
        mean, variance = np.where(n > 0, mean, mean_all), np.where(n > 0, variance, variance_all)
        least = np.where(variance > resolution(x), resolution(x), resolution(whole[0])) / self.floor
        variance = np.where(n_all > 0, np.maximum(variance, least), 1.0)
        scale = np.sqrt(variance)
        run = best_run((x - mean) / scale, weight, self._uniform(), self.select, self.tol, self.max_iter, self.floor)
        return run.rescaled(mean, scale, float(weight @ (~np.isnan(x) @ np.log(scale)) / weight.sum()))

    def _warn(self, where: Sequence[str]) -> None:
        if where:
            others = f" and {len(where) - 1} more" if len(where) > 1 else ""
            warnings.warn(
                f"EM did not converge in {self.max_iter} steps for {where[0]}{others}: the last step still changed the "
                f"mean log-likelihood by {self.tol:g} or more. Raise max_iter or tol, or use fewer components.",
                NotConvergedWarning,
                stacklevel=4,
            )


class _Fit(NamedTuple):
    """The result of the kernel: tables by class and column, the first three also by component."""

    share: Array
    mean: Array
    variance: Array
    used: NDArray[np.int64]
    steps: NDArray[np.int64]
    converged: Mask
    score: Array

    @classmethod
    def unfilled(cls, shape: tuple[int, int], components: int) -> _Fit:
        """Return empty arrays of the shape (columns, classes), which the kernel fills."""
        share, mean, variance = (np.empty((*shape, components)) for _ in range(3))
        used, steps = (np.empty(shape, np.int64) for _ in range(2))
        return cls(share, mean, variance, used, steps, np.empty(shape, np.bool_), np.empty(shape))

    def by_class(self) -> _Fit:
        """Return the same with the axis of classes first."""
        return _Fit(*(np.swapaxes(table, 0, 1).copy() for table in self))  # type: ignore[arg-type]  # as they were


def _column_moments(x: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Compute the weight, mean and variance of the observed entries of each column; 0 if there are none."""
    moments = Moments.of(x, np.zeros(len(x), np.int32), 1, weight)
    return moments.weight[0], moments.mean[0], moments.variance[0]


class MixtureDistribution(Independent):
    """Shares, means and variances, (classes, columns, components); the first `used` (classes, columns) are used.

    Components are sorted by mean; those not used have share 0. `steps`, the number of steps of EM, and `score`, the
    mean log-likelihood of the values, are (classes, columns).
    """

    share: Array
    mean: Array
    variance: Array
    used: NDArray[np.int64]
    steps: NDArray[np.int64]
    score: Array

    why_not_linear: ClassVar = (
        "The log-odds of mixtures are not linear in x; those of a Gaussian of shared variance are"
    )

    @cached_property
    def _kernel_tables(self) -> tuple[Array, Array, Array, NDArray[np.int64]]:
        with np.errstate(divide="ignore"):
            norm = np.log(self.share) - 0.5 * np.log(2 * np.pi * self.variance)
        tables = (a.reshape(self.used.size, -1) for a in (norm, self.mean, 1.0 / np.sqrt(self.variance)))
        return *(np.ascontiguousarray(a) for a in tables), self.used.ravel()  # type: ignore[return-value]

    def log_density(self, x: Dense) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes)."""
        out = np.empty((x.shape[0], len(self.used)))
        refuse_at(_core.mixture_log_density(x, *self._kernel_tables, len(self.used), out), x)
        return out

    def column_density(self, x: Column, column: int) -> Formula | None:
        """Return a sum with a term for each component."""
        if not self.used[:, column].any():
            return None
        used = np.arange(self.share.shape[2]) < self.used[:, column, None]
        mean, variance = (np.where(used, a[:, column], fill) for a, fill in ((self.mean, 0.0), (self.variance, 1.0)))
        height = log(np.where(used, self.share[:, column], 0.0)) - 0.5 * np.log(2 * np.pi * variance)
        return Bumps(x, mean, np.sqrt(variance), height)

    n_columns = derived(lambda self: self.used.shape[1])
    expected = derived(lambda self: np.where(self.used > 0, (self.share * self.mean).sum(axis=2), np.nan))
    # Means, variances and all shares but one, for each class and column.
    n_parameters = derived(lambda self: int(np.maximum(3 * self.used - 1, 0).sum()))

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return a table for each column: share, mean and deviation of every component in each class."""
        heads = [str(label) for label in labels]
        out = []
        for j, name in enumerate(names):
            most = int(self.used[:, j].max(initial=0))
            rows = [f"{what} {k + 1}" for k in range(most) for what in ("share", "mean", "deviation")]
            numbers = np.stack([self.share[:, j], self.mean[:, j], np.sqrt(self.variance[:, j])], axis=2)
            out.append(Table(str(name), rows, heads, numbers[:, :most].reshape(len(heads), -1).T))
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw a component for each entry, then the number; NaN in a column that had no values."""
        below = np.cumsum(self.share, axis=2)[codes]
        at = (rng.random((len(codes), self.n_columns, 1)) * below[:, :, -1:] >= below).sum(axis=2, keepdims=True)
        at = np.minimum(at, np.maximum(self.used[codes, :, None] - 1, 0))
        mean, variance = (np.take_along_axis(a[codes], at, axis=2)[:, :, 0] for a in (self.mean, self.variance))
        return np.where(self.used[codes] > 0, rng.normal(mean, np.sqrt(variance)), np.nan)
