"""Few packets in the queue."""

import math

from cwndlab import AckReport, CongestionControl, LossEvent


class Few(CongestionControl):
    """Keeps two to four segments in the bottleneck's queue, in the manner of TCP Vegas."""

    def on_start(self, now_s: float, mss: int) -> None:
        self.base_s = math.inf

    def on_ack(self, ack: AckReport) -> None:
        self.base_s = min(self.base_s, ack.rtt_s or math.inf)
        if ack.rtt_s is None or ack.in_recovery:
            return
        queued = self.cwnd_bytes * (1 - self.base_s / ack.rtt_s) / ack.mss
        if queued > 4:
            self.ssthresh_bytes = min(self.ssthresh_bytes, self.cwnd_bytes)  # ends slow start
        step = ack.mss * ack.growth_bytes / self.cwnd_bytes
        self.cwnd_bytes += step if queued < 2 else -step if queued > 4 else 0

    def on_loss(self, event: LossEvent) -> None:
        self.cwnd_bytes = max(event.flight_bytes / 2, 2 * event.mss)
