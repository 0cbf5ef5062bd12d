"""`bbr1` sends what the kernel's BBR sent (Linux 6.12 in virtual time, HZ = 1000), event by event.

The golden files were recorded by `linux-virtual` with `bbr-stack.toml`: the kernel's release, how many data
segments were sent, a digest of their order (number, `r` if sent before), and every 20th of them, milliseconds
since the first and number. `CWNDLAB_REGENERATE=1` records them again where a kernel can be built.

The phase in which PROBE_BW begins is random. The kernel's draws are those of its seed; for each case the
simulator has a seed of its own, with which its stream draws the same phases. Any other seed gives the same
events up to the end of DRAIN.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cwndlab.backends.linux import stack
from cwndlab.backends.linux_virtual import images
from cwndlab.backends.linux_virtual.backend import VirtualKernel
from cwndlab.runs.single_run import trace
from cwndlab.study import Study

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
EVERY = 20
TOLERANCE_MS = 0.05
Event = tuple[float, str]


@dataclass(frozen=True)
class Case:
    """The simulator's seed, and what is set for it."""

    seed: int
    set: dict[str, str] = field(default_factory=dict)


#: The guest starts the second flow 0.961 ms late (its applications sleep for whole ticks).
CASES = {
    "half-bdp": Case(4),
    "one-bdp": Case(10),
    "two-bdp": Case(1),
    "eight-bdp": Case(7),
    "one-loss": Case(1),
    "probe-rtt": Case(142),
    "two-flows": Case(15, {"traffic.second.start": "500.961ms"}),
    "app-limited": Case(3),
}


def sent(case: str, seed: int, more: dict[str, str], kernel: VirtualKernel | None = None) -> list[Event]:
    (cell,) = Study.load(HERE / "bbr.toml").set({"case": case, **more}).plan().cells
    rows = csv.DictReader(io.StringIO(trace(cell, "csv", seed=seed, kernel=kernel).decode()))
    data = [row for row in rows if row["event"] in ("send", "retransmit") and row["segment"] != "0"]
    start = float(data[0]["time_s"])
    return [
        (
            round((float(row["time_s"]) - start) * 1e3, 2),
            row["segment"] + "r" * (row["event"] == "retransmit"),
        )
        for row in data
    ]


def order(events: list[Event]) -> str:
    return hashlib.sha256(" ".join(segment for _, segment in events).encode()).hexdigest()[:16]


def text(events: list[Event], release: str) -> str:
    words = [f"{at:.2f} {segment}" for at, segment in events[::EVERY]]
    lines = ["  ".join(words[k : k + 8]) for k in range(0, len(words), 8)]
    return "\n".join([f"kernel {release}", f"segments {len(events)} order {order(events)}", *lines]) + "\n"


def assert_same(case: str, found: list[Event]) -> None:
    _, counts, *lines = (GOLDEN / f"bbr-{case}.txt").read_text().splitlines()
    words = " ".join(lines).split()
    for (at, segment), wanted_at, wanted in zip(found[::EVERY], words[::2], words[1::2], strict=False):
        assert segment == wanted, f"at {at} ms"
        assert at == pytest.approx(float(wanted_at), abs=TOLERANCE_MS), segment
    assert f"segments {len(found)} order {order(found)}" == counts


@pytest.mark.parametrize("case", CASES)
def test_the_simulator_sends_what_the_kernel_sent(case: str) -> None:
    assert_same(case, sent(case, CASES[case].seed, CASES[case].set))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("case", ["half-bdp", *(list(CASES) if os.environ.get("CWNDLAB_REGENERATE") else [])])
def test_the_kernel_still_sends_it(case: str) -> None:
    kernel = VirtualKernel(stack.load(str(HERE / "bbr-stack.toml")))
    events = sent(case, 1, {}, kernel)
    if os.environ.get("CWNDLAB_REGENERATE"):
        (GOLDEN / f"bbr-{case}.txt").write_text(text(events, images.find().release))
    assert_same(case, events)
