//! Rows of a table grouped by end, in order of time.

use std::ops::Range;

/// An end of a connection, or the same end of all connections of a traffic entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End(u32);

impl End {
    /// An end of the connection or of the traffic entry at position `owner`.
    pub(super) fn new(owner: usize, is_client: bool) -> End {
        End(2 * owner as u32 + u32::from(is_client)) // serial numbers of connections are u32
    }

    pub(super) fn owner(self) -> usize {
        self.index() / 2
    }

    pub(super) fn is_client(self) -> bool {
        self.0 % 2 == 1
    }

    pub(super) fn peer(self) -> End {
        End(self.0 ^ 1)
    }

    /// Position among all ends.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Rows by end and time.
#[derive(Debug)]
pub(super) struct Timeline<R> {
    /// For each end of a connection, the position of its first row; then the number of all rows.
    starts: Vec<usize>,
    times: Vec<i64>,
    rows: Vec<R>,
}

impl<R: Copy> Timeline<R> {
    /// A timeline for this number of owners. Rows of the same end and time stay in the order of `entries`.
    pub(super) fn new(owners: usize, entries: &[(End, i64, R)]) -> Timeline<R> {
        let Some(&(_, _, any)) = entries.first() else {
            return Timeline { starts: vec![0; 2 * owners + 1], times: Vec::new(), rows: Vec::new() };
        };
        let mut starts = vec![0; 2 * owners + 1];
        for (end, ..) in entries {
            starts[end.index() + 1] += 1;
        }
        for end in 0..2 * owners {
            starts[end + 1] += starts[end];
        }
        let (mut next, mut times, mut rows) = (starts.clone(), vec![0; entries.len()], vec![any; entries.len()]);
        for &(end, time, row) in entries {
            let at = &mut next[end.index()];
            (times[*at], rows[*at]) = (time, row);
            *at += 1;
        }
        // The recorder writes the events at one end in order of time; a table that this crate did not write may have
        // another order.
        for end in starts.windows(2).map(|edge| edge[0]..edge[1]) {
            if !times[end.clone()].is_sorted() {
                let mut mine: Vec<_> = end.clone().map(|at| (times[at], rows[at])).collect();
                mine.sort_by_key(|&(time, _)| time);
                for (at, (time, row)) in end.zip(mine) {
                    (times[at], rows[at]) = (time, row);
                }
            }
        }
        Timeline { starts, times, rows }
    }

    /// The positions of an end's rows.
    pub(super) fn of(&self, end: End) -> Range<usize> {
        self.starts[end.index()]..self.starts[end.index() + 1]
    }

    pub(super) fn time(&self, at: usize) -> i64 {
        self.times[at]
    }

    pub(super) fn row(&self, at: usize) -> &R {
        &self.rows[at]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The position of an end's last row before a time.
    pub(super) fn before(&self, end: End, time: i64) -> Option<usize> {
        self.last(end, |at| at < time)
    }

    /// The position of an end's last row up to a time.
    pub(super) fn until(&self, end: End, time: i64) -> Option<usize> {
        self.last(end, |at| at <= time)
    }

    /// The position of an end's last row for whose time the condition holds. The condition must hold for all earlier
    /// rows of the end, too.
    fn last(&self, end: End, is_early: impl Fn(i64) -> bool) -> Option<usize> {
        let range = self.of(end);
        let early = self.times[range.clone()].partition_point(|&time| is_early(time));
        (early > 0).then(|| range.start + early - 1)
    }
}
