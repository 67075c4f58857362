"""Changes that are found, how late, and false alarms: the monitor beside the detectors of river on its own streams.

python -m benchmarks.drift [--repeats N] [--only SUBSTRING]

A classifier learns 1000 rows. Then 2000 rows of the same stream come, and 2000 of another, or of the same again. The
detectors of river watch the errors of the same classifier, as is usual; the monitor watches its probabilities.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from typing import Any

import suffice as sf

LEARNED, BEFORE, AFTER = 1000, 2000, 2000
RATE = 0.01
FIRST_SEED = 5000  # the bets of the monitor were chosen on streams with seeds below 2000: these are others

Stream = Callable[[int, bool], Iterator[tuple[dict[str, Any], Any]]]


def sea(seed: int, changed: bool) -> Any:
    """Three numbers; the labels given them change."""
    from river.datasets import synth

    return iter(synth.SEA(variant=3 if changed else 0, seed=seed, noise=0.1))


def agrawal(seed: int, changed: bool) -> Any:
    """Nine columns of loans; the labels given them change."""
    from river.datasets import synth

    return iter(synth.Agrawal(classification_function=3 if changed else 0, seed=seed, perturbation=0.05))


def led(seed: int, changed: bool) -> Any:
    """Seven lights of a digit, and 17 columns of noise; four columns are exchanged."""
    from river.datasets import synth

    if not changed:
        return iter(synth.LED(seed=seed, noise_percentage=0.1, irrelevant_features=True))
    return iter(synth.LEDDrift(seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4))


STREAMS: dict[str, Stream] = {"SEA": sea, "Agrawal": agrawal, "LED": led}


def columns(rows: list[tuple[dict[str, Any], Any]]) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return the columns of rows, as strings where they are numbers of a few values, and their labels."""
    names = list(rows[0][0])
    return {str(name): [row[name] for row, _ in rows] for name in names}, [str(label) for _, label in rows]


def detectors() -> dict[str, Callable[[], Any]]:
    """The detectors of river, as they come."""
    from river import drift

    return {"ADWIN": drift.ADWIN, "KSWIN": drift.KSWIN, "PageHinkley": drift.PageHinkley, "DDM": drift.binary.DDM}


def one(stream: Stream, seed: int, changes: bool) -> dict[str, int | None]:
    """Return the row at which each detector raised its first alarm, counted from the end of learning."""
    same = stream(seed, False)
    first = [*islice(same, LEARNED)]
    later = [*islice(same, BEFORE)]
    later += [*islice(stream(seed + 1000, True), AFTER)] if changes else [*islice(same, AFTER)]
    x, y = columns(first)
    clf = sf.BayesClassifier().fit(x, y)
    monitor, (x, y) = sf.Monitor(clf, rate=RATE, random_state=seed), columns(later)
    monitor.update(x, y)
    found: dict[str, int | None] = {"Monitor": min((alarm.row for alarm in monitor.alarms_), default=None)}
    wrong = [int(a != b) for a, b in zip(clf.predict(x).tolist(), y, strict=True)]
    for name, make in detectors().items():
        detector, found[name] = make(), None
        for i, error in enumerate(wrong):
            detector.update(error)
            if detector.drift_detected:
                found[name] = i
                break
    return found


def main() -> None:
    """Print a line for each stream and detector."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="streams of each kind")
    parser.add_argument("--only", metavar="SUBSTRING", default="", help="only streams whose name contains this")
    options = parser.parse_args()
    n = options.repeats
    print(f"| stream | detector | found, of {n} | median delay, rows | alarms before the change | alarms without one |")
    print("|---|---|---|---|---|---|")
    for title, stream in STREAMS.items():
        if options.only not in title:
            continue
        changed = [one(stream, FIRST_SEED + i, True) for i in range(n)]
        same = [one(stream, FIRST_SEED + i, False) for i in range(n, 2 * n)]
        for name in changed[0]:
            rows = [each[name] for each in changed]
            delays = [row - BEFORE for row in rows if row is not None and row >= BEFORE]
            early = sum(row is not None and row < BEFORE for row in rows)
            false = sum(each[name] is not None for each in same)
            delay = f"{median(delays):.0f}" if delays else ""
            print(f"| {title} | {name} | {len(delays)} | {delay} | {early} | {false} of {n} |", flush=True)


if __name__ == "__main__":
    main()
