"""Converters for skl2onnx, so that pipelines with estimators of suffice become models of ONNX."""

from __future__ import annotations

from typing import Any, TypeAlias

from suffice.core.errors import InvalidDataError, MissingPackageError
from suffice.estimators import discriminant_analysis, naive_bayes
from suffice.estimators.bag_of_words import BagOfWords
from suffice.estimators.table_classifier import BayesClassifier
from suffice.estimators.text_classifier import TextClassifier

__all__ = ["register_converters"]

Scope: TypeAlias = Any  # of skl2onnx, which makes names
Operator: TypeAlias = Any  # of skl2onnx: an estimator with its inputs and outputs
Container: TypeAlias = Any  # of skl2onnx: what the model is made of

OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Teach skl2onnx to convert the estimators of suffice; repeating it changes nothing.

    They read one matrix of numbers, as a step of a pipeline does; `BagOfWords` and `TextClassifier` read one column of
    strings, and a `BayesClassifier` that learned a table may have an input for each column. Options of classifiers,
    such as `zipmap`, are those of scikit-learn's.

    Examples
    --------
    >>> import numpy as np
    >>> import suffice.onnx
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from suffice.naive_bayes import GaussianNB
    >>> suffice.onnx.register_converters()
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0]])
    >>> pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(X, [0, 0, 1, 1])
    >>> [each.name for each in to_onnx(pipeline, X[:1], options={"zipmap": False}).graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise MissingPackageError("Converters are for skl2onnx: pip install skl2onnx") from error
    modules = (naive_bayes, discriminant_analysis)
    classes = [getattr(module, name) for module in modules for name in module.__all__]
    for each in [*classes, BayesClassifier, TextClassifier]:
        update_registered_converter(each, f"Suffice{each.__name__}", classifier_shapes, convert, options=OPTIONS)
    update_registered_converter(BagOfWords, "SufficeBagOfWords", bag_shape, convert_bag)


def classifier_shapes(operator: Operator) -> None:
    """Say what labels are, strings or integers, and that probabilities are float64 if an input is."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
    from skl2onnx.common.utils_classifier import get_label_classes

    n = operator.inputs[0].get_first_dimension()
    labels = get_label_classes(operator.scope_inst, operator.raw_operator)
    double = any(isinstance(each.type, DoubleTensorType) for each in operator.inputs)
    operator.outputs[0].type = (StringTensorType if isinstance(labels[0], str) else Int64TensorType)([n])
    operator.outputs[1].type = (DoubleTensorType if double else FloatTensorType)([n, len(labels)])


def convert(scope: Scope, operator: Operator, container: Container) -> None:
    """Write the model of an estimator into a container of skl2onnx."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    from suffice.engines.onnx.graph import OPSETS

    double = isinstance(operator.outputs[1].type, DoubleTensorType)
    matrix = len(operator.inputs) == 1 and not isinstance(operator.inputs[0].type, StringTensorType)
    model = operator.raw_operator.to_onnx(
        inputs="matrix" if matrix else "columns", dtype="float64" if double else "float32"
    )
    names = _input_names(scope, operator, container, model.graph)
    label, probability = (each.full_name for each in operator.outputs)
    found, p = model.graph.output
    names[p.name] = probability
    kind = found.type.tensor_type.elem_type
    if scope.get_options(operator.raw_operator, {"nocl": False})["nocl"]:
        names[found.name] = scope.get_unique_variable_name("label")
        container.add_node("ArgMax", [probability], [label], op_version=OPSETS[""], axis=1, keepdims=0)
    elif kind in (TensorProto.BOOL, TensorProto.DOUBLE):  # skl2onnx expects integers; other floats are no labels
        names[found.name] = scope.get_unique_variable_name("label")
        container.add_node("Cast", [names[found.name]], [label], op_version=OPSETS[""], to=TensorProto.INT64)
    else:
        names[found.name] = label
    opsets = {each.domain: each.version for each in model.opset_import}
    _write(scope, container, model.graph.node, model.graph.initializer, opsets, names)


def _input_names(scope: Scope, operator: Operator, container: Container, graph: Any) -> dict[str, str]:
    """Return what the inputs of a model are called in the container; numbers are brought to the type of the model."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import StringTensorType

    from suffice.engines.onnx.graph import OPSETS

    given = {each.raw_name: each for each in operator.inputs}
    if len(graph.input) == len(given) == 1:
        given = {graph.input[0].name: operator.inputs[0]}
    out = {}
    for each in graph.input:
        found, kind = given.get(each.name), each.type.tensor_type.elem_type
        wanted = "a column of strings" if kind == TensorProto.STRING else "a column of numbers"
        if found is None or isinstance(found.type, StringTensorType) != (kind == TensorProto.STRING):
            held = "none" if found is None else type(found.type).__name__
            raise InvalidDataError(
                f"{type(operator.raw_operator).__name__} reads {wanted} called {each.name!r}, found {held} among the "
                f"inputs {list(given)[:10]}: join the columns of a matrix in a step before, or give an input for each "
                "column of the table"
            )
        out[each.name] = found.full_name
        if kind != TensorProto.STRING and len(operator.inputs) > 1:
            out[each.name] = scope.get_unique_variable_name(f"suffice_{each.name}")
            container.add_node("Cast", [found.full_name], [out[each.name]], op_version=OPSETS[""], to=kind)
    return out


def bag_shape(operator: Operator) -> None:
    """Say that a bag of words is a matrix of float32, as of all transformers of strings in skl2onnx."""
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    if len(operator.inputs) != 1 or not isinstance(operator.inputs[0].type, StringTensorType):
        found = [type(each.type).__name__ for each in operator.inputs]
        raise InvalidDataError(f"BagOfWords reads one column of strings, StringTensorType([None, 1]); found {found}")
    operator.outputs[0].type = FloatTensorType([None, len(operator.raw_operator._as_read().vocabulary)])


def convert_bag(scope: Scope, operator: Operator, container: Container) -> None:
    """Write a bag of words into a container of skl2onnx."""
    import numpy as np

    from suffice.engines.onnx.graph import Graph
    from suffice.engines.onnx.word_operators import bag_of_words

    graph = Graph("_")
    found = bag_of_words(graph.input("X").reshape(-1), operator.raw_operator._as_read()).cast(np.float32)
    names = {"X": operator.inputs[0].full_name, found.name: operator.outputs[0].full_name}
    _write(scope, container, graph.nodes, graph.constants, graph.opsets, names)


def _write(
    scope: Scope, container: Container, nodes: Any, constants: Any, opsets: dict[str, int], names: dict[str, str]
) -> None:
    """Write nodes and constants into a container; `names` says what some of them are called there."""
    from onnx import helper

    def renamed(name: str) -> str:
        if name and name not in names:
            names[name] = scope.get_unique_variable_name(f"suffice{name}")
        return names[name] if name else name

    def rename_within(body: Any) -> Any:
        for each in (*body.input, *body.output):
            each.name = renamed(each.name)
        for node in body.node:
            inputs, outputs = map(renamed, node.input), map(renamed, node.output)
            node.input[:], node.output[:] = list(inputs), list(outputs)
        return body

    for each in constants:
        each.name = renamed(each.name)
        container.initializers.append(each)
    for node in nodes:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if "body" in attributes:
            rename_within(attributes["body"])
        inputs, outputs = [renamed(name) for name in node.input], [renamed(name) for name in node.output]
        where = {"op_domain": node.domain, "op_version": opsets[node.domain]}
        container.add_node(node.op_type, inputs, outputs, **where, **attributes)
