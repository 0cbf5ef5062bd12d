//! The state of an endpoint's sender, in terms of Linux's `tcp_info`.

use cwndlab_units::Time;

use super::Connection;
use crate::config::TcpConfig;
use crate::recovery::{RecoveryCounts, Shown};

/// The congestion state of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionState {
    /// No sign of loss, reordering or congestion.
    Open,
    /// Duplicate ACKs or SACK blocks, but no loss detected.
    Disorder,
    /// The window is being reduced for an ECN echo; only with RACK.
    Cwr,
    /// Loss recovery after a fast retransmit.
    Recovery,
    /// Retransmission after a timeout.
    Loss,
}

/// The state of a sender. Counts are in whole segments of the effective MSS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Info {
    /// The congestion state.
    pub state: CongestionState,
    /// Effective MSS, payload bytes.
    pub mss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u64,
    /// Of `unacked`: segments known to have arrived, because SACK or, without SACK, duplicate ACKs reported them.
    pub sacked: u64,
    /// Of `unacked`: segments deemed lost (RFC 6675, section 4: `IsLost`) and not reported by SACK.
    pub lost: u64,
    /// Of `unacked`: segments retransmitted and neither acknowledged nor lost again; only with RACK.
    pub retransmitted: Option<u64>,
    /// Number of times that ACKs revealed reordering; only with RACK.
    pub reorderings: Option<u32>,
    /// RACK's counters; 0 without RACK.
    pub counts: RecoveryCounts,
    /// Round-trip time variation (RFC 6298's RTTVAR).
    pub rttvar: Time,
    /// Minimum round trip; [`Time::MAX`] before the first measurement.
    pub min_rtt: Time,
    /// Estimated extent of reordering, in segments: `dup_thresh`, or the extent that RACK has seen if that is larger.
    pub reordering: u32,
    /// Expiries of the retransmission or persist timer since the peer last acknowledged new data or opened its window.
    pub backoffs: u32,
    /// Payload of the peer's full segments, as this end's receiver estimates it; only with Linux's acknowledgment
    /// policy.
    pub receive_mss: Option<u32>,
    /// AccECN's counters; `None` if the configuration does not request AccECN.
    pub delivered_ce: Option<DeliveredCe>,
}

/// Counters of AccECN (RFC 9768): the codepoints with which our packets arrived at the peer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DeliveredCe {
    /// Packets with CE.
    pub packets: u32,
    /// Payload bytes with CE, according to the option.
    pub ce_bytes: u32,
    /// Payload bytes with ECT(0).
    pub ect0_bytes: u32,
    /// Payload bytes with ECT(1).
    pub ect1_bytes: u32,
    /// Whether the peer sends AccECN's option, without which the counts of bytes are unknown.
    pub by_option: bool,
}

impl Connection {
    /// The congestion state of this sender.
    pub fn congestion_state(&self) -> CongestionState {
        let s = &self.sender;
        let Shown { in_loss, is_reduced, .. } = self.recovery.shown();
        let timed_out = self.retries > 0 && s.snd.max > s.snd.una;
        if in_loss || timed_out || s.snd.nxt < s.snd.max {
            CongestionState::Loss
        } else if self.in_recovery() {
            CongestionState::Recovery
        } else if is_reduced {
            CongestionState::Cwr
        } else if self.arrived_bytes() > 0 {
            CongestionState::Disorder
        } else {
            CongestionState::Open
        }
    }

    /// Outstanding bytes known to have arrived: reported by SACK or, without SACK, by duplicate ACKs.
    fn arrived_bytes(&self) -> u64 {
        let (s, mss) = (&self.sender, u64::from(self.sender.snd.mss));
        if self.recovery.detects_by_time() && self.agreed.sack {
            u64::from(s.outstanding.tally().sacked) * mss
        } else if self.agreed.sack {
            s.outstanding.reported.total()
        } else {
            (u64::from(s.snd.dup_acks) * mss).min(s.snd.flight_size().saturating_sub(mss))
        }
    }

    pub(crate) fn recovery_counts(&self) -> RecoveryCounts {
        self.recovery.shown().counts
    }

    /// Returns [`Info::backoffs`].
    pub(crate) fn backoffs(&self) -> u32 {
        u32::from(self.retries)
    }

    /// The sender's state, for assertions and displays.
    pub fn info(&self, cfg: &TcpConfig) -> Info {
        let s = &self.sender;
        let mss = u64::from(s.snd.mss);
        let mut lost = 0;
        if self.agreed.sack {
            let edge = s.outstanding.reported.lost_below(cfg.dup_thresh, s.snd.mss);
            lost = edge.saturating_sub(s.snd.una).saturating_sub(
                s.outstanding.reported.total() - s.outstanding.reported.sacked_from(edge.max(s.snd.una)),
            );
        }
        let Shown { reordering, reorderings, counts, .. } = self.recovery.shown();
        let mut retransmitted = None;
        if self.recovery.detects_by_time() {
            let tally = s.outstanding.tally();
            lost = u64::from(tally.lost) * mss;
            retransmitted = Some(u64::from(tally.again));
        }
        Info {
            state: self.congestion_state(),
            mss: s.snd.mss,
            unacked: s.snd.flight_size().div_ceil(mss),
            sacked: self.arrived_bytes() / mss,
            lost: lost.div_ceil(mss),
            retransmitted,
            reorderings,
            counts,
            rttvar: s.snd.rtt.rttvar(&cfg.rto),
            min_rtt: s.snd.rtt.min_rtt(),
            reordering: reordering.max(cfg.dup_thresh),
            backoffs: self.backoffs(),
            receive_mss: self.receiver.policy.segment_bytes(),
            delivered_ce: self.delivered_ce(),
        }
    }

    /// AccECN's counters; `None` if the configuration does not request AccECN.
    pub fn delivered_ce(&self) -> Option<DeliveredCe> {
        let accecn = self.sender.extra.as_ref()?.accecn.as_ref()?;
        let [ect1_bytes, ect0_bytes, ce_bytes] = accecn.delivered_bytes;
        let packets = accecn.delivered_ce;
        Some(DeliveredCe { packets, ce_bytes, ect0_bytes, ect1_bytes, by_option: accecn.counts_bytes() })
    }
}
