//! When each segment was last sent: what Linux 2.0 keeps in its retransmission queue (`send_head`, `skb->when`).

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::config::{RecoveryKind, TcpConfig, TimerStart};

/// The segments that are out, by position.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketTimes {
    /// One past each segment, and when it was last sent.
    sent: VecDeque<(u64, Time)>,
    /// What was out at the last timeout ends here.
    drained_at: u64,
}

impl PacketTimes {
    /// Whether this configuration needs it.
    pub fn needed(cfg: &TcpConfig) -> bool {
        cfg.rto.per_segment
            || cfg.drains_after_timeout
            || (cfg.rto.start == TimerStart::FirstSegment && cfg.recovery != RecoveryKind::Rack)
    }

    /// `[start, end)` went, for the first time or again.
    pub fn on_sent(&mut self, start: u64, end: u64, now: Time) {
        if self.sent.back().is_none_or(|&(last, _)| last < end) {
            self.sent.push_back((end, now));
            return;
        }
        let from = self.sent.partition_point(|&(other, _)| other <= start);
        for (_, when) in self.sent.range_mut(from..).take_while(|(other, _)| *other <= end) {
            *when = now;
        }
    }

    /// Everything below `una` has arrived; calls `each` with the last sending of every segment that this acknowledges whole
    /// and that no timeout found outstanding.
    pub fn on_ack(&mut self, una: u64, mut each: impl FnMut(Time)) {
        while let Some(&(end, when)) = self.sent.front().filter(|(end, _)| *end <= una) {
            self.sent.pop_front();
            if end > self.drained_at {
                each(when);
            }
        }
    }

    /// When the first segment that is out was last sent.
    pub fn first(&self) -> Option<Time> {
        self.sent.front().map(|&(_, when)| when)
    }

    /// A timeout found everything below `max` outstanding.
    pub fn on_timeout(&mut self, max: u64) {
        self.drained_at = max;
    }

    /// Whether something that a timeout found outstanding is not acknowledged yet.
    #[inline]
    pub fn drains(&self, una: u64) -> bool {
        una < self.drained_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(times: &[u64]) -> Vec<Time> {
        times.iter().map(|&t| Time::from_millis(t)).collect()
    }

    #[test]
    fn a_segment_sent_again_is_timed_from_then_and_its_neighbours_are_not() {
        let mut times = PacketTimes::default();
        for (k, at) in ms(&[10, 20, 30]).into_iter().enumerate() {
            times.on_sent(k as u64 * 100, (k as u64 + 1) * 100, at);
        }
        times.on_sent(0, 100, Time::from_millis(40));
        assert_eq!(times.first(), Some(Time::from_millis(40)));
        let mut seen = Vec::new();
        times.on_ack(250, |when| seen.push(when));
        assert_eq!(seen, ms(&[40, 20]));
        assert_eq!(times.first(), Some(Time::from_millis(30)));
    }

    #[test]
    fn it_drains_until_what_a_timeout_found_is_acknowledged() {
        let mut times = PacketTimes::default();
        times.on_sent(200, 300, Time::ZERO);
        times.on_timeout(300);
        assert!(times.drains(299) && !times.drains(300));
        times.on_ack(300, |when| panic!("a measurement from {when}"));
    }
}
