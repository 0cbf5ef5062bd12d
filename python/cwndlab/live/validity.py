"""Whether a run on the kernel counts. Outside these limits it is invalid, and gives no number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """Beyond these a run is refused. Those of the router are its own (docs/models/router.md)."""

    #: Lateness of packets behind their schedule.
    lateness_p99_ns: int = 300_000
    lateness_max_ns: int = 5_000_000
    #: Packets lost at the devices, outside the scenario's queues.
    hidden_drops: int = 0
    #: Share of a processor that the router may use.
    cpu_share: float = 0.8
    #: How late the applications got the processor (timers of 20 ms).
    application_p99_s: float = 0.005
    application_max_s: float = 0.1
    #: Time that a hypervisor took away, of all processors.
    steal: float = 0.2

    def router(self) -> dict[str, Any]:
        """What the router checks."""
        names = ("lateness_p99_ns", "lateness_max_ns", "hidden_drops", "cpu_share")
        return {name: value for name, value in asdict(self).items() if name in names}


def judge(result: Mapping[str, Any], limits: Limits) -> list[str]:
    """Why a run does not count; nothing if it does."""
    summary, app = result["summary"], result["application"]
    reasons = list(summary["invalid_because"])
    if not summary["valid"] and not reasons:
        reasons.append("the router calls it invalid")
    for name, limit in (("p99", limits.application_p99_s), ("max", limits.application_max_s)):
        late = app[f"lateness_{name}_s"]
        if late > limit:
            reasons.append(
                f"applications got the CPU {late * 1e3:.1f} ms late ({name}), the limit is {limit * 1e3:g} ms"
            )
    if result["machine"]["steal"] > limits.steal:
        reasons.append(
            f"the hypervisor took {result['machine']['steal']:.0%} of the CPU; limit {limits.steal:.0%}"
        )
    for port in summary["ports"]:
        if port["unroutable"]:
            reasons.append(
                f"{port['unroutable']} packets from {port['device']} had no way through the scenario"
            )
    reasons += [f"an application ended early: {failure}" for failure in result["failures"]]
    return reasons


def stamp(result: Mapping[str, Any], scenario: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept with every run: how exact it was, and on what it ran."""
    summary = result["summary"]
    lateness = {name: summary[f"lateness_{name}_ns"] for name in ("p50", "p99", "max")}
    links = []
    for spec, link in zip(scenario["links"], summary["links"], strict=True):
        rate = link["bytes"] * 8e9 / link["busy_ns"] if link["busy_ns"] else None
        links.append({"link": spec["name"], "asked_bps": spec["rate_bps"], "achieved_bps": rate})
    return {
        "kernel": summary["kernel"],
        "packets": summary["packets"],
        "lateness_ns": lateness,
        # Links run in scheduled time: a packet is off by its lateness at the exit, and by nothing else.
        "achieved": links,
        "hidden_drops": sum(port["kernel_drops"] + port["write_errors"] for port in summary["ports"]),
        "oversized": sum(port["oversized"] for port in summary["ports"]),
        "router_cpu_share": summary["cpu_share"],
        "real_time": {"router": summary["real_time"], "applications": result["application"]["real_time"]},
        "applications_late_s": result["application"],
        "machine": result["machine"],
        "device": result["device"],
        "user_namespace": result["user_namespace"],
        "sysctls_missing": result["sysctls_missing"],
    }
