"""One application, two drivers: on sockets it decides what it decides in the simulator.

The sockets are of the loopback device: they need no privileges.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pyarrow as pa
import pytest

from cwndlab._core import Application, Command, Scenario
from cwndlab.api import Study
from cwndlab_linux.applications import Bed, Driver, SocketEnd

HOST = "127.0.0.1"
SEGMENT = 1460
SIZES = {"kind": "lognormal-pareto", "median": 3000.0, "sigma": 1.0, "tail_from": 9000.0, "tail_alpha": 1.1}
SIZES["max"] = 100_000.0
SHORT = {"kind": "exponential", "mean": 0.002}
WEB = {
    "kind": "web",
    "object_bytes": SIZES,
    "request_bytes": {"kind": "uniform", "low": 100.0, "high": 2000.0},
    "think_s": SHORT,
    "first_s": SHORT,
    "clock": "syn",
    "record_objects": True,
    "pages": 6,
}
APPS: dict[str, dict[str, Any]] = {
    "http/1.0": WEB | {"protocol": "http/1.0", "inline_trigger": "first-packet"},
    "http/1.1": WEB | {"protocol": "http/1.1", "inline_trigger": "whole-primary"},
    "http/1.1, closed later": WEB
    | {"protocol": "http/1.1", "inline_trigger": "first-packet", "server_closes": "after-response"},
    "ftp": {"kind": "ftp", "file_bytes": SIZES, "pause_s": SHORT, "files": 6},
    "crr": {"kind": "crr", "request_bytes": SIZES, "response_bytes": SIZES, "transactions": 6},
    "rr": {"kind": "rr", "request_bytes": SIZES, "response_bytes": SIZES, "transactions": 6},
    "pipeline": {
        "kind": "pipeline",
        "request_bytes": SIZES,
        "response_bytes": SIZES,
        "depth": 3,
        "transactions": 6,
    },
    "bulk": {"kind": "bulk", "bytes": 1_000_000, "from": "server"},
    "bulk, read slowly": {"kind": "bulk", "segments": 40, "from": "client", "read_rate_bps": 20_000_000},
}


def scenario(app: dict[str, Any]) -> Scenario:
    content = dict(Study.load("rfc2415").plan().cells[0].compiled.scenario)
    link = {"rate_bps": 1_000_000_000, "delay_ns": 100_000, "queue": {"kind": "drop-tail", "limit": 1000}}
    ends = {"client": 0, "server": 1, "tcp_client": 0, "tcp_server": 0}
    content |= {
        "duration_ns": 10_000_000_000,
        "nodes": ["a", "b"],
        "links": [{"name": "a>b", "from": 0, "to": 1, **link}, {"name": "b>a", "from": 1, "to": 0, **link}],
        "traffic": [{"name": "app", "start_ns": 0, "app": app, **ends}],
        "probes": {},
    }
    content["tcp"] = [content["tcp"][0] | {"mss": SEGMENT}]
    return Scenario(json.dumps(content))


class Spy:
    """An application that keeps its timers: nanoseconds from the command to the time that it asks for."""

    def __init__(self, application: Application) -> None:
        self.application, self.waits = application, list[int]()

    def __getattr__(self, event: str) -> Callable[..., list[Command]]:
        def handle(now_ns: int, *more: int) -> list[Command]:
            commands: list[Command] = getattr(self.application, event)(now_ns, *more)
            timers = [command for command in commands if isinstance(command, Command.Timer)]
            self.waits += [timer.at_ns - now_ns for timer in timers]
            return commands

        return handle


def make() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock


def drive(application: Application | Spy, client: Callable[[], socket.socket] = make) -> Driver:
    """Runs it on sockets until it has nothing more to do, for 20 s at most."""
    loop = asyncio.new_event_loop()
    bed = Bed(loop)
    with make() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    ends = {"client": SocketEnd(client, HOST), "server": SocketEnd(make, HOST)}
    driver = Driver(bed, cast(Application, application), **ends, port=port)

    async def until_idle() -> None:
        driver.start()
        while (bed.sockets or driver.is_busy) and not bed.failures:
            await asyncio.sleep(0.002)

    try:
        loop.run_until_complete(asyncio.wait_for(until_idle(), 20))
    finally:
        for sock in [*bed.sockets.values(), *driver.listeners]:
            sock.close()
        loop.close()
    assert bed.failures == []
    return driver


def simulated(made: Scenario, seed: int, replicate: int) -> list[dict[str, Any]]:
    return pa.table(made.run(seed, replicate).table("objects")).to_pylist()


@pytest.mark.parametrize("name", APPS)
def test_an_application_decides_on_sockets_what_it_decides_in_the_simulator(name: str) -> None:
    made = scenario(APPS[name])
    rows = simulated(made, 7, 2)
    spy = Spy(made.application(0, SEGMENT, 7, 2))
    driver = drive(spy)
    records = [record for record, _ in driver.records]
    assert sorted((r.kind, r.index, r.bytes, r.connections) for r in records) == sorted(
        (row["kind"], row["index"], row["bytes"], row["connections"]) for row in rows
    )
    assert all(record.end_ns is not None for record in records)
    # objects of http/1.0 come in any order; what follows each other does so in the same
    series = [record.index for record in records if record.kind != "object"]
    assert series == list(range(len(series))) and len(series) in (1, 6)
    for record, client_ends in driver.records:
        opens_none = record.kind == "object" or (name in ("rr", "pipeline") and record.index > 0)
        assert len(client_ends) == (0 if opens_none else record.connections)
    whole = [row for row in rows if row["kind"] != "object"]
    gaps = [after["start_ns"] - before["end_ns"] for before, after in pairwise(whole)]
    if "http" in name:
        assert spy.waits[: len(whole)] == [whole[0]["start_ns"], *gaps]
    elif name == "ftp":
        assert spy.waits[: len(gaps)] == gaps


def test_other_replicates_decide_otherwise() -> None:
    made = scenario(APPS["ftp"])
    sizes = [
        [record.bytes for record, _ in drive(made.application(0, SEGMENT, 7, k)).records] for k in (0, 1)
    ]
    assert sizes[0] != sizes[1]


def test_a_slow_reader_leaves_what_it_has_not_read_and_closes_after_the_last_byte() -> None:
    spy = Spy(scenario(APPS["bulk, read slowly"]).application(0, SEGMENT, 1, 0))
    driver = drive(spy)
    ((record, _),) = driver.records
    assert record.bytes == 40 * SEGMENT and record.end_ns is not None
    assert record.end_ns - record.start_ns >= sum(spy.waits) > 0
    # a full segment at a time: 1460 B at 20 Mbit/s
    assert set(spy.waits[:-1]) <= {584_000}


def test_a_connection_that_cannot_be_opened_is_an_unfinished_file_and_the_next_one_follows() -> None:
    bad = make()
    bad.bind((HOST, 0))  # cannot be bound again
    sockets = iter([bad])
    made = scenario(APPS["ftp"])
    driver = drive(made.application(0, SEGMENT, 7, 2), lambda: next(sockets, None) or make())
    ends = [record.end_ns for record, _ in driver.records]
    assert ends[0] is None and len(ends) == 6 and None not in ends[1:]


class Reset(socket.socket):
    """A socket whose connection is reset before anything is read."""

    def recv_into(self, *_: Any) -> int:
        raise ConnectionResetError


def test_a_reset_is_an_unfinished_file_and_the_next_one_follows() -> None:
    bad = Reset(socket.AF_INET, socket.SOCK_STREAM)
    bad.setblocking(False)
    sockets = iter([bad])
    made = scenario(APPS["ftp"] | {"file_bytes": {"kind": "fixed", "value": 5e6}, "files": 2})
    driver = drive(made.application(0, SEGMENT, 7, 2), lambda: next(sockets, None) or make())
    assert [record.end_ns is None for record, _ in driver.records] == [True, False]


def test_an_entry_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="entry 1 does not exist; there are 1"):
        scenario(APPS["bulk"]).application(1, SEGMENT, 1, 0)
