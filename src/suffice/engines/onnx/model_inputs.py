"""The inputs of a model of ONNX: a tensor for each column, or one matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from suffice import formulas as f
from suffice.core.errors import NoFormulaError
from suffice.engines.onnx.graph import Graph, Tensor
from suffice.formulas.lookups import MOST_EXACT, Key

MATRIX = "X"  # the name of the input if all columns are in one matrix


class Inputs:
    """The columns of a model. Missing numbers are NaN, missing strings are empty.

    An empty string that the model knows as a category is that category, and is not missing.
    """

    def __init__(
        self,
        graph: Graph,
        formulas: Sequence[f.Formula],
        columns: Sequence[str],
        strings: Iterable[str],
        matrix: bool,
        dtype: type[np.floating],
    ):
        self.graph, self.columns, self.matrix, self.dtype = graph, list(columns), matrix, dtype
        keys = f.known_keys(formulas)
        self.strings = {name for name in strings if name not in keys}
        for name, own in keys.items():
            if {isinstance(key, str) for key in own} == {True}:
                self.strings.add(name)
            _check_numbers(name, own)
        self.empty_is_known = {name for name, own in keys.items() if "" in own}
        if self.matrix and self.strings:
            raise NoFormulaError(f"Columns {sorted(self.strings)} hold strings, which no matrix of numbers can hold")

    def is_string(self, name: str) -> bool:
        """Return whether a column holds strings."""
        return name in self.strings

    def declared(self, notes: Mapping[str, str]) -> list[ValueInfoProto]:
        """Return the inputs with their types, their shapes and what `notes` say of them."""
        number = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        if self.matrix:
            return [helper.make_tensor_value_info(MATRIX, number, [None, len(self.columns)])]
        types = {name: TensorProto.STRING if self.is_string(name) else number for name in self.columns}
        return [
            helper.make_tensor_value_info(name, each, [None, 1], notes.get(name, "")) for name, each in types.items()
        ]

    def _all_numbers(self) -> tuple[Tensor, list[str]]:
        """Return all columns of numbers, (rows, columns), and their names."""
        if self.matrix:
            return self.graph.input(MATRIX).cast(np.float64), self.columns
        names = [name for name in self.columns if not self.is_string(name)]
        return self.graph.add("Concat", *map(self.graph.input, names), axis=1).cast(np.float64), names

    def numbers(self, names: Sequence[str]) -> Tensor:
        """Return some columns of numbers, (rows, 1, columns)."""
        found, known = self._all_numbers()
        place = {name: i for i, name in enumerate(known)}
        if list(names) != known:
            found = found.gather(np.array([place[name] for name in names]), axis=1)
        return found.unsqueeze(1)

    def missing(self, names: Sequence[str]) -> Tensor:
        """Return where columns, which are all strings or all numbers, are missing, (rows, 1, columns)."""
        if not self.is_string(names[0]):
            return self.numbers(names).is_nan()
        return self.codes(names, [() if name in self.empty_is_known else ("",) for name in names]).equals(
            np.zeros((1, 1, len(names)), dtype=np.int64)
        )

    def any_missing(self, names: Sequence[str]) -> Tensor:
        """Return where one of some columns is missing, (rows, 1, 1)."""
        kinds = [[name for name in names if self.is_string(name) == string] for string in (False, True)]
        parts = [self.missing(some) for some in kinds if some]
        found = parts[0] if len(parts) == 1 else self.graph.add("Concat", *parts, axis=2)
        return found.cast(np.float64).sum(2) > np.array(0.0)

    def codes(self, names: Sequence[str], keys: Sequence[Sequence[Key]]) -> Tensor:
        """Return the positions of strings among the keys of their columns, (rows, 1, columns).

        Strings that are not among the keys have the position after the last, at least 1.
        """
        parts = []
        for name, own in zip(names, keys, strict=True):
            text = own or ("",)  # an encoder has at least one key
            numbers = range(len(own)) if own else (1,)
            strings = [str(key) for key in text]
            parts.append(self.graph.input(name).lookup(strings, list(numbers), otherwise=max(len(own), 1)))
        return (parts[0] if len(parts) == 1 else self.graph.add("Concat", *parts, axis=1)).unsqueeze(1)

    def texts(self, name: str) -> Tensor:
        """Return a column of strings, (rows,)."""
        return self.graph.input(name).reshape(-1)

    def n_rows(self) -> Tensor:
        """Return the number of rows, (1,)."""
        return self.graph.input(MATRIX if self.matrix else self.columns[0]).size(0)


def _check_numbers(name: str, keys: Iterable[Key]) -> None:
    for key in keys:
        if not isinstance(key, str) and abs(key) > MOST_EXACT:
            raise NoFormulaError(
                f"Column {name!r} has the category {key}, and inputs are float64, which has not all integers beyond "
                f"{MOST_EXACT}: make these categories strings"
            )
