"""What of a scenario a kernel backend cannot run."""

from __future__ import annotations

from cwndlab.spec.unresponsive import is_unresponsive
from cwndlab.spec.validate import Invalid

from .scenario import Compiled, origin


def refusal(compiled: Compiled) -> Invalid | None:
    """The first part of a scenario that only the simulator has, at the study's own key."""
    for index, entry in enumerate(compiled.scenario["traffic"]):
        if is_unresponsive(entry["app"]):
            kind = entry["app"]["kind"]
            path = origin(compiled, ["traffic", str(index), "app", "kind"])
            return Invalid(path, f'traffic of kind "{kind}" has no form on a kernel yet', _SIMULATE, 0)
    if compiled.scenario["probes"].get("delays"):
        return Invalid(("quantities",), "a kernel's runs do not record one-way delays yet", _SIMULATE, 0)
    return None


_SIMULATE = "run it with --backend simulator"
