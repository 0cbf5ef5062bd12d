//! A send buffer that grows with the window, after Linux 6.12 (`tcp_sendmsg_locked`, `tcp_check_space`,
//! `tcp_sndbuf_expand`). What the application writes enters the stream as the buffer has room. The segment with which
//! it is full, and the one at which half the peer's largest window has been written since the last, carry PSH.
//!
//! The buffer counts memory: each segment occupies an `sk_buff` of its own, as on devices that do not split segments.

mod merging;
mod trains;

use std::collections::VecDeque;

use crate::flight::Scoreboard;
use crate::send_state::SendState;
use crate::tuned_buffer::{HEAD_BYTES, INITIAL_SEGMENTS, TAIL_BYTES};
use merging::Merging;

/// Room for headers before the payload (`MAX_TCP_HEADER`).
const HEADER_BYTES: u32 = 256;
/// Memory of an `sk_buff` without payload.
const SKB_BYTES: u64 = (HEAD_BYTES + HEADER_BYTES + TAIL_BYTES) as u64;
/// `tcp_wmem[1]`.
const FIRST_BYTES: u64 = 16_384;
/// Bytes of a call of `send`: what applications write at a time.
const WRITE_BYTES: u64 = 1 << 16;

/// The send buffer of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendBuffer {
    /// `sk_sndbuf` and its maximum (`tcp_wmem[2]`).
    size: u64,
    most: u64,
    /// The peer's MSS option.
    mss: u32,
    /// Written by the application, but not in the stream yet.
    pending: u64,
    /// Whether less than a third was free when the application had written all and waited for anything else (`tcp_poll`).
    lacks_room: bool,
    /// Whether the application calls again once what it has written was sent.
    calls_again: bool,
    /// Bytes of the present call of `send` so far, if it is interrupted.
    written: u64,
    /// Beginning of the last segment that was buffered: more can be appended to it until it is full or sent.
    tail: u64,
    /// Position up to which the application has pushed (`pushed_seq`).
    pushed: u64,
    /// The largest window that the peer has offered (`max_window`).
    largest_window: u64,
    /// Ends of the buffered segments with PSH, in order.
    marks: VecDeque<u64>,
    merging: Merging,
}

impl SendBuffer {
    pub fn new(most: u64, mss: u32) -> Self {
        SendBuffer { most, mss, tail: 1, pushed: 1, ..SendBuffer::default() }
    }

    /// Whether the application waits for room.
    pub fn is_full(&self) -> bool {
        self.pending > 0
    }

    /// Notes that the application writes more. Returns whether it goes into the buffer at once: an application that
    /// waits for room still waits.
    pub fn write(&mut self, bytes: u64) -> bool {
        let waits = self.is_full();
        self.pending = self.pending.saturating_add(bytes);
        !waits
    }

    /// Gives a new buffer its first size.
    pub fn begin(&mut self, windows: u32, cwnd_segments: u64) {
        if self.size == 0 {
            self.expand(windows, cwnd_segments);
        }
    }

    /// Makes room for `windows` congestion windows (`tcp_sndbuf_expand`).
    pub fn expand(&mut self, windows: u32, cwnd_segments: u64) {
        let segment = (self.mss + HEADER_BYTES + TAIL_BYTES).next_power_of_two() + HEAD_BYTES;
        let wanted = u64::from(windows) * cwnd_segments.max(u64::from(INITIAL_SEGMENTS)) * u64::from(segment);
        self.size = self.size.max(wanted.min(self.most)).max(FIRST_BYTES.min(self.most));
    }

    /// Whether ACKs may enlarge the buffer (`SOCK_NOSPACE`).
    pub fn lacks_room(&self) -> bool {
        self.lacks_room || self.is_full()
    }

    /// Notes that there is room (`sk_stream_write_space`). Returns whether the application waits for it.
    pub fn give_room(&mut self) -> bool {
        self.lacks_room = false;
        self.is_full()
    }

    /// Whether an application that waits for room is woken (`sk_stream_is_writeable`): at two thirds.
    pub fn is_writeable(&self, memory: u64) -> bool {
        self.size.saturating_sub(memory) >= memory / 2
    }

    /// Memory of what is in the buffer (`sk_wmem_queued`), of which SACK has `reported` these ranges.
    pub fn memory(&self, s: &SendState, reported: &Scoreboard) -> u64 {
        let bytes = s.end - s.una.min(s.end);
        let merged = self.merging.merged(reported, s.mss);
        bytes + SKB_BYTES * bytes.div_ceil(u64::from(s.mss)).saturating_sub(merged)
    }

    /// Takes the SACK blocks of an ACK, before they are `reported`.
    pub fn take_blocks(&mut self, blocks: impl Iterator<Item = (u64, u64)>, reported: &Scoreboard, mss: u32) {
        self.merging.take_blocks(blocks, reported, mss);
    }

    /// Notes the window that the peer offers.
    pub fn note_window(&mut self, window: u64) {
        self.largest_window = self.largest_window.max(window);
    }

    /// Whether the application's next call of `send` follows what is being sent.
    pub fn calls_again(&self) -> bool {
        self.calls_again
    }

    /// Lets the application write until the buffer is full, or all is written; or, if the windows permit data up to
    /// `sendable`, until a call has written what goes at once: the next call appends nothing to its last segment.
    pub fn fill(&mut self, s: &mut SendState, mut memory: u64, sendable: u64) {
        self.calls_again = false;
        let mss = u64::from(s.mss);
        self.begin_fill(s);
        let mut written = 0;
        while self.pending > 0 {
            let buffered = s.end - self.tail.min(s.end);
            let mut room = if self.tail >= s.nxt && buffered > 0 { mss.saturating_sub(buffered) } else { 0 };
            if room == 0 {
                if memory >= self.size {
                    break;
                }
                self.tail = s.end;
                memory += SKB_BYTES;
                room = mss;
            }
            let copied = room.min(self.pending).min(WRITE_BYTES - written);
            if written == 0 && self.tail < s.end && self.marks.back() == Some(&s.end) {
                self.marks.pop_back(); // the segment's last byte is no longer the last one pushed
            }
            s.end += copied;
            memory += copied;
            self.pending -= copied;
            written += copied;
            let is_forced = s.end - self.tail == mss && s.end > self.pushed + self.largest_window / 2;
            if written == WRITE_BYTES || self.pending == 0 {
                self.push(s.end);
                written = 0;
                if self.pending > 0 && s.end <= sendable {
                    self.calls_again = true;
                    return;
                }
            } else if is_forced {
                self.push(s.end);
            }
        }
        // Full segments that go at once (`tcp_push_one`) are sent before the call waits for room, so the last carries no PSH.
        if written > 0 && s.end > sendable {
            self.push(s.end);
        }
        self.lacks_room = !self.is_writeable(memory);
    }

    fn begin_fill(&mut self, s: &SendState) {
        self.note_window(s.edge.saturating_sub(s.una));
        while self.marks.front().is_some_and(|end| *end <= s.una) {
            self.marks.pop_front();
        }
    }

    fn push(&mut self, end: u64) {
        self.pushed = end;
        if self.marks.back() != Some(&end) {
            self.marks.push_back(end);
        }
    }

    /// Whether the segment that ends here carries PSH.
    pub fn is_pushed(&self, end: u64) -> bool {
        self.marks.binary_search(&end).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Scoreboard, SendBuffer};
    use crate::send_state::SendState;
    use crate::Profile;

    /// The state of a new connection to which the peer offers this window.
    fn state(window: u64) -> SendState {
        let mut s = SendState::new(&Profile::Linux6.config(), 1448);
        s.edge = s.una + window;
        s
    }

    /// Ends of the segments with PSH, counted in segments.
    fn pushes(buffer: &SendBuffer) -> Vec<f64> {
        buffer.marks.iter().map(|end| (end - 1) as f64 / 1448.0).collect()
    }

    /// Linux 6.12 with CUBIC pushed the 21st segment, with BBR the 23rd (half of a window of 64,256 bytes) and the 31st.
    #[test]
    fn a_new_buffer_takes_what_a_kernels_takes() {
        for (windows, wanted) in [(2, vec![21.0]), (3, vec![23.0, 31.0])] {
            let (mut buffer, mut s) = (SendBuffer::new(4 << 20, 1460), state(64_256));
            assert!(buffer.write(3_000_000));
            buffer.expand(windows, 10);
            buffer.fill(&mut s, 0, 0);
            assert_eq!(pushes(&buffer), wanted);
            assert!(buffer.is_full() && s.end - 1 == *wanted.last().unwrap() as u64 * 1448);
        }
    }

    #[test]
    fn a_waiting_application_is_woken_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(4 << 20, 1460);
        buffer.expand(2, 10);
        assert_eq!(buffer.size, 46_080);
        assert!(buffer.is_writeable(30_720) && !buffer.is_writeable(30_721));
    }

    #[test]
    fn the_buffer_has_a_maximum() {
        let (mut buffer, mut s) = (SendBuffer::new(100_000, 1460), state(1 << 30));
        buffer.write(u64::MAX);
        buffer.expand(2, 10_000);
        buffer.fill(&mut s, 0, 0);
        let memory = buffer.memory(&s, &Scoreboard::default());
        assert!((100_000..100_000 + 1448 + 832).contains(&memory), "{memory}");
        let mut reported = Scoreboard::default();
        reported.insert(1449, 1449 + 4 * 1448);
        assert_eq!(buffer.memory(&s, &reported), memory - 3 * 832, "four segments that are merged");
    }

    /// `tcp_poll`: an application that has written all finds too little free, so that ACKs still enlarge the buffer.
    #[test]
    fn a_buffer_that_is_nearly_full_lacks_room_though_all_is_written() {
        for (bytes, lacks) in [(10_000, false), (30_000, true)] {
            let (mut buffer, mut s) = (SendBuffer::new(4 << 20, 1460), state(1 << 30));
            buffer.expand(2, 10);
            buffer.write(bytes);
            buffer.fill(&mut s, 0, 0);
            assert_eq!((buffer.is_full(), buffer.lacks_room()), (false, lacks), "{bytes}");
            assert!(!buffer.give_room() && !buffer.lacks_room());
        }
    }

    /// `tcp_push_one`: if all goes at once, the last full segment is sent before the call waits, and without PSH.
    #[test]
    fn what_goes_at_once_is_not_pushed_when_the_buffer_is_full() {
        for (sendable, marks) in [(1 << 30, vec![]), (0, vec![30_409])] {
            let (mut buffer, mut s) = (SendBuffer::new(4 << 20, 1460), state(1 << 30));
            buffer.expand(2, 10);
            buffer.write(60_000);
            buffer.fill(&mut s, 0, sendable);
            assert!(buffer.is_full());
            assert_eq!(buffer.marks, marks);
        }
    }

    /// A call of `send` ends within a segment. The next one appends to it and takes its PSH away, unless it was sent.
    #[test]
    fn a_segment_to_which_more_is_appended_is_not_pushed() {
        let (mut buffer, mut s) = (SendBuffer::new(4 << 20, 1460), state(1 << 30));
        buffer.expand(2, 1000);
        buffer.write(100_000);
        buffer.fill(&mut s, 0, 0);
        assert_eq!(buffer.marks, [100_001]);
        buffer.write(10);
        let memory = buffer.memory(&s, &Scoreboard::default());
        buffer.fill(&mut s, memory, 0);
        assert_eq!(buffer.marks, [100_011]);
        (s.nxt, s.max) = (s.end, s.end);
        buffer.write(10);
        let memory = buffer.memory(&s, &Scoreboard::default());
        buffer.fill(&mut s, memory, 0);
        assert_eq!(buffer.marks, [100_011, 100_021]);
        assert!(buffer.is_pushed(100_011) && !buffer.is_pushed(100_001));
    }

    /// The first call's 65,536 bytes go at once if the windows permit them, so that nothing is appended to their last
    /// segment, of 376 bytes; otherwise the second call fills it.
    #[test]
    fn a_call_of_send_follows_what_the_last_one_sent_at_once() {
        for (sendable, ends) in [(1 << 30, vec![65_537, 100_001]), (65_536, vec![100_001])] {
            let (mut buffer, mut s) = (SendBuffer::new(4 << 20, 1460), state(1 << 30));
            buffer.expand(2, 1000);
            buffer.write(100_000);
            let mut written = vec![];
            loop {
                let memory = buffer.memory(&s, &Scoreboard::default());
                buffer.fill(&mut s, memory, sendable);
                written.push(s.end);
                (s.nxt, s.max) = (s.end, s.end);
                if !buffer.calls_again() {
                    break;
                }
            }
            assert_eq!(written, ends);
        }
    }
}
