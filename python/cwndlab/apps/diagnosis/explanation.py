"""What kept the senders of one run from sending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.apps.diagnosis.diagnosis import Diagnosis, diagnose
from cwndlab.apps.diagnosis.from_outside import diagnose_outside
from cwndlab.apps.diagnosis.from_records import conversations, with_failures
from cwndlab.plan.scenario import has_connections, indices_of_flow, sender
from cwndlab.runs.single_run import Repeatable

from .quic.quic_run import LOGS, asks_for_qlog, diagnose_program, is_datagrams
from .runs_again import view_again


def explain_run(
    source: Repeatable, cell: str, replicate: int, flow: str | None, at_s: float | None, longest: int
) -> Diagnosis:
    """The diagnosis of one flow of a run, which is simulated again with the required probes.

    An embedded QUIC stack does not name its limits, so they are inferred from its window and packets. For a
    program that writes qlog, the qlog and the laboratory's own records are used.

    Raises:
        NotFoundError: there is no such flow.
        OutputError: the run cannot be simulated again.

    """
    scenario = source.scenario(cell)
    traffic = _traffic(scenario["traffic"], flow)
    node = sender(scenario["traffic"][traffic])
    if "stack" in scenario["traffic"][traffic]:
        on: dict[str, object] = {"connections": True, "states": True, "cwnd": True, "segments_at": node}
        view = view_again(source, cell, replicate, on)
        outside = diagnose_outside(view.columns, scenario, traffic, node, at_s, longest)
        return with_failures(outside, view.columns, traffic)
    on = {"connections": True, "limits": True, "states": True, "cwnd": True, "segments_at": node}
    if scenario["traffic"][traffic]["app"]["kind"] == "program":
        view = view_again(source, cell, replicate, on, {"traffic": asks_for_qlog(scenario)})
        if is_datagrams(view.columns, traffic):
            files = view.table(LOGS).to_pylist()
            return diagnose_program(view.columns, files, view.scenario, traffic, node, at_s, longest)
    else:
        view = view_again(source, cell, replicate, on)
    found = conversations(view.columns, scenario, traffic, node, simulated=not source.backend)
    return with_failures(diagnose(found, at_s, longest), view.columns, traffic)


def _traffic(entries: Sequence[Mapping[str, Any]], flow: str | None) -> int:
    """The index of the traffic entry `flow` or of its first instance; without a name, TCP precedes QUIC."""
    found = [k for k, entry in enumerate(entries) if has_connections(entry)]
    chosen = indices_of_flow([str(entries[k]["name"]) for k in found], flow, " of TCP or QUIC")
    return min((found[k] for k in chosen), key=lambda k: "stack" in entries[k])
