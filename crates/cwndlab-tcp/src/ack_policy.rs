//! When to acknowledge (RFC 1122, 4.2.3.2; RFC 5681, 4.2): one state for each family of receivers.

mod adaptive;
mod counted;

use self::adaptive::Adaptive;
use self::counted::Counted;
use crate::config::{AckPolicy, TcpConfig};
use crate::rto::RttEstimator;
use cwndlab_units::Time;

/// What a segment with data was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// In order, nothing beyond it known.
    InOrder {
        /// its payload bytes
        bytes: u32,
    },
    /// Filling a hole, all of it or a part: acknowledged at once (RFC 5681, 4.2).
    Fills {
        /// its payload bytes
        bytes: u32,
    },
    /// Out of order or a duplicate: acknowledged at once (RFC 5681, 4.2).
    Irregular,
}

/// When the acknowledgment is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// Now.
    Now,
    /// By this time at the latest; an earlier timer that already runs stays.
    By(Time),
}

/// What an arriving segment with data tells a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub now: Time,
    /// The segment size in force, bytes.
    pub mss: u32,
    pub arrival: Arrival,
    /// Whether it has PSH.
    pub push: bool,
    /// Round trips and timeout of the data that this end sends.
    pub rtt: &'a RttEstimator,
}

/// What a policy remembers: a variant for each family of receivers.
#[derive(Clone, Debug)]
pub(crate) enum AckState {
    /// Counts segments or bytes.
    Counted(Counted),
    /// Linux 2.0 and 2.2.
    Adaptive(Adaptive),
}

impl AckState {
    pub fn new(policy: AckPolicy) -> Self {
        match policy {
            AckPolicy::Adaptive { .. } => AckState::Adaptive(Adaptive::default()),
            _ => AckState::Counted(Counted::new(policy)),
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
        }
    }

    /// An acknowledgment went out, with data of our own or without.
    #[inline]
    pub fn on_sent(&mut self, _now: Time, _with_data: bool) {
        match self {
            AckState::Counted(counted) => counted.on_sent(),
            AckState::Adaptive(adaptive) => adaptive.on_sent(),
        }
    }

    /// The timer of a delayed acknowledgment has expired: one goes now.
    pub fn on_timer(&mut self, _cfg: &TcpConfig, _now: Time, _rtt: &RttEstimator) {
        match self {
            AckState::Counted(_) | AckState::Adaptive(_) => {}
        }
    }
}
