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
    #[inline(always)]
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
        state.offered_at = 0;
        let allocated = buffer.on_calm(now, new, window);
        self.nxt = new.end;
        let data = Data {
            now,
            mss: sender.snd.mss,
            arrival: Arrival::InOrder(new.seg.len),
            new,
            nxt: self.nxt,
            beyond: None,
            effect: Effect { window, window_holds: next >= window, window_tight: tight, ..Effect::default() },
            rtt: &sender.snd.rtt,
        };
        let due = state.linux.on_in_order(cfg, &data);
        if due == Due::Now {
            buffer.note_ack(allocated);
        }
        if self.after_read(cfg, now, new.mss, new.end) {
            return Some(Due::Now);
        }
        Some(due)
    }
}
