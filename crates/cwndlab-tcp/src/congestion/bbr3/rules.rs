//! The differences between draft-ietf-ccwg-bbr-06 and Google's BBR v3 branch (`net/ipv4/tcp_bbr.c`), as data.

use crate::config::Bbr3Rules;

/// Defines the type of a rule set and its two values: the draft's, then that of Google's BBR v3 branch.
macro_rules! rules {
    ($($(#[$doc:meta])+ $field:ident: $type:ty = $draft:expr, $google:expr;)+) => {
        /// One rule set. The gains of Google's BBR v3 branch are multiples of 1/256, rounded down.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub(super) struct Rules {
            $($(#[$doc])+ pub $field: $type,)+
        }
        const DRAFT: Rules = Rules { $($field: $draft,)+ };
        const GOOGLE: Rules = Rules { $($field: $google,)+ };
    };
}

rules! {
    /// `StartupPacingGain`; `bbr_startup_pacing_gain`
    startup_gain: f64 = 2.77, 710.0 / 256.0;
    /// `DrainPacingGain`; `bbr_drain_gain`
    drain_gain: f64 = 0.5, 88.0 / 256.0;
    /// Pacing gain of `ProbeBW_DOWN`; `bbr_pacing_gain[BBR_BW_PROBE_DOWN]`.
    down_gain: f64 = 0.9, 232.0 / 256.0;
    /// `LossThresh`; `bbr_loss_thresh`
    loss_threshold: f64 = 0.02, 5.0 / 256.0;
    /// `Beta`; 1 - `bbr_beta`
    beta: f64 = 0.7, 180.0 / 256.0;
    /// `Headroom`; `bbr_inflight_headroom`
    headroom: f64 = 0.15, 38.0 / 256.0;
    /// Factor applied to the first pacing rate (`InitPacingRate`), from which Google's BBR v3 branch also subtracts its
    /// margin of 1 %.
    first_rate_share: f64 = 1.0, super::control::MARGIN;
    /// Whether trains (segments sent at once) have Linux's sizes, which are larger on short paths
    /// (`bbr_tso_segs_generic`), instead of those of `SetSendQuantum`.
    linux_trains: bool = false, true;
    /// Whether data that will have arrived when the pacer sends next does not count as in flight
    /// (`bbr_packets_in_net_at_edt`).
    excludes_arrivals: bool = false, true;
    /// Whether a timeout restarts the detection of a full pipe and sets `inflight_shortterm` if it has no value
    /// (`bbr_set_state`).
    timeout_resets_model: bool = false, true;
    /// Whether the window is restored after any recovery, not only after a timeout.
    restores_after_fast_recovery: bool = true, false;
    /// Whether the state (Startup or UP) that a recovery ended is restored if the recovery was spurious.
    undo_restores_state: bool = true, false;
    /// Whether Startup ends after a number of lost ranges, instead of a number of ACKs that report losses.
    counts_lost_ranges: bool = true, false;
    /// Whether every ACK, instead of one ACK per round, is checked for growth of the rate.
    growth_with_every_ack: bool = false, true;
    /// Whether Drain resets the congestion signals (`bbr_check_drain`).
    drain_resets_signals: bool = false, true;
    /// Whether Drain's target is computed from `max_bw`, and Drain has no time limit. Otherwise the target is computed
    /// from `bw`, and Drain ends after a few rounds at the latest.
    drain_by_max_bw: bool = false, true;
    /// Whether `inflight_shortterm` is reduced to at most `inflight_longterm` when CRUISE begins.
    cruise_bounds_short_term: bool = false, true;
    /// Whether UP restarts the clock of the cycle (`bbr_start_bw_probe_up` sets `cycle_mstamp`).
    up_restarts_clock: bool = false, true;
    /// Whether the target volume in flight includes room for trains.
    target_includes_trains: bool = false, true;
    /// Whether an ACK that reports too many losses also ends a probe. Otherwise only a segment deemed lost does.
    acks_end_probe: bool = false, true;
    /// Whether Startup's window may exceed its target as long as it is below twice the initial window. Otherwise it may
    /// until an initial window has been delivered.
    grows_to_twice_initial: bool = false, true;
    /// Whether volumes are whole packets, and rates multiples of 2^-24 packets per microsecond. Products and rates are
    /// rounded up, other volumes down.
    counts_packets: bool = false, true;
}

impl Bbr3Rules {
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Bbr3Rules::Draft => &DRAFT,
            Bbr3Rules::GoogleV3 => &GOOGLE,
        }
    }
}
