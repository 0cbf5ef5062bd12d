//! Trains of segments as Linux 6.12 sends them (`tcp_write_xmit`): an `sk_buff` leaves as a whole, and the device splits
//! it into segments. How many it has is decided by the pacing rate (`tcp_tso_autosize`), half of cwnd (`tcp_cwnd_test`),
//! the windows (`tcp_mss_split_point`) and what the application wrote at a time. A small rest of the window may wait for
//! the next ACK, so that the train becomes longer (`tcp_tso_should_defer`).

mod blocks;

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::pacing::MOST_BYTES;

/// Up to this window of the peer, an `sk_buff` may be as large (`TCP_MSS_DEFAULT`); beyond, half as large.
const SMALL_WINDOW: u64 = 536;
/// `net.ipv4.tcp_tso_win_divisor`: this fraction of the window does not wait.
const WINDOW_DIVISOR: u64 = 3;
/// A rest waits only this long after the last train, and if the next ACK is expected within this.
const PATIENCE: Time = Time::from_millis(1);

/// The `sk_buff`s of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    /// The current train: when it left, and its end.
    at: Time,
    end: u64,
    /// What of the current train is sent again: the next position and the end.
    again: (u64, u64),
    /// Ends of the `sk_buff`s that have not been sent, in order. The first may have been sent in part.
    queue: VecDeque<u64>,
    /// The `sk_buff`s that have been sent and not been acknowledged, in order.
    sent: VecDeque<Skb>,
    /// Whether the current train has several segments.
    is_long: bool,
    /// The pacing rate that sizes trains until more than so many segments have arrived.
    kept_rate: Option<(u64, u64)>,
    /// The ends of the first `sk_buff` before and after it has grown.
    grown: Option<(u64, u64)>,
    push_one: PushOne,
    /// Why a train waits, if one does.
    deferred: Option<Deferred>,
    /// Whether an ACK is to make room in the send buffer once what waits has been sent (`tcp_check_space`).
    checks_space: bool,
}

/// An `sk_buff` that has been sent.
#[derive(Clone, Copy, Debug)]
struct Skb {
    end: u64,
    /// Whether SACK has reported it.
    reported: bool,
}

/// A train that leaves while the application fills the next `sk_buff` (`tcp_push_one`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum PushOne {
    #[default]
    None,
    Next,
    Sent,
}

/// What decides about the next train, in bytes unless stated otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub now: Time,
    pub start: u64,
    pub mss: u64,
    /// cwnd and the packets in flight, in segments.
    pub cwnd: u64,
    pub in_flight: u64,
    /// Maximum segments of a train.
    pub most: u64,
    /// What the peer's window has room for, and the window.
    pub offered: u64,
    pub window: u64,
    /// Whether a small segment must wait for an ACK (Nagle's algorithm).
    pub holds_small: bool,
}

impl Next {
    /// Segments for which cwnd has room.
    fn room(&self) -> u64 {
        self.cwnd.saturating_sub(self.in_flight)
    }

    /// Maximum segments of a train if cwnd has room for `room` (`tcp_cwnd_test`).
    fn quota(&self, room: u64) -> u64 {
        room.min((self.cwnd / 2).max(1)).min(self.most)
    }
}

/// What decides whether a small rest of the window waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Whether losses are being repaired.
    pub repairs: bool,
    /// When the last packet was sent.
    pub last_sent: Time,
    /// When the first unacknowledged segment was sent; `None` if there is none.
    pub first_sent: Option<Time>,
    pub srtt: Time,
    /// Whether a FIN follows.
    pub fin: bool,
}

/// Why a train waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deferred {
    Cwnd,
    PeerWindow,
    Application,
}

impl Trains {
    /// The end of the current train, if more of it is to be sent.
    pub fn rest(&self, now: Time, next: u64) -> Option<u64> {
        (self.at == now && next < self.end).then_some(self.end)
    }

    /// Whether the current train has been sent.
    pub fn is_complete(&self, now: Time, next: u64) -> bool {
        self.at == now && next >= self.end && self.again.0 >= self.again.1
    }

    /// Whether the segment that ends here is the last of a train of several (`__tcp_transmit_skb` sets PSH on these).
    pub fn is_pushed(&self, now: Time, end: u64) -> bool {
        self.at == now && self.is_long && (end == self.end || end == self.again.1)
    }

    /// Keeps a pacing rate until the next arrival; `arrivals`: of segments so far.
    pub fn keep_rate(&mut self, arrivals: u64, rate: u64) {
        self.kept_rate = Some((arrivals, rate));
    }

    /// The rate that was kept, if nothing has arrived since.
    pub fn kept_rate(&self, arrivals: u64) -> Option<u64> {
        self.kept_rate.filter(|kept| kept.0 == arrivals).map(|kept| kept.1)
    }

    /// Why a train waits, if one does.
    pub fn deferred(&self) -> Option<Deferred> {
        self.deferred
    }

    /// Notes that the sender decides again what is sent.
    pub fn reconsider(&mut self) {
        self.deferred = None;
    }

    /// Notes that a segment is sent again. It begins a train unless it belongs to the current one: `ends` gives the end
    /// of what may be sent with it, of an `sk_buff` with this end. What is left of the `sk_buff` is another
    /// (`tcp_fragment`).
    pub fn resend(&mut self, now: Time, (start, end): (u64, u64), ends: impl Fn(u64) -> u64) {
        if self.at != now || self.again.0 != start || start >= self.again.1 {
            let place = self.sent.partition_point(|skb| skb.end <= start);
            let train = ends(self.sent.get(place).map_or(end, |skb| skb.end)).max(end);
            if self.sent.get(place).is_some_and(|skb| skb.end > train) {
                self.sent.insert(place, Skb { end: train, reported: false });
            }
            (self.at, self.is_long, self.again.1) = (now, train > end, train);
        }
        self.again.0 = end;
    }

    /// Notes that a train leaves next that does not wait, and then the application writes on.
    pub fn push_one(&mut self) {
        self.push_one = PushOne::Next;
    }

    /// Whether the application writes on, because such a train has been sent.
    pub fn ends_push_one(&mut self) -> bool {
        let ends = self.push_one == PushOne::Sent;
        self.push_one = if ends { PushOne::None } else { self.push_one };
        ends
    }

    /// The ends of the first `sk_buff` before and after it has grown, once.
    pub fn take_grown(&mut self) -> Option<(u64, u64)> {
        self.grown.take()
    }

    /// Notes that an ACK is to make room in the send buffer.
    pub fn check_space(&mut self) {
        self.checks_space = true;
    }

    /// Whether an ACK is to make room in the send buffer now.
    pub fn take_check(&mut self) -> bool {
        std::mem::take(&mut self.checks_space)
    }

    /// Whether an ACK is to make room in the send buffer.
    pub fn checks_space(&self) -> bool {
        self.checks_space
    }

    /// Forgets what has been sent; `next`: SND.NXT.
    fn forget_sent(&mut self, next: u64) {
        while self.queue.front().is_some_and(|end| *end <= next) {
            self.queue.pop_front();
        }
    }

    /// Prepares for an application that writes; `next`: SND.NXT.
    pub fn begin_fill(&mut self, next: u64) {
        self.push_one = PushOne::None;
        self.forget_sent(next);
    }

    /// Whether only one `sk_buff` waits.
    pub fn is_alone(&self) -> bool {
        self.queue.len() == 1
    }

    /// Forgets trains that have been acknowledged.
    pub fn forget(&mut self, una: u64) {
        while self.sent.front().is_some_and(|skb| skb.end <= una) {
            self.sent.pop_front();
        }
    }

    /// Number of `sk_buff`s that have not been acknowledged, sent and not.
    pub fn count(&mut self, una: u64, next: u64) -> u64 {
        self.forget(una);
        self.forget_sent(next);
        (self.queue.len() + self.sent.len()) as u64
    }

    /// Maximum bytes of an `sk_buff` that an application fills (`tcp_xmit_size_goal`).
    pub fn goal(largest_window: u64, mss: u64) -> u64 {
        let most = if largest_window > SMALL_WINDOW { largest_window / 2 } else { largest_window };
        (MOST_BYTES.min(most) / mss).max(1) * mss
    }

    /// Bytes of the last `sk_buff`, to which an application may append; `next`: SND.NXT, `end`: of what was written.
    pub fn last_bytes(&self, next: u64, end: u64) -> u64 {
        let before = self.queue.len().checked_sub(2).map_or(0, |k| self.queue[k]);
        end.saturating_sub(before.max(next))
    }

    /// Notes that the application appends to the last `sk_buff`, or begins another, up to `end`.
    pub fn append(&mut self, end: u64, begins: bool) {
        match self.queue.back_mut() {
            Some(last) if !begins => *last = end,
            _ => self.queue.push_back(end),
        }
    }

    /// Determines the next train. The caller has found that its first segment may go. Returns its end; that of a train
    /// of one segment at least.
    pub fn begin(&mut self, next: &Next, waiting: &Waiting, written: u64) -> Result<u64, Deferred> {
        let Next { start, mss, .. } = *next;
        let room = next.room().max(1);
        let quota = next.quota(room);
        let (head, is_last) = self.head(start, quota * mss, written);
        let bytes = head - start;
        let waits = std::mem::take(&mut self.push_one) != PushOne::Next;
        if bytes > mss && waits {
            self.deferred = defers(next, waiting, room * mss, (bytes, is_last));
            if let Some(why) = self.deferred {
                return Err(why);
            }
        }
        let limit = if bytes > mss { split_point(next, quota, bytes, is_last) } else { mss };
        let end = start + bytes.min(limit);
        (self.at, self.end) = (next.now, end);
        self.again = (0, 0);
        self.is_long = end - start > mss;
        self.sent.push_back(Skb { end, reported: false });
        self.push_one = if waits { PushOne::None } else { PushOne::Sent };
        Ok(end)
    }

    /// Lets the first `sk_buff` grow though the peer's window does not admit it (`tcp_write_xmit` looks at the window after
    /// `tcp_grow_skb`); it may then grow again.
    pub fn grow(&mut self, next: &Next, written: u64) {
        let room = next.room();
        if room > 0 {
            self.head(next.start, next.quota(room) * next.mss, written);
        }
    }

    /// The end of the first `sk_buff`, after it has taken from the second what it lacks of `wanted` bytes
    /// (`tcp_grow_skb`), and whether it is the last.
    fn head(&mut self, start: u64, wanted: u64, written: u64) -> (u64, bool) {
        self.forget_sent(start);
        if let (Some(&first), Some(&second)) = (self.queue.front(), self.queue.get(1)) {
            let grown = second.min(start + wanted).max(first);
            if grown > first {
                self.grown = Some((first, grown));
            }
            if grown == second {
                self.queue.pop_front();
            } else {
                self.queue[0] = grown;
            }
        }
        (self.queue.front().copied().unwrap_or(written), self.queue.len() < 2)
    }
}

/// `tcp_mss_split_point`
fn split_point(next: &Next, quota: u64, bytes: u64, is_last: bool) -> u64 {
    let most = quota * next.mss;
    if most <= next.offered && !is_last {
        return most;
    }
    let needed = bytes.min(next.offered);
    if most <= needed {
        return most;
    }
    let partial = needed % next.mss;
    if partial > 0 && next.holds_small {
        needed - partial
    } else {
        needed
    }
}

/// `tcp_tso_should_defer`; `room`: of cwnd; `bytes`: of the `sk_buff`, which may be the last.
fn defers(next: &Next, waiting: &Waiting, room: u64, (bytes, is_last): (u64, bool)) -> Option<Deferred> {
    if waiting.repairs || next.now > waiting.last_sent.plus(PATIENCE) {
        return None;
    }
    let limit = next.offered.min(room);
    let chunk = next.window.min(next.cwnd * next.mss) / WINDOW_DIVISOR;
    if limit >= next.most * next.mss || (!is_last && limit >= bytes) || limit >= chunk {
        return None;
    }
    let half = Time::from_nanos(waiting.srtt.as_nanos() / 2);
    if waiting.first_sent?.plus(waiting.srtt) > next.now.plus(half.min(PATIENCE)) {
        return None; // the next ACK is likely to come too late
    }
    if room < next.offered {
        if room <= bytes {
            return Some(Deferred::Cwnd);
        }
    } else if next.offered <= bytes {
        return Some(Deferred::PeerWindow);
    }
    (!waiting.fin).then_some(Deferred::Application)
}

#[cfg(test)]
mod tests;
