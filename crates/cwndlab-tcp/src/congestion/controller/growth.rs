//! How ACKs open the window: slow start, congestion avoidance, and the laws with rules of their own.

use super::{Background, Controller, Law, Phase, MAX_WINDOW_BYTES};
use crate::config::TcpConfig;
use crate::congestion::hystart::{Growth, CSS_GROWTH_DIVISOR};
use crate::congestion::ledbat_plus_plus;
use crate::congestion::reno::{new_bytes, slow_start_bytes, slow_start_increase};
use crate::congestion::{AckReport, AfterAck, PlainAck};

impl Controller {
    /// An ACK, in recovery too.
    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    pub fn on_ack(&mut self, cfg: &TcpConfig, ack: &AckReport, after: &AfterAck) {
        if !after.may_grow || ack.acked_bytes == 0 {
            if matches!(self.law, Law::External(_)) {
                self.external_ack(cfg, ack, after);
            }
            return;
        }
        if cfg.grow_only_if_cwnd_limited && !after.cwnd_limited {
            if let Law::Cubic(cubic) = &mut self.law {
                cubic.on_limited_ack(ack.now);
            } else if matches!(self.law, Law::External(_)) {
                self.external_ack(cfg, ack, after);
            } else if matches!(&self.law, Law::Background(law) if matches!(**law, Background::Ledbat(_))) {
                self.background_ack(cfg, ack); // it clamps a window that is not used
            }
            return;
        }
        if self.count_ack(ack.mss) {
            return;
        }
        if let Law::External(_) = &self.law {
            return self.external_ack(cfg, ack, after);
        }
        if let Law::Background(_) = &self.law {
            return self.background_ack(cfg, ack);
        }
        let mut left = new_bytes(cfg, ack);
        if left == 0 {
            return;
        }
        if self.in_slow_start() {
            left = self.slow_start(cfg, ack);
            if left == 0 {
                return;
            }
        }
        let cwnd = match &mut self.law {
            Law::Reno(reno) => reno.avoid(self.cwnd, left, ack.mss),
            Law::Dctcp(dctcp) => dctcp.reno.avoid(self.cwnd, left, ack.mss),
            Law::Cubic(cubic) => cubic.avoid(self.cwnd, left, ack),
            Law::CubicLinux(cubic) => cubic.avoid_bytes(ack.now, self.cwnd, left, ack.mss),
            Law::RenoPackets(_)
            | Law::RenoLinux2(_)
            | Law::Bbr(_)
            | Law::Bbr3(_)
            | Law::Prague(_)
            | Law::Background(_)
            | Law::External(_) => self.cwnd,
        };
        self.cwnd = cwnd.min(MAX_WINDOW_BYTES);
    }

    /// Takes an ACK of new data if the law counts ACKs, not bytes; whether it does.
    #[inline]
    fn count_ack(&mut self, mss: u32) -> bool {
        let cwnd = match &mut self.law {
            Law::RenoPackets(p) => {
                p.on_ack(self.cwnd < self.ssthresh);
                p.cwnd_bytes(mss)
            }
            Law::RenoLinux2(law) => law.on_ack(self.cwnd, self.ssthresh, mss),
            _ => return false,
        };
        self.cwnd = cwnd.min(MAX_WINDOW_BYTES);
        true
    }

    /// Whether [`Controller::on_plain_feedback`] and [`Controller::on_plain_ack`] may be called: the law looks at nothing of an ACK but what that has.
    #[inline]
    pub fn takes_plain_acks(&self) -> bool {
        let law = matches!(self.law, Law::Reno(_) | Law::RenoPackets(_) | Law::RenoLinux2(_) | Law::CubicLinux(_));
        law && (matches!(self.phase, Phase::Plain | Phase::Reduced { .. }) || !self.in_slow_start())
    }

    /// Whether [`Controller::on_plain_feedback`] does anything.
    #[inline]
    pub(crate) fn takes_plain_feedback(&self) -> bool {
        matches!(self.law, Law::CubicLinux(_))
    }

    /// As [`Controller::on_ack`], where the ACK may open the window.
    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    pub(crate) fn on_plain_ack(&mut self, cfg: &TcpConfig, ack: &PlainAck) {
        let PlainAck { acked_bytes, mss, .. } = *ack;
        if acked_bytes == 0 {
            return;
        }
        if !matches!(self.law, Law::Reno(_) | Law::CubicLinux(_)) {
            self.count_ack(mss);
            return;
        }
        let mut left = acked_bytes;
        if self.in_slow_start() {
            left = self.widen(cfg, slow_start_bytes(cfg, acked_bytes, acked_bytes, mss));
            if left == 0 {
                return;
            }
        }
        let cwnd = match &mut self.law {
            Law::Reno(reno) => reno.avoid(self.cwnd, left, mss),
            Law::CubicLinux(cubic) => cubic.avoid_bytes(ack.now, self.cwnd, left, mss),
            _ => return,
        };
        self.cwnd = cwnd.min(MAX_WINDOW_BYTES);
    }

    /// As [`Controller::on_feedback`]: CUBIC's HyStart takes the round trip of an ACK.
    #[inline(never)]
    pub(crate) fn on_plain_feedback(&mut self, ack: &PlainAck) {
        let (Law::CubicLinux(cubic), Some(rtt)) = (&mut self.law, ack.rtt) else { return };
        let slow_start = self.cwnd < self.ssthresh;
        if cubic.on_rtt(ack, rtt, self.cwnd, slow_start) {
            self.ssthresh = self.cwnd;
        }
    }

    /// An ACK that may change the window, for a law for background traffic.
    #[inline(never)]
    fn background_ack(&mut self, cfg: &TcpConfig, ack: &AckReport) {
        let Law::Background(law) = &mut self.law else { return };
        match &mut **law {
            Background::Ledbat(law) => self.cwnd = law.on_ack(ack, new_bytes(cfg, ack), self.cwnd),
            Background::LedbatPlusPlus(law) => {
                let windows = ledbat_plus_plus::Windows { cwnd: self.cwnd, ssthresh: self.ssthresh };
                let after = law.on_ack(ack, slow_start_increase(cfg, ack), new_bytes(cfg, ack), windows);
                (self.cwnd, self.ssthresh) = (after.cwnd, after.ssthresh);
            }
        }
    }

    /// An ACK, for a law from outside: it gets those that do not open the window, too.
    #[inline(never)]
    fn external_ack(&mut self, cfg: &TcpConfig, ack: &AckReport, after: &AfterAck) {
        let Law::External(external) = &self.law else { return };
        let limited = cfg.grow_only_if_cwnd_limited && !after.cwnd_limited;
        let mut growth = if after.may_grow && !limited { new_bytes(cfg, ack) } else { 0 };
        if growth > 0 && external.uses_slow_start && self.in_slow_start() {
            growth = self.slow_start(cfg, ack);
        }
        self.ask(ack.mss, |law, window| law.on_ack(ack, after, growth, window));
    }

    /// Grows by slow start, not beyond ssthresh; returns acknowledged bytes left for congestion avoidance.
    fn slow_start(&mut self, cfg: &TcpConfig, ack: &AckReport) -> u64 {
        if self.cwnd == 0 {
            return 0; // closed by an echo: only the timer opens it (RFC 3168, 6.1.2)
        }
        let mut increase = slow_start_increase(cfg, ack);
        if let Phase::HystartLinux(hystart) = &mut self.phase {
            if hystart.on_ack(ack.now, ack.snd_una, ack.snd_nxt, ack.rtt, self.cwnd / ack.mss) {
                self.ssthresh = self.cwnd;
                self.phase = Phase::Plain;
                return new_bytes(cfg, ack);
            }
        } else if let Phase::Hystart(hystart) = &mut self.phase {
            match hystart.on_ack(ack.snd_una, ack.snd_nxt, ack.rtt) {
                Growth::Full => {}
                Growth::Conservative => increase /= CSS_GROWTH_DIVISOR,
                Growth::Exit => {
                    self.ssthresh = self.cwnd;
                    self.phase = Phase::Plain;
                    return new_bytes(cfg, ack);
                }
            }
        } else if let Phase::Search(search) = &mut self.phase {
            if let Some(beyond) = search.on_ack(ack) {
                let cwnd = self.cwnd().saturating_sub(beyond).max(2 * u64::from(ack.mss)); // lines 41 and 42
                self.set_cwnd(cwnd, ack.mss);
                self.ssthresh = self.cwnd;
                self.phase = Phase::Plain;
                return new_bytes(cfg, ack);
            }
        }
        self.widen(cfg, increase)
    }

    /// The window grows by as much of `increase` as slow start lets it; returns bytes left for congestion avoidance.
    #[inline]
    fn widen(&mut self, cfg: &TcpConfig, increase: u64) -> u64 {
        let room = u64::from(self.ssthresh.min(MAX_WINDOW_BYTES).saturating_sub(self.cwnd));
        self.cwnd += increase.min(room) as u32;
        // Only a limit-free slow start hands on what it could not use: with L = 1 an ACK counts once.
        if cfg.slow_start_limit_segments == 0 {
            increase.saturating_sub(room)
        } else {
            0
        }
    }
}
