"""Opens the shell of a guest, in a process of its own because it reports on file descriptor 9."""

from __future__ import annotations

import json
import os
import sys
import time
from types import SimpleNamespace
from typing import Any

from cwndlab_linux.guest_shell import Shell


class Loop:
    """Keeps calls and readers."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Any]] = []
        self.readers: dict[int, Any] = {}

    def call_at(self, when: float, what: Any) -> None:
        self.calls.append((when, what))

    def add_reader(self, handle: int, what: Any) -> None:
        self.readers[handle] = what

    def remove_reader(self, handle: int) -> None:
        del self.readers[handle]


def main(folder: str, at_ns: int) -> None:
    """Opens a shell on host 3, reads its reports until it is over, and prints what came of it."""
    loop: Any = Loop()
    entered: list[int] = []
    hosts: Any = SimpleNamespace(namespaces={3: SimpleNamespace(enter=lambda: entered.append(3))})
    wanted = {"node": 3, "at_ns": at_ns, "environment": {"PATH": os.environ["PATH"], "MINE": "yes"}}
    shell = Shell({"folder": folder, "shell": wanted}, hosts, loop)
    shell.schedule(100.0)
    ((when, opens),) = loop.calls
    opens()
    until = time.monotonic() + 30
    while not shell.is_over and time.monotonic() < until:
        for done in list(loop.readers.values()):
            done()
    found = {"when": when, "entered": entered, "lines": shell.lines, "is_over": shell.is_over}
    print(
        json.dumps(found | {"readers": len(loop.readers), "has_ended": shell.process.returncode is not None})
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
