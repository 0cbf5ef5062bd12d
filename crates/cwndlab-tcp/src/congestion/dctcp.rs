//! DCTCP (RFC 8257): the window is reduced in proportion to the share of marked bytes, and grows as in Reno.

use super::law::{Acked, Cut, Growth, LossLaw, Windows};
use super::reno::Reno;
use super::{AckKind, CongestionEvent};
use crate::config::TcpConfig;

/// alpha = 1 in the Linux kernel's integers. It is also alpha's initial value, which is the conservative choice (RFC
/// 8257, section 4.2).
const ONE: u32 = 1 << 10;
/// g = 1/16 (RFC 8257, section 4.2).
const GAIN_SHIFT: u32 = 4;

/// The state of one sender (RFC 8257, section 3.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    pub reno: Reno,
    /// `DCTCP.Alpha` in 1/1024.
    alpha: u32,
    /// `DCTCP.BytesAcked`, `DCTCP.BytesMarked`: bytes delivered in this observation window, and bytes delivered by ACKs
    /// with ECE.
    acked: u32,
    marked: u32,
    /// `DCTCP.WindowEnd`.
    window_end: u64,
}

impl Dctcp {
    pub fn new(cfg: &TcpConfig) -> Self {
        Dctcp { reno: Reno::new(cfg), alpha: ONE, acked: 0, marked: 0, window_end: 0 }
    }

    /// Takes an ACK of `delivered` bytes, `marked` of which were marked CE. The cumulative ACK is `una`, and data below
    /// `nxt` has been sent.
    pub fn on_delivered(&mut self, delivered: u64, marked: u64, una: u64, nxt: u64) {
        self.acked = self.acked.saturating_add(delivered as u32);
        self.marked = self.marked.saturating_add(marked as u32);
        if una < self.window_end {
            return; // the RFC also returns if una == window_end, and so waits for one more ACK
        }
        // alpha = (1 - g) alpha + g M. As in the kernel, values below 1/64 become 0: integer arithmetic could not
        // reduce them further.
        let fraction = (u64::from(self.marked) << 10) / u64::from(self.acked.max(1));
        let less = if self.alpha >> GAIN_SHIFT == 0 { self.alpha } else { self.alpha >> GAIN_SHIFT };
        self.alpha = (self.alpha - less + (fraction >> GAIN_SHIFT) as u32).min(ONE);
        (self.acked, self.marked, self.window_end) = (0, 0, nxt);
    }

    /// The window after an ECN echo: cwnd (1 - alpha / 2). The kernel rounds the reduction down to whole segments
    /// (`unit` is then a segment, in bytes), so a small alpha has no effect.
    pub fn on_echo(&self, cwnd: u32, unit: u32) -> u32 {
        let units = cwnd / unit;
        (units - ((u64::from(units) * u64::from(self.alpha)) >> 11) as u32) * unit
    }
}

impl LossLaw for Dctcp {
    fn on_feedback(&mut self, ack: &Acked<'_>, _: &mut Windows) {
        let Some(ack) = ack.report else { return };
        if matches!(ack.kind, AckKind::New | AckKind::Duplicate) {
            self.on_delivered(ack.delivered_bytes, ack.ce_bytes, ack.snd_una, ack.snd_nxt);
        }
    }

    fn avoid(&mut self, growth: &Growth, cwnd: u32) -> u32 {
        self.reno.avoid(growth, cwnd)
    }

    /// Halves the window, as for any loss (RFC 8257, section 3.5; Linux: `dctcp_react_to_loss`).
    fn on_loss_after_echo(&mut self, windows: &mut Windows, mss: u32) {
        windows.ssthresh = (windows.cwnd / mss / 2).max(2) * mss;
    }

    fn reduce(&mut self, cut: &Cut<'_>, cwnd: u32) -> u32 {
        let half = self.reno.reduce(cut, cwnd);
        if cut.event == CongestionEvent::Ecn {
            self.on_echo(cwnd, cut.unit)
        } else {
            half
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Time;

    use super::*;
    use crate::congestion::AckReport;

    fn dctcp() -> Dctcp {
        Dctcp::new(&crate::Profile::Linux6.config())
    }

    /// alpha after each of several windows of 100 segments, of which these percentages are marked.
    fn alphas(marked: &[u64]) -> Vec<u32> {
        let mut dctcp = dctcp();
        dctcp.window_end = 101;
        let alpha = |(round, &share): (usize, &u64)| {
            for segment in 0..100 {
                dctcp.on_delivered(
                    1,
                    u64::from(segment < share),
                    round as u64 * 100 + segment + 2,
                    round as u64 * 100 + 201,
                );
            }
            dctcp.alpha
        };
        marked.iter().enumerate().map(alpha).collect()
    }

    #[test]
    fn alpha_is_the_average_of_rfc_8257_equation_2() {
        // 1024 (15/16) + 1024 M / 16, in whole 1/1024. Both the subtrahend and the addend are rounded down.
        assert_eq!(alphas(&[0, 0, 100, 50]), [960, 900, 908, 884]);
        assert_eq!(alphas(&[100; 5]), [1024; 5]);
        let last = *alphas(&[0; 200]).last().unwrap();
        assert_eq!(last, 0, "it reaches zero");
    }

    #[test]
    fn the_average_settles_at_the_share_that_is_marked() {
        for share in [10, 25, 50, 75] {
            let settled = *alphas(&[share; 300]).last().unwrap();
            let expected = share as i64 * 1024 / 100;
            assert!((i64::from(settled) - expected).abs() <= 16, "{share} %: {settled} against {expected}");
        }
    }

    #[test]
    fn acks_of_new_data_and_duplicates_are_counted_and_others_are_not() {
        let cfg = crate::Profile::Linux6.config();
        let ack = crate::sender::Sender::new(&cfg, 1000).snd.report(&cfg, Time::ZERO, (9000, 0), 0, None);
        let mut windows = Windows { cwnd: 10_000, ssthresh: 10_000 };
        for (kind, counted) in
            [(AckKind::New, true), (AckKind::Duplicate, true), (AckKind::Other, false), (AckKind::Old, false)]
        {
            let mut dctcp = Dctcp { window_end: 5000, ..dctcp() };
            let report = AckReport { kind, delivered_bytes: 3000, ce_bytes: 1000, snd_una: 4000, snd_nxt: 9000, ..ack };
            dctcp.on_feedback(&Acked::of(&report), &mut windows);
            assert_eq!((dctcp.acked, dctcp.marked), if counted { (3000, 1000) } else { (0, 0) }, "{kind:?}");
            assert_eq!((dctcp.alpha, dctcp.window_end), (ONE, 5000));
            // The window ends: of 6000 bytes 2000 are marked, 341/1024, and a sixteenth of that is 21.
            let end = AckReport { snd_una: 5000, ..report };
            dctcp.on_feedback(&Acked::of(&end), &mut windows);
            let expected = if counted { (ONE - 64 + 21, 9000) } else { (ONE, 5000) };
            assert_eq!((dctcp.alpha, dctcp.window_end), expected);
        }
        let mut dctcp = dctcp();
        dctcp.on_feedback(&Acked { report: None, ..Acked::of(&ack) }, &mut windows);
        assert_eq!((dctcp.alpha, dctcp.acked), (ONE, 0));
    }

    #[test]
    fn a_loss_after_an_echo_halves_whole_segments_but_leaves_two() {
        for (segments, left) in [(29, 14), (28, 14), (3, 2)] {
            let mut windows = Windows { cwnd: segments * 1000, ssthresh: 18_000 };
            dctcp().on_loss_after_echo(&mut windows, 1000);
            assert_eq!(windows, Windows { cwnd: segments * 1000, ssthresh: left * 1000 });
        }
    }

    #[test]
    fn an_echo_takes_half_of_alpha() {
        for (alpha, after, whole) in [
            (1024, 50_000, 50_000),
            (512, 75_000, 75_000),
            (102, 95_020, 96_000),
            (10, 99_512, 100_000),
            (0, 100_000, 100_000),
        ] {
            let dctcp = Dctcp { alpha, ..dctcp() };
            assert_eq!((dctcp.on_echo(100_000, 1), dctcp.on_echo(100_000, 1000)), (after, whole));
        }
    }
}
