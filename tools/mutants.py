"""Mutation testing: change one operator or number of the source at a time, and see whether a test fails.

    make mutants                             # the sample of docs/testing.md, some minutes to an hour
    make mutants ARGS="model/joint"          # one area
    make mutants ARGS=--survivors            # only what no test noticed the last time
    make mutants ARGS="--seed 1 --share 2"   # another sample, twice as large

A seed gives the same sample of the same sources: in each area, each module gets its share of the mutants by the number
of places that can be changed, and each place counts once, whatever the number of changes that Cosmic Ray knows for it.
A mutant runs the tests that run the changed line, the shortest and those of its module first, up to `LONGEST` seconds
of them; what is changed at import runs the tests of the whole module. Everything works on a copy of the tree, in
processes that are forked from one that has imported the libraries. Mutants that no test can notice are listed in
`tools/equivalent_mutants.toml`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import coverage
import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "build" / "mutants.json"  # what became of the mutants of the last run
OBSERVED = ROOT / "build" / "observed"  # which tests run which lines, of files of tests that did not change since
PAGE = ROOT / "docs" / "testing.md"
LOG = ROOT / "build" / "mutants.log"  # what the tests of the last mutant print
LONGEST = 20.0  # seconds of the processor that the tests of one mutant take without it; others are left out
LIMIT = 100  # numbers from here on that a module names are not changed by one
PATIENCE = 30.0  # seconds more than thrice that, after which a mutant that does not end counts as killed
WAITING = 20  # times these seconds by the clock: on a busy machine, and for a mutant that waits for ever


@dataclass(frozen=True)
class Area:
    """What is mutated, how many mutants are tried, and the tests that must notice: those that take seconds."""

    sources: tuple[str, ...]
    mutants: int
    tests: tuple[str, ...]


AREAS = {
    "core/statistics": Area(
        ("core/statistics/*.py",),
        90,
        (
            *("statistics", "sample", "row_sample", "word_counts", "cells", "forgetting", "structure", "bad_input"),
            *("storage", "hostile_storage", "leave_one_out"),
        ),
    ),
    "families": Area(
        ("families/*.py",),
        120,
        (
            *(
                "families",
                "leave_one_out",
                "positive_families",
                "automatic",
                "binned",
                "mixture",
                "kernel",
                "structure",
            ),
            *("multivariate_gaussian", "joint_categorical", "event_models", "discriminant_analysis"),
            *("text", "bag_of_words", "text_classifier", "formulas", "many_columns"),
        ),
    ),
    "model/calibration": Area(("model/calibration.py",), 40, ("calibration", "decisions")),
    "model/joint": Area(("model/joint.py",), 40, ("joint", "families", "leave_one_out", "naive_bayes", "questions")),
    "model/structure": Area(
        tuple(f"model/{name}.py" for name in ("structure", "structure_fit", "structure_formulas", "planning"))
        + tuple(f"model/{name}.py" for name in ("pool", "expert_search"))
        + tuple(f"model/{name}.py" for name in ("pair_evidence", "exponents", "features", "column_scores"))
        + tuple(f"model/{name}.py" for name in ("experts", "linear_expert", "quadratic_expert", "cosine_expert"))
        + ("model/ridge_scatter.py", "model/tempered_loss.py"),
        80,
        ("structure", "experts", "candidate_scores", "decisions", "many_columns"),
    ),
    "model/answers": Area(
        tuple(f"model/{name}.py" for name in ("class_conditionals", "evaluate", "explain", "forms", "learned"))
        + tuple(f"model/{name}.py" for name in ("out_of_range", "predictor", "schema", "single_rows")),
        60,
        (
            *("conditionals", "evaluation", "questions", "single_rows", "decisions", "joint", "messy_tables"),
            *("classifier", "suspects", "shares", "text_classifier", "forgetting", "validation"),
            *("calibration", "one_by_one", "unlabelled", "formulas"),
        ),
    ),
    "model/storage": Area(
        ("model/storage.py", "model/packing.py"), 60, ("storage", "hostile_storage", "round_trips", "validation")
    ),
    "engines": Area(
        # Spark, Dask, Ray and databases need sessions, which take longer than seconds.
        tuple(
            f"engines/{name}.py"
            for name in ("__init__", "checkpoints", "file_formats", "files", "json_lines", "memory", "progress")
        )
        + tuple(f"engines/{name}.py" for name in ("reading_errors", "source", "streams", "summarizing", "workers")),
        60,
        ("files", "checkpoints", "reading_errors", "frames", "classifier", "workers"),
    ),
}

# Changes that say little: `X | None` is a type nearly everywhere, which never runs; `is` for `==` changes nothing, or
# everything; bitwise operators on floats are errors that any test notices, and would only raise the score.
BITWISE = ("RShift", "LShift", "BitOr", "BitAnd", "BitXor")
LEFT_OUT = {"RemoveDecorator", "ExceptionReplacer", "VariableReplacer", "VariableInserter"}


def is_telling(operator: str) -> bool:
    """Return whether an operator of Cosmic Ray makes mutants that say something about tests."""
    kind, *parts = operator.removeprefix("core/").split("_")
    if kind in LEFT_OUT or parts[:1] == ["BitOr"]:
        return False
    if kind == "ReplaceComparisonOperator":
        return (parts[0] in ("Is", "IsNot")) == (parts[1] in ("Is", "IsNot"))
    return kind != "ReplaceBinaryOperator" or (parts[0] in BITWISE) == (parts[1] in BITWISE)


# Changes of what only asserts, and of a length that NumPy finds, for which it takes any negative number.
SAME = (("strict=False", "strict=True"), ("reshape(~1", "reshape(-1"), ("reshape(- 2", "reshape(-1"))


@dataclass(frozen=True)
class Mutant:
    """One change: in a module, by the n-th place of an operator, and the lines that it changes."""

    area: str
    module: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str

    @property
    def change(self) -> tuple[str, str, str]:
        """What is changed, whatever the number of the line."""
        return self.module, self.before, self.after


def main() -> int:
    """Try the mutants of every area, and print which of them survive."""
    parser = argparse.ArgumentParser(description="Mutation testing on the fast tests.")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"by default all: {', '.join(AREAS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="how many times the usual number of mutants")
    parser.add_argument("--survivors", action="store_true", help="only mutants that were not killed the last time")
    parser.add_argument("--write", action="store_true", help="write the table of docs/testing.md")
    options = parser.parse_args()
    if unknown := sorted(set(options.areas) - set(AREAS)):
        parser.error(f"there is no area {unknown[0]!r}: the areas are {', '.join(AREAS)}")
    known: dict[Mutant, str] = {}
    if FOUND.exists():
        known = {Mutant(**each["mutant"]): each["outcome"] for each in json.loads(FOUND.read_text(encoding="utf-8"))}
    with tempfile.TemporaryDirectory() as folder:
        home = copy_of_the_tree(Path(folder))
        FOUND.parent.mkdir(exist_ok=True)
        for name in options.areas or AREAS:
            tried = list(sampled(home, name, options.seed, options.share))
            known = {each: what for each, what in known.items() if each.area != name or each in tried}
            if options.survivors:
                tried = [each for each in tried if known.get(each) != "killed"]
            run_area(home, name, tried, known)
        if options.write:  # while there is a package to import
            sys.path.insert(0, str(ROOT))
            write_section = import_module("benchmarks.quality_page").write_section
            write_section("mutants", as_table(known), PAGE)
            write_section("equivalent", as_list(known, "equivalent"), PAGE)
            write_section("survivors", as_list(known, "survived"), PAGE)
    print(as_table(known))
    return 0


def run_area(home: Path, name: str, tried: list[Mutant], known: dict[Mutant, str]) -> None:
    """Try mutants of one area, and keep what became of each."""
    if not tried:
        return
    same = equivalent()
    tests = observed(home, AREAS[name])
    for number, mutant in enumerate(tried):
        known[mutant] = "equivalent" if mutant.change in same else outcome(home, mutant, tests)
        if known[mutant] == "survived":
            print(f"survived: {mutant.module}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
        if number % 20 == 19:
            print(f"{name}: {number + 1} of {len(tried)}", file=sys.stderr, flush=True)
        kept = [{"mutant": asdict(each), "outcome": what} for each, what in known.items()]
        FOUND.write_text(json.dumps(kept, indent=1), encoding="utf-8")


def as_table(known: dict[Mutant, str]) -> str:
    """Return the table of docs/testing.md."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, what in known.items():
        counts[mutant.area][what] += 1
    rows = [(f"`{name}`", counts[name]) for name in AREAS if name in counts]
    lines = ["| module | mutants tried | killed | survived | equivalent | score |", "|---|--:|--:|--:|--:|--:|"]
    for name, found in [*rows, ("together", sum(counts.values(), Counter()))]:
        killed, survived = found["killed"], found["survived"]
        score = f"{killed / max(killed + survived, 1):.0%}"
        lines.append(f"| {name} | {found.total()} | {killed} | {survived} | {found['equivalent']} | {score} |")
    return "\n".join(lines)


def as_list(known: dict[Mutant, str], what: str) -> str:
    """Return the mutants of one outcome, and why they are equivalent, for docs/testing.md."""
    why = equivalent()
    lines = ["| module | before | after |" + (" why |" if what == "equivalent" else "")]
    lines.append("|---|---|---|" + ("---|" if what == "equivalent" else ""))
    for mutant in sorted((each for each in known if known[each] == what), key=lambda each: (each.module, each.line)):
        cells = [mutant.module.removeprefix("src/suffice/"), mutant.before, mutant.after]
        line = " | ".join(f"`{cell.replace('|', chr(92) + '|')}`" for cell in cells)
        lines.append(f"| {line} |" + (f" {why[mutant.change]} |" if what == "equivalent" else ""))
    return "\n".join(lines)


def equivalent() -> dict[tuple[str, str, str], str]:
    """Return the changes that no test can notice, as `Mutant.change`, and why."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent_mutants.toml").read_text(encoding="utf-8"))
    return {(each["module"], each["before"], each["after"]): each["why"] for each in listed["mutant"]}


# -------------------------------------------------------------------------------------------------- the copy

# The finder of an editable install comes before PYTHONPATH: with it, tests would import sources that are not mutated.
FIND_THE_COPY = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable_skbc")]
"""
# What most tests import. Polars is not among them: its threads do not outlive a fork.
LIBRARIES = (
    "scipy.sparse",
    "scipy.special",
    "scipy.linalg",
    "pandas",
    "pyarrow.parquet",
    "pyarrow.csv",
    "pyarrow.json",
)
LIBRARIES += ("sklearn.naive_bayes", "sklearn.discriminant_analysis", "sklearn.utils.estimator_checks", "hypothesis")


def copy_of_the_tree(folder: Path) -> Path:
    """Copy the tracked files and the compiled module, so that a mutant never touches the sources."""
    home = folder / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in tracked.split("\0") if name.startswith(("src/", "tests/", "docs/", "pyproject"))]
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, home / name)
    where = [sys.executable, "-c", "import suffice._core; print(suffice._core.__file__)"]
    native = subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip()
    shutil.copy2(native, home / "src/suffice")
    (home / "src/sitecustomize.py").write_text(FIND_THE_COPY, encoding="utf-8")  # run by Python when it starts
    exec(FIND_THE_COPY)  # and here, for the processes that are forked
    sys.path.insert(0, str(home / "src"))
    os.environ |= {"PYTHONPATH": str(home / "src"), "SCIPY_ARRAY_API": "1"}
    os.chdir(home)
    for name in LIBRARIES:
        import_module(name)
    assert "suffice" not in sys.modules, "every mutant must import the package by itself"
    return home


CRASHED = 99  # no exit status of pytest


def forked(work: Callable[[], int], limit: float | None) -> int:
    """Run a function in a forked process that prints into `LOG`; return its result, `CRASHED` after too long.

    The limit is of the processor, so that a busy machine gives the same result.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = CRASHED
        try:
            code = work()
        finally:
            os._exit(code)
    end = None if limit is None else time.monotonic() + WAITING * limit
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else CRASHED
        if end is not None and time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return CRASHED
        time.sleep(0.02)


# -------------------------------------------------------------------------------------------------- the tests


@dataclass(frozen=True)
class Observed:
    """Which tests run which lines of a module, and how long each takes."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def of(self, home: Path, mutant: Mutant) -> list[str]:
        """Return the tests that run the statement of a mutant, or those of its module if it runs at import.

        By turns, the shortest comes next, and the one that runs least of what is not in the module.
        What no test seems to run may run in a thread of Arrow, which is not observed: then all tests are tried.
        """
        ran = self.lines.get(mutant.module, {})
        where = statement(ast.parse((home / mutant.module).read_text(encoding="utf-8")), mutant.line)
        chosen = {test for line, tests in ran.items() if where is None or line in where for test in tests}
        chosen = chosen & set(self.seconds) or set(self.seconds)
        share = self.shares.get(mutant.module, {})
        by_time = sorted(chosen, key=lambda each: (self.seconds[each], each))
        by_share = sorted(chosen, key=lambda each: (-share.get(each, 0.0), each))
        tests, total = [], 0.0
        for test in dict.fromkeys(chain.from_iterable(zip(by_time, by_share, strict=True))):
            if total + self.seconds[test] <= LONGEST:
                total += self.seconds[test]
                tests.append(test)
        return tests

    @cached_property
    def shares(self) -> dict[str, dict[str, float]]:
        """Which share of the lines that a test runs are of a module: the tests of what is written there have most."""
        own = {
            module: Counter(test for tests in lines.values() for test in tests) for module, lines in self.lines.items()
        }
        total = sum(own.values(), Counter[str]())
        return {module: {test: n / total[test] for test, n in counts.items()} for module, counts in own.items()}

    def of_file(self, file: str) -> dict[str, Any]:
        """Return what one file of tests runs, for JSON: tests by their position among its tests."""
        seconds = {test: each for test, each in self.seconds.items() if test.partition("::")[0] == file}
        place = {test: i for i, test in enumerate(seconds)}
        lines: dict[str, dict[int, list[int]]] = {}
        for module, ran in self.lines.items():
            own = {line: [place[test] for test in tests if test in place] for line, tests in ran.items()}
            lines[module] = {line: tests for line, tests in own.items() if tests}
        return {"seconds": seconds, "lines": lines}


def statement(tree: ast.Module, line: int) -> range | None:
    """Return the lines of the innermost statement of a function that holds a line; None if there is none."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        if function.body[0].lineno <= line <= (function.end_lineno or 0):
            holding = []
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not function:
                    body = getattr(node, "body", None)
                    last = body[0].lineno - 1 if body else node.end_lineno
                    holding.append(range(node.lineno, max(last or 0, node.lineno) + 1))
            holding = [each for each in holding if line in each]
            return min(holding, key=len) if holding else None
    return None


class Watching:
    """A plugin of pytest that notes, for each test, which lines it runs and how much of the processor it takes."""

    def __init__(self, measured: coverage.Coverage):
        self.measured, self.begun = measured, 0.0
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        self.measured.switch_context(nodeid)
        self.begun = spent()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """End a test."""
        self.seconds[nodeid] = spent() - self.begun


def spent() -> float:
    """Return the seconds of the processor that this process took, and those that it started and that ended."""
    return sum(os.times()[:4])


class Choosing:
    """A plugin of pytest that runs some of the tests, in a given order."""

    def __init__(self, tests: list[str]):
        self.order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that were chosen."""
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "-m", "not slow"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis is imported before


def observed(home: Path, area: Area) -> Observed:
    """Return which lines each test of an area runs without a change; files of tests that are known do not run again."""
    files = [f"tests/test_{name}.py" for name in area.tests]
    kept = {file: OBSERVED / f"{Path(file).stem}-{fingerprint(home, file)}.json" for file in files}
    if missing := [file for file, path in kept.items() if not path.exists()]:
        OBSERVED.mkdir(parents=True, exist_ok=True)
        found = watched(home, missing)
        for file in missing:
            for old in OBSERVED.glob(f"{Path(file).stem}-*.json"):
                old.unlink()
            kept[file].write_text(json.dumps(found.of_file(file)), encoding="utf-8")
    out = Observed(defaultdict(lambda: defaultdict(list)), {})
    for path in kept.values():
        known = json.loads(path.read_text(encoding="utf-8"))
        out.seconds.update(known["seconds"])
        tests = list(known["seconds"])
        for module, lines in known["lines"].items():
            for line, ran in lines.items():
                out.lines[module][int(line)] += [tests[i] for i in ran]
    return out


def fingerprint(home: Path, file: str) -> str:
    """Return a hash of the package, of what tests share, and of one file of tests."""
    shared = [path for path in home.glob("tests/*.py") if not path.name.startswith("test_")]
    sources = [path for path in home.glob("src/**/*") if path.suffix in (".py", ".so", ".pyd")]
    found = hashlib.sha256()
    for path in [*sorted(sources), *sorted(shared), home / file]:
        found.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def watched(home: Path, files: list[str]) -> Observed:
    """Run files of tests without a change, and see which lines each test runs."""
    data, seconds = home / ".observed", home / "seconds.json"

    def watch() -> int:
        measured = coverage.Coverage(data, config_file=False, source=[str(home / "src/suffice")])
        measured.start()
        watching = Watching(measured)
        code = pytest.main([*OPTIONS, *files], plugins=[watching])
        measured.stop()
        measured.save()
        seconds.write_text(json.dumps(watching.seconds), encoding="utf-8")
        return int(code)

    data.unlink(missing_ok=True)
    if forked(watch, None) != 0:
        raise SystemExit(f"{LOG.read_text(encoding='utf-8')[-4000:]}\nTests fail without a change: {' '.join(files)}")
    found = coverage.CoverageData(data)
    found.read()
    lines = {Path(file).relative_to(home).as_posix(): found.contexts_by_lineno(file) for file in found.measured_files()}
    return Observed(lines, json.loads(seconds.read_text(encoding="utf-8")))


def outcome(home: Path, mutant: Mutant, observed: Observed) -> str:
    """Run the tests of a mutant, and return "killed" or "survived"."""
    tests = observed.of(home, mutant)
    files = sorted({test.partition("::")[0] for test in tests})
    path = home / mutant.module
    original, times = path.read_text(encoding="utf-8"), path.stat()
    changed = mutate_code(original, get_operator(mutant.operator)(), mutant.occurrence)

    def run() -> int:
        sys.dont_write_bytecode = True  # what was compiled of the sources without a change stays
        return int(pytest.main([*OPTIONS, *files], plugins=[Choosing(tests)]))

    try:
        path.write_text(changed, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime - 1e6))  # so that bytecode is out of date, even of the same size
        # 0: all passed. 5: there is none.
        limit = 3 * sum(observed.seconds[test] for test in tests) + PATIENCE
        return "survived" if not tests or forked(run, limit) in (0, 5) else "killed"
    finally:
        path.write_text(original, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))


# ------------------------------------------------------------------------------------------------ the mutants


def sampled(home: Path, name: str, seed: int, share: float) -> Iterator[Mutant]:
    """Yield the mutants of an area: each module gets its share by its number of places, each place one change."""
    area = AREAS[name]
    paths = sorted({path for pattern in area.sources for path in (home / "src/suffice").glob(pattern)})
    places = {path: places_of(path) for path in paths}
    total, wanted = sum(map(len, places.values())), share * area.mutants
    for path in paths:
        module = path.relative_to(home).as_posix()
        rng = random.Random(f"{seed} {module}")
        some = rng.sample(sorted(places[path]), min(round(wanted * len(places[path]) / total), len(places[path])))
        code = path.read_text(encoding="utf-8")
        for place in sorted(some):
            operator, occurrence = rng.choice(places[path][place])
            changed = mutate_code(code, get_operator(operator)(), occurrence)
            assert changed is not None, f"{operator} has no place {occurrence} in {module}"
            if not changes(code, changed):
                continue
            before, after = first_difference(code, changed)
            if any(after.replace(*each) == before for each in SAME):
                continue
            yield Mutant(name, module, place[0], operator, occurrence, before, after)


def changes(code: str, changed: str) -> bool:
    """Return whether a change makes another program: 1e100 + 1 is 1e100, and `/layout` for `**layout` is none."""
    with suppress(SyntaxError):
        return ast.dump(ast.parse(code)) != ast.dump(ast.parse(changed))
    return False


def places_of(path: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Return the places of a module that can be changed, and the operators that change each."""
    nodes = list(ast_nodes(get_ast_from_path(path)))
    code = path.read_text(encoding="utf-8")
    lines, limits = code.splitlines(), limits_of(ast.parse(code))
    found: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for operator in operator_names():
        if is_telling(operator) and not get_operator(operator).arguments():
            places = [place for node in nodes for place in get_operator(operator)().mutation_positions(node)]
            for number, ((line, column), _) in enumerate(places):
                if "TYPE_CHECKING" not in lines[line - 1] and (line, column) not in limits:
                    found[line, column].append((operator, number))
    return found


def limits_of(tree: ast.Module) -> set[tuple[int, int]]:
    """Return the places of large numbers that a module names: a limit of 4096 rows may as well be one of 4097."""
    named = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    numbers = [node for each in named for node in ast.walk(each) if isinstance(node, ast.Constant)]
    large: list[ast.expr] = [n for n in numbers if isinstance(n.value, int | float) and n.value >= LIMIT]
    shifts = [node for each in named for node in ast.walk(each) if isinstance(node, ast.BinOp)]
    large += [n for each in shifts if isinstance(each.op, ast.LShift) for n in (each.left, each.right)]
    return {(n.lineno, n.col_offset) for n in large}


def first_difference(code: str, changed: str) -> tuple[str, str]:
    """Return the first line that differs, before and after."""
    pairs = zip(code.splitlines(), changed.splitlines(), strict=False)
    return next((before.strip(), after.strip()) for before, after in pairs if before != after)


if __name__ == "__main__":
    sys.exit(main())
