//! pcapng, for Wireshark, tshark, tcpdump and tcptrace.
//!
//! A file has one interface and one vantage point, the observed node. The link type is RAW (packets begin with their IP
//! header), times are in nanoseconds, and headers are complete. The packet block's original length is the IP total
//! length, computed from headers, options and payload. It equals the segments table's `wire_bytes` unless the study's
//! packets have header sizes other than those of IP and TCP (the profile `ns2-1998` gives them none). Drops and marks
//! are comments on the packet at the observed node. A packet that a link dropped before it reached the observed node is
//! not in the file.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cwndlab_engine::Network;

use crate::cell::OneOf;
use crate::tables::{DropReason, SegmentEvent, SegmentRow};
use crate::trace::wire::{headers, Scaling};
use crate::trace::Flow;

/// The start of the run in the file: 10^9 s, which is 2001-09-09 01:46:40 UTC, because tools interpret a time of 0 as
/// "unset".
const EPOCH_NS: u64 = 1_000_000_000 * 1_000_000_000;
const LINKTYPE_RAW: u16 = 101;
/// Returns the number of bytes stored per packet: the longest headers (of IP, and 60 bytes of TCP) and some payload.
pub const fn snaplen(network: Network) -> u32 {
    network.header_bytes() + 76
}

const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A pcapng file being written: one section with one interface.
#[derive(Debug)]
pub struct Capture<W> {
    out: W,
    snaplen: u32,
    block: Vec<u8>,
}

/// A packet that passes the vantage point.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The time at which the packet passes, since the start of the run.
    pub time_ns: u64,
    /// Its bytes; those after the headers may be missing.
    pub bytes: &'a [u8],
    /// Its IP total length.
    pub total_bytes: u32,
    /// Whether the node sent it.
    pub sent: bool,
    /// What links and timeouts did to the packet.
    pub comment: Option<&'a str>,
}

impl<W: Write> Capture<W> {
    /// Begins a file for the packets that pass `node`.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn begin(out: W, node: &str, network: Network) -> io::Result<Capture<W>> {
        let mut capture = Capture { out, snaplen: snaplen(network), block: Vec::new() };
        capture.block.extend(0x1A2B_3C4D_u32.to_le_bytes());
        capture.block.extend([1, 0, 0, 0]); // version 1.0
        capture.block.extend(u64::MAX.to_le_bytes()); // section length not given
        capture.option(4, concat!("cwndlab ", env!("CARGO_PKG_VERSION")).as_bytes());
        capture.option(0, &[]);
        capture.end_block(0x0A0D_0D0A)?;

        capture.block.extend(LINKTYPE_RAW.to_le_bytes());
        capture.block.extend([0, 0]);
        capture.block.extend(capture.snaplen.to_le_bytes());
        capture.option(2, node.as_bytes());
        capture.option(9, &[9]); // if_tsresol: 10^-9 s
        capture.option(0, &[]);
        capture.end_block(1)?;
        Ok(capture)
    }

    /// Adds a packet, cut after the longest possible headers.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn packet(&mut self, packet: Packet<'_>) -> io::Result<()> {
        let bytes = &packet.bytes[..packet.bytes.len().min(self.snaplen as usize)];
        let time = EPOCH_NS + packet.time_ns;
        self.block.extend(0_u32.to_le_bytes());
        self.block.extend(((time >> 32) as u32).to_le_bytes());
        self.block.extend((time as u32).to_le_bytes());
        self.block.extend((bytes.len() as u32).to_le_bytes());
        self.block.extend(packet.total_bytes.to_le_bytes());
        self.block.extend(bytes);
        self.pad();
        if let Some(comment) = packet.comment {
            self.option(1, comment.as_bytes());
        }
        self.option(2, &if packet.sent { OUTBOUND } else { INBOUND }.to_le_bytes());
        self.option(0, &[]);
        self.end_block(6)
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Appends an option to the current block (section 3.5 of the pcapng draft): code, length, value padded to 32 bits.
    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        self.out.write_all(&length)
    }
}

/// Identifies a packet in flight: connection, direction, IP identification, and header fields. The header fields are
/// included because IP identifications wrap.
type Identity = (u32, bool, Option<u16>, u64, u32, u64, u8);

fn identity(row: &SegmentRow) -> Identity {
    (row.connection, row.from_client, row.ip_id, row.seq, row.len, row.ack, row.flags)
}

/// Returns the comments on packets that a timeout retransmitted, or that a link dropped or marked. The key is the index
/// of the packet's row at the observed node. The row of a mark may precede or follow that row. The row of a drop
/// follows it; a packet that was dropped before it reached the observed node has no row there and gets no comment.
fn comments(rows: &[SegmentRow], links: &[String]) -> BTreeMap<usize, String> {
    let mut seen = BTreeMap::new();
    let mut coming: BTreeMap<Identity, String> = BTreeMap::new();
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        if row.timeout {
            found.insert(i, "sent again by the retransmission timer".into());
        }
        let packet = identity(row);
        let what = match (row.event, row.cause) {
            (OneOf(SegmentEvent::Mark), _) => "marked CE",
            (OneOf(SegmentEvent::Drop), Some(OneOf(DropReason::Full))) => "dropped (queue full)",
            (OneOf(SegmentEvent::Drop), Some(OneOf(DropReason::Aqm))) => "dropped (active queue management)",
            (OneOf(SegmentEvent::Drop), _) => "dropped (loss)",
            _ => {
                seen.insert(packet, i);
                if let Some(text) = coming.remove(&packet) {
                    found.insert(i, text);
                }
                continue;
            }
        };
        let link = row.link.and_then(|link| links.get(link as usize)).map_or("?", String::as_str);
        let text = format!("{what} at {link} at {} ns", row.time_ns);
        if let Some(&at) = seen.get(&packet) {
            found.entry(at).and_modify(|before| *before = format!("{before}; {text}")).or_insert(text);
        } else if row.event == OneOf(SegmentEvent::Mark) {
            coming.entry(packet).and_modify(|before| *before = format!("{before}; {text}")).or_insert(text);
        }
    }
    found
}

/// Writes the rows seen at the observed node, which is called `node`. `flows` is indexed by connection, and `links` has
/// the names of the links.
///
/// # Errors
///
/// If writing fails, or a row's connection is not among the flows.
pub fn write(
    out: &mut impl Write,
    node: &str,
    rows: &[SegmentRow],
    flows: &[Flow],
    links: &[String],
    network: Network,
) -> io::Result<()> {
    let mut capture = Capture::begin(out, node, network)?;
    let comments = comments(rows, links);
    let mut scalings: BTreeMap<u32, Scaling> = BTreeMap::new();
    for (i, row) in rows.iter().enumerate() {
        if matches!(row.event, OneOf(SegmentEvent::Drop | SegmentEvent::Mark)) {
            continue;
        }
        let flow = flows.get(row.connection as usize).copied().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("connection {} is not known", row.connection))
        })?;
        let scaling = scalings.entry(row.connection).or_default();
        let (mut packet, total) = headers(network, row, row.connection, flow, scaling);
        packet.resize(total.min(snaplen(network)) as usize, 0);
        capture.packet(Packet {
            time_ns: row.time_ns,
            bytes: &packet,
            total_bytes: total,
            sent: row.sent,
            comment: comments.get(&i).map(String::as_str),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
