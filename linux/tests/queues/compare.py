"""Compares queues of the simulator with those of a kernel, packet by packet, in scenarios drawn at random.

`python linux/tests/queues/compare.py KERNEL REPLAY [KIND [FIRST [COUNT]]]`: the kernel is one with
`random.patch`, REPLAY is `cargo build --release -p cwndlab-net --example replay`. Prints each scenario that
differs, with its first difference.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cwndlab_linux.virtual import boot

HERE = Path(__file__).parent
#: A kernel acts some nanoseconds late: each look at its clock takes one.
SAME_NS = 1000
_TICK_NS = 1_000_000


class Difference(NamedTuple):
    """The first packet that does not leave as in the kernel."""

    kind: str
    text: str


def of_kernel(kernel: Path, scenarios: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What left the kernel's queues."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [str(HERE), *(path for path in sys.path if path)]
        init = folder / "init"
        init.write_text(
            f"#!{sys.executable} -sB\nimport sys\nsys.path[:] = {paths!r}\nimport guest\nguest.main()\n"
        )
        init.chmod(0o755)
        (folder / "scenarios.json").write_text(json.dumps(scenarios))
        command = [str(kernel), *boot.COMMAND_LINE]
        environment = boot.environment(1, folder)
        with (folder / "console").open("w") as console:
            subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=console, check=False
            )
        left = folder / "left.json"
        found: list[dict[str, Any]] = json.loads(left.read_text()) if left.exists() else []
        if len(found) < len(scenarios):
            raise RuntimeError((folder / "console").read_text()[-2000:])
        return found


def aligned(queue: dict[str, Any], began_ns: int) -> dict[str, Any]:
    """A queue with FQ-PIE's updates at the times of the kernel's timer.

    It begins with the queue, fires after HZ/2 ticks of 1 ms, rounded up to the 8 ticks of the timer wheel's
    second level, and then every update interval and a tick (kernel/time/timer.c, `calc_index`).
    """
    fair = queue.get("queue")
    if fair is None:
        return queue
    period = fair["update_ns"] // _TICK_NS + 1
    first = (began_ns // _TICK_NS + 500 + 8) // 8 * 8 % period
    times = {"update_ns": period * _TICK_NS, "first_update_ns": first * _TICK_NS + SAME_NS}
    return {**queue, "queue": {**fair, **times}}


def of_simulator(
    replay: Path, scenarios: Sequence[dict[str, Any]], kernel: Sequence[dict[str, Any]]
) -> list[Any]:
    """What leaves the simulator's queues, with arrivals at the kernel's times."""
    lines = []
    for scenario, found in zip(scenarios, kernel, strict=True):
        packets = [
            {**packet, "at": at} for packet, at in zip(scenario["packets"], found["sent"], strict=True)
        ]
        queue = aligned(scenario["queue"], found["began"])
        lines.append(json.dumps({"queue": queue, "packets": packets}))
    done = subprocess.run([replay], input="\n".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def first_difference(kernel: Sequence[Any], ours: Sequence[Any]) -> Difference | None:
    """The first packet that leaves differently; None if all leave alike."""
    for place, (theirs, own) in enumerate(zip(kernel, ours, strict=False)):
        text = f"departure {place}: kernel {theirs}, simulator {own}"
        if theirs[0] != own[0]:
            return Difference("packet", text)
        if theirs[2] != own[2]:
            return Difference("mark", text)
        if abs(theirs[1] - own[1]) > SAME_NS:
            return Difference("time", text)
    if len(kernel) != len(ours):
        return Difference("count", f"the kernel sends {len(kernel)}, the simulator {len(ours)}")
    return None


def same_with_another_hash(replay: Path, scenario: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether the hashes differ: which of two equally long queues is the first of Linux's heap."""
    if scenario["queue"]["kind"] != "cake":
        return False
    others = [{**scenario, "queue": {**scenario["queue"], "perturbation": other}} for other in range(64)]
    outcomes = of_simulator(replay, others, [found] * len(others))
    return any(first_difference(found["left"], ours) is None for ours in outcomes)


def main(kernel: str, replay: str, kind: str = "cake", first: str = "0", count: str = "100") -> None:
    """Prints what differs."""
    from scenarios import scenario

    drawn = [scenario(seed, kind) for seed in range(int(first), int(first) + int(count))]
    theirs = of_kernel(Path(kernel), drawn)
    for number, found in enumerate(theirs):
        if "error" in found:
            raise SystemExit(f"{number}: {drawn[number]['tc']}: {found['error']}")
    same, by_hash = 0, 0
    for number, (found, ours) in enumerate(
        zip(theirs, of_simulator(Path(replay), drawn, theirs), strict=True)
    ):
        difference = first_difference(found["left"], ours)
        same += difference is None
        lost = len(found["sent"]) - len(found["left"])
        if difference is not None and same_with_another_hash(Path(replay), drawn[number], found):
            by_hash += 1
        elif difference is not None:
            print(
                number + int(first), difference.kind, difference.text, f"({lost} lost)", drawn[number]["tc"]
            )
    sent = sum(len(found["sent"]) for found in theirs)
    lost = sent - sum(len(found["left"]) for found in theirs)
    print(f"{same} of {count} are the same, {by_hash} more with another hash ({sent} packets, {lost} lost)")


if __name__ == "__main__":
    main(*sys.argv[1:])
