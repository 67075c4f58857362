"""The guides: what they show runs."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


SHOWN = {
    "plot.md": ["petal width density True", "naive full", "logistic regression overtakes GaussianNB at about"],
    "classifier.md": ["MultivariateGaussian", "the month, read from dates", "with a decimal comma"],
    "text.md": ["['spam' 'mail' 'spam']", "(unknown words)", "tells of spam", "'slow'"],
}


@pytest.mark.parametrize("page", SHOWN)
def test_the_guides_code_runs_from_top_to_bottom(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 10
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    shown = capsys.readouterr().out
    for expected in SHOWN[page]:
        assert expected in shown
