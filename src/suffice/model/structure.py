"""Exponents for columns, evidence of pairs of columns, and a pool of experts: how evidence is combined.

The score of class k is a log-linear combination of everything that speaks for it,

    s_k(x) = log π_k + Σ_j a_j L_jk(x) + Σ_q u_q R_qk(x) + Σ_e v_e E_ek(x)

with the log-density L of each column, what each pair of columns says beyond the two, R, and the evidence E of experts
that were fitted on the kept rows. The posterior is  p(y | x) = (1 − ε) softmax(s) + ε π.  Exponents are fitted on exact
leave-one-out evidence of the kept rows: the convex log-loss, with a pull towards one common exponent. The pool of naive
Bayes, pairs and experts has weights ≥ 0, fitted on scores whose exponents were fitted without the row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions, refuse_infinite
from suffice.core.errors import MismatchError, RefusedValueError, naming_columns
from suffice.core.frames import Frame
from suffice.core.frozen_options import same_options
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch, Blocks, ByClass, Pairs
from suffice.core.validation import Held
from suffice.families import Decisions, Distribution, KeptRows
from suffice.families.choose import Automatic, ChosenDistribution
from suffice.families.covariance import one_blas_thread
from suffice.families.found_columns import FoundColumn, find_columns
from suffice.families.logarithms import log_ratio
from suffice.families.pair_plan import PairPlan, plan_pairs
from suffice.families.product import Block, Product, ProductDistribution
from suffice.formulas import Term
from suffice.model.calibration import Calibration, bounded, mixture
from suffice.model.cosine_expert import CosineExpert
from suffice.model.experts import Expert, fit_experts
from suffice.model.exponents import LogLinear
from suffice.model.pair_evidence import PairEvidence
from suffice.model.quadratic_expert import QuadraticExpert
from suffice.model.storage import storable
from suffice.model.structure_formulas import structure_terms

if TYPE_CHECKING:
    from suffice.model.learned import Learned

StructureName = Literal["columns", "pairs", "pool"]

PULL = 30.0  # strength, in rows, of the pull of exponents towards the common one
FEWEST_ROWS = 50  # fewer rows cannot tell exponents apart
ROWS_FOR_A_PAIR = 30  # kept rows for each pair, so that each pair has an exponent of its own
MOST_WORK = 1e9  # rows × exponents², and × classes of more than two: a second of Newton's method
MOST_COLUMNS = 300  # that have an exponent each
ENOUGH_ROWS = 5000  # that exponents are fitted on, if there are so many
EXPERT_ROWS = 10_000  # that experts are fitted on where not all rows are kept
LEAST = np.log(1e-12)  # lower bound of a log-prior
WORTH = 2.0  # standard errors of the log-loss that cosines must gain
SHOWN = 5  # pairs that are listed
NEGLIGIBLE = 0.02  # a member of the pool with less weight is left out


@storable
@dataclass(frozen=True, repr=False)
class Structure(Calibration):
    """The exponents of all evidence, which are not negative. Slope and bias of the calibration are 1 and 0."""

    name: StructureName
    columns: Annotated[Array, Held("blocks", least=0)]  # a, of blocks, then of found columns
    pairs: Annotated[Array, Held("pairs", least=0)]  # u
    experts: tuple[Expert, ...]
    weights: Annotated[Array, Held("experts", least=0)]  # v
    found: tuple[Block, ...]  # found columns
    plan: PairPlan | None  # of pairs of columns
    decisions: tuple[Decisions | None, ...]  # about found columns

    def __repr__(self) -> str:
        said = f"{np.count_nonzero(self.columns)} columns, {np.count_nonzero(self.pairs)} pairs"
        experts = "".join(f", {each.title}" for each in self.experts)
        return f"Structure({self.name}: {said}{experts}; mixed={self.mixed:.3g})"

    def check_agreement(self) -> None:
        """Raise an error if there is not a weight for each expert."""
        if len(self.weights) != len(self.experts):
            raise MismatchError(f"weights must be of {len(self.experts)} experts, found {len(self.weights)}")
        pairs = 0 if self.plan is None else self.plan.pairs.shape[1]
        if len(self.pairs) != pairs:
            raise MismatchError(f"pairs must be exponents of {pairs} pairs, found {len(self.pairs)}")
        if len(self.decisions) != len(self.found) or any(block.found is None for block in self.found):
            raise MismatchError("found must be found columns, with what was decided about each")

    def check_model(self, family: Product, seen: ByClass[Any]) -> None:
        """Raise an error if the exponents are not those of these blocks and classes."""
        blocks, classes = (*family.blocks, *self.found), len(seen.labels)
        if family.plan is None and (self.found or self.plan is not None) and all_rows(family, seen) is None:
            raise MismatchError("There must be a plan of pairs where not all rows are kept")
        if len(self.columns) != len(blocks):
            raise MismatchError(f"columns must be exponents of {len(blocks)} columns, found {len(self.columns)}")
        if family.plan is not None and not (same_options(family.plan, self.plan) and family.found == self.found):
            raise MismatchError("The structure must be of the plan that pairs were counted by")
        known = set(family.names)
        if any(name not in known for block in self.found for name in block.names):
            raise MismatchError("Found columns must be made of columns of the table")
        for column in () if self.plan is None else self.plan.columns:
            reads = blocks[column.block].family.reads if column.block < len(blocks) else None
            if reads != ("numbers" if column.keys is None else "categories"):
                raise MismatchError("The plan of pairs must be of columns of the table")
        for expert in self.experts:
            expert.features.check_blocks(family.blocks)
            if len(expert.mean if isinstance(expert, QuadraticExpert) else expert.coef) != classes:
                raise MismatchError(f"experts must be of {classes} classes")

    # ---- answering

    def evidence(self, learned: Learned, rows: Any) -> Array:
        """Compute the scores of rows, less the log-prior, (rows, classes)."""
        parts = Parts(learned, self)
        x = parts.family.read_plan(parts.family.read(rows))
        out = parts.columns(x)
        parts.add_pairs(x, out)
        for expert, weight in zip(self.experts, self.weights.tolist(), strict=True):
            out += weight * expert.evidence(x)
        return out

    def left_out(self, learned: Learned, rows: Any, labels: Any, weight: Any) -> tuple[Array, Array]:
        """Compute the same of learned rows, each left out, and their log-priors, (rows, classes) each."""
        parts = Parts(learned, self)
        x = parts.family.read_plan(parts.family.read(rows))
        codes, unit, log_prior = parts.learned.left_out_prior(x.n, labels, weight)
        each = parts.columns_left_out(x, codes, unit)
        out = sum(
            (a * np.maximum(part, -1e300) for a, part in zip(self.columns, each, strict=True) if a),
            start=np.zeros(log_prior.shape),
        )
        if self.pairs.any():
            columns = np.ascontiguousarray(x.parts[-1].T)
            for u, part in zip(self.pairs, parts.pair_evidence.left_out(columns, codes, unit), strict=True):
                out += u * part
        for expert, v in zip(self.experts, self.weights.tolist(), strict=True):
            out += v * parts.expert_left_out(expert, x, codes, unit)
        return out, log_prior

    def contrast(
        self, learned: Learned, rows: Any, titles: list[str], first: Positions, second: Positions
    ) -> tuple[list[str], Array]:
        """Return the names of all parts of the evidence, and what each adds to the log-odds of two classes.

        Parts are columns, found columns and pairs; experts are divided among them. What they do not tell by column or
        pair is no part.
        """
        parts = Parts(learned, self)
        family = parts.family
        x = family.read_plan(family.read(rows))
        titles = [block.title for block in (*family.blocks, *family.found)]
        place = {title: i for i, title in enumerate(titles)}
        at = np.arange(x.n)
        values = [
            a * log_ratio(part[at, first], part[at, second]) if a else np.zeros(x.n)
            for a, part in zip(self.columns, parts.each_column(x), strict=True)
        ]
        by_pair: dict[tuple[str, str], Array] = {}
        if self.pairs.any():
            columns, plan = np.ascontiguousarray(x.parts[-1].T), family.plan
            assert plan is not None, "there are exponents of its pairs"
            names = [titles[column.block] for column in plan.columns]
            for (i, j), u, part in zip(plan.pairs.T, self.pairs, parts.pair_evidence.each(columns), strict=True):
                if u:
                    by_pair[names[i], names[j]] = u * (part[at, first] - part[at, second])
        for expert, v in zip(self.experts, self.weights.tolist(), strict=True):
            for own, part in zip(expert.parts, expert.contrast(x, first, second).T, strict=True):
                if len(own) == 1 and own[0] in place:
                    values[place[own[0]]] = values[place[own[0]]] + v * part
                elif len(own) == 2:
                    key = own if own in by_pair or own[::-1] not in by_pair else own[::-1]
                    by_pair[key] = by_pair.get(key, 0.0) + v * part
        titles += [f"{a} × {b}" for a, b in by_pair]
        return titles, np.stack([*values, *by_pair.values()], axis=1)

    def terms(self, learned: Learned, texts: bool = True, quadratic: bool = True) -> list[Term]:
        """Return the scores, less the log-prior, as formulas over columns.

        Without `texts` or `quadratic` columns of texts or the quadratic expert are left out, which a page reads in a form
        of its own.
        """
        parts = Parts(learned, self)
        out = {term.title: term for term in structure_terms(parts, self, texts)}
        for expert, v in zip(self.experts, self.weights.tolist(), strict=True):
            if isinstance(expert, QuadraticExpert) and not quadratic:
                continue
            for term in expert.formula():
                scaled = v * term.formula
                known = out.get(term.title)
                formula = scaled if known is None else known.formula + scaled
                out[term.title] = Term(term.title, term.columns, formula)
        return list(out.values())

    def describe(self, learned: Learned) -> list[tuple[str, list[str]]]:
        """Return rows of a table for people: found columns, the pairs that say most, and experts with their weights."""
        parts = Parts(learned, self)
        family, own = parts.family, len(parts.family.blocks)
        out: list[tuple[str, list[str]]] = []
        for block, fitted, a in zip(family.found, parts.distributions, self.columns[own:], strict=True):
            chosen = fitted.choice.name if isinstance(fitted, ChosenDistribution) else type(fitted).__name__
            bits = (
                max(fitted.score - fitted.chance, 0.0) / np.log(2) if isinstance(fitted, ChosenDistribution) else np.nan
            )
            note = f"found: it tells more than {block.names[0]} or {block.names[1]}"
            out.append((block.title, [chosen, "yes" if fitted.votes and a else "no", f"{bits:.4f}", note]))
        if self.pairs.any():
            assert family.plan is not None, "there are exponents of its pairs"
            evidence = parts.pair_evidence
            titles = [block.title for block in (*family.blocks, *family.found)]
            names = [titles[column.block] for column in family.plan.columns]
            tables = evidence.pairs.tables(evidence.ratios * evidence.shares)
            said = [abs(u) * float(np.abs(t).sum()) for u, t in zip(self.pairs, tables, strict=True)]
            for q in np.argsort(-np.array(said), kind="stable")[:SHOWN]:
                i, j = family.plan.pairs[:, q]
                note = f"exponent {self.pairs[q]:.2f}; one of {int(np.count_nonzero(self.pairs))} pairs"
                out.append((f"{names[i]} × {names[j]}", ["pair", "yes", "", note]))
        for expert, v in zip(self.experts, self.weights.tolist(), strict=True):
            out.append((f"({expert.title})", ["expert", "yes", "", f"exponent {v:.2f}"]))
        return out


def _finite(log_prior: Array) -> Array:
    return np.maximum(log_prior, LEAST)


class Parts:
    """The parts of the evidence of what was learned, under a plan."""

    def __init__(self, learned: Learned, structure: Structure | None = None):
        self.learned = planned(learned, structure)
        assert isinstance(self.learned.family, Product), "tables have a structure"
        self.family: Product = self.learned.family
        self.statistic: Blocks = self.learned.statistics.statistic
        self.structure = structure

    def _kept(self, name: str, make: Any) -> Any:
        """Keep what is computed once beside what was learned."""
        known = self.learned.__dict__.setdefault("_parts", {})
        key = (name, id(self.structure) if name == "scores" else 0)
        if key not in known:
            known[key] = make()
        return known[key]

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distributions of found columns."""
        return self._kept("found", self._estimate_found)

    def _estimate_found(self) -> tuple[Distribution, ...]:
        own, found = len(self.family.blocks), self.family.found
        decided = (None,) * len(found) if self.structure is None else self.structure.decisions
        each = zip(found, self.statistic.parts[own + 1 :], decided, strict=False)
        return tuple(in_threads(lambda one: one[0].family.estimate_decided(*one[1:]), each, 1 << 20))

    @property
    def pair_evidence(self) -> PairEvidence:
        """The log-ratios of pairs."""
        pairs = self.statistic.parts[-1]
        assert isinstance(pairs, Pairs), "there is a plan"
        return self._kept("pairs", lambda: PairEvidence(pairs))

    def each_column(self, x: Batch) -> list[Array]:
        """Return the log-densities of each block and found column, (rows, classes)."""
        own = len(self.family.blocks)
        out = list(self.naive().each(x))
        for fitted, part in zip(self.distributions, x.parts[own + 1 :], strict=False):
            out.append(fitted.relative_log_density(fitted.read(part)))
        return out

    def naive(self) -> ProductDistribution:
        """The distribution of the blocks."""
        found = self.learned.model.distribution
        assert isinstance(found, ProductDistribution), "tables have blocks"
        return found

    def columns(self, x: Batch) -> Array:
        """Return the sum of log-densities of blocks and found columns with their exponents, (rows, classes)."""
        assert self.structure is not None, "exponents are known"
        exponents, own = self.structure.columns, len(self.family.blocks)
        naive = self.naive()
        fitted = [*zip(self.family.blocks, naive.parts, x.parts, exponents, strict=False)]
        fitted += zip(self.family.found, self.distributions, x.parts[own + 1 :], exponents[own:], strict=False)

        def some(lo: int) -> Array:
            out = np.zeros((min(lo + AT_ONCE, x.n) - lo, len(self.learned.labels)))
            try:
                for block, each, part, a in fitted:
                    with naming_columns(block.names):
                        rows = each.read(part[lo : lo + AT_ONCE])
                        if a and each.votes:
                            out += a * each.relative_log_density(rows)
                        elif isinstance(rows, np.ndarray):
                            refuse_infinite(rows)
            except RefusedValueError as error:
                raise error.shifted(lo) from None
            return out

        parts = in_threads(some, range(0, x.n, AT_ONCE), x.n * len(fitted))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.learned.labels)))

    def add_pairs(self, x: Batch, out: Array) -> None:
        """Add the scores of pairs to `out`."""
        assert self.structure is not None, "exponents are known"
        exponents = self.structure.pairs
        if exponents.any():
            evidence = self.pair_evidence
            scores = self._kept("scores", lambda: evidence.scores(exponents))
            evidence.score(np.ascontiguousarray(x.parts[-1].T), scores, out)

    def columns_left_out(self, x: Batch, codes: Codes, unit: Array) -> list[Array]:
        """Return the log-densities of each block and found column without the row, (rows, classes)."""
        out = self.family.block_leave_one_out(self.statistic, self.naive(), x, codes, unit)
        own = len(self.family.blocks)
        each = [
            *zip(
                self.family.found, self.statistic.parts[own + 1 :], self.distributions, x.parts[own + 1 :], strict=False
            )
        ]
        out += in_threads(lambda one: one[0].family.leave_one_out(*one[1:], codes, unit), each, len(codes) * len(each))
        return out

    def expert_left_out(self, expert: Expert, x: Batch, codes: Codes, unit: Array) -> Array:
        """Return the evidence of an expert for rows; those that it was fitted on are left out."""
        from suffice.core.frames.row_hashes import row_hashes

        own = len(self.family.blocks)
        sample = self.family.sample_of(self.statistic)
        out = expert.evidence(x)
        known = {key: i for i, key in enumerate(zip(sample.hashes.tolist(), sample.codes.tolist(), strict=True))}
        hashes = row_hashes(x.parts[own])
        at = np.array([known.get(key, -1) for key in zip(hashes.tolist(), codes.tolist(), strict=True)], dtype=np.int64)
        some = np.flatnonzero(at >= 0)
        if len(some):
            rows = self.family.read(sample.rows)
            fitted = rows, sample.codes, sample.weight
            out[some] = expert.left_out(
                rows[at[some]], sample.codes[at[some]], np.minimum(sample.weight[at[some]], unit[some]), fitted
            )
        return out


AT_ONCE = 1 << 15  # rows that are scored at a time


# ------------------------------------------------------------------------------------------------ the plan


def settle(family: Product, kept: KeptRows, total: float, classes: int) -> Product:
    """Return the family with a plan that the kept rows settle: found columns, and the codes of pairs."""
    rows = family.read(kept.rows)
    own = len(family.blocks)
    numbers = [
        (block.names[0], np.asarray(part, np.float64)[:, 0])
        for block, part in zip(family.blocks, rows.parts, strict=False)
        if block.family.reads == "numbers" and len(block.names) == 1 and not block.missing
    ]
    found = find_columns(numbers, kept.codes, kept.weight, classes, family.find) if family.find else []
    blocks = tuple(Block(each.names, _found_family(family, each), found=each) for each in found)
    parts = (*rows.parts[:own], *(block.read(kept.rows) for block in blocks))
    families = tuple(None if block.missing else block.family for block in (*family.blocks, *blocks))
    plan = plan_pairs(families, Batch(parts, rows.n), kept.codes, kept.weight, classes, total)
    return replace(family, found=blocks, plan=plan)


def _found_family(family: Product, found: FoundColumn) -> Automatic:
    """Return the family of a found column: that of its first column, if it chooses itself."""
    for block in family.blocks:
        if block.names == (found.first,) and isinstance(block.family, Automatic):
            return block.family
    return Automatic()


def planned(learned: Learned, structure: Structure | None = None) -> Learned:
    """Return what was learned with a plan, and with the statistics that the plan needs.

    As long as the kept rows are all rows, nothing but those rows is needed for it: the plan is settled, and its
    statistics are counted, when a structure is fitted. Where rows were left out, pairs were counted by a plan that was
    settled before, or there are none.
    """
    known = learned.__dict__.get("_planned")
    if known is not None:
        return known
    out = _with_plan(learned, structure)
    if out is not learned:
        out.__dict__["model"] = learned.model  # p(x | y) is the same
    learned.__dict__["_planned"] = out
    return out


def _with_plan(learned: Learned, structure: Structure | None) -> Learned:
    family, seen = learned.family, learned.statistics
    assert isinstance(family, Product), "tables have plans"
    if family.plan is not None:
        return learned
    kept = all_rows(family, seen)
    if kept is None:
        return learned
    if structure is not None:
        family = replace(family, found=structure.found, plan=structure.plan)
    else:
        family = settle(family, kept, float(seen.weight.sum()), len(seen.labels))
    return replace(learned, family=family, seen=counted_with(family, seen, kept), declared=None)


def all_rows(family: Product, seen: ByClass[Any]) -> KeptRows | None:
    """Return the kept rows if they are all rows that were learned."""
    sample = family.sample_of(seen.statistic)
    held = np.bincount(sample.codes, sample.weight, minlength=len(seen.labels))
    if not len(sample) or not np.allclose(held, seen.weight, rtol=1e-9, atol=0.0):
        return None
    return KeptRows(sample.rows, sample.codes, sample.weight)


def counted_with(family: Product, seen: ByClass[Any], kept: KeptRows) -> ByClass[Any]:
    """Add the statistics that the plan of a family needs to those of the same rows without a plan."""
    statistic = seen.statistic
    rows, options = _planned_rows(family, kept.rows)
    extra = Blocks.of(rows, kept.codes, len(seen.labels), kept.weight, **options)
    return replace(seen, statistic=Blocks((*statistic.parts, *extra.parts), statistic.classes))


def planned_statistics(family: Product, frame: Frame, labels: Any, weight: Any) -> ByClass[Any]:
    """Summarize what the plan of a family needs, and nothing else."""
    rows, options = _planned_rows(family, frame)
    return ByClass.of(Blocks, rows, labels, weight, **options)


def _planned_rows(family: Product, frame: Frame) -> tuple[Batch, dict[str, Any]]:
    """Read what the plan of a family counts, and the options to count it with."""
    own, options = len(family.blocks), family.summary.statistic_options
    entries = family.summary.entries(family.read(frame))
    return Batch(entries.parts[own + 1 :], entries.n), {name: each[own + 1 :] for name, each in options.items()}


def without_plan(family: Product, seen: ByClass[Any]) -> tuple[ByClass[Any], Product]:
    """Drop the plan, and what it counted, where the kept rows are all rows: these settle a better one."""
    if family.plan is None or all_rows(family, seen) is None:
        return seen, family
    statistic = seen.statistic
    parts = statistic.parts[: len(family.blocks) + 1]
    return replace(seen, statistic=Blocks(parts, statistic.classes)), replace(family, found=(), plan=None)


def with_one_plan(a: Learned, b: Learned) -> tuple[Learned, Learned]:
    """Return what was learned twice under one plan, so that it can be added."""
    first, second = a.family, b.family
    assert isinstance(first, Product), "tables have plans"
    assert isinstance(second, Product), "tables have plans"
    if first.plan is not None and second.plan is not None:
        if same_options(first.plan, second.plan) and first.found == second.found:
            return a, b
        raise MismatchError(
            "Cannot merge: the pairs of columns were counted by different plans, and more rows were learned than are "
            "kept. Train one of them with `like()` of the other, or both with a larger `keep`"
        )
    if first.plan is not None or second.plan is not None:
        settled = first if first.plan is not None else second
        return _under(settled, a), _under(settled, b)
    kept = [all_rows(first, a.seen), all_rows(second, b.seen)]
    if first.find == second.find == 0 or kept[0] is None or kept[1] is None:
        return a, b
    both = a.seen + b.seen
    if all_rows(first, both) is not None:
        return a, b
    large = max(first.most_kept, second.most_kept) + len(kept[0].codes) + len(kept[1].codes)
    samples = [_roomy(each, large) for each in (a, b)]
    rows = first.kept_rows((samples[0] + samples[1]).statistic)
    settled = settle(first, rows, float(both.weight.sum()), len(both.labels))
    return _under(settled, a), _under(settled, b)


def _roomy(learned: Learned, size: int) -> ByClass[Any]:
    """Return the statistics with room for more kept rows."""
    family, statistic = learned.family, learned.seen.statistic
    assert isinstance(family, Product), "tables have plans"
    at = len(family.blocks)
    parts = (*statistic.parts[:at], replace(family.sample_of(statistic), size=size), *statistic.parts[at + 1 :])
    return replace(learned.seen, statistic=Blocks(parts, statistic.classes))


def _under(settled: Product, learned: Learned) -> Learned:
    """Return what was learned under the plan of a family."""
    family = learned.family
    assert isinstance(family, Product), "tables have plans"
    if family.plan is not None:
        return learned
    kept = all_rows(family, learned.seen)
    if kept is None:
        raise MismatchError("Cannot merge: one of the two has counted pairs of columns, and the other has not")
    family = replace(family, found=settled.found, plan=settled.plan)
    return replace(learned, family=family, seen=counted_with(family, learned.seen, kept))


# ------------------------------------------------------------------------------------------------ fitting


def fit_structure(learned: Learned, name: StructureName) -> Structure | None:
    """Fit exponents on the kept rows; None if there are too few of them, or a single class."""
    with one_blas_thread(0):  # its threads would spin while ours work, and change the last digits
        return _fit_structure(learned, name)


def _fit_structure(learned: Learned, name: StructureName) -> Structure | None:
    parts = Parts(learned)
    learned, family = parts.learned, parts.family
    kept = family.kept_rows(parts.statistic)
    if len(kept.codes) < FEWEST_ROWS or len(learned.labels) < 2:
        return None
    x = family.read(kept.rows)
    codes, unit, log_prior = learned.left_out_prior(x.n, learned.labels[kept.codes], np.minimum(kept.weight, 1.0))
    # The only row of a class does not show how well the class is known.
    others = learned.statistics.weight[codes] > unit * (1 + 1e-9)
    some = np.flatnonzero(others & np.isfinite(log_prior[np.arange(len(codes)), codes]))
    if len(some) < FEWEST_ROWS:
        return None
    plan = family.plan if name != "columns" else None
    pairs = 0 if plan is None else plan.pairs.shape[1]
    columns = len(family.blocks) + len(family.found)
    own = len(some) >= ROWS_FOR_A_PAIR * pairs and _affordable(columns + pairs, len(learned.labels)) >= ENOUGH_ROWS
    exponents = columns + (pairs if own else 0 if plan is None else len(plan.columns))
    exponents = exponents if columns <= MOST_COLUMNS else 1
    some = some[: max(_affordable(exponents, len(learned.labels)), ENOUGH_ROWS)]
    rows = x[some]
    members = Members(codes[some], kept.weight[some], _finite(log_prior[some]))
    each = [bounded(part) for part in parts.columns_left_out(rows, codes[some], unit[some])]
    evidence = np.stack(each, axis=2)
    members.naive(evidence, len(family.blocks))
    if columns > MOST_COLUMNS:  # too many for an exponent each
        plan, pairs = None, 0
    if columns <= MOST_COLUMNS:
        found = PairParts.of(parts, rows, codes[some], unit[some], own) if pairs else None
        members.pairs(evidence, found)
    if name == "pool":
        members.experts(family, x, kept, log_prior, some)
    return members.pooled(name, parts)


def _affordable(exponents: int, classes: int) -> int:
    """Return how many rows so many exponents can be fitted on in the time that there is."""
    return int(MOST_WORK / (max(exponents, 1) ** 2 * (1 if classes == 2 else classes)))


@dataclass
class PairParts:
    """Evidence of pairs as columns of a design: of each pair, or of all pairs of a column."""

    evidence: Array  # (rows, classes, exponents)
    spread: Array  # (pairs, exponents): the exponent of a pair is a sum of these

    @classmethod
    def of(cls, parts: Parts, x: Batch, codes: Codes, unit: Array, own: bool) -> PairParts:
        """Compute the evidence of rows that are left out; with `own` each pair has an exponent of its own."""
        evidence, plan = parts.pair_evidence, parts.family.plan
        assert plan is not None, "there are pairs"
        q, (n, classes) = plan.pairs.shape[1], (len(codes), len(parts.learned.labels))
        columns = len(plan.columns)
        each = evidence.left_out(np.ascontiguousarray(x.parts[-1].T), codes, unit)
        if own:
            return cls(np.stack(list(each), axis=2), np.eye(q))
        spread = np.zeros((q, columns))
        total = np.zeros((columns, n, classes))
        for k, ((i, j), part) in enumerate(zip(plan.pairs.T, each, strict=True)):
            spread[k, i] = spread[k, j] = 1.0
            total[i] += part
            total[j] += part
        return cls(np.ascontiguousarray(total.transpose(1, 2, 0)), spread)


class Members:
    """The members of a pool: scores of kept rows, and how they are made of exponents."""

    def __init__(self, codes: Codes, weight: Array, log_prior: Array):
        self.codes, self.weight, self.log_prior = codes, weight, log_prior
        self.names: list[str] = []
        self.scores: list[Array] = []
        self.of_columns: list[Array] = []
        self.of_pairs: list[Array] = []
        self.of_experts: list[tuple[Expert, float] | None] = []

    def _problem(self, parts: Array, start: Array, penalty: float) -> LogLinear:
        """State a fit of exponents."""
        return LogLinear(parts, self.log_prior, self.codes, self.weight, start, np.full(parts.shape[2], penalty))

    def naive(self, columns: Array, blocks: int) -> None:
        """One exponent for all columns."""
        whole = columns[:, :, :blocks].sum(axis=2, keepdims=True)
        problem = self._problem(whole, np.full(1, 0.5), 1.0)
        w = problem.fit()
        exponents = np.zeros(columns.shape[2])
        exponents[:blocks] = w
        self._add("naive", problem.cross_fitted(w), exponents)

    def pairs(self, columns: Array, pairs: PairParts | None) -> None:
        """An exponent for every column and for pairs, drawn towards the common ones."""
        p = columns.shape[2]
        sums = [columns.sum(axis=2)] if pairs is None else [columns.sum(axis=2), pairs.evidence.sum(axis=2)]
        common = self._problem(np.stack(sums, axis=2), np.array([0.5, 0.1])[: len(sums)], 1.0).fit()
        start, design = np.full(p, common[0]), columns
        if pairs is not None:
            start = np.concatenate([start, np.full(pairs.evidence.shape[2], common[1])])
            design = np.concatenate([columns, pairs.evidence], axis=2)
        problem = self._problem(design, start, PULL)
        w = problem.fit()
        of_pairs = None if pairs is None else pairs.spread @ w[p:]
        self._add("columns" if pairs is None else "pairs", problem.cross_fitted(w), w[:p], of_pairs)

    def experts(self, family: Product, x: Batch, kept: KeptRows, log_prior: Array, some: NDArray[np.int64]) -> None:
        """Linear and quadratic discriminants and cosines, fitted on kept rows; `some` of them are those of the pool."""
        rows = slice(0, x.n if x.n < family.most_kept else max(EXPERT_ROWS, int(some[-1]) + 1))
        x, weight = x[rows], kept.weight[rows]
        classes = log_prior.shape[1]
        fitted = fit_experts(family.blocks, x, kept.codes[rows], weight, classes, _finite(log_prior[rows]))
        for expert, left_out in fitted:
            own = left_out[some]
            w = self._problem(own[:, :, None], np.ones(1), 1.0).fit()
            self._add(type(expert).__name__, self.log_prior + w[0] * own, expert=(expert, float(w[0])))

    def _add(
        self, name: str, scores: Array, columns: Array | None = None, pairs: Array | None = None, expert: Any = None
    ) -> None:
        self.names.append(name)
        self.scores.append(scores)
        self.of_columns.append(np.zeros(0) if columns is None else columns)
        self.of_pairs.append(np.zeros(0) if pairs is None else pairs)
        self.of_experts.append(expert)

    def _pool(self, chosen: list[int]) -> tuple[Array, Array]:
        """Fit the weights of some members, ≥ 0; return them, and the log-loss of each row."""
        m = len(chosen)
        parts = np.stack([self.scores[i] - self.log_prior for i in chosen], axis=2)
        problem = self._problem(parts, np.full(m, 1.0 / m), 1.0)
        w = problem.fit()
        scores = self.log_prior + parts @ w
        top = scores.max(axis=1, keepdims=True)
        losses = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - scores[np.arange(len(self.codes)), self.codes]
        return w, losses

    def _chosen(self) -> tuple[list[int], Array]:
        """Choose the members that have weight. Cosines, which no column tells of, must gain two standard errors."""
        chosen = list(range(len(self.names)))
        w, losses = self._pool(chosen)
        cosines = [i for i in chosen if self.names[i] == CosineExpert.__name__]
        if cosines:
            without = [i for i in chosen if i not in cosines]
            simpler, others = self._pool(without)
            gain = others - losses
            mean = float(np.average(gain, weights=self.weight))
            error = np.sqrt(np.average((gain - mean) ** 2, weights=self.weight) / self.weight.sum())
            if mean <= WORTH * error:
                chosen, w = without, simpler
        while (w < NEGLIGIBLE).any() and len(chosen) > 1:
            del chosen[int(np.argmin(w))]
            w, _ = self._pool(chosen)
        return chosen, w

    def pooled(self, name: StructureName, parts: Parts) -> Structure:
        """Combine the members."""
        chosen, w = self._chosen()
        family = parts.family
        columns = np.zeros(len(family.blocks) + len(family.found))
        pairs = np.zeros(0 if family.plan is None else family.plan.pairs.shape[1])
        experts, weights = [], []
        for i, share in zip(chosen, w, strict=True):
            columns[: len(self.of_columns[i])] += share * self.of_columns[i]
            pairs[: len(self.of_pairs[i])] += share * self.of_pairs[i]
            expert = self.of_experts[i]
            if expert is not None:
                experts.append(expert[0])
                weights.append(share * expert[1])
        each = [share * (self.scores[i] - self.log_prior) for i, share in zip(chosen, w, strict=True)]
        scores = self.log_prior + np.sum(each, axis=0)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mixed = mixture(p, np.exp(self.log_prior), self.codes, self.weight)
        classes = self.log_prior.shape[1]
        return Structure(
            np.ones(classes),
            np.zeros(classes),
            mixed,
            name,
            columns,
            pairs,
            tuple(experts),
            np.array(weights),
            family.found,
            family.plan,
            tuple(each.decisions for each in parts.distributions),
        )
