"""Run the pages that draw, and keep their figures: `python docs/figures.py` from the root of the repository.

A page's blocks of Python run from top to bottom in one scope. A block below the line `<!-- needs data -->` reads a data
set from the folder that SUFFICE_DATA names, and is passed over where it names none.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- needs data -->\n)?```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)


def run(page: Path) -> Iterator[tuple[str, str | None]]:
    """Run a page's blocks in the current folder; after each, give its code and the output that the page shows."""
    scope: dict[str, object] = {}
    for needs_data, code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        if not needs_data or os.environ.get("SUFFICE_DATA"):
            exec(compile(code, str(page), "exec"), scope)
            yield code, shown or None


def shown_by(page: Path) -> set[str]:
    """The pictures of `figures/` that a page shows."""
    return set(re.findall(r"\]\((?:\.\./)?figures/([^)]+)\)", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    import matplotlib as mpl
    from PIL import Image

    mpl.use("agg")
    mpl.rcParams["savefig.dpi"] = 120
    (DOCS / "figures").mkdir(exist_ok=True)
    os.chdir(DOCS / "figures")
    for page in sorted(DOCS.rglob("*.md")):
        if shown_by(page):
            print(page.name, file=sys.stderr)
            for _ in run(page):
                pass
    for path in Path().glob("*.png"):  # of 64 colours and a third of the size
        Image.open(path).convert("RGB").quantize(64, Image.Quantize.MEDIANCUT).save(path, optimize=True)
