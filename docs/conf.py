"""How the pages of this folder become a site: `make docs`."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Literal

import latex2mathml.converter
from docutils.nodes import SkipNode

project = "suffice"
version = release = version_of("suffice")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]

# ------------------------------------------------------------------------------------------------- the pages

myst_enable_extensions = ["dollarmath"]  # $a^2$ and $$a^2$$, as on GitHub
myst_dmath_double_inline = True
myst_heading_anchors = 4  # links such as families.md#leaving-one-out, as on GitHub
smartquotes = False  # m' is a formula
highlight_language = "none"  # a block without a language is output
copybutton_exclude = ".linenos, .gp, .go"


def complete(_app: Any, page: str, source: list[str]) -> None:
    """List pages that the index does not place, so that none is lost."""
    if page == "index":
        pages = (path.stem for path in sorted(Path(__file__).parent.glob("*.md")) if path.stem != "index")
        others = [name for name in pages if not re.search(rf"^(.* <)?{name}>?$", source[0], re.MULTILINE)]
        if others:
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *others, "```", ""])


# --------------------------------------------------------------------------------------------- the formulas

html_math_renderer = "mathml"  # browsers draw it without a script or a font that would have to be fetched


def as_mathml(latex: str, display: Literal["inline", "block"] = "inline") -> str:
    """Return a formula as MathML, with a space between a function such as log and a name."""
    drawn = latex2mathml.converter.convert(latex, display=display)
    return re.sub(r"(<m[io]>(?:log|det|max|min|exp)</m[io]>)(?=<m[in]|<ms[uo])", r'\1<mspace width="0.17em"/>', drawn)


def inline_formula(page: Any, node: Any) -> None:
    """Write a formula within a sentence."""
    page.body.append(as_mathml(node.astext()))
    raise SkipNode


def block_formula(page: Any, node: Any) -> None:
    """Write a formula on lines of its own; a wide one can be scrolled."""
    drawn = as_mathml(node.astext(), "block")
    page.body.append(f'<div class="math" tabindex="0">{drawn}</div>\n')
    raise SkipNode


# -------------------------------------------------------------------------------------------- the reference

default_role = "literal"  # `name` in a docstring is code
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures stay readable; the words say what is meant
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False  # autodoc lists them
add_module_names = False


def escape(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Let |, * and a last _ be what they are, and not mark-up."""
    for i, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)  # what is code stays as it is
        parts[::2] = [re.sub(r"(?<!\*)\*(?!\*)|\||(?<=\w)_(?=[,)])", r"\\\g<0>", part) for part in parts[::2]]
        lines[i] = line if line.lstrip().startswith((">>>", "...")) else "".join(parts)


def skip(_app: Any, _what: str, name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: it is described there."""
    home = getattr(getattr(obj, "fget", obj), "__module__", None) or ""
    return True if home.startswith("sklearn.") or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Connect what is above."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("source-read", complete)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape, priority=400)  # before numpydoc writes mark-up of its own


# ------------------------------------------------------------------------------------------------- the looks

html_theme = "furo"  # no script or font is fetched: the site works from a disk
html_title = f"suffice {version}"
html_static_path = ["_static"]
html_css_files = ["suffice.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
