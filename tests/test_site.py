"""The pages of the site: their code runs and prints what they show, their figures are drawn, nothing is left out."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import suffice

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load(DOCS / "figures.py")
SHOWS = sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("lectures/*.md")])
GUIDES = ("index", "mathematics", "adding_a_family", "families", "storage", "onnx", "labels", "streams")
SHOWS += [DOCS / f"{name}.md" for name in GUIDES]


NUMBER = re.compile(r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


def alike(printed: str, shown: str) -> bool:
    """Whether texts are equal but for white space, and numbers to three digits: other processors round otherwise."""
    texts = ["".join(NUMBER.sub("0", text).split()) for text in (printed, shown)]
    numbers = [[float(x.replace("−", "-")) for x in NUMBER.findall(text)] for text in (printed, shown)]
    return texts[0] == texts[1] and np.allclose(*numbers, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("page", SHOWS, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_code_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for code, shown in figures.run(page):
        printed = capsys.readouterr().out
        assert shown is None or alike(printed, shown), f"{code}\nprints\n{printed}"
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    drawn = {path.name for path in tmp_path.iterdir()}
    if os.environ.get("SUFFICE_DATA"):
        assert figures.shown_by(page) <= drawn
    assert {name for name in figures.shown_by(page) if not (DOCS / "figures" / name).exists()} == set()


def test_every_formula_becomes_mathml():
    converter = pytest.importorskip("latex2mathml.converter", reason="latex2mathml is not installed: make docs")
    found = 0
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for formula in re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL) + re.findall(r"(?<!\$)\$([^$\n]+)\$(?!\$)", text):
            drawn = converter.convert(formula)
            assert "\\" not in drawn, f"{page.name}: {formula}"  # a command that is not known stays as it is
            found += 1
    assert found > 100


def test_every_figure_is_shown_and_small():
    shown = set().union(*(figures.shown_by(page) for page in DOCS.rglob("*.md")))
    kept = {path.name: path.stat().st_size for path in (DOCS / "figures").iterdir()}
    assert set(kept) == shown
    assert max(kept.values()) < 150_000


def test_the_reference_has_every_public_name():
    listed = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    found = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", listed, re.MULTILINE))
    found = {name.rsplit(".", 1)[-1] for name in found}
    wanted = {name for name in suffice.__all__ if not inspect.ismodule(getattr(suffice, name))}
    for module in ("naive_bayes", "discriminant_analysis", "plot", "text"):
        wanted |= set(importlib.import_module(f"suffice.{module}").__all__)
    assert wanted - found == set(), "add them to a page of docs/reference"


def test_every_link_of_every_page_leads_somewhere():
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_table_is_whole():
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block in re.split(r"\n\s*\n", text):
            rows = [line for line in block.strip().splitlines() if line.startswith("|")]
            if rows:
                assert re.fullmatch(r"[|:\- ]+", rows[min(1, len(rows) - 1)]), f"{page.name}: {rows[0]}"
                cells = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
                assert len(cells) == 1, f"{page.name}: {rows[0]}"


# ------------------------------------------------------------------------------------------------ the lectures

ROWS = [
    "bag-of-words",
    "bernoulli-mle",
    "softmax-baseline",
    "gda-full",
    "gda-tied",
    "decision-regions",
    "sampling",
    "imputation",
    "outliers",
    "direct-counting",
    "categorical",
    "multinomial",
    "gaussian",
    "parameter-counts",
    "linear-form",
    "poisson",
    "beta-bernoulli",
    "bayesian-nb",
    "mixed",
    "missing",
    "laplace",
    "event-models",
    "top-words",
    "add-remove-classes",
    "single-pass",
    "probabilities",
    "gmm",
    "kde",
    "discretised",
    "fixed-variance",
    "generative-vs-discriminative",
    "traps",
]


def lecture_rows() -> dict[str, set[str]]:
    """The tests that docs/lectures.md names for each row."""
    text = (DOCS / "lectures.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[([a-z-]+)\]\(#\1\) \|", text, re.MULTILINE) == ROWS
    sections = re.findall(r"^### ([a-z-]+)\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: set(re.findall(r"`(\w+\.py::\w+)`", tests)) for name, tests in sections}


def test_no_row_of_the_lectures_is_missing_and_each_has_tests():
    rows = lecture_rows()
    assert list(rows) == ROWS
    assert all(rows.values()), [name for name, tests in rows.items() if not tests]


def test_the_tests_of_the_lectures_and_their_page_name_each_other():
    there = set()
    for path in (ROOT / "tests" / "lectures").glob("test_*.py"):
        names = re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        there |= {f"{path.name}::{name}" for name in names}
    assert set().union(*lecture_rows().values()) == there


# ------------------------------------------------------------------------------------------------ what is claimed


def test_the_comparison_has_no_number_that_the_measurements_have_not():
    measured = (DOCS / "benchmarks.md").read_text(encoding="utf-8") + (DOCS / "classifier.md").read_text(
        encoding="utf-8"
    )
    claims = (DOCS / "comparison.md").read_text(encoding="utf-8")
    numbers = re.findall(r"(?<![\w.])\d+\.\d+(?= (?:ms|MB|%)|[,) |])|\b\d+(?= ms| MB)", claims)
    assert len(numbers) > 30
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", measured), number


def test_a_family_of_ones_own_takes_under_thirty_lines():
    (first, *_) = figures.BLOCK.findall((DOCS / "adding_a_family.md").read_text(encoding="utf-8"))
    code = first[1].split("import suffice as sf", 1)[1]
    assert len([line for line in code.splitlines() if line.strip()]) < 30


@pytest.mark.parametrize("page", sorted(DOCS.glob("reference/*.md")), ids=lambda page: page.stem)
def test_what_the_reference_documents_exists(page):
    module = "suffice"
    for kind, name in re.findall(
        r"^\.\. (currentmodule|auto\w+):: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        if kind == "currentmodule":
            module = name
            continue
        home, _, attribute = (name if name.startswith("suffice") else f"{module}.{name}").rpartition(".")
        found = (
            importlib.import_module(name) if kind == "automodule" else getattr(importlib.import_module(home), attribute)
        )
        assert found is not None
