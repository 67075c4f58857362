"""p(x | y) of each column: curves, steps, bars, tables, words and ellipses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.core.arrays import Array, Values
from suffice.families.bin_edges import names as bin_names
from suffice.model.class_conditionals import Bars, Conditional, Curve, Ellipses, Words
from suffice.model.class_conditionals import conditionals as shapes_of
from suffice.model.joint import Model
from suffice.views.plot import style
from suffice.views.plot.display import PanelsDisplay, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.generative_classifier import GenerativeClassifier

MOST_OUTCOMES = 12  # outcomes of a column; of more, those that differ most between classes are drawn
SIDE_BY_SIDE = 4  # classes, up to which bars are drawn side by side; for more, a table
NUMBERED_BARS = 16  # bars, up to which each carries its number
FEW_BINS = 3  # bins, up to which they are drawn as bars
MOST_COLUMNS = 9  # columns that are drawn by default
GREY = 6  # the colour of a column that does not vote
ALL_MARKED = 40  # integers, up to which each has a marker


class ConditionalsDisplay(PanelsDisplay):
    """p(x | y) of each column, one panel per column.

    Numbers are drawn as curves, bins as steps, counts as points; categories as bars, or as a table if there are many
    classes; texts by their most typical words; a Gaussian over two columns by ellipses that hold 50 % and 90 %.
    A column that does not vote is drawn once, for all classes.

    Parameters
    ----------
    conditionals : list of Curve, Bars, Words or Ellipses
        What to draw, from `suffice.conditionals`.
    weight : array-like of shape (n_classes,)
        How frequent the classes are; of many classes, the most frequent are drawn.
    """

    def __init__(self, conditionals: Sequence[Conditional], weight: ArrayLike):
        self.conditionals = list(conditionals)
        self.weight = np.asarray(weight)

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier | Model,
        columns: Sequence[str] | None = None,
        *,
        labels: Sequence[object] | None = None,
        names: Sequence[str] | None = None,
        ax: style.OneOrMoreAxes | None = None,
    ) -> Self:
        """Draw p(x | y) of each column of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of suffice, or Model
            What to draw.
        columns : sequence of str, default=None
            Which columns; by default the first nine.
        labels : sequence of labels, default=None
            Which classes; by default all, or the eight most frequent.
        names : sequence of str, default=None
            Names of the columns; by default those of training.
        """
        wanted = [columns] if isinstance(columns, str) else columns
        found = shapes_of(estimator, wanted, names=names, most=MOST_COLUMNS if columns is None else None)
        model = estimator if isinstance(estimator, Model) else estimator.model_
        return cls(found, np.exp(model.log_prior)).plot(ax, labels=labels)

    def plot(self, ax: style.OneOrMoreAxes | None = None, *, labels: Sequence[object] | None = None) -> Self:
        """Draw onto axes, or onto a new figure."""
        panels: list[Conditional] = []
        for each in self.conditionals:  # two Gaussian columns have one panel together, all others one each
            if isinstance(each, Ellipses) and not len(each.columns) == len(each.margins) == 2:
                panels += each.margins
            else:
                panels.append(each)
        axes = style.panel_axes(ax, len(panels), (4.0, 3.0))
        for where, panel in zip(axes, panels, strict=True):
            _draw(where, panel, style.chosen_classes(panel.labels, labels, self.weight))
        if ax is None:
            _share_legend(axes, panels)
        return self._drawn_on(axes)


conditionals = drawing("conditionals", ConditionalsDisplay.from_estimator, lambda drawn: drawn.axes_)


def _draw(ax: Axes, found: Conditional, places: list[int]) -> None:
    if not found.votes:
        places = places[:1]
    names = style.distinct_names(found.labels[places]) if found.votes else ["all classes"]
    draw: dict[type, Callable[..., None]] = {Curve: _curve, Bars: _bars, Words: _words, Ellipses: _ellipses}
    draw[type(found)](ax, found, places, names)
    title = "50 % and 90 % of each class" if isinstance(found, Ellipses) else style.shorten(found.title, 40)
    ax.set_title(title if found.votes else f"{title} (does not vote)", fontsize="medium")


def _legend(ax: Axes, names: list[str], known: Values, **options: Any) -> None:
    title = f"{len(names)} of {len(known)} classes" if 1 < len(names) < len(known) else None
    style.legend(ax, len(names), title=title, **options)


def _share_legend(axes: NDArray[np.object_], panels: list[Conditional]) -> None:
    """Draw one legend beside the figure, instead of one for each panel, where there are many lines."""
    lined = [
        ax
        for ax, panel in zip(axes, panels, strict=True)
        if isinstance(panel, (Curve, Ellipses)) and len(ax.get_legend_handles_labels()[0]) > style.INSIDE
    ]
    if len(lined) < 2:
        return
    title = lined[0].get_legend().get_title().get_text()
    for ax in lined:
        ax.get_legend().remove()
    handles, names = lined[0].get_legend_handles_labels()
    look = {"fontsize": "small", "title_fontsize": "small", "handlelength": 3.2, "frameon": False}
    axes[0].figure.legend(handles, names, title=title, loc="outside right upper", **look)


def _curve(ax: Axes, curve: Curve, places: list[int], names: list[str]) -> None:
    if curve.kind == "steps" and 0 < curve.density.shape[1] <= FEW_BINS:
        table = curve.density * np.diff(curve.x)
        titles = tuple(bin_names(curve.x[1:-1].tolist()))
        _bars(ax, Bars(curve.title, curve.columns, curve.labels, curve.votes, titles, table), places, names)
        return
    style.light_grid(ax)
    ax.set_xlabel(style.shorten(curve.title, 40))
    ax.set_ylabel("probability" if curve.kind == "mass" else "density")
    if not curve.density.size:
        ax.text(0.5, 0.5, "no value was seen", ha="center", transform=ax.transAxes)
        return
    for i, name in zip(places, names, strict=True):
        own = style.line(i if curve.votes else GREY)
        if curve.kind == "steps":
            ax.stairs(curve.density[i], curve.x, label=name, baseline=None, **own)
            ax.stairs(curve.density[i], curve.x, fill=True, alpha=0.10, color=own["color"])
        elif curve.kind == "mass":
            marker = style.marker(i) if len(curve.x) <= ALL_MARKED else None
            ax.plot(curve.x, curve.density[i], label=name, marker=marker, markersize=4, **own)
        else:
            ax.plot(curve.x, curve.density[i], label=name, **own)
            ax.fill_between(curve.x, curve.density[i], alpha=0.10, color=own["color"], linewidth=0)
    # The spike of a class that hardly varies must not flatten the others.
    peaks = curve.density[places].max(axis=1)
    usual, top = float(np.median(peaks)), float(peaks.max())
    ax.set_ylim(0, 1.08 * (min(top, 20 * usual) if usual > 0 else max(top, 1e-12)))
    ax.margins(x=0.02 if curve.kind == "mass" else 0)
    ax.locator_params(axis="x", nbins=6, integer=curve.kind == "mass")
    _legend(ax, names, curve.labels)


def _most_different(p: Array, n: int) -> NDArray[np.intp]:
    """Return the n outcomes whose probabilities differ most between classes, in their own order."""
    if p.shape[1] <= n:
        return np.arange(p.shape[1])
    apart = p.max(axis=0) - p.min(axis=0)
    apart = apart if apart.any() else p.max(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:n])


def _bars(ax: Axes, bars: Bars, places: list[int], names: list[str]) -> None:
    p = bars.probability[places]
    some = _most_different(p, MOST_OUTCOMES)
    titles = style.distinct_names([bars.names[j] for j in some])
    note = f", {len(some)} of {len(bars.outcomes)} shown" if len(some) < len(bars.outcomes) else ""
    if len(places) > SIDE_BY_SIDE:
        _table(ax, p[:, some], names, titles, note)
    else:
        style.light_grid(ax, "x")
        height = 0.8 / len(places)
        for k, (i, name) in enumerate(zip(places, names, strict=True)):
            own = style.bar(i) if bars.votes else style.bar(GREY) | {"hatch": ""}
            at = np.arange(len(some)) + (k - (len(places) - 1) / 2) * height
            drawn = ax.barh(at, p[k, some], height=height * 0.94, label=name, linewidth=0, **own)
            if len(some) * len(places) <= NUMBERED_BARS:
                ax.bar_label(drawn, [f"{v:.2f}" for v in p[k, some]], padding=2, fontsize="x-small")
        ax.set_yticks(np.arange(len(some)), titles, fontsize="small")
        ax.invert_yaxis()
        ax.set_xlabel(f"probability{note}")
        ax.set_xlim(0, 1.3 * float(p[:, some].max()) or 1.0)
        ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 1.0])
        _legend(ax, names, bars.labels)


def _table(ax: Axes, p: Array, names: list[str], titles: list[str], note: str) -> None:
    """Draw a table of classes by outcomes: probabilities in percent, on grey that darkens with them."""
    ax.imshow(p, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for i, k in np.ndindex(p.shape):
        ink, digits = "white" if p[i, k] > 0.55 else "black", 0 if p[i, k] >= 0.095 or p[i, k] == 0 else 1
        ax.text(k, i, f"{100 * p[i, k]:.{digits}f}", ha="center", va="center", fontsize="x-small", color=ink)
    ax.set_xticks(range(len(titles)), titles, rotation=45, ha="right", fontsize="small")
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set_xlabel(f"probability in %{note}", fontsize="small")


def _words(ax: Axes, words: Words, places: list[int], names: list[str]) -> None:
    """Draw the first few words of each class, one below the other."""
    style.light_grid(ax, "x")
    each = max(1, MOST_OUTCOMES // len(places))
    at, titles = 0.0, []
    probable = words.by == "probability" or not np.isfinite(np.concatenate([words.log_odds[i] for i in places])).all()
    sizes = words.probability if probable else words.log_odds
    for i, name in zip(places, names, strict=True):
        size = sizes[i][:each]
        where = at + np.arange(len(size))
        ax.barh(where, size, height=0.82, label=name, linewidth=0, **style.bar(i))
        titles += list(zip(where, words.words[i], strict=False))
        at += len(size) + 0.6
    ax.set_yticks([y for y, _ in titles], [style.shorten(word, 16) for _, word in titles], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("probability" if probable else "log-odds against the other classes")
    ax.margins(x=0.5 if len(places) <= style.INSIDE else 0.05)
    _legend(ax, names, words.labels, **({} if len(places) > style.INSIDE else {"loc": "center right"}))


def _ellipses(ax: Axes, block: Ellipses, places: list[int], names: list[str]) -> None:
    """Draw the ellipses that hold 50 % and 90 % of each class: (x − μ)ᵀ Σ⁻¹ (x − μ) = −2 log(1 − share)."""
    style.light_grid(ax)
    for i, name in zip(places, names, strict=True):
        for share in (0.5, 0.9):
            path = block.outline(i, float(np.sqrt(-2.0 * np.log1p(-share))))
            ax.plot(*path, label=name if share == 0.5 else None, **style.line(i))
        ax.plot(*block.mean[i], linestyle="", markersize=6, color=style.colour(i), marker=style.marker(i))
    ax.set_xlabel(style.shorten(block.columns[0], 40))
    ax.set_ylabel(style.shorten(block.columns[1], 40))
    ax.margins(0.12)
    _legend(ax, names, block.labels)
