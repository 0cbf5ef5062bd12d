"""cwndlab: a laboratory for TCP, from a study file to a report.

>>> import cwndlab
>>> run = cwndlab.run("rfc2416", set={"variant": "sack", "iw": 4})   # doctest: +SKIP
>>> run.records["segments"]                                          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab._core import AckReport, CongestionControl, LossEvent, RateSample, version
from cwndlab.errors import ClusterError, CwndlabError, OutputError, RunError, StudyError

if TYPE_CHECKING:
    from cwndlab.plan.plan import Cell, Plan
    from cwndlab.runs.options import RunOptions
    from cwndlab.runs.result import RecordTables, RunResult
    from cwndlab.runs.run import open_results
    from cwndlab.runs.run import open_results as open
    from cwndlab.study import Study

__version__ = version()
__all__ = [
    "AckReport",
    "Cell",
    "ClusterError",
    "CongestionControl",
    "CwndlabError",
    "LossEvent",
    "OutputError",
    "Plan",
    "RateSample",
    "RecordTables",
    "RunError",
    "RunOptions",
    "RunResult",
    "Study",
    "StudyError",
    "__version__",
    "open",
    "open_results",
    "run",
]

#: Short names, and what they are called at home.
_OWN_NAMES = {"open": "open_results"}
_HOME = {
    "open": "cwndlab.runs.run",
    "open_results": "cwndlab.runs.run",
    "RunResult": "cwndlab.runs.result",
    "RecordTables": "cwndlab.runs.result",
    "RunOptions": "cwndlab.runs.options",
    "Study": "cwndlab.study",
    "Cell": "cwndlab.plan.plan",
    "Plan": "cwndlab.plan.plan",
}


def __getattr__(name: str) -> Any:
    """Loads the parts when first used, so that the command line starts quickly."""
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module(_HOME[name]), _OWN_NAMES.get(name, name))
        globals()[name] = value
        return value
    raise AttributeError(f"module 'cwndlab' has no attribute {name!r}")


def run(
    study: str | Path | Study,
    options: RunOptions | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    cc: Mapping[str, type[CongestionControl] | str | Path] | None = None,
    **more: Any,
) -> RunResult:
    """Runs a study: a shipped name, a file, or a `Study`.

    Args:
        study: what to run.
        options: how; default: in memory, on all processors.
        set: axes to restrict (``{"variant": "sack"}``) and keys to change (``{"run.duration": "10s"}``).
        cc: congestion controls of your own by the names that they get as ``window_law``: classes, or
            ``"FILE.py:CLASS"``. One that the study does not name joins the axis that varies the window law.
        more: fields of `RunOptions` by their names, ``out="DIR"``, ``replicates=5``, ``backend="linux"``.

    """
    from cwndlab.laws import given
    from cwndlab.runs.run import run_study
    from cwndlab.study import Study

    loaded = study if isinstance(study, Study) else Study.load(study)
    loaded = loaded.configured(set or {}, list(given(cc or {}).values()))
    return run_study(loaded, options, **more)
