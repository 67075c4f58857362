"""What a newcomer meets first: the import, the README, the examples in docstrings."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.cli.demo_lessons import write

ROOT = Path(__file__).parent.parent
ENGINES = {"pyspark": "spark", "dask": "dask", "ray": "ray", "ibis": ("ibis", "sql.")}
MODULES = [m.name for m in pkgutil.walk_packages(suffice.__path__, "suffice.") if not m.name.endswith("_core")]


def test_importing_suffice_loads_no_heavy_package():
    code = "import sys, suffice; dir(suffice); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "pandas", "matplotlib", "scipy", "pyarrow"} & set(loaded)


def test_the_algebra_works_without_scikit_learn_or_pandas():
    code = (
        "import sys, suffice as sf\n"
        "m = sf.Model.fit([[0.0], [1.0], [5.0]], ['a', 'a', 'b'], sf.Gaussian())\n"
        "m.posterior([[0.5]])\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "pandas", "matplotlib"} & set(loaded)


def test_every_public_name_exists_and_is_described():
    for name in suffice.__all__:
        assert getattr(suffice, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        suffice.nothing  # noqa: B018


def test_every_public_name_is_mentioned_in_the_docs():
    text = (ROOT / "README.md").read_text() + "".join(p.read_text() for p in (ROOT / "docs").glob("*.md"))
    text += (ROOT / "CHANGELOG.md").read_text()
    internal = {"Distribution", "Family", "LinearForm", "Statistic", "Table"}  # contracts, described in the code
    for name in set(suffice.__all__) - internal:
        assert name in text, name


def test_the_lowest_versions_that_are_tested_are_those_that_are_asked_for():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (ROOT / "tests" / "lowest_versions.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for each in asked["project"]["dependencies"] + asked["dependency-groups"]["test"]:
        name, least = each.lower().split(">=")
        assert f"{tested[name]}.".startswith(f"{least}."), each


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    for package, modules in ENGINES.items():
        if name.removeprefix("suffice.engines.").startswith(modules) and name.startswith("suffice.engines."):
            pytest.importorskip(package, reason=f"{package} is not installed: {name} is for its frames")
    if name.rpartition(".")[2].startswith("river"):
        pytest.importorskip("river", reason=f"river is not installed: {name} is for its pipelines")
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.ELLIPSIS)
    assert failures == 0


def test_every_link_in_the_docs_leads_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readmes_code_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    write(str(tmp_path))  # `suffice demo --write .`
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(block, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("[0.69")  # a Chinstrap penguin that is taken for an Adelie
    assert "Predicting species" in Path("report.html").read_text(encoding="utf-8")


def test_the_readme_leads_with_one_paragraph_one_block_one_figure_and_three_numbers():
    lead = (ROOT / "README.md").read_text().partition("\n## ")[0]
    assert lead.count("```python") == lead.count("```") - 1 == lead.count("![") == 1
    assert len(re.findall(r"^\| \*\*", lead, re.MULTILINE)) == 3
    paragraphs = [each for each in lead.split("\n\n")[1:] if not each.startswith(("```", "|", "![", "clf"))]
    assert sum(each.startswith("*One pass") for each in paragraphs) == 1


def test_the_code_of_the_overview_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "overview.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "overview.md", "exec"), scope)
    shown = capsys.readouterr().out
    assert "ByClass(3 classes, weight 150, Moments(3 classes × 4 columns" in shown
    assert "deviation" in shown


@pytest.mark.slow
def test_the_demo_runs():
    out = subprocess.run([sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=True)
    for expected in ("p(yes | x) = 0.5644", "p(yes | x) = 0.6707", "p(negative | x) = 0.6469", "0.9533 accuracy"):
        assert expected in out.stdout
    assert not out.stderr


def test_show_versions_tells_what_is_installed_and_how_many_threads(capsys, monkeypatch):
    monkeypatch.setenv("SUFFICE_NUM_THREADS", "2")
    suffice.show_versions()
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["suffice"] == suffice.__version__
    assert shown["numpy"]
    assert shown["threads"].endswith("(SUFFICE_NUM_THREADS is 2)")
