"""Converters for skl2onnx. An estimator becomes a model of ONNX by its method `to_onnx`."""

from suffice.estimators.onnx_converters import *  # noqa: F403  # a public path
