"""Round numbers for axes and scales."""

from __future__ import annotations

import numpy as np


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers between two.

    >>> ticks(0.0, 9.3)
    [0.0, 2.5, 5.0, 7.5]
    """
    if not 0 < high - low < np.inf:
        return [low] if np.isfinite(low) else []
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = float(min((m * size for m in (1, 2, 2.5, 5, 10)), key=lambda each: abs(each - rough)))
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
