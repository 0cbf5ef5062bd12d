//! The short path of Linux's receiver: the next full segment arrives in order at an end that is at rest ([`Rest`]), and
//! changes neither the size of the receive buffer nor the limit of the window (`rcv_ssthresh`).

use cwndlab_units::Time;

use crate::ack_policy::arrival::NextSegment;
use crate::ack_policy::{AckState, Due};
use crate::config::TcpConfig;
use crate::connection::{schedule_ack, Connection};
use crate::receiver::Receiver;
use crate::segment::{Flags, Header, Segment};
use crate::sequence::to_wire;
use crate::tuned_buffer::Held;

/// Whether an end is at rest: it has nothing outstanding or to send, RACK has nothing to do, and the application reads
/// data as soon as it arrives. Every event that may end this state sets `Busy`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::connection) enum Rest {
    #[default]
    Busy,
    /// At rest, and the congestion control needs no ACKs.
    Complete,
    /// At rest, but each ACK is passed to the congestion control, whose state may change.
    FeedsLaw,
}

impl Connection {
    /// Updates `rest`, on a connection with RACK, after a segment with data that acknowledges nothing new.
    #[inline(never)]
    pub(in crate::connection) fn note_rest(&mut self) {
        let is_free = self.control.is_rest();
        self.rest = if !self.is_idle() || !is_free || !self.receiver.rests() {
            Rest::Busy
        } else if self.sender.cc.needs().idle_acks {
            Rest::FeedsLaw
        } else {
            Rest::Complete
        };
    }

    /// Whether [`Connection::poll_transmit`] is certain to return nothing, with no effect.
    #[inline]
    pub fn sends_nothing(&self) -> bool {
        self.rest != Rest::Busy && !self.receiver.ack_now
    }

    /// Processes the next full segment at an end at rest, with the effect of [`Connection::take_any`]. `accurate`:
    /// `seg` with its SACK blocks or AccECN's option. Returns false, with no effect, if the segment needs the full
    /// path.
    #[inline(never)]
    pub(in crate::connection) fn take_at_rest(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        seg: &Header,
        accurate: Option<&Segment>,
    ) -> bool {
        let Some(window) = self.window_at_rest(seg, accurate) else { return false };
        if self.rest == Rest::FeedsLaw {
            self.is_unreported(cfg, now);
        }
        self.stats.segments_received += 1;
        let (start, end) = (self.receiver.nxt, self.receiver.nxt + u64::from(seg.len));
        if self.agreed.timestamps && seg.has_timestamps || cfg.packet_stamps {
            self.note_timestamp(now, start as i64, seg.ts_val);
        }
        if let Some(seg) = accurate {
            self.count_arrival(seg);
            self.feedback_unmarked(cfg, seg, 0);
        }
        let r = &mut self.receiver;
        let next = NextSegment { now, seg, nxt: end, window: r.offered(), opened: window, asks: r.ack_now };
        let AckState::Linux(state) = &mut r.policy else { return false };
        let Some(buffer) = &mut state.buffer else { return false };
        (state.offered_at, state.unread) = (0, 0);
        buffer.on_next(&next, self.agreed.timestamps);
        r.nxt = end;
        let due = state.linux.on_next(cfg, &next, &self.sender.snd.rtt);
        if due == Due::Now {
            buffer.note_ack(window);
        }
        if buffer.ends_round(now) {
            let (mss, r) = (self.offered_mss(cfg), &mut self.receiver);
            let due = if r.after_read(cfg, now, mss, end, false) { Due::Now } else { due };
            schedule_ack(&mut self.timers, r, due);
        } else {
            let asks = state.linux.read_is_due(end, true)
                || buffer.doubles(r.edge - end, (r.shift_plus_1.saturating_sub(1), next.window), Held::NOTHING);
            schedule_ack(&mut self.timers, r, if asks { Due::Now } else { due });
        }
        true
    }

    /// Returns `None` unless [`Self::take_at_rest`] may take the segment: it is the next full one, its ACK and window
    /// change nothing, and it reports no marks. Otherwise returns the window to advertise while the buffer holds the
    /// segment, and whether less than half of the largest possible window is then free.
    #[inline]
    fn window_at_rest(&self, seg: &Header, accurate: Option<&Segment>) -> Option<(u32, bool)> {
        let (s, r) = (&self.sender.snd, &self.receiver);
        let is_next = seg.seq == to_wire(self.irs, r.nxt)
            && seg.ack == to_wire(self.iss, s.una)
            && s.una + u64::from(seg.window) == s.edge
            && r.nxt + u64::from(seg.len) <= r.edge
            && !(self.agreed.timestamps && seg.is_older_than(r.ts_recent));
        if !is_next {
            return None;
        }
        let reports_nothing = match accurate {
            None => seg.flags == Flags::ACK && !s.ecn.is_accurate() && !s.ecn.affects_echo(seg),
            Some(seg) => {
                let other = (Flags::AE | Flags::CWR | Flags::ECE).0;
                let reports_none = || self.accecn_ref().is_some_and(|accecn| accecn.reports_no_marks(seg, 0));
                seg.flags.0 & !other == Flags::ACK.0 && seg.sack.len == 0 && s.ecn.is_accurate() && reports_none()
            }
        };
        if !reports_nothing {
            return None;
        }
        let AckState::Linux(state) = &r.policy else { return None };
        state.buffer.as_ref()?.window_after(seg, r.shift())
    }
}

impl Receiver {
    /// Whether no received data is stored, the application reads at once, and ACK policy and buffer are Linux's.
    fn rests(&self) -> bool {
        let AckState::Linux(state) = &self.policy else { return false };
        self.beyond.is_none() && self.auto_read && self.unread == 0 && state.counted.is_none() && state.buffer.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::fast::comparison::{deliver, poll};
    use crate::connection::Connection;
    use crate::{Profile, SendTuning};

    #[test]
    fn the_short_path_takes_segments_of_a_steady_transfer_with_the_same_effect() {
        let cfg = TcpConfig { handshake: None, ..Profile::Linux6.config() };
        let mut end = Connection::server(&cfg, 0, Time::ZERO);
        let (mss, mut taken) = (end.mss(), 0);
        for n in 0..2000 {
            let now = Time::from_micros(100_000 + 500 * n);
            let header = Header {
                seq: end.receiver.nxt as u32,
                ack: 1,
                window: 65_535,
                len: mss,
                wire_bytes: mss + 52,
                flags: Flags::ACK,
                has_timestamps: true,
                ts_val: cfg.timestamp(now),
                ts_ecr: cfg.timestamp(now - Time::from_millis(50)),
                ..Header::default()
            };
            taken += u32::from(end.rest == Rest::Complete && end.clone().take_at_rest(&cfg, now, &header, None));
            deliver(&cfg, &mut end, now, &Segment::from(header), true);
            while poll(&mut end, &cfg, now, true).is_some() {}
        }
        assert!(taken > 500, "{taken}");
    }

    /// cwnd has grown since the send buffer was sized, so the next segment to arrive enlarges the buffer.
    #[test]
    fn data_wakes_an_application_that_waits_for_room_by_either_path() {
        let send_tuning = SendTuning::Linux { most_bytes: 1 << 22 };
        let cfg = TcpConfig { handshake: None, send_tuning, ..Profile::Linux6.config() };
        let mut end = Connection::server(&cfg, 0, Time::ZERO);
        let bytes = 10 * u64::from(end.mss());
        let arrive = |end: &mut Connection, ms, len| {
            let now = Time::from_millis(ms);
            let header = Header {
                seq: end.receiver.nxt as u32,
                ack: 1 + bytes as u32,
                window: 65_535,
                len,
                wire_bytes: len + 52,
                flags: Flags::ACK,
                has_timestamps: true,
                ts_val: cfg.timestamp(now),
                ts_ecr: cfg.timestamp(now - Time::from_millis(50)),
                ..Header::default()
            };
            deliver(&cfg, end, now, &Segment::from(header), true);
        };
        end.write(bytes);
        while poll(&mut end, &cfg, Time::from_millis(100), true).is_some() {}
        arrive(&mut end, 150, 0);
        end.write(10_000_000);
        let buffered = end.sender.snd.end;
        assert!(end.sender.is_blocked());
        arrive(&mut end, 151, 100);
        assert!(end.sender.snd.end > buffered);
    }
}
