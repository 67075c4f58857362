"""How soon a model that was loaded gives its first answer."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import AnswersDifferError, Measurement, Quantity, Settings, milliseconds, no_collecting
from suffice import load


def first_answer(model: Any, question: Any, settings: Settings) -> Measurement:
    """Time the first answer after every load; it must be that of the model that was saved, bit for bit."""
    expected = model.predict_proba(question)
    loading: list[float] = []
    answering: list[float] = []
    with tempfile.TemporaryDirectory() as folder, no_collecting():
        model.save(Path(folder) / "model")
        for _ in range(settings.repeats):
            start = time.perf_counter()
            loaded = load(Path(folder) / "model")
            middle = time.perf_counter()
            found = loaded.predict_proba(question)
            answering.append(time.perf_counter() - middle)
            loading.append(middle - start)
            if not np.array_equal(found, expected):
                raise AnswersDifferError("from those before saving")
    details = {"load_seconds": loading, "answer_seconds": answering}
    return Measurement(
        1e3 * median(answering),
        milliseconds(answering),
        ratio=Quantity(1e3 * median(answering), " ms"),
        details=details,
    )
