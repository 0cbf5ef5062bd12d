"""Unmodified programs at a scenario's hosts: processes in their namespaces that run until the run ends."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .hosts import Hosts
from .netns import PROGRAM_FOLDERS, drop_capabilities

#: A server starts this much earlier than its client.
LEAD_S = 0.1
#: At the end of the run, programs get SIGINT and, after this time, SIGKILL.
GRACE_S = 1.0
#: The priority is below the testbed's and the router's, so that packets and events come first.
PRIORITY = 5
#: Most bytes of a file that a program writes.
_MAX_FILE = 1 << 30
#: Most bytes to keep of each output: its beginning and end.
_KEPT = 1 << 20
#: Most lines of output in an error message.
_LAST_LINES = 5
_PIECE = re.compile(r"\{\{|\}\}|\{(client|server)\}")


def own_files(folder: Path) -> dict[str, str]:
    """Environment variables that direct a program's files to `folder`; the host's files are read-only."""
    names = {"HOME": folder, "TMPDIR": folder, "NSTAT_HISTORY": folder / ".nstat"}
    return {name: str(path) for name, path in names.items()}


def expand(text: str, addresses: Mapping[str, str]) -> str:
    """A text with {client} and {server} replaced by addresses, and {{ and }} by braces."""
    return _PIECE.sub(lambda found: addresses[found[1]] if found[1] else found[0][0], text)


@dataclass
class Program:
    """One process: its configuration from the job, and its outcome."""

    traffic: int
    end: str
    node: int
    words: list[str]
    #: The executable file.
    path: str
    environment: dict[str, str]
    folder: Path
    #: Base name of the files with the output (.out) and the errors (.err).
    output: Path
    process: subprocess.Popen[bytes] | None = None
    start: float | None = None
    #: The time and the exit code if the program ended by itself; None otherwise.
    ended: float | None = None
    code: int | None = None

    def last_lines(self) -> str:
        """The last lines of the program's errors or, if there are none, of its output."""
        for kind in (".err", ".out"):
            text = _shorten_text(self.output.with_suffix(kind)).strip()
            if text:
                return " | ".join(text.splitlines()[-_LAST_LINES:])
        return "it said nothing"


def _shorten_text(path: Path) -> str:
    """A file's text, shortened in the middle if it is long."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _KEPT:
            return file.read().decode(errors="replace")
        head = file.read(_KEPT // 2).decode(errors="replace")
        file.seek(size - _KEPT // 2)
        return f"{head}\n… {size - _KEPT} bytes are left out …\n{file.read().decode(errors='replace')}"


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a program and its child processes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


@dataclass
class Programs:
    """All programs of a run."""

    job: Mapping[str, Any]
    hosts: Hosts
    loop: asyncio.AbstractEventLoop
    #: The reasons why the run failed: programs that ended with an error.
    failures: list[str] = field(default_factory=list)

    is_over: bool = False
    #: Number of calls of `beat`.
    beats: int = 0

    def __post_init__(self) -> None:
        self.home = Path(self.job["folder"])
        self.all = [self._program(content) for content in self.job.get("programs", ())]

    def _program(self, content: Mapping[str, Any]) -> Program:
        index, end = int(content["traffic"]), str(content["end"])
        entry = self.hosts.scenario["traffic"][index]
        addresses = {name: self.hosts.program_address(index, name) for name in ("client", "server")}
        name = f"{index}-{end}"
        own = self.home / PROGRAM_FOLDERS / name
        environment = {key: expand(text, addresses) for key, text in content["environment"].items()}
        return Program(
            index,
            end,
            entry[end],
            [expand(word, addresses) for word in content["words"]],
            content["path"],
            {**own_files(own), **environment},
            Path(content["folder"]) if content["folder"] else own,
            self.home / "output" / name,
        )

    def start_servers(self, zero: float) -> None:
        """Starts the servers of programs that begin with the run, `LEAD_S` before the run."""
        if not self.all:
            return
        drop_capabilities()
        self._show_running()
        early = [program for program in self.all if self._start_of(program) < 0]
        if early:
            time.sleep(max(0.0, zero - LEAD_S - time.monotonic()))
        for one in early:
            self._start(one)

    def schedule(self, zero: float) -> None:
        """Schedules the start of the other programs."""
        for one in self.all:
            if one.process is None:
                self.loop.call_at(zero + self._start_of(one), self._start, one)

    def _start_of(self, one: Program) -> float:
        entry = self.hosts.scenario["traffic"][one.traffic]
        return float(entry["start_ns"]) / 1e9 - (LEAD_S if one.end == "server" else 0.0)

    def _start(self, one: Program) -> None:
        (self.home / PROGRAM_FOLDERS / f"{one.traffic}-{one.end}").mkdir(parents=True, exist_ok=True)
        one.output.parent.mkdir(exist_ok=True)
        self.hosts.namespaces[one.node].enter()
        mine = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))  # the child inherits the priority
        one.start = time.monotonic()
        self._show_running()  # written now because a program that never calls the kernel keeps the processor
        try:
            with (
                one.output.with_suffix(".out").open("wb") as out,
                one.output.with_suffix(".err").open("wb") as err,
            ):
                one.process = subprocess.Popen(
                    one.words,
                    executable=one.path,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=one.folder,
                    env=one.environment,
                    start_new_session=True,
                )
        except OSError as error:
            self.failures.append(f"{self._name(one)} did not start: {error}")
            return
        finally:
            os.sched_setscheduler(0, *mine)
        for limit, most in ((resource.RLIMIT_FSIZE, _MAX_FILE), (resource.RLIMIT_CORE, 0)):
            resource.prlimit(one.process.pid, limit, (most, most))
        handle = os.pidfd_open(one.process.pid)
        self.loop.add_reader(handle, self._note_end, one, handle)

    def _note_end(self, one: Program, handle: int) -> None:
        self.loop.remove_reader(handle)
        os.close(handle)
        if self.is_over:
            return
        assert one.process is not None and one.start is not None
        one.ended, one.code = time.monotonic(), one.process.wait()
        self._show_running()
        if one.code != 0:
            how = (
                f"ended with {one.code}" if one.code > 0 else f"was ended by {signal.Signals(-one.code).name}"
            )
            self.failures.append(
                f"{self._name(one)} {how} after {one.ended - one.start:.3g} s: {one.last_lines()}"
            )

    def _name(self, one: Program) -> str:
        name = self.hosts.scenario["traffic"][one.traffic]["name"]
        return f'`{" ".join(one.words)}` ({one.end} of traffic "{name}")'

    def _show_running(self) -> None:
        """Writes the running programs to a file, for the error message if the run hangs."""
        running = [self._name(one) for one in self.all if one.start is not None and one.ended is None]
        with (self.home / "running").open("w") as file:
            file.write(", ".join(running))
            file.flush()
            os.fsync(file.fileno())  # flush from the guest's memory

    def beat(self) -> None:
        """Shows the host that the guest's clock is running.

        The modification time is set explicitly because hostfs passes on only explicit times. A counter is
        used because reading the clock takes virtual time.
        """
        self.beats += 1
        os.utime(self.home / "running", (self.beats, self.beats))

    def end(self) -> None:
        """Ends programs that still run, in the order of their starts; their exit codes are ignored."""
        running = [one.process for one in self.all if one.process is not None and one.ended is None]
        self.is_over = True
        for process in running:
            _signal(process, signal.SIGINT)
        until = time.monotonic() + GRACE_S
        while time.monotonic() < until and any(process.poll() is None for process in running):
            time.sleep(0.01)
        for process in running:
            _signal(process, signal.SIGKILL)  # also for child processes
            process.wait()

    def rows(self, zero: float) -> Iterator[dict[str, Any]]:
        """A row for each program that started, with times in nanoseconds from the start of the run."""
        nodes = self.hosts.scenario["nodes"]
        for one in self.all:
            if one.start is not None:
                yield {
                    "traffic": one.traffic,
                    "end": one.end,
                    "node": nodes[one.node],
                    "command": " ".join(one.words),
                    "start_ns": round((one.start - zero) * 1e9),
                    "end_ns": None if one.ended is None else round((one.ended - zero) * 1e9),
                    "exit_code": one.code,
                    "stdout": _shorten_text(one.output.with_suffix(".out")),
                    "stderr": _shorten_text(one.output.with_suffix(".err")),
                }
