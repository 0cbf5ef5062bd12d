"""`bbr1` sends what the kernel's BBR sent (Linux 6.12 in virtual time, HZ = 1000), event by event.

The golden files were recorded by `linux-virtual` with `bbr-stack.toml`: the kernel's release, how many data
segments were sent, a digest of their order (number, `r` if sent before), and every 20th of them, milliseconds
since the first and number. `CWNDLAB_REGENERATE=1` records them again where a kernel can be built.

The phase in which PROBE_BW begins is random. The kernel's draws are those of its seed; for each case the
simulator has a seed of its own, with which its stream draws the same phases. Any other seed gives the same
events up to the end of DRAIN.

Version 3 (`google-v3`) is compared with the `bbr` of a kernel with a BBRv3 patch; `CWNDLAB_BBR3_KERNEL` names
one to run it again. With two flows no seed has the kernel's draws, so they are compared up to the first
probe.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from golden_events import Event, digest, lines_of, sent

from cwndlab_linux import stack_file
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
EVERY = 20
TOLERANCE_MS = 0.05
V3 = {
    "two-bdp": (6, 16.0),
    "eight-bdp": (1, 11.0),
    "one-loss": (6, 16.5),
    "probe-rtt": (10, 38.0),
    "app-limited": (1, 2.5),
}
V3 = {"tcp.window_law": {"bbr3": {"rules": "google-v3"}}}


@dataclass(frozen=True)
class Case:
    """The simulator's seed, and what is set for it."""

    seed: int
    set: dict[str, str] = field(default_factory=dict)


#: The guest's applications sleep for whole ticks, so its second flow starts 0.961 ms late, and 0.256 ms with
#: version 3.
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
CASES_V3 = {
    "half-bdp": Case(4),
    "one-bdp": Case(1),
    "two-bdp": Case(6),
    "eight-bdp": Case(3),
    "one-loss": Case(6),
    "probe-rtt": Case(33),
    "two-flows": Case(1, {"traffic.second.start": "500.256ms"}),
    "app-limited": Case(1),
}
#: Data segments before the first probe with two flows.
BEFORE_PROBE = 1600


def order(events: list[Event]) -> str:
    return digest(segment for _, segment in events)


def text(events: list[Event], release: str) -> str:
    words = [f"{at:.2f} {segment}" for at, segment in events[::EVERY]]
    return (
        "\n".join([f"kernel {release}", f"segments {len(events)} order {order(events)}", *lines_of(words)])
        + "\n"
    )


def assert_same(golden: str, found: list[Event], first: int | None = None) -> None:
    """The same segments at the same times; only the first ones if their number is given."""
    _, counts, *lines = (GOLDEN / f"{golden}.txt").read_text().splitlines()
    words = " ".join(lines).split()
    assert len(found) >= (first or 1) and len(words) // 2 >= len(found[:first:EVERY])
    for (at, segment), wanted_at, wanted in zip(found[:first:EVERY], words[::2], words[1::2], strict=False):
        assert segment == wanted, f"at {at} ms"
        assert at == pytest.approx(float(wanted_at), abs=TOLERANCE_MS), segment
    if first is None:
        assert f"segments {len(found)} order {order(found)}" == counts


@pytest.mark.parametrize("case", CASES)
def test_the_simulator_sends_what_the_kernel_sent(case: str) -> None:
    assert_same(f"bbr-{case}", sent("bbr", {"case": case, **CASES[case].set}, CASES[case].seed))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("case", ["half-bdp", *(list(CASES) if os.environ.get("CWNDLAB_REGENERATE") else [])])
def test_the_kernel_still_sends_it(case: str) -> None:
    kernel = VirtualKernel(stack_file.load(str(HERE / "bbr-stack.toml")))
    events = sent("bbr", {"case": case}, 1, kernel)
    if os.environ.get("CWNDLAB_REGENERATE"):
        (GOLDEN / f"bbr-{case}.txt").write_text(text(events, images.find().release))
    assert_same(f"bbr-{case}", events)


@pytest.mark.parametrize("case", CASES_V3)
def test_version_3_sends_what_a_kernel_with_its_patch_sent(case: str) -> None:
    alike = CASES_V3[case]
    first = BEFORE_PROBE if case == "two-flows" else None
    name = os.environ.get("CWNDLAB_BBR3_KERNEL")
    if name:
        laws = replace(stack_file.load(str(HERE / "bbr-stack.toml")), laws={"bbr3": "bbr"})
        image = images.find(name)
        events = sent("bbr", {"case": case, **V3}, 1, VirtualKernel(laws, image=image))
        if os.environ.get("CWNDLAB_REGENERATE"):
            (GOLDEN / f"bbr3-{case}.txt").write_text(text(events, f"{image.release} with BBRv3"))
        assert_same(f"bbr3-{case}", events)
    assert_same(f"bbr3-{case}", sent("bbr", {"case": case, **alike.set, **V3}, alike.seed), first)
