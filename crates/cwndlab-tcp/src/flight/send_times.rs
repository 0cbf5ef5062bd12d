//! When segments were sent, so that every ACK gives a round trip.
//!
//! RFC 9406, section 4.2 counts eight round trips a round; Karn's single timed segment gives one. The retransmission timeout
//! keeps to the timed segment: this serves slow start only.

use std::collections::VecDeque;

use cwndlab_units::Time;

/// When each segment went that was sent once and is not acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendTimes(VecDeque<(u64, Time)>);

impl SendTimes {
    /// New data up to `end` goes.
    pub fn on_new(&mut self, end: u64, now: Time) {
        self.0.push_back((end, now));
    }

    /// Something goes again: no ACK tells any more which copy it answers (RFC 6298, section 3).
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// All below `una` is acknowledged: the round trip of the segment sent last.
    pub fn on_ack(&mut self, una: u64, now: Time) -> Option<Time> {
        let mut last = None;
        while let Some(&(_, at)) = self.0.front().filter(|sent| sent.0 <= una) {
            last = Some(now - at);
            self.0.pop_front();
        }
        last
    }
}
