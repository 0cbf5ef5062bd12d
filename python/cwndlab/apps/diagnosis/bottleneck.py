"""The slowest link of a flow's path."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bottleneck:
    """The slowest link of a flow's path."""

    rate_bps: float
    #: Round-trip time without queues, in seconds.
    base_s: float
    #: In words: "34 packets", "at least 50 kB", "unlimited".
    buffer: str
    #: The traffic that shares the link, in words; empty if none is known.
    others: str = ""
    #: Whether the bottleneck was estimated from packets.
    estimated: bool = False

    @property
    def text(self) -> str:
        """Rate, BDP and buffer of the link, in words."""
        rate = f"{'about ' if self.estimated else ''}{self.rate_bps / 1e6:.4g} Mb/s"
        return f"{rate}, BDP {size_text(self.rate_bps * self.base_s / 8)}, buffer {self.buffer}"


def size_text(size: float) -> str:
    """A number of bytes in kB or MB, as text."""
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
