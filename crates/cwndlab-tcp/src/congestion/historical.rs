//! RFC 5681's window law counted in packets, as in ns-2 and early Linux.

use super::law::{Acked, Cut, LossLaw, Setting, Windows, MAX_WINDOW_BYTES};
use super::needs::Needs;
use super::CongestionEvent;
use crate::config::TcpConfig;

/// ns-2's law. The window is a real number of packets, and each ACK counts once, however much the ACK acknowledges.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenoPackets {
    pub cwnd_packets: f64,
}

impl RenoPackets {
    /// The state for a window of this many bytes, not necessarily whole packets.
    pub fn from_bytes(bytes: u32, mss: u32) -> Self {
        RenoPackets { cwnd_packets: f64::from(bytes) / f64::from(mss) }
    }

    /// Returns the whole packets of the window, in bytes: ns-2 sends only whole packets.
    fn cwnd_bytes(self, mss: u32) -> u32 {
        (self.cwnd_packets as u64 * u64::from(mss)).min(u64::from(u32::MAX)) as u32
    }
}

impl LossLaw for RenoPackets {
    const NEEDS: Needs = Needs::PLAIN;
    const COUNTS_PACKETS: bool = true;

    fn grow(&mut self, _: &TcpConfig, ack: &Acked<'_>, limited: bool, windows: &mut Windows) -> bool {
        if !limited {
            self.cwnd_packets += if windows.in_slow_start() { 1.0 } else { 1.0 / self.cwnd_packets };
            windows.cwnd = self.cwnd_bytes(ack.plain.mss).min(MAX_WINDOW_BYTES);
        }
        true
    }

    /// Halves the window, starting from min(cwnd, `max_window`) as ns-2 does, not from the flight size.
    fn reduce(&mut self, cut: &Cut<'_>, _: u32) -> u32 {
        let least = match cut.event {
            CongestionEvent::Ecn if cut.cfg.ecn_to_one_segment => 0.0,
            CongestionEvent::Ecn => 2.0,
            _ => 1.0,
        };
        let limit = (cut.cfg.max_window.bytes(cut.mss) / u64::from(cut.mss)) as f64;
        let window = self.cwnd_packets.min(limit);
        let whole = cut.cfg.counts_whole_segments();
        self.cwnd_packets = if whole { (window.floor() / 2.0).floor() } else { window / 2.0 }.max(least);
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

/// The law of Linux 2.0 and 2.2 (`tcp_ack`, `tcp_cong_avoid`). The window is a whole number of packets, and each ACK
/// counts once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RenoLinux2 {
    /// ACKs since the last increase in congestion avoidance (`cong_count`, `snd_cwnd_cnt`).
    count: u32,
}

impl RenoLinux2 {
    /// Takes one ACK of new data. Returns the new window in bytes.
    fn on_ack(&mut self, cwnd: u32, ssthresh: u32, mss: u32) -> u32 {
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
}

impl LossLaw for RenoLinux2 {
    const NEEDS: Needs = Needs::PLAIN;

    fn grow(&mut self, _: &TcpConfig, ack: &Acked<'_>, limited: bool, windows: &mut Windows) -> bool {
        if !limited {
            windows.cwnd = self.on_ack(windows.cwnd, windows.ssthresh, ack.plain.mss).min(MAX_WINDOW_BYTES);
        }
        true
    }

    /// Returns half of min(cwnd, `max_window`), not of the flight size, rounded down to whole packets.
    fn reduce(&mut self, cut: &Cut<'_>, cwnd: u32) -> u32 {
        self.count = 0;
        let limit = (cut.cfg.max_window.bytes(cut.mss) / u64::from(cut.mss)) as u32;
        (cwnd / cut.mss).min(limit) / 2 * cut.mss
    }
}
