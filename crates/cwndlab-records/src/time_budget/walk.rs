//! The walk back along a critical path.

use super::book::Book;
use super::run::{Object, Run};
use super::timeline::End;
use super::{Kind, Part, TimeBudget};
use crate::tables::{ExpiredTimer, SendLimit, SenderState};

/// `delay_ns` is recorded in steps of this size, rounded up or down.
const STEP_NS: i64 = 16;

/// A packet at its arrival.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Arrival {
    /// The packet's row in [`Run::arrivals`].
    row: usize,
    at: End,
}

/// The next step on the walk back from a packet.
struct Step {
    /// The row of the arrival that allowed the packet's sender to send it; `None` if nothing had arrived, because the
    /// connection had just begun.
    cause: Option<usize>,
    /// The part of the budget that receives the propagation delays of the packets visited next, which are earlier ones.
    label: Part,
}

/// The part for the time in which this end has nothing to send and waits for its application.
fn quiet_at(end: End) -> Part {
    if end.is_client() {
        Part::Client
    } else {
        Part::Server
    }
}

impl Run {
    /// The budget of an object.
    pub(super) fn of_object(&self, object: &Object) -> TimeBudget {
        let mut book = Book::new(object.start, object.end);
        let traffic = object.traffic as usize;
        let ending = self.ending(traffic, object.start, object.end);
        if let Some(arrival) = ending {
            book.until(self.arrivals.time(arrival.row), Part::Delivery);
        }
        self.walk(traffic, ending, &mut book);
        TimeBudget::new(object.kind, object.index, object.traffic, &book)
    }

    /// The budget of a connection. A datagram flow has none, because its limits are not recorded.
    pub(super) fn of_connection(&self, owner: usize) -> Option<TimeBudget> {
        let connection = &self.connections()[owner];
        let ends = [End::new(owner, false), End::new(owner, true)];
        if ends.iter().all(|&end| self.limits.of(end).is_empty()) {
            return None;
        }
        let mut book = Book::new(connection.start, connection.end.unwrap_or(self.end()));
        let last = ends.iter().filter_map(|&at| Some(Arrival { row: self.last_data(at)?, at }));
        let last = last.max_by_key(|arrival| self.arrivals.time(arrival.row));
        if let Some(arrival) = last {
            book.until(self.arrivals.time(arrival.row), Part::Closing);
        }
        self.walk(connection.traffic as usize, last, &mut book);
        Some(TimeBudget::new(Kind::Connection, connection.serial, connection.traffic, &book))
    }

    /// The row of the last arrival with data at an end.
    fn last_data(&self, end: End) -> Option<usize> {
        self.arrivals.of(end).rev().find(|&row| self.arrivals.row(row).len > 0)
    }

    /// Finds the arrival that ended an object: the packet that arrived at the client at `end`; otherwise the last data
    /// that arrived at the client after `start`; otherwise the last data that arrived at the server.
    fn ending(&self, traffic: usize, start: i64, end: i64) -> Option<Arrival> {
        let last = self.by_traffic.until(End::new(traffic, true), end);
        if let Some(row) = last.filter(|&row| self.by_traffic.time(row) == end) {
            return self.arrival(row);
        }
        let at_client = self.delivered(End::new(traffic, true), end);
        at_client
            .filter(|arrival| self.arrivals.time(arrival.row) > start)
            .or_else(|| self.delivered(End::new(traffic, false), end))
    }

    /// The last arrival of data at one end of a traffic entry's connections, up to this time.
    fn delivered(&self, flow: End, now: i64) -> Option<Arrival> {
        let last = self.by_traffic.until(flow, now)?;
        let row = (self.by_traffic.of(flow).start..=last).rev().find(|&row| self.by_traffic.row(row).len > 0)?;
        self.arrival(row)
    }

    /// Finds the row of [`Run::arrivals`] for the arrival at `row` of [`Run::by_traffic`].
    fn arrival(&self, row: usize) -> Option<Arrival> {
        let at = self.by_traffic.row(row).at;
        Some(Arrival { row: self.arrivals.until(at, self.by_traffic.time(row))?, at })
    }

    /// Books all time from the book's end back to its start, along the path that ends with the arrival `ending`.
    fn walk(&self, traffic: usize, ending: Option<Arrival>, book: &mut Book) {
        let (mut found, mut label, mut is_last) = (ending, Part::Delivery, true);
        while let Some(arrival) = found.filter(|_| book.is_open()) {
            let step = self.packet(arrival, label, is_last, book);
            is_last = false;
            if let Some(row) = step.cause {
                (found, label) = (Some(Arrival { row, at: arrival.at.peer() }), step.label);
                continue;
            }
            // The connection began here, after its client had waited for something on another connection.
            label = Part::Delivery;
            found = self.delivered(End::new(traffic, true), book.now());
            // A capture may have packets before the start of their connection, for which the search returns the same
            // packet again. The walk then stops, because it would otherwise never end.
            found = found.filter(|next| *next != arrival);
            if let Some(next) = found {
                book.until(self.arrivals.time(next.row), Part::Client);
            }
        }
        book.until(book.start(), Part::Client);
    }

    /// Books a packet's journey, and its sender's wait for it. The last packet of the path may be a FIN, so it is not
    /// treated as an acknowledgment even if it has no payload.
    fn packet(&self, arrival: Arrival, label: Part, is_last: bool, book: &mut Book) -> Step {
        let (now, packet, sender) = (book.now(), self.arrivals.row(arrival.row), arrival.at.peer());
        let sent = self.exactly(sender, (now - packet.delay).max(0), now);
        let (propagation, transmission) = self.way(sender).least(packet.len);
        book.journey(sent, propagation, transmission, label);
        let sent = self.timers(sender, sent, book);
        let cause = self.arrivals.until(sender, sent.min(now - 1));
        let begin = cause.map_or(self.connection(sender).start, |row| self.arrivals.time(row));
        if packet.len == 0 && !is_last {
            // An acknowledgment belongs to the round of the data that it releases.
            let part = if label == Part::ReceiveWindow { label } else { Part::DelayedAck };
            self.wait(sender, begin, part, book);
            return Step { cause, label };
        }
        self.wait(sender, begin, quiet_at(sender), book);
        match cause {
            Some(cause) => self.cause(sender, cause, sent, book),
            None => Step { cause, label },
        }
    }

    /// The time at which a packet was sent: that of an event at its sender, if there is one within [`STEP_NS`] of
    /// `sent`, else `sent`.
    fn exactly(&self, sender: End, sent: i64, now: i64) -> i64 {
        let latest = sent + STEP_NS;
        let (bound, is_near) = (latest.min(now - 1), |time: &i64| latest - time < 2 * STEP_NS);
        let expired = || self.timeouts.until(sender, bound).map(|at| self.timeouts.time(at)).filter(is_near);
        let arrived = || self.arrivals.until(sender, bound).map(|at| self.arrivals.time(at)).filter(is_near);
        let limited = || self.limits.until(sender, bound).map(|at| self.limits.time(at)).filter(is_near);
        expired().or_else(arrived).or_else(limited).unwrap_or(sent)
    }

    /// Books the waits for the timers whose expiries led to the transmission at `sent`. Returns the time at which the
    /// first of them was set, or `sent` if no timer expired then.
    fn timers(&self, sender: End, mut sent: i64, book: &mut Book) -> i64 {
        while let Some(at) = self.timeouts.until(sender, sent) {
            let expired = self.timeouts.row(at);
            if self.timeouts.time(at) != sent || expired.set >= sent {
                break;
            }
            let limit = || self.limits.before(sender, sent).map(|at| *self.limits.row(at));
            let part = match expired.timer {
                ExpiredTimer::Retransmission if limit() == Some(SendLimit::Handshake) => Part::RtoHandshake,
                ExpiredTimer::Retransmission if expired.backoffs > 1 => Part::RtoRepeated,
                ExpiredTimer::Retransmission => Part::Rto,
                ExpiredTimer::Probe => Part::Probe,
                ExpiredTimer::Reordering => Part::Reordering,
                ExpiredTimer::Persist => Part::ReceiveWindow,
            };
            sent = expired.set;
            book.until(sent, part);
        }
        sent
    }

    /// Finds what a sender of data had waited for before the arrival `cause` allowed it to send. Books the time in
    /// which the sender had nothing to send.
    fn cause(&self, sender: End, mut cause: usize, sent: i64, book: &mut Book) -> Step {
        let (quiet, opened) = (quiet_at(sender), self.connection(sender).start);
        let has_data = |row: usize| self.arrivals.row(row).len > 0;
        let mut label = self.round(sender, self.arrivals.time(cause), sent);
        if label == Some(Part::Handshake) && has_data(cause) {
            label = None; // the sender waited for this data, which came with the handshake's last segment
        }
        while label.is_none() && !has_data(cause) {
            // The sender had nothing to send and no data arrived, so the wait began when it had sent everything.
            let arrived = self.arrivals.time(cause);
            let quiet_since = self.limits.before(sender, arrived).map(|at| self.limits.time(at));
            let earlier = self.arrivals.before(sender, arrived);
            let before = earlier.map_or(opened, |row| self.arrivals.time(row));
            book.until(before.max(quiet_since.unwrap_or(opened)), quiet);
            let Some(earlier) = earlier.filter(|_| book.is_open()) else {
                self.wait(sender, opened, quiet, book);
                return Step { cause: None, label: Part::Delivery };
            };
            if quiet_since.is_some_and(|since| since > before) {
                self.wait(sender, before, quiet, book);
            }
            cause = earlier;
            label = self.round(sender, before, before);
        }
        let of_data = if sender.is_client() { Part::Delivery } else { Part::Request };
        Step { cause: Some(cause), label: label.unwrap_or(of_data) }
    }

    /// The part for the round that an arrival at `time` ended; `None` if the end had nothing to send.
    fn round(&self, sender: End, time: i64, sent: i64) -> Option<Part> {
        let limit = self.limits.before(sender, time).map_or(SendLimit::Idle, |at| *self.limits.row(at));
        let state = self.states.until(sender, sent).map(|at| *self.states.row(at));
        if limit != SendLimit::Handshake && matches!(state, Some(SenderState::Recovery | SenderState::Loss)) {
            return Some(Part::Recovery);
        }
        match limit {
            // The round before a timer's expiry repairs a loss.
            SendLimit::Timeout | SendLimit::Probe | SendLimit::Reordering => Some(Part::Recovery),
            limit => self.part_of(limit, sender, time),
        }
    }

    /// Books the time from `begin` to the book's present time, each interval for the part that names what limited the
    /// end. `quiet` is the part for an end with nothing to send.
    fn wait(&self, sender: End, begin: i64, quiet: Part, book: &mut Book) {
        while book.is_open() && book.now() > begin {
            let now = book.now();
            let Some(at) = self.limits.before(sender, now) else {
                book.until(begin, quiet);
                return;
            };
            let part = self.part_of(*self.limits.row(at), sender, now).unwrap_or(quiet);
            book.until(begin.max(self.limits.time(at)), part);
        }
    }

    /// The part of the budget for a limit that applied until `time`; `None` if the sender had nothing to send.
    fn part_of(&self, limit: SendLimit, sender: End, time: i64) -> Option<Part> {
        Some(match limit {
            SendLimit::Application | SendLimit::Idle | SendLimit::Closed => return None,
            SendLimit::Cwnd if self.was_in_slow_start(sender, time) => Part::SlowStart,
            SendLimit::Cwnd => Part::Cwnd,
            SendLimit::Handshake => Part::Handshake,
            SendLimit::MaxWindow => Part::MaxWindow,
            SendLimit::ReceiveWindow => Part::ReceiveWindow,
            SendLimit::Recovery => Part::Recovery,
            SendLimit::Pacing => Part::Pacing,
            SendLimit::SmallSegment => Part::SmallSegment,
            SendLimit::SendBuffer => Part::SendBuffer,
            SendLimit::Timeout => Part::Rto,
            SendLimit::Probe => Part::Probe,
            SendLimit::Reordering => Part::Reordering,
        })
    }
}
