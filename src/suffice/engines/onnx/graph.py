"""A graph of ONNX that is written operator by operator, as arithmetic of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

Attribute: TypeAlias = Any  # a number, a string, or a list of them

ML = "ai.onnx.ml"  # the domain of operators for machine learning
RUNTIME = "com.microsoft"  # the domain of operators that onnxruntime alone has
OPSETS = {"": 18, ML: 2}  # the versions of the operators
TEXT_OPSETS = {"": 20, ML: 2, RUNTIME: 1}  # those of models that read texts


END = np.iinfo(np.int64).max  # of a slice


class Graph:
    """Nodes and constants. The same operator of the same inputs is written once, and so is the same constant.

    Names that the graph makes begin with `prefix`, which no input may begin with.
    """

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.opsets = OPSETS
        self._known: dict[Any, str] = {}

    def _new_name(self) -> str:
        return f"{self.prefix}{len(self._known)}"

    def input(self, name: str) -> Tensor:
        """Return the tensor of an input."""
        return Tensor(self, name)

    def constant(self, values: ArrayLike) -> Tensor:
        """Return a constant: an array of strings, booleans or numbers; a number of Python is one of float64."""
        array = np.asarray(values, dtype=np.float64 if isinstance(values, (int, float)) else None)
        if array.dtype.kind in "US":
            array = array.astype(object)
        key = (str(array.dtype), array.shape, repr(array.tolist()) if array.dtype == object else array.tobytes())
        if key not in self._known:
            name = self._known[key] = self._new_name()
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return Tensor(self, self._known[key])

    def add(self, operator: str, *inputs: Tensor | ArrayLike, domain: str = "", **attributes: Attribute) -> Tensor:
        """Return the output of an operator; inputs that are numbers become constants."""
        names = [(each if isinstance(each, Tensor) else self.constant(each)).name for each in inputs]
        key = (operator, *names, repr(sorted(attributes.items())))
        if key not in self._known:
            name = self._known[key] = self._new_name()
            self.nodes.append(helper.make_node(operator, names, [name], name, domain=domain, **attributes))
        return Tensor(self, self._known[key])

    def cut(self, texts: Tensor, **how: Attribute) -> Tensor:
        """Cut texts into strings, (rows, strings of the longest); shorter texts have empty ones behind theirs."""
        return self.add("Tokenizer", texts, domain=RUNTIME, mark=0, pad_value="", mincharnum=1, **how)

    def strings(self, found: Tensor) -> Tensor:
        """Return what `cut` found as strings for those who infer types: they do not know that operator."""
        return self.add("Where", np.array(False), np.array(""), found)

    def unique(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return distinct numbers, ascending, and how often each occurs: several times as fast as Unique.

        There is at least one.
        """
        ordered, _ = names = [f"{values.name}_ordered", f"{values.name}_order"]
        size = values.size(0)
        self.nodes.append(helper.make_node("TopK", [values.name, size.name], names, ordered, largest=0))
        numbers = Tensor(self, ordered)
        last = self.add("Concat", numbers.some(0, -1).equals(numbers.some(1, END)), np.array([False]), axis=0)
        last = self.add("Not", last)
        after = self.positions(size).compress(last) + np.array(1)
        return numbers.compress(last), after - self.add("Concat", np.array([0]), after.some(0, -1), axis=0)

    def join(self, parts: Tensor) -> Tensor:
        """Concatenate strings, (rows, parts), along the rows."""
        i, go, before, going, after = (f"{parts.name}_{name}" for name in ("i", "go", "before", "going", "after"))
        body = helper.make_graph(
            [
                helper.make_node("Gather", [parts.name, i], [f"{parts.name}_part"], axis=1),
                helper.make_node("StringConcat", [before, f"{parts.name}_part"], [after]),
                helper.make_node("Identity", [go], [going]),
            ],
            f"{parts.name}_join",
            [
                helper.make_tensor_value_info(i, TensorProto.INT64, []),
                helper.make_tensor_value_info(go, TensorProto.BOOL, []),
                helper.make_tensor_value_info(before, TensorProto.STRING, [None]),
            ],
            [
                helper.make_tensor_value_info(going, TensorProto.BOOL, []),
                helper.make_tensor_value_info(after, TensorProto.STRING, [None]),
            ],
        )
        times = parts.size(1).reshape()
        empty = self.add("Expand", np.array([""]), parts.size(0))
        return self.add("Loop", times, np.array(True), empty, body=body)

    def positions(self, number: Tensor) -> Tensor:
        """Return 0 … number − 1; the number is (1,)."""
        return self.add("Range", np.array(0), number.reshape(), np.array(1))

    def sum(self, parts: Sequence[Tensor]) -> Tensor:
        """Add tensors that broadcast."""
        return parts[0] if len(parts) == 1 else self.add("Sum", *parts)

    def name_output(self, tensor: Tensor, name: str) -> None:
        """Give a tensor the name of an output."""
        self.nodes.append(helper.make_node("Identity", [tensor.name], [name], name))


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a graph, by its name; arithmetic adds operators to the graph."""

    graph: Graph
    name: str

    __array_ufunc__: ClassVar[None] = None  # NumPy arrays leave arithmetic with tensors to the methods below

    def _add(self, operator: str, *inputs: Tensor | ArrayLike, **attributes: Attribute) -> Tensor:
        return self.graph.add(operator, self, *inputs, **attributes)

    def __add__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Add", other)

    __radd__ = __add__

    def __sub__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Sub", other)

    def __rsub__(self, other: ArrayLike) -> Tensor:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Div", other)

    def __rtruediv__(self, other: ArrayLike) -> Tensor:
        return self.graph.add("Div", other, self)

    def __lt__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Less", other)

    def __le__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("LessOrEqual", other)

    def __gt__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Greater", other)

    def __or__(self, other: Tensor) -> Tensor:
        return self._add("Or", other)

    def __mod__(self, other: Tensor | ArrayLike) -> Tensor:
        return self._add("Mod", other)

    def equals(self, other: Tensor | ArrayLike) -> Tensor:
        """Return where both are equal."""
        return self._add("Equal", other)

    def is_nan(self) -> Tensor:
        """Return where it is NaN."""
        return self._add("IsNaN")

    def is_impossible(self) -> Tensor:
        """Return where it is −∞."""
        return self._add("IsInf", detect_positive=0)

    def log(self) -> Tensor:
        """Return the natural logarithm."""
        return self._add("Log")

    def exp(self) -> Tensor:
        """Return the exponential."""
        return self._add("Exp")

    def where(self, then: Tensor | ArrayLike, otherwise: Tensor | ArrayLike) -> Tensor:
        """Return one tensor where this one is true, another where it is false."""
        return self._add("Where", then, otherwise)

    def cast(self, dtype: type[np.generic]) -> Tensor:
        """Convert to a type of NumPy."""
        return self._add("Cast", to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def gather(self, positions: Tensor | NDArray[np.int64], axis: int) -> Tensor:
        """Take entries along an axis by their positions."""
        return self._add("Gather", positions, axis=axis)

    def reshape(self, *shape: int) -> Tensor:
        """Change the shape; 0 leaves a dimension as it is."""
        return self._add("Reshape", np.array(shape, dtype=np.int64))

    def transpose(self, *order: int) -> Tensor:
        """Reorder the dimensions."""
        return self._add("Transpose", perm=order)

    def unsqueeze(self, axis: int) -> Tensor:
        """Add a dimension of one."""
        return self._add("Unsqueeze", np.array([axis], dtype=np.int64))

    def size(self, axis: int) -> Tensor:
        """Return the number of entries along an axis, (1,)."""
        return self._add("Shape", start=axis, end=axis + 1)

    def some(self, first: int, last: int, axis: int = 0) -> Tensor:
        """Return the entries `first : last` along an axis; `END` is the end."""
        return self._add("Slice", np.array([first]), np.array([last]), np.array([axis]))

    def lookup(self, keys: Sequence[str] | Sequence[int], values: Sequence[int], otherwise: int) -> Tensor:
        """Return the values of keys, which are strings or integers."""
        kind = "keys_strings" if isinstance(keys[0], str) else "keys_int64s"
        own = {kind: keys, "values_int64s": values, "default_int64": otherwise}
        return self._add("LabelEncoder", domain=ML, **own)

    def compress(self, where: Tensor) -> Tensor:
        """Keep the entries, or rows, where a condition holds."""
        return self._add("Compress", where, axis=0)

    def sums_at(self, places: Tensor, size: Tensor) -> Tensor:
        """Sum the numbers of each place, (size,)."""
        zero = numpy_helper.from_array(np.zeros(1))
        empty = self.graph.add("ConstantOfShape", size, value=zero)
        return self.graph.add("ScatterElements", empty, places, self, axis=0, reduction="add")

    def matmul(self, other: Tensor | ArrayLike) -> Tensor:
        """Multiply matrices."""
        return self._add("MatMul", other)

    def sum(self, axis: int, keep: bool = True) -> Tensor:
        """Add up along an axis."""
        return self._add("ReduceSum", np.array([axis], dtype=np.int64), keepdims=int(keep))

    def max(self, axis: int, keep: bool = True) -> Tensor:
        """Return the largest along an axis."""
        return self._add("ReduceMax", np.array([axis], dtype=np.int64), keepdims=int(keep))

    def log_sum_exp(self, axis: int) -> Tensor:
        """Return log Σ exp along an axis, without overflow; −∞ where all terms are."""
        top = self.max(axis)
        safe = top.is_impossible().where(0.0, top)
        return ((self - safe).exp().sum(axis).log() + safe)._add("Squeeze", np.array([axis], dtype=np.int64))
