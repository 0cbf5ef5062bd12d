//! Delivery rate per ACK, as Linux measures it (`net/ipv4/tcp_rate.c`), in bytes and in segments: each segment stores
//! how much had been delivered when it was sent. Times are whole microseconds. The rate is measured only for
//! controllers that request it.

use cwndlab_units::{Ring, Time};

use super::sent::{Sent, Tally, REPEATED, SACKED};
use crate::clock::Clock;

/// The delivery rate over the time from a segment's transmission to its acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered in this time.
    pub delivered_bytes: u64,
    /// Segments delivered in this time.
    pub delivered_packets: u64,
    /// The longer of `send_elapsed` and `ack_elapsed`, so that ACK compression cannot raise the rate above the sending
    /// rate.
    pub interval: Time,
    /// Time in which the delivered data was sent.
    pub send_elapsed: Time,
    /// Time in which the delivered data was acknowledged.
    pub ack_elapsed: Time,
    /// Total bytes delivered when the segment was sent (delimits rounds).
    pub prior_delivered_bytes: u64,
    /// Total segments delivered when the segment was sent, including the SYN.
    pub prior_delivered_packets: u64,
    /// Bytes in the network after the segment was sent, including it.
    pub tx_in_flight_bytes: u64,
    /// Total bytes deemed lost when the segment was sent; each lost copy counts.
    pub prior_lost_bytes: u64,
    /// Total bytes reported as marked CE when the segment was sent.
    pub prior_ce_bytes: u64,
    /// Whether the application limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Whether the segment was a retransmission.
    pub retransmission: bool,
    /// Minimum round trip within the controller's window ([`crate::Needs::min_rtt_window`]).
    pub min_rtt: Time,
}

/// The state of the connection when a segment was last sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    first_sent_at: Time,
    delivered: u64,
    delivered_packets: u64,
    delivered_at: Time,
    app_limited: bool,
    /// Bytes in the network, including the segment.
    in_flight: u64,
    /// Total bytes deemed lost.
    lost: u64,
    /// Total bytes reported as marked CE.
    ce: u64,
}

/// A segment deemed lost, with the state of the connection when it was last sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LostSegment {
    pub start: u64,
    pub bytes: u64,
    /// Bytes in the network, including the segment.
    pub tx_in_flight: u64,
    /// Total bytes deemed lost.
    pub prior_lost: u64,
    pub app_limited: bool,
}

/// The sampler, with a stamp for each segment of the record, at the same place as the segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    pub sampler: RateSampler,
    pub stamps: Ring<Stamp>,
    /// Segments marked lost that have not been reported to the controller.
    pub lost: Vec<LostSegment>,
}

impl Measured {
    /// Adds the stamp of a segment that is sent.
    #[inline]
    pub fn push(&mut self, tally: &Tally) {
        let sampler = &self.sampler;
        self.stamps.push_with(|place| *place = sampler.stamp(tally));
    }

    /// Takes the arrival of the segments before the place `next`, from `start` to the end of `last`, each of which was
    /// sent once.
    pub fn arrive_in_order(&mut self, next: u64, start: u64, last: &Sent) {
        self.sampler.delivered += last.end - start;
        self.sampler.delivered_packets += next - self.stamps.head();
        self.sampler.newest = Some((*self.stamps.at(next - 1), *last));
        self.stamps.drop_below(next);
    }

    /// Records a segment as lost, for the report to the controller. `index` is its place in the record.
    pub fn lose(&mut self, index: u64, sent: &Sent) {
        let stamp = self.stamps.at(index);
        self.lost.push(LostSegment {
            start: sent.start,
            bytes: sent.end - sent.start,
            tx_in_flight: stamp.in_flight,
            prior_lost: stamp.lost,
            app_limited: stamp.app_limited,
        });
    }
}

/// The sampler's state for one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// Bytes known to have arrived.
    delivered: u64,
    /// When the last of these bytes arrived.
    delivered_at: Time,
    /// Segments known to have arrived, including the SYN.
    delivered_packets: u64,
    /// Bytes reported as marked CE.
    ce: u64,
    /// Transmission time of the segment that was delivered last.
    first_sent_at: Time,
    /// The sender counts as application-limited until more segments than this have been delivered; 0 if it is not
    /// application-limited.
    app_limited_until: u64,
    /// The most recently sent segment that the current ACK reports.
    newest: Option<(Stamp, Sent)>,
    min_rtt: WindowedMin,
    /// The clock that all times here are read from.
    clock: Clock,
}

impl RateSampler {
    /// `min_rtt_window`: how long an RTT sample counts towards the minimum RTT.
    pub fn new(min_rtt_window: Time, clock: Clock) -> Self {
        let min_rtt = WindowedMin { window: min_rtt_window, ..WindowedMin::default() };
        RateSampler { delivered_packets: 1, min_rtt, clock, ..RateSampler::default() }
    }

    /// Bytes known to have arrived.
    #[cfg(test)]
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Called before data is sent. If nothing was outstanding (`quiet`), the next interval begins now
    /// (`tcp_rate_skb_sent`).
    pub fn begin(&mut self, now: Time, quiet: bool) {
        let now = self.clock.whole(now);
        if quiet {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
    }

    pub fn stamp(&self, tally: &Tally) -> Stamp {
        Stamp {
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_packets: self.delivered_packets,
            delivered_at: self.delivered_at,
            app_limited: self.app_limited_until > 0,
            in_flight: tally.pipe,
            lost: tally.lost_bytes,
            ce: self.ce,
        }
    }

    /// Counts a segment as delivered (`tcp_rate_skb_delivered`). `whole`: all of the segment is delivered, not only its
    /// first part.
    pub fn arrive(&mut self, sent: &Sent, stamp: Stamp, whole: bool) {
        if sent.flags & SACKED != 0 {
            return;
        }
        self.delivered += sent.end - sent.start;
        self.delivered_packets += u64::from(whole);
        if self.newest.is_none_or(|(newest, last)| (stamp.delivered, sent.at) >= (newest.delivered, last.at)) {
            self.newest = Some((stamp, *sent));
        }
    }

    /// Counts arrivals for which no segment of the record stands: of what arrived twice (`tcp_dsack_seen`), and without
    /// SACK those that duplicate ACKs report (`tcp_add_reno_sack`).
    pub fn arrive_unrecorded(&mut self, now: Time, bytes: u64, packets: u64) {
        self.delivered += bytes;
        self.delivered_packets += packets;
        self.delivered_at = self.clock.whole(now);
    }

    /// Takes back what [`Self::arrive`] has counted of segments that duplicate ACKs had reported
    /// (`tcp_remove_reno_sacks`).
    pub fn count_once(&mut self, bytes: u64, packets: u64) {
        self.delivered -= bytes;
        self.delivered_packets -= packets;
    }

    /// Takes the sample of an ACK, after its blocks have been processed (`tcp_rate_gen`). Returns `None` if the ACK
    /// reports nothing new, or if the interval is shorter than the minimum round trip.
    pub fn sample(&mut self, now: Time, rtt: Option<Time>) -> Option<RateSample> {
        let now = self.clock.whole(now);
        if let Some(rtt) = rtt {
            self.min_rtt.note(now, rtt);
        }
        self.on_idle_ack();
        let (newest, sent) = self.newest.as_ref()?;
        self.first_sent_at = self.clock.whole(sent.at);
        self.delivered_at = now;
        let send_elapsed = self.first_sent_at.saturating_sub(newest.first_sent_at);
        let ack_elapsed = now.saturating_sub(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let min_rtt = self.min_rtt.get();
        let sample = (min_rtt.is_never() || interval >= min_rtt).then_some(RateSample {
            delivered_bytes: self.delivered - newest.delivered,
            delivered_packets: self.delivered_packets - newest.delivered_packets,
            interval,
            send_elapsed,
            ack_elapsed,
            prior_delivered_bytes: newest.delivered,
            prior_delivered_packets: newest.delivered_packets,
            tx_in_flight_bytes: newest.in_flight,
            prior_lost_bytes: newest.lost,
            prior_ce_bytes: newest.ce,
            app_limited: newest.app_limited,
            retransmission: sent.flags & REPEATED != 0,
            min_rtt,
        });
        self.newest = None;
        sample
    }

    /// Does what [`Self::sample`] would for an ACK while nothing is outstanding: ends the time in which the application
    /// limits the sender, if more than the data that was outstanding when it began has been delivered.
    pub fn on_idle_ack(&mut self) {
        if self.delivered_packets > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    /// Records that the application has no data to send while `in_flight` segments are outstanding
    /// (`tcp_rate_check_app_limited`).
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = self.delivered_packets + in_flight;
    }

    /// Records that `bytes` are reported as marked CE.
    pub fn note_ce(&mut self, bytes: u64) {
        self.ce += bytes;
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Returns the number of segments known to have arrived, and when the last of them did.
    pub fn total(&self) -> (u64, Time) {
        (self.delivered_packets, self.delivered_at)
    }

    /// Records the round trip of the handshake.
    pub fn note_handshake(&mut self, now: Time, rtt: Time) {
        self.min_rtt.note(self.clock.whole(now), rtt);
    }
}

/// The exact minimum of the values noted in the last `window` of time.
#[derive(Clone, Debug, Default)]
struct WindowedMin {
    window: Time,
    /// Candidates for the minimum with the times at which they were noted, oldest first. Each is smaller than the later
    /// ones.
    falling: Ring<(Time, Time)>,
}

impl WindowedMin {
    #[inline]
    fn note(&mut self, now: Time, value: Time) {
        while self.falling.back().is_some_and(|last| last.1 >= value) {
            self.falling.drop_last();
        }
        self.falling.push((now, value));
        while self.falling.front().is_some_and(|first| first.0.plus(self.window) < now) {
            self.falling.drop_first();
        }
    }

    /// The minimum; [`Time::MAX`] before the first value.
    fn get(&self) -> Time {
        self.falling.front().map_or(Time::MAX, |first| first.1)
    }
}

#[cfg(test)]
mod tests;
