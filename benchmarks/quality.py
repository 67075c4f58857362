"""How good the answers are: BayesClassifier and its peers, with their defaults, on tables of many kinds.

SUFFICE_DATA=… python -m benchmarks.quality [--only TABLE] [--models ours,lightgbm] [--fresh] [--speed]

A run of all models on all tables writes its results into docs/quality.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from benchmarks.harness import Settings
from benchmarks.quality_models import Model, choose
from benchmarks.quality_page import per_table, summary, write_section
from benchmarks.report import describe_environment, markdown_table, setting_lines
from benchmarks.tables import NAMES, Quality, Table, measure

CACHE = Path(__file__).resolve().parent.parent / "build" / "quality"


def main() -> int:
    """Judge, print, and write the page where nothing is left out."""
    options = read_options()
    if not os.environ.get("SUFFICE_DATA"):
        print("SUFFICE_DATA must name the folder of adult-train.parquet, adult-test.parquet, tables/", file=sys.stderr)
        return 2
    try:
        chosen, names = choose(options.models), choose_tables(options.only)
        versions = {model.name: model.version for model in chosen}
    except (ValueError, PackageNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    environment = describe_environment()
    results = {name: judge(name, chosen, versions, options.fresh) for name in names}
    everything = not options.models and not options.only
    setting = "\n\n".join(setting_lines(environment, "quality"))
    for name, text in (("summary", summary(results, chosen)), ("tables", per_table(results, chosen))):
        print(text + "\n")
        if everything:
            write_section(name, f"{text}\n\n{setting}" if name == "summary" else text)
    print(setting)
    return measure_speed() if options.speed else 0


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", default="", help="tables, by their names between commas")
    parser.add_argument("--models", metavar="NAMES", default="", help="such as ours,lightgbm; `ours` are all of ours")
    parser.add_argument("--fresh", action="store_true", help="judge peers anew, not from build/quality")
    parser.add_argument("--speed", action="store_true", help="also time ours and LightGBM in turns, on a million rows")
    return parser.parse_args()


def choose_tables(names: str) -> list[str]:
    """Choose tables by the names between commas, nothing for all."""
    chosen = [name for name in names.split(",") if name]
    for name in chosen:
        if name not in NAMES:
            raise ValueError(f"There is no table {name!r}; there are {', '.join(NAMES)}")
    return chosen or list(NAMES)


def judge(name: str, chosen: Sequence[Model], versions: dict[str, str], fresh: bool) -> dict[str, Quality]:
    """Judge models on one table; a peer of the same version as before only where a fresh result is asked for."""
    table, found = Table.read(name), {}
    for model in chosen:
        file = CACHE / f"{name.replace(' ', '-')}-{model.name}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if model.packages and file.exists() and not fresh else {}
        if kept.get("version") == versions[model.name] and set(Quality._fields) == set(kept) - {"version"}:
            found[model.name] = Quality(**{field: kept[field] for field in Quality._fields})
            continue
        print(f"{name}: {model.title} ... ", end="", file=sys.stderr, flush=True)
        quality = found[model.name] = measure(model.make, table)
        print(f"{quality.accuracy:.3f} / {quality.log_loss:.3f}", file=sys.stderr)
        CACHE.mkdir(parents=True, exist_ok=True)
        kept = {"version": versions[model.name], **quality._asdict()}
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return found


def measure_speed() -> int:
    """Time ours and LightGBM in turns, and write that part of the page."""
    from benchmarks.__main__ import run
    from benchmarks.boosting import groups

    environment, outcomes = describe_environment(), run(groups(Settings()))
    table = markdown_table(outcomes, "LightGBM (ms)")
    print(table)
    write_section("speed", "\n\n".join([table, *setting_lines(environment, "boosting")]))
    return int(any(outcome.failure for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
