"""cwndlab: a laboratory for TCP, from a study file to a report.

>>> import cwndlab
>>> run = cwndlab.run("rfc2416", set={"variant": "sack", "iw": 4})   # doctest: +SKIP
>>> run.records["segments"]                                          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab._core import version
from cwndlab.errors import ClusterError, CwndlabError, OutputError, RunError, StudyError

if TYPE_CHECKING:
    from cwndlab.runs.api import RecordTables, RunResult
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
    "RunResult": "cwndlab.runs.api",
    "RecordTables": "cwndlab.runs.api",
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


def run(
    study: str | Path | Study,
    *,
    set: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    until: float | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    store: str | Path | None = None,
    sensitivity: str | None = None,
    backend: str = "simulator",
    stack: str = "linux-1998",
) -> RunResult:
    """Runs a study: a shipped name, a file, or a `Study`.

    Args:
        study: what to run.
        set: axes to restrict (``{"variant": "sack"}``) and keys to change (``{"run.duration": "10s"}``).
        out: folder for records, verdicts and report; without it everything stays in memory.
        replicates: of each cell; default: the study's.
        seed: of all random streams; default: the study's.
        until: sequential stopping, the relative half-width (0.02) of each number's 95 % interval.
        threads: of this machine; default: all processors.
        cluster: address of a dask scheduler ("tcp://…") in place of threads.
        store: a folder or an object store (s3://…) that others share: what is there is not run again.
        sensitivity: an axis of [sensitivity], or "all".
        backend: "simulator", or "linux": this machine's kernel.
        stack: the kernel's TCP: "linux-1998", "linux-stock", or a TOML file.

    """
    from cwndlab.runs.api import run_study
    from cwndlab.study.load import Study

    loaded = study if isinstance(study, Study) else Study.load(study)
    if set:
        loaded = loaded.set(set)
    return run_study(
        loaded,
        out=out,
        replicates=replicates,
        seed=seed,
        until=until,
        threads=threads,
        cluster=cluster,
        store=store,
        sensitivity=sensitivity,
        backend=backend,
        stack=stack,
    )
