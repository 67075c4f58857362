"""p(x | y) of each column: curves, steps, bars, tables, words and ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.families.bin_edges import names as bin_names
from suffice.model.class_conditionals import Bars, Conditional, Curve, Ellipses, Words
from suffice.model.class_conditionals import conditionals as shapes_of
from suffice.views.plot import style

OUTCOMES = 12  # bars of one column, beyond which only those that differ most are drawn
SIDE_BY_SIDE = 4  # classes whose bars fit beside each other; of more a table is drawn
LABELLED = 16  # bars that still have room for their numbers
FEW_BINS = 3  # bins that are shown as bars
CROWDED = 9  # columns that fit a picture by themselves


class ConditionalsDisplay:
    """What p(x | y) of each column looks like, one panel a column.

    Curves of numbers, steps of bins, stems of counts; bars of categories, or a table where there are many classes; the
    words that tell most; ellipses that hold half and nine tenths of a Gaussian over two columns. Columns that do not
    vote are drawn once, for all classes.

    Parameters
    ----------
    conditionals : list of Curve, Bars, Words or Ellipses
        What to draw, from `suffice.conditionals`.
    weight : array-like of shape (n_classes,)
        How frequent the classes are: of many, the most frequent are drawn.

    Attributes
    ----------
    axes_ : ndarray of Axes
        One for each panel.
    ax_ : Axes
        The first of them.
    figure_ : Figure
        What they are part of.
    """

    def __init__(self, conditionals: Sequence[Conditional], weight: Any):
        self.conditionals = list(conditionals)
        self.weight = np.asarray(weight)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        columns: Sequence[str] | None = None,
        *,
        labels: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the columns of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of suffice, or Model
            What to draw.
        columns : sequence of str, default=None
            Which columns; by default the first nine.
        labels : sequence of labels, default=None
            Which classes; by default all, or the eight most frequent.
        names : sequence of str, default=None
            What to call columns; by default as in training.
        ax : Axes, or array of them, default=None
            Where to draw: one for each column. A new figure by default.

        Returns
        -------
        display : ConditionalsDisplay
            With `axes_` and `figure_`.
        """
        wanted = [columns] if isinstance(columns, str) else columns
        found = shapes_of(estimator, wanted, names=names, most=CROWDED if columns is None else None)
        model = getattr(estimator, "model_", estimator)
        return cls(found, np.exp(model.log_prior)).plot(ax, labels=labels)

    def plot(self, ax: Any = None, *, labels: Sequence[Any] | None = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, or array of them, default=None
            One for each panel.
        labels : sequence of labels, default=None
            Which classes; by default all, or the eight most frequent.

        Returns
        -------
        self : ConditionalsDisplay
            With `axes_` and `figure_`.
        """
        panels = [panel for each in self.conditionals for panel in _panels(each)]
        axes = style.several(ax, len(panels), (4.0, 3.0))
        for where, panel in zip(axes, panels, strict=True):
            places = style.chosen_classes(panel.labels, labels, self.weight)
            _draw(where, panel, places)
        if ax is None:
            _share_legend(axes, panels)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self


def conditionals(
    estimator: Any,
    columns: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
) -> NDArray[Any]:
    """Draw p(x | y) of each column and return the axes; see `ConditionalsDisplay.from_estimator`."""
    return ConditionalsDisplay.from_estimator(estimator, columns, labels=labels, names=names, ax=ax).axes_


def _panels(found: Conditional) -> list[Conditional]:
    """A block of two Gaussian columns is one panel; of others each column is."""
    if isinstance(found, Ellipses) and (len(found.columns) != 2 or len(found.margins) != 2):
        return list(found.margins)
    return [found]


def _draw(ax: Any, found: Conditional, places: list[int]) -> None:
    if not found.votes:
        places = places[:1]
    names = style.told_apart(found.labels[places]) if found.votes else ["all classes"]
    if isinstance(found, Curve):
        _curve(ax, found, places, names)
    elif isinstance(found, Bars):
        _bars(ax, found, places, names)
    elif isinstance(found, Words):
        _words(ax, found, places, names)
    elif isinstance(found, Ellipses):
        _ellipses(ax, found, places, names)
    title = "50 % and 90 % of each class" if isinstance(found, Ellipses) else style.ellipsed(found.title, 40)
    ax.set_title(title if found.votes else f"{title} (does not vote)", fontsize="medium")


def _legend(ax: Any, names: list[str], all_of_them: Values, **options: Any) -> None:
    shown = len(names) < len(all_of_them) and len(names) > 1
    title = f"{len(names)} of {len(all_of_them)} classes" if shown else None
    style.legend(ax, len(names), title=title, **options)


def _share_legend(axes: NDArray[Any], panels: list[Conditional]) -> None:
    """Where the lines of several panels are many, name them once, beside the figure."""
    lined = [
        ax
        for ax, panel in zip(axes, panels, strict=True)
        if isinstance(panel, (Curve, Ellipses)) and len(ax.get_legend_handles_labels()[0]) > style.BESIDE
    ]
    if len(lined) < 2:
        return
    title = lined[0].get_legend().get_title().get_text()
    for ax in lined:
        ax.get_legend().remove()
    handles, names = lined[0].get_legend_handles_labels()
    options = {
        "loc": "outside right upper",
        "fontsize": "small",
        "title_fontsize": "small",
        "handlelength": 3.2,
        "frameon": False,
    }
    axes[0].figure.legend(handles, names, title=title, **options)


def _curve(ax: Any, curve: Curve, places: list[int], names: list[str]) -> None:
    if curve.kind == "steps" and 0 < curve.density.shape[1] <= FEW_BINS:  # a picture of their widths would say nothing
        table = curve.density * np.diff(curve.x)
        titles = tuple(bin_names(curve.x[1:-1].tolist()))
        _bars(ax, Bars(curve.title, curve.columns, curve.labels, curve.votes, titles, table), places, names)
        return
    style.plain(ax)
    ax.set_xlabel(style.ellipsed(curve.title, 40))
    ax.set_ylabel("probability" if curve.kind == "mass" else "density")
    if not curve.density.size:
        ax.text(0.5, 0.5, "no value was seen", ha="center", transform=ax.transAxes)
        return
    for i, name in zip(places, names, strict=True):
        own = style.line(i) if curve.votes else style.line(6)
        if curve.kind == "steps":
            ax.stairs(curve.density[i], curve.x, label=name, baseline=None, **own)
            ax.stairs(curve.density[i], curve.x, fill=True, alpha=0.10, color=own["color"])
        elif curve.kind == "mass":
            few = len(curve.x) <= 40
            marks = style.points(i)["marker"] if few else None
            ax.plot(curve.x, curve.density[i], label=name, marker=marks, markersize=4, **own)
        else:
            ax.plot(curve.x, curve.density[i], label=name, **own)
            ax.fill_between(curve.x, curve.density[i], alpha=0.10, color=own["color"], linewidth=0)
    ax.set_ylim(0, _highest(curve.density[places]) * 1.08)
    ax.margins(x=0.02 if curve.kind == "mass" else 0)
    ax.locator_params(axis="x", nbins=6, integer=curve.kind == "mass")
    _legend(ax, names, curve.labels)


def _highest(density: Array) -> float:
    """The top of the picture: a spike, of a class that hardly varies, leaves it where others can still be seen."""
    peaks = density.max(axis=1)
    usual = float(np.median(peaks))
    top = float(peaks.max())
    return min(top, 20 * usual) if usual > 0 else max(top, 1e-12)


def _most_different(p: Array, n: int) -> NDArray[Any]:
    """The outcomes whose probabilities differ most between classes, in their own order."""
    if p.shape[1] <= n:
        return np.arange(p.shape[1])
    apart = p.max(axis=0) - p.min(axis=0)
    apart = apart if apart.any() else p.max(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:n])


def _bars(ax: Any, bars: Bars, places: list[int], names: list[str]) -> None:
    p = bars.probability[places]
    some = _most_different(p, OUTCOMES)
    titles = style.told_apart([bars.outcomes[j] for j in some])
    note = f", {len(some)} of {len(bars.outcomes)} shown" if len(some) < len(bars.outcomes) else ""
    if len(places) > SIDE_BY_SIDE:
        _table(ax, p[:, some], names, titles, note)
    else:
        style.plain(ax, "x")
        height = 0.8 / len(places)
        for k, (i, name) in enumerate(zip(places, names, strict=True)):
            own = style.bar(i) if bars.votes else style.bar(6) | {"hatch": ""}
            at = np.arange(len(some)) + (k - (len(places) - 1) / 2) * height
            drawn = ax.barh(at, p[k, some], height=height * 0.94, label=name, linewidth=0, **own)
            if len(some) * len(places) <= LABELLED:
                ax.bar_label(drawn, [f"{v:.2f}" for v in p[k, some]], padding=2, fontsize="x-small")
        ax.set_yticks(np.arange(len(some)), titles, fontsize="small")
        ax.invert_yaxis()
        ax.set_xlabel(f"probability{note}")
        ax.set_xlim(0, 1.3 * float(p[:, some].max()) or 1.0)
        ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 1.0])
        _legend(ax, names, bars.labels)


def _table(ax: Any, p: Array, names: list[str], titles: list[str], note: str) -> None:
    """Classes by outcomes, the darker the more probable, with the numbers in it."""
    ax.imshow(p, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for i, k in np.ndindex(p.shape):
        said = float(p[i, k])
        ink = "white" if said > 0.55 else "black"
        ax.text(k, i, _percent(said), ha="center", va="center", fontsize="x-small", color=ink)
    ax.set_xticks(range(len(titles)), titles, rotation=45, ha="right", fontsize="small")
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set_xlabel(f"probability in %{note}", fontsize="small")


def _percent(p: float) -> str:
    return f"{100 * p:.0f}" if p >= 0.095 or p == 0 else f"{100 * p:.1f}"


def _words(ax: Any, words: Words, places: list[int], names: list[str]) -> None:
    """The first few words of each class, one below the other."""
    style.plain(ax, "x")
    each = max(1, OUTCOMES // len(places))
    at, titles = 0.0, []
    probable = words.by == "probability" or not np.isfinite(np.concatenate([words.log_odds[i] for i in places])).all()
    sizes = words.probability if probable else words.log_odds
    for i, name in zip(places, names, strict=True):
        size = sizes[i][:each]
        where = at + np.arange(len(size))
        ax.barh(where, size, height=0.82, label=name, linewidth=0, **style.bar(i))
        titles += list(zip(where, words.words[i], strict=False))
        at += len(size) + 0.6
    ax.set_yticks([y for y, _ in titles], [style.ellipsed(word, 16) for _, word in titles], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("probability" if probable else "log-odds against the other classes")
    ax.margins(x=0.5 if len(places) <= style.BESIDE else 0.05)
    _legend(ax, names, words.labels, **({} if len(places) > style.BESIDE else {"loc": "center right"}))


def _ellipses(ax: Any, block: Ellipses, places: list[int], names: list[str]) -> None:
    """Where half and nine tenths of each class lie: (x − μ)ᵀ Σ⁻¹ (x − μ) = −2 log(1 − share)."""
    style.plain(ax)
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for i, name in zip(places, names, strict=True):
        values, vectors = np.linalg.eigh(block.covariance[i])
        for share in (0.5, 0.9):
            radius = np.sqrt(-2.0 * np.log1p(-share) * np.maximum(values, 0.0))
            path = block.mean[i][:, None] + vectors @ (radius[:, None] * circle)
            ax.plot(*path, label=name if share == 0.5 else None, **style.line(i))
        ax.plot(*block.mean[i], linestyle="", markersize=6, **style.points(i))
    ax.set_xlabel(style.ellipsed(block.columns[0], 40))
    ax.set_ylabel(style.ellipsed(block.columns[1], 40))
    ax.margins(0.12)
    _legend(ax, names, block.labels)
