"""Write outcomes as a table for people and as JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness import Outcome, Quantity, Settings

RESULTS = Path(__file__).resolve().parent / "results"
PEERS = (  # of text, engines and quality; named where they are there
    "polars", "vowpalwabbit", "fasttext-wheel", "river", "pyarrow", "duckdb", "ibis-framework", "pyspark", "dask",
    "ray", "lightgbm", "xgboost", "xgboost-cpu",
)  # fmt: skip
CARE = {
    "models": "Answers were equal to 1e-8 + 1e-9 |answer| before any time counted; to 1e-8 + 1e-7 |answer| for "
    "one-row calls, to 1e-4 + 1e-5 |answer| for float32, to 1e-3 + 1e-3 |answer| for kernel densities; fits of "
    "mixtures had as high a mean log-likelihood up to 1e-3; BayesClassifier and its peer are different models, "
    "both of sensible accuracy.",
    "text": "Before any time counted, counts of words were equal, posteriors equal to scikit-learn's and river's to "
    "1e-8 + 1e-9 |answer|, and left out ones to those of fits without the document to 1e-9 + 1e-9 |answer|; Vowpal "
    "Wabbit and fastText are different models, of an accuracy of at least 0.7.",
    "engines": "Means and variances were equal to scikit-learn's to 1e-8 + 1e-9 |answer|, means to MLlib's to 1e-8 + "
    "1e-6 |answer|. Files were in the page cache; times are without the start of sessions.",
    "boosting": "Different models: their answers are not compared, both are of sensible accuracy. A fit includes the "
    "answer for one row, because suffice computes its parameters when they are first asked for.",
    "quality": "Seconds are of one fold, from Arrow on, of a single run; those of peers may be of an earlier one.",
}


def text_table(outcomes: Sequence[Outcome], peer: str) -> str:
    """Write a table in columns of even width, numbers to the right."""
    rows = [_heads(peer), *(_cells(o) for o in outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in _columns(row, widths)) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(outcomes: Sequence[Outcome], peer: str) -> str:
    """Write the same table in Markdown."""
    heads = _heads(peer)
    lines = ["| " + " | ".join(row) + " |" for row in [heads, *(_cells(o) for o in outcomes)]]
    return "\n".join([lines[0], "|:--|" + "--:|" * (len(heads) - 1), *lines[1:]])


def setting_lines(environment: dict[str, Any], suite: str) -> list[str]:
    """Say on what machine, with what versions and when the run was made, and how answers were compared."""
    machine, versions = environment["machine"], environment["versions"]
    computer = f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}"
    return [
        f"{computer}; load before the run {machine['load_before']}",
        ", ".join(f"{name} {number}" for name, number in versions.items()),
        environment["date"],
        CARE[suite],
    ]


def describe_environment() -> dict[str, Any]:
    """Collect the machine, the versions and the date."""
    installed = {d.name.lower() for d in distributions()}
    packages = ("numpy", "scipy", "scikit-learn", "suffice", *(p for p in PEERS if p in installed))
    return {
        "machine": {
            "cpu": _cpu_name(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 1e9),
            "load_before": round(psutil.getloadavg()[0], 2),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_json(outcomes: Sequence[Outcome], environment: dict[str, Any], settings: Settings, suite: str) -> Path:
    """Write everything that was measured, single times included; the models' file is called latest.json."""
    file = RESULTS / ("latest.json" if suite == "models" else f"{suite}.json")
    RESULTS.mkdir(parents=True, exist_ok=True)
    content = {
        **environment,
        "settings": {"quick": settings.quick, "repeats": settings.repeats},
        "cases": [_record(o) for o in outcomes],
    }
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def _heads(peer: str) -> tuple[str, ...]:
    return ("case", "ours (ms)", peer, "ratio", "target", "reached")


def _columns(row: Sequence[str], widths: Sequence[int]) -> Any:
    return enumerate(zip(row, widths, strict=True))


def _cells(outcome: Outcome) -> tuple[str, ...]:
    case, found = outcome.case, outcome.measurement
    target = "–" if case.target is None else str(case.target)
    if found is None:
        return (case.name, "–", "–", "answers differ", target, "no")
    reached = {None: "–", True: "yes", False: "no"}[outcome.reached]
    return (case.name, _text(found.ours), _text(found.theirs), _text(found.ratio), target, reached)


def _text(quantity: Quantity | None) -> str:
    return "–" if quantity is None else str(quantity)


def _record(outcome: Outcome) -> dict[str, Any]:
    case, found = outcome.case, outcome.measurement
    record: dict[str, Any] = {"case": case.name, "target": case.target and str(case.target), "reached": outcome.reached}
    if found is None:
        return {**record, "failure": outcome.failure}
    for name in ("ours", "theirs", "ratio"):
        quantity = getattr(found, name)
        record[name] = quantity and quantity.value
        record[f"{name}_unit"] = quantity and (quantity.unit.strip() or ("" if name == "ratio" else "ms"))
    return {**record, "judged": found.judged, "details": found.details}


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
