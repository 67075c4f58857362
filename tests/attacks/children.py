"""Cases that run in a process of their own, so that a crash is seen and named, and the attack goes on after it.

A module of cases defines `cases()`, which prepares them, and gives a function from the name of a case, "seed-number",
to its title and a function that tries it. That returns "refused", "answered", or what is wrong. A title of None is no
case.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from attacks.tally import Tally

Cases: TypeAlias = Callable[[str], tuple[str | None, Callable[[], str]]]


def run(module: str, seed: int, first: int, seconds: float) -> None:
    """Try cases until the seconds have passed, and print the title and the outcome of each. This is the child."""
    cases: Cases = import_module(module).cases()
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end or number == first:
        title, attempt = cases(f"{seed}-{number}")
        if title is not None:
            print(number, ascii(title), flush=True)
            print(ascii(attempt()), flush=True)
        number += 1


def attack(module: str, seconds: float, seed: int) -> Tally:
    """Run the cases of a module in a child, and start another child after the case that ended it."""
    tally, first, end = Tally(), 0, time.monotonic() + seconds
    while first == 0 or time.monotonic() < end:
        command = (
            f"from attacks.children import run; run({module!r}, {seed}, {first}, {max(end - time.monotonic(), 0.5)})"
        )
        child = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", command],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        lines = child.stdout.splitlines()
        for case, outcome in zip(lines[::2], lines[1::2], strict=False):
            tally["tried"] += 1
            if outcome.strip("'") in ("refused", "answered"):
                tally[outcome.strip("'")] += 1
            else:
                tally.fail(f"case {seed}-{case}", outcome.encode().decode("unicode_escape"))
        if child.returncode == 0:
            break
        lost = lines[-1] if len(lines) % 2 else f"{first} before the first case"
        tally["tried"] += 1
        tally.fail(f"case {seed}-{lost}", f"the process ended with {child.returncode}: {child.stderr[:2000]}")
        first = int(lost.split()[0]) + 1
    return tally
