//! AIMD(1, 0.5): Reno's increase, and half of the bytes in flight after a loss.

use cwndlab_tcp::{AckReport, AfterAck, CongestionControl, LawError, LossEvent, Window};

/// Adds `a` segments per round trip, and gives up `b` of the window after a loss.
#[derive(Debug)]
pub struct Aimd {
    a: f64,
    b: f64,
}

/// Makes the law of one end of a connection; the seed is for random numbers.
pub fn new(_seed: u64) -> Aimd {
    Aimd { a: 1.0, b: 0.5 }
}

impl CongestionControl for Aimd {
    fn on_ack(
        &mut self,
        ack: &AckReport,
        _after: &AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        let cwnd = window.cwnd_bytes();
        window.set_cwnd_bytes(cwnd + self.a * f64::from(ack.mss) * growth_bytes as f64 / cwnd);
        Ok(())
    }

    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        let kept = event.flight_bytes as f64 * (1.0 - self.b);
        window.set_cwnd_bytes(kept.max(2.0 * f64::from(event.mss)));
        Ok(())
    }
}
