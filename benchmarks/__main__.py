"""Run the benchmarks, print the table and write it as JSON."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from importlib import import_module

from benchmarks.harness import AnswersDifferError, Case, Group, Outcome, Settings
from benchmarks.report import describe_environment, markdown_table, setting_lines, text_table, write_json

# What is measured together, and where its cases are; text, engines and boosting need peers that the models do without.
SUITES = {
    "models": ("naive_bayes", "discriminant_analysis", "densities", "classifier", "lightgbm_bins"),
    "text": ("text",),
    "engines": ("engines",),
    "boosting": ("boosting",),
}


def main() -> int:
    """Run what the command line asks for; fail only where answers differ."""
    options = read_options()
    settings = Settings(options.quick, options.repeats)
    homes = [import_module(f"benchmarks.{name}") for name in SUITES[options.suite]]
    everything = [g for home in homes for g in home.groups(settings)]
    chosen = choose(everything, options.only)
    if not everything:
        return 2
    if not chosen:
        print(f"no case has {options.only!r} in its name", file=sys.stderr)
        return 2
    environment = describe_environment()
    outcomes = run(chosen)
    peer = "scikit-learn (ms)" if options.suite == "models" else "theirs (ms)"
    print((markdown_table if options.markdown else text_table)(outcomes, peer))
    print("", *setting_lines(environment, options.suite), sep="\n", file=sys.stderr if options.markdown else sys.stdout)
    if settings.quick:
        print("a quick run: its ratios say little", file=sys.stderr)
    print(f"written to {write_json(outcomes, environment, settings, options.suite)}", file=sys.stderr)
    return int(any(o.failure for o in outcomes))


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="?", choices=SUITES, default="models", help="what to measure")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows, to see that everything runs")
    parser.add_argument("--only", metavar="SUBSTRING", default="", help="run only cases whose name contains this")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="rounds; scikit-learn runs in every second")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    return options


def choose(all_groups: list[Group], part: str) -> list[Group]:
    """Keep the cases whose name contains a string, whatever its capitals."""
    kept = [Group(g.build, [c for c in g.cases if part.lower() in c.name.lower()]) for g in all_groups]
    return [g for g in kept if g.cases]


def run(chosen: list[Group]) -> list[Outcome]:
    """Run all cases, telling of each as it ends."""
    outcomes: list[Outcome] = []
    total = sum(len(g.cases) for g in chosen)
    for group in chosen:
        print("preparing ... ", end="", file=sys.stderr, flush=True)
        start = time.perf_counter()
        data = group.build()
        print(f"({time.perf_counter() - start:.0f} s)", file=sys.stderr)
        for case in group.cases:
            print(f"[{len(outcomes) + 1}/{total}] {case.name} ... ", end="", file=sys.stderr, flush=True)
            start = time.perf_counter()
            outcomes.append(run_case(case, data))
            print(f"{_verdict(outcomes[-1])} ({time.perf_counter() - start:.0f} s)", file=sys.stderr)
            gc.collect()
        del data
        gc.collect()
    return outcomes


def run_case(case: Case, data: object) -> Outcome:
    """Measure one case; where the answers differ, say so instead."""
    try:
        return Outcome(case, case.measure(data))
    except AnswersDifferError as error:
        return Outcome(case, None, str(error))


def _verdict(outcome: Outcome) -> str:
    if outcome.measurement is None:
        return f"answers differ: {outcome.failure}"
    return str(outcome.measurement.ratio or outcome.measurement.ours)


if __name__ == "__main__":
    sys.exit(main())
