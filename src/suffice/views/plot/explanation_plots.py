"""Why classes are predicted: the waterfall of evidence of a row, and the most typical words of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from suffice.core.arrays import Array
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError
from suffice.core.frames import as_frame
from suffice.core.labels import label_list
from suffice.families import Table
from suffice.views.fitted import form_of
from suffice.views.plot import style
from suffice.views.plot.display import Display, PanelsDisplay, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.generative_classifier import GenerativeClassifier

STEPS = 12  # columns or words that are drawn; the others are added up
ROUNDING = 1e-9  # log-odds below this share of the largest step are rounding errors
FOR, AGAINST, SUM = "#0072B2", "#D55E00", "#4D4D4D"
PROBABILITIES = np.array([1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6])  # of the upper axis
UNITS = {
    "log_odds": "log-odds against the other classes",
    "probability": "probability in the class",
    "information": "information on the class, in bits",
    "coefficient": "coefficient",
}
MOST_PANELS = 20  # classes in one picture


class EvidenceDisplay(Display):
    """A waterfall of log-odds: the prior, what each column adds, and their sum.

    Parameters
    ----------
    steps : sequence of (str, float)
        Names and log-odds, in the order they are drawn.
    label, against : str
        The two classes that are compared.
    """

    def __init__(self, steps: Sequence[tuple[str, float]], label: object, against: object):
        self.steps = [(str(name), float(value)) for name, value in steps]
        self.label, self.against = label, against

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier,
        X: object,
        *,
        row: int = 0,
        label: object = None,
        against: object = None,
        most: int = STEPS,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what each column of a row adds to the log-odds.

        Parameters
        ----------
        X : table, array, text or list of texts
            Rows.
        row : int, default=0
            Which of them.
        label, against : label, default=None
            The classes to compare, as in `evidence`.
        most : int, default=12
            How many columns or words to show; the others are added up.
        """
        if most < 1:
            raise InvalidOptionError(f"most must be at least 1, found {most}")
        # Evidence has the form of the rows, and that of an array or of lists would have no names.
        rows = as_frame(X) if form_of(estimator) == "table" else X
        found = estimator.evidence(rows, label, against)
        values: dict[str, object] = {}
        if isinstance(found, (Table, list)):  # of texts
            tables = found if isinstance(found, list) else [found]
            table = tables[_checked(row, len(tables))]
            label, _, against = table.title.partition(" against ")
            parts = dict(zip(map(str, table.rows), table.values[:, 0].tolist(), strict=True))
            prior, calibration = parts.pop("(prior)"), parts.pop("(calibration)")
            parts.pop("(sum)")
        else:
            frame = as_frame(found)
            parts = {name: frame.column(name)[_checked(row, frame.n)].as_py() for name in frame.names}
            label, against = parts.pop("label"), parts.pop("against")
            prior, calibration = parts.pop("prior"), parts.pop("rest", 0.0)
            parts.pop("log_odds")
            values = _values(X, row, list(parts))
        steps = [("prior", prior), *_largest(parts, values, most)]
        if abs(calibration) > ROUNDING * max(1.0, *(abs(value) for _, value in steps)):
            steps.append(("rest", calibration))
        return cls(steps, label, against).plot(ax)

    @property
    def log_odds(self) -> float:
        """The sum of all steps."""
        with np.errstate(invalid="ignore"):
            total = float(np.sum([value for _, value in self.steps]))
        return 0.0 if np.isnan(total) else total

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.8 + 0.3 * len(self.steps)

    def _draw(self, ax: Axes) -> None:
        n = len(self.steps)
        sizes = _finite(np.array([value for _, value in self.steps]))
        ends = np.cumsum(sizes)
        starts = ends - sizes
        style.light_grid(ax, "x")
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            look: style.Style = {"color": FOR, "hatch": ""} if size >= 0 else {"color": AGAINST, "hatch": "////"}
            ax.barh(i, size, left=start, height=0.66, edgecolor="white", linewidth=0, **look)
            ax.plot([ends[i]] * 2, [i - 0.33, i + 1.33], color="0.45", linewidth=0.8)
            _write_number(ax, i, max(start, ends[i]), self.steps[i][1])
        ax.barh(n, ends[-1], height=0.66, color=SUM)
        _write_number(ax, n, max(0.0, ends[-1]), self.log_odds, weight="bold")
        ax.axvline(0.0, color="black", linewidth=0.9)
        ax.set_yticks(range(n + 1), [*(style.shorten(name, 44) for name, _ in self.steps), "sum"], fontsize="small")
        ax.set_ylim(n + 0.6, -0.6)
        low, high = min(0.0, starts.min(), ends.min()), max(0.0, starts.max(), ends.max())
        margin = 0.14 * (high - low) or 0.5
        ax.set_xlim(low - 0.3 * margin, high + margin)
        label, against = style.shorten(self.label), style.shorten(self.against)
        ax.set_xlabel(f"log-odds of {label} against {against}")
        _probability_axis(ax, f"p({label} | {label} or {against})")


evidence = drawing("evidence", EvidenceDisplay.from_estimator, lambda drawn: drawn.ax_)


def _finite(sizes: Array) -> Array:
    """Replace infinite steps, of classes that are impossible, by steps that leave the picture of the others."""
    finite = np.where(np.isfinite(sizes), sizes, 0.0)
    reach = max(float(np.abs(np.cumsum(finite)).max(initial=0.0)), float(np.abs(finite).max(initial=0.0)), 0.5)
    return np.where(np.isfinite(sizes), sizes, np.sign(sizes) * 1.15 * reach)


def _write_number(ax: Axes, i: int, x: float, value: float, weight: str = "normal") -> None:
    ax.annotate(
        style.signed(value), (x, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small",
        fontweight=weight, bbox={"pad": 0.6, "fc": "white", "ec": "none", "alpha": 0.8},
    )  # fmt: skip


def _probability_axis(ax: Axes, title: str) -> None:
    """Label the upper axis with the probabilities that correspond to the log-odds."""
    low, high = ax.get_xlim()
    at = np.log(PROBABILITIES) - np.log1p(-PROBABILITIES)
    kept: list[int] = []
    for i in sorted(range(len(at)), key=lambda i: abs(at[i])):  # 50 % first
        if low <= at[i] <= high and all(abs(at[i] - at[j]) >= 0.13 * (high - low) for j in kept):
            kept.append(i)
    above = ax.secondary_xaxis("top")
    above.set_xticks([at[i] for i in kept], [f"{100 * PROBABILITIES[i]:.6g} %" for i in kept], fontsize="x-small")
    above.set_xlabel(title, fontsize="small")


def _checked(row: int, n: int) -> int:
    if not -n <= row < n:
        raise InvalidDataError(f"There is no row {row}: there are {n}")
    return row


def _values(X: object, row: int, names: list[str]) -> dict[str, object]:
    """Return the values of the row by column."""
    frame = as_frame(X)
    found = {name: frame.column(name)[row].as_py() for name in frame.names}
    if not set(names) & set(found) and len(found) == len(names):  # an array has no names of columns
        return dict(zip(names, found.values(), strict=True))
    return found


def _largest(parts: Mapping[str, float], values: Mapping[str, object], most: int) -> list[tuple[str, float]]:
    """Return the largest steps, largest first, and the sum of the others."""
    order = sorted((name for name in parts if parts[name] != 0.0), key=lambda name: -abs(parts[name]))
    shown = order if len(order) == most + 1 else order[:most]
    others = order[len(shown) :]
    steps = [(_titled(name, values), parts[name]) for name in shown]
    return [*steps, (f"{len(others)} others", sum(parts[name] for name in others))] if others else steps


def _titled(name: str, values: Mapping[str, object]) -> str:
    """Return `column = value`."""
    if name not in values:
        return name
    value = values[name]
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{name if len(name) <= 20 else name[:19] + '…'} = {shown if len(shown) <= 20 else shown[:19] + '…'}"


class TopWordsDisplay(PanelsDisplay):
    """The most typical words of each class, one panel per class.

    Parameters
    ----------
    tables : sequence of Table
        The result of `top_features` for each class.
    labels : sequence of labels
        The classes.
    by : {'log_odds', 'probability', 'information', 'coefficient'}
        What words are ranked by.
    """

    def __init__(self, tables: Sequence[Table], labels: Sequence[object], by: str):
        self.tables, self.labels, self.by = list(tables), list(labels), by

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier,
        n: int = 10,
        *,
        by: str = "log_odds",
        labels: Sequence[object] | None = None,
        ax: style.OneOrMoreAxes | None = None,
    ) -> Self:
        """Draw the words, or values of columns, that are most typical of each class.

        Parameters
        ----------
        n : int, default=10
            How many for each class.
        by : {'log_odds', 'probability', 'information'}, default='log_odds'
            What words are ranked by, as in `top_features`.
        labels : sequence of labels, default=None
            Which classes; by default all, or the twenty most frequent.
        """
        known = estimator.classes_
        if labels is None:
            frequent = np.argsort(-np.asarray(estimator.class_count_), kind="stable")[:MOST_PANELS]
            labels = label_list(known[np.sort(frequent)])
        return cls([estimator.top_features(label, n, by) for label in labels], labels, by).plot(ax)

    @classmethod
    def from_coefficients(
        cls,
        coef: ArrayLike,
        words: Sequence[object],
        labels: Sequence[object],
        n: int = 10,
        *,
        ax: style.OneOrMoreAxes | None = None,
    ) -> Self:
        """Draw the words of a linear model, such as logistic regression, by their coefficients.

        Parameters
        ----------
        coef : array-like of shape (n_classes, n_words)
            Coefficients.
        words : sequence of str
            The words of the columns.
        """
        coef = np.asarray(coef, dtype=np.float64)
        if coef.shape != (len(labels), len(words)):
            raise MismatchError(
                f"coef must have the shape {(len(labels), len(words))}, of {len(labels)} classes and {len(words)} "
                f"words; found {coef.shape}"
            )
        tables = []
        for label, own in zip(labels, coef, strict=True):
            some = np.argsort(-own, kind="stable")[:n]
            tables.append(Table(str(label), [str(words[i]) for i in some], ["coefficient"], own[some, None]))
        return cls(tables, labels, "coefficient").plot(ax)

    def plot(self, ax: style.OneOrMoreAxes | None = None) -> Self:
        """Draw onto axes, or onto a new figure."""
        rows = max((len(table.rows) for table in self.tables), default=1)
        across = 2 if len(self.tables) <= 4 else 3 if len(self.tables) <= 9 else 4
        axes = style.panel_axes(ax, len(self.tables), (3.2, 0.8 + 0.2 * max(rows, 3)), across=across)
        for i, (panel, table, label) in enumerate(zip(axes, self.tables, self.labels, strict=True)):
            self._panel(panel, i, table)
            panel.set_title(style.shorten(label, 32), fontsize="medium")
            if i + across >= len(axes):  # nothing is below it
                panel.set_xlabel(UNITS[self.by], fontsize="small")
        return self._drawn_on(axes)

    def _panel(self, ax: Axes, i: int, table: Table) -> None:
        style.light_grid(ax, "x")
        size = np.asarray(table.values[:, list(table.columns).index(self.by)], dtype=np.float64)
        finite = np.where(np.isfinite(size), size, np.nan)
        top = np.nanmax(np.abs(finite), initial=0.0) or 1.0
        drawn = np.where(np.isfinite(size), size, np.sign(size) * 1.1 * top)  # a word that only one class has
        bars = ax.barh(np.arange(len(size)), drawn, height=0.78, linewidth=0, **style.bar(i))
        numbers = [f"{value:.3g}".replace("-", "−").replace("inf", "∞") for value in size]
        ax.bar_label(bars, numbers, padding=2, fontsize="x-small")
        ax.set_yticks(np.arange(len(size)), [style.shorten(word, 20) for word in table.rows], fontsize="small")
        ax.set_ylim(len(size) - 0.4, -0.6)
        ax.margins(x=0.18)
        ax.tick_params(axis="x", labelsize="x-small")


top_words = drawing("top_words", TopWordsDisplay.from_estimator, lambda drawn: drawn.axes_)
