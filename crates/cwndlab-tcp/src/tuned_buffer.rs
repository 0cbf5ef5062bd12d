//! A receive buffer that grows as the application reads, after Linux 6.12. The first advertised window is small. It
//! grows with the segments that arrive (`tcp_grow_window`), and the buffer grows with the data read in a round trip
//! (`tcp_rcv_space_adjust`, after Fisk and Feng 2001, "Dynamic right-sizing").
//!
//! The buffer counts memory, not payload: each packet occupies a linear buffer of its own, with one of the sizes that
//! the allocator provides, as with tun devices. The share of payload in the memory determines how much of the buffer
//! may be advertised.

mod held;
mod memory;

use cwndlab_units::Time;

use crate::ack_policy::arrival::NextSegment;
use crate::clock::Clock;
use crate::config::{ReceiveTuning, TcpConfig};
use crate::segment::Header;
use crate::segment_size::SegmentSize;
pub(crate) use held::Held;
use held::Unread;
use memory::memory;
pub(crate) use memory::{HEAD_BYTES, TAIL_BYTES};

/// Bits right of the binary point in the share of payload (`TCP_RMEM_TO_WIN_SCALE`), and the initial share.
const SHARE_BITS: u32 = 8;
const FIRST_SHARE: u32 = 1 << (SHARE_BITS - 1);
/// `net.core.rmem_max`.
const MOST_ASKED_BYTES: u64 = 212_992;
/// `TCP_INIT_CWND`.
pub(crate) const INITIAL_SEGMENTS: u32 = 10;
/// Segments smaller than this do not open the window.
const LEAST_TO_GROW: u32 = 128;
const MICROSECOND: u64 = 1000;
/// Binary digits of a time in ns in which a timestamp does not wrap: 18 of 71 minutes.
const ECHO_UNIT_BITS: u32 = 40;

/// Returns the window to advertise if windows are not scaled. `last`: the window advertised last.
fn unscaled(free: u32, last: u32, mss: u32) -> u32 {
    let keep = last <= free && last + mss > free;
    if keep {
        last
    } else {
        free - free % mss.max(1)
    }
}

/// The fields of `struct tcp_sock` that determine the window; in bytes unless stated.
#[derive(Clone, Debug, Default)]
pub(crate) struct TunedBuffer {
    /// `sk_rcvbuf` and its maximum (`tcp_rmem`).
    buffer: u32,
    most: u32,
    /// The maximum window to advertise, regardless of the buffer (the knob `receive_buffer_bytes`).
    limit: u32,
    share: u32,
    window_clamp: u32,
    threshold: u32,
    size: SegmentSize,
    /// Memory of the last full segment, and its size including its IP header.
    full_memory: u32,
    full_bytes: u32,
    /// Bytes read in the last round trip, and the position and time at which the current one began (`rcvq_space`).
    space: u32,
    space_from: u64,
    space_since: Time,
    /// Round trip as measured by the receiver, us << 3 (`rcv_rtt_est`).
    rtt: u32,
    /// The measurement in progress: the position with which it ends, and when it began.
    rtt_until: u64,
    rtt_since: Option<Time>,
    /// The last timestamp echoed, ms.
    last_echo: Option<u64>,
    /// The same as it was on the wire, and when it was, in units of [`ECHO_UNIT_BITS`].
    last_stamp: (u32, u32),
    clock: Clock,
    /// The window when an ACK became due, before the application read.
    noted: Option<Window>,
    /// The windows for the usual amounts of data, until a field changes on which they depend.
    known: Option<Known>,
    /// What waits for an application that does not read at once.
    unread: Option<Box<Unread>>,
}

/// A window to advertise, and whether less than half of the largest possible window is free.
type Window = (u32, bool);

/// The windows with one shift count: of an empty buffer, and of a buffer with one full segment.
#[derive(Clone, Copy, Debug)]
struct Known {
    shift: u8,
    /// Whether another full segment changes neither the buffer nor the threshold.
    calm: bool,
    empty: Window,
    one_segment: Window,
}

impl TunedBuffer {
    /// Returns the state before the handshake; `None` if the buffer has its full size from the beginning.
    pub fn of(cfg: &TcpConfig) -> Option<Self> {
        match cfg.tuning() {
            ReceiveTuning::None => None,
            ReceiveTuning::Linux { initial_bytes, most_bytes } => {
                let buffer = TunedBuffer::new(initial_bytes, most_bytes, cfg.receive_buffer_bytes);
                Some(TunedBuffer { clock: cfg.clock(), ..buffer })
            }
        }
    }

    fn new(initial: u64, most: u64, limit: u64) -> Self {
        let cut = |bytes: u64| bytes.min(1 << 30) as u32;
        let mut it = TunedBuffer {
            buffer: cut(initial),
            most: cut(most),
            limit: cut(limit),
            share: FIRST_SHARE,
            window_clamp: u32::MAX,
            space_from: 1,
            ..TunedBuffer::default()
        };
        it.threshold = it.window_of(it.buffer).min(it.limit);
        it
    }

    /// Returns the shift with which the largest buffer can be advertised, of `most` bytes or of those that an application
    /// may ask for (`tcp_select_initial_window`).
    pub fn shift(most: u64) -> u8 {
        (most.max(MOST_ASKED_BYTES).ilog2().saturating_sub(15)).min(14) as u8
    }

    /// Returns the window for a SYN, in whole segments.
    pub fn first_window(&self, mss: u32) -> u32 {
        let space = self.window_of(self.buffer).min(self.limit);
        space - if space > mss { space % mss } else { 0 }
    }

    /// Initializes the window once the handshake is done (`tcp_init_buffer_space`).
    pub fn on_established(&mut self, now: Time, mss: u32, first_window: u32) {
        let full = self.window_of(self.buffer);
        self.window_clamp = if full > 2 * mss { (2 * mss).max(full - mss) } else { full };
        self.threshold = first_window.min(self.window_clamp);
        self.space = self.threshold.min(INITIAL_SEGMENTS * mss);
        self.space_since = self.clock.whole(now);
        self.size = SegmentSize::new(mss, first_window);
        self.known = None;
    }

    /// Returns the window that fits into this memory (`tcp_win_from_space`); the inverse is `memory_for`.
    fn window_of(&self, memory: u32) -> u32 {
        ((u64::from(memory) * u64::from(self.share)) >> SHARE_BITS) as u32
    }

    fn memory_for(&self, window: u64) -> u64 {
        (window << SHARE_BITS) / u64::from(self.share)
    }

    /// Returns the window that fits into the free part of the buffer (`tcp_space`).
    fn free(&self, allocated: u32) -> u32 {
        self.window_of(self.buffer.saturating_sub(allocated))
    }

    /// Processes a segment with data in order that ends at `nxt`; `held` does not include it. `window` is the one
    /// advertised last, `echo` the timestamp that the segment echoes, in us. Returns whether the window may grow, and
    /// the memory in use including the segment.
    #[inline]
    pub fn on_in_order(
        &mut self,
        now: Time,
        seg: &Header,
        mss: u32,
        nxt: u64,
        held: Held,
        (window, echo): (u32, Option<u32>),
    ) -> (bool, u32) {
        if let Some(echo) = echo {
            self.time_echo(now, seg, echo);
        }
        let bytes = self.measure(seg, mss);
        self.time_window(now, nxt, window);
        let joins = held.unread > 0 && self.unread.as_ref().is_some_and(|unread| unread.fits(seg.len));
        let allocated = self.allocated(held, if joins { 0 } else { bytes });
        if allocated > self.buffer {
            self.buffer = allocated.min(self.most).max(self.buffer); // `tcp_clamp_window`
            self.known = None;
        }
        (seg.len >= LEAST_TO_GROW && self.grow(seg, mss, allocated), allocated)
    }

    /// Returns the window to advertise while an otherwise empty buffer holds this segment, if [`Self::on_in_order`]
    /// would change neither the buffer nor the threshold. Otherwise returns `None`.
    #[inline]
    pub fn window_after(&self, seg: &Header, shift: u8) -> Option<Window> {
        let known = self.known.as_ref()?;
        let full = seg.len == self.size.full() && seg.wire_bytes == self.full_bytes;
        (full && known.calm && known.shift == shift).then_some(known.one_segment)
    }

    /// Does what [`Self::on_in_order`] does if [`Self::window_after`] returns a window.
    #[inline]
    pub fn on_next(&mut self, next: &NextSegment<'_>, timestamps: bool) {
        if timestamps {
            self.time_echo(next.now, next.seg, next.seg.ts_ecr);
        }
        self.size.measure_full(next.seg.len);
        self.time_window(next.now, next.nxt, next.window);
    }

    /// Processes a segment that has arrived out of order; `held` does not include it. `echo`: as for
    /// [`Self::on_in_order`]. Returns whether the window may grow, and the memory in use including the segment. Call it
    /// only if SACK was agreed on, because otherwise the window must not change.
    pub fn on_beyond(&mut self, now: Time, seg: &Header, mss: u32, held: Held, echo: Option<u32>) -> (bool, u32) {
        if let Some(echo) = echo {
            self.time_echo(now, seg, echo);
        }
        let memory = self.measure(seg, mss);
        let allocated = self.allocated(held, 0);
        (self.grow(seg, mss, allocated), allocated.saturating_add(memory))
    }

    /// Updates the estimated size of full segments, and from it the share of payload. Returns the segment's memory.
    #[inline]
    fn measure(&mut self, seg: &Header, mss: u32) -> u32 {
        let before = self.size.full();
        if seg.len == before && seg.wire_bytes == self.full_bytes {
            self.size.measure(seg, mss);
            return self.full_memory; // as the last full segment
        }
        self.measure_other(seg, mss)
    }

    /// Measures the memory of a segment that differs from the last full one.
    fn measure_other(&mut self, seg: &Header, mss: u32) -> u32 {
        let before = self.size.full();
        let memory = memory(seg.wire_bytes);
        self.known = None;
        if seg.len >= before {
            (self.full_memory, self.full_bytes) = (memory, seg.wire_bytes);
            if seg.len != before {
                self.learn_share(seg.len, memory);
            }
        } else if self.full_memory == 0 {
            self.full_memory = memory;
        }
        self.size.measure(seg, mss);
        memory
    }

    /// Updates the share of payload, because full segments have a size other than estimated.
    fn learn_share(&mut self, len: u32, memory: u32) {
        self.share = ((u64::from(len) << SHARE_BITS) / u64::from(memory)).clamp(1, 255) as u32;
        self.window_clamp = self.window_of(self.buffer);
        self.space = self.space.min(self.window_clamp);
    }

    /// Returns by how much `threshold` may rise.
    fn room(&self, allocated: u32) -> u32 {
        self.window_clamp.min(self.free(allocated)).min(self.limit).saturating_sub(self.threshold)
    }

    /// Raises `threshold` for an arriving segment (`tcp_grow_window`). Returns whether it was raised.
    fn grow(&mut self, seg: &Header, mss: u32, allocated: u32) -> bool {
        let room = self.room(allocated);
        if room == 0 {
            return false;
        }
        let memory = memory(seg.wire_bytes);
        let step = if self.window_of(memory) <= seg.len { 2 * mss } else { self.cautious_step(seg.len, memory) };
        if step == 0 {
            return false;
        }
        self.threshold += room.min(step.max(2 * seg.len));
        self.known = None;
        true
    }

    /// Returns the growth of the window for a packet with a small share of payload (`__tcp_grow_window`). The smaller
    /// this share, the earlier the window stops growing.
    fn cautious_step(&self, len: u32, memory: u32) -> u32 {
        let (mut memory, mut window) = (self.window_of(memory) >> 1, self.window_of(self.most) >> 1);
        while self.threshold <= window {
            if memory <= len {
                return 2 * self.size.full();
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// `tcp_rcv_rtt_measure_ts`: measures the round trip from the echoed timestamp, in whole milliseconds.
    #[inline]
    fn time_echo(&mut self, now: Time, seg: &Header, echo: u32) {
        let stamp = (echo, (now.as_nanos() >> ECHO_UNIT_BITS) as u32);
        if self.last_echo.is_none() || self.last_stamp != stamp {
            self.last_stamp = stamp;
            self.time_other_echo(now, seg, echo);
        }
    }

    /// Takes a round trip from a timestamp other than the last one.
    #[inline(never)]
    fn time_other_echo(&mut self, now: Time, seg: &Header, echo: u32) {
        let echo = self.clock.stamped_ms(now, echo);
        if self.last_echo == Some(echo) {
            return;
        }
        self.last_echo = Some(echo);
        if seg.len >= self.size.full() {
            let sample = (self.clock.micros(now) / 1000).saturating_sub(echo);
            if sample > 0 && sample < 1 << 20 {
                self.note_rtt(sample as u32 * 1000, false);
            }
        }
    }

    /// Notes the timestamp that an ACK without data echoes.
    pub fn note_echo(&mut self, now: Time, echo: u32) {
        self.last_stamp = (echo, (now.as_nanos() >> ECHO_UNIT_BITS) as u32);
        self.last_echo = Some(self.clock.stamped_ms(now, echo));
    }

    /// `tcp_rcv_rtt_measure`: measures the time in which a window of data arrives.
    #[inline]
    fn time_window(&mut self, now: Time, nxt: u64, window: u32) {
        if self.rtt_since.is_none() || nxt >= self.rtt_until {
            self.time_next_window(now, nxt, window);
        }
    }

    /// Takes a round trip at the end of a window, and begins the next one.
    #[inline(never)]
    fn time_next_window(&mut self, now: Time, nxt: u64, window: u32) {
        let now = self.clock.whole(now);
        if let Some(since) = self.rtt_since {
            let us = (now.saturating_sub(since).as_nanos() / MICROSECOND).clamp(1, 1 << 28);
            self.note_rtt(us as u32, true);
        }
        (self.rtt_until, self.rtt_since) = (nxt + u64::from(window), Some(now));
    }

    /// Updates the round trip with a sample of `us` (`tcp_rcv_rtt_update`).
    fn note_rtt(&mut self, us: u32, by_window: bool) {
        let first = us << 3;
        if self.rtt == 0 || first < self.rtt {
            self.rtt = first;
        } else if !by_window {
            self.rtt = self.rtt - (self.rtt >> 3) + us;
        }
    }

    /// Returns the round trip as measured by the receiver; zero before the first measurement.
    pub fn rtt(&self) -> Time {
        Time::from_micros(u64::from(self.rtt >> 3))
    }

    /// Processes a read: the application has read up to `read` of the data received up to `nxt`
    /// (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn on_read(&mut self, now: Time, mss: u32, read: u64, nxt: u64) {
        if self.ends_round(now) {
            self.adjust_space(self.clock.whole(now), mss, read, nxt);
        }
    }

    /// Whether a round trip has passed since the space was last adjusted. Both times are whole microseconds, so that the
    /// time need not be rounded.
    #[inline]
    pub fn ends_round(&self, now: Time) -> bool {
        let rtt = self.rtt();
        rtt != Time::ZERO && self.clock.at(now) >= self.space_since.plus(rtt)
    }

    #[inline(never)]
    fn adjust_space(&mut self, now: Time, mss: u32, read: u64, nxt: u64) {
        let copied = (read - self.space_from).saturating_sub(nxt - read);
        if copied > u64::from(self.space) {
            self.enlarge(copied, mss);
            self.space = copied.min(u64::from(u32::MAX)) as u32;
        }
        (self.space_from, self.space_since) = (read, now);
    }

    /// Enlarges the buffer to hold twice the data read in a round trip, and more if that amount has grown.
    fn enlarge(&mut self, copied: u64, mss: u32) {
        let mut window = 2 * copied + 16 * u64::from(mss);
        window += 2 * (window * (copied - u64::from(self.space)) / u64::from(self.space.max(1)));
        let buffer = self.memory_for(window).min(u64::from(self.most)) as u32;
        if buffer > self.buffer {
            self.buffer = buffer;
            self.window_clamp = self.window_of(buffer);
            self.known = None;
        }
    }

    /// Returns the window to advertise (`__tcp_select_window`). The caller ensures that the advertised window does not
    /// shrink.
    #[inline]
    pub fn window(&mut self, shift: u8, last: u32, allocated: u32) -> Window {
        let usual = allocated == 0 || allocated == self.full_memory;
        if !usual || shift == 0 {
            return self.select_window(shift, last, allocated); // unscaled windows depend on `last`, too
        }
        let known = match self.known {
            Some(known) if known.shift == shift => known,
            _ => self.learn_windows(shift),
        };
        if allocated == 0 {
            known.empty
        } else {
            known.one_segment
        }
    }

    #[inline(never)]
    fn learn_windows(&mut self, shift: u8) -> Known {
        let of = |allocated| self.select_window(shift, 0, allocated);
        let calm = self.full_memory <= self.buffer && self.room(self.full_memory) == 0;
        *self.known.insert(Known { shift, calm, empty: of(0), one_segment: of(self.full_memory) })
    }

    #[inline(never)]
    fn select_window(&self, shift: u8, last: u32, allocated: u32) -> Window {
        let mut free = self.free(allocated);
        let allowed = self.window_of(self.buffer);
        let full = self.window_clamp.min(allowed);
        let mss = self.size.full().min(full);
        let tight = free < full / 2;
        if tight {
            free &= !((1 << shift) - 1);
            if free < allowed >> 4 || free < mss {
                return (0, true);
            }
        }
        let free = free.min(self.threshold);
        if shift > 0 {
            let last_of_unit = (1 << shift) - 1;
            return ((free + last_of_unit) & !last_of_unit, tight); // without a division
        }
        (unscaled(free, last, mss), tight)
    }

    /// Records the window with which an ACK has become due; a read may enlarge the buffer before it is sent.
    pub fn note_ack(&mut self, window: Window) {
        self.noted = Some(window);
    }

    /// Takes the value that [`Self::note_ack`] stored.
    pub fn take_noted(&mut self) -> Option<Window> {
        self.noted.take()
    }

    /// Returns the memory of a segment that has just arrived and is not read yet.
    pub fn memory_of(seg: &Header) -> u32 {
        memory(seg.wire_bytes)
    }

    /// Whether the window that could be advertised is at least twice `left`, the part of the last advertised window
    /// that the peer has not used (`__tcp_cleanup_rbuf`).
    #[inline]
    pub fn doubles(&mut self, left: u64, (shift, last): (u8, u32), held: Held) -> bool {
        if 2 * left > u64::from(self.window_clamp) {
            return false;
        }
        let allocated = self.allocated(held, 0);
        let (next, _) = self.window(shift, last, allocated);
        next > 0 && u64::from(next) >= 2 * left
    }
}

#[cfg(test)]
mod tests;
