//! CBQ with a single leaf class that is bounded: the time at which a packet's transmission begins is known when the
//! packet arrives.

use std::collections::VecDeque;

use cwndlab_units::{Rate, Time};

use super::{estimator_of, CbqConfig, Estimator};
use crate::queue::{Admit, ArrivalQueue, Backlog, Queue, Regions};
use crate::{Ecn, Rng};

/// The only leaf class of a CBQ. The link's ring stores the packets; the class stores the time at which the
/// transmission of each waiting packet begins.
///
/// Only the class's own estimator delays it, so these times are known, and serving the class needs no event except to
/// order simultaneous actions. If each transmission began with an event, a packet that arrives at the same instant
/// would be processed before or after that event, in the order in which the two were scheduled. The class reproduces
/// this order:
///
/// - If a packet has to wait although it found no other packet waiting, its event would be scheduled at its arrival.
///   The next arrival may be scheduled at nearly the same time, so the class uses an event for such a packet
///   ([`BoundedClass::due`]).
///
/// - The event of any other packet would be scheduled when the transmission of the packet ahead begins. An arrival at
///   the instant of this event is scheduled later than the event, so it is processed after it. The exception is an
///   arrival that follows another arrival back to back: both are scheduled together, before the event.
#[derive(Clone, Debug)]
pub struct BoundedClass {
    queue: ArrivalQueue,
    estimator: Estimator,
    waiting: VecDeque<Turn>,
    waiting_bytes: u64,
    /// The time at which [`BoundedClass::serve`] is due for the first waiting packet, if that packet found no other
    /// packet waiting; otherwise [`Time::MAX`].
    due: Time,
    /// The time at which the latest transmission began.
    begun: Time,
    last_arrival: Time,
    /// The time at which a link with the class's rate would finish the packet whose transmission began last.
    in_service_until: Time,
    in_service_bytes: u32,
}

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Turn {
    begin: Time,
    /// The time at which a link with the class's rate would have sent the packet if it started at `begin`.
    class_end: Time,
    bytes: u32,
}

impl BoundedClass {
    /// The only leaf of a checked configuration, for a link of `rate`; `None` if there are several leaves or the leaf
    /// may borrow.
    ///
    /// # Panics
    /// If the configuration was not checked.
    pub fn new(config: &CbqConfig, rate: Rate) -> Option<BoundedClass> {
        let mut leaves = (0..config.classes.len()).filter(|&index| config.is_leaf(index));
        let (Some(leaf), None) = (leaves.next(), leaves.next()) else { return None };
        let class = &config.classes[leaf];
        let Some(Queue::Arrival(queue)) = class.queue.as_ref().map(|queue| queue.build::<()>(class.rate_bps, 0)) else {
            unreachable!("QueueConfig::check was called")
        };
        class.bounded.then(|| BoundedClass {
            queue,
            estimator: estimator_of(class, rate),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            due: Time::MAX,
            begun: Time::ZERO,
            last_arrival: Time::ZERO,
            in_service_until: Time::ZERO,
            in_service_bytes: 0,
        })
    }

    /// Removes from `waiting` the packets whose transmission begins by `until`.
    #[inline]
    fn advance(&mut self, until: Time) {
        while let Some(&Turn { begin, class_end, bytes }) = self.waiting.front().filter(|turn| turn.begin <= until) {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
            (self.begun, self.in_service_until, self.in_service_bytes) = (begin, class_end, bytes);
        }
    }

    /// Decides on a packet of `bytes` that arrives at `now`.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, bytes: u32, ecn: Ecn, rng: &mut Rng) -> Admit {
        self.advance(now.saturating_sub(Time::from_nanos(1)));
        let comes_first =
            self.due <= now || self.waiting.front().is_some_and(|first| first.begin == now && self.follows(now, bytes));
        if !comes_first {
            self.advance(now);
        }
        self.last_arrival = now;
        let admit = self.queue.on_arrival(now, self.backlog(now), bytes, ecn, rng);
        if comes_first {
            self.serve(now);
        }
        admit
    }

    /// Whether a packet of `bytes` arrives back to back with the previous one, and the latest transmission began
    /// between these two arrivals.
    #[cold]
    fn follows(&self, now: Time, bytes: u32) -> bool {
        self.begun > self.last_arrival && now <= self.last_arrival + self.estimator.link_time(bytes)
    }

    /// Adds a packet of `bytes` that was accepted at `now`. Returns the time at which its transmission begins if the
    /// link is free at `free_at`.
    #[inline]
    pub fn begin(&mut self, now: Time, free_at: Time, bytes: u32) -> Time {
        let begin = now.max(free_at).max(self.estimator.undertime);
        if begin > now && self.waiting.is_empty() {
            self.due = if free_at > now { free_at } else { begin };
        }
        self.estimator.on_send(begin, bytes);
        let class_end = begin + self.estimator.class_time(bytes);
        self.waiting.push_back(Turn { begin, class_end, bytes });
        self.waiting_bytes += u64::from(bytes);
        begin
    }

    /// The time at which [`BoundedClass::serve`] is due; [`Time::MAX`] if no call is needed.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Begins the transmissions that are due at `now`.
    pub fn serve(&mut self, now: Time) {
        if self.due <= now {
            // The class may still be over its limit when the link becomes free.
            let first = self.waiting.front().map_or(Time::MAX, |turn| turn.begin);
            self.due = if first > now { first } else { Time::MAX };
        }
        self.advance(now);
    }

    /// The total bytes of the packets that wait at `now`, and the time at which the transmission of each begins. These
    /// packets are the last ones in the link's ring.
    pub fn waiting(&mut self, now: Time) -> (u64, impl ExactSizeIterator<Item = Time> + '_) {
        self.advance(now.saturating_sub(Time::from_nanos(1)));
        (self.waiting_bytes, self.waiting.iter().map(|turn| turn.begin))
    }

    /// The average length of the class's queue, if it is RED.
    pub fn average(&self) -> Option<f64> {
        self.queue.average()
    }

    /// The time that the average ([`BoundedClass::average`]) spent below, between and above RED's thresholds, up to
    /// `now`.
    pub fn regions(&mut self, now: Time) -> Option<Regions> {
        self.advance(now);
        self.queue.regions(now, self.backlog(now).idle_since())
    }

    fn backlog(&self, now: Time) -> Backlog {
        let in_service = if now < self.in_service_until { self.in_service_bytes } else { 0 };
        Backlog {
            packets: self.waiting.len() as u32 + u32::from(in_service > 0),
            bytes: self.waiting_bytes + u64::from(in_service),
            in_service_bytes: in_service,
            free_at: self.in_service_until,
        }
    }
}

#[cfg(test)]
mod tests;
