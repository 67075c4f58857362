"""Mutation testing: change one operator or number of the source at a time, and see whether a test fails.

    make mutants SECONDS=600

runs as many mutants as fit into the time, chosen at random by `--seed`, prints those that survive, and the share that
is killed. It works on a copy of the tree. Cosmic Ray makes the mutants; changes of annotations are left out.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).parents[1]

# What is mutated, and the tests that must notice: those that are about these modules and take seconds.
AREAS = {
    "core/statistics": ("statistics", "sample", "row_sample", "word_counts", "cells", "forgetting"),
    "families": (
        *("families", "leave_one_out", "kernels", "positive_families", "automatic", "binned", "mixture", "kernel"),
        *("multivariate_gaussian", "joint_categorical", "event_models"),
    ),
    "model": ("calibration", "storage", "formulas", "questions", "evaluation", "conditionals"),
    "engines": ("files", "checkpoints"),
}
# The finder of an editable install comes before PYTHONPATH: with it, tests would import sources that are not mutated.
FIND_THE_COPY = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable_skbc")]
"""
FOREIGN = ("engines/sql", "engines/spark", "engines/dask", "engines/ray", "engines/ibis")  # tests of real sessions
LONGEST = 300.0  # seconds for the tests of one mutant

# `X | None` is a type nearly everywhere, and `from __future__ import annotations` keeps it from running.
LEFT_OUT = ("ReplaceBinaryOperator_BitOr", "RemoveDecorator", "ExceptionReplacer")


def main() -> int:
    """Run the mutants of every area in turn until the time is over."""
    parser = argparse.ArgumentParser(description="Mutation testing on the fast tests.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help="what is mutated; everything by default")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        home = copy_of_the_tree(Path(folder))
        queues = {area: mutants(home, area, options.seed) for area in options.areas or AREAS}
        for area in queues:
            if (why := failure(home, area)) is not None:
                print(f"The tests of {area} fail without a change:\n{why}", file=sys.stderr)
                return 2
        end = time.monotonic() + options.seconds
        while queues and time.monotonic() < end:
            for area in list(queues):
                for mutant in islice(queues[area], 1):
                    outcomes[area][try_one(home, area, mutant)] += 1
                    break
                else:
                    del queues[area]
    print(f"\n{'area':<20}{'killed':>8}{'survived':>10}{'score':>8}")
    for area, found in [*outcomes.items(), ("together", sum(outcomes.values(), Counter()))]:
        killed, survived = found["killed"], found["survived"]
        print(f"{area:<20}{killed:>8}{survived:>10}{killed / max(killed + survived, 1):>8.0%}")
    return 0


def copy_of_the_tree(folder: Path) -> Path:
    """Copy the tracked files and the compiled module, so that a mutant never touches the sources."""
    home = folder / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    import suffice._core as native

    wanted = [name for name in tracked.split("\0") if name.startswith(("src/", "tests/", "docs/", "pyproject"))]
    for name in wanted:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, home / name)
    shutil.copy2(str(native.__file__), home / "src/suffice")
    (home / "src/sitecustomize.py").write_text(FIND_THE_COPY, encoding="utf-8")  # run by Python when it starts
    os.environ["PYTHONPATH"] = str(home / "src")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # a mutant and its source may have one time and one size
    os.chdir(home)
    found = subprocess.run(
        [sys.executable, "-c", "import suffice; print(suffice.__file__)"], capture_output=True, text=True, check=True
    ).stdout
    assert Path(found.strip()).is_relative_to(home), f"tests would import {found.strip()}, which is not mutated"
    return home


def command(area: str) -> str:
    """Return the command that runs the tests of an area, and stops at the first failure."""
    files = " ".join(f"tests/test_{name}.py" for name in AREAS[area])
    return f"{sys.executable} -m pytest -x -q -p no:cacheprovider -p no:randomly {files}"


def failure(home: Path, area: str) -> str | None:
    """Return what the tests of an area print if they fail, None if they pass."""
    done = subprocess.run(command(area).split(), cwd=home, capture_output=True, text=True, check=False)
    return done.stdout[-2000:] if done.returncode else None


def mutants(home: Path, area: str, seed: int) -> Iterator[MutationSpec]:
    """Return the mutants of an area in random order."""
    found = []
    for path in sorted((home / "src/suffice" / area).rglob("*.py")):
        name = path.relative_to(home / "src/suffice").as_posix()
        if name.startswith(FOREIGN) or (area == "engines" and "/sql/" in name):
            continue
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for operator_name in operator_names():
            operator = get_operator(operator_name)
            if operator.arguments() or any(part in operator_name for part in LEFT_OUT):
                continue
            places = [place for node in nodes for place in operator().mutation_positions(node)]
            found += [MutationSpec(path, operator_name, at, *place) for at, place in enumerate(places)]
    random.Random(seed).shuffle(found)
    print(f"{area}: {len(found)} mutants")
    return iter(found)


def try_one(home: Path, area: str, mutant: MutationSpec) -> str:
    """Run the tests of an area on one mutant, print it if it survives, and return "killed" or "survived"."""
    result = mutate_and_test([mutant], command(area), LONGEST)
    outcome = TestOutcome.KILLED if result.is_killed else TestOutcome.SURVIVED
    if outcome is TestOutcome.SURVIVED:
        lines = [
            line for line in (result.diff or "").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
        ]
        where = mutant.module_path.relative_to(home)
        print(f"survived: {where}:{mutant.start_pos[0]}\n  " + "\n  ".join(lines), flush=True)
    return outcome.value


if __name__ == "__main__":
    sys.exit(main())
