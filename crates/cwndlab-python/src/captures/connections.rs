//! Collects the segments of a capture by connection, and takes the capture's own faults out of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use cwndlab_records::Lifetime;
use cwndlab_tcp::Flags;

use super::headers::{Checksum, Fragment, PacketId, Segment};
use super::raw::Raw;
use super::{clock, copies, jumps, Capture, CapturedSegment, Faults};

/// Packets that wait for fragments at most.
const MOST_FRAGMENTED: usize = 4096;
/// Wrong checksums are damage if they are rare: a host that leaves them to its device shows few that are right.
const MOST_DAMAGED: usize = 4;
/// The largest window (RFC 7323, section 2.3): numbers further apart are not of the same connection's data.
const LARGEST_WINDOW: i64 = 1 << 30;

struct Connection {
    ends: [SocketAddr; 2],
    segments: Vec<Raw>,
    lifetime: Lifetime,
    fragmented: usize,
}

/// The segments that were read, by connection.
#[derive(Default)]
pub struct Found {
    connections: Vec<Connection>,
    /// The times of all segments, in the order of the file.
    times: Vec<i64>,
    /// Index of the latest connection between two ends, which are in ascending order in the key.
    last: BTreeMap<[SocketAddr; 2], usize>,
    /// Of packets of which the first fragment was seen: the connection, the segment in it, and the length of its header.
    fragmented: BTreeMap<PacketId, (usize, usize, u32)>,
}

impl Found {
    /// How many were added.
    pub fn segments(&self) -> usize {
        self.times.len()
    }

    /// Adds a segment to the latest connection of its ends, or to a new one if there is none, or the segment opens one.
    pub fn add(&mut self, time_ns: i64, interface: u32, segment: &Segment) {
        let ends = segment.ends;
        let mut key = ends;
        key.sort_unstable();
        let (flags, from_least) = (Flags(segment.flags), key == ends);
        let is_over = |k: &usize| self.connections[*k].lifetime.is_over(flags, segment.seq, from_least);
        let known = self.last.get(&key).copied().filter(|k| !is_over(k));
        let index = known.unwrap_or_else(|| {
            let lifetime = Lifetime::default();
            self.connections.push(Connection { ends, segments: Vec::new(), lifetime, fragmented: 0 });
            self.last.insert(key, self.connections.len() - 1);
            self.connections.len() - 1
        });
        let connection = &mut self.connections[index];
        connection.lifetime.note(flags, segment.seq, from_least);
        if let Some((header, packet)) = segment.first_fragment {
            connection.fragmented += 1;
            if self.fragmented.len() == MOST_FRAGMENTED {
                self.fragmented.clear();
            }
            self.fragmented.insert(packet, (index, connection.segments.len(), header));
        }
        let from_first = connection.ends == ends;
        connection.segments.push(Raw::new(self.times.len(), time_ns, interface, segment, from_first));
        self.times.push(time_ns);
    }

    /// Adds a fragment's bytes to the segment that the first fragment of its packet began.
    pub fn add_fragment(&mut self, fragment: &Fragment) {
        if let Some(&(connection, at, header)) = self.fragmented.get(&fragment.packet) {
            let segment = &mut self.connections[connection].segments[at].segment;
            segment.len = segment.len.max(fragment.end.saturating_sub(header));
        }
    }

    /// The connections without the faults of the capture, which are counted.
    pub fn finish(self, cut: Option<String>, headers_cut: u64) -> Capture {
        let (mut times, mut steps) = clock::continuous(&self.times);
        let segments = self.connections.iter().map(|one| one.segments.as_slice());
        let jumps = jumps::find(segments, &times, clock::tick(&times));
        clock::close_up(&mut times, &jumps);
        steps.extend(jumps);
        steps.sort_by_key(|step| step.place);
        let steps = steps.iter().map(|step| (times[step.place - 1], step.back_ns)).collect();
        let tick_ns = clock::tick(&times);
        let connections = self.connections.into_iter().map(|mut connection| {
            for raw in &mut connection.segments {
                raw.time_ns = times[raw.place];
            }
            let (segments, mut faults) = cleaned(connection.segments);
            faults.fragmented = connection.fragmented;
            super::Connection::new(connection.ends, segments, faults)
        });
        Capture { connections: connections.collect(), cut, headers_cut, steps, tick_ns }
    }
}

/// The segments of a connection as one observer with a right clock would have captured them, and what was wrong.
fn cleaned(mut raw: Vec<Raw>) -> (Vec<CapturedSegment>, Faults) {
    let mut faults = Faults::default();
    let times = || raw.iter().map(|one| one.time_ns);
    faults.span_ns = times().min().zip(times().max());
    let copies = copies::take_out(&mut raw);
    (faults.copies, faults.ttls, faults.interfaces) = (copies.count, copies.ttls, copies.interfaces);
    for from_first in [true, false] {
        let mine = |one: &&Raw| one.from_first == from_first;
        let wrong = raw.iter().filter(mine).filter(|one| one.checksum == Checksum::Wrong).count();
        let right = raw.iter().filter(mine).filter(|one| one.checksum == Checksum::Right).count();
        if wrong > 0 && wrong * MOST_DAMAGED <= wrong + right {
            let is_damaged =
                |one: &Raw| one.from_first == from_first && one.checksum == Checksum::Wrong && !one.has(Flags::RST);
            let damaged = raw.iter().filter(|one| is_damaged(one));
            faults.damaged += damaged.clone().count();
            faults.damaged_bytes[usize::from(!from_first)] +=
                damaged.map(|one| u64::from(one.segment.len)).sum::<u64>();
            raw.retain(|one| !is_damaged(one));
        }
    }
    raw.sort_by_key(|one| one.time_ns);
    let mut segments = numbered(raw, &mut faults);
    order_ties(&mut segments);
    (segments, faults)
}

/// Orders what one end sent at one time by its numbers: packets of several queues are in the file in any order.
fn order_ties(segments: &mut [CapturedSegment]) {
    let is_data = |one: &CapturedSegment| one.len > 0 && !Flags(one.flags).has(Flags::SYN);
    for tied in segments.chunk_by_mut(|one, other| {
        one.time_ns == other.time_ns && one.from_first == other.from_first && is_data(one) && is_data(other)
    }) {
        tied.sort_by_key(|one| one.seq);
    }
}

/// The numbers of one end, counted on beyond 32 bits.
#[derive(Default)]
struct Numbers {
    /// The initial number, with the latest one's offset from it.
    last: Option<(u32, i64)>,
    /// Whether a SYN stated the initial number.
    is_exact: bool,
    least: i64,
}

impl Numbers {
    /// The offset of a number, None if it cannot belong to this connection.
    fn offset(&mut self, number: u32) -> Option<i64> {
        let offset = self.near(number)?;
        if self.last.is_none_or(|(_, last)| offset > last) {
            self.last = Some((number, offset));
        }
        self.least = self.least.min(offset);
        Some(offset)
    }

    /// The same, without taking note of it.
    fn near(&self, number: u32) -> Option<i64> {
        let Some((near, offset)) = self.last else {
            return Some(0);
        };
        let distance = i64::from(number.wrapping_sub(near).cast_signed());
        // A keep-alive may repeat the number of the SYN.
        let least = if self.is_exact { -1 } else { i64::MIN };
        (distance.abs() <= LARGEST_WINDOW && offset + distance >= least).then_some(offset + distance)
    }

    /// The first offset: that of the first byte of data, or the least that was seen.
    fn first(&self) -> i64 {
        if self.is_exact {
            0
        } else {
            self.least
        }
    }
}

/// Replaces numbers by offsets in each end's data, and drops segments whose numbers cannot belong to the connection.
fn numbered(raw: Vec<Raw>, faults: &mut Faults) -> Vec<CapturedSegment> {
    let mut ends = [Numbers::default(), Numbers::default()];
    for one in &raw {
        let numbers = &mut ends[usize::from(!one.from_first)];
        if one.has(Flags::SYN) && !numbers.is_exact {
            *numbers = Numbers { last: Some((one.seq.wrapping_add(1), 0)), is_exact: true, least: 0 };
        }
    }
    let mut kept = Vec::with_capacity(raw.len());
    for one in raw {
        let (own, peer) = (usize::from(!one.from_first), usize::from(one.from_first));
        let is_syn = one.has(Flags::SYN);
        // A reset may carry any number (RFC 9293, section 3.5.2).
        let is_reset = one.has(Flags::RST);
        let seq = match (is_syn, is_reset) {
            (true, _) => Some(0),
            (_, true) => ends[own].near(one.seq).or(Some(0)),
            _ => ends[own].offset(one.seq),
        };
        let ack = match (one.has(Flags::ACK), is_reset) {
            (false, _) => Some(0),
            (_, true) => ends[peer].near(one.ack).or(Some(0)),
            _ => ends[peer].offset(one.ack),
        };
        let (Some(seq), Some(ack)) = (seq, ack) else {
            faults.damaged += 1;
            faults.damaged_bytes[own] += u64::from(one.segment.len);
            continue;
        };
        let mut segment = CapturedSegment { time_ns: one.time_ns, seq, ack, ..one.segment };
        let blocks = one.sack.iter().filter_map(|&(left, right)| {
            let (left, right) = (ends[peer].offset(left), ends[peer].offset(right));
            left.zip(right)
        });
        segment.sack = blocks.collect();
        kept.push(segment);
    }
    let first = [ends[0].first(), ends[1].first()];
    for segment in &mut kept {
        let (own, peer) = (usize::from(!segment.from_first), usize::from(segment.from_first));
        let from = |number: i64, end: usize| (number - first[end]).max(0);
        let syn = Flags(segment.flags).has(Flags::SYN);
        segment.seq = if syn { 0 } else { from(segment.seq, own) };
        segment.ack = if Flags(segment.flags).has(Flags::ACK) { from(segment.ack, peer) } else { 0 };
        for (left, right) in &mut segment.sack {
            (*left, *right) = (from(*left, peer), from(*right, peer));
        }
    }
    kept
}
