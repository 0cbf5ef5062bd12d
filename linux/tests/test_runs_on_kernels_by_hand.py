"""Runs on a kernel as an executor handles them, the programs of a study, and checks of a machine, by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.base.errors import OutputError, RunError, StudyError
from cwndlab.study.schema import Limits
from cwndlab_linux import kernel_doctor, real_kernel, validity
from cwndlab_linux.real_kernel import Kernel, RunProcess, capture_name
from cwndlab_linux.stack import STACKS
from cwndlab_linux.virtual import program_files
from cwndlab_linux.virtual.program_files import Command, commands

STACK = STACKS["linux-laws"]


def kernel(**changes: Any) -> Kernel:
    return Kernel(STACK, **changes)


def run(duration_s: float = 4.0, **changes: Any) -> RunProcess:
    values: dict[str, Any] = {
        "job": SimpleNamespace(cell="a/b=1", replicate=2, key="key", is_first=True, scenario="s"),
        "scenario": {"duration_ns": duration_s * 1e9, "traffic": []},
        "folder": Path("/none"),
        "process": SimpleNamespace(poll=lambda: None),
        "attempt": 1,
        "began": 100.0,
        "deadline": 200.0,
    }
    return RunProcess(**values | changes)


def test_a_capture_is_named_after_its_cell() -> None:
    assert capture_name("buffer=0.5,cc=bbr/x y") == "buffer=0.5,cc=bbr_x_y.pcapng"


def test_a_result_depends_on_kernel_configuration_and_limits() -> None:
    one = kernel()
    assert json.loads(one.key) == ["linux", one.release, STACK.as_dict(), dict(Limits())]
    assert (one.side_by_side, kernel(at_once=3).side_by_side) == (real_kernel.AT_ONCE, 3)
    assert one.allowed_s({"duration_ns": 2_500_000_000}) == 122.5
    assert (one.releases, one.keys, one.more_of(run().job), one.why_stuck(run())) == (
        one.release,
        {},
        {},
        None,
    )


def test_a_run_is_over_when_its_process_has_ended_its_time_is_up_or_it_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(real_kernel.time, "monotonic", lambda: 200.0)
    assert not kernel()._is_over(run())
    assert kernel()._is_over(run(deadline=199.9))
    assert kernel()._is_over(run(process=SimpleNamespace(poll=lambda: 0)))
    monkeypatch.setattr(Kernel, "why_stuck", lambda self, run: "it hangs")
    hung = run()
    assert kernel()._is_over(hung) and hung.hung == "it hangs"


@pytest.mark.parametrize(
    ("waiting", "at_once", "pace", "left"),
    [
        ([], 2, 1.0, 3.0),
        ([], 2, 2.0, 7.0),
        ([], 2, None, None),
        ([5], 3, 1.0, 5.0),  # there is room
        ([5], 2, 1.0, 6.0),  # after the one that ends first, in 1 s
        ([5, 5], 2, 1.0, 8.0),
        ([5, 5, 5], 2, 1.0, 11.0),
    ],
)
def test_the_time_left_is_that_of_runs_side_by_side(
    monkeypatch: pytest.MonkeyPatch, waiting: list[int], at_once: int, pace: float | None, left: float | None
) -> None:
    """Runs of 4 s and 2 s have taken a second."""
    monkeypatch.setattr(real_kernel.time, "monotonic", lambda: 101.0)
    jobs: Any = [SimpleNamespace(scenario=json.dumps({"duration_ns": seconds * 1e9})) for seconds in waiting]
    assert kernel(at_once=at_once, pace=pace)._seconds_left([run(4.0), run(2.0)], jobs) == left
    assert kernel()._seconds_left([], []) == 0.0
    assert kernel()._seconds_left([run(0.5)], []) == 0.0, "it is late"


class Watcher:
    """Notes what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_run_that_the_machine_disturbed_is_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outcome = SimpleNamespace(error="invalid")
    reasons = ["late", "stolen"]
    delivered: list[Any] = []
    begun: list[int] = []
    monkeypatch.setattr(real_kernel, "end_session", lambda process: None)
    monkeypatch.setattr(Kernel, "_outcome", lambda self, run, work: (outcome, reasons))

    def begin(self: Kernel, job: Any, scenario: Any, router: Path, attempt: int) -> RunProcess:
        begun.append(attempt)
        return run(attempt=attempt)

    monkeypatch.setattr(Kernel, "begin", begin)
    watcher: Any = Watcher()
    made = kernel(watcher=watcher, attempts=3)
    again = made._finish(run(earlier=["before"]), None, delivered.append, tmp_path)  # type: ignore[arg-type]
    assert again is not None and (again.attempt, again.earlier) == (2, ["before", "late; stolen"])
    assert watcher.said == [
        "note: a/b=1, replicate 2: attempt 1 of 3 is discarded and repeated: late; stolen"
    ]
    assert made._finish(run(attempt=3), None, delivered.append, tmp_path) is None  # type: ignore[arg-type]
    assert delivered == [outcome] and begun == [2]
    reasons.clear()
    outcome.error = None
    first = run(digests={"x": "1"})
    verified = kernel(verify=True)._finish(first, None, delivered.append, tmp_path)  # type: ignore[arg-type]
    assert verified is not None and (verified.before, verified.attempt) == ({"x": "1"}, 1)
    assert kernel(verify=True)._finish(run(before={}), None, delivered.append, tmp_path) is None  # type: ignore[arg-type]
    assert kernel()._finish(run(), None, delivered.append, tmp_path) is None  # type: ignore[arg-type]
    assert len(delivered) == 3


def test_a_second_run_is_compared_by_what_it_wrote() -> None:
    watcher: Any = Watcher()
    made = kernel(watcher=watcher)
    assert made._compare(run(), {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9"}) == ["b", "c"]
    assert made._compare(run(), {"a": "1"}, {"a": "1", "new": "2"}) == []
    which = "a/b=1, replicate 2: a second run"
    assert watcher.said == [f"note: {which} differs in b, c", f"{which} is the same"]
    assert kernel()._compare(run(), {"a": "1"}, {}) == ["a"]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (None, "the testbed ended without a result"),
        ({"error": "why"}, "testbed: why"),
        ({"processes_failed": ["one", "two"]}, "one; two"),
    ],
)
def test_a_run_without_numbers_has_a_reason(tmp_path: Path, result: Any, error: str) -> None:
    if result is not None:
        (tmp_path / "result.json").write_text(json.dumps(result))
    outcome, reasons = kernel()._outcome(run(folder=tmp_path), None)  # type: ignore[arg-type]
    assert (outcome.error, outcome.packets, reasons) == (error, 0, [])
    if result is None:
        assert kernel()._outcome(run(folder=tmp_path, hung="it hangs"), None)[0].error == "it hangs"  # type: ignore[arg-type]
    (tmp_path / "result.json").write_text(json.dumps({"error": "why", "of_all": True}))
    with pytest.raises(RunError, match="no run on a kernel can be set up here: why"):
        kernel()._outcome(run(folder=tmp_path), None)  # type: ignore[arg-type]


def test_an_invalid_run_has_its_reasons_and_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "result.json").write_text(json.dumps({"processes_failed": [], "processes": []}))
    reasons = ["steal: why", "lateness-max: why"]
    monkeypatch.setattr(validity, "judge", lambda result, limits: reasons)
    monkeypatch.setattr(validity, "stamp", lambda result, scenario: {"kernel": "6.12"})
    made = kernel()
    outcome, found = made._outcome(run(folder=tmp_path, earlier=["before"]), None)  # type: ignore[arg-type]
    assert (
        outcome.error == "invalid, no number of it counts: steal: why; lateness-max: why" and found == reasons
    )
    assert outcome.advice == validity.advice(reasons)
    assert made.stamps["key"] == {
        "kernel": "6.12", "cell": "a/b=1", "replicate": 2, "invalid_before": ["before"],
        "invalid_because": reasons, "differs_from_study": [],
    }  # fmt: skip


def test_stamps_and_sysctls_are_kept_next_to_the_results(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    for key in ("b", "a"):
        stamp = {"cell": key, "replicate": 0, "differs_from_study": [f"note {key}", "note"]}
        Kernel._keep(folder, SimpleNamespace(key=key), stamp, {"tcp_sack": "1"})  # type: ignore[arg-type]
    (sysctls,) = folder.glob("sysctls-*.json")
    assert json.loads(sysctls.read_text()) == {"tcp_sack": "1"}
    assert json.loads((folder / "a.json").read_text())["sysctls"] == sysctls.name
    made = kernel(keep=folder)
    made.stamps["c"] = {"cell": "c", "replicate": 1, "differs_from_study": []}
    found = made.provenance()
    assert [one["cell"] for one in found["kernel_runs"]] == ["a", "b", "c"]
    assert found["differs_from_study"] == ["note", "note a", "note b"] and found["backend"] == "linux"
    assert found["stack"]["settings"][0].startswith("tcp_no_metrics_save = 1")
    for text in (
        "[]",
        '{"cell": 5, "replicate": 0, "differs_from_study": []}',
        "{",
        '{"cell": "x", "replicate": "0"}',
    ):
        (folder / "d.json").write_text(text)
        with pytest.raises(OutputError, match="is not what a run on a kernel leaves there"):
            made.provenance()


def test_outputs_and_logs_of_programs_are_kept(tmp_path: Path) -> None:
    own = tmp_path / "run/programs/0-client/deeper"
    own.mkdir(parents=True)
    (own / "a.qlog").write_text("one")
    (own / "b.sqlog").write_text("two")
    (own / "other").write_text("three")
    made = run(folder=tmp_path / "run", scenario={"duration_ns": 1, "traffic": [{"name": "x"}]})
    process = {"traffic": 0, "end": "client", "stdout": "said", "stderr": ""}
    Kernel._keep_outputs(tmp_path / "kernel", made, [process])
    folder = tmp_path / "kernel/programs/a_b=1"
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == {"x-client.out": "said", "x-client/a.qlog": "one", "x-client/b.sqlog": "two"}


# ── programs ──────────────────────────────────────────────────────────────────────────────────────────


def programs(study: Path, /, **app: Any) -> list[Command]:
    entries = [{"app": {"kind": "bulk"}}, {"app": {"kind": "program", **app}}]
    return commands({"traffic": entries}, study)


def test_a_program_is_found_next_to_the_study_in_its_folder_or_in_the_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/data").write_text("x")
    server, client = programs(tmp_path, client="./tool 'a b'", server="sh -c true", environment={"A": "b"})
    assert (server.end, client.end, client.traffic) == ("server", "client", 1)
    assert (client.words, client.path) == (("./tool", "a b"), tmp_path / "tool")
    assert server.path.name == "sh" and server.folder is None
    assert client.environment["A"] == "b" and client.environment["TERM"] == "dumb"
    assert client.environment["PATH"].endswith(program_files.ENVIRONMENT["PATH"])
    assert client.content() == {
        "traffic": 1, "end": "client", "words": ("./tool", "a b"), "path": str(tool), "folder": None,
        "environment": client.environment,
    }  # fmt: skip
    (inside,) = programs(tmp_path, client="../tool data none", folder="own")
    assert inside.folder == tmp_path / "own" and inside.path.resolve() == tool
    assert list(inside.files()) == [inside.path, tmp_path / "own/data", tmp_path / "own/data"]
    assert inside.content()["folder"] == str(tmp_path / "own")


@pytest.mark.parametrize(
    ("app", "words"),
    [
        ({"client": "./none"}, "there is no program"),
        ({"client": "./text"}, "there is no program"),
        ({"client": "no-such-program-anywhere"}, "these folders are searched"),
        ({"client": "quinn-client"}, "build it: cwndlab linux stacks quinn"),
        ({"client": "'open"}, "close the quotes"),
        ({"client": "sh", "folder": "none"}, "there is no folder"),
        ({"client": "sh", "folder": "../.."}, "app.folder"),
    ],
)
def test_a_program_or_a_folder_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, app: dict[str, str], words: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "text").write_text("not executable")
    with pytest.raises(StudyError) as caught:
        programs(tmp_path, **app)
    assert words in str(caught.value)


def test_a_folder_has_a_limit_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    monkeypatch.setattr(program_files, "_MAX_FILES", 3)
    assert program_files._working(str(tmp_path), None, ()) == tmp_path
    monkeypatch.setattr(program_files, "_MAX_FILES", 2)
    with pytest.raises(StudyError, match="has more than 2 files"):
        program_files._working(str(tmp_path), None, ())
    assert program_files._working(None, tmp_path, ()) is None


def test_scripts_need_their_interpreters_and_programs_their_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = f"\tlibc.so.6 => {tmp_path}/libc (0x1)\n\tlinux-vdso.so.1 (0x2)\n"
    listed += f"\t{tmp_path}/ld (0x3)\n\tx => not found\n"
    monkeypatch.setattr(program_files, "output_of", lambda words: listed)
    monkeypatch.setitem(program_files.ENVIRONMENT, "PATH", str(tmp_path))
    for name, start in (
        ("elf", b"\x7fELF..."), ("libc", b"x"), ("ld", b"x"), ("plain", b"text"), ("empty", b"#!\n"),
        ("script", f"#! {tmp_path}/elf -x\nrest".encode()), 
        ("through", b"#!/usr/bin/env elf\n"), ("lost", b"#!/no/such\n"),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(start)
        (tmp_path / name).chmod(0o755)
    names = ("elf", "script", "through", "plain", "empty", "lost")
    needed = {name: [one.name for one in program_files._needed(tmp_path / name, 0)] for name in names}
    assert needed == {
        "elf": ["libc", "ld"], "script": ["elf", "libc", "ld"], "through": ["elf", "libc", "ld"], "plain": [],
        "empty": [], "lost": [],
    }  # fmt: skip
    made = Command(0, "client", ("script",), tmp_path / "script", None, {"PATH": str(tmp_path)})
    found = program_files.digests([made, made])
    assert [Path(name).name for name in found] == ["elf", "ld", "libc", "script"]
    assert found[str(tmp_path / "ld")] == found[str(tmp_path / "libc")] == "2d711642b726b044"


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────────


def checks(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> dict[str, tuple[bool, str]]:
    state: dict[str, Any] = {
        "namespaces": (True, "TUN devices"), "fifo": (True, ""), "router": None, "build": True, "root": True,
        "tun": True, "swept": [],
    } | changes  # fmt: skip
    monkeypatch.setattr(
        kernel_doctor, "_python", lambda code: state["fifo" if "SCHED_FIFO" in code else "namespaces"]
    )
    monkeypatch.setattr(kernel_doctor, "installed_router", lambda: state["router"])
    monkeypatch.setattr(kernel_doctor, "can_build", lambda: state["build"])
    monkeypatch.setattr(kernel_doctor, "is_privileged", lambda: state["root"])
    monkeypatch.setattr(kernel_doctor, "can_open_tun", lambda: state["tun"])
    monkeypatch.setattr(kernel_doctor, "sweep", lambda: state["swept"])
    monkeypatch.setattr(
        kernel_doctor, "_congestion_controls", lambda: kernel_doctor.Check("congestion control", True, "")
    )
    return {one.name: (one.works, one.detail) for one in kernel_doctor.examine()}


def test_a_machine_is_checked_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    found = checks(monkeypatch, router=Path("/r"), swept=[1, 2])
    names = ["kernel", "pyroute2", "router", "namespaces", "real time", "congestion control", "left over"]
    assert list(found) == names and all(works for works, _ in found.values())
    assert found["router"] == (True, "/r") and found["namespaces"][1] == "as root, with TUN devices"
    assert found["left over"][1] == "removed 2 folders of runs that were killed"
    assert kernel_doctor.reason_not() is None
    other = checks(monkeypatch, root=False, build=False, fifo=(False, ""))
    assert other["router"] == (False, kernel_doctor.NOT_BUILT) and "left over" not in other
    assert other["namespaces"][1] == "in a user namespace, without root, with TUN devices"
    assert not other["real time"][0] and "* - rtprio 20" in other["real time"][1]
    assert kernel_doctor.reason_not() == f"router: {kernel_doctor.NOT_BUILT}"
    checks(monkeypatch, fifo=(False, ""))
    assert kernel_doctor.reason_not() is None, "real time is not needed"


@pytest.mark.parametrize("tun", [True, False])
def test_without_namespaces_the_reason_is_the_kernels(monkeypatch: pytest.MonkeyPatch, tun: bool) -> None:
    said = "cwndlab_linux.netns.SetupError: no user namespace"
    works, detail = checks(monkeypatch, namespaces=(False, said), tun=tun)["namespaces"]
    assert not works and detail.startswith("no user namespace")
    assert ("/dev/net/tun is closed" in detail) is not tun
    assert detail.endswith("; or take --backend linux-virtual, which needs none")


def test_a_check_in_another_process_has_the_last_line_of_its_words() -> None:
    assert kernel_doctor._python("print('a'); print('b')") == (True, "b")
    assert kernel_doctor._python("import sys; print('a'); print('c', file=sys.stderr); sys.exit(1)") == (
        False,
        "c",
    )
    assert kernel_doctor._python("pass") == (True, "")
    assert sys.platform != "linux" or next(kernel_doctor.examine()).name == "kernel"
