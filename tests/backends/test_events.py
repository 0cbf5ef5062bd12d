"""`linux-6` sends what a kernel sent (Linux 6.12 in virtual time, HZ = 1000), event by event.

The golden files were recorded once by `linux-virtual` with `stack.toml`: every data segment in the order of
sending, milliseconds since the first and number, `r` if it was sent before. A kernel, where one can be built,
must send the same today.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from cwndlab.backends.linux import stack
from cwndlab.backends.linux_virtual.backend import VirtualKernel
from cwndlab.runs.single_run import trace
from cwndlab.study import Study

HERE = Path(__file__).parent
#: Study, axis, value, golden file, and by how many ms times may differ: a tick where a timeout is rounded to
#: it; with the same segment lost again the kernel's receive buffer, which grows, holds back the rest
#: (docs/models/kernel.md).
CASES = [
    ("lost", "lost", "one", "lost-one", 0.05),
    ("lost", "lost", "two", "lost-two", 0.05),
    ("lost", "lost", "two-apart", "lost-two-apart", 0.05),
    ("lost", "lost", "three", "lost-three", 0.05),
    ("lost", "lost", "first-flight", "lost-first-flight", 0.05),
    ("lost", "lost", "last", "lost-last", 0.05),
    ("lost", "lost", "last-but-one", "lost-last-but-one", 0.05),
    ("lost", "lost", "twice", "lost-twice", 40),
    ("lost", "lost", "thrice", "lost-thrice", 64),
    ("buffers", "iw", "1", "rfc2416-iw-1", 0.05),
    ("buffers", "iw", "4", "rfc2416-iw-4", 1.05),
    ("buffers", "iw", "10", "rfc2416-iw-10", 1.05),
]
Event = tuple[float, str]


def sent(study: str, axis: str, value: str, kernel: VirtualKernel | None = None) -> list[Event]:
    plan = Study.load(HERE / f"{study}.toml").set({axis: value}).plan()
    (cell,) = plan.cells
    text = trace(cell, "csv", seed=plan.seed, kernel=kernel).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["event"] in ("send", "retransmit")]
    data = [row for row in rows if row["segment"] != "0"]  # 0 is the SYN
    start = float(data[0]["time_s"])
    return [
        (
            round((float(row["time_s"]) - start) * 1e3, 2),
            row["segment"] + "r" * (row["event"] == "retransmit"),
        )
        for row in data
    ]


def golden(name: str) -> list[Event]:
    words = (HERE / "golden" / f"{name}.txt").read_text().split()
    return [(float(at), segment) for at, segment in zip(words[::2], words[1::2], strict=True)]


def assert_same(found: list[Event], wanted: list[Event], tolerance_ms: float) -> None:
    assert [segment for _, segment in found] == [segment for _, segment in wanted]
    worst = max(zip(found, wanted, strict=True), key=lambda pair: abs(pair[0][0] - pair[1][0]))
    assert abs(worst[0][0] - worst[1][0]) <= tolerance_ms, worst


@pytest.mark.parametrize(("study", "axis", "value", "name", "tolerance_ms"), CASES)
def test_the_simulator_sends_what_the_kernel_sent(
    study: str, axis: str, value: str, name: str, tolerance_ms: float
) -> None:
    assert_same(sent(study, axis, value), golden(name), tolerance_ms)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(("study", "axis", "value", "name", "tolerance_ms"), [CASES[3], CASES[10]])
def test_the_kernel_still_sends_it(study: str, axis: str, value: str, name: str, tolerance_ms: float) -> None:
    del tolerance_ms
    kernel = VirtualKernel(stack.load(str(HERE / "stack.toml")))
    assert_same(sent(study, axis, value, kernel), golden(name), 0.02)
