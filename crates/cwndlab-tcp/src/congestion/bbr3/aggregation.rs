//! How many more bytes than expected are acknowledged in a burst (`UpdateACKAggregation`, draft section 5.5.9).

use cwndlab_units::Time;

use super::bytes_in;
use crate::config::Bbr3Rules;
use crate::congestion::windowed_max::WindowedMax;

/// `ExtraAckedFilterLen`, in rounds; one round in Startup.
const DRAFT_ROUNDS: u32 = 10;
/// `bbr_extra_acked_win_rtts`: the branch keeps the maximum of this many rounds and of as many before; of one in Startup.
const GOOGLE_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`: the branch allows for at most this time's worth of data.
const GOOGLE_MOST: Time = Time::from_millis(100);

#[derive(Clone, Copy, Debug)]
enum Filter {
    Windowed(WindowedMax),
    /// Two slots, the present one's index and its age in rounds.
    Slots([u64; 2], usize, u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    began: Time,
    delivered: u64,
    filter: Filter,
}

/// What an ACK brings, and the model it is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub now: Time,
    pub acked: u64,
    pub bandwidth: u64,
    pub cwnd: u64,
    /// Rounds so far, and whether this ACK begins one.
    pub round: u32,
    pub round_start: bool,
    /// Whether the pipe has been full.
    pub full: bool,
}

impl Aggregation {
    pub fn new(rules: Bbr3Rules) -> Self {
        let filter = match rules {
            Bbr3Rules::Draft => Filter::Windowed(WindowedMax::default()),
            Bbr3Rules::GoogleV3 => Filter::Slots([0; 2], 0, 0),
        };
        Aggregation { began: Time::ZERO, delivered: 0, filter }
    }

    /// A new interval starts.
    pub fn restart(&mut self, now: Time) {
        (self.began, self.delivered) = (now, 0);
    }

    pub fn on_ack(&mut self, arrival: &Arrival) {
        if arrival.acked == 0 {
            return;
        }
        let mut expected = bytes_in(arrival.bandwidth, arrival.now.saturating_sub(self.began));
        if self.delivered <= expected {
            self.restart(arrival.now);
            expected = 0;
        }
        self.delivered += arrival.acked;
        let extra = self.delivered.saturating_sub(expected).min(arrival.cwnd);
        match &mut self.filter {
            Filter::Windowed(max) => {
                let window = if arrival.full { DRAFT_ROUNDS } else { 1 };
                max.update(window, arrival.round, extra.min(u64::from(u32::MAX)) as u32);
            }
            Filter::Slots(slots, index, age) => {
                *age += u32::from(arrival.round_start);
                if *age >= if arrival.full { GOOGLE_ROUNDS } else { 1 } && arrival.round_start {
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
            Filter::Slots(slots, ..) => slots[0].max(slots[1]).min(bytes_in(bandwidth, GOOGLE_MOST)),
        }
    }
}
