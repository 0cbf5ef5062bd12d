//! RFC 5681's window law in bytes.

use super::law::{Cut, Growth, LossLaw};
use super::needs::Needs;
use super::AckReport;
use crate::config::TcpConfig;

/// RFC 5681, section 3.1, in bytes: +SMSS per window of acknowledged bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged since the last increase.
    pub acked_bytes: u32,
}

impl Reno {
    /// Congestion avoidance as RFC 5681, section 3.1 (page 7), recommends it: at most SMSS per window.
    pub fn open(&mut self, cwnd: u32, acked_bytes: u64, mss: u32) -> u32 {
        let acked = u64::from(self.acked_bytes) + acked_bytes;
        if acked < u64::from(cwnd) {
            self.acked_bytes = acked as u32;
            return cwnd;
        }
        // Each ACK adds at most one segment. Of the remaining bytes, at most one window counts towards the next
        // increase.
        self.acked_bytes = (acked - u64::from(cwnd)).min(u64::from(cwnd)) as u32;
        cwnd + mss
    }
}

/// Bytes that count towards growth: those cumulatively acknowledged (RFC 5681, RFC 3465). If slow start has no limit
/// (L), as in the kernel, bytes that SACK or a duplicate ACK had already reported do not count. In the kernel, those
/// that SACK reports with this ACK count, too (`tcp_cong_control`, `acked_sacked`).
pub(super) fn new_bytes(cfg: &TcpConfig, ack: &AckReport) -> u64 {
    let bytes = if cfg.slow_start_limit_segments > 0 {
        ack.acked_bytes
    } else if cfg.grows_by_reports() {
        ack.fresh_bytes
    } else {
        ack.fresh_bytes.min(ack.acked_bytes)
    };
    as_counted(cfg, bytes, ack.mss)
}

/// Returns acknowledged bytes as they count towards growth. Linux counts packets, of which the last may be shorter
/// (`tcp_slow_start`).
#[inline]
pub(super) fn as_counted(cfg: &TcpConfig, bytes: u64, mss: u32) -> u64 {
    if cfg.opens_by_packets() {
        u64::from((bytes as u32).next_multiple_of(mss))
    } else {
        bytes
    }
}

/// Bytes by which slow start may open the window for this ACK (RFC 5681, equation 2; RFC 3465, section 2.3: L).
pub(super) fn slow_start_increase(cfg: &TcpConfig, ack: &AckReport) -> u64 {
    slow_start_bytes(cfg, ack.acked_bytes, new_bytes(cfg, ack), ack.mss)
}

/// Returns the growth of slow start for an ACK of `acked_bytes`, of which `new_bytes` count.
pub(super) fn slow_start_bytes(cfg: &TcpConfig, acked_bytes: u64, new_bytes: u64, mss: u32) -> u64 {
    match cfg.slow_start_limit_segments {
        0 => new_bytes,
        limit => acked_bytes.min(u64::from(limit) * u64::from(mss)),
    }
}

impl LossLaw for Reno {
    const NEEDS: Needs = Needs::PLAIN;

    fn avoid(&mut self, growth: &Growth, cwnd: u32) -> u32 {
        self.open(cwnd, growth.bytes, growth.mss)
    }

    fn reduce(&mut self, cut: &Cut<'_>, _: u32) -> u32 {
        self.acked_bytes = 0;
        cut.half
    }
}
