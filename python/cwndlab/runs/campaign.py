"""Runs a plan: performs missing replicates, in rounds under sequential stopping, and collects the results."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab import _core
from cwndlab.base.arrow_tables import decode_about, decode_tables
from cwndlab.base.core import Value
from cwndlab.base.errors import NotFoundError, OutputError
from cwndlab.metrics import is_list
from cwndlab.plan.plan import Cell, Plan, cell_id
from cwndlab.plan.scenario import Compiled, kernel_run, red_unit
from cwndlab.records.failures import failed_connections, failures_text, is_failure
from cwndlab.records.run_view import TableColumns
from cwndlab.runs.executors.protocol import ANSWER_S, Executor, Job, Outcome, SharedStore, is_repeatable
from cwndlab.runs.store.folder_store import FolderStore, Store
from cwndlab.stats.results import CellRecords, Results, Variation
from cwndlab.stats.stopping import StoppingRule, replicates_by_cell
from cwndlab.study.cells import CellInfo
from cwndlab.study.choices import COMBINATIONS, describe_choices
from cwndlab.study.labels import Labels
from cwndlab.study.values import text

from .kernel_side import find_kernels
from .progress import Progress
from .work import MeasuredRuns, cell_key, replicate_key, with_needed_probes

if TYPE_CHECKING:
    import pyarrow as pa


class Failure(NamedTuple):
    """A run that failed, with the reason."""

    cell: str
    replicate: int
    reason: str
    #: The remedy; "" if it is not known.
    advice: str = ""


@dataclass(eq=False, repr=False)
class Campaign:
    """A plan and the store of its replicates: runs missing replicates, and reads all results."""

    plan: Plan
    store: Store
    executor: Executor
    rule: StoppingRule | None = None
    progress: Progress = field(default_factory=Progress)
    failures: list[Failure] = field(default_factory=list)
    packets: int = 0
    performed: int = 0
    #: The number of replicates taken from the shared store.
    fetched: int = 0
    #: The number of replicates measured from stored records, because a metric is new or its code changed.
    measured: int = 0
    #: Messages about damaged data in the shared store.
    notes: list[str] = field(default_factory=list)
    #: The store shared with other processes, which may run the same plan; `executor` uses it.
    shared: SharedStore | None = None
    #: The part of keys that names the kernel and its set-up; "" for the simulator.
    backend: str = ""
    #: Cell that runs on another kernel -> the part of its keys that names this kernel.
    backends: Mapping[str, str] = field(default_factory=dict)
    #: The limits of one simulator run; None for the engine's defaults.
    max_events: int | None = None
    max_memory_bytes: int | None = None
    #: Whether the user's own congestion controls may run; false for results that are opened again.
    runs_laws: bool = True
    #: Digest of the engine that made the runs. Results of another version can be read, but not extended.
    engine: str = field(default_factory=lambda: _core.engine_digest())
    #: Quantity -> the id under which the store has its values.
    ids: Mapping[str, str] = field(default_factory=dict)
    #: For each cell, the kinds of objects with time budgets in the report; computed with replicate 0.
    shown_budgets: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Called with cell, replicate and values for each finished replicate, first for those in the store.
    finished: Callable[[str, int, Mapping[str, Value]], None] | None = None

    def __post_init__(self) -> None:
        self.work = MeasuredRuns(
            tuple(self.plan.study.outline.quantities),
            self.max_events,
            self.max_memory_bytes,
            tuple(self.plan.study.laws.values()),
            self.engine,
        )
        self.ids = self.ids or self.work.ids
        self._ids = set(self.ids.values())
        self.cells: dict[str, Cell] = {cell.id: cell for cell in self.plan.cells}
        self._keys = {
            cell.id: cell_key(
                self.engine,
                kernel_run(cell.completed_scenario) if self.backend else cell.completed_scenario,
                self.plan.derive_seed(cell),
                self.backends.get(cell.id, self.backend),
            )
            for cell in self.plan.cells
        }
        #: Key -> its cells: cells with equal scenarios and seeds share their runs.
        self._named: dict[str, list[str]] = {}
        for cell, key in self._keys.items():
            self._named.setdefault(key, []).append(cell)
        #: The cells to run; of several cells that share their runs, only the first.
        self._own = set({key: cell for cell, key in reversed(self._keys.items())}.values())
        #: The number of replicates that each cell needs; sequential stopping raises it.
        self.wanted = {cell.id: self._first_wanted(cell) for cell in self.plan.cells}
        #: The number of replicates of each cell that this round has not finished.
        self._unfinished: dict[str, int] = {}
        #: Keys of replicates with all quantities in the store.
        self._whole: set[str] = set()
        self._partial: dict[frozenset[str], MeasuredRuns] = {}
        self._budgets: dict[tuple[str, str | None], pa.Table] = {}

    def _is_exact(self, cell: Cell) -> bool:
        """Whether all runs of a cell would be equal, so that one replicate suffices."""
        return cell.deterministic and is_repeatable(self.backend)

    def _first_wanted(self, cell: Cell) -> int:
        """The number of replicates of a cell in the first round of sequential stopping, or in all."""
        if self._is_exact(cell):
            return 1
        if self.rule is None:
            return self.plan.count_requested(cell)
        return min(self.rule.cap, max(self.rule.first_look, 1))

    def key(self, cell: str, replicate: int) -> str:
        """The key of a replicate in the store."""
        return replicate_key(self._keys[cell], replicate)

    @property
    def did_work(self) -> bool:
        """Whether replicates were run, fetched or measured, or failed."""
        return bool(self.performed or self.fetched or self.measured or self.failures)

    def run(self) -> None:
        """Runs the missing replicates. Failed runs are added to `failures` and do not stop the others."""
        if isinstance(self.store, FolderStore):
            for cell, wanted in self.wanted.items():
                for replicate in range(wanted):
                    if (key := self.key(cell, replicate)) in self.store:
                        self.store.check_records(key, required=replicate == 0)
        total = sum(wanted for cell, wanted in self.wanted.items() if cell in self._own)
        missing = sum(1 for _ in self._missing())
        self.progress.start(len(self.cells), total, total - missing)
        for _ in range(len(self.cells) - len({cell for cell, _ in self._missing()})):
            self.progress.cell_done()
        self._report_finished(
            (cell, k) for cell in self._own for k in range(self.wanted[cell]) if self.has_replicate(cell, k)
        )
        while True:
            self._measure_kept()
            self._unfinished = {}
            for cell, _ in self._missing():
                self._unfinished[cell] = self._unfinished.get(cell, 0) + 1
            if self._unfinished:
                self._check_version("Runs are missing")
                self.executor.execute(self._jobs(), self.work, self._deliver)
            if self.rule is None or self.failures or not self._extend():
                break
        order = {cell: position for position, cell in enumerate(self.cells)}
        self.failures.sort(key=lambda failure: (order[failure.cell], failure.replicate))
        self.store.finish()

    def _report_finished(self, finished: Iterable[tuple[str, int]]) -> None:
        """Calls `finished` for these replicates, and for those of cells that share the runs."""
        if self.finished is not None:
            for cell, replicate in finished:
                for name in self._named[self._keys[cell]]:
                    self.finished(name, replicate, self.values(name, replicate))

    def _missing(self) -> Iterator[tuple[str, int]]:
        """Yields cell and number of each wanted replicate that the store lacks."""
        for cell, wanted in self.wanted.items():
            for replicate in range(wanted if cell in self._own else 0):
                if not self.has_replicate(cell, replicate):
                    yield cell, replicate

    def has_replicate(self, cell: str, replicate: int) -> bool:
        """Whether the store has the values of all quantities of a replicate."""
        key = self.key(cell, replicate)
        if key not in self._whole and key in self.store and self._ids <= self.store.values(key).keys():
            self._whole.add(key)
        return key in self._whole

    def present(self) -> dict[str, int]:
        """The number of complete replicates of each cell; fewer than `wanted` if runs failed."""
        return {
            cell: sum(self.has_replicate(cell, replicate) for replicate in range(wanted))
            for cell, wanted in self.wanted.items()
        }

    def _measure_kept(self) -> None:
        """Measures the missing values of replicates whose records are stored, without running them."""
        for cell, replicate in list(self._missing()):
            key = self.key(cell, replicate)
            records = self.store.records(key) if key in self.store else None
            if records is None:
                continue
            kept = self.store.values(key)
            usable = {name: v for name, v in kept.items() if name in self._ids or is_failure(name)}
            outcome = self._work_for(frozenset(usable)).measure_records(self._job(cell, replicate), records)
            if outcome is not None:
                self.store.add(outcome._replace(values={**usable, **outcome.values}, records=None))
                self.measured += 1
                self._report_finished([(cell, replicate)])

    def _work_for(self, ids: frozenset[str]) -> MeasuredRuns:
        """Work that measures only the quantities whose ids are not in `ids`; cached."""
        if ids not in self._partial:
            self._partial[ids] = self.work.without_known(ids)
        return self._partial[ids]

    def _order(self) -> Iterator[tuple[str, int]]:
        """Yields the missing replicates in the order of running. With a shared store the first one is random,
        so that processes that start together perform different runs.
        """
        if self.shared is None:
            yield from self._missing()
            return
        missing = sum(1 for _ in self._missing())
        own = random.SystemRandom().randrange(max(missing, 1))
        # Replicates before `own` are still missing, so the second call yields them first.
        yield from islice(self._missing(), own, None)
        yield from islice(self._missing(), own)

    def _jobs(self) -> Iterator[Job]:
        fewer: dict[str, Compiled] = {}
        for cell, replicate in self._order():
            job = self._job(cell, replicate)
            if replicate > 0 and not self.backend:  # runs on kernels are costly, so they record everything
                if cell not in fewer:
                    fewer = {cell: with_needed_probes(self.cells[cell].compiled, self.work.quantities)}
                job = replace(job, scenario=fewer[cell].json, content=fewer[cell].scenario)
            elif not self.backend and self.scenario(cell)["probes"]["connections"]:
                names = self._named[self._keys[cell]]
                kinds = {kind for name in names for kind in self.shown_budgets.get(name, ())}
                job = replace(job, budgets=tuple(sorted(kinds))) if kinds else job
            yield job

    def _job(self, cell: str, replicate: int) -> Job:
        return Job(
            self.key(cell, replicate),
            cell,
            self.cells[cell].scenario,
            self.plan.derive_seed(self.cells[cell]),
            replicate,
            keep_records=replicate == 0 or self.shared is not None or isinstance(self.store, FolderStore),
            content=self.scenario(cell),
        )

    def scenario(self, cell: str) -> Mapping[str, Any]:
        """The compiled scenario of a cell."""
        return self.cells[cell].compiled.scenario

    def _deliver(self, outcome: Outcome) -> None:
        job = outcome.job
        if outcome.error is not None:
            self.failures.append(Failure(job.cell, job.replicate, outcome.error, outcome.advice))
        else:
            self.store.add(outcome)
            if self._ids <= outcome.values.keys():
                self._whole.add(job.key)
        for kind, table in (outcome.budgets or {}).items():
            self._budgets[job.key, kind] = table
        self.performed += not (outcome.fetched or outcome.measured)
        self.measured += outcome.measured
        self.fetched += outcome.fetched
        if outcome.note is not None:
            self.notes.append(outcome.note)
        if outcome.error is None:
            self._report_finished([(job.cell, job.replicate)])
        self.packets += outcome.packets
        self.progress.advance(outcome.packets)
        self._unfinished[job.cell] -= 1
        if self._unfinished[job.cell] == 0:
            self.progress.cell_done()

    # ── sequential stopping ───────────────────────────────────────────────────────────────────────────────

    def _extend(self) -> bool:
        """Raises `wanted` of cells that do not meet the stopping rule. Returns whether any was raised.

        The decision depends only on values, not on the order in which runs finished.
        """
        assert self.rule is not None
        results = self._results({cell: cell for cell in self.wanted})
        forecasts = replicates_by_cell(self.rule, results, self.plan.study.outline.tables)
        more, cells = 0, 0
        for cell, wanted in self.wanted.items():
            if self._is_exact(self.cells[cell]) or wanted >= self.rule.cap:
                continue
            forecast = forecasts[cell]
            if forecast > wanted:
                # A forecast from few values is uncertain, so at most double the number.
                self.wanted[cell] = min(self.rule.cap, 2 * wanted, max(forecast, wanted + 1))
                more += self.wanted[cell] - wanted if cell in self._own else 0
                cells += cell in self._own
        if more:
            self.progress.add_replicates(more, cells)
        return more > 0

    # ── results ───────────────────────────────────────────────────────────────────────────────────────────

    def results(self) -> Results:
        """The results for statistics and reports, without the cells of sensitivity axes."""
        return self._results({cell.id: cell.id for cell in self.plan.cells if cell.sensitivity is None})

    def variations(self) -> list[Variation]:
        """The study's results with each sensitivity choice, and each combination, that was run.

        Choices that change neither scenarios nor quantities are left out.
        """
        study, sensitivity = self.plan.study, self.plan.study.outline.sensitivity
        cells_by_choice: dict[tuple[str, str], dict[str, str]] = {}
        for cell in self.plan.cells:
            if cell.sensitivity is not None:
                value = (
                    describe_choices(study, cell.choices)
                    if cell.sensitivity == COMBINATIONS
                    else text(cell.axes[cell.sensitivity])
                )
                varied = cell_id({n: v for n, v in cell.axes.items() if n not in cell.choices})
                cells_by_choice.setdefault((cell.sensitivity, value), {})[varied] = cell.id
        base = {cell.id: cell.id for cell in self.plan.cells if cell.sensitivity is None}
        variations = []
        for (axis, value), cells in cells_by_choice.items():
            choices = self.cells[next(iter(cells.values()))].choices
            read = {a: b for n, v in choices.items() for a, b in sensitivity[n].read(v).items()}
            if read or any(self._keys[cell] != self._keys[varied] for varied, cell in cells.items()):
                title = (sensitivity[axis].title or axis) if axis in sensitivity else axis
                other = frozenset(v for v, cell in cells.items() if read or self._keys[cell] != self._keys[v])
                variations.append(
                    Variation(
                        title,
                        value,
                        self._results(base | cells, read),
                        axis not in sensitivity,
                        other,
                        base | cells,
                    )
                )
        return variations

    def _results(self, cells: Mapping[str, str], read: Mapping[str, str] | None = None) -> Results:
        """The results of cells. `cells` maps each cell shown to the cell that was run for it; `read` maps a
        quantity to the quantity whose values replace it.
        """
        data: dict[tuple[str, str], list[Value]] = {}
        failed: dict[str, str] = {}
        quantities = {quantity.name: quantity for quantity in self.plan.study.outline.quantities}
        unmeasured: dict[str, Value] = {
            name: [] if is_list(quantities[name], quantities) else math.nan for name in self.ids
        }
        for shown, cell in cells.items():
            present = [k for k in range(self.wanted[cell]) if self.has_replicate(cell, k)]
            runs = []
            for replicate in range(present[-1] + 1 if present else 0):
                if replicate not in present:  # the run failed; the other replicates keep their numbers
                    for name, nothing in unmeasured.items():
                        data.setdefault((shown, name), []).append(nothing)
                    continue
                kept = self.store.values(self.key(cell, replicate))
                runs.append({name: value for name, value in kept.items() if is_failure(name)})
                for name in self.ids:
                    value = kept[self.ids[(read or {}).get(name, name)]]
                    data.setdefault((shown, name), []).append(value)
            if text := failures_text(failed_connections(runs), len(present)):
                failed[shown] = text
        study = self.plan.study
        return Results(
            tuple(CellInfo(shown, dict(self.cells[shown].axes)) for shown in cells),
            Labels.from_outline(study.outline, tuple(traffic.name for traffic in study.base.traffic)),
            data,
            answer_s=ANSWER_S if self.backend else 0.0,
            deterministic={shown for shown, cell in cells.items() if self._is_exact(self.cells[cell])},
            seeds={shown: str(self.plan.derive_seed(self.cells[cell])) for shown, cell in cells.items()},
            remarks={shown: text for shown, cell in cells.items() if (text := self._remark(cell))},
            failed=failed,
            records=_KeptRecords(self, cells),
        )

    def _remark(self, cell: str) -> str:
        """A note on a cell if the kernel's loss recovery differs from the study's; else ""."""
        if not self.backend or (side := find_kernels()) is None:
            return ""
        scenario = self.scenario(cell)
        used = {
            end for traffic in scenario["traffic"] for end in (traffic["tcp_client"], traffic["tcp_server"])
        }
        return side.other_recovery(self.backend, [scenario["tcp"][end] for end in sorted(used)])

    @property
    def damaged(self) -> list[str]:
        """Messages about damaged data in the stores; all of it was computed again."""
        return [*(self.store.damaged if isinstance(self.store, FolderStore) else []), *self.notes]

    def values(self, cell: str, replicate: int) -> dict[str, Value]:
        """The value of each quantity in a stored replicate."""
        values = self.store.values(self.key(cell, replicate))
        return {name: values[key] for name, key in self.ids.items()}

    def tables(self, cell: str, replicate: int = 0) -> Mapping[str, pa.Table]:
        """The record tables of a replicate, from the store or by simulating the run again.

        Replicates after the first are simulated again: of them, only tables that metrics read are stored.
        """
        if not 0 <= replicate < self.wanted[cell]:
            last = self.wanted[cell] - 1
            has = f"0 to {last}" if last else "only replicate 0"
            raise NotFoundError(f"there is no replicate {replicate} of {cell}; it has {has}")
        key = self.key(cell, replicate)
        kept = self.store.records(key)
        if kept is not None and (replicate == 0 or self.backend):
            return decode_tables(kept, key)
        return self.simulate_again(cell, replicate, {}) if replicate > 0 and not self.backend else {}

    def budgets(self, cell: str, replicate: int, kind: str | None) -> pa.Table | None:
        """The time budgets of a replicate if this process computed them with the run; else None."""
        return self._budgets.get((self.key(cell, replicate), kind))

    def digest(self, cell: str) -> tuple[str, int]:
        """Digest of the records of a cell's first replicate, and its packet-hops; "" and 0 if not stored."""
        key = self.key(cell, 0)
        kept = self.store.records(key)
        about = decode_about(kept, key) if kept is not None else {}
        return str(about.get("digest", "")), int(about.get("packets", 0))

    def simulate_again(
        self, cell: str, replicate: int, changes: Mapping[str, object]
    ) -> Mapping[str, pa.Table]:
        """The tables of a replicate, simulated again with these keys of the scenario changed.

        OutputError for runs on a kernel or of another version, and for opened results that use the user's
        code.
        """
        if self.backend:
            raise OutputError(
                "this was not recorded, and a kernel's run is not made again for it; set [probes]"
            )
        if self.work.laws and not self.runs_laws:
            raise OutputError(
                f"the records of replicate {replicate} are not kept, and opening results runs no code; "
                "run the study again with its congestion controls (--cc)"
            )
        self._check_version(f"Replicate {replicate} of {cell} would have to be simulated again")
        from .single_run import simulate_tables, with_keys  # rarely needed

        scenario = with_keys(self.cells[cell].scenario, changes)
        return simulate_tables(scenario, self.plan.derive_seed(self.cells[cell]), replicate, self.work.laws)

    @property
    def is_of_this_version(self) -> bool:
        """Whether the current engine and metrics made the values, so that runs can be repeated."""
        return self.engine == _core.engine_digest() and self.ids == self.work.ids

    def _check_version(self, why: str) -> None:
        if not self.is_of_this_version:
            raise OutputError(f"{why}, but another version of cwndlab made these runs; run the study again")

    def records(self, cell: str, table: str) -> Mapping[str, Any]:
        """Columns of a record table of a cell's first replicate; NotFoundError if it was not recorded."""
        tables = self.tables(cell)
        if table not in tables:
            raise NotFoundError(f"no table {table!r} was recorded for cell {cell!r}")
        return TableColumns(tables[table])


@dataclass(frozen=True)
class _KeptRecords(CellRecords):
    """The stored records of a campaign, as results read them."""

    campaign: Campaign
    #: Cell of the results -> the cell of the plan that was run for it.
    cells: Mapping[str, str]

    def table(self, cell: str, name: str) -> Mapping[str, Any]:
        return self.campaign.records(self.cells[cell], name)

    def links(self, cell: str) -> list[str]:
        return [link["name"] for link in self.campaign.scenario(self.cells[cell])["links"]]

    def average_unit(self, cell: str, link: int) -> str:
        return red_unit(self.campaign.scenario(self.cells[cell])["links"][link]["queue"])
