//! The short path of most ACKs: new data is acknowledged, and nothing is being repaired.
//!
//! No report is built: the window, the timer and a round trip are all that can follow. A property test compares this path with
//! that of any ACK.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::segment::Header;

impl Connection {
    /// An ACK of new data without options, as header prediction expects it: does what [`Connection::account_new`] and
    /// [`Connection::on_new_ack`] do. False, and nothing done, where more can follow from it.
    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    pub(super) fn take_calm_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, ack: u64) -> bool {
        let s = &mut self.sender;
        let calm = s.dup_acks == 0
            && s.outstanding.nothing_reported()
            && s.cc.cwnd() > 0
            && s.cc.takes_plain_acks()
            && self.recovery.only_grows();
        if !calm {
            return false;
        }
        let acked_bytes = ack - s.una - u64::from(s.fin && ack > s.end);
        s.una = ack;
        s.nxt = s.nxt.max(ack);
        s.resend_first = false;
        self.retries = 0;
        if s.outstanding.keeps_segments() {
            s.outstanding.on_ack(ack, |_| {});
        }
        let rtt = self.measure(cfg, now, seg, ack);
        if self.sender.outstanding.keeps_segments() {
            self.sender.outstanding.sample(now, rtt);
        }
        self.restart_timer(cfg, now);
        let s = &mut self.sender;
        let limited = !cfg.grow_only_if_cwnd_limited || s.uses_cwnd();
        if limited && acked_bytes > 0 {
            s.cc.on_plain_ack(cfg, acked_bytes, s.mss);
        }
        self.after_new_ack(cfg, now, ack);
        true
    }
}
