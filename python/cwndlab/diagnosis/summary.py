"""A connection in two sentences: its rate, losses and round-trip times, and what held it back most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import ClassVar

from .conversation import Conversation
from .waits import CAUSES, ORDINARY, Wait, round_trips

#: A cause that is not part of every transfer is named from this share of the time on.
_NOTABLE = 0.02


@dataclass(frozen=True)
class Summary:
    """What a sender did, in numbers."""

    #: What `retransmitted` counts.
    repairs: ClassVar[str] = "segments retransmitted"

    conversation: str
    #: From its first packet to its last.
    seconds: float
    #: Payload that was acknowledged.
    acknowledged_bytes: int
    #: Segments with data, and how many of them had been sent before.
    segments: int
    retransmitted: int
    #: The shortest round trip and the median; None where the capture is not the sender's.
    rtt_s: tuple[float, float] | None
    #: Seconds that it waited for what it waited for longest, and for the longest that is not part of every
    #: transfer; by the keys of `CAUSES`.
    waited_s: dict[str, float]

    def __str__(self) -> str:
        if not self.segments:
            return f"{self.conversation}: sent no data"
        rate = self.acknowledged_bytes * 8e-6 / self.seconds if self.seconds else 0.0
        again = f"{100 * self.retransmitted / self.segments:.2g} % of {self.segments} {self.repairs}"
        parts = [f"{rate:.3g} Mb/s for {length_text(self.seconds)}", again]
        if self.rtt_s is not None:
            parts.append("round trip at least {}, median {}".format(*map(length_text, self.rtt_s)))
        why = " and ".join(f"{length_text(s)} ({CAUSES[cause]})" for cause, s in self.waited_s.items())
        return (
            f"{self.conversation}: {', '.join(parts)}.{' Waited ' if why else ''}{why + '.' if why else ''}"
        )

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def summarize(conversation: Conversation, waits: Sequence[Wait]) -> Summary:
    """The summary of a connection with these waits."""
    packets = conversation.packets
    seconds = (packets[-1].time_ns - packets[0].time_ns) / 1e9 if packets else 0.0
    segments = retransmitted = highest = acknowledged = 0
    for packet in packets:
        if not packet.out:
            acknowledged = max(acknowledged, packet.ack)
        elif packet.len and not packet.unseen:
            segments += 1
            retransmitted += packet.seq < highest
            highest = max(highest, packet.seq + packet.len)
    times = round_trips(conversation) if conversation.seen_at == "sender" else []
    waited: dict[str, float] = {}
    for wait in waits:
        waited[wait.cause] = waited.get(wait.cause, 0.0) + wait.duration_ns / 1e9
    longest = sorted(waited, key=lambda cause: -waited[cause])
    notable = [one for one in longest if one not in ORDINARY and waited[one] >= _NOTABLE * seconds]
    return Summary(
        conversation.name,
        seconds,
        min(acknowledged, highest),
        segments,
        retransmitted,
        (min(times) / 1e9, median(times) / 1e9) if times else None,
        {cause: waited[cause] for cause in dict.fromkeys([*longest[:1], *notable[:1]])},
    )


def summarize_all(summaries: Sequence[Summary]) -> str:
    """Many connections in one sentence."""
    sent = sum(one.acknowledged_bytes for one in summaries) / 1e6
    segments = sum(one.segments for one in summaries)
    share = 100 * sum(one.retransmitted for one in summaries) / max(segments, 1)
    repairs = summaries[0].repairs
    text = f"{len(summaries)} connections: {sent:.3g} MB, {share:.2g} % of {segments} {repairs}"
    times = [one.rtt_s for one in summaries if one.rtt_s is not None]
    if times:
        middle = median(one for _, one in times)
        text += (
            f", round trip at least {length_text(min(low for low, _ in times))}, median {length_text(middle)}"
        )
    return f"{text}."


def length_text(seconds: float) -> str:
    """A length of time, for people."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
