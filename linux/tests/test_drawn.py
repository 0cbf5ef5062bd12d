"""The simulator sends a kernel's packets in scenarios of `cwndlab differ` that were recorded once.

Each file has what Linux 6.12 in virtual time sent (`>`: milliseconds, transfer, position, bytes) and received
(`<`: milliseconds, transfer, bytes acknowledged, SACK blocks) at the server. Each scenario differed until the
last of its causes in docs/evidence/kernel.md was found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab_linux.differ.packets_at_server import ServerPacket
from cwndlab_linux.differ.random_scenario import draw
from cwndlab_linux.differ.sides import KernelRun, against_simulator, one_on_kernel, stack_of
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

GOLDEN = Path(__file__).parent / "golden" / "drawn"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.txt"))
SHORTEST = min(NAMES, key=lambda name: (GOLDEN / f"{name}.txt").stat().st_size)


def text_of(run: KernelRun) -> str:
    lines = [f"starts_ns {' '.join(map(str, run.starts_ns))}", f"zero_ns {run.zero_ns}"]
    for one in run.packets:
        what = f"> {one.seq} {one.len}" if one.sent else f"< {' '.join(map(str, (one.ack, *one.sack)))}"
        lines.append(f"{one.time_ns / 1e6:.3f} {one.transfer} {what}")
    return "\n".join(lines) + "\n"


def recorded(name: str) -> KernelRun:
    starts, zero, *lines = (line.split() for line in (GOLDEN / f"{name}.txt").read_text().splitlines())
    packets = []
    for at, transfer, kind, *rest in lines:
        time_ns, numbers = round(float(at) * 1e6), [int(number) for number in rest]
        sent = kind == ">"
        seq, length = numbers if sent else (0, 0)
        ack, *sack = [0] if sent else numbers
        packets.append(ServerPacket(time_ns, int(transfer), sent, seq, length, ack, 0, 0, tuple(sack)))
    return KernelRun(tuple(packets), tuple(map(int, starts[1:])), int(zero[1]))


@pytest.mark.parametrize("name", NAMES)
def test_the_simulator_sends_the_packets_that_the_kernel_sent(name: str) -> None:
    seed, index = map(int, name.split("-"))
    found, _ = against_simulator(draw(seed, index), recorded(name))
    assert found.is_same, (found.kind, str(found.ours), str(found.theirs))


@pytest.mark.usefixtures("virtual")
def test_the_kernel_still_sends_them() -> None:
    seed, index = map(int, SHORTEST.split("-"))
    kernel = VirtualKernel(stack_of(), image=images.find())
    run = one_on_kernel(kernel, draw(seed, index))
    assert text_of(run) == (GOLDEN / f"{SHORTEST}.txt").read_text()
