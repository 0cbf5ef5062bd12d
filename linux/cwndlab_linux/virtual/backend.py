"""`--backend linux-virtual`: the testbed inside User-Mode Linux: virtual time, deterministic by seed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.base.errors import StudyError
from cwndlab.plan.plan import Cell
from cwndlab.runs.executors.protocol import Job
from cwndlab.runs.executors.threads import available
from cwndlab_linux.real_kernel import Kernel, RunProcess, length_s

from . import boot, images, program_files

#: Most wall seconds per virtual second; 7 flows took 0.025 s on an idle processor.
PATIENCE = 10
#: Wall seconds within which the clock of a guest with programs must advance.
STILL_S = 60.0


def seed_of(job: Job) -> int:
    """The seed of the kernel's random numbers (sequence numbers, ports), from seed, replicate and cell."""
    text = f"{job.seed}/{job.replicate}/{job.cell}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _release(image: images.Image) -> str:
    return f"{image.release} ({image.digest})"


@dataclass
class VirtualKernel(Kernel):
    """The executor that starts a User-Mode Linux for each run, in parallel on all processors."""

    backend = "linux-virtual"
    more_laws = "`cwndlab linux build --law FILE.c` or `--patch FILE` builds a kernel with {}"
    #: A second attempt would give the same result.
    attempts: int = 1
    #: Wall seconds per simulated second; None before the first run, since it depends on packets and machine.
    pace: float | None = None
    image: images.Image = field(default_factory=images.find)
    #: The kernels of cells that do not run on `image`.
    others: Mapping[str, images.Image] = field(default_factory=dict)
    #: The study's folder, which may contain its programs.
    folder: Path | None = None
    #: The settings of a shell at a host (`terminal.talk`); None without one.
    shell: Mapping[str, Any] | None = None
    #: Digests of the files that programs consist of, by path.
    programs: Mapping[str, str] = field(default_factory=dict)
    #: The programs that each cell starts, as content of the guest's job.
    _commands: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)
    #: The started guests, each with its processor.
    _placed: list[tuple[subprocess.Popen[str], int]] = field(default_factory=list, repr=False)
    #: Simulated and wall seconds of the completed runs.
    _ended_s: tuple[float, float] = field(default=(0.0, 0.0), repr=False)

    @property
    def side_by_side(self) -> int:
        """Number of simultaneous runs: one per processor."""
        return self.at_once or available()

    @property
    def release(self) -> str:
        """The guest kernel's release and digest: another kernel gives other results."""
        return _release(self.image)

    @property
    def keys(self) -> Mapping[str, str]:
        """Parts of the keys of cells that run on another kernel than the others."""
        return {cell: self._key(_release(image)) for cell, image in self.others.items()}

    @property
    def releases(self) -> str:
        """The kernels of all cells, as text."""
        return ", ".join(dict.fromkeys(map(_release, (self.image, *self.others.values()))))

    def _key(self, release: str) -> str:
        key = super()._key(release)
        return json.dumps([*json.loads(key), self.programs], sort_keys=True) if self.programs else key

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Finds the programs of these cells; StudyError if one is missing."""
        super().prepare(cells)
        found: dict[str, str] = {}
        for cell in cells:
            try:
                some = program_files.commands(cell.compiled.scenario, self.folder, cell.compiled.origins)
            except StudyError as error:
                raise cell.study.place.locate(error) from None
            self._commands[cell.id] = [command.content() for command in some]
            found |= program_files.digests(some)
        self.programs = found

    def more_of(self, job: Job) -> Mapping[str, Any]:
        """The job's programs with the environment variables of its scenario, and the shell."""
        some = self._commands.get(job.cell)
        if some:
            traffic = json.loads(job.scenario)["traffic"]
            more_of = [traffic[command["traffic"]]["app"].get("environment", {}) for command in some]
            some = [
                {**command, "environment": {**command["environment"], **variables}}
                for command, variables in zip(some, more_of, strict=True)
            ]
        more: dict[str, Any] = {"programs": some} if some else {}
        return more | ({"shell": self.shell} if self.shell is not None else {})

    def why_stuck(self, run: RunProcess) -> str | None:
        """A text on a program that stops the clock by computing without kernel calls; None if none does."""
        if not self.programs:
            return None
        running = run.folder / "running"
        try:
            beat = running.stat().st_mtime_ns  # the guest increments it (`Programs.beat`)
        except OSError:
            return None
        now = time.monotonic()
        if beat != run.beat[0]:
            run.beat = (beat, now)
        if now - run.beat[1] < STILL_S:
            return None
        return (
            f"no virtual time has passed for {STILL_S:g} s: a program computes without a call of the "
            f"kernel. Running are {running.read_text()}"
        )

    def allowed_s(self, scenario: Mapping[str, Any]) -> float:
        """Wall seconds after which a run is aborted."""
        return 600 + PATIENCE * length_s(scenario)

    def start(self, job: Job, content: Mapping[str, Any], folder: Path) -> subprocess.Popen[str]:
        """Starts the kernel, with its console in a file."""
        processor = self._processor()
        image = self.others.get(job.cell, self.image)
        limit_s = round(60 + PATIENCE * length_s(content["scenario"]))
        virtual = boot.guest_of(image, seed_of(job), processor, limit_s)
        process = boot.start({**content, "virtual": virtual}, folder)
        self._placed.append((process, processor))
        return process

    def _processor(self) -> int:
        """The processor with the fewest guests.

        A guest's kernel and its processes take turns; on two processors, a third of the time would go into
        wake-ups.
        """
        self._placed = [(process, cpu) for process, cpu in self._placed if process.poll() is None]
        guests = Counter(cpu for _, cpu in self._placed)
        here = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(here)  # another campaign probably starts elsewhere
        return min(here[first:] + here[:first], key=lambda cpu: guests[cpu])

    def learn_pace(self, length_s: float, wall_s: float) -> None:
        """Assumes the pace of the completed runs for all others."""
        self._ended_s = self._ended_s[0] + length_s, self._ended_s[1] + wall_s
        self.pace = self._ended_s[1] / self._ended_s[0]

    def provenance(self) -> dict[str, Any]:
        """The content of `Kernel.provenance`, and what the kernels were built from."""
        content = super().provenance() | {"kernel_build": self.image.about}
        if self.others:
            content["kernel_builds"] = {image.release: image.about for image in self.others.values()}
        return content | ({"programs": dict(self.programs)} if self.programs else {})

    def last_words(self, folder: Path, process: subprocess.Popen[str]) -> str:
        """The end of the console's output, such as a panic; or a text on the limit of CPU time."""
        if process.returncode == -signal.SIGXCPU:
            return (
                ": it was ended at its limit of CPU time; the kernel or a program in it loops without waiting"
            )
        said = boot.last_words(folder)
        return f"; it said: {said}" if said else ""
