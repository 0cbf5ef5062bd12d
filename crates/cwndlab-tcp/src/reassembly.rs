//! Out-of-order data: which ranges arrived beyond the first hole, and in which order to report them (RFC 2018, 4).

use crate::segment::SackBlocks;
use crate::sequence::to_wire;

/// Blocks remembered as most recently reported: as many as an ACK can carry.
const RECENT: usize = 4;

/// Ranges `[start, end)` of stream positions beyond the next one expected. Lives on the heap, only once needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// Disjoint, not adjacent, ascending.
    ranges: Vec<(u64, u64)>,
    /// One position inside each of the blocks reported last, most recent first; 0 = none.
    recent: [u64; RECENT],
    /// Place among the blocks of the one that grew last, before it was put first; their number if it is new.
    depth: usize,
    /// The duplicate to report (RFC 2883), or (0, 0).
    duplicate: (u64, u64),
}

impl Reassembly {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a range; the first part of it that had come before, if any (RFC 2883, section 4: one a segment).
    pub fn insert(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|r| r.1 < start);
        let last = first + self.ranges[first..].partition_point(|r| r.0 <= end);
        let overlap = |&(from, to): &(u64, u64)| Some((from.max(start), to.min(end))).filter(|both| both.0 < both.1);
        let known = self.ranges[first..last].iter().find_map(overlap);
        if first == last {
            self.ranges.insert(first, (start, end));
        } else {
            self.ranges[first] = (self.ranges[first].0.min(start), self.ranges[last - 1].1.max(end));
            self.ranges.drain(first + 1..last);
        }
        self.touch(start);
        known
    }

    /// RFC 2018, section 4: the first block is the one with the segment that caused the ACK, the others follow in the
    /// order in which they were first.
    fn touch(&mut self, position: u64) {
        let block = self.block_of(position);
        self.depth = RECENT;
        let mut kept = [0; RECENT];
        kept[0] = position;
        let mut n = 1;
        let mut known = 0;
        for &p in &self.recent {
            if p != 0 && self.block_of(p).is_some() {
                if self.block_of(p) == block {
                    self.depth = self.depth.min(known);
                }
                known += 1;
            }
            if p != 0 && n < RECENT && self.block_of(p).is_some() && self.block_of(p) != block {
                kept[n] = p;
                n += 1;
            }
        }
        self.recent = kept;
        self.depth = self.depth.min(known);
    }

    /// At which place among the blocks the last segment was put, from 0; their number if it began a new one.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }

    fn block_of(&self, position: u64) -> Option<(u64, u64)> {
        let i = self.ranges.partition_point(|r| r.1 <= position);
        self.ranges.get(i).copied().filter(|r| r.0 <= position)
    }

    /// This had come before (RFC 2883, section 4).
    pub fn note_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = (start, end);
    }

    /// Whether the first of the next blocks is a duplicate.
    pub fn has_duplicate(&self) -> bool {
        self.duplicate != (0, 0)
    }

    /// The first that is held below `end`.
    pub fn first_below(&self, end: u64) -> Option<(u64, u64)> {
        self.ranges.first().filter(|range| range.0 < end).map(|&(from, to)| (from, to.min(end)))
    }

    /// All up to `next` has arrived: how far does the contiguous data reach? Forgets what is below.
    pub fn advance(&mut self, next: u64) -> u64 {
        let covered = self.ranges.partition_point(|r| r.0 <= next);
        if covered == 0 {
            return next;
        }
        let reached = self.ranges[covered - 1].1.max(next);
        self.ranges.drain(..covered);
        reached
    }

    /// The blocks for an ACK, at most `most`; a duplicate is reported once.
    pub fn sack_blocks(&mut self, irs: u32, most: usize) -> SackBlocks {
        let mut out = SackBlocks::default();
        let mut push = |(start, end): (u64, u64)| {
            out.blocks[out.len as usize] = (to_wire(irs, start), to_wire(irs, end));
            out.len += 1;
            out.len as usize
        };
        let mut n = 0;
        if self.duplicate != (0, 0) && most > 0 {
            n = push(self.duplicate);
            self.duplicate = (0, 0);
        }
        for &position in &self.recent {
            if n >= most {
                break;
            }
            if let Some(block) = self.block_of(position) {
                n = push(block);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests;
