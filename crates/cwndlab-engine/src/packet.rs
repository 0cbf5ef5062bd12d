//! The simulator's packet: a value of 56 bytes, so that the packet and its arrival time fill a cache line.

use cwndlab_net::{Ack, Ecn};
use cwndlab_tcp::{AccEcnOption, Flags, Header, Segment};
use cwndlab_units::Time;

/// A segment in flight. Its SACK blocks and AccECN option are in a side table, since few packets carry any.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    header: Header,
    /// Connection slot and, in the lowest bit, the end to which the packet goes (0 = client).
    pub(crate) to: u32,
    /// Position of the next hop in the routes.
    pub(crate) route: u32,
    /// Slot of the packet's options in the side table, plus one; 0 if it has none.
    sack: u32,
    /// Identification field of the IP header; 0 unless a probe records it.
    pub(crate) ip_id: u16,
    /// The ID by which class-based queues recognize the packet's traffic; 0 if no class lists it.
    pub(crate) traffic: u8,
    /// Time at which the packet was sent, in ticks of the run's [`Ticks`]: the lower 32 bits of 40, and the upper 8; 0 if
    /// delays are not recorded.
    sent_at: u32,
    sent_at_high: u8,
}

const _: () = assert!(size_of::<Packet>() <= 56);

/// The unit of the time at which packets were sent. It is 16 ns, or more in runs of over 4.8 hours, so that 40 bits hold
/// every time of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    shift: u32,
}

impl Ticks {
    const BITS: u32 = 40;
    const SHORTEST: u32 = 4;

    /// The ticks of a run of this length.
    pub(crate) fn of_run(duration: Time) -> Ticks {
        let needed = (u64::BITS - duration.as_nanos().leading_zeros()).saturating_sub(Self::BITS);
        Ticks { shift: needed.max(Self::SHORTEST) }
    }
}

impl Packet {
    #[allow(clippy::inline_always)] // once per packet; a call would copy the packet once more
    #[inline(always)]
    pub(crate) fn new(segment: &Segment, to: u32, route: u32, sacks: &mut SackTable) -> Packet {
        let bare = segment.sack.len == 0 && segment.accecn.is_none();
        let sack = if bare { 0 } else { sacks.store(*segment) };
        Packet { header: segment.header, sack, ..Packet::to_end(to, route) }
    }

    /// A packet without a segment. The header of a segment with neither SACK blocks nor an AccECN option, which describes
    /// it completely, is written to [`Self::header_mut`].
    #[inline]
    pub(crate) fn to_end(to: u32, route: u32) -> Packet {
        Packet { to, route, ..Packet::default() }
    }

    /// The header of the packet's segment.
    #[inline]
    pub(crate) fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    /// The packet of a segment with AccECN's option and no SACK blocks.
    #[inline]
    pub(crate) fn with_option(
        header: Header,
        option: &AccEcnOption,
        to: u32,
        route: u32,
        sacks: &mut SackTable,
    ) -> Packet {
        Packet { header, sack: sacks.store_option(option), ..Packet::to_end(to, route) }
    }

    /// Writes the packet for the next hop of its route.
    #[inline]
    pub(crate) fn write_onward(&self, place: &mut Packet) {
        *place = *self;
        place.route += 1;
    }

    /// The segment as the endpoint sees it. The packet's options stay in the table.
    #[inline]
    pub(crate) fn segment(&self, sacks: &SackTable) -> Segment {
        if self.sack == 0 {
            return Segment::from(self.header);
        }
        Segment { header: self.header, ..sacks.slots[self.sack as usize - 1] }
    }

    /// The segment's header, if the segment has no options in the side table.
    #[inline]
    pub(crate) fn bare(&self) -> Option<&Header> {
        (self.sack == 0).then_some(&self.header)
    }

    /// The packet for the next hop of its route.
    #[inline]
    pub(crate) fn onward(&self) -> Packet {
        Packet { route: self.route + 1, ..*self }
    }

    /// Stores the slot of the payload of a stack's datagram, which has no timestamps option.
    pub(crate) fn set_payload_slot(&mut self, slot: u32) {
        self.header.ts_val = slot;
    }

    /// The slot of the payload of a stack's datagram.
    pub(crate) fn payload_slot(&self) -> u32 {
        self.header.ts_val
    }

    /// The ECN field of the IP header.
    pub(crate) fn ecn_bits(&self) -> u8 {
        self.header.ecn
    }

    /// Whether the segment's first byte has been sent before.
    pub(crate) fn is_retransmission(&self) -> bool {
        self.header.retransmission
    }

    /// Stores `now` as the time at which the packet is sent.
    pub(crate) fn stamp(&mut self, now: Time, ticks: Ticks) {
        let at = now.as_nanos() >> ticks.shift;
        (self.sent_at, self.sent_at_high) = (at as u32, (at >> 32) as u8);
    }

    /// The time since the packet was sent, rounded to a tick.
    pub(crate) fn age(&self, now: Time, ticks: Ticks) -> Time {
        let sent_at = (u64::from(self.sent_at_high) << 32) | u64::from(self.sent_at);
        Time::from_nanos(((now.as_nanos() >> ticks.shift) - sent_at) << ticks.shift)
    }

    /// Gives a duplicate its own slot in the side table, because the original and the duplicate each free their slot.
    pub(crate) fn own_sacks(&mut self, sacks: &mut SackTable) {
        if self.sack != 0 {
            self.sack = sacks.store(sacks.slots[self.sack as usize - 1]);
        }
    }
}

impl cwndlab_net::Packet for Packet {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.header.wire_bytes
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.header.ecn {
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            3 => Ecn::Ce,
            _ => Ecn::NotEct,
        }
    }
    #[inline]
    fn mark_ce(&mut self) {
        self.header.ecn = Ecn::Ce as u8;
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
        // In the simulator, the SYN has sequence number 0, so the first payload byte has sequence number 1.
        (self.header.seq.wrapping_sub(1), self.header.len)
    }
    #[inline]
    fn route_position(&self) -> u32 {
        self.route
    }
    fn ack(&self) -> Option<Ack> {
        let flags = self.header.flags;
        let ecn_flags = flags.0 & (Flags::ECE.0 | Flags::CWR.0);
        Some(Ack {
            number: self.header.ack,
            acknowledges: flags.has(Flags::ACK) && !flags.has(Flags::SYN),
            pure: self.header.len == 0 && flags.0 & !ecn_flags == Flags::ACK.0,
            ecn_flags,
            timestamps: self.header.has_timestamps.then_some((self.header.ts_val, self.header.ts_ecr)),
            sack: self.sack != 0,
        })
    }
}

/// The options of the packets in flight, which few segments carry. Their headers are in the packets; those in the slots
/// have no meaning.
#[derive(Debug, Default)]
pub(crate) struct SackTable {
    slots: Vec<Segment>,
    free: Vec<u32>,
}

impl SackTable {
    /// The segment of a packet with options, made in its slot, so that only the header is copied.
    #[inline]
    pub(crate) fn segment(&mut self, packet: &Packet) -> &Segment {
        let slot = &mut self.slots[packet.sack as usize - 1];
        slot.header = packet.header;
        slot
    }

    /// Stores a segment's options and returns their slot plus one.
    #[inline]
    fn store(&mut self, options: Segment) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize - 1] = options;
            return slot;
        }
        self.slots.push(options);
        self.slots.len() as u32
    }

    /// Stores AccECN's option alone.
    #[inline]
    fn store_option(&mut self, option: &AccEcnOption) -> u32 {
        let Some(slot) = self.free.pop() else {
            return self.store(Segment { accecn: Some(*option), ..Segment::default() });
        };
        let Segment { sack, accecn, .. } = &mut self.slots[slot as usize - 1];
        (sack.len, *accecn) = (0, Some(*option));
        slot
    }

    /// Frees the options of a packet that was delivered or dropped.
    #[inline]
    pub(crate) fn release(&mut self, packet: &Packet) {
        if packet.sack != 0 {
            self.free.push(packet.sack);
        }
    }

    /// Number of packets in flight that have options.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_net::Packet as _;
    use cwndlab_tcp::SackBlocks;

    #[test]
    fn a_segment_survives_the_packet() {
        let header = Header { seq: 1, ack: u32::MAX, ecn: 2, mss: 1460, ..Header::default() };
        let sack = SackBlocks { len: 1, blocks: [(9, 10), (0, 0), (0, 0), (0, 0)] };
        let segment = Segment { header, sack, accecn: Some(AccEcnOption { order: 1, fields: 3, counters: [1, 0, 1] }) };
        let mut sacks = SackTable::default();
        let packet = Packet::new(&segment, 0, 0, &mut sacks);
        assert_eq!((packet.segment(&sacks), *sacks.segment(&packet)), (segment, segment));
        assert_eq!((packet.ecn(), sacks.in_use()), (Ecn::Ect0, 1));
        sacks.release(&packet);
        assert_eq!(sacks.in_use(), 0);
    }
    #[test]
    fn the_flow_of_a_packet_is_its_connection_and_its_direction() {
        let mut sacks = SackTable::default();
        let segment = Segment { header: Header::default(), sack: SackBlocks::default(), accecn: None };
        let mut flow = |to| Packet::new(&segment, to, 0, &mut sacks).flow_key();
        let flows = [flow(0), flow(1), flow(2), flow(3), flow(1)];
        assert_eq!(flows, [0, 1, 2, 3, 1]);
    }

    #[test]
    fn a_packet_keeps_its_ecn_field_payload_slot_and_age() {
        for ecn in 0..4 {
            let segment = Segment::from(Header { ecn, retransmission: ecn == 1, ..Header::default() });
            let mut packet = Packet::new(&segment, 0, 0, &mut SackTable::default());
            assert_eq!((packet.ecn_bits(), packet.is_retransmission()), (ecn, ecn == 1));
            packet.set_payload_slot(u32::MAX - u32::from(ecn));
            assert_eq!(packet.payload_slot(), u32::MAX - u32::from(ecn));
            assert_eq!(packet.onward().route, packet.route + 1);
        }
    }

    #[test]
    fn a_queue_sees_the_codepoint_the_size_and_the_bytes_of_a_packet() {
        for (bits, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            let mut packet = Packet::to_end(6, 9);
            *packet.header_mut() = Header { ecn: bits, seq: 1461, len: 700, wire_bytes: 740, ..Header::default() };
            assert_eq!((packet.ecn(), packet.payload(), packet.wire_bytes()), (ecn, (1460, 700), 740));
            assert_eq!((packet.flow_key(), packet.route_position(), packet.traffic()), (6, 9, 0));
            packet.mark_ce();
            assert_eq!((packet.ecn(), packet.ecn_bits()), (Ecn::Ce, 3));
        }
        assert_eq!(Packet::default().payload().0, u32::MAX, "a SYN comes before the first byte");
    }

    /// An ACK is pure without data and without other flags than those of ECN.
    #[test]
    fn a_filter_sees_the_acknowledgment_of_a_packet() {
        let (ack, syn, psh, ece, cwr) = (Flags::ACK.0, Flags::SYN.0, Flags::PSH.0, Flags::ECE.0, Flags::CWR.0);
        for (flags, len, acknowledges, pure) in [
            (ack, 0, true, true),
            (ack, 1, true, false),
            (ack | ece, 0, true, true),
            (ack | ece | cwr, 0, true, true),
            (ack | psh, 0, true, false),
            (ack | syn, 0, false, false),
            (syn, 0, false, false),
            (ece, 0, false, false),
        ] {
            for (sack, has_timestamps) in [(0, false), (3, true)] {
                let mut packet = Packet { sack, ..Packet::default() };
                let times = Header { has_timestamps, ts_val: 5, ts_ecr: 4, ..Header::default() };
                *packet.header_mut() = Header { flags: Flags(flags), len, ack: 77, ..times };
                let expected = Ack {
                    number: 77,
                    acknowledges,
                    pure,
                    ecn_flags: flags & (ece | cwr),
                    timestamps: has_timestamps.then_some((5, 4)),
                    sack: sack > 0,
                };
                assert_eq!(cwndlab_net::Packet::ack(&packet), Some(expected), "{flags:#b} {len}");
            }
        }
    }

    #[test]
    fn a_packet_with_an_option_alone_takes_a_free_slot_without_its_blocks() {
        let sack = SackBlocks { len: 1, blocks: [(9, 10), (0, 0), (0, 0), (0, 0)] };
        let mut sacks = SackTable::default();
        let first = Packet::new(&Segment { sack, ..Segment::default() }, 0, 0, &mut sacks);
        let option = AccEcnOption { order: 1, fields: 3, counters: [1, 2, 3] };
        let header = Header { seq: 5, ..Header::default() };
        for in_use in [2, 2] {
            let packet = Packet::with_option(header, &option, 3, 7, &mut sacks);
            let segment = packet.segment(&sacks);
            assert_eq!((segment.header, segment.accecn, segment.sack.len), (header, Some(option), 0));
            assert_eq!((packet.to, packet.route, sacks.in_use(), packet.bare()), (3, 7, in_use, None));
            assert_eq!(first.segment(&sacks).sack.as_slice(), [(9, 10)], "the other's blocks stay");
            sacks.release(&packet);
        }
        sacks.release(&first);
        let reused = Packet::with_option(header, &option, 3, 7, &mut sacks);
        assert_eq!((reused.segment(&sacks).sack.len, sacks.slots.len()), (0, 2));
    }

    #[test]
    fn options_of_several_packets_have_slots_of_their_own() {
        let with = |k: u32| Segment {
            header: Header { seq: k, ..Header::default() },
            sack: SackBlocks { len: 1, blocks: [(k, k + 1), (0, 0), (0, 0), (0, 0)] },
            accecn: None,
        };
        let mut sacks = SackTable::default();
        let packets = [1, 2, 3].map(|k| Packet::new(&with(k), 0, 0, &mut sacks));
        sacks.release(&packets[1]);
        let fourth = Packet::new(&with(4), 0, 0, &mut sacks);
        assert_eq!(sacks.in_use(), 3, "the slot of the second is used again");
        for (packet, k) in [(&packets[0], 1), (&packets[2], 3), (&fourth, 4)] {
            assert_eq!(packet.segment(&sacks), with(k));
        }
        sacks.release(&packets[0]);
        let option = Some(AccEcnOption { order: 1, fields: 3, counters: [1, 2, 3] });
        let alone = Segment { sack: SackBlocks::default(), accecn: option, ..with(5) };
        let fifth = Packet::new(&alone, 0, 0, &mut sacks);
        assert_eq!(sacks.in_use(), 3, "an option alone takes a free slot, too");
        for (packet, segment) in [(&fifth, alone), (&packets[2], with(3)), (&fourth, with(4))] {
            let found = packet.segment(&sacks);
            assert_eq!((found.accecn, found.sack.as_slice()), (segment.accecn, segment.sack.as_slice()));
        }
    }

    #[test]
    fn the_age_of_a_packet_is_right_for_every_delay_that_fits_into_the_run() {
        let day = 24 * 3600;
        for (run, tick_ns) in [(600, 16), (17_000, 16), (day, 128), (365 * day, 32_768)] {
            let ticks = Ticks::of_run(Time::from_secs(run));
            for (sent, received) in [(0, run), (run - 1, run), (0, 69), (run / 3, run / 2), (100, 200)] {
                let mut packet = Packet::default();
                packet.stamp(Time::from_secs(sent), ticks);
                let age = packet.age(Time::from_secs(received), ticks).as_nanos();
                let true_age = (received - sent) * 1_000_000_000;
                assert!(age.abs_diff(true_age) < tick_ns, "{run} s, {sent} to {received} s: {age}");
            }
        }
    }
}
