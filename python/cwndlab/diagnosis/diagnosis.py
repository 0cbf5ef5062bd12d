"""The diagnosis of several conversations: their longest waits, or the one at a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .conversation import Conversation
from .waits import CAUSES, ORDINARY, Wait, find_waits
from .words import Explanation, explain


@dataclass(frozen=True)
class Diagnosis:
    """What kept senders from sending."""

    #: Seconds that the senders waited, by cause, the longest first.
    waited_s: dict[str, float]
    #: The waits that were asked for, explained.
    waits: tuple[Explanation, ...]
    notes: tuple[str, ...] = ()

    @property
    def cause(self) -> str | None:
        """What cost most, apart from what is part of every transfer; None if nothing else cost anything."""
        return next((cause for cause in self.waited_s if cause not in ORDINARY), None)

    def __str__(self) -> str:
        lines = [f"note: {note}" for note in self.notes]
        total = "; ".join(f"{cause} {seconds:.3f} s" for cause, seconds in self.waited_s.items())
        lines.append(f"waited: {total}" if total else "the sender never waited")
        name = ""
        for wait in self.waits:
            if wait.conversation != name:
                name = wait.conversation
                lines += ["", name]
            lines.append(str(wait))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """The same as a dictionary for JSON: times in seconds, from the start of the run or capture."""
        return {
            "cause": self.cause,
            "waited_s": self.waited_s,
            "waits": [wait.to_dict() for wait in self.waits],
            "notes": list(self.notes),
        }


def diagnose(conversations: Sequence[Conversation], at_s: float | None = None, longest: int = 5) -> Diagnosis:
    """What senders waited for at a moment, or their longest waits apart from ordinary ones."""
    found = [(one, wait) for one in conversations for wait in find_waits(one)]
    waited: dict[str, int] = {}
    for _, wait in found:
        waited[wait.cause] = waited.get(wait.cause, 0) + wait.duration_ns
    order = sorted(waited, key=lambda cause: (-waited[cause], list(CAUSES).index(cause)))
    if at_s is not None:
        every = [(one, wait) for one in conversations for wait in find_waits(one, short=True)]
        chosen = [pair for pair in every if pair[1].start_ns <= at_s * 1e9 < pair[1].end_ns]
    else:
        chosen = _longest(found, longest)
    notes = dict.fromkeys(note for conversation in conversations for note in conversation.notes)
    if at_s is not None and not chosen:
        notes[f"at {at_s:g} s no sender waited to send: none was open, or all had been sent"] = None
    return Diagnosis(
        {cause: waited[cause] / 1e9 for cause in order},
        tuple(explain(conversation, wait) for conversation, wait in chosen),
        tuple(notes),
    )


def _longest(found: Sequence[tuple[Conversation, Wait]], count: int) -> list[tuple[Conversation, Wait]]:
    """The longest waits, in order of time; ordinary ones only if there are no others."""
    stalls = [pair for pair in found if pair[1].cause not in ORDINARY] or list(found)
    kept = sorted(stalls, key=lambda pair: -pair[1].duration_ns)[:count]
    return sorted(kept, key=lambda pair: (pair[0].name, pair[1].start_ns))
