//! Reductions of the window, their undoing, and the effect of idle times.

use super::{initial_window_bytes, AnyLaw, Controller, Phase, MAX_WINDOW_BYTES};
use crate::config::{ReductionBase, TcpConfig};
use crate::congestion::external::LossEvent;
use crate::congestion::law::{Cut, LossLaw as _, PathLaw as _, Pause};
use crate::congestion::laws::{each_loss, each_path};
use crate::congestion::CongestionEvent;
use cwndlab_units::Time;

impl Controller {
    /// Responds to congestion, once per episode. `flight_bytes` is the number of bytes sent and not yet acknowledged
    /// (RFC 5681: FlightSize).
    pub fn on_congestion(&mut self, cfg: &TcpConfig, now: Time, event: CongestionEvent, flight_bytes: u64, mss: u32) {
        let timeout = matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat);
        let models = each_path!(
            &mut self.law,
            law => { law.on_congestion(event, now, mss, &mut self.windows); true },
            else false
        );
        if !models {
            let cuts_again = cfg.each_timeout_cuts || self.law.counts_packets();
            let held = event == CongestionEvent::RtoRepeat && !cuts_again;
            if !held {
                self.phase = Phase::Reduced(self.windows);
            }
            if matches!(self.law, AnyLaw::External(_)) {
                return self.external_congestion(now, event, held, flight_bytes, mss);
            }
            if !held {
                self.reduce(cfg, event, flight_bytes, mss);
            }
        }
        if timeout {
            // The loss window does not depend on the initial window; RFC 5681, section 3.1, sets it to one segment.
            self.to_loss_window(cfg, mss);
            each_loss!(&mut self.law, law => law.on_timeout(cfg), else ());
        }
    }

    /// Sets ssthresh and cwnd after congestion, with the law's own factor (RFC 5681, equation 4).
    fn reduce(&mut self, cfg: &TcpConfig, event: CongestionEvent, flight_bytes: u64, mss: u32) {
        let base = if cfg.reduce_from == ReductionBase::FlightSize { flight_bytes } else { self.cwnd() };
        let unit = if cfg.counts_whole_segments() { mss } else { 1 };
        let half = (base / 2).min(u64::from(MAX_WINDOW_BYTES)) as u32 / unit * unit;
        let cwnd = self.windows.cwnd;
        let cut = Cut { cfg, event, base, half, unit, mss };
        let reduced = each_loss!(&mut self.law, law => law.reduce(&cut, cwnd), else cwnd);
        let timeout = event == CongestionEvent::Rto || event == CongestionEvent::RtoRepeat;
        let least = if timeout { u32::from(cfg.timeout_ssthresh_segments) } else { 2 };
        let least = least.saturating_mul(mss).min(MAX_WINDOW_BYTES);
        self.windows.ssthresh = reduced.clamp(least, MAX_WINDOW_BYTES);
        let to_one = event == CongestionEvent::Ecn && cfg.ecn_to_one_segment;
        self.windows.cwnd = if to_one && cwnd <= mss {
            0 // RFC 3168, 6.1.2: an echo closes a window of one segment until the retransmission timer expires
        } else if to_one {
            reduced.clamp(mss, MAX_WINDOW_BYTES)
        } else if self.law.counts_packets() {
            reduced.min(MAX_WINDOW_BYTES)
        } else {
            self.windows.ssthresh
        };
    }

    /// Passes congestion to an external law. `held` says that the same segment has timed out before, so ssthresh must
    /// not change.
    fn external_congestion(&mut self, now: Time, event: CongestionEvent, held: bool, flight_bytes: u64, mss: u32) {
        let event = match event {
            CongestionEvent::RtoRepeat if !held => CongestionEvent::Rto,
            event => event,
        };
        let event = LossEvent { now, event, flight_bytes, mss };
        self.ask(now, mss, |law, window| match event.event {
            CongestionEvent::Rto | CongestionEvent::RtoRepeat => law.on_timeout(&event, window),
            CongestionEvent::Loss | CongestionEvent::Ecn => {
                law.on_loss(&event, window)?;
                window.follow();
                Ok(())
            }
        });
    }

    /// Restores cwnd and ssthresh after a spurious reduction (RFC 9438, section 4.9; RFC 3522, RFC 5682), unless they
    /// have grown beyond their former values.
    pub fn on_undo(&mut self, now: Time, mss: u32) {
        each_path!(&mut self.law, law => return law.on_undo(mss, &mut self.windows), else ());
        let Phase::Reduced(before) = self.phase else { return };
        self.phase = Phase::Plain;
        self.set_cwnd(u64::from(self.windows.cwnd.max(before.cwnd)), mss);
        self.windows.ssthresh = self.windows.ssthresh.max(before.ssthresh);
        each_loss!(&mut self.law, law => law.on_undo(), else ());
        self.ask(now, mss, |law, window| law.on_undo(now, window));
    }

    /// Reduces the window when sending resumes after an idle time of more than one RTO (RFC 5681, section 4.1: RW =
    /// min(IW, cwnd)). `times` is the number of RTOs that the idle time lasted. Linux instead halves the window once
    /// per RTO, at most down to RW (RFC 2861, section 3.2), and raises ssthresh to at least 3/4 of the former window.
    pub fn on_idle_restart(&mut self, cfg: &TcpConfig, mss: u32, times: u64) {
        let restart = u64::from(initial_window_bytes(cfg.initial_window, mss)).min(self.cwnd());
        if cfg.counts_whole_segments() {
            let (segments, least) = (self.windows.cwnd / mss, restart as u32 / mss);
            self.windows.ssthresh = self.windows.ssthresh.max((segments / 2 + segments / 4) * mss);
            self.set_cwnd(u64::from((segments >> times.min(31)).max(least) * mss), mss);
            return;
        }
        self.set_cwnd(restart, mss);
        each_loss!(&mut self.law, law => law.on_pause(Pause::Restart), else ());
    }

    /// Reduces a window of which at most `used` segments were in use for one RTO (RFC 2861, section 3.2): halfway to
    /// `used` segments, or halfway to the initial window if that is larger. Raises ssthresh to at least 3/4 of the
    /// former window.
    pub fn on_unused(&mut self, cfg: &TcpConfig, mss: u32, used: u32) {
        let used = used.saturating_mul(mss).max(initial_window_bytes(cfg.initial_window, mss));
        if used >= self.windows.cwnd {
            return;
        }
        let unit = if cfg.counts_whole_segments() { mss } else { 1 };
        let (cwnd, used) = (self.windows.cwnd / unit, used / unit);
        self.windows.ssthresh = self.windows.ssthresh.max((cwnd / 2 + cwnd / 4) * unit);
        self.set_cwnd(u64::from(cwnd.midpoint(used) * unit), mss);
    }
}
