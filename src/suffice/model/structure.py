"""Exponents for columns, evidence of pairs of columns, and a pool of experts: how evidence is combined.

The score of class k is a log-linear combination of everything that speaks for it,

    s_k(x) = log π_k + Σ_j a_j L_jk(x) + Σ_q u_q R_qk(x) + Σ_e v_e E_ek(x)

with the log-density L of each column, what each pair of columns says beyond the two, R, and the evidence E of experts
that were fitted on the kept rows. The posterior is  p(y | x) = (1 − ε) softmax(s) + ε π.  Exponents are fitted on exact
leave-one-out evidence of the kept rows: the convex log-loss, with a pull towards one common exponent. The pool of naive
Bayes, pairs and experts has weights ≥ 0, fitted on scores whose exponents were fitted without the row.

Columns and pairs leave a missing value out exactly. Experts take the mean in its place, which misleads them where few
of the rows that they were fitted on have such a gap. So rows with one are scored without experts, by the exponents of
the pool of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.core.arrays import Array, Codes, Positions, refuse_infinite
from suffice.core.errors import MismatchError, RefusedValueError, naming_columns
from suffice.core.frozen_options import same_options
from suffice.core.parallel import in_threads
from suffice.core.statistics import Batch, Blocks, ByClass, Pairs
from suffice.core.validation import Held
from suffice.families import Decisions, Distribution
from suffice.families.chosen import ChosenDistribution, SilentDistribution
from suffice.families.logarithms import log_ratio
from suffice.families.pair_plan import PairPlan
from suffice.families.product import Block, Product, ProductDistribution
from suffice.families.together import Together, each_left_out
from suffice.formulas import ForGaps, Term
from suffice.model.calibration import Calibration
from suffice.model.cosine_expert import CosineExpert
from suffice.model.experts import Expert
from suffice.model.features import ColumnFeatures, NumberFeatures
from suffice.model.pair_evidence import PairEvidence
from suffice.model.planning import all_rows, planned
from suffice.model.quadratic_expert import QuadraticExpert
from suffice.model.storage import storable
from suffice.model.structure_formulas import structure_terms

if TYPE_CHECKING:
    from suffice.model.learned import Learned

StructureName = Literal["columns", "pairs", "pool"]

SHOWN = 5  # pairs that are listed
AT_ONCE = 1 << 16  # rows that are scored at a time
EXPERT_ROWS = 10_000  # that experts are fitted on where not all rows are kept: further ones tell little, and cost much


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
    needed: tuple[str, ...] = ()  # columns in which experts know hardly any gap
    for_gaps: Structure | None = None  # how rows are scored in which one of these is missing

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
        if (self.for_gaps is None) != (not self.needed) or (self.for_gaps is not None and self.for_gaps.experts):
            raise MismatchError("for_gaps must be a structure without experts, for gaps in the columns of needed")
        if not set(self.needed) <= columns_with_gaps(self.experts).keys():
            raise MismatchError("needed must be columns of experts")

    def check_model(self, family: Product, seen: ByClass[Any]) -> None:
        """Raise an error if the exponents are not those of these blocks and classes."""
        blocks, classes = (*family.blocks, *self.found), len(seen.labels)
        if family.plan is None and (self.found or self.plan is not None) and all_rows(family, seen) is None:
            raise MismatchError("There must be a plan of pairs where not all rows are kept")
        if len(self.columns) != len(blocks):
            raise MismatchError(f"columns must be exponents of {len(blocks)} columns, found {len(self.columns)}")
        if family.plan is not None and not (same_options(family.plan, self.plan) and family.found == self.found):
            raise MismatchError("The structure must be of the plan that pairs were counted by")
        known = set(family.columns)
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
        if self.for_gaps is not None:
            self.for_gaps.check_model(family, seen)

    def has_gaps(self, x: Batch) -> NDArray[np.bool_]:
        """Return which rows lack a column in which experts know hardly any gap."""
        out, columns = np.zeros(x.n, dtype=bool), columns_with_gaps(self.experts)
        for name in self.needed:
            out |= columns[name].is_missing(x)
        return out

    def of_complete_rows(self) -> Structure:
        """Return the same, with experts for rows with gaps too: what a column says where no other one is missing."""
        return replace(self, needed=(), for_gaps=None)

    def without_cosines(self) -> tuple[Structure, list[tuple[float, CosineExpert]]]:
        """Return the same without experts of cosines, and these with their weights."""
        each = list(zip(self.weights.tolist(), self.experts, strict=True))
        left_out = [(v, expert) for v, expert in each if isinstance(expert, CosineExpert)]
        rest = [(v, expert) for v, expert in each if not isinstance(expert, CosineExpert)]
        experts, weights = tuple(expert for _, expert in rest), np.array([v for v, _ in rest])
        return replace(self, experts=experts, weights=weights), left_out

    # ---- answering

    def evidence(self, learned: Learned, rows: Any) -> Array:
        """Compute the scores of rows, less the log-prior, (rows, classes)."""
        family = Parts(learned, self).family
        out = np.empty((rows.n, len(learned.labels)))

        def score(lo: int) -> None:  # what is read is never there for all rows, and stays in the cache
            x = family.read_plan(family.read_blocks(rows[lo : lo + AT_ONCE]))

            def scores(structure: Structure, some: slice | Positions) -> Array:
                return structure._evidence(Parts(learned, structure), x[some])

            try:
                out[lo : lo + AT_ONCE] = self._by_gaps(x, scores)
            except RefusedValueError as error:
                raise error.shifted(lo) from None

        in_threads(score, range(0, rows.n, AT_ONCE), rows.n * len(self.columns))
        return out

    def _by_gaps(self, x: Batch, scores: Callable[[Structure, slice | Positions], Array]) -> Array:
        """Compute scores of some rows by this structure, and of those with gaps by the other."""
        gaps = self.has_gaps(x)
        if self.for_gaps is None or not gaps.any():
            return scores(self, slice(None))
        if gaps.all():
            return scores(self.for_gaps, slice(None))
        each = [(self, np.flatnonzero(~gaps)), (self.for_gaps, np.flatnonzero(gaps))]
        out: Array = np.empty((0, 0))
        for structure, rows in each:
            try:
                found = scores(structure, rows)
            except RefusedValueError as error:
                raise error.in_row(int(rows[error.row])) from None
            out = out if out.size else np.empty((x.n, found.shape[1]))
            out[rows] = found
        return out

    def _evidence(self, parts: Parts, x: Batch) -> Array:
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

        def left_out(structure: Structure, some: Any) -> Array:
            return structure._left_out(Parts(learned, structure), x[some], codes[some], unit[some])

        return self._by_gaps(x, left_out), log_prior

    def _left_out(self, parts: Parts, x: Batch, codes: Codes, unit: Array) -> Array:
        out = parts.sum_left_out(x, codes, unit, self.columns)
        if self.pairs.any():
            pairs, together = np.zeros((out.shape[1] - 1, x.n, 1)), np.zeros((2, len(self.pairs)), np.int32)
            parts.pair_evidence.left_out(coded_columns(x), codes, unit, self.pairs, together, pairs)
            out[:, 1:] += pairs[:, :, 0].T  # relative to the first class
        for expert, v in zip(self.experts, self.weights.tolist(), strict=True):
            out += v * parts.expert_left_out(expert, x, codes, unit)
        return out

    def contrast(
        self, learned: Learned, rows: Any, titles: list[str], first: Positions, second: Positions
    ) -> tuple[list[str], Array]:
        """Return the names of all parts of the evidence, and what each adds to the log-odds of two classes.

        Parts are columns, found columns and pairs; experts are divided among them. What they do not tell by column or
        pair is no part.
        """
        parts = Parts(learned, self)
        x = parts.family.read_plan(parts.family.read(rows))
        titles, out = self._contrast(parts, x, first, second)
        gaps = self.has_gaps(x)
        if self.for_gaps is None or not gaps.any():
            return titles, out
        own, values = self.for_gaps._contrast(Parts(learned, self.for_gaps), x[gaps], first[gaps], second[gaps])
        titles += [title for title in own if title not in titles]
        out = np.hstack([out, np.zeros((x.n, len(titles) - out.shape[1]))])
        out[gaps] = 0.0
        out[np.ix_(gaps, np.array([titles.index(title) for title in own]))] = values
        return titles, out

    def _contrast(self, parts: Parts, x: Batch, first: Positions, second: Positions) -> tuple[list[str], Array]:
        family = parts.family
        titles = [block.title for block in (*family.blocks, *family.found)]
        place = {title: i for i, title in enumerate(titles)}
        at = np.arange(x.n)
        values = [
            a * log_ratio(part[at, first], part[at, second]) if a else np.zeros(x.n)
            for a, part in zip(self.columns, parts.each_column(x), strict=True)
        ]
        by_pair: dict[tuple[str, str], Array] = {}
        if self.pairs.any():
            columns, plan = coded_columns(x), family.plan
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

        Without `texts` or `quadratic`, columns of texts or the quadratic expert are left out: a page has other forms of
        these.
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

    def terms_for_gaps(self, learned: Learned, texts: bool = True) -> ForGaps | None:
        """Return the same of rows with gaps; None if they are scored as all others."""
        if self.for_gaps is None:
            return None
        return ForGaps(self.needed, tuple(self.for_gaps.terms(learned, texts)))

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


class Parts:
    """The parts of the evidence of what was learned, under a plan."""

    def __init__(self, learned: Learned, structure: Structure | None = None):
        self.learned = planned(learned, structure)
        assert isinstance(self.learned.family, Product), "tables have a structure"
        self.family: Product = self.learned.family
        self.statistic: Blocks = self.learned.statistics.statistic
        self.structure = structure

    def kept(self, name: str, make: Any) -> Any:
        """Keep what is computed once beside what was learned."""
        known = self.learned.__dict__.setdefault("_parts", {})
        key = (name, id(self.structure) if name == "scores" else 0)
        if key not in known:
            known[key] = make()
        return known[key]

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distributions of found columns."""
        return self.kept("found", self._estimate_found)

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
        return self.kept("pairs", lambda: PairEvidence(pairs))

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
        together, apart = self._grouped(exponents)
        fitted = [(self.family.blocks[j], naive.parts[j], x.parts[j], exponents[j]) for j in apart]
        fitted += zip(self.family.found, self.distributions, x.parts[own + 1 :], exponents[own:], strict=False)

        out = np.zeros((x.n, len(self.learned.labels)))
        step = min(AT_ONCE, naive.rows_at_once)

        def add(lo: int) -> None:
            own = out[lo : lo + step]
            try:
                for group in together:
                    own += exponents[group.places[0]] * naive.sum_of(group, x[lo : lo + step])
                for block, each, part, a in fitted:
                    with naming_columns(block.names):
                        rows = part[lo : lo + step]
                        if a and each.votes:
                            each.add_relative(rows, own, a)
                        else:
                            rows = each.read(rows)
                            if isinstance(rows, np.ndarray):
                                refuse_infinite(rows)
            except RefusedValueError as error:
                raise error.shifted(lo) from None

        in_threads(add, range(0, x.n, step), x.n * len(exponents))
        return out

    def _grouped(self, exponents: Array) -> tuple[list[Together], list[int]]:
        """Return voting columns that are taken together, as far as they have one exponent, and the other blocks."""
        together, apart = self.naive().groups
        alike = [each for each in together if each.votes and np.ptp(exponents[list(each.places)]) == 0.0]
        taken = {j for each in alike for j in each.places}
        return alike, sorted({*apart, *(j for each in together for j in each.places)} - taken)

    def add_pairs(self, x: Batch, out: Array) -> None:
        """Add the scores of pairs, relative to the first class, to `out`."""
        assert self.structure is not None, "exponents are known"
        exponents = self.structure.pairs
        if exponents.any():
            scores = self.kept("scores", lambda: self.pair_evidence.scores(exponents))
            scores.add(coded_columns(x), out)

    def sum_left_out(self, x: Batch, codes: Codes, unit: Array, exponents: Array) -> Array:
        """Return the sum of the same with exponents, (rows, classes)."""
        together, apart = self._grouped(exponents)
        out = np.zeros((x.n, len(self.learned.labels)))
        for group in together:
            a = exponents[group.places[0]]
            if a:
                out += a * np.maximum(group.leave_one_out(x, codes, unit), -1e300)
        some = [*exponents[apart], *exponents[len(self.family.blocks) :]]
        places = [*apart, *range(len(self.family.blocks), len(exponents))]
        for a, part in zip(some, self.columns_left_out(x, codes, unit, places), strict=True):
            if a:
                out += a * np.maximum(part, -1e300)
        return out

    def columns_left_out(self, x: Batch, codes: Codes, unit: Array, places: Sequence[int] | None = None) -> list[Array]:
        """Return the log-densities of each block and found column without the row, (rows, classes).

        `places` are those of some blocks, then of some found columns.
        """
        own = len(self.family.blocks)
        asked = range(own + len(self.family.found)) if places is None else places
        blocks = [j for j in asked if j < own]
        out = self.family.block_leave_one_out(
            self.learned.estimated.statistic, self.naive(), x, codes, unit, places=blocks
        )
        found = zip(
            self.family.found, self.statistic.parts[own + 1 :], self.distributions, x.parts[own + 1 :], strict=False
        )
        each = [one for j, one in enumerate(found, own) if j in asked]
        out += in_threads(lambda one: one[0].family.leave_one_out(*one[1:], codes, unit), each, len(codes) * len(each))
        return out

    def silent_left_out(
        self, x: Batch, codes: Codes, unit: Array, places: Sequence[int] | None = None
    ) -> dict[int, Array]:
        """Return the same of blocks that do not vote, as if they did. `places` are those of some blocks."""
        parts = self.naive().parts
        asked = range(len(parts)) if places is None else [j for j in places if j < len(parts)]
        own = {j: part.as_voting for j in asked if isinstance(part := parts[j], SilentDistribution)}

        def left_out(j: int) -> Array:
            family, statistic = self.family.blocks[j].family, self.learned.estimated.statistic.parts[j]
            return family.leave_one_out(statistic, own[j], x.parts[j], codes, unit)

        known = each_left_out(own, x, codes, unit)
        rest = [j for j in own if j not in known]
        return known | dict(zip(rest, in_threads(left_out, rest, len(codes) * len(rest)), strict=True))

    @property
    def expert_rows(self) -> slice:
        """The kept rows that experts are fitted on."""
        kept = len(self.family.sample_of(self.statistic))
        return slice(0, kept if kept < self.family.most_kept else min(kept, EXPERT_ROWS))

    def expert_left_out(self, expert: Expert, x: Batch, codes: Codes, unit: Array) -> Array:
        """Return the evidence of an expert for rows; those that it was fitted on are left out."""
        from suffice.core.frames.row_hashes import row_hashes

        own = len(self.family.blocks)
        sample, first = self.family.sample_of(self.statistic), self.expert_rows
        kept_codes, kept_weight = sample.codes[first], sample.weight[first]
        out = expert.evidence(x)
        keys = zip(sample.hashes[first].tolist(), kept_codes.tolist(), strict=True)
        known = {key: i for i, key in enumerate(keys)}
        hashes = row_hashes(x.parts[own])
        at = np.array([known.get(key, -1) for key in zip(hashes.tolist(), codes.tolist(), strict=True)], dtype=np.int64)
        some = np.flatnonzero(at >= 0)
        if len(some):
            rows, at = self.family.read(sample.rows[first]), at[some]
            fitted = rows, kept_codes, kept_weight
            weight = np.minimum(kept_weight[at], unit[some])
            out[some] = expert.left_out(rows[at], kept_codes[at], weight, fitted)
        return out


def columns_with_gaps(experts: Iterable[Expert]) -> dict[str, ColumnFeatures]:
    """Return the columns of experts in which values can be missing: not those that say whether one is."""
    columns = (column for expert in experts for column in expert.features.columns)
    return {column.name: column for column in columns if not (isinstance(column, NumberFeatures) and column.missing)}


def coded_columns(x: Batch) -> NDArray[np.uint8]:
    """Return the codes of rows by the plan, (columns, rows)."""
    return np.ascontiguousarray(x.parts[-1].T)
