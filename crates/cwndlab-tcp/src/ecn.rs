//! Explicit congestion notification (RFC 2481; RFC 3168, section 6.1).
//!
//! The rules and their functions:
//!
//! - Negotiation in SYN (ECE and CWR) and SYN-ACK (only ECE): [`EcnKind::syn_flags`], [`EcnKind::agree`].
//!
//! - ECT only on new data, never on SYN, pure ACKs, probes or retransmissions: [`Echo::on_data_out`].
//!
//! - The receiver sends ECE on every segment from a CE until a CWR: [`Echo::on_data_in`]. With DCTCP (RFC 8257, section
//!   3.2) it does so as long as arriving packets are marked: [`Echo::state_ends`].
//!
//! - The sender reduces its window once per window of data in response to echoes, and not again for a loss in the same
//!   window of data: [`Echo::reduced`], [`Echo::may_reduce`], [`Echo::covers_loss`].
//!
//! - CWR on the first new data after any reduction: [`Echo::on_data_out`].

use serde::{Deserialize, Serialize};

use crate::segment::{Flags, Header, Segment};

/// Codepoints of the IP header's ECN field (RFC 3168, section 5).
pub(crate) const ECT_1: u8 = 1;
pub(crate) const ECT_0: u8 = 2;
pub(crate) const CE: u8 = 3;

/// The kind of ECN of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnKind {
    /// No ECN.
    #[default]
    Off,
    /// RFC 3168, if the peer requests it (Linux's `tcp_ecn = 2`).
    Accept,
    /// RFC 2481: one ECT bit, which equals the codepoint ECT(0). CWR is sent on the first data after a reduction, new
    /// or retransmitted.
    Rfc2481,
    /// RFC 3168 with ECT(0).
    Rfc3168,
    /// RFC 3168 with ECT(1).
    #[serde(rename = "rfc3168-ect1")]
    Rfc3168Ect1,
    /// RFC 8257 with ECT(0): ECE reflects the mark of each packet; retransmissions are ECN-capable, too.
    Dctcp,
    /// As [`EcnKind::Dctcp`] with ECT(1), for the low-latency queue of L4S (RFC 9331).
    L4s,
    /// AccECN (RFC 9768) with ECT(0), including its option; RFC 3168 with a peer that supports only that.
    Accecn,
    /// AccECN with ECT(1), for L4S; no ECN with a peer that supports only RFC 3168.
    AccecnEct1,
    /// As [`EcnKind::Accecn`], but without AccECN's option.
    AccecnFlags,
}

impl EcnKind {
    /// The flags of a SYN (RFC 3168, section 6.1.1: "ECN-setup SYN").
    pub(crate) fn syn_flags(self) -> Flags {
        match self {
            EcnKind::Off | EcnKind::Accept => Flags(0),
            _ if self.is_accurate() => Flags::AE | Flags::ECE | Flags::CWR,
            _ => Flags::ECE | Flags::CWR,
        }
    }

    /// Returns the codepoint that new data will carry, given the peer's SYN or SYN-ACK; 0 if ECN is not agreed on. An
    /// ECN-setup SYN-ACK has ECE and not CWR; a peer that reflects the bits of the SYN sends both (RFC 3168, section
    /// 6.1.1).
    pub(crate) fn agree(self, peer: &Segment) -> u8 {
        let (ece, cwr) = (peer.flags.has(Flags::ECE), peer.flags.has(Flags::CWR));
        match peer.flags.has(Flags::ACK) {
            true if ece && !cwr && self.syn_flags() != Flags(0) => self.codepoint(),
            false if ece && cwr => self.codepoint(),
            _ => 0,
        }
    }

    /// The codepoint of new data if both ends use ECN.
    pub(crate) fn codepoint(self) -> u8 {
        match self {
            EcnKind::Off => 0,
            EcnKind::Rfc3168Ect1 | EcnKind::L4s | EcnKind::AccecnEct1 => ECT_1,
            _ => ECT_0,
        }
    }

    /// Whether each mark is reported to the sender, rather than only whether there were any (RFC 8257, RFC 9768).
    pub(crate) fn counts_marks(self) -> bool {
        matches!(self, EcnKind::Dctcp | EcnKind::L4s) || self.is_accurate()
    }

    /// Whether a FIN without data is ECN-capable: RFC 2884, section 3.2, sets ECT "on all packets other than pure
    /// ACK's".
    pub(crate) fn marks_fin(self) -> bool {
        self == EcnKind::Rfc2481
    }

    /// Whether SYN, SYN-ACK and RST of an ECN-capable handshake carry the codepoint (RFC 8257, section 3.6).
    pub(crate) fn marks_syns(self) -> bool {
        self.is_per_packet()
    }

    /// Whether the first SYN-ACK of an ECN-capable handshake carries the codepoint (RFC 5562, which extends RFC 3168).
    pub(crate) fn tries_syn_ack(self) -> bool {
        matches!(self, EcnKind::Accept | EcnKind::Rfc3168 | EcnKind::Rfc3168Ect1)
    }

    /// Whether this kind requests AccECN.
    pub(crate) fn is_accurate(self) -> bool {
        matches!(self, EcnKind::Accecn | EcnKind::AccecnEct1 | EcnKind::AccecnFlags)
    }

    /// Whether AccECN's option is sent.
    pub(crate) fn has_option(self) -> bool {
        matches!(self, EcnKind::Accecn | EcnKind::AccecnEct1)
    }

    fn is_per_packet(self) -> bool {
        matches!(self, EcnKind::Dctcp | EcnKind::L4s)
    }
}

/// The state of ECN at one end, as sender and as receiver; zero if ECN is not in use.
///
/// Every connection has it, so it is one word. The low byte has: the codepoint of new data ([`ECT`], 0 if ECN is not
/// agreed on); whether the last reduction was for an echo ([`BY_ECHO`]); whether ECE reflects each packet
/// ([`PER_PACKET`]; ECE is then RFC 8257's DCTCP.CE); whether both ends use AccECN ([`ACCURATE`]; ECE and CWR are then
/// parts of its counter); whether our SYN-ACK was marked ([`MARKED_SYN_ACK`], until the connection is established); and
/// ECE and CWR at their places in the header while they are to be sent. The bits above hold the position up to which
/// data had been sent at the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo(u64);

const ECT: u64 = 0b11;
const BY_ECHO: u64 = 0b100;
const PER_PACKET: u64 = 0b1000;
const ACCURATE: u64 = 0b1_0000;
const MARKED_SYN_ACK: u64 = 0b10_0000;
const ECE: u64 = Flags::ECE.0 as u64;
const CWR: u64 = Flags::CWR.0 as u64;
const POSITION_SHIFT: u32 = 8;

impl Echo {
    /// Sets the codepoint `ect` of new data for this kind of ECN; 0 if ECN is not in use.
    pub fn set_codepoint(&mut self, kind: EcnKind, ect: u8) {
        let per_packet = if kind.is_per_packet() && ect != 0 { PER_PACKET } else { 0 };
        self.0 = (self.0 & !(ECT | PER_PACKET | ACCURATE)) | u64::from(ect) | per_packet;
    }

    /// Records that both ends use AccECN. Every packet is to carry the codepoint `ect`; 0 if the network rewrites the
    /// field.
    pub fn set_accurate(&mut self, ect: u8) {
        self.0 = (self.0 & !(ECT | PER_PACKET)) | u64::from(ect) | ACCURATE;
    }

    /// Whether both ends use AccECN.
    pub fn is_accurate(self) -> bool {
        self.0 & ACCURATE != 0
    }

    /// Records that the peer reports this end's SYN-ACK as marked (RFC 5562, section 3.2).
    pub fn note_marked_syn_ack(&mut self) {
        self.0 |= MARKED_SYN_ACK;
    }

    /// Whether this end's SYN-ACK was marked.
    pub fn syn_ack_was_marked(self) -> bool {
        self.0 & MARKED_SYN_ACK != 0
    }

    /// Whether segments carry ECN flags or codepoints.
    pub fn is_in_use(self) -> bool {
        self.0 & (ECT | ACCURATE) != 0
    }

    /// The codepoint of new data.
    pub fn codepoint(self) -> u8 {
        (self.0 & ECT) as u8
    }

    /// Whether both ends use ECN.
    pub fn is_agreed(self) -> bool {
        self.0 & ECT != 0
    }

    /// Whether ECE reflects each packet.
    pub fn is_per_packet(self) -> bool {
        self.0 & PER_PACKET != 0
    }

    /// Updates the echo for arriving data: CE starts the echo, CWR ends it, and CWR with CE restarts it (RFC 3168,
    /// section 6.1.3).
    pub fn on_data_in(&mut self, segment: &Header) {
        if segment.ecn == CE {
            self.0 |= ECE;
        } else if self.0 & ECE != 0 && (self.is_per_packet() || segment.flags.has(Flags::CWR)) {
            self.0 &= !ECE;
        }
    }

    /// Whether data in this segment may change the echo.
    pub fn affects_echo(self, segment: &Header) -> bool {
        (segment.ecn == CE || self.0 & ECE != 0) && self.0 & ACCURATE == 0
    }

    /// Whether data of this segment changes DCTCP.CE. If so, the receiver acknowledges the segments before it with the
    /// old state, and then this segment at once (RFC 8257, section 3.2).
    pub fn state_ends(self, segment: &Header) -> bool {
        self.is_per_packet() && (self.0 & ECE != 0) != (segment.ecn == CE)
    }

    /// Returns how many of the `delivered` bytes an ACK reports as marked: all if it has ECE, otherwise none (RFC 8257,
    /// section 3.3).
    pub fn ce_bytes(ack: &Header, delivered: u64) -> u64 {
        if ack.flags.has(Flags::ECE) {
            delivered
        } else {
            0
        }
    }

    /// Returns ECE if segments of an established connection are to carry it.
    pub fn flags(self) -> Flags {
        Flags((self.0 & ECE) as u8)
    }

    /// Returns the flags and the codepoint of a segment of an established connection. `data`: whether the data of
    /// the segment was sent before; `None` if it carries no data. Clears CWR once it is sent.
    pub fn on_out(&mut self, kind: EcnKind, data: Option<bool>) -> (Flags, u8) {
        let (cwr, ect) = data.map_or((Flags(0), 0), |again| self.on_data_out(kind, again));
        (self.flags() | cwr, ect)
    }

    /// Returns CWR, if it is due, and the codepoint of a segment with data (RFC 3168, sections 6.1.2 and 6.1.5).
    fn on_data_out(&mut self, kind: EcnKind, again: bool) -> (Flags, u8) {
        let now = self.0;
        let ect = if again && now & PER_PACKET == 0 { 0 } else { (now & ECT) as u8 };
        // RFC 2481, section 6.1.2 says "the first data packet", RFC 3168 "the first new data packet"
        if again && kind != EcnKind::Rfc2481 {
            return (Flags(0), ect);
        }
        self.0 &= !CWR;
        (Flags((now & CWR) as u8), ect)
    }

    /// Records a reduction of the window. Everything below `max` had been sent before.
    pub fn reduced(&mut self, max: u64, by_echo: bool) {
        if self.is_agreed() {
            self.0 = max << POSITION_SHIFT
                | if by_echo { BY_ECHO } else { 0 }
                | CWR
                | self.0 & (ECE | ECT | PER_PACKET | ACCURATE);
        }
    }

    /// Cancels CWR for the last reduction, which was undone, unless CWR has already been sent.
    pub fn withdraw(&mut self) {
        self.0 &= !CWR;
    }

    fn reduced_to(self) -> u64 {
        self.0 >> POSITION_SHIFT
    }

    /// Whether to respond to an echo on an ACK up to `una`: "not more than once every window of data" (RFC 3168,
    /// section 6.1.2), that is, only if data sent after the last reduction is acknowledged. With `at_end`, as in Linux,
    /// the ACK that ends loss recovery is enough after a loss (`tcp_fastretrans_alert`).
    pub fn may_reduce(self, una: u64, at_end: bool) -> bool {
        let is_over = at_end && self.0 & BY_ECHO == 0 && una == self.reduced_to();
        self.is_agreed() && (is_over || una > self.reduced_to())
    }

    /// Whether a loss of data at `una` or above belongs to a window that was already reduced for an echo (RFC 3168,
    /// section 6.1.2: "only once in response to a series of dropped and/or CE packets from a single window of data").
    pub fn covers_loss(self, una: u64) -> bool {
        self.0 & BY_ECHO != 0 && una < self.reduced_to()
    }
}

#[cfg(test)]
mod tests;
