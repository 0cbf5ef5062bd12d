"""Switches on the probes that a study's metrics need."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cwndlab import metrics
from cwndlab.base.errors import StudyError, problem_at
from cwndlab.records.critical_path import SENDER_PROBES
from cwndlab.records.run_view import bottleneck
from cwndlab.study import schema


def switch_on(
    scenario: Mapping[str, Any],
    model: schema.Model,
    quantities: Sequence[schema.Quantity],
) -> None:
    """Switches on the probes that fill the tables which the quantities' metrics read.

    Quantities of traffic that the cell lacks are skipped. StudyError if a metric reads `segments` and the
    study does not set `segments_at`: the observed side changes the result, so there is no default.
    """
    probes = scenario["probes"]
    names = {link["name"]: index for index, link in enumerate(scenario["links"])}
    present = {entry.name for entry in model.traffic if entry.count > 0}
    for position, quantity in enumerate(quantities):
        tables = _tables(quantity)
        if not _has_traffic(quantity.options.get("traffic"), present):
            continue
        if "segments" in tables and probes["segments_at"] is None:
            raise problem_at(
                ("quantities", position, "metric"),
                f"metric {quantity.metric} needs the segments seen at a node, and none is observed",
                'set [probes] segments_at = "NODE"',
            )
        if "connections" in tables:
            probes["connections"] = True
        for probe, needed_by in SENDER_PROBES.items():
            probes[probe] |= not needed_by.isdisjoint(tables)
        if "queues" in tables:
            asked = quantity.options.get("link")
            link = bottleneck(scenario["links"]) if asked is None else names.get(str(asked))
            if link is not None and link not in probes["queues"]:
                probes["queues"].append(link)


def _tables(quantity: schema.Quantity) -> Collection[str]:
    """The record tables that a quantity's metric reads."""
    return () if quantity.metric is None else metrics.get(quantity.metric).tables


def _has_traffic(traffic: Any, present: Collection[str]) -> bool:
    """Whether the cell has traffic with a name in the option `traffic`; without the option, any traffic."""
    if traffic is None:
        return bool(present)
    return any(name in present for name in (traffic if isinstance(traffic, list) else [traffic]))


def needed_probes(probes: Mapping[str, Any], tables: Collection[str]) -> dict[str, Any]:
    """The probes, with those switched off whose tables are not in `tables`."""
    kept = dict(probes)
    if "segments" not in tables:
        kept["segments_at"] = None
    if "queues" not in tables:
        kept |= {"queues": [], "queue_interval_ns": None}
    for probe, needed_by in SENDER_PROBES.items():
        kept[probe] = kept[probe] and not needed_by.isdisjoint(tables)
    return kept


#: The record tables that only the simulator fills: kernels do not report a sender's limits, timers, states or
#: AccECN counters.
SIMULATED = frozenset({"limits", "states", "timeouts", "accecn"})


def find_simulator_only(quantities: Sequence[schema.Quantity]) -> StudyError | None:
    """An error for the first quantity that only the simulator can measure; None if there is none."""
    for position, quantity in enumerate(quantities):
        if missing := sorted(SIMULATED.intersection(_tables(quantity))):
            return problem_at(
                ("quantities", position, "metric"),
                f"metric {quantity.metric} reads {', '.join(missing)}, which runs on a kernel do not record",
                "run it with --backend simulator",
            )
    return None
