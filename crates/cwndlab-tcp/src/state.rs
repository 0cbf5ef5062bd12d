//! The states of a connection, and the reasons for its end.

use thiserror::Error;

/// Connection states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No connection: not yet opened, or ended.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and sent.
    SynReceived,
    /// Open.
    Established,
    /// Closed by us; the peer has not acknowledged our FIN.
    FinWait1,
    /// Our FIN is acknowledged; waiting for the peer's.
    FinWait2,
    /// Closed by the peer; we may still send.
    CloseWait,
    /// Both FINs sent, ours not acknowledged.
    Closing,
    /// Closed by the peer, then by us; our FIN not acknowledged.
    LastAck,
    /// Both sides closed; waiting for old segments to leave the network.
    TimeWait,
}

impl State {
    /// Whether data and FIN may be (re)sent.
    pub(crate) fn may_send(self) -> bool {
        matches!(self, State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck)
    }
    /// Whether the peer may still send data.
    pub(crate) fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }
}

/// Why a connection ended before both sides had closed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CloseReason {
    /// The peer responded to the SYN with RST.
    #[error("connection refused by the peer")]
    Refused,
    /// The peer sent RST.
    #[error("connection reset by the peer")]
    Reset,
    /// [`crate::Connection::abort`] was called, or data arrived after the application had closed and stopped reading.
    #[error("connection aborted by the application")]
    Aborted,
    /// The SYN or SYN-ACK was never acknowledged (RFC 9293, 3.8.3: R2 for SYN).
    #[error("the peer did not answer the connection request")]
    ConnectTimeout,
    /// The same data was retransmitted too often (RFC 9293, 3.8.3: R2), or the user timeout expired (RFC 5482).
    #[error("the peer stopped acknowledging")]
    RetransmitTimeout,
}
