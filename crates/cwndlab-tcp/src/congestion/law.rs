//! The trait of window laws, and the list of all laws.

use cwndlab_units::Time;

use super::bbr::Bbr;
use super::bbr3::Bbr3;
use super::cubic::Cubic;
use super::cubic_linux::CubicLinux;
use super::dctcp::Dctcp;
use super::external::External;
use super::ledbat::Ledbat;
use super::ledbat_plus_plus::LedbatPlusPlus;
use super::needs::Needs;
use super::prague::Prague;
use super::reno::{Reno, RenoLinux2, RenoPackets};
use super::{AckReport, AfterAck, CongestionEvent, Grant, PlainAck, Quantum, Start};
use crate::config::{TcpConfig, WindowLawKind};
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

/// A window law. A law implements what its rules need, and its connection provides what [`Law::NEEDS`] states.
///
/// A law that controls its own recovery implements `on_measured_ack`, `takes_congestion`, `takes_undo` and `grant`, and
/// alone decides the window. Any other law implements `avoid` and `reduce`; slow start and the rest of a reduction are
/// up to the controller.
pub(crate) trait Law {
    /// What the law needs from its connection.
    const NEEDS: Needs = Needs::NONE;
    /// Whether the law models the path and has a slow start of its own.
    const MODELS_PATH: bool = false;

    /// Sets the source of random numbers for this end of the connection. Called before anything else.
    fn set_random(&mut self, _random: Rng) {}

    /// Called when the connection is established.
    fn on_start(&mut self, _start: &Start, _windows: &mut Windows) {}

    /// Called before the connection handles expired timers. `now` is also the time of the calls without a time that
    /// result, such as [`Law::takes_congestion`].
    fn on_timer(&mut self, _now: Time) {}

    /// Called when an ACK reports a one-way delay, before [`Law::on_feedback`]. The delay includes the unknown offset
    /// between the two clocks.
    fn on_one_way_delay(&mut self, _now: Time, _delay: Time) {}

    /// Takes any ACK, before loss detection. For laws that measure the path.
    fn on_feedback(&mut self, _ack: &AckReport, _windows: &mut Windows) {}

    /// As [`Law::on_feedback`], for a [`PlainAck`] instead of a report. Called only if [`Needs::plain_feedback`] is
    /// set.
    fn on_plain_feedback(&mut self, _ack: &PlainAck, _windows: &mut Windows) {}

    /// Called when a segment is deemed lost, if the law requests the delivery rate ([`Needs::min_rtt_window`]). If an
    /// ACK revealed the loss, called before [`Law::on_measured_ack`]. `delivered` is the number of segments known to
    /// have arrived.
    fn on_lost(&mut self, _segment: &LostSegment, _delivered: u64, _now: Time, _windows: Windows) {}

    /// Takes any ACK after loss detection, also in recovery. Called only if the law requests the delivery rate. Returns
    /// true if the law sets the window itself. Otherwise, if the ACK may open the window, the controller calls
    /// [`Law::count_ack`], [`Law::grow`] and [`Law::avoid`] in this order, until one of them has taken the ACK.
    fn on_measured_ack(&mut self, _ack: &AckReport, _after: &AfterAck, _windows: &mut Windows) -> bool {
        false
    }

    /// As [`Law::on_feedback`] and [`Law::on_measured_ack`], for an ACK that arrives while nothing is outstanding and no
    /// loss is being repaired. Returns whether another such ACK would change nothing.
    fn on_idle_ack(&mut self, _ack: &PlainAck, _srtt: Time, _windows: &mut Windows) -> bool {
        true
    }

    /// Opens the window for one ACK, regardless of how many bytes the ACK acknowledges. Returns false if the law counts
    /// bytes instead.
    fn count_ack(&mut self, _windows: &mut Windows, _mss: u32) -> bool {
        false
    }

    /// Opens the window by the law's own rule, without RFC 5681's slow start. Returns false if the law uses RFC 5681's
    /// slow start and [`Law::avoid`].
    fn grow(&mut self, _cfg: &TcpConfig, _ack: &AckReport, _windows: &mut Windows) -> bool {
        false
    }

    /// Takes an ACK in congestion avoidance. Returns the new cwnd.
    fn avoid(&mut self, _growth: &Growth, cwnd: u32) -> u32 {
        cwnd
    }

    /// Takes an ACK that may not open the window because cwnd did not limit the sender.
    fn on_limited_ack(&mut self, _cfg: &TcpConfig, _ack: &AckReport, _windows: &mut Windows) {}

    /// If the law sets the window itself after congestion, does so and returns true; the controller then sets only the
    /// loss window after a timeout. Otherwise returns false.
    fn takes_congestion(&mut self, _event: CongestionEvent, _mss: u32, _windows: &mut Windows) -> bool {
        false
    }

    /// Returns the new ssthresh after congestion; the controller applies the minimum.
    fn reduce(&mut self, cut: &Cut<'_>, _cwnd: u32) -> u32 {
        cut.half
    }

    /// Called when fast recovery begins after an ECN echo has reduced the window.
    fn on_loss_after_echo(&mut self, _windows: &mut Windows, _mss: u32) {}

    /// Called when a timeout has reduced the window.
    fn on_timeout(&mut self, _cfg: &TcpConfig) {}

    /// Saves what [`Law::on_undo`] restores; called before a reduction.
    fn remember(&mut self) {}

    /// Called when the last reduction was found spurious and the controller has restored cwnd and ssthresh.
    fn on_undo(&mut self) {}

    /// If the law restores the window itself after a spurious reduction, does so and returns true. Otherwise returns
    /// false, and the controller restores the window.
    fn takes_undo(&mut self, _mss: u32, _windows: &mut Windows) -> bool {
        false
    }

    /// Called when the window restarts after an idle time.
    fn on_idle_restart(&mut self) {}

    /// Called when sending resumes after an idle time with nothing in flight.
    fn on_resume(&mut self, _now: Time, _idle: Time) {}

    /// Called when sending resumes with nothing in the network, after the application had no data to send.
    fn on_app_restart(&mut self, _now: Time, _mss: u32, _windows: &mut Windows) {}

    /// Called when the controller sets the window to `bytes`. Returns the window that the law can represent, such as a
    /// whole number of packets.
    fn set_window(&mut self, bytes: u32, _mss: u32) -> u32 {
        bytes
    }

    /// Changes the window by whole segments; returns the new window.
    fn add_segments(&mut self, segments: i32, cwnd: u32, mss: u32) -> u32 {
        let changed = i64::from(cwnd) + i64::from(segments) * i64::from(mss);
        changed.clamp(i64::from(mss), i64::from(MAX_WINDOW_BYTES)) as u32
    }

    /// Whether the law keeps its window so small that the measured delivery rate does not reflect the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Whether windows are real numbers of packets, as in ns-2. Then each timeout reduces ssthresh, even repeated
    /// timeouts of the same segment, and cwnd may fall below the minimum of ssthresh.
    fn counts_packets(&self) -> bool {
        false
    }

    /// Whether the law's window also applies in recovery ([`Grant::owns_recovery`]).
    fn owns_recovery(&self) -> bool {
        Self::MODELS_PATH
    }

    /// Returns how much the sender may send now, and how fast.
    fn grant(&self, cwnd_bytes: u64) -> Grant {
        Grant { cwnd_bytes, pacing_rate: None, quantum: Quantum::DEFAULT, owns_recovery: self.owns_recovery() }
    }
}

/// Defines the enum of all laws, the needs of each law, and `each_law!`, which calls the same method on any law.
macro_rules! laws {
    (
        $dollar:tt ($cfg:ident, $cwnd:ident, $mss:ident)
        inline {$($small:ident: $small_kind:pat => $small_new:expr;)*}
        boxed {$($large:ident: $large_kind:pat => $large_new:expr;)*}
    ) => {
        /// One law. State of more than 8 bytes is boxed to save memory: every end of a connection has a law, but most
        /// ends only receive data.
        #[derive(Debug)]
        #[cfg_attr(test, derive(Clone))]
        pub(super) enum AnyLaw {
            $($small($small),)*
            $($large(Box<$large>),)*
        }

        impl AnyLaw {
            /// The configured law, for a window of `cwnd` bytes.
            pub fn new($cfg: &TcpConfig, $cwnd: u32, $mss: u32) -> Self {
                match $cfg.window_law {
                    $($small_kind => AnyLaw::$small($small_new),)*
                    $($large_kind => AnyLaw::$large(Box::new($large_new)),)*
                }
            }

            /// What the law needs from its connection.
            pub fn needs(&self) -> Needs {
                match self {
                    $(AnyLaw::$small(_) => $small::NEEDS,)*
                    $(AnyLaw::$large(_) => $large::NEEDS,)*
                }
            }
        }

        impl WindowLawKind {
            /// What the law needs from its connection.
            #[allow(unused_variables)] // some patterns bind knobs
            pub const fn needs(&self) -> Needs {
                match *self {
                    $($small_kind => $small::NEEDS,)*
                    $($large_kind => $large::NEEDS,)*
                }
            }

            /// Whether the law models the path and has a slow start of its own.
            #[allow(unused_variables)] // some patterns bind knobs
            pub(crate) const fn models_path(&self) -> bool {
                match *self {
                    $($small_kind => $small::MODELS_PATH,)*
                    $($large_kind => $large::MODELS_PATH,)*
                }
            }
        }

        /// `each_law!(law, l => l.method(…))` calls a method of [`Law`].
        macro_rules! each_law {
            ($dollar this:expr, $dollar law:ident => $dollar call:expr) => {
                match $dollar this {
                    $(AnyLaw::$small($dollar law) => $dollar call,)*
                    $(AnyLaw::$large($dollar law) => $dollar call,)*
                }
            };
        }
    };
}

laws! { $(cfg, cwnd, mss)
    inline {
        Reno: WindowLawKind::Reno => Reno::default();
        RenoPackets: WindowLawKind::RenoPackets => RenoPackets::from_bytes(cwnd, mss);
        RenoLinux2: WindowLawKind::RenoLinux2 => RenoLinux2::default();
    }
    boxed {
        Cubic: WindowLawKind::Cubic(_) => Cubic::new();
        CubicLinux: WindowLawKind::CubicLinux(_) => CubicLinux::new(cfg);
        Dctcp: WindowLawKind::Dctcp => Dctcp::new();
        Bbr: WindowLawKind::Bbr1 => Bbr::new(cfg);
        Bbr3: WindowLawKind::Bbr3(knobs) => Bbr3::new(cfg, knobs);
        Prague: WindowLawKind::Prague(knobs) => Prague::new(u64::from(cwnd / mss), knobs);
        LedbatPlusPlus: WindowLawKind::LedbatPlusPlus(knobs) => LedbatPlusPlus::new(knobs);
        Ledbat: WindowLawKind::Ledbat(knobs) => Ledbat::new(knobs);
        External: WindowLawKind::External { .. } => External::default();
    }
}

#[allow(clippy::single_component_path_imports)] // exports the macro that `laws!` defines
pub(super) use each_law;
