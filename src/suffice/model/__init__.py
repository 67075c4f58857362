"""The joint distribution p(x, y): its answers, calibration, explanations, evaluation and storage."""

from suffice.model.joint import Model, leave_one_out

__all__ = ["Model", "leave_one_out"]
