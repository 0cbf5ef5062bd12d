"""Reports: measured next to published, with interval, difference and verdict. No statistic is computed here.

Import what is needed from `cwndlab.report.write`; vl-convert is loaded only to draw figures.
"""

from cwndlab.report.draft import draft, write_verdicts
from cwndlab.report.index import write_index
from cwndlab.report.judge import Outputs, Variation, judge
from cwndlab.report.model import Fact, ReportView
from cwndlab.report.write import Evidence, write

__all__ = [
    "Evidence",
    "Fact",
    "Outputs",
    "ReportView",
    "Variation",
    "draft",
    "judge",
    "write",
    "write_index",
    "write_verdicts",
]
