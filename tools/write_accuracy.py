"""Write the tables of docs/accuracy.md: the rounding errors of every family, and of scikit-learn and SciPy.

    python tools/write_accuracy.py

They are measured in exact arithmetic by `tests/accuracy.py`, on the same rows each time.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import accuracy  # noqa: E402  # it lies beside the tests

PAGE = ROOT / "docs" / "accuracy.md"


def short(value: float | None) -> str:
    """Return a number of ε for people."""
    if value is None:
        return ""
    if value == float("inf"):
        return "not finite"
    return f"{value:.1f}" if value < 1000 else f"{value:.0e}".replace("e+", "e")


def plain(value: float | None) -> str:
    """Return an error of a probability for people."""
    return "refused" if value is None else "not finite" if value == float("inf") else f"{value:.0e}" if value else "0"


def families() -> str:
    """Return the table of families: the largest errors on any rows, and SciPy's largest and its rows."""
    lines = ["| family | `learn` | estimates | log-density | posterior | SciPy's log-density | on |"]
    lines.append("|---|---|--:|--:|--:|--:|---|")
    for name, learn in accuracy.cases():
        found = accuracy.measure(name, learn)
        worst = [max(getattr(e, kind) for e in found.values()) for kind in ("estimate", "density", "posterior")]
        theirs = {rows: e.scipy for rows, e in found.items() if e.scipy is not None}
        where = max(theirs, key=lambda rows: theirs[rows], default="")
        cells = [*map(short, worst), short(theirs.get(where)), where]
        lines.append(f"| {name} | {learn and f'`{learn}`'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def bounds() -> str:
    """Return the table of the bounds that a test holds."""
    lines = ["| family | estimates | log-density | posterior |", "|---|--:|--:|--:|"]
    for name, three in accuracy.BOUNDS.items():
        lines.append(f"| {name} | {' | '.join(f'{bound:g}' for bound in three)} |")
    return "\n".join(lines)


def estimators() -> str:
    """Return the table of estimators beside scikit-learn's."""
    lines = ["| estimator | rows | suffice | scikit-learn |", "|---|---|--:|--:|"]
    for name in accuracy.ESTIMATORS:
        for rows, ours, theirs in accuracy.beside_scikit_learn(name):
            if ours is not None or theirs is not None:
                lines.append(f"| `{name}` | {rows} | {plain(ours)} | {plain(theirs)} |")
    return "\n".join(lines)


def main() -> None:
    """Replace the tables between the marks."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("families", families()), ("bounds", bounds()), ("estimators", estimators())):
        text, times = re.subn(
            rf"(<!-- {name} begin -->\n\n).*?(\n\n<!-- {name} end -->)",
            lambda m, t=table: m[1] + t + m[2],
            text,
            flags=re.DOTALL,
        )
        assert times == 1, f"{PAGE} has no place for {name}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
