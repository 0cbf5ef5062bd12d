//! The window of one connection: the law chosen by the config, the phase of slow start, and what is needed to undo a reduction.

use super::bbr::Bbr;
use super::bbr3::Bbr3;
use super::cubic::Cubic;
use super::cubic_linux::CubicLinux;
use super::dctcp::Dctcp;
use super::external::{CongestionControl, External, LawError, LawFailures, Window};
use super::hystart::Hystart;
use super::hystart_linux::HystartLinux;
use super::ledbat::Ledbat;
use super::ledbat_plus_plus::LedbatPlusPlus;
use super::prague::{Prague, Windows};
use super::reno::{Reno, RenoLinux2, RenoPackets};
use super::search::Search;
use super::{AckKind, AckReport, AfterAck, Episode, Grant, PlainAck, Quantum, Start};
use crate::config::{InitialWindow, SlowStartKind, TcpConfig, WindowLawKind};
use crate::flight::LostSegment;
use crate::Rng;
use cwndlab_units::Time;

/// The largest window of all: RFC 7323, section 2.3.
pub(super) const MAX_WINDOW_BYTES: u32 = 1 << 30;
/// No threshold yet (RFC 5681, section 3.1: "arbitrarily high").
pub(super) const NO_THRESHOLD: u32 = u32::MAX;

/// One law. What needs more than 8 bytes is boxed: every end has a law, and most ends only receive.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) enum Law {
    Reno(Reno),
    RenoPackets(RenoPackets),
    RenoLinux2(RenoLinux2),
    Cubic(Box<Cubic>),
    CubicLinux(Box<CubicLinux>),
    Dctcp(Box<Dctcp>),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Prague(Box<Prague>),
    Background(Box<Background>),
    External(Box<External>),
}

/// Laws for background traffic.
#[derive(Clone, Debug)]
pub(super) enum Background {
    Ledbat(Ledbat),
    LedbatPlusPlus(LedbatPlusPlus),
}

impl From<Background> for Law {
    fn from(law: Background) -> Law {
        Law::Background(Box::new(law))
    }
}

/// What serves until the first reduction (HyStart, SEARCH), and after one (what an undo goes back to): never both.
#[derive(Clone, Debug)]
enum Phase {
    Plain,
    Hystart(Box<Hystart>),
    HystartLinux(Box<HystartLinux>),
    Search(Box<Search>),
    Reduced { cwnd: u32, ssthresh: u32 },
    ReducedCubic(Box<Undo>),
}

/// RFC 9438, section 4.9's variables.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u32,
    ssthresh: u32,
    w_max: f32,
    k_s: f32,
    cwnd_prior: f32,
    w_est: f32,
    epoch_start: Time,
}

/// The congestion window and its law.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Controller {
    /// Usable window, bytes.
    cwnd: u32,
    ssthresh: u32,
    law: Law,
    phase: Phase,
}

impl Controller {
    /// At connection start, once the effective `mss` (payload bytes) is known.
    pub fn new(cfg: &TcpConfig, mss: u32) -> Self {
        let cwnd = initial_window_bytes(cfg.initial_window, mss);
        Controller {
            cwnd,
            ssthresh: match cfg.initial_ssthresh_segments {
                0 => NO_THRESHOLD,
                k => k.saturating_mul(mss).min(MAX_WINDOW_BYTES),
            },
            law: match cfg.window_law {
                WindowLawKind::Reno => Law::Reno(Reno::default()),
                WindowLawKind::RenoPackets => Law::RenoPackets(RenoPackets::from_bytes(cwnd, mss)),
                WindowLawKind::RenoLinux2 => Law::RenoLinux2(RenoLinux2::default()),
                WindowLawKind::Cubic(_) => Law::Cubic(Box::new(Cubic::new())),
                WindowLawKind::CubicLinux(_) => Law::CubicLinux(Box::new(CubicLinux::new(cfg))),
                WindowLawKind::Dctcp => Law::Dctcp(Box::new(Dctcp::new())),
                WindowLawKind::Bbr1 => Law::Bbr(Box::new(Bbr::new(cfg))),
                WindowLawKind::Bbr3(bbr) => Law::Bbr3(Box::new(Bbr3::new(cfg, bbr))),
                WindowLawKind::Prague => Law::Prague(Box::new(Prague::new(u64::from(cwnd / mss)))),
                WindowLawKind::Ledbat(knobs) => Background::Ledbat(Ledbat::new(knobs)).into(),
                WindowLawKind::LedbatPlusPlus(knobs) => Background::LedbatPlusPlus(LedbatPlusPlus::new(knobs)).into(),
                WindowLawKind::External { .. } => Law::External(Box::default()),
            },
            phase: match cfg.slow_start {
                SlowStartKind::Standard => Phase::Plain,
                _ if cfg.window_law.models_path() => Phase::Plain, // it has its own
                SlowStartKind::Hystart if matches!(cfg.window_law, WindowLawKind::CubicLinux(_)) => Phase::Plain, // it has its own
                SlowStartKind::Hystart => Phase::HystartLinux(Box::new(HystartLinux::new(cfg.pacing))),
                SlowStartKind::HystartPlusPlus => Phase::Hystart(Box::new(Hystart::new())),
                SlowStartKind::Search => Phase::Search(Box::new(Search::new())),
            },
        }
    }

    /// Gives a sender whose configuration says [`WindowLawKind::External`] its law; before anything is sent.
    pub fn attach(&mut self, law: Box<dyn CongestionControl>, flow: String, failures: LawFailures) {
        if let Law::External(external) = &mut self.law {
            external.attach(law, flow, failures);
        }
    }

    /// Restarts with another `mss`, before anything but a SYN was sent.
    pub fn restart(&mut self, cfg: &TcpConfig, mss: u32) {
        let made = Controller::new(cfg, mss);
        let before = std::mem::replace(self, made);
        if matches!(before.law, Law::External(_)) {
            self.law = before.law;
        }
    }

    /// A timer has expired: the time of what may follow.
    pub fn on_timer(&mut self, now: Time) {
        if let Law::External(external) = &mut self.law {
            external.now = now;
        }
    }

    /// The random numbers of this end of its connection, before anything else happens.
    pub fn set_random(&mut self, random: Rng) {
        match &mut self.law {
            Law::Bbr(bbr) => bbr.set_random(random),
            Law::Bbr3(bbr) => bbr.set_random(random),
            _ => {}
        }
    }

    /// AccECN is not agreed on: a law that needs it becomes Reno (Linux: `prague_reno`). Before [`Controller::on_start`].
    pub fn do_without_accecn(&mut self) {
        if matches!(self.law, Law::Prague(_)) {
            self.law = Law::Reno(Reno::default());
        }
    }

    /// The connection is established.
    pub fn on_start(&mut self, start: Start) {
        match &mut self.law {
            Law::Bbr(bbr) => bbr.on_start(start, u64::from(self.cwnd / start.mss)),
            Law::Bbr3(bbr) => bbr.on_start(start, u64::from(self.cwnd)),
            Law::Prague(prague) => prague.on_start(start, u64::from(self.cwnd / start.mss)),
            _ => {}
        }
        if let Phase::Search(search) = &mut self.phase {
            search.start(start.now, start.srtt);
        }
        if let Law::External(external) = &mut self.law {
            (self.cwnd, self.ssthresh) = external.start(&start, (self.cwnd, self.ssthresh));
        }
    }

    /// What the sender may do now.
    pub fn grant(&self) -> Grant {
        match &self.law {
            Law::Bbr(bbr) => return bbr.grant(self.cwnd()),
            Law::Bbr3(bbr) => return bbr.grant(self.cwnd()),
            Law::Prague(prague) => return prague.grant(self.cwnd()),
            _ => {}
        }
        let pacing_rate = if let Law::External(external) = &self.law { external.pacing_rate() } else { None };
        let owns_recovery = self.owns_recovery();
        Grant { cwnd_bytes: self.cwnd(), pacing_rate, quantum: Quantum::DEFAULT, owns_recovery }
    }

    /// Whether the law's window counts in recovery, too ([`Grant::owns_recovery`]).
    #[inline]
    pub(crate) fn owns_recovery(&self) -> bool {
        match &self.law {
            Law::Bbr(_) | Law::Bbr3(_) | Law::Prague(_) => true,
            Law::External(external) => external.owns_recovery,
            _ => false,
        }
    }

    /// The law's own state, for tests of it.
    #[cfg(test)]
    pub(super) fn law(&self) -> &Law {
        &self.law
    }

    /// Congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        u64::from(self.cwnd)
    }

    /// Slow-start threshold in bytes; `u64::MAX` while there is none.
    #[inline]
    pub fn ssthresh(&self) -> u64 {
        if self.ssthresh == NO_THRESHOLD {
            u64::MAX
        } else {
            u64::from(self.ssthresh)
        }
    }

    /// Whether the next ACK grows the window as in slow start (RFC 5681, section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether HyStart++ is in Conservative Slow Start (RFC 9406).
    pub fn in_conservative_slow_start(&self) -> bool {
        self.in_slow_start() && matches!(&self.phase, Phase::Hystart(h) if h.in_css())
    }

    /// A step of an episode; `mss` as in force. A law that controls its own recovery handles only those that restart it.
    pub fn on_episode(&mut self, episode: Episode, mss: u32) {
        if self.owns_recovery() && !matches!(episode, Episode::Restarted | Episode::StillInNetwork { .. }) {
            return;
        }
        let one = u64::from(mss);
        match episode {
            Episode::Restarted => self.set_cwnd(one, mss),
            Episode::Proportional { pipe, allowance } => self.set_cwnd((pipe + allowance).max(one), mss),
            Episode::Deflated { bytes } => self.set_cwnd(self.cwnd().saturating_sub(u64::from(bytes)).max(one), mss),
            Episode::DeflatedBySegments { segments } => self.adjust_cwnd(-(segments as i32), mss),
            Episode::Inflated { bytes } => self.set_cwnd(self.cwnd() + u64::from(bytes), mss),
            Episode::StillInNetwork { pipe } => self.set_cwnd(pipe + one, mss),
            Episode::Ended => self.set_cwnd(self.ssthresh().max(one), mss),
        }
    }

    /// The window with which the sender starts over after a loss.
    pub fn to_loss_window(&mut self, cfg: &TcpConfig, mss: u32) {
        self.set_cwnd(u64::from(mss) * u64::from(cfg.loss_window_segments), mss);
    }

    #[inline]
    pub(super) fn set_cwnd(&mut self, bytes: u64, mss: u32) {
        self.cwnd = bytes.min(u64::from(MAX_WINDOW_BYTES)) as u32;
        if let Law::RenoPackets(p) = &mut self.law {
            *p = RenoPackets::from_bytes(self.cwnd, mss);
            self.cwnd = p.cwnd_bytes(mss).min(MAX_WINDOW_BYTES);
        }
    }

    /// By whole segments, which keeps a packet-counted law's fraction.
    fn adjust_cwnd(&mut self, segments: i32, mss: u32) {
        if let Law::RenoPackets(p) = &mut self.law {
            p.cwnd_packets = (p.cwnd_packets + f64::from(segments)).max(1.0);
            self.cwnd = p.cwnd_bytes(mss).min(MAX_WINDOW_BYTES);
        } else {
            let delta = i64::from(segments) * i64::from(mss);
            self.cwnd = (i64::from(self.cwnd) + delta).clamp(i64::from(mss), i64::from(MAX_WINDOW_BYTES)) as u32;
        }
    }

    /// An ACK, in recovery too, for a law that models the path and grows by no rule of slow start; false if the law is another,
    /// to which [`Controller::on_ack`] reports it.
    pub fn on_measured_ack(&mut self, ack: &AckReport, after: &AfterAck) -> bool {
        if matches!(self.law, Law::Prague(_)) {
            self.prague_ack(ack, after);
            return true;
        }
        if let Law::Bbr3(bbr) = &mut self.law {
            self.cwnd = bbr.on_ack(ack, after, u64::from(self.cwnd)).min(u64::from(MAX_WINDOW_BYTES)) as u32;
            if let Some(bytes) = bbr.ssthresh() {
                self.ssthresh = bytes.min(u64::from(MAX_WINDOW_BYTES)) as u32;
            }
            return true;
        }
        let Law::Bbr(bbr) = &mut self.law else { return false };
        let cwnd = bbr.on_ack(ack, after, u64::from(self.cwnd / ack.mss));
        if let Some(packets) = bbr.ssthresh() {
            self.ssthresh = (packets * u64::from(ack.mss)).min(u64::from(MAX_WINDOW_BYTES)) as u32;
        }
        self.set_cwnd(cwnd * u64::from(ack.mss), ack.mss);
        true
    }

    fn prague_ack(&mut self, ack: &AckReport, after: &AfterAck) {
        let windows = self.windows(ack.mss);
        let Law::Prague(prague) = &mut self.law else { return };
        let Windows { cwnd, ssthresh } = prague.on_ack(ack, after, windows);
        let mss = u64::from(ack.mss);
        if ssthresh != u64::MAX {
            self.ssthresh = (ssthresh * mss).min(u64::from(MAX_WINDOW_BYTES)) as u32;
        }
        self.set_cwnd(cwnd * mss, ack.mss);
    }

    /// The windows in segments.
    fn windows(&self, mss: u32) -> Windows {
        let ssthresh = if self.ssthresh == NO_THRESHOLD { u64::MAX } else { u64::from(self.ssthresh / mss) };
        Windows { cwnd: u64::from(self.cwnd / mss), ssthresh }
    }

    /// Whether the law sends so little that the delivery rate measured now says nothing of the path.
    pub fn limits_itself(&self) -> bool {
        match &self.law {
            Law::Bbr(bbr) => bbr.limits_itself(),
            Law::Bbr3(bbr) => bbr.limits_itself(),
            _ => false,
        }
    }

    /// Data is about to go with nothing in the network, after the application had left the sender without any.
    pub fn on_app_restart(&mut self, now: Time, mss: u32) {
        if let Law::Bbr(bbr) = &mut self.law {
            let cwnd = bbr.on_restart(now, u64::from(self.cwnd / mss));
            self.set_cwnd(cwnd * u64::from(mss), mss);
        }
        if let Law::Bbr3(bbr) = &mut self.law {
            let cwnd = bbr.on_restart(now, u64::from(self.cwnd));
            self.set_cwnd(cwnd, mss);
        }
    }

    /// A segment is deemed lost, before [`Controller::on_measured_ack`] if an ACK has shown it; `delivered` segments have
    /// arrived.
    pub(crate) fn on_lost(&mut self, segment: &LostSegment, delivered: u64, now: Time) {
        if let Law::Bbr3(bbr) = &mut self.law {
            bbr.on_lost(segment, delivered, now, u64::from(self.cwnd));
        }
    }

    /// An ACK shows how long data took to the peer, with an unknown difference of the clocks; for laws that need it
    /// ([`super::Needs::delays`]), before [`Controller::on_feedback`].
    pub fn on_one_way_delay(&mut self, now: Time, delay: Time) {
        if let Law::Background(law) = &mut self.law {
            if let Background::Ledbat(law) = &mut **law {
                law.on_delay(now, delay);
            }
        }
    }

    /// Whether the law takes every ACK, also one that acknowledges and reports nothing.
    #[inline]
    pub fn takes_every_ack(&self) -> bool {
        matches!(self.law, Law::External(_))
    }

    /// Has a law from outside set the window.
    fn ask(&mut self, mss: u32, call: impl FnOnce(&mut dyn CongestionControl, &mut Window) -> Result<(), LawError>) {
        if let Law::External(external) = &mut self.law {
            (self.cwnd, self.ssthresh) = external.call(mss, (self.cwnd, self.ssthresh), call);
        }
    }

    /// What the path reports, by any ACK, before losses are looked for.
    #[inline(never)]
    pub fn on_feedback(&mut self, ack: &AckReport) {
        match &mut self.law {
            Law::Reno(_) | Law::RenoPackets(_) | Law::RenoLinux2(_) | Law::Cubic(_) | Law::Bbr(_) | Law::Bbr3(_) => {}
            Law::Prague(prague) => prague.note(ack.now),
            Law::Background(law) => {
                if let (Background::LedbatPlusPlus(law), Some(rtt)) = (&mut **law, ack.rtt) {
                    law.on_rtt(ack.now, rtt);
                }
            }
            Law::External(external) => external.now = ack.now,
            Law::CubicLinux(_) => self.on_plain_feedback(&PlainAck::of(ack)),
            Law::Dctcp(dctcp) => {
                if matches!(ack.kind, AckKind::New | AckKind::Duplicate) {
                    dctcp.on_delivered(ack.delivered_bytes, ack.ce_bytes, ack.snd_una, ack.snd_nxt);
                }
            }
        }
    }

    /// Something is to be sent after an idle time with nothing under way.
    pub fn on_resume(&mut self, now: Time, idle: Time) {
        if let Law::CubicLinux(cubic) = &mut self.law {
            cubic.on_resume(now, idle);
        }
    }
}

/// Initial window in bytes for segments of `mss` payload bytes.
fn initial_window_bytes(rule: InitialWindow, mss: u32) -> u32 {
    match rule {
        InitialWindow::Segments(k) => k.saturating_mul(mss).min(MAX_WINDOW_BYTES),
        // RFC 3390, equation 1, in bytes: 4380 are three segments of 1460 bytes, but only two whole ones of 1500 (by RFC 5681,
        // section 3.1 three of those may go)
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
