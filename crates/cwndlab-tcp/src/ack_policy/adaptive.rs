//! Delayed ACKs of Linux 2.0 and 2.2, whose delay follows the time between segments (`tcp_delack_estimator`; 2.0.32,
//! `tcp_input.c` 55 to 102 and `tcp_output.c` 1075 to 1091; 2.2.5, `tcp_input.c` 97 to 121 and 1564 to 1595).

use super::arrival::{Arrival, Data, Due};
use crate::config::{AdaptiveAcks, TcpConfig};
use crate::segment::Flags;
use cwndlab_units::Time;

/// The unacknowledged data, and the estimated delay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adaptive {
    /// Bytes received since a segment was last sent.
    pending_bytes: u32,
    /// Tick of the last segment with data.
    last: u32,
    /// The delay, ticks; 0 = no data yet.
    ato: u16,
}

impl Adaptive {
    pub(super) fn on_data(&mut self, cfg: &TcpConfig, knobs: &AdaptiveAcks, data: &Data) -> Due {
        let quick = self.estimate(cfg, knobs, data);
        let bytes = match data.arrival {
            Arrival::InOrder(bytes) => bytes,
            Arrival::Partial(bytes) | Arrival::Filling(bytes) if knobs.holes_wait => bytes,
            Arrival::Partial(_) | Arrival::Filling(_) | Arrival::Beyond | Arrival::Old => return Due::Now,
        };
        self.pending_bytes = self.pending_bytes.saturating_add(bytes);
        let full = self.pending_bytes >= 2 * data.mss;
        if quick || (full && !knobs.on_ticks) {
            return Due::Now;
        }
        let longest = if data.new.seg.flags.has(Flags::PSH) { knobs.push_ns.min(knobs.max_ns) } else { knobs.max_ns };
        let wait = if full { Time::ZERO } else { (tick(cfg) * u64::from(self.ato)).min(longest) };
        Due::By(cfg.expiry(data.now, wait))
    }

    /// Updates the delay. Returns whether to acknowledge at once, because this is the first segment with data.
    fn estimate(&mut self, cfg: &TcpConfig, knobs: &AdaptiveAcks, data: &Data) -> bool {
        let clock = cfg.clock().at(data.now).as_nanos() / tick(cfg).as_nanos();
        let since = (clock as u32).wrapping_sub(self.last).clamp(1, u32::from(u16::MAX)) as u16;
        self.last = clock as u32;
        if self.ato == 0 {
            self.ato = ticks(cfg, knobs.first_ns).max(1);
            return knobs.first_ns == Time::ZERO;
        }
        let rto = ticks(cfg, data.rtt.rto(&cfg.rto));
        self.ato = if since > rto { rto } else { (self.ato >> 1).saturating_add(since) }.max(1);
        false
    }

    pub fn on_sent(&mut self) {
        self.pending_bytes = 0;
    }
}

fn tick(cfg: &TcpConfig) -> Time {
    cfg.rto.tick_ns.max(Time::from_micros(1))
}

fn ticks(cfg: &TcpConfig, span: Time) -> u16 {
    (span.as_nanos() / tick(cfg).as_nanos()).min(u64::from(u16::MAX)) as u16
}
