"""A report's facts about a run on a kernel: its environment, and its accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cwndlab.report.methods import with_builds
from cwndlab.report.model import Fact


def backend_facts(content: Mapping[str, Any]) -> list[Fact]:
    """The facts about the environment and the accuracy of a run on a kernel."""
    runs = [run for run in content["kernel_runs"] if not run["invalid_because"]]
    late = [
        max((run["lateness_ns"][name] for run in runs), default=0) / 1e3
        for name in ("p50", "p99", "p999", "max")
    ]
    return [
        Fact(
            "backend",
            f"{content['backend']}: Linux {with_builds(content, content['kernel'])}, "
            f"{_stack_text(content['stack'])}; the tables of results are the kernel's",
        ),
        Fact(
            "packets late (worst run)",
            "p50 {:.0f}, p99 {:.0f}, p99.9 {:.0f}, at most {:.0f} µs".format(*late)
            if max(late) >= 1
            else "by less than 1 µs",
        ),
        *(Fact("the kernel's settings", line) for line in content["stack"].get("settings", ())),
        *program_facts(runs),
        *(Fact("differs from the study", note) for note in content["differs_from_study"]),
    ]


def _stack_text(stack: Mapping[str, Any]) -> str:
    """The name and the description of a kernel's configuration."""
    return f"{stack['name']} ({stack['about']})" if stack.get("about") else str(stack["name"])


def program_facts(runs: Sequence[Mapping[str, Any]]) -> Iterator[Fact]:
    """Facts about the programs of the first run, and about the largest time charged in any run."""
    for one in runs[0].get("programs", ()) if runs else ():
        ended = "ran until the end"
        if one["exit_code"] is not None:
            ended = f"ended with {one['exit_code']} after {(one['end_ns'] - one['start_ns']) / 1e9:.3f} s"
        yield Fact("program", f"{one['command']} ({one['end']}, at {one['node']}): {ended}")
    charges = [run["charge"] for run in runs if run.get("charge")]
    if charges and (most := max(charges, key=lambda charge: charge["ns"]))["calls"]:
        text = f"{most['calls']}, charged with {most['ns'] / 1e6:.3f} ms; the first by {most['first']}"
        yield Fact("calls that never wait (worst run)", text)
