"""Bets against the claim that numbers which come one after another are exchangeable: nothing has changed.

Each number gets its rank among those before it, as a p-value: under the claim, p-values are independent and uniform
(Vovk, Gammerman, Shafer: Algorithmic Learning in a Random World, 2005), whatever the numbers are. A bet on p-values
multiplies a wealth of 1, and its expectation stays 1. So the wealth exceeds 1/α, ever, with a probability of at most α
(Ville, 1939): an alarm there is false with at most that probability, however long one watches.

Numbers are rounded to cells before they are ranked, by a rule that depends on the number alone, and equal ones are
ordered at random; so all of this holds of the cells too, exactly, and what is kept does not grow with the stream.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import asinh, floor, log, log1p

import numpy as np

from suffice.core.arrays import Array

SLOPES = (-1.8, -1.0, -0.4, 0.4, 1.0, 1.8)  # of bets 1 + s (p − ½): p-values are smaller, or larger, than before
POWERS = (0.3, 0.6)  # of bets k p^(k − 1), and of the same on 1 − p: some p-values are very small, or very large
ENDS = (0.02, 0.05, 0.1, 0.2, 0.35)  # of bets that more p-values are below q, or above 1 − q
TIMES = (1.4, 2.0)  # as many as are expected: a bet on twice as many loses where there are half as many more
BETS = len(SLOPES) + 2 * len(POWERS) + 2 * len(ENDS) * len(TIMES)
BEGINS, SPACING = 400, log1p(1 / 16)  # of bets on small changes: up to row 3e10
FINE = 1024  # cells for each e-fold of a number; as many between −1 and 1
LEAST = 1e-12  # p-value
RECENT = 5000  # p-values that are kept, to find since when


@dataclass
class Ranks:
    """How many numbers came before, in cells: 1/1024 wide near 0, and a thousandth of the number far from it."""

    cells: list[int] = field(default_factory=list)  # ascending
    counts: list[int] = field(default_factory=list)
    n: int = 0

    @staticmethod
    def cell(value: float) -> int:
        """Return the cell of a number."""
        return round(FINE * asinh(value))

    def add(self, value: float) -> tuple[int, int]:
        """Count a number; return how many before it were in lower cells, and how many in its own."""
        cell = self.cell(value)
        at = bisect_left(self.cells, cell)
        below = sum(self.counts[:at])
        own = self.counts[at] if at < len(self.cells) and self.cells[at] == cell else 0
        if own:
            self.counts[at] += 1
        else:
            self.cells.insert(at, cell)
            self.counts.insert(at, 1)
        self.n += 1
        return below, own


@dataclass
class Bets:
    """The wealth of bets on the numbers of one series.

    Bets begin at every row: of the wealth, `waits(k)` is not put into bets before row k. So a change that comes late is
    found nearly as soon as one that comes early, and no length of a window is to be chosen.
    """

    seen: Ranks = field(default_factory=Ranks)
    rows: int = 0
    waiting: float = 1.0
    wealth: Array = field(default_factory=lambda: np.zeros(BETS))
    recent: list[float] = field(default_factory=list)  # the last p-values
    values: list[float] = field(default_factory=list)  # and the numbers themselves
    usual: float = 0.0  # the mean of all numbers but the last ones
    n_usual: int = 0

    @property
    def total(self) -> float:
        """The wealth: its expectation is 1 as long as nothing changes."""
        return self.waiting + float(self.wealth.sum())

    def refer(self, values: Array) -> None:
        """Compare with numbers that came before, without betting on them."""
        for value in values.tolist():
            self.seen.add(value)
            self._usual([value])

    def _usual(self, values: list[float]) -> None:
        self.n_usual += len(values)
        self.usual += sum(value - self.usual for value in values) / self.n_usual

    def bet(self, value: float, tie: float) -> float:
        """Bet on a number; `tie` is uniform between 0 and 1, and orders it among equal ones. Return the wealth."""
        below, equal = self.seen.add(value)
        p = (below + tie * (equal + 1)) / self.seen.n
        self.rows += 1
        waiting = waits(self.rows)
        self.wealth += (self.waiting - waiting) / BETS
        self.waiting = waiting
        self.wealth *= odds(np.array([p]))[0]
        self.recent.append(p)
        self.values.append(value)
        if len(self.recent) > 2 * RECENT:
            self._usual(self.values[:RECENT])
            del self.recent[:RECENT], self.values[:RECENT]
        return self.total

    def since(self) -> tuple[int, float]:
        """Return the row that the best bet would have begun at, and how much numbers have changed from there on."""
        gains = np.log(odds(np.array(self.recent)))
        ahead = np.cumsum(gains[::-1], axis=0)[::-1]  # of a bet that begins at each row
        at = int(np.unravel_index(int(ahead.argmax()), ahead.shape)[0])
        values, first = np.array(self.values), self.rows - len(self.recent)
        n = self.n_usual + at
        before = (self.usual * self.n_usual + values[:at].sum()) / n if n else values.mean()
        return first + at, float(values[at:].mean() - before)


def waits(row: int) -> float:
    """Return the share of the wealth that waits for the rows after a row.

    Half of it is put into bets at every row, 1 / (1 + log(1 + k)) waiting after row k: for large changes, which are
    found in a few rows. A small change takes hundreds of rows, and it costs little to begin some rows before it: the
    other half is put into bets at 400 rows, each a sixteenth further than the one before, as much at each.
    """
    begun = 0.0 if not row else min((floor(log(row) / SPACING) + 1) / BEGINS, 1.0)
    return 0.5 / (1.0 + log1p(row)) + 0.5 * (1.0 - begun)


def odds(p: Array) -> Array:
    """Return what each bet pays at p-values, (values, bets); its integral over p is 1."""
    p = np.clip(p, LEAST, 1 - LEAST)[:, None]
    slopes, powers, ends = np.array(SLOPES), np.array(POWERS), np.array(ENDS)
    out = [1 + slopes * (p - 0.5)]
    for each in (p, 1 - p):
        out.append(powers * each ** (powers - 1))
        out += [np.where(each < ends, times, (1 - times * ends) / (1 - ends)) for times in TIMES]
    return np.concatenate(out, axis=1)
