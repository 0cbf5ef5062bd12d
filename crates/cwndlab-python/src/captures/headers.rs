//! Finds the TCP segment of a captured packet, through the link's headers and through tunnels.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket};
use pcap_parser::Linktype;

/// The largest shift of a window scale option (RFC 7323, section 2.3).
const MOST_SCALE: u8 = 14;
/// Headers within headers are followed so deep.
const DEEPEST: u8 = 12;
/// A TCP header up to its window: less does not say what a segment is.
const LEAST_HEADER: usize = 16;
const TCP: u8 = 6;
/// Where FNV-1a begins.
const START: u64 = 0xcbf2_9ce4_8422_2325;

/// The link type is unknown.
pub struct UnknownLink;

/// What a packet holds.
pub enum Content {
    Segment(Box<Segment>),
    /// A later fragment of an IP packet.
    Fragment(Fragment),
    /// A TCP segment whose header was cut.
    Cut,
    /// Anything else.
    Other,
}

/// The packet that a fragment belongs to, and where the fragment ends in that packet's payload.
pub struct Fragment {
    pub packet: PacketId,
    pub end: u32,
}

/// What IP identifies a packet by until its fragments are together again (RFC 791; RFC 8200, section 4.5).
pub type PacketId = (IpAddr, IpAddr, u32);

/// What the checksum of a segment says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    Right,
    Wrong,
    /// The segment was not captured whole, or its sender leaves the checksum to the device.
    Unknown,
}

/// A TCP segment, with numbers as in its header.
pub struct Segment {
    /// Sender and receiver.
    pub ends: [SocketAddr; 2],
    pub seq: u32,
    pub ack: u32,
    pub len: u32,
    pub window: u16,
    pub flags: u8,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub ts: Option<(u32, u32)>,
    pub sack: [Option<(u32, u32)>; 4],
    /// Whether options of its header were not captured.
    pub options_cut: bool,
    pub checksum: Checksum,
    /// IPv4's identification; 0 if the packet has none.
    pub ip_id: u16,
    /// IPv4's time to live, or IPv6's hop limit.
    pub ttl: u8,
    /// Digest of its TCP header.
    pub digest: u64,
    /// Length of its TCP header, and the packet, if it is the first fragment of one.
    pub first_fragment: Option<(u32, PacketId)>,
}

/// Parses a packet. `on_wire` is its length before it was cut.
pub fn content(link: Linktype, data: &[u8], on_wire: u32) -> Result<Content, UnknownLink> {
    let packet = ip_packet(link, data)?;
    Ok(packet.map_or(Content::Other, |packet| tcp(data, on_wire, &packet)))
}

/// The interface that the kernel's capture of all interfaces states in its header (`LINUX_SLL2`).
pub fn interface_in(link: Linktype, data: &[u8]) -> Option<u32> {
    (masked(link) == 276).then(|| number(data, 4)).flatten()
}

/// The link type without the bits that state the length of a frame check sequence.
fn masked(link: Linktype) -> i32 {
    link.0 & 0xffff
}

/// The innermost IP packet, as far as it was captured.
fn ip_packet(link: Linktype, data: &[u8]) -> Result<Option<LaxSlicedPacket<'_>>, UnknownLink> {
    let of_type = |at: usize, header: usize| by_type(short(data, at)?, data.get(header..)?, 0);
    Ok(match masked(link) {
        0 | 108 => data.get(4..).and_then(|ip| by_ip(ip, 0)), // NULL, LOOP
        1 => ethernet(data, 0),
        9 | 50 => point_to_point(data),                   // PPP, PPP_HDLC
        10 => llc(data.get(13..).unwrap_or_default(), 0), // FDDI
        51 => of_type(0, 0).or_else(|| pppoe(data, 0)),   // PPP_ETHER
        104 => of_type(2, 4),                             // C_HDLC
        105 => wireless(data),                            // IEEE802_11
        127 => radio(data),                               // IEEE802_11_RADIOTAP
        12 | 14 | 101 | 228 | 229 => by_ip(data, 0),      // RAW and its aliases, IPV4, IPV6
        113 => of_type(14, 16),                           // LINUX_SLL
        197 => extensible(data),                          // ERF
        276 => of_type(0, 20),                            // LINUX_SLL2
        _ => return Err(UnknownLink),
    })
}

fn ethernet(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    by_type(short(data, 12)?, data.get(14..)?, depth)
}

/// What follows an EtherType, or the length of IEEE 802.3.
fn by_type(kind: u16, data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    let deeper = depth + 1;
    if deeper > DEEPEST {
        return None;
    }
    match kind {
        0x0800 | 0x86dd => by_ip(data, deeper),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => by_type(short(data, 2)?, data.get(4..)?, deeper), // VLAN, QinQ
        0x8847 | 0x8848 => mpls(data, deeper),
        0x8864 => pppoe(data, deeper),
        0x880b => point_to_point(data),
        0x6558 => ethernet(data, deeper),           // transparent Ethernet bridging
        0x88be => ethernet(data.get(8..)?, deeper), // ERSPAN II
        0..=1500 => llc(data, deeper),
        _ => None,
    }
}

/// IEEE 802.2 with SNAP.
fn llc(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    (data.get(..3)? == [0xaa, 0xaa, 3]).then_some(())?;
    by_type(short(data, 6)?, data.get(8..)?, depth + 1)
}

/// PPP in Ethernet (RFC 2516, section 4).
fn pppoe(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    ppp(data.get(6..)?, depth)
}

/// PPP with or without its address and control bytes (RFC 1662, section 3.1).
fn point_to_point(data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    ppp(data.strip_prefix(&[0xff, 3]).unwrap_or(data), 0)
}

/// PPP's protocol field, of one byte if that is odd (RFC 1661, section 2).
fn ppp(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    let (protocol, rest) =
        if data.first()? & 1 == 1 { (data[0].into(), &data[1..]) } else { (short(data, 0)?, data.get(2..)?) };
    match protocol {
        0x21 | 0x57 => by_ip(rest, depth),
        0x281 | 0x283 => mpls(rest, depth),
        _ => None,
    }
}

/// A stack of MPLS labels (RFC 3032), with IP behind it, or Ethernet, perhaps with a control word (RFC 4448).
fn mpls(mut data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    loop {
        let is_last = data.get(2)? & 1 == 1;
        data = data.get(4..)?;
        if is_last {
            break;
        }
    }
    match data.first()? >> 4 {
        4 | 6 => by_ip(data, depth),
        0 => ethernet(data.get(4..)?, depth),
        _ => ethernet(data, depth),
    }
}

/// A record of Endace's extensible record format: Ethernet, IP, PPP or Cisco HDLC behind 16 bytes and any extension headers.
fn extensible(data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let (mut more, mut start) = (*data.get(8)? & 0x80 != 0, 16);
    while more {
        more = *data.get(start)? & 0x80 != 0;
        start += 8;
    }
    let rest = data.get(start..)?;
    match data[8] & 0x7f {
        2 | 11 | 16 | 20 => ethernet(rest.get(2..)?, 0),
        22 | 23 => by_ip(rest, 0),
        1 | 10 | 15 | 17 if rest.starts_with(&[0xff, 3]) => point_to_point(rest),
        1 | 10 | 15 | 17 => by_type(short(rest, 2)?, rest.get(4..)?, 0),
        _ => None,
    }
}

/// A data frame of IEEE 802.11 that is not encrypted.
fn wireless(data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let (kind, flags) = (*data.first()?, *data.get(1)?);
    (kind & 0x0c == 8 && kind & 0x40 == 0 && flags & 0x40 == 0).then_some(())?;
    let addresses = if flags & 3 == 3 { 30 } else { 24 };
    let quality = if kind & 0x80 == 0 { 0 } else { 2 };
    llc(data.get(addresses + quality..)?, 0)
}

/// The same behind a radiotap header, which states its own length.
fn radio(data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let length = u16::from_le_bytes(data.get(2..4)?.try_into().ok()?);
    wireless(data.get(length.into()..)?)
}

/// An IP packet, or the one that it tunnels.
fn by_ip(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    let packet = LaxSlicedPacket::from_ip(data).ok()?;
    let deeper = depth + 1;
    if deeper > DEEPEST {
        return Some(packet);
    }
    let payload = packet.net.as_ref()?.ip_payload_ref()?;
    let inner = match payload.ip_number {
        IpNumber::IPV4 | IpNumber::IPV6 => by_ip(payload.payload, deeper),
        IpNumber::GRE => gre(payload.payload, deeper),
        IpNumber::UDP => udp(payload.payload, deeper),
        _ => None,
    };
    inner.or(Some(packet))
}

/// GRE with the optional fields of RFC 2890.
fn gre(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    let flags = short(data, 0)?;
    let optional = [0x8000, 0x2000, 0x1000].iter().filter(|&&flag| flags & flag != 0).count();
    by_type(short(data, 2)?, data.get(4 + 4 * optional..)?, depth)
}

/// VXLAN (RFC 7348) and Geneve (RFC 8926).
fn udp(data: &[u8], depth: u8) -> Option<LaxSlicedPacket<'_>> {
    let tunnelled = data.get(8..)?;
    match short(data, 2)? {
        4789 | 8472 => ethernet(tunnelled.get(8..)?, depth),
        6081 => {
            let options = 4 * usize::from(tunnelled.first()? & 0x3f);
            by_type(short(tunnelled, 2)?, tunnelled.get(8 + options..)?, depth)
        }
        _ => None,
    }
}

/// What IP says of a packet.
struct Addressed {
    ends: [IpAddr; 2],
    /// Bytes behind its header; 0 if the packet was too large for the field.
    stated: usize,
    ttl: u8,
    ip_id: u16,
    /// Where the fragment begins, and whether others follow.
    fragment: (u32, bool),
    /// What identifies the packet of the fragment.
    fragment_id: u32,
}

/// The header of an IP packet whose payload begins at `payload`.
fn addressed(net: &LaxNetSlice<'_>, payload: &[u8]) -> Option<Addressed> {
    let before = |start: &[u8]| payload.as_ptr() as usize - start.as_ptr() as usize;
    Some(match net {
        LaxNetSlice::Ipv4(ip) => {
            let ip = ip.header();
            Addressed {
                ends: [ip.source_addr().into(), ip.destination_addr().into()],
                stated: usize::from(ip.total_len()).saturating_sub(before(ip.slice())),
                ttl: ip.ttl(),
                ip_id: ip.identification(),
                fragment: (u32::from(ip.fragments_offset().byte_offset()), ip.more_fragments()),
                fragment_id: ip.identification().into(),
            }
        }
        LaxNetSlice::Ipv6(ip) => {
            let fragment = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment),
                _ => None,
            });
            let ip = ip.header();
            let whole = usize::from(ip.payload_length()) + ip.slice().len();
            Addressed {
                ends: [ip.source_addr().into(), ip.destination_addr().into()],
                stated: whole.saturating_sub(before(ip.slice())),
                ttl: ip.hop_limit(),
                ip_id: 0,
                fragment: fragment
                    .as_ref()
                    .map_or((0, false), |one| (one.fragment_offset().byte_offset().into(), one.more_fragments())),
                fragment_id: fragment.map_or(0, |one| one.identification()),
            }
        }
        LaxNetSlice::Arp(_) => return None,
    })
}

fn tcp(data: &[u8], on_wire: u32, packet: &LaxSlicedPacket<'_>) -> Content {
    let Some(payload) = packet.net.as_ref().and_then(LaxNetSlice::ip_payload_ref) else { return Content::Other };
    let Some(ip) = packet.net.as_ref().and_then(|net| addressed(net, payload.payload)) else { return Content::Other };
    if payload.ip_number.0 != TCP {
        return Content::Other;
    }
    let id = (ip.ends[0], ip.ends[1], ip.fragment_id);
    if ip.fragment.0 > 0 {
        let end = ip.fragment.0 + u32::try_from(ip.stated).unwrap_or(0);
        return Content::Fragment(Fragment { packet: id, end });
    }
    // An IP length field of 0 means that the packet was too large for it, because of segmentation offload.
    let before = payload.payload.as_ptr() as usize - data.as_ptr() as usize;
    let length = if ip.stated == 0 { (on_wire as usize).saturating_sub(before) } else { ip.stated };
    let header = &payload.payload[..payload.payload.len().min(length)];
    if header.len() < LEAST_HEADER {
        return if length < 20 { Content::Other } else { Content::Cut };
    }
    let header_len = 4 * usize::from(header[12] >> 4);
    if header_len < 20 || header_len > length {
        return Content::Other;
    }
    let captured = &header[..header.len().min(header_len)];
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let mut segment = Segment {
        ends: [SocketAddr::new(ip.ends[0], port(0)), SocketAddr::new(ip.ends[1], port(2))],
        seq: number(header, 4).unwrap_or(0),
        ack: number(header, 8).unwrap_or(0),
        len: u32::try_from(length - header_len).unwrap_or(0),
        window: port(14),
        flags: header[13],
        mss: None,
        scale: None,
        ts: None,
        sack: [None; 4],
        options_cut: header.len() < header_len,
        checksum: if ip.fragment.1 { Checksum::Unknown } else { checksum(ip.ends, header, length) },
        ip_id: ip.ip_id,
        ttl: ip.ttl,
        // A device that computes the checksum does so between two places of capture.
        digest: digest(digest(START, &captured[..LEAST_HEADER]), captured.get(18..).unwrap_or_default()),
        first_fragment: ip.fragment.1.then(|| (u32::try_from(header_len).unwrap_or(0), id)),
    };
    options(captured.get(20..).unwrap_or_default(), &mut segment);
    Content::Segment(Box::new(segment))
}

/// Whether a segment's checksum is right (RFC 9293, section 3.1).
fn checksum(ends: [IpAddr; 2], segment: &[u8], length: usize) -> Checksum {
    if segment.len() < length || length < 20 {
        return Checksum::Unknown;
    }
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let pseudo: u64 = ends.iter().map(|&end| sum(&bytes(end))).sum::<u64>() + u64::from(TCP) + length as u64;
    if folded(pseudo + sum(segment)) == 0xffff {
        return Checksum::Right;
    }
    // A host that leaves the checksum to its device writes the pseudo header's sum, or nothing.
    let written = u16::from_be_bytes([segment[16], segment[17]]);
    if written == 0 || written == folded(pseudo) {
        Checksum::Unknown
    } else {
        Checksum::Wrong
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = (bytes.chunks_exact(2), bytes.len() % 2);
    let last = if rest == 1 { u64::from(bytes[bytes.len() - 1]) << 8 } else { 0 };
    pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u64>() + last
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(0xffff)
}

/// FNV-1a, from a state on.
fn digest(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Parses TCP's options up to the first malformed one (RFC 9293, section 3.2; RFC 2018; RFC 7323).
fn options(mut rest: &[u8], segment: &mut Segment) {
    while let [kind, tail @ ..] = rest {
        if *kind == 0 {
            return;
        }
        if *kind == 1 {
            rest = tail;
            continue;
        }
        let Some(value) = tail.first().and_then(|&length| rest.get(2..length.into())) else { return };
        match (kind, value.len()) {
            (2, 2) => segment.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => segment.scale = Some(value[0].min(MOST_SCALE)),
            (5, _) => {
                for (slot, block) in segment.sack.iter_mut().zip(value.chunks_exact(8)) {
                    *slot = number(block, 0).zip(number(block, 4));
                }
            }
            (8, 8) => segment.ts = number(value, 0).zip(number(value, 4)),
            _ => {}
        }
        rest = &rest[2 + value.len()..];
    }
}
