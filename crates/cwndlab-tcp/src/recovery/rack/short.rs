//! RACK's part in the short paths of [`crate::connection`], which build no report.

use cwndlab_units::Time;

use super::{Phase, Rack};
use crate::config::TcpConfig;
use crate::flight::{sent_after, Flight};
use crate::send_state::SendState;

impl Rack {
    /// Lets retransmissions precede new data once the pacer's timer has expired (Linux: `tcp_tsq_write`).
    pub fn on_pacer(&mut self) {
        self.new_only = false;
    }

    /// Does what [`Rack::on_ack`] would for an ACK that acknowledges and reports nothing, while nothing is
    /// outstanding. Returns false, with no effect, if `on_ack` might do more.
    pub fn take_idle(&mut self) -> bool {
        if self.phase != Phase::Open || self.probe_end.is_some() || self.widening.is_open() || self.evidence.is_open() {
            return false;
        }
        (self.new_only, self.advanced) = (false, false);
        (self.deadlines.reordering, self.deadlines.probed_at) = (Time::MAX, Time::MAX);
        true
    }

    /// Processes an ACK of new data up to `ack` that has no SACK blocks, while SACK has reported nothing: does what
    /// [`Flight::on_ack`] and [`Rack::on_ack`] would, but does not set the timer. Returns the round trips of the
    /// first and of the last acknowledged segment; `None`, with no effect, if the full path might do more.
    pub fn take_calm(
        &mut self,
        cfg: &TcpConfig,
        s: &mut SendState,
        flight: &mut Flight,
        now: Time,
        ack: u64,
    ) -> Option<(Time, Time)> {
        let tally = flight.tally();
        let calm = self.phase == Phase::Open
            && self.probe_end.is_none()
            && tally.sacked == 0
            && tally.lost == 0
            && !(self.by_duplicates && s.dup_acks > 0)
            && self.fack <= s.una
            && self.deadlines.reordering.is_never() // nothing outstanding was sent before `newest`
            && !self.evidence.explained()
            && !self.widening.is_pending();
        if !calm {
            return None;
        }
        let last = flight.on_plain_ack(ack)?;
        (self.new_only, self.advanced) = (false, false);
        self.measured = true;
        self.usage.on_change(now);
        let rtt = cfg.elapsed(last.at, now);
        if !self.by_duplicates {
            (self.fack, self.rtt) = (last.end, rtt);
        }
        self.least.note(cfg, s, now, rtt, last.only);
        if !self.by_duplicates && sent_after((last.at, last.end), self.newest) {
            self.newest = (last.at, last.end);
        }
        self.widening.end_round(ack);
        self.deadlines.probed_at = Time::MAX;
        s.dup_acks = 0;
        let first = if last.first_at == last.at { rtt } else { cfg.elapsed(last.first_at, now) };
        Some((first, rtt))
    }
}
