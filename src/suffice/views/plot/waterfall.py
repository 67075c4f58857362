"""What spoke for a class, column by column, until the sum is reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from suffice.core.errors import InvalidDataError, InvalidOptionError
from suffice.core.frames import as_frame
from suffice.families import Table
from suffice.views.plot import style

SHOWN = 12  # steps, beyond which those that say least are added up
NOTHING = 1e-9  # what rounding may leave of log-odds, against the largest of them
FOR, AGAINST, SUM = "#0072B2", "#D55E00", "#4D4D4D"


class EvidenceDisplay:
    """A waterfall of log-odds: the prior, what each column adds, and their sum.

    Parameters
    ----------
    steps : sequence of (str, float)
        What was added, and how much, in the order it is drawn.
    label, against : str
        The class that is spoken for, and the one that is spoken against.

    Attributes
    ----------
    ax_ : Axes
        What was drawn on.
    figure_ : Figure
        What it is part of.
    """

    def __init__(self, steps: Sequence[tuple[str, float]], label: Any, against: Any):
        self.steps = [(str(name), float(value)) for name, value in steps]
        self.label, self.against = label, against

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        label: Any = None,
        against: Any = None,
        most: int = SHOWN,
        ax: Any = None,
    ) -> Self:
        """Draw the evidence of one row.

        Parameters
        ----------
        estimator : fitted estimator of suffice
            What decides.
        X : table, array, text or list of texts
            Rows.
        row : int, default=0
            Which of them.
        label, against : label, default=None
            The classes compared, as in `evidence`.
        most : int, default=12
            How many columns or words to show; the others are added up.
        ax : Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : EvidenceDisplay
            With `ax_` and `figure_`.
        """
        if most < 1:
            raise InvalidOptionError(f"most must be at least 1, found {most}")
        # Evidence comes as the rows do: of an array, or of lists, it would have no names.
        rows = as_frame(X) if getattr(estimator, "_form", None) == "table" else X
        told = estimator.evidence(rows, label, against)
        if isinstance(told, (Table, list)):
            told = told if isinstance(told, list) else [told]
            table = told[_place(row, len(told))]
            label, _, against = table.title.partition(" against ")
            names = [str(name) for name in table.rows]
            parts = dict(zip(names, table.values[:, 0].tolist(), strict=True))
            prior, rest, values = parts.pop("(prior)"), parts.pop("(calibration)"), {}
            parts.pop("(sum)")
        else:
            frame = as_frame(told)
            own = {name: frame.column(name)[_place(row, frame.n)].as_py() for name in frame.names}
            label, against = own.pop("label"), own.pop("against")
            prior, rest = own.pop("prior"), own.pop("calibration", 0.0)
            own.pop("log_odds")
            parts, values = own, _values(X, row, list(own))
        steps = [("prior", prior), *_largest(parts, values, most)]
        if abs(rest) > NOTHING * max(1.0, *(abs(value) for _, value in steps)):
            steps.append(("calibration", rest))
        return cls(steps, label, against).plot(ax)

    @property
    def log_odds(self) -> float:
        """Their sum."""
        with np.errstate(invalid="ignore"):
            total = float(np.sum([value for _, value in self.steps]))
        return 0.0 if np.isnan(total) else total

    def plot(self, ax: Any = None) -> Self:
        """Draw onto axes, or onto a new figure.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw.

        Returns
        -------
        self : EvidenceDisplay
            With `ax_` and `figure_`.
        """
        n = len(self.steps) + 1
        ax = style.one(ax, (6.4, 1.5 + 0.3 * n))
        sizes = np.array([value for _, value in self.steps])
        finite = np.where(np.isfinite(sizes), sizes, 0.0)
        far = 1.15 * max(float(np.abs(np.cumsum(finite)).max(initial=0.0)), float(np.abs(finite).max(initial=0.0)), 0.5)
        sizes = np.where(np.isfinite(sizes), sizes, np.sign(sizes) * far)  # a class that is ruled out
        ends = np.cumsum(sizes)
        starts = ends - sizes
        style.plain(ax, "x")
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            own = {"color": FOR, "hatch": ""} if size >= 0 else {"color": AGAINST, "hatch": "////"}
            ax.barh(i, size, left=start, height=0.66, edgecolor="white", linewidth=0, **own)
            ax.plot([ends[i]] * 2, [i - 0.33, i + 1.33], color="0.45", linewidth=0.8)
            self._number(ax, i, max(start, ends[i]), self.steps[i][1])
        ax.barh(n - 1, ends[-1], height=0.66, color=SUM)
        self._number(ax, n - 1, max(0.0, ends[-1]), self.log_odds, bold=True)
        ax.axvline(0.0, color="black", linewidth=0.9)
        ax.set_yticks(range(n), [*(style.ellipsed(name, 44) for name, _ in self.steps), "sum"], fontsize="small")
        ax.set_ylim(n - 0.4, -0.6)
        low, high = min(0.0, starts.min(), ends.min()), max(0.0, starts.max(), ends.max())
        pad = 0.14 * (high - low) or 0.5
        ax.set_xlim(low - 0.3 * pad, high + pad)
        ax.set_xlabel(f"log-odds of {style.ellipsed(self.label)} against {style.ellipsed(self.against)}")
        self._probabilities(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @staticmethod
    def _number(ax: Any, i: int, x: float, value: float, bold: bool = False) -> None:
        ax.annotate(
            style.number(value), (x, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize="small",
            fontweight="bold" if bold else "normal", bbox={"pad": 0.6, "fc": "white", "ec": "none", "alpha": 0.8},
        )  # fmt: skip

    def _probabilities(self, ax: Any) -> None:
        """Above, the probability that the log-odds so far amount to, of the two classes."""
        above = ax.secondary_xaxis("top")
        low, high = ax.get_xlim()
        odds = np.array([1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6])
        at = np.log(odds) - np.log1p(-odds)
        seen = [i for i in range(len(at)) if low <= at[i] <= high]
        apart = 0.13 * (high - low)
        kept: list[int] = []
        for i in sorted(seen, key=lambda i: abs(at[i])):  # 50 % first
            if all(abs(at[i] - at[j]) >= apart for j in kept):
                kept.append(i)
        above.set_xticks([at[i] for i in kept], [_percent(odds[i]) for i in kept], fontsize="x-small")
        two = style.ellipsed(self.label), style.ellipsed(self.against)
        above.set_xlabel(f"p({two[0]} | {two[0]} or {two[1]})", fontsize="small")


def evidence(
    estimator: Any,
    X: Any,
    *,
    row: int = 0,
    label: Any = None,
    against: Any = None,
    most: int = SHOWN,
    ax: Any = None,
) -> Any:
    """Draw what spoke for a class and return the axes; see `EvidenceDisplay.from_estimator`."""
    how: dict[str, Any] = {"row": row, "label": label, "against": against, "most": most, "ax": ax}
    return EvidenceDisplay.from_estimator(estimator, X, **how).ax_


def _place(row: int, n: int) -> int:
    if not -n <= row < n:
        raise InvalidDataError(f"There is no row {row}: there are {n}")
    return row


def _values(X: Any, row: int, names: list[str]) -> dict[str, Any]:
    """What the row holds in each column, where that can be told."""
    frame = as_frame(X)
    found = {name: frame.column(name)[row].as_py() for name in frame.names}
    if not set(names) & set(found) and len(found) == len(names):  # an array, whose columns have no names
        return dict(zip(names, found.values(), strict=True))
    return found


def _largest(parts: dict[str, float], values: dict[str, Any], most: int) -> list[tuple[str, float]]:
    """Those that say most, the first of them first; the others together."""
    order: NDArray[Any] = np.argsort([-abs(value) for value in parts.values()], kind="stable")
    names = list(parts)
    told = [i for i in order if parts[names[i]] != 0.0]
    some, others = told[:most], told[most:]
    if len(others) == 1:
        some, others = told, []
    out = [(_titled(names[i], values), parts[names[i]]) for i in some]
    if others:
        out.append((f"{len(others)} others", sum(parts[names[i]] for i in others)))
    return out


def _titled(name: str, values: dict[str, Any]) -> str:
    """A column and what it holds."""
    if name not in values:
        return name
    value = values[name]
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{name if len(name) <= 20 else name[:19] + '…'} = {shown if len(shown) <= 20 else shown[:19] + '…'}"


def _percent(p: float) -> str:
    if p < 0.5:
        return f"{100 * p:.2g} %".replace("e-0", "e−")
    return f"{100 * p:.9g} %"
