//! The data in the buffer, and the memory that it occupies.

use std::collections::VecDeque;

use super::memory::{memory, room_after};
use super::TunedBuffer;
use crate::reassembly::Reassembly;
use crate::segment::Header;

/// The data that occupies the buffer.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    /// In-order unread bytes.
    pub unread: u32,
    pub beyond: Option<&'a Reassembly>,
}

impl Held<'_> {
    /// An empty buffer.
    pub const NOTHING: Self = Held { unread: 0, beyond: None };
}

/// In-order data that is not read yet (`sk_receive_queue`). A segment occupies its memory until its last byte is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    segments: VecDeque<Waiting>,
    memory: u64,
}

/// A segment, or several of which the later ones fitted into the buffer of the first.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Position after its last byte.
    end: u64,
    memory: u32,
    /// Bytes after its data that are free.
    room: u32,
}

impl Unread {
    /// Memory of all segments, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Whether this payload fits behind the last segment, so that it takes no memory (`skb_try_coalesce`: a buffer of
    /// the allocator's own cannot be joined to another, but its bytes can be copied).
    pub fn fits(&self, len: u32) -> bool {
        self.segments.back().is_some_and(|last| len <= last.room)
    }

    /// Adds `len` bytes of payload that end at `end`.
    pub fn push(&mut self, end: u64, len: u32, (memory, room): (u32, u32)) {
        if let Some(last) = self.segments.back_mut().filter(|last| len <= last.room) {
            (last.end, last.room) = (end, last.room - len);
            return;
        }
        self.memory += u64::from(memory);
        self.segments.push_back(Waiting { end, memory, room });
    }

    /// Frees the segments that have been read to their end: the application has read up to `read`.
    pub fn free_until(&mut self, read: u64) {
        while let Some(first) = self.segments.front().filter(|first| first.end <= read) {
            self.memory -= u64::from(first.memory);
            self.segments.pop_front();
        }
    }
}

impl TunedBuffer {
    /// Returns the memory of the data in the buffer, plus that of `one_more` segment. Unread data has that of the segments
    /// that [`Self::keep`] got; other data counts as if only the last segment were not full.
    #[inline]
    pub fn allocated(&self, held: Held, one_more: u32) -> u32 {
        if held.unread == 0 && held.beyond.is_none() {
            return one_more; // without a division
        }
        let kept = self.unread.as_ref().map_or(0, |unread| unread.memory());
        let unread = if kept == 0 { u64::from(held.unread) } else { 0 };
        let memory = kept + self.memory_of_bytes(unread + held.beyond.map_or(0, Reassembly::bytes));
        (memory.min(u64::from(u32::MAX)) as u32).saturating_add(one_more)
    }

    /// Memory of so many bytes in full segments and a rest, which needs none if it fits behind the last of them
    /// (`tcp_ooo_try_coalesce`, `skb_try_coalesce`).
    fn memory_of_bytes(&self, bytes: u64) -> u64 {
        let full = self.size.full();
        let (segments, rest) = (bytes / u64::from(full), (bytes % u64::from(full)) as u32);
        let fits = rest == 0 || segments > 0 && rest <= room_after(self.full_bytes);
        let last = if fits { 0 } else { memory(rest + self.full_bytes.saturating_sub(full)) };
        segments * u64::from(self.full_memory) + u64::from(last)
    }

    /// Keeps a segment in order that the application does not read at once, and the data behind the hole that it may have
    /// filled, up to `nxt`.
    pub fn keep(&mut self, seg: &Header, end: u64, nxt: u64) {
        let unread = self.unread.get_or_insert_default();
        unread.push(end, seg.len, (memory(seg.wire_bytes), room_after(seg.wire_bytes)));
        let (full, headers) = (self.size.full(), self.full_bytes.saturating_sub(self.size.full()));
        let mut from = end;
        while from < nxt {
            let len = u64::from(full).min(nxt - from) as u32;
            from += u64::from(len);
            unread.push(from, len, (memory(len + headers), room_after(len + headers)));
        }
    }

    /// Frees the memory of the segments that have been read: the application has read up to `read`.
    pub fn free_until(&mut self, read: u64) {
        if let Some(unread) = &mut self.unread {
            unread.free_until(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reassembly::Blocks;

    #[test]
    fn a_segment_occupies_its_memory_until_its_last_byte_is_read() {
        let mut unread = Unread::default();
        unread.push(1001, 1000, (2304, 0));
        unread.push(1501, 500, (1280, 0));
        assert_eq!(unread.memory(), 3584);
        unread.free_until(1000);
        assert_eq!(unread.memory(), 3584);
        unread.free_until(1001);
        assert_eq!(unread.memory(), 1280);
        unread.free_until(1501);
        assert_eq!(unread.memory(), 0);
    }

    #[test]
    fn a_short_segment_that_fits_behind_the_one_before_takes_no_memory() {
        let mut unread = Unread::default();
        assert!(!unread.fits(0));
        unread.push(1001, 1000, (2304, 164));
        assert!(unread.fits(164) && !unread.fits(165));
        unread.push(1101, 100, (960, 300));
        assert_eq!(unread.memory(), 2304);
        assert!(unread.fits(64) && !unread.fits(65));
        unread.free_until(1001); // the joined one ends at 1101
        assert_eq!(unread.memory(), 2304);
        unread.push(1166, 65, (960, 0));
        unread.free_until(1101);
        assert_eq!(unread.memory(), 960);
    }

    /// A full packet of 1500 bytes has room for 164 bytes behind its data.
    #[test]
    fn a_rest_beyond_a_hole_takes_no_memory_if_it_fits_behind_a_full_segment() {
        let buffer = super::super::tests::established_with_full_segments();
        let occupied = |rest: u64, segments: u64| {
            let mut beyond = Reassembly::default();
            beyond.insert(10_000, 10_000 + 1460 * segments + rest, Blocks::Whole);
            buffer.allocated(Held { unread: 0, beyond: Some(&beyond) }, 0)
        };
        assert_eq!(occupied(164, 2), occupied(0, 2));
        assert!(occupied(165, 2) > occupied(0, 2));
        assert!(occupied(164, 0) > 0, "there is none before it");
    }
}
