"""What the testbed observes, samples and reports, without a kernel."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab_linux import testbed
from cwndlab_linux.netns import SetupError
from cwndlab_linux.router_queues import QueueError
from cwndlab_linux.testbed import Samplers, observed_port, starts_with_data


def links(*ends: tuple[int, int]) -> list[dict[str, int]]:
    return [{"from": a, "to": b} for a, b in ends]


@pytest.mark.parametrize(
    ("at", "nodes", "port"),
    [
        (None, [0, 4], None),
        (4, [0, 4], 1),
        (2, [0, 4], 1),  # two hops from 0, one from 4
        (1, [0, 4], 0),
        (1, [4, 0], 1),
    ],
)
def test_the_host_nearest_to_the_observation_point_is_observed(
    at: int | None, nodes: list[int], port: int | None
) -> None:
    both = [(0, 1), (1, 2), (2, 4), (2, 3)]
    scenario = {"links": links(*both, *((b, a) for a, b in both)), "probes": {"segments_at": at}}
    assert observed_port(scenario, nodes) == port
    assert observed_port({"links": []}, nodes) is None
    with pytest.raises(ValueError, match="no end host can be reached"):
        observed_port({"links": links((1, 2), (2, 1)), "probes": {"segments_at": 1}}, nodes)


def test_the_clock_starts_with_the_data_of_a_single_bulk_transfer_without_a_handshake() -> None:
    def starts(kinds: list[str], handshake: bool) -> bool:
        traffic = [{"app": {"kind": kind}, "tcp_client": 1} for kind in kinds]
        return starts_with_data(
            {"traffic": traffic, "tcp": [{"handshake": not handshake}, {"handshake": handshake}]}
        )

    assert starts(["bulk"], False)
    assert not starts(["bulk"], True) and not starts(["rr"], False) and not starts(["bulk", "bulk"], False)


def test_lateness_has_percentiles() -> None:
    samples = SimpleNamespace(late=[0.001 * k for k in range(200, -1, -1)])
    assert testbed._lateness(samples) == pytest.approx(  # type: ignore[arg-type]
        {"lateness_p50_s": 0.1, "lateness_p99_s": 0.198, "lateness_max_s": 0.2}
    )
    none = testbed._lateness(SimpleNamespace(late=[]))  # type: ignore[arg-type]
    assert set(none.values()) == {0.0}


def test_the_load_of_the_machine_is_that_between_two_readings() -> None:
    before, after = [10, 0, 0, 100, 5, 0, 0, 1], [70, 0, 10, 120, 10, 0, 0, 6]
    found = testbed._machine_load(before, after)  # 100 ticks, of which 25 were idle and 5 stolen
    assert (found["busy"], found["steal"]) == (pytest.approx(0.75), pytest.approx(0.05))
    assert found["processors"] >= 1 and found["load"] >= 0
    still = testbed._machine_load(before, before)
    assert (still["busy"], still["steal"]) == (1.0, 0.0)
    assert len(testbed.cpu_times()) == 8 and min(testbed.cpu_times()) >= 0


class Sock:
    """A socket with this TCP_INFO."""

    def __init__(self, **values: int) -> None:
        self.values, self.asked, self.is_closed = values, 0, False

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert (level, option, size) == (socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        if self.is_closed:
            raise OSError
        info = bytearray(104)
        places = {
            "mss": 16,
            "unacked": 24,
            "sacked": 28,
            "lost": 32,
            "again": 36,
            "rtt": 68,
            "ssthresh": 76,
            "cwnd": 80,
        }
        for name, value in self.values.items():
            if name == "state":
                info[1] = value
            else:
                info[places[name] : places[name] + 4] = value.to_bytes(4, sys.byteorder)
        return bytes(info)

    def getsockname(self) -> tuple[str, int]:
        self.asked += 1
        return ("10.0.0.1", 5)

    def getpeername(self) -> tuple[str, int]:
        return ("10.0.0.2", 6)


def test_windows_are_sampled_when_they_change() -> None:
    sock = Sock(
        mss=1000, unacked=10, sacked=3, lost=2, again=1, rtt=25, ssthresh=0x7FFF_FFFF, cwnd=12, state=2
    )
    samples = Samplers(SimpleNamespace(sockets={3: sock}), windows=True)  # type: ignore[arg-type]
    key = ("10.0.0.1", 5, "10.0.0.2", 6)
    samples.take(1.5)
    samples.take(1.6)
    assert samples.rows == [(1_500_000_000, *key, 12_000, None, 25_000, 6000, 2)]
    sock.values |= {"ssthresh": 0x7FFF_FFFE, "lost": 90}
    samples.take(1.7)
    assert samples.rows[1:] == [(1_700_000_000, *key, 12_000, 0x7FFF_FFFE * 1000, 25_000, 0, 2)]
    sock.values["state"] = 3
    samples.take(1.8)
    assert len(samples.rows) == 3 and sock.asked == 1, "addresses are asked for once"
    sock.is_closed = True
    samples.take(1.9)
    assert samples.ends == {}


@pytest.mark.parametrize(("windows", "step"), [(True, 0.005), (False, 0.02)])
def test_samples_are_taken_each_5_ms_or_20_ms_without_windows(
    monkeypatch: pytest.MonkeyPatch, windows: bool, step: float
) -> None:
    """A timeout may end a millisecond later; the second one ends 4 ms later."""
    now, slept, taken = [10.0], [], []

    async def sleep(seconds: float) -> None:
        if len(slept) == 2:
            raise asyncio.CancelledError
        slept.append(seconds)
        now[0] += seconds + (0.0005, 0.004)[len(slept) - 1]

    monkeypatch.setattr(testbed.asyncio, "sleep", sleep)
    bed = SimpleNamespace(loop=SimpleNamespace(time=lambda: now[0]))
    samples = Samplers(bed, windows=windows)  # type: ignore[arg-type]
    monkeypatch.setattr(samples, "take", taken.append)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(samples.run())
    assert slept == [step, step] and samples.late == pytest.approx([0.0, 0.003]) and len(taken) == 2 * windows


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (QueueError(4, "why", "right"), {"error": ["why", "right"], "link": 4}),
        (SetupError("why"), {"error": "why", "of_all": True}),
        (OSError(errno.EPERM, "why"), {"error": "PermissionError: [Errno 1] why"}),
        (ValueError("why"), {"error": "ValueError: why"}),
        (json.JSONDecodeError("why", "", 0), {"error": "JSONDecodeError: why: line 1 column 1 (char 0)"}),
        (KeyError("why"), {"error": "builtins.KeyError: 'why'"}),
    ],
)
def test_an_error_of_a_run_is_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, result: dict[str, Any]
) -> None:
    def perform(job: object, prepared: object) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(testbed, "perform", perform)
    testbed.write_result({"folder": str(tmp_path)})
    assert json.loads((tmp_path / "result.json").read_text()) == result


def test_charged_calls_are_read_from_the_kernels_counters(tmp_path: Path) -> None:
    for name, text in (("calls", "12\n"), ("ns", "34\n"), ("first", "iperf3\n")):
        (tmp_path / f"charged_{name}").write_text(text)
    assert testbed._charged(tmp_path) == {"calls": 12, "ns": 34, "first": "iperf3"}
    assert testbed.charge_from(7) is None or sys.platform != "linux"
