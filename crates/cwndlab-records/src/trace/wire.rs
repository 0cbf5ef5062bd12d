//! Builds the IP and TCP or UDP headers of a recorded packet.
//!
//! Initial sequence numbers are 0. Payload is not recorded, so checksums are computed as if all its bytes were 0. Each
//! node has one address, each connection has its own client port, and each traffic entry has its own server port.

use crate::tables::SegmentRow;
use crate::trace::Flow;
use cwndlab_engine::Network;

const SYN: u8 = 0x02;
const AE: u8 = 0x20;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
/// Server port of the first traffic entry. Each further entry has the next port. 5001 is iperf's port, so tools show
/// the payload as data instead of decoding it.
pub const FIRST_SERVER_PORT: u16 = 5001;
/// Of more traffic entries, some have the same port; then their connections differ in the ports of the clients.
const SERVER_PORTS: u32 = 65_536 - FIRST_SERVER_PORT as u32;
const FIRST_CLIENT_PORT: u32 = 10_000;
const CLIENT_PORTS: u32 = 65_536 - FIRST_CLIENT_PORT;
const DONT_FRAGMENT: u16 = 0x4000;

/// The address of a node: 10.0.0.1 or `fd00::1` for node 0, 10.0.0.2 or `fd00::2` for node 1, and so on.
pub fn address(network: Network, node: u32) -> Vec<u8> {
    let [_, b, c, d] = (node + 1).to_be_bytes(); // the loader limits a study to fewer than 2^24 nodes
    match network {
        Network::Ipv4 => vec![10, b, c, d],
        Network::Ipv6 => vec![0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b, c, d],
    }
}

/// The window scale options of both ends, as seen in their SYNs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scaling {
    /// The shift count in each end's SYN: \[server, client\].
    offered: [Option<u8>; 2],
}

impl Scaling {
    fn see(&mut self, row: &SegmentRow) {
        if row.flags & SYN != 0 {
            self.offered[usize::from(row.from_client)] = row.window_scale;
        }
    }

    /// The window field of a row's header. Windows are scaled only if both SYNs offered scaling, and never in a SYN
    /// (RFC 7323, section 2.2).
    fn field(self, row: &SegmentRow) -> u16 {
        let shift = match self.offered {
            [Some(server), Some(client)] if row.flags & SYN == 0 => {
                if row.from_client {
                    client
                } else {
                    server
                }
            }
            _ => 0,
        };
        u16::try_from(row.window_bytes >> shift).unwrap_or(u16::MAX)
    }
}

/// The sequence number of the byte at a payload offset. The SYN has number 0, so the first byte has number 1.
fn sequence(offset: u64) -> u32 {
    (offset as u32).wrapping_add(1) // sequence numbers wrap at 2^32
}

fn options(row: &SegmentRow, out: &mut Vec<u8>) {
    let timestamps = row.ts_val.map(|value| {
        let mut option = [8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        option[2..6].copy_from_slice(&value.to_be_bytes());
        option[6..].copy_from_slice(&row.ts_ecr.unwrap_or(0).to_be_bytes());
        option
    });
    if row.flags & SYN != 0 {
        if let Some(mss) = row.mss_bytes {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
        }
        match (row.sack_permitted, timestamps) {
            (true, Some(timestamps)) => {
                out.extend([4, 2]);
                out.extend(timestamps);
            }
            (true, None) => out.extend([1, 1, 4, 2]),
            (false, Some(timestamps)) => {
                out.extend([1, 1]);
                out.extend(timestamps);
            }
            (false, None) => {}
        }
        accecn(row, out);
        if let Some(shift) = row.window_scale {
            out.extend([1, 3, 3, shift]);
        }
        return;
    }
    if let Some(timestamps) = timestamps {
        out.extend([1, 1]); // two NOPs before the option (RFC 7323, appendix A)
        out.extend(timestamps);
    }
    accecn(row, out);
    let blocks = row.sack.as_slice();
    let blocks = &blocks[..blocks.len().min(if row.ts_val.is_some() { 3 } else { 4 })]; // options have 40 bytes in all
    if !blocks.is_empty() {
        out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for &(start, end) in blocks {
            out.extend(sequence(start).to_be_bytes());
            out.extend(sequence(end).to_be_bytes());
        }
    }
}

/// Appends the AccECN option (RFC 9768), padded with NOPs to 32 bits.
fn accecn(row: &SegmentRow, out: &mut Vec<u8>) {
    let counters = row.accecn.as_slice();
    if counters.is_empty() {
        return;
    }
    out.extend([174, 2 + 3 * counters.len() as u8]);
    for counter in counters {
        out.extend(&counter.to_be_bytes()[1..]);
    }
    out.resize(out.len().next_multiple_of(4), 1);
}

/// The Internet checksum of `bytes` (RFC 1071); `start` is the sum of the words that precede them.
fn checksum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = bytes
        .chunks(2)
        .fold(start, |sum, pair| sum + u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Builds the headers of a segment. Also returns the IP total length, which includes the payload.
pub fn headers(
    network: Network,
    row: &SegmentRow,
    connection: u32,
    flow: Flow,
    scaling: &mut Scaling,
) -> (Vec<u8>, u32) {
    if flow.datagrams {
        return udp_headers(network, row, connection, flow);
    }
    scaling.see(row);
    let mut tcp_options = Vec::with_capacity(40);
    options(row, &mut tcp_options);
    let tcp_bytes = 20 + tcp_options.len();
    let total = network.header_bytes() + tcp_bytes as u32 + row.len;
    let (from, to) = ends(network, row, connection, flow);
    let mut out = ip_header(row, total, 6, &from.0, &to.0);
    let start = out.len();
    out.extend(from.1.to_be_bytes());
    out.extend(to.1.to_be_bytes());
    let seq = if row.flags & SYN != 0 { 0 } else { sequence(row.seq) };
    out.extend(seq.to_be_bytes());
    let ack = if row.flags & ACK != 0 { sequence(row.ack) } else { 0 };
    out.extend(ack.to_be_bytes());
    // AE is the lowest bit of the byte before the flags (RFC 9768).
    out.extend([(tcp_bytes as u8 / 4) << 4 | u8::from(row.flags & AE != 0), row.flags & !AE]);
    let window = if row.flags & RST != 0 { 0 } else { scaling.field(row) };
    out.extend(window.to_be_bytes());
    out.extend([0; 4]);
    out.extend(tcp_options);
    // The checksum covers a pseudo-header, which contains the payload's length. The payload itself, all zeros, does not
    // change the sum.
    let tcp_length = tcp_bytes as u32 + row.len;
    let pseudo = [&from.0[..], &to.0[..], &[0, 6], &(tcp_length as u16).to_be_bytes()].concat();
    let pseudo_sum = u32::from(!checksum(&pseudo, 0));
    let tcp_checksum = checksum(&out[start..], pseudo_sum);
    out[start + 16..start + 18].copy_from_slice(&tcp_checksum.to_be_bytes());
    (out, total)
}

type End = (Vec<u8>, u16);

/// The port of the connection's server.
fn server_port(flow: Flow) -> u16 {
    FIRST_SERVER_PORT + (flow.traffic % SERVER_PORTS) as u16
}

/// Address and port of the sender and of the receiver.
fn ends(network: Network, row: &SegmentRow, connection: u32, flow: Flow) -> (End, End) {
    let client = (address(network, flow.client), (FIRST_CLIENT_PORT + connection % CLIENT_PORTS) as u16);
    let server = (address(network, flow.server), server_port(flow));
    if row.from_client {
        (client, server)
    } else {
        (server, client)
    }
}

/// The IPv4 or, if the addresses are of IPv6, the IPv6 header.
fn ip_header(row: &SegmentRow, total: u32, protocol: u8, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(100);
    if from.len() == 16 {
        out.extend([0x60, (row.ecn & 3) << 4, 0, 0]); // the flow label is 0
        out.extend(u16::try_from(total - 40).unwrap_or(0).to_be_bytes());
        out.extend([protocol, 64]);
        out.extend(from);
        out.extend(to);
        return out;
    }
    out.extend([0x45, row.ecn & 3]);
    // The field is 0 if the packet is too long for it (a study of jumbo packets), as in captures with segmentation
    // offload.
    let length_field = u16::try_from(total).unwrap_or(0);
    out.extend(length_field.to_be_bytes());
    out.extend(row.ip_id.unwrap_or(0).to_be_bytes());
    out.extend(DONT_FRAGMENT.to_be_bytes());
    out.extend([64, protocol, 0, 0]);
    out.extend(from);
    out.extend(to);
    let ip_checksum = checksum(&out, 0);
    out[10..12].copy_from_slice(&ip_checksum.to_be_bytes());
    out
}

/// The IP and UDP headers (RFC 768) of a datagram, and the IP total length.
fn udp_headers(network: Network, row: &SegmentRow, connection: u32, flow: Flow) -> (Vec<u8>, u32) {
    let (from, to) = ends(network, row, connection, flow);
    let total = network.header_bytes() + 8 + row.len;
    let mut out = ip_header(row, total, 17, &from.0, &to.0);
    let start = out.len();
    let length = ((8 + row.len) as u16).to_be_bytes();
    out.extend(from.1.to_be_bytes());
    out.extend(to.1.to_be_bytes());
    out.extend(length);
    out.extend([0; 2]);
    let pseudo = [&from.0[..], &to.0[..], &[0, 17], &length].concat();
    let udp_checksum = checksum(&out[start..], u32::from(!checksum(&pseudo, 0)));
    // In UDP, a checksum field of 0 means that there is no checksum, so a computed 0 is written as all ones.
    out[start + 6..start + 8].copy_from_slice(&if udp_checksum == 0 { u16::MAX } else { udp_checksum }.to_be_bytes());
    (out, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{AccEcnCounts, Sack};
    use crate::samples;
    use crate::tables::SegmentEvent;

    const FLOW: Flow = Flow { client: 0, server: 258, traffic: 2, datagrams: false };

    fn row() -> SegmentRow {
        samples::segment(0, SegmentEvent::Send)
    }

    fn built(row: &SegmentRow, connection: u32) -> (Vec<u8>, u32) {
        headers(Network::Ipv4, row, connection, FLOW, &mut Scaling::default())
    }

    fn short(bytes: &[u8], at: usize) -> u16 {
        u16::from_be_bytes([bytes[at], bytes[at + 1]])
    }

    fn long(bytes: &[u8], at: usize) -> u32 {
        u32::from(short(bytes, at)) << 16 | u32::from(short(bytes, at + 2))
    }

    /// The sum of RFC 1071 over words, with the checksum in place: 0xffff if that is right.
    fn sum(bytes: &[u8]) -> u32 {
        let padded = [bytes, &[0]].concat();
        let mut sum: u32 = padded.chunks_exact(2).map(|pair| u32::from(short(pair, 0))).sum();
        while sum >> 16 > 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    fn sum_with_pseudo_header(packet: &[u8], payload: u32) -> u32 {
        let length = (packet.len() - 20) as u16 + payload as u16;
        sum(&[&packet[12..20], &[0, packet[9]], &length.to_be_bytes(), &packet[20..]].concat())
    }

    #[test]
    fn every_traffic_entry_has_a_port_however_many_there_are() {
        for (traffic, port) in [(0, 5001), (60_534, 65_535), (60_535, 5001), (199_999, 23_395)] {
            let flow = Flow { client: 0, server: 1, traffic, datagrams: false };
            assert_eq!(server_port(flow), port, "entry {traffic}");
        }
    }

    #[test]
    fn every_connection_has_a_port_and_every_node_an_address() {
        for (connection, port) in [(0, 10_000), (1, 10_001), (55_535, 65_535), (55_536, 10_000), (55_537, 10_001)] {
            for from_client in [true, false] {
                let (bytes, _) = built(&SegmentRow { from_client, ..row() }, connection);
                let (client, server) = if from_client { (0, 1) } else { (1, 0) };
                assert_eq!(bytes[12 + 4 * client..][..4], [10, 0, 0, 1]);
                assert_eq!(bytes[12 + 4 * server..][..4], [10, 0, 1, 3]);
                assert_eq!((short(&bytes, 20 + 2 * client), short(&bytes, 20 + 2 * server)), (port, 5003));
            }
        }
    }

    #[test]
    fn checksums_of_ip_tcp_and_udp_are_right_with_payload_of_zeros() {
        for len in [0, 1, 536, 1447] {
            let (bytes, total) = built(&SegmentRow { len, seq: 77, ack: 99, ecn: 3, ts_val: Some(8), ..row() }, 3);
            assert_eq!((total, bytes.len(), u32::from(short(&bytes, 2))), (52 + len, 52, total));
            assert_eq!((sum(&bytes[..20]), sum_with_pseudo_header(&bytes, len)), (0xffff, 0xffff), "{len}");
            assert_eq!((bytes[0], bytes[1], bytes[8], bytes[9]), (0x45, 3, 64, 6));
            let flow = Flow { datagrams: true, ..FLOW };
            let (bytes, total) = headers(Network::Ipv4, &SegmentRow { len, ..row() }, 3, flow, &mut Scaling::default());
            assert_eq!((total, bytes.len(), u32::from(short(&bytes, 24))), (28 + len, 28, 8 + len));
            assert_eq!((sum(&bytes[..20]), sum_with_pseudo_header(&bytes, len)), (0xffff, 0xffff), "{len}");
            assert_eq!(bytes[9], 17);
        }
        let (bytes, total) = built(&SegmentRow { len: 70_000, ..row() }, 3);
        assert_eq!((total, short(&bytes, 2)), (70_040, 0));
    }

    #[test]
    fn numbers_count_from_the_syn_and_wrap() {
        for (offset, number) in [(0, 1), (1448, 1449), (u64::from(u32::MAX), 0), (1 << 32, 1)] {
            let (bytes, _) = built(&SegmentRow { seq: offset, ack: offset, ..row() }, 0);
            assert_eq!((long(&bytes, 24), long(&bytes, 28)), (number, number), "{offset}");
        }
        let (syn, _) = built(&SegmentRow { seq: 5, ack: 5, flags: SYN, ..row() }, 0);
        assert_eq!((long(&syn, 24), long(&syn, 28)), (0, 0));
    }

    #[test]
    fn flags_are_where_they_are_in_the_header() {
        let (bytes, _) = built(&SegmentRow { flags: ACK | AE | 0x40, ..row() }, 0);
        assert_eq!((bytes[32], bytes[33]), (5 << 4 | 1, ACK | 0x40));
        let (bytes, _) = built(&SegmentRow { flags: RST | ACK, window_bytes: 400, ..row() }, 0);
        assert_eq!((bytes[32], bytes[33], short(&bytes, 34)), (5 << 4, RST | ACK, 0));
    }

    #[test]
    fn windows_are_scaled_after_both_syns_offered_it() {
        let syn = |from_client, window_scale| SegmentRow { from_client, window_scale, flags: SYN, ..row() };
        let window = |offers: [Option<u8>; 2], from_client, window_bytes| {
            let mut scaling = Scaling::default();
            headers(Network::Ipv4, &syn(true, offers[0]), 0, FLOW, &mut scaling);
            headers(Network::Ipv4, &syn(false, offers[1]), 0, FLOW, &mut scaling);
            let (bytes, _) =
                headers(Network::Ipv4, &SegmentRow { from_client, window_bytes, ..row() }, 0, FLOW, &mut scaling);
            short(&bytes, 34)
        };
        assert_eq!(window([Some(7), Some(3)], true, 128_000), 1000);
        assert_eq!(window([Some(7), Some(3)], false, 128_000), 16_000);
        assert_eq!(window([Some(7), None], true, 60_000), 60_000);
        assert_eq!(window([None, Some(3)], false, 80_000), 65_535);
        let mut scaling = Scaling { offered: [Some(7), Some(7)] };
        let (bytes, _) =
            headers(Network::Ipv4, &SegmentRow { window_bytes: 65_000, ..syn(true, Some(7)) }, 0, FLOW, &mut scaling);
        assert_eq!(short(&bytes, 34), 65_000, "never in a SYN");
    }

    #[test]
    fn options_are_padded_and_at_most_40_bytes() {
        let options = |row: &SegmentRow| built(row, 0).0[40..].to_vec();
        let blocks = [(0, 1000), (2000, 3000), (4000, 5000), (6000, 7000)];
        let sack = |len| Sack { len, blocks };
        assert_eq!(options(&row()), Vec::<u8>::new());
        let two = options(&SegmentRow { sack: sack(2), ..row() });
        assert_eq!((two.len(), &two[..4]), (20, &[1, 1, 5, 18][..]));
        assert_eq!([4, 8, 12, 16].map(|at| long(&two, at)), [1, 1001, 2001, 3001]);
        assert_eq!(options(&SegmentRow { sack: sack(4), ..row() }).len(), 36);
        let stamped = options(&SegmentRow { sack: sack(4), ts_val: Some(5), ts_ecr: Some(6), ..row() });
        assert_eq!((stamped.len(), &stamped[..4]), (40, &[1, 1, 8, 10][..]));
        assert_eq!((long(&stamped, 4), long(&stamped, 8), stamped[15]), (5, 6, 26));
        let counts = AccEcnCounts { len: 2, counters: [1, 0x01_0203, 9] };
        let counted = options(&SegmentRow { accecn: counts, ..row() });
        assert_eq!(counted, [174, 8, 0, 0, 1, 1, 2, 3]);
        let one = options(&SegmentRow { accecn: AccEcnCounts { len: 1, ..counts }, ..row() });
        assert_eq!(one, [174, 5, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn a_syn_offers_what_the_row_has() {
        let syn = SegmentRow { flags: SYN, mss_bytes: Some(1460), window_scale: Some(7), ..row() };
        let options = |row: &SegmentRow| built(row, 0).0[40..].to_vec();
        assert_eq!(options(&syn), [2, 4, 5, 180, 1, 3, 3, 7]);
        let sack = SegmentRow { sack_permitted: true, ..syn };
        assert_eq!(options(&sack), [2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7]);
        let stamped = SegmentRow { ts_val: Some(1), ..sack };
        assert_eq!(options(&stamped), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
        let alone = SegmentRow { sack_permitted: false, ..stamped };
        assert_eq!(options(&alone)[4..8], [1, 1, 8, 10]);
    }
}
