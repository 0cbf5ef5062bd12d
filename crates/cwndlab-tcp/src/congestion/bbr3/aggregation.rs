//! Estimates how many bytes more than expected are acknowledged in a burst (`UpdateACKAggregation`,
//! draft-ietf-ccwg-bbr-06, section 5.5.9).

use cwndlab_units::Time;

use super::sample::Sample;
use super::{bytes_in, whole, Rounds};
use crate::config::Bbr3Rules;
use crate::windowed_max::WindowedMax;

/// `ExtraAckedFilterLen`, in rounds; one round in Startup.
const DRAFT_ROUNDS: u32 = 10;
/// `bbr_extra_acked_win_rtts`: Google's BBR v3 branch stores the maxima of the current and the previous window, which
/// have this many rounds each; in Startup, one round each.
const GOOGLE_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`: in Google's BBR v3 branch, the allowance is at most the data that arrives in this time at
/// the estimated rate.
const GOOGLE_MOST: Time = Time::from_millis(100);

#[derive(Clone, Copy, Debug)]
enum Filter {
    Windowed(WindowedMax),
    /// Two slots, the index of the current slot, and the age of this slot in rounds.
    Slots([u64; 2], usize, u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    began: Time,
    delivered: u64,
    /// Expected volumes are rounded down to multiples of it.
    unit: u64,
    filter: Filter,
}

impl Aggregation {
    pub fn new(rules: Bbr3Rules) -> Self {
        let filter = match rules {
            Bbr3Rules::Draft => Filter::Windowed(WindowedMax::default()),
            Bbr3Rules::GoogleV3 => Filter::Slots([0; 2], 0, 0),
        };
        Aggregation { began: Time::ZERO, delivered: 0, unit: 1, filter }
    }

    /// Starts the first interval at `now`. Expected volumes are rounded down to multiples of `unit`.
    pub fn start(&mut self, now: Time, unit: u64) {
        self.unit = unit;
        self.restart(now);
    }

    /// Starts a new interval of the measurement at `now`.
    pub fn restart(&mut self, now: Time) {
        (self.began, self.delivered) = (now, 0);
    }

    /// Takes an ACK. `bandwidth` and `cwnd` are the current values of the model; `full` says whether the pipe has been
    /// full.
    pub fn on_ack(&mut self, sample: &Sample, bandwidth: u64, cwnd: u64, rounds: &Rounds, full: bool) {
        if sample.acked == 0 {
            return;
        }
        let mut expected = self.expected(bandwidth, sample.now.saturating_sub(self.began));
        if self.delivered <= expected {
            self.restart(sample.now);
            expected = 0;
        }
        self.delivered += sample.acked;
        let extra = self.delivered.saturating_sub(expected).min(cwnd);
        match &mut self.filter {
            Filter::Windowed(max) => {
                let window = if full { DRAFT_ROUNDS } else { 1 };
                max.update(window, rounds.count, extra.min(u64::from(u32::MAX)) as u32);
            }
            Filter::Slots(slots, index, age) => {
                *age += u32::from(rounds.started);
                if *age >= if full { GOOGLE_ROUNDS } else { 1 } && rounds.started {
                    (*index, *age) = (*index ^ 1, 0);
                    slots[*index] = 0;
                }
                slots[*index] = slots[*index].max(extra);
            }
        }
    }

    /// `extra_acked`: bytes to add to the window.
    pub fn allowance(&self, bandwidth: u64) -> u64 {
        match &self.filter {
            Filter::Windowed(max) => u64::from(max.get()),
            Filter::Slots(slots, ..) => slots[0].max(slots[1]).min(self.expected(bandwidth, GOOGLE_MOST)),
        }
    }

    /// What arrives in `time` at the rate `bandwidth`.
    fn expected(&self, bandwidth: u64, time: Time) -> u64 {
        whole(bytes_in(bandwidth, time), self.unit)
    }
}
