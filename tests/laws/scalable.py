"""A congestion control for L4S in Python."""

from cwndlab import AckReport, CongestionControl, LossEvent


class Scalable(CongestionControl):
    """Halves its window by the share of marked bytes, as DCTCP does (RFC 8257), and paces."""

    ecn = "accecn-ect1"  # AccECN, with the L4S identifier ECT(1) on its packets
    owns_recovery = True  # otherwise the engine sets the window in the round trip after a mark

    def on_start(self, now_s: float, mss: int) -> None:
        self.alpha = 1.0  # as if all had been marked: the first mark halves the window (RFC 8257, 3.3)
        self.delivered = self.marked = self.round_end = 0

    def on_ack(self, ack: AckReport) -> None:
        self.delivered += ack.delivered_bytes
        self.marked += ack.ce_bytes
        if ack.ce_bytes:
            self.ssthresh_bytes = min(self.ssthresh_bytes, self.cwnd_bytes)  # ends slow start
        if ack.snd_una > self.round_end and self.delivered:
            self.alpha += (self.marked / self.delivered - self.alpha) / 16
            if self.marked:
                self.cwnd_bytes = max(self.cwnd_bytes * (1 - self.alpha / 2), 2 * ack.mss)
            self.delivered = self.marked = 0
            self.round_end = ack.snd_nxt
        self.cwnd_bytes += ack.mss * ack.growth_bytes / self.cwnd_bytes
        if ack.srtt_s:
            gain = 2 if self.cwnd_bytes < self.ssthresh_bytes else 1
            self.pacing_rate_bps = gain * 8 * self.cwnd_bytes / ack.srtt_s

    def on_loss(self, event: LossEvent) -> None:
        if event.kind != "ecn":  # on_ack responds to marks
            self.cwnd_bytes = max(event.flight_bytes / 2, 2 * event.mss)
