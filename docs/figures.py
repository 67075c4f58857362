"""Run the pages that draw, and keep their figures: `python docs/figures.py` from the root of the repository.

A page's blocks of Python run from top to bottom in one scope. A block below the line `<!-- needs data -->` reads a data set
from the folder that SUFFICE_DATA names, and is passed over where it names none.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
BLOCK = re.compile(r"(<!-- needs data -->\n\n?)?```python\n(.*?)```", re.DOTALL)


def run(page: Path) -> int:
    """Run a page's code in the current folder, and say how many blocks there were."""
    scope: dict[str, object] = {}
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    for needs_data, code in found:
        if not needs_data or os.environ.get("SUFFICE_DATA"):
            exec(compile(code, str(page), "exec"), scope)
    return len(found)


def figures(page: Path) -> set[str]:
    """The pictures of `figures/` that a page shows."""
    return set(re.findall(r"\]\((?:\.\./)?figures/([^)]+)\)", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "suffice"  # the same picture is the same file
    pages = [page for page in sorted(DOCS.rglob("*.md")) if figures(page)]
    (DOCS / "figures").mkdir(exist_ok=True)
    os.chdir(DOCS / "figures")
    for page in pages:
        print(page.relative_to(DOCS), file=sys.stderr)
        run(page)
