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
