"""Several discrete columns together: a table of the combinations that occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log as log_of
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Categories, Codes, Mask, Values, as_categories, encode
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.labels import read_labels
from suffice.core.priors import Dirichlet
from suffice.core.statistics import Counts
from suffice.core.statistics.counts import category_sizes
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Family, FillMethod, derived
from suffice.families._contract import CATEGORIES, Summary, Table
from suffice.families.categorical import as_given, recoded
from suffice.families.logarithms import log
from suffice.formulas import Among, Combinations, Constant, Formula, Term, Where, by_observed

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class CombinationCounts(Summary[Counts]):
    """Counts of one column whose categories are the combinations of all columns, as tuples, in complete rows."""

    joint = True

    def entries(self, x: Categories) -> Categories:
        """Number the combinations."""
        return combined(x)


class JointCategorical(Family[Counts]):
    """All columns in one table, without assuming independence:  p(x | y) = (n_y(x) + α) / (N_y + α·M).

    n_y(x) counts the rows of class y that are exactly x. M is the number of possible combinations: the product of the
    numbers of values that the columns have in any class. Only combinations that occur are stored. With `prior=None`
    this is direct counting: p(y | x) is the share of y among the rows that are exactly x.

    Columns hold strings or other values, or numbers 0, 1, 2, …, as for `Categorical`. Training counts complete rows
    only. Prediction sums over all combinations that agree with the observed entries of a row. A row with a value that
    did not occur in its column has the probability of one further combination, α / (N_y + α (M + 1)); without a prior
    that is 0.

    >>> family = JointCategorical(prior=None)
    >>> family.estimate(family.summarize([["a", "x"], ["a", "x"], ["b", "y"]], [0, 0, 0]).statistic).probability
    array([[0.66666667, 0.33333333]])
    """

    summary: ClassVar = CombinationCounts(Counts)
    reads: ClassVar = "categories"
    by_column: ClassVar = False  # the prior is over combinations
    weak_prior: ClassVar = Dirichlet(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is not None and np.ndim(self.prior.alpha):
            raise InvalidOptionError(
                f"JointCategorical: the prior must have one alpha for all combinations, found "
                f"{np.size(self.prior.alpha)}"
            )

    def check_width(self, columns: int) -> None:
        """Refuse a block without columns."""
        if not columns:
            raise InvalidDataError("JointCategorical: there are no columns to combine")

    def columns_of(self, counts: Counts) -> int | None:
        """Return how many columns are combined; None if no combination was counted."""
        return len(counts.keys[0][0]) if counts.keys is not None and counts.weight.size else None

    def check_statistic(self, counts: Counts) -> None:
        """Refuse counts of anything but combinations."""
        keys = [] if counts.keys is None else [key for known in counts.keys for key in known.tolist()]
        if counts.n_columns != 1 or len(set(map(np.shape, keys))) > 1 or not all(isinstance(k, tuple) for k in keys):
            raise MismatchError("JointCategorical sums combinations of values, found other counts")
        super().check_statistic(counts)

    @property
    def alpha(self) -> float:
        """The pseudo-count of every combination."""
        return 0.0 if self.prior is None else float(self.prior.alpha)

    def estimate(self, counts: Counts) -> JointTable:
        """Estimate probabilities n(x) / N, (n(x) + α − 1) / (N + (α − 1) M) or (n(x) + α) / (N + α M)."""
        keys = () if counts.keys is None else counts.keys[0].tolist()
        if not keys:
            raise InvalidDataError("JointCategorical: every row has a missing value, so no combination was counted")
        columns = list(zip(*keys, strict=True))
        values = tuple(read_labels(sorted(set(column))) for column in columns)
        numbers = [{value: i for i, value in enumerate(known.tolist())} for known in values]
        combinations = np.array(
            [[number[v] for v in column] for number, column in zip(numbers, columns, strict=True)], dtype=np.int64
        ).T
        free = prod(len(known) for known in values) - len(keys)
        mass, spare = self._masses(counts.weight)
        # If a class has no mode, the mean is used.
        empty = (mass.sum(axis=1) <= 0) & ((spare <= 0) | (free == 0))
        mass = np.where(empty[:, None], counts.weight + self.alpha, mass)
        spare = np.where(empty, self.alpha, spare)
        return JointTable(values, combinations, mass, spare)

    def _masses(self, weight: Array) -> tuple[Array, Array]:
        """Return the mass of combinations of given weights, and of each one that does not occur, (classes,)."""
        less = 1.0 if self.learn == "map" else 0.0
        return np.maximum(weight + self.alpha - less, 0.0), np.full(len(weight), max(self.alpha - less, 0.0))

    def leave_one_out(
        self, counts: Counts, fitted: Distribution, x: Categories, codes: Codes, weight: Array | None
    ) -> Array:
        """Leave rows out; one combination of the row's own class changes. The set of combinations does not change."""
        assert isinstance(fitted, JointTable)
        out = fitted.log_density(x)
        at = fitted.positions(x)
        rows = np.flatnonzero(at >= 0)  # incomplete rows were not counted
        at, own = at[rows], codes[rows]
        w = np.ones(len(rows)) if weight is None else weight[rows]
        n = counts.weight[own, at]
        left = clear_residue(n - w, n)
        total = counts.weight.sum(axis=1)[own]
        rest = clear_residue(total - w, total)
        combinations = counts.weight.shape[1]
        out[rows, own] = fitted.log_share(left + self.alpha, rest + self.alpha * combinations, np.asarray(self.alpha))
        if self.learn == "map":
            mass, spare = self._masses(counts.weight)
            peak, peak_left = mass[own, at], self._masses(left[:, None])[0][:, 0]
            sums = mass.sum(axis=1)[own]
            sums = clear_residue(sums - (peak - peak_left), sums)
            has_mode = (sums > 0) | ((spare[own] > 0) & (fitted.free > 0))
            shares = fitted.log_share(peak_left, sums, spare[own])
            out[rows, own] = np.where(has_mode, shares, out[rows, own])
        return out


def combined(x: Categories) -> Categories:
    """Return one column of combinations, numbered in sorted order; an incomplete row is missing."""
    codes, sizes = as_integers(x)
    complete = (codes >= 0).all(axis=1)
    rows = codes if complete.all() else codes[complete]
    number, one = number_rows(rows, sizes)
    distinct = rows[one]
    columns = [distinct[:, j] if x.keys is None else x.keys[j][distinct[:, j]] for j in range(distinct.shape[1])]
    keys = np.fromiter(zip(*(c.tolist() for c in columns), strict=True), dtype=object, count=len(distinct))
    out = np.full((len(codes), 1), -1, dtype=np.int32)
    out[complete, 0] = number
    return Categories(out, (keys,))


def as_integers(x: Categories) -> tuple[Numbers, list[int]]:
    """Return the codes as integers, −1 for missing entries, and the number of codes of each column."""
    sizes = category_sizes(x).tolist()  # refuses numbers that are not codes
    if max(sizes) > 1 << 53:
        raise InvalidDataError(
            f"Column {int(np.argmax(sizes))} holds a category number of 2^53 or more: number categories 0, 1, 2, … or "
            "pass strings"
        )
    if x.codes.dtype.kind != "f":
        return x.codes.astype(np.int64), sizes
    return np.where(np.isnan(x.codes), -1.0, x.codes).astype(np.int64), sizes


def number_rows(codes: Numbers, sizes: Sequence[int]) -> tuple[Codes, Numbers]:
    """Number the distinct rows of digits 0 ≤ codes[:, j] < sizes[j] in sorted order; also return one row for each."""
    number, reach = np.zeros(len(codes), dtype=np.int64), 1
    for j, size in enumerate(sizes):
        digit = codes[:, j]
        # Numbers that would overflow an integer are replaced by the ranks of those that occur.
        if size >= 1 << 31:
            digit, size = _renumbered(digit)
        if reach * size >= 1 << 62:
            number, reach = _renumbered(number)
        number, reach = number * size + digit, reach * size
    found, distinct = encode(number)
    one = np.empty(len(distinct), dtype=np.int64)
    one[found] = np.arange(len(codes))
    return found, one


def _renumbered(number: Numbers) -> tuple[Numbers, int]:
    codes, distinct = encode(number)
    return codes.astype(np.int64), max(len(distinct), 1)


class JointTable(Distribution):
    """The mass of each combination that occurs, and of every other one.

    `values` are the sorted values of each column. `combinations` (combinations, columns) holds the positions of the
    combinations in them, `mass` (classes, combinations) their masses, and `spare` (classes,) the mass of every other
    combination. Probabilities are masses divided by their sum.
    """

    values: tuple[Values, ...]
    combinations: Numbers
    mass: Array
    spare: Array

    reads: ClassVar = "categories"
    support = CATEGORIES
    why_not_linear: ClassVar = "Every combination has its own probability: tables() shows them"

    @property
    def sizes(self) -> list[int]:
        """How many values each column has."""
        return [len(known) for known in self.values]

    @property
    def free(self) -> int:
        """How many combinations are possible but do not occur in any class."""
        return prod(self.sizes) - len(self.combinations)

    @property
    def probability(self) -> Array:
        """The probability of each combination that occurs, (classes, combinations)."""
        return np.exp(self.log_share(self.mass, self._total, self.spare[:, None]))

    @property
    def _total(self) -> Array:
        return self.mass.sum(axis=1, keepdims=True)

    def log_share(self, mass: Array, total: Array, spare: Array, further: int = 0) -> Array:
        """Compute log mass / (total + spare · (free + further)); −inf where the mass is 0.

        This is computed in logarithms, as there may be more combinations than a float can count.
        """
        free = self.free + further
        norm = np.logaddexp(log(np.asarray(total)), log(np.asarray(spare)) + (log_of(free) if free else -np.inf))
        return np.where(mass > 0, log(np.asarray(mass)) - np.where(norm > -np.inf, norm, 0.0), -np.inf)

    def log_density(self, x: Categories) -> Array:
        """Compute log p(x | y) of every row under every class, (rows, classes); missing values are summed out."""
        codes = self._numbered(x)
        sizes = np.array(self.sizes)
        out = np.empty((len(codes), len(self.mass)))
        has_new_value = (codes == sizes).any(axis=1)
        missing = codes < 0
        patterns, one = number_rows(missing.astype(np.int64), [2] * len(sizes))
        for pattern, example in enumerate(one):
            rows = np.flatnonzero((patterns == pattern) & ~has_new_value)
            out[rows] = self._observed(codes[rows], ~missing[example])
        out[has_new_value] = self.log_share(self.spare, self._total[:, 0], self.spare, further=1)
        return out

    def _observed(self, codes: Numbers, known: Mask) -> Array:
        """Compute the log of the share of all combinations that agree with the rows in the known columns."""
        if not known.any():
            return np.zeros((len(codes), len(self.mass)))
        found, distinct = self._matched(codes, known)
        n = len(self.combinations)
        agreeing = np.bincount(found[:n], minlength=distinct)
        possible = prod(size for size, k in zip(self.sizes, known, strict=True) if not k)
        if possible < 1 << 53:
            others = log(possible - agreeing.astype(np.float64))
        else:
            others = np.full(distinct, log_of(possible))
        scores = np.empty((distinct, len(self.mass)))
        total = self.log_share(np.ones(len(self.mass)), self._total[:, 0], self.spare)  # −log of the norm
        spare = log(self.spare)
        for c, mass in enumerate(self.mass):
            counted = np.asarray(np.bincount(found[:n], weights=mass, minlength=distinct), dtype=np.float64)
            scores[:, c] = np.logaddexp(log(counted), spare[c] + others) + total[c]
        return scores[found[n:]]

    def _matched(self, codes: Numbers, known: Mask) -> tuple[Codes, int]:
        """Number the combinations, then the rows, by their known columns; also return how many numbers there are."""
        both = np.concatenate([self.combinations[:, known], codes[:, known]])
        found, one = number_rows(both, [size for size, k in zip(self.sizes, known, strict=True) if k])
        return found, len(one)

    def positions(self, x: Categories) -> Numbers:
        """Return the number of each row's combination; −1 if the row is incomplete or its combination is new."""
        codes = self._numbered(x)
        out = np.full(len(codes), -1, dtype=np.int64)
        known = np.flatnonzero(((codes >= 0) & (codes < np.array(self.sizes))).all(axis=1))
        found, distinct = self._matched(codes[known], np.ones(len(self.values), dtype=bool))
        n = len(self.combinations)
        position = np.full(distinct, -1, dtype=np.int64)
        position[found[:n]] = np.arange(n)
        out[known] = position[found[n:]]
        return out

    def _numbered(self, x: Categories) -> Numbers:
        """Return the position of every entry among its column's values: −1 if missing, after the last if new."""
        x = as_categories(x)
        if x.keys is None:
            return self._positions(as_integers(x)[0])
        return recoded(x, self.values).astype(np.int64)

    def _positions(self, numbers: Numbers) -> Numbers:
        for j, mine in enumerate(self.values):
            present = numbers[:, j] >= 0
            if mine.dtype.kind not in "iufb":
                if present.any():
                    raise MismatchError(f"The categories of column {j} were strings in training and are numbers here")
                continue
            at = np.searchsorted(mine, numbers[:, j])
            new = mine[np.minimum(at, len(mine) - 1)] != numbers[:, j]
            numbers[:, j] = np.where(present, np.where(new, len(mine), at), -1)
        return numbers

    def fill(
        self, x: Categories, posterior: Array, codes: Codes, method: FillMethod, rng: np.random.Generator
    ) -> Values:
        """Fill missing entries from a combination that agrees with the observed entries.

        It is the most probable one under the posterior over classes, or one drawn for the class of each row.
        """
        numbered = self._numbered(x)
        out = as_given(as_categories(x))
        for i in np.flatnonzero((numbered < 0).any(axis=1)):
            known = numbered[i] >= 0
            agree = np.flatnonzero((self.combinations[:, known] == numbered[i, known]).all(axis=1))
            agree = agree if len(agree) else np.arange(len(self.combinations))  # if none agrees, use any
            if method != "sample":
                best = agree[np.argmax(posterior[i] @ self.mass[:, agree])]
            else:
                mass = self.mass[codes[i], agree]
                share = mass / mass.sum() if mass.sum() > 0 else None
                best = rng.choice(agree, p=share)
            for j in np.flatnonzero(~known):
                out[i, j] = self.values[j][self.combinations[best, j]]
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """Return one table of combinations for every pattern of missing values, for up to four columns."""
        formula = by_observed(names, lambda observed: self._formula_of(names, observed))
        return [Term(", ".join(names), tuple(names), formula)]

    def _formula_of(self, names: Sequence[str], observed: tuple[int, ...]) -> Formula:
        known = np.isin(np.arange(len(names)), observed)
        codes = np.unique(self.combinations[:, known], axis=0)
        rows = np.zeros((len(codes), len(names)), dtype=np.int64)
        rows[:, known] = codes
        numbers = self._observed(rows, known)
        columns = [self.values[j][codes[:, i]].tolist() for i, j in enumerate(observed)]
        free = prod(size for size, k in zip(self.sizes, known, strict=True) if not k)
        norm = self.log_share(np.ones(len(self.mass)), self._total[:, 0], self.spare)
        otherwise = log(self.spare) + log_of(free) + norm
        out: Formula = Combinations(
            tuple(names[j] for j in observed), tuple(zip(*columns, strict=True)), numbers.T, otherwise
        )
        with_new_value = Constant(self.log_share(self.spare, self._total[:, 0], self.spare, further=1))
        for j in observed:
            out = Where(Among(names[j], tuple(self.values[j])), out, with_new_value)
        return out

    n_columns = derived(lambda self: len(self.values))
    # The number of possible combinations less one, for each class.
    n_parameters = derived(lambda self: len(self.mass) * (prod(self.sizes) - 1))

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """Return one table with a row for each combination that occurs, and one row for any other combination."""
        columns = [known[at].tolist() for known, at in zip(self.values, self.combinations.T, strict=True)]
        rows = [", ".join(map(str, combination)) for combination in zip(*columns, strict=True)]
        values = self.probability.T
        if self.free:
            rows.append("each other")
            values = np.vstack([values, np.exp(self.log_share(self.spare, self._total[:, 0], self.spare))])
        return [Table(", ".join(map(str, names)), rows, [str(label) for label in labels], values)]

    def sample(self, codes: Codes, rng: np.random.Generator) -> Values:
        """Draw rows of categories: numbers, or objects if they have names."""
        at = np.empty((len(codes), len(self.values)), dtype=np.int64)
        for c in np.unique(codes):
            rows = np.flatnonzero(codes == c)
            # If no combination of a class was counted, those of all classes are drawn from.
            mass = self.mass[c] if self.mass[c].sum() + self.spare[c] > 0 else self.mass.sum(axis=0)
            reached = np.cumsum(mass)
            known = np.exp(self.log_share(reached[-1:], reached[-1:], self.spare[c : c + 1]))[0]
            new = rng.random(len(rows)) >= known
            drawn = np.searchsorted(reached, rng.random(len(rows)) * reached[-1], side="right")
            at[rows] = self.combinations[np.minimum(drawn, len(reached) - 1)]
            at[rows[new]] = self._draw_new(int(new.sum()), rng)
        columns = [known[at[:, j]] for j, known in enumerate(self.values)]
        if all(column.dtype.kind in "iu" for column in columns):
            return np.stack(columns, axis=1)
        out = np.empty(at.shape, dtype=object)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def _draw_new(self, n: int, rng: np.random.Generator) -> Numbers:
        """Draw positions of combinations that do not occur, uniformly."""
        if not n:
            return np.empty((0, len(self.values)), dtype=np.int64)
        if prod(self.sizes) >= 1 << 62:  # so many are possible that none of the known ones will be drawn
            return rng.integers(0, self.sizes, (n, len(self.values)))
        # Find the k-th number that is not the number of a known combination.
        number = np.zeros(len(self.combinations), dtype=np.int64)
        for j, size in enumerate(self.sizes):
            number = number * size + self.combinations[:, j]
        number.sort()
        k = rng.integers(0, self.free, n)
        k += np.searchsorted(number - np.arange(len(number)), k, side="right")
        return np.stack(np.unravel_index(k, self.sizes), axis=1).astype(np.int64)
