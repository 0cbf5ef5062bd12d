//! Reductions of the window, what undoes them, and what idle times take from it.

use super::{initial_window_bytes, Background, Controller, Law, Phase, Undo, MAX_WINDOW_BYTES};
use crate::config::{ReductionBase, TcpConfig};
use crate::congestion::external::LossEvent;
use crate::congestion::CongestionEvent;
use cwndlab_units::Time;

impl Controller {
    /// Congestion, once per episode. `flight_bytes`: sent and not yet acknowledged (RFC 5681: FlightSize).
    pub fn on_congestion(&mut self, cfg: &TcpConfig, event: CongestionEvent, flight_bytes: u64, mss: u32) {
        if let Law::Bbr(bbr) = &mut self.law {
            if event != CongestionEvent::RtoRepeat {
                bbr.on_congestion(u64::from(self.cwnd / mss));
            }
            if matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat) {
                bbr.on_timeout();
                self.to_loss_window(cfg, mss);
            }
            return;
        }
        if let Law::Bbr3(bbr) = &mut self.law {
            if event != CongestionEvent::RtoRepeat {
                bbr.on_congestion(u64::from(self.cwnd));
            }
            if matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat) {
                bbr.on_timeout();
                self.to_loss_window(cfg, mss);
            }
            return;
        }
        let timeout = matches!(event, CongestionEvent::Rto | CongestionEvent::RtoRepeat);
        if matches!(self.law, Law::Prague(_)) {
            self.prague_congestion(event, mss);
            if timeout {
                self.to_loss_window(cfg, mss);
            }
            return;
        }
        let cuts_again = cfg.each_timeout_cuts || matches!(self.law, Law::RenoPackets(_));
        let held = event == CongestionEvent::RtoRepeat && !cuts_again;
        if matches!(self.law, Law::External(_)) {
            return self.external_congestion(event, held, flight_bytes, mss);
        }
        if !held {
            self.remember();
            let base = if cfg.reduce_from == ReductionBase::FlightSize { flight_bytes } else { self.cwnd() };
            let whole = cfg.reduce_from == ReductionBase::CwndWholeSegments;
            let unit = if whole { mss } else { 1 };
            let rounded = |bytes: u32| bytes / unit * unit;
            let half = rounded((base / 2).min(u64::from(MAX_WINDOW_BYTES)) as u32);
            let to_one = event == CongestionEvent::Ecn && cfg.ecn_to_one_segment;
            let reduced = match &mut self.law {
                Law::Dctcp(dctcp) if event == CongestionEvent::Ecn => {
                    let cut = dctcp.on_echo(self.cwnd, unit);
                    dctcp.reno.reduced_to(cut)
                }
                Law::Dctcp(dctcp) => dctcp.reno.reduced_to(half),
                Law::Reno(reno) => reno.reduced_to(half),
                Law::Background(law) => match &mut **law {
                    Background::Ledbat(law) => law.on_congestion(self.cwnd),
                    Background::LedbatPlusPlus(law) => {
                        law.on_congestion();
                        half
                    }
                },
                Law::RenoPackets(p) => {
                    let least = match event {
                        CongestionEvent::Ecn if to_one => 0.0,
                        CongestionEvent::Ecn => 2.0,
                        _ => 1.0,
                    };
                    p.halve(cfg.max_window, whole, least, mss);
                    p.cwnd_bytes(mss)
                }
                Law::RenoLinux2(law) => law.halve(self.cwnd, cfg.max_window, mss),
                Law::CubicLinux(cubic) => cubic.on_congestion(cfg, self.cwnd / mss).saturating_mul(mss),
                Law::Bbr(_) | Law::Bbr3(_) | Law::Prague(_) | Law::External(_) => self.cwnd,
                Law::Cubic(cubic) => {
                    rounded(cubic.on_congestion(self.cwnd, base, mss, cfg.window_law.converges_fast()))
                }
            };
            let least = if timeout { u32::from(cfg.timeout_ssthresh_segments) } else { 2 };
            self.ssthresh = reduced.clamp(least.saturating_mul(mss).min(MAX_WINDOW_BYTES), MAX_WINDOW_BYTES); // RFC 5681, equation 4
            self.cwnd = match event {
                // RFC 3168, 6.1.2: at one segment an echo closes the window until the retransmit timer expires
                CongestionEvent::Ecn if to_one && self.cwnd <= mss => 0,
                CongestionEvent::Ecn if to_one => reduced.clamp(mss, MAX_WINDOW_BYTES),
                _ if matches!(self.law, Law::RenoPackets(_)) => reduced.min(MAX_WINDOW_BYTES),
                _ => self.ssthresh,
            };
        }
        if timeout {
            // RFC 5681, section 3.1: the loss window is one segment, regardless of the initial window.
            self.to_loss_window(cfg, mss);
            match &mut self.law {
                Law::Cubic(cubic) => cubic.forget_w_max(),
                Law::CubicLinux(cubic) => cubic.on_timeout(cfg),
                Law::Reno(_)
                | Law::RenoPackets(_)
                | Law::RenoLinux2(_)
                | Law::Dctcp(_)
                | Law::Bbr(_)
                | Law::Bbr3(_)
                | Law::Prague(_)
                | Law::Background(_)
                | Law::External(_) => {}
            }
        }
    }

    /// Marks or a loss; cwnd follows with the next ACKs.
    fn prague_congestion(&mut self, event: CongestionEvent, mss: u32) {
        let windows = self.windows(mss);
        let Law::Prague(prague) = &mut self.law else { return };
        match event {
            CongestionEvent::Ecn => prague.on_marks(windows),
            CongestionEvent::Loss | CongestionEvent::Rto => prague.on_loss(windows.cwnd),
            CongestionEvent::RtoRepeat => {}
        }
    }

    /// Congestion, for a law from outside.
    #[cold]
    fn external_congestion(&mut self, event: CongestionEvent, held: bool, flight_bytes: u64, mss: u32) {
        if !held {
            self.remember();
        }
        let Law::External(external) = &self.law else { return };
        let event = match event {
            CongestionEvent::RtoRepeat if !held => CongestionEvent::Rto,
            event => event,
        };
        let event = LossEvent { now: external.now, event, flight_bytes, mss };
        self.ask(mss, |law, window| match event.event {
            CongestionEvent::Rto | CongestionEvent::RtoRepeat => law.on_timeout(&event, window),
            CongestionEvent::Loss | CongestionEvent::Ecn => {
                law.on_loss(&event, window)?;
                window.follow();
                Ok(())
            }
        });
    }

    fn remember(&mut self) {
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        self.phase = match &self.law {
            Law::Cubic(c) => Phase::ReducedCubic(Box::new(Undo {
                cwnd,
                ssthresh,
                w_max: c.w_max,
                k_s: c.k_s,
                cwnd_prior: c.cwnd_prior,
                w_est: c.w_est as f32,
                epoch_start: c.epoch_start,
            })),
            _ => Phase::Reduced { cwnd, ssthresh },
        };
    }

    /// The last reduction was spurious (RFC 9438, section 4.9; RFC 3522, RFC 5682): back to where it was, unless
    /// the window has grown beyond.
    pub fn on_undo(&mut self, mss: u32) {
        if let Law::Bbr(bbr) = &mut self.law {
            return bbr.on_undo();
        }
        if let Law::Bbr3(bbr) = &mut self.law {
            let cwnd = bbr.on_undo(u64::from(self.cwnd));
            return self.set_cwnd(cwnd, mss);
        }
        if let Law::Prague(prague) = &mut self.law {
            let cwnd = prague.on_undo(u64::from(self.cwnd / mss));
            return self.set_cwnd(cwnd * u64::from(mss), mss);
        }
        let (cwnd, ssthresh) = match &self.phase {
            Phase::Reduced { cwnd, ssthresh } => (*cwnd, *ssthresh),
            Phase::ReducedCubic(undo) => (undo.cwnd, undo.ssthresh),
            _ => return,
        };
        let phase = std::mem::replace(&mut self.phase, Phase::Plain);
        self.set_cwnd(u64::from(self.cwnd.max(cwnd)), mss);
        self.ssthresh = self.ssthresh.max(ssthresh);
        if let (Law::Cubic(c), Phase::ReducedCubic(undo)) = (&mut self.law, phase) {
            c.w_max = undo.w_max;
            c.k_s = undo.k_s;
            c.cwnd_prior = undo.cwnd_prior;
            c.w_est = f64::from(undo.w_est);
            c.epoch_start = undo.epoch_start;
        }
        if let Law::External(external) = &self.law {
            let now = external.now;
            self.ask(mss, |law, window| law.on_undo(now, window));
        }
    }

    /// Sending resumes after an idle time of more than one RTO (RFC 5681, section 4.1: RW = min(IW, cwnd)), which has passed
    /// `times` times over. Linux halves the window for each (RFC 2861, section 3.2) and keeps ssthresh above 3/4 of it.
    pub fn on_idle_restart(&mut self, cfg: &TcpConfig, mss: u32, times: u64) {
        let restart = u64::from(initial_window_bytes(cfg.initial_window, mss)).min(self.cwnd());
        if cfg.departs_as_linux() {
            let (segments, least) = (self.cwnd / mss, restart as u32 / mss);
            self.ssthresh = self.ssthresh.max((segments / 2 + segments / 4) * mss);
            self.set_cwnd(u64::from((segments >> times.min(31)).max(least) * mss), mss);
            return;
        }
        self.set_cwnd(restart, mss);
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.epoch_start = Time::MAX;
        }
    }

    /// No more than `used` segments of the window were in use for a timeout (RFC 2861, section 3.2): it falls half the way to
    /// them, or to the initial window if that is more; ssthresh keeps 3/4 of it.
    pub fn on_unused(&mut self, cfg: &TcpConfig, mss: u32, used: u32) {
        let used = used.saturating_mul(mss).max(initial_window_bytes(cfg.initial_window, mss));
        if used >= self.cwnd {
            return;
        }
        let unit = if cfg.counts_whole_segments() { mss } else { 1 };
        let (cwnd, used) = (self.cwnd / unit, used / unit);
        self.ssthresh = self.ssthresh.max((cwnd / 2 + cwnd / 4) * unit);
        self.set_cwnd(u64::from(cwnd.midpoint(used) * unit), mss);
    }
}
