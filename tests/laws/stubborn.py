"""A law that never backs off, and one that hardly dares to send: an evaluation must distinguish them."""

from cwndlab import AckReport, CongestionControl, LossEvent


class Stubborn(CongestionControl):
    """Keeps 400 segments in flight, whatever happens."""

    owns_recovery = True

    def on_start(self, now_s: float, mss: int) -> None:
        self.cwnd_bytes = 400 * mss

    def on_ack(self, ack: AckReport) -> None:
        self.cwnd_bytes = 400 * ack.mss

    def on_loss(self, event: LossEvent) -> None:
        self.cwnd_bytes = 400 * event.mss

    def on_timeout(self, event: LossEvent) -> None:
        self.cwnd_bytes = 400 * event.mss


class Timid(CongestionControl):
    """Never has more than two segments in flight."""

    uses_slow_start = False

    def on_start(self, now_s: float, mss: int) -> None:
        self.cwnd_bytes = 2 * mss

    def on_ack(self, ack: AckReport) -> None:
        self.cwnd_bytes = 2 * ack.mss

    def on_loss(self, event: LossEvent) -> None:
        self.cwnd_bytes = 2 * event.mss
