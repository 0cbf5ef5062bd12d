"""Runs a study and returns its results; used by `cwndlab.run` and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from cwndlab import _core
from cwndlab.base.core import Value
from cwndlab.base.errors import StudyError
from cwndlab.base.plain_files import write_inside
from cwndlab.base.usercode import stop_loading
from cwndlab.metrics import own_code
from cwndlab.plan.plan import Plan, make_plan
from cwndlab.records.window import window_edges
from cwndlab.report import judge
from cwndlab.report.contents import REPORT, collect_outputs
from cwndlab.report.methods import STACK_FILE, definitions, describe_run, facts, missing_runs
from cwndlab.report.model import DifferencesView, LiveView, TwinView
from cwndlab.report.verdict_files import write_verdicts
from cwndlab.report.write import build_view, draw_figures, write
from cwndlab.runs.backend_check import check_backend
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.executors.threads import CHUNK_S, SHARED_CHUNK_S, Threads, available
from cwndlab.runs.kernel_side import kernels
from cwndlab.runs.progress import Progress
from cwndlab.runs.progress import default as default_progress
from cwndlab.runs.run_options import OptionFields, RunOptions, chosen_options
from cwndlab.runs.store.folder_store import FolderStore, MemoryStore
from cwndlab.runs.store.provenance import Commit, provenance

from . import result_folder as folders
from .records import RecordTables
from .result import RunResult
from .study_figures import with_replays

if TYPE_CHECKING:
    from cwndlab.report.figures import Drawing
    from cwndlab.runs.executors.protocol import Executor, SharedStore
    from cwndlab.runs.kernel_side import KernelExecutor
    from cwndlab.stats.results import Results
    from cwndlab.stats.stopping import StoppingRule
    from cwndlab.study.study_spec import StudySpec


#: A function that is called with cell, number and values of each finished replicate.
Finished = Callable[[str, int, Mapping[str, Value]], None]


def run_study(
    study: StudySpec,
    options: RunOptions | None = None,
    *,
    progress: Progress | None = None,
    finished: Finished | None = None,
    planned: Callable[[Plan], None] = lambda plan: None,
    judged: Callable[[RunResult], None] = lambda result: None,
    **more: Unpack[OptionFields],
) -> RunResult:
    """Runs a study; `more` are fields of the options by name, None for those not given.

    `planned` is called before the first run, `finished` with each replicate, and `judged` when verdicts.csv
    and claims.csv are written, before the report's figures are drawn.
    """
    options = chosen_options(options, more)
    plan = checked_plan(study, options)
    planned(plan)
    return run_plan(plan, options, progress=progress, finished=finished, judged=judged)


def checked_plan(study: StudySpec, options: RunOptions) -> Plan:
    """The plan of a study, compiled and checked; StudyError if a run with these options is impossible."""
    plan = sound_plan(study, options)
    check_backend(plan, options)
    return plan


def sound_plan(study: StudySpec, options: RunOptions) -> Plan:
    """The plan of a study, checked except for the backend; StudyError if a check fails."""
    stop_loading()
    plan = make_plan(study, replicates=options.replicates, seed=options.seed, sensitivity=options.sensitivity)
    plan.check()
    check_outputs(plan)
    return plan


def check_outputs(plan: Plan) -> None:
    """StudyError for a table, figure or claim that the study's cells cannot show.

    If the plan is restricted to some cells, the check uses those of the whole study.
    """
    study = plan.study
    if study.document.chosen:
        plan = make_plan(replace(study, document=replace(study.document, chosen={})))
    cells = {cell.id: cell for cell in plan.cells if cell.sensitivity is None}
    axes = {name: cell.axes for name, cell in cells.items()}
    judge.check_outputs(study, axes, lambda name: cells[name].compiled.scenario)


def run_plan(
    plan: Plan,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    finished: Finished | None = None,
    judged: Callable[[RunResult], None] = lambda result: None,
) -> RunResult:
    """Runs a plan that `checked_plan` returned for these options."""
    began = datetime.now(UTC)
    study = plan.study
    shared = _open_shared_store(options, study)
    kernel = find_kernel_executor(options, plan)
    rule = _rule(study, plan, options.until)
    folder = Path(options.out) if options.out is not None else None
    kept = folders.prepare(folder, study) if folder is not None else MemoryStore()
    progress = progress or default_progress()
    executor: Executor = kernel or _executor(options, study, progress)
    executor = executor if shared is None else shared.wrap(executor)
    if kernel is not None:
        kernel.watcher = progress
        kernel.keep = folder / "kernel" if folder is not None else None
        kernel.prepare(plan.cells)
    try:
        campaign = Campaign(
            plan,
            kept,
            executor,
            rule,
            progress,
            shared=shared,
            backend=kernel.key if kernel is not None else "",
            backends=kernel.keys if kernel is not None else {},
            max_events=options.max_events,
            max_memory_bytes=options.max_memory_bytes,
            finished=finished,
            shown_budgets=_shown_budgets(plan) if folder is not None else {},
        )
        if folder is not None:
            return _run_into(folder, campaign, options, kernel, began, judged)
        campaign.run()
        return gather_results(campaign)
    finally:
        if isinstance(kept, FolderStore):
            kept.close()


def gather_results(campaign: Campaign, folder: Path | None = None) -> RunResult:
    """The results of a campaign that has run, or was opened from its folder."""
    records = RecordTables([cell.id for cell in campaign.plan.cells], campaign)
    results, choices = campaign.results(), campaign.variations()
    return RunResult(campaign.plan, results, records, campaign, campaign.failures, choices, folder)


def _shown_budgets(plan: Plan) -> Mapping[str, Collection[str]]:
    """Cell -> the kinds of objects ("page", "connection", …) whose time budgets figures show."""
    if not any(figure.kind == "budget" for figure in plan.study.outline.figures):
        return {}
    shown: Mapping[str, Collection[str]]
    shown = import_module("cwndlab.apps.diagnosis.time_budgets").shown_budgets(plan)
    return shown


def _run_into(
    folder: Path,
    campaign: Campaign,
    options: RunOptions,
    kernel: KernelExecutor | None,
    began: datetime,
    judged: Callable[[RunResult], None],
) -> RunResult:
    """Runs into a folder and writes the report, unless the folder has the report of the same inputs."""
    study = campaign.plan.study
    inputs = folders.inputs(campaign, folder) if kernel is None else ""
    finished_before = bool(inputs) and folders.has_report_for(folder, inputs)
    commit = None
    if not finished_before:
        commit = Commit()
        folders.begin(folder, study)
    try:
        campaign.run()
    finally:
        # `Commit` forks git; until git runs, the forked process also holds the store's lock.
        if commit is not None:
            commit.wait()
    result = gather_results(campaign, folder)
    if finished_before and not campaign.did_work:
        result.report = folder / REPORT
        judged(result)
        return result
    content = _provenance(campaign, options, kernel, began, commit or Commit())
    content |= folders.keep_code(folder, study.laws.values(), campaign.work.own_metrics)
    content |= folders.kernel_laws(campaign.plan)
    content |= folders.stacks(campaign.plan)
    if kernel is not None and kernel.stack.text is not None:
        write_inside(folder, STACK_FILE, kernel.stack.text.encode())
    folders.write_provenance(folder, content)
    if result.results.data:
        result.report = write_report(campaign, result, content, on_verdicts=lambda: judged(result))
        folders.write_provenance(folder, content | {"inputs": inputs})
    return result


def _open_shared_store(options: RunOptions, study: StudySpec) -> SharedStore | None:
    """The shared store of `--store`, created if it is new; StudyError if processes cannot share it."""
    if options.store is None:
        return None
    if (options.cluster is not None or _has_own_code(study)) and str(options.store).startswith("memory:"):
        raise StudyError(
            "memory:// cannot be shared between processes", key="--store", right="name a folder or s3://…"
        )
    store: SharedStore = import_module("cwndlab.apps.shared_store.shared_store").prepare(options.store)
    return store


def _provenance(
    campaign: Campaign, options: RunOptions, kernel: KernelExecutor | None, began: datetime, commit: Commit
) -> dict[str, Any]:
    """The content of provenance.json for a run."""
    public = campaign.shared.public_place if campaign.shared is not None else None
    count = options.threads or available()
    workers = ("process", "processes") if _has_own_code(campaign.plan.study) else ("thread", "threads")
    content = provenance(
        campaign.plan,
        commit=commit.wait(),
        replicates=campaign.present(),
        requested=campaign.wanted,
        command=sys.argv if public is None else [w.replace(str(options.store), public) for w in sys.argv],
        began=began,
        packets=campaign.packets,
        performed=campaign.performed,
        ran_on=f"Linux {kernel.releases}" if kernel else options.cluster or f"{count} {workers[count > 1]}",
    )
    if kernel is not None:
        content |= kernel.provenance() | {"backend_key": campaign.backend, "kernel_option": options.kernel}
        if campaign.backends:
            of_kernel = {str(campaign.cells[cell].kernel): key for cell, key in campaign.backends.items()}
            content["backend_keys"] = of_kernel
        content["stack"]["file"] = STACK_FILE if kernel.stack.text is not None else None
    return content | {
        "replicates": options.replicates,
        "sensitivity": options.sensitivity,
        "until": campaign.rule and campaign.rule.relative,
        "store": public,
        "replicates_fetched": campaign.fetched,
        "replicates_measured": campaign.measured,
        "value_ids": dict(campaign.ids),
        "failures": [failure._asdict() for failure in campaign.failures],
    }


def report_again(folder: Path, *, pictures: bool = False) -> Path:
    """Rewrites the report of a finished run and returns its path; `pictures` adds PDF and PNG files.

    OutputError if the folder has no results, or if runs of another version would have to be repeated.
    """
    with folders.open_folder(folder) as (campaign, content):
        if not campaign.is_of_this_version:
            content |= {"reported_by": _core.version()}
        return write_report(campaign, gather_results(campaign, folder), content, pictures=pictures)


def _executor(options: RunOptions, study: StudySpec, progress: Progress) -> Executor:
    if options.cluster is not None:
        cluster: Executor = import_module("cwndlab.apps.cluster.dask").Cluster(options.cluster)
        return cluster
    chunk_s = CHUNK_S if options.store is None else SHARED_CHUNK_S
    if _has_own_code(study):
        processes = import_module("cwndlab.apps.processes.processes")
        executor: Executor = processes.Processes(options.threads, chunk_s, progress)
        return executor
    return Threads(options.threads, chunk_s, progress)


def _has_own_code(study: StudySpec) -> bool:
    """Whether runs call the user's own code and can do so in other processes, unlike metrics of notebooks."""
    own = own_code(quantity.metric for quantity in study.outline.quantities)
    return bool(study.laws) or (bool(own) and all(code.whole for code in own))


def find_kernel_executor(options: RunOptions, plan: Plan) -> KernelExecutor | None:
    """The executor that runs a plan's cells on a kernel; None for the simulator."""
    if options.backend == "simulator":
        return None
    return kernels().executor(options, plan)


def _rule(study: StudySpec, plan: Plan, until: float | None) -> StoppingRule | None:
    relative = study.base.run.until if until is None else until
    if relative is None:
        return None
    from cwndlab.stats.stopping import StoppingRule

    try:
        return StoppingRule(
            relative, cap=max(study.base.run.max_replicates, plan.replicates or study.base.run.replicates)
        )
    except ValueError as error:
        raise StudyError(str(error), key="--until" if until is not None else "run.until") from None


# ── the report ────────────────────────────────────────────────────────────────────────────────────────────


class ComparedKernel(Protocol):
    """A comparison of a kernel's results with the simulator's, made by `apps/twin`."""

    def draw(self) -> Sequence[Drawing]:
        """The study's figures with the numbers of both the kernel and the simulator."""

    def save(self, directory: Path) -> None:
        """Writes agreement.csv."""

    def view(self) -> TwinView:
        """The comparison for the report; may simulate some runs again."""


def write_report(
    campaign: Campaign,
    result: RunResult,
    content: Mapping[str, Any],
    *,
    pictures: bool = False,
    on_verdicts: Callable[[], None] = lambda: None,
) -> Path:
    """Writes verdicts, figures and the report of a run into its folder, and returns the report's path.

    May run cells in the simulator first: to compare with a kernel, and for figures of time budgets or over
    time. `content` is that of provenance.json; `on_verdicts` is called when the verdicts are written.
    """
    study, folder = campaign.plan.study, result.folder
    assert folder is not None
    outputs = collect_outputs(study, folder)
    results = with_replays(campaign, result.results, outputs.figures)
    judged = judge.judge(outputs, results)
    twin = _find_twin(campaign, result, judged)
    drawings: Sequence[Drawing]
    if twin is None:
        drawings = draw_figures(outputs, outputs.figures, results, judged.omitted)
    else:
        drawings = twin.draw()
        twin.save(folder)
    write_verdicts(judged, folder)
    on_verdicts()
    compared = twin.view() if twin is not None else None
    view = build_view(judged, drawings, _differences(judged, result), compared)
    view = view._replace(
        facts=tuple(facts(content)),
        ran=tuple(describe_run(content, study.document.written_tables)),
        missing=missing_runs(content),
        definitions=tuple(definitions(study.outline.quantities, results, find_windows(campaign, results))),
        live=_find_live_view(result, judged, content),
        study=folders.study_text(study),
    )
    write(view, judged, folder, pictures=pictures)
    return folder / REPORT


def _find_twin(campaign: Campaign, result: RunResult, judged: judge.Judged) -> ComparedKernel | None:
    """The simulator's counterpart of a kernel's runs; None for other runs, or plans it cannot run."""
    if not campaign.backend or campaign.plan.needs_kernel:
        return None
    twin: ComparedKernel | None = import_module("cwndlab.apps.twin.kernel_twin").simulate_twin(result, judged)
    return twin


def _differences(judged: judge.Judged, result: RunResult) -> DifferencesView:
    """Possible explanations of differences from published numbers, for the report."""
    if not judged.judgements and not result.variations:
        return DifferencesView()
    explain = import_module("cwndlab.apps.reproduction.differences").view
    view: DifferencesView = explain(judged, result.variations, result.campaign)
    return view


def find_windows(campaign: Campaign, results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """(cell, quantity) -> start and end (s) of the measured window, for quantities with a metric."""
    windows = {}
    for quantity in campaign.plan.study.outline.quantities:
        for cell in results.cells if quantity.metric is not None else ():
            start, end = window_edges(campaign.scenario(cell.id), quantity.window_name)
            windows[cell.id, quantity.name] = (start / 1e9, end / 1e9)
    return windows


def _find_live_view(result: RunResult, judged: judge.Judged, content: Mapping[str, Any]) -> LiveView:
    """The cells that the report's page can simulate, or the reason why it cannot."""
    view: LiveView = import_module("cwndlab.apps.live.runnable").live_view(result, judged, content)
    return view
