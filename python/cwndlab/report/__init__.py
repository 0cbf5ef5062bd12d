"""Reports: measured next to published, with interval, difference and verdict. No statistic is computed here.

Import what is needed from `cwndlab.report.write`; vl-convert is loaded only to draw figures.
"""

from cwndlab.report.index import write_index
from cwndlab.report.judge import Outputs, Variation, judge
from cwndlab.report.model import Fact, ReportView
from cwndlab.report.write import write

__all__ = ["Fact", "Outputs", "ReportView", "Variation", "judge", "write", "write_index"]
