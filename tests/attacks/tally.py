"""The count of what became of the cases of an attack, and the clock that ends it."""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from suffice.errors import SufficeError

OUTCOMES = ("tried", "refused", "answered", "failed")
SHOWN = 20  # failures are printed in full up to this many


class Tally(Counter[str]):
    """Counts of cases by outcome: `tried`, `refused` by a named error, `answered`, `failed`."""

    def attempt(
        self, case: str, step: Callable[[], object], refusals: tuple[type[Exception], ...] = (SufficeError,)
    ) -> bool:
        """Run one case: an answer and a refusal by a named error are well, everything else is a failure.

        `case` says how to reproduce it. `step` raises AssertionError if the answer is wrong. Warnings are ignored.
        """
        self["tried"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step()
        except refusals:
            self["refused"] += 1
        except Exception:
            self.fail(case, traceback.format_exc())
            return False
        else:
            self["answered"] += 1
        return True

    def fail(self, case: str, why: str) -> None:
        """Count a failure, and print the case and why it failed."""
        self["failed"] += 1
        if self["failed"] <= SHOWN:
            print(f"FAILED {case}\n{why}", file=sys.stderr, flush=True)


def until(seconds: float, seed: int) -> Iterator[tuple[str, np.random.Generator]]:
    """Yield cases until the seconds have passed, at least one: its name, and a random generator of its own.

    The name is the seed of the case, "seed-number". `generator(name)` gives the same generator again.
    """
    end, number = time.monotonic() + seconds, 0
    while number == 0 or time.monotonic() < end:
        name = f"{seed}-{number}"
        yield name, generator(name)
        number += 1


def generator(name: str) -> np.random.Generator:
    """Return the random generator of the case of that name, to reproduce it alone."""
    return np.random.default_rng([int(part) for part in name.split("-")])
