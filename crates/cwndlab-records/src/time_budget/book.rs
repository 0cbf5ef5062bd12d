//! Assigns the time of one path to parts, from the path's end back to its start.

use super::{Part, Parts};
use crate::cell::Label as _;

#[derive(Debug)]
pub(super) struct Book {
    start: i64,
    end: i64,
    now: i64,
    parts: Parts,
}

impl Book {
    pub(super) fn new(start: i64, end: i64) -> Book {
        Book { start, end, now: end, parts: Parts::default() }
    }

    pub(super) fn start(&self) -> i64 {
        self.start
    }

    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// The time back to which the path is booked: all time after it is assigned to a part.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// The time booked for each part, in nanoseconds.
    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether any time is left to book.
    pub(super) fn is_open(&self) -> bool {
        self.now > self.start
    }

    /// Books the time from `begin` to [`Self::now`] for `part`. Does nothing if `begin` is not earlier than
    /// [`Self::now`].
    pub(super) fn until(&mut self, begin: i64, part: Part) {
        let begin = begin.max(self.start);
        if begin < self.now {
            self.parts[usize::from(part.code())] += (self.now - begin) as u64;
            self.now = begin;
        }
    }

    /// Books a packet's journey from `sent` to [`Self::now`]. Propagation counts for the part `propagation_is`, and
    /// time beyond propagation and transmission for queueing.
    pub(super) fn journey(&mut self, sent: i64, propagation: i64, transmission: i64, propagation_is: Part) {
        let moved = sent.max(self.now - propagation);
        self.until(moved, propagation_is);
        self.until(sent.max(moved - transmission), Part::Serialization);
        self.until(sent, Part::Queueing);
    }
}
