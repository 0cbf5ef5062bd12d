//! The traits of window laws.

use cwndlab_units::Time;

use super::needs::Needs;
use super::{AckReport, AfterAck, CongestionEvent, Grant, PlainAck, Start};
use crate::config::TcpConfig;
use crate::flight::LostSegment;
use crate::Rng;

/// The largest possible window (RFC 7323, section 2.3).
pub(super) const MAX_WINDOW_BYTES: u32 = 1 << 30;
/// No threshold yet (RFC 5681, section 3.1: "arbitrarily high").
pub(super) const NO_THRESHOLD: u32 = u32::MAX;

/// cwnd and ssthresh, in bytes; ssthresh is [`NO_THRESHOLD`] before the first reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Windows {
    pub cwnd: u32,
    pub ssthresh: u32,
}

impl Windows {
    /// Whether the next ACK grows the window as in slow start (RFC 5681, section 3.1).
    pub fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub fn set_cwnd(&mut self, bytes: u64) {
        self.cwnd = bytes.min(u64::from(MAX_WINDOW_BYTES)) as u32;
    }

    pub fn set_ssthresh(&mut self, bytes: u64) {
        self.ssthresh = bytes.min(u64::from(MAX_WINDOW_BYTES)) as u32;
    }
}

/// A reduction of the window.
pub(crate) struct Cut<'a> {
    pub cfg: &'a TcpConfig,
    pub event: CongestionEvent,
    /// The amount of which ssthresh is a fraction ([`TcpConfig::reduce_from`]), and half of it, in bytes.
    pub base: u64,
    pub half: u32,
    /// Results are rounded down to a multiple of this, in bytes.
    pub unit: u32,
    pub mss: u32,
}

/// An ACK in congestion avoidance.
pub(crate) struct Growth {
    pub now: Time,
    pub mss: u32,
    pub srtt: Time,
    /// Acknowledged bytes that count towards growth.
    pub bytes: u64,
}

/// An ACK as laws get it: the part that most laws need, and the whole report, if one was made. There is none for a
/// [`PlainAck`], which a law gets only if its [`Needs::plain_acks`] is set.
pub(crate) struct Acked<'a> {
    pub plain: PlainAck,
    pub report: Option<&'a AckReport>,
}

impl<'a> Acked<'a> {
    /// With the whole report.
    pub fn of(report: &'a AckReport) -> Self {
        Acked { plain: PlainAck::of(report), report: Some(report) }
    }
}

/// A pause of the sender.
pub(crate) enum Pause {
    /// The window restarts after an idle time (RFC 5681, section 4.1).
    Restart,
    /// Sending resumes at `now`, after `idle` with nothing in flight.
    Resume { now: Time, idle: Time },
}

/// How the controller sets a window that the law represents in its own way.
pub(crate) enum Setting {
    /// To this number of bytes.
    Bytes(u32),
    /// Changed by whole segments.
    Segments(i32),
}

impl Setting {
    /// The new window in bytes.
    pub fn in_bytes(self, cwnd: u32, mss: u32) -> u32 {
        match self {
            Setting::Bytes(bytes) => bytes,
            Setting::Segments(segments) => {
                let changed = i64::from(cwnd) + i64::from(segments) * i64::from(mss);
                changed.clamp(i64::from(mss), i64::from(MAX_WINDOW_BYTES)) as u32
            }
        }
    }
}

/// A window law that opens the window by ACKs and reduces it after losses. Slow start and the rest of a reduction are up
/// to the controller. `avoid` and `reduce` suffice for most laws.
pub(crate) trait LossLaw {
    /// What the law needs from its connection.
    const NEEDS: Needs = Needs::NONE;
    /// Whether windows are real numbers of packets, as in ns-2. Then each timeout reduces ssthresh, even repeated
    /// timeouts of the same segment, and cwnd may fall below the minimum of ssthresh.
    const COUNTS_PACKETS: bool = false;

    /// Takes any ACK, before loss detection. For laws that measure the path. A plain ACK is passed only if
    /// [`Needs::plain_feedback`] is set.
    fn on_feedback(&mut self, _ack: &Acked<'_>, _windows: &mut Windows) {}

    /// Opens the window by the law's own rule, without RFC 5681's slow start. `limited`: the ACK may not open the window,
    /// because cwnd did not limit the sender. Returns false if the law uses RFC 5681's slow start and
    /// [`LossLaw::avoid`].
    fn grow(&mut self, _cfg: &TcpConfig, _ack: &Acked<'_>, _limited: bool, _windows: &mut Windows) -> bool {
        false
    }

    /// Takes an ACK in congestion avoidance. Returns the new cwnd.
    fn avoid(&mut self, _growth: &Growth, cwnd: u32) -> u32 {
        cwnd
    }

    /// Returns the new ssthresh after congestion; the controller applies the minimum. Saves what [`LossLaw::on_undo`]
    /// restores.
    fn reduce(&mut self, cut: &Cut<'_>, _cwnd: u32) -> u32 {
        cut.half
    }

    /// Called when fast recovery begins after an ECN echo has reduced the window.
    fn on_loss_after_echo(&mut self, _windows: &mut Windows, _mss: u32) {}

    /// Called when a timeout has reduced the window.
    fn on_timeout(&mut self, _cfg: &TcpConfig) {}

    /// Called when the last reduction was found spurious and the controller has restored cwnd and ssthresh.
    fn on_undo(&mut self) {}

    /// Called after a pause.
    fn on_pause(&mut self, _pause: Pause) {}

    /// Called when the controller sets the window. Returns the window that the law can represent, such as a whole number
    /// of packets.
    fn set_window(&mut self, to: Setting, cwnd: u32, mss: u32) -> u32 {
        to.in_bytes(cwnd, mss)
    }
}

/// A window law that models the path. It has a slow start of its own, controls its own recovery
/// ([`Grant::owns_recovery`]) and alone decides the window, except for the loss window after a timeout.
pub(crate) trait PathLaw {
    /// What the law needs from its connection.
    const NEEDS: Needs;

    /// Called when the connection is established. `random`: this end's source of random numbers, if [`Needs::draws`] is
    /// set.
    fn on_start(&mut self, start: &Start, random: Option<Rng>, windows: &mut Windows);

    /// Called when a segment is deemed lost. If an ACK revealed the loss, called before [`PathLaw::on_ack`]. `delivered`
    /// is the number of segments known to have arrived.
    fn on_lost(&mut self, _segment: &LostSegment, _delivered: u64, _now: Time, _windows: Windows) {}

    /// Takes any ACK after loss detection, also in recovery, and sets the window.
    fn on_ack(&mut self, ack: &AckReport, after: &AfterAck, windows: &mut Windows);

    /// Takes an ACK that arrives while nothing is outstanding and no loss is being repaired. Returns whether another such
    /// ACK would change nothing.
    fn on_idle_ack(&mut self, _ack: &PlainAck, _srtt: Time, _windows: &mut Windows) -> bool {
        true
    }

    /// Responds to congestion, once per episode.
    fn on_congestion(&mut self, event: CongestionEvent, now: Time, mss: u32, windows: &mut Windows);

    /// Responds to the last reduction having been spurious.
    fn on_undo(&mut self, mss: u32, windows: &mut Windows);

    /// Called when sending resumes with nothing in the network, after the application had no data to send.
    fn on_app_restart(&mut self, _now: Time, _mss: u32, _windows: &mut Windows) {}

    /// Whether the law keeps its window so small that the measured delivery rate does not reflect the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Returns how much the sender may send now, and how fast.
    fn grant(&self, cwnd_bytes: u64) -> Grant;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_set_in_bytes_or_changed_by_segments_to_one_at_least() {
        assert_eq!(Setting::Bytes(7).in_bytes(5000, 1000), 7);
        let changed = [2, 0, -2, -4, -5, i32::MIN].map(|segments| Setting::Segments(segments).in_bytes(5000, 1000));
        assert_eq!(changed, [7000, 5000, 3000, 1000, 1000, 1000]);
        assert_eq!(Setting::Segments(i32::MAX).in_bytes(5000, 1000), MAX_WINDOW_BYTES);
    }
}
