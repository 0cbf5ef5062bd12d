"""The progress of a run in a notebook."""

from __future__ import annotations

import sys
from typing import Any

from cwndlab.runs.progress import Shown


class Notebook(Shown):
    """A progress line below a notebook's cell."""

    _handle: Any = None

    def start(self, cells: int, replicates: int, done: int) -> None:
        """Shows the line."""
        super().start(cells, replicates, done)
        self.draw()

    def advance(self, packets: int) -> None:
        """Updates the line at intervals and at the end."""
        super().advance(packets)
        if self.done == self.total:
            self.draw()

    def draw(self) -> None:
        """Updates the line."""
        display = sys.modules["IPython"].display
        words = f"{self.done} of {self.total} replicates, {self.finished} of {self.cells} cells"
        shown = display.HTML(f'<progress value="{100 * self.share:.1f}" max="100"></progress> {words}')
        if self._handle is None:
            self._handle = display.display(shown, display_id=True)
        else:
            self._handle.update(shown)
