"""Unmodified programs of a run: their words, starts, ends and outputs, without a kernel."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab_linux import programs
from cwndlab_linux.programs import Programs, expand, own_files


def test_addresses_take_the_place_of_names_in_braces() -> None:
    addresses = {"client": "10.0.0.1", "server": "10.0.0.2"}
    text = "-c {server} -B {client} {{server}} {other} {}"
    assert expand(text, addresses) == "-c 10.0.0.2 -B 10.0.0.1 {server} {other} {}"
    folder = Path("/own")
    assert own_files(folder) == {"HOME": "/own", "TMPDIR": "/own", "NSTAT_HISTORY": "/own/.nstat"}


def content(
    end: str, *words: str, path: str = sys.executable, folder: str = "", traffic: int = 0
) -> dict[str, Any]:
    environment = {"TO": "{server}", "HOME": "/mine"} if end == "client" else {}
    return {
        "traffic": traffic,
        "end": end,
        "words": ["python", *words],
        "path": path,
        "folder": folder,
        "environment": environment,
    }


class Hosts:
    """Two hosts, whose namespaces note that they are entered."""

    def __init__(self) -> None:
        entries = [
            {"name": f"x{k}", "client": 2, "server": 0, "start_ns": start}
            for k, start in enumerate((0, 5_000_000_000))
        ]
        self.scenario = {"traffic": entries, "nodes": ["a", "r", "b"]}
        self.entered: list[int] = []
        self.namespaces = {
            node: SimpleNamespace(enter=lambda node=node: self.entered.append(node)) for node in (0, 2)
        }

    def program_address(self, index: int, end: str) -> str:
        return {"client": "10.0.0.1", "server": "10.0.0.2"}[end] if index == 0 else f"{end}-1"


class Loop:
    """Notes what is scheduled and watched."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Any, tuple[Any, ...]]] = []
        self.readers: dict[int, tuple[Any, ...]] = {}

    def call_at(self, when: float, what: Any, *more: Any) -> None:
        self.calls.append((when, what, more))

    def add_reader(self, handle: int, *what: Any) -> None:
        self.readers[handle] = what

    def remove_reader(self, handle: int) -> None:
        del self.readers[handle]


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The scheduling classes that were set; nothing is changed."""
    scheduled: list[tuple[Any, ...]] = []
    monkeypatch.setattr(programs.os, "sched_setscheduler", lambda *words: scheduled.append(words))
    monkeypatch.setattr(programs, "drop_capabilities", lambda: None)
    return scheduled


def made(folder: Path, *contents: dict[str, Any]) -> Programs:
    return Programs({"folder": str(folder), "programs": contents}, Hosts(), Loop())  # type: ignore[arg-type]


def run(one: Programs, program: programs.Program) -> None:
    """Starts a program and waits for its end, as the loop would report it."""
    one._start(program)
    loop: Any = one.loop
    if program.process is not None:
        program.process.wait(30)
        ((handle, (done, *more)),) = loop.readers.items()
        assert more == [program, handle]
        done(*more)
        assert loop.readers == {}


def test_a_program_has_its_addresses_its_environment_and_its_folder(tmp_path: Path) -> None:
    client, server = made(tmp_path, content("client", "{server}"), content("server", folder="/else")).all
    assert (client.traffic, client.end, client.node, server.node) == (0, "client", 2, 0)
    assert client.words == ["python", "10.0.0.2"] and client.path == sys.executable
    own = str(tmp_path / "programs/0-client")
    assert client.environment == {
        "HOME": "/mine",
        "TMPDIR": own,
        "NSTAT_HISTORY": f"{own}/.nstat",
        "TO": "10.0.0.2",
    }
    assert (client.folder, server.folder) == (Path(own), Path("/else"))
    assert client.output == tmp_path / "output/0-client"
    assert server.environment["HOME"] == str(tmp_path / "programs/0-server")
    assert Programs({"folder": str(tmp_path)}, Hosts(), Loop()).all == []  # type: ignore[arg-type]


def test_a_server_starts_a_tenth_of_a_second_before_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: list[Any]
) -> None:
    contents = [
        content("client"),
        content("server"),
        content("server", traffic=1),
        content("client", traffic=1),
    ]
    one = made(tmp_path, *contents)
    assert [one._start_of(program) for program in one.all] == pytest.approx([0.0, -0.1, 4.9, 5.0])
    started, slept = [], []
    monkeypatch.setattr(Programs, "_start", lambda self, program: started.append(program))
    monkeypatch.setattr(programs, "time", SimpleNamespace(monotonic=lambda: 100.0, sleep=slept.append))
    one.start_servers(102.5)
    assert (started, slept) == ([one.all[1]], [pytest.approx(2.4)])
    assert (tmp_path / "running").read_text() == ""
    one.start_servers(100.05)
    assert slept[1] == 0.0
    one.all[1].process = SimpleNamespace()  # type: ignore[assignment]
    one.schedule(102.5)
    loop: Any = one.loop
    assert [(when, more) for when, _, more in loop.calls] == [
        (pytest.approx(when), (one.all[k],)) for when, k in ((102.5, 0), (107.4, 2), (107.5, 3))
    ]
    started.clear()
    made(tmp_path, contents[0], contents[2]).start_servers(102.5)
    assert started == [] and len(slept) == 2, "nothing is waited for"


def test_the_output_and_the_end_of_a_program_are_kept(tmp_path: Path, quiet: list[Any]) -> None:
    code = "import os, sys; print(os.getcwd(), sys.stdin.read() == ''); print('oh', file=sys.stderr)"
    one = made(tmp_path, content("client", "-c", code))
    (program,) = one.all
    run(one, program)
    assert program.code == 0 and one.failures == []
    hosts: Any = one.hosts
    assert hosts.entered == [2]
    assert quiet[0][:2] == (0, 1) and quiet[0][2].sched_priority == 5 and len(quiet) == 2, "set, and set back"
    zero = program.start - 2.0 if program.start else 0.0
    (row,) = one.rows(zero)
    assert row["start_ns"] == 2_000_000_000 and row["end_ns"] > row["start_ns"]
    assert row["stdout"] == f"{tmp_path / 'programs/0-client'} True\n" and row["stderr"] == "oh\n"
    assert (row["traffic"], row["end"], row["node"], row["exit_code"]) == (0, "client", "b", 0)
    assert row["command"] == f"python -c {code}"
    assert (tmp_path / "running").read_text() == ""
    one.beat()
    one.beat()
    assert (tmp_path / "running").stat().st_mtime == 2 and one.beats == 2


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import sys; sys.exit(3)", "ended with 3"),
        ("import os; os.kill(os.getpid(), 15)", "was ended by SIGTERM"),
        (
            "import resource as r; assert r.getrlimit(r.RLIMIT_FSIZE) == (1 << 30, 1 << 30); exit(1)",
            "ended with 1",
        ),
    ],
)
def test_a_program_that_fails_fails_the_run(tmp_path: Path, quiet: list[Any], code: str, how: str) -> None:
    one = made(tmp_path, content("client", "-c", f"import time; time.sleep(0.05); {code}"))
    run(one, one.all[0])
    (failure,) = one.failures
    assert (
        failure.startswith("`python -c import time") and f'` (client of traffic "x0") {how} after ' in failure
    )
    assert failure.endswith(" s: it said nothing")


def test_a_program_that_cannot_start_fails_the_run(tmp_path: Path, quiet: list[Any]) -> None:
    one = made(tmp_path, content("server", path="/nowhere/python"))
    run(one, one.all[0])
    assert one.failures[0].startswith('`python` (server of traffic "x0") did not start: [Errno 2]')
    assert len(quiet) == 2


def test_a_program_that_still_runs_is_ended_and_has_no_code(
    tmp_path: Path, quiet: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "GRACE_S", 0.2)
    code = (
        "import signal, time; signal.signal(2, lambda *_: print('told', flush=True)); print('on', flush=True)"
    )
    code += "\nwhile True: time.sleep(1)"
    one = made(tmp_path, content("client", "-c", code), content("client", "-c", "pass", traffic=1))
    one._start(one.all[0])
    out = tmp_path / "output/0-client.out"
    until = time.monotonic() + 30
    while "on" not in out.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    name = f'`python -c {code}` (client of traffic "x0")'
    assert (tmp_path / "running").read_text() == name
    one.end()
    assert out.read_text() == "on\ntold\n" and one.all[0].process is not None
    assert one.all[0].process.returncode == -signal.SIGKILL
    loop: Any = one.loop
    ((done, *more),) = loop.readers.values()
    done(*more)
    assert (one.failures, one.all[0].code, loop.readers) == ([], None, {})
    assert [row["end_ns"] for row in one.rows(0.0)] == [None]


def test_of_long_output_the_beginning_and_the_end_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    assert programs._shorten_text(path) == ""
    monkeypatch.setattr(programs, "_KEPT", 10)
    path.write_bytes(b"0123456789")
    assert programs._shorten_text(path) == "0123456789"
    path.write_bytes(b"0123456789abc\xff")
    assert programs._shorten_text(path) == "01234\n… 4 bytes are left out …\n9abc\ufffd"


def test_the_last_five_lines_of_errors_or_else_of_output_are_shown(tmp_path: Path) -> None:
    one = made(tmp_path, content("client")).all[0]
    one.output = tmp_path / "p"
    assert one.last_lines() == "it said nothing"
    (tmp_path / "p.out").write_text("\n".join("abcdefg") + "\n")
    assert one.last_lines() == "c | d | e | f | g"
    (tmp_path / "p.err").write_text(" \n")
    assert one.last_lines() == "c | d | e | f | g"
    (tmp_path / "p.err").write_text("why\n")
    assert one.last_lines() == "why"


def test_a_signal_to_a_program_that_has_ended_is_no_error() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    process.wait()
    programs._signal(process, signal.SIGINT)
