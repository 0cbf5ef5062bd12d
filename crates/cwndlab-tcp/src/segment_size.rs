//! The size of the peer's full segments, as Linux's receiver estimates it (`tcp_measure_rcv_mss` of Linux 6.12).

use crate::segment::{Flags, Header, TIMESTAMPS_BYTES};

/// `TCP_MSS_DEFAULT` and `TCP_MIN_MSS`.
const DEFAULT: u32 = 536;
const LEAST: u32 = 88;
const HEADER: u32 = 20;

/// Linux's `rcv_mss` (here `full`) and `last_seg_size` (here `last`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSize {
    full: u32,
    last: u32,
}

impl Default for SegmentSize {
    fn default() -> Self {
        SegmentSize { full: DEFAULT, last: 0 }
    }
}

impl SegmentSize {
    /// Returns the initial estimate, which errs on the small side (`tcp_initialize_rcv_mss`).
    pub fn new(mss: u32, window: u32) -> Self {
        SegmentSize { full: mss.min(window / 2).clamp(LEAST, DEFAULT), last: 0 }
    }

    /// Payload bytes of a full segment.
    pub fn full(self) -> u32 {
        self.full
    }

    /// Takes a segment of the estimated size, which does not change the estimate.
    #[inline]
    pub fn measure_full(&mut self, len: u32) {
        debug_assert_eq!(len, self.full);
        self.last = 0;
    }

    /// Updates the estimate for an arriving segment. Returns whether the segment is full: at least as long as the
    /// estimate, or the second in a row with the same smaller size, which then becomes the estimate. `mss` is the
    /// largest payload that the peer may send.
    pub fn measure(&mut self, seg: &Header, mss: u32) -> bool {
        let last = std::mem::take(&mut self.last);
        if seg.len >= self.full {
            self.full = seg.len.min(mss);
            return true;
        }
        let options = if seg.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
        let size = seg.len + HEADER + options;
        let ends = seg.flags.has(Flags::PSH) || seg.flags.has(Flags::FIN);
        if size >= DEFAULT + HEADER || size >= LEAST + HEADER && !ends {
            self.last = seg.len;
            if self.last == last {
                self.full = seg.len;
                return true;
            }
        }
        false
    }
}
