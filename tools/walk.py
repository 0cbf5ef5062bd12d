"""Count the modules, and the returns, on the way from a study.toml to its report: `python tools/walk.py`.

`cwndlab run` runs a study of one cell, and each call between modules of the core is recorded. A module is on
the way if a call into it leads to at least five other modules; modules that only return a result are not.
`base` is excluded, because every module uses it. A return is a call that enters a package that was left
before.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from repository import ROOT

PACKAGE = ROOT / "python" / "cwndlab"
CORE = {"records", "metrics", "stats", "study", "plan", "runs", "report", "results", "cli", "api"}
#: A module counts as on the way to the report if a call into it leads to at least this many other modules.
LEADS_TO = 5
STUDY = """
title = "One cell"
measure = ["goodput", "share"]
dumbbell = { rate = "10Mbps", rtt = "20ms", flows = [{ cc = "cubic" }, { cc = "reno" }] }
run = { duration = "2s", replicates = 3 }
"""


class Call(NamedTuple):
    """A call from one module into another, and the modules that it led to."""

    module: str
    function: str
    led_to: set[str]


class Walk:
    """The calls between modules of the core, in order; recorded by `sys.setprofile`."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._open: list[tuple[CodeType, Call]] = []
        self._imports = 0

    def follow(self, frame: FrameType, event: str, _: object) -> None:
        """Records a call or a return; code that runs during the import of a module is ignored."""
        code = frame.f_code
        if event not in ("call", "return"):
            return
        if code.co_name == "<module>":
            self._imports += 1 if event == "call" else -1
        elif not self._imports and (module := _module(code)) is not None:
            if event == "call":
                self._enter(code, module)
            elif self._open and self._open[-1][0] is code:
                self._leave()

    def _enter(self, code: CodeType, module: str) -> None:
        inside = bool(self._open) and self._open[-1][1].module == module
        call = self._open[-1][1] if inside else Call(module, code.co_name, set())
        if not inside:
            self.calls.append(call)
        self._open.append((code, call))

    def _leave(self) -> None:
        _, call = self._open.pop()
        if self._open and (outer := self._open[-1][1]) is not call:
            outer.led_to.update({call.module, *call.led_to} - {outer.module})

    @property
    def on_the_way(self) -> list[Call]:
        """The calls that lead to at least `LEADS_TO` other modules, in order."""
        return [call for call in self.calls if len(call.led_to) >= LEADS_TO]

    def returns(self) -> Iterator[Call]:
        """The calls on the way that enter a package that was left before."""
        left: set[str] = set()
        here = ""
        for call in self.on_the_way:
            package = call.module.split("/")[0]
            if package != here:
                if package in left:
                    yield call
                left.add(here)
                here = package


def _module(code: CodeType) -> str | None:
    """The module of a function of the core, as "study/document"; None for other functions."""
    file = Path(code.co_filename)
    if file.suffix != ".py" or not file.is_relative_to(PACKAGE):
        return None
    name = file.relative_to(PACKAGE).with_suffix("").as_posix()
    return name if name.split("/")[0] in CORE else None


def walk() -> Walk:
    """Runs the study and records its calls."""
    from cwndlab.cli import app

    made = Walk()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study.toml"
        study.write_text(STUDY, encoding="utf-8")
        sys.setprofile(made.follow)
        try:
            app(["run", str(study), "-o", f"{folder}/out", "-q", "--threads", "1"])
        except SystemExit:
            pass
        finally:
            sys.setprofile(None)
    return made


if __name__ == "__main__":
    done = walk()
    first: dict[str, str] = {}
    for call in done.on_the_way:
        first.setdefault(call.module, call.function)
    print("\n".join(f"{module:<24} {function}" for module, function in first.items()))
    back = [f"{call.module}:{call.function}" for call in done.returns()]
    print(f"{len(first)} modules, {len(back)} returns: {', '.join(back)}")
