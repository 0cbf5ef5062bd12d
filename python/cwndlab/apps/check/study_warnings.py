"""Warnings of `check` and `run`: sentences about what is valid in a study but probably unintended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cwndlab.study.congestion import default_ecn
from cwndlab.study.knobs import alternative_name

if TYPE_CHECKING:
    from cwndlab.plan.plan import Plan

#: ECN modes that report at most one mark per round trip, or none.
_COARSE = ("off", "accept", "rfc3168", "rfc3168-ect1")


def study_warnings(plan: Plan) -> list[str]:
    """The warnings for a plan's cells, each once, with the number of its cells unless it is for all."""
    found: dict[str, list[str]] = {}
    for cell in plan.cells:
        for text in dict.fromkeys(
            (*_short_queues(cell.compiled.scenario), *_missing_ecn(cell.compiled.scenario))
        ):
            found.setdefault(text, []).append(cell.id)
    texts = []
    for text, cells in found.items():
        if len(cells) < len(plan.cells):
            text += f" (in {len(cells)} of {len(plan.cells)} cells, the first: {cells[0]})"
        texts.append(text)
    return texts


def _short_queues(scenario: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each queue that holds less than the largest packet, so that no packet can wait in it."""
    sizes = [tcp["mss"] + tcp.get("header_bytes", 40) for tcp in scenario["tcp"] if "mss" in tcp]
    largest = max(sizes, default=0)
    for link in scenario["links"]:
        queue = link["queue"]
        limit = (
            queue.get("limit", largest) if queue.get("unit") == "bytes" else queue.get("limit_bytes", largest)
        )
        if limit < largest:
            yield (
                f"the queue of {link['name']} holds {limit} bytes, less than a packet of {largest}: "
                "packets that would wait are dropped"
            )


def _missing_ecn(scenario: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each congestion control that runs without the ECN mode that it needs."""
    for tcp in scenario["tcp"]:
        law = alternative_name(tcp["window_law"]) if "window_law" in tcp else ""
        own = default_ecn(law)
        if own is not None and tcp.get("ecn") in _COARSE:
            yield (
                f'{law} has ecn = "{tcp.get("ecn")}" in place of its own "{own}": '
                "it does not respond to marks as it is meant to"
            )


def same_replicates(plan: Plan) -> str:
    """A note about cells whose replicates would all be equal; empty if there are none."""
    if not plan.counted_once:
        return ""
    cells = (
        f"{plan.counted_once} of {len(plan.cells)} cells"
        if plan.counted_once < len(plan.cells)
        else "this study"
    )
    return (
        f"nothing is random in {cells}, so one replicate is all. To make replicates differ, draw the start "
        'of flows, start = { uniform = ["0s", "1s"] }, or add jitter at a host: '
        'forward = { impairments = [{ kind = "jitter", max = "0.1ms", keep_order = true }] }'
    )
