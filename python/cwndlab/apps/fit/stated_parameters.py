"""Parameters that the user states because a capture does not show them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class StatedParameters:
    """Parameters of a path and its sender that the user states; None for those not stated."""

    cc: str | None = None
    rtt_s: float | None = None
    #: The buffer, in multiples of the BDP or in bytes.
    buffer_bdp: float | None = None
    buffer_bytes: float | None = None

    def buffer_of(self, rate_bps: float, base_s: float) -> float | None:
        """The stated buffer in bytes on a path; None if none is stated."""
        if self.buffer_bdp is not None:
            return self.buffer_bdp * rate_bps * base_s / 8
        return self.buffer_bytes

    @property
    def has_buffer(self) -> bool:
        """Whether the buffer is stated."""
        return self.buffer_bdp is not None or self.buffer_bytes is not None

    def allows(self, reason: str) -> bool:
        """Whether a stated parameter replaces the one whose absence is this reason for a refusal."""
        return {"cc": self.cc is not None, "rtt": self.rtt_s is not None, "buffer": self.has_buffer}.get(
            reason, False
        )

    def as_on(self, base_s: float, buffer_bytes: float) -> StatedParameters:
        """The same parameters stated, with the values of a simulated path."""
        return replace(
            self,
            rtt_s=None if self.rtt_s is None else base_s,
            buffer_bdp=None,
            buffer_bytes=buffer_bytes if self.has_buffer else None,
        )


NOTHING_STATED = StatedParameters()
