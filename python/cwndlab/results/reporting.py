"""Gathers all that a report shows of the runs besides their numbers, then writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cwndlab.base.errors import OutputError
from cwndlab.records.window import window_of
from cwndlab.report.contents import REPORT, outputs_of
from cwndlab.report.draft import Draft, draft, write_verdicts
from cwndlab.report.methods import definitions, describe_run, facts, missing_runs
from cwndlab.report.write import write
from cwndlab.stats.verdict import Verdict

from .result import RunResult
from .result_folder import study_text
from .time_budgets import mean_times, with_budgets, with_mean_times

if TYPE_CHECKING:
    from cwndlab import Diagnosis
    from cwndlab.report.budget_figure import BudgetKey, MeanTimes
    from cwndlab.report.discrepancies import Discrepancies
    from cwndlab.report.embed import Runnable, RunnableCell
    from cwndlab.runs.campaign import Campaign
    from cwndlab.stats.results import Results, Variation

#: Waits that a report explains in each cell.
EXPLAINED = 5
#: A cell with more packet-hops is not offered: its reader would wait for ten seconds and more.
MAX_HOPS = 40_000_000
#: Packet-hops of the longest cell that is explained, and of all cells of a report that are.
MAX_HOPS_EXPLAINED, ALL_HOPS_EXPLAINED = 20_000, 100_000


def write_report(
    campaign: Campaign,
    result: RunResult,
    content: Mapping[str, Any],
    *,
    pictures: bool = False,
    on_verdicts: Callable[[], None] = lambda: None,
) -> Path:
    """Writes verdicts, figures and the report of a run into its folder; the page's path.

    The simulator's runs next to a kernel's, time budgets and explanations of waits come first, as
    they may run something. `content` is that of provenance.json; `on_verdicts` is called once the verdicts
    are written.
    """
    study, folder = campaign.plan.study, result.folder
    assert folder is not None
    outputs = outputs_of(study, folder)
    simulator = twin = None
    if campaign.backend and not campaign.plan.has_programs:
        from .kernel_twin import simulate, twin_of  # only a kernel needs it

        simulator = simulate(campaign)
    if simulator is not None:
        twin = twin_of(RunResult.from_campaign(simulator), result)
        twin = replace(twin, results=with_budgets(simulator, twin.results, outputs.figures))
        result.simulated = twin.results
    results = with_budgets(campaign, result.results, outputs.figures)
    report = draft(outputs, results, result.variations, twin)
    write_verdicts(report, folder)
    on_verdicts()
    found = discrepancies_in_time(campaign, report, result.variations)
    quantities = study.outline.quantities
    report = replace(
        report,
        discrepancies=found,
        facts=facts(content),
        ran=describe_run(content, study.document.written_tables),
        missing=missing_runs(content),
        definitions=definitions(quantities, results, windows_of(campaign, results)),
        runnable=_runnable(result, report, content),
        twin_budgets=twin_budgets(simulator, campaign, report) if simulator is not None else {},
        study=study_text(study),
    )
    write(report, folder, pictures=pictures)
    return folder / REPORT


def windows_of(campaign: Campaign, results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """From and to, in seconds, of what the metric of each quantity measures in each cell."""
    found = {}
    for quantity in campaign.plan.study.outline.quantities:
        for cell in results.cells if quantity.metric is not None else ():
            start, end = window_of(campaign.scenario(cell.id), quantity.window_name)
            found[cell.id, quantity.name] = (start / 1e9, end / 1e9)
    return found


# ── time budgets ──────────────────────────────────────────────────────────────────────────────────────────


def discrepancies_in_time(
    campaign: Campaign, report: Draft, variations: Iterable[Variation]
) -> Discrepancies:
    """The report's; those that differ get time budgets, which take time, those that follow the trend none."""
    return {
        table: {
            at: with_mean_times(campaign, one, variations) if one.verdict is Verdict.DIFFERS else one
            for at, one in numbers.items()
        }
        for table, numbers in report.discrepancies.items()
    }


def twin_budgets(
    simulator: Campaign, kernel: Campaign, report: Draft
) -> dict[BudgetKey, tuple[MeanTimes, MeanTimes]]:
    """Mean times in the simulator and on the kernel, for the numbers that differ."""
    from cwndlab.report.twin import budget_key

    keys = dict.fromkeys(budget_key(row, report.outputs.quantities) for row in report.twin_rows)
    found = {key: (mean_times(simulator, key), mean_times(kernel, key)) for key in keys if key is not None}
    return {key: means for key, means in found.items() if all(means)}


# ── cells that the page runs ──────────────────────────────────────────────────────────────────────────────


def _runnable(result: RunResult, report: Draft, content: Mapping[str, Any]) -> Runnable | str:
    """The cells of its tables that the page can run, or why it cannot."""
    campaign = result.campaign
    if campaign.backend:
        return "The runs are of a kernel, so the page cannot run its cells."
    if campaign.plan.study.laws:
        return "Congestion controls in Python do not run on a page, so it cannot run its cells."
    if all(cell.compiled.stacks for cell in campaign.plan.cells):
        return "QUIC stacks do not run on a page, so it cannot run its cells."
    if all(cell.seed_offset for cell in campaign.plan.cells):
        return "The cells have seeds of their own, so the page cannot run them."
    from cwndlab.report.embed import Runnable, RunnableCell, engine_module  # what a page runs

    module = engine_module(content["engine"])
    if isinstance(module, str):
        return module
    replicates = {cell["id"]: cell.get("requested", cell["replicates"]) for cell in content["cells"]}
    cells: dict[str, RunnableCell] = {}
    left = ALL_HOPS_EXPLAINED
    for cell in campaign.plan.cells:
        if cell.sensitivity is not None or cell.id not in report.cells & replicates.keys():
            continue
        if cell.compiled.stacks or cell.seed_offset:  # the page has one seed
            continue
        digest, hops = campaign.digest(cell.id)
        if not digest or hops > MAX_HOPS:
            continue
        diagnosis = None
        if hops <= min(MAX_HOPS_EXPLAINED, left):
            diagnosis = _diagnosis(result, cell.id)
            left -= hops if diagnosis is not None else 0
        title = report.results.labels.settings(cell.axes)
        cells[cell.id] = RunnableCell(title, cell.scenario, replicates[cell.id], digest, diagnosis)
    return Runnable(module, content["seed"], cells)


def _diagnosis(result: RunResult, cell: str) -> Diagnosis | None:
    """What kept the senders of a cell's first replicate from sending; None if it has no TCP."""
    try:
        return result.sel(cell=cell).explain(longest=EXPLAINED)
    except (KeyError, OutputError):
        return None
