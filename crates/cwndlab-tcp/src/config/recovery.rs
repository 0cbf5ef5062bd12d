//! Loss recovery: each kind with the knobs that only it has.

use super::Profile;
use serde::{Deserialize, Serialize};

/// What keeps a fast retransmit from answering the losses of an earlier episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetransmitGuard {
    /// Data sent before the last fast retransmit or timeout (RFC 6582, section 3.2, steps 2 and 4).
    Recovery,
    /// Data sent before the last timeout only (Linux 2.0).
    Timeout,
}

/// Whose rules a recovery follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryRules {
    /// Those of the standard, or of the paper.
    Standard,
    /// Those of ns-2's one-way agents in 1998.
    #[serde(rename = "ns2-1998")]
    Ns2_1998,
}

/// The kinds of loss recovery, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681, section 3.2.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
    /// Forward acknowledgment (Mathis & Mahdavi 1996).
    Fack,
    /// RFC 6675's loss detection with RFC 6937/9937's proportional rate reduction.
    Prr,
    /// RACK-TLP (RFC 8985) with RFC 9937's proportional rate reduction.
    Rack,
}

/// Loss recovery with its knobs. Where a connection has no SACK the selective kinds are NewReno, with `without_sack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryConfig {
    /// Fast retransmit, then slow start.
    Tahoe,
    /// RFC 5681, section 3.2.
    Reno(RenoConfig),
    /// RFC 6582.
    NewReno(NewRenoConfig),
    /// RFC 6675.
    Sack(SelectiveConfig),
    /// Forward acknowledgment (Mathis & Mahdavi 1996).
    Fack(SelectiveConfig),
    /// RFC 6675's loss detection with RFC 6937/9937's proportional rate reduction.
    Prr(PrrConfig),
    /// RACK-TLP (RFC 8985) with RFC 9937's proportional rate reduction.
    Rack(RackConfig),
}

/// Knobs of `reno`. The default is RFC 5681's, with the guard of RFC 6582.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenoConfig {
    /// Whose rules it follows; with those of ns-2 all other knobs are the standard's.
    pub rules: RecoveryRules,
    /// Duplicate ACKs count only while cwnd is at least this many segments (0 = always).
    pub dup_ack_window_segments: u16,
    /// What keeps a fast retransmit from answering old losses.
    pub retransmit_guard: RetransmitGuard,
    /// Segments by which fast recovery inflates the window beyond the duplicate ACKs seen.
    pub extra_segments: u16,
    /// Whether a timeout in fast recovery reduces from the inflated window, and the next ACK of new data opens cwnd to
    /// ssthresh at once.
    pub outlives_timeout: bool,
}

impl RenoConfig {
    /// The standard's values.
    pub const STANDARD: RenoConfig = RenoConfig {
        rules: RecoveryRules::Standard,
        dup_ack_window_segments: 0,
        retransmit_guard: RetransmitGuard::Recovery,
        extra_segments: 0,
        outlives_timeout: false,
    };
}

/// Knobs of `new-reno`, and of the selective kinds without SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRenoConfig {
    /// Whose rules it follows; those of ns-2 have no `extra_segments`.
    pub rules: RecoveryRules,
    /// Whether only the first partial ACK restarts the timer (RFC 6582, section 4: "Impatient"), or each one does
    /// ("Slow-but-Steady").
    pub impatient: bool,
    /// Whether a partial ACK deflates the window (RFC 6582, section 3.2, step 3).
    pub partial_window_deflation: bool,
    /// Segments by which fast recovery inflates the window beyond the duplicate ACKs seen.
    pub extra_segments: u16,
}

impl NewRenoConfig {
    /// The standard's values.
    pub const STANDARD: NewRenoConfig = NewRenoConfig {
        rules: RecoveryRules::Standard,
        impatient: true,
        partial_window_deflation: true,
        extra_segments: 0,
    };
}

/// Knobs of `sack` and `fack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectiveConfig {
    /// Whose rules it follows.
    pub rules: RecoveryRules,
    /// What recovers on a connection without SACK (RFC 6675, section 1).
    pub without_sack: NewRenoConfig,
}

/// Knobs of `prr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrrConfig {
    /// What recovers on a connection without SACK.
    pub without_sack: NewRenoConfig,
}

/// Which of RACK's timers run at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RackTimers {
    /// The earliest of timeout, probe and reordering timer fires; the timeout counts from the last ACK of new data (RFC
    /// 8985; RFC 6298, 5.3).
    #[serde(rename = "rfc8985")]
    Rfc8985,
    /// Only the one set last runs, as in Linux. In place of a probe or of the reordering timer, the timeout counts from when the
    /// first unacknowledged segment was sent (RFC 7765 has a similar rule); retransmitting that segment restarts it.
    Linux,
}

/// Knobs of `rack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RackConfig {
    /// Which timers run at the same time.
    pub timers: RackTimers,
    /// F-RTO (RFC 5682) after a timeout.
    pub f_rto: bool,
    /// Whether the window falls half the way to what was used of it after a timeout in which it was never full (RFC 2861,
    /// 3.2); with `grow_only_if_cwnd_limited`.
    pub window_validation: bool,
    /// What recovers on a connection without SACK.
    pub without_sack: NewRenoConfig,
}

impl RackConfig {
    /// The standard's values.
    pub const STANDARD: RackConfig = RackConfig {
        timers: RackTimers::Rfc8985,
        f_rto: false,
        window_validation: false,
        without_sack: NewRenoConfig::STANDARD,
    };
}

impl RecoveryKind {
    /// Every kind, from the simplest.
    pub const ALL: [RecoveryKind; 7] = [
        RecoveryKind::Tahoe,
        RecoveryKind::Reno,
        RecoveryKind::NewReno,
        RecoveryKind::Sack,
        RecoveryKind::Fack,
        RecoveryKind::Prr,
        RecoveryKind::Rack,
    ];

    /// This kind with its standard's knobs.
    pub const fn standard(self) -> RecoveryConfig {
        Profile::Rfc5681.recovery(self)
    }

    /// Whether it needs SACK.
    pub const fn is_selective(self) -> bool {
        matches!(self, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Prr | RecoveryKind::Rack)
    }
}

impl RecoveryConfig {
    /// Its kind.
    #[inline]
    pub const fn kind(&self) -> RecoveryKind {
        match self {
            RecoveryConfig::Tahoe => RecoveryKind::Tahoe,
            RecoveryConfig::Reno(_) => RecoveryKind::Reno,
            RecoveryConfig::NewReno(_) => RecoveryKind::NewReno,
            RecoveryConfig::Sack(_) => RecoveryKind::Sack,
            RecoveryConfig::Fack(_) => RecoveryKind::Fack,
            RecoveryConfig::Prr(_) => RecoveryKind::Prr,
            RecoveryConfig::Rack(_) => RecoveryKind::Rack,
        }
    }

    /// Knobs of Reno; the standard's where something else recovers.
    pub(crate) fn reno(&self) -> RenoConfig {
        match self {
            RecoveryConfig::Reno(reno) => *reno,
            _ => RenoConfig::STANDARD,
        }
    }

    /// Knobs of NewReno, also where it replaces a SACK-based kind; the standard's values for other recoveries.
    pub(crate) fn new_reno(&self) -> NewRenoConfig {
        match self {
            RecoveryConfig::NewReno(new_reno)
            | RecoveryConfig::Sack(SelectiveConfig { without_sack: new_reno, .. })
            | RecoveryConfig::Fack(SelectiveConfig { without_sack: new_reno, .. })
            | RecoveryConfig::Prr(PrrConfig { without_sack: new_reno })
            | RecoveryConfig::Rack(RackConfig { without_sack: new_reno, .. }) => *new_reno,
            RecoveryConfig::Tahoe | RecoveryConfig::Reno(_) => NewRenoConfig::STANDARD,
        }
    }

    /// Whether RACK sets its timers as Linux does.
    #[inline]
    pub(crate) fn has_linux_timers(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, .. }))
    }

    /// Whether F-RTO tests timeouts.
    #[inline]
    pub(crate) fn has_f_rto(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { f_rto: true, .. }))
    }

    /// Whether a window that is not used falls.
    #[inline]
    pub(crate) fn validates_window(&self) -> bool {
        matches!(self, RecoveryConfig::Rack(RackConfig { window_validation: true, .. }))
    }
}
