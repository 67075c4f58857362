"""Pictures that commands draw into files."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.cli.data_files import check_output, written
from suffice.cli.options import invalid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: str, option: str, model: str | None = None) -> None:
    """Refuse a picture that cannot be drawn or written, before any work is done."""
    check_output(path, [], model)
    if Path(path).suffix not in PICTURES:
        raise invalid(f"{option}: a picture ends in {', '.join(PICTURES)}, found {path}")
    from suffice.views.plot.style import pyplot

    pyplot()  # the error says how to install matplotlib


def write_picture(path: str, draw: Callable[[Axes], Any], size: tuple[float, float] = (6.0, 4.0)) -> None:
    """Draw onto axes of a new figure, of a size in inches, without a window, and write it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure.subplots())
    drawn = BytesIO()
    figure.savefig(drawn, format=Path(path).suffix[1:], dpi=150)
    with written(path) as file:
        file.write(drawn.getvalue())
