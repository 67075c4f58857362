"""A report of a fitted model: one HTML file that opens anywhere, without a network."""

from suffice.views.report import render, render_monitor, write, write_monitor

__all__ = ["render", "render_monitor", "write", "write_monitor"]
