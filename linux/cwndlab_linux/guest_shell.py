"""The guest's part of `cwndlab shell`: the clock stops while the shell waits for a line."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .hosts import Hosts
from .programs import own_files

#: The subfolder of the run's folder for files exchanged between guest and host.
FOLDER = "shell"
#: The file descriptor on which the shell reports the exit code of each line.
_REPORT_FD = 9


class Shell:
    """The guest's side of `cwndlab shell`."""

    def __init__(self, job: Mapping[str, Any], hosts: Hosts, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.wanted: Mapping[str, Any] = job["shell"]
        self.space = hosts.namespaces[self.wanted["node"]]
        self.home = Path(job["folder"]) / FOLDER
        self.zero = 0.0
        self.lines = 0
        self.is_over = False

    def schedule(self, zero: float) -> None:
        """Schedules the opening of the shell."""
        self.zero = zero
        self.loop.call_at(zero + self.wanted["at_ns"] / 1e9, self._open)

    def _open(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.space.enter()
        report, end = os.pipe()
        os.dup2(end, _REPORT_FD)
        os.close(end)
        with (self.home / "output").open("wb") as output:
            self.process = subprocess.Popen(
                ["sh"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=self.home,
                env={**self.wanted["environment"], **own_files(self.home)},
                pass_fds=(_REPORT_FD,),
                start_new_session=True,
            )
        os.close(_REPORT_FD)
        self.report = report
        self.loop.add_reader(report, self._done)
        self._ask()

    def _ask(self) -> None:
        """Passes the next line to the shell; blocks everything else until the line is available."""
        (self.home / f"asks-{self.lines}").write_text(f"{time.monotonic() - self.zero:.6f}")
        name = self.home / f"line-{self.lines}"
        while name not in self.home.iterdir():  # testing for the file itself takes time if it does not exist
            pass
        line = name.read_text()
        self.lines += 1
        if not line:  # end of input
            self._close()
            return
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line.rstrip()}\necho $? >&{_REPORT_FD}\n".encode())
        self.process.stdin.flush()

    def _done(self) -> None:
        if os.read(self.report, 100):
            self._ask()
        else:  # `exit`
            self._close()

    def _close(self) -> None:
        self.loop.remove_reader(self.report)
        self.process.kill()
        self.process.wait()
        self.is_over = True
