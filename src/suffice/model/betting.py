"""Bets against the claim that numbers which come one after another are exchangeable: nothing has changed.

Each number gets its rank among those before it, as a p-value: under the claim, p-values are independent and uniform
(Vovk, Gammerman, Shafer: Algorithmic Learning in a Random World, 2005), whatever the numbers are. A bet on p-values
multiplies a wealth of 1, and its expectation stays 1. So the wealth exceeds 1/α, ever, with a probability of at most α
(Ville, 1939): an alarm there is false with at most that probability, however long one watches.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from math import log1p

import numpy as np

from suffice.core.arrays import Array

SLOPES = (-1.8, -1.0, -0.4, 0.4, 1.0, 1.8)  # of bets 1 + s (p − ½): p-values are smaller, or larger, than before
POWERS = (0.3, 0.6)  # of bets k p^(k − 1), and of the same on 1 − p: some p-values are very small, or very large
ENDS = (0.02, 0.05, 0.1, 0.2)  # of bets that twice as many p-values are below q, or above 1 − q
BETS = len(SLOPES) + 2 * len(POWERS) + 2 * len(ENDS)
LEAST = 1e-12  # p-value
RECENT = 20_000  # p-values that are kept, to find since when


@dataclass
class Bets:
    """The wealth of bets on the numbers of one series.

    Bets begin at every row: of the wealth, 1 / (1 + log(1 + k)) waits for the rows after row k. So a change that comes
    late is found nearly as soon as one that comes early, and no length of a window is to be chosen.
    """

    seen: list[float] = field(default_factory=list)  # sorted
    rows: int = 0
    waiting: float = 1.0
    wealth: Array = field(default_factory=lambda: np.zeros(BETS))
    recent: list[float] = field(default_factory=list)  # the last p-values
    values: list[float] = field(default_factory=list)  # and the numbers themselves

    @property
    def total(self) -> float:
        """The wealth: its expectation is 1 as long as nothing changes."""
        return self.waiting + float(self.wealth.sum())

    def refer(self, values: Array) -> None:
        """Compare with numbers that came before, without betting on them."""
        self.seen = sorted([*self.seen, *values.tolist()])

    def bet(self, value: float, tie: float) -> float:
        """Bet on a number; `tie` is uniform between 0 and 1, and orders it among equal ones. Return the wealth."""
        below, equal = bisect_left(self.seen, value), bisect_right(self.seen, value)
        p = (below + tie * (equal - below + 1)) / (len(self.seen) + 1)
        insort(self.seen, value)
        self.rows += 1
        waiting = 1.0 / (1.0 + log1p(self.rows))
        self.wealth += (self.waiting - waiting) / BETS
        self.waiting = waiting
        self.wealth *= odds(np.array([p]))[0]
        self.recent.append(p)
        self.values.append(value)
        if len(self.recent) > 2 * RECENT:
            del self.recent[:RECENT], self.values[:RECENT]
        return self.total

    def since(self) -> tuple[int, float]:
        """Return the row that the best bet would have begun at, and how much numbers have changed from there on."""
        gains = np.log(odds(np.array(self.recent)))
        ahead = np.cumsum(gains[::-1], axis=0)[::-1]  # of a bet that begins at each row
        at = int(np.unravel_index(int(ahead.argmax()), ahead.shape)[0])
        values, first = np.array(self.values), self.rows - len(self.recent)
        before = values[:at] if at else values
        return first + at, float(values[at:].mean() - before.mean())


def odds(p: Array) -> Array:
    """Return what each bet pays at p-values, (values, bets); its integral over p is 1."""
    p = np.clip(p, LEAST, 1 - LEAST)[:, None]
    slopes, powers, ends = np.array(SLOPES), np.array(POWERS), np.array(ENDS)
    out = [1 + slopes * (p - 0.5)]
    for each in (p, 1 - p):
        out += [powers * each ** (powers - 1), np.where(each < ends, 2.0, (1 - 2 * ends) / (1 - ends))]
    return np.concatenate(out, axis=1)
