"""The windows of time in which metrics are measured, by name."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from cwndlab.base.errors import KeyPath, nearest, problem_at
from cwndlab.records.window import interval_edges

from . import schema
from .units import parse_time


def resolve_windows(model: schema.Model, quantities: Sequence[schema.Quantity]) -> dict[str, list[int]]:
    """Start and end (ns) of each window of a cell; StudyError if a window does not fit into the run."""
    run = model.run
    if run.duration == 0:
        raise problem_at(("run", "duration"), "a run of no time shows nothing", 'write for instance "60s"')
    if run.warmup >= run.duration:
        right = "make it shorter than run.duration"
        raise problem_at(("run", "warmup"), "the warm-up is as long as the run", right)
    windows = {schema.DEFAULT_WINDOW: [run.warmup, run.duration]}
    for name, edges in model.phases.items():
        at: KeyPath = ("phases", name)
        if name in (schema.DEFAULT_WINDOW, schema.WHOLE_RUN):
            raise problem_at(at, f'a phase cannot be called "{name}"', "give it another name")
        windows[name] = _checked(edges, run.duration, at)
    for index, quantity in enumerate(quantities):
        if isinstance(quantity.window, str) and quantity.window not in (schema.WHOLE_RUN, *model.phases):
            at = ("quantities", index, "window")
            right = nearest(quantity.window, model.phases) if model.phases else "define it: [phases] …"
            raise problem_at(at, f'there is no phase "{quantity.window}"', right)
        if isinstance(quantity.window, list):
            edges = [parse_time(edge) for edge in quantity.window]
            windows[str(quantity.window_name)] = _checked(
                edges, run.duration, ("quantities", index, "window")
            )
        if "interval" in quantity.options:
            start, end = windows.get(str(quantity.window_name), [0, run.duration])
            windows |= _intervals(start, end, quantity.options["interval"], ("quantities", index, "options"))
    return windows


def _intervals(start: int, end: int, interval: object, at: KeyPath) -> dict[str, list[int]]:
    """Windows whose edges are those of all intervals: the engine records counters at edges of windows."""
    if not isinstance(interval, int | float) or isinstance(interval, bool) or not interval > 0:
        return {}  # the check of the metric's options reports the error
    edges = interval_edges(start, end, interval, (*at, "interval"))
    pairs = list(itertools.pairwise(edges))
    return {f"{a} to {b} ns": [a, b] for a, b in [*pairs[::2], *pairs[-1:]]}


def _checked(edges: list[int], duration: int, at: KeyPath) -> list[int]:
    start, end = edges
    if start >= end:
        raise problem_at(at, "this window ends before it begins", 'write for instance ["0s", "20s"]')
    if end > duration:
        problem = f"this window ends at {end / 1e9:g} s, and the run at {duration / 1e9:g} s"
        raise problem_at(at, problem, f'write run.duration = "{end / 1e9:g}s" or more, or an earlier window')
    return edges
