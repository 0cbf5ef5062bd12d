//! Socket options that an application sets: holding back small segments, separating records, and how long to wait for
//! an acknowledgment.

use std::collections::VecDeque;

use cwndlab_units::Time;

/// Socket options of one connection; most connections have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct SocketOptions {
    /// `TCP_CORK`: data that does not fill a segment is not sent.
    pub corked: bool,
    /// The last write had the flag `MSG_MORE`: data that does not fill a segment is not sent until the next write
    /// without the flag, or the next ACK.
    pub more: bool,
    /// Whether the data written so far is sent despite `corked` or `more`.
    pub pushed: bool,
    /// Ends of the records (`MSG_EOR`), in order, each one past the record's last byte. No segment contains bytes of
    /// two records.
    pub records: VecDeque<u64>,
    /// How long data may stay unacknowledged (`TCP_USER_TIMEOUT`; RFC 9293, 3.9.1; RFC 5482). `None`: the limit of
    /// retransmissions applies (R2).
    pub user_timeout: Option<Time>,
    /// When the user timeout expires; `None` while nothing has timed out since the last progress.
    pub gives_up_at: Option<Time>,
    /// Whether the application will read no more.
    pub read_closed: bool,
}

impl SocketOptions {
    /// Whether data that does not fill a segment has to wait.
    pub fn holds(&self) -> bool {
        (self.corked || self.more) && !self.pushed
    }

    /// Bytes from `start` to the end of its record.
    pub fn record_left(&self, start: u64) -> u64 {
        self.records.iter().find(|end| **end > start).map_or(u64::MAX, |end| end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_belongs_to_the_record_that_ends_after_it() {
        let socket = SocketOptions { records: VecDeque::from([101, 151, 1151]), ..SocketOptions::default() };
        let left = [1, 100, 101, 150, 151, 1150, 1151].map(|start| socket.record_left(start));
        assert_eq!(left, [100, 1, 50, 1, 1000, 1, u64::MAX]);
        assert_eq!(SocketOptions::default().record_left(1), u64::MAX);
    }

    #[test]
    fn a_small_segment_waits_while_corked_or_more_is_to_come_unless_it_was_pushed() {
        for (corked, more, pushed, holds) in [
            (false, false, false, false),
            (true, false, false, true),
            (false, true, false, true),
            (true, true, false, true),
            (true, true, true, false),
            (false, true, true, false),
        ] {
            let socket = SocketOptions { corked, more, pushed, ..SocketOptions::default() };
            assert_eq!(socket.holds(), holds, "{corked} {more} {pushed}");
        }
    }
}
