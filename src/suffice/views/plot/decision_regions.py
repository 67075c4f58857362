"""Decision regions and contours of the classes over two columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError, MissingColumnWarning
from suffice.core.frames import as_frame
from suffice.core.frames import numbers as read_numbers
from suffice.model.class_conditionals import Curve, Ellipses, check_column
from suffice.model.class_conditionals import conditionals as shapes_of
from suffice.views.fitted import column_names, form_of, labels_of
from suffice.views.plot import style
from suffice.views.plot.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.estimators.generative_classifier import GenerativeClassifier

SHARES = (0.9, 0.5)  # of a class, inside its contours
MOST_DOTS = 1500  # rows that are drawn


class DecisionRegionsDisplay(Display):
    """The most probable class at each point of two columns, and where each class lies.

    Contours hold 50 % and 90 % of p(x | y) of each class. All other columns count as missing, so the regions are those
    of p(y | the two columns).

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
        The grid, along both columns.
    posterior : ndarray of shape (n_classes, n_points, n_points)
        p(class | x, y), rows along `y`.
    log_density : ndarray of shape (n_classes, n_points, n_points)
        log p(x, y | class).
    labels : ndarray of shape (n_classes,)
        The classes.
    names : tuple of two str
        The columns.
    rows : tuple of ndarrays, default=None
        Both columns of rows to draw, and their labels or None.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        posterior: Array,
        log_density: Array,
        labels: Values,
        names: Sequence[str],
        rows: tuple[Array, Array, Values | None] | None = None,
    ):
        self.x, self.y, self.posterior, self.log_density = x, y, posterior, log_density
        self.labels, self.names, self.rows = labels, tuple(names), rows

    @classmethod
    def from_estimator(
        cls,
        estimator: GenerativeClassifier,
        X: object = None,
        y: object = None,
        *,
        columns: Sequence[str] | None = None,
        grid_resolution: int = 200,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the regions of a fitted estimator.

        Parameters
        ----------
        X : table or array, default=None
            Rows to draw. The picture covers their range; without rows it covers the classes.
        y : array-like, or str, default=None
            Labels of the rows, or the name of the column that holds them.
        columns : two str, default=None
            The columns to draw over; required if there are more than two. The others count as missing.
        grid_resolution : int, default=200
            Points along each column.
        """
        if grid_resolution < 2:
            raise InvalidOptionError(f"grid_resolution must be at least 2, found {grid_resolution}")
        curves, places = _two_columns(estimator, columns)
        names = [curve.title for curve in curves]
        rows = None if X is None else _rows(X, y, names, places)
        reach = [_reach(curve, None if rows is None else rows[j]) for j, curve in enumerate(curves)]
        along = [np.linspace(low, high, grid_resolution) for low, high in reach]
        grid = _grid_rows(estimator, curves, places, along)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingColumnWarning)
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            posterior = estimator.predict_proba(grid)
            density = estimator.predict_joint_log_proba(grid) - estimator.model_.log_prior
        shape = (-1, grid_resolution, grid_resolution)
        display = cls(
            along[0], along[1], posterior.T.reshape(shape), density.T.reshape(shape), estimator.classes_, names, rows
        )
        return display.plot(ax, **options)

    def plot(
        self, ax: Axes | None = None, *, contours: bool = True, legend: bool = True, title: str | None = None
    ) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        contours : bool, default=True
            Whether to draw the contours of the classes.
        legend : bool, default=True
            Whether to draw a legend.
        title : str, default=None
            The title of the axes.
        """
        from matplotlib.colors import ListedColormap, to_rgb

        self.ax_ = ax = style.single_axes(ax, (5.6, 4.4))
        k = len(self.labels)
        predicted = self.posterior.argmax(axis=0)
        tints = [tuple(1 - (0.26 if i % 2 else 0.18) * (1 - v) for v in to_rgb(style.colour(i))) for i in range(k)]
        extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
        ax.imshow(
            predicted, extent=extent, origin="lower", aspect="auto", cmap=ListedColormap(tints), vmin=-0.5,
            vmax=k - 0.5, interpolation="nearest", zorder=0,
        )  # fmt: skip
        for i in range(k):
            self._boundary(ax, i)
            if contours and k <= style.MOST_CLASSES:  # more would hide each other
                self._contours(ax, i)
        self._dots(ax)
        self._write_names(ax, predicted)
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.set_xlabel(style.shorten(self.names[0], 40))
        ax.set_ylabel(style.shorten(self.names[1], 40))
        if title is not None:
            ax.set_title(title, fontsize="medium")
        if legend:
            self._legend(ax)
        return self

    def margin(self, i: int) -> Array:
        """Return log p(class i) − log p(best other class) on the grid; it is 0 on the boundary."""
        logs = np.log(np.maximum(self.posterior, 1e-300))
        others = np.delete(logs, i, axis=0)
        return np.asarray(logs[i] - others.max(axis=0))

    def _boundary(self, ax: Axes, i: int) -> None:
        if len(self.labels) < 2 or (len(self.labels) == 2 and i == 1):
            return
        margin = np.clip(self.margin(i), -50.0, 50.0)
        if margin.min() < 0 < margin.max():
            ax.contour(self.x, self.y, margin, levels=[0.0], colors="black", linewidths=1.3, zorder=2)

    def levels(self, i: int) -> list[float]:
        """Return the log-densities of the contours that hold 90 % and 50 % of the part of class i on the grid."""
        logs = np.sort(self.log_density[i].ravel())[::-1]
        top = logs[0]
        if not np.isfinite(top):
            return []
        mass = np.cumsum(np.exp(logs - top))
        return [float(logs[min(np.searchsorted(mass, share * mass[-1]), len(logs) - 1)]) for share in SHARES]

    def _contours(self, ax: Axes, i: int) -> None:
        levels = sorted(set(self.levels(i)))
        logs = np.maximum(self.log_density[i], min(levels, default=0.0) - 50.0)
        if levels and logs.min() < levels[0]:
            look: style.Style = {"colors": style.colour(i), "linestyles": [style.line(i)["linestyle"]]}
            ax.contour(self.x, self.y, logs, levels=levels, linewidths=1.2, zorder=3, **look)

    def _dots(self, ax: Axes) -> None:
        if self.rows is None:
            return
        a, b, labels = self.rows
        some = np.arange(len(a))
        if len(a) > MOST_DOTS:
            some = np.random.default_rng(0).choice(len(a), MOST_DOTS, replace=False)
        look: style.Style = {"s": 24, "edgecolor": "white", "linewidth": 0.4, "zorder": 4}
        if labels is None:
            ax.scatter(a[some], b[some], color="0.25", **look)
            return
        for i, label in enumerate(self.labels):
            own = some[labels[some] == label]
            ax.scatter(a[own], b[own], color=style.colour(i), marker=style.marker(i), **look)

    def _write_names(self, ax: Axes, predicted: NDArray[np.intp]) -> None:
        """Write the name of each class into its region, as far from the edges as possible."""
        from scipy.ndimage import distance_transform_edt

        for i, name in enumerate(style.distinct_names(self.labels, 14)):
            region = predicted == i
            if region.mean() < 0.01:
                continue
            depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]  # the edge of the picture counts too
            at = np.unravel_index(np.argmax(depth), region.shape)
            ax.annotate(
                name, (self.x[at[1]], self.y[at[0]]), ha="center", va="center", fontsize="small",
                fontweight="bold", zorder=5,
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": style.colour(i), "alpha": 0.85},
            )  # fmt: skip

    def _legend(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        names = style.distinct_names(self.labels)
        no_line = {"linestyle": ""} if len(names) > style.MOST_CLASSES else {}  # so many have no contours
        marked = self.rows is not None and self.rows[2] is not None
        handles = []
        for i, name in enumerate(names[: 2 * style.MOST_CLASSES]):
            marker = style.marker(i) if marked else None
            handles.append(Line2D([], [], label=name, marker=marker, markersize=5, **(style.line(i) | no_line)))
        if len(np.unique(self.posterior.argmax(axis=0))) > 1:
            handles.append(Line2D([], [], color="black", linewidth=1.3, label="boundary"))
        style.legend(ax, len(self.labels), handles=handles)


def decision_regions(
    estimator: GenerativeClassifier | Mapping[str, GenerativeClassifier],
    X: object = None,
    y: object = None,
    *,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw decision regions and return the axes. The options are those of `DecisionRegionsDisplay.from_estimator`.

    Several estimators, in a dictionary by title, are drawn side by side over the same range. Then `ax` and the result
    are arrays of axes.
    """
    if not isinstance(estimator, Mapping):
        return DecisionRegionsDisplay.from_estimator(estimator, X, y, ax=ax, **options).ax_
    axes = style.panel_axes(ax, len(estimator), (5.2, 4.2))
    for i, (where, (title, each)) in enumerate(zip(axes, estimator.items(), strict=True)):
        own: dict[str, Any] = {"title": str(title), "legend": i == len(axes) - 1} | options
        DecisionRegionsDisplay.from_estimator(each, X, y, ax=where, **own)
        if i and ax is None:
            where.set_ylabel("")
    return axes


def _two_columns(estimator: GenerativeClassifier, columns: Sequence[str] | None) -> tuple[list[Curve], list[int]]:
    """Return the curves of the two columns to draw over, and the places of these columns."""
    estimator.model_  # noqa: B018  # raises if it was not fitted
    every = column_names(estimator)
    names = every if columns is None else [str(name) for name in columns]
    if len(names) != 2 or names[0] == names[1]:
        hint = "" if columns is not None else ": choose two with columns=(…, …); the others then count as missing"
        raise InvalidOptionError(f"Regions are drawn over two columns, and there are {len(set(names))}{hint}")
    for name in names:
        check_column(name, every)
    found = {}
    for each in shapes_of(estimator, names, names=every):
        if not isinstance(each, (Curve, Ellipses)):
            raise InvalidOptionError(f"Regions are drawn over numbers, and column {each.title!r} holds none")
        for curve in each.margins if isinstance(each, Ellipses) else (each,):
            found[curve.title] = curve
    return [found[name] for name in names], [every.index(name) for name in names]


def _rows(X: object, y: object, names: list[str], places: list[int]) -> tuple[Array, Array, Values | None]:
    """Return both columns of the rows, and their labels."""
    frame = as_frame(X)
    labels = None if y is None else labels_of(frame, y)
    if not set(names) <= set(frame.names) and len(frame.names) > max(places):  # an array has no names of columns
        names = [frame.names[j] for j in places]
    a, b = (np.asarray(read_numbers(frame.column(name), name), dtype=np.float64) for name in names)
    if labels is not None and len(labels) != len(a):
        raise InvalidDataError(f"There are {len(a)} rows and {len(labels)} labels")
    return a, b, labels


def _reach(column: Curve, values: Array | None) -> tuple[float, float]:
    """Return the range to draw: that of the rows, or that of the classes."""
    if values is None or not np.isfinite(values).any():
        if not len(column.x):
            raise InvalidDataError(f"Column {column.title!r} held no value in training: there is no range to draw")
        return float(column.x[0]), float(column.x[-1])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = 0.08 * (high - low) or max(1.0, abs(low)) * 0.5
    least = column.least if column.kind == "mass" else column.least + 1e-6 * margin  # a density may be 0 at its end
    return max(low - margin, least), high + margin


def _grid_rows(
    estimator: GenerativeClassifier, columns: Sequence[Curve], places: list[int], along: list[Array]
) -> Array | dict[str, Array]:
    """Return the points of the grid as rows of the estimator, with all other columns missing."""
    points = [each.ravel() for each in np.meshgrid(*along)]
    points = [np.round(each) if column.kind == "mass" else each for each, column in zip(points, columns, strict=True)]
    if form_of(estimator) == "table":
        return {column.title: each for column, each in zip(columns, points, strict=True)}
    out = np.full((len(points[0]), estimator.n_features_in_), np.nan)
    out[:, places] = np.stack(points, axis=1)
    return out
