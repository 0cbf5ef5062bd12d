//! What an application writes in `sk_buff`s of several segments (`tcp_sendmsg_locked`).

use super::{SendBuffer, SKB_BYTES, WRITE_BYTES};
use crate::send_state::SendState;
use crate::trains::Trains;

impl SendBuffer {
    /// Memory of what is in the buffer in so many `sk_buff`s.
    pub fn memory_of(s: &SendState, count: u64) -> u64 {
        s.end - s.una.min(s.end) + SKB_BYTES * count
    }

    /// Moves PSH with the end of an `sk_buff` that has grown.
    pub fn move_push(&mut self, from: u64, to: u64) {
        let place = self.marks.partition_point(|end| *end < from);
        if self.marks.get(place) == Some(&from) {
            self.marks.remove(place);
            let place = self.marks.partition_point(|end| *end < to);
            if self.marks.get(place) != Some(&to) {
                self.marks.insert(place, to);
            }
        }
    }

    /// As [`SendBuffer::fill`], but returns wherever the kernel sends in between; the application then calls again. Once
    /// an `sk_buff` is full, one train of it leaves, if nothing else waits before it (`tcp_push_one`).
    pub fn fill_trains(&mut self, s: &mut SendState, trains: &mut Trains, mut memory: u64) {
        self.calls_again = false;
        self.begin_fill(s);
        trains.begin_fill(s.nxt);
        let goal = Trains::goal(self.largest_window, u64::from(s.mss));
        while self.pending > 0 {
            let buffered = trains.last_bytes(s.nxt, s.end);
            let mut room = if buffered > 0 { goal.saturating_sub(buffered) } else { 0 };
            let begins = room == 0;
            if begins {
                if memory >= self.size {
                    break;
                }
                memory += SKB_BYTES;
                room = goal;
            }
            let copied = room.min(self.pending).min(WRITE_BYTES - self.written);
            let was_pushed = !begins && self.marks.back() == Some(&s.end);
            if was_pushed {
                self.marks.pop_back();
            }
            s.end += copied;
            if was_pushed && self.written > 0 {
                self.marks.push_back(s.end); // PSH is the `sk_buff`'s; the first copy of a call takes it away
            }
            memory += copied;
            self.pending -= copied;
            self.written += copied;
            trains.append(s.end, begins);
            if self.written == WRITE_BYTES || self.pending == 0 {
                self.push(s.end);
                self.written = 0;
                self.calls_again = self.pending > 0;
            } else if copied == room && s.end > self.pushed + self.largest_window / 2 {
                self.push(s.end);
                self.calls_again = true;
            } else if copied == room && trains.is_alone() {
                trains.push_one();
                self.calls_again = true;
            }
            if self.calls_again {
                return;
            }
        }
        if self.written > 0 && s.end > s.nxt {
            self.push(s.end);
        }
        self.written = 0;
        self.lacks_room = !self.is_writeable(memory);
    }
}
