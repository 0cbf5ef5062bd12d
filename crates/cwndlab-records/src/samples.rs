//! Rows for the tests of this crate.

use crate::cell::{AccEcnCounts, OneOf, Sack};
use crate::tables::{SegmentEvent, SegmentRow};

/// Bits of the flags column.
pub const SYN: u8 = 0x02;
pub const ACK: u8 = 0x10;

/// A segment of connection 0 at `time_ns`, as the client's node sent it: no payload, no options.
pub fn segment(time_ns: u64, event: SegmentEvent) -> SegmentRow {
    SegmentRow {
        time_ns,
        event: OneOf(event),
        connection: 0,
        from_client: true,
        sent: true,
        seq: 0,
        len: 0,
        ack: 0,
        window_bytes: 65_535,
        flags: ACK,
        ecn: 0,
        timeout: false,
        sack: Sack::default(),
        accecn: AccEcnCounts::default(),
        ts_val: None,
        ts_ecr: None,
        mss_bytes: None,
        window_scale: None,
        sack_permitted: false,
        ip_id: Some(0),
        wire_bytes: 40,
        segment: 0,
        link: None,
        cause: None,
    }
}
