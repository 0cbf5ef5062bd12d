//! Proportional rate reduction (RFC 9937): how the window of an episode falls to ssthresh. The number of bytes that may
//! be sent (the allowance, `SndCnt`) depends on the ssthresh that the window law sets, so it is computed after the
//! reduction.

use crate::config::{ReductionBase, TcpConfig};

/// The information about an ACK that proportional rate reduction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PrrAck {
    /// Estimated bytes in the network.
    pub pipe: u32,
    /// Bytes newly delivered.
    pub delivered: u32,
    /// Whether the ACK advances SND.UNA and reveals no further loss (RFC 9937, section 6).
    pub safe: bool,
}

/// The state of one episode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prr {
    /// Bytes delivered during recovery.
    delivered_bytes: u32,
    /// Bytes sent during recovery.
    out_bytes: u32,
    /// `RecoverFS`.
    recover_fs: u32,
    /// Bytes that may be sent before the next ACK (`SndCnt`).
    pub send_count: u32,
}

impl Prr {
    /// Begins an episode. `RecoverFS` is `flight` by RFC 9937, section 6.1; Linux uses `cwnd` instead
    /// ([`TcpConfig::reduce_from`]).
    pub fn new(cfg: &TcpConfig, flight: u32, cwnd: u64, mss: u64) -> Self {
        let base = match cfg.reduce_from {
            ReductionBase::FlightSize => u64::from(flight),
            ReductionBase::Cwnd => cwnd,
            ReductionBase::CwndWholeSegments => cwnd / mss * mss,
        };
        let recover_fs = base.max(1) as u32; // windows are at most 2^30
        Prr { delivered_bytes: 0, out_bytes: 0, recover_fs, send_count: 0 }
    }

    /// Computes the allowance after an ACK of the episode (RFC 9937, section 6.2). Returns `None` if the allowance does
    /// not change. Windows are counted in units of `unit` bytes.
    pub fn on_ack(&mut self, ack: &PrrAck, ssthresh: u64, mss: u64, unit: u64) -> Option<u64> {
        let (pipe, delivered, safe) = (u64::from(ack.pipe), u64::from(ack.delivered), ack.safe);
        if delivered == 0 && self.out_bytes > 0 {
            return None;
        }
        self.delivered_bytes += delivered as u32;
        let (total, out) = (u64::from(self.delivered_bytes), u64::from(self.out_bytes));
        let mut count = if pipe > ssthresh {
            // Proportional rate reduction.
            let share = (total * ssthresh).div_ceil(u64::from(self.recover_fs.max(1)));
            share.next_multiple_of(unit).saturating_sub(out)
        } else {
            // Conservation bound; after a safe ACK, slow start up to ssthresh.
            let bound = total.saturating_sub(out).max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - pipe)
        };
        if self.out_bytes == 0 {
            count = count.max(mss); // the fast retransmit is sent in any case
        }
        self.send_count = count as u32;
        Some(count)
    }

    pub fn on_sent(&mut self, bytes: u32) {
        self.out_bytes += bytes;
        self.send_count = self.send_count.saturating_sub(bytes);
    }
}
