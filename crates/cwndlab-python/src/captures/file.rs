//! Reads pcap and pcapng files packet by packet.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use pcap_parser::pcapng::Block;
use pcap_parser::{create_reader, Linktype, PcapBlockOwned, PcapError};

use super::connections::Found;
use super::headers::{content, interface_in, Content, UnknownLink};
use super::{Capture, Fault};

/// The largest packet or block of a file, in bytes.
const LARGEST: usize = 4 << 20;
const NANOS: i128 = 1_000_000_000;

/// The link type of an interface's packets, and its clock.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Ticks per second.
    resolution: i128,
    offset_s: i128,
}

/// A packet in a block.
struct Packet<'a> {
    interface: Interface,
    /// The interface's number.
    number: u32,
    ticks: i128,
    data: &'a [u8],
    /// Its length before it was cut.
    on_wire: u32,
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

pub fn read(bytes: impl Read + Send, most_segments: usize, most_bytes: u64) -> Result<Capture, Fault> {
    let failed = AtomicBool::new(false);
    let mut reader = create_reader(LARGEST, Sound { bytes, failed: &failed })
        .map_err(|_| Fault::Content("it ends within its header, or has none".into()))?;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut began = None;
    let mut unknown = None;
    let (mut packets, mut shortened) = (0_u64, (0_u64, 0_usize));
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
        if let Some(packet) = packet_in(&block, &mut interfaces) {
            packets += 1;
            let Interface { link, resolution, offset_s } = packet.interface;
            let time = offset_s * NANOS + packet.ticks * NANOS / resolution;
            let Ok(time_ns) = i64::try_from(time - *began.get_or_insert(time)) else {
                break Some(format!("the capture is damaged: its packet {packets} has an impossible time"));
            };
            match content(link, packet.data, packet.on_wire) {
                Ok(Content::Segment(segment)) => {
                    if found.segments() == most_segments {
                        break Some(format!("only the first {most_segments} segments of the capture were read"));
                    }
                    let interface = interface_in(link, packet.data).unwrap_or(packet.number);
                    found.add(time_ns, interface, &segment);
                }
                Ok(Content::Fragment(fragment)) => found.add_fragment(&fragment),
                Ok(Content::Cut) => shortened = (shortened.0 + 1, shortened.1.max(packet.data.len())),
                Ok(Content::Other) => {}
                Err(UnknownLink) => unknown = Some(link.0),
            }
        }
        reader.consume(size);
    };
    match (unknown, found.segments(), shortened) {
        (Some(link), 0, _) => Err(Fault::Content(format!("link type {link} is not supported"))),
        (_, 0, (1.., length)) => Err(Fault::Content(format!(
            "its packets were cut after {length} bytes, within TCP's header; capture with a snap length of at least 96"
        ))),
        (_, _, (headers_cut, _)) => Ok(found.finish(cut, headers_cut)),
    }
}

/// The packet in a block. Keeps the interfaces that blocks describe.
fn packet_in<'a>(block: &'a PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>) -> Option<Packet<'a>> {
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
            Some(Packet { interface, number: 0, ticks, data, on_wire: packet.origlen })
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
            let interface = *interfaces.get(packet.if_id as usize)?;
            Some(Packet { interface, number: packet.if_id, ticks, data, on_wire: packet.origlen })
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
