"""The joint distribution p(x, y): posteriors, densities, samples, imputation and leave-one-out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from suffice import _core
from suffice.core.arrays import Array, Codes, Rows, Values, as_dense, as_weight, distinct_pairs
from suffice.core.errors import ImpossibleRowWarning, InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.labels import Labels, encode_labels, first_unknown, label_list, label_positions, position_of
from suffice.core.priors import ClassPrior
from suffice.core.statistics import ByClass
from suffice.core.statistics.compensated import Sums, minus
from suffice.families import Decisions, Distribution, Family, LinearForm, Table
from suffice.formulas import Scoring
from suffice.model.out_of_range import drawing, not_a_number, numbers_only, within_float64

MOST_DRAWN = 1 << 31  # entries that are drawn at once, 16 GiB

Float: TypeAlias = type[np.float32] | type[np.float64] | np.dtype[Any]


@dataclass(frozen=True)
class Model:
    """The joint distribution  log p(x, y) = log p(y) + log p(x | y).

    >>> from suffice.families import Gaussian
    >>> model = Model.fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"], Gaussian(variance="shared"))
    >>> model.predict(np.array([[0.4], [4.6]]))
    array(['a', 'b'], dtype='<U1')
    """

    labels: Values
    log_prior: Array
    distribution: Distribution
    n_prior_parameters: int = 0

    @classmethod
    def fit(cls, x: Any, y: Any, family: Family[Any], prior: ClassPrior | None = None, weight: Any = None) -> Model:
        """Summarize rows, then estimate: all columns from one family."""
        return cls.of(family.summarize(x, y, weight), family, prior)

    @classmethod
    def of(
        cls,
        statistics: ByClass[Any],
        family: Family[Any],
        prior: ClassPrior | None = None,
        decisions: Decisions | None = None,
        near: Decisions | None = None,
    ) -> Model:
        """Estimate a model from statistics alone, by the `decisions` of an earlier one, or `near` those."""
        if not len(statistics.labels):
            raise InvalidDataError("There is nothing to learn from: the total weight of all rows is zero")
        prior = prior or ClassPrior()
        family.check_statistic(statistics.statistic)
        with np.errstate(over="ignore"):
            overflow = not np.isfinite(statistics.weight.sum())
        if overflow:
            raise InvalidDataError("The weights of the classes are so large that their sum overflows: rescale them")
        with within_float64():
            if decisions is None and near is not None:
                distribution = family.estimate_near(statistics.statistic, near)
            else:
                distribution = family.estimate_decided(statistics.statistic, decisions)
        log_prior = prior.log(statistics.weight)
        return cls(statistics.labels, log_prior, distribution, prior.n_parameters(len(statistics.labels)))

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distribution p(x | y), as a tuple of one."""
        return (self.distribution,)

    def log_joint(self, x: Any, dtype: Float = np.float64) -> Array:
        """Compute log p(x, y) of every row and class, (rows, classes); missing entries are summed out."""
        return np.asarray(self.log_conditional(x) + self.log_prior, dtype)

    def log_conditional(self, x: Any) -> Array:
        """Compute log p(x | y) of every row and class, (rows, classes)."""
        return numbers_only(self.distribution.log_density(self._read(x)))

    def relative_log_conditional(self, x: Any) -> Array:
        """Compute log p(x | y) up to a term for each row, which is enough to compare classes and may be less work."""
        return self.distribution.relative_log_density(self._read(x))

    def _read(self, x: Any) -> Rows:
        rows = self.distribution.read(x)
        if rows.shape[1] != self.distribution.n_columns:
            raise MismatchError(f"Expected rows of {self.distribution.n_columns} columns, found {rows.shape[1]}")
        return rows

    def log_posterior(self, x: Any, dtype: Float = np.float64) -> Array:
        """Compute log p(y | x). A row that is impossible under every class gets the prior, with a warning."""
        return self.normalize(self.relative_log_conditional(x), self.log_prior, as_log=True, dtype=dtype)

    def posterior(self, x: Any, dtype: Float = np.float64) -> Array:
        """Compute p(y | x)."""
        return self.normalize(self.relative_log_conditional(x), self.log_prior, as_log=False, dtype=dtype)

    def normalize(self, scores: Array, added: Array, as_log: bool, dtype: Float = np.float64) -> Array:
        """Compute p(y | x) or its log from log p(x, y) = scores + added (classes,); `scores` are overwritten."""
        out = scores if dtype == np.float64 else np.empty(scores.shape, dtype)
        lost = _core.posterior(scores, added, self.fallback, as_log, out)
        if lost < 0:
            raise not_a_number(-1 - lost)
        if lost:
            warn_of_impossible(lost, len(scores))
        return out

    @cached_property
    def fallback(self) -> Array:
        """The log prior, or a uniform one if no class has a positive prior."""
        known = np.isfinite(self.log_prior).any()
        return np.ascontiguousarray(self.log_prior if known else np.zeros(len(self.labels)))

    def predict(self, x: Any) -> Values:
        """Return the most probable label of each row: the first of equal ones; of impossible rows that of the prior."""
        scores = self.relative_log_conditional(x)
        out = np.empty(len(scores), dtype=np.int64)
        odd = _core.most_probable(scores, self.log_prior, int(np.argmax(self.fallback)), out)
        if odd >= 0:
            raise not_a_number(odd)
        return self.labels[out]

    def log_density(self, x: Any) -> Array:
        """Compute log p(x) = log Σ_y p(x, y), (rows,)."""
        joint = self.log_joint(x)
        top = joint.max(axis=1, keepdims=True)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(safe[:, 0] + np.log(np.exp(joint - safe).sum(axis=1)))

    def impute(self, x: Any) -> Array:
        """Fill missing entries by their mean Σ_y p(y | x_observed) E[x_missing | x_observed, y], (rows, columns)."""
        expected = self.distribution.expect(self._read(x))
        filled = (self.posterior(x)[:, None, :] @ expected)[:, 0, :]
        observed = as_dense(x)
        return np.where(np.isnan(observed), filled, observed)

    def linear(self) -> LinearForm:
        """Return the coefficients and intercepts of the log-odds, if they are linear in x."""
        coef, intercept = self.distribution.linear()
        intercept = intercept + self.log_prior
        if len(self.labels) == 2:
            return LinearForm(coef[1:] - coef[:1], intercept[1:] - intercept[:1])
        return LinearForm(coef, intercept)

    def formula(self, names: Sequence[str]) -> Scoring:
        """Return the posterior as formulas over columns of these names."""
        with within_float64():
            return Scoring.plain(self.labels, self.log_prior, self.distribution.formula(names))

    @property
    def n_parameters(self) -> int:
        """How many free parameters were estimated, including those of the class prior."""
        return self.n_prior_parameters + self.distribution.n_parameters

    def sample(self, n: int, label: Any = None, random_state: Any = None) -> tuple[Any, Values]:
        """Draw n rows (x, y) ~ p(x, y), or x ~ p(x | y) if a label is given, or an array of n labels."""
        rng = np.random.default_rng(random_state)
        if not isinstance(n, Integral) or n < 0:
            raise InvalidOptionError(f"n is the number of rows to draw, an integer ≥ 0; found {n!r}")
        if n * max(self.distribution.n_columns, 1) > MOST_DRAWN:
            raise InvalidOptionError(
                f"{n} rows of {self.distribution.n_columns} columns are too many to draw at once: draw them in parts"
            )
        if label is None:
            p = np.exp(self.fallback - self.fallback.max())
            codes = rng.choice(len(self.labels), size=n, p=p / p.sum()).astype(np.int32)
        elif isinstance(label, np.ndarray):
            if label.shape != (n,):
                raise InvalidOptionError(f"label must be one label, or an array of {n}, found shape {label.shape}")
            codes = np.array([self.position(each) for each in label_list(label)], dtype=np.int32)
        else:
            codes = np.full(n, self.position(label), dtype=np.int32)
        with drawing():
            return self.distribution.sample(codes, rng), self.labels[codes]

    def position(self, label: Any) -> int:
        """Return the position of a class; refuse a label that the model does not have."""
        return position_of(label, self.labels)

    def column_names(self, names: Sequence[str] | None) -> list[str]:
        """Return names as strings, by default x0, x1, …"""
        return [f"x{j}" for j in range(self.distribution.n_columns)] if names is None else list(map(str, names))

    def tables(self, names: Sequence[str] | None = None) -> list[Table]:
        """Return the class prior and every parameter as tables for people."""
        heads = [str(label) for label in self.labels]
        prior = Table("prior", ["p(y)"], heads, np.exp(self.log_prior)[None])
        return [prior, *self.distribution.tables(self.labels, self.column_names(names))]


def warn_of_impossible(lost: int, rows: int) -> None:
    """Warn of rows that no class can have given."""
    warnings.warn(
        f"{lost} of {rows} rows have probability zero under every class; they get the class prior. "
        "Smoothing (a prior, alpha > 0) avoids this.",
        ImpossibleRowWarning,
        stacklevel=4,
    )


def leave_one_out(
    statistics: ByClass[Any],
    family: Family[Any],
    prior: ClassPrior,
    x: Any,
    y: Any,
    weight: Any = None,
    model: Model | None = None,
) -> Array:
    """Compute log p(x_i, y) of each row under the model of all other rows, (rows, classes), exactly.

    The row is subtracted from the statistics; nothing is fitted again. The rows must be part of the statistics, with
    the same weights. `model` is the model of all rows, if it was estimated already.
    """
    conditional, log_prior = leave_one_out_parts(statistics, family, prior, x, y, weight, model, relative=False)
    return conditional + log_prior


def leave_one_out_parts(
    statistics: ByClass[Any],
    family: Family[Any],
    prior: ClassPrior,
    x: Any,
    y: Any,
    weight: Any = None,
    model: Model | None = None,
    relative: bool = True,
) -> tuple[Array, Array]:
    """Compute log p(x_i | y) and log p(y) of each row under the model of all other rows, (rows, classes) each.

    With `relative`, the first is up to a term that all classes share.
    """
    x = family.read(x)
    codes, w, log_prior = left_out_prior(statistics, prior, x.shape[0], y, weight)
    fitted = (model or Model.of(statistics, family, prior)).distribution
    with within_float64():
        method = family.relative_leave_one_out if relative else family.leave_one_out
        out = numbers_only(method(statistics.statistic, fitted, x, codes, w))
    return out, log_prior


def left_out_prior(
    statistics: ByClass[Any], prior: ClassPrior, rows: int, y: Any, weight: Any = None
) -> tuple[Codes, Array | None, Array]:
    """Return the class and weight of each row, and log p(y) without it, (rows, classes)."""
    labels = encode_labels(y)
    if rows != len(labels):
        raise InvalidDataError(f"Found input variables with inconsistent numbers of samples: [{rows}, {len(labels)}]")
    w = as_weight(weight, len(labels))
    codes = positions_of(labels, w, statistics.labels)
    # The prior is the same without any row of one class and weight.
    classes, removed, which = np.arange(len(statistics.labels)), np.ones(len(statistics.labels)), codes.astype(np.int64)
    if w is not None:
        classes, removed, which = distinct_pairs(codes, w)
    rest = np.repeat(statistics.weight[None], len(classes), axis=0)
    own = statistics.sums.at(classes)
    rest[np.arange(len(classes)), classes] = minus(own, Sums(removed, None)).value
    return codes, w, prior.log(rest)[which]


def positions_of(labels: Labels, weight: Array | None, known: Values) -> Codes:
    """Return the position of each row's label among the known ones; a row of weight 0 may have any label."""
    out = np.zeros(len(labels), dtype=np.int32)
    counted = np.ones(len(labels), dtype=bool) if weight is None else weight > 0
    used = np.flatnonzero(np.bincount(labels.codes[counted], minlength=len(labels.values)))
    positions = label_positions(labels.values[used], known) if len(used) else used
    if positions is None:
        unknown = first_unknown(labels.values[used], known)
        raise MismatchError(f"Label {unknown!r} was not in the training data")
    position = np.zeros(len(labels.values), dtype=np.int32)
    position[used] = positions
    out[counted] = position[labels.codes[counted]]
    return out
