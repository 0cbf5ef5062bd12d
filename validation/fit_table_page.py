"""The page on how well `cwndlab fit` recovers known paths, from the rows of `fit_table`."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cwndlab.base.writing import markdown_lines

if TYPE_CHECKING:
    from .fit_table import Row

#: Titles of the parameters and predictions in a row.
PARAMETERS = {"rate": "rate", "rtt": "base round trip", "buffer": "buffer", "loss": "random loss"}
ANSWERS = {"goodput": "BBR's goodput", "delay": "BBR's mean queueing delay"}
UNITS = {"rate": "%", "rtt": "ms", "buffer": "%", "loss": "points", "goodput": "%", "delay": "%"}
#: Goals: the largest median errors, and the range of coverage in percent.
GOALS = {"rate": (2.0, "%"), "rtt": (1.0, "ms"), "buffer": (10.0, "%")}
COVERAGE = (93, 97)
#: Reasons that prevent a fit, whatever is stated.
FINAL = {"too-short", "held-back", "rate", "place", "queue"}

_CROSS = {"none": "none", "datagrams": "datagrams, Poisson, 10 to 40 %", "tcp": "a CUBIC, Reno or BBR flow"}
_OUTSIDE = {True: "", False: " (outside)"}


def page(rows: Sequence[Row], seed: int) -> str:
    """The page in Markdown."""
    fitted = [row for row in rows if row.errors and row.path.limit == "network"]
    answered = [row for row in fitted if not row.warned]
    return "\n".join(
        [
            "# How well a fit finds known paths",
            "",
            *_about(rows, seed),
            "",
            "## Parameters",
            "",
            *_groups(fitted, PARAMETERS),
            "",
            "The error is the median of its size.",
            "",
            *_goals(fitted, answered),
            "",
            "## What if",
            "",
            "The fitted study with BBR (version 3; version 1 on Linux 6.12, which has no other, in single "
            "segments, as the guest's device takes them), compared "
            "with a run of it on the path itself: how often the range of the draws covers it, the median "
            "size of the error of their median, and the median width of the range.",
            "",
            *_groups(answered, ANSWERS),
            "",
            f"Left out, as its fit warns that the study does not explain the capture: "
            f"{len(fitted) - len(answered)} of {len(fitted)}.",
            "",
            *_responses(fitted),
            "",
            "## Refusals and congestion controls",
            "",
            *_refusals(rows),
            "",
            "## Every path",
            "",
            *_all(rows),
            "",
            f"One fit took {statistics.median(row.cpu_s for row in fitted):.2g} s of CPU time at the median, "
            f"{max(row.cpu_s for row in fitted):.2g} s at most.",
            "",
        ]
    )


def _about(rows: Sequence[Row], seed: int) -> list[str]:
    unsuitable = sum(row.path.limit != "network" for row in rows)
    linux = sum(row.path.backend != "simulator" for row in rows)
    return [
        f"{len(rows)} known paths, drawn by seed {seed}, which was not used in development: 2 to 50 Mb/s, 10 "
        "to 200 ms, a drop-tail buffer of 0.25 to 4 BDP (at least 9000 bytes, 6 packets), random loss of 0 "
        "or 0.1 %, CUBIC, Reno or BBR version 1, with and without cross traffic. Another TCP flow starts in "
        "the first 5 s, and has half to twice the base round trip. "
        f"{unsuitable} of the transfers are too short or have a slow reader. "
        f"{linux} of the captures are of Linux 6.12 in virtual time, the others of the simulator, which the "
        "replays use, too. They have at most 20 s.",
        "",
        "Where a capture did not show the buffer, the base round trip or the congestion control, the true "
        "one was stated (`--buffer`, `--rtt`, `--cc`), and the fit repeated.",
        "",
        f"<!-- Made by `python -m validation.fit_table --paths {len(rows)} --seed {seed}`. -->",
    ]


def _groups(rows: Sequence[Row], names: dict[str, str]) -> list[str]:
    """A table of errors and coverage by cross traffic and by backend."""
    kinds: list[tuple[str, Callable[[Row], bool]]] = [
        *((words, _with_cross(cross)) for cross, words in _CROSS.items()),
        ("all of the simulator", lambda row: row.path.backend == "simulator"),
        ("all of Linux", lambda row: row.path.backend != "simulator"),
        ("**all**", lambda _: True),
    ]
    lines = []
    for words, belongs in kinds:
        group = [row for row in rows if belongs(row)]
        lines.append([words, str(len(group)), *(_cell(group, name) for name in names)])
    lines.append(["coverage", "", *(_percent(_truths(rows, name)) for name in names)])
    head = ["cross traffic", "paths", *(f"{words}: error; covered" for words in names.values())]
    return markdown_lines(head, lines)


def _with_cross(cross: str) -> Callable[[Row], bool]:
    return lambda row: row.path.cross == cross


def _truths(rows: Iterable[Row], name: str) -> list[bool]:
    return [row.covered[name] for row in rows if name in row.covered]


def _cell(rows: Sequence[Row], name: str) -> str:
    errors = [abs(row.errors[name]) for row in rows if name in row.errors]
    covered = _truths(rows, name)
    if not errors:
        return "–"
    widths = [row.widths[name] for row in rows if name in row.widths]
    width = f"; width {statistics.median(widths):.2g} %" if widths else ""
    return f"{statistics.median(errors):.2g} {UNITS[name]}; {sum(covered)} of {len(covered)}{width}"


def _percent(truths: Sequence[bool]) -> str:
    return f"{100 * sum(truths) / len(truths):.0f} %" if truths else "–"


def _goals(fitted: Sequence[Row], answered: Sequence[Row]) -> list[str]:
    """Paragraphs on which goals are reached."""
    errors = []
    for name, (goal, unit) in GOALS.items():
        size = statistics.median(abs(row.errors[name]) for row in fitted if name in row.errors)
        reached = "reached" if size <= goal else "not reached"
        errors.append(f"{PARAMETERS[name]} {goal:g} {unit} ({reached})")
    covered = []
    for name, words in {**PARAMETERS, **ANSWERS}.items():
        truths = _truths(answered if name in ANSWERS else fitted, name)
        covered.append(f"{words} {_percent(truths)} ({_judged(truths)})")
    low, high = COVERAGE
    whole, others = (
        _truths([row for row in fitted if row.path.has_whole_packets == kind], "buffer")
        for kind in (True, False)
    )
    return [
        f"Goals for median errors: {', '.join(errors)}.",
        "",
        f"Goal for coverage, {low} to {high} %: {', '.join(covered)}.",
        "",
        f"Buffers of whole packets, as queues limited in packets have, were covered in {sum(whole)} of "
        f"{len(whole)} cases, others in {sum(others)} of {len(others)}.",
        "",
        "This is the coverage of the draws alone, as simulated hosts are exact. What `fit` prints is wider "
        "by what replays do not have: a host's clock, which may move the rate by 0.01 %, and a host's delay, "
        "0.05 ms of the round trip. Intervals of the goodput have 0.5 % for the difference of the simulator "
        "from Linux.",
    ]


def _judged(truths: Sequence[bool]) -> str:
    share = round(100 * statistics.mean(truths))
    # Two standard errors of a share that is in the middle of the goal.
    scatter = 200 * math.sqrt(0.95 * 0.05 / len(truths))
    if COVERAGE[0] <= share <= COVERAGE[1]:
        return "reached"
    if abs(share - 95) <= scatter:
        return f"within chance: 95 % would give {95 - scatter:.0f} to {95 + scatter:.0f} %"
    return "wider than needed" if share > COVERAGE[1] else "not reached"


def _responses(rows: Sequence[Row]) -> list[str]:
    """A table of the fitted response of the cross traffic."""
    words = {"": "no cross traffic", "none": "none", "as TCP": "as TCP", "either": "not identifiable"}
    counts = Counter((row.path.cross, "warning" if row.warned else row.response) for row in rows)
    lines = [
        [name, *(str(counts[cross, word]) for word in words), str(counts[cross, "warning"])]
        for cross, name in _CROSS.items()
    ]
    return [
        "What fits say of whether the cross traffic responds:",
        "",
        *markdown_lines(["cross traffic", *words.values(), "with a warning"], lines),
    ]


def _refusals(rows: Sequence[Row]) -> list[str]:
    counts: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        held = bool(FINAL & set(row.reasons))
        counts[row.path.limit, held] += 1
        if row.path.limit == "network" and not held:
            counts["buffer", "buffer" in row.reasons, row.full_losses > 0] += 1
            counts["law", bool(row.law), row.law == row.path.cc] += 1
    told, wrong = counts["law", True, True] + counts["law", True, False], counts["law", True, False]
    table = [
        ("short", counts["short", True], counts["short", False]),
        ("with a slow reader", counts["reader", True], counts["reader", False]),
        ("limited by the network", counts["network", True], counts["network", False]),
        ("… without a loss at the full queue", counts["buffer", True, False], counts["buffer", False, False]),
        ("… with losses at the full queue", counts["buffer", True, True], counts["buffer", False, True]),
    ]
    return [
        *markdown_lines(
            ["transfers", "no fit", "fit"], [[words, str(no), str(yes)] for words, no, yes in table]
        ),
        "",
        "The last two rows are about the buffer alone, which only losses at the full queue show.",
        "",
        f"The congestion control was identified in {told} of {told + counts['law', False, False]} captures "
        f"that the network limits, wrongly in {wrong}.",
    ]


def _all(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        path = row.path
        found = [
            f"{row.errors[name]:+.2g}{_OUTSIDE[row.covered[name]]}" if name in row.errors else "–"
            for name in ("rate", "rtt", "buffer", *ANSWERS)
        ]
        what = path.cc if path.limit == "network" else f"{path.cc}, {path.limit}"
        cross = path.rival_cc if path.cross == "tcp" else path.cross
        lines.append(
            [
                f"{path.seed}{'' if path.backend == 'simulator' else ', Linux'}",
                f"{path.rate_mbps:.3g}",
                f"{path.rtt_ms:.3g}",
                f"{path.buffer_bytes / path.bdp_bytes:.2g}",
                f"{path.loss_percent:g}",
                what,
                cross,
                ", ".join(dict.fromkeys(row.reasons)) or "–",
                row.law or "–",
                row.response or "–",
                *found,
                "yes" if row.warned else "",
            ]
        )
    head = ["seed", "Mb/s", "ms", "BDP", "loss %", "sender", "cross", "refused", "law found", "response"]
    head += ["rate %", "RTT ms", "buffer %", "BBR's goodput %", "BBR's delay %", "warning"]
    return markdown_lines(head, lines)
