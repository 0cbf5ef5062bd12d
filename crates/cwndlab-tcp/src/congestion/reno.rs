//! RFC 5681's window law in bytes, and the same law counted in packets, as in ns-2 and early Linux.

use super::law::{Acked, Cut, Growth, LossLaw, Setting, Windows, MAX_WINDOW_BYTES};
use super::needs::Needs;
use super::{AckReport, CongestionEvent};
use crate::config::{MaxWindow, TcpConfig};

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

/// ns-2's law. The window is a real number of packets, and each ACK counts once, however much the ACK acknowledges.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenoPackets {
    pub cwnd_packets: f64,
}

impl RenoPackets {
    /// Takes one ACK of new data.
    pub fn on_ack(&mut self, slow_start: bool) {
        self.cwnd_packets += if slow_start { 1.0 } else { 1.0 / self.cwnd_packets };
    }

    /// Halves the window, starting from min(cwnd, `max_window`) as ns-2 does, not from the flight size. Keeps at least
    /// `least` packets. If `whole` is set, rounds down to whole packets.
    pub fn halve(&mut self, max_window: MaxWindow, whole: bool, least: f64, mss: u32) {
        let limit = (max_window.bytes(mss) / u64::from(mss)) as f64;
        let window = self.cwnd_packets.min(limit);
        let half = if whole { (window.floor() / 2.0).floor() } else { window / 2.0 };
        self.cwnd_packets = half.max(least);
    }

    /// Returns the whole packets of the window, in bytes: ns-2 sends only whole packets.
    pub fn cwnd_bytes(self, mss: u32) -> u32 {
        (self.cwnd_packets as u64 * u64::from(mss)).min(u64::from(u32::MAX)) as u32
    }

    /// The state for a window of this many bytes, not necessarily whole packets.
    pub fn from_bytes(bytes: u32, mss: u32) -> Self {
        RenoPackets { cwnd_packets: f64::from(bytes) / f64::from(mss) }
    }
}

/// The law of Linux 2.0 and 2.2 (`tcp_ack`, `tcp_cong_avoid`). The window is a whole number of packets, and each ACK
/// counts once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RenoLinux2 {
    /// ACKs since the last increase in congestion avoidance (`cong_count`, `snd_cwnd_cnt`).
    count: u32,
}

impl RenoLinux2 {
    /// Takes one ACK of new data. Returns the new window in bytes.
    pub fn on_ack(&mut self, cwnd: u32, ssthresh: u32, mss: u32) -> u32 {
        if cwnd == 0 {
            return 0; // closed by an ECN echo; only the retransmission timer reopens the window (RFC 3168, 6.1.2)
        }
        if cwnd <= ssthresh {
            return cwnd + mss;
        }
        if self.count >= cwnd / mss {
            self.count = 0;
            return cwnd + mss;
        }
        self.count += 1;
        cwnd
    }

    /// Returns half of min(cwnd, `max_window`), not of the flight size, in bytes, rounded down to whole packets.
    pub fn halve(&mut self, cwnd: u32, max_window: MaxWindow, mss: u32) -> u32 {
        self.count = 0;
        let limit = (max_window.bytes(mss) / u64::from(mss)) as u32;
        (cwnd / mss).min(limit) / 2 * mss
    }
}

/// Bytes that count towards growth: those cumulatively acknowledged (RFC 5681, RFC 3465). If slow start has no limit
/// (L), as in the kernel, bytes that SACK or a duplicate ACK had already reported do not count. In the kernel, those
/// that SACK reports with this ACK count, too (`tcp_cong_control`, `acked_sacked`).
pub(super) fn new_bytes(cfg: &TcpConfig, ack: &AckReport) -> u64 {
    if cfg.slow_start_limit_segments > 0 {
        ack.acked_bytes
    } else if cfg.grows_by_reports() {
        ack.fresh_bytes
    } else {
        ack.fresh_bytes.min(ack.acked_bytes)
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

impl LossLaw for RenoPackets {
    const NEEDS: Needs = Needs::PLAIN;
    const COUNTS_PACKETS: bool = true;

    fn grow(&mut self, _: &TcpConfig, ack: &Acked<'_>, limited: bool, windows: &mut Windows) -> bool {
        if !limited {
            self.on_ack(windows.in_slow_start());
            windows.cwnd = self.cwnd_bytes(ack.plain.mss).min(MAX_WINDOW_BYTES);
        }
        true
    }

    fn reduce(&mut self, cut: &Cut<'_>, _: u32) -> u32 {
        let least = match cut.event {
            CongestionEvent::Ecn if cut.cfg.ecn_to_one_segment => 0.0,
            CongestionEvent::Ecn => 2.0,
            _ => 1.0,
        };
        self.halve(cut.cfg.max_window, cut.cfg.counts_whole_segments(), least, cut.mss);
        self.cwnd_bytes(cut.mss)
    }

    /// Whole segments are added to `cwnd_packets`, whose fractional part does not change.
    fn set_window(&mut self, to: Setting, _: u32, mss: u32) -> u32 {
        match to {
            Setting::Bytes(bytes) => *self = RenoPackets::from_bytes(bytes, mss),
            Setting::Segments(segments) => {
                self.cwnd_packets = (self.cwnd_packets + f64::from(segments)).max(1.0);
            }
        }
        self.cwnd_bytes(mss).min(MAX_WINDOW_BYTES)
    }
}

impl LossLaw for RenoLinux2 {
    const NEEDS: Needs = Needs::PLAIN;

    fn grow(&mut self, _: &TcpConfig, ack: &Acked<'_>, limited: bool, windows: &mut Windows) -> bool {
        if !limited {
            windows.cwnd = self.on_ack(windows.cwnd, windows.ssthresh, ack.plain.mss).min(MAX_WINDOW_BYTES);
        }
        true
    }

    fn reduce(&mut self, cut: &Cut<'_>, cwnd: u32) -> u32 {
        self.halve(cwnd, cut.cfg.max_window, cut.mss)
    }
}
