"""What a kernel backend cannot measure."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.errors import StudyError, problem_at
from cwndlab.spec import schema

from .probes import TablesOf

#: The record tables that only the simulator fills: no kernel reports what limits a sender, its timers or
#: its counters of AccECN.
SIMULATED = frozenset({"limits", "states", "timeouts", "accecn"})


def refusal(quantities: Sequence[schema.Quantity], tables_of: TablesOf) -> StudyError | None:
    """The first quantity that only the simulator can measure, at the study's own key."""
    for position, quantity in enumerate(quantities):
        if missing := sorted(SIMULATED.intersection(tables_of(quantity))):
            return problem_at(
                ("quantities", position, "metric"),
                f"metric {quantity.metric} reads {', '.join(missing)}, which runs on a kernel do not record",
                "run it with --backend simulator",
            )
    return None
