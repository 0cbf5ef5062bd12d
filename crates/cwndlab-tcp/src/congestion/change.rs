//! Changes of the window that loss recovery requests.

use super::prr::PrrAck;
use super::CongestionEvent;

/// A change of the window. Windows have at most 2^30 bytes, so `u32` suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowChange {
    /// A reduction for a loss or an ECN echo, with `flight_bytes` outstanding. A loss does not reduce the window if an
    /// echo has already done so for this window of data. If `recover_fs` is not 0, proportional rate reduction controls
    /// the episode, with this value as `RecoverFS` (RFC 9937, section 6.1).
    Cut { event: CongestionEvent, flight_bytes: u32, recover_fs: u32 },
    /// Proportional rate reduction processes an ACK: cwnd becomes pipe plus the allowance (RFC 9937, section 6.2).
    Pipe(PrrAck),
    /// The last reduction was spurious.
    Undo,
    /// The episode is over, and the window becomes ssthresh (RFC 6582, section 3.2, step 3; RFC 9937, section 6.4).
    End,
    /// Fast recovery begins after an ECN echo has reduced the window.
    LossAfterEcho,
    /// Sending restarts from one segment: after a lost SYN (RFC 5681, section 3.1), a marked SYN-ACK (RFC 5562, section
    /// 3.2), or a timeout while an ECN echo kept the window closed (RFC 3168, section 6.1.2).
    Restart,
    /// After a timeout, cwnd becomes one segment plus these bytes, which are assumed to be still in the network (Linux:
    /// `tcp_enter_loss`).
    StillInNetwork(u32),
    /// cwnd becomes the loss window (Tahoe, FACK of 1998).
    LossWindow,
    /// cwnd becomes this number of bytes.
    Window(u32),
    /// A partial ACK deflates the window by these bytes (NewReno; RFC 6582, section 3.2, step 3).
    Deflate(u32),
    /// ns-2's NewReno: as [`WindowChange::Deflate`], but by this many whole segments. ns-2 counts cwnd in packets, as a
    /// real number, whose fractional part the step does not change.
    DeflateBySegments(u32),
    /// Linux 2.0: when the timer expires in fast recovery, cwnd grows by these bytes, the amount by which fast recovery
    /// has inflated the window.
    Inflate(u32),
}

/// The changes of the window after one event, in order. There are at most four: the end of an episode, an undo, a
/// reduction, and the first allowance of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Changes {
    list: [WindowChange; 4],
    len: u8,
}

impl Changes {
    pub const NONE: Changes = Changes { list: [WindowChange::Undo; 4], len: 0 };

    /// A single change.
    pub fn one(change: WindowChange) -> Changes {
        let mut changes = Changes::NONE;
        changes.push(change);
        changes
    }

    /// A reduction for a loss, without proportional rate reduction.
    pub fn cut(flight_bytes: u64) -> Changes {
        let (event, flight_bytes) = (CongestionEvent::Loss, flight_bytes as u32);
        Changes::one(WindowChange::Cut { event, flight_bytes, recover_fs: 0 })
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn push(&mut self, change: WindowChange) {
        debug_assert!(self.len < 4, "more changes than one event can have");
        if let Some(free) = self.list.get_mut(usize::from(self.len)) {
            (*free, self.len) = (change, self.len + 1);
        }
    }

    /// Returns these changes, followed by `later`.
    pub fn then(mut self, later: &Changes) -> Changes {
        later.iter().for_each(|change| self.push(change));
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = WindowChange> + '_ {
        self.list.iter().take(usize::from(self.len)).copied()
    }
}
