use super::*;
use proptest::prelude::*;

/// The checksum of RFC 791, computed over the whole header.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A SYN from 10.0.0.1:1000 to 10.0.0.2:80 with an MSS option and 3 bytes of payload.
pub(crate) fn packet(traffic_class: u8) -> Vec<u8> {
    let mut packet = vec![0x45, traffic_class, 0, 47, 0x12, 0x34, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([0x03, 0xe8, 0, 80, 0, 0, 0x10, 0, 0, 0, 0, 9, 0x60, Tcp::SYN, 0x20, 0, 0, 0, 0, 0]);
    packet.extend([2, 4, 5, 180, b'a', b'b', b'c']);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn a_tcp_packet_is_read_field_by_field() {
    let header = Header::parse(&packet(2)).unwrap();
    assert_eq!(header.source, Ipv4Addr::new(10, 0, 0, 1));
    assert_eq!(header.destination, Ipv4Addr::new(10, 0, 0, 2));
    assert_eq!((header.ecn, header.total_bytes), (Ecn::Ect0, 47));
    let tcp = Tcp {
        source_port: 1000,
        destination_port: 80,
        seq: 4096,
        ack: 9,
        flags: Tcp::SYN,
        window: 8192,
        options: (40, 44),
        payload: 3,
    };
    assert_eq!(header.tcp, Some(tcp));
}

/// RFC 3168, section 5: the codepoints, in the last two bits of the traffic class.
#[test]
fn each_codepoint_is_read_and_set() {
    let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    for (bits, ecn) in (0..).zip(codepoints) {
        assert_eq!(Header::parse(&packet(bits | 46 << 2)).map(|header| (header.ecn, header.dscp)), Some((ecn, 46)));
        for before in 0..4 {
            let mut changed = packet(before | 46 << 2);
            set_ecn(&mut changed, ecn);
            assert_eq!((changed[1], checksum(&changed[..20])), (bits | 46 << 2, 0), "{before} {bits}");
        }
    }
}

#[test]
fn the_ace_field_is_read_with_ae_in_the_place_of_urg() {
    let mut accurate = packet(2);
    (accurate[32], accurate[33]) = (0x61, 0xe0 | Tcp::SYN); // AE; CWR, ECE and URG
    assert_eq!(Header::parse(&accurate).unwrap().tcp.unwrap().flags, 0xe0 | Tcp::SYN);
    accurate[32] = 0x60;
    assert_eq!(Header::parse(&accurate).unwrap().tcp.unwrap().flags, 0xc0 | Tcp::SYN);
}

#[test]
fn truncated_foreign_and_fragmented_packets_are_not_taken_for_tcp() {
    let whole = packet(0);
    for length in 0..whole.len() {
        assert_eq!(Header::parse(&whole[..length]), None, "{length}");
    }
    let mut six = whole.clone();
    six[0] = 0x65;
    assert_eq!(Header::parse(&six), None);
    let mut fragment = whole;
    fragment[7] = 1;
    assert_eq!(Header::parse(&fragment).unwrap().tcp, None);
}

#[test]
fn the_two_directions_of_a_connection_are_two_flows() {
    let forth = Header::parse(&packet(0)).unwrap();
    let tcp = forth.tcp.unwrap();
    let back = Header {
        source: forth.destination,
        destination: forth.source,
        tcp: Some(Tcp { source_port: tcp.destination_port, destination_port: tcp.source_port, ..tcp }),
        ..forth
    };
    assert_ne!(forth.flow_key(), back.flow_key());
    assert_eq!(forth.flow_key(), Header { ecn: Ecn::Ce, ..forth }.flow_key());
}

proptest! {
    #[test]
    fn a_marked_header_has_the_checksum_that_a_recomputation_gives(mut header in prop::array::uniform20(any::<u8>())) {
        header[0] = 0x45;
        header[10..12].fill(0);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        for (ecn, bits) in [(Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::NotEct, 0), (Ecn::Ce, 3)] {
            let class = header[1] >> 2;
            set_ecn(&mut header, ecn);
            prop_assert_eq!((header[1] & 3, header[1] >> 2), (bits, class));
            prop_assert_eq!(checksum(&header), 0, "the sum over a right header is zero");
        }
    }

    /// Whatever the lengths in a packet say, what is parsed lies within it. Half of the packets begin as IPv4 with TCP or
    /// UDP, so that most of these are accepted.
    #[test]
    fn no_packet_makes_the_parser_read_beyond_it(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        protocol in prop::sample::select(vec![TCP, UDP]),
        plausible in any::<bool>(),
    ) {
        if plausible && bytes.len() >= 40 {
            (bytes[0], bytes[2], bytes[9]) = (0x45, 0, protocol);
            bytes[3] = bytes[3].min(bytes.len() as u8).max(20);
            bytes[6..8].fill(0);
        }
        let parsed = Header::parse(&bytes);
        prop_assert!(parsed.is_some() || !(plausible && bytes.len() >= 40), "a plausible packet is rejected");
        let Some(header) = parsed else { return Ok(()) };
        let total = header.total_bytes as usize;
        prop_assert!((20..=bytes.len()).contains(&total));
        if let Some(tcp) = header.tcp {
            let (from, to) = (usize::from(tcp.options.0), usize::from(tcp.options.1));
            prop_assert!(from <= to && to + tcp.payload as usize == total);
        }
        if let Some(udp) = header.udp {
            prop_assert!(udp.payload as usize + 28 <= total);
        }
        header.flow_key();
        mark_ce(&mut bytes);
        prop_assert_eq!(Header::parse(&bytes).map(|marked| marked.ecn), Some(Ecn::Ce));
    }
}

#[test]
fn an_ack_is_read_with_its_timestamps_and_its_sack_blocks() {
    // 20 bytes of IP, 20 of TCP with the ACK flag, and options.
    let with = |flags: u8, options: &[u8]| {
        let length = (40 + options.len()) as u8;
        let mut packet = vec![0x45, 46 << 2, 0, length, 0, 1, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let words = (5 + options.len() / 4) as u8;
        packet.extend([3, 232, 0, 80, 0, 0, 0, 1, 0, 0, 1, 0, words << 4, flags, 32, 0, 0, 0, 0, 0]);
        packet.extend(options);
        Header::parse(&packet).unwrap().ack(&packet).unwrap()
    };
    let plain = Ack { number: 256, acknowledges: true, pure: true, ecn_flags: 0, timestamps: None, sack: false };
    assert_eq!(with(0x10, &[]), plain);
    assert_eq!(with(0x50, &[]), Ack { ecn_flags: 0x40, ..plain });
    assert_eq!(with(0x18, &[]), Ack { pure: false, ..plain }, "PSH");
    let stamps = [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, 0, 0, 0, 7, 0, 0, 0, 9];
    assert_eq!(with(0x10, &stamps), Ack { timestamps: Some((7, 9)), ..plain });
    let sack = [NO_OPERATION, NO_OPERATION, SACK, 10, 0, 0, 1, 1, 0, 0, 1, 2];
    assert_eq!(with(0x10, &sack), Ack { sack: true, ..plain });
    assert_eq!(with(0x10, &[99, 4, 0, 0]), Ack { pure: false, ..plain }, "an option whose loss may harm");
    let unread = Ack { number: 9, acknowledges: false, pure: false, ..plain };
    assert_eq!(Header::parse(&packet(2)).unwrap().ack(&packet(2)), Some(unread), "a SYN with data");
    assert_eq!(Header::parse(&packet(46 << 2)).unwrap().dscp, 46);
}

/// A SYN from `fd93::1:1` to `fd93::2:1`, as [`packet`].
fn packet_v6(traffic_class: u8) -> Vec<u8> {
    let four = packet(0);
    let class = [0x60 | traffic_class >> 4, traffic_class << 4, 0x12, 0x34];
    let mut packet = [&class[..], &[0, 27, TCP, 64]].concat();
    for node in [1, 2] {
        packet.extend([0xfd, 0x93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, node, 0, 1]);
    }
    packet.extend(&four[20..]);
    packet
}

#[test]
fn ipv6_is_read_and_marked_in_its_traffic_class() {
    let mut six = packet_v6(46 << 2 | 2);
    let (before, four) = (Header::parse(&six).unwrap(), Header::parse(&packet(0)).unwrap());
    assert_eq!(before.source.to_string(), "fd93::1:1");
    assert_eq!(before.destination.to_string(), "fd93::2:1");
    assert_eq!((before.ecn, before.dscp, before.total_bytes), (Ecn::Ect0, 46, 67));
    let (tcp, of_four) = (before.tcp.unwrap(), four.tcp.unwrap());
    assert_eq!((tcp.source_port, tcp.seq, tcp.flags, tcp.payload), (1000, 4096, of_four.flags, 3));
    assert_eq!((tcp.options, before.ack(&six)), ((60, 64), four.ack(&packet(0))));
    let (key, print, unmarked) = (before.flow_key(), fingerprint(&six), six.clone());
    mark_ce(&mut six);
    six[7] = 63; // a hop later
    let after = Header::parse(&six).unwrap();
    assert_eq!((after.ecn, after.dscp, after.flow_key(), fingerprint(&six)), (Ecn::Ce, 46, key, print));
    assert_eq!((six[0], &six[2..7], &six[8..]), (unmarked[0], &unmarked[2..7], &unmarked[8..]));
    for length in 0..six.len() {
        assert_eq!(Header::parse(&six[..length]), None, "{length}");
    }
}
