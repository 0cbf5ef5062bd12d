//! Builds the IPv4 and TCP or UDP headers of a recorded packet.
//!
//! Initial sequence numbers are 0. Payload is not recorded, so checksums are computed as if all its bytes were 0. Each
//! node has one address, each connection has its own client port, and each traffic entry has its own server port.

use crate::tables::SegmentRow;
use crate::trace::Flow;

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

/// The IPv4 address of a node: 10.0.0.1 for node 0, 10.0.0.2 for node 1, and so on.
pub fn address(node: u32) -> [u8; 4] {
    let [_, b, c, d] = (node + 1).to_be_bytes(); // the loader limits a study to fewer than 2^24 nodes
    [10, b, c, d]
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
pub fn headers(row: &SegmentRow, connection: u32, flow: Flow, scaling: &mut Scaling) -> (Vec<u8>, u32) {
    if flow.datagrams {
        return udp_headers(row, connection, flow);
    }
    scaling.see(row);
    let mut tcp_options = Vec::with_capacity(40);
    options(row, &mut tcp_options);
    let tcp_bytes = 20 + tcp_options.len();
    let total = 20 + tcp_bytes as u32 + row.len;
    let (from, to) = ends(row, connection, flow);
    let mut out = ip_header(row, total, 6, from.0, to.0);
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
    let tcp_checksum = checksum(&out[20..], pseudo_sum);
    out[36..38].copy_from_slice(&tcp_checksum.to_be_bytes());
    (out, total)
}

type End = ([u8; 4], u16);

/// The port of the connection's server.
fn server_port(flow: Flow) -> u16 {
    FIRST_SERVER_PORT + (flow.traffic % SERVER_PORTS) as u16
}

/// Address and port of the sender and of the receiver.
fn ends(row: &SegmentRow, connection: u32, flow: Flow) -> (End, End) {
    let client = (address(flow.client), (FIRST_CLIENT_PORT + connection % CLIENT_PORTS) as u16);
    let server = (address(flow.server), server_port(flow));
    if row.from_client {
        (client, server)
    } else {
        (server, client)
    }
}

fn ip_header(row: &SegmentRow, total: u32, protocol: u8, from: [u8; 4], to: [u8; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity(80);
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

/// The IPv4 and UDP headers (RFC 768) of a datagram, and the IP total length.
fn udp_headers(row: &SegmentRow, connection: u32, flow: Flow) -> (Vec<u8>, u32) {
    let (from, to) = ends(row, connection, flow);
    let total = 28 + row.len;
    let mut out = ip_header(row, total, 17, from.0, to.0);
    let length = ((8 + row.len) as u16).to_be_bytes();
    out.extend(from.1.to_be_bytes());
    out.extend(to.1.to_be_bytes());
    out.extend(length);
    out.extend([0; 2]);
    let pseudo = [&from.0[..], &to.0[..], &[0, 17], &length].concat();
    let udp_checksum = checksum(&out[20..], u32::from(!checksum(&pseudo, 0)));
    // In UDP, a checksum field of 0 means that there is no checksum, so a computed 0 is written as all ones.
    out[26..28].copy_from_slice(&if udp_checksum == 0 { u16::MAX } else { udp_checksum }.to_be_bytes());
    (out, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_traffic_entry_has_a_port_however_many_there_are() {
        for (traffic, port) in [(0, 5001), (60_534, 65_535), (60_535, 5001), (199_999, 23_395)] {
            let flow = Flow { client: 0, server: 1, traffic, datagrams: false };
            assert_eq!(server_port(flow), port, "entry {traffic}");
        }
    }
}
