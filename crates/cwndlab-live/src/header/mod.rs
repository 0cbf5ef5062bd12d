//! The header fields that the router reads, and the CE mark.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cwndlab_net::{Ack, Ecn};

/// The protocol number of TCP.
pub const TCP: u8 = 6;
/// The protocol number of UDP.
pub const UDP: u8 = 17;
/// The number of bytes of which a fingerprint is made.
const FINGERPRINTED: usize = 128;
/// The URG flag of the header. In [`Tcp::flags`], its bit is AE.
const URG: u8 = 0x20;

/// An IP packet's header, and its TCP or UDP header if it has one (RFC 791, RFC 8200, RFC 9293, RFC 768).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol.
    pub protocol: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The Differentiated Services codepoint.
    pub dscp: u8,
    /// Total length in bytes.
    pub total_bytes: u32,
    /// The TCP header, if the packet has one.
    pub tcp: Option<Tcp>,
    /// The UDP header, if the packet has one.
    pub udp: Option<Udp>,
}

/// A UDP header (RFC 768).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Bytes of payload.
    pub payload: u32,
}

/// A TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags from high to low: CWR, ECE, AE (RFC 9768) in place of URG, ACK, PSH, RST, SYN, FIN.
    pub flags: u8,
    /// Window as on the wire, unscaled.
    pub window: u16,
    /// Start and end of the options in the packet.
    pub options: (u16, u16),
    /// Bytes of payload.
    pub payload: u32,
}

impl Tcp {
    /// The SYN flag.
    pub const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    const ECE: u8 = 0x40;
    const CWR: u8 = 0x80;
}

impl Header {
    /// Parses a packet. `None` if it is not IP, or if it is shorter than its length field says. Fragments have
    /// neither a TCP nor a UDP header, nor have packets with extension headers of IPv6.
    pub fn parse(packet: &[u8]) -> Option<Header> {
        if packet.first()? >> 4 == 6 {
            return Header::parse_v6(packet);
        }
        let ip = packet.first_chunk::<20>()?;
        let header_bytes = usize::from(ip[0] & 0x0f) * 4;
        let total_bytes = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        if ip[0] >> 4 != 4 || header_bytes < 20 || total_bytes < header_bytes || packet.len() < total_bytes {
            return None;
        }
        let is_fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
        let udp = (ip[9] == UDP && !is_fragment).then(|| parse_udp(packet, header_bytes, total_bytes)).flatten();
        let tcp = (ip[9] == TCP && !is_fragment).then(|| parse_tcp(packet, header_bytes, total_bytes)).flatten();
        Some(Header {
            source: IpAddr::V4(Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15])),
            destination: IpAddr::V4(Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19])),
            protocol: ip[9],
            ecn: ecn_of(ip[1]),
            dscp: ip[1] >> 2,
            total_bytes: total_bytes as u32,
            tcp,
            udp,
        })
    }

    fn parse_v6(packet: &[u8]) -> Option<Header> {
        let ip = packet.first_chunk::<40>()?;
        let total_bytes = 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        if packet.len() < total_bytes {
            return None;
        }
        let class = ip[0] << 4 | ip[1] >> 4;
        let address = |at: usize| IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).expect("16 bytes")));
        Some(Header {
            source: address(8),
            destination: address(24),
            protocol: ip[6],
            ecn: ecn_of(class),
            dscp: class >> 2,
            total_bytes: total_bytes as u32,
            tcp: (ip[6] == TCP).then(|| parse_tcp(packet, 40, total_bytes)).flatten(),
            udp: (ip[6] == UDP).then(|| parse_udp(packet, 40, total_bytes)).flatten(),
        })
    }

    /// A hash of addresses, ports and protocol (FNV-1a, so that it is the same in every run).
    pub fn flow_key(&self) -> u64 {
        let (source, destination) = match (self.tcp, self.udp) {
            (Some(tcp), _) => (tcp.source_port, tcp.destination_port),
            (_, Some(udp)) => (udp.source_port, udp.destination_port),
            _ => (0, 0),
        };
        let hash = hash_address(hash_address(OFFSET, self.source), self.destination);
        let rest = source.to_be_bytes().into_iter().chain(destination.to_be_bytes()).chain([self.protocol]);
        rest.fold(hash, add_byte)
    }
}

/// The basis of FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// A step of FNV-1a.
fn add_byte(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn hash_address(hash: u64, address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => address.octets().into_iter().fold(hash, add_byte),
        IpAddr::V6(address) => address.octets().into_iter().fold(hash, add_byte),
    }
}

/// Kinds of options of TCP.
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;

impl Header {
    /// What a filter of ACKs looks at; `None` if `packet`, of which this is the header, is no TCP segment.
    pub fn ack(&self, packet: &[u8]) -> Option<Ack> {
        let tcp = self.tcp?;
        let ecn_flags = tcp.flags & (Tcp::ECE | Tcp::CWR);
        let mut ack = Ack {
            number: tcp.ack,
            acknowledges: tcp.flags & (Tcp::ACK | Tcp::SYN) == Tcp::ACK,
            pure: tcp.payload == 0 && tcp.flags & !ecn_flags == Tcp::ACK,
            ecn_flags,
            timestamps: None,
            sack: false,
        };
        let mut options = packet.get(usize::from(tcp.options.0)..usize::from(tcp.options.1)).unwrap_or_default();
        while let [kind, rest @ ..] = options {
            match (*kind, rest) {
                (END, _) => break,
                (NO_OPERATION, rest) => options = rest,
                (kind, [length, ..]) if (2..=options.len()).contains(&usize::from(*length)) => {
                    let (option, after) = options.split_at(usize::from(*length));
                    options = after;
                    match (kind, option.get(2..).unwrap_or_default()) {
                        (TIMESTAMPS, stamps) => ack.timestamps = parse_timestamps(stamps),
                        (SACK, _) => ack.sack = true,
                        (MD5, _) => {}
                        _ => ack.pure = false,
                    }
                }
                _ => break,
            }
        }
        Some(ack)
    }
}

/// Value and echo reply of a timestamps option.
fn parse_timestamps(stamps: &[u8]) -> Option<(u32, u32)> {
    let (value, echo) = stamps.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*value), u32::from_be_bytes(*echo.first_chunk::<4>()?)))
}

fn parse_udp(packet: &[u8], start: usize, end: usize) -> Option<Udp> {
    let udp = packet.get(start..end)?.first_chunk::<8>()?;
    Some(Udp {
        source_port: u16::from_be_bytes([udp[0], udp[1]]),
        destination_port: u16::from_be_bytes([udp[2], udp[3]]),
        payload: (end - start - 8) as u32,
    })
}

fn parse_tcp(packet: &[u8], start: usize, end: usize) -> Option<Tcp> {
    let tcp = packet.get(start..end)?.first_chunk::<20>()?;
    let header_bytes = usize::from(tcp[12] >> 4) * 4;
    if header_bytes < 20 || start + header_bytes > end {
        return None;
    }
    Some(Tcp {
        source_port: u16::from_be_bytes([tcp[0], tcp[1]]),
        destination_port: u16::from_be_bytes([tcp[2], tcp[3]]),
        seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        ack: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
        flags: tcp[13] & !URG | (tcp[12] & 1) << 5,
        window: u16::from_be_bytes([tcp[14], tcp[15]]),
        options: ((start + 20) as u16, (start + header_bytes) as u16),
        payload: (end - start - header_bytes) as u32,
    })
}

fn ecn_of(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn bits_of(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// A hash of what a router leaves as it is in the first bytes of a packet, which no two of a flow have in common unless
/// they are copies: all but the traffic class, the time to live or hop limit, and the header's checksum (FNV-1a).
pub fn fingerprint(packet: &[u8]) -> u64 {
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let changed = |at: usize| if is_v6 { matches!(at, 0 | 1 | 7) } else { matches!(at, 1 | 8 | 10 | 11) };
    let kept = packet.iter().take(FINGERPRINTED).enumerate().filter(|&(at, _)| !changed(at));
    kept.fold(OFFSET, |hash, (_, &byte)| add_byte(hash, byte))
}

/// Sets the ECN field of a packet to CE; see [`set_ecn`].
pub fn mark_ce(packet: &mut [u8]) {
    set_ecn(packet, Ecn::Ce);
}

/// Sets the ECN field of a packet and, in IPv4, patches the header's checksum (RFC 1624, equation 3: HC' = ~(~HC + ~m +
/// m')).
///
/// # Panics
/// If the packet is shorter than an IPv4 header.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        packet[1] = packet[1] & !0x30 | bits_of(ecn) << 4;
        return;
    }
    let old = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] = packet[1] & !3 | bits_of(ecn);
    let new = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests;
