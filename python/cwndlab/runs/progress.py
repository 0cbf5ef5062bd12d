"""What is shown while a study runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Progress:
    """Hears of a run as it continues, and shows nothing. What shows something derives from it."""

    def start(self, cells: int, replicates: int, done: int) -> None:
        """At the beginning: all cells, all replicates, those that were kept from before."""

    def advance(self, packets: int) -> None:
        """After each replicate."""

    def cell_done(self) -> None:
        """After the last replicate of a cell."""

    def more(self, replicates: int) -> None:
        """Sequential stopping asks for so many more."""

    def note(self, line: str) -> None:
        """Something to report at once, such as a run that is repeated."""

    def time_left(self, seconds: float | None) -> None:
        """Every second while runs on a kernel are under way: how long they will take, if that is known."""


class _Counting(Progress):
    """Counts replicates and cells."""

    def __init__(self) -> None:
        self._cells = self._total = self._done = self._finished = 0

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Notes how much there is to do."""
        self._cells, self._total, self._done = cells, replicates, done

    def cell_done(self) -> None:
        """Counts the cell."""
        self._finished += 1

    def more(self, replicates: int) -> None:
        """Counts what is added."""
        self._total += replicates


class Lines(_Counting):
    """A line every ten seconds, where the output is not a terminal."""

    EVERY_S = 10.0

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write
        self._shown = time.monotonic()

    def advance(self, packets: int) -> None:
        """Writes a line if it is time."""
        self._done += 1
        self._show("")

    def note(self, line: str) -> None:
        """Writes the line."""
        self._write(line)

    def time_left(self, seconds: float | None) -> None:
        """Writes a line if it is time."""
        self._show("" if seconds is None else f", about {span(seconds)} left")

    def _show(self, more: str) -> None:
        now = time.monotonic()
        if now - self._shown >= self.EVERY_S:
            self._shown = now
            done = f"{self._done} of {self._total} replicates"
            self._write(f"{done}, {self._finished} of {self._cells} cells finished{more}")


class Notebook(_Counting):
    """A line below a notebook's cell that is updated, at most twice a second."""

    EVERY_S = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._shown = 0.0

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Shows the line."""
        super().start(cells, replicates, done)
        self._show()

    def advance(self, packets: int) -> None:
        """Updates the line if it is time, and at the end."""
        self._done += 1
        if self._done == self._total or time.monotonic() - self._shown >= self.EVERY_S:
            self._show()

    def _show(self) -> None:
        display = sys.modules["IPython"].display
        self._shown = time.monotonic()
        share = 100 * self._done / max(self._total, 1)
        words = f"{self._done} of {self._total} replicates, {self._finished} of {self._cells} cells"
        shown = display.HTML(f'<progress value="{share:.1f}" max="100"></progress> {words}')
        if self._handle is None:
            self._handle = display.display(shown, display_id=True)
        else:
            self._handle.update(shown)


def default() -> Progress:
    """What a call from Python shows: a line in a notebook, nothing elsewhere."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return Notebook() if type(shell).__name__ == "ZMQInteractiveShell" else Progress()


class Bar(Progress):
    """A bar on the terminal: cells, replicates, packets a second, time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.fields[cells]} cells"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("replicates · {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: Any = None
        self._cells = self._done = self._packets = 0
        self._began = self._shown = time.monotonic()
        self._pending = 0

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Draws the bar."""
        self._cells = cells
        self._task = self._bar.add_task("", total=replicates, completed=done, cells=f"0/{cells}", rate="")

    def advance(self, packets: int) -> None:
        """Redraws at most ten times a second."""
        self._packets += packets
        self._pending += 1
        now = time.monotonic()
        if now - self._shown > 0.1:
            rate = self._packets / max(now - self._began, 1e-9)
            self._shown = now
            self._bar.update(self._task, advance=self._pending, rate=f"{_short(rate)} packets/s")
            self._pending = 0

    def cell_done(self) -> None:
        """Counts the cell."""
        self._done += 1
        self._bar.update(self._task, cells=f"{self._done}/{self._cells}")

    def more(self, replicates: int) -> None:
        """Lengthens the bar."""
        total = self._bar.tasks[self._task].total or 0
        self._bar.update(self._task, total=total + replicates)

    def note(self, line: str) -> None:
        """Prints the line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False)

    def time_left(self, seconds: float | None) -> None:
        """Shows the time in place of the estimate from finished replicates, which do not come one by one."""
        from rich.progress import TextColumn

        if seconds is not None:
            self._bar.columns = (*self._bar.columns[:-1], TextColumn(f"about {span(seconds)} left"))


def span(seconds: float) -> str:
    """A length of time, for people."""
    if seconds < 90:
        return f"{max(seconds, 0.1):.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _short(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}T"
