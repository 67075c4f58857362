"""The guides: what they show runs."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", ["classifier.md"])
def test_the_guides_code_runs_from_top_to_bottom(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 10
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    shown = capsys.readouterr().out
    assert "MultivariateGaussian" in shown
    assert "it numbers the rows" in shown
