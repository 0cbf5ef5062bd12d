//! Calls of the pacer by a connection.

use cwndlab_units::Time;

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
        let is_idle = self.sender.snd.una == self.sender.limit() && !self.receiver.ack_now;
        is_idle || self.ask_pacer(cfg, now)
    }

    /// Counts a segment with this payload as sent, before the timers are set, which wait for the pacer.
    #[inline]
    pub(super) fn count_sent(&mut self, bytes: u32) {
        self.stats.bytes_sent += u64::from(bytes);
        if let Some(pacer) = self.sender.extra.as_mut().and_then(|extra| extra.pacer.as_mut()) {
            pacer.charge(bytes);
            if let Some(rack) = self.recovery.rack() {
                rack.note_pacer(pacer.next());
            }
        }
    }

    #[inline(never)]
    fn ask_pacer(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let waits = self.state.may_send() && self.sender.snd.una < self.sender.limit();
        let (sender, recovery) = (&mut self.sender, &self.recovery);
        let Some(mut extra) = sender.extra.take() else { return true };
        let mut admits = true;
        if let Some(pacer) = &mut extra.pacer {
            if self.receiver.ack_now && (!waits || self.receiver.beyond.is_some()) {
                pacer.on_pure_ack(now); // the ACK goes before any data
            }
            admits = !waits || pacer.admits(now, || sender.new_pace(cfg, now, recovery));
        }
        sender.extra = Some(extra);
        admits
    }

    /// Whether an ACK has to open cwnd before the pacer matters, so that the pacer needs no timer. `full`: cwnd is
    /// full. Other laws than those that control their recovery note at each poll how long cwnd has been full.
    #[inline]
    pub(super) fn waits_for_ack(&self, full: bool) -> bool {
        full && self.sender.cc.owns_recovery()
    }

    /// Sets the timer of the pacer, unless an ACK is awaited anyway, records how much of cwnd is in use, and returns
    /// the ACK that is due, if any. Called while the pacer permits no data.
    pub(super) fn held_segment(&mut self, cfg: &TcpConfig, now: Time, awaits_ack: bool) -> Option<Segment> {
        let pacer = self.sender.extra.as_ref().and_then(|extra| extra.pacer.as_ref());
        if let Some(at) = pacer.filter(|_| !awaits_ack).map(Pacer::next) {
            self.timers.set(Timer::Pacer, at);
        }
        self.note_usage(cfg, now);
        self.receiver.ack_now.then(|| self.pure_ack(cfg, now))
    }
}
