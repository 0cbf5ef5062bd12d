//! The sender's SACK scoreboard (RFC 6675, section 3): which ranges beyond the cumulative ACK have arrived.

use std::collections::VecDeque;

/// Which ranges have arrived beyond the cumulative ACK. On the heap once used. The sums that recovery asks for on every
/// ACK are kept, so that its cost grows neither with the window nor with the number of holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard(Option<Box<Ranges>>);

#[derive(Clone, Debug, Default)]
struct Ranges {
    /// Ranges `[start, end)` of stream positions that the receiver holds: disjoint, not adjacent, ascending.
    list: VecDeque<(u64, u64)>,
    /// Bytes in `list`.
    total: u64,
    /// Bytes in `list` below the position `mark`.
    below_mark: u64,
    mark: u64,
}

impl Scoreboard {
    #[inline]
    fn list(&self) -> impl DoubleEndedIterator<Item = &(u64, u64)> {
        self.0.iter().flat_map(|ranges| ranges.list.iter())
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|ranges| ranges.list.is_empty())
    }

    /// Adds a block; how many bytes of it were new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        self.0.get_or_insert_default().insert(start, end)
    }

    /// All below `una` is acknowledged; how many bytes of it had been reported by SACK.
    #[inline]
    pub fn advance(&mut self, una: u64) -> u64 {
        match &mut self.0 {
            Some(ranges) if !ranges.list.is_empty() => ranges.forget_below(una),
            _ => 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Bytes reported.
    #[inline]
    pub fn total(&self) -> u64 {
        self.0.as_ref().map_or(0, |ranges| ranges.total)
    }

    /// Bytes reported below `position`. Cheap if it is near the position of the last call.
    pub fn sacked_below(&mut self, position: u64) -> u64 {
        self.0.as_mut().map_or(0, |ranges| ranges.sacked_below(position))
    }

    /// Bytes reported from `position` on. Cheap if it is near the top.
    pub fn sacked_from(&self, position: u64) -> u64 {
        self.list().rev().take_while(|r| r.1 > position).map(|r| r.1 - r.0.max(position)).sum()
    }

    /// Highest position reported, exclusive.
    pub fn highest(&self) -> Option<u64> {
        self.0.as_ref()?.list.back().map(|r| r.1)
    }

    /// Start of the first block beyond `position`.
    pub fn first_block_start(&self, position: u64) -> Option<u64> {
        let list = &self.0.as_ref()?.list;
        list.get(list.partition_point(|r| r.0 <= position)).map(|r| r.0)
    }

    /// The first position not below `from` that is not reported, and where the hole ends (`u64::MAX` behind the last block).
    pub fn hole(&self, from: u64) -> (u64, u64) {
        let Some(ranges) = &self.0 else { return (from, u64::MAX) };
        let at = ranges.list.partition_point(|r| r.1 <= from);
        let (start, next) = match ranges.list.get(at) {
            Some(r) if r.0 <= from => (r.1, at + 1),
            _ => (from, at),
        };
        (start, ranges.list.get(next).map_or(u64::MAX, |r| r.0))
    }

    /// RFC 6675, section 4, `IsLost`: everything unreported below this position is lost, as `dup_thresh` discontiguous
    /// blocks, or more than (`dup_thresh` - 1) * SMSS bytes, have arrived above it.
    pub fn lost_below(&self, dup_thresh: u32, mss: u32) -> u64 {
        let most = u64::from(dup_thresh.saturating_sub(1)) * u64::from(mss);
        let (mut blocks, mut bytes) = (0, 0);
        for r in self.list().rev() {
            blocks += 1;
            bytes += r.1 - r.0;
            if blocks >= dup_thresh || bytes > most {
                return r.0;
            }
        }
        0
    }
}

impl Ranges {
    fn insert(&mut self, start: u64, end: u64) -> u64 {
        let first = self.list.partition_point(|r| r.1 < start);
        let (mut low, mut high, mut known, mut known_below, mut last) = (start, end, 0, 0, first);
        while let Some(&(s, e)) = self.list.get(last).filter(|r| r.0 <= end) {
            low = low.min(s);
            high = high.max(e);
            known += e - s;
            known_below += length_below(s, e, self.mark);
            last += 1;
        }
        if first == last {
            self.list.insert(first, (low, high));
        } else {
            self.list[first] = (low, high);
            self.list.drain(first + 1..last);
        }
        let fresh = high - low - known;
        self.total += fresh;
        self.below_mark += length_below(low, high, self.mark) - known_below;
        fresh
    }

    fn forget_below(&mut self, una: u64) -> u64 {
        let before = self.total;
        while let Some(front) = self.list.front_mut().filter(|front| front.0 < una) {
            let (start, cut) = (front.0, front.1.min(una));
            front.0 = cut;
            let empty = front.0 == front.1;
            self.total -= cut - start;
            self.below_mark -= length_below(start, cut, self.mark);
            if empty {
                self.list.pop_front();
            }
        }
        before - self.total
    }

    fn sacked_below(&mut self, position: u64) -> u64 {
        let (from, to) = (self.mark.min(position), self.mark.max(position));
        let at = self.list.partition_point(|r| r.1 <= from);
        let between: u64 = self.list.range(at..).take_while(|r| r.0 < to).map(|r| r.1.min(to) - r.0.max(from)).sum();
        self.below_mark = if position >= self.mark { self.below_mark + between } else { self.below_mark - between };
        self.mark = position;
        self.below_mark
    }
}

/// How much of `[start, end)` lies below `edge`.
#[inline]
fn length_below(start: u64, end: u64, edge: u64) -> u64 {
    end.min(edge).saturating_sub(start)
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
                // the sums stay true through changes
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
