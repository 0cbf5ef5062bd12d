//! The properties of a packet that path elements use.

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 01 (L4S's identifier in RFC 9331).
    Ect1 = 1,
    /// ECN-capable, codepoint 10 (the one ECT bit of RFC 2481).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// A packet as links and queues see it. In the simulator it is a 56-byte value, in the router the index of a buffer.
/// The default value only fills unused slots of rings.
pub trait Packet: Copy + Default {
    /// Size of the packet on the link and in a byte-limited queue, excluding the link's own header.
    fn wire_bytes(&self) -> u32;
    /// The ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to CE. Queues call this only if [`Packet::ecn`] is ECT(0) or ECT(1).
    fn mark_ce(&mut self);
    /// A key that identifies the flow (both addresses, both ports, protocol), for queues that distinguish flows.
    fn flow_key(&self) -> u64;
    /// The low 32 bits of the stream offset of the first payload byte, and the payload's length. Used only to drop the
    /// packets that carry given bytes ([`crate::impair::ImpairmentConfig::DropSeq`]).
    fn payload(&self) -> (u32, u32);
    /// The ID of the traffic to which the packet belongs, as passed to [`crate::queue::QueueConfig::number_traffic`]; 0
    /// if no class-based queue has a class for this traffic.
    fn traffic(&self) -> u8 {
        0
    }
    /// The Differentiated Services codepoint of the IP header, if packets have one.
    fn dscp(&self) -> u8 {
        0
    }
    /// The packet's position on its route, by which [`crate::queue::QueueConfig::number_hosts`] finds both hosts.
    fn route_position(&self) -> u32 {
        0
    }
    /// What a filter of ACKs looks at; `None` if the packet is no TCP segment.
    fn ack(&self) -> Option<Ack> {
        None
    }
}

/// The parts of a TCP header by which a filter decides whether an ACK is redundant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The acknowledgment number.
    pub number: u32,
    /// Whether the ACK flag is set and SYN is not.
    pub acknowledges: bool,
    /// Whether it has no data and no flag but ACK, ECE and CWR, and only options whose loss does no harm.
    pub pure: bool,
    /// The flags ECE and CWR.
    pub ecn_flags: u8,
    /// Value and echo reply of the timestamps option.
    pub timestamps: Option<(u32, u32)>,
    /// Whether it has SACK blocks.
    pub sack: bool,
}

/// Why a packet was dropped. The values are the indices of [`crate::LinkCounters::drops`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// The buffer was full.
    Full = 0,
    /// Active queue management dropped the packet.
    Aqm = 1,
    /// A loss model of the link dropped the packet.
    Loss = 2,
}

impl DropCause {
    /// Number of causes.
    pub const COUNT: usize = 3;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Default)]
    struct Plain;

    impl Packet for Plain {
        fn wire_bytes(&self) -> u32 {
            1
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark_ce(&mut self) {}
        fn flow_key(&self) -> u64 {
            0
        }
        fn payload(&self) -> (u32, u32) {
            (0, 0)
        }
    }

    #[test]
    fn a_packet_of_which_nothing_more_is_known_is_of_no_class() {
        assert_eq!((Plain.traffic(), Plain.dscp(), Plain.route_position(), Plain.ack()), (0, 0, 0, None));
    }
}
