"""Type checkers know what `suffice` has: they accept right uses and report mistakes, each on its line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import suffice

CLIENT = Path(__file__).with_name("typing_client.py")
SOURCE = Path(suffice.__file__).parents[1]
MISTAKES = [n for n, line in enumerate(CLIENT.read_text().splitlines(), start=1) if line.endswith("# mistake")]

pytestmark = pytest.mark.slow


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = os.environ | environment
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, env=variables, timeout=300, check=False
    )


def test_mypy_accepts_right_uses_and_reports_mistakes(request):
    pytest.importorskip("mypy")
    cache = request.config.cache.mkdir("mypy")
    path = "" if "site-packages" in SOURCE.parts else str(SOURCE)  # an installed package is found without it
    found = run("mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(CLIENT), MYPYPATH=path)
    errors = [line.split(":") for line in found.stdout.splitlines() if ": error:" in line]
    reported = [int(line) for file, line, *_ in errors if Path(file).name == CLIENT.name]
    assert reported == MISTAKES, found.stdout + found.stderr


def test_pyright_accepts_right_uses_and_reports_mistakes(tmp_path):
    pytest.importorskip("pyright")
    (tmp_path / CLIENT.name).write_text(CLIENT.read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE)]}))
    found = run("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path))
    if not found.stdout.startswith("{"):
        pytest.skip(f"pyright cannot start: it fetches itself when it is first run. {found.stderr[-200:]}")
    problems = [p for p in json.loads(found.stdout)["generalDiagnostics"] if p["severity"] == "error"]
    assert [p["range"]["start"]["line"] + 1 for p in problems] == MISTAKES, problems
