"""A report of a fitted model: one HTML file that opens anywhere, without a network."""

from suffice.views.report import render, write

__all__ = ["render", "write"]
