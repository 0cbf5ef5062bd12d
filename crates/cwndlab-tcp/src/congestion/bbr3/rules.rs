//! The differences between draft-ietf-ccwg-bbr-06 and Google's BBR v3 branch (`net/ipv4/tcp_bbr.c`), as data.

use crate::config::Bbr3Rules;

/// Makes the type of a rule set, and its values: first the draft's, then those of Google's BBR v3 branch.
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
    /// Factor of the first pacing rate (`InitPacingRate`): Google's BBR v3 branch subtracts its margin of 1 % from this
    /// rate, too.
    first_rate_share: f64 = 1.0, super::control::MARGIN;
    /// Whether trains (the segments sent at once) have Linux's sizes, which are larger on short paths
    /// (`bbr_tso_segs_generic`); otherwise those of `SetSendQuantum`.
    linux_trains: bool = false, true;
    /// Whether data that will have arrived when the pacer sends next does not count as in flight
    /// (`bbr_packets_in_net_at_edt`).
    excludes_arrivals: bool = false, true;
    /// Whether a timeout restarts the detection of a full pipe and sets `inflight_shortterm` if it has no value
    /// (`bbr_set_state`).
    timeout_resets_model: bool = false, true;
    /// Whether the window is restored after any recovery; otherwise only after a timeout.
    restores_after_fast_recovery: bool = true, false;
    /// Whether the state (Startup or UP) that a recovery ended is restored if the recovery was spurious.
    undo_restores_state: bool = true, false;
    /// Whether Startup ends after a number of lost ranges; otherwise after a number of ACKs that report losses.
    counts_lost_ranges: bool = true, false;
    /// Whether every ACK is checked for growth of the rate; otherwise one ACK per round.
    growth_with_every_ack: bool = false, true;
    /// Whether Drain resets the congestion signals (`bbr_check_drain`).
    drain_resets_signals: bool = false, true;
    /// Whether Drain's target is computed with `max_bw`, and Drain has no time limit; otherwise the target is computed
    /// with `bw`, and Drain ends after a few rounds at the latest.
    drain_by_max_bw: bool = false, true;
    /// Whether `inflight_shortterm` is reduced to at most `inflight_longterm` when CRUISE begins.
    cruise_bounds_short_term: bool = false, true;
    /// Whether UP restarts the clock of the cycle (`bbr_start_bw_probe_up` sets `cycle_mstamp`).
    up_restarts_clock: bool = false, true;
    /// Whether the target volume in flight includes room for trains.
    target_includes_trains: bool = false, true;
    /// Whether a probe also ends with an ACK that reports too many losses; otherwise only when a segment is deemed
    /// lost.
    acks_end_probe: bool = false, true;
    /// Whether Startup's window may exceed its target while the window is below twice the initial window; otherwise it
    /// may until an initial window has been delivered.
    grows_to_twice_initial: bool = false, true;
}

impl Bbr3Rules {
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Bbr3Rules::Draft => &DRAFT,
            Bbr3Rules::GoogleV3 => &GOOGLE,
        }
    }
}
