//! What a connection sends before data and ACKs.

use crate::config::{TcpConfig, TrainKind};

/// A segment to send that is not part of the data stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Control {
    None,
    Syn,
    SynAck,
    /// A probe of a closed window.
    Probe,
    /// RST with this sequence number (as on the wire), in response to a segment that acknowledges data never sent,
    /// belongs to no connection, or carries data that the application will not read.
    Reset(u32),
    /// RST with this acknowledgment number (as on the wire), in response to a segment without ACK that belongs to no
    /// connection.
    Refuse(u32),
    /// RST because the application aborts. As in Linux, it has the ACK flag; the RST of RFC 9293, section 3.10.5, does
    /// not.
    Abort,
    /// ACK with this acknowledgment number (as on the wire), for the data before a segment that changed DCTCP.CE. It
    /// reports the state before the change (RFC 8257, section 3.2).
    AckBefore(u32),
    /// ACK with ECE in response to a marked SYN-ACK (RFC 5562, section 3.2).
    EchoSynAck,
    /// No segment, but the connection is paced, so sending data needs the pacer's permission.
    AskPacer,
    /// No segment, but data leaves in trains, of which the pacer may have to permit each.
    AskTrain,
}

impl Control {
    /// Returns the value that applies while only data and ACKs are to be sent.
    pub fn rest(cfg: &TcpConfig) -> Self {
        if cfg.trains == TrainKind::Linux {
            Control::AskTrain
        } else if cfg.paces() {
            Control::AskPacer
        } else {
            Control::None
        }
    }

    /// Whether no segment is requested.
    pub fn is_rest(self) -> bool {
        matches!(self, Control::None | Control::AskPacer | Control::AskTrain)
    }
}
