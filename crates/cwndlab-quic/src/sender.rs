//! The state of a sender, as its congestion control reports it. A stack owns its congestion control, so each stack's module
//! wraps it in one that notes here what it sees.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cwndlab_engine::StackWindow;
use cwndlab_tcp::CongestionState;
use cwndlab_units::Time;

/// The state of a sender.
#[derive(Debug)]
pub(crate) struct Sender {
    window: u64,
    ssthresh: Option<u64>,
    /// Whether a packet was acknowledged, so that the round-trip time is more than an assumption.
    is_acked: bool,
    in_flight: u64,
    /// The start of the present recovery: packets sent before it say nothing new about congestion (RFC 9002, section 7.3.2).
    recovery: Option<Instant>,
    state: CongestionState,
    pub(crate) ecn_reductions: u32,
    #[cfg(feature = "noq")]
    pub(crate) lost: u32,
}

/// The state of a sender, shared between the wrapped congestion control and the host.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Sender>>);

impl Shared {
    pub(crate) fn new() -> Shared {
        Shared(Arc::new(Mutex::new(Sender {
            window: 0,
            ssthresh: None,
            is_acked: false,
            in_flight: 0,
            recovery: None,
            state: CongestionState::Open,
            ecn_reductions: 0,
            #[cfg(feature = "noq")]
            lost: 0,
        })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Sender> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    pub(crate) fn set_window(&mut self, window: u64, ssthresh: Option<u64>) {
        self.window = window;
        self.ssthresh = ssthresh;
    }

    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.in_flight += bytes;
    }

    pub(crate) fn on_ack(&mut self, sent: Instant) {
        self.is_acked = true;
        if self.recovery.is_some_and(|start| sent > start) {
            self.recovery = None;
            self.state = CongestionState::Open;
        }
    }

    pub(crate) fn on_end_acks(&mut self, in_flight: u64) {
        self.in_flight = in_flight;
    }

    /// Notes a congestion event that begins `state`, CWR or recovery; `sent` is when the last of the packets was sent that
    /// it is about.
    pub(crate) fn on_congestion(&mut self, now: Instant, sent: Instant, state: CongestionState, is_persistent: bool) {
        if self.recovery.is_none_or(|start| sent > start) {
            self.recovery = Some(now);
            self.state = state;
            self.ecn_reductions += u32::from(state == CongestionState::Cwr);
        }
        if is_persistent {
            self.state = CongestionState::Loss;
        }
    }

    /// The state; `srtt` is the stack's smoothed round-trip time.
    pub(crate) fn sample(&self, srtt: Duration) -> StackWindow {
        StackWindow {
            cwnd_bytes: self.window,
            ssthresh_bytes: self.ssthresh.unwrap_or(u64::MAX),
            srtt: if self.is_acked { Time::from_nanos(srtt.as_nanos() as u64) } else { Time::ZERO },
            in_flight_bytes: self.in_flight,
            state: self.state,
        }
    }
}
