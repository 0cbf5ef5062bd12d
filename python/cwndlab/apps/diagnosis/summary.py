"""A summary of a connection: its rate, losses, round-trip times and largest waits, in two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import ClassVar

from .causes import CAUSES, ORDINARY
from .conversation import Conversation
from .link_use import explain_share, used_share
from .waits import Wait, round_trips

#: A cause that is not part of every transfer is named from this share of the duration on.
_NOTABLE = 0.02
#: If the clock's resolution exceeds this share of the duration, the rate is given as a range.
_COARSE = 0.02
#: The round trip is given only if its median is at least this many ticks of the capture's clock.
_TICKS = 10


@dataclass(frozen=True)
class Summary:
    """Numbers that summarize what a sender did."""

    #: What `retransmitted` counts.
    repairs: ClassVar[str] = "segments retransmitted"

    conversation: str
    #: The time between the first and the last packet.
    seconds: float
    #: Payload bytes that were acknowledged.
    acknowledged_bytes: int
    #: The number of data segments, and how many of them were retransmissions.
    segments: int
    retransmitted: int
    #: The least and the median round trip; None if the capture was not made at the sender.
    rtt_s: tuple[float, float] | None
    #: Seconds waited, by keys of `CAUSES`: for the largest cause, and for the largest cause that is not part
    #: of every transfer.
    waited_s: dict[str, float]
    #: How a captured connection ended, in a sentence; "" for other sources.
    ended: str = field(default="", kw_only=True)
    #: A sentence on the used share of the bottleneck and what limited it; "" if unknown.
    bottleneck: str = field(default="", kw_only=True)
    #: The resolution of the capture's clock in seconds if that is coarse, else 0.
    tick_s: float = field(default=0.0, kw_only=True)

    def __str__(self) -> str:
        if not self.segments and not self.acknowledged_bytes:
            return f"{self.conversation}: sent no data{'.' if self.ended else ''}{self._ending()}"
        parts = [f"{self._rate_text()} for {length_text(self.seconds)}"]
        if self.segments:
            share = f"{100 * self.retransmitted / self.segments:.2g} %"
            parts.append(f"{share} of {self.segments} {self.repairs}")
        if self.rtt_s is not None:
            parts.append("round trip at least {}, median {}".format(*map(length_text, self.rtt_s)))
        used = f" {self.bottleneck}" if self.bottleneck else ""
        return f"{self.conversation}: {', '.join(parts)}.{self._waited()}{used}{self._ending()}"

    def _waited(self) -> str:
        why = " and ".join(f"{length_text(s)} ({CAUSES[cause]})" for cause, s in self.waited_s.items())
        return f" Waited {why}." if why else ""

    def _rate_text(self) -> str:
        """The rate, or its range if the clock is too coarse for the duration."""
        bits = self.acknowledged_bytes * 8e-6
        if self.tick_s > _COARSE * self.seconds:
            least = f"{bits / (self.seconds + self.tick_s):.3g}"
            most = self.seconds - self.tick_s
            return f"{least} to {bits / most:.3g} Mb/s" if most > 0 else f"at least {least} Mb/s"
        return f"{bits / self.seconds if self.seconds else 0.0:.3g} Mb/s"

    def _ending(self) -> str:
        return f" {self.ended}" if self.ended else ""

    def to_dict(self) -> dict[str, object]:
        """The summary as a dictionary for JSON."""
        return asdict(self)


def summarize(
    conversation: Conversation, waits: Sequence[Wait], short_ns: Mapping[str, int] | None = None
) -> Summary:
    """The summary of a connection from its waits and, by cause, the total ns of waits too short to list."""
    packets = conversation.packets
    first_ns, last_ns = conversation.span_ns or (
        (packets[0].time_ns, packets[-1].time_ns) if packets else (0, 0)
    )
    seconds = (last_ns - first_ns) / 1e9
    segments, unique = conversation.damaged
    retransmitted = highest = acknowledged = 0
    for packet in packets:
        if not packet.out:
            acknowledged = max(acknowledged, packet.ack)
        elif packet.len and not packet.unseen and not packet.probe:
            segments += 1
            retransmitted += packet.seq < highest
            unique += max(0, packet.seq + packet.len - max(packet.seq, highest))
            highest = max(highest, packet.seq + packet.len)
    # Without the start of the connection, only a capture at the sender can count acknowledged data.
    arrived = conversation.one_way == "data" or (
        conversation.seen_at != "sender" and not conversation.from_start
    )
    if arrived:
        acknowledged = unique
    elif conversation.one_way != "acks":
        acknowledged = min(acknowledged, highest)
    times = round_trips(conversation) if conversation.seen_at == "sender" else []
    if times and median(times) < _TICKS * conversation.tick_ns:
        times = []
    waited = {cause: ns / 1e9 for cause, ns in (short_ns or {}).items()}
    for wait in waits:
        waited[wait.cause] = waited.get(wait.cause, 0.0) + wait.duration_ns / 1e9
    return Summary(
        conversation.name,
        seconds,
        acknowledged,
        segments,
        retransmitted,
        (min(times) / 1e9, median(times) / 1e9) if times else None,
        leading_waits(waited, seconds),
        ended=conversation.ended,
        bottleneck=_use_of_bottleneck(conversation, acknowledged, seconds, waited),
        tick_s=conversation.tick_ns / 1e9,
    )


def leading_waits(waited: Mapping[str, float], seconds: float) -> dict[str, float]:
    """The entries of `waited` for the largest cause and for the largest that is not in every transfer."""
    longest = sorted(waited, key=lambda cause: -waited[cause])
    notable = [one for one in longest if one not in ORDINARY and waited[one] >= _NOTABLE * seconds]
    return {cause: waited[cause] for cause in dict.fromkeys([*longest[:1], *notable[:1]])}


def _use_of_bottleneck(
    conversation: Conversation, acknowledged: int, seconds: float, waited: Mapping[str, float]
) -> str:
    if conversation.bottleneck is None or not acknowledged or seconds <= 0 or not conversation.shows_waits:
        return ""
    share = used_share(conversation, acknowledged, seconds)
    return explain_share(conversation.bottleneck, share, waited, seconds, CAUSES)


def summarize_all(summaries: Sequence[Summary]) -> str:
    """A summary of many connections in one sentence."""
    sent = sum(summary.acknowledged_bytes for summary in summaries) / 1e6
    segments = sum(summary.segments for summary in summaries)
    share = 100 * sum(summary.retransmitted for summary in summaries) / max(segments, 1)
    repairs = summaries[0].repairs
    text = f"{len(summaries)} connections: {sent:.3g} MB, {share:.2g} % of {segments} {repairs}"
    times = [summary.rtt_s for summary in summaries if summary.rtt_s is not None]
    if times:
        middle = median(one for _, one in times)
        text += (
            f", round trip at least {length_text(min(low for low, _ in times))}, median {length_text(middle)}"
        )
    return f"{text}."


def length_text(seconds: float) -> str:
    """A duration in seconds or milliseconds, as text."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
