"""Every family once more in exact arithmetic (mpmath, 60 digits), and rows on which floating point loses digits.

A `Twin` states the same formulas as a family, from the rows themselves: its parameters and its log-density. It shares
no code with the family. `twins()` has one for each family of the registry, or a test fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 60
EPS = 2.0**-52
Exact = Any  # a NumPy array of mpmath's numbers

exact = np.frompyfunc(lambda v: mp.mpf(float(v)), 1, 1)  # binary fractions are exact
ln = np.frompyfunc(lambda v: mp.log(v) if v > 0 else mp.mpf("-inf"), 1, 1)
log1p = np.frompyfunc(mp.log1p, 1, 1)
lgamma = np.frompyfunc(lambda v: mp.loggamma(v), 1, 1)
PI, HALF = mp.pi, mp.mpf(1) / 2


@dataclass(frozen=True)
class Rows:
    """Training rows with classes 0, 1, … and weights, and rows to be scored."""

    name: str
    x: Any
    codes: np.ndarray
    queries: Any
    weight: np.ndarray | None = None
    condition: float = 1.0  # by how much rounding a mean changes a variance, relative to both

    @property
    def exact_weight(self) -> Exact:
        """The weights as exact numbers."""
        return exact(np.ones(len(self.codes)) if self.weight is None else self.weight)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.codes.max()) + 1

    def sums(self, entries: Exact) -> Exact:
        """Return Σ w · entry of each class, (classes, …)."""
        w = self.exact_weight.reshape(-1, *[1] * (entries.ndim - 1))
        return np.stack([(w * entries)[self.codes == c].sum(axis=0) for c in range(self.classes)])

    @property
    def log_prior(self) -> Exact:
        """The logarithm of each class's share of the weight."""
        n = self.sums(exact(np.ones(len(self.codes))))
        return ln(n / n.sum())


# -------------------------------------------------------------------------------------------- rows that are hard

CODES = np.array([0, 0, 0, 1, 1, 1, 0, 1])


def columns(*each: Sequence[float]) -> np.ndarray:
    return np.array(each, dtype=np.float64).T


def real_rows() -> Iterator[Rows]:
    a, b = [0.0, 1.0, 2.0, 4.0, 5.0, 7.0, 1.5, 5.5], [3.0, -1.0, 0.5, 2.0, 8.0, 2.5, 0.25, -3.0]
    plain = columns(a, b)
    queries = columns([1.0, 3.0, 4.75, -2.0], [0.0, 1.0, 3.0, 9.0])
    yield Rows("plain", plain, CODES, queries)
    yield Rows("offset 1e9", 1e9 + plain / 8, CODES, 1e9 + queries / 8, condition=1e10)
    yield Rows("offset 1e15", 1e15 + plain * 8, CODES, 1e15 + queries * 8, condition=1e14)
    yield Rows("near-equal", 1.0 + plain * 2.0**-48, CODES, 1.0 + queries * 2.0**-48, condition=2.0**48)
    yield Rows("scale 1e-140", plain * 1e-140, CODES, queries * 1e-140)
    yield Rows("scale 1e150", plain * 1e149, CODES, queries * 1e149)
    yield Rows("tails", plain, CODES, columns([1e3, -1e8, 1e12], [40.0, -1e5, 1e15]))
    yield Rows("weights", plain, CODES, queries, np.array([1e15, 1.0, 3.0, 1e-3, 1e12, 7.0, 1 / 3, 0.1]))


def positive_rows() -> Iterator[Rows]:
    for rows in real_rows():
        if rows.name in ("plain", "weights"):
            yield replace(rows, x=rows.x + 4.0, queries=rows.queries + 4.0)
        elif rows.name == "offset 1e9":
            yield replace(rows, condition=1e12)  # of the logarithms
        elif rows.name == "near-equal":
            yield rows
    powers = columns([1e-300, 1e-200, 1e-250, 1e300, 1e200, 1.0, 2.0, 1e100], [1e-8, 1.0, 1e8, 3.0, 5.0, 9.0, 4.0, 2.0])
    yield Rows("1e-300 to 1e300", powers, CODES, powers[:4])
    yield Rows("tails", columns([1.0] * 3 + [2.0] * 3 + [3.0, 5.0]), CODES, columns([1e-300, 1e300, 5e-324]))


def time_rows() -> Iterator[Rows]:
    a = columns([0.0, 1.0, 2.5, 3.0, 0.125, 7.0, 0.5, 9.0])
    yield Rows("plain", a, CODES, columns([0.0, 1.0, 50.0]))
    yield Rows("scale 1e-290", a * 1e-290, CODES, columns([0.0, 1e-290, 5e-289]))
    yield Rows("scale 1e150", a * 1e150, CODES, columns([0.0, 1e150, 5e151]))
    yield Rows("tails", a, CODES, columns([1e-300, 1e10, 1e200]))
    yield Rows("weights", a, CODES, columns([0.0, 1.0, 50.0]), np.array([1e15, 1.0, 3.0, 1e-3, 1e12, 7.0, 1 / 3, 0.1]))


def count_rows() -> Iterator[Rows]:
    a, b = [0.0, 1.0, 2.0, 3.0, 0.0, 7.0, 5.0, 9.0], [2.0, 0.0, 1.0, 0.0, 4.0, 1.0, 0.0, 3.0]
    plain, queries = columns(a, b), columns([0.0, 1.0, 12.0, 0.0], [0.0, 3.0, 0.0, 100.0])
    yield Rows("plain", plain, CODES, queries)
    yield Rows("zeros", plain * 0.0, CODES, queries)
    yield Rows("counts of 1e6", 1e6 + plain, CODES, 1e6 + queries)
    yield Rows("counts of 1e15", 1e15 * plain, CODES, 1e15 * queries)
    yield Rows("1e15 rows", plain, CODES, queries, np.full(8, 1e15))
    yield Rows("weights", plain, CODES, queries, np.array([1e15, 1.0, 3.0, 1e-3, 1e12, 7.0, 1 / 3, 0.1]))
    yield Rows("tails", plain, CODES, columns([1e9, 0.0], [0.0, 1e12]))


def boolean_rows() -> Iterator[Rows]:
    plain = columns([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0, 1, 0])
    queries = columns([0, 1, 0, 1], [0, 0, 1, 1])
    yield Rows("plain", plain, CODES, queries)
    yield Rows("1e15 rows", plain, CODES, queries, np.full(8, 1e15))
    yield Rows("weights", plain, CODES, queries, np.array([1e15, 1.0, 3.0, 1e-3, 1e12, 7.0, 1 / 3, 0.1]))


def category_rows() -> Iterator[Rows]:
    plain = np.array([list("aacb"), list("bbca"), list("acbb"), list("cabb")], dtype=object).reshape(8, 2)
    queries = np.array([["a", "a"], ["b", "c"], ["c", "b"]], dtype=object)
    for rows in boolean_rows():
        yield replace(rows, x=plain, queries=queries)


def text_rows() -> Iterator[Rows]:
    texts = ["red red blue", "blue", "green red", "green green", "blue green", "green", "red", "green blue blue"]
    queries = ["red", "green blue", "blue blue blue red", "red " * 300]
    for rows in boolean_rows():
        yield replace(rows, x=texts, queries=queries)


# ---------------------------------------------------------------------------------------------------- the twins


@dataclass(frozen=True)
class Twin:
    """A family in exact arithmetic.

    `parameters(rows, learn)` are the exact estimates, by the names of the attributes of the family's distribution.
    `density(parameters, row)` is log p(row | y) of each class. `scipy` computes it in floating point, if SciPy can.
    `size(parameters, row)` is the largest term of its sum, whose rounding error remains if the terms cancel.
    """

    rows: Callable[[], Iterator[Rows]]
    learns: tuple[str, ...]
    parameters: Callable[[Rows, str], dict[str, Exact]]
    density: Callable[[dict[str, Exact], Any], Exact]
    scipy: Callable[[dict[str, np.ndarray], Any], np.ndarray | None] = lambda p, x: None  # noqa: ARG005
    options: dict[str, Any] = field(default_factory=dict)
    size: Callable[[dict[str, Exact], Any], float] = lambda p, row: 1.0  # noqa: ARG005


def value_of(distribution: Any, name: str) -> np.ndarray:
    """Return an attribute of an attribute, such as "logarithm.mean"."""
    found = reduce(getattr, name.split("."), distribution)
    return np.asarray(found(0, distribution.event.size) if callable(found) else found)


ALL = ("mle", "map", "mean", "predictive")
POINT = ("mle", "map", "mean")


def moments(rows: Rows, x: Exact) -> tuple[Exact, Exact, Exact]:
    """Weight, mean and sum of squares, (classes, columns)."""
    n = rows.sums(exact(np.ones(x.shape)))
    mean = rows.sums(x) / n
    return n, mean, rows.sums((x - mean[rows.codes]) ** 2)


def gaussian_parameters(rows: Rows, learn: str, transform: Any = lambda x: x, name: str = "") -> dict[str, Exact]:
    n, mean, squares = moments(rows, transform(exact(rows.x)))
    if learn == "mle":
        return {f"{name}mean": mean, f"{name}variance": squares / n}
    strength, shape = mp.mpf(0.01), mp.mpf(3) / 2  # NormalInverseGamma()
    pooled = (n * mean).sum(axis=0) / n.sum(axis=0)
    scale = squares.sum(axis=0) / n.sum(axis=0) / 2
    centre = (strength * pooled + n * mean) / (strength + n)
    a = shape + n / 2
    b = scale + squares / 2 + strength * n * (mean - pooled) ** 2 / (strength + n) / 2
    if learn != "predictive":
        return {f"{name}mean": centre, f"{name}variance": b / (a + 3 * HALF) if learn == "map" else b / (a - 1)}
    spread = b / a * (1 + 1 / (strength + n))
    return {f"{name}mean": centre, f"{name}spread": spread, f"{name}freedom": 2 * a}


def gaussian_density(p: dict[str, Exact], row: Exact, name: str = "") -> Exact:
    off = row - p[f"{name}mean"]
    if f"{name}variance" in p:
        variance = p[f"{name}variance"]
        return (-HALF * ln(2 * PI * variance) - off**2 / variance / 2).sum(axis=1)
    nu, width = p[f"{name}freedom"], p[f"{name}freedom"] * p[f"{name}spread"]
    norm = lgamma((nu + 1) / 2) - lgamma(nu / 2) - HALF * ln(PI * width)
    return (norm - (nu + 1) / 2 * log1p(off**2 / width)).sum(axis=1)


def gaussian_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from scipy import stats

    x = x[:, None, :]
    if "variance" in p:
        return stats.norm.logpdf(x, p["mean"], np.sqrt(p["variance"])).sum(axis=2)
    return stats.t.logpdf(x, p["freedom"], p["mean"], np.sqrt(p["spread"])).sum(axis=2)


def log_normal_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray | None:
    from scipy import stats

    if "logarithm.variance" not in p:
        return None
    with np.errstate(over="ignore"):
        scale = np.exp(p["logarithm.mean"])
    return stats.lognorm.logpdf(x[:, None, :], np.sqrt(p["logarithm.variance"]), scale=scale).sum(axis=2)


def totals(rows: Rows) -> tuple[Exact, Exact]:
    """Weight and total of each class and column."""
    x = exact(rows.x)
    return rows.sums(exact(np.ones(x.shape))), rows.sums(x)


def poisson_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    n, s = totals(rows)
    if learn == "predictive":
        return {"shape": s + 1, "rate": n + 1}
    return {"rate": {"mle": s / n, "map": s / (n + 1), "mean": (s + 1) / (n + 1)}[learn]}


def times_log(x: Exact, p: Exact) -> Exact:
    """x log p with 0 log 0 = 0."""
    x, p = np.broadcast_arrays(x, p)
    return np.where(x == 0, mp.mpf(0), x * ln(np.where(x == 0, mp.mpf(1), p)))


def poisson_density(p: dict[str, Exact], row: Exact) -> Exact:
    if "shape" not in p:
        return (times_log(row, p["rate"]) - p["rate"] - lgamma(row + 1)).sum(axis=1)
    r, b = p["shape"], p["rate"]
    gain = lgamma(r + row) - lgamma(r) - lgamma(row + 1)
    return (gain - r * log1p(1 / b) - row * log1p(b)).sum(axis=1)


def poisson_size(p: dict[str, Exact], row: Exact) -> float:
    events = lgamma(row + 1).max()
    if "shape" not in p:
        return float(max(events, abs(times_log(row, p["rate"])).max(), p["rate"].max()))
    return float(max(events, (row * log1p(p["rate"])).max(), (lgamma(p["shape"] + row) - lgamma(p["shape"])).max()))


def poisson_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from scipy import stats

    x = x[:, None, :]
    if "shape" in p:
        return stats.nbinom.logpmf(x, p["shape"], p["rate"] / (p["rate"] + 1.0)).sum(axis=2)
    return stats.poisson.logpmf(x, p["rate"]).sum(axis=2)


def exponential_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    n, s = totals(rows)
    if learn == "mle":
        return {"rate": n / s}
    shape, rate = n + 1, s + s.sum(axis=0) / n.sum(axis=0)  # Gamma(1, None): one row at the mean of all classes
    if learn == "predictive":
        return {"shape": shape, "rate": rate}
    return {"rate": (shape - 1) / rate if learn == "map" else shape / rate}


def exponential_density(p: dict[str, Exact], row: Exact) -> Exact:
    if "shape" in p:
        return (ln(p["shape"] / p["rate"]) - (p["shape"] + 1) * log1p(row / p["rate"])).sum(axis=1)
    return (ln(p["rate"]) - p["rate"] * row).sum(axis=1)


def exponential_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from scipy import stats

    x = x[:, None, :]
    if "shape" in p:
        return stats.lomax.logpdf(x, p["shape"], scale=p["rate"]).sum(axis=2)
    return stats.expon.logpdf(x, scale=1.0 / p["rate"]).sum(axis=2)


def geometric_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    n, s = totals(rows)
    if learn == "predictive":
        return {"a": n + 1, "b": s + 1}
    a, b = {"mle": (n, s), "map": (n, s), "mean": (n + 1, s + 1)}[learn]
    return {"probability": a / (a + b), "complement": b / (a + b)}


def geometric_density(p: dict[str, Exact], row: Exact) -> Exact:
    if "a" not in p:
        theta = p["probability"]
        rest = np.where(theta < HALF, 1 - theta, p["complement"])  # the one of the two that has all digits
        return (ln(theta) + times_log(row, rest)).sum(axis=1)
    a, b = p["a"], p["b"]
    gain = lgamma(a + 1) + lgamma(b + row) - lgamma(a + b + row + 1)
    return (gain - lgamma(a) - lgamma(b) + lgamma(a + b)).sum(axis=1)


def geometric_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from scipy import special, stats

    x = x[:, None, :]
    if "a" in p:
        return (special.betaln(p["a"] + 1.0, p["b"] + x) - special.betaln(p["a"], p["b"])).sum(axis=2)
    return stats.geom.logpmf(x + 1.0, p["probability"]).sum(axis=2)


def bernoulli_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    n, s = totals(rows)
    more = 0 if learn in ("mle", "map") else 1  # the mode with Beta(1, 1) is the maximum of the likelihood
    whole = n + 2 * more
    return {"probability": (s + more) / whole, "complement": (n - s + more) / whole}


def bernoulli_density(p: dict[str, Exact], row: Exact) -> Exact:
    return (times_log(row, p["probability"]) + times_log(1 - row, p["complement"])).sum(axis=1)


def bernoulli_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from scipy import stats

    return stats.bernoulli.logpmf(x[:, None, :], p["probability"]).sum(axis=2)


def shares(counts: Exact, learn: str) -> Exact:
    """Probabilities from counts with Dirichlet(1); its mode is the maximum of the likelihood."""
    counts = counts + (1 if learn in ("mean", "predictive") else 0)
    return counts / counts.sum(axis=1, keepdims=True)


def category_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    parts = []
    for j in range(rows.x.shape[1]):
        keys = sorted(set(rows.x[:, j]))
        parts.append(shares(rows.sums(exact(np.array([[v == k for k in keys] for v in rows.x[:, j]]))), learn))
    return {"probability": np.concatenate(parts, axis=1)}


def category_density(p: dict[str, Exact], row: Any) -> Exact:
    at = [3 * j + "abc".index(value) for j, value in enumerate(row)]
    return ln(p["probability"][:, at]).sum(axis=1)


def joint_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    found = sorted({tuple(row) for row in rows.x})
    counts = rows.sums(exact(np.array([[tuple(row) == key for key in found] for row in rows.x])))
    more, possible = (1 if learn == "mean" else 0), 9
    total = counts.sum(axis=1, keepdims=True) + more * possible
    return {"probability": (counts + more) / total, "_other": np.full((rows.classes, 1), mp.mpf(more)) / total}


JOINT = sorted({tuple(row) for rows in category_rows() for row in rows.x})


def joint_density(p: dict[str, Exact], row: Any) -> Exact:
    if tuple(row) in JOINT:
        return ln(p["probability"][:, JOINT.index(tuple(row))])
    return ln(p["_other"][:, 0]) if "_other" in p else None


def multinomial_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    _, s = totals(rows)
    if learn == "predictive":
        return {"alpha": s + 1}
    if not s.sum():  # without a mode, the mean
        return {"probability": np.full(s.shape, mp.mpf(0) if learn == "mle" else HALF)}
    return {"probability": shares(s, learn)}


def multinomial_density(p: dict[str, Exact], row: Exact) -> Exact:
    if "alpha" not in p:
        return times_log(row, p["probability"]).sum(axis=1)
    alpha = p["alpha"]
    gain = (lgamma(alpha + row) - lgamma(alpha)).sum(axis=1)
    return gain + lgamma(alpha.sum(axis=1)) - lgamma(alpha.sum(axis=1) + row.sum())


def multinomial_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray | None:
    from scipy.special import gammaln

    if "alpha" not in p:
        return None
    alpha, whole, x = p["alpha"], p["alpha"].sum(axis=1), x[:, None, :]
    gain = (gammaln(alpha + x) - gammaln(alpha)).sum(axis=2)
    return gain + gammaln(whole) - gammaln(whole + x.sum(axis=2))


def multinomial_size(p: dict[str, Exact], row: Exact) -> float:
    if "alpha" not in p:
        return 1.0
    whole = p["alpha"].sum(axis=1)
    return float((lgamma(whole + row.sum()) - lgamma(whole)).max())


def log_normal_size(p: dict[str, Exact], row: Exact) -> float:
    """What rounding log x changes, relative to its own rounding error."""
    spread = p.get("logarithm.variance", p.get("logarithm.spread"))
    return float((abs(ln(row) - p["logarithm.mean"]) / spread * abs(ln(row))).max())


def complement_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    _, s = totals(rows)
    rest = s.sum(axis=0) - s + (1 if learn == "mean" else 0)
    whole = rest.sum(axis=1, keepdims=True)
    share = rest / np.where(whole > 0, whole, mp.mpf(1))
    return {"weight": np.where(share > 0, -ln(share), mp.mpf(10**6))}  # the weight of a word that no other class has


def complement_density(p: dict[str, Exact], row: Exact) -> Exact:
    return (p["weight"] * row).sum(axis=1)


def scatter(rows: Rows) -> tuple[Exact, Exact, Exact]:
    """Weight (classes,), mean (classes, columns) and cross-products (classes, columns, columns)."""
    x = exact(rows.x)
    n = rows.sums(exact(np.ones(len(x))))
    mean = rows.sums(x) / n[:, None]
    off = x - mean[rows.codes]
    return n, mean, rows.sums(off[:, :, None] * off[:, None, :])


def multivariate_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    n, mean, cross = scatter(rows)
    if learn == "mle":
        return {"mean": mean, "covariance": cross / n[:, None, None]}
    d = mean.shape[1]
    strength, freedom = mp.mpf(0.01), mp.mpf(d + 2)  # NormalInverseWishart()
    pooled = (n[:, None] * mean).sum(axis=0) / n.sum()
    within = cross.sum(axis=0) / n.sum()
    scale = np.array([[within[i, j] if i == j else mp.mpf(0) for j in range(d)] for i in range(d)])
    centre = (strength * pooled + n[:, None] * mean) / (strength + n)[:, None]
    off = mean - pooled
    pull = (strength * n / (strength + n))[:, None, None]
    grown = scale + cross + pull * off[:, :, None] * off[:, None, :]
    free = freedom + n
    if learn == "predictive":
        nu = free - d + 1
        widened = (strength + n + 1) / ((strength + n) * nu)
        return {"mean": centre, "covariance": grown * widened[:, None, None], "freedom": nu}
    norm = free + d + 2 if learn == "map" else free - d - 1
    return {"mean": centre, "covariance": grown / norm[:, None, None]}


def multivariate_density(p: dict[str, Exact], row: Exact) -> Exact:
    out = []
    for c, mean in enumerate(p["mean"]):
        matrix = mp.matrix(p["covariance"][c % len(p["covariance"])].tolist())
        off = mp.matrix((row - mean).tolist())
        d, distance = len(off), (off.T * mp.inverse(matrix) * off)[0]
        volume = mp.log(mp.det(matrix)) / 2
        if "freedom" not in p:
            out.append(-HALF * d * mp.log(2 * PI) - volume - distance / 2)
            continue
        nu = p["freedom"][c]
        norm = mp.loggamma((nu + d) / 2) - mp.loggamma(nu / 2) - HALF * d * mp.log(PI * nu) - volume
        out.append(norm - (nu + d) / 2 * mp.log1p(distance / nu))
    return np.array(out)


def multivariate_scipy(p: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray | None:
    from scipy import stats

    try:
        if "freedom" in p:
            each = zip(p["mean"], p["covariance"], p["freedom"], strict=True)
            return np.stack([stats.multivariate_t(m, s, nu).logpdf(x) for m, s, nu in each], axis=1)
        each = zip(p["mean"], p["covariance"], strict=True)
        return np.stack([stats.multivariate_normal(m, s).logpdf(x) for m, s in each], axis=1)
    except (ValueError, np.linalg.LinAlgError):
        return None  # SciPy takes the matrix to be singular


def multivariate_rows() -> Iterator[Rows]:
    for rows in real_rows():
        yield replace(rows, condition=1e15) if rows.name == "weights" else rows  # a pivot does not know of weights


EDGES = (-1.0, 0.75, 2.0, 5.0)


def binned_rows() -> Iterator[Rows]:
    for rows in real_rows():
        if rows.name in ("plain", "weights", "tails"):
            yield rows


def binned_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    at = np.searchsorted(EDGES, rows.x)
    bins = np.arange(len(EDGES) + 1)
    parts = [shares(rows.sums(exact(at[:, j, None] == bins)), learn) for j in range(at.shape[1])]
    return {"probability": np.concatenate(parts, axis=1)}


def binned_density(p: dict[str, Exact], row: Exact) -> Exact:
    at = [5 * j + sum(float(v) > e for e in EDGES) for j, v in enumerate(row)]
    return ln(p["probability"][:, at]).sum(axis=1)


WIDTH = 0.75


def kernel_rows() -> Iterator[Rows]:
    for rows in real_rows():
        if rows.name in ("plain", "offset 1e9", "weights"):
            yield rows
        elif rows.name == "tails":
            yield replace(rows, queries=columns([1e3, -1e8], [40.0, -1e5]))


def kernel_parameters(rows: Rows, learn: str) -> dict[str, Exact]:  # noqa: ARG001  # the shape of all twins
    shape = rows.classes, rows.x.shape[1]
    return {"bandwidth": np.full(shape, mp.mpf(WIDTH)), "_points": exact(rows.x), "_codes": rows.codes,
            "_weight": rows.exact_weight}  # fmt: skip


def log_sum(terms: Exact) -> Any:
    top = max(terms)
    return top + mp.log(sum(mp.exp(t - top) for t in terms))


def kernel_density(p: dict[str, Exact], row: Exact) -> Exact:
    out = []
    for c in range(len(p["bandwidth"])):
        own, total = p["_codes"] == c, mp.mpf(0)
        w = p["_weight"][own]
        for j, value in enumerate(row):
            z = (value - p["_points"][own, j]) / p["bandwidth"][c, j]
            height = ln(w / w.sum()) - ln(p["bandwidth"][c, j]) - HALF * mp.log(2 * PI)
            total += log_sum(height - z**2 / 2)
        out.append(total)
    return np.array(out)


def mixture_parameters(rows: Rows, learn: str) -> dict[str, Exact]:  # noqa: ARG001  # the shape of all twins
    n, mean, squares = moments(rows, exact(rows.x))
    return {
        "share": np.full((*mean.shape, 1), mp.mpf(1)),
        "mean": mean[..., None],
        "variance": (squares / n)[..., None],
    }


def mixture_density(p: dict[str, Exact], row: Exact) -> Exact:
    off = row[:, None] - p["mean"]
    terms = ln(p["share"]) - HALF * ln(2 * PI * p["variance"]) - off**2 / p["variance"] / 2
    return np.array([sum(log_sum(column) for column in own) for own in terms])


VOCABULARY = ["blue", "green", "red"]


def text_parameters(rows: Rows, learn: str) -> dict[str, Exact]:
    counts = rows.sums(exact(np.array([[text.split().count(w) for w in VOCABULARY] for text in rows.x])))
    return {"event.probability": shares(counts, learn)}


def text_density(p: dict[str, Exact], row: str) -> Exact:
    counts = exact(np.array([row.split().count(w) for w in VOCABULARY]))
    return times_log(counts, p["event.probability"]).sum(axis=1)


TWINS: dict[str, Twin] = {
    "bernoulli": Twin(boolean_rows, POINT, bernoulli_parameters, bernoulli_density, bernoulli_scipy),
    "binned": Twin(binned_rows, POINT, binned_parameters, binned_density, options={"edges": EDGES}),
    "categorical": Twin(category_rows, POINT, category_parameters, category_density),
    "complement": Twin(count_rows, ("mle", "mean"), complement_parameters, complement_density),
    "exponential": Twin(time_rows, ALL, exponential_parameters, exponential_density, exponential_scipy),
    "gaussian": Twin(real_rows, ALL, gaussian_parameters, gaussian_density, gaussian_scipy),
    "geometric": Twin(count_rows, ALL, geometric_parameters, geometric_density, geometric_scipy),
    "joint-categorical": Twin(category_rows, ("mle", "mean"), joint_parameters, joint_density),
    "kernel": Twin(kernel_rows, ("",), kernel_parameters, kernel_density, options={"bandwidth": WIDTH}),
    "log-normal": Twin(
        positive_rows,
        ALL,
        lambda rows, learn: gaussian_parameters(rows, learn, ln, "logarithm."),
        lambda p, row: gaussian_density(p, ln(row), "logarithm.") - ln(row).sum(),
        log_normal_scipy,
        size=log_normal_size,
    ),
    "mixture": Twin(real_rows, ("",), mixture_parameters, mixture_density, options={"components": 1}),
    "multinomial": Twin(
        count_rows, ALL, multinomial_parameters, multinomial_density, multinomial_scipy, size=multinomial_size
    ),
    "multivariate-gaussian": Twin(
        multivariate_rows, ALL, multivariate_parameters, multivariate_density, multivariate_scipy
    ),
    "poisson": Twin(count_rows, ALL, poisson_parameters, poisson_density, poisson_scipy, size=poisson_size),
    "text": Twin(text_rows, ("mle", "mean"), text_parameters, text_density),
}
