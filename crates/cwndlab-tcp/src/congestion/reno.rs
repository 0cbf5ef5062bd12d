//! RFC 5681's window law in bytes.

use super::law::{Cut, Growth, LossLaw};
use super::needs::Needs;
use super::AckReport;
use crate::config::TcpConfig;

/// RFC 5681, section 3.1, in bytes: +SMSS per window of acknowledged bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno {
    /// Bytes acknowledged since the last increase.
    acked_bytes: u32,
    /// Whether an ACK of several windows opens the window by as many segments (Linux), not by at most one.
    opens_by_windows: bool,
}

impl Reno {
    pub fn new(cfg: &TcpConfig) -> Self {
        Reno { acked_bytes: 0, opens_by_windows: cfg.opens_by_packets() }
    }

    /// Congestion avoidance as RFC 5681, section 3.1 (page 7), recommends it: at most SMSS per window.
    pub fn open(&mut self, cwnd: u32, acked_bytes: u64, mss: u32) -> u32 {
        let acked = u64::from(self.acked_bytes) + acked_bytes;
        if acked < u64::from(cwnd) {
            self.acked_bytes = acked as u32;
            return cwnd;
        }
        if self.opens_by_windows {
            return cwnd + spend_credit(&mut self.acked_bytes, acked_bytes as u32, cwnd) * mss;
        }
        // Each ACK adds at most one segment. Of the remaining bytes, at most one window counts towards the next
        // increase.
        self.acked_bytes = (acked - u64::from(cwnd)).min(u64::from(cwnd)) as u32;
        cwnd + mss
    }
}

/// Adds `acked` to the credit, and returns by how many segments the window opens, one for each `price` of credit. What was
/// collected while the price was higher adds only one (`tcp_cong_avoid_ai`).
pub(super) fn spend_credit(credit: &mut u32, acked: u32, price: u32) -> u32 {
    let saved = u32::from(*credit >= price);
    let total = if saved > 0 { acked } else { *credit + acked };
    *credit = total % price;
    saved + total / price
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    /// `tcp_cong_avoid_ai`; RFC 5681, section 3.1, allows one segment per round trip, here per ACK.
    #[test]
    fn an_ack_of_several_windows_opens_linuxs_window_by_as_many_segments() {
        let opened = |profile: Profile| {
            let mut reno = Reno::new(&profile.config());
            (reno.open(3000, 2000, 1000), reno.open(3000, 5000, 1000), reno.acked_bytes)
        };
        assert_eq!(opened(Profile::Linux6), (3000, 5000, 1000));
        assert_eq!(opened(Profile::Rfc5681), (3000, 4000, 3000));
    }

    #[test]
    fn credit_of_a_higher_price_buys_one_segment() {
        let mut credit = 10;
        assert_eq!((spend_credit(&mut credit, 7, 3), credit), (3, 1));
        assert_eq!((spend_credit(&mut credit, 1, 3), credit), (0, 2));
        assert_eq!((spend_credit(&mut credit, 1, 3), credit), (1, 0));
    }
}
