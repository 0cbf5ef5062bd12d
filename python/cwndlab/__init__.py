"""cwndlab: a laboratory for TCP, from a study file to a report.

>>> import cwndlab
>>> run = cwndlab.run("rfc2416", set={"variant": "sack", "iw": 4})   # doctest: +SKIP
>>> run.records["segments"]                                          # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cwndlab._core import version
from cwndlab.errors import ClusterError, CwndlabError, OutputError, RunError, StudyError

if TYPE_CHECKING:
    from cwndlab.run.api import RecordTables, RunResult, run
    from cwndlab.study.load import Study
    from cwndlab.study.plan import Cell, Plan

__version__ = version()
__all__ = [
    "Cell",
    "ClusterError",
    "CwndlabError",
    "OutputError",
    "Plan",
    "RecordTables",
    "RunError",
    "RunResult",
    "Study",
    "StudyError",
    "__version__",
    "run",
]

_HOME = {
    "run": "cwndlab.run.api",
    "RunResult": "cwndlab.run.api",
    "RecordTables": "cwndlab.run.api",
    "Study": "cwndlab.study.load",
    "Cell": "cwndlab.study.plan",
    "Plan": "cwndlab.study.plan",
}


def __getattr__(name: str) -> Any:
    """Loads the parts when first used, so that the command line starts quickly."""
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'cwndlab' has no attribute {name!r}")
