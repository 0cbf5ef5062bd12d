//! The event queue.
//!
//! It consists of a calendar queue (Brown, "Calendar queues", Communications of the ACM 31, 1988) and a binary heap.
//! The calendar divides the near future, its *year*, into short intervals, its *days*, and has a list of events for
//! each day. It contains all events up to a year from now, most of them packet arrivals. The heap contains the later
//! events, most of them timers. The length of a day adapts to the traffic; the order of events does not depend on it.

mod calendar;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cwndlab_units::Time;

use calendar::{Calendar, First};

/// The source of an event: a link's next arrival, a link's next service, a timer. Each source has at most one live
/// entry in the queue.
pub type Source = u32;

/// Bits of a [`Source`]. A 64-bit time, 2^39 scheduled events, and a label of an event fit in one 128-bit heap key.
const SOURCE_BITS: u32 = 24;
/// A label is an event's source, with the bit [`OWN`] set if the event uses the entry that its source owns.
const LABEL_BITS: u32 = SOURCE_BITS + 1;
const OWN: u32 = MAX_SOURCES;
/// The largest number of sources.
pub const MAX_SOURCES: u32 = 1 << SOURCE_BITS;

/// The length of a day is first reviewed after insertions have passed this many list entries, or after this many events
/// have been scheduled beyond the year.
const REVIEW_AFTER: u64 = 128;
/// Days of up to 2^40 ns (18 minutes) are enough for any simulated time.
const LONGEST_DAY_BITS: u32 = 40;

/// Pending events, earliest first. Events of the same instant are in the order in which they were scheduled.
///
/// Invariant after each call: every event in the heap lies beyond the calendar's year, so events of the same instant
/// are never split between the calendar and the heap.
#[derive(Debug)]
pub struct EventQueue {
    calendar: Calendar,
    /// Events beyond the calendar's year. The key is the time in the upper 64 bits, then the value of `scheduled` when
    /// the event was added, then the label.
    overflow: BinaryHeap<Reverse<u128>>,
    /// The week in which the heap's first event comes into the year; [`u64::MAX`] if the heap is empty.
    refill_week: u64,
    /// Number of events scheduled into the heap so far.
    scheduled: u64,
    /// Number of events that may still be taken, now and at the last review ([`EventQueue::allow`]).
    left: u64,
    left_at_review: u64,
    /// Counts since the last review: list entries that insertions passed (`steps`), and events added to the heap
    /// (`overflowed`).
    steps: u64,
    overflowed: u64,
    /// The next review is due when `steps` or `overflowed` reaches `review_after`. `made_longer` says whether the last
    /// change made days longer.
    review_after: u64,
    made_longer: bool,
}

impl EventQueue {
    /// An empty queue. The sources below `owners` may use [`EventQueue::push_own`].
    pub fn new(owners: u32) -> EventQueue {
        EventQueue {
            calendar: Calendar::new(owners),
            overflow: BinaryHeap::new(),
            refill_week: u64::MAX,
            scheduled: 0,
            left: u64::MAX,
            left_at_review: u64::MAX,
            steps: 0,
            overflowed: 0,
            review_after: REVIEW_AFTER,
            made_longer: false,
        }
    }

    /// The sources below this have an entry of their own.
    #[inline]
    pub(crate) fn owners(&self) -> Source {
        self.calendar.owners()
    }

    /// Schedules `source` at `time`.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn push(&mut self, time: Time, source: Source) {
        debug_assert!(source < MAX_SOURCES);
        let time = time.as_nanos();
        match self.calendar.insert(time, source) {
            Some(0) => {}
            Some(steps) => self.count_steps(steps),
            None => self.push_outside(time, source),
        }
    }

    /// As [`EventQueue::push`], with less work, for a source below the `owners` of [`EventQueue::new`] that has no
    /// pending event.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn push_own(&mut self, time: Time, source: Source) {
        let time = time.as_nanos();
        match self.calendar.insert_own(time, source) {
            Some(0) => {}
            Some(steps) => self.count_steps(steps),
            None => self.push_outside(time, source | OWN),
        }
    }

    /// Schedules an event that is before the current week or beyond the year.
    #[inline(never)]
    fn push_outside(&mut self, time: u64, label: u32) {
        if self.calendar.is_past(time) {
            let steps = self.calendar.insert_labelled(time, label);
            return self.count_steps(steps);
        }
        self.overflowed += 1;
        self.push_overflow(time, label);
        self.refill_week = self.refill_week.min(self.calendar.comes_into_view(time));
        if self.overflowed >= self.review_after {
            self.review();
        }
    }

    fn push_overflow(&mut self, time: u64, label: u32) {
        debug_assert!(self.scheduled < 1 << (64 - LABEL_BITS));
        let key = u128::from(time) << 64 | u128::from(self.scheduled << LABEL_BITS) | u128::from(label);
        self.scheduled += 1;
        self.overflow.push(Reverse(key));
    }

    #[inline]
    fn count_steps(&mut self, steps: u32) {
        self.steps += u64::from(steps);
        if self.steps >= self.review_after {
            self.review();
        }
    }

    /// Sets the number of events that may be taken from now on. The queue only counts them ([`EventQueue::left`]).
    pub fn allow(&mut self, count: u64) {
        self.left_at_review = (self.left_at_review - self.left).saturating_add(count);
        self.left = count;
    }

    /// Number of events that may still be taken.
    #[inline]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Removes the earliest event at or before `until`. Returns its time and entry. After [`EventQueue::push_own`], the
    /// entry is the source. Any other entry is not below `owners`, and must be passed to [`EventQueue::release`] before
    /// other events are scheduled.
    #[allow(clippy::inline_always)] // once per event
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, u32)> {
        let first = match self.calendar.first() {
            Some(first) => first,
            None => self.next_week(until)?,
        };
        let (time, entry) = self.calendar.pop_until(first, until.as_nanos())?;
        self.left = self.left.wrapping_sub(1);
        Some((Time::from_nanos(time), entry))
    }

    /// Frees an entry that [`EventQueue::pop_until`] returned and that no source owns. Returns the event's source.
    pub fn release(&mut self, entry: u32) -> Source {
        self.calendar.release(entry)
    }

    /// Moves the calendar, whose current week has no events, to the week of the first event. Returns what
    /// [`Calendar::first`] then returns; `None` if the calendar has no events and the first event of the heap is later
    /// than `until`.
    #[inline]
    fn next_week(&mut self, until: Time) -> Option<First> {
        if self.calendar.is_empty() && !self.jump(until) {
            return None;
        }
        let first = self.calendar.advance()?;
        if self.calendar.has_come(self.refill_week) {
            self.refill(); // the events that it moves are not in this week
        }
        Some(first)
    }

    /// Moves the calendar, which has no events, to the first event of the heap. Returns false, with no effect, if that is
    /// later than `until`.
    #[cold]
    fn jump(&mut self, until: Time) -> bool {
        let Some(time) = self.first_overflow().filter(|&time| time <= until.as_nanos()) else { return false };
        self.calendar.move_to(time);
        self.refill();
        true
    }

    fn first_overflow(&self) -> Option<u64> {
        self.overflow.peek().map(|Reverse(key)| (key >> 64) as u64)
    }

    /// Moves events that are now within the year from the heap to the calendar.
    #[inline(never)]
    fn refill(&mut self) {
        while let Some(time) = self.first_overflow() {
            if !self.calendar.covers(time) && !self.calendar.is_past(time) {
                self.refill_week = self.calendar.comes_into_view(time);
                return;
            }
            if let Some(Reverse(key)) = self.overflow.pop() {
                self.calendar.insert_labelled(time, key as u32 & (OWN | (MAX_SOURCES - 1)));
            }
        }
        self.refill_week = u64::MAX;
    }

    /// Makes days longer if more than a sixteenth of the events went through the heap. Makes them shorter if insertions
    /// passed more than one entry per five events and hardly any event went through the heap.
    #[inline(never)]
    fn review(&mut self) {
        let (taken, steps, overflowed) = (self.left_at_review - self.left, self.steps, self.overflowed);
        (self.left_at_review, self.steps, self.overflowed) = (self.left, 0, 0);
        let bits = self.calendar.day_bits();
        if overflowed > taken / 16 && bits < LONGEST_DAY_BITS {
            self.change_days(bits + 1);
        } else if steps > taken / 5 && 32 * overflowed < taken && bits > 0 {
            self.change_days(bits - 1);
        }
    }

    /// Changes the length of a day to `2^bits` ns. Each change of direction doubles the time to the next review;
    /// otherwise days could alternate forever between two lengths that are both wrong.
    fn change_days(&mut self, bits: u32) {
        let longer = bits > self.calendar.day_bits();
        self.review_after = if longer == self.made_longer { REVIEW_AFTER } else { 2 * self.review_after };
        self.made_longer = longer;
        for (time, label) in self.calendar.restart(bits) {
            if self.calendar.covers(time) || self.calendar.is_past(time) {
                self.calendar.insert_labelled(time, label);
            } else {
                self.push_overflow(time, label);
            }
        }
        self.refill();
    }

    /// Number of pending entries (including stale timer entries).
    pub fn len(&self) -> usize {
        self.calendar.len() + self.overflow.len()
    }

    /// Whether the queue has no pending entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
