"""Studies over IPv6, in virtual time: needs a kernel built with `--config IPV6=y`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab import Study
from cwndlab.base.errors import RunError
from cwndlab_linux.differ.study_case import compare_study
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


def test_packets_are_those_of_the_simulator(ipv6: str, tmp_path: Path) -> None:
    said: list[str] = []
    compare_study(study(call=""), None, images.find(ipv6), tmp_path, threads=None, say=said.append)
    assert said == ["law=cubic: same", "law=dctcp: same"]


def test_datagrams_and_queues_of_the_kernel_carry_ipv6_too(ipv6: str, tmp_path: Path) -> None:
    changed = study('{ kind = "kernel", qdisc = "fq_codel" }').set({"law": "cubic"})
    result = changed.run(tmp_path / "out", backend="linux-virtual", kernel=ipv6, replicates=1)
    assert result.failures == []
    assert result.estimate("goodput_one").value > 10 and result.estimate("datagram_loss_call").value == 0
    # 200 bytes each 20 ms, of which 48 are headers
    assert result.estimate("goodput_call").value == pytest.approx(152 * 8 * 50 / 1e6, rel=0.05)


@pytest.mark.usefixtures("virtual")
def test_a_kernel_without_ipv6_is_an_error_that_says_how_to_build_one() -> None:
    with pytest.raises(RunError, match="cwndlab linux build --config IPV6=y"):
        study().set({"law": "cubic"}).run(backend="linux-virtual", replicates=1)
