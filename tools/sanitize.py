"""Run tests of the native kernels under sanitizers: `make sanitize`, or `python tools/sanitize.py thread`.

Twice, with kernels compiled into `build/sanitize-*` and the tests of `TESTS`:

- `address`: AddressSanitizer and UndefinedBehaviorSanitizer find reads and writes outside of an array, use after free,
  overflow of integers, shifts and conversions that C++ leaves undefined;
- `thread`: ThreadSanitizer finds data that two threads use at a time without an order.

A finding ends the process that runs the tests, or fails the run at its end. So does a kernel that no test called, so
that new ones are not left out. Only the kernels are instrumented, so the sanitizer is loaded before Python, and leaks
are not looked for: Python keeps memory until its end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nanobind

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "sanitizers"

# Which sanitizers make up a kind, and their libraries, in the order in which they load.
KINDS = {"address": ("address,undefined", ("libasan.so", "libubsan.so")), "thread": ("thread", ("libtsan.so",))}
THREADS = "4"  # of every kernel, on any machine

# Tests whose time goes to kernels. Threads are what `thread` is about; each kernel runs in the rest.
TESTS = {
    "address": (
        *("kernels", "text_kernels", "statistics", "sample", "tokens", "word_counts", "words", "kernel", "mixture"),
        *("multivariate_gaussian", "joint_categorical", "event_models", "binned", "calibration", "leave_one_out"),
        *("text_bad_input", "bad_input", "threads", "cells", "row_sample", "forgetting", "arrow_arrays"),
        *("column_kernels", "structure", "naive_bayes", "reading_errors", "candidate_scores", "experts"),
        *("many_columns", "instruction_sets"),
    ),
    "thread": (
        *("threads", "kernels", "text_kernels", "statistics", "word_counts", "kernel", "mixture", "cells"),
        *("column_kernels", "event_models", "structure", "naive_bayes", "candidate_scores", "experts", "tokens"),
        *("forgetting", "many_columns", "text", "instruction_sets"),
    ),
}
ATTACKS = {"address": ("attacks/test_malformed_matrices.py",), "thread": ()}
# A text of all of Unicode takes minutes. Where files are read, threads of Arrow hand memory over by atomics that are
# not instrumented, which reads as a race within Arrow: `thread` leaves out tests that read files, and data sets.
LEFT_OUT = {
    "address": "not every_character_is_what_python_says",
    "thread": "not every_character_is_what_python_says and not test_files_ and not numbers_in_files",
}


def main() -> int:
    """Build and test the kinds that were named, by default both."""
    parser = argparse.ArgumentParser(description="Run tests of the native kernels under sanitizers.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"by default all: {', '.join(KINDS)}")
    parser.add_argument("--tests", nargs="+", metavar="NAME", help="only these: cells is tests/test_cells.py")
    options = parser.parse_args()
    kinds = options.kinds or list(KINDS)
    if unknown := sorted(set(kinds) - set(KINDS)):
        parser.error(f"there is no kind {unknown[0]!r}: the kinds are {', '.join(KINDS)}")
    failed = []
    for kind in kinds:
        start = time.monotonic()
        native = build(kind)
        built = time.monotonic()
        if test(kind, native, options.tests) != 0:
            failed.append(kind)
        print(f"{kind}: built in {built - start:.0f} s, tested in {time.monotonic() - built:.0f} s", flush=True)
    if failed:
        print(f"Found by sanitizers, or failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def build(kind: str) -> Path:
    """Compile the kernels, as far as they changed, and return the module."""
    folder = ROOT / "build" / f"sanitize-{kind}"
    options = {
        "CMAKE_BUILD_TYPE": "Debug",  # keeps the names of functions
        "SUFFICE_SANITIZE": KINDS[kind][0],
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind.cmake_dir(),
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja of this environment
    environment = {**os.environ, "PATH": path}
    define = [f"-D{name}={value}" for name, value in options.items()]
    quietly = ["--log-level=WARNING", "-G", "Ninja"]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, *quietly, *define], env=environment, check=True)
    subprocess.run(["cmake", "--build", folder, "--", "--quiet"], env=environment, check=True)
    return next(folder.glob("_core*.so"))


def test(kind: str, native: Path, names: list[str] | None) -> int:
    """Run some tests, or those of a kind, with the module that was built; return the exit status of pytest."""
    paths = [f"tests/test_{name}.py" for name in names or TESTS[kind]]
    if names is None:
        paths += [f"tests/{name}" for name in ATTACKS[kind]]
    environment = {
        **os.environ,
        "SUFFICE_CORE": str(native),
        "SUFFICE_NUM_THREADS": THREADS,
        "PYTHONPATH": os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]),
        # Allocators that cut small blocks out of large ones hide their ends. That of Arrow also orders its threads by
        # atomics that are not instrumented, which reads as a race. So no finding has to be suppressed.
        "PYTHONMALLOC": "malloc",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OPENBLAS_NUM_THREADS": "1",  # threads of NumPy's linear algebra are not instrumented either
        "LD_PRELOAD": " ".join(library(name) for name in KINDS[kind][1]),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:abort_on_error=1",
    }
    if kind == "thread":
        environment.pop("SUFFICE_DATA", None)
        # The memory of Polars, where that is installed: the sanitizer crashes in its thread, and where it takes more
        # than 64 locks, before a fork.
        environment["_RJEM_MALLOC_CONF"] = "background_thread:false"
        environment["TSAN_OPTIONS"] += ":detect_deadlocks=0"
    # Reports go to the standard error of the process, which pytest must not capture.
    options = ["-q", "--capture=sys", "--numprocesses=auto", f"-k={LEFT_OUT[kind]}", "-p", "kernel_calls"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *paths]
    with tempfile.TemporaryDirectory() as folder:
        environment["SUFFICE_CALLS"] = folder
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        missed = never_called(Path(folder)) if names is None else []
    if missed:
        print(f"{kind}: no test called {', '.join(missed)}: add a test of each to TESTS", file=sys.stderr)
    return code or int(bool(missed))


def never_called(folder: Path) -> list[str]:
    """List the kernels that no process called, by the notes of `sanitizers/kernel_calls.py`."""
    notes = {line for file in folder.iterdir() for line in file.read_text(encoding="utf-8").splitlines()}
    called = {name for what, name in map(str.split, notes) if what == "called"}
    return sorted({line.split()[1] for line in notes} - called)


def library(name: str) -> str:
    """Return where the compiler keeps a library."""
    compiler = os.environ.get("CXX", "c++")
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        raise SystemExit(f"{compiler} has no {name}: install the sanitizers of this compiler")
    return str(path.resolve())


if __name__ == "__main__":
    sys.exit(main())
