//! TCP connections in pcap and pcapng files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_records::Lifetime;
use cwndlab_tcp::Flags;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket};
use flate2::read::MultiGzDecoder;
use pcap_parser::pcapng::Block;
use pcap_parser::{create_reader, Linktype, PcapBlockOwned, PcapError};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// The largest packet or block of a file, in bytes.
const LARGEST: usize = 4 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const NANOS: i128 = 1_000_000_000;
/// The largest shift of a window scale option (RFC 7323, section 2.3).
const MOST_SCALE: u8 = 14;

/// A TCP segment as it was captured.
#[pyclass(frozen, get_all, module = "cwndlab._core")]
#[derive(Clone, Copy)]
pub struct CapturedSegment {
    /// Time since the first packet of the capture.
    time_ns: i64,
    /// Whether the sender is the end that sent the connection's first captured segment.
    from_first: bool,
    seq: u32,
    ack: u32,
    /// Bytes of payload according to the headers; the capture may contain fewer.
    len: u32,
    /// The header's window field, without scaling.
    window: u16,
    flags: u8,
    mss: Option<u16>,
    scale: Option<u8>,
    ts: Option<(u32, u32)>,
    sack: [Option<(u32, u32)>; 4],
}

struct Connection {
    ends: [SocketAddr; 2],
    segments: Vec<CapturedSegment>,
    lifetime: Lifetime,
}

/// The TCP connections of a capture, in order of their first segments.
#[pyclass(frozen, module = "cwndlab._core")]
pub struct Capture {
    connections: Vec<Connection>,
    /// Why only the beginning of the capture was read; None if the whole capture was read.
    #[pyo3(get)]
    cut: Option<String>,
}

#[pymethods]
impl Capture {
    /// Addresses and ports of a connection's ends: first the end that sent the first captured segment, then the other.
    fn ends(&self, connection: usize) -> PyResult<(String, String)> {
        let [one, other] = self.at(connection)?.ends;
        Ok((one.to_string(), other.to_string()))
    }

    /// The segments of a connection.
    fn segments(&self, connection: usize) -> PyResult<Vec<CapturedSegment>> {
        Ok(self.at(connection)?.segments.clone())
    }

    fn __len__(&self) -> usize {
        self.connections.len()
    }
}

impl Capture {
    fn at(&self, connection: usize) -> PyResult<&Connection> {
        self.connections.get(connection).ok_or_else(|| PyIndexError::new_err(connection))
    }
}

/// Reads a capture: at most `most_segments` TCP segments, and at most `most_bytes` bytes of the uncompressed file.
#[pyfunction]
#[pyo3(signature = (path, *, most_segments, most_bytes))]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands over a PathBuf
pub fn read_capture(
    py: Python<'_>,
    path: std::path::PathBuf,
    most_segments: usize,
    most_bytes: u64,
) -> PyResult<Capture> {
    py.detach(|| {
        let mut file = File::open(&path)?;
        let mut start = Vec::new();
        file.by_ref().take(2).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(0))?;
        let file = BufReader::with_capacity(1 << 16, file);
        let bytes: Box<dyn Read + Send> =
            if start == GZIP { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        read(bytes.take(most_bytes), most_segments, most_bytes)
    })
    .map_err(|fault| match fault {
        Fault::Io(error) => error.into(),
        Fault::Content(reason) => PyValueError::new_err(reason),
    })
}

enum Fault {
    Io(std::io::Error),
    Content(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::Io(error)
    }
}

/// The link type of an interface's packets, and its clock.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Ticks per second.
    resolution: i128,
    offset_s: i128,
}

/// A reader that reports the end of the file when reading fails, as in a broken gzip file, because the part before the
/// failure is usable. It then sets `failed`.
struct Sound<'a, R> {
    bytes: R,
    failed: &'a AtomicBool,
}

impl<R: Read> Read for Sound<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(into).or_else(|_| {
            self.failed.store(true, Ordering::Relaxed);
            Ok(0)
        })
    }
}

fn read(bytes: impl Read + Send, most_segments: usize, most_bytes: u64) -> Result<Capture, Fault> {
    let failed = AtomicBool::new(false);
    let mut reader = create_reader(LARGEST, Sound { bytes, failed: &failed })
        .map_err(|_| Fault::Content("it ends within its header, or has none".into()))?;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut began = None;
    let mut unknown = None;
    let (mut packets, mut segments) = (0_u64, 0);
    let mut found = Found::default();
    let cut = loop {
        let (size, block) = match reader.next() {
            Ok(next) => next,
            Err(error) => {
                let more = matches!(error, PcapError::Incomplete(_));
                let ended = matches!(error, PcapError::Eof | PcapError::UnexpectedEof);
                if more && reader.refill().is_ok() {
                    continue;
                }
                let rest = reader.data().len();
                break if ended && rest == 0 && !failed.load(Ordering::Relaxed) {
                    None
                } else if reader.consumed() as u64 + rest as u64 >= most_bytes {
                    Some(format!("only the first {most_bytes} bytes of the capture were read"))
                } else {
                    Some(format!("the capture is cut short, in its packet {}", packets + 1))
                };
            }
        };
        if let Some((interface, ticks, data, on_wire)) = packet_in(&block, &mut interfaces) {
            packets += 1;
            let time = interface.offset_s * NANOS + ticks * NANOS / interface.resolution;
            let Ok(time_ns) = i64::try_from(time - *began.get_or_insert(time)) else {
                break Some(format!("the capture is damaged: its packet {packets} has an impossible time"));
            };
            match headers(interface.link, data) {
                Ok(Some(ip)) => {
                    if let Some(segment) = segment(time_ns, data, on_wire, &ip) {
                        if segments == most_segments {
                            break Some(format!("only the first {most_segments} segments of the capture were read"));
                        }
                        found.add(segment);
                        segments += 1;
                    }
                }
                Ok(None) => {}
                Err(Unknown) => unknown = Some(interface.link.0),
            }
        }
        reader.consume(size);
    };
    match unknown {
        Some(link) if found.connections.is_empty() => Err(Fault::Content(format!("link type {link} is not supported"))),
        _ => Ok(Capture { connections: found.connections, cut }),
    }
}

/// The packet in a block: its interface, its time in the interface's ticks, its bytes, and its length on the wire. Keeps
/// the interfaces that blocks describe.
fn packet_in<'a>(
    block: &'a PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
) -> Option<(Interface, i128, &'a [u8], u32)> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution = if header.is_nanosecond_precision() { NANOS } else { 1_000_000 };
            *interfaces = vec![Interface { link: header.network, resolution, offset_s: 0 }];
            None
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces[0];
            let ticks = i128::from(packet.ts_sec) * interface.resolution + i128::from(packet.ts_usec);
            let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
            Some((interface, ticks, data, packet.origlen))
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            None
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            interfaces.push(Interface {
                link: block.linktype,
                resolution: resolution(block.if_tsresol),
                offset_s: block.if_tsoffset.into(),
            });
            None
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let ticks = i128::from(packet.ts_high) << 32 | i128::from(packet.ts_low);
            let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
            let interface = interfaces.get(packet.if_id as usize);
            interface.map(|&interface| (interface, ticks, data, packet.origlen))
        }
        PcapBlockOwned::NG(_) => None,
    }
}

/// Ticks per second according to pcapng's option `if_tsresol`. Its lower seven bits are the negative exponent of a
/// tick's length in seconds; the base is 10, or 2 if the highest bit is set.
fn resolution(if_tsresol: u8) -> i128 {
    let power = u32::from(if_tsresol & 0x7f).min(38);
    if if_tsresol & 0x80 == 0 {
        10_i128.pow(power)
    } else {
        1 << power
    }
}

struct Unknown;

/// Parses the headers of a packet up to the IP header, as far as they were captured. Fails if the link type is unknown.
fn headers(link: Linktype, data: &[u8]) -> Result<Option<LaxSlicedPacket<'_>>, Unknown> {
    let of_type = |at: usize, header: usize| {
        let kind = data.get(at..at + 2)?;
        let rest = data.get(header..)?;
        Some(LaxSlicedPacket::from_ether_type(EtherType(u16::from_be_bytes([kind[0], kind[1]])), rest))
    };
    Ok(match link.0 {
        0 | 108 => data.get(4..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok()), // NULL, LOOP
        1 => LaxSlicedPacket::from_ethernet(data).ok(),
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(data).ok(), // RAW and its aliases, IPV4, IPV6
        113 => of_type(14, 16),                                           // LINUX_SLL
        276 => of_type(0, 20),                                            // LINUX_SLL2
        _ => return Err(Unknown),
    })
}

/// Extracts the TCP segment of a packet, with the addresses of its sender and receiver. Returns `None` if the packet
/// contains no TCP segment, or if the segment's header was not captured.
fn segment(
    time_ns: i64,
    data: &[u8],
    on_wire: u32,
    packet: &LaxSlicedPacket<'_>,
) -> Option<(CapturedSegment, [SocketAddr; 2])> {
    let net = packet.net.as_ref()?;
    let payload = net.ip_payload_ref()?;
    if payload.ip_number.0 != 6 || payload.payload.len() < 20 {
        return None;
    }
    let tcp = payload.payload;
    let before = |start: &[u8]| tcp.as_ptr() as usize - start.as_ptr() as usize;
    let (source, target, stated): (IpAddr, IpAddr, usize) = match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            if header.fragments_offset().value() > 0 {
                return None;
            }
            let length = usize::from(header.total_len()).checked_sub(before(header.slice()));
            (header.source_addr().into(), header.destination_addr().into(), length.unwrap_or(0))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length =
                (usize::from(header.payload_length()) + header.slice().len()).checked_sub(before(header.slice()));
            (header.source_addr().into(), header.destination_addr().into(), length.unwrap_or(0))
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let header_len = 4 * usize::from(tcp[12] >> 4);
    if header_len < 20 {
        return None;
    }
    // An IP length field of 0 means that the packet was too large for it, because of segmentation offload.
    let length = if stated == 0 { (on_wire as usize).saturating_sub(before(data)) } else { stated };
    let mut segment = CapturedSegment {
        time_ns,
        from_first: true,
        seq: number(tcp, 4)?,
        ack: number(tcp, 8)?,
        len: u32::try_from(length.saturating_sub(header_len)).ok()?,
        window: u16::from_be_bytes([tcp[14], tcp[15]]),
        flags: tcp[13],
        mss: None,
        scale: None,
        ts: None,
        sack: [None; 4],
    };
    options(&tcp[20..header_len.min(tcp.len())], &mut segment);
    let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    Some((segment, [SocketAddr::new(source, port(0)), SocketAddr::new(target, port(2))]))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Parses TCP's options up to the first malformed one (RFC 9293, section 3.2; RFC 2018; RFC 7323).
fn options(mut rest: &[u8], segment: &mut CapturedSegment) {
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

#[derive(Default)]
struct Found {
    connections: Vec<Connection>,
    /// Index of the latest connection between two ends, which are in ascending order in the key.
    last: BTreeMap<[SocketAddr; 2], usize>,
}

impl Found {
    /// Adds a segment to the latest connection of its ends, or to a new one if there is none, or the segment opens one.
    fn add(&mut self, (mut segment, ends): (CapturedSegment, [SocketAddr; 2])) {
        let mut key = ends;
        key.sort_unstable();
        let (flags, from_least) = (Flags(segment.flags), key == ends);
        let is_over = |k: &usize| self.connections[*k].lifetime.is_over(flags, segment.seq, from_least);
        let known = self.last.get(&key).copied().filter(|k| !is_over(k));
        let index = known.unwrap_or_else(|| {
            self.connections.push(Connection { ends, segments: Vec::new(), lifetime: Lifetime::default() });
            self.last.insert(key, self.connections.len() - 1);
            self.connections.len() - 1
        });
        let connection = &mut self.connections[index];
        segment.from_first = connection.ends == ends;
        connection.lifetime.note(flags, segment.seq, from_least);
        connection.segments.push(segment);
    }
}
