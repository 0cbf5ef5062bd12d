"""The first process of a guest, its run, and results of packetdrill scripts, without a kernel."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.base.errors import RunError
from cwndlab_linux import testbed
from cwndlab_linux.virtual import guest, packetdrill, selftests
from cwndlab_linux.virtual.packetdrill import ScriptResult, ScriptRun, digest_of

# ── packetdrill ───────────────────────────────────────────────────────────────────────────────────────

RUN = ScriptRun(Path("/x/a.pkt"), ("-v",))
EVENTS = "socket syscall: 0.1\ninbound sniffed packet: 0.2\nscript packet: 0.3\nrunning: x\n"


@pytest.mark.parametrize(
    ("output", "line", "was_run", "reason"),
    [
        (
            f"{EVENTS}a.pkt:12: error handling packet: bad\nscript packet:  0.1 S\n",
            12,
            True,
            "a.pkt:12: error handling packet: bad",
        ),
        ("one\n\ntwo\nthree\nfour\n", None, False, "one; two; three"),
        ("", None, False, "packetdrill printed nothing"),
        ("a.pkt:3: parse error at x\n", 3, False, "a.pkt:3: parse error at x"),
        ("a.pkt:3: semantic error at x\n", 3, False, "a.pkt:3: semantic error at x"),
        ("b.pkt:3: error\n", None, False, "b.pkt:3: error"),
        ("first\nAssertionError: 3\na.pkt:7: error executing code: x\nlast\n", 7, True, "AssertionError: 3"),
        (
            "AssertionError: 3\nerror executing code: x\n",
            None,
            False,
            "AssertionError: 3; error executing code: x",
        ),
        (
            "bad: sizeof(struct _tcp_info)\n",
            None,
            False,
            "it is newer than the kernel; `cwndlab linux packetdrill` builds one for all kernels",
        ),
    ],
)
def test_a_script_that_fails_has_its_line_and_its_reason(
    output: str, line: int | None, was_run: bool, reason: str
) -> None:
    found = ScriptResult(RUN, False, output)
    assert (found.line, found.was_run, found.reason) == (line, was_run, reason)
    held = ScriptResult(RUN, True, output)
    assert held.line is None and held.was_run


def test_a_digest_is_of_names_options_outcomes_and_output() -> None:
    results = [ScriptResult(RUN, True, "one"), ScriptResult(RUN, False, "two")]
    same = ScriptRun(Path("/elsewhere/a.pkt"), ("-v",))
    assert digest_of(results) == digest_of([ScriptResult(same, True, "one"), results[1]])
    others = (
        results[::-1],
        results[:1],
        [ScriptResult(RUN, False, "one"), results[1]],
        [ScriptResult(ScriptRun(RUN.path), True, "one"), results[1]],
        [ScriptResult(RUN, True, "other"), results[1]],
    )
    assert len({digest_of(one) for one in (results, *others)}) == 6 and len(digest_of(results)) == 16


def test_scripts_run_in_one_guest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: list[Any] = []
    ended: list[Any] = []
    program = tmp_path / "packetdrill"
    program.write_text("program")
    outcome: dict[str, Any] = {"result": [[True, "one"], [False, "two"]]}

    def start(job: dict[str, Any], folder: Path) -> Any:
        jobs.append(job)
        assert (folder / packetdrill.PROGRAM).read_text() == "program"
        if outcome["result"] is not None:
            (folder / "result.json").write_text(json.dumps(outcome["result"]))
        return SimpleNamespace(wait=wait)

    def wait(seconds: float) -> None:
        assert seconds == 1800
        if "interrupt" in outcome:
            raise KeyboardInterrupt

    monkeypatch.setattr(packetdrill.boot, "start", start)
    monkeypatch.setattr(packetdrill.boot, "guest_of", lambda image, seed: [image, seed])
    monkeypatch.setattr(packetdrill.boot, "last_words", lambda folder: "a panic")
    monkeypatch.setattr(packetdrill, "end_session", ended.append)
    scripts = [ScriptRun(tmp_path / "a.pkt", ("-x",)), ScriptRun(tmp_path / "b.pkt")]
    found = packetdrill.run("image", program, scripts)  # type: ignore[arg-type]
    assert found == [ScriptResult(scripts[0], True, "one"), ScriptResult(scripts[1], False, "two")]
    assert (jobs[0]["virtual"], jobs[0]["parent"]) == (["image", 1], os.getpid())
    assert jobs[0]["scripts"] == [
        {"path": str(tmp_path / "a.pkt"), "options": ("-x",)},
        {"path": str(tmp_path / "b.pkt"), "options": ()},
    ]
    outcome["result"] = None
    with pytest.raises(RunError, match="the kernel ended without a result: a panic"):
        packetdrill.run("image", program, scripts)  # type: ignore[arg-type]
    outcome["interrupt"] = True
    with pytest.raises(KeyboardInterrupt):
        packetdrill.run("image", program, scripts)  # type: ignore[arg-type]
    assert len(ended) == 1


def test_a_users_scripts_run_with_their_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def run(image: Any, program: Any, scripts: Any) -> list[ScriptResult]:
        asked.append((program, scripts))
        return [ScriptResult(one, True, "") for one in scripts]

    monkeypatch.setattr(packetdrill.images, "find", lambda kernel: SimpleNamespace(name=f"found {kernel}"))
    monkeypatch.setattr(packetdrill, "find_packetdrill", lambda path: path or "default")
    monkeypatch.setattr(packetdrill, "run", run)
    name, results, digest = packetdrill.run_scripts([Path("a")], "6.12", None, None)
    assert (name, len(results), digest) == ("found 6.12", 1, digest_of(results))
    packetdrill.run_scripts([Path("a")], "6.12", Path("/p"), 500)
    assert asked == [
        ("default", [ScriptRun(Path("a"))]), (Path("/p"), [ScriptRun(Path("a"), ("--tolerance_usecs=500",))])
    ]  # fmt: skip


def test_linuxs_scripts_have_the_options_of_its_runner(tmp_path: Path) -> None:
    image: Any = SimpleNamespace(path=tmp_path / "linux", name="6.12.5-x")
    with pytest.raises(RunError, match="has no packetdrill scripts: Linux has them from"):
        selftests.runs_of(image, "ipv4", 4000, "only")
    folder = tmp_path / "selftests"
    folder.mkdir()
    for name, text in (("tcp_b", "x"), ("tcp_a", "--ip_version=ipv4\nx"), ("udp", "--ip_version=ipv6\n")):
        (folder / f"{name}.pkt").write_text(text)
    with pytest.raises(RunError, match="-x has no script with 'none' in its name"):
        selftests.runs_of(image, "ipv4", 4000, "none")
    four, six = (selftests.runs_of(image, version, 1000) for version in ("ipv4", "ipv6"))
    assert [one.path.stem for one in four] == ["tcp_a", "tcp_b"] and [one.path.stem for one in six] == [
        "tcp_b",
        "udp",
    ]
    assert four[0].options[0] == "--ip_version=ipv4" and "--local_ip=192.168.0.1" in four[0].options
    assert "--mtu=1520" in six[0].options and "--tolerance_usecs=1000" in six[0].options
    assert four[0].options[-5:] == ("--send_omit_free", *selftests._COOKIES)
    assert [one.path.stem for one in selftests.runs_of(image, "ipv4", 4000, "_b")] == ["tcp_b"]
    assert selftests.ip_versions(image) == ["ipv4"]
    (tmp_path / "config").write_text("CONFIG_IPV6=y\n")
    assert selftests.ip_versions(image) == ["ipv4", "ipv6"]


# ── the run ───────────────────────────────────────────────────────────────────────────────────────────


class Run:
    """A bed, drivers and programs of a run whose clock advances when it sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
        self.now, self.slept = 100.0, []
        self.calls: list[Any] = []
        self.done: list[str] = []
        loop = SimpleNamespace(
            time=lambda: self.now, call_at=lambda when, what: self.calls.append((when, what))
        )
        task = SimpleNamespace(cancel=lambda: self.done.append("cancelled"))
        self.bed: Any = SimpleNamespace(
            loop=loop, start=lambda work: None, tasks=[task], failures=[], first_ready=None
        )
        self.driver = SimpleNamespace(start="start", end=lambda: self.done.append("ended"))
        self.programs = SimpleNamespace(
            schedule=lambda zero: self.done.append(f"scheduled {zero}"),
            beat=lambda: self.done.append("beat"),
            end=lambda: self.done.append("programs"),
            all=[],
            failures=[],
        )
        self.shell: Any = None
        self.handshake: Any = "syn"
        for name, value in changes.items():
            setattr(self, name, value)
        monkeypatch.setattr(testbed.asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def run(self, duration_s: float = 0.6) -> int:
        traffic = [{"start_ns": 50_000_000, "app": {"kind": "bulk"}, "tcp_client": 0}]
        scenario = {
            "duration_ns": duration_s * 1e9,
            "traffic": traffic,
            "tcp": [{"handshake": self.handshake}],
        }
        samples = SimpleNamespace(run=lambda: None)
        words: Any = (self.bed, {0: self.driver}, samples, scenario, self.programs, self.shell)
        return asyncio.run(testbed._run(*words))


def test_a_run_lasts_as_long_as_its_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Run(monkeypatch)
    assert one.run() == 100_000_000_000
    assert one.slept == pytest.approx([0.25, 0.25, 0.1, 0]) and one.calls == [
        (pytest.approx(100.05), "start")
    ]
    assert one.done == ["scheduled 100.0", "ended", "cancelled", "programs"]


def test_a_run_ends_early_with_a_failure_or_its_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Run(monkeypatch)
    failed.bed.failures.append("why")
    failed.run()
    assert failed.slept == [0.25, 0]
    program = Run(monkeypatch)
    program.programs.failures.append("why")
    program.programs.all.append("one")
    program.run()
    assert program.slept == [0.25, 0] and program.done.count("beat") == 1
    shell = SimpleNamespace(schedule=lambda zero: None, is_over=True)
    over = Run(monkeypatch, shell=shell)
    over.run()
    assert over.slept == [0.25, 0]
    shell.is_over = False
    going = Run(monkeypatch, shell=shell)
    going.run()
    assert len(going.slept) == 4


def test_without_a_handshake_of_the_study_the_clock_starts_when_both_ends_are_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = Run(monkeypatch, handshake=None)
    one.bed.first_ready = 100.4
    one.run()
    assert sum(one.slept) == pytest.approx(0.4 + 0.6 + 0.05)
    other = Run(monkeypatch)
    other.bed.first_ready = 100.4
    other.run()
    assert sum(other.slept) == pytest.approx(0.6)


class Process:
    """A router that says these lines."""

    pid = 50

    def __init__(self, *lines: str) -> None:
        self.stdin, self.stdout, self.stderr = (
            io.StringIO(),
            io.StringIO("".join(lines)),
            io.StringIO("no device\n"),
        )
        self.stdin.close = lambda: None  # type: ignore[method-assign]
        self.signals: list[int] = []

    def send_signal(self, number: int) -> None:
        self.signals.append(number)

    def wait(self, seconds: float) -> None:
        assert seconds == 10


def test_the_router_gets_its_configuration_and_returns_its_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process('{"start_monotonic_ns": 77}\n', '{"valid": true}\n')
    monkeypatch.setattr(
        testbed.subprocess, "Popen", lambda words, **keys: started.append((words, keys["cwd"])) or process
    )
    started: list[Any] = []
    hosts: Any = SimpleNamespace(ports=lambda: ["port"], datagrams=lambda: [], of_node={2: [], 0: []})
    scenario = {"duration_ns": 5, "links": [], "probes": {"segments_at": 0}, "traffic": []}
    monkeypatch.setattr(testbed, "kernel_snapshot_times", lambda scenario: [3])
    job = {
        "scenario": scenario,
        "seed": 1,
        "replicate": 2,
        "router": "/r",
        "folder": "/f",
        "limits": {"x": 1},
    }
    router = testbed.Router(job | {"capture": True}, hosts)
    assert (router.start_ns, started) == (77, [(["/r", "-"], "/f")])
    assert router.stop() == {"valid": True} and process.signals == [signal.SIGTERM]
    config = json.loads(process.stdin.getvalue())
    assert config == {
        "scenario": scenario, "seed": 1, "replicate": 2, "ports": ["port"], "datagrams": [],
        "lead_ns": 300_000_000, "trace": "trace.csv", "real_time_priority": 20, "limits": {"x": 1},
        "snapshots_ns": [3, 5], "capture": {"path": "capture.pcapng", "port": 1},
    }  # fmt: skip
    process = Process()
    with pytest.raises(RuntimeError, match="no device"):
        testbed.Router(job | {"real_time": False}, hosts)
    config = json.loads(process.stdin.getvalue())
    assert config["real_time_priority"] == 0 and "capture" not in config
    process = Process()
    process.stderr = io.StringIO("")
    with pytest.raises(RuntimeError, match="the router ended without a word"):
        testbed.Router(job, hosts)


# ── the first process ─────────────────────────────────────────────────────────────────────────────────


class Libc:
    """Notes system calls; `fails` is the name of one that fails."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        def call(*words: Any) -> int:
            self.calls.append((name, *words))
            return -1 if name == self.fails else 0

        return call


def test_a_mount_or_lock_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    libc = Libc()
    monkeypatch.setattr(guest, "_libc", libc)
    guest._mount("tmp", "/tmp", "tmpfs")
    guest._mount("host", "/h", "hostfs", "/")
    guest._lock_memory()
    assert libc.calls == [
        ("mount", b"tmp", b"/tmp", b"tmpfs", 0, None),
        ("mount", b"host", b"/h", b"hostfs", 0, b"/"),
        ("mlockall", 3),
    ]
    monkeypatch.setattr(guest, "_libc", Libc("mount"))
    with pytest.raises(OSError, match="mount tmpfs on /tmp"):
        guest._mount("tmp", "/tmp", "tmpfs")
    monkeypatch.setattr(guest, "_libc", Libc("mlockall"))
    with pytest.raises(OSError, match="mlockall"):
        guest._lock_memory()


@pytest.mark.parametrize(("now", "until"), [(3.2, 10), (9.99, 10), (10.0, 20), (1234.5, 1240)])
def test_a_run_begins_at_the_next_multiple_of_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, now: float, until: int
) -> None:
    libc = Libc()
    monkeypatch.setattr(guest, "_libc", libc)
    monkeypatch.setattr(guest.time, "monotonic", lambda: now)
    times: list[Any] = []
    monkeypatch.setattr(guest.ctypes, "byref", lambda spec: times.append((spec.tv_sec, spec.tv_nsec)))
    guest.wait_for_a_round_time()
    assert times == [(until, 0)] and libc.calls[0][:3] == ("clock_nanosleep", 1, 1)


@pytest.mark.parametrize(
    ("job", "mounts", "furnished"),
    [
        ({"scenario": 1}, 4, False),
        ({"scenario": 1, "programs": [1]}, 4, True),
        ({"scenario": 1, "shell": {"node": 0}}, 4, True),
        ({"scripts": ["a"]}, 6, False),
    ],
)
def test_the_first_process_runs_the_job_and_powers_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, job: dict[str, Any], mounts: int, furnished: bool
) -> None:
    folder = tmp_path / "dev"
    mounted: list[Any] = []
    done: list[Any] = []
    libc = Libc()

    def mount(*words: Any) -> None:
        mounted.append(words)
        if words[0] == "folder":
            (folder / "job.json").write_text(json.dumps(job))

    monkeypatch.setattr(guest, "_libc", libc)
    monkeypatch.setattr(guest, "FOLDER", folder)
    monkeypatch.setattr(guest, "_mount", mount)
    monkeypatch.setattr(guest, "_furnish", lambda: done.append("furnished"))
    monkeypatch.setattr(guest, "wait_for_a_round_time", lambda: done.append("waited"))
    monkeypatch.setattr(guest.os, "sched_setscheduler", lambda *words: done.append(words[:2]))
    monkeypatch.setattr(guest.os, "sync", lambda: done.append("synced"))
    monkeypatch.setattr(packetdrill, "HOST", tmp_path / "host")
    monkeypatch.setattr(packetdrill, "run_in_guest", lambda scripts, folder: [scripts, "ran"])
    monkeypatch.setattr(testbed, "write_result", lambda job, prepared: done.append(job))
    guest.main()
    assert len(mounted) == mounts and mounted[1] == ("folder", str(folder), "hostfs", "/proc/self/cwd")
    assert ("furnished" in done) is furnished and done[0] == (0, os.SCHED_FIFO) and done[-1] == "synced"
    assert libc.calls[-1] == ("reboot", 0x4321_FEDC)
    if "scripts" in job:
        assert json.loads((folder / "result.json").read_text()) == [["a"], "ran"] and "waited" in done
    else:
        assert done[-2] == job | {"folder": str(folder)}


def test_what_fails_in_the_first_process_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    libc = Libc("mlockall")
    monkeypatch.setattr(guest, "_libc", libc)
    monkeypatch.setattr(guest.os, "sync", lambda: None)
    guest.main()
    assert "OSError" in capsys.readouterr().out and libc.calls[-1][0] == "reboot"
