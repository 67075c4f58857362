"""Rows without any label: a mixture of clusters, found by EM on the same statistics.

The model of k clusters is p(x) = Σ_y π_y p(x | y), with the families of a classifier. Each row is divided among the
clusters by its posterior, and the statistics of the parts give the next model (`unlabelled.divided`).

EM ends at the top of the hill it begins on, so it begins at several places. Each begin is k rows that are far from each
other, as by k-means++ (Arthur and Vassilvitskii, 2007), where the distance of a row x from a seed s is what x loses in
log-density if the cluster is that of s and not its own,

    D(x, s) = log p(x | x) − log p(x | s),     p(· | s) estimated from s and an average row

For Gaussian numbers this is a squared distance, and it is defined for columns of any kind, for gaps and for texts.

The number of clusters is chosen by rows that are left out: the smallest by which they are as probable as by the best
number, but for one standard error of the difference, row by row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from suffice.core.arrays import Array, Positions
from suffice.core.statistics import ByClass
from suffice.model.learned import Learned
from suffice.model.unlabelled import TINY, divided, is_better

LOG = logging.getLogger(__name__)

CANDIDATES = 25  # rows for each cluster that seeds are chosen from
MOST_CANDIDATES = 300
TRIALS = 3  # rows that are tried for each seed, of which the best is taken
SHORT = 10  # passes of a begin, after which the best are gone on with
BEST = 3  # begins that are gone on with
STEPS = 300  # passes at most
NEAR = 1e-5  # nats a row: a pass that gains less ends EM
ROUGHLY = 2e-4  # the same where rows are left out
FOLDS = 3  # in which rows are left out, to choose the number of clusters
PATIENCE = 3  # numbers of clusters without a gain, after which no larger one is tried

Divide: TypeAlias = Callable[[Learned], "ByClass[Any] | None"]


@dataclass(frozen=True)
class SomeRows:
    """Rows in memory, read by a family, and their weights."""

    rows: Any
    weight: Array

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.weight)

    def take(self, at: Positions) -> SomeRows:
        """Return some of them."""
        return SomeRows(self.rows[at], self.weight[at])

    def divide(self, learned: Learned) -> ByClass[Any] | None:
        """Summarize them, divided among the clusters."""
        return divided(learned, None, self.rows, self.weight, TINY)

    def assign(self, learned: Learned) -> Learned:
        """Return the clusters of the rows that are nearest to each of these."""
        nearest = learned.model.relative_log_conditional(self.rows).argmax(axis=1)
        return replace(learned, seen=learned.family.summarize(self.rows, learned.labels[nearest], self.weight))

    def mean_log_density(self, learned: Learned) -> float:
        """Return the mean of log p(x)."""
        return float(self.weight @ self.log_density(learned) / self.weight.sum())

    def log_density(self, learned: Learned) -> Array:
        """Return log p(x) of each, none of them impossible."""
        return np.maximum(np.asarray(learned.log_density(self.rows), np.float64), -1e6)


def seeded(one: Learned, rows: SomeRows, k: int, rng: np.random.Generator) -> Learned:
    """Return k clusters around rows that are far from each other; `one` is the model of all rows as one cluster."""
    if k == 1:
        return one
    most = min(rows.n, max(CANDIDATES * k, 4), max(MOST_CANDIDATES, k))
    some = rows.take(np.sort(rng.choice(rows.n, most, replace=False)))
    apart = _around(one, some)
    log_p = apart.model.log_conditional(some.rows)
    far = np.maximum(np.diagonal(log_p)[:, None] - log_p, 0.0)  # (row, seed)
    first = int(rng.choice(most, p=some.weight / some.weight.sum()))
    chosen, nearest = [first], far[:, first]
    for _ in range(1, k):
        loss = some.weight * nearest
        p = loss / loss.sum() if loss.sum() > 0 else np.full(most, 1.0 / most)
        tried = rng.choice(most, TRIALS, p=p)
        after = [some.weight @ np.minimum(nearest, far[:, each]) for each in tried]
        best = int(tried[int(np.argmin(after))])
        chosen.append(best)
        nearest = np.minimum(nearest, far[:, best])
    # Around one row each, clusters are nearly alike; parts of all rows in all of them would stay so for long.
    return rows.assign(_around(one, some.take(np.array(chosen))))


def _around(one: Learned, seeds: SomeRows) -> Learned:
    """Return a cluster for each seed: the row, and an average row."""
    labels = np.arange(seeds.n)
    own = one.family.summarize(seeds.rows, labels)
    average = one.seen.scale(1.0 / float(one.seen.weight.sum()))
    shared = replace(average.take(np.zeros(seeds.n, dtype=np.int64)), labels=labels)
    return replace(one, seen=own + shared)


def climbed(
    start: Learned, divide: Divide, judges: SomeRows, steps: int = STEPS, near: float = NEAR
) -> tuple[Learned, float, int]:
    """Repeat both steps of EM; return the clusters, the mean log-density of the judges, and the number of passes.

    A cluster that no row is divided to any more is gone.
    """
    found, before = start, -np.inf
    for step in range(1, steps + 1):
        parts = divide(found)
        assert parts is not None, "there are rows"
        found = replace(found, seen=parts)
        reached = judges.mean_log_density(found)
        if reached - before < near:
            return found, reached, step
        before = reached
    return found, before, steps


def mixture(
    one: Learned, rows: SomeRows, k: int, begins: int, rng: np.random.Generator, best: int = BEST, near: float = NEAR
) -> Learned:
    """Return k clusters of rows in memory: those by which they are most probable, of several begins."""
    if k == 1:
        return one
    short = [climbed(seeded(one, rows, k, rng), rows.divide, rows, SHORT) for _ in range(begins)]
    short.sort(key=lambda each: (len(each[0].labels), each[1]), reverse=True)
    full = [climbed(each, rows.divide, rows, near=near) for each, _, _ in short[:best]]
    return max(full, key=lambda each: (len(each[0].labels), each[1]))[0]


@dataclass(frozen=True)
class Judged:
    """How probable rows that were left out are by a number of clusters."""

    form: str
    k: int
    log_p: Array  # of each row
    weight: Array

    @property
    def mean(self) -> float:
        """The mean of log p(x)."""
        return float(self.weight @ self.log_p / self.weight.sum())

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        share = self.weight / self.weight.sum()
        return float(np.sqrt(share**2 @ (self.log_p - self.mean) ** 2))


def fewest(tried: Sequence[Judged]) -> Judged:
    """Return the smallest number of clusters that is not worse than the best by more than a standard error."""
    best = max(tried, key=lambda each: each.mean)
    enough = [each for each in tried if not is_better(-best.log_p, -each.log_p, best.weight)]
    return max(enough, key=lambda each: (-each.k, each.mean))


def judged(
    form: str,
    one: Learned,
    rows: SomeRows,
    numbers: Sequence[int],
    begins: int,
    seed: Any,
    done: Callable[[], None],
) -> list[Judged]:
    """Judge numbers of clusters, from few to many, until no more help; `one` is all rows as one cluster."""
    rng = np.random.default_rng(seed)
    fold = rng.permutation(rows.n) % FOLDS
    parts = [(rows.take(np.flatnonzero(fold != each)), np.flatnonzero(fold == each)) for each in range(FOLDS)]
    parts = [part for part in parts if len(part[1]) and part[0].n]
    ones = [
        replace(one, seen=one.family.summarize(rest.rows, np.zeros(rest.n, np.int64), rest.weight)) for rest, _ in parts
    ]
    out: list[Judged] = []
    for k in numbers:
        done()
        if any(rest.n < k for rest, _ in parts) or not parts:
            break
        log_p = np.zeros(rows.n)
        for (rest, held), alone in zip(parts, ones, strict=True):
            log_p[held] = rows.take(held).log_density(mixture(alone, rest, k, begins, rng, 1, ROUGHLY))
        out.append(Judged(form, k, log_p, rows.weight))
        LOG.info("%s, %d clusters: log p(x) of rows left out %.4f ± %.4f", form, k, out[-1].mean, out[-1].error)
        if len(out) - 1 - max(range(len(out)), key=lambda i: out[i].mean) >= PATIENCE:
            break
    return out


def by_size(found: Learned) -> Learned:
    """Number the clusters from the largest to the smallest."""
    seen = found.seen
    order = np.argsort(-seen.weight, kind="stable")
    return replace(found, seen=replace(seen.take(order), labels=np.arange(len(order))))
