//! Where draft-ietf-ccwg-bbr-06 and Google's branch v3 (`net/ipv4/tcp_bbr.c`) differ: numbers and rules, as data.

use crate::config::Bbr3Rules;

/// One rule set. The branch's gains are multiples of 1/256, rounded down.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rules {
    /// `StartupPacingGain`; `bbr_startup_pacing_gain`
    pub startup_gain: f64,
    /// `DrainPacingGain`; `bbr_drain_gain`
    pub drain_gain: f64,
    /// pacing gain of `ProbeBW_DOWN`; `bbr_pacing_gain[BBR_BW_PROBE_DOWN]`
    pub down_gain: f64,
    /// `LossThresh`; `bbr_loss_thresh`
    pub loss_threshold: f64,
    /// `Beta`; 1 - `bbr_beta`
    pub beta: f64,
    /// `Headroom`; `bbr_inflight_headroom`
    pub headroom: f64,
    /// Part of the first pacing rate that is used (`InitPacingRate`): the branch takes its margin off there, too.
    pub first_rate_share: f64,
    /// Trains as Linux makes them, which also grow on short paths (`bbr_tso_segs_generic`); otherwise by `SetSendQuantum`.
    pub linux_trains: bool,
    /// Data in flight excludes what will have arrived when the pacer sends next (`bbr_packets_in_net_at_edt`).
    pub excludes_arrivals: bool,
    /// A timeout restarts the search for a full pipe and bounds the short-term model (`bbr_set_state`).
    pub timeout_resets_model: bool,
    /// The window is restored after any recovery, not only after a timeout.
    pub restores_after_fast_recovery: bool,
    /// A spurious recovery returns to the state before it.
    pub undo_restores_state: bool,
    /// Startup ends by so many lost ranges; otherwise by so many ACKs that report losses.
    pub counts_lost_ranges: bool,
    /// Growth of the rate counts with every ACK; otherwise once a round.
    pub growth_with_every_ack: bool,
    /// Drain resets the congestion signals (`bbr_check_drain`).
    pub drain_resets_signals: bool,
    /// Drain compares with `max_bw`, without a time limit; otherwise with `bw`, for a few rounds.
    pub drain_by_max_bw: bool,
    /// CRUISE bounds the short-term model by the long-term one.
    pub cruise_bounds_short_term: bool,
    /// UP restarts the clock of the cycle (`bbr_start_bw_probe_up` sets `cycle_mstamp`).
    pub up_restarts_clock: bool,
    /// The target flight includes trains.
    pub target_includes_trains: bool,
    /// ACKs that report too many losses end a probe, in addition to each lost segment.
    pub acks_end_probe: bool,
    /// The window grows freely below twice the initial window; otherwise until the initial window has been delivered.
    pub grows_to_twice_initial: bool,
}

const DRAFT: Rules = Rules {
    startup_gain: 2.77,
    drain_gain: 0.5,
    down_gain: 0.9,
    loss_threshold: 0.02,
    beta: 0.7,
    headroom: 0.15,
    first_rate_share: 1.0,
    linux_trains: false,
    excludes_arrivals: false,
    timeout_resets_model: false,
    restores_after_fast_recovery: true,
    undo_restores_state: true,
    counts_lost_ranges: true,
    growth_with_every_ack: false,
    drain_resets_signals: false,
    drain_by_max_bw: false,
    cruise_bounds_short_term: false,
    up_restarts_clock: false,
    target_includes_trains: false,
    acks_end_probe: false,
    grows_to_twice_initial: false,
};

const GOOGLE: Rules = Rules {
    startup_gain: 710.0 / 256.0,
    drain_gain: 88.0 / 256.0,
    down_gain: 232.0 / 256.0,
    loss_threshold: 5.0 / 256.0,
    beta: 180.0 / 256.0,
    headroom: 38.0 / 256.0,
    first_rate_share: super::control::MARGIN,
    linux_trains: true,
    excludes_arrivals: true,
    timeout_resets_model: true,
    restores_after_fast_recovery: false,
    undo_restores_state: false,
    counts_lost_ranges: false,
    growth_with_every_ack: true,
    drain_resets_signals: true,
    drain_by_max_bw: true,
    cruise_bounds_short_term: true,
    up_restarts_clock: true,
    target_includes_trains: true,
    acks_end_probe: true,
    grows_to_twice_initial: true,
};

impl Bbr3Rules {
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Bbr3Rules::Draft => &DRAFT,
            Bbr3Rules::GoogleV3 => &GOOGLE,
        }
    }
}
