"""What was run, how long, and how to run it again, in the words of a report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from cwndlab.spec.document import shipped

from .model import Fact

#: The copy of a kernel's stack of your own in a result folder.
STACK_FILE = "stack.toml"


def missing(content: Mapping[str, Any]) -> str:
    """What the numbers lack, in words."""
    failures = content.get("failures", [])
    if not failures:
        return ""
    first = failures[0]
    wanted = sum(cell["replicates"] for cell in content["cells"])
    said = f"{len(failures)} of {wanted} runs gave no number, the first {first['cell']}, replicate "
    return f"{said}{first['replicate']}: {first['reason']}. {first['advice']}".strip()


def facts(content: Mapping[str, Any]) -> list[Fact]:
    """What was run, how long, and how to run it again."""
    replicates = [cell["replicates"] for cell in content["cells"]]
    span = (
        str(min(replicates))
        if min(replicates) == max(replicates)
        else f"{min(replicates)} to {max(replicates)}"
    )
    fetched = content.get("replicates_fetched", 0)
    if until := content.get("until"):
        span += f", until the half-width is {until:.3g} of each number, or the cap"
        span += " (Chow and Robbins 1965)"
    return [
        Fact("cells", str(len(replicates))),
        Fact("replicates of each", span),
        Fact("simulated", f"{content['scenario']['duration_ns'] / 1e9:g} s a run"),
        Fact(
            "took",
            f"{content['seconds']:g} s for {content['replicates_run']} runs on {content['ran_on']}"
            + (f", {fetched} taken from {content['store']}" if fetched else ""),
        ),
        Fact(
            "version",
            f"cwndlab {content['cwndlab']}" + _commit(content["git"]),
        ),
        *_backend_facts(content),
        *(
            Fact(
                f"congestion control {own['name']}",
                f"class {own['class']} of {own['file']}, digest {own['digest']}; its text is {own['copy']}",
            )
            for own in content.get("congestion_controls", [])
        ),
        Fact("run again", _command_again(content)),
    ]


def _commit(git: str | None) -> str:
    """The commit, and whether the work tree differed from it."""
    if not git:
        return ""
    return f", commit {git.rstrip('+')[:12]}" + (" with uncommitted changes" if git.endswith("+") else "")


def _command_again(content: Mapping[str, Any]) -> str:
    """The command of these runs; a study of your own is run from its copy in the result folder."""
    sets = {axis: ",".join(map(str, values)) for axis, values in content["set"].items()}
    if content["study"] in shipped():
        words = ["cwndlab", "run", str(content["study"])]
        # A congestion control that joins an axis joins it again.
        changed = {key: value for key, value in content["changed"].items() if not key.startswith("axes.")}
        sets |= {key: str(value) for key, value in changed.items()}
    else:  # whose keys are changed already
        words = ["cwndlab", "run", "study.toml"]
    for key, value in sets.items():
        words += ["--set", f"{key}={value}"]
    for own in content.get("congestion_controls", []):
        words += ["--cc", f"{own['name']}={own['copy']}:{own['class']}"]
    if content.get("backend"):
        stack = content["stack"].get("file") or content["stack"]["name"]
        words += ["--backend", str(content["backend"]), "--stack", str(stack)]
    if content.get("replicates"):
        words += ["--replicates", str(content["replicates"])]
    if content.get("until"):
        words += ["--until", f"{100 * content['until']:.6g}%"]
    if content.get("sensitivity"):
        words += ["--sensitivity", str(content["sensitivity"])]
    return shlex.join([*words, "--seed", str(content["seed"]), "-o", "DIR"])


def _backend_facts(content: Mapping[str, Any]) -> list[Fact]:
    """What a run on the kernel ran on, and how exact it was."""
    if not content.get("backend"):
        return []
    runs = [run for run in content["kernel_runs"] if not run["invalid_because"]]
    late = [
        max((run["lateness_ns"][name] for run in runs), default=0) / 1e3
        for name in ("p50", "p99", "p999", "max")
    ]
    return [
        Fact(
            "backend",
            f"{content['backend']}: Linux {content['kernel']}, {content['stack']['name']}; "
            "the rest of the report is the kernel's",
        ),
        Fact(
            "packets late (worst run)",
            "p50 {:.0f}, p99 {:.0f}, p99.9 {:.0f}, at most {:.0f} µs".format(*late),
        ),
        *(Fact("otherwise than the study", note) for note in content["differs_from_study"]),
    ]
