//! The short path of Linux's receiver for the next full segment, while the segment changes neither the buffer nor the
//! window that may be advertised.

use cwndlab_units::Time;

use crate::ack_policy::{AckState, Arrival, Arriving, Data, Due, Effect};
use crate::config::TcpConfig;
use crate::receiver::Receiver;
use crate::sender::Sender;

impl Receiver {
    /// Accepts a segment, with the same effect as [`Receiver::take`]. Returns the time at which its acknowledgment is
    /// due; `None`, with no effect, if the segment may do more than move RCV.NXT.
    #[inline(never)]
    pub(in crate::connection) fn take_next(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        sender: &Sender,
        new: &Arriving,
    ) -> Option<Due> {
        let (shift, window) = (self.shift(), self.offered());
        let expected = new.start == self.nxt
            && new.end <= self.edge
            && self.beyond.is_none()
            && self.auto_read
            && self.unread == 0;
        let AckState::Linux(state) = &mut self.policy else { return None };
        if !expected || state.counted.is_some() {
            return None;
        }
        let buffer = state.buffer.as_mut()?;
        let (next, tight) = buffer.calm_window(new.seg, shift)?;
        (state.offered_at, state.unread) = (0, 0);
        buffer.on_calm(now, new, window);
        self.nxt = new.end;
        let data = Data {
            now,
            mss: sender.snd.mss,
            arrival: Arrival::InOrder(new.seg.len),
            new,
            nxt: self.nxt,
            beyond: None,
            effect: Effect {
                window,
                asks: self.ack_now,
                window_holds: next >= window,
                window_tight: tight,
                ..Effect::default()
            },
            rtt: &sender.snd.rtt,
        };
        let due = state.linux.on_in_order(cfg, &data);
        if due == Due::Now {
            buffer.note_ack((next, tight));
        }
        if self.after_read(cfg, now, new.mss, new.end, false) {
            return Some(Due::Now);
        }
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::fast::comparison::{deliver, poll};
    use crate::connection::Connection;
    use crate::segment::{Flags, Header, Segment};
    use crate::Profile;

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
            let (start, timestamps) = (end.receiver.nxt, true);
            let new = Arriving { start, end: start + u64::from(mss), seg: &header, sack: true, timestamps, mss };
            taken += u32::from(end.receiver.clone().take_next(&cfg, now, &end.sender, &new).is_some());
            deliver(&cfg, &mut end, now, &Segment::from(header), true);
            while poll(&mut end, &cfg, now, true).is_some() {}
        }
        assert!(taken > 500, "{taken}");
    }
}
