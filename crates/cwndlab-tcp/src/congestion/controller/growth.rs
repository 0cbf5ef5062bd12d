//! How ACKs open the window: slow start, congestion avoidance, and laws with rules of their own.

use super::{AnyLaw, Controller, Phase, MAX_WINDOW_BYTES};
use crate::config::TcpConfig;
use crate::congestion::hystart::{Growth as SlowGrowth, CSS_GROWTH_DIVISOR};
use crate::congestion::law::{Acked, Growth, LossLaw as _};
use crate::congestion::laws::each_loss;
use crate::congestion::reno::{as_counted, new_bytes, slow_start_bytes, slow_start_increase};
use crate::congestion::{AckReport, AfterAck, PlainAck};
use cwndlab_units::Time;

impl Controller {
    /// Takes an ACK, also in recovery.
    pub fn on_ack(&mut self, cfg: &TcpConfig, ack: &AckReport, after: &AfterAck) {
        let limited = cfg.grow_only_if_cwnd_limited && !after.cwnd_limited;
        if matches!(self.law, AnyLaw::External(_)) {
            return self.external_ack(cfg, ack, after, limited);
        }
        if !after.may_grow || ack.acked_bytes == 0 {
            return;
        }
        let acked = Acked::of(ack);
        let grown = each_loss!(&mut self.law, law => law.grow(cfg, &acked, limited, &mut self.windows), else true);
        if grown || limited {
            return;
        }
        let mut bytes = new_bytes(cfg, ack);
        if bytes > 0 && self.in_slow_start() {
            bytes = self.slow_start(cfg, ack);
        }
        self.avoid(&Growth { now: ack.now, mss: ack.mss, srtt: ack.srtt, bytes });
    }

    fn avoid(&mut self, growth: &Growth) {
        if growth.bytes > 0 {
            let cwnd = self.windows.cwnd;
            self.windows.cwnd =
                each_loss!(&mut self.law, law => law.avoid(growth, cwnd), else cwnd).min(MAX_WINDOW_BYTES);
        }
    }

    /// Whether [`Controller::on_plain_feedback`] and [`Controller::on_plain_ack`] may be called, because the law and
    /// the rule that ends slow start need only the fields of a `PlainAck`.
    pub fn takes_plain_acks(&self) -> bool {
        self.law.needs().plain_acks && (matches!(self.phase, Phase::Plain | Phase::Reduced(_)) || !self.in_slow_start())
    }

    /// Takes a plain ACK that may open the window.
    #[inline]
    pub(crate) fn on_plain_ack(&mut self, cfg: &TcpConfig, ack: &PlainAck) {
        let PlainAck { now, mss, acked_bytes, .. } = *ack;
        let acked = Acked { plain: *ack, report: None };
        if acked_bytes == 0
            || each_loss!(&mut self.law, law => law.grow(cfg, &acked, false, &mut self.windows), else true)
        {
            return;
        }
        let mut bytes = as_counted(cfg, acked_bytes, mss);
        if self.in_slow_start() {
            bytes = self.widen(cfg, slow_start_bytes(cfg, acked_bytes, bytes, mss));
        }
        self.avoid(&Growth { now, mss, srtt: Time::ZERO, bytes });
    }

    /// Passes an ACK to an external law, which also gets the ACKs that may not open the window.
    fn external_ack(&mut self, cfg: &TcpConfig, ack: &AckReport, after: &AfterAck, limited: bool) {
        let AnyLaw::External(external) = &self.law else { return };
        let mut growth = if after.may_grow && !limited { new_bytes(cfg, ack) } else { 0 };
        if growth > 0 && external.uses_slow_start && self.in_slow_start() {
            growth = self.slow_start(cfg, ack);
        }
        self.ask(ack.now, ack.mss, |law, window| law.on_ack(ack, after, growth, window));
    }

    /// Grows the window by slow start, at most to ssthresh. Returns the acknowledged bytes left for congestion
    /// avoidance.
    fn slow_start(&mut self, cfg: &TcpConfig, ack: &AckReport) -> u64 {
        if self.windows.cwnd == 0 {
            return 0; // closed by an ECN echo; only the retransmission timer reopens the window (RFC 3168, 6.1.2)
        }
        let mut increase = slow_start_increase(cfg, ack);
        let ends = match &mut self.phase {
            Phase::HystartLinux(hystart) => {
                hystart.on_ack(ack.now, ack.snd_una, ack.snd_nxt, ack.rtt, (self.windows.cwnd, ack.mss))
            }
            Phase::Hystart(hystart) => {
                let growth = hystart.on_ack(ack.snd_una, ack.snd_nxt, ack.rtt);
                increase /= if growth == SlowGrowth::Conservative { CSS_GROWTH_DIVISOR } else { 1 };
                growth == SlowGrowth::Exit
            }
            Phase::Search(search) => search.on_ack(ack).is_some_and(|beyond| {
                let cwnd = self.cwnd().saturating_sub(beyond).max(2 * u64::from(ack.mss)); // lines 41 and 42 of SEARCH's listing
                self.set_cwnd(cwnd, ack.mss);
                true
            }),
            Phase::Plain | Phase::Reduced(_) => false,
        };
        if ends {
            self.windows.ssthresh = self.windows.cwnd;
            self.phase = Phase::Plain;
            return new_bytes(cfg, ack);
        }
        self.widen(cfg, increase)
    }

    /// Grows the window by `increase`, but at most to ssthresh. Returns the bytes left for congestion avoidance.
    fn widen(&mut self, cfg: &TcpConfig, increase: u64) -> u64 {
        let room = u64::from(self.windows.ssthresh.min(MAX_WINDOW_BYTES).saturating_sub(self.windows.cwnd));
        self.windows.cwnd += increase.min(room) as u32;
        // The bytes left at ssthresh count in congestion avoidance only if slow start has no limit (L), as in the
        // kernel. With a limit, an ACK opens the window by one of the two rules only.
        if cfg.slow_start_limit_segments == 0 {
            increase.saturating_sub(room)
        } else {
            0
        }
    }
}
