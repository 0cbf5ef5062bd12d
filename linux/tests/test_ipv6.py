"""Studies over IPv6, in virtual time: needs a kernel built with `--config IPV6=y`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cwndlab import Study
from cwndlab.base.errors import RunError
from cwndlab_linux.differ import random_scenario
from cwndlab_linux.differ.differing import Differ
from cwndlab_linux.differ.random_scenario import Alignment
from cwndlab_linux.virtual import images

STUDY = """
title = "IPv6"
measure = ["goodput", "datagram_loss"]

[dumbbell]
rate = "20Mbps"
rtt = "40ms"
buffer = "100pkt"
jitter = "100us"
queue = QUEUE
flows = [
    { name = "one", cc = "$law", bytes = "3MB", start = "0s", tcp = { ecn = "rfc3168" } },
    CALL
]

[parameters]
law = ["cubic", "dctcp"]

[run]
duration = "4s"
network = "ipv6"
"""
CALL = '{ name = "call", app = { kind = "voip" } },'


def study(queue: str = '{ kind = "codel", ecn = true }', call: str = CALL) -> Study:
    return Study.from_toml(STUDY.replace("QUEUE", queue).replace("CALL", call))


@pytest.fixture(scope="module")
def ipv6(request: pytest.FixtureRequest) -> str:
    """The name of a kernel with IPv6."""
    request.getfixturevalue("virtual")
    for folder in images.built_kernels():
        if "IPV6=y" in images.kernel_facts(folder).get("config", ()):
            return folder.name
    pytest.skip("needs a kernel of `cwndlab linux build --config IPV6=y`")


def test_packets_are_those_of_the_simulator(
    ipv6: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random_scenario.Scenario.study

    def over_ipv6(self: random_scenario.Scenario, alignment: Alignment | None = None) -> dict[str, Any]:
        tables = drawn(self, alignment)
        tables["run"]["network"] = "ipv6"
        return tables

    monkeypatch.setattr(random_scenario.Scenario, "study", over_ipv6)
    rows = Differ(3, (images.find(ipv6),), tmp_path).run(3, 0)
    assert [row.kind for row in rows] == ["same"] * 3 and sum(row.packets for row in rows) > 1000


def test_datagrams_and_queues_of_the_kernel_carry_ipv6_too(ipv6: str, tmp_path: Path) -> None:
    changed = study('{ kind = "kernel", qdisc = "fq_codel" }').set({"law": "cubic"})
    result = changed.run(tmp_path / "out", backend="linux-virtual", kernel=ipv6, replicates=1)
    assert result.failures == []
    # all of 3 MB in 4 s
    assert result.estimate("goodput_one").value == 6 and result.estimate("datagram_loss_call").value == 0
    simulated = study().set({"law": "cubic"}).run(replicates=1)
    wanted = simulated.estimate("goodput_call").value
    assert result.estimate("goodput_call").value == pytest.approx(wanted, rel=0.01)


@pytest.mark.usefixtures("virtual")
def test_a_kernel_without_ipv6_is_an_error_that_says_how_to_build_one() -> None:
    with pytest.raises(RunError, match="cwndlab linux build --config IPV6=y"):
        study().set({"law": "cubic"}).run(backend="linux-virtual", replicates=1)
