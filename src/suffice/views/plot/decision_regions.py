"""Decision regions and class contours over two columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import InvalidDataError, InvalidOptionError, MissingColumnWarning
from suffice.core.frames import as_frame
from suffice.core.frames import labels as read_labels
from suffice.core.frames import numbers as read_numbers
from suffice.model.class_conditionals import Curve, Ellipses, check_column
from suffice.model.class_conditionals import conditionals as shapes_of
from suffice.views.plot import style

SHARES = (0.9, 0.5)  # of a class that its contours hold
DOTS = 1500  # rows that are drawn at most


class DecisionRegionsDisplay:
    """Which class is the most probable where, over two columns, and where each class lies.

    Contours hold half and nine tenths of p(x | y) of each class. All other columns are missing, so the regions are
    those of p(y | the two columns).

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

    Attributes
    ----------
    ax_ : Axes
        What was drawn on.
    figure_ : Figure
        What it is part of.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        posterior: Array,
        log_density: Array,
        labels: Values,
        names: Sequence[str],
        rows: tuple[Array, Array, Any] | None = None,
    ):
        self.x, self.y, self.posterior, self.log_density = x, y, posterior, log_density
        self.labels, self.names, self.rows = labels, tuple(names), rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        columns: Sequence[str] | None = None,
        grid_resolution: int = 200,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the regions of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator of suffice
            What decides.
        X : table or array, default=None
            Rows to draw, which also say how far the picture reaches; without them it reaches as far as the classes.
        y : array-like, or str, default=None
            Labels of the rows, or the column that holds them.
        columns : two str, default=None
            Columns to draw over; needed where there are more than two, all others being missing then.
        grid_resolution : int, default=200
            Points along each column.
        ax : Axes, default=None
            Where to draw; a new figure by default.
        **options : dict
            As `plot` takes them.

        Returns
        -------
        display : DecisionRegionsDisplay
            With `ax_` and `figure_`.
        """
        if grid_resolution < 2:
            raise InvalidOptionError(f"grid_resolution must be at least 2, found {grid_resolution}")
        curves, places = _two(estimator, columns)
        names = [curve.title for curve in curves]
        rows = None if X is None else _rows(X, y, names, places)
        reach = [_reach(curve, None if rows is None else rows[j]) for j, curve in enumerate(curves)]
        along = [np.linspace(low, high, grid_resolution) for low, high in reach]
        grid = np.stack([each.ravel() for each in np.meshgrid(*along)], axis=1)
        asked = _as_asked(estimator, curves, places, grid)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingColumnWarning)
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            posterior = estimator.predict_proba(asked)
            density = estimator.predict_joint_log_proba(asked) - estimator.model_.log_prior
        shape = (-1, grid_resolution, grid_resolution)
        display = cls(
            along[0], along[1], posterior.T.reshape(shape), density.T.reshape(shape), estimator.classes_, names, rows
        )
        return display.plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        contours: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.
        contours : bool, default=True
            Whether to draw where each class lies.
        legend : bool, default=True
            Whether to name the classes.
        title : str, default=None
            What to write above.

        Returns
        -------
        self : DecisionRegionsDisplay
            With `ax_` and `figure_`.
        """
        from matplotlib.colors import ListedColormap, to_rgb

        ax = style.one(ax, (5.6, 4.4))
        k = len(self.labels)
        most = self.posterior.argmax(axis=0)
        tints = [
            tuple(1 - (0.26 if i % 2 else 0.18) * (1 - v) for v in to_rgb(style.line(i)["color"])) for i in range(k)
        ]
        extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
        ax.imshow(
            most,
            extent=extent,
            origin="lower",
            aspect="auto",
            cmap=ListedColormap(tints),
            vmin=-0.5,
            vmax=k - 0.5,
            interpolation="nearest",
            zorder=0,
        )
        for i in range(k):
            self._boundary(ax, i)
            if contours and k <= style.MOST_CLASSES:  # more would only hide each other
                self._contours(ax, i)
        self._dots(ax)
        self._named(ax, most)
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.set_xlabel(style.ellipsed(self.names[0], 40))
        ax.set_ylabel(style.ellipsed(self.names[1], 40))
        if title is not None:
            ax.set_title(title, fontsize="medium")
        if legend:
            self._legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def margin(self, i: int) -> Array:
        """By how much class i is more probable than the best other class, on the grid; 0 on its boundary."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(self.posterior, 1e-300))
        others = np.delete(logs, i, axis=0)
        return np.asarray(logs[i] - others.max(axis=0))

    def _boundary(self, ax: Any, i: int) -> None:
        if len(self.labels) < 2 or (len(self.labels) == 2 and i == 1):
            return
        margin = np.clip(self.margin(i), -50.0, 50.0)
        if margin.min() < 0 < margin.max():
            ax.contour(self.x, self.y, margin, levels=[0.0], colors="black", linewidths=1.3, zorder=2)

    def levels(self, i: int) -> list[float]:
        """The log-densities whose contours hold nine tenths and half of class i, as far as it lies on the grid."""
        logs = np.sort(self.log_density[i].ravel())[::-1]
        top = logs[0]
        if not np.isfinite(top):
            return []
        mass = np.cumsum(np.exp(logs - top))
        return [float(logs[min(np.searchsorted(mass, share * mass[-1]), len(logs) - 1)]) for share in SHARES]

    def _contours(self, ax: Any, i: int) -> None:
        levels = sorted(set(self.levels(i)))
        logs = np.maximum(self.log_density[i], min(levels, default=0.0) - 50.0)
        if levels and logs.min() < levels[0]:
            own = style.line(i)
            ax.contour(
                self.x,
                self.y,
                logs,
                levels=levels,
                colors=own["color"],
                linestyles=[own["linestyle"]],
                linewidths=1.2,
                zorder=3,
            )

    def _dots(self, ax: Any) -> None:
        if self.rows is None:
            return
        a, b, labels = self.rows
        some = np.arange(len(a))
        if len(a) > DOTS:
            some = np.random.default_rng(0).choice(len(a), DOTS, replace=False)
        options: dict[str, Any] = {"s": 24, "edgecolor": "white", "linewidth": 0.4, "zorder": 4}
        if labels is None:
            ax.scatter(a[some], b[some], color="0.25", **options)
            return
        for i, label in enumerate(self.labels):
            own = some[labels[some] == label]
            ax.scatter(a[own], b[own], **style.points(i), **options)

    def _named(self, ax: Any, most: NDArray[Any]) -> None:
        """Write each class into its region, as far from the edges as can be."""
        names = style.told_apart(self.labels, 14)
        for i, name in enumerate(names):
            own = most == i
            if own.mean() < 0.01:
                continue
            at = np.unravel_index(np.argmax(_depth(own)), own.shape)
            ax.annotate(
                name, (self.x[at[1]], self.y[at[0]]), ha="center", va="center", fontsize="small",
                fontweight="bold", zorder=5,
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": style.line(i)["color"], "alpha": 0.85},
            )  # fmt: skip

    def _legend(self, ax: Any) -> None:
        from matplotlib.lines import Line2D

        handles: list[Any] = []
        names = style.told_apart(self.labels)
        bare = {"linestyle": ""} if len(names) > style.MOST_CLASSES else {}  # of so many there are no contours
        for i in range(min(len(self.labels), 2 * style.MOST_CLASSES)):
            marker = style.points(i)["marker"] if self.rows is not None and self.rows[2] is not None else None
            handles.append(Line2D([], [], label=names[i], marker=marker, markersize=5, **(style.line(i) | bare)))
        if len(np.unique(self.posterior.argmax(axis=0))) > 1:
            handles.append(Line2D([], [], color="black", linewidth=1.3, label="boundary"))
        style.legend(ax, len(self.labels), handles=handles)


def decision_regions(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    columns: Sequence[str] | None = None,
    grid_resolution: int = 200,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw decision regions and return the axes; see `DecisionRegionsDisplay.from_estimator`.

    Of several estimators, by their titles, the pictures stand side by side over the same range: then the axes are an
    array, and so is `ax`.
    """
    how: dict[str, Any] = {"columns": columns, "grid_resolution": grid_resolution} | options
    if not isinstance(estimator, Mapping):
        return DecisionRegionsDisplay.from_estimator(estimator, X, y, ax=ax, **how).ax_
    axes = style.several(ax, len(estimator), (5.2, 4.2))
    for i, (where, (title, each)) in enumerate(zip(axes, estimator.items(), strict=True)):
        own: dict[str, Any] = {"title": str(title), "legend": i == len(axes) - 1} | how
        DecisionRegionsDisplay.from_estimator(each, X, y, ax=where, **own)
        if i and ax is None:
            where.set_ylabel("")
    return axes


def _depth(own: NDArray[Any]) -> NDArray[Any]:
    """How far each point of a region is from its edge, and from that of the picture."""
    from scipy.ndimage import distance_transform_edt

    return np.asarray(distance_transform_edt(np.pad(own, 1)))[1:-1, 1:-1]


def _two(estimator: Any, columns: Sequence[str] | None) -> tuple[list[Curve], list[int]]:
    """The two columns to draw over, and their places."""
    estimator.model_  # noqa: B018  # raises where nothing was fitted
    known = getattr(estimator, "feature_names_in_", None)
    every = [f"x{j}" for j in range(estimator.n_features_in_)] if known is None else [str(name) for name in known]
    names = every if columns is None else [str(name) for name in columns]
    if len(names) != 2 or names[0] == names[1]:
        hint = "" if columns is not None else ": say which, columns=(…, …); the others are then missing"
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


def _rows(X: Any, y: Any, names: list[str], places: list[int]) -> tuple[Array, Array, Any]:
    """Both columns of the rows, and their labels."""
    frame = as_frame(X)
    labels = read_labels(frame.column(y), y) if isinstance(y, str) else y
    if not set(names) <= set(frame.names):  # an array, whose columns have no names
        wanted = [frame.names[j] for j in places] if len(frame.names) > max(places) else names
    else:
        wanted = names
    a, b = (read_numbers(frame.column(name), name) for name in wanted)
    labels = None if labels is None else np.asarray(labels)
    if labels is not None and len(labels) != len(a):
        raise InvalidDataError(f"There are {len(a)} rows and {len(labels)} labels")
    return np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), labels


def _reach(column: Curve, values: Array | None) -> tuple[float, float]:
    """How far the picture reaches: over the rows, or over the classes."""
    if values is None or not np.isfinite(values).any():
        if not len(column.x):
            raise InvalidDataError(f"Of column {column.title!r} no value was seen: there is nothing to draw over")
        return float(column.x[0]), float(column.x[-1])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = 0.08 * (high - low) or max(1.0, abs(low)) * 0.5
    least = column.least if column.kind == "mass" else column.least + 1e-6 * margin  # a density may begin above it
    return max(low - margin, least), high + margin


def _as_asked(estimator: Any, columns: Sequence[Curve], places: list[int], grid: Array) -> Any:
    """The grid as rows that the estimator reads, all other columns missing."""
    from suffice.estimators.table_classifier import BayesClassifier

    grid = np.stack([np.round(g) if c.kind == "mass" else g for g, c in zip(grid.T, columns, strict=True)], axis=1)
    if isinstance(estimator, BayesClassifier):
        return {column.title: grid[:, j] for j, column in enumerate(columns)}
    out = np.full((len(grid), estimator.n_features_in_), np.nan)
    out[:, places] = grid
    return out
