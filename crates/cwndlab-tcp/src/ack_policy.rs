//! When to acknowledge (RFC 1122, 4.2.3.2; RFC 5681, 4.2): one state for each family of receivers.

mod adaptive;
mod counted;
mod linux;

use self::adaptive::Adaptive;
use self::counted::Counted;
pub(crate) use self::linux::Linux;
use crate::config::{AckPolicy, TcpConfig};
use crate::reassembly::Reassembly;
use crate::rto::RttEstimator;
use crate::segment::Header;
use crate::tuned_buffer::TunedBuffer;
use cwndlab_units::Time;

/// What a segment with data was. All but the first are acknowledged at once by RFC 5681, 4.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// In order, nothing beyond it known.
    InOrder {
        /// its payload bytes
        bytes: u32,
    },
    /// In order, but its beginning had come before.
    Partial {
        /// its payload bytes
        bytes: u32,
    },
    /// In order, with data beyond a hole.
    Filling {
        /// its payload bytes
        bytes: u32,
    },
    /// Beyond a hole.
    Beyond,
    /// Nothing of it is new.
    Old,
}

/// When the acknowledgment is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// Now.
    Now,
    /// By this time at the latest; an earlier timer that already runs stays.
    By(Time),
    /// When a timer that runs expires.
    Running,
}

/// What an ACK policy needs to know about an arriving segment with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub now: Time,
    /// The segment size in force, bytes.
    pub mss: u32,
    pub arrival: Arrival,
    /// The most payload of the peer's segments.
    pub peer_mss: u32,
    pub seg: &'a Header,
    /// The next position expected, with this segment.
    pub nxt: u64,
    pub beyond: Option<&'a Reassembly>,
    /// Whether ACKs carry SACK blocks.
    pub sack: bool,
    pub effect: Effect,
    /// Round trips and timeout of the data that this end sends.
    pub rtt: &'a RttEstimator,
}

/// What a segment did to the window, where policies look at that.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Effect {
    /// The window offered last.
    pub window: u32,
    /// Whether the one that would be offered now is not smaller.
    pub window_holds: bool,
    /// Whether little of the buffer is free.
    pub window_tight: bool,
    /// Whether the segment raised what may be offered.
    pub window_grew: bool,
    /// Round trip as the receiver sees it; zero = not measured.
    pub round_trip: Time,
}

/// What a policy remembers: a variant for each family of receivers.
#[derive(Clone, Debug)]
pub(crate) enum AckState {
    /// Counts segments or bytes.
    Counted(Counted),
    /// Linux 2.0 and 2.2.
    Adaptive(Adaptive),
    /// Linux 6, or any with a buffer that grows.
    Linux(Box<LinuxReceiver>),
}

/// Linux's acknowledgments, its buffer, or both.
#[derive(Clone, Debug)]
pub(crate) struct LinuxReceiver {
    /// In place of `linux` if some other policy acknowledges.
    pub counted: Option<Counted>,
    pub linux: Linux,
    /// None if it has its size from the beginning.
    pub buffer: Option<TunedBuffer>,
}

impl AckState {
    pub fn new(cfg: &TcpConfig) -> Self {
        if let AckPolicy::Adaptive { .. } = cfg.ack_policy {
            return AckState::Adaptive(Adaptive::default());
        }
        let counted = (cfg.ack_policy != AckPolicy::Linux).then(|| Counted::new(cfg.ack_policy));
        match (counted, TunedBuffer::of(cfg)) {
            (Some(counted), None) => AckState::Counted(counted),
            (counted, buffer) => AckState::Linux(Box::new(LinuxReceiver { counted, linux: Linux::default(), buffer })),
        }
    }

    /// The buffer, if it grows.
    pub fn buffer(&self) -> Option<&TunedBuffer> {
        match self {
            AckState::Counted(_) | AckState::Adaptive(_) => None,
            AckState::Linux(state) => state.buffer.as_ref(),
        }
    }

    /// The buffer, if it grows.
    pub fn buffer_mut(&mut self) -> Option<&mut TunedBuffer> {
        match self {
            AckState::Counted(_) | AckState::Adaptive(_) => None,
            AckState::Linux(state) => state.buffer.as_mut(),
        }
    }

    /// Linux's acknowledgments, if this is how they go.
    fn linux(&mut self) -> Option<&mut Linux> {
        match self {
            AckState::Linux(state) if state.counted.is_none() => Some(&mut state.linux),
            AckState::Counted(_) | AckState::Adaptive(_) | AckState::Linux(_) => None,
        }
    }

    /// Payload bytes of the peer's full segments, as Linux's receiver estimates them.
    pub fn segment_bytes(&self) -> Option<u32> {
        match self {
            AckState::Linux(state) if state.counted.is_none() => Some(state.linux.segment_bytes()),
            AckState::Counted(_) | AckState::Adaptive(_) | AckState::Linux(_) => None,
        }
    }

    /// The handshake is done, or left out: the size of segments to begin with, and the window offered.
    pub fn on_established(&mut self, now: Time, mss: u32, window: u32) {
        if let Some(buffer) = self.buffer_mut() {
            buffer.on_established(now, mss, window);
        }
        if let Some(linux) = self.linux() {
            linux.on_established(mss, window);
        }
    }

    /// A segment with data came.
    #[inline]
    pub fn on_data(&mut self, cfg: &TcpConfig, data: &Data) -> Due {
        match self {
            AckState::Counted(counted) => counted.on_data(cfg, data.now, data.mss, data.arrival),
            AckState::Adaptive(adaptive) => {
                let AckPolicy::Adaptive { first_ns, max_ns, push_ns, holes_wait, on_ticks } = cfg.ack_policy else {
                    return Due::Now;
                };
                let knobs = adaptive::Knobs { first: first_ns, max: max_ns, push: push_ns, holes_wait, on_ticks };
                adaptive.on_data(cfg, &knobs, data)
            }
            AckState::Linux(state) => match &mut state.counted {
                Some(counted) => counted.on_data(cfg, data.now, data.mss, data.arrival),
                None => state.linux.on_data(cfg, data),
            },
        }
    }

    /// Whether a read draws an ACK of itself, with everything up to `nxt` received; `empty`: nothing is left in the buffer.
    pub fn read_is_due(&mut self, nxt: u64, empty: bool) -> bool {
        self.linux().is_some_and(|linux| linux.read_is_due(nxt, empty))
    }

    /// A congestion mark came, the first since the peer's last CWR; `window` is the one offered last.
    pub fn on_mark(&mut self, cfg: &TcpConfig, window: u32) {
        if let Some(linux) = self.linux() {
            linux.on_mark(cfg, window);
        }
    }

    /// A CWR arrived from the peer. Returns whether to acknowledge it at once.
    pub fn answers_cwr(&mut self) -> bool {
        self.linux().is_some()
    }

    /// Little of the receive buffer is free.
    pub fn on_tight_window(&mut self) {
        if let Some(linux) = self.linux() {
            linux.on_tight_window();
        }
    }

    /// The peer has closed.
    pub fn on_fin(&mut self) {
        if let Some(linux) = self.linux() {
            linux.on_fin();
        }
    }

    /// An acknowledgment of everything up to `nxt` went out, with data of our own or without.
    #[inline]
    pub fn on_sent(&mut self, cfg: &TcpConfig, now: Time, nxt: u64, with_data: bool) {
        match self {
            AckState::Counted(counted) => counted.on_sent(),
            AckState::Adaptive(adaptive) => adaptive.on_sent(),
            AckState::Linux(state) => match &mut state.counted {
                Some(counted) => counted.on_sent(),
                None => state.linux.on_sent(cfg, now, nxt, with_data),
            },
        }
    }

    /// The timer of a delayed acknowledgment has expired: one goes now.
    pub fn on_timer(&mut self, cfg: &TcpConfig, rtt: &RttEstimator) {
        if let Some(linux) = self.linux() {
            linux.on_timer(cfg, rtt);
        }
    }
}
