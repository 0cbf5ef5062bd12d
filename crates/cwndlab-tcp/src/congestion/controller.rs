//! The window of one connection: the configured law, the phase of slow start, and the state to undo a reduction.

use cwndlab_units::Time;

use super::external::{CongestionControl, LawError, LawFailures, Window};
use super::hystart::Hystart;
use super::hystart_linux::HystartLinux;
use super::law::{Acked, LossLaw as _, PathLaw as _, Pause, Setting, Windows, MAX_WINDOW_BYTES, NO_THRESHOLD};
use super::laws::{each_loss, each_path, AnyLaw};
use super::needs::Needs;
use super::prr::Prr;
use super::reno::Reno;
use super::search::Search;
use super::{AckReport, AfterAck, Grant, PlainAck, Quantum, Start, WindowChange};
use crate::config::{InitialWindow, SlowStartKind, TcpConfig, WindowLawKind};
use crate::flight::LostSegment;
use crate::Rng;

/// State needed only until the first reduction (HyStart, SEARCH), or only after a reduction (the windows that an undo
/// restores). The two are never needed at the same time.
#[derive(Clone, Debug)]
enum Phase {
    /// No state: slow start is RFC 5681's or the law's own, and no reduction can be undone.
    Plain,
    Hystart(Box<Hystart>),
    HystartLinux(Box<HystartLinux>),
    Search(Box<Search>),
    Reduced(Windows),
}

/// The congestion window and its law.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Controller {
    windows: Windows,
    law: AnyLaw,
    phase: Phase,
    /// Proportional rate reduction, once an episode has begun that uses it.
    prr: Option<Box<Prr>>,
}

impl Controller {
    /// The controller of a new connection whose effective `mss` (payload bytes) is known.
    pub fn new(cfg: &TcpConfig, mss: u32) -> Self {
        let cwnd = initial_window_bytes(cfg.initial_window, mss);
        let ssthresh = match cfg.initial_ssthresh_segments {
            0 => NO_THRESHOLD,
            k => k.saturating_mul(mss).min(MAX_WINDOW_BYTES),
        };
        // Whether the law has its own rule to end slow start, as laws that model the path do, and `CubicLinux`, which
        // contains HyStart.
        let own = cfg.window_law.models_path()
            || matches!((cfg.slow_start, cfg.window_law), (SlowStartKind::Hystart, WindowLawKind::CubicLinux(_)));
        Controller {
            windows: Windows { cwnd, ssthresh },
            law: AnyLaw::new(cfg, cwnd, mss),
            prr: None,
            phase: match cfg.slow_start {
                SlowStartKind::Standard => Phase::Plain,
                _ if own => Phase::Plain,
                SlowStartKind::Hystart => Phase::HystartLinux(Box::new(HystartLinux::new(cfg.pacing))),
                SlowStartKind::HystartPlusPlus => Phase::Hystart(Box::new(Hystart::new())),
                SlowStartKind::Search => Phase::Search(Box::default()),
            },
        }
    }

    /// Sets the law of a sender that is configured with [`WindowLawKind::External`]. Call it before anything is sent.
    pub fn attach(&mut self, law: Box<dyn CongestionControl>, flow: String, failures: LawFailures) {
        if let AnyLaw::External(external) = &mut self.law {
            external.attach(law, flow, failures);
        }
    }

    /// Replaces the state, except an external law, by that of a new connection with another `mss`. Call this before
    /// anything but a SYN has been sent.
    pub fn restart(&mut self, cfg: &TcpConfig, mss: u32) {
        let made = Controller::new(cfg, mss);
        let before = std::mem::replace(self, made);
        if matches!(before.law, AnyLaw::External(_)) {
            self.law = before.law;
        }
    }

    /// Replaces a law that needs AccECN by Reno (Linux: `prague_reno`), because the two ends have not agreed on AccECN.
    /// Call it before [`Controller::on_start`].
    pub fn do_without_accecn(&mut self, cfg: &TcpConfig) {
        if matches!(self.law, AnyLaw::Prague(_)) {
            self.law = AnyLaw::Reno(Reno::new(cfg));
        }
    }

    /// Starts the law, and SEARCH if it is configured, when the connection is established. `random`: this end's source of
    /// random numbers, for a law that draws ([`super::Needs::draws`]).
    pub fn on_start(&mut self, start: &Start, random: Option<Rng>) {
        if let Phase::Search(search) = &mut self.phase {
            search.start(start.now, start.srtt);
        }
        if let AnyLaw::External(external) = &mut self.law {
            return external.start(start, &mut self.windows);
        }
        each_path!(&mut self.law, law => law.on_start(start, random, &mut self.windows), else ());
    }

    /// Returns how much the sender may send now, and how fast.
    pub fn grant(&self) -> Grant {
        let cwnd_bytes = self.cwnd();
        if let AnyLaw::External(external) = &self.law {
            return external.grant(cwnd_bytes);
        }
        each_path!(
            &self.law,
            law => law.grant(cwnd_bytes),
            else Grant { cwnd_bytes, pacing_rate: None, quantum: Quantum::DEFAULT, owns_recovery: false }
        )
    }

    /// Whether the law's window also applies in recovery ([`Grant::owns_recovery`]).
    pub(crate) fn owns_recovery(&self) -> bool {
        self.law.owns_recovery()
    }

    /// The law's own state, for its tests.
    #[cfg(test)]
    pub(super) fn law(&self) -> &AnyLaw {
        &self.law
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        u64::from(self.windows.cwnd)
    }

    /// Slow-start threshold in bytes; `u64::MAX` while there is none.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        if self.windows.ssthresh == NO_THRESHOLD {
            u64::MAX
        } else {
            u64::from(self.windows.ssthresh)
        }
    }

    /// Whether the next ACK grows the window as in slow start (RFC 5681, section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.windows.in_slow_start()
    }

    /// Whether HyStart++ is in Conservative Slow Start (RFC 9406).
    pub fn in_conservative_slow_start(&self) -> bool {
        self.in_slow_start() && matches!(&self.phase, Phase::Hystart(h) if h.in_css())
    }

    /// Changes the window as loss recovery requests. `mss` is the current segment size. If the law controls its own
    /// recovery, it ignores changes between the beginning of an episode and its end.
    pub(crate) fn change(&mut self, cfg: &TcpConfig, now: Time, change: WindowChange, mss: u32) {
        let one = u64::from(mss);
        match change {
            WindowChange::Cut { event, flight_bytes, .. } => {
                return self.on_congestion(cfg, now, event, u64::from(flight_bytes), mss)
            }
            WindowChange::Undo => return self.on_undo(now, mss),
            WindowChange::LossWindow => return self.to_loss_window(cfg, mss),
            WindowChange::Restart => return self.set_cwnd(one, mss),
            WindowChange::StillInNetwork(pipe) => return self.set_cwnd(u64::from(pipe) + one, mss),
            _ if self.owns_recovery() => return,
            _ => {}
        }
        match change {
            WindowChange::Pipe(ack) => {
                let unit = if cfg.counts_whole_segments() { one } else { 1 };
                let ssthresh = self.ssthresh();
                let allowance = self.prr.as_mut().and_then(|prr| prr.on_ack(&ack, ssthresh, one, unit));
                if let Some(allowance) = allowance {
                    self.set_cwnd((u64::from(ack.pipe) + allowance).max(one), mss);
                }
            }
            WindowChange::Window(bytes) => self.set_cwnd(u64::from(bytes).max(one), mss),
            WindowChange::Deflate(bytes) => self.set_cwnd(self.cwnd().saturating_sub(u64::from(bytes)).max(one), mss),
            WindowChange::DeflateBySegments(segments) => {
                self.set_window(Setting::Segments(-(segments as i32)), mss);
            }
            WindowChange::Inflate(bytes) => self.set_cwnd(self.cwnd() + u64::from(bytes), mss),
            WindowChange::End => self.set_cwnd(self.ssthresh().max(one), mss),
            WindowChange::LossAfterEcho => {
                if let Some(prr) = &mut self.prr {
                    prr.send_count = 0;
                }
                if cfg.reports_loss_after_echo() {
                    each_loss!(&mut self.law, law => law.on_loss_after_echo(&mut self.windows, mss), else ());
                }
            }
            _ => {}
        }
    }

    /// Begins an episode of proportional rate reduction, before the window is reduced.
    pub(crate) fn begin_prr(&mut self, cfg: &TcpConfig, recover_fs: u32, mss: u32) {
        let prr = Prr::new(cfg, recover_fs, self.cwnd(), u64::from(mss));
        match &mut self.prr {
            Some(place) => **place = prr,
            None => self.prr = Some(Box::new(prr)),
        }
    }

    /// Bytes that proportional rate reduction allows to be sent before the next ACK; `None` if cwnd limits what is sent.
    pub(crate) fn allowance(&self) -> Option<u32> {
        self.prr.as_ref().filter(|_| !self.owns_recovery()).map(|prr| prr.send_count)
    }

    /// Counts bytes sent in an episode of proportional rate reduction.
    pub(crate) fn count_sent(&mut self, bytes: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// Sets cwnd to the loss window ([`TcpConfig::loss_window_segments`]).
    pub fn to_loss_window(&mut self, cfg: &TcpConfig, mss: u32) {
        self.set_cwnd(u64::from(mss) * u64::from(cfg.loss_window_segments), mss);
    }

    pub(super) fn set_cwnd(&mut self, bytes: u64, mss: u32) {
        self.windows.set_cwnd(bytes);
        self.set_window(Setting::Bytes(self.windows.cwnd), mss);
    }

    pub(super) fn set_window(&mut self, to: Setting, mss: u32) {
        let cwnd = self.windows.cwnd;
        self.windows.cwnd =
            each_loss!(&mut self.law, law => law.set_window(to, cwnd, mss), else to.in_bytes(cwnd, mss));
    }

    /// Passes an ACK, also in recovery, to a law that models the path. Returns false if the law is of another kind; call
    /// [`Controller::on_ack`] then.
    pub fn on_measured_ack(&mut self, ack: &AckReport, after: &AfterAck) -> bool {
        each_path!(&mut self.law, law => { law.on_ack(ack, after, &mut self.windows); true }, else false)
    }

    /// Passes an ACK to a law that models the path, while nothing is outstanding and no loss is being repaired. Returns
    /// whether another such ACK would change nothing.
    pub(crate) fn on_idle_ack(&mut self, ack: &PlainAck, srtt: Time) -> bool {
        each_path!(&mut self.law, law => law.on_idle_ack(ack, srtt, &mut self.windows), else true)
    }

    /// Whether the law keeps its window so small that the measured delivery rate does not reflect the path.
    pub fn limits_itself(&self) -> bool {
        each_path!(&self.law, law => law.limits_itself(), else false)
    }

    /// Tells the law that sending resumes with nothing in the network, after the application had no data to send.
    pub fn on_app_restart(&mut self, now: Time, mss: u32) {
        each_path!(&mut self.law, law => law.on_app_restart(now, mss, &mut self.windows), else ());
    }

    /// Tells the law that a segment is deemed lost. If an ACK revealed the loss, call this before
    /// [`Controller::on_measured_ack`]. `delivered` is the number of segments known to have arrived.
    pub(crate) fn on_lost(&mut self, segment: &LostSegment, delivered: u64, now: Time) {
        each_path!(&mut self.law, law => law.on_lost(segment, delivered, now, self.windows), else ());
    }

    /// When an external law's timer expires; [`Time::MAX`] if none is running.
    pub(crate) fn timer(&self) -> Time {
        match &self.law {
            AnyLaw::External(external) => external.timer(),
            _ => Time::MAX,
        }
    }

    /// Calls an external law whose timer has expired.
    pub(crate) fn on_timer(&mut self, now: Time, mss: u32) {
        if let AnyLaw::External(external) = &mut self.law {
            external.on_timer(now, mss, &mut self.windows);
        }
    }

    /// What the law needs from its connection.
    pub(crate) fn needs(&self) -> Needs {
        self.law.needs()
    }

    /// Calls an external law, which may set the window.
    pub(super) fn ask(
        &mut self,
        now: Time,
        mss: u32,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Window) -> Result<(), LawError>,
    ) {
        if let AnyLaw::External(external) = &mut self.law {
            external.call(now, mss, &mut self.windows, call);
        }
    }

    /// Passes any ACK to a law that measures the path, before loss detection.
    #[inline(never)]
    pub fn on_feedback(&mut self, ack: &AckReport) {
        each_loss!(&mut self.law, law => law.on_feedback(&Acked::of(ack), &mut self.windows), else ());
    }

    /// Passes a plain ACK to a law that measures the path.
    #[inline(never)]
    pub(crate) fn on_plain_feedback(&mut self, ack: &PlainAck) {
        let ack = Acked { plain: *ack, report: None };
        each_loss!(&mut self.law, law => law.on_feedback(&ack, &mut self.windows), else ());
    }

    /// Tells the law that sending resumes after an idle time with nothing in flight.
    pub fn on_resume(&mut self, now: Time, idle: Time) {
        each_loss!(&mut self.law, law => law.on_pause(Pause::Resume { now, idle }), else ());
    }
}

/// Initial window in bytes for segments of `mss` payload bytes.
fn initial_window_bytes(rule: InitialWindow, mss: u32) -> u32 {
    match rule {
        InitialWindow::Segments(k) => k.saturating_mul(mss).min(MAX_WINDOW_BYTES),
        // RFC 3390, equation 1, in bytes. 4380 bytes hold three segments of 1460 bytes but only two of 1500 bytes,
        // although RFC 5681, section 3.1, allows three segments of 1500 bytes.
        InitialWindow::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
        // RFC 6928, section 2
        InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
    }
}

mod growth;
mod reduction;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
