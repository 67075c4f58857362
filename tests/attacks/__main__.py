"""Run attacks: `python -m attacks --seconds 600 --seed 0 [name …]` with the folder `tests` on the path.

Each attack gets as many parts of the seconds as its module says in `PARTS`, one by default; what one leaves over goes
to the later ones. The exit status is 1 if a case failed.
"""

from __future__ import annotations

import argparse
import sys
import time

from attacks.found import ATTACKS
from attacks.tally import OUTCOMES


def main() -> int:
    """Run the attacks that were named, by default all, and print a table of what became of their cases."""
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"by default all: {', '.join(ATTACKS)}")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=None, help="by default another one in each run")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(ATTACKS))
    if unknown:
        parser.error(f"there is no attack {unknown[0]!r}: the attacks are {', '.join(ATTACKS)}")
    seed = time.time_ns() % 2**32 if options.seed is None else options.seed
    names, end = options.names or list(ATTACKS), time.monotonic() + options.seconds
    parts = [getattr(sys.modules[ATTACKS[name].__module__], "PARTS", 1) for name in names]
    lines, failed = [], 0
    for i, name in enumerate(names):
        share = max(end - time.monotonic(), 1.0) * parts[i] / sum(parts[i:])
        print(f"{name}: {share:.0f} s with seed {seed}", file=sys.stderr, flush=True)
        start = time.monotonic()
        tally = ATTACKS[name](share, seed)
        lines.append([name, *(str(tally[outcome]) for outcome in OUTCOMES), f"{time.monotonic() - start:.0f}"])
        failed += tally["failed"]
        for what in sorted(set(tally) - set(OUTCOMES)):
            print(f"{name}: {tally[what]} {what}", flush=True)
    table = [["attack", *OUTCOMES, "seconds"], *lines]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(f"{cell:{'<' if j == 0 else '>'}{widths[j]}}" for j, cell in enumerate(line)))
    if failed:
        print(
            f"{failed} cases failed. To see them again: python -m attacks --seconds {options.seconds:g} --seed {seed}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
