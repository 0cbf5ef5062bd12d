//! Converts header fields to columns of the segments table, both for the simulator and for kernels.

use cwndlab_net::DropCause;
use cwndlab_tcp::Flags;

use crate::cell::{OneOf, Sack};
use crate::tables::{DropReason, SegmentEvent};

/// The data and acknowledgments that one end of a connection has sent. Positions count the SYN as 0 and the first byte
/// of data as 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Half {
    /// One past the highest position that this end sent.
    pub high: u64,
    /// Highest acknowledgment from this end that passed the observed node.
    pub ack: u64,
    /// The window that the last of these acknowledgments advertised.
    pub window: Option<u32>,
}

impl Half {
    /// Stores an acknowledgment that passed the observed node.
    pub fn acknowledged(&mut self, ack: u64, window: u32) {
        self.ack = self.ack.max(ack);
        self.window = Some(window);
    }
}

/// The stream position nearest to `near` among those whose sequence number in the header is `wire`.
pub(crate) fn unwrap(wire: u32, near: u64) -> u64 {
    let ahead = wire.wrapping_sub(near as u32) as i32; // at most 2^31 away: windows are smaller (RFC 7323, section 2.2)
    near.saturating_add_signed(i64::from(ahead))
}

/// Payload offset of a position. The SYN, which has none, gets 0, the offset of the first byte.
pub(crate) const fn offset(position: u64) -> u64 {
    position.saturating_sub(1)
}

/// SACK blocks as payload offsets. `near` is a position in the stream to which the blocks refer.
pub(crate) fn sack(blocks: impl IntoIterator<Item = (u32, u32)>, near: u64) -> Sack {
    let mut sack = Sack::default();
    for (start, end) in blocks {
        sack.blocks[usize::from(sack.len)] = (offset(unwrap(start, near)), offset(unwrap(end, near)));
        sack.len += 1;
    }
    sack
}

/// What happened to a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passage {
    /// The observed node sent the segment, for the first time or again.
    Sent { again: bool },
    /// The segment arrived at the observed node.
    Received,
    /// A link dropped the segment.
    Dropped(u32, DropCause),
    /// A link marked the segment CE.
    Marked(u32),
}

/// Header fields of a segment, with positions instead of sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub position: u64,
    /// 0 without the ACK flag.
    pub ack: u64,
    pub len: u32,
    /// In bytes, after window scaling.
    pub window: u32,
    pub flags: Flags,
}

impl Numbers {
    const CONTROL: u8 = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;

    /// The position after the segment. A SYN or FIN takes one position.
    pub fn end(&self) -> u64 {
        let takes_one = self.flags.0 & (Flags::SYN | Flags::FIN).0 != 0;
        self.position + u64::from(self.len) + u64::from(takes_one)
    }

    /// Whether the segment is a pure acknowledgment.
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags.0 & Numbers::CONTROL == 0
    }

    /// Whether the segment is a duplicate acknowledgment (RFC 5681, section 2): no data, no SYN or FIN, nothing newly
    /// acknowledged, the same window as before, and data outstanding.
    fn is_duplicate(&self, own: &Half, other: &Half) -> bool {
        let same_window = own.window.is_none_or(|window| window == self.window);
        self.is_pure_ack() && self.ack == own.ack && same_window && other.high > self.ack
    }

    /// The segment's number, from 1, if full segments carry `unit` bytes of payload. An acknowledgment has the number
    /// of the last segment that it covers, and a SYN has 0.
    pub fn packet(&self, unit: u32) -> i64 {
        let unit = u64::from(unit);
        let number = if self.is_pure_ack() {
            offset(self.ack).div_ceil(unit)
        } else if self.flags.has(Flags::SYN) {
            0
        } else {
            offset(self.position) / unit + 1
        };
        number as i64
    }

    /// Returns the columns `event`, `link` and `cause`. `own` and `other` are the states of the segment's sender and
    /// receiver before this segment.
    pub fn event(
        &self,
        passage: Passage,
        own: &Half,
        other: &Half,
    ) -> (SegmentEvent, Option<u32>, Option<OneOf<DropReason>>) {
        let event = match passage {
            Passage::Dropped(link, cause) => return (SegmentEvent::Drop, Some(link), Some(OneOf(reason(cause)))),
            Passage::Marked(link) => return (SegmentEvent::Mark, Some(link), None),
            _ if self.is_duplicate(own, other) => SegmentEvent::DupAck,
            _ if self.is_pure_ack() => SegmentEvent::Ack,
            Passage::Sent { again: true } => SegmentEvent::Retransmit,
            Passage::Sent { again: false } => SegmentEvent::Send,
            Passage::Received => SegmentEvent::Receive,
        };
        (event, None, None)
    }
}

fn reason(cause: DropCause) -> DropReason {
    match cause {
        DropCause::Full => DropReason::Full,
        DropCause::Aqm => DropReason::Aqm,
        DropCause::Loss => DropReason::Loss,
    }
}
