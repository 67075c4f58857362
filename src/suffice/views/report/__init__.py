"""A report of a fitted model: one HTML file that opens anywhere, without a network.

It shows the classes, the family of each column, p(x | y) of every column, the most typical values of each class, the
quality of the predictions if rows are given, and a panel that computes probabilities of values as they are typed.
"""

from suffice.views.report.judging import answers_of, judge
from suffice.views.report.monitor_page import render_monitor, write_monitor
from suffice.views.report.page import render, write
from suffice.views.report.panel import page_model

__all__ = ["answers_of", "judge", "page_model", "render", "render_monitor", "write", "write_monitor"]
