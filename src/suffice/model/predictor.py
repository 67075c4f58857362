"""A model at work beside the rows: what was learned, its calibration, and the columns it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Values
from suffice.core.errors import (
    InvalidOptionError,
    MismatchError,
    NoDistributionError,
    NoFormulaError,
    NoLinearFormError,
    NotPartError,
    RefusedValueError,
    naming_columns,
)
from suffice.core.frames import ColumnReading, Frame, as_frame
from suffice.core.labels import label_list
from suffice.core.validation import CheckedIn, Held, check_stored, shown
from suffice.families import FillMethod, Table
from suffice.families.choose import AutomaticBernoulli
from suffice.families.product import Product, ProductDistribution
from suffice.formulas import Scoring
from suffice.model.calibration import Calibration
from suffice.model.explain import Evidence, impute, word_evidence
from suffice.model.forms import Columns, Form, aligned, in_form
from suffice.model.learned import Learned, combined
from suffice.model.schema import Schema, describe
from suffice.model.shares import Shares
from suffice.model.storage import storable
from suffice.model.structure import Structure
from suffice.model.suspects import Suspects, find_suspects

Question: TypeAlias = Literal["predict", "predict_proba", "predict_log_proba"]

# What the columns of numbers are called, before the label of their class.
TITLES = {"predict_proba": "probability", "predict_log_proba": "log_probability"}


@storable
@dataclass(frozen=True)
class Predictor:
    """Answers for rows whose columns come by name. It can be stored, and so travels to workers."""

    estimator: str  # the name of the estimator that learned, for errors
    learned: Learned
    calibration: Calibration | None
    n_columns: Annotated[int, Held(least=1)]  # of the training rows
    names: tuple[str, ...] | None  # of the columns of the training rows, where they had names
    schema: Schema | None = None  # of a table

    def check_agreement(self) -> None:
        """Raise an error if the columns are not those that the family reads, or the calibration is of other classes."""
        family, names = self.learned.family, self.names
        if names is not None and (len(names) != self.n_columns or len(set(names)) < len(names)):
            raise MismatchError(f"names must be {self.n_columns} distinct columns, found {shown(names)}")
        if isinstance(family, Product):
            known = set(self.training_columns)
            unknown = [name for name in family.names if name not in known]
            schema = self.schema
            if unknown or schema is None or (schema.blocks, schema.readings) != (family.blocks, family.readings):
                raise MismatchError("names and schema must be those of the blocks of columns")
        elif self.schema is not None:
            raise MismatchError("schema must be None: the columns have one family")
        elif family.columns_of(self.learned.statistics.statistic) not in (None, self.n_columns):
            raise MismatchError(f"n_columns must be that of the statistics, found {self.n_columns}")
        if self.calibration is not None and len(self.calibration.slope) != len(self.labels):
            raise MismatchError(f"calibration must be of {len(self.labels)} classes")

    @property
    def labels(self) -> Values:
        """The class labels, sorted."""
        return self.learned.labels

    @property
    def form(self) -> Form:
        """The form in which columns are read."""
        return self.learned.form

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        if isinstance(self.learned.family, Product):
            return tuple(self.learned.family.names)
        return self.training_columns

    @property
    def training_columns(self) -> tuple[str, ...]:
        """The names of all columns of the training rows, in their order, also of those that are left out."""
        return self.names or tuple(f"x{j}" for j in range(self.n_columns))

    @property
    def formula_columns(self) -> tuple[str, ...]:
        """The names of the columns of `formula`: those that are read, or the numbers that are read from them."""
        family = self.learned.family
        return tuple(family.columns) if isinstance(family, Product) else self.columns

    @property
    def string_columns(self) -> tuple[str, ...]:
        """The names of the columns that hold strings."""
        if self.form == "texts":
            return self.columns
        found = self.learned.model.distribution
        if not isinstance(found, ProductDistribution):
            return ()
        out: list[str] = []
        for block, part in zip(found.family.blocks, found.parts, strict=True):
            if block.family.reads == "text" and not block.missing:
                out += block.names
            elif block.family.reads == "categories" and not block.missing:
                known = part.known_values(block.names)
                out += [name for name, keys in known.items() if any(isinstance(key, str) for key in keys)]
        return tuple(out)

    @property
    def truth_columns(self) -> tuple[str, ...]:
        """The names of the columns that hold booleans."""
        family = self.learned.family
        blocks = family.blocks if isinstance(family, Product) else ()
        found = (block.names for block in blocks if isinstance(block.family, AutomaticBernoulli) and not block.missing)
        return tuple(name for names in found for name in names)

    def read(self, frame: Frame) -> Columns:
        """Read the columns of a table; of several families, those that are not there count as missing."""
        if self.form == "table":
            return aligned(frame, self.columns, self.readings)
        return in_form(frame.select(self.columns), self.form)

    def predict(self, frame: Frame) -> Values:
        """Return the most probable label of each row."""
        return self._ask(self.learned.predict, frame)

    def predict_proba(self, frame: Frame) -> Array:
        """Return p(y | x), (rows, classes)."""
        return self._ask(self.learned.posterior, frame)

    def predict_log_proba(self, frame: Frame) -> Array:
        """Return log p(y | x), (rows, classes)."""
        return self._ask(self.learned.log_posterior, frame)

    def _ask(self, question: Any, frame: Frame) -> Any:
        try:
            with naming_columns(self.columns):
                return question(self.read(frame), self.calibration)
        except RefusedValueError as error:
            raise error.passed_to(self.estimator) from None

    def log_density(self, frame: Frame) -> Array:
        """Return log p(x) of each row."""
        return self._ask(lambda rows, _: self.learned.log_density(rows), frame)

    def outliers(self, frame: Frame, rate: float) -> NDArray[np.bool_]:
        """Return which rows are less probable than all but a share `rate` of the rows that were kept."""
        return self.log_density(frame) < self.learned.outlier_threshold(rate)

    def sample(self, n: int, label: Any = None, random_state: Any = None) -> tuple[dict[str, Values], Values]:
        """Draw rows, as columns by name, and their labels."""
        drawn, labels = self.learned.model.sample(n, label, random_state)
        if self.form != "table":
            return dict(zip(self.columns, np.asarray(drawn).reshape(n, -1).T, strict=True)), labels
        order = {name: i for i, name in enumerate(self.names or self.columns)}
        sources = {each.name: each.source for each in self.readings}
        names: list[str] = sorted(drawn, key=lambda name: order[sources.get(str(name), str(name))])
        return {name: self._rounded(name, drawn[name]) for name in names}, labels

    @property
    def readings(self) -> tuple[ColumnReading, ...]:
        """How columns of strings and times become columns of numbers."""
        return () if self.schema is None else self.schema.readings

    def impute(self, frame: Frame, how: FillMethod = "mean", random_state: Any = None) -> dict[str, Any]:
        """Return the columns of a table by name, missing entries filled in those that are read."""
        if how not in ("mean", "mode", "sample"):
            raise InvalidOptionError(f"how must be 'mean', 'mode' or 'sample', found {how!r}")
        if self.form != "table":
            if how != "mean":
                raise InvalidOptionError(f"A {self.estimator} fills missing entries with means only")
            filled = self._ask(lambda rows, _: self.learned.model.impute(rows), frame)
            return dict(frame.columns) | dict(zip(self.columns, filled.T, strict=True))
        rows = self.learned.family.read(self.read(frame))
        posterior = self.learned.posterior(rows, self.calibration)
        found = impute(self.learned.model, rows, posterior, how, np.random.default_rng(random_state))
        if how != "mean":  # a mean of integers need not be one
            found = {name: self._rounded(name, values) for name, values in found.items()}
        return {name: found.get(name, column) for name, column in frame.columns.items()}

    def _rounded(self, name: str, values: Any) -> Any:
        """Round numbers of a column that held integers."""
        integers = self.schema is not None and name in self.schema.whole and values.dtype.kind == "f"
        return np.round(values) if integers else values

    def evidence(self, frame: Frame, label: Any = None, against: Any = None) -> dict[str, Values] | list[Table]:
        """Return what speaks for a class against another, in log-odds that add up.

        Of columns, a column for each of theirs; of texts, a table for each text.
        """
        found = self.evidence_of(self.read(frame), label, against)
        return found.columns(calibrated=self.form == "table") if isinstance(found, Evidence) else found

    def evidence_of(self, rows: Any, label: Any = None, against: Any = None) -> Evidence | list[Table]:
        """Return the same of rows that were read, where `label` and `against` may be arrays of one for each row."""
        learned = self.learned
        if self.form == "texts":
            log_posterior = learned.log_posterior(rows, self.calibration)
            return word_evidence(learned.model, rows, log_posterior, label, against, self.calibration)
        titles, read = list(self.columns), learned.family.read(rows)
        if isinstance(learned.family, Product):
            titles = [block.title for block in learned.family.blocks]
        log_posterior = learned.log_posterior(read, self.calibration)
        split = None if self.calibration is None else partial(self.calibration.contrast, learned, read, titles)
        return Evidence.of(learned.model, read, log_posterior, titles, label, against, split)

    def shares(self, posterior: Array, weight: Array | None = None) -> Shares:
        """Estimate class shares of rows from their p(y | x), (rows, classes), as `predict_proba` gives them."""
        if self.learned.prior.ignored:
            raise NoDistributionError(f"{self.estimator} has no p(y), and so nothing to adapt to other class shares")
        mixed = 0.0 if self.calibration is None else self.calibration.mixed
        return Shares.of(posterior, self.learned.model.log_prior, mixed, weight)

    def suspects(
        self, rows: Any, labels: Values, weight: Any = None, rate: float | None = None, learned: bool = True
    ) -> Suspects:
        """Return rows, which were read, whose label is probably wrong; with `learned`, each is left out."""
        known = self.learned
        read, codes = known.family.read(rows), known.codes_of(labels)
        if learned:
            try:
                log_posterior = known.leave_one_out(read, labels, weight, self.calibration)
            except NotPartError as error:
                advice = "Rows that were not learned are checked with learned=False"
                raise NotPartError(f"{str(error).rstrip('.')}. {advice}") from error
        else:
            log_posterior = known.log_posterior(read, self.calibration)
        found = find_suspects(log_posterior, codes, known.labels, weight, rate, learned)
        if not len(found):
            return found
        some = read[found.rows]
        try:
            return found.explained(self.evidence_of(some, found.suggested, found.label))
        except NoLinearFormError:  # dependent columns, of which none says anything alone
            log_posterior = known.log_posterior(some, self.calibration)
            return found.explained(Evidence.whole(known.model, log_posterior, found.suggested, found.label))

    @property
    def described(self) -> Table:
        """What each column of a table is taken to be."""
        found = self.learned.model.distribution
        assert isinstance(found, ProductDistribution), "only tables have columns of several kinds"
        shown = describe(found, self.schema)
        if not isinstance(self.calibration, Structure):
            return shown
        rows = self.calibration.describe(self.learned)
        return replace(
            shown,
            rows=[*shown.rows, *(name for name, _ in rows)],
            values=np.array([*shown.values, *(cells for _, cells in rows)], dtype=object),
        )

    def answer(self, question: Question, batch: Any) -> dict[str, Values]:
        """Return the answers for a batch of rows, as columns by name.

        `predict` gives "prediction"; `predict_proba` a column "probability <label>" for every class besides, and
        `predict_log_proba` "log_probability <label>".
        """
        frame = as_frame(batch)
        if question == "predict":
            return {"prediction": self.predict(frame)}
        scores = self.predict_proba(frame) if question == "predict_proba" else self.predict_log_proba(frame)
        columns = {f"{TITLES[question]} {label}": scores[:, k] for k, label in enumerate(label_list(self.labels))}
        return {"prediction": self.labels[scores.argmax(axis=1)]} | columns

    def table_formula(self) -> Scoring:
        """Return the same as formulas over the columns of the table itself; an error names columns that are read."""
        if self.readings:
            what = "; ".join(f"{each.name!r} is {each.note}" for each in self.readings[:5])
            raise NoFormulaError(
                f"A database does not read strings and times as the model does: {what}. Convert these columns to "
                "numbers before fit"
            )
        return self.formula()

    def formula(self) -> Scoring:
        """Return what `predict_proba` computes, as formulas over the columns; an error names columns without one."""
        learned, calibration = self.learned, self.calibration
        if isinstance(calibration, Structure):
            found = Scoring.plain(learned.labels, learned.model.log_prior, calibration.terms(learned))
            return replace(found, mixed=calibration.mixed, for_gaps=calibration.terms_for_gaps(learned))
        found = learned.model.formula(self.columns)
        if self.calibration is None:
            return found
        return replace(found, slope=self.calibration.slope, bias=self.calibration.bias, mixed=self.calibration.mixed)


@storable
@dataclass(frozen=True)
class Saved:
    """A fitted estimator as files hold it: its class by name, its parameters, and what fitting set."""

    estimator: str
    parameters: dict[str, Annotated[Any, CheckedIn("check_agreement")]]
    attributes: dict[str, Annotated[Any, CheckedIn("check_agreement")]]

    def check_agreement(self) -> None:
        """Raise an error if the attributes are not those of a fitted estimator, or do not fit each other.

        The estimator checks its parameters itself, when it is made.
        """
        try:
            check_stored(_Attributes, self.attributes, lambda _: None)
        except MismatchError as error:
            raise MismatchError(f"attributes.{error}") from None
        if not {"_learned", "n_features_in_"} <= set(self.attributes):
            raise MismatchError("attributes must be those of a fitted estimator")
        calibrate, structure = self.parameters.get("calibrate", False), self.parameters.get("structure", "naive")
        named = isinstance(calibrate, str) and calibrate in ("classes", "columns")
        if not (isinstance(calibrate, (bool, np.bool_)) or named):
            raise MismatchError(
                f"parameters.calibrate must be a boolean, 'classes' or 'columns', found {shown(calibrate)}"
            )
        if not (isinstance(structure, str) and structure in ("auto", "naive", "columns", "pairs", "pool")):
            raise MismatchError(f"parameters.structure must be the name of a structure, found {shown(structure)}")
        self._predictor(None).check_agreement()

    def _predictor(self, calibration: Calibration | None) -> Predictor:
        names = self.attributes.get("feature_names_in_")
        return Predictor(
            self.estimator,
            self.attributes["_learned"],
            calibration,
            self.attributes["n_features_in_"],
            None if names is None else tuple(map(str, names)),
            self.attributes.get("_schema"),
        )

    @cached_property
    def predictor(self) -> Predictor:
        """The predictor that the estimator would make."""
        calibrate = combined(self.parameters.get("calibrate", False), self.parameters.get("structure", "naive"))
        return self._predictor(self.attributes["_learned"].calibration(calibrate))


@dataclass(frozen=True)
class _Attributes:
    """What the attributes of a fitted estimator may be."""

    _learned: Learned
    n_features_in_: Annotated[int, Held(least=1)]
    feature_names_in_: Annotated[Values, Held("columns")]
    _schema: Schema
