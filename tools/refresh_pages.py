"""Run the code of pages, and write what it prints into the blocks that show it: `make refresh`.

`python tools/refresh_pages.py docs/text.md` refreshes one page.

Without arguments all pages of the site are run. Set SUFFICE_DATA for blocks that need data. A block below the line
`<!-- prints: suffice … -->` shows what a command prints, after the commands of `PREPARED` were run.
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
COMMAND = re.compile(r"(<!-- prints: suffice (.*?) -->\n```\n)(.*?)```", re.DOTALL)
PREPARED = ("demo --write .", "fit penguins-train.csv --target species -o penguins.suffice")


def refreshed(page: Path, pattern: re.Pattern[str]) -> str:
    """Return the text of a page with the output that its code prints now."""
    scope: dict[str, object] = {}

    def run(block: re.Match[str]) -> str:
        needs_data, code, shown = block.groups()
        if needs_data and not os.environ.get("SUFFICE_DATA"):
            return block[0]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(page), "exec"), scope)
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        if not shown or lines == shown:
            return block[0]
        start = block.start(3) - block.start()
        return block[0][:start] + lines + block[0][start + len(shown) :]

    return pattern.sub(run, page.read_text(encoding="utf-8"))


def printed_by(command: str) -> str:
    """Return what a command prints."""
    from suffice.cli.program import run

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if run(shlex.split(command)):
            raise SystemExit(f"suffice {command} fails")
    return printed.getvalue()


def with_commands(text: str) -> str:
    """Return the text of a page with what its commands print now."""
    if COMMAND.search(text):
        for command in PREPARED:
            printed_by(command)
    return COMMAND.sub(lambda block: f"{block[1]}{printed_by(block[2])}```", text)


def main() -> None:
    """Refresh the pages that are named, or all."""
    spec = importlib.util.spec_from_file_location("figures", DOCS / "figures.py")
    assert spec is not None and spec.loader is not None  # noqa: PT018  # the file is there
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    pages = [Path(name).resolve() for name in sys.argv[1:]]
    pages = pages or sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("lectures/*.md"), *DOCS.glob("*.md")])
    os.environ.setdefault("MPLBACKEND", "agg")
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = with_commands(refreshed(page, figures.BLOCK))
        if text != page.read_text(encoding="utf-8"):
            print(page.name)
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
