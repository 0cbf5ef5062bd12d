//! A TCP segment as on the wire (RFC 9293, section 3.1), without the payload's bytes.
//!
//! Sequence numbers in a segment are the wire's 32 bits and wrap. The endpoint converts them to 64-bit stream positions
//! (the SYN has position 0, the first byte of data position 1).

use crate::sequence::from_wire;

/// TCP header flags (RFC 9293, section 3.1; ECE and CWR from RFC 3168, section 6.1) at their positions in the header.
/// Only AE has another position: in the header it is to the left of CWR, and here it takes the place of URG, because
/// urgent data is not modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x20);
    /// ECN-Echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion Window Reduced.
    pub const CWR: Flags = Flags(0x80);

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the ACE field of RFC 9768: AE, CWR and ECE as a number.
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0 & Flags::AE.0) >> 3 | (self.0 & Flags::CWR.0) >> 6 | (self.0 & Flags::ECE.0) >> 6
    }

    /// Returns the flags that form this ACE field.
    #[inline]
    pub const fn of_ace(ace: u8) -> Flags {
        Flags((ace & 4) << 3 | (ace & 2) << 6 | (ace & 1) << 6)
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}
impl std::ops::BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Timestamps option with its padding (RFC 7323, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;

/// Up to four SACK blocks (RFC 2018, section 3), each `[start, end)` in wire sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    /// Number of blocks.
    pub len: u8,
    /// The blocks, most recent first.
    pub blocks: [(u32, u32); 4],
}

impl SackBlocks {
    /// The blocks in use.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.len as usize]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [(u32, u32)] {
        &mut self.blocks[..self.len as usize]
    }
}

/// AccECN option (RFC 9768): counters of payload bytes by ECN codepoint, modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccEcnOption {
    /// 0 (kind 172): ECT(0), CE, ECT(1); 1 (kind 174): ECT(1), CE, ECT(0).
    pub order: u8,
    /// Number of counters present, from the first on.
    pub fields: u8,
    /// The counters.
    pub counters: [u32; 3],
}

impl AccEcnOption {
    /// Returns the size of the option in bytes, padded to a multiple of four.
    #[inline]
    pub fn padded_bytes(&self) -> u32 {
        (2 + 3 * u32::from(self.fields)).next_multiple_of(4)
    }
}

/// A segment without its SACK blocks and AccECN option: 36 bytes, which are copied as a whole into and out of the
/// simulator's packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// First sequence number of the segment (of the SYN if it carries one).
    pub seq: u32,
    /// Acknowledgment number; valid if `flags` has [`Flags::ACK`].
    pub ack: u32,
    /// Receive window in bytes, after scaling (not the wire's 16 bits).
    pub window: u32,
    /// Payload bytes.
    pub len: u32,
    /// Timestamps option (RFC 7323): value. Valid if `has_timestamps`.
    pub ts_val: u32,
    /// Timestamps option: echo reply.
    pub ts_ecr: u32,
    /// IP plus TCP bytes of this segment, including payload: the bytes that links serialize.
    pub wire_bytes: u32,
    /// Header flags.
    pub flags: Flags,
    /// Whether the timestamps option is present.
    pub has_timestamps: bool,
    /// Whether this segment's first byte was sent before (for traces; receivers do not use it).
    pub retransmission: bool,
    /// IP ECN codepoint to send with (2 bits), or as received.
    pub ecn: u8,
    /// On SYN segments: the MSS option (0 = absent).
    pub mss: u16,
    /// On SYN segments: the window scale option plus one (0 = absent).
    pub window_scale_plus_1: u8,
    /// On SYN segments: SACK permitted.
    pub sack_permitted: bool,
}

impl Header {
    /// Whether the segment has neither data, nor SYN or FIN.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0 && !self.flags.has(Flags::SYN) && !self.flags.has(Flags::FIN)
    }

    /// Whether the timestamp, which must be present, is older than this one (RFC 7323, section 5.2).
    #[inline]
    pub(crate) fn is_older_than(&self, stamp: u32) -> bool {
        (self.ts_val.wrapping_sub(stamp) as i32) < 0
    }
}

/// One segment: its header, to which it dereferences, and the options that few segments carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// All but SACK blocks and the AccECN option.
    pub header: Header,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// AccECN option.
    pub accecn: Option<AccEcnOption>,
}

impl Segment {
    /// Returns the range that this segment reports as received twice: by RFC 2883, section 4, the first SACK block, if it lies
    /// below the ACK or within the second block. `iss`, `una`: of the end that receives this.
    pub(crate) fn received_twice(&self, iss: u32, una: u64) -> Option<(u64, u64)> {
        let at = |wire: u32| from_wire(iss, wire, una);
        let blocks = self.sack.as_slice();
        let first = blocks.first()?;
        let within = blocks.get(1).is_some_and(|second| at(first.0) >= at(second.0) && at(first.1) <= at(second.1));
        let known = within || at(first.1) <= at(self.ack);
        (known && at(first.0) > 0 && at(first.0) < at(first.1)).then(|| (at(first.0) as u64, at(first.1) as u64))
    }
}

impl From<Header> for Segment {
    #[inline]
    fn from(header: Header) -> Segment {
        Segment { header, sack: SackBlocks::default(), accecn: None }
    }
}

impl std::ops::Deref for Segment {
    type Target = Header;
    #[inline]
    fn deref(&self) -> &Header {
        &self.header
    }
}

impl std::ops::DerefMut for Segment {
    #[inline]
    fn deref_mut(&mut self) -> &mut Header {
        &mut self.header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accecn_option_has_three_bytes_for_each_counter_and_is_padded_to_words() {
        let bytes = |fields| AccEcnOption { fields, ..AccEcnOption::default() }.padded_bytes();
        assert_eq!([0, 1, 2, 3].map(bytes), [4, 8, 8, 12]);
    }

    #[test]
    fn the_ace_field_is_ae_cwr_and_ece_from_the_left() {
        for ace in 0..8 {
            let flags = Flags::of_ace(ace);
            assert_eq!(flags.ace(), ace);
            let set = [Flags::AE, Flags::CWR, Flags::ECE].map(|flag| u8::from(flags.has(flag)));
            assert_eq!(set[0] * 4 + set[1] * 2 + set[2], ace);
            assert_eq!((flags | Flags::ACK | Flags::SYN | Flags::FIN | Flags::PSH | Flags::RST).ace(), ace);
        }
        assert!((Flags::SYN | Flags::ACK).has(Flags::SYN | Flags::ACK) && !Flags::SYN.has(Flags::SYN | Flags::ACK));
    }

    #[test]
    fn a_timestamp_is_older_by_less_than_half_of_the_numbers() {
        let is_older = |ts_val, than| Header { ts_val, ..Header::default() }.is_older_than(than);
        assert!(is_older(4, 5) && !is_older(5, 5) && !is_older(6, 5));
        assert!(is_older(u32::MAX, 0) && !is_older(0, u32::MAX));
        assert!(is_older(0, 0x7fff_ffff) && is_older(0, 0x8000_0000) && !is_older(0, 0x8000_0001));
    }

    #[test]
    fn blocks_in_use_are_the_first_ones() {
        let mut sack = SackBlocks { len: 2, blocks: [(1, 2), (5, 7), (9, 10), (0, 0)] };
        assert_eq!(sack.as_slice(), [(1, 2), (5, 7)]);
        sack.as_mut_slice()[1] = (5, 8);
        assert_eq!(sack.as_slice(), [(1, 2), (5, 8)]);
    }
}
