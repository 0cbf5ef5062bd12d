//! Short paths for most arriving segments: header prediction (Jacobson 1990) and the processing of calm ACKs.
//!
//! A *calm* ACK acknowledges new data while nothing is missing. It only opens cwnd, restarts the timer and gives an RTT
//! sample. An [`AckReport`] is built for it only if the congestion control needs more than these.

use cwndlab_units::Time;

use crate::config::{RttSamples, TcpConfig};
use crate::congestion::AckReport;
use crate::connection::fast::Rest;
use crate::connection::Connection;
use crate::recovery::Outcome;
use crate::segment::{Flags, Header, Segment};
use crate::sequence::to_wire;
use crate::state::State;

impl Connection {
    /// Whether a segment passes header prediction (Jacobson 1990): it begins in the window, at RCV.NXT or beyond, and
    /// has no flags other than ACK and PSH; the connection is established, has received no FIN and does not use AccECN;
    /// and the sender has none of the state that [`Sender::has_no_extra`](crate::sender::Sender::has_no_extra)
    /// excludes. The caller has checked that the segment has neither SACK blocks nor AccECN's option.
    #[inline]
    pub(in crate::connection) fn is_expected(&self, seg: &Header) -> bool {
        self.is_predicted(seg, Flags::PSH) && !self.sender.snd.ecn.is_accurate()
    }

    /// Like [`Self::is_expected`], for a connection that uses AccECN. The segment may have AccECN's option and flags,
    /// but must report no new marks, and must have no SACK blocks.
    pub(in crate::connection) fn is_expected_accurate(&mut self, seg: &Segment) -> bool {
        let s = &self.sender.snd;
        if !s.ecn.is_accurate()
            || seg.sack.len > 0
            || !self.is_predicted(seg, Flags::PSH | Flags::AE | Flags::CWR | Flags::ECE)
        {
            return false;
        }
        let acked = u64::from(seg.ack.wrapping_sub(to_wire(self.iss, s.una)));
        let packets = acked.div_ceil(u64::from(s.mss));
        self.accecn().is_some_and(|accecn| accecn.reports_no_marks(seg, packets))
    }

    /// Header prediction without its conditions on ECN. The segment may have the flags in `other`, besides ACK.
    #[inline]
    fn is_predicted(&self, seg: &Header, other: Flags) -> bool {
        self.state == State::Established
            && seg.flags.0 & !other.0 == Flags::ACK.0
            && self.distance_ahead(seg) <= self.receiver.edge.saturating_sub(self.receiver.nxt)
            && self.receiver.fin_at.is_none()
            && self.sender.has_no_extra()
    }

    /// Distance from RCV.NXT to the beginning of a segment; a large number if the segment begins before RCV.NXT.
    #[inline]
    fn distance_ahead(&self, seg: &Header) -> u64 {
        u64::from(seg.seq.wrapping_sub(to_wire(self.irs, self.receiver.nxt)))
    }

    /// Processes a segment that has passed header prediction: a pure ACK of new data, or data whose ACK is not new. Has
    /// the effect of [`Self::take_any`]. Returns false, with no effect, if the segment needs the full path. `accurate`:
    /// `seg` with its options, on a connection with AccECN.
    #[inline(always)]
    pub(in crate::connection) fn take_expected(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        seg: &Header,
        accurate: Option<&Segment>,
    ) -> bool {
        if seg.len == 0 {
            return self.take_expected_ack(cfg, now, seg, accurate);
        }
        let needs_nothing_else = self.acked_by(seg) == 0
            && !self.sender.snd.ecn.affects_echo(seg)
            && !self.has_old_timestamp(seg)
            && self.is_unreported(cfg, now); // last, because it passes the ACK to RACK
        if !needs_nothing_else {
            return false;
        }
        let start = self.receiver.nxt + self.distance_ahead(seg);
        if self.agreed.timestamps && seg.has_timestamps || cfg.packet_stamps {
            self.note_timestamp(now, start as i64, seg.ts_val);
        }
        if let Some(seg) = accurate {
            self.count_arrival(seg);
        }
        self.note_window(self.sender.snd.una, seg);
        if let Some(seg) = accurate.filter(|_| self.recovery.detects_by_time()) {
            self.feedback_unmarked(cfg, seg, 0);
        }
        self.note_window_update();
        self.make_room();
        self.share_timer(cfg);
        self.on_payload(cfg, now, seg, start, start + u64::from(seg.len));
        if self.recovery.detects_by_time() {
            self.note_rest();
        }
        true
    }

    /// The part of [`Self::take_expected`] for pure ACKs. Returns false, with no effect, if the full path is needed.
    #[inline(always)]
    fn take_expected_ack(&mut self, cfg: &TcpConfig, now: Time, seg: &Header, accurate: Option<&Segment>) -> bool {
        let acked = self.acked_by(seg);
        if acked == 0 || acked > self.sender.snd.max - self.sender.snd.una || self.has_old_timestamp(seg) {
            return false;
        }
        if self.agreed.timestamps && seg.has_timestamps {
            let start = self.receiver.nxt + self.distance_ahead(seg);
            self.note_timestamp(now, start as i64, seg.ts_val);
        }
        if let Some(seg) = accurate {
            self.count_arrival(seg);
        }
        let ack = self.sender.snd.una + acked;
        self.note_window(ack, seg);
        if self.recovery.detects_by_time() && self.take_calm_ack_by_record(cfg, now, seg, accurate, ack) {
            return true;
        }
        let s = &self.sender;
        let calm = accurate.is_none()
            && !s.outstanding.measures_rate()
            && s.snd.dup_acks == 0
            && s.outstanding.reported.is_empty()
            && s.cc.cwnd() > 0
            && s.cc.takes_plain_acks()
            && self.recovery.only_grows();
        if !calm {
            self.take_new_ack(cfg, now, seg, accurate);
            self.share_timer(cfg);
            return true;
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
        self.grow(cfg, now, acked_bytes, rtt);
        self.after_new_ack(cfg, now);
        true
    }

    /// Distance from SND.UNA to the position that a segment acknowledges; a large number if that is lower.
    #[inline]
    fn acked_by(&self, seg: &Header) -> u64 {
        u64::from(seg.ack.wrapping_sub(to_wire(self.iss, self.sender.snd.una)))
    }

    /// Whether a segment's timestamp is older than TS.Recent, so that the full path must apply PAWS.
    #[inline]
    fn has_old_timestamp(&self, seg: &Header) -> bool {
        self.agreed.timestamps && seg.is_older_than(self.receiver.ts_recent)
    }

    /// Whether an ACK that acknowledges nothing new and has no SACK blocks needs no report. If so, this call has
    /// already passed the ACK to RACK and to the congestion controller, as far as they use it.
    #[inline(always)]
    pub(in crate::connection) fn is_unreported(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        if self.recovery.detects_by_time() {
            return self.is_unreported_by_rack(cfg, now);
        }
        let s = &self.sender;
        s.snd.una == s.snd.max || !s.outstanding.measures_rate() && !s.snd.ecn.is_accurate()
    }

    #[inline(never)]
    fn is_unreported_by_rack(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let Some(rack) = self.recovery.rack() else { return false };
        let s = &mut self.sender;
        let needs = s.cc.needs();
        if s.snd.una < s.snd.max || needs.every_ack || !rack.take_idle() {
            return false;
        }
        if let Some(rate) = s.outstanding.rate() {
            rate.on_idle_ack();
            let srtt = s.snd.rtt.srtt(&cfg.rto);
            let is_settled = needs.idle_acks && s.cc.on_idle_ack(&s.snd.plain_ack(now, 0, None), srtt);
            if is_settled && self.rest == Rest::FeedsLaw {
                self.rest = Rest::Complete;
            }
            if s.cc.limits_itself() {
                rate.on_app_limited(0);
            }
        }
        true
    }

    /// With RACK: processes a calm ACK, timed by the records of segments. Returns false, with no effect, if not calm.
    #[inline(never)]
    fn take_calm_ack_by_record(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        seg: &Header,
        accurate: Option<&Segment>,
        ack: u64,
    ) -> bool {
        let prior_in_flight_bytes = self.in_flight_measured();
        let Some(rack) = self.recovery.rack() else { return false };
        let s = &mut self.sender;
        let calm = s.outstanding.reported.is_empty() && s.cc.cwnd() > 0 && cfg.rto.samples == RttSamples::RoundTrip;
        if !calm {
            return false;
        }
        let prior_flight_bytes = s.snd.flight_size();
        let Some((first, last)) = rack.take_calm(cfg, &mut s.snd, &mut s.outstanding, now, ack) else { return false };
        let acked_bytes = self.advance(ack);
        let s = &mut self.sender;
        s.timed_end = 0;
        s.snd.rtt.on_sample(&cfg.rto, now, first, (s.snd.una, s.snd.max));
        s.snd.rtt.clear_backoff();
        if let Some(seg) = accurate {
            self.feedback_unmarked(cfg, seg, acked_bytes);
        }
        if self.sender.cc.takes_plain_acks() && !self.sender.outstanding.measures_rate() {
            self.grow(cfg, now, acked_bytes, Some(last));
        } else {
            let s = &mut self.sender;
            let (rtt, rate) = s.outstanding.sample(now, Some(last));
            let prior = (prior_flight_bytes, prior_in_flight_bytes);
            let report = AckReport { rate, ..s.snd.report(cfg, now, prior, acked_bytes, rtt) };
            s.cc.on_feedback(&report);
            self.conclude(cfg, &report, &Outcome::GROW, true);
        }
        let is_running = self.sender.snd.timer.is_running();
        let rack = self.recovery.rack().filter(|_| is_running);
        if !rack.is_some_and(|rack| rack.set_calm_timer(&mut self.sender.view(cfg), now)) {
            self.set_any_calm_timer(cfg, now, seg);
        }
        self.after_new_ack(cfg, now);
        true
    }

    /// Sets the timers after a calm ACK if `Rack::set_calm_timer` did not, and notes the echoed timestamp.
    #[inline(never)]
    fn set_any_calm_timer(&mut self, cfg: &TcpConfig, now: Time, seg: &Header) {
        self.note_echo(now, seg);
        self.restart_timer(cfg, now);
        if let Some(rack) = self.recovery.rack() {
            rack.set_any_calm_timer(&mut self.sender.view(cfg), now);
        }
        self.share_timer(cfg);
    }

    /// Moves SND.UNA to `ack`. Returns the payload bytes acknowledged.
    #[inline(always)]
    pub(in crate::connection) fn advance(&mut self, ack: u64) -> u64 {
        let s = &mut self.sender;
        let acked_bytes = ack - s.snd.una - u64::from(s.fin && ack > s.snd.end);
        s.snd.una = ack;
        s.snd.nxt = s.snd.nxt.max(ack);
        s.snd.resend_first = false;
        self.retries = 0;
        acked_bytes
    }

    /// Passes a calm ACK to the congestion controller, which may open cwnd.
    #[inline(always)]
    fn grow(&mut self, cfg: &TcpConfig, now: Time, acked_bytes: u64, rtt: Option<Time>) {
        let s = &mut self.sender;
        let plain = s.snd.plain_ack(now, acked_bytes, rtt);
        if s.cc.needs().plain_feedback {
            let apart = plain; // a copy in memory, so that `plain` stays in registers
            s.cc.on_plain_feedback(&apart);
        }
        if !cfg.grow_only_if_cwnd_limited || s.uses_cwnd() {
            s.cc.on_plain_ack(cfg, &plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::fast::comparison::{deliver, poll};
    use crate::Profile;

    /// RACK's records give a round trip. If the configured samples are one-way delays, the short path must not use it.
    #[test]
    fn the_short_path_of_rack_takes_only_round_trips_as_samples() {
        for samples in [RttSamples::RoundTrip, RttSamples::OneWayDelay] {
            let linux = Profile::Linux6.config();
            let cfg = TcpConfig { handshake: None, rto: crate::RtoConfig { samples, ..linux.rto }, ..linux };
            let mut end = Connection::client(&cfg, 0, Time::ZERO);
            let mss = u64::from(end.mss());
            for n in 1..5 {
                end.write(2 * mss);
                let (sent, now) = (Time::from_millis(100 * n), Time::from_millis(100 * n + 50));
                while poll(&mut end, &cfg, sent, true).is_some() {}
                let ack = Header {
                    seq: end.receiver.nxt as u32,
                    ack: 1 + (2 * n * mss) as u32,
                    window: 65_535,
                    wire_bytes: 52,
                    flags: Flags::ACK,
                    has_timestamps: true,
                    ts_val: cfg.timestamp(now - Time::from_millis(10)),
                    ts_ecr: cfg.timestamp(sent),
                    ..Header::default()
                };
                deliver(&cfg, &mut end, now, &Segment::from(ack), true);
            }
            let srtt = end.srtt(&cfg).as_nanos() / 1_000_000;
            assert_eq!(srtt, if samples == RttSamples::RoundTrip { 50 } else { 10 });
        }
    }
}
