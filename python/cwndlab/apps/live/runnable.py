"""The cells of a report that its page can run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.base.errors import OutputError
from cwndlab.report.judge import Judged
from cwndlab.report.model import LiveView
from cwndlab.results.result import RunResult

from .embed import RunnableCell, embed, engine_module

if TYPE_CHECKING:
    from cwndlab import Diagnosis
    from cwndlab.runs.campaign import Campaign

#: Most waits to explain for each cell.
EXPLAINED = 5
#: Cells with more packet-hops are not offered, since they would take ten seconds or more.
MAX_HOPS = 40_000_000
#: Most packet-hops of a cell with a diagnosis, and of all cells of a report with one.
MAX_HOPS_EXPLAINED, ALL_HOPS_EXPLAINED = 20_000, 100_000


def live_view(result: RunResult, judged: Judged, content: Mapping[str, Any]) -> LiveView:
    """The cells in the report's tables that the page can run, or why there are none."""
    campaign = result.campaign
    if campaign.backend:
        return LiveView("The runs are of a kernel, so the page cannot run its cells.")
    if campaign.plan.study.laws:
        return LiveView("Congestion controls in Python do not run on a page, so it cannot run its cells.")
    if all(cell.compiled.stacks for cell in campaign.plan.cells):
        return LiveView("QUIC stacks do not run on a page, so it cannot run its cells.")
    if all(cell.seed_offset for cell in campaign.plan.cells):
        return LiveView("The cells have seeds of their own, so the page cannot run them.")
    module = engine_module(content["engine"])
    if isinstance(module, str):
        return LiveView(module)
    replicates = {cell["id"]: cell.get("requested", cell["replicates"]) for cell in content["cells"]}
    cells: dict[str, RunnableCell] = {}
    left = ALL_HOPS_EXPLAINED
    for cell in campaign.plan.cells:
        if cell.sensitivity is not None or cell.id not in judged.cells & replicates.keys():
            continue
        if cell.compiled.stacks or cell.seed_offset:  # the page has one seed
            continue
        digest, hops = campaign.digest(cell.id)
        if not digest or hops > MAX_HOPS:
            continue
        diagnosis = None
        if hops <= min(MAX_HOPS_EXPLAINED, left):
            diagnosis = _diagnosis(campaign, cell.id)
            left -= hops if diagnosis is not None else 0
        title = judged.results.labels.settings(cell.axes)
        cells[cell.id] = RunnableCell(title, cell.scenario, replicates[cell.id], digest, diagnosis)
    return embed(module, content["seed"], cells)


def _diagnosis(campaign: Campaign, cell: str) -> Diagnosis | None:
    """The diagnosis of a cell's first replicate; None if the cell has no TCP."""
    from cwndlab.apps.diagnosis.explanation import explain_run  # for short runs only

    try:
        return explain_run(campaign, cell, 0, None, None, EXPLAINED)
    except (KeyError, OutputError):
        return None
