//! Calls of the pacer by a connection.

use cwndlab_units::Time;

use super::{Connection, Control};
use crate::config::TcpConfig;
use crate::pacing::Pace;
use crate::segment::Segment;
use crate::timers::Timer;

impl Connection {
    /// Whether the pacer permits data now; false if a segment outside the data stream is to be sent first. The pace is
    /// determined once per train, from the window at that time. Data sent since the last call is charged first, so that
    /// the code that sends does not depend on pacing.
    pub(super) fn pacer_admits(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        if self.control != Control::AskPacer {
            return false; // another segment is to be sent first
        }
        let Some(mut pacer) = self.sender.extra.as_mut().and_then(|extra| extra.pacer.take()) else { return true };
        pacer.charge(self.stats.bytes_sent);
        let waits = self.state.may_send() && self.sender.snd.una < self.sender.limit();
        if self.receiver.ack_now && (!waits || self.receiver.beyond.is_some()) {
            pacer.on_pure_ack(now); // the ACK goes before any data
        }
        let recovery = &self.recovery;
        let s = &mut self.sender;
        let admitted = !waits
            || pacer.admits(now, || {
                if recovery.in_flight(&s.snd, &s.outstanding) == 0
                    && s.outstanding.rate().is_some_and(|rate| rate.is_app_limited())
                {
                    s.cc.on_app_restart(now, s.snd.mss);
                }
                Pace::of_grant(cfg, &s.snd, &s.cc, s.cc.grant())
            });
        if !admitted {
            self.timers.set(Timer::Pacer, pacer.next());
        }
        self.sender.extra.get_or_insert_default().pacer = Some(pacer);
        admitted
    }

    /// Records how much of cwnd is in use, and returns the ACK that is due, if any. Called while the pacer permits no
    /// data.
    pub(super) fn held_segment(&mut self, cfg: &TcpConfig, now: Time) -> Option<Segment> {
        self.note_usage(cfg, now);
        self.receiver.ack_now.then(|| self.pure_ack(cfg, now))
    }
}
