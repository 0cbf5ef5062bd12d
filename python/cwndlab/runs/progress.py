"""Displays of a run's progress: a bar on a terminal, lines of text elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from cwndlab.runs.executors.protocol import Progress as Progress


class Shown(Progress):
    """Counts replicates, cells and packets, and draws at most once every `EVERY_S` seconds."""

    EVERY_S = 0.5

    def __init__(self) -> None:
        self.cells = self.total = self.done = self.finished = self.packets = self._known = 0
        #: The sum, over current runs, of the finished share of each.
        self.part = 0.0
        self.left_s: float | None = None
        self.began = self._drawn = time.monotonic()

    def draw(self) -> None:
        """Shows the current progress."""
        raise NotImplementedError

    def _draw_if_due(self) -> None:
        if time.monotonic() - self._drawn >= self.EVERY_S:
            self._drawn = time.monotonic()
            self.draw()

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Sets the totals. May be called again: a search runs several plans, one after another."""
        self.cells, self.total, self.done, self.finished = cells, replicates, done, 0
        self._known = done
        self.began = time.monotonic()

    def advance(self, packets: int) -> None:
        """Counts a finished replicate."""
        self.done += 1
        self.part = 0.0  # until `under_way` is called again, within half a second
        self.packets += packets
        self._draw_if_due()

    def under_way(self, replicates: float) -> None:
        """Stores the finished share; estimates the time left from the replicates done since the start."""
        self.part = replicates
        done = self.done - self._known + replicates
        if done > 0:
            rest = self.total - self.done - replicates
            self.left_s = (time.monotonic() - self.began) * rest / done
        self._draw_if_due()

    @property
    def share(self) -> float:
        """The finished share of all replicates, 0 to 1."""
        return min(self.done + self.part, self.total) / max(self.total, 1)

    def cell_done(self) -> None:
        """Counts a finished cell."""
        self.finished += 1

    def add_replicates(self, replicates: int, cells: int) -> None:
        """Adds replicates to the total; their cells no longer count as finished."""
        self.total += replicates
        self.finished -= cells

    def time_left(self, seconds: float | None) -> None:
        """Sets the remaining time in seconds; None if it is unknown."""
        self.left_s = seconds
        self._draw_if_due()


class Lines(Shown):
    """Writes a line every ten seconds; used if the output is not a terminal."""

    EVERY_S = 10.0

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def note(self, line: str) -> None:
        """Writes the line."""
        self._write(line)

    def draw(self) -> None:
        """Writes a line with finished replicates and cells, and the time left."""
        left = "" if self.left_s is None else f", about {span(self.left_s)} left"
        done = f"{100 * self.share:.0f} %: {self.done} of {self.total} replicates"
        self.note(f"{done}, {self.finished} of {self.cells} cells finished{left}")


def default() -> Progress:
    """The display for calls from Python: a line in a notebook, nothing elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if type(shell).__name__ != "ZMQInteractiveShell":
        return Progress()
    progress: Progress = import_module("cwndlab.apps.notebook.progress_line").Notebook()
    return progress


class Bar(Shown):
    """A bar on the terminal, with cells, replicates, packets per second and time left."""

    EVERY_S = 0.1

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        super().__init__()
        self._bar = RichProgress(
            TextColumn("{task.fields[cells]} cells"),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TextColumn("replicates · {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", start=False, cells="", rate="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Sets the totals, and draws the bar."""
        super().start(cells, replicates, done)
        self._bar.start_task(self._task)
        self.draw()

    def draw(self) -> None:
        """Redraws the bar."""
        from rich.filesize import pick_unit_and_suffix

        cells = f"{self.finished}/{self.cells}"
        per_s = self.packets / max(time.monotonic() - self.began, 1e-9)
        unit, prefix = pick_unit_and_suffix(int(per_s), ["", "k", "M", "G"], 1000)
        rate = f"{per_s / unit:.1f} {prefix}packets/s"
        self._bar.update(
            self._task, completed=self.share * self.total, total=self.total, cells=cells, rate=rate
        )

    def note(self, line: str) -> None:
        """Prints the line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False)

    def time_left(self, seconds: float | None) -> None:
        """Shows `seconds` as the time left; rich's estimate is wrong, as many replicates finish at once."""
        from rich.progress import TextColumn

        if seconds is not None:
            self._bar.columns = (*self._bar.columns[:-1], TextColumn(f"about {span(seconds)} left"))


def span(seconds: float) -> str:
    """A duration in words: "0.5 s", "3 min", "2.0 h"."""
    if seconds < 90:
        return f"{max(seconds, 0.1):.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
