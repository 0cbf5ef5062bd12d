"""Performs one replicate, in a thread or on a cluster: the engine's run, then the measurements."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict, Unpack

from cwndlab import _core, metrics
from cwndlab._core import BudgetError, LawFailed, RunStopped, default_budget
from cwndlab.base.arrow_tables import decode_tables, encode_tables
from cwndlab.base.core import KeptRecords, Records, Value
from cwndlab.base.errors import ClusterError, RunError
from cwndlab.base.laws import Law, LawCode, load
from cwndlab.base.watch import limit_calls
from cwndlab.metrics import MetricCode, code_digest, ensure_known, own_code
from cwndlab.plan.probes import needed_probes
from cwndlab.plan.scenario import Compiled
from cwndlab.records import failures
from cwndlab.records.critical_path import SENDER_PROBES
from cwndlab.records.run_view import WholeRun
from cwndlab.records.window import SNAPSHOTS
from cwndlab.runs.executors.protocol import Job, Outcome, Stopped, never_stop

if TYPE_CHECKING:
    import pyarrow as pa

    from cwndlab.study.schema import Quantity

OVER_BUDGET = "simulate less (run.duration, rates, probes), or raise --max-events or --max-memory"
#: The fewest packet-hops (at least a second of simulation) of a replicate after the first whose records are
#: stored. Storing takes a tenth of the simulation's time, and only changed metrics use the records; shorter
#: runs are simulated again.
WORTH_KEEPING = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRuns:
    """Simulates replicates, and measures a study's quantities in their records (`Work`)."""

    quantities: tuple[Quantity, ...]
    #: The limits of one run; None for the engine's defaults.
    max_events: int | None = None
    max_memory_bytes: int | None = None
    #: The user's own congestion controls.
    laws: tuple[LawCode, ...] = ()
    #: Digest of the engine that every process must have.
    engine: str = field(default_factory=lambda: _core.engine_digest())
    #: Quantity -> the id under which the store has its values, which depends on the code of its metric.
    ids: Mapping[str, str] = field(init=False)
    #: The user's own metrics that the quantities use, as source text for other processes.
    own_metrics: tuple[MetricCode, ...] = field(init=False)
    _measurer: metrics.Measurer = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_measurer", metrics.Measurer(self.quantities))
        object.__setattr__(self, "ids", measure_ids(self.quantities))
        object.__setattr__(self, "own_metrics", own_code(q.metric for q in self.quantities))

    def without_known(self, ids: Collection[str]) -> MeasuredRuns:
        """The same work restricted to the quantities whose ids are not in `ids`, and their operands."""
        todo = [q.name for q in self.quantities if self.ids[q.name] not in ids]
        by_name = {q.name: q for q in self.quantities}
        needed: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in needed:
                needed.add(name)
                todo += by_name[name].operands
        return replace(self, quantities=tuple(q for q in self.quantities if q.name in needed))

    @property
    def memory_bytes(self) -> int:
        """The largest memory of one run, in bytes."""
        return default_budget()[1] if self.max_memory_bytes is None else self.max_memory_bytes

    def check(self) -> None:
        """ClusterError if this process has a different engine or different metrics than the caller."""
        if _core.engine_digest() != self.engine:
            raise ClusterError(
                f"worker {socket.gethostname()} runs another engine ({_core.version()}, digest "
                f"{_core.engine_digest()[:12]}; expected {self.engine[:12]}); "
                "install the same build everywhere"
            )
        ensure_known(self.own_metrics)
        own = measure_ids(self.quantities)
        changed = [name for name, key in self.ids.items() if own[name] != key]
        if changed:
            raise ClusterError(
                f"worker {socket.gethostname()} has other metric code for {', '.join(changed)}; "
                "install the same version of cwndlab everywhere and restart the workers"
            )

    def perform(self, jobs: Sequence[Job], stopped: Stopped = never_stop) -> Iterator[Outcome]:
        """Performs jobs one after another, until `stopped` returns true."""
        ensure_known(self.own_metrics)
        for job in jobs:
            outcome = self.perform_one(job, stopped)
            if outcome is None:
                return
            yield outcome

    def perform_one(self, job: Job, stopped: Stopped = never_stop) -> Outcome | None:
        """The outcome of a job; None if it was stopped. An outcome with an error does not stop other jobs."""
        if stopped(0.0):
            return None
        try:
            records = self._run(job, stopped)
        except RunStopped:
            return None
        except BudgetError as error:
            if job.budgets:  # may succeed without the probes of time budgets
                return self.perform_one(replace(job, budgets=()), stopped)
            return Outcome(job, {}, 0, error=str(error), advice=OVER_BUDGET)
        except (RuntimeError, ValueError, MemoryError) as error:
            return Outcome(job, {}, 0, error=str(error) or type(error).__name__)
        budgets = None
        if job.budgets:
            budgets, records = _budgets(job, records)
        view = WholeRun(records, job.parsed)
        try:
            values = self._values(view)
        except FAULTS as error:
            return Outcome(job, {}, int(records.packets), error=f"metrics: {_reason(error)}")
        kept = None
        if job.is_first or (job.keep_records and records.packets >= WORTH_KEEPING):
            names = records.names if job.is_first else sorted(tables_read(self.quantities) & {*records.names})
            # A report's page compares this digest with that of its own simulation.
            about: dict[str, str | int] = {}
            if job.is_first:
                about = {"digest": records.digest, "packets": records.packets}
            kept = encode_tables({name: view.table(name) for name in names}, job.key, about)
        return Outcome(job, values, int(records.packets), kept, budgets=budgets)

    def _run(self, job: Job, stopped: Stopped) -> _core.Records:
        """Runs a job in the engine and returns its records."""
        text = _with_budget_probes(job) if job.budgets else job.scenario
        scenario, laws = _engine_scenario(text), load_laws(self.laws)
        with limit_calls(laws):
            return scenario.run(
                job.seed,
                job.replicate,
                max_events=self.max_events,
                max_memory_bytes=self.max_memory_bytes,
                stopped=stopped,
                laws=laws,
            )

    def measure_records(self, job: Job, kept: bytes) -> Outcome | None:
        """Measures the stored records of a job; None if they are damaged or lack a table."""
        try:
            records = KeptRecords(decode_tables(kept, job.key))
            return Outcome(
                job, self.measure(job, records), 0, kept if job.keep_records else None, measured=True
            )
        except FAULTS:
            return None

    def measure(self, job: Job, records: Records) -> Mapping[str, Value]:
        """The values, by the ids of quantities, from the records of a job that was run elsewhere."""
        return self._values(WholeRun(records, job.parsed))

    def _values(self, view: WholeRun) -> dict[str, Value]:
        with limit_calls(self.own_metrics):
            values = {self.ids[name]: value for name, value in self._measurer.measure(view).items()}
        return values | failures.count_failures(view)


def load_laws(laws: Iterable[LawCode]) -> dict[str, Law]:
    """The laws by their digests, for the engine. Runs the code that defines them."""
    return {law.digest: load(law) for law in laws}


class RunLimits(TypedDict, total=False):
    """The limits of one run; without a key, the engine's default applies."""

    max_events: int
    max_memory_bytes: int
    max_seconds: float


def run_here(
    scenario: str, seed: int, replicate: int, laws: Iterable[LawCode], **limits: Unpack[RunLimits]
) -> _core.Records:
    """Runs one replicate in this process. RunError if it fails, BudgetError if it exceeds a limit."""
    code = load_laws(laws)
    try:
        with limit_calls(code):
            return _core.run(scenario, seed, replicate, laws=code, **limits)
    except BudgetError:
        raise
    except (RuntimeError, ValueError, MemoryError) as error:
        raise RunError(str(error) or type(error).__name__) from None


#: The exceptions of a metric that fails in a run; `LawFailed` if its call did not return.
FAULTS = (ValueError, KeyError, TypeError, ArithmeticError, IndexError, metrics.MetricFailed, LawFailed)


def _reason(error: Exception) -> str:
    if isinstance(error, metrics.MetricFailed | LawFailed):
        return str(error)
    words = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"{type(error).__name__}: {words}"


#: The keys of a quantity on which its values depend. The times of its window are in the scenario.
_MEASURED = {"metric", "options", "within", "unit", "window"}


def measure_id(quantity: Quantity, quantities: Mapping[str, Quantity]) -> str:
    """The id under which a quantity's values are stored: a digest of metric, options, unit and code."""
    spec = quantity.model_dump(mode="json", include=_MEASURED, exclude_none=True)
    spec["operation"] = quantity.operation
    operands = [measure_id(quantities[name], quantities) for name in quantity.operands]
    text = json.dumps([spec, operands, code_digest(quantity.metric)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def measure_ids(quantities: Sequence[Quantity]) -> dict[str, str]:
    """The id under which the store has the values of each quantity, by the quantity's name."""
    by_name = {quantity.name: quantity for quantity in quantities}
    return {name: measure_id(quantity, by_name) for name, quantity in by_name.items()}


@lru_cache(maxsize=16)
def _engine_scenario(scenario: str) -> _core.Scenario:
    """A scenario parsed by the engine; cached, because the replicates of a cell share it."""
    return _core.Scenario(scenario)


def _with_budget_probes(job: Job) -> str:
    """The job's scenario with the probes that time budgets need."""
    from cwndlab.records.critical_path import PROBES  # few studies have figures of budgets

    return Compiled({**job.parsed, "probes": {**job.parsed["probes"], **PROBES}}).json


def _budgets(job: Job, records: _core.Records) -> tuple[Mapping[str, pa.Table], _core.Records]:
    """The time budgets of a run, and its records without the tables that only their probes filled."""
    from cwndlab.base.core import time_budgets
    from cwndlab.records.critical_path import PROBES

    view, end = WholeRun(records, job.parsed), int(job.parsed["duration_ns"])
    try:
        budgets = {kind: time_budgets(view.table, job.parsed, end, kind) for kind in job.budgets}
    except ValueError:
        budgets = {}  # the figure simulates the run again, and reports the error
    off = (SENDER_PROBES[probe] for probe in PROBES.keys() & SENDER_PROBES if not job.parsed["probes"][probe])
    return budgets, records.without(sorted(table for tables in off for table in tables))


def tables_read(quantities: Sequence[Quantity]) -> set[str]:
    """The record tables that the quantities' metrics read, including snapshots at the edges of windows."""
    read = {table for q in quantities if q.metric is not None for table in metrics.get(q.metric).tables}
    read.add(failures.TABLE)
    return read | {SNAPSHOTS[table] for table in read & SNAPSHOTS.keys()}


def with_needed_probes(compiled: Compiled, quantities: Sequence[Quantity]) -> Compiled:
    """The scenario with only the probes whose tables the quantities need, for replicates after the first."""
    scenario = compiled.scenario
    probes = needed_probes(scenario["probes"], tables_read(quantities))
    return compiled if probes == scenario["probes"] else Compiled({**scenario, "probes": probes})


def cell_key(engine: str, completed: str, seed: int, backend: str = "") -> str:
    """The common part of the keys of a cell's runs, from its scenario and (`backend`) its kernel."""
    parts = "\0".join((engine, str(seed), completed))
    if backend:
        parts += "\0" + backend
    return hashlib.sha256(parts.encode()).hexdigest()


def replicate_key(cell: str, replicate: int) -> str:
    """The key of one run in the store; `cell` is the result of `cell_key`."""
    return hashlib.sha256(f"{cell}\0{replicate}".encode()).hexdigest()[:40]
