"""Measure what bounding a sample's memory costs: python -m benchmarks.compression.

A million points of each shape are summarized whole, and with limits, in pieces of 10 000 as a stream would come. Both
give kernel densities with the bandwidth that Silverman's rule has for all points; the error of the log-density is
measured on 10 000 fresh draws of the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import suffice as sf

POINTS, PIECE, DRAWS = 1_000_000, 10_000, 10_000
LIMITS = (100, 1_000, 10_000)


def shapes(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw from a normal, a lognormal and a bimodal density."""
    modes = np.where(rng.random(n) < 0.3, rng.normal(-2.0, 0.3, n), rng.normal(2.0, 1.0, n))
    return {"normal": rng.normal(size=n), "lognormal": rng.lognormal(size=n), "bimodal": modes}


def stream(values: Any, limit: int | None) -> Any:
    """Summarize values piece by piece."""
    total = None
    for start in range(0, len(values), PIECE):
        piece = values[start : start + PIECE, None]
        total = sf.ByClass.of(sf.Sample, piece, np.zeros(len(piece), np.int64), onto=total, limit=limit)
    return total.statistic


def main() -> None:
    """Print the table of the docs."""
    rng = np.random.default_rng(0)
    points, draws = shapes(POINTS, rng), shapes(DRAWS, rng)
    print("| shape | limit | points kept | memory | mean error | largest error |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, values in points.items():
        whole = sf.Sample.of(values[:, None], np.zeros(len(values), np.int32), 1)
        exact = sf.Kernel().estimate(whole)
        family = sf.Kernel(bandwidth=float(exact.bandwidth[0, 0]))
        x = draws[name][:, None]
        expected = exact.log_density(x)
        for limit in LIMITS:
            sample = stream(values, limit)
            error = np.abs(family.estimate(sample).log_density(x) - expected)
            kept = len(sample.parts[0].weight)
            row = [name, limit, kept, f"{16e-3 * kept:.1f} kB", f"{error.mean():.2g}", f"{error.max():.2g}"]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
