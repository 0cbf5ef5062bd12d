//! A record of each segment until it is cumulatively acknowledged (RFC 8985, section 5.2): when it was last sent, and
//! its assumed state.

use cwndlab_units::{Ring, Time};

use super::rate::{Measured, RateSample};
use super::sent::{Sent, Tally, AGAIN, BY_TIMEOUT, LOST, REPEATED, SACKED};
use crate::config::TcpConfig;

/// A segment that the current ACK newly shows to have arrived, with its state before the ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub sent: Sent,
    /// Whether a SACK block reported it; otherwise the ACK acknowledged it cumulatively.
    pub sacked: bool,
}

/// The segments that an ACK acknowledges in the usual case: see [`Record::acknowledge_plain`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    /// When the first of them was sent and, in `at`, when the last was.
    pub first_at: Time,
    pub at: Time,
    /// One past their last position.
    pub end: u64,
    /// The size of the segment in bytes, if there is only one.
    pub only: Option<u64>,
}

/// Round trips of the first and of the last segment that an ACK newly shows to have arrived. Segments that were sent
/// more than once do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrips {
    /// Round trips of the acknowledged segments.
    in_order: Option<(Time, Time)>,
    /// Round trips of the segments reported by SACK.
    pub reported: Option<(Time, Time)>,
    /// Whether a retransmitted segment is acknowledged.
    repeated: bool,
}

impl RoundTrips {
    /// Adds a segment that an ACK newly shows to have arrived.
    pub fn add(&mut self, rtt: Time, &Arrived { sent, sacked }: &Arrived) {
        let repeated = sent.flags & REPEATED != 0;
        let rtts = if sacked { &mut self.reported } else { &mut self.in_order };
        if !repeated {
            *rtts = Some((rtts.map_or(rtt, |rtts| rtts.0), rtt));
        } else if !sacked {
            self.repeated = true;
        }
    }

    /// Returns the RTT samples of an ACK of new data: those of its first and last segment, as in Linux. If a
    /// retransmitted segment is acknowledged, only segments that SACK newly reports count; `None` if there are none.
    pub fn acknowledged(&self) -> Option<(Time, Time)> {
        let first = self.in_order.filter(|_| !self.repeated).or(self.reported)?.0;
        Some((first, self.reported.or(self.in_order).map_or(first, |rtts| rtts.1)))
    }
}

/// Details that are recorded for segments, besides their state and the time of their last transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keeps {
    /// The order of transmissions (RACK).
    pub order: bool,
    /// The round trip of the last segment acknowledged, if it was sent once: for HyStart, if nothing else measures it.
    pub round_trips: bool,
    /// The transmission times of the segments that an ACK acknowledges, which some estimators read only after cwnd has
    /// grown, when the records of the segments are gone.
    pub acknowledged: bool,
}

/// The outstanding segments, in order of position, and their transmissions, in order of time. The cost of an event is
/// proportional to the number of segments that it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(super) list: Ring<Sent>,
    /// Time and end of each transmission, oldest first. An entry whose segment has since arrived or been sent again is
    /// skipped when it is reached.
    order: Ring<(Time, u64)>,
    keeps: Keeps,
    pub tally: Tally,
    /// Where the search for the next segment to retransmit begins: no such segment begins below this position.
    hint: u64,
    /// End of the data outstanding at the last retransmission. An ACK of a segment below this position does not show
    /// which copy has arrived (RFC 6298, section 3).
    repeated_to: u64,
    /// End of the data that was outstanding at the last timeout.
    pub drained_at: u64,
    /// When the last segment that the current ACK acknowledges was sent; `None` if it may have been sent again.
    last_once: Option<Time>,
    /// When each segment that the current ACK acknowledges was last sent.
    pub(super) acknowledged: Vec<Time>,
    /// Segments that the current ACK newly shows to have arrived, if the order of transmissions is recorded.
    pub(super) arrived: Vec<Arrived>,
    /// The delivery rate, if the controller requests it.
    pub(super) rate: Option<Box<Measured>>,
}

/// Whether transmission `a` is later than `b`, each a time and a segment's end (RFC 8985, 6.2, `RACK_sent_after`).
pub(crate) fn sent_after(a: (Time, u64), b: (Time, u64)) -> bool {
    a > b
}

impl Tally {
    fn add(&mut self, sent: &Sent) {
        if sent.flags == 0 {
            self.pipe += sent.end - sent.start;
            return;
        }
        self.pipe += sent.in_flight();
        self.sacked += u32::from(sent.is(SACKED));
        self.lost += u32::from(sent.is(LOST));
        self.waiting += u32::from(sent.waits());
        self.again += u32::from(sent.is(AGAIN));
    }

    fn remove(&mut self, sent: &Sent) {
        if sent.flags == 0 {
            self.pipe -= sent.end - sent.start;
            return;
        }
        self.pipe -= sent.in_flight();
        self.sacked -= u32::from(sent.is(SACKED));
        self.lost -= u32::from(sent.is(LOST));
        self.waiting -= u32::from(sent.waits());
        self.again -= u32::from(sent.is(AGAIN));
    }
}

impl Record {
    pub fn keep(&mut self, what: Keeps) {
        self.keeps.order |= what.order;
        self.keeps.round_trips |= what.round_trips;
        self.keeps.acknowledged |= what.acknowledged;
    }

    /// See [`super::Flight::shrink`].
    pub fn shrink(&mut self) {
        self.list.free();
        self.order.free();
        self.acknowledged.shrink_to_fit();
        self.arrived.shrink_to_fit();
    }

    /// The index of the first segment that ends beyond a position of the stream.
    fn index(&self, position: u64) -> u64 {
        // Most segments have the same length as the first.
        if let Some(first) = self.list.front() {
            let guess = self.list.head() + position.saturating_sub(first.start) / (first.end - first.start).max(1);
            if self.list.get(guess).is_some_and(|sent| sent.start <= position && position < sent.end) {
                return guess;
            }
        }
        self.list.partition_point(|sent| sent.end <= position)
    }

    fn set(&mut self, index: u64, flags: u8) {
        let (sent, tally) = (self.list.at_mut(index), &mut self.tally);
        tally.remove(sent);
        sent.flags = flags;
        tally.add(sent);
    }

    /// Records that `[start, end)` is sent: new data, a retransmission, or a retransmission with new data after it.
    /// `quiet`: nothing was outstanding before.
    pub fn send(&mut self, start: u64, end: u64, now: Time, quiet: bool) {
        let known = self.list.back().map_or(start, |sent| sent.end).max(start);
        if let Some(rate) = &mut self.rate {
            rate.sampler.begin(now, quiet);
        }
        if start < known {
            self.send_again(start, end, now);
            self.repeated_to = known.max(end);
        }
        if end > known {
            self.send_next(known, end, now);
        }
    }

    /// Records that new data is sent while other data is outstanding.
    #[inline(always)]
    pub fn send_next(&mut self, start: u64, end: u64, now: Time) {
        debug_assert!(self.list.back().is_none_or(|last| last.end == start));
        self.tally.pipe += end - start;
        self.list.push(Sent { start, end, at: now, flags: 0 });
        if self.keeps.order {
            self.order.push((now, end));
        }
        if let Some(rate) = &mut self.rate {
            rate.push(&self.tally);
        }
    }

    fn send_again(&mut self, start: u64, end: u64, now: Time) {
        let mut index = self.index(start);
        while self.list.get(index).is_some_and(|sent| sent.start < end) {
            let sent = self.list.at_mut(index);
            sent.at = now;
            let (flags, sent_end) = (sent.flags | AGAIN | REPEATED, sent.end);
            self.set(index, flags);
            if let Some(rate) = self.rate.as_mut().filter(|_| flags & SACKED == 0) {
                *rate.stamps.at_mut(index) = rate.sampler.stamp(&self.tally);
            }
            if self.keeps.order {
                self.order.push((now, sent_end));
            }
            index += 1;
        }
    }

    /// Removes everything below `una`, which an ACK acknowledges, and records its arrival.
    pub fn acknowledge(&mut self, una: u64) {
        while self.list.front().is_some_and(|front| front.start < una) {
            let head = self.list.head();
            let front = self.list.at_mut(head);
            self.tally.remove(front);
            if front.end > una {
                let part = Sent { end: una, ..*front };
                front.start = una;
                self.tally.add(front);
                if let Some(rate) = &mut self.rate {
                    rate.sampler.arrive(&part, *rate.stamps.at(head), false);
                }
                break;
            }
            let sent = *front;
            self.list.drop_first();
            if self.keeps.round_trips {
                self.last_once = (sent.end > self.repeated_to).then_some(sent.at);
            }
            if self.keeps.acknowledged && sent.end > self.drained_at {
                self.acknowledged.push(sent.at);
            }
            if let Some(rate) = &mut self.rate {
                rate.sampler.arrive(&sent, *rate.stamps.at(head), true);
                rate.stamps.drop_first();
            }
            if self.keeps.order && !sent.is(SACKED) {
                self.arrived.push(Arrived { sent, sacked: false });
            }
        }
        self.forget_order(una);
    }

    /// Does what [`Record::acknowledge`] does in the usual case: `una` is the end of a segment, and each acknowledged
    /// segment was sent once and not reported by SACK. Returns `None`, with no effect, in any other case, or if the
    /// record also keeps round trips or acknowledged segments.
    #[inline]
    pub fn acknowledge_plain(&mut self, una: u64) -> Option<Acknowledged> {
        if self.keeps.acknowledged || self.keeps.round_trips {
            return None;
        }
        let first = self.list.front()?;
        let (start, first_at, head) = (first.start, first.at, self.list.head());
        let (mut last, mut next) = (first, head + 1);
        while last.end < una && last.flags == 0 {
            if next == self.list.tail() {
                return None;
            }
            last = self.list.at(next);
            next += 1;
        }
        if last.end != una || last.flags != 0 {
            return None;
        }
        let at = last.at;
        if let Some(rate) = &mut self.rate {
            rate.arrive_in_order(next, start, last);
        }
        self.list.drop_below(next);
        self.tally.pipe -= una - start;
        self.forget_order(una);
        Some(Acknowledged { first_at, at, end: una, only: (next == head + 1).then_some(una - start) })
    }

    /// Removes the oldest transmissions in `order`, as long as their data is acknowledged.
    fn forget_order(&mut self, una: u64) {
        while self.order.front().is_some_and(|&(_, end)| end <= una) {
            self.order.drop_first();
        }
    }

    /// See [`super::Flight::sample`].
    pub fn sample(&mut self, now: Time, rtt: Option<Time>) -> (Option<Time>, Option<RateSample>) {
        let rtt = self.last_once.take().map(|at| now - at).or(rtt);
        (rtt, self.rate.as_mut().and_then(|rate| rate.sampler.sample(now, rtt)))
    }

    /// Marks as reported by SACK each segment in `[from, to)` that `block` covers completely. `[from, to)` is a part of
    /// the block that was not reported before.
    pub fn sack(&mut self, block: (u64, u64), from: u64, to: u64) {
        let mut index = self.index(from);
        while let Some(&sent) = self.list.get(index).filter(|sent| sent.start < to && sent.end <= block.1) {
            if sent.start >= block.0 && !sent.is(SACKED) {
                self.set(index, (sent.flags | SACKED) & !(LOST | AGAIN));
                if let Some(rate) = &mut self.rate {
                    rate.sampler.arrive(&sent, *rate.stamps.at(index), true);
                }
                if self.keeps.order {
                    self.arrived.push(Arrived { sent, sacked: true });
                }
            }
            index += 1;
        }
    }

    /// Marks a segment as lost. `by` is [`BY_TIMEOUT`] if a timeout deems it lost, and 0 otherwise.
    fn lose(&mut self, index: u64, by: u8) {
        let sent = *self.list.at(index);
        self.hint = if self.tally.waiting == 0 { sent.start } else { self.hint.min(sent.start) };
        self.tally.lost_bytes += sent.end - sent.start;
        self.set(index, sent.flags & !(AGAIN | BY_TIMEOUT) | LOST | by);
        if let Some(rate) = &mut self.rate {
            rate.lose(index, &sent);
        }
    }

    /// Returns the index of the segment that was sent in a transmission, given by its time and end; `None` if the
    /// segment has been sent again since, is reported by SACK, or waits for retransmission.
    fn open(&self, (at, end): (Time, u64)) -> Option<u64> {
        let index = self.index(end - 1);
        let sent = self.list.get(index)?;
        (sent.end == end && sent.at == at && !sent.is(SACKED) && !sent.waits()).then_some(index)
    }

    /// Marks as lost the segments that were sent before the transmission `newest` and at least `wait` ago (RFC 8985,
    /// section 6.2, step 5). Returns whether there were any, and the time at which the last of the remaining segments
    /// sent before `newest` will have been sent `wait` ago; [`Time::MAX`] if there are none.
    pub fn detect(&mut self, cfg: &TcpConfig, newest: (Time, u64), wait: Time, now: Time) -> (bool, Time) {
        let mut found = false;
        while let Some(&transmission) = self.order.front() {
            if let Some(index) = self.open(transmission) {
                if !sent_after(newest, transmission) || cfg.elapsed(transmission.0, now) < wait {
                    break;
                }
                self.lose(index, 0);
                found = true;
            }
            self.order.drop_first();
        }
        let last =
            self.order.iter().take_while(|&&t| sent_after(newest, t)).filter(|&&t| self.open(t).is_some()).last();
        (found, last.map_or(Time::MAX, |&(at, _)| now + wait.saturating_sub(cfg.elapsed(at, now))))
    }

    /// See [`super::Flight::lose_first`].
    pub fn lose_first(&mut self) -> bool {
        let loses = self.list.front().is_some_and(|first| !first.is(LOST));
        if loses {
            self.lose(self.list.head(), 0);
        }
        loses
    }

    /// Marks segments as lost on a timeout: the first one, and those sent `wait` or longer ago (RFC 8985, section 6.3).
    /// Returns true if the first segment was reported by SACK: the receiver has then discarded reported data.
    pub fn time_out(&mut self, wait: Time, now: Time) -> bool {
        let void = self.list.front().is_some_and(|first| first.is(SACKED));
        if void {
            // The receiver has discarded data that it had reported (RFC 2018, section 8), so no report counts.
            for index in self.list.head()..self.list.tail() {
                let flags = self.list.at(index).flags;
                self.set(index, flags & !SACKED);
            }
        }
        for index in self.list.head()..self.list.tail() {
            let sent = *self.list.at(index);
            // A segment that waits for retransmission is marked as lost already (Linux's `tcp_mark_skb_lost`).
            if !sent.is(SACKED) && !sent.waits() && (index == self.list.head() || sent.at + wait <= now) {
                self.lose(index, BY_TIMEOUT);
            }
        }
        void
    }

    /// Removes all loss marks, because the reduction was spurious. Segments that a timeout had marked return to
    /// `order`, so that RACK may mark them; those that RACK had marked do not, as in Linux (`tcp_rack_detect_loss`).
    pub fn forgive(&mut self) {
        let mut skipped = Vec::new();
        for index in self.list.head()..self.list.tail() {
            let sent = *self.list.at(index);
            if sent.waits() && sent.is(BY_TIMEOUT) {
                skipped.push((sent.at, sent.end));
            }
            self.set(index, sent.flags & !(LOST | BY_TIMEOUT));
        }
        if self.keeps.order && !skipped.is_empty() {
            skipped.extend(self.order.iter());
            skipped.sort_unstable();
            skipped.dedup();
            self.order.free();
            for transmission in skipped {
                self.order.push(transmission);
            }
        }
    }

    /// Returns the first segment that waits for retransmission. Searches from the first outstanding segment.
    pub fn first_to_resend(&self) -> Option<&Sent> {
        self.list.iter().find(|sent| sent.waits())
    }

    /// Returns the end of a run of adjacent segments from `start` on, all of which wait for retransmission: at most
    /// `most` segments, and none beyond `limit`.
    pub fn resendable(&self, start: u64, limit: u64, most: u64) -> u64 {
        let run = self.list.iter_from(self.index(start)).take(most as usize);
        run.take_while(|sent| sent.waits() && sent.end <= limit).fold(start, |end, sent| {
            if sent.start == end {
                sent.end
            } else {
                end
            }
        })
    }

    /// Returns the next segment that waits for retransmission. The search begins at the segment that was found last.
    pub fn next_to_resend(&mut self) -> Option<Sent> {
        if self.tally.waiting == 0 {
            return None;
        }
        let from = self.index(self.hint);
        let sent = self.list.iter_from(from).find(|sent| sent.waits()).copied();
        self.hint = sent.map_or(u64::MAX, |sent| sent.start);
        sent
    }
}

#[cfg(test)]
mod tests;
