"""Runs a study and hands over its results: what `cwndlab.run` and the command line call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from cwndlab import _core
from cwndlab.base.core import Value
from cwndlab.base.errors import StudyError
from cwndlab.base.plain_files import write_inside
from cwndlab.base.usercode import stop_loading
from cwndlab.metrics import own_code
from cwndlab.plan.plan import Plan, make_plan
from cwndlab.report.contents import REPORT
from cwndlab.report.methods import STACK_FILE
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
from .check_outputs import check_outputs
from .reporting import write_report
from .result import RunResult

if TYPE_CHECKING:
    from cwndlab.runs.executors.protocol import Executor, SharedStore
    from cwndlab.runs.kernel_side import KernelExecutor
    from cwndlab.stats.stopping import StoppingRule
    from cwndlab.study.study_spec import StudySpec


#: Takes each finished replicate: its cell, its number and its values.
Finished = Callable[[str, int, Mapping[str, Value]], None]


def run_study(
    study: StudySpec,
    options: RunOptions | None = None,
    *,
    progress: Progress | None = None,
    finished: Finished | None = None,
    judged: Callable[[RunResult], None] = lambda result: None,
    **more: Unpack[OptionFields],
) -> RunResult:
    """Runs a loaded study; `more` are fields of the options by their names, None where not given.

    `finished` is called with each replicate, `judged` once verdicts.csv and claims.csv are written: the
    figures of the report are still to be drawn then.
    """
    options = chosen_options(options, more)
    plan = checked_plan(study, options)
    return run_plan(plan, options, progress=progress, finished=finished, judged=judged)


def checked_plan(study: StudySpec, options: RunOptions) -> Plan:
    """The plan of a study with its cells compiled; StudyError for what no run with these options could do."""
    plan = sound_plan(study, options)
    check_backend(plan, options)
    return plan


def sound_plan(study: StudySpec, options: RunOptions) -> Plan:
    """The same; StudyError for what no run on any backend could do or show."""
    stop_loading()
    plan = make_plan(study, replicates=options.replicates, seed=options.seed, sensitivity=options.sensitivity)
    plan.check()
    check_outputs(plan)
    return plan


def run_plan(
    plan: Plan,
    options: RunOptions,
    *,
    progress: Progress | None = None,
    finished: Finished | None = None,
    judged: Callable[[RunResult], None] = lambda result: None,
) -> RunResult:
    """Runs what `checked_plan` made with these options."""
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
        return RunResult.from_campaign(campaign)
    finally:
        if isinstance(kept, FolderStore):
            kept.close()


def _shown_budgets(plan: Plan) -> Mapping[str, Collection[str]]:
    """The kinds of objects whose time budgets the study's figures show, by cell."""
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
    """Runs into a folder and writes its report, unless it has that of the same inputs."""
    study = campaign.plan.study
    inputs = folders.inputs(campaign, folder) if kernel is None else ""
    finished_before = bool(inputs) and folders.has_report_of(folder, inputs)
    commit = None
    if not finished_before:
        commit = Commit()
        folders.begin(folder, study)
    try:
        campaign.run()
    finally:
        # Until its git has begun, that process has the store's lock, too: a fork copies what is open.
        if commit is not None:
            commit.wait()
    result = RunResult.from_campaign(campaign, folder)
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
    """The store that others share, made if it is new; StudyError if processes could not share it."""
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
    """What provenance.json says of a run."""
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
    """Writes the report of a finished run again, its figures also as PDF and PNG if wanted; its path.

    OutputError if the folder has no results, or if what another version ran would have to be run again.
    """
    with folders.open_folder(folder) as (campaign, content):
        if not campaign.is_of_this_version:
            content |= {"reported_by": _core.version()}
        return write_report(campaign, RunResult.from_campaign(campaign, folder), content, pictures=pictures)


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
    """Whether runs call code of the user's that other processes can run; a notebook's metrics are none."""
    own = own_code(quantity.metric for quantity in study.outline.quantities)
    return bool(study.laws) or (bool(own) and all(code.whole for code in own))


def find_kernel_executor(options: RunOptions, plan: Plan) -> KernelExecutor | None:
    """Who runs the cells of a plan on a kernel; None for the simulator."""
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
