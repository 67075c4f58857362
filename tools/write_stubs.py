"""Write the stubs that type checkers and editors read: `families/__init__.pyi`, and its names in `__init__.pyi`.

Families are exported by being defined, so nobody lists them by hand. With `--check` nothing is written: the exit status
tells whether the stubs are up to date.
"""

import re
import sys
from pathlib import Path

import suffice.families

PACKAGE = Path(__file__).parent.parent / "src" / "suffice"


def families_stub() -> str:
    """List every public name of `suffice.families` with the module it comes from."""
    names = suffice.families.__all__
    homes = {n: getattr(suffice.families, n).__module__ for n in names} | {"FillMethod": "suffice.families._base"}
    lines = [f"from {home} import {n} as {n}" for n, home in homes.items()]
    return "\n".join(
        [
            '"""Written by tools/write_stubs.py: families are exported by being defined."""',
            "",
            "from typing import Any",
            "",
            *sorted(lines),
            "",
            "def named(name: str) -> type[Family[Any]]: ...",
            "def family_names() -> list[str]: ...",
            "",
        ]
    )


def package_stub(text: str) -> str:
    """Put the families into the stub of the package, which holds every other public name already."""
    public = [
        n for n in suffice.families.__all__ if n not in ("Bins", "FillMethod", "Independent", "KeptRows", "Decisions")
    ]
    before = re.search(r"from \.families import \(?([\w,\s]+?)\)?\n(?=from)", text)
    assert before is not None, "the stub imports families"
    text = text.replace(before[0], "from .families import (\n" + "".join(f"    {n},\n" for n in sorted(public)) + ")\n")
    listed = re.search(r"__all__ = \[(.*?)\]", text, re.DOTALL)
    assert listed is not None, "the stub lists its names"
    kept = set(re.findall(r'"(\w+)"', listed[1])) - set(re.findall(r"\w+", before[1]))
    every = "".join(f'    "{n}",\n' for n in sorted(kept | set(public)))
    return text.replace(listed[0], f"__all__ = [\n{every}]")


def main() -> int:
    """Write both stubs, or check them."""
    package = PACKAGE / "__init__.pyi"
    wanted = {PACKAGE / "families" / "__init__.pyi": families_stub(), package: package_stub(package.read_text("utf-8"))}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv and stale:
        print(f"{', '.join(path.name for path in stale)} is not up to date: run python tools/write_stubs.py")
        return 1
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
