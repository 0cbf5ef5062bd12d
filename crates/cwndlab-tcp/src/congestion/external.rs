//! A window law from outside this crate: a trait object behind one variant of `AnyLaw`.

use std::fmt;
use std::sync::{Arc, OnceLock};

use cwndlab_units::Time;

use super::law::{Windows, MAX_WINDOW_BYTES, NO_THRESHOLD};
use super::needs::Needs;
use super::{AckReport, AfterAck, CongestionEvent, Grant, Quantum, Start};

/// The window that a law sets, in bytes. cwnd may be fractional. The law gets the exact value back at the next call;
/// the engine uses the whole bytes, and at least one segment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    cwnd_bytes: f64,
    ssthresh_bytes: f64,
    ssthresh_chosen: bool,
    /// Pacing rate in bit/s. If `None`, the endpoint paces by its window or not at all.
    pub pacing_rate_bps: Option<f64>,
    /// When [`CongestionControl::on_timer`] is to be called, later than now; [`Time::MAX`] for no call. The timer stops
    /// before that call.
    pub timer: Time,
}

impl Window {
    /// A window and its slow-start threshold, which is infinite if there is none.
    pub fn new(cwnd_bytes: f64, ssthresh_bytes: f64) -> Window {
        Window { cwnd_bytes, ssthresh_bytes, ssthresh_chosen: false, pacing_rate_bps: None, timer: Time::MAX }
    }

    /// Congestion window.
    pub fn cwnd_bytes(&self) -> f64 {
        self.cwnd_bytes
    }

    /// Slow-start threshold; infinite while there is none.
    pub fn ssthresh_bytes(&self) -> f64 {
        self.ssthresh_bytes
    }

    /// Sets the congestion window. After [`CongestionControl::on_loss`], the engine sets the slow-start threshold to
    /// the same value, unless the law has set the threshold in that call.
    pub fn set_cwnd_bytes(&mut self, bytes: f64) {
        self.cwnd_bytes = bytes;
    }

    /// Sets the slow-start threshold.
    pub fn set_ssthresh_bytes(&mut self, bytes: f64) {
        self.ssthresh_bytes = bytes;
        self.ssthresh_chosen = true;
    }

    /// Sets the threshold to cwnd, as after a loss (RFC 5681, section 3.1), unless the law has set the threshold in
    /// this call.
    pub fn follow(&mut self) {
        if !self.ssthresh_chosen {
            self.set_ssthresh_bytes(self.cwnd_bytes);
        }
    }

    fn check(&self) -> Result<(), LawError> {
        let wrong = |name: &str, value: f64| Err(LawError(format!("{name} is {value}; it must be at least 0")));
        if self.cwnd_bytes.is_nan() || self.cwnd_bytes < 0.0 {
            return wrong("cwnd_bytes", self.cwnd_bytes);
        }
        if self.ssthresh_bytes.is_nan() || self.ssthresh_bytes < 0.0 {
            return wrong("ssthresh_bytes", self.ssthresh_bytes);
        }
        match self.pacing_rate_bps {
            Some(rate) if rate.is_nan() || rate <= 0.0 => {
                Err(LawError(format!("pacing_rate_bps is {rate}; it must be above 0")))
            }
            _ => Ok(()),
        }
    }
}

/// Congestion to which a law responds, and the data in flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LossEvent {
    /// When the congestion was detected.
    pub now: Time,
    /// The reason.
    pub event: CongestionEvent,
    /// Bytes sent and not cumulatively acknowledged (RFC 5681, section 2: `FlightSize`). For
    /// [`CongestionEvent::Loss`], at most cwnd, or one segment if cwnd is smaller.
    pub flight_bytes: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// The error of a law, including where in the law's code it occurred.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct LawError(pub String);

/// A window law of one sender, sans-IO. In each call, `window` has the current values, which the engine may have
/// changed since the last call: in recovery, after a timeout or after an idle time. An error in any call ends the run,
/// and no call follows it.
#[expect(clippy::missing_errors_doc, reason = "every call may fail, for reasons of the law's own")]
pub trait CongestionControl: fmt::Debug + Send {
    /// Whether the engine's slow start opens the window below the threshold. If not, only the law opens the window, and
    /// the `growth_bytes` of [`CongestionControl::on_ack`] include all acknowledged bytes. Called once.
    fn uses_slow_start(&self) -> bool {
        true
    }

    /// Whether the law's window also applies in recovery ([`super::Grant::owns_recovery`]). Called once.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Called when the connection is established. `window` is the configured initial window.
    fn on_start(&mut self, start: &Start, window: &mut Window) -> Result<(), LawError> {
        let _ = (start, window);
        Ok(())
    }

    /// Takes an ACK with new information, also in recovery. `growth_bytes` is the number of acknowledged bytes for
    /// which the window may open, without those used by the engine's slow start. The number is 0 in recovery, and if
    /// cwnd did not limit the sender and [`crate::TcpConfig::grow_only_if_cwnd_limited`] is set.
    fn on_ack(
        &mut self,
        ack: &AckReport,
        after: &AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError>;

    /// Responds to losses or an ECN echo; called once per episode.
    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError>;

    /// Responds to an expiry of the retransmission timer. The default follows RFC 5681, section 3.1: the first expiry
    /// for a segment counts as a loss, and each expiry leaves a window of one segment.
    fn on_timeout(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        if event.event != CongestionEvent::RtoRepeat {
            self.on_loss(event, window)?;
            window.follow();
        }
        window.set_cwnd_bytes(f64::from(event.mss));
        Ok(())
    }

    /// Called when the last reduction was found spurious. The engine has already restored `window`, except values that
    /// have grown beyond the former ones.
    fn on_undo(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        let _ = (now, window);
        Ok(())
    }

    /// Called at the time that the law has set in [`Window::timer`], while the connection is open.
    fn on_timer(&mut self, now: Time, window: &mut Window) -> Result<(), LawError> {
        let _ = (now, window);
        Ok(())
    }
}

/// The first failure of a law in a run, shared by the run's connections.
#[derive(Clone, Debug, Default)]
pub struct LawFailures(Arc<OnceLock<LawFailure>>);

/// The failure of a law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawFailure {
    /// The flow whose sender uses the law.
    pub flow: String,
    /// Time of the failure.
    pub at: Time,
    /// The error.
    pub error: LawError,
}

impl LawFailures {
    /// The first failure, if there was one.
    pub fn first(&self) -> Option<&LawFailure> {
        self.0.get()
    }
}

/// How long an RTT sample counts towards the minimum RTT (as BBR's `MinRTTFilterLen`).
const MIN_RTT_WINDOW: Time = Time::from_secs(10);

/// The law of one sender. `law` is `None` before [`External::attach`] and after an error; the window is then constant.
#[derive(Debug, Default)]
pub(super) struct External {
    law: Option<Box<dyn CongestionControl>>,
    flow: String,
    failures: LawFailures,
    started: bool,
    pub uses_slow_start: bool,
    pub owns_recovery: bool,
    window: Option<Window>,
}

/// Clones without the law. Tests clone only connections with built-in laws.
#[cfg(test)]
impl Clone for External {
    fn clone(&self) -> Self {
        External { flow: self.flow.clone(), failures: self.failures.clone(), ..External::default() }
    }
}

impl External {
    pub fn attach(&mut self, law: Box<dyn CongestionControl>, flow: String, failures: LawFailures) {
        let (uses_slow_start, owns_recovery) = (law.uses_slow_start(), law.owns_recovery());
        *self = External { law: Some(law), flow, failures, uses_slow_start, owns_recovery, ..External::default() };
    }

    /// Calls the law with the current windows, and replaces them by those that the law sets. If the call fails, records
    /// the error and removes the law.
    pub fn call(
        &mut self,
        now: Time,
        mss: u32,
        windows: &mut Windows,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Window) -> Result<(), LawError>,
    ) {
        let current = *windows;
        let Some(law) = self.law.as_deref_mut().filter(|_| self.started) else { return };
        // The law gets its fractional values back, unless the engine has changed cwnd or ssthresh since the last call.
        let own = self.window.filter(|own| whole(own, mss) == current);
        let mut window = own.unwrap_or_else(|| {
            let engines = Window::new(f64::from(current.cwnd), threshold(current.ssthresh));
            self.window.map_or(engines, |Window { pacing_rate_bps, timer, .. }| Window {
                pacing_rate_bps,
                timer,
                ..engines
            })
        });
        window.ssthresh_chosen = false;
        let timer = window.timer;
        let done = call(law, &mut window).and_then(|()| window.check()).and_then(|()| {
            let (set, now_s) = (window.timer.as_secs_f64(), now.as_secs_f64());
            if window.timer == timer || window.timer > now {
                Ok(())
            } else {
                Err(LawError(format!("the timer is set to {set} s; it must be later than now, {now_s} s")))
            }
        });
        match done {
            Ok(()) => {
                self.window = Some(window);
                *windows = whole(&window, mss);
            }
            Err(error) => {
                self.law = None;
                let failure = LawFailure { flow: std::mem::take(&mut self.flow), at: now, error };
                let _ = self.failures.0.set(failure); // does nothing if a failure is already recorded
            }
        }
    }
}

fn threshold(ssthresh: u32) -> f64 {
    if ssthresh == NO_THRESHOLD {
        f64::INFINITY
    } else {
        f64::from(ssthresh)
    }
}

/// Converts a law's window to cwnd and ssthresh in whole bytes, as the controller stores them.
fn whole(window: &Window, mss: u32) -> Windows {
    let most = MAX_WINDOW_BYTES;
    let ssthresh = window.ssthresh_bytes;
    let cwnd = (window.cwnd_bytes as u32).clamp(mss.min(most), most);
    Windows { cwnd, ssthresh: if ssthresh.is_infinite() { NO_THRESHOLD } else { (ssthresh as u32).min(most) } }
}

impl External {
    /// What any law from outside may need. Not `draws`: the caller that attaches the law provides its random numbers.
    pub const NEEDS: Needs =
        Needs { min_rtt_window: Some(MIN_RTT_WINDOW), paces: true, every_ack: true, ..Needs::NONE };

    pub fn start(&mut self, start: &Start, windows: &mut Windows) {
        self.started = true;
        self.call(start.now, start.mss, windows, |law, window| law.on_start(start, window));
    }

    /// When [`CongestionControl::on_timer`] is to be called; [`Time::MAX`] if it is not.
    pub fn timer(&self) -> Time {
        self.window.filter(|_| self.law.is_some()).map_or(Time::MAX, |window| window.timer)
    }

    /// Calls [`CongestionControl::on_timer`].
    pub fn on_timer(&mut self, now: Time, mss: u32, windows: &mut Windows) {
        if let Some(window) = &mut self.window {
            window.timer = Time::MAX;
        }
        self.call(now, mss, windows, |law, window| law.on_timer(now, window));
    }

    pub fn grant(&self, cwnd_bytes: u64) -> Grant {
        let bps = self.window.and_then(|window| window.pacing_rate_bps);
        let pacing_rate = bps.map(|bps| (bps / 8.0).max(1.0) as u64);
        Grant { cwnd_bytes, pacing_rate, quantum: Quantum::DEFAULT, owns_recovery: self.owns_recovery }
    }
}

#[cfg(test)]
mod tests;
