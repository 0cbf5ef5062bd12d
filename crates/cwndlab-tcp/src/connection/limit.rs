//! What keeps a sender from sending more at present.

use super::Connection;
use crate::config::TcpConfig;
use crate::in_order::Wait;
use crate::send_state::Room;
use crate::state::State;

/// What keeps a sender from sending more. If several limits apply, the one that the sender tests first is reported: if
/// cwnd and the peer's window are both full, the limit is cwnd, as in Linux's `tcp_write_xmit`.
///
/// RFC 4898's `SndLimTimeRwin` is [`Limit::ReceiveWindow`]; `SndLimTimeCwnd` is [`Limit::Cwnd`], [`Limit::MaxWindow`],
/// [`Limit::Recovery`], [`Limit::Timeout`], [`Limit::Probe`] and [`Limit::Reordering`]; `SndLimTimeSnd` is the rest.
/// Linux's `tcpi_busy_time` is everything but [`Limit::Handshake`], [`Limit::Idle`] and [`Limit::Closed`], and
/// `tcpi_rwnd_limited` is [`Limit::ReceiveWindow`], `tcpi_sndbuf_limited` [`Limit::SendBuffer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The connection is not established.
    Handshake,
    /// The congestion window is full.
    Cwnd,
    /// The configured maximum window is full ([`TcpConfig::max_window`]).
    MaxWindow,
    /// The peer's receive window is full, or has too little room for a segment (RFC 9293, section 3.8.6.2.1).
    ReceiveWindow,
    /// Loss detection or recovery holds data back: pipe is full, PRR allows no more, or the algorithm waits for an ACK.
    Recovery,
    /// The pacer holds back data that the windows permit.
    Pacing,
    /// Less than a full segment waits because of Nagle's algorithm (RFC 9293, section 3.7.4), or because the
    /// application holds it back (`TCP_CORK`, `MSG_MORE`).
    SmallSegment,
    /// The send buffer is full ([`TcpConfig::send_tuning`]), and all of it has been sent or waits to be a longer train.
    SendBuffer,
    /// Everything written has been sent, but not all of it acknowledged; or a train waits for more to be written.
    Application,
    /// Everything written has been acknowledged.
    Idle,
    /// Our FIN is acknowledged, or the connection has ended.
    Closed,
    /// Nothing arrived and nothing was sent until the retransmission timer expired. Only [`crate::Trace`] reports this,
    /// in retrospect.
    Timeout,
    /// Nothing arrived and nothing was sent until the timer of the tail loss probe expired (RFC 8985, section 7).
    Probe,
    /// Nothing arrived and nothing was sent until RACK's reordering timer expired (RFC 8985, section 6.3).
    Reordering,
}

impl Connection {
    /// What keeps the sender from sending more, once [`Connection::poll_transmit`] returns nothing.
    pub fn limit(&self, cfg: &TcpConfig) -> Limit {
        match self.state {
            State::Listen | State::SynSent | State::SynReceived => return Limit::Handshake,
            State::Closed | State::FinWait2 | State::TimeWait => return Limit::Closed,
            _ => {}
        }
        let s = &self.sender;
        if s.snd.una == s.limit() {
            return if s.fin { Limit::Closed } else { Limit::Idle };
        }
        let decided = self.recovery.room(&s.read(cfg));
        let room = decided.unwrap_or(Room { window: u64::MAX, in_flight: s.snd.flight() });
        let stop = match self.recovery.waiting_bytes(&s.read(cfg)) {
            Some(bytes) => (room.in_flight + bytes > room.window).then_some(Wait::Cwnd),
            None => s.in_order(cfg).next(&s.snd, &s.outstanding, room).err(),
        };
        match stop {
            // `decided` is `None`: recovery, which the sender asks first, permits nothing now.
            None | Some(Wait::PeerWindow) if decided.is_none() => Limit::Recovery,
            None => self.deferred_limit(cfg).unwrap_or(Limit::Pacing),
            Some(Wait::Application) if s.snd.nxt < s.snd.end && decided.is_none() => Limit::Recovery,
            Some(Wait::Application) if s.snd.nxt < s.snd.end => Limit::SmallSegment,
            Some(Wait::Application) if s.is_blocked() => Limit::SendBuffer,
            Some(Wait::Application) => Limit::Application,
            Some(Wait::PeerWindow) => Limit::ReceiveWindow,
            Some(Wait::Recovery) => Limit::Recovery,
            Some(Wait::Cwnd | Wait::CwndForFin) => self.window_limit(cfg),
        }
    }

    pub(super) fn window_limit(&self, cfg: &TcpConfig) -> Limit {
        let s = &self.sender;
        if self.recovery.in_recovery() && !s.cc.owns_recovery() {
            Limit::Recovery
        } else if s.cc.cwnd() + u64::from(s.snd.inflation) > s.most(cfg) {
            Limit::MaxWindow
        } else {
            Limit::Cwnd
        }
    }
}
