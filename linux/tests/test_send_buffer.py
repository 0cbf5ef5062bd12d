"""With `send_tuning`, a sender pushes the segments that Linux pushed, as its send buffer was full with them.

`PUSHED` was recorded by `linux-virtual` (Linux 6.12.117, `linux-laws`): the numbers of all data segments with
PSH but the last, from one transfer over 20 Mb/s and 40 ms with four BDP of buffer.
"""

from __future__ import annotations

import pytest

from cwndlab_linux.differ.packets_at_server import ServerPacket
from cwndlab_linux.differ.random_scenario import Scenario, Transfer
from cwndlab_linux.differ.sides import against_simulator, one_on_kernel, simulate, stack_of
from cwndlab_linux.virtual.backend import VirtualKernel

PSH, MSS = 0x08, 1448
TRANSFERS = {"cubic": 3_000_000, "bbr1": 2_000_000}
PUSHED = {
    "cubic": "21 33 48 66 93 123 163 214 267 322 379 437 497 560 625 692 762 833 906 981 1059 1140 1223 1308 "
    "1396 1487 1580 1677 1778 1881 1988",
    "bbr1": "23 31 47 67 95 123 132 167 184 253 345 470 632 841 1050 1259",
}


def scenario(cc: str) -> Scenario:
    return Scenario(
        20.0, 40.0, 4.0, "drop-tail", ecn=False, loss=0.0, flows=((Transfer(0, TRANSFERS[cc], cc),),), seed=7
    )


def pushed(packets: tuple[ServerPacket, ...]) -> str:
    """Segments with PSH, without the last, which may carry a FIN."""
    ends = {packet.seq + packet.len for packet in packets if packet.sent and packet.flags & PSH}
    return " ".join(str(end // MSS) for end in sorted(ends) if end % MSS == 0)


@pytest.mark.parametrize("cc", PUSHED)
def test_the_send_buffer_is_full_with_the_segments_of_the_kernel(cc: str) -> None:
    assert pushed(simulate(scenario(cc).compile(), 7)) == PUSHED[cc]


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("cc", PUSHED)
def test_simulator_and_kernel_send_the_same_to_the_end(cc: str) -> None:
    kernel = VirtualKernel(stack_of())
    theirs = one_on_kernel(kernel, scenario(cc))
    assert pushed(theirs.packets) == PUSHED[cc]
    found, _ = against_simulator(scenario(cc), theirs)
    assert found.is_same, found.kind
