"""Gathers all that a report shows of the runs besides their numbers, then writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cwndlab.records.window import window_of
from cwndlab.report.contents import REPORT, collect_outputs
from cwndlab.report.judge import Judged, judge
from cwndlab.report.methods import definitions, describe_run, facts, missing_runs
from cwndlab.report.model import DifferencesView, LiveView, TwinView
from cwndlab.report.verdict_files import write_verdicts
from cwndlab.report.write import build_view, draw_figures, write

from .result import RunResult
from .result_folder import study_text
from .study_figures import with_replays

if TYPE_CHECKING:
    from cwndlab.report.figures import Drawing
    from cwndlab.runs.campaign import Campaign
    from cwndlab.stats.results import Results


class ComparedKernel(Protocol):
    """A kernel's numbers next to the simulator's, which an application compares."""

    def draw(self) -> Sequence[Drawing]:
        """The study's figures, of both."""

    def save(self, directory: Path) -> None:
        """Writes agreement.csv."""

    def view(self) -> TwinView:
        """What the report shows; some runs may be simulated again for it."""


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
    outputs = collect_outputs(study, folder)
    results = with_replays(campaign, result.results, outputs.figures)
    judged = judge(outputs, results)
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
        study=study_text(study),
    )
    write(view, judged, folder, pictures=pictures)
    return folder / REPORT


def _find_twin(campaign: Campaign, result: RunResult, judged: Judged) -> ComparedKernel | None:
    """The simulator's results of a kernel's plan; None for other runs, or if the simulator has none."""
    if not campaign.backend or campaign.plan.has_programs:
        return None
    twin: ComparedKernel | None = import_module("cwndlab.apps.twin.kernel_twin").simulate_twin(result, judged)
    return twin


def _differences(judged: Judged, result: RunResult) -> DifferencesView:
    """What may explain how numbers differ from the published ones."""
    if not judged.judgements and not result.variations:
        return DifferencesView()
    explain = import_module("cwndlab.apps.reproduction.differences").view
    view: DifferencesView = explain(judged, result.variations, result.campaign)
    return view


def find_windows(campaign: Campaign, results: Results) -> dict[tuple[str, str], tuple[float, float]]:
    """From and to, in seconds, of what the metric of each quantity measures in each cell."""
    found = {}
    for quantity in campaign.plan.study.outline.quantities:
        for cell in results.cells if quantity.metric is not None else ():
            start, end = window_of(campaign.scenario(cell.id), quantity.window_name)
            found[cell.id, quantity.name] = (start / 1e9, end / 1e9)
    return found


def _find_live_view(result: RunResult, judged: Judged, content: Mapping[str, Any]) -> LiveView:
    """The cells of its tables that the page can run, or why it cannot."""
    view: LiveView = import_module("cwndlab.apps.live.runnable").live_view(result, judged, content)
    return view
