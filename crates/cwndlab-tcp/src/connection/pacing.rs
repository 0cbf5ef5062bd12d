//! Calls of the pacer by a connection.

use cwndlab_units::Time;

use super::fast::Outlook;
use super::{Connection, Control};
use crate::config::TcpConfig;
use crate::pacing::Pacer;
use crate::segment::Segment;
use crate::timers::Timer;

impl Connection {
    /// Whether the pacer permits data now; false if a segment outside the data stream is to be sent first. The pace is
    /// determined once per train, from the window at that time.
    #[inline]
    pub(super) fn pacer_admits(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        if self.control != Control::AskPacer {
            return false; // another segment is to be sent first
        }
        if !self.is_idle() {
            return self.ask_pacer(cfg, now);
        }
        if self.receiver.ack_now {
            self.note_pure_ack(now);
        }
        true
    }

    /// Whether everything written has been acknowledged.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.sender.snd.una == self.sender.limit()
    }

    /// Notes that an ACK goes before any data.
    #[inline]
    pub(super) fn note_pure_ack(&mut self, now: Time) {
        if let Some(pacer) = self.sender.pacer_mut() {
            pacer.on_pure_ack(now);
        }
    }

    /// Counts a segment with this payload as sent, before the timers are set, which wait for the pacer.
    #[inline(always)]
    pub(super) fn count_sent(&mut self, bytes: u32) {
        self.stats.bytes_sent += u64::from(bytes);
        if let Some(pacer) = self.sender.pacer_mut() {
            pacer.charge(bytes);
            if let Some(rack) = self.recovery.rack() {
                rack.note_pacer(pacer.next());
            }
        }
    }

    #[inline(never)]
    fn ask_pacer(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        if self.receiver.ack_now && (!self.state.may_send() || self.receiver.beyond.is_some()) {
            self.note_pure_ack(now);
        }
        if let Some(admits) = self.is_admitted(now) {
            return admits;
        }
        self.begin_train(cfg, now);
        true
    }

    /// Begins a train, which [`Self::is_admitted`] has found that the next segment would.
    #[inline(never)]
    pub(super) fn begin_train(&mut self, cfg: &TcpConfig, now: Time) {
        let pace = self.sender.new_pace(cfg, now, &self.recovery);
        if let Some(pacer) = self.sender.pacer_mut() {
            pacer.begin(now, pace);
        }
    }

    /// Whether what is written and not acknowledged may be sent now as far as the pacer decides; `None` if it would begin
    /// a train.
    #[inline]
    pub(super) fn is_admitted(&self, now: Time) -> Option<bool> {
        if self.state.may_send() {
            self.sender.pacer().map_or(Some(true), |pacer| pacer.admits(now))
        } else {
            Some(true)
        }
    }

    /// Whether an ACK has to open cwnd before the pacer matters, so that the pacer needs no timer. Always false while data
    /// is missing or a loss is repaired. Other laws than those that control their recovery note at each poll how long cwnd
    /// has been full.
    #[inline]
    pub(super) fn awaits_ack(&self, cfg: &TcpConfig) -> bool {
        let s = &self.sender;
        s.snd.flight() + u64::from(s.snd.mss) > s.cc.cwnd()
            && s.cc.owns_recovery()
            && self.data_outlook(cfg) == Outlook::FullWindow
    }

    /// Sets the timer of the pacer, unless an ACK is awaited anyway, and records how much of cwnd is in use. Called
    /// while the pacer permits no data.
    #[inline]
    pub(super) fn hold(&mut self, cfg: &TcpConfig, now: Time, awaits_ack: bool) {
        if let Some(at) = self.sender.pacer().filter(|_| !awaits_ack).map(Pacer::next) {
            self.timers.set(Timer::Pacer, at);
        }
        self.note_usage(cfg, now);
    }

    /// Holds data back until the pacer or an ACK permits it. Returns the ACK that is due, if any.
    pub(super) fn held_segment(&mut self, cfg: &TcpConfig, now: Time, awaits_ack: bool) -> Option<Segment> {
        self.hold(cfg, now, awaits_ack);
        self.receiver.ack_now.then(|| self.pure_ack(cfg, now))
    }
}
