//! The segments that wait for the application to read, with the memory of each.

use std::collections::VecDeque;

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

#[cfg(test)]
mod tests {
    use super::Unread;

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
}
