"""Footnotes of tables."""

from __future__ import annotations

import re

#: Footnotes that differ in such a number alone are one.
_REPLICATES = re.compile(r"about ([\d,]+) replicates")


class Footnotes:
    """Notes that many cells may share, numbered as they come."""

    def __init__(self) -> None:
        #: By the note without its number of replicates: those numbers.
        self._notes: dict[str, list[int]] = {}

    def numbers(self, *texts: str) -> tuple[int, ...]:
        """The numbers of these notes; empty ones have none."""
        found = []
        for text in filter(None, texts):
            counts = [int(count.replace(",", "")) for count in _REPLICATES.findall(text)]
            note = _REPLICATES.sub("{}", text) if counts else text
            self._notes.setdefault(note, []).extend(counts)
            found.append(list(self._notes).index(note) + 1)
        return tuple(found)

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes in the order of their numbers."""
        made = []
        for note, counts in self._notes.items():
            ends = " to ".join(f"{end:,}" for end in sorted({min(counts), max(counts)})) if counts else ""
            made.append(note.replace("{}", f"about {ends} replicates") if counts else note)
        return tuple(made)
