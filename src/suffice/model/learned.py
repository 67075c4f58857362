"""Everything that was learned from rows, and the answers that follow from it."""

from __future__ import annotations

import logging
import time
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from suffice.core.arrays import Array, Codes, Values, as_weight
from suffice.core.errors import InvalidDataError, InvalidOptionError, MismatchError, NotPartError, SufficeError
from suffice.core.frozen_options import same_options
from suffice.core.labels import as_label, encode_labels, label_positions, places_among, position_of, union_labels
from suffice.core.priors import ClassPrior
from suffice.core.statistics import ByClass
from suffice.core.validation import Labels
from suffice.families import Decisions, Family
from suffice.families.covariance import one_blas_thread
from suffice.families.product import Product, ProductDistribution
from suffice.model.calibration import Calibration, CalibrationForm, ScoredRow
from suffice.model.forms import Form, form_of
from suffice.model.joint import Model, leave_one_out_parts, left_out_prior, positions_of
from suffice.model.planning import with_one_plan, without_plan
from suffice.model.schema import chosen
from suffice.model.shares import Shares
from suffice.model.storage import storable
from suffice.model.structure import Structure, StructureName
from suffice.model.structure_fit import Nearby, fit_structure
from suffice.model.unlabelled import Unlabelled, together

LOG = logging.getLogger(__name__)

TRIED = 1.5  # by how much the weight grows until a search near what was decided tries what that had left out

Calibrate: TypeAlias = bool | Literal["classes", "columns", "pairs", "pool"]


def combined(calibrate: Any, structure: Any = "naive") -> Calibrate:
    """Return how evidence is combined and calibrated, from the parameters of an estimator."""
    if calibrate is not True or structure == "naive":
        return calibrate
    return "pool" if structure == "auto" else structure


@storable
@dataclass(frozen=True)
class Decided:
    """What was searched for in statistics: the decisions of the family, and the calibrations by their form."""

    decisions: Decisions | None = None
    calibrations: dict[CalibrationForm, Calibration] = field(default_factory=dict)


@dataclass(frozen=True)
class Near:
    """What was decided about fewer rows, which a search may begin at, and the weight of those that all was tried on."""

    decided: Decided
    tried: float

    def tries_all(self, weight: float) -> bool:
        """Whether rows of a weight are so many, or so few, that a search tries all there is to choose from."""
        return not self.tried / TRIED < weight < self.tried * TRIED


@storable
@dataclass(frozen=True)
class Learned:
    """Statistics, and the options they are read with.

    The model and its calibration follow from them. They are computed when they are first needed, and kept. What took a
    search is `decided`, which files and pickles hold too: a loaded model answers at once. `decided` is no argument of
    the constructor, so that `replace` drops it: other statistics decide anew. So are `shares`, of the rows that are
    answered for: once more is learned, they are those of the training rows again.
    """

    seen: ByClass[Any]
    family: Family[Any]
    prior: ClassPrior
    declared: Annotated[Values | None, Labels()]  # classes named in advance; rows of them need not have been seen
    dtype: np.dtype[Any]  # of the training rows, where answers have the same
    unlabelled: Unlabelled | None = None  # what rows without labels taught
    decided: Decided = field(default=Decided(), init=False, compare=False, repr=False)
    shares: Shares | None = field(default=None, init=False, compare=False, repr=False)  # of the classes, once adapted

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def check_agreement(self) -> None:
        """Raise an error if statistics, family and prior are not of the same classes and columns."""
        if self.dtype not in ((np.float32, np.float64) if form_of(self.family) == "numbers" else (np.float64,)):
            raise MismatchError(f"dtype must be float64, or float32 of rows of numbers, found {self.dtype}")
        self.family.check_loaded(self.checked().statistics.statistic)
        if self.unlabelled is not None:
            self.unlabelled.check_for(self)
        if self.shares is not None and len(self.shares.share) != len(self.labels):
            raise MismatchError(f"shares must be of {len(self.labels)} classes, found {len(self.shares.share)}")
        self._check_decided()

    def _check_decided(self) -> None:
        """Raise an error if something was decided about other classes or columns."""
        self.family.check_decisions(self.estimated.statistic, self.decided.decisions)
        for form, calibration in self.decided.calibrations.items():
            if len(calibration.slope) != len(self.labels):
                raise MismatchError(f"decided.calibrations.{form} must be of {len(self.labels)} classes")
            if isinstance(calibration, Structure):
                if not isinstance(self.family, Product):
                    raise MismatchError(f"decided.calibrations.{form} must be of a table")
                calibration.check_model(self.family, self.statistics)

    def checked(self) -> Learned:
        """Return the same, after refusing what makes no model: no class, other priors, numbers too large."""
        known = self.seen if self.declared is None else self.statistics
        classes = len(known.labels)
        if not classes:
            raise InvalidDataError("The total weight of all rows is zero: there is nothing to learn from")
        self.prior.check(classes)
        self.family.check_estimable(self.seen.statistic)
        return self

    @cached_property
    def statistics(self) -> ByClass[Any]:
        """The statistics of all classes. Those of classes that were only declared are empty."""
        if self.declared is None:
            return self.seen
        return self.seen.over(union_labels(self.declared, self.seen.labels))

    @property
    def labels(self) -> Values:
        """The class labels, sorted."""
        return self.statistics.labels

    @cached_property
    def estimated(self) -> ByClass[Any]:
        """What the model is estimated from: the statistics, and those of rows without labels."""
        return together(self.statistics, self.unlabelled)

    @property
    def weight_of_unlabelled(self) -> float:
        """The weight of a row without a label; 0 where there are none, or they were refused."""
        return 0.0 if self.unlabelled is None else self.unlabelled.weight

    @cached_property
    def model(self) -> Model:
        """The joint distribution p(x, y)."""
        begun, known = time.perf_counter(), self.decided.decisions
        before = self._near.decided.decisions if self._near is not None and self.family.searches_near else None
        found = Model.of(self.estimated, self.family, self.prior, known, before)
        model = _with_shares(found, self.shares)
        self._decide(decisions=model.distribution.decisions)
        LOG.debug("estimated in %.3f s", time.perf_counter() - begun)
        if known is None and LOG.isEnabledFor(logging.INFO) and isinstance(model.distribution, ProductDistribution):
            for line in chosen(model.distribution):
                LOG.info("%s", line)
        return model

    def _decide(self, **found: Any) -> None:
        """Keep what was searched for."""
        object.__setattr__(self, "decided", replace(self.decided, **found))

    def takes_choices(self, before: Learned) -> bool:
        """Keep what was decided about fewer rows; return whether that fits these rows."""
        if not same_options(before.labels, self.labels):
            return False
        object.__setattr__(self, "decided", before.decided)
        try:
            self._check_decided()
        except SufficeError:  # about a plan of pairs, say, that there was not yet
            object.__setattr__(self, "decided", Decided())
            return False
        return True

    def search_near(self, before: Learned) -> None:
        """Begin searches at what was decided about fewer rows, if there are some that can."""
        near, weight = before._near, float(before.seen.weight.sum())
        tried = before.__dict__.get("_tried", weight if near is None else near.tried)
        self.__dict__["_near"] = Near(before.decided, tried)

    @property
    def _near(self) -> Near | None:
        found: Near | None = self.__dict__.get("_near")
        return found

    @property
    def is_near(self) -> bool:
        """Whether a search begins at what was decided about fewer rows, and so may end elsewhere than a whole one."""
        if self._near is None:
            return False
        known = self._near.decided
        structures = any(isinstance(each, Structure) for each in known.calibrations.values())
        return structures or (self.family.searches_near and known.decisions is not None)

    def decide(self, calibrate: Calibrate) -> None:
        """Search for all that answers need and that takes long, unless it is known."""
        if self.family.decides and self.decided.decisions is None:
            self._decide(decisions=self.model.distribution.decisions)
        self.calibration(calibrate)

    @property
    def form(self) -> Form:
        """The form in which the columns of a table are read."""
        form = form_of(self.family)
        numbered = form == "categories" and self.statistics.statistic.keys is None
        return "numbers" if numbered else form  # categories that were 0, 1, 2, … in training

    # ---- adding and subtracting

    def __add__(self, other: Learned) -> Learned:
        declared = [each for each in (self.declared, other.declared) if each is not None]
        if isinstance(self.family, Product) and isinstance(other.family, Product):
            mine, theirs = with_one_plan(self, other)
            whole = mine.seen + theirs.seen
            seen, family = without_plan(mine.family, whole)  # type: ignore[arg-type]  # a product
        else:
            seen, family = self.seen + other.seen, self.family  # type: ignore[assignment]  # of another kind
        return replace(
            self,
            seen=seen,
            family=family,
            declared=union_labels(declared[0], declared[-1]) if declared else None,
            dtype=np.promote_types(self.dtype, other.dtype),
            unlabelled=_sum_of(self.unlabelled, other.unlabelled),
        )

    def without_class(self, label: Any) -> Learned:
        """Return what learning without the rows of a class would have given."""
        rest = self.statistics.drop(label)
        if not len(rest.labels):
            raise InvalidDataError(f"{label!r} is the only class: without it nothing would be left")
        declared = None if self.declared is None else _without(self.declared, label)
        unlabelled = None if self.unlabelled is None else self.unlabelled.over(rest.labels)
        seen = rest.take(np.flatnonzero(rest.weight > 0))
        return replace(self, seen=seen, declared=declared, unlabelled=unlabelled)

    def renamed_class(self, old: Any, new: Any) -> Learned:
        """Return the same with another label for a class; if the new label is a class already, the two become one."""
        position_of(old, self.labels)
        label, name = as_label(old), as_label(new)
        seen, declared, unlabelled = _renamed(self.seen, label, name), self.declared, self.unlabelled
        if unlabelled is not None and unlabelled.divided is not None:
            unlabelled = replace(unlabelled, divided=_renamed(unlabelled.divided, label, name))
        if declared is not None and label_positions(label, declared) is not None:
            declared = union_labels(_without(declared, old), name)
        return replace(self, seen=seen, declared=declared, unlabelled=unlabelled)

    # ---- answering

    def answering_by(self, model: Model) -> Learned:
        """Return the same with another model, whose calibrations stay the same."""
        out = copy(self)
        vars(out)["model"] = model
        return out

    def adapted(self, shares: Shares) -> Learned:
        """Return the same, answering with other class shares. Rows are still left out with those of training."""
        out = object.__new__(Learned)
        vars(out).update({each.name: getattr(self, each.name) for each in fields(self)}, shares=shares)
        vars(out)["model"] = _with_shares(self.model, shares)
        return out

    @property
    def training_log_prior(self) -> Array:
        """Return log p(y) of the training rows, (classes,)."""
        return self.prior.log(self.estimated.weight)

    def predict(self, rows: Any, calibration: Calibration | None = None) -> Values:
        """Return the most probable label of each row."""
        if calibration is None:
            return self.model.predict(rows)
        return self.labels[self.posterior(rows, calibration).argmax(axis=1)]

    def _evidence(self, rows: Any, calibration: Calibration) -> Array:
        """Return the evidence of rows, (rows, classes), which may be overwritten."""
        return rows.evidence if isinstance(rows, ScoredRow) else calibration.evidence(self, rows)

    def posterior(self, rows: Any, calibration: Calibration | None = None) -> Array:
        """Return p(y | x), (rows, classes)."""
        if calibration is None:
            return self.model.posterior(rows, self.dtype_for(rows))
        return calibration.posterior(self._evidence(rows, calibration), self.model.log_prior)

    def log_posterior(self, rows: Any, calibration: Calibration | None = None) -> Array:
        """Return log p(y | x), (rows, classes)."""
        if calibration is None:
            return self.model.log_posterior(rows, self.dtype_for(rows))
        return calibration.log_posterior(self._evidence(rows, calibration), self.model.log_prior)

    def log_density(self, rows: Any) -> Array:
        """Return log p(x), (rows,)."""
        return np.asarray(self._dense.log_density(rows), self.dtype_for(rows))

    @property
    def _dense(self) -> Model:
        """The model with densities, where it only scores classes."""
        dense = self.model.distribution.as_density
        return self.model if dense is self.model.distribution else replace(self.model, distribution=dense)

    def dtype_for(self, rows: Any) -> Any:
        """The type of answers: float32 where both the training rows and these are."""
        return np.float32 if self.dtype == np.float32 and rows.dtype == np.float32 else np.float64

    # ---- leaving rows out

    def leave_one_out(self, rows: Any, labels: Values, weight: Any, calibration: Calibration | None) -> Array:
        """Return log p(y | x_i) of each learned row under the model of all the others, (rows, classes)."""
        if calibration is not None:
            return calibration.log_posterior(*calibration.left_out(self, rows, labels, weight))
        evidence, log_prior = self.left_out(rows, labels, weight)
        return self.model.normalize(evidence + log_prior, np.zeros(evidence.shape[1]), as_log=True)

    def left_out(self, rows: Any, labels: Values, weight: Any) -> tuple[Array, Array]:
        """Return log p(x_i | y), up to a term that all classes share, and log p(y) of each learned row without it.

        Both are (rows, classes).
        """
        return leave_one_out_parts(self.estimated, self.family, self.prior, rows, labels, weight, self.model)

    def codes_of(self, labels: Values) -> Codes:
        """Return the position of each label among the classes; refuse labels that were not learned."""
        return positions_of(encode_labels(labels), None, self.labels)

    def left_out_prior(self, n: int, labels: Values, weight: Any) -> tuple[Codes, Array, Array]:
        """Return the class and weight of each learned row, and log p(y) without it, (rows, classes)."""
        codes, unit, log_prior = left_out_prior(self.estimated, self.prior, n, labels, weight)
        return codes, np.ones(n) if unit is None else unit, log_prior

    def cross_validate(
        self, rows: Any, labels: Values, weight: Any, folds: int, random_state: Any, calibrate: Calibrate
    ) -> Array:
        """Return log p(y | x_i) of each learned row under the model without its fold, (rows, classes)."""
        read, weight = self.family.read(rows), as_weight(weight, len(labels))
        fold = np.random.default_rng(random_state).permutation(len(labels)) % folds
        out = np.full((len(labels), len(self.labels)), -np.inf)
        for k in range(folds):
            own = np.flatnonzero(fold == k)
            part = None if weight is None else weight[own]
            rest = replace(self, seen=self.seen - self.family.summarize(read[own], labels[own], part)).checked()
            places = places_among(rest.labels, self.labels)
            out[np.ix_(own, places)] = rest.log_posterior(read[own], rest.calibration(calibrate))
        return out

    def calibration(self, calibrate: Calibrate) -> Calibration | None:
        """Return the calibration fitted on the rows that were kept; None where probabilities are not calibrated."""
        if not calibrate:
            return None
        if self.unlabelled is not None and (fair := self.unlabelled.calibration(len(self.labels))) is not None:
            return fair
        form: CalibrationForm = "exponent" if isinstance(calibrate, (bool, np.bool_)) else calibrate
        found = self.decided.calibrations.get(form)
        if found is None:
            begun = time.perf_counter()
            found = self._fit_calibration(form)
            LOG.debug("calibrated in %.3f s", time.perf_counter() - begun)
            LOG.info("%r", found)
            self._decide(calibrations=self.decided.calibrations | {form: found})
        return found

    def _fit_calibration(self, form: CalibrationForm) -> Calibration:
        if form in ("columns", "pairs", "pool"):
            found = self._fit_structure(form)
            return self._fit_calibration("exponent") if found is None else found
        mixed, bias = self.model.distribution.mixed, self.model.distribution.bias
        if form != "classes" and mixed is not None and bias is not None:
            return replace(Calibration.none(len(self.labels)), mixed=mixed, bias=bias)
        kept = self.family.kept_rows(self.estimated.statistic)
        if kept is None or not len(kept.codes):
            return Calibration.none(len(self.labels))
        unit = kept.unit
        rows = self.family.read(kept.rows)
        try:
            evidence, log_prior = self.left_out(rows, self.labels[kept.codes], unit)
        except NotPartError:  # rows of joint columns were compressed to a limit: none can be left out
            evidence = self.model.relative_log_conditional(rows)
            log_prior = np.repeat(self.training_log_prior[None], len(evidence), axis=0)
        # The only row of a class does not show how well the class is known.
        others = self.statistics.weight[kept.codes] > unit * (1 + 1e-9)
        some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(unit)), kept.codes]))
        with one_blas_thread(0):  # sums over rows are short: threads that wait for each other take longer
            return Calibration.fit(evidence[some], log_prior[some], kept.codes[some], kept.independent[some], form)

    def _fit_structure(self, form: StructureName) -> Structure | None:
        if not isinstance(self.family, Product):
            return None
        near, weight = self._near, float(self.seen.weight.sum())
        before = None if near is None else near.decided.calibrations.get(form)
        if near is None or not isinstance(before, Structure):
            return fit_structure(self, form)
        tries_all = near.tries_all(weight)
        if tries_all:
            self.__dict__["_tried"] = weight
        return fit_structure(self, form, Nearby(before, tries_all))

    def outlier_threshold(self, rate: float) -> float:
        """Return the log p(x) that all but a share `rate` of the kept rows exceed."""
        if not 0 <= rate <= 1:
            raise InvalidOptionError(f"rate is a share of the rows, from 0 to 1; found {rate}")
        kept = self.family.kept_rows(self.estimated.statistic)
        if kept is None or not len(kept.codes):
            raise InvalidDataError("No rows were kept to compare with: fit with keep above 0")
        usual = self._dense.log_density(kept.rows)
        order = np.argsort(usual)
        reached = np.cumsum(kept.weight[order]) / kept.weight.sum()
        return float(usual[order][min(int(np.searchsorted(reached, rate)), len(order) - 1)])


def _sum_of(a: Unlabelled | None, b: Unlabelled | None) -> Unlabelled | None:
    """Return what rows without labels taught two models."""
    return a + b if a is not None and b is not None else a or b


def _renamed(seen: ByClass[Any], label: Values, name: Values) -> ByClass[Any]:
    """Return statistics with another label for a class, if they have it; two classes of one label become one."""
    place = label_positions(label, seen.labels)
    if place is None:
        return seen
    rest = seen.take(np.delete(np.arange(len(seen.labels)), place))
    renamed = replace(seen.take(place), labels=name)
    return rest + renamed if len(rest.labels) else renamed


def _with_shares(model: Model, shares: Shares | None) -> Model:
    """Return a model with other class shares, if there are any."""
    if shares is None:
        return model
    with np.errstate(divide="ignore"):  # a class that is impossible
        return replace(model, log_prior=np.log(shares.share))


def _without(labels: Values, label: Any) -> Values:
    """Return labels without one of them, if it is there."""
    place = label_positions(as_label(label), labels)
    return labels if place is None else np.delete(labels, place)
