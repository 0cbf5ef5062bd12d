"""`linux-6` sends what a kernel sent (Linux 6.12 in virtual time, HZ = 1000), event by event.

The golden files were recorded once by `linux-virtual` with `stack.toml`: every data segment in the order of
sending, milliseconds since the first and number, `r` if it was sent before. A kernel, where one can be built,
must send the same today.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_events import Event, sent

from cwndlab_linux import stack_file
from cwndlab_linux.virtual.backend import VirtualKernel

HERE = Path(__file__).parent
#: Study, axis, value, golden file, and by how many ms times may differ: a tick where a timeout is rounded to
#: it; with the same segment lost again the kernel's receive buffer, which grows, holds back the rest
#: (docs/evidence/kernel.md).
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
    assert_same(sent(study, {axis: value}), golden(name), tolerance_ms)


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(("study", "axis", "value", "name", "tolerance_ms"), [CASES[3], CASES[10]])
def test_the_kernel_still_sends_it(study: str, axis: str, value: str, name: str, tolerance_ms: float) -> None:
    del tolerance_ms
    kernel = VirtualKernel(stack_file.load(str(HERE / "stack.toml")))
    assert_same(sent(study, {axis: value}, kernel=kernel), golden(name), 0.02)
