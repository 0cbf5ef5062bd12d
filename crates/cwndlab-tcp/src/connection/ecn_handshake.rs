//! Handshakes with ECN-capable packets: SYN-ACKs by RFC 5562 (ECN+/TryOnce); with DCTCP also SYN and RST (RFC 8257,
//! section 3.6).

use cwndlab_units::Time;

use super::{Connection, Control};
use crate::config::TcpConfig;
use crate::ecn::CE;
use crate::segment::{Flags, Header, Segment};

impl Connection {
    /// The codepoint of a SYN or RST.
    pub(super) fn syn_codepoint(cfg: &TcpConfig) -> u8 {
        if cfg.shaking().ecn_capable && cfg.ecn.marks_syns() {
            cfg.ecn.codepoint()
        } else {
            0
        }
    }

    /// The codepoint of a SYN-ACK.
    pub(super) fn syn_ack_codepoint(&self, cfg: &TcpConfig) -> u8 {
        let capable = if cfg.ecn.marks_syns() { cfg.shaking().ecn_capable } else { self.tries_syn_ack(cfg) };
        if capable {
            self.sender.snd.ecn.codepoint()
        } else {
            0
        }
    }

    /// Whether the SYN-ACK that was sent, or is about to be sent, is ECN-capable (RFC 5562, section 3): only the first
    /// one is, and only until it is reported as marked.
    fn tries_syn_ack(&self, cfg: &TcpConfig) -> bool {
        let ecn = self.sender.snd.ecn;
        let first = self.sender.timed_end == 1 && !ecn.syn_ack_was_marked();
        cfg.shaking().ecn_capable && cfg.ecn.tries_syn_ack() && ecn.is_agreed() && first
    }

    /// In SYN-SENT: whether to answer this SYN-ACK with ECE, without establishing the connection, because it is marked
    /// (RFC 5562, section 3.2).
    pub(super) fn refuses_marked_syn_ack(&self, cfg: &TcpConfig, seg: &Segment) -> bool {
        let capable = cfg.shaking().ecn_capable && cfg.ecn.tries_syn_ack();
        capable && seg.ecn == CE && self.sender.snd.ecn.is_agreed()
    }

    /// In SYN-RECEIVED: if the peer reports that the SYN-ACK was marked (RFC 5562, section 3.2), queues another one at
    /// once, without ECT, and limits the initial window to one segment. Returns whether the peer reports this.
    pub(super) fn takes_syn_ack_back(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) -> bool {
        if !seg.flags.has(Flags::ECE) || !self.tries_syn_ack(cfg) {
            return false;
        }
        self.sender.snd.ecn.note_marked_syn_ack();
        self.control = Control::SynAck;
        self.time_syn(cfg, now);
        true
    }

    /// The answer to a marked SYN-ACK: an ACK with ECE.
    pub(super) fn mark_echo(&mut self, cfg: &TcpConfig, now: Time) -> Segment {
        let ack = self.pure_ack(cfg, now);
        Segment { header: Header { flags: ack.flags | Flags::ECE, ..ack.header }, ..ack }
    }
}
