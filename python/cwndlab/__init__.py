"""cwndlab: a laboratory for TCP, from a study file to a report.

>>> import cwndlab
>>> run = cwndlab.run("rfc2416", changes={"variant": "sack", "iw": 4, "size": "as-traced"})
>>> run.records["segments"].column("flow")[0].as_py()
'transfer'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from cwndlab.base import importing

importing.end_quietly()  # before slow imports
importing.put_up()

# ruff: noqa: E402
from cwndlab._core import AckReport, CongestionControl, LossEvent, RateSample, version
from cwndlab.base.errors import (
    ArgumentError,
    ClusterError,
    CwndlabError,
    ExtraError,
    NotFoundError,
    OutputError,
    RunError,
    StudyError,
    check_arguments,
)

if TYPE_CHECKING:
    from cwndlab.api import Study, open_results
    from cwndlab.apps.captures.explain_capture import explain_capture
    from cwndlab.apps.diagnosis.diagnosis import Diagnosis
    from cwndlab.apps.notebook.plot import Plots
    from cwndlab.apps.notebook.stream import Replicate, Stream
    from cwndlab.apps.notebook.widget import ExplorePage, PageWidget
    from cwndlab.apps.reproduction.discrepancies import Discrepancy
    from cwndlab.metrics import RunView, metric
    from cwndlab.plan.plan import Cell, Plan
    from cwndlab.results.records import RecordTables
    from cwndlab.results.result import RunResult
    from cwndlab.runs.run_options import OptionFields, RunOptions
    from cwndlab.stats.results import Estimate
    from cwndlab.study.outputs import Claim, Column, Figure, Table
    from cwndlab.study.schema import (
        App,
        Axis,
        AxisValue,
        Direction,
        Distribution,
        Grid,
        Impairment,
        Link,
        Probes,
        Quantity,
        Queue,
        Run,
        Tcp,
        TcpGroup,
        Topology,
        Traffic,
    )
    from cwndlab.study.shorthand import Dumbbell, FabricFlow, Flow, LeafSpine, ParkingLot

__version__ = version()
__all__ = [
    "AckReport",
    "App",
    "ArgumentError",
    "Axis",
    "AxisValue",
    "Cell",
    "Claim",
    "ClusterError",
    "Column",
    "CongestionControl",
    "CwndlabError",
    "Diagnosis",
    "Direction",
    "Discrepancy",
    "Distribution",
    "Dumbbell",
    "Estimate",
    "ExplorePage",
    "ExtraError",
    "FabricFlow",
    "Figure",
    "Flow",
    "Grid",
    "Impairment",
    "LeafSpine",
    "Link",
    "LossEvent",
    "NotFoundError",
    "OutputError",
    "PageWidget",
    "ParkingLot",
    "Plan",
    "Plots",
    "Probes",
    "Quantity",
    "Queue",
    "RateSample",
    "RecordTables",
    "Replicate",
    "Run",
    "RunError",
    "RunOptions",
    "RunResult",
    "RunView",
    "Stream",
    "Study",
    "StudyError",
    "Table",
    "Tcp",
    "TcpGroup",
    "Topology",
    "Traffic",
    "__version__",
    "explain_capture",
    "metric",
    "open_results",
    "run",
    "studies",
]

#: Module -> the names that it defines, which are loaded on first use for a fast start.
_HOMES = {
    "cwndlab.metrics": ("RunView", "metric"),
    "cwndlab.apps.diagnosis.diagnosis": ("Diagnosis",),
    "cwndlab.apps.captures.explain_capture": ("explain_capture",),
    "cwndlab.apps.notebook.plot": ("Plots",),
    "cwndlab.apps.notebook.widget": ("ExplorePage", "PageWidget"),
    "cwndlab.apps.reproduction.discrepancies": ("Discrepancy",),
    "cwndlab.results.result": ("RunResult",),
    "cwndlab.apps.notebook.stream": ("Replicate", "Stream"),
    "cwndlab.results.records": ("RecordTables",),
    "cwndlab.runs.run_options": ("RunOptions",),
    "cwndlab.stats.results": ("Estimate",),
    "cwndlab.api": ("Study", "open_results"),
    "cwndlab.plan.plan": ("Cell", "Plan"),
    "cwndlab.study.outputs": ("Claim", "Column", "Figure", "Table"),
    "cwndlab.study.schema": (
        *("App", "Axis", "AxisValue", "Direction", "Distribution", "Grid", "Impairment", "Link", "Probes"),
        *("Quantity", "Queue", "Run", "Tcp", "TcpGroup", "Topology", "Traffic"),
    ),
    "cwndlab.study.shorthand": ("Dumbbell", "FabricFlow", "Flow", "LeafSpine", "ParkingLot"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME:
        import importlib

        value: object = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name == "metrics":
        import cwndlab.metrics

        return cwndlab.metrics
    right = "; write cwndlab.open_results" if name == "open" else ""
    raise AttributeError(f"module 'cwndlab' has no attribute {name!r}{right}", name="" if right else name)


def __dir__() -> list[str]:
    return sorted([*__all__, "metrics"])


def studies() -> dict[str, str]:
    """The studies that come with cwndlab: name, for `run` and `Study.load`, and title.

    >>> cwndlab.studies()["rfc2416"]
    'When TCP starts up with four packets into only three buffers'

    Returns:
        Name -> title.

    """
    from cwndlab.study.document import titles

    return titles()


@check_arguments
def run(
    study: str | Path | Study,
    options: RunOptions | None = None,
    *,
    changes: Mapping[str, object] | None = None,
    cc: Mapping[str, type[CongestionControl] | str | Path] | None = None,
    **more: Unpack[OptionFields],
) -> RunResult:
    """Runs a study: a shipped name, a file, or a `Study`.

    >>> run = cwndlab.run(study, changes={"buffer": 2}, replicates=2)
    >>> run.axes
    {'buffer': [2]}

    Args:
        study: the name, the file or the object of the study.
        options: the options of the run; default: in memory, on all processors.
        changes: axes to restrict (``{"variant": "sack"}``) and keys to change (``{"run.duration": "10s"}``).
        cc: congestion controls of your own by the names that they get as ``window_law``: classes, or
            ``"FILE.py:CLASS"``. A name that the study does not use is added to the axis of window laws.
        more: fields of `RunOptions` by name, ``out="DIR"``, ``replicates=5``, ``backend="linux"``.

    Returns:
        The results; runs that failed are listed in `failures`.

    Raises:
        StudyError: the study, a change, a congestion control or an option is wrong.
        OutputError: the folder or the store cannot be used.
        ClusterError: the cluster cannot be reached, or runs another version of cwndlab.
        RunError: the backend cannot run on this machine.

    """
    from cwndlab.api import Study

    if "set" in more:
        raise ArgumentError("run() has no argument `set`; it is called `changes`")
    loaded = study if isinstance(study, Study) else Study.load(study)
    return loaded.run(options=options, changes=changes, cc=cc, **more)
