//! The state of a connection, for its owner.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::state::{CloseReason, State};
use crate::stats::Stats;
use crate::timers::retransmit::Reason;

impl Connection {
    /// In-order payload bytes received.
    #[inline]
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }
    /// In-order payload bytes received, on a connection that has not received a FIN.
    #[inline]
    pub fn received_without_fin(&self) -> u64 {
        debug_assert!(!self.peer_closed());
        self.receiver.nxt - 1
    }
    /// Payload bytes cumulatively acknowledged.
    pub fn acked(&self) -> u64 {
        self.sender.snd.una.min(self.sender.snd.end) - 1
    }
    /// Current state.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }
    /// Whether this end is in CLOSED.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.state == State::Closed
    }
    /// Whether nothing is in flight or waiting to be sent. Without FIN (as between ns-2's one-way agents), an end that
    /// never closes has finished once it is quiet and the other end is in CLOSED.
    pub fn is_quiet(&self) -> bool {
        self.sender.snd.una == self.sender.limit()
    }
    /// Why the connection ended, unless both sides closed it.
    pub fn error(&self) -> Option<CloseReason> {
        self.error
    }
    /// Whether the peer's FIN has been received in order.
    #[inline]
    pub fn peer_closed(&self) -> bool {
        self.receiver.fin_received()
    }
    /// Whether the connection has been established.
    #[inline]
    pub fn was_established(&self) -> bool {
        self.was_established
    }
    /// Congestion window in bytes, without the inflation by duplicate ACKs during recovery.
    #[inline]
    pub fn cwnd_bytes(&self) -> u64 {
        self.sender.cc.cwnd()
    }
    /// Slow-start threshold in bytes; [`u64::MAX`] while there is none.
    #[inline]
    pub fn ssthresh_bytes(&self) -> u64 {
        self.sender.cc.ssthresh()
    }
    /// Whether the sender is in fast recovery (not after a timeout).
    pub fn in_recovery(&self) -> bool {
        self.recovery.in_recovery()
    }
    /// Smoothed round-trip time; zero before the first measurement.
    pub fn srtt(&self, cfg: &TcpConfig) -> Time {
        self.sender.snd.rtt.srtt(&cfg.rto)
    }
    /// The current retransmission timeout, including backoff.
    pub fn rto(&self, cfg: &TcpConfig) -> Time {
        self.sender.snd.rtt.rto(&cfg.rto)
    }
    /// When the retransmission timer expires, or the timer that runs in its place (RACK's reordering timer, the tail
    /// loss probe's, or the persist timer); [`Time::MAX`] if none is running.
    pub fn retransmission_deadline(&self) -> Time {
        let timer = self.sender.snd.timer;
        if timer.reason() == Reason::TimeWait {
            Time::MAX
        } else {
            timer.at()
        }
    }
    /// Bytes sent and not cumulatively acknowledged (SND.NXT - SND.UNA). After a timeout, data that go-back-N has yet
    /// to send again does not count.
    pub fn in_flight(&self) -> u64 {
        self.sender.snd.flight()
    }
    /// Duplicate ACKs since the last ACK of new data.
    pub fn dup_acks(&self) -> u32 {
        self.sender.snd.dup_acks
    }
    /// Payload bytes of a full segment (the effective MSS).
    pub fn mss(&self) -> u32 {
        self.sender.snd.mss
    }
    /// The counters so far.
    #[inline]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
