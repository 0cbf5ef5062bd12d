//! The endpoint under test as its script sees it: relative numbers, file descriptors, what was read.

use crate::script::{EcnBits, Options, Packet};
use cwndlab_tcp::{Connection, Flags, SackBlocks, Segment, TcpConfig};
use cwndlab_units::Time;
use std::collections::BTreeMap;

/// Initial sequence numbers of both sides lie just below the wrap, so that scripts cross it.
pub(crate) const LOCAL_ISS: u32 = 0xffff_fc00;
pub(crate) const PEER_ISS: u32 = 0xffff_f800;

/// A file descriptor of the script.
pub(crate) struct Descriptor {
    pub cfg: TcpConfig,
    pub kind: Kind,
    pub nonblocking: bool,
    /// `SO_LINGER` with zero time: close resets.
    pub linger_zero: bool,
}

/// What a descriptor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Unconnected,
    Listening,
    /// Index of the endpoint.
    Connected(usize),
}

/// One connection.
pub(crate) struct Endpoint {
    pub cfg: TcpConfig,
    pub connection: Connection,
    pub read: u64,
    /// Whether a descriptor was made for it (a passive one waits for accept).
    pub accepted: bool,
    peer_scale: Option<u8>,
    own_scale: Option<u8>,
    /// Timestamps of ours that the script named, and what they were; scripts count milliseconds, the endpoint
    /// microseconds.
    stamps: BTreeMap<u32, u32>,
}

/// What the endpoint sent, and when.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub at: Time,
    pub endpoint: usize,
    pub segment: Segment,
}

impl Endpoint {
    pub fn new(cfg: TcpConfig, connection: Connection, accepted: bool) -> Self {
        Endpoint { cfg, connection, read: 0, accepted, peer_scale: None, own_scale: None, stamps: BTreeMap::new() }
    }

    /// The script's segment as it arrives.
    pub fn inbound(&mut self, packet: &Packet) -> Segment {
        let flags = Flags(packet.flags);
        let options = packet.options.clone().unwrap_or_default();
        let syn = flags.has(Flags::SYN);
        if syn {
            self.peer_scale = options.window_scale;
        }
        let scale = match (self.peer_scale, self.own_scale, syn) {
            (Some(peer), Some(_), false) => peer.min(14), // RFC 7323, section 2.3
            _ => 0,
        };
        let mut sack = SackBlocks::default();
        for (slot, (first, last)) in sack.blocks.iter_mut().zip(&options.sack) {
            *slot = (LOCAL_ISS.wrapping_add(*first), LOCAL_ISS.wrapping_add(*last));
            sack.len += 1;
        }
        let header = 40 + if options.timestamps.is_some() { 12 } else { 0 };
        Segment {
            seq: PEER_ISS.wrapping_add(packet.seq),
            ack: packet.ack.map_or(0, |n| LOCAL_ISS.wrapping_add(n)),
            window: packet.window.unwrap_or(0) << scale,
            len: packet.len,
            ts_val: options.timestamps.map_or(0, |t| t.0),
            ts_ecr: options.timestamps.map_or(0, |t| self.live_stamp(t.1)),
            wire_bytes: packet.len + header,
            flags,
            has_timestamps: options.timestamps.is_some(),
            retransmission: false,
            ecn: match packet.ecn {
                Some(EcnBits::Ect1) => 1,
                Some(EcnBits::Ect0 | EcnBits::Ect01) => 2,
                Some(EcnBits::Ce) => 3,
                Some(EcnBits::NotEct) | None => 0,
            },
            mss: options.mss.unwrap_or(0),
            window_scale_plus_1: options.window_scale.map_or(0, |n| n.saturating_add(1)),
            sack_permitted: options.sack_permitted,
            sack,
        }
    }

    /// What a script calls our timestamp `live`, by the first one that it named.
    fn script_stamp(&self, live: u32) -> u32 {
        let Some((script, first)) = self.stamps.first_key_value() else { return live };
        let passed_us = live.wrapping_sub(*first) as i32;
        script.wrapping_add_signed((f64::from(passed_us) / 1000.0).round() as i32)
    }

    /// Our timestamp that a script calls `script`: the very one if it was named, else by the time between; 0 is none.
    fn live_stamp(&self, script: u32) -> u32 {
        if let Some(live) = self.stamps.get(&script) {
            return *live;
        }
        match self.stamps.first_key_value() {
            Some((first, live)) if script != 0 => {
                live.wrapping_add_signed((script.wrapping_sub(*first) as i32).wrapping_mul(1000))
            }
            _ => script,
        }
    }

    /// The endpoint's segment as a script would write it. `expected` teaches the timestamps' offset.
    pub fn outbound(&mut self, segment: &Segment, expected: &Packet) -> Packet {
        let syn = segment.flags.has(Flags::SYN);
        if syn {
            self.own_scale = segment.window_scale_plus_1.checked_sub(1);
        }
        let expected_val = expected.options.as_ref().and_then(|o| o.timestamps).map(|t| t.0);
        if let (true, Some(val)) = (segment.has_timestamps, expected_val) {
            self.stamps.entry(val).or_insert(segment.ts_val);
        }
        let scale = match (self.peer_scale, self.own_scale, syn) {
            (Some(_), Some(own), false) => own,
            _ => 0,
        };
        Packet {
            ecn: Some([EcnBits::NotEct, EcnBits::Ect1, EcnBits::Ect0, EcnBits::Ce][usize::from(segment.ecn & 3)]),
            flags: segment.flags.0,
            seq: segment.seq.wrapping_sub(LOCAL_ISS),
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then(|| segment.ack.wrapping_sub(PEER_ISS)),
            window: Some((segment.window >> scale).min(0xffff)),
            options: Some(Options {
                mss: (segment.mss != 0).then_some(segment.mss),
                window_scale: segment.window_scale_plus_1.checked_sub(1),
                sack_permitted: segment.sack_permitted,
                timestamps: segment.has_timestamps.then(|| (self.script_stamp(segment.ts_val), segment.ts_ecr)),
                sack: segment
                    .sack
                    .as_slice()
                    .iter()
                    .map(|(first, last)| (first.wrapping_sub(PEER_ISS), last.wrapping_sub(PEER_ISS)))
                    .collect(),
            }),
        }
    }
}
