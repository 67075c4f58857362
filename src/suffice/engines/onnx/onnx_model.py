"""Models of ONNX: from columns to the label and the probabilities of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, checker, helper

from suffice import formulas as f
from suffice.core.arrays import Values
from suffice.core.errors import InvalidDataError, NoFormulaError
from suffice.engines.onnx.graph import RUNTIME, Graph, Tensor
from suffice.engines.onnx.model_inputs import Inputs
from suffice.engines.onnx.onnx_compiler import FormulaCompiler
from suffice.formulas.scoring import BEYOND
from suffice.model.predictor import Predictor

IR_VERSION = 8  # of the file format, the first that has the operators of `OPSETS`
TEXT_IR_VERSION = 9  # the same of `TEXT_OPSETS`
NEEDS_RUNTIME = f"Texts are cut into words by {RUNTIME}.Tokenizer, an operator of onnxruntime: other runtimes lack it."
LABEL, PROBABILITY = "output_label", "output_probability"  # as the converters of scikit-learn call them


def of_predictor(predictor: Predictor, inputs: str, dtype: str) -> ModelProto:
    """Return the model of a predictor.

    `inputs` are "columns", one "matrix", or "auto": columns if those of the training rows had names.
    """
    scoring, strings = predictor.formula(), predictor.string_columns
    matrix = inputs == "matrix" or (inputs == "auto" and predictor.names is None and not strings)
    return to_onnx(scoring, predictor.columns, strings, matrix, np.dtype(dtype).type)


def to_onnx(
    scoring: f.Scoring, columns: Sequence[str], strings: Iterable[str], matrix: bool, dtype: type[np.floating]
) -> ModelProto:
    """Return the model of a scoring.

    `columns` are those of the training rows, `strings` those of them that hold strings. With `matrix` there is one
    input of all columns. `dtype` is that of numbers in inputs and outputs.
    """
    _check_names(() if matrix else columns)
    prefix = "_" * (1 + max((len(name) - len(name.lstrip("_")) for name in columns), default=0))  # no column has it
    graph = Graph(prefix)
    formulas = [term.formula for term in scoring.all_terms]
    inputs = Inputs(graph, formulas, columns, strings, matrix, dtype)
    compiler = FormulaCompiler(graph, inputs, len(scoring.labels))

    def total(terms: Sequence[f.Formula]) -> Tensor:
        return compiler.total(terms) if terms else graph.constant(np.zeros((1, 1, 1)))

    evidence = total(formulas[: len(scoring.terms)])
    if scoring.for_gaps is not None:
        gaps = inputs.any_missing(scoring.for_gaps.columns)
        evidence = gaps.where(total(formulas[len(scoring.terms) :]), evidence)
    size = graph.add("Concat", inputs.n_rows(), np.array([len(scoring.labels), 1]), axis=0)
    p = _posterior(graph.add("Expand", evidence, size).reshape(0, 0), scoring)
    labels, label_type = _labels(scoring.labels)
    best = graph.add("ArgMax", p, axis=1, keepdims=0)
    graph.name_output(graph.constant(labels).gather(best, axis=0), LABEL)
    graph.name_output(p if dtype == np.float64 else p.cast(dtype), PROBABILITY)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [
        helper.make_tensor_value_info(LABEL, label_type, [None]),
        helper.make_tensor_value_info(PROBABILITY, number, [None, len(scoring.labels)]),
    ]
    return _model(graph, inputs.declared(), outputs)


def _posterior(evidence: Tensor, scoring: f.Scoring) -> Tensor:
    """Return p(y | x), (rows, classes), as `Scoring.posterior` defines it."""
    known = np.isfinite(scoring.log_prior).any()
    log_prior = scoring.log_prior if known else np.zeros(len(scoring.labels))
    top = evidence.max(1)
    apart = evidence - top.is_impossible().where(0.0, top)
    apart = (apart < -BEYOND).where(-BEYOND, apart)  # unlike Max, this keeps NaN
    scores = apart * scoring.slope[None] + (scoring.log_prior + scoring.bias)[None]
    scores = evidence.is_impossible().where(-np.inf, scores)
    scores = scores.max(1).is_impossible().where(log_prior[None], scores)
    p = evidence.graph.add("Softmax", scores, axis=1)
    if not scoring.mixed:
        return p
    prior = np.exp(log_prior - np.logaddexp.reduce(log_prior))
    return p * (1.0 - scoring.mixed) + (scoring.mixed * prior)[None]


def _labels(labels: Values) -> tuple[Values, int]:
    """Return labels as a tensor can hold them, and the type of their elements."""
    if labels.dtype.kind in "OUST":
        found = labels.tolist()
        if not all(isinstance(label, str) for label in found):
            raise NoFormulaError(f"Labels are strings or numbers in ONNX, found {labels.tolist()[:5]}")
        return np.array(found, dtype=object), TensorProto.STRING
    if labels.dtype.kind not in "biuf" or (labels.dtype.kind == "u" and (labels > np.iinfo(np.int64).max).any()):
        raise NoFormulaError(f"Labels are strings or numbers of 64 bits with a sign in ONNX, found {labels.dtype}")
    plain = {"b": np.bool_, "i": np.int64, "u": np.int64}.get(labels.dtype.kind, np.float64)
    return labels.astype(plain), helper.np_dtype_to_tensor_dtype(np.dtype(plain))


def _check_names(names: Iterable[str]) -> None:
    """Refuse names of columns that inputs cannot have."""
    for name in names:
        if not name or name in (LABEL, PROBABILITY):
            raise InvalidDataError(f"A column is called {name!r}, as no input of ONNX can be called here: rename it")


def _model(graph: Graph, inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]) -> ModelProto:
    made = helper.make_graph(graph.nodes, "suffice", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid(domain, number) for domain, number in graph.opsets.items()]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="suffice")
    model.producer_version = version("suffice")
    if RUNTIME in graph.opsets:
        model.ir_version = TEXT_IR_VERSION
        model.doc_string = NEEDS_RUNTIME
    checker.check_model(model)
    return model
