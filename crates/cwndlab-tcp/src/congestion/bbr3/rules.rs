//! Where draft-ietf-ccwg-bbr-06 and Google's branch v3 (`net/ipv4/tcp_bbr.c`) have different numbers.

use crate::config::Bbr3Rules;

/// Gains and thresholds; the branch's are multiples of 1/256, rounded down.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Constants {
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
}

const DRAFT: Constants =
    Constants { startup_gain: 2.77, drain_gain: 0.5, down_gain: 0.9, loss_threshold: 0.02, beta: 0.7, headroom: 0.15 };

const GOOGLE: Constants = Constants {
    startup_gain: 710.0 / 256.0,
    drain_gain: 88.0 / 256.0,
    down_gain: 232.0 / 256.0,
    loss_threshold: 5.0 / 256.0,
    beta: 180.0 / 256.0,
    headroom: 38.0 / 256.0,
};

impl Bbr3Rules {
    pub(super) fn constants(self) -> Constants {
        match self {
            Bbr3Rules::Draft => DRAFT,
            Bbr3Rules::GoogleV3 => GOOGLE,
        }
    }

    pub(super) fn is_google(self) -> bool {
        self == Bbr3Rules::GoogleV3
    }
}
