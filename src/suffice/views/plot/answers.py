"""The labels of rows whose answers are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.frames import as_frame
from suffice.core.frames import labels as read_labels


def labels_of(X: Any, y: Any) -> NDArray[Any]:
    """Labels, or those that a column of the table holds."""
    return np.asarray(read_labels(as_frame(X).column(y), y) if isinstance(y, str) else y)
