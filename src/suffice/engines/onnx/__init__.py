"""Formulas as models of ONNX."""
