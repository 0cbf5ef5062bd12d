//! A segment of a file, before the faults of the capture are taken out.

use cwndlab_tcp::Flags;

use super::headers::{Checksum, Segment};
use super::CapturedSegment;

/// A segment, and what tells it from others that look alike.
pub struct Raw {
    /// Its position among all segments, in the order of the file.
    pub place: usize,
    pub time_ns: i64,
    pub from_first: bool,
    pub seq: u32,
    pub ack: u32,
    pub segment: CapturedSegment,
    pub sack: Box<[(u32, u32)]>,
    pub checksum: Checksum,
    pub ip_id: u16,
    pub ttl: u8,
    pub interface: u32,
    pub digest: u64,
}

impl Raw {
    pub fn new(place: usize, time_ns: i64, interface: u32, of: &Segment, from_first: bool) -> Self {
        let segment = CapturedSegment {
            time_ns,
            from_first,
            seq: 0,
            ack: 0,
            len: of.len,
            window: of.window,
            flags: of.flags,
            mss: of.mss,
            scale: of.scale,
            ts: of.ts,
            sack: Vec::new(),
            options_cut: of.options_cut,
        };
        Raw {
            place,
            time_ns,
            from_first,
            seq: of.seq,
            ack: of.ack,
            segment,
            sack: of.sack.iter().flatten().copied().collect(),
            checksum: of.checksum,
            ip_id: of.ip_id,
            ttl: of.ttl,
            interface,
            digest: of.digest,
        }
    }

    /// Whether it has a flag.
    pub fn has(&self, flag: Flags) -> bool {
        Flags(self.segment.flags).has(flag)
    }
}
