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

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures segments of these sizes, with the flags; returns whether each was full, and the last estimate.
    fn measured(segments: &[(u32, Flags)]) -> (Vec<bool>, u32) {
        let mut size = SegmentSize::new(1460, 65_535);
        let header = |&(len, flags): &(u32, Flags)| Header { len, flags, ..Header::default() };
        let full = segments.iter().map(|segment| size.measure(&header(segment), 1460)).collect();
        (full, size.full())
    }

    #[test]
    fn the_first_estimate_is_between_88_and_536_and_at_most_half_a_window() {
        let first = |mss, window| SegmentSize::new(mss, window).full();
        assert_eq!([first(1460, 65_535), first(400, 65_535), first(1460, 600), first(40, 65_535)], [536, 400, 300, 88]);
    }

    #[test]
    fn the_second_segment_of_a_smaller_size_in_a_row_is_full_unless_it_ends_a_write() {
        assert_eq!(
            measured(&[(1460, Flags::ACK), (300, Flags::ACK), (300, Flags::ACK)]),
            (vec![true, false, true], 300)
        );
        assert_eq!(measured(&[(1460, Flags::ACK), (300, Flags::ACK), (299, Flags::ACK)]).1, 1460);
        for ends in [Flags::PSH, Flags::FIN] {
            assert_eq!(measured(&[(1460, Flags::ACK), (300, ends), (300, ends)]), (vec![true, false, false], 1460));
        }
        // At 536 bytes it counts even so; below 88 bytes never.
        assert_eq!(measured(&[(1460, Flags::ACK), (536, Flags::PSH), (536, Flags::PSH)]).1, 536);
        assert_eq!(measured(&[(1460, Flags::ACK), (535, Flags::PSH), (535, Flags::PSH)]).1, 1460);
        assert_eq!(measured(&[(1460, Flags::ACK), (88, Flags::ACK), (88, Flags::ACK)]).1, 88);
        assert_eq!(measured(&[(1460, Flags::ACK), (87, Flags::ACK), (87, Flags::ACK)]).1, 1460);
    }

    #[test]
    fn timestamps_count_as_bytes_of_a_small_segment_and_a_full_one_is_at_most_the_mss() {
        let mut size = SegmentSize::new(1460, 65_535);
        let seg = |len, has_timestamps| Header { len, has_timestamps, ..Header::default() };
        assert!(size.measure(&seg(9000, false), 1460));
        assert_eq!(size.full(), 1460);
        assert!(!size.measure(&seg(76, true), 1460) && size.measure(&seg(76, true), 1460), "76 + 20 + 12 bytes");
        assert!(size.measure(&seg(1460, false), 1460) && !size.measure(&seg(75, true), 1460));
        assert!(!size.measure(&seg(75, true), 1460));
        assert!(!size.measure(&seg(800, false), 1460));
        size.measure_full(1460); // takes the place of the short one
        assert!(!size.measure(&seg(800, false), 1460));
    }
}
