"""Which parts of formulas become columns of a step of a query, because they would be written too often otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from suffice import formulas as f
from suffice.formulas.environments import NamedColumns
from suffice.formulas.node import Node

# How often a function writes its argument, as `formula_compiler` has it.
WRITTEN: dict[type[Node], int] = {f.Square: 2, f.Exp: 2, f.Log: 2, f.Log1p: 6, f.LogGamma: 8}
# Nodes that are computed where a condition holds may fail elsewhere, such as the logarithm of a number below 0.
FAILING = (f.Sqrt, f.Log, f.Log1p, f.LogGamma, f.LogSumExp, f.Bumps, f.TimesLog, f.LogGammaRatio, f.Cosines)
SHORT = 8  # nodes, of a formula that is written wherever it is used
SAVED = 50  # nodes, from which on a column pays
MOST = 500  # columns, as databases allow some 2000 in all


class SharedFormulas:
    """Formulas that are columns of a query, inner ones first: `steps` has those of each step.

    They are the codes of cross tables, the numbers of cosines, the cosines themselves, which are a column each, and
    long formulas that are used more than once.
    """

    def __init__(self, formulas: Sequence[f.Formula], classes: int):
        self._size: dict[int, int] = {}
        self._uses: Counter[int] = Counter()
        self._safe: dict[int, bool] = {}
        self._nodes: dict[int, Node] = {}
        for formula in formulas:
            self._uses[id(formula)] += 1
            self._visit(formula)
        self.codes: dict[int, f.Formula] = {}
        needed: dict[int, f.Formula] = {}
        for node in self._nodes.values():
            if isinstance(node, f.CrossTable):
                self.codes |= {id(code): code for code in (node.first, node.second)}
            elif isinstance(node, f.Cosines):
                needed |= {id(each): each for each in (*node.of, node)}
        chosen = {id(node): node for node in self._worth(classes)}
        self._levels: dict[int, int] = {}
        self._columns = self.codes | needed | chosen
        by_level: dict[int, list[f.Formula]] = {}
        for node in self._columns.values():
            by_level.setdefault(self._level(node), []).append(node)
        self.steps = [by_level[level] for level in sorted(by_level)]

    def _visit(self, node: Node) -> None:
        if id(node) in self._size:
            return
        size, safe = _length(node), not isinstance(node, FAILING)
        safe &= not isinstance(node, f.Divide) or isinstance(node.right, f.Constant)
        for part in node.parts():
            self._uses[id(part)] += WRITTEN.get(type(node), 1)
            self._visit(part)
            size += self._size[id(part)]
            safe &= self._safe[id(part)]
        self._size[id(node)], self._safe[id(node)], self._nodes[id(node)] = size, safe, node

    def _worth(self, classes: int) -> list[f.Formula]:
        """Return the formulas that save most, as far as there may be columns."""
        saved = {key: (self._uses[key] - 1) * size for key, size in self._size.items() if size >= SHORT}
        out: list[f.Formula] = []
        left = MOST
        for key in sorted(saved, key=lambda key: -saved[key]):
            node = self._nodes[key]
            if saved[key] < SAVED:
                break
            if isinstance(node, f.Formula) and self._safe[key]:
                left -= classes if depends_on_class(node) else 1
                out += [node] if left >= 0 else []
        return out

    def _level(self, node: Node) -> int:
        """Return the step in which a formula can be computed, or that of the deepest column below another one."""
        if id(node) not in self._levels:
            below = max(map(self._level, node.parts()), default=0)
            self._levels[id(node)] = below + (id(node) in self._columns)
        return self._levels[id(node)]


def depends_on_class(formula: f.Formula) -> bool:
    """Return whether the value of a formula depends on the class: then it has several numbers for no row, too."""
    names = {name for node in formula.walk() for name in _names(node)}
    return formula.on(NamedColumns({name: [] for name in names})).shape[1] > 1


def _names(node: Node) -> tuple[str, ...]:
    name = getattr(node, "column", None)
    return getattr(node, "columns", ()) if name is None else (name,)


def _length(node: Node) -> int:
    """Return how many numbers and operations a node itself writes."""
    if isinstance(node, f.Linear):
        return 3 * len(node.columns)
    if isinstance(node, (f.Lookup, f.Combinations, f.Among)):
        return 1 + len(node.keys)
    if isinstance(node, f.CrossTable):
        return int(node.numbers[0].size)
    return 1 + len(node.edges) if isinstance(node, f.Steps) else 1
