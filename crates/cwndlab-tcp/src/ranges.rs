//! A set of stream positions, stored as ranges: the receiver's data beyond a hole, and the ranges that the sender knows
//! to have arrived.

use std::collections::VecDeque;

/// Ranges `[start, end)`: disjoint, not adjacent, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> Option<(u64, u64)> {
        self.0.front().copied()
    }

    pub fn last(&self) -> Option<(u64, u64)> {
        self.0.back().copied()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The ranges that end beyond `position`, in order.
    pub fn beyond(&self, position: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.range(self.reaching(position + 1)..).copied()
    }

    /// Returns the index of the first range that ends at `position` or beyond. Most positions are near the first or the
    /// last range: new data arrives at the top, retransmissions at the bottom.
    fn reaching(&self, position: u64) -> usize {
        let Some(&(top, end)) = self.0.back() else { return 0 };
        if top <= position || self.0[0].1 >= position {
            return if self.0[0].1 >= position { 0 } else { self.0.len() - usize::from(end >= position) };
        }
        self.0.partition_point(|range| range.1 < position)
    }

    /// Adds `[start, end)` and returns the range that then contains it. Calls `each` with every existing range that
    /// overlaps or adjoins `[start, end)`.
    pub fn insert(&mut self, start: u64, end: u64, mut each: impl FnMut((u64, u64))) -> (u64, u64) {
        let first = self.reaching(start);
        let (mut whole, mut next) = ((start, end), first);
        while let Some(&range) = self.0.get(next).filter(|range| range.0 <= end) {
            each(range);
            whole = (whole.0.min(range.0), whole.1.max(range.1));
            next += 1;
        }
        if first == next {
            if self.0.len() == self.0.capacity() && self.0.len() < 4 {
                self.0.reserve_exact(self.0.len().max(1)); // most sets never have more than one or two ranges
            }
            self.0.insert(first, whole);
        } else {
            self.0[first] = whole;
            if next > first + 1 {
                self.0.drain(first + 1..next);
            }
        }
        whole
    }

    /// Removes and returns the first range if it begins at `position` or below.
    pub fn take_first(&mut self, position: u64) -> Option<(u64, u64)> {
        self.first().filter(|range| range.0 <= position)?;
        self.0.pop_front()
    }

    /// Removes everything below `position`, and calls `each` with every removed part.
    pub fn remove_below(&mut self, position: u64, mut each: impl FnMut((u64, u64))) {
        while let Some(range) = self.0.front_mut().filter(|range| range.0 < position) {
            if range.1 > position {
                each((range.0, position));
                range.0 = position;
                return;
            }
            each(*range);
            self.0.pop_front();
        }
    }
}
