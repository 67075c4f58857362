"""Blocks of dependent real numbers: one mean and covariance per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from suffice import _core
from suffice.core.arrays import Array, Codes, Dense, Positions, Values, pack, refuse_at, refuse_infinite
from suffice.core.errors import InvalidOptionError, NoFormulaError, NoLinearFormError
from suffice.core.priors import NormalInverseWishart
from suffice.core.special import log_rising
from suffice.core.statistics import Sample, Scatter
from suffice.core.validation import CheckedIn, Held
from suffice.families._base import DEFAULT, Distribution, Family, derived, resolution
from suffice.families._contract import Summary, Table
from suffice.families.covariance import (
    LOG_2PI,
    MissingValuesEM,
    Shrinkage,
    Toward,
    as_scatter,
    average,
    diagonals,
    fill,
    fitted_covariances,
    observed_log_density,
    one_blas_thread,
    per_weight,
    raised,
    shrunk,
)
from suffice.formulas import Formula, Linear, Log1p, Square, Term, by_observed, total

WIDEST = 64  # columns whose covariance may be a formula


class MultivariateGaussian(Family[Any]):
    """A block of real numbers with a mean and covariance per class:  p(x | y) = N(x; μ_y, Σ_y).

    - `covariance`: `"full"`, `"diagonal"` (independent columns) or `"spherical"` (independent, of equal variance).
    - `tied`: one covariance for all classes, Σ = Σ_y π_y Σ_y, where π_y is the `share` of the class: its share of the
      rows, or given. The log-odds are then linear in x.
    - `unbiased`: divide by n − 1 (tied: n − classes) instead of n.
    - `shrinkage`: a number s from 0 to 1, `"ledoit-wolf"` or `"oas"`:  (1 − s) Σ + s T. The target T is the average
      variance in all directions (`toward="sphere"`), the variances without their correlations (`"diagonal"`) or the
      identity matrix (`"identity"`).
    - `missing`: with `"em"`, rows with missing values are used by expectation-maximization. With `"complete"` they only
      count for the class prior. Rows with missing values are kept in the statistic until the model is estimated.
    - `floor`: eigenvalues of a correlation matrix are raised to at least this number. Columns that are linear
      combinations of others, or fewer rows than columns, then give a thin distribution instead of an error; `rank` is
      the number of directions in which a class varies.
    - `estimator`: an estimator like scikit-learn's covariance estimators, which is fitted to the rows of each class.
      The statistic is then the rows themselves, a `Sample`, and rows with missing values only count for the class
      prior.

    The default prior is the weak `NormalInverseWishart()`, centred on all classes together; with shrinkage, an unbiased
    estimate or a simpler covariance there is none. With `learn="predictive"` mean and covariance are integrated out,
    which gives the multivariate Student's t.

    >>> family = MultivariateGaussian(prior=None)
    >>> x = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]]
    >>> family.estimate(family.summarize(x, [0, 0, 0, 0]).statistic).covariance
    array([[[1., 0.],
            [0., 1.]]])
    """

    covariance: Literal["full", "diagonal", "spherical"] = "full"
    tied: bool = False
    unbiased: bool = False
    shrinkage: Annotated[Shrinkage, Held(least=0, most=1)] = None
    toward: Toward = "sphere"
    missing: Literal["em", "complete"] = "em"
    floor: Annotated[float, Held(above=0, under=1)] = 1e-9
    share: Annotated[Values | None, Held("classes", given=True, least=0)] = None
    estimator: Annotated[Any, CheckedIn("__post_init__")] = None

    weak_prior: ClassVar = NormalInverseWishart()

    def __post_init__(self) -> None:
        plain = self.covariance == "full" and not self.unbiased
        plain = plain and self.shrinkage is None and self.share is None and self.estimator is None
        if self.prior is DEFAULT and self.learn is None and not plain:
            object.__setattr__(self, "prior", None)
        super().__post_init__()
        if self.prior is not None and not plain:
            raise InvalidOptionError(
                "MultivariateGaussian: a prior needs a full covariance, and excludes shrinkage, unbiased, share and "
                "estimator"
            )
        if self.estimator is not None and (self.shrinkage is not None or self.unbiased):
            raise InvalidOptionError("MultivariateGaussian: with an estimator, leave out shrinkage and unbiased")
        if self.shrinkage is None and self.toward != "sphere":
            raise InvalidOptionError("MultivariateGaussian: toward is the target of shrinkage; give shrinkage too")
        if self.share is not None:
            share = np.asarray(self.share, dtype=np.float64)
            if not self.tied or share.ndim != 1 or not (share >= 0).all() or not share.sum() > 0:
                raise InvalidOptionError(
                    "MultivariateGaussian: share is one number ≥ 0 for each class, for a tied covariance"
                )
            object.__setattr__(self, "share", share / share.sum())

    width = None  # any number of columns: `share` has a number for each class

    def height(self) -> int | None:
        """Return the number of classes of `share`; None if there is none."""
        return None if self.share is None else len(self.share)

    @property
    def summary(self) -> Summary[Any]:  # type: ignore[override]  # it depends on the options
        """Scatter, or the rows themselves if an estimator needs them."""
        if self.estimator is not None:
            return Summary(Sample, options={"joint": True})
        options = {"complete": self.missing == "complete", "fourth": self.shrinkage == "ledoit-wolf"}
        return Summary(Scatter, options=options)

    def estimate(self, statistic: Scatter | Sample) -> Distribution:
        """Estimate means and covariances by maximum likelihood, shrinkage, or a normal-inverse-Wishart posterior."""
        with one_blas_thread(statistic.n_columns):
            return self._estimate(statistic)

    def _estimate(self, statistic: Scatter | Sample) -> Distribution:
        statistic = self.complete(statistic)
        if self.learn == "predictive":
            return self._predictive(as_scatter(statistic))
        mean, covariance = self.point(statistic)
        positive = raised(covariance, resolution(mean), self.floor)
        return MultivariateGaussianDistribution(mean, *positive, self.free(*mean.shape))

    def free(self, classes: int, columns: int) -> int:
        """Return how many variances and covariances are learned."""
        each = {"full": columns * (columns + 1) // 2, "diagonal": columns, "spherical": 1}[self.covariance]
        return each if self.tied else each * classes

    def complete(self, statistic: Scatter | Sample) -> Scatter | Sample:
        """Return the expected statistic of rows without missing values."""
        if isinstance(statistic, Sample) or not len(statistic.gaps.parts[0].weight):
            return statistic
        # The correction of the bias is applied once, at the end; in every round it would accumulate.
        return MissingValuesEM(statistic, replace(self, unbiased=False)._positive_point).run()

    def _positive_point(self, scatter: Scatter) -> tuple[Array, Array]:
        mean, covariance = self.point(scatter)
        return mean, raised(covariance, resolution(mean), self.floor).covariance

    def point(self, statistic: Scatter | Sample) -> tuple[Array, Array]:
        """Estimate means (classes, columns) and covariances (classes or 1, columns, columns) of complete rows."""
        if self.prior is None:
            return self._maximum_likelihood(statistic)
        scatter = as_scatter(statistic)
        posterior = self.prior.update(scatter, self.tied)
        means = scatter.n_classes if self.tied else 1
        map_or_mean = posterior.covariance_mode(means) if self.learn == "map" else posterior.covariance_mean()
        return np.asarray(posterior.mean), map_or_mean

    def _maximum_likelihood(self, statistic: Scatter | Sample) -> tuple[Array, Array]:
        """Return the mean and covariance of each class, or those of all classes if a class has no rows."""
        scatter = as_scatter(statistic)
        unknown, mean = scatter.weight <= 0, scatter.mean
        if unknown.any():
            mean = np.where(unknown[:, None], scatter.pooled().mean, mean)
        if self.tied:
            return mean, self._tied_covariance(statistic, self._share(scatter))[None]
        covariance = self.covariances(statistic)
        if unknown.any():
            covariance[unknown] = self.covariances(statistic.pooled())
        return mean, covariance

    def covariances(self, statistic: Scatter | Sample) -> Array:
        """Compute the covariance of each class by itself, (classes, columns, columns)."""
        if isinstance(statistic, Sample):
            return self._simplified(fitted_covariances(statistic, self.estimator))
        plain = per_weight(statistic.cross, self._freedom(statistic.weight))
        return self._simplified(shrunk(plain, statistic, self.shrinkage, self.toward))

    def _tied_covariance(self, statistic: Scatter | Sample, share: Array) -> Array:
        """Average the covariances of classes by their shares; each class is shrunk by itself before."""
        if isinstance(statistic, Sample) or self.shrinkage is not None:
            return np.asarray(np.einsum("c,cij->ij", share, self.covariances(statistic)))
        return self._simplified(average(statistic.cross, self._freedom(statistic.weight), share)[None])[0]

    def _freedom(self, weight: Array) -> Array:
        """Return by what cross-products are divided: the weight of each class, less what its mean takes."""
        return weight - self._means_paid(weight)

    def _means_paid(self, weight: Array) -> Array:
        """Return the degrees of freedom that the means take: one for each class; if tied, in proportion to weights."""
        known = weight > 0
        if not self.unbiased or not known.any():
            return np.zeros_like(weight)
        return weight * (known.sum() / weight.sum()) if self.tied else known.astype(np.float64)

    def _share(self, scatter: Scatter) -> Array:
        """Return the share of each class in the tied covariance; a class without rows has none."""
        share = scatter.weight if self.share is None else np.where(scatter.weight > 0, self.share, 0.0)
        return share / share.sum() if share.any() else np.full(len(share), 1.0 / len(share))

    def _simplified(self, covariance: Array) -> Array:
        if self.covariance == "full":
            return covariance
        variance = diagonals(covariance)
        if self.covariance == "spherical":
            variance = np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape)
        return variance[:, :, None] * np.eye(variance.shape[1])

    def _predictive(self, scatter: Scatter) -> Distribution:
        posterior = self.prior.update(scatter, self.tied)
        mean, strength = np.asarray(posterior.mean), np.asarray(posterior.strength)
        d = mean.shape[1]
        freedom = np.broadcast_to(np.asarray(posterior.freedom) - d + 1.0, strength.shape)
        if not (strength > 0).all():
            raise InvalidOptionError(
                "A class without rows cannot be predicted with a prior of strength 0: use a stronger prior"
            )
        widened = ((strength + 1.0) / (strength * freedom))[:, None, None]
        positive = raised(np.asarray(posterior.scale * widened), resolution(mean), self.floor)
        free = d * (d + 1) // 2 * (1 if self.tied else len(mean))
        return MultivariateStudentDistribution(mean, *positive, free, freedom)

    def leave_one_out(
        self, scatter: Scatter | Sample, fitted: Distribution, x: Dense, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out by rank-one downdates of one eigendecomposition per class, if the covariance is full."""
        from suffice.families._downdates import Downdates

        downdates = Downdates.of(self, scatter, fitted)
        if downdates is None:
            return super().leave_one_out(scatter, fitted, x, codes, weight)
        refuse_infinite(x)
        out, left = downdates.log_density(x, codes, np.ones(len(codes)) if weight is None else weight)
        if len(left):  # rows without which a class is empty or does not vary in some direction
            w = None if weight is None else weight[left]
            out[left] = super().leave_one_out(scatter, fitted, x[left], codes[left], w)
        return out


class MultivariateGaussianDistribution(Distribution):
    """Means (classes, columns), and the covariance, its Cholesky factor and its rank for each class or for all classes.

    `estimated` is the covariance before its eigenvalues were raised.
    """

    mean: Array
    covariance: Array
    factor: Array
    estimated: Array
    rank: NDArray[np.int64]
    free: int

    # The means, and the covariance of every class (for Student's t: the scale matrix).
    gaussian = derived(lambda self: (self.mean, self._every_covariance))

    @property
    def tied(self) -> bool:
        """Whether the classes share one covariance."""
        return len(self.covariance) == 1

    @cached_property
    def whitening(self) -> Array:
        """W = L⁻¹, so that W (x − μ) has the covariance I."""
        from scipy.linalg.lapack import dtrtri

        with one_blas_thread(self.n_columns):
            return np.stack([np.ascontiguousarray(dtrtri(factor, lower=1)[0]) for factor in self.factor])

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """The eigenvalues of each covariance, the largest first, and its eigenvectors, one in each column."""
        with one_blas_thread(self.n_columns):
            values, vectors = np.linalg.eigh(self.covariance)
        return values[:, ::-1], vectors[:, :, ::-1]

    def log_density(self, x: Dense) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes); missing entries are integrated out."""
        out = np.empty((x.shape[0], len(self.mean)))
        incomplete = np.zeros(x.shape[0], dtype=bool)
        refuse_at(_core.multivariate_log_density(x, self.mean, self.whitening, out, incomplete), x)
        if incomplete.any():
            out[incomplete] = observed_log_density(x[incomplete], self.mean, self._every_covariance)[0]
        return out

    @property
    def _every_covariance(self) -> Array:
        return np.ascontiguousarray(np.broadcast_to(self.covariance, (len(self.mean), *self.covariance.shape[1:])))

    def relative_log_density(self, x: Dense) -> Array:
        """Compute the linear form if the classes share their covariance, except for rows with missing values."""
        if not self.tied:
            return self.log_density(x)
        origin, coef, level = self.linear_about
        if self._is_far:  # coef·x would lose the digits that coef·(x − origin) keeps
            x, shift = x - origin, np.zeros_like(level)
        else:
            shift = -coef @ origin
        out = np.empty((x.shape[0], len(self.mean)))
        if not _core.dense_scores(x, self._packed_coef, level + shift, out):
            refuse_infinite(x)
            incomplete = np.isnan(x).any(axis=1)
            rows = x[incomplete] + origin if self._is_far else x[incomplete]
            out[incomplete] = self.log_density(rows)
        return out

    @cached_property
    def _is_far(self) -> bool:
        """Whether columns lie far from 0 relative to their spread."""
        return bool((np.abs(self.mean).max(axis=0) > 1e4 * np.sqrt(diagonals(self.covariance)[0])).any())

    @cached_property
    def linear_about(self) -> tuple[Array, Array, Array]:
        """An origin, coef Σ⁻¹ (μ − origin), and level −½ (μ − origin)ᵀ Σ⁻¹ (μ − origin)."""
        origin = self.mean.mean(axis=0)
        turned = (self.mean - origin) @ self.whitening[0].T
        return origin, turned @ self.whitening[0], -0.5 * (turned**2).sum(axis=1)

    @cached_property
    def _packed_coef(self) -> Array:
        return pack(self.linear_about[1])

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return one term for the block: linear if the classes share their covariance, else a sum of squares.

        Missing values are integrated out in blocks of up to four columns. In larger blocks a row with missing values
        has no value.
        """
        leaf = partial(self._relative_formula, names)
        return [Term(", ".join(names), tuple(names), by_observed(names, leaf, carried=True))]

    def _relative_formula(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        if not self.tied or len(observed) < self.n_columns:
            return self.formula_of(names, observed)
        origin, coef, level = self.linear_about
        return Linear(tuple(names), origin, coef) + level

    def formula_of(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        """Return log p of the observed columns, −½ Σ z² − log |L| − ½ d log 2π with L z = x − μ."""
        squares, log_volume = self._distance(names, observed)
        return (-0.5 * len(observed) * LOG_2PI - log_volume) - 0.5 * squares

    def _distance(self, names: Sequence[str], observed: tuple[int, ...]) -> tuple[Formula, Array]:
        """Return the squared distance from the mean in the observed columns, and log |L|, (classes,)."""
        if len(observed) > WIDEST:
            raise NoFormulaError(
                f"A covariance of {len(observed)} columns has too many terms for a formula: at most {WIDEST} columns "
                "have one, and any number if the classes share one covariance"
            )
        some = list(observed)
        factor: Array = np.broadcast_to(self.factor, self._every_covariance.shape)
        if len(some) < self.n_columns:
            # With Σ = L Lᵀ, the factor of some rows and columns of Σ follows from those rows of L: it has more digits.
            upper: Array = np.asarray(np.linalg.qr(factor[:, some].transpose(0, 2, 1), mode="r"))
            factor = np.asarray(upper.transpose(0, 2, 1) * np.sign(diagonals(upper))[:, None, :], np.float64)
        whitening = np.asarray(np.linalg.solve(factor, np.broadcast_to(np.eye(len(some)), factor.shape)), np.float64)
        shown, mean = tuple(names[j] for j in some), self.mean[:, some]
        each = [Square(Linear(shown[: i + 1], mean[:, : i + 1], whitening[:, i, : i + 1])) for i in range(len(some))]
        return total(each), np.log(diagonals(factor)).sum(axis=1)

    def linear(self) -> tuple[Array, Array]:
        """Return coef = Σ⁻¹ μ and intercept = −½ μᵀ Σ⁻¹ μ, if the classes share their covariance."""
        if not self.tied or self.why_not_linear:
            raise NoLinearFormError(
                self.why_not_linear
                or "Each class has its own covariance, so the log-odds are quadratic in x: use tied=True"
            )
        turned = self.mean @ self.whitening[0].T
        return turned @ self.whitening[0], -0.5 * (turned**2).sum(axis=1)

    def expect(self, x: Dense) -> Array:
        """Fill missing values by their mean μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o) in each class, (rows, classes, columns)."""
        refuse_infinite(x)
        return fill(x, self.mean, self._every_covariance)

    def contrast(self, x: Dense, first: Positions, second: Positions) -> Array:
        """Compute what each column adds to linear log-odds: coef_j (x_j − the middle of both means)."""
        if not self.tied or np.isnan(x).any():
            raise NoLinearFormError(
                "The columns of a block are dependent: what each adds is only defined if the classes share their "
                "covariance and no entry is missing"
            )
        coef = self.linear_about[1]
        return np.asarray((coef[first] - coef[second]) * (x - 0.5 * (self.mean[first] + self.mean[second])))

    def draw(self, x: Array, codes: Codes, rng: np.random.Generator) -> Array:
        """Fill missing values by a draw given the observed ones.

        A whole row is drawn, and moved by the difference of the conditional means given x and given the draw.
        """
        free = self.sample(codes, rng)
        missing, rows = np.isnan(x), np.arange(len(codes))
        moved = self.expect(x)[rows, codes] - self.expect(np.where(missing, np.nan, free))[rows, codes]
        return np.where(missing, free + moved, x)

    n_columns = derived(lambda self: self.mean.shape[1])
    # The means, and the variances and covariances that were learned.
    n_parameters = derived(lambda self: self.mean.size + self.free)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return the means, then the deviations and correlations of each class, or of all classes."""
        heads = [str(label) for label in labels]
        out = [Table("mean", list(names), heads, self.mean.T)]
        for owner, covariance in zip(["every class"] if self.tied else heads, self.covariance, strict=True):
            deviation = np.sqrt(np.diagonal(covariance))
            values = np.column_stack([deviation, covariance / np.outer(deviation, deviation)])
            out.append(Table(f"correlation, {owner}", list(names), ["deviation", *names], values))
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers."""
        return self.mean[codes] + self._noise(codes, rng)

    def _noise(self, codes: Codes, rng: np.random.Generator) -> Array:
        out = rng.standard_normal((len(codes), self.n_columns))
        for m, factor in enumerate(self.factor):
            rows = slice(None) if self.tied else codes == m
            out[rows] = out[rows] @ factor.T
        return out


class MultivariateStudentDistribution(MultivariateGaussianDistribution):
    """Multivariate Student's t: `covariance` is its scale matrix, `freedom` (classes,) its degrees of freedom."""

    freedom: Array

    why_not_linear: ClassVar = "The log-odds of Student's t are not linear in x; use learn='mean' with tied=True"

    def log_density(self, x: Dense) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes); missing entries are integrated out."""
        normal = super().log_density(x)
        observed = (~np.isnan(x)).sum(axis=1)[:, None]
        # The maximum of the normal density, less the normal density, is half the squared distance.
        highest = -0.5 * self.n_columns * LOG_2PI - np.log(diagonals(self.factor)).sum(axis=1)
        peak = np.broadcast_to(highest, normal.shape)
        incomplete = observed[:, 0] < self.n_columns
        if incomplete.any():
            peak = peak.copy()
            peak[incomplete] = observed_log_density(x[incomplete], self.mean, self._every_covariance)[1]
        nu, distance = self.freedom, np.maximum(2.0 * (peak - normal), 0.0)
        norm = log_rising(nu / 2, observed / 2) + 0.5 * observed * (LOG_2PI - np.log(np.pi * nu))
        return np.asarray(norm + peak - 0.5 * (nu + observed) * np.log1p(distance / nu))

    def relative_log_density(self, x: Dense) -> Array:
        """Compute the log-density, which is not linear in x."""
        return self.log_density(x)

    def _relative_formula(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        return self.formula_of(names, observed)

    def formula_of(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        """Return log p of the observed columns; the degrees of freedom are those of all columns."""
        squares, log_volume = self._distance(names, observed)
        nu, d = self.freedom, len(observed)
        norm = log_rising(nu / 2, d / 2) - 0.5 * d * np.log(np.pi * nu) - log_volume
        return norm - 0.5 * (nu + d) * Log1p(squares / nu)

    def sample(self, codes: Codes, rng: np.random.Generator) -> Array:
        """Draw rows of real numbers: normal rows divided by the square root of a chi-squared draw over ν."""
        nu = self.freedom[codes]
        return self.mean[codes] + self._noise(codes, rng) / np.sqrt(rng.chisquare(nu) / nu)[:, None]
