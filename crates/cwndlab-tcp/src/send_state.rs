//! The sender's positions in its stream, and the state that loss recovery shares with the rest of the sender.

use cwndlab_units::Time;

use crate::config::TcpConfig;
use crate::ecn::Echo;
use crate::flight::{AckKind, AckReport, Flight, PlainAck};
use crate::rto::RttEstimator;
use crate::timers::retransmit::{Reason, RetransmissionTimer};

/// A range of the stream to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub start: u64,
    /// Payload bytes.
    pub len: u32,
}

/// The window that limits what may be sent, and the data that already uses it, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub window: u64,
    pub in_flight: u64,
}

impl Room {
    /// Returns the room that would be left if `bytes` more were in flight.
    pub fn less(self, bytes: u64) -> Room {
        Room { in_flight: self.in_flight + bytes, ..self }
    }
}

/// The positions of RFC 9293, section 3.3.1, as 64-bit positions in this end's stream, and the state that loss recovery
/// shares with the rest of the sender.
#[derive(Clone, Debug)]
pub(crate) struct SendState {
    /// SND.UNA
    pub una: u64,
    /// SND.NXT. Go-back-N after a timeout sets it back to SND.UNA; so does Tahoe's fast retransmit.
    pub nxt: u64,
    /// One past the highest position ever sent.
    pub max: u64,
    /// One past the last byte written.
    pub end: u64,
    /// First position beyond the peer's window.
    pub edge: u64,
    pub rtt: RttEstimator,
    pub timer: RetransmissionTimer,
    /// Whether only loss recovery may set a running timer again and choose its meaning (RACK with Linux's timers).
    pub recovery_sets_timer: bool,
    pub ecn: Echo,
    /// Payload bytes of a full segment (the effective MSS).
    pub mss: u32,
    /// Number of duplicate ACKs (RFC 5681, section 2) since the last ACK of new data.
    pub dup_acks: u32,
    /// Bytes by which fast recovery inflates the window (RFC 5681, section 3.2, steps 3 to 5).
    pub inflation: u32,
    /// Whether the first unacknowledged segment is to be sent now, regardless of the window.
    pub resend_first: bool,
}

impl SendState {
    pub fn new(cfg: &TcpConfig, mss: u32) -> Self {
        SendState {
            una: 1,
            nxt: 1,
            max: 1,
            end: 1,
            edge: 1 + cfg.receive_buffer_bytes,
            rtt: RttEstimator::new(&cfg.rto),
            timer: RetransmissionTimer::STOPPED,
            recovery_sets_timer: false,
            ecn: Echo::default(),
            mss,
            dup_acks: 0,
            inflation: 0,
            resend_first: false,
        }
    }

    /// Returns the bytes that count against cwnd (SND.UNA to SND.NXT): less than `FlightSize` during go-back-N.
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// `FlightSize` (RFC 5681, section 2): the bytes that were sent and are not cumulatively acknowledged.
    pub fn flight_size(&self) -> u64 {
        self.max - self.una
    }

    /// Returns the first unacknowledged segment, to be retransmitted. It contains only data that was sent before,
    /// because more could exceed the peer's window.
    pub fn first(&self, flight: &Flight) -> Piece {
        let hole = flight.reported.first_block_start(self.una).unwrap_or(u64::MAX);
        let sent = self.end.min(self.max).saturating_sub(self.una);
        Piece { start: self.una, len: sent.min(u64::from(self.mss)).min(hole - self.una) as u32 }
    }

    /// Returns the first segment at or after `from` that SACK has not reported, although it has reported later data.
    pub fn hole_piece(&self, flight: &Flight, from: u64) -> Option<Piece> {
        let (start, end) = flight.reported.hole(from);
        (end != u64::MAX).then(|| Piece { start, len: (end - start).min(u64::from(self.mss)) as u32 })
    }

    /// Returns the report of an ACK of new data that acknowledges `acked_bytes` and reports nothing else; the caller
    /// adds what other ACKs report. `prior`: `FlightSize`, and the estimated bytes in the network, both before the ACK.
    pub fn report(
        &self,
        cfg: &TcpConfig,
        now: Time,
        prior: (u64, u64),
        acked_bytes: u64,
        rtt: Option<Time>,
    ) -> AckReport {
        AckReport {
            now,
            kind: AckKind::New,
            mss: self.mss,
            acked_bytes,
            delivered_bytes: acked_bytes,
            fresh_bytes: acked_bytes,
            prior_flight_bytes: prior.0,
            prior_in_flight_bytes: prior.1,
            rtt,
            srtt: self.rtt.srtt(&cfg.rto),
            snd_nxt: self.nxt,
            snd_una: self.una,
            ..AckReport::default()
        }
    }

    /// Returns the part of [`Self::report`] that suffices for most congestion controls.
    pub fn plain_ack(&self, now: Time, acked_bytes: u64, rtt: Option<Time>) -> PlainAck {
        PlainAck { now, mss: self.mss, acked_bytes, rtt, snd_una: self.una, snd_nxt: self.nxt }
    }

    /// Starts the retransmission timeout, counted from `now` (RFC 6298, 5.1, 5.5 and 5.6).
    #[inline]
    pub fn start_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        self.timer.set(cfg, now, Reason::Rto, self.rtt.rto(&cfg.rto));
    }

    /// Restarts the timeout after an event other than sending, unless only recovery may (`recovery_sets_timer`).
    #[inline]
    pub fn restart_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        if !(self.recovery_sets_timer && self.timer.is_running()) {
            self.start_timeout(cfg, now);
        }
    }

    /// Starts the timer for the `retries`-th window probe in a row. The intervals between probes increase exponentially
    /// (RFC 9293, section 3.8.6.1). A probe reveals nothing about the path, so the timeout's backoff does not change.
    pub fn start_persist(&mut self, cfg: &TcpConfig, now: Time, retries: u8) {
        let rto = self.rtt.rto(&cfg.rto);
        let wait = if retries == 0 { rto } else { (rto * (1 << retries)).min(cfg.rto.max_ns) };
        self.timer.set(cfg, now, Reason::Persist, wait);
    }
}
