"""The figures in a kernel's report: the kernel's results and the simulator's."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.apps.overlay.overlay import OVERLAID, overlay
from cwndlab.report.contents import Outputs
from cwndlab.report.figures import SIMULATOR as ENDING
from cwndlab.report.figures import Drawing
from cwndlab.report.judge import Judged
from cwndlab.report.looks import KERNEL, SIMULATOR
from cwndlab.report.write import draw_figures
from cwndlab.stats.results import Results
from cwndlab.study.added_axes import KERNEL_AXIS, TITLE_SUFFIX
from cwndlab.study.outputs import Figure


def draw_both(judged: Judged, simulated: Results) -> list[Drawing]:
    """The figures of the kernel's and the simulator's results: both in one figure if possible, else pairs."""
    outputs, kernel, omitted = judged.outputs, judged.results, judged.omitted
    both = overlay(kernel, simulated, (KERNEL, SIMULATOR))
    axis = list(both.labels.axes)[-1]
    shared = [
        figure for figure in outputs.figures if figure.kind in OVERLAID and KERNEL_AXIS not in figure.where
    ]
    joint = [
        figure.model_copy(update={"series": [*figure.series, axis], "about": _describe(figure)})
        for figure in shared
    ]
    rest = [figure for figure in outputs.figures if figure not in shared]
    sides = (draw_figures(outputs, rest, kernel, omitted), draw_figures(outputs, rest, simulated, []))
    drawings = [*draw_figures(outputs, joint, both, omitted), *_pairs(outputs, *sides)]
    order = [figure.id for figure in outputs.figures]
    return sorted(drawings, key=lambda drawing: order.index(drawing.figure))


def _describe(figure: Figure) -> str | None:
    """The figure's description, extended by how kernel and simulator are distinguished."""
    if not figure.series and len(figure.drawn_quantities) < 2:  # a legend distinguishes them
        return figure.about
    look = "Outlined" if figure.kind == "bar" else "Dashed"
    return f"{figure.about or ''} {look}: simulator.".strip()


def _pairs(outputs: Outputs, kernel: Sequence[Drawing], simulated: Sequence[Drawing]) -> list[Drawing]:
    """Each figure of the kernel, then the simulator's; for several kernels only after the first one's."""
    other = {drawing.id: drawing for drawing in simulated}
    kernels = {spec.id: str(spec.where[KERNEL_AXIS]) for spec in outputs.figures if KERNEL_AXIS in spec.where}
    first = next(iter(kernels.values()), None)
    pairs = []
    for drawing in kernel:
        own = kernels.get(drawing.id)
        pairs.append(drawing if own else drawing._replace(title=f"{drawing.title} (kernel)"))
        if drawing.id in other and own in (None, first):
            twin = other[drawing.id]
            title = f"{twin.title.removesuffix(TITLE_SUFFIX.format(own) if own else '')} (simulator)"
            pairs.append(twin._replace(id=f"{twin.id}{ENDING}", title=title))
    return pairs
