//! Calls of the pacer by a connection.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;

impl Connection {
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

    /// Whether the pacer permits data now. The pace is determined once per train, from the window at that time.
    #[inline(never)]
    pub(super) fn ask_pacer(&mut self, cfg: &TcpConfig, now: Time) -> bool {
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
}
