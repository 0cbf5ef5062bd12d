"""The figures of a study, drawn from the results of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cwndlab.base.errors import NotFoundError, StudyError, nearest
from cwndlab.stats.results import Results

if TYPE_CHECKING:
    import altair as alt

    from cwndlab.report.figures import Drawing
    from cwndlab.runs.campaign import Campaign
    from cwndlab.study.outputs import Figure

T = TypeVar("T")


_REPLAYS = {"budget": "diagnosis.time_budgets", "over-time": "packets.over_time"}
"""Kind of figure that requires runs to be simulated again -> the application's module that does so."""


def with_replays(campaign: Campaign, results: Results, figures: Sequence[Figure]) -> Results:
    """The results with the data that these figures need from simulating first replicates again."""
    for kind, module in _REPLAYS.items():
        if any(figure.kind == kind for figure in figures):
            results = import_module(f"cwndlab.apps.{module}").add_replays(campaign, results, figures)
    return results


class StudyFigures(NamedTuple):
    """The figures of a campaign's study. Drawing modules are imported only when a figure is drawn."""

    campaign: Campaign
    results: Results

    def drawing(self, id_: str) -> Drawing:
        """The figure with this id, drawn; NotFoundError for an unknown id, StudyError without data."""
        from cwndlab.report.figures import draw

        return draw(*self._shown(id_))

    def chart(self, id_: str) -> alt.TopLevelMixin:
        """The figure with this id as an Altair chart; raises the same errors as `drawing`."""
        chart = import_module("cwndlab.apps.notebook.altair_charts").chart
        shown: alt.TopLevelMixin = chart(*self._shown(id_))
        return shown

    def first(self, draw: Callable[[str], T]) -> T | None:
        """The result of `draw` for the first figure whose cells were run; None if there is none."""
        for spec in self.campaign.plan.study.outline.figures:
            with suppress(StudyError):
                return draw(spec.id)
        return None

    def _shown(self, id_: str) -> tuple[Figure, Results]:
        """The figure with this id, and the results with all data that it shows."""
        study = self.campaign.plan.study
        specs = {spec.id: spec for spec in study.outline.figures}
        if id_ not in specs:
            raise NotFoundError(f'no figure "{id_}" in {study.name}; {nearest(id_, specs)}')
        return specs[id_], with_replays(self.campaign, self.results, [specs[id_]])
