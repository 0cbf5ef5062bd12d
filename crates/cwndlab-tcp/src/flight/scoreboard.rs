//! The sender's SACK scoreboard (RFC 6675, section 3): which ranges beyond the cumulative ACK have arrived.

use crate::ranges::Ranges;

/// Number of recent blocks stored: as many as a segment can carry.
const RECENT: usize = 4;

/// The ranges beyond the cumulative ACK that have arrived, allocated on first use. The sums that recovery needs for
/// every ACK are stored, so that the cost of an ACK grows neither with the window nor with the number of holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard(Option<Box<Reported>>);

#[derive(Clone, Debug, Default)]
struct Reported {
    ranges: Ranges,
    /// The position passed to the last call of `sacked_below`.
    mark: u64,
    /// Bytes in `ranges`; at most the largest window, 2^30 (RFC 7323, section 2.3).
    total: u32,
    /// Bytes in `ranges` below the position `mark`.
    below_mark: u32,
    /// Low 32 bits of the most recent blocks: an ACK mostly repeats those of the previous one (RFC 2018, section 4).
    recent: [(u32, u32); RECENT],
    /// Index in `recent` of the block to be replaced next.
    oldest: u8,
}

impl Scoreboard {
    /// The ranges, in order.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().flat_map(|reported| reported.ranges.iter())
    }

    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|reported| reported.ranges.is_empty())
    }

    /// Adds a block. Returns how many of its bytes are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        self.0.get_or_insert_default().insert(start, end)
    }

    /// Removes everything below `una`, which is acknowledged. Returns how many of the removed bytes SACK had reported.
    pub fn advance(&mut self, una: u64) -> u64 {
        match &mut self.0 {
            Some(reported) if !reported.ranges.is_empty() => reported.forget_below(una),
            _ => 0,
        }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Returns the number of bytes reported.
    pub fn total(&self) -> u64 {
        self.0.as_ref().map_or(0, |reported| u64::from(reported.total))
    }

    /// Bytes reported below `position`. Fast if `position` is near that of the last call.
    pub fn sacked_below(&mut self, position: u64) -> u64 {
        self.0.as_mut().map_or(0, |reported| reported.sacked_below(position))
    }

    /// Bytes reported at or above `position`. Fast if `position` is near the highest report.
    pub fn sacked_from(&self, position: u64) -> u64 {
        self.ranges().rev().take_while(|r| r.1 > position).map(|r| r.1 - r.0.max(position)).sum()
    }

    /// Returns the end of the highest range reported.
    pub fn highest(&self) -> Option<u64> {
        Some(self.0.as_ref()?.ranges.last()?.1)
    }

    /// Returns the start of the first range that begins beyond `position`.
    pub fn first_block_start(&self, position: u64) -> Option<u64> {
        self.0.as_ref()?.ranges.beyond(position).map(|range| range.0).find(|&start| start > position)
    }

    /// Returns the first unreported position at or above `from`, and the end of this hole (`u64::MAX` if no range is
    /// reported above it).
    pub fn hole(&self, from: u64) -> (u64, u64) {
        let Some(reported) = &self.0 else { return (from, u64::MAX) };
        let mut ranges = reported.ranges.beyond(from);
        match ranges.next() {
            Some(range) if range.0 <= from => (range.1, ranges.next().map_or(u64::MAX, |next| next.0)),
            next => (from, next.map_or(u64::MAX, |next| next.0)),
        }
    }

    /// Returns the position below which every unreported byte is lost, because `dup_thresh` discontiguous blocks, or
    /// more than (`dup_thresh` - 1) * SMSS bytes, have arrived above it (RFC 6675, section 4, `IsLost`); 0 if there is
    /// none.
    pub fn lost_below(&self, dup_thresh: u32, mss: u32) -> u64 {
        let most = u64::from(dup_thresh.saturating_sub(1)) * u64::from(mss);
        let (mut blocks, mut bytes) = (0, 0);
        for r in self.ranges().rev() {
            blocks += 1;
            bytes += r.1 - r.0;
            if blocks >= dup_thresh || bytes > most {
                return r.0;
            }
        }
        0
    }
}

impl Reported {
    fn insert(&mut self, start: u64, end: u64) -> u64 {
        match self.recent.iter_mut().find(|recent| recent.0 == start as u32) {
            Some(recent) if covers(*recent, start, end) => return 0,
            Some(recent) => recent.1 = end as u32,
            None => {
                self.recent[usize::from(self.oldest)] = (start as u32, end as u32);
                self.oldest = (self.oldest + 1) % RECENT as u8;
            }
        }
        let (mark, mut known, mut known_below) = (self.mark, 0, 0);
        let whole = self.ranges.insert(start, end, |range| {
            known += range.1 - range.0;
            known_below += length_below(range, mark);
        });
        let fresh = whole.1 - whole.0 - known;
        self.total += fresh as u32;
        self.below_mark += (length_below(whole, mark) - known_below) as u32;
        fresh
    }

    fn forget_below(&mut self, una: u64) -> u64 {
        let (mark, mut removed, mut below) = (self.mark, 0, 0);
        self.ranges.remove_below(una, |part| {
            removed += part.1 - part.0;
            below += length_below(part, mark);
        });
        self.total -= removed as u32;
        self.below_mark -= below as u32;
        if self.ranges.is_empty() {
            self.recent = [(0, 0); RECENT]; // these low 32 bits could match again after a wrap
        }
        removed
    }

    fn sacked_below(&mut self, position: u64) -> u64 {
        let (from, to) = (self.mark.min(position), self.mark.max(position));
        let parts = self.ranges.beyond(from).take_while(|r| r.0 < to);
        let between = parts.map(|r| r.1.min(to) - r.0.max(from)).sum::<u64>() as u32;
        self.below_mark = if position >= self.mark { self.below_mark + between } else { self.below_mark - between };
        self.mark = position;
        u64::from(self.below_mark)
    }
}

/// Whether a block, given by the low 32 bits of its positions, begins at `start` and reaches at least to `end`.
fn covers(block: (u32, u32), start: u64, end: u64) -> bool {
    block.0 == start as u32 && block.1.wrapping_sub(end as u32) as i32 >= 0
}

/// The length of a range below `edge`.
fn length_below(range: (u64, u64), edge: u64) -> u64 {
    range.1.min(edge).saturating_sub(range.0)
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
            let mut kept: BTreeSet<u64> = model.iter().copied().filter(|&p| p >= una).collect();
            prop_assert_eq!(board.advance(una), (model.len() - kept.len()) as u64);
            let (from, to) = (a.min(b), a.max(b));
            for position in [from, to, from] {
                prop_assert_eq!(board.sacked_below(position), kept.range(..position).count() as u64);
                prop_assert_eq!(board.sacked_from(position), kept.range(position..).count() as u64);
                // The stored sums stay correct through changes.
                prop_assert_eq!(board.insert(90, 92), u64::from(kept.insert(90)) + u64::from(kept.insert(91)));
            }
            prop_assert_eq!(board.total(), kept.len() as u64);
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
