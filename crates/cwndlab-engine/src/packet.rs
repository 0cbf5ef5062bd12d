//! The simulator's packet: a value of 48 bytes; with its arrival time it fills no more than a cache line.

use cwndlab_net::Ecn;
use cwndlab_tcp::{Flags, SackBlocks, Segment};

/// A segment under way, compressed: SACK blocks live in a side table, since few packets carry any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    seq: u32,
    ack: u32,
    window: u32,
    len: u32,
    ts_val: u32,
    ts_ecr: u32,
    wire_bytes: u32,
    /// Connection slot and, in the lowest bit, the end it goes to (0 = client).
    pub(crate) to: u32,
    /// Position in the routes of the next hop.
    pub(crate) route: u32,
    /// SACK blocks' slot plus one; 0 = none.
    sack: u32,
    mss: u16,
    /// Identification of the IP header; 0 where nobody watches.
    pub(crate) ip_id: u16,
    flags: Flags,
    /// What class-based queues know its traffic by.
    pub(crate) traffic: u8,
    ecn: u8,
    /// Options, and above them the window scale plus one (at most 15: RFC 7323, section 2.3).
    bits: u8,
}

const _: () = assert!(size_of::<Packet>() <= 48);

const TIMESTAMPS: u8 = 1;
const RETRANSMISSION: u8 = 2;
const SACK_PERMITTED: u8 = 4;
const SCALE_SHIFT: u32 = 3;

impl Packet {
    #[inline]
    pub(crate) fn new(segment: &Segment, to: u32, route: u32, sacks: &mut SackTable) -> Packet {
        let sack = if segment.sack.len == 0 { 0 } else { sacks.store(segment.sack) };
        Packet {
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            len: segment.len,
            ts_val: segment.ts_val,
            ts_ecr: segment.ts_ecr,
            wire_bytes: segment.wire_bytes,
            to,
            route,
            sack,
            mss: segment.mss,
            ip_id: 0,
            flags: segment.flags,
            traffic: 0,
            ecn: segment.ecn,
            bits: (segment.window_scale_plus_1 << SCALE_SHIFT)
                | (u8::from(segment.has_timestamps) * TIMESTAMPS)
                | (u8::from(segment.retransmission) * RETRANSMISSION)
                | (u8::from(segment.sack_permitted) * SACK_PERMITTED),
        }
    }

    /// The segment as the endpoint sees it; the packet's SACK blocks stay in the table.
    #[inline]
    pub(crate) fn segment(&self, sacks: &SackTable) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack,
            window: self.window,
            len: self.len,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
            wire_bytes: self.wire_bytes,
            flags: self.flags,
            has_timestamps: self.bits & TIMESTAMPS != 0,
            retransmission: self.bits & RETRANSMISSION != 0,
            ecn: self.ecn,
            mss: self.mss,
            window_scale_plus_1: self.bits >> SCALE_SHIFT,
            sack_permitted: self.bits & SACK_PERMITTED != 0,
            sack: if self.sack == 0 { SackBlocks::default() } else { sacks.slots[self.sack as usize - 1] },
        }
    }

    /// A copy made by a link's duplication: shares nothing with the original.
    pub(crate) fn own_sacks(&mut self, sacks: &mut SackTable) {
        if self.sack != 0 {
            self.sack = sacks.store(sacks.slots[self.sack as usize - 1]);
        }
    }
}

impl cwndlab_net::Packet for Packet {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.ecn {
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => Ecn::NotEct,
        }
    }
    #[inline]
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce as u8;
    }
    #[inline]
    fn flow_key(&self) -> u64 {
        u64::from(self.to)
    }
    #[inline]
    fn traffic(&self) -> u8 {
        self.traffic
    }
    #[inline]
    fn payload(&self) -> (u32, u32) {
        // the SYN is position 0 and initial sequence numbers are 0 in the simulator
        (self.seq.wrapping_sub(1), self.len)
    }
}

/// SACK blocks of the packets under way.
#[derive(Debug, Default)]
pub(crate) struct SackTable {
    slots: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackTable {
    /// Stores blocks; the answer is their slot plus one.
    #[inline]
    fn store(&mut self, blocks: SackBlocks) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize - 1] = blocks;
            return slot;
        }
        self.slots.push(blocks);
        self.slots.len() as u32
    }

    /// Forgets the blocks of a packet that was delivered or dropped.
    #[inline]
    pub(crate) fn release(&mut self, packet: &Packet) {
        if packet.sack != 0 {
            self.free.push(packet.sack);
        }
    }

    /// How many packets under way have blocks.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_net::Packet as _;

    #[test]
    fn a_segment_survives_the_packet() {
        let segment = Segment {
            seq: 1,
            ack: u32::MAX,
            window: 3,
            len: 4,
            ts_val: 5,
            ts_ecr: 6,
            wire_bytes: 7,
            flags: Flags::ACK | Flags::SYN,
            has_timestamps: true,
            retransmission: true,
            ecn: 2,
            mss: 1460,
            window_scale_plus_1: 15,
            sack_permitted: true,
            sack: SackBlocks { len: 1, blocks: [(9, 10), (0, 0), (0, 0), (0, 0)] },
        };
        let mut sacks = SackTable::default();
        let packet = Packet::new(&segment, 0, 0, &mut sacks);
        assert_eq!(packet.segment(&sacks), segment);
        assert_eq!((packet.ecn(), sacks.in_use()), (Ecn::Ect0, 1));
        sacks.release(&packet);
        assert_eq!(sacks.in_use(), 0);
    }
}
