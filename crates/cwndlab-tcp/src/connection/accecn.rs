//! Calls of AccECN ([`crate::accecn`]) by a connection.

use super::Connection;
use crate::accecn::{AccEcn, Mode, Progress};
use crate::config::TcpConfig;
use crate::ecn::{Echo, EcnKind};
use crate::segment::{AccEcnOption, Flags, Header, SackBlocks, Segment, TIMESTAMPS_BYTES};

/// The congestion that an ACK reports.
#[derive(Clone, Copy, Default)]
pub(super) struct Feedback {
    /// Whether the ACK reports congestion.
    pub ece: bool,
    /// Packets newly reported with CE; 0 without AccECN.
    pub ce_packets: u32,
    pub ce_bytes: u64,
}

impl Feedback {
    /// The congestion that ECE alone reports (RFC 3168, RFC 8257).
    #[inline]
    pub fn of_echo(seg: &Header, delivered: u64) -> Feedback {
        Feedback { ece: seg.flags.has(Flags::ECE), ce_packets: 0, ce_bytes: Echo::ce_bytes(seg, delivered) }
    }
}

impl Connection {
    pub(super) fn accecn(&mut self) -> Option<&mut AccEcn> {
        self.sender.extra.as_mut()?.accecn.as_mut()
    }

    /// AccECN's state, read-only.
    pub(super) fn accecn_ref(&self) -> Option<&AccEcn> {
        self.sender.extra.as_ref()?.accecn.as_ref()
    }

    /// Agrees on the kind of ECN when a SYN or SYN-ACK arrives at an end that requests AccECN.
    pub(super) fn agree_accurate(&mut self, cfg: &TcpConfig, seg: &Segment) {
        let Some(accecn) = self.accecn() else { return };
        accecn.on_syn(seg);
        match accecn.mode {
            // With ECT(1), which is L4S's identifier, falling back to classic ECN is not allowed (Linux:
            // `TCP_CONG_NO_FALLBACK_RFC3168`).
            Mode::Classic if cfg.ecn != EcnKind::AccecnEct1 => {
                self.sender.snd.ecn.set_codepoint(cfg.ecn, cfg.ecn.codepoint());
            }
            Mode::Off | Mode::Classic => self.sender.snd.ecn.set_codepoint(cfg.ecn, 0),
            Mode::Accurate => self.note_trust(cfg),
        }
    }

    /// Enables AccECN without a handshake; both ends have the same configuration.
    pub(super) fn assume_accurate(&mut self, cfg: &TcpConfig) {
        let Some(accecn) = self.accecn() else { return };
        accecn.assume(cfg.ecn.has_option());
        self.note_trust(cfg);
    }

    /// Makes segments ECN-capable if the peer's feedback is trusted, otherwise not ECN-capable.
    fn note_trust(&mut self, cfg: &TcpConfig) {
        let trusted = self.accecn().is_some_and(|accecn| !accecn.distrusted);
        self.sender.snd.ecn.set_accurate(if trusted { cfg.ecn.codepoint() } else { 0 });
    }

    /// Processes the ECN feedback of the segment that ends the handshake in SYN-RECEIVED.
    pub(super) fn third_accurate(&mut self, cfg: &TcpConfig, seg: &Segment) {
        if let Some(accecn) = self.accecn() {
            accecn.on_third(seg);
            self.note_trust(cfg);
        }
    }

    /// Counts the codepoint of a segment that has arrived on an established connection.
    pub(super) fn count_arrival(&mut self, seg: &Segment) {
        if self.accecn().is_some_and(|accecn| accecn.on_arrival(seg)) {
            self.receiver.ack_now = true;
        }
    }

    /// Makes the next ACK report the codepoint of the SYN-ACK again, because the SYN-ACK has arrived again.
    pub(super) fn reflect_again(&mut self) {
        if let Some(accecn) = self.accecn() {
            accecn.reflects = accecn.mode == Mode::Accurate;
        }
    }

    /// The congestion reported by an ACK that acknowledges `acked` and delivers `delivered` bytes.
    pub(super) fn feedback(&mut self, cfg: &TcpConfig, seg: &Segment, acked: u64, delivered: u64) -> Feedback {
        if !self.sender.snd.ecn.is_accurate() {
            return Feedback::of_echo(seg, delivered);
        }
        let mss = self.sender.snd.mss;
        let exact = self.agreed.sack || !self.recovery.in_recovery();
        let acked_before = self.sender.snd.una.saturating_sub(1).saturating_sub(acked);
        let Some(accecn) = self.accecn() else { return Feedback::default() };
        let progress = Progress {
            delivered_packets: delivered.div_ceil(u64::from(mss)) as u32,
            delivered_bytes: delivered as u32,
            mss,
            forward: acked > 0 || delivered > 0,
            exact,
            acked_before,
        };
        let ce_packets = accecn.newly_marked(seg, progress);
        if accecn.distrusted {
            self.note_trust(cfg);
        }
        let ce_bytes = (u64::from(ce_packets) * u64::from(mss)).min(delivered);
        Feedback { ece: ce_packets > 0, ce_packets, ce_bytes }
    }

    /// Takes the ECN feedback of a segment that [`Self::is_expected_accurate`] let pass, so that it reports no marks.
    pub(super) fn feedback_unmarked(&mut self, cfg: &TcpConfig, seg: &Segment, acked: u64) {
        if !self.accecn().is_some_and(|accecn| accecn.take_unmarked(seg, acked as u32)) {
            let feedback = self.feedback(cfg, seg, acked, acked);
            debug_assert!(!feedback.ece);
        }
    }

    /// Returns flags and codepoint of a segment with `len` bytes of payload and these flags.
    pub(super) fn ecn_out(&mut self, cfg: &TcpConfig, len: u32, flags: Flags, again: bool) -> (Flags, u8) {
        if !self.sender.snd.ecn.is_accurate() {
            let data = len > 0 || cfg.ecn.marks_fin() && flags.has(Flags::FIN);
            let (flags, codepoint) = self.sender.snd.ecn.on_out(cfg.ecn, data.then_some(again));
            // With DCTCP, Linux sets ECT on pure ACKs, too (`tcp_ecn_send`).
            let always = cfg.marks_pure_acks() && self.sender.snd.ecn.is_per_packet();
            return (flags, if always { self.sender.snd.ecn.codepoint() } else { codepoint });
        }
        // As in Linux, every segment after the handshake carries the codepoint.
        let codepoint = self.sender.snd.ecn.codepoint();
        (self.accecn().map_or(Flags(0), |accecn| accecn.flags(len == 0 && flags == Flags::ACK)), codepoint)
    }

    /// Returns the AccECN option of a segment, and reduces `sack` to the blocks that fit next to the option.
    pub(super) fn accurate_option(&mut self, cfg: &TcpConfig, sack: &mut SackBlocks) -> Option<AccEcnOption> {
        if !self.sender.snd.ecn.is_accurate() || !cfg.ecn.has_option() {
            return None;
        }
        let other = if self.agreed.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let (option, blocks) = self.accecn()?.option(other, usize::from(sack.len));
        sack.len = blocks as u8;
        option
    }

    /// Returns flags and AccECN option of a SYN-ACK that has timed out `again` times. After the first timeout the
    /// SYN-ACK has no option, after the second no flags either, in case these prevented its arrival.
    pub(super) fn accurate_syn_ack(&mut self, cfg: &TcpConfig, again: u8) -> (Flags, Option<AccEcnOption>) {
        let option = (cfg.ecn.has_option() && again == 0).then(AccEcn::first_option);
        let flags = self.accecn().filter(|_| again < 2).map_or(Flags(0), |accecn| accecn.syn_ack_flags());
        (flags, option)
    }

    /// Bytes that AccECN's option takes in each segment; 0 if the option was not agreed on.
    pub(super) fn accurate_option_bytes(&self, cfg: &TcpConfig) -> u32 {
        if self.sender.snd.ecn.is_accurate() && cfg.ecn.has_option() {
            AccEcn::first_option().padded_bytes()
        } else {
            0
        }
    }
}
