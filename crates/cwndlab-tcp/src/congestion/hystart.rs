//! HyStart++ (RFC 9406): leaves slow start through Conservative Slow Start (CSS) when round-trip times increase.

use cwndlab_units::Time;

// RFC 9406, section 4.3; times in microseconds.
const MIN_RTT_THRESH_US: u32 = 4_000;
const MAX_RTT_THRESH_US: u32 = 16_000;
const MIN_RTT_DIVISOR: u32 = 8;
const N_RTT_SAMPLE: u8 = 8;
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u8 = 5;
/// No measurement (the RFC's infinity).
const NONE: u32 = u32::MAX;

/// How the window grows with an ACK in slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// Grow as in slow start.
    Full,
    /// Conservative Slow Start: grow by a quarter of slow start's increase.
    Conservative,
    /// Leave slow start: ssthresh = cwnd.
    Exit,
}

/// State of the first slow start. Times are in microseconds, in 32 bits, to keep the state small. This is precise
/// enough for the thresholds, which are several milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hystart {
    /// The round ends when this position is acknowledged; 0 before the first round.
    window_end: u64,
    last_round_min_rtt_us: u32,
    current_round_min_rtt_us: u32,
    /// [`NONE`] outside CSS.
    css_baseline_min_rtt_us: u32,
    rtt_samples: u8,
    css_rounds: u8,
}

impl Hystart {
    pub const fn new() -> Self {
        Hystart {
            window_end: 0,
            last_round_min_rtt_us: NONE,
            current_round_min_rtt_us: NONE,
            css_baseline_min_rtt_us: NONE,
            rtt_samples: 0,
            css_rounds: 0,
        }
    }

    pub const fn in_css(&self) -> bool {
        self.css_baseline_min_rtt_us != NONE
    }

    /// Takes an ACK of new data in slow start (RFC 9406, section 4.2). Returns how the window grows with it.
    pub fn on_ack(&mut self, snd_una: u64, snd_nxt: u64, rtt: Option<Time>) -> Growth {
        // "When windowEnd is ACKed, the current round ends": this ACK begins the next one.
        if snd_una >= self.window_end {
            self.window_end = snd_nxt;
            self.last_round_min_rtt_us = self.current_round_min_rtt_us;
            self.current_round_min_rtt_us = NONE;
            self.rtt_samples = 0;
            if self.in_css() {
                // The round in which CSS begins counts as well.
                self.css_rounds += 1;
                if self.css_rounds >= CSS_ROUNDS {
                    return Growth::Exit;
                }
            }
        }
        if let Some(rtt) = rtt {
            let us = (rtt.as_nanos() / 1_000).min(u64::from(NONE - 1)) as u32;
            self.current_round_min_rtt_us = self.current_round_min_rtt_us.min(us);
            self.rtt_samples = self.rtt_samples.saturating_add(1);
        }
        if self.rtt_samples >= N_RTT_SAMPLE && self.current_round_min_rtt_us != NONE {
            if self.in_css() {
                if self.current_round_min_rtt_us < self.css_baseline_min_rtt_us {
                    // The increase of the delay was jitter: return to slow start.
                    self.css_baseline_min_rtt_us = NONE;
                }
            } else if self.last_round_min_rtt_us != NONE {
                let threshold =
                    (self.last_round_min_rtt_us / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
                if self.current_round_min_rtt_us >= self.last_round_min_rtt_us.saturating_add(threshold) {
                    self.css_baseline_min_rtt_us = self.current_round_min_rtt_us;
                    self.css_rounds = 0;
                }
            }
        }
        if self.in_css() {
            Growth::Conservative
        } else {
            Growth::Full
        }
    }
}

#[cfg(test)]
mod tests;
