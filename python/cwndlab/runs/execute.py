"""One replicate: the engine's run, then the study's quantities of its records. The same on a thread and on a
cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from cwndlab import metrics
from cwndlab.core import core
from cwndlab.metrics import Value
from cwndlab.study.schema import Quantity

from .view import RunView


@dataclass(frozen=True)
class Job:
    """One replicate of one cell."""

    key: str
    cell: str
    scenario: str
    seed: int
    replicate: int
    #: Whether its record tables are kept (those of replicate 0 are); others run with fewer probes.
    keep_records: bool
    #: The cell's warm-up, which metrics over a window leave out.
    warmup_ns: int = 0


@dataclass(frozen=True)
class Asked:
    """What a study asks of every run."""

    quantities: tuple[Quantity, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a job: values, or why it failed."""

    job: Job
    values: Mapping[str, Value]
    packets: int
    tables: Mapping[str, pa.Table] | None = None
    error: str | None = None
    #: What to do about the error, where something can be done.
    advice: str = ""
    #: Taken from the shared store, not performed.
    fetched: bool = False
    #: What was found damaged on the way, in words.
    note: str | None = None


def perform(job: Job, asked: Asked, scenario: Mapping[str, Any] | None = None) -> Outcome:
    """Runs a job; a failure is an outcome too, so that one bad cell does not lose the others."""
    try:
        records = core().run(job.scenario, job.seed, job.replicate)
    except (RuntimeError, ValueError, MemoryError) as error:
        return Outcome(job, {}, 0, error=str(error) or type(error).__name__)
    view = RunView(records, scenario if scenario is not None else json.loads(job.scenario), job.warmup_ns)
    try:
        values = metrics.measure_all(asked.quantities, view)
    except (ValueError, KeyError, TypeError, ArithmeticError, IndexError) as error:
        reason = error.args[0] if isinstance(error, KeyError) and error.args else error
        return Outcome(job, {}, int(records.packets), error=f"metrics: {type(error).__name__}: {reason}")
    tables = {name: view.table(name) for name in records.names} if job.keep_records else None
    return Outcome(job, values, int(records.packets), tables)


def lean(scenario: Mapping[str, Any], quantities: Sequence[Quantity]) -> str:
    """The scenario with only the probes that quantities read, for replicates whose records are not kept."""
    needed = {table for q in quantities if q.metric is not None for table in metrics.get(q.metric).tables}
    probes = dict(scenario["probes"])
    if "segments" not in needed:
        probes["segments_at"] = None
    if "queues" not in needed:
        probes |= {"queues": [], "queue_interval_ns": None}
    probes["cwnd"] = probes["cwnd"] and "cwnd" in needed
    return json.dumps({**scenario, "probes": probes}, separators=(",", ":"), allow_nan=False)


def asked_key(asked: Asked) -> str:
    """Hash of what is asked, the code of the metrics included: a changed metric is measured anew."""
    spec = [
        [
            q.model_dump(include={"name", "metric", "options", "within", "unit", "derived", "of", "by"})
            for q in asked.quantities
        ],
        _metrics_code(),
    ]
    return hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()


@cache
def _metrics_code() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(metrics.__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def cell_key(scenario: str, seed: int, asked: str, warmup_ns: int = 0, backend: str = "") -> str:
    """Common part of the keys of a cell's replicates; `backend` is "" for the simulator."""
    parts = "\0".join((core().version(), asked, str(warmup_ns), str(seed), scenario))
    if backend:
        parts += "\0" + backend
    return hashlib.sha256(parts.encode()).hexdigest()


def replicate_key(cell: str, replicate: int) -> str:
    """Key of one replicate in the store: (compiled scenario, seed, replicate, engine version, metrics)."""
    return hashlib.sha256(f"{cell}\0{replicate}".encode()).hexdigest()[:40]


def measured_names(quantities: Sequence[Quantity]) -> list[str]:
    """Names of the quantities in the study's order."""
    return [quantity.name for quantity in quantities]
