"""The validity of a run on the kernel; a run outside these limits yields no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cwndlab.study.schema import Limits

from .router_queues import QUEUE


def router_limits(limits: Limits) -> dict[str, Any]:
    """The limits that the router checks, by the router's names (docs/models/router.md)."""
    return {
        "lateness_p99_ns": limits.p99_lateness,
        "lateness_p999_ns": limits.p999_lateness,
        "lateness_max_ns": limits.max_lateness,
        "hidden_drops": limits.hidden_drops,
        "cpu_share": limits.cpu_share,
    }


def judge(result: Mapping[str, Any], limits: Limits) -> list[str]:
    """The reasons why a run is invalid, each beginning with the limit's name; empty if it is valid."""
    summary, app = result["summary"], result["application"]
    reasons = list(summary["invalid_because"])
    if not summary["valid"] and not reasons:
        reasons.append("the router calls it invalid")
    for name, limit in (("p99", limits.application_p99), ("max", limits.application_max)):
        late = app[f"lateness_{name}_s"]
        if late * 1e9 > limit:
            reasons.append(
                f"application-{name}: applications got the CPU {late * 1e3:.1f} ms late; the limit is "
                f"{limit / 1e6:g} ms"
            )
    if result["machine"]["steal"] > limits.steal:
        reasons.append(
            f"steal: the hypervisor took {result['machine']['steal']:.0%} of the CPU; the limit is "
            f"{limits.steal:.0%}"
        )
    for port in summary["ports"]:
        if port["unroutable"]:
            why = "had no way through the scenario"
            if port["device"].startswith(QUEUE):
                why = "left a kernel's queue after later ones of their flow, or after 10 s"
            reasons.append(f"{port['unroutable']} packets from {port['device']} {why}")
    reasons += [f"an application ended early: {failure}" for failure in result["failures"]]
    return reasons


_BUSY = (
    "the machine was too busy: run fewer side by side (--threads), or when it has nothing else to do; "
    "see SCHED_FIFO in `cwndlab doctor`; --backend linux-virtual is not affected; --limit {}=… accepts more"
)
#: Advice by the first word of a reason.
_ADVICE = {
    "steal": "other guests of the hypervisor had the processors: take another time or machine, or --backend "
    "linux-virtual; --limit steal=… accepts more",
    "hidden-drops": "the kernel lost packets at a device, outside the study's queues: lower the rates or "
    "windows; in real time, --backend linux-virtual may avoid it",
    "cpu-share": "there are more packets than the router can carry: lower the rates, or take --backend "
    "linux-virtual",
}


def advice(reasons: Sequence[str]) -> str:
    """Advice for an invalid run; "" if only the study itself explains it."""
    told = []
    for reason in reasons:
        name = reason.partition(":")[0]
        busy = _BUSY.format(name) if "lateness" in name or name.startswith("application-") else ""
        told.append(_ADVICE.get(name, busy))
    return next(filter(None, told), "")


def stamp(result: Mapping[str, Any], scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The facts stored with every run: its accuracy and its environment."""
    summary = result["summary"]
    lateness = {name: summary[f"lateness_{name}_ns"] for name in ("p50", "p99", "p999", "max")}
    links = []
    for spec, link in zip(scenario["links"], summary["links"], strict=True):
        rate = link["bytes"] * 8e9 / link["busy_ns"] if link["busy_ns"] else None
        links.append({"link": spec["name"], "asked_bps": spec["rate_bps"], "achieved_bps": rate})
    return (
        {
            "kernel": summary["kernel"],
            "version": result["version"],
            "packets": summary["packets"],
            "lateness_ns": lateness,
            # Links run in scheduled time, so a packet's only error is its lateness at the exit.
            "achieved": links,
            "hidden_drops": sum(port["kernel_drops"] + port["write_errors"] for port in summary["ports"]),
            "oversized": sum(port["oversized"] for port in summary["ports"]),
            "router_cpu_share": summary["cpu_share"],
            "real_time": {"router": summary["real_time"], "applications": result["application"]["real_time"]},
            "applications_late_s": result["application"],
            "machine": result["machine"],
            "device": result["device"],
            "offloads": result["offloads"],
            "user_namespace": result["user_namespace"],
            "clock_zero_ns": result["zero_ns"],
            "sysctls_missing": result["sysctls_missing"],
        }
        | ({"queues": result["queues"]} if result.get("queues") else {})
        | _of_programs(result)
    )


def _of_programs(result: Mapping[str, Any]) -> dict[str, Any]:
    """The outcomes of a run's programs, and the charged calls; empty for a run without programs."""
    if not result.get("processes"):
        return {}
    said = ("stdout", "stderr")
    programs = [{key: process[key] for key in process if key not in said} for process in result["processes"]]
    return {"programs": programs, "charge": result["charge"]}
