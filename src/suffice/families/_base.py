"""The contract of a family and of its distributions.

A family states what it sums (`summary`) and how a distribution is estimated from that (`estimate`). A distribution
states its log-density as a formula. Everything else is derived from these two, unless a closed form is better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, TypeVar, dataclass_transform

import numpy as np

from suffice.core.arrays import (
    Array,
    Codes,
    Matrix,
    Positions,
    Rows,
    Values,
    as_categories,
    as_csr,
    as_dense,
    as_matrix,
    chunks,
    is_sparse,
    refuse_infinite,
)
from suffice.core.errors import (
    InvalidOptionError,
    MismatchError,
    NoDistributionError,
    NoFormulaError,
    NoLinearFormError,
)
from suffice.core.frozen_options import Options
from suffice.core.priors import Learn
from suffice.core.statistics import ByClass, Moments, Statistic, Totals
from suffice.core.validation import CheckedIn
from suffice.families import _derive as derive
from suffice.families._contract import REAL, Decisions, KeptRows, Outcomes, Summary, Support, Table
from suffice.families._kernels import KERNELS
from suffice.families.logarithms import log_ratio
from suffice.formulas import Above, Column, Formula, Term, X, known_keys, unless_missing

S = TypeVar("S", bound=Statistic)
Reads = Literal["numbers", "categories", "text"]
FillMethod = Literal["mean", "mode", "sample"]


class Default:
    """Marks a prior that was not given."""

    def __repr__(self) -> str:
        return "default"

    def __reduce__(self) -> str:
        return "DEFAULT"  # there is one, also after pickling


DEFAULT: Final = Default()


def derived(compute: Callable[[Any], Any]) -> Any:
    """Return a property that a base class describes, computed from the parameters."""
    return property(compute)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Distribution(ABC):
    """A fitted p(x | y) over a block of columns, for every class at once: a frozen dataclass of its parameters."""

    reads: ClassVar[Reads] = "numbers"
    support: Support = REAL
    sparse: ClassVar[bool] = False  # whether rows may be a sparse matrix
    why_not_linear: ClassVar[str] = ""  # why there is no linear form, and which distribution has one
    votes: ClassVar[bool] = True  # whether classes have different distributions

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False)(cls)

    def read(self, x: Any) -> Rows:
        """Convert columns to the form that `log_density` reads; refuse values outside the support."""
        return read_columns(x, self.reads, self.support, self.sparse)

    @abstractmethod
    def log_density(self, x: Rows) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes); missing entries are left out."""

    def relative_log_density(self, x: Rows) -> Array:
        """Compute log p(x | y) up to a term that all classes share, where that is less work. It compares classes."""
        return self.log_density(x)

    def add_relative(self, x: Any, out: Array, factor: float = 1.0) -> None:
        """Add `relative_log_density` times a factor to `out`, (rows, classes); a kernel may do so in place."""
        out += factor * self.relative_log_density(self.read(x))

    @property
    def as_density(self) -> Distribution:
        """A distribution whose `log_density` is a density of rows. Another one if this one only scores classes."""
        return self

    @property
    def decisions(self) -> Decisions | None:
        """What the estimate decided, for `Family.estimate_decided`; None if it had nothing to decide."""
        return None

    @property
    def mixed(self) -> float | None:
        """The share of the class prior in the posterior, if it was fitted together with the distribution."""
        return None

    @property
    def bias(self) -> Array | None:
        """What is added to the log-density of each class for the posterior, if `mixed` is known, (classes,)."""
        return None

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns the block has."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many free parameters were estimated."""

    @abstractmethod
    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return the parameters as tables for people."""

    def formula(self, names: Sequence[str]) -> list[Term]:  # noqa: ARG002  # the contract
        """Return `relative_log_density` as formulas over columns of these names, one for each independent part.

        Their sum is log p(x | y), up to a term that all classes share.
        """
        raise NoFormulaError(f"{type(self).__name__} has no formula in closed form")

    def linear(self) -> tuple[Array, Array]:
        """Return coef (classes, columns) and intercept (classes,).

        coef·x + intercept is log p(x | y) up to a term that all classes share.
        """
        raise NoLinearFormError(self.why_not_linear or f"{type(self).__name__} has no linear form")

    def column_support(self, column: int) -> Support:  # noqa: ARG002  # all columns are alike, unless overridden
        """Return which values a column may hold, for plots of p(x | y)."""
        return self.support

    def known_values(self, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return the categories of each column that the formula looks up; a column of numbers has none."""
        known = known_keys(term.formula for term in self.formula(names))
        return {name: tuple(known.get(name, ())) for name in names}

    @property
    def gaussian(self) -> tuple[Array, Array] | None:
        """Means (classes, columns) and covariances (classes, columns, columns) of a block that is Gaussian together."""
        return None

    def outcomes(self, names: Sequence[str]) -> Iterator[Outcomes]:  # noqa: ARG002  # the contract
        """Yield possible values of the columns and their probability in every class, some at a time."""
        return iter(())

    @property
    def expected(self) -> Array:
        """The mean of each class and column, (classes, columns)."""
        raise NoDistributionError(f"{type(self).__name__} has no means to fill missing values with")

    def expect(self, x: Rows) -> Array:
        """Compute E[x | observed entries, y] of each row under every class, (rows, classes, columns)."""
        expected = self.expected
        x = as_float64(x)[:, None, :]
        return np.where(np.isnan(x), expected, x)

    def contrast(self, x: Rows, first: Positions, second: Positions) -> Array:
        """Compute what each column adds to log p(x | first) − log p(x | second), (rows, columns).

        `first` and `second` hold a class for each row. Columns are taken to be independent: the contribution of a
        column is that of a row whose other entries are all missing.
        """
        rows, out = np.arange(x.shape[0]), np.empty(x.shape)
        for j in range(x.shape[1]):
            density = self.log_density(self.only_column(x, j))
            out[:, j] = log_ratio(density[rows, first], density[rows, second])
        return out

    def only_column(self, x: Rows, column: int) -> Rows:
        """Return rows whose entries in all other columns are missing."""
        out = np.full(x.shape, np.nan)
        out[:, column] = as_float64(x[:, [column]])[:, 0]
        return out

    def sample(self, codes: Codes, rng: np.random.Generator) -> Any:  # noqa: ARG002  # the contract
        """Draw one row for each class number in `codes`."""
        raise NoDistributionError(
            f"{type(self).__name__} only scores classes: there is no p(x | y) to draw rows from. "
            "A multinomial model of the same counts has one."
        )

    def draw(self, x: Array, codes: Codes, rng: np.random.Generator) -> Array:
        """Fill the missing entries of rows of numbers by a draw from p(missing | observed, class codes[i])."""
        return np.where(np.isnan(x), self.sample(codes, rng), x)

    def fill(self, x: Rows, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator) -> Values:
        """Fill missing entries by the mean over classes, by the mean of class codes[i], or by a draw from it."""
        observed = np.asarray(x, dtype=np.float64)
        missing = np.isnan(observed)
        if not missing.any():
            return observed
        if method == "sample":
            return np.where(missing, self.draw(observed, codes, rng), observed)
        expected = self.expect(observed)
        if method == "mode":
            return np.where(missing, expected[np.arange(len(codes)), codes], observed)
        return np.where(missing, (posterior[:, None] @ expected)[:, 0], observed)


class Independent(Distribution):
    """A distribution whose columns are independent given the class: log p(x | y) = Σ_j log p(x_j | y)."""

    @abstractmethod
    def column_density(self, x: Column, column: int) -> Formula | None:
        """Return log p(x_j | y) of one column as a formula; None if nothing is known of the column."""

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return a formula for each column: 0 where the entry is missing, −∞ outside the support."""
        out = []
        for j, name in enumerate(names):
            x = Column(name)
            density = self.column_density(x, j)
            if density is not None:
                out.append(Term(name, (name,), unless_missing(name, self.support.guard(x, density))))
        return out


D = TypeVar("D", bound="Entrywise")


class Entrywise(Independent):
    """A distribution that states one log-density for the entries of all columns, `density`.

    Its parameters are arrays (classes, columns). `density` is written so that they broadcast against x. It must work
    for parameters of any shape: of one column, (classes,), of the class of each row, (rows, columns), or of many
    statistics at once, (rows, classes, columns).
    """

    parameters_each: ClassVar[int] = 1  # free parameters of a class and column

    @abstractmethod
    def density(self, x: Formula) -> Formula:
        """Return log p(x | y) of an entry as a formula."""

    @property
    def shown(self) -> dict[str, Array]:
        """The parameters that `tables` shows, by name."""
        return {f.name: v for f in fields(self) if np.ndim(v := getattr(self, f.name)) > 1}

    def with_parameters(self: D, change: Callable[[Array], Array]) -> D:
        """Return the same distribution with every array of parameters changed."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Entrywise):
                changed[each.name] = value.with_parameters(change)
            elif isinstance(value, np.ndarray) and value.ndim > 1:
                changed[each.name] = change(value)
        return replace(self, **changed)

    @cached_property
    def dimensions(self) -> tuple[int, int]:
        """How many classes and columns there are."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Entrywise):
                return value.dimensions
            if isinstance(value, np.ndarray) and value.ndim > 1:
                return value.shape[-2], value.shape[-1]
        raise TypeError(f"{type(self).__name__} has no array of parameters (classes, columns)")

    @cached_property
    def _density(self) -> Formula:
        return self.density(X)

    @cached_property
    def _affine(self) -> derive.Affine | None:
        return derive.affine(self._density, self.dimensions)

    @cached_property
    def linear_scores(self) -> derive.Affine | None:
        """What evaluates a linear log-density; None if it has a kernel of its own, or loses digits when expanded."""
        own = type(self) in KERNELS or self._affine is None or self._affine.expanded
        return None if own else self._affine

    def column_density(self, x: Column, column: int) -> Formula:
        """Return the log-density with the parameters of one column."""
        return derive.tabulated(self.with_parameters(lambda values: values[..., column]).density(x), x)

    def log_density(self, x: Matrix) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes), by a kernel or by the formula."""
        x = as_csr(x) if is_sparse(x) else x
        kernel = KERNELS.get(type(self))
        if kernel is not None:
            return kernel(self, x)
        if self.linear_scores is not None:
            return self.linear_scores.log_density(x)
        if is_sparse(x):
            of_columns = lambda columns: self.with_parameters(lambda v: v[..., columns]).density(X)  # noqa: E731
            return derive.sparse_log_density(of_columns, x, self.dimensions)
        return derive.log_density(self._density, x, self.dimensions)

    def relative_log_density(self, x: Matrix) -> Array:
        """Compute the same without the term that all classes share, if the rest is linear in x."""
        return self.log_density(x) if self.linear_scores is None else self.linear_scores.relative_log_density(x)

    def contrast(self, x: Matrix, first: Positions, second: Positions) -> Array:
        """Compute what each column adds to log p(x | first) − log p(x | second), (rows, columns)."""
        entries = as_float64(x)

        def of_classes(codes: Positions) -> Array:
            density = self.with_parameters(lambda values: values[codes]).density(X)
            return np.broadcast_to(density.at(entries), entries.shape)

        return np.where(np.isnan(entries), 0.0, log_ratio(of_classes(first), of_classes(second)))

    def linear(self) -> tuple[Array, Array]:
        """Return coef and intercept, if the log-density is linear in x up to a term that all classes share."""
        return super().linear() if self._affine is None else self._affine.linear()

    n_columns = derived(lambda self: self.dimensions[1])
    n_parameters = derived(lambda self: self.parameters_each * self.dimensions[0] * self.dimensions[1])

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return one table with a row for each column if there is one parameter, else one table for each column."""
        heads, shown = [str(label) for label in labels], self.shown
        if len(shown) == 1:
            ((title, values),) = shown.items()
            return [Table(title, list(names), heads, values.T)]
        return [
            Table(str(name), list(shown), heads, np.stack([values[:, j] for values in shown.values()]))
            for j, name in enumerate(names)
        ]


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class DataclassOptions(Options):
    """Options whose subclasses become frozen dataclasses when they are defined."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, eq=False, repr=False)(cls)


class Family(DataclassOptions, ABC, Generic[S]):
    """Frozen options of a type of distribution. Learning has two pure steps: rows → statistic → distribution.

    `prior` is the conjugate prior, or `None`. `learn` says which estimate is used: `"mle"` (maximum likelihood),
    `"map"` (the mode of the posterior), `"mean"` (its mean) or `"predictive"` (the posterior is integrated out).
    A prior without `learn` means the posterior mean; `prior=None` means maximum likelihood.

    A subclass is registered by its name when it is defined: files, `BayesClassifier(families=…)` and the command line
    can then use it.
    """

    prior: Annotated[Any, CheckedIn("__post_init__")] = DEFAULT
    learn: Learn | None = None

    summary: ClassVar[Summary[Any]]  # what is summed
    gives: ClassVar[type[Distribution]] = Distribution  # type: ignore[type-abstract]  # what `estimate` returns; it says which values are allowed
    reads: ClassVar[Reads] = "numbers"  # the form in which columns of a table are read
    by_column: ClassVar[bool] = True  # whether arrays among its options hold a value for each column
    public: ClassVar[bool] = True  # whether it can be chosen by its name
    weak_prior: ClassVar[Any] = None  # the default prior; None if no prior is conjugate, and `prior` is not an option

    @classmethod
    def _is_complete(cls) -> bool:
        """Return whether it has `estimate`; a class that pickling has made but not filled does not."""
        return not getattr(cls.estimate, "__isabstractmethod__", False)

    def __post_init__(self) -> None:
        super().__post_init__()
        name, prior = type(self).__name__, self.prior
        if prior is DEFAULT:
            prior = None if self.learn == "mle" else self.weak_prior
        elif prior is not None and self.learn == "mle":
            raise InvalidOptionError(f"{name}: maximum likelihood takes no prior; leave out prior= or learn='mle'")
        elif prior is None and self.learn not in (None, "mle"):
            raise InvalidOptionError(f"{name}: learn={self.learn!r} needs a prior")
        if prior is not None and self.weak_prior is None:
            raise InvalidOptionError(f"{name} has no conjugate prior: leave out prior=")
        if prior is not None and not isinstance(prior, type(self.weak_prior)):
            wanted = type(self.weak_prior).__name__
            raise InvalidOptionError(f"{name}: the prior must be a {wanted}, found {type(prior).__name__}")
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "learn", self.learn or ("mle" if prior is None else "mean"))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.init)
        return f"{type(self).__name__}({shown})"

    @property
    def support(self) -> Support:
        """The values that columns may hold."""
        return self.gives.support

    def read(self, x: Any) -> Rows:
        """Convert columns to the form that statistics and kernels read; refuse values outside the support."""
        return read_columns(x, self.reads, self.support, sparse=self.gives.sparse)

    def summarize(self, x: Any, y: Any, weight: Any = None, onto: ByClass[S] | None = None) -> ByClass[S]:
        """Summarize rows by their labels in one pass, and add the result to `onto`, a summary of other rows."""
        x = self.read(x)
        self.check_width(x.shape[1])
        return self.summary.by_class(x, y, weight, onto)

    def check_width(self, columns: int) -> None:
        """Refuse a prior or other options that are for another number of columns."""
        for options in (self, self.prior) if self.by_column else ():
            width = options.width if isinstance(options, Options) else None
            if width not in (None, columns):
                raise MismatchError(f"{type(self).__name__}: options for {width} columns, data of {columns}")

    def check_statistic(self, statistic: S) -> None:
        """Refuse a statistic that the family does not sum, or of other classes or columns than its options are for."""
        summary = self.summary
        wanted = summary.statistic
        if type(statistic) is not wanted:
            raise MismatchError(f"{type(self).__name__} sums {wanted.__name__}, found {type(statistic).__name__}")
        statistic.check_made_with(**summary.statistic_options)
        columns = self.columns_of(statistic)
        if columns is not None:
            self.check_width(columns)
        for options in (self, self.prior) if self.by_column else ():
            height = options.height() if isinstance(options, Options) else None
            if height not in (None, statistic.n_classes):
                raise MismatchError(
                    f"{type(self).__name__}: options for {height} classes, data of {statistic.n_classes}"
                )

    def check_loaded(self, statistic: S) -> None:
        """Refuse a statistic, which comes from a file, that the family cannot be estimated from."""
        self.check_statistic(statistic)

    def columns_of(self, statistic: S) -> int | None:
        """Return how many columns of rows a statistic summarizes; None if it does not show that."""
        return statistic.n_columns

    @abstractmethod
    def estimate(self, statistic: S) -> Distribution:
        """Estimate p(x | y) for every class of the statistic.

        For leave-one-out, a family of entrywise distributions also gets many statistics at once. Their arrays are
        (rows, classes, columns), so axis −2 is always that of the classes.
        """

    @property
    def decides(self) -> bool:
        """Whether `estimate` decides something that takes long: a choice, or a search."""
        return False

    def estimate_decided(self, statistic: S, decisions: Decisions | None) -> Distribution:  # noqa: ARG002  # the contract
        """Estimate as `estimate` does, with the `decisions` of an earlier estimate from the same statistic.

        The result is the same, bit for bit. Without decisions, or if there is nothing to decide, it is `estimate`.
        """
        return self.estimate(statistic)

    searches_near: ClassVar[bool] = False  # whether `estimate_near` differs from `estimate`

    def estimate_near(self, statistic: S, decisions: Decisions) -> Distribution:  # noqa: ARG002  # the contract
        """Estimate by a search that begins at the `decisions` about a part of the rows, and may end nearby."""
        return self.estimate_decided(statistic, None)

    def check_decisions(self, statistic: S, decisions: Decisions | None) -> None:  # noqa: ARG002  # the contract
        """Refuse decisions, which come from a file, that an estimate from the statistic would not make."""
        if decisions is not None:
            raise MismatchError(f"{type(self).__name__} has nothing to decide, found {decisions!r}")

    def check_estimable(self, statistic: S) -> None:  # most sums refuse such rows themselves
        """Refuse rows from which nothing could be estimated, when they are learned."""

    def kept_rows(self, statistic: S) -> KeptRows | None:  # noqa: ARG002  # most statistics keep no rows
        """Return the rows that the statistic keeps, for calibration and outliers; None if it keeps none."""
        return None

    def leave_one_out(self, statistic: S, fitted: Distribution, x: Rows, codes: Codes, weight: Array | None) -> Array:
        """Compute log p(x_i | y) of each row under the statistic without that row, (rows, classes).

        This is exact for every family: the row is subtracted, and the rest is estimated. `fitted` is the estimate from
        the whole statistic. If a family has `own_log_density`, only the row's own class changes.
        """
        if type(self).own_log_density is not Family.own_log_density:
            out, start = fitted.log_density(x), 0
            for piece, c, w in chunks(x, codes, weight, cells=1 << 22):
                rows = np.arange(start, start + len(c))
                out[rows, c] = self.own_log_density(statistic, piece, c, np.ones(len(c)) if w is None else w)
                start += len(c)
            return out
        if isinstance(fitted, Entrywise) and isinstance(statistic, (Moments, Totals)) and x.shape[0]:
            together = self._together(statistic, x, codes, weight)
            if together is not None:
                return together
        return self._one_by_one(statistic, x, codes, weight)

    def relative_leave_one_out(
        self, statistic: S, fitted: Distribution, x: Rows, codes: Codes, weight: Array | None
    ) -> Array:
        """Compute the same up to a term that all classes share, where that is less work."""
        return self.leave_one_out(statistic, fitted, x, codes, weight)

    def _together(self, statistic: Moments | Totals, x: Matrix, codes: Codes, weight: Array | None) -> Array | None:
        """Leave out many rows at a time; None if `estimate` cannot take many statistics, which the first row shows."""
        refuse_infinite(x)
        out, threshold = np.empty((x.shape[0], statistic.n_classes)), self.summary.threshold
        for part, piece in derive.pieces(x, statistic.n_classes * statistic.n_columns):
            entries = self.summary.entries(x[part]) if threshold is None else Above(X, threshold).at(piece)
            w = np.ones(len(piece)) if weight is None else weight[part]
            try:
                rest = self.estimate(statistic.without_each(as_float64(entries), codes[part], w))  # type: ignore[arg-type]  # it is S
                assert isinstance(rest, Entrywise), "the family gives one type of distribution"
                out[part] = derive.sum_observed(rest.density(X), piece[:, None, :])
            except (ValueError, IndexError):
                return None
        first = self._one_by_one(statistic, x[:1], codes[:1], None if weight is None else weight[:1])  # type: ignore[arg-type]
        return out if np.allclose(first, out[:1], rtol=1e-9, atol=1e-9) else None

    def _one_by_one(self, statistic: S, x: Rows, codes: Codes, weight: Array | None, relative: bool = False) -> Array:
        """Estimate without each row, and score that row; `relative` is up to a term that all classes share."""
        out = np.empty((x.shape[0], statistic.n_classes))
        for i in range(x.shape[0]):
            row = x[i : i + 1]
            w = None if weight is None else weight[i : i + 1]
            removed = self.summary.take(row, np.zeros(1, np.int32), 1, w)
            fitted = self.estimate(statistic - removed.spread(codes[i : i + 1], len(out[0])))
            out[i] = (fitted.relative_log_density(row) if relative else fitted.log_density(row))[0]
        return out

    def own_log_density(self, statistic: S, x: Rows, codes: Codes, weight: Array) -> Array:
        """Compute log p(x_i | y_i) of each row under its own class without that row, (rows,)."""
        raise NotImplementedError


def read_columns(x: Any, reads: Reads, support: Support, sparse: bool) -> Rows:
    """Read columns of numbers, dense or sparse, or of categories; refuse values outside the support."""
    if reads == "categories":
        return as_categories(x)
    matrix = as_matrix(x) if sparse else as_dense(x)
    support.refuse(matrix)
    return matrix


def as_float64(x: Matrix) -> Array:
    """Return a matrix, dense or sparse, as a dense one of float64."""
    return np.asarray(as_dense(x) if is_sparse(x) else x, dtype=np.float64)


def resolution(values: Array) -> Array:
    """Compute the variance of a point mass in each column, (…, columns).

    It is the square of the smallest difference that floating point can represent between numbers of that size.
    """
    size = np.nan_to_num(np.abs(values)).max(axis=-2, initial=0.0) * np.finfo(np.float64).eps
    return np.maximum(size * size, 1e-300)
