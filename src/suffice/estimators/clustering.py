"""Clusters of rows without labels: a mixture over columns of any kind, as a fitted classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np

from suffice import engines
from suffice.core import frames
from suffice.core.arrays import Array, Positions, as_weight
from suffice.core.errors import InvalidDataError, InvalidOptionError, NotConvergedWarning
from suffice.core.frames import Frame, as_frame
from suffice.core.priors import ClassPrior, Dirichlet
from suffice.core.statistics import ByClass
from suffice.engines.progress import Steps
from suffice.estimators._left_out import LeftOut, column_name
from suffice.estimators.scikit_learn import clone
from suffice.estimators.table_classifier import BayesClassifier
from suffice.estimators.text_classifier import TextClassifier
from suffice.families import (
    Bernoulli,
    Binned,
    Categorical,
    Family,
    Gaussian,
    LogNormal,
    MultivariateGaussian,
    Table,
    Text,
)
from suffice.families.automatic_text import AutomaticText
from suffice.families.choose import Automatic, AutomaticBernoulli, AutomaticCategorical
from suffice.families.product import Block, Product
from suffice.model.clusters import STEPS, Divide, Judged, SomeRows, by_size, climbed, fewest, judged, mixture
from suffice.model.learned import Learned
from suffice.model.schema import AS_ASKED
from suffice.model.unlabelled import TINY, plain_family

__all__ = ["cluster"]

SAMPLE = 5000  # rows that the clusters begin with
JUDGES = 2000  # of these, by which their number is chosen
MOST = 20  # clusters, where their number is chosen
BEGINS = 10
FEW_BEGINS = 2  # where rows are left out
FEW_VALUES = 12  # distinct numbers, each of which is a bin
ATOM = 0.25  # share of one value among numbers, from which on they are counted in bins
BINS = 10
SKEWED = 0.1  # nats a row by which a log-normal must be better than a Gaussian
WIDEST = 32  # columns whose covariance is tried
COMPLETE = 0.5  # share of rows without a gap in these columns, from which on they alone teach their covariance
SMOOTHING = 1.0  # of words
GAUSSIAN = Gaussian()
PLAIN: dict[str, Any] = {"calibrate": False, "structure": "naive", "keep": 0}

Covariance = Literal["auto", "diagonal", "full", "tied"]


def cluster(
    X: Any,
    n_clusters: int | None = None,
    *,
    families: Any = "auto",
    covariance: Covariance = "auto",
    most: int = MOST,
    begins: int = BEGINS,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> BayesClassifier | TextClassifier:
    """Find clusters of rows without labels, and return a classifier of them:  p(x) = Σ_y π_y p(x | y).

    Columns may be numbers, categories, booleans and texts, with gaps. EM begins at several places; rows that are not in
    memory take one pass for each step.

    Parameters
    ----------
    X : table, array, list of texts, or rows that are not in memory
        Rows. Files by name or pattern, and data frames of Spark, Dask and Ray, are read where they are.
    n_clusters : int, default=None
        How many clusters; by default the smallest number by which rows that are left out are as probable as by the best
        number, but for a standard error.
    families : 'auto' or dict, default='auto'
        What columns are, as for `BayesClassifier`: a family for a column or a tuple of them; None leaves a column out.
        By default numbers are Gaussian or log-normal, or counted in bins where values repeat.
    covariance : {'auto', 'diagonal', 'full', 'tied'}, default='auto'
        Whether Gaussian columns are independent within a cluster, have a covariance in each, or one for all clusters.
        By default what makes rows that are left out most probable; independent if there are more than 32, or half of
        the rows have gaps in them.
    most : int, default=20
        The largest number of clusters that is tried, if it is not given.
    begins : int, default=10
        How many times EM begins.
    sample_weight : array-like of shape (n_samples,) or str, default=None
        Weights of the rows, or the name of their column.
    random_state : int or Generator, default=0
        Draws the rows that EM begins with.

    Returns
    -------
    classifier : BayesClassifier or TextClassifier
        Its classes are the clusters 0, 1, …, from the largest to the smallest. It predicts, explains, draws rows and is
        saved as any other. `clustering_` is a table of what was tried, and not saved.

    Examples
    --------
    >>> import numpy as np, suffice as sf
    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], [60, 40])
    >>> table = {"size": rng.normal(5 * kind, 1), "colour": np.where(rng.random(100) < 0.9, kind, 1 - kind).astype(str)}
    >>> clf = sf.cluster(table, 2)
    >>> clf.classes_, int((clf.predict(table) == kind).sum())
    (array([0, 1]), 99)
    """
    _check_options(n_clusters, covariance, most, begins)
    rows = _Rows.of(X, families, column_name(sample_weight))
    if n_clusters is not None and n_clusters > rows.n:
        raise InvalidDataError(
            f"{n_clusters} clusters were asked for, of {rows.n} rows: ask for at most as many clusters as rows"
        )
    rng = np.random.default_rng(random_state)
    forms, numbers = rows.forms(covariance), [n_clusters] if n_clusters is not None else [*range(1, most + 1)]
    tried: list[Judged] = []
    with Steps(len(forms) * len(numbers) + 2) as progress:
        if len(forms) * len(numbers) > 1:
            seed = rng.integers(1 << 62)  # the same folds for all
            for form, family in forms.items():
                judges = rows.some(family, JUDGES)
                tried += judged(form, rows.as_one(family, judges), judges, numbers, FEW_BEGINS, seed, progress.step)
        best = fewest(tried) if tried else None
        form, k = (best.form, best.k) if best is not None else (next(iter(forms)), numbers[0])
        family = forms[form]
        some = rows.some(family)
        start = mixture(rows.as_one(family, some), some, k, begins, rng)
        progress.step()
        found, _, steps = climbed(start, rows.divider(family), some) if rows.n > some.n else (start, 0.0, 0)
    if steps == STEPS:
        warnings.warn(f"The clusters did not settle in {STEPS} passes", NotConvergedWarning, stacklevel=2)
    if len(found.labels) < k:
        warnings.warn(
            f"{len(found.labels)} of {k} clusters hold rows: the others were the same as these",
            NotConvergedWarning,
            stacklevel=2,
        )
    return rows.fitted(by_size(found), tried)


def _check_options(n_clusters: Any, covariance: Any, most: Any, begins: Any) -> None:
    for name, value in (("n_clusters", n_clusters), ("most", most), ("begins", begins)):
        whole = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= 1
        if not whole and not (value is None and name == "n_clusters"):
            raise InvalidOptionError(f"{name} must be an integer of at least 1, found {value!r}")
    if covariance not in ("auto", "diagonal", "full", "tied"):
        raise InvalidOptionError(f"covariance must be 'auto', 'diagonal', 'full' or 'tied', found {covariance!r}")


@dataclass
class _Rows:
    """The rows to be clustered, wherever they are, and how they are read."""

    estimator: Any  # has noted the columns
    family: Family[Any]
    source: engines.Source | None  # where the rows are, unless they are in memory
    weight_name: str | None
    n: int
    read: Any  # a table, or texts: all rows if they are in memory, otherwise some
    weight: Array
    at: Positions  # of the rows that clusters begin with

    @classmethod
    def of(cls, X: Any, families: Any, weight: Any) -> _Rows:
        """Read rows in memory, or make one pass over others."""
        if not isinstance(families, Mapping) and families != "auto":
            raise InvalidOptionError(f"families must be 'auto', or a dict of families by column, found {families!r}")
        families = families if isinstance(families, str) else dict(families)
        source = engines.find(X)
        if source is None:
            return cls._in_memory(X, families, weight)
        if engines.is_on_device(X):
            raise InvalidDataError("Clusters are found on the host: copy the rows there, such as by cupy.asnumpy")
        return cls._elsewhere(source, families, weight)

    @classmethod
    def _in_memory(cls, X: Any, families: Any, weight: Any) -> _Rows:
        rows, estimator = X, _estimator_of(X, families)
        if isinstance(weight, str):
            frame = as_frame(X)
            weight, rows = frames.weights(frame.column(weight), weight), frame.drop(weight)
        read = estimator._check_X(rows, reset=True)
        family = _family_of(estimator, read)
        n = read.shape[0] if hasattr(read, "shape") else len(read)
        w = as_weight(weight, n)
        w = np.ones(n) if w is None else w
        at = np.random.default_rng(0).permutation(np.flatnonzero(w > 0))[:SAMPLE]
        if not len(at):
            raise InvalidDataError("The total weight of all rows is zero: there is nothing to learn from")
        return cls(estimator, family, None, None, int((w > 0).sum()), read, w, np.sort(at))

    @classmethod
    def _elsewhere(cls, source: engines.Source, families: Any, weight: Any) -> _Rows:
        if source.once:
            raise InvalidOptionError("A stream can be read once, and rows are read again and again to find clusters")
        if weight is not None:
            if not isinstance(weight, str):
                raise InvalidDataError("Of rows that are not in memory, sample_weight is the name of a column")
            source.check_column(weight, "of weights")
        head = as_frame(source.head())
        if not head.n:
            raise InvalidDataError("There are no rows to learn from: those of a database must be taken out of it first")
        columns = head.select([name for name in source.names if name != weight])
        estimator = BayesClassifier(families=families)
        estimator._note_columns(columns, source)
        family = _family_of(estimator, columns)
        assert isinstance(family, Product), "rows elsewhere are tables"
        keeping = replace(family, keep=SAMPLE)
        seen = source.learn(engines.Task(keeping, tuple(family.names), "", weight))
        kept = keeping.kept_rows(seen.statistic)
        n = max(round(float(seen.weight.sum())), len(kept.weight))
        return cls(estimator, family, source, weight, n, kept.rows, kept.weight, np.arange(len(kept.weight)))

    def some(self, family: Family[Any], most: int = SAMPLE) -> SomeRows:
        """Return the rows that clusters begin with, read by a family."""
        at = self.at if most >= len(self.at) else np.sort(np.random.default_rng(1).permutation(self.at)[:most])
        return SomeRows(self.estimator._run(family.read, self.read[at]), self.weight[at])

    def as_one(self, family: Family[Any], rows: SomeRows) -> Learned:
        """Learn rows as one cluster."""
        seen = self.estimator._run(family.summarize, rows.rows, np.zeros(rows.n, dtype=np.int64), rows.weight)
        return Learned(seen, family, ClassPrior(), None, np.dtype(np.float64)).checked()

    def divider(self, family: Family[Any]) -> Divide:
        """Return what divides all rows among clusters."""
        if self.source is None:
            return SomeRows(self.estimator._run(family.read, self.read), self.weight).divide
        source = self.source
        assert isinstance(family, Product), "rows elsewhere are tables"
        task = engines.Task(family, tuple(family.names), "", self.weight_name)

        def divide(learned: Learned) -> ByClass[Any] | None:
            return source.reduce(replace(task, divided_by=self.fitted(learned, [])._predictor(), least=TINY))

        return divide

    def forms(self, covariance: Covariance) -> dict[str, Family[Any]]:
        """Return the families by which clusters are tried: Gaussian columns apart, or together."""
        family = self.family
        if not isinstance(family, Product):
            return {"diagonal": family}
        apart = [block for block in family.blocks if block.family == GAUSSIAN]
        names = tuple(name for block in apart for name in block.names)
        if len(apart) < 2 or covariance == "diagonal":
            return {"diagonal": family}
        enough = self._complete(names) >= COMPLETE
        if covariance == "auto" and (len(names) > WIDEST or not enough):
            return {"diagonal": family}
        missing: Literal["em", "complete"] = "complete" if enough else "em"
        first = family.blocks.index(apart[0])
        rest = [block for block in family.blocks if block.family != GAUSSIAN]
        out: dict[str, Family[Any]] = {"diagonal": family} if covariance == "auto" else {}
        for form in ("tied", "full"):
            if covariance in ("auto", form):
                block = Block(names, MultivariateGaussian(tied=form == "tied", missing=missing))
                out[form] = replace(family, blocks=(*rest[:first], block, *rest[first:]))
        return out

    def _complete(self, names: Sequence[str]) -> float:
        """Return the share of rows that have all of some columns of numbers."""
        columns = self.estimator._schema.columns_in(self.read[self.at])
        gaps = np.zeros(len(self.at), dtype=bool)
        for name in names:
            gaps |= np.isnan(frames.numbers(columns.column(name), name))
        weight = self.weight[self.at]
        return float(weight @ ~gaps / weight.sum())

    def fitted(self, found: Learned, tried: Sequence[Judged]) -> Any:
        """Return a classifier of clusters."""
        if isinstance(found.family, Product):
            schema = self.estimator._schema
            blocks = found.family.blocks
            families = {block.names if len(block.names) > 1 else block.names[0]: block.family for block in blocks}
            out: Any = BayesClassifier(families | dict.fromkeys(schema.left_out), **PLAIN)
            out._schema = replace(schema, blocks=blocks)
        else:
            out = clone(self.estimator)
        for name in ("n_features_in_", "feature_names_in_", "_prototype"):
            if name in self.estimator.__dict__:
                out.__dict__[name] = self.estimator.__dict__[name]
        out._learned = found
        values = np.array([[each.form, f"{each.mean:.4f}", f"{each.error:.4f}"] for each in tried], dtype=object)
        heads = ["covariance", "log p(x) of rows left out", "standard error"]
        out.clustering_ = Table("clusters", [str(each.k) for each in tried], heads, values.reshape(-1, 3))
        return out


def _estimator_of(X: Any, families: Any) -> Any:
    """Return the classifier of rows in memory: of texts, or of a table."""
    if not _are_texts(X):
        return BayesClassifier(families=families)
    if families != "auto":
        raise InvalidOptionError("families are for the columns of a table, and these rows are texts")
    return TextClassifier(event="multinomial", ngrams=(1, 1), smoothing=SMOOTHING, calibrate=False)


def _are_texts(X: Any) -> bool:
    """Whether these are texts, one for each row, and not the columns of a table."""
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns") or isinstance(X, Mapping) or not hasattr(X, "__len__"):
        return False
    if hasattr(X, "__arrow_c_stream__") and hasattr(X, "column_names"):
        return False
    known = [each for each in X if each is not None and each == each]
    return bool(known) and all(isinstance(each, str) for each in known)


def _family_of(estimator: Any, read: Any) -> Family[Any]:
    """Return the family of the rows: columns whose family is chosen by labels get one that needs none."""
    if not isinstance(estimator, BayesClassifier):
        return plain_family(estimator._family())
    schema, left_out, blocks = estimator._schema, LeftOut(), []
    columns, reasons = schema.columns_in(read), dict(schema.left_out)
    for block in schema.blocks:
        found = _plain(block, columns)
        if isinstance(found, str):
            reasons |= dict.fromkeys(block.names, found)
        else:
            blocks.append(replace(block, family=found))
    left_out.columns = {name: why for name, why in reasons.items() if why != AS_ASKED}
    if not blocks:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in reasons.items())
        raise InvalidDataError(f"No column is left to learn from: {why}")
    left_out.advice = "`families` says what columns are. "
    left_out.warn()
    used = {name for block in blocks for name in block.names}
    readings = tuple(each for each in schema.readings if each.name in used)
    estimator._schema = replace(schema, blocks=tuple(blocks), readings=readings, left_out=reasons)
    return Product(blocks=tuple(blocks), readings=readings)


def _plain(block: Block, columns: Frame) -> Family[Any] | str:
    """Return the family of a block that needs no labels, or why it is left out."""
    family = block.family
    if isinstance(family, AutomaticText):
        return Text(prior=Dirichlet(SMOOTHING))
    if isinstance(family, AutomaticBernoulli):
        return Bernoulli()
    if isinstance(family, AutomaticCategorical):
        return Categorical()
    if isinstance(family, Automatic):
        return _number_family(frames.numbers(columns.column(block.names[0]), block.names[0]))
    return family


def _number_family(x: Array) -> Family[Any] | str:
    """Return a family of numbers by their values: Gaussian, log-normal, or bins where values repeat."""
    x = x[np.isfinite(x)]
    values, times = np.unique(x, return_counts=True)
    if len(values) < 2:
        return "it holds one value"
    if len(values) <= FEW_VALUES:
        return Binned(edges=values[:-1])
    common = values[times >= ATOM * len(x)]
    if len(common):
        cuts = np.quantile(x, np.arange(1, BINS) / BINS, method="inverted_cdf")
        below = values[np.maximum(np.searchsorted(values, common) - 1, 0)]  # so that each has a bin of its own
        edges = np.unique(np.concatenate([cuts, common, below]))
        return Binned(edges=edges[edges < values[-1]])
    if values[0] > 0:
        logs = np.log(x)
        if np.log(x.std()) - np.log(logs.std()) - logs.mean() > SKEWED:
            return LogNormal()
    return GAUSSIAN
