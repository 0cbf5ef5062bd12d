//! The endpoint under test as its script sees it: relative numbers, file descriptors, bytes read.

use crate::script::{EcnBits, Options, Packet};
use crate::timestamps::Timestamps;
use cwndlab_tcp::{CloseReason, Connection, Flags, Header, SackBlocks, Segment, TcpConfig};
use cwndlab_units::Time;

/// The initial sequence numbers of both sides are just below 2^32, so that sequence numbers wrap during a script.
pub(crate) const LOCAL_ISS: u32 = 0xffff_fc00;
pub(crate) const PEER_ISS: u32 = 0xffff_f800;

/// A file descriptor of the script.
pub(crate) struct Descriptor {
    pub cfg: TcpConfig,
    pub kind: Kind,
    pub nonblocking: bool,
    /// `SO_LINGER` with zero time: `close` resets the connection.
    pub linger_zero: bool,
    pub corked: bool,
    pub user_timeout_ms: i64,
}

impl Descriptor {
    pub fn new(cfg: TcpConfig, kind: Kind, nonblocking: bool) -> Self {
        Descriptor { cfg, kind, nonblocking, linger_zero: false, corked: false, user_timeout_ms: 0 }
    }
}

/// The kind of a descriptor.
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
    /// Bytes that the script has read and written.
    pub read: u64,
    pub written: u64,
    /// Whether the connection has a descriptor. A passive connection gets one by `accept`.
    pub accepted: bool,
    peer_scale: Option<u8>,
    own_scale: Option<u8>,
    /// Whether the endpoint has sent a SYN.
    opened: bool,
    /// The relative sequence number after the furthest data that has arrived.
    pub furthest: u32,
    pub timestamps: Timestamps,
    /// Whether the application has shut down its sending and its receiving half.
    pub write_shut: bool,
    pub read_shut: bool,
    /// Whether a call has returned the error that ended the connection.
    error_returned: bool,
}

/// A segment that the endpoint sent, and the time at which it did.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    pub at: Time,
    pub endpoint: usize,
    pub segment: Segment,
}

impl Endpoint {
    pub fn new(cfg: TcpConfig, connection: Connection, timestamps: Timestamps, accepted: bool) -> Self {
        Endpoint {
            cfg,
            connection,
            read: 0,
            written: 0,
            accepted,
            peer_scale: None,
            own_scale: None,
            opened: false,
            furthest: 0,
            timestamps,
            write_shut: false,
            read_shut: false,
            error_returned: false,
        }
    }

    /// Returns the error of the connection (`sk_err` in Linux) the first time, and `None` after that.
    pub fn take_error(&mut self) -> Option<&'static str> {
        if self.error_returned {
            return None;
        }
        let errno = match self.connection.error()? {
            CloseReason::Refused => "ECONNREFUSED",
            // Linux's tcp_reset: in CLOSE_WAIT the application may still write, so the error is that of a write.
            CloseReason::Reset if self.connection.peer_closed() && !self.write_shut => "EPIPE",
            CloseReason::Reset => "ECONNRESET",
            CloseReason::RetransmitTimeout | CloseReason::ConnectTimeout => "ETIMEDOUT",
            CloseReason::Aborted => return None,
        };
        self.error_returned = true;
        Some(errno)
    }

    /// Number of received bytes that have not been read.
    pub fn unread(&self) -> u64 {
        self.connection.received() - self.read
    }

    /// Converts a script's segment to the segment that arrives at the endpoint. `echo` is its TS ecr in the endpoint's
    /// numbers.
    pub fn inbound(&mut self, packet: &Packet, echo: u32) -> Segment {
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
        let header = Header {
            seq: PEER_ISS.wrapping_add(packet.seq.unwrap_or(0)),
            // An ACK without a number acknowledges 0, as in packetdrill.
            ack: if flags.has(Flags::ACK) { LOCAL_ISS.wrapping_add(packet.ack.unwrap_or(0)) } else { 0 },
            window: packet.window.unwrap_or(0) << scale,
            len: packet.len,
            ts_val: options.timestamps.map_or(0, |t| t.0),
            ts_ecr: echo,
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
        };
        Segment { header, sack, accecn: options.accecn }
    }

    /// Converts the endpoint's segment to a segment as a script would write it. Stores the window scale of a SYN,
    /// and the timestamp that the script expects in place of the endpoint's.
    pub fn outbound(&mut self, segment: &Segment, expected: &Packet) -> Packet {
        if segment.flags.has(Flags::SYN) {
            self.opened = true;
            self.own_scale = segment.window_scale_plus_1.checked_sub(1);
        }
        let expected_val = expected.options.as_ref().and_then(|o| o.timestamps).map(|t| t.0);
        if let (true, Some(val)) = (segment.has_timestamps, expected_val) {
            self.timestamps.learn(val, segment.ts_val);
        }
        self.shown(segment)
    }

    /// Converts the endpoint's segment to a segment as a script would write it. Unlike [`Self::outbound`], stores
    /// nothing.
    pub fn shown(&self, segment: &Segment) -> Packet {
        let syn = segment.flags.has(Flags::SYN);
        let scale = match (self.peer_scale, self.own_scale, syn) {
            (Some(_), Some(own), false) => own,
            _ => 0,
        };
        // A closed port answers a segment without ACK with an RST whose sequence number is 0 (RFC 9293, section
        // 3.10.7.1). This number is not relative to an initial sequence number.
        let foreign = !self.opened && segment.flags.has(Flags::RST) && segment.flags.has(Flags::ACK);
        Packet {
            ecn: Some([EcnBits::NotEct, EcnBits::Ect1, EcnBits::Ect0, EcnBits::Ce][usize::from(segment.ecn & 3)]),
            flags: segment.flags.0,
            seq: Some(segment.seq.wrapping_sub(if foreign { 0 } else { LOCAL_ISS })),
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then(|| segment.ack.wrapping_sub(PEER_ISS)),
            window: Some((segment.window >> scale).min(0xffff)),
            options: Some(Options {
                mss: (segment.mss != 0).then_some(segment.mss),
                window_scale: segment.window_scale_plus_1.checked_sub(1),
                sack_permitted: segment.sack_permitted,
                timestamps: segment.has_timestamps.then(|| (self.timestamps.script(segment.ts_val), segment.ts_ecr)),
                sack: segment
                    .sack
                    .as_slice()
                    .iter()
                    .map(|(first, last)| (first.wrapping_sub(PEER_ISS), last.wrapping_sub(PEER_ISS)))
                    .collect(),
                accecn: segment.accecn,
            }),
        }
    }
}
