"""One replicate: the engine's run, then the study's quantities of its records. The same on a thread and on a
cluster.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cwndlab import metrics
from cwndlab._core import BudgetError, RunStopped
from cwndlab.backends.protocol import Job, Outcome, Value
from cwndlab.core import Records, core
from cwndlab.errors import OutputError
from cwndlab.records.view import RunView
from cwndlab.spec.schema import Quantity
from cwndlab.store import shared

OVER_BUDGET = "simulate less (run.duration, rates, probes), or raise --max-events or --max-memory"
#: What is finished is handed in to the shared store at least this often, seconds.
FLUSH_S = 0.5


@dataclass(frozen=True)
class Measure:
    """Simulates replicates and measures a study's quantities of their records."""

    quantities: tuple[Quantity, ...]
    #: The shared store, as `store.shared.where` writes it: what is there is taken from there.
    store: str | None = None
    #: What a run may use; None: the engine's default.
    max_events: int | None = None
    max_memory_bytes: int | None = None

    def perform(self, jobs: Sequence[Job], stopped: Callable[[], bool] = lambda: False) -> Iterator[Outcome]:
        """Performs jobs in turn; those in the shared store are taken from there, the others put there.

        An outcome comes out once it is kept there, so that what others are told of is never lost.
        """
        if self.store is None:
            for job in jobs:
                outcome = self.perform_one(job, stopped)
                if outcome is None:
                    return
                yield outcome
            return
        objects = shared.opened(self.store)
        with shared.using(self.store):
            found = shared.fetch(jobs, objects)
        waiting: list[Outcome] = []
        flushed = time.monotonic()
        for job in jobs:
            known = found.get(job.key)
            if isinstance(known, Outcome):
                yield known
                continue
            outcome = self.perform_one(job, stopped)
            if outcome is None:
                break
            waiting.append(replace(outcome, note=known) if known is not None else outcome)
            if time.monotonic() - flushed > FLUSH_S:
                yield from _handed_in(waiting, objects, self.store)
                waiting, flushed = [], time.monotonic()
        yield from _handed_in(waiting, objects, self.store)

    def perform_one(self, job: Job, stopped: Callable[[], bool] = lambda: False) -> Outcome | None:
        """Runs a job, None if it was stopped; a failure is an outcome too, so that one bad cell does not lose
        the others.
        """
        if stopped():
            return None
        try:
            records = core().run(
                job.scenario,
                job.seed,
                job.replicate,
                max_events=self.max_events,
                max_memory_bytes=self.max_memory_bytes,
                stopped=stopped,
            )
        except RunStopped:
            return None
        except BudgetError as error:
            return Outcome(job, {}, 0, error=str(error), advice=OVER_BUDGET)
        except (RuntimeError, ValueError, MemoryError) as error:
            return Outcome(job, {}, 0, error=str(error) or type(error).__name__)
        view = RunView(records, _parsed(job.scenario), job.warmup_ns)
        try:
            values = metrics.measure_all(self.quantities, view)
        except (ValueError, KeyError, TypeError, ArithmeticError, IndexError) as error:
            reason = error.args[0] if isinstance(error, KeyError) and error.args else error
            return Outcome(job, {}, int(records.packets), error=f"metrics: {type(error).__name__}: {reason}")
        tables = {name: view.table(name) for name in records.names} if job.keep_records else None
        return Outcome(job, values, int(records.packets), tables)

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        """Values of the records of a job that ran elsewhere."""
        return metrics.measure_all(self.quantities, RunView(records, _parsed(job.scenario), job.warmup_ns))


@lru_cache(maxsize=16)
def _parsed(scenario: str) -> Mapping[str, Any]:
    """A cell's scenario, which its replicates share."""
    content: Mapping[str, Any] = json.loads(scenario)
    return content


def _handed_in(outcomes: list[Outcome], objects: shared.Objects, place: str) -> Iterator[Outcome]:
    """The outcomes, once they are in the store; if that fails they come out first, then the error."""
    try:
        with shared.using(place):
            shared.hand_in(outcomes, objects)
    except OutputError:
        yield from outcomes
        raise
    yield from outcomes


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


def asked_key(quantities: Sequence[Quantity]) -> str:
    """Hash of what is asked, the code of the metrics included: a changed metric is measured anew."""
    spec = [
        [
            q.model_dump(include={"name", "metric", "options", "within", "unit", "derived", "of", "by"})
            for q in quantities
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
