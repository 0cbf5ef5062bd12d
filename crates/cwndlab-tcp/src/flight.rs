//! The record of the outstanding data, for loss recovery, timers, estimators and congestion controls; and
//! [`AckReport`], the report of one ACK.
//!
//! Ranges reported by SACK are stored for every connection with SACK; individual segments are recorded only if
//! something needs the time or the state of each ([`Keeps`]). Each event is recorded by one call: [`Flight::on_sent`],
//! [`Flight::on_block`], [`Flight::on_ack`], or a variant of these for a common case.

pub(crate) mod rate;
mod record;
mod report;
mod scoreboard;
mod sent;

pub(crate) use rate::LostSegment;
pub use rate::RateSample;
pub(crate) use record::{sent_after, Acknowledged, Arrived, Keeps, Record, RoundTrips};
pub(crate) use report::PlainAck;
pub use report::{AckKind, AckReport, AfterAck};
pub(crate) use scoreboard::Scoreboard;
pub(crate) use sent::{Sent, Tally, REPEATED, SACKED};

use cwndlab_units::Time;

use crate::clock::Clock;
use crate::config::{RecoveryKind, RttSamples, TcpConfig, TimerStart};
use rate::{Measured, RateSampler};

/// The value of [`Flight::tally`] if individual segments are not recorded.
static NO_SEGMENTS: Tally = Tally { pipe: 0, sacked: 0, lost: 0, waiting: 0, again: 0, lost_bytes: 0 };

/// The outstanding data of one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// The ranges that SACK has reported; empty without SACK. Others may read them, but only [`Flight`] adds ranges.
    pub reported: Scoreboard,
    /// Individual segments, if they are recorded.
    record: Option<Box<Record>>,
}

impl Flight {
    pub fn new(cfg: &TcpConfig) -> Self {
        let mut flight = Flight::default();
        if Flight::times_segments(cfg) {
            flight.keep(Keeps { acknowledged: cfg.rto.samples == RttSamples::EachSegment, ..Keeps::default() });
        }
        if let Some(window) = cfg.window_law.needs().min_rtt_window {
            flight.measure_rate(window, cfg.clock());
        }
        flight
    }

    /// Whether the retransmission timer, the RTT estimator or `drains_after_timeout` needs a record of each segment.
    pub fn times_segments(cfg: &TcpConfig) -> bool {
        cfg.rto.samples == RttSamples::EachSegment
            || cfg.drains_after_timeout
            || (cfg.rto.start == TimerStart::FirstSegment && cfg.recovery.kind() != RecoveryKind::Rack)
    }

    /// Records each segment from now on, including the details `what`.
    pub fn keep(&mut self, what: Keeps) {
        self.record.get_or_insert_default().keep(what);
    }

    /// Measures the delivery rate from now on. An RTT sample counts towards the minimum RTT for the time `window`.
    pub fn measure_rate(&mut self, window: Time, clock: Clock) {
        let measured = Measured { sampler: RateSampler::new(window, clock), ..Measured::default() };
        self.record.get_or_insert_default().rate = Some(Box::new(measured));
    }

    /// Records that `[start, end)` is sent, for the first time or again. `quiet`: nothing was outstanding before.
    pub fn on_sent(&mut self, start: u64, end: u64, now: Time, quiet: bool) {
        if let Some(record) = &mut self.record {
            record.send(start, end, now, quiet);
        }
    }

    /// Records that new data is sent while other data is outstanding.
    #[inline]
    pub fn on_next_sent(&mut self, start: u64, end: u64, now: Time) {
        if let Some(record) = &mut self.record {
            record.send_next(start, end, now);
        }
    }

    /// Frees unused memory once everything, including the FIN, is acknowledged. TIME-WAIT may last long after that.
    pub fn shrink(&mut self) {
        if let Some(record) = &mut self.record {
            record.shrink();
        }
    }

    /// Prepares the record for an ACK. The caller then passes the ACK's blocks ([`Flight::on_block`]), and finally the
    /// position that it acknowledges ([`Flight::on_ack`]).
    pub fn begin_ack(&mut self) {
        if let Some(record) = &mut self.record {
            record.arrived.clear();
        }
    }

    /// Returns the segments that the current ACK newly shows to have arrived, if the order of transmissions is known.
    pub fn arrived(&self) -> &[Arrived] {
        self.record.as_ref().map_or(&[], |record| &record.arrived)
    }

    /// The round trips of the segments in [`Flight::arrived`].
    pub fn round_trips(&self, cfg: &TcpConfig, now: Time) -> RoundTrips {
        let mut rtts = RoundTrips::default();
        for arrived in self.arrived() {
            rtts.add(cfg.elapsed(arrived.sent.at, now), arrived);
        }
        rtts
    }

    /// Records a SACK block. Returns how many of its bytes had not been reported before.
    pub fn on_block(&mut self, left: u64, right: u64) -> u64 {
        if let Some(record) = &mut self.record {
            let mut from = left;
            loop {
                let (start, end) = self.reported.hole(from);
                if start >= right {
                    break;
                }
                from = end.min(right);
                record.sack((left, right), start, from);
            }
        }
        self.reported.insert(left, right)
    }

    /// Records that everything below `una` is acknowledged. Returns how many of the new bytes SACK had reported.
    #[inline]
    pub fn on_ack(&mut self, una: u64) -> u64 {
        if let Some(record) = &mut self.record {
            record.acknowledge(una);
        }
        self.reported.advance(una)
    }

    /// Records an ACK of new data in the usual case, which [`Record::acknowledge_plain`] describes.
    #[inline]
    pub fn on_plain_ack(&mut self, una: u64) -> Option<Acknowledged> {
        self.record.as_mut()?.acknowledge_plain(una)
    }

    /// Returns the measurements of the current ACK: the round trip and the delivery rate. The round trip is `rtt`,
    /// unless HyStart needs one for every ACK and the records provide it.
    #[inline]
    pub fn sample(&mut self, now: Time, rtt: Option<Time>) -> (Option<Time>, Option<RateSample>) {
        match &mut self.record {
            Some(record) => record.sample(now, rtt),
            None => (rtt, None),
        }
    }

    /// Returns when each segment that the current ACK acknowledges was last sent, if these times are recorded.
    pub fn take_acknowledged(&mut self) -> impl Iterator<Item = Time> + '_ {
        self.record.iter_mut().flat_map(|record| record.acknowledged.drain(..))
    }

    /// Records a timeout while everything below `max` is outstanding.
    pub fn on_timeout(&mut self, max: u64) {
        if let Some(record) = &mut self.record {
            record.drained_at = max;
        }
    }

    /// Whether data outstanding at the last timeout is still unacknowledged.
    pub fn drains(&self, una: u64) -> bool {
        self.record.as_ref().is_some_and(|record| una < record.drained_at)
    }

    /// Whether individual segments are recorded.
    pub fn keeps_segments(&self) -> bool {
        self.record.is_some()
    }

    /// The first outstanding segment.
    pub fn first(&self) -> Option<&Sent> {
        self.record.as_ref()?.list.front()
    }

    /// The last outstanding segment.
    pub fn last(&self) -> Option<&Sent> {
        self.record.as_ref()?.list.back()
    }

    /// Number of outstanding segments.
    pub fn len(&self) -> usize {
        self.record.as_ref().map_or(0, |record| record.list.len())
    }

    /// Numbers of outstanding segments in each state, and sums of their bytes.
    pub fn tally(&self) -> &Tally {
        self.record.as_ref().map_or(&NO_SEGMENTS, |record| &record.tally)
    }

    /// Returns the first segment that waits for retransmission. Searches from the first outstanding segment.
    pub fn first_to_resend(&self) -> Option<&Sent> {
        self.record.as_ref()?.first_to_resend()
    }

    /// Returns the end of the data that may be retransmitted as one train: see [`Record::resendable`].
    pub fn resendable(&self, start: u64, limit: u64, most: u64) -> u64 {
        self.record.as_ref().map_or(start, |record| record.resendable(start, limit, most))
    }

    /// Returns the next segment that waits for retransmission. Searches from the segment that was found last.
    pub fn next_to_resend(&mut self) -> Option<Sent> {
        self.record.as_mut()?.next_to_resend()
    }

    /// Detects losses by transmission times (RFC 8985, section 6.2, step 5): see [`Record::detect`].
    pub fn detect(&mut self, cfg: &TcpConfig, newest: (Time, u64), wait: Time, now: Time) -> (bool, Time) {
        self.record.as_mut().map_or((false, Time::MAX), |record| record.detect(cfg, newest, wait, now))
    }

    /// Marks the first outstanding segment as lost. Returns false if there is none, or if it was marked already.
    pub fn lose_first(&mut self) -> bool {
        self.record.as_mut().is_some_and(|record| record.lose_first())
    }

    /// Marks segments as lost on a timeout: the first one, and those sent `wait` or longer ago (RFC 8985, section 6.3).
    /// If the receiver has discarded data that it had reported, clears all reported ranges.
    pub fn lose_overdue(&mut self, wait: Time, now: Time) {
        if self.record.as_mut().is_some_and(|record| record.time_out(wait, now)) {
            self.reported.clear();
        }
    }

    /// Removes all loss marks, because the reduction of cwnd was spurious.
    pub fn forgive(&mut self) {
        if let Some(record) = &mut self.record {
            record.forgive();
        }
    }

    /// The sampler of the delivery rate, if this rate is measured.
    pub fn rate(&mut self) -> Option<&mut RateSampler> {
        Some(&mut self.record.as_mut()?.rate.as_mut()?.sampler)
    }

    /// Whether [`Flight::take_lost`] would return any segments.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.record.as_ref().and_then(|record| record.rate.as_ref()).is_some_and(|rate| !rate.lost.is_empty())
    }

    /// Takes the segments deemed lost since the last call. Returns them after the number of segments known to have
    /// arrived; `None` if there are none, or if the delivery rate is not measured.
    pub fn take_lost(&mut self) -> Option<(u64, impl Iterator<Item = LostSegment> + '_)> {
        let rate = self.record.as_mut()?.rate.as_mut().filter(|rate| !rate.lost.is_empty())?;
        Some((rate.sampler.total().0, rate.lost.drain(..)))
    }

    /// Whether the delivery rate is measured.
    pub fn measures_rate(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.rate.is_some())
    }
}

#[cfg(test)]
mod tests;
