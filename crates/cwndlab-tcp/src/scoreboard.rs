//! The sender's SACK scoreboard (RFC 6675, section 3): which ranges beyond the cumulative ACK have arrived.

/// Ranges `[start, end)` of stream positions that the receiver holds, disjoint and ascending. On the heap once used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// A box around the vector keeps an endpoint that never saw SACK 16 bytes smaller.
    #[allow(clippy::box_collection)]
    ranges: Option<Box<Vec<(u64, u64)>>>,
}

impl Scoreboard {
    #[inline]
    fn ranges(&self) -> &[(u64, u64)] {
        self.ranges.as_ref().map_or(&[], |ranges| ranges)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges().is_empty()
    }

    /// Adds a block; how many bytes of it were new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        let ranges = self.ranges.get_or_insert_default();
        let first = ranges.partition_point(|r| r.1 < start);
        let last = first + ranges[first..].partition_point(|r| r.0 <= end);
        if first == last {
            ranges.insert(first, (start, end));
            return end - start;
        }
        let known: u64 = ranges[first..last].iter().map(|r| r.1 - r.0).sum();
        let merged = (ranges[first].0.min(start), ranges[last - 1].1.max(end));
        ranges[first] = merged;
        ranges.drain(first + 1..last);
        merged.1 - merged.0 - known
    }

    /// All below `una` is acknowledged; how many bytes of it had been reported by SACK.
    #[inline]
    pub fn advance(&mut self, una: u64) -> u64 {
        match &mut self.ranges {
            Some(ranges) if !ranges.is_empty() => forget_below(ranges, una),
            _ => 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges = None;
    }

    /// Bytes reported in `[from, to)`.
    pub fn sacked_in(&self, from: u64, to: u64) -> u64 {
        let ranges = self.ranges();
        let first = ranges.partition_point(|r| r.1 <= from);
        ranges[first..].iter().take_while(|r| r.0 < to).map(|r| r.1.min(to) - r.0.max(from)).sum()
    }

    /// Highest position reported, exclusive.
    pub fn highest(&self) -> Option<u64> {
        self.ranges().last().map(|r| r.1)
    }

    /// Start of the first block beyond `position`.
    pub fn first_block_start(&self, position: u64) -> Option<u64> {
        let ranges = self.ranges();
        ranges.get(ranges.partition_point(|r| r.0 <= position)).map(|r| r.0)
    }

    /// The first position not below `from` that is not reported, and where the hole ends (`u64::MAX` behind the last block).
    pub fn hole(&self, from: u64) -> (u64, u64) {
        let ranges = self.ranges();
        let at = ranges.partition_point(|r| r.1 <= from);
        let (start, next) = match ranges.get(at) {
            Some(r) if r.0 <= from => (r.1, at + 1),
            _ => (from, at),
        };
        (start, ranges.get(next).map_or(u64::MAX, |r| r.0))
    }

    /// RFC 6675, section 4, `IsLost`: everything unreported below this position is lost, as `dup_thresh` discontiguous
    /// blocks, or more than (`dup_thresh` - 1) * SMSS bytes, have arrived above it.
    pub fn lost_below(&self, dup_thresh: u32, mss: u32) -> u64 {
        let most = u64::from(dup_thresh.saturating_sub(1)) * u64::from(mss);
        let (mut blocks, mut bytes) = (0, 0);
        for r in self.ranges().iter().rev() {
            blocks += 1;
            bytes += r.1 - r.0;
            if blocks >= dup_thresh || bytes > most {
                return r.0;
            }
        }
        0
    }
}

/// Forgets what lies below `una`; how many bytes.
fn forget_below(ranges: &mut Vec<(u64, u64)>, una: u64) -> u64 {
    let gone = ranges.partition_point(|r| r.1 <= una);
    let mut bytes: u64 = ranges.drain(..gone).map(|r| r.1 - r.0).sum();
    if let Some(first) = ranges.first_mut().filter(|first| first.0 < una) {
        bytes += una - first.0;
        first.0 = una;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_scoreboard_is_a_set_of_bytes(
            blocks in proptest::collection::vec((1_u64..80, 1_u64..10), 0..20), una in 0_u64..90, a in 0_u64..90, b in 0_u64..90
        ) {
            let (mut board, mut model) = (Scoreboard::default(), BTreeSet::new());
            for (start, len) in blocks {
                let before = model.len();
                model.extend(start..start + len);
                prop_assert_eq!(board.insert(start, start + len), (model.len() - before) as u64);
            }
            let kept: BTreeSet<u64> = model.iter().copied().filter(|&p| p >= una).collect();
            prop_assert_eq!(board.advance(una), (model.len() - kept.len()) as u64);
            let (from, to) = (a.min(b), a.max(b));
            prop_assert_eq!(board.sacked_in(from, to), kept.range(from..to).count() as u64);
            prop_assert_eq!(board.highest(), kept.last().map(|p| p + 1));
            let start = (a.max(una)..1000).find(|p| !kept.contains(p)).unwrap();
            let end = kept.range(start..).next().copied().unwrap_or(u64::MAX);
            prop_assert_eq!(board.hole(a.max(una)), (start, end));
        }
    }

    #[test]
    fn lost_is_what_has_three_blocks_or_more_than_two_segments_above_it() {
        // RFC 6675, section 4, with DupThresh 3 and SMSS 100
        let lost = |blocks: &[(u64, u64)]| {
            let mut board = Scoreboard::default();
            for &(start, end) in blocks {
                board.insert(start, end);
            }
            board.lost_below(3, 100)
        };
        assert_eq!(lost(&[(200, 300)]), 0);
        assert_eq!(lost(&[(200, 400)]), 0);
        assert_eq!(lost(&[(200, 401)]), 200);
        assert_eq!(lost(&[(200, 210), (300, 310), (500, 510)]), 200);
        assert_eq!(lost(&[(200, 210), (300, 310), (500, 510), (600, 610)]), 300);
    }
}
