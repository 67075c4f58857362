"""Write what `benchmarks.quality` found as Markdown, and into docs/quality.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.quality_models import Model
from benchmarks.tables import TEN, Quality

PAGE = Path(__file__).resolve().parent.parent / "docs" / "quality.md"
LEVEL = 0.001  # what differs by less is level
Results = Mapping[str, Mapping[str, Quality]]  # by table, then by model


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between `<!-- name begin -->` and `<!-- name end -->`; the prose around stays."""
    content, places = re.subn(
        rf"(<!-- {name} begin -->\n).*?(\n<!-- {name} end -->)",
        lambda found: f"{found[1]}\n{text}\n{found[2]}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if places != 1:
        raise ValueError(f"{page} must have one pair of marks <!-- {name} begin --> and <!-- {name} end -->")
    page.write_text(content, encoding="utf-8")


def summary(results: Results, models: Sequence[Model]) -> str:
    """Return accuracy / log-loss of all models on all tables, the means over the ten, and wins and losses."""
    heads = ["", *(model.title for model in models)]
    rows = [[name, *(both(found[m.name]) for m in models)] for name, found in results.items()]
    parts = ["Accuracy / log-loss:", table(heads, rows)]
    if set(TEN) <= set(results):
        parts += ["Means over the ten tables:", means({name: results[name] for name in TEN}, models)]
    ours, theirs = [m for m in models if not m.packages], [m for m in models if m.packages]
    if ours and theirs:
        parts += [f"Wins, level and losses of {ours[0].title} on the {len(results)} tables (level: within {LEVEL}):"]
        parts += [against(results, ours[0], theirs)]
    return "\n\n".join(parts)


def means(results: Results, models: Sequence[Model]) -> str:
    """Return the means over tables, a row for every model."""
    rows = []
    for model in models:
        mean = Quality(*np.mean([found[model.name] for found in results.values()], axis=0))
        folds = f"{mean.calibration_error_of_folds:.3f}"
        rows.append([model.title, *map("{:.3f}".format, mean[:3]), folds, *map(seconds, mean[-2:])])
    heads = ["mean of the ten", "accuracy", "log-loss", "calibration error", "the same by folds", "fit (s)"]
    return table([*heads, "predict (s)"], rows)


def against(results: Results, ours: Model, peers: Sequence[Model]) -> str:
    """Return how often ours is better than each peer, and where it is not."""
    heads = ["against", "accuracy", "log-loss", "calibration error", "its log-loss is lower on"]
    gains: list[Callable[[Quality, Quality], float]] = [
        lambda a, b: a.accuracy - b.accuracy,
        lambda a, b: b.log_loss - a.log_loss,
        lambda a, b: b.calibration_error - a.calibration_error,
    ]
    rows = []
    for peer in peers:
        pairs = {name: (found[ours.name], found[peer.name]) for name, found in results.items()}
        counts = [tally([gain(a, b) for a, b in pairs.values()]) for gain in gains]
        lost = [name for name, (a, b) in pairs.items() if gains[1](a, b) <= -LEVEL]
        rows.append([peer.title, *counts, ", ".join(lost) or "none"])
    return table(heads, rows)


def tally(gains: Sequence[float]) -> str:
    """Count wins, level and losses."""
    won, lost = sum(gain >= LEVEL for gain in gains), sum(gain <= -LEVEL for gain in gains)
    return f"{won} – {len(gains) - won - lost} – {lost}"


def per_table(results: Results, models: Sequence[Model]) -> str:
    """Return a table of everything for each table."""
    parts = []
    for name, found in results.items():
        rows = [[m.title, *map("{:.3f}".format, found[m.name][:3]), *map(seconds, found[m.name][-2:])] for m in models]
        parts.append(table([name, "accuracy", "log-loss", "calibration error", "fit (s)", "predict (s)"], rows))
    return "\n\n".join(parts)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown, its first column to the left."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def both(quality: Quality) -> str:
    """Return accuracy and log-loss in one cell."""
    return f"{quality.accuracy:.3f} / {quality.log_loss:.3f}"


def seconds(value: float) -> str:
    """Return a time to three digits at most."""
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"
