"""The simulator sends a kernel's packets in scenarios of `cwndlab differ` that were recorded once.

Those in `drawn` send single segments, those in `trains` trains.

Each file has what Linux 6.12 in virtual time sent (`>`: milliseconds, transfer, position, bytes) and received
(`<`: milliseconds, transfer, bytes acknowledged, SACK blocks) at the server. Each scenario differed until the
last of its causes in docs/evidence/kernel.md was found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab_linux.differ.packets_at_server import ServerPacket
from cwndlab_linux.differ.random_scenario import Scenario, draw
from cwndlab_linux.differ.sides import KernelRun, against_simulator, one_on_kernel, stack_of
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(
    f"{folder}/{path.stem}" for folder in ("drawn", "trains") for path in (GOLDEN / folder).glob("*.txt")
)


def shortest(folder: str) -> str:
    return min(NAMES, key=lambda name: (not name.startswith(folder), (GOLDEN / f"{name}.txt").stat().st_size))


def scenario_of(name: str) -> Scenario:
    folder, numbers = name.split("/")
    seed, index = map(int, numbers.split("-"))
    return draw(seed, index, trains=folder == "trains")


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
    found, _ = against_simulator(scenario_of(name), recorded(name))
    assert found.is_same, (found.kind, str(found.ours), str(found.theirs))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("folder", ["drawn", "trains"])
def test_the_kernel_still_sends_them(folder: str) -> None:
    name = shortest(folder)
    kernel = VirtualKernel(stack_of(trains=folder == "trains"), image=images.find())
    run = one_on_kernel(kernel, scenario_of(name))
    assert text_of(run) == (GOLDEN / f"{name}.txt").read_text()
