"""RFC 5681 in bytes, to be compared with the engine's own."""

from cwndlab import AckReport, CongestionControl, LossEvent


class Reno(CongestionControl):
    """Grows by a segment per window of acknowledged bytes, halves on loss."""

    def on_start(self, now_s: float, mss: int) -> None:
        self.acked = 0

    def on_ack(self, ack: AckReport) -> None:
        if ack.growth_bytes == 0:
            return
        cwnd = int(self.cwnd_bytes)
        self.acked += ack.growth_bytes
        if self.acked >= cwnd:
            self.acked = min(self.acked - cwnd, cwnd)
            self.cwnd_bytes = cwnd + ack.mss

    def on_loss(self, event: LossEvent) -> None:
        self.acked = 0
        self.cwnd_bytes = max(event.flight_bytes // 2, 2 * event.mss)
