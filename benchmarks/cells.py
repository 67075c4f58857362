"""What cells change in the density of a kernel: `python -m benchmarks.cells`."""

from __future__ import annotations

import numpy as np

from suffice.naive_bayes import KernelNB

ROWS = 100_000


def shapes(rng: np.random.Generator) -> dict[str, np.ndarray]:
    humps = np.r_[rng.normal(-3.0, 0.5, ROWS // 2), rng.normal(3.0, 1.0, ROWS // 2)]
    return {
        "normal": rng.normal(size=ROWS),
        "gamma": rng.gamma(2.0, size=ROWS),
        "two humps": humps,
        "lognormal, σ = 2": rng.lognormal(0.0, 2.0, ROWS),
        "Cauchy": rng.standard_cauchy(ROWS),
    }


def main() -> None:
    print("| shape | limit | cells | width | mean error | 99 % below | largest error |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, values in shapes(np.random.default_rng(0)).items():
        x, y = values[:, None], np.zeros(ROWS)
        rows = np.sort(x, axis=0)[::20]
        every = KernelNB(limit=None).fit(x, y).score_samples(rows)
        for limit in (256, 1024, 4096):
            clf = KernelNB(limit=limit).fit(x, y)
            error = np.abs(np.expm1(clf.score_samples(rows) - every))
            cells = clf.statistics_.statistic
            numbers = " | ".join(f"{e:.1e}" for e in (error.mean(), np.quantile(error, 0.99), error.max()))
            print(f"| {name} | {limit} | {len(cells.parts[0].weight)} | 2^{cells.level[0]} | {numbers} |")


if __name__ == "__main__":
    main()
