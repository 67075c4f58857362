"""Learning from Parquet files that need not fit into memory."""

from __future__ import annotations

from functools import partial
from statistics import median

from benchmarks.engines_data import COLUMNS, Files
from benchmarks.engines_process import measure
from benchmarks.harness import Case, Group, Measurement, Quantity, Settings, Target, agree, milliseconds, short

ROWS = 20_000_000
GROWTH = (100_000, 1_000_000, 10_000_000, 100_000_000)
MOST_REAL = 10_000_000  # rows; more are further names of the same files
MEMORY = 500.0  # MB


def groups(settings: Settings) -> list[Group]:
    """Ours against Polars and scikit-learn, and how cost grows with the rows."""
    rows = settings.rows(ROWS)
    shape = f"{short(rows)}×{COLUMNS}"
    compared = [
        Case(f"Parquet {shape} GaussianNB fit", Target(low=2.0, unit="×"), partial(_against_polars, settings=settings)),
        Case(f"Parquet {shape} GaussianNB peak memory", Target(high=MEMORY, unit=" MB"), partial(_memory, "gaussian")),
    ]
    for side, title in (("naive", "BayesClassifier(structure='naive')"), ("bayes", "BayesClassifier()")):
        fit = f"Parquet {shape} {title} fit and first answer ÷ GaussianNB"
        compared += [
            Case(fit, Target(high=2.5), partial(_against_gaussian, side, settings=settings)),
            Case(f"Parquet {shape} {title} peak memory", Target(high=MEMORY, unit=" MB"), partial(_memory, side)),
        ]
    return [Group(lambda: Files(rows), compared), *(_grown(settings.rows(each)) for each in GROWTH)]


def _grown(rows: int) -> Group:
    def build() -> Files:
        files = Files(min(rows, MOST_REAL))
        if rows > MOST_REAL:
            files.repeated(rows // MOST_REAL)
        return files

    name = f"growth {short(rows)}×{COLUMNS} GaussianNB"
    cases = [
        Case(f"{name} fit", None, partial(_single, "gaussian")),
        Case(f"{name} peak memory", None, partial(_memory, "gaussian")),
    ]
    return Group(build, cases)


def _against_polars(files: Files, settings: Settings) -> Measurement:
    """Times in turns, each in a process of its own."""
    ours, theirs = [], []
    for _ in range(min(settings.repeats, 3)):
        ours.append(measure("gaussian", files.pattern))
        theirs.append(measure("polars", files.pattern))
    agreement = agree([ours[0]["theta"], ours[0]["var"]], [theirs[0]["theta"], theirs[0]["var"]])
    a, b = ([run["seconds"] for run in side] for side in (ours, theirs))
    ratio = median(b) / median(a)
    memory = {f"{name}_mb": [run["peak_mb"] for run in side] for name, side in (("ours", ours), ("theirs", theirs))}
    details = {"ours_seconds": a, "theirs_seconds": b, "agreement": agreement, **memory}
    return Measurement(ratio, milliseconds(a), milliseconds(b), Quantity(ratio, "×"), details)


def _against_gaussian(side: str, files: Files, settings: Settings) -> Measurement:
    """Times in turns, each in a process of its own: what choosing families costs beside reading."""
    ours, base = [], []
    for _ in range(min(settings.repeats, 3)):
        ours.append(measure(side, files.pattern)["seconds"])
        base.append(measure("gaussian", files.pattern)["seconds"])
    ratio = median(ours) / median(base)
    details = {"ours_seconds": ours, "base_seconds": base}
    return Measurement(ratio, milliseconds(ours), None, Quantity(ratio, ""), details)


def _single(side: str, files: Files) -> Measurement:
    seconds = [measure(side, files.pattern)["seconds"] for _ in range(3)]
    return Measurement(median(seconds), milliseconds(seconds), details={"ours_seconds": seconds})


def _memory(side: str, files: Files) -> Measurement:
    found = Quantity(measure(side, files.pattern)["peak_mb"], " MB")
    return Measurement(found.value, found)
