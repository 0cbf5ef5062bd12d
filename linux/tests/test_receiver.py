"""`linux-6` receives as Linux does: slow start ends with a stock kernel's drops and its ssthresh.

The golden files were recorded by `linux-virtual` with the stack `linux-stock` and single segments, 20 MB at
each rate of `receiver.toml`. `CWNDLAB_REGENERATE=1` records them again where a kernel for virtual time is
built. Each names the kernel, counts the drops before the first retransmission and in all, lists the
slow-start thresholds in the order of the samples, and has the first data segments in the format of the
others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from golden_events import Event, lines_of, run_of, segments_of

from cwndlab_linux import stack_file
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
MSS = 1448
KEPT = 1600
#: By rate, how many data segments the simulator sends as the kernel did, in order and within 0.05 ms: until a
#: segment that the kernel's sender pushed because its send buffer was full (docs/evidence/kernel.md).
AGREE = {"2": 48, "5": 391, "10": 228, "20": 970, "50": 626}


@dataclass(frozen=True)
class Outcome:
    """What a transfer shows of its slow start."""

    drops: int
    all_drops: int
    ssthresh: list[int]
    events: list[Event]

    def text(self, kernel: str) -> str:
        """As in a golden file."""
        words = [f"{at:.2f} {segment}" for at, segment in self.events]
        facts = [f"kernel {kernel}", f"drops {self.drops} of {self.all_drops}"]
        return "\n".join([*facts, "ssthresh " + " ".join(map(str, self.ssthresh)), *lines_of(words)]) + "\n"


def outcome(rate: str, kernel: VirtualKernel | None = None) -> Outcome:
    view = run_of("receiver", {"rate": rate}, kernel)
    rows = segments_of(view, ("time_ns", "event", "segment", "len"))
    data = [row for row in rows if row[1] in ("send", "retransmit") and row[3] > 0]
    start = data[0][0]
    repaired = next(at for at, event, _, _ in rows if event == "retransmit")
    drops = [at for at, event, _, _ in rows if event == "drop"]
    windows = view.columns("cwnd")
    ssthresh: list[int] = []
    for from_client, value in zip(
        windows["from_client"].tolist(), windows["ssthresh_bytes"].tolist(), strict=True
    ):
        known = not from_client and 0 < value < 1 << 40
        if known and (not ssthresh or ssthresh[-1] != value // MSS):
            ssthresh.append(value // MSS)
    events = [
        (round((at - start) / 1e6, 2), f"{segment}{'r' * (event == 'retransmit')}")
        for at, event, segment, _ in data[:KEPT]
    ]
    return Outcome(sum(at < repaired for at in drops), len(drops), ssthresh, events)


def golden(rate: str) -> Outcome:
    _, drops, ssthresh, *lines = (GOLDEN / f"receiver-{rate}.txt").read_text().splitlines()
    _, first, _, every = drops.split()
    words = " ".join(lines).split()
    events = [(float(at), segment) for at, segment in zip(words[::2], words[1::2], strict=True)]
    return Outcome(int(first), int(every), [int(word) for word in ssthresh.split()[1:]], events)


def agreement(found: list[Event], wanted: list[Event]) -> int:
    """How many data segments are the same from the beginning."""
    for k, (mine, kernels) in enumerate(zip(found, wanted, strict=True)):
        if mine[1] != kernels[1] or abs(mine[0] - kernels[0]) > 0.05:
            return k
    return len(wanted)


@pytest.mark.parametrize("rate", AGREE)
def test_slow_start_ends_with_the_drops_and_the_ssthresh_of_the_kernel(rate: str) -> None:
    found, wanted = outcome(rate), golden(rate)
    assert (found.drops, found.ssthresh) == (wanted.drops, wanted.ssthresh)
    assert agreement(found.events, wanted.events) >= AGREE[rate]


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("rate", AGREE)
def test_the_kernel_still_ends_it_so(rate: str) -> None:
    if rate not in ("10", "50") and not os.environ.get("CWNDLAB_REGENERATE"):
        pytest.skip("two rates are enough where nothing is recorded")
    found = outcome(rate, VirtualKernel(replace(stack_file.load("linux-stock"), segments="single")))
    path = GOLDEN / f"receiver-{rate}.txt"
    if os.environ.get("CWNDLAB_REGENERATE"):
        path.write_text(found.text(images.find().release))
    assert found == golden(rate)
