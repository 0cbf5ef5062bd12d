//! One recorded segment, and sums over all.

use cwndlab_units::Time;

/// Flag of a segment: SACK has reported it.
pub(crate) const SACKED: u8 = 1;
/// Flag of a segment: it is deemed lost.
pub(crate) const LOST: u8 = 2;
/// Flag of a segment: a retransmitted copy is assumed to be in the network.
pub(super) const AGAIN: u8 = 4;
/// Flag of a segment: it was sent more than once.
pub(crate) const REPEATED: u8 = 8;
/// Flag of a segment: a timeout, not RACK, deemed it lost.
pub(super) const BY_TIMEOUT: u8 = 16;

/// One segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub start: u64,
    /// One past its last position.
    pub end: u64,
    /// When it was last sent.
    pub at: Time,
    pub flags: u8,
}

impl Sent {
    pub(super) fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the segment waits for retransmission.
    pub(super) fn waits(&self) -> bool {
        self.is(LOST) && !self.is(AGAIN)
    }

    pub(super) fn in_flight(&self) -> u64 {
        if self.is(SACKED) || self.waits() {
            0
        } else {
            self.end - self.start
        }
    }
}

/// Sums over the outstanding segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Pipe: estimated bytes in the network.
    pub pipe: u64,
    /// Segments reported by SACK.
    pub sacked: u32,
    /// Segments deemed lost and not reported, retransmitted or not.
    pub lost: u32,
    /// Segments deemed lost and not retransmitted since.
    pub waiting: u32,
    /// Segments with a retransmitted copy that is assumed to be in the network.
    pub again: u32,
    /// Bytes deemed lost since the connection began, not only those outstanding; each lost copy counts.
    pub lost_bytes: u64,
}
