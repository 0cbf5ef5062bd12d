//! Out-of-order data: the ranges beyond the first hole, and the order in which to report them (RFC 2018, section 4).

use crate::ranges::Ranges;
use crate::segment::SackBlocks;

/// Number of most recently reported blocks that are stored: as many as an ACK can carry.
const RECENT: usize = 4;
/// Low 32 bits of a block's positions. All blocks lie in a window of at most 2^30 bytes (RFC 7323, section 2.3).
type Block = (u32, u32);
/// An empty slot for a block.
const NO_BLOCK: Block = (0, 0);

/// The data beyond the next expected position. Allocated on the heap when the first such data arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: Ranges,
    /// Bytes in them.
    bytes: u64,
    /// The blocks reported last, most recent first; empty slots follow.
    recent: [Block; RECENT],
    /// The block that the next ACK does not yet put in front: see [`Blocks::Withheld`].
    later: Block,
    /// The duplicate to report (RFC 2883), or none.
    duplicate: Block,
}

/// Which block reports a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocks {
    /// The whole contiguous range, in front (RFC 2018, section 4).
    Whole,
    /// As much of it as the segment joins of the blocks reported last, in front: Linux forgets older blocks
    /// (`tcp_sack_new_ofo_skb`).
    Remembered,
    /// As `Remembered`, while ACKs are withheld: if the block is not one of the first two, the next ACK still reports
    /// what was known before (`tcp_sack_compress_send_ack`).
    Withheld,
    /// The next ACK reports what was known before.
    Later,
}

/// The number of blocks for which every ACK has room (`TCP_SACK_BLOCKS_EXPECTED`).
pub(crate) const EXPECTED_BLOCKS: usize = 2;

impl Reassembly {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a range. Returns the first part of it that had arrived before, if any (RFC 2883, section 4: one per
    /// segment). `blocks`: how the segment is reported.
    pub fn insert(&mut self, start: u64, end: u64, blocks: Blocks) -> Option<(u64, u64)> {
        self.settle();
        let mut known = None;
        let mut joined_bytes = 0;
        let block = self.ranges.insert(start, end, |(from, to)| {
            joined_bytes += to - from;
            known = known.or(Some((from.max(start), to.min(end))).filter(|both| both.0 < both.1));
        });
        self.bytes += block.1 - block.0 - joined_bytes;
        let new = low((start, end));
        match blocks {
            Blocks::Whole => self.touch(low(block)),
            Blocks::Withheld if self.place_of(new) >= EXPECTED_BLOCKS => {
                if let Some((one, all)) = self.recent.iter_mut().find_map(|one| joined(*one, new).map(|all| (one, all)))
                {
                    *one = all;
                }
                self.later = new;
            }
            Blocks::Remembered | Blocks::Withheld => self.touch(new),
            Blocks::Later => self.later = new,
        }
        known
    }

    /// The place of the first block that `new` joins; the number of blocks if it joins none.
    fn place_of(&self, new: Block) -> usize {
        let mut blocks = self.recent.iter().filter(|&&block| block != NO_BLOCK);
        let known = blocks.clone().count();
        blocks.position(|&block| joined(block, new).is_some()).unwrap_or(known)
    }

    /// Moves the block to the front that the last ACK did not put there.
    fn settle(&mut self) {
        if self.later != NO_BLOCK {
            let block = std::mem::replace(&mut self.later, NO_BLOCK);
            self.touch(block);
        }
    }

    /// Whether an ACK with the blocks known before the last segment is due.
    pub fn reports_before(&self) -> bool {
        self.later != NO_BLOCK
    }

    /// Moves `block` to the front, because it contains the segment that triggers the ACK. The other blocks keep their
    /// order, the most recently extended first (RFC 2018, section 4).
    fn touch(&mut self, block: Block) {
        let mut kept = [block, NO_BLOCK, NO_BLOCK, NO_BLOCK];
        let mut n = 1;
        for &other in self.recent.iter().filter(|&&other| other != NO_BLOCK) {
            if let Some(all) = joined(other, kept[0]) {
                kept[0] = all;
            } else if n < RECENT {
                kept[n] = other;
                n += 1;
            }
        }
        self.recent = kept;
    }

    /// Bytes stored.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Records a range that had arrived before (RFC 2883, section 4).
    pub fn note_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = low((start, end));
    }

    /// Forgets a duplicate that no ACK has reported yet, because more data arrives (`tcp_data_queue`).
    pub fn forget_duplicate(&mut self) {
        self.duplicate = NO_BLOCK;
    }

    /// Removes and returns the duplicate if it begins between `ack` and `next` (low 32 bits of positions). An ACK of
    /// `ack` must not report such a duplicate, because the block would look like data received beyond `ack`.
    pub fn take_duplicate_of(&mut self, ack: u32, next: u32) -> Option<(u64, u64)> {
        let (start, end) = self.duplicate;
        let between = self.has_duplicate() && not_after(ack, start) && !not_after(next, start);
        between.then(|| {
            self.duplicate = NO_BLOCK;
            (u64::from(start), u64::from(end))
        })
    }

    /// Whether the next ACK reports a duplicate in its first block.
    pub fn has_duplicate(&self) -> bool {
        self.duplicate != NO_BLOCK
    }

    /// Returns the first stored range that begins below `end`, cut off at `end`.
    pub fn first_below(&self, end: u64) -> Option<(u64, u64)> {
        self.ranges.first().filter(|range| range.0 < end).map(|(from, to)| (from, to.min(end)))
    }

    /// Removes the ranges that begin at `next` or below, because everything up to `next` has arrived. Returns the end
    /// of the contiguous data.
    pub fn advance(&mut self, next: u64) -> u64 {
        let mut reached = next;
        while let Some(range) = self.ranges.take_first(next) {
            self.bytes -= range.1 - range.0;
            reached = reached.max(range.1);
        }
        for block in self.recent.iter_mut().filter(|block| not_after(block.0, reached as u32)) {
            *block = NO_BLOCK;
        }
        reached
    }

    /// Returns at most `most` blocks for an ACK; a duplicate is reported once. `irs`: the peer's initial sequence
    /// number.
    pub fn sack_blocks(&mut self, irs: u32, most: usize) -> SackBlocks {
        let mut out = SackBlocks::default();
        let mut push = |(start, end): Block| {
            out.blocks[out.len as usize] = (irs.wrapping_add(start), irs.wrapping_add(end));
            out.len += 1;
            out.len as usize
        };
        let mut n = 0;
        if self.duplicate != NO_BLOCK && most > 0 {
            n = push(self.duplicate);
            self.duplicate = NO_BLOCK;
        }
        for &block in self.recent.iter().filter(|&&block| block != NO_BLOCK) {
            if n >= most {
                break;
            }
            n = push(block);
        }
        self.settle();
        out
    }
}

fn low((start, end): (u64, u64)) -> Block {
    (start as u32, end as u32)
}

/// The union of two blocks that touch or overlap.
fn joined(a: Block, b: Block) -> Option<Block> {
    let touches = a != NO_BLOCK && not_after(a.0, b.1) && not_after(b.0, a.1);
    touches.then(|| (if not_after(a.0, b.0) { a.0 } else { b.0 }, if not_after(a.1, b.1) { b.1 } else { a.1 }))
}

/// Whether a position, given by its low 32 bits, is before another or equal to it.
fn not_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) as i32 >= 0
}

#[cfg(test)]
mod tests;
