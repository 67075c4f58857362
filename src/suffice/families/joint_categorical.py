"""Several discrete columns as one: a table of the combinations seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log as log_of
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Categories, Codes, Values, as_categories, encode
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.priors import Dirichlet
from suffice.core.statistics import Counts
from suffice.core.statistics.counts import category_sizes
from suffice.core.statistics.statistic import clear_residue
from suffice.families._base import Distribution, Family, How
from suffice.families._results import Table
from suffice.families._summary import Summary
from suffice.families._support import CATEGORIES
from suffice.families.logarithms import log
from suffice.formulas import Among, Combinations, Constant, Formula, Term, Where, by_observed

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class CombinationCounts(Summary[Counts]):
    """Counts of one column whose categories are the combinations of all columns, as tuples; of complete rows only."""

    together = True

    def entries(self, x: Categories) -> Categories:
        """Number the combinations."""
        return combined(x)


class JointCategorical(Family[Counts]):
    """All columns as one table, nothing assumed independent:  p(x | y) = (n_y(x) + α) / (N_y + α·M).

    n_y(x) counts the rows of class y that are exactly x, and M is the number of possible combinations: the
    product of how many values each column has shown, in any class. Only combinations seen are stored. With
    `prior=None` this is direct counting: p(y | x) is the share of y among the rows that are exactly x.

    Columns hold strings or other values, or numbers 0, 1, 2, …, as for `Categorical`. A row with a gap tells
    of no single combination, so training counts complete rows only; prediction sums over all combinations
    that agree with the observed entries. A row that holds a value never met in its column has the
    probability of one further combination, α / (N_y + α (M + 1)); without a prior that is 0.

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
                f"JointCategorical: all combinations have the same alpha, found {np.size(self.prior.alpha)} of them"
            )

    def check_width(self, columns: int) -> None:
        """Accept any number of columns but 0."""
        if not columns:
            raise InvalidDataError("JointCategorical: there are no columns to combine")

    @property
    def alpha(self) -> float:
        """The pseudo-count of every combination."""
        return 0.0 if self.prior is None else float(self.prior.alpha)

    def estimate(self, counts: Counts) -> JointTable:
        """Probabilities n(x) / N, (n(x) + α − 1) / (N + (α − 1) M) or (n(x) + α) / (N + α M)."""
        keys = () if counts.keys is None else counts.keys[0].tolist()
        if not keys:
            raise InvalidDataError("JointCategorical: every row has a gap, so no combination was counted")
        columns = list(zip(*keys, strict=True))
        values = tuple(np.asarray(sorted(set(column))) for column in columns)
        numbers = [{value: i for i, value in enumerate(known.tolist())} for known in values]
        seen = np.array(
            [[number[v] for v in column] for number, column in zip(numbers, columns, strict=True)], dtype=np.int64
        ).T
        free = prod(len(known) for known in values) - len(keys)
        mass, spare = self._masses(counts.weight)
        # Where no mode is left the mean is taken, as everywhere.
        empty = (mass.sum(axis=1) <= 0) & ((spare <= 0) | (free == 0))
        mass = np.where(empty[:, None], counts.weight + self.alpha, mass)
        spare = np.where(empty, self.alpha, spare)
        return JointTable(values, seen, mass, spare)

    def _masses(self, weight: Array) -> tuple[Array, Array]:
        """The mass of combinations that weigh so much, and of each one not seen in any class, (classes,)."""
        less = 1.0 if self.learn == "map" else 0.0
        return np.maximum(weight + self.alpha - less, 0.0), np.full(len(weight), max(self.alpha - less, 0.0))

    def leave_one_out(self, counts: Counts, fitted: Distribution, x: Any, codes: Codes, weight: Array | None) -> Array:
        """Only the row's own class changes, and there one combination. Which ones exist does not change."""
        assert isinstance(fitted, JointTable)
        out = fitted.log_density(x)
        at = fitted.places(x)
        rows = np.flatnonzero(at >= 0)  # a row with a gap was not counted
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
            there = (sums > 0) | ((spare[own] > 0) & (fitted.free > 0))
            shares = fitted.log_share(peak_left, sums, spare[own])
            out[rows, own] = np.where(there, shares, out[rows, own])
        return out


def combined(x: Categories) -> Categories:
    """One column of combinations, numbered in their sorted order; rows with a gap are missing."""
    codes, sizes = whole_numbers(x)
    complete = (codes >= 0).all(axis=1)
    rows = codes if complete.all() else codes[complete]
    number, one = number_rows(rows, sizes)
    seen = rows[one]
    columns = [seen[:, j] if x.keys is None else x.keys[j][seen[:, j]] for j in range(seen.shape[1])]
    keys = np.fromiter(zip(*(c.tolist() for c in columns), strict=True), dtype=object, count=len(seen))
    out = np.full((len(codes), 1), -1, dtype=np.int32)
    out[complete, 0] = number
    return Categories(out, (keys,))


def whole_numbers(x: Categories) -> tuple[Numbers, list[int]]:
    """The codes as integers, missing ones as −1, and how many each column may have."""
    sizes = category_sizes(x).tolist()  # which refuses what is no category's number
    if max(sizes) > 1 << 53:
        raise InvalidDataError(
            f"Column {int(np.argmax(sizes))} holds a category number of 2^53 or more: number categories 0, 1, 2, … or "
            "pass strings"
        )
    if x.codes.dtype.kind != "f":
        return x.codes.astype(np.int64), sizes
    return np.where(np.isnan(x.codes), -1.0, x.codes).astype(np.int64), sizes


def number_rows(codes: Numbers, sizes: Sequence[int]) -> tuple[Codes, Numbers]:
    """Number the distinct rows of digits 0 ≤ codes[:, j] < sizes[j] in sorted order; and one row for each."""
    number, reach = np.zeros(len(codes), dtype=np.int64), 1
    for j, size in enumerate(sizes):
        digit = codes[:, j]
        # What would be too many for an integer is numbered anew, by what there is.
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
    """The mass of each combination seen, and of every other one.

    `values` are the sorted values of each column, `seen` (combinations, columns) the positions in them of the
    combinations seen, `mass` (classes, combinations) what those weigh, `spare` (classes,) what every other one
    does. All masses, divided by their sum, are the probabilities.
    """

    values: tuple[Values, ...]
    seen: Numbers
    mass: Array
    spare: Array

    reads: ClassVar = "categories"
    support = CATEGORIES
    bends: ClassVar = "Every combination has a probability of its own: tables() shows them"

    @property
    def sizes(self) -> list[int]:
        """How many values each column has."""
        return [len(known) for known in self.values]

    @property
    def free(self) -> int:
        """How many combinations are possible and were not seen in any class."""
        return prod(self.sizes) - len(self.seen)

    @property
    def probability(self) -> Array:
        """The probability of each combination seen, (classes, combinations)."""
        return np.exp(self.log_share(self.mass, self._total, self.spare[:, None]))

    @property
    def _total(self) -> Array:
        return self.mass.sum(axis=1, keepdims=True)

    def log_share(self, mass: Array, total: Array, spare: Array, further: int = 0) -> Array:
        """Log mass / (total + spare · the number of combinations not seen); −inf where that is nothing.

        In logarithms, as there may be more combinations than a float can count.
        """
        free = self.free + further
        norm = np.logaddexp(log(np.asarray(total)), log(np.asarray(spare)) + (log_of(free) if free else -np.inf))
        return np.where(mass > 0, log(np.asarray(mass)) - np.where(norm > -np.inf, norm, 0.0), -np.inf)

    def log_density(self, x: Any) -> Array:
        """Log p(x | y) of every row under every class, (rows, classes), summed over what the gaps may hold."""
        codes = self._numbered(x)
        sizes = np.array(self.sizes)
        out = np.empty((len(codes), len(self.mass)))
        strange = (codes == sizes).any(axis=1)
        gaps = codes < 0
        kinds, one = number_rows(gaps.astype(np.int64), [2] * len(sizes))
        for kind, example in enumerate(one):
            rows = np.flatnonzero((kinds == kind) & ~strange)
            out[rows] = self._observed(codes[rows], ~gaps[example])
        out[strange] = self.log_share(self.spare, self._total[:, 0], self.spare, further=1)
        return out

    def _observed(self, codes: Numbers, known: NDArray[np.bool_]) -> Array:
        """Log of the share of all combinations that agree with the rows in the known columns."""
        if not known.any():
            return np.zeros((len(codes), len(self.mass)))
        found, distinct = self._matched(codes, known)
        mine, theirs = found[: len(self.seen)], found[len(self.seen) :]
        agreeing = np.bincount(mine, minlength=distinct)
        possible = prod(size for size, k in zip(self.sizes, known, strict=True) if not k)
        if possible < 1 << 53:
            unseen = log(possible - agreeing.astype(np.float64))
        else:
            unseen = np.full(distinct, log_of(possible))
        scores = np.empty((distinct, len(self.mass)))
        total = self.log_share(np.ones(len(self.mass)), self._total[:, 0], self.spare)  # −log of the norm
        spare = log(self.spare)
        for c, mass in enumerate(self.mass):
            counted = np.asarray(np.bincount(mine, weights=mass, minlength=distinct), dtype=np.float64)
            scores[:, c] = np.logaddexp(log(counted), spare[c] + unseen) + total[c]
        return scores[theirs]

    def _matched(self, codes: Numbers, known: NDArray[np.bool_]) -> tuple[Codes, int]:
        """Number the seen combinations and then the rows by their known columns, and say how many numbers."""
        both = np.concatenate([self.seen[:, known], codes[:, known]])
        found, one = number_rows(both, [size for size, k in zip(self.sizes, known, strict=True) if k])
        return found, len(one)

    def places(self, x: Any) -> Numbers:
        """Which combination each row is, −1 where it has a gap or was never seen."""
        codes = self._numbered(x)
        out = np.full(len(codes), -1, dtype=np.int64)
        whole = np.flatnonzero(((codes >= 0) & (codes < np.array(self.sizes))).all(axis=1))
        found, distinct = self._matched(codes[whole], np.ones(len(self.values), dtype=bool))
        place = np.full(distinct, -1, dtype=np.int64)
        place[found[: len(self.seen)]] = np.arange(len(self.seen))
        out[whole] = place[found[len(self.seen) :]]
        return out

    def _numbered(self, x: Any) -> Numbers:
        """The position of every entry among its column's values, one beyond for a new one, −1 for a gap."""
        x = as_categories(x)
        if x.keys is None:
            return self._positions(whole_numbers(x)[0])
        out = np.full(x.shape, -1, dtype=np.int64)
        for j, (mine, theirs) in enumerate(zip(self.values, x.keys, strict=True)):
            if len(theirs) and isinstance(theirs[0], str) != (mine.dtype.kind == "U"):
                before, now = ("strings", "numbers") if mine.dtype.kind == "U" else ("numbers", "strings")
                raise MismatchError(f"Column {j} held {before} in training and holds {now} here")
            number = {key: i for i, key in enumerate(mine.tolist())}
            translate = np.array([number.get(key, len(mine)) for key in theirs.tolist()] + [-1], dtype=np.int64)
            out[:, j] = translate[x.codes[:, j]]
        return out

    def _positions(self, numbers: Numbers) -> Numbers:
        for j, mine in enumerate(self.values):
            present = numbers[:, j] >= 0
            if mine.dtype.kind not in "iufb":
                if present.any():
                    raise MismatchError(f"Column {j} held strings in training and holds numbers here")
                continue
            at = np.searchsorted(mine, numbers[:, j])
            new = mine[np.minimum(at, len(mine) - 1)] != numbers[:, j]
            numbers[:, j] = np.where(present, np.where(new, len(mine), at), -1)
        return numbers

    def fill(self, x: Any, posterior: Array, codes: Codes, how: How, rng: np.random.Generator) -> NDArray[Any]:
        """Fill missing entries from the combinations seen that agree with the rest.

        By the most probable one under the posterior over classes, or by one drawn for the class of each row.
        """
        places = self._numbered(x)
        out = self._named(x, places)
        for i in np.flatnonzero((places < 0).any(axis=1)):
            known = places[i] >= 0
            agree = np.flatnonzero((self.seen[:, known] == places[i, known]).all(axis=1))
            agree = agree if len(agree) else np.arange(len(self.seen))  # nothing like it was seen: any will do
            if how != "sample":
                best = agree[np.argmax(posterior[i] @ self.mass[:, agree])]
            else:
                mass = self.mass[codes[i], agree]
                share = mass / mass.sum() if mass.sum() > 0 else None
                best = rng.choice(agree, p=share)
            for j in np.flatnonzero(~known):
                out[i, j] = self.values[j][self.seen[best, j]]
        return out

    def _named(self, x: Any, codes: Numbers) -> NDArray[Any]:
        """The entries as they were passed in, None where there is a gap."""
        x = as_categories(x)
        out = np.full(codes.shape, None, dtype=object)
        for j in range(codes.shape[1]):
            there = codes[:, j] >= 0
            own = x.codes[there, j].astype(np.int64)
            out[there, j] = own if x.keys is None else x.keys[j].astype(object)[own]
        return out

    def formula(self, names: Sequence[str]) -> list[Term]:
        """One table of combinations for every pattern of gaps, where there are at most four columns."""
        return [Term(", ".join(names), tuple(names), by_observed(names, lambda seen: self._formula_of(names, seen)))]

    def _formula_of(self, names: Sequence[str], shown: tuple[int, ...]) -> Formula:
        known = np.isin(np.arange(len(names)), shown)
        codes = np.unique(self.seen[:, known], axis=0)
        whole = np.zeros((len(codes), len(names)), dtype=np.int64)
        whole[:, known] = codes
        numbers = self._observed(whole, known)
        columns = [self.values[j][codes[:, i]].tolist() for i, j in enumerate(shown)]
        free = prod(size for size, k in zip(self.sizes, known, strict=True) if not k)
        norm = self.log_share(np.ones(len(self.mass)), self._total[:, 0], self.spare)
        otherwise = log(self.spare) + log_of(free) + norm
        out: Formula = Combinations(
            tuple(names[j] for j in shown), tuple(zip(*columns, strict=True)), numbers.T, otherwise
        )
        strange = Constant(self.log_share(self.spare, self._total[:, 0], self.spare, further=1))
        for j in shown:
            out = Where(Among(names[j], tuple(self.values[j])), out, strange)
        return out

    @property
    def n_columns(self) -> int:
        """How many columns the block has."""
        return len(self.values)

    @property
    def n_parameters(self) -> int:
        """One less than the possible combinations for each class."""
        return len(self.mass) * (prod(self.sizes) - 1)

    def tables(self, labels: Values, names: Sequence[str]) -> list[Table]:
        """One table: a row for each combination seen, and one for each of the others, if there are any."""
        columns = [known[at].tolist() for known, at in zip(self.values, self.seen.T, strict=True)]
        rows = [", ".join(map(str, combination)) for combination in zip(*columns, strict=True)]
        values = self.probability.T
        if self.free:
            rows.append("each other")
            values = np.vstack([values, np.exp(self.log_share(self.spare, self._total[:, 0], self.spare))])
        return [Table(", ".join(map(str, names)), rows, [str(label) for label in labels], values)]

    def sample(self, codes: Codes, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows of categories: numbers, or objects where they have names."""
        at = np.empty((len(codes), len(self.values)), dtype=np.int64)
        for c in np.unique(codes):
            rows = np.flatnonzero(codes == c)
            # A class of which no combination was counted draws from those of all classes.
            mass = self.mass[c] if self.mass[c].sum() + self.spare[c] > 0 else self.mass.sum(axis=0)
            reached = np.cumsum(mass)
            seen = np.exp(self.log_share(reached[-1:], reached[-1:], self.spare[c : c + 1]))[0]
            fresh = rng.random(len(rows)) >= seen
            drawn = np.searchsorted(reached, rng.random(len(rows)) * reached[-1], side="right")
            at[rows] = self.seen[np.minimum(drawn, len(reached) - 1)]
            at[rows[fresh]] = self._unseen(int(fresh.sum()), rng)
        columns = [known[at[:, j]] for j, known in enumerate(self.values)]
        if all(column.dtype.kind in "iu" for column in columns):
            return np.stack(columns, axis=1)
        out = np.empty(at.shape, dtype=object)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def _unseen(self, n: int, rng: np.random.Generator) -> Numbers:
        """Draw positions of combinations never seen, each as likely as any other."""
        if not n:
            return np.empty((0, len(self.values)), dtype=np.int64)
        if prod(self.sizes) >= 1 << 62:  # those seen are so few among all that none of them will be drawn
            return rng.integers(0, self.sizes, (n, len(self.values)))
        # Of all numbers the k-th that is not among those seen.
        number = np.zeros(len(self.seen), dtype=np.int64)
        for j, size in enumerate(self.sizes):
            number = number * size + self.seen[:, j]
        number.sort()
        k = rng.integers(0, self.free, n)
        k += np.searchsorted(number - np.arange(len(number)), k, side="right")
        return np.stack(np.unravel_index(k, self.sizes), axis=1).astype(np.int64)
