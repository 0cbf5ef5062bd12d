//! The short path of most ACKs: new data is acknowledged, and nothing is being repaired.
//!
//! No report is built: the window, the timer and a round trip are all that can follow. A property test compares this path with
//! that of any ACK.

use cwndlab_units::Time;

use super::Connection;
use crate::config::{RttSamples, TcpConfig};
use crate::congestion::PlainAck;
use crate::segment::Header;
use crate::timers::Timer;

impl Connection {
    /// An ACK of new data without options, as header prediction expects it: does what
    /// [`Connection::take_new_ack`] does. False, and nothing done, where more can follow from it.
    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    pub(super) fn take_calm_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64) -> bool {
        if self.recovery.detects_by_time() {
            return self.take_calm_ack_by_record(cfg, now, ack);
        }
        let s = &self.sender;
        let calm = s.snd.dup_acks == 0
            && s.outstanding.nothing_reported()
            && s.cc.cwnd() > 0
            && s.cc.takes_plain_acks()
            && self.recovery.only_grows();
        if !calm {
            return false;
        }
        let acked_bytes = self.advance(ack);
        let s = &mut self.sender;
        if s.outstanding.keeps_segments() {
            s.outstanding.on_ack(ack);
        }
        let mut rtt = self.measure(cfg, now, seg, ack);
        if self.sender.outstanding.keeps_segments() {
            (rtt, _) = self.sender.outstanding.sample(now, rtt);
        }
        self.restart_timer(cfg, now);
        self.grow_plainly(cfg, now, acked_bytes, rtt);
        self.after_new_ack(cfg, now, ack);
        true
    }

    /// The same of a segment that is more than an ACK: the answer to a request, a FIN. Not with RACK, for which the segment's
    /// options count.
    #[inline(never)]
    pub(super) fn take_calm_ack_with(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64) -> bool {
        !self.recovery.detects_by_time() && self.take_calm_ack(cfg, now, seg, ack)
    }

    /// The same with RACK, which takes the round trip from its record.
    #[inline(never)]
    fn take_calm_ack_by_record(&mut self, cfg: &TcpConfig, now: Time, ack: u64) -> bool {
        let Some(rack) = self.recovery.rack() else { return false };
        let s = &mut self.sender;
        let calm = s.outstanding.nothing_reported()
            && s.cc.cwnd() > 0
            && s.cc.takes_plain_acks()
            && cfg.rto.samples == RttSamples::RoundTrip;
        if !calm {
            return false;
        }
        let Some((first, last)) = rack.take_calm(&mut s.snd, &mut s.outstanding, now, ack) else { return false };
        let acked_bytes = self.advance(ack);
        let s = &mut self.sender;
        s.timed_end = 0;
        s.snd.rtt.on_sample(&cfg.rto, now, first, (s.snd.una, s.snd.max));
        s.snd.rtt.clear_backoff();
        self.grow_plainly(cfg, now, acked_bytes, Some(last));
        let s = &self.sender;
        let only_rack =
            s.snd.una != s.snd.max && self.timers.is_running(Timer::Retransmit) && cfg.recovery.has_linux_timers();
        if !only_rack {
            self.restart_timer(cfg, now);
        }
        if let Some(rack) = self.recovery.rack() {
            if only_rack {
                rack.restart_timer(&self.sender.view(cfg), now, &mut self.timers);
            } else {
                rack.restart_any(&self.sender.view(cfg), now, &mut self.timers);
            }
        }
        self.after_new_ack(cfg, now, ack);
        true
    }

    /// All up to `ack` is acknowledged; how many bytes of payload.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn advance(&mut self, ack: u64) -> u64 {
        let s = &mut self.sender;
        let acked_bytes = ack - s.snd.una - u64::from(s.fin && ack > s.snd.end);
        s.snd.una = ack;
        s.snd.nxt = s.snd.nxt.max(ack);
        s.snd.resend_first = false;
        self.retries = 0;
        acked_bytes
    }

    /// The window takes the ACK.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn grow_plainly(&mut self, cfg: &TcpConfig, now: Time, acked_bytes: u64, rtt: Option<Time>) {
        let s = &mut self.sender;
        let plain = PlainAck { now, mss: s.snd.mss, acked_bytes, rtt, snd_una: s.snd.una, snd_nxt: s.snd.nxt };
        if s.cc.takes_plain_feedback() {
            let apart = plain; // so that the other laws get it in registers
            s.cc.on_plain_feedback(&apart);
        }
        if !cfg.grow_only_if_cwnd_limited || s.uses_cwnd() {
            s.cc.on_plain_ack(cfg, &plain);
        }
    }
}
