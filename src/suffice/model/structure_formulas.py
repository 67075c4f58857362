"""The evidence of a structure as formulas over columns, for databases and pages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from suffice.core.errors import NoFormulaError
from suffice.families import Distribution, Independent
from suffice.families.chosen import ChosenDistribution
from suffice.families.pair_plan import CodedColumn
from suffice.families.product import Block
from suffice.formulas import (
    Below,
    Column,
    Constant,
    CrossTable,
    Formula,
    Lookup,
    Missing,
    Steps,
    Term,
    Unknown,
    Where,
)
from suffice.formulas.conditions import Condition

if TYPE_CHECKING:
    from suffice.model.structure import Parts, Structure

MOST_NUMBERS = 1_000_000  # in the tables of pairs; more would make a query or a page that nothing reads


def structure_terms(parts: Parts, structure: Structure, texts: bool = True) -> list[Term]:
    """Return the terms of blocks, found columns and pairs with their exponents; texts are left out unless asked for."""
    family, own = parts.family, len(parts.family.blocks)
    out: list[Term] = []
    refused: list[str] = []
    naive = parts.naive()
    for j, (block, fitted, a) in enumerate(zip(family.blocks, naive.parts, structure.columns, strict=False)):
        if a and fitted.votes and (texts or block.missing or block.family.reads != "text"):
            formula = partial(naive.formula_of_block, fitted, block.names, block.missing, block.title)
            try:
                found = parts.kept(f"formula of {j}", formula)  # one for rows with gaps and without
            except NoFormulaError as error:
                refused.append(f"{block.title!r}: {error}")
                continue
            out += [Term(term.title, term.columns, float(a) * term.formula) for term in found]
    for block, fitted, a in zip(family.found, parts.distributions, structure.columns[own:], strict=True):
        if a and fitted.votes:
            out.append(Term(block.title, block.names, float(a) * found_density(block, fitted)))
    if refused:
        raise NoFormulaError("; ".join(refused))
    return out + pair_terms(parts, structure)


def found_density(block: Block, fitted: Distribution) -> Formula:
    """Return the log-density of a found column as a formula of the columns that it is computed from."""
    inner = fitted.fitted if isinstance(fitted, ChosenDistribution) else fitted
    if not isinstance(inner, Independent) or inner.reads != "numbers":
        raise NoFormulaError(f"{block.title!r} has no formula in closed form")
    x = number(block)
    density = inner.column_density(x, 0)  # type: ignore[arg-type]  # a formula stands for a column
    if density is None:
        return Constant(np.zeros(1))
    return present(block, density, Constant(np.zeros(1)))


def number(block: Block) -> Formula:
    """Return the number of a block of one column, which may be computed."""
    return Column(block.names[0]) if block.found is None else block.found.formula()


def present(block: Block, formula: Formula, otherwise: Formula) -> Formula:
    """Return a formula, and another one where a column is missing, or a ratio has no value."""
    conditions: list[Condition] = [Missing(name) for name in block.names]
    if block.found is not None and block.found.operation == "ratio":
        conditions += [Below(Column(name), 0.0, True) for name in block.names]
    for condition in conditions[::-1]:
        formula = Where(condition, otherwise, formula)
    return formula


def pair_terms(parts: Parts, structure: Structure) -> list[Term]:
    """Return a term for each pair of columns with an exponent."""
    plan = parts.family.plan
    if plan is None or not structure.pairs.any():
        return []
    evidence = parts.pair_evidence
    if evidence.ratios.size > MOST_NUMBERS:
        raise NoFormulaError(
            f"the tables of {len(structure.pairs)} pairs of columns hold {evidence.ratios.size} numbers, too many for "
            "a formula: structure='columns' has one"
        )
    blocks = (*parts.family.blocks, *parts.family.found)
    codes = parts.kept("codes", lambda: [code(column, blocks[column.block]) for column in plan.columns])
    tables = evidence.pairs.tables(evidence.ratios)
    each = zip(plan.pairs.T, tables, strict=True)
    crossed = parts.kept("cross tables", lambda: [CrossTable(codes[i], codes[j], table) for (i, j), table in each])
    out = []
    for (i, j), u, table in zip(plan.pairs.T, structure.pairs.tolist(), crossed, strict=True):
        if u:
            a, b = blocks[plan.columns[i].block], blocks[plan.columns[j].block]
            names = tuple(dict.fromkeys((*a.names, *b.names)))
            out.append(Term(f"{a.title} × {b.title}", names, u * table))
    return out


def code(column: CodedColumn, block: Block) -> Formula:
    """Return the code of a column as a formula, unknown where the column is missing."""
    numbers = np.arange(column.size, dtype=np.float64)
    known: Formula
    if column.edges is not None:
        known = Steps(number(block), column.edges, numbers)
    else:
        assert column.keys is not None, "categories"
        known = Lookup(block.names[0], tuple(column.keys.tolist()), numbers[:-1], numbers[-1])
    return present(block, known, Unknown())
