//! The kinds of loss recovery, each with its own knobs.

use serde::{Deserialize, Serialize};

use super::check::Errors;
use super::knobs::{knobs, NS2, NS2_NONE};
use super::Profile;

const UNUSED: &str = "the standard's; unused by its recovery";

/// Data that must be acknowledged before another fast retransmit. Without this condition, duplicate ACKs that an
/// earlier episode caused could start a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetransmitGuard {
    /// Data sent before the last fast retransmit or timeout (RFC 6582, section 3.2, steps 2 and 4).
    Recovery,
    /// Data sent before the last timeout only (Linux 2.0).
    Timeout,
}

/// The window with which a fast recovery of Reno ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryEnd {
    /// ssthresh (RFC 5681, section 3.2, step 6).
    Ssthresh,
    /// What is outstanding and two segments, so that the ACK releases at most two (ns-2's `tcp-full-bay.cc`, `recv`). The
    /// ACK then opens the window like any other.
    OutstandingPlusTwo,
}

/// Whose rules a recovery follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryRules {
    /// Those of the standard, or for FACK those of the paper of 1996.
    Standard,
    /// Those of ns-2's one-way agents in 1998.
    #[serde(rename = "ns2-1998")]
    Ns2_1998,
}

/// How RACK's timers share the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RackTimers {
    /// Timeout, probe and reordering timer run at the same time, and the earliest fires; the timeout counts from the
    /// last ACK of new data (RFC 8985; RFC 6298, 5.3).
    #[serde(rename = "rfc8985")]
    Rfc8985,
    /// Only the timer set last runs, as in Linux. A timeout that replaces a probe's or the reordering timer counts from
    /// when the first unacknowledged segment was sent (RFC 7765 has a similar rule); retransmitting that segment
    /// restarts the timeout.
    Linux,
}

/// Makes two enums of the kinds of loss recovery, in the given order: `RecoveryKind` without and `RecoveryConfig` with
/// their knobs. Kinds marked `@selective` need SACK.
macro_rules! recoveries {
    ($($(#[$doc:meta])+ $(@$needs:ident)? $name:ident$(($config:ty))? = $word:literal,)*) => {
        /// The kinds of loss recovery, without their knobs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum RecoveryKind {
            $($(#[$doc])+ $name,)*
        }

        /// A kind of loss recovery, with its knobs. On a connection without SACK, NewReno replaces the kinds that need
        /// SACK, and uses the knobs in their `without_sack`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        pub enum RecoveryConfig {
            $($(#[$doc])+ #[serde(rename = $word)] $name$(($config))?,)*
        }

        impl RecoveryKind {
            /// All kinds, from the simplest to the most complex.
            pub const ALL: &'static [RecoveryKind] = &[$(RecoveryKind::$name,)*];

            /// This kind, with the knobs of the profile `rfc5681`.
            pub const fn standard(self) -> RecoveryConfig {
                Profile::Rfc5681.recovery(self)
            }

            /// Whether this kind needs SACK.
            pub const fn is_selective(self) -> bool {
                match self {
                    $($(RecoveryKind::$name => { stringify!($needs); true })?)*
                    _ => false,
                }
            }
        }

        impl RecoveryConfig {
            pub(super) const WORDS: &'static str = recoveries!(@words $($word)*);

            /// The kind, without its knobs.
            pub const fn kind(&self) -> RecoveryKind {
                match self {
                    $(RecoveryConfig::$name { .. } => RecoveryKind::$name,)*
                }
            }

            pub(super) fn check_ranges(&self, errors: &mut Errors) {
                match self {
                    $($(RecoveryConfig::$name(knobs) => <$config>::check_ranges(knobs, errors),)?)*
                    RecoveryConfig::Tahoe => {}
                }
            }
        }

        impl Profile {
            /// The profile's values for the knobs of any kind of recovery, not only of the kind that the profile uses.
            pub const fn recovery(self, kind: RecoveryKind) -> RecoveryConfig {
                match kind {
                    $($(RecoveryKind::$name => RecoveryConfig::$name(<$config>::of(self)),)?)*
                    RecoveryKind::Tahoe => RecoveryConfig::Tahoe,
                }
            }
        }
    };
    (@words $first:literal $($word:literal)*) => { concat!($first, $(" | ", $word),*) };
}

recoveries! {
    /// Fast retransmit, then slow start.
    Tahoe = "tahoe",
    /// RFC 5681, section 3.2.
    Reno(RenoConfig) = "reno",
    /// RFC 6582.
    NewReno(NewRenoConfig) = "new-reno",
    /// RFC 6675.
    @selective Sack(SackConfig) = "sack",
    /// Forward acknowledgment (Mathis & Mahdavi 1996).
    @selective Fack(FackConfig) = "fack",
    /// RFC 6675's loss detection with RFC 6937/9937's proportional rate reduction.
    @selective Prr(PrrConfig) = "prr",
    /// RACK-TLP (RFC 8985) with RFC 9937's proportional rate reduction.
    @selective Rack(RackConfig) = "rack",
}

knobs! {
/// Knobs of `reno`. The standard's are RFC 5681's, with the guard of RFC 6582.
pub struct RenoConfig("recovery.reno.") {
    /// Whose rules Reno follows: RFC 5681's, or those of ns-2's agent. By the latter, the first two duplicate ACKs
    /// release nothing without `limited_transmit`, and the ACK that ends a recovery opens the window; the other knobs
    /// then have the standard's values.
    rules: RecoveryRules ["standard | ns2-1998"; any] {
        ns2_1998: RecoveryRules::Ns2_1998 => NS2,
        rfc5681: RecoveryRules::Standard => "the standard's",
        linux_6: RecoveryRules::Standard => UNUSED,
    }
    /// Duplicate ACKs are counted only while cwnd has at least this many segments (0: always).
    dup_ack_window_segments: u16 ["segments"; any] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 5681 makes no such rule",
        linux_2_0: 3 => "2.0.32: tcp_input.c 1279",
        linux_2_2: 0 => "2.2.5: no such condition, tcp_input.c 497 to 499",
        linux_6: 0 => "kernel: none",
    }
    /// Data that must be acknowledged before another fast retransmit: all data sent before the last fast retransmit or
    /// timeout, or only data sent before the last timeout.
    retransmit_guard: RetransmitGuard ["recovery | timeout"; any] {
        ns2_1998: RetransmitGuard::Recovery => NS2,
        rfc5681: RetransmitGuard::Recovery => "RFC 6582, 3.2, steps 2 and 4",
        linux_2_0: RetransmitGuard::Timeout => "2.0.32: high_seq is set by timeouts alone, tcp_output.c 661; that it begins as 0, so that half of all initial sequence numbers allow no fast retransmit before the first timeout, is not modelled",
        linux_2_2: RetransmitGuard::Recovery => "2.2.5: tcp_input.c 497 and 503, tcp_timer.c 489",
        linux_6: RetransmitGuard::Recovery => "unused by its recovery",
    }
    /// Segments by which fast recovery inflates the window in addition to the duplicate ACKs received.
    extra_segments: u16 ["segments"; 0..=1000, "at most 1000"] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 5681, 3.2, step 3: none",
        linux_2_0: 1 => "2.0.32: ssthresh + MAX_DUP_ACKS + 1, tcp_input.c 1294",
        linux_2_2: 0 => "2.2.5: ssthresh + 3, tcp_input.c 502",
        linux_6: 0 => "unused by its recovery",
    }
    /// Whether a timeout in fast recovery computes its reduction from the inflated window, and the next ACK of new data
    /// opens cwnd to ssthresh.
    outlives_timeout: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681, 3.1: slow start",
        linux_2_0: true => "2.0.32: rcv_ack_cnt outlives the timeout, tcp_input.c 1312 to 1316",
        linux_2_2: false => "2.2.5: dup_acks is cleared, tcp_timer.c 488",
        linux_6: false => "kernel: slow start",
    }
    /// The window with which a fast recovery ends: ssthresh, or what is outstanding and two segments.
    ends_with: RecoveryEnd ["ssthresh | outstanding-plus-two"; any] {
        ns2_1998: RecoveryEnd::Ssthresh => "ns-2: dupwnd_ = 0; the agents of RFC 2415's authors (baytcp) set outstanding + 2",
        rfc5681: RecoveryEnd::Ssthresh => "RFC 5681, 3.2, step 6",
        linux_2_0: RecoveryEnd::Ssthresh => "2.0.32: cwnd = ssthresh, tcp_input.c 1316",
        linux_2_2: RecoveryEnd::Ssthresh => "2.2.5: cwnd = ssthresh, tcp_input.c 536",
        linux_6: RecoveryEnd::Ssthresh => "unused by its recovery",
    }
}
}

knobs! {
/// Knobs of `new-reno`, and of the selective kinds without SACK.
pub struct NewRenoConfig("recovery.new-reno.") {
    /// Whose rules NewReno follows, also as `without_sack` of another recovery: RFC 6582's, or those of ns-2's agent.
    /// The latter are those of its Reno, and each ACK of an episode releases at most two segments.
    rules: RecoveryRules ["standard | ns2-1998"; any] {
        ns2_1998: RecoveryRules::Ns2_1998 => NS2,
        rfc5681: RecoveryRules::Standard => "the standard's",
        linux_6: RecoveryRules::Standard => UNUSED,
    }
    /// Whether only the first partial ACK restarts the timer; otherwise each one does. Also applies as `without_sack`
    /// of another recovery.
    impatient: bool ["bool"; any] {
        ns2_1998: false => "ns-2 (1998): each (newreno_changes1_, default changed on 2004-10-14)",
        rfc5681: true => "RFC 6582, 4: recommended",
        linux_6: true => "unused by its recovery; RFC 6582",
    }
    /// Whether a partial ACK deflates the window. Otherwise the window stays, or with `rules` `ns2-1998` its inflation
    /// ends. Also applies as `without_sack` of another recovery.
    partial_window_deflation: bool ["bool"; any] {
        ns2_1998: false => "ns-2 (1998): partial_window_deflation_ 0 (default changed on 2003-05-05)",
        rfc5681: true => "RFC 6582, 3.2, step 3",
        linux_2_0: true => "2.0.32: no partial ACKs",
        linux_2_2: false => "2.2.5: \"Don't muck with the congestion window here\", tcp_input.c 561",
        linux_6: true => "unused by its recovery",
    }
    /// Segments by which fast recovery inflates the window in addition to the duplicate ACKs received, also as
    /// `without_sack` of another recovery.
    extra_segments: u16 ["segments"; 0..=1000, "at most 1000"] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 6582, 3.2, step 2: none",
        linux_2_0: 1 => "2.0.32: has no NewReno; as its Reno, tcp_input.c 1294",
        linux_2_2: 0 => "2.2.5: ssthresh + 3, tcp_input.c 502",
        linux_6: 0 => "unused by its recovery",
    }
}
}

knobs! {
/// Knobs of `sack`.
pub struct SackConfig("recovery.sack.") {
    /// Whose rules SACK follows: RFC 6675's, or those of ns-2's Sack1, which counts the segments in the pipe.
    rules: RecoveryRules ["standard | ns2-1998"; any] {
        ns2_1998: RecoveryRules::Ns2_1998 => NS2,
        rfc5681: RecoveryRules::Standard => "the standard's",
        linux_6: RecoveryRules::Standard => UNUSED,
    }
}
inner {
    /// The NewReno knobs of connections on which SACK was not agreed on (RFC 6675, section 1).
    without_sack: NewRenoConfig,
}
}

knobs! {
/// Knobs of `fack`.
pub struct FackConfig("recovery.fack.") {
    /// Whose rules FACK follows: those of the paper of 1996, or those of ns-2's Fack, which restarts from one segment
    /// and takes a round-trip sample from every ACK.
    rules: RecoveryRules ["standard | ns2-1998"; any] {
        ns2_1998: RecoveryRules::Ns2_1998 => NS2,
        rfc5681: RecoveryRules::Standard => "the standard's",
        linux_6: RecoveryRules::Standard => UNUSED,
    }
}
inner {
    /// The NewReno knobs of connections on which SACK was not agreed on.
    without_sack: NewRenoConfig,
}
}

knobs! {
/// Knobs of `prr`.
pub struct PrrConfig("recovery.prr.") {}
inner {
    /// The NewReno knobs of connections on which SACK was not agreed on.
    without_sack: NewRenoConfig,
}
}

knobs! {
/// Knobs of `rack`.
pub struct RackConfig("recovery.rack.") {
    /// Which timers run at the same time. `rfc8985`: the earliest of timeout, probe and reordering timer fires.
    /// `linux`: only the timer set last runs, and a timeout that replaces a probe or the reordering timer counts from
    /// the transmission of the first unacknowledged segment.
    timers: RackTimers ["rfc8985 | linux"; any] {
        ns2_1998: RackTimers::Rfc8985 => NS2_NONE,
        rfc5681: RackTimers::Rfc8985 => "RFC 8985, 8; RFC 6298, 5.3: from the last ACK of new data",
        linux_6: RackTimers::Linux => "kernel: tcp_rto_delta_us",
    }
    /// Whether F-RTO sends new data after a timeout to test whether the timeout was spurious (RFC 5682).
    f_rto: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5682 is an option",
        linux_6: true => "tcp_frto = 2",
    }
    /// Whether a window that was never full for an RTO is reduced halfway to the part that was used (RFC 2861). Has an
    /// effect with `grow_only_if_cwnd_limited`.
    window_validation: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681 makes no such rule",
        linux_6: true => "kernel: tcp_cwnd_application_limited (RFC 2861, 3.2)",
    }
}
inner {
    /// The NewReno knobs of connections on which SACK was not agreed on.
    without_sack: NewRenoConfig,
}
}

impl RecoveryConfig {
    /// Returns the knobs of Reno, or the standard's if another kind of recovery is configured.
    pub(crate) fn reno(&self) -> RenoConfig {
        match self {
            RecoveryConfig::Reno(reno) => *reno,
            _ => RenoConfig::STANDARD,
        }
    }

    /// Returns the knobs with which NewReno runs: its own if NewReno is configured, and those in `without_sack` if the
    /// configured kind needs SACK. For Tahoe and Reno, returns the standard's.
    pub(crate) fn new_reno(&self) -> NewRenoConfig {
        match self {
            RecoveryConfig::NewReno(new_reno)
            | RecoveryConfig::Sack(SackConfig { without_sack: new_reno, .. })
            | RecoveryConfig::Fack(FackConfig { without_sack: new_reno, .. })
            | RecoveryConfig::Prr(PrrConfig { without_sack: new_reno })
            | RecoveryConfig::Rack(RackConfig { without_sack: new_reno, .. }) => *new_reno,
            RecoveryConfig::Tahoe | RecoveryConfig::Reno(_) => NewRenoConfig::STANDARD,
        }
    }

    /// Whether RACK is configured with [`RackTimers::Linux`].
    pub(crate) fn has_linux_timers(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, .. }))
    }

    /// Whether F-RTO is configured, which detects spurious timeouts.
    pub(crate) fn has_f_rto(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { f_rto: true, .. }))
    }

    /// Whether RACK is configured with `window_validation`, which reduces an unused window.
    pub(crate) fn validates_window(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { window_validation: true, .. }))
    }
}
