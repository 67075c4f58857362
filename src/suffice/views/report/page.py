"""The report as an HTML page."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from suffice.core.errors import InvalidOptionError
from suffice.core.output_files import check_place, replacing
from suffice.model.evaluate import Evaluation
from suffice.views.fitted import column_names, form_of
from suffice.views.report import page_sections as sections_of
from suffice.views.report.html import Markup, embedded, tag
from suffice.views.report.judging import Agreement, agreement_on_kept, answers_of, batches_of, judge
from suffice.views.report.page_elements import Section, filled, section, text_of
from suffice.views.report.panel import Panel, page_model
from suffice.views.report.written_numbers import amount

if TYPE_CHECKING:
    from suffice.estimators.generative_classifier import GenerativeClassifier


def write(
    estimator: GenerativeClassifier,
    path: str | os.PathLike[str],
    data: object = None,
    target: object = None,
    weight: ArrayLike | None = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
) -> None:
    """Write a report of a fitted estimator to one HTML file that needs no network.

    Parameters
    ----------
    estimator : fitted estimator of suffice
        The classifier.
    path : str or path
        The file to write; an existing file is replaced in one step.
    data : table, array, or files by name, default=None
        Rows to evaluate predictions on.
    target : str or array-like, default=None
        The labels of those rows, or the name of the column that holds them.
    weight : str or array-like, default=None
        Their weights, or the name of the column that holds them; 1 each by default.
    title : str, default=None
        The title of the page; by default the target and the files, where they have names.
    names : sequence of str, default=None
        Names of the columns; by default those of training, or x0, x1, …
    evaluation : Evaluation, default=None
        An evaluation that was computed before, instead of `data`.
    """
    check_place(path)
    page = render(estimator, data, target, weight, title, names=names, evaluation=evaluation)
    with replacing(path) as file:
        file.write(page.encode())


def render(
    estimator: GenerativeClassifier,
    data: object = None,
    target: object = None,
    weight: ArrayLike | None = None,
    title: str | None = None,
    *,
    names: Sequence[str] | None = None,
    evaluation: Evaluation | None = None,
    agreement: Agreement | None = None,
    source: str | None = None,
) -> str:
    """Return the HTML that `write` writes.

    `agreement` is how often a page agrees that cannot hold all words, and comes with an `evaluation`. `source` says
    where the model and the rows come from, for the line below the title.
    """
    if not hasattr(type(estimator), "model_"):
        raise InvalidOptionError(f"A report needs a fitted estimator of suffice, found {type(estimator).__name__}")
    model = estimator.model_  # raises if it was not fitted
    if evaluation is None and data is not None:
        shorter = page_model(model)
        on_page = None if shorter is model else answers_of(estimator, target, weight, shorter)
        batches = batches_of(estimator, data, target, weight)
        evaluation, agreement = judge(batches, estimator.classes_, answers_of(estimator, target, weight), on_page)
    is_one_text = form_of(estimator) == "texts" and names is None and not hasattr(estimator, "feature_names_in_")
    known = [""] if is_one_text else column_names(estimator, names)
    panel = Panel.of(estimator, known)
    if panel.model is not model and agreement is None:
        agreement = agreement_on_kept(estimator._settled(), panel.calibration)
    found = [
        sections_of.summary(estimator, model, evaluation),
        sections_of.panel_section(panel, model, agreement),
        *sections_of.columns(estimator, model, known),
        sections_of.nomogram(estimator, model, known),
        sections_of.top_features(estimator),
        None if evaluation is None else sections_of.evaluation(evaluation),
    ]
    source = source or (f"judged on {_files(data)}" if _files(data) else None)
    title = title or (f"Predicting {target}" if isinstance(target, str) else type(estimator).__name__)
    return _page(title, source, estimator, [each for each in found if each is not None], panel)


def _files(data: object) -> str | None:
    """Return the names of files, if the rows are in files."""
    if not isinstance(data, (str, os.PathLike)):
        return None
    return Path(data).name


def _page(
    title: str, source: str | None, estimator: GenerativeClassifier, sections: list[Section], panel: Panel
) -> str:
    style, script = Markup(text_of("page.css")), Markup(text_of("panel.js"))
    classes = len(estimator.classes_)
    said = [
        type(estimator).__name__,
        f"{amount(estimator.class_count_.sum())} rows",
        f"{classes} class{'' if classes == 1 else 'es'}",
        *([source] if source else []),
    ]
    return filled(
        "page.html",
        title=title,
        subtitle=" · ".join(said),
        style=style,
        style_hash=hashed(style),
        script_hash=hashed(script),
        links=[tag("li", tag("a", each.title, href=f"#{each.key}")) for each in sections],
        sections=[section(each) for each in sections],
        version=version("suffice"),
        script=[] if panel.obstacle else [embedded(panel.to_json(), id="model"), tag("script", script)],
    )


def hashed(text: str) -> Markup:
    """Return what a page calls its own style or script by, so that no other runs."""
    return Markup(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")
