"""Models of ONNX: from columns to the label and the probabilities of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import chain, count

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
LABEL, PROBABILITY = "label", "probabilities"  # as skl2onnx calls them where probabilities are one array


def of_predictor(predictor: Predictor, inputs: str, dtype: str) -> ModelProto:
    """Return the model of a predictor.

    `inputs` are "columns", one "matrix", or "auto": columns if those of the training rows had names.
    """
    scoring, strings = predictor.formula(), predictor.string_columns
    parts = [each for each in predictor.readings if each.name != each.source]
    matrix = inputs == "matrix" or (inputs == "auto" and predictor.names is None and not strings and not parts)
    if matrix and parts:
        raise NoFormulaError(
            f"Column {parts[0].source!r} holds dates, whose parts no matrix has: pass inputs='columns', for an input "
            f"{parts[0].name!r} and one for each other part"
        )
    columns = predictor.training_columns if matrix else predictor.formula_columns
    notes = {each.name: each.note for each in predictor.readings}
    return to_onnx(scoring, columns, strings, matrix, np.dtype(dtype).type, notes)


def to_onnx(
    scoring: f.Scoring,
    columns: Sequence[str],
    strings: Iterable[str],
    matrix: bool,
    dtype: type[np.floating],
    notes: Mapping[str, str] | None = None,
) -> ModelProto:
    """Return the model of a scoring.

    `columns` are those of the rows, `strings` those of them that hold strings. With `matrix` there is one
    input of all columns. `dtype` is that of numbers in inputs and outputs. `notes` say of some columns what they hold.
    """
    if not matrix and "" in columns:
        raise InvalidDataError("A column is called '', and inputs of ONNX have names: rename it")
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
    taken = () if matrix else columns
    label, probability = _free_name(LABEL, taken), _free_name(PROBABILITY, taken)
    graph.name_output(graph.constant(labels).gather(best, axis=0), label)
    graph.name_output(p if dtype == np.float64 else p.cast(dtype), probability)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    outputs = [
        helper.make_tensor_value_info(label, label_type, [None]),
        helper.make_tensor_value_info(probability, number, [None, len(scoring.labels)]),
    ]
    return _model(graph, inputs.declared(notes or {}), outputs)


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


def _free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken: the name itself, or with the first number behind it that makes it free."""
    return next(found for found in chain([name], (f"{name}{i}" for i in count(1))) if found not in taken)


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
