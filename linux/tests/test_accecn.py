"""AccECN sends what Linux 7.3 sent (in virtual time, HZ = 1000), segment by segment.

The golden files were recorded by `linux-virtual` with `accecn-stack.toml`: the kernel's release; how many
data segments were sent and a digest of their order; how many ACKs arrived at the sender, the bytes that they
report as marked, and a digest of what each of them says: position, flags (three are the ACE field), codepoint
and the option's counters; and every 20th ACK, milliseconds since the SYN and position. `CWNDLAB_REGENERATE=1`
records them again where Linux 7.3 was built.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from golden_events import digest, lines_of, run_of, segments_of

from cwndlab.base.errors import RunError
from cwndlab_linux import stack_file
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
CASES = ("reno", "cubic", "many-marks")
EVERY = 20
TOLERANCE_MS = 0.05
COLUMNS = ("time_ns", "event", "segment", "len", "ack", "flags", "ecn", "accecn")


def text(case: str, kernel: VirtualKernel | None = None, release: str = "") -> str:
    """What a golden file says of a run."""
    rows = segments_of(run_of("accecn", {"case": case}, kernel), COLUMNS)
    data = [
        segment for _, event, segment, length, *_ in rows if event in ("send", "retransmit") and length > 0
    ]
    acks = [(at, *rest) for at, event, _, _, *rest in rows if event in ("ack", "dupack")]
    marks = max((option[1] for *_, option in acks if len(option)), default=0)
    facts = [(ack, flags, ecn, *option) for _, ack, flags, ecn, option in acks]
    words = [f"{(at - acks[0][0]) / 1e6:.2f} {ack}" for at, ack, *_ in acks[::EVERY]]
    return "\n".join(
        [
            f"kernel {release}",
            f"segments {len(data)} order {digest(data)}",
            f"acks {len(acks)} marked bytes {marks} content {digest(facts)}",
            *lines_of(words),
            "",
        ]
    )


def assert_same(case: str, found: str) -> None:
    _, *counts_and_times = found.splitlines()
    _, *wanted = (GOLDEN / f"accecn-{case}.txt").read_text().splitlines()
    numbers = (" ".join(lines[2:]).split() for lines in (counts_and_times, wanted))
    for mine, theirs in zip(*numbers, strict=True):
        assert float(mine) == pytest.approx(float(theirs), abs=TOLERANCE_MS)
    assert counts_and_times[:2] == wanted[:2]


@pytest.mark.parametrize("case", CASES)
def test_the_simulator_reports_marks_as_the_kernel_did(case: str) -> None:
    assert_same(case, text(case))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_still_reports_them_so(case: str) -> None:
    try:
        image = images.find("7.3")
    except RunError as error:
        pytest.skip(str(error))
    found = text(
        case, VirtualKernel(stack_file.load(str(HERE / "accecn-stack.toml")), image=image), image.release
    )
    if os.environ.get("CWNDLAB_REGENERATE"):
        (GOLDEN / f"accecn-{case}.txt").write_text(found)
    assert_same(case, found)
